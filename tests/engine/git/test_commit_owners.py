"""Owners of commits: by the moment at which a commit was written, else by its date."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.engine.commit_owners import Owner, owners_of
from ralph_ls.engine.descent import Descent, Span
from ralph_ls.engine.git_history import COMMITS_LIMIT, Made
from ralph_ls.protocol.run.values import CommitSeen

COMMIT = Span(100.2, 100.3, makes=True)
PULL = Span(101.2, 101.4, makes=False)
DESCENT = Descent(
    began=90, read_at=110, windows=((100, 100), (101, 101)), spans=(COMMIT, PULL), writes=True
)


def made(objects: Path, name: str, at: int, written: float | None) -> Made:
    """A commit of that date, whose object was written at that moment; None: it is packed."""
    commit = name * 40
    if written is not None:
        path = objects / commit[:2] / commit[2:]
        path.parent.mkdir(parents=True)
        path.touch()
        os.utime(path, ns=(round(written * 1e9), round(written * 1e9)))
    return Made(seen=CommitSeen(hash=commit, subject=name), paths=frozenset("x"), made_at=at)


@pytest.mark.parametrize(
    ("at", "written", "owner"),
    [
        pytest.param(100, 100.25, Owner.AGENT, id="in its process"),
        pytest.param(100, 100.6, Owner.USER, id="after it, in the same second"),
        pytest.param(5, 100.21, Owner.AGENT, id="with a date that was made up"),
        pytest.param(5, 101.3, Owner.UNKNOWN, id="brought along by a pull"),
        pytest.param(101, 101.3, Owner.AGENT, id="made while it pulled"),
        pytest.param(100, None, Owner.AGENT, id="packed"),
        pytest.param(105, None, Owner.USER, id="packed, at another time"),
        pytest.param(100, 103.0, Owner.AGENT, id="by a clock of whole seconds"),
        pytest.param(80, None, Owner.UNKNOWN, id="older than the iteration"),
    ],
)
def test_beside_a_commit_of_the_agents(
    tmp_path: Path, at: int, written: float | None, owner: Owner
) -> None:
    agents = made(tmp_path, "a", 100, 100.22)
    found = owners_of([agents, made(tmp_path, "b", at, written)], DESCENT, tmp_path)
    assert [one for one, _ in found] == [Owner.AGENT, owner]


def test_where_no_moment_fits_the_dates_decide(tmp_path: Path) -> None:
    """The objects may be on another machine, whose clock is another one."""
    one, other = made(tmp_path, "a", 100, 500.5), made(tmp_path, "b", 105, 505.5)
    found = owners_of([one, other], DESCENT, tmp_path)
    assert [owner for owner, _ in found] == [Owner.AGENT, Owner.USER]


def test_without_a_trace_or_with_too_many_commits_nobody_knows(tmp_path: Path) -> None:
    one = made(tmp_path, "a", 100, 100.22)
    assert owners_of([one], None, tmp_path) == [(Owner.UNKNOWN, one)]
    many = owners_of([one] * COMMITS_LIMIT, DESCENT, tmp_path)
    assert {owner for owner, _ in many} == {Owner.UNKNOWN}
