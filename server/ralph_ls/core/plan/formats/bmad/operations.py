"""Operations on a sprint status of BMAD: a status for each story, one a line.

Stories are the keys below ``development_status`` that name neither an epic nor a retrospective,
such as ``1-2-pay-by-card``, ``TD-1-1-types`` or ``fix-login``. A story in review is in progress: a
fresh iteration reviews it. The story itself is a document beside the file. A key whose status is
not on its line is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ralph_ls.core.plan.formats.task_lines import copy_task_lines
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task, TaskKind
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import PlanProblem
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState

ROOT = "development_status"
BLOCKED_BY = "blocked by "
"""How the comment behind a status begins in which a reason is noted."""
STATES: Mapping[str, TaskState] = MappingProxyType(
    {
        "backlog": TaskState.TODO,
        "drafted": TaskState.TODO,
        "ready-for-dev": TaskState.TODO,
        "todo": TaskState.TODO,
        "in-progress": TaskState.IN_PROGRESS,
        "review": TaskState.IN_PROGRESS,
        "in-review": TaskState.IN_PROGRESS,
        "ready-for-review": TaskState.IN_PROGRESS,
        "done": TaskState.DONE,
        "completed": TaskState.DONE,
        "blocked": TaskState.BLOCKED,
        "on-hold": TaskState.BLOCKED,
        "deferred": TaskState.SKIPPED,
        "cancelled": TaskState.SKIPPED,
        "optional": TaskState.SKIPPED,
    }
)
STATUS = {
    TaskState.TODO: "ready-for-dev",
    TaskState.IN_PROGRESS: "in-progress",
    TaskState.DONE: "done",
    TaskState.BLOCKED: "blocked",
}
_ROOT = re.compile(rf"\ufeff?{ROOT}[ \t]*:[ \t]*(?:\#.*)?")
_ENTRY = re.compile(
    r"""(?P<indent>[ \t]+)(?P<quote>["']?)(?P<key>[^\s"':#-][^\s"':#]*)(?P=quote)"""
    r"""[ \t]*:[ \t]+(?P<around>["']?)(?P<status>[^\s"'#]+)(?P=around)"""
    r"""(?P<rest>[ \t]*(?:\#[ \t]*(?P<note>.*))?)"""
)
_WITHOUT_STATUS = re.compile(
    r"""(?P<indent>[ \t]+)["']?(?P<key>[^\s"':#-][^\s"':#]*)["']?[ \t]*:[ \t]*(?:\#.*)?"""
)
_NUMBERED = re.compile(
    r"(?:story[-_])?(?P<epic>[0-9]+[a-z]?)[-._](?P<nth>[0-9]+[a-z]?)[-_](?P<name>.+)", re.IGNORECASE
)
_LABELLED = re.compile(
    r"(?P<label>(?:[a-z]+-)?[a-z]*[0-9]+[a-z]?(?:[-.][0-9]+[a-z]?)+|[a-z]{1,2}-[0-9]+)-(?P<name>.+)",
    re.IGNORECASE,
)
"""A story of a list beside the epics: ``TD-1-1-types``, ``se1-5-editor``, ``g-01-log-in``."""
_EPIC = re.compile(r"(?:[^\W\d]+-)*epic(?:[-_.]?[0-9].*|-.*)?", re.IGNORECASE)
_RETROSPECTIVE = re.compile(r"(?:.*[-_])?retrospective", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][^\W\d]*(?:-[^\W\d]+)*")
"""A status, and no date or number."""


class _Entry(NamedTuple):
    number: int
    start: int
    line: str
    found: re.Match[str]
    epic: str
    """The key of the epic that it follows; empty where there is none."""

    @property
    def id(self) -> str:
        return escape_surrogates(self.found["key"])

    @property
    def state(self) -> TaskState:
        return STATES.get(self.found["status"].casefold(), TaskState.BLOCKED)


def parse_text(text: str) -> ParsedPlan:
    """Read the stories and their problems; never raises."""
    entries = tuple(_entries(text))
    problems: list[PlanProblem] = []
    spans: list[tuple[int, int]] = []
    for entry in entries:
        status = entry.found["status"]
        if status.casefold() not in STATES:
            message = (
                f"the status {escape_surrogates(status)[:40]} is unknown; write one of "
                "backlog, ready-for-dev, in-progress, review, done"
            )
            problems.append(
                PlanProblem(code="story-status-unknown", message=message, line=entry.number + 1)
            )
            spans.append(entry.found.span("status"))
    for number, span, name in _without_status(text):
        message = f"{name} is not read, for its status is not behind it; write {name}: backlog"
        problems.append(PlanProblem(code="story-not-read", message=message, line=number + 1))
        spans.append(span)
    tasks = tuple(_tasks_of(entries))
    return ParsedPlan(plan=Plan(tasks=tasks), problems=tuple(problems), spans=tuple(spans))


def why_broken(text: str) -> str:
    """Why a text is no sprint status; empty where it is one."""
    if any(_ROOT.fullmatch(line) for _, line in lines_of(text)):
        return ""
    return f"the list {ROOT} is missing; write it in BMAD with: sprint-planning"


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The order of the file is that of the work: nothing depends on anything else."""
    del text
    return {}


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    """An entry has nothing but its key and its status."""
    return {task.id: {} for task in _tasks_in(text)}


def with_state(text: str, task_id: str, state: TaskState, reason: str = "", day: str = "") -> str:
    """The text with one story in a state; why it is blocked is a comment behind it."""
    del day
    entry = next((one for one in _entries(text) if one.id == task_id), None)
    if entry is None:
        raise RalphError(f"the plan has no task {task_id}; see the ids in: ralph plan")
    if entry.state is state and not reason:
        return text
    status = STATUS.get(state)
    if status is None:
        raise RalphError(
            f"BMAD has no status for a skipped story; skip {task_id} for this run: ralph skip ID"
        )
    found = entry.found
    is_reason = (found["note"] or "").startswith(BLOCKED_BY)
    rest = "" if is_reason or reason else found["rest"]
    if reason:
        rest = f"  # {BLOCKED_BY}{' '.join(reason.split())}"
    start, end = entry.start + found.start("status"), entry.start + len(entry.line)
    return text[:start] + status + found["around"] + rest + text[end:]


def with_note(text: str, task_id: str, note: str) -> str:
    """The same text: notes are in the story's own document."""
    del task_id, note
    return text


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one story's line is as in ``other``."""
    return copy_task_lines(_tasks_in, text, other, task_id)


def _tasks_in(text: str) -> tuple[Task, ...]:
    return tuple(_tasks_of(tuple(_entries(text))))


def _entries(text: str) -> Iterator[_Entry]:
    """The stories below the root, each key once."""
    known: set[str] = set()
    indent, epic = None, ""
    for number, start, line in _lines_below_root(text):
        found = _ENTRY.fullmatch(line)
        if found is None:
            continue
        indent = found["indent"] if indent is None else indent
        key = found["key"]
        if _is_epic(key) and _RETROSPECTIVE.fullmatch(key) is None:
            epic = key
        elif key not in known and _is_story(found, is_own=found["indent"] == indent):
            known.add(key)
            yield _Entry(number, start, line, found, epic)


def _lines_below_root(text: str) -> Iterator[tuple[int, int, str]]:
    """Number, beginning and text of each line below the root."""
    is_inside = False
    for number, (start, line) in enumerate(lines_of(text)):
        if line[:1] not in {"", " ", "\t", "#"}:
            is_inside = _ROOT.fullmatch(line) is not None
        elif is_inside:
            yield number, start, line


def _is_epic(key: str) -> bool:
    return _EPIC.fullmatch(key) is not None


def _is_story(found: re.Match[str], *, is_own: bool) -> bool:
    """Whether an entry is a story: by two numbers, or, beside the first entry, by its status."""
    key, status = found["key"], found["status"]
    if _NUMBERED.fullmatch(key) is not None:
        return True
    is_known = status.casefold() in STATES or ("-" in key and _WORD.fullmatch(status) is not None)
    return is_own and is_known and _RETROSPECTIVE.fullmatch(key) is None


def _without_status(text: str) -> Iterator[tuple[int, tuple[int, int], str]]:
    """The line, the place in it and the name of the keys without a status, beside the first key."""
    indent = None
    for number, _, line in _lines_below_root(text):
        found = _WITHOUT_STATUS.fullmatch(line) or _ENTRY.fullmatch(line)
        if found is None:
            continue
        indent = found["indent"] if indent is None else indent
        key = found["key"]
        is_empty = found.re is _WITHOUT_STATUS and found["indent"] == indent
        if is_empty and not _is_epic(key) and _RETROSPECTIVE.fullmatch(key) is None:
            yield number, found.span("key"), escape_surrogates(key)


def _tasks_of(entries: tuple[_Entry, ...]) -> Iterator[Task]:
    for entry in entries:
        number, start, line, found, _ = entry
        title, section = _names_of(entry)
        reason = escape_surrogates(found["note"] or "").removeprefix(BLOCKED_BY).strip()
        yield Task(
            id=entry.id,
            title=title,
            state=entry.state,
            priority=None,
            section=section,
            optional=False,
            line=number,
            start=start,
            end=start + len(line),
            end_line=number,
            depth=0,
            parent=None,
            blocked_by=(reason or None) if entry.state is TaskState.BLOCKED else None,
            criteria=(),
            kind=TaskKind.STORY,
            mark=(start + found.start("status"), start + found.end("status")),
            words=(number, *found.span("key")),
        )


def _names_of(entry: _Entry) -> tuple[str, str]:
    """The title of a story, and the section that it is in."""
    label = ""
    section = "Stories"
    if entry.epic:
        number = entry.epic.casefold().removeprefix("epic-")
        section = f"Epic {number}" if number != entry.epic.casefold() else entry.epic
    if numbered := _NUMBERED.fullmatch(entry.found["key"]):
        label, name = f"Story {numbered['epic']}.{numbered['nth']}: ", numbered["name"]
        section = f"Epic {numbered['epic']}"
    elif labelled := _LABELLED.fullmatch(entry.found["key"]):
        label, name = f"Story {labelled['label']}: ", labelled["name"]
    else:
        name = entry.found["key"]
    words = escape_surrogates(name).replace("-", " ").replace("_", " ").strip()
    return f"{label}{words[:1].upper()}{words[1:]}", escape_surrogates(section)
