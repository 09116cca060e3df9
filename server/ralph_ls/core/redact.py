"""Keeping secrets out of everything that is written: logs, journal, messages, the screen.

An agent prints its environment, a stack trace, a curl command; what we keep of it is read by
people and pasted into issues. This module knows what a secret looks like and how to take it out of
text, bytes and streams. It must never know where the environment or the bytes come from, and a
secret must never be part of a ``repr`` or of a message of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

MINIMAL_LENGTH = 8
"""A shorter value of a variable would be found in innocent words (SPEC §10)."""

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)

CONTEXT = 3
"""How many bytes before a token decide whether it begins there."""


def secrets_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets among environment variables, by the variable's name (SPEC §10).

    White space around a value is no part of it: a key read from a file often ends in a line feed.
    """
    values = {name: environment[name].strip() for name in sorted(environment)}
    return {
        name: value
        for name, value in values.items()
        if len(value) >= MINIMAL_LENGTH and SECRET_NAME.search(name)
    }


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces secrets by ``[redacted NAME]``; build it once, it is shared by all that write.

    The longest secret is taken first, so that one which holds another is replaced as a whole.
    A value is also found as JSON writes it, since most agents speak JSON.
    """

    secrets: Mapping[str, str] = field(repr=False)
    """From ``secrets_of``: the name that is shown, to the value that is not."""
    labels: dict[bytes, bytes] = field(init=False, repr=False, compare=False)
    """Every written form of every secret, the longest first, to what is written for it."""

    def __post_init__(self) -> None:
        labels: dict[bytes, bytes] = {}
        for name, value in self.secrets.items():
            for written in filter(None, _as_written(value)):
                labels.setdefault(written, _label(name.encode("utf-8", "replace")))
        ordered = sorted(labels, key=lambda secret: (-len(secret), secret))
        object.__setattr__(self, "labels", {secret: labels[secret] for secret in ordered})

    def redact(self, text: str) -> str:
        """``text`` without its secrets; any text will do, also one with lone surrogates."""
        data = text.encode("utf-8", "surrogatepass")
        redacted = self.redact_bytes(data)
        return text if redacted is data else redacted.decode("utf-8", "surrogatepass")

    def redact_bytes(self, data: bytes) -> bytes:
        """``data`` without its secrets; the same object where it holds none."""
        pattern = self.pattern_for(data)
        return data if pattern is None else pattern.sub(self.replacement, data)

    def replacement(self, match: re.Match[bytes]) -> bytes:
        """What is written for a match of ``pattern_for``."""
        found = match.group()
        label = self.labels.get(found)
        return _label(_kind_of(match).name_in(found)) if label is None else label

    def pattern_for(self, data: bytes) -> re.Pattern[bytes] | None:
        """What may be found in ``data``: most chunks hold none, and a plain search is faster."""
        secrets = tuple(secret for secret in self.labels if secret in data)
        kinds = tuple(index for index, kind in enumerate(_KINDS) if kind.landmark in data)
        return _compile(secrets, kinds) if secrets or kinds else None


class StreamRedactor:
    """Takes secrets out of a stream of bytes, however it is cut into chunks.

    The output, put together, is what ``Redactor.redact_bytes`` makes of the whole. Only what could
    be the beginning of a secret is held back, never more than the longest secret is long; a token
    without an end is replaced when it is recognised, and the rest of it is dropped as it comes.
    """

    __slots__ = ("_context", "_held", "_redactor", "_swallowing")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._context = b""
        self._swallowing: re.Pattern[bytes] | None = None

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes; give what is ready to be written."""
        return self._advance(data, at_end=False)

    def finish(self) -> bytes:
        """Give what was held back: nothing comes after it."""
        return self._advance(b"", at_end=True)

    def _advance(self, data: bytes, *, at_end: bool) -> bytes:
        buffer = self._context + self._held + data
        position = len(self._context)
        if self._swallowing is not None and position < len(buffer):
            position = _end_of(self._swallowing, buffer, position)
            if position < len(buffer):
                self._swallowing = None
        pieces: list[bytes] = []
        pattern = self._redactor.pattern_for(buffer)
        undecided = len(buffer) if at_end else self._undecided_from(buffer, position)
        while pattern is not None:
            match = pattern.search(buffer, position)
            if match is None or match.start() >= undecided:
                break
            pieces += (buffer[position : match.start()], self._redactor.replacement(match))
            position = match.end()
            if match.lastgroup is not None and position == len(buffer):
                self._swallowing = _kind_of(match).rest
            if undecided < position:
                undecided = self._undecided_from(buffer, position)
        pieces.append(buffer[position:undecided])
        self._held = buffer[undecided:]
        self._context = buffer[max(0, undecided - CONTEXT) : undecided]
        return b"".join(pieces)

    def _undecided_from(self, buffer: bytes, start: int) -> int:
        """The first place from ``start`` on where more bytes could still make a secret."""
        undecided = len(buffer)
        for secret in self._redactor.labels:
            place = buffer.find(secret[:1], max(start, len(buffer) - len(secret) + 1))
            while 0 <= place < undecided:
                if secret.startswith(buffer[place:]):
                    undecided = place
                    break
                place = buffer.find(secret[:1], place + 1)
        beginning = _BEGINNINGS.search(buffer, max(start, len(buffer) - _LONGEST_BEGINNING))
        return undecided if beginning is None else min(undecided, beginning.start())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A kind of token that is known by its first characters, whoever holds it (SPEC §10)."""

    atoms: tuple[bytes, ...]
    """The prefix, one pattern a character."""
    landmark: bytes
    """A plain part of the prefix, to look for quickly."""
    body: bytes
    """The set of characters that a token goes on with."""
    least: int
    """How many of them make it a token rather than a word about tokens."""
    guard: bytes = b""
    """What must hold before the prefix, written to stand after it."""

    @property
    def pattern(self) -> bytes:
        return b"".join(self.atoms) + self.guard + self.body + b"{%d,}" % self.least

    @property
    def beginning(self) -> bytes:
        """Matches every proper beginning that cannot be told to be a token yet."""
        nested = b"%s{0,%d}" % (self.body, self.least - 1)
        for atom in reversed(self.atoms[1:]):
            nested = b"(?:%s%s)?" % (atom, nested)
        return self.atoms[0] + nested

    @property
    def rest(self) -> re.Pattern[bytes]:
        return _rest_of(self.body)

    def name_in(self, token: bytes) -> bytes:
        return token[: len(self.atoms)].rstrip(b"-_")


def _atoms(prefix: str) -> tuple[bytes, ...]:
    return tuple(re.escape(letter).encode() for letter in prefix)


_KINDS = (
    _Kind(
        atoms=_atoms("sk-"),
        landmark=b"sk-",
        body=rb"[A-Za-z0-9_\-]",
        least=6,
        # "task-list" and "disk-usage" are words. In a JSON string the letter before may belong to
        # an escape such as \n, and on a terminal to a colour such as ESC[31m.
        guard=rb"(?:(?<![A-Za-z0-9]sk-)|(?<=\\[nrtbf]sk-)|(?<=[0-9\[]msk-))",
    ),
    _Kind(atoms=_atoms("ghp_"), landmark=b"ghp_", body=rb"[A-Za-z0-9]", least=6),
    _Kind(atoms=_atoms("github_pat_"), landmark=b"github_pat_", body=rb"[A-Za-z0-9_]", least=6),
    _Kind(
        atoms=(*_atoms("xox"), rb"[a-z]", rb"\-"),
        landmark=b"xox",
        body=rb"[A-Za-z0-9\-]",
        least=6,
    ),
    _Kind(atoms=_atoms("AKIA"), landmark=b"AKIA", body=rb"[A-Z0-9]", least=8),
)

_BEGINNINGS = re.compile(rb"(?:%s)\Z" % b"|".join(kind.beginning for kind in _KINDS))
_LONGEST_BEGINNING = max(len(kind.atoms) + kind.least for kind in _KINDS)


@lru_cache(maxsize=64)
def _compile(secrets: tuple[bytes, ...], kinds: tuple[int, ...]) -> re.Pattern[bytes]:
    """One pattern over what is there; groups ``k0`` … tell the kind of a token."""
    alternatives = [re.escape(secret) for secret in secrets]
    alternatives += [b"(?P<k%d>%s)" % (index, _KINDS[index].pattern) for index in kinds]
    return re.compile(b"|".join(alternatives))


@lru_cache(maxsize=len(_KINDS))
def _rest_of(body: bytes) -> re.Pattern[bytes]:
    return re.compile(body + b"*")


def _kind_of(match: re.Match[bytes]) -> _Kind:
    return _KINDS[int(str(match.lastgroup).removeprefix("k"))]


def _end_of(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    match = pattern.match(data, start)
    return start if match is None else match.end()


def _label(name: bytes) -> bytes:
    return b"[redacted %s]" % name


def _as_written(value: str) -> Iterable[bytes]:
    """The forms that a value is met in: as it is, and inside a JSON string of either style."""
    for form in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        for errors in ("surrogatepass", "surrogateescape"):
            try:
                yield form.encode("utf-8", errors)
            except UnicodeEncodeError:
                # A surrogate that stands for no byte: the form above is the only one.
                continue
