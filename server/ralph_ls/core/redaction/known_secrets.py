"""Known secrets: their written forms, and where a stream may contain one.

A secret may appear as it is, in JSON, in URLs, as hex and as base64. Base64 has three forms,
depending on the secret's offset in the encoded data; of each, only the characters that depend on
nothing but the secret are searched. Forms are also found where they are wrapped over lines or
coloured.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from urllib.parse import quote, quote_plus

SHORTEST_FORM = 8
"""Bytes; a shorter form would match ordinary words."""
LONGEST_FORM = 256
"""Bytes of a form that are searched at once; a longer form is searched in pieces."""

WRAP = rb"[ \t]{0,16}(?:\r?\n|\r|\\r\\n|\\[nr])[ \t]{0,16}"
"""A line end with its indentation, or one escaped in a string."""
COLOUR = rb"(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-9;:]{0,24}[mK]"
"""A terminal colour code, or one escaped in a string."""

_NOISE = re.compile(b"%b|%b" % (WRAP, COLOUR))
_PERCENT = re.compile(r"%[0-9A-F]{2}")


def written_forms(value: str) -> tuple[bytes, ...]:
    """The byte strings to search for, without line ends, which are possible anywhere in a form."""
    found: dict[bytes, None] = {}
    for form in _forms(value):
        found.update(dict.fromkeys(_pieces(_without_noise(form))))
    return tuple(found)


def _without_noise(form: bytes) -> bytes:
    joined = _NOISE.sub(b"", form)
    return joined if joined == form else _without_noise(joined)


def _pieces(form: bytes) -> Iterator[bytes]:
    if len(form) <= LONGEST_FORM:
        pieces = [form]
    else:
        pieces = [form[start : start + LONGEST_FORM] for start in range(0, len(form), LONGEST_FORM)]
    return (piece for piece in pieces if len(piece) >= SHORTEST_FORM)


def _forms(value: str) -> Iterator[bytes]:
    written = list(dict.fromkeys(_as_text(value)))
    for text in written:
        yield from _encoded(text)
        if " " in text or "\t" in text:
            # The line may have been wrapped at a space, which is then missing.
            yield from _encoded("".join(text.split()))
    for data in dict.fromkeys(_encoded(value)):
        yield data.hex().encode()
        yield data.hex().upper().encode()
        yield from _in_base64(data)


def _as_text(value: str) -> Iterator[str]:
    yield value
    in_json = json.dumps(value, ensure_ascii=False)[1:-1]
    yield in_json
    yield json.dumps(value)[1:-1]
    # JSON streams often contain the JSON output of a tool.
    yield json.dumps(in_json, ensure_ascii=False)[1:-1]
    for quote_text in (quote, quote_plus):
        text = quote_text(value, safe="", errors="replace")
        yield text
        yield _PERCENT.sub(lambda match: match[0].lower(), text)


def _encoded(text: str) -> Iterator[bytes]:
    for errors in ("surrogatepass", "surrogateescape"):
        try:
            yield text.encode("utf-8", errors)
        except UnicodeEncodeError:
            # A lone surrogate has no bytes, so the form above is the only one.
            continue


def _in_base64(data: bytes) -> Iterator[bytes]:
    for n_before in range(3):
        encoded = base64.b64encode(bytes(n_before) + data)
        first = -(-n_before * 8 // 6)
        last = (n_before + len(data)) * 8 // 6
        core = encoded[first:last]
        yield core
        yield core.translate(bytes.maketrans(b"+/", b"-_"))
        # JSON may escape a slash.
        yield core.replace(b"/", rb"\/")


_COLOUR = re.compile(COLOUR)
_UNFINISHED = re.compile(rb"(?:\x1b(?:\[[0-9;:]{0,24})?|\\[ux0e][0-9a-f\[;:]{0,32})\Z")
"""An incomplete colour code."""
_LONGEST_COLOUR = 40
_LINE_END = re.compile(rb"[\r\n]|\\[rn]")
_COLOURS = b"(?:%b){0,3}" % COLOUR
# Unambiguous on purpose: alternatives that can split the same text differently between two
# characters make matching exponential.
_GAP = b"%b(?:%b%b)?" % (_COLOURS, WRAP, _COLOURS)

BEFORE_WRAP = 4
"""Minimum number of characters of a form on one line."""

_ROOM = 16
"""Factor by which colours may lengthen a form."""
_ROOM_FOR_WRAPS = 256


class SecretForms:
    """The written forms of all secrets, the longest first."""

    def __init__(self, labels: Mapping[bytes, bytes]) -> None:
        """``labels`` maps each form to its replacement; no form contains a line end."""
        ordered = sorted(labels, key=lambda form: (-len(form), form))
        self.labels: dict[bytes, bytes] = {form: labels[form] for form in ordered}
        self.longest = max(map(len, self.labels), default=0)
        self._bare = [(form.translate(None, _BARE), form) for form in self.labels]

    def in_data(self, data: bytes) -> tuple[bytes, ...]:
        """The forms that may be in ``data``: all that are, and hardly any other."""
        bare = _COLOUR.sub(b"", data).translate(None, _BARE)
        return tuple(form for squeezed, form in self._bare if squeezed in bare)

    def beginning(self, buffer: bytes, start: int) -> int | None:
        """The first position from ``start`` at which an incomplete form may begin.

        Ignores everything that wrapping and colours may insert into a form, so more may be held
        back than necessary, but never less.
        """
        if not self.labels or start >= len(buffer):
            return None
        first = max(start, len(buffer) - room_for(self.longest))
        tail = buffer[first:]
        places = [self._begins_in(tail)]
        if (
            unfinished := _UNFINISHED.search(tail, max(0, len(tail) - _LONGEST_COLOUR))
        ) is not None:
            places.append(self._begins_in(tail[: unfinished.start()]))
        found = [place for place in places if place is not None]
        return first + min(found) if found else None

    def _begins_in(self, tail: bytes) -> int | None:
        may_have_colours = b"\x1b" in tail or b"\\" in tail
        spans = [match.span() for match in _COLOUR.finditer(tail)] if may_have_colours else []
        bare = (_COLOUR.sub(b"", tail) if spans else tail).translate(None, _BARE)
        for length in range(min(len(bare), self.longest - 1), 0, -1):
            leads = self._beginnings.get(bare[-length:])
            if leads is not None:
                place = _place_from_end(tail, spans, length, leads)
                if leads or not _is_wrapped_early(tail[place:]):
                    return place
        if self._leads:
            place = _place_from_end(tail, spans, 0, self._leads)
            return place if place < len(tail) else None
        return None

    @cached_property
    def _beginnings(self) -> dict[bytes, bytes]:
        """Each proper prefix of a form, without insertions, with the bare characters before it."""
        found: dict[bytes, bytes] = {}
        for bare, form in self._bare:
            lead = form[:1] if form[:1] in _BARE_BYTES else b""
            for end in range(1, len(bare) + (len(bare) < len(form))):
                found[bare[:end]] = found.get(bare[:end], b"") + lead
        return found

    @cached_property
    def _leads(self) -> bytes:
        return bytes({form[0] for form in self.labels if form[:1] in _BARE_BYTES})


_BARE = b" \t\r\n\\nr"
"""Characters that wrapping may put between two others."""
_BARE_BYTES = frozenset(bytes([byte]) for byte in _BARE)


def room_for(length: int) -> int:
    """Bytes that a form of this length may occupy with all insertions."""
    return _ROOM * length + _ROOM_FOR_WRAPS


def pattern_of(form: bytes) -> bytes:
    """A pattern for a form with line ends and colours between its characters.

    No wrap is accepted within the first few characters: otherwise every line that ends with a
    secret's first character would be held back.
    """
    characters = [re.escape(bytes([byte])) for byte in form]
    first = _COLOURS.join(characters[:BEFORE_WRAP])
    return _GAP.join([first, *characters[BEFORE_WRAP:]])


def _is_wrapped_early(part: bytes) -> bool:
    wrap = _LINE_END.search(_COLOUR.sub(b"", part))
    return wrap is not None and wrap.start() < BEFORE_WRAP


def _place_from_end(tail: bytes, colours: list[tuple[int, int]], length: int, leads: bytes) -> int:
    """Start of the last ``length`` bytes that are neither bare nor in a colour code.

    ``leads`` extends it backwards over bytes after which only such insertions follow.
    """
    spans = {end: start for start, end in colours}
    place = best = len(tail)
    while place > 0:
        if place in spans:
            place = spans[place]
        elif tail[place - 1] in _BARE:
            place -= 1
            if not length and tail[place] in leads:
                best = place
        elif length:
            place, length = place - 1, length - 1
            if not length:
                best = place
            if not length and not leads:
                break
        else:
            break
    return best
