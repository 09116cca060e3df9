"""``messages.jsonl``: what the agent says, decoded, for live views; never folded.

See docs/rules.md#journal.

The same decoder has the final word for the loop, so an agent's end leaves nothing to be read.

Which log for people a run writes, and what of the agent goes into it (docs/rules.md#logs).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from ralph_ls.core.agent.decode.common.line_decoder import to_json_lines
from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.decode.plain import PlainDecoder
from ralph_ls.core.agent.result import AgentResult, Decoder
from ralph_ls.core.views.text.agent_output import message_line
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.agent import JsonLinesConfig
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.events import AgentExited, EventBase
from ralph_ls.protocol.run.messages import (
    AgentMessage,
    ToolMessage,
    ToolState,
    UsageCounts,
    UsageMessage,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.files import PRIVATE_FILE, IrregularFile, open_regular, write_all
from ralph_ls.store.run.logs import STDERR, JsonlLog, TextLog
from ralph_ls.store.run.summary_file import SummaryFile

CHUNK = 1 << 20

MOST_CALLS = 1000
"""Tool calls whose beginnings are remembered: an agent that ends none must not fill the memory."""


def decode_recorded(
    path: Path,
    dialect: Dialect,
    start: int,
    *,
    earlier_cost_usd: float = 0.0,
    earlier_usage: Usage | None = None,
    mapping: JsonLinesConfig | None = None,
) -> AgentResult:
    """Decode the output of a process in ``path``; an empty result where there is no file."""
    decoder = decoder_for(
        dialect,
        start,
        earlier_cost_usd=earlier_cost_usd,
        earlier_usage=earlier_usage,
        mapping=mapping,
    )
    with contextlib.suppress(FileNotFoundError, IrregularFile), open_regular(path) as recorded:
        while data := recorded.read(CHUNK):
            decoder.feed(data)
    decoder.finish()
    return decoder.final()


class MessageLog:
    """Decodes the standard output of one agent process after the other, and writes it down."""

    def __init__(self, path: Path, monotonic: Callable[[], float]) -> None:
        """``monotonic`` is the clock by which tool calls are timed."""
        self._path = path
        self._monotonic = monotonic
        self._calls: dict[str, float] = {}
        """When each tool call that has not ended began."""
        self._descriptor: int | None = None
        self._decoder: Decoder = PlainDecoder(1)
        self._start = 1
        self._n_bytes = 0
        self.problem: str | None = None
        """The first failure to write, in words."""

    @property
    def n_bytes(self) -> int:
        """Bytes of the process's standard output so far."""
        return self._n_bytes

    def begin(
        self,
        start: int,
        dialect: Dialect = Dialect.TEXT,
        *,
        folder: str = "",
        earlier_cost_usd: float = 0.0,
        earlier_usage: Usage | None = None,
        mapping: JsonLinesConfig | None = None,
    ) -> None:
        """What follows belongs to a new process of this iteration, which works in ``folder``.

        ``earlier_cost_usd`` and ``earlier_usage`` are those of the session that it continues, as of
        its last process; ``mapping`` says what JSON lines mean.
        """
        self.flush()
        self._start, self._n_bytes = start, 0
        self._calls.clear()
        self._decoder = decoder_for(
            dialect,
            start,
            folder=folder,
            earlier_cost_usd=earlier_cost_usd,
            earlier_usage=earlier_usage,
            mapping=mapping,
        )

    def write(self, data: bytes) -> list[AgentMessage]:
        """Take bytes of standard output as they come; what they complete is written at once."""
        self._n_bytes += len(data)
        return self._write(self._decoder.feed(data))

    def flush(self) -> list[AgentMessage]:
        """Write what a last line holds that has no end."""
        return self._write(self._decoder.finish())

    def emit_usage(self, usage: Usage) -> list[AgentMessage]:
        """Write the process's usage where its output does not have it."""
        counts = UsageCounts(**usage.model_dump())
        told = UsageMessage(start=self._start, offset=self._n_bytes, usage=counts)
        return self._write([told])

    def final(self) -> AgentResult:
        """What the process came to; call it once it has ended and ``flush`` was called."""
        return self._decoder.final()

    def close(self) -> None:
        self.flush()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _timed(self, message: AgentMessage) -> AgentMessage:
        """The message; of the end of a tool call with how long it took."""
        if not isinstance(message, ToolMessage) or not message.call:
            return message
        if message.state is ToolState.STARTED:
            if len(self._calls) < MOST_CALLS:
                self._calls.setdefault(message.call, self._monotonic())
            return message
        began = self._calls.pop(message.call, None)
        if began is None:
            return message
        return msgspec.structs.replace(message, seconds=round(self._monotonic() - began, 3))

    def _write(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        messages = [self._timed(message) for message in messages]
        if messages:
            try:
                self._append(messages)
            except OSError as error:
                if self.problem is None:
                    self.problem = f"{self._path}: {error.strerror or error}"
        return messages

    def _append(self, messages: list[AgentMessage]) -> None:
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._descriptor = os.open(self._path, flags, PRIVATE_FILE)
        write_all(self._descriptor, to_json_lines(messages))


Log = TextLog | JsonlLog


def make_log(workspace: Workspace, clock: Clock) -> Log:
    """The log of the settings' form; a run's own can be left out, all but its summary."""
    config, outside = workspace.config, workspace.log_folder_outside
    mode_word = workspace.source.mode_word
    if outside is None:
        return TextLog(
            workspace.root,
            config.paths.logs,
            form=config.logs.form,
            started=clock.local(),
            mode_word=mode_word,
        )
    folder = workspace.files.folder
    return JsonlLog(
        outside if config.logs.agent else None,
        summary=SummaryFile(folder, folder, mode=PRIVATE_FILE, mode_word=mode_word),
        started=clock.local(),
        now=clock.now,
    )


def log_output(log: Log, stream: str, data: bytes, dialect: Dialect) -> None:
    """Log what the agent prints: all of it in a run's log, only the words of records in others."""
    if isinstance(log, JsonlLog) or stream == STDERR or dialect is Dialect.TEXT:
        log.write_output(stream, data)


def log_messages(log: Log, messages: list[AgentMessage], dialect: Dialect) -> None:
    """Log the words of an agent that prints records, in a log for people."""
    if dialect is Dialect.TEXT or isinstance(log, JsonlLog):
        return
    lines = [f"{line}\n" for message in messages if (line := message_line(message))]
    if lines:
        log.write("".join(lines).encode("utf-8", errors="replace"))


def log_events(log: Log, events: Iterable[EventBase], run: RunState, clock: Clock) -> None:
    """Log what the loop reports, in the words of a terminal; ``run`` is the run before it."""
    zone = clock.local().tzinfo
    for event in events:
        if line := event_line(event, zone=zone, before=run):
            log.note(event, line, event.at.astimezone(zone))


def exit_code_of(exited: AgentExited | None) -> int | None:
    """The exit code in the form of a shell; None where the end is not known."""
    if exited is None or exited.signal is None:
        return None if exited is None else exited.exit_code
    return 128 + exited.signal
