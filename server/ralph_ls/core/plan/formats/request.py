"""Request: the answer of ``gh`` parsed, its text assembled, its title found.

A request is the plan of a run without tasks: its words describe the work. A checklist in it is no
list of tasks, because nothing ticks it during a run: it may be on GitHub, and a run's request does
not change. Parsing never raises; unusable input is None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ralph_ls.core.plan.parse.titles import escape_surrogates

LONGEST_TITLE = 120
"""The maximum number of characters of a title derived from a text."""

UNTITLED = "A request without a title"

_AUTHORS = {"OWNER": "owner", "MEMBER": "member", "COLLABORATOR": "collaborator"}
"""The roles of authors who belong to the project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GithubComment:
    """One comment on an issue."""

    author: str
    role: str
    """``owner``, ``member``, ``collaborator``; empty where they are none of these."""
    at: str
    """The day, such as ``2026-01-31``; empty where it is unknown."""
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GithubIssue:
    """An issue on GitHub, parsed from ``gh issue view --json``."""

    number: int
    title: str
    body: str
    url: str
    is_open: bool
    comments: tuple[GithubComment, ...] = ()
    """Oldest first, without those that were hidden."""

    @property
    def is_pull_request(self) -> bool:
        """Issues and pull requests share their numbers; only the address distinguishes them."""
        return re.search(r"/pull/\d+$", self.url) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedIssue:
    """An issue as it is given to an agent."""

    text: str
    left_out: int
    """Comments for which there was no room, the oldest ones."""


def read_github_issue(answer: str) -> GithubIssue | None:
    """The issue in the output of ``gh``; None where that is no issue."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or type(found.get("number")) is not int:
        return None
    comments = found.get("comments")
    read = [_comment(one) for one in comments] if isinstance(comments, list) else []
    return GithubIssue(
        number=found["number"],
        title=" ".join(_text(found, "title").split()) or UNTITLED,
        body=_text(found, "body"),
        url=_text(found, "url"),
        is_open=_text(found, "state").upper() != "CLOSED",
        comments=tuple(one for one in read if one is not None),
    )


def render_issue(issue: GithubIssue, *, limit: int) -> RenderedIssue:
    """Title, body and comments as one text of at most ``limit`` bytes.

    If they are too long the oldest comments are left out, but never the body.
    """
    head = f"# {issue.title}\n\n{issue.body}".strip()
    room = limit - len(head.encode())
    kept: list[str] = []
    for comment in reversed(issue.comments):
        rendered = _rendered(comment)
        room -= len(rendered.encode())
        if room < 0:
            break
        kept.insert(0, rendered)
    return RenderedIssue(text="".join([head, *kept]), left_out=len(issue.comments) - len(kept))


def request_title(text: str) -> str:
    """The first heading of a text, else its first line that has a letter."""
    lines = [line.strip() for line in text.splitlines()]
    headings = [found[1] for line in lines if (found := re.match(r"#{1,6}\s+(.*\w.*)", line))]
    others = [line for line in lines if re.search(r"[^\W_]", line)]
    title = " ".join(next(iter([*headings[:1], *others[:1]]), UNTITLED).split())
    title = title.rstrip("# ") or title
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1].rstrip()}…"


def _comment(found: object) -> GithubComment | None:
    if not isinstance(found, dict) or found.get("isMinimized") is True:
        return None
    author = found.get("author")
    day = re.match(r"\d{4}-\d\d-\d\d", _text(found, "createdAt"))
    login = " ".join(_text(author, "login").split()) if isinstance(author, dict) else ""
    return GithubComment(
        # GitHub's name for users who deleted their account.
        author=login or "ghost",
        role=_AUTHORS.get(_text(found, "authorAssociation"), ""),
        at=day[0] if day is not None else "",
        body=_text(found, "body"),
    )


def _rendered(comment: GithubComment) -> str:
    who = ", ".join(filter(None, (comment.author, comment.role, comment.at)))
    return f"\n\n## Comment by {who}\n\n{comment.body.strip()}"


def _text(found: Mapping[str, Any], key: str) -> str:
    """A text of the answer with plain line ends; empty where there is none."""
    value = found.get(key)
    if not isinstance(value, str):
        return ""
    return escape_surrogates(value).replace("\r\n", "\n").replace("\r", "\n")
