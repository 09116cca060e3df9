"""Resuming a run that ended or that a system stopped: same counters, next number, new settings."""

from __future__ import annotations

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import Notice, PendingNote, Resumed
from ralph_ls.core.loop.state import LoopState
from ralph_ls.protocol.run.values import BreakerState, Phase
from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    SimulatedProject,
    crash,
    edits_only,
    finishes,
    no_progress,
    progress,
    turn,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, facts, play, settings
from tests.unit.core.loop.user_behaviours import during_turn


def test_a_resumed_run_continues_with_the_next_number_and_the_same_counters() -> None:
    played = play(no_progress, progress, finishes, person=during_turn(1, "stop", now=True))
    played.person = None
    played.resume()
    assert played.exit_code == 0
    assert [event.iteration for event in played.events_of("iterationStarted")] == [1, 2, 3, 4]
    third = played.events_of("iterationEnded")[2]
    assert third.breaker.last_progress_iteration == 3
    (resumed,) = played.events_of("runResumed")
    assert (resumed.by, resumed.run) == ("Ada", played.events[0].run)


def test_a_resume_after_stuck_counts_as_a_reset_by_that_user() -> None:
    played = play(no_progress, no_progress, no_progress, finishes)
    assert played.exit_code == 4
    played.resume(by="Grace")
    assert played.exit_code == 0
    assert played.run.breaker.state is BreakerState.CLOSED
    assert played.events_of("circuitBreakerStateChange")[-1].reason == "reset by Grace"


def test_an_end_that_was_found_but_not_carried_out_is_what_a_new_engine_begins_with() -> None:
    played = play(crash, crash, crash, crash, crash, crash)
    assert played.exit_code == 5
    last = played.events_of("iterationEnded")[-1].seq
    played.events = played.events[:last]
    played.resume()
    assert played.exit_code == 5
    assert played.kinds()[last:].count("iterationStarted") == 0
    assert played.kinds()[last:][0] == "runResumed"
    assert played.kinds()[-1] == "runEnded"


def test_a_resume_after_max_stuck_counts_as_a_reset_too() -> None:
    played = play(edits_only, edits_only, finishes, max_stuck=2)
    assert played.exit_code == 4
    assert played.resume().exit_code == 0


def test_a_parked_run_that_the_system_stopped_is_reset_by_its_resume() -> None:
    played = play(no_progress, no_progress, no_progress, finishes, wait=True)
    assert played.run.phase is Phase.PARKED
    assert played.resume().exit_code == 0


def test_a_limit_holds_for_the_resumed_run_until_it_is_raised() -> None:
    played = play(progress, finishes, max_iterations=1)
    assert played.resume().exit_code == 1
    assert played.run.iteration == 1
    played.resume(config=settings(max_iterations=2))
    assert (played.exit_code, played.run.iteration) == (0, 2)
    assert played.run.config.max_iterations == 2


def test_a_duration_counts_engine_time_of_all_engines() -> None:
    played = play(progress, finishes, person=during_turn(0, "stop"))
    used = played.run.active_seconds
    played.resume(config=settings(max_duration=used))
    assert (played.exit_code, played.run.iteration) == (1, 1)


def test_what_was_written_while_no_engine_ran_is_reported() -> None:
    played = play(progress, finishes, person=during_turn(0, "stop"))
    fresh = SimulatedRun(
        simulated=played.simulated,
        config=played.config,
        state=LoopState(run=fold(played.events)),
        events=played.events,
        now=played.now,
    )
    given = Resumed(
        by="Ada",
        facts=facts(
            fresh.simulated,
            fresh.config,
            notices=(Notice(code="detached", message="HEAD is detached"),),
            notes=(PendingNote(text="use tabs", by="Ada"),),
        ),
        orphans_ended=2,
    )
    fresh.go_on(given)
    assert fresh.exit_code == 0
    assert fresh.events_of("runResumed")[0].orphans_ended == 2
    assert fresh.warnings() == ["detached"]
    assert fresh.prompts[-1].notes == ("use tabs",)


def test_a_complete_verdict_is_not_carried_out_on_a_plan_that_grew() -> None:
    whole = play(finishes, turn(files=1, ticks=("b",)))
    cut = whole.kinds().index("runEnded")
    played = SimulatedRun(simulated=whole.simulated, config=whole.config, events=whole.events[:cut])
    played.now = whole.now
    assert played.events[-1].kind == "iterationEnded"
    played.simulated.tasks["b"] = "todo"
    played.resume()
    assert played.run.iteration > 1
    assert played.simulated.tasks == {ONE_TASK[0]: "done", "b": "done"}


def test_evidence_stays_as_it_was_reported_though_another_user_changed_the_tree_since() -> None:
    whole = play(no_progress, finishes, record=True)
    told = whole.kinds().index("evidenceGathered") + 1
    played = SimulatedRun(
        simulated=SimulatedProject(script=[no_progress, finishes]), config=whole.config
    )
    played.events, played.now = whole.events[:told], whole.now
    played.simulated.said, played.simulated.n_turns = dict(whole.simulated.said), 1
    played.simulated.content = 99
    played.resume()
    first = played.events_of("iterationEnded")[0]
    assert (first.outcome.value, first.fingerprint) == ("noProgress", "0" * 16)


def test_an_iteration_whose_evidence_was_reported_is_not_tried_again() -> None:
    whole = play(crash, finishes, person=during_turn(0, "stop"))
    told = whole.kinds().index("evidenceGathered") + 1
    simulated = SimulatedProject(
        script=whole.simulated.script, said=dict(whole.simulated.said), n_turns=1
    )
    played = SimulatedRun(
        simulated=simulated, config=whole.config, events=whole.events[:told], now=whole.now
    )
    played.resume()
    assert played.exit_code == 0
    assert [event.attempt for event in played.events_of("agentStarted")] == [1, 1]
