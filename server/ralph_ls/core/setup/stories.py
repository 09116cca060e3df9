"""Plan items as stories, for a new file of stories or one that somebody has (R; SPEC §8).

A person's file keeps every byte that it has; what is new stands behind its last story in the form
of those before it. This module must never know a folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ralph_ls.core.plan.stories.edits import with_item, with_member
from ralph_ls.core.plan.stories.json_text import Node
from ralph_ls.core.plan.stories.model import FRESH, Stories
from ralph_ls.core.plan.stories.reading import is_unusable, read
from ralph_ls.core.plan.titles import fold
from ralph_ls.core.setup.plans import PlanWritten
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.setup import DraftItem
from ralph_ls.protocol.plan import Priority


def new_stories(project: str, description: str, items: Sequence[DraftItem]) -> str:
    """A file of stories with one for each item, the most urgent first."""
    order = list(Priority)
    ranked = sorted(items, key=lambda item: order.index(item.priority))
    stories = [_story(number, number, item) for number, item in enumerate(ranked, 1)]
    whole = {
        "project": project,
        "branchName": "",
        "description": description,
        "verifyCommands": [],
        "userStories": stories,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def add_stories(text: str, items: Sequence[DraftItem]) -> PlanWritten:
    """The file with a story for each item; one that it has already, by title, is told instead.

    Raises ``RalphError`` where the file is none that a loop could work on.
    """
    known = read(text)
    if is_unusable(known):
        first = known.findings[0]
        line = text.count("\n", 0, first.start) + 1
        raise RalphError(
            f"the plan of stories cannot be added to: line {line}: {first.message}; mend that first"
        )
    notes: list[str] = []
    titles = {fold(story.title).casefold() for story in known.stories.stories}
    for item in items:
        title = fold(item.title)
        if title.casefold() in titles:
            notes.append(f"the plan has the item {title!r} already, so it was not added again")
            continue
        titles.add(title.casefold())
        text = _added(text, item)
    return PlanWritten(text=text, notes=tuple(notes))


def _added(text: str, item: DraftItem) -> str:
    stories = read(text).stories
    ranks = [story.rank for story in stories.stories if story.rank is not None]
    raw = json.dumps(
        _story(_next_number(stories), int(max(ranks, default=0)) + 1, item),
        ensure_ascii=False,
        indent=2,
    )
    n_items = len(stories.array.items or ())
    if n_items == 0:
        return _filled(text, stories, raw)
    indent = _indent_of(text, stories.array)
    return with_item(text, stories.array, n_items - 1, raw.replace("\n", f"\n{indent}"))


def _filled(text: str, stories: Stories, raw: str) -> str:
    """An empty list has no form to follow; it gets that of a new file."""
    array = stories.array
    if stories.root.items is not None:
        inside = raw.replace("\n", "\n  ")
        return f"{text[: array.start]}[\n  {inside}\n]{text[array.end :]}"
    inside = raw.replace("\n", "\n    ")
    return with_member(text, stories.root, "userStories", f"[\n    {inside}\n  ]")


def _story(number: int, rank: int, item: DraftItem) -> dict[str, Any]:
    return {
        "id": f"US-{number:03d}",
        "title": fold(item.title),
        "description": "",
        "acceptanceCriteria": list(_criteria(item.detail)),
        "priority": rank,
        **{key: json.loads(raw) for key, raw in FRESH.items()},
        "notes": "",
    }


def _criteria(detail: str) -> Iterator[str]:
    for line in detail.splitlines():
        words = fold(_MARKER.sub("", line))
        if words:
            yield words


def _next_number(stories: Stories) -> int:
    numbers = [int(found[1]) for story in stories.stories if (found := _ID.fullmatch(story.id))]
    return max([len(stories.stories), *numbers]) + 1


def _indent_of(text: str, array: Node) -> str:
    """The white space in front of the first story, where it stands in a line of its own."""
    first = array.elements[0]
    before = text[text.rfind("\n", 0, first.start) + 1 : first.start]
    return before if not before.strip() else ""


_MARKER = re.compile(r"^\s*(?:[-*+•]|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_ID = re.compile(r"US-0*([0-9]{1,9})")
