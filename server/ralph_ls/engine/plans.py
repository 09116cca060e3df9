"""Reading the plan from the work tree, and what the loop has to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ralph_ls.core.loop.inputs import PlanFacts
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.select import count, next_task
from ralph_ls.protocol.config import Config
from ralph_ls.protocol.errors import PlanMissing, UsageError
from ralph_ls.protocol.plan import TaskState
from ralph_ls.protocol.run_words import PlanCountsView, TaskRef

SHOWN_TASKS = 10


def find_plan(root: Path, candidates: Sequence[str], chosen: str | None) -> str:
    """Where the plan lies, relative to the root; raises ``PlanMissing``."""
    paths = [chosen] if chosen is not None else list(candidates)
    for path in paths:
        if (root / path).is_file():
            return path
    raise PlanMissing(
        f"there is no plan in {root}: looked for {', '.join(paths)}; "
        "make one with ralph init, or name yours with --plan"
    )


def read_plan_text(root: Path, path: str) -> str:
    """The plan's text; raises ``PlanMissing`` where it is gone or unreadable."""
    try:
        return (root / path).read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise PlanMissing(
            f"the plan {root / path} cannot be read: {error.strerror or error}; put it back, "
            "for example with: git checkout -- " + path
        ) from error


def parse_plan(text: str, config: Config) -> Plan:
    """The plan as this run sees it: with ``task``, that task alone is all there is to do."""
    plan = parse(text, optional_sections=config.optional_sections).plan
    if config.task is None:
        return plan
    return Plan(tasks=tuple(task for task in plan.tasks if task.id == config.task))


def facts_of(plan: Plan) -> PlanFacts:
    """What the loop decides by."""
    chosen = next_task(plan)
    open_tasks = [task for task in plan.tasks if _is_open(task) and not task.optional]
    return PlanFacts(
        counts=counts_view(plan),
        next_task=None if chosen is None else _reference(chosen),
        open_tasks=tuple(_reference(task) for task in open_tasks[:SHOWN_TASKS]),
    )


def counts_view(plan: Plan) -> PlanCountsView:
    """The plan in numbers; a blocked task is not done, so it is open too."""
    counts = count(plan)
    return PlanCountsView(
        total=counts.total,
        done=counts.done,
        open_required=counts.open_required + counts.blocked_required,
        blocked_required=counts.blocked_required,
        open_optional=counts.open_optional,
        required=counts.required,
        required_done=counts.done_required,
    )


def require_task(plan: Plan, task_id: str) -> None:
    """Raise ``UsageError`` where the plan has no such task, naming those that it has."""
    if any(task.id == task_id for task in plan.tasks):
        return
    known = ", ".join(f"{task.id} ({task.title[:40]})" for task in plan.tasks[:5])
    raise UsageError(
        f"the plan has no task {task_id!r}; it has: {known or 'none'}. See them all: ralph plan"
    )


def _is_open(task: Task) -> bool:
    return task.state not in {TaskState.DONE, TaskState.SKIPPED}


def _reference(task: Task) -> TaskRef:
    return TaskRef(id=task.id, title=task.title)
