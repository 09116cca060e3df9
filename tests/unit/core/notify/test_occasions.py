"""Which events are worth a notification, each once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ralph_ls.core.notify.occasions import Notification, occasion_of, question_id, sample_of
from ralph_ls.core.notify.texts import HEADLINES
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.run import events as e
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import Blocker, End, RunState
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Outcome, Phase, TaskRef

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
STAMP: dict[str, Any] = {"seq": 9, "at": AT, "run": "20260131T120000Z-1a2b"}
ITERATION: dict[str, Any] = {**STAMP, "start": 3, "iteration": 2}
TASK = TaskRef(id="7", title="Letters")
OPEN = Breaker(state=BreakerState.OPEN)


def run(**more: Any) -> RunState:
    config = Config.model_validate({"onHalt": more.pop("on_halt", "wait")})
    return RunState(run=STAMP["run"], workspace="/w/invoice", config=config, iteration=2, **more)


def found(event: e.EventBase, after: RunState, before: RunState | None = None) -> Any:
    return occasion_of(event, before or after, after)


def asked(question: str) -> e.QuestionAsked:
    return e.QuestionAsked(**ITERATION, question=question, path="decide.txt", asked_at=AT)


def ended(reason: EndReason, by: str = "") -> e.RunEnded:
    return e.RunEnded(**STAMP, reason=reason, exit_code=1, message="why", by=by)


def end_state(reason: EndReason, **more: Any) -> RunState:
    end = End(reason=reason, exit_code=1, message="why", at=AT)
    return run(end=end, phase=Phase.ENDED, phase_reason=reason.value, **more)


@pytest.mark.parametrize(
    ("on_halt", "command"),
    [
        ("wait", 'ralph answer "…"'),
        ("exit", 'ralph answer "…" && ralph run --resume'),
    ],
)
def test_a_question_with_its_options_and_the_command(on_halt: str, command: str) -> None:
    said = found(asked("Which?\n1. SQLite\n2. Postgres"), run(on_halt=on_halt))
    assert (said.event, said.options) == (NotifyEvent.QUESTION, ("SQLite", "Postgres"))
    assert (said.command, said.iteration) == (command, 2)


@pytest.mark.parametrize(
    ("event", "kind", "text", "command"),
    [
        (
            e.BlockedRaised(**ITERATION, reason="no key", path="b.txt"),
            NotifyEvent.BLOCKER,
            "no key",
            "ralph resume",
        ),
        (
            e.CircuitBreakerStateChange(
                **ITERATION,
                from_state=BreakerState.CLOSED,
                to_state=BreakerState.OPEN,
                reason="stuck",
                breaker=OPEN,
            ),
            NotifyEvent.BREAKER,
            "stuck",
            "ralph reset",
        ),
        (
            e.TaskSetAside(**ITERATION, task=TASK, reason="3 attempts"),
            NotifyEvent.SET_ASIDE,
            "3 attempts",
            "",
        ),
        (
            e.WaitStarted(**STAMP, reason="limit", until=datetime(2026, 1, 31, 14, 5, tzinfo=UTC)),
            NotifyEvent.USAGE_LIMIT,
            "The agent's usage limit resets at 2026-01-31 14:05 UTC",
            "",
        ),
        (
            e.WaitEnded(**STAMP, reason="limit"),
            NotifyEvent.USAGE_LIMIT,
            "The wait for the agent's usage limit is over; the run continues",
            "",
        ),
        (
            e.Warned(**STAMP, code="verify-not-allowed", message="not approved"),
            NotifyEvent.APPROVAL,
            "not approved",
            "ralph allow",
        ),
    ],
)
def test_events_and_their_commands(
    event: e.EventBase, kind: NotifyEvent, text: str, command: str
) -> None:
    said = found(event, run())
    assert (said.event, said.text, said.command) == (kind, text, command)


def test_a_task_that_is_set_aside_is_the_one_named() -> None:
    said = found(e.TaskSetAside(**ITERATION, task=TASK, reason="no"), run())
    assert said.task == TASK


@pytest.mark.parametrize(
    "event",
    [
        e.WaitStarted(**STAMP, reason="cooldown", until=AT),
        e.Warned(**STAMP, code="main-branch", message="x"),
        e.PhaseChanged(**STAMP, phase=Phase.PREPARING),
        e.NoteAdded(**STAMP, text="x", by="me"),
        e.CircuitBreakerStateChange(
            **ITERATION,
            from_state=BreakerState.CLOSED,
            to_state=BreakerState.HALF_OPEN,
            reason="",
            breaker=Breaker(),
        ),
    ],
)
def test_other_events_are_none(event: e.EventBase) -> None:
    assert found(event, run()) is None


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ({"phase_reason": "review"}, NotifyEvent.REVIEW_POINT),
        ({"phase_reason": "stuck"}, NotifyEvent.BREAKER),
        ({"phase_reason": "stuck", "breaker": OPEN}, None),
        ({"phase_reason": "blocked"}, NotifyEvent.BLOCKER),
        ({"phase_reason": "blocked", "blocked": Blocker(reason="no key")}, None),
        ({"phase_reason": "decide"}, None),
    ],
)
def test_a_parked_run_is_reported_where_nothing_else_named_it(
    state: dict[str, Any], kind: NotifyEvent | None
) -> None:
    parked = e.PhaseChanged(**STAMP, phase=Phase.PARKED, reason=state["phase_reason"])
    said = found(parked, run(phase=Phase.PARKED, **state))
    assert (said and said.event) == kind


@pytest.mark.parametrize(
    ("reason", "by", "more", "kind"),
    [
        (EndReason.COMPLETE, "", {}, NotifyEvent.COMPLETE),
        (EndReason.LIMIT, "", {}, NotifyEvent.LIMIT),
        (EndReason.FATAL, "", {}, NotifyEvent.FATAL),
        (EndReason.STUCK, "", {}, NotifyEvent.BREAKER),
        (EndReason.STUCK, "", {"breaker": OPEN}, None),
        (EndReason.BLOCKED, "", {}, NotifyEvent.BLOCKER),
        (EndReason.BLOCKED, "", {"blocked": Blocker(reason="no key")}, None),
        (EndReason.DECIDE, "", {}, None),
        (EndReason.STOPPED, "ralph stop", {}, None),
        (EndReason.STOPPED, "a review point", {}, NotifyEvent.REVIEW_POINT),
        (EndReason.STUCK, "ralph stop", {}, None),
    ],
)
def test_ends(reason: EndReason, by: str, more: dict[str, Any], kind: NotifyEvent | None) -> None:
    said = found(ended(reason, by), end_state(reason, **more))
    assert (said and said.event) == kind


def test_an_end_names_the_next_step() -> None:
    limit = found(ended(EndReason.LIMIT), end_state(EndReason.LIMIT))
    stuck = found(ended(EndReason.STUCK), end_state(EndReason.STUCK))
    assert limit.command.startswith("ralph run --resume --max-iterations")
    assert limit.advice.startswith("raise the limit")
    assert stuck.command.startswith("ralph ")
    done = found(ended(EndReason.COMPLETE), end_state(EndReason.COMPLETE))
    assert (done.command, done.advice) == ("", "")
    fatal = end_state(EndReason.FATAL).model_copy(update={"active_seconds": 0.0})
    assert found(ended(EndReason.FATAL), fatal).advice


@pytest.mark.parametrize(
    ("step", "before", "after", "is_told"),
    [
        (5.0, 4.9, 5.0, True),
        (5.0, 5.0, 9.9, False),
        (5.0, None, 11.0, True),
        (5.0, None, None, False),
        (None, 0.0, 90.0, False),
    ],
)
def test_each_step_of_the_cost_once(
    step: float | None, before: float | None, after: float | None, is_told: bool
) -> None:
    config = Config.model_validate({"notify": {"costUsd": step}})

    def with_cost(cost: float | None) -> RunState:
        usage = None if cost is None else Usage(cost_usd=cost)
        return run().model_copy(update={"config": config, "usage": usage})

    event = e.IterationEnded(**ITERATION, outcome=Outcome.PROGRESS, seconds=1.0, breaker=Breaker())
    said = found(event, with_cost(after), with_cost(before))
    assert (said is not None) == is_told
    assert said is None or (said.event, said.cost_usd) == (NotifyEvent.COST, after)


def test_a_question_is_named_by_its_run_and_start() -> None:
    assert question_id("20260131T120000Z-1a2b", 3) == "1a2b-3"
    assert question_id("20260131T120000Z-1a2b", None) == "1a2b-0"


@pytest.mark.parametrize("event", NotifyEvent)
def test_every_event_has_a_sample_and_a_headline(event: NotifyEvent) -> None:
    sample: Notification = sample_of(event)
    assert sample.event is event
    assert HEADLINES[event]
