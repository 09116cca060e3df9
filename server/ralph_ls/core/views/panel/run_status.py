"""How a loop stands, in one word: for whoever only glances at it (docs/rules.md#panel).

A question or a blocker counts from what its file says now, so that one which was just answered is
not asked for again. It must never know how a state is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from ralph_ls.core.views.model.actions import all_tasks_blocked, is_pausing
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    needs_reset,
    needs_review,
    open_blocker,
    open_question,
)
from ralph_ls.core.views.text.status import WAIT_NAMES
from ralph_ls.protocol.lsp.panel import PanelState, Tone
from ralph_ls.protocol.run.state import End, RunState
from ralph_ls.protocol.run.values import BreakerState, EndReason, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """The state and its words."""

    state: PanelState
    headline: str
    """A few words."""
    short: str
    """One or two, for a status bar; empty where there is nothing to tell."""
    tone: Tone


TONES = {
    PanelState.NONE: Tone.PLAIN,
    PanelState.RUNNING: Tone.ACTIVE,
    PanelState.STOPPING: Tone.ACTIVE,
    PanelState.PAUSED: Tone.WARNING,
    PanelState.WAITING: Tone.PLAIN,
    PanelState.ASKS: Tone.WARNING,
    PanelState.BLOCKED: Tone.BAD,
    PanelState.STUCK: Tone.BAD,
    PanelState.COMPLETE: Tone.GOOD,
    PanelState.ENDED: Tone.PLAIN,
    PanelState.FATAL: Tone.BAD,
    PanelState.CRASHED: Tone.BAD,
}


def run_status(seen: DocumentContext) -> RunStatus:
    """How the newest run of a work tree stands. Total."""
    state = panel_state(seen)
    headline, short = _words(seen, state)
    tone = TONES[state]
    if state is PanelState.RUNNING and is_half_open(seen):
        tone = Tone.WARNING
    return RunStatus(state=state, headline=headline, short=short, tone=tone)


def panel_state(seen: DocumentContext) -> PanelState:
    """The one state to show, whatever the files and the journal say of each other."""
    if seen.state is None:
        return _open_halt_state(seen) or PanelState.NONE
    match seen.phase:
        case Phase.CRASHED:
            return PanelState.CRASHED
        case Phase.STOPPING:
            return PanelState.STOPPING
        case Phase.PAUSED:
            return PanelState.PAUSED
        case Phase.WAITING:
            return PanelState.WAITING
        case Phase.PARKED:
            return _halted(seen)
        case Phase.ENDED:
            return _ended(seen, seen.state.end)
        case Phase.STARTING | Phase.PREPARING | Phase.RUNNING | Phase.SETTLING:
            return PanelState.RUNNING
        case _:  # pragma: no cover
            assert_never(seen.phase)


def is_half_open(seen: DocumentContext) -> bool:
    """Whether the breaker warns."""
    return seen.state is not None and seen.state.breaker.state is BreakerState.HALF_OPEN


def _open_halt_state(seen: DocumentContext) -> PanelState | None:
    """A blocker before a question, as the loop takes them."""
    if open_blocker(seen) is not None:
        return PanelState.BLOCKED
    return PanelState.ASKS if open_question(seen) is not None else None


def _halted(seen: DocumentContext) -> PanelState:
    if waits := _open_halt_state(seen):
        return waits
    if all_tasks_blocked(seen):
        return PanelState.BLOCKED
    if needs_review(seen):
        return PanelState.PAUSED
    if needs_reset(seen):
        return PanelState.STUCK
    # All is settled in the files: a living engine is about to see it, another one must be started.
    return PanelState.WAITING if seen.live else PanelState.PAUSED


def _ended(seen: DocumentContext, end: End | None) -> PanelState:
    reason = None if end is None else end.reason
    match reason:
        case EndReason.FATAL:
            return PanelState.FATAL
        case EndReason.DECIDE | EndReason.BLOCKED | EndReason.STUCK:
            return _halted(seen)
        case EndReason.COMPLETE:
            return _open_halt_state(seen) or PanelState.COMPLETE
        case EndReason.LIMIT | EndReason.STOPPED | None:
            return _open_halt_state(seen) or PanelState.ENDED
        case _:  # pragma: no cover
            assert_never(reason)


def _words(seen: DocumentContext, state: PanelState) -> tuple[str, str]:
    """Headline and short form."""
    run = RunState() if seen.state is None else seen.state
    match state:
        case PanelState.NONE:
            return "No loop has run here", ""
        case PanelState.RUNNING:
            return _running(seen), _how_far(run)
        case PanelState.STOPPING:
            return "Stops after this iteration", "stopping"
        case PanelState.PAUSED:
            return _paused(seen, run), "review" if needs_review(seen) else "paused"
        case PanelState.WAITING:
            return _waiting(seen, run), "waits"
        case PanelState.ASKS:
            return "Waiting for your answer", "asks"
        case PanelState.BLOCKED:
            return "Blocked", "blocked"
        case PanelState.STUCK:
            return _stuck(seen, run)
        case PanelState.COMPLETE | PanelState.ENDED | PanelState.FATAL:
            return ended_words(run.end), _reason(run.end)
        case PanelState.CRASHED:
            return "Engine gone", "engine gone"
        case _:  # pragma: no cover
            assert_never(state)


def ended_words(end: End | None) -> str:
    """The name of an end and its code: one name everywhere (docs/rules.md#names)."""
    code = "" if end is None else f" (code {end.exit_code})"
    return f"{_reason(end).capitalize()}{code}"


def _reason(end: End | None) -> str:
    return "ended" if end is None else end.reason.value


def _running(seen: DocumentContext) -> str:
    if is_pausing(seen):
        return "Pauses after this iteration"
    return "Starting" if seen.phase is Phase.STARTING else "Running"


def _waiting(seen: DocumentContext, run: RunState) -> str:
    if seen.phase is Phase.PARKED:
        return "About to go on"
    # Until when is told beside it, in the time zone of whoever looks.
    return f"Waits{WAIT_NAMES[run.phase_reason]}" if run.phase_reason in WAIT_NAMES else "Waiting"


def _how_far(run: RunState) -> str:
    limit = run.config.max_iterations
    return f"{run.iteration}" if limit is None else f"{run.iteration}/{limit}"


def _paused(seen: DocumentContext, run: RunState) -> str:
    if needs_review(seen):
        return "Waits for your review"
    if seen.phase is not Phase.PAUSED:
        return "Ready to go on"
    return f"Paused after iteration {run.iteration}" if run.iteration else "Paused"


def _stuck(seen: DocumentContext, run: RunState) -> tuple[str, str]:
    is_open = run.breaker.state is BreakerState.OPEN
    headline = "Breaker open" if is_open else "Stuck"
    # Once it has ended, it goes by the name of its end.
    return headline, "breaker open" if is_open and seen.phase is Phase.PARKED else "stuck"
