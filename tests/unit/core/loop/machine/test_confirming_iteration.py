"""One confirming iteration a run: when it runs, what it counts for, and what completes after it."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.protocol.run.events import dump_event, parse_event
from ralph_ls.protocol.run.report import ReportProblem
from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    SimulatedProject,
    Turn,
    asks,
    crash,
    edits_only,
    finishes,
    is_blocked,
    no_progress,
    progress,
    promise,
    silence,
    timeout,
    turn,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, check_loop, play

ticks = turn(files=1, commit=True, ticks=ONE_TASK, STATUS="IN_PROGRESS")
adds = turn(files=1, commit=True, adds=("b",), STATUS="IN_PROGRESS")
does_b = turn(files=1, commit=True, ticks=("b",), STATUS="IN_PROGRESS")
fails = turn(files=1, commit=True, STATUS="IN_PROGRESS", TESTS_STATUS="FAILING")
passes = turn(files=1, commit=True, STATUS="IN_PROGRESS", TESTS_STATUS="PASSING")

both_rules = pytest.mark.parametrize("rule", ["marker", "dual"])


def confirming(played: SimulatedRun) -> list[bool]:
    return [event.confirming for event in played.events_of("iterationStarted")]


@both_rules
class TestOneConfirmation:
    @pytest.mark.parametrize(
        "looks",
        [
            pytest.param(no_progress, id="changes nothing"),
            pytest.param(edits_only, id="edits"),
            pytest.param(progress, id="commits"),
            pytest.param(turn(fields=None, files=1), id="reports nothing"),
            pytest.param(turn(TESTS_STATUS="NOT_RUN"), id="ran no test"),
            pytest.param(turn(ticks=("b",), files=1), id="adds a task and does it"),
            pytest.param(turn(commit=True, files=1, validates=(True,)), id="is valid"),
        ],
    )
    def test_completes_whatever_it_changed(self, rule: str, looks: Turn) -> None:
        played = check_loop(
            [ticks, looks],
            gate_rule=rule,
            ends=("complete", 0),
            message="a confirming iteration found nothing left to do",
            iterations=2,
        )
        assert confirming(played) == [False, True]
        assert played.run.confirmations == 1
        # It had nothing to commit.
        assert played.run.stuck_iterations == 0

    def test_that_adds_a_task_is_not_repeated_once_that_is_done(self, rule: str) -> None:
        played = check_loop(
            [ticks, adds, progress, does_b],
            gate_rule=rule,
            ends=("complete", 0),
            message="a confirming iteration has already run",
            iterations=4,
        )
        assert confirming(played) == [False, True, False, False]

    def test_that_opens_a_task_again_is_not_repeated_either(self, rule: str) -> None:
        reopens = turn(adds=ONE_TASK, STATUS="IN_PROGRESS")
        played = check_loop([ticks, reopens, ticks], gate_rule=rule, ends=("complete", 0))
        assert confirming(played) == [False, True, False]

    @pytest.mark.parametrize(
        ("looks", "then"),
        [
            pytest.param(timeout, (), id="it timed out"),
            pytest.param(turn(end=timeout.end, files=1), (), id="it timed out at work"),
            pytest.param(crash, (crash,), id="it failed twice"),
            pytest.param(silence, (silence,), id="no output"),
            pytest.param(turn(silent=True, files=1, fields=None), (), id="it worked in silence"),
            pytest.param(turn(fields=None, files=1, end=crash.end), (), id="it broke off"),
            pytest.param(fails, (), id="it reports failing tests"),
        ],
    )
    def test_is_repeated_where_it_does_not_count(
        self, rule: str, looks: Turn, then: tuple[Turn, ...]
    ) -> None:
        played = check_loop(
            [ticks, looks, *then, no_progress], gate_rule=rule, ends=("complete", 0), iterations=3
        )
        assert confirming(played) == [False, True, True]
        assert [event.confirmed for event in played.events_of("iterationEnded")] == [
            None,
            None,
            True,
        ]

    @pytest.mark.parametrize(
        ("looks", "ends"),
        [
            (asks("which?"), ("decide", 3)),
            (is_blocked("no key"), ("blocked", 2)),
            (turn(CLARIFICATION_NEEDED="true"), ("decide", 3)),
        ],
    )
    def test_is_repeated_after_an_answer(
        self, rule: str, looks: Turn, ends: tuple[str, int]
    ) -> None:
        played = check_loop([ticks, looks], gate_rule=rule, ends=ends)
        assert played.run.confirmations == 0
        played.simulated.answer = "this one" if played.simulated.question else None
        played.simulated.blocked = None
        played.resume()
        assert played.exit_code == 0
        assert confirming(played) == [False, True, True]

    def test_is_known_from_the_journal(self, rule: str) -> None:
        played = check_loop([ticks, adds], gate_rule=rule, max_iterations=2, ends=("limit", 1))
        told = [parse_event(dump_event(event)) for event in played.events]
        assert fold(told).confirmations == 1
        played.simulated.script.append(does_b)
        played.resume(config=played.config.model_copy(update={"max_iterations": 9}))
        assert played.exit_code == 0
        assert confirming(played) == [False, True, False]

    def test_may_be_switched_off(self, rule: str) -> None:
        check_loop(
            [ticks],
            gate_rule=rule,
            max_confirmations=0,
            ends=("complete", 0),
            message="no required task is open",
            iterations=1,
        )

    def test_may_be_had_more_often(self, rule: str) -> None:
        played = check_loop(
            [ticks, adds, does_b, no_progress],
            gate_rule=rule,
            max_confirmations=2,
            ends=("complete", 0),
        )
        assert confirming(played) == [False, True, False, True]

    def test_is_enough_without_an_agent(self, rule: str) -> None:
        """A task that the confirming iteration added and the user did meanwhile needs no agent."""
        played = check_loop([ticks, adds], gate_rule=rule, max_iterations=2, ends=("limit", 1))
        played.simulated.tasks["b"] = "done"
        played.resume(config=played.config.model_copy(update={"max_iterations": 9}))
        assert played.exit_code == 0
        assert played.run.iteration == 2

    def test_leaves_an_answer_to_be_given(self, rule: str) -> None:
        does_and_asks = turn(
            files=1, ticks=("b",), promises=(promise("decide", "red?"),), STATUS="IN_PROGRESS"
        )
        played = check_loop([ticks, adds, does_and_asks], gate_rule=rule, ends=("decide", 3))
        played.simulated.answer = "red"
        played.resume()
        assert played.exit_code == 0
        assert played.prompts[-1].answer == "red"


class TestCounters:
    @pytest.mark.parametrize("looks", [no_progress, progress, edits_only, adds])
    @pytest.mark.parametrize("stalls", [0, 1, 2])
    def test_neither_move_up_nor_go_back(self, looks: Turn, stalls: int) -> None:
        stalled = [turn(STATUS="IN_PROGRESS")] * stalls
        ticks_alone = turn(ticks=ONE_TASK, STATUS="IN_PROGRESS")
        played = play(
            *stalled,
            ticks_alone,
            looks,
            does_b,
            gate_rule="marker",
            max_stuck=9,
            breaker_no_progress_open=9,
        )
        *_, before, after = played.events_of("iterationEnded")[: stalls + 2]
        assert after.confirmed
        assert after.breaker.consecutive_no_progress == before.breaker.consecutive_no_progress
        assert after.breaker.state is before.breaker.state
        assert after.stuck_count == before.stuck_count == stalls + 1
        assert after.attempts == before.attempts

    def test_that_fails_is_no_progress_whatever_it_changed(self) -> None:
        works_too_long = turn(end=timeout.end, files=1, commit=True)
        played = check_loop(
            [ticks, *[works_too_long] * 9], gate_rule="marker", ends=("stuck", 4), iterations=4
        )
        assert confirming(played) == [False, True, True, True]

    def test_one_that_is_stopped_moves_nothing(self) -> None:
        def stops(played: SimulatedRun) -> None:
            current = played.run.current
            if current is not None and current.started.confirming:
                played.send("stop", now=True)

        played = play(no_progress, ticks, progress, gate_rule="marker", person=stops)
        *_, before, after = played.events_of("iterationEnded")
        assert (after.outcome.value, after.confirmed) == ("stopped", None)
        assert after.stuck_count == before.stuck_count
        assert after.breaker == before.breaker


class TestBlocked:
    def test_a_report_without_a_task_to_set_aside_is_a_blocker(self) -> None:
        says = turn(STATUS="BLOCKED", RECOMMENDATION="the server is down", files=1)
        check_loop(
            [ticks, says],
            gate_rule="marker",
            on_blocked="set-aside",
            ends=("blocked", 2),
            message="the server is down",
        )

    def test_without_a_reason_says_so(self) -> None:
        check_loop(
            [ticks, turn(STATUS="BLOCKED")],
            gate_rule="marker",
            on_blocked="set-aside",
            ends=("blocked", 2),
            message="without a reason",
        )

    def test_is_no_progress_where_only_the_promise_counts(self) -> None:
        says = turn(STATUS="BLOCKED", files=1, commit=True)
        check_loop(
            [ticks, *[says] * 5], gate_rule="marker", on_blocked="nothing", ends=("stuck", 4)
        )


@both_rules
class TestFailingTests:
    def test_refuse_the_agents_signal(self, rule: str) -> None:
        says = turn(
            files=1,
            ticks=ONE_TASK,
            marks=True,
            words=("done", "finished"),
            STATUS="COMPLETE",
            EXIT_SIGNAL="true",
            TESTS_STATUS="FAILING",
        )
        played = check_loop([says, passes], gate_rule=rule, ends=("complete", 0), iterations=2)
        (refused,) = played.events_of("completionRefused")
        assert refused.why == "the report says TESTS_STATUS FAILING"
        assert [prompt.failing_tests for prompt in played.prompts] == [False, True]

    def test_refuse_what_the_confirming_iteration_would_complete(self, rule: str) -> None:
        played = check_loop([ticks, fails, passes], gate_rule=rule, ends=("complete", 0))
        assert len(played.events_of("completionRefused")) == 1
        assert [prompt.failing_tests for prompt in played.prompts] == [False, False, True]

    def test_refuse_what_comes_after_it(self, rule: str) -> None:
        does_b_and_fails = turn(files=1, ticks=("b",), TESTS_STATUS="FAILING")
        played = check_loop(
            [ticks, adds, does_b_and_fails, passes], gate_rule=rule, ends=("complete", 0)
        )
        assert [prompt.failing_tests for prompt in played.prompts] == [False, False, False, True]

    def test_are_bounded_by_their_own_breaker(self, rule: str) -> None:
        check_loop(
            [ticks, *[turn(TESTS_STATUS="FAILING", EXIT_SIGNAL="true", words=("done",))] * 9],
            gate_rule=rule,
            ends=("stuck", 4),
            message="tests failing in 5 iterations",
            iterations=6,
        )

    def test_count_for_no_refused_completion(self, rule: str) -> None:
        says = turn(marks=True, words=("a", "b"), EXIT_SIGNAL="true", TESTS_STATUS="FAILING")
        played = play(turn(files=1, ticks=ONE_TASK), says, says, gate_rule=rule, max_iterations=3)
        ended = played.events_of("iterationEnded")
        assert [one.breaker.consecutive_refusals for one in ended] == [0, 0, 0]
        assert len(played.events_of("completionRefused")) == 2

    def test_are_reported_after_what_the_plan_refuses(self, rule: str) -> None:
        says = turn(marks=True, words=("a", "b"), EXIT_SIGNAL="true", TESTS_STATUS="FAILING")
        played = play(says, gate_rule=rule, max_iterations=1)
        (refused,) = played.events_of("completionRefused")
        assert "still open" in refused.why
        assert played.run.failing_tests

    def test_keep_a_single_task_from_being_complete(self, rule: str) -> None:
        does = turn(files=1, ticks=ONE_TASK, TESTS_STATUS="FAILING")
        played = check_loop(
            [does, passes], gate_rule=rule, task=ONE_TASK[0], ends=("complete", 0), iterations=2
        )
        assert played.prompts[1].failing_tests
        assert confirming(played) == [False, False]

    def test_say_nothing_while_tasks_are_open_and_nobody_claims_more(self, rule: str) -> None:
        played = play(fails, gate_rule=rule, max_iterations=1)
        assert played.events_of("completionRefused") == []
        assert not played.run.failing_tests


@pytest.mark.parametrize("rule", ["verified", "queue", "status"])
def test_failing_tests_refuse_nothing_under_other_rules(rule: str) -> None:
    says = turn(
        files=1,
        ticks=ONE_TASK,
        promises=(promise("complete"),),
        STATUS="COMPLETE",
        TESTS_STATUS="FAILING",
    )
    check_loop([says], gate_rule=rule, ends=("complete", 0), iterations=1)


class TestOneHaltAtATime:
    both = (promise("decide", "which?"), promise("blocked", "no key"))

    @pytest.mark.parametrize("rule", ["marker", "dual", "verified", "queue"])
    def test_the_blocker_comes_first(self, rule: str) -> None:
        played = check_loop([turn(promises=self.both)], gate_rule=rule, ends=("blocked", 2))
        assert (played.simulated.blocked, played.simulated.question) == ("no key", None)
        (warned,) = [one for one in played.events_of("warned") if one.code == "second-halt"]
        assert "also asks: which?" in warned.message
        # Resolved, it asks nobody a second time.
        played.simulated.script.append(finishes)
        played.simulated.blocked = None
        played.simulated.marker = rule == "marker"
        assert played.resume().exit_code == 0

    def test_a_request_asks_first(self) -> None:
        played = check_loop([turn(promises=self.both)], gate_rule="status", ends=("decide", 3))
        assert (played.simulated.blocked, played.simulated.question) == (None, "which?")
        assert "second-halt" in played.warnings()


class TestAnEngineThatDiedWhileItAsked:
    """What was raised of the open iteration is not raised again by the engine that settles it."""

    def killed(self, kind: str, turn_played: Turn) -> SimulatedRun:
        played = play(turn_played, finishes)
        end = next(nth for nth, event in enumerate(played.events) if event.kind == kind)
        played.events = played.events[: end + 1]
        return played

    @pytest.mark.parametrize("answer", [None, "red"])
    def test_its_question_is_asked_once(self, answer: str | None) -> None:
        played = self.killed("questionAsked", asks("red?"))
        played.simulated.answer = answer
        played.resume()
        assert len(played.events_of("questionAsked")) == 1
        assert played.exit_code == (3 if answer is None else 0)

    def test_its_blocker_is_raised_once(self) -> None:
        played = self.killed("blockedRaised", is_blocked("no key"))
        played.simulated.blocked = None
        played.resume()
        assert len(played.events_of("blockedRaised")) == 1
        assert played.exit_code == 0


def test_that_specifications_have_no_task_is_known_until_the_next_iteration() -> None:
    unplanned = Notice(code="specs-without-tasks", message="no task names specs/a.md")
    tells = turn(files=1, ticks=ONE_TASK, notices=(unplanned,))
    assert play(tells, gate_rule="marker", max_confirmations=0).run.specs_unplanned
    assert not play(tells, no_progress, gate_rule="marker").run.specs_unplanned


class TestAFlagThatCannotBeRead:
    problem = ReportProblem(code="bad-value", message="PR_READY is 'yes'", field="PR_READY")

    def test_is_warned_of_and_completes_nothing(self) -> None:
        said = turn(PR_READY="yes", files=1, problems=(self.problem,))
        played = play(said, gate_rule="status", max_iterations=1)
        assert played.exit_code == 1
        (warned,) = [one for one in played.events_of("warned") if one.code == "unreadable-flag"]
        assert warned.message == "PR_READY is 'yes'"

    def test_one_that_asks_halts(self) -> None:
        said = turn(CLARIFICATION_NEEDED="perhaps", STATUS="COMPLETE", ticks=ONE_TASK, files=1)
        check_loop([said], gate_rule="status", ends=("decide", 3))


class TestWithoutAnyTask:
    def simulated(self, *script: Turn, **fields: Any) -> SimulatedProject:
        return SimulatedProject(script=list(script), tasks={}, **fields)

    def test_the_marker_completes_where_all_tasks_have_left_the_plan(self) -> None:
        simulated = self.simulated(marker=True)
        check_loop([], simulated=simulated, gate_rule="marker", ends=("complete", 0), iterations=0)

    def test_a_plan_that_never_had_one_ends_the_run(self) -> None:
        simulated = self.simulated(without_tasks="write one")
        check_loop([], simulated=simulated, ends=("fatal", 5), message="write one", iterations=0)

    def test_one_that_is_emptied_during_a_run_is_confirmed(self) -> None:
        simulated = SimulatedProject(
            script=[turn(files=1, empties=True), no_progress], without_tasks="write one"
        )
        played = check_loop([], simulated=simulated, gate_rule="marker", ends=("complete", 0))
        assert confirming(played) == [False, True]
