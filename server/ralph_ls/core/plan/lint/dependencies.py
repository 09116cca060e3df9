"""Dependencies between the tasks of a plan, and checks of them.

A dependency is a separate line below a task, as a note or as a nested item, that begins with one of
``Depends on:``, ``Depends:``, ``dependsOn:``, ``depends_on:``, ``Dependencies:``, ``Dependency:``,
``After:`` (bold or not, in any case), or with ``Depends on`` right before an id; and the same in
round or square brackets in a task's title, as in ``Pay by card (after: US-001)``. Then come
references, separated by ``,``, ``;``, ``&``, ``+`` or ``and``, in brackets or not. A reference is
the id of a task, its title, or the label that its title begins with (``T1: …``, ``Task 2: …``), all
in any case. What has the form of an id (``US-007``, ``1a2b3c4d``) or of the plan's labels, and is
none of this plan, is reported; other words (``Dependencies: the API of the
shop, auth.md``) are prose, which cannot be checked. ``Blocked by:`` is a reason
(docs/rules.md#plans) and no dependency.

The dependencies of unfinished tasks decide which task is next (``core.plan.queries``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, Protocol, TypeVar

from ralph_ls.core.plan.lint.remarks import (
    UNFINISHED,
    CheckCode,
    LineSpan,
    LintRemark,
    QuickFix,
    RelatedSpan,
    display_title,
)
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.dialect import find_dialect
from ralph_ls.core.plan.parse.task_body import BodyLine, TaskBodies
from ralph_ls.core.plan.parse.titles import (
    PLACEHOLDERS,
    escape_surrogates,
    fold_whitespace,
    is_part_by_number,
)
from ralph_ls.core.plan.parts import done_by_parts, parts_in


class HasTitle(Protocol):
    """A task, or a reference to one."""

    @property
    def title(self) -> str: ...


Titled = TypeVar("Titled", bound=HasTitle)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDependency:
    """One reference of a task to another."""

    task: Task
    """The one that waits."""
    target: Task | None
    """None where the plan has no such task."""
    name: str
    """As it is written."""
    place: LineSpan


def read_dependencies(tasks: Sequence[Task], bodies: TaskBodies) -> tuple[TaskDependency, ...]:
    """All references to tasks, and to ids that no task has, in the order of the text."""
    lines = list(bodies.lines_with(_KEYWORDS, _SHAPE))
    found = [(line, written) for line in lines for written in _references(line)]
    if not found:
        return ()
    labels = labels_of(tasks)
    known = {**labels, **_names_of(tasks)}
    prefixes = {_prefix_of(label) for label in labels}
    result: list[TaskDependency] = []
    for line, written in found:
        name = _word_of(written.text)
        if written.text.strip("*_`. \t").casefold() in PLACEHOLDERS:
            continue
        target = known.get(name.casefold())
        prefix = _prefix_of(name.casefold())
        is_label = prefix is not None and prefix in prefixes
        if target is None and not (_has_id_form(name) or is_label):
            name, target = written.text, _named(written.text, known)
            if target is None:
                continue
        end = written.start + len(name)
        place = LineSpan(line=line.number, start=written.start, end=end)
        result.append(TaskDependency(task=line.task, target=target, name=name, place=place))
    return tuple(result)


def written_references(bodies: TaskBodies) -> Iterator[tuple[Task, str]]:
    """Every piece of a line of dependencies, as it is written, with its task."""
    for line in bodies.lines_with(_KEYWORDS, _SHAPE):
        for written in _references(line):
            yield line.task, written.text


def unfinished_dependencies(tasks: Sequence[Task], text: str) -> dict[str, tuple[Task, ...]]:
    """The tasks that each unfinished task waits for, by its id.

    ``tasks`` were parsed from ``text``. Unknown ids are ignored. A task waits for the parts
    that its number gives it, and in some dialects for its required subtasks as well.
    """
    needs: dict[str, dict[str, Task]] = {}
    done = {task.id for task in done_by_parts(tasks)}
    is_nested_first = find_dialect(text).has_subtasks_first
    for whole, part in parts_in(tasks):
        is_open = whole.state in UNFINISHED and part.state in UNFINISHED and not part.optional
        is_open = is_open and part.id not in done
        is_nested = part.parent is not None and not is_part_by_number(whole.title, part.title)
        if is_open and (is_nested_first or not is_nested):
            needs.setdefault(whole.id, {})[part.id] = part
    for one in read_dependencies(tasks, TaskBodies(tasks, text)):
        if (
            one.target is not None
            and one.target.id != one.task.id
            and one.task.state in UNFINISHED
            and one.target.state in UNFINISHED
            and one.target.id not in done
        ):
            needs.setdefault(one.task.id, {})[one.target.id] = one.target
    return {waiting: tuple(targets.values()) for waiting, targets in needs.items()}


def check_dependencies(
    dependencies: Sequence[TaskDependency], tasks: Sequence[Task]
) -> Iterator[LintRemark]:
    """Dependencies that cannot be met: unknown tasks, and tasks that wait for each other.

    A task that is done or skipped waits for nothing, and no task waits for it. If an id differs
    from that of exactly one task only in case or zeros, the remark has a quick fix.
    """
    waiting = [one for one in dependencies if one.task.state in UNFINISHED]
    unknown = [one for one in waiting if one.target is None]
    alike: dict[str, list[str]] = {}
    for task in tasks if unknown else ():
        alike.setdefault(_loose(task.id), []).append(task.id)
    for one in unknown:
        yield _unknown(one, alike.get(_loose(one.name), ()))
    for cycle in _cycles(waiting):
        yield _in_cycle(cycle)


def normalise_title(title: str) -> str:
    """A title in the form for comparison: without case, and marks for bold, code and strike.

    White space is folded in every title already; what is left around marks is folded here.
    """
    lowered = title.lower()
    if "*" in lowered or "`" in lowered or "~" in lowered:
        return fold_whitespace(lowered.translate(_MARKS))
    return lowered


def labels_of(tasks: Sequence[Titled]) -> dict[str, Titled]:
    """Tasks by the label that their title begins with, in lower case; those of several are none."""
    found: dict[str, Titled] = {}
    repeated: set[str] = set()
    for task in tasks:
        if (label := _LABEL.match(task.title)) is not None:
            name = (label[1] or label[2]).casefold()
            if name in found:
                repeated.add(name)
            found.setdefault(name, task)
    return {name: task for name, task in found.items() if name not in repeated}


SHOWN_OF_CYCLE = 6
"""The maximum number of tasks of a cycle that a remark names, and of related places."""


class _Written(NamedTuple):
    text: str
    start: int
    """In characters of the line."""


_MARKS = str.maketrans("", "", "*`~")
_KEYWORDS = ("epend", "EPEND", "fter", "FTER")
"""Every line with a dependency has one of these; searching for them is quick."""
_NAMES = r"(?:depends[ \t_-]?on|depends|dependenc(?:y|ies)|after)"
_FIELD = re.compile(rf"[*_]{{0,3}}{_NAMES}[*_]{{0,3}}[ \t]*:[*_]{{0,3}}", re.IGNORECASE)
_BEFORE_ID = re.compile(r"depends[ \t]on[ \t]+(?=[A-Z][A-Z0-9]*-[0-9])", re.IGNORECASE)
_IN_BRACKETS = re.compile(
    rf"[(\[][*_]{{0,3}}{_NAMES}(?:[ \t]*:|[ \t])([^()\[\]]+)[)\]]", re.IGNORECASE
)
_SHAPE = re.compile(
    rf"{_FIELD.pattern}|{_BEFORE_ID.pattern}|[(\[][*_]{{0,3}}{_NAMES}", re.IGNORECASE
)
"""Matches every line that any of these may match."""
_PARTED = re.compile(r"[,;&+]|\band\b", re.IGNORECASE)
_AROUND = " \t\r\"'`*_.()[]{}\u201c\u201d\u2018\u2019"
_WORD = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+|\.[0-9]+)*")
_EXPLICIT = re.compile(r"(?!(?:UTF|SHA|ISO|RFC)-)[A-Z][A-Z0-9]*-[0-9]+(?:-[0-9]+)?")
_DERIVED = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8}(?:-[0-9]+)?")
_NUMBER = re.compile(r"[0-9]+")
_LABEL = re.compile(
    r"\W*(?:((?:(?:task|step|phase|story|part|stage) #?)?[A-Z]{0,4}[0-9]{1,4}(?:\.[0-9]+)*)"
    r"(?:[:.)](?=[\s*]|\Z)|\s+[-\u2013\u2014](?=\s))|([0-9]+(?:\.[0-9]+)+)(?=\s))",
    re.IGNORECASE,
)
_LABEL_WORD = re.compile(r"(?:tasks?|steps?|phases?|stories|story|parts?)[ \t]+#?", re.IGNORECASE)
"""What a reference to a task's number may begin with: ``Tasks 1.1, 1.2``."""
_LABEL_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*\Z")


def _references(line: BodyLine) -> Iterator[_Written]:
    """The pieces of a line that may name a task."""
    if line.number == line.task.line:
        for found in _IN_BRACKETS.finditer(line.text, line.start):
            yield from _pieces(line.text, found.start(1), found.end(1))
        return
    begins = _FIELD.match(line.text, line.start) or _BEFORE_ID.match(line.text, line.start)
    if begins is not None:
        yield from _pieces(line.text, begins.end(), len(line.text))


def _pieces(text: str, start: int, end: int) -> Iterator[_Written]:
    for separator in (*_PARTED.finditer(text, start, end), None):
        upto = end if separator is None else separator.start()
        bare = text[start:upto].lstrip(_AROUND)
        begin = upto - len(bare)
        bare = bare.rstrip(_AROUND)
        if bare:
            yield _Written(bare, begin)
        start = upto if separator is None else separator.end()


def _word_of(text: str) -> str:
    """The id that a piece begins with, as in ``US-001 (the login)``; the piece, if it has none."""
    found = _WORD.match(text)
    return text if found is None else found[0]


def _has_id_form(word: str) -> bool:
    return _EXPLICIT.fullmatch(word) is not None or _DERIVED.fullmatch(word) is not None


def _named(text: str, known: Mapping[str, Task]) -> Task | None:
    """The task that a text names by its title, or by a number behind a word: ``Tasks 1.1``."""
    number = _word_of(_LABEL_WORD.sub("", text)).casefold()
    return known.get(normalise_title(fold_whitespace(text))) or known.get(number)


def _prefix_of(label: str) -> str | None:
    """``t`` of ``t12``; None where it is no label, or only a number."""
    prefix = _LABEL_NUMBER.sub("", label)
    return prefix if prefix and prefix != label else None


def _names_of(tasks: Sequence[Task]) -> Mapping[str, Task]:
    """Every task under its id and, where no other has it, under its title; the first counts."""
    known = {task.id.casefold(): task for task in tasks}
    for task in tasks:
        known.setdefault(normalise_title(task.title), task)
    return known


def _unknown(one: TaskDependency, alike: Sequence[str]) -> LintRemark:
    message = (
        f"{display_title(one.task.title)} depends on {escape_surrogates(one.name)}, but no task "
        "of this plan has that id; write a task's id or title, or describe what it waits for"
    )
    return LintRemark(
        code=CheckCode.UNKNOWN_DEPENDENCY,
        message=message,
        place=one.place,
        task=one.task.id,
        repair=QuickFix.REPLACE if len(alike) == 1 else None,
        replacement=alike[0] if len(alike) == 1 else "",
    )


def _loose(task_id: str) -> str:
    """An id without what is often mistyped: case, and zeros before a number."""
    return _NUMBER.sub(lambda found: found[0].lstrip("0"), task_id).casefold()


def _cycles(waiting: Sequence[TaskDependency]) -> Iterator[list[TaskDependency]]:
    """Cycles of tasks that wait for each other; linear in the number of dependencies.

    Tasks that have a place in an order of work are left out first. Each remaining task waits for
    another remaining one, so a walk from it along its first dependency ends in a cycle. Cycles
    that share a task are reported one after the other, as the first of them is broken.
    """
    edges: dict[str, list[TaskDependency]] = {}
    for one in waiting:
        if one.target is not None and one.target.state in UNFINISHED:
            edges.setdefault(one.task.id, []).append(one)
    sorter = TopologicalSorter(
        {task_id: [_target_id(one) for one in out] for task_id, out in edges.items()}
    )
    with suppress(CycleError):
        sorter.prepare()
    ordered: set[str] = set()
    while ready := sorter.get_ready():
        ordered.update(ready)
        sorter.done(*ready)
    visited: dict[str, str] = {}
    for begin in edges:
        cycle = _walk(begin, edges, ordered, visited)
        if cycle:
            yield cycle


def _walk(
    begin: str,
    edges: Mapping[str, list[TaskDependency]],
    ordered: set[str],
    visited: dict[str, str],
) -> list[TaskDependency]:
    """Follow dependencies from a task until one repeats; the cycle, if this walk closed it."""
    path: list[TaskDependency] = []
    at = begin
    while at not in ordered and at not in visited:
        visited[at] = begin
        step = next(one for one in edges[at] if _target_id(one) not in ordered)
        path.append(step)
        at = _target_id(step)
    if visited.get(at) != begin or at in ordered:
        return []
    first = next(index for index, one in enumerate(path) if one.task.id == at)
    return path[first:]


def _target_id(one: TaskDependency) -> str:
    return "" if one.target is None else one.target.id


def _in_cycle(ring: Sequence[TaskDependency]) -> LintRemark:
    """One remark per cycle, at its first line, with the others as related places."""
    start = min(range(len(ring)), key=lambda index: ring[index].place.line)
    ordered = [*ring[start:], *ring[:start]]
    first, others = ordered[0], ordered[1:]
    if not others:
        message = f"{display_title(first.task.title)} depends on itself; remove the dependency"
    else:
        names = [display_title(one.task.title) for one in ordered[:SHOWN_OF_CYCLE]]
        names.append("…" if len(ordered) > SHOWN_OF_CYCLE else names[0])
        message = (
            f"these wait for each other, so none of them can start: {' → '.join(names)}; remove a "
            "dependency"
        )
    related = tuple(
        RelatedSpan(place=one.place, message=f"{display_title(one.task.title)} waits here")
        for one in others[:SHOWN_OF_CYCLE]
    )
    return LintRemark(
        code=CheckCode.DEPENDENCY_CYCLE,
        message=message,
        place=first.place,
        related=related,
        task=first.task.id,
    )
