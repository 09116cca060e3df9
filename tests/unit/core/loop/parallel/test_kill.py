"""Killed after any event and resumed, a parallel run ends as it would have ended.

The lanes live on when the parallel run is killed, or die with it, or end while nobody looks.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from ralph_ls.core.loop.lanes import LaneRunFinished
from ralph_ls.protocol.run.values import EndReason, MergeProblem
from tests.unit.core.loop.parallel.simulated_lanes import SimulatedLanes, SimulatedSession, session


@dataclass
class Story:
    names: tuple[str, ...] = ("a", "b", "c")
    needs: dict[str, Any] = field(default_factory=dict)
    world: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def session(self, *, record: bool = False) -> SimulatedSession:
        return session(
            *self.names,
            needs=self.needs,
            settings=self.settings,
            record=record,
            **copy.deepcopy(self.world),
        )


CONFLICT, VALIDATION = MergeProblem.CONFLICT, MergeProblem.VALIDATION

STORIES = {
    "independent": Story(),
    "one after the other": Story(needs={"b": ["a"], "c": ["b"]}),
    "conflicts": Story(world={"refusals": {"a": [CONFLICT], "b": [CONFLICT]}}),
    "deferred": Story(
        names=("a", "b", "c", "d"),
        world={"refusals": {"a": [CONFLICT]}, "same_files": frozenset("bd")},
        settings={"parallel": 3},
    ),
    "validation": Story(world={"refusals": {"a": [VALIDATION], "b": [VALIDATION]}}),
    "shares": Story(world={"turns": {"a": ["all"]}}, settings={"max_iterations": 9}),
    "a crash": Story(world={"turns": {"a": ["crash"], "b": ["crash"]}}),
    "usage limit": Story(
        world={"turns": {"a": ["account"], "c": ["account"]}}, settings={"parallel": 3}
    ),
}


def lives(world: SimulatedLanes) -> None:
    """The lanes' runs live on."""
    del world


def dies(world: SimulatedLanes) -> None:
    """Their engines are killed as well."""
    for runs in world.runs.values():
        runs[-1].is_live = False


def ends(world: SimulatedLanes) -> None:
    """They end while the parallel run has no engine."""
    for task, runs in world.runs.items():
        if runs[-1].is_live:
            runs[-1].work()
            assert isinstance(world.act(task), LaneRunFinished) or not world.turns.get(task)


@pytest.mark.exhaustive
@pytest.mark.parametrize("damage", [lives, dies, ends])
@pytest.mark.parametrize("name", STORIES)
def test_every_task_is_merged_once_wherever_the_run_is_killed(
    name: str, damage: Callable[[SimulatedLanes], None]
) -> None:
    story = STORIES[name]
    whole = story.session(record=True).start().go_on()
    assert whole.run.end is not None
    assert whole.run.end.reason is EndReason.COMPLETE
    for moment in whole.moments:
        for n_events in range(len(moment.recorded) + 1):
            events = [*moment.events, *moment.recorded[:n_events]]
            if not events or events[-1].kind == "runEnded":
                continue
            again = story.session()
            again.world = copy.deepcopy(moment.world)
            again.world.turns = {}
            again.events, again.now = events, whole.now
            damage(again.world)
            again.resume().go_on()
            where = f"after event {len(events)}, {events[-1].kind}"
            assert again.run.end is not None, where
            assert again.run.end.reason is EndReason.COMPLETE, (where, again.run.end.message)
            assert set(again.world.merges().values()) == {1}, where
            assert set(again.world.merges()) == set(story.names), where
            merged = [event.task.id for event in again.of_kind("laneMerged")]
            assert sorted(merged) == sorted(story.names), where
            assert set(again.world.closed) == set(story.names), where


@pytest.mark.slow
def test_killed_again_and_again_it_ends_after_all() -> None:
    story = STORIES["conflicts"]
    run = story.session().start()
    for _ in range(300):
        if not run.queue:
            break
        run.take(0)
        if run.run.end is None:
            dies(run.world)
            run.resume()
            run.take(0)
            run.take(0)
    run.go_on()
    assert run.run.end is not None
    assert run.run.end.reason is EndReason.COMPLETE
    assert set(run.world.merges().values()) == {1}
