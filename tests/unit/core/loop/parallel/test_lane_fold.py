"""Fold over the events of lanes: what viewers know of a parallel run."""

from __future__ import annotations

from typing import Any

from ralph_ls.core.loop.fold import apply, fold
from ralph_ls.core.loop.fold.lane_changes import changes_of_lane
from ralph_ls.protocol.run.events import (
    Event,
    LaneDropped,
    LaneMerged,
    LaneParked,
    LaneRunEnded,
    LaneRunStarted,
    LaneStarted,
    LaneWaiting,
    MergeStarted,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import EndReason, LaneState, Phase, PlanCountsView, TaskRef
from tests.unit.core.loop.parallel.simulated_lanes import session
from tests.unit.core.loop.simulated_run import BEGIN, RUN

TASK = TaskRef(id="a", title="Task a")


def event(kind: Any, seq: int, **fields: Any) -> Any:
    return kind(seq=seq, at=BEGIN, run=RUN, lane=1, task=TASK, **fields)


def started(seq: int = 1) -> Any:
    return event(LaneStarted, seq, branch="ralph/x/a-1", worktree="/lanes/a-1")


def began(seq: int, run: str) -> Any:
    return event(LaneRunStarted, seq, lane_run=run, base="base", limit=5)


def ended(seq: int, run: str, reason: EndReason, iterations: int) -> Any:
    usage = Usage(input_tokens=100 * iterations, output_tokens=0)
    return event(
        LaneRunEnded,
        seq,
        lane_run=run,
        reason=reason,
        message="m",
        iterations=iterations,
        usage=usage,
    )


def lane_after(*events: Event) -> LaneView:
    (lane,) = fold(events).lanes
    return lane


def test_an_event_of_a_lane_that_is_not_known_changes_only_the_number() -> None:
    parked = event(LaneParked, 1, message="m")
    run = fold([parked])
    assert (run.seq, run.lanes, run.phase) == (1, (), RunState().phase)


def test_a_lane_begins_works_and_is_merged() -> None:
    counts = PlanCountsView(total=2, done=1, open_required=1, required=2, required_done=1)
    begun = [started(), began(2, "r1")]
    lane = lane_after(*begun)
    assert (lane.state, lane.run, lane.runs, lane.base) == (LaneState.WORKING, "r1", 1, "base")
    waiting = event(LaneWaiting, 3, phase=Phase.PARKED, reason="decide", question="which?")
    assert lane_after(*begun, waiting).question == "which?"
    done = [*begun, waiting, ended(4, "r1", EndReason.COMPLETE, 2)]
    lane = lane_after(*done)
    assert (lane.state, lane.question, lane.message) == (LaneState.QUEUED, None, "")
    merged = [
        *done,
        event(MergeStarted, 5, onto="base", head="new"),
        event(LaneMerged, 6, head="new", commits=2, counts=counts),
    ]
    run = fold(merged)
    assert run.lanes[0].state is LaneState.MERGED
    assert run.lanes[0].ended_at == BEGIN
    assert (run.counts, run.counted, run.iteration) == (counts, 2, 2)


def test_runs_of_a_lane_add_up_and_a_resumed_one_counts_once() -> None:
    events = [
        started(),
        began(2, "r1"),
        ended(3, "r1", EndReason.LIMIT, 2),
        began(4, "r2"),
        ended(5, "r2", EndReason.STOPPED, 1),
        began(6, "r2"),
        ended(7, "r2", EndReason.COMPLETE, 4),
    ]
    run = fold(events)
    lane = run.lanes[0]
    assert (lane.iterations, lane.runs, lane.earlier_iterations) == (6, 2, 2)
    assert run.counted == 6
    assert run.usage is not None
    assert run.usage.input_tokens == 600
    assert lane.crashes == 0


def test_a_run_that_continues_without_an_end_had_lost_its_engine() -> None:
    events = [started(), began(2, "r1"), began(3, "r1")]
    assert lane_after(*events).crashes == 1
    assert lane_after(*events, began(4, "r2")).crashes == 1


def test_a_lane_that_is_taken_up_again_continues_where_it_was() -> None:
    done = [started(), began(2, "r1"), ended(3, "r1", EndReason.COMPLETE, 1)]
    parked = [*done, event(LaneParked, 4, message="conflict")]
    assert lane_after(*parked).state is LaneState.PARKED
    again = lane_after(*parked, started(5))
    assert (again.state, again.message, again.ended_at) == (LaneState.QUEUED, "", None)
    dropped = [*done, event(LaneDropped, 4, message="nothing")]
    again = lane_after(*dropped, started(5))
    assert (again.state, again.base) == (LaneState.WORKING, None)


def test_a_lane_that_begins_is_no_change_of_another_one() -> None:
    # ``LaneStarted`` alone makes a lane; the other events change one.
    first = fold([started()])
    other = TaskRef(id="b", title="Task b")
    second = apply(
        first,
        LaneStarted(seq=2, at=BEGIN, run=RUN, lane=2, task=other, branch="b", worktree="/b"),
    )
    assert [one.task.id for one in second.lanes] == ["a", "b"]
    assert second.lanes[0] is first.lanes[0]
    assert changes_of_lane(RunState(), event(LaneParked, 1, message="m")) == {}


def test_a_user_who_resumes_wants_lanes_tried_again() -> None:
    run = session("a", turns={"a": ["crash"] * 2}).start()
    run.go_on(lambda: bool(run.run.lanes) and run.lane("a").crashes == 2)
    run.resume()
    assert run.lane("a").crashes == 0


def test_a_fold_continues_from_any_snapshot() -> None:
    whole = session("a", "b", turns={"a": ["crash", "all"]}).start().go_on()
    for cut in range(len(whole.events)):
        snapshot = fold(whole.events[:cut])
        restored = RunState.model_validate_json(snapshot.model_dump_json(by_alias=True))
        assert fold(whole.events[cut:], restored) == whole.run
