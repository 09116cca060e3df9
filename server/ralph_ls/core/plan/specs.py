"""Specifications: front matter, index, the tasks that name them, and inconsistencies.

The user writes specifications in ``specs/``; ``specs/README.md`` is their index, and
``specs/archive/`` is history and is not read. A specification is implemented only when all its
tasks are done (docs/rules.md#specifications), and a task belongs to one that it names. Works on
texts by their names within ``specs/``, not on folders. Also the texts that a new loop begins with:
a plan and an index of specifications.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from posixpath import join, normpath

from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.front_matter import (
    FrontMatter,
    FrontMatterField,
    FrontMatterProblem,
    read_front_matter,
)
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.protocol.task_words import TaskState

FOLDER = "specs"
INDEX = "README.md"
"""Within ``specs/``."""
ARCHIVE = "archive"
"""The folder within ``specs/`` that is not read."""


class SpecStatus(StrEnum):
    """The status of a specification in its front matter."""

    ACTIVE = "active"
    IMPLEMENTED = "implemented"
    OBSOLETE = "obsolete"
    SUPERSEDED_BY = "superseded-by"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One specification."""

    name: str
    """Within ``specs/``."""
    status: SpecStatus
    """Active where it is missing or unknown."""
    created: date | None
    updated: date | None
    tags: tuple[str, ...]
    dependencies: tuple[str, ...]
    """Names within ``specs/``."""
    supersedes: tuple[str, ...]
    front_matter: FrontMatter
    remarks: tuple[FrontMatterProblem, ...]
    """The problems in its front matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """The entry of one specification in the index."""

    title: str
    name: str
    """Within ``specs/``; empty where the heading names no file."""
    part: SpecStatus
    """From its section; the archived ones are obsolete."""
    fields: Mapping[str, str]
    """The fields by their names in lower case: status, priority, dependencies, last updated,
    completed, summary."""
    line: int
    """From 0."""
    start: int
    end: int


def is_spec(name: str) -> bool:
    """Whether a file of that name within ``specs/`` is a specification that is read."""
    first, _, _ = name.partition("/")
    return name.lower().endswith(".md") and name != INDEX and first != ARCHIVE


def read_spec(name: str, text: str) -> Spec:
    """Parse a specification's front matter; total."""
    matter = read_front_matter(text)
    remarks = list(matter.remarks)
    folder = name.rpartition("/")[0]
    return Spec(
        name=name,
        status=_status_of(matter, remarks),
        created=_date_of(matter, "created", remarks),
        updated=_date_of(matter, "updated", remarks),
        tags=matter.values("tags"),
        dependencies=_names(matter.values("dependencies"), folder),
        supersedes=_names(matter.values("supersedes"), folder),
        front_matter=matter,
        remarks=tuple(remarks),
    )


def read_index(text: str) -> tuple[IndexEntry, ...]:
    """Parse the entries of ``specs/README.md``: sub-headings, or links in a list; total.

    Fields are below an entry.
    """
    entries: list[IndexEntry] = []
    part: SpecStatus | None = None
    fields: dict[str, str] | None = None
    is_below_entry = False
    for number, (start, line) in enumerate(lines_of(text)):
        span = (number, start, start + len(line))
        if heading := _HEADING.match(line):
            title = fold_whitespace(heading[2])
            fields, is_below_entry = None, False
            if len(heading[1]) <= _SECTION_LEVEL:
                part = _PARTS.get(title.split(" ")[0].lower())
            elif part is not None:
                # What is listed below a sub-heading belongs to it, such as its dependencies.
                fields, is_below_entry = {}, True
                named = _NAMED.search(title)
                short = title[: named.start()].strip(" []") if named else title
                entries.append(_entry(short, named[1] if named else "", part, fields, span))
        elif part is not None and not is_below_entry and (listed := _LISTED.match(line)):
            fields = {}
            entries.append(_entry(fold_whitespace(listed[1]), listed[2], part, fields, span))
        elif fields is not None and (field := _FIELD.match(line)):
            fields.setdefault(fold_whitespace(field[1]).lower(), fold_whitespace(field[2]))
    return tuple(entries)


def _entry(
    title: str,
    path: str,
    part: SpecStatus,
    fields: dict[str, str],
    span: tuple[int, int, int],
) -> IndexEntry:
    line, start, end = span
    return IndexEntry(
        title=title,
        name=normpath(path.removeprefix("./").removeprefix(f"{FOLDER}/")) if path else "",
        part=part,
        fields=fields,
        line=line,
        start=start,
        end=end,
    )


def check_specs(
    specs: Sequence[Spec],
    index: Sequence[IndexEntry] | None,
    plan: Plan,
    plan_text: str,
    *logs: str,
) -> dict[str, tuple[FrontMatterProblem, ...]]:
    """The inconsistencies, by name within ``specs/``; ``index`` is None where there is none.

    ``plan_text`` is what the plan was read from, and ``logs`` are those of finished tasks. Linear
    in them and in what the specifications say.
    """
    found: dict[str, list[FrontMatterProblem]] = {spec.name: list(spec.remarks) for spec in specs}
    known = {spec.name: spec for spec in specs}
    named_open = _open_tasks_by_spec(plan, plan_text, known)
    done = {name for name, titles in named_open.items() if not titles}
    done |= _finished_in(logs, known) - named_open.keys()
    for spec in specs:
        open_tasks = named_open.get(spec.name, [])
        found[spec.name] += _check_names(spec, known)
        found[spec.name] += _check_status(spec, open_tasks, is_done=spec.name in done)
    if index is not None:
        active = {spec.name for spec in specs if spec.status is SpecStatus.ACTIVE}
        found[INDEX] = [*_check_index(index, known), *_done_entries(index, done & active)]
    return {name: tuple(remarks) for name, remarks in found.items() if remarks}


def _check_status(
    spec: Spec, open_tasks: Sequence[str], *, is_done: bool
) -> Iterator[FrontMatterProblem]:
    """Whether the status fits the tasks."""
    status = spec.front_matter.find("status")
    if spec.status is SpecStatus.IMPLEMENTED and open_tasks:
        shown = "; ".join(open_tasks[:_SHOWN_TASKS])
        more = "; …" if len(open_tasks) > _SHOWN_TASKS else ""
        message = (
            f"it is marked as implemented, but the plan has open tasks for it: {shown}{more}; do "
            "them first, or set its status to active"
        )
        yield _remark(OPEN_TASKS, message, status)
    elif spec.status is SpecStatus.ACTIVE and is_done:
        yield _remark(ALL_DONE, _DONE_WORDS, status)


def _done_entries(index: Sequence[IndexEntry], done: set[str]) -> Iterator[FrontMatterProblem]:
    for entry in index:
        if entry.part is SpecStatus.ACTIVE and entry.name in done:
            yield _of_entry(ALL_DONE, f"{entry.name}: {_DONE_WORDS}", entry)


def _finished_in(logs: Iterable[str], known: Mapping[str, Spec]) -> set[str]:
    """The specifications that ticked lines of logs name."""
    ticked = (line for log in logs for _, line in lines_of(log) if _TICKED.match(line))
    return {name for line in ticked for name in _named_in(line, known)}


def implemented_spec(text: str, *, today: date) -> str:
    """A specification with the status implemented, and the day of that change."""
    matter = read_front_matter(text)
    ending = "\r\n" if "\r\n" in text else "\n"
    if not matter.is_there:
        fields = f"status: {SpecStatus.IMPLEMENTED}{ending}updated: {today}"
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        return f"{bom}---{ending}{fields}{ending}---{ending}{ending}{text.removeprefix(bom)}"
    lines = text.split("\n")
    mark = "\r" if ending == "\r\n" else ""
    missing = []
    for key, value in (("status", str(SpecStatus.IMPLEMENTED)), ("updated", str(today))):
        field = matter.find(key)
        if field is None:
            missing.append(f"{key}: {value}{mark}")
        else:
            lines[field.line] = f"{key}: {value}{mark}"
    lines[matter.end_line : matter.end_line] = missing
    return "\n".join(lines)


def implemented_in_index(text: str, name: str, *, today: date) -> str:
    """The index with the entry of a specification below the implemented ones.

    It has its status and the day, and keeps its summary. An index in another form, such as a list,
    is returned unchanged.
    """
    entry = next((one for one in read_index(text) if one.name == name), None)
    lines = text.replace("\r\n", "\n").split("\n")
    headings = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    if entry is None or entry.part is not SpecStatus.ACTIVE or entry.line not in headings:
        return text
    end = next((number for number in headings if number > entry.line), len(lines))
    heading = lines[entry.line]
    moved = [heading, "- **Status:** Implemented", f"- **Completed:** {today}"]
    if "summary" in entry.fields:
        moved.append(f"- **Summary:** {entry.fields['summary']}")
    del lines[entry.line : end]
    parts = [number for number, line in enumerate(lines) if line.startswith(("# ", "## "))]
    at = next((n for n in parts if lines[n].lstrip("# ").lower().startswith("implemented")), None)
    if at is None:
        lines += ["## Implemented Specifications", ""]
        at = len(lines) - 2
    lines[at + 1 : at + 1] = ["", *moved]
    return ("\r\n" if "\r\n" in text else "\n").join(lines)


def unplanned_specs(
    specs: Sequence[Spec], plan: Plan, plan_text: str, *logs: str
) -> tuple[str, ...]:
    """Names of the active specifications that no task names, nor a log of finished ones.

    ``plan_text`` is what the plan was read from.
    """
    known = {spec.name: spec for spec in specs}
    named = set(_open_tasks_by_spec(plan, plan_text, known))
    for log in logs:
        named.update(name for _, line in lines_of(log) for name in _named_in(line, known))
    active = (spec.name for spec in specs if spec.status is SpecStatus.ACTIVE)
    return tuple(name for name in active if name not in named)


UNPLANNED = "specs-without-tasks"
"""The code of the warning that no required task is open, and a specification was never planned."""

OPEN_TASKS = "spec-implemented-with-open-tasks"

ALL_DONE = "spec-active-with-all-tasks-done"
_DONE_WORDS = (
    "every task for it is done, but it is still active; run its tests, and if they pass, set its "
    "status to implemented, with the date, here and in the index"
)

_TICKED = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[xX]\]")
_SHOWN_TASKS = 3
_SECTION_LEVEL = 2
_PARTS = {
    "active": SpecStatus.ACTIVE,
    "implemented": SpecStatus.IMPLEMENTED,
    "archived": SpecStatus.OBSOLETE,
}
_HEADING = re.compile(r"\ufeff?(#{1,6})[ \t]+(.*)")
_FIELD = re.compile(r"[ \t]*[-*+][ \t]+\*\*([^*:]+):?\*\*:?(.*)")
_LISTED = re.compile(r"[ \t]*[-*+][ \t]+\[([^\[\]]*)\]\(([^()\s]+\.md)\)", re.IGNORECASE)
"""``- [Letters](letters.md)``, the usual form of an index."""
_NAMED = re.compile(r"[\[(]([^\[\]()\s]+\.md)[\])]", re.IGNORECASE)
_WORD = re.compile(r"[\w./-]+")


def _status_of(matter: FrontMatter, remarks: list[FrontMatterProblem]) -> SpecStatus:
    """A specification without a status is active; ``superseded-by`` may name the other one."""
    field = matter.find("status")
    if field is None or not field.values:
        return SpecStatus.ACTIVE
    word = field.values[0].lower().partition(" ")[0].rstrip(":")
    if word in set(SpecStatus):
        return SpecStatus(word)
    known = ", ".join(SpecStatus)
    message = f"the status {field.values[0]!r} is unknown and read as active; use {known}"
    remarks.append(_remark("spec-status-unknown", message, field))
    return SpecStatus.ACTIVE


def _date_of(matter: FrontMatter, key: str, remarks: list[FrontMatterProblem]) -> date | None:
    field = matter.find(key)
    if field is None or not field.values:
        return None
    try:
        return date.fromisoformat(field.values[0])
    except ValueError:
        message = f"{key}: {field.values[0]!r} is not a date; write it as YYYY-MM-DD"
        remarks.append(_remark("spec-date-invalid", message, field))
        return None


def _names(values: Iterable[str], folder: str) -> tuple[str, ...]:
    """Names within ``specs/``, of names beside the specification or below the root."""
    below = f"{FOLDER}/"
    return tuple(
        normpath(value.removeprefix(below) if value.startswith(below) else join(folder, value))
        for value in values
    )


def _check_names(spec: Spec, known: Mapping[str, Spec]) -> Iterator[FrontMatterProblem]:
    for key, names in (("dependencies", spec.dependencies), ("supersedes", spec.supersedes)):
        for name in names:
            # A superseded one may be in the archive, which is not read.
            is_there = name in known or (key == "supersedes" and name.startswith(f"{ARCHIVE}/"))
            if name == spec.name:
                message = f"{key}: it refers to itself; remove the name"
                yield _remark("spec-names-itself", message, spec.front_matter.find(key))
            elif not is_there:
                message = (
                    f"{key}: there is no specification {name}; add it to {FOLDER}/, or remove the "
                    "name"
                )
                yield _remark("spec-dependency-unknown", message, spec.front_matter.find(key))


def _open_tasks_by_spec(plan: Plan, text: str, known: Mapping[str, Spec]) -> dict[str, list[str]]:
    """The titles of tasks that are not done, by the specifications that they name.

    A task names one in its title, its notes, or the heading above it.
    """
    by_id = plan.by_id()
    found: dict[str, dict[str, str]] = {}
    for name, task in (*_named_in_tasks(plan, text, known), *_named_in_sections(plan, known)):
        found.setdefault(name, {})[task.id] = task.title
    settled = {TaskState.DONE, TaskState.SKIPPED}
    return {
        name: [title for task_id, title in titles.items() if by_id[task_id].state not in settled]
        for name, titles in found.items()
    }


def _named_in_tasks(plan: Plan, text: str, known: Mapping[str, Spec]) -> Iterator[tuple[str, Task]]:
    by_id = plan.by_id()
    first_lines = [task.line for task in plan.tasks]

    def task_at(number: int) -> Task | None:
        nth = bisect_right(first_lines, number) - 1
        task = plan.tasks[nth] if nth >= 0 else None
        while task is not None and task.end_line < number:
            task = None if task.parent is None else by_id[task.parent]
        return task

    for number, (_, line) in enumerate(lines_of(text)):
        for name in _named_in(line, known):
            if (task := task_at(number)) is not None:
                yield name, task


def _named_in_sections(plan: Plan, known: Mapping[str, Spec]) -> Iterator[tuple[str, Task]]:
    sections = {task.section for task in plan.tasks}
    named = {section: _named_in(section, known) for section in sections}
    return ((name, task) for task in plan.tasks for name in named[task.section])


def _named_in(text: str, known: Mapping[str, Spec]) -> tuple[str, ...]:
    """The specifications that a line names, by their file below the root or within ``specs/``."""
    if ".md" not in text.lower():
        return ()
    names = (normpath(word.rstrip(".").removeprefix(f"{FOLDER}/")) for word in _WORD.findall(text))
    return tuple(name for name in names if name in known)


def _check_index(
    index: Sequence[IndexEntry], known: Mapping[str, Spec]
) -> Iterator[FrontMatterProblem]:
    for entry in index:
        spec = known.get(entry.name)
        is_archived = entry.part is SpecStatus.OBSOLETE
        if spec is None:
            if entry.name and not is_archived:
                message = f"there is no {FOLDER}/{entry.name}; remove the entry, or write the file"
                yield _of_entry("spec-index-missing-file", message, entry)
        elif spec.status is not entry.part and not (
            is_archived and spec.status is SpecStatus.SUPERSEDED_BY
        ):
            message = (
                f"{entry.name} is {spec.status.value}, but listed here as "
                f"{'archived' if is_archived else entry.part.value}; make both agree"
            )
            yield _of_entry("spec-index-differs", message, entry)
    listed = {entry.name for entry in index}
    for name in sorted(known.keys() - listed):
        message = f"{name} is not in the index; add a section for it"
        yield FrontMatterProblem(code="spec-not-in-index", message=message, line=0, start=0, end=0)


def _of_entry(code: str, message: str, entry: IndexEntry) -> FrontMatterProblem:
    return FrontMatterProblem(
        code=code, message=message, line=entry.line, start=entry.start, end=entry.end
    )


def _remark(code: str, message: str, field: FrontMatterField | None) -> FrontMatterProblem:
    """A remark at the field that it is about; at the beginning where there is none."""
    line, start, end = (0, 0, 0) if field is None else (field.line, field.start, field.end)
    return FrontMatterProblem(code=code, message=message, line=line, start=start, end=end)


def fix_plan_skeleton() -> str:
    """An ``@fix_plan.md`` with its four sections and no task."""
    return "\n\n".join(_HEADINGS) + "\n"


def spec_index_skeleton() -> str:
    """A ``specs/README.md`` with its three sections and no entry.

    See docs/rules.md#specifications.
    """
    return "\n\n".join(_INDEX) + "\n"


_INDEX = (
    "# Specification Index",
    "This document tracks the status of all feature specifications.",
    "## Active Specifications",
    "## Implemented Specifications",
    "## Archived Specifications",
    "Obsolete or superseded specs are in specs/archive/, which is not read.",
)

_HEADINGS = (
    "# Fix Plan",
    "## High Priority (P0)",
    "## Standard (P1)",
    "## Nice to Have (P2)",
    "## Completed",
)
