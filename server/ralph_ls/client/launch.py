"""Starting servers: one of ours over its standard streams or a socket file, or one that connects.

A server that is started here ends with its client, whatever happens to that; a run continues.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ralph_ls.client.client import Client
from ralph_ls.client.connection import ServerGone
from ralph_ls.protocol.lsp.options import EditorOptions

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
