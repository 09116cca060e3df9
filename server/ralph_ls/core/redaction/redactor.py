"""Redaction of secrets in logs, journal, messages and on the screen.

Agents print environments, stack traces and commands; what is kept of that is read and pasted into
issues. Known secrets are replaced in all their written forms (``known_secrets``), and tokens by
their shape (``token_rules``), in texts, bytes and streams.

Most data contains no secret, and Python's regular expressions are ten times too slow to find that
out for a hundred patterns. pydantic brings an engine that searches all of them in one pass in
linear time; it filters the data first.

No secret is part of a ``repr`` or message of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial

from pydantic_core import SchemaError, SchemaValidator, core_schema

from ralph_ls.core.redaction.known_secrets import (
    COLOUR,
    SecretForms,
    pattern_of,
    room_for,
    written_forms,
)
from ralph_ls.core.redaction.secret_names import MINIMAL_LENGTH, is_guessable, secrets_of
from ralph_ls.core.redaction.token_rules import (
    CONTEXT,
    PREFIXES,
    SHAPES,
    TOKEN_RULES,
    TokenRule,
    beginning_of_token,
)

SecretFilter = Callable[[bytes], bool]

_FILTER_COLOUR = re.compile(COLOUR)
_WRAP = r"(?:[ \t]*(?:\r?\n|\r|\\r\\n|\\[nr])[ \t]*)?"
_ESCAPED_COLOUR = r"\\(?:u001b|x1b|033|e)\["
_MOST_REQUIRED = 12
"""Characters of a token after its prefix that the filter checks."""
_AT_ONCE = 120
"""Forms per search; more of them make it slow."""
_LENGTHS = (12, 8, 6)
"""Characters of each form that are searched; shorter where the pattern gets too large."""


def make_secret_filter(forms: Sequence[bytes]) -> SecretFilter:
    """A predicate that is true for all data that may contain a form or a token."""
    groups = [forms[start : start + _AT_ONCE] for start in range(0, len(forms), _AT_ONCE)]
    searches = [_search([*_TOKENS, _ESCAPED_COLOUR], groups[0] if groups else ())]
    searches += [_search([], group) for group in groups[1:]]

    def may_hold(data: bytes) -> bool:
        text = data.decode("latin-1")
        if any(search(text) for search in searches):
            return True
        if b"\x1b" not in data:
            return False
        text = _FILTER_COLOUR.sub(b"", data).decode("latin-1")
        return any(search(text) for search in searches)

    return may_hold


def may_hold_prefix(data: bytes) -> bool:
    """Whether ``data`` may contain a token with a fixed prefix."""
    return _prefix_search()(data.decode("latin-1"))


@cache
def _prefix_search() -> Callable[[str], bool]:
    return _search(_PREFIXES, ())


def _search(tokens: Sequence[str], forms: Sequence[bytes]) -> Callable[[str], bool]:
    for length in _LENGTHS:
        wanted = [*tokens, *(_WRAP.join(map(_escape, form[:length])) for form in forms)]
        try:
            return SchemaValidator(
                core_schema.str_schema(pattern="|".join(wanted), regex_engine="rust-regex")
            ).isinstance_python
        except SchemaError:
            continue
    return lambda _: True  # Too many for one pattern: all data takes the slow search.


def _escape(byte: int) -> str:
    return chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\x{{{byte:02x}}}"


def _of_rule(prefix: str, body: bytes, least: int) -> str:
    required = f"{body.decode()}{{{min(least, _MOST_REQUIRED)}}}"
    return "".join(map(_escape, prefix.encode())) + required


_PREFIXES = tuple(_of_rule(*rule) for rule in TOKEN_RULES)
_TOKENS = (
    *_PREFIXES,
    r"""://[^ \t-\r/:@"'<>\\`?#]*:[^ \t-\r/@"'<>\\`?#]+@""",
    r"eyJ[A-Za-z0-9_\-]{10,512}\.eyJ",
    r"PRIVATE KEY[ BLOCK]{0,6}-----",
    r"DEK-Info: ",
    r"Bearer [A-Za-z0-9._~+/=\-]{12}",
)


__all__ = ["MINIMAL_LENGTH", "Redactor", "StreamRedactor", "is_guessable", "secrets_of"]


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces secrets by ``[redacted NAME]``; build it once and share it.

    The longest form of a secret is replaced first, so that one which contains another is replaced
    as a whole.
    """

    secrets: Mapping[str, str] = field(repr=False)
    """From ``secrets_of``: displayed name to secret value."""
    needles: SecretForms = field(init=False, repr=False, compare=False)
    _may_hold: Callable[[bytes], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        labels: dict[bytes, bytes] = {}
        for name, value in self.secrets.items():
            label = b"[redacted %b]" % name.encode("utf-8", "replace")
            for form in written_forms(value):
                labels.setdefault(form, label)
        object.__setattr__(self, "needles", SecretForms(labels))
        object.__setattr__(self, "_may_hold", make_secret_filter(tuple(self.needles.labels)))

    def redact(self, text: str) -> str:
        """Redact a text, which may contain lone surrogates."""
        data = text.encode("utf-8", "surrogatepass")
        redacted = self.redact_bytes(data)
        return text if redacted is data else redacted.decode("utf-8", "surrogatepass")

    def redact_bytes(self, data: bytes) -> bytes:
        """Redact bytes; returns the same object where nothing is found."""
        finder = self.finder_for(data)
        if finder is None:
            return data
        pieces: list[bytes] = []
        end = 0
        while (found := finder.find(end)) is not None:
            pieces += (data[end : found.start], found.label)
            end = found.end
            if found.rest is not None:
                end = end_of_rest(found.rest, data, end)
        return b"".join([*pieces, data[end:]]) if pieces else data

    def finder_for(self, data: bytes) -> SecretFinder | None:
        """The finder for ``data``; None where nothing can be in it, as in most data."""
        if not self._may_hold(data):
            return None
        return SecretFinder(data, self.needles.labels, self.needles.in_data(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSecret:
    """One secret: its span, and the replacement."""

    place: int
    """Start of the part that identifies it, such as the scheme of a URL."""
    start: int
    end: int
    label: bytes
    rest: bytes | None
    """The set of characters that continue it."""


class SecretFinder:
    """Finds secrets in one piece of data, one after the other.

    Each form and rule is searched again only when its last match was passed: one combined pattern
    would try each at every byte.
    """

    def __init__(self, data: bytes, labels: Mapping[bytes, bytes], forms: Sequence[bytes]) -> None:
        self._data = data
        rules = (*SHAPES, *PREFIXES) if may_hold_prefix(data) else SHAPES
        self._sources: list[Callable[[int], FoundSecret | None]] = [
            *(partial(self._next_form, form, labels[form]) for form in forms),
            *(partial(self._next_token, rule) for rule in rules if rule.landmark in data),
        ]
        self._next: list[FoundSecret | None] = [source(0) for source in self._sources]

    def find(self, start: int) -> FoundSecret | None:
        """The first secret from ``start``, which never decreases; the longest form wins."""
        first: FoundSecret | None = None
        for number, known in enumerate(self._next):
            passed = known is not None and known.place < start
            found = self._sources[number](start) if passed else known
            self._next[number] = found
            if found is not None and (first is None or found.start < first.start):
                first = found
        return first

    def _next_form(self, form: bytes, label: bytes, start: int) -> FoundSecret | None:
        pattern = _pattern_of(form)
        while (match := pattern.search(self._data, start)) is not None:
            # A form that is scattered too widely is ignored: what a stream holds back is limited.
            if match.end() - match.start() <= room_for(len(form)):
                start, end = match.span()
                return FoundSecret(place=start, start=start, end=end, label=label, rest=None)
            start = match.start() + 1
        return None

    def _next_token(self, rule: TokenRule, start: int) -> FoundSecret | None:
        place = self._data.find(rule.landmark, start)
        while place >= 0:
            if (match := rule.pattern.match(self._data, place)) is not None:
                start, end = match.span(1)
                return FoundSecret(
                    place=place, start=start, end=end, label=rule.label, rest=rule.rest
                )
            place = self._data.find(rule.landmark, place + 1)
        return None


class StreamRedactor:
    """Redacts a stream of bytes, however it is cut into chunks.

    The concatenated output equals ``Redactor.redact_bytes`` of the whole input. Only what may be
    the beginning of a secret is held back, never more than the length of one; an endless token is
    replaced when it is recognised, and the rest of it is dropped.
    """

    __slots__ = ("_context", "_held", "_redactor", "_swallowing")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self._context = b""
        self._swallowing: bytes | None = None

    def feed(self, data: bytes) -> bytes:
        """Add bytes; return those that are ready to be written."""
        return self._advance(data, at_end=False)

    def finish(self) -> bytes:
        """Return what was held back at the end of the stream."""
        return self._advance(b"", at_end=True)

    def _advance(self, data: bytes, *, at_end: bool) -> bytes:
        buffer = self._context + self._held + data
        position = len(self._context)
        if self._swallowing is not None:
            position = self._swallow(self._swallowing, buffer, position, at_end=at_end)
        pieces: list[bytes] = []
        finder = self._redactor.finder_for(buffer)
        undecided = len(buffer) if at_end else self._undecided_from(buffer, position)
        while finder is not None:
            found = finder.find(position)
            if found is None:
                break
            if found.start >= undecided:
                undecided = min(undecided, max(position, found.place))
                break
            pieces += (buffer[position : found.start], found.label)
            position = found.end
            if found.rest is not None:
                position = self._swallow(found.rest, buffer, position, at_end=at_end)
            if undecided < position:
                undecided = len(buffer) if at_end else self._undecided_from(buffer, position)
        if self._swallowing is not None:
            undecided = position
        pieces.append(buffer[position:undecided])
        self._held = buffer[undecided:]
        self._context = buffer[max(0, undecided - CONTEXT) : undecided]
        return b"".join(pieces)

    def _swallow(self, rest: bytes, buffer: bytes, start: int, *, at_end: bool) -> int:
        """End of the current token as far as it is known; following bytes may continue it."""
        end = end_of_rest(rest, buffer, start)
        # A lone backslash may be the first half of an escaped line end.
        goes_on = buffer[end:] in {b"", b"\\"} and not at_end
        self._swallowing = rest if goes_on else None
        return end

    def _undecided_from(self, buffer: bytes, start: int) -> int:
        """The first position from ``start`` at which further bytes could complete a secret."""
        places = (
            self._redactor.needles.beginning(buffer, start),
            beginning_of_token(buffer, start),
        )
        return min((place for place in places if place is not None), default=len(buffer))


@lru_cache(maxsize=256)
def _pattern_of(form: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern_of(form))


@lru_cache(maxsize=64)
def _rest_of(characters: bytes) -> re.Pattern[bytes]:
    return re.compile(characters + b"*")


def end_of_rest(characters: bytes, data: bytes, start: int) -> int:
    """End of a token that is continued by these characters."""
    match = _rest_of(characters).match(data, start)
    return start if match is None else match.end()
