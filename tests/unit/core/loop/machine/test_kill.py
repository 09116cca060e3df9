"""Killed after any event and resumed, a run ends as it would have ended.

The world keeps what the agent did. An agent that was at work when the engine died has done
nothing, or half of its turn, or all of it with nobody there to read what it said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from ralph_ls.core.loop.fold import fold
from ralph_ls.protocol.run.events import Event, IterationEnded
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    SimulatedProject,
    Turn,
    asks,
    claims_all,
    crash,
    edits_only,
    finishes,
    is_blocked,
    no_progress,
    nothing_left,
    progress,
    promise,
    silence,
    timeout,
    turn,
)
from tests.unit.core.loop.simulated_run import Person, SimulatedRun, play, settings
from tests.unit.core.loop.user_behaviours import during_turn, editing, helpful, together

TOLD_ONCE = {
    "iterationStarted",
    "ralphStatusUpdate",
    "evidenceGathered",
    "planChanged",
    "circuitBreakerStateChange",
    "completionRefused",
    "validated",
    "rolledBack",
    "committed",
    "pushed",
    "questionAsked",
    "blockedRaised",
    "iterationEnded",
}


@dataclass
class Story:
    """A whole run, and what a kill may leave of a turn that was being played."""

    script: list[Turn]
    ends: tuple[str, int]
    person: Person | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    damages: tuple[str, ...] = ("nothing", "half", "whole")
    tasks: tuple[str, ...] = ONE_TASK
    afterwards: Turn = nothing_left
    around: dict[str, Any] = field(default_factory=dict)
    """What else the world has."""

    def simulated(self) -> SimulatedProject:
        return SimulatedProject(
            script=self.script,
            afterwards=self.afterwards,
            tasks=dict.fromkeys(self.tasks, "todo"),
            **self.around,
        )


UNREAD = ("nothing", "half")
"""Damages of a story in which the agent's word matters and must not go unread."""

STORIES = {
    "rolled back, then valid": Story(
        [replace(finishes, validates=(False,)), replace(finishes, validates=(True,))],
        ("complete", 0),
        settings={"on_validate_fail": "rollback"},
        damages=UNREAD,
    ),
    "repaired, then valid": Story(
        [replace(finishes, validates=(False,)), replace(finishes, validates=(True,))],
        ("complete", 0),
        settings={"on_validate_fail": "repair"},
        damages=UNREAD,
    ),
    "breaker to HALF_OPEN and back": Story(
        [no_progress, no_progress, progress, no_progress, finishes], ("complete", 0)
    ),
    "breaker OPEN, parked, reset": Story(
        [no_progress] * 3 + [progress, finishes],
        ("complete", 0),
        person=helpful,
        settings={"wait": True},
    ),
    "breaker OPEN, the run is ending": Story(
        [progress] + [no_progress] * 3, ("stuck", 4), afterwards=no_progress
    ),
    "the same error until it opens": Story(
        [turn(files=1, errors=("error: no such file",))] * 5,
        ("stuck", 4),
        damages=UNREAD,
        afterwards=turn(files=1, errors=("error: no such file",)),
    ),
    "max_stuck": Story(
        [edits_only, edits_only, progress, edits_only, edits_only],
        ("stuck", 4),
        settings={"max_stuck": 2},
        damages=("nothing",),
        afterwards=edits_only,
    ),
    "DECIDE answered by command": Story(
        [progress, asks("sockets or polling?"), finishes],
        ("complete", 0),
        person=helpful,
        settings={"wait": True},
        damages=UNREAD,
    ),
    "DECIDE answered by hand, file left behind": Story(
        [
            asks("sockets or polling?\n\n---\nboth?", files=1, commit=True),
            turn(files=1, deletes_decide=False),
            finishes,
        ],
        ("complete", 0),
        person=editing,
        settings={"wait": True},
        damages=UNREAD,
    ),
    "DECIDE ends the run": Story(
        [progress, asks("sockets or polling?")], ("decide", 3), damages=UNREAD
    ),
    "BLOCKED resolved by command": Story(
        [is_blocked("no key"), progress, finishes],
        ("complete", 0),
        person=helpful,
        settings={"wait": True},
        damages=UNREAD,
    ),
    "BLOCKED resolved by hand": Story(
        [is_blocked("no key", files=1), finishes],
        ("complete", 0),
        person=editing,
        settings={"wait": True},
        damages=UNREAD,
    ),
    "BLOCKED ends the run": Story(
        [progress, is_blocked("no key", files=1)], ("blocked", 2), damages=UNREAD
    ),
    "BLOCKED and DECIDE at once": Story(
        [turn(promises=(promise("decide", "a or b?"), promise("blocked", "no key"))), finishes],
        ("complete", 0),
        person=helpful,
        settings={"wait": True},
        damages=UNREAD,
    ),
    "all tasks blocked": Story(
        [turn(files=1, blocks=ONE_TASK)],
        ("blocked", 2),
    ),
    "refused completions open the breaker": Story(
        [claims_all] * 3, ("stuck", 4), afterwards=claims_all
    ),
    "refused once, then complete": Story(
        [claims_all, progress, finishes], ("complete", 0), damages=UNREAD
    ),
    "indicators add up": Story(
        [
            turn(files=1, ticks=ONE_TASK, EXIT_SIGNAL="true"),
            turn(EXIT_SIGNAL="true"),
        ],
        ("complete", 0),
    ),
    "complete by a confirming iteration": Story(
        [turn(files=1, commit=True, ticks=ONE_TASK), no_progress], ("complete", 0)
    ),
    "the agent fails and is started again": Story(
        [crash, progress, silence, finishes], ("complete", 0)
    ),
    "three failed iterations": Story([crash] * 6, ("fatal", 5), afterwards=crash),
    "validation passes": Story(
        [
            turn(files=1, commit=True, validates=(True,)),
            turn(
                files=1,
                ticks=ONE_TASK,
                EXIT_SIGNAL="true",
                words=("done", "finished"),
                validates=(True,),
            ),
        ],
        ("complete", 0),
    ),
    "validation fails": Story(
        [progress, turn(files=1, validates=(False,))], ("fatal", 5), damages=UNREAD
    ),
    "a timeout that stops": Story(
        [progress, timeout], ("fatal", 5), settings={"on_timeout": "stop"}, damages=UNREAD
    ),
    "the limit": Story(
        [progress, no_progress, edits_only],
        ("limit", 1),
        settings={"max_iterations": 3},
        damages=("nothing",),
    ),
    "paused and resumed": Story(
        [progress, progress, finishes],
        ("complete", 0),
        person=together(during_turn(1, "pause"), helpful),
    ),
    "a cooldown": Story(
        [progress, no_progress, finishes], ("complete", 0), settings={"cooldown": 1.5}
    ),
    "notes on the way": Story(
        [progress, progress, finishes],
        ("complete", 0),
        person=together(during_turn(0, "note", text="use tabs"), during_turn(1, "reset")),
    ),
    "the loop commits and pushes": Story(
        [
            edits_only,
            no_progress,
            turn(files=1, commit=True, validates=(True,)),
            turn(
                files=1,
                ticks=ONE_TASK,
                EXIT_SIGNAL="true",
                words=("done", "finished"),
                validates=(True,),
            ),
        ],
        ("complete", 0),
        settings={"commits": "loop", "push": True},
        damages=UNREAD,
    ),
    "the loop commits before it asks": Story(
        [edits_only, asks("sockets or polling?", files=1)],
        ("decide", 3),
        settings={"commits": "loop", "push": True},
        damages=UNREAD,
    ),
    "a hook refuses every commit": Story(
        [edits_only, edits_only, turn(files=1, ticks=ONE_TASK), no_progress],
        ("fatal", 5),
        settings={"commits": "loop", "push": True},
        damages=UNREAD,
        around={"hook": "line 7 is ugly"},
    ),
    "the remote refuses every push": Story(
        [edits_only, edits_only],
        ("fatal", 5),
        settings={"commits": "loop", "push": True},
        damages=UNREAD,
        around={"refusals": ("no route to host",) * 9},
    ),
    "a timeout that stops is committed first": Story(
        [edits_only, turn(files=1, fields=None, end=timeout.end, validates=(False,))],
        ("fatal", 5),
        settings={"commits": "loop", "push": True, "on_timeout": "stop"},
        damages=UNREAD,
    ),
    "two tasks": Story(
        [turn(files=1, commit=True, ticks=("a",)), turn(ticks=("b",)), claims_all, no_progress],
        ("complete", 0),
        tasks=("a", "b"),
    ),
}


def may_be_at_work(events: list[Event]) -> bool:
    """Whether an agent may have been running when the engine died after these events."""
    run = fold(events)
    if run.current is None:
        return False
    started_again = run.phase is Phase.RUNNING and "warned:agent-failed" in run.current.told
    return run.current.exit is None or started_again


def killed(
    story: Story, whole: SimulatedRun, after: Iterable[int] | None = None
) -> Iterator[tuple[str, str, SimulatedRun]]:
    """A recorded run as each kill leaves it, with an engine that has not taken it up yet."""
    for n_events in after if after is not None else range(1, len(whole.events)):
        events = whole.events[:n_events]
        left = next(each.simulated for each in reversed(whole.moments) if each.n_events < n_events)
        for damage in story.damages if may_be_at_work(events) else ("nothing",):
            simulated = left.copy()
            if damage != "nothing":
                simulated.change(simulated.next_turn, half=damage == "half")
            if damage == "whole":
                simulated.n_turns += 1
            left_over = SimulatedRun(
                simulated=simulated,
                config=settings(**story.settings),
                person=story.person,
                events=list(events),
                now=events[-1].at + timedelta(hours=1),
            )
            yield f"killed after {n_events} {events[-1].kind}, {damage} done", damage, left_over


def settled(played: SimulatedRun) -> list[dict[str, Any]]:
    """What each iteration came to, without its times."""
    ended: list[IterationEnded] = played.events_of("iterationEnded")
    return [
        event.model_dump(
            exclude={"seq": True, "at": True, "seconds": True, "breaker": {"last_change_at"}}
        )
        for event in ended
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_ends_as_it_would_have_ended(name: str) -> None:
    story = STORIES[name]
    whole = play(simulated=story.simulated(), person=story.person, record=True, **story.settings)
    assert whole.run.end is not None
    assert (whole.run.end.reason.value, whole.run.end.exit_code) == story.ends
    n_kills = 0
    for where, damage, left_over in killed(story, whole):
        n_kills += 1
        resumed = left_over.resume()
        check_end(resumed, story.ends, where)
        check_iterations(resumed, where)
        is_lost = "lost" in {event.outcome for event in resumed.events_of("iterationEnded")}
        if damage == "nothing" and not is_lost:
            assert settled(resumed) == settled(whole), where
            assert resumed.simulated.n_turns == whole.simulated.n_turns, where
            check_same_counters(resumed, whole, where)
        elif damage == "nothing" and story.person is None:
            assert resumed.run.counted == whole.run.counted, where
    assert n_kills >= len(whole.events) - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "BLOCKED ends the run",
        "DECIDE answered by hand, file left behind",
        "complete by a confirming iteration",
        "validation fails",
        "max_stuck",
    ],
)
def test_an_engine_that_takes_up_a_run_may_be_killed_as_well(name: str) -> None:
    story = STORIES[name]
    whole = play(simulated=story.simulated(), person=story.person, record=True, **story.settings)
    for where, _, left_over in killed(story, whole):
        n_before = len(left_over.events)
        left_over.record = True
        first = left_over.resume()
        soon = range(n_before + 1, min(n_before + 6, len(first.events)))
        for again, _, second in killed(story, first, soon):
            resumed = second.resume()
            check_end(resumed, story.ends, f"{where}, then {again}")
            check_iterations(resumed, f"{where}, then {again}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stop", "stop now", "pause"])
def test_a_wish_to_stop_or_to_pause_dies_with_the_engine(kind: str) -> None:
    now = {"now": True} if kind == "stop now" else {}
    story = Story(
        [progress, progress, finishes],
        ("complete", 0),
        person=during_turn(1, kind.split(maxsplit=1)[0], **now),
    )
    whole = play(simulated=story.simulated(), person=story.person, record=True)
    assert whole.run.phase in {Phase.ENDED, Phase.PAUSED}
    for where, _, left_over in killed(story, whole):
        left_over.person = None
        resumed = left_over.resume()
        check_end(resumed, story.ends, where)
        check_iterations(resumed, where)


def test_time_without_an_engine_counts_for_no_budget() -> None:
    story = Story([progress, no_progress, finishes], ("complete", 0))
    whole = play(simulated=story.simulated(), record=True)
    for _, damage, left_over in killed(story, whole):
        if damage == "nothing":
            resumed = left_over.resume()
            # The run under two engines takes a few steps more, but not the hour between them.
            assert resumed.run.active_seconds < whole.run.active_seconds + 60


def check_end(played: SimulatedRun, ends: tuple[str, int], where: str) -> None:
    end = played.run.end
    assert end is not None, f"{where}: {played.run.phase}"
    assert (end.reason.value, end.exit_code) == ends, f"{where}: {end.message}"


def check_iterations(played: SimulatedRun, where: str) -> None:
    """Every start of an agent is reported once, and has one end."""
    assert [event.seq for event in played.events] == list(range(1, len(played.events) + 1)), where
    told: Counter[tuple[str, int]] = Counter()
    for event in played.events:
        number = getattr(event, "start", None)
        if number is not None and event.kind in TOLD_ONCE:
            told[event.kind, number] += 1
        if number is not None and event.kind == "warned":
            told[f"warned {event.code}", number] += 1
    assert set(told.values()) == {1}, f"{where}: {[key for key in told if told[key] > 1]}"
    numbers = range(1, played.run.start + 1)
    assert all(told["iterationStarted", number] == 1 for number in numbers), where
    assert all(told["iterationEnded", number] == 1 for number in numbers), where
    ends = [event for event in played.events if event.kind == "runEnded"]
    assert ends == [played.events[-1]], where


def check_same_counters(resumed: SimulatedRun, whole: SimulatedRun, where: str) -> None:
    mine, theirs = resumed.run, whole.run
    assert mine.breaker.model_copy(update={"last_change_at": None}) == theirs.breaker.model_copy(
        update={"last_change_at": None}
    ), where
    names = ("counted", "stuck_count", "stuck_iterations", "indicators", "missing_reports", "seen")
    for name in (*names, "crashes", "recommendation", "blocked", "settled_question"):
        assert getattr(mine, name) == getattr(theirs, name), f"{where}: {name}"
    assert [note.text for note in mine.notes] == [note.text for note in theirs.notes], where
    asked = (mine.question, theirs.question)
    assert len({each.question if each is not None else None for each in asked}) == 1, where
    promises = [event.promise for event in resumed.events_of("promiseRead")]
    assert promises == [event.promise for event in whole.events_of("promiseRead")], where
