"""Links in plans and specifications: to files of the work tree, and to the tasks that are meant.

A link leads to a file that is there, in the work tree and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from lsprotocol import types

from ralph_ls.editor.documents.project_documents import ProjectContext, ProjectDocuments

if TYPE_CHECKING:
    from ralph_ls.editor.registration import FeatureContext


def register(context: FeatureContext) -> None:
    """Answer requests for links."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    pages = ProjectDocuments(server, workspaces, documents)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def document_links(params: types.DocumentLinkParams) -> list[types.DocumentLink] | None:
        document = server.client_capabilities.text_document
        able = document.document_link if document else None
        tooltips = bool(able and able.tooltip_support)

        def compute(around: ProjectContext) -> list[types.DocumentLink]:
            return links_of(around, tooltips=tooltips)

        return await pages.read_around(params.text_document.uri, compute)


def links_of(around: ProjectContext, *, tooltips: bool) -> list[types.DocumentLink]:
    """All links of a page that lead somewhere, by their place."""
    found = [*_links_to_files(around), *_links_to_tasks(around, tooltips=tooltips)]
    found.sort(key=lambda link: (link.range.start.line, link.range.start.character))
    return found


def _links_to_files(around: ProjectContext) -> Iterator[types.DocumentLink]:
    from ralph_ls.core.views.document.structure import file_links

    columns = around.here.columns()
    known: dict[str, str | None] = {}
    for one in file_links(around.here.page):
        for name in one.names:
            if name not in known:
                known[name] = around.find_file(name)
        target = next((uri for name in one.names if (uri := known[name]) is not None), None)
        if target is not None:
            place = f"#{quote(one.fragment)}" if one.fragment else ""
            where = columns.range(one.line, one.start, one.end)
            yield types.DocumentLink(range=where, target=f"{target}{place}")


def _links_to_tasks(around: ProjectContext, *, tooltips: bool) -> Iterator[types.DocumentLink]:
    from ralph_ls.core.views.document.structure import task_links
    from ralph_ls.core.views.document.task_ids import known_task_ids

    plan, columns = around.plan, around.here.columns()
    if plan is None:
        return
    for link in task_links(around.here.page, known_task_ids(plan.page.plan)):
        yield types.DocumentLink(
            range=columns.range(link.line, link.start, link.end),
            # Editors take this for a line, from 1.
            target=f"{plan.uri}#L{link.task_line + 1}",
            tooltip=link.title if tooltips else None,
        )
