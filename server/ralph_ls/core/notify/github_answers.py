"""Answers from GitHub: which comment on an issue answers the open question, by its form alone.

A comment counts by its first line, its time, its author and whether it was edited. Whether the
author may write to the repository is asked afterwards, each time (docs/rules.md#notifications).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

ANSWER = "/ralph answer"

LONGEST_ANSWER = 20_000
"""Characters of an answer; a longer one is refused, never cut."""

WRITERS = frozenset({"admin", "maintain", "write"})
"""The permissions with which a comment counts."""

_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueComment:
    """A comment on an issue."""

    id: int
    author: str
    is_bot: bool
    created_at: datetime
    is_edited: bool
    body: str


def read_comments(answer: str) -> tuple[IssueComment, ...]:
    """The comments in what ``gh api`` printed; what has another shape is left out. Never fails."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return ()
    pages = found if isinstance(found, list) else []
    flat = [one for page in pages for one in (page if isinstance(page, list) else [page])]
    read = [_comment(one) for one in flat if isinstance(one, dict)]
    return tuple(one for one in read if one is not None)


def _comment(found: dict[str, Any]) -> IssueComment | None:
    given, body, number = found.get("user"), found.get("body"), found.get("id")
    user: dict[str, Any] = given if isinstance(given, dict) else {}
    login = user.get("login")
    created, edited = _time(found.get("created_at")), _time(found.get("updated_at"))
    if not isinstance(login, str) or not isinstance(body, str) or type(number) is not int:
        return None
    if created is None:
        return None
    by_app = found.get("performed_via_github_app") is not None
    return IssueComment(
        id=number,
        author=login,
        is_bot=by_app or user.get("type") != "User" or _LOGIN.fullmatch(login) is None,
        created_at=created,
        is_edited=edited != created,
        body=body,
    )


def _time(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def answer_in(comment: IssueComment, identity: str) -> str | None:
    """The answer to the question with this id; None where the comment answers another or none."""
    first, _, rest = comment.body.replace("\r\n", "\n").partition("\n")
    if first.rstrip() != f"{ANSWER} {identity}":
        return None
    return rest.strip() or None


def new_answers(
    comments: Collection[IssueComment],
    *,
    identity: str,
    asked_at: datetime,
    seen: Collection[int],
) -> tuple[tuple[IssueComment, str], ...]:
    """The comments that may answer the question, oldest first, each with its answer."""
    found = [
        (one, answer)
        for one in comments
        if one.id not in seen
        and not one.is_bot
        and not one.is_edited
        and one.created_at > asked_at
        and (answer := answer_in(one, identity)) is not None
        and len(answer) <= LONGEST_ANSWER
    ]
    return tuple(sorted(found, key=lambda pair: (pair[0].created_at, pair[0].id)))


def may_write(answer: str) -> bool:
    """Whether the permission that ``gh api`` printed is enough; anything else is a no."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("permission") in WRITERS
