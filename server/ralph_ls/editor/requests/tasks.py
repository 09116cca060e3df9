"""Orders about one task: to skip it, to try it again, to block, unblock or move it in the plan.

A plan that is open in the editor is edited there, so that what is not saved is never lost; else its
file is. Whatever the run has to know of it is asked of its engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.core.plan.formats.dispatch import plan_edit, retry_edit
from ralph_ls.core.plan.formats.registry import format_of_file
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.model.document_context import FileKind
from ralph_ls.editor.documents.workspace_edits import EditTarget, edit_capabilities, workspace_edit
from ralph_ls.editor.requests.control import trusted_workspace
from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.protocol.errors import PlanMissing, RalphError, UsageError
from ralph_ls.protocol.lsp.methods import ReplyResult
from ralph_ls.store.project.detection import how_to_begin
from ralph_ls.store.project.plan_file import BD, PlanLocation
from ralph_ls.store.run import steering
from ralph_ls.store.run.steering import CommandContext, CommandOutcome

if TYPE_CHECKING:
    from ralph_ls.editor.documents.loop_documents import LoopDocuments
    from ralph_ls.editor.documents.snapshot import DocumentSnapshot
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
    from ralph_ls.protocol.lsp.row_methods import EditTaskParams, ResetTaskParams, SkipParams

UNSAVED = "save it, because the loop reads the file"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequestContext:
    """What an edit of a document needs beside the work trees."""

    server: RalphLanguageServer
    workspaces: Workspaces
    documents: LoopDocuments


ORDERS = {"skip": "skip", "resetTask": "reset_task", "editTask": "edit_task"}
"""The orders about one task by the last word of their methods, and what does each."""


async def skip(desk: TaskRequestContext, params: SkipParams) -> ReplyResult:
    """``ralph/skip``."""
    view = await trusted_workspace(desk.workspaces, params.workspace)
    return await _steered(desk, view, lambda hands: steering.skip_task(hands, params.task))


async def reset_task(desk: TaskRequestContext, params: ResetTaskParams) -> ReplyResult:
    """``ralph/resetTask``."""
    view = await trusted_workspace(desk.workspaces, params.workspace)
    plan = _plan_of(view)
    edited = None
    if plan.is_file:
        change = retry_edit(plan.kind, params.task)
        edited = await _edit_document(desk, view, params.task, change, label="Reset for retry")
    if edited is None:
        order = partial(steering.reset_task, task=params.task, plan=plan)
        return await _steered(desk, view, order)
    done = f"the task {edited.name} is open in {plan.path}{edited.hint}"
    forget = partial(steering.forget_attempts, task=params.task, done=done)
    return await _steered(desk, view, forget)


async def edit_task(desk: TaskRequestContext, params: EditTaskParams) -> ReplyResult:
    """``ralph/editTask``."""
    view = await trusted_workspace(desk.workspaces, params.workspace)
    plan, task, edit = _plan_of(view), params.task, params.edit
    change = plan_edit(plan.kind, edit, task, reason=params.reason, before=params.before)
    edited = await _edit_document(desk, view, task, change, label=f"{edit.value} a task".title())
    if edited is None:
        order = partial(
            steering.edit_task,
            task=task,
            edit=edit,
            plan=plan,
            reason=params.reason,
            before=params.before,
        )
        return await _steered(desk, view, order)
    words = steering.edit_summary(edited.title, edit, plan=plan.path, changed=edited.changed)
    return ReplyResult(accepted=True, code="accepted", text=f"{words}{edited.hint}")


async def _steered(
    desk: TaskRequestContext, view: WorkspaceView, order: Callable[[CommandContext], CommandOutcome]
) -> ReplyResult:
    hands = CommandContext(
        worktree=view.worktree,
        state=view.folders.state,
        by=desk.workspaces.by,
        now=desk.workspaces.now(),
    )
    steered = await run_in_thread(partial(order, hands), name="steering")
    await view.scan()
    reply = steered.reply
    return ReplyResult(accepted=reply.accepted, code=reply.code, text=reply.text, run=steered.run)


# ------------------------------------------------------------------------------------ documents


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edited:
    title: str
    changed: bool

    @property
    def name(self) -> str:
        return repr(self.title[: steering.SHOWN_TITLE])

    @property
    def hint(self) -> str:
        """What is left to do, where something was changed."""
        return f"; {UNSAVED}" if self.changed else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    title: str
    edit: types.WorkspaceEdit | None


async def _edit_document(
    desk: TaskRequestContext,
    view: WorkspaceView,
    task: str,
    change: Callable[[str], str],
    *,
    label: str,
) -> _Edited | None:
    """Change the plan in the document that is open; None where none is.

    Raises ``RalphError`` where the edit cannot be made, or where the client does not make it.
    """
    made = await desk.documents.read(
        view, FileKind.PLAN, partial(_make_edit, desk, task=task, change=change)
    )
    if made is None:
        return None
    if made.edit is None:
        return _Edited(title=made.title, changed=False)
    abilities = desk.server.client_capabilities.workspace
    if abilities is None or not abilities.apply_edit:
        raise RalphError(
            "the plan is open, and this editor does not let servers change documents; close it "
            "there, or use ralph on the command line"
        )
    given = types.ApplyWorkspaceEditParams(edit=made.edit, label=label)
    applied = await desk.server.workspace_apply_edit_async(given)
    if not applied.applied:
        why = f": {applied.failure_reason}" if applied.failure_reason else ""
        raise RalphError(f"the editor did not change the plan{why}; check it, and try again")
    return _Edited(title=made.title, changed=True)


def _make_edit(
    desk: TaskRequestContext, sight: DocumentSnapshot, *, task: str, change: Callable[[str], str]
) -> _Made | None:
    if sight.version is None:
        return None
    from ralph_ls.editor.documents.task_edits import text_edits

    text = sight.seen.text
    known = sight.seen.plan.find(task)
    if known is None:
        raise UsageError(f"the plan in the editor has no task {task!r}; check it again")
    after = change(text)
    if after == text:
        return _Made(title=known.title, edit=None)
    target = EditTarget(uri=sight.uri, version=sight.version)
    edits = text_edits(text, after, sight.columns())
    abilities = edit_capabilities(desk.server.client_capabilities)
    return _Made(title=known.title, edit=workspace_edit([(target, edits)], abilities))


def _plan_of(view: WorkspaceView) -> PlanLocation:
    """The plan of the work tree's loop; raises ``PlanMissing`` where there is none."""
    kind, path = view.plan_kind, view.plan_path
    if kind is PlanKind.BEADS:
        environment, parent = view.folders.environment, view.paths.parent
        return PlanLocation(path=BD, kind=kind, environment=environment, parent=parent)
    if path is None:
        raise PlanMissing(
            f"there is no plan in {view.root}"
            f"{how_to_begin(view.root, 'create one with: ralph init')}"
        )
    relative = path.relative_to(view.root).as_posix()
    if kind is not PlanKind.REQUEST:
        kind = format_of_file(relative, kind).name
    return PlanLocation(path=relative, kind=kind, tag=view.plan_tag)
