"""Work queue of GitHub issues: what GitHub has, with what was done here and what the mirror says.

The marks in the mirror are the newest word of its users and agents: an issue that somebody ticked
there is finished, one that somebody opened there again is open. People on GitHub come first: what
they close is done, what they open or label again is to be done again, and what they take out of the
queue is left alone (docs/rules.md#github).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from ralph_ls.core.plan.formats.github.admission import MayTriage, QueueFilter, why_ignored
from ralph_ls.core.plan.formats.github.issues import QueueIssue, QueuePage
from ralph_ls.core.plan.formats.github.mirror import (
    IgnoredIssue,
    QueueContent,
    in_order,
    needed_issues,
    numbers_in,
)
from ralph_ls.core.plan.formats.github.records import (
    IssueRecord,
    RecordState,
    is_wanted_again,
)
from ralph_ls.core.plan.model import Task
from ralph_ls.protocol.task_words import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFacts:
    """Everything that the queue is made of."""

    page: QueuePage
    """All open issues of the label or milestone."""
    states: Mapping[int, bool]
    """Whether each of ``unknown_numbers`` is open; those that are gone are not in it."""
    wanted: QueueFilter
    may: MayTriage
    records: Mapping[int, IssueRecord]
    mirror: str
    """Its text; empty where there is none."""
    mirror_at: datetime
    """When it was written last."""
    refused: Mapping[int, str] = field(default_factory=dict)
    """Issues that could not be claimed, and why."""
    keeps_closed: bool = True
    """Whether what was closed meanwhile stays in the mirror, as work of the same run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltQueue:
    """The queue, and what changed since the mirror was written."""

    content: QueueContent
    records: Mapping[int, IssueRecord]
    left: tuple[Task, ...] = ()
    """Open tasks whose issue is not in the queue any more."""
    closed: tuple[Task, ...] = ()
    """Open tasks whose issue somebody closed."""
    again: tuple[Task, ...] = ()
    """Finished or blocked tasks that somebody wants done again."""


def unknown_numbers(
    page: QueuePage, records: Mapping[int, IssueRecord], mirror: str
) -> tuple[int, ...]:
    """The issues whose state matters, and that are not among the open ones of the queue."""
    listed = {one.number: one for one in page.issues}
    natively = {number for one in page.issues for number in one.waits_for}
    needed = [number for one in page.issues for number in needed_issues(one.body)]
    done = [one.number for one in records.values() if one.state is RecordState.DONE]
    asked = dict.fromkeys((*numbers_in(mirror), *done, *needed))
    return tuple(one for one in asked if one not in listed and one not in natively)


def build_queue(facts: QueueFacts) -> BuiltQueue:
    """The queue and its records as they are now."""
    listed = {one.number: one for one in facts.page.issues}
    tasks = numbers_in(facts.mirror)
    adopted = _adopted(facts, tasks)
    again = _wanted_again(adopted, listed, facts.wanted)
    records = {
        number: _as_on_github(one, listed, facts)
        for number, one in adopted.items()
        if number not in again
    }
    admitted, ignored = _divided(facts, records)
    inside = {one.number for one in admitted}
    gone = {number: one for number, one in tasks.items() if number not in inside}
    closed = {number for number in gone if number not in listed and not facts.states.get(number)}
    return BuiltQueue(
        content=QueueContent(
            title=f"{facts.page.repository} {facts.wanted.words}",
            issues=admitted,
            waits={one.number: _waits(one, listed, facts) for one in admitted},
            ignored=ignored,
            done=_done(records, inside, closed),
            closed=closed if facts.keeps_closed else (),
            again=again,
        ),
        records=records,
        left=_open_tasks(gone, set(gone) - closed),
        closed=_open_tasks(gone, closed),
        again=tuple(tasks[number] for number in sorted(again & set(tasks))),
    )


def _divided(
    facts: QueueFacts, records: Mapping[int, IssueRecord]
) -> tuple[tuple[QueueIssue, ...], tuple[IgnoredIssue, ...]]:
    """The issues of the queue in their order, and those that are ignored."""
    ignored: list[IgnoredIssue] = []
    admitted: list[QueueIssue] = []
    for issue in in_order(facts.page.issues):
        if why := _why_not(issue, facts, records):
            ignored.append(IgnoredIssue(number=issue.number, title=issue.title, why=why))
        elif facts.wanted.takes(issue):
            admitted.append(issue)
    return tuple(admitted), tuple(ignored)


def _wanted_again(
    records: Mapping[int, IssueRecord], listed: Mapping[int, QueueIssue], wanted: QueueFilter
) -> set[int]:
    """The numbers of what was finished or set aside, and that somebody wants done again."""
    return {
        number
        for number, record in records.items()
        if number in listed
        and record.state is not RecordState.CLAIMED
        and is_wanted_again(listed[number], record, wanted)
    }


def _adopted(facts: QueueFacts, tasks: Mapping[int, Task]) -> dict[int, IssueRecord]:
    """The records with the marks that users and agents set in the mirror since."""
    records = dict(facts.records)
    for number, task in tasks.items():
        known, state = records.get(number), _record_state(task)
        if known is not None and known.at >= facts.mirror_at:
            continue
        if state is None and known is not None and known.state is not RecordState.CLAIMED:
            del records[number]
        elif state is not None and (known is None or known.state is RecordState.CLAIMED):
            records[number] = IssueRecord(
                number=number,
                state=state,
                at=facts.mirror_at,
                title=task.title,
                reason=task.blocked_by or "",
            )
    return records


def _record_state(task: Task) -> RecordState | None:
    if task.state is TaskState.DONE:
        return RecordState.DONE
    is_held = (task.blocked_by or "").startswith("#")
    is_blocked = task.state is TaskState.BLOCKED and not is_held
    return RecordState.SET_ASIDE if is_blocked else None


def _as_on_github(record: IssueRecord, listed: Collection[int], facts: QueueFacts) -> IssueRecord:
    """A finished issue that is closed there needs nothing more."""
    is_open = record.number in listed or facts.states.get(record.number, False)
    is_over = record.state is RecordState.DONE and not is_open
    return replace(record, state=RecordState.CLOSED) if is_over else record


def _why_not(issue: QueueIssue, facts: QueueFacts, records: Mapping[int, IssueRecord]) -> str:
    if issue.number in facts.refused:
        return facts.refused[issue.number]
    known = records.get(issue.number)
    return why_ignored(
        issue,
        facts.wanted,
        facts.may,
        viewer=facts.page.viewer,
        is_claimed=known is not None and known.state is not RecordState.CLOSED,
    )


def _waits(issue: QueueIssue, listed: Collection[int], facts: QueueFacts) -> tuple[int, ...]:
    """The open issues that it waits for."""
    natively = [number for number, is_open in issue.waits_for.items() if is_open]
    written = [
        number
        for number in needed_issues(issue.body)
        if number in listed or facts.states.get(number, False) or issue.waits_for.get(number)
    ]
    return tuple(one for one in dict.fromkeys((*natively, *written)) if one != issue.number)


def _done(
    records: Mapping[int, IssueRecord], inside: Collection[int], closed: Collection[int]
) -> dict[int, str]:
    """Titles of the finished issues that are open on GitHub, or that the mirror shows."""
    return {
        number: one.title
        for number, one in records.items()
        if one.state is RecordState.DONE
        or (one.state is RecordState.CLOSED and number in inside and number not in closed)
    }


def _open_tasks(tasks: Mapping[int, Task], numbers: Collection[int]) -> tuple[Task, ...]:
    return tuple(
        one
        for number, one in tasks.items()
        if number in numbers and one.state not in {TaskState.DONE, TaskState.SKIPPED}
    )
