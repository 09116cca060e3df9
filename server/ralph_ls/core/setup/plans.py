"""Plan files of a set-up: a new plan, or items added to an existing one, also as stories.

An existing file keeps every byte; new items are formatted like their neighbours, below the heading
of their priority where there is one, new stories after the last one. An item that would not be read
as an open task is refused. See docs/rules.md#plans and docs/rules.md#stories. Reads and writes no
file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ralph_ls.core.plan.edit.layout import sections_of
from ralph_ls.core.plan.edit.proposals import as_single_line
from ralph_ls.core.plan.edit.task_edits import add_task_note
from ralph_ls.core.plan.edit.task_order import add_task
from ralph_ls.core.plan.formats.json_edit import parts_of, with_item, with_member
from ralph_ls.core.plan.formats.stories.story_file import (
    FRESH,
    StoryFile,
    is_unusable,
    read_stories,
)
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plan.specs import fix_plan_skeleton
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.setup import DraftItem
from ralph_ls.protocol.task_words import Priority, TaskState

_TAGS = {Priority.P0: "[HIGH PRIORITY] ", Priority.P1: "", Priority.P2: "[LOW PRIORITY] "}
"""Tags of priorities; no tag means standard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanText:
    """A plan's text, and notes for the user."""

    text: str
    notes: tuple[str, ...] = ()


def new_plan(
    profile: ProfileName, items: Sequence[DraftItem], *, spec: str | None = None
) -> PlanText:
    """Create a plan for the profile; ``spec`` is the path of the specification.

    ``fixplan`` has items below headings of priority, ``spec`` a numbered list whose items name
    their specification. Raises ``RalphError`` for an item that would not be read as an open task.
    """
    if profile is not ProfileName.SPEC:
        head, rest = fix_plan_skeleton().split("\n\n", 1)
        intro = f"\n\nWhat is asked for: `{spec}`." if spec else ""
        return add_items(f"{head}{intro}\n\n{rest}", items)
    order = list(Priority)
    ranked = sorted(items, key=lambda item: order.index(item.priority))
    text = "# Implementation Plan\n\n## Remaining Tasks\n"
    origin = f" ({spec})" if spec else ""
    for number, item in enumerate(ranked, 1):
        gap = "\n" if number == 1 else ""
        words = require_task(item.title)
        text += f"{gap}{number}. {_TAGS[item.priority]}{words}{origin}\n"
    return _with_details(
        text, [(f"{fold_whitespace(item.title)}{origin}", item.detail) for item in ranked]
    )


def add_items(text: str, items: Sequence[DraftItem], *, origin: str = "") -> PlanText:
    """Add items to a plan; those whose title it has already are left out and noted.

    ``origin`` is appended to each title. Raises ``RalphError`` as ``add_task`` does.
    """
    notes: list[str] = []
    titles: list[tuple[str, str]] = []
    known = {task.title.casefold() for task in parse_markdown(text).plan.tasks}
    for item in items:
        title = require_task(item.title)
        words = f"{title}{origin}"
        if known & {title.casefold(), words.casefold()}:
            notes.append(f"the plan already has the item {title!r}, so it was not added again")
            continue
        known |= {title.casefold(), words.casefold()}
        has_priorities = any(one.priority for one in sections_of(text.split("\n")))
        is_plain = item.priority is Priority.P1 and not has_priorities
        text = add_task(text, words, priority=None if is_plain else item.priority)
        titles.append((words, item.detail))
    written = _with_details(text, titles)
    return PlanText(text=written.text, notes=(*notes, *written.notes))


def require_task(title: str) -> str:
    """The title on one line; raises ``RalphError`` where a plan would read it differently."""
    words = as_single_line(title)
    if not (_is_open(f"- [ ] {words}\n") and _is_open(f"# Tasks\n\n1. {words}\n")):
        raise RalphError(
            f"the plan item {title!r} would not be read as an open task; word it without a box, a "
            "tag or a strike"
        )
    return words


def _is_open(text: str) -> bool:
    tasks = parse_markdown(text).plan.tasks
    return len(tasks) == 1 and bool(tasks[0].title) and tasks[0].state is TaskState.TODO


def _with_details(text: str, titles: Sequence[tuple[str, str]]) -> PlanText:
    """Add the detail of each of these tasks, found by title, as notes."""
    notes: list[str] = []
    for words, detail in titles:
        title = parse_markdown(f"- [ ] {words}\n").plan.tasks[0].title
        for line in filter(None, map(_words_of, detail.splitlines())):
            found = [task for task in parse_markdown(text).plan.tasks if task.title == title]
            try:
                text = add_task_note(text, found[0].id, line) if found else text
            except RalphError:
                notes.append(f"the detail {line!r} of {title!r} cannot be written below it")
    return PlanText(text=text, notes=tuple(notes))


def _words_of(line: str) -> str:
    return fold_whitespace(_MARKER.sub("", line))


_MARKER = re.compile(r"^\s*(?:[-*+•]|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")


def new_stories(project: str, description: str, items: Sequence[DraftItem]) -> str:
    """A new file with a story for each item, the most urgent first."""
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


def add_stories(text: str, items: Sequence[DraftItem]) -> PlanText:
    """Add a story for each item; those whose title exists already are noted instead.

    Raises ``RalphError`` for a file that the loop could not work on.
    """
    known = read_stories(text)
    if is_unusable(known):
        first = known.findings[0]
        line = text.count("\n", 0, first.start) + 1
        raise RalphError(
            f"the plan of stories cannot be extended: line {line}: {first.message}; fix that first"
        )
    notes: list[str] = []
    titles = {fold_whitespace(story.title).casefold() for story in known.stories.stories}
    for item in items:
        title = fold_whitespace(item.title)
        if title.casefold() in titles:
            notes.append(f"the plan already has the item {title!r}, so it was not added again")
            continue
        titles.add(title.casefold())
        text = _added(text, item)
    return PlanText(text=text, notes=tuple(notes))


def _added(text: str, item: DraftItem) -> str:
    stories = read_stories(text).stories
    ranks = [story.rank for story in stories.stories if story.rank is not None]
    raw = json.dumps(
        _story(_next_number(stories), int(max(ranks, default=0)) + 1, item),
        ensure_ascii=False,
        indent=2,
    )
    filled = [one.node for one in stories.lists if parts_of(one.node)]
    if not filled:
        return _filled(text, stories, raw)
    starts = [start for start, _ in parts_of(filled[-1])]
    indent = _indent_of(text, starts[0])
    if filled[-1].members is not None:
        raw = f"{json.dumps(json.loads(raw)['id'])}: {raw}"
    return with_item(text, filled[-1], len(starts) - 1, raw.replace("\n", f"\n{indent}"))


def _filled(text: str, stories: StoryFile, raw: str) -> str:
    """An empty list has no layout to follow and gets that of a new file."""
    array = stories.lists[0].node
    if stories.root.items is not None:
        inside = raw.replace("\n", "\n  ")
        return f"{text[: array.start]}[\n  {inside}\n]{text[array.end :]}"
    inside = raw.replace("\n", "\n    ")
    return with_member(text, stories.root, "userStories", f"[\n    {inside}\n  ]")


def _story(number: int, rank: int, item: DraftItem) -> dict[str, Any]:
    return {
        "id": f"US-{number:03d}",
        "title": fold_whitespace(item.title),
        "description": "",
        "acceptanceCriteria": list(_criteria(item.detail)),
        "priority": rank,
        **{key: json.loads(raw) for key, raw in FRESH.items()},
        "notes": "",
    }


def _criteria(detail: str) -> Iterator[str]:
    for line in detail.splitlines():
        words = fold_whitespace(_MARKER.sub("", line))
        if words:
            yield words


def _next_number(stories: StoryFile) -> int:
    numbers = [int(found[1]) for story in stories.stories if (found := _ID.fullmatch(story.id))]
    return max([len(stories.stories), *numbers]) + 1


def _indent_of(text: str, start: int) -> str:
    """The indentation of a story, where it has a line to itself."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return before if not before.strip() else ""


_ID = re.compile(r"US-0*([0-9]{1,9})")
