"""The real ``ralph`` in a process of its own, forked from one that has imported it already.

A command line spends most of its time on imports; tests that start a hundred of them share those.
What is forked is the program as its users start it: own process, own session, own working folder
and environment, standard streams, signals and exit code. Run as a script, this is the process
that forks; imported, it is the helper which asks it to.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn


class ForkedProcess:
    """As much of a ``subprocess.Popen`` as a test needs."""

    def __init__(self, status: int) -> None:
        self._status = os.fdopen(status, "rb", buffering=0)
        self.returncode: int | None = None
        self.pid = int(self._read_line())

    def poll(self) -> int | None:
        """The exit code, minus the signal's number where one ended it; None while it lives."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"ralph {self.pid}", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        self._status.close()

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int(self._read_line())
        return self.returncode

    def _read_line(self) -> bytes:
        return self._status.readline()


class Nursery:
    """The process that forks, as its user sees it."""

    def __init__(self, server_folder: Path) -> None:
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._asking = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(server_folder)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def fork(
        self, folder: Path, arguments: tuple[str, ...], environment: Mapping[str, str], *fds: int
    ) -> ForkedProcess:
        """Start ``ralph`` with these standard streams: input, output and error."""
        request = json.dumps([str(folder), arguments, dict(environment)]).encode() + b"\n"
        read_end, write_end = os.pipe()
        with self._asking:
            n_sent = socket.send_fds(self._socket, [request], [*fds, write_end])
            self._socket.sendall(request[n_sent:])
        os.close(write_end)
        return ForkedProcess(read_end)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


def load() -> None:
    """Import and build all that some ``ralph`` needs on its way, for every one that is forked."""
    import git.cmd  # noqa: F401
    import watchdog.observers  # noqa: F401

    from ralph_ls.cli.verbs import VERBS, make_command
    from ralph_ls.engine import start  # noqa: F401
    from ralph_ls.protocol.base import WireModel
    from ralph_ls.protocol.commands import COMMAND_ADAPTER
    from ralph_ls.protocol.events import EVENT_ADAPTER

    make_command(*VERBS)
    for verb in VERBS:
        make_command(verb)
    models = [WireModel]
    for model in models:
        models.extend(model.__subclasses__())
        model.model_rebuild()
    EVENT_ADAPTER.rebuild()
    COMMAND_ADAPTER.rebuild()


def serve(connection: socket.socket) -> None:
    """Fork on request until nobody can ask any more."""
    load()
    # What is here stays here: no collection need look at it, nor copy the pages it lies in.
    gc.freeze()
    # The keepers are nobody's to wait for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, fds, _, _ = socket.recv_fds(connection, 1 << 16, 4)
        if not request:
            return
        while not request.endswith(b"\n"):
            request += connection.recv(1 << 16)
        if os.fork() == 0:
            connection.close()
            _keep(json.loads(request), fds)
        for descriptor in fds:
            os.close(descriptor)


def _keep(request: tuple[str, list[str], dict[str, str]], fds: list[int]) -> NoReturn:
    """Be the parent of one ``ralph``: tell its pid, then how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = fds[3]
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _become_ralph(request, fds[:3])
    for descriptor in fds[:3]:
        os.close(descriptor)
    os.write(status, b"%d\n" % pid)
    _, how = os.waitpid(pid, 0)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(how))
    os._exit(0)


def _become_ralph(request: tuple[str, list[str], dict[str, str]], fds: list[int]) -> NoReturn:
    from ralph_ls.cli.main import run

    folder, arguments, environment = request
    os.setsid()
    for number, descriptor in enumerate(fds):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # The old ones know what kind of file they had before them.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False, errors="backslashreplace")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["ralph", *arguments]
    # It leaves by SystemExit, through everything that this process was before.
    run()
    raise AssertionError("ralph ends with a code")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
