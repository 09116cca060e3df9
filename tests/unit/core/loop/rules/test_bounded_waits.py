"""Bounded waits: the longest one, the user who ends one, and the hours in which a run may work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.inputs import Started
from ralph_ls.core.loop.rules.waits import end_of_hours, is_ended_by_clock
from ralph_ls.core.loop.state import Awaits
from ralph_ls.core.views.text.run_end import next_step
from ralph_ls.protocol.config.tables import RunConfig
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    Turn,
    finishes,
    no_progress,
    progress,
    turn,
)
from tests.unit.core.loop.simulated_run import (
    BEGIN,
    RUN,
    SimulatedRun,
    check_loop,
    facts,
    settings,
)

limited = turn(
    fields=None, limit=AccountLimit(resets_at=BEGIN + timedelta(hours=3)), failure="at its limit"
)
unknown = turn(fields=None, limit=AccountLimit(), failure="at its limit")
overloaded = turn(fields=None, failure="529", failure_kind=AgentFailure.OVERLOADED, silent=True)


def hours(*script: Turn, ends_at: datetime, **fields: Any) -> SimulatedRun:
    """A run whose allowed hours end then."""
    simulated = SimulatedProject(script=list(script))
    config = settings(run={"until": f"{ends_at:%H:%M}"}, **fields)
    played = SimulatedRun(simulated=simulated, config=config)
    return played.go_on(Started(run=RUN, facts=facts(simulated, config, ends_at=ends_at)))


class TestTheLongestWait:
    def test_ends_the_run_instead_of_a_longer_one(self) -> None:
        played = check_loop([limited, finishes], ends=("limit", 1), max_wait="2h")
        assert played.run.end is not None
        assert played.run.end.message == (
            "waiting for the usage limit takes 2h59m55s; at most 2h are allowed (max_wait)"
        )
        assert "waitStarted" not in played.kinds()
        assert is_ended_by_clock(played.run)
        assert next_step(played.run) == "ralph run --resume"

    def test_is_a_day_if_nothing_is_set(self) -> None:
        late = turn(
            fields=None,
            limit=AccountLimit(resets_at=BEGIN + timedelta(days=2)),
            failure="at its limit",
        )
        check_loop([late, finishes], ends=("limit", 1), message="at most 24h are allowed")
        check_loop([late, finishes], ends=("complete", 0), max_wait=0)

    def test_bounds_waits_in_a_row_together(self) -> None:
        """In a simulation each wait takes one second."""
        played = check_loop(
            [unknown] * 9, ends=("limit", 1), limit_wait=10, max_wait=11.5, message="more after"
        )
        assert played.run.waited_seconds == 2.0
        assert len(played.events_of("waitEnded")) == 2

    def test_counts_again_after_an_iteration_with_a_result(self) -> None:
        script = [unknown, no_progress, unknown, progress, unknown, finishes]
        check_loop(script, ends=("complete", 0), limit_wait=10, max_wait=10.5)

    def test_bounds_waits_for_an_overloaded_model(self) -> None:
        check_loop(
            [overloaded] * 9,
            ends=("limit", 1),
            max_wait=30,
            message="waiting for the overloaded model takes 40s more after 2s",
        )

    def test_leaves_other_waits_alone(self) -> None:
        check_loop([progress, finishes], ends=("complete", 0), cooldown=60, max_wait=1)


class TestAUserWhoContinues:
    def test_ends_the_wait(self) -> None:
        played = SimulatedRun(
            simulated=SimulatedProject(script=[limited, finishes]), config=settings()
        ).until(Awaits.TIME)
        played.send("resume")
        assert played.run.phase is Phase.PREPARING
        accepted, ended = played.events_of("commandAccepted")[0], played.events_of("waitEnded")[0]
        assert accepted.text == "the run continues without waiting any longer for the usage limit"
        assert (ended.reason, ended.seq) == ("limit", accepted.seq + 1)
        played.go_on()
        assert played.exit_code == 0
        assert "the run is waiting for the tree and the plan to be read" in played.ignored

    def test_does_not_pass_the_limit_of_calls(self) -> None:
        played = SimulatedRun(
            simulated=SimulatedProject(script=[progress, finishes]),
            config=settings(max_calls_per_minute=1),
        ).until(Awaits.TIME)
        played.send("resume")
        assert (played.run.phase, played.run.phase_reason) == (Phase.WAITING, "calls")
        assert played.events_of("commandRejected")[0].code == "not-paused"


class TestAllowedHours:
    def test_end_before_the_next_iteration(self) -> None:
        ends_at = BEGIN + timedelta(seconds=4)
        played = hours(progress, progress, ends_at=ends_at)
        assert played.run.end is not None
        assert played.run.end.message == ("it is 12:00, so no other iteration begins (run.until)")
        assert (played.exit_code, played.run.start) == (1, 1)

    def test_that_are_over_at_the_start_begin_nothing(self) -> None:
        played = hours(progress, ends_at=BEGIN)
        assert (played.exit_code, played.run.start) == (1, 0)
        assert is_ended_by_clock(played.run)

    def test_do_not_undo_what_the_last_iteration_completed(self) -> None:
        assert hours(finishes, ends_at=BEGIN + timedelta(seconds=4)).exit_code == 0

    def test_end_a_wait_that_would_pass_them_before_it_begins(self) -> None:
        played = hours(limited, finishes, ends_at=BEGIN + timedelta(hours=2))
        assert played.run.end is not None
        assert played.run.end.message == (
            "waiting for the usage limit takes 2h59m55s, past 14:00 (run.until)"
        )
        assert "waitStarted" not in played.kinds()

    def test_end_a_run_that_wakes_after_them(self) -> None:
        ends_at = BEGIN + timedelta(hours=4)
        simulated = SimulatedProject(script=[limited, finishes])
        config = settings(run={"until": "16:00"})
        played = SimulatedRun(simulated=simulated, config=config)
        played.queue.append(Started(run=RUN, facts=facts(simulated, config, ends_at=ends_at)))
        while played.state.awaits is not Awaits.TIME:
            given = played.queue.popleft()
            played.feed(given() if callable(given) else given)
        played.now = ends_at + timedelta(hours=1)
        played.go_on()
        assert played.exit_code == 1
        assert played.run.start == 1


EAST = timezone(timedelta(hours=3))


@pytest.mark.parametrize(
    ("until", "now", "expected"),
    [
        ("", datetime(2026, 1, 31, 12, tzinfo=UTC), None),
        ("13:30", datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 1, 31, 13, 30, tzinfo=UTC)),
        ("7:00", datetime(2026, 1, 31, 22, tzinfo=EAST), datetime(2026, 2, 1, 7, tzinfo=EAST)),
        ("12:00", datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 2, 1, 12, tzinfo=UTC)),
    ],
)
def test_hours_end_the_next_time_that_the_clock_shows_it(
    until: str, now: datetime, expected: datetime | None
) -> None:
    assert end_of_hours(until, now) == expected


@pytest.mark.parametrize("text", ["25:00", "7", "noon", "07:60"])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match='is not a time of day; write such as "07:00"'):
        RunConfig(until=text)
