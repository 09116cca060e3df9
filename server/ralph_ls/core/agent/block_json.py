"""The JSON shape of a status block: one object of plain values.

It exists because agents that are asked for a block sometimes answer with an object of its fields.
It must never know where in the text the object stood.
"""

from __future__ import annotations

import json
import re

from ralph_ls.core.agent.block_fields import KNOWN_FIELDS, to_key


def read_json_fields(text: str, position: int) -> tuple[dict[str, str], int] | None:
    """Read the object at a position, and where it ends; None where there is none with fields.

    Values are given as text: ``true``, ``3``, the items of a list a line each. An object with
    another one inside, or with a brace in a text, is none: so the time stays linear.
    """
    match = _OBJECT.match(text, position)
    if match is None:
        return None
    try:
        values = json.loads(match[1], strict=False)
        fields = {to_key(key): _to_text(value) for key, value in values.items()}
    except (ValueError, RecursionError):
        return None
    return None if KNOWN_FIELDS.isdisjoint(fields) else (fields, match.end())


_OBJECT = re.compile(r"[\s*_`]{0,100}+(?:json\s{1,100}+)?(\{[^{}]*+\})", re.IGNORECASE)


def _to_text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case list():
            return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in value)
        case _:
            return json.dumps(value)
