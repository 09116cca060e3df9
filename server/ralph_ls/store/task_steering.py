"""What a person orders about one task: to skip it, to try it again, or an edit of it in the plan.

A living engine is asked through the inbox as for any order; the plan is the person's to edit, so
whoever asks edits it, in the file or in a document that an editor has open. Everything here blocks.
"""

from __future__ import annotations

from functools import partial

from ralph_ls.core.plan.editing.by_person import change_of, exact, reset_for_retry, words_of
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Task
from ralph_ls.protocol.commands import ResetTask, Skip
from ralph_ls.protocol.errors import NoEngine, UsageError
from ralph_ls.protocol.plan import TaskState
from ralph_ls.protocol.row_methods import TaskEdit
from ralph_ls.store.ask import Reply, ask, new_command_id
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.notes import leave_reset
from ralph_ls.store.plan_file import edit_as_person, read_plan
from ralph_ls.store.runs import FoundRun, find_run
from ralph_ls.store.steering import Hands, Steered, may_go_on, require_run, start_hint

SHOWN_TITLE = 60


def skip(hands: Hands, task: str) -> Steered:
    """Have a task taken no more in the run that goes on; the plan is not edited.

    Raises ``NoEngine`` where none lives, and ``UsageError`` where its plan has no such task.
    """
    found = require_run(hands)
    if not found.live:
        hint = start_hint(may_go_on=may_go_on(found))
        raise NoEngine(
            "no engine runs here, and a task is skipped only for as long as a run lasts; to leave "
            f"it out of every run, block it in the plan; {hint}"
        )
    run, known = found.state.run, find_task(hands, found.state.plan, task)
    if known.state in {TaskState.DONE, TaskState.SKIPPED}:
        text = f"the task {_name(known)} is {known.state.value} in the plan; nobody would take it"
        return Steered(reply=Reply(accepted=False, code="not-open", text=text), run=run)
    command = Skip(id=new_command_id(), run=run, at=hands.now, by=hands.by, task=task)
    return Steered(reply=ask(hands.worktree, found, command), run=run)


def reset_task(hands: Hands, task: str, *, plan: str) -> Steered:
    """Open a task again in the plan's file, and count no attempts at it any more (SPEC §9).

    Raises ``RalphError`` where the plan has no such task, or where it cannot be opened.
    """
    known = find_task(hands, plan, task)
    change = exact(lambda named: partial(reset_for_retry, task_id=named), task)
    edit_as_person(hands.worktree.root, _state(hands), plan, change, at=hands.now)
    return forget_attempts(hands, task, done=f"the task {_name(known)} is open in {plan}")


def forget_attempts(hands: Hands, task: str, *, done: str) -> Steered:
    """Have the run count no attempts at a task; ``done`` says what was done to the plan before.

    Without an engine it counts once the run goes on: a new one counts from nothing.
    """
    found = find_run(hands.worktree, hands.state)
    if found is not None and found.live:
        run = found.state.run
        command = ResetTask(id=new_command_id(), run=run, at=hands.now, by=hands.by, task=task)
        reply = ask(hands.worktree, found, command)
        both = f"{done}; {reply.text}" if reply.accepted else f"{done}, but {reply.text}"
        return Steered(reply=Reply(accepted=reply.accepted, code=reply.code, text=both), run=run)
    run_id = None if found is None else found.state.run
    if found is None or not may_go_on(found):
        return Steered(reply=Reply(accepted=True, code="written", text=done), run=run_id)
    leave_reset(_state_of(found), task, by=hands.by)
    text = f"{done}; no attempts at it are counted when the run goes on"
    return Steered(reply=Reply(accepted=True, code="written", text=text), run=run_id)


def edit_task(
    hands: Hands,
    task: str,
    edit: TaskEdit,
    *,
    plan: str,
    reason: str = "",
    before: str | None = None,
) -> Steered:
    """Edit a task in the plan's file; raises ``RalphError`` where that cannot be done."""
    known = find_task(hands, plan, task)
    change = exact(lambda named: change_of(edit, named, reason=reason, before=before), task)
    changed = edit_as_person(hands.worktree.root, _state(hands), plan, change, at=hands.now)
    text = edited_words(known.title, edit, plan=plan, changed=changed)
    return Steered(reply=Reply(accepted=True, code="written", text=text))


def edited_words(title: str, edit: TaskEdit, *, plan: str, changed: bool) -> str:
    """What became of a task, for whoever edited it."""
    name = repr(title[:SHOWN_TITLE])
    if not changed:
        return f"the task {name} stands in {plan} as you want it already"
    return f"the task {name} {words_of(edit)} in {plan}"


def find_task(hands: Hands, plan: str, task: str) -> Task:
    """The task in the plan's file; raises ``UsageError`` where there is none, and what to do."""
    text = read_plan(hands.worktree.root, plan).decode("utf-8", errors="replace")
    found = parse(text).plan.find(task)
    if found is None:
        raise UsageError(
            f"{plan} has no task {task!r}; its tasks and their ids are shown by: ralph plan --json"
        )
    return found


def _name(task: Task) -> str:
    return repr(task.title[:SHOWN_TITLE])


def _state(hands: Hands) -> StateFolder:
    """Where the newest run has its state, which may lie elsewhere than here."""
    found = find_run(hands.worktree, hands.state)
    return hands.state if found is None else _state_of(found)


def _state_of(found: FoundRun) -> StateFolder:
    return StateFolder(folder=found.files.folder.parent.parent)
