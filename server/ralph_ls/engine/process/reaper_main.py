"""Nursery: starts agents, each below its own reaper; run as a script, by path.

It is small and has one thread, so forking is fast and safe, unlike in the engine with its threads
and its memory. It reads requests from the socket that is its standard input, one after the other,
and exits when that is closed.

Imports only the standard library, and of that as little as can be: ``signal`` and ``socket`` make
enumerations of all that they wrap, which takes longer than everything else here.
"""

from __future__ import annotations

import ctypes
import gc
import os
import struct
from _signal import (  # type: ignore[import-not-found]
    SIG_DFL,
    SIG_IGN,
    SIGCHLD,
    SIGKILL,
    SIGPIPE,
    SIGSTOP,
    SIGXFSZ,
    signal,
    valid_signals,
)
from _socket import CMSG_LEN, SCM_RIGHTS, SOL_SOCKET, socket

PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
"""From ``linux/prctl.h``."""

HEAD = struct.Struct("=Q")
"""Header of a request: the number of bytes that follow."""

_DESCRIPTORS = struct.Struct("=4i")
"""Standard input, output and error of an agent, and where its status is reported."""

_RESTORED = {SIGPIPE, SIGXFSZ}
"""Signals that Python ignores, and that programs which it starts must not."""

_FIXED = {SIGKILL, SIGSTOP}


def main() -> None:
    """Start agents until the engine is gone."""
    _prctl(PR_SET_NAME, b"ralph-nursery")
    # Reapers are not awaited, so the system may reap them.
    signal(SIGCHLD, SIG_IGN)
    gc.disable()
    channel = socket(fileno=0)
    while (request := _receive(channel)) is not None:
        words, descriptors = request
        if os.fork() == 0:
            try:
                _reap(words, descriptors)
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _receive(channel: socket) -> tuple[list[bytes], list[int]] | None:
    head, ancillary, _, _ = channel.recvmsg(HEAD.size, CMSG_LEN(_DESCRIPTORS.size))
    descriptors: list[int] = []
    for level, kind, data in ancillary:
        if (level, kind, len(data)) == (SOL_SOCKET, SCM_RIGHTS, _DESCRIPTORS.size):
            descriptors += _DESCRIPTORS.unpack(data)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if len(head) < HEAD.size:
        return None
    (left,) = HEAD.unpack(head)
    request = bytearray()
    while len(request) < left:
        part = channel.recv(left - len(request))
        if not part:
            return None
        request += part
    return bytes(request).split(b"\0"), descriptors


def _reap(words: list[bytes], descriptors: list[int]) -> None:
    """Reaper: starts the agent, reports its exit status, and waits for its descendants."""
    status = descriptors[3]
    os.close(0)
    os.setsid()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_NAME, b"ralph-reaper")
    signal(SIGCHLD, SIG_DFL)
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
    for number in valid_signals() - _FIXED - {SIGCHLD}:
        signal(number, SIG_IGN)
    os.write(status, b"%d %d\n" % (os.getpid(), agent))
    os.close(reports)
    os.write(status, b"%s\n" % (os.read(failed, 16) or b"0"))
    # Readers must not wait for the end of a pipe that the reaper keeps open.
    os.closerange(0, status)
    os.closerange(status + 1, os.sysconf("SC_OPEN_MAX"))
    try:
        while True:
            ended, how = os.waitpid(-1, 0)
            if ended == agent:
                _report(status, how)
    except ChildProcessError:
        return


def _report(status: int, how: int) -> None:
    try:
        os.write(status, b"%d\n" % how)
    except OSError:
        return


def _become_agent(words: list[bytes], descriptors: list[int]) -> None:
    folder, program, number, *rest = words
    argv, variables = rest[: int(number)], rest[int(number) :]
    os.setsid()
    # Signals that the engine's caller ignores, as nohup does, stay ignored.
    for one in _RESTORED:
        signal(one, SIG_DFL)
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
