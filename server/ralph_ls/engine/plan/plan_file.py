"""Plan file: reads a markdown plan, and writes edits and verification results into it.

See docs/rules.md#verification. The user or an agent may write the file at the same time, so each
edit is applied to its current content. How a plan format writes evidence is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from ralph_ls.core.loop.inputs import HeldTask, Notice, PlanFacts
from ralph_ls.core.plan.edit.task_edits import block_task
from ralph_ls.core.plan.edit.user_edits import ReplanReset, reset_in_progress
from ralph_ls.core.plan.formats.registry import format_of_text
from ralph_ls.core.plan.lint.dependencies import unfinished_dependencies
from ralph_ls.core.plan.model import Plan, PlanKind, Task
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parts import finished_wholes
from ralph_ls.core.plan.queries import next_task, task_called, traits_of
from ralph_ls.core.plan.verification.criterion_checks import TaskVerification
from ralph_ls.core.plurals import count_of
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.engine.plan.source import (
    GuardedPlan,
    PlanOffence,
    PlanSource,
    WrittenPlan,
    counts_view,
)
from ralph_ls.protocol.config.config import Config, FirstMode, OptionalTasks
from ralph_ls.protocol.errors import PlanMissing, PlanUnusable, RalphError, UsageError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.project.detection import how_to_begin
from ralph_ls.store.project.plan_choice import why_no_plan
from ralph_ls.store.project.plan_file import edit_plan, read_plan, shown_text

SHOWN_TASKS = 10
SHOWN_TITLES = 3

_NOBODY: Mapping[str, int] = MappingProxyType({})


def find_plan(root: Path, candidates: Sequence[str], chosen: str | None) -> str:
    """The path of the plan, relative to the root; raises ``PlanMissing``.

    Raises ``PlanUnusable`` where that name is not a file.
    """
    paths = [chosen] if chosen is not None else list(candidates)
    for path in paths:
        if (root / path).is_file():
            return path
        if chosen is not None and ((root / path).is_dir() or not (root / path).exists()):
            raise PlanMissing(why_no_plan(root, path))
        if (root / path).exists():
            # A pipe, or a folder: reading it raises with the reason.
            read_plan(root, path)
    raise PlanMissing(
        f"there is no plan in {root}; looked for {', '.join(paths)}"
        f"{how_to_begin(root, 'create one with ralph init, or name yours with --plan')}"
    )


def read_plan_text(root: Path, path: str, *, may_be_missing: bool = False) -> str:
    """The plan's text; raises ``PlanMissing`` where it is gone or unreadable.

    One that ``may_be_missing`` has no text then: an iteration is there to write it.
    """
    if may_be_missing and not (root / path).exists():
        return ""
    return read_plan(root, path).decode("utf-8", errors="replace")


def require_text(root: Path, path: str) -> None:
    """Raise ``PlanUnusable`` where the plan is not UTF-8: read otherwise it would hold no task."""
    require_utf8(read_plan(root, path), path)


def require_utf8(data: bytes, path: str) -> None:
    """The same for the content of a plan."""
    kind = ""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
        kind = "; it looks like UTF-16"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        kind = kind or f"; the first byte that is not is in line {line}"
    if kind:
        raise PlanUnusable(
            f"the plan {path} is not UTF-8 text, so its tasks cannot be read{kind}; "
            "save it as UTF-8, then try again"
        )


def restore_format(path: str, kind: PlanKind, before: str, after: str) -> GuardedPlan | None:
    """The earlier text, where an agent has written the plan in another format; else None.

    A run reads its plan in one format to its end, and would find no task to protect in another.
    """
    was, now = format_of_text(kind, before), format_of_text(kind, after)
    if was is now or not before.strip() or not after.strip():
        return None
    message = (
        f"the agent wrote {path} in another format ({now.title} instead of {was.title}), and a "
        "plan keeps its format during a run; it was restored"
    )
    return GuardedPlan(
        text=before,
        offences=(PlanOffence(what=Forbidden.CHANGED, task=None, why=message),),
        notices=(Notice(code="plan-broken", message=message),),
    )


def how_to_write_a_task(path: str) -> str:
    """Remedy for a plan without a task."""
    return (
        f"the plan {path} has no task, so there is nothing to do; write one on its own line, such "
        "as: - [ ] Reject empty passwords, with a test; or let an agent write the plan: ralph "
        "replan"
    )


def facts_of(
    plan: Plan,
    text: str,
    config: Config,
    *,
    set_aside: Mapping[str, int] = _NOBODY,
    skipped: Collection[str] = (),
    needs: Mapping[str, tuple[Task, ...]] | None = None,
) -> PlanFacts:
    """The facts that the loop decides by; ``text`` is the text of the plan.

    ``set_aside`` are the ids of tasks that were set aside, with their attempts; ``skipped`` those
    that the user took out of this run. ``needs`` says for which tasks each one waits, where that is
    not written as in Markdown.
    """
    if needs is None:
        needs = unfinished_dependencies(plan.tasks, text)
    waits_for = {task_id: [one.id for one in targets] for task_id, targets in needs.items()}
    chosen = next_task(
        plan,
        set_aside={*set_aside, *skipped},
        waits_for=waits_for,
        takes_optional=config.optional is OptionalTasks.DO,
    )
    done = {task.id for task in finished_wholes(plan)}
    open_tasks = [
        task for task in plan.tasks if _is_open(task) and not task.optional and task.id not in done
    ]
    return PlanFacts(
        counts=counts_view(plan, text, config),
        next_task=None if chosen is None else _reference(chosen),
        next_traits=None if chosen is None else traits_of(chosen, text=text),
        open_tasks=tuple(_reference(task) for task in open_tasks[:SHOWN_TASKS]),
        held=held_of(open_tasks, set_aside, skipped, needs),
    )


def held_of(
    open_tasks: Sequence[Task],
    set_aside: Mapping[str, int],
    skipped: Collection[str],
    needs: Mapping[str, tuple[Task, ...]],
) -> tuple[HeldTask, ...]:
    """The first open tasks that cannot be taken, with why; ``needs`` says for whom each waits."""
    held = [
        (task, why) for task in open_tasks if (why := _why_held(task, set_aside, skipped, needs))
    ]
    return tuple(
        HeldTask(task=_reference(task), why=why, is_waiting=_is_waiting(task, set_aside, skipped))
        for task, why in held[:SHOWN_TASKS]
    )


def set_task_aside(root: Path, path: str, task_id: str, *, reason: str, needs: str) -> str:
    """Mark a task as blocked in the plan, and give the plan's text as it is then.

    Every other byte stays as it is, and concurrent changes are kept. A task that the
    plan does not have any more needs no mark. Raises ``PlanMissing``, and ``StateUnusable`` where
    the plan cannot be written or is changed again and again.
    """
    _, edited = edit_plan(
        root,
        path,
        lambda text: _blocked(text, task_id, reason, needs),
        f"block the task {task_id}",
    )
    return shown_text(edited)


def reset_for_replanning(root: Path, path: str) -> ReplanReset:
    """Open tasks in progress before the plan is made again; raises as ``set_task_aside``."""
    resets: list[ReplanReset] = []

    def open_all(text: str) -> str:
        resets.append(reset_in_progress(text))
        return resets[-1].text

    edit_plan(root, path, open_all, "reopen what is in progress there")
    return resets[-1]


def titles_of(titles: Sequence[str]) -> str:
    """Some titles of tasks, in words, and how many more there are."""
    n_more = len(titles) - SHOWN_TITLES
    more = [f"and {count_of(n_more, 'more task')}"] if n_more > 0 else []
    return "; ".join([*titles[:SHOWN_TITLES], *more])


def require_plan_or_task(config: Config) -> None:
    """Raise ``UsageError`` where both a new plan and a single task are ordered."""
    if config.task is not None and config.mode is FirstMode.PLAN:
        raise UsageError(
            "a plan iteration covers the whole plan, so use either --task or --mode plan"
        )


def config_for_task(config: Config, plan: Plan) -> Config:
    """The settings with the id of their task, which may be named by its number in the plan."""
    task = task_called(plan, config.task or "")
    return config if task is None else config.model_copy(update={"task": task.id})


def require_task(plan: Plan, task_id: str) -> None:
    """Raise ``UsageError`` where the plan has no such task, naming those that it has."""
    if task_called(plan, task_id) is not None:
        return
    known = ", ".join(f"{task.id} ({task.title[:40]})" for task in plan.tasks[:5])
    listed = f"it has: {known or 'none'}. See them all: ralph plan"
    meant = did_you_mean(task_id, (task.id for task in plan.tasks), otherwise=listed)
    raise UsageError(f"the plan has no task {task_id!r}{meant}")


def _blocked(text: str, task_id: str, reason: str, needs: str) -> str:
    """The plan with the task marked.

    Its ids are those of the text in which what is no UTF-8 was replaced; the bytes stay.
    """
    ids = [task.id for task in parse_markdown(shown_text(text)).plan.tasks]
    if task_id not in ids:
        return text
    same = parse_markdown(text).plan.tasks[ids.index(task_id)]
    return block_task(text, same.id, reason, needs)


def _is_waiting(task: Task, set_aside: Mapping[str, int], skipped: Collection[str]) -> bool:
    """Whether a task that cannot be taken waits for others."""
    return task.state is not TaskState.BLOCKED and task.id not in {*skipped, *set_aside}


def _why_held(
    task: Task,
    set_aside: Mapping[str, int],
    skipped: Collection[str],
    needs: Mapping[str, tuple[Task, ...]],
) -> str:
    """Why a task cannot be taken, to follow its name; empty where it can."""
    if task.state is TaskState.BLOCKED:
        return f"blocked by {task.blocked_by}" if task.blocked_by else "blocked in the plan"
    if task.id in skipped:
        return "skipped in this run"
    if task.id in set_aside:
        return f"set aside after {count_of(set_aside[task.id], 'attempt')}"
    if task.id in needs:
        return f"waiting for {needs[task.id][0].title}"
    return ""


def _is_open(task: Task) -> bool:
    return task.state not in {TaskState.DONE, TaskState.SKIPPED}


def _reference(task: Task) -> TaskRef:
    return TaskRef(id=task.id, title=task.title)


Change = Callable[[str, str, TaskVerification], str]
"""Returns the new text, from the plan's text, the id of the task and its verification results."""


def close_in_file(
    source: PlanSource, verifications: Sequence[TaskVerification], change: Change
) -> WrittenPlan:
    """Apply the edits one by one; one that cannot be written is reported, and skipped.

    Raises ``PlanMissing`` where the file is gone.
    """
    written: list[TaskVerification] = []
    notices: list[Notice] = []
    for one in verifications:
        try:
            edit = partial(_changed, source, one, change)
            edit_plan(source.root, source.path, edit, "record there what was verified")
        except RalphError as error:
            outcome = "was not reopened" if one.failed else "cannot record what was run"
            message = f"the task {one.task.id} {outcome}: {error.message}"
            notices.append(Notice(code="verify-not-written", message=message))
            written.append(one)
        else:
            written.append(replace(one, reopened=bool(one.failed)))
    return WrittenPlan(text=source.read(), verifications=tuple(written), notices=tuple(notices))


def _changed(source: PlanSource, one: TaskVerification, change: Change, text: str) -> str:
    """The file with one task's edit made.

    Ids are those of the text in which what is no UTF-8 was replaced; the bytes stay.
    """
    shown, task_id = shown_text(text), one.task.id
    if text != shown:
        ids = [task.id for task in source.parse(shown).plan.tasks]
        tasks = source.parse(text).plan.tasks
        task_id = tasks[ids.index(task_id)].id if task_id in ids else task_id
    return change(text, task_id, one)
