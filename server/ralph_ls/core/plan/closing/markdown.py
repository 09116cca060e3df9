"""Evidence for closing in a markdown plan: B's lines at the criteria, and tasks opened again.

What was verified stands where the criterion stands: ``- [x] criterion (command - exit 0)``. A task
that was refuted is opened where it is, or moved back to where it was open, with a note of what
failed. Every other byte stays. It must never run anything, nor know a file.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from contextlib import suppress

from ralph_ls.core.plan.beads.criteria import Verified, without_run
from ralph_ls.core.plan.below import Below, Line
from ralph_ls.core.plan.changes import Change
from ralph_ls.core.plan.closing.checks import (
    Closing,
    Verification,
    checks_of,
    evidence_of,
    is_about,
    tell_failures,
)
from ralph_ls.core.plan.editing.arranging import move_into
from ralph_ls.core.plan.editing.edits import note, untick
from ralph_ls.core.plan.editing.nesting import in_line, text_of
from ralph_ls.core.plan.editing.rewriting import apply, find, lines_in, rest_of
from ralph_ls.core.plan.lines import find_marks
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.titles import fold, make_sayable
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.values import TaskRef


def closings(
    plan: Plan, done: Collection[str], *, on_path: Container[str] = ()
) -> tuple[Closing, ...]:
    """What is to be run for the tasks that became done; a task that names nothing has no place."""
    found = (
        Closing(
            task=TaskRef(id=task.id, title=make_sayable(task.title)),
            checks=checks_of(task.criteria, on_path=on_path),
        )
        for task in plan.some(ids=set(done))
    )
    return tuple(one for one in found if one.checks)


def write_verification(text: str, seen: Verification, *, before: str = "") -> str:
    """The plan with what came of a task's checks; as it is where nothing can be said of it.

    ``before`` is the plan from before the task was closed. Raises RalphError where a task that was
    refuted cannot be opened again.
    """
    if seen.failed:
        return _reopened(text, seen, before)
    if seen.ok:
        for line in evidence_of(seen):
            text = _evidenced(text, seen.task.id, line)
    return text


def _evidenced(text: str, task_id: str, line: Verified) -> str:
    """The text with one line of evidence: at its criterion, else in a note below the task."""
    plan, task = find(text, task_id)
    remark = in_line(f"({line.command} - exit {line.exit_code})")
    for changes in _ways_to_write(text, plan, task, line, remark):
        changed = apply(text, changes)
        if changed == text or _reads_the_same(plan, task, changed):
            return changed
    return _noted(text, task_id, f"Verified: {line.criterion} {remark}")


def _ways_to_write(
    text: str, plan: Plan, task: Task, line: Verified, remark: str
) -> Iterator[list[Change]]:
    for found in _lines_about(text, plan, task, line.criterion):
        start, whole = lines_in(text)[found.number]
        end = start + len(whole.rstrip())
        own = whole.rstrip()[found.start :]
        if fold(own).endswith(remark):
            says = []
        elif without_run(own) != fold(own):
            says = [Change(start + found.start, end, f"{without_run(own)} {remark}")]
        else:
            says = [Change(end, end, f" {remark}")]
        marks = find_marks(whole)
        if marks is not None and marks.box is not None:
            first, last = marks.box
            yield [*_box(start + first, start + last, whole[first:last], "x"), *says]
        elif marks is not None and is_about(own, line.criterion):
            yield [Change(start + found.start, start + found.start, "[x] "), *says]
        yield says


def _reopened(text: str, seen: Verification, before: str) -> str:
    task_id = seen.task.id
    for one in seen.failed:
        text = _unticked(text, task_id, one.check.criterion)
    try:
        text = untick(text, task_id)
    except RalphError:
        earlier = parse(before).plan.find(task_id)
        if earlier is None or not earlier.section:
            raise
        text = untick(move_into(text, task_id, earlier.section), task_id)
    return _noted(text, task_id, tell_failures(seen))


def _noted(text: str, task_id: str, said: str) -> str:
    """The text with a note below the task, where it has a place for one and has none such."""
    _, task = find(text, task_id)
    lines = lines_in(text)[task.line + 1 : task.end_line + 1]
    if in_line(said) in {text_of(line) for _, line in lines}:
        return text
    with suppress(RalphError):
        return note(text, task_id, said)
    return text


def _unticked(text: str, task_id: str, criterion: str) -> str:
    """The text with the criterion's box open, where it has one."""
    plan, task = find(text, task_id)
    ways = (apply(text, changes) for changes in _ways_to_untick(text, plan, task, criterion))
    return next((changed for changed in ways if _reads_the_same(plan, task, changed)), text)


def _ways_to_untick(text: str, plan: Plan, task: Task, criterion: str) -> Iterator[list[Change]]:
    for found in _lines_about(text, plan, task, criterion):
        start, whole = lines_in(text)[found.number]
        marks = find_marks(whole)
        if marks is not None and marks.box is not None:
            first, last = marks.box
            yield _box(start + first, start + last, whole[first:last], " ")


def _box(start: int, end: int, old: str, new: str) -> list[Change]:
    return [] if old.strip().lower() == new.strip() else [Change(start, end, new)]


def _lines_about(text: str, plan: Plan, task: Task, criterion: str) -> Iterator[Line]:
    """The lines of a task that hold a criterion, also behind a label such as ``Done when:``."""
    below = Below(plan.tasks, text)
    index = next(nth for nth, one in enumerate(plan.tasks) if one.id == task.id)
    for line in below.lines_from(index):
        if line.task.id != task.id or line.number == task.line:
            continue
        whole = fold(line.text[line.start :])
        behind_label = whole.partition(":")[2].lstrip("*_ ")
        if is_about(whole, criterion) or (behind_label and is_about(behind_label, criterion)):
            yield line


def _reads_the_same(plan: Plan, task: Task, text: str) -> bool:
    """Whether a changed text says of every task what it said, and has the same criteria."""
    after = parse(text).plan
    now = after.find(task.id)
    return (
        now is not None
        and (now.title, now.state, now.depth) == (task.title, task.state, task.depth)
        and len(now.criteria) == len(task.criteria)
        and all(map(is_about, now.criteria, task.criteria))
        and rest_of(after, [now]) == rest_of(plan, [task])
    )
