"""The six answers in an editor: as in a terminal, but short, and in the words of the buttons."""

from __future__ import annotations

import pytest

from ralph_ls.core.views.seen import Seen
from ralph_ls.core.views.six import answers
from ralph_ls.core.views.status import answer_six
from ralph_ls.protocol.run_words import EndReason, Phase
from tests.unit.views.sights import PID, ends, phase, seen, started
from tests.unit.views.situations import (
    HALF_OPEN,
    PARKED_ASKING,
    PARKED_BLOCKED,
    PARKED_OPEN,
    WORKS,
    ended,
)

HEADINGS = ["Running", "Doing", "Last change", "Needs you", "Stopped", "Next"]


def told(look: Seen) -> dict[str, str]:
    return {one.heading: one.text for one in answers(look)}


@pytest.mark.parametrize(
    ("look", "running", "then"),
    [
        pytest.param(seen(), "no, no loop has run here yet", "start loop", id="no-run"),
        pytest.param(
            seen(*WORKS),
            "yes, running, iteration 3 of 20",
            "nothing, it goes on by itself",
            id="running",
        ),
        pytest.param(
            seen(started(), ends(2, breaker=HALF_OPEN), *WORKS[1:]),
            "yes, running, iteration 3 of 20",
            "nothing, it goes on by itself",
            id="half-open",
        ),
        pytest.param(
            seen(*WORKS, phase(Phase.STOPPING), phase=Phase.STOPPING),
            "yes, stopping after this iteration, iteration 3 of 20",
            "nothing, it goes on by itself",
            id="stopping",
        ),
        pytest.param(
            seen(*WORKS, ends(3), phase(Phase.PAUSED), phase=Phase.PAUSED),
            "yes, paused, iteration 3 of 20",
            "resume",
            id="paused",
        ),
        pytest.param(
            seen(*PARKED_ASKING, phase=Phase.PARKED),
            "yes, waiting for you, iteration 3 of 20",
            "answer",
            id="asks",
        ),
        pytest.param(
            seen(*PARKED_ASKING, phase=Phase.PARKED, pid=None),
            "no, the system stopped its engine while it was parked",
            "answer and continue",
            id="asks-without-engine",
        ),
        pytest.param(
            seen(*PARKED_BLOCKED, phase=Phase.PARKED),
            "yes, waiting for you, iteration 3 of 20",
            "mark blocker as resolved",
            id="blocked",
        ),
        pytest.param(
            seen(*PARKED_OPEN, phase=Phase.PARKED),
            "yes, waiting for you, iteration 3 of 20",
            "reset breaker",
            id="stuck",
        ),
        pytest.param(
            seen(*WORKS, phase=Phase.CRASHED, pid=None),
            "no, its engine is gone",
            "resume run",
            id="crashed",
        ),
        pytest.param(
            seen(*WORKS, ends(3), ended(EndReason.COMPLETE), phase=Phase.ENDED, pid=None),
            "no, it has ended",
            "nothing, the plan is done",
            id="complete",
        ),
        pytest.param(
            seen(*WORKS, ends(3), ended(EndReason.LIMIT), phase=Phase.ENDED, pid=None),
            "no, it has ended",
            "start loop",
            id="limit",
        ),
    ],
)
def test_whether_it_runs_and_what_to_do_next(look: Seen, running: str, then: str) -> None:
    known = told(look)
    assert list(known) == HEADINGS
    assert (known["Running"], known["Next"]) == (running, then)


@pytest.mark.parametrize("place", [Phase.RUNNING, Phase.CRASHED])
def test_the_others_are_the_terminal_s_own(place: Phase) -> None:
    look = seen(*WORKS, phase=place)
    assert look.state is not None
    own = dict(answer_six(look.state, look.phase, pid=PID))
    assert {heading: told(look)[heading] for heading in HEADINGS[1:-1]} == {
        heading: own[heading] for heading in HEADINGS[1:-1]
    }


def test_without_a_limit_none_is_told() -> None:
    look = seen(*WORKS)
    assert look.state is not None
    config = look.state.config.model_copy(update={"max_iterations": None})
    state = look.state.model_copy(update={"config": config})
    free = Seen(text=look.text, state=state, phase=look.phase, pid=look.pid)
    assert told(free)["Running"] == "yes, running, iteration 3"
