"""Watching a run: its events with the agent's output between them, in order.

``ralph run`` and ``ralph watch`` read the files like any other viewer, so a terminal that blocks
never delays the engine.
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
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.follow import READ_LIMIT, Follower, Tail

OUTPUT_BACKLOG = 8192
"""Bytes of a running agent's earlier output that a late viewer gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChunk:
    """Redacted output of the agent; may end inside a character.

    For an agent that prints records, it is their text for users.
    """

    stream: str
    data: bytes


ShowMessage = Callable[[bytes], bytes]
"""What is shown of a line of ``messages.jsonl``."""

RunItem = Event | UnknownEvent | OutputChunk


class RunFollower(Follower[RunItem]):
    """Yields the events of a run, and between them the agent's output."""

    def __init__(
        self,
        files: RunFiles,
        *,
        is_live: Callable[[], bool],
        after_seq: int = 0,
        offset: int = 0,
        output: bool = True,
        catch_up: int = OUTPUT_BACKLOG,
        past_end: bool = False,
        show_message: ShowMessage | None = None,
    ) -> None:
        """``catch_up``: bytes of earlier output to show of an agent that still runs.

        ``offset``: where in the journal to start; no event after ``after_seq`` is before it.
        ``show_message``: how a line of the messages is shown, else as in a terminal;
        ``as_recorded`` shows the agent's records themselves.
        """
        super().__init__(
            files.journal, is_live=is_live, after_seq=after_seq, offset=offset, past_end=past_end
        )
        self.backlog: int | None = None
        """Bytes of output that a viewer may lag; more is skipped with a notice."""
        self._files = files
        self._output = output
        self._catch_up = catch_up
        self._show_message = show_message
        self._tails: tuple[tuple[str, _Source], ...] = ()
        self._messages_read = 0

    def _poll(self) -> Iterator[list[RunItem]]:
        for part in self._journal.parts():
            yield from self._show(part)
        yield from self._read_output()

    def _show(self, part: list[Event | UnknownEvent]) -> Iterator[list[RunItem]]:
        """These events, with the remaining output of an agent that ended in one of them."""
        events: list[RunItem] = []
        for event in part:
            is_new = event.seq > self._after_seq
            if isinstance(event, AgentExited | IterationEnded | RunEnded):
                # The output of an agent that had ended before is not shown.
                if is_new and self._tails:
                    yield from self._before_end(events)
                    events = []
                self._tails = ()
            if isinstance(event, AgentStarted) and self._output:
                self._open_tails(event)
            if is_new:
                events.append(event)
        if events:
            yield events

    def _before_end(self, events: list[RunItem]) -> Iterator[list[RunItem]]:
        """Events before the end of an agent, and the rest of its output."""
        if events:
            yield events
        yield from self._read_output()

    def _open_tails(self, event: AgentStarted) -> None:
        files, tails = self._files, list[tuple[str, _Source]]()
        for stream in ("out", "err"):
            has_messages = event.dialect is not None and self._show_message is not as_recorded
            is_decoded = stream == "out" and has_messages
            path = files.output(event.start, event.attempt, stream)
            path = files.messages if is_decoded else path
            behind = event.seq <= self._after_seq and path.exists()
            offset = max(0, path.stat().st_size - self._catch_up) if behind else 0
            if is_decoded:
                offset = max(offset, self._messages_read)
                tails.append(
                    (
                        stream,
                        MessageTail(
                            path, event.start, offset=offset, show_message=self._show_message
                        ),
                    )
                )
            else:
                tails.append((stream, Tail(path, offset=offset)))
        self._tails = tuple(tails)

    def _read_output(self) -> Iterator[list[RunItem]]:
        """New output in chunks, so that a flood is never in memory as a whole."""
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
    """An iteration's messages as lines for users, as ``messages.jsonl`` grows."""

    def __init__(
        self,
        path: Path,
        start: int,
        *,
        offset: int = 0,
        show_message: ShowMessage | None = None,
    ) -> None:
        """``offset`` may be in the middle of a line, which is then skipped."""
        self._tail = Tail(path, offset=max(0, offset - 1))
        self._is_aligned = offset == 0
        self._is_over = False
        self._start = start
        self._show_message = show_message or message_text

    @property
    def offset(self) -> int:
        """Offset up to which lines were read."""
        return self._tail.offset

    def skip(self, backlog: int) -> int:
        """Skip like `Tail.skip`; the next read may start in the middle of a line."""
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
        """Text of complete lines; an incomplete one is read again later."""
        shown, position = [], 0
        while (end := data.find(b"\n", position)) >= 0:
            line = data[position:end]
            found = _START.match(line) if self._is_aligned else None
            if found and int(found[1]) > self._start:
                # They are the next iteration's, which a slow viewer reads later.
                self._is_over = True
                break
            if found and int(found[1]) == self._start:
                shown.append(self._show_message(line))
            self._is_aligned = True
            position = end + 1
        if len(data) == READ_LIMIT and not position:
            # Such a line is not readable on a screen.
            self._is_aligned, position = False, len(data)
        self._tail.offset = start + position
        return b"".join(shown)


class _Source(Protocol):
    """Source of an agent's output."""

    def read(self) -> bytes:
        """New output; empty without any."""
        ...

    def skip(self, backlog: int) -> int:
        """Skip all but the last ``backlog`` bytes; returns the number of skipped bytes."""
        ...


_START = re.compile(rb'\{"(?:start|iteration)":(\d+),')
"""Beginning of a message; files of earlier versions call the start iteration."""


def as_recorded(line: bytes) -> bytes:
    """A line as it is; in place of the messages the agent's output itself is read."""
    return line


def message_text(line: bytes) -> bytes:
    """A line of the messages as users read it; empty for one that is of no interest."""
    # Most viewers of a run start before its agent has written anything.
    from ralph_ls.core.views.text.agent_output import message_line
    from ralph_ls.protocol.run.messages import MESSAGE_ADAPTER

    try:
        text = message_line(MESSAGE_ADAPTER.validate_json(line))
    except ValidationError:
        # A message of a newer engine.
        return b""
    return f"{text}\n".encode("utf-8", errors="replace") if text else b""
