"""Dashboard server: the page and its figures on the loopback interface, for who has the link.

GET alone. The token of a link is exchanged once for a cookie that scripts cannot read; the names in
``Host`` and ``Origin`` are checked, so that no other site and no rebound name reaches it
(docs/adr/0074). It reads the files of runs and changes nothing.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, urlsplit

from ralph_ls.cli.dashboard.page import dashboard_html, to_json
from ralph_ls.protocol.dashboard import Dashboard
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.runs import size_of

LOOPBACK = "127.0.0.1"
NAMES = frozenset({LOOPBACK, "localhost", "[::1]"})
"""Hosts by which a browser of this machine, or the end of a tunnel, asks for the page."""

MOST_SESSIONS = 32
MOST_LISTENERS = 16
"""Pages that are followed at once; further ones are not updated."""

SHORTEST_INTERVAL = 1.0
"""Seconds between two updates of a page at least."""

HEARTBEAT = 15.0
"""Seconds after which a page that has nothing new is written to, to notice that it is gone."""

REQUEST_TIMEOUT = 20.0
"""Seconds in which a request has to be complete."""

Place = tuple[Worktree, StateFolder]
Look = tuple[str, int, bool]
"""The newest run of a work tree, the length of its journal, and whether it is live."""


class Feed:
    """The newest figures, and a wake-up for each page when there are newer ones."""

    def __init__(self, places: Sequence[Place], read: Callable[[], Dashboard]) -> None:
        self._places = places
        self._read = read
        self._changed = threading.Condition()
        self._wake = threading.Event()
        self._reading = threading.Lock()
        self._figures: tuple[int, str] = (-1, "")
        self.revision = 0
        self.closed = False
        # Before anybody reads figures, so that what changes afterwards is noticed.
        self._seen = self._look()

    def figures(self) -> str:
        """The document as it is now; read once for all pages."""
        with self._reading:
            revision = self.revision
            if self._figures[0] != revision:
                self._figures = (revision, to_json(self._read()))
            return self._figures[1]

    def wait_after(self, revision: int) -> int:
        """The newest revision, once there is another one, or after the time of a heartbeat."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed or self.revision != revision, HEARTBEAT)
            return self.revision

    def close(self) -> None:
        self.closed = True
        self._wake.set()
        with self._changed:
            self._changed.notify_all()

    def follow(self) -> None:
        """Watch the runs until it is closed."""
        seen = self._seen
        while not self.closed:
            folders = [folder for _, state in self._places for folder in _folders_of(state)]
            with FolderWatch(folders, self._wake.set) as watch:
                # What changed before the watch began.
                self._wake.set()
                seen = self._follow_runs(seen, works=watch.works)

    def _follow_runs(self, seen: list[Look], *, works: bool) -> list[Look]:
        """Publish changes until a work tree has another run, which is in another folder."""
        runs = [one[0] for one in seen]
        while not self.closed and [one[0] for one in seen] == runs:
            is_live = any(one[2] for one in seen)
            self._wake.wait(LIVE_INTERVAL if is_live or not works else None)
            self._wake.clear()
            before, seen = seen, self._look()
            if seen != before:
                self._publish()
        return seen

    def _look(self) -> list[Look]:
        found = []
        for worktree, state in self._places:
            run = next(reversed(state.run_ids()), "")
            size = size_of(state.run(run).journal) if run else 0
            found.append((run, size, is_held(worktree.git_dir)))
        return found

    def _publish(self) -> None:
        with self._changed:
            self.revision += 1
            self._changed.notify_all()
        # What comes in between is one update.
        if not self.closed:
            threading.Event().wait(SHORTEST_INTERVAL)


def _folders_of(state: StateFolder) -> list[Path]:
    run = next(reversed(state.run_ids()), None)
    return [state.folder, state.runs, *([] if run is None else [state.run(run).folder])]


class Access:
    """Who may read: one-time tokens, the sessions they were exchanged for, and allowed hosts."""

    def __init__(self, hosts: Collection[str], on_used: Callable[[str], None]) -> None:
        """``on_used`` is called with the next token when one was used."""
        self._hosts = NAMES | {host.lower() for host in hosts}
        self._on_used = on_used
        self._lock = threading.Lock()
        self._sessions: list[str] = []
        self.token = secrets.token_urlsafe(32)

    def is_allowed_host(self, host: str | None) -> bool:
        return host is not None and _name_of(host) in self._hosts

    def is_allowed_origin(self, origin: str | None, host: str) -> bool:
        """A page of the server itself, or none that says what it is."""
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()

    def exchange(self, token: str) -> str | None:
        """A session for an unused token; None for any other."""
        with self._lock:
            if not hmac.compare_digest(token.encode(), self.token.encode()):
                return None
            self.token = secrets.token_urlsafe(32)
            session = secrets.token_urlsafe(32)
            self._sessions = [*self._sessions[1 - MOST_SESSIONS :], session]
        self._on_used(self.token)
        return session

    def is_session(self, session: str) -> bool:
        with self._lock:
            known = [*self._sessions]
        return any(hmac.compare_digest(session.encode(), one.encode()) for one in known)


def _name_of(host: str) -> str:
    """The name in ``Host`` without its port; a tunnel may end on another one."""
    name, separator, port = host.lower().rpartition(":")
    return name if separator and port.isdecimal() else host.lower()


class DashboardServer(ThreadingHTTPServer):
    """The server; ``serve_forever`` until ``stop``."""

    def __init__(
        self,
        feed: Feed,
        *,
        port: int,
        hosts: Collection[str] = (),
        on_used: Callable[[str], None],
    ) -> None:
        self.feed = feed
        self.access = Access(hosts, lambda token: on_used(self.link(token)))
        self.listeners = threading.BoundedSemaphore(MOST_LISTENERS)
        super().__init__((LOOPBACK, port), _Handler)
        threading.Thread(target=feed.follow, name="dashboard", daemon=True).start()

    @property
    def cookie(self) -> str:
        """Cookies know no ports: another dashboard of this host has another name."""
        return f"ralph_dashboard_{self.server_port}"

    def link(self, token: str) -> str:
        """What to open in a browser, once."""
        return f"http://{LOOPBACK}:{self.server_port}/?token={token}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that goes away is no error."""


HEADERS = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

USED = "This link was used already. The terminal in which the dashboard runs shows a new one.\n"


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server_version, sys_version = "ralph", ""
    timeout = REQUEST_TIMEOUT

    @property
    def _dashboard(self) -> DashboardServer:
        return cast("DashboardServer", self.server)

    def do_GET(self) -> None:
        host = self.headers.get("Host")
        access = self._dashboard.access
        if host is None or not access.is_allowed_host(host):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "This host name is not allowed.\n")
        elif not access.is_allowed_origin(self.headers.get("Origin"), host):
            self._refuse(HTTPStatus.FORBIDDEN, "This page may not read the dashboard.\n")
        else:
            self._route(*self._asked())

    def _asked(self) -> tuple[str, str | None]:
        """The path, and the token in it."""
        url = urlsplit(self.path)
        return url.path, next(iter(parse_qs(url.query).get("token", [])), None)

    def _route(self, path: str, token: str | None) -> None:
        routes = {
            "/": self._send_page,
            "/figures": self._send_figures,
            "/events": self._send_events,
        }
        if path == "/" and token is not None:
            self._exchange(token)
        elif not self._has_session():
            self._refuse(HTTPStatus.FORBIDDEN, USED)
        elif path in routes:
            routes[path]()
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "There is nothing here.\n")

    def _exchange(self, token: str) -> None:
        # A page that is loaded again, with the link in its history, has its cookie already.
        session = self._dashboard.access.exchange(token)
        if session is None and not self._has_session():
            self._refuse(HTTPStatus.FORBIDDEN, USED)
            return
        cookie = f"{self._dashboard.cookie}={session}; Path=/; HttpOnly; SameSite=Lax"
        given = {} if session is None else {"Set-Cookie": cookie}
        self._send(HTTPStatus.SEE_OTHER, "text/plain", b"", {"Location": "/", **given})

    def _has_session(self) -> bool:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self._dashboard.cookie)
        except CookieError:
            return False
        return found is not None and self._dashboard.access.is_session(found.value)

    def _send_page(self) -> None:
        text = dashboard_html(None, form="served", title="Ralph dashboard")
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", text.encode())

    def _send_figures(self) -> None:
        data = self._dashboard.feed.figures().encode()
        self._send(HTTPStatus.OK, "application/json; charset=utf-8", data)

    def _send_events(self) -> None:
        """Server-sent events: the number of each revision, until the page or the server ends."""
        if not self._dashboard.listeners.acquire(blocking=False):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.\n")
            return
        feed = self._dashboard.feed
        try:
            self._begin(HTTPStatus.OK, "text/event-stream", {})
            revision = feed.revision
            while not feed.closed:
                self.wfile.write(f"data: {revision}\n\n".encode())
                self.wfile.flush()
                revision = feed.wait_after(revision)
        finally:
            self._dashboard.listeners.release()

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._send(status, "text/plain; charset=utf-8", text.encode())

    def _send(
        self, status: HTTPStatus, kind: str, body: bytes, extra: dict[str, str] | None = None
    ) -> None:
        self._begin(status, kind, {"Content-Length": str(len(body)), **(extra or {})})
        self.wfile.write(body)

    def _begin(self, status: HTTPStatus, kind: str, extra: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **HEADERS, **extra}.items():
            self.send_header(name, value)
        self.end_headers()

    def parse_request(self) -> bool:
        """Every method but GET ends here, whatever its name."""
        if not super().parse_request():
            return False
        if self.command != "GET":
            self._send(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"", {"Allow": "GET"})
        return self.command == "GET"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """The terminal shows links alone."""
