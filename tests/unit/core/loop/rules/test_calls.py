"""Calls a minute: what is counted, and when the next agent may start (docs/rules.md#budgets)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from ralph_ls.core.loop import effects as order
from ralph_ls.core.loop.inputs import AgentFinished, Input, WaitElapsed
from ralph_ls.core.loop.rules.budget import next_agent_start
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import AgentCalls
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    Turn,
    crash,
    finishes,
    progress,
    turn,
)
from tests.unit.core.loop.simulated_run import BEGIN, SimulatedRun, check_step, settings

NOW = BEGIN + timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def made(count: int, *, ago: float, seconds: float = 0.0) -> AgentCalls:
    return AgentCalls(until=NOW - timedelta(seconds=ago), seconds=seconds, count=count)


@pytest.mark.parametrize(
    ("calls", "limit", "seconds"),
    [
        pytest.param([made(9, ago=1)], None, None, id="no limit"),
        pytest.param([], 1, None, id="no calls"),
        pytest.param([made(4, ago=10)], 5, None, id="fewer than may be"),
        pytest.param([made(5, ago=10)], 5, 50, id="as many as may be"),
        pytest.param([made(5, ago=60)], 5, None, id="a minute ago"),
        pytest.param([made(10, ago=0, seconds=100)], 5, 20, id="the fifth from the end"),
        pytest.param([made(10, ago=0, seconds=1000)], 5, None, id="few in a long time"),
        pytest.param([made(2, ago=40), made(3, ago=10)], 4, 20, id="over two iterations"),
        pytest.param([made(2, ago=40), made(3, ago=10)], 3, 50, id="all of the last one's"),
        pytest.param([made(5, ago=10), made(5, ago=-30)], 5, 50, id="a clock that was set back"),
        pytest.param([made(5, ago=-30)], 5, None, id="a clock that was set back far"),
        pytest.param([made(3, ago=0, seconds=1)], 2, 59.667, id="never too early"),
    ],
)
def test_the_next_agent_starts_when_the_minute_before_has_fewer_calls(
    calls: Sequence[AgentCalls], limit: int | None, seconds: float | None
) -> None:
    expected = None if seconds is None else NOW + timedelta(seconds=seconds)
    assert next_agent_start(calls, limit, NOW) == expected


class Punctual(SimulatedRun):
    """A play whose waits last as long as they are meant to."""

    def _answer(self, effect: order.Effect) -> Input | None:
        if isinstance(effect, order.WaitUntil):
            self.now = max(self.now, effect.until)
        return super()._answer(effect)


def paced(*script: Turn, limit: int = 5, **fields: Any) -> Punctual:
    config = settings(max_calls_per_minute=limit, **fields)
    return Punctual(simulated=SimulatedProject(script=list(script)), config=config)


def held() -> SimulatedRun:
    """A run that waits since too many calls were made, and a clock that advances slowly."""
    config = settings(max_calls_per_minute=5)
    return SimulatedRun(
        simulated=SimulatedProject(script=[chatty(5), finishes]), config=config
    ).until(Awaits.TIME)


def chatty(turns: int | None, **fields: Any) -> Turn:
    return turn(files=1, commit=True, usage=Usage(turns=turns, cost_usd=0.1), **fields)


def starts(played: SimulatedRun) -> list[datetime]:
    return [event.at for event in played.events_of("iterationStarted")]


def test_a_run_waits_visibly_until_the_next_call_may_be_made() -> None:
    played = paced(chatty(5), chatty(4), chatty(3), finishes).start()
    assert played.exit_code == 0
    first, second = played.events_of("waitStarted")
    assert (first.reason, second.reason) == ("calls", "calls")
    exits = [event.at for event in played.events_of("agentExited")]
    began, second_began, third_began, _ = starts(played)
    # Five calls evenly over the time from the start to the end: the first of them is the fifth.
    work = (exits[0] - began).total_seconds()
    assert first.until == exits[0] - timedelta(seconds=work * 4 / 5) + MINUTE
    assert first.until <= second_began < first.until + timedelta(seconds=5)
    # After the second iteration four calls are within the minute, so the third may begin at once.
    assert third_began - exits[1] < timedelta(seconds=10)
    assert [event.reason for event in played.events_of("waitEnded")] == ["calls", "calls"]
    phases = [
        (event.phase, event.reason, event.until) for event in played.events_of("phaseChanged")
    ]
    assert (Phase.WAITING, "calls", first.until) in phases


def test_an_agent_that_reports_no_turns_has_made_one_call() -> None:
    played = paced(progress, chatty(None), finishes, limit=2).start()
    assert [event.reason for event in played.events_of("waitStarted")] == ["calls"]
    assert [one.count for one in played.run.calls] == [1]


def test_what_was_called_by_an_agent_that_crashed_counts_too() -> None:
    played = paced(crash, crash, finishes, limit=1).start()
    assert len(played.events_of("waitStarted")) == 1


def test_a_cooldown_comes_first_and_the_calls_are_looked_at_after_it() -> None:
    played = paced(chatty(5), finishes, cooldown=10.0).start()
    assert [event.reason for event in played.events_of("waitStarted")] == ["cooldown", "calls"]


def test_without_a_limit_nothing_is_kept() -> None:
    played = SimulatedRun(
        simulated=SimulatedProject(script=[chatty(9), finishes]), config=settings()
    ).start()
    assert played.run.calls == ()
    assert "waitStarted" not in played.kinds()


def test_calls_older_than_a_minute_are_forgotten() -> None:
    slow = chatty(2, end=AgentFinished(exit_code=0, seconds=1.0))
    played = paced(slow, slow, finishes, cooldown=90.0).start()
    assert "calls" not in [event.reason for event in played.events_of("waitStarted")]
    assert len(played.run.calls) == 1


def test_an_engine_that_takes_up_the_run_continues_waiting() -> None:
    played = held()
    until = played.run.until
    played.take_up()
    assert played.run.phase is Phase.WAITING
    assert (played.run.phase_reason, played.run.until) == ("calls", until)


def test_an_iteration_whose_engine_died_has_called_as_well() -> None:
    played = paced(finishes, limit=1).until(Awaits.EXIT)
    played.resume()
    assert played.events_of("iterationEnded")[0].outcome == "lost"
    assert [event.reason for event in played.events_of("waitStarted")] == ["calls"]


def test_an_iteration_whose_agent_never_started_has_called_nobody() -> None:
    played = paced(finishes, limit=1).until(Awaits.LAUNCH)
    played.resume()
    assert played.events_of("iterationEnded")[0].outcome == "lost"
    assert "waitStarted" not in played.kinds()


def test_a_pause_does_not_shorten_the_wait_and_a_stop_ends_it() -> None:
    played = held()
    until = played.run.until
    played.send("pause")
    assert played.run.phase is Phase.PAUSED
    played.send("resume")
    assert (played.run.phase, played.run.until) == (Phase.WAITING, until)
    played.send("stop")
    assert played.exit_code == 130


def test_a_time_that_comes_too_early_is_waited_for_again() -> None:
    played = held()
    before = played.state
    taken = played.feed(WaitElapsed())
    check_step(before, WaitElapsed(), taken)
    assert played.run.phase is Phase.WAITING
