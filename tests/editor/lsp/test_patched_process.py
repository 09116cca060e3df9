"""Corners of pygls 2.1.1 around the process and its pipes: stock behaviour beside patched."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from ralph_ls.editor.lsp.framing import FrameReader
from tests.editor.conftest import Start
from tests.editor.wire_client import Wire, bodies

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

NOT_INITIALIZED, INVALID_REQUEST, PARSE_ERROR = -32002, -32600, -32700


@pytest_asyncio.fixture(loop_scope="module")
async def client() -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that represents the editor, and lives until it is killed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE
    )
    yield process
    if process.returncode is None:
        process.kill()
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined]


class TestDeadClient:
    """Defect 8: a server must not outlive its editor."""

    async def test_stock_lives_on_when_its_client_is_killed(
        self, start: Start, client: asyncio.subprocess.Process
    ) -> None:
        wire = await start("stock")
        await wire.initialize(process_id=client.pid)
        client.kill()
        await client.wait()
        # With the pipes held open by a third process it would do so for ever.
        assert await wire.result("tests/echo") == "here"

    async def test_the_patched_one_ends_when_its_client_is_killed(
        self, start: Start, client: asyncio.subprocess.Process
    ) -> None:
        wire = await start("patched")
        await wire.initialize(process_id=client.pid)
        assert await wire.result("tests/echo") == "here"
        client.kill()
        assert await wire.ended() == 1

    async def test_the_patched_one_ends_when_its_client_is_gone_already(
        self, start: Start, client: asyncio.subprocess.Process
    ) -> None:
        client.kill()
        await client.wait()
        wire = await start("patched")
        wire.ask("initialize", {"processId": client.pid, "rootUri": None, "capabilities": {}})
        assert await wire.ended() == 1

    async def test_stock_lives_on_when_nobody_reads_it_any_more(self, start: Start) -> None:
        wire = await start("stock")
        await wire.initialize()
        await wire.stop_reading()
        wire.ask("tests/echo")
        wire.notify("tests/say")
        # The answer went nowhere, and still it takes the next message.
        assert await wire.said_aside() == "said"

    async def test_the_patched_one_ends_when_nobody_reads_it_any_more(self, start: Start) -> None:
        wire = await start("patched")
        await wire.initialize()
        await wire.stop_reading()
        wire.ask("tests/echo")
        assert await wire.ended() == 1

    async def test_the_patched_one_ends_when_its_input_ends(self, start: Start) -> None:
        wire = await start("patched")
        await wire.initialize()
        wire.pipe(0).close()
        assert await wire.ended() == 1

    async def test_the_patched_one_survives_input_that_makes_no_sense(self, start: Start) -> None:
        wire = await start("patched")
        await wire.initialize()
        assert wire.process.stdin is not None
        wire.process.stdin.write(b"GET / HTTP/1.1\r\n\r\n")
        assert (await wire.receive())["error"]["code"] == PARSE_ERROR
        assert await wire.result("tests/echo") == "here"

    async def test_the_patched_one_ends_while_a_thread_of_it_hangs(self, start: Start) -> None:
        wire = await start("patched")
        await wire.initialize()
        wire.notify("tests/hang")
        assert await wire.said_aside() == "hanging"
        await wire.result("shutdown")
        wire.notify("exit")
        assert await wire.ended() == 0


class TestHandshake:
    """Defect 9: first initialize, last exit, and a code that shows which way it ended."""

    async def test_stock_ends_with_0_whichever_way(self, start: Start) -> None:
        wire = await start("stock")
        await wire.initialize()
        wire.notify("exit")
        # The client was never asked to say shutdown first, and a crash looks the same.
        assert await wire.ended() == 0

    async def test_the_patched_one_ends_with_1_without_shutdown(self, start: Start) -> None:
        wire = await start("patched")
        await wire.initialize()
        wire.notify("exit")
        assert await wire.ended() == 1

    async def test_the_patched_one_ends_with_1_for_an_exit_before_anything(
        self, start: Start
    ) -> None:
        wire = await start("patched")
        wire.notify("exit")
        assert await wire.ended() == 1

    @pytest.mark.parametrize("last", ["exit", "end of input"])
    async def test_the_patched_one_ends_with_0_after_shutdown(
        self, start: Start, last: str
    ) -> None:
        wire = await start("patched")
        await wire.initialize()
        assert await wire.result("shutdown", None) is None
        if last == "exit":
            wire.notify("exit")
        else:
            wire.pipe(0).close()
        assert await wire.ended() == 0

    async def test_stock_serves_before_initialize(self, start: Start) -> None:
        wire = await start("stock")
        # A feature that needs the workspace breaks on this, in its own ways.
        assert await wire.result("tests/echo") == "here"

    async def test_the_patched_one_serves_nothing_before_initialize(self, start: Start) -> None:
        wire = await start("patched")
        error = await wire.error("tests/echo")
        assert error["code"] == NOT_INITIALIZED
        wire.notify("tests/say")
        assert (await wire.error("initialize", {}))["code"] == -32602
        await wire.initialize()
        assert (await wire.error("initialize", {}))["code"] == INVALID_REQUEST
        wire.notify("tests/flood")
        assert await wire.said_aside() == "the loop turns"

    async def test_stock_is_silent_after_shutdown(self, start: Start) -> None:
        wire = await start("stock")
        await wire.initialize()
        await wire.result("shutdown")
        asked = wire.ask("tests/echo")
        wire.notify("exit")
        # The client that asked waits until the pipe breaks.
        assert all(message.get("id") != asked for message in await wire.rest())

    async def test_the_patched_one_refuses_after_shutdown(self, start: Start) -> None:
        wire = await start("patched")
        await wire.initialize()
        await wire.result("shutdown")
        assert (await wire.error("tests/echo"))["code"] == INVALID_REQUEST
        assert (await wire.error("shutdown"))["code"] == INVALID_REQUEST
        wire.notify("tests/say")
        wire.notify("exit")
        assert await wire.rest() == []
        assert await wire.ended() == 0


class TestSlowClient:
    """Defect 10: a client that stops reading holds up nobody but itself."""

    async def test_stock_hangs(self, start: Start) -> None:
        wire = await start("stock")
        await wire.initialize()
        wire.notify("tests/flood")
        # Input, timers, other clients' events: all of it waits for one pipe.
        assert await wire.said_aside() == "the loop is blocked"

    async def test_the_patched_one_continues(self, patched: Wire) -> None:
        patched.notify("tests/flood")
        assert await patched.said_aside() == "the loop turns"
        patched.notify("tests/say")
        assert await patched.said_aside() == "said"
        # And whatever is no output still comes, whole and in order.
        asked = patched.ask("tests/echo")
        assert (await patched.answer_to(asked))["result"] == "here"
        drops = [message["params"]["number"] for message in patched.aside]
        assert drops == list(range(2000))

    async def test_busy_threads_hold_up_no_input(self, start: Start) -> None:
        """Defect 7: in pygls they share one pool with the reading."""
        wire = await start("patched")
        await wire.initialize()
        for _ in range(50):
            wire.notify("tests/hang")
        assert await wire.result("tests/echo") == "here"

    async def test_a_pipe_that_was_made_not_to_block_is_no_matter(self, start: Start) -> None:
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        wire = await Wire.start("tests.editor.lsp.patched_server", stdout=writing)
        os.close(writing)
        try:
            wire.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
            wire.notify("tests/flood")
            assert await wire.said_aside() == "the loop turns"
            wire.ask("shutdown")
            wire.notify("exit")
            taken = b""
            while data := await asyncio.to_thread(os.read, reading, 1 << 20):
                taken += data
            messages = bodies(FrameReader(), taken)
            assert len(messages) == 2002
            assert await wire.ended() == 0
        finally:
            os.close(reading)
            await wire.close()

    async def test_output_gives_way_and_says_how_much(self, patched: Wire) -> None:
        asked = patched.ask("tests/outputs")
        assert await patched.said_aside() == "all told"
        told = (await patched.answer_to(asked))["result"]
        frames = [m["params"] for m in patched.aside if m["method"] == "ralph/output"]
        shown = sum(len(each["text"]) for each in frames)
        skipped = sum(each["skipped"] for each in frames)
        assert shown + skipped == told
        assert skipped > 0
        assert all(len(each["text"]) <= 65536 for each in frames)
        # What is no output is never left out.
        assert [m["method"] for m in patched.aside if m["method"] != "ralph/output"] == [
            "tests/middle"
        ]

    async def test_a_sender_of_much_can_wait_for_the_client(self, patched: Wire) -> None:
        asked = patched.ask("tests/drained")
        assert await patched.said_aside() == "waiting"
        assert (await patched.answer_to(asked))["result"] < 256 * 1024
        assert await patched.said_aside() == "drained"


class TestStdout:
    """Defect 12, first half: standard output belongs to the messages alone."""

    async def test_stock_lets_a_print_into_the_stream(self, start: Start) -> None:
        wire = await start("stock")
        await wire.initialize()
        wire.ask("tests/print")
        # Most clients give up on the connection here.
        assert (await wire.stdout.readline()).startswith(b"a library says hello")

    async def test_the_patched_one_sends_a_print_to_the_log(self, patched: Wire) -> None:
        assert await patched.result("tests/print") is None
        assert await patched.stderr.readline() == b"a library says hello\n"

    async def test_the_patched_one_can_do_without_a_standard_error(self, start: Start) -> None:
        wire = await Wire.start("tests.editor.lsp.patched_server", shell='exec "$@" 2>&-')
        try:
            await wire.initialize()
            assert await wire.result("tests/print") is None
            assert (await wire.error("tests/boom"))["data"] == {"code": "internal"}
            assert await wire.result("shutdown") is None
            wire.notify("exit")
            assert await wire.rest() == []
            assert await wire.ended() == 0
        finally:
            await wire.close()

    async def test_messages_from_many_threads_stay_whole(self, patched: Wire) -> None:
        assert await patched.result("tests/threads") is None
        numbers = [message["params"]["number"] for message in patched.aside]
        assert sorted(numbers) == list(range(800))
        for first in range(0, 800, 100):
            own = [number for number in numbers if first <= number < first + 100]
            assert own == sorted(own)

    async def test_an_event_goes_out_as_the_journal_has_it(self, patched: Wire) -> None:
        patched.notify("tests/event")
        body = (await patched.receive_body()).decode()
        assert json.loads(body)["params"]["event"] == {
            "v": 1,
            "seq": 1,
            "at": "2026-01-31T12:00:00.000Z",
            "run": "20260131T120000Z-0a1b",
            "kind": "warned",
            "code": "x",
            "message": "é",
        }
        assert "é" in body


async def test_a_client_may_send_byte_by_byte(start: Start) -> None:
    wire: Wire = await start("patched")
    assert wire.process.stdin is not None
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": "é",
            "method": "initialize",
            "params": {"processId": None, "rootUri": None, "capabilities": {}},
        },
        ensure_ascii=False,
    ).encode()
    for byte in b"content-length: %d\r\nContent-Type: x\r\n\r\n%b" % (len(body), body):
        wire.process.stdin.write(bytes([byte]))
        await wire.process.stdin.drain()
    assert (await wire.answer_to("é"))["result"]["serverInfo"]["name"] == "patched"
