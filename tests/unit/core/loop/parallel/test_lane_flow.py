"""Flow of a parallel run: lanes, merges, repairs, usage limits, failures and ends."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import (
    AnnouncementDone,
    CommandUnreadable,
    EffectFailed,
    Resumed,
    Started,
    WaitElapsed,
)
from ralph_ls.core.loop.lanes import (
    AdvanceBranch,
    CloseLane,
    LaneAdvanced,
    LaneDeferred,
    LaneEngineGone,
    LaneFailed,
    LaneObserved,
    LaneOpened,
    LaneRebased,
    LaneRefused,
    LaneRunFinished,
    OpenLane,
    ReadBranchPlan,
    RebaseLane,
    SteerLane,
)
from ralph_ls.core.loop.state import LoopState
from ralph_ls.protocol.run.values import EndReason, MergeProblem, Phase, PlanCountsView
from tests.unit.core.loop.parallel.simulated_lanes import SimulatedSession, session, tasks
from tests.unit.core.loop.simulated_run import RUN

CONFLICT, VALIDATION = MergeProblem.CONFLICT, MergeProblem.VALIDATION


def end_of(run: SimulatedSession) -> tuple[str, str]:
    assert run.run.end is not None
    return run.run.end.reason.value, run.run.end.message


def until(run: SimulatedSession, name: str) -> SimulatedSession:
    """Play until this is what the world answers next."""
    return run.go_on(lambda: run.queue[0][0] == name)


def test_tasks_are_given_to_as_many_lanes_as_there_are() -> None:
    run = session("a", "b", "c", settings={"parallel": 2}).start()
    assert run.ordered(ReadBranchPlan)
    run.take(0)
    phases = [event.phase for event in run.of_kind("phaseChanged")]
    assert phases == [Phase.STARTING, Phase.PREPARING, Phase.RUNNING]
    assert [one.task for one in run.ordered(OpenLane)] == ["a", "b"]
    assert [(one.lane, one.task.id) for one in run.run.lanes] == [(1, "a"), (2, "b")]
    assert run.lane("a").branch == f"ralph/{RUN}/a-1"
    assert run.lane("b").worktree == f"/state/lanes/{RUN}/b-2"
    run.go_on()
    assert end_of(run) == ("complete", f"3 tasks merged into ralph/session-{RUN}")
    assert [task for _, task in run.world.branch] == ["a", "b", "c"]
    assert run.lane("c").lane == 1, "a number is given again"
    assert sorted(run.world.closed) == ["a", "b", "c"]
    assert run.run.counts.required_done == 3


def test_one_merge_follows_the_other() -> None:
    run = until(session("a", "b").start(), "rebase a")
    until(run, "advance a")
    assert run.states() == {"a": "merging", "b": "queued"}
    assert [one.task for one in run.ordered(RebaseLane)] == ["a"]
    until(run, "rebase b")
    assert run.states() == {"a": "merged", "b": "queued"}
    assert run.ordered(AdvanceBranch) == [
        AdvanceBranch(task="a", onto="base", head="a on base", commits=2)
    ]


def test_a_branch_that_has_moved_is_rebased_upon_again() -> None:
    run = until(session("a").start(), "advance a")
    run.queue.clear()
    run.feed(LaneRebased(task="a", onto="other", head="a on other", commits=2))
    assert [one.onto for one in run.of_kind("mergeStarted")] == ["base", "other"]
    run.queue.clear()
    run.feed(LaneRebased(task="a", onto="other", head="a on other", commits=2))
    assert len(run.of_kind("mergeStarted")) == 2
    assert len(run.ordered(AdvanceBranch)) == 3


def test_a_conflict_is_repaired_once_and_one_at_a_time() -> None:
    refusals = {"a": [CONFLICT], "b": [CONFLICT]}
    run = session("a", "b", "c", refusals=refusals, settings={"parallel": 3}).start()
    until(run, "rebase b")
    repair = run.ordered(OpenLane)[-1]
    assert (repair.task, repair.repair, repair.resume) == ("a", CONFLICT, False)
    assert repair.message == "a: conflict"
    run.take(0)
    assert run.lane("b").problem is CONFLICT
    assert [one.task for one in run.ordered(OpenLane)] == ["a", "b", "c", "a"]
    run.go_on()
    assert end_of(run)[0] == "complete"
    assert [task for _, task in run.world.branch] == ["c", "a", "b"]
    assert run.lane("a").refusals == 1
    assert run.lane("a").problem is None


def test_a_second_conflict_is_for_the_user_and_the_others_continue() -> None:
    run = session("a", "b", refusals={"a": [CONFLICT, CONFLICT]}).start().go_on()
    assert run.states() == {"a": "parked", "b": "merged"}
    assert run.lane("a").message == "a: conflict"
    reason, message = end_of(run)
    assert reason == "blocked"
    assert message == f"1 task merged into ralph/session-{RUN}, 1 parked for you (Task a)"
    assert "a" not in run.world.closed
    run.resume().go_on()
    assert end_of(run)[0] == "complete"
    assert len(run.of_kind("laneRunStarted")) == 3, "it was only merged again"


def test_what_validation_refuses_goes_to_the_next_iteration() -> None:
    run = session("a", "b", refusals={"a": [VALIDATION], "b": [VALIDATION]}).start().go_on()
    repairs = [(one.task, one.repair, one.message) for one in run.ordered(OpenLane)[2:]]
    assert repairs == [("a", VALIDATION, "a: validation"), ("b", VALIDATION, "b: validation")]
    assert end_of(run)[0] == "complete"


@pytest.mark.parametrize("problem", [MergeProblem.BRANCH, MergeProblem.UNRESOLVED])
def test_a_merge_that_no_agent_can_repair_is_for_the_user(problem: MergeProblem) -> None:
    run = session("a", refusals={"a": [problem]}).start().go_on()
    assert run.states() == {"a": "parked"}
    assert end_of(run)[0] == "blocked"


def test_merges_of_the_same_files_wait_for_a_repair() -> None:
    world: dict[str, Any] = {"refusals": {"a": [CONFLICT]}, "same_files": frozenset("b")}
    run = session("a", "b", "c", settings={"parallel": 3}, **world).start()
    run.go_on()
    assert RebaseLane(task="b", in_repair=("src/a.py",)) in run.ordered(RebaseLane)
    assert [task for _, task in run.world.branch] == ["c", "a", "b"]


def test_a_task_waits_for_the_merge_of_what_it_needs() -> None:
    run = session("a", "b", needs={"b": ["a"]}).start()
    until(run, "advance a")
    assert [one.task for one in run.ordered(OpenLane)] == ["a"]
    run.go_on()
    assert end_of(run)[0] == "complete"


def test_a_plan_that_was_read_before_a_merge_is_read_again() -> None:
    run = session("a", "b").start()
    run.go_on(lambda: bool(run.of_kind("laneMerged")))
    names = [name for name, _ in run.queue]
    run.take(names.index("rebase b"))
    names = [name for name, _ in run.queue]
    run.take(names.index("advance b"))
    assert [name for name, _ in run.queue] == ["plan"]
    stale = run.world.plan()
    run.queue[0] = ("plan", lambda: stale)
    run.take(0)
    assert run.run.end is None
    run.go_on()
    assert end_of(run)[0] == "complete"


def test_others_pause_while_one_waits_for_the_account_and_continue_one_by_one() -> None:
    run = session("a", "b", "c", "d", settings={"parallel": 3}, turns={"a": ["account"]}).start()
    until(run, "work a")
    run.take(0)
    assert run.steered() == [("b", "pause"), ("c", "pause")]
    for task in "bc":
        run.feed(LaneObserved(task=task, phase=Phase.PAUSED))
        lane = run.world.run_of(task)
        assert lane is not None
        lane.park(Phase.PAUSED, None)
    run.feed(LaneObserved(task="a", phase=Phase.RUNNING))
    assert run.steered()[2:] == [("b", "resume")]
    run.send("note", text="use tabs")
    assert ("c", "resume") not in run.steered()
    run.feed(LaneObserved(task="b", phase=Phase.RUNNING))
    assert run.steered()[-1] == ("c", "resume")


def test_no_lane_continues_while_another_one_waits_for_its_model() -> None:
    run = until(session("a", "b", turns={"a": ["account"]}).start(), "work a")
    run.take(0)
    run.feed(LaneObserved(task="a", phase=Phase.WAITING, reason="retry"))
    assert run.steered() == [("b", "pause")]
    run.feed(LaneObserved(task="a", phase=Phase.RUNNING))
    assert run.steered() == [("b", "pause"), ("b", "resume")], "it had not paused yet"


def test_no_lane_is_opened_while_one_waits_for_the_account() -> None:
    run = session("a", "b", "c", turns={"a": ["account"]}).start()
    until(run, "work a")
    run.take(0)
    run.feed(LaneRunFinished(task="b", run="run-2", reason=EndReason.COMPLETE, message="done"))
    run.queue = [one for one in run.queue if one[0] != "wait a"]
    run.go_on()
    assert run.states() == {"a": "working", "b": "merged"}


def test_a_question_parks_the_run_when_all_wait() -> None:
    run = session("a", "b", turns={"a": ["asks"]}, settings={"on_halt": "wait"}).start().go_on()
    assert (run.run.phase, run.run.phase_reason) == (Phase.PARKED, "decide")
    assert run.states() == {"a": "working", "b": "merged"}
    run.send("answer", text="polling")
    run.go_on()
    assert end_of(run)[0] == "complete"


def test_a_question_nobody_answers_ends_the_run_and_keeps_its_lane() -> None:
    run = session("a", "b", turns={"a": ["asks"]}).start().go_on()
    assert run.steered() == [("a", "stop")]
    assert end_of(run)[0] == "decide"
    assert run.states() == {"a": "parked", "b": "merged"}
    assert run.lane("a").message == "a: which?"
    run.resume().go_on()
    assert run.ordered(OpenLane)[-1].resume
    assert end_of(run)[0] == "complete"


def test_a_blocked_lane_waits_for_the_user_or_ends_the_run() -> None:
    run = session("a", "b", turns={"a": ["blocked"]}, settings={"on_halt": "wait"})
    run.start().go_on()
    assert (run.run.phase, run.run.phase_reason) == (Phase.PARKED, "blocked")
    ended = session("a", "b", turns={"a": ["blocked"]}).start().go_on()
    assert end_of(ended)[0] == "blocked"
    assert ended.lane("a").message == "it waits for you: blocked"


def test_a_lane_whose_reason_to_wait_is_unknown_is_blocked() -> None:
    run = until(session("a").start(), "work a")
    run.queue.clear()
    run.feed(LaneObserved(task="a", phase=Phase.PARKED))
    run.feed(
        LaneRunFinished(
            task="a", run="run-1", reason=EndReason.STOPPED, message="m", by="the breaker"
        )
    )
    assert run.lane("a").message == "it waits for you: it is blocked"


def test_a_lane_that_waits_holds_no_other_task_up() -> None:
    settings = {"parallel": 1, "on_halt": "wait", "max_iterations": None}
    run = session("a", "b", "c", turns={"a": ["asks"]}, settings=settings)
    run.start().go_on()
    assert run.states() == {"a": "working", "b": "merged", "c": "merged"}


def test_a_repair_that_asks_does_not_leave_the_others_waiting_for_ever() -> None:
    refusals = {"a": [CONFLICT], "b": [CONFLICT]}
    run = session("a", "b", refusals=refusals, turns={"a": ["complete", "asks"]}).start().go_on()
    assert run.states() == {"a": "parked", "b": "merged"}
    assert end_of(run)[0] == "decide"


@pytest.mark.parametrize("on_halt", ["wait", "exit"])
def test_a_stuck_lane_is_stopped_and_parked(on_halt: str) -> None:
    run = session("a", "b", settings={"on_halt": on_halt}).start()
    until(run, "work a")
    lane = run.world.run_of("a")
    assert lane is not None
    lane.counted = 3
    run.world.turns = {"a": ["stuck"]}
    run.go_on()
    assert run.steered() == [("a", "stop")]
    assert run.lane("a").message == "it made no progress, so its breaker opened"
    assert run.states() == {"a": "parked", "b": "merged"}


def test_a_lane_without_any_work_is_closed() -> None:
    run = session("a", "b", turns={"a": ["no-agent"]}).start().go_on()
    assert run.states() == {"a": "dropped", "b": "merged"}
    left = "1 task left, and none of them can be taken"
    merged = f"1 task merged into ralph/session-{RUN}, 1 set aside (Task a)"
    assert end_of(run) == ("stuck", f"{left}; {merged}")
    run.resume().go_on()
    assert end_of(run)[0] == "complete"


def test_failures_in_a_row_end_the_run() -> None:
    names = tuple("abcdef")
    run = session(*names, turns={name: ["no-agent"] for name in names}).start().go_on()
    reason, message = end_of(run)
    assert reason == "stuck"
    assert message.startswith("3 lanes in a row failed; 0 tasks merged into ")
    assert len(run.run.lanes) == 3


def test_a_merge_ends_the_row_of_failures() -> None:
    names = tuple("abcde")
    turns = {"a": ["fail"], "c": ["fail"], "e": ["fail"]}
    run = session(*names, turns=turns, settings={"parallel": 1}).start().go_on()
    assert run.states() == {
        "a": "parked", "b": "merged", "c": "parked", "d": "merged", "e": "parked"
    }  # fmt: skip
    assert end_of(run)[0] == "blocked"


def test_an_engine_that_dies_is_continued_twice() -> None:
    run = session("a", "b", turns={"a": ["crash"] * 3}).start().go_on()
    assert [one.resume for one in run.ordered(OpenLane) if one.task == "a"] == [False, True, True]
    assert run.states() == {"a": "parked", "b": "merged"}
    assert run.lane("a").message == (
        "the engine of its run died 3 times; see engine.err of run run-1, then continue with: "
        "ralph run --resume"
    )
    run.world.turns = {"a": ["crash"]}
    run.resume().go_on()
    assert end_of(run)[0] == "complete"


def test_a_run_that_its_user_stopped_is_parked_with_the_name() -> None:
    run = session("a", "b", turns={"a": ["stopped"]}).start().go_on()
    assert run.lane("a").message == "stopped by Ada"
    assert end_of(run)[0] == "blocked"
    by_nobody = until(session("a").start(), "work a")
    by_nobody.feed(LaneRunFinished(task="a", run="run-1", reason=EndReason.STOPPED, message="m"))
    assert by_nobody.lane("a").message == "stopped by somebody"


def test_nothing_left_to_take_is_an_end() -> None:
    run = session("a", "b", needs={"b": ["x"]}).start().go_on()
    assert end_of(run) == (
        "stuck",
        f"1 task left, and none of them can be taken; 1 task merged into ralph/session-{RUN}",
    )


def test_a_plan_without_tasks_is_not_complete() -> None:
    run = session().start().go_on()
    assert end_of(run)[0] == "stuck"


def test_shares_never_exceed_the_limits() -> None:
    run = session("a", "b", "c", "d", settings={"parallel": 4, "max_iterations": 10}).start()
    run.take(0)
    assert [one.limits.iterations for one in run.ordered(OpenLane)] == [2, 2, 1, 1]
    few = session("a", "b", "c", settings={"parallel": 3, "max_iterations": 2}).start()
    few.take(0)
    assert [one.limits.iterations for one in few.ordered(OpenLane)] == [1, 1]


def test_tokens_and_cost_are_shared_as_well() -> None:
    settings: dict[str, Any] = {
        "parallel": 3, "max_tokens": 100, "max_cost_usd": 1.0, "max_duration": "1h",
        "max_iterations": None,
    }  # fmt: skip
    run = session("a", "b", "c", settings=settings).start()
    run.take(0)
    given = [one.limits for one in run.ordered(OpenLane)]
    assert [one.tokens for one in given] == [33, 33, 34]
    assert [one.cost_usd for one in given] == [0.3333, 0.3333, 0.3334]
    assert all(one.iterations is None for one in given)
    assert all(3590 < (one.seconds or 0) <= 3600 for one in given)
    until(run, "work a")
    assert (run.lane("a").max_tokens, run.lane("a").max_cost_usd) == (33, 0.3333)


def test_a_limit_too_small_to_divide_is_given_whole() -> None:
    settings = {"parallel": 3, "max_tokens": 2, "max_cost_usd": 0.0001}
    run = session("a", "b", "c", settings=settings).start()
    run.take(0)
    given = [one.limits for one in run.ordered(OpenLane)]
    assert [one.tokens for one in given] == [1, 1]
    assert all(0 < (one.cost_usd or 0) < 0.0001 for one in given)


def test_a_lane_that_used_its_share_gets_what_others_leave() -> None:
    settings = {"parallel": 2, "max_iterations": 4}
    run = session("a", "b", turns={"a": ["all"]}, settings=settings).start().go_on()
    shares = [(one.task, one.limits.iterations) for one in run.ordered(OpenLane)]
    assert shares == [("a", 1), ("b", 1), ("a", 1)]
    assert end_of(run)[0] == "complete"
    assert run.run.counted == run.world.used == 3
    assert run.lane("a").runs == 1, "the same run continues, with the counters of its breaker"


def test_a_lane_waits_for_what_others_may_leave() -> None:
    settings = {"parallel": 2, "max_iterations": 2}
    run = session("a", "b", turns={"a": ["all"]}, settings=settings).start()
    until(run, "work b")
    assert run.states() == {"a": "working", "b": "working"}
    assert [one.task for one in run.ordered(OpenLane)] == ["a", "b"], "b may use the last one"
    run.go_on()
    assert end_of(run)[0] == "limit"
    assert run.states() == {"a": "parked", "b": "merged"}


def test_lanes_that_wait_for_their_user_leave_iterations_for_others() -> None:
    settings = {"parallel": 2, "max_iterations": 8, "on_halt": "wait"}
    asks = {"a": ["asks"], "b": ["asks"]}
    run = session("a", "b", "c", "d", turns=asks, settings=settings).start().go_on()
    assert run.states() == {"a": "working", "b": "working", "c": "merged", "d": "merged"}
    assert (run.run.phase, run.run.phase_reason) == (Phase.PARKED, "decide")


def test_a_run_whose_limits_are_used_up_ends_and_continues_with_higher_ones() -> None:
    settings: dict[str, Any] = {"parallel": 1, "max_iterations": 2}
    run = session("a", "b", turns={"a": ["all", "all"]}, settings=settings).start().go_on()
    reason, message = end_of(run)
    assert reason == "limit"
    assert "1 parked for you (Task a)" in message
    assert run.lane("a").message == "ended: limit"
    more = session("a", "b", settings={**settings, "max_iterations": 9}).config
    run.resume(config=more).go_on()
    assert end_of(run)[0] == "complete"


def test_a_lane_that_used_nothing_of_its_share_is_parked() -> None:
    run = until(session("a").start(), "work a")
    run.queue.clear()
    run.feed(LaneRunFinished(task="a", run="run-1", reason=EndReason.LIMIT, message="no tokens"))
    assert run.states() == {"a": "parked"}


def test_a_repair_for_which_nothing_is_left_is_parked_with_its_problem() -> None:
    settings = {"parallel": 1, "max_iterations": 1}
    run = session("a", refusals={"a": [CONFLICT]}, settings=settings).start().go_on()
    assert run.lane("a").message == "the limits of the run are reached: a: conflict"
    assert end_of(run)[0] == "limit"


def test_a_resumed_run_of_a_lane_is_counted_once() -> None:
    run = until(session("a").start(), "work a")
    run.send("stop")
    lane = run.world.run_of("a")
    assert lane is not None
    lane.counted = 2
    run.take([name for name, _ in run.queue].index("steer a"))
    run.go_on()
    assert (run.run.counted, run.lane("a").iterations) == (2, 2)
    usage = run.run.usage
    assert usage is not None
    assert (usage.input_tokens, usage.cost_usd) == (20, 0.02)
    run.resume().go_on()
    assert (run.run.counted, run.lane("a").iterations, run.lane("a").runs) == (3, 3, 1)
    usage = run.run.usage
    assert usage is not None
    assert (usage.input_tokens, usage.cost_usd) == (30, 0.03)
    assert lane.limit == 27, "a quarter of the 98 that were left, beside the two that were counted"


def test_a_lane_that_is_alive_is_followed_again() -> None:
    run = until(session("a", "b").start(), "work a")
    run.resume()
    assert [one.resume for one in run.ordered(OpenLane)[2:]] == [True, True]
    run.go_on()
    assert len(run.of_kind("laneRunStarted")) == 2
    assert end_of(run)[0] == "complete"


def test_a_pause_does_not_outlive_the_engine_that_passed_it_on() -> None:
    run = until(session("a", "b").start(), "work a")
    run.send("pause")
    for _ in range(2):
        run.take([name.startswith("steer") for name, _ in run.queue].index(True))
    assert {one.phase for one in run.run.lanes} == {Phase.PAUSED}
    run.resume().go_on()
    assert run.steered()[2:] == [("a", "resume"), ("b", "resume")]
    assert end_of(run)[0] == "complete"


def test_a_lane_for_which_nothing_is_left_is_parked_when_the_run_is_resumed() -> None:
    run = until(session("a", settings={"max_duration": "1h"}).start(), "work a")
    run.config = session("a", settings={"max_duration": "1s"}).config
    run.resume()
    assert run.steered() == [("a", "stop")]
    assert run.states() == {"a": "parked"}
    assert run.lane("a").message == "the limits of the run are reached"


def test_so_is_one_once_the_hours_of_the_run_are_over() -> None:
    run = until(session("a").start(), "work a")
    run.config = session("a", settings={"run": {"until": "07:00"}}).config
    run.state = LoopState(run=fold(run.events))
    run.queue.clear()
    run.feed(Resumed(by="Ada", facts=run.facts(ends_at=run.now)))
    assert run.states() == {"a": "parked"}
    assert run.lane("a").message == "the limits of the run are reached"


def test_what_was_skipped_stays_so_when_the_run_is_resumed() -> None:
    run = session("a", "b", turns={"a": ["fail"]}, settings={"on_halt": "wait"}).start().go_on()
    run.send("skip", task="a")
    run.resume().go_on()
    assert run.states() == {"a": "parked", "b": "merged"}


def test_inputs_before_the_start_and_a_second_start_are_ignored() -> None:
    run = session("a")
    run.feed(WaitElapsed())
    run.feed(Resumed(by="Ada", facts=run.facts()))
    assert run.ignored == [
        "the engine has not started this run yet",
        "there is no run to resume",
    ]
    run.start()
    run.feed(Started(run=RUN, facts=run.facts()))
    assert run.ignored[-1] == "the run already has an engine"
    run.go_on()
    run.feed(Resumed(by="Ada", facts=run.facts()))
    assert run.ignored[-1] == "the run already has an engine"
    run.feed(WaitElapsed())
    assert run.ignored[-1] == "the run has ended"
    run.resume()
    assert run.ignored[-1] == "the run is complete"


def test_an_ended_run_answers_commands_and_announcements() -> None:
    run = session("a").start().go_on()
    run.send("pause")
    assert run.of_kind("commandRejected")[-1].code == "ended"
    run.feed(CommandUnreadable(id="c" * 12, code="syntax", reason="no JSON"))
    run.feed(AnnouncementDone(code="on-pr-ready", message="it failed"))
    assert [event.kind for event in run.events[-2:]] == ["commandRejected", "warned"]


@pytest.mark.parametrize(
    "given",
    [
        LaneOpened(task="a", run="x", base="base"),
        LaneFailed(task="a", message="no"),
        LaneRebased(task="a", onto="base", head="h", commits=1),
        LaneRefused(task="a", problem=CONFLICT, message="no"),
        LaneDeferred(task="a"),
        LaneAdvanced(task="a", head="h", commits=1, counts=PlanCountsView()),
    ],
)
def test_answers_that_no_order_asked_for_are_ignored(given: Any) -> None:
    run = until(session("a").start(), "work a")
    run.feed(given)
    assert run.ignored == ["the lane does not wait for that"]


def test_a_lane_that_is_over_or_unknown_is_ignored() -> None:
    run = session("a", "b").start()
    until(run, "advance b")
    for task in ("a", "z"):
        run.feed(LaneObserved(task=task, phase=Phase.PARKED))
        run.feed(LaneEngineGone(task=task))
    assert set(run.ignored) == {"no lane works on that"}
    run.feed(LaneRunFinished(task="b", run="run-2", reason=EndReason.COMPLETE, message="again"))
    assert run.ignored[-1] == "the lane does not wait for that"


def test_a_merge_that_was_not_announced_is_not_believed() -> None:
    run = until(session("a").start(), "rebase a")
    run.feed(LaneAdvanced(task="a", head="h", commits=1, counts=PlanCountsView()))
    assert run.ignored == ["the branch has not been moved for it"]


def test_what_was_observed_already_is_no_news() -> None:
    run = until(session("a").start(), "work a")
    run.feed(LaneObserved(task="a", phase=Phase.RUNNING))
    assert run.ignored == ["nothing has changed"]


def test_an_iteration_is_none_of_a_parallel_run() -> None:
    run = session("a").start()
    run.feed(WaitElapsed())
    assert run.ignored == ["a parallel run has no iterations"]
    run.feed(AnnouncementDone(code="x", message="m"))
    run.feed(CommandUnreadable(id="c" * 12, code="syntax", reason="no JSON"))
    assert [event.kind for event in run.events[-2:]] == ["warned", "commandRejected"]


def test_an_effect_that_fails_ends_the_run_and_stops_its_lanes() -> None:
    run = until(session("a", "b").start(), "work a")
    run.feed(EffectFailed(message="no space left"))
    assert run.steered() == [("a", "stop"), ("b", "stop")]
    reason, message = end_of(run)
    assert reason == "fatal"
    assert message.startswith("no space left; 0 tasks merged into ")


def test_a_run_that_ended_unseen_is_counted() -> None:
    run = until(session("a").start(), "work a")
    run.queue.clear()
    run.feed(LaneRunFinished(task="a", run="run-7", reason=EndReason.COMPLETE, message="done"))
    assert run.states() == {"a": "queued"}
    assert (run.lane("a").run, run.lane("a").runs) == ("run-7", 2)


def test_closed_lanes_are_closed_again_by_the_next_engine() -> None:
    run = until(session("a", "b", settings={"parallel": 1}).start(), "open b")
    run.effects.clear()
    run.resume()
    assert CloseLane(task="a") in run.effects
    assert not run.ordered(SteerLane)


def test_a_direct_run_merges_into_the_branch_that_is_checked_out() -> None:
    run = session("a", settings={"lane": {"direct": True}}).start().go_on()
    assert end_of(run)[1] == "1 task merged into main"
    onto = session("a", settings={"lane": {"onto": "work"}}).start().go_on()
    assert end_of(onto)[1] == "1 task merged into work"


def test_open_tasks_have_no_needs_of_their_own() -> None:
    assert tasks("a")[0].waits_for == frozenset()
