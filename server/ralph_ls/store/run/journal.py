"""Journal: the append-only record of a run, one JSON line an event, from which all state is folded.

Every event is flushed when it is written; ``sync`` writes it to the disk and is called at iteration
boundaries, in parallel with the next start. A torn last line is dropped and reported
(docs/rules.md#journal).

Readers understand journals one major version back, and the known part of newer ones. An engine does
not resume a newer one: it would decide by events that it cannot read.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import Event, EventBase, UnknownEvent, dump_event, parse_event
from ralph_ls.protocol.version import SCHEMA_VERSION
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_private_folder,
    open_regular,
    open_regular_unbuffered,
    write_all,
)

_PIECE = 1 << 20
"""Bytes of one copy."""

PART = 128 << 10
"""Bytes of one read: a journal of any length is read in parts of that size.

Larger parts are slower, since all events of a part are in memory at once.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRead:
    """Content of a journal."""

    events: tuple[Event | UnknownEvent, ...]
    size: int
    """Bytes up to the end of the last complete line."""
    torn: int
    """Dropped bytes of a torn last line."""
    unreadable: tuple[int, ...]
    """Numbers, from 1, of complete lines that are not events."""


class JournalReader:
    """Parses events from chunks of bytes of any size; buffers a partial last line."""

    def __init__(self, *, n_lines: int = 0, kinds: Collection[str] | None = None) -> None:
        """``n_lines``: number of lines before the first one that is fed.

        ``kinds``: only these are returned; lines of others are not parsed.
        """
        self._partial = b""
        self._kinds = None if kinds is None else frozenset(kind.encode() for kind in kinds)
        self.n_lines = n_lines
        """Complete lines so far."""
        self.unreadable: list[int] = []

    def feed(self, data: bytes) -> list[Event | UnknownEvent]:
        """The events completed by ``data``."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        events: list[Event | UnknownEvent] = []
        for line in lines:
            self.n_lines += 1
            if self._kinds is not None and not _may_be_of(self._kinds, line):
                continue
            try:
                events.append(parse_event(line))
            except ValueError:
                self.unreadable.append(self.n_lines)
        return events

    @property
    def pending(self) -> int:
        """Bytes of the incomplete line."""
        return len(self._partial)

    def forget_partial(self) -> int:
        """Drop the incomplete line, to read it again; returns its number of bytes."""
        n_bytes, self._partial = len(self._partial), b""
        return n_bytes


class Journal:
    """Writer of a journal, owned by its engine."""

    def __init__(self, path: Path, *, size: int = 0) -> None:
        """Open ``path`` for appending after its first ``size`` bytes; the rest is truncated."""
        self.path = path
        self._size = size
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = os.open(path, flags, PRIVATE_FILE)
            if os.fstat(self._descriptor).st_size != size:
                os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise _unusable(path, error) from error

    def append(self, events: Sequence[EventBase]) -> None:
        """Write all of the events, or none and raise."""
        lines = b"".join(dump_event(event) + b"\n" for event in events)
        try:
            write_all(self._descriptor, lines)
        except OSError as error:
            # If that fails too, the first error is still the one to raise.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise _unusable(self.path, error) from error
        self._size += len(lines)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._size

    def renew(self) -> bool:
        """Write the journal again if its file was deleted or replaced; returns whether it was.

        The open file still has its content. Raises ``StateUnusable``.
        """
        with contextlib.suppress(OSError):
            if os.path.samestat(self.path.stat(), os.fstat(self._descriptor)):
                return False
        make_private_folder(self.path.parent)
        temporary = self.path.with_name(f".{self.path.name}.again")
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
            descriptor = os.open(temporary, flags, PRIVATE_FILE)
            try:
                for offset in range(0, self._size, _PIECE):
                    length = min(_PIECE, self._size - offset)
                    write_all(descriptor, os.pread(self._descriptor, length, offset))
                temporary.replace(self.path)
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as error:
            raise _unusable(self.path, error) from error
        os.close(self._descriptor)
        self._descriptor = descriptor
        return True

    def sync(self) -> None:
        """Write to the disk (fsync); blocks, so call it in parallel with other work."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise _unusable(self.path, error) from error

    def close(self) -> None:
        os.close(self._descriptor)


class JournalParts:
    """A journal's events in parts, so that the events of a long run are never all in memory.

    A missing journal is empty. Raises ``StateUnusable`` where it cannot be read.
    """

    def __init__(
        self, path: Path, *, kinds: Collection[str] | None = None, offset: int = 0
    ) -> None:
        """Read from ``offset``, the beginning of a line; ``kinds`` as in ``JournalReader``."""
        self._path = path
        self._reader = JournalReader(kinds=kinds)
        self._n_bytes = offset

    def __iter__(self) -> Iterator[list[Event | UnknownEvent]]:
        try:
            with open_regular_unbuffered(self._path) as file:
                file.seek(self._n_bytes)
                while data := file.read(PART):
                    self._n_bytes += len(data)
                    if events := self._reader.feed(data):
                        yield events
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unusable(self._path, error) from error

    @property
    def size(self) -> int:
        """Bytes up to the end of the last complete line that was read."""
        return self._n_bytes - self._reader.pending

    @property
    def torn(self) -> int:
        """Bytes of a torn last line, if any."""
        return self._reader.pending

    @property
    def unreadable(self) -> tuple[int, ...]:
        """Numbers, from 1, of complete lines that are not events."""
        return tuple(self._reader.unreadable)


def read_journal(path: Path) -> JournalRead:
    """Read a whole journal at once; a missing one is empty."""
    parts = JournalParts(path)
    events = tuple(event for part in parts for event in part)
    return JournalRead(events=events, size=parts.size, torn=parts.torn, unreadable=parts.unreadable)


def each_event(
    path: Path, *, kinds: Collection[str] | None = None
) -> Iterator[Event | UnknownEvent]:
    """The events of a journal in order; with ``kinds`` only those."""
    for part in JournalParts(path, kinds=kinds):
        yield from part


def offset_behind(path: Path, seq: int) -> int:
    """Offset from which to read the events after ``seq``; there is none before it.

    The lines of a journal are in order, so this is a binary search over few lines.
    """
    low = 0
    try:
        with open_regular_unbuffered(path) as file:
            high = os.fstat(file.fileno()).st_size
            while high - low > _NEAR:
                middle = (low + high) // 2
                found = _first_line(file, middle, high)
                if found is None or found[1] > seq:
                    high = middle
                else:
                    low = found[0]
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise _unusable(path, error) from error
    return low


def last_line(path: Path, end: int) -> int:
    """Offset of the last line before ``end``."""
    begin, after = end, b""
    try:
        with open_regular_unbuffered(path) as file:
            while begin > 0:
                length = min(_NEAR, begin)
                begin -= length
                file.seek(begin)
                after = file.read(length) + after
                if (found := after.rfind(b"\n", 0, len(after) - 1)) >= 0:
                    return begin + found + 1
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise _unusable(path, error) from error
    return 0


_NEAR = 64 << 10
"""Bytes that are read rather than searched."""

_HEAD = re.compile(
    rb'\{"v":\d+,"seq":(\d+),"at":"[^"]*","run":"[^"]*",'
    rb'(?:"iteration":\d+,)?(?:"start":\d+,)?"kind":"(\w+)"'
)
"""Beginning of each line; the kind follows the fields that every event has."""


def _may_be_of(kinds: Collection[bytes], line: bytes) -> bool:
    """Whether a line may be of these kinds; False only for a line of this version with another."""
    found = _HEAD.match(line)
    return found is None or found[2] in kinds


def _first_line(file: FileIO, start: int, end: int) -> tuple[int, int] | None:
    """Offset and sequence number of the first line that begins after ``start``."""
    while start < end:
        file.seek(start)
        data = file.read(_NEAR)
        position = data.find(b"\n") + 1
        while position:
            if (found := _HEAD.match(data, position)) is not None:
                return start + position, int(found[1])
            position = data.find(b"\n", position) + 1
        start += max(1, len(data) - _LONGEST_HEAD)
        if len(data) < _NEAR:
            break
    return None


_LONGEST_HEAD = 512


def _unusable(path: Path, error: OSError) -> StateUnusable:
    return StateUnusable(
        f"the journal {path} cannot be used: {error.strerror or error}; "
        "free some space or set RALPH_STATE_DIR to another folder"
    )


OLDEST = max(0, SCHEMA_VERSION - 1)

_TAIL = 1 << 16
"""Bytes at the end of a journal in which its last complete line is searched for first."""


def version_of(journal: Path) -> int | None:
    """The version that wrote last into a journal; None where it records none."""
    try:
        with open_regular(journal) as file:
            size = file.seek(0, 2)
            data = b""
            while True:
                start = max(0, size - len(data) - _TAIL)
                file.seek(start)
                data = file.read(size - start)
                for line in reversed(data.split(b"\n")[1 if start else 0 : -1]):
                    with contextlib.suppress(ValueError, TypeError, KeyError):
                        return int(json.loads(line)["v"])
                if start == 0:
                    return None
    except OSError:
        return None


def why_unreadable(journal: Path) -> str | None:
    """Why this version cannot understand all of a journal, in words; None where it can."""
    version = version_of(journal)
    if version is None or OLDEST <= version <= SCHEMA_VERSION:
        return None
    age = "newer" if version > SCHEMA_VERSION else "much older"
    return (
        f"the journal {journal} was written by a {age} ralph, in version {version} of its schema; "
        f"this one reads {OLDEST} and {SCHEMA_VERSION}"
    )


def require_understood(journal: Path) -> None:
    """Raise ``StateUnusable`` where an engine must not act on a journal."""
    if (why := why_unreadable(journal)) is not None:
        raise StateUnusable(
            f"{why}; use that version of ralph for this run, or start a new one with: ralph run"
        )
