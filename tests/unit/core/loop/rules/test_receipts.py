"""Receipts: which iteration belongs to which task, and what is added up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import IterationRead, PlanFacts
from ralph_ls.core.loop.rules.commits import commit_message
from ralph_ls.core.loop.rules.receipts import receipt_fields
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    Event,
    IterationEnded,
    RolledBack,
    Validated,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState, TaskReceipt
from ralph_ls.protocol.run.values import Evidence, Outcome, TaskRef
from tests.unit.core.views.run_states import (
    COMMIT,
    event,
    evidence,
    iteration_ended,
    iteration_started,
    run_started,
    state_after,
)

ALPHA, BETA = TaskRef(id="a", title="Write alpha"), TaskRef(id="b", title="Write beta")
USAGE = Usage(input_tokens=1000, output_tokens=200, cost_usd=0.1)


def iteration(
    number: int,
    *between: Event,
    task: TaskRef | None = ALPHA,
    done: tuple[str, ...] = (),
    **end: Any,
) -> Iterator[Event]:
    """An iteration of 152 seconds in which an agent worked for 100."""
    yield iteration_started(number, task=task)
    yield agent_started(number)
    yield agent_exited(number)
    yield evidence(tasks_done=done, titles={"b": BETA.title}).model_copy(
        update={"iteration": number, "start": number}
    )
    yield from between
    yield iteration_ended(number, **{"usage": USAGE, **end})


def agent_started(number: int, attempt: int = 1) -> AgentStarted:
    return event(
        AgentStarted,
        iteration=number,
        attempt=attempt,
        agent="claude",
        argv=("claude",),
        pid=7,
        process_start_time=0.0,
    )


def agent_exited(number: int, seconds: float = 100.0) -> AgentExited:
    return event(AgentExited, iteration=number, seconds=seconds)


def receipts(*iterations: Iterator[Event]) -> dict[str, TaskReceipt]:
    events = [one for each in iterations for one in each]
    return state_after(run_started(), *events).receipts


def test_a_receipt_adds_up_the_iterations_of_its_task() -> None:
    failed = event(Validated, iteration=1, ok=False)
    good = event(Validated, iteration=2, ok=True)
    found = receipts(
        iteration(1, failed, outcome=Outcome.NO_PROGRESS), iteration(2, good, done=("a",))
    )
    assert found == {
        "a": TaskReceipt(
            task=ALPHA,
            done=True,
            iteration=2,
            start=2,
            commit=COMMIT,
            attempts=2,
            iterations=2,
            seconds=304.0,
            agent_seconds=200.0,
            tokens=2400,
            cost_usd=0.2,
            validations=2,
            failed_validations=1,
        )
    }


def test_an_agent_that_is_started_once_more_is_a_retry_and_its_time_counts() -> None:
    again = (agent_started(1, attempt=2), agent_exited(1, seconds=5.0))
    (found,) = receipts(iteration(1, *again, done=("a",))).values()
    assert (found.retries, found.agent_seconds, found.iterations) == (1, 105.0, 1)


def test_a_start_that_does_not_count_is_an_attempt_and_no_iteration() -> None:
    limited = iteration(1, outcome=Outcome.LIMITED, usage=None)
    (found,) = receipts(limited, iteration(2, done=("a",))).values()
    assert (found.attempts, found.iterations, found.tokens) == (2, 1, 1200)


def test_a_task_that_was_finished_together_with_another_refers_to_it() -> None:
    found = receipts(iteration(1, done=("a", "b")))
    assert found["b"] == TaskReceipt(
        task=BETA, done=True, iteration=1, start=1, commit=COMMIT, within=ALPHA
    )
    assert found["a"].iterations == 1


def test_an_iteration_that_finished_another_task_alone_belongs_to_that_one() -> None:
    found = receipts(iteration(1, done=("b",)), iteration(2, done=("a",)))
    assert (found["b"].iterations, found["b"].attempts, found["b"].within) == (1, 0, None)
    assert (found["a"].iterations, found["a"].attempts) == (1, 2)
    assert sum(one.cost_usd or 0 for one in found.values()) == pytest.approx(0.2)


def test_an_iteration_for_no_task_has_no_receipt_unless_it_finishes_one() -> None:
    assert receipts(iteration(1, task=None)) == {}
    (found,) = receipts(iteration(1, task=None, done=("x",))).values()
    assert (found.task, found.done) == (TaskRef(id="x", title="x"), True)


def test_a_task_that_is_worked_on_again_is_not_done() -> None:
    (found,) = receipts(iteration(1, done=("a",)), iteration(2)).values()
    assert (found.done, found.commit, found.iterations) == (False, None, 2)


def test_an_iteration_that_was_rolled_back_finished_nothing() -> None:
    undone = event(RolledBack, iteration=1, ok=True)
    (found,) = receipts(iteration(1, undone, done=("a",))).values()
    assert (found.done, found.iterations) == (False, 1)


def test_an_end_without_a_start_and_an_iteration_without_an_agent_are_understood() -> None:
    assert receipts(iter([iteration_ended(1)])) == {}
    (found,) = receipts(iter([iteration_started(1, task=ALPHA), iteration_ended(1)])).values()
    assert (found.done, found.retries, found.agent_seconds) == (False, 0, 0.0)


class TestTheTrailerOfACommit:
    def test_is_off_unless_it_is_asked_for(self) -> None:
        assert "Ralph-Receipt" not in self.message(on=False, done=("a",))

    def test_has_what_the_task_took_when_the_iteration_finishes_it(self) -> None:
        assert self.message(done=("a",)).endswith(
            "Ralph-Receipt: iterations=2 attempts=2 retries=0 agent-seconds=200 tokens=2400 "
            "cost-usd=0.2 validations=1\n"
        )

    @pytest.mark.parametrize("done", [(), ("x",)], ids=["nothing", "another"])
    def test_is_about_the_task_that_was_finished(self, done: tuple[str, ...]) -> None:
        said = self.message(done=done)
        assert ("iterations=1 attempts=0" in said) is bool(done)

    def test_has_no_number_that_is_not_known(self) -> None:
        receipt = TaskReceipt(task=ALPHA)
        assert receipt_fields(receipt) == (
            "iterations=0 attempts=0 retries=0 agent-seconds=0 validations=0"
        )
        about = receipt.model_copy(update={"cost_usd": 0.0, "estimated": True})
        assert "cost-usd=0 cost-estimated=true" in receipt_fields(about)

    @staticmethod
    def message(*, done: tuple[str, ...], on: bool = True) -> str:
        """What the loop commits in the second iteration."""
        second = list(iteration(2, event(Validated, iteration=2, ok=True), done=done))
        known = [run_started(commit_receipt=on), *iteration(1), *second[:-1]]
        state: RunState = state_after(*known)
        assert state.current is not None
        assert isinstance(second[-1], IterationEnded)
        given = IterationRead(usage=USAGE, plan=PlanFacts())
        return commit_message(state, state.current, given, state.evidence or Evidence())


def test_the_trailer_says_what_the_receipt_says_once_the_iteration_is_over() -> None:
    events = [run_started(), *iteration(1, done=("a",))]
    before, after = state_after(*events[:-1]), state_after(*events)
    assert before.current is not None
    assert before.evidence is not None
    config = Config(commit_receipt=True)
    said = commit_message(
        before.model_copy(update={"config": config}),
        before.current,
        IterationRead(usage=USAGE),
        before.evidence,
    )
    assert receipt_fields(after.receipts["a"]) in said
