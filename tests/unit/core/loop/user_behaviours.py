"""People who look after a run: what they do depends only on what they see."""

from __future__ import annotations

from typing import Any

from ralph_ls.core.loop.inputs import HaltFilesChanged
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.loop.simulated_run import Person, SimulatedRun


def helpful(play: SimulatedRun) -> None:
    """Answers, resolves, resets and resumes whatever the run waits for."""
    match play.run.phase, play.run.phase_reason:
        case Phase.PARKED, "decide":
            play.send("answer", text="polling")
        case Phase.PARKED, "blocked" | "review":
            play.send("resume")
        case Phase.PARKED, _:
            play.send("reset")
        case Phase.PAUSED, _:
            play.send("resume")


def editing(play: SimulatedRun) -> None:
    """Settles everything in the halt files, by hand; resumes what is paused."""
    if play.run.phase is Phase.PARKED:
        if play.simulated.question is not None:
            play.simulated.answer = "polling"
        play.simulated.blocked = None
        play.feed(HaltFilesChanged(halt=play.simulated.halt))
    elif play.run.phase is Phase.PAUSED:
        play.send("resume")


def during_turn(number: int, kind: str, **fields: Any) -> Person:
    """Gives a command while the agent plays that turn, counted from 0."""

    def person(play: SimulatedRun) -> None:
        if play.run.phase is Phase.RUNNING and play.simulated.n_turns == number:
            play.send(kind, **fields)

    return person


def together(*persons: Person) -> Person:
    """Several people, one after the other."""

    def person(play: SimulatedRun) -> None:
        for one in persons:
            one(play)

    return person
