"""Failed agents in whole runs: what is waited for, what needs the user, and replacements."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.effects import LaunchAgent
from ralph_ls.core.loop.inputs import AgentFinished, AnnouncementDone
from ralph_ls.core.loop.rules.failure_policy import retry_wait, substitute_agent, unavailable_agents
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.iteration_events import AgentOut
from ralph_ls.protocol.run.report import AgentFailure, SessionSeen
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    Turn,
    finishes,
    no_progress,
    progress,
    turn,
)
from tests.unit.core.loop.simulated_run import BEGIN, SimulatedRun, check_loop, play, settings

RETRY = {"tries": 3, "first": 10, "longest": 25}
HOUR = timedelta(hours=1)


def fails(kind: AgentFailure, why: str = "", **fields: Any) -> Turn:
    end = AgentFinished(exit_code=1, seconds=0.1)
    return turn(fields=None, failure=why, failure_kind=kind, end=end, **fields)


overloaded = fails(AgentFailure.OVERLOADED, "API Error: 529")
logged_out = fails(AgentFailure.NOT_LOGGED_IN, "Please run /login", remedy="log in with: x login")
crashed = fails(AgentFailure.CRASHED)


def at_limit(hours: float) -> Turn:
    limit = AccountLimit(resets_at=BEGIN + hours * HOUR)
    return fails(AgentFailure.LIMIT, "429", limit=limit)


def agents(played: SimulatedRun) -> list[str | None]:
    return [effect.agent for effect in played.effects if isinstance(effect, LaunchAgent)]


class TestAnOverloadedModel:
    def test_is_waited_for_longer_each_time_and_counts_for_nothing(self) -> None:
        played = check_loop(
            [overloaded] * 3 + [finishes],
            ends=("complete", 0),
            outcomes=["limited"] * 3 + ["progress"],
            warned=["agent-overloaded"] * 3,
            max_iterations=1,
            max_stuck=1,
            retry=RETRY,
        )
        waits = played.events_of("waitStarted")
        assert [wait.reason for wait in waits] == ["retry"] * 3
        assert [(wait.until - wait.at).total_seconds() for wait in waits] == [10, 20, 25]
        assert [event.failure for event in played.events_of("iterationEnded")][:2] == [
            "overloaded"
        ] * 2
        assert played.events_of("warned")[1].message.endswith("; waiting to try again (2 of 3)")
        assert agents(played) == [None] * 4, "it is not started twice in one iteration"
        assert played.run.overloads == 0

    def test_that_stays_so_is_a_crash_and_three_of_them_are_fatal(self) -> None:
        played = check_loop(
            [overloaded] * 9,
            ends=("fatal", 5),
            message="failed in 3 iterations in a row",
            outcomes=["limited"] * 3 + ["noProgress"] * 3,
            retry=RETRY,
        )
        assert len(played.events_of("waitStarted")) == 3

    def test_is_no_wait_at_all_where_none_is_wanted(self) -> None:
        check_loop([overloaded] * 9, ends=("fatal", 5), iterations=3, retry={"tries": 0})

    def test_that_was_not_overloaded_in_between_is_waited_for_again(self) -> None:
        played = check_loop(
            [overloaded] * 3 + [progress] + [overloaded] * 3 + [finishes],
            ends=("complete", 0),
            retry=RETRY,
        )
        assert len(played.events_of("waitStarted")) == 6

    def test_leaves_the_work_that_was_done_before(self) -> None:
        worked = fails(AgentFailure.OVERLOADED, files=1, commit=True)
        played = check_loop(
            [worked, finishes], ends=("complete", 0), outcomes=["progress", "progress"]
        )
        assert played.events_of("iterationEnded")[0].failure == "overloaded"
        assert not played.events_of("waitStarted")

    def test_can_be_stopped_and_paused_while_it_is_waited_for(self) -> None:
        for kind, phase in (("stop", Phase.ENDED), ("pause", Phase.PAUSED)):
            played = SimulatedRun(
                simulated=SimulatedProject(script=[overloaded]), config=settings(retry=RETRY)
            )
            played.until(Awaits.TIME).send(kind)
            assert played.run.phase is phase

    def test_that_the_user_wants_paused_is_paused_instead(self) -> None:
        def pauses(played: SimulatedRun) -> None:
            if played.run.phase is Phase.RUNNING:
                played.send("pause")

        played = play(overloaded, person=pauses, retry=RETRY)
        assert played.run.phase is Phase.PAUSED
        assert not played.events_of("waitStarted")

    @pytest.mark.parametrize(
        ("first", "longest", "retry", "seconds"),
        [(10, 300, 1, 10), (10, 300, 5, 160), (10, 300, 6, 300), (10, 300, 999, 300), (9, 5, 3, 9)],
    )
    def test_has_waits_that_double_up_to_the_longest(
        self, first: float, longest: float, retry: int, seconds: float
    ) -> None:
        config = Config.model_validate({"retry": {"first": first, "longest": longest}})
        assert retry_wait(config, retry).total_seconds() == seconds


class TestWhatNeedsTheUser:
    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            (AgentFailure.NOT_LOGGED_IN, "is not logged in"),
            (AgentFailure.REFUSED_AS_ROOT, "refuses to run as root"),
            (AgentFailure.WRONG_CALL, "rejected a flag"),
        ],
    )
    def test_ends_the_run_at_once_with_what_to_do(self, kind: AgentFailure, words: str) -> None:
        failed = fails(kind, "so it says", remedy="do this")
        played = check_loop(
            [failed], ends=("fatal", 5), iterations=1, outcomes=["noProgress"], message=words
        )
        assert played.run.end is not None
        assert played.run.end.message.endswith(
            ": so it says; do this; then continue with: ralph run --resume"
        )
        assert agents(played) == [None]

    def test_may_have_no_words(self) -> None:
        played = check_loop([fails(AgentFailure.WRONG_CALL)], ends=("fatal", 5))
        assert played.run.end is not None
        assert "then continue with" in played.run.end.message

    def test_lets_the_work_count_that_was_done_before(self) -> None:
        worked = fails(AgentFailure.NOT_LOGGED_IN, files=1, commit=True)
        check_loop([worked, finishes], ends=("complete", 0), outcomes=["progress", "progress"])


class TestALimitOfTheAgentsOwn:
    @pytest.mark.parametrize(
        ("kind", "code"),
        [
            (AgentFailure.CONTEXT_FULL, "agent-context-full"),
            (AgentFailure.MAX_TURNS, "agent-max-turns"),
            (AgentFailure.BUDGET, "agent-budget"),
        ],
    )
    def test_is_reported_and_is_no_crash(self, kind: AgentFailure, code: str) -> None:
        seen = SessionSeen(id="s-1")
        played = check_loop(
            [fails(kind, "it says", session=seen), fails(kind, session=seen), finishes],
            ends=("complete", 0),
            outcomes=["noProgress", "noProgress", "progress"],
            session_resume=True,
            agent="command",
        )
        assert played.warnings()[0] == code
        assert ": it says; " in played.events_of("warned")[0].message
        first, *_ = played.events_of("iterationEnded")
        assert (first.crashes, first.failure) == (0, kind)
        launched = [one.session for one in played.effects if isinstance(one, LaunchAgent)]
        is_full = kind is AgentFailure.CONTEXT_FULL
        assert launched[:2] == [None, None if is_full else "s-1"]

    def test_confirms_nothing(self) -> None:
        simulated = SimulatedProject(script=[fails(AgentFailure.MAX_TURNS), no_progress], tasks={})
        simulated.tasks.clear()
        played = play(simulated=simulated)
        assert played.events_of("iterationEnded")[0].verdict is None


class TestAFallback:
    settings: dict[str, Any] = {"agent": "command", "fallback": ["other", "third"]}  # noqa: RUF012

    def test_takes_over_at_once_from_one_that_is_not_logged_in(self) -> None:
        played = check_loop(
            [logged_out, progress, finishes],
            ends=("complete", 0),
            outcomes=["limited", "progress", "progress"],
            warned=["agent-fallback"],
            max_iterations=2,
            **self.settings,
        )
        assert agents(played) == [None, "other", "other"]
        (told,) = played.events_of("warned")
        assert told.message == (
            "command is not logged in, or its account or key was rejected: Please run /login; "
            "other takes over"
        )
        (out, *_) = played.events_of("iterationEnded")
        assert out.agent_out == AgentOut(agent="command", successor="other")

    def test_takes_over_from_one_at_its_limit_until_that_is_lifted(self) -> None:
        script = [at_limit(1), at_limit(3), progress, finishes]
        played = SimulatedRun(
            simulated=SimulatedProject(script=script), config=settings(**self.settings)
        )
        played.start()
        assert agents(played) == [None, "other", "third", "third"]
        assert not played.events_of("waitStarted")
        state = played.run
        moments = [state.started_at or BEGIN, BEGIN + 2 * HOUR, BEGIN + 4 * HOUR]
        assert [substitute_agent(state, moment) for moment in moments] == ["third", None, None]
        assert unavailable_agents(state, BEGIN + 2 * HOUR) == {"other"}
        assert unavailable_agents(state, BEGIN + 3 * HOUR) == frozenset()

    def test_is_waited_for_where_all_are_at_their_limits(self) -> None:
        played = check_loop(
            [at_limit(2), at_limit(1), logged_out, finishes],
            ends=("complete", 0),
            warned=["agent-fallback"] * 3,
            **self.settings,
        )
        (waited,) = played.events_of("waitStarted")
        assert (waited.reason, waited.until) == ("limit", BEGIN + HOUR)
        assert agents(played) == [None, "other", "third", "other"]
        assert (
            "no other agent is available, so the run waits"
            in played.events_of("warned")[-1].message
        )

    def test_with_no_agent_left_the_run_ends_with_the_message_of_the_last_one(self) -> None:
        check_loop(
            [logged_out] * 3, ends=("fatal", 5), message="the agent third is not", **self.settings
        )

    def test_takes_over_when_an_overload_outlasts_the_waits(self) -> None:
        played = check_loop(
            [overloaded] * 4 + [finishes], ends=("complete", 0), retry=RETRY, **self.settings
        )
        assert agents(played) == [None] * 4 + ["other"]
        assert played.run.overloads == 0

    def test_takes_over_from_one_that_failed_in_three_iterations(self) -> None:
        played = check_loop(
            [crashed] * 6 + [progress, finishes],
            ends=("complete", 0),
            outcomes=["noProgress"] * 3 + ["progress"] * 2,
            breaker_enabled=False,
            **self.settings,
        )
        assert agents(played) == [None] * 6 + ["other", "other"]
        assert played.events_of("iterationEnded")[2].crashes == 0
        assert "agent-fallback" in played.warnings()

    def test_starts_the_same_agent_for_a_second_try(self) -> None:
        played = check_loop(
            [logged_out, fails(AgentFailure.CRASHED, "odd"), finishes],
            ends=("complete", 0),
            **self.settings,
        )
        assert agents(played) == [None, "other", "other"]

    def test_that_crashes_to_the_last_ends_the_run(self) -> None:
        check_loop(
            [fails(AgentFailure.CRASHED, "odd")] * 12,
            ends=("fatal", 5),
            breaker_enabled=False,
            agent="command",
            fallback=["other"],
        )

    def test_is_over_when_another_user_takes_up_the_run_but_for_limits(self) -> None:
        played = SimulatedRun(
            simulated=SimulatedProject(script=[at_limit(9), *[logged_out] * 2, finishes]),
            config=settings(**self.settings),
        )
        played.until(Awaits.TIME)
        assert [one.agent for one in played.run.agents_out] == ["command", "other", "third"]
        played.resume()
        assert agents(played)[-1] == "other"

    def test_nobody_is_asked_where_none_is_set(self) -> None:
        assert substitute_agent(RunState(), BEGIN) is None


def test_what_is_seen_of_an_agent_that_works_is_reported_once_for_each_iteration() -> None:
    played = SimulatedRun(simulated=SimulatedProject(script=[no_progress]), config=settings())
    played.until(Awaits.EXIT)
    notice = AnnouncementDone(code="context-50", message="half full", start=1)
    for given in (notice, notice, AnnouncementDone(code="context-50", message="late", start=2)):
        played.feed(given)
    (told,) = played.events_of("warned")
    assert (told.iteration, told.code, told.message) == (1, "context-50", "half full")
    assert played.ignored == ["that iteration is already over"]
