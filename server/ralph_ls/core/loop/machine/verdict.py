"""The verdict of an iteration: what it means for its run; of several meanings the first wins.

Stopped, fatal, then the order of the gate's rule (docs/rules.md#exit-codes): complete if accepted,
BLOCKED, DECIDE, stuck, limit; for requests an open breaker and clarification come before complete.
A stop after this iteration ranks behind fatal and complete, since the iteration came to its end.
Nothing here emits or orders anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.agent.usage import add_usage
from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.fold.iteration_changes import warning_name
from ralph_ls.core.loop.inputs import IterationRead
from ralph_ls.core.loop.rules import budget, judge
from ralph_ls.core.loop.rules import gate as confirming
from ralph_ls.core.loop.rules.failure_policy import LIMITS_OF_ITS_OWN, AgentHold, needs_user_words
from ralph_ls.core.loop.rules.gate import ORDERS, GateResult, queue_is_empty
from ralph_ls.core.loop.rules.validation import is_invalid, validation_fatal_words
from ralph_ls.core.loop.rules.waits import hours_over, stuck_words
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.config.config import Config, GateRule, OnBlocked, OnTimeout
from ralph_ls.protocol.run.events import AgentExited, Pushed
from ralph_ls.protocol.run.iteration_events import AgentOut
from ralph_ls.protocol.run.report import PromiseKind, Report, Usage
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import (
    Breaker,
    EndReason,
    Evidence,
    Mode,
    Outcome,
    TaskRef,
    Verdict,
)

NO_REASON = "the agent reports BLOCKED without a reason"
"""The reason of a task that is set aside, or of a run that is blocked, where its agent gives none.
"""

COMMIT_FAILED = "commit-failed"
"""The warning that the loop could not commit the work of an iteration."""

CRASHES_TO_FATAL = 3
"""Failed iterations in a row after which a run ends as fatal (docs/rules.md#agent-process)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A task that is set aside, and why."""

    task: TaskRef
    reason: str
    attempts: int
    """Failed ones, with this."""
    agent_reason: str = ""
    """Why its agent gave it up; empty where its attempts merely failed."""
    quote: str = ""
    """What its agent said last, or the last error, in words."""
    unfinished: bool = False
    """Its iterations changed something each time, and finished nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledIteration:
    """One iteration, ready to be closed."""

    current: CurrentIteration
    read: IterationRead
    evidence: Evidence
    stopped: bool
    """Its agent, or its validation, was ended on the user's order."""
    failed: bool
    """Its agent failed without a result."""
    hold: AgentHold | None
    """It has no result because its agent was not available."""
    replaced: AgentOut | None = None
    """Its agent failed once too often, and another one replaces it."""
    gate: GateResult
    breaker: Breaker
    attempts: Mapping[str, int]
    set_aside: SetAside | None
    stuck_count: int
    commit: str | None

    @property
    def lost(self) -> bool:
        """Its engine died while it was open."""
        return self.current.exit is None

    @property
    def cut_short(self) -> bool:
        """It was cut off: its evidence counts, its silence does not."""
        return self.lost or self.stopped or self.hold is not None

    @property
    def counted(self) -> bool:
        """Whether it counts for the limit: not where its agent was not available, nor where its
        engine died and it left no progress.
        """
        return self.hold is None and (not self.lost or self.evidence.progress)

    @property
    def usage(self) -> Usage | None:
        """What its agents used, with its judge."""
        return judge.usage_with_judge(self.current, self.read.usage)

    @property
    def agent_out(self) -> AgentOut | None:
        """The agent that is left out from here on."""
        return self.replaced if self.hold is None else self.hold.out

    @property
    def works_on(self) -> bool:
        """Another agent replaces its agent."""
        return self.agent_out is not None and self.agent_out.successor is not None

    @property
    def outcome(self) -> Outcome:
        if self.lost:
            return Outcome.LOST
        if self.stopped:
            return Outcome.STOPPED
        if self.hold is not None:
            return Outcome.LIMITED
        return Outcome.PROGRESS if self.evidence.progress else Outcome.NO_PROGRESS


def limit_of(given: IterationRead) -> AccountLimit | None:
    """The usage limit that kept the agent from its result; an agent that got over it has one.

    Only what the agent's structured output says counts, never words (docs/rules.md#usage-limits).
    """
    has_result = (given.report is not None or bool(given.promises)) and not given.failed
    return None if has_result else given.limit


def question_of(given: IterationRead) -> str | None:
    """The agent's question: its DECIDE, else the clarification that its report asks for.

    See docs/rules.md#questions.
    """
    for promise in given.promises:
        if promise.kind is PromiseKind.DECIDE:
            return promise.text
    report = given.report
    return _clarification(report) if report is not None and _asks(report) else None


def blocker_of(config: Config, settlement: SettledIteration) -> str | None:
    """The agent's blocker: its BLOCKED promise, else its report where no task can be set aside."""
    given = settlement.read
    for promise in given.promises:
        if promise.kind is PromiseKind.BLOCKED:
            return promise.text
    report, started = given.report, settlement.current.started
    if report is None or report.status != "BLOCKED" or not started.confirming:
        return None
    is_raised = config.on_blocked is OnBlocked.SET_ASIDE
    return (report.recommendation or NO_REASON) if is_raised else None


def has_no_result(exit_event: AgentExited, given: IterationRead, evidence: Evidence) -> bool:
    """A failed exit without a result, or no output at all, and no work.

    See docs/rules.md#agent-process.
    """
    if _was_ended(exit_event) or evidence.progress or given.failure_kind in LIMITS_OF_ITS_OWN:
        return False
    no_result = given.report is None and not given.promises
    return given.without_output or (no_result and (given.failed or exit_event.exit_code != 0))


def _was_ended(exit_event: AgentExited) -> bool:
    """By a limit of time or of what it used up."""
    return exit_event.timed_out or exit_event.idle or exit_event.overspent


def exit_words(exit_event: AgentExited) -> str:
    """How an agent's process ended, after "it"."""
    if exit_event.signal is not None:
        return f"was ended by signal {exit_event.signal}"
    return f"ended with {exit_event.exit_code}"


def completion(run: RunState, settlement: SettledIteration) -> str | None:
    """Why the run is complete; None where it is not, whatever the agent says."""
    given = settlement.read
    is_held = (
        given.halted
        or given.plan.committed_offence
        or _commit_failed(settlement)
        or judge.is_held(run, settlement.current)
    )
    return None if is_held else _completion_in_tree(run, settlement)


def would_complete(run: RunState, settlement: SettledIteration) -> bool:
    """Whether the run is complete as far as a judge does not object."""
    given = settlement.read
    is_held = given.halted or given.plan.committed_offence or _commit_failed(settlement)
    return not is_held and _completion_in_tree(run, settlement) is not None


def refused_completion_words(run: RunState, settlement: SettledIteration) -> str | None:
    """Why a run that is complete in the work tree is not accepted; None where it is not that."""
    offence = settlement.read.plan.committed_offence
    return offence if offence and _completion_in_tree(run, settlement) is not None else None


def _commit_failed(settlement: SettledIteration) -> bool:
    """Whether work of the loop is in the tree alone, where the next commit would take it along."""
    return warning_name(COMMIT_FAILED) in settlement.current.told


def _not_committed(run: RunState, settlement: SettledIteration) -> str | None:
    """That the last commit of a run that is complete in the work tree failed."""
    if not _commit_failed(settlement) or _completion_in_tree(run, settlement) is None:
        return None
    return (
        f"every task is done, but the work of iteration {settlement.current.started.iteration} is "
        f"not committed (see the warning {COMMIT_FAILED}); once it can be committed, continue "
        "with: ralph run --resume"
    )


def _completion_in_tree(run: RunState, settlement: SettledIteration) -> str | None:
    """The same as ``completion``, whatever is committed."""
    return None if _tests_fail(run, settlement) else _reached(run, settlement)


def is_held_by_tests(run: RunState, settlement: SettledIteration) -> bool:
    """Whether the run would be complete, did its agent not report failing tests."""
    return _tests_fail(run, settlement) and _reached(run, settlement) is not None


def _tests_fail(run: RunState, settlement: SettledIteration) -> bool:
    return confirming.tests_fail(run.config.gate.rule, settlement.read.report)


def _reached(run: RunState, settlement: SettledIteration) -> str | None:
    """Why the run is complete, leaving aside what its agent reports of the tests."""
    is_out = settlement.cut_short or is_invalid(settlement.current)
    if is_out or fatal_end(run, settlement) is not None:
        return None
    counts = settlement.read.plan.counts
    if settlement.current.started.mode is Mode.PLAN and not counts.total:
        # A plan iteration writes the plan; without a plan nothing can be complete.
        return None
    if run.config.task is not None:
        is_done = counts.total > 0 and counts.open_required == 0
        return f"the task {run.config.task} is done" if is_done else None
    if settlement.gate.accepted:
        return settlement.gate.why
    plan = settlement.read.plan
    if run.config.gate.rule is GateRule.QUEUE and queue_is_empty(counts, plan.next_task):
        return confirming.NOTHING_OPEN
    if confirming.has_open_work(plan):
        return None
    if _has_confirmed(run, settlement):
        return "no required task is open, and a confirming iteration found nothing left to do"
    return confirming.confirmation_words(run) if _needs_no_other(run, settlement) else None


def verdict(run: RunState, settlement: SettledIteration, now: datetime) -> Verdict | None:
    """The first meaning that holds; None: the run continues."""
    stop = run.stop_requested
    if stop is not None and settlement.stopped:
        return _stopped(stop)
    if message := fatal_end(run, settlement) or _not_committed(run, settlement):
        return Verdict(reason=EndReason.FATAL, message=message)
    for reason in ORDERS[run.config.gate.rule]:
        if message := _meaning(reason, run, settlement, now):
            is_first = stop is None or reason is EndReason.COMPLETE
            return Verdict(reason=reason, message=message) if is_first else _stopped(str(stop))
    return None if stop is None else _stopped(stop)


def _meaning(
    reason: EndReason, run: RunState, settlement: SettledIteration, now: datetime
) -> str | None:
    """The message of an end that this iteration would lead to; None where it would not."""
    match reason:
        case EndReason.COMPLETE:
            return completion(run, settlement)
        case EndReason.BLOCKED:
            blocked = None if run.blocked is None else run.blocked.reason
            return blocked or refused_completion_words(run, settlement)
        case EndReason.DECIDE:
            is_open = run.question is not None and run.question.answer is None
            return run.question.question if run.question is not None and is_open else None
        case EndReason.STUCK:
            return stuck_words(settlement.breaker, settlement.stuck_count, run.config)
        case _:
            return hours_over(run, now) or budget.limit_reached(
                run.config,
                counted=counted_iterations(run, settlement),
                seconds=active_seconds(run, now),
                usage=add_usage(run.usage, settlement.usage),
            )


def ends_complete(run: RunState, settlement: SettledIteration) -> str | None:
    """Why the run will end as complete, so that no other promise is raised."""
    message = completion(run, settlement)
    order = ORDERS[run.config.gate.rule]
    earlier = order[: order.index(EndReason.COMPLETE)]
    if EndReason.STUCK in earlier and stuck_words(
        settlement.breaker, settlement.stuck_count, run.config
    ):
        return None
    if EndReason.DECIDE in earlier and question_of(settlement.read) is not None:
        return None
    return message


def counted_iterations(run: RunState, settlement: SettledIteration) -> int:
    """Iterations that count for the limit, with this one."""
    return run.counted + int(settlement.counted)


def fatal_end(run: RunState, settlement: SettledIteration) -> str | None:
    """A problem that no further iteration can fix; None where there is none."""
    exit_event = settlement.current.exit
    if message := validation_fatal_words(run, settlement.current):
        return message
    pushed = settlement.current.pushed
    if pushed is not None and not pushed.ok:
        return _not_pushed(pushed)
    if exit_event is None:
        return None
    if settlement.failed and (message := needs_user_words(run, settlement.read)):
        return message
    if settlement.failed and not settlement.works_on and run.crashes + 1 >= CRASHES_TO_FATAL:
        last = exit_words(exit_event)
        last += f": {settlement.read.failure}" if settlement.read.failure else ""
        return f"the agent failed in {CRASHES_TO_FATAL} iterations in a row; the last one {last}"
    if exit_event.timed_out and run.config.on_timeout is OnTimeout.STOP:
        return f"the agent ran longer than {run.config.timeouts.iteration:g} s"
    return None


def _not_pushed(pushed: Pushed) -> str:
    """That a push failed, and what to look at (docs/rules.md#push)."""
    where = f"{pushed.branch} to {pushed.remote}" if pushed.remote else pushed.branch
    if pushed.rejected:
        return (
            f"could not push {where}: the remote has newer commits of {pushed.branch}, and ralph "
            f"never forces a push; fetch and rebase with git pull --rebase {pushed.remote} "
            f"{pushed.branch}, then continue with: ralph run --resume"
        )
    last = " ".join(pushed.tail.split()) or "git printed nothing"
    return (
        f"pushing {where} failed {count_of(pushed.tries, 'time')}: {last}; check the network, "
        "your permission to push, conflicting commits on the remote and its URL (git remote -v); "
        "then continue with: ralph run --resume"
    )


def is_full_confirmation(settlement: SettledIteration) -> bool:
    """Whether a confirming iteration came to its end, with output, and nothing is invalid.

    One that did not counts as a failed iteration, and so does one that reports BLOCKED without a
    task that could be set aside.
    """
    given, exit_event = settlement.read, settlement.current.exit
    if exit_event is None or settlement.cut_short or is_invalid(settlement.current):
        return False
    was_ended = _was_ended(exit_event) or given.failure_kind in LIMITS_OF_ITS_OWN
    no_result = given.report is None and not given.promises
    broke_off = no_result and (given.failed or exit_event.exit_code != 0)
    is_blocked = given.report is not None and given.report.status == "BLOCKED"
    return not (was_ended or given.without_output or broke_off or is_blocked)


def is_confirmation(run: RunState, settlement: SettledIteration) -> bool:
    """Whether this is the confirming iteration of its run, whatever it changed in the tree."""
    return _has_confirmed(run, settlement) and not _tests_fail(run, settlement)


def _has_confirmed(run: RunState, settlement: SettledIteration) -> bool:
    enough = run.counted + 1 >= run.config.min_iterations
    has_confirmed = settlement.current.started.confirming and is_full_confirmation(settlement)
    return has_confirmed and enough and not _needs_user(settlement.read)


def _needs_no_other(run: RunState, settlement: SettledIteration) -> bool:
    """Whether the last tasks are done of a run that was confirmed before."""
    enough = run.counted + 1 >= run.config.min_iterations
    is_over = settlement.current.started.mode is not Mode.PLAN and not settlement.failed
    asks = _needs_user(settlement.read)
    return confirming.confirmations_used_up(run) and enough and is_over and not asks


def _needs_user(given: IterationRead) -> bool:
    """Whether the agent asks something, or says that something blocks it."""
    reports = given.report is not None and given.report.status == "BLOCKED"
    promises = any(promise.kind is not PromiseKind.COMPLETE for promise in given.promises)
    return reports or promises or question_of(given) is not None


def _asks(report: Report) -> bool:
    return report.clarification_needed or report.status == "NEEDS_CLARIFICATION"


def _clarification(report: Report) -> str:
    """The questions of a report; where there are none, that there are none.

    See docs/rules.md#exit-codes.
    """
    if report.clarification_questions:
        return report.clarification_questions
    summary = report.work_summary or report.recommendation or "nothing more"
    return f"The agent needs clarification but did not ask a question. Its summary: {summary}"


def _stopped(by: str) -> Verdict:
    return Verdict(reason=EndReason.STOPPED, message=f"stopped by {by}")
