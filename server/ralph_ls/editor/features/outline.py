"""Document symbols, folds and selections: the sections and tasks of plans and specifications.

What is done is struck through where a client can show that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.documents.project_documents import ProjectDocument, ProjectDocuments
from ralph_ls.editor.lsp.conversion import PositionMapper

if TYPE_CHECKING:
    from ralph_ls.core.views.document.structure import Symbol
    from ralph_ls.editor.registration import FeatureContext

MOST = 500
"""Tasks that are found at once in all plans."""

SYMBOL_KINDS = {"section": types.SymbolKind.Namespace, "task": types.SymbolKind.Event}
"""LSP has none for a task; many clients show the name of the kind beside each symbol."""

Answer = list[types.DocumentSymbol] | list[types.SymbolInformation]


def register_symbols(context: FeatureContext) -> None:
    """Answer requests for symbols."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    pages = ProjectDocuments(server, workspaces, documents)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbols(params: types.DocumentSymbolParams) -> Answer | None:
        able = _ability(server.client_capabilities)
        nested = bool(able and able.hierarchical_document_symbol_support)
        struck = bool(able and able.tag_support)

        def compute(shown: ProjectDocument) -> Answer:
            return symbols_of(shown, nested=nested, struck=struck)

        return await pages.read(params.text_document.uri, compute)

    @server.feature(types.WORKSPACE_SYMBOL)
    async def workspace_symbols(
        params: types.WorkspaceSymbolParams,
    ) -> list[types.SymbolInformation]:
        def compute(shown: ProjectDocument) -> list[types.SymbolInformation]:
            return find_tasks(shown, params.query)

        found = await pages.read_plans(compute)
        return [one for of_plan in found for one in of_plan][:MOST]


def symbols_of(shown: ProjectDocument, *, nested: bool, struck: bool) -> Answer:
    """All symbols of a page; in a flat list for a client that knows no other."""
    from ralph_ls.core.views.document.structure import symbols

    found, columns = symbols(shown.page), shown.columns()
    if nested:
        return [_symbol(one, columns, struck=struck) for one in found]
    return list(_flat(found, shown.uri, columns, None))


def find_tasks(shown: ProjectDocument, query: str) -> list[types.SymbolInformation]:
    """The tasks whose id or title holds all words of the query, in any case."""
    from ralph_ls.core.views.document.structure import symbols

    words = query.casefold().split()
    return [
        one
        for one in _flat(symbols(shown.page), shown.uri, shown.columns(), None)
        if one.kind == SYMBOL_KINDS["task"] and all(word in one.name.casefold() for word in words)
    ][:MOST]


def _symbol(one: Symbol, columns: PositionMapper, *, struck: bool) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name=one.name,
        detail=one.detail or None,
        kind=SYMBOL_KINDS[one.kind],
        tags=[types.SymbolTag.Deprecated] if struck and one.settled else None,
        range=_range(one, columns),
        selection_range=columns.range(one.words_line, one.start, one.end),
        children=[_symbol(inner, columns, struck=struck) for inner in one.children],
    )


def _flat(
    found: Sequence[Symbol], uri: str, columns: PositionMapper, around: str | None
) -> Iterator[types.SymbolInformation]:
    for one in found:
        yield types.SymbolInformation(
            name=one.name,
            kind=SYMBOL_KINDS[one.kind],
            location=types.Location(uri=uri, range=_range(one, columns)),
            container_name=_place_words(one, around),
        )
        yield from _flat(one.children, uri, columns, one.name)


def _place_words(one: Symbol, around: str | None) -> str | None:
    """The section of a symbol in a list, and the state of a task, which is nowhere else there."""
    if one.kind != "task":
        return around
    return " · ".join(filter(None, (around, one.detail)))


def _range(one: Symbol, columns: PositionMapper) -> types.Range:
    start = types.Position(line=one.line, character=0)
    return types.Range(start=start, end=columns.whole_line(one.end_line).end)


def _ability(client: types.ClientCapabilities) -> types.DocumentSymbolClientCapabilities | None:
    return client.text_document.document_symbol if client.text_document else None


if TYPE_CHECKING:
    pass

FOLD_KINDS = {
    "comment": types.FoldingRangeKind.Comment,
    "frontMatter": types.FoldingRangeKind.Region,
}
"""What LSP has a word for."""


def register_folds(context: FeatureContext) -> None:
    """Answer requests for folds."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    pages = ProjectDocuments(server, workspaces, documents)

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folding_ranges(params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
        document = server.client_capabilities.text_document
        able = document.folding_range if document else None
        limit = able.range_limit if able else None

        def compute(shown: ProjectDocument) -> list[types.FoldingRange]:
            return folds_of(shown, limit)

        return await pages.read(params.text_document.uri, compute)


def folds_of(shown: ProjectDocument, limit: int | None) -> list[types.FoldingRange]:
    """The folds of a page; where a client takes only so many, it gets the longest."""
    from ralph_ls.core.views.document.structure import folds

    found = folds(shown.page)
    if limit is not None and len(found) > limit:
        longest = sorted(found, key=lambda fold: fold.line - fold.end_line)[:limit]
        found = tuple(sorted(longest, key=lambda fold: (fold.line, -fold.end_line)))
    return [
        types.FoldingRange(
            start_line=one.line, end_line=one.end_line, kind=FOLD_KINDS.get(one.kind)
        )
        for one in found
    ]


def register_selections(context: FeatureContext) -> None:
    """Answer requests for what a growing selection takes."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    pages = ProjectDocuments(server, workspaces, documents)

    @server.feature(types.TEXT_DOCUMENT_SELECTION_RANGE)
    async def selection_ranges(
        params: types.SelectionRangeParams,
    ) -> list[types.SelectionRange] | None:
        def compute(shown: ProjectDocument) -> list[types.SelectionRange]:
            return [selection_of(shown, position) for position in params.positions]

        return await pages.read(params.text_document.uri, compute)


def selection_of(shown: ProjectDocument, position: types.Position) -> types.SelectionRange:
    """The ranges around a position, each in the next; the position itself where there is none."""
    from ralph_ls.core.views.document.structure import selections

    columns, found = shown.columns(), None
    for one in reversed(selections(shown.page, position.line, shown.column(position))):
        start = columns.range(one.line, one.start, one.start).start
        end = columns.range(one.end_line, one.end, one.end).end
        found = types.SelectionRange(range=types.Range(start=start, end=end), parent=found)
    return found or types.SelectionRange(range=types.Range(start=position, end=position))
