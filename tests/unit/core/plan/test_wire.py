from __future__ import annotations

import json

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.queries import parsed_plan_to_json, task_view
from ralph_ls.core.plan.specs import fix_plan_skeleton
from ralph_ls.protocol.plan import TaskView
from ralph_ls.protocol.task_words import Priority, ShownPriority, TaskState


def test_a_plan_is_shown_as_the_command_line_promises() -> None:
    text = "# High (P0)\n- [!] A-1: a\n  - Blocked by: b\n  - Done when: c\n- [&] d\n"
    shown = parsed_plan_to_json(parse_markdown(text))
    assert json.loads(json.dumps(shown)) == {
        "tasks": [
            {
                "id": "A-1",
                "title": "a",
                "state": "blocked",
                "priority": "P0",
                "section": "High (P0)",
                "line": 2,
                "optional": False,
                "blockedBy": "b",
                "criteria": ["c"],
            },
            {
                "id": "18ac3e73",
                "title": "d",
                "state": "todo",
                "priority": "P0",
                "section": "High (P0)",
                "line": 5,
                "optional": False,
                "blockedBy": None,
                "criteria": [],
            },
        ],
        "problems": [
            {
                "code": "unknown-box",
                "message": "the box [&] of 'd' is unknown and read as open; use [ ], [x], [~], "
                "[!] or [-]",
                "line": 5,
            }
        ],
    }


def test_one_task_is_shown() -> None:
    (task,) = parse_markdown("# Low\n\n- [~] A-1: a").plan.tasks
    assert task_view(task) == TaskView(
        id="A-1",
        title="a",
        state=TaskState.IN_PROGRESS,
        priority=ShownPriority.P2,
        section="Low",
        line=3,
    )


def test_the_skeleton_has_four_sections_and_no_task() -> None:
    skeleton = fix_plan_skeleton()
    assert skeleton == (
        "# Fix Plan\n\n## High Priority (P0)\n\n## Standard (P1)\n\n"
        "## Nice to Have (P2)\n\n## Completed\n"
    )
    assert [problem.code for problem in parse_markdown(skeleton).problems] == ["no-tasks"]


def test_a_task_put_into_the_skeleton_has_the_priority_of_its_section() -> None:
    text = (
        fix_plan_skeleton().replace("(P0)\n", "(P0)\n- [ ] a\n").replace("(P2)\n", "(P2)\n1. b\n")
    )
    assert [task.priority for task in parse_markdown(text).plan.tasks] == [Priority.P0, Priority.P2]


def test_half_characters_are_shown_as_question_marks() -> None:
    half = "\udce4"
    text = f"# {half}\n- [{half}] {half}\n  - Blocked by: {half}\n  - Criteria: {half}\n"
    parsed = parse_markdown(text)
    (task,) = parsed.plan.tasks
    assert task_view(task) == TaskView(
        id=task.id,
        title="?",
        state=TaskState.TODO,
        section="?",
        line=2,
        blocked_by="?",
        criteria=("?",),
    )
    (problem,) = parsed.problems
    assert problem.message.startswith("the box [?] of ")
