"""Whatever comes, in whatever order: what holds for every run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.evidence.progress import Changes, judge_progress
from ralph_ls.core.loop.evidence.repetition import RepetitionHistory
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import (
    AgentFinished,
    AnnouncementDone,
    HaltFiles,
    Input,
    IterationRead,
    PlanFacts,
    Prepared,
    Resumed,
    Started,
    WorkJudged,
    WorkUndone,
)
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.state import Awaits, LoopState, Step
from ralph_ls.protocol.config.config import EvidenceKind
from ralph_ls.protocol.run.events import Event, RunEnded, dump_event, parse_event
from ralph_ls.protocol.run.report import Report
from ralph_ls.protocol.run.values import Baseline, EndReason
from tests.unit.core.loop import input_strategies
from tests.unit.core.loop.simulated_run import BEGIN, LAUNCHED, check_step, settings

N_STEPS = 40


class Chance:
    """A run that is moved by chance and killed by chance."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.state = LoopState()
        self.events: list[Event] = []
        self.now = BEGIN
        self.n_engines = 0

    def move(self) -> None:
        """Feed one input: nearly always what is awaited, now and then anything."""
        chance = self.data.draw(st.integers(0, 19))
        is_known = self.state.awaits is not Awaits.START
        if chance == 0 and is_known and not self._is_complete():
            self.kill()
        elif chance <= 3:
            self.feed(self.data.draw(input_strategies.anything))
        elif self.state.awaits is Awaits.START and self.events:
            self.feed(self.data.draw(input_strategies.resumes))
        else:
            self.feed(self.data.draw(input_strategies.awaited[self.state.awaits]))

    def kill(self) -> None:
        """The engine dies, and perhaps its last events were never written."""
        n_lost = self.data.draw(st.integers(0, min(4, len(self.events) - 1)))
        self.events = self.events[: len(self.events) - n_lost]
        self.n_engines = sum(event.kind in {"runStarted", "runResumed"} for event in self.events)
        self.state = LoopState(run=fold(self.events))

    def feed(self, given_input: Input) -> None:
        self.now += timedelta(milliseconds=self.data.draw(st.sampled_from([1, 700, 9000])))
        taken = step(self.state, given_input, self.now + timedelta(microseconds=7))
        check_step(self.state, given_input, taken)
        check_end(self.state, given_input, taken)
        if taken.events and isinstance(given_input, Started | Resumed):
            self.n_engines += 1
        self.events.extend(taken.events)
        self.state = taken.state

    def _is_complete(self) -> bool:
        end = self.state.run.end
        return end is not None and end.reason is EndReason.COMPLETE


def check_end(before: LoopState, given_input: Input, taken: Step) -> None:
    """An end is the last event; complete is only what the plan agrees with."""
    kinds = [event.kind for event in taken.events]
    if before.awaits is Awaits.NOTHING:
        # Results of announcements are reported also after the end.
        wanted = {"warned"} if isinstance(given_input, AnnouncementDone) else {"commandRejected"}
        assert set(kinds) <= wanted
    assert "runEnded" not in kinds[:-1]
    if not kinds or kinds[-1] != "runEnded":
        return
    assert taken.state.awaits is Awaits.NOTHING
    end = taken.events[-1]
    assert isinstance(end, RunEnded)
    if end.reason is EndReason.COMPLETE:
        plan = newest_plan(before, given_input)
        assert plan is not None
        assert plan.counts.open_required == 0


def newest_plan(before: LoopState, given_input: Input) -> PlanFacts | None:
    """The plan that a step decides by: the input's, else that of the reading it continues."""
    if isinstance(given_input, IterationRead | Prepared):
        return given_input.plan
    is_refused = isinstance(given_input, WorkUndone) and given_input.refused
    if isinstance(given_input, WorkJudged | WorkUndone) and given_input.plan and not is_refused:
        return given_input.plan
    return None if before.reading is None else before.reading.plan


@pytest.mark.slow
@given(st.data())
def test_any_sequence_of_inputs_keeps_the_promises_of_a_step(data: st.DataObject) -> None:
    chance = Chance(data)
    for _ in range(N_STEPS):
        chance.move()
    run = chance.state.run
    assert fold(parse_event(dump_event(event)) for event in chance.events) == run
    ends = sum(event.kind == "runEnded" for event in chance.events)
    assert ends <= chance.n_engines
    numbers = [event.start for event in chance.events if event.kind == "iterationEnded"]
    assert len(numbers) == len(set(numbers))
    counters = [run.counted, run.stuck_count, run.indicators, run.missing_reports, run.crashes]
    breaker = run.breaker
    counters += [breaker.consecutive_no_progress, breaker.consecutive_same_error]
    counters += [breaker.consecutive_failing_tests, breaker.consecutive_refusals]
    counters += [breaker.consecutive_denials, breaker.consecutive_set_asides]
    counters += [*run.attempts.values(), *breaker.error_streaks.values()]
    assert min(*counters, breaker.total_opens, 0) == 0
    assert run.counted <= run.start
    assert run.active_seconds >= 0


@given(st.none() | input_strategies.reports, st.lists(input_strategies.fingerprints, max_size=4))
def test_no_report_alone_is_ever_progress(report: Report | None, seen: list[str]) -> None:
    kinds = frozenset(EvidenceKind) - {EvidenceKind.DECLARED}
    for tasks_done in ((), ("00000001",)):
        evidence = judge_progress(
            Changes(),
            tasks_done=tasks_done,
            before=RepetitionHistory(end_states=seen),
            kinds=kinds,
            report=report,
        )
        assert not evidence.progress
        assert evidence.why


@pytest.mark.slow
@given(st.lists(input_strategies.read, min_size=1, max_size=5))
def test_no_sequence_of_reports_alone_moves_the_loop(said: list[IterationRead]) -> None:
    state = LoopState()
    start = input_strategies.started(settings(breaker_enabled=False), HaltFiles())
    now = BEGIN
    inputs: list[Input] = [start]
    for one in said:
        nothing = replace(
            one,
            changes=Changes(),
            promises=(),
            must_validate=False,
            without_output=False,
            limit=None,
            failed=False,
        )
        plan = input_strategies._plan(1, 0, 0)
        prepared = Prepared(baseline=Baseline(fingerprint="0" * 16), plan=plan)
        inputs += [prepared, LAUNCHED, AgentFinished(exit_code=0), nothing]
    for each in inputs:
        now += timedelta(seconds=1)
        taken = step(state, each, now)
        check_step(state, each, taken)
        state = taken.state
    assert state.run.breaker.last_progress_iteration == 0
    assert state.run.stuck_count == state.run.counted
