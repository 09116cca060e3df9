"""Admission: which issues enter the queue, and why the others do not (docs/rules.md#github).

Everybody may open an issue, so one enters only if its author may triage in the repository, or if
somebody who may has set the label or milestone of the queue after the last change of its text. The
right is GitHub's answer of that moment; an answer that is missing is a no.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ralph_ls.core.plan.formats.github.issues import IssueEvent, QueueComment, QueueIssue

MayTriage = Callable[[str], bool | None]
"""Whether an account may triage; None where GitHub did not say so."""

TRIAGERS = frozenset({"admin", "maintain", "write", "triage"})
"""The roles whose holders may triage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """What the issues of a queue have in common."""

    label: str | None = None
    milestone: str | None = None
    assignee: str | None = None
    """A login."""
    claim_label: str | None = None

    @property
    def words(self) -> str:
        """In words that follow "the issues"."""
        parts = [
            f"with the label {self.label}" if self.label else "",
            f"in the milestone {self.milestone}" if self.milestone else "",
            f"assigned to {self.assignee}" if self.assignee else "",
        ]
        return " ".join(filter(None, parts))

    def takes(self, issue: QueueIssue) -> bool:
        """Whether an issue has the label, the milestone and the assignee."""
        return (
            (self.label is None or _is_in(self.label, issue.labels))
            and (self.milestone is None or _same(self.milestone, issue.milestone))
            and (self.assignee is None or _is_in(self.assignee, issue.assignees))
        )


def may_triage(answer: str) -> bool:
    """Whether the permission that ``gh api`` printed is enough; anything else is a no."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict):
        return False
    user = found.get("user")
    rights = user.get("permissions") if isinstance(user, dict) else None
    is_named = {found.get("permission"), found.get("role_name")} & TRIAGERS
    return bool(is_named) or (isinstance(rights, dict) and rights.get("triage") is True)


def is_login(text: str) -> bool:
    """Whether this can be part of an address: the name of an account."""
    return _LOGIN.fullmatch(text) is not None


def people_of(issue: QueueIssue, wanted: QueueFilter) -> tuple[str, ...]:
    """The accounts whose rights decide about an issue, each once."""
    marked = last_mark(issue, wanted)
    names = (issue.author, "" if marked is None else marked.actor, issue.editor)
    renamed = (one.actor for one in issue.events if one.kind == "RenamedTitleEvent")
    return tuple(dict.fromkeys(one for one in (*names, *renamed) if is_login(one)))


def why_ignored(
    issue: QueueIssue, wanted: QueueFilter, may: MayTriage, *, viewer: str, is_claimed: bool
) -> str:
    """Why an issue is not in the queue, in words that follow its name; empty where it is.

    ``is_claimed`` says that this loop has claimed it.
    """
    return _why_not_admitted(issue, wanted, may) or _why_taken(
        issue, wanted, viewer, is_claimed=is_claimed
    )


def trusted_comments(comments: Iterable[QueueComment], may: MayTriage) -> tuple[QueueComment, ...]:
    """The comments by people who may triage, as nobody else has edited them."""
    return tuple(
        one
        for one in comments
        if _may(may, one.author) and (not one.editor or _may(may, one.editor))
    )


def last_mark(issue: QueueIssue, wanted: QueueFilter) -> IssueEvent | None:
    """How the issue came into the queue: the last time that its label or milestone was set."""
    found = (
        one
        for one in reversed(issue.events)
        if (one.kind == "LabeledEvent" and _same(one.name, wanted.label or ""))
        or (one.kind == "MilestonedEvent" and _same(one.name, wanted.milestone or ""))
    )
    return next(found, None)


def _why_not_admitted(issue: QueueIssue, wanted: QueueFilter, may: MayTriage) -> str:
    allowed = may(issue.author) if is_login(issue.author) else False
    if allowed:
        return ""
    who = issue.author or "somebody whose account is gone"
    unknown = "GitHub did not say whether {} may triage here"
    what = "label" if wanted.label else "milestone"
    set_it = f"let somebody who may triage set the {what}"
    marked = last_mark(issue, wanted)
    if marked is None:
        why = unknown.format(who) if allowed is None else f"{who} may not triage here"
        return f"opened by {who}, and {why}; {set_it}"
    marker_may = may(marked.actor) if is_login(marked.actor) else False
    if not marker_may:
        whose = marked.actor or "an account that is gone"
        why = f"{whose} may not triage here"
        why = unknown.format(whose) if marker_may is None else why
        return f"opened by {who}, its {what} was set by {whose}, and {why}; {set_it}"
    return _why_changed(issue, marked, may, f"{set_it} again")


def _why_changed(issue: QueueIssue, marked: IssueEvent, may: MayTriage, remedy: str) -> str:
    """Why the approval of its text does not hold any more: it was changed afterwards."""
    changes = [one for one in issue.events if one.kind == "RenamedTitleEvent"]
    if issue.edited_at is not None:
        changes.append(IssueEvent(kind="edited", actor=issue.editor, at=issue.edited_at))
    for one in changes:
        if one.at > marked.at and not _may(may, one.actor):
            return (
                f"{one.actor or 'an account that is gone'} changed its text after {marked.actor} "
                f"let it in; {remedy}"
            )
    return ""


def _why_taken(issue: QueueIssue, wanted: QueueFilter, viewer: str, *, is_claimed: bool) -> str:
    own = {viewer.casefold(), (wanted.assignee or viewer).casefold()}
    others = [one for one in issue.assignees if one.casefold() not in own]
    if others and len(others) == len(issue.assignees):
        return f"assigned to {others[0]}"
    claim = wanted.claim_label
    if claim and not is_claimed and _is_in(claim, issue.labels):
        return f"labelled {claim} by another loop or user"
    return ""


def _may(may: MayTriage, login: str) -> bool:
    return is_login(login) and may(login) is True


def _same(one: str, other: str) -> bool:
    """GitHub compares the names of labels, milestones and accounts without regard to case."""
    return bool(one) and one.casefold() == other.casefold()


def _is_in(name: str, names: Iterable[str]) -> bool:
    return any(_same(name, one) for one in names)


_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9_])?")
