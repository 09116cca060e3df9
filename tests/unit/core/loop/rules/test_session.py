"""When an iteration continues the session of the one before it (docs/rules.md#sessions)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.rules.agent_choice import Worker, session_after_iteration, session_to_resume
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import AgentStarted, IterationEnded
from ralph_ls.protocol.run.report import SessionSeen
from ralph_ls.protocol.run.state import RunState, Session
from ralph_ls.protocol.run.values import Breaker, BreakerState, Mode, Outcome, TaskRef

BEGIN = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = BEGIN + timedelta(hours=1)
A = TaskRef(id="a", title="Do a")
B = TaskRef(id="b", title="Do b")
ON: dict[str, Any] = {"resume": True}


def session(**fields: Any) -> Session:
    known = {"id": "s1", "created_at": BEGIN, "last_used_at": BEGIN, "task": "a", **fields}
    return Session(**known)


def run(
    known: Session | None, *, state: BreakerState = BreakerState.CLOSED, **settings: Any
) -> RunState:
    config = Config.model_validate({"session": settings})
    return RunState(config=config, session=known, breaker=Breaker(state=state))


def ended(seen: str | None = "s1", outcome: Outcome = Outcome.PROGRESS, **fields: Any) -> Any:
    is_open = fields.pop("is_open", False)
    breaker = Breaker(state=BreakerState.OPEN if is_open else BreakerState.CLOSED)
    return IterationEnded(
        seq=1,
        at=LATER,
        run="r",
        iteration=1,
        outcome=outcome,
        seconds=1,
        breaker=breaker,
        session=None if seen is None else SessionSeen(id=seen, cost_usd=0.5),
        **fields,
    )


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(run(session(), **ON), "s1", id="on"),
        pytest.param(run(session()), None, id="off by default"),
        pytest.param(run(None, **ON), None, id="none reported"),
        pytest.param(run(session(task="b"), **ON), None, id="another task"),
        pytest.param(run(session(task=None), **ON), None, id="it had no task"),
        pytest.param(run(session(mode=Mode.PLAN), **ON), None, id="another mode"),
        pytest.param(run(session(), state=BreakerState.OPEN, **ON), None, id="OPEN"),
        pytest.param(run(session(), state=BreakerState.HALF_OPEN, **ON), "s1", id="HALF_OPEN"),
        pytest.param(run(session(), max_age="61m", **ON), "s1", id="young enough"),
        pytest.param(run(session(), max_age="1h", **ON), None, id="too old"),
        pytest.param(run(session(last_used_at=LATER), max_age="1h", **ON), None, id="age of use"),
        pytest.param(
            run(session(created_at=LATER + timedelta(days=2)), **ON), "s1", id="clock set back"
        ),
    ],
)
def test_the_session_that_is_gone_on_in(state: RunState, expected: str | None) -> None:
    known = session_to_resume(state, task=A, mode=Mode.BUILD, now=LATER)
    assert (known.id if known is not None else None) == expected


def test_iterations_without_a_task_continue_as_well() -> None:
    state = run(session(task=None), **ON)
    assert session_to_resume(state, task=None, mode=Mode.BUILD, now=LATER) == state.session


FRESH = session(cost_usd=0.5, created_at=LATER, last_used_at=LATER)
GONE_ON = session(cost_usd=0.5, last_used_at=LATER)


@pytest.mark.parametrize(
    ("known", "event", "expected"),
    [
        pytest.param(None, ended(), FRESH, id="a fresh one"),
        pytest.param(session(), ended(), GONE_ON, id="the same one keeps its age"),
        pytest.param(session(id="s0"), ended(), FRESH, id="a new id is a new session"),
        pytest.param(session(), ended(outcome=Outcome.NO_PROGRESS), GONE_ON, id="no progress"),
        pytest.param(session(), ended(None), None, id="the agent told none"),
        pytest.param(session(), ended(""), None, id="an empty id"),
        pytest.param(session(), ended(is_open=True), None, id="OPEN"),
        pytest.param(session(), ended(outcome=Outcome.LOST), None, id="lost"),
        pytest.param(session(), ended(outcome=Outcome.STOPPED), None, id="stopped"),
        pytest.param(session(), ended(crashes=1), None, id="the agent failed"),
        pytest.param(session(), ended(outcome=Outcome.LIMITED), GONE_ON, id="limited"),
        pytest.param(
            session(),
            ended(outcome=Outcome.LIMITED, crashes=1),
            GONE_ON,
            id="limited after a crash",
        ),
        pytest.param(
            session(), ended(None, Outcome.LIMITED), session(), id="limited before it began"
        ),
        pytest.param(session(), ended("", Outcome.LIMITED), session(), id="limited, an empty id"),
        pytest.param(None, ended(None, Outcome.LIMITED), None, id="limited at once"),
        pytest.param(
            session(), ended(outcome=Outcome.LIMITED, is_open=True), None, id="limited, OPEN"
        ),
    ],
)
def test_what_is_known_of_the_session(
    known: Session | None, event: IterationEnded, expected: Session | None
) -> None:
    assert session_after_iteration(known, event, task=A, now=LATER) == expected


def test_a_session_belongs_to_the_task_and_mode_it_was_last_used_for() -> None:
    known = session_after_iteration(session(), ended(mode=Mode.PLAN), task=B, now=LATER)
    assert known is not None
    assert (known.task, known.mode) == ("b", Mode.PLAN)
    bare = session_after_iteration(None, ended(), task=None, now=LATER)
    assert bare is not None
    assert bare.task is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["s1", "s2", "", None]),
            st.sampled_from(list(Outcome)),
            st.booleans(),
            st.sampled_from([A, B, None]),
            st.integers(0, 50),
        ),
        max_size=10,
    )
)
def test_only_what_the_agent_reported_on_this_work_is_gone_on_in(
    turns: list[tuple[str | None, Outcome, bool, TaskRef | None, int]],
) -> None:
    known, now = None, BEGIN
    reported: dict[str, datetime] = {}
    for seen, outcome, is_open, task, hours in turns:
        now += timedelta(hours=hours)
        state = run(known, **ON)
        resumed = session_to_resume(state, task=task, mode=Mode.BUILD, now=now)
        if resumed is not None:
            assert now - reported[resumed.id] < timedelta(days=1)
            assert resumed.task == (None if task is None else task.id)
        event = ended(seen, outcome, is_open=is_open)
        known = session_after_iteration(known, event, task=task, now=now)
        if seen:
            is_known = known is not None and known.created_at < now
            reported[seen] = reported.get(seen, now) if is_known else now
        assert not (known is not None and (is_open or outcome in {Outcome.LOST, Outcome.STOPPED}))


@pytest.mark.parametrize(
    ("known", "worker", "is_resumed"),
    [
        pytest.param({}, Worker(), True, id="of an older run"),
        pytest.param({"agent": "claude"}, Worker(), True, id="the run's own"),
        pytest.param({"agent": "codex"}, Worker(), False, id="another agent's"),
        pytest.param({"agent": "codex"}, Worker(agent="codex"), True, id="the same other agent"),
        pytest.param({"agent": "claude"}, Worker(model="small"), False, id="another model"),
        pytest.param(
            {"agent": "claude", "model": "small"}, Worker(model="small"), True, id="same model"
        ),
        pytest.param({"agent": "codex", "model": "m"}, Worker(agent="codex"), False, id="without"),
        pytest.param(
            {"agent": "qwen", "model": "q"}, Worker(agent="qwen"), True, id="of its settings"
        ),
    ],
)
def test_a_session_is_gone_on_in_by_who_made_it(
    known: dict[str, Any], worker: Worker, is_resumed: bool
) -> None:
    settings = {"session": ON, "agents": {"qwen": {"model": "q"}}}
    state = RunState(config=Config.model_validate(settings), session=session(**known))
    found = session_to_resume(state, task=A, mode=Mode.BUILD, now=LATER, worker=worker)
    assert (found is not None) is is_resumed


def test_a_session_belongs_to_the_agent_that_reported_it() -> None:
    started = AgentStarted(
        seq=1,
        at=BEGIN,
        run="r",
        iteration=1,
        agent="codex",
        argv=("codex",),
        pid=1,
        model="m",
        process_start_time=0.0,
    )
    known = session_after_iteration(None, ended(), task=A, now=LATER, agent=started)
    assert known is not None
    assert (known.agent, known.model) == ("codex", "m")
