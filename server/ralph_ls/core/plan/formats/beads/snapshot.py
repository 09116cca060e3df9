"""Beads snapshot: all issues at one moment, as a text, as a plan, and compared with a later one.

Two snapshots have equal texts exactly if nothing changed that the loop considers. Each issue is one
line with the field names of ``bd``; modification times are left out. The output of
``bd list --json`` can be read as a snapshot, too.

In the plan, the place of a task is its line in the snapshot's text. States that the model does not
have become the nearest one: a deferred issue is skipped, because that was a decision. ``bd`` has
five priorities and a plan three, so everything less urgent than P2 counts as P2 and is shown as it
is; the queue uses the issue's own priority.

``bd`` writes into an issue who claimed it, by a name from its environment. What was claimed by or
assigned to another name is not taken. An issue that failed and that planning changed, split or gave
a dependency counts as another task and is tried again (docs/rules.md#attempts).

Does not run ``bd`` or git.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ralph_ls.core.plan.formats.beads.bd_output import BeadsOutput, read_output
from ralph_ls.core.plan.formats.beads.issues import (
    BeadsIssue,
    BeadsOddity,
    IssueStatus,
    is_usable_id,
    issue_to_raw,
    read_issue,
)
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plan.verification.criteria import read_criteria
from ralph_ls.protocol.plan import PlanProblem
from ralph_ls.protocol.task_words import Priority, ShownPriority, TaskState

KIND = "beads"
FIRST_LINE = 3
"""The line of the first issue in the text, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeadsSnapshot:
    """The issues, from the oldest to the newest."""

    issues: tuple[BeadsIssue, ...] = ()
    ready: tuple[str, ...] | None = None
    """Ids that ``bd ready`` offers, in its order; None where it was not run."""
    parent: str | None = None
    """Only parts of this issue are in scope."""
    oddities: tuple[BeadsOddity, ...] = ()

    def by_id(self) -> Mapping[str, BeadsIssue]:
        """Every issue under its id. Build it once for many look-ups."""
        return {issue.id: issue for issue in self.issues}

    def in_scope(self) -> tuple[BeadsIssue, ...]:
        """The issues in scope: all, or the parts of ``parent``, and their parts."""
        if self.parent is None:
            return self.issues
        inside = {self.parent}
        parts = parts_of(self.issues)
        left = [self.parent]
        while left:
            fresh = [part for part in parts.get(left.pop(), ()) if part not in inside]
            inside.update(fresh)
            left.extend(fresh)
        inside.discard(self.parent)
        return tuple(issue for issue in self.issues if issue.id in inside)


def take_snapshot(
    raw: Iterable[Mapping[str, object]],
    *,
    ready: Iterable[str] | None = None,
    parent: str | None = None,
    oddities: Sequence[BeadsOddity] = (),
) -> BeadsSnapshot:
    """Build a snapshot from the output of ``bd``; of a repeated issue the later one counts.

    Deleted issues and templates are left out.
    """
    found: dict[str, BeadsIssue] = {}
    odd_parts = list(oddities)
    for item in raw:
        issue, odd = read_issue(item)
        odd_parts += odd
        if issue is None:
            continue
        found.pop(issue.id, None)
        if issue.status != "tombstone" and item.get("is_template") is not True:
            found[issue.id] = issue
    issues = sorted(found.values(), key=lambda issue: (issue.created_at, _number_aware(issue.id)))
    offered = None if ready is None else tuple(one for one in ready if one in found)
    return BeadsSnapshot(
        issues=tuple(issues), ready=offered, parent=parent, oddities=tuple(dict.fromkeys(odd_parts))
    )


def snapshot_to_text(snapshot: BeadsSnapshot) -> str:
    """The snapshot as a text, one issue a line from ``FIRST_LINE`` on."""
    head = {
        "kind": KIND,
        "schemaVersion": 1,
        "parent": snapshot.parent,
        "ready": None if snapshot.ready is None else list(snapshot.ready),
    }
    oddities = [{"code": one.code, "message": one.message} for one in snapshot.oddities]
    lines = ",\n".join(_compact(issue_to_raw(issue)) for issue in snapshot.issues)
    return f'{_compact(head)[:-1]},\n"oddities":{_compact(oddities)},\n"issues":[\n{lines}\n]}}\n'


def snapshot_from_text(text: str) -> BeadsSnapshot:
    """Parse a snapshot, or the output of ``bd``. Total."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("kind") != KIND:
        answer = read_output(text)
        return take_snapshot(answer.items, oddities=_oddities_of(answer))
    ready, parent, issues = value.get("ready"), value.get("parent"), value.get("issues")
    kept = value.get("oddities")
    return take_snapshot(
        [item for item in issues if isinstance(item, dict)] if isinstance(issues, list) else (),
        ready=[one for one in ready if isinstance(one, str)] if isinstance(ready, list) else None,
        parent=parent if isinstance(parent, str) and is_usable_id(parent) else None,
        oddities=[
            BeadsOddity(str(one.get("code")), str(one.get("message")))
            for one in (kept if isinstance(kept, list) else ())
            if isinstance(one, dict)
        ],
    )


def parts_of(issues: Iterable[BeadsIssue]) -> Mapping[str, Sequence[str]]:
    """The ids of the parts of each issue that has some."""
    parts: dict[str, list[str]] = {}
    for issue in issues:
        if issue.parent is not None:
            parts.setdefault(issue.parent, []).append(issue.id)
    return parts


def _oddities_of(answer: BeadsOutput) -> tuple[BeadsOddity, ...]:
    if answer.error is None:
        return answer.oddities
    return (*answer.oddities, BeadsOddity("bd-error", f"bd says: {answer.error}"))


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _number_aware(issue_id: str) -> list[tuple[int, str]]:
    """``bd-2`` before ``bd-10``, and ``bd-2.1`` behind ``bd-2``."""
    words = issue_id.replace("-", ".").split(".")
    return [(int(word), "") if _is_number(word) else (-1, word) for word in words]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def parse_beads(text: str) -> ParsedPlan:
    """Read the text of a snapshot as a plan. Total.

    For the output of ``bd list --json``, the lines are those of its snapshot.
    """
    return plan_of_snapshot(snapshot_from_text(text))


def plan_of_snapshot(snapshot: BeadsSnapshot) -> ParsedPlan:
    """The tasks in scope, parts behind the issues that contain them, and their oddities."""
    issues = snapshot.by_id()
    places = {
        issue.id: (FIRST_LINE + nth, start, line)
        for nth, (issue, (start, line)) in enumerate(
            zip(
                snapshot.issues,
                list(lines_of(snapshot_to_text(snapshot)))[FIRST_LINE:],
                strict=False,
            )
        )
    }
    tasks = []
    for issue, depth in _in_order(snapshot):
        line, start, written = places[issue.id]
        parent = issues.get(issue.parent or "")
        tasks.append(
            Task(
                id=issue.id,
                title=fold_whitespace(issue.title) or issue.id,
                state=issue_task_state(issue),
                priority=_PRIORITIES.get(issue.priority, Priority.P2),
                section="" if parent is None else fold_whitespace(parent.title),
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
    return ParsedPlan(plan=Plan(tasks=tuple(tasks)), problems=_problems(snapshot, places))


def issue_task_state(issue: BeadsIssue) -> TaskState:
    """The task state of an issue; with a status unknown to ``bd`` it is blocked."""
    return _STATES.get(issue.status, TaskState.BLOCKED)


def blocked_by(issue: BeadsIssue, issues: Mapping[str, BeadsIssue]) -> str | None:
    """The reason why an unfinished issue is blocked, from its notes and dependencies."""
    if issue.is_closed:
        return None
    open_needs = [one for one in issue.needs if one in issues and not issues[one].is_closed]
    if open_needs:
        return ", ".join(f"{one} ({fold_whitespace(issues[one].title)})" for one in open_needs)
    lines = (fold_whitespace(line) for line in reversed(issue.notes.splitlines()))
    reasons = (line for line in lines if line.casefold().startswith(_REASONS))
    reason = next(reasons, None)
    if reason is not None and issue_task_state(issue) is TaskState.BLOCKED:
        return reason.partition(":")[2].strip() or reason
    if issue.status not in _STATES:
        return f"its status {issue.status}"
    return None


_STATES: Mapping[str, TaskState] = {
    IssueStatus.OPEN: TaskState.TODO,
    IssueStatus.IN_PROGRESS: TaskState.IN_PROGRESS,
    IssueStatus.BLOCKED: TaskState.BLOCKED,
    IssueStatus.DEFERRED: TaskState.SKIPPED,
    IssueStatus.CLOSED: TaskState.DONE,
}
_PRIORITIES = {0: Priority.P0, 1: Priority.P1}
_REASONS = ("blocked by:", "blocked:", "stuck:", "needs:")


def _in_order(snapshot: BeadsSnapshot) -> list[tuple[BeadsIssue, int]]:
    """Each issue in scope once with its depth, its parts right behind it."""
    scope = snapshot.in_scope()
    inside = {issue.id: issue for issue in scope}
    parts = parts_of(scope)
    roots = [issue for issue in scope if issue.parent not in inside]
    found: dict[str, int] = {}
    # Issues that are parts of each other have no root; they come last, in their order.
    stack = [(issue.id, 0) for issue in (*reversed(scope), *reversed(roots))]
    while stack:
        issue_id, depth = stack.pop()
        if issue_id in found:
            continue
        found[issue_id] = depth
        stack += [(one, depth + 1) for one in reversed(parts.get(issue_id, ())) if one not in found]
    return [(inside[issue_id], depth) for issue_id, depth in found.items()]


def _problems(
    snapshot: BeadsSnapshot, places: Mapping[str, tuple[int, int, str]]
) -> tuple[PlanProblem, ...]:
    """The oddities as problems; without a better place on the first line."""
    problems = [
        PlanProblem(code=one.code, message=one.message, line=1) for one in snapshot.oddities
    ]
    for issue in snapshot.issues:
        if issue.status not in _STATES:
            message = (
                f"{issue.id} has the status {issue.status}, so the loop ignores it; to have it "
                f"done: bd update {issue.id} --status open"
            )
            line = places[issue.id][0] + 1
            problems.append(PlanProblem(code="unknown-status", message=message, line=line))
    return tuple(problems)


ACTOR_VARIABLES = ("BD_ACTOR", "BEADS_ACTOR")
LOGIN_VARIABLES = ("USER", "USERNAME")


def claiming_actor(environment: Mapping[str, str], git_name: str | None) -> str | None:
    """The name under which ``bd`` claims in this environment; None where that is not known."""
    names = [environment.get(name) for name in ACTOR_VARIABLES]
    logins = [environment.get(name) for name in LOGIN_VARIABLES]
    return next((name for name in (*names, git_name, *logins) if name), None)


def claimed_by_others(snapshot: BeadsSnapshot, own_names: Collection[str]) -> dict[str, str]:
    """Unfinished issues of other workers, each with the words that follow its name.

    Empty where the own name is unknown.
    """
    if not own_names:
        return {}
    return {
        issue.id: f"assigned to {fold_whitespace(issue.assignee)}"
        for issue in snapshot.issues
        if issue.assignee and issue.assignee not in own_names and not issue.is_closed
    }


def changed_by_planning(
    before: BeadsSnapshot, after: BeadsSnapshot, ids: Collection[str]
) -> tuple[str, ...]:
    """The issues that changed or have other parts, including removed ones."""
    was, now = before.by_id(), after.by_id()
    parts = [parts_of(snapshot.issues) for snapshot in (before, after)]
    return tuple(
        issue_id
        for issue_id in ids
        if was.get(issue_id) != now.get(issue_id)
        or parts[0].get(issue_id) != parts[1].get(issue_id)
    )
