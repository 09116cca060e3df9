"""Quick fixes: edits that settle a remark on a file of the loop, its settings or a specification.

Whether an edit is due, and how a plan is written, is decided in the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.core.plurals import count_of
from ralph_ls.editor.documents.loop_documents import SMALL_TEXT
from ralph_ls.editor.documents.project_documents import ProjectContext
from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.documents.workspace_edits import EditCapabilities, EditTarget, workspace_edit
from ralph_ls.editor.lsp.conversion import SOURCE
from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from datetime import date

    from ralph_ls.core.plan.diff.guard_overrides import AcceptedEdit
    from ralph_ls.core.views.document.quick_fixes import RevertedEdit
    from ralph_ls.editor.lsp.conversion import Encoding
    from ralph_ls.editor.lsp.workspace import OpenDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRequest:
    """Lines whose quick fixes a client asks for."""

    first: int
    last: int
    """Inclusive."""
    remarks: Sequence[types.Diagnostic]
    """What the client says is there: a fix names those that it settles, and needs none."""
    is_automatic: bool
    abilities: EditCapabilities

    def holds(self, line: int) -> bool:
        """Whether a line is one of them."""
        return self.first <= line <= self.last

    def settled(self, code: str, where: types.Range | None = None) -> list[types.Diagnostic] | None:
        """The client's diagnostics with this code, and at this place if one is given."""
        found = [
            one
            for one in self.remarks
            if one.source == SOURCE and one.code == code and (where is None or one.range == where)
        ]
        return found or None


def quick_fixes(sight: DocumentSnapshot, asked: FixRequest) -> Iterator[types.CodeAction]:
    """Every edit that settles a remark on one of the lines."""
    yield from _repairs(sight, asked)
    yield from _merges(sight, asked)
    yield from _accept_edits(sight, asked)
    yield from _reopens(sight, asked)


def _repairs(sight: DocumentSnapshot, asked: FixRequest) -> Iterator[types.CodeAction]:
    """The edit that settles a remark of the plan's lint."""
    from ralph_ls.core.plan.lint.quick_fixes import quick_fix_edit
    from ralph_ls.core.views.document.quick_fixes import check_remarks

    if asked.is_automatic and not asked.remarks and len(sight.seen.text) > SMALL_TEXT:
        # A long plan is not checked again whenever the cursor moves.
        return
    columns = sight.columns()
    for remark in check_remarks(sight.seen):
        place = remark.place
        edit = quick_fix_edit(remark, sight.seen.text) if asked.holds(place.line) else None
        if edit is not None:
            where = columns.range(place.line, place.start, place.end)
            changed = types.TextEdit(
                range=columns.between(edit.start, edit.end), new_text=edit.new_text
            )
            yield types.CodeAction(
                title=edit.title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=asked.settled(remark.code.value, where),
                edit=_edit(sight, [changed], asked),
            )


def _merges(sight: DocumentSnapshot, asked: FixRequest) -> Iterator[types.CodeAction]:
    """The document with what was changed on the disk, as the least edits."""
    from ralph_ls.core.views.document.quick_fixes import EDIT_CONFLICT_CODE, MERGE_TITLE
    from ralph_ls.editor.documents.workspace_edits import line_edits

    if not asked.holds(0) or sight.conflict is None or sight.common is None:
        return
    text = sight.seen.text
    merged = sight.common.offer(text, sight.conflict, sight.seen.kind)
    n_conflicts = len(merged.conflicts)
    shown = f" ({count_of(n_conflicts, 'conflict')}, shown with both sides)" if n_conflicts else ""
    yield types.CodeAction(
        title=f"{MERGE_TITLE}{shown}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=asked.settled(EDIT_CONFLICT_CODE),
        is_preferred=True,
        edit=_edit(sight, line_edits(text, merged.text, sight.encoding), asked),
    )


def _accept_edits(sight: DocumentSnapshot, asked: FixRequest) -> Iterator[types.CodeAction]:
    """Undoes what the guard restored; if that is impossible, the reason."""
    from ralph_ls.core.views.document.quick_fixes import (
        REVERTED_CODE,
        all_reverted_edits,
        keep_reverted_edit,
        keep_title,
    )

    columns, text = sight.columns(), sight.seen.text
    for one in all_reverted_edits(sight.seen):
        if asked.holds(one.span.line):
            where = columns.range(one.span.line, one.span.start, one.span.end)
            kept = keep_reverted_edit(one, text, _agents_text(sight, one))
            settled = asked.settled(REVERTED_CODE, where)
            yield from _accepted_edit(sight, keep_title(one), settled, kept, asked)


def _agents_text(sight: DocumentSnapshot, one: RevertedEdit) -> str | None:
    """The whole file that the agent left; None where it was not kept."""
    from ralph_ls.editor.documents.snapshot import text_of

    if sight.run_files is None or one.event.kept is None:
        return None
    return text_of(sight.run_files.folder / one.event.kept)


def _reopens(sight: DocumentSnapshot, asked: FixRequest) -> Iterator[types.CodeAction]:
    """A task that was taken as finished under other words, written into the plan again."""
    from ralph_ls.core.views.document.quick_fixes import (
        REOPEN_CODE,
        renamed_finishes,
        reopen_removed_task,
        reopen_title,
    )

    for one in renamed_finishes(sight.seen):
        is_there = sight.seen.plan.find(one.removed.task.id) is not None
        if asked.holds(one.line) and not is_there:
            kept = reopen_removed_task(one.removed, sight.seen.text)
            settled = asked.settled(REOPEN_CODE)
            yield from _accepted_edit(sight, reopen_title(one.removed), settled, kept, asked)


def _accepted_edit(
    sight: DocumentSnapshot,
    title: str,
    settled: list[types.Diagnostic] | None,
    kept: AcceptedEdit,
    asked: FixRequest,
) -> Iterator[types.CodeAction]:
    """The edit that makes the plan so; where that cannot be, the reason, if the client shows it."""
    from ralph_ls.editor.documents.workspace_edits import line_edits

    action = types.CodeAction(title=title, kind=types.CodeActionKind.QuickFix, diagnostics=settled)
    if not kept.refusal:
        edits = line_edits(sight.seen.text, kept.text, sight.encoding)
        action.edit = _edit(sight, edits, asked)
        yield action
    elif asked.abilities.disabled:
        action.disabled = types.CodeActionDisabled(reason=kept.refusal)
        yield action


def _edit(
    sight: DocumentSnapshot, edits: list[types.TextEdit], asked: FixRequest
) -> types.WorkspaceEdit:
    target = EditTarget(uri=sight.uri, version=sight.version)
    return workspace_edit([(target, edits)], asked.abilities)


# ---------------------------------------------------------------------- settings and specifications


def settings_fixes(
    opened: OpenDocument,
    remarks: Sequence[types.Diagnostic],
    *,
    encoding: Encoding,
    abilities: EditCapabilities,
) -> list[types.CodeAction]:
    """The quick fix of old keys: all of a file are renamed."""
    from ralph_ls.core.views.model.diagnostic import DiagnosticCode
    from ralph_ls.editor.documents.workspace_edits import line_edits
    from ralph_ls.store.project.config_remarks import find_old_keys, with_renamed_keys

    settled = [one for one in remarks if one.code == DiagnosticCode.SETTING_RENAMED]
    if not settled:
        return []
    text = opened.source
    try:
        found, renamed = find_old_keys(text), with_renamed_keys(text)
    except (ValueError, RalphError):
        return []
    names = found[0].new if len(found) == 1 else f"the new keys ({len(found)})"
    target = EditTarget(uri=opened.uri, version=opened.version)
    return [
        types.CodeAction(
            title=f"Rename to {names}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=settled,
            is_preferred=True,
            edit=workspace_edit([(target, line_edits(text, renamed, encoding))], abilities),
        )
    ]


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
