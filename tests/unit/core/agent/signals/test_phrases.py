"""Words of completion and clarification, over whole texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.output_parser import parse_text
from ralph_ls.core.agent.signals.phrases import (
    CLARIFICATION_PHRASES,
    COMPLETION_PHRASES,
    PHRASE_FILTER,
    find_clarification,
    find_completion,
    find_phrase_matches,
)
from ralph_ls.core.agent.signals.promises import find_promise_tags
from ralph_ls.core.agent.signals.prose import to_filtered_prose, to_prose
from ralph_ls.core.agent.text import clean_text, lower, merge_spans
from ralph_ls.core.markdown_fences import fence_spans


def completion(text: str) -> str:
    return " ".join(parse_text(text).completion)


def clarification(text: str) -> str:
    return " ".join(parse_text(text).clarification)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("All done.", "done"),
        ("Done!", "done"),
        ("**Done.**", "done"),
        ("_Done_", "done"),
        ("\u2705 Done", "done"),
        ("I'm done.", "done"),
        ("The `parser` is done.", "done"),
        ("7 of 7 tasks are done.", "done"),
        ("No issues, all done.", "done"),
        ("There are no errors and everything is done.", "done"),
        ("After fixing the parser, everything is done.", "done"),
        ("All done, let me know if you need anything.", "done"),
        ("The work I was asked to do is done.", "done"),
        ("Did it work? Yes. All done.", "done"),
        ("All tasks are complete.", "complete"),
        ("all tasks complete", "complete"),
        ("Everything is complete and pushed", "complete"),
        ("The plan is complete per the spec.", "complete"),
        ("100% complete", "complete"),
        ("Feature complete!", "complete"),
        ("Work complete \U0001f389", "complete"),
        ("## All tasks complete", "complete"),
        ("I can confirm all tasks are complete.", "complete"),
        ("I've completed the task.", "complete"),
        ("Everything has been completed successfully.", "complete"),
        ("Completed all tasks: parser, lexer.", "complete"),
        ("I have finished the implementation.", "finished"),
        ("Everything in the plan is finished", "finished"),
        ("Ready for review.", "ready-for-review"),
        ("It is ready to be reviewed", "ready-for-review"),
        ("Implementation complete. Ready for your review.", "complete ready-for-review"),
        ("PR created.", "pr-created"),
        ("PR #12 has been opened.", "pr-created"),
        ("I opened a PR (#12).", "pr-created"),
        ("Created a pull request.", "pr-created"),
        ("There is nothing left to do.", "nothing-left"),
        ("No remaining work.", "nothing-left"),
        ("No tasks left.", "nothing-left"),
        ("No more tasks remain.", "nothing-left"),
        ("No further work is needed.", "nothing-left"),
        ("All requirements have been implemented.", "all-implemented"),
        ("Every spec is satisfied.", "all-implemented"),
        ("All acceptance criteria are met.", "all-implemented"),
        ("Ready to merge.", "ready-to-merge"),
        ("The work is done and everything is finished.", "done finished"),
        ("done\ndone\nDONE", "done"),
        (
            "I fixed the last test of the parser and now the whole project\nis complete, as asked.",
            "complete",
        ),
        ("\u0130stanbul is done", "done"),
        # A, Component 2: the list of the seed, said of the whole.
        ("Everything is done", "done"),
        ("The feature is complete", "complete"),
        ("The implementation is finished", "finished"),
        ("The branch is ready for review", "ready-for-review"),
        ("The PR created above passes", ""),
        ("PR created", "pr-created"),
        # Over wrapped lines, in emphasis, and with wide blanks.
        ("All of the work that was asked for in the plan of this issue\nis done now.", "done"),
        ("**All** tasks **are com**plete.", "complete"),
        ("All ~~most~~ work is d~~o~~one", "done"),
        ("ready\u00a0for  review", "ready-for-review"),
    ],
)
def test_what_an_agent_says_of_the_whole_work_counts(text: str, names: str) -> None:
    assert completion(text) == names


@pytest.mark.parametrize(
    "text",
    [
        # negated
        "not done",
        "It is not done yet.",
        "The migration isn't complete.",
        "The migration isn\u2019t complete.",
        "Nothing is done.",
        "Not all tasks are complete.",
        "I haven't finished.",
        "almost done",
        "half done",
        "Not ready for review.",
        "No PR was created.",
        "Done? no",
        "complete: false",
        # hypothetical
        "once done, I will stop",
        "Once everything is done, I will stop.",
        "if everything is finished, stop",
        "If the tests pass, then the task is complete.",
        "The task is done when all tests pass.",
        "It will be complete tomorrow.",
        "The task should be complete soon.",
        "I'll be done soon",
        "to be done",
        "What needs to be done",
        "until done",
        "When there is nothing left to do, stop.",
        "TODO: complete x",
        "TODO: get this done",
        "Next: parser, then all done",
        "Complete the migration.",
        "Wait until the work of the other team, which needs some more weeks, is\ndone before that.",
        # asked
        "Is it done?",
        # quoted, fenced or struck out
        '"done"',
        "'done'",
        "`done`",
        "``it is done``",
        "\u201call done\u201d",
        "\u2018all done\u2019",
        "\u00aball done\u00bb",
        "> done",
        "```\nAll done.\n```",
        "~~done~~",
        "| parser | done |",
        "- [ ] done",
        "- [x] Parser done",
        # in blocks and promises
        "---RALPH_STATUS---\nSTATUS: COMPLETE\nRECOMMENDATION: all done\n---END_RALPH_STATUS---",
        "---RALPH_STATUS---\nSTATUS: COMPLETE\nRECOMMENDATION: all done",
        "RALPH_STATUS:\n  STATUS: COMPLETE\n  RECOMMENDATION: all done",
        "I will not output <promise>COMPLETE</promise> before that.",
        # partial
        "3 of 7 done",
        "3/7 tasks complete",
        "50% complete",
        "Task 2 is complete.",
        "The first task is finished.",
        "This task is done.",
        "Most of the work is done.",
        "done, except for the docs",
        "finished 3 of 7 tasks",
        "completed step 2",
        "done with the first phase",
        # labels and attributes
        "Done:",
        "## Done",
        "### Completed Tasks",
        "Completed tasks: 3",
        "STATUS: COMPLETE",
        "Status: done",
        "the complete list",
        "a finished product",
        "Move completed tasks to the end.",
        # rules and tables of values
        "All tasks done \u2192 EXIT_SIGNAL=true",
        "all done => stop",
        "blue, complete=green",
        "Work done before a timeout is evidence.",
        # other words and other meanings
        "incomplete",
        "unfinished",
        "abandoned",
        "done.txt and src/done/x",
        "This is done by calling parse().",
        "Build finished in 3.2s",
        "finished reading the file",
        # What users of such loops complain about: change logs, echoed prompts, quoted logs.
        "## Changelog\n- Done: parser\n- [x] lexer done",
        'EXIT_SIGNAL is true only when nothing is left to do; such as "all tasks are complete".',
        "STATUS is COMPLETE when everything in the plan is done, IN_PROGRESS while work is left.",
        "1. If all tasks are done: EXIT_SIGNAL true.",
        "4. If no work remains and all specifications are met: EXIT_SIGNAL true.",
        "> [12:01] worker: done\n> [12:02] worker: all tasks complete",
        "```\n[12:01] INFO all tasks complete\n```",
        "I recreated the PR",
    ],
)
def test_other_uses_of_the_words_do_not_count(text: str) -> None:
    assert completion(text) == ""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I need more information about the schema.", "need-more-information"),
        ("More information is needed.", "need-more-information"),
        ("The requirements are unclear.", "unclear"),
        ("Please clarify the format.", "please-clarify"),
        ("Please clarify if we should use X.", "please-clarify"),
        ("Could you clarify this?", "please-clarify"),
        ("Which option do you prefer?", "which-option"),
        ("I don't know which option to take.", "which-option"),
        ("I need clarification on the format.", "need-clarification"),
        ("It is not clear whether users are unique.", "not-clear"),
        ("It is unclear. Please clarify.", "unclear please-clarify"),
    ],
)
def test_an_agent_that_asks_back_is_noticed(text: str, names: str) -> None:
    assert clarification(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "Nothing is unclear.",
        "If anything is unclear, ask.",
        "I don't need more information.",
        "Let me know if you need more information.",
        "`unclear`",
        '"please clarify"',
        "> please clarify",
        "I decided which option to take.",
        "For more information see the docs.",
        "nuclear",
        "Sandwhich option",
    ],
)
def test_other_talk_of_clarity_does_not_count(text: str) -> None:
    assert clarification(text) == ""


def test_every_name_is_used_once() -> None:
    names = [phrase.name for phrase in (*COMPLETION_PHRASES, *CLARIFICATION_PHRASES)]
    assert len(names) == len(set(names))


@given(st.integers(min_value=0, max_value=400), st.sampled_from("a\n. "))
def test_a_negation_counts_at_any_place_of_a_text(length: int, filler: str) -> None:
    assert completion(filler * length + "\nIt is not done") == ""


def test_every_use_is_given_in_its_order_with_its_reason() -> None:
    uses = find_phrase_matches("not done. unclear. all done.")
    assert [(use.name, use.start, use.why_not) for use in uses] == [
        ("done", 4, "it is negated"),
        ("unclear", 10, ""),
        ("done", 23, ""),
    ]


words = st.lists(
    st.one_of(
        st.text(max_size=3),
        st.sampled_from(
            [
                *("done", "all done", "com*plete*", "d**one**", "finished", "ready for review"),
                *("no\nmore", "no tasks left", "all tasks are met", "ready\nto merge", "in place"),
                *("PR created", "need more\n info", "unclear", "not clear whether", "clarify "),
                *("which\u00a0option", "\u0130", "not ", "if ", "will be ", "is ", "3 of 7 "),
                *("~~", "*", "**", "_", "`", "'", '"', "\u201c", "\u201d", "\u2018", "\n", "\n\n"),
                *("\n  ", "\t", "> ", "- [ ] ", "| ", "# ", "x" * 40, "a long line of prose "),
                *(". ", "? ", ": ", "```\n", "<promise>", "</promise>", "---RALPH_STATUS---\n"),
            ]
        ),
    ),
    max_size=30,
).map("".join)


@given(words)
def test_nothing_is_missed_by_looking_only_where_signs_are(raw: str) -> None:
    text = clean_text(raw)
    holes = merge_spans((*fence_spans(text), *(tag.span for tag in find_promise_tags(text))))
    whole = to_prose(text, holes)
    some = to_filtered_prose(text, lower(text), holes, PHRASE_FILTER)
    assert find_completion(some) == find_completion(whole)
    assert find_clarification(some) == find_clarification(whole)


def test_a_text_without_signs_is_not_made_into_prose() -> None:
    text = "handled request 12 of the queue\n" * 1_000
    assert to_filtered_prose(text, text, (), PHRASE_FILTER) == ""
