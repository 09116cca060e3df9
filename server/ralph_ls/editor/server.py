"""The language server: the client's options, the handshake, the requests and the features.

Nothing heavy is imported before ``initialize`` is answered, since an editor waits for that
(docs/rules.md#speed): a handler imports what it needs when it is first called. Options that make no
sense are logged and ignored one by one, so that one wrong setting never takes away another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ralph_ls import __version__
from ralph_ls.editor import connected
from ralph_ls.editor.documents.loop_documents import DocumentEvent, LoopDocuments
from ralph_ls.editor.features import (
    code_actions,
    completions,
    hover,
    issues,
    lenses,
    links,
    outline,
    progress,
    saves,
    semantic_tokens,
    task_ids,
)
from ralph_ls.editor.lsp.language_server import RalphLanguageServer
from ralph_ls.editor.push import diagnostics
from ralph_ls.editor.registration import FeatureContext
from ralph_ls.editor.requests import commands
from ralph_ls.editor.worktree.workspaces import Workspaces
from ralph_ls.protocol.version import SCHEMA_VERSION

if TYPE_CHECKING:
    from ralph_ls.protocol.lsp.options import EditorOptions

logger = logging.getLogger(__name__)

SECTION = "ralph"
"""Under which ``workspace/didChangeConfiguration`` carries the options."""

SETTINGS_PATIENCE = 10.0
"""Seconds that a client gets to send its settings."""

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
"""As in ``protocol.options``, whose models are imported only after ``initialize``."""


class ClientSettings:
    """The options as the client last sent them; parsed when they are first needed."""

    def __init__(self, *, read_only: bool = False) -> None:
        """``read_only`` holds whatever the client sends: it is a flag of the process."""
        self._read_only = read_only
        self._sent: dict[str, Any] = {}
        self._options: EditorOptions | None = None

    @property
    def has_prefix(self) -> bool:
        """Whether the client registers the commands, so that the server does not."""
        prefix = self._sent.get("commandPrefix")
        return isinstance(prefix, str) and _PREFIX.fullmatch(prefix) is not None

    def begin(self, sent: object) -> None:
        """``initializationOptions``."""
        self._sent = dict(sent) if isinstance(sent, Mapping) else {}
        self._options = None

    def change(self, settings: object) -> bool:
        """``didChangeConfiguration``; whether anything differs. The prefix stays what it was."""
        section = settings.get(SECTION) if isinstance(settings, Mapping) else None
        if not isinstance(section, Mapping):
            return False
        fixed = {"commandPrefix": self._sent.get("commandPrefix")}
        before = self.options()
        self._sent = {**self._sent, **section, **fixed}
        self._options = None
        return self.options() != before

    def options(self) -> EditorOptions:
        """All of them, with the defaults for what was not sent."""
        if self._options is None:
            sent = {**self._sent, "readOnly": True} if self._read_only else self._sent
            self._options = _read_options(sent)
        return self._options


def _read_options(sent: Mapping[str, Any]) -> EditorOptions:
    from pydantic import ValidationError

    from ralph_ls.protocol.lsp.options import EditorOptions

    wanted = {key: value for key, value in sent.items() if value is not None}
    while True:
        try:
            return EditorOptions.model_validate(wanted, by_alias=True, by_name=False)
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                key = str(problem["loc"][0])
                logger.warning("Ignored the option %s: %s", key, problem["msg"])
                wanted.pop(key, None)


if TYPE_CHECKING:
    from ralph_ls.editor.push.subscriptions import Subscriptions
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
    diagnostics.register,
    lenses.register_lenses,
    lenses.register_hints,
    semantic_tokens.register,
    hover.register,
    progress.register,
    task_ids.register_rename,
    code_actions.register,
    saves.register,
    issues.register,
    outline.register_symbols,
    outline.register_folds,
    outline.register_selections,
    links.register,
    completions.register,
    completions.register_continuation,
    task_ids.register_references,
)


def make_server(*, now: Callable[[], datetime], read_only: bool = False) -> RalphLanguageServer:
    """A server with everything registered; ``now`` returns the present in UTC.

    With ``read_only`` nothing is ever started or changed, whatever the client's options say.
    """
    server = RalphLanguageServer(NAME, __version__)
    server.protocol.experimental = {"ralph": {"schema": SCHEMA_VERSION}}
    documents = LoopDocuments(server)
    workspaces = Workspaces(
        environment=dict(os.environ),
        now=now,
        prepare=_import_the_rest,
        documents=documents.open_uris,
    )

    def open_its_work_tree(uri: str, edit: DocumentEvent) -> None:
        if edit is DocumentEvent.OPENED:
            workspaces.of_document(uri)

    # Before any feature looks at the document.
    documents.on_edit(open_its_work_tree)
    desk = _ServerContext(server, workspaces, documents, ClientSettings(read_only=read_only))
    workspaces.options = desk.settings.options
    _register_lifecycle(desk)
    _register_orders(desk)
    _register_task_requests(desk)
    _register_subscriptions(desk)
    _register_history(desk)
    _register_setup(desk)
    context = FeatureContext(
        server=server, workspaces=workspaces, documents=documents, options=desk.settings.options
    )
    for register in FEATURES:
        register(context)
    return server


class _ServerContext:
    """What the handlers share."""

    def __init__(
        self,
        server: RalphLanguageServer,
        workspaces: Workspaces,
        documents: LoopDocuments,
        settings: ClientSettings,
    ) -> None:
        self.server = server
        self.workspaces = workspaces
        self.documents = documents
        self.settings = settings
        self.client: types.ClientInfo | None = None
        self._subscriptions: Subscriptions | None = None

    @property
    def subscriptions(self) -> Subscriptions:
        """Made when it is first needed: it needs much that is imported late."""
        if self._subscriptions is None:
            from ralph_ls.editor.push.subscriptions import Subscriptions

            self._subscriptions = Subscriptions(self.server, self.workspaces, self.documents)
        return self._subscriptions

    async def pull_settings(self) -> None:
        """Ask for the settings where the client has them; one with a prefix sends its own."""
        able = self.server.client_capabilities.workspace
        if able is None or not able.configuration or self.settings.has_prefix:
            return
        asked = types.ConfigurationParams(items=[types.ConfigurationItem(section=SECTION)])
        try:
            async with asyncio.timeout(SETTINGS_PATIENCE):
                found = await self.server.workspace_configuration_async(asked)
        except (JsonRpcException, TimeoutError) as error:
            logger.info("The client did not send its settings: %s", error)
            return
        self.take_settings({SECTION: found[0]} if found else None)

    def take_settings(self, sent: object) -> None:
        """Use what the client sent, under its section."""
        if self.settings.change(sent):
            for view in self.workspaces.all():
                self.workspaces.notify_change(view)

    def close(self) -> None:
        """Let go of everything that follows files."""
        if self._subscriptions is not None:
            self._subscriptions.close()
        self.workspaces.close()
        connected.withdraw()


def _register_lifecycle(desk: _ServerContext) -> None:
    server, workspaces, settings = desk.server, desk.workspaces, desk.settings

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        settings.begin(params.initialization_options)
        workspaces.by = connected.client_name(params.client_info)
        desk.client = params.client_info
        workspaces.add_folders(_folders_of(params))
        if not settings.has_prefix:
            commands.register_commands(server, workspaces, desk.documents)

    @server.feature(types.INITIALIZED)
    async def initialized(_params: types.InitializedParams) -> None:
        await workspaces.ready()
        await connected.announce(desk.server, workspaces, desk.client)
        await desk.pull_settings()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        workspaces.remove_folders(folder.uri for folder in params.event.removed)
        workspaces.add_folders(folder.uri for folder in params.event.added)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings_changed(params: types.DidChangeConfigurationParams) -> None:
        if isinstance(params.settings, Mapping) and SECTION in params.settings:
            desk.take_settings(params.settings)
        else:
            await desk.pull_settings()

    @server.feature(types.SHUTDOWN)
    def shutdown(_params: None = None) -> None:
        desk.close()


def _register_orders(desk: _ServerContext) -> None:
    """Requests that start a run, or ask something of one."""
    for name in ("start", "stop", "pause", "resume", "reset", "overrule", "answer", "note"):
        desk.server.feature(f"ralph/{name}")(_order(desk.workspaces, name))


def _order(workspaces: Workspaces, name: str) -> Callable[[Any], Awaitable[ReplyResult]]:
    async def handle(params: Any) -> ReplyResult:
        from ralph_ls.editor.requests import control

        order = getattr(control, name)
        result: ReplyResult = await order(workspaces, params)
        return result

    return handle


def _register_task_requests(desk: _ServerContext) -> None:
    """Requests about one row: a task of the plan, or an iteration."""
    server, workspaces = desk.server, desk.workspaces

    def order(name: str) -> Callable[[Any], Awaitable[ReplyResult]]:
        async def handle(params: Any) -> ReplyResult:
            from ralph_ls.editor.requests import tasks

            here = tasks.TaskRequestContext(
                server=server, workspaces=workspaces, documents=desk.documents
            )
            result: ReplyResult = await getattr(tasks, tasks.ORDERS[name])(here, params)
            return result

        return handle

    for name in ("skip", "resetTask", "editTask"):
        server.feature(f"ralph/{name}")(order(name))

    @server.feature("ralph/changes")
    async def changes_of(params: ChangesParams) -> ChangesResult:
        from ralph_ls.editor.requests import control

        return await control.iteration_changes(workspaces, params)

    @server.feature("ralph/fileAt")
    async def file_at(params: FileAtParams) -> FileAtResult:
        from ralph_ls.editor.requests import control

        return await control.file_at_commit(workspaces, params)

    @server.feature("ralph/rollback")
    async def rollback(params: RollbackParams) -> RollbackResult:
        from ralph_ls.editor.requests import control

        return await control.rollback(workspaces, params)


def _register_subscriptions(desk: _ServerContext) -> None:
    """Requests that only look."""
    server, workspaces = desk.server, desk.workspaces

    @server.feature("ralph/state")
    async def state(params: StateParams) -> StateResult:
        from ralph_ls.editor.push import subscriptions

        return await subscriptions.state(workspaces, desk.documents, params)

    @server.feature("ralph/subscribe")
    async def subscribe(params: SubscribeParams) -> SubscribeResult:
        from ralph_ls.editor.push import subscriptions

        await workspaces.ready()
        return await subscriptions.subscribe(workspaces, desk.subscriptions, params)

    @server.feature("ralph/unsubscribe")
    async def unsubscribe(params: UnsubscribeParams) -> UnsubscribeResult:
        from ralph_ls.editor.push import subscriptions

        await workspaces.ready()
        return await subscriptions.unsubscribe(workspaces, desk.subscriptions, params)


def _register_history(desk: _ServerContext) -> None:
    """Requests about all runs, and verbs that print a text."""
    for name in (
        *("dashboard", "runs", "anywhere", "iterations", "lanes", "inspect", "maintain"),
        *("lessons", "learn", "decideLesson", "resumeFleetTask"),
    ):
        desk.server.feature(f"ralph/{name}")(_history_request(desk.workspaces, name))


def _history_request(workspaces: Workspaces, name: str) -> Callable[[Any], Awaitable[Any]]:
    async def handle(params: Any) -> Any:
        from ralph_ls.editor.requests import history

        return await history.HANDLERS[name](workspaces, params)

    return handle


def _register_setup(desk: _ServerContext) -> None:
    """Requests before a first run."""
    for name in (
        *("setupChoices", "validateSetup", "proposePlan", "setup"),
        *("claims", "allow", "demo", "configure", "plans"),
    ):
        desk.server.feature(f"ralph/{name}")(_setup_request(desk.workspaces, name))


def _setup_request(workspaces: Workspaces, name: str) -> Callable[[Any], Awaitable[Any]]:
    async def handle(params: Any) -> Any:
        from ralph_ls.editor.requests import setup

        return await setup.HANDLERS[name](workspaces, params)

    return handle


def _folders_of(params: types.InitializeParams) -> list[str]:
    """The folders that the client has open; none where it opened a file alone."""
    if params.workspace_folders:
        return [folder.uri for folder in params.workspace_folders]
    if params.root_uri is not None:
        return [params.root_uri]
    return [Path(params.root_path).absolute().as_uri()] if params.root_path else []


def _import_the_rest() -> None:
    """Import what is needed as soon as a work tree is opened, beside the event loop."""
    from ralph_ls.editor.push import subscriptions  # noqa: F401
    from ralph_ls.editor.worktree import follower, scanner  # noqa: F401
