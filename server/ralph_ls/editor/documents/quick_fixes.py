"""Quick fixes: edits that settle a remark on a file of the loop.

Whether an edit is due, and how a plan is written, is decided in the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.core.plurals import count_of
from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.documents.workspace_edits import EditCapabilities, EditTarget, workspace_edit
from ralph_ls.editor.lsp.conversion import SOURCE

if TYPE_CHECKING:
    from ralph_ls.core.plan.diff.guard_overrides import AcceptedEdit
    from ralph_ls.core.views.document.quick_fixes import RevertedEdit


def quick_fixes(
    sight: DocumentSnapshot, remarks: Sequence[types.Diagnostic], *, abilities: EditCapabilities
) -> Iterator[types.CodeAction]:
    """Every edit that settles one of ``remarks``."""
    yield from _repairs(sight, remarks, abilities=abilities)
    yield from _merges(sight, remarks, abilities=abilities)
    yield from _accept_edits(sight, remarks, abilities=abilities)
    yield from _reopens(sight, remarks, abilities=abilities)


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

    candidates = [one for one in remarks if one.source == SOURCE and one.code == REVERTED_CODE]
    if not candidates:
        return
    columns, text = sight.columns(), sight.seen.text
    for one in all_reverted_edits(sight.seen):
        where = columns.range(one.span.line, one.span.start, one.span.end)
        settled = [remark for remark in candidates if remark.range == where]
        if not settled:
            continue
        kept = keep_reverted_edit(one, text, _agents_text(sight, one))
        if not kept.refusal or abilities.disabled:
            yield _accepted_edit(sight, keep_title(one), settled, kept, abilities=abilities)


def _agents_text(sight: DocumentSnapshot, one: RevertedEdit) -> str | None:
    """The whole file that the agent left; None where it was not kept."""
    from ralph_ls.editor.documents.snapshot import text_of

    if sight.run_files is None or one.event.kept is None:
        return None
    return text_of(sight.run_files.folder / one.event.kept)


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
