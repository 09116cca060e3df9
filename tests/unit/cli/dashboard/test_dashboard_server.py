"""The served dashboard: who may read it, and how its pages learn of newer figures."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from ralph_ls.cli.dashboard import server
from ralph_ls.cli.dashboard.server import LOOPBACK, DashboardServer, Feed
from ralph_ls.store.figures import read_dashboard
from ralph_ls.store.layout import find_worktree
from ralph_ls.store.run.follow import FolderWatch
from tests.sample_runs import write_runs
from tests.unit.core.views.run_states import NOON


class Served:
    """A running server, and a browser that keeps its cookie."""

    def __init__(self, folder: Path) -> None:
        self.state = write_runs(folder / "state", folder / "shop", runs=1, iterations=3, until=NOON)
        places = [(find_worktree(folder / "shop"), self.state)]
        self.feed = Feed(places, lambda: read_dashboard(places, now=NOON, zone=UTC))
        self.links: list[str] = []
        self.server = DashboardServer(
            self.feed, port=0, hosts=["box.example"], on_used=self.links.append
        )
        self.links.append(self.server.link(self.server.access.token))
        self.cookie = ""
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def ask(
        self, path: str, method: str = "GET", **headers: str
    ) -> tuple[int, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(LOOPBACK, self.server.server_port, timeout=60)
        given = {"Cookie": self.cookie, **headers}
        connection.request(method, path, headers={k: v for k, v in given.items() if v})
        answer = connection.getresponse()
        return answer.status, answer

    def sign_in(self) -> http.client.HTTPResponse:
        _, answer = self.ask(f"/?{self.links[-1].partition('?')[2]}")
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        return answer

    def close(self) -> None:
        self.feed.close()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    found = Served(tmp_path)
    yield found
    found.close()


def test_exchanges_a_link_once_for_a_cookie_that_scripts_cannot_read(served: Served) -> None:
    link = served.links[0]
    assert link.startswith(f"http://127.0.0.1:{served.server.server_port}/?token=")
    assert served.ask("/")[0] == 403
    answer = served.sign_in()
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=Lax"} <= {
        part.strip() for part in answer.headers["Set-Cookie"].split(";")
    }
    assert served.ask("/")[0] == 200
    assert served.ask("/other")[0] == 404
    # The browser's history has the link; another browser with it gets nothing.
    used = f"/?{link.partition('?')[2]}"
    assert served.ask(used)[0] == 303
    assert served.ask(used, Cookie="")[0] == 403
    # The terminal shows the next one.
    assert len(served.links) == 2
    assert served.ask(f"/?{served.links[1].partition('?')[2]}", Cookie="")[0] == 303


def test_gives_figures_and_the_page_to_a_session_alone(served: Served) -> None:
    assert served.ask("/figures")[0] == 403
    assert served.ask("/events")[0] == 403
    assert served.ask("/figures", Cookie="ralph_dashboard=x")[0] == 403
    served.sign_in()
    status, answer = served.ask("/figures")
    figures = json.loads(answer.read())
    assert status == 200
    assert figures["folders"][0]["name"] == "shop"
    status, answer = served.ask("/")
    assert b'data-form="served"' in answer.read()
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
def test_refuses_a_host_that_it_was_not_given(served: Served, host: str) -> None:
    served.sign_in()
    assert served.ask("/", Host=host)[0] == 421


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8080", "BOX.example"])
def test_answers_to_names_of_this_machine_and_of_a_tunnel(served: Served, host: str) -> None:
    served.sign_in()
    assert served.ask("/figures", Host=host, Origin=f"http://{host}")[0] == 200
    assert served.ask("/figures", Host=host, Origin="http://evil.example")[0] == 403
    assert served.ask("/figures", Host=host, Origin="null")[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"])
def test_knows_no_method_but_get(served: Served, method: str) -> None:
    served.sign_in()
    status, answer = served.ask("/figures", method)
    assert (status, answer.headers["Allow"]) == (405, "GET")


def test_a_change_before_the_watch_begins_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = write_runs(tmp_path / "state", tmp_path / "shop", runs=1, iterations=3, until=NOON)
    places = [(find_worktree(tmp_path / "shop"), state)]
    feed = Feed(places, lambda: read_dashboard(places, now=NOON, zone=UTC))
    before = feed.figures()
    (run,) = state.run_ids()

    class LateWatch(FolderWatch):
        def __enter__(self) -> FolderWatch:
            journal = state.run(run).journal
            journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
            return super().__enter__()

    monkeypatch.setattr(server, "FolderWatch", LateWatch)
    monkeypatch.setattr(server, "HEARTBEAT", 120.0)
    follower = threading.Thread(target=feed.follow)
    follower.start()
    revision, after = feed.wait_after(0), feed.figures()
    feed.close()
    follower.join()
    assert revision == 1
    assert after != before


def test_tells_its_pages_when_a_run_has_gone_on(served: Served) -> None:
    served.sign_in()
    _, events = served.ask("/events")
    assert events.readline() == b"data: 0\n"
    before = json.loads(served.ask("/figures")[1].read())
    (run,) = served.state.run_ids()
    journal = served.state.run(run).journal
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:1]))
    seen = [events.readline(), events.readline()]
    assert seen[1].startswith(b"data: ")
    after = json.loads(served.ask("/figures")[1].read())
    assert after["ranges"][0]["totals"] != before["ranges"][0]["totals"]
