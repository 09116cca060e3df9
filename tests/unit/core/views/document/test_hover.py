from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.views.document.hover import hover
from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
from ralph_ls.protocol.run.events import BlockedRaised, QuestionAsked
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    LETTER,
    NOON,
    PAY,
    READ,
    ROUND,
    begins,
    ends,
    event,
    phase,
    reports,
    seen,
    seen_by_chance,
    shows,
    started,
)

WORKS = (started(), begins(3, CHOOSE), phase(Phase.RUNNING))


def told(look: DocumentContext, line: int) -> list[str]:
    text = hover(look, line)
    assert text is not None
    return text.split("\n")


def test_the_first_line_answers_the_six_questions_in_their_order() -> None:
    lines = told(seen(*WORKS), 0)
    headings = ["Running", "Doing", "Needs you", "Next"]
    assert [line.split("**")[1] for line in lines] == headings
    assert lines[0] == "- **Running**: yes, running, iteration 3 of 20"
    assert lines[1] == "- **Doing**: Choose the storage engine"


def test_an_engine_that_is_gone_is_not_running() -> None:
    lines = told(seen(*WORKS, phase=Phase.CRASHED), 0)
    assert lines[0] == "- **Running**: no, its engine is gone"


def test_without_a_run_it_shows_how_to_start_one() -> None:
    assert hover(seen(), 0) == "No loop has run here yet. Start one with `ralph run`."


def test_a_task_on_the_first_line_is_reported_below_the_answers() -> None:
    text = hover(seen(text="- [ ] a"), 0)
    assert text is not None
    six, _, task = text.partition("\n\n---\n\n")
    assert six.startswith("No loop")
    assert task == "**a**\n\n- State: open"


def test_the_last_iterations_are_below_the_answers() -> None:
    text = hover(seen(*WORKS, shows(3, files=4, commit=COMMIT), ends(3)), 0)
    assert text is not None
    assert text.splitlines()[-1] == "- **Recently**: iteration 3: progress, 4 files, 1 commit"


@pytest.mark.parametrize("line", [1, 2, 99, -1])
def test_a_line_without_a_task_shows_nothing(line: int) -> None:
    assert hover(seen(*WORKS), line) is None


def test_a_task_that_nobody_touched_shows_its_status() -> None:
    assert told(seen(), ROUND) == [
        "**Round half a cent up**",
        "",
        "- State: open, P0, High Priority",
        "- Criteria:",
        "  - every total is right",
    ]


def test_the_lines_below_a_task_belong_to_it() -> None:
    assert hover(seen(), ROUND + 1) == hover(seen(), ROUND)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("- [~] a", "- State: in progress", id="in-progress"),
        pytest.param("- [x] a", "- State: done", id="done"),
        pytest.param("- [-] a", "- State: skipped", id="skipped"),
        pytest.param("- [!] a", "- State: blocked", id="blocked"),
    ],
)
def test_every_state_has_a_word(line: str, expected: str) -> None:
    assert told(seen(text=f"# Plan\n{line}"), 1)[2] == f"{expected}, Plan"


def test_what_blocks_a_task_is_reported() -> None:
    assert told(seen(), PAY)[3] == "- Blocked by: no keys"


def test_an_optional_task_says_so() -> None:
    text = "## Later\n- [ ] a"
    look = replace(seen(text=text), parsed=parse_markdown(text, optional_sections=("Later",)))
    assert told(look, 1)[2] == "- State: open, Later, optional"


def test_claim_and_evidence_are_below_each_other() -> None:
    fields = {"STATUS": "IN_PROGRESS", "FILES_MODIFIED": "5", "RECOMMENDATION": "go on"}
    look = seen(
        *WORKS,
        reports(3, **fields),
        shows(3),
        ends(3),
        begins(4, LETTER),
        reports(4, STATUS="COMPLETE"),
    )
    assert told(look, CHOOSE)[3:] == [
        "- Tried: 1 attempt (iteration 3)",
        "- Report of iteration 3: IN_PROGRESS, 5 files",
        (
            "- Evidence of iteration 3: 0 commits, 0 files, 0 tasks, no progress: nothing changed "
            "at all"
        ),
        "- Next: go on",
    ]
    assert told(look, LETTER)[2:] == [
        "- State: open, in progress in iteration 4, P2, Nice to have",
        "- Tried: 1 attempt (iteration 4)",
        "- Report of iteration 4: COMPLETE",
    ]


def test_only_the_newest_attempt_is_reported() -> None:
    again = (begins(4, CHOOSE), shows(4, files=1))
    look = seen(*WORKS, reports(3, STATUS="IN_PROGRESS"), ends(3), *again)
    assert told(look, CHOOSE)[3:] == [
        "- Tried: 2 attempts (iterations 3, 4)",
        "- Report of iteration 4: no status block",
        "- Evidence of iteration 4: 0 commits, 1 file, 0 tasks",
    ]


def test_many_attempts_are_counted_and_the_last_ones_named() -> None:
    look = seen(started(), *(begins(number, CHOOSE) for number in range(1, 13)))
    tried = "- Tried: 12 attempts (iterations … 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)"
    assert told(look, CHOOSE)[3] == tried


@pytest.mark.parametrize(
    ("commit", "expected"),
    [
        (COMMIT, "- Done: in iteration 3, commit `abc1234`"),
        (None, "- Done: in iteration 3, no commit"),
    ],
)
def test_a_finished_task_shows_how_it_became_done(commit: str | None, expected: str) -> None:
    look = seen(*WORKS, shows(3, files=1, commit=commit, done=(READ, CHOOSE)))
    assert told(look, READ)[-1] == expected
    assert not any("Done" in line for line in told(look, CHOOSE))


def test_an_iteration_that_no_engine_works_on_was_left_open() -> None:
    assert "left open by iteration 3" in told(seen(*WORKS, phase=Phase.CRASHED), CHOOSE)[2]


def test_what_a_task_waits_for_is_reported() -> None:
    asked = event(QuestionAsked, iteration=3, question="a\nor b?", path="d", asked_at=NOON)
    raised = event(BlockedRaised, iteration=3, reason="no keys", path="b")
    look = seen(*WORKS, asked, raised)
    assert told(look, CHOOSE)[3:5] == ["- Asks: a or b?", "- Blocks the run: no keys"]
    assert not any("Asks" in line or "Blocks" in line for line in told(look, ROUND))


def test_what_an_earlier_run_left_open_belongs_to_no_task() -> None:
    look = seen(halt=HaltFiles(question="a?", blocked="no keys"))
    assert told(look, LETTER)[2:] == ["- State: open, P2, Nice to have"]


def test_many_criteria_are_cut() -> None:
    lines = [f"  - Done when: number {number}" for number in range(12)]
    text = "\n".join(["# Plan", "- [ ] a", *lines])
    assert told(seen(text=text), 1)[-2:] == ["  - number 9", "  - … 2 more"]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("![x](http://evil.example/a.png)", r"\![x\](http\://evil.example/a.png)"),
        ("<img src=x> `code`", r"\<img src=x> \`code\`"),
        ("see www.evil.example or a@b.example", r"see www\.evil.example or a\@b.example"),
        ("[run](command:ralph.stop)", r"[run\](command:ralph.stop)"),
        ("a *b* _c_ ~d~ | # &amp; \\", r"a \*b\* \_c\_ \~d\~ | # \&amp; \\"),
        ("bell \x07", r"bell \x07"),
        (r"a\*b\\", r"a\\\*b\\\\"),
        ("see [a] a_b @plan #3 & co!", "see [a] a_b @plan #3 & co!"),
    ],
)
def test_nothing_of_a_stranger_becomes_markdown(title: str, expected: str) -> None:
    assert told(seen(text=f"# Plan\n- [ ] {title}"), 1)[0] == f"**{expected}**"


@pytest.mark.parametrize("file", [FileKind.DECIDE, FileKind.BLOCKED])
def test_other_files_show_the_status_of_the_run_and_nothing_of_tasks(file: FileKind) -> None:
    look = replace(seen(*WORKS), file=file, text="")
    assert hover(look, 0) == hover(seen(*WORKS), 0)
    assert hover(look, ROUND) is None


@pytest.mark.slow
@given(st.data())
def test_any_run_beside_any_plan_can_be_pointed_at(data: st.DataObject) -> None:
    look = seen_by_chance(data)
    n_lines = sum(1 for _ in lines_of(look.text))
    of_tasks = {line for one in look.plan.tasks for line in range(one.line, one.end_line + 1)}
    for line in range(-1, n_lines + 1):
        assert (hover(look, line) is not None) == (line == 0 or line in of_tasks)


def test_a_finished_task_says_what_it_took() -> None:
    run = (started(), begins(3, READ), shows(3, files=1, done=(READ,)), ends(3))
    assert told(seen(*run), READ)[-1].startswith("- Evidence of iteration 3")
    assert "- Took: 1 iteration, 1m 0s (agent 0s)" in told(seen(*run), READ)
    reopened = "- [ ] Read the law"
    assert "Took" not in "".join(told(seen(*run, text=reopened), 0))
