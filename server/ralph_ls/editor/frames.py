"""From an agent's bytes, cut anywhere, to text and messages that may be sent.

Sans-IO: it is fed bytes, and holds a character or a line that is not whole yet. It must never know
where bytes come from, nor who reads what becomes of them.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

FRAME_INTERVAL = 0.016
"""Seconds between two frames (SPEC §13)."""

FRAME_LIMIT = 64 * 1024
"""Characters of output in one frame (SPEC §13)."""

CATCH_UP = 8 * 1024
"""Bytes of earlier output that a viewer is told of an agent that already runs."""

MESSAGES_CATCH_UP = 64 * 1024
"""The same of its messages."""

LONGEST_MESSAGE = 16 << 20
"""Bytes of a line of messages that is waited for; a longer one is passed over."""


class TextDecoder:
    """Makes text of UTF-8 bytes as they come; what is no UTF-8 is replaced."""

    def __init__(self, *, within: bool = False) -> None:
        """``within``: the first byte may lie inside a character, which is then left out."""
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
        """``within``: the first byte may lie inside a line, which is then left out."""
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

    They are passed on as they stand, so they are looked at only as far as nobody is harmed: a line
    that is no JSON would spoil the frame that it lies in.
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
    """Without the bytes that go on with a character which began earlier: at most three."""
    n_rest = 0
    while n_rest < min(3, len(data)) and 0x80 <= data[n_rest] < 0xC0:
        n_rest += 1
    return data[n_rest:]
