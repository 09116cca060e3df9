"""Steering: the user's orders to a run and to single tasks, with or without a live engine.

A live engine gets a command through the inbox and replies in its journal. Without one, answers,
notes and resolved blockers go into their files, and the run may be resumable
(docs/rules.md#inbox). The plan belongs to the user, so task edits are made by the caller's process,
in the file or in a document that an editor has open. Everything here blocks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.errors import NoEngine, StateUnusable, UsageError
from ralph_ls.protocol.run import commands as orders
from ralph_ls.protocol.run.commands import ResetTask, Skip
from ralph_ls.protocol.run.values import EndReason, Phase
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.files import ChangedMeanwhile, read_if_there
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project.project_state import forget_project_attempts
from ralph_ls.store.run.halt_files import (
    load_halt_files,
    remove_blocked,
    write_answer,
    write_decide,
)
from ralph_ls.store.run.inbox import (
    CommandReply,
    new_command_id,
    queue_note,
    queue_overrule,
    queue_reset,
    send_command,
)
from ralph_ls.store.run.runs import FoundRun, find_run, lane_place
from ralph_ls.store.run.state_index import live_lanes

if TYPE_CHECKING:
    from ralph_ls.core.plan.model import Task
    from ralph_ls.protocol.lsp.row_methods import TaskEdit
    from ralph_ls.store.project.plan_file import PlanLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """Work tree, state folder and sender of an order."""

    worktree: Worktree
    state: StateFolder
    by: str
    """Sender in words: ``ralph stop``, ``Neovim``."""
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """Outcome of an order."""

    reply: CommandReply
    run: str | None = None
    """The run that it concerned."""
    waits: bool = False
    """No engine runs: the order counts once the run is resumed."""
    can_resume: bool = False
    """Whether ``ralph run --resume`` would resume the run."""

    @property
    def hint(self) -> str:
        """The next step without an engine."""
        return start_hint(can_resume=self.can_resume)


def lane_context(context: CommandContext, task: str, root: Path) -> CommandContext:
    """The same for the lane that has a task in the newest run, which is parallel.

    ``root`` is the state root. Raises ``UsageError`` where no lane has it.
    """
    found = require_run(context)
    lane = next((one for one in found.state.lanes if one.task.id == task), None)
    if lane is None:
        raise UsageError(f"no lane of run {found.state.run} has the task {task}")
    worktree, state = lane_place(lane.worktree, root)
    return replace(context, worktree=worktree, state=state)


def stop(context: CommandContext, *, now: bool = False) -> CommandOutcome:
    """End the run after this iteration, or at once. Raises ``NoEngine``.

    Where the engine of a parallel run is gone, the lanes that live on are stopped.
    """
    found = require_run(context)
    lanes = [] if found.live else live_lanes(context.state)
    for worktree, state in lanes:
        lane = replace(context, worktree=worktree, state=state)
        # One that has ended meanwhile needs no order any more.
        with suppress(NoEngine):
            _ask(lane, require_run(lane), orders.Stop, now=now)
    if lanes:
        each = "1 lane ends" if len(lanes) == 1 else f"{len(lanes)} lanes end"
        when = "now" if now else "after its iteration"
        reply = CommandReply(accepted=True, code="accepted", text=f"{each} {when}")
        return CommandOutcome(reply=reply, run=found.state.run, can_resume=True)
    return _ask(context, found, orders.Stop, now=now)


def pause(context: CommandContext) -> CommandOutcome:
    """Pause the run after this iteration. Raises ``NoEngine``."""
    return _ask(context, require_run(context), orders.Pause)


def resume(context: CommandContext) -> CommandOutcome:
    """Continue after a pause, or resolve the blocker. Raises ``NoEngine``."""
    found = require_run(context)
    if found.live:
        return _ask(context, found, orders.Resume)
    root, paths = context.worktree.root, found.state.config.paths
    halt = load_halt_files(root, paths)
    if halt.blocked is None and not can_resume(found):
        hint = start_hint(can_resume=False)
        raise NoEngine(f"there is nothing to resume here; {hint}")
    if halt.blocked is None:
        return _outcome_of_reply(found, "nothing is blocked")
    remove_blocked(root, paths)
    return _outcome_of_reply(found, "the blocker is resolved")


def reset(context: CommandContext) -> CommandOutcome:
    """Close the breaker and zero its counters. Raises ``NoEngine``."""
    found = require_run(context)
    if found.live:
        return _ask(context, found, orders.Reset)
    if not can_resume(found):
        hint = start_hint(can_resume=False)
        raise NoEngine(f"no engine is running, so there is no breaker to reset; {hint}")
    return _outcome_of_reply(found, "resuming resets the breaker")


def answer(context: CommandContext, text: str, *, untrusted: bool = False) -> CommandOutcome:
    """Answer the question that the run waits for. Raises ``NoEngine`` and ``StateUnusable``.

    An untrusted answer came from elsewhere, such as GitHub; only an engine takes one.
    """
    found = require_run(context)
    if found.live:
        return _ask(context, found, orders.Answer, text=text, untrusted=untrusted)
    if untrusted:
        raise NoEngine("no engine is running that could quote the answer to its agent")
    root, paths = context.worktree.root, found.state.config.paths
    halt = load_halt_files(root, paths)
    question = found.state.question
    if halt.question is None and question is not None and question.answer is None:
        write_decide(
            root,
            paths,
            question=question.question,
            iteration=question.iteration,
            asked_at=question.asked_at,
            answer=text,
        )
    elif halt.question is None:
        raise NoEngine("there is no open question here; check it: ralph status")
    elif halt.answer is not None:
        raise NoEngine(f"{paths.decide} already contains an answer; change it there")
    else:
        try:
            write_answer(root, paths, text)
        except (ChangedMeanwhile, FileNotFoundError) as error:
            raise StateUnusable(
                f"{paths.decide} changed in the meantime; look at it, and answer again"
            ) from error
    return _outcome_of_reply(found, f"the answer is in {paths.decide}")


def note(context: CommandContext, text: str) -> CommandOutcome:
    """Send a note, which the next iteration's agent reads."""
    found = find_run(context.worktree, context.state)
    if found is not None and found.live:
        return _ask(context, found, orders.Note, text=text)
    queue_note(context.state, text, by=context.by)
    reply = CommandReply(accepted=True, code="left", text="the agent gets it in the next run")
    return CommandOutcome(reply=reply, run=None if found is None else found.state.run)


def allow(context: CommandContext, approvals: Mapping[str, str]) -> CommandReply | None:
    """Send approvals (key to digest) to a live run; None where there is none."""
    found = find_run(context.worktree, context.state)
    if found is None or not found.live or not approvals:
        return None
    given = tuple(orders.Approval(key=key, sha256=sha) for key, sha in approvals.items())
    return _ask(context, found, orders.Allow, approvals=given).reply


def require_run(context: CommandContext) -> FoundRun:
    """The newest run of the work tree; raises ``NoEngine`` where there never was one."""
    found = find_run(context.worktree, context.state)
    if found is None:
        raise NoEngine(f"no run in {context.worktree.root} yet; start one with: ralph run")
    return found


def can_resume(found: FoundRun) -> bool:
    """Whether ``ralph run --resume`` would resume this run."""
    state = found.state
    if found.phase in {Phase.PARKED, Phase.CRASHED}:
        return True
    return state.end is not None and state.end.reason is not EndReason.COMPLETE


def start_hint(*, can_resume: bool) -> str:
    """The next step without an engine, to follow a semicolon."""
    return "continue with: ralph run --resume" if can_resume else "start a run with: ralph run"


def _ask(
    context: CommandContext, found: FoundRun, order: type[Any], **fields: Any
) -> CommandOutcome:
    run = found.state.run
    command = order(id=new_command_id(), run=run, at=context.now, by=context.by, **fields)
    return CommandOutcome(reply=send_command(context.worktree, found, command), run=run)


def _outcome_of_reply(found: FoundRun, done: str) -> CommandOutcome:
    return CommandOutcome(
        reply=CommandReply(accepted=True, code="written", text=done),
        run=found.state.run,
        waits=True,
        can_resume=can_resume(found),
    )


SHOWN_TITLE = 60


def overrule(context: CommandContext, *, task: str | None = None) -> CommandOutcome:
    """Accept the work for which the judge requests changes, and close its tasks in the plan.

    Without an engine it counts once the run is resumed. Raises ``NoEngine`` where no judge requests
    changes, and ``RalphError`` where a task cannot be closed.
    """
    found = require_run(context)
    requests = found.state.judge_requests
    if not requests or (task is not None and task not in requests):
        of_it = "" if task is None else f" of {task}"
        raise NoEngine(f"no judge requests changes{of_it}; check it: ralph status")
    if found.state.end is not None and found.state.end.reason is EndReason.COMPLETE:
        raise NoEngine("the run is complete; check it: ralph status")
    closed = [
        text
        for key, one in requests.items()
        if key in one.reopened and task in {None, key}
        if (text := _accept_task(context, found, key))
    ]
    done = "; ".join([*closed, "the judge is overruled"])
    if found.live:
        outcome = _ask(context, found, orders.Overrule, task=task)
        reply = outcome.reply
        both = "; ".join([*closed, reply.text])
        return replace(
            outcome, reply=CommandReply(accepted=reply.accepted, code=reply.code, text=both)
        )
    queue_overrule(_state_of(found), by=context.by)
    return _outcome_of_reply(found, done)


def _accept_task(context: CommandContext, found: FoundRun, task: str) -> str:
    """Close a task that a judge opened; empty where it is closed, or gone, by now."""
    from ralph_ls.core.plan.formats.dispatch import accept_edit, byte_exact_edit
    from ralph_ls.store.project.plan_file import edit_as_user, find_plan_location, find_task

    root = context.worktree.root
    place = find_plan_location(found.state.plan, found.state.config, os.environ)
    if place.kind is PlanKind.BEADS:
        return _accept_issue(root, task, place)
    try:
        known = find_task(root, place, task)
    except UsageError:
        return ""
    if known.state is TaskState.DONE:
        return ""
    change = byte_exact_edit(place.kind, partial(accept_edit, place.kind), task)
    edit_as_user(root, _state(context), place.path, change, at=context.now, kind=place.kind)
    return f"the task {_name(known)} is done in {place.path}"


def _accept_issue(root: Path, task: str, plan: PlanLocation) -> str:
    from ralph_ls.core.plan.formats.beads import commands
    from ralph_ls.store.external.bd import apply_commands, find_bd
    from ralph_ls.store.project.plan_file import issues_of

    issue = issues_of(root, plan).by_id().get(task)
    if issue is None or issue.is_closed:
        return ""
    why = "Accepted by the user, over the judge's request for changes"
    apply_commands(find_bd(root, plan.environment), [commands.close_command(task, why)])
    return f"the issue {task} is closed in bd"


def skip_task(context: CommandContext, task: str) -> CommandOutcome:
    """Skip a task for the rest of the live run; the plan is not edited.

    Raises ``NoEngine`` without a live engine, and ``UsageError`` for an unknown task.
    """
    found = require_run(context)
    if not found.live:
        hint = start_hint(can_resume=can_resume(found))
        raise NoEngine(
            "no engine is running, and a task can only be skipped during a run; to leave it out "
            f"of every run, block it in the plan; {hint}"
        )
    run, known = found.state.run, _task_of_run(context, found, task)
    if known.state in {TaskState.DONE, TaskState.SKIPPED}:
        text = f"the task {_name(known)} is {known.state.value} in the plan, so the loop ignores it"
        return CommandOutcome(
            reply=CommandReply(accepted=False, code="not-open", text=text), run=run
        )
    command = Skip(id=new_command_id(), run=run, at=context.now, by=context.by, task=task)
    return CommandOutcome(reply=send_command(context.worktree, found, command), run=run)


def reset_task(context: CommandContext, task: str, *, plan: PlanLocation) -> CommandOutcome:
    """Reopen a task in the plan and clear its attempts (docs/rules.md#attempts).

    Raises ``RalphError`` where the plan has no such task or it cannot be reopened.
    """
    from ralph_ls.core.plan.formats.dispatch import byte_exact_edit, retry_edit
    from ralph_ls.store.project.plan_file import edit_as_user, find_task

    if plan.kind is PlanKind.BEADS:
        return _reset_issue(context, task, plan)
    known = find_task(context.worktree.root, plan, task)
    change = byte_exact_edit(plan.kind, partial(retry_edit, plan.kind), task)
    edit_as_user(
        context.worktree.root, _state(context), plan.path, change, at=context.now, kind=plan.kind
    )
    return forget_attempts(context, task, done=f"the task {_name(known)} is open in {plan.path}")


def forget_attempts(context: CommandContext, task: str, *, done: str) -> CommandOutcome:
    """Clear the attempts at a task; ``done`` describes the preceding change of the plan.

    Without an engine this is applied when the run is resumed. The attempts that the project's
    runs share are cleared at once.
    """
    found = find_run(context.worktree, context.state)
    if found is not None and found.live:
        run = found.state.run
        command = ResetTask(id=new_command_id(), run=run, at=context.now, by=context.by, task=task)
        reply = send_command(context.worktree, found, command)
        both = f"{done}; {reply.text}" if reply.accepted else f"{done}, but {reply.text}"
        return CommandOutcome(
            reply=CommandReply(accepted=reply.accepted, code=reply.code, text=both), run=run
        )
    forget_project_attempts(context.worktree.root, _state(context), task)
    run_id = None if found is None else found.state.run
    if found is None or not can_resume(found):
        return CommandOutcome(
            reply=CommandReply(accepted=True, code="written", text=done), run=run_id
        )
    queue_reset(_state_of(found), task, by=context.by)
    text = f"{done}; its attempts are reset when the run continues"
    return CommandOutcome(reply=CommandReply(accepted=True, code="written", text=text), run=run_id)


def edit_task(
    context: CommandContext,
    task: str,
    edit: TaskEdit,
    *,
    plan: PlanLocation,
    reason: str = "",
    before: str | None = None,
) -> CommandOutcome:
    """Edit a task in the plan's file; raises ``RalphError`` where that cannot be done."""
    from ralph_ls.core.plan.formats.dispatch import byte_exact_edit, plan_edit
    from ralph_ls.store.project.plan_file import edit_as_user, find_task

    make = partial(plan_edit, plan.kind, edit, reason=reason, before=before)
    change = byte_exact_edit(plan.kind, make, task)
    known = find_task(context.worktree.root, plan, task)
    changed = edit_as_user(
        context.worktree.root, _state(context), plan.path, change, at=context.now, kind=plan.kind
    )
    text = edit_summary(known.title, edit, plan=plan.path, changed=changed)
    return CommandOutcome(reply=CommandReply(accepted=True, code="written", text=text))


def edit_summary(title: str, edit: TaskEdit, *, plan: str, changed: bool) -> str:
    """Result of a task edit, for the user."""
    from ralph_ls.core.plan.edit.user_edits import describe_user_edit

    name = repr(title[:SHOWN_TITLE])
    if not changed:
        return f"the task {name} is already that way in {plan}"
    return f"the task {name} {describe_user_edit(edit)} in {plan}"


def _task_of_run(context: CommandContext, found: FoundRun, task: str) -> Task:
    """The task in the plan of a run; issues of ``bd`` are those at the iteration's start."""
    from ralph_ls.store.project.plan_file import find_plan_location, find_task

    place = find_plan_location(found.state.plan, found.state.config, _NOWHERE)
    kept = read_if_there(found.files.plan_before) if place.kind is PlanKind.BEADS else None
    if place.kind is PlanKind.BEADS and kept is None:
        kept = b""
    text = None if kept is None else kept.decode("utf-8", errors="replace")
    return find_task(context.worktree.root, place, task, text=text)


_NOWHERE: Mapping[str, str] = {}


def _reset_issue(context: CommandContext, task: str, plan: PlanLocation) -> CommandOutcome:
    """Reset an issue, which ``bd`` reopens."""
    from ralph_ls.core.plan.formats.beads import commands
    from ralph_ls.store.external.bd import apply_commands, find_bd
    from ralph_ls.store.project.plan_file import issues_of

    root = context.worktree.root
    issue = issues_of(root, plan).by_id().get(task)
    if issue is None:
        raise UsageError(f"bd has no issue {task!r}; list the issues with: bd list")
    apply_commands(find_bd(root, plan.environment), [commands.retry_command(issue)])
    return forget_attempts(context, task, done=f"the issue {task} is open in bd")


def _name(task: Task) -> str:
    return repr(task.title[:SHOWN_TITLE])


def _state(context: CommandContext) -> StateFolder:
    """State folder of the newest run, which may differ from the context's."""
    found = find_run(context.worktree, context.state)
    return context.state if found is None else _state_of(found)


def _state_of(found: FoundRun) -> StateFolder:
    return StateFolder(folder=found.files.folder.parent.parent)
