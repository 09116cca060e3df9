"""A client of a real ``ralph-ls``: what an editor says to it, and all that it is sent.

The server is a separate process over pipes; the capabilities are those of a real editor. Every
notification is kept in its order. When a test ends each of them must be of a kind that it expected,
and the events of a run must have come without a gap and none of them twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import IO, Any

from lsprotocol.converters import get_converter
from pytest_lsp import client_capabilities

from ralph_ls.client import RequestRefused, ServerConnection
from tests.editor.forked_server import LanguageServerForks
from tests.engine.forked_ralph import ForkedProcess

VS_CODE = "visual-studio-code@v1.65.2"
NEOVIM = "neovim@v0.11.0"
PATIENCE = 60.0
"""Seconds after which something that does not come has failed the test."""

Message = dict[str, Any]
Params = dict[str, Any]

ALWAYS_EXPECTED = frozenset(
    {"textDocument/publishDiagnostics", "$/progress", "window/showMessage", "window/logMessage"}
)
"""What LSP sends to everybody; tests of features look at it."""

ALWAYS_ASKED = frozenset({"workspace/configuration"})
"""What every client with that capability is asked."""


class Editor(ServerConnection):
    """One editor and its server."""

    def __init__(
        self,
        process: ForkedProcess,
        errors: IO[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.WriteTransport,
    ) -> None:
        super().__init__(reader, writer)
        self.process = process
        self.told: list[tuple[str, Params]] = []
        """Every notification: its method and its params."""
        self.heard: list[str] = []
        """Every message in its order: the method, or ``answer``."""
        self.asked: list[tuple[str, Params]] = []
        """Every request of the server, all of which are answered at once."""
        self.results: dict[str, Message] = {
            "window/showDocument": {"success": True},
            "workspace/applyEdit": {"applied": True},
        }
        """What the server's requests are answered with; null where nothing is given here."""
        self.expected = set(ALWAYS_EXPECTED)
        self.capabilities: Message = {}
        """What the server can do."""
        self.server_info: Message = {}
        self._errors = errors
        self._changed = asyncio.Condition()
        self._ended = False
        self._may_read = asyncio.Event()
        self._may_read.set()

    # -------------------------------------------------------------------------------------- asking

    def cancel_last(self) -> None:
        """Give up waiting for the request that was sent last."""
        self.notify("$/cancelRequest", {"id": self._number})

    async def request(self, method: str, params: object = None) -> Any:
        """The result; raises ``RequestRefused``."""
        async with asyncio.timeout(PATIENCE):
            return await super().request(method, params)

    async def refusal(self, method: str, params: object = None) -> RequestRefused:
        """The error of a request that must fail."""
        try:
            result = await self.request(method, params)
        except RequestRefused as refused:
            return refused
        raise AssertionError(f"{method} was answered with {result}")

    async def command(self, name: str, *arguments: object) -> Any:
        """The result of one of the server's commands."""
        params = {"command": f"ralph.{name}", "arguments": list(arguments)}
        return await self.request("workspace/executeCommand", params)

    async def subscribe(self, **params: object) -> Any:
        """Subscribe; from here on what was asked for is expected."""
        if params.get("events", True):
            self.expected.add("ralph/event")
        for name in ("output", "messages", "view"):
            if params.get(name):
                self.expected.add(f"ralph/{name}")
        return await self.request("ralph/subscribe", params)

    def open(self, path: Path, text: str | None = None, *, version: int = 1) -> str:
        """Open a document; its URI."""
        uri = path.as_uri()
        shown = path.read_text(encoding="utf-8") if text is None else text
        document = {"uri": uri, "languageId": "markdown", "version": version, "text": shown}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    # ------------------------------------------------------------------------------------- hearing

    async def until(
        self, method: str, wanted: Callable[[Params], bool] = bool, *, since: int = 0
    ) -> Params:
        """The params of the first notification that is wanted, come or yet to come."""
        async with asyncio.timeout(PATIENCE), self._changed:
            while True:
                for name, params in self.told[since:]:
                    if name == method and wanted(params):
                        return params
                assert not self._ended, f"no {method} before the server's end: {self.log()}"
                await self._changed.wait()

    async def event(self, kind: str, *, run: str | None = None, **fields: object) -> Message:
        """The first event of the kind with these values, come or yet to come."""

        def wanted(params: Params) -> bool:
            event = params["event"]
            same_run = run is None or params["run"] == run
            fits = all(event.get(name) == value for name, value in fields.items())
            return bool(event["kind"] == kind and same_run and fits)

        event: Message = (await self.until("ralph/event", wanted))["event"]
        return event

    async def view(self, wanted: Callable[[Message], bool], *, since: int = 0) -> Message:
        """The first picture of a work tree that is wanted: its ``state``.

        One that lacks what is looked for is not wanted.
        """

        def fits(params: Params) -> bool:
            with contextlib.suppress(KeyError):
                return wanted(params["state"])
            return False

        params = await self.until("ralph/view", fits, since=since)
        state: Message = params["state"]
        return state

    def all_told(self, method: str) -> list[Params]:
        """The params of every notification of one method so far."""
        return [params for name, params in self.told if name == method]

    def events(self, run: str | None = None) -> list[Message]:
        """Every event so far."""
        told = self.all_told("ralph/event")
        return [params["event"] for params in told if run in {None, params["run"]}]

    def output(self, stream: str = "out") -> str:
        """All that was sent of what the agent printed."""
        told = self.all_told("ralph/output")
        return "".join(params["text"] for params in told if params["stream"] == stream)

    def log(self) -> str:
        """What the server wrote on standard error."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    # ------------------------------------------------------------------------------------- its life

    def stop_reading(self) -> None:
        """Stop, as an editor that hangs."""
        self._may_read.clear()

    def read_on(self) -> None:
        self._may_read.set()

    def kill(self) -> None:
        """Kill the server, as the system would."""
        self.process.kill()
        self.process.wait(PATIENCE)

    async def leave(self) -> int:
        """Say goodbye; the server's exit code."""
        await self.request("shutdown")
        self.notify("exit")
        return await asyncio.to_thread(self.process.wait, PATIENCE)

    def check(self) -> None:
        """All that was sent was expected, and the events came in their order."""
        unexpected = [each for each in self.told if each[0] not in self.expected]
        assert not unexpected, unexpected
        last: dict[tuple[str, str], int] = {}
        for params in self.all_told("ralph/event"):
            key, seq = (params["workspace"], params["run"]), params["event"]["seq"]
            assert seq == last.get(key, seq - 1) + 1, (key, last, seq)
            last[key] = seq
        assert "Traceback" not in self.log(), self.log()

    # ------------------------------------------------------------------------------------- helpers

    def take_notification(self, method: str, params: Any) -> None:
        self.heard.append(method)
        self.told.append((method, params or {}))

    def answer_request(self, method: str, params: Any) -> Any:
        self.heard.append(method)
        if method not in ALWAYS_ASKED:
            self.asked.append((method, params or {}))
        return self.results.get(method)

    def take_answer(self, message: Message) -> None:
        self.heard.append("answer")
        super().take_answer(message)

    async def after_messages(self) -> None:
        async with self._changed:
            self._changed.notify_all()
        await self._may_read.wait()

    async def ended(self) -> None:
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def disconnect(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.read_on()
        await self.close()
        # The transport lets go of its pipe in the loop's next round.
        await asyncio.sleep(0)
        self.process.close()


Start = Callable[..., Any]


@asynccontextmanager
async def serving(fork_server: LanguageServerForks) -> AsyncIterator[Start]:
    """Starts editors; at the end each of them is checked, and whatever still lives is killed."""
    async with AsyncExitStack() as at_the_end:
        editors: list[Editor] = []

        async def start(*folders: Path, **how: Any) -> Editor:
            editor = await _start(fork_server, at_the_end, folders, **how)
            editors.append(editor)
            return editor

        yield start
        for editor in editors:
            editor.check()


@functools.cache
def capabilities_of(editor: str) -> Message:
    """What this editor can do, as it is sent; not to be changed."""
    sent: Message = get_converter().unstructure(client_capabilities(editor))
    return sent


async def _start(
    fork_server: LanguageServerForks,
    at_the_end: AsyncExitStack,
    folders: Iterable[Path],
    *,
    capabilities: str = VS_CODE,
    name: str | None = None,
    options: Message | None = None,
    changes: Message | None = None,
    greet: bool = True,
    flags: Sequence[str] = (),
) -> Editor:
    """An editor with these folders open; ``options`` are its initializationOptions.

    ``changes`` are capabilities that differ from the real editor's; without ``greet`` the server
    is not notified that its answer to ``initialize`` came.
    """
    errors = tempfile.TemporaryFile()  # noqa: SIM115 -- it is closed at the end of the test
    at_the_end.callback(errors.close)
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    command = ("serve", "--stdio", *flags)
    process = fork_server.fork(
        Path.cwd(), command, dict(os.environ), their_input, their_output, errors.fileno()
    )
    os.close(their_input)
    os.close(their_output)
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(our_input, "rb", 0))
    writer, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(our_output, "wb", 0))
    editor = Editor(process, errors, reader, writer)
    editor.begin()
    at_the_end.push_async_callback(editor.disconnect)
    known = name or ("Neovim" if capabilities == NEOVIM else "Visual Studio Code")
    places = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
    params = {
        "processId": os.getpid(),
        "clientInfo": {"name": known, "version": "1"},
        "rootUri": places[0]["uri"] if places else None,
        "workspaceFolders": places or None,
        "capabilities": {
            **capabilities_of(capabilities),
            **(changes or {}),
        },
        **({} if options is None else {"initializationOptions": options}),
    }
    result = await editor.request("initialize", params)
    editor.capabilities, editor.server_info = result["capabilities"], result["serverInfo"]
    if greet:
        editor.notify("initialized")
    return editor
