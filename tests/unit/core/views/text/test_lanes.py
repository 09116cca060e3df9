"""Words about lanes: lines of events, states, the summary of a parallel run, and what is next."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ralph_ls.core.loop.rules.waits import parked_words
from ralph_ls.core.views.text.event_weights import Weight
from ralph_ls.core.views.text.lane_summary import lanes_at_work, merged_lines, next_of_parallel
from ralph_ls.core.views.text.lanes import lane_event_line, lane_rows, lane_state_words
from ralph_ls.core.views.text.run_end import summary_lines
from ralph_ls.core.views.text.status import progress_words
from ralph_ls.core.views.text.summary import run_lines
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run import events as e
from ralph_ls.protocol.run.state import End, LaneView, RunState
from ralph_ls.protocol.run.values import (
    EndReason,
    LaneState,
    MergeProblem,
    Phase,
    PlanCountsView,
    TaskRef,
)
from tests.unit.core.loop.simulated_run import BEGIN, RUN

TASK = TaskRef(id="a", title="Parse the header")
LATER = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
COUNTS = PlanCountsView(required=4, required_done=2)
BRANCH = f"ralph/session-{RUN}"


def event(kind: Any, **fields: Any) -> e.EventBase:
    made: e.EventBase = kind(seq=1, at=BEGIN, run=RUN, lane=2, task=TASK, **fields)
    return made


@pytest.mark.parametrize(
    ("given", "text", "weight"),
    [
        (event(e.LaneStarted, branch="b", worktree="/w"), "Lane 2: Parse the header", "normal"),
        (
            event(e.LaneWaiting, phase=Phase.PARKED, reason="decide", question="JSON?"),
            "Lane 2 asks: JSON?\n  ralph answer …, or: ralph inbox",
            "warning",
        ),
        (
            event(e.LaneWaiting, phase=Phase.WAITING, reason="limit", until=LATER),
            "Lane 2 waits for the usage limit until 12:30 UTC",
            "warning",
        ),
        (event(e.LaneWaiting, phase=Phase.PAUSED), "Lane 2 is paused", "warning"),
        (
            event(e.LaneWaiting, phase=Phase.PARKED, reason="blocked"),
            "Lane 2 is parked: blocked",
            "warning",
        ),
        (event(e.LaneWaiting, phase=Phase.RUNNING), "Lane 2 continues", "quiet"),
        (
            event(e.LaneRunEnded, lane_run="r", reason=EndReason.COMPLETE, message="m"),
            "Lane 2 is done: Parse the header",
            "quiet",
        ),
        (
            event(e.LaneRunEnded, lane_run="r", reason=EndReason.LIMIT, message="5 of 5"),
            "Lane 2: limit: 5 of 5",
            "warning",
        ),
        (
            event(e.MergeRefused, problem=MergeProblem.CONFLICT, message="a.py was changed"),
            "Lane 2 conflicts with what was merged: a.py was changed",
            "warning",
        ),
        (
            event(e.MergeRefused, problem=MergeProblem.VALIDATION, message="exit 1"),
            "Lane 2 is not valid together with what was merged: exit 1",
            "warning",
        ),
        (
            event(e.MergeRefused, problem=MergeProblem.UNRESOLVED, message="in a.py"),
            "Lane 2 has conflict markers: in a.py",
            "warning",
        ),
        (
            event(e.MergeRefused, problem=MergeProblem.BRANCH, message="a file is in the way"),
            "Lane 2 cannot be merged now: a file is in the way",
            "warning",
        ),
        (
            event(e.LaneMerged, head="h", commits=2, counts=COUNTS),
            "Merged lane 2: Parse the header (2 commits, 2/4 tasks done)",
            "good",
        ),
        (
            event(e.LaneMerged, head="h", commits=1, counts=COUNTS, kept="changes in /w"),
            "Merged lane 2: Parse the header (1 commit, 2/4 tasks done)\n  changes in /w",
            "good",
        ),
        (event(e.LaneParked, message="stopped"), "Lane 2 is parked for you: stopped", "bad"),
        (event(e.LaneDropped, message="no agent"), "Lane 2 is set aside: no agent", "warning"),
    ],
)
def test_the_line_of_an_event(given: e.EventBase, text: str, weight: str) -> None:
    line = lane_event_line(given)
    assert line is not None
    assert (line.text, line.weight) == (text, Weight(weight))


def test_what_is_not_shown_has_no_line() -> None:
    assert lane_event_line(event(e.MergeStarted, onto="a", head="b")) is None
    assert lane_event_line(event(e.LaneRunStarted, lane_run="r", base="b")) is None


def lane(number: int = 1, title: str = "Parse the header", **fields: Any) -> LaneView:
    return LaneView.model_validate(
        {
            "lane": number,
            "task": TaskRef(id=title, title=title),
            "branch": "b",
            "worktree": f"/lanes/{number}",
            "started_at": BEGIN,
            "run": "r",
            **fields,
        }
    )


WORKING, QUEUED, MERGED = LaneState.WORKING, LaneState.QUEUED, LaneState.MERGED
PARKED, DROPPED = LaneState.PARKED, LaneState.DROPPED


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"question": "JSON?"}, "asks: JSON?"),
        (
            {"phase": "waiting", "phase_reason": "limit", "until": LATER},
            "waits for the usage limit until 2026-01-31 12:30 UTC",
        ),
        ({"phase": "paused"}, "paused"),
        ({"phase": "parked", "phase_reason": "blocked"}, "parked: blocked"),
        ({"run": None}, "starts"),
        ({"problem": "conflict"}, "resolves conflicts"),
        ({"problem": "validation"}, "repairs what validation found"),
        ({}, "works"),
        ({"state": "queued"}, "done, waits for its merge"),
        ({"state": "merging"}, "is merged"),
        ({"state": "merged", "commits": 1}, "merged, 1 commit"),
        ({"state": "parked", "message": "stopped"}, "parked: stopped"),
        ({"state": "dropped", "message": "no agent"}, "set aside: no agent"),
    ],
)
def test_the_state_of_a_lane(fields: dict[str, Any], words: str) -> None:
    assert lane_state_words(lane(**fields)) == words


def run(*lanes: LaneView, reason: EndReason | None = None, **config: Any) -> RunState:
    end = None
    if reason is not None:
        end = End(reason=reason, exit_code=0, message="m", at=BEGIN)
    settings = Config.model_validate({"parallel": 2, "max_iterations": 20, **config})
    return RunState(run=RUN, config=settings, branch="main", lanes=lanes, end=end)


def test_the_rows_of_lanes_have_those_at_work_first() -> None:
    state = run(
        lane(2, "Second", state=PARKED, message="stopped"),
        lane(2, "Third"),
        lane(1, "First", state=QUEUED),
        lane(3, "Merged", state=MERGED),
    )
    assert lane_rows(state) == [
        ("1", "First", "done, waits for its merge"),
        ("2", "Third", "works"),
        ("-", "Second", "parked: stopped"),
    ]


@pytest.mark.parametrize(
    ("lanes", "words"),
    [
        ((), ""),
        ((lane(state=MERGED),), ""),
        ((lane(),), "1 lane: 1 working"),
        (
            (lane(), lane(2, state=QUEUED), lane(3, question="JSON?")),
            "3 lanes: 1 working, 1 to be merged, 1 asking you",
        ),
    ],
)
def test_lanes_at_work(lanes: tuple[LaneView, ...], words: str) -> None:
    assert lanes_at_work(run(*lanes)) == words


def test_the_summary_says_what_working_side_by_side_gained() -> None:
    lanes = (
        lane(1, "One", state=MERGED, commits=1, seconds=1_800.0, conflicts=1),
        lane(2, "Two", state=PARKED, seconds=1_080.0, message="JSON?"),
    )
    state = run(*lanes).model_copy(update={"active_seconds": 1_200.0})
    assert list(merged_lines(state))[1] == "Speed-up:    2.4 (48m 0s of work in 20m 0s), 1 conflict"


def test_the_summary_has_what_became_of_every_task() -> None:
    state = run(
        lane(1, "Merged", state=MERGED, commits=2),
        lane(2, "Kept", state=MERGED, commits=1, kept="changes in /lanes/2"),
        lane(3, "Parked", state=PARKED, message="JSON?"),
        lane(4, "Dropped", state=DROPPED, message="no agent"),
    )
    assert list(merged_lines(state)) == [
        f"Merged:      2 tasks, 3 commits, into {BRANCH}",
        "Kept:        Kept: changes in /lanes/2",
        "Parked:      Parked: JSON?",
        "             in /lanes/3",
        "Set aside:   Dropped: no agent",
    ]
    assert list(merged_lines(run(parallel=None))) == []


HOME = f"git merge --ff-only {BRANCH}"


@pytest.mark.parametrize(
    ("state", "command"),
    [
        (run(), ""),
        (
            run(lane(state=MERGED), reason=EndReason.COMPLETE),
            f"{HOME}, or: ralph pr",
        ),
        (run(reason=EndReason.COMPLETE), ""),
        (run(lane(state=MERGED), reason=EndReason.COMPLETE, lane={"direct": True}), ""),
        (
            run(lane(state=MERGED), reason=EndReason.LIMIT),
            f"ralph run --resume --max-iterations 40; what is merged: {HOME}",
        ),
        (
            run(reason=EndReason.LIMIT, max_iterations=None),
            "ralph run --resume --max-iterations 40",
        ),
        (
            run(lane(state=PARKED), lane(2, state=MERGED), reason=EndReason.BLOCKED),
            f"settle what is parked, then: ralph run --resume; what is merged: {HOME}",
        ),
        (run(reason=EndReason.STOPPED), "ralph run --resume"),
    ],
)
def test_the_command_after_a_parallel_run(state: RunState, command: str) -> None:
    assert next_of_parallel(state) == command


@pytest.mark.parametrize(
    ("lanes", "words"),
    [
        ((lane(),), "its lanes"),
        ((lane(question="JSON?"),), "an answer to: JSON? (lane 1)"),
        (
            (lane(question="JSON?"), lane(2, question="Tabs?")),
            "an answer to: JSON? (lane 1), and 1 more",
        ),
        (
            (lane(state=PARKED, end="decide", message="JSON?"),),
            "an answer to: JSON? (lane 1)",
        ),
        (
            (lane(state=PARKED, message="stopped"),),
            "a parked lane: Parse the header: stopped",
        ),
        (
            (lane(state=PARKED, message="stopped"), lane(2, state=PARKED)),
            "a parked lane: Parse the header: stopped, and 1 more",
        ),
    ],
)
def test_what_a_parked_parallel_run_needs(lanes: tuple[LaneView, ...], words: str) -> None:
    assert parked_words(run(*lanes)) == words


def test_header_summary_and_progress_are_those_of_lanes() -> None:
    state = run(lane(1, "One", state=MERGED, commits=1), lane(2, "Two"))
    assert f"Parallel: 2 lanes, merged into {BRANCH}" in run_lines(state)
    summary = summary_lines(state, "summary.csv")
    assert f"Merged:      1 task, 1 commit, into {BRANCH}" in summary
    assert "Open tasks:  0" in summary
    assert progress_words(state, Phase.RUNNING) == lanes_at_work(state)
