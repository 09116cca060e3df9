"""Cutting a stream of bytes into lines, whatever pieces it comes in, in bounded memory.

Reading one JSON record of a line: broken, cut and odd ones give None, and nothing raises.

It must never know what the records of any agent mean.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from io import BytesIO
from typing import TypeVar

import msgspec

LONGEST_LINE = 16 << 20
"""Bytes of a line that is held; of a longer one nothing is kept but that it was there."""

SMALL_PIECE = 1 << 12
"""Bytes below which pieces are put together, for a piece costs memory of its own."""

LARGE_PIECE = 1 << 16
"""Bytes from which no more is put to one."""


class ByteChunks:
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


Lines = tuple[int, list[bytes]]
"""Lines that follow each other, with their newlines, and where in the stream the first begins."""


class LineSplitter:
    """Gives each line once it is whole."""

    __slots__ = ("_held", "_limit", "_n_dropped", "_offset")

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._held = ByteChunks()
        self._n_dropped = 0
        """Bytes of the line that is too long."""
        self._offset = 0
        """Where the line begins that is not whole."""

    def feed(self, data: bytes) -> Lines:
        """The lines that are whole now."""
        if b"\n" not in data:
            self._hold(data)
            return self._offset, []
        # Unlike ``split``, which looks at each byte, this goes from newline to newline at the speed
        # of the memory.
        lines = BytesIO(data).readlines()
        last = b"" if lines[-1].endswith(b"\n") else lines.pop()
        self._hold(lines[0])
        n_bytes = len(data) - len(last) - len(lines[0])
        offset, whole = self._take()
        lines[:1] = whole
        self._offset += n_bytes
        self._hold(last)
        return offset, lines

    def finish(self) -> Lines:
        """The last line, where the stream ended without a newline."""
        return self._take() if self._held.n_bytes or self._n_dropped else (self._offset, [])

    def _hold(self, data: bytes) -> None:
        if self._n_dropped or self._held.n_bytes + len(data) > self._limit:
            self._n_dropped += self._held.n_bytes + len(data)
            self._held.clear()
        elif data:
            self._held.add(data)

    def _take(self) -> Lines:
        """What is held as a line, or nothing behind one that was dropped."""
        begins, is_whole = self._offset, not self._n_dropped
        self._offset += self._held.n_bytes + self._n_dropped
        self._n_dropped = 0
        line = self._held.take()
        return (begins, [line]) if is_whole else (self._offset, [])


NULL_JSON = msgspec.Raw(b"null")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainLine:
    """A line that is no record: a warning of the program, or of something around it."""

    text: str


def record_type(line: bytes) -> bytes | None:
    """The ``type`` of a record, empty where it has none; None for a line that is no record."""
    first = _TYPE_FIRST.match(line)
    if first is not None:
        return first[1]
    return object_type(line).encode() if line.lstrip().startswith(b"{") else None


def to_plain_line(line: bytes) -> PlainLine | None:
    """What a line says that is no record; None where it is blank."""
    text = line.decode("utf-8", errors="replace").strip()
    return PlainLine(text=text) if text else None


def object_type(data: bytes | msgspec.Raw) -> str:
    """The ``type`` of an object wherever it stands; empty where there is none."""
    found = decode(_KIND, data)
    return "" if found is None else found.type


def decode(decoder: msgspec.json.Decoder[Value], data: bytes | msgspec.Raw) -> Value | None:
    """Decode; None where the JSON is broken, or has another shape than ours.

    Bytes that are no UTF-8 and halves of surrogate pairs, which a program that cuts texts anywhere
    leaves, are replaced first; NUL bytes and their like may stand in texts as they are.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            repaired = json.loads(bytes(data).decode("utf-8", errors="replace"), strict=False)
            return decoder.decode(
                json.dumps(repaired, ensure_ascii=False).encode("utf-8", "replace")
            )
        except (ValueError, RecursionError, msgspec.DecodeError):
            return None


class _Kind(msgspec.Struct):
    type: str = ""


_KIND = msgspec.json.Decoder(_Kind)

_TYPE_FIRST = re.compile(rb'\{"type":"([\w.]+)"')
"""How a record begins as the programs write it, which then needs no reading to know its type."""
