"""Headline: a run in one line, its state first, what is being worked on last."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ralph_ls.core.loop.rules.agent_choice import worker_words
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.facts import running_time
from ralph_ls.core.views.text.summary import cost_words, format_duration, is_estimated
from ralph_ls.protocol.lsp.panel import Panel
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
