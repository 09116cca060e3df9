"""Inlay hints in the plan: behind each task that this run finished, its iteration and its commit.

A client asks for the part that it shows; when a run changes what it would be given it is told to
ask again, if it can be told. It must never know what a hint says, nor how a commit is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ralph_ls.editor.convert import abilities_of
from ralph_ls.editor.documents import Documents
from ralph_ls.editor.refreshing import Kept
from ralph_ls.editor.sights import Sight

if TYPE_CHECKING:
    from collections.abc import Callable

    from ralph_ls.core.views.document.lenses import Hint
    from ralph_ls.editor.mended import MendedServer
    from ralph_ls.editor.workspaces import Workspaces
    from ralph_ls.protocol.lsp.options import EditorOptions

OPEN_COMMIT = "openCommit"
"""What a client with commands of its own does when a hint is clicked (``commandPrefix``)."""


def register(
    server: MendedServer,
    workspaces: Workspaces,
    documents: Documents,
    options: Callable[[], EditorOptions],
) -> None:
    """Answer requests for hints, and tell the client when they change."""

    async def make(uri: str) -> list[types.InlayHint] | None:
        place = workspaces.of_document(uri)
        if place is None:
            return None
        now = options()
        if not now.inlay_hints.enabled:
            return []
        view, kind = place
        return await documents.look(view, kind, lambda sight: show(sight, now), uri=uri)

    kept = Kept(
        workspaces,
        documents,
        make=make,
        refresh=lambda: server.workspace_inlay_hint_refresh_async(None),
        can_refresh=lambda: abilities_of(server.client_capabilities).hint_refresh,
        what="hints",
    )

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        found = await kept.answer(params.text_document.uri)
        return None if found is None else [hint for hint in found if _lies_in(hint, params.range)]


def show(sight: Sight, options: EditorOptions) -> list[types.InlayHint]:
    """All hints of one file; from any thread."""
    from ralph_ls.core.views.document.lenses import hints

    columns = sight.columns()
    return [
        types.InlayHint(
            position=columns.range(hint.line, hint.column, hint.column).start,
            label=_label(hint, sight, options),
            tooltip=hint.tooltip,
            padding_left=True,
        )
        for hint in hints(sight.seen)
    ]


def _label(
    hint: Hint, sight: Sight, options: EditorOptions
) -> str | list[types.InlayHintLabelPart]:
    """Plain text, unless the client has a command for it: no server opens a commit."""
    if options.command_prefix is None or hint.commit is None:
        return hint.text
    arguments: dict[str, Any] = {"workspace": sight.workspace, **hint.arguments}
    command = types.Command(
        title="Open Commit",
        command=f"{options.command_prefix}.{OPEN_COMMIT}",
        arguments=[arguments],
    )
    return [types.InlayHintLabelPart(value=hint.text, command=command)]


def _lies_in(hint: types.InlayHint, part: types.Range) -> bool:
    return part.start <= hint.position <= part.end
