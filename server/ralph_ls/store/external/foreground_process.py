"""Foreground process: one of our programs that has this process's terminal for a while.

Such as the full screen while its run works: it draws, and a failure or a slow terminal of it cannot
delay the run. What it asks for comes over a pair of connected sockets that no other process has,
as lines of JSON, and is answered in the same way.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ralph_ls.store.own_python import own_command

PATIENCE = 5.0
"""Seconds it has to restore the terminal before it is killed."""

LARGEST = 1 << 20
"""Bytes of a line."""


class ForegroundProcess:
    """A started process with our standard streams."""

    def __init__(
        self, arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
    ) -> None:
        """The descriptor of its socket follows the arguments."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                own_command("-m", "ralph_ls", *arguments, str(theirs.fileno())),
                cwd=cwd,
                env=dict(environment),
                pass_fds=(theirs.fileno(),),
            )
        self._socket = ours

    def serve(self, answer: Callable[[str, str], list[str]]) -> int:
        """Answer what it asks for until it has ended; returns its exit code."""
        with (
            contextlib.suppress(OSError),
            self._socket,
            self._socket.makefile("rwb") as channel,
        ):
            while line := channel.readline(LARGEST):
                asked = json.loads(line)
                channel.write(_line(answer(asked["order"], asked["text"])))
                channel.flush()
        return self._process.wait()

    def end(self) -> None:
        """End it, and wait until it has restored the terminal."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class ForegroundChannel:
    """The other end, in the started process."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._channel = self._socket.makefile("rwb")

    def ask(self, order: str, text: str) -> list[str]:
        """What the process above answers; empty where it is gone."""
        try:
            self._channel.write(_line({"order": order, "text": text}))
            self._channel.flush()
            return [str(one) for one in json.loads(self._channel.readline(LARGEST) or b"[]")]
        except OSError:
            return []


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"
