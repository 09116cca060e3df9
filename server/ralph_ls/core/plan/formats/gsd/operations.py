"""Operations on a roadmap of GSD: its phases and their plans, each a box.

A phase is a line ``- [ ] **Phase 2: Title** - Goal``; what belongs to it is below the heading
``### Phase 2``: success criteria, dependencies, and its plans, ``- [ ] 02-01-PLAN.md``. A phase
waits for its plans and for the phases that it depends on; one without plans is a task as it is. A
blocked task has its reason in a line below it.

GSD writes ``(completed 2026-01-31)`` behind a finished phase and ``Complete`` in its table of
progress, and may leave the boxes of the plans. So every plan of a phase that is ticked, or complete
in the table, is done, and of ``5/6`` in the table the first five are. Where these disagree, one
remark says what was taken.

The plans of a phase come in its place. Where all of them are done, what is left of the phase is to
check it and to tick its box: it comes last, and no other phase waits for that. A phase that has a
heading, but neither a box nor plans, is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ralph_ls.core.plan.formats.gsd.roadmap import (
    REASON,
    Roadmap,
    RoadmapTask,
    phases_in_order,
    read_roadmap,
)
from ralph_ls.core.plan.formats.task_lines import (
    copy_task_lines,
    find_task,
    with_last_line,
    without_reason,
)
from ralph_ls.core.plan.lint.remarks import (
    UNFINISHED,
    CheckCode,
    LineSpan,
    LintRemark,
    first_names,
)
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import PlanProblem
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState


def parse_text(text: str) -> ParsedPlan:
    """Read phases and plans, in the order of the work; never raises."""
    known = read_roadmap(text)
    tasks = {task.id: task for task in _tasks_of(known)}
    ordered = (tasks[one] for phase in phases_in_order(known) for one in _ids_of(known, phase))
    plan = Plan(tasks=tuple(ordered))
    found = _without_box(known)
    if found is None:
        return ParsedPlan(plan=plan)
    problem, line = found
    return ParsedPlan(plan=plan, problems=(problem,), spans=((0, len(line.rstrip())),))


def why_broken(text: str) -> str:
    """Why a text is no roadmap; empty where it is one."""
    if read_roadmap(text).tasks:
        return ""
    return "it has no phase; write it in GSD with: /gsd:new-project"


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The ids of the tasks that each depends on."""
    known = read_roadmap(text)
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
    known = read_roadmap(text)
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
    for start, end, written in sorted(_changes(text, task_id, state), reverse=True):
        text = text[:start] + written + text[end:]
    return (
        with_note(text, task_id, f"Blocked by: {reason or '?'}")
        if state is TaskState.BLOCKED
        else text
    )


_Change = tuple[int, int, str]
"""What is replaced in the text, from where to where, and by what."""


def _changes(text: str, task_id: str, state: TaskState) -> Iterator[_Change]:
    """The boxes to write for a task, and its row in the table.

    A phase that is ticked has all its plans done. One that opens again keeps its other plans done.
    """
    known = read_roadmap(text)
    task = known.tasks[task_id]
    plans = known.plans.get(task.phase, [])
    is_phase = task.id == task.phase
    if state is TaskState.DONE:
        yield from _ticks([task, *plans] if is_phase else [task])
        return
    yield _box(task, " ")
    if task.id not in known.done:
        return
    kept = [one for one in plans if one is not task and one.id in known.done]
    yield from _ticks(kept)
    if is_phase:
        return
    if known.is_ticked(task.phase):
        yield _box(known.tasks[task.phase], " ")
    yield from _row_without(known, task, kept)


def _ticks(tasks: Sequence[RoadmapTask]) -> Iterator[_Change]:
    return (_box(one, "x") for one in tasks if not one.is_ticked)


def _box(task: RoadmapTask, mark: str) -> _Change:
    return task.mark, task.mark + 1, mark


def _row_without(
    known: Roadmap, task: RoadmapTask, kept: Sequence[RoadmapTask]
) -> Iterator[_Change]:
    """The changes of a row of the table, so that it counts the kept plans and not this one."""
    row, plans = known.rows.get(task.phase), known.plans[task.phase]
    if row is None:
        return
    if row.count is not None and row.count[1] == len(plans):
        # The boxes count where one of the first plans is ticked; else the table would.
        is_kept = any(one in kept for one in plans[: len(kept)])
        n_done = min(row.count[0], len(kept) if is_kept else 0)
        if n_done != row.count[0]:
            yield *row.count_at, str(n_done)
    if row.complete_at is not None and known.is_complete(task.phase):
        yield *row.complete_at, "In Progress"


def with_note(text: str, task_id: str, note: str) -> str:
    """The text with one more item below a task, unless it ends with it."""
    return with_last_line(_tasks_in, text, task_id, f"- {note}", indent="  ")


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task's lines are as in ``other``."""
    return copy_task_lines(_tasks_in, text, other, task_id)


def _criteria_of(known: Roadmap, task: RoadmapTask) -> tuple[str, ...]:
    return tuple(known.criteria.get(task.id, ()))


def _tasks_in(text: str) -> tuple[Task, ...]:
    """The tasks in the order of the text, which edits of lines need."""
    return _tasks_of(read_roadmap(text))


def _tasks_of(known: Roadmap) -> tuple[Task, ...]:
    titles = {task.id: task.title for task in known.tasks.values()}
    return tuple(_to_task(known, task, titles) for task in known.tasks.values())


def _ids_of(known: Roadmap, phase: str) -> Iterator[str]:
    if phase in known.tasks:
        yield phase
    yield from (one.id for one in known.plans.get(phase, ()))


def _without_box(known: Roadmap) -> tuple[PlanProblem, str] | None:
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


def check_text(text: str) -> tuple[LintRemark, ...]:
    """The remarks on boxes, phases and the table of progress that disagree, each with a count."""
    known = read_roadmap(text)
    return tuple(
        LintRemark(
            code=CheckCode.OPEN_UNDER_COMPLETED,
            message=message,
            place=LineSpan(line=tasks[0].line, start=tasks[0].words[0], end=tasks[0].words[1]),
            task=tasks[0].id,
        )
        for tasks, message in (
            _done_by_others(known),
            _open_in_complete(known),
            _uncounted(known),
            _open_below_done(known),
        )
        if tasks
    )


_Disagreement = tuple[list[RoadmapTask], str]
"""The tasks with a remark, and its message."""


def _done_by_others(known: Roadmap) -> _Disagreement:
    """The plans that are done though their boxes are open."""
    plans = [one for one in known.tasks.values() if one.id in known.done and not one.is_ticked]
    is_one = len(plans) == 1
    return plans, (
        f"{_counted(plans, 'plan')} with an open box {'is' if is_one else 'are'} read as done "
        f"({first_names([one.id for one in plans])}): the phase is ticked, or the table of "
        f"progress counts {'it' if is_one else 'them'}; tick the box{'' if is_one else 'es'}, or "
        "open the phase and correct its row"
    )


def _open_in_complete(known: Roadmap) -> _Disagreement:
    """The phases that the table calls complete though their boxes are open."""
    found = [
        one
        for phase, row in known.rows.items()
        if row.complete_at is not None and (one := known.tasks.get(phase)) and not one.is_ticked
    ]
    names = first_names([f"Phase {one.id}" for one in found])
    is_one = len(found) == 1
    return found, (
        f"{_counted(found, 'phase')} with an open box {'is' if is_one else 'are'} complete in the "
        f"table of progress ({names}), and read as open; tick the box{'' if is_one else 'es'}, or "
        "correct the table"
    )


def _uncounted(known: Roadmap) -> _Disagreement:
    """The first plan of each phase of which the table counts more as done than are read so."""
    found = [
        plans[0]
        for phase, plans in known.plans.items()
        if (row := known.rows.get(phase)) is not None
        and row.count is not None
        and row.count[0] > sum(one.id in known.done for one in plans)
    ]
    names = first_names([f"Phase {one.phase}" for one in found])
    return found, (
        f"in {_counted(found, 'phase')} ({names}) the table of progress counts more plans as done "
        "than are ticked, and not as many as are listed, so the boxes count; tick those that are "
        "done, or correct the table"
    )


def _open_below_done(known: Roadmap) -> _Disagreement:
    """The open tasks of phases whose headings say that they are done; a blocked one says why."""
    found = [
        one
        for one in known.tasks.values()
        if one.phase in known.headed_done and one.id not in known.done and one.reason is None
    ]
    is_one = len(found) == 1
    names = first_names([one.id if one.id != one.phase else f"Phase {one.id}" for one in found])
    return found, (
        f"{len(found)} open {'box is' if is_one else 'boxes are'} in a "
        f"phase whose heading says that it is done ({names}), and read as open; tick "
        f"{'it' if is_one else 'them'}, or correct the heading"
    )


def open_but_executed(plan: Plan, executed: Collection[str]) -> PlanProblem | None:
    """The open plans that GSD has executed by its files, their ids being ``executed``."""
    found = [one for one in plan.tasks if one.id in executed and one.state in UNFINISHED]
    if not found:
        return None
    is_one = len(found) == 1
    message = (
        f"{len(found)} open plan{' has a SUMMARY' if is_one else 's have a SUMMARY'} beside "
        f"{'it' if is_one else 'them'} ({first_names([one.id for one in found])}), and neither a "
        f"tick nor the table of progress says that {'it is' if is_one else 'they are'} done; tick "
        f"the box{'' if is_one else 'es'} of what is, or the next run works on it again"
    )
    return PlanProblem(code="summary-of-open-plan", message=message, line=found[0].line + 1)


def _counted(tasks: Sequence[RoadmapTask], noun: str) -> str:
    return f"{len(tasks)} {noun}{'' if len(tasks) == 1 else 's'}"


def _to_task(known: Roadmap, task: RoadmapTask, titles: Mapping[str, str]) -> Task:
    is_phase = task.id == task.phase
    phase = known.tasks.get(task.phase)
    is_done = task.id in known.done
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


def _section(known: Roadmap, task: RoadmapTask, titles: Mapping[str, str]) -> str:
    if task.id != task.phase:
        return f"Phase {task.phase}: {titles.get(task.phase, '')}"
    return "Phases whose plans are done" if known.only_lacks_its_tick(task.id) else "Phases"
