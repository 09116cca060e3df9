"""Listening to an agent: what it prints while it works, and what that comes to at its end.

An iteration may take two attempts, and an engine may take up what another one was listening to; the
reading is the same. This module must never know what is decided by it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import JsonValue

from ralph_ls.core.agent.context import ContextMonitor, context_window_of
from ralph_ls.core.agent.failures import (
    Failure,
    process_failure,
    remedy_of,
    with_failure_in_plain_text,
)
from ralph_ls.core.agent.output_parser import ParsedOutput, parse_result
from ralph_ls.core.agent.result import AccountLimit, AgentResult, reset_time
from ralph_ls.core.agent.tools import call_key
from ralph_ls.core.agent.usage import add_usage, price_for, with_estimated_cost
from ralph_ls.core.loop.effects import LaunchAgent, ReadIteration
from ralph_ls.core.loop.inputs import AnnouncementDone, Notice
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.loop.rules.agent_claims import HALTING, main_calls, with_claims
from ralph_ls.core.loop.rules.budget import SpendingWatch
from ralph_ls.engine.agent.description import mapping_of, with_usage_file
from ralph_ls.engine.agent.selection import is_session_id
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.iteration.agent_logs import MessageLog, decode_recorded
from ralph_ls.engine.plan.source import WatchedIteration
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.agent import JsonLinesConfig
from ralph_ls.protocol.config.agent_catalog import Adapter, Dialect
from ralph_ls.protocol.config.config import GateRule
from ralph_ls.protocol.run.events import AgentExited
from ralph_ls.protocol.run.messages import AgentMessage, FileMessage
from ralph_ls.protocol.run.report import Promise, PromiseKind, SessionSeen, Usage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode
from ralph_ls.store.files import open_regular

READ_LIMIT = 16 << 20
"""Bytes from the end of an agent's standard error that are read for error lines."""

KEPT_PATHS = 10_000
"""Files of which the agent says that it wrote them; more say nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutput:
    """What the agents of an iteration said, all in all."""

    reading: ParsedOutput
    """Of the last one."""
    usage: Usage | None
    """Of all of them."""
    session: SessionSeen | None
    limit: AccountLimit | None
    """With the time at which it is lifted, where that is known."""
    touched: tuple[str, ...]
    """Files that it says it wrote, relative to where it works."""
    halted: bool = False
    """The last one asked or was blocked by tool."""
    failure: Failure | None = None
    """How the last one failed; None where it did not."""
    remedy: str = ""
    """What the user can do about that, in words."""


class AgentOutputReader:
    """Reader of the output of the agents of one run."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        emit: Callable[[AnnouncementDone], None] | None = None,
    ) -> None:
        """``emit`` takes warnings and usage while the agent works."""
        self._emit = emit
        self._workspace = workspace
        self._clock = clock
        self._messages = MessageLog(workspace.files.messages, clock.monotonic)
        self.dialect = workspace.agent.dialect
        """How the agent that was begun last writes what it prints."""
        self._used: Usage | None = None
        """What the attempt that was read last used up."""
        self._spent: Usage | None = None
        """What the earlier attempts of the open iteration used up."""
        self._denied: tuple[str, ...] = ()
        """The tools that were denied to the attempt that was read last."""
        self._denied_before: tuple[str, ...] = ()
        """Those that were denied to the earlier attempts of the open iteration."""
        self._session: SessionSeen | None = None
        """The session of the attempt that was read last."""
        self._heard: tuple[int, int] | None = None
        """Iteration and attempt of the agent that this engine listened to last."""
        self._touched: dict[str, None] = {}
        self._spending = SpendingWatch(workspace.config, None)
        self._context = ContextMonitor()
        self._window: int | None = None
        """Of the model, as an agent of this run has reported it."""
        self._model: str | None = None
        """The model that the agent was given which was begun last."""
        self._before: Usage | None = None
        """The earlier usage of the session that the newest agent continues."""
        self._mapping: JsonLinesConfig | None = None
        """What the records of that agent mean."""

    @property
    def has_overspent(self) -> bool:
        """Whether the agent has passed a limit of the iteration, and its turn has ended."""
        return self._spending.is_over

    @property
    def problem(self) -> str | None:
        """The first failure to write down what was said, in words."""
        return self._messages.problem

    @property
    def n_bytes(self) -> int:
        """How much the agent has printed on standard output."""
        return self._messages.n_bytes

    def is_sub_agent_call(self, tool: str, arguments: Mapping[str, JsonValue]) -> bool:
        """Whether the stream has shown by now that a sub-agent makes this call of our tools."""
        return call_key(tool, arguments) in self._messages.final().sub_agent_calls

    def begin(self, effect: LaunchAgent, *, prompt_characters: int = 0) -> None:
        """What follows is output of a new process, whose prompt has so many characters."""
        if effect.attempt == 1:
            self._spent, self._denied_before = None, ()
            self._touched.clear()
        else:
            self._spent = add_usage(self._spent, self._used)
            self._denied_before += self._denied
        agent, config = self._workspace.agent_for(effect.agent), self._workspace.config
        self._model = effect.model or agent.model
        price = price_for(config.prices, self._model)
        self._spending = SpendingWatch(config, self._spent, price=price, run_spent=effect.run_usage)
        window = config.context_window or self._window or context_window_of(self._model)
        self._context = ContextMonitor(window=window, prompt_characters=prompt_characters)
        self.dialect = agent.dialect
        self._before = self._earlier_usage(effect)
        self._mapping = mapping_of(config, agent.name)
        self._messages.begin(
            effect.start,
            self.dialect,
            folder=str(self._workspace.root),
            earlier_cost_usd=self._earlier_cost(effect),
            earlier_usage=self._before,
            mapping=self._mapping,
        )
        self._heard = (effect.start, effect.attempt)

    def take(self, data: bytes) -> list[AgentMessage]:
        """Take what it prints; the messages that are complete now."""
        messages = self._messages.write(data)
        self._spending.take(messages)
        self._emit_context(data, messages)
        for message in messages:
            if isinstance(message, FileMessage) and len(self._touched) < KEPT_PATHS:
                self._touched[message.path] = None
        return messages

    def _emit_context(self, data: bytes, messages: list[AgentMessage]) -> None:
        """Report how full the agent's context window is, while it works."""
        start = None if self._heard is None else self._heard[0]
        for notice in self._context.take(data, messages):
            if self._emit is not None:
                told = AnnouncementDone(code=notice.code, message=notice.message, start=start)
                self._emit(told)

    def end(self) -> list[AgentMessage]:
        """The last messages of a process that has ended, with those of its usage file."""
        told = self._messages.flush()
        if self._heard is None:
            return told
        final = self._messages.final()
        usage = self._with_file(final).usage
        if usage is not None and usage != final.usage:
            told = [*told, *self._messages.emit_usage(usage)]
        return told

    def flush(self) -> list[AgentMessage]:
        """The messages that a last line without an end holds."""
        return self._messages.flush()

    def close(self) -> None:
        self._messages.close()

    def read(self, effect: ReadIteration, run: RunState) -> AgentOutput:
        """What was said in the iteration; it blocks while a large output is read."""
        final, errors = AgentResult(), ""
        exit_event = None if run.current is None else run.current.exit
        if not effect.lost:
            files = self._workspace.files
            errors = _read_tail(files.output(effect.start, effect.attempt, "err"))
            final = self._final_of(effect, run)
            is_silent = not final.text and final.session_id is None
            if is_silent or _dialect_of(run) is Dialect.TEXT:
                final = with_failure_in_plain_text(
                    final, errors, has_failed=_has_failed(exit_event)
                )
        config = self._workspace.config
        reading = parse_result(
            final,
            errors,
            preferred=profile_of(config.profile).own_block,
            complete_word=config.promise.complete,
        )
        calls = () if run.current is None else main_calls(run.current, final.sub_agent_calls)
        reading = with_claims(
            reading,
            calls,
            kind=profile_of(config.profile).own_block,
            complete_word=config.promise.complete,
            is_plain=_dialect_of(run) is Dialect.TEXT,
            promises_complete=config.gate.rule is GateRule.VERIFIED,
        )
        model = reading.model or self._model_of(run)
        used = with_estimated_cost(reading.usage, price_for(config.prices, model))
        self._used = used
        self._denied = reading.denied_tools or ()
        if self._denied_before:
            reading = replace(reading, denied_tools=(*self._denied_before, *self._denied))
        self._session = _session_of(final)
        if used is not None:
            self._window = used.context_window or self._window
        limit = reading.limit
        if limit is not None:
            limit = AccountLimit(resets_at=limit_reset_at(limit, self._clock))
        has_result = reading.report is not None or bool(reading.promises)
        failure = process_failure(final, exit_event, errors, has_result=has_result)
        return AgentOutput(
            reading=reading,
            failure=failure,
            remedy="" if failure is None else self._remedy_of(failure, run),
            usage=add_usage(self._spent, used),
            session=self._session,
            limit=limit,
            touched=tuple(self._touched),
            halted=any(one.tool in HALTING for one in calls),
        )

    def _final_of(self, effect: ReadIteration, run: RunState) -> AgentResult:
        """What the agent came to; where a killed engine listened to it, as that one recorded."""
        if self._heard == (effect.start, effect.attempt):
            return self._with_file(self._messages.final())
        self._touched.clear()
        finals = self._recorded_finals(effect, run)
        self._spent, self._denied_before = None, ()
        for final in finals[:-1]:
            self._denied_before += final.denied_tools or ()
            price = price_for(self._workspace.config.prices, final.model or self._model_of(run))
            self._spent = add_usage(self._spent, with_estimated_cost(final.usage, price))
        return finals[-1]

    def _recorded_finals(self, effect: ReadIteration, run: RunState) -> list[AgentResult]:
        """What each attempt of the start came to, from the recorded output."""
        agent = None if run.current is None else run.current.agent
        dialect = _dialect_of(run)
        mapping = None if agent is None else mapping_of(self._workspace.config, agent.agent)
        files = self._workspace.files
        known = run.session
        argv = () if agent is None else agent.argv
        # Some take the id and its flag as one argument.
        is_resumed = known is not None and any(known.id in part.split("=") for part in argv)
        cost = known.cost_usd if known is not None and is_resumed else None
        before = known.usage if known is not None and is_resumed else None
        finals: list[AgentResult] = []
        for attempt in range(1, effect.attempt + 1):
            final = decode_recorded(
                files.output(effect.start, attempt, "out"),
                dialect,
                effect.start,
                earlier_cost_usd=cost or 0.0,
                earlier_usage=before,
                mapping=mapping,
            )
            usage = files.usage(effect.start, attempt)
            final = with_usage_file(final, usage, dialect, mapping, before)
            before = (final.session_usage or before) if is_resumed else None
            cost = final.session_cost_usd if is_resumed and final.session_cost_usd else cost
            finals.append(final)
        return finals

    def _with_file(self, final: AgentResult) -> AgentResult:
        """The result of the agent that this engine started, with that of its usage file."""
        if self._heard is None:
            return final
        path = self._workspace.files.usage(*self._heard)
        return with_usage_file(final, path, self.dialect, self._mapping, self._before)

    def _model_of(self, run: RunState) -> str | None:
        """The model that the open iteration's agent was given, where it has reported none."""
        agent = None if run.current is None else run.current.agent
        return self._model if agent is None or agent.model is None else agent.model

    def _remedy_of(self, failure: Failure, run: RunState) -> str:
        started = None if run.current is None else run.current.agent
        name = self._workspace.config.agent if started is None else started.agent
        agent = self._workspace.agents.get(name, self._workspace.agent)
        key = f"agents.{Adapter.COMMAND}"
        is_flag = name == Adapter.COMMAND and not any(
            claim.key == key for claim in self._workspace.claims
        )
        return remedy_of(failure.kind, agent=name, login=agent.login, is_flag=is_flag)

    def _earlier_cost(self, effect: LaunchAgent) -> float:
        """What the session had cost before this process, with an attempt before it."""
        if effect.session is None:
            return 0.0
        last = self._session if effect.attempt > 1 else None
        if last is not None and last.id == effect.session and last.cost_usd is not None:
            return last.cost_usd
        return effect.session_cost_usd

    def _earlier_usage(self, effect: LaunchAgent) -> Usage | None:
        """What the session had used before this process, with an attempt before it."""
        if effect.session is None:
            return None
        last = self._session if effect.attempt > 1 else None
        if last is not None and last.id == effect.session and last.usage is not None:
            return last.usage
        return effect.session_usage


def _dialect_of(run: RunState) -> Dialect:
    """How the open iteration's agent writes what it prints."""
    agent = None if run.current is None else run.current.agent
    return (None if agent is None else agent.dialect) or Dialect.TEXT


def _has_failed(exit_event: AgentExited | None) -> bool:
    """Whether an agent ended by itself, and with a failure."""
    if exit_event is None or exit_event.stopped or exit_event.overspent:
        return False
    return exit_event.exit_code != 0 and not exit_event.timed_out and not exit_event.idle


def limit_reset_at(limit: AccountLimit, clock: Clock) -> datetime | None:
    """When a limit that was reported now is lifted; None in a time zone that nobody knows."""
    wall = limit.resets_locally
    if wall is None or not wall.zone:
        return reset_time(limit, clock.local())
    try:
        zone = ZoneInfo(wall.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
    return reset_time(limit, clock.now().astimezone(zone))


def _session_of(final: AgentResult) -> SessionSeen | None:
    """The session that may be continued; an id of an odd shape is none."""
    if final.session_id is None or not is_session_id(final.session_id):
        return None
    return SessionSeen(
        id=final.session_id, cost_usd=final.session_cost_usd, usage=final.session_usage
    )


def _read_tail(path: Path) -> str:
    """The end of a file as text, never beginning inside a character."""
    try:
        with open_regular(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - READ_LIMIT))
            data = file.read()
    except OSError:
        return ""
    return data.decode("utf-8", errors="replace")


def emit_denials(heard: AgentOutput) -> tuple[Notice, ...]:
    """Report what the agent was not allowed to do: it works around it, or fails silently."""
    if not heard.reading.denied_tools:
        return ()
    names = ", ".join(dict.fromkeys(heard.reading.denied_tools))
    message = (
        f"the agent was denied: {names}; allow it with tools.allow in .ralph/config.toml, or in "
        "the agent's own settings"
    )
    return (Notice(code="permission-denied", message=message),)


def watched_iteration(run: RunState, promises: tuple[Promise, ...], today: str) -> WatchedIteration:
    """The open iteration as the guard has to know it."""
    halts = any(one.kind is not PromiseKind.COMPLETE for one in promises)
    completes = any(one.kind is PromiseKind.COMPLETE for one in promises)
    started = None if run.current is None else run.current.started
    return WatchedIteration(
        mode=Mode.BUILD if started is None else started.mode,
        task=None if started is None else started.task,
        halts=halts,
        completes=completes,
        today=today,
    )
