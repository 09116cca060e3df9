"""Status of the screen: the headline of a run, its meters, and the tool in use.

The headline is one line, the state first, what is being worked on last. Meters are breaker, limits
with how much of each is used, and when a limit is reset; a limit that is not set has words and no
bar. Agents may use several tools at once; the newest that has not ended is shown. Messages carry no
time, so the caller brings the moment at which one was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ralph_ls.core.loop.rules.agent_choice import worker_words
from ralph_ls.core.loop.rules.budget import is_nearly_used, tokens_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.model.words import one_line
from ralph_ls.core.views.panel.facts import running_time
from ralph_ls.core.views.text.status import clock_words, deadline, left_words, wait_words
from ralph_ls.core.views.text.summary import (
    cost_of,
    cost_words,
    duration_words,
    format_duration,
    is_estimated,
    tokens_words,
)
from ralph_ls.protocol.lsp.panel import Fact, Meter, Panel, Tone
from ralph_ls.protocol.run.messages import AgentMessage, ToolMessage, ToolState
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase


def headline(context: DocumentContext, panel: Panel, now: datetime) -> tuple[str, ...]:
    """The parts of the line, the run's state first. Total."""
    state = context.state
    if state is None:
        return (panel.headline,)
    return (panel.headline, *_parts(context, state, panel, now))


def pauses_later(state: RunState) -> bool:
    """Whether a pause was ordered that begins when the iteration has ended."""
    return state.pause_requested and state.phase is not Phase.PAUSED


def _parts(context: DocumentContext, state: RunState, panel: Panel, now: datetime) -> Iterator[str]:
    if pauses_later(state):
        yield "pauses after this iteration"
    limit = f"/{panel.iterations.of}" if panel.iterations.of else ""
    yield f"iteration {panel.iterations.value}{limit}"
    if panel.tasks.of:
        yield f"{panel.tasks.value}/{panel.tasks.of} tasks"
    yield format_duration(running_time(context, now))
    if cost := cost_words(context.history.cost_usd, None, estimated=is_estimated(state.usage)):
        yield cost
    agent = None if state.current is None else state.current.agent
    if agent is not None and (who := worker_words(state.config, agent.agent, agent.model)):
        yield escape_control_chars(who)
    if state.branch:
        yield escape_control_chars(state.branch)


BY_METERS = frozenset({"time", "cost", "tokens", "request"})
"""Facts of the panel that the meters, or the heading, show already."""

SHOWN_CHARS = 200
"""Shown characters of a fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterLine:
    """One line: a heading, words, and the share of a limit that is used."""

    heading: str
    words: str
    share: float | None = None
    """From 0 to 1; None without a limit."""
    tone: Tone = Tone.PLAIN


def meter_lines(
    context: DocumentContext, panel: Panel, now: datetime, zone: tzinfo | None
) -> tuple[MeterLine, ...]:
    """The lines of a run, the breaker first; empty without a run. Total."""
    state = context.state
    if state is None:
        return ()
    breaker = [fact for fact in panel.facts if fact.key == "breaker"]
    rest = [fact for fact in panel.facts if fact.key not in {"breaker", *BY_METERS}]
    return (
        *map(_of_fact, breaker),
        *_limits(context, state, panel, now),
        *_next_reset(context, state, now, zone),
        *map(_of_fact, rest),
    )


def bar(share: float, width: int) -> str:
    """``███░░░░``: a share of a limit; more than all of it is all of it."""
    filled = round(min(1.0, max(0.0, share)) * width)
    return "█" * filled + "░" * (width - filled)


def _of_fact(fact: Fact) -> MeterLine:
    more = f": {fact.more}" if fact.more and fact.key in {"breaker", "work"} else ""
    words = one_line(f"{fact.text}{more}", limit=SHOWN_CHARS)
    return MeterLine(heading=fact.heading, words=words, tone=fact.tone)


def _limits(
    context: DocumentContext, state: RunState, panel: Panel, now: datetime
) -> Iterator[MeterLine]:
    config, usage = state.config, state.usage
    yield _of_meter("Iterations", panel.iterations, is_limit=True)
    if panel.tasks.of:
        yield _of_meter("Tasks", panel.tasks, is_limit=False)
    seconds = running_time(context, now)
    yield _used("Time", duration_words(seconds, config.max_duration), seconds, config.max_duration)
    cost = cost_of(usage)
    if words := cost_words(cost, config.max_cost_usd, estimated=is_estimated(usage)):
        yield _used("Cost", words, cost, config.max_cost_usd)
    tokens = tokens_of(usage)
    if words := tokens_words(tokens, config.max_tokens):
        yield _used("Tokens", words, tokens, config.max_tokens)


def _of_meter(heading: str, meter: Meter, *, is_limit: bool) -> MeterLine:
    if not meter.of:
        return MeterLine(heading=heading, words=str(meter.value))
    words = f"{meter.value} of {meter.of}"
    share = meter.value / meter.of
    near = is_limit and is_nearly_used(meter.value, meter.of)
    tone = Tone.WARNING if near else Tone.GOOD if not is_limit and share >= 1 else Tone.PLAIN
    return MeterLine(heading=heading, words=words, share=share, tone=tone)


def _used(heading: str, words: str, used: float | None, limit: float | None) -> MeterLine:
    share = None if used is None or not limit else used / limit
    tone = Tone.WARNING if is_nearly_used(used, limit) else Tone.PLAIN
    return MeterLine(heading=heading, words=words, share=share, tone=tone)


def _next_reset(
    context: DocumentContext, state: RunState, now: datetime, zone: tzinfo | None
) -> Iterator[MeterLine]:
    """Until when the run waits by itself, or when the agent is ended at the latest."""
    if not context.live:
        return
    if state.phase is Phase.WAITING and state.until is not None:
        words = wait_words(state.phase_reason, state.until, since=state.phase_since, zone=zone)
        left = left_words(state.until, now)
        text = f"{words.lstrip(': ')}, {left} left"
        yield MeterLine(heading="Waits", words=text, tone=Tone.WARNING)
    elif (until := deadline(state)) is not None:
        agent = None if state.current is None else state.current.agent
        who = "" if agent is None else f"{escape_control_chars(agent.agent)}, "
        at = clock_words(until, since=now, zone=zone)
        text = f"{who}{left_words(until, now)} left, until {at}"
        yield MeterLine(heading="Agent", words=text)


# --------------------------------------------------------------------------------- the running tool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTool:
    """A call that has not ended."""

    call: str
    text: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The calls that have not ended, the newest last."""

    running: tuple[RunningTool, ...] = ()

    def words(self, now: datetime) -> str:
        """``Bash: pytest -q · 12s``; empty where no tool runs."""
        if not self.running:
            return ""
        newest = self.running[-1]
        others = f" · {len(self.running) - 1} more" if len(self.running) > 1 else ""
        seconds = max(0.0, (now - newest.since).total_seconds())
        return f"{newest.text} · {format_duration(seconds)}{others}"


def after_message(activity: Activity, message: AgentMessage, at: datetime) -> Activity:
    """The activity after a message that was read at ``at``. Total."""
    if not isinstance(message, ToolMessage):
        # A call without an id has ended when the agent does anything else.
        left = tuple(tool for tool in activity.running if tool.call)
        return Activity(running=left) if message.kind == "text" else activity
    left = tuple(tool for tool in activity.running if tool.call and tool.call != message.call)
    if message.state is not ToolState.STARTED:
        return Activity(running=left)
    colon = ": " if message.summary else ""
    text = one_line(f"{message.name}{colon}{message.summary}", limit=SHOWN_CHARS)
    return Activity(running=(*left, RunningTool(call=message.call, text=text, since=at)))
