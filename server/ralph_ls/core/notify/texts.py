"""Texts of notifications: title and body for people, the JSON for a command, comments on issues.

The caller redacts them. A comment has no path of the user's machine in it, and what an agent wrote
is in a fence there, so that it mentions nobody, closes nothing and no markup of it counts. A
comment on an issue of a queue says what was done or why the issue was set aside, and begins with a
mark by which it is known again, so that none is written twice.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from ralph_ls.core.notify.occasions import Notification, question_id
from ralph_ls.core.notify.schedule import Outgoing
from ralph_ls.core.plan.formats.github.records import IssueRecord, RecordState
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.panel.question import question_lines
from ralph_ls.core.views.text.summary import dollar_words
from ralph_ls.protocol.config.notify import AnswerSource, NotifyEvent
from ralph_ls.protocol.run.state import RunState

LONGEST_TEXT = 1500
"""Characters of what happened: some services refuse more than 2000 altogether."""

HEADLINES = {
    NotifyEvent.QUESTION: "Ralph has a question",
    NotifyEvent.BLOCKER: "Ralph is blocked",
    NotifyEvent.BREAKER: "Ralph is stuck",
    NotifyEvent.REVIEW_POINT: "A review is due",
    NotifyEvent.APPROVAL: "Ralph needs your approval",
    NotifyEvent.SET_ASIDE: "A task was set aside",
    NotifyEvent.USAGE_LIMIT: "The agent's usage limit",
    NotifyEvent.COST: "Ralph has used more money",
    NotifyEvent.COMPLETE: "Ralph is done",
    NotifyEvent.LIMIT: "Ralph reached a limit",
    NotifyEvent.FATAL: "Ralph failed",
}


def title_of(outgoing: Outgoing, run: RunState) -> str:
    """``invoice: Ralph has a question (and 2 more)``."""
    more = f" (and {outgoing.more} more)" if outgoing.more else ""
    return f"{repository_of(run)}: {HEADLINES[outgoing.notification.event]}{more}"


def repository_of(run: RunState) -> str:
    """The name of the work tree's folder."""
    return escape_control_chars(re.split(r"[/\\]", run.workspace.rstrip("/\\"))[-1]) or "ralph"


def body_of(outgoing: Outgoing, run: RunState) -> str:
    """What happened, with task, cost, and the exact command.

    The options of a question have the numbers that answer it.
    """
    found = outgoing.notification
    asks = found.event is NotifyEvent.QUESTION
    lines = [_cut("\n".join(question_lines(found.text)) if asks else found.text), ""]
    if found.task is not None:
        lines.append(f"Task: {escape_control_chars(found.task.title)}")
    lines += [" · ".join(facts)] if (facts := _facts(found, run)) else []
    if found.advice:
        lines += ["", f"Next: {found.advice}"]
    if command := command_line(found, run):
        lines += ["", command]
    return "\n".join(lines).rstrip()


def command_line(found: Notification, run: RunState) -> str:
    """The command with the folder in which to type it; empty where there is none."""
    if found.is_anywhere:
        return found.command
    return f"cd {shlex.quote(run.workspace)} && {found.command}" if found.command else ""


def _facts(found: Notification, run: RunState) -> list[str]:
    facts = [f"Iteration {found.iteration}"] if found.iteration else []
    facts += [dollar_words(found.cost_usd)] if found.cost_usd is not None else []
    if not run.run:
        return facts
    return [*facts, f"run {run.run}" if facts else f"Run {run.run}"]


def payload_of(outgoing: Outgoing, run: RunState) -> dict[str, object]:
    """What a command gets as JSON."""
    found, request = outgoing.notification, run.request
    asks = found.event is NotifyEvent.QUESTION
    return {
        "event": found.event.value,
        "title": title_of(outgoing, run),
        "text": found.text,
        "options": list(found.options),
        "question_id": question_id(run.run, found.start) if asks else "",
        "repository": repository_of(run),
        "workspace": run.workspace,
        "branch": run.branch or "",
        "run": run.run,
        "start": found.start,
        "iteration": found.iteration,
        "task": None if found.task is None else {"id": found.task.id, "title": found.task.title},
        "request": "" if request is None else request.title,
        "source": "" if request is None else request.source,
        "url": "" if request is None else request.url or "",
        "cost_usd": found.cost_usd,
        "command": command_line(found, run),
        "next": found.advice,
        "more": outgoing.more,
    }


def comment_of(outgoing: Outgoing, run: RunState) -> str:
    """The comment for the issue that the run works on."""
    found = outgoing.notification
    more = f" (and {outgoing.more} more)" if outgoing.more else ""
    parts = [f"{HEADLINES[found.event]}{more}:", fenced(found.text)]
    if found.event is NotifyEvent.QUESTION:
        parts.append(_how_to_answer(found, run))
    elif found.command:
        parts.append(f"The owner of the loop continues with `{_fit_for_code(found.command)}`.")
    return "\n\n".join(parts) + "\n"


def _how_to_answer(found: Notification, run: RunState) -> str:
    by_owner = "The owner of the loop answers with `ralph answer`."
    if AnswerSource.GITHUB not in run.config.notify.answers:
        return by_owner
    identity = question_id(run.run, found.start)
    return (
        "If you may write to this repository, answer with a new comment: the line "
        f"`/ralph answer {identity}` first, your answer below it. {by_owner}"
    )


def fenced(text: str) -> str:
    """A text in a fence that it cannot close."""
    runs = [len(found[0]) for found in re.finditer(r"`{3,}", text)]
    fence = "`" * (max(runs, default=2) + 1)
    return f"{fence}text\n{text.strip()}\n{fence}"


def _fit_for_code(command: str) -> str:
    return command.replace("`", "'")


def _cut(text: str) -> str:
    plain = "\n".join(escape_control_chars(line) for line in text.strip().splitlines())
    return plain if len(plain) <= LONGEST_TEXT else f"{plain[:LONGEST_TEXT].rstrip()}…"


# -------------------------------------------------------------------------------- issues of a queue


def comment_mark(record: IssueRecord, *, is_merged: bool) -> str:
    """The first line of a comment, which GitHub does not show."""
    what = RecordState.CLOSED if is_merged else record.state
    return f"<!-- ralph: {what.value} {record.at.isoformat()} -->"


def comment_about(
    record: IssueRecord, evidence: Sequence[str], *, branch: str, is_merged: bool
) -> str:
    """The comment on an issue that was finished or set aside.

    ``evidence`` are the criteria as the plan has them, ``branch`` the default branch.
    """
    parts = [comment_mark(record, is_merged=is_merged)]
    if record.state is RecordState.SET_ASIDE:
        reason = escape_control_chars(record.reason)[:LONGEST_TEXT]
        parts += ["The loop set this issue aside and works on others. It reports:", fenced(reason)]
        parts.append("To have it tried again, set the label or the milestone of the queue again.")
        return "\n\n".join(parts) + "\n"
    where = f"Done in {record.commit}" if record.commit else "Done"
    parts.append(f"{where} by a loop." if not is_merged else f"{where}, which is on `{branch}`.")
    if evidence:
        lines = "\n".join(escape_control_chars(one) for one in evidence)
        parts += ["Its criteria:", fenced(lines[:LONGEST_TEXT])]
    if not is_merged:
        parts.append(
            f"It stays open until that commit is on `{branch}`. A pull request closes it with: "
            f"`Fixes #{record.number}`"
        )
    return "\n\n".join(parts) + "\n"
