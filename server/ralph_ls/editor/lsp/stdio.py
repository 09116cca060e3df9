"""Standard input and output as a connection that nothing can block, garble or outlive.

Reading and writing have a thread each, which touch nothing but bytes: the event loop never waits
for a client, and busy handlers never hold up input. Standard output itself is moved out of reach,
so that a ``print`` goes to the log.

The client watch ends the server with its editor. A closed pipe shows that mostly, but not if a
third process has inherited the pipe and holds it open; then only the client's process id does (LSP,
``processId``).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.editor.lsp.outbox import Outbox
from ralph_ls.store.files import write_all

if TYPE_CHECKING:
    from ralph_ls.protocol.lsp.methods import OutputParams

CHUNK = 64 * 1024
"""Bytes read or written at once."""
CHUNKS_AHEAD = 16
"""How many of them are read before the event loop has looked at the first."""
BACKLOG_MARK = 256 * 1024
"""Bytes that wait; below it the client keeps up."""
BACKLOG_LIMIT = 64 * 1024 * 1024
"""Bytes that wait; above it the client has stopped reading for good."""
CONNECTING_PATIENCE = 10.0
"""Seconds to reach a client that listens."""
CLOSING_PATIENCE = 2.0
"""Seconds a client gets to read what is left when the server ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioDescriptors:
    """Where the client is read from and written to; nobody else in the process knows them."""

    input: int
    output: int


def take_stdio() -> StdioDescriptors:
    """Move standard input and output aside, for this process and all that it starts.

    From here on standard input is empty and standard output goes where standard error goes.

    pygls 2.1.1: a ``print`` of a handler, or of a child process, goes into the stream of messages.
    Upstream: duplicate the descriptors at the start and point 1 at 2.
    """
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(nothing, 2)  # We were started without a standard error.
    own = StdioDescriptors(input=os.dup(0), output=os.dup(1))  # Neither is inherited.
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(own.input, os.O_BINARY)
        msvcrt.setmode(own.output, os.O_BINARY)
    else:
        # The parent may have made the pipes non-blocking; our threads are there to wait.
        os.set_blocking(own.input, True)
        os.set_blocking(own.output, True)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if nothing > 2:
        os.close(nothing)
    sys.stdout = sys.stderr
    return own


class NoConnection(Exception):
    """The client's socket cannot be used; the message says why."""


def connect_to_socket(path: Path) -> StdioDescriptors:
    """The client's own socket file (``--pipe`` of LSP): the user's, and writable for nobody else.

    Raises ``NoConnection``.
    """
    try:
        found = path.lstat()
        if not stat.S_ISSOCK(found.st_mode):
            raise NoConnection(f"{path} is not a socket")
        if found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise NoConnection(f"{path} is not yours alone: others could steer the server")
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(path))
    except OSError as error:
        raise NoConnection(f"{path}: {error.strerror or error}") from error
    return _descriptors_of(connection)


def connect_to_port(port: int) -> StdioDescriptors:
    """The client's own port on this machine (``--socket`` of LSP); raises ``NoConnection``."""
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=CONNECTING_PATIENCE)
    except OSError as error:
        raise NoConnection(f"port {port}: {error.strerror or error}") from error
    connection.settimeout(None)
    return _descriptors_of(connection)


def _descriptors_of(connection: socket.socket) -> StdioDescriptors:
    descriptor = connection.detach()
    return StdioDescriptors(input=descriptor, output=os.dup(descriptor))


def start_reading(
    descriptor: int, deliver: Callable[[bytes], None], *, name: str = "ralph-ls reader"
) -> None:
    """Have ``deliver`` called in the running loop with what comes, and with nothing at the end.

    pygls 2.1.1: ``StdinAsyncReader`` reads in the handlers' thread pool, so busy handlers hold up
    input. Upstream: read in a separate thread.
    """
    loop = asyncio.get_running_loop()
    slots = threading.Semaphore(CHUNKS_AHEAD)

    def hand_over(data: bytes) -> None:
        slots.release()
        deliver(data)

    def read() -> None:
        data = b"-"
        while data:
            slots.acquire()
            try:
                data = os.read(descriptor, CHUNK)
            except OSError:
                data = b""
            try:
                loop.call_soon_threadsafe(hand_over, data)
            except RuntimeError:
                return  # The loop is closed: nobody is there to read for.

    threading.Thread(target=read, name=name, daemon=True).start()


class PipeWriter:
    """Writes messages from a separate thread; every method may be called from any thread.

    pygls 2.1.1: ``StdoutWriter`` writes in the event loop, so a client that does not read stops the
    server. Upstream: queue messages and write them in a thread.
    """

    def __init__(self, descriptor: int, *, on_lost: Callable[[str], None]) -> None:
        """``on_lost`` is called once, from any thread, with why nothing can be written any more."""
        self._descriptor = descriptor
        self._on_lost = on_lost
        self._outbox = Outbox()
        self._changed = threading.Condition()
        self._in_flight = 0
        self._closing = False
        self._lost = False
        self._waiting: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name="ralph-ls writer", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """Bytes, about, that the client has not taken yet."""
        return len(self._outbox) + self._in_flight

    def write(self, message: bytes) -> None:
        """Queue a framed message; nothing that was queued is ever left out."""
        with self._changed:
            if self._lost:
                return
            self._outbox.put(message)
            self._changed.notify()
            too_much = self.backlog > BACKLOG_LIMIT
        if too_much:
            self._lose(f"the client does not read, and {self.backlog} bytes are waiting for it")

    def write_output(self, params: OutputParams) -> None:
        """Queue output, which gives way when the client is slow."""
        with self._changed:
            if self._lost:
                return
            self._outbox.put_output(params)
            self._changed.notify()

    def write_messages(self, workspace: str, run: str, messages: Sequence[bytes]) -> None:
        """Queue an agent's messages, each as its JSON; they give way as output does."""
        with self._changed:
            if self._lost:
                return
            self._outbox.put_messages(workspace, run, messages)
            self._changed.notify()

    async def drained(self) -> None:
        """Wait until the client keeps up: read on in a journal only then."""
        loop = asyncio.get_running_loop()
        caught_up = asyncio.Event()
        with self._changed:
            if self.backlog < BACKLOG_MARK or self._lost or self._closing:
                return
            self._waiting.append(partial(_set_threadsafe, loop, caught_up))
        await caught_up.wait()

    def close(self) -> None:
        """Write what is left, as far as the client takes it in time, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(CLOSING_PATIENCE)

    def _run(self) -> None:
        try:
            while data := self._next():
                write_all(self._descriptor, data)
        except OSError as error:
            self._lose(f"the client closed the pipe: {error}")
        except Exception as error:  # noqa: BLE001 -- nobody else would ever hear of it
            self._lose(f"the writer failed: {error!r}")
        with self._changed:
            self._in_flight = 0
            self._wake()

    def _next(self) -> bytes:
        """Blocks until there is something to write; empty when there never will be."""
        with self._changed:
            self._in_flight = 0
            if len(self._outbox) < BACKLOG_MARK:
                self._wake()
            while not self._outbox and not self._closing:
                self._changed.wait()
            data = self._outbox.take(CHUNK)
            self._in_flight = len(data)
            return data

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()

    def _lose(self, why: str) -> None:
        with self._changed:
            first, self._lost = not self._lost, True
        if first:
            self._on_lost(why)


def _set_threadsafe(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
        loop.call_soon_threadsafe(event.set)


CHECK_INTERVAL = 5.0
"""Seconds between two looks, where the system cannot wake us when a process ends."""


def watch_client(pid: int, on_gone: Callable[[], None]) -> Callable[[], None]:
    """Call ``on_gone`` in the running loop as soon as ``pid`` is gone.

    Gives what ends the watch.

    Linux wakes us. Elsewhere we poll every few seconds.

    pygls 2.1.1: ``processId`` is not watched, so a server whose pipes are inherited outlives a
    killed client. Upstream: end with the client's process, as LSP asks for.
    """
    if pid <= 0 or not _shares_our_numbers():
        return _nothing
    if sys.platform == "linux":
        try:
            return _wait_for_end(os.pidfd_open(pid), on_gone)
        except ProcessLookupError:
            on_gone()
            return _nothing
        except OSError:
            pass  # An old kernel, or a sandbox that forbids it.
    return _poll_process(pid, on_gone)


def _shares_our_numbers() -> bool:
    """False in a container whose client is outside: its process id means nothing in here."""
    return sys.platform == "win32" or os.getppid() != 0


def _wait_for_end(descriptor: int, on_gone: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        nonlocal descriptor
        if descriptor >= 0:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            descriptor = -1

    def end() -> None:
        stop()
        on_gone()

    loop.add_reader(descriptor, end)
    return stop


def _poll_process(pid: int, on_gone: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()
    is_alive = _process_probe(pid)
    timer: asyncio.TimerHandle | None = None

    def poll() -> None:
        nonlocal timer
        if is_alive():
            timer = loop.call_later(CHECK_INTERVAL, poll)
        else:
            on_gone()

    def stop() -> None:
        if timer is not None:
            timer.cancel()

    poll()
    return stop


def _process_probe(pid: int) -> Callable[[], bool]:
    """A way to see whether the process lives, which changes nothing about it."""
    if sys.platform == "win32":  # Here signal 0 is Ctrl-C; a handle also survives a reused id.
        import ctypes

        synchronize, still_running = 0x00100000, 0x102
        kernel = ctypes.WinDLL("kernel32")
        handle = kernel.OpenProcess(synchronize, False, pid)
        return lambda: bool(handle) and kernel.WaitForSingleObject(handle, 0) == still_running
    return lambda: _takes_signals(pid)


def _takes_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # It lives, and belongs to somebody else.
    return True


def _nothing() -> None:
    """There is no watch to end."""
