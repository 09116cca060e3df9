"""A network between one machine of a fleet and the rest, which a test can cut.

It is a network namespace where that is permitted (as root, mostly), else a TCP proxy for the
database and one for the remotes: there connections are dropped and no new ones are accepted.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence


def free_port(host: str) -> int:
    with socket.socket() as one:
        one.bind((host, 0))
        port: int = one.getsockname()[1]
        return port


class Namespace:
    """A network namespace with one link, to this machine."""

    keeps_connections = True
    """Whether both ends wait, as in a real network, or learn at once that it is over."""

    def __init__(self) -> None:
        self._name = f"ralph-{os.getpid()}"
        self._link = f"rl{os.getpid()}"
        number = os.getpid() % 16384
        block = f"10.231.{number // 64}.{number % 64 * 4}"
        start = block.rpartition(".")
        first = int(start[2])
        self.host, inner = f"{start[0]}.{first + 1}", f"{start[0]}.{first + 2}"
        self._peer = f"{self._link}b"
        try:
            _ip("netns", "add", self._name)
            _ip("link", "add", self._link, "type", "veth", "peer", self._peer)
            _ip("link", "set", self._peer, "netns", self._name)
            _ip("addr", "add", f"{self.host}/30", "dev", self._link)
            _ip("link", "set", self._link, "up")
            self._inside("addr", "add", f"{inner}/30", "dev", self._peer)
            self._inside("link", "set", "lo", "up")
            self.restore()
        except OSError:
            self.close()
            raise

    def join(self, ports: Mapping[str, int]) -> tuple[Sequence[str], dict[str, int]]:
        """What a command on the machine begins with, and the ports that it reaches."""
        return ("ip", "netns", "exec", self._name), dict(ports)

    def cut(self) -> None:
        self._inside("link", "set", self._peer, "down")

    def restore(self) -> None:
        self._inside("link", "set", self._peer, "up")

    def close(self) -> None:
        for words in (("link", "del", self._link), ("netns", "del", self._name)):
            with contextlib.suppress(OSError):
                _ip(*words)

    def _inside(self, *words: str) -> None:
        _ip("-n", self._name, *words)


class Proxies:
    """TCP proxies on the loopback interface, in threads."""

    keeps_connections = False

    host = "127.0.0.1"

    def __init__(self) -> None:
        self._is_cut = threading.Event()
        self._open: list[socket.socket] = []
        self._servers: list[socket.socket] = []

    def join(self, ports: Mapping[str, int]) -> tuple[Sequence[str], dict[str, int]]:
        return (), {name: self._serve(port) for name, port in ports.items()}

    def cut(self) -> None:
        self._is_cut.set()
        for one in self._open:
            _end(one)
        self._open.clear()

    def restore(self) -> None:
        self._is_cut.clear()

    def close(self) -> None:
        for one in self._servers:
            _end(one)
        self.cut()

    def _serve(self, target: int) -> int:
        server = socket.create_server((self.host, 0))
        self._servers.append(server)
        threading.Thread(target=self._accept, args=(server, target), daemon=True).start()
        port: int = server.getsockname()[1]
        return port

    def _accept(self, server: socket.socket, target: int) -> None:
        while True:
            try:
                here, _ = server.accept()
            except OSError:
                return
            if self._is_cut.is_set():
                here.close()
                continue
            there = socket.create_connection((self.host, target))
            self._open += [here, there]
            for one, other in ((here, there), (there, here)):
                threading.Thread(target=_pump, args=(one, other), daemon=True).start()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr)


@contextlib.contextmanager
def cuttable_network() -> Iterator[Namespace | Proxies]:
    """The best network that this machine permits; proxies, too, with RALPH_FLEET_PROXIES=1."""
    made: Namespace | Proxies
    try:
        made = Proxies() if os.environ.get("RALPH_FLEET_PROXIES") else Namespace()
    except OSError:
        made = Proxies()
    try:
        yield made
    finally:
        made.close()
