"""Listening to an agent: what it prints while it works, and what that comes to at its end.

An iteration may take two attempts, and an engine may take up what another one was listening to; the
reading is the same. This module must never know what is decided by it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.agent.decode.final import Final, Limit, reset_of
from ralph_ls.core.agent.decode.told import FileTold, Told
from ralph_ls.core.agent.reading import Reading, read_final
from ralph_ls.core.agent.usage import add_usage
from ralph_ls.core.loop.effects import LaunchAgent, ReadIteration
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.iteration_limits import SpendingWatch
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.engine.agent_choice import is_session_id
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.messages import MessageLog, decode_recorded
from ralph_ls.engine.sources.source import Watched
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.agent_config import Dialect
from ralph_ls.protocol.report import Promise, PromiseKind, SessionSeen, Usage
from ralph_ls.protocol.run_words import Mode
from ralph_ls.protocol.state import RunState

READ_LIMIT = 16 << 20
"""Bytes from the end of an agent's standard error that are read for error lines."""

KEPT_PATHS = 10_000
"""Files of which the agent says that it wrote them; more say nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the agents of an iteration said, all in all."""

    reading: Reading
    """Of the last one."""
    usage: Usage | None
    """Of all of them."""
    session: SessionSeen | None
    limit: Limit | None
    """With the time at which it is lifted, where that is known."""
    touched: tuple[str, ...]
    """Files that it says it wrote, relative to where it works."""


class Hearing:
    """What is heard of the agents of one run."""

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._messages = MessageLog(workspace.files.messages)
        self.dialect = workspace.agent.dialect
        """How the agent that was begun last writes what it prints."""
        self._used: Usage | None = None
        """What the attempt that was read last used up."""
        self._spent: Usage | None = None
        """What the earlier attempts of the open iteration used up."""
        self._session: SessionSeen | None = None
        """The session of the attempt that was read last."""
        self._heard: tuple[int, int] | None = None
        """Iteration and attempt of the agent that this engine listened to last."""
        self._touched: dict[str, None] = {}
        self._spending = SpendingWatch(workspace.config, None)

    @property
    def has_overspent(self) -> bool:
        """Whether the agent has passed a limit of the iteration, and its turn has ended."""
        return self._spending.is_over

    @property
    def problem(self) -> str | None:
        """The first failure to write down what was said, in words."""
        return self._messages.problem

    def begin(self, effect: LaunchAgent) -> None:
        """What follows is said by a new process."""
        if effect.attempt == 1:
            self._spent = None
            self._touched.clear()
        else:
            self._spent = add_usage(self._spent, self._used)
        self._spending = SpendingWatch(self._workspace.config, self._spent)
        self.dialect = self._workspace.agent_for(effect.agent).dialect
        self._messages.begin(
            effect.iteration,
            self.dialect,
            folder=str(self._workspace.root),
            earlier_cost_usd=self._earlier_cost(effect),
        )
        self._heard = (effect.iteration, effect.attempt)

    def take(self, data: bytes) -> list[Told]:
        """Take what it prints; the messages that are complete now."""
        messages = self._messages.write(data)
        self._spending.hear(messages)
        for message in messages:
            if isinstance(message, FileTold) and len(self._touched) < KEPT_PATHS:
                self._touched[message.path] = None
        return messages

    def flush(self) -> list[Told]:
        """The messages that a last line without an end holds."""
        return self._messages.flush()

    def close(self) -> None:
        self._messages.close()

    def read(self, effect: ReadIteration, run: RunState) -> Heard:
        """What was said in the iteration; it blocks while a large output is read."""
        final, errors = Final(), ""
        if not effect.lost:
            final = self._final_of(effect, run)
            files = self._workspace.files
            errors = _read_tail(files.output(effect.iteration, effect.attempt, "err"))
        config = self._workspace.config
        reading = read_final(
            final,
            errors,
            preferred=profile_of(config.profile).own_block,
            complete_word=config.promise.complete,
        )
        self._used = reading.usage
        self._session = _session_of(final)
        limit = reading.limit
        if limit is not None:
            limit = Limit(resets_at=reset_of(limit, self._clock.local()))
        return Heard(
            reading=reading,
            usage=add_usage(self._spent, reading.usage),
            session=self._session,
            limit=limit,
            touched=tuple(self._touched),
        )

    def _final_of(self, effect: ReadIteration, run: RunState) -> Final:
        """What the agent came to; where a killed engine listened to it, as that one recorded."""
        if self._heard == (effect.iteration, effect.attempt):
            return self._messages.final()
        self._touched.clear()
        agent = None if run.current is None else run.current.agent
        dialect = (None if agent is None else agent.dialect) or Dialect.TEXT
        known = run.session
        is_resumed = known is not None and agent is not None and known.id in agent.argv
        cost = known.cost_usd if known is not None and is_resumed else None
        finals: list[Final] = []
        for attempt in range(1, effect.attempt + 1):
            path = self._workspace.files.output(effect.iteration, attempt, "out")
            final = decode_recorded(path, dialect, effect.iteration, earlier_cost_usd=cost or 0.0)
            cost = final.session_cost_usd if is_resumed and final.session_cost_usd else cost
            finals.append(final)
        self._spent = None
        for final in finals[:-1]:
            self._spent = add_usage(self._spent, final.usage)
        return finals[-1]

    def _earlier_cost(self, effect: LaunchAgent) -> float:
        """What the session had cost before this process, with an attempt before it."""
        if effect.session is None:
            return 0.0
        last = self._session if effect.attempt > 1 else None
        if last is not None and last.id == effect.session and last.cost_usd is not None:
            return last.cost_usd
        return effect.session_cost_usd


def _session_of(final: Final) -> SessionSeen | None:
    """The session that may be gone on in; an id of an odd shape is none."""
    if final.session_id is None or not is_session_id(final.session_id):
        return None
    return SessionSeen(id=final.session_id, cost_usd=final.session_cost_usd)


def _read_tail(path: Path) -> str:
    """The end of a file as text, never beginning inside a character."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - READ_LIMIT))
            data = file.read()
    except OSError:
        return ""
    return data.decode("utf-8", errors="replace")


def tell_denials(heard: Heard) -> tuple[Notice, ...]:
    """Tell what the agent was not allowed to do: it works around it, or fails without a word."""
    if not heard.reading.denied_tools:
        return ()
    names = ", ".join(dict.fromkeys(heard.reading.denied_tools))
    message = (
        f"the agent was not permitted to use: {names}; "
        "permit it with tools.allow in .ralph/config.toml, or in the agent's own settings"
    )
    return (Notice(code="permission-denied", message=message),)


def watched(run: RunState, promises: tuple[Promise, ...]) -> Watched:
    """The open iteration as the guard has to know it."""
    halts = any(one.kind is not PromiseKind.COMPLETE for one in promises)
    if run.current is None:
        return Watched(mode=Mode.BUILD, halts=halts)
    started = run.current.started
    return Watched(mode=started.mode, task=started.task, halts=halts)
