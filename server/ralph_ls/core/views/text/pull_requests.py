"""Pull requests of a parallel run: one for its branch, or a stack of one a task.

The tasks of a parallel run follow each other on one branch, so the pull request of a task is based
on that of the task before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from ralph_ls.core.loop.lanes import branch_of_run
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.words import one_line
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import LaneState

MAX_TITLE = 100
SHORT_HASH = 7

_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request to be opened."""

    branch: str
    commit: str
    """What is pushed to the branch."""
    base: str | None
    """The branch that it is for; None: the repository's default branch."""
    title: str
    body: str
    """Markdown."""


def pull_requests_of(run: RunState, *, each: bool, base: str | None) -> tuple[PullRequest, ...]:
    """The pull requests for what a run has merged, in the order in which they are opened.

    ``base`` instead of the branch on which the run was started. Empty where nothing was merged.
    """
    merged = merged_lanes(run)
    if not merged:
        return ()
    branch = branch_of_run(run)
    onto = base or (run.branch if run.branch != branch else None)
    if each:
        return tuple(_of_each(merged, onto))
    titles = [_title(one) for one in merged]
    title = titles[0] if len(merged) == 1 else f"{count_of(len(merged), 'task')}: {titles[0]}, …"
    commit = merged[-1].head or ""
    body = "".join(f"- {_title(one)} ({_short(one)})\n" for one in merged)
    return (
        PullRequest(
            branch=branch,
            commit=commit,
            base=onto,
            title=one_line(title, limit=MAX_TITLE),
            body=body,
        ),
    )


def merged_lanes(run: RunState) -> list[LaneView]:
    """The lanes whose work is on the branch, in the order of their merges."""
    merged = [one for one in run.lanes if one.state is LaneState.MERGED and one.head is not None]
    return sorted(merged, key=lambda one: one.ended_at or _EARLIEST)


def _of_each(merged: list[LaneView], base: str | None) -> list[PullRequest]:
    found: list[PullRequest] = []
    for lane in merged:
        stacked = f"Based on `{base}`: merge that first.\n" if found else ""
        found.append(
            PullRequest(
                branch=lane.branch,
                commit=lane.head or "",
                base=base,
                title=_title(lane),
                body=f"{count_of(lane.commits, 'commit')} up to {_short(lane)}.\n{stacked}",
            )
        )
        base = lane.branch
    return found


def _title(lane: LaneView) -> str:
    """The task's title, in which nothing mentions a user or closes an issue."""
    title = one_line(lane.task.title, limit=MAX_TITLE)
    return re.sub(r"[@#](?=\w)", lambda sign: f"{sign[0]}\u200b", title)


def _short(lane: LaneView) -> str:
    return (lane.head or "")[:SHORT_HASH]
