"""What waits to be written to a client, in order, and what gives way when the client is slow.

A pure value: no thread, no clock, no file. Answers, events and diagnostics always wait their turn.
The agent's output gives way: pieces that wait side by side become one frame, and above a bound the
oldest are left out and counted, since the whole of it lies in the iteration's log.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ralph_ls.editor.codec import write_notification

if TYPE_CHECKING:
    from ralph_ls.protocol.methods import OutputParams

FRAME_LIMIT = 64 * 1024
"""Characters of output in one frame (SPEC §13)."""
OUTPUT_LIMIT = 4 * 1024 * 1024
"""Characters of output that may wait."""

Source = tuple[str, str, int, str]


@dataclass(slots=True)
class _Output:
    """Output of one source that waits as one frame."""

    source: Source
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    skipped: int = 0


class Outbox:
    """A queue of framed messages and of output that is framed when it leaves."""

    def __init__(self, *, frame_limit: int = FRAME_LIMIT, output_limit: int = OUTPUT_LIMIT) -> None:
        self._frame_limit = frame_limit
        self._output_limit = output_limit
        self._waiting: deque[bytes | _Output] = deque()
        self._outputs: deque[_Output] = deque()
        self._n_bytes = 0
        self._n_characters = 0
        self._skipped: dict[Source, int] = {}

    def __len__(self) -> int:
        """Bytes of messages, and characters of output, that wait."""
        return self._n_bytes + self._n_characters

    def __bool__(self) -> bool:
        return bool(self._waiting) or bool(self._skipped)

    def put(self, message: bytes) -> None:
        """Add a framed message, which will not be left out."""
        self._waiting.append(message)
        self._n_bytes += len(message)

    def put_output(self, params: OutputParams) -> None:
        """Add output; the oldest that waits makes room for it."""
        source = (params.workspace, params.run, params.iteration, params.stream)
        last = self._waiting[-1] if self._waiting else None
        if (
            not isinstance(last, _Output)
            or last.source != source
            or last.length + len(params.text) > self._frame_limit
            or params.skipped
        ):
            last = _Output(source, skipped=params.skipped)
            self._waiting.append(last)
            self._outputs.append(last)
        last.pieces.append(params.text)
        last.length += len(params.text)
        self._n_characters += len(params.text)
        while self._n_characters > self._output_limit and len(self._outputs) > 1:
            self._leave_out(self._outputs.popleft())

    def take(self, limit: int) -> bytes:
        """What to write next: whole frames, about ``limit`` bytes of them; empty if none waits."""
        frames: list[bytes] = []
        length = 0
        while self._waiting and length < limit:
            frames.append(self._take_first())
            length += len(frames[-1])
        if not self._outputs and self._skipped:
            # No output is left that could tell of what was left out before it.
            frames.extend(self._to_frame(_Output(source)) for source in list(self._skipped))
        return b"".join(frames)

    def _take_first(self) -> bytes:
        first = self._waiting.popleft()
        if isinstance(first, bytes):
            self._n_bytes -= len(first)
            return first
        if not first.pieces:
            return b""
        self._outputs.popleft()
        self._n_characters -= first.length
        return self._to_frame(first)

    def _leave_out(self, output: _Output) -> None:
        """Empty it where it stands; the next frame of its source tells how much is missing."""
        self._n_characters -= output.length
        told = self._skipped.get(output.source, 0)
        self._skipped[output.source] = told + output.skipped + output.length
        output.pieces.clear()

    def _to_frame(self, output: _Output) -> bytes:
        from ralph_ls.protocol.methods import OUTPUT, OutputParams

        workspace, run, iteration, stream = output.source
        params = OutputParams(
            workspace=workspace,
            run=run,
            iteration=iteration,
            stream="out" if stream == "out" else "err",
            text="".join(output.pieces),
            skipped=self._skipped.pop(output.source, 0) + output.skipped,
        )
        return write_notification(OUTPUT, params)
