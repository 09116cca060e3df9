"""The plan that a set-up writes: a new one, or items added to one that somebody has.

A person's plan keeps every byte that it has; each item is written as its neighbours are, below the
heading of its priority where there is one. What would not be read as an open task is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ralph_ls.core.plan.editing.arranging import add
from ralph_ls.core.plan.editing.edits import note
from ralph_ls.core.plan.editing.nesting import in_line
from ralph_ls.core.plan.editing.places import sections_of
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.skeleton import fix_plan_skeleton
from ralph_ls.core.plan.titles import fold
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.setup import DraftItem
from ralph_ls.protocol.plan import Priority, TaskState

_TAGS = {Priority.P0: "[HIGH PRIORITY] ", Priority.P1: "", Priority.P2: "[LOW PRIORITY] "}
"""S's tags; what has none is standard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWritten:
    """A plan's text, and what a person should know of it."""

    text: str
    notes: tuple[str, ...] = ()


def new_plan(
    profile: ProfileName, items: Sequence[DraftItem], *, spec: str | None = None
) -> PlanWritten:
    """A plan for the profile; ``spec`` is the path of what is asked for.

    In ``fixplan`` the items stand below I's headings; in ``spec`` they are S's numbered list, each
    with the specification that it comes from. Raises ``RalphError`` for an item that would not be
    read as an open task.
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
    return _with_details(text, [(f"{fold(item.title)}{origin}", item.detail) for item in ranked])


def add_items(text: str, items: Sequence[DraftItem], *, origin: str = "") -> PlanWritten:
    """The plan with these items; one that it has already, by its title, is left out and told.

    ``origin`` is put behind each title. Raises ``RalphError`` as ``arranging.add`` does.
    """
    notes: list[str] = []
    titles: list[tuple[str, str]] = []
    known = {task.title.casefold() for task in parse(text).plan.tasks}
    for item in items:
        title = require_task(item.title)
        words = f"{title}{origin}"
        if known & {title.casefold(), words.casefold()}:
            notes.append(f"the plan has the item {title!r} already, so it was not added again")
            continue
        known |= {title.casefold(), words.casefold()}
        has_priorities = any(one.priority for one in sections_of(text.split("\n")))
        is_plain = item.priority is Priority.P1 and not has_priorities
        text = add(text, words, priority=None if is_plain else item.priority)
        titles.append((words, item.detail))
    written = _with_details(text, titles)
    return PlanWritten(text=written.text, notes=(*notes, *written.notes))


def require_task(title: str) -> str:
    """The title in one line; raises ``RalphError`` where a plan would not read it as it is."""
    words = in_line(title)
    if not (_is_open(f"- [ ] {words}\n") and _is_open(f"# Tasks\n\n1. {words}\n")):
        raise RalphError(
            f"the plan item {title!r} would not be read as an open task; word it without a box, a "
            "tag or a strike"
        )
    return words


def _is_open(text: str) -> bool:
    tasks = parse(text).plan.tasks
    return len(tasks) == 1 and bool(tasks[0].title) and tasks[0].state is TaskState.TODO


def _with_details(text: str, titles: Sequence[tuple[str, str]]) -> PlanWritten:
    """The plan in which each of these tasks, by its words, has the lines of its detail as notes."""
    notes: list[str] = []
    for words, detail in titles:
        title = parse(f"- [ ] {words}\n").plan.tasks[0].title
        for line in filter(None, map(_words_of, detail.splitlines())):
            found = [task for task in parse(text).plan.tasks if task.title == title]
            try:
                text = note(text, found[0].id, line) if found else text
            except RalphError:
                notes.append(f"the detail {line!r} of {title!r} cannot be written below it")
    return PlanWritten(text=text, notes=tuple(notes))


def _words_of(line: str) -> str:
    return fold(_MARKER.sub("", line))


_MARKER = re.compile(r"^\s*(?:[-*+•]|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
