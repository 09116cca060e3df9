"""Laws of the operations of a plan format, checked on one text."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ralph_ls.core.plan.model import ParsedPlan, Plan
from ralph_ls.protocol.task_words import TaskState

Parse = Callable[[str], ParsedPlan]
SetState = Callable[[str, str, TaskState, str], str]


def states(plan: Plan) -> dict[str, str]:
    """The state of every task, by id."""
    return {task.id: task.state.value for task in plan.tasks}


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ between two texts with the same number of lines."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    assert len(old) == len(new)
    return [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]


def check_state_edit(
    parse: Parse,
    set_state: SetState,
    text: str,
    task_id: str,
    state: TaskState,
    *,
    together: Collection[str] | None = None,
) -> str:
    """The text after an edit, which gives this task its state and keeps all others.

    ``together``: those that change with it.
    """
    before = parse(text).plan
    after_text = set_state(text, task_id, state, "")
    after = parse(after_text).plan
    changed = {one.id for one in after.tasks if before.by_id()[one.id].state is not one.state}
    assert changed <= {task_id, *(together or ())}
    assert after.by_id()[task_id].state is state
    # A state may change the order of the work, as that of a phase whose plans are done.
    assert sorted(task.title for task in after.tasks) == sorted(task.title for task in before.tasks)
    assert set_state(after_text, task_id, state, "") == after_text
    return after_text
