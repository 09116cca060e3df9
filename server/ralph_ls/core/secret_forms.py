"""Written forms of a secret: as it is, in JSON, in URLs, as hex and as base64.

Base64 has three forms, by where a secret begins in what is encoded. Of each, only the characters
are looked for that depend on nothing but the secret.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 8
"""Bytes of a form; a shorter one would be found in innocent words."""
LONGEST = 256
"""Bytes of a form that are looked for at once; a longer form is looked for in pieces."""

WRAP = rb"[ \t]{0,16}(?:\r?\n|\r|\\r\\n|\\[nr])[ \t]{0,16}"
"""A line end with its indentation, or one that is escaped in a string."""
COLOUR = rb"(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-9;:]{0,24}[mK]"
"""A colour code of a terminal, or one that is escaped in a string."""

_NOISE = re.compile(b"%b|%b" % (WRAP, COLOUR))
_PERCENT = re.compile(r"%[0-9A-F]{2}")


def forms_of(value: str) -> tuple[bytes, ...]:
    """What to look for, without line ends: they may be anywhere in a form."""
    found: dict[bytes, None] = {}
    for form in _forms(value):
        found.update(dict.fromkeys(_pieces(_without_noise(form))))
    return tuple(found)


def _without_noise(form: bytes) -> bytes:
    joined = _NOISE.sub(b"", form)
    return joined if joined == form else _without_noise(joined)


def _pieces(form: bytes) -> Iterator[bytes]:
    if len(form) <= LONGEST:
        pieces = [form]
    else:
        pieces = [form[start : start + LONGEST] for start in range(0, len(form), LONGEST)]
    return (piece for piece in pieces if len(piece) >= SHORTEST)


def _forms(value: str) -> Iterator[bytes]:
    written = list(dict.fromkeys(_as_text(value)))
    for text in written:
        yield from _encoded(text)
        if " " in text or "\t" in text:
            # A line may have been wrapped at a space, which is gone then.
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
    # A stream of JSON often holds what a tool printed as JSON.
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
            # A surrogate that stands for no byte: the form above is the only one.
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
