"""The fold: a viewer of any version, from any event on, comes to the state of the engine."""

from __future__ import annotations

from datetime import timedelta
from typing import get_type_hints

import pytest
from pydantic import BaseModel

from ralph_ls.core.loop.changes import (
    BreakerChanges,
    FailedValidationChanges,
    IterationChanges,
    LaneChanges,
    RevertedChanges,
    RunChanges,
)
from ralph_ls.core.loop.fold import active_seconds, apply, fold
from ralph_ls.core.loop.state import LoopState, StepDraft
from ralph_ls.protocol.run.events import (
    BlockedResolved,
    Event,
    GuardReverted,
    NoteAdded,
    UnknownEvent,
    dump_event,
    parse_event,
)
from ralph_ls.protocol.run.state import CurrentIteration, FailedValidation, LaneView, RunState
from ralph_ls.protocol.run.values import Breaker, Phase
from tests.unit.core.loop.simulated_project import asks, finishes, no_progress, progress
from tests.unit.core.loop.simulated_run import BEGIN, RUN, command, play
from tests.unit.core.loop.user_behaviours import helpful

whole = play(progress, asks("a?"), no_progress, finishes, wait=True, person=helpful)


def of_kind(kind: str) -> Event:
    return next(event for event in whole.events if event.kind == kind)


@pytest.mark.parametrize("cut", range(0, len(whole.events), 5))
def test_a_fold_continues_from_any_snapshot(cut: int) -> None:
    snapshot = fold(whole.events[:cut])
    restored = RunState.model_validate_json(snapshot.model_dump_json(by_alias=True))
    assert fold(whole.events[cut:], restored) == whole.run


def test_events_of_a_newer_engine_move_only_the_number() -> None:
    newer = UnknownEvent(seq=whole.run.seq + 1, at=whole.now, run=RUN, kind="sparkled")
    after = apply(whole.run, newer)
    assert after == whole.run.model_copy(update={"seq": newer.seq, "at": newer.at})


@pytest.mark.parametrize("kind", sorted({event.kind for event in whole.events}))
def test_an_event_without_those_before_it_fails_nobody(kind: str) -> None:
    # A journal whose beginning cannot be read is shown as far as it goes.
    event = of_kind(kind)
    folded = fold([parse_event(dump_event(event))])
    assert folded.seq == event.seq


def test_an_answer_without_its_question_is_kept() -> None:
    answered = of_kind("questionAnswered")
    question = fold([answered]).question
    assert question is not None
    assert (question.question, question.answer, question.asked_at) == (
        "a?",
        "polling",
        answered.at,
    )


def test_a_resolved_blocker_that_nobody_knows_leaves_no_trace() -> None:
    resolved = BlockedResolved(seq=1, at=BEGIN, run=RUN, by="Ada")
    assert fold([resolved]).resolved_blocker is None


def test_only_engine_time_counts() -> None:
    parked = play(asks("a?"), finishes, wait=True)
    before = parked.run.active_seconds
    assert parked.run.phase is Phase.PARKED
    parked.now += timedelta(days=1)
    parked.go_on(command("answer", text="b"))
    assert parked.run.active_seconds < before + 60
    assert parked.run.end is not None


def test_a_clock_that_is_set_back_takes_no_time_away() -> None:
    running = fold(whole.events[:5])
    assert active_seconds(running, BEGIN - timedelta(days=1)) == running.active_seconds
    assert active_seconds(running, BEGIN + timedelta(days=1)) > running.active_seconds


def test_a_journal_that_is_empty_is_a_run_of_which_nothing_is_known() -> None:
    assert fold([]) == RunState()
    assert active_seconds(RunState(), BEGIN) == 0.0


def test_answered_commands_and_warnings_are_kept_in_bounds() -> None:
    run = play(asks("a?"), wait=True)
    for _ in range(120):
        run.send("note", text="use tabs")
    assert len(run.run.commands) == 100
    assert len(run.run.notes) == 120


@pytest.mark.parametrize("cut", range(0, len(whole.events), 3))
def test_a_fold_is_its_events_one_by_one_and_leaves_where_it_began_alone(cut: int) -> None:
    before = fold(whole.events[:cut])
    values, fields = before.model_dump(), set(before.model_fields_set)
    one_by_one = before
    for event in whole.events[cut:]:
        one_by_one = apply(one_by_one, event)
    folded = fold(whole.events[cut:], before)
    assert folded == one_by_one == fold(whole.events)
    assert folded.model_fields_set == one_by_one.model_fields_set
    assert (before.model_dump(), before.model_fields_set) == (values, fields)


@pytest.mark.parametrize(
    ("changes", "model"),
    [
        (RunChanges, RunState),
        (IterationChanges, CurrentIteration),
        (BreakerChanges, Breaker),
        (LaneChanges, LaneView),
    ],
)
def test_typed_changes_have_the_fields_of_their_model(
    changes: type, model: type[BaseModel]
) -> None:
    fields = get_type_hints(model, include_extras=True)
    assert get_type_hints(changes, include_extras=True) == {
        name: fields[name] for name in model.model_fields
    }


@pytest.mark.parametrize(
    ("changes", "model"),
    [(FailedValidationChanges, FailedValidation), (RevertedChanges, GuardReverted)],
)
def test_partial_changes_name_fields_of_their_model(changes: type, model: type[BaseModel]) -> None:
    fields = get_type_hints(model, include_extras=True)
    for name, type_hint in get_type_hints(changes, include_extras=True).items():
        assert fields[name] == type_hint


def test_an_event_that_is_not_the_next_one_cannot_be_emitted() -> None:
    draft = StepDraft(LoopState(run=whole.run), whole.now)
    stamp = draft.stamp
    draft.emit(NoteAdded(**stamp, text="use tabs", by="Ada"))
    with pytest.raises(
        ValueError, match=f"event {stamp['seq']} cannot follow event {stamp['seq']}"
    ):
        draft.emit(NoteAdded(**stamp, text="use spaces", by="Ada"))
