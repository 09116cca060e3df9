"""What ``ralph doctor`` says of the newest run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ralph_ls.core.views.report.doctor_last_run import LastRun, check_last_run
from ralph_ls.protocol.json_output import CheckResult, CheckStatus
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run import events as e
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import Blocker, RunState
from ralph_ls.protocol.run.values import Breaker, BreakerState, Phase, TaskRef
from tests.unit.core.views.run_states import (
    NOON,
    TASK,
    event,
    evidence,
    iteration_ended,
    iteration_started,
    phase,
    report,
    run_started,
    state_after,
)

OTHER = TaskRef(id="99999999", title="Another")
OPEN = Breaker(state=BreakerState.OPEN, reason="3 iterations without progress")


def checked(
    *events: e.EventBase, seen: Phase | None = None, pid: int | None = None, **known: Any
) -> list[CheckResult]:
    """All that is said of a run with these events; ``known`` is put into its state."""
    told = [run_started(), *events]
    numbered = [
        one.model_copy(update={"seq": n, "at": NOON + timedelta(seconds=n)})
        for n, one in enumerate(told, start=1)
    ]
    state: RunState = state_after(*numbered).model_copy(update=known)  # type: ignore[arg-type]
    run = LastRun(state=state, phase=seen or state.phase, pid=pid, events=numbered)
    return check_last_run(run)


def ended(reason: str, code: int, message: str = "so it ended") -> e.RunEnded:
    return event(e.RunEnded, reason=reason, exit_code=code, message=message)


def told(found: list[CheckResult], code: str) -> CheckResult:
    (one,) = [check for check in found if check.code == code]
    return one


def codes(found: list[CheckResult]) -> list[str]:
    return [check.code for check in found]


class TestRunState:
    def test_a_killed_engine_is_a_problem(self) -> None:
        found = checked(iteration_started(), seen=Phase.CRASHED)
        assert (found[0].code, found[0].status) == ("engine", CheckStatus.PROBLEM)
        assert found[0].remedy == "resume it: ralph run --resume"

    @pytest.mark.parametrize(("pid", "words"), [(None, "(running)"), (12, "(running) (pid 12)")])
    def test_one_that_continues_is_well(self, pid: int | None, words: str) -> None:
        found = checked(iteration_started(), seen=Phase.RUNNING, pid=pid)
        assert codes(found) == ["engine"]
        assert found[0].message == f"run 20260131T120000Z-0a1b is active {words}"

    @pytest.mark.parametrize(
        ("reason", "known", "message", "remedy"),
        [
            (
                "blocked",
                {"blocked": Blocker(reason="no\x1b key", iteration=1)},
                "the blocker to be resolved: no\\x1b key",
                "resolve it, then: ralph resume",
            ),
            ("stuck", {"breaker": OPEN}, "a reset: 3 iterations", "ralph reset"),
            (None, {}, "a reset", "ralph reset"),
        ],
    )
    def test_one_that_waits_for_the_user_is_a_problem(
        self, reason: str | None, known: dict[str, Any], message: str, remedy: str
    ) -> None:
        found = checked(iteration_started(), phase(Phase.PARKED, reason), **known)
        parked = told(found, "parked")
        assert parked.status is CheckStatus.PROBLEM
        assert message in parked.message
        assert remedy in (parked.remedy or "")

    @pytest.mark.parametrize(
        ("reason", "code", "status"),
        [
            ("complete", 0, CheckStatus.OK),
            ("limit", 1, CheckStatus.OK),
            ("stopped", 130, CheckStatus.OK),
            ("fatal", 5, CheckStatus.WARNING),
            ("blocked", 2, CheckStatus.WARNING),
        ],
    )
    def test_an_end_is_reported_with_what_comes_next(
        self, reason: str, code: int, status: CheckStatus
    ) -> None:
        found = checked(iteration_started(), iteration_ended(), ended(reason, code))
        assert [(one.code, one.status) for one in found] == [("last-run", status)]

    def test_one_without_an_iteration_ended_at_once(self) -> None:
        found = checked(ended("blocked", 2, "nothing left that is not blocked"))
        at_once = told(found, "exits-at-once")
        assert "nothing left that is not blocked" in at_once.message
        assert "exits-at-once" not in codes(checked(ended("stopped", 130)))

    def test_an_open_breaker(self) -> None:
        found = checked(iteration_started(), ended("stuck", 4), breaker=OPEN)
        breaker = told(found, "breaker-open")
        assert (breaker.status, breaker.remedy) == (
            CheckStatus.WARNING,
            "fix the cause, then: ralph run --resume",
        )
        parked = checked(iteration_started(), phase(Phase.PARKED, "stuck"), breaker=OPEN)
        assert told(parked, "breaker-open").status is CheckStatus.PROBLEM


class TestTroubles:
    def test_a_validation_that_failed(self) -> None:
        once = event(e.Validated, iteration=1, ok=False, exit_code=1)
        assert ".ralph/validate.sh failed last, in iteration 1" in [
            one.message for one in checked(iteration_started(), once)
        ]
        again = event(e.Validated, iteration=2, ok=False, exit_code=1)
        found = checked(iteration_started(), once, again)
        assert "failed 2 times in a row, in iteration 2" in told(found, "validation-failed").message
        passed = event(e.Validated, iteration=3, ok=True, exit_code=0)
        assert "validation-failed" not in codes(checked(iteration_started(), once, passed))

    @pytest.mark.parametrize(
        ("rejected", "remedy"),
        [(True, "git pull --rebase origin main"), (False, "git push -u origin main")],
    )
    def test_a_push_that_failed(self, rejected: bool, remedy: str) -> None:
        pushed = event(
            e.Pushed, iteration=2, ok=False, remote="origin", branch="main", rejected=rejected
        )
        one = told(checked(iteration_started(), pushed), "push-failed")
        assert "pushing main to origin failed in iteration 2" in one.message
        assert remedy in (one.remedy or "")

    def test_iterations_that_cost_much(self) -> None:
        def used(**usage: Any) -> e.IterationEnded:
            return iteration_ended(usage=Usage(**usage))

        dear = checked(iteration_started(), used(cost_usd=3.0), used(cost_usd=1.5), used())
        assert told(dear, "costly").message == "an iteration costs $2.25 on average"
        cheap = checked(
            iteration_started(), used(cost_usd=0.4, context_tokens=10, context_window=100)
        )
        assert codes(cheap) == ["engine"]
        full = checked(iteration_started(), used(context_tokens=75, context_window=100))
        assert "filled 75% of" in told(full, "context-full").message
        assert codes(checked(iteration_started(), used(context_tokens=75))) == ["engine"]

    def test_work_that_spreads(self) -> None:
        back = event(e.GuardReverted, iteration=1, path="@fix_plan.md", what="dropped")
        found = checked(iteration_started(), evidence(files=30, tasks_done=(TASK.id,)), back, back)
        assert told(found, "unrelated-files").message == "iteration 1 changed 30 files"
        assert told(found, "put-back").message.endswith("were restored: @fix_plan.md")

    def test_a_task_that_is_tried_again_and_again(self) -> None:
        tries = [iteration_started(n) for n in (2, 3, 4)]
        found = checked(iteration_started(1, task=OTHER), *tries)
        assert "(1f2e3d4c) was tried 3 times in a row" in told(found, "same-task").message
        assert "same-task" not in codes(checked(*tries[1:]))
        assert "same-task" not in codes(checked(*tries, evidence(tasks_done=(TASK.id,))))
        assert "same-task" not in codes(checked(iteration_started(1, task=None)))

    def test_a_task_that_was_set_aside(self) -> None:
        aside = event(e.TaskSetAside, iteration=3, task=TASK, attempts=3, reason="no progress")
        one = told(checked(iteration_started(), aside), "set-aside")
        assert one.message == "Round half a cent up (1f2e3d4c) was set aside: no progress"
        assert (one.remedy or "").startswith("fix what it needs, then: ralph reset-task 1f2e3d4c")

    def test_nothing_is_finished(self) -> None:
        idle = [evidence(files=1) for _ in range(3)]
        found = checked(iteration_started(), *idle)
        assert "in the last 3 iterations" in told(found, "nothing-finished").message
        assert "nothing-finished" not in codes(
            checked(iteration_started(), *idle, evidence(tasks_done=("a",)))
        )
        request = RequestView(source="issue.md", title="Letters")
        assert "nothing-finished" not in codes(checked(iteration_started(), *idle, request=request))

    def test_tests_that_keep_failing(self) -> None:
        failing = [report(TESTS_STATUS="FAILING") for _ in range(3)]
        found = checked(iteration_started(), report(), *failing)
        assert told(found, "tests-failing").message == "the last 3 reports say that tests fail"
        assert "tests-failing" not in codes(checked(iteration_started(), *failing, report()))
