"""Operations on a sprint status of BMAD: a status for each story, one a line.

Stories are the keys that begin with two numbers, such as ``1-2-pay-by-card``, below
``development_status``. Epics and retrospectives are no tasks. A story in review is in progress: a
fresh iteration reviews it. The story itself is a document beside the file.
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
        "done": TaskState.DONE,
        "blocked": TaskState.BLOCKED,
        "on-hold": TaskState.BLOCKED,
        "deferred": TaskState.SKIPPED,
        "cancelled": TaskState.SKIPPED,
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
    r"""[ \t]+(?P<quote>["']?)"""
    r"""(?P<key>(?P<epic>[0-9]+[a-z]?)-(?P<nth>[0-9]+[a-z]?)-(?P<name>[^\s"':]+))(?P=quote)"""
    r"""[ \t]*:[ \t]+(?P<around>["']?)(?P<status>[^\s"'#]+)(?P=around)"""
    r"""(?P<rest>[ \t]*(?:\#[ \t]*(?P<note>.*))?)"""
)


class _Entry(NamedTuple):
    number: int
    start: int
    line: str
    found: re.Match[str]

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
    is_inside, known = False, set()
    for number, (start, line) in enumerate(lines_of(text)):
        if line[:1] not in {"", " ", "\t", "#"}:
            is_inside = _ROOT.fullmatch(line) is not None
        found = _ENTRY.fullmatch(line) if is_inside else None
        if found is not None and found["key"] not in known:
            known.add(found["key"])
            yield _Entry(number, start, line, found)


def _tasks_of(entries: tuple[_Entry, ...]) -> Iterator[Task]:
    for entry in entries:
        number, start, line, found = entry
        words = escape_surrogates(found["name"]).replace("-", " ").strip()
        reason = escape_surrogates(found["note"] or "").removeprefix(BLOCKED_BY).strip()
        yield Task(
            id=entry.id,
            title=f"Story {found['epic']}.{found['nth']}: {words[:1].upper()}{words[1:]}",
            state=entry.state,
            priority=None,
            section=f"Epic {found['epic']}",
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
