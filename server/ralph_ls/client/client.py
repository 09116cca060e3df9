"""Typed client of ``ralph-ls``: starts a server, and has every method ``ralph/…`` as a coroutine.

The models are those of the server, ``ralph_ls.protocol``, so a field that does not exist is an
error of the type checker. Plain LSP goes through ``request`` and ``notify``.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from ralph_ls.client.connection import ServerConnection, ServerGone, Writer
from ralph_ls.protocol import lessons as lesson_methods
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.dashboard import Dashboard, DashboardParams
from ralph_ls.protocol.json_output import RunsEverywhere
from ralph_ls.protocol.lsp import methods, row_methods
from ralph_ls.protocol.lsp import setup as setup_methods
from ralph_ls.protocol.lsp.methods import (
    METHODS,
    AnyEvent,
    EventParams,
    MessagesParams,
    OutputParams,
    ReplyResult,
    ViewParams,
)
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.version import SCHEMA_VERSION

Fields = ParamSpec("Fields")
Result = TypeVar("Result", bound=WireModel)


class IncompatibleServer(Exception):
    """The server has another schema version, so its messages may mean something else."""


@dataclass(frozen=True, slots=True)
class LspNotification:
    """A notification of plain LSP, such as ``textDocument/publishDiagnostics``."""

    method: str
    params: Any


Notification = EventParams | OutputParams | MessagesParams | ViewParams | LspNotification


class Call(Generic[Fields, Result]):
    """A request of ours as a method of the client, with the fields of its params as arguments."""

    def __init__(
        self, method: str, params: Callable[Fields, WireModel], result: type[Result]
    ) -> None:
        self.method = method
        self.params = params
        self.result = result

    @overload
    def __get__(self, client: None, owner: type) -> Call[Fields, Result]: ...

    @overload
    def __get__(
        self, client: Client, owner: type
    ) -> Callable[Fields, Coroutine[Any, Any, Result]]: ...

    def __get__(self, client: Client | None, owner: type) -> Any:
        if client is None:
            return self

        async def call(*args: Fields.args, **fields: Fields.kwargs) -> Result:
            asked = self.params(*args, **fields)
            # An older server refuses fields that it does not know, so only what was given is sent.
            sent = asked.model_dump(mode="json", by_alias=True, exclude_unset=True)
            return self.result.model_validate(await client.request(self.method, sent))

        return call


class Client(ServerConnection):
    """One server and its work trees; see ``ralph_ls.client`` for a whole program."""

    start = Call(methods.START, methods.StartParams, ReplyResult)
    stop = Call(methods.STOP, methods.StopParams, ReplyResult)
    pause = Call(methods.PAUSE, methods.PauseParams, ReplyResult)
    resume = Call(methods.RESUME, methods.ResumeParams, ReplyResult)
    reset = Call(methods.RESET, methods.ResetParams, ReplyResult)
    overrule = Call(methods.OVERRULE, methods.OverruleParams, ReplyResult)
    answer = Call(methods.ANSWER, methods.AnswerParams, ReplyResult)
    resume_fleet_task = Call(
        methods.RESUME_FLEET_TASK, row_methods.ResumeFleetTaskParams, row_methods.TextResult
    )
    note = Call(methods.NOTE, methods.NoteParams, ReplyResult)
    skip = Call(methods.SKIP, row_methods.SkipParams, ReplyResult)
    reset_task = Call(methods.RESET_TASK, row_methods.ResetTaskParams, ReplyResult)
    edit_task = Call(methods.EDIT_TASK, row_methods.EditTaskParams, ReplyResult)
    changes = Call(methods.CHANGES, row_methods.ChangesParams, row_methods.ChangesResult)
    file_at = Call(methods.FILE_AT, row_methods.FileAtParams, row_methods.FileAtResult)
    rollback = Call(methods.ROLLBACK, row_methods.RollbackParams, row_methods.RollbackResult)
    state = Call(methods.STATE, methods.StateParams, methods.StateResult)
    subscribe = Call(methods.SUBSCRIBE, methods.SubscribeParams, methods.SubscribeResult)
    unsubscribe = Call(methods.UNSUBSCRIBE, methods.UnsubscribeParams, methods.UnsubscribeResult)
    dashboard = Call(methods.DASHBOARD, DashboardParams, Dashboard)
    runs = Call(methods.RUNS, row_methods.RunsParams, row_methods.RunsResult)
    anywhere = Call(methods.ANYWHERE, row_methods.AnywhereParams, RunsEverywhere)
    lanes = Call(methods.LANES, row_methods.LanesParams, row_methods.LanesResult)
    iterations = Call(
        methods.ITERATIONS, row_methods.IterationsParams, row_methods.IterationsResult
    )
    inspect = Call(methods.INSPECT, row_methods.InspectParams, row_methods.TextResult)
    maintain = Call(methods.MAINTAIN, row_methods.MaintainParams, row_methods.MaintainResult)
    lessons = Call(methods.LESSONS, lesson_methods.LessonsParams, lesson_methods.LessonList)
    learn = Call(methods.LEARN, lesson_methods.LearnParams, lesson_methods.Learned)
    decide_lesson = Call(
        methods.DECIDE_LESSON, lesson_methods.DecideLessonParams, lesson_methods.LessonDecided
    )
    setup_choices = Call(
        methods.SETUP_CHOICES, setup_methods.SetupChoicesParams, setup_methods.SetupChoicesResult
    )
    validate_setup = Call(
        methods.VALIDATE_SETUP, setup_methods.ValidateSetupParams, setup_methods.ValidateSetupResult
    )
    propose_plan = Call(
        methods.PROPOSE_PLAN, setup_methods.ProposePlanParams, setup_methods.ProposePlanResult
    )
    setup = Call(methods.SETUP, setup_methods.SetupParams, setup_methods.SetupResult)
    claims = Call(methods.CLAIMS, setup_methods.ClaimsParams, setup_methods.ClaimsResult)
    allow = Call(methods.ALLOW, setup_methods.AllowParams, setup_methods.ClaimsResult)
    demo = Call(methods.DEMO, setup_methods.DemoParams, setup_methods.DemoResult)
    configure = Call(
        methods.CONFIGURE, setup_methods.ConfigureParams, setup_methods.ConfigureResult
    )
    plans = Call(methods.PLANS, setup_methods.PlansParams, setup_methods.PlansResult)

    def __init__(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        super().__init__(reader, writer)
        self.capabilities: dict[str, Any] = {}
        """What the server can do, as it answered to ``initialize``."""
        self.server_version = ""
        self._waiting: asyncio.Queue[Notification | None] = asyncio.Queue()

    async def initialize(
        self,
        folders: Iterable[Path],
        *,
        name: str = "ralph_ls.client",
        version: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
        options: EditorOptions | None = None,
    ) -> None:
        """Open these folders; raises ``IncompatibleServer``.

        ``name`` is who asks: it is in the journal, and other viewers show it.
        """
        places = [{"uri": each.resolve().as_uri(), "name": each.name} for each in folders]
        params: dict[str, Any] = {
            "processId": os.getpid(),
            "clientInfo": {"name": name, **({} if version is None else {"version": version})},
            "rootUri": places[0]["uri"] if places else None,
            "workspaceFolders": places or None,
            "capabilities": capabilities or {},
        }
        if options is not None:
            params["initializationOptions"] = options.model_dump(
                mode="json", by_alias=True, exclude_unset=True
            )
        result = await self.request("initialize", params)
        self.capabilities = result["capabilities"]
        self.server_version = result["serverInfo"]["version"]
        schema = self.capabilities.get("experimental", {}).get("ralph", {}).get("schema")
        if schema != SCHEMA_VERSION:
            raise IncompatibleServer(
                f"ralph-ls {self.server_version} has the schema version {schema}, "
                f"this client {SCHEMA_VERSION}; install the same version of both"
            )
        self.notify("initialized")

    async def shut_down(self) -> None:
        """Let the server end; a run continues without it."""
        await self.request("shutdown")
        self.notify("exit")

    async def notifications(self) -> AsyncIterator[Notification]:
        """Everything that the server sends, in its order, from the start to its end.

        What nobody has taken waits, so a program that wants none of it takes it all the same, or
        subscribes to nothing.
        """
        while (each := await self._waiting.get()) is not None:
            yield each
        self._waiting.put_nowait(None)

    async def events(self) -> AsyncIterator[AnyEvent]:
        """The events alone, of every run that is subscribed to; other notifications are dropped."""
        async for each in self.notifications():
            if isinstance(each, EventParams):
                yield each.event

    def take_notification(self, method: str, params: Any) -> None:
        """Put it behind those that wait."""
        known = METHODS.get(method)
        if known is None:
            self._waiting.put_nowait(LspNotification(method, params))
            return
        self._waiting.put_nowait(cast(Notification, known.params.model_validate(params)))

    async def ended(self) -> None:
        """Nothing more comes."""
        self._waiting.put_nowait(None)


# Starting servers: one of ours over its standard streams or a socket file, or one that connects.
#
# A server that is started here ends with its client, whatever happens to that; a run continues.


COMMAND = ("ralph-ls",)

ENDING_PATIENCE = 10.0
"""Seconds that a server gets to end after its connection was closed."""


@asynccontextmanager
async def spawn(
    folders: Iterable[Path],
    *,
    command: Sequence[str] = COMMAND,
    environment: Mapping[str, str] | None = None,
    by_socket: bool = False,
    name: str = "ralph_ls.client",
    capabilities: Mapping[str, Any] | None = None,
    options: EditorOptions | None = None,
) -> AsyncIterator[Client]:
    """A client of a new server, initialized on these folders; both end with the block.

    ``by_socket``: they talk over a socket file instead of the server's standard streams. The
    server's log goes where this program's standard error goes.
    """
    begin = _over_socket if by_socket else _over_stdio
    async with begin(command, environment) as client:
        await client.initialize(folders, name=name, capabilities=capabilities, options=options)
        yield client
        await client.shut_down()


@asynccontextmanager
async def accept(path: Path) -> AsyncIterator[Client]:
    """A client of the server that is started with ``--pipe PATH``; waits until it connects.

    The socket file belongs to this user alone. Nothing is initialized yet.
    """
    async with _listening(path) as connected, await connected as client:
        yield client


@asynccontextmanager
async def _over_stdio(
    command: Sequence[str], environment: Mapping[str, str] | None
) -> AsyncIterator[Client]:
    async with _running(command, environment, PIPE) as process:
        if process.stdin is None or process.stdout is None:
            raise ServerGone(f"{command[0]} has no standard streams")
        async with Client(process.stdout, process.stdin) as client:
            yield client


@asynccontextmanager
async def _over_socket(
    command: Sequence[str], environment: Mapping[str, str] | None
) -> AsyncIterator[Client]:
    # The path of a socket must be short, so it is not in a folder of the caller's.
    with tempfile.TemporaryDirectory(prefix="ralph-") as folder:
        path = Path(folder) / "socket"
        asked = (*command, "--pipe", str(path))
        async with (
            _listening(path) as connected,
            _running(asked, environment, DEVNULL) as process,
        ):
            ended = asyncio.ensure_future(process.wait())
            try:
                either: set[asyncio.Future[Any]] = {connected, ended}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                ended.cancel()
            if not connected.done():
                raise ServerGone(f"{command[0]} ended before it connected")
            async with await connected as client:
                yield client


@asynccontextmanager
async def _listening(path: Path) -> AsyncIterator[asyncio.Future[Client]]:
    """The client of the first server that connects to the socket file."""
    connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

    def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.done():
            writer.close()
        else:
            connected.set_result(Client(reader, writer))

    before = os.umask(0o177)
    try:
        server = await asyncio.start_unix_server(take, path)
    finally:
        os.umask(before)
    try:
        yield connected
    finally:
        server.close()
        connected.cancel()
        path.unlink(missing_ok=True)  # noqa: ASYNC240 -- a name in a folder of this machine


@asynccontextmanager
async def _running(
    command: Sequence[str], environment: Mapping[str, str] | None, streams: int
) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=streams, stdout=streams, env=environment
    )
    try:
        yield process
    finally:
        try:
            async with asyncio.timeout(ENDING_PATIENCE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
