"""Semantic tokens: the state of each task in the colours of the editor's theme.

Standard token types, so that every theme has a colour for them; the modifiers name the state for
users who want another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.lsp.conversion import display_capabilities
from ralph_ls.editor.push.refresh import RefreshTracker

if TYPE_CHECKING:
    from ralph_ls.editor.registration import FeatureContext

TYPES = (
    types.SemanticTokenTypes.Comment,
    types.SemanticTokenTypes.Function,
    types.SemanticTokenTypes.Keyword,
    types.SemanticTokenTypes.Macro,
)
MODIFIERS = (
    types.SemanticTokenModifiers.Deprecated.value,
    "done",
    "skipped",
    "current",
    "blocked",
    "asks",
)
LOOKS = {
    "done": (types.SemanticTokenTypes.Comment, ("deprecated", "done")),
    "skipped": (types.SemanticTokenTypes.Comment, ("deprecated", "skipped")),
    "current": (types.SemanticTokenTypes.Function, ("current",)),
    "blocked": (types.SemanticTokenTypes.Keyword, ("blocked",)),
    "asks": (types.SemanticTokenTypes.Macro, ("asks",)),
}
"""Type and modifiers by how a task looks: themes strike through what is deprecated."""

LEGEND = types.SemanticTokensLegend(
    token_types=[one.value for one in TYPES], token_modifiers=list(MODIFIERS)
)


def register(context: FeatureContext) -> None:
    """Answer requests for tokens, and notify the client when they change."""
    server, workspaces, documents = context.server, context.workspaces, context.documents

    async def make(uri: str) -> list[int] | None:
        place = workspaces.of_document(uri)
        if place is None:
            return None
        view, kind = place
        return await documents.read(view, kind, tokens_of, uri=uri)

    kept = RefreshTracker(
        workspaces,
        documents,
        make=make,
        refresh=lambda: server.workspace_semantic_tokens_refresh_async(None),
        can_refresh=lambda: display_capabilities(server.client_capabilities).token_refresh,
        what="tokens",
    )

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)
    async def tokens(params: types.SemanticTokensParams) -> types.SemanticTokens | None:
        found = await kept.answer(params.text_document.uri)
        return None if found is None else types.SemanticTokens(data=list(found))


def tokens_of(sight: DocumentSnapshot) -> list[int]:
    """All tokens of one file as LSP has them, each relative to the one before; from any thread."""
    from ralph_ls.core.views.document.task_tokens import task_tokens

    columns, data = sight.columns(), []
    line = start = 0
    for one in task_tokens(sight.seen):
        where = columns.range(one.span.line, one.span.start, one.span.end)
        below = where.start.line - line
        after = where.start.character - (0 if below else start)
        kind, modifiers = LOOKS[one.look]
        bits = sum(1 << MODIFIERS.index(name) for name in modifiers)
        length = where.end.character - where.start.character
        data += [below, after, length, TYPES.index(kind), bits]
        line, start = where.start.line, where.start.character
    return data
