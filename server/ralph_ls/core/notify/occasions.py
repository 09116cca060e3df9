"""Occasions: the events of a run that are worth a notification, each once, and a sample of each.

An event that only repeats an earlier one is none: the end of a run that has asked a question, or
that is stuck since its breaker opened (docs/rules.md#notifications). ``ralph notify test`` sends
the samples.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ralph_ls.core.loop.rules.waits import BY_REVIEW_POINT, REVIEW, parked_words, review_due
from ralph_ls.core.views.panel.question import listed_choices
from ralph_ls.core.views.text.run_end import next_step
from ralph_ls.core.views.text.summary import cost_of, dollar_words
from ralph_ls.protocol.config.config import OnHalt
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.run.events import (
    BlockedRaised,
    CircuitBreakerStateChange,
    EventBase,
    IterationEnded,
    PhaseChanged,
    QuestionAsked,
    RunEnded,
    TaskSetAside,
    WaitEnded,
    WaitStarted,
    Warned,
)
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState, EndReason, Phase, TaskRef

USAGE_LIMIT_WAIT = "limit"
"""The reason of a wait for the agent's usage limit."""

APPROVAL_CODES = frozenset({"verify-not-allowed"})
"""Codes of warnings that name something to approve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One event that is worth the user's attention."""

    event: NotifyEvent
    text: str
    """What happened; words of an agent, where it is a question, a blocker or a reason."""
    command: str = ""
    """What to type in the work tree; empty where nothing has to be typed."""
    is_anywhere: bool = False
    """Whether the command may be typed in any folder."""
    advice: str = ""
    """What to do before, in words."""
    options: tuple[str, ...] = ()
    task: TaskRef | None = None
    start: int = 0
    iteration: int = 0
    cost_usd: float | None = None


def occasion_of(event: EventBase, before: RunState, after: RunState) -> Notification | None:
    """The notification of an event; ``before`` and ``after`` are the run without and with it."""
    found = _occasion(event, before, after)
    if found is None:
        return None
    current = after.current
    return replace(
        found,
        task=found.task or (None if current is None else current.started.task),
        start=after.start,
        iteration=after.iteration,
        cost_usd=cost_of(after.usage),
    )


def question_id(run: str, start: int | None) -> str:
    """The id by which an answer from elsewhere names a question: ``1a2b-3``."""
    return f"{run.rpartition('-')[2]}-{start or 0}"


def _occasion(event: EventBase, before: RunState, after: RunState) -> Notification | None:
    match event:
        case QuestionAsked(question=question):
            return Notification(
                event=NotifyEvent.QUESTION,
                text=question,
                command=_how(after, 'ralph answer "…"', 'ralph answer "…" && ralph run --resume'),
                options=listed_choices(question),
            )
        case BlockedRaised(reason=reason):
            return Notification(event=NotifyEvent.BLOCKER, text=reason, command=_go_on(after))
        case CircuitBreakerStateChange(to_state=BreakerState.OPEN, reason=reason):
            command = _how(after, "ralph reset", "ralph run --resume")
            return Notification(event=NotifyEvent.BREAKER, text=reason, command=command)
        case TaskSetAside(task=task, reason=reason):
            return Notification(event=NotifyEvent.SET_ASIDE, text=reason, task=task)
        case WaitStarted(reason=reason, until=until) if reason == USAGE_LIMIT_WAIT:
            text = f"The agent's usage limit resets at {until:%Y-%m-%d %H:%M} UTC"
            return Notification(event=NotifyEvent.USAGE_LIMIT, text=text)
        case WaitEnded(reason=reason) if reason == USAGE_LIMIT_WAIT:
            text = "The wait for the agent's usage limit is over; the run continues"
            return Notification(event=NotifyEvent.USAGE_LIMIT, text=text)
        case Warned(code=code, message=message) if code in APPROVAL_CODES:
            return Notification(event=NotifyEvent.APPROVAL, text=message, command="ralph allow")
        case PhaseChanged(phase=Phase.PARKED):
            return _parked(after)
        case RunEnded():
            return _ended(event, after)
        case IterationEnded():
            return _cost(before, after)
        case _:
            return None


def _how(run: RunState, live: str, ended: str) -> str:
    """The command for a run that waits, or for one that ends when it needs the user."""
    return live if run.config.on_halt is OnHalt.WAIT else ended


def _go_on(run: RunState) -> str:
    return _how(run, "ralph resume", "ralph run --resume")


def _parked(run: RunState) -> Notification | None:
    """A run that waits for something that no earlier event has named."""
    if run.phase_reason == REVIEW:
        text = f"Review due: {review_due(run) or 'look at the work'}"
        return Notification(event=NotifyEvent.REVIEW_POINT, text=text, command="ralph resume")
    return _unnamed(run, run.phase_reason, f"The run waits for {parked_words(run)}")


def _unnamed(run: RunState, reason: str | None, text: str) -> Notification | None:
    if reason == EndReason.STUCK and run.breaker.state is not BreakerState.OPEN:
        return Notification(event=NotifyEvent.BREAKER, text=text, command="ralph reset")
    if reason == EndReason.BLOCKED and run.blocked is None:
        return Notification(event=NotifyEvent.BLOCKER, text=text, command="ralph resume")
    return None


_ENDS = {
    EndReason.COMPLETE: NotifyEvent.COMPLETE,
    EndReason.LIMIT: NotifyEvent.LIMIT,
    EndReason.FATAL: NotifyEvent.FATAL,
}


def _ended(event: RunEnded, run: RunState) -> Notification | None:
    if (kind := _ENDS.get(event.reason)) is not None:
        return _with_step(Notification(event=kind, text=event.message), run)
    if event.by == BY_REVIEW_POINT:
        command = "ralph run --resume"
        return Notification(event=NotifyEvent.REVIEW_POINT, text=event.message, command=command)
    if event.by:
        return None  # The user ended it, and knows.
    found = _unnamed(run, event.reason, event.message)
    return None if found is None else _with_step(replace(found, command=""), run)


def _with_step(found: Notification, run: RunState) -> Notification:
    """The notification with the next step of an ended run: its command, and words before it."""
    step = next_step(run) or ""
    ends = re.fullmatch(r"(?:(.*): )?(ralph [^:;,]+)", step)
    if ends is None:
        return replace(found, advice=step)
    return replace(found, advice=ends[1] or "", command=ends[2])


def _cost(before: RunState, after: RunState) -> Notification | None:
    step, cost = after.config.notify.cost_usd, cost_of(after.usage)
    if step is None or cost is None:
        return None
    if math.floor(cost / step) <= math.floor((cost_of(before.usage) or 0.0) / step):
        return None
    return Notification(
        event=NotifyEvent.COST,
        text=f"The run has used {dollar_words(cost)}",
        command="ralph stop",
    )


# ------------------------------------------------------------------------------------------ samples


_TASK = TaskRef(id="1", title="An example of a task")

_TEXTS: Mapping[NotifyEvent, tuple[str, str]] = MappingProxyType(
    {
        NotifyEvent.QUESTION: ("This is a test. Tea or coffee?", 'ralph answer "…"'),
        NotifyEvent.BLOCKER: ("This is a test. The API key is missing", "ralph resume"),
        NotifyEvent.BREAKER: ("This is a test. 5 iterations without progress", "ralph reset"),
        NotifyEvent.REVIEW_POINT: ("This is a test. 5 iterations are done", "ralph resume"),
        NotifyEvent.APPROVAL: ("This is a test. A script changed", "ralph allow"),
        NotifyEvent.SET_ASIDE: ("This is a test. 3 attempts failed", ""),
        NotifyEvent.USAGE_LIMIT: ("This is a test. The limit resets at 14:05", ""),
        NotifyEvent.COST: ("This is a test. The run has used $5.00", "ralph stop"),
        NotifyEvent.COMPLETE: ("This is a test. All tasks are done", ""),
        NotifyEvent.LIMIT: ("This is a test. 20 iterations are done", "ralph run --resume"),
        NotifyEvent.FATAL: ("This is a test. The disk is full", "ralph run --resume"),
    }
)


def sample_of(event: NotifyEvent) -> Notification:
    """The sample of an event."""
    text, command = _TEXTS[event]
    asks = event is NotifyEvent.QUESTION
    return Notification(
        event=event,
        text=text,
        command=command,
        options=("Tea", "Coffee") if asks else (),
        task=_TASK,
        start=1,
        iteration=1,
        cost_usd=0.42,
    )
