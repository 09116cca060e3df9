"""A language server in a separate process, and an editor that does nothing but read it.

What the editor costs is part of every figure, so it takes from a message only what is asked for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ralph_ls.editor.lsp.framing import FrameReader, frame
from tests.bench.figures import ROOT, environment
from tests.editor.wire_client import bodies

READ_BYTES = 1 << 18

OURS = "from ralph_ls.cli.main import run_language_server; run_language_server()"
"""What the installed ``ralph-ls`` does."""


class Client:
    """One server and what it says, read as it comes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._input = process.stdin
        self._output = process.stdout.fileno()
        self._frames = FrameReader()
        self._waiting: list[bytes] = []
        self._number = 0

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def request(self, method: str, params: object) -> Any:
        """Send a request; its result. What comes before it is passed over."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = json.loads(self.receive())
            if message.get("id") == self._number and "method" not in message:
                return message["result"]
            self._answer(message)

    def until(self, method: str) -> Any:
        """The params of the next notification of the method; others are passed over."""
        while True:
            message = json.loads(self.receive())
            if message.get("method") == method:
                return message["params"]
            self._answer(message)

    def receive(self) -> bytes:
        """The body of the next message."""
        while not self._waiting:
            data = os.read(self._output, READ_BYTES)
            if not data:
                raise RuntimeError("the server has ended")
            self._waiting = bodies(self._frames, data)[::-1]
        return self._waiting.pop()

    def initialize(self, folder: Path | None = None) -> None:
        """The handshake of a client that can do little; ``folder`` is what it has open."""
        uri = None if folder is None else folder.as_uri()
        self.request("initialize", {"processId": os.getpid(), "rootUri": uri, "capabilities": {}})
        self.notify("initialized", {})

    def _answer(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self._send({"id": message["id"], "result": None})

    def _send(self, message: dict[str, Any]) -> None:
        self._input.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))
        self._input.flush()


@contextmanager
def ours() -> Iterator[Client]:
    """``ralph-ls``."""
    with _started("-P", "-c", OURS) as client:
        yield client


@contextmanager
def stock() -> Iterator[Client]:
    """A server as pygls makes it: ``tests.bench.stock``."""
    with _started("-P", "-m", "tests.bench.stock") as client:
        yield client


@contextmanager
def _started(*arguments: str) -> Iterator[Client]:
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment(),
    )
    with process:
        try:
            yield Client(process)
        finally:
            process.kill()
