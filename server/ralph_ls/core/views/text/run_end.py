"""End of a run: the summary, why the run is stuck or failed, and what to type next.

The summary says what the run did, which is not what the plan holds: tasks that are done may have
left the plan. What the agent says of its work is marked as that. In `stories` the summary has the
fixed form of docs/rules.md#logs.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ralph_ls.core.loop.profiles import is_parallel, profile_of
from ralph_ls.core.loop.rules.budget import tokens_of, used_up_budgets
from ralph_ls.core.loop.rules.judge import is_stuck_by_judge
from ralph_ls.core.loop.rules.waits import is_ended_by_clock
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.prompt.template import mode_word
from ralph_ls.core.views.model.tasks import after_attempts
from ralph_ls.core.views.model.words import (
    SHOWN_REASON,
    claim_words,
    failure_counts,
    one_line,
    request_words,
    totals_words,
)
from ralph_ls.core.views.text.lane_summary import merged_lines, next_of_parallel
from ralph_ls.core.views.text.summary import (
    cost_of,
    dollar_words,
    format_duration,
    is_estimated,
    not_done,
    token_words,
)
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason, Mode, Phase

SHOWN_TASKS = 5

SHOWN_ERRORS = 3
"""Error lines of the last iteration that are shown."""

SHOWN_LAST_LINES = 3
"""Lines of the agent's last output that are shown."""

MAX_LINE = 300
"""Characters of a message, a reason or a claim."""

_INDENT = " " * 13

NEXT_STEPS = {
    "limit": "raise the limit ({used}): ralph run --resume {flags}",
    "blocked": "resolve the blocker, then: ralph resume, or remove {blocked} and: ralph run",
    "plan-blocked": "unblock a task in {plan}, then: ralph run --resume",
    "decide": 'ralph answer "…", or write below ## Answer in {decide}, then: ralph run',
    "stuck": "fix the cause, then: ralph run --resume",
    "fatal": "fix what the message says, then: ralph run --resume",
    "stopped": "ralph run --resume",
}
"""The next step after each end other than 0 (docs/rules.md#exit-codes)."""


_ISSUES_STEP = "check the issues: bd stats, bd list --status in_progress, bd blocked"

DISPUTE_STEP = (
    "commit or discard what the message names, then: ralph run --resume; or decide with "
    "--take-all or --leave"
)
"""The next step after a lost iteration with changes that may not be its own."""

JUDGE_STEP = "accept the work: ralph overrule; or more rounds: ralph run --resume"
"""The next step after a judge that never passed."""

CLOCK_STEP = NEXT_STEPS["stopped"]
"""The next step after a run that ended at its hours or instead of a long wait."""

RESTORE_STEP = f"restore what the message names, then: {NEXT_STEPS['stopped']}"
"""The next step after a repository that was damaged, moved or removed."""

STEPS_WITH_BD = {
    "limit": f"{_ISSUES_STEP}; then: {NEXT_STEPS['limit']}",
    "plan-blocked": (
        "see what holds each issue: bd blocked, bd list --status in_progress; then plan again: "
        "ralph replan, or retry one: ralph reset-task ID"
    ),
    "stuck": f"{_ISSUES_STEP}; fix the cause, then: ralph run --resume",
    "stopped": f"{_ISSUES_STEP}; then: {NEXT_STEPS['stopped']}",
}
"""The same where ``bd`` stores the plan, with its own commands first.

See docs/rules.md#exit-codes.
"""


REPLAN = "ralph replan, for the specifications that no task names"
"""The next step after a complete run that left a specification without a task."""


def optional_line(titles: Sequence[str]) -> str:
    """The line about optional tasks that were not done, and the setting that includes them."""
    return (
        f"Optional:    {count_of(len(titles), 'task')} left alone: {some_of(titles, SHOWN_TASKS)} "
        '(optional = "do" works on them)'
    )


def task_words(state: RunState) -> str:
    """``2 done of 3 attempted, 1 open``: what the run did, and what the plan still asks for."""
    counts, done = state.counts, sum(one.done for one in state.receipts.values())
    left = f"{counts.open_required} open" if counts.open_required else "none open"
    if counts.blocked_required:
        left += f" ({counts.blocked_required} blocked)"
    if not state.receipts:
        return f"none attempted, {left}"
    return f"{done} done of {len(state.receipts)} attempted, {left}"


def summary_lines(state: RunState, log_path: str, *, optional: Sequence[str] = ()) -> list[str]:
    """The table after a run; ``log_path`` is the path of the CSV, ``optional`` the titles of the
    optional tasks that were not done.
    """
    counts, is_of_stories = state.counts, state.config.profile is ProfileName.STORIES
    average = state.active_seconds / state.iterations if state.iterations else 0.0
    work: list[str] = [f"Tasks:       {task_words(state)}"]
    if is_parallel(state.config):
        work = [*merged_lines(state), f"Open tasks:  {counts.open_required}"]
    elif state.request is not None:
        work = [f"Request:     {request_words(state.request)}"]
    elif is_of_stories:
        work = [f"Stories:     {counts.required_done}/{counts.required} complete"]
    return [
        "Ralph Loop Summary",
        "─" * 18,
        *_exit(state, with_reason=not is_of_stories),
        f"Iterations:  {_iterations(state)}",
        f"Duration:    {format_duration(state.active_seconds)}",
        *work,
        *([] if is_of_stories else _figures(state)),
        f"Avg/iter:    {format_duration(average)}",
        f"Stuck iters: {state.stuck_iterations}",
        *([] if is_of_stories else _accounts(state)),
        *([optional_line(optional)] if optional else []),
        *(f"Not done:    {text}" for text in not_done(state)),
        f"Log:         {log_path}",
    ]


def next_step(state: RunState) -> str | None:
    """The command to type next; None after a complete run with nothing left to plan."""
    if state.end is None:
        return None
    if is_parallel(state.config):
        return next_of_parallel(state) or None
    if state.end.reason is EndReason.COMPLETE:
        return REPLAN if state.specs_unplanned else _closing(state) or None
    paths, reason = state.config.paths, state.end.reason.value
    ending = "plan-blocked" if reason == "blocked" and state.blocked is None else reason
    if ending == "plan-blocked" and (settling := _settling_step(state)):
        return settling
    has_issues = profile_of(state.config.profile).plan_kind is PlanKind.BEADS
    text = (STEPS_WITH_BD if has_issues else {}).get(ending, NEXT_STEPS[ending])
    if state.request is not None and text.endswith("ralph run"):
        # A new run would have to be given the request again.
        text += " --resume"
    if special := _step_by_cause(state):
        return special
    spent = used_up_budgets(
        state.config, counted=state.counted, seconds=state.active_seconds, usage=state.usage
    )
    return text.format(
        blocked=paths.blocked,
        decide=paths.decide,
        plan=state.plan,
        used=" and ".join(one.used for one in spent) or "all of a limit",
        flags=" ".join(one.flag for one in spent) or "--max-iterations 40",
    )


def _settling_step(state: RunState) -> str:
    """The step after a run that is blocked by neither a blocker nor its plan; empty otherwise."""
    if state.current is not None:
        return DISPUTE_STEP
    message = "" if state.end is None else state.end.message
    return RESTORE_STEP if NEXT_STEPS["stopped"] in message else ""


def _closing(state: RunState) -> str:
    """What the user does with a finished plan in the tool that it belongs to; empty for nothing."""
    from ralph_ls.core.plan.formats.registry import format_of_plan, plan_name

    known = format_of_plan(state.plan, profile_of(state.config.profile).plan_kind)
    name = shlex.quote(plan_name(state.plan, known))
    return f"check the result, then: {known.closing.format(name=name)}" if known.closing else ""


MORE_TIME = "set a longer timeout in .ralph/config.toml, then: ralph run --resume"
"""The next step after an agent that ran out of time, where that ends the run."""


def _step_by_cause(state: RunState) -> str:
    """The step after a judge that never passed, or an end by time; else empty."""
    if has_trouble(state) and is_stuck_by_judge(state):
        return JUDGE_STEP
    if is_ended_by_clock(state):
        return CLOCK_STEP
    is_fatal = state.end is not None and state.end.reason is EndReason.FATAL
    timed_out = bool(state.history) and state.history[-1].failure is AgentFailure.TIMED_OUT
    return MORE_TIME if is_fatal and timed_out else ""


def _exit(state: RunState, *, with_reason: bool) -> Iterator[str]:
    end = state.end
    name = "RUNNING" if end is None else end.reason.value.upper()
    yield f"Exit:        {name}" + ("" if end is None else f" (code {end.exit_code})")
    if end is not None and with_reason:
        yield f"Reason:      {one_line(end.message, limit=MAX_LINE)}"


def _iterations(state: RunState) -> str:
    limit = state.config.max_iterations
    if limit is not None and state.iterations > limit:
        return f"{state.iterations} (limit {limit})"
    return f"{state.iterations} / {'unlimited' if limit is None else limit}"


def _figures(state: RunState) -> Iterator[str]:
    """What a run that began an iteration took, and what it left."""
    if not state.start:
        return
    totals, profile = state.totals, state.config.profile
    if totals.seconds:
        each = (
            f"{mode_word(profile, Mode(mode))} {format_duration(seconds)}"
            for mode, seconds in totals.seconds.items()
        )
        yield f"Modes:       {', '.join(each)}"
    yield f"Commits:     {totals.commits}"
    yield f"Files:       {'at least ' if totals.more_files else ''}{totals.files} changed"
    yield f"Cost:        {_cost(state)}"
    if judged := totals_words(state.judge_totals):
        yield f"Judge:       {judged}{_cost_of_judge(state)}"
    if totals.restored:
        yield f"Restored:    {count_of(totals.restored, 'forbidden change')} (see the log)"
    if totals.failures:
        yield f"Failures:    {failure_counts(totals.failures)}"


def _cost_of_judge(state: RunState) -> str:
    """Its part of the run's cost, with the brackets."""
    usage = state.judge_totals.usage
    cost, tokens = cost_of(usage), tokens_of(usage)
    parts = [] if cost is None else [dollar_words(cost, estimated=is_estimated(usage))]
    parts += [] if tokens is None else [f"{token_words(tokens)} tokens"]
    return f" ({', '.join(parts)} of that)" if parts else ""


def _cost(state: RunState) -> str:
    cost, tokens = cost_of(state.usage), tokens_of(state.usage)
    if cost is None and tokens is None:
        return "not reported by the agent"
    dollars = "not reported by the agent"
    if cost is not None:
        dollars = dollar_words(cost, estimated=is_estimated(state.usage))
    return dollars + ("" if tokens is None else f", {token_words(tokens)} tokens")


def _accounts(state: RunState) -> Iterator[str]:
    """What was set aside and why, what went wrong, and what the agent says it did."""
    aside = [one for one in state.set_aside if not _is_done(state, one.task.id)]
    for number, one in enumerate(aside[:SHOWN_TASKS]):
        title, reason = one_line(one.task.title, limit=SHOWN_REASON), one.reason
        what = f"{title}, in iteration {one.iteration}{after_attempts(one)}"
        label = _INDENT if number else "Set aside:   "
        yield f"{label}{what}: {one_line(reason, limit=MAX_LINE)}"
    if len(aside) > SHOWN_TASKS:
        yield f"{_INDENT}and {len(aside) - SHOWN_TASKS} more: ralph doctor"
    for heading, text in trouble(state):
        yield f"{heading + ':':13}{text}"
    if said := agent_claims(state):
        yield f"Agent says:  {said}"
    for warned in state.warnings:
        if warned.code == "left-uncommitted" and warned.start == state.start:
            yield f"Uncommitted: {one_line(warned.message, limit=MAX_LINE)}"


def _is_done(state: RunState, task_id: str) -> bool:
    receipt = state.receipts.get(task_id)
    return receipt is not None and receipt.done


def agent_claims(state: RunState) -> str:
    """What the newest report claims, and of which iteration; empty without a report."""
    report = state.report
    if report is None:
        return ""
    told = report.work_summary or report.recommendation
    words = f"{claim_words(report)} (iteration {state.report_iteration})"
    return f"{words}: {one_line(told, limit=MAX_LINE)}" if told else words


def has_trouble(state: RunState) -> bool:
    """Whether the run ended stuck or failed, or waits for a reset."""
    reason = state.phase_reason if state.phase is Phase.PARKED else None
    if state.end is not None:
        reason = state.end.reason.value
    return reason in {EndReason.STUCK.value, EndReason.FATAL.value}


def trouble(state: RunState) -> list[tuple[str, str]]:
    """Counters and error lines of a run that is stuck or failed, each with its heading."""
    if not has_trouble(state):
        return []
    counters = list(counter_words(state))
    errors = state.history[-1].errors if state.history else ()
    return [
        *([("In a row", ", ".join(counters))] if counters else []),
        *(("Error", one_line(line, limit=MAX_LINE)) for line in errors[:SHOWN_ERRORS]),
    ]


def counter_words(state: RunState) -> Iterator[str]:
    """``3 of 5 iterations without progress``: the counters of breaker and stuck count."""
    breaker, rules = state.breaker, state.config.breaker
    counters = (
        (breaker.consecutive_no_progress, rules.no_progress_open, "without progress"),
        (breaker.consecutive_same_error, rules.same_error_open, "with the same error"),
        (breaker.consecutive_failing_tests, rules.failing_tests_open, "with failing tests"),
        (
            breaker.consecutive_refusals,
            rules.refused_completions_open,
            "with a refused completion",
        ),
        (
            0 if state.config.max_stuck is None else state.stuck_count,
            state.config.max_stuck or 0,
            "without a commit",
        ),
    )
    for count, threshold, what in counters:
        if count:
            of = count_of(threshold or count, "iteration")
            yield f"{f'{count} of {of}' if threshold else of} {what}"


def last_words(texts: Sequence[str]) -> list[str]:
    """The last lines of what an agent said, without its status block."""
    lines: list[str] = []
    for line in "\n".join(texts).splitlines():
        if line.strip().startswith("---") and line.strip().endswith("STATUS---"):
            break
        if line.strip():
            lines.append(one_line(line, limit=MAX_LINE))
    return lines[-SHOWN_LAST_LINES:]
