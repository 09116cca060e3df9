"""GitHub for a queue of issues: what the fake ``gh`` and the server for a real one answer.

Both read the file that ``tests.fakes.gh.seed`` makes. There a repository also has ``people`` (login
to role), ``milestones`` (title to number), ``on_branch`` (commits of its default branch) and flags;
an issue has ``author``, ``labels``, ``milestone``, ``assignees``, ``created``, ``edited`` (who and
when), ``comments`` and ``events``. Queries are read by their form; that GitHub understands them was
checked against its schema.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Raw = dict[str, Any]

RIGHTS = ("pull", "triage", "push", "maintain", "admin")
ROLES = {"read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}
PERMISSIONS = {"read": "read", "triage": "read", "write": "write", "maintain": "write"}
CREATED = "2026-01-01T00:00:00Z"


def queue(path: Path, people: dict[str, str] | None = None, **issues: Raw) -> None:
    """A GitHub whose repository ``ada/invoice`` has these issues, with the label ``ralph``.

    Ada owns it; an issue is hers, and labelled by her, unless it says something else.
    """
    made: Raw = {}
    for at, (name, given) in enumerate(issues.items()):
        issue: Raw = {
            "author": "ada",
            "labels": ["ralph"],
            "created": f"2026-01-{at + 1:02d}T00:00:00Z",
            **given,
        }
        marks = [
            {"kind": "LabeledEvent", "actor": "ada", "at": issue["created"], "name": label}
            for label in issue["labels"]
        ]
        made[name.removeprefix("i")] = {"events": marks, **issue}
    repository = {
        "issues": made,
        "people": {"ada": "admin", "grace": "triage", **(people or {})},
        "milestones": {"Version 2": 7},
        "on_branch": [],
    }
    write(path, {"viewer": "ada", "repositories": {"ada/invoice": repository}, "posted": []})


def read(path: Path) -> Raw:
    found: Raw = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(path: Path, github: Raw) -> None:
    path.write_text(json.dumps(github), encoding="utf-8")


def issue_in(path: Path, number: int) -> Raw:
    """An issue as it is on GitHub now."""
    found: Raw = read(path)["repositories"]["ada/invoice"]["issues"][str(number)]
    return found


def change(path: Path, number: int, event: Raw | None = None, **fields: Any) -> None:
    """Change an issue, as somebody does on GitHub."""
    github = read(path)
    issue = github["repositories"]["ada/invoice"]["issues"][str(number)]
    issue.update(fields)
    if event is not None:
        # In no second in which something was recorded here.
        issue.setdefault("events", []).append({"at": now(later=1), **event})
    write(path, github)


def now(*, later: int = 0) -> str:
    """The time, with GitHub's precision of a second, or some seconds later."""
    return (datetime.now(UTC) + timedelta(seconds=later)).strftime("%Y-%m-%dT%H:%M:%SZ")


def answer(github: Raw, request: Raw, *, is_old: bool = False) -> Raw:
    """The answer to a GraphQL request about a queue."""
    query, values = request["query"], request["variables"]
    if is_old and "blockedBy" in query:
        message = "Field 'blockedBy' doesn't exist on type 'Issue'"
        return {"errors": [{"extensions": {"code": "undefinedField"}, "message": message}]}
    asked = f"{values['owner']}/{values['name']}"
    name = github.get("renamed", {}).get(asked, asked)
    repository = github["repositories"].get(name)
    if repository is None:
        return _missing("repository", f"a Repository with the name '{asked}'", {"repository": None})
    facts: Raw = {
        "nameWithOwner": name,
        "hasIssuesEnabled": not repository.get("disabled"),
        "isArchived": bool(repository.get("archived")),
        "defaultBranchRef": {"name": "main"},
    }
    data: Raw = {"viewer": {"login": github.get("viewer", "ada")}, "repository": facts}
    issues = repository["issues"]
    if "issues(first" in query:
        facts["issues"] = _page(name, issues, query, values.get("after"))
    if single := re.search(r"\bissue\(number: (\d+)\)", query):
        found = issues.get(single[1])
        facts["issue"] = None if found is None else shown(name, int(single[1]), found)
        if found is None:
            what = f"an Issue with the number of {single[1]}"
            return _missing("repository.issue", what, data)
    gone = None
    for number in re.findall(r"n(\d+): issueOrPullRequest", query):
        found = issues.get(number)
        facts[f"n{number}"] = found and {"closed": found.get("state") == "CLOSED"}
        gone = number if found is None else gone
    if gone is not None:
        return _missing("repository", f"an issue or pull request with the number of {gone}", data)
    return {"data": data}


def _page(name: str, issues: Raw, query: str, after: str | None) -> Raw:
    label = re.search(r'labels: \[("(?:[^"\\]|\\.)*")\]', query)
    milestone = re.search(r'milestoneNumber: "(\d+)"', query)
    size = re.search(r"issues\(first: (\d+)", query)
    assert size is not None
    wanted = [
        (number, one)
        for number, one in issues.items()
        if one.get("state", "OPEN") == "OPEN"
        and not one.get("is_pull")
        and (label is None or json.loads(label[1]) in one.get("labels", ()))
        and (milestone is None or one.get("milestone") is not None)
    ]
    wanted.sort(key=lambda pair: pair[1].get("created", CREATED))
    begin = int(after or 0)
    end = begin + int(size[1])
    return {
        "totalCount": len(wanted),
        "pageInfo": {"hasNextPage": end < len(wanted), "endCursor": str(end)},
        "nodes": [shown(name, int(number), one) for number, one in wanted[begin:end]],
    }


def shown(name: str, number: int, issue: Raw) -> Raw:
    """An issue as GitHub's GraphQL gives it."""
    edited = issue.get("edited", {})
    return {
        "number": number,
        "title": issue.get("title", f"Issue {number}"),
        "body": issue.get("body", ""),
        "url": f"https://github.com/{name}/issues/{number}",
        "state": issue.get("state", "OPEN"),
        "createdAt": issue.get("created", CREATED),
        "author": _who(issue.get("author")),
        "editor": _who(edited.get("by")),
        "lastEditedAt": edited.get("at"),
        "repository": {"nameWithOwner": name},
        "labels": {"nodes": [{"name": one} for one in issue.get("labels", ())]},
        "milestone": issue.get("milestone") and {"title": issue["milestone"]},
        "assignees": {"nodes": [{"login": one} for one in issue.get("assignees", ())]},
        "blockedBy": {"nodes": _others(name, issue.get("blocked_by", {}))},
        "subIssues": {"nodes": _others(name, issue.get("parts", {}))},
        "timelineItems": {"nodes": [_event(one) for one in issue.get("events", ())]},
        "comments": {
            "nodes": [
                {
                    "author": _who(one.get("author", "grace")),
                    "editor": _who(one.get("editor")),
                    "createdAt": one.get("at", "2026-01-31T12:00:00Z"),
                    "body": one.get("body", ""),
                    "isMinimized": one.get("hidden", False),
                }
                for one in issue.get("comments", ())
            ]
        },
    }


def _who(login: str | None) -> Raw | None:
    return None if login is None else {"login": login}


def _others(name: str, found: Raw) -> list[Raw]:
    return [
        {"number": int(number), "state": state, "repository": {"nameWithOwner": name}}
        for number, state in found.items()
    ]


def _event(one: Raw) -> Raw:
    event = {"__typename": one["kind"], "actor": _who(one["actor"]), "createdAt": one["at"]}
    if one["kind"] == "LabeledEvent":
        event["label"] = {"name": one["name"]}
    if one["kind"] == "MilestonedEvent":
        event["milestoneTitle"] = one["name"]
    return event


def _missing(path: str, what: str, data: Raw) -> Raw:
    message = f"Could not resolve to {what}."
    return {"data": data, "errors": [{"type": "NOT_FOUND", "path": [path], "message": message}]}


def rest(github: Raw, path: str) -> Raw | list[Raw] | None:
    """The answer to a path of the REST API; None where there is nothing."""
    found = re.fullmatch(r"/?repos/([^/]+/[^/?]+)/(.*)", path)
    repository = github["repositories"].get(found[1]) if found else None
    if found is None or repository is None:
        return None
    if person := re.fullmatch(r"collaborators/([^/]+)/permission", found[2]):
        role = repository.get("people", {}).get(person[1], "none")
        has = ROLES.get(role, 0)
        if role == "gone":
            return None
        return {
            "permission": PERMISSIONS.get(role, role),
            "role_name": role,
            "user": {
                "login": person[1],
                "permissions": {right: at < has for at, right in enumerate(RIGHTS)},
            },
        }
    if found[2].startswith("milestones"):
        known = repository.get("milestones", {})
        return [{"title": title, "number": number} for title, number in known.items()]
    if compared := re.match(r"compare/([^.]+)\.\.\.([0-9a-f]+)", found[2]):
        if compared[2] not in repository.get("known", repository.get("on_branch", ())):
            return None
        is_on = compared[2] in repository.get("on_branch", ())
        return {"status": "behind" if is_on else "ahead"}
    return None


def edit(github: Raw, name: str, number: int, **changes: Any) -> None:
    """What ``gh issue edit`` and ``gh issue close`` do: labels, assignees, state."""
    issue = github["repositories"][name]["issues"][str(number)]
    viewer = github.get("viewer", "ada")
    labels, assignees = issue.setdefault("labels", []), issue.setdefault("assignees", [])
    for label in changes.get("add_labels", ()):
        if label not in labels:
            labels.append(label)
            mark = {"kind": "LabeledEvent", "actor": viewer, "at": now(), "name": label}
            issue.setdefault("events", []).append(mark)
    issue["labels"] = [one for one in labels if one not in changes.get("remove_labels", ())]
    for login in changes.get("add_assignees", ()):
        who = viewer if login == "@me" else login
        if who not in assignees:
            assignees.append(who)
    taken = [viewer if one == "@me" else one for one in changes.get("remove_assignees", ())]
    issue["assignees"] = [one for one in assignees if one not in taken]
    if "state" in changes:
        issue["state"] = changes["state"]
    if body := changes.get("comment"):
        comment = {"author": viewer, "body": body, "at": now()}
        issue.setdefault("comments", []).append(comment)
