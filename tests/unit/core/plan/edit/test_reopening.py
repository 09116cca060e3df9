"""A task that left the plan, written into it again."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.diff.guard_overrides import (
    LONGEST_EXCERPT,
    reopen_from_excerpt,
    task_excerpt,
)
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.task_words import TaskState

PLAN = "# Plan\n\n## Now\n\n- [ ] A-1: First\n- [~] A-2: Second\n  - Done when: green\n\n## Later\n"
TAKEN = "## Now\n\n- [ ] A-2: Second\n  - Done when: green"
DOS = "# Plan\r\n\r\n## Now\r\n\r\n- [ ] A-1: First\r\n\r\n## Later\r\n"
TAKEN_DOS = "- [ ] A-2: Second\r\n  - Done when: green\r\n"


@pytest.mark.parametrize(
    ("plan", "task_id", "text"),
    [
        pytest.param(PLAN, "A-2", TAKEN, id="as open, with its notes"),
        pytest.param(PLAN, "A-9", "", id="unknown"),
        pytest.param(
            "- [ ] A-1: a\n  - [ ] A-2: b\n", "A-1", "- [ ] A-1: a", id="nested ones stay"
        ),
        pytest.param("- [ ] A-1: a\n  - [ ] A-2: b\n", "A-2", "- [ ] A-2: b", id="nested itself"),
        pytest.param("1. A-1: a\n2. A-2: b\n", "A-2", "2. A-2: b", id="no box"),
        pytest.param(
            "| Task | Status |\n|---|---|\n| Alpha | open |\n| Beta | open |\n",
            "",
            "- [ ] Alpha\n",
            id="a row",
        ),
        pytest.param(
            f"- [ ] A-1: a\n  - {'b' * LONGEST_EXCERPT}\n", "A-1", "- [ ] a\n", id="too long"
        ),
    ],
)
def test_what_is_kept_of_a_task(plan: str, task_id: str, text: str) -> None:
    parsed = parse_markdown(plan).plan
    assert task_excerpt(parsed, plan, task_id or parsed.tasks[0].id) == text


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (DOS, DOS.replace("- [ ] A-1", TAKEN_DOS + "- [ ] A-1")),
        ("- [ ] B\n", "- [ ] B\n\n## Now\n\n- [ ] A-2: Second\n  - Done when: green\n"),
        ("", "## Now\n\n- [ ] A-2: Second\n  - Done when: green\n"),
    ],
)
def test_it_is_open_again_and_nothing_else_changes(plan: str, expected: str) -> None:
    done = reopen_from_excerpt(plan, TAKEN, "A-2")
    assert (done.text, done.refusal) == (expected, "")
    found = parse_markdown(done.text).plan.find("A-2")
    assert found is not None
    assert found.state is TaskState.TODO


@pytest.mark.parametrize(
    ("plan", "removed", "refusal"),
    [
        (PLAN, TAKEN, "the plan already has the task"),
        ("- [x] Second\n", TAKEN, "the plan already has the task"),
        ("- [ ] B\n", "", "are no longer known"),
        ("- [ ] B\n", "- [ ] Use [redacted token]\n", "contained a secret"),
        ("- [ ] B\n\n```\nopen\n", TAKEN, "would change how other"),
    ],
)
def test_what_cannot_be_reopened_is_reported(plan: str, removed: str, refusal: str) -> None:
    done = reopen_from_excerpt(plan, removed, "A-2")
    assert refusal in done.refusal
    assert not done.text
