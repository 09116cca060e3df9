from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.views.text.status import needs_user, status_answers
from ralph_ls.protocol.run.events import RunEnded
from ralph_ls.protocol.run.report import AgentFailure, Claims
from ralph_ls.protocol.run.state import Blocker, End, Question, RunState
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Mode, Outcome, Phase
from tests.unit.core.views.run_states import (
    NOON,
    RUN,
    event,
    evidence,
    iteration_ended,
    iteration_started,
    phase,
    report,
    run_started,
    state_after,
)

QUESTIONS = ["Running", "Doing", "Last change", "Needs you", "Stopped", "Next"]
PID = 4711


def answers(
    state: RunState, shown: Phase | None = None, *, pid: int | None = PID
) -> dict[str, str]:
    told = status_answers(state, shown or state.phase, pid=pid)
    headings = [heading for heading, _ in told]
    assert headings == [heading for heading in QUESTIONS if heading in headings]
    assert all(answer and not answer.endswith(".") for _, answer in told)
    return dict(told)


def running(**changes: Any) -> RunState:
    state = state_after(run_started(), iteration_started(3), phase(Phase.RUNNING))
    return state.model_copy(update=changes)


def ended(reason: EndReason, code: int, **changes: Any) -> RunState:
    message = f"it came to {reason.value}"
    told = event(RunEnded, reason=reason, exit_code=code, message=message, by=changes.pop("by", ""))
    return state_after(run_started(), told).model_copy(update=changes)


LIVE = [
    Phase.STARTING,
    Phase.PREPARING,
    Phase.RUNNING,
    Phase.SETTLING,
    Phase.WAITING,
    Phase.STOPPING,
]


@pytest.mark.parametrize("shown", LIVE)
def test_while_it_continues_nobody_is_needed(shown: Phase) -> None:
    state = running(phase=shown)
    assert answers(state) == {
        "Running": f"yes, {shown.value}, iteration 3 of 15, run {RUN}, pid 4711",
        "Doing": "Round half a cent up",
        "Needs you": "no",
        "Next": "ralph watch, or ralph stop",
    }
    assert not needs_user(state, shown)


def test_without_a_limit_none_is_named() -> None:
    state = state_after(run_started(max_iterations=None), phase(Phase.PREPARING))
    told = answers(state)
    assert told["Running"] == f"yes, preparing, iteration 0, run {RUN}, pid 4711"
    assert told["Doing"] == "nothing now; 0 of 0 tasks are done"


def test_a_confirming_iteration_says_so() -> None:
    state = state_after(run_started(), iteration_started(7, task=None, confirming=True))
    assert answers(state)["Doing"] == "confirming that nothing is left to do"
    planning = state_after(run_started(), iteration_started(1, task=None, mode=Mode.PLAN))
    assert answers(planning)["Doing"] == "making the plan"


class TestLastChange:
    def test_it_is_reported_with_its_evidence(self) -> None:
        state = state_after(
            run_started(), iteration_started(), report(), evidence(), iteration_ended()
        )
        assert answers(state)["Last change"] == (
            "iteration 1: 1 commit, 2 files changed; commit abc1234; "
            "report: IN_PROGRESS, 2 files, tests passing; breaker CLOSED"
        )

    def test_a_failure_of_its_agent_is_named(self) -> None:
        state = state_after(
            run_started(),
            iteration_started(),
            evidence(progress=False, why="nothing changed"),
            iteration_ended(outcome=Outcome.LIMITED, failure=AgentFailure.UNREACHABLE, commit=None),
        )
        assert answers(state)["Last change"] == (
            "iteration 1: API unreachable, not counted; nothing changed; breaker CLOSED"
        )

    def test_a_status_that_is_none_of_ours_is_shown_as_it_was_written(self) -> None:
        said = report(STATUS="CLARIFICATION_NEEDED")
        state = state_after(
            run_started(), iteration_started(), said, evidence(), iteration_ended(commit=None)
        )
        assert (
            'report: "CLARIFICATION_NEEDED", taken for IN_PROGRESS'
            in (answers(state)["Last change"])
        )

    def test_claims_are_marked_as_claims(self) -> None:
        claims = Claims(summary="Fixed rounding", confidence=50)
        state = state_after(
            run_started(), iteration_started(), evidence(), iteration_ended(claims=claims)
        )
        assert answers(state)["Last change"] == (
            "iteration 1: 1 commit, 2 files changed; commit abc1234; "
            'the agent claims: "Fixed rounding", confidence 50; breaker CLOSED'
        )

    def test_what_is_not_there_is_not_reported(self) -> None:
        state = state_after(
            run_started(),
            iteration_started(),
            evidence(why="nothing changed", progress=False),
            iteration_ended(commit=None, breaker=Breaker(state=BreakerState.HALF_OPEN)),
        )
        assert answers(state)["Last change"] == ("iteration 1: nothing changed; breaker HALF_OPEN")

    def test_an_older_report_is_not_taken_for_the_last_one(self) -> None:
        state = state_after(
            run_started(),
            iteration_started(),
            report(),
            evidence(),
            iteration_ended(),
            iteration_started(2),
            evidence(),
            iteration_ended(2),
        )
        assert "report" not in answers(state)["Last change"]


class TestParked:
    QUESTION = Question(question="Which one?", asked_at=NOON)

    @pytest.mark.parametrize(
        ("reason", "changes", "waits", "then"),
        [
            pytest.param(
                "decide",
                {"question": QUESTION},
                "an answer to: Which one?",
                'ralph answer "…"',
                id="decide",
            ),
            pytest.param(
                "blocked",
                {"blocked": Blocker(reason="no key")},
                "the blocker to be resolved: no key",
                "ralph resume, once the blocker is resolved",
                id="blocked",
            ),
            pytest.param(
                "blocked",
                {},
                "a task in the plan that is not blocked",
                "ralph resume, once the blocker is resolved",
                id="plan-blocked",
            ),
            pytest.param(
                "stuck",
                {"breaker": Breaker(state=BreakerState.OPEN, reason="No progress in 3 iterations")},
                "a reset: No progress in 3 iterations",
                "ralph reset",
                id="stuck",
            ),
        ],
    )
    @pytest.mark.parametrize("pid", [PID, None])
    def test_it_says_what_it_waits_for(
        self, reason: str, changes: dict[str, Any], waits: str, then: str, pid: int | None
    ) -> None:
        state = state_after(run_started(), phase(Phase.PARKED, reason)).model_copy(update=changes)
        told = answers(state, pid=pid)
        assert told["Needs you"] == f"yes, it waits for {waits}"
        assert told["Next"] == then
        assert "Stopped" not in told
        assert needs_user(state, Phase.PARKED)
        if pid is None:
            assert told["Running"] == (
                f"no, the system stopped the loop while run {RUN} was parked"
            )
        else:
            assert told["Running"].startswith("no, it waits for you, iteration")


def test_a_paused_run_waits_for_a_resume() -> None:
    state = running(phase=Phase.PAUSED, current=None)
    told = answers(state)
    assert (told["Needs you"], told["Next"]) == ("yes, it is paused", "ralph resume")
    assert told["Running"] == f"no, it is paused, iteration 3 of 15, run {RUN}, pid 4711"
    assert needs_user(state, Phase.PAUSED)


def test_a_crashed_run_can_be_taken_up() -> None:
    state = running()
    told = answers(state, Phase.CRASHED, pid=None)
    assert told == {
        "Running": f"no, the engine of run {RUN} is gone",
        "Doing": "nothing now; 2 of 5 tasks are done",
        "Needs you": "yes, you can resume the run",
        "Stopped": "the engine ended without giving a reason",
        "Next": "ralph run --resume",
    }
    assert needs_user(state, Phase.CRASHED)


class TestEnded:
    @pytest.mark.parametrize(
        ("reason", "code", "needed"),
        [
            (EndReason.COMPLETE, 0, False),
            (EndReason.LIMIT, 1, False),
            (EndReason.BLOCKED, 2, True),
            (EndReason.DECIDE, 3, True),
            (EndReason.STUCK, 4, True),
            (EndReason.FATAL, 5, True),
            (EndReason.STOPPED, 130, False),
        ],
    )
    def test_every_end_says_why_and_what_is_next(
        self, reason: EndReason, code: int, needed: bool
    ) -> None:
        state = ended(reason, code)
        told = answers(state, pid=None)
        message = f"it came to {reason.value}"
        assert told["Running"] == f"no, run {RUN} has ended"
        assert told["Doing"] == "nothing now; 0 of 0 tasks are done"
        assert told["Needs you"] == (f"yes: {message}" if needed else "no")
        assert told["Stopped"] == f"{reason.value} (code {code}): {message}"
        assert ("ralph" in told["Next"]) == (reason is not EndReason.COMPLETE)
        assert needs_user(state, Phase.ENDED) == needed

    def test_who_ended_it_is_named(self) -> None:
        told = answers(ended(EndReason.STOPPED, 130, by="Ctrl-C"))
        assert told["Stopped"] == "stopped (code 130): it came to stopped, by Ctrl-C"

    def test_who_ended_it_is_named_once(self) -> None:
        state = ended(EndReason.STOPPED, 130, by="Ctrl-C")
        assert state.end is not None
        end = state.end.model_copy(update={"message": "stopped by Ctrl-C"})
        told = answers(state.model_copy(update={"end": end}))
        assert told["Stopped"] == "stopped (code 130): stopped by Ctrl-C"

    def test_a_complete_run_leaves_nothing_to_do(self) -> None:
        assert answers(ended(EndReason.COMPLETE, 0))["Next"] == "nothing: the plan is done"

    def test_an_end_is_the_end_whatever_came_before(self) -> None:
        end = End(reason=EndReason.LIMIT, exit_code=1, message="used up", at=NOON)
        assert answers(running(end=end), Phase.ENDED)["Doing"].startswith("nothing now")
