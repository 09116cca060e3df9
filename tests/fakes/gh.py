"""A ``gh`` for tests: reading and commenting issues as the real one does, over a JSON file.

Put on PATH with ``install``; ``seed`` makes its GitHub, which ``FAKE_GITHUB`` names, and ``posted``
lists what was written there. ``tests.fakes.github`` serves the same file to a real ``gh``. Like the
real one it wants a token (``GH_TOKEN``; the token ``expired`` is none), finds the repository by the
remotes of the folder where ``--repo`` names none, and prints JSON only for fields that it knows.
``FAKE_GH_OFFLINE`` takes the network away, ``FAKE_GH_OLD`` the field ``comments``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.fakes import github_queue as queue
from tests.fakes.forked_program import install_forked

Raw = dict[str, Any]

FIELDS = (
    *("assignees", "author", "body", "closed", "closedAt", "comments", "createdAt", "id"),
    *("labels", "milestone", "number", "projectCards", "projectItems", "reactionGroups"),
    *("state", "title", "updatedAt", "url"),
)

NOT_LOGGED_IN = """\
To get started with GitHub CLI, please run:  gh auth login
Alternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.
"""
NO_NETWORK = """\
error connecting to api.github.com
check your internet connection or https://githubstatus.com
"""
NO_HOST = (
    "none of the git remotes configured for this repository point to a known GitHub host. "
    "To tell gh about a new GitHub host, please use `gh auth login`"
)


def install(folder: Path) -> Path:
    """Put a ``gh`` into the folder, which is made; gives its path."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "gh"
    install_forked(program, "tests.fakes.gh")
    return program


def path_without(folder: Path, path: str) -> str:
    """A PATH with all that this one has but a ``gh``; ``folder`` is made for links."""
    entries = []
    for number, entry in enumerate(path.split(os.pathsep)):
        if not (Path(entry) / "gh").exists():
            entries.append(entry)
            continue
        links = folder / str(number)
        links.mkdir(parents=True)
        for program in Path(entry).iterdir():
            if program.name != "gh":
                (links / program.name).symlink_to(program)
        entries.append(str(links))
    return os.pathsep.join(entries)


def seed(path: Path, **issues: Mapping[str, Any]) -> None:
    """A GitHub with the repository ``ada/invoice`` and these issues, such as ``i12={…}``.

    An issue has ``title``, ``body``, ``state``, ``is_pull`` and ``comments``, whose fields are
    ``author``, ``body``, ``association`` and ``hidden``; what it does not say is filled in.
    """
    made = {name.removeprefix("i"): dict(issue) for name, issue in issues.items()}
    repositories = {"ada/invoice": {"issues": made}, "ada/silent": {"issues": {}, "disabled": True}}
    path.write_text(json.dumps({"repositories": repositories, "posted": []}), encoding="utf-8")


def posted(path: Path) -> list[Raw]:
    """The comments that were written: ``repository``, ``number`` and ``body``."""
    found: list[Raw] = json.loads(path.read_text(encoding="utf-8"))["posted"]
    return found


def post(path: Path, repository: str, number: int, body: str) -> int:
    """Write a comment; gives its number."""
    github = json.loads(path.read_text(encoding="utf-8"))
    github["posted"].append({"repository": repository, "number": number, "body": body})
    path.write_text(json.dumps(github), encoding="utf-8")
    return len(github["posted"])


def repository_of(github: Raw, name: str) -> Raw | None:
    found: Raw | None = github["repositories"].get(name)
    return found


def shown(issue: Raw, number: int, where: str) -> Raw:
    """An issue with every field that this fake knows, as both ``gh`` and GitHub report it."""
    kind = "pull" if issue.get("is_pull") else "issues"
    url = f"https://{where}/{kind}/{number}"
    comments = [
        {
            "id": f"IC_{index}",
            "author": {"login": comment.get("author", "grace")},
            "authorAssociation": comment.get("association", "NONE"),
            "body": comment.get("body", ""),
            "createdAt": "2026-01-31T12:00:00Z",
            "includesCreatedEdit": False,
            "isMinimized": comment.get("hidden", False),
            "minimizedReason": "",
            "reactionGroups": [],
            "url": f"{url}#issuecomment-{index}",
            "viewerDidAuthor": False,
        }
        for index, comment in enumerate(issue.get("comments", ()), start=1)
    ]
    return {
        "author": {"id": "U_1", "login": "ada", "name": "Ada"},
        "body": issue.get("body", ""),
        "comments": comments,
        "id": f"I_{number}",
        "labels": [],
        "number": number,
        "state": issue.get("state", "OPEN"),
        "title": issue.get("title", ""),
        "url": url,
    }


def main(words: Sequence[str]) -> int:
    """What the program does; gives its exit code."""
    if list(words) == ["--version"]:
        sys.stdout.write("gh version 2.83.0 (2026-01-01)\n")
        return 0
    given = _parse(words)
    if log := os.environ.get("FAKE_CALLS"):
        with Path(log).open("a", encoding="utf-8") as calls:
            calls.write(json.dumps(list(words)) + "\n")
    token = os.environ.get("GH_TOKEN") or os.environ.get("GITHUB_TOKEN")
    if not token:
        sys.stderr.write(NOT_LOGGED_IN)
        return 4
    fields = _fields(given) if given.topic == "issue" else []
    if (trouble := _trouble()) is not None:
        sys.stderr.write(trouble)
        return 1
    if given.topic == "pr":
        _require_network(token)
        return _open(given)
    if given.topic in {"api", "repo"}:
        _require_network(token)
        return _api(given) if given.topic == "api" else _repo(given)
    number = re.fullmatch(r"#?(\d+)|https?://[^/]+/[^/]+/[^/]+/(?:issues|pull)/(\d+)", given.issue)
    if number is None:
        _fail(f'invalid issue format: "{given.issue}"')
    where = given.repo or _repository_here()
    _require_network(token)
    return _answer(given, where, int(number[1] or number[2]), fields)


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="gh", add_help=False, allow_abbrev=False)
    topics = parser.add_subparsers(dest="topic", required=True)
    verbs = topics.add_parser("issue", add_help=False).add_subparsers(dest="verb", required=True)
    for verb in ("view", "comment", "close", "edit"):
        one = verbs.add_parser(verb, add_help=False, allow_abbrev=False)
        one.add_argument("issue")
        one.add_argument("--repo", "-R")
        if verb == "view":
            one.add_argument("--json")
            one.add_argument("--comments", "-c", action="store_true")
        elif verb == "close":
            one.add_argument("--reason", "-r", choices=("completed", "not planned"))
        elif verb == "edit":
            for flag in ("add-assignee", "remove-assignee", "add-label", "remove-label"):
                one.add_argument(f"--{flag}", action="append", default=[])
        else:
            one.add_argument("--body", "-b")
            one.add_argument("--body-file", "-F")
    api = topics.add_parser("api", add_help=False, allow_abbrev=False)
    api.add_argument("endpoint")
    api.add_argument("--method", "-X")
    api.add_argument("--hostname")
    api.add_argument("--input")
    repo = topics.add_parser("repo", add_help=False).add_subparsers(dest="verb", required=True)
    view = repo.add_parser("view", add_help=False, allow_abbrev=False)
    view.add_argument("--json")
    create = topics.add_parser("pr", add_help=False).add_subparsers(dest="verb", required=True)
    one = create.add_parser("create", add_help=False, allow_abbrev=False)
    for flag in ("head", "base", "title", "body-file"):
        one.add_argument(f"--{flag}")
    one.add_argument("--draft", action="store_true")
    return parser.parse_args(words)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _fail(f"{message}\n\nUsage:  gh issue <command> [flags]\n")


def _trouble() -> str | None:
    """The next failure that a test wants: the first line of ``FAKE_GH_TROUBLE``."""
    path = os.environ.get("FAKE_GH_TROUBLE")
    lines = Path(path).read_text(encoding="utf-8").splitlines() if path else []
    if not path or not lines:
        return None
    Path(path).write_text("".join(f"{one}\n" for one in lines[1:]), encoding="utf-8")
    return f"{lines[0]}\n"


def _require_network(token: str) -> None:
    if os.environ.get("FAKE_GH_OFFLINE"):
        sys.stderr.write(NO_NETWORK)
        sys.exit(1)
    if token == "expired":
        sys.stderr.write("HTTP 401: Bad credentials (https://api.github.com/graphql)\n")
        _fail("Try authenticating with:  gh auth login")


def _repo(given: argparse.Namespace) -> int:
    name = _repository_here()
    known = {"nameWithOwner": name, "url": f"https://github.com/{name}"}
    for field in given.json.split(","):
        if field not in known:
            _fail(f'Unknown JSON field: "{field}"')
    sys.stdout.write(json.dumps(known) + "\n")
    return 0


def _api(given: argparse.Namespace) -> int:
    """``gh api``: what GitHub answers is printed, also where it is an error."""
    github = json.loads(Path(os.environ["FAKE_GITHUB"]).read_text(encoding="utf-8"))
    if given.endpoint != "graphql":
        found = queue.rest(github, given.endpoint)
        sys.stdout.write(json.dumps({"message": "Not Found"} if found is None else found))
        if found is None:
            _fail("gh: Not Found (HTTP 404)")
        return 0
    is_old = bool(os.environ.get("FAKE_GH_OLD"))
    told = queue.answer(github, json.loads(sys.stdin.read()), is_old=is_old)
    sys.stdout.write(json.dumps(told))
    if errors := told.get("errors"):
        _fail("gh: " + "\n".join(one["message"] for one in errors))
    return 0


def _fields(given: argparse.Namespace) -> list[str]:
    asked = (getattr(given, "json", None) or "").split(",")
    known = [one for one in FIELDS if one != "comments" or not os.environ.get("FAKE_GH_OLD")]
    for field in filter(None, asked):
        if field not in known:
            _fail(f'Unknown JSON field: "{field}"\nAvailable fields:\n  ' + "\n  ".join(known))
    return [one for one in asked if one]


def _open(given: argparse.Namespace) -> int:
    path, name = Path(os.environ["FAKE_GITHUB"]), _repository_here()
    owner, _, branch = given.head.rpartition(":")
    base = given.base or "main"
    known = pull_of(json.loads(path.read_text(encoding="utf-8")), name, branch)
    if known is not None:
        url = f"https://github.com/{name}/pull/{known['number']}"
        _fail(
            f'a pull request for branch "{given.head}" into branch "{base}" already exists:\n{url}'
        )
    made = open_pull(
        path,
        name,
        {
            "head": branch,
            "owner": owner or name.partition("/")[0],
            "base": base,
            "title": given.title,
            "body": sys.stdin.read(),
            "draft": given.draft,
        },
    )
    sys.stdout.write(f"https://github.com/{name}/pull/{made}\n")
    return 0


def pull_of(github: Raw, repository: str, branch: str) -> Raw | None:
    """The open pull request of a branch."""
    pulls: list[Raw] = github["repositories"][repository].get("pulls", [])
    return next((one for one in pulls if one["head"] == branch), None)


def open_pull(path: Path, repository: str, pull: Raw) -> int:
    """Write a pull request down; gives its number."""
    github = json.loads(path.read_text(encoding="utf-8"))
    pulls = github["repositories"][repository].setdefault("pulls", [])
    number = 100 + len(pulls)
    pulls.append({**pull, "number": number})
    path.write_text(json.dumps(github), encoding="utf-8")
    return number


def _repository_here() -> str:
    done = subprocess.run(["git", "remote", "-v"], capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        _fail("no git remotes found")
    found = re.search(r"github\.com[:/]([^/\s]+/[^/\s]+?)(?:\.git)?\s", done.stdout)
    if found is None:
        _fail(NO_HOST)
    return found[1]


def _answer(given: argparse.Namespace, where: str, number: int, fields: list[str]) -> int:
    path = Path(os.environ["FAKE_GITHUB"])
    github = json.loads(path.read_text(encoding="utf-8"))
    *host, owner, name = where.split("/")
    repository = repository_of(github, f"{owner}/{name}")
    if repository is None:
        _fail(
            f"GraphQL: Could not resolve to a Repository with the name '{owner}/{name}'. "
            "(repository)"
        )
    issue = repository["issues"].get(str(number))
    if issue is None and repository.get("disabled"):
        _fail(f"the '{owner}/{name}' repository has disabled issues")
    if issue is None:
        _fail(
            "GraphQL: Could not resolve to an issue or pull request with the number of "
            f"{number}. (repository.issue)"
        )
    told = shown(issue, number, f"{host[0] if host else 'github.com'}/{owner}/{name}")
    if given.verb in {"close", "edit"}:
        state = {"state": "CLOSED"} if given.verb == "close" else {}
        flags = (
            {}
            if given.verb == "close"
            else {
                "add_labels": given.add_label,
                "remove_labels": given.remove_label,
                "add_assignees": given.add_assignee,
                "remove_assignees": given.remove_assignee,
            }
        )
        queue.edit(github, f"{owner}/{name}", number, **state, **flags)
        path.write_text(json.dumps(github), encoding="utf-8")
        sys.stdout.write(f"{told['url']}\n")
        return 0
    if given.verb == "comment":
        body = sys.stdin.read() if given.body_file == "-" else given.body or ""
        if not body.strip():
            _fail("body cannot be blank")
        queue.edit(github, f"{owner}/{name}", number, comment=body)
        path.write_text(json.dumps(github), encoding="utf-8")
        made = post(path, f"{owner}/{name}", number, body)
        sys.stdout.write(f"{told['url']}#issuecomment-{1000 + made}\n")
        return 0
    wanted = {field: told[field] for field in sorted(fields)}
    sys.stdout.write(json.dumps(wanted, separators=(",", ":"), ensure_ascii=False) + "\n")
    return 0


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    sys.exit(1)
