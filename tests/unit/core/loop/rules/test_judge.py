"""The judge: when it is asked, what follows from its verdicts, and the user who overrules it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph_ls.core.loop import effects as order
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import Notice, PendingOverrule, Resumed, WorkJudged
from ralph_ls.core.loop.state import Awaits, LoopState
from ralph_ls.core.replay.journal import simulate_journal
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.report import JudgeVerdict, RequestedChange, Usage
from ralph_ls.protocol.run.values import BreakerState, EndReason, Phase
from tests.unit.core.loop.simulated_project import SimulatedProject, Turn, finishes, progress, turn
from tests.unit.core.loop.simulated_run import SimulatedRun, check_loop, facts, play, settings

WANTS = RequestedChange(file="letter.py", reason="the sum is written into the code")
REFUSES = WorkJudged(
    verdict=JudgeVerdict.CHANGES_REQUESTED,
    reason="not yet",
    changes=(WANTS,),
    agent="judge",
    usage=Usage(input_tokens=100, output_tokens=10, cost_usd=0.25, context_tokens=9),
)
UNCLEAR = WorkJudged(verdict=JudgeVerdict.CANNOT_TELL, reason="it gave no verdict", agent="judge")

REFUSED = replace(finishes, verdict=REFUSES)
"""Finishes its task and says that all is complete; the judge disagrees."""

TASK: dict[str, Any] = {"judge": {"when": "task"}}
COMPLETION: dict[str, Any] = {"judge": {"when": "completion"}}


def judging(played: SimulatedRun) -> list[Any]:
    return [effect for effect in played.effects if isinstance(effect, order.JudgeWork)]


class TestWhenItIsAsked:
    def test_it_is_off_by_default(self) -> None:
        assert judging(play(REFUSED)) == []

    def test_of_a_finished_task(self) -> None:
        played = check_loop([progress, finishes], ends=("complete", 0), **TASK)
        (asked,) = judging(played)
        (started,) = played.events_of("judgeStarted")
        (judged,) = played.events_of("judged")
        assert [one.title for one in asked.tasks] == ["write the letter"]
        assert (asked.start, asked.base.head, asked.round) == (2, None, 1)
        assert started.tasks == judged.tasks == asked.tasks
        assert judged.verdict is JudgeVerdict.PASSED
        assert played.run.judge_totals.passed == 1

    def test_with_the_commit_that_the_task_was_begun_on(self) -> None:
        first = turn(files=1, commit=True, ticks=("one",), STATUS="IN_PROGRESS")
        second = replace(finishes, ticks=("two",))
        simulated = SimulatedProject(
            script=[first, progress, second], tasks={"one": "todo", "two": "todo"}
        )
        played = play(simulated=simulated, **TASK)
        assert [one.base.head for one in judging(played)] == [None, f"{1:040x}"]
        whole = play(simulated=SimulatedProject(script=[progress, finishes]), **COMPLETION)
        assert [one.base.head for one in judging(whole)] == [None]

    def test_only_at_the_end_where_that_is_set(self) -> None:
        first = turn(files=1, commit=True, ticks=("one",), STATUS="IN_PROGRESS")
        second = replace(finishes, ticks=("two",))
        simulated = SimulatedProject(script=[first, second], tasks={"one": "todo", "two": "todo"})
        played = play(simulated=simulated, **COMPLETION)
        (asked,) = judging(played)
        assert [one.title for one in asked.tasks] == ["two"]
        assert played.exit_code == 0

    @pytest.mark.parametrize("profile", ["stories"])
    def test_never_in_stories_which_have_reviews(self, profile: str) -> None:
        assert judging(play(REFUSED, profile=profile, gate_rule="verified", **TASK)) == []

    def test_not_of_work_that_did_not_validate(self) -> None:
        invalid = replace(REFUSED, validates=(False, True))
        played = play(invalid, finishes, on_validate_fail="repair", **TASK)
        assert played.kinds().index("judged") > played.kinds().index("iterationEnded")
        played = check_loop([replace(REFUSED, validates=(False,))], ends=("fatal", 5), **TASK)
        assert judging(played) == []

    def test_after_the_validation_whose_output_it_gets(self) -> None:
        played = play(replace(finishes, validates=(True,)), **TASK)
        kinds = played.kinds()
        assert kinds.index("validated") < kinds.index("judgeStarted") < kinds.index("judged")
        assert judging(played)[0].validation == "tested"

    def test_of_a_request_when_its_agent_says_that_it_is_done(self) -> None:
        simulated = SimulatedProject(
            script=[
                turn(files=1, STATUS="COMPLETE", verdict=REFUSES),
                turn(files=1, STATUS="COMPLETE"),
            ],
            tasks={},
            request=RequestView(title="fix it", source="issue.md"),
        )
        played = play(simulated=simulated, profile="issue", gate_rule="status", **TASK)
        assert [judged.verdict.value for judged in played.events_of("judged")] == [
            "changesRequested",
            "pass",
        ]
        assert played.exit_code == 0
        assert played.prompts[1].judged[0].changes == (WANTS,)


class TestChangesRequested:
    def test_open_the_task_again_and_refuse_the_completion(self) -> None:
        played = check_loop(
            [REFUSED, finishes], ends=("complete", 0), outcomes=["progress", "progress"], **TASK
        )
        first, second = played.events_of("judged")
        assert (first.verdict.value, first.reopened) == ("changesRequested", ("write the letter",))
        assert (second.verdict.value, second.round) == ("pass", 2)
        assert [event.why for event in played.events_of("completionRefused")] == [
            "the judge requests changes"
        ]
        ended = played.events_of("iterationEnded")
        assert [event.counts.open_required for event in ended] == [1, 0]
        assert played.run.judge_requests == {}
        assert [one.requested for one in judging(played)] == [(), (WANTS,)]

    def test_are_in_the_next_prompt_and_in_none_after_that(self) -> None:
        script = [REFUSED, progress, finishes]
        played = play(*script, **TASK)
        shown = [[one.changes for one in prompt.judged] for prompt in played.prompts]
        assert shown == [[], [(WANTS,)], [(WANTS,)]]
        assert played.exit_code == 0

    def test_leave_the_receipt_of_the_task_open(self) -> None:
        played = play(REFUSED, max_iterations=1, **TASK)
        assert not played.run.receipts["write the letter"].done
        assert play(REFUSED, finishes, **TASK).run.receipts["write the letter"].done

    def test_that_no_task_can_carry_refuse_completions_until_a_judge_passes(self) -> None:
        closed = replace(REFUSED, is_closed=True)
        again = turn(files=1, commit=True, EXIT_SIGNAL="true", words=("done", "finished"))
        played = play(closed, again, **TASK)
        assert [judged.verdict.value for judged in played.events_of("judged")] == [
            "changesRequested",
            "pass",
        ]
        assert not any(event.confirming for event in played.events_of("iterationStarted"))
        assert played.exit_code == 0
        assert played.run.start == 2

    def test_count_to_the_attempts_of_the_task(self) -> None:
        played = play(
            REFUSED,
            REFUSED,
            REFUSED,
            attempts_limit=2,
            attempts_counts="not-done",
            judge={"when": "task", "max_rounds": 9},
        )
        (aside,) = played.events_of("taskSetAside")
        assert aside.attempts == 2


class TestAJudgeThatNeverPasses:
    def test_is_a_stuck_cause_with_its_own_words(self) -> None:
        played = check_loop(
            [REFUSED] * 9, ends=("stuck", 4), iterations=3, breaker=["OPEN"], **TASK
        )
        assert played.run.end is not None
        assert played.run.end.message == (
            "the judge requested changes 3 times in a row for write the letter: letter.py: the sum "
            "is written into the code; accept the work with: ralph overrule"
        )
        assert played.run.judge_totals.changes == 3

    def test_is_one_where_the_breaker_is_off_too(self) -> None:
        check_loop(
            [REFUSED] * 9,
            ends=("stuck", 4),
            iterations=1,
            breaker_enabled=False,
            judge={"when": "task", "max_rounds": 1},
            message="the judge requested changes 1 time for write the letter",
        )

    def test_has_all_its_rounds_again_after_a_reset(self) -> None:
        def resets(play: SimulatedRun) -> None:
            if play.run.phase is Phase.PARKED and play.run.start == 3:
                play.send("reset")

        played = play(*[REFUSED] * 9, person=resets, wait=True, **TASK)
        assert [event.round for event in played.events_of("judged")] == [1, 2, 3, 1, 2, 3]

    def test_resumed_by_the_user_works_on(self) -> None:
        played = check_loop([REFUSED] * 3 + [finishes], ends=("stuck", 4), **TASK)
        played.resume()
        assert played.exit_code == 0
        assert played.prompts[-1].judged[0].changes == (WANTS,)


class TestAJudgeThatCannotTell:
    def test_changes_nothing_and_is_counted(self) -> None:
        played = check_loop(
            [replace(finishes, verdict=UNCLEAR)], ends=("complete", 0), iterations=1, **TASK
        )
        (judged,) = played.events_of("judged")
        assert (judged.verdict.value, judged.reason) == ("cannotTell", "it gave no verdict")
        assert played.run.judge_totals.unclear == 1

    def test_is_warned_of_with_its_verdict(self) -> None:
        notice = Notice(code="judge-wrote", message="the judge changed 1 file, which is restored")
        played = play(replace(finishes, verdict=replace(UNCLEAR, notices=(notice,))), **TASK)
        assert "judge-wrote" in played.warnings()

    def test_leaves_the_task_to_the_next_judge_where_it_failed(self) -> None:
        failed = replace(UNCLEAR, failed=True)
        first = turn(files=1, commit=True, ticks=("one",), STATUS="IN_PROGRESS", verdict=failed)
        second = turn(files=1, commit=True, ticks=("two",), STATUS="IN_PROGRESS", verdict=failed)
        third = replace(finishes, ticks=("three",))
        tasks = dict.fromkeys(("one", "two", "three"), "todo")
        simulated = SimulatedProject(script=[first, second, third], tasks=tasks)
        played = play(simulated=simulated, **TASK)
        assert played.exit_code == 0
        asked = [[one.title for one in effect.tasks] for effect in judging(played)]
        assert asked == [["one"], ["one", "two"], ["one", "two", "three"]]
        assert {one.base.head for one in judging(played)} == {None}
        assert played.run.judge_owed == ()
        assert played.run.judge_totals.unclear == 2

    def test_leaves_no_task_to_the_next_judge_where_it_is_undecided(self) -> None:
        first = turn(files=1, commit=True, ticks=("one",), STATUS="IN_PROGRESS", verdict=UNCLEAR)
        second = replace(finishes, ticks=("two",))
        simulated = SimulatedProject(script=[first, second], tasks={"one": "todo", "two": "todo"})
        played = play(simulated=simulated, **TASK)
        assert [len(effect.tasks) for effect in judging(played)] == [1, 1]

    def test_leaves_what_was_requested(self) -> None:
        unclear = replace(finishes, verdict=UNCLEAR)
        played = play(REFUSED, unclear, **TASK)
        assert list(played.run.judge_requests) == ["write the letter"]
        assert played.exit_code == 0


class TestItsUsage:
    def test_counts_to_the_budgets_and_is_shown_apart(self) -> None:
        used = replace(REFUSED, usage=Usage(input_tokens=1000, output_tokens=90, context_tokens=7))
        played = check_loop([used] * 9, ends=("limit", 1), iterations=2, max_tokens=2400, **TASK)
        (ended, *_) = played.events_of("iterationEnded")
        assert (ended.usage.input_tokens, ended.usage.context_tokens) == (1100, 7)
        totals = played.run.judge_totals.usage
        assert totals is not None
        assert (totals.input_tokens, totals.cost_usd) == (200, 0.5)
        assert played.run.usage is not None
        assert played.run.usage.input_tokens == 2200

    def test_warns_where_most_of_a_budget_is_used(self) -> None:
        played = play(REFUSED, finishes, max_cost_usd=0.3, **TASK)
        assert "budget-cost" in played.warnings()


class TestTheUser:
    def stuck(self, *script: Turn) -> SimulatedRun:
        return play(*(script or [REFUSED] * 9), wait=True, **TASK)

    def test_overrules_it_and_the_run_continues(self) -> None:
        played = self.stuck()
        assert (played.run.phase, played.run.phase_reason) == (Phase.PARKED, "stuck")
        played.simulated.tasks["write the letter"] = "done"
        played.send("overrule")
        played.go_on()
        (overruled,) = played.events_of("judgeOverruled")
        assert (overruled.by, overruled.start) == ("Ada", 3)
        assert [one.title for one in overruled.tasks] == ["write the letter"]
        assert played.run.breaker.state is BreakerState.CLOSED
        assert played.run.judge_requests == {}
        assert played.run.judge_totals.overruled == 1
        assert played.exit_code == 0

    def test_overrules_it_while_an_agent_is_at_work(self) -> None:
        def overrules(play: SimulatedRun) -> None:
            if play.run.phase is Phase.RUNNING and play.run.start == 2:
                play.send("overrule", task="write the letter")

        played = play(REFUSED, progress, max_iterations=2, person=overrules, **TASK)
        assert played.run.judge_requests == {}
        assert played.run.breaker.state is BreakerState.CLOSED

    def test_overrules_it_while_no_engine_runs(self) -> None:
        played = play(*[REFUSED] * 3, **TASK)
        assert played.exit_code == 4
        played.simulated.tasks["write the letter"] = "done"
        played.state = LoopState(run=fold(played.events))
        found = facts(
            played.simulated,
            played.config,
            overrules=(PendingOverrule(by="ralph overrule", command="command-1"),),
        )
        played.go_on(Resumed(by="Ada", facts=found))
        (overruled,) = played.events_of("judgeOverruled")
        assert overruled.by == "ralph overrule"
        assert played.run.judge_requests == {}
        assert played.exit_code == 0

    @pytest.mark.parametrize("fields", [{}, {"task": "post it"}])
    def test_is_refused_where_nothing_is_requested(self, fields: dict[str, str]) -> None:
        played = self.stuck()
        if not fields:
            played.simulated.tasks["write the letter"] = "done"
            played.simulated.script[3:] = [finishes]
            played.send("overrule")
        played.send("overrule", **fields)
        rejected = played.events_of("commandRejected")[-1]
        assert rejected.code == "no-request"

    def test_who_stops_the_run_at_once_is_not_kept_by_it(self) -> None:
        played = SimulatedRun(
            simulated=SimulatedProject(script=[REFUSED]), config=settings(**TASK)
        ).until(Awaits.JUDGE)
        played.send("stop", now=True)
        played.go_on()
        assert played.exit_code == 130
        (judged,) = played.events_of("judged")
        assert judged.reason == "it was stopped"


class TestAKill:
    def test_before_the_verdict_has_it_judged_again(self) -> None:
        played = SimulatedRun(
            simulated=SimulatedProject(script=[finishes]), config=settings(**TASK)
        ).until(Awaits.JUDGE)
        played.resume()
        assert len(played.events_of("judgeStarted")) == 1
        assert len(played.events_of("judged")) == 1
        assert played.exit_code == 0

    def test_after_the_verdict_keeps_it(self) -> None:
        played = SimulatedRun(
            simulated=SimulatedProject(script=[REFUSED, finishes]),
            config=settings(commits="loop", **TASK),
        ).until(Awaits.COMMIT)
        assert played.events[-1].kind == "judged"
        played.resume()
        assert [event.verdict.value for event in played.events_of("judged")] == [
            "changesRequested",
            "pass",
        ]
        assert played.exit_code == 0


def test_a_run_decides_the_same_again() -> None:
    for wait in (False, True):
        played = play(*[REFUSED] * 3, finishes, wait=wait, **TASK)
        if wait:
            played.send("overrule")
        replayed = list(simulate_journal(played.events, lambda config: config))
        assert replayed[-1].verdict is EndReason.STUCK if not wait else replayed
        assert fold(played.events) == played.run
