"""A client of a real language server that never blocks: every wait for an answer has a bound."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from ralph_ls.editor.lsp.framing import FrameReader, frame
from tests.bench.client import OURS
from tests.engine.project_builder import ROOT
from tests.sweep.runner import Case
from tests.sweep.violations import Kind, Violation, require

Message = dict[str, Any]
READ_BYTES = 1 << 18
ANSWER_SECONDS = 60.0


class Editor:
    """One server process and everything that it has sent."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case = case
        self.errors = case.folder / "server.txt"
        self.answers: dict[int | str, int] = {}
        """How often each request was answered."""
        self.last: dict[int | str, Message] = {}
        self._frames = FrameReader()
        self._number = 0
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", OURS],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input = self.process.stdin.fileno()
        self._output = self.process.stdout.fileno()
        os.set_blocking(self._input, False)

    def initialize(self, folder: Path) -> None:
        given = {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": {}}
        self.request("initialize", given)
        self.notify("initialized", {})

    def notify(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: object, *, seconds: float = ANSWER_SECONDS) -> Message:
        """A request and its answer, be it a result or an error."""
        number = self.ask(method, params)
        self.wait_for(number, seconds=seconds)
        return self.last.pop(number)

    def ask(self, method: str, params: object) -> int | str:
        self._number += 1
        number = f"sweep-{self._number}"
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def wait_for(self, number: int | str, *, seconds: float = ANSWER_SECONDS) -> None:
        until = time.monotonic() + seconds
        while number not in self.answers:
            left = until - time.monotonic()
            if left <= 0:
                raise Violation(Kind.DEAF, f"the server did not answer {number} in {seconds:g} s")
            if select.select([self._output], [], [], left)[0]:
                self._read()

    def send(self, message: object) -> None:
        self.send_bytes(frame(json.dumps(message).encode()))

    def send_bytes(self, data: bytes) -> None:
        """Write, and read what the server says meanwhile, so that neither waits for the other."""
        view, until = memoryview(data), time.monotonic() + ANSWER_SECONDS
        while view:
            ready = select.select([self._output], [self._input], [], 1.0)
            if self._output in ready[0]:
                self._read()
            if self._input in ready[1]:
                try:
                    view = view[os.write(self._input, view) :]
                except BrokenPipeError:
                    raise Violation(Kind.DEAF, f"the server has ended: {self._why()}") from None
                until = time.monotonic() + ANSWER_SECONDS
            if time.monotonic() > until:
                raise Violation(Kind.DEAF, f"the server reads nothing for {ANSWER_SECONDS:g} s")

    @property
    def resident(self) -> int:
        """Bytes of memory."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def close(self) -> None:
        """Say goodbye as the protocol has it; a ``Violation`` where it does not end."""
        self.request("shutdown", None)
        self.notify("exit", None)
        self._end()
        require(self.process.returncode == 0, Kind.WRONG, f"the server ended with {self._why()}")
        text = self.errors.read_text(encoding="utf-8", errors="replace")
        require("Traceback" not in text, Kind.WRONG, f"a traceback: {text[-1500:]}")

    def _end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        until = time.monotonic() + ANSWER_SECONDS
        while self.process.poll() is None:
            if select.select([self._output], [], [], 0.1)[0]:
                os.read(self._output, READ_BYTES)
            require(time.monotonic() < until, Kind.DEAF, "the server does not end after exit")
        self.process.stdout.close()

    def _read(self) -> None:
        data = os.read(self._output, READ_BYTES)
        if not data:
            raise Violation(Kind.DEAF, f"the server has ended: {self._why()}")
        for body in self._frames.feed(data):
            if not isinstance(body, bytes):
                raise Violation(Kind.WRONG, f"the server sent what is no frame: {body}")
            message = json.loads(body)
            if "method" in message:
                if "id" in message:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": None})
                continue
            number = message.get("id")
            if isinstance(number, int | str):
                self.answers[number] = self.answers.get(number, 0) + 1
                self.last[number] = message

    def _why(self) -> str:
        code = self.process.poll()
        return f"{code}: {self.errors.read_text(encoding='utf-8', errors='replace')[-1500:]}"
