"""Guard of beads issues: reverts what a build iteration may not change (docs/rules.md#guard).

A building agent may create issues, add dependencies, change the status, note, describe and close.
It may not drop a dependency, change priority or type, delete, or change criteria: a stuck agent
would make its work easier that way. Two more rules follow. Deferring an issue removes it from the
list, so its status is restored. Ticking the box of a criterion does not change it.

A planning iteration may do all of this, and its result is the new baseline. Compares two snapshots;
does not run ``bd``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

from ralph_ls.core.plan.formats.beads.commands import (
    BeadsCommand,
    add_dependency,
    recreate_commands,
    remove_dependency,
    set_status,
)
from ralph_ls.core.plan.formats.beads.issues import (
    BeadsDependency,
    BeadsDependencyKind,
    BeadsIssue,
    IssueStatus,
)
from ralph_ls.core.plan.formats.beads.queue import find_path
from ralph_ls.core.plan.formats.beads.snapshot import BeadsSnapshot
from ralph_ls.core.plan.verification.criteria import without_ticks


class BeadsOffence(StrEnum):
    """The kinds of forbidden changes of an issue."""

    DROPPED = "dropped"
    """It is deleted."""
    SKIPPED = "skipped"
    """It was deferred."""
    CRITERIA = "criteria"
    DEPENDENCY = "dependency"
    """It lost a dependency, or depends in another way."""
    PRIORITY = "priority"
    TYPE = "type"


@dataclass(frozen=True, slots=True, kw_only=True)
class BeadsViolation:
    """One forbidden change that has to be reverted."""

    what: BeadsOffence
    issue: BeadsIssue
    """As it was before."""
    text: str
    """The agent's version, in short; empty where it left nothing."""
    dependency: BeadsDependency | None = None
    """The dependency that was removed, if it is one."""


def find_beads_violations(
    before: BeadsSnapshot, after: BeadsSnapshot, *, decided: Collection[tuple[str, str]] = ()
) -> tuple[BeadsViolation, ...]:
    """The forbidden changes of a build iteration, in the order of the earlier snapshot. Total.

    ``decided`` are the user's changes meanwhile, by kind and issue id; these are allowed. That a
    deleted issue is missing as a dependency of others is no separate offence.
    """
    issues = after.by_id()
    gone = {issue.id for issue in before.issues if issue.id not in issues}
    found: list[BeadsViolation] = []
    for issue in before.issues:
        now = issues.get(issue.id)
        if now is None:
            found.append(BeadsViolation(what=BeadsOffence.DROPPED, issue=issue, text=""))
            continue
        found += _changed(issue, now)
        found += _without_dependencies(issue, now, gone)
    return tuple(one for one in found if (one.what, one.issue.id) not in decided)


def _without_dependencies(
    issue: BeadsIssue, now: BeadsIssue, gone: Collection[str]
) -> Iterator[BeadsViolation]:
    for one in issue.dependencies:
        if one not in now.dependencies and one.on not in gone:
            left = next((other for other in now.dependencies if other.on == one.on), None)
            text = "" if left is None else f"{left.on} ({left.kind})"
            yield BeadsViolation(
                what=BeadsOffence.DEPENDENCY, issue=issue, text=text, dependency=one
            )


def revert_commands(
    before: BeadsSnapshot, after: BeadsSnapshot, violations: Sequence[BeadsViolation]
) -> tuple[BeadsCommand, ...]:
    """The ``bd`` commands that revert all violations, in the order to run them.

    First deleted issues, then changed fields, then dependencies. Where a dependency would form a
    cycle with one that the agent added, the added one is removed.
    """
    gone_first = sorted(violations, key=lambda one: one.what is not BeadsOffence.DROPPED)
    commands = [command for one in gone_first for command in _undo(one)]
    return (*commands, *_dependencies_back(before, after, violations))


_FREE = frozenset({BeadsDependencyKind.RELATED, BeadsDependencyKind.DISCOVERED_FROM, "relates-to"})
"""The kinds of which ``bd`` allows cycles."""


def _changed(issue: BeadsIssue, now: BeadsIssue) -> list[BeadsViolation]:
    found: list[tuple[BeadsOffence, str]] = []
    if now.status == IssueStatus.DEFERRED and issue.status not in {
        IssueStatus.DEFERRED,
        IssueStatus.CLOSED,
    }:
        found.append((BeadsOffence.SKIPPED, now.status))
    if without_ticks(now.criteria) != without_ticks(issue.criteria):
        found.append((BeadsOffence.CRITERIA, now.criteria))
    if now.priority != issue.priority:
        found.append((BeadsOffence.PRIORITY, str(now.priority)))
    if now.kind != issue.kind:
        found.append((BeadsOffence.TYPE, now.kind))
    return [BeadsViolation(what=what, issue=issue, text=str(text)) for what, text in found]


def _undo(violation: BeadsViolation) -> tuple[BeadsCommand, ...]:
    issue = violation.issue
    match violation.what:
        case BeadsOffence.DROPPED:
            return recreate_commands(issue)
        case BeadsOffence.SKIPPED:
            return (set_status(issue.id, issue.status),)
        case BeadsOffence.CRITERIA:
            return (("update", issue.id, "--acceptance", issue.criteria),)
        case BeadsOffence.PRIORITY:
            return (("update", issue.id, "--priority", str(issue.priority)),)
        case BeadsOffence.TYPE:
            return (("update", issue.id, "--type", issue.kind),)
        case BeadsOffence.DEPENDENCY:
            # Dependencies come last, all together.
            return ()
        case _:  # pragma: no cover
            assert_never(violation.what)


def _dependencies_back(
    before: BeadsSnapshot, after: BeadsSnapshot, violations: Sequence[BeadsViolation]
) -> list[BeadsCommand]:
    lost = _lost(before, violations)
    old, new = before.by_id(), after.by_id()
    edges = {issue.id: _edges(issue) for issue in after.issues}
    commands: list[BeadsCommand] = []
    for issue_id, one in lost:
        now = new.get(issue_id)
        if now is not None and any(other.on == one.on for other in now.dependencies):
            # Between two issues there is but one dependency.
            commands.append(remove_dependency(issue_id, one.on))
            edges[issue_id].discard(one.on)
    for issue_id, one in lost:
        if one.kind not in _FREE:
            for waiter, on in _conflicting_dependencies(edges, old, issue_id, one.on):
                commands.append(remove_dependency(waiter, on))
                edges[waiter].discard(on)
            edges.setdefault(issue_id, set()).add(one.on)
        commands.append(add_dependency(issue_id, one))
    return commands


def _lost(
    before: BeadsSnapshot, violations: Sequence[BeadsViolation]
) -> list[tuple[str, BeadsDependency]]:
    """The dependencies to restore, each with the issue that has it."""
    again = {one.issue.id for one in violations if one.what is BeadsOffence.DROPPED}
    lost = {
        (one.issue.id, one.dependency): None for one in violations if one.dependency is not None
    }
    for issue in before.issues:
        for one in issue.dependencies:
            if issue.id in again or one.on in again:
                lost[issue.id, one] = None
    return list(lost)


def _edges(issue: BeadsIssue) -> set[str]:
    return {one.on for one in issue.dependencies if one.kind not in _FREE}


def _conflicting_dependencies(
    edges: Mapping[str, set[str]], old: Mapping[str, BeadsIssue], issue_id: str, on: str
) -> list[tuple[str, str]]:
    """The added dependencies that would form a cycle with a restored one."""
    trial = {waiter: set(targets) for waiter, targets in edges.items()}
    found: list[tuple[str, str]] = []
    while True:
        way = find_path(trial, on, issue_id)
        added = (step for step in pairwise(way) if not _existed(old, *step))
        step = next(added, None)
        if step is None:
            return found
        found.append(step)
        trial[step[0]].discard(step[1])


def _existed(old: Mapping[str, BeadsIssue], waiter: str, on: str) -> bool:
    issue = old.get(waiter)
    return issue is not None and on in _edges(issue)
