"""A journal judged again: under its own settings as it was, under others as they would have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.replay.driver import SimulatedIteration
from ralph_ls.core.replay.journal import simulate_journal
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    Event,
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    RunEnded,
    RunStarted,
    UnknownEvent,
    WaitStarted,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import CommitSeen, EndReason, PlanCountsView
from ralph_ls.store.project.config_file import changed_settings
from ralph_ls.store.run.journal import read_journal
from tests.histories import record
from tests.unit.core.loop.machine.test_kill import STORIES
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    asks,
    claims_all,
    crash,
    edits_only,
    finishes,
    is_blocked,
    no_progress,
    progress,
    turn,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, play, settings
from tests.unit.core.loop.user_behaviours import helpful

Decision = tuple[int, str, str | None, int | None]
"""Iteration, breaker, end and exit code."""

OPEN_AT_ITS_END = frozenset({"plan-vanishes"})
"""The plan is gone while an iteration is open: its journal has no end of that iteration, and what
broke is reported all the same."""


def as_recorded(config: Config) -> Config:
    return config


def decided_again(events: Iterable[EventBase]) -> list[Decision]:
    """What a journal's own settings say of it."""
    return [_decision(one) for one in simulate_journal(events, as_recorded)]


def _decision(one: SimulatedIteration) -> Decision:
    end = None if one.verdict is None else one.verdict.value
    return one.iteration, one.breaker.value, end, one.exit_code


def decided(events: Sequence[EventBase]) -> list[Decision]:
    """What was decided: the breaker after each iteration, and the first end that the loop found.

    A stop by the user is none: no policy could have foreseen it, so the simulation continues with
    what the resumed run did, where it was resumed.
    """
    found: list[Decision] = []
    for event in events:
        if isinstance(event, IterationEnded):
            found.append((event.start, event.breaker.state.value, None, None))
        if isinstance(event, RunEnded) and event.reason is not EndReason.STOPPED:
            number, breaker, *_ = found.pop() if found else (0, "CLOSED", None, None)
            return [*found, (number, breaker, event.reason.value, event.exit_code)]
    return found


def under(events: Iterable[EventBase], **overrides: Any) -> list[Decision]:
    """What a journal's settings with other ones over them say; ``__`` in a name is a dot."""
    dotted = {name.replace("__", "."): value for name, value in overrides.items()}
    told = simulate_journal(events, lambda config: changed_settings(config, dotted))
    return [_decision(one) for one in told]


@pytest.mark.parametrize("name", sorted(record.HISTORIES))
def test_a_recorded_run_decides_again_as_it_did(name: str) -> None:
    events = read_journal(record.path_of(name)).events
    if name in OPEN_AT_ITS_END:
        assert decided_again(events) == [(1, "CLOSED", "fatal", 5)]
    else:
        assert decided_again(events) == decided(events)


@pytest.mark.parametrize("name", STORIES)
def test_a_played_run_decides_again_as_it_did(name: str) -> None:
    story = STORIES[name]
    played = SimulatedRun(
        simulated=story.simulated(), config=settings(**story.settings), person=story.person
    )
    events = played.start().events
    assert decided_again(events) == decided(events)


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_a_run_that_was_killed_and_resumed_decides_again_as_it_did(name: str) -> None:
    story = STORIES[name]
    config = settings(**story.settings)
    whole = SimulatedRun(
        simulated=story.simulated(), config=config, person=story.person, record=True
    ).start()
    for moment in whole.moments:
        if not moment.n_events:
            continue
        again = SimulatedRun(simulated=moment.simulated.copy(), config=config, person=story.person)
        again.events = whole.events[: moment.n_events]
        again.now = whole.events[moment.n_events - 1].at
        if any(isinstance(event, RunEnded) for event in again.events):
            continue
        again.resume()
        assert decided_again(again.events) == decided(again.events), again.kinds()


class TestOtherPolicies:
    def test_another_threshold_ends_it_earlier(self) -> None:
        events = play(no_progress, no_progress, progress, finishes).events
        assert under(events, breaker__no_progress_open=2) == [
            (1, "CLOSED", None, None),
            (2, "OPEN", "stuck", 4),
        ]

    def test_where_the_run_ended_the_other_policy_continues(self) -> None:
        events = play(no_progress, no_progress, no_progress).events
        assert decided(events)[-1] == (3, "OPEN", "stuck", 4)
        assert under(events, breaker__enabled=False)[-1] == (3, "CLOSED", None, None)

    def test_an_end_before_the_next_iteration_belongs_to_the_last_one(self) -> None:
        events = play(progress, finishes).events
        assert under(events, gate__rule="queue") == [
            (1, "CLOSED", None, None),
            (2, "CLOSED", "complete", 0),
        ]

    def test_who_is_asked_is_not_there_where_the_policy_does_not_wait(self) -> None:
        events = play(asks("red?"), finishes, person=helpful, wait=True).events
        assert decided(events)[-1] == (2, "CLOSED", "complete", 0)
        assert under(events, on_halt="exit") == [(1, "CLOSED", "decide", 3)]

    def test_a_halt_that_nobody_helped_then_ends_it(self) -> None:
        events = play(no_progress, no_progress, finishes, wait=True, person=helpful).events
        told = list(
            simulate_journal(
                events, lambda config: changed_settings(config, {"breaker.no_progress_open": 2})
            )
        )
        assert [_decision(one) for one in told] == [
            (1, "CLOSED", None, None),
            (2, "OPEN", "stuck", 4),
        ]
        assert "a reset" in told[-1].reason

    def test_a_run_that_is_still_parked_ends_with_what_it_waits_for(self) -> None:
        events = play(is_blocked("no key"), wait=True).events
        assert decided_again(events) == [(1, "CLOSED", "blocked", 2)]

    def test_a_block_that_was_resolved_between_two_engines_is_none_for_the_second(self) -> None:
        played = play(is_blocked("no key"), finishes, wait=True)
        played.simulated.blocked = None
        events = played.resume().events
        told = [event.kind for event in events]
        assert told.index("runResumed") < told.index("blockedResolved")
        assert decided_again(events) == decided(events)
        assert decided(events)[-1] == (2, "CLOSED", "complete", 0)

    def test_a_task_that_is_set_aside_is_not_counted_again(self) -> None:
        simulated = SimulatedProject(script=[no_progress] * 4, afterwards=no_progress)
        events = play(simulated=simulated, max_iterations=4, breaker_enabled=False).events
        told = under(events, attempts__limit=2, attempts__mark=False)
        assert told[-1] == (4, "CLOSED", "limit", 1)

    def test_a_run_that_ended_as_blocked_by_its_plan_has_nothing_to_take(self) -> None:
        simulated = SimulatedProject(script=[progress], tasks={"a": "todo", "b": "blocked"})
        simulated.script = [turn(files=1, commit=True, ticks=("a",), STATUS="IN_PROGRESS")]
        events = play(simulated=simulated).events
        assert decided(events)[-1] == (1, "CLOSED", "blocked", 2)
        assert decided_again(events) == decided(events)
        assert under(events, gate__rule="queue")[-1] == (1, "CLOSED", "blocked", 2)


class TestWhatIsTakenFromTheJournal:
    def test_usage_and_denials(self) -> None:
        costly = turn(fields=None, usage=Usage(output_tokens=60), denied=("Bash",))
        events = play(costly, costly, finishes, breaker_denials_open=0).events
        assert under(events, max_tokens=100)[-1] == (2, "HALF_OPEN", "limit", 1)
        assert under(events, breaker__denials_open=2)[-1] == (2, "OPEN", "stuck", 4)

    def test_denials_without_a_name(self) -> None:
        denied = turn(fields=None, denied=("Bash",))
        events = [
            event.model_copy(update={"denied_tools": ()})
            if isinstance(event, IterationEnded)
            else event
            for event in play(denied, denied, finishes, breaker_denials_open=0).events
        ]
        assert under(events, breaker__denials_open=2)[-1] == (2, "OPEN", "stuck", 4)

    def test_commits_and_their_authors(self) -> None:
        events = [
            event.model_copy(
                update={
                    "evidence": event.evidence.model_copy(
                        update={"commits": (CommitSeen(hash="a", subject="", by_person=True),)}
                    )
                }
            )
            if isinstance(event, EvidenceGathered)
            else event
            for event in play(no_progress, no_progress, finishes).events
        ]
        assert under(events, max_stuck=2)[-1] == (2, "HALF_OPEN", "stuck", 4)

    def test_the_loops_own_commits_and_pushes(self) -> None:
        simulated = SimulatedProject(script=[edits_only] * 2, refusals=("", "no route to host"))
        done = play(simulated=simulated, commits="loop", push=True, max_stuck=1)
        assert done.exit_code == 5
        assert decided_again(done.events) == decided(done.events)

    def test_what_the_loop_would_have_committed(self) -> None:
        done = play(edits_only, edits_only, max_iterations=2)
        other = {"commits": "loop", "max_stuck": 1}
        assert under(done.events, **other)[-1][2:] == ("limit", 1)
        idle = play(no_progress, no_progress, max_iterations=2)
        assert under(idle.events, **other)[-1][2:] == ("stuck", 4)

    def test_durations(self) -> None:
        events = play(progress, progress, progress, finishes).events
        passed = next(event for event in events if isinstance(event, IterationEnded)).seconds
        assert under(events, max_duration=2 * passed)[-1][2] == "limit"
        assert under(events, max_duration=1000 * passed) == decided(events)

    def test_time_in_which_the_user_was_waited_for_is_none(self) -> None:
        events: list[Event] = play(asks("red?"), finishes, person=helpful, wait=True).events
        late = [
            event.model_copy(update={"at": event.at + timedelta(days=9)})
            if event.seq > next(e.seq for e in events if e.kind == "questionAnswered") - 1
            else event
            for event in events
        ]
        assert under(late, max_duration="1h") == decided(events)

    def test_a_wait_for_a_usage_limit(self) -> None:
        limited = turn(fields=None, limit=AccountLimit(), failure="at its limit")
        events = play(limited, finishes, limit_wait=600).events
        assert (
            decided_again(events)
            == decided(events)
            == [
                (1, "CLOSED", None, None),
                (2, "CLOSED", "complete", 0),
            ]
        )
        assert under(events, max_duration="5m")[-1] == (1, "CLOSED", "limit", 1)
        cut = [event for event in events if not isinstance(event, WaitStarted)]
        assert decided_again(cut) == decided(events)

    def test_a_crash_and_its_second_attempt(self) -> None:
        events = play(crash, crash, progress, finishes).events
        assert decided_again(events) == decided(events)
        assert under(events, breaker__no_progress_open=1)[-1] == (1, "OPEN", "stuck", 4)


class TestPieces:
    def test_an_answer_of_any_length_is_one_and_an_empty_one_is_none(self) -> None:
        events = play(asks("red?"), finishes, person=helpful, wait=True).events

        def with_answer(text: str) -> list[EventBase]:
            return [
                event.model_copy(update={"answer": text})
                if event.kind == "questionAnswered"
                else event
                for event in events
            ]

        assert decided_again(with_answer("x" * 200_000)) == decided(events)
        assert decided_again(with_answer(" ")) == [(1, "CLOSED", "decide", 3)]

    def test_no_events_report_nothing(self) -> None:
        assert decided_again([]) == []

    def test_a_run_that_has_only_begun_reports_nothing(self) -> None:
        events = play(finishes).events
        begun = next(n for n, event in enumerate(events) if isinstance(event, IterationStarted))
        assert decided_again(events[:begun]) == []
        assert decided_again(events[: begun + 1]) == []

    def test_an_iteration_that_is_not_over_is_not_reported(self) -> None:
        events = play(progress, finishes).events
        ended = [n for n, event in enumerate(events) if isinstance(event, IterationEnded)]
        assert decided_again(events[: ended[1]]) == [(1, "CLOSED", None, None)]

    def test_a_live_run_is_reported_as_it_would_continue(self) -> None:
        events = play(progress, claims_all, finishes).events
        ended = [n for n, event in enumerate(events) if isinstance(event, IterationEnded)]
        assert decided_again(events[: ended[1] + 1])[-1][2] is None

    def test_a_journal_without_its_start_is_judged_by_the_default(self) -> None:
        events = [e for e in play(no_progress, finishes).events if not isinstance(e, RunStarted)]
        assert decided_again(events)[-1][2] == "complete"

    def test_events_of_a_newer_engine_change_nothing(self) -> None:
        events = play(progress, finishes).events
        newer = UnknownEvent(seq=1, at=events[0].at, run=events[0].run, kind="somethingNew")
        mixed = [one for event in events for one in (event, newer)]
        assert decided_again(mixed) == decided(events)

    def test_an_iteration_of_which_little_is_reported(self) -> None:
        kept = (RunStarted, IterationStarted, IterationEnded)
        events = [event for event in play(progress, finishes).events if isinstance(event, kept)]
        assert [one[0] for one in decided_again(events)] == [1, 2]

    def test_a_clock_that_ran_wild_is_no_crash(self) -> None:
        events = play(progress, finishes).events
        wild = [
            event.model_copy(update={"at": event.at.replace(year=9999 if number % 2 else 1)})
            for number, event in enumerate(events)
        ]
        assert decided_again(wild) == decided(events)

    def test_what_the_user_did_before_the_end_counts_as_done(self) -> None:
        events = play(progress, finishes).events
        ended = [n for n, event in enumerate(events) if isinstance(event, IterationEnded)]
        end = next(event for event in events if isinstance(event, RunEnded))
        ticked = [*events[: ended[0] + 1], end]
        assert under(ticked, gate__rule="queue") == [(1, "CLOSED", "complete", 0)]

    def test_counts_of_a_plan_that_has_none(self) -> None:
        events = [
            event.model_copy(update={"counts": PlanCountsView()})
            if hasattr(event, "counts")
            else event
            for event in play(no_progress, no_progress, finishes).events
        ]
        assert decided_again(events)[1] == (2, "HALF_OPEN", None, None)
