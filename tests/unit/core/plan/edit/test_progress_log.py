"""Finished tasks leave the plan for PROGRESS.md, newest first, and nothing in it is pruned."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.progress_log import move_finished
from ralph_ls.protocol.errors import RalphError

PLAN = "# Plan\n\n- [x] A-1: a\n  - n\n\n- [ ] A-2: b\n  - [x] A-3: c\n\n- [-] A-4: d\n"
LEFT = "# Plan\n\n- [ ] A-2: b\n  - [x] A-3: c\n\n- [-] A-4: d\n"
ENTRY = "- [x] A-1: a\n  - Commit: abc1234\n  - n\n"


@pytest.mark.parametrize(
    ("log", "after"),
    [
        pytest.param("", f"# Progress Log\n\n## 2026-02-04\n{ENTRY}", id="new"),
        pytest.param("\n", f"# Progress Log\n\n## 2026-02-04\n{ENTRY}", id="empty"),
        pytest.param(
            "# Log\n\n## Completed Tasks\n",
            f"# Log\n\n## Completed Tasks\n\n### 2026-02-04\n{ENTRY}",
            id="completed",
        ),
        pytest.param(
            "# Log\n\n### 2026-02-03\n- [x] z\n",
            f"# Log\n\n### 2026-02-04\n{ENTRY}\n### 2026-02-03\n- [x] z\n",
            id="before-older-ones",
        ),
        pytest.param(
            "## [2026-02-05] x\n- [x] y\n\n## 2026-02-04\n\n- [x] z\n",
            f"## [2026-02-05] x\n- [x] y\n\n## 2026-02-04\n\n{ENTRY}- [x] z\n",
            id="first-of-its-day",
        ),
        pytest.param(
            "## 2026-02-04\n\n## 2026-02-03\n",
            f"## 2026-02-04\n{ENTRY}\n## 2026-02-03\n",
            id="an-empty-day",
        ),
        pytest.param(
            "## 2026-02-05\n- [x] z\n",
            f"## 2026-02-05\n- [x] z\n\n## 2026-02-04\n{ENTRY}",
            id="after-newer-ones",
        ),
        pytest.param(
            "## 2026-02-05\n- [x] z",
            f"## 2026-02-05\n- [x] z\n\n## 2026-02-04\n{ENTRY}".removesuffix("\n"),
            id="after-newer-ones-without-newline",
        ),
    ],
)
def test_finished_items_go_to_the_log(log: str, after: str) -> None:
    moved = move_finished(PLAN, log, day="2026-02-04", commits={"A-1": "abc1234"})
    assert tuple(moved) == (LEFT, after, ("A-1",))
    assert move_finished(moved.plan, moved.log, day="2026-02-04") == (LEFT, after, ())


@pytest.mark.parametrize(
    ("plan", "left", "log"),
    [
        pytest.param(
            "\ufeff1. [DONE] A-1: a\r\n2. A-2: b",
            "\ufeff2. A-2: b",
            "# Progress Log\r\n\r\n## 2026-02-04\r\n- [x] A-1: a\r\n",
            id="bom-crlf-tag",
        ),
        pytest.param(
            "# TODO\n1. A-2: b\n2. ~~A-1: a~~\n   - Commit: 1234\n   - n",
            "# TODO\n1. A-2: b",
            "# Progress Log\n\n## 2026-02-04\n- [x] A-1: a\n   - Commit: 1234\n   - n\n",
            id="strike-commit-end",
        ),
        pytest.param(
            "- [x] A-1: a", "", "# Progress Log\n\n## 2026-02-04\n- [x] A-1: a\n", id="all"
        ),
        pytest.param(
            "Plan\n\n- [x] A-1: a\n\n\n- [ ] b\n",
            "Plan\n\n- [ ] b\n",
            "# Progress Log\n\n## 2026-02-04\n- [x] A-1: a\n",
            id="blank-lines-that-meet",
        ),
    ],
)
def test_the_plan_keeps_the_rest(plan: str, left: str, log: str) -> None:
    assert move_finished(plan, "", day="2026-02-04") == (left, log, ("A-1",))


@pytest.mark.parametrize(
    ("plan", "left", "log"),
    [
        pytest.param(
            "# Plan\n\n### 1 🟢 A-1: a\n\nWords.\n\n- n\n\n### 2 🔴 b\n",
            "# Plan\n\n### 2 🔴 b\n",
            "- [x] 1 A-1: a\n  Words.\n\n  - n\n",
            id="heading",
        ),
        pytest.param("### [x] A-1: a", "", "- [x] A-1: a\n", id="only-heading"),
        pytest.param(
            "| ID | Task | Owner | Done | # |\n|-|-|-|-|-|\n| A-1 | a | Ada | [x] | 3 |\n",
            "| ID | Task | Owner | Done | # |\n|-|-|-|-|-|\n",
            "- [x] A-1: a\n  - Owner: Ada\n",
            id="row",
        ),
        pytest.param("- ✅ A-1: a\n", "", "- [x] A-1: a\n", id="emoji"),
        pytest.param("- [x] A-1\n", "", "- [x] A-1\n", id="id-alone"),
        pytest.param("## [x] A-1:\n", "", "- [x] A-1\n", id="heading-of-an-id"),
    ],
)
def test_every_kind_of_task_goes_to_the_log(plan: str, left: str, log: str) -> None:
    moved = move_finished(plan, "", day="2026-02-04")
    assert (moved.plan, moved.log) == (left, f"# Progress Log\n\n## 2026-02-04\n{log}")


def test_what_the_rest_needs_stays() -> None:
    # Without both of its parts, the phase would be a task itself.
    plan = "## Phase ✅\n\n### 🟢 a\n\n### 🟢 b\n\n### 🟢 c\n#### More\n"
    moved = move_finished(plan, "", day="2026-02-04")
    assert moved.plan == "## Phase ✅\n\n### 🟢 c\n#### More\n"
    plan = "## Phase ✅\n\n### 🟢 a\n\n### 🟢 b\n"
    moved = move_finished(plan, "", day="2026-02-04")
    assert moved.plan == "## Phase ✅\n\n### 🟢 b\n"
    with pytest.raises(RalphError, match="cannot be moved out of the plan"):
        move_finished(moved.plan, "", day="2026-02-04")


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(RalphError, match="'today' is not a date; write"):
        move_finished(PLAN, "", day="today")
    with pytest.raises(RalphError, match="not a commit hash"):
        move_finished(PLAN, "", day="2026-02-04", commits={"A-1": "?"})
    with pytest.raises(RalphError, match="cannot be moved out"):
        move_finished("1. a\n2. [x] A-1: b\n\n# B\n1. c\n", "", day="2026-02-04")
