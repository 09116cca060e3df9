"""JSON edits: one member or item changed, added, moved or removed; all other bytes stay.

A new member or item is indented and spaced like the one before it. The text must be JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ralph_ls.core.plan.formats.json_text import JsonNode, last_members, scan_json
from ralph_ls.protocol.errors import RalphError


def with_member(text: str, holder: JsonNode, key: str, raw: str) -> str:
    """The text with one member of an object changed or added; ``raw`` is JSON."""
    known = last_members(holder).get(key)
    if known is not None:
        return text[: known.node.start] + raw + text[known.node.end :]
    members = holder.members or ()
    if not members:
        inside = f"{to_json(key)}: {raw}"
        return text[: holder.start + 1] + inside + text[holder.end - 1 :]
    last = members[-1]
    colon = text[last.end : last.node.start]
    between = _between(text, holder, [(member.start, member.node.end) for member in members])
    added = between + to_json(key) + colon + raw
    return text[: last.node.end] + added + text[last.node.end :]


def with_item(text: str, array: JsonNode, behind: int | None, raw: str) -> str:
    """The text with an item inserted into a non-empty list: behind the nth, or first."""
    items = array.elements
    between = _between(text, array, [(item.start, item.end) for item in items])
    if behind is None:
        at = items[0].start
        return text[:at] + raw + between + text[at:]
    at = items[behind].end
    return text[:at] + between + raw + text[at:]


def without_item(text: str, array: JsonNode, nth: int) -> str:
    """The text without the nth item of a list and its comma."""
    items = array.elements
    if len(items) == 1:
        return f"{text[: array.start]}[]{text[array.end :]}"
    if nth + 1 < len(items):
        return text[: items[nth].start] + text[items[nth + 1].start :]
    return text[: items[nth - 1].end] + text[items[nth].end :]


def with_moved_item(text: str, array: JsonNode, nth: int, before: int | None) -> str:
    """The text with the nth item before another one, or behind the last; separators stay."""
    items = array.elements
    order = [place for place in range(len(items)) if place != nth]
    order.insert(len(order) if before is None else before - (before > nth), nth)
    parts: list[str] = []
    end = 0
    for slot, place in zip(items, order, strict=True):
        parts += text[end : slot.start], text[items[place].start : items[place].end]
        end = slot.end
    return "".join([*parts, text[end:]])


def require_json(text: str) -> JsonNode:
    """The value that a text is; raises RalphError where it is not JSON."""
    scanned = scan_json(text)
    if scanned.faults or scanned.root is None:
        wrong = scanned.faults[0]
        line = text.count("\n", 0, wrong.start) + 1
        raise RalphError(
            f"line {line} of the plan is not valid JSON: {wrong.message}; fix that first"
        )
    return scanned.root


def to_json(value: object) -> str:
    """A value as JSON without escapes for non-ASCII characters, and valid as UTF-8."""
    written = json.dumps(value, ensure_ascii=False)
    return written.encode("utf-8", "replace").decode("utf-8")


def _between(text: str, holder: JsonNode, parts: Sequence[tuple[int, int]]) -> str:
    """The separator of members or items here: a comma with the white space of this text."""
    if len(parts) > 1:
        return text[parts[-2][1] : parts[-1][0]]
    return "," + (text[holder.start + 1 : parts[0][0]] or " ")
