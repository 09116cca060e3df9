"""Whole runs under each gate's rule: how they complete, and what completes none.

See docs/rules.md#exit-gate.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    SimulatedProject,
    Turn,
    asks,
    edits_only,
    finishes,
    is_blocked,
    no_progress,
    nothing_left,
    progress,
    promise,
    turn,
)
from tests.unit.core.loop.simulated_run import check_loop

works = turn(files=1, commit=True)
ticks = turn(files=1, commit=True, ticks=ONE_TASK)
says_complete = turn(promises=(promise("complete"),))
ticks_and_says = turn(files=1, commit=True, ticks=ONE_TASK, promises=(promise("complete"),))
writes_marker = turn(files=1, commit=True, ticks=ONE_TASK, marks=True)
marks_too_early = turn(files=1, commit=True, marks=True)
reports_complete = turn(files=1, ticks=ONE_TASK, STATUS="COMPLETE", EXIT_SIGNAL="false")
pr_ready = turn(files=1, ticks=ONE_TASK, STATUS="IN_PROGRESS", PR_READY="true")
asks_back = turn(
    STATUS="NEEDS_CLARIFICATION", EXIT_SIGNAL="true", CLARIFICATION_QUESTIONS="Which port?"
)

COMPLETES: dict[str, tuple[str, list[Turn], int, str]] = {
    "the marker, with every task done": ("marker", [works, writes_marker], 2, "PROJECT_COMPLETE"),
    "a confirming iteration without the marker": (
        "marker",
        [ticks, no_progress],
        2,
        "confirming iteration",
    ),
    "EXIT_SIGNAL and two indicators": ("dual", [works, finishes], 2, "signals completion"),
    "COMPLETE, verified": ("verified", [works, ticks_and_says], 2, "every required task"),
    "every task done without COMPLETE": ("verified", [works, ticks], 2, "every required task"),
    "an empty queue": (
        "queue",
        [works, ticks],
        2,
        "✓ All work complete or blocked: nothing in the plan is open",
    ),
    "STATUS COMPLETE": ("status", [works, reports_complete], 2, "STATUS COMPLETE"),
    "PR_READY": ("status", [works, pr_ready], 2, "PR_READY"),
}


@pytest.mark.parametrize("name", COMPLETES)
def test_a_run_completes_by_its_own_gate(name: str) -> None:
    rule, script, iterations, message = COMPLETES[name]
    check_loop(
        script,
        gate_rule=rule,
        max_iterations=iterations,
        ends=("complete", 0),
        iterations=iterations,
        message=message,
    )


FOREIGN: dict[str, tuple[str, Turn]] = {
    "COMPLETE where EXIT_SIGNAL is asked for": ("dual", says_complete),
    "COMPLETE where the plan is asked": ("queue", says_complete),
    "COMPLETE where the marker is asked for": ("marker", says_complete),
    "PR_READY where the marker is asked for": ("marker", turn(PR_READY="true")),
    "the marker where COMPLETE is asked for": ("verified", turn(marks=True)),
    "EXIT_SIGNAL where COMPLETE is asked for": (
        "verified",
        turn(STATUS="COMPLETE", EXIT_SIGNAL="true"),
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_completion_signal_that_is_not_the_gate_is_reported_and_ends_nothing(name: str) -> None:
    rule, said = FOREIGN[name]
    played = check_loop([said, works], gate_rule=rule, max_iterations=2, ends=("limit", 1))
    assert "completion-not-gate" in played.warnings()


def test_a_done_task_is_no_foreign_signal() -> None:
    said = turn(files=1, commit=True, STATUS="COMPLETE", EXIT_SIGNAL="false")
    played = check_loop([said, said], max_iterations=2, ends=("limit", 1))
    assert "completion-not-gate" not in played.warnings()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("marker", marks_too_early),
        ("verified", says_complete),
        ("status", turn(STATUS="COMPLETE")),
        ("dual", turn(EXIT_SIGNAL="true", words=("done", "finished"))),
    ],
)
def test_no_gate_passes_with_a_task_open(rule: str, said: Turn) -> None:
    played = check_loop([said, works], gate_rule=rule, max_iterations=2, ends=("limit", 1))
    assert len(played.events_of("completionRefused")) >= 1


@pytest.mark.parametrize("rule", ["marker", "dual", "verified", "queue", "status"])
def test_a_refused_completion_leaves_the_next_promise_to_count(rule: str) -> None:
    said = turn(
        STATUS="COMPLETE",
        EXIT_SIGNAL="true",
        words=("done", "finished"),
        marks=True,
        promises=(promise("complete"), promise("blocked", "no key")),
    )
    check_loop([said], gate_rule=rule, ends=("blocked", 2), message="no key")


class TestAMarkerOfAnEarlierRun:
    def simulated(self, state: str, *script: Turn) -> SimulatedProject:
        return SimulatedProject(
            script=list(script), marker=True, tasks=dict.fromkeys(ONE_TASK, state)
        )

    def test_ends_a_run_at_once_where_no_task_is_open(self) -> None:
        played = check_loop(
            [],
            gate_rule="marker",
            simulated=self.simulated("done"),
            ends=("complete", 0),
            iterations=0,
        )
        assert "agentStarted" not in played.kinds()

    def test_counts_for_nothing_while_a_task_is_open(self) -> None:
        played = check_loop(
            [], simulated=self.simulated("todo", works, works), gate_rule="marker", max_iterations=2
        )
        assert played.exit_code == 1
        assert played.events_of("completionRefused") == []

    def test_counts_again_once_it_was_gone(self) -> None:
        removes = turn(files=1, commit=True, marks=False)
        simulated = self.simulated("todo", removes, writes_marker)
        check_loop([], simulated=simulated, gate_rule="marker", ends=("complete", 0), iterations=2)

    def test_is_confirmed_where_it_never_went_away(self) -> None:
        simulated = self.simulated("todo", ticks, no_progress)
        check_loop(
            [],
            simulated=simulated,
            gate_rule="marker",
            ends=("complete", 0),
            iterations=2,
            message="confirming",
        )


def test_an_empty_queue_ends_a_run_before_any_agent_starts() -> None:
    simulated = SimulatedProject(script=[], tasks=dict.fromkeys(ONE_TASK, "done"))
    played = check_loop(
        [], gate_rule="queue", simulated=simulated, ends=("complete", 0), iterations=0
    )
    assert "agentStarted" not in played.kinds()


def test_verified_stories_end_a_run_before_any_agent_starts() -> None:
    simulated = SimulatedProject(script=[], tasks=dict.fromkeys(ONE_TASK, "done"))
    check_loop([], gate_rule="verified", simulated=simulated, ends=("complete", 0), iterations=0)


def test_a_queue_with_only_blocked_tasks_names_what_keeps_each() -> None:
    tasks = {"paint": "blocked", "sand": "blocked", "saw": "blocked", "buy": "blocked"}
    simulated = SimulatedProject(script=[], tasks=tasks)
    played = check_loop(
        [], gate_rule="queue", simulated=simulated, ends=("blocked", 2), iterations=0
    )
    assert played.run.end is not None
    assert played.run.end.message == (
        "all 4 open tasks in the plan are blocked: "
        "paint (blocked in the plan); sand (blocked in the plan); saw (blocked in the plan); …"
    )


@pytest.mark.parametrize("rule", ["queue", "verified", "status"])
def test_only_marker_and_dual_runs_have_a_confirming_iteration(rule: str) -> None:
    adds = turn(files=1, commit=True, ticks=ONE_TASK, adds=("one more",))
    played = check_loop([adds, works], gate_rule=rule, max_iterations=2)
    assert not any(event.confirming for event in played.events_of("iterationStarted"))


def test_a_request_without_tasks_runs_until_its_status_says_complete() -> None:
    simulated = SimulatedProject(script=[works, turn(STATUS="COMPLETE")], tasks={})
    played = check_loop(
        [], gate_rule="status", simulated=simulated, ends=("complete", 0), iterations=2
    )
    assert not any(event.confirming for event in played.events_of("iterationStarted"))


class TestThePrecedenceOfTheStatusRule:
    """A, Component 4: HALT, CLARIFY, COMPLETE, CONTINUE."""

    def check(self, script: list[Turn], ends: tuple[str, int], **fields: Any) -> None:
        check_loop(script, gate_rule="status", ends=ends, **fields)

    def test_an_open_breaker_comes_before_clarification_and_completion(self) -> None:
        said = turn(
            TESTS_STATUS="FAILING", STATUS="COMPLETE", CLARIFICATION_NEEDED="true", ticks=ONE_TASK
        )
        self.check([said], ("stuck", 4), breaker_failing_tests_open=1)

    def test_clarification_comes_before_completion(self) -> None:
        said = turn(PR_READY="true", CLARIFICATION_NEEDED="true", ticks=ONE_TASK, files=1)
        self.check([said], ("decide", 3))

    def test_an_open_breaker_comes_before_completion(self) -> None:
        said = turn(TESTS_STATUS="FAILING", STATUS="COMPLETE", ticks=ONE_TASK, files=1)
        self.check([said], ("stuck", 4), breaker_failing_tests_open=1)

    def test_completion_comes_before_a_blocked_promise(self) -> None:
        said = turn(
            STATUS="COMPLETE", ticks=ONE_TASK, files=1, promises=(promise("blocked", "no key"),)
        )
        self.check([said], ("complete", 0))


def test_under_every_other_rule_completion_comes_before_the_breaker() -> None:
    said = turn(errors=("Error: x",), files=1, ticks=ONE_TASK, EXIT_SIGNAL="true", words=("a", "b"))
    check_loop([said], breaker_same_error_open=1, ends=("complete", 0))


class TestClarification:
    def test_asks_the_questions_of_the_report(self) -> None:
        check_loop([asks_back], ends=("decide", 3), message="Which port?")

    def test_says_so_where_no_question_is_named(self) -> None:
        said = turn(CLARIFICATION_NEEDED="true", WORK_SUMMARY="read the code")
        check_loop(
            [said], ends=("decide", 3), message="did not ask a question. Its summary: read the code"
        )

    def test_says_what_is_recommended_where_nothing_else_is_reported(self) -> None:
        said = turn(STATUS="NEEDS_CLARIFICATION", RECOMMENDATION="ask Ada")
        check_loop([said], ends=("decide", 3), message="Its summary: ask Ada")
        check_loop([turn(STATUS="NEEDS_CLARIFICATION")], ends=("decide", 3), message="nothing more")

    def test_gives_way_to_a_question_that_was_promised(self) -> None:
        both = asks("Red or blue?", STATUS="NEEDS_CLARIFICATION", CLARIFICATION_QUESTIONS="Port?")
        played = check_loop([both], ends=("decide", 3), message="Red or blue?")
        assert len(played.events_of("questionAsked")) == 1

    def test_is_never_completion(self) -> None:
        said = turn(
            STATUS="NEEDS_CLARIFICATION",
            EXIT_SIGNAL="true",
            words=("done", "finished"),
            ticks=ONE_TASK,
            files=1,
        )
        check_loop([said], ends=("decide", 3))

    def test_keeps_a_confirming_iteration_from_completing(self) -> None:
        check_loop([ticks, asks_back], ends=("decide", 3))


class TestAQuestionWithoutASignal:
    said = turn(files=1, question="Shall I use Postgres?")

    def test_is_reported_and_answered_by_nobody(self) -> None:
        played = check_loop([self.said, finishes], ends=("complete", 0))
        assert "asked-without-signal" in played.warnings()
        assert played.events_of("questionAsked") == []
        warned = played.events_of("warned")[0].message
        assert warned.endswith("Shall I use Postgres? Answer it with: ralph note")

    def test_is_not_reported_where_it_was_asked_properly(self) -> None:
        promised = (promise("decide", "Postgres?"),)
        said = turn(promises=promised, question="Shall I use Postgres?")
        assert "asked-without-signal" not in check_loop([said]).warnings()

    def test_is_not_reported_of_a_run_that_is_complete(self) -> None:
        said = turn(
            files=1,
            ticks=ONE_TASK,
            EXIT_SIGNAL="true",
            words=("done", "finished"),
            question="Anything else?",
        )
        assert "asked-without-signal" not in check_loop([said], ends=("complete", 0)).warnings()


def test_blocked_promises_and_decide_count_under_every_rule() -> None:
    for rule in ("marker", "dual", "verified", "queue", "status"):
        check_loop([is_blocked("no key")], gate_rule=rule, ends=("blocked", 2))
        check_loop([asks("Red?")], gate_rule=rule, ends=("decide", 3))


def test_min_iterations_hold_a_completion_back_under_every_rule() -> None:
    scripts = {
        "marker": [writes_marker, nothing_left, nothing_left],
        "dual": [finishes, nothing_left, nothing_left],
        "verified": [ticks_and_says, edits_only, edits_only],
        "status": [reports_complete, reports_complete, reports_complete],
    }
    for rule, script in scripts.items():
        played = check_loop(script, gate_rule=rule, min_iterations=3, max_iterations=3)
        assert (rule, played.exit_code, played.run.iteration) == (rule, 0, 3)


def test_progress_alone_completes_nothing() -> None:
    for rule in ("marker", "dual", "verified", "queue", "status"):
        check_loop([progress] * 3, gate_rule=rule, max_iterations=3, ends=("limit", 1))
