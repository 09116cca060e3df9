"""The six answers in an editor: as in a terminal, but short, and in the words of the buttons."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.panel import panel_answers
from ralph_ls.core.views.text.status import status_answers
from ralph_ls.protocol.run.events import EventBase
from ralph_ls.protocol.run.values import EndReason, Mode, Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    PID,
    begins,
    ends,
    phase,
    seen,
    shows,
    started,
)
from tests.unit.core.views.run_situations import (
    HALF_OPEN,
    PARKED_ASKING,
    PARKED_BLOCKED,
    PARKED_OPEN,
    WORKS,
    asked,
    ended,
)

HEADINGS = ["Running", "Doing", "Last change", "Needs you", "Stopped", "Next"]
"""In this order; one without an answer is left out."""


DONE = "- [x] Round half a cent up\n"


def told(look: DocumentContext) -> dict[str, str]:
    return {one.heading: one.text for one in panel_answers(look)}


@pytest.mark.parametrize(
    ("look", "running", "then"),
    [
        pytest.param(seen(), "no, no loop has run here yet", "start loop", id="no-run"),
        pytest.param(
            seen(*WORKS),
            "yes, running, iteration 3 of 20",
            "nothing; it continues on its own",
            id="running",
        ),
        pytest.param(
            seen(started(), ends(2, breaker=HALF_OPEN), *WORKS[1:]),
            "yes, running, iteration 3 of 20",
            "nothing; it continues on its own",
            id="half-open",
        ),
        pytest.param(
            seen(*WORKS, phase(Phase.STOPPING), phase=Phase.STOPPING),
            "yes, stopping after this iteration, iteration 3 of 20",
            "nothing; it continues on its own",
            id="stopping",
        ),
        pytest.param(
            seen(*WORKS, ends(3), phase(Phase.PAUSED), phase=Phase.PAUSED),
            "no, it is paused, iteration 3 of 20",
            "resume",
            id="paused",
        ),
        pytest.param(
            seen(*PARKED_ASKING, phase=Phase.PARKED),
            "no, it waits for you, iteration 3 of 20",
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
            "no, it waits for you, iteration 3 of 20",
            "mark blocker as resolved",
            id="blocked",
        ),
        pytest.param(
            seen(*PARKED_OPEN, phase=Phase.PARKED),
            "no, it waits for you, iteration 3 of 20",
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
            seen(
                *WORKS, ends(3), ended(EndReason.COMPLETE), text=DONE, phase=Phase.ENDED, pid=None
            ),
            "no, it has ended",
            "nothing, the plan is done",
            id="complete",
        ),
        pytest.param(
            seen(*WORKS, ends(3), ended(EndReason.COMPLETE), phase=Phase.ENDED, pid=None),
            "no, it has ended",
            "start loop",
            id="complete-with-new-tasks",
        ),
        pytest.param(
            seen(*WORKS, ends(3), ended(EndReason.LIMIT), phase=Phase.ENDED, pid=None),
            "no, it has ended",
            "start loop",
            id="limit",
        ),
    ],
)
def test_whether_it_runs_and_what_to_do_next(
    look: DocumentContext, running: str, then: str
) -> None:
    known = told(look)
    assert list(known) == [heading for heading in HEADINGS if heading in known]
    has_stopped = look.state is not None and look.phase in {Phase.ENDED, Phase.CRASHED}
    assert ("Stopped" in known) == has_stopped
    assert (known["Running"], known["Next"]) == (running, then)


@pytest.mark.parametrize("place", [Phase.RUNNING, Phase.CRASHED])
def test_the_others_are_the_terminal_s_own(place: Phase) -> None:
    look = seen(*WORKS, phase=place)
    assert look.state is not None
    own = dict(status_answers(look.state, look.phase, pid=PID))
    same = ["Doing", "Needs you", "Stopped"]
    assert {heading: told(look).get(heading) for heading in same} == {
        heading: own.get(heading) for heading in same
    }


class TestDoing:
    @staticmethod
    def of(*events: EventBase, **about: Any) -> str:
        return told(seen(*events, **about))["Doing"]

    def test_before_the_first_task_it_shows_how_far_the_plan_is(self) -> None:
        assert self.of(started()) == "nothing now; 0 of 0 tasks are done"

    def test_what_waits_for_the_user_is_at_its_task(self) -> None:
        assert self.of(*PARKED_ASKING) == "Choose the storage engine"
        assert self.of(*PARKED_BLOCKED) == "Choose the storage engine"
        left = (*WORKS, ends(3), asked(2), phase(Phase.PARKED, "decide"))
        assert self.of(*left) == "nothing now; 0 done of 1 attempted, none open"
        older = (*WORKS, ends(3), asked(None), phase(Phase.PARKED, "decide"))
        assert self.of(*older) == "nothing now; 0 done of 1 attempted, none open"

    def test_the_mode_is_reported_where_a_task_is_not_built(self) -> None:
        def of(mode: Mode, line: int | None, **about: Any) -> str:
            began = begins(3, line).model_copy(update={"mode": mode})
            return self.of(started(), began, phase(Phase.RUNNING), **about)

        assert of(Mode.BUILD, CHOOSE) == "Choose the storage engine"
        assert of(Mode.REVIEW, CHOOSE) == "Choose the storage engine · review"
        assert of(Mode.REVIEW, CHOOSE, pid=None) == "Choose the storage engine"
        assert of(Mode.PLAN, None) == "making the plan"


def test_the_last_change_is_reported_by_its_evidence() -> None:
    assert "Last change" not in told(seen(*WORKS))
    moved = seen(*WORKS, shows(3, files=4, commit=COMMIT, done=(CHOOSE,)), ends(3, commit=COMMIT))
    assert told(moved)["Last change"] == f"#3: 1 commit, 4 files, 1 task ({COMMIT[:7]})"
    still = seen(*WORKS, shows(3), ends(3))
    assert told(still)["Last change"] == "#3: nothing changed at all"


def test_without_a_limit_none_is_reported() -> None:
    look = seen(*WORKS)
    assert look.state is not None
    config = look.state.config.model_copy(update={"max_iterations": None})
    state = look.state.model_copy(update={"config": config})
    free = DocumentContext(text=look.text, state=state, phase=look.phase, pid=look.pid)
    assert told(free)["Running"] == "yes, running, iteration 3"
