"""Hover: the text for the line under the pointer, with links (docs/rules.md#diagnostics)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.lsp.conversion import display_capabilities, find_target, to_link, to_plain_text

if TYPE_CHECKING:
    from ralph_ls.editor.registration import FeatureContext


def register(context: FeatureContext) -> None:
    """Answer requests for a hover."""
    server, workspaces, documents = context.server, context.workspaces, context.documents

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri, line = params.text_document.uri, params.position.line
        await workspaces.ready()
        place = workspaces.of_document(uri)
        if place is None:
            return None
        view, kind = place
        markdown = display_capabilities(server.client_capabilities).markdown

        def compute(sight: DocumentSnapshot) -> types.Hover | None:
            return hover_at(sight, line, markdown=markdown)

        return await documents.read(view, kind, compute, uri=uri)


def hover_at(sight: DocumentSnapshot, line: int, *, markdown: bool) -> types.Hover | None:
    """The hover of a line (from 0); from any thread."""
    from ralph_ls.core.views.document.hover import hover

    text = hover(sight.seen, line)
    if text is None:
        return None
    if markdown:
        kind = types.MarkupKind.Markdown
        text = "\n\n".join([text, *_links(sight, line)])
    else:
        kind = types.MarkupKind.PlainText
        text = to_plain_text(text)
    return types.Hover(contents=types.MarkupContent(kind=kind, value=text))


def _links(sight: DocumentSnapshot, line: int) -> list[str]:
    """One line with links to the causes of what is shown there."""
    from ralph_ls.core.views.document.diagnostics import diagnostics

    told = [remark.link for remark in diagnostics(sight.seen) if remark.line == line]
    tried = _last_attempt(sight, line)
    wanted = dict.fromkeys([*told, *tried])
    targets = (find_target(link, sight.root, sight.run_files) for link in wanted)
    links = [to_link(target) for target in targets if target is not None]
    return [" · ".join(links)] if links else []


def _last_attempt(sight: DocumentSnapshot, line: int) -> list[str]:
    from ralph_ls.core.views.model.history import start_link

    task, history = sight.seen.plan.at_line(line), sight.seen.history
    if task is None:
        return []
    tried = history.attempts.get(task.id, ())
    done = history.completions.get(task.id)
    start = done.start if done is not None else max(tried, default=None)
    return [] if start is None else [start_link(history, start)]
