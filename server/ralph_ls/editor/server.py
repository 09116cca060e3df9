"""The language server: its handshake, its requests, and the features that it is put together of.

Nothing heavy is imported before ``initialize`` is answered, since an editor waits for that
(SPEC §13): a handler imports what it needs when it is first called. It must never know what a
feature does.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ralph_ls import __version__
from ralph_ls.editor import commands
from ralph_ls.editor.documents import Documents, Edit
from ralph_ls.editor.features import (
    code_actions,
    completions,
    diagnostics,
    folds,
    hints,
    hover,
    issues,
    lenses,
    links,
    progress,
    references,
    rename,
    saves,
    symbols,
)
from ralph_ls.editor.mended import MendedServer
from ralph_ls.editor.settings import Settings, name_of
from ralph_ls.editor.workspaces import Workspaces
from ralph_ls.protocol.version import SCHEMA_VERSION

if TYPE_CHECKING:
    from ralph_ls.editor.subscriptions import Subscriptions
    from ralph_ls.protocol.lsp.methods import (
        ReplyResult,
        StateParams,
        StateResult,
        SubscribeParams,
        SubscribeResult,
        UnsubscribeParams,
        UnsubscribeResult,
    )
    from ralph_ls.protocol.lsp.row_methods import (
        ChangesParams,
        ChangesResult,
        FileAtParams,
        FileAtResult,
        RollbackParams,
        RollbackResult,
    )

NAME = "ralph-ls"

FEATURES = (
    diagnostics,
    lenses,
    hints,
    hover,
    progress,
    rename,
    code_actions,
    saves,
    issues,
    symbols,
    folds,
    links,
    completions,
    references,
)


def make_server(*, now: Callable[[], datetime], read_only: bool = False) -> MendedServer:
    """A server with everything registered; ``now`` tells the present in UTC.

    With ``read_only`` nothing is ever started or changed, whatever the client's options say.
    """
    server = MendedServer(NAME, __version__)
    server.protocol.experimental = {"ralph": {"schema": SCHEMA_VERSION}}
    documents = Documents(server)
    workspaces = Workspaces(
        environment=dict(os.environ),
        now=now,
        prepare=_import_the_rest,
        documents=documents.open_uris,
    )

    def open_its_work_tree(uri: str, edit: Edit) -> None:
        if edit is Edit.OPENED:
            workspaces.of_document(uri)

    # Before any feature looks at the document.
    documents.on_edit(open_its_work_tree)
    desk = _Desk(server, workspaces, documents, Settings(read_only=read_only))
    workspaces.options = desk.settings.options
    _register_lifecycle(desk)
    _register_orders(desk)
    _register_rows(desk)
    _register_looks(desk)
    _register_setup(desk)
    for feature in FEATURES:
        feature.register(server, workspaces, desk.documents, desk.settings.options)
    return server


class _Desk:
    """What the handlers share."""

    def __init__(
        self,
        server: MendedServer,
        workspaces: Workspaces,
        documents: Documents,
        settings: Settings,
    ) -> None:
        self.server = server
        self.workspaces = workspaces
        self.documents = documents
        self.settings = settings
        self._subscriptions: Subscriptions | None = None

    @property
    def subscriptions(self) -> Subscriptions:
        """Made when it is first needed: it needs much that is imported late."""
        if self._subscriptions is None:
            from ralph_ls.editor.subscriptions import Subscriptions

            self._subscriptions = Subscriptions(self.server, self.workspaces, self.documents)
        return self._subscriptions

    def close(self) -> None:
        """Let go of everything that follows files."""
        if self._subscriptions is not None:
            self._subscriptions.close()
        self.workspaces.close()


def _register_lifecycle(desk: _Desk) -> None:
    server, workspaces, settings = desk.server, desk.workspaces, desk.settings

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        settings.begin(params.initialization_options)
        workspaces.by = name_of(params.client_info)
        workspaces.add_folders(_folders_of(params))
        if not settings.has_prefix:
            commands.register(server, workspaces, desk.documents)

    @server.feature(types.INITIALIZED)
    async def initialized(_params: types.InitializedParams) -> None:
        await workspaces.ready()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        workspaces.remove_folders(folder.uri for folder in params.event.removed)
        workspaces.add_folders(folder.uri for folder in params.event.added)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def settings_changed(params: types.DidChangeConfigurationParams) -> None:
        if settings.change(params.settings):
            for view in workspaces.all():
                workspaces.tell_change(view)

    @server.feature(types.SHUTDOWN)
    def shutdown(_params: None = None) -> None:
        desk.close()


def _register_orders(desk: _Desk) -> None:
    """Requests that start a run, or ask something of one."""
    for name in ("start", "stop", "pause", "resume", "reset", "answer", "note"):
        desk.server.feature(f"ralph/{name}")(_order(desk.workspaces, name))


def _order(workspaces: Workspaces, name: str) -> Callable[[Any], Awaitable[ReplyResult]]:
    async def handle(params: Any) -> ReplyResult:
        from ralph_ls.editor.requests import control

        order = getattr(control, name)
        result: ReplyResult = await order(workspaces, params)
        return result

    return handle


def _register_rows(desk: _Desk) -> None:
    """Requests about one row: a task of the plan, or an iteration."""
    server, workspaces = desk.server, desk.workspaces

    def order(name: str) -> Callable[[Any], Awaitable[ReplyResult]]:
        async def handle(params: Any) -> ReplyResult:
            from ralph_ls.editor.requests import tasks

            here = tasks.Desk(server=server, workspaces=workspaces, documents=desk.documents)
            result: ReplyResult = await getattr(tasks, tasks.ORDERS[name])(here, params)
            return result

        return handle

    for name in ("skip", "resetTask", "editTask"):
        server.feature(f"ralph/{name}")(order(name))

    @server.feature("ralph/changes")
    async def changes_of(params: ChangesParams) -> ChangesResult:
        from ralph_ls.editor.requests import changes

        return await changes.changes(workspaces, params)

    @server.feature("ralph/fileAt")
    async def file_at(params: FileAtParams) -> FileAtResult:
        from ralph_ls.editor.requests import changes

        return await changes.file_at_commit(workspaces, params)

    @server.feature("ralph/rollback")
    async def rollback(params: RollbackParams) -> RollbackResult:
        from ralph_ls.editor.requests import changes

        return await changes.rollback(workspaces, params)


def _register_looks(desk: _Desk) -> None:
    """Requests that only look."""
    server, workspaces = desk.server, desk.workspaces

    @server.feature("ralph/state")
    async def state(params: StateParams) -> StateResult:
        from ralph_ls.editor.requests import looking

        return await looking.state(workspaces, desk.documents, params)

    @server.feature("ralph/subscribe")
    async def subscribe(params: SubscribeParams) -> SubscribeResult:
        from ralph_ls.editor.requests import looking

        await workspaces.ready()
        return await looking.subscribe(workspaces, desk.subscriptions, params)

    @server.feature("ralph/unsubscribe")
    async def unsubscribe(params: UnsubscribeParams) -> UnsubscribeResult:
        from ralph_ls.editor.requests import looking

        await workspaces.ready()
        return await looking.unsubscribe(workspaces, desk.subscriptions, params)


def _register_setup(desk: _Desk) -> None:
    """Requests of a set-up wizard."""
    for name in ("setupChoices", "validateSetup", "proposePlan", "setup"):
        desk.server.feature(f"ralph/{name}")(_setup_request(desk.workspaces, name))


def _setup_request(workspaces: Workspaces, name: str) -> Callable[[Any], Awaitable[Any]]:
    async def handle(params: Any) -> Any:
        from ralph_ls.editor.requests import setting_up

        return await setting_up.HANDLERS[name](workspaces, params)

    return handle


def _folders_of(params: types.InitializeParams) -> list[str]:
    """The folders that the client has open; none where it opened a file alone."""
    if params.workspace_folders:
        return [folder.uri for folder in params.workspace_folders]
    if params.root_uri is not None:
        return [params.root_uri]
    return [Path(params.root_path).absolute().as_uri()] if params.root_path else []


def _import_the_rest() -> None:
    """All that is needed as soon as a work tree is opened: beside the loop, which goes on."""
    from ralph_ls.editor import follow, subscriptions, work_tree  # noqa: F401
    from ralph_ls.editor.requests import control, looking  # noqa: F401
