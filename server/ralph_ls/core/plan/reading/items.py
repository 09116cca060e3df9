"""List items as the scan finds them, and what nested items and lines tell about them.

Reasons (``Blocked by:``), criteria and severities stand below the item that they are about; this
module knows their words. It must never decide whether an item is a task.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.reading.headings import Section
from ralph_ls.core.plan.reading.states import read_state
from ralph_ls.core.plan.titles import fold
from ralph_ls.protocol.plan import TaskState


class Role(Enum):
    """What an item is in the item around it."""

    ITEM = auto()
    LABEL = auto()
    """``Acceptance criteria:``: what is nested in it are criteria."""
    CRITERION = auto()
    DETAIL = auto()
    """Nested in a criterion."""
    NOTE = auto()
    """``Blocked by: …`` or ``Needs: …`` in no task: it was left over when its task was removed."""


@dataclass(slots=True, kw_only=True, eq=False)
class Item:
    """What may be a task, filled in while the scan stands inside it; nobody changes it afterwards.

    A heading or a row of a table is one like a list item that nothing is nested in.
    """

    line: int
    start: int
    end: int
    column: int
    """Of the marker, tabs counted to the next multiple of four."""
    content: int
    """The column where the item's text, or its box, begins."""
    is_numbered: bool
    box: str | None
    """What stands in the box, without spaces; None without a box."""
    text: str
    """What follows marker and box."""
    section: Section
    parent: Item | None = field(repr=False)
    kind: TaskKind = TaskKind.ITEM
    mark: tuple[int, int] | None = None
    """Where in its line the state stands: inside the box, or the emoji."""
    said: TaskState | None = None
    """The state that an emoji or a ``Status:`` line says."""
    role: Role = Role.ITEM
    end_line: int = 0
    criteria: list[str] = field(default_factory=list)
    blocked_by: str | None = None
    needs: str | None = None
    severity: str | None = None
    takes_criteria: bool = False
    """True while nested items are criteria, after a label that has no nested items of its own."""
    is_bare_label: bool = False
    """True for a label that neither a text nor a nested item has followed yet."""

    @property
    def threshold(self) -> int:
        """The least column of what is nested in this item."""
        return self.column + 2


class Field(NamedTuple):
    """A line such as ``Blocked by: no key``."""

    name: str
    """In lower case: one of the names of ``_FIELD``."""
    value: str
    """May be empty."""


def read_field(text: str) -> Field | None:
    """Read a line such as ``Needs: …`` or ``**Acceptance criteria:**``; None for any other."""
    if ":" not in text:
        return None
    found = _FIELD.match(text)
    return None if found is None else Field(found[1].lower(), fold(found[2]))


def note_field(owner: Item, found: Field) -> None:
    """Note at an item what a line inside it says; the first of a kind counts."""
    if found.name == "blocked by":
        owner.blocked_by = owner.blocked_by or found.value or None
    elif found.name == "needs":
        owner.needs = owner.needs or found.value or None
    elif found.name == "severity":
        owner.severity = owner.severity or found.value.lower() or None
    elif found.name == "status":
        owner.said = owner.said or read_state(found.value)
    elif found.value:
        owner.criteria.append(found.value)
    else:
        owner.takes_criteria = True


def add_criterion(owner: Item | None, item: Item) -> None:
    """Make an item a criterion of what it stands below."""
    item.role = Role.CRITERION
    text = fold(item.text)
    if owner is not None and text:
        owner.criteria.append(text)


def settle(item: Item) -> None:
    """Say what a new item is in the item around it, and give that one what it learns from it."""
    around = item.parent
    found = read_field(item.text)
    is_label = found is not None and found.name in _LABELS
    if found is not None and item.box is not None and not (is_label and not found.value):
        found, is_label = None, False
    if around is None:
        if is_label and found is not None and not found.value:
            item.role = Role.LABEL
        elif found is not None and found.name == "status":
            item.role = Role.DETAIL
        elif found is not None and found.name in _REASONS and found.value:
            item.role = Role.NOTE
        return
    around.is_bare_label = False
    if around.role is Role.NOTE and item.box is None:
        item.role = Role.DETAIL
        return
    if around.role in {Role.CRITERION, Role.DETAIL}:
        item.role = Role.DETAIL
    elif around.role is Role.LABEL:
        add_criterion(around.parent, item)
    elif around.takes_criteria and found is None and not _announces(item):
        add_criterion(around, item)
    else:
        around.takes_criteria = False
        if is_label:
            item.role = Role.LABEL
            item.is_bare_label = found is not None and not found.value
        if found is not None and (found.value or not is_label):
            note_field(around, found)


_FIELD = re.compile(
    r"[*_]{0,3}(acceptance criteria|criteria|done when|blocked by|needs|severity|status)"
    r"[*_]{0,3}[ \t]*:[*_]{0,3}(.*)",
    re.IGNORECASE | re.DOTALL,
)
_REASONS = frozenset({"blocked by", "needs"})
_LABELS = frozenset({"acceptance criteria", "criteria", "done when"})
_LONGEST_LABEL = 40


def _announces(item: Item) -> bool:
    """Say whether an item such as ``Files:`` announces something other than criteria."""
    if item.box is not None or len(item.text) > _LONGEST_LABEL:
        return False
    return item.text.rstrip(" \t*_").endswith(":") and len(item.text.split()) == 1
