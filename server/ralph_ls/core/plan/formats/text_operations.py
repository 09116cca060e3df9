"""Text operations: the edits, the merge and the guard of any structured plan.

Made of the few functions that a format has for its text. A forbidden change is reverted by copying
the task from the earlier text; what the agent legally did to its state is then written again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from ralph_ls.core.plan.diff.guard import PlanPowers
from ralph_ls.core.plan.diff.merge_lines import MergeConflict, MergedPlan
from ralph_ls.core.plan.edit.user_edits import DEFAULT_BLOCK_REASON, RETRY_NOTE, byte_exact_by
from ralph_ls.core.plan.formats.plan_format import (
    EditEffects,
    PlanEdit,
    PlanOperations,
    ReadOptions,
    TextOperations,
)
from ralph_ls.core.plan.lint.remarks import UNFINISHED, LintRemark
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.core.plan.queries import newly_done
from ralph_ls.core.plan.verification.criterion_checks import (
    TaskVerification,
    describe_check_failures,
    evidence_of,
)
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class TextViolation:
    """One forbidden change of a task that was reverted."""

    what: Forbidden
    task: Task
    """As it was before."""
    text: str
    """The agent's version; empty where it left nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedText:
    """A text without forbidden changes."""

    text: str
    violations: tuple[TextViolation, ...] = ()
    broken: str = ""
    """Why the agent's text could not be read, so that the whole of it was reverted."""


def structured_operations(
    text: TextOperations,
    parse: Callable[[str, ReadOptions], ParsedPlan] | None = None,
    check: Callable[[str], tuple[LintRemark, ...]] | None = None,
    why_foreign: Callable[[str], str] | None = None,
) -> PlanOperations:
    """The operations on a structured plan; ``parse`` is that of a format with several in a file.

    ``check`` gives remarks with quick fixes, beside the problems. ``why_foreign`` is that of
    ``PlanOperations``; without it, any text that can be read is such a plan.
    """
    return PlanOperations(
        parse=parse or (lambda plan, _: text.parse_text(plan)),
        check=lambda _parsed, plan, _marker: () if check is None else check(plan),
        edit=partial(_edit, text),
        retry=partial(_retry, text),
        byte_exact=partial(byte_exact_by, lambda plan: text.parse_text(plan).plan),
        effects=partial(_effects, text),
        merge=partial(_merge, text),
        text=text,
        why_foreign=why_foreign or text.why_broken,
    )


def guard_text(
    operations: TextOperations, before: str, after: str, powers: PlanPowers, day: str = ""
) -> GuardedText:
    """Revert the forbidden changes between two texts. Total, and idempotent.

    ``day`` is today, for a restored task that is done.
    """
    if before == after or (powers.may_drop and powers.may_change_criteria):
        return GuardedText(text=after)
    if broken := operations.why_broken(after):
        is_usable = not operations.why_broken(before)
        return GuardedText(text=before, broken=broken) if is_usable else GuardedText(text=after)
    found = tuple(_violations(operations, before, after, powers))
    text = after
    for one in dict.fromkeys(violation.task.id for violation in found):
        text = _restored(operations, before, text, one, day)
    is_clean = not operations.why_broken(text) and not any(
        _violations(operations, before, text, powers)
    )
    return GuardedText(text=text if is_clean else before, violations=found)


def write_verification(
    operations: TextOperations, text: str, verification: TaskVerification
) -> str:
    """The plan with the outcome of a task's checks; a refuted task is open again.

    Raises ``RalphError`` where it cannot be opened.
    """
    task_id = verification.task.id
    if verification.failed:
        opened = operations.with_state(text, task_id, TaskState.TODO, "")
        return operations.with_note(opened, task_id, describe_check_failures(verification))
    if verification.ok:
        for line in evidence_of(verification):
            note = f"Verified: {line.criterion} ({line.command} - exit {line.exit_code})"
            text = operations.with_note(text, task_id, note)
    return text


def unfinished_needs(
    operations: TextOperations, plan: Plan, text: str
) -> dict[str, tuple[Task, ...]]:
    """The tasks that each unfinished task waits for, by its id; unknown ids are ignored."""
    tasks = plan.by_id()
    found: dict[str, tuple[Task, ...]] = {}
    for task_id, names in operations.needs_of(text).items():
        task = tasks.get(task_id)
        targets = tuple(
            tasks[name]
            for name in names
            if name in tasks and name != task_id and tasks[name].state in UNFINISHED
        )
        if targets and task is not None and task.state in UNFINISHED:
            found[task_id] = targets
    return found


def _find(operations: TextOperations, text: str, task_id: str) -> Task:
    plan = operations.parse_text(text).plan
    task = plan.find(task_id)
    if task is None:
        ids = (one.id for one in plan.tasks)
        meant = did_you_mean(task_id, ids, otherwise="see the ids in: ralph plan")
        raise RalphError(f"the plan has no task {task_id!r}{meant}")
    return task


def _edit(
    operations: TextOperations, edit: TaskEdit, task_id: str, reason: str, before: str | None
) -> PlanEdit:
    del before
    if edit is TaskEdit.MOVE:
        raise RalphError(
            "the tasks of this plan have no order that can be changed here; "
            "change their priorities or dependencies instead"
        )

    def changed(text: str) -> str:
        task = _find(operations, text, task_id)
        if edit is TaskEdit.UNBLOCK:
            return operations.with_state(text, task_id, TaskState.TODO, "")
        if task.state in {TaskState.DONE, TaskState.SKIPPED}:
            raise RalphError(
                f"the task {task_id} is {task.state.value}, so it cannot be blocked; "
                "reopen it first"
            )
        why = reason.strip() or DEFAULT_BLOCK_REASON
        return operations.with_state(text, task_id, TaskState.BLOCKED, why)

    return changed


def _retry(operations: TextOperations, task_id: str) -> PlanEdit:
    def changed(text: str) -> str:
        _find(operations, text, task_id)
        opened = operations.with_state(text, task_id, TaskState.TODO, "")
        return operations.with_note(opened, task_id, RETRY_NOTE)

    return changed


def _effects(operations: TextOperations, before: str, after: str) -> EditEffects:
    plans = [operations.parse_text(text).plan for text in (before, after)]
    found = _violations(operations, before, after, PlanPowers())
    return newly_done(plans[0], plans[1]), tuple((one.what.value, one.task.id) for one in found)


def _violations(
    operations: TextOperations, before: str, after: str, powers: PlanPowers
) -> Iterator[TextViolation]:
    """The forbidden changes of unfinished tasks, in the order of the earlier plan."""
    old, new = (operations.parse_text(text).plan for text in (before, after))
    was, now = operations.protected_fields(before), operations.protected_fields(after)
    left = new.by_id()
    for task in old.tasks:
        if task.state not in UNFINISHED:
            continue
        there = left.get(task.id)
        text = "" if there is None else after[there.start : there.end]
        for what in _judged(there, was.get(task.id, {}), now.get(task.id, {})):
            is_allowed = {
                Forbidden.DROPPED: powers.may_drop,
                Forbidden.SKIPPED: powers.may_drop,
            }.get(what, powers.may_change_criteria)
            if not is_allowed and (what.value, task.id) not in powers.decided:
                yield TextViolation(what=what, task=task, text=text)


def _judged(
    now: Task | None, was: Mapping[Forbidden, str], become: Mapping[Forbidden, str]
) -> Iterator[Forbidden]:
    if now is None:
        yield Forbidden.DROPPED
        return
    if now.state is TaskState.SKIPPED:
        yield Forbidden.SKIPPED
    yield from (what for what, value in was.items() if become.get(what) != value)


def _restored(operations: TextOperations, before: str, text: str, task_id: str, day: str) -> str:
    """The text with one task as it was, in the state that the agent gave it."""
    there = operations.parse_text(text).plan.find(task_id)
    earlier = operations.parse_text(before).plan.find(task_id)
    text = operations.with_task_of(text, before, task_id)
    if there is None or earlier is None or there.state in {earlier.state, TaskState.SKIPPED}:
        return text
    try:
        return operations.with_state(text, task_id, there.state, there.blocked_by or "", day)
    except RalphError:
        return text


def _merge(operations: TextOperations, base: str, mine: str, theirs: str) -> MergedPlan:
    """The user's text with the tasks that only the other side changed, each as a whole."""
    if theirs in {base, mine}:
        return MergedPlan(text=mine)
    if mine == base:
        return MergedPlan(text=theirs)
    if any(operations.why_broken(text) for text in (base, mine, theirs)):
        return MergedPlan(text=mine, conflicts=(MergeConflict(line=0, mine=mine, theirs=theirs),))
    bodies = [_bodies(operations, text) for text in (base, mine, theirs)]
    was, here, other = bodies
    changed = [one for one in dict.fromkeys([*other, *was]) if other.get(one) != was.get(one)]
    text = mine
    for task_id in changed:
        if here.get(task_id) == was.get(task_id):
            text = operations.with_task_of(text, theirs, task_id)
    text = _with_states_of(operations, text, (base, mine, theirs))
    plan = operations.parse_text(mine).plan
    # What both changed below a task is merged task by task.
    parents = {task.parent for task in plan.tasks}
    lines = {task.id: task.line for task in plan.tasks}
    conflicts = tuple(
        MergeConflict(line=lines.get(one, 0), mine=here.get(one), theirs=other.get(one))
        for one in changed
        if one not in parents and here.get(one) not in (was.get(one), other.get(one))
    )
    return MergedPlan(text=text, conflicts=conflicts)


def _with_states_of(operations: TextOperations, text: str, sides: tuple[str, str, str]) -> str:
    """The merged text with the states that only the other side changed, outside of the tasks.

    Such as in a table that counts them.
    """
    base, mine, theirs = (operations.parse_text(one).plan.by_id() for one in sides)
    for task in theirs.values():
        was, here = base.get(task.id), mine.get(task.id)
        if was is None or here is None or not here.state is was.state is not task.state:
            continue
        now = operations.parse_text(text).plan.find(task.id)
        if now is not None and now.state is not task.state:
            with contextlib.suppress(RalphError):
                text = operations.with_state(text, task.id, task.state, task.blocked_by or "")
    return text


def _bodies(operations: TextOperations, text: str) -> dict[str, str]:
    """The text of each task, by its id."""
    lines = text.splitlines(keepends=True)
    return {
        task.id: "".join(lines[task.line : task.end_line + 1])
        for task in operations.parse_text(text).plan.tasks
    }
