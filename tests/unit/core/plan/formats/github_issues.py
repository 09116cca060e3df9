"""Issues for tests of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ralph_ls.core.plan.formats.github.admission import QueueFilter
from ralph_ls.core.plan.formats.github.issues import IssueEvent, QueueIssue

RALPH = QueueFilter(label="ralph")


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def event(kind: str, actor: str, at: int, name: str = "") -> IssueEvent:
    return IssueEvent(kind=kind, actor=actor, at=day(at), name=name)


def labelled(actor: str, at: int = 2, name: str = "ralph") -> IssueEvent:
    return event("LabeledEvent", actor, at, name)


def issue(number: int = 12, title: str = "Letters get lost", **more: Any) -> QueueIssue:
    waits: Mapping[int, bool] = more.pop("waits_for", {})
    return QueueIssue(
        number=number,
        title=title,
        url=f"https://github.com/ada/invoice/issues/{number}",
        created_at=f"2026-01-{number:02d}T00:00:00Z",
        waits_for=waits,
        **{"body": "", "author": "ada", "labels": ("ralph",), **more},
    )


def may(login: str) -> bool | None:
    """Ada and Grace may triage, mallory may not, of others GitHub says nothing."""
    return {"ada": True, "grace": True, "mallory": False}.get(login)
