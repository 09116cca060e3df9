"""Nursery: starts agents, each below its own reaper; run as a script, by path.

It is small and has one thread, so forking is fast and safe, unlike in the engine with its threads
and its memory. It reads requests from the socket that is its standard input, one after the other,
and exits when that is closed. Imports only the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import struct

PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
"""From ``linux/prctl.h``."""

HEAD = struct.Struct("=Q")
"""Header of a request: the number of bytes that follow."""

_RESTORED = {signal.SIGPIPE, signal.SIGXFSZ}
"""Signals that Python ignores, and that programs which it starts must not."""

_FIXED = {signal.SIGKILL, signal.SIGSTOP}


def main() -> None:
    """Start agents until the engine is gone."""
    _prctl(PR_SET_NAME, b"ralph-nursery")
    # Reapers are not awaited, so the system may reap them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.disable()
    with socket.socket(fileno=0) as channel:
        while (request := _receive(channel)) is not None:
            words, descriptors = request
            if os.fork() == 0:
                try:
                    _reap(words, descriptors)
                finally:
                    os._exit(0)
            for descriptor in descriptors:
                os.close(descriptor)


def _receive(channel: socket.socket) -> tuple[list[bytes], list[int]] | None:
    head, descriptors, _, _ = socket.recv_fds(channel, HEAD.size, 4)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if len(head) < HEAD.size:
        return None
    (left,) = HEAD.unpack(head)
    data = bytearray()
    while len(data) < left:
        part = channel.recv(left - len(data))
        if not part:
            return None
        data += part
    return bytes(data).split(b"\0"), descriptors


def _reap(words: list[bytes], descriptors: list[int]) -> None:
    """Reaper: starts the agent, reports its exit status, and waits for its descendants."""
    status = descriptors[3]
    os.close(0)
    os.setsid()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_NAME, b"ralph-reaper")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    failed, fails = os.pipe()
    is_reported, reports = os.pipe()
    agent = os.fork()
    if agent == 0:
        try:
            # An agent may kill this reaper at once; its pid must be known by then.
            os.close(reports)
            os.read(is_reported, 1)
            _become_agent(words, descriptors)
        except OSError as error:
            os.write(fails, b"%d" % (error.errno or 0))
        finally:
            os._exit(127)
    os.close(fails)
    for number in signal.valid_signals() - _FIXED - {signal.SIGCHLD}:
        signal.signal(number, signal.SIG_IGN)
    os.write(status, b"%d %d\n" % (os.getpid(), agent))
    os.close(reports)
    os.write(status, b"%s\n" % (os.read(failed, 16) or b"0"))
    # Readers must not wait for the end of a pipe that the reaper keeps open.
    os.closerange(0, status)
    os.closerange(status + 1, os.sysconf("SC_OPEN_MAX"))
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, how = os.waitpid(-1, 0)
            if ended == agent:
                with contextlib.suppress(OSError):
                    os.write(status, b"%d\n" % how)


def _become_agent(words: list[bytes], descriptors: list[int]) -> None:
    folder, program, number, *rest = words
    argv, variables = rest[: int(number)], rest[int(number) :]
    os.setsid()
    # Signals that the engine's caller ignores, as nohup does, stay ignored.
    for one in _RESTORED:
        signal.signal(one, signal.SIG_DFL)
    for target, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, target)
    os.chdir(folder)
    pairs = (variable.partition(b"=") for variable in variables)
    os.execve(program, argv, {name: value for name, _, value in pairs})  # noqa: S606


def _prctl(option: int, value: bytes | int) -> None:
    _LIBC.prctl(option, value, 0, 0, 0)


_LIBC = ctypes.CDLL(None)


if __name__ == "__main__":
    main()
