"""Cutting a stream of bytes into lines, whatever pieces it comes in, in bounded memory."""

from __future__ import annotations

from collections import deque

LONGEST_LINE = 16 << 20
"""Bytes of a line that is held; of a longer one nothing is kept but that it was there."""

SMALL_PIECE = 1 << 12
"""Bytes below which pieces are put together, for a piece costs memory of its own."""

LARGE_PIECE = 1 << 16
"""Bytes from which no more is put to one."""


class Pieces:
    """Bytes that are held as they came, until they are wanted whole."""

    __slots__ = ("_pieces", "n_bytes")

    def __init__(self) -> None:
        self._pieces: deque[bytes | bytearray] = deque()
        self.n_bytes = 0

    def add(self, data: bytes) -> None:
        """Hold more at the end; a byte at a time takes no more memory than all of them at once."""
        self.n_bytes += len(data)
        if len(data) >= SMALL_PIECE:
            self._pieces.append(data)
            return
        last = self._pieces[-1] if self._pieces else None
        if isinstance(last, bytearray) and len(last) < LARGE_PIECE:
            last += data
        elif data:
            self._pieces.append(bytearray(data))

    def keep_end(self, n_bytes: int) -> None:
        """Let go of pieces at the beginning, of which none of the last bytes is a part."""
        while self._pieces and self.n_bytes - len(self._pieces[0]) >= n_bytes:
            self.n_bytes -= len(self._pieces.popleft())

    def whole(self) -> bytes:
        """All that is held."""
        return b"".join(self._pieces)

    def take(self) -> bytes:
        """All that is held; nothing is any more."""
        found = self.whole()
        self.clear()
        return found

    def clear(self) -> None:
        self._pieces.clear()
        self.n_bytes = 0


class LineSplitter:
    """Gives each line once it is whole, with its place in the stream."""

    __slots__ = ("_held", "_limit", "_n_dropped", "_offset")

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._held = Pieces()
        self._n_dropped = 0
        """Bytes of the line that is too long."""
        self._offset = 0

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The lines that are whole now: offset and bytes, without their newlines."""
        cut = data.split(b"\n")
        last = cut.pop()
        if not cut:
            self._hold(last)
            return []
        self._hold(cut[0])
        lines = self._take(n_ends=1)
        offset = self._offset
        for line in cut[1:]:
            lines.append((offset, line))
            offset += len(line) + 1
        self._offset = offset
        self._hold(last)
        return lines

    def finish(self) -> list[tuple[int, bytes]]:
        """The last line, where the stream ended without a newline."""
        return self._take(n_ends=0) if self._held.n_bytes or self._n_dropped else []

    def _hold(self, data: bytes) -> None:
        if self._n_dropped or self._held.n_bytes + len(data) > self._limit:
            self._n_dropped += self._held.n_bytes + len(data)
            self._held.clear()
        elif data:
            self._held.add(data)

    def _take(self, *, n_ends: int) -> list[tuple[int, bytes]]:
        is_whole, offset = not self._n_dropped, self._offset
        self._offset += self._held.n_bytes + self._n_dropped + n_ends
        self._n_dropped = 0
        line = self._held.take()
        return [(offset, line)] if is_whole else []
