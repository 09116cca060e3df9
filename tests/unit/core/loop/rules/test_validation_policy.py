"""Work that did not validate: stop, rollback and repair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph_ls.core.loop import effects as order
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import IterationRead, Notice, ValidationFinished, WorkUndone
from ralph_ls.core.loop.rules.validation import (
    NOT_VALID,
    validation_failure_words,
    validation_fatal_words,
    why_invalid,
)
from ralph_ls.core.loop.state import Awaits
from ralph_ls.core.replay.journal import simulate_journal
from ralph_ls.protocol.config.config import OnValidateFail
from ralph_ls.protocol.run.events import Validated
from ralph_ls.protocol.run.values import CommitSeen, EndReason, Mode, Outcome
from tests.unit.core.loop.simulated_project import SimulatedProject, Turn, finishes, turn
from tests.unit.core.loop.simulated_run import BEGIN, RUN, SimulatedRun, command, play, settings

ROLLBACK: dict[str, Any] = {"on_validate_fail": "rollback"}
REPAIR: dict[str, Any] = {"on_validate_fail": "repair"}

DONE = replace(finishes, validates=(True,))
BAD = replace(finishes, validates=(False,))
"""Ticks its task and says that all is complete; but it is not valid."""
MENDS = turn(files=1, commit=True, STATUS="IN_PROGRESS", validates=(True,))


def finished(*, ok: bool = False, script: str = "") -> ValidationFinished:
    return ValidationFinished(
        ok=ok, exit_code=1, timed_out=False, seconds=1.0, tail="words", script=script
    )


def held(awaits: Awaits, *script: Turn, **fields: Any) -> SimulatedRun:
    return SimulatedRun(
        simulated=SimulatedProject(script=list(script)), config=settings(**fields)
    ).until(awaits)


def undone(played: SimulatedRun) -> list[Any]:
    return [effect for effect in played.effects if isinstance(effect, order.UndoWork)]


class TestWords:
    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"exit_code": 9}, "the validation script failed with exit code 9 after iteration 3"),
            ({"timed_out": True}, "the validation script timed out after iteration 3"),
            (
                {"exit_code": 1, "script": ".ralph/validate.sh"},
                "the validation script failed with exit code 1 after iteration 3",
            ),
            (
                {"exit_code": 1, "script": ".ralph/validate.d/10-a"},
                (
                    "the validation script .ralph/validate.d/10-a failed with exit code 1 after "
                    "iteration 3"
                ),
            ),
        ],
    )
    def test_one_of_several_is_named(self, fields: dict[str, Any], words: str) -> None:
        told = Validated(seq=1, at=BEGIN, run=RUN, iteration=3, ok=False, **fields)
        assert validation_failure_words(told) == words


def test_the_end_of_a_run_has_the_last_line_of_the_script() -> None:
    told = Validated(seq=1, at=BEGIN, run=RUN, iteration=3, ok=False, exit_code=9, tail="a\nb 2\n")
    assert (
        why_invalid(told) == "the validation script failed with exit code 9 after iteration 3: b 2"
    )


class TestStop:
    def test_it_ends_the_run_and_nothing_is_taken_back(self) -> None:
        played = play(BAD)
        assert (played.exit_code, undone(played)) == (5, [])
        assert played.run.failed_validation is None
        assert played.events_of("completionRefused") == []


class TestRollback:
    def test_nothing_of_the_iteration_counts_and_the_run_continues(self) -> None:
        played = play(BAD, DONE, **ROLLBACK)
        assert played.exit_code == 0
        kinds = ("validated", "rolledBack", "iterationEnded", "runEnded")
        assert [kind for kind in played.kinds() if kind in kinds] == [
            "validated",
            "rolledBack",
            "iterationEnded",
            "validated",
            "iterationEnded",
            "runEnded",
        ]
        first, second = played.events_of("iterationEnded")
        assert (first.outcome, first.commit, first.stuck_count) == (Outcome.NO_PROGRESS, None, 1)
        assert (first.counts.done, first.fingerprint) == (0, "")
        assert (second.outcome, second.counts.done) == (Outcome.PROGRESS, 1)
        assert [event.task.title for event in played.events_of("iterationStarted")] == [
            "write the letter"
        ] * 2

    def test_the_next_agent_is_reported_once(self) -> None:
        quiet = turn(STATUS="IN_PROGRESS")
        played = play(BAD, quiet, quiet, max_iterations=3, **ROLLBACK)
        told = [context.failed_validation for context in played.prompts]
        assert told[0] is told[2] is None
        assert told[1] is not None
        assert (told[1].undone, told[1].backup) == (True, "ralph/backup-1")

    def test_what_was_found_is_reported_to_be_undone(self) -> None:
        played = play(BAD, max_iterations=1, **ROLLBACK)
        assert played.run.evidence is not None
        assert not played.run.evidence.progress
        assert played.run.evidence.why == (
            "the changes did not pass validation and were rolled back; they are kept on "
            "ralph/backup-1"
        )

    def test_the_same_work_is_progress_once_it_is_valid(self) -> None:
        """A tree that was taken back was never an end state of the run."""
        edit = turn(files=1, validates=(False, True))
        played = play(edit, max_iterations=1, **ROLLBACK)
        again = play(edit, edit, max_iterations=2, **ROLLBACK)
        assert [event.outcome.value for event in again.events_of("iterationEnded")] == [
            "noProgress",
            "progress",
        ]
        assert tuple(played.run.seen) == ("0000000000000000",)

    def test_the_breaker_counts_it(self) -> None:
        played = play(BAD, BAD, BAD, BAD, **ROLLBACK)
        assert played.run.end is not None
        assert (played.run.end.reason, played.run.iteration) == (EndReason.STUCK, 3)

    def test_no_completion_of_it_is_accepted(self) -> None:
        played = play(BAD, max_iterations=1, **ROLLBACK)
        assert [event.why for event in played.events_of("completionRefused")] == [
            "1 required task is still open in the plan"
        ]
        assert played.exit_code == 1

    def test_an_iteration_that_changed_nothing_says_so(self) -> None:
        empty = turn(STATUS="IN_PROGRESS", validates=(False,))
        played = play(empty, max_iterations=1, **ROLLBACK)
        (told,) = played.events_of("rolledBack")
        assert (told.ok, told.backup) == (True, None)
        assert played.run.evidence is not None
        assert played.run.evidence.why == "the changes did not pass validation and were rolled back"

    def test_where_it_cannot_be_the_run_ends_and_says_why(self) -> None:
        played = play(
            BAD, simulated=SimulatedProject(script=[BAD], keeps="it was pushed"), **ROLLBACK
        )
        assert played.exit_code == 5
        assert played.run.end is not None
        assert played.run.end.message == (
            "the validation script failed with exit code 1 after iteration 1, and the iteration "
            "could not be rolled back: it was pushed"
        )
        (told,) = played.events_of("rolledBack")
        assert (told.ok, told.refused) == (False, "it was pushed")
        assert played.events_of("iterationEnded")[0].counts.done == 1

    def test_the_commits_of_the_user_are_named_to_the_user_who_takes_it_back(self) -> None:
        played = held(Awaits.READ, BAD, **ROLLBACK)
        read = played.queue.popleft()
        assert isinstance(read, IterationRead)
        commits = (
            CommitSeen(hash="a" * 40, subject="mine", files=1, by_person=True),
            CommitSeen(hash="b" * 40, subject="inside", by_person=True, repository="lib"),
            CommitSeen(hash="c" * 40, subject="the agent's", files=1),
        )
        changes = replace(read.changes, commits=commits)
        played.feed(replace(read, changes=changes))
        played.go_on()
        assert undone(played)[0].user_commits == ("a" * 40,)

    def test_a_plan_of_which_nothing_is_known_stays_as_it_was_read(self) -> None:
        played = held(Awaits.UNDO, BAD, max_iterations=1, **ROLLBACK)
        played.feed(WorkUndone(notices=(Notice(code="left", message="a file"),)))
        assert played.events_of("iterationEnded")[0].counts.done == 1
        assert played.warnings() == ["left"]

    def test_a_validation_that_the_user_ended_takes_nothing_back(self) -> None:
        played = held(Awaits.VALIDATION, BAD, **ROLLBACK)
        played.send("stop", now=True)
        played.go_on()
        assert (played.exit_code, undone(played)) == (130, [])

    def test_a_stop_at_once_while_it_is_taken_back_waits_for_that(self) -> None:
        played = held(Awaits.UNDO, BAD, **ROLLBACK)
        played.queue.append(played.queue.popleft())
        played.send("stop", now=True)
        played.go_on()
        assert played.exit_code == 130
        assert played.events_of("rolledBack")[0].ok

    def test_an_engine_that_died_before_takes_it_back_after(self) -> None:
        played = held(Awaits.UNDO, BAD, DONE, **ROLLBACK)
        played.resume()
        assert played.exit_code == 0
        assert (len(played.events_of("validated")), len(played.events_of("rolledBack"))) == (2, 1)

    def test_one_that_died_after_it_does_not_do_it_twice(self) -> None:
        played = play(BAD, max_iterations=1, record=True, **ROLLBACK)
        at = [event.kind for event in played.events].index("rolledBack") + 1
        played.events = played.events[:at]
        played.effects.clear()
        played.resume()
        assert (undone(played), len(played.events_of("rolledBack"))) == ([], 1)
        assert played.events_of("iterationEnded")[0].outcome is Outcome.NO_PROGRESS

    def test_where_the_loop_commits_nothing_waits_for_its_next_commit(self) -> None:
        bad, good = turn(files=1, validates=(False,)), turn(files=1, validates=(True,))
        played = play(bad, good, max_iterations=2, commits="loop", push=True, **ROLLBACK)
        first, second = played.events_of("iterationEnded")
        assert (first.uncommitted, second.uncommitted) == (False, False)
        assert len(played.events_of("committed")) == len(played.events_of("pushed")) == 1

    def test_what_earlier_ones_left_still_waits_for_it(self) -> None:
        half = turn(files=1, fields=None, silent=True, validates=(False,))
        stopped = held(Awaits.VALIDATION, half, BAD, commits="loop", **ROLLBACK)
        stopped.send("stop", now=True)
        stopped.go_on()
        stopped.resume(config=settings(max_iterations=2, commits="loop", **ROLLBACK))
        assert [event.uncommitted for event in stopped.events_of("iterationEnded")] == [True, True]

    def test_without_a_task_nobody_counts_an_attempt(self) -> None:
        played = play(BAD, BAD, DONE, attempts_limit=2, attempts_counts="not-done", **ROLLBACK)
        assert len(played.events_of("taskSetAside")) == 1


class TestRepair:
    def test_the_same_task_is_taken_again_until_it_is_valid(self) -> None:
        simulated = SimulatedProject(
            script=[BAD, MENDS], tasks={"write the letter": "todo", "post it": "todo"}
        )
        played = play(simulated=simulated, max_iterations=3, **REPAIR)
        tasks = [event.task.title for event in played.events_of("iterationStarted")]
        assert tasks == ["write the letter", "write the letter", "post it"]
        told = [context.failed_validation for context in played.prompts]
        assert told[0] is told[2] is None
        assert told[1] is not None
        assert (told[1].validated.tail, told[1].undone, told[1].in_a_row) == ("tested", False, 1)
        assert undone(played) == []
        assert simulated.tasks["write the letter"] == "done"

    @pytest.mark.parametrize("rule", ["verified", "queue", "marker", "dual"])
    def test_a_plan_that_is_all_ticked_is_repaired_before_it_is_complete(self, rule: str) -> None:
        played = play(BAD, MENDS, gate_rule=rule, max_iterations=4, **REPAIR)
        assert played.exit_code == 0
        refused = [event.why for event in played.events_of("completionRefused")]
        assert refused in ([NOT_VALID], [])
        assert bool(refused) is (rule in {"dual", "verified"})
        first, second = played.events_of("iterationStarted")[:2]
        assert (first.task, second.confirming) == (second.task, False)

    def test_it_ends_after_so_many_in_a_row(self) -> None:
        played = play(*[BAD] * 5, max_repairs=2, **REPAIR)
        assert (played.exit_code, played.run.iteration) == (5, 3)
        assert played.run.end is not None
        assert played.run.end.message == (
            "the validation script failed with exit code 1 after iteration 3; 2 repairs did not "
            "fix it"
        )

    def test_one_that_is_valid_between_them_counts_again(self) -> None:
        played = play(BAD, MENDS, BAD, MENDS, max_repairs=1, max_iterations=4, **REPAIR)
        assert played.run.iteration == 4 or played.exit_code == 0

    def test_the_user_who_resumes_it_gets_all_of_them_again(self) -> None:
        played = play(*[BAD] * 9, max_repairs=2, **REPAIR)
        played.resume()
        assert (played.exit_code, played.run.iteration) == (5, 6)

    def test_an_iteration_that_is_not_validated_leaves_it_to_be_repaired(self) -> None:
        quiet = turn(STATUS="IN_PROGRESS")
        played = play(BAD, quiet, MENDS, max_iterations=3, **REPAIR)
        assert [context.failed_validation is None for context in played.prompts] == [
            True,
            False,
            False,
        ]

    def test_the_mode_is_that_of_what_failed(self) -> None:
        simulated = SimulatedProject(script=[BAD, MENDS], mode=Mode.REVIEW)
        played = held_in(simulated, Awaits.VALIDATION, **REPAIR)
        played.simulated.mode = Mode.BUILD
        played.go_on()
        assert [event.mode for event in played.events_of("iterationStarted")][:2] == [
            Mode.REVIEW,
            Mode.REVIEW,
        ]

    def test_a_task_that_the_user_skips_is_not_taken_for_it(self) -> None:
        simulated = SimulatedProject(
            script=[BAD, MENDS], tasks={"write the letter": "todo", "post it": "todo"}
        )
        played = held_in(simulated, Awaits.VALIDATION, max_iterations=2, **REPAIR)
        played.feed(command("skip", task="write the letter"))
        played.go_on()
        assert [event.task.title for event in played.events_of("iterationStarted")] == [
            "write the letter",
            "post it",
        ]
        assert played.prompts[1].failed_validation is not None

    @pytest.mark.parametrize("mark", [True, False])
    def test_a_task_that_was_set_aside_is_not_taken_for_it(self, mark: bool) -> None:
        tries = turn(STATUS="IN_PROGRESS", validates=(False,))
        simulated = SimulatedProject(
            script=[tries, MENDS], tasks={"write the letter": "todo", "post": "todo"}
        )
        fields: dict[str, Any] = {"attempts_limit": 1, "attempts_mark": mark, **REPAIR}
        played = play(simulated=simulated, max_iterations=2, **fields)
        assert [event.task.title for event in played.events_of("iterationStarted")] == [
            "write the letter",
            "post",
        ]

    def test_a_plan_that_is_not_valid_is_planned_again(self) -> None:
        plans = turn(STATUS="IN_PROGRESS", adds=("post it",), validates=(False,))
        simulated = SimulatedProject(script=[plans, MENDS], mode=Mode.PLAN)
        played = held_in(simulated, Awaits.VALIDATION, max_iterations=2, **REPAIR)
        simulated.mode = Mode.BUILD
        played.go_on()
        assert [event.mode for event in played.events_of("iterationStarted")] == [Mode.PLAN] * 2

    def test_what_is_not_valid_is_committed_with_what_repairs_it(self) -> None:
        bad, good = turn(files=1, validates=(False,)), turn(files=1, validates=(True,))
        played = play(bad, good, max_iterations=2, commits="loop", push=True, **REPAIR)
        commit = next(e for e in played.effects if isinstance(e, order.CommitWork))
        assert commit.base == played.events_of("iterationStarted")[0].baseline
        assert len(played.events_of("committed")) == len(played.events_of("pushed")) == 1

    def test_the_limit_ends_it_too(self) -> None:
        played = play(BAD, BAD, max_iterations=1, **REPAIR)
        assert played.exit_code == 1

    def test_a_tick_that_is_not_valid_is_a_failed_attempt(self) -> None:
        played = play(BAD, MENDS, attempts_limit=3, attempts_counts="not-done", **REPAIR)
        assert played.events_of("iterationEnded")[0].attempts == {"write the letter": 1}


def held_in(simulated: SimulatedProject, awaits: Awaits, **fields: Any) -> SimulatedRun:
    return SimulatedRun(simulated=simulated, config=settings(**fields)).until(awaits)


@pytest.mark.parametrize("policy", list(OnValidateFail))
def test_without_a_failed_validation_nothing_is_fatal(policy: OnValidateFail) -> None:
    played = held(Awaits.READ, DONE, on_validate_fail=policy)
    assert played.run.current is not None
    assert validation_fatal_words(played.run, played.run.current) is None


@pytest.mark.parametrize("policy", [ROLLBACK, REPAIR])
def test_under_its_own_settings_a_recorded_run_decides_again_as_it_did(
    policy: dict[str, Any],
) -> None:
    played = play(BAD, BAD, DONE, MENDS, max_iterations=4, **policy)
    told = list(simulate_journal(played.events, lambda _config: played.config))
    ended = played.events_of("iterationEnded")
    assert [one.breaker for one in told][: len(ended)] == [one.breaker.state for one in ended]
    assert told[-1].exit_code == played.exit_code


def test_another_policy_may_be_asked_about_a_recorded_run() -> None:
    played = play(BAD, DONE, max_iterations=3, **REPAIR)
    told = list(
        simulate_journal(played.events, lambda _config: settings(max_iterations=3, **ROLLBACK))
    )
    assert told[-1].exit_code in {0, 1}
    assert fold(played.events).iteration >= 2
