"""Run reader: one run's files as they grow, the journal folded and the output cut into pieces.

The sans-IO part is fed an agent's bytes, cut anywhere, and gives text and messages that may be
sent; it holds a character or a line that is not whole yet. All of it blocks and belongs to one
thread.
"""

from __future__ import annotations

import codecs
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ralph_ls.core.views.model.history import History
from ralph_ls.core.views.panel.rows import IterationRows
from ralph_ls.editor.worktree.snapshot import MessageLines, OutputPiece, RunUpdate
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    Event,
    IterationEnded,
    RunEnded,
    UnknownEvent,
)
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.follow import Tail
from ralph_ls.store.run.journal import PART, JournalParts, JournalReader, offset_behind
from ralph_ls.store.run.run_view import RunView, ViewPosition, load_view
from ralph_ls.store.run.runs import size_of

FRAME_INTERVAL = 0.016
"""Seconds between two frames (docs/rules.md#speed)."""

FRAME_LIMIT = 64 * 1024
"""Characters of output in one frame (docs/rules.md#speed)."""

OUTPUT_CATCH_UP = 8 * 1024
"""Bytes of earlier output that a viewer gets of an agent that already runs."""

MESSAGES_CATCH_UP = 64 * 1024
"""The same of its messages."""

LONGEST_MESSAGE = 16 << 20
"""Bytes of a line of messages that is waited for; a longer one is passed over."""


class TextDecoder:
    """Makes text of UTF-8 bytes as they come; what is no UTF-8 is replaced."""

    def __init__(self, *, within: bool = False) -> None:
        """``within``: the first byte may be inside a character, which is then left out."""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._within = within

    def feed(self, data: bytes) -> list[str]:
        """The text of ``data``, in pieces of at most ``FRAME_LIMIT`` characters."""
        if self._within and data:
            data, self._within = _without_rest_of_character(data), False
        return _pieces(self._decoder.decode(data))

    def end(self) -> list[str]:
        """What a character that was never finished looks like."""
        return _pieces(self._decoder.decode(b"", final=True))


class LineCutter:
    """Cuts bytes into whole lines, without their ends."""

    def __init__(self, *, within: bool = False) -> None:
        """``within``: the first byte may be inside a line, which is then left out."""
        self._partial: list[bytes] = []
        self._length = 0
        self._passing = within

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes."""
        whole, newline, rest = data.rpartition(b"\n")
        lines: list[bytes] = []
        if newline:
            lines = (b"".join(self._partial) + whole).split(b"\n")
            if self._passing:
                del lines[0]
            self._partial, self._length, self._passing = [], 0, False
        if self._passing:
            return lines
        self._partial.append(rest)
        self._length += len(rest)
        if self._length > LONGEST_MESSAGE:
            self._partial, self._length, self._passing = [], 0, True
        return lines


class _Head(msgspec.Struct):
    kind: Literal["text", "tool", "file", "todo", "usage"]
    start: int = 0
    iteration: int = 0
    """What files of earlier versions call the start."""


_one = msgspec.json.Decoder(_Head)
_many = msgspec.json.Decoder(list[_Head])


def whole_messages(lines: Sequence[bytes], *, start: int | None = None) -> list[bytes]:
    """Those lines that are messages of a kind we know, of one start where one is named.

    They are passed on unchanged, so they are checked only as far as safety needs: a line
    that is no JSON would spoil the frame that it is in.
    """
    if start is None:
        try:
            together = b"[%b]" % b",".join(lines)
            together.decode()
            heads = _many.decode(together)
            if len(heads) == len(lines) and all(map(_start_of, heads)):
                return list(lines)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass  # One of them is no use: each has to be looked at by itself.
    return [line for line in lines if _is_message(line, start)]


def message_frames(lines: Iterable[bytes]) -> list[tuple[bytes, ...]]:
    """Messages put together into frames of at most ``FRAME_LIMIT`` bytes, or of one message."""
    frames: list[tuple[bytes, ...]] = []
    frame: list[bytes] = []
    length = 0
    for line in lines:
        if frame and length + len(line) > FRAME_LIMIT:
            frames.append(tuple(frame))
            frame, length = [], 0
        frame.append(line)
        length += len(line)
    return [*frames, tuple(frame)] if frame else frames


def _is_message(line: bytes, start: int | None) -> bool:
    try:
        line.decode()
        head = _one.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    found = _start_of(head)
    return bool(found) if start is None else found == start


def _start_of(head: _Head) -> int:
    return head.start or head.iteration


def _pieces(text: str) -> list[str]:
    if len(text) <= FRAME_LIMIT:
        return [text] if text else []
    return [text[start : start + FRAME_LIMIT] for start in range(0, len(text), FRAME_LIMIT)]


def _without_rest_of_character(data: bytes) -> bytes:
    """Without the bytes that continue a character which began earlier: at most three."""
    n_rest = 0
    while n_rest < min(3, len(data)) and 0x80 <= data[n_rest] < 0xC0:
        n_rest += 1
    return data[n_rest:]


logger = logging.getLogger(__name__)

STREAMS = ("out", "err")


class JournalLost(Exception):
    """The journal is gone, or is not the one any more that was read so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInterest:
    """What the one client subscribed to, besides the state of a run."""

    events: bool = False
    output: bool = False
    messages: bool = False

    @property
    def agent(self) -> bool:
        """Whether anything that the agent prints is wanted."""
        return self.output or self.messages


class RunReader:
    """One run: its journal, and what its agent says while it runs."""

    def __init__(self, files: RunFiles, *, every_event: bool = False) -> None:
        """``every_event``: give them from the first one on; else from where a snapshot is."""
        known = ViewPosition() if every_event else load_view(files)
        self.files = files
        self._view: RunView = known.view
        self._tail = Tail(files.journal, offset=known.offset)
        self._reader = JournalReader(n_lines=known.n_lines)
        self._identity: tuple[int, int] | None = None
        self._agent = _running_agent(known.view.state)
        """The one that runs, as far as the journal was read."""
        self._output = _NO_OUTPUT
        self._messages: _MessageTail | None = None

    @property
    def state(self) -> RunState:
        """The state of the run, as far as the journal was read."""
        return self._view.state

    @property
    def history(self) -> History:
        return self._view.history

    @property
    def rows(self) -> IterationRows:
        return self._view.rows

    @property
    def n_reads(self) -> int:
        """How often the journal was read."""
        return self._tail.n_reads

    def read_parts(self) -> Iterator[list[Event | UnknownEvent]]:
        """Read what the journal gained, folding each part before it is given.

        A run of many iterations is more than one wants to hold at once. Raises ``JournalLost``.
        """
        self._check_identity()
        while data := self._tail.read(PART):
            if events := self._reader.feed(data):
                self._view = self._view.plus(events)
                yield events
            if len(data) < PART:
                break
        # Half a line may yet be cut off again by the engine that writes it, so none of it is kept.
        self._tail.offset -= self._reader.forget_partial()
        for number in self._reader.unreadable:
            logger.warning("%s, line %d: this is not an event", self.files.journal, number)
        self._reader.unreadable.clear()

    def earlier_parts(self, after_seq: int) -> Iterator[list[Event | UnknownEvent]]:
        """The events behind ``after_seq`` that were folded by now; read as they are taken."""
        return _events_between(self.files.journal, after_seq, self.state.seq)

    def skip_existing(self, events: list[Event | UnknownEvent]) -> None:
        """Fold events that are not to be sent."""
        for event in events:
            self._note_agent(event)

    def tell(
        self, events: list[Event | UnknownEvent], wants: RunInterest
    ) -> Iterator[list[RunUpdate]]:
        """What is wanted of these events, with the agent's output where it belongs.

        In parts that are not too large.
        """
        told: list[RunUpdate] = []
        for event in events:
            if isinstance(event, AgentExited | IterationEnded | RunEnded):
                # All of an agent's output is in its files before its end is recorded.
                yield from self._add_output(told)
                told.extend(self._output.end())
            self._note_agent(event)
            if isinstance(event, AgentStarted) and wants.output:
                self._output = _open_output(self.files, event)
            if wants.events:
                told.append(event)
        yield from self._add_output(told)
        if told:
            yield told

    def _add_output(self, told: list[RunUpdate]) -> Iterator[list[RunUpdate]]:
        """Add what the agent has written since; a part that is large is given and begun again."""
        for piece in self._read_agent():
            told.append(piece)
            if _is_large(told):
                yield told.copy()
                told.clear()

    def want_all(self, wants: RunInterest) -> None:
        """Send this of every agent, if no event was read yet."""
        self._messages = _MessageTail(self.files) if wants.messages else None

    def want(self, wants: RunInterest) -> list[RunUpdate]:
        """From now on send this of the agent; gives the end of a running one's output."""
        self._output, self._messages = _NO_OUTPUT, None
        caught_up: list[RunUpdate] = []
        if wants.messages:
            self._messages = _MessageTail(self.files, keep=MESSAGES_CATCH_UP)
            start = None if self._agent is None else self._agent.start
            caught_up.extend(self._messages.catch_up(start))
        if wants.output and self._agent is not None:
            self._output = _open_output(self.files, self._agent, catch_up=OUTPUT_CATCH_UP)
        caught_up.extend(self._output.read())
        return caught_up

    def _note_agent(self, event: Event | UnknownEvent) -> None:
        if isinstance(event, AgentStarted):
            self._agent = event
        elif isinstance(event, AgentExited | IterationEnded | RunEnded):
            self._agent, self._output = None, _NO_OUTPUT

    def _read_agent(self) -> Iterator[RunUpdate]:
        yield from self._output.read()
        if self._messages is not None:
            yield from self._messages.read()

    def _check_identity(self) -> None:
        try:
            stat = self.files.journal.stat()
        except FileNotFoundError:
            if self._identity is not None:
                raise JournalLost(f"the journal {self.files.journal} is gone") from None
            return
        identity = (stat.st_dev, stat.st_ino)
        if self._identity not in {None, identity}:
            raise JournalLost(f"the journal {self.files.journal} was replaced")
        if stat.st_size < self._tail.offset:
            raise JournalLost(f"the journal {self.files.journal} was cut short")
        self._identity = identity


class _OutputTails:
    """What one agent prints on its two streams."""

    def __init__(self, start: int, tails: tuple[tuple[str, Tail, TextDecoder], ...]) -> None:
        self._start = start
        self._tails = tails

    def read(self) -> Iterator[OutputPiece]:
        for stream, tail, decoder in self._tails:
            while data := tail.read():
                yield from self._pieces(stream, decoder.feed(data))

    def end(self) -> Iterator[OutputPiece]:
        for stream, _, decoder in self._tails:
            yield from self._pieces(stream, decoder.end())

    def _pieces(self, stream: str, texts: list[str]) -> Iterator[OutputPiece]:
        for text in texts:
            yield OutputPiece(start=self._start, stream=stream, text=text)


_NO_OUTPUT = _OutputTails(0, ())


def _open_output(
    files: RunFiles, agent: AgentStarted, *, catch_up: int | None = None
) -> _OutputTails:
    """From its beginning, or of one that runs already its last ``catch_up`` bytes."""
    tails = []
    for stream in STREAMS:
        path = files.output(agent.start, agent.attempt, stream)
        offset = 0 if catch_up is None else max(0, size_of(path) - catch_up)
        decoder = TextDecoder(within=offset > 0)
        tails.append((stream, Tail(path, offset=offset), decoder))
    return _OutputTails(agent.start, tuple(tails))


class _MessageTail:
    """What the agents of one run say, decoded."""

    def __init__(self, files: RunFiles, *, keep: int | None = None) -> None:
        """``keep``: how many bytes of the existing content are read; None is all of it."""
        offset = 0 if keep is None else max(0, size_of(files.messages) - keep)
        self._tail = Tail(files.messages, offset=offset)
        self._lines = LineCutter(within=offset > 0)

    def catch_up(self, start: int | None) -> list[MessageLines]:
        """The last messages of the iteration in progress; none without one."""
        lines = [line for data in iter(self._tail.read, b"") for line in self._lines.feed(data)]
        wanted = [] if start is None else whole_messages(lines, start=start)
        return [MessageLines(lines=frame) for frame in message_frames(wanted)]

    def read(self) -> Iterator[MessageLines]:
        while data := self._tail.read():
            messages = whole_messages(self._lines.feed(data))
            for frame in message_frames(messages):
                yield MessageLines(lines=frame)


def _events_between(journal: Path, after: int, last: int) -> Iterator[list[Event | UnknownEvent]]:
    if after >= last:
        return
    for part in JournalParts(journal, offset=offset_behind(journal, after)):
        yield [event for event in part if after < event.seq <= last]
        if part[-1].seq >= last:
            return


def _running_agent(state: RunState) -> AgentStarted | None:
    current = state.current
    return None if current is None or current.exit is not None else current.agent


def _is_large(told: list[RunUpdate]) -> bool:
    """Whether it should be delivered before more is read: it would all be in memory."""
    return len(told) >= 16 and isinstance(told[-1], OutputPiece | MessageLines)
