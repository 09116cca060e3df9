"""Cutting a stream of bytes into lines, whatever pieces it comes in, in bounded memory."""

from __future__ import annotations

LONGEST_LINE = 16 << 20
"""Bytes of a line that is held; of a longer one nothing is kept but that it was there."""


class LineSplitter:
    """Gives each line once it is whole, with its place in the stream."""

    __slots__ = ("_held", "_limit", "_n_held", "_offset")

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._held: list[bytes] = []
        self._n_held = 0
        self._offset = 0

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The lines that are whole now: offset and bytes, without their newlines."""
        first, newline, rest = data.partition(b"\n")
        self._hold(first)
        if not newline:
            return []
        lines = self._take(n_ends=1)
        *whole, last = rest.split(b"\n")
        for line in whole:
            lines.append((self._offset, line))
            self._offset += len(line) + 1
        self._hold(last)
        return lines

    def finish(self) -> list[tuple[int, bytes]]:
        """The last line, where the stream ended without a newline."""
        return self._take(n_ends=0) if self._n_held else []

    def _hold(self, data: bytes) -> None:
        self._n_held += len(data)
        if self._n_held > self._limit:
            self._held.clear()
        elif data:
            self._held.append(data)

    def _take(self, *, n_ends: int) -> list[tuple[int, bytes]]:
        is_whole = self._n_held <= self._limit
        line, offset = b"".join(self._held), self._offset
        self._offset += self._n_held + n_ends
        self._held.clear()
        self._n_held = 0
        return [(offset, line)] if is_whole else []
