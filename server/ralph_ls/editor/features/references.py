"""Where a task is meant, and where it stands: by its id, in every file that people write.

It must never know how an id is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor import task_ids
from ralph_ls.editor.documents import Documents
from ralph_ls.editor.pages import Around, Pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from ralph_ls.editor.mended import MendedServer
    from ralph_ls.editor.workspaces import Workspaces
    from ralph_ls.protocol.lsp.options import EditorOptions


def register(
    server: MendedServer,
    workspaces: Workspaces,
    documents: Documents,
    options: Callable[[], EditorOptions],  # noqa: ARG001 -- every feature is registered alike
) -> None:
    """Answer requests for the task that an id means, and for all places of an id."""
    pages = Pages(server, workspaces, documents)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> types.Location | None:
        def compute(around: Around) -> types.Location | None:
            return show_task(around, params.position)

        return await pages.look_around(params.text_document.uri, compute)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location] | None:
        def compute(around: Around) -> list[types.Location] | None:
            with_own = params.context.include_declaration
            return show_uses(around, params.position, with_own=with_own)

        return await pages.look_around(params.text_document.uri, compute)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlights(
        params: types.DocumentHighlightParams,
    ) -> list[types.DocumentHighlight] | None:
        def compute(around: Around) -> list[types.DocumentHighlight] | None:
            return show_here(around, params.position)

        return await pages.look_around(params.text_document.uri, compute)


def show_task(around: Around, position: types.Position) -> types.Location | None:
    """The words of the task that the id at a cursor means, in the plan."""
    from ralph_ls.core.plan.lint.remarks import title_span

    asked = task_ids.find(around, position)
    if asked is None:
        return None
    task = asked.known.tasks[asked.place.use.id]
    for shown in (around.plan, around.progress):
        if shown is not None and task in shown.page.plan.tasks:
            words = title_span(task, shown.page.text)
            where = shown.columns().range(words.line, words.start, words.end)
            return types.Location(uri=shown.uri, range=where)
    return None


def show_uses(
    around: Around, position: types.Position, *, with_own: bool
) -> list[types.Location] | None:
    """Every place of the id at a cursor; with the task's own, if that is wanted."""
    asked = task_ids.find(around, position)
    if asked is None:
        return None
    found = task_ids.everywhere(around, asked)
    return [place.location for place in found if with_own or not place.use.is_own]


def show_here(around: Around, position: types.Position) -> list[types.DocumentHighlight] | None:
    """The places of the id at a cursor in the page that is looked at."""
    asked = task_ids.find(around, position)
    if asked is None:
        return None
    own, meant = types.DocumentHighlightKind.Write, types.DocumentHighlightKind.Read
    return [
        types.DocumentHighlight(range=place.range, kind=own if place.use.is_own else meant)
        for place in task_ids.in_page(around.here, asked)
    ]
