"""Base protocol of LSP: cuts a stream of bytes into message bodies, and survives wrong headers.

Sans-IO: it is fed bytes and gives bodies. A frame that cannot be read costs itself alone: the
reader reports it and resumes at the next header. That is safe because a header cannot occur within
a JSON body: there a line end is either escaped, or surrounded by punctuation. Does not know what a
message says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MAX_HEADER = 16 * 1024
"""Bytes; headers without an end are no headers."""
MAX_BODY = 128 * 1024 * 1024
"""Bytes of one message; a longer one is skipped as it comes, and never kept in memory."""

_LONGEST_LENGTH = 64
"""Bytes of a ``Content-Length`` line; what may be the beginning of one is looked at again."""
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_FIELD = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]+)[ \t]*:[ \t]*(.*?)[ \t]*", re.DOTALL)
_LENGTH_AT_END = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,15})[ \t]*\r?\Z", re.IGNORECASE)
_CHARSET = re.compile(rb"charset[ \t]*=[ \t]*\"?([^\s;\"]*)", re.IGNORECASE)
_UTF_8 = frozenset({b"utf-8", b"utf8"})
"""LSP: ``utf8`` is what earlier clients send."""


@dataclass(frozen=True, slots=True)
class MalformedFrame:
    """A frame that is no message; the stream continues after it."""

    problem: str


class FrameReader:
    """Cuts a stream of bytes into the bodies of messages, wherever the stream is split.

    pygls 2.1.1: a header other than ``Content-Length: N`` in just this spelling loses the message
    behind it, and a body that is cut short or a wrong length takes the next messages with it,
    without an answer. Upstream: report a malformed frame with -32700 and resume at the next header.
    """

    def __init__(self, *, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._buffer = bytearray()
        self._length: int | None = None
        """Bytes of the body that is being read; None while headers are."""
        self._searched = 0
        """From where a blank line behind headers is still to be searched."""
        self._scanned = 0
        """Up to where the body was searched for the next message's header."""
        self._refused: str | None = None
        """Why the body that is being read is skipped."""
        self._lost = False
        """What is being read is what a wrong length left over, and was reported."""

    def feed(self, data: bytes) -> list[bytes | MalformedFrame]:
        """The bodies that are whole now, and the frames that make no sense, in their order."""
        self._buffer += data
        found: list[bytes | MalformedFrame] = []
        while (each := self._next()) is not None:
            if each is not _SKIPPED:
                found.append(each)
        return found

    def _next(self) -> bytes | MalformedFrame | None:
        return self._read_header() if self._length is None else self._read_body(self._length)

    def _read_header(self) -> bytes | MalformedFrame | None:
        """A problem, ``_SKIPPED`` where there is none, or None where more bytes are needed."""
        end = _BLANK_LINE.search(self._buffer, self._searched)
        self._searched = 0
        if end is None:
            if len(self._buffer) <= MAX_HEADER:
                # All but its last byte may be there already.
                self._searched = max(0, len(self._buffer) - 3)
                return None
            del self._buffer[:-_LONGEST_LENGTH]
            return self._lose(f"no end of the headers in {MAX_HEADER} bytes")
        headers = bytes(self._buffer[: end.start()])
        del self._buffer[: end.end()]
        read = _read_headers(headers)
        if read.length is None:
            return self._lose(read.problem) if headers.strip() else _SKIPPED
        problem = self._lose(read.problem) if read.problem else _SKIPPED
        self._length, self._scanned, self._refused, self._lost = read.length, 0, None, False
        if read.charset not in _UTF_8:
            self._refused = f"the charset {read.charset.decode('ascii', 'replace')!r} is not utf-8"
        elif read.length > self._max_body:
            self._refused = f"{read.length} bytes are too many; the limit is {self._max_body}"
        return problem

    def _read_body(self, length: int) -> bytes | MalformedFrame | None:
        if (start := self._next_header(length)) is not None:
            del self._buffer[:start]
            problem = self._refused or "Content-Length is larger than the message"
            self._length = None
            return MalformedFrame(problem)
        if len(self._buffer) < length:
            if self._refused is not None:
                self._skip(length, max(0, len(self._buffer) - _LONGEST_LENGTH))
            return None
        body = bytes(self._buffer[:length])
        refused = self._refused
        if body.rstrip()[-1:] in {b"}", b"]"}:
            del self._buffer[:length]
        else:
            # The length is wrong: the next header may begin in here, or later.
            self._lost = True
            del self._buffer[: max(0, length - _LONGEST_LENGTH)]
        self._length = None
        return body if refused is None else MalformedFrame(refused)

    def _skip(self, length: int, n_bytes: int) -> None:
        del self._buffer[:n_bytes]
        self._length = length - n_bytes
        self._scanned = max(0, self._scanned - n_bytes)

    def _next_header(self, length: int) -> int | None:
        """Where the header of another message begins before ``length`` bytes of body are over."""
        end = length + _LONGEST_LENGTH
        while (line_end := self._buffer.find(b"\n", self._scanned, end)) >= 0:
            first = max(0, line_end - _LONGEST_LENGTH)
            self._scanned = line_end + 1
            found = _LENGTH_AT_END.search(bytes(self._buffer[first:line_end]))
            if found is not None and first + found.start() < length:
                return first + found.start()
        self._scanned = max(self._scanned, min(len(self._buffer), end))
        return None

    def _lose(self, problem: str) -> MalformedFrame:
        """Report what makes no sense, once for all of it between two messages."""
        first, self._lost = not self._lost, True
        return MalformedFrame(problem) if first else _SKIPPED


_SKIPPED = MalformedFrame("")
"""Something was read of which nothing is to be reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Headers:
    length: int | None = None
    charset: bytes = b"utf-8"
    problem: str = ""


def _read_headers(headers: bytes) -> _Headers:
    """The headers before a blank line; what comes before the last run of them is reported."""
    lines = _LINE_END.split(headers)
    lengths: list[bytes] = []
    charset, junk = b"utf-8", b""
    for line in reversed(lines):
        field = _FIELD.fullmatch(line)
        name = b"" if field is None else field[1].lower()
        if field is not None and name == b"content-length":
            lengths.append(field[2])
        elif field is not None and name == b"content-type":
            named = _CHARSET.search(field[2])
            charset = charset if named is None else named[1].lower()
        elif field is None and line.strip():
            junk = line
            break
    found = _Headers(
        charset=charset, problem=f"these are not headers: {junk[:80]!r}" if junk else ""
    )
    return _with_length(found, lengths) if lengths else _with_last_length(found, lines, headers)


def _with_length(found: _Headers, lengths: list[bytes]) -> _Headers:
    """The headers with their one length; without a certain one no message can be cut off."""
    if len(set(lengths)) > 1:
        return _Headers(problem="Content-Length is there more than once")
    if not (lengths[0].isdigit() and len(lengths[0]) < 16):
        return _Headers(problem=f"Content-Length is not a number: {lengths[0][:40]!r}")
    return replace(found, length=int(lengths[0]))


def _with_last_length(found: _Headers, lines: list[bytes], headers: bytes) -> _Headers:
    """What a wrong length left over may run into the next header, which ends the line then."""
    at_end = [each for line in lines if (each := _LENGTH_AT_END.search(line))]
    if not at_end:
        return _Headers(problem=f"no Content-Length in the headers {headers[:80]!r}")
    problem = found.problem or "bytes between two messages"
    return replace(found, length=int(at_end[-1][1]), problem=problem)


def frame(body: bytes) -> bytes:
    """A body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
