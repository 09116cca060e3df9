"""The parts of a connection that a whole server cannot show."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from ralph_ls.editor.lsp import stdio
from ralph_ls.editor.lsp.stdio import BACKLOG_LIMIT, PipeWriter, start_reading, watch_client
from tests.editor.wire_client import ROOT


@pytest.fixture
async def client() -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE
    )
    yield process
    if process.returncode is None:
        process.kill()
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined]


def test_what_is_slow_to_import_waits_until_it_is_needed() -> None:
    """An editor waits for the answer to initialize; we get a third more than bare pygls."""
    slow = ["git", "psutil", "pydantic", "rich", "typer", "watchdog"]
    code = (
        "import ralph_ls.editor.lsp.language_server, sys; "
        f"print([n for n in {slow} if n in sys.modules])"
    )
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT)])
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip() == "[]"


class TestWatch:
    async def test_where_the_system_reports_nothing_it_looks_again(
        self, client: asyncio.subprocess.Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(pid: int) -> int:
            raise PermissionError("not in this sandbox")

        monkeypatch.setattr(os, "pidfd_open", refuse)
        monkeypatch.setattr(stdio, "CHECK_INTERVAL", 0.01)
        gone = asyncio.Event()
        stop = watch_client(client.pid, gone.set)
        assert not gone.is_set()
        client.kill()
        await client.wait()
        async with asyncio.timeout(60):
            await gone.wait()
        stop()

    async def test_one_that_was_ended_says_nothing_any_more(
        self, client: asyncio.subprocess.Process
    ) -> None:
        gone, also_gone = asyncio.Event(), asyncio.Event()
        watch_client(client.pid, gone.set)()
        stop = watch_client(client.pid, also_gone.set)
        client.kill()
        async with asyncio.timeout(60):
            await also_gone.wait()
        assert not gone.is_set()
        stop()

    async def test_a_client_outside_of_the_container_is_not_looked_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # There the parent is nobody, and the number is somebody else's or nobody's.
        monkeypatch.setattr(os, "getppid", lambda: 0)
        watch_client(2**22 + 1, lambda: pytest.fail("it looked"))()


class TestPipe:
    async def test_what_is_left_is_written_before_it_closes(self) -> None:
        reading, writing = os.pipe()
        writer = PipeWriter(writing, on_lost=pytest.fail)
        writer.write(b"last words")
        writer.close()
        os.close(writing)
        assert os.read(reading, 100) == b"last words"
        os.close(reading)

    async def test_a_client_that_reads_nothing_at_all_is_lost_once(self) -> None:
        reading, writing = os.pipe()
        lost: list[str] = []
        writer = PipeWriter(writing, on_lost=lost.append)
        piece = b"x" * (BACKLOG_LIMIT // 4)
        for _ in range(7):
            writer.write(piece)
        assert len(lost) == 1
        assert lost[0].startswith("the client does not read, and ")
        await writer.drained()
        os.close(reading)
        writer.close()
        os.close(writing)

    async def test_a_reader_hands_over_in_order_until_the_end(self) -> None:
        reading, writing = os.pipe()
        ended = asyncio.Event()
        taken: list[bytes] = []

        def deliver(data: bytes) -> None:
            taken.append(data)
            if not data:
                ended.set()

        start_reading(reading, deliver)
        os.write(writing, b"first ")
        os.write(writing, b"last")
        os.close(writing)
        async with asyncio.timeout(60):
            await ended.wait()
        os.close(reading)
        assert b"".join(taken) == b"first last"
        assert taken[-1] == b""
