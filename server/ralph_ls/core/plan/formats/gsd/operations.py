"""Operations on a roadmap of GSD: its phases and their plans, each a box.

A phase is a line ``- [ ] **Phase 2: Title** - Goal``; what belongs to it is below the heading
``### Phase 2``: success criteria, dependencies, and its plans, ``- [ ] 02-01-PLAN.md``. A phase
waits for its plans and for the phases that it depends on; one without plans is a task as it is. GSD
writes ``(completed 2026-01-31)`` behind a finished phase, or ``Complete`` in its table of progress,
and may leave the boxes of its plans: they are done, too. A blocked task has its reason in a line
below it.

The plans of a phase come in its place. Where all of them are done, what is left of the phase is to
check it and to tick its box: it comes last, and no other phase waits for that. A phase that has a
heading, but neither a box nor plans, is reported.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from ralph_ls.core.plan.formats.task_lines import (
    copy_task_lines,
    find_task,
    lines_outside_fences,
    with_last_line,
    without_reason,
)
from ralph_ls.core.plan.lint.remarks import first_names
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import PlanProblem
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
_HEADED = re.compile(
    rf"#{{2,5}}[ \t]+(?:\*\*)?(?P<name>Phase[ \t]+(?P<nth>{_NUMBER})[ \t]*[:\u2014\u2013-].*\S.*)",
    re.IGNORECASE,
)
_IS_DONE = re.compile(
    r"[\u2705\u2713\u2714\u2611]|~~|[(\[\u2014\u2013-][ \t]*(?:completed?|done|shipped)\b",
    re.IGNORECASE,
)
_FOLDED = re.compile(r"[ \t]*<(?P<end>/?)details\b.*", re.IGNORECASE)
_COMPLETE = re.compile(
    r"\|[ \t]*(?:Phase[ \t]+)?(?P<nth>[0-9]+(?:\.[0-9]+)*)[.:]?[ \t][^|\n]*\|"
    r"(?:[^|\n]*\|)*?[ \t]*(?:\u2705[ \t]*)?Complete\b",
    re.IGNORECASE,
)
"""A row of the table of progress: ``| 2. Links | 3/3 | Complete | 2026-01-31 |``."""
_DATED = re.compile(r"\b(?:completed|shipped)\W+[0-9]{4}-[0-9]{2}", re.IGNORECASE)
_HEADING = re.compile(r"#{1,6}[ \t].*")
_DEPENDS = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*Depends on:?\*\*:?(?P<names>.*)", re.IGNORECASE)
_CRITERIA = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*Success Criteria.*", re.IGNORECASE)
_CRITERION = re.compile(r"[ \t]+(?:[0-9]+[.)]|[-*+])[ \t]+(?P<text>.*\S.*)")

_Rank = tuple[tuple[int, str], ...]


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
    headings: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """By phase, of those that are not done: the number of the line, the line and the title."""

    plans: dict[str, list[_RoadmapTask]] = field(default_factory=dict)
    """By phase."""
    complete: set[str] = field(default_factory=set)
    """The phases that the table of progress calls complete."""

    def add(self, task: _RoadmapTask) -> _RoadmapTask:
        """Take a task, and return the one with its id."""
        known = self.tasks.setdefault(task.id, task)
        if known is task and task.id != task.phase:
            self.plans.setdefault(task.phase, []).append(task)
        return known

    def has_finished(self, phase: str) -> bool:
        """Whether a phase is ticked, and its plans are done whatever their boxes.

        By its date, or by the table of progress where none of their boxes was ever ticked.
        """
        task = self.tasks.get(phase)
        if task is None or not task.is_done:
            return False
        is_unticked = not any(plan.is_done for plan in self.plans.get(phase, ()))
        return task.is_dated or (phase in self.complete and is_unticked)

    def only_lacks_its_tick(self, phase: str) -> bool:
        """Whether a phase is open, and all its plans are done."""
        task, plans = self.tasks.get(phase), self.plans.get(phase)
        is_open = task is not None and not task.is_done and task.reason is None
        return is_open and bool(plans) and all(one.is_done for one in plans or ())


def parse_text(text: str) -> ParsedPlan:
    """Read phases and plans, in the order of the work; never raises."""
    known = _read(text)
    tasks = {task.id: task for task in _tasks_of(known)}
    ordered = (tasks[one] for phase in _phases(known) for one in _ids_of(known, phase))
    plan = Plan(tasks=tuple(ordered))
    found = _without_box(known)
    if found is None:
        return ParsedPlan(plan=plan)
    problem, line = found
    return ParsedPlan(plan=plan, problems=(problem,), spans=((0, len(line.rstrip())),))


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
        above = [
            name
            for name in known.needs.get(task.phase, ())
            if name in known.tasks and not known.only_lacks_its_tick(name)
        ]
        plans = known.plans.get(task.phase, ()) if task.id == task.phase else ()
        found[task.id] = (*above, *(one.id for one in plans))
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
    if is_done or not known.has_finished(task.phase):
        return boxes
    others = [one for one in known.tasks.values() if one.phase == task.phase and one is not task]
    return [*boxes, *((one.mark, " " if one.id == task.phase else "x") for one in others)]


def with_note(text: str, task_id: str, note: str) -> str:
    """The text with one more item below a task, unless it ends with it."""
    return with_last_line(_tasks_in, text, task_id, f"- {note}", indent="  ")


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task's lines are as in ``other``."""
    return copy_task_lines(_tasks_in, text, other, task_id)


def _criteria_of(known: _Roadmap, task: _RoadmapTask) -> tuple[str, ...]:
    return tuple(known.criteria.get(task.id, ()))


def _tasks_in(text: str) -> tuple[Task, ...]:
    """The tasks in the order of the text, which edits of lines need."""
    return _tasks_of(_read(text))


def _tasks_of(known: _Roadmap) -> tuple[Task, ...]:
    titles = {task.id: task.title for task in known.tasks.values()}
    return tuple(_to_task(known, task, titles) for task in known.tasks.values())


def _phases(known: _Roadmap) -> list[str]:
    """The phases in the order of the work: as they are listed, those that lack a tick last.

    One that is not in the list is before the first of a greater number.
    """
    listed = [one.id for one in known.tasks.values() if one.id == one.phase]
    order: dict[str, tuple[int, int, _Rank]] = {one: (nth, 1, ()) for nth, one in enumerate(listed)}
    greatest = list(accumulate(map(_rank, listed), max))
    for phase in known.plans:
        rank = _rank(phase)
        order.setdefault(phase, (bisect_right(greatest, rank), 0, rank))
    return sorted(order, key=lambda one: (known.only_lacks_its_tick(one), order[one]))


def _rank(phase: str) -> _Rank:
    """A number of a phase as it is ordered: 8, 8.1, 8a, 10."""
    parts = (re.fullmatch(r"([0-9]*)(.*)", part) for part in phase.split("."))
    return tuple((int(part[1] or 0), part[2]) for part in parts if part is not None)


def _ids_of(known: _Roadmap, phase: str) -> Iterator[str]:
    if phase in known.tasks:
        yield phase
    yield from (one.id for one in known.plans.get(phase, ()))


def _without_box(known: _Roadmap) -> tuple[PlanProblem, str] | None:
    """The phases that only have a heading, as GSD inserts them; one problem, at the first line."""
    phases = {one.phase for one in known.tasks.values()}
    found = [one for phase, one in known.headings.items() if phase not in phases]
    if not found or not phases & known.tasks.keys():
        return None
    names = [name for _, _, name in found]
    have = "1 phase has" if len(found) == 1 else f"{len(found)} phases have"
    are = "it is not read" if len(found) == 1 else f"they are not read ({first_names(names)})"
    message = (
        f"{have} a heading and no box, so {are}; add to the list of phases: - [ ] **{names[0]}**"
    )
    number, line, _ = found[0]
    return PlanProblem(code="phase-not-read", message=message, line=number + 1), line


def _to_task(known: _Roadmap, task: _RoadmapTask, titles: Mapping[str, str]) -> Task:
    is_phase = task.id == task.phase
    phase = known.tasks.get(task.phase)
    is_done = task.is_done or known.has_finished(task.phase)
    state = TaskState.TODO if task.reason is None else TaskState.BLOCKED
    has_phase = phase is not None and not is_phase
    return Task(
        id=task.id,
        title=f"Phase {task.id}: {task.title}" if is_phase else task.title,
        state=TaskState.DONE if is_done else state,
        priority=None,
        section=_section(known, task, titles),
        optional=False,
        line=task.line,
        start=task.start,
        end=task.end,
        end_line=task.end_line,
        depth=int(has_phase),
        parent=task.phase if has_phase else None,
        blocked_by=None if is_done else task.reason,
        criteria=_criteria_of(known, task),
        mark=(task.mark, task.mark + 1),
        words=(task.line, *task.words),
    )


def _section(known: _Roadmap, task: _RoadmapTask, titles: Mapping[str, str]) -> str:
    if task.id != task.phase:
        return f"Phase {task.phase}: {titles.get(task.phase, '')}"
    return "Phases whose plans are done" if known.only_lacks_its_tick(task.id) else "Phases"


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
        self._is_folded = False
        """In ``<details>``, where GSD keeps what was shipped."""

    def take(self, number: int, start: int, line: str) -> None:
        if (row := _COMPLETE.match(line)) is not None:
            self.known.complete.add(_plain(row["nth"]))
        if _HEADING.fullmatch(line):
            self._take_heading(number, line)
        elif folded := _FOLDED.fullmatch(line):
            self._is_folded = not folded["end"]
        elif task := _task_in(number, start, line):
            self._last = self.known.add(task)
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

    def _take_heading(self, number: int, line: str) -> None:
        detail, headed = _DETAIL.fullmatch(line), _HEADED.fullmatch(line)
        self._phase = "" if detail is None else _plain(detail["nth"])
        self._last, self._lists_criteria = None, False
        if headed is not None and not self._is_folded and _IS_DONE.search(line) is None:
            place = (number, line, _words(headed["name"]))
            self.known.headings.setdefault(_plain(headed["nth"]), place)


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
