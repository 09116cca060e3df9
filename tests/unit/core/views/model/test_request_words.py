"""A run on a request in the places where others show their plan."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.views.model.words import request_words
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.core.views.text.run_end import next_step, summary_lines
from ralph_ls.core.views.text.status import status_answers
from ralph_ls.core.views.text.summary import header_lines
from ralph_ls.protocol.plan import RequestKind, RequestView
from ralph_ls.protocol.run.state import Blocker, End, RunState
from ralph_ls.protocol.run.values import EndReason, Mode, Phase, PlanCountsView, TaskRef
from tests.unit.core.views.run_states import NOON, iteration_started, run_started, state_after

REQUEST = RequestView(kind=RequestKind.GITHUB, title="Letters\nget lost", source="ada/invoice#12")
WORDS = "Letters get lost (ada/invoice#12)"
TASK = TaskRef(id="a", title="Write it")


def state(*events: Any, end: EndReason | None = None, **changes: Any) -> RunState:
    started = run_started().model_copy(update={"request": REQUEST})
    if end is not None:
        changes["end"] = End(reason=end, exit_code=0, message="so it was", at=NOON)
        changes["phase"] = Phase.ENDED
    return state_after(started, *events).model_copy(update=changes)


def told(run: RunState, phase: Phase = Phase.RUNNING) -> dict[str, str]:
    return dict(status_answers(run, phase, pid=1))


def test_a_request_is_its_title_and_its_source_on_one_line() -> None:
    assert request_words(REQUEST) == WORDS
    hostile = RequestView(title="a\x1b[2Jb" + "x" * 200, source="\u202e")
    assert request_words(hostile) == f"a\\x1b[2Jb{'x' * 70}… (\\u202e)"


def test_the_header_names_it() -> None:
    (line,) = [line for line in header_lines(state()) if line.startswith("Profile: ")]
    assert line.endswith(f"Request: {WORDS}")


def test_an_iteration_works_on_it() -> None:
    started = iteration_started(task=None, counts=PlanCountsView())
    line = event_line(started)
    assert line is not None
    assert line.text.endswith(": work on the request")
    assert told(state(started))["Doing"] == WORDS


@pytest.mark.parametrize(
    "changes",
    [
        {"task": TASK},
        {"confirming": True},
        {"counts": PlanCountsView(total=1, done=1)},
        {"mode": Mode.PLAN},
    ],
)
def test_no_other_iteration_says_so(changes: dict[str, Any]) -> None:
    fields = {"task": None, "counts": PlanCountsView(), **changes}
    line = event_line(iteration_started(**fields))
    assert line is not None
    assert "work on the request" not in line.text


def test_status_says_it_when_nothing_is_done() -> None:
    run = state(end=EndReason.COMPLETE)
    assert told(run, Phase.ENDED)["Doing"] == f"nothing now; the request is {WORDS}"
    assert told(run, Phase.ENDED)["Next"] == "nothing: the request is fulfilled"


def test_the_summary_says_it_in_place_of_the_tasks() -> None:
    lines = summary_lines(state(), "summary.csv")
    assert f"Request:     {WORDS}" in lines
    assert not [line for line in lines if line.startswith("Stories:")]


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        (EndReason.DECIDE, "then: ralph run --resume"),
        (EndReason.BLOCKED, "and: ralph run --resume"),
        (EndReason.STUCK, "then: ralph run --resume"),
    ],
)
def test_to_continue_the_run_is_resumed_for_it_has_the_request(
    reason: EndReason, step: str
) -> None:
    said = next_step(state(end=reason, blocked=Blocker(reason="no key")))
    assert said is not None
    assert said.endswith(step)
