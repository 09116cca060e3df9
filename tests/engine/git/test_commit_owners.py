"""Owners of commits: by the moment at which a commit was written, else by its date."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.engine.git.history import (
    COMMITS_LIMIT,
    CommitAncestry,
    CommitOwner,
    CommitPaths,
    TraceSpan,
    owners_of,
)
from ralph_ls.protocol.run.values import CommitSeen

COMMIT = TraceSpan(100.2, 100.3, makes=True)
PULL = TraceSpan(101.2, 101.4, makes=False)
DESCENT = CommitAncestry(
    began=90, read_at=110, windows=((100, 100), (101, 101)), spans=(COMMIT, PULL), writes=True
)


def made(objects: Path, name: str, at: int, written: float | None) -> CommitPaths:
    """A commit of that date, whose object was written at that moment; None: it is packed."""
    commit = name * 40
    if written is not None:
        path = objects / commit[:2] / commit[2:]
        path.parent.mkdir(parents=True)
        path.touch()
        os.utime(path, ns=(round(written * 1e9), round(written * 1e9)))
    return CommitPaths(seen=CommitSeen(hash=commit, subject=name), paths=frozenset("x"), made_at=at)


@pytest.mark.parametrize(
    ("at", "written", "owner"),
    [
        pytest.param(100, 100.25, CommitOwner.AGENT, id="in its process"),
        pytest.param(100, 100.6, CommitOwner.USER, id="after it, in the same second"),
        pytest.param(5, 100.21, CommitOwner.AGENT, id="with a date that was made up"),
        pytest.param(5, 101.3, CommitOwner.UNKNOWN, id="brought along by a pull"),
        pytest.param(101, 101.3, CommitOwner.AGENT, id="made while it pulled"),
        pytest.param(100, None, CommitOwner.AGENT, id="packed"),
        pytest.param(105, None, CommitOwner.USER, id="packed, at another time"),
        pytest.param(100, 103.0, CommitOwner.AGENT, id="by a clock of whole seconds"),
        pytest.param(80, None, CommitOwner.UNKNOWN, id="older than the iteration"),
    ],
)
def test_beside_a_commit_of_the_agents(
    tmp_path: Path, at: int, written: float | None, owner: CommitOwner
) -> None:
    agents = made(tmp_path, "a", 100, 100.22)
    found = owners_of([agents, made(tmp_path, "b", at, written)], DESCENT, tmp_path)
    assert [one for one, _ in found] == [CommitOwner.AGENT, owner]


def test_where_no_moment_fits_the_dates_decide(tmp_path: Path) -> None:
    """The objects may be on another machine, whose clock is another one."""
    one, other = made(tmp_path, "a", 100, 500.5), made(tmp_path, "b", 105, 505.5)
    found = owners_of([one, other], DESCENT, tmp_path)
    assert [owner for owner, _ in found] == [CommitOwner.AGENT, CommitOwner.USER]


def test_without_a_trace_or_with_too_many_commits_nobody_knows(tmp_path: Path) -> None:
    one = made(tmp_path, "a", 100, 100.22)
    assert owners_of([one], None, tmp_path) == [(CommitOwner.UNKNOWN, one)]
    many = owners_of([one] * COMMITS_LIMIT, DESCENT, tmp_path)
    assert {owner for owner, _ in many} == {CommitOwner.UNKNOWN}
