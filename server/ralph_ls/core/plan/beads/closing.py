"""Checks whether the reason of a closed issue says how each criterion was verified.

``bd close`` asks for no reason, and writes "Closed" where none is given. So the reason is compared
with the criteria. One that names a command needs a ticked line that cites this command with the
exit code that is wanted (``command_matching``); any other needs a ticked line with its own text. An
issue without criteria needs a reason that names something that can be checked. A reason is a claim:
nothing is run here.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from enum import Enum

from ralph_ls.core.plan.beads.criteria import (
    CommandRun,
    Verified,
    cited_runs,
    command_of,
    criterion_key,
    is_wanted,
    read_criteria,
    read_evidence,
)
from ralph_ls.core.plan.beads.cycles import find_cycles
from ralph_ls.core.plan.beads.issues import Issue
from ralph_ls.core.plan.beads.queue import name_cycle
from ralph_ls.core.plan.beads.reading import read_plan
from ralph_ls.core.plan.beads.snapshot import Snapshot, parts_of
from ralph_ls.core.plan.checking.closing import says_nothing
from ralph_ls.core.plan.checking.criteria import is_vague
from ralph_ls.core.plan.checking.remarks import UNFINISHED, CheckCode, Place, Remark, name_of
from ralph_ls.core.plan.command_matching import proves
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.programs import AnyProgram
from ralph_ls.core.plurals import count_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What a close reason is worth."""

    says_nothing: bool = False
    """There is no reason, or one that names nothing, such as "Done"."""
    missing: tuple[str, ...] = ()
    """Criteria that no ticked line is about, or whose command none cites with its exit code."""
    failed: tuple[str, ...] = ()
    """Criteria whose command ended with another code than the one that is wanted."""
    without_command: tuple[str, ...] = ()
    """Criteria that name no command and are ticked, and nothing says what was run."""
    wanted: tuple[tuple[str, CommandRun], ...] = ()
    """Criteria that are missing or failed, with the command that has to be cited for them."""

    @property
    def is_verified(self) -> bool:
        """Whether all criteria are said to hold; otherwise the attempt has failed."""
        return not (self.says_nothing or self.missing or self.failed)


def check_closing(issue: Issue, *, on_path: Container[str] = ()) -> Closing:
    """Compare the reason of an issue with its criteria. Total.

    ``on_path`` are the names of the programs that can be started.
    """
    criteria = read_criteria(issue.criteria)
    lines = [one for one in read_evidence(issue.close_reason) if one.is_ticked]
    found: dict[_Worth, list[str]] = {worth: [] for worth in _Worth}
    wanted: list[tuple[str, CommandRun]] = []
    for criterion in criteria:
        asked = command_of(criterion, on_path=on_path)
        worth = _by_text(criterion, lines) if asked is None else _by_command(asked, lines)
        found[worth].append(criterion)
        if asked is not None and worth is not _Worth.VERIFIED:
            wanted.append((criterion, asked))
    if not criteria:
        failed = [one.criterion for one in lines if one.exit_code not in {0, None}]
        found[_Worth.FAILED] += failed
    reason = " ".join(issue.close_reason.split())
    return Closing(
        says_nothing=not lines and says_nothing(reason),
        missing=tuple(found[_Worth.MISSING]),
        failed=tuple(found[_Worth.FAILED]),
        without_command=tuple(found[_Worth.BARE]),
        wanted=tuple(wanted),
    )


def newly_closed(before: Snapshot, after: Snapshot) -> tuple[Issue, ...]:
    """The issues that are closed now and were not before, as they are now.

    Ids of issues never change, so they alone say which is which.
    """
    closed_before = {issue.id for issue in before.issues if issue.is_closed}
    return tuple(one for one in after.issues if one.is_closed and one.id not in closed_before)


def tell_closing(closing: Closing) -> str:
    """Why a reason is none, in words that follow the issue's name; empty where it is one."""
    if closing.says_nothing:
        return "was closed, and nothing says how that was seen"
    said = []
    if closing.failed:
        n_failed = count_of(len(closing.failed), "command")
        said.append(f"{n_failed} failed, for {name_of(closing.failed[0])}")
    if closing.missing:
        n_missing = count_of(len(closing.missing), "criterion").replace("criterions", "criteria")
        said.append(f"{n_missing} not verified, such as {name_of(closing.missing[0])}")
    if not said:
        return ""
    first = next(iter((*closing.failed, *closing.missing)))
    run = dict(closing.wanted).get(first)
    cite = "" if run is None else f"; what has to be cited is ({run})"
    return f"was closed with {' and '.join(said)}{cite}"


def check(snapshot: Snapshot, *, closed_before: Collection[str] = ()) -> tuple[Remark, ...]:
    """Everything that is wrong with what the issues in scope say, by line of the snapshot's text.

    ``closed_before`` are ids of issues that were closed long ago, which nobody will correct.
    """
    issues = snapshot.by_id()
    containers = parts_of(snapshot.issues)
    found: list[Remark] = []
    tasks = read_plan(snapshot).plan.tasks
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


class _Worth(Enum):
    """What a reason says of one criterion."""

    VERIFIED = "verified"
    BARE = "bare"
    """It is ticked, and nothing says what was run."""
    FAILED = "failed"
    MISSING = "missing"


def _by_command(asked: CommandRun, lines: Sequence[Verified]) -> _Worth:
    """What ticked lines say of a command that a criterion names, whatever else they say."""
    runs = [run for line in lines for run in cited_runs(line)]
    cited = [run for run in runs if proves(asked.command, run.command)]
    if any(is_wanted(run.exit_code, asked.exit_code) for run in cited):
        return _Worth.VERIFIED
    return _Worth.FAILED if cited else _Worth.MISSING


def _by_text(criterion: str, lines: Sequence[Verified]) -> _Worth:
    """What ticked lines say of a criterion that names no command."""
    about = {criterion_key(f"{one.criterion} ({one.command})"): one for one in lines}
    about |= {criterion_key(one.criterion): one for one in lines}
    line = about.get(criterion_key(criterion))
    if line is None:
        return _Worth.MISSING
    if line.command is None:
        return _Worth.BARE
    return _Worth.VERIFIED if line.exit_code == 0 else _Worth.FAILED


def _closed(task: Task, issue: Issue) -> list[Remark]:
    # What is on PATH is not known here, so a reason is doubted only if it fails either way.
    found = [check_closing(issue, on_path=one) for one in ((), AnyProgram())]
    if any(closing.is_verified for closing in found):
        return []
    said = tell_closing(found[0])
    message = (
        f"{name_of(task.title)} {said}; write one line for each criterion, such as: "
        "- [x] Unit tests pass (npm test - exit 0)"
    )
    return [_remark(CheckCode.CLOSE_WITHOUT_EVIDENCE, message, task)]


def _criteria(task: Task, *, is_container: bool) -> list[Remark]:
    if not task.criteria and not is_container:
        message = (
            f"{name_of(task.title)} does not say when it is done; write criteria that can be run: "
            f"bd update {task.id} --acceptance …"
        )
        return [_remark(CheckCode.CRITERIA_MISSING, message, task)]
    return [
        _remark(
            CheckCode.CRITERIA_VAGUE,
            f"the criterion {name_of(one)} of {name_of(task.title)} cannot be checked; name what "
            "can be seen or run, such as a command and what it prints",
            task,
        )
        for one in task.criteria
        if is_vague(one)
    ]


def _ring(task: Task, ring: tuple[str, ...]) -> Remark:
    message = (
        f"these wait for each other, so that none of them can begin: {name_cycle(ring)}; "
        "take one of the dependencies out: bd dep remove"
    )
    return _remark(CheckCode.DEPENDENCY_CYCLE, message, task)


def _remark(code: CheckCode, message: str, task: Task) -> Remark:
    place = Place(line=task.line, start=0, end=task.end - task.start)
    return Remark(code=code, message=message, place=place, task=task.id)
