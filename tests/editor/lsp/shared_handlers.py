"""What both servers are taken through: the same handlers, hung on a stock server and on ours.

It uses nothing but what pygls offers everybody, so that a difference is the server's own.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

PATIENCE = 60.0
"""Seconds an event loop gets to show that it is not blocked."""

SHORT = 1.0
"""The same for one of which we know that it is: the test waits for all of them."""


def register(server: LanguageServer, *, patience: float = PATIENCE) -> None:
    released = asyncio.Event()

    @server.feature("tests/echo")
    def echo(ls: LanguageServer, params: Any) -> str:
        return "here"

    @server.feature("tests/pending")
    def pending(ls: LanguageServer, params: Any) -> int:
        own = getattr(ls.protocol, "n_pending", 0)
        return own or len(ls.protocol._request_futures)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(ls: LanguageServer, params: types.HoverParams) -> types.Hover:
        return types.Hover(contents=params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: LanguageServer, params: types.DidSaveTextDocumentParams) -> None:
        raise ValueError("the disk at /secret/place")

    @server.command("tests.wait")
    async def wait(ls: LanguageServer) -> str:
        ls.protocol.notify("tests/waiting")
        try:
            await released.wait()
        except asyncio.CancelledError:
            ls.protocol.notify("tests/cleanedUp")
            raise
        ls.protocol.notify("tests/ranOn")
        return "done"

    @server.command("tests.quick")
    async def quick(ls: LanguageServer) -> str:
        return "done"

    @server.feature("tests/release")
    def release(ls: LanguageServer, params: Any) -> None:
        released.set()

    @server.feature("tests/boom")
    def boom(ls: LanguageServer, params: Any) -> None:
        raise ValueError("the disk at /secret/place")

    @server.feature("tests/print")
    def print_something(ls: LanguageServer, params: Any) -> None:
        print("a library says hello", flush=True)  # noqa: T201

    @server.feature("tests/say")
    def say(ls: LanguageServer, params: Any) -> None:
        say_aside("said")

    @server.feature("tests/flood")
    def flood(ls: LanguageServer, params: Any) -> None:
        """Send two megabytes, while a thread looks whether the loop still turns."""
        _watch(asyncio.get_running_loop(), patience)
        for number in range(2000):
            ls.protocol.notify("tests/drop", {"number": number, "text": "x" * 1000})


def say_aside(text: str) -> None:
    """One line on standard error, which a test reads beside the messages."""
    sys.stderr.write(f"aside: {text}\n")
    sys.stderr.flush()


def _watch(loop: asyncio.AbstractEventLoop, patience: float) -> None:
    turned = threading.Event()

    def look() -> None:
        say_aside("the loop turns" if turned.wait(patience) else "the loop is blocked")

    loop.call_soon_threadsafe(turned.set)
    threading.Thread(target=look, daemon=True).start()
