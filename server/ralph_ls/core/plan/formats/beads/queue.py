"""Work queue of beads issues: which issue is next, and why the others are held.

See docs/rules.md#exit-gate. ``bd ready`` lists the open issues that wait for nothing, and considers
things that its other output does not show, such as work in other repositories. Without it, the
dependencies decide. Issues in progress are not offered by ``bd ready`` and are continued first. An
issue with unfinished parts is never taken: its parts are the work.

Every other issue is held with a reason, so that a run which ends can report it: blocked, stuck
after its attempts, in a cycle, or waiting for one of those. A cycle cannot be worked off in any
order, so the user has to break it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from ralph_ls.core.plan.formats.beads.issues import BeadsIssue, IssueStatus
from ralph_ls.core.plan.formats.beads.snapshot import (
    BeadsSnapshot,
    blocked_by,
    issue_task_state,
    parts_of,
    plan_of_snapshot,
)
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.task_words import TaskState

Edges = Mapping[str, Collection[str]]
"""The nodes that each node waits for."""


def find_cycles(edges: Edges) -> tuple[tuple[str, ...], ...]:
    """A short cycle for each group of nodes that wait for each other, sorted by their least nodes.

    Each cycle begins with the least node of its group. Of several cycles in one group only one is
    reported; the next is found when that one is broken. Linear for each group.
    """
    cycles: list[tuple[str, ...]] = []
    left = _without_order(edges)
    waiters: dict[str, list[str]] = {}
    for node, targets in left.items():
        for target in targets:
            waiters.setdefault(target, []).append(node)
    while in_cycle := _any_cycle(left):
        group = _reachable(left, in_cycle[0]) & _reachable(waiters, in_cycle[0])
        first = min(group)
        paths = (find_path(left, one, first) for one in sorted(left[first]) if one in group)
        cycles.append((first, *min(paths, key=len)[:-1]))
        left = {node: targets for node, targets in left.items() if node not in group}
    return tuple(sorted(cycles))


def find_path(edges: Edges, start: str, goal: str) -> tuple[str, ...]:
    """A shortest way from one to another, with both ends; empty where there is none."""
    previous: dict[str, str | None] = {start: None}
    front = [start]
    while front and goal not in previous:
        reached: list[str] = []
        for node in front:
            for target in sorted(edges.get(node, ())):
                if target not in previous:
                    previous[target] = node
                    reached.append(target)
        front = reached
    path: list[str] = []
    at = goal if goal in previous else None
    while at is not None:
        path.append(at)
        at = previous[at]
    return tuple(reversed(path))


def _without_order(edges: Edges) -> Edges:
    """The part of the graph that no order includes: cycles, and what waits for them."""
    sorter = TopologicalSorter(edges)
    with suppress(CycleError):
        sorter.prepare()
    left = set(edges)
    while ready := sorter.get_ready():
        left.difference_update(ready)
        sorter.done(*ready)
    return {node: targets for node, targets in edges.items() if node in left}


def _any_cycle(edges: Edges) -> Sequence[str]:
    """The nodes of one cycle; empty where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        nodes: Sequence[str] = error.args[1]
        return nodes
    return ()


def _reachable(edges: Edges, start: str) -> set[str]:
    found, front = {start}, [start]
    while front:
        new = set(edges.get(front.pop(), ())) - found
        found |= new
        front += new
    return found


class HoldReason(StrEnum):
    """Why an unfinished issue cannot be taken."""

    BLOCKED = "blocked"
    STUCK = "stuck"
    """It has had all its attempts."""
    CYCLE = "cycle"
    """It waits for itself, by way of others."""
    WAITING = "waiting"
    PARTS = "parts"
    SKIPPED = "skipped"
    """The user does not want it taken in this run."""
    TAKEN = "taken"
    """Another worker has it."""
    NOT_OFFERED = "notOffered"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldIssue:
    """An unfinished issue that cannot be taken."""

    task: Task
    reason: HoldReason
    why: str
    """In words that follow its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueQueue:
    """The unfinished issues in scope: each is ready or held."""

    ready: tuple[Task, ...] = ()
    """The most urgent first."""
    held: tuple[HeldIssue, ...] = ()
    """In the order of the plan."""
    cycles: tuple[tuple[str, ...], ...] = ()
    """Cycles of unfinished issues, by their ids; also those outside the scope."""

    @property
    def next_task(self) -> Task | None:
        return self.ready[0] if self.ready else None

    @property
    def is_empty(self) -> bool:
        """Nothing is unfinished: the run is complete."""
        return not self.ready and not self.held

    @property
    def is_stuck(self) -> bool:
        """Whether no issue can be taken, and one was set aside, where planning may help.

        See docs/rules.md#plan-mode.
        """
        return not self.ready and any(one.reason is HoldReason.STUCK for one in self.held)


def read_queue(
    snapshot: BeadsSnapshot,
    *,
    set_aside: Mapping[str, int] = MappingProxyType({}),
    skipped: Collection[str] = (),
    taken: Mapping[str, str] = MappingProxyType({}),
    only: str | None = None,
) -> IssueQueue:
    """Divide the unfinished issues into ready and held ones.

    ``set_aside`` are ids of those that must not be taken, with the attempts that they had;
    ``taken`` those that others have, with the reason in words that follow their name; ``only``
    ignores all others, as if there were none. Deferred issues are ignored.
    """
    issues = snapshot.by_id()
    view = _View(snapshot, issues)
    ready: list[Task] = []
    held: list[HeldIssue] = []
    for task in plan_of_snapshot(snapshot).plan.tasks:
        if task.state in _NOBODYS or (only is not None and task.id != only):
            continue
        found = _held(issues[task.id], view, set_aside, skipped)
        if task.id in taken and (found is None or found[0] in _WEAKER):
            found = HoldReason.TAKEN, taken[task.id]
        if found is None:
            ready.append(task)
        else:
            held.append(HeldIssue(task=task, reason=found[0], why=found[1]))
    ready.sort(key=lambda task: view.urgency(issues[task.id]))
    return IssueQueue(ready=tuple(ready), held=tuple(held), cycles=view.cycles)


def describe_unready(queue: IssueQueue) -> str:
    """The issues that cannot be taken, in words for the end of a run; empty without any.

    Issues that only wait for their parts are omitted, because the parts are listed.
    """
    parts: list[str] = []
    for reason, label in _LABELS.items():
        names = [f"{one.task.id} ({one.why})" for one in queue.held if one.reason is reason]
        if names:
            more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
            parts.append(f"{label}: {', '.join([*names[:SHOWN], *more])}")
    if any(one.reason is HoldReason.CYCLE for one in queue.held):
        rings = "; ".join(format_cycle(ring) for ring in queue.cycles[:SHOWN])
        parts.append(f"waiting for each other: {rings}; remove a dependency: bd dep remove")
    return "; ".join(parts)


def format_cycle(ring: tuple[str, ...]) -> str:
    """``bd-1 → bd-2 → bd-1``; of a long one the beginning."""
    shown = ring[: SHOWN + 1]
    return " → ".join([*shown, "…"] if len(ring) > len(shown) else [*shown, ring[0]])


SHOWN = 5
"""Issues of each sort that are named."""

_WEAKER = frozenset({HoldReason.PARTS, HoldReason.NOT_OFFERED})
"""Reasons that are weaker than that another worker has the issue."""
_NOBODYS = frozenset({TaskState.DONE, TaskState.SKIPPED})
_LABELS = {
    HoldReason.BLOCKED: "blocked",
    HoldReason.STUCK: "stuck",
    HoldReason.WAITING: "waiting",
    HoldReason.SKIPPED: "skipped",
    HoldReason.TAKEN: "taken by others",
    HoldReason.NOT_OFFERED: "not offered by bd ready",
}


class _View:
    """Facts about all issues that decide about each of them."""

    def __init__(self, snapshot: BeadsSnapshot, issues: Mapping[str, BeadsIssue]) -> None:
        self.issues = issues
        self._places = (
            None
            if snapshot.ready is None
            else {issue_id: nth for nth, issue_id in enumerate(snapshot.ready)}
        )
        self._order = {issue.id: nth for nth, issue in enumerate(snapshot.issues)}
        unfinished = [issue for issue in snapshot.issues if not issue.is_closed]
        self.open_parts = parts_of(unfinished)
        self.waits = {issue.id: self._open_needs(issue) for issue in unfinished}
        self.cycles = find_cycles(self.waits)
        self.in_cycle = {issue_id: ring for ring in self.cycles for issue_id in ring}

    def is_offered(self, issue_id: str) -> bool | None:
        """None if ``bd ready`` was not run."""
        return None if self._places is None else issue_id in self._places

    def waits_for(self, issue: BeadsIssue) -> str | None:
        """The issue that it, or the issue it is part of, waits for."""
        visited: set[str] = set()
        at: BeadsIssue | None = issue
        while at is not None and at.id not in visited:
            needs = self.waits.get(at.id)
            if needs:
                return needs[0]
            visited.add(at.id)
            at = self.issues.get(at.parent or "")
        return None

    def urgency(self, issue: BeadsIssue) -> tuple[bool, int, int, int]:
        last = len(self._order)
        place = last if self._places is None else self._places.get(issue.id, last)
        is_waiting = issue.status != IssueStatus.IN_PROGRESS
        return (is_waiting, issue.priority, place, self._order[issue.id])

    def _open_needs(self, issue: BeadsIssue) -> list[str]:
        known = (one for one in issue.needs if one in self.issues)
        return [one for one in known if not self.issues[one].is_closed]


def _held(
    issue: BeadsIssue, view: _View, set_aside: Mapping[str, int], skipped: Collection[str]
) -> tuple[HoldReason, str] | None:
    """Why an issue is held; the reason that the user can best act on comes first."""
    if issue_task_state(issue) is TaskState.BLOCKED:
        reason = blocked_by(issue, view.issues)
        return HoldReason.BLOCKED, f"blocked by {reason}" if reason else "blocked in bd"
    if issue.id in skipped:
        return HoldReason.SKIPPED, "skipped in this run"
    if issue.id in set_aside:
        return HoldReason.STUCK, _why_set_aside(issue, set_aside[issue.id])
    is_offered = view.is_offered(issue.id)
    if issue.id in view.in_cycle and not is_offered:
        return HoldReason.CYCLE, f"in a cycle: {format_cycle(view.in_cycle[issue.id])}"
    needed = None if is_offered else view.waits_for(issue)
    if needed is not None:
        return HoldReason.WAITING, f"waiting for {view.issues[needed].title} ({needed})"
    parts = view.open_parts.get(issue.id)
    if parts:
        return HoldReason.PARTS, f"waiting for its sub-issues, such as {parts[0]}"
    if is_offered is False and issue.status == IssueStatus.OPEN:
        return HoldReason.NOT_OFFERED, "not offered by bd ready"
    return None


def _why_set_aside(issue: BeadsIssue, attempts: int) -> str:
    """The reason in its last note; if its agent gave up, it did not have all its attempts."""
    notes = [line for line in issue.notes.splitlines() if line.startswith("STUCK: ")]
    given_up = _GIVEN_UP.fullmatch(notes[-1].strip()) if notes else None
    if given_up is not None:
        return f"given up: {fold_whitespace(given_up[1])}"
    failed = _FAILED.fullmatch(notes[-1].strip()) if notes else None
    quote = "" if failed is None else f"; {failed[1][0].lower()}{fold_whitespace(failed[1][1:])}"
    return f"set aside after {count_of(attempts, 'attempt')}{quote}"


_FAILED = re.compile(r"STUCK: Failed after \d+ attempts at \S+\. Moving to next issue\. (.+)")
_GIVEN_UP = re.compile(r"STUCK: Blocked at \S+: (.+)\. Moving to next issue\.")
"""As ``commands.note_stuck`` words it."""
