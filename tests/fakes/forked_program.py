"""A fake program that is forked from a process which has imported it already.

What is on PATH is a client of a few lines, which passes its words, folder, environment and
standard streams on, and ends with the exit code of the fork: a run calls such a program dozens of
times, and most of each call would be imports. Where nobody can be asked to fork, as in a sandbox,
the client does the work itself. Run as a script, this is the process that forks.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import marshal
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]

# Imports nothing but what is built in: that is what makes it quick.
CLIENT = """\
#!{python} -IS
import marshal, posix, sys

try:
    import _socket

    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.connect({address!r})
    request = marshal.dumps((sys.argv[1:], posix.getcwd(), posix.environ))
except OSError:
    sys.path.insert(0, {root!r})
    from importlib import import_module

    sys.exit(import_module({module!r}).main(sys.argv[1:]))
request = len(request).to_bytes(4, "big") + request
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
n_sent = server.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
while n_sent < len(request):
    n_sent += server.send(request[n_sent:])
code = server.recv(1)
posix._exit(code[0] if code else 70)
"""


def install_forked(program: Path, module: str) -> None:
    """Write a program that is the ``main`` of a module, which takes the words after its name."""
    text = CLIENT.format(
        python=sys.executable, address=_address_of(module), root=str(ROOT), module=module
    )
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


def install_whole(program: Path, module: str) -> None:
    """As ``install_forked``, without a fork: the program runs in the process that was started."""
    words = f"sys.path.insert(0, {str(ROOT)!r})\nfrom {module} import main"
    text = f"#!{sys.executable} -IS\nimport sys\n\n{words}\n\nsys.exit(main(sys.argv[1:]))\n"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


@functools.cache
def _address_of(module: str) -> str:
    """Start the one process that forks this module for all tests of this one."""
    folder = tempfile.mkdtemp(prefix="fake-")
    address = str(Path(folder, "socket"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-IS", __file__, str(ROOT), module, str(listener.fileno())],
            env={"PATH": os.environ["PATH"]},
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
    atexit.register(_end, process, Path(folder))
    return address


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    (folder / "socket").unlink()
    folder.rmdir()


def serve(module: str, listener: socket.socket) -> None:
    """Fork for each client until the process that wants them is gone."""
    import gc
    import select

    program = importlib.import_module(module)
    gc.freeze()
    # Nobody waits for them: each reports to its client how it ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Ctrl-C is for the tests, which then close our standard input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
            return
        client, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _answer(program, client)
        client.close()


def _answer(program: Any, client: socket.socket) -> NoReturn:
    """Be the program for one client."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        request, streams, _, _ = socket.recv_fds(client, 1 << 16, 3)
        while len(request) < 4 or len(request) < 4 + int.from_bytes(request[:4], "big"):
            if not (part := client.recv(1 << 16)):
                os._exit(code)
            request += part
        arguments, folder, environment = marshal.loads(request[4:])
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False, errors="backslashreplace")
        os.chdir(folder)
        os.environ.clear()
        os.environ.update({os.fsdecode(k): os.fsdecode(v) for k, v in environment.items()})
        try:
            code = program.main(arguments)
        except SystemExit as leaving:
            if not isinstance(leaving.code, int):
                raise
            code = leaving.code
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - nothing may get back into the loop of clients
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        # A client that was killed waits for nothing.
        with contextlib.suppress(OSError):
            client.sendall(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    # The fakes are found; nothing else of the folder of this script is.
    sys.path[:] = [
        sys.argv[1],
        *(entry for entry in sys.path if entry != str(Path(__file__).parent)),
    ]
    serve(sys.argv[2], socket.socket(fileno=int(sys.argv[3])))
