"""The typed client knows every method of the table, and says what went wrong on the other side."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.client import (
    Client,
    IncompatibleServer,
    LspNotification,
    RequestRefused,
    ServerGone,
    accept,
    spawn,
)
from ralph_ls.client.client import Call
from ralph_ls.editor.lsp.framing import FrameReader, frame
from ralph_ls.protocol.lsp.methods import METHODS, EventParams
from ralph_ls.protocol.run.events import UnknownEvent
from ralph_ls.protocol.version import SCHEMA_VERSION
from tests.engine.ralph_runner import wait_until

Message = dict[str, Any]
PATIENCE = 60.0

GREETING = {
    "capabilities": {"experimental": {"ralph": {"schema": SCHEMA_VERSION}}},
    "serverInfo": {"name": "ralph-ls", "version": "9"},
}

Peer = Callable[[Message], list[Message]]


@asynccontextmanager
async def talking_to(peer: Peer) -> AsyncIterator[tuple[Client, list[Message]]]:
    """A client of a server that sends what ``peer`` returns; no message at all: it hangs up."""
    received: list[Message] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        while data := await reader.read(1 << 16):
            for body in frames.feed(data):
                assert isinstance(body, bytes)
                received.append(json.loads(body))
                for message in (sent := peer(received[-1])):
                    writer.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))
                if sent == [] and "id" in received[-1]:
                    writer.close()
                    return
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        async with Client(reader, writer) as client:
            yield client, received


def answers(result: object, *before: Message) -> Peer:
    """A server that sends these and then its one result, to every request."""

    def peer(message: Message) -> list[Message]:
        if "id" not in message or "method" not in message:
            return []
        return [*before, {"id": message["id"], "result": result}]

    return peer


def test_every_request_of_the_table_is_a_typed_call() -> None:
    calls = {each.method: each for each in vars(Client).values() if isinstance(each, Call)}
    known = {name: each for name, each in METHODS.items() if each.is_request}
    assert {name: (each.params, each.result) for name, each in calls.items()} == {
        name: (each.params, each.result) for name, each in known.items()
    }


async def test_only_the_fields_that_were_given_are_sent() -> None:
    reply = {"accepted": True, "code": "accepted", "text": "ok", "newer": 1}
    async with talking_to(answers(reply)) as (client, received):
        assert (await client.start(max_iterations=3)).accepted
    assert received[0]["method"] == "ralph/start"
    assert received[0]["params"] == {"maxIterations": 3}


async def test_notifications_come_typed_and_in_their_order_before_the_answer() -> None:
    event = {"v": 1, "seq": 4, "at": "2026-01-31T12:00:00Z", "run": "r", "kind": "sang"}
    sent: list[Message] = [
        {"method": "ralph/event", "params": {"workspace": "file:///w", "run": "r", "event": event}},
        {"method": "window/logMessage", "params": {"type": 4, "message": "hello"}},
        {"id": 1, "method": "client/registerCapability", "params": {}},
    ]
    async with talking_to(answers({"subscribed": True}, *sent)) as (client, received):
        assert (await client.unsubscribe()).subscribed
        await client.close()
        first, second = [each async for each in client.notifications()]
        assert [each async for each in client.events()] == []
    assert isinstance(first, EventParams)
    assert isinstance(first.event, UnknownEvent)
    assert (first.event.kind, first.event.seq) == ("sang", 4)
    assert second == LspNotification("window/logMessage", {"type": 4, "message": "hello"})
    assert received[1:] == [{"jsonrpc": "2.0", "id": 1, "result": None}]


async def test_a_refusal_has_its_code_and_reason() -> None:
    error = {"code": -32803, "message": "type ralph allow", "data": {"code": "not-allowed"}}

    def peer(message: Message) -> list[Message]:
        return [{"id": message["id"], "error": error}]

    async with talking_to(peer) as (client, _):
        with pytest.raises(RequestRefused, match="ralph/start: type ralph allow") as refused:
            await client.start()
    assert (refused.value.code, refused.value.reason) == (-32803, "not-allowed")


async def test_a_server_that_hangs_up_fails_what_waits_and_what_is_asked_later() -> None:
    async with talking_to(lambda _: []) as (client, _):
        with pytest.raises(ServerGone, match="before it answered ralph/state"):
            await client.state()
        with pytest.raises(ServerGone, match="before it answered ralph/plans"):
            await client.plans()


async def test_a_request_that_nobody_waits_for_is_cancelled() -> None:
    asked = asyncio.Event()

    def peer(message: Message) -> list[Message]:
        asked.set()
        return [{"method": "$/ignored"}]

    async with talking_to(peer) as (client, received):
        waiting = asyncio.ensure_future(client.state())
        await asked.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await client.close()
    assert received[1] == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}


async def test_a_server_with_another_schema_version_is_refused() -> None:
    newer = {"ralph": {"schema": SCHEMA_VERSION + 1}}
    greeting = {**GREETING, "capabilities": {"experimental": newer}}
    async with talking_to(answers(greeting)) as (client, received):
        with pytest.raises(IncompatibleServer, match="ralph-ls 9 has the schema version"):
            await client.initialize([])
    assert [each["method"] for each in received] == ["initialize"]


@pytest.mark.slow
@pytest.mark.parametrize("by_socket", [False, True])
async def test_a_server_is_started_and_ends_with_the_block(tmp_path: Path, by_socket: bool) -> None:
    command = (str(Path(sys.executable).with_name("ralph-ls")),)
    async with asyncio.timeout(PATIENCE):
        async with spawn([tmp_path], command=command, by_socket=by_socket) as client:
            assert client.server_version
            with pytest.raises(RequestRefused) as refused:
                await client.start()
            assert refused.value.reason == "workspace-missing"
        with pytest.raises(ServerGone):
            await client.state()


@pytest.mark.slow
async def test_a_program_that_does_not_connect_is_reported(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ServerGone, match="true ended before it connected"):
            async with spawn([tmp_path], command=("true",), by_socket=True):
                pass


async def test_the_socket_of_a_waiting_client_is_the_users_alone() -> None:
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "socket"

        async def connect() -> int:
            await asyncio.to_thread(wait_until, Path(name), path.exists)
            mode = path.stat().st_mode
            reader, writer = await asyncio.open_unix_connection(path)
            await reader.read()
            writer.close()
            return mode & 0o777

        async with asyncio.timeout(PATIENCE):
            connecting = asyncio.ensure_future(connect())
            async with accept(path):
                pass
            assert await connecting == 0o600
        assert not path.exists()
