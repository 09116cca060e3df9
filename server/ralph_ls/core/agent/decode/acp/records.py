"""The messages of the Agent Client Protocol, as far as we read them, and our client's own records.

Agents are older and newer than any schema, and write ``null``, a number or an object where another
writes nothing. So a line is read as it is, and each value is looked at where it is used: one that
has another shape than ours is as good as none. It must never know what a message means for a loop.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ralph_ls.core.agent.decode.records import decode

Record = dict[str, Any]

OWN = "client"
"""The key that only our own client's records have; its value says what they tell."""


def read_line(line: bytes) -> Record | None:
    """Read one line; None for one that is no record."""
    return decode(_RECORD, line) if line.strip() else None


def text_at(record: Record, *path: str) -> str:
    """The text that stands there; empty where none does."""
    found = value_at(record, *path)
    return found if isinstance(found, str) else ""


def count_at(record: Record, *path: str) -> int | None:
    """The count that stands there; None where none does."""
    found = value_at(record, *path)
    is_count = isinstance(found, int) and not isinstance(found, bool) and found >= 0
    return found if is_count else None


def record_at(record: Record, *path: str) -> Record:
    """The object that stands there; empty where none does."""
    found = value_at(record, *path)
    return found if isinstance(found, dict) else {}


def rows_at(record: Record, *path: str) -> list[Record]:
    """The objects of the list that stands there."""
    found = value_at(record, *path)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def value_at(record: Record, *path: str) -> Any:
    """Whatever stands there."""
    found: Any = record
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


_RECORD = msgspec.json.Decoder(Record)
