"""The issues of a snapshot as the tasks of a plan.

The place of a task is its line in the snapshot's text. What the model has no word for is put into
its nearest one: an issue that was put off is skipped, since somebody decided so. ``bd`` knows five
priorities and a plan three, so what is less urgent than P2 counts as P2, and is shown as it is.
Whose turn it is is decided by the issue's own priority (``queue``).
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.core.plan.beads.criteria import read_criteria
from ralph_ls.core.plan.beads.issues import Issue, Status
from ralph_ls.core.plan.beads.snapshot import FIRST_LINE, Snapshot, from_text, parts_of, to_text
from ralph_ls.core.plan.lines import lines_of
from ralph_ls.core.plan.model import Parsed, Plan, Task
from ralph_ls.core.plan.titles import fold
from ralph_ls.protocol.plan import PlanProblem, Priority, ShownPriority, TaskState


def parse(text: str) -> Parsed:
    """Read the text of a snapshot as a plan. Total.

    Of what only ``bd list --json`` has printed, the lines are those that its snapshot would have.
    """
    return read_plan(from_text(text))


def read_plan(snapshot: Snapshot) -> Parsed:
    """The tasks that are in scope, parts behind what they are parts of, and what is odd in them."""
    issues = snapshot.by_id()
    places = {
        issue.id: (FIRST_LINE + nth, start, line)
        for nth, (issue, (start, line)) in enumerate(
            zip(snapshot.issues, list(lines_of(to_text(snapshot)))[FIRST_LINE:], strict=False)
        )
    }
    tasks = []
    for issue, depth in _in_order(snapshot):
        line, start, written = places[issue.id]
        parent = issues.get(issue.parent or "")
        tasks.append(
            Task(
                id=issue.id,
                title=fold(issue.title) or issue.id,
                state=state_of(issue),
                priority=_PRIORITIES.get(issue.priority, Priority.P2),
                section="" if parent is None else fold(parent.title),
                optional=False,
                line=line,
                start=start,
                end=start + len(written),
                end_line=line,
                depth=depth,
                parent=issue.parent if depth else None,
                blocked_by=blocked_by(issue, issues),
                criteria=read_criteria(issue.criteria),
                tracker_priority=ShownPriority(f"P{issue.priority}"),
            )
        )
    return Parsed(plan=Plan(tasks=tuple(tasks)), problems=_problems(snapshot, places))


def state_of(issue: Issue) -> TaskState:
    """How an issue stands in the words of a plan; what ``bd`` does not know itself is blocked."""
    return _STATES.get(issue.status, TaskState.BLOCKED)


def blocked_by(issue: Issue, issues: Mapping[str, Issue]) -> str | None:
    """What an unfinished issue waits for, as its notes and dependencies give it."""
    if issue.is_closed:
        return None
    open_needs = [one for one in issue.needs if one in issues and not issues[one].is_closed]
    if open_needs:
        return ", ".join(f"{one} ({fold(issues[one].title)})" for one in open_needs)
    lines = (fold(line) for line in reversed(issue.notes.splitlines()))
    said = (line for line in lines if line.casefold().startswith(_REASONS))
    reason = next(said, None)
    if reason is not None and state_of(issue) is TaskState.BLOCKED:
        return reason.partition(":")[2].strip() or reason
    if issue.status not in _STATES:
        return f"its status {issue.status}"
    return None


_STATES: Mapping[str, TaskState] = {
    Status.OPEN: TaskState.TODO,
    Status.IN_PROGRESS: TaskState.IN_PROGRESS,
    Status.BLOCKED: TaskState.BLOCKED,
    Status.DEFERRED: TaskState.SKIPPED,
    Status.CLOSED: TaskState.DONE,
}
_PRIORITIES = {0: Priority.P0, 1: Priority.P1}
_REASONS = ("blocked by:", "blocked:", "stuck:", "needs:")


def _in_order(snapshot: Snapshot) -> list[tuple[Issue, int]]:
    """Each issue in scope once with its depth, its parts right behind it."""
    scope = snapshot.in_scope()
    inside = {issue.id: issue for issue in scope}
    parts = parts_of(scope)
    roots = [issue for issue in scope if issue.parent not in inside]
    found: dict[str, int] = {}
    # Parts of each other have no root; they come last, as they stand.
    stack = [(issue.id, 0) for issue in (*reversed(scope), *reversed(roots))]
    while stack:
        issue_id, depth = stack.pop()
        if issue_id in found:
            continue
        found[issue_id] = depth
        stack += [(one, depth + 1) for one in reversed(parts.get(issue_id, ())) if one not in found]
    return [(inside[issue_id], depth) for issue_id, depth in found.items()]


def _problems(
    snapshot: Snapshot, places: Mapping[str, tuple[int, int, str]]
) -> tuple[PlanProblem, ...]:
    """What is odd; without a better place on the first line."""
    problems = [
        PlanProblem(code=one.code, message=one.message, line=1) for one in snapshot.oddities
    ]
    for issue in snapshot.issues:
        if issue.status not in _STATES:
            message = (
                f"{issue.id} has the status {issue.status}, which nobody works at; "
                f"to have it done: bd update {issue.id} --status open"
            )
            line = places[issue.id][0] + 1
            problems.append(PlanProblem(code="unknown-status", message=message, line=line))
    return tuple(problems)
