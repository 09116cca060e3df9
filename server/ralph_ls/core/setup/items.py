"""Plan items out of markdown that somebody wrote freely: an agent's proposal, a template.

The plan reader says what a task is and how urgent; where it finds none, lists without boxes count,
first below headings that say a priority, then anywhere, and then what stands in code fences. This
module must never know who wrote the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from ralph_ls.core.agent.text import clean, fence_spans
from ralph_ls.core.plan.editing.places import sections_of
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task, TaskKind
from ralph_ls.protocol.lsp.setup import PlanItem
from ralph_ls.protocol.plan import Priority, TaskState


def read_items(text: str) -> tuple[PlanItem, ...]:
    """The open items in the order of the text, each title once; total.

    What nothing says a priority of is standard. What stands nested below an item is its detail.
    """
    for candidate in _candidates(clean(text)):
        found = tuple(_items_of(candidate))
        if found:
            return found
    return ()


def _candidates(text: str) -> Iterator[str]:
    """The text as it may be meant, the likeliest first."""
    fenced = _unfenced(text)
    both = [text, fenced] if fenced else [text]
    yield from both
    yield from (_boxed(each, everywhere=False) for each in both)
    yield from (_boxed(each, everywhere=True) for each in both)


def _items_of(text: str) -> Iterator[PlanItem]:
    plan = parse(text).plan
    lines = text.split("\n")
    seen: set[str] = set()
    for task in _open_ones(plan):
        key = task.title.casefold()
        if key not in seen:
            seen.add(key)
            yield PlanItem(
                title=task.title,
                priority=task.priority or Priority.P1,
                detail=_detail_of(lines[task.line + 1 : task.end_line + 1]),
            )


def _open_ones(plan: Plan) -> Iterator[Task]:
    for task in plan.tasks:
        is_open = task.state not in {TaskState.DONE, TaskState.SKIPPED}
        if task.depth == 0 and task.title and is_open and task.kind is not TaskKind.HEADING:
            yield task


def _detail_of(lines: list[str]) -> str:
    """What stands below an item, without what indents it and without boxes."""
    kept = [_BOX.sub(r"\1", line).rstrip() for line in lines]
    return dedent("\n".join(kept).expandtabs(4)).strip("\n").strip()


def _unfenced(text: str) -> str:
    """What stands in code fences, without the fences' own lines."""
    inside = ["\n".join(text[start:end].split("\n")[1:]) for start, end in fence_spans(text)]
    return "\n".join(_CLOSING.sub("", part) for part in inside)


def _boxed(text: str, *, everywhere: bool) -> str:
    """The text in which the items of a list that stand at its margin have boxes."""
    lines = text.split("\n")
    if everywhere:
        return "\n".join(map(_with_box, lines))
    for section in sections_of(lines):
        if section.priority is not None and not section.is_done:
            for number in range(section.line + 1, section.last + 1):
                lines[number] = _with_box(lines[number])
    return "\n".join(lines)


def _with_box(line: str) -> str:
    return _ITEM.sub(r"\1[ ] ", line, count=1)


_ITEM = re.compile(r"^ ?((?:[-*+]|[0-9]{1,9}[.)])[ \t]+)(?!\[[^\]]?\])(?=\S)")
_BOX = re.compile(r"^([ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)\[[ xX~!-]\][ \t]+")
_CLOSING = re.compile(r"\n?^[ \t]*(?:`{3,}|~{3,})[ \t]*\Z", re.MULTILINE)
