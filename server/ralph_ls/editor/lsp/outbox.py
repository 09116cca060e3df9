"""Outbox: the queue of frames to a client, in order, and what is dropped when the client is slow.

A pure value: no thread, no clock, no file. Answers, events and diagnostics always wait their turn.
The agent's output is dropped first: adjacent pieces become one frame, and above a bound the oldest
are dropped and counted, since the whole of it is in the iteration's log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ralph_ls.editor.lsp.codec import write_messages, write_notification

if TYPE_CHECKING:
    from ralph_ls.protocol.lsp.methods import OutputParams

FRAME_LIMIT = 64 * 1024
"""Characters of output, or bytes of messages, in one frame (docs/rules.md#speed)."""
OUTPUT_LIMIT = 4 * 1024 * 1024
"""Characters and bytes of them that may wait."""


@dataclass(frozen=True, slots=True)
class _StreamSource:
    """One stream of one agent."""

    workspace: str
    run: str
    start: int
    stream: str


@dataclass(frozen=True, slots=True)
class _MessageSource:
    """The messages of one run."""

    workspace: str
    run: str


OutputSource = _StreamSource | _MessageSource


@dataclass(slots=True)
class _PendingFrame:
    """What waits of one source as one frame."""

    source: OutputSource
    pieces: list[str] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    length: int = 0
    n_units: int = 0
    """Characters of output, or messages: what is counted when it is left out."""
    skipped: int = 0


class Outbox:
    """A queue of framed messages and of what is framed only when it leaves."""

    def __init__(self, *, frame_limit: int = FRAME_LIMIT, output_limit: int = OUTPUT_LIMIT) -> None:
        self._frame_limit = frame_limit
        self._output_limit = output_limit
        self._waiting: deque[bytes | _PendingFrame] = deque()
        self._piles: deque[_PendingFrame] = deque()
        self._n_bytes = 0
        self._n_piled = 0
        self._skipped: dict[OutputSource, int] = {}

    def __len__(self) -> int:
        """Bytes of messages, and characters of output, that wait."""
        return self._n_bytes + self._n_piled

    def __bool__(self) -> bool:
        return bool(self._waiting) or bool(self._skipped)

    def put(self, message: bytes) -> None:
        """Add a framed message, which will not be left out."""
        self._waiting.append(message)
        self._n_bytes += len(message)

    def put_output(self, params: OutputParams) -> None:
        """Add output; the oldest that waits makes room for it."""
        source = _StreamSource(params.workspace, params.run, params.start, params.stream)
        pile = self._pile_of(source, len(params.text), params.skipped)
        pile.pieces.append(params.text)
        self._count(pile, len(params.text), len(params.text))

    def put_messages(self, workspace: str, run: str, messages: Sequence[bytes]) -> None:
        """Add messages of an agent, each as its JSON; the oldest that wait make room for them."""
        length = sum(len(message) for message in messages)
        pile = self._pile_of(_MessageSource(workspace, run), length, 0)
        pile.messages.extend(messages)
        self._count(pile, length, len(messages))

    def take(self, limit: int) -> bytes:
        """What to write next: whole frames, about ``limit`` bytes of them; empty if none waits."""
        frames: list[bytes] = []
        length = 0
        while self._waiting and length < limit:
            frames.append(self._take_first())
            length += len(frames[-1])
        if not self._piles and self._skipped:
            # Nothing is left that could report what was dropped before it.
            frames.extend(self._to_frame(_PendingFrame(source)) for source in list(self._skipped))
        return b"".join(frames)

    def _pile_of(self, source: OutputSource, length: int, skipped: int) -> _PendingFrame:
        """The last one, where what comes may be added to it, or a new one behind it."""
        last = self._waiting[-1] if self._waiting else None
        if (
            isinstance(last, _PendingFrame)
            and last.source == source
            and last.length + length <= self._frame_limit
            and not skipped
        ):
            return last
        pile = _PendingFrame(source, skipped=skipped)
        self._waiting.append(pile)
        self._piles.append(pile)
        return pile

    def _count(self, pile: _PendingFrame, length: int, n_units: int) -> None:
        pile.length += length
        pile.n_units += n_units
        self._n_piled += length
        while self._n_piled > self._output_limit and len(self._piles) > 1:
            self._leave_out(self._piles.popleft())

    def _take_first(self) -> bytes:
        first = self._waiting.popleft()
        if isinstance(first, bytes):
            self._n_bytes -= len(first)
            return first
        if not first.pieces and not first.messages:
            return b""
        self._piles.popleft()
        self._n_piled -= first.length
        return self._to_frame(first)

    def _leave_out(self, pile: _PendingFrame) -> None:
        """Empty it in its place; the next frame of its source says how much is missing."""
        self._n_piled -= pile.length
        before = self._skipped.get(pile.source, 0)
        self._skipped[pile.source] = before + pile.skipped + pile.n_units
        pile.pieces.clear()
        pile.messages.clear()

    def _to_frame(self, pile: _PendingFrame) -> bytes:
        from ralph_ls.protocol.lsp.methods import OUTPUT, OutputParams

        skipped = self._skipped.pop(pile.source, 0) + pile.skipped
        source = pile.source
        if isinstance(source, _MessageSource):
            return write_messages(source.workspace, source.run, pile.messages, skipped)
        params = OutputParams(
            workspace=source.workspace,
            run=source.run,
            start=source.start,
            stream="out" if source.stream == "out" else "err",
            text="".join(pile.pieces),
            skipped=skipped,
        )
        return write_notification(OUTPUT, params)
