"""Usage limits and budgets in whole runs: what is waited for, ends a run, or is reported."""

from __future__ import annotations

from datetime import timedelta

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.effects import LaunchAgent, WaitUntil
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.run.report import SessionSeen, Usage
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    edits_only,
    finishes,
    no_progress,
    progress,
    promise,
    turn,
)
from tests.unit.core.loop.simulated_run import BEGIN, SimulatedRun, check_loop, play, settings

RESET = BEGIN + timedelta(hours=1)
limited = turn(fields=None, limit=AccountLimit(resets_at=RESET), failure="at its limit")


class TestAUsageLimit:
    def test_is_waited_for_and_counts_for_nothing(self) -> None:
        played = check_loop(
            [limited, finishes],
            ends=("complete", 0),
            outcomes=["limited", "progress"],
            max_iterations=1,
        )
        (waited,) = played.events_of("waitStarted")
        assert (waited.reason, waited.until) == ("limit", RESET)
        assert played.run.counted == 1
        phases = [(event.phase, event.reason) for event in played.events_of("phaseChanged")]
        assert (Phase.WAITING, "limit") in phases

    def test_is_waited_for_as_long_as_is_set_where_its_end_is_not_reported(self) -> None:
        said = turn(fields=None, limit=AccountLimit(), failure="at its limit")
        played = check_loop([said, finishes], ends=("complete", 0), limit_wait=60)
        (ended, *_) = played.events_of("iterationEnded")
        waits = [effect for effect in played.effects if isinstance(effect, WaitUntil)]
        assert waits == [WaitUntil(until=ended.at + timedelta(seconds=60))]

    def test_from_before_the_iteration_is_waited_for_as_long_as_is_set(self) -> None:
        said = turn(fields=None, limit=AccountLimit(resets_at=BEGIN), failure="at its limit")
        played = check_loop([said, finishes], ends=("complete", 0), limit_wait=60)
        (waited,) = played.events_of("waitStarted")
        assert waited.until == played.events_of("iterationEnded")[0].at + timedelta(seconds=60)

    def test_that_was_reset_while_the_agent_ended_is_waited_for_no_more(self) -> None:
        unlimited = play(no_progress, finishes).events_of("iterationStarted")[0].at
        reset = unlimited + timedelta(milliseconds=1)
        said = turn(fields=None, limit=AccountLimit(resets_at=reset), failure="at its limit")
        played = check_loop([said, finishes], ends=("complete", 0), limit_wait=60)
        (waited,) = played.events_of("waitStarted")
        assert waited.until == reset
        assert waited.until < waited.at

    def test_is_not_tried_again_at_once_and_is_no_crash(self) -> None:
        played = check_loop([limited] * 5 + [finishes], ends=("complete", 0))
        assert "agent-failed" not in played.warnings()
        assert played.run.crashes == 0

    def test_changes_neither_breaker_nor_stuck_count_nor_indicators(self) -> None:
        played = play(no_progress, limited, finishes, max_stuck=9)
        first, second, _ = played.events_of("iterationEnded")
        assert second.breaker == first.breaker
        assert second.stuck_count == first.stuck_count == 1

    def test_keeps_the_work_that_was_done_before_it(self) -> None:
        said = turn(fields=None, files=1, commit=True, limit=AccountLimit(), failure="at its limit")
        played = play(no_progress, no_progress, said, finishes)
        half_open, limited_one = played.events_of("iterationEnded")[1:3]
        assert half_open.breaker.state == "HALF_OPEN"
        assert limited_one.breaker.state == "CLOSED"
        assert limited_one.stuck_count == 0

    def test_that_the_agent_got_over_is_none(self) -> None:
        said = turn(STATUS="IN_PROGRESS", files=1, limit=AccountLimit(resets_at=RESET))
        played = check_loop([said, finishes], ends=("complete", 0))
        assert played.events_of("waitStarted") == []

    def test_is_not_validated(self) -> None:
        said = turn(fields=None, limit=AccountLimit(), failure="at its limit", validates=(False,))
        played = check_loop([said, finishes], ends=("complete", 0))
        assert played.events_of("validated") == []

    def test_reports_the_next_agent_what_this_one_was_reported(self) -> None:
        played = SimulatedRun(
            simulated=SimulatedProject(script=[limited, finishes]),
            config=settings(),
        )
        played.until(Awaits.LAUNCH)
        played.send("note", text="be quick")
        played.go_on()
        assert [prompt.notes for prompt in played.prompts] == [(), ("be quick",)]

    def test_does_not_keep_the_user_from_holding_the_run(self) -> None:
        def holds(play: SimulatedRun) -> None:
            if play.run.phase is Phase.RUNNING and play.simulated.n_turns == 0:
                play.send("pause")
            elif play.run.phase is Phase.PAUSED:
                play.send("resume")

        played = check_loop([limited, finishes], person=holds, ends=("complete", 0))
        assert "waitStarted" not in played.kinds()

    def test_does_not_keep_the_user_from_ending_the_run(self) -> None:
        played = SimulatedRun(simulated=SimulatedProject(script=[limited]), config=settings())
        played.until(Awaits.TIME)
        played.send("stop")
        assert (played.run.phase, played.exit_code) == (Phase.ENDED, 130)


class TestBudgets:
    used = Usage(input_tokens=600, output_tokens=200, cached_tokens=9000, cost_usd=0.4)
    costly = turn(files=1, commit=True, usage=used)

    def test_of_tokens_ends_a_run(self) -> None:
        played = check_loop(
            [self.costly] * 5, max_tokens=2000, ends=("limit", 1), iterations=3, message="token"
        )
        assert played.run.usage is not None
        assert played.run.usage.input_tokens == 1800

    def test_of_cost_ends_a_run(self) -> None:
        check_loop([self.costly] * 5, max_cost_usd=0.75, ends=("limit", 1), iterations=2)

    def test_are_warned_of_once(self) -> None:
        played = check_loop([self.costly] * 3, max_tokens=1900, ends=("limit", 1), iterations=3)
        assert played.warnings() == ["budget-tokens"]
        assert played.run.budgets_warned == ("tokens",)

    def test_that_stay_nearly_used_up_are_not_warned_of_again(self) -> None:
        little = turn(files=1, commit=True, usage=Usage(input_tokens=90, output_tokens=10))
        played = check_loop(
            [little] * 10, max_tokens=1000, ends=("limit", 1), iterations=10, attempts_unfinished=0
        )
        assert played.warnings() == ["budget-tokens"]

    def test_of_iterations_are_warned_of_before_their_end(self) -> None:
        played = check_loop([progress] * 9, max_iterations=5, ends=("limit", 1))
        assert played.warnings() == ["budget-iterations", "task-without-end"]

    def test_that_nobody_can_measure_end_nothing(self) -> None:
        check_loop([progress, finishes], max_tokens=1, max_cost_usd=0.01, ends=("complete", 0))

    def test_used_up_by_the_finishing_iteration_do_not_undo_it(self) -> None:
        said = turn(
            files=1,
            ticks=("write the letter",),
            EXIT_SIGNAL="true",
            words=("done", "finished"),
            usage=self.used,
        )
        check_loop([said], max_tokens=1, ends=("complete", 0))

    def test_used_up_by_a_limited_iteration_end_the_run_before_the_next(self) -> None:
        said = turn(fields=None, limit=AccountLimit(), failure="at its limit", usage=self.used)
        check_loop([said, finishes], max_tokens=1, ends=("limit", 1), iterations=1)


class TestSessions:
    def sessions(self, *script: object, **fields: object) -> list[tuple[str | None, float]]:
        played = play(*script, max_iterations=9, agent="command", **fields)  # type: ignore[arg-type]
        return [
            (effect.session, effect.session_cost_usd)
            for effect in played.effects
            if isinstance(effect, LaunchAgent)
        ]

    works = turn(files=1, commit=True, session=SessionSeen(id="s-1", cost_usd=0.5))

    def test_are_fresh_by_default(self) -> None:
        assert self.sessions(self.works, finishes) == [(None, 0.0)] * 2

    def test_are_gone_on_with_where_that_is_wanted(self) -> None:
        assert self.sessions(self.works, finishes, session_resume=True) == [
            (None, 0.0),
            ("s-1", 0.5),
        ]

    def test_that_were_reported_by_nobody_are_fresh(self) -> None:
        assert self.sessions(edits_only, finishes, session_resume=True) == [(None, 0.0)] * 2

    def test_are_dropped_with_the_task(self) -> None:
        done = turn(
            files=1, ticks=("write the letter",), adds=("post it",), session=SessionSeen(id="s-1")
        )
        assert self.sessions(done, progress, session_resume=True)[1] == (None, 0.0)

    def test_are_fresh_for_the_second_attempt_after_a_crash(self) -> None:
        crashes = turn(fields=None, failure="it broke")
        told = self.sessions(self.works, crashes, finishes, session_resume=True)
        assert told == [(None, 0.0), ("s-1", 0.5), (None, 0.0)]


def test_denials_are_reported_and_open_the_breaker() -> None:
    denied = turn(STATUS="IN_PROGRESS", denied=("Bash", "Bash", "Write"))
    played = check_loop([denied, denied], ends=("stuck", 4), message="tools.allow")
    first, _ = played.events_of("iterationEnded")
    assert (first.permission_denials, first.denied_tools) == (3, ("Bash", "Write"))


def test_the_loop_history_keeps_the_last_five_iterations() -> None:
    failing = turn(STATUS="IN_PROGRESS", files=1, commit=True, errors=("error: no",))
    played = check_loop(
        [*[failing] * 2, *[progress] * 3, turn(fields=None, files=1)],
        max_iterations=6,
        breaker_enabled=False,
    )
    history = played.run.history
    assert [facts.iteration for facts in history] == [2, 3, 4, 5, 6]
    assert history[0].errors == ("error: no",)
    assert history[0].report is not None
    assert (history[0].files, history[0].commits, history[0].tasks_done) == (1, 1, 0)
    assert (history[-1].report, history[-1].commits) == (None, 0)


def test_a_blocked_promise_beside_a_limit_is_a_result() -> None:
    said = turn(fields=None, limit=AccountLimit(), promises=(promise("blocked", "no key"),))
    check_loop([said], ends=("blocked", 2))
