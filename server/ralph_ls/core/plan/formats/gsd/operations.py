"""Operations on a roadmap of GSD: its phases and their plans, each a box.

A phase is a line ``- [ ] **Phase 2: Title** - Goal``; what belongs to it is below the heading
``### Phase 2``: success criteria, dependencies, and its plans, ``- [ ] 02-01-PLAN.md``. A phase
waits for its plans and for the phases that it depends on; one without plans is a task as it is. GSD
writes ``(completed 2026-01-31)`` behind a finished phase and may leave the boxes of its plans: they
are done, too. A blocked task has its reason in a line below it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ralph_ls.core.plan.formats.task_lines import (
    copy_task_lines,
    find_task,
    lines_outside_fences,
    with_last_line,
    without_reason,
)
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState

REASON = "- Blocked by: "
_NUMBER = r"[0-9]{1,3}(?:\.[0-9]+)*[a-z]?"
_BOX = r"\ufeff?[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+"
_PHASE = re.compile(
    rf"{_BOX}(?:\*\*)?Phase[ \t]+(?P<nth>{_NUMBER})[ \t]*[:.\u2014\u2013-][ \t]*(?P<title>.*\S.*)",
    re.IGNORECASE,
)
_PLAN = re.compile(
    rf"{_BOX}(?:\*\*)?`?(?P<id>{_NUMBER}-[0-9]+)(?:-PLAN)?(?:\.md)?`?(?:\*\*)?"
    r"(?=[ \t:]|$)[ \t]*(?:\u2014|\u2013|--?|:)?[ \t]*(?P<title>.*)",
    re.IGNORECASE,
)
_DETAIL = re.compile(rf"#{{2,5}}[ \t]+.*?\bPhase[ \t]+(?P<nth>{_NUMBER})\b.*", re.IGNORECASE)
_DATED = re.compile(r"\b(?:completed|shipped)\W+[0-9]{4}-[0-9]{2}", re.IGNORECASE)
_HEADING = re.compile(r"#{1,6}[ \t].*")
_DEPENDS = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*Depends on:?\*\*:?(?P<names>.*)", re.IGNORECASE)
_CRITERIA = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*Success Criteria.*", re.IGNORECASE)
_CRITERION = re.compile(r"[ \t]+(?:[0-9]+[.)]|[-*+])[ \t]+(?P<text>.*\S.*)")


@dataclass(slots=True, kw_only=True)
class _RoadmapTask:
    id: str
    title: str
    is_done: bool
    phase: str
    line: int
    start: int
    end: int
    mark: int
    is_dated: bool = False
    """It says when it was completed."""
    words: tuple[int, int]
    end_line: int
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class _Roadmap:
    tasks: dict[str, _RoadmapTask] = field(default_factory=dict)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By phase: the phases that it depends on."""
    criteria: dict[str, list[str]] = field(default_factory=dict)


def parse_text(text: str) -> ParsedPlan:
    """Read phases and plans; never raises."""
    return ParsedPlan(plan=Plan(tasks=_tasks_in(text)))


def why_broken(text: str) -> str:
    """Why a text is no roadmap; empty where it is one."""
    if _read(text).tasks:
        return ""
    return "it has no phase; write it in GSD with: /gsd:new-project"


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The ids of the tasks that each depends on."""
    known = _read(text)
    found: dict[str, tuple[str, ...]] = {}
    for task in known.tasks.values():
        above = [name for name in known.needs.get(task.phase, ()) if name in known.tasks]
        plans = [
            one.id for one in known.tasks.values() if task.id == task.phase == one.phase != one.id
        ]
        found[task.id] = (*above, *plans)
    return {task_id: needs for task_id, needs in found.items() if needs}


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    """What an agent may not change of each task: its title and the criteria of its phase."""
    known = _read(text)
    return {
        task.id: {
            Forbidden.CRITERIA: "\n".join([task.title, *_criteria_of(known, task)]),
            Forbidden.DEPENDENCY: ", ".join(known.needs.get(task.phase, ())),
        }
        for task in known.tasks.values()
    }


def with_state(text: str, task_id: str, state: TaskState, reason: str = "", day: str = "") -> str:
    """The text with one task in a state; GSD knows open and done alone."""
    del day
    task = find_task(_tasks_in(text), task_id)
    if state is TaskState.SKIPPED:
        raise RalphError(
            f"a roadmap has no form for a skipped task; skip {task_id} for this run: ralph skip ID"
        )
    if task.state is state and not reason:
        return text
    text = without_reason(_tasks_in, text, task_id, begins=REASON)
    for mark, box in _boxes_after(_read(text), task_id, is_done=state is TaskState.DONE):
        text = f"{text[:mark]}{box}{text[mark + 1 :]}"
    return (
        with_note(text, task_id, f"Blocked by: {reason or '?'}")
        if state is TaskState.BLOCKED
        else text
    )


def _boxes_after(known: _Roadmap, task_id: str, *, is_done: bool) -> list[tuple[int, str]]:
    """The boxes to write for a task; a phase that opens again keeps its other plans done."""
    task = known.tasks[task_id]
    boxes = [(task.mark, "x" if is_done else " ")]
    phase = known.tasks.get(task.phase)
    if is_done or phase is None or not (phase.is_done and phase.is_dated):
        return boxes
    others = [one for one in known.tasks.values() if one.phase == task.phase and one is not task]
    return [*boxes, *((one.mark, " " if one is phase else "x") for one in others)]


def with_note(text: str, task_id: str, note: str) -> str:
    """The text with one more item below a task, unless it ends with it."""
    return with_last_line(_tasks_in, text, task_id, f"- {note}", indent="  ")


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task's lines are as in ``other``."""
    return copy_task_lines(_tasks_in, text, other, task_id)


def _criteria_of(known: _Roadmap, task: _RoadmapTask) -> tuple[str, ...]:
    return tuple(known.criteria.get(task.id, ()))


def _tasks_in(text: str) -> tuple[Task, ...]:
    known = _read(text)
    titles = {task.id: task.title for task in known.tasks.values()}
    return tuple(_to_task(known, task, titles) for task in known.tasks.values())


def _to_task(known: _Roadmap, task: _RoadmapTask, titles: Mapping[str, str]) -> Task:
    is_phase = task.id == task.phase
    phase = known.tasks.get(task.phase)
    is_done = task.is_done or (phase is not None and phase.is_done and phase.is_dated)
    state = TaskState.TODO if task.reason is None else TaskState.BLOCKED
    return Task(
        id=task.id,
        title=f"Phase {task.id}: {task.title}" if is_phase else task.title,
        state=TaskState.DONE if is_done else state,
        priority=None,
        section="Phases" if is_phase else f"Phase {task.phase}: {titles.get(task.phase, '')}",
        optional=False,
        line=task.line,
        start=task.start,
        end=task.end,
        end_line=task.end_line,
        depth=0,
        parent=None,
        blocked_by=None if is_done else task.reason,
        criteria=_criteria_of(known, task),
        mark=(task.mark, task.mark + 1),
        words=(task.line, *task.words),
    )


def _read(text: str) -> _Roadmap:
    """The phases and plans in the order of the text; of an id that is there twice the first."""
    reader = _Reader()
    for number, start, line in lines_outside_fences(text):
        if line is not None:
            reader.take(number, start, line)
    return reader.known


class _Reader:
    """What the lines so far are about."""

    def __init__(self) -> None:
        self.known = _Roadmap()
        self._phase = ""
        """The phase that the heading above names."""
        self._lists_criteria = False
        self._last: _RoadmapTask | None = None
        """The task that an indented line belongs to."""

    def take(self, number: int, start: int, line: str) -> None:
        if _HEADING.fullmatch(line):
            detail = _DETAIL.fullmatch(line)
            self._phase = "" if detail is None else _plain(detail["nth"])
            self._last, self._lists_criteria = None, False
        elif task := _task_in(number, start, line):
            self._last = self.known.tasks.setdefault(task.id, task)
            self._lists_criteria = False
        elif self._last is not None and line[:1] in {" ", "\t"} and line.strip():
            self._last.end_line = number
            words = line.strip()
            is_reason = words.startswith(REASON)
            self._last.reason = words.removeprefix(REASON) if is_reason else None
        else:
            self._last = self._last if not line.strip() else None
            if self._phase:
                self._lists_criteria = _take_detail(
                    self.known, self._phase, line, lists_criteria=self._lists_criteria
                )


def _take_detail(known: _Roadmap, phase: str, line: str, *, lists_criteria: bool) -> bool:
    """Take one line about a phase; returns whether its criteria follow."""
    if depends := _DEPENDS.fullmatch(line):
        names = re.findall(_NUMBER, depends["names"].split("(")[0])
        known.needs[phase] = tuple(name for name in map(_plain, names) if name != phase)
    elif _CRITERIA.fullmatch(line):
        return True
    elif lists_criteria and (found := _CRITERION.fullmatch(line)):
        known.criteria.setdefault(phase, []).append(_words(found["text"]))
        return True
    return lists_criteria and not line.strip()


def _task_in(number: int, start: int, line: str) -> _RoadmapTask | None:
    found = _PHASE.fullmatch(line)
    plan = None if found is not None else _PLAN.fullmatch(line)
    if found is not None:
        task_id = phase = _plain(found["nth"])
    elif plan is not None:
        found, task_id, phase = plan, plan["id"], _plain(plan["id"].partition("-")[0])
    else:
        return None
    return _RoadmapTask(
        id=task_id,
        title=_words(found["title"]) or f"Plan {task_id}",
        is_done=found["mark"] != " ",
        phase=phase,
        line=number,
        start=start,
        end=start + len(line),
        mark=start + found.start("mark"),
        is_dated=_DATED.search(line) is not None,
        words=found.span("title"),
        end_line=number,
    )


def _plain(number: str) -> str:
    """A number of a phase without the zeros in front: ``02.1`` is ``2.1``."""
    return number.lstrip("0") or "0"


def _words(text: str) -> str:
    return escape_surrogates(fold_whitespace(text.replace("**", "")))
