"""Settling an iteration: retries, counters, refusals, warnings, and what the journal says of it."""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.inputs import AgentFinished, Notice
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import Evidence, Outcome
from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    SimulatedProject,
    Turn,
    claims_all,
    crash,
    edits_only,
    finishes,
    is_blocked,
    no_progress,
    progress,
    promise,
    silence,
    timeout,
    turn,
)
from tests.unit.core.loop.simulated_run import check_loop, play
from tests.unit.core.loop.user_behaviours import during_turn

by_signal = turn(fields=None, end=AgentFinished(signal=11, seconds=0.1))
idle = turn(fields=None, end=AgentFinished(signal=15, idle=True, seconds=9.0))


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        pytest.param(crash, "the agent ended with 3 without a result", id="exit code"),
        pytest.param(by_signal, "the agent was ended by signal 11", id="signal"),
        pytest.param(silence, "the agent ended with 0", id="no word"),
        pytest.param(
            turn(fields=None, failure="API Error: 429"),
            "the agent ended with 0 without a result (API Error: 429); starting it once more",
            id="a failure that its output tells",
        ),
        pytest.param(
            turn(STATUS="IN_PROGRESS", silent=True), "the agent ended with 0", id="only a block"
        ),
    ],
)
def test_an_agent_that_came_to_nothing_is_started_once_more(fails: Turn, words: str) -> None:
    played = check_loop(
        [fails, progress, finishes],
        ends=("complete", 0),
        outcomes=["progress", "progress"],
        warned=["agent-failed"],
    )
    assert words in played.events_of("warned")[0].message
    assert [event.attempt for event in played.events_of("agentStarted")] == [1, 2, 1]
    assert [event.attempt for event in played.events_of("agentExited")] == [1, 2, 1]
    # What the first attempt left undone is not what the iteration came to.
    assert len(played.events_of("evidenceGathered")) == 2


@pytest.mark.parametrize(
    "works",
    [
        pytest.param(turn(end=AgentFinished(exit_code=1)), id="a bad exit with a result"),
        pytest.param(
            turn(fields=None, files=1, end=AgentFinished(exit_code=1)), id="a bad exit with work"
        ),
        pytest.param(turn(fields=None, silent=True, files=1), id="no word, but work"),
        pytest.param(turn(fields=None, files=1, failure="cut off"), id="a failure, but work"),
        pytest.param(turn(STATUS="IN_PROGRESS", failure="cut off"), id="a failure with a result"),
        pytest.param(timeout, id="a timeout"),
        pytest.param(idle, id="an idle timeout"),
        pytest.param(
            turn(
                fields=None,
                promises=(promise("complete"),),
                end=AgentFinished(exit_code=1),
            ),
            id="a bad exit with a promise",
        ),
    ],
)
def test_an_agent_that_came_to_something_is_not_started_again(works: Turn) -> None:
    played = play(works, finishes)
    assert [event.attempt for event in played.events_of("agentStarted")] == [1, 1]
    assert played.exit_code == 0


def test_failed_iterations_are_counted_in_a_row() -> None:
    played = play(crash, crash, crash, crash, progress, crash, crash, finishes)
    assert [event.crashes for event in played.events_of("iterationEnded")] == [1, 2, 0, 1, 0]


def test_the_last_failure_is_reported_when_there_were_too_many() -> None:
    fails = turn(fields=None, failure="API Error: 529")
    played = check_loop([fails] * 6, ends=("fatal", 5))
    assert played.events_of("runEnded")[0].message == (
        "the agent failed in 3 iterations in a row; the last one ended with 0: API Error: 529"
    )


def test_what_was_used_up_and_not_permitted_is_at_the_end_of_its_iteration() -> None:
    usage = Usage(input_tokens=3, cost_usd=0.25)
    played = play(turn(files=1, usage=usage, denied=("Bash", "Bash")), finishes)
    first, last = played.events_of("iterationEnded")
    assert (first.usage, first.permission_denials) == (usage, 2)
    assert (last.usage, last.permission_denials) == (None, None)


def test_work_done_before_a_timeout_is_evidence() -> None:
    works = turn(fields=None, files=1, end=timeout.end)
    check_loop([works, finishes], ends=("complete", 0), outcomes=["progress", "progress"])
    fatal = check_loop([works], ends=("fatal", 5), on_timeout="stop")
    assert fatal.events_of("evidenceGathered")[0].evidence.progress


def test_the_validation_runs_after_the_evidence_and_before_the_end() -> None:
    played = play(turn(files=1, validates=(True,)), finishes)
    first = played.kinds()[: played.kinds().index("iterationEnded") + 1]
    assert first[-3:] == ["evidenceGathered", "validated", "iterationEnded"]
    (validated,) = played.events_of("validated")
    assert (validated.ok, validated.exit_code, validated.seconds) == (True, 0, 2.0)


def test_what_an_iteration_came_to_is_reported_whole() -> None:
    errors = tuple(f"error: {number}" for number in range(7))
    works = turn(files=2, commit=True, RECOMMENDATION="b next", errors=errors)
    played = play(works, finishes)
    ended = played.events_of("iterationEnded")[0]
    assert ended.outcome is Outcome.PROGRESS
    assert ended.commit == "1".zfill(40)
    assert ended.recommendation == "b next"
    assert ended.errors == errors[:5]
    assert ended.counts.open_required == 1
    assert ended.seconds == 3.0
    assert played.prompts[1].recommendation == "b next"


def test_counters_of_the_stuck_rule() -> None:
    # Two stuck, one commit, two stuck does not end at the fourth.
    check_loop(
        [edits_only, edits_only, progress, edits_only, edits_only, edits_only],
        ends=("stuck", 4),
        iterations=6,
        max_stuck=3,
    )
    check_loop([edits_only], ends=("stuck", 4), iterations=1, max_stuck=1)


def test_a_stopped_iteration_moves_counters_only_by_what_it_achieved() -> None:
    played = play(
        no_progress,
        crash,
        crash,
        no_progress,
        person=during_turn(3, "stop", now=True),
        max_stuck=9,
    )
    before, stopped = played.events_of("iterationEnded")[-2:]
    assert stopped.outcome is Outcome.STOPPED
    for name in ("stuck_count", "indicators", "missing_reports", "crashes", "recommendation"):
        assert getattr(stopped, name) == getattr(before, name), name
    assert stopped.breaker == before.breaker


@pytest.mark.parametrize(
    ("script", "sums"),
    [
        pytest.param([turn(EXIT_SIGNAL="true", words=("done",)), no_progress], [1, 0], id="zeroed"),
        pytest.param([turn(words=("done", "finished"))], [0], id="words without EXIT_SIGNAL"),
        pytest.param([turn(STATUS="COMPLETE", EXIT_SIGNAL="true")], [0], id="STATUS is none"),
        pytest.param(
            [turn(EXIT_SIGNAL="true", words=("done", "done"))], [1], id="one pattern counts once"
        ),
        pytest.param(
            [turn(EXIT_SIGNAL="true", words=("done",)), claims_all], [1, 3], id="added up"
        ),
        pytest.param(
            [turn(STATUS="BLOCKED", EXIT_SIGNAL="true", words=("a", "b"))],
            [0],
            id="never with BLOCKED",
        ),
        pytest.param([turn(fields=None, words=("a", "b"))], [0], id="never without a report"),
    ],
)
def test_indicators_add_up_over_consecutive_iterations(script: list[Turn], sums: list[int]) -> None:
    played = play(*script, max_iterations=len(script), on_blocked="nothing")
    assert [event.indicators for event in played.events_of("iterationEnded")] == sums
    assert played.exit_code == 1


def test_all_tasks_done_is_an_indicator_like_a_word() -> None:
    signals = turn(files=1, ticks=ONE_TASK, EXIT_SIGNAL="true", words=("done",))
    check_loop([signals], ends=("complete", 0), iterations=1)
    check_loop([signals], ends=("complete", 0), iterations=2, gate_indicators=3)


def test_a_completion_with_open_tasks_is_refused_and_reported() -> None:
    simulated = SimulatedProject(script=[claims_all, progress], tasks={"a": "todo", "b": "todo"})
    played = check_loop([], ends=("limit", 1), simulated=simulated, max_iterations=2)
    (refused,) = played.events_of("completionRefused")
    assert refused.why == "2 required tasks are still open in the plan"
    assert [task.id for task in refused.open_tasks] == ["a", "b"]


def test_a_completion_with_blocked_tasks_is_refused() -> None:
    simulated = SimulatedProject(
        script=[turn(**{**vars(claims_all), "files": 1, "blocks": ("a",)})]
    )
    played = check_loop([], ends=("limit", 1), simulated=simulated, max_iterations=1)
    (refused,) = played.events_of("completionRefused")
    assert refused.why.startswith("2 required tasks")


def test_a_completion_that_comes_too_early_is_refused() -> None:
    played = play(finishes, min_iterations=2, max_iterations=1)
    assert (
        played.events_of("completionRefused")[0].why == "only 1 of at least 2 iterations have run"
    )
    assert played.exit_code == 1


@pytest.mark.parametrize(
    ("script", "codes"),
    [
        pytest.param([turn(FILES_MODIFIED=3)], ["claim-without-evidence"], id="claimed files"),
        pytest.param(
            [turn(files=1, TASKS_COMPLETED_THIS_LOOP=1)],
            ["claim-without-evidence"],
            id="a claimed task",
        ),
        pytest.param([turn(ticks=ONE_TASK)], ["tick-without-change"], id="a tick alone"),
        pytest.param([turn(ticks=ONE_TASK, moved=ONE_TASK)], [], id="an approval"),
        pytest.param(
            [turn(moved=ONE_TASK, FILES_MODIFIED=1, TASKS_COMPLETED_THIS_LOOP=1)],
            [],
            id="a move of a review, claimed",
        ),
        pytest.param([turn(files=1, WORK_TYPE="testing")], ["test-only"], id="only tests"),
        pytest.param(
            [turn(files=1, promises=(promise("complete"),))], ["completion-not-gate"], id="COMPLETE"
        ),
        pytest.param([no_progress] * 2, ["breaker-half-open"], id="half-open"),
        pytest.param(
            [turn(files=1, errors=("error: x",))] * 4, ["error-repeating"], id="the same error"
        ),
        pytest.param([turn(files=1, fields=None)] * 4, ["report-missing"], id="no report"),
        pytest.param([progress], [], id="nothing"),
        pytest.param(
            [turn(files=1, notices=(Notice(code="left-over", message="x"),) * 2)],
            ["left-over"],
            id="what was found outside",
        ),
    ],
)
def test_warnings(script: list[Turn], codes: list[str]) -> None:
    played = play(*script, max_iterations=len(script))
    assert played.warnings() == codes
    assert all(event.iteration is not None for event in played.events_of("warned"))


def test_a_claim_that_evidence_contradicts_is_reported_in_words() -> None:
    played = play(turn(FILES_MODIFIED=3, TASKS_COMPLETED_THIS_LOOP=1), max_iterations=1)
    assert played.events_of("warned")[0].message == (
        "the report claims 3 modified files and 1 completed task, but there is no evidence of it"
    )


def test_an_end_state_that_occurred_before_is_no_progress() -> None:
    undone = turn(files=1, reverts=True)
    played = play(edits_only, undone, max_iterations=2)
    outcomes = [event.outcome for event in played.events_of("iterationEnded")]
    assert outcomes == [Outcome.PROGRESS, Outcome.NO_PROGRESS]
    evidence: Evidence = played.events_of("evidenceGathered")[1].evidence
    assert evidence.why == "the work tree is back in an earlier state of this run"


def test_declared_progress_counts_where_it_is_switched_on() -> None:
    declares = turn(FILES_MODIFIED=1)
    check_loop([declares] * 3, ends=("stuck", 4))
    check_loop(
        [declares] * 3,
        ends=("limit", 1),
        max_iterations=3,
        progress_evidence=["commits", "declared"],
    )


def test_the_plan_is_reported_when_it_changed() -> None:
    played = play(turn(files=1, adds=("b",)), finishes, turn(files=1, ticks=("b",)), no_progress)
    first, second, third = played.events_of("planChanged")
    assert (first.counts.total, first.done) == (2, ())
    assert (second.counts.done, second.done) == (1, ONE_TASK)
    assert third.done == ("b",)


def test_a_blocker_raised_in_a_stopped_run_stops_the_next_start() -> None:
    played = play(is_blocked("no key"), finishes, person=during_turn(0, "stop"))
    assert (played.exit_code, played.simulated.blocked) == (130, "no key")
    assert played.resume().exit_code == 2


def test_the_prompt_of_a_confirming_iteration_names_no_task() -> None:
    played = play(turn(files=1, ticks=ONE_TASK), no_progress)
    assert [(prompt.task, prompt.confirming) for prompt in played.prompts] == [
        (ONE_TASK[0], False),
        (None, True),
    ]


def test_iterations_are_counted_in_the_prompt() -> None:
    played = play(progress, finishes, max_iterations=7)
    assert [(each.iteration, each.max_iterations) for each in played.prompts] == [(1, 7), (2, 7)]
    assert played.prompts[0].plan_path == "@fix_plan.md"
    assert played.prompts[0].decide_path == ".ralph/decide.txt"
