"""Every end of a run (docs/rules.md#exit-codes), in a run that exits and in one that waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.effects import Finish, StopAgent
from ralph_ls.core.loop.inputs import EffectFailed, Interrupted
from ralph_ls.core.loop.machine.run_flow import BY_TERM
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.run.values import EndReason, Phase
from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    SimulatedProject,
    Turn,
    asks,
    claims_all,
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
from tests.unit.core.loop.simulated_run import SimulatedRun, check_loop, play, settings
from tests.unit.core.loop.user_behaviours import during_turn

ticks_all = turn(files=1, commit=True, ticks=ONE_TASK)
same_error = turn(files=1, errors=("error: no such file",))
fails_tests = turn(files=1, TESTS_STATUS="FAILING")
breaks_the_tests = turn(files=1, validates=(False,))
reports_blocked = turn(STATUS="BLOCKED", RECOMMENDATION="get a key", files=1)

NEVER_PARKS: dict[str, tuple[list[Turn], tuple[str, int], str, dict[str, Any]]] = {
    "complete by the gate": (
        [progress, finishes],
        ("complete", 0),
        "signals completion",
        {},
    ),
    "complete by a confirming iteration": (
        [ticks_all, no_progress],
        ("complete", 0),
        "confirming iteration found nothing left",
        {},
    ),
    "the one task is done": ([progress, ticks_all], ("complete", 0), "is done", {"task": "a"}),
    "iterations used up": (
        [progress, progress],
        ("limit", 1),
        "2-iteration limit",
        {"max_iterations": 2},
    ),
    "duration used up": (
        [progress] * 9,
        ("limit", 1),
        "reached the 9s time limit",
        {"max_duration": 9},
    ),
    "validation fails": (
        [turn(files=1, validates=(False,))],
        ("fatal", 5),
        "validation script failed with exit code 1 after iteration 1",
        {},
    ),
    "the agent fails three times": (
        [crash] * 6,
        ("fatal", 5),
        "failed in 3 iterations in a row; the last one ended with 3",
        {},
    ),
    "the agent is silent three times": ([silence] * 6, ("fatal", 5), "ended with 0", {}),
    "a timeout that stops": (
        [progress, timeout],
        ("fatal", 5),
        "longer than 1800 s",
        {"on_timeout": "stop"},
    ),
}

PARKS: dict[str, tuple[list[Turn], tuple[str, int], str, dict[str, Any]]] = {
    "a BLOCKED promise": (
        [progress, is_blocked("missing key")],
        ("blocked", 2),
        "missing key",
        {},
    ),
    "all tasks blocked": (
        [turn(files=1, blocks=ONE_TASK)],
        ("blocked", 2),
        "the only open task in the plan is blocked",
        {},
    ),
    "a DECIDE promise": ([progress, asks("a or b?")], ("decide", 3), "a or b?", {}),
    "no progress": ([no_progress] * 3, ("stuck", 4), "3 iterations without progress", {}),
    "the same error": ([same_error] * 5, ("stuck", 4), "the same error in 5 iterations", {}),
    "failing tests": ([fails_tests] * 5, ("stuck", 4), "tests failing in 5 iterations", {}),
    "STATUS BLOCKED": ([reports_blocked], ("stuck", 4), "BLOCKED: get a key", {}),
    "refused completions": (
        [claims_all] * 3,
        ("stuck", 4),
        "3 refused completions",
        {},
    ),
    "max_stuck": (
        [edits_only] * 2,
        ("stuck", 4),
        "2 iterations in a row without a commit",
        {"max_stuck": 2},
    ),
}


@pytest.mark.parametrize("wait", [False, True], ids=["exit", "wait"])
@pytest.mark.parametrize("name", NEVER_PARKS)
def test_these_ends_are_the_same_whether_the_run_may_wait_or_not(name: str, wait: bool) -> None:
    script, ends, message, fields = NEVER_PARKS[name]
    played = check_loop(script, ends=ends, message=message, wait=wait, **fields)
    assert played.simulated.n_turns == len(script) or name == "duration used up"
    assert played.events[-1].kind == "runEnded"


@pytest.mark.parametrize("name", PARKS)
def test_what_needs_the_user_ends_a_run_that_may_not_wait(name: str) -> None:
    script, ends, message, fields = PARKS[name]
    played = check_loop(script, ends=ends, message=message, **fields)
    assert played.simulated.n_turns == len(script)


@pytest.mark.parametrize("name", PARKS)
def test_what_needs_the_user_parks_a_run_that_may_wait(name: str) -> None:
    script, (reason, code), _, fields = PARKS[name]
    played = play(*script, wait=True, **fields)
    assert (played.run.phase, played.run.phase_reason) == (Phase.PARKED, reason)
    played.send("stop")
    assert played.run.end is not None
    assert (played.run.end.reason.value, played.exit_code) == (reason, code)
    assert played.run.end.message.startswith("stopped while waiting for ")
    assert played.run.end.by == "Ada"


def test_a_signal_ends_a_parked_run_with_what_it_waited_for() -> None:
    played = play(asks("a or b?"), wait=True).go_on(Interrupted(by="Ctrl-C"))
    assert played.exit_code == 3
    assert played.run.end is not None
    assert played.run.end.message == "stopped while waiting for an answer to: a or b?"


def test_no_one_is_asked_to_do_what_a_stuck_run_does_not_wait_for() -> None:
    played = play(edits_only, edits_only, wait=True, max_stuck=2)
    played.send("stop")
    assert played.run.end is not None
    assert played.run.end.message == (
        "stopped while waiting for a reset: 2 iterations in a row without a commit"
    )


def interrupted(script: list[Turn], by: str, turn_number: int = 1, times: int = 1) -> SimulatedRun:
    def person(played: SimulatedRun) -> None:
        if played.run.phase is Phase.RUNNING and played.simulated.n_turns == turn_number:
            for _ in range(times):
                played.feed(Interrupted(by=by))

    return play(*script, person=person)


def test_a_run_that_is_stopped_while_it_waits_says_for_what() -> None:
    limited = turn(fields=None, silent=True, limit=AccountLimit())
    waiting = SimulatedRun(simulated=SimulatedProject(script=[limited]), config=settings())
    played = waiting.until(Awaits.TIME)
    played.feed(Interrupted(by="Ctrl-C"))
    assert played.run.end is not None
    assert played.run.end.message == "stopped by Ctrl-C while waiting for the usage limit"


@pytest.mark.parametrize(
    ("by", "times", "code"), [("Ctrl-C", 2, 130), (BY_TERM, 1, 143), ("a closed terminal", 1, 130)]
)
def test_a_signal_ends_the_agent_and_the_run(by: str, times: int, code: int) -> None:
    played = interrupted([progress, finishes], by, times=times)
    assert played.run.end is not None
    assert (played.run.end.reason.value, played.exit_code) == ("stopped", code)
    assert played.run.end.message == f"stopped by {by}"
    assert played.run.end.by == by
    assert StopAgent() in played.effects
    assert [event.outcome.value for event in played.events_of("iterationEnded")] == [
        "progress",
        "stopped",
    ]


@pytest.mark.parametrize(
    ("by", "times", "told"), [(BY_TERM, 2, 1), ("Ctrl-C", 1, 1), ("Ctrl-C", 2, 2), ("Ctrl-C", 4, 2)]
)
def test_a_signal_is_reported_as_often_as_it_changes_anything(
    by: str, times: int, told: int
) -> None:
    played = interrupted([progress], by, turn_number=0, times=times)
    stopping = [
        event for event in played.events_of("phaseChanged") if event.phase is Phase.STOPPING
    ]
    assert [event.reason for event in stopping] == [by] * told
    assert played.exit_code == (143 if by == BY_TERM else 130)


@pytest.mark.parametrize(
    ("turn", "code", "reason"),
    [(progress, 130, "stopped"), (finishes, 0, "complete"), (breaks_the_tests, 5, "fatal")],
)
def test_the_first_ctrl_c_lets_the_iteration_come_to_its_end(
    turn: Turn, code: int, reason: str
) -> None:
    played = interrupted([turn, progress], "Ctrl-C", turn_number=0)
    assert StopAgent() not in played.effects
    assert played.run.end is not None
    assert (played.run.end.reason.value, played.exit_code) == (reason, code)
    assert played.run.iteration == 1
    assert played.events_of("agentExited")[0].stopped is False


@pytest.mark.parametrize("awaits", [Awaits.VALIDATION, Awaits.COMMIT, Awaits.PUSH])
def test_the_first_ctrl_c_lets_what_follows_the_agent_come_to_its_end_as_well(
    awaits: Awaits,
) -> None:
    valid = turn(files=1, validates=(True,))
    played = SimulatedRun(
        simulated=SimulatedProject(script=[valid, progress]),
        config=settings(commits="loop", push=True),
    ).until(awaits)
    played.feed(Interrupted(by="Ctrl-C"))
    assert StopAgent() not in played.effects
    played.go_on()
    assert played.exit_code == 130
    assert [event.kind for event in played.events if event.kind in {"validated", "pushed"}] == [
        "validated",
        "pushed",
    ]


def test_ctrl_c_ends_at_once_where_a_stop_is_pending_already() -> None:
    def person(played: SimulatedRun) -> None:
        if played.run.phase is Phase.RUNNING:
            played.send("stop")
            played.feed(Interrupted(by="Ctrl-C"))

    played = play(progress, person=person)
    assert StopAgent() in played.effects
    assert played.exit_code == 130


@pytest.mark.parametrize("awaits", [Awaits.PREPARED, Awaits.TIME])
def test_one_ctrl_c_ends_a_run_without_an_open_iteration_at_once(awaits: Awaits) -> None:
    played = SimulatedRun(
        simulated=SimulatedProject(script=[progress] * 3), config=settings(cooldown=60)
    ).until(awaits)
    played.feed(Interrupted(by="Ctrl-C"))
    assert played.exit_code == 130


def test_a_TERM_after_a_stop_command_counts_as_TERM() -> None:  # noqa: N802
    def person(played: SimulatedRun) -> None:
        if played.run.phase is Phase.RUNNING:
            played.send("stop")
            played.feed(Interrupted(by=BY_TERM))

    assert play(progress, person=person).exit_code == 143


@pytest.mark.parametrize(
    ("script", "ends"),
    [
        pytest.param([progress, progress], ("stopped", 130), id="it only worked"),
        pytest.param([progress, finishes], ("complete", 0), id="it completed the run"),
        pytest.param([progress, crash], ("stopped", 130), id="it failed, and is not tried again"),
        pytest.param([progress, asks("a?")], ("stopped", 130), id="it asked something"),
        pytest.param(
            [progress, turn(files=1, validates=(False,))], ("fatal", 5), id="it broke the tests"
        ),
    ],
)
def test_a_stop_lets_the_iteration_come_to_its_end(
    script: list[Turn], ends: tuple[str, int]
) -> None:
    played = check_loop(script, ends=ends, person=during_turn(1, "stop"), iterations=2)
    assert StopAgent() not in played.effects
    assert played.run.end is not None
    assert played.run.end.by == ("Ada" if ends[0] == "stopped" else "")


def test_a_stop_now_ends_the_agent() -> None:
    played = check_loop(
        [progress, finishes],
        ends=("stopped", 130),
        message="stopped by Ada",
        person=during_turn(1, "stop", now=True),
        outcomes=["progress", "stopped"],
    )
    assert StopAgent() in played.effects


def test_a_message_of_an_agent_that_was_cut_off_is_not_its_last_word() -> None:
    def person(played: SimulatedRun) -> None:
        if played.simulated.n_turns == 0:
            played.send("stop", now=True)
            played.simulated.said[1, 1] = asks("a or b?")

    played = play(finishes, person=person)
    assert played.run.question is None
    assert played.exit_code == 130


def test_several_meanings_in_one_iteration_the_first_wins() -> None:
    both = (promise("decide", "a or b?"), promise("blocked", "no key"))
    blocked = {"STATUS": "BLOCKED", "RECOMMENDATION": "x"}
    check_loop([turn(promises=both, **blocked)], ends=("blocked", 2))
    check_loop([asks("a or b?", **blocked)], ends=("decide", 3))
    check_loop([turn(**blocked)], ends=("stuck", 4), max_iterations=1)
    check_loop([asks("a?", validates=(False,))], ends=("fatal", 5))
    completes = turn(files=1, ticks=ONE_TASK, EXIT_SIGNAL="true", words=("a", "b"), promises=both)
    played = check_loop([completes], ends=("complete", 0), max_iterations=1)
    assert played.simulated.question is None
    assert played.simulated.blocked is None


def test_a_refused_completion_leaves_later_promises_valid() -> None:
    refused = turn(EXIT_SIGNAL="true", words=("a", "b"), promises=(promise("decide", "a or b?"),))
    played = check_loop([refused], ends=("decide", 3))
    assert len(played.events_of("completionRefused")) == 1


@pytest.mark.parametrize("wait", [False, True], ids=["exit", "wait"])
def test_an_effect_that_fails_is_fatal_and_ends_the_agent(wait: bool) -> None:
    def person(played: SimulatedRun) -> None:
        if played.run.phase is Phase.RUNNING:
            played.feed(EffectFailed(message="the disk is full"))

    played = check_loop(
        [progress], ends=("fatal", 5), message="the disk is full", wait=wait, person=person
    )
    assert StopAgent() in played.effects


def test_an_effect_that_fails_with_no_agent_is_fatal_all_the_same() -> None:
    played = play(asks("a or b?"), wait=True).go_on(EffectFailed(message="no such folder"))
    assert played.run.end is not None
    assert (played.run.end.message, played.exit_code) == ("no such folder", 5)
    assert StopAgent() not in played.effects


@pytest.mark.parametrize(
    ("by", "code"),
    [pytest.param("Ctrl-C", 130, id="ctrl-c"), pytest.param(BY_TERM, 143, id="term")],
)
def test_what_fails_while_everything_is_ended_at_once_is_no_failure(by: str, code: int) -> None:
    played = SimulatedRun(
        simulated=SimulatedProject(script=[progress, finishes]), config=settings()
    ).until(Awaits.EXIT)
    for _ in range(2 if by == "Ctrl-C" else 1):
        played.feed(Interrupted(by=by))
    played.feed(EffectFailed(message="bd was killed"))
    assert played.run.end is not None
    assert (played.run.end.reason, played.exit_code) == (EndReason.STOPPED, code)
    assert played.run.end.message == f"stopped by {by}; bd was killed"
    played.resume()
    assert played.events_of("iterationEnded")[0].outcome.value == "lost"


def test_an_iteration_that_an_effect_cut_off_is_closed_by_the_next_engine() -> None:
    def person(played: SimulatedRun) -> None:
        if played.run.start == 1:
            played.feed(EffectFailed(message="the disk is full"))

    played = play(progress, finishes, person=person).resume()
    assert played.exit_code == 0
    outcomes = [event.outcome.value for event in played.events_of("iterationEnded")]
    assert outcomes == ["lost", "progress", "progress"]


def test_a_clock_that_is_set_back_makes_no_iteration_shorter_than_its_agent() -> None:
    def person(played: SimulatedRun) -> None:
        if played.run.phase is Phase.RUNNING:
            played.now -= timedelta(hours=1)

    played = play(finishes, person=person)
    (exited,), (ended,) = played.events_of("agentExited"), played.events_of("iterationEnded")
    assert ended.at < played.events_of("iterationStarted")[0].at
    assert ended.seconds == exited.seconds > 0


def test_a_run_has_one_end_and_after_it_only_answers() -> None:
    played = play(finishes)
    n_events = len(played.events)
    played.go_on(EffectFailed(message="late"), Interrupted(by="Ctrl-C"))
    assert len(played.events) == n_events
    assert played.ignored[-2:] == ["the run has ended"] * 2
    assert sum(isinstance(effect, Finish) for effect in played.effects) == 1


def test_a_task_that_left_the_plan_is_fatal() -> None:
    check_loop(
        [],
        ends=("fatal", 5),
        message="no longer in the plan",
        simulated=SimulatedProject(script=[], tasks={}),
        task="a",
    )


def test_a_task_that_is_done_already_needs_no_agent() -> None:
    check_loop(
        [],
        ends=("complete", 0),
        iterations=0,
        simulated=SimulatedProject(script=[], tasks={"a": "done"}),
        task="a",
    )


def test_a_single_task_that_waits_for_another_says_for_which() -> None:
    waits = SimulatedProject(script=[], tasks={"a": "blocked"}, waits="waiting for b")
    message = "the task a is waiting for b"
    check_loop([], ends=("blocked", 2), message=message, iterations=0, simulated=waits, task="a")


def test_a_single_task_that_is_blocked_is_named() -> None:
    check_loop(
        [],
        ends=("blocked", 2),
        message="the task a is blocked in the plan",
        iterations=0,
        simulated=SimulatedProject(script=[], tasks={"a": "blocked"}),
        task="a",
    )


def test_a_single_task_is_complete_by_the_plan_alone() -> None:
    check_loop([claims_all, ticks_all], ends=("complete", 0), iterations=2, task=ONE_TASK[0])


def test_an_empty_plan_gets_a_confirming_iteration() -> None:
    simulated = SimulatedProject(script=[no_progress], tasks={})
    played = check_loop([], ends=("complete", 0), iterations=1, simulated=simulated)
    assert played.events_of("iterationStarted")[0].confirming


@pytest.mark.parametrize(
    ("looks", "iterations"),
    [
        pytest.param(timeout, 3, id="it timed out"),
        pytest.param(crash, 3, id="it failed"),
    ],
)
def test_only_a_confirming_iteration_that_came_to_its_end_confirms(
    looks: Turn, iterations: int
) -> None:
    after_it = [crash, no_progress] if looks is crash else [no_progress]
    check_loop([ticks_all, looks, *after_it], ends=("complete", 0), iterations=iterations)


@pytest.mark.parametrize(
    ("looks", "ends"),
    [
        pytest.param(turn(STATUS="BLOCKED"), ("stuck", 4), id="STATUS BLOCKED"),
        pytest.param(asks("really?"), ("decide", 3), id="DECIDE"),
        pytest.param(is_blocked("no key"), ("blocked", 2), id="BLOCKED"),
    ],
)
def test_a_confirming_iteration_that_needs_the_user_does_not_confirm(
    looks: Turn, ends: tuple[str, int]
) -> None:
    check_loop([ticks_all, looks], ends=ends)


def test_a_run_continues_until_it_had_its_least_iterations() -> None:
    check_loop(
        [finishes, no_progress, no_progress],
        ends=("complete", 0),
        iterations=3,
        min_iterations=3,
        breaker_enabled=False,
    )
