"""Reading one JSON record of a line: broken, cut and odd ones give None, and nothing raises.

It must never know what the records of any agent mean.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TypeVar

import msgspec

NOTHING = msgspec.Raw(b"null")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A line that is no record: a warning of the program, or of something around it."""

    text: str


def type_of(line: bytes) -> bytes | None:
    """The ``type`` of a record, empty where it has none; None for a line that is no record."""
    first = _TYPE_FIRST.match(line)
    if first is not None:
        return first[1]
    return kind_of(line).encode() if line.lstrip().startswith(b"{") else None


def words_of(line: bytes) -> Words | None:
    """What a line says that is no record; None where it is blank."""
    text = line.decode("utf-8", errors="replace").strip()
    return Words(text=text) if text else None


def kind_of(data: bytes | msgspec.Raw) -> str:
    """The ``type`` of an object wherever it stands; empty where there is none."""
    found = decode(_KIND, data)
    return "" if found is None else found.type


def decode(decoder: msgspec.json.Decoder[Value], data: bytes | msgspec.Raw) -> Value | None:
    """Decode; None where the JSON is broken, or has another shape than ours.

    Bytes that are no UTF-8 and halves of surrogate pairs, which a program that cuts texts anywhere
    leaves, are replaced first; NUL bytes and their like may stand in texts as they are.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            mended = json.loads(bytes(data).decode("utf-8", errors="replace"), strict=False)
            return decoder.decode(json.dumps(mended, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError, msgspec.DecodeError):
            return None


class _Kind(msgspec.Struct):
    type: str = ""


_KIND = msgspec.json.Decoder(_Kind)

_TYPE_FIRST = re.compile(rb'\{"type":"([\w.]+)"')
"""How a record begins as the programs write it, which then needs no reading to know its type."""
