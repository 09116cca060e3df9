"""Document structure: symbols, folding ranges, selections and links of a page.

Titles are escaped. A Markdown link may point to any file; a bare word is a link only where it
names a Markdown file, such as ``specs/login.md``. Only names are known here: the caller keeps those
that exist. A target outside the work tree is not a link, since others may have written the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from posixpath import dirname, join, normpath
from typing import assert_never
from urllib.parse import unquote

from ralph_ls.core.plan.lint.dependencies import read_dependencies
from ralph_ls.core.plan.lint.remarks import title_span
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.task_body import TaskBodies
from ralph_ls.core.plan.specs import FOLDER
from ralph_ls.core.views.document.hover import STATE_WORDS
from ralph_ls.core.views.document.page import Heading, Page, PageBlockKind, PageKind
from ralph_ls.core.views.document.task_ids import KnownTaskIds, is_written_id, task_id_uses
from ralph_ls.core.views.model.tasks import blocked_words
from ralph_ls.core.views.model.words import one_line
from ralph_ls.protocol.task_words import SETTLED_STATES, TaskState

MAX_NAME_CHARS = 120
"""Characters of a symbol's name."""

MAX_DEPTH = 32
"""Shown depth of nested tasks; deeper ones are siblings of the last."""

NO_TITLE = "(no title)"


class SymbolKind(StrEnum):
    """Kind of a symbol."""

    SECTION = "section"
    TASK = "task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A section or task with its nested symbols."""

    kind: SymbolKind
    name: str
    """Never empty."""
    detail: str
    settled: bool
    """The task is done or skipped."""
    line: int
    """First line, from 0; the range is from its beginning to the end of ``end_line``."""
    end_line: int
    start: int
    """Start of its title, in characters of ``words_line``, mostly the first line."""
    end: int
    words_line: int
    children: tuple[Symbol, ...] = ()


def symbols(page: Page) -> tuple[Symbol, ...]:
    """The sections and tasks of a page, nested, in the order of the text. Total and linear."""
    tree = _Tree(page)
    headings, tasks = list(page.outline.headings), list(page.plan.tasks)
    headings.reverse()
    tasks.reverse()
    while headings or tasks:
        if headings and (not tasks or headings[-1].line <= tasks[-1].line):
            tree.add_section(headings.pop())
        else:
            tree.add_task(tasks.pop())
    return tree.finish()


def task_name(task: Task) -> str:
    """Name of a task in lists: its explicit id and its title."""
    has_id = is_written_id(task.id) and task.title != task.id
    shown = f"{task.id} {task.title}" if has_id else task.title
    return one_line(shown, limit=MAX_NAME_CHARS) or NO_TITLE


def task_detail(task: Task) -> str:
    """State and priority of a task: ``blocked: no key · P0``."""
    is_blocked = task.state is TaskState.BLOCKED
    state = blocked_words(task) if is_blocked else STATE_WORDS[task.state]
    priority = task.shown_priority
    return state if priority is None else f"{state} · {priority.value}"


@dataclass(slots=True, eq=False)
class _Node:
    what: Heading | Task
    nested: list[_Node] = field(default_factory=list)
    n_tasks: int = 0
    n_settled: int = 0
    made: Symbol | None = None


class _Tree:
    """The nodes so far, and those still open."""

    def __init__(self, page: Page) -> None:
        self._text = page.text
        self._nodes: list[_Node] = []
        self._tops: list[_Node] = []
        self._sections: list[tuple[int, _Node]] = []
        """The open headings with their levels, outermost first."""
        self._tasks: list[tuple[str, _Node]] = []
        """The last task and those around it with their ids, outermost first."""

    def add_section(self, heading: Heading) -> None:
        self._tasks.clear()
        while self._sections and self._sections[-1][0] >= heading.level:
            self._sections.pop()
        self._sections.append((heading.level, self._add(heading)))

    def add_task(self, task: Task) -> None:
        while self._tasks and self._tasks[-1][0] != task.parent:
            self._tasks.pop()
        self._tasks.append((task.id, self._add(task)))

    def finish(self) -> tuple[Symbol, ...]:
        """Create the symbols, innermost first."""
        for node in reversed(self._nodes):
            node.made = self._make(node)
        return tuple(_symbols_of(self._tops))

    def _add(self, what: Heading | Task) -> _Node:
        node = _Node(what)
        around = [*self._sections[-1:], *self._tasks[:MAX_DEPTH][-1:]]
        (around[-1][1].nested if around else self._tops).append(node)
        self._nodes.append(node)
        return node

    def _make(self, node: _Node) -> Symbol:
        children = tuple(_symbols_of(node.nested))
        for inner in node.nested:
            node.n_tasks += inner.n_tasks
            node.n_settled += inner.n_settled
        last = max((child.end_line for child in children), default=0)
        match node.what:
            case Task() as task:
                place = title_span(task, self._text)
                node.n_tasks += 1
                node.n_settled += task.state in SETTLED_STATES
                return Symbol(
                    kind=SymbolKind.TASK,
                    name=task_name(task),
                    detail=task_detail(task),
                    settled=task.state in SETTLED_STATES,
                    line=task.line,
                    end_line=max(last, task.end_line),
                    start=place.start,
                    end=place.end,
                    words_line=place.line,
                    children=children,
                )
            case Heading() as heading:
                done = f"{node.n_settled} of {node.n_tasks} done" if node.n_tasks else ""
                return Symbol(
                    kind=SymbolKind.SECTION,
                    name=one_line(heading.title, limit=MAX_NAME_CHARS) or NO_TITLE,
                    detail=done,
                    settled=False,
                    line=heading.line,
                    end_line=max(last, heading.last_line),
                    start=heading.start,
                    end=heading.end,
                    words_line=heading.line,
                    children=children,
                )
            case never:
                assert_never(never)


def _symbols_of(nodes: list[_Node]) -> Iterator[Symbol]:
    return (node.made for node in nodes if node.made is not None)


class FoldKind(StrEnum):
    """Kind of a folding range."""

    SECTION = "section"
    TASK = "task"
    FENCE = "fence"
    COMMENT = "comment"
    FRONT_MATTER = "frontMatter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A range of whole lines, from 0; the first stays visible."""

    kind: FoldKind
    line: int
    end_line: int


def folds(page: Page) -> tuple[Fold, ...]:
    """All folding ranges, by first line, longer ones first. Total."""
    outline = page.outline
    found = [
        Fold(
            kind=FoldKind.SECTION,
            line=heading.line,
            end_line=outline.last_text_line(heading.line, heading.last_line),
        )
        for heading in outline.headings
    ]
    found += (
        Fold(kind=FoldKind.TASK, line=task.line, end_line=task.end_line) for task in page.plan.tasks
    )
    found += (
        Fold(kind=_KINDS[block.kind], line=block.line, end_line=block.end_line)
        for block in outline.blocks
    )
    several = (fold for fold in found if fold.end_line > fold.line)
    return tuple(sorted(several, key=lambda fold: (fold.line, -fold.end_line)))


_KINDS = {
    PageBlockKind.FRONT_MATTER: FoldKind.FRONT_MATTER,
    PageBlockKind.FENCE: FoldKind.FENCE,
    PageBlockKind.COMMENT: FoldKind.COMMENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A range of text that may be selected."""

    line: int
    """From 0."""
    start: int
    """In characters of the line."""
    end_line: int
    end: int


def selections(page: Page, line: int, column: int) -> tuple[Selection, ...]:
    """What a growing selection takes from a place on, innermost first, each within the next.

    The title, the line, the task or section with all that is below it, those around it, the page.
    Total.
    """
    lines = page.outline.lines
    if not 0 <= line < len(lines):
        return ()
    found = [_whole(page, 0, len(lines) - 1)]
    inner: tuple[Symbol, ...] = symbols(page)
    while around := next((one for one in inner if one.line <= line <= one.end_line), None):
        found.append(_whole(page, around.line, min(around.end_line, len(lines) - 1)))
        if around.words_line == line:
            words = Selection(line=line, start=around.start, end_line=line, end=around.end)
            if around.start <= column <= around.end:
                found += [_whole(page, line, line), words]
        inner = around.children
    if found[-1].line != line or found[-1].end_line != line:
        found.append(_whole(page, line, line))
    # Of two that are the same, one is left.
    return tuple(dict.fromkeys(reversed(found)))


def _whole(page: Page, first: int, last: int) -> Selection:
    return Selection(line=first, start=0, end_line=last, end=len(page.outline.lines[last]))


MAX_LINKS = 2000
"""Most links of one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLink:
    """A link to a file."""

    line: int
    """From 0."""
    start: int
    """In characters of the line."""
    end: int
    names: tuple[str, ...]
    """Candidates relative to the work tree; the first that exists is the target."""
    fragment: str
    """Fragment within the file; empty for its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLink:
    """A link to a task of the plan."""

    line: int
    """From 0."""
    start: int
    """In characters of the line."""
    end: int
    task_line: int
    """First line of the task in the plan, from 0."""
    title: str


def file_links(page: Page) -> tuple[FileLink, ...]:
    """All possible links to files, in order of the text. Total and linear."""
    found: list[FileLink] = []
    for number, line in enumerate(page.outline.lines):
        if _may_link(line) and not page.outline.is_verbatim(number):
            found.extend(_links_in(line, number, page.name))
        if len(found) >= MAX_LINKS:
            break
    return tuple(found[:MAX_LINKS])


def task_links(page: Page, known: KnownTaskIds) -> tuple[TaskLink, ...]:
    """All links to tasks, except the tasks' own ids. Total.

    ``known`` has the ids of the plan. A plan may also name a task by its title.
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
    for use in task_id_uses(page, known):
        # A title may contain the id of another task.
        is_named = any(start <= use.start < end for start, end in named.get(use.line, ()))
        if not use.is_own and not is_named:
            found.append(_to_task(use.line, use.start, use.end, known.tasks[use.id]))
    return tuple(sorted(found, key=lambda link: (link.line, link.start))[:MAX_LINKS])


_TARGET = re.compile(r"\]\([ \t]*<?([^()<>\s]+)>?(?:[ \t]+\"[^\"]*\")?[ \t]*\)")
_DEFINITION = re.compile(r"[ ]{0,3}\[[^\[\]]+\]:[ \t]*<?([^<>\s]+)>?[ \t]*(?:\Z|\")")
_WORD = re.compile(r"[\w./@-]+(?:#[\w-]+)?")
_NOT_RELATIVE = re.compile(r"[a-z][a-z0-9+.-]*:|[/\\~#?]", re.IGNORECASE)
"""Start of a target that is not a relative path: an address or an absolute path."""


def _to_task(line: int, start: int, end: int, task: Task) -> TaskLink:
    return TaskLink(line=line, start=start, end=end, task_line=task.line, title=task_name(task))


def _may_link(line: str) -> bool:
    return "](" in line or "]:" in line or ".md" in line.lower()


def _links_in(line: str, number: int, page_name: str) -> Iterator[FileLink]:
    targets = [found.span(1) for found in _TARGET.finditer(line)]
    defined = _DEFINITION.match(line)
    if defined is not None:
        targets.append(defined.span(1))
    places = {span: unquote(line[slice(*span)]) for span in targets}
    for start, end in _files_in_text(line):
        if not any(begin < end and start < upto for begin, upto in targets):
            places[start, end] = line[start:end]
    for (start, end), named in sorted(places.items()):
        path, _, fragment = named.partition("#")
        names = _names_of(path, page_name)
        if names:
            yield FileLink(line=number, start=start, end=end, names=names, fragment=fragment)


def _files_in_text(line: str) -> Iterator[tuple[int, int]]:
    """Where a line names a file of markdown without marking it as a link."""
    if ".md" not in line.lower():
        return
    for found in _WORD.finditer(line):
        bare = found[0].rstrip(".")
        is_file = bare.partition("#")[0].lower().endswith(".md")
        is_in_address = line[max(0, found.start() - 1) : found.start()] in {":", "%", "\\", "~"}
        if is_file and not is_in_address:
            yield found.start(), found.start() + len(bare)


def _names_of(path: str, page_name: str) -> tuple[str, ...]:
    """Candidates: beside the page, below the root, or among the specifications."""
    if not path or _NOT_RELATIVE.match(path) or "\\" in path or "\0" in path:
        return ()
    folders = [dirname(page_name), ""]
    if path.lower().endswith(".md") and ".." not in path:
        folders.append(FOLDER)
    names = (normpath(join(folder, path)) for folder in folders)
    within = (name for name in names if name not in {"", ".", ".."} and not name.startswith("../"))
    return tuple(dict.fromkeys(within))
