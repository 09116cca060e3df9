"""Whether a closed issue says how each of its criteria was verified (B, Exit Condition 2).

``bd close`` asks for no reason, and writes "Closed" where none is given; so what was written is
held against the criteria: each one needs a ticked line, and a command that was run has to have
ended with 0. An issue without criteria needs a reason that names something to be looked at. A
reason is a claim: nothing is run here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ralph_ls.core.plan.beads.criteria import criterion_key, read_criteria, read_evidence
from ralph_ls.core.plan.beads.cycles import find_cycles
from ralph_ls.core.plan.beads.issues import Issue
from ralph_ls.core.plan.beads.queue import name_cycle
from ralph_ls.core.plan.beads.reading import read_plan
from ralph_ls.core.plan.beads.snapshot import Snapshot, parts_of
from ralph_ls.core.plan.checking.closing import says_nothing
from ralph_ls.core.plan.checking.criteria import is_vague
from ralph_ls.core.plan.checking.remarks import UNFINISHED, CheckCode, Place, Remark, name_of
from ralph_ls.core.plan.model import Task
from ralph_ls.core.words import count_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What a close reason is worth."""

    says_nothing: bool = False
    """There is no reason, or one that names nothing, such as "Done"."""
    missing: tuple[str, ...] = ()
    """Criteria that no ticked line is about."""
    failed: tuple[str, ...] = ()
    """Criteria whose command ended with another code than 0."""
    without_command: tuple[str, ...] = ()
    """Criteria that are ticked, and nothing says what was run; B asks for it, people may not."""

    @property
    def is_verified(self) -> bool:
        """Whether all criteria are said to hold; otherwise the attempt has failed (B11)."""
        return not (self.says_nothing or self.missing or self.failed)


def check_closing(issue: Issue) -> Closing:
    """Hold the reason of an issue against its criteria. Total."""
    criteria = read_criteria(issue.criteria)
    lines = [one for one in read_evidence(issue.close_reason) if one.is_ticked]
    about = {criterion_key(f"{one.criterion} ({one.command})"): one for one in lines}
    about |= {criterion_key(one.criterion): one for one in lines}
    missing, failed, without_command = [], [], []
    for criterion in criteria:
        line = about.get(criterion_key(criterion))
        if line is None:
            missing.append(criterion)
        elif line.command is None:
            without_command.append(criterion)
        elif line.exit_code != 0:
            failed.append(criterion)
    if not criteria:
        failed = [one.criterion for one in lines if one.exit_code not in {0, None}]
    reason = " ".join(issue.close_reason.split())
    return Closing(
        says_nothing=not lines and says_nothing(reason),
        missing=tuple(missing),
        failed=tuple(failed),
        without_command=tuple(without_command),
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
    return f"was closed with {' and '.join(said)}" if said else ""


def check(snapshot: Snapshot, *, closed_before: Collection[str] = ()) -> tuple[Remark, ...]:
    """Everything that is wrong with what the issues in scope say, by line of the snapshot's text.

    ``closed_before`` are ids of issues that were closed long since, which nobody will mend.
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


def _closed(task: Task, issue: Issue) -> list[Remark]:
    said = tell_closing(check_closing(issue))
    if not said:
        return []
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
