"""What the checks of a plan found, as remarks in an editor.

Severity says what a person has to do (docs/rules.md#diagnostics): a warning changes how the loop
goes, a hint is about how the plan is written. Titles and reasons come from strangers, so they are
made harmless to show. It must never know an editor, and it must never judge: that is for
``core.plan.checking.checks``.

What the guard put back in the newest iteration: where it is shown, and how it is made undone.

It must never know how a plan is put back, nor an editor.

What is shown where a person and an agent write one plan at the same time
(docs/rules.md#user-edits).

It must never know how the texts are merged, nor an editor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ralph_ls.core.plan.diff.guard_overrides import (
    AcceptedEdit,
    accept_agent_edit,
    reopen_from_excerpt,
)
from ralph_ls.core.plan.formats.dispatch import check_plan
from ralph_ls.core.plan.formats.stories import guard as stories
from ralph_ls.core.plan.lint.checks import COMPLETION_MARKER
from ralph_ls.core.plan.lint.remarks import CheckCode, LintRemark
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.diagnostic import Diagnostic, Severity
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    DocumentPositions,
    FileKind,
    TextSpan,
    document_positions,
)
from ralph_ls.core.views.model.words import SHOWN_REASON, one_line
from ralph_ls.protocol.run.events import GuardReverted
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import RemovedTask, TaskRef

CHECK_SEVERITIES = {
    CheckCode.DUPLICATE_TASK: Severity.WARNING,
    CheckCode.MARKER_WITH_OPEN_TASKS: Severity.WARNING,
    CheckCode.UNKNOWN_DEPENDENCY: Severity.WARNING,
    CheckCode.DEPENDENCY_CYCLE: Severity.WARNING,
    CheckCode.OPEN_UNDER_COMPLETED: Severity.WARNING,
    CheckCode.CLOSE_WITHOUT_EVIDENCE: Severity.WARNING,
    CheckCode.CRITERIA_VAGUE: Severity.HINT,
    CheckCode.CRITERIA_MISSING: Severity.HINT,
    CheckCode.BLOCKED_WITHOUT_REASON: Severity.HINT,
}
"""That a task is blocked is an error already, so the missing reason is only a hint beside it."""


def check_diagnostics(context: DocumentContext) -> tuple[Diagnostic, ...]:
    """All that the checks say of the plan that is looked at, by line. Total."""
    return tuple(_check_diagnostic(remark) for remark in check_remarks(context))


def check_remarks(context: DocumentContext) -> tuple[LintRemark, ...]:
    """The same before it is shown; nothing where no plan is looked at."""
    if context.file is not FileKind.PLAN:
        return ()
    marker = COMPLETION_MARKER if context.state is None else context.state.config.gate.marker
    return check_plan(context.parsed, context.text, context.kind, marker=marker)


def _check_diagnostic(remark: LintRemark) -> Diagnostic:
    return Diagnostic(
        line=remark.place.line,
        start=remark.place.start,
        end=remark.place.end,
        severity=CHECK_SEVERITIES[remark.code],
        code=str(remark.code),
        message=escape_control_chars(remark.message),
        related=tuple(
            replace(one, message=escape_control_chars(one.message)) for one in remark.related
        ),
    )


REVERTED_CODE = "guard-reverted"

REOPEN_CODE = "finished-in-other-words"

PLAN_EDITS = frozenset({Forbidden.DROPPED, Forbidden.SKIPPED, Forbidden.CRITERIA})
"""What is about tasks; the rest is about whole files."""

STORY_EDITS = frozenset({Forbidden.REVIEW, Forbidden.PRIORITY, Forbidden.DEPENDENCY})
"""The same that only a file of stories has; what is about issues is for ``bd``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertedEdit:
    """One thing that was put back, at one place of the plan."""

    event: GuardReverted
    task: TaskRef | None
    """None where it is about no task that is in the plan."""
    span: TextSpan
    kind: PlanKind = PlanKind.MARKDOWN
    """Of the plan."""


def reverted_edits(state: RunState, at: DocumentPositions) -> Iterator[RevertedEdit]:
    """What was put back in the newest iteration, at each task that it is about."""
    newest = 0 if state.last is None else state.last.start
    for event in at.context.history.reverted:
        if event.start < newest:
            continue
        known = at.tasks({one.id for one in event.tasks})
        for one in event.tasks:
            if one.id in known:
                yield RevertedEdit(
                    event=event, task=one, span=at.span_of_task(known[one.id]), kind=at.context.kind
                )
        if not known:
            yield RevertedEdit(event=event, task=None, span=at.top, kind=at.context.kind)


def all_reverted_edits(context: DocumentContext) -> tuple[RevertedEdit, ...]:
    """The same of one look at a file."""
    return (
        ()
        if context.state is None
        else tuple(reverted_edits(context.state, document_positions(context)))
    )


def keep_title(one: RevertedEdit) -> str:
    """What the action that makes it undone is called."""
    words = {
        Forbidden.DROPPED: "Keep it dropped",
        Forbidden.SKIPPED: "Keep it marked as skipped",
        Forbidden.CRITERIA: "Keep the agent's criteria",
        Forbidden.REVIEW: "Keep the agent's review",
        Forbidden.PRIORITY: "Keep the agent's priority",
        Forbidden.DEPENDENCY: "Keep it without that dependency",
        Forbidden.TYPE: "Keep the agent's type",
    }.get(one.event.what, f"Keep the agent's version of {one.event.path}")
    if one.task is None:
        return words
    return f"{words}: {one_line(one.task.title, limit=SHOWN_REASON)}"


def keep_reverted_edit(one: RevertedEdit, text: str, agents: str | None) -> AcceptedEdit:
    """The plan as the agent had it where this is about; ``agents`` is the whole plan it left."""
    are_stories = one.kind is PlanKind.STORIES
    if one.event.what not in PLAN_EDITS and not (are_stories and one.event.what in STORY_EDITS):
        return AcceptedEdit(refusal=f"make the change in {one.event.path} yourself")
    if one.task is None:
        return AcceptedEdit(refusal="the task is not in the plan any more")
    if agents is None and one.event.what is not Forbidden.DROPPED:
        return AcceptedEdit(refusal="the agent's version is not kept any more")
    if one.event.what is Forbidden.CRITERIA and "[redacted " in (agents or ""):
        return AcceptedEdit(refusal="the agent's version held a secret, and is kept without it")
    if are_stories:
        return stories.accept_agent_story_edit(text, agents or "", one.event.what, one.task.id)
    dropped = [task.id for task in one.event.tasks]
    return accept_agent_edit(text, agents or "", one.event.what, one.task.id, dropped=dropped)


def removed_tasks(context: DocumentContext) -> tuple[RemovedTask, ...]:
    """The task that the newest iteration finished under other words, if it did."""
    if context.state is None:
        return ()
    newest = {warned.code: warned for warned in context.state.warnings}.get(REOPEN_CODE)
    return () if newest is None or newest.removed is None else (newest.removed,)


def reopen_title(removed: RemovedTask) -> str:
    """What the action is called that writes the task into the plan again."""
    return f"Reopen {one_line(removed.task.title, limit=SHOWN_REASON)}"


def reopen_removed_task(removed: RemovedTask, text: str) -> AcceptedEdit:
    """The plan with the task as an open one."""
    return reopen_from_excerpt(text, removed.text, removed.task.id)


EDIT_CONFLICT_CODE = "plan-changed-on-disk"

MERGE_TITLE = "Merge what was changed on the disk into this plan"
"""The remedy, in words."""


def edit_conflict(context: DocumentContext) -> Diagnostic:
    """The plan was changed on the disk while the document has changes that are not saved."""
    top = document_positions(context).top
    return Diagnostic(
        line=top.line,
        start=top.start,
        end=top.end,
        severity=Severity.WARNING,
        code=EDIT_CONFLICT_CODE,
        message=(
            "the plan was changed on the disk, and it has changes here that are not saved; "
            "merge both before you save, so that neither is lost"
        ),
        link=None,
    )
