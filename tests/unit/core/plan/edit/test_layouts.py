"""Plans of other tools, read in their places and layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.task_words import Priority, TaskState

LAYOUTS = Path(__file__).parents[4] / "data" / "layouts"


@pytest.mark.parametrize(
    ("plan", "tasks"),
    [
        (
            "dot_ralph/.ralph/fix_plan.md",
            [
                ("Implement password hashing", Priority.P0, TaskState.TODO),
                ("Review PRD and existing code", Priority.P0, TaskState.TODO),
                ("Add rate limiting", Priority.P1, TaskState.TODO),
                ("Performance notes", Priority.P2, TaskState.TODO),
                ("Project initialization", None, TaskState.DONE),
            ],
        ),
        (
            "root_plan/fix_plan.md",
            [
                ("Parser: report the line of an error", None, TaskState.TODO),
                ("Parser: accept tabs", None, TaskState.TODO),
                ("Lexer: unicode identifiers", None, TaskState.TODO),
            ],
        ),
    ],
)
def test_the_tasks_of_another_tools_plan(
    plan: str, tasks: list[tuple[str, Priority | None, TaskState]]
) -> None:
    parsed = parse_markdown((LAYOUTS / plan).read_text(encoding="utf-8"))
    assert [(task.title, task.priority, task.state) for task in parsed.plan.tasks] == tasks
    assert not parsed.problems
