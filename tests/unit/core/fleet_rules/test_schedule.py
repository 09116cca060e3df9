"""Which tasks of a fleet may start: dependencies, lanes, hours and the breaker."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest

from ralph_ls.core.fleet_rules import (
    FleetPlan,
    FleetTask,
    RepositoryRules,
    awaited_releases,
    releasable,
    releasable_later,
    within_hours,
)
from ralph_ls.core.loop.lanes import OpenTask
from ralph_ls.protocol.fleet import FleetRelease, FleetTaskState
from ralph_ls.protocol.run.values import TaskRef

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
State = FleetTaskState


def task(
    key: str,
    state: FleetTaskState = State.WAITING,
    *,
    waits_for: tuple[str, ...] = (),
    foreign: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    is_released: bool = False,
) -> FleetTask:
    repository, _, name = key.partition("#")
    return FleetTask(
        repository=repository,
        state=state,
        foreign=frozenset(foreign),
        is_released=is_released,
        task=OpenTask(
            task=TaskRef(id=name, title=name),
            waits_for=frozenset(waits_for),
            files=frozenset(files),
        ),
    )


def plan(*tasks: FleetTask, **rules: RepositoryRules) -> FleetPlan:
    names = {one.repository for one in tasks}
    return FleetPlan(
        tasks=tasks,
        rules={name: rules.get(name, RepositoryRules(lanes=4)) for name in sorted(names)},
    )


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ((task("a#1"), task("a#2")), ("a#1", "a#2")),
        # Inside a plan, until what it waits for is merged.
        ((task("a#1"), task("a#2", waits_for=("1",))), ("a#1",)),
        ((task("a#1", State.QUEUED), task("a#2", waits_for=("1",))), ()),
        ((task("a#1", State.MERGED), task("a#2", waits_for=("1",))), ("a#2",)),
        # In another repository, until it is merged there.
        ((task("a#1"), task("b#2", foreign=("a#1",))), ("a#1",)),
        ((task("a#1", State.MERGING), task("b#2", foreign=("a#1",))), ()),
        ((task("a#1", State.MERGED), task("b#2", foreign=("a#1",))), ("b#2",)),
        # What is no open task was done before the fleet began.
        ((task("b#2", foreign=("a#1",)),), ("b#2",)),
        # A task that needs its user holds up what depends on it and nothing else.
        ((task("a#1", State.PARKED), task("a#2", waits_for=("1",)), task("a#3")), ("a#3",)),
        ((task("a#1", State.ASKING), task("b#2", foreign=("a#1",))), ()),
        # One that the plan no longer has holds nothing up in its own plan.
        ((task("a#1", State.DROPPED), task("a#2")), ("a#2",)),
        # Tasks that name the same file are not worked on side by side.
        ((task("a#1", State.WORKING, files=("x",)), task("a#2", files=("x",))), ()),
    ],
)
def test_a_task_starts_when_nothing_holds_it_up(
    tasks: tuple[FleetTask, ...], expected: tuple[str, ...]
) -> None:
    assert releasable(plan(*tasks), NOON) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (RepositoryRules(lanes=2), ("a#2",)),
        (RepositoryRules(lanes=1), ()),
        (RepositoryRules(lanes=4), ("a#2", "a#3")),
        (RepositoryRules(lanes=4, max_failures=2, failures=1), ("a#2", "a#3")),
        (RepositoryRules(lanes=4, max_failures=2, failures=2), ()),
        (RepositoryRules(lanes=4, hours=(time(22), time(6))), ()),
        (RepositoryRules(lanes=4, hours=(time(8), time(18))), ("a#2", "a#3")),
    ],
)
def test_a_repository_has_lanes_hours_and_a_breaker(
    rules: RepositoryRules, expected: tuple[str, ...]
) -> None:
    tasks = (task("a#1", State.WORKING), task("a#2"), task("a#3"))

    assert releasable(plan(*tasks, a=rules), NOON) == expected


def test_what_waits_for_its_hours_can_start_later() -> None:
    closed = plan(task("a#1"), a=RepositoryRules(hours=(time(22), time(6))))

    assert releasable_later(closed) == ("a#1",)


@pytest.mark.parametrize(
    ("hours", "now", "expected"),
    [
        (None, time(3), True),
        ((time(8), time(18)), time(8), True),
        ((time(8), time(18)), time(18), False),
        ((time(22), time(6)), time(23), True),
        ((time(22), time(6)), time(5, 59), True),
        ((time(22), time(6)), time(6), False),
    ],
)
def test_hours_may_end_on_the_next_day(
    hours: tuple[time, time] | None, now: time, expected: bool
) -> None:
    assert within_hours(hours, now) is expected


@pytest.mark.parametrize(
    ("release", "first", "starts", "awaited"),
    [
        (FleetRelease.MERGE, task("a#1", State.MERGED), True, ()),
        (FleetRelease.TAG, task("a#1", State.MERGED), False, ("a#1",)),
        (FleetRelease.PUBLISHED, task("a#1", State.MERGED), False, ("a#1",)),
        (FleetRelease.TAG, task("a#1", State.MERGED, is_released=True), True, ()),
        # Nothing is looked for before the merge, not even what an agent tagged itself.
        (FleetRelease.TAG, task("a#1", State.QUEUED, is_released=True), False, ()),
    ],
)
def test_a_merged_task_is_released_as_its_repository_says(
    release: FleetRelease, first: FleetTask, *, starts: bool, awaited: tuple[str, ...]
) -> None:
    rules = RepositoryRules(lanes=4, release=release)
    made = plan(first, task("a#2", waits_for=("1",)), task("b#3", foreign=("a#1",)), a=rules)

    # In its own plan the merge is enough.
    assert ("a#2" in releasable(made, NOON)) is (first.state is State.MERGED)
    assert ("b#3" in releasable(made, NOON)) is starts
    assert awaited_releases(made) == awaited


def test_a_release_that_nobody_waits_for_is_not_looked_for() -> None:
    rules = RepositoryRules(lanes=4, release=FleetRelease.TAG)
    made = plan(task("a#1", State.MERGED), task("b#3", State.DROPPED, foreign=("a#1",)), a=rules)

    assert awaited_releases(made) == ()
