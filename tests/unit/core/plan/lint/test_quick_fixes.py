"""What one edit makes of a remark: it is settled, and nothing else is touched."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from ralph_ls.core.plan.lint.checks import check_markdown
from ralph_ls.core.plan.lint.quick_fixes import quick_fix_edit
from ralph_ls.core.plan.lint.remarks import CheckCode, LintRemark, QuickFix
from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.lint.test_checks import check_texts


def remarks_on(text: str) -> tuple[LintRemark, ...]:
    return check_markdown(parse_markdown(text), text)


def repaired(text: str) -> tuple[str, str]:
    """The title and the text after the edit for the only remark that has one."""
    edits = [quick_fix_edit(one, text) for one in remarks_on(text)]
    (edit,) = [one for one in edits if one is not None]
    return edit.title, edit.apply(text)


LONG = "Implement the whole parser"

CASES = [
    pytest.param(
        f"- [ ] {LONG}\n- [ ] {LONG}\n- [ ] b\n",
        "Remove this duplicate",
        f"- [ ] {LONG}\n- [ ] b\n",
        id="duplicate",
    ),
    pytest.param(
        f"- [ ] {LONG}\r\n  note\r\n* [ ] {LONG}",
        "Remove this duplicate",
        f"- [ ] {LONG}\r\n  note",
        id="duplicate-at-the-end",
    ),
    pytest.param(
        f"\ufeff- [ ] {LONG}\n- [x] {LONG}\n",
        "Remove this duplicate",
        f"\ufeff- [x] {LONG}\n",
        id="duplicate-of-a-finished-one",
    ),
    pytest.param(
        "- [ ] a\n\nPROJECT_COMPLETE\n\n## More\n",
        "Remove this line",
        "- [ ] a\n\n\n## More\n",
        id="marker",
    ),
    pytest.param("PROJECT_COMPLETE\r- [ ] a", "Remove this line", "- [ ] a", id="marker-first"),
    pytest.param(
        "- [ ] a\n- [x] PROJECT_COMPLETE", "Remove this line", "- [ ] a", id="marker-as-a-task"
    ),
    pytest.param(
        "- [!] a\n- [ ] b\n",
        "Add a line for the reason",
        "- [!] a\n  - Blocked by: \n- [ ] b\n",
        id="reason",
    ),
    pytest.param(
        "1. [ ] [BLOCKED] a\r\n   goes on\r\n   - note\r\n",
        "Add a line for the reason",
        "1. [ ] [BLOCKED] a\r\n   goes on\r\n   - Blocked by: \r\n   - note\r\n",
        id="reason-before-notes",
    ),
    pytest.param(
        "- [!] a\n  ```\n  Blocked by: …\n  ```\n",
        "Add a line for the reason",
        "- [!] a\n  - Blocked by: \n  ```\n  Blocked by: …\n  ```\n",
        id="reason-above-an-example",
    ),
    pytest.param(
        "## Completed\n- [ ] a\n", "Mark as done", "## Completed\n- [x] a\n", id="completed"
    ),
    pytest.param(
        "- [x] **US-007** a\n- [ ] b\n  after: (US-07), c\n",
        "Change to US-007",
        "- [x] **US-007** a\n- [ ] b\n  after: (US-007), c\n",
        id="zeros",
    ),
]


@pytest.mark.parametrize(("text", "title", "expected"), CASES)
def test_a_remark_is_settled_by_one_edit(text: str, title: str, expected: str) -> None:
    assert repaired(text) == (title, expected)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"- [ ] {LONG}\n- [ ] {LONG}\n  - and more\n", id="a-duplicate-says-more"),
        pytest.param("- [ ] a\n  - Done when: it works\n", id="vague"),
        pytest.param("- [ ] **A-1** a\n  after: A-1\n", id="ring"),
        pytest.param("- [ ] a\n  after: A-1\n", id="unknown"),
        pytest.param(
            "- [x] **A-1** a\n- [x] **A-01** b\n- [ ] c\n  after: A-001\n", id="alike-to-several"
        ),
    ],
)
def test_what_only_the_user_can_know_has_no_edit(text: str) -> None:
    (one,) = remarks_on(text)
    assert quick_fix_edit(one, text) is None


def test_a_line_on_which_the_reading_of_others_depends_is_not_removed() -> None:
    # Without its only box the plan would be read as one whose bullets are tasks.
    found = remarks_on("## Tasks\n1. a\n- b\n- [x] PROJECT_COMPLETE\n")
    (one,) = [remark for remark in found if remark.code is not CheckCode.LINES_READ_AS_TASKS]
    assert one.code == "marker-with-open-tasks"
    assert quick_fix_edit(one, "## Tasks\n1. a\n- b\n- [x] PROJECT_COMPLETE\n") is None


@pytest.mark.parametrize("kind", [QuickFix.ADD_REASON, QuickFix.TICK])
@pytest.mark.parametrize("task", [None, "ffffffff"])
def test_a_task_that_is_gone_has_no_edit(kind: QuickFix, task: str | None) -> None:
    (one,) = remarks_on("- [!] a\n")
    assert quick_fix_edit(replace(one, repair=kind, task=task), "- [!] b\n") is None


def test_a_task_that_says_why_meanwhile_has_no_edit() -> None:
    (one,) = remarks_on("- [!] a\n")
    assert quick_fix_edit(one, "- [x] a\n") is None


@given(check_texts)
def test_an_edit_settles_its_remark_and_no_task_is_lost(text: str) -> None:
    before = parse_markdown(text).plan.tasks
    for remark in remarks_on(text):
        edit = quick_fix_edit(remark, text)
        if edit is None:
            continue
        changed = edit.apply(text)
        after = parse_markdown(changed).plan.tasks
        titles = [task.title for task in after]
        match remark.repair:
            case QuickFix.REMOVE_LINE:
                line = remark.place.line
                assert titles == [task.title for task in before if task.line != line]
            case QuickFix.REPLACE:
                codes = [one.code for one in check_markdown(parse_markdown(changed), changed)]
                told = [one.code for one in remarks_on(text)]
                unknown = CheckCode.UNKNOWN_DEPENDENCY
                assert codes.count(unknown) < told.count(unknown)
            case QuickFix.ADD_BOXES:
                assert len(titles) >= len(before)
            case _:
                assert titles == [task.title for task in before]
                changed_one = next(one for one in after if one.id == remark.task)
                assert (changed_one.state == "done") == (remark.repair is QuickFix.TICK)
