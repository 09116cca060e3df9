"""What a policy would have made of a trace: the rules of a run, on what the trace contains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.state import Awaits
from ralph_ls.core.replay.driver import ReplayDriver, SimulatedIteration, to_json
from ralph_ls.core.replay.trace import TraceLine, read_trace_value, simulate_lines
from ralph_ls.protocol.config.config import Config, ProfileName
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.project.config_file import settings_of
from tests.unit.core.replay.test_trace import JSON, LINES

WORKS: dict[str, Any] = {"report": {"STATUS": "IN_PROGRESS", "FILES_MODIFIED": 2}}
IDLE: dict[str, Any] = {"report": {"STATUS": "IN_PROGRESS"}}
DONE: dict[str, Any] = {"report": {"STATUS": "COMPLETE", "EXIT_SIGNAL": True, "FILES_MODIFIED": 1}}
SAYS_SO: dict[str, Any] = {"finalText": "All tasks are complete. There is nothing left to do."}
FAILS: dict[str, Any] = {"errors": ["error: no such file: a.py"]}


def lines_of(*given_lines: dict[str, Any]) -> list[TraceLine]:
    lines = [read_trace_value(line)[0] for line in given_lines]
    return [line for line in lines if line is not None]


def policy(profile: str = "fixplan", **overrides: Any) -> Config:
    """A profile's settings; ``__`` in a name is a dot."""
    dotted = {name.replace("__", "."): value for name, value in overrides.items()}
    return settings_of(ProfileName(profile), dotted)


def check(
    *given_lines: dict[str, Any],
    ends: tuple[str, int] | None = None,
    after: int | None = None,
    breaker: list[str] | None = None,
    reason: str | None = None,
    profile: str = "fixplan",
    **overrides: Any,
) -> list[SimulatedIteration]:
    """Simulate; say how it ends and after which iteration, or that it continues."""
    told = list(simulate_lines(lines_of(*given_lines), policy(profile, **overrides)))
    assert [one.iteration for one in told] == list(range(1, len(told) + 1))
    last = told[-1]
    verdict = None if last.verdict is None else (last.verdict.value, last.exit_code)
    assert verdict == ends, told
    assert last.iteration == (len(given_lines) if after is None else after)
    if breaker is not None:
        assert [one.breaker.value for one in told] == breaker
    if reason is not None:
        assert reason in last.reason
    return told


def test_a_run_that_works_continues() -> None:
    told = check(WORKS, WORKS, breaker=["CLOSED", "CLOSED"])
    assert to_json(told[0]) == {
        "iteration": 1,
        "breaker": "CLOSED",
        "reason": "Initial state",
        "verdict": "continue",
        "exitCode": None,
    }


def test_no_progress_opens_the_breaker_and_nothing_follows() -> None:
    told = check(
        IDLE,
        IDLE,
        IDLE,
        WORKS,
        ends=("stuck", 4),
        after=3,
        breaker=["CLOSED", "HALF_OPEN", "OPEN"],
        reason="3 iterations without progress",
    )
    assert told[1].reason == "2 iterations without progress"
    assert to_json(told[2])["verdict"] == "stuck"


def test_progress_closes_a_breaker_that_is_half_open() -> None:
    check(IDLE, IDLE, WORKS, breaker=["CLOSED", "HALF_OPEN", "CLOSED"])


def test_settings_are_those_of_the_policy() -> None:
    check(
        IDLE,
        IDLE,
        IDLE,
        breaker=["CLOSED", "CLOSED", "HALF_OPEN"],
        breaker__no_progress_open=4,
        breaker__no_progress_half_open=3,
    )
    check(WORKS, WORKS, WORKS, ends=("limit", 1), after=2, max_iterations=2)
    check(IDLE, IDLE, ends=("stuck", 4), max_stuck=2)


def test_the_same_error_opens_and_other_errors_do_not() -> None:
    same = {**WORKS, **FAILS}
    check(*[same] * 5, ends=("stuck", 4), reason="the same error")
    others = [{**WORKS, "errors": [f"error: {word}"]} for word in ("a", "b", "c", "d", "e")]
    check(*others)


def test_evidence_counts_and_claims_do_not() -> None:
    claims = {**WORKS, "evidence": {"commits": 0, "files": 0, "tasks": 0}}
    check(claims, claims, claims, ends=("stuck", 4))
    check(claims, claims, claims, profile="issue")
    quiet = {**IDLE, "evidence": {"commits": 1}}
    check(*[quiet] * 4)


@pytest.mark.parametrize("task", [{}, {"task": "a1"}])
def test_a_new_head_is_what_stories_ask_for(task: dict[str, Any]) -> None:
    check(*[{**IDLE, **task}] * 4, ends=("stuck", 4), after=3, profile="stories")
    check(*[{**WORKS, **task}] * 4, profile="stories")
    files_alone = {**IDLE, **task, "evidence": {"files": 3}}
    check(*[files_alone] * 3, ends=("stuck", 4), profile="stories")


class TestGates:
    def test_two_conditions_complete_fixplan(self) -> None:
        check({**DONE, **SAYS_SO}, ends=("complete", 0))
        check(DONE)
        check(DONE, {**DONE, **SAYS_SO, "plan": {"total": 3, "open": 1}})

    def test_the_marker_completes_spec(self) -> None:
        check({**WORKS, "plan": {"marker": True}}, ends=("complete", 0), profile="spec")
        check({**WORKS, "plan": {"total": 2, "open": 1, "marker": True}}, profile="spec")
        check({**DONE, **SAYS_SO}, profile="spec")

    def test_a_promise_completes_stories(self) -> None:
        check({**WORKS, "promise": "COMPLETE"}, ends=("complete", 0), profile="stories")
        refused = {**WORKS, "promise": "COMPLETE", "plan": {"total": 2, "open": 1}}
        check(refused, profile="stories")

    def test_an_empty_queue_completes_beads_before_the_next_iteration(self) -> None:
        done = {**WORKS, "plan": {"total": 2, "open": 0}}
        check(WORKS, done, WORKS, ends=("complete", 0), after=2, profile="beads")
        check(WORKS, done, ends=("complete", 0), profile="beads")
        check(WORKS, WORKS, profile="beads")

    def test_a_status_completes_an_issue(self) -> None:
        check({"report": {"PR_READY": True}}, ends=("complete", 0), profile="issue")
        asks = {"report": {"STATUS": "NEEDS_CLARIFICATION", "CLARIFICATION_QUESTIONS": "red?"}}
        check(asks, ends=("decide", 3), reason="red?", profile="issue")

    def test_a_plan_that_is_done_is_confirmed_by_one_more_iteration(self) -> None:
        done = {**WORKS, "plan": {"total": 2, "open": 0}}
        quiet = {**IDLE, "plan": {"total": 2, "open": 0}}
        check(done, quiet, IDLE, ends=("complete", 0), after=2)

    def test_of_a_plan_that_is_not_known_nothing_is_confirmed(self) -> None:
        check(WORKS, IDLE, IDLE, WORKS)


class TestPlan:
    def test_nothing_but_blocked_tasks_ends_the_run(self) -> None:
        blocked = {**WORKS, "plan": {"total": 3, "open": 2, "blocked": 2}}
        check(WORKS, blocked, WORKS, ends=("blocked", 2), after=2)
        check(WORKS, blocked, ends=("blocked", 2))

    def test_a_task_that_was_taken_all_the_same_was_not_blocked(self) -> None:
        blocked = {**WORKS, "plan": {"total": 3, "open": 2, "blocked": 2}}
        check(blocked, {**WORKS, "task": "a1"})

    def test_attempts_need_a_task(self) -> None:
        told = check(*[{**IDLE, "task": "a1"}] * 3, profile="spec")
        assert [one.breaker.value for one in told] == ["CLOSED", "HALF_OPEN", "HALF_OPEN"]
        check(*[IDLE] * 3, ends=("stuck", 4), profile="spec")

    def test_a_task_that_is_set_aside_is_taken_no_more(self) -> None:
        tries = [{**IDLE, "task": "a1"}] * 3
        check(*tries, {**IDLE, "task": "a1"}, profile="beads")
        left = {**IDLE, "task": "a1", "plan": {"total": 2, "open": 1}}
        check(*[left] * 3, ends=("blocked", 2), profile="beads")

    def test_a_single_task_is_not_asked_for(self) -> None:
        check(WORKS, WORKS, task="a1")


class TestEnds:
    def test_promises_end_the_run_in_every_profile(self) -> None:
        for profile in ProfileName:
            asks = {**WORKS, "promise": "DECIDE:red or blue?"}
            check(asks, WORKS, ends=("decide", 3), after=1, reason="red", profile=profile.value)
            stops = {**WORKS, "finalText": "<promise>BLOCKED:no key</promise>"}
            check(stops, ends=("blocked", 2), reason="no key", profile=profile.value)

    def test_nobody_is_there_to_wait_for(self) -> None:
        asks = {**WORKS, "promise": "DECIDE:red or blue?"}
        check(asks, WORKS, ends=("decide", 3), after=1, on_halt="wait")

    def test_three_crashes_are_fatal(self) -> None:
        crash = {"exitCode": 1, "evidence": {}}
        check(*[crash] * 3, ends=("fatal", 5), breaker__enabled=False)
        silent = {"finalText": ""}
        check(*[silent] * 3, ends=("fatal", 5), breaker__enabled=False)

    def test_a_validation_that_fails_is_fatal(self) -> None:
        check({**WORKS, "validated": True}, {**WORKS, "validated": False}, ends=("fatal", 5))

    def test_running_out_of_time_stops_where_the_policy_says_so(self) -> None:
        late = {**WORKS, "timedOut": True}
        check(late)
        check(late, ends=("fatal", 5), on_timeout="stop")

    def test_permissions_that_are_denied_open_the_breaker(self) -> None:
        denied = {"report": {"STATUS": "IN_PROGRESS"}, "deniedTools": ["Bash"]}
        check(denied, denied, ends=("stuck", 4), reason="Bash")

    def test_permissions_that_kept_nobody_from_working_open_nothing(self) -> None:
        denied = {**WORKS, "deniedTools": ["Bash"]}
        told = check(*[denied] * 4, ends=None)
        assert {one.breaker.value for one in told} == {"CLOSED"}

    def test_a_question_leaves_the_count_of_no_progress(self) -> None:
        quiet = {"report": {"STATUS": "IN_PROGRESS"}}
        asks = {"promise": {"kind": "decide", "text": "red or blue?"}}
        assert check(quiet, asks, ends=("decide", 3))[-1].breaker.value == "CLOSED"

    def test_a_usage_limit_is_waited_for_and_counts_for_nothing(self) -> None:
        limited = {"limit": True, "report": {"STATUS": "IN_PROGRESS"}}
        told = check(limited, WORKS, limited, limited, WORKS, ends=("limit", 1), max_iterations=2)
        assert {one.breaker.value for one in told} == {"CLOSED"}

    def test_time_is_made_up(self) -> None:
        check(*[WORKS] * 5, ends=("limit", 1), after=3, max_duration="3m")
        limited = {"limit": True}
        check(
            WORKS, limited, WORKS, ends=("limit", 1), after=2, max_duration="10m", limit_wait="1h"
        )
        check(*[WORKS] * 2, cooldown="5m")


def test_an_empty_trace_says_nothing() -> None:
    assert list(simulate_lines([], policy())) == []


def test_no_more_of_a_trace_is_read_than_is_needed() -> None:
    read: list[int] = []

    def endless() -> Iterator[TraceLine]:
        for number in itertools.count(1):
            read.append(number)
            yield from lines_of(WORKS)

    assert len(list(simulate_lines(endless(), policy(max_iterations=5)))) == 5
    assert read == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_a_long_trace_is_not_kept() -> None:
    rehearsal = ReplayDriver()
    rehearsal.start(policy("stories", max_iterations=10_000, max_stuck=1000))
    assert rehearsal.awaits is Awaits.PREPARED
    lines = lines_of(*[WORKS] * 300)
    told = list(simulate_lines(iter(lines), policy("stories", max_iterations=10_000)))
    assert len(told) == 300


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "gate.rule": st.sampled_from(["marker", "dual", "verified", "queue", "status"]),
        "on_halt": st.sampled_from(["exit", "wait"]),
        "on_blocked": st.sampled_from(["open", "set-aside", "nothing"]),
        "max_iterations": st.integers(1, 5),
        "max_stuck": st.integers(1, 3),
        "attempts.limit": st.integers(0, 2),
        "attempts.mark": st.booleans(),
        "min_iterations": st.integers(0, 3),
        "cooldown": st.integers(0, 10),
        "max_duration": st.integers(1, 300),
    },
)
SENSIBLE = st.fixed_dictionaries(
    {},
    optional={
        "report": st.fixed_dictionaries(
            {"STATUS": st.sampled_from(["COMPLETE", "BLOCKED", "IN_PROGRESS", "ADDED"])},
            optional={"EXIT_SIGNAL": st.booleans(), "FILES_MODIFIED": st.integers(0, 2)},
        ),
        "evidence": st.fixed_dictionaries({"commits": st.integers(0, 1), "files": st.just(1)}),
        "errors": st.lists(st.just("error: 1"), max_size=1),
        "promise": st.sampled_from(["COMPLETE", "BLOCKED:x", "DECIDE:x"]),
        "finalText": st.sampled_from(["", "All tasks are complete.", "working"]),
        "plan": st.fixed_dictionaries({"total": st.just(2), "open": st.integers(0, 2)}),
        "task": st.sampled_from(["a", "b"]),
        "limit": st.booleans(),
        "exitCode": st.integers(0, 1),
        "timedOut": st.booleans(),
        "validated": st.just(True),
    },
)
VERDICTS = {*EndReason} - {EndReason.STOPPED}


@given(st.lists(SENSIBLE | LINES | JSON, max_size=8), st.sampled_from(ProfileName), SETTINGS)
def test_any_trace_is_reported_line_by_line_until_its_end(
    values: list[Any], profile: ProfileName, overrides: dict[str, Any]
) -> None:
    lines = [line for value in values if (line := read_trace_value(value)[0]) is not None]
    told = list(simulate_lines(iter(lines), settings_of(profile, overrides)))
    assert [one.iteration for one in told] == list(range(1, len(told) + 1))
    assert len(told) <= len(lines)
    for one in told:
        assert (one.verdict is None) is (one.exit_code is None)
        assert one.verdict is None or one.verdict in VERDICTS
        assert (to_json(one)["verdict"] == "continue") is (one.exit_code is None)
    assert all(one.verdict is None for one in told[:-1]), "nothing follows an end"
    if told and told[-1].verdict is None:
        assert len(told) == len(lines), "a run without an end goes on to the last line"
