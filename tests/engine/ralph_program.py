"""A program ``ralph`` or ``ralph-ls`` for clients and scripts that start one; each start is a fork.

What is on PATH passes its words, folder, environment and standard streams on, as fake programs do,
and ends with the exit code of the fork. To start the real one takes a second of imports; each kind
of client has a test that does, and what is about the processes around it needs the real one.
"""

from __future__ import annotations

import atexit
import functools
import marshal
import os
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from tests.engine.forked_ralph import Forks, fork_server
from tests.engine.project_builder import PATIENCE
from tests.fakes.forked_program import CLIENT, ROOT


class ForkedProgram:
    """The program, in a separate folder for PATH."""

    def __init__(self, forks: Forks, name: str, *words: str) -> None:
        """``words`` are put before those of each start."""
        self._forks = forks
        self._words = words
        # A socket's path must be short, which a test's own folder is not.
        self._scratch = tempfile.TemporaryDirectory(prefix="ls-")
        self.folder = Path(self._scratch.name)
        address = str(self.folder / "socket")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(address)
        self._listener.listen(16)
        program = self.folder / name
        values = {"python": sys.executable, "address": address, "root": str(ROOT), "module": ""}
        program.write_text(CLIENT.format(**values), encoding="utf-8")
        program.chmod(0o755)
        self._answering: list[threading.Thread] = []
        self._serving = threading.Thread(target=self._serve, daemon=True)
        self._serving.start()

    def close(self) -> None:
        """Take no more clients, and wait for the programs of those whose tests have just ended."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._serving.join(PATIENCE)
        self._listener.close()
        for thread in self._answering:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a program has outlived its client"
        self._scratch.cleanup()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._answer, args=(client,), daemon=True)
                self._answering.append(thread)
                thread.start()

    def _answer(self, client: socket.socket) -> None:
        """Fork a program for one client, and report its exit code."""
        with client:
            request, streams, _, _ = socket.recv_fds(client, 1 << 16, 3)
            while len(request) < 4 or len(request) < 4 + int.from_bytes(request[:4], "big"):
                request += client.recv(1 << 16)
            arguments, folder, environment = marshal.loads(request[4:])
            process = self._forks.fork(
                Path(folder),
                [*self._words, *arguments],
                {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()},
                *streams,
            )
            for stream in streams:
                os.close(stream)
            code = process.wait()
            process.close()
            # One that was killed does not want to know.
            with suppress(OSError):
                client.sendall(bytes([code & 0xFF]))


@functools.cache
def ralph_folder() -> Path:
    """The folder of a ``ralph`` for PATH, for all tests of this process."""
    made = ForkedProgram(fork_server(), "ralph")
    atexit.register(made.close)
    return made.folder
