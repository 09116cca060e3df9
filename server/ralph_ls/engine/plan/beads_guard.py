"""Guard of issues: reverts what an agent must not change, and reports what cannot be reverted.

What is allowed is decided in ``core.plan.formats.beads.guard``. Does not read issues.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plan.formats.beads.bd_output import BeadsVersion, format_version
from ralph_ls.core.plan.formats.beads.commands import BeadsCommand
from ralph_ls.core.plan.formats.beads.evidence import CloseReasonCheck, check_close_reason, closings
from ralph_ls.core.plan.formats.beads.guard import BeadsViolation
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plan.verification.criteria import criterion_key
from ralph_ls.engine.plan.source import PlanOffence
from ralph_ls.protocol.errors import IssuesMissing, IssuesRefused
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.external.bd import Bd, apply_commands

SHOWN = 5


def try_each(bd: Bd, several: Iterable[BeadsCommand]) -> list[str]:
    """Run all of these commands; returns the messages of those that ``bd`` refused."""
    problems = []
    for command in several:
        try:
            apply_commands(bd, [command])
        except (IssuesRefused, IssuesMissing) as error:
            problems.append(str(error))
    return problems


def judge_close_reason(
    issue: BeadsIssue, on_path: Container[str], *, verifies: bool
) -> CloseReasonCheck:
    """Checks a close reason; commands that the engine ``verifies`` itself may be missing."""
    found = check_close_reason(issue, on_path=on_path)
    if not verifies:
        return found
    runs = {
        criterion_key(check.criterion)
        for one in closings([issue], on_path=on_path)
        for check in one.checks
        if check.argv
    }
    return replace(
        found,
        is_empty=found.is_empty and not runs,
        missing=tuple(one for one in found.missing if criterion_key(one) not in runs),
        failed=tuple(one for one in found.failed if criterion_key(one) not in runs),
    )


def offences_of(
    found: Sequence[BeadsViolation], left: Sequence[BeadsViolation]
) -> tuple[PlanOffence, ...]:
    """The reverted changes; ``left`` are those that could not be reverted."""
    still = {_key(one) for one in left}
    return tuple(
        PlanOffence(
            what=Forbidden(one.what.value),
            task=TaskRef(id=one.issue.id, title=fold_whitespace(one.issue.title)),
            text=_made_of(one),
        )
        for one in found
        if _key(one) not in still
    )


def emit_not_reverted(left: Sequence[BeadsViolation], problems: Sequence[str]) -> Notice:
    """Notice of forbidden changes that could not be reverted."""
    names = [f"{one.what.value} of {name_of(one.issue)}" for one in left[:SHOWN]]
    names += ["…"] if len(left) > SHOWN else []
    why = f": {problems[0]}" if problems else ""
    message = f"not restored: {'; '.join(names)}{why}; fix it yourself with bd"
    return Notice(code="not-put-back", message=message)


def emit_not_written(problems: Sequence[str]) -> tuple[Notice, ...]:
    """Notices of changes that could not be written into the issues."""
    return tuple(Notice(code="not-written", message=problem) for problem in problems[:1])


def how_to_close(version: BeadsVersion) -> str:
    """Hint for the agent about a release of ``bd`` that keeps no close reasons."""
    return (
        f"bd {format_version(version)} loses the reason of `bd close`. Write the lines of "
        "evidence into the issue's notes first (`bd update <id> --notes`), then close it."
    )


def unproven(defect: str) -> Notice:
    """Notice of issues closed without a valid reason, with an example of one."""
    message = (
        f"{defect}; a reason has one line for each criterion, such as: "
        "- [x] Unit tests pass (npm test - exit 0)"
    )
    return Notice(code="close-without-evidence", message=message)


def name_of(issue: BeadsIssue) -> str:
    """The name of an issue in messages."""
    return f"{fold_whitespace(issue.title)} ({issue.id})"


def _key(one: BeadsViolation) -> tuple[object, ...]:
    return one.what, one.issue.id, one.dependency


def _made_of(violation: BeadsViolation) -> str:
    """The value that the agent had set; of a dependency also which one."""
    if violation.dependency is None:
        return violation.text
    instead = f", instead {violation.text}" if violation.text else ""
    return f"{violation.issue.id} → {violation.dependency.on}{instead}"
