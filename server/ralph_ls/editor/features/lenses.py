"""Code lenses and inlay hints.

Lenses are a loop's controls and state above the lines they are about; hints are the iteration and
commit behind each task that this run finished.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.lsp.conversion import display_capabilities
from ralph_ls.editor.push.refresh import RefreshTracker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ralph_ls.core.views.document.lenses import Lens
    from ralph_ls.editor.registration import FeatureContext
    from ralph_ls.editor.worktree.snapshot import WorkspaceSnapshot
    from ralph_ls.editor.worktree.workspaces import WorkspaceView
    from ralph_ls.protocol.lsp.options import EditorOptions

OWN_PREFIX = "ralph"
"""Of the server's own commands."""

MINUTE = 60.0


def register_lenses(context: FeatureContext) -> None:
    """Answer requests for lenses, and notify the client when they change."""
    server, kept = context.server, _Lenses(context).kept

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> Sequence[types.CodeLens] | None:
        return await kept.answer(params.text_document.uri)


class _Lenses:
    """Knows which lenses the client has of each document that it shows."""

    def __init__(self, context: FeatureContext) -> None:
        server = context.server
        self._workspaces = context.workspaces
        self._documents = context.documents
        self._options = context.options
        self._timer: asyncio.TimerHandle | None = None
        self.kept = RefreshTracker(
            context.workspaces,
            context.documents,
            make=self._make,
            refresh=lambda: server.workspace_code_lens_refresh_async(None),
            can_refresh=lambda: display_capabilities(server.client_capabilities).lens_refresh,
            what="lenses",
        )
        self.kept.on_scan(self._wait_for_time)

    async def _make(self, uri: str) -> list[types.CodeLens] | None:
        place = self._workspaces.of_document(uri)
        if place is None:
            return None
        options, now = self._options(), self._workspaces.now()
        if not options.lens.enabled:
            return []

        def compute(sight: DocumentSnapshot) -> list[types.CodeLens]:
            return lenses_of(sight, options, now)

        view, kind = place
        return await self._documents.read(view, kind, compute, uri=uri)

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
            self.kept.handle_change(view)


def next_minute(picture: WorkspaceSnapshot, now: datetime) -> float | None:
    """Seconds until the running time is a minute more; None while no time runs."""
    from ralph_ls.core.loop.fold import IDLE_PHASES, active_seconds

    state = picture.state
    if state is None or not picture.live or state.phase in IDLE_PHASES:
        return None
    # A little later than that, or the minute may not be full yet.
    return MINUTE - active_seconds(state, now) % MINUTE + 0.05


def lenses_of(
    sight: DocumentSnapshot, options: EditorOptions, now: datetime | None
) -> list[types.CodeLens]:
    """All lenses of one file; from any thread."""
    from ralph_ls.core.views.document.answers import answer_lenses
    from ralph_ls.core.views.document.lenses import lenses

    found = lenses(sight.seen, tasks=options.lens.tasks, now=now)
    columns = sight.columns()
    return [
        types.CodeLens(range=columns.range(lens.line, 0, 0), command=_command(lens, sight, options))
        for lens in (*answer_lenses(sight.seen), *found)
    ]


def _command(lens: Lens, sight: DocumentSnapshot, options: EditorOptions) -> types.Command:
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


if TYPE_CHECKING:
    from ralph_ls.core.views.document.lenses import Hint
    from ralph_ls.protocol.lsp.options import EditorOptions

OPEN_COMMIT = "openCommit"
"""The command of the client when a hint is clicked (``commandPrefix``)."""


def register_hints(context: FeatureContext) -> None:
    """Answer requests for hints, and notify the client when they change."""
    server, workspaces = context.server, context.workspaces
    documents, options = context.documents, context.options

    async def make(uri: str) -> list[types.InlayHint] | None:
        place = workspaces.of_document(uri)
        if place is None:
            return None
        now = options()
        if not now.inlay_hints.enabled:
            return []
        view, kind = place
        return await documents.read(view, kind, lambda sight: hints_of(sight, now), uri=uri)

    kept = RefreshTracker(
        workspaces,
        documents,
        make=make,
        refresh=lambda: server.workspace_inlay_hint_refresh_async(None),
        can_refresh=lambda: display_capabilities(server.client_capabilities).hint_refresh,
        what="hints",
    )

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        found = await kept.answer(params.text_document.uri)
        return None if found is None else [hint for hint in found if _lies_in(hint, params.range)]


def hints_of(sight: DocumentSnapshot, options: EditorOptions) -> list[types.InlayHint]:
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
    hint: Hint, sight: DocumentSnapshot, options: EditorOptions
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
