"""The real ``ralph`` in a separate process, forked from one that has imported it already.

A command line spends most of its time on imports; tests that start a hundred of them share those.
What is forked is the program as its users start it: own process, own session, own working folder
and environment, standard streams, signals and exit code; a terminal that it is given for its
streams is the one that it takes keys from. What is about the start itself (imports, locales, closed
streams, ``nohup``) is tested with ``tests.engine.project_builder.start_ralph``, the real start. Run
as a script, this is the process that forks; imported, it is the helper which asks it to.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, cast
from unittest.mock import patch

Request = tuple[str, list[str], dict[str, str], str, bool]
"""Folder, arguments, environment, the module where it is not ``ralph``, and ``really_launches``."""


RALPH = ""
"""The program that is forked unless a test names the module of another one."""


class ForkedProcess:
    """As much of a ``subprocess.Popen`` as a test needs."""

    stdin: IO[bytes] | None = None
    stdout: IO[bytes] | None = None
    stderr: IO[bytes] | None = None

    def __init__(self, status: int) -> None:
        self._status = os.fdopen(status, "rb", buffering=0)
        self._reading = threading.Lock()
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
            # It may have ended, and its end not be reported yet.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        self._status.close()

    # A program that launched it does not know that there is something to close.
    __del__ = close

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            # Several threads may wait, and the line is there once.
            with self._reading:
                if self.returncode is None:
                    self.returncode = int(self._read_line())
        return self.returncode

    def _read_line(self) -> bytes:
        return self._status.readline()


class Forks:
    """A connection to the process that forks."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._asking = threading.Lock()

    def fork(
        self,
        folder: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *fds: int,
        module: str = RALPH,
        really_launches: bool = False,
    ) -> ForkedProcess:
        """Start ``ralph`` with these standard streams: input, output and error.

        ``module``: the one to start instead, as ``python -m`` would, by its ``main``. An engine
        that it launches in the background is forked as well, unless it ``really_launches``.
        """
        words = [str(folder), list(arguments), dict(environment), module, really_launches]
        request = json.dumps(words).encode() + b"\n"
        read_end, write_end = os.pipe()
        with self._asking:
            n_sent = socket.send_fds(self._socket, [request], [*fds, write_end])
            self._socket.sendall(request[n_sent:])
        os.close(write_end)
        return ForkedProcess(read_end)


class Launches:
    """What a program that launches another ``ralph`` uses of ``subprocess``; it is forked."""

    PIPE = subprocess.PIPE
    DEVNULL = subprocess.DEVNULL
    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self, forks: Forks) -> None:
        self._forks = forks

    def Popen(  # noqa: N802
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: IO[bytes] | int,
        stdout: IO[bytes] | int,
        stderr: IO[bytes] | int,
        **_: Any,
    ) -> ForkedProcess:
        """Start the arguments after the program's name."""
        ours: list[IO[bytes] | None] = []
        theirs: list[int] = []
        for number, stream in enumerate((stdin, stdout, stderr)):
            end = None
            if stream == self.PIPE:
                read_end, write_end = os.pipe()
                given, kept = (write_end, read_end) if number else (read_end, write_end)
                end = os.fdopen(kept, "rb" if number else "wb")
            elif stream == self.DEVNULL:
                given = os.open(os.devnull, os.O_RDWR)
            else:
                given = os.dup(cast("IO[bytes]", stream).fileno())
            theirs.append(given)
            ours.append(end)
        module, *arguments = command[command.index("-m") + 1 :]
        named = RALPH if module == "ralph_ls" else module
        process = self._forks.fork(cwd, arguments, env, *theirs, module=named)
        for descriptor in theirs:
            os.close(descriptor)
        process.stdin, process.stdout, process.stderr = ours
        return process

    def run(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], **_: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end without input, and give what it printed."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            process = self.Popen(
                command, cwd=cwd, env=env, stdin=self.DEVNULL, stdout=out, stderr=errors
            )
            code = process.wait()
            out.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(command, code, out.read(), errors.read())


class ForkServer(Forks):
    """The process that forks, as its user sees it."""

    def __init__(self, server_folder: Path) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                cwd=server_folder,
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(server_folder)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


@functools.cache
def fork_server() -> ForkServer:
    """The one process that forks ``ralph`` for all tests of this one."""
    made = ForkServer(Path(__file__).resolve().parents[2] / "server")
    atexit.register(made.close)
    return made


def load() -> None:
    """Import and build all that some ``ralph`` needs on its way, for every one that is forked."""
    import concurrent.futures.thread  # noqa: F401
    import encodings.utf_8_sig  # noqa: F401

    import filelock  # noqa: F401
    import platformdirs
    import watchdog.observers  # noqa: F401

    from ralph_ls.cli.command_line import make_command
    from ralph_ls.cli.main import main
    from ralph_ls.cli.show import keyboard  # noqa: F401
    from ralph_ls.cli.verbs import VERBS
    from ralph_ls.core.loop.evidence.churn import looks_like_output
    from ralph_ls.core.loop.profiles import OPTIONAL_SECTIONS
    from ralph_ls.core.plan.diff import merge  # noqa: F401
    from ralph_ls.core.plan.parse.markdown import parse_markdown
    from ralph_ls.engine.demo import agent  # noqa: F401
    from ralph_ls.engine.parallel import effect_runner, engine, lane_main  # noqa: F401
    from ralph_ls.engine.plan import beads, markdown, request, stories  # noqa: F401
    from ralph_ls.engine.run import runner  # noqa: F401
    from ralph_ls.protocol.base import WireModel
    from ralph_ls.protocol.run.commands import COMMAND_ADAPTER
    from ralph_ls.protocol.run.events import EVENT_ADAPTER
    from ralph_ls.protocol.run.report import STATUSES, TESTS_STATUSES, WORK_TYPES, word_of
    from ralph_ls.store.project.environment_settings import read_environment
    from ralph_ls.store.project.prompt_texts import built_in_texts, format_texts

    # What typer imports on its way; nobody hears it.
    with contextlib.redirect_stdout(io.StringIO()):
        main(["plan", "--help"])
    for names in (VERBS, *((verb,) for verb in VERBS)):
        for command in make_command(*names).commands.values():
            for parameter in command.params:
                parameter.get_runtime_param()
    models = [WireModel]
    for model in models:
        models.extend(model.__subclasses__())
        model.model_rebuild()
    EVENT_ADAPTER.rebuild()
    COMMAND_ADAPTER.rebuild()
    platformdirs.user_state_dir()
    built_in_texts()
    format_texts()
    read_environment({})
    read_environment({"RALPH_MAX_ITERATIONS": "1"})
    looks_like_output("logs/a.py")
    for known in (STATUSES, TESTS_STATUSES, WORK_TYPES):
        word_of("", known)
    for optional in ((), OPTIONAL_SECTIONS):
        plan = "# Plan\n\n## High priority\n\n- [ ] A task\n"
        parse_markdown(plan, optional_sections=optional)
    # An event loop makes this set again for each of the forty signals that an engine listens to.
    patch.object(signal, "valid_signals", functools.cache(signal.valid_signals)).start()


def serve(connection: socket.socket) -> None:
    """Fork on request until nobody can ask any more, and report how each ended."""
    load()
    # What is here stays here: no collection need look at it, nor copy the pages it is in.
    gc.freeze()
    # Nor often at what a program makes: few live for more than a second.
    gc.set_threshold(10_000)
    ended, has_ended = socket.socketpair()
    for end in (ended, has_ended):
        end.setblocking(False)
    # Each child that ends writes here, so that the one wait below is for both.
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(has_ended.fileno())
    statuses: dict[int, int] = {}
    # The first is that of the tests, the others those of programs which may launch engines.
    connections = [connection]
    while connection in connections:
        ready, _, _ = select.select([*connections, ended], [], [])
        if ended in ready:
            ended.recv(1 << 12)
            _tell_ends(statuses)
        for asking in (one for one in connections[:] if one in ready):
            request, fds, _, _ = socket.recv_fds(asking, 1 << 16, 4)
            if not request:
                connections.remove(asking)
                asking.close()
                continue
            while not request.endswith(b"\n"):
                request += asking.recv(1 << 16)
            ours, theirs = socket.socketpair()
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for end in (*connections, ended, has_ended, ours):
                    end.close()
                for descriptor in (fds[3], *statuses.values()):
                    os.close(descriptor)
                _become_program(json.loads(request), fds[:3], theirs)
            theirs.close()
            connections.append(ours)
            for descriptor in fds[:3]:
                os.close(descriptor)
            statuses[pid] = fds[3]
            os.write(fds[3], b"%d\n" % pid)


def _tell_ends(statuses: dict[int, int]) -> None:
    """Report every child that is gone."""
    while statuses:
        pid, how = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        status = statuses.pop(pid)
        # The process that asked for it may be gone as well.
        with contextlib.suppress(BrokenPipeError):
            os.write(status, b"%d\n" % os.waitstatus_to_exitcode(how))
        os.close(status)


def _become_program(request: Request, fds: list[int], forks: socket.socket) -> NoReturn:
    from ralph_ls.cli.main import run
    from ralph_ls.engine.parallel import lane_starter
    from ralph_ls.store.run import launch, one_shot_process

    folder, arguments, environment, module, really_launches = request
    if really_launches:
        forks.close()
    else:
        for launcher in (launch, one_shot_process, lane_starter):
            patch.object(launcher, "subprocess", Launches(Forks(forks))).start()
    os.setsid()
    # Tests that run under nohup do not pass this on to their programs.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if os.isatty(fds[0]):
        fcntl.ioctl(fds[0], termios.TIOCSCTTY, 0)
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
    sys.argv = [module or "ralph", *arguments]
    try:
        if module != RALPH:
            # Some are modules of the tests.
            sys.path.append(str(Path(__file__).resolve().parents[2]))
            sys.exit(importlib.import_module(module).main())
        run()
        raise AssertionError("ralph ends with a code")
    except SystemExit as leaving:
        if isinstance(leaving.code, int):
            _leave(leaving.code)
        raise


def _leave(code: int) -> None:
    """End this process as the interpreter does, up to where it takes all modules apart.

    That would first copy the pages of all that the process before it had loaded, which costs as
    much as a short run. Comes back where what was said cannot be written, for the interpreter knows
    what to do then.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
