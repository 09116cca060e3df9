"""Servers for notifications on this machine: HTTP as ntfy and Slack have it, and SMTP.

Each has a thread, takes any request and remembers it. ``wait_for`` waits for so many of them.
"""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 60.0


@dataclass
class Received:
    """What a server got, in order."""

    port: int = 0
    items: list[tuple[str, str]] = field(default_factory=list)
    """The path of a request, or the recipient of a mail, and the text."""
    status: int = 200
    """What a request is answered with."""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, where: str, text: str) -> None:
        with self.changed:
            self.items.append((where, text))
            self.changed.notify_all()

    def wait_for(self, count: int) -> list[tuple[str, str]]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.items) >= count, PATIENCE), self.items
            return list(self.items)

    def json(self) -> list[dict[str, Any]]:
        return [json.loads(text) for _, text in self.items]


@contextmanager
def http_server() -> Iterator[Received]:
    """Takes every POST."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            received.add(self.path, self.rfile.read(length).decode())
            self.send_response(received.status)
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    yield from _serving(server, received)


@contextmanager
def smtp_server() -> Iterator[Received]:
    """Takes every mail, without encryption and login."""
    received = Received()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            to = ""
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline().decode().strip():
                verb = line[:4].upper()
                if verb == "RCPT":
                    to = line.partition(":")[2].strip("<> ")
                if verb == "QUIT":
                    self.wfile.write(b"221 bye\r\n")
                    return
                if verb == "DATA":
                    self.wfile.write(b"354 go\r\n")
                    received.add(to, self._text())
                self.wfile.write(b"250 ok\r\n")

        def _text(self) -> str:
            lines = []
            while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                lines.append(line)
            return "\n".join(lines)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    yield from _serving(server, received)


def _serving(server: socketserver.TCPServer, received: Received) -> Iterator[Received]:
    received.port = server.server_address[1]
    thread = threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
