"""The sections and tasks of a page as a tree, for an outline beside the text.

Titles come from strangers, so they are made harmless to show. It must never know an editor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from ralph_ls.core.plan.lint.remarks import title_span
from ralph_ls.core.plan.model import Task
from ralph_ls.core.views.hover import STATE_WORDS
from ralph_ls.core.views.outline import Heading
from ralph_ls.core.views.pages import Page
from ralph_ls.core.views.task_ids import is_explicit
from ralph_ls.core.views.tasks import blocked_words
from ralph_ls.core.views.words import one_line
from ralph_ls.protocol.plan import TaskState

SHOWN_NAME = 120
"""Characters of a name."""

DEEPEST = 32
"""Tasks nested in each other that are shown so; what is deeper stands beside the last of them."""

NO_TITLE = "(no title)"

SETTLED = frozenset({TaskState.DONE, TaskState.SKIPPED})


class SymbolKind(StrEnum):
    """What a symbol is."""

    SECTION = "section"
    TASK = "task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """One section or task with what is nested in it."""

    kind: SymbolKind
    name: str
    """Never empty."""
    detail: str
    settled: bool
    """The task is done or skipped."""
    line: int
    """From 0; the whole of it reaches from the beginning of this line to the end of the last."""
    end_line: int
    start: int
    """Its words, in characters of the line that they stand on: mostly its first."""
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
    """A task as lists name it: its explicit id, and its title."""
    has_id = is_explicit(task.id) and task.title != task.id
    shown = f"{task.id} {task.title}" if has_id else task.title
    return one_line(shown, limit=SHOWN_NAME) or NO_TITLE


def task_detail(task: Task) -> str:
    """How a task stands, and how urgent it is: ``blocked: no key · P0``."""
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
    """The nodes so far, and those that are still open."""

    def __init__(self, page: Page) -> None:
        self._text = page.text
        self._nodes: list[_Node] = []
        self._tops: list[_Node] = []
        self._sections: list[tuple[int, _Node]] = []
        """The open headings with their levels, outermost first."""
        self._tasks: list[tuple[str, _Node]] = []
        """The task that came last and those around it with their ids, outermost first."""

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
        """Make the symbols from the innermost outwards."""
        for node in reversed(self._nodes):
            node.made = self._make(node)
        return tuple(_made(self._tops))

    def _add(self, what: Heading | Task) -> _Node:
        node = _Node(what)
        around = [*self._sections[-1:], *self._tasks[:DEEPEST][-1:]]
        (around[-1][1].nested if around else self._tops).append(node)
        self._nodes.append(node)
        return node

    def _make(self, node: _Node) -> Symbol:
        children = tuple(_made(node.nested))
        for inner in node.nested:
            node.n_tasks += inner.n_tasks
            node.n_settled += inner.n_settled
        last = max((child.end_line for child in children), default=0)
        match node.what:
            case Task() as task:
                place = title_span(task, self._text)
                node.n_tasks += 1
                node.n_settled += task.state in SETTLED
                return Symbol(
                    kind=SymbolKind.TASK,
                    name=task_name(task),
                    detail=task_detail(task),
                    settled=task.state in SETTLED,
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
                    name=one_line(heading.title, limit=SHOWN_NAME) or NO_TITLE,
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


def _made(nodes: list[_Node]) -> Iterator[Symbol]:
    return (node.made for node in nodes if node.made is not None)
