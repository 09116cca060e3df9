"""Quick fixes in documents beside the plan: settings and specifications."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.documents.project_documents import ProjectContext
from ralph_ls.editor.documents.workspace_edits import EditCapabilities, EditTarget, workspace_edit
from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from datetime import date

    from ralph_ls.editor.lsp.conversion import Encoding
    from ralph_ls.editor.lsp.workspace import OpenDocument


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
    from ralph_ls.store.project.old_keys import find_old_keys, with_renamed_keys

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
