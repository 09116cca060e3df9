"""Evidence for closed issues: checks of close reasons, the commands to run, the recorded result.

``bd close`` requires no reason, and writes "Closed" where none is given. So the reason is compared
with the criteria. A criterion that names a command needs a ticked line that cites this command with
the expected exit code; any other needs a ticked line with its text. An issue without criteria needs
a reason that names something that can be checked. A reason is a claim: nothing is run here.

Evidence lines are written into the issue's close reason. A refuted issue is in progress again, and
its notes have what failed.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from ralph_ls.core.plan.formats.beads.commands import (
    BeadsCommand,
    close_command,
    note_reason,
    reopen_command,
)
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue
from ralph_ls.core.plan.formats.beads.queue import find_cycles, format_cycle
from ralph_ls.core.plan.formats.beads.snapshot import BeadsSnapshot, parts_of, plan_of_snapshot
from ralph_ls.core.plan.lint.criteria import is_empty_reason, is_vague
from ralph_ls.core.plan.lint.remarks import (
    UNFINISHED,
    CheckCode,
    LineSpan,
    LintRemark,
    display_title,
)
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.core.plan.verification.commands import AnyProgram, satisfies_command
from ralph_ls.core.plan.verification.criteria import (
    CommandRun,
    EvidenceLine,
    cited_runs,
    command_of,
    criterion_key,
    find_evidence,
    is_wanted,
    read_criteria,
    read_evidence,
    write_evidence,
)
from ralph_ls.core.plan.verification.criterion_checks import (
    TaskClosing,
    TaskVerification,
    checks_of,
    describe_check_failures,
    evidence_of,
)
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.run.values import TaskRef


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseReasonCheck:
    """The assessment of a close reason."""

    is_empty: bool = False
    """There is no reason, or one that names nothing, such as "Done"."""
    missing: tuple[str, ...] = ()
    """Criteria that no ticked line is about, or whose command none cites with its exit code."""
    failed: tuple[str, ...] = ()
    """Criteria whose command ended with an unexpected exit code."""
    without_command: tuple[str, ...] = ()
    """Criteria that name no command and are ticked without any command that was run."""
    wanted: tuple[tuple[str, CommandRun], ...] = ()
    """Criteria that are missing or failed, with the command that has to be cited for them."""

    @property
    def is_verified(self) -> bool:
        """Whether all criteria are claimed to hold; otherwise the attempt has failed."""
        return not (self.is_empty or self.missing or self.failed)


def check_close_reason(issue: BeadsIssue, *, on_path: Container[str] = ()) -> CloseReasonCheck:
    """Compare the reason of an issue with its criteria. Total.

    ``on_path`` are the names of the programs that can be started.
    """
    criteria = read_criteria(issue.criteria)
    lines = [one for one in read_evidence(issue.close_reason) if one.is_ticked]
    found: dict[_Evidence, list[str]] = {evidence: [] for evidence in _Evidence}
    wanted: list[tuple[str, CommandRun]] = []
    for criterion in criteria:
        asked = command_of(criterion, on_path=on_path)
        evidence = _by_text(criterion, lines) if asked is None else _by_command(asked, lines)
        found[evidence].append(criterion)
        if asked is not None and evidence is not _Evidence.VERIFIED:
            wanted.append((criterion, asked))
    if not criteria:
        failed = [one.criterion for one in lines if one.exit_code not in {0, None}]
        found[_Evidence.FAILED] += failed
    reason = " ".join(issue.close_reason.split())
    return CloseReasonCheck(
        is_empty=not lines and is_empty_reason(reason),
        missing=tuple(found[_Evidence.MISSING]),
        failed=tuple(found[_Evidence.FAILED]),
        without_command=tuple(found[_Evidence.BARE]),
        wanted=tuple(wanted),
    )


def newly_closed(before: BeadsSnapshot, after: BeadsSnapshot) -> tuple[BeadsIssue, ...]:
    """The issues that are closed now and were not before, as they are now.

    Ids of issues never change, so they identify issues.
    """
    closed_before = {issue.id for issue in before.issues if issue.is_closed}
    return tuple(one for one in after.issues if one.is_closed and one.id not in closed_before)


def describe_close_reason(closing: CloseReasonCheck) -> str:
    """Why a reason is insufficient, in words that follow the issue's name; else empty."""
    if closing.is_empty:
        return "was closed without saying how it was verified"
    parts = []
    if closing.failed:
        n_failed = count_of(len(closing.failed), "command")
        parts.append(f"{n_failed} failed, for {display_title(closing.failed[0])}")
    if closing.missing:
        n_missing = count_of(len(closing.missing), "criterion").replace("criterions", "criteria")
        parts.append(f"{n_missing} not verified, such as {display_title(closing.missing[0])}")
    if not parts:
        return ""
    first = next(iter((*closing.failed, *closing.missing)))
    run = dict(closing.wanted).get(first)
    cite = "" if run is None else f"; cite ({run})"
    return f"was closed with {' and '.join(parts)}{cite}"


def check_issues(
    snapshot: BeadsSnapshot, *, closed_before: Collection[str] = ()
) -> tuple[LintRemark, ...]:
    """All remarks about the issues in scope, by line of the snapshot's text.

    ``closed_before`` are ids of issues that were closed earlier and will not be corrected.
    """
    issues = snapshot.by_id()
    containers = parts_of(snapshot.issues)
    found: list[LintRemark] = []
    tasks = plan_of_snapshot(snapshot).plan.tasks
    for task in tasks:
        issue = issues[task.id]
        if issue.is_closed and task.id not in closed_before and task.id not in containers:
            found += _closed(task, issue)
        elif task.state in UNFINISHED:
            found += _criteria(task, is_container=task.id in containers)
    unfinished = {task.id: task for task in tasks if task.state in UNFINISHED}
    rings = find_cycles(
        {one: [on for on in issues[one].needs if on in unfinished] for one in unfinished}
    )
    found += [_ring(unfinished[ring[0]], ring) for ring in rings]
    return tuple(sorted(found, key=lambda one: one.place.line))


class _Evidence(Enum):
    """The evidence that a reason has for one criterion."""

    VERIFIED = "verified"
    BARE = "bare"
    """It is ticked without a command that was run."""
    FAILED = "failed"
    MISSING = "missing"


def _by_command(asked: CommandRun, lines: Sequence[EvidenceLine]) -> _Evidence:
    """The evidence in ticked lines for a command that a criterion names."""
    runs = [run for line in lines for run in cited_runs(line)]
    cited = [run for run in runs if satisfies_command(asked.command, run.command)]
    if any(is_wanted(run.exit_code, asked.exit_code) for run in cited):
        return _Evidence.VERIFIED
    return _Evidence.FAILED if cited else _Evidence.MISSING


def _by_text(criterion: str, lines: Sequence[EvidenceLine]) -> _Evidence:
    """The evidence in ticked lines for a criterion that names no command."""
    about = {criterion_key(f"{one.criterion} ({one.command})"): one for one in lines}
    about |= {criterion_key(one.criterion): one for one in lines}
    line = about.get(criterion_key(criterion))
    if line is None:
        return _Evidence.MISSING
    if line.command is None:
        return _Evidence.BARE
    return _Evidence.VERIFIED if line.exit_code == 0 else _Evidence.FAILED


def _closed(task: Task, issue: BeadsIssue) -> list[LintRemark]:
    # The programs on PATH are unknown here, so a reason is doubted only if it fails either way.
    found = [check_close_reason(issue, on_path=one) for one in ((), AnyProgram())]
    if any(closing.is_verified for closing in found):
        return []
    doubt = describe_close_reason(found[0])
    message = (
        f"{display_title(task.title)} {doubt}; write one line for each criterion, such as: - [x] "
        "Unit tests pass (npm test - exit 0)"
    )
    return [_remark(CheckCode.CLOSE_WITHOUT_EVIDENCE, message, task)]


def _criteria(task: Task, *, is_container: bool) -> list[LintRemark]:
    if not task.criteria and not is_container:
        message = (
            f"{display_title(task.title)} does not say when it is done; add criteria that can be "
            f"run: bd update {task.id} --acceptance …"
        )
        return [_remark(CheckCode.CRITERIA_MISSING, message, task)]
    return [
        _remark(
            CheckCode.CRITERIA_VAGUE,
            f"the criterion {display_title(one)} of {display_title(task.title)} cannot be "
            "checked; name something that can be seen or run, such as a command and its output",
            task,
        )
        for one in task.criteria
        if is_vague(one)
    ]


def _ring(task: Task, ring: tuple[str, ...]) -> LintRemark:
    message = (
        f"these wait for each other, so none of them can start: {format_cycle(ring)}; remove a "
        "dependency: bd dep remove"
    )
    return _remark(CheckCode.DEPENDENCY_CYCLE, message, task)


def _remark(code: CheckCode, message: str, task: Task) -> LintRemark:
    place = LineSpan(line=task.line, start=0, end=task.end - task.start)
    return LintRemark(code=code, message=message, place=place, task=task.id)


def closings(
    closed: Iterable[BeadsIssue], *, on_path: Container[str] = ()
) -> tuple[TaskClosing, ...]:
    """The commands to run for issues that an iteration closed."""
    found = (
        TaskClosing(
            task=TaskRef(id=issue.id, title=escape_surrogates(issue.title)),
            checks=checks_of(read_criteria(issue.criteria), on_path=on_path),
        )
        for issue in closed
    )
    return tuple(one for one in found if one.checks)


def verification_commands(
    issue: BeadsIssue, verification: TaskVerification
) -> tuple[BeadsCommand, ...]:
    """The ``bd`` commands that record the outcome of an issue's checks; empty if it is fine."""
    if verification.failed:
        return (reopen_command(issue, describe_check_failures(verification)),)
    if not verification.ok:
        return ()
    reason = _reason(issue, evidence_of(verification))
    if reason == issue.close_reason:
        return ()
    return (
        note_reason(issue, reason) if issue.reason_from_notes else close_command(issue.id, reason),
    )


def _reason(issue: BeadsIssue, evidence: tuple[EvidenceLine, ...]) -> str:
    """The agent's own words, then a line for each criterion; results take precedence."""
    claimed = read_evidence(issue.close_reason)
    known = {criterion_key(one.criterion): one for one in claimed}
    ran = {criterion_key(one.criterion): one for one in evidence}
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
