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
    between = _between(text, holder, parts_of(holder))
    added = between + to_json(key) + colon + raw
    return text[: last.node.end] + added + text[last.node.end :]


def parts_of(holder: JsonNode) -> tuple[tuple[int, int], ...]:
    """Where the items of a list begin and end, or the members of an object with their keys."""
    if holder.members is not None:
        return tuple((member.start, member.node.end) for member in holder.members)
    return tuple((item.start, item.end) for item in holder.elements)


def values_of(holder: JsonNode) -> tuple[JsonNode, ...]:
    """The items of a list or the values of an object, in the order of ``parts_of``."""
    if holder.members is not None:
        return tuple(member.node for member in holder.members)
    return holder.elements


def with_item(text: str, holder: JsonNode, behind: int | None, raw: str) -> str:
    """The text with a part inserted into a list or object: behind the nth, or first.

    ``raw`` is an item, or a member with its key. An empty list or object gets no white space.
    """
    parts = parts_of(holder)
    if not parts:
        return text[: holder.start + 1] + raw + text[holder.end - 1 :]
    between = _between(text, holder, parts)
    if behind is None:
        at = parts[0][0]
        return text[:at] + raw + between + text[at:]
    at = parts[behind][1]
    return text[:at] + between + raw + text[at:]


def without_item(text: str, holder: JsonNode, nth: int) -> str:
    """The text without the nth part of a list or object and its comma."""
    parts = parts_of(holder)
    if len(parts) == 1:
        return text[: holder.start + 1] + text[holder.end - 1 :]
    if nth + 1 < len(parts):
        return text[: parts[nth][0]] + text[parts[nth + 1][0] :]
    return text[: parts[nth - 1][1]] + text[parts[nth][1] :]


def with_moved_item(text: str, holder: JsonNode, nth: int, before: int | None) -> str:
    """The text with the nth part before another one, or behind the last; separators stay."""
    parts = parts_of(holder)
    order = [place for place in range(len(parts)) if place != nth]
    order.insert(len(order) if before is None else before - (before > nth), nth)
    moved: list[str] = []
    end = 0
    for (start, slot_end), place in zip(parts, order, strict=True):
        moved += text[end:start], text[slice(*parts[place])]
        end = slot_end
    return "".join([*moved, text[end:]])


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
