"""Run status: a loop in one word with a headline (docs/rules.md#panel).

Questions and blockers count as their files say now, so that one that was just answered is not
shown as open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.loop.rules.waits import lanes_need_user
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.actions import (
    all_tasks_blocked,
    has_parked_lanes,
    is_pausing,
)
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    needs_reset,
    needs_review,
    open_blocker,
    open_question,
)
from ralph_ls.core.views.text.lane_summary import lanes_at_work
from ralph_ls.core.views.text.status import WAIT_NAMES
from ralph_ls.protocol.lsp.panel import PanelState, Tone
from ralph_ls.protocol.run.state import End, RunState
from ralph_ls.protocol.run.values import BreakerState, EndReason, LaneState, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """State of the panel with its wording."""

    state: PanelState
    headline: str
    """A few words."""
    short: str
    """One or two words for a status bar; empty where it shows nothing."""
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


def run_status(context: DocumentContext) -> RunStatus:
    """Status of the newest run of a work tree. Total."""
    state = panel_state(context)
    headline, short = _words(context, state)
    tone = TONES[state]
    is_run_at_risk = is_half_open(context) or has_waiting_lanes(context)
    if state is PanelState.RUNNING and is_run_at_risk:
        tone = Tone.WARNING
    return RunStatus(state=state, headline=headline, short=short, tone=tone)


def panel_state(context: DocumentContext) -> PanelState:
    """The one state to show, where files and journal may disagree."""
    if context.state is None:
        return _open_halt_state(context) or PanelState.NONE
    match context.phase:
        case Phase.CRASHED:
            return PanelState.CRASHED
        case Phase.STOPPING:
            return PanelState.STOPPING
        case Phase.PAUSED:
            return PanelState.PAUSED
        case Phase.WAITING:
            return PanelState.WAITING
        case Phase.PARKED:
            return _halted(context)
        case Phase.ENDED:
            return _ended(context, context.state.end)
        case Phase.STARTING | Phase.PREPARING | Phase.RUNNING | Phase.SETTLING:
            return PanelState.RUNNING
        case _:  # pragma: no cover
            assert_never(context.phase)


def has_waiting_lanes(context: DocumentContext) -> bool:
    """Whether a lane of a parallel run waits for the user while the others continue."""
    return context.state is not None and lanes_need_user(context.state)


def is_half_open(context: DocumentContext) -> bool:
    """Whether the breaker is half open."""
    return context.state is not None and context.state.breaker.state is BreakerState.HALF_OPEN


def _open_halt_state(context: DocumentContext) -> PanelState | None:
    """A blocker before a question, in the loop's order."""
    if open_blocker(context) is not None:
        return PanelState.BLOCKED
    return PanelState.ASKS if open_question(context) is not None else None


def _halted(context: DocumentContext) -> PanelState:
    if waits := _open_halt_state(context):
        return waits
    if all_tasks_blocked(context) or has_parked_lanes(context):
        return PanelState.BLOCKED
    if needs_review(context):
        return PanelState.PAUSED
    if needs_reset(context):
        return PanelState.STUCK
    # The files resolve everything: a live engine is about to notice, otherwise one must be started.
    return PanelState.WAITING if context.live else PanelState.PAUSED


def _ended(context: DocumentContext, end: End | None) -> PanelState:
    reason = None if end is None else end.reason
    match reason:
        case EndReason.FATAL:
            return PanelState.FATAL
        case EndReason.DECIDE | EndReason.BLOCKED | EndReason.STUCK:
            return _halted(context)
        case EndReason.COMPLETE:
            return _open_halt_state(context) or PanelState.COMPLETE
        case EndReason.LIMIT | EndReason.STOPPED | None:
            return _open_halt_state(context) or PanelState.ENDED
        case _:  # pragma: no cover
            assert_never(reason)


def _words(context: DocumentContext, state: PanelState) -> tuple[str, str]:
    """Headline and short form."""
    run = RunState() if context.state is None else context.state
    match state:
        case PanelState.NONE:
            return "No loop has run here", ""
        case PanelState.RUNNING:
            return _running(context, run), _how_far(run)
        case PanelState.STOPPING:
            return "Stopping after this iteration", "stopping"
        case PanelState.PAUSED:
            return _paused(context, run), "review" if needs_review(context) else "paused"
        case PanelState.WAITING:
            return _waiting(context, run), "waits"
        case PanelState.ASKS:
            return "Waiting for your answer", "asks"
        case PanelState.BLOCKED if has_parked_lanes(context):
            n_parked = sum(lane.state is LaneState.PARKED for lane in run.lanes)
            return f"{count_of(n_parked, 'lane')} parked", "parked"
        case PanelState.BLOCKED:
            return "Blocked", "blocked"
        case PanelState.STUCK:
            return _stuck(run)
        case PanelState.COMPLETE | PanelState.ENDED | PanelState.FATAL:
            return ended_words(run.end), _reason(run.end)
        case PanelState.CRASHED:
            return "Engine gone", "engine gone"
        case _:  # pragma: no cover
            assert_never(state)


def ended_words(end: End | None) -> str:
    """Name and code of an end, the same everywhere (docs/rules.md#names)."""
    code = "" if end is None else f" (code {end.exit_code})"
    return f"{_reason(end).capitalize()}{code}"


def _reason(end: End | None) -> str:
    return "ended" if end is None else end.reason.value


def _running(context: DocumentContext, run: RunState) -> str:
    if is_pausing(context):
        return "Pausing after this iteration"
    if context.phase is Phase.STARTING:
        return "Starting"
    return lanes_at_work(run) or "Running"


def _waiting(context: DocumentContext, run: RunState) -> str:
    if context.phase is Phase.PARKED:
        return "About to continue"
    # A viewer shows until when, in the reader's time zone.
    return f"Waiting{WAIT_NAMES[run.phase_reason]}" if run.phase_reason in WAIT_NAMES else "Waiting"


def _how_far(run: RunState) -> str:
    """Iterations of their limit; of a parallel run the tasks that are done."""
    if is_parallel(run.config):
        return f"{run.counts.required_done}/{run.counts.required}"
    limit = run.config.max_iterations
    is_shown = limit is not None and run.iteration <= limit
    return f"{run.iteration}/{limit}" if is_shown else f"{run.iteration}"


def _paused(context: DocumentContext, run: RunState) -> str:
    if needs_review(context):
        return "Waiting for your review"
    if context.phase is not Phase.PAUSED:
        return "Ready to continue"
    return f"Paused after iteration {run.iteration}" if run.iteration else "Paused"


def _stuck(run: RunState) -> tuple[str, str]:
    is_open = run.breaker.state is BreakerState.OPEN
    return ("Breaker open", "breaker open") if is_open else ("Stuck", "stuck")
