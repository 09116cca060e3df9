"""Run header, CSV rows, log frames, and time, tokens and cost in words.

The formats of the CSV and of the log frames are fixed (docs/rules.md#logs); budgets follow
docs/rules.md#budgets. What an agent does not report is left out, never estimated here.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from ralph_ls.core.loop.lanes import branch_of_run
from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.loop.rules.budget import tokens_of
from ralph_ls.core.loop.rules.gate import gate_words
from ralph_ls.core.plurals import count_of, numbered_iteration
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.words import one_line, request_words
from ralph_ls.protocol.config.agent import SandboxKind
from ralph_ls.protocol.config.config import CONFIG_FILE, Config
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import INFERRED, Origin, RunChoices

CSV_HEADER = (
    "iteration",
    "mode",
    "duration_seconds",
    "commit_hash",
    "stories_complete",
    "stories_total",
    "stuck_count",
    "timestamp",
)
"""Columns of ``summary.csv`` (docs/rules.md#logs)."""

MAX_FAILURE_CHARS = 1000
"""Characters of a failure outside any iteration, which ends with the command to repeat it."""

FRAME = "━" * 40


def format_duration(seconds: float) -> str:
    """``53s``, ``47m 23s``, ``2h 3m 5s``."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours}h {minutes}m {left}s"
    return f"{minutes}m {left}s" if minutes else f"{left}s"


def not_done(state: RunState) -> list[str]:
    """What failed outside any iteration and is left to the user, oldest first."""
    return [one_line(failed.message, limit=MAX_FAILURE_CHARS) for failed in state.outside_failures]


def csv_row(ended: IterationEnded, mode: str = "") -> tuple[str, ...]:
    """One iteration as a row below `CSV_HEADER`: short or empty commit, UTC in whole seconds.

    ``mode`` replaces the name of the mode where this plan's files use another.
    """
    return (
        str(ended.iteration),
        mode or ended.mode.value,
        str(round(ended.seconds)),
        (ended.commit or "")[:7],
        str(ended.counts.required_done),
        str(ended.counts.required),
        str(ended.stuck_count),
        ended.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def frame_head(iteration: int, branch: str | None, started: datetime, *, tries: int = 1) -> str:
    """The frame before an iteration in the log; ``started`` is local time."""
    which = numbered_iteration(iteration, None, tries).replace(" ", ": ", 1).capitalize()
    return (
        f"{FRAME}\n{which}\nBranch: {escape_control_chars(branch or '(detached)')}\n"
        f"Started: {started:%Y-%m-%d %H:%M:%S}\n{FRAME}\n\n"
    )


def frame_foot(ended: IterationEnded, completed: datetime) -> str:
    """The frame after an iteration in the log, without unknown values (docs/rules.md#files)."""
    lines = [
        "",
        FRAME,
        f"Completed: {completed:%Y-%m-%d %H:%M:%S}",
        f"Duration: {format_duration(ended.seconds)}",
    ]
    if ended.commit:
        lines.append(f"Commit: {ended.commit[:7]}")
    usage = ended.usage
    if usage is not None and usage.context_tokens is not None and usage.context_window:
        share = 100 * usage.context_tokens / usage.context_window
        lines.append(
            f"Context: {usage.context_tokens}/{usage.context_window} tokens ({share:.1f}%)"
        )
    if usage is not None and usage.cost_usd is not None:
        about = "≈" if usage.estimated else ""
        lines.append(f"Cost: {about}${usage.cost_usd:.2f}")
    return "\n".join([*lines, FRAME, "", ""])


def budget_words(state: RunState) -> Iterator[str]:
    """``6m 12s of 2h``, ``31k of 200k tokens``, ``$0.42 of $5.00``: known use of each limit."""
    config, tokens, cost = state.config, tokens_of(state.usage), cost_of(state.usage)
    if config.max_duration is not None:
        yield duration_words(state.active_seconds, config.max_duration)
    if config.max_tokens is not None and tokens is not None:
        yield f"{tokens_words(tokens, config.max_tokens)} tokens"
    if config.max_cost_usd is not None and cost is not None:
        yield cost_words(cost, config.max_cost_usd, estimated=is_estimated(state.usage))


def duration_words(seconds: float, limit: float | None) -> str:
    """``6m 12s``, or ``6m 12s of 2h``."""
    used = format_duration(seconds)
    return used if limit is None else f"{used} of {limit_words(limit)}"


def tokens_words(tokens: int | None, limit: int | None) -> str:
    """``31k``, ``31k of 200k``; empty where neither is known."""
    return _used_of_limit(
        "" if tokens is None else token_words(tokens), "" if limit is None else token_words(limit)
    )


def cost_words(cost: float | None, limit: float | None, *, estimated: bool = False) -> str:
    """``$0.42``, ``≈$0.42 of $5.00``; empty where neither is known."""
    used = "" if cost is None else dollar_words(cost, estimated=estimated)
    return _used_of_limit(used, "" if limit is None else dollar_words(limit))


def limit_words(seconds: float) -> str:
    """``2h``, ``1m 30s``: a configured duration, without trailing zeros."""
    return format_duration(seconds).removesuffix(" 0s").removesuffix(" 0m")


def token_words(count: int) -> str:
    """``950``, ``31k``, ``1.2M``."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1_000_000:.1f}M"


def dollar_words(amount: float, *, estimated: bool = False) -> str:
    """``$0.42``; amounts below a cent have four digits.

    ``≈$0.42`` is an estimate from the table ``prices``.
    """
    about = "≈" if estimated else ""
    return f"{about}${amount:.4f}" if 0 < amount < 0.01 else f"{about}${amount:.2f}"


def cost_of(usage: Usage | None) -> float | None:
    """The cost; None where no agent has reported one."""
    return None if usage is None else usage.cost_usd


def is_estimated(usage: Usage | None) -> bool:
    """Whether some of the cost is an estimate."""
    return usage is not None and bool(usage.estimated)


def _used_of_limit(used: str, limit: str) -> str:
    if not limit:
        return used
    return f"{used} of {limit}" if used else f"not reported, at most {limit}"


def header_lines(state: RunState, *, project: str | None = None) -> list[str]:
    """The lines above a run: profile, agent, branch, state directory and limits.

    ``project`` is the folder shared by all clones of the project, if the run has one.
    """
    profile, branch, pushes, *rest = run_lines(state)
    return [
        f"Run: {state.run}",
        *(profile, branch, pushes),
        f"State: {state.state_dir}",
        *([] if project is None else [f"Project state: {project}"]),
        *rest,
    ]


def run_lines(state: RunState) -> list[str]:
    """A run before its start: profile and agent with their origin, and the limits."""
    config, choices = state.config, state.choices
    profile, agent = config.profile.value, config.agent
    if choices is not None:
        profile += f" ({_profile_by(choices)})"
        agent += _agent_by(choices.agent)
    return [
        f"Profile: {profile}   Agent: {agent}   {_works_on(state)}",
        f"Branch: {state.branch or '(detached HEAD)'}",
        *_parallel(state),
        f"Pushes: {_pushes(state)}",
        *_sandbox(state),
        f"Limits: {', '.join(_limits(state))}",
        *_inferred_profile(state),
        *([] if is_parallel(config) else [f"Complete: {_completion_condition(config)}"]),
        *_reviews(config),
    ]


def _profile_by(choices: RunChoices) -> str:
    match choices.profile:
        case Origin.ENVIRONMENT:
            return "RALPH_PROFILE"
        case Origin.FILE:
            return CONFIG_FILE
        case Origin.USER:
            return "your own settings"
        case Origin.FOUND:
            return f"found by {choices.sign}" if choices.sign else "found"
        case Origin.DEFAULT:
            return "the default"
        case _:
            return "chosen for this run"


def _agent_by(origin: Origin) -> str:
    """The origin of the agent, where no setting names it."""
    words = {
        Origin.PROFILE: "the profile's own",
        Origin.FOUND: "the only one on PATH",
        Origin.RUN: "as before",
    }
    return f" ({words[origin]})" if origin in words else ""


def _pushes(state: RunState) -> str:
    choices = state.choices
    if not state.config.push:
        return "no"
    if choices is None:
        return "yes"
    if choices.remote is None:
        return "no, since there is no remote"
    return f"{choices.remote}/{state.branch}"


def _sandbox(state: RunState) -> Iterator[str]:
    """The sandbox of the agent; nothing where the run does not record one."""
    choices = state.choices
    if choices is None or choices.sandbox is None:
        return
    words = _SANDBOXES.get(choices.sandbox, choices.sandbox)
    if choices.sandbox == SandboxKind.BWRAP and not state.config.sandbox.network:
        words += ", no network"
    if choices.sandbox_problem is not None:
        words += f" ({choices.sandbox_problem})"
    yield f"Sandbox: {words}"


_SANDBOXES = {
    "bwrap": "bubblewrap",
    "docker": "docker sandbox",
    "sbx": "sbx",
    "command": "the prefix of its settings",
}


def _inferred_profile(state: RunState) -> Iterator[str]:
    """How to keep an inferred profile, and how to undo its commits."""
    if state.choices is not None and state.choices.profile in INFERRED:
        yield ("No profile was chosen, so ralph does not push and stops after 20 iterations")
        yield (
            f"  keep it: ralph init --profile {state.config.profile.value}   "
            "undo the last iteration's commits: ralph rollback 1"
        )


def _limits(state: RunState) -> Iterator[str]:
    """The limits of the run, or ``no limit``, then those of an iteration."""
    config = state.config
    yield from _limits_of_run(state) or ["no limit"]
    if config.timeouts.iteration:
        yield f"{limit_words(config.timeouts.iteration)} an iteration"
    if config.max_tokens_per_iteration is not None:
        yield f"{token_words(config.max_tokens_per_iteration)} tokens an iteration"
    if config.max_cost_per_iteration_usd is not None:
        yield f"{dollar_words(config.max_cost_per_iteration_usd)} an iteration"
    if config.max_calls_per_minute is not None:
        yield f"{count_of(config.max_calls_per_minute, 'call')} a minute"


def _limits_of_run(state: RunState) -> list[str]:
    config, choices = state.config, state.choices
    limits = []
    if config.max_iterations is not None:
        limits.append(f"at most {count_of(config.max_iterations, 'iteration')}")
    if config.max_duration is not None:
        limits.append(f"{limit_words(config.max_duration)} in all")
    used = []
    if config.max_tokens is not None:
        used.append(f"{token_words(config.max_tokens)} tokens")
    if config.max_cost_usd is not None:
        used.append(dollar_words(config.max_cost_usd))
    if used and choices is not None and choices.unmetered:
        used[-1] += " (if the agent reports it; not all do)"
    elif used and choices is not None and choices.overshoots:
        used[-1] += " (known after an iteration, so one may exceed it)"
    return [*limits, *used]


def _reviews(config: Config) -> Iterator[str]:
    """The review points of the run; nothing without any.

    See docs/rules.md#review-points.
    """
    points = config.review_points
    every = [f"after every {count_of(points.every, 'iteration')}"] if points.every else []
    tasks = [f"after the task {escape_control_chars(name)}" for name in points.after_tasks]
    if every or tasks:
        yield f"Review: {', '.join([*every, *tasks])}"


def _parallel(state: RunState) -> Iterator[str]:
    """How many lanes a parallel run has, and where they are merged; nothing for another run."""
    if is_parallel(state.config):
        lanes = count_of(state.config.parallel or 1, "lane")
        yield f"Parallel: {lanes}, merged into {branch_of_run(state)}"


def _works_on(state: RunState) -> str:
    request = state.request
    return f"Plan: {state.plan}" if request is None else f"Request: {request_words(request)}"


def _completion_condition(config: Config) -> str:
    """The condition that completes this run (docs/rules.md#exit-gate)."""
    gate = gate_words(config.gate, config.promise.complete)
    return gate if config.task is None else f"the task {config.task} done, or {gate}"
