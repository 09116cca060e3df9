"""What sorts a task beside its place in the plan: its priority, and the tags in its text.

A tag is ``[word]`` or ``#word``. Which of them mean something is for others to know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ralph_ls.core.plan.model import Task
from ralph_ls.protocol.plan import Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTraits:
    """By what an iteration on a task may be given to one model or another."""

    task: str
    """The id of the task that it is about."""
    priority: Priority | None = None
    tags: tuple[str, ...] = ()
    """Folded to small letters, each once, in the order of the text."""


def traits_of(task: Task, *, text: str = "", labels: Iterable[str] = ()) -> TaskTraits:
    """The traits of a task; ``text`` is what it was read from, ``labels`` are tags besides."""
    # Tags such as [BUG] are in the line, but not in the title; a title may have several lines.
    found = [*labels, *tags_in(text[task.start : task.end]), *tags_in(task.title)]
    tags = tuple(dict.fromkeys(tag.casefold() for tag in found))
    return TaskTraits(task=task.id, priority=task.priority, tags=tags)


def tags_in(line: str) -> list[str]:
    """The tags of a text, as they are written; none in code, in a link, or of an issue's number."""
    bare = _CODE.sub(" ", line)
    return [" ".join((found[1] or found[2]).split()) for found in _TAG.finditer(bare)]


_CODE = re.compile(r"`[^`]*`")
_TAG = re.compile(
    r"(?<!\])\[(?!\s*\])(?![xX~!/>-]\])([^\[\]]{1,60})\](?![(\[])|(?<![^\s(,])#([^\W\d_][\w-]*)"
)
"""A box is none, whatever stands in it."""
