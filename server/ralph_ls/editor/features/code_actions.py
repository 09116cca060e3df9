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

from ralph_ls.core.plurals import count_of
from ralph_ls.editor.documents.loop_documents import LoopDocuments, is_config
from ralph_ls.editor.documents.project_documents import ProjectContext, ProjectDocuments
from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.documents.task_edits import KIND, ProgressLogText, task_edit_actions
from ralph_ls.editor.documents.workspace_edits import (
    EditCapabilities,
    EditTarget,
    edit_capabilities,
    workspace_edit,
)
from ralph_ls.editor.lsp.conversion import SOURCE, display_capabilities
from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, datetime

    from ralph_ls.core.plan.diff.guard_overrides import AcceptedEdit
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
    in_specs = partial(
        _in_specs, server, workspaces, ProjectDocuments(server, workspaces, documents)
    )

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, KIND]),
    )
    async def code_actions(
        params: types.CodeActionParams,
    ) -> list[types.CodeAction | types.Command] | None:
        from ralph_ls.core.views.model.document_context import FileKind

        uri = params.text_document.uri
        if is_config(uri):
            return _in_config(server, documents, params)
        await workspaces.ready()
        place = workspaces.of_document(uri)
        if place is None:
            return await in_specs(params)
        view, kind = place
        prefix = options().command_prefix or OWN_PREFIX
        literal = display_capabilities(server.client_capabilities).code_actions
        abilities = edit_capabilities(server.client_capabilities)
        log = None
        if literal and kind is FileKind.PLAN and _is_asked_for(params.context, KIND):
            log = _log_of(view, documents, workspaces.now())

        def compute(sight: DocumentSnapshot) -> list[types.CodeAction]:
            return code_actions_at(sight, params, prefix, abilities=abilities, log=log)

        found = await documents.read(view, kind, compute, uri=uri) or []
        if literal:
            return list(found)
        # An edit is more than a command, so a client that knows only those is offered none.
        return [one.command for one in found if one.command is not None]


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
        found.extend(_repairs(sight, params.context.diagnostics, abilities=abilities))
        found.extend(_merges(sight, params.context.diagnostics, abilities=abilities))
        found.extend(_accept_edits(sight, params.context.diagnostics, abilities=abilities))
        found.extend(_reopens(sight, params.context.diagnostics, abilities=abilities))
    if _wants(params.context, types.CodeActionKind.Empty):
        found.extend(_run_alone(sight, params.range, prefix))
    if _wants(params.context, KIND):
        edits = task_edit_actions(sight, params.range, abilities, log=log)
        found.extend(one for one in edits if one.disabled is None or abilities.disabled)
    return found


def _in_config(
    server: RalphLanguageServer, documents: LoopDocuments, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command] | None:
    """The quick fix of old keys, for a client that knows edits: all of a file are renamed."""
    from ralph_ls.core.views.model.diagnostic import DiagnosticCode
    from ralph_ls.editor.documents.workspace_edits import line_edits
    from ralph_ls.store.project.old_keys import find_old_keys, with_renamed_keys

    opened = documents.open_document(params.text_document.uri)
    remarks = params.context.diagnostics
    settled = [one for one in remarks if one.code == DiagnosticCode.SETTING_RENAMED]
    able = display_capabilities(server.client_capabilities).code_actions
    is_wanted = able and _wants(params.context, types.CodeActionKind.QuickFix)
    if opened is None or not settled or not is_wanted:
        return None
    text = opened.source
    try:
        found, renamed = find_old_keys(text), with_renamed_keys(text)
    except (ValueError, RalphError):
        return None
    names = found[0].new if len(found) == 1 else f"the new keys ({len(found)})"
    edits = line_edits(text, renamed, server.workspace.position_encoding)
    target = EditTarget(uri=opened.uri, version=opened.version)
    return [
        types.CodeAction(
            title=f"Rename to {names}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=settled,
            is_preferred=True,
            edit=workspace_edit([(target, edits)], edit_capabilities(server.client_capabilities)),
        )
    ]


async def _in_specs(
    server: RalphLanguageServer,
    workspaces: Workspaces,
    pages: ProjectDocuments,
    params: types.CodeActionParams,
) -> list[types.CodeAction | types.Command] | None:
    """The quick fixes in specifications, for a client that knows edits."""
    able = display_capabilities(server.client_capabilities).code_actions
    if not able or not _wants(params.context, types.CodeActionKind.QuickFix):
        return None
    today = workspaces.now().astimezone().date()
    abilities = edit_capabilities(server.client_capabilities)
    remarks = params.context.diagnostics
    fixes = partial(spec_fixes, remarks=remarks, today=today, abilities=abilities)
    found = await pages.read_around(params.text_document.uri, fixes)
    return None if found is None else list(found)


def spec_fixes(
    around: ProjectContext,
    *,
    remarks: Sequence[types.Diagnostic],
    today: date,
    abilities: EditCapabilities,
) -> list[types.CodeAction]:
    """What ends the remark that all tasks of an active specification are done."""
    from ralph_ls.core.plan.specs import ALL_DONE, read_index
    from ralph_ls.core.views.document.page import PageKind

    page, columns = around.here.page, around.here.columns()
    by_line = {}
    if page.kind is PageKind.INDEX:
        by_line = {entry.line: entry.name for entry in read_index(page.text)}
    actions = []
    for one in around.spec_remarks():
        where = columns.between(one.start, one.end)
        settled = [two for two in remarks if two.code == one.code and two.range == where]
        if one.code == ALL_DONE and settled:
            name = by_line.get(one.line, page.spec_name)
            action = types.CodeAction(
                title=f"Mark {name} as implemented (its tests pass)",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=settled,
                edit=workspace_edit(_implemented(around, name, today), abilities),
            )
            actions.append(action)
    return actions


def _implemented(
    around: ProjectContext, name: str, today: date
) -> list[tuple[EditTarget, list[types.TextEdit]]]:
    """Status and date of a specification, and its entry in the index."""
    from ralph_ls.core.plan import specs
    from ralph_ls.core.views.document.page import PageKind
    from ralph_ls.editor.documents.workspace_edits import line_edits

    in_index = partial(specs.implemented_in_index, name=name)
    edits = []
    for page, change in (
        (around.read(PageKind.SPEC, f"{specs.FOLDER}/{name}"), specs.implemented_spec),
        (around.read(PageKind.INDEX, f"{specs.FOLDER}/{specs.INDEX}"), in_index),
    ):
        if page is not None:
            text = page.page.text
            changed = line_edits(text, change(text, today=today), page.encoding)
            edits.append((EditTarget(uri=page.uri, version=page.version), changed))
    return [one for one in edits if one[1]]


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


def _repairs(
    sight: DocumentSnapshot, remarks: Sequence[types.Diagnostic], *, abilities: EditCapabilities
) -> Iterator[types.CodeAction]:
    """The edit that settles a remark on the plan, if the remark is still in its place."""
    from ralph_ls.core.plan.lint.quick_fixes import quick_fix_edit
    from ralph_ls.core.plan.lint.remarks import CheckCode
    from ralph_ls.core.views.document.quick_fixes import check_remarks

    codes = {code.value for code in CheckCode}
    candidates = [one for one in remarks if one.source == SOURCE and str(one.code) in codes]
    if not candidates:
        return
    columns = sight.columns()
    for remark in check_remarks(sight.seen):
        place = remark.place
        where = columns.range(place.line, place.start, place.end)
        settled = [
            one for one in candidates if one.code == remark.code.value and one.range == where
        ]
        edit = quick_fix_edit(remark, sight.seen.text) if settled else None
        if edit is not None:
            changed = types.TextEdit(
                range=columns.between(edit.start, edit.end), new_text=edit.new_text
            )
            yield types.CodeAction(
                title=edit.title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=settled,
                edit=_edit(sight, [changed], abilities=abilities),
            )


def _merges(
    sight: DocumentSnapshot, remarks: Sequence[types.Diagnostic], *, abilities: EditCapabilities
) -> Iterator[types.CodeAction]:
    """The document with what was changed on the disk, as the least edits."""
    from ralph_ls.core.views.document.quick_fixes import EDIT_CONFLICT_CODE, MERGE_TITLE
    from ralph_ls.editor.documents.workspace_edits import line_edits

    settled = [one for one in remarks if one.source == SOURCE and one.code == EDIT_CONFLICT_CODE]
    if not settled or sight.conflict is None or sight.common is None:
        return
    text = sight.seen.text
    merged = sight.common.offer(text, sight.conflict, sight.seen.kind)
    n_conflicts = len(merged.conflicts)
    shown = f" ({count_of(n_conflicts, 'conflict')}, shown with both sides)" if n_conflicts else ""
    yield types.CodeAction(
        title=f"{MERGE_TITLE}{shown}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=settled,
        is_preferred=True,
        edit=_edit(sight, line_edits(text, merged.text, sight.encoding), abilities=abilities),
    )


def _accept_edits(
    sight: DocumentSnapshot, remarks: Sequence[types.Diagnostic], *, abilities: EditCapabilities
) -> Iterator[types.CodeAction]:
    """Undoes what the guard restored; if that is impossible, the reason."""
    from ralph_ls.core.views.document.quick_fixes import (
        REVERTED_CODE,
        all_reverted_edits,
        keep_reverted_edit,
        keep_title,
    )
    from ralph_ls.editor.documents.snapshot import text_of

    candidates = [one for one in remarks if one.source == SOURCE and one.code == REVERTED_CODE]
    if not candidates:
        return
    columns, text = sight.columns(), sight.seen.text
    for one in all_reverted_edits(sight.seen):
        where = columns.range(one.span.line, one.span.start, one.span.end)
        settled = [remark for remark in candidates if remark.range == where]
        if not settled:
            continue
        agents = None
        if sight.run_files is not None and one.event.kept is not None:
            agents = text_of(sight.run_files.folder / one.event.kept)
        kept = keep_reverted_edit(one, text, agents)
        if kept.refusal and not abilities.disabled:
            continue
        yield _accepted_edit(sight, keep_title(one), settled, kept, abilities=abilities)


def _reopens(
    sight: DocumentSnapshot, remarks: Sequence[types.Diagnostic], *, abilities: EditCapabilities
) -> Iterator[types.CodeAction]:
    """A task that was taken as finished under other words, written into the plan again."""
    from ralph_ls.core.views.document.quick_fixes import (
        REOPEN_CODE,
        removed_tasks,
        reopen_removed_task,
        reopen_title,
    )

    settled = [one for one in remarks if one.source == SOURCE and one.code == REOPEN_CODE]
    if not settled:
        return
    for removed in removed_tasks(sight.seen):
        kept = reopen_removed_task(removed, sight.seen.text)
        if not kept.refusal or abilities.disabled:
            yield _accepted_edit(sight, reopen_title(removed), settled, kept, abilities=abilities)


def _accepted_edit(
    sight: DocumentSnapshot,
    title: str,
    settled: list[types.Diagnostic],
    kept: AcceptedEdit,
    *,
    abilities: EditCapabilities,
) -> types.CodeAction:
    """The edit that makes the plan so; where that cannot be, the reason."""
    from ralph_ls.editor.documents.workspace_edits import line_edits

    action = types.CodeAction(title=title, kind=types.CodeActionKind.QuickFix, diagnostics=settled)
    if kept.refusal:
        action.disabled = types.CodeActionDisabled(reason=kept.refusal)
    else:
        edits = line_edits(sight.seen.text, kept.text, sight.encoding)
        action.edit = _edit(sight, edits, abilities=abilities)
    return action


def _edit(
    sight: DocumentSnapshot, edits: list[types.TextEdit], *, abilities: EditCapabilities
) -> types.WorkspaceEdit:
    target = EditTarget(uri=sight.uri, version=sight.version)
    return workspace_edit([(target, edits)], abilities)


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
