"""The server as a program: how it is started, what it says first, and how it ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features

from ralph_ls import __version__
from ralph_ls.editor.lsp.codec import make_converter
from ralph_ls.protocol import version
from ralph_ls.protocol.run import events
from tests.editor.conftest import StartEditor
from tests.editor.editor_client import NEOVIM, PATIENCE, VS_CODE
from tests.editor.scripted_run import RUN, made_run
from tests.engine.project_builder import ROOT, make_repository

pytestmark = pytest.mark.slow

RALPH_LS = (
    sys.executable,
    "-P",
    "-c",
    "from ralph_ls.cli.main import run_language_server as run; run()",
)
SLOW_MODULES = ("git", "pydantic", "psutil", "rich", "typer", "watchdog", "filelock")


def run(*arguments: str, program: tuple[str, ...] = RALPH_LS) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )


class TestProgram:
    def test_it_says_its_version(self) -> None:
        done = run("--version")
        assert (done.returncode, done.stdout) == (0, f"ralph-ls {__version__}\n")

    def test_it_says_how_it_is_used(self) -> None:
        done = run("--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: ralph-ls [--stdio | --pipe PATH | --socket PORT] ")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--tcp", "5007"), "which would let anybody"),
            (("--stdoi",), "unknown argument '--stdoi'"),
        ],
    )
    def test_what_it_does_not_do_is_refused_with_why(
        self, arguments: tuple[str, ...], words: str
    ) -> None:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (64, "")
        assert words in done.stderr

    def test_the_verb_serve_refuses_a_port_too(self) -> None:
        done = run("serve", "--tcp", "1", program=(sys.executable, "-P", "-m", "ralph_ls"))
        assert (done.returncode, done.stdout) == (64, "")
        assert "which would let anybody" in done.stderr

    @pytest.mark.parametrize("arguments", [(), ("--stdio",), ("--stdio", "--read-only")])
    def test_it_ends_with_its_input(self, arguments: tuple[str, ...]) -> None:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (1, "")

    def test_nothing_slow_is_imported_before_it_serves(self) -> None:
        program = (
            "import sys; from ralph_ls.cli import language_server, main; "
            "from ralph_ls.engine.clock import SystemClock; "
            "from ralph_ls.editor.server import make_server; "
            "make_server(now=SystemClock().now); print(*sys.modules)"
        )
        done = run(program=(sys.executable, "-P", "-c", program))
        assert set(SLOW_MODULES).isdisjoint(done.stdout.split())
        assert "lsprotocol" in done.stdout.split()


def test_the_version_without_any_model_is_that_of_the_models() -> None:
    assert events.EventBase.model_fields["v"].default == version.SCHEMA_VERSION


class TestHandshake:
    """By a client that holds the server to what the editor said that it can (pytest-lsp)."""

    @pytest_asyncio.fixture
    async def client(self) -> AsyncIterator[LanguageClient]:
        client = LanguageClient(converter_factory=make_converter)
        register_lsp_features(client)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
        await client.start_io(*RALPH_LS, "--stdio", env=environment)
        yield client
        async with asyncio.timeout(PATIENCE):
            await client.shutdown_session()
            await client.stop()  # type: ignore[no-untyped-call]
        assert client.error is None

    @pytest.mark.parametrize(("capabilities", "encoding"), [(VS_CODE, "utf-16"), (NEOVIM, "utf-8")])
    async def test_it_greets_an_editor_and_shows_it_a_run(
        self, client: LanguageClient, tmp_path: Path, capabilities: str, encoding: str
    ) -> None:
        repository = make_repository(tmp_path / "repository")
        with made_run(repository):
            params = types.InitializeParams(
                capabilities=client_capabilities(capabilities),
                root_uri=repository.as_uri(),
            )
            async with asyncio.timeout(PATIENCE):
                greeting = await client.initialize_session(params)
            assert greeting.server_info == types.ServerInfo(name="ralph-ls", version=__version__)
            able = greeting.capabilities
            assert able.position_encoding == encoding
            assert able.experimental == {"ralph": {"schema": version.SCHEMA_VERSION}}
            async with asyncio.timeout(PATIENCE):
                ask = client.protocol.send_request_async
                state = await ask("ralph/state", {})  # type: ignore[no-untyped-call]
            assert state["run"]["run"] == RUN
            plan = (repository / "@fix_plan.md").as_uri()
            async with asyncio.timeout(PATIENCE):
                lenses = await client.text_document_code_lens_async(
                    types.CodeLensParams(text_document=types.TextDocumentIdentifier(uri=plan))
                )
            assert lenses


class TestSettings:
    async def test_they_are_pulled_where_a_change_says_only_that_there_is_one(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        repository = make_repository(tmp_path / "repository", ["First task"])
        editor = await edit(repository)
        uri = editor.open(repository / "@fix_plan.md")
        lenses = {"textDocument": {"uri": uri}}
        assert await editor.request("textDocument/codeLens", lenses)
        hidden: Any = [{"lens": {"enabled": False}}]
        editor.results["workspace/configuration"] = hidden
        for settings in (None, {}, {"other": 1}):
            editor.notify("workspace/didChangeConfiguration", {"settings": settings})
        while await editor.request("textDocument/codeLens", lenses):
            pass
        editor.notify(
            "workspace/didChangeConfiguration", {"settings": {"ralph": {"lens": {"enabled": True}}}}
        )
        assert await editor.request("textDocument/codeLens", lenses)


class TestSockets:
    """The editor listens and the server connects; nothing else is ever listened on."""

    async def greeting(self, server: asyncio.Server, *arguments: str) -> bytes:
        """The beginning of what a server with these arguments answers."""
        del server
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
        started = await asyncio.create_subprocess_exec(
            *RALPH_LS, *arguments, env=environment, stdin=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(PATIENCE):
            reader, writer = await self.connected.get()
            body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
            writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            answer = await reader.readuntil(b"ralph-ls")
            writer.close()
            assert await started.wait() == 1
        return answer

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected.put_nowait((reader, writer))

    @pytest.fixture(autouse=True)
    def _queue(self) -> None:
        self.connected: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
        self.connected = asyncio.Queue()

    async def test_an_editor_at_a_port_is_served(self) -> None:
        async with await asyncio.start_server(self.take, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            assert b"Content-Length" in await self.greeting(server, "--socket", str(port))

    async def test_an_editor_at_a_file_is_served_where_nobody_else_can_write_it(self) -> None:
        with tempfile.TemporaryDirectory(prefix="r") as folder:
            path = Path(folder, "s")
            async with await asyncio.start_unix_server(self.take, path) as server:
                os.chmod(path, 0o666)  # noqa: PTH101
                refused = await asyncio.to_thread(run, "--pipe", str(path))
                assert (refused.returncode, refused.stdout) == (69, "")
                assert "not yours alone" in refused.stderr
                os.chmod(path, 0o600)  # noqa: PTH101
                assert b"Content-Length" in await self.greeting(server, f"--pipe={path}")

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            (("--pipe", "/dev/null"), 69, "/dev/null is not a socket"),
            (("--pipe", "/no/such"), 69, "No such file"),
            (("--socket", "0"), 64, "it must be a port"),
            (("--socket", "1"), 69, "port 1"),
        ],
    )
    def test_what_cannot_be_reached_is_reported(
        self, arguments: tuple[str, ...], code: int, words: str
    ) -> None:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert words in done.stderr


class TestEnd:
    async def test_it_ends_with_0_once_it_was_asked_to(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        with made_run(make_repository(tmp_path / "repository")) as made:
            editor = await edit(tmp_path / "repository")
            await editor.subscribe(output=True, view=True)
            made.agent()
            await editor.event("agentStarted")
            assert await editor.leave() == 0

    async def test_requests_come_before_initialized_too(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        editor = await edit(make_repository(tmp_path / "repository"), greet=False)
        assert (await editor.request("ralph/state"))["plan"]["path"] == "@fix_plan.md"
