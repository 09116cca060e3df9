"""Evidence in a Markdown plan: evidence lines at the criteria, and tasks that are opened again.

A verified criterion becomes ``- [x] criterion (command - exit 0)``. A refuted task is opened in
place, or moved back to where it was open, with a note of what failed. All other bytes stay. Runs
nothing and knows no file.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from contextlib import suppress

from ralph_ls.core.plan.diff.text_diff import TextChange
from ralph_ls.core.plan.edit.proposals import (
    apply_changes,
    as_single_line,
    find_task,
    item_text,
    lines_in,
    other_tasks,
)
from ralph_ls.core.plan.edit.task_edits import add_task_note, untick_task
from ralph_ls.core.plan.edit.task_order import move_task_into
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.task_body import BodyLine, TaskBodies
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.core.plan.verification.criteria import EvidenceLine, without_run
from ralph_ls.core.plan.verification.criterion_checks import (
    TaskClosing,
    TaskVerification,
    checks_of,
    describe_check_failures,
    evidence_of,
    is_same_criterion,
)
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.values import TaskRef


def markdown_closings(
    plan: Plan, done: Collection[str], *, on_path: Container[str] = ()
) -> tuple[TaskClosing, ...]:
    """The commands to run for the tasks that became done; tasks without any are left out."""
    found = (
        TaskClosing(
            task=TaskRef(id=task.id, title=escape_surrogates(task.title)),
            checks=checks_of(task.criteria, on_path=on_path),
        )
        for task in plan.some(ids=set(done))
    )
    return tuple(one for one in found if one.checks)


def write_markdown_verification(
    text: str, verification: TaskVerification, *, before: str = ""
) -> str:
    """The plan with the outcome of a task's checks; unchanged if there is none.

    ``before`` is the plan from before the task was closed. Raises RalphError if a refuted task
    cannot be opened again.
    """
    if verification.failed:
        return _reopened(text, verification, before)
    if verification.ok:
        for line in evidence_of(verification):
            text = _evidenced(text, verification.task.id, line)
    return text


def _evidenced(text: str, task_id: str, line: EvidenceLine) -> str:
    """The text with one line of evidence: at its criterion, else in a note below the task."""
    plan, task = find_task(text, task_id)
    remark = as_single_line(f"({line.command} - exit {line.exit_code})")
    for changes in _evidence_proposals(text, plan, task, line, remark):
        changed = apply_changes(text, changes)
        if changed == text or _reads_the_same(plan, task, changed):
            return changed
    return _noted(text, task_id, f"Verified: {line.criterion} {remark}")


def _evidence_proposals(
    text: str, plan: Plan, task: Task, line: EvidenceLine, remark: str
) -> Iterator[list[TextChange]]:
    for found in _lines_about(text, plan, task, line.criterion):
        start, whole = lines_in(text)[found.number]
        end = start + len(whole.rstrip())
        own = whole.rstrip()[found.start :]
        if fold_whitespace(own).endswith(remark):
            says = []
        elif without_run(own) != fold_whitespace(own):
            says = [TextChange(start + found.start, end, f"{without_run(own)} {remark}")]
        else:
            says = [TextChange(end, end, f" {remark}")]
        marks = find_marks(whole)
        if marks is not None and marks.box is not None:
            first, last = marks.box
            yield [*_box(start + first, start + last, whole[first:last], "x"), *says]
        elif marks is not None and is_same_criterion(own, line.criterion):
            yield [TextChange(start + found.start, start + found.start, "[x] "), *says]
        yield says


def _reopened(text: str, verification: TaskVerification, before: str) -> str:
    task_id = verification.task.id
    for one in verification.failed:
        text = _unticked(text, task_id, one.check.criterion)
    try:
        text = untick_task(text, task_id)
    except RalphError:
        earlier = parse_markdown(before).plan.find(task_id)
        if earlier is None or not earlier.section:
            raise
        text = untick_task(move_task_into(text, task_id, earlier.section), task_id)
    return _noted(text, task_id, describe_check_failures(verification))


def _noted(text: str, task_id: str, note: str) -> str:
    """The text with a note below the task, where it has a place for one and has none such."""
    _, task = find_task(text, task_id)
    lines = lines_in(text)[task.line + 1 : task.end_line + 1]
    if as_single_line(note) in {item_text(line) for _, line in lines}:
        return text
    with suppress(RalphError):
        return add_task_note(text, task_id, note)
    return text


def _unticked(text: str, task_id: str, criterion: str) -> str:
    """The text with the criterion's box open, where it has one."""
    plan, task = find_task(text, task_id)
    ways = (
        apply_changes(text, changes) for changes in _untick_proposals(text, plan, task, criterion)
    )
    return next((changed for changed in ways if _reads_the_same(plan, task, changed)), text)


def _untick_proposals(
    text: str, plan: Plan, task: Task, criterion: str
) -> Iterator[list[TextChange]]:
    for found in _lines_about(text, plan, task, criterion):
        start, whole = lines_in(text)[found.number]
        marks = find_marks(whole)
        if marks is not None and marks.box is not None:
            first, last = marks.box
            yield _box(start + first, start + last, whole[first:last], " ")


def _box(start: int, end: int, old: str, new: str) -> list[TextChange]:
    return [] if old.strip().lower() == new.strip() else [TextChange(start, end, new)]


def _lines_about(text: str, plan: Plan, task: Task, criterion: str) -> Iterator[BodyLine]:
    """The lines of a task that hold a criterion, also behind a label such as ``Done when:``."""
    below = TaskBodies(plan.tasks, text)
    index = next(nth for nth, one in enumerate(plan.tasks) if one.id == task.id)
    for line in below.lines_from(index):
        if line.task.id != task.id or line.number == task.line:
            continue
        whole = fold_whitespace(line.text[line.start :])
        behind_label = whole.partition(":")[2].lstrip("*_ ")
        if is_same_criterion(whole, criterion) or (
            behind_label and is_same_criterion(behind_label, criterion)
        ):
            yield line


def _reads_the_same(plan: Plan, task: Task, text: str) -> bool:
    """Whether a changed text has the same tasks with the same content and criteria."""
    after = parse_markdown(text).plan
    now = after.find(task.id)
    return (
        now is not None
        and (now.title, now.state, now.depth) == (task.title, task.state, task.depth)
        and len(now.criteria) == len(task.criteria)
        and all(map(is_same_criterion, now.criteria, task.criteria))
        and other_tasks(after, [now]) == other_tasks(plan, [task])
    )
