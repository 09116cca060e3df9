"""The mirror of a queue: foreign words are plain, marks and notes stay."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.github.issues import QueueIssue
from ralph_ls.core.plan.formats.github.mirror import (
    LONGEST_TITLE,
    SHOWN_IGNORED,
    IgnoredIssue,
    QueueContent,
    criteria_in,
    criteria_of,
    in_order,
    issue_number,
    needed_issues,
    numbers_in,
    plain_words,
    priority_of,
    write_mirror,
)
from ralph_ls.core.plan.lint.dependencies import unfinished_dependencies
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.task_words import Priority, TaskState
from tests.unit.core.plan.formats.github_issues import issue


def content(*issues: QueueIssue, **more: object) -> QueueContent:
    given = {"waits": {}, "done": {}, **more}
    return QueueContent(title="ada/invoice with the label ralph", issues=issues, **given)  # type: ignore[arg-type]


def states(text: str) -> dict[str, TaskState]:
    return {one.id: one.state for one in parse_markdown(text).plan.tasks}


MARKS = [
    *("[", "]", "~~", "**", "__", "`", "#", "<!--", "-->", "[x]", "[BLOCKED]", "[P0]", "(done)"),
    *("Depends on: ", "Blocked by: ", "GH-13", "**US-1**", "- [ ] ", "✅", "(after: GH-13)", "```"),
    *("Status: done", "Acceptance criteria:", "|", "1. ", "{{TASK}}", "~~all~~", "\t", " ", "x"),
]
FOREIGN = st.lists(st.one_of(st.sampled_from(MARKS), st.characters()), max_size=10).map("".join)


@given(FOREIGN, FOREIGN)
@example("~~all~~", "~~all~~")
@example("[DONE]", "Blocked by: x")
@example("[BLOCKED]", "")
@example("~~~~all~~~~", "")
@example("Saw [IN PROGRESS]", "(WIP)")
def test_nothing_that_strangers_write_is_a_mark(title: str, criterion: str) -> None:
    body = f"- [ ] {' '.join(criterion.split())}"
    ignored = (IgnoredIssue(number=9, title=title, why="x"),)
    found = content(issue(12, title, body=body), issue(13, "Two"), ignored=ignored)
    text = write_mirror("", found)
    plan = parse_markdown(text).plan
    assert [(one.id, one.state, one.depth) for one in plan.tasks] == [
        ("GH-12", TaskState.TODO, 0),
        ("GH-13", TaskState.TODO, 0),
    ]
    assert len(plan.tasks[0].criteria) == len(criteria_of(body))
    assert (plan.tasks[0].optional, plan.tasks[0].blocked_by) == (False, None)
    assert unfinished_dependencies(plan.tasks, text) == {}
    assert write_mirror(text, found) == text


def test_a_title_is_cut_on_one_line() -> None:
    words = plain_words("a\u202e\x1b[31m" + "b" * 300)
    assert len(words) == LONGEST_TITLE
    assert words.startswith("a (31mb")
    assert words.endswith("…")


@pytest.mark.parametrize(
    ("labels", "rank"),
    [
        ([], 1),
        (["ralph", "bug"], 1),
        (["P0"], 0),
        (["p-2"], 2),
        (["priority: high"], 0),
        (["Priority/Low", "P1"], 1),
        (["prio:3"], 2),
        (["severity 1"], 1),
        (["urgent"], 0),
        (["high"], 1),
        (["3"], 1),
        (["priority"], 1),
    ],
)
def test_the_priority_is_that_of_the_labels(labels: Sequence[str], rank: int) -> None:
    assert priority_of(labels) == rank


def test_the_order_is_by_priority_then_age() -> None:
    issues = [issue(13), issue(12), issue(14, labels=("P0",)), issue(11, labels=("P2",))]
    assert [one.number for one in in_order(issues)] == [14, 12, 13, 11]


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("Blocked by #7", (7,)),
        ("- **Depends on:** #7, #8 and #9", (7, 8, 9)),
        ("* waits for #7 #8.", (7, 8)),
        ("It is not blocked by #7", ()),
        ("Blocked by #7 until Monday", ()),
        ("Blocked by a licence", ()),
        ("- [ ] #7\n- [x] #8\n- [ ] #7", (7,)),
        ("- [ ] see #7", ()),
        ("```\nBlocked by #7\n~~~\n```\nBlocked by #8", (8,)),
        ("<!-- Blocked by #7 -->\nDepends on #8", (8,)),
        ("<!-- Blocked by #7", ()),
        ("Blocked by #0", ()),
    ],
)
def test_only_lines_of_that_form_are_dependencies(body: str, numbers: tuple[int, ...]) -> None:
    assert needed_issues(body) == numbers


def test_criteria_are_the_boxes_that_name_no_issue() -> None:
    body = (
        "- [ ] a\n- [X] b [BLOCKED]\n- [ ] #7\n1. [ ] c\n- [ ] a\n- [ ] \u200e\n```\n- [ ] d\n```"
    )
    assert criteria_of(body) == ((False, "a"), (True, "b ( BLOCKED)"), (False, "c"))


@pytest.mark.parametrize(
    ("task", "number"), [("GH-12", 12), ("GH-0", None), ("US-12", None), ("", None)]
)
def test_an_issue_is_known_by_the_id_of_its_task(task: str, number: int | None) -> None:
    assert issue_number(task) == number


FIRST = content(
    issue(12, body="- [ ] a\n- [x] b"),
    issue(13, "Two", labels=("ralph", "P0")),
    waits={13: (12,)},
)


def test_a_queue_is_written_with_criteria_dependencies_and_priorities() -> None:
    text = write_mirror("", FIRST)
    plan = parse_markdown(text).plan
    first, second = plan.tasks
    assert (first.criteria, first.priority) == (("a", "b"), Priority.P1)
    assert second.priority is Priority.P0
    waiting = unfinished_dependencies(plan.tasks, text)
    assert {one: [task.id for task in needs] for one, needs in waiting.items()} == {
        "GH-13": ["GH-12"]
    }
    assert criteria_in(text, 12) == ("[ ] a", "[x] b")
    assert criteria_in(text, 99) == ()


def test_marks_evidence_and_notes_stay_with_new_words_from_github() -> None:
    text = write_mirror("", FIRST).replace("- [ ] **GH-12**", "- [~] **GH-12**")
    text = text.replace("- [ ] a", "- [x] a (make check - exit 0)\n    - [ ] mine")
    text = text.replace("- [ ] **GH-13**", "  - a finding\n- [ ] **GH-13**")
    changed = content(issue(12, "New words", body="- [ ] a\n- [ ] c"), issue(13, "Two"))
    written = write_mirror(text, changed)
    assert "- [~] **GH-12** [P1] New words" in written
    assert "    - [x] a (make check - exit 0)\n    - [ ] c\n  - a finding" in written
    assert "mine" not in written
    assert "Depends on" not in written


def test_what_waits_for_an_issue_elsewhere_is_blocked_until_that_is_closed() -> None:
    waiting = content(issue(12), issue(13), waits={12: (7, 13), 13: (7,)}, done={13: "Two"})
    text = write_mirror("", waiting)
    assert states(text) == {"GH-12": TaskState.BLOCKED, "GH-13": TaskState.DONE}
    assert parse_markdown(text).plan.tasks[0].blocked_by == "#7, open and not in this queue"
    assert write_mirror(text, waiting) == text
    assert states(write_mirror(text, content(issue(12))))["GH-12"] is TaskState.TODO


def test_what_an_agent_blocked_stays_so_until_somebody_wants_it_again() -> None:
    text = write_mirror("", content(issue(12)))
    text = text.replace("- [ ] **GH-12**", "- [!] **GH-12**").replace(
        "lost\n", "lost\n  - Blocked by: no key\n"
    )
    assert states(write_mirror(text, content(issue(12), waits={12: (7,)})))["GH-12"] is (
        TaskState.BLOCKED
    )
    again = write_mirror(text, content(issue(12), again={12}))
    assert states(again)["GH-12"] is TaskState.TODO
    assert "no key" not in again


def test_what_is_done_or_closed_is_shown_apart_and_what_left_is_gone() -> None:
    text = write_mirror("", content(issue(11), issue(12), issue(13), issue(14)))
    text = text.replace("- [ ] **GH-11**", "- [x] **GH-11**")
    written = write_mirror(
        text, content(issue(11), done={10: "[Ten]", 13: "Three", 9: ""}, closed={12})
    )
    assert states(written) == {f"GH-{number}": TaskState.DONE for number in (11, 12, 13, 10, 9)}
    assert "lost\n  - Closed on GitHub\n" in written
    assert "**GH-10** (Ten)" in written
    assert "**GH-9** Issue 9" in written
    assert numbers_in(written).keys() == {9, 10, 11, 12, 13}
    assert "## Open" not in written


def test_tasks_of_others_stay_in_the_file() -> None:
    text = write_mirror("", content(issue(12))) + "\n- [ ] Mine\n  - a note\n"
    written = write_mirror(text, content(issue(12)))
    assert "## Only in this file\n\n- [ ] Mine\n  - a note\n" in written
    assert write_mirror(written, content(issue(12))) == written


def test_a_few_ignored_issues_are_named() -> None:
    text = write_mirror("", content(ignored=(IgnoredIssue(number=9, title="x", why="y"),)))
    assert "> #9 x: y" in text
    assert "more issue" not in text


def test_many_ignored_issues_are_counted() -> None:
    ignored = [IgnoredIssue(number=one, title="x", why="y") for one in range(1, SHOWN_IGNORED + 3)]
    text = write_mirror("", content(ignored=tuple(ignored)))
    assert "> and 2 more issues\n" in text
    assert states(text) == {}
