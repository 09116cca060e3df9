"""What a viewer has before it when it looks at one file: its text, and the run of its work tree.

The views of one file all start from this one value, so that a diagnostic, a lens and a hover can
never disagree about what waits for a person, or about which line a task stands on.
It must never know an editor's way to count characters: columns here are characters of the line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ralph_ls.core.loop.decide_file import parse_decide
from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.loop.rules.waits import REVIEW, stuck_words
from ralph_ls.core.plan.lint.remarks import title_span
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind, Task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.views.model.history import History
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState, EndReason, Phase


class FileKind(StrEnum):
    """Which of the loop's files is looked at."""

    PLAN = "plan"
    DECIDE = "decide"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContext:
    """One file as it stands, saved or not, and the newest run of its work tree."""

    text: str
    file: FileKind = FileKind.PLAN
    parsed: ParsedPlan = field(default_factory=lambda: ParsedPlan(plan=Plan()))
    """What was read from ``text``, if it is the plan's; otherwise it is not looked at."""
    kind: PlanKind = PlanKind.MARKDOWN
    """What the text of the plan is written in."""
    state: RunState | None = None
    """None: no run has ever been here."""
    phase: Phase = Phase.ENDED
    """As viewers show it, with ``crashed``; it means nothing without a state."""
    pid: int | None = None
    """The engine's process; None where none lives, as when the system stopped a parked run."""
    history: History = field(default_factory=History)
    halt: HaltFiles | None = None
    """What the halt files say now; None where nobody looked. Without an engine an answer stands
    only in its file."""

    @property
    def plan(self) -> Plan:
        """The plan whose lines these are; empty for any other file."""
        return self.parsed.plan if self.file is FileKind.PLAN else Plan()

    @property
    def live(self) -> bool:
        """An engine is there to take commands."""
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
    """Something that waits for a person: a question's text, or a blocker's reason."""

    text: str
    iteration: int | None = None
    start: int | None = None
    """None when an earlier run left it, or a person wrote it."""


def open_question(context: DocumentContext) -> OpenHalt | None:
    """The question that nobody has answered yet, as far as can be seen from this file.

    The decide file speaks for itself while somebody writes into it.
    """
    asked = None if context.state is None else context.state.question
    halt = halt_files_of(context)
    if halt is not None and halt.answer is not None:
        return None
    if asked is not None:
        waits = OpenHalt(text=asked.question, iteration=asked.iteration, start=asked.start)
        return waits if asked.answer is None else None
    left = None if halt is None else halt.question
    return OpenHalt(text=left) if left else None


def open_blocker(context: DocumentContext) -> OpenHalt | None:
    """What blocks the run, unless its file was removed: that resolves it.

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
    """What the halt files say now; the decide file speaks for itself while it is looked at."""
    if context.file is FileKind.DECIDE and context.text.strip():
        question, answer = parse_decide(context.text)
        return HaltFiles(question=question, answer=answer)
    return context.halt


def needs_reset(context: DocumentContext) -> bool:
    """Whether a reset would change something: in a run that goes on, or to let one go on."""
    state = context.state
    if state is None or (state.end is not None and state.end.reason is EndReason.COMPLETE):
        return False
    # A half open breaker holds nothing up, so without an engine there is nothing to reset it for.
    half_open = context.live and state.breaker.state is BreakerState.HALF_OPEN
    return half_open or stuck_words(state.breaker, state.stuck_count, state.config) is not None


def needs_review(context: DocumentContext) -> bool:
    """Whether the run is parked until somebody has looked at what was done."""
    state = context.state
    return state is not None and context.phase is Phase.PARKED and state.phase_reason == REVIEW


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPositions:
    """Where things are shown: at their task, else at the beginning of the file."""

    context: DocumentContext
    top: TextSpan

    def tasks(self, ids: Collection[str]) -> Mapping[str, Task]:
        """Those of the tasks that are in the plan now, under their ids; ask once for all."""
        return {task.id: task for task in self.context.plan.some(ids=ids)} if ids else {}

    def task_of(self, start: int | None) -> Task | None:
        """The task that a start was assigned, if it is in the plan now."""
        if start is None:
            return None
        assigned = self.context.history.tasks.get(start)
        current = None if self.context.state is None else self.context.state.current
        if assigned is None and current is not None and current.started.start == start:
            assigned = current.started.task
        return None if assigned is None else self.context.plan.find(assigned.id)

    def span_of_start(self, start: int | None) -> TextSpan:
        """The place of that task."""
        return self.span_of_task(self.task_of(start))

    def span_of_task(self, task: Task | None) -> TextSpan:
        """The task's words, without marker and box."""
        if task is None:
            return self.top
        place = title_span(task, self.context.text)
        return TextSpan(line=place.line, start=place.start, end=place.end)

    def question_task(self) -> Task | None:
        """The task that the open question is about."""
        waits = open_question(self.context)
        return None if waits is None else self.task_of(waits.start)

    def blocked_task(self) -> Task | None:
        """The task that the open blocker is about."""
        waits = open_blocker(self.context)
        return None if waits is None else self.task_of(waits.start)

    def task_in_work(self) -> Task | None:
        """The task that a living engine's iteration is for."""
        state = self.context.state
        if not self.context.live or state is None or state.current is None:
            return None
        return self.task_of(state.current.started.start)


def document_positions(context: DocumentContext) -> DocumentPositions:
    """Where things are shown in one file; a task is looked up when something is said of it."""
    _, first = next(lines_of(context.text))
    top = TextSpan(line=0, start=0, end=len(first))
    return DocumentPositions(context=context, top=top)
