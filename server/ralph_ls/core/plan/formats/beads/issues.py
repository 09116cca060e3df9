"""Beads issue: one issue of ``bd``, read from any form of its JSON.

Releases of ``bd`` differ in what they print: a list names a dependency by ``depends_on_id`` and
``type``, a single issue by ``id`` and ``dependency_type``; empty fields are omitted. All forms give
the same value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ralph_ls.core.plan.parse.titles import escape_surrogates


class IssueStatus(StrEnum):
    """The status of an issue."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    DEFERRED = "deferred"
    CLOSED = "closed"


class BeadsDependencyKind(StrEnum):
    """The kinds of dependency that affect the order of work; there are others."""

    BLOCKS = "blocks"
    PARENT_CHILD = "parent-child"
    CONDITIONAL_BLOCKS = "conditional-blocks"
    WAITS_FOR = "waits-for"
    RELATED = "related"
    DISCOVERED_FROM = "discovered-from"


HOLDING = frozenset(
    {
        BeadsDependencyKind.BLOCKS,
        BeadsDependencyKind.CONDITIONAL_BLOCKS,
        BeadsDependencyKind.WAITS_FOR,
    }
)
"""An issue waits for what it depends on in one of these ways."""

LOWEST_PRIORITY = 4
USUAL_PRIORITY = 2


class BeadsDependency(NamedTuple):
    """One dependency of an issue; sorts in the order in which they are kept."""

    on: str
    """The id of another issue, or a reference to something outside (``external:…``)."""
    kind: str


class BeadsOddity(NamedTuple):
    """Something in an answer of ``bd`` that could not be read as meant."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BeadsIssue:
    """One issue; texts are as they were written, empty where there is none."""

    id: str
    title: str
    kind: str = "task"
    """``task``, ``bug``, ``feature``, ``epic``, ``chore``, or a custom one of the user."""
    status: str = IssueStatus.OPEN
    """One of ``IssueStatus``, or a custom one of the user."""
    priority: int = USUAL_PRIORITY
    """From 0, the most urgent, to 4."""
    description: str = ""
    design: str = ""
    criteria: str = ""
    """The acceptance criteria."""
    notes: str = ""
    close_reason: str = ""
    reason_from_notes: bool = False
    """Its notes are taken for the reason: this release of ``bd`` keeps none."""
    assignee: str = ""
    created_at: str = ""
    labels: tuple[str, ...] = ()
    dependencies: tuple[BeadsDependency, ...] = ()
    """In the order of their targets, each target once in each way."""

    @property
    def is_closed(self) -> bool:
        return self.status == IssueStatus.CLOSED

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags besides those in its text: its labels and its type."""
        return (*self.labels, self.kind)

    @property
    def parent(self) -> str | None:
        """The issue that this one is a part of."""
        kinds = (
            one.on for one in self.dependencies if one.kind == BeadsDependencyKind.PARENT_CHILD
        )
        return next(kinds, None)

    @property
    def needs(self) -> tuple[str, ...]:
        """The issues that it waits for, unless they are closed."""
        return tuple(one.on for one in self.dependencies if one.kind in HOLDING)


def is_usable_id(text: str) -> bool:
    """Whether this can be passed to a program as an id: nothing in the form of a flag."""
    return _ID.fullmatch(text) is not None


def read_issue(raw: Mapping[str, object]) -> tuple[BeadsIssue | None, tuple[BeadsOddity, ...]]:
    """One issue, and its oddities; None where it has no usable id. Total."""
    issue_id = _text(raw, "id")
    if not is_usable_id(issue_id):
        shown = issue_id[:40] or "nothing"
        return None, (
            BeadsOddity("unusable-id", f"bd lists an issue with an invalid id: {shown!r}"),
        )
    priority, oddities = _priority(raw.get("priority"), issue_id)
    issue = BeadsIssue(
        id=issue_id,
        title=_text(raw, "title") or issue_id,
        kind=_text(raw, "issue_type", "type") or "task",
        status=(_text(raw, "status") or IssueStatus.OPEN).lower().replace("-", "_"),
        priority=priority,
        description=_text(raw, "description"),
        design=_text(raw, "design"),
        criteria=_text(raw, "acceptance_criteria", "acceptance"),
        notes=_text(raw, "notes"),
        close_reason=_text(raw, "close_reason"),
        reason_from_notes=raw.get("reason_from_notes") is True,
        assignee=_text(raw, "assignee"),
        created_at=_text(raw, "created_at"),
        labels=_labels(raw.get("labels")),
        dependencies=_dependencies(raw, issue_id),
    )
    return issue, oddities


def lacks_dependencies(raw: Mapping[str, object]) -> bool:
    """Whether an output lacks the issue's dependencies, so that they have to be queried.

    A list of issues may only count the dependencies, and omits empty fields.
    """
    return "dependencies" not in raw and raw.get("dependency_count") != 0


def issue_to_raw(issue: BeadsIssue) -> dict[str, object]:
    """The issue in the words of ``bd``, always with the same keys in the same order."""
    return {
        "id": issue.id,
        "title": issue.title,
        "issue_type": issue.kind,
        "status": str(issue.status),
        "priority": issue.priority,
        "description": issue.description,
        "design": issue.design,
        "acceptance_criteria": issue.criteria,
        "notes": issue.notes,
        "close_reason": issue.close_reason,
        **({"reason_from_notes": True} if issue.reason_from_notes else {}),
        "assignee": issue.assignee,
        "created_at": issue.created_at,
        "labels": list(issue.labels),
        "dependencies": [
            {"depends_on_id": one.on, "type": str(one.kind)} for one in issue.dependencies
        ],
    }


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_TARGET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,399}")
_PRIORITY = re.compile(r"\s*[Pp]?([0-9]{1,4})\s*")


def _text(raw: Mapping[str, object], *names: str) -> str:
    """The first of these that is not empty; a list is one line each."""
    for name in names:
        value = raw.get(name)
        if isinstance(value, list):
            value = "\n".join(str(line) for line in value if isinstance(line, str | int | float))
        if isinstance(value, str) and value:
            return escape_surrogates(value.replace("\r\n", "\n"))
    return ""


def _priority(value: object, issue_id: str) -> tuple[int, tuple[BeadsOddity, ...]]:
    if value is None:
        return USUAL_PRIORITY, ()
    found = _PRIORITY.fullmatch(str(value)) if isinstance(value, int | str) else None
    if found is None or isinstance(value, bool) or int(found[1]) > LOWEST_PRIORITY:
        message = f"{issue_id} has the unknown priority {str(value)[:40]!r}; using 2, the default"
        return USUAL_PRIORITY, (BeadsOddity("odd-priority", message),)
    return int(found[1]), ()


def _labels(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(sorted({escape_surrogates(one) for one in value if isinstance(one, str)}))


def _dependencies(raw: Mapping[str, object], issue_id: str) -> tuple[BeadsDependency, ...]:
    written = raw.get("dependencies")
    items = written if isinstance(written, list) else ()
    found = {one for item in items if (one := _dependency(item, issue_id))}
    parent = raw.get("parent") or raw.get("parent_id")
    has_parent = any(one.kind == BeadsDependencyKind.PARENT_CHILD for one in found)
    if isinstance(parent, str) and is_usable_id(parent) and not has_parent:
        found.add(BeadsDependency(parent, BeadsDependencyKind.PARENT_CHILD))
    return tuple(sorted(found))


def _dependency(item: object, issue_id: str) -> BeadsDependency | None:
    """A dependency from any of its forms; None for one of another issue."""
    if isinstance(item, str):
        item = {"depends_on_id": item}
    if not isinstance(item, dict) or item.get("issue_id", issue_id) != issue_id:
        return None
    target = _text(item, "depends_on_id", "id")
    kind = _text(item, "type", "dependency_type")
    if "depends_on_id" not in item:
        # This form is the whole other issue, whose own type has another name.
        kind = _text(item, "dependency_type")
    if _TARGET.fullmatch(target) is None or target == issue_id:
        return None
    return BeadsDependency(target, kind or BeadsDependencyKind.BLOCKS)
