"""Evidence for closing in beads: what is run for a closed issue, and what ``bd`` is told of it.

B's lines are the issue's close reason (Exit Condition 2). An issue that was refuted is in progress
again, and its notes say what failed. It must never run anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from ralph_ls.core.plan.beads.commands import Command, close, reopen
from ralph_ls.core.plan.beads.criteria import (
    Verified,
    criterion_key,
    read_criteria,
    read_evidence,
    write_evidence,
)
from ralph_ls.core.plan.beads.issues import Issue
from ralph_ls.core.plan.closing.checks import (
    Closing,
    Verification,
    checks_of,
    commands_of,
    evidence_of,
    tell_failures,
)
from ralph_ls.core.plan.titles import make_sayable
from ralph_ls.protocol.run_words import TaskRef


def closings(closed: Iterable[Issue]) -> tuple[Closing, ...]:
    """What is to be run for issues that an iteration closed."""
    found = (
        Closing(
            task=TaskRef(id=issue.id, title=make_sayable(issue.title)),
            checks=checks_of(read_criteria(issue.criteria)),
        )
        for issue in closed
    )
    return tuple(one for one in found if one.checks)


def commands(issues: Iterable[Issue]) -> tuple[str, ...]:
    """The commands that the criteria of issues name, each once: what ``ralph allow`` shows."""
    criteria = [text for issue in issues for text in read_criteria(issue.criteria)]
    return commands_of(checks_of(criteria))


def commands_for(issue: Issue, seen: Verification) -> tuple[Command, ...]:
    """What ``bd`` is to do about an issue whose checks came to this; nothing where it is fine."""
    if seen.failed:
        return (reopen(issue, tell_failures(seen)),)
    if not seen.ok:
        return ()
    reason = _reason(issue, evidence_of(seen))
    return () if reason == issue.close_reason else (close(issue.id, reason),)


def _reason(issue: Issue, seen: tuple[Verified, ...]) -> str:
    """The agent's own words, then a line for each criterion; what was seen precedes a claim."""
    known = {criterion_key(one.criterion): one for one in read_evidence(issue.close_reason)}
    ran = {criterion_key(one.criterion): one for one in seen}
    lines = []
    for criterion in read_criteria(issue.criteria):
        key = criterion_key(criterion)
        line = ran.get(key) or known.get(key)
        lines += [] if line is None else [line]
    words = [
        line
        for line in issue.close_reason.splitlines()
        if not read_evidence(line) and line.strip() and line.strip() != _HEADING
    ]
    return "\n".join([*words, write_evidence(lines)])


_HEADING = "Acceptance criteria verified:"
