"""JSON lines: splits a byte stream into lines in bounded memory, and parses one record of a line.

Chunks may be cut anywhere. Broken, cut and unexpected records give None; nothing raises. Knows no
agent's records.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Generic, TypeVar

import msgspec

LONGEST_LINE = 16 << 20
"""Bytes of a line that is held; of a longer line only its existence is recorded."""

SMALL_PIECE = 1 << 12
"""Chunks below this size are joined, since each has a fixed cost in memory."""

LARGE_PIECE = 1 << 16
"""Nothing is joined to a chunk of this size."""


class ByteChunks:
    """A buffer of byte chunks that are joined when they are read."""

    __slots__ = ("_pieces", "n_bytes")

    def __init__(self) -> None:
        self._pieces: deque[bytes | bytearray] = deque()
        self.n_bytes = 0

    def add(self, data: bytes) -> None:
        """Append a chunk; many single bytes take no more memory than one chunk of them."""
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
        """Drop chunks at the beginning that contain none of the last bytes."""
        while self._pieces and self.n_bytes - len(self._pieces[0]) >= n_bytes:
            self.n_bytes -= len(self._pieces.popleft())

    def whole(self) -> bytes:
        """The whole content."""
        return b"".join(self._pieces)

    def take(self) -> bytes:
        """Return the content and clear the buffer."""
        found = self.whole()
        self.clear()
        return found

    def clear(self) -> None:
        self._pieces.clear()
        self.n_bytes = 0


Lines = tuple[int, list[bytes]]
"""Consecutive lines with their newlines, and the offset in the stream of the first."""


class LineSplitter:
    """Splits a stream into lines."""

    __slots__ = ("_held", "_limit", "_n_dropped", "_offset")

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._held = ByteChunks()
        self._n_dropped = 0
        """Bytes dropped of a line that is too long."""
        self._offset = 0
        """Offset of the line that is incomplete."""

    def feed(self, data: bytes) -> Lines:
        """Append bytes; return the lines that are complete."""
        if b"\n" not in data:
            self._hold(data)
            return self._offset, []
        # Unlike ``split``, which examines each byte, this jumps from newline to newline at memory
        # speed.
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
        """The held bytes as a line; empty after a line that was dropped."""
        begins, is_whole = self._offset, not self._n_dropped
        self._offset += self._held.n_bytes + self._n_dropped
        self._n_dropped = 0
        line = self._held.take()
        return (begins, [line]) if is_whole else (self._offset, [])


NULL_JSON = msgspec.Raw(b"null")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainLine:
    """A line that is not a record: a warning of the program or of a wrapper."""

    text: str


def record_type(line: bytes) -> bytes | None:
    """The ``type`` of a record, empty where it has none; None for a line that is not a record."""
    first = _TYPE_FIRST.match(line)
    if first is not None:
        return first[1]
    return object_type(line).encode() if line.lstrip().startswith(b"{") else None


def to_plain_line(line: bytes) -> PlainLine | None:
    """The text of a line that is not a record; None where it is blank."""
    text = line.decode("utf-8", errors="replace").strip()
    return PlainLine(text=text) if text else None


class RecordReader(Generic[Value]):
    """Reads lines as records, each of the shape that its ``type`` names."""

    def __init__(self, shapes: Mapping[bytes, type[Value]]) -> None:
        self._decoders = {kind: msgspec.json.Decoder(shape) for kind, shape in shapes.items()}

    def read_line(self, line: bytes) -> Value | PlainLine | None:
        """Parse one line; None for a record that is not used or cannot be parsed."""
        kind = record_type(line)
        if kind is None:
            return to_plain_line(line)
        decoder = self._decoders.get(kind)
        return None if decoder is None else decode(decoder, line)


def object_type(data: bytes | msgspec.Raw) -> str:
    """The ``type`` of an object, wherever in it the key is; empty where there is none."""
    found = decode(_KIND, data)
    return "" if found is None else found.type


def decode(decoder: msgspec.json.Decoder[Value], data: bytes | msgspec.Raw) -> Value | None:
    """Decode a value; None where the JSON is broken or has another shape.

    Invalid UTF-8 and lone surrogates, which programs produce that cut texts anywhere, are replaced
    first; control characters such as NUL are accepted in texts.
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
"""How programs usually begin a record; then its type is known without parsing."""
