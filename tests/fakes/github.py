"""GitHub for a real ``gh``: as much of its API as reading and commenting issues takes.

It serves the file that ``tests.fakes.gh.seed`` makes. A ``gh`` finds it as its proxy: the host
``github.localhost`` is spoken to without TLS, and ``http_proxy`` leads there.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.fakes import gh
from tests.fakes import github_queue as queue

HOST = "github.localhost"


@contextmanager
def serving(file: Path) -> Iterator[str]:
    """Serve the GitHub in this file; gives the address of the proxy."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self._body())
            if "expired" in self.headers.get("Authorization", ""):
                self._say(401, {"message": "Bad credentials"})
            elif "viewer { login }" in asked["query"]:
                self._say(200, queue.answer(json.loads(file.read_text(encoding="utf-8")), asked))
            else:
                self._say(200, _answer(file, asked))

        def _body(self) -> bytes:
            """What was sent; in chunks where it came from the standard input of ``gh``."""
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def do_GET(self) -> None:
            path = self.path.removeprefix(f"http://api.{HOST}/").removeprefix("/")
            found = queue.rest(json.loads(file.read_text(encoding="utf-8")), path)
            message = {"message": "Not Found"}
            self._say(404 if found is None else 200, message if found is None else found)

        def _say(self, status: int, told: Any) -> None:
            data = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    github = json.loads(path.read_text(encoding="utf-8"))
    query, values = asked["query"], asked.get("variables", {})
    if "addComment" in query:
        repository, _, number = values["input"]["subjectId"].removeprefix("I_").rpartition("_")
        made = gh.post(path, repository, int(number), values["input"]["body"])
        url = f"https://{HOST}/{repository}/issues/{number}#issuecomment-{1000 + made}"
        edge = {"node": {"url": url}}
        return {"data": {"addComment": {"commentEdge": edge}}}
    if "node(id:" in query:
        repository, _, number = values["id"].removeprefix("I_").rpartition("_")
        issue = _found(github, repository, int(number))
        return {"data": {"node": {"comments": issue["comments"]}}}
    if "createPullRequest" in query:
        return {"data": {"createPullRequest": {"pullRequest": _opened(path, values["input"])}}}
    name = f"{values['owner']}/{values.get('repo') or values.get('name')}"
    repository_here = gh.repository_of(github, name)
    if repository_here is None:
        return _missing(["repository"], f"a Repository with the name '{name}'")
    if "number" not in values:
        return {"data": {"repository": _repository(github, name, values.get("headRefName"))}}
    number = int(values["number"])
    enabled = not repository_here.get("disabled")
    if str(number) not in repository_here["issues"]:
        missing = f"an issue or pull request with the number of {number}"
        answer = _missing(["repository", "issue"], missing)
        answer["data"] = {"repository": {"hasIssuesEnabled": enabled, "issue": None}}
        return answer
    issue = _found(github, name, number)
    return {"data": {"repository": {"hasIssuesEnabled": enabled, "issue": issue}}}


def _opened(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    name = given["repositoryId"].removeprefix("R_")
    owner, _, branch = given["headRefName"].rpartition(":")
    pull = {key: given[key] for key in ("title", "body", "draft")}
    own = {"head": branch, "owner": owner or name.partition("/")[0], "base": given["baseRefName"]}
    number = gh.open_pull(path, name, own | pull)
    return {"id": f"P_{number}", "url": f"https://{HOST}/{name}/pull/{number}"}


def _repository(github: dict[str, Any], name: str, branch: str | None) -> dict[str, Any]:
    """The repository, with the open pull request of the branch."""
    owner, _, repository = name.partition("/")
    pull = None if branch is None else gh.pull_of(github, name, branch)
    nodes = [] if pull is None else [_pull(name, pull)]
    return {
        "id": f"R_{name}",
        "name": repository,
        "owner": {"login": owner},
        "viewerPermission": "WRITE",
        "defaultBranchRef": {"name": "main"},
        "parent": None,
        "pullRequests": {"nodes": nodes, "totalCount": len(nodes)},
    }


def _pull(name: str, pull: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"P_{pull['number']}",
        "number": pull["number"],
        "url": f"https://{HOST}/{name}/pull/{pull['number']}",
        "state": "OPEN",
        "headRefName": pull["head"],
        "baseRefName": pull["base"],
        "isCrossRepository": False,
        "headRepositoryOwner": {"id": "U_1", "login": pull["owner"]},
    }


def _found(github: dict[str, Any], repository: str, number: int) -> dict[str, Any]:
    raw = github["repositories"][repository]["issues"][str(number)]
    told = gh.shown(raw, number, f"{HOST}/{repository}")
    nodes = told["comments"]
    page = {"hasNextPage": False, "endCursor": ""}
    comments = {"nodes": nodes, "totalCount": len(nodes), "pageInfo": page}
    kind = "PullRequest" if raw.get("is_pull") else "Issue"
    own = {"__typename": kind, "id": f"I_{repository}_{number}", "comments": comments}
    return {**told, **own, "labels": {"nodes": [], "totalCount": 0}}


def _missing(path: list[str], what: str) -> dict[str, Any]:
    error = {"type": "NOT_FOUND", "path": path, "message": f"Could not resolve to {what}."}
    return {"data": {"repository": None}, "errors": [error]}
