"""Issues of GitHub: what is asked of its GraphQL API, and the answers read.

One query has everything that decides about an issue, so that its text and who vouches for it are
known of the same moment. Parsing never raises; an answer of another shape is None. Does not start
``gh``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace

PAGE = 50
"""Issues of one answer: each may have 64 KB of text."""

MOST_ISSUES = 1_000
"""Most issues that are read; a queue is worked off from its beginning."""

MOST_STATES = 100
"""Most issues whose state is asked for at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueEvent:
    """Something that somebody did to an issue."""

    kind: str
    """``LabeledEvent``, ``MilestonedEvent``, ``RenamedTitleEvent`` or ``ReopenedEvent``."""
    actor: str
    """Empty where the account is gone."""
    at: datetime
    name: str = ""
    """The label or the milestone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueIssue:
    """One issue with what decides about it."""

    number: int
    title: str
    body: str
    url: str
    created_at: str
    is_open: bool = True
    author: str = ""
    editor: str = ""
    """Who edited its text last."""
    edited_at: datetime | None = None
    labels: tuple[str, ...] = ()
    milestone: str = ""
    assignees: tuple[str, ...] = ()
    events: tuple[IssueEvent, ...] = ()
    """The newest hundred, oldest first."""
    waits_for: Mapping[int, bool]
    """Issues that GitHub says it waits for, or that are parts of it, and whether they are open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueComment:
    """One comment on an issue."""

    author: str
    at: datetime
    body: str
    editor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """One answer about a queue."""

    repository: str
    """``owner/name``, as it is called now."""
    viewer: str
    """The account that asks."""
    has_issues: bool
    is_archived: bool
    branch: str
    """The default branch; empty in an empty repository."""
    total: int
    issues: tuple[QueueIssue, ...] = ()
    after: str | None = None
    """Where the next page begins; None on the last one."""
    comments: tuple[QueueComment, ...] = ()
    """Those on the only issue that was asked for, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueQuery:
    """Which issues of a repository are asked for."""

    owner: str
    name: str
    label: str | None = None
    milestone: int | None = None
    """Its number."""
    native: bool = True
    """Whether this GitHub knows dependencies and sub-issues; older servers do not."""


def page_request(query: QueueQuery, after: str | None = None) -> str:
    """The request for one page of open issues, the oldest first, as JSON."""
    filters = [
        *([f"labels: [{json.dumps(query.label)}]"] if query.label is not None else []),
        *([f'milestoneNumber: "{query.milestone}"'] if query.milestone is not None else []),
    ]
    by = f", filterBy: {{{', '.join(filters)}}}" if filters else ""
    issues = (
        f"issues(first: {PAGE}, after: $after, states: [OPEN], "
        f"orderBy: {{field: CREATED_AT, direction: ASC}}{by}) "
        f"{{ totalCount pageInfo {{ hasNextPage endCursor }} nodes {{ {_issue(query)} }} }}"
    )
    return _request(query, issues, after=after)


def issue_request(query: QueueQuery, number: int) -> str:
    """The request for one issue with its newest comments, as JSON."""
    comments = (
        "comments(last: 50) { nodes { author { login } editor { login } createdAt body "
        "isMinimized } }"
    )
    return _request(query, f"issue(number: {number}) {{ {_issue(query)} {comments} }}")


def states_request(query: QueueQuery, numbers: Sequence[int]) -> str:
    """The request for the states of at most ``MOST_STATES`` issues and pull requests, as JSON."""
    part = "issueOrPullRequest(number: {0}) {{ ... on Closable {{ closed }} }}"
    asked = " ".join(f"n{one}: {part.format(one)}" for one in numbers)
    return _request(query, asked)


def read_page(answer: str) -> QueuePage | None:
    """The page in an answer to ``page_request`` or ``issue_request``."""
    data = _data(answer)
    found = data.get("repository")
    if not isinstance(found, dict):
        return None
    listed = _table(found, "issues")
    single = _table(found, "issue")
    page = _table(listed, "pageInfo")
    nodes = _nodes(found, "issues") or ([single] if single else [])
    return QueuePage(
        repository=_text(found, "nameWithOwner"),
        viewer=_text(_table(data, "viewer"), "login"),
        has_issues=found.get("hasIssuesEnabled") is not False,
        is_archived=found.get("isArchived") is True,
        branch=_text(_table(found, "defaultBranchRef"), "name"),
        total=total if type(total := listed.get("totalCount")) is int else len(nodes),
        issues=tuple(one for node in nodes if (one := _read_issue(node)) is not None),
        after=_text(page, "endCursor") or None if page.get("hasNextPage") is True else None,
        comments=tuple(
            read for node in _nodes(single, "comments") if (read := _comment(node)) is not None
        ),
    )


def read_states(answer: str) -> dict[int, bool]:
    """Whether each issue of an answer to ``states_request`` is open; those that are gone are not in
    it.
    """
    found = _table(_data(answer), "repository")
    return {
        int(name[1:]): one.get("closed") is False
        for name, one in found.items()
        if isinstance(one, dict) and name[:1] == "n" and name[1:].isdecimal()
    }


def read_milestone(answer: str, title: str) -> int | None:
    """The number of the milestone with a title, in the list that GitHub's REST API gives."""
    for one in _json(answer, list):
        is_dict = isinstance(one, dict)
        if is_dict and _text(one, "title").casefold() == title.strip().casefold():
            number = one.get("number")
            return number if type(number) is int else None
    return None


def _request(query: QueueQuery, inner: str, *, after: str | None = None) -> str:
    facts = "nameWithOwner hasIssuesEnabled isArchived defaultBranchRef { name }"
    text = (
        "query($owner: String!, $name: String!, $after: String) { viewer { login } "
        f"repository(owner: $owner, name: $name) {{ {facts} {inner} }} }}"
    )
    if "$after," not in inner:
        text = text.replace(", $after: String", "", 1)
    variables = {"owner": query.owner, "name": query.name}
    given = {**variables, "after": after} if "$after," in inner else variables
    return json.dumps({"query": text, "variables": given})


def _issue(query: QueueQuery) -> str:
    native = (
        " blockedBy(first: 50) { nodes { number state repository { nameWithOwner } } } "
        "subIssues(first: 50) { nodes { number state repository { nameWithOwner } } }"
        if query.native
        else ""
    )
    event = "actor { login } createdAt"
    return (
        "number title body url state createdAt author { login } editor { login } lastEditedAt "
        "repository { nameWithOwner } labels(first: 100) { nodes { name } } milestone { title } "
        f"assignees(first: 20) {{ nodes {{ login }} }}{native} "
        "timelineItems(last: 100, itemTypes: "
        "[LABELED_EVENT, MILESTONED_EVENT, RENAMED_TITLE_EVENT, REOPENED_EVENT]) "
        "{ nodes { __typename "
        f"... on LabeledEvent {{ {event} label {{ name }} }} "
        f"... on MilestonedEvent {{ {event} milestoneTitle }} "
        f"... on RenamedTitleEvent {{ {event} }} "
        f"... on ReopenedEvent {{ {event} }} }} }}"
    )


def _read_issue(node: Mapping[str, Any]) -> QueueIssue | None:
    number = node.get("number")
    if type(number) is not int or number < 1:
        return None
    here = _text(_table(node, "repository"), "nameWithOwner").casefold()
    waits = [*_nodes(node, "blockedBy"), *_nodes(node, "subIssues")]
    return QueueIssue(
        number=number,
        title=fold_whitespace(_text(node, "title")) or f"Issue {number}",
        body=_text(node, "body"),
        url=_text(node, "url"),
        created_at=_text(node, "createdAt"),
        is_open=_text(node, "state") == "OPEN",
        author=_login(node, "author"),
        editor=_login(node, "editor"),
        edited_at=_time(node.get("lastEditedAt")),
        labels=tuple(_text(one, "name") for one in _nodes(node, "labels")),
        milestone=_text(_table(node, "milestone"), "title"),
        assignees=tuple(_text(one, "login") for one in _nodes(node, "assignees")),
        events=tuple(
            one for given in _nodes(node, "timelineItems") if (one := _event(given)) is not None
        ),
        waits_for={
            waited: _text(one, "state") == "OPEN"
            for one in waits
            if type(waited := one.get("number")) is int
            and _text(_table(one, "repository"), "nameWithOwner").casefold() == here
        },
    )


def _event(node: Mapping[str, Any]) -> IssueEvent | None:
    at = _time(node.get("createdAt"))
    if at is None:
        return None
    name = _text(_table(node, "label"), "name") or _text(node, "milestoneTitle")
    return IssueEvent(kind=_text(node, "__typename"), actor=_login(node, "actor"), at=at, name=name)


def _comment(node: Mapping[str, Any]) -> QueueComment | None:
    at = _time(node.get("createdAt"))
    if at is None or node.get("isMinimized") is True:
        return None
    return QueueComment(
        author=_login(node, "author"),
        at=at,
        body=_text(node, "body"),
        editor=_login(node, "editor"),
    )


def _login(node: Mapping[str, Any], key: str) -> str:
    return _text(_table(node, key), "login")


def _nodes(node: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    nodes = _table(node, key).get("nodes")
    return [one for one in nodes if isinstance(one, dict)] if isinstance(nodes, list) else []


def _table(node: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = node.get(key)
    return found if isinstance(found, dict) else {}


def _text(node: Mapping[str, Any], key: str) -> str:
    found = node.get(key)
    if not isinstance(found, str):
        return ""
    return escape_surrogates(found).replace("\r\n", "\n").replace("\r", "\n")


def _time(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def _data(answer: str) -> dict[str, Any]:
    return _table({"data": None, **_json(answer, dict)}, "data")


def _json(answer: str, kind: type[Any]) -> Any:
    """The JSON of an answer, where it is of that kind; else an empty one."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return kind()
    return found if isinstance(found, kind) else kind()
