from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ralph_ls.core.loop.rules.health import (
    LOW_DISK,
    DiskSpace,
    HealthWarning,
    RunEnvironment,
    bytes_words,
    current_warnings,
    health_warnings,
    new_warnings,
)
from ralph_ls.protocol.run.events import Warned

RUN = "20260131T120000Z-0a1b"

TREE = DiskSpace(what="the work tree", path="/work", free=412_500_000)


def codes(seen: RunEnvironment) -> list[str]:
    return [condition.code for condition in health_warnings(seen)]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(RunEnvironment(branch="invoices"), [], id="nothing"),
        pytest.param(RunEnvironment(branch=None), ["detached-head"], id="detached"),
        pytest.param(RunEnvironment(branch="main"), ["main-branch"], id="main"),
        pytest.param(RunEnvironment(branch="master"), ["main-branch"], id="master"),
        pytest.param(RunEnvironment(branch="mainly"), [], id="only a like name"),
        pytest.param(
            RunEnvironment(branch="invoices", remote="origin"), ["no-upstream"], id="no upstream"
        ),
        pytest.param(
            RunEnvironment(branch="invoices", remote="origin", has_upstream=True), [], id="upstream"
        ),
        pytest.param(RunEnvironment(branch="b", dirty=("a.py",)), ["dirty-tree"], id="dirty"),
        pytest.param(RunEnvironment(branch="b", disks=(TREE,)), ["disk-low"], id="disk"),
        pytest.param(
            RunEnvironment(branch="b", disks=(DiskSpace(what="x", path="/", free=LOW_DISK),)),
            [],
            id="exactly enough",
        ),
        pytest.param(
            RunEnvironment(branch="b", disks=(DiskSpace(what="x", path="/", free=None),)),
            [],
            id="unknown",
        ),
        pytest.param(
            RunEnvironment(branch="main", remote="origin", dirty=("a",), disks=(TREE,)),
            ["disk-low", "main-branch", "no-upstream", "dirty-tree"],
            id="everything",
        ),
    ],
)
def test_what_is_not_as_it_should_be(seen: RunEnvironment, expected: list[str]) -> None:
    assert codes(seen) == expected


def test_each_says_what_to_do() -> None:
    seen = RunEnvironment(branch="main", remote="hub", dirty=("d", "b", "a", "c"), disks=(TREE,))
    assert "\n".join(condition.message for condition in health_warnings(seen)) == (
        "only 412 MB free on the disk of the work tree (/work); make room, or the loop may fail\n"
        "the loop commits to main directly; to review its work first, use a separate branch: "
        "ralph run --branch auto\n"
        "main has no upstream on hub; the first push creates it, or choose one: "
        "git branch --set-upstream-to=hub/BRANCH\n"
        "4 files with uncommitted changes: a, b, c and 1 more; commit or stash them to keep them "
        "apart from the loop's work"
    )


def test_it_is_reported_once_and_again_after_it_was_gone() -> None:
    low = HealthWarning(code="disk-low", about="/work", message="low")
    other = HealthWarning(code="disk-low", about="/state", message="low there")
    told, known = new_warnings((low,), frozenset())
    assert [notice.message for notice in told] == ["low"]
    told, known = new_warnings((low, other), known)
    assert [notice.message for notice in told] == ["low there"]
    told, known = new_warnings((), known)
    assert told == ()
    told, known = new_warnings((low,), known)
    assert ([notice.code for notice in told], known) == (["disk-low"], frozenset({low.key}))


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (999_999, "999 kB"),
        (999_999_999, "999 MB"),
        (1_250_000_000, "1.2 GB"),
    ],
)
def test_sizes_are_reported_as_disks_are_sold(count: int, words: str) -> None:
    assert bytes_words(count) == words


def test_what_was_reported_of_the_branch_makes_way_for_what_is_reported_later() -> None:
    def told(code: str, second: int) -> Warned:
        at = datetime(2026, 1, 31, 12, 0, second, tzinfo=UTC)
        return Warned(seq=second + 1, at=at, run=RUN, code=code, message=f"{code} {second}")

    events = [told("logs-removed", 0), told("main-branch", 1), told("dirty-tree", 1)]
    assert [one.message for one in current_warnings(events)] == ["main-branch 1", "dirty-tree 1"]
    events += [told("disk-low", 2), told("detached-head", 3), told("disk-low", 4)]
    assert [one.message for one in current_warnings(events)] == [
        "dirty-tree 1",
        "disk-low 4",
        "detached-head 3",
    ]
    events += [told("main-branch", 5), told("no-upstream", 5)]
    assert [one.code for one in current_warnings(events)][2:] == ["main-branch", "no-upstream"]
    assert current_warnings([]) == ()
