"""What a person orders about one task: to skip it, to try it again, or an edit of it in the plan.

A living engine is asked through the inbox as for any order; the plan is the person's to edit, so
whoever asks edits it, in the file or in a document that an editor has open. Everything here blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ralph_ls.core.plan.editing.by_person import words_of
from ralph_ls.core.plan.kinds import PlanKind
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.orders import change_of, exact, reset_for_retry
from ralph_ls.protocol.commands import ResetTask, Skip
from ralph_ls.protocol.errors import NoEngine, UsageError
from ralph_ls.protocol.plan import TaskState
from ralph_ls.protocol.row_methods import TaskEdit
from ralph_ls.store.ask import Reply, ask, new_command_id
from ralph_ls.store.attempts_file import forget_in_project
from ralph_ls.store.files import read_if_there
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.notes import leave_reset
from ralph_ls.store.plan_file import edit_as_person
from ralph_ls.store.plan_places import PlanPlace, find_task, issues_of, place_of
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
    run, known = found.state.run, _task_of_run(hands, found, task)
    if known.state in {TaskState.DONE, TaskState.SKIPPED}:
        text = f"the task {_name(known)} is {known.state.value} in the plan; nobody would take it"
        return Steered(reply=Reply(accepted=False, code="not-open", text=text), run=run)
    command = Skip(id=new_command_id(), run=run, at=hands.now, by=hands.by, task=task)
    return Steered(reply=ask(hands.worktree, found, command), run=run)


def reset_task(hands: Hands, task: str, *, plan: PlanPlace) -> Steered:
    """Open a task again in the plan, and count no attempts at it any more (SPEC §9).

    Raises ``RalphError`` where the plan has no such task, or where it cannot be opened.
    """
    if plan.kind is PlanKind.BEADS:
        return _reset_issue(hands, task, plan)
    known = find_task(hands.worktree.root, plan, task)
    change = exact(plan.kind, partial(reset_for_retry, plan.kind), task)
    edit_as_person(
        hands.worktree.root, _state(hands), plan.path, change, at=hands.now, kind=plan.kind
    )
    return forget_attempts(hands, task, done=f"the task {_name(known)} is open in {plan.path}")


def forget_attempts(hands: Hands, task: str, *, done: str) -> Steered:
    """Have the run count no attempts at a task; ``done`` says what was done to the plan before.

    Without an engine it counts once the run goes on: a new one counts from nothing, or from what
    is kept for all runs of the project, where the task is taken out at once.
    """
    found = find_run(hands.worktree, hands.state)
    if found is not None and found.live:
        run = found.state.run
        command = ResetTask(id=new_command_id(), run=run, at=hands.now, by=hands.by, task=task)
        reply = ask(hands.worktree, found, command)
        both = f"{done}; {reply.text}" if reply.accepted else f"{done}, but {reply.text}"
        return Steered(reply=Reply(accepted=reply.accepted, code=reply.code, text=both), run=run)
    forget_in_project(hands.worktree.root, _state(hands), task)
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
    plan: PlanPlace,
    reason: str = "",
    before: str | None = None,
) -> Steered:
    """Edit a task in the plan's file; raises ``RalphError`` where that cannot be done."""
    make = partial(change_of, plan.kind, edit, reason=reason, before=before)
    change = exact(plan.kind, make, task)
    known = find_task(hands.worktree.root, plan, task)
    changed = edit_as_person(
        hands.worktree.root, _state(hands), plan.path, change, at=hands.now, kind=plan.kind
    )
    text = edited_words(known.title, edit, plan=plan.path, changed=changed)
    return Steered(reply=Reply(accepted=True, code="written", text=text))


def edited_words(title: str, edit: TaskEdit, *, plan: str, changed: bool) -> str:
    """What became of a task, for whoever edited it."""
    name = repr(title[:SHOWN_TITLE])
    if not changed:
        return f"the task {name} stands in {plan} as you want it already"
    return f"the task {name} {words_of(edit)} in {plan}"


def _task_of_run(hands: Hands, found: FoundRun, task: str) -> Task:
    """The task in the plan of a run; what ``bd`` has was read when the iteration began."""
    place = place_of(found.state.plan, found.state.config, _NOWHERE)
    kept = read_if_there(found.files.plan_before) if place.kind is PlanKind.BEADS else None
    if place.kind is PlanKind.BEADS and kept is None:
        kept = b""
    text = None if kept is None else kept.decode("utf-8", errors="replace")
    return find_task(hands.worktree.root, place, task, text=text)


_NOWHERE: Mapping[str, str] = {}


def _reset_issue(hands: Hands, task: str, plan: PlanPlace) -> Steered:
    """The same for an issue, which ``bd`` opens."""
    from ralph_ls.core.plan.beads import commands
    from ralph_ls.store.bd import find_bd, perform

    root = hands.worktree.root
    issue = issues_of(root, plan).by_id().get(task)
    if issue is None:
        raise UsageError(f"bd has no issue {task!r}; see them all with: bd list")
    perform(find_bd(root, plan.environment), [commands.reset_for_retry(issue)])
    return forget_attempts(hands, task, done=f"the issue {task} is open in bd")


def _name(task: Task) -> str:
    return repr(task.title[:SHOWN_TITLE])


def _state(hands: Hands) -> StateFolder:
    """Where the newest run has its state, which may lie elsewhere than here."""
    found = find_run(hands.worktree, hands.state)
    return hands.state if found is None else _state_of(found)


def _state_of(found: FoundRun) -> StateFolder:
    return StateFolder(folder=found.files.folder.parent.parent)
