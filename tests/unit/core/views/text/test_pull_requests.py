"""Which pull requests a parallel run opens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ralph_ls.core.views.text.pull_requests import PullRequest, pull_requests_of
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import LaneConfig
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import LaneState, TaskRef

START = datetime(2026, 11, 28, 12, tzinfo=UTC)
SESSION = "ralph/session-20261128T120000Z-4d9a"


def lane(number: int, title: str = "", **changes: object) -> LaneView:
    view = LaneView(
        lane=number,
        task=TaskRef(id=f"T{number}", title=title or f"Task {number}"),
        state=LaneState.MERGED,
        branch=f"ralph/run/t{number}",
        worktree=f"/lanes/{number}",
        head=f"{number}" * 40,
        commits=number,
        started_at=START,
        ended_at=START + timedelta(minutes=number),
    )
    return view.model_copy(update=changes)


def run(*lanes: LaneView, **lane_settings: object) -> RunState:
    return RunState(
        run="20261128T120000Z-4d9a",
        branch="main",
        lanes=lanes,
        config=Config(parallel=2, lane=LaneConfig.model_validate(lane_settings)),
    )


def test_one_for_the_branch_lists_its_tasks_in_the_order_of_their_merges() -> None:
    state = run(lane(2), lane(1), lane(3, state=LaneState.PARKED, head=None))
    assert pull_requests_of(state, each=False, base=None) == (
        PullRequest(
            branch=SESSION,
            commit="2" * 40,
            base="main",
            title="2 tasks: Task 1, …",
            body="- Task 1 (1111111)\n- Task 2 (2222222)\n",
        ),
    )


def test_of_each_task_is_based_on_the_one_before() -> None:
    first, second = pull_requests_of(run(lane(2), lane(1)), each=True, base=None)
    assert (first.branch, first.base, first.commit) == ("ralph/run/t1", "main", "1" * 40)
    assert first.body == "1 commit up to 1111111.\n"
    assert (second.branch, second.base) == ("ralph/run/t2", "ralph/run/t1")
    assert second.body == ("2 commits up to 2222222.\nBased on `ralph/run/t1`: merge that first.\n")


@pytest.mark.parametrize(
    ("settings", "base", "expected"),
    [
        ({}, None, ("main", SESSION)),
        ({}, "next", ("next", SESSION)),
        ({"onto": "next"}, None, ("main", "next")),
        ({"onto": "main"}, None, (None, "main")),
        ({"direct": True}, None, (None, "main")),
    ],
)
def test_it_is_for_the_branch_on_which_the_run_was_started(
    settings: dict[str, object], base: str | None, expected: tuple[str | None, str]
) -> None:
    (found,) = pull_requests_of(run(lane(1), **settings), each=False, base=base)
    assert (found.base, found.branch) == expected


def test_a_title_mentions_nobody_and_closes_nothing() -> None:
    (found,) = pull_requests_of(run(lane(1, "Fixes #12 for @ada, a # b")), each=False, base=None)
    assert found.title == "Fixes #\u200b12 for @\u200bada, a # b"


def test_nothing_merged_is_no_pull_request() -> None:
    assert pull_requests_of(run(lane(1, state=LaneState.DROPPED)), each=True, base=None) == ()
