"""Code actions: every control of the loop and its tasks, and edits of the plan.

They follow from the run and the text at the lines that are asked about; diagnostics that a client
sends only name what an action settles. When an action is due, and how a plan is written, is decided
in the core. An approval or a rollback is offered once it was shown, and no control is ever
preferred: a key for "fix this" must not steer a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

import attrs
from lsprotocol import types

from ralph_ls.core.plurals import count_of
from ralph_ls.editor.documents.lesson_actions import LESSON_KIND, lesson_actions
from ralph_ls.editor.documents.loop_documents import LoopDocuments, is_config
from ralph_ls.editor.documents.project_documents import ProjectDocuments
from ralph_ls.editor.documents.quick_fixes import (
    FixRequest,
    quick_fixes,
    settings_fixes,
    spec_fixes,
)
from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.documents.task_edits import (
    KIND,
    ProgressLogText,
    resolve_task_edit,
    task_edit_actions,
)
from ralph_ls.editor.documents.workspace_edits import (
    EditCapabilities,
    EditTarget,
    edit_capabilities,
)
from ralph_ls.editor.lsp.conversion import SOURCE, display_capabilities
from ralph_ls.editor.lsp.errors import invalid_field
from ralph_ls.editor.scheduling import run_in_thread

if TYPE_CHECKING:
    from ralph_ls.core.views.document.controls import Control
    from ralph_ls.core.views.model.document_context import FileKind
    from ralph_ls.editor.registration import FeatureContext
    from ralph_ls.editor.worktree.reviews import ReviewedRollback
    from ralph_ls.editor.worktree.workspaces import WorkspaceView

OWN_PREFIX = "ralph"
"""Of the server's own commands."""

RUN_KIND = "source.ralph.run"
TASK_KIND = "source.ralph.task"
"""Kinds of controls; what settles something that waits for the user is a quick fix."""


def register(context: FeatureContext) -> None:
    """Answer requests for code actions."""
    server, feature = context.server, _CodeActions(context)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(
            code_action_kinds=[
                types.CodeActionKind.QuickFix,
                *(KIND, RUN_KIND, TASK_KIND, LESSON_KIND),
            ],
            resolve_provider=True,
        ),
    )
    async def code_actions(
        params: types.CodeActionParams,
    ) -> list[types.CodeAction | types.Command] | None:
        found = await feature.find(params)
        if found is None or display_capabilities(server.client_capabilities).code_actions:
            return None if found is None else list(found)
        # An edit is more than a command, so a client that knows only those is offered none.
        return [one.command for one in found if one.command is not None]

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        return await feature.resolve(action)


class _CodeActions:
    """Finds what can be done in each kind of document."""

    def __init__(self, context: FeatureContext) -> None:
        self._server = context.server
        self._workspaces = context.workspaces
        self._documents = context.documents
        self._options = context.options
        self._pages = ProjectDocuments(context.server, context.workspaces, context.documents)

    async def find(self, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        """The actions at the lines of ``params``; None where the document is none of ours."""
        uri = params.text_document.uri
        if is_config(uri):
            return self._in_settings(params)
        await self._workspaces.ready()
        opened = self._documents.open_document(uri)
        text = None if opened is None else opened.source
        prefix = self._options().command_prefix or OWN_PREFIX
        lesson = await lesson_actions(self._workspaces, uri, text, prefix=prefix)
        if lesson is not None:
            return [one for one in lesson if _wants(params.context, one.kind or "")]
        place = self._workspaces.of_document(uri)
        if place is None:
            return await self._in_specs(params)
        return await self._in_loop(params, *place)

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """The action with its edit; only those of tasks come without it."""
        match action.data:
            case {"uri": str(uri), "task": str(task)}:
                pass
            case None:
                return action
            case _:
                raise invalid_field(types.CODE_ACTION_RESOLVE, "data", "is not what was sent")
        await self._workspaces.ready()
        place = self._workspaces.of_document(uri)
        edit = None
        if place is not None:
            view, kind = place
            make = partial(
                resolve_task_edit,
                task_id=task,
                title=action.title,
                abilities=self._abilities,
                today=self._today,
                log=_log_of(view, self._documents),
            )
            edit = await self._documents.read(view, kind, make, uri=uri)
        if edit is None:
            raise invalid_field(types.CODE_ACTION_RESOLVE, "data.uri", "names no plan")
        return attrs.evolve(action, edit=edit)

    @property
    def _today(self) -> str:
        """Such as ``2026-01-31``."""
        return self._workspaces.now().astimezone().date().isoformat()

    @property
    def _abilities(self) -> EditCapabilities:
        return edit_capabilities(self._server.client_capabilities)

    async def _in_loop(
        self, params: types.CodeActionParams, view: WorkspaceView, kind: FileKind
    ) -> list[types.CodeAction]:
        from ralph_ls.core.views.model.document_context import FileKind

        prefix, log, approval = self._options().command_prefix, None, None
        if kind is FileKind.PLAN and not _is_automatic(params.context):
            log = _log_of(view, self._documents)
            if prefix is None and _wants(params.context, types.CodeActionKind.QuickFix):
                approval = await self._approval(view)
        around = ActionContext(
            prefix=prefix,
            abilities=self._abilities,
            today=self._today,
            log=log,
            approval=approval,
            rollback=self._workspaces.reviews.rollbacks.get(view.root),
        )

        def compute(sight: DocumentSnapshot) -> list[types.CodeAction]:
            return code_actions_at(sight, params, around)

        return await self._documents.read(view, kind, compute, uri=params.text_document.uri) or []

    async def _approval(self, view: WorkspaceView) -> PendingApproval | None:
        """What the work tree's settings would run without approval, if there is any."""
        n_missing = await run_in_thread(view.n_unapproved, name="approvals")
        shown = self._workspaces.reviews.approvals.get(view.root)
        return PendingApproval(n_missing=n_missing, sha256=shown) if n_missing else None

    async def _in_specs(self, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        if not _wants(params.context, types.CodeActionKind.QuickFix):
            return None
        fixes = partial(
            spec_fixes,
            remarks=params.context.diagnostics,
            today=self._workspaces.now().astimezone().date(),
            abilities=self._abilities,
        )
        return await self._pages.read_around(params.text_document.uri, fixes)

    def _in_settings(self, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        opened = self._documents.open_document(params.text_document.uri)
        if opened is None or not _wants(params.context, types.CodeActionKind.QuickFix):
            return None
        return settings_fixes(
            opened,
            params.context.diagnostics,
            encoding=self._server.workspace.position_encoding,
            abilities=self._abilities,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionContext:
    """What code actions depend on beside the document."""

    prefix: str | None
    """Of the client's own commands."""
    abilities: EditCapabilities
    today: str
    """Such as ``2026-01-31``."""
    log: ProgressLogText | None = None
    approval: PendingApproval | None = None
    rollback: ReviewedRollback | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """What waits for the user's approval."""

    n_missing: int
    sha256: str | None
    """What was shown; None: nothing was."""


def code_actions_at(
    sight: DocumentSnapshot, params: types.CodeActionParams, around: ActionContext
) -> list[types.CodeAction]:
    """What can be done at the lines of ``params``, by the run and the text; from any thread."""
    context, abilities = params.context, around.abilities
    first, last = touched_lines(params.range)
    found = list(_control_actions(sight, params, around))
    if _wants(context, types.CodeActionKind.QuickFix):
        asked = FixRequest(
            first=first,
            last=last,
            remarks=context.diagnostics,
            is_automatic=_is_automatic(context),
            abilities=abilities,
        )
        found.extend(quick_fixes(sight, asked))
    if _wants(context, KIND):
        edits = task_edit_actions(sight, first, last, abilities, today=around.today, log=around.log)
        found.extend(one for one in edits if one.disabled is None or abilities.disabled)
    return sorted(found, key=_order)


def touched_lines(where: types.Range) -> tuple[int, int]:
    """The lines of a selection, inclusive: one that ends before a line's text is not in it."""
    first, last = where.start.line, where.end.line
    return (first, last - 1) if last > first and where.end.character == 0 else (first, last)


def _order(action: types.CodeAction) -> int:
    """Quick fixes first, then what is about the task, then the controls of the run."""
    kind = str(getattr(action.kind, "value", action.kind))
    return {types.CodeActionKind.QuickFix.value: 0, RUN_KIND: 2}.get(kind, 1)


def _control_actions(
    sight: DocumentSnapshot, params: types.CodeActionParams, around: ActionContext
) -> Iterator[types.CodeAction]:
    """The controls of the lines, each as a command."""
    from ralph_ls.core.views.document.controls import controls, is_about_run
    from ralph_ls.protocol.lsp.panel import Verb

    first, last = touched_lines(params.range)
    offered = [*controls(sight.seen, first, last)]
    if is_about_run(sight.seen, first, last):
        offered.extend(_reviewed(sight, around))
    for one in offered:
        kind = _kind_of(one, around.prefix)
        if not _wants(params.context, kind or types.CodeActionKind.Empty):
            continue
        if around.prefix is not None and one.command not in {verb.value for verb in Verb}:
            # A client has its own commands for the verbs of lenses, and other places for the rest.
            continue
        settled = [
            remark
            for remark in params.context.diagnostics
            if remark.source == SOURCE and remark.code in one.codes
        ]
        yield types.CodeAction(
            title=one.title,
            kind=kind,
            diagnostics=settled or None,
            command=_command(sight, around.prefix or OWN_PREFIX, one),
        )


def _kind_of(control: Control, prefix: str | None) -> types.CodeActionKind | str | None:
    from ralph_ls.core.views.document.controls import ControlGroup

    match control.group:
        case ControlGroup.REMEDY:
            return types.CodeActionKind.QuickFix
        case ControlGroup.RUN:
            return RUN_KIND
        case ControlGroup.TASK:
            # VS Code hides source actions from its light bulb, where our own users look.
            return TASK_KIND if prefix is None else None
        case _:  # pragma: no cover
            assert_never(control.group)


def _reviewed(sight: DocumentSnapshot, around: ActionContext) -> Iterator[Control]:
    """What may follow once it was shown, and the showing of it."""
    from ralph_ls.core.views.document.controls import Control, ControlGroup

    pending, rollback, state = around.approval, around.rollback, sight.seen.state
    if pending is not None:
        yield Control(
            title=f"Show what waits for your approval ({pending.n_missing})",
            command="showApproval",
            group=ControlGroup.REMEDY,
        )
        if pending.sha256 is not None:
            yield Control(
                title="Allow what was shown",
                command="allow",
                arguments={"sha256": pending.sha256},
                group=ControlGroup.REMEDY,
            )
    if rollback is None or state is None or state.run != rollback.run or sight.seen.live:
        return
    yield Control(
        title=f"Roll back to before iteration {rollback.iteration}, as shown "
        f"({count_of(rollback.n_commits, 'commit')})",
        command="rollback",
        arguments={"run": rollback.run, "start": rollback.start, "sha256": rollback.sha256},
        group=ControlGroup.RUN,
    )


def _log_of(view: WorkspaceView, documents: LoopDocuments) -> ProgressLogText:
    """The log of finished tasks in the work tree, as the client has it."""
    from ralph_ls.protocol.config.config import PathsConfig

    state = view.picture().state
    name = (PathsConfig() if state is None else state.config.paths).progress
    uri, version, text = documents.text_beside(view, view.root / name)
    target = EditTarget(uri=uri, version=version, is_new=text is None)
    return ProgressLogText(name=name, target=target, text=text or "")


def _command(sight: DocumentSnapshot, prefix: str, control: Control) -> types.Command:
    named: dict[str, Any] = {"workspace": sight.workspace, **control.arguments}
    if sight.further_plan is not None:
        named["plan"] = sight.further_plan
    return types.Command(
        title=control.title, command=f"{prefix}.{control.command}", arguments=[named]
    )


def _wants(context: types.CodeActionContext, kind: types.CodeActionKind | str) -> bool:
    """Whether the client asked for this kind; a kind covers those that begin with it."""
    if context.only is None:
        return True
    wanted = [str(getattr(one, "value", one)) for one in context.only]
    name = str(getattr(kind, "value", kind))
    return any(one in {name, ""} or name.startswith(f"{one}.") for one in wanted)


def _is_automatic(context: types.CodeActionContext) -> bool:
    """Whether a move of the cursor asked, and not the user."""
    return context.trigger_kind is types.CodeActionTriggerKind.Automatic
