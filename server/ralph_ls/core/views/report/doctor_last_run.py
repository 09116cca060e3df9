"""Doctor checks of the newest run: known troubles found in its journal, each with a remedy.

The thresholds are those from which the user should look, not those at which the loop stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeVar

from ralph_ls.core.loop.rules.waits import parked_words
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.words import SHOWN_REASON, one_line
from ralph_ls.core.views.report.doctor_checks import passed_check, problem_check, warning_check
from ralph_ls.core.views.text.run_end import next_step
from ralph_ls.core.views.text.summary import dollar_words, not_done
from ralph_ls.protocol.json_output import CheckResult
from ralph_ls.protocol.run import events as e
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState, EndReason, Phase

EventT = TypeVar("EventT", bound=e.EventBase)

IN_A_ROW = 3
"""Iterations with the same trouble before it is reported."""

MANY_FILES = 30
"""Changed files of one iteration that hardly belong to one task."""

COSTLY_USD = 2.0
"""Average dollars an iteration that are reported as costly."""

CRITICAL_SHARE = 0.7
"""Reported share of the agent's context window (docs/rules.md#usage)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The newest run of a work tree."""

    state: RunState
    phase: Phase
    """Phase as viewers show it."""
    pid: int | None
    """Process id of the engine, where one runs."""
    events: Sequence[e.EventBase]


def check_last_run(run: LastRun) -> list[CheckResult]:
    """The status of the run, then the troubles that were found, if any."""
    found = [_run_state(run), *_breaker(run)]
    checks: tuple[Callable[[LastRun], Iterable[CheckResult]], ...] = (
        _exits_at_once,
        _validation,
        _pushes,
        _not_done,
        _costs,
        _unrelated_files,
        _same_task,
        _nothing_finished,
        _failing_tests,
    )
    return [*found, *(result for check in checks for result in check(run))]


def _run_state(run: LastRun) -> CheckResult:
    state, name = run.state, f"run {run.state.run}"
    match run.phase:
        case Phase.CRASHED:
            message = f"the engine of {name} died before the run ended"
            return problem_check("engine", message, "resume it: ralph run --resume")
        case Phase.PARKED:
            message = f"{name} waits for {one_line(parked_words(state), limit=400)}"
            return problem_check(
                "parked", message, _HOW_TO_GO_ON.get(state.phase_reason or "", _RESET)
            )
        case Phase.ENDED:
            return _ended(run)
        case phase:
            with_pid = "" if run.pid is None else f" (pid {run.pid})"
            return passed_check("engine", f"{name} is active ({phase.value}){with_pid}")


_RESET = "find out why with ralph status, then: ralph reset"

_HOW_TO_GO_ON = {
    EndReason.DECIDE.value: 'answer it: ralph answer "…"',
    EndReason.BLOCKED.value: "resolve it, then: ralph resume",
}


def _ended(run: LastRun) -> CheckResult:
    end = run.state.end
    if end is None or end.reason is EndReason.COMPLETE:
        return passed_check("last-run", f"run {run.state.run} is complete")
    message = one_line(end.message, limit=400)
    text = f"run {run.state.run} ended with {end.exit_code} ({end.reason.value}): {message}"
    step = next_step(run.state) or "ralph run --resume"
    if end.reason in {EndReason.LIMIT, EndReason.STOPPED}:
        return passed_check("last-run", f"{text}; next: {step}")
    return warning_check("last-run", text, step)


def _breaker(run: LastRun) -> list[CheckResult]:
    breaker = run.state.breaker
    if breaker.state is not BreakerState.OPEN:
        return []
    message = f"the breaker is OPEN: {one_line(breaker.reason, limit=400)}"
    if run.phase is Phase.PARKED:
        return [problem_check("breaker-open", message, "fix the cause, then: ralph reset")]
    return [warning_check("breaker-open", message, "fix the cause, then: ralph run --resume")]


def _exits_at_once(run: LastRun) -> Iterable[CheckResult]:
    """The loop exits before its first iteration."""
    end = run.state.end
    if end is None or run.state.iteration or end.reason is EndReason.STOPPED:
        return
    yield warning_check(
        "exits-at-once",
        f"it ended before its first iteration: {one_line(end.message, limit=400)}",
        "check the plan for its completion marker, an open question or blocker, and tasks that "
        "are not blocked: ralph plan",
    )


def _validation(run: LastRun) -> Iterable[CheckResult]:
    failed = _last(run, e.Validated, lambda one: not one.ok)
    if failed:
        script = run.state.config.paths.validate_script
        times = f"{count_of(len(failed), 'time')} in a row" if len(failed) > 1 else "last"
        yield warning_check(
            "validation-failed",
            f"{script} failed {times}, in iteration {failed[0].iteration}",
            f"run it yourself: ./{script}; its output is in {run.state.config.paths.logs}",
        )


def _pushes(run: LastRun) -> Iterable[CheckResult]:
    """Pushes fail."""
    failed = _last(run, e.Pushed, lambda one: not one.ok)
    if not failed:
        return
    newest = failed[0]
    message = f"pushing {newest.branch} to {newest.remote} failed in iteration {newest.iteration}"
    if newest.rejected:
        yield warning_check(
            "push-failed",
            f"{message}: the remote has newer commits",
            f"get them: git pull --rebase {newest.remote} {newest.branch}, resolve any conflicts, "
            "then: ralph run --resume",
        )
        return
    yield warning_check(
        "push-failed",
        message,
        "check git remote -v, the network and your permissions: ralph doctor --network; or push "
        f"once yourself: git push -u {newest.remote} {newest.branch}",
    )


def _not_done(run: LastRun) -> Iterable[CheckResult]:
    """Commands of ``on_…`` and comments that failed."""
    for message in not_done(run.state):
        yield warning_check(
            "outside-failed", message, "fix what it names, so that the next run can do it"
        )


def _costs(run: LastRun) -> Iterable[CheckResult]:
    """High costs or full context windows."""
    usages = [one.usage for one in _all(run, e.IterationEnded) if one.usage is not None]
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    remedy = (
        "split large tasks, narrow the specifications, and say in the prompt where to look; "
        "max_cost_usd limits a run's cost"
    )
    if costs and sum(costs) / len(costs) >= COSTLY_USD:
        estimated = any(usage.estimated for usage in usages)
        each = dollar_words(sum(costs) / len(costs), estimated=estimated)
        yield warning_check("costly", f"an iteration costs {each} on average", remedy)
    shares = [
        usage.context_tokens / usage.context_window
        for usage in usages
        if usage.context_tokens is not None and usage.context_window
    ]
    if shares and max(shares) >= CRITICAL_SHARE:
        message = f"an iteration filled {max(shares):.0%} of the agent's context window"
        yield warning_check("context-full", message, remedy)


def _unrelated_files(run: LastRun) -> Iterable[CheckResult]:
    """The agent changes unrelated files."""
    wide = [one for one in _all(run, e.EvidenceGathered) if one.evidence.files >= MANY_FILES]
    back = _all(run, e.GuardReverted)
    remedy = (
        "say in the specifications what is out of scope, and make AGENTS.md more specific; show "
        "the changes: git show"
    )
    if wide:
        most = max(wide, key=lambda one: one.evidence.files)
        message = f"iteration {most.iteration} changed {most.evidence.files} files"
        yield warning_check("unrelated-files", message, remedy)
    if back:
        paths = ", ".join(dict.fromkeys(one.path for one in back))
        message = f"forbidden changes were restored: {one_line(paths, limit=200)}"
        yield warning_check("put-back", message, remedy)


def _same_task(run: LastRun) -> Iterable[CheckResult]:
    """The agent keeps failing at the same task."""
    started = [one for one in _all(run, e.IterationStarted) if one.task is not None]
    if started:
        newest = started[-1].task
        again = list(takewhile(lambda one: one.task == newest, reversed(started)))
        done = {task for one in _all(run, e.EvidenceGathered) for task in one.evidence.tasks_done}
        if newest is not None and len(again) >= IN_A_ROW and newest.id not in done:
            title = one_line(newest.title, limit=SHOWN_REASON)
            yield warning_check(
                "same-task",
                f"{title} ({newest.id}) was tried {len(again)} times in a row and is not done",
                "check whether it is blocked or unclear, add examples to its specification, split "
                f"it, do part of it yourself, or skip it: ralph skip {newest.id}",
            )
    for aside in _all(run, e.TaskSetAside):
        title = one_line(aside.task.title, limit=SHOWN_REASON)
        yield warning_check(
            "set-aside",
            f"{title} ({aside.task.id}) was set aside: {one_line(aside.reason, limit=200)}",
            f"fix what it needs, then: ralph reset-task {aside.task.id}; or plan again: ralph "
            "replan",
        )


def _nothing_finished(run: LastRun) -> Iterable[CheckResult]:
    """The loop keeps running without finishing a task."""
    gathered = _all(run, e.EvidenceGathered)
    idle = list(takewhile(lambda one: not one.evidence.tasks_done, reversed(gathered)))
    if run.state.request is None and len(idle) >= IN_A_ROW:
        yield warning_check(
            "nothing-finished",
            f"no task was finished in the last {len(idle)} iterations",
            "check that the criteria can be verified and the tasks are small enough: ralph plan",
        )


def _failing_tests(run: LastRun) -> Iterable[CheckResult]:
    """Tests keep failing across iterations."""
    failing = _last(run, e.RalphStatusUpdate, lambda one: one.report.tests_status == "FAILING")
    if len(failing) >= IN_A_ROW:
        yield warning_check(
            "tests-failing",
            f"the last {len(failing)} reports say that tests fail",
            "look for tests that are flaky or too strict, and fix those that the others "
            "depend on first",
        )


def _all(run: LastRun, kind: type[EventT]) -> list[EventT]:
    return [event for event in run.events if isinstance(event, kind)]


def _last(run: LastRun, kind: type[EventT], is_so: Callable[[EventT], bool]) -> list[EventT]:
    """The newest consecutive events of a type for which ``is_so`` holds, the newest first."""
    return list(takewhile(is_so, reversed(_all(run, kind))))
