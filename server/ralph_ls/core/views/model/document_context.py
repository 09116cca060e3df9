"""Document context: what the views of one file know, its text and the newest run of its work tree.

All views of a file start from this one value, so that diagnostics, lenses and hovers agree on what
waits for the user and on the line of each task. Columns are characters of the line; an editor's
own units are not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ralph_ls.core.loop.decide_file import parse_decide
from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.loop.rules.waits import (
    REVIEW,
    is_breaker_of,
    question_of_lane,
    stuck_words,
)
from ralph_ls.core.plan.lint.remarks import title_span
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind, Task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.views.model.history import History
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState, EndReason, Phase


class FileKind(StrEnum):
    """Which of the loop's files a context is about."""

    PLAN = "plan"
    DECIDE = "decide"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContext:
    """The present text of one file, saved or not, and the newest run of its work tree."""

    text: str
    file: FileKind = FileKind.PLAN
    parsed: ParsedPlan = field(default_factory=lambda: ParsedPlan(plan=Plan()))
    """The plan parsed from ``text``; ignored for other files."""
    kind: PlanKind = PlanKind.MARKDOWN
    """Format of the plan."""
    state: RunState | None = None
    """None where the work tree has never had a run."""
    phase: Phase = Phase.ENDED
    """Phase as viewers show it, including ``crashed``; meaningless without a state."""
    pid: int | None = None
    """Process id of the engine; None where none runs, as when the system stopped a parked run."""
    history: History = field(default_factory=History)
    halt: HaltFiles | None = None
    """Present content of the halt files; None where they were not read. Without an engine an answer
    is only in its file."""

    @property
    def plan(self) -> Plan:
        """The plan of this file; empty for any other file."""
        return self.parsed.plan if self.file is FileKind.PLAN else Plan()

    @property
    def live(self) -> bool:
        """Whether an engine runs that takes commands."""
        gone = self.phase in {Phase.ENDED, Phase.CRASHED}
        return self.state is not None and self.pid is not None and not gone


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """A part of one line: ``line`` from 0, ``start`` and ``end`` in characters of that line."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenHalt:
    """A halt that waits for the user: the text of a question, or the reason of a blocker."""

    text: str
    iteration: int | None = None
    start: int | None = None
    """None where it is from an earlier run, or the user wrote it."""
    lane: int | None = None
    """Of a parallel run: number of the lane that it comes from."""
    task: str | None = None
    """Of a parallel run: id of that lane's task."""


def open_question(context: DocumentContext) -> OpenHalt | None:
    """The question without an answer, if there is one.

    The decide file's own text takes precedence while it is open in the editor.
    """
    if context.state is not None and context.state.lanes:
        return _question_of_lanes(context.state)
    asked = None if context.state is None else context.state.question
    halt = halt_files_of(context)
    if halt is not None and halt.answer is not None:
        return None
    if asked is not None:
        waits = OpenHalt(text=asked.question, iteration=asked.iteration, start=asked.start)
        return waits if asked.answer is None else None
    left = None if halt is None else halt.question
    return OpenHalt(text=left) if left else None


def _question_of_lanes(state: RunState) -> OpenHalt | None:
    """Of several lanes that ask, the first."""
    found = (
        OpenHalt(text=text, lane=lane.lane, task=lane.task.id)
        for lane in state.lanes
        if (text := question_of_lane(lane)) is not None
    )
    return next(found, None)


def open_blocker(context: DocumentContext) -> OpenHalt | None:
    """The blocker of the run; removing its file resolves it.

    See docs/rules.md#blockers.
    """
    reason = None if context.halt is None else context.halt.blocked
    if context.halt is not None and reason is None:
        return None
    raised = None if context.state is None else context.state.blocked
    if raised is not None:
        return OpenHalt(text=raised.reason, iteration=raised.iteration, start=raised.start)
    return OpenHalt(text=reason) if reason else None


def halt_files_of(context: DocumentContext) -> HaltFiles | None:
    """Content of the halt files; the text of an open decide file replaces the saved one."""
    if context.file is FileKind.DECIDE and context.text.strip():
        question, answer = parse_decide(context.text)
        return HaltFiles(question=question, answer=answer)
    return context.halt


def needs_reset(context: DocumentContext) -> bool:
    """Whether a reset would change something: in a live run, or to let one resume."""
    state = context.state
    if state is None or (state.end is not None and state.end.reason is EndReason.COMPLETE):
        return False
    if blocker_breaker(context):
        return False
    # A half open breaker stops nothing, so without an engine there is no reason to reset it.
    half_open = context.live and state.breaker.state is BreakerState.HALF_OPEN
    return half_open or stuck_words(state.breaker, state.stuck_count, state.config) is not None


def blocker_breaker(context: DocumentContext) -> bool:
    """Whether the breaker is open for the blocker that waits, so that resolving that closes it."""
    state = context.state
    raised = None if state is None or open_blocker(context) is None else state.blocked
    return raised is not None and state is not None and is_breaker_of(raised, state)


def needs_review(context: DocumentContext) -> bool:
    """Whether the run is parked at a review point."""
    state = context.state
    return state is not None and context.phase is Phase.PARKED and state.phase_reason == REVIEW


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPositions:
    """Positions of diagnostics and lenses: at their task, else at the top of the file."""

    context: DocumentContext
    top: TextSpan

    def tasks(self, ids: Collection[str]) -> Mapping[str, Task]:
        """The tasks with these ids that the plan has, by id; linear, so call it once for all."""
        return {task.id: task for task in self.context.plan.some(ids=ids)} if ids else {}

    def task_of(self, start: int | None) -> Task | None:
        """The task assigned to a start, if it is still in the plan."""
        if start is None:
            return None
        assigned = self.context.history.tasks.get(start)
        current = None if self.context.state is None else self.context.state.current
        if assigned is None and current is not None and current.started.start == start:
            assigned = current.started.task
        return None if assigned is None else self.context.plan.find(assigned.id)

    def span_of_start(self, start: int | None) -> TextSpan:
        """Span of the task assigned to a start."""
        return self.span_of_task(self.task_of(start))

    def span_of_task(self, task: Task | None) -> TextSpan:
        """Span of a task's title, without marker and box."""
        if task is None:
            return self.top
        place = title_span(task, self.context.text)
        return TextSpan(line=place.line, start=place.start, end=place.end)

    def task_of_halt(self, waits: OpenHalt | None) -> Task | None:
        """The task that raised a question or a blocker, if it is still in the plan."""
        if waits is None:
            return None
        of_lane = None if waits.task is None else self.context.plan.find(waits.task)
        return of_lane or self.task_of(waits.start)

    def question_task(self) -> Task | None:
        """The task that raised the open question."""
        return self.task_of_halt(open_question(self.context))

    def blocked_task(self) -> Task | None:
        """The task that raised the open blocker."""
        waits = open_blocker(self.context)
        return None if waits is None else self.task_of(waits.start)

    def task_in_work(self) -> Task | None:
        """The task of the current iteration, while an engine runs."""
        state = self.context.state
        if not self.context.live or state is None or state.current is None:
            return None
        return self.task_of(state.current.started.start)


def document_positions(context: DocumentContext) -> DocumentPositions:
    """Positions in one file; a task is only looked up when it is needed."""
    _, first = next(lines_of(context.text))
    top = TextSpan(line=0, start=0, end=len(first))
    return DocumentPositions(context=context, top=top)
