"""What a person can do about a loop as it stands now: lenses and the panel offer the same.

An action says what will happen, names a verb of the loop and brings its arguments; whoever obeys
it asks the engine, which may still refuse. It must never know where an action is shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.views.seen import Seen, needs_reset, needs_review, open_blocker, waiting_question
from ralph_ls.protocol.lsp.panel import Action, Verb
from ralph_ls.protocol.run.values import EndReason, Phase

WORKING = frozenset({Phase.STARTING, Phase.PREPARING, Phase.RUNNING, Phase.SETTLING, Phase.WAITING})
"""Phases in which a run goes on by itself, and nobody has asked it to stop."""


def answer(seen: Seen) -> Action | None:
    """Answer the question that waits."""
    if waiting_question(seen) is None:
        return None
    title = f"Answer{_and_continue(seen)}…"
    return Action(title=title, verb=Verb.ANSWER, arguments=_going_on(seen))


def resolve(seen: Seen) -> Action | None:
    """Say that what blocks the run is gone."""
    if open_blocker(seen) is None:
        return None
    title = f"Mark blocker as resolved{_and_continue(seen)}"
    return Action(title=title, verb=Verb.RESUME, arguments=_going_on(seen))


def reset(seen: Seen) -> Action | None:
    """Close the breaker, where that would change something."""
    if not needs_reset(seen):
        return None
    title = f"Reset breaker{_and_continue(seen)}"
    return Action(title=title, verb=Verb.RESET, arguments=_going_on(seen))


def approve(seen: Seen) -> Action | None:
    """Say that what was done may stand; without an engine, taking up the run says so."""
    if not needs_review(seen) or not seen.live:
        return None
    return Action(title="Approve and go on", verb=Verb.RESUME, arguments=_of(seen))


def settling(seen: Seen) -> tuple[Action, ...]:
    """What only a person can settle, in the order in which it stands everywhere."""
    found = (answer(seen), resolve(seen), approve(seen), reset(seen))
    return tuple(action for action in found if action is not None)


def running(seen: Seen) -> tuple[Action, ...]:
    """Start where nothing runs, else what can be asked of the engine in its phase."""
    return tuple(_ask_engine(seen) if seen.live else _begin(seen))


def show_log(seen: Seen, start: int) -> Action:
    """Open what an iteration's agent printed."""
    return Action(title="Show log", verb=Verb.SHOW_LOG, arguments=log_of(seen, start))


def show_file(path: str) -> Action:
    """Open a file of the work tree."""
    title = f"Open {path.rpartition('/')[2]}"
    return Action(title=title, verb=Verb.SHOW_FILE, arguments={"path": path})


def log_of(seen: Seen, start: int) -> dict[str, object]:
    """The arguments that name an iteration's log."""
    return {**_of(seen), "start": start}


def is_pausing(seen: Seen) -> bool:
    """Whether the run will be held once the iteration is settled."""
    return seen.state is not None and seen.state.pause_requested


def may_go_on(seen: Seen) -> bool:
    """Whether a run without an engine can be taken up, and nothing else has to be done first."""
    state = seen.state
    if state is None or waiting_question(seen) or open_blocker(seen) or needs_reset(seen):
        return False
    # A run at its limit would end at once, and a complete one has nothing to go on with.
    return state.end is None or state.end.reason not in {EndReason.COMPLETE, EndReason.LIMIT}


def lacks_a_task(seen: Seen) -> bool:
    """Whether the run is blocked by its plan alone: every task that is left is blocked there."""
    state = seen.state
    if state is None or state.blocked is not None or open_blocker(seen) is not None:
        return False
    return state.phase_reason == EndReason.BLOCKED.value


def _begin(seen: Seen) -> Iterator[Action]:
    if may_go_on(seen):
        yield Action(title="Resume run", verb=Verb.RESUME, arguments=_going_on(seen))
    yield Action(title="Start loop", verb=Verb.START)


def _ask_engine(seen: Seen) -> Iterator[Action]:
    if seen.phase is Phase.STOPPING:
        arguments = {**_of(seen), "now": True}
        yield Action(title="Stop now", verb=Verb.STOP, arguments=arguments)
        return
    if seen.phase is Phase.PAUSED or (seen.phase is Phase.PARKED and lacks_a_task(seen)):
        yield Action(title="Resume", verb=Verb.RESUME, arguments=_of(seen))
    elif seen.phase in WORKING and is_pausing(seen):
        title = "Do not pause after this iteration"
        yield Action(title=title, verb=Verb.RESUME, arguments=_of(seen))
    elif seen.phase in WORKING:
        yield Action(title="Pause", verb=Verb.PAUSE, arguments=_of(seen))
    title = "Stop after this iteration" if seen.phase in WORKING else "Stop"
    yield Action(title=title, verb=Verb.STOP, arguments=_of(seen))


def _and_continue(seen: Seen) -> str:
    """Without an engine, going on is the default of what a person settles (SPEC §2)."""
    return "" if seen.state is None or seen.live else " and continue"


def _going_on(seen: Seen) -> dict[str, object]:
    return _of(seen) if seen.state is None or seen.live else {**_of(seen), "continue": True}


def _of(seen: Seen) -> dict[str, object]:
    return {} if seen.state is None else {"run": seen.state.run}
