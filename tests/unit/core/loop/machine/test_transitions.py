"""The reducer's table: every phase and input has an answer, and no run leaves it.

That no run leaves it is checked in every step that any test of the loop takes (``check_step``).
"""

from __future__ import annotations

import pytest
from hypothesis import given

from ralph_ls.core.loop.inputs import (
    AgentCalled,
    AgentFinished,
    AnnouncementDone,
    AnswerOverdue,
    CommandUnreadable,
    EffectFailed,
    HaltFiles,
    HaltFilesChanged,
    Input,
    Interrupted,
    IterationRead,
    Notice,
    PlanFacts,
    Prepared,
    Resumed,
    Started,
    TaskClaimed,
    ValidationFinished,
    WaitElapsed,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.machine.run_flow import BY_TERM
from ralph_ls.core.loop.machine.transitions import INPUTS, LIVE_PHASES, TAKE_UP, TRANSITIONS, allows
from ralph_ls.core.loop.state import Awaits, LoopState
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.agent_tools import ReportTool
from ralph_ls.protocol.run.report import JudgeVerdict
from ralph_ls.protocol.run.values import Baseline, Phase, TaskRef
from tests.unit.core.loop.input_strategies import anything
from tests.unit.core.loop.machine.test_steering import HELD
from tests.unit.core.loop.simulated_project import SimulatedProject, finishes
from tests.unit.core.loop.simulated_run import (
    LAUNCHED,
    RUN,
    SimulatedRun,
    check_step,
    command,
    facts,
    play,
)

PHASES_HELD = {
    "preparing": Phase.PREPARING,
    "running": Phase.RUNNING,
    "settling": Phase.SETTLING,
    "waiting": Phase.WAITING,
    "stopping": Phase.STOPPING,
    "paused": Phase.PAUSED,
    "decide": Phase.PARKED,
    "ended": Phase.ENDED,
}
RUNS: dict[Phase, SimulatedRun] = {phase: HELD[name]() for name, phase in PHASES_HELD.items()}

FACTS = facts(SimulatedProject(script=[]), Config())
ONE_OF_EACH: list[Input] = [
    Started(run=RUN, facts=FACTS),
    Resumed(by="Ada", facts=FACTS),
    Prepared(baseline=Baseline(), plan=PlanFacts()),
    TaskClaimed(task=TaskRef(id="a", title="a")),
    LAUNCHED,
    AgentCalled(start=1, call=1, tool=ReportTool.REPORT_STATUS),
    AnswerOverdue(start=1),
    AgentFinished(exit_code=0),
    IterationRead(),
    ValidationFinished(ok=True, exit_code=0, timed_out=False, seconds=1.0, tail=""),
    WorkJudged(verdict=JudgeVerdict.PASSED),
    WorkUndone(),
    WorkCommitted(),
    WorkPushed(),
    command("pause"),
    CommandUnreadable(id="command-broken", code="unreadable", reason="no JSON"),
    HaltFilesChanged(halt=HaltFiles(question="a or b?")),
    WaitElapsed(),
    Interrupted(by=BY_TERM),
    AnnouncementDone(code="on-pr-ready", message="done"),
    EffectFailed(message="the disk is full"),
]


def test_every_phase_and_input_has_an_answer() -> None:
    assert len(INPUTS) == 21
    assert set(TAKE_UP) == set(INPUTS)
    assert set(TRANSITIONS) == set(LIVE_PHASES)
    assert set(LIVE_PHASES) == set(Phase) - {Phase.STARTING, Phase.CRASHED}
    for row in (TAKE_UP, *TRANSITIONS.values()):
        assert set(row) == set(INPUTS)
        for answer in row.values():
            assert answer, "a reason, or at least one phase"
            assert isinstance(answer, str) or answer <= set(LIVE_PHASES)


def test_the_runs_that_are_tried_are_in_every_phase() -> None:
    assert set(RUNS) == set(LIVE_PHASES)
    assert all(held.run.phase is phase for phase, held in RUNS.items())


def test_every_kind_of_input_is_tried() -> None:
    assert {type(each) for each in ONE_OF_EACH} == set(INPUTS)


@pytest.mark.parametrize("given_input", ONE_OF_EACH, ids=lambda each: type(each).__name__)
def test_what_the_table_ignores_is_ignored(given_input: Input) -> None:
    check_ignored(given_input)


@given(anything)
def test_whatever_comes_the_table_is_kept_to(given_input: Input) -> None:
    check_ignored(given_input)


def check_ignored(given_input: Input) -> None:
    for phase, held in RUNS.items():
        taken = step(held.state, given_input, held.now)
        check_step(held.state, given_input, taken)
        if isinstance(TRANSITIONS[phase][type(given_input)], str):
            assert taken.ignored
    fresh = LoopState(run=RUNS[Phase.RUNNING].run)
    taken = step(fresh, given_input, RUNS[Phase.RUNNING].now)
    check_step(fresh, given_input, taken)
    if isinstance(TAKE_UP[type(given_input)], str):
        assert taken.ignored == TAKE_UP[type(given_input)]


def test_what_is_ignored_leads_nowhere() -> None:
    for phase, row in TRANSITIONS.items():
        for kind, answer in row.items():
            led_to = {after for after in Phase if allows(phase, kind, after)}
            assert led_to == (set() if isinstance(answer, str) else answer)


def test_a_run_that_has_begun_is_not_started_again() -> None:
    played = play(finishes)
    given_input = Started(run=RUN, facts=facts(played.simulated, played.config))
    taken = step(LoopState(run=played.run), given_input, played.now)
    assert taken.ignored == "the run has begun; resume it instead of starting it"


def test_a_complete_run_is_not_resumed() -> None:
    played = play(finishes)
    n_events = len(played.events)
    played.take_up()
    assert played.ignored == ["the run is complete"]
    assert len(played.events) == n_events


def test_there_is_nothing_to_resume_without_a_run() -> None:
    played = play(finishes)
    played.events = []
    played.take_up()
    assert played.ignored == ["there is no run to resume"]
    assert played.state.awaits is Awaits.START


def test_what_was_noticed_before_an_iteration_is_warned_of() -> None:
    played = HELD["preparing"]()
    notices = (Notice(code="left-over", message="a file is left over"),)
    played.feed(Prepared(baseline=Baseline(), plan=played.simulated.plan(), notices=notices))
    assert played.warnings() == ["left-over"]
    assert "iterationStarted" in played.kinds()
