"""Evidence for closing in beads: what is run for a closed issue, and what ``bd`` is told of it.

B's lines are the issue's close reason (Exit Condition 2). An issue that was refuted is in progress
again, and its notes say what failed. It must never run anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from ralph_ls.core.plan.beads.commands import Command, close, note_reason, reopen
from ralph_ls.core.plan.beads.criteria import (
    Verified,
    criterion_key,
    find_evidence,
    read_criteria,
    read_evidence,
    write_evidence,
)
from ralph_ls.core.plan.beads.issues import Issue
from ralph_ls.core.plan.closing.checks import (
    Closing,
    Verification,
    checks_of,
    evidence_of,
    tell_failures,
)
from ralph_ls.core.plan.titles import make_sayable
from ralph_ls.protocol.run.values import TaskRef


def closings(closed: Iterable[Issue], *, on_path: Container[str] = ()) -> tuple[Closing, ...]:
    """What is to be run for issues that an iteration closed."""
    found = (
        Closing(
            task=TaskRef(id=issue.id, title=make_sayable(issue.title)),
            checks=checks_of(read_criteria(issue.criteria), on_path=on_path),
        )
        for issue in closed
    )
    return tuple(one for one in found if one.checks)


def commands_for(issue: Issue, seen: Verification) -> tuple[Command, ...]:
    """What ``bd`` is to do about an issue whose checks came to this; nothing where it is fine."""
    if seen.failed:
        return (reopen(issue, tell_failures(seen)),)
    if not seen.ok:
        return ()
    reason = _reason(issue, evidence_of(seen))
    if reason == issue.close_reason:
        return ()
    return (note_reason(issue, reason) if issue.reason_from_notes else close(issue.id, reason),)


def _reason(issue: Issue, seen: tuple[Verified, ...]) -> str:
    """The agent's own words, then a line for each criterion; what was seen precedes a claim."""
    claimed = read_evidence(issue.close_reason)
    known = {criterion_key(one.criterion): one for one in claimed}
    ran = {criterion_key(one.criterion): one for one in seen}
    lines = []
    for criterion in read_criteria(issue.criteria):
        key = criterion_key(criterion)
        line = ran.get(key) or known.get(key) or find_evidence(criterion, claimed)
        lines += [] if line is None else [line]
    words = [
        line
        for line in issue.close_reason.splitlines()
        if not read_evidence(line) and line.strip() and line.strip() != _HEADING
    ]
    return "\n".join([*words, write_evidence(lines)])


_HEADING = "Acceptance criteria verified:"
