"""Rows: the trees of a viewer, the plan's tasks and the iterations of a run.

Iterations are folded from the run's first event on; the newest are kept. Titles and reasons are
escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ralph_ls.core.loop.evidence.progress import new_head
from ralph_ls.core.loop.lanes import ACTIVE
from ralph_ls.core.loop.rules.waits import question_of_lane
from ralph_ls.core.plan.formats.registry import format_of
from ralph_ls.core.plan.model import Task
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.decisions import OpenIteration, decision_words, follow
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    DocumentPositions,
    document_positions,
)
from ralph_ls.core.views.model.history import History
from ralph_ls.core.views.model.tasks import (
    SKIPPED_WORDS,
    TaskReviews,
    aside_words,
    attempt_count_words,
    blocked_words,
    finished_words,
    is_skipped,
    set_aside,
    task_reviews,
)
from ralph_ls.core.views.model.words import (
    FAILURE_WORDS,
    changed_files,
    claims_words,
    one_line,
)
from ralph_ls.core.views.panel.lanes import lane_task_words
from ralph_ls.protocol.json_output import RunMetrics
from ralph_ls.protocol.lsp.panel import IterationRow, PlanRows, TaskRow
from ralph_ls.protocol.run.events import (
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    RalphStatusUpdate,
    RolledBack,
    RunStarted,
)
from ralph_ls.protocol.run.iteration_events import IterationEvent
from ralph_ls.protocol.run.report import AgentFailure, Report, Usage
from ralph_ls.protocol.run.state import LaneView
from ralph_ls.protocol.run.values import Evidence, LaneState, Mode, RollbackRecord
from ralph_ls.protocol.task_words import TaskState

MAX_ROWS = 200
"""Iterations that are kept."""

SHOWN_WORD = 40
"""Shown characters of a value that should be one word."""

MAX_WHY_CHARS = 300


def plan_rows(context: DocumentContext, *, uri: str | None, path: str) -> PlanRows:
    """The plan's tasks with their status in the newest run. Total.

    ``uri`` is None where the plan is not a file. ``path`` is relative to the work tree, or the name
    of a plan that is not a file; empty where there is none.
    """
    if uri is None and not path:
        return PlanRows()
    at = document_positions(context)
    asked, blocking, in_work = at.question_task(), at.blocked_task(), at.task_in_work()
    known = task_reviews(context)
    lanes = {} if context.state is None else {one.task.id: one for one in context.state.lanes}
    return PlanRows(
        uri=uri,
        path=path,
        tasks=tuple(
            _with_lane(
                context,
                lanes.get(task.id),
                _task_row(
                    at,
                    known,
                    task,
                    asks=task == asked,
                    blocks=task == blocking,
                    works=task == in_work,
                ),
            )
            for task in context.plan.tasks
        ),
        problems=tuple(
            problem.model_copy(update={"message": escape_control_chars(problem.message)})
            for problem in context.parsed.problems
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRows:
    """Iterations of one run."""

    rows: tuple[IterationRow, ...] = ()
    """Newest first, each start once, at most ``MAX_ROWS``."""
    open: OpenIteration = OpenIteration()
    """What the decision about the newest iteration will be explained by."""


def iteration_rows(
    events: Iterable[EventBase], earlier: IterationRows | None = None
) -> IterationRows:
    """The iterations after ``events``, continued from ``earlier`` or from none.

    Copies ``earlier`` once per call, as `history` does. A ``runStarted`` clears them.
    """
    known = {} if earlier is None else {row.start: row for row in earlier.rows}
    begun = OpenIteration() if earlier is None else earlier.open
    for event in events:
        if isinstance(event, RunStarted):
            known = {}
        else:
            _enter(known, event)
        if isinstance(event, IterationEnded):
            _change(known, event, {"why": _why(event, begun)})
        begun = follow(begun, event)
    newest = sorted(known, reverse=True)[:MAX_ROWS]
    return IterationRows(rows=tuple(known[start] for start in newest), open=begun)


def measured_rows(run: RunMetrics) -> tuple[IterationRow, ...]:
    """All iterations of a run from its figures, newest first: without reasons and reports."""
    tries = Counter[int]()
    rows: list[IterationRow] = []
    for one in run.iterations:
        tries[one.iteration] += 1
        is_limit = one.failure is None or one.failure is AgentFailure.LIMIT
        rows.append(
            IterationRow(
                iteration=one.iteration,
                start=one.start,
                tries=tries[one.iteration],
                task=None if one.task is None else escape_control_chars(one.task.title),
                planning=one.mode == Mode.PLAN or None,
                outcome=one.outcome,
                confirmed=one.confirmed or None,
                started_at=one.started_at,
                seconds=one.seconds,
                commit=one.commit,
                files=one.files + one.own_files,
                tasks_done=one.tasks_done,
                cost_usd=one.cost_usd,
                estimated=one.estimated or None,
                failure=None if is_limit or one.failure is None else FAILURE_WORDS[one.failure],
                changes=one.started_at is not None,
                undone=one.undone or None,
            )
        )
    return tuple(reversed(rows))


def with_undone(
    rows: tuple[IterationRow, ...], run: str, rollbacks: Collection[RollbackRecord]
) -> tuple[IterationRow, ...]:
    """The rows, with those marked that the user has rolled back. Total."""
    if not rollbacks:
        return rows
    return tuple(
        row.model_copy(update={"undone": True})
        if any(_is_undone(row, run, record) for record in rollbacks)
        else row
        for row in rows
    )


def _is_undone(row: IterationRow, run: str, record: RollbackRecord) -> bool:
    """By its commit; one without any belongs to those of its run that came after the target."""
    if row.commit is not None:
        return row.commit in record.commits
    was_there = row.started_at is not None and row.started_at < record.at
    return run == record.run and row.start >= record.start and was_there


def with_roll_back(rows: tuple[IterationRow, ...], *, live: bool) -> tuple[IterationRow, ...]:
    """The rows, newest first, with those marked that can be rolled back; none while ``live``.

    A rollback undoes an iteration and all later ones, so one without a commit can be rolled back
    where a later one made some. Git decides in the end.
    """
    if live:
        return rows
    marked: list[IterationRow] = []
    any_commit = False
    for row in rows:
        any_commit = any_commit or (row.commit is not None and not row.undone)
        can = any_commit and row.outcome is not None and row.changes and not row.undone
        marked.append(row.model_copy(update={"can_roll_back": True}) if can else row)
    return tuple(marked)


def _task_row(
    at: DocumentPositions, known: TaskReviews, task: Task, *, asks: bool, blocks: bool, works: bool
) -> TaskRow:
    history = at.context.history
    tried = history.attempts.get(task.id, ())
    done = history.completions.get(task.id) if task.state is TaskState.DONE else None
    last = tried[-1] if tried else None
    words = [
        *(["asks"] if asks else []),
        *(["blocks the run"] if blocks else []),
        *_task_words(at, known, task, works=works),
    ]
    return TaskRow(
        id=task.id,
        title=escape_control_chars(task.title),
        state=task.state,
        priority=task.shown_priority,
        section=escape_control_chars(task.section),
        line=task.line + 1,
        blocked_by=None if task.blocked_by is None else escape_control_chars(task.blocked_by),
        criteria=tuple(escape_control_chars(criterion) for criterion in task.criteria),
        attempts=len(tried),
        iteration=_iteration_of(history, last) if done is None else done.iteration,
        start=last if done is None else done.start,
        commit=None if done is None else done.commit,
        in_work=works,
        asks=asks,
        blocks=blocks,
        skipped=is_skipped(at.context, task),
        can_block=format_of(at.context.kind).can_block,
        words=" · ".join(words),
    )


def _with_lane(context: DocumentContext, lane: LaneView | None, row: TaskRow) -> TaskRow:
    """The row of a task that is open in this text, with what its lane has made of it."""
    if context.state is None or lane is None or row.state is TaskState.DONE:
        return row
    words = escape_control_chars(lane_task_words(context.state, lane, context.phase))
    return row.model_copy(
        update={
            "lane": lane.lane,
            "merged": lane.state is LaneState.MERGED,
            "in_work": context.live and lane.state in ACTIVE,
            "asks": question_of_lane(lane) is not None,
            "words": " · ".join(filter(None, (row.words.removeprefix("asks").lstrip(" ·"), words))),
        }
    )


def _iteration_of(history: History, start: int | None) -> int | None:
    return None if start is None else history.iterations.get(start, start)


def _task_words(
    at: DocumentPositions, known: TaskReviews, task: Task, *, works: bool
) -> Iterator[str]:
    if task.state is TaskState.DONE:
        done = at.context.history.completions.get(task.id)
        if done is not None:
            yield finished_words(done)
        return
    if is_skipped(at.context, task):
        yield SKIPPED_WORDS
    if (aside := set_aside(at.context, task)) is not None:
        yield aside_words(aside)
        return
    if task.state is TaskState.BLOCKED:
        yield blocked_words(task)
    yield from filter(None, (known.review(task), known.waiting(task)))
    if tried := attempt_count_words(at.context, task, in_work=works):
        yield tried


def _enter(known: dict[int, IterationRow], event: EventBase) -> None:
    match event:
        case IterationStarted(task=task):
            known[event.start] = IterationRow(
                iteration=event.iteration,
                start=event.start,
                tries=event.tries,
                task=None if task is None else escape_control_chars(task.title),
                planning=event.mode is Mode.PLAN or None,
                started_at=event.at,
                changes=True,
            )
        case RalphStatusUpdate(report=report):
            _change(known, event, _of_report(report))
        case EvidenceGathered(evidence=evidence):
            _change(known, event, _of_evidence(evidence))
        case RolledBack(ok=True):
            _change(known, event, {"undone": True})
        case IterationEnded(usage=usage):
            changes: dict[str, object] = {"outcome": event.outcome, "seconds": event.seconds}
            if event.confirmed:
                changes["confirmed"] = True
            if event.commit is not None:
                changes["commit"] = event.commit
            if event.failure is not None and event.failure is not AgentFailure.LIMIT:
                changes["failure"] = FAILURE_WORDS[event.failure]
            _change(known, event, {**changes, **_of_usage(usage)})
        case _:
            pass


def _change(
    known: dict[int, IterationRow], event: IterationEvent, changes: dict[str, object]
) -> None:
    # The beginning of a damaged journal may be missing.
    row = known.get(event.start) or IterationRow(iteration=event.iteration, start=event.start)
    known[event.start] = row.model_copy(update=changes)


def _why(ended: IterationEnded, begun: OpenIteration) -> str:
    """The decision, and below it what the agent claims."""
    claims = claims_words(ended.claims)
    return decision_words(ended, begun) + (f"\nthe agent claims: {claims}" if claims else "")


def _of_report(report: Report) -> dict[str, object]:
    work_type = one_line(report.work_type, limit=SHOWN_WORD)
    claims = "FILES_MODIFIED" in report.fields
    tests = "TESTS_STATUS" in report.fields
    return {
        "status": one_line(report.status, limit=SHOWN_WORD),
        "work_type": work_type or None,
        "tests": one_line(report.tests_status, limit=SHOWN_WORD) if tests else None,
        "claimed_files": report.files_modified if claims else None,
    }


def _of_evidence(evidence: Evidence) -> dict[str, object]:
    return {
        "files": changed_files(evidence),
        "tasks_done": len(evidence.tasks_done),
        "commit": new_head(evidence),
        "why": one_line(evidence.why, limit=MAX_WHY_CHARS),
    }


def _of_usage(usage: Usage | None) -> dict[str, object]:
    return (
        {}
        if usage is None
        else {
            "cost_usd": usage.cost_usd,
            "estimated": usage.estimated,
        }
    )
