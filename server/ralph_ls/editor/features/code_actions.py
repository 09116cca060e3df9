"""Code actions: what the user can settle at a remark, running one task alone, and its edits.

They are the actions that the lenses and the panel offer, with the same arguments, and edits for
remarks on the plan itself. When an action is due, and how a plan is written, is decided in the
core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ralph_ls.editor.documents.loop_documents import LoopDocuments, is_config
from ralph_ls.editor.documents.project_documents import ProjectDocuments
from ralph_ls.editor.documents.project_fixes import settings_fixes, spec_fixes
from ralph_ls.editor.documents.quick_fixes import quick_fixes
from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.documents.task_edits import KIND, ProgressLogText, task_edit_actions
from ralph_ls.editor.documents.workspace_edits import (
    EditCapabilities,
    EditTarget,
    edit_capabilities,
)
from ralph_ls.editor.lsp.conversion import SOURCE, display_capabilities

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ralph_ls.core.views.model.document_context import FileKind
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
    from ralph_ls.protocol.lsp.options import EditorOptions
    from ralph_ls.protocol.lsp.panel import Action

OWN_PREFIX = "ralph"
"""Of the server's own commands."""

REMEDIES = {
    "question-waiting": "answer",
    "run-blocked": "resume",
    "breaker-open": "reset",
    "breaker-half-open": "reset",
}
"""Which verb settles what a diagnostic says, by its code."""

WITHOUT_ENGINE = {
    "engine-gone": "resume",
    "answer-pending": "resume",
    "question-answered": "resume",
}
"""The same where no engine runs; with one, nothing is left to do about these."""


def register(
    server: RalphLanguageServer,
    workspaces: Workspaces,
    documents: LoopDocuments,
    options: Callable[[], EditorOptions],
) -> None:
    """Answer requests for code actions."""
    feature = _CodeActions(server, workspaces, documents, options)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, KIND]),
    )
    async def code_actions(
        params: types.CodeActionParams,
    ) -> list[types.CodeAction | types.Command] | None:
        found = await feature.find(params)
        if found is None or display_capabilities(server.client_capabilities).code_actions:
            return None if found is None else list(found)
        # An edit is more than a command, so a client that knows only those is offered none.
        return [one.command for one in found if one.command is not None]


class _CodeActions:
    """Finds what can be done in each kind of document."""

    def __init__(
        self,
        server: RalphLanguageServer,
        workspaces: Workspaces,
        documents: LoopDocuments,
        options: Callable[[], EditorOptions],
    ) -> None:
        self._server = server
        self._workspaces = workspaces
        self._documents = documents
        self._options = options
        self._pages = ProjectDocuments(server, workspaces, documents)

    async def find(self, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        """The actions at the lines of ``params``; None where the document is none of ours."""
        uri = params.text_document.uri
        if is_config(uri):
            return self._in_settings(params)
        await self._workspaces.ready()
        place = self._workspaces.of_document(uri)
        if place is None:
            return await self._in_specs(params)
        return await self._in_loop(params, *place)

    @property
    def _abilities(self) -> EditCapabilities:
        return edit_capabilities(self._server.client_capabilities)

    async def _in_loop(
        self, params: types.CodeActionParams, view: WorkspaceView, kind: FileKind
    ) -> list[types.CodeAction]:
        from ralph_ls.core.views.model.document_context import FileKind

        prefix, abilities = self._options().command_prefix or OWN_PREFIX, self._abilities
        literal = display_capabilities(self._server.client_capabilities).code_actions
        log = None
        if literal and kind is FileKind.PLAN and _is_asked_for(params.context, KIND):
            log = _log_of(view, self._documents, self._workspaces.now())

        def compute(sight: DocumentSnapshot) -> list[types.CodeAction]:
            return code_actions_at(sight, params, prefix, abilities=abilities, log=log)

        return await self._documents.read(view, kind, compute, uri=params.text_document.uri) or []

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


def code_actions_at(
    sight: DocumentSnapshot,
    params: types.CodeActionParams,
    prefix: str,
    *,
    abilities: EditCapabilities,
    log: ProgressLogText | None,
) -> list[types.CodeAction]:
    """What can be done at the lines of ``params``; from any thread."""
    found: list[types.CodeAction] = []
    if _wants(params.context, types.CodeActionKind.QuickFix):
        found.extend(_fixes(sight, params.context.diagnostics, prefix))
        found.extend(quick_fixes(sight, params.context.diagnostics, abilities=abilities))
    if _wants(params.context, types.CodeActionKind.Empty):
        found.extend(_run_alone(sight, params.range, prefix))
    if _wants(params.context, KIND):
        edits = task_edit_actions(sight, params.range, abilities, log=log)
        found.extend(one for one in edits if one.disabled is None or abilities.disabled)
    return found


def _fixes(
    sight: DocumentSnapshot, remarks: Sequence[types.Diagnostic], prefix: str
) -> Iterator[types.CodeAction]:
    """The remedy of each remark, once for all remarks that it settles."""
    from ralph_ls.core.views.model.actions import run_actions, user_actions

    remedies = REMEDIES if sight.seen.live else REMEDIES | WITHOUT_ENGINE
    settled: dict[str, list[types.Diagnostic]] = {}
    for remark in remarks:
        verb = remedies.get(str(remark.code)) if remark.source == SOURCE else None
        if verb is not None:
            settled.setdefault(verb, []).append(remark)
    offered: dict[str, Action] = {}
    for action in (*user_actions(sight.seen), *run_actions(sight.seen)):
        offered.setdefault(action.verb.value, action)
    for verb, fixed in settled.items():
        if verb in offered:
            action = offered[verb]
            command = _command(sight, prefix, verb, action.title, action.arguments)
            yield types.CodeAction(
                title=action.title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=fixed,
                command=command,
            )


def _log_of(view: WorkspaceView, documents: LoopDocuments, now: datetime) -> ProgressLogText:
    """The log of finished tasks in the work tree, as the client has it."""
    from ralph_ls.protocol.config.config import PathsConfig

    state = view.picture().state
    name = (PathsConfig() if state is None else state.config.paths).progress
    uri, version, text = documents.text_beside(view, view.root / name)
    target = EditTarget(uri=uri, version=version, is_new=text is None)
    day = now.astimezone().date().isoformat()
    return ProgressLogText(name=name, target=target, text=text or "", day=day)


def _run_alone(
    sight: DocumentSnapshot, where: types.Range, prefix: str
) -> Iterator[types.CodeAction]:
    """Running one task, if the selection is in just that one."""
    from ralph_ls.core.plan.model import ParsedPlan, Plan
    from ralph_ls.core.views.document.lenses import lenses
    from ralph_ls.protocol.lsp.options import TaskLenses
    from ralph_ls.protocol.lsp.panel import Verb

    plan = sight.seen.plan
    task = plan.at_line(where.start.line)
    if task is None or plan.at_line(where.end.line) != task:
        return
    alone = replace(sight.seen, parsed=ParsedPlan(plan=Plan(tasks=(task,))))
    for lens in lenses(alone, tasks=TaskLenses.ALL):
        if lens.command is Verb.RUN_TASK:
            title = "Run only this task"
            command = _command(sight, prefix, lens.command, title, lens.arguments)
            yield types.CodeAction(title=title, command=command)


def _command(
    sight: DocumentSnapshot, prefix: str, verb: str, title: str, arguments: Any
) -> types.Command:
    named = {"workspace": sight.workspace, **arguments}
    if sight.further_plan is not None:
        named["plan"] = sight.further_plan
    return types.Command(title=title, command=f"{prefix}.{verb}", arguments=[named])


def _wants(context: types.CodeActionContext, kind: types.CodeActionKind | str) -> bool:
    """Whether the client asked for this kind; a kind covers those that begin with it."""
    if context.only is None:
        return True
    wanted = [str(getattr(one, "value", one)) for one in context.only]
    name = str(getattr(kind, "value", kind))
    return any(one in {name, ""} or name.startswith(f"{one}.") for one in wanted)


def _is_asked_for(context: types.CodeActionContext, kind: types.CodeActionKind) -> bool:
    """Whether the user asked, and not a move of the cursor."""
    is_automatic = context.trigger_kind is types.CodeActionTriggerKind.Automatic
    return not is_automatic and _wants(context, kind)
