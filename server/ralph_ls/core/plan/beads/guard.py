"""Separation of powers for issues: what a build iteration may not do is put back (B; SPEC §8).

An agent that builds may create issues, add dependencies, change the status, note, describe and
close. It may not drop a dependency, change priority or type, delete, or touch criteria: that is how
a stuck agent would game its way out. Two more rules follow from these. To put an issue off is to
take it off the list, so it stays where it was. Ticking a criterion's box is no change of it.

A planning iteration may do all that, and what it has made of the issues is what counts then. Two
snapshots are compared, so who did it is for the caller to know; it must never run ``bd``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

from ralph_ls.core.plan.beads.commands import (
    Command,
    add_dependency,
    create_again,
    remove_dependency,
    set_status,
)
from ralph_ls.core.plan.beads.criteria import without_ticks
from ralph_ls.core.plan.beads.cycles import find_path
from ralph_ls.core.plan.beads.issues import Dependency, DependencyKind, Issue, Status
from ralph_ls.core.plan.beads.snapshot import Snapshot


class Offence(StrEnum):
    """What a build iteration may not do to an issue."""

    DROPPED = "dropped"
    """It is deleted."""
    SKIPPED = "skipped"
    """It was put off."""
    CRITERIA = "criteria"
    DEPENDENCY = "dependency"
    """It does not depend any more on what it depended on, or in another way."""
    PRIORITY = "priority"
    TYPE = "type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that is to be put back."""

    what: Offence
    issue: Issue
    """As it was before."""
    text: str
    """What the agent had made of it, in short; empty where it left nothing."""
    dependency: Dependency | None = None
    """The one that is gone, where it is one."""


def check(
    before: Snapshot, after: Snapshot, *, decided: Collection[tuple[str, str]] = ()
) -> tuple[Violation, ...]:
    """What a build iteration did that it may not, in the order of the earlier snapshot. Total.

    ``decided`` is what a person did meanwhile, by kind and id of the issue; that is theirs. That a
    deleted issue is missing as a dependency of others is no offence of its own.
    """
    issues = after.by_id()
    gone = {issue.id for issue in before.issues if issue.id not in issues}
    found: list[Violation] = []
    for issue in before.issues:
        now = issues.get(issue.id)
        if now is None:
            found.append(Violation(what=Offence.DROPPED, issue=issue, text=""))
            continue
        found += _changed(issue, now)
        dropped = [one for one in issue.dependencies if one not in now.dependencies]
        for one in dropped:
            if one.on not in gone:
                left = next((other for other in now.dependencies if other.on == one.on), None)
                text = "" if left is None else f"{left.on} ({left.kind})"
                found.append(
                    Violation(what=Offence.DEPENDENCY, issue=issue, text=text, dependency=one)
                )
    return tuple(one for one in found if (one.what, one.issue.id) not in decided)


def put_back(
    before: Snapshot, after: Snapshot, violations: Sequence[Violation]
) -> tuple[Command, ...]:
    """What ``bd`` has to do so that nothing of this is left; to be run in this order.

    First issues that are gone, then what became of single ones, then dependencies. Where a
    dependency cannot come back beside what the agent has added, since they would wait for each
    other, the added one goes.
    """
    gone_first = sorted(violations, key=lambda one: one.what is not Offence.DROPPED)
    commands = [command for one in gone_first for command in _undo(one)]
    return (*commands, *_dependencies_back(before, after, violations))


_FREE = frozenset({DependencyKind.RELATED, DependencyKind.DISCOVERED_FROM, "relates-to"})
"""Of these ``bd`` allows rings."""


def _changed(issue: Issue, now: Issue) -> list[Violation]:
    found: list[tuple[Offence, str]] = []
    if now.status == Status.DEFERRED and issue.status not in {Status.DEFERRED, Status.CLOSED}:
        found.append((Offence.SKIPPED, now.status))
    if without_ticks(now.criteria) != without_ticks(issue.criteria):
        found.append((Offence.CRITERIA, now.criteria))
    if now.priority != issue.priority:
        found.append((Offence.PRIORITY, str(now.priority)))
    if now.kind != issue.kind:
        found.append((Offence.TYPE, now.kind))
    return [Violation(what=what, issue=issue, text=str(text)) for what, text in found]


def _undo(violation: Violation) -> tuple[Command, ...]:
    issue = violation.issue
    match violation.what:
        case Offence.DROPPED:
            return create_again(issue)
        case Offence.SKIPPED:
            return (set_status(issue.id, issue.status),)
        case Offence.CRITERIA:
            return (("update", issue.id, "--acceptance", issue.criteria),)
        case Offence.PRIORITY:
            return (("update", issue.id, "--priority", str(issue.priority)),)
        case Offence.TYPE:
            return (("update", issue.id, "--type", issue.kind),)
        case Offence.DEPENDENCY:
            # They come last, all together.
            return ()
        case _:  # pragma: no cover
            assert_never(violation.what)


def _dependencies_back(
    before: Snapshot, after: Snapshot, violations: Sequence[Violation]
) -> list[Command]:
    lost = _lost(before, violations)
    old, new = before.by_id(), after.by_id()
    edges = {issue.id: _edges(issue) for issue in after.issues}
    commands: list[Command] = []
    for issue_id, one in lost:
        now = new.get(issue_id)
        if now is not None and any(other.on == one.on for other in now.dependencies):
            # Between two issues there is but one dependency.
            commands.append(remove_dependency(issue_id, one.on))
            edges[issue_id].discard(one.on)
    for issue_id, one in lost:
        if one.kind not in _FREE:
            for waiter, on in _in_the_way(edges, old, issue_id, one.on):
                commands.append(remove_dependency(waiter, on))
                edges[waiter].discard(on)
            edges.setdefault(issue_id, set()).add(one.on)
        commands.append(add_dependency(issue_id, one))
    return commands


def _lost(before: Snapshot, violations: Sequence[Violation]) -> list[tuple[str, Dependency]]:
    """The dependencies that have to come back, each with the issue that has it."""
    again = {one.issue.id for one in violations if one.what is Offence.DROPPED}
    lost = {
        (one.issue.id, one.dependency): None for one in violations if one.dependency is not None
    }
    for issue in before.issues:
        for one in issue.dependencies:
            if issue.id in again or one.on in again:
                lost[issue.id, one] = None
    return list(lost)


def _edges(issue: Issue) -> set[str]:
    return {one.on for one in issue.dependencies if one.kind not in _FREE}


def _in_the_way(
    edges: Mapping[str, set[str]], old: Mapping[str, Issue], issue_id: str, on: str
) -> list[tuple[str, str]]:
    """What was added since and would close a ring with a dependency that comes back."""
    trial = {waiter: set(targets) for waiter, targets in edges.items()}
    found: list[tuple[str, str]] = []
    while True:
        way = find_path(trial, on, issue_id)
        added = (step for step in pairwise(way) if not _was_there(old, *step))
        step = next(added, None)
        if step is None:
            return found
        found.append(step)
        trial[step[0]].discard(step[1])


def _was_there(old: Mapping[str, Issue], waiter: str, on: str) -> bool:
    issue = old.get(waiter)
    return issue is not None and on in _edges(issue)
