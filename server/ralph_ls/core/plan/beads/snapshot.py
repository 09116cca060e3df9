"""All that is known of the issues at one moment, and that as a text that is always the same.

Two snapshots are equal as texts exactly where nothing has changed that the loop looks at. Each
issue has a line of its own, in the words of ``bd``; times of changes are left out. A text that
``bd list --json`` has printed can be read as one too. It must never ask ``bd``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ralph_ls.core.plan.beads.answers import Answer, read_answer
from ralph_ls.core.plan.beads.issues import Issue, Oddity, is_usable_id, read_issue, to_raw

KIND = "beads"
FIRST_LINE = 3
"""Where in the text the first issue stands, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The issues, from the oldest to the newest."""

    issues: tuple[Issue, ...] = ()
    ready: tuple[str, ...] | None = None
    """Ids that ``bd ready`` offers, in its order; None where it was not asked."""
    parent: str | None = None
    """Only what is part of this issue is to be done."""
    oddities: tuple[Oddity, ...] = ()

    def by_id(self) -> Mapping[str, Issue]:
        """Every issue under its id. Build it once for many look-ups."""
        return {issue.id: issue for issue in self.issues}

    def in_scope(self) -> tuple[Issue, ...]:
        """What is to be done: everything, or the parts of ``parent``, and their parts."""
        if self.parent is None:
            return self.issues
        inside = {self.parent}
        parts = parts_of(self.issues)
        left = [self.parent]
        while left:
            fresh = [part for part in parts.get(left.pop(), ()) if part not in inside]
            inside.update(fresh)
            left.extend(fresh)
        inside.discard(self.parent)
        return tuple(issue for issue in self.issues if issue.id in inside)


def take_snapshot(
    raw: Iterable[Mapping[str, object]],
    *,
    ready: Iterable[str] | None = None,
    parent: str | None = None,
    oddities: Sequence[Oddity] = (),
) -> Snapshot:
    """Put together what ``bd`` has answered; of an issue that comes twice the later one counts.

    What was deleted and templates are no issues that somebody could work at.
    """
    found: dict[str, Issue] = {}
    told = list(oddities)
    for item in raw:
        issue, odd = read_issue(item)
        told += odd
        if issue is None:
            continue
        found.pop(issue.id, None)
        if issue.status != "tombstone" and item.get("is_template") is not True:
            found[issue.id] = issue
    issues = sorted(found.values(), key=lambda issue: (issue.created_at, _number_aware(issue.id)))
    offered = None if ready is None else tuple(one for one in ready if one in found)
    return Snapshot(
        issues=tuple(issues), ready=offered, parent=parent, oddities=tuple(dict.fromkeys(told))
    )


def to_text(snapshot: Snapshot) -> str:
    """The snapshot as a text, one issue a line from ``FIRST_LINE`` on."""
    head = {
        "kind": KIND,
        "schemaVersion": 1,
        "parent": snapshot.parent,
        "ready": None if snapshot.ready is None else list(snapshot.ready),
    }
    oddities = [{"code": one.code, "message": one.message} for one in snapshot.oddities]
    lines = ",\n".join(_compact(to_raw(issue)) for issue in snapshot.issues)
    return f'{_compact(head)[:-1]},\n"oddities":{_compact(oddities)},\n"issues":[\n{lines}\n]}}\n'


def from_text(text: str) -> Snapshot:
    """Read a snapshot, or what ``bd`` has printed. Total."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("kind") != KIND:
        answer = read_answer(text)
        return take_snapshot(answer.items, oddities=_oddities_of(answer))
    ready, parent, issues = value.get("ready"), value.get("parent"), value.get("issues")
    kept = value.get("oddities")
    return take_snapshot(
        [item for item in issues if isinstance(item, dict)] if isinstance(issues, list) else (),
        ready=[one for one in ready if isinstance(one, str)] if isinstance(ready, list) else None,
        parent=parent if isinstance(parent, str) and is_usable_id(parent) else None,
        oddities=[
            Oddity(str(one.get("code")), str(one.get("message")))
            for one in (kept if isinstance(kept, list) else ())
            if isinstance(one, dict)
        ],
    )


def parts_of(issues: Iterable[Issue]) -> Mapping[str, Sequence[str]]:
    """The ids of the parts of each issue that has some."""
    parts: dict[str, list[str]] = {}
    for issue in issues:
        if issue.parent is not None:
            parts.setdefault(issue.parent, []).append(issue.id)
    return parts


def _oddities_of(answer: Answer) -> tuple[Oddity, ...]:
    if answer.error is None:
        return answer.oddities
    return (*answer.oddities, Oddity("bd-error", f"bd says: {answer.error}"))


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _number_aware(issue_id: str) -> list[tuple[int, str]]:
    """``bd-2`` before ``bd-10``, and ``bd-2.1`` behind ``bd-2``."""
    words = issue_id.replace("-", ".").split(".")
    return [(int(word), "") if _is_number(word) else (-1, word) for word in words]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()
