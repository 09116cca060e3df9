"""Following a whole run: its events, and the agent's output between them, in order.

What ``ralph run`` and ``ralph watch`` show is read from the files like any other viewer's, so a
terminal that stands still never holds up the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    Event,
    IterationEnded,
    RunEnded,
    UnknownEvent,
)
from ralph_ls.protocol.run.messages import MESSAGE_ADAPTER
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.follow import READ_LIMIT, Follower, Tail

OUTPUT_BACKLOG = 8192
"""Bytes of a running agent's earlier output that a late viewer is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChunk:
    """Bytes that the agent printed, redacted; they may end inside a character.

    Of an agent that prints records, not words, they are what the records say to people.
    """

    stream: str
    data: bytes


RunItem = Event | UnknownEvent | OutputChunk


class RunFollower(Follower[RunItem]):
    """Yields what happens in a run, the agent's output where it belongs between the events."""

    def __init__(
        self,
        files: RunFiles,
        *,
        is_live: Callable[[], bool],
        after_seq: int = 0,
        offset: int = 0,
        output: bool = True,
        catch_up: int = OUTPUT_BACKLOG,
    ) -> None:
        """``catch_up``: how many bytes of earlier output are shown of an agent that still runs.

        ``offset``: where in the journal to begin; no event behind ``after_seq`` stands before it.
        """
        super().__init__(files.journal, is_live=is_live, after_seq=after_seq, offset=offset)
        self.backlog: int | None = None
        """Bytes of output that a viewer may be behind; what is more is passed over, and told."""
        self._files = files
        self._output = output
        self._catch_up = catch_up
        self._tails: tuple[tuple[str, _Source], ...] = ()
        self._messages_read = 0

    def _poll(self) -> Iterator[list[RunItem]]:
        for part in self._journal.parts():
            yield from self._show(part)
        yield from self._read_output()

    def _show(self, part: list[Event | UnknownEvent]) -> Iterator[list[RunItem]]:
        """These events, and what an agent had said by then that ended with one of them."""
        events: list[RunItem] = []
        for event in part:
            is_new = event.seq > self._after_seq
            if isinstance(event, AgentExited | IterationEnded | RunEnded):
                # What an agent said that had ended by then is no news.
                if is_new and self._tails:
                    if events:
                        yield events
                    events = []
                    yield from self._read_output()
                self._tails = ()
            if isinstance(event, AgentStarted) and self._output:
                self._open_tails(event)
            if is_new:
                events.append(event)
        if events:
            yield events

    def _open_tails(self, event: AgentStarted) -> None:
        files, tails = self._files, list[tuple[str, _Source]]()
        for stream in ("out", "err"):
            is_decoded = stream == "out" and event.dialect is not None
            path = files.output(event.start, event.attempt, stream)
            path = files.messages if is_decoded else path
            behind = event.seq <= self._after_seq and path.exists()
            offset = max(0, path.stat().st_size - self._catch_up) if behind else 0
            if is_decoded:
                offset = max(offset, self._messages_read)
                tails.append((stream, MessageTail(path, event.start, offset=offset)))
            else:
                tails.append((stream, Tail(path, offset=offset)))
        self._tails = tuple(tails)

    def _read_output(self) -> Iterator[list[RunItem]]:
        """Piece by piece, however much there is: nobody holds all of a flood in memory."""
        for stream, tail in self._tails:
            while True:
                if self.backlog is not None and (passed := tail.skip(self.backlog)):
                    notice = f"\n… {passed} bytes of output are not shown …\n"
                    yield [OutputChunk(stream=stream, data=notice.encode())]
                if not (data := tail.read()):
                    break
                yield [OutputChunk(stream=stream, data=data)]
            if isinstance(tail, MessageTail):
                self._messages_read = tail.offset


class MessageTail:
    """What one iteration's agent says, in lines for people, as ``messages.jsonl`` gains it."""

    def __init__(self, path: Path, start: int, *, offset: int = 0) -> None:
        """``offset`` may lie in the middle of a line, which is then passed over."""
        self._tail = Tail(path, offset=max(0, offset - 1))
        self._is_aligned = offset == 0
        self._is_over = False
        self._start = start

    @property
    def offset(self) -> int:
        """Up to where lines were read."""
        return self._tail.offset

    def skip(self, backlog: int) -> int:
        """As of any file; what is read next may lie in the middle of a line."""
        passed = 0 if self._is_over else self._tail.skip(backlog)
        self._is_aligned = self._is_aligned and not passed
        return passed

    def read(self) -> bytes:
        """New lines; empty where there are none."""
        while not self._is_over:
            start = self._tail.offset
            shown = self._take(self._tail.read(), start)
            if shown or self._tail.offset == start:
                return shown
        return b""

    def _take(self, data: bytes, start: int) -> bytes:
        """What whole lines say; half a line is read once more when it is whole."""
        shown, position = [], 0
        while (end := data.find(b"\n", position)) >= 0:
            line = data[position:end]
            found = _START.match(line) if self._is_aligned else None
            if found and int(found[1]) > self._start:
                # They are the next iteration's, which a slow viewer comes to later.
                self._is_over = True
                break
            if found and int(found[1]) == self._start:
                shown.append(_words_of(line))
            self._is_aligned = True
            position = end + 1
        if len(data) == READ_LIMIT and not position:
            # Nobody could read such a line on a screen.
            self._is_aligned, position = False, len(data)
        self._tail.offset = start + position
        return b"".join(shown)


class _Source(Protocol):
    """Where an agent's output is read from."""

    def read(self) -> bytes:
        """What is new; empty where there is nothing."""
        ...

    def skip(self, backlog: int) -> int:
        """Leave out what is more than ``backlog`` bytes behind; how many bytes that are."""
        ...


_START = re.compile(rb'\{"(?:start|iteration)":(\d+),')
"""What a message begins with; files of earlier versions call its start the iteration."""


def _words_of(line: bytes) -> bytes:
    # Most viewers of a run start before its agent has written anything.
    from ralph_ls.core.views.text.agent_output import message_line

    try:
        text = message_line(MESSAGE_ADAPTER.validate_json(line))
    except ValidationError:
        # A newer engine's message.
        return b""
    return f"{text}\n".encode("utf-8", errors="replace") if text else b""
