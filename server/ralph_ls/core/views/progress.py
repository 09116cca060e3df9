"""A run in one line that changes while it goes on, and the line that it ends with.

It must never know how progress is drawn. It tells no percentage: of the iterations that a run may
use, nobody knows how many it will need.
"""

from __future__ import annotations

from ralph_ls.core.loop.rules.waits import parked_words
from ralph_ls.core.views.tasks import attempt_words
from ralph_ls.core.views.waits import wait_words
from ralph_ls.core.views.words import iteration_words, one_line, with_mode
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode, Phase

SHOWN = 120
"""Characters of a title or a reason."""


def progress_title(state: RunState) -> str:
    """What the whole work is called."""
    return f"Ralph: run {state.run}"


def progress_words(state: RunState, phase: Phase) -> str:
    """How far a living run is and what it does, or waits for."""
    parts = [iteration_words(state)] if state.iteration else []
    parts.append(_doing(state, phase))
    return " · ".join(part for part in parts if part)


def end_words(state: RunState, phase: Phase) -> str:
    """Why nothing goes on any more."""
    if state.end is not None:
        return f"{state.end.reason.value}: {one_line(state.end.message, limit=SHOWN)}"
    if phase is Phase.PARKED:
        return f"the system stopped its engine; it waits for {_awaited(state)}"
    return "its engine is gone"


def _doing(state: RunState, phase: Phase) -> str:
    match phase:
        case Phase.PARKED:
            return f"waits for {_awaited(state)}"
        case Phase.PAUSED:
            return "paused"
        case Phase.WAITING:
            since = state.phase_since
            return f"waits{wait_words(state.phase_reason, state.until, since=since)}"
        case Phase.STOPPING:
            return "stops after this iteration"
        case _ if state.current is None:
            return "" if state.iteration else "starting"
        case _:
            started = state.current.started
            without = (
                "makes the plan"
                if started.mode is Mode.PLAN
                else "confirms that nothing is left to do"
            )
            title = without if started.task is None else started.task.title
            attempt = attempt_words(state)
            title = with_mode(title, started.mode)
            return one_line(title, limit=SHOWN) + (f" · {attempt}" if attempt else "")


def _awaited(state: RunState) -> str:
    return one_line(parked_words(state), limit=SHOWN)
