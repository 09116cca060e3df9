"""The append-only record of a run: one JSON line an event, from which all state is folded.

Every event is flushed when it is written; ``sync`` puts it on the disk and is called at iteration
boundaries, beside the next start. A torn last line is dropped and told (SPEC §2).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.events import Event, EventBase, UnknownEvent, dump_event, parse_event
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, write_all

_PIECE = 1 << 20
"""Bytes that are copied at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRead:
    """What stands in a journal."""

    events: tuple[Event | UnknownEvent, ...]
    size: int
    """Bytes up to and with the last whole line."""
    torn: int
    """Bytes of a torn last line, which were dropped."""
    unreadable: tuple[int, ...]
    """Numbers, from 1, of whole lines that are no events."""


class JournalReader:
    """Makes events of bytes as they come, in any cuts; keeps a partial last line for later."""

    def __init__(self) -> None:
        self._partial = b""
        self._line_number = 0
        self.unreadable: list[int] = []

    def feed(self, data: bytes) -> list[Event | UnknownEvent]:
        """The events that ``data`` completes."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        events: list[Event | UnknownEvent] = []
        for line in lines:
            self._line_number += 1
            try:
                events.append(parse_event(line))
            except ValueError:
                self.unreadable.append(self._line_number)
        return events

    @property
    def pending(self) -> int:
        """Bytes of the line that is not whole yet."""
        return len(self._partial)

    def forget_partial(self) -> int:
        """Drop the line that is not whole yet, to read it again; says how many bytes that were."""
        n_bytes, self._partial = len(self._partial), b""
        return n_bytes


class Journal:
    """The writing end, owned by the one engine."""

    def __init__(self, path: Path, *, size: int = 0) -> None:
        """Open ``path`` for appending after its first ``size`` bytes; what follows them is cut."""
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
        """Write the events, all or none: a failed write leaves nothing of them, and raises."""
        lines = b"".join(dump_event(event) + b"\n" for event in events)
        try:
            write_all(self._descriptor, lines)
        except OSError as error:
            # Where even that fails, the first error is still the one to tell.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise _unusable(self.path, error) from error
        self._size += len(lines)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._size

    def renew(self) -> bool:
        """Write the journal again where its file was deleted or replaced; says whether it was.

        What was written is still there behind the open file. Raises ``StateUnusable``.
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
        """Put what was written on the disk; blocking, so call it beside other work."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise _unusable(self.path, error) from error

    def close(self) -> None:
        os.close(self._descriptor)


def read_journal(path: Path) -> JournalRead:
    """Read a whole journal; a missing one is empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise _unusable(path, error) from error
    reader = JournalReader()
    events = reader.feed(data)
    return JournalRead(
        events=tuple(events),
        size=len(data) - reader.pending,
        torn=reader.pending,
        unreadable=tuple(reader.unreadable),
    )


def _unusable(path: Path, error: OSError) -> StateUnusable:
    return StateUnusable(
        f"the journal {path} cannot be used: {error.strerror or error}; "
        "free some space or set RALPH_STATE_DIR to another folder"
    )
