"""Code lenses on the loop's files: its controls, and how it stands, above the lines they are about.

The client asks for them when it shows a file; when a run changes them it is told to ask again, if
it can be told. It must never know what a lens does: that is the command's that it names.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ralph_ls.editor.convert import abilities_of
from ralph_ls.editor.documents import Documents
from ralph_ls.editor.refreshing import Kept
from ralph_ls.editor.sights import Sight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from ralph_ls.core.views.document.lenses import Lens
    from ralph_ls.editor.mended import MendedServer
    from ralph_ls.editor.picture import Picture
    from ralph_ls.editor.workspaces import Workspaces, WorkspaceView
    from ralph_ls.protocol.lsp.options import EditorOptions

OWN_PREFIX = "ralph"
"""Of the server's own commands."""

MINUTE = 60.0


def register(
    server: MendedServer,
    workspaces: Workspaces,
    documents: Documents,
    options: Callable[[], EditorOptions],
) -> None:
    """Answer requests for lenses, and tell the client when they change."""
    kept = _Lenses(server, workspaces, documents, options).kept

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> Sequence[types.CodeLens] | None:
        return await kept.answer(params.text_document.uri)


class _Lenses:
    """Knows which lenses the client has of each document that it shows."""

    def __init__(
        self,
        server: MendedServer,
        workspaces: Workspaces,
        documents: Documents,
        options: Callable[[], EditorOptions],
    ) -> None:
        self._workspaces = workspaces
        self._documents = documents
        self._options = options
        self._timer: asyncio.TimerHandle | None = None
        self.kept = Kept(
            workspaces,
            documents,
            make=self._make,
            refresh=lambda: server.workspace_code_lens_refresh_async(None),
            can_refresh=lambda: abilities_of(server.client_capabilities).lens_refresh,
            what="lenses",
        )
        self.kept.on_look(self._wait_for_time)

    async def _make(self, uri: str) -> list[types.CodeLens] | None:
        place = self._workspaces.of_document(uri)
        if place is None:
            return None
        options, now = self._options(), self._workspaces.now()
        if not options.lens.enabled:
            return []

        def compute(sight: Sight) -> list[types.CodeLens]:
            return show(sight, options, now)

        view, kind = place
        return await self._documents.look(view, kind, compute, uri=uri)

    def _wait_for_time(self) -> None:
        """Look again when a running time that is shown becomes a minute more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        uris = self.kept.uris()
        shown = {place[0] for uri in uris if (place := self._workspaces.of_document(uri))}
        now = self._workspaces.now()
        waits = [w for view in shown if (w := next_minute(view.picture(), now)) is not None]
        if waits:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(min(waits), self._take_time, shown)

    def _take_time(self, views: set[WorkspaceView]) -> None:
        self._timer = None
        for view in views:
            self.kept.take_change(view)


def next_minute(picture: Picture, now: datetime) -> float | None:
    """Seconds until the running time is a minute more; None while no time runs."""
    from ralph_ls.core.loop.fold import IDLE_PHASES, active_seconds

    state = picture.state
    if state is None or not picture.live or state.phase in IDLE_PHASES:
        return None
    # A little later than that, or the minute may not be full yet.
    return MINUTE - active_seconds(state, now) % MINUTE + 0.05


def show(sight: Sight, options: EditorOptions, now: datetime | None) -> list[types.CodeLens]:
    """All lenses of one file; from any thread."""
    from ralph_ls.core.views.document.answers import answer_lenses
    from ralph_ls.core.views.document.lenses import lenses

    found = lenses(sight.seen, tasks=options.lens.tasks, now=now)
    columns = sight.columns()
    return [
        types.CodeLens(range=columns.range(lens.line, 0, 0), command=_command(lens, sight, options))
        for lens in (*answer_lenses(sight.seen), *found)
    ]


def _command(lens: Lens, sight: Sight, options: EditorOptions) -> types.Command:
    from ralph_ls.protocol.lsp.panel import Verb

    if lens.command is Verb.NONE:
        return types.Command(title=lens.title, command="")
    arguments: dict[str, Any] = {"workspace": sight.workspace, **lens.arguments}
    if sight.further_plan is not None and lens.command in {Verb.START, Verb.RUN_TASK}:
        arguments["plan"] = sight.further_plan
    prefix = options.command_prefix or OWN_PREFIX
    return types.Command(
        title=lens.title, command=f"{prefix}.{lens.command}", arguments=[arguments]
    )
