"""What of plans and specifications can be folded away.

It must never know what a fold holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.documents import Documents
from ralph_ls.editor.pages import Pages, Shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from ralph_ls.editor.mended import MendedServer
    from ralph_ls.editor.workspaces import Workspaces
    from ralph_ls.protocol.lsp.options import EditorOptions

KINDS = {
    "comment": types.FoldingRangeKind.Comment,
    "frontMatter": types.FoldingRangeKind.Region,
}
"""What LSP has a word for."""


def register(
    server: MendedServer,
    workspaces: Workspaces,
    documents: Documents,
    options: Callable[[], EditorOptions],  # noqa: ARG001 -- every feature is registered alike
) -> None:
    """Answer requests for folds."""
    pages = Pages(server, workspaces, documents)

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folding_ranges(params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
        document = server.client_capabilities.text_document
        able = document.folding_range if document else None
        limit = able.range_limit if able else None

        def compute(shown: Shown) -> list[types.FoldingRange]:
            return show(shown, limit)

        return await pages.look(params.text_document.uri, compute)


def show(shown: Shown, limit: int | None) -> list[types.FoldingRange]:
    """The folds of a page; where a client takes only so many, it gets the longest."""
    from ralph_ls.core.views.document.structure import folds

    found = folds(shown.page)
    if limit is not None and len(found) > limit:
        longest = sorted(found, key=lambda fold: fold.line - fold.end_line)[:limit]
        found = tuple(sorted(longest, key=lambda fold: (fold.line, -fold.end_line)))
    return [
        types.FoldingRange(start_line=one.line, end_line=one.end_line, kind=KINDS.get(one.kind))
        for one in found
    ]
