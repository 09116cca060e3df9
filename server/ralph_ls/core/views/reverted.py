"""What the guard put back in the newest iteration: where it is shown, and how it is made undone.

It must never know how a plan is put back, nor an editor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ralph_ls.core.plan.diff.guard_overrides import (
    AcceptedEdit,
    accept_agent_edit,
    reopen_from_excerpt,
)
from ralph_ls.core.plan.formats.stories import guard as stories
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.seen import Places, Seen, Span, places
from ralph_ls.core.views.words import SHOWN_REASON, one_line
from ralph_ls.protocol.run.events import GuardReverted
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import RemovedTask, TaskRef

CODE = "guard-reverted"

REOPEN_CODE = "finished-in-other-words"

OF_PLANS = frozenset({Forbidden.DROPPED, Forbidden.SKIPPED, Forbidden.CRITERIA})
"""What is about tasks; the rest is about whole files."""

OF_STORIES = frozenset({Forbidden.REVIEW, Forbidden.PRIORITY, Forbidden.DEPENDENCY})
"""The same that only a file of stories has; what is about issues is for ``bd``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    """One thing that was put back, at one place of the plan."""

    told: GuardReverted
    task: TaskRef | None
    """None where it is about no task that is in the plan."""
    span: Span
    kind: PlanKind = PlanKind.MARKDOWN
    """Of the plan."""


def put_back(state: RunState, at: Places) -> Iterator[PutBack]:
    """What was put back in the newest iteration, at each task that it is about."""
    newest = 0 if state.last is None else state.last.start
    for told in at.seen.history.reverted:
        if told.start < newest:
            continue
        known = at.tasks({one.id for one in told.tasks})
        for one in told.tasks:
            if one.id in known:
                yield PutBack(
                    told=told, task=one, span=at.of_task(known[one.id]), kind=at.seen.kind
                )
        if not known:
            yield PutBack(told=told, task=None, span=at.top, kind=at.seen.kind)


def all_put_back(seen: Seen) -> tuple[PutBack, ...]:
    """The same of one look at a file."""
    return () if seen.state is None else tuple(put_back(seen.state, places(seen)))


def keep_title(one: PutBack) -> str:
    """What the action that makes it undone is called."""
    words = {
        Forbidden.DROPPED: "Keep it dropped",
        Forbidden.SKIPPED: "Keep it marked as skipped",
        Forbidden.CRITERIA: "Keep the agent's criteria",
        Forbidden.REVIEW: "Keep the agent's review",
        Forbidden.PRIORITY: "Keep the agent's priority",
        Forbidden.DEPENDENCY: "Keep it without that dependency",
        Forbidden.TYPE: "Keep the agent's type",
    }.get(one.told.what, f"Keep the agent's version of {one.told.path}")
    if one.task is None:
        return words
    return f"{words}: {one_line(one.task.title, limit=SHOWN_REASON)}"


def keep_it(one: PutBack, text: str, agents: str | None) -> AcceptedEdit:
    """The plan as the agent had it where this is about; ``agents`` is the whole plan it left."""
    are_stories = one.kind is PlanKind.STORIES
    if one.told.what not in OF_PLANS and not (are_stories and one.told.what in OF_STORIES):
        return AcceptedEdit(refusal=f"make the change in {one.told.path} yourself")
    if one.task is None:
        return AcceptedEdit(refusal="the task is not in the plan any more")
    if agents is None and one.told.what is not Forbidden.DROPPED:
        return AcceptedEdit(refusal="the agent's version is not kept any more")
    if one.told.what is Forbidden.CRITERIA and "[redacted " in (agents or ""):
        return AcceptedEdit(refusal="the agent's version held a secret, and is kept without it")
    if are_stories:
        return stories.accept_agent_story_edit(text, agents or "", one.told.what, one.task.id)
    dropped = [task.id for task in one.told.tasks]
    return accept_agent_edit(text, agents or "", one.told.what, one.task.id, dropped=dropped)


def removed_tasks(seen: Seen) -> tuple[RemovedTask, ...]:
    """The task that the newest iteration finished under other words, if it did."""
    if seen.state is None:
        return ()
    newest = {warned.code: warned for warned in seen.state.warnings}.get(REOPEN_CODE)
    return () if newest is None or newest.removed is None else (newest.removed,)


def reopen_title(removed: RemovedTask) -> str:
    """What the action is called that writes the task into the plan again."""
    return f"Reopen {one_line(removed.task.title, limit=SHOWN_REASON)}"


def reopen_it(removed: RemovedTask, text: str) -> AcceptedEdit:
    """The plan with the task as an open one."""
    return reopen_from_excerpt(text, removed.text, removed.task.id)
