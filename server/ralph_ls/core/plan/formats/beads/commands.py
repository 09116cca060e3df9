"""Arguments of the ``bd`` commands that the loop runs.

They are separate arguments, never a line for a shell. ``bd update --notes`` replaces the existing
notes, so these are repeated in front of the new one. Does not start ``bd``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise

from ralph_ls.core.plan.formats.beads.issues import BeadsDependency, BeadsIssue, IssueStatus

BeadsCommand = tuple[str, ...]

RESET_FOR_RETRY = "Reset for retry"
"""The note of a stuck issue that was reset."""
RESET_FOR_REPLANNING = "Reset for replanning"
"""The note of an issue that was reset for planning."""


def claim_command(issue_id: str) -> BeadsCommand:
    """Claim an issue, so that no other worker takes it."""
    return ("update", issue_id, "--claim")


def set_status(issue_id: str, status: str) -> BeadsCommand:
    """Move an issue to another status."""
    return ("update", issue_id, "--status", str(status))


def close_command(issue_id: str, reason: str) -> BeadsCommand:
    """Close an issue; the reason records how each criterion was verified.

    See docs/rules.md#verification.
    """
    return ("close", issue_id, "--reason", reason)


def note_reason(issue: BeadsIssue, reason: str) -> BeadsCommand:
    """Write the reason for a close into the notes, where ``bd`` keeps no reasons."""
    return ("update", issue.id, "--notes", reason)


def add_dependency(issue_id: str, dependency: BeadsDependency) -> BeadsCommand:
    """Have an issue depend on another."""
    return ("dep", "add", issue_id, dependency.on, "--type", str(dependency.kind))


def remove_dependency(issue_id: str, on: str) -> BeadsCommand:
    """Have an issue depend no more on another, in whichever way it did."""
    return ("dep", "remove", issue_id, on)


def note_stuck(
    issue: BeadsIssue, attempts: int, at: datetime, *, reason: str = "", quote: str = ""
) -> BeadsCommand:
    """Note on an issue that is set aside for the next one (docs/rules.md#attempts).

    With a reason, the agent gave it up by itself; ``quote`` is what it said last where its attempts
    merely failed. ``at`` has a time zone.
    """
    moment = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if reason:
        words = " ".join(reason.split()).rstrip(".")
        note = f"STUCK: Blocked at {moment}: {words}. Moving to next issue."
    else:
        note = f"STUCK: Failed after {attempts} attempts at {moment}. Moving to next issue."
        note += f" {quote[0].upper()}{quote[1:]}" if quote else ""
    return ("update", issue.id, "--notes", _noted(issue, note))


def block_command(issue: BeadsIssue, reason: str, needs: str) -> BeadsCommand:
    """Mark an issue as blocked, with its needs (docs/rules.md#attempts)."""
    words = " ".join(reason.split()).rstrip(".")
    note = _noted(issue, f"Blocked by: {words}. Needs: {needs}")
    return ("update", issue.id, "--status", str(IssueStatus.BLOCKED), "--notes", note)


def retry_command(issue: BeadsIssue) -> BeadsCommand:
    """Open an issue for another try; the caller clears its attempts.

    See docs/rules.md#attempts.
    """
    return _reset(issue, RESET_FOR_RETRY)


def replan_commands(issues: Iterable[BeadsIssue]) -> tuple[BeadsCommand, ...]:
    """Open all issues in progress before planning (docs/rules.md#plan-mode)."""
    return tuple(
        _reset(issue, RESET_FOR_REPLANNING)
        for issue in issues
        if issue.status == IssueStatus.IN_PROGRESS
    )


def reopen_command(issue: BeadsIssue, why: str) -> BeadsCommand:
    """Reopen an issue that was closed and did not pass verification."""
    note = " ".join(why.split())
    return (
        "update",
        issue.id,
        "--status",
        str(IssueStatus.IN_PROGRESS),
        "--notes",
        _noted(issue, note),
    )


def recreate_commands(issue: BeadsIssue) -> tuple[BeadsCommand, ...]:
    """Recreate a deleted issue, except for its dependencies and creation time."""
    # A title is a separate argument, and would be taken for a flag if it has that form.
    title = ["--title", issue.title] if issue.title.startswith("-") else [issue.title]
    made = ["create", *title, "--id", issue.id, "--type", issue.kind]
    made += ["--priority", str(issue.priority)]
    texts = {
        "--description": issue.description,
        "--design": issue.design,
        "--acceptance": issue.criteria,
        "--assignee": issue.assignee,
        "--labels": ",".join(issue.labels),
    }
    for flag, text in texts.items():
        made += [flag, text] if text else []
    commands: list[BeadsCommand] = [tuple(made)]
    if issue.notes:
        commands.append(("update", issue.id, "--notes", issue.notes))
    if issue.is_closed:
        commands.append(close_command(issue.id, issue.close_reason or "Closed"))
    elif issue.status != IssueStatus.OPEN:
        commands.append(set_status(issue.id, issue.status))
    return tuple(commands)


def reason_in_notes(notes: str) -> str:
    """The close reason in the notes: everything that the loop has not written itself."""
    lines = (line for line in notes.splitlines() if not line.startswith(_OWN_NOTES))
    return "\n".join(lines).strip()


_OWN_NOTES = (
    "STUCK:",
    "Blocked by:",
    "Opened again:",
    "Verification failed:",
    RESET_FOR_RETRY,
    RESET_FOR_REPLANNING,
)


def is_in_effect(command: BeadsCommand, issue: BeadsIssue | None) -> bool:
    """Whether an issue, None if deleted, already has the state that a command sets. Total.

    For a claim this is never known: the assignee may be another user.
    """
    verb, *words = command
    if issue is None or "--claim" in words:
        return False
    match verb:
        case "close":
            return issue.is_closed
        case "create":
            return True
        case "dep":
            kind = words[4] if words[0] == "add" else None
            found = [one for one in issue.dependencies if one.on == words[2]]
            return not found if kind is None else any(one.kind == kind for one in found)
        case "update":
            flags = dict(pairwise(words))
            known = {
                "--status": issue.status,
                "--notes": issue.notes,
                "--acceptance": issue.criteria,
                "--priority": str(issue.priority),
                "--type": issue.kind,
            }
            return all(
                flags[flag].strip() == value.strip()
                for flag, value in known.items()
                if flag in flags
            )
        case _:
            return False


def commanded_issue(command: BeadsCommand) -> str:
    """The id of the issue that a command changes; empty where it names none."""
    verb, *words = command
    if verb == "create":
        return next((value for flag, value in pairwise(words) if flag == "--id"), "")
    return (words[1:] if verb == "dep" else words)[0]


def _reset(issue: BeadsIssue, note: str) -> BeadsCommand:
    return ("update", issue.id, "--status", str(IssueStatus.OPEN), "--notes", _noted(issue, note))


def _noted(issue: BeadsIssue, note: str) -> str:
    before = issue.notes.rstrip()
    if not before or before == note or before.endswith(f"\n{note}"):
        return before or note
    return f"{before}\n{note}"
