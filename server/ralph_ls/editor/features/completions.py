"""Completions in plans and specifications, and checklists that continue while somebody types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.documents.project_documents import (
    ProjectContext,
    ProjectDocument,
    ProjectDocuments,
)

if TYPE_CHECKING:
    from ralph_ls.core.views.document.completions import Completion
    from ralph_ls.editor.lsp.conversion import PositionMapper
    from ralph_ls.editor.registration import FeatureContext

_STEERING = re.compile(r"[\\$}]")
"""What means something in a snippet."""

TRIGGERS = ("[", ":", ",", "/", " ")
"""Characters behind which a client asks by itself."""

KINDS = {
    "box": types.CompletionItemKind.EnumMember,
    "tag": types.CompletionItemKind.Keyword,
    "key": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "task": types.CompletionItemKind.Reference,
    "spec": types.CompletionItemKind.File,
}


def register(context: FeatureContext) -> None:
    """Answer requests for completions."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    pages = ProjectDocuments(server, workspaces, documents)

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=[*TRIGGERS]),
    )
    async def completion(params: types.CompletionParams) -> types.CompletionList | None:
        document = server.client_capabilities.text_document
        able = document.completion.completion_item if document and document.completion else None
        labels = bool(able and able.label_details_support)
        struck = bool(able and able.tag_support)
        snippets = bool(able and able.snippet_support)

        def compute(around: ProjectContext) -> types.CompletionList:
            found = completion_items(around, params.position, labels=labels, struck=struck)
            for item in found.items if snippets else ():
                _make_snippet(item)
            return found

        return await pages.read_around(params.text_document.uri, compute)


def completion_items(
    around: ProjectContext, position: types.Position, *, labels: bool, struck: bool
) -> types.CompletionList:
    """What is offered at a place, in our order."""
    from ralph_ls.core.plan.model import Plan
    from ralph_ls.core.views.document.completions import completions_at

    here, plan = around.here, around.plan
    found = completions_at(
        here.page,
        position.line,
        here.column(position),
        plan=Plan() if plan is None else plan.page.plan,
        specs=around.spec_names(),
    )
    columns = here.columns()
    items = [_item(one, position.line, columns, number) for number, one in enumerate(found.items)]
    for item, one in zip(items, found.items, strict=True):
        if labels and one.kind == "task":
            item.label_details = types.CompletionItemLabelDetails(description=one.detail)
            item.detail = None
        if struck and one.settled:
            item.tags = [types.CompletionItemTag.Deprecated]
    return types.CompletionList(is_incomplete=not found.is_complete, items=items)


def _make_snippet(item: types.CompletionItem) -> None:
    """Have a text with spaces taken whole: Neovim 0.11 takes any other up to the first of them."""
    edit = item.text_edit
    if isinstance(edit, types.TextEdit) and " " in edit.new_text:
        escaped = _STEERING.sub(r"\\\g<0>", edit.new_text)
        item.text_edit = types.TextEdit(range=edit.range, new_text=escaped)
        item.insert_text_format = types.InsertTextFormat.Snippet


def _item(one: Completion, line: int, columns: PositionMapper, number: int) -> types.CompletionItem:
    return types.CompletionItem(
        label=one.label,
        kind=KINDS[one.kind],
        detail=one.detail or None,
        sort_text=f"{number:04}",
        filter_text=one.filter,
        text_edit=types.TextEdit(range=columns.range(line, one.start, one.end), new_text=one.text),
    )


def register_continuation(context: FeatureContext) -> None:
    """Continue a checklist on a new line, where a client formats on type."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    pages = ProjectDocuments(server, workspaces, documents)

    @server.feature(
        types.TEXT_DOCUMENT_ON_TYPE_FORMATTING,
        types.DocumentOnTypeFormattingOptions(first_trigger_character="\n"),
    )
    async def on_type(params: types.DocumentOnTypeFormattingParams) -> list[types.TextEdit] | None:
        def compute(shown: ProjectDocument) -> list[types.TextEdit]:
            return continuation(shown, params.position.line)

        return await pages.read(params.text_document.uri, compute)


def continuation(shown: ProjectDocument, line: int) -> list[types.TextEdit]:
    """The edit that begins the next task on a new line, from 0, or ends the list."""
    from ralph_ls.core.views.document.completions import continued

    edit = continued(shown.page, line)
    if edit is None:
        return []
    where = shown.columns().range(edit.line, edit.start, edit.end)
    return [types.TextEdit(range=where, new_text=edit.text)]
