"""A ``bd`` for tests: the commands of the real one over a JSON file, in each shape of its answers.

Put on PATH with ``install``, or asked in this process with ``answer``. The database is
``.beads/fake.json`` in the folder where it is run or in one above. What differs between releases is
chosen by the environment:

- ``FAKE_BD_SHAPE``: ``bare`` (an array), ``items`` or ``data`` (wrapped); default ``bare``.
- ``FAKE_BD_OLD``: words, any of ``counts`` (lists only count dependencies), ``no-claim``,
  ``no-all`` and ``no-limit`` (of lists), ``no-deferred``, ``one-shown`` (``show`` takes one id),
  ``silent`` (an update of an unknown issue leaves with 0 and says so on stderr alone).
- ``FAKE_BD_VERSION``: what it is, by default 1.0.0. Below 0.30.0 nothing says why an issue was
  closed; 0.34 and earlier only count dependencies in lists, and refuse one that is there with the
  words of their database.
- ``FAKE_BD_FAILS``: commands and how often they fail, such as ``update:2 list:1``; with ``!`` in
  front they are carried out all the same.

Several may run at once: a lock is held from reading to writing. What takes long to import is
imported where it is needed, since a command in a sandbox starts this program again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakes.bd_database import FREE, BdError, Database, now_in_words
from tests.fakes.bd_words import read_words

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    Raw = dict[str, Any]

STATUSES = ("open", "in_progress", "blocked", "deferred", "closed")
TYPES = ("bug", "feature", "task", "epic", "chore", "decision")


def install(folder: Path) -> Path:
    """Put a ``bd`` into the folder, which is made; gives its path."""
    from tests.fakes.forked_program import install_forked

    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "bd"
    install_forked(program, "tests.fakes.bd")
    return program


def install_whole(folder: Path) -> None:
    """As ``install``, but each call is a process of its caller, which ends with it or is found."""
    from tests.fakes.forked_program import install_whole

    folder.mkdir(parents=True, exist_ok=True)
    install_whole(folder / "bd", "tests.fakes.bd")


def seed(root: Path, *issues: Raw) -> None:
    """Make a database with these issues; what they do not say is filled in.

    ``needs`` and ``parent`` are short for dependencies, which may form rings here: in the real one
    they come about by merges.
    """
    database = Database(root / ".beads" / "fake.json")
    database.path.parent.mkdir(parents=True, exist_ok=True)
    for issue in issues:
        database.add(dict(issue))
    database.write()


def issues_of(root: Path) -> dict[str, Raw]:
    """Every issue under its id, with dependencies as pairs, as the database has them."""
    return Database(root / ".beads" / "fake.json").load().issues


def main(argv: list[str]) -> int:
    """One call of the program."""
    wants_json = "--json" in argv
    try:
        with _locked(argv[:1]) as database:
            fails = _fails(database, argv[0] if argv else "")
            if fails == "before":
                raise BdError("database is locked")
            value = answer(database, argv)
        if fails:
            raise BdError("context deadline exceeded")
    except BdError as error:
        if wants_json:
            sys.stderr.write(json.dumps({"error": str(error)}, indent=2) + "\n")
        else:
            sys.stderr.write(f"Error: {error}\n")
        return 1
    if value is not None and wants_json:
        sys.stdout.write(json.dumps(_shaped(value), indent=2, ensure_ascii=False) + "\n")
    elif value is not None:
        sys.stdout.write(f"{value}\n")
    return 0


def answer(database: Database, argv: Sequence[str]) -> Any:
    """Do what the words say, and give what is printed of it; raises ``BdError``."""
    given = read_words(argv, _old())
    return _COMMANDS[given.command](database, given)


def _shaped(value: Any) -> Any:
    shape = os.environ.get("FAKE_BD_SHAPE", "bare")
    if shape == "data":
        return {"schema_version": 1, "data": value}
    if shape == "items" and isinstance(value, list):
        return {"schema_version": 1, "items": value}
    if shape == "items":
        return {"schema_version": 1, **value}
    return value


def _old() -> frozenset[str]:
    return frozenset(os.environ.get("FAKE_BD_OLD", "").split())


def _version() -> tuple[int, ...]:
    return tuple(map(int, os.environ.get("FAKE_BD_VERSION", "1.0.0").split(".")))


def _fails(database: Database, command: str) -> str:
    """Whether this call fails, "before" or "after" it is carried out; empty where it does not."""
    given = dict(one.split(":") for one in os.environ.get("FAKE_BD_FAILS", "").split())
    name = f"!{command}" if f"!{command}" in given else command
    counted = database.path.with_name(f"fake.{command}.failed")
    n_failed = len(counted.read_bytes()) if counted.exists() else 0
    if n_failed >= int(given.get(name, "0")):
        return ""
    counted.write_bytes(b"x" * (n_failed + 1))
    return "after" if name.startswith("!") else "before"


def _without_reason(issue: Raw) -> Raw:
    """What releases before 0.30.0 print, though they keep the reason among their events."""
    if _version() >= (0, 30):
        return issue
    return {key: value for key, value in issue.items() if key != "close_reason"}


@contextlib.contextmanager
def _locked(command: list[str]) -> Iterator[Database]:
    here = Path.cwd()
    places = [place / ".beads" for place in (here, *here.parents)]
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        if command != ["init"]:
            raise BdError("no beads database found; run 'bd init' to create a database")
        folder = places[0]
        folder.mkdir()
    with (folder / "fake.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        database = Database(folder / "fake.json").load()
        before = json.dumps([database.made, database.issues])
        yield database
        if json.dumps([database.made, database.issues]) != before or command == ["init"]:
            database.write()


def _listed(database: Database, issue: Raw) -> Raw:
    """An issue as lists have it: what is empty is left out."""
    shown = _bare(issue)
    links = issue["dependencies"]
    if links and "counts" not in _old() and _version() >= (0, 35):
        shown["dependencies"] = [
            {"issue_id": issue["id"], "depends_on_id": on, "type": kind} for on, kind in links
        ]
    dependents = [one for one in database.issues.values() if _kinds(one, issue["id"])]
    return {**shown, "dependency_count": len(links), "dependent_count": len(dependents)}


def _kinds(issue: Raw, on: str) -> list[str]:
    return [kind for target, kind in issue["dependencies"] if target == on]


def _whole(database: Database, issue: Raw) -> Raw:
    """An issue by itself: what it depends on is in it whole."""
    shown = _bare(issue)
    down = [
        {**_bare(database.issues[on]), "dependency_type": kind}
        for on, kind in issue["dependencies"]
        if on in database.issues
    ]
    up = [
        {**_bare(one), "dependency_type": kind}
        for one in database.issues.values()
        for kind in _kinds(one, issue["id"])
    ]
    parents = [on for on, kind in issue["dependencies"] if kind == "parent-child"]
    return {
        **shown,
        **({"dependencies": down} if down else {}),
        **({"dependents": up} if up else {}),
        **({"parent": parents[0]} if parents else {}),
    }


def _bare(issue: Raw) -> Raw:
    return _without_reason({key: value for key, value in issue.items() if key != "dependencies"})


def _init(database: Database, given: argparse.Namespace) -> Raw:
    return {"status": "initialized"}


def _by_urgency(issues: Iterable[Raw]) -> list[Raw]:
    return sorted(issues, key=lambda one: (one["priority"], one["created_at"], one["id"]))


def _ready(database: Database, given: argparse.Namespace) -> list[Raw]:
    inside = database.below(given.parent) if given.parent else database.issues.keys()
    found = [
        issue
        for issue in database.issues.values()
        if issue["status"] == "open" and issue["id"] in inside and not database.open_needs(issue)
    ]
    return [_listed(database, issue) for issue in _by_urgency(found)[: given.limit or None]]


def _list(database: Database, given: argparse.Namespace) -> list[Raw]:
    known = [one for one in STATUSES if one != "deferred" or "no-deferred" not in _old()]
    if given.status is not None and given.status not in known:
        raise BdError(f"invalid status: {given.status}")
    found = [
        issue
        for issue in database.issues.values()
        if issue["status"] == given.status
        or (given.status is None and (issue["status"] != "closed" or getattr(given, "all", False)))
    ]
    limit = getattr(given, "limit", None)
    return [_listed(database, issue) for issue in _by_urgency(found)[: limit or None]]


def _show(database: Database, given: argparse.Namespace) -> Raw | list[Raw]:
    if "one-shown" in _old():
        if len(given.ids) > 1:
            raise BdError(f"accepts 1 arg(s), received {len(given.ids)}")
        return _whole(database, database.find(given.ids[0]))
    return [_whole(database, database.find(issue_id)) for issue_id in given.ids]


def _update(database: Database, given: argparse.Namespace) -> list[Raw] | None:
    done = []
    for issue_id in given.ids:
        try:
            issue = database.find(issue_id)
        except BdError as error:
            if "silent" not in _old():
                raise
            sys.stderr.write(f"Error resolving {issue_id}: {error}\n")
            continue
        if getattr(given, "claim", False):
            me = _actor()
            if issue.get("assignee", me) != me:
                raise BdError(f"issue already claimed by {issue['assignee']}")
            issue |= {"assignee": me, "status": "in_progress"}
        _change(issue, given)
        issue["updated_at"] = now_in_words()
        done.append(_bare(issue))
    return done or None


def _actor() -> str:
    said = os.environ.get("BD_ACTOR") or os.environ.get("BEADS_ACTOR")
    if said:
        return said
    import subprocess

    asked = ["git", "config", "user.name"]
    name = ""
    with contextlib.suppress(OSError):
        name = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return name or os.environ.get("USER") or "unknown"


def _change(issue: Raw, given: argparse.Namespace) -> None:
    if given.status is not None:
        if given.status not in STATUSES:
            raise BdError(f"invalid status: {given.status}")
        issue["status"] = given.status
        issue.pop("closed_at", None)
    if given.priority is not None:
        issue["priority"] = _priority(given.priority)
    if given.type is not None:
        issue["issue_type"] = _type(given.type)
    texts = {
        "title": given.title,
        "description": given.description,
        "design": given.design,
        "acceptance_criteria": given.acceptance,
        "assignee": given.assignee,
        "notes": given.notes,
    }
    if given.append_notes is not None:
        texts["notes"] = "\n".join(filter(None, (issue.get("notes"), given.append_notes)))
    for key, text in texts.items():
        if text:
            issue[key] = text
        elif text is not None:
            issue.pop(key, None)


def _priority(text: str) -> int:
    found = re.fullmatch(r"[Pp]?([0-4])", text)
    if found is None:
        raise BdError(f"invalid priority {text!r} (expected 0-4 or P0-P4)")
    return int(found[1])


def _type(text: str) -> str:
    if text not in TYPES:
        raise BdError(f'invalid issue type "{text}". Valid types: {", ".join(TYPES)}')
    return text


def _create(database: Database, given: argparse.Namespace) -> Raw:
    title = given.title or given.words
    if not title:
        raise BdError("title required (or use --file to create from markdown)")
    if given.id and given.id in database.issues:
        raise BdError(f"issue {given.id} already exists")
    if given.parent:
        given.parent = database.find(given.parent)["id"]
    made = database.add(
        {
            "id": given.id,
            "title": title,
            "parent": given.parent,
            "description": given.description,
            "design": given.design,
            "acceptance_criteria": given.acceptance,
            "assignee": given.assignee,
            "priority": _priority(given.priority or "2"),
            "issue_type": _type(given.type or "task"),
            "labels": given.labels.split(",") if given.labels else None,
        }
    )
    for link in filter(None, (given.deps or "").split(",")):
        kind, _, on = link.rpartition(":")
        _link(database, made, on, kind or "blocks")
    return _bare(made)


def _close(database: Database, given: argparse.Namespace) -> list[Raw]:
    done = []
    for issue_id in given.ids:
        issue = database.find(issue_id)
        needs = database.open_needs(issue)
        if needs and not given.force:
            listed = " ".join(needs)
            raise BdError(
                f"cannot close {issue['id']}: blocked by open issues [{listed}] "
                "(use --force to override)"
            )
        reason = given.reason or "Closed"
        issue |= {"status": "closed", "close_reason": reason, "closed_at": now_in_words()}
        done.append(_bare(issue))
    return done


def _reopen(database: Database, given: argparse.Namespace) -> list[Raw]:
    done = []
    for issue_id in given.ids:
        issue = database.find(issue_id)
        issue["status"] = "open"
        for key in ("close_reason", "closed_at"):
            issue.pop(key, None)
        done.append(_bare(issue))
    return done


def _blocked(database: Database, given: argparse.Namespace) -> list[Raw]:
    inside = database.below(given.parent) if given.parent else database.issues.keys()
    found = []
    for issue in _by_urgency(database.issues.values()):
        needs = database.open_needs(issue)
        is_blocked = bool(needs) or issue["status"] == "blocked"
        if issue["id"] in inside and is_blocked and issue["status"] != "closed":
            found.append({**_bare(issue), "blocked_by_count": len(needs), "blocked_by": needs})
    return found


def _stats(database: Database, given: argparse.Namespace) -> Raw:
    given.parent, given.limit = None, 0
    counts = {f"{one}_issues": 0 for one in STATUSES}
    for issue in database.issues.values():
        counts[f"{issue['status']}_issues"] += 1
    return {
        "summary": {
            "total_issues": len(database.issues),
            **counts,
            "blocked_issues": len(_blocked(database, given)),
            "ready_issues": len(_ready(database, given)),
        }
    }


def _show_version(database: Database, given: argparse.Namespace) -> Raw:
    return {"version": ".".join(map(str, _version())), "build": "fake"}


def _delete(database: Database, given: argparse.Namespace) -> Raw | None:
    gone = [database.find(issue_id)["id"] for issue_id in given.ids]
    if not given.force:
        sys.stderr.write(f"To proceed, run: bd delete {' '.join(gone)} --force\n")
        return None
    n_links = 0
    for issue_id in gone:
        n_links += len(database.issues.pop(issue_id)["dependencies"])
        word = re.compile(rf"(^|[^A-Za-z0-9_-]){re.escape(issue_id)}($|[^A-Za-z0-9_-])")
        for issue in database.issues.values():
            left = [link for link in issue["dependencies"] if link[0] != issue_id]
            if len(left) == len(issue["dependencies"]):
                continue
            n_links += len(issue["dependencies"]) - len(left)
            issue["dependencies"] = left
            for key in ("description", "notes", "design", "acceptance_criteria"):
                if key in issue:
                    issue[key] = word.sub(rf"\1[deleted:{issue_id}]\2", issue[key])
    return {"deleted": gone[0] if len(gone) == 1 else gone, "dependencies_removed": n_links}


def _dep(database: Database, given: argparse.Namespace) -> Raw:
    issue = database.find(given.issue)
    on = given.on if given.on.startswith("external:") else database.find(given.on)["id"]
    told = {"issue_id": issue["id"], "depends_on_id": on}
    if given.verb == "add":
        _link(database, issue, on, given.type)
        return {"status": "added", **told, "type": given.type}
    left = [link for link in issue["dependencies"] if link[0] != on]
    if len(left) == len(issue["dependencies"]):
        raise BdError(f"dependency from {issue['id']} to {on} does not exist")
    issue["dependencies"] = left
    return {"status": "removed", **told}


def _link(database: Database, issue: Raw, on: str, kind: str) -> None:
    if on == issue["id"]:
        raise BdError("issue cannot depend on itself")
    if _kinds(issue, on) and _version() < (0, 35):
        raise BdError(
            "failed to add dependency: sqlite3: constraint failed: UNIQUE constraint failed: "
            "dependencies.issue_id, dependencies.depends_on_id"
        )
    if _kinds(issue, on):
        raise BdError(f"dependency from {issue['id']} to {on} already exists")
    if kind not in FREE and database.leads_to(on, issue["id"]):
        raise BdError(f"cannot add dependency: would create a cycle ({on} → … → {issue['id']})")
    issue["dependencies"].append([on, kind])


_COMMANDS = {
    "init": _init,
    "version": _show_version,
    "ready": _ready,
    "list": _list,
    "show": _show,
    "update": _update,
    "create": _create,
    "close": _close,
    "reopen": _reopen,
    "blocked": _blocked,
    "stats": _stats,
    "delete": _delete,
    "dep": _dep,
}
