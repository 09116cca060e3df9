"""Attempts in whole runs: a task that fails is set aside, and the loop really moves on."""

from __future__ import annotations

import pytest

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.effects import PrepareIteration, ReadIteration, SetTaskAside
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import AgentFinished, EffectFailed
from ralph_ls.core.loop.rules.attempts import failed_attempts
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.run.report import AgentFailure
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    Turn,
    no_progress,
    progress,
    turn,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, check_loop, play, settings

TWO = {"paint": "todo", "sand": "todo"}
works = turn(files=1, commit=True)
says_blocked = turn(STATUS="BLOCKED", RECOMMENDATION="no brush", files=1)
S_RULES = {"attempts_limit": 3, "attempts_counts": "no-progress", "breaker_enabled": False}
B_RULES = {
    "attempts_limit": 3,
    "attempts_counts": "not-done",
    "attempts_mark": False,
    "breaker_enabled": False,
    "gate_rule": "queue",
}


def run(*script: Turn, **fields: object) -> SimulatedRun:
    simulated = SimulatedProject(script=list(script), tasks=dict(TWO), afterwards=works)
    return check_loop([], simulated=simulated, max_iterations=9, **fields)  # type: ignore[arg-type]


def tasks_of(played: SimulatedRun) -> list[str]:
    return [
        event.task.id for event in played.events_of("iterationStarted") if event.task is not None
    ]


class TestMarkedInThePlan:
    def test_three_attempts_without_progress_set_a_task_aside(self) -> None:
        played = run(*[no_progress] * 3, turn(files=1, ticks=("sand",)), **S_RULES)
        assert tasks_of(played)[:4] == ["paint", "paint", "paint", "sand"]
        (aside,) = played.events_of("taskSetAside")
        assert (aside.task.id, aside.attempts, aside.marked) == ("paint", 3, True)
        assert played.simulated.reasons == {"paint": "3 attempts without success"}
        assert played.run.attempts == {}

    def test_the_agents_own_reason_is_quoted(self) -> None:
        fails = turn(STATUS="IN_PROGRESS", RECOMMENDATION="the brush\n is missing")
        played = run(*[fails] * 3, turn(files=1, ticks=("sand",)), **S_RULES)
        why = "3 attempts without success; the agent's last words: the brush is missing"
        assert [one.reason for one in played.events_of("taskSetAside")] == [why]
        assert played.simulated.reasons == {"paint": why}

    def test_the_number_of_each_attempt_is_reported_at_its_start(self) -> None:
        played = run(*[no_progress] * 3, **S_RULES)
        told = [(event.attempt, event.limit) for event in played.events_of("attemptCounted")]
        assert told[:4] == [(1, 3), (2, 3), (3, 3), (1, 3)]

    def test_an_attempt_with_progress_does_not_count(self) -> None:
        played = run(no_progress, works, works, no_progress, works, **S_RULES)
        assert played.events_of("taskSetAside") == []
        assert played.run.attempts == {"paint": 2}

    def test_a_task_that_is_done_has_no_attempts_any_more(self) -> None:
        played = run(no_progress, turn(files=1, ticks=("paint",)), **S_RULES)
        assert played.run.attempts == {}

    def test_so_has_a_task_that_another_ones_iteration_finished(self) -> None:
        both = turn(files=1, ticks=("paint", "sand"))
        played = run(no_progress, no_progress, both, **S_RULES)
        assert played.run.attempts == {}

    def test_with_every_task_set_aside_the_run_is_blocked(self) -> None:
        played = run(*[no_progress] * 6, **S_RULES)
        assert played.run.end is not None
        assert played.run.end.exit_code == 2
        assert "all 2 open tasks in the plan are blocked" in played.run.end.message

    def test_the_plan_is_looked_at_again_after_it_was_marked(self) -> None:
        played = run(*[no_progress] * 3, **S_RULES)
        marked = next(
            index for index, effect in enumerate(played.effects) if isinstance(effect, SetTaskAside)
        )
        following = next(
            effect for effect in played.effects[marked:] if isinstance(effect, PrepareIteration)
        )
        assert not following.reuse


class TestLeftInThePlan:
    def test_a_task_with_three_attempts_is_skipped(self) -> None:
        played = run(*[works] * 3, turn(files=1, ticks=("sand",)), **B_RULES)
        assert tasks_of(played)[:4] == ["paint", "paint", "paint", "sand"]
        (aside,) = played.events_of("taskSetAside")
        assert not aside.marked
        assert played.simulated.tasks["paint"] == "todo"
        assert played.run.attempts == {"paint": 3}

    def test_with_only_skipped_ones_left_the_run_ends_with_their_names(self) -> None:
        played = run(*[works] * 3, turn(files=1, ticks=("sand",)), **B_RULES)
        assert played.run.end is not None
        assert played.run.end.exit_code == 2
        assert played.run.end.message == (
            "the only open task in the plan is blocked or set aside: "
            "paint (set aside after 3 attempts)"
        )


class TestReportedBlocked:
    def test_sets_the_task_aside_at_once(self) -> None:
        played = run(says_blocked, turn(files=1, ticks=("sand",)), on_blocked="set-aside")
        assert tasks_of(played)[:2] == ["paint", "sand"]
        assert played.simulated.reasons == {"paint": "no brush"}
        assert played.run.end is not None
        assert played.run.end.exit_code == 2

    def test_says_so_where_no_reason_is_given(self) -> None:
        played = run(turn(STATUS="BLOCKED", files=1), on_blocked="set-aside")
        assert played.simulated.reasons["paint"] == "the agent reports BLOCKED without a reason"

    def test_skips_the_task_where_the_plan_is_left_alone(self) -> None:
        played = run(
            says_blocked, turn(files=1, ticks=("sand",)), **{**B_RULES, "on_blocked": "set-aside"}
        )
        assert tasks_of(played)[:2] == ["paint", "sand"]
        assert played.run.attempts == {"paint": 3}

    def test_twice_in_a_row_opens_the_breaker(self) -> None:
        blocked = turn(STATUS="BLOCKED", RECOMMENDATION="no brush")
        played = run(blocked, blocked, on_blocked="set-aside")
        assert played.run.end is not None
        assert played.run.end.exit_code == 4
        assert "environment" in played.run.end.message

    def test_of_a_task_that_was_finished_sets_nothing_aside(self) -> None:
        said = turn(STATUS="BLOCKED", files=1, ticks=("paint",))
        played = run(said, on_blocked="set-aside")
        assert played.events_of("taskSetAside") == []

    def test_without_a_task_it_is_reported_by_the_report_alone(self) -> None:
        simulated = SimulatedProject(script=[says_blocked, works], tasks={}, afterwards=works)
        played = check_loop(
            [], simulated=simulated, gate_rule="status", on_blocked="set-aside", max_iterations=2
        )
        assert (played.exit_code, played.events_of("taskSetAside")) == (1, [])

    def test_means_nothing_where_only_the_promise_counts(self) -> None:
        played = run(says_blocked, on_blocked="nothing")
        assert (played.exit_code, played.events_of("taskSetAside")) == (1, [])


def test_setting_aside_gives_the_next_task_a_fresh_start_with_the_breaker() -> None:
    simulated = SimulatedProject(script=[no_progress] * 4, tasks=dict(TWO), afterwards=progress)
    played = check_loop(
        [],
        simulated=simulated,
        attempts_limit=2,
        max_iterations=4,
        ends=("stuck", 4),
        iterations=4,
    )
    assert [event.task.id for event in played.events_of("taskSetAside")] == ["paint", "sand"]


def test_a_usage_limit_gives_the_attempt_back() -> None:
    limited = turn(fields=None, limit=AccountLimit(), failure="at its limit")
    played = run(no_progress, limited, no_progress, **S_RULES)
    assert [event.attempt for event in played.events_of("attemptCounted")][:4] == [1, 2, 2, 3]


def test_no_attempts_are_counted_where_there_is_no_limit() -> None:
    played = play(no_progress, no_progress, no_progress)
    assert "attemptCounted" not in played.kinds()
    assert played.run.attempts == {}


def lose(played: SimulatedRun, *, times: int = 1) -> SimulatedRun:
    """Have the engine die while the agent is at work, and another one take the run up."""
    for _ in range(times):
        while played.state.awaits is not Awaits.EXIT:
            given = played.queue.popleft()
            played.feed(given() if callable(given) else given)
        played.take_up()
    return played


class TestWrittenAtTheStart:
    def play(self, **rules: object) -> SimulatedRun:
        simulated = SimulatedProject(script=[], tasks=dict(TWO), afterwards=works)
        config = settings(**{**S_RULES, "max_iterations": 9, **rules})  # type: ignore[arg-type]
        return SimulatedRun(simulated=simulated, config=config)

    def begun(self, **rules: object) -> SimulatedRun:
        return self.play(**rules).until(Awaits.EXIT)

    def test_an_open_iteration_counts_already(self) -> None:
        played = self.begun()
        assert played.run.attempts == fold(played.events).attempts == {"paint": 1}
        assert failed_attempts(played.run) == {}

    def test_an_engine_that_dies_keeps_it(self) -> None:
        played = lose(self.begun())
        assert played.go_on().run.attempts == {"paint": 1}
        assert played.events_of("iterationEnded")[0].outcome == "lost"

    @pytest.mark.parametrize("rules", [S_RULES, B_RULES])
    def test_a_task_that_kills_every_engine_is_set_aside(self, rules: dict[str, object]) -> None:
        played = lose(self.begun(**rules), times=3)
        played.go_on()
        aside = played.events_of("taskSetAside")[0]
        assert (aside.task.id, aside.attempts, aside.start) == ("paint", 3, 3)
        assert tasks_of(played)[3] == "sand"

    def test_two_such_tasks_in_a_row_are_a_broken_environment(self) -> None:
        played = lose(self.begun(breaker_enabled=True), times=6)
        played.go_on()
        assert played.run.end is not None
        assert (played.run.end.exit_code, len(played.events_of("taskSetAside"))) == (4, 2)
        assert "the environment may be broken" in played.run.end.message

    def test_a_lost_iteration_with_progress_gives_it_back_where_only_idle_ones_count(self) -> None:
        played = self.begun()
        played.feed(played.queue.popleft()())  # type: ignore[operator]
        played.events = [event for event in played.events if event.kind != "agentExited"]
        played.resume()
        assert played.events_of("iterationEnded")[0].outcome == "lost"
        assert played.events_of("iterationEnded")[0].attempts == {}

    def test_one_that_the_user_stops_gives_it_back(self) -> None:
        played = self.begun()
        played.send("stop", now=True)
        played.go_on()
        assert played.events_of("iterationEnded")[-1].outcome == "stopped"
        assert played.run.attempts == {}

    def test_so_does_an_agent_whose_model_stays_overloaded(self) -> None:
        busy = turn(
            fields=None,
            failure="529",
            failure_kind=AgentFailure.OVERLOADED,
            end=AgentFinished(exit_code=1),
        )
        played = run(*[busy] * 2, works, **S_RULES, retry={"tries": 1})
        ended = played.events_of("iterationEnded")
        assert [one.outcome for one in ended[:3]] == ["limited", "noProgress", "progress"]
        assert {tuple(one.attempts) for one in ended} == {()}

    def test_a_run_that_cannot_start_its_agent_gives_it_back(self) -> None:
        played = self.play()
        played.until(Awaits.LAUNCH).feed(EffectFailed(message="no prompt"))
        assert played.run.attempts == {}
        assert played.run.current is not None
        played.resume()
        assert played.events_of("iterationEnded")[0].attempts == {}

    def test_a_run_that_breaks_under_its_agent_keeps_it(self) -> None:
        played = self.begun()
        played.feed(EffectFailed(message="no space left"))
        assert played.run.attempts == {"paint": 1}

    def test_one_that_is_reset_meanwhile_has_this_attempt_alone(self) -> None:
        played = self.begun(**B_RULES)
        played.send("resetTask", task="paint")
        assert failed_attempts(played.run) == played.run.attempts == {}
        played.go_on()
        assert played.events_of("iterationEnded")[0].attempts == {"paint": 1}

    def test_a_third_attempt_is_no_reason_to_pass_the_task_over_before_it_is_over(self) -> None:
        played = run(works, works, turn(files=1, ticks=("paint",)), **B_RULES)
        reads = [one for one in played.effects if isinstance(one, ReadIteration)]
        assert {one.skip for one in reads[:3]} == {()}
        assert played.events_of("taskSetAside")[0].task.id == "sand"
