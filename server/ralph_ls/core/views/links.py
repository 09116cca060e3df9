"""What in a page leads somewhere: to files of the work tree, and to the task that is meant.

A link of markdown may lead to any file; a bare word is one only where it names a markdown file, as
``specs/login.md``. Only the names are known here, and whoever can look at the disk keeps those that
are there. What would lead out of the work tree is no link at all (it must never be opened for
somebody who clicks on a line that a stranger wrote).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from ralph_ls.core.plan.lint.dependencies import read_dependencies
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.task_body import TaskBodies
from ralph_ls.core.plan.specs import FOLDER
from ralph_ls.core.views.pages import Page, PageKind
from ralph_ls.core.views.symbols import task_name
from ralph_ls.core.views.task_ids import Known, uses

MOST = 2000
"""Links of one page; nobody follows more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLink:
    """A part of a line that names a file."""

    line: int
    """From 0."""
    start: int
    """In characters of the line."""
    end: int
    names: tuple[str, ...]
    """Where it may lie, relative to the work tree; the first one that is there is meant."""
    fragment: str
    """A place in it; empty for its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLink:
    """A part of a line that names a task of the plan."""

    line: int
    """From 0."""
    start: int
    """In characters of the line."""
    end: int
    task_line: int
    """Where the task begins in the plan, from 0."""
    title: str


def file_links(page: Page) -> tuple[FileLink, ...]:
    """Every part of a page that may name a file, in the order of the text. Total and linear."""
    found: list[FileLink] = []
    for number, line in enumerate(page.outline.lines):
        if _may_link(line) and not page.outline.is_verbatim(number):
            found.extend(_links_in(line, number, page.name))
        if len(found) >= MOST:
            break
    return tuple(found[:MOST])


def task_links(page: Page, known: Known) -> tuple[TaskLink, ...]:
    """Every part of a page that names a task, but for the task itself. Total.

    ``known`` are the plan's. A plan may name a task by its title, too.
    """
    tasks = page.plan.tasks if page.kind is PageKind.PLAN else ()
    named: dict[int, list[tuple[int, int]]] = {}
    found: list[TaskLink] = []
    for one in read_dependencies(tasks, TaskBodies(tasks, page.text)):
        target = None if one.target is None else known.tasks.get(one.target.id)
        place = one.place
        if target is not None and not page.outline.is_verbatim(place.line):
            named.setdefault(place.line, []).append((place.start, place.end))
            found.append(_to_task(place.line, place.start, place.end, target))
    for use in uses(page, known):
        # A title may hold the id of another task.
        is_named = any(start <= use.start < end for start, end in named.get(use.line, ()))
        if not use.is_own and not is_named:
            found.append(_to_task(use.line, use.start, use.end, known.tasks[use.id]))
    return tuple(sorted(found, key=lambda link: (link.line, link.start))[:MOST])


_TARGET = re.compile(r"\]\([ \t]*<?([^()<>\s]+)>?(?:[ \t]+\"[^\"]*\")?[ \t]*\)")
_DEFINITION = re.compile(r"[ ]{0,3}\[[^\[\]]+\]:[ \t]*<?([^<>\s]+)>?[ \t]*(?:\Z|\")")
_WORD = re.compile(r"[\w./@-]+(?:#[\w-]+)?")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|[/\\~#?]", re.IGNORECASE)
"""How a target begins that is no name relative to anything: an address, or an absolute path."""


def _to_task(line: int, start: int, end: int, task: Task) -> TaskLink:
    return TaskLink(line=line, start=start, end=end, task_line=task.line, title=task_name(task))


def _may_link(line: str) -> bool:
    return "](" in line or "]:" in line or ".md" in line.lower()


def _links_in(line: str, number: int, page_name: str) -> Iterator[FileLink]:
    targets = [found.span(1) for found in _TARGET.finditer(line)]
    defined = _DEFINITION.match(line)
    if defined is not None:
        targets.append(defined.span(1))
    words = [found.span() for found in _WORD.finditer(line)] if ".md" in line.lower() else []
    places = {span: unquote(line[slice(*span)]) for span in targets}
    for start, end in words:
        bare = line[start:end].rstrip(".")
        is_file = bare.partition("#")[0].lower().endswith(".md")
        is_in_address = line[max(0, start - 1) : start] in {":", "%", "\\", "~"}
        is_in_target = any(begin < end and start < upto for begin, upto in targets)
        if is_file and not is_in_address and not is_in_target:
            places[start, start + len(bare)] = bare
    for (start, end), named in sorted(places.items()):
        path, _, fragment = named.partition("#")
        names = _names_of(path, page_name)
        if names:
            yield FileLink(line=number, start=start, end=end, names=names, fragment=fragment)


def _names_of(path: str, page_name: str) -> tuple[str, ...]:
    """Where it may lie: beside the page, below the root, or among the specifications."""
    if not path or _ELSEWHERE.match(path) or "\\" in path or "\0" in path:
        return ()
    folders = [dirname(page_name), ""]
    if path.lower().endswith(".md") and ".." not in path:
        folders.append(FOLDER)
    names = (normpath(join(folder, path)) for folder in folders)
    within = (name for name in names if name not in {"", ".", ".."} and not name.startswith("../"))
    return tuple(dict.fromkeys(within))
