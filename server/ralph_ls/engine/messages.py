"""``messages.jsonl``: what the agent says, decoded, for live views; never folded (SPEC §2).

The same decoder has the final word for the loop, so an agent's end leaves nothing to be read.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.decode.plain import PlainDecoder
from ralph_ls.core.agent.messages import AgentMessage, EmittedUsage, UsageCounts, to_json_lines
from ralph_ls.core.agent.result import AgentResult, Decoder
from ralph_ls.protocol.config.agent import Dialect, JsonLinesConfig
from ralph_ls.protocol.run.report import Usage
from ralph_ls.store.files import PRIVATE_FILE, IrregularFile, open_regular, write_all

CHUNK = 1 << 20


def decode_recorded(
    path: Path,
    dialect: Dialect,
    start: int,
    *,
    earlier_cost_usd: float = 0.0,
    earlier_usage: Usage | None = None,
    mapping: JsonLinesConfig | None = None,
) -> AgentResult:
    """What a process came to whose output lies in ``path``; nothing where there is no file."""
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

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._decoder: Decoder = PlainDecoder(1)
        self._start = 1
        self._n_bytes = 0
        self.problem: str | None = None
        """The first failure to write, in words."""

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
        """What follows belongs to a new process, in this iteration, which works in ``folder``.

        ``earlier_cost_usd`` and ``earlier_usage`` are what a session that it goes on in had cost
        and used before, ``mapping`` says what JSON lines mean.
        """
        self.flush()
        self._start, self._n_bytes = start, 0
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

    def tell_usage(self, usage: Usage) -> list[AgentMessage]:
        """Write what the process used, which its output does not tell."""
        counts = UsageCounts(**usage.model_dump())
        told = EmittedUsage(start=self._start, offset=self._n_bytes, usage=counts)
        return self._write([told])

    def final(self) -> AgentResult:
        """What the process came to; call it once it has ended and ``flush`` was called."""
        return self._decoder.final()

    def close(self) -> None:
        self.flush()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, messages: list[AgentMessage]) -> list[AgentMessage]:
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
