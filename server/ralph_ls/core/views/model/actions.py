"""What a person can do about a loop as it stands now: lenses and the panel offer the same.

An action says what will happen, names a verb of the loop and brings its arguments; whoever obeys
it asks the engine, which may still refuse. It must never know where an action is shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    needs_reset,
    needs_review,
    open_blocker,
    open_question,
)
from ralph_ls.protocol.lsp.panel import Action, Verb
from ralph_ls.protocol.run.values import EndReason, Phase

WORKING_PHASES = frozenset(
    {Phase.STARTING, Phase.PREPARING, Phase.RUNNING, Phase.SETTLING, Phase.WAITING}
)
"""Phases in which a run goes on by itself, and nobody has asked it to stop."""


def answer_action(seen: DocumentContext) -> Action | None:
    """Answer the question that waits."""
    if open_question(seen) is None:
        return None
    title = f"Answer{_and_continue(seen)}…"
    return Action(title=title, verb=Verb.ANSWER, arguments=_resume_arguments(seen))


def resolve_action(seen: DocumentContext) -> Action | None:
    """Say that what blocks the run is gone."""
    if open_blocker(seen) is None:
        return None
    title = f"Mark blocker as resolved{_and_continue(seen)}"
    return Action(title=title, verb=Verb.RESUME, arguments=_resume_arguments(seen))


def reset_action(seen: DocumentContext) -> Action | None:
    """Close the breaker, where that would change something."""
    if not needs_reset(seen):
        return None
    title = f"Reset breaker{_and_continue(seen)}"
    return Action(title=title, verb=Verb.RESET, arguments=_resume_arguments(seen))


def approve_action(seen: DocumentContext) -> Action | None:
    """Say that what was done may stand; without an engine, taking up the run says so."""
    if not needs_review(seen) or not seen.live:
        return None
    return Action(title="Approve and go on", verb=Verb.RESUME, arguments=_run_arguments(seen))


def user_actions(seen: DocumentContext) -> tuple[Action, ...]:
    """What only a person can settle, in the order in which it stands everywhere."""
    found = (answer_action(seen), resolve_action(seen), approve_action(seen), reset_action(seen))
    return tuple(action for action in found if action is not None)


def run_actions(seen: DocumentContext) -> tuple[Action, ...]:
    """Start where nothing runs, else what can be asked of the engine in its phase."""
    return tuple(_ask_engine(seen) if seen.live else _begin(seen))


def show_log_action(seen: DocumentContext, start: int) -> Action:
    """Open what an iteration's agent printed."""
    return Action(title="Show log", verb=Verb.SHOW_LOG, arguments=log_arguments(seen, start))


def show_file_action(path: str) -> Action:
    """Open a file of the work tree."""
    title = f"Open {path.rpartition('/')[2]}"
    return Action(title=title, verb=Verb.SHOW_FILE, arguments={"path": path})


def log_arguments(seen: DocumentContext, start: int) -> dict[str, object]:
    """The arguments that name an iteration's log."""
    return {**_run_arguments(seen), "start": start}


def is_pausing(seen: DocumentContext) -> bool:
    """Whether the run will be held once the iteration is settled."""
    return seen.state is not None and seen.state.pause_requested


def can_resume(seen: DocumentContext) -> bool:
    """Whether a run without an engine can be taken up, and nothing else has to be done first."""
    state = seen.state
    if state is None or open_question(seen) or open_blocker(seen) or needs_reset(seen):
        return False
    # A run at its limit would end at once, and a complete one has nothing to go on with.
    return state.end is None or state.end.reason not in {EndReason.COMPLETE, EndReason.LIMIT}


def all_tasks_blocked(seen: DocumentContext) -> bool:
    """Whether the run is blocked by its plan alone: every task that is left is blocked there."""
    state = seen.state
    if state is None or state.blocked is not None or open_blocker(seen) is not None:
        return False
    return state.phase_reason == EndReason.BLOCKED.value


def _begin(seen: DocumentContext) -> Iterator[Action]:
    if can_resume(seen):
        yield Action(title="Resume run", verb=Verb.RESUME, arguments=_resume_arguments(seen))
    yield Action(title="Start loop", verb=Verb.START)


def _ask_engine(seen: DocumentContext) -> Iterator[Action]:
    if seen.phase is Phase.STOPPING:
        arguments = {**_run_arguments(seen), "now": True}
        yield Action(title="Stop now", verb=Verb.STOP, arguments=arguments)
        return
    if seen.phase is Phase.PAUSED or (seen.phase is Phase.PARKED and all_tasks_blocked(seen)):
        yield Action(title="Resume", verb=Verb.RESUME, arguments=_run_arguments(seen))
    elif seen.phase in WORKING_PHASES and is_pausing(seen):
        title = "Do not pause after this iteration"
        yield Action(title=title, verb=Verb.RESUME, arguments=_run_arguments(seen))
    elif seen.phase in WORKING_PHASES:
        yield Action(title="Pause", verb=Verb.PAUSE, arguments=_run_arguments(seen))
    title = "Stop after this iteration" if seen.phase in WORKING_PHASES else "Stop"
    yield Action(title=title, verb=Verb.STOP, arguments=_run_arguments(seen))


def _and_continue(seen: DocumentContext) -> str:
    """Without an engine, going on is the default of what a person settles (docs/rules.md#inbox)."""
    return "" if seen.state is None or seen.live else " and continue"


def _resume_arguments(seen: DocumentContext) -> dict[str, object]:
    return (
        _run_arguments(seen)
        if seen.state is None or seen.live
        else {**_run_arguments(seen), "continue": True}
    )


def _run_arguments(seen: DocumentContext) -> dict[str, object]:
    return {} if seen.state is None else {"run": seen.state.run}
