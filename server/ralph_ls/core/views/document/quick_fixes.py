"""Quick fixes and their diagnostics: plan lint, reverted edits, removed tasks, edit conflicts.

Severity follows docs/rules.md#diagnostics: a warning changes what the loop does, a hint is about
how the plan is written. Titles and reasons are escaped. The rules are those of `core.plan.lint`,
of the guard, and of the merge of a user's and an agent's plan (docs/rules.md#user-edits); nothing
is judged, reverted or merged here.
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
from ralph_ls.core.plan.formats.registry import format_of
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
    CheckCode.DONE_WITHOUT_TICK: Severity.WARNING,
    CheckCode.OPEN_UNDER_COMPLETED: Severity.WARNING,
    CheckCode.CRITERIA_READ_AS_TASKS: Severity.INFORMATION,
    CheckCode.STATUS_NOT_READ: Severity.WARNING,
    CheckCode.TICKED_UNDER_OPEN: Severity.WARNING,
    CheckCode.STATUS_AGAINST_BOX: Severity.WARNING,
    CheckCode.CLOSE_WITHOUT_EVIDENCE: Severity.WARNING,
    CheckCode.CRITERIA_VAGUE: Severity.HINT,
    CheckCode.CRITERIA_MISSING: Severity.HINT,
    CheckCode.BLOCKED_WITHOUT_REASON: Severity.HINT,
    CheckCode.HEADINGS_NOT_READ: Severity.WARNING,
    CheckCode.LINES_NOT_READ: Severity.WARNING,
    CheckCode.ROWS_NOT_READ: Severity.WARNING,
    CheckCode.LINES_READ_AS_TASKS: Severity.INFORMATION,
    CheckCode.LINES_READ_AS_DONE: Severity.INFORMATION,
    CheckCode.HEADINGS_READ_AS_TASKS: Severity.INFORMATION,
    CheckCode.BOX_NOT_READ: Severity.WARNING,
    CheckCode.LINES_READ_AS_PROSE: Severity.HINT,
    CheckCode.TABLE_READ_BY_COLUMN: Severity.INFORMATION,
}
"""A blocked task is an error already, so its missing reason is only a hint."""


def check_diagnostics(context: DocumentContext) -> tuple[Diagnostic, ...]:
    """Diagnostics of the plan's lint, by line. Total."""
    return tuple(_check_diagnostic(remark) for remark in check_remarks(context))


def check_remarks(context: DocumentContext) -> tuple[LintRemark, ...]:
    """Remarks of the plan's lint; empty for other files."""
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
"""Changes of tasks; all others are of whole files."""

STORY_EDITS = frozenset({Forbidden.REVIEW, Forbidden.PRIORITY, Forbidden.DEPENDENCY})
"""Changes of stories only; ``bd`` is responsible for issues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertedEdit:
    """One change that the guard reverted, at one place of the plan."""

    event: GuardReverted
    task: TaskRef | None
    """None where it concerns no task of the plan."""
    span: TextSpan
    kind: PlanKind = PlanKind.MARKDOWN
    """Format of the plan."""


def reverted_edits(state: RunState, at: DocumentPositions) -> Iterator[RevertedEdit]:
    """Changes that were reverted in the newest iteration, one for each task."""
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
    """The same for one file."""
    return (
        ()
        if context.state is None
        else tuple(reverted_edits(context.state, document_positions(context)))
    )


def keep_title(one: RevertedEdit) -> str:
    """Title of the quick fix that keeps the agent's change."""
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
    """The plan with the agent's change; ``agents`` is the whole plan that the agent left."""
    are_stories = format_of(one.kind).has_reviews
    if one.event.what not in PLAN_EDITS and not (are_stories and one.event.what in STORY_EDITS):
        return AcceptedEdit(refusal=f"change {one.event.path} yourself")
    if one.task is None:
        return AcceptedEdit(refusal="the task is no longer in the plan")
    if agents is None and one.event.what is not Forbidden.DROPPED:
        return AcceptedEdit(refusal="the agent's version was deleted")
    if one.event.what is Forbidden.CRITERIA and "[redacted " in (agents or ""):
        return AcceptedEdit(
            refusal="the agent's version contained a secret, so it was stored without it"
        )
    if are_stories:
        return stories.accept_agent_story_edit(text, agents or "", one.event.what, one.task.id)
    dropped = [task.id for task in one.event.tasks]
    return accept_agent_edit(text, agents or "", one.event.what, one.task.id, dropped=dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamedFinish:
    """A task that the newest iteration finished under another title."""

    removed: RemovedTask
    line: int
    """Of the iteration's own task."""


def renamed_finishes(context: DocumentContext) -> tuple[RenamedFinish, ...]:
    """Those of the newest iteration."""
    if context.state is None:
        return ()
    newest = {warned.code: warned for warned in context.state.warnings}.get(REOPEN_CODE)
    if newest is None or newest.removed is None:
        return ()
    line = document_positions(context).span_of_start(newest.start).line
    return (RenamedFinish(removed=newest.removed, line=line),)


def reopen_title(removed: RemovedTask) -> str:
    """Title of the quick fix that adds the task to the plan again."""
    return f"Reopen {one_line(removed.task.title, limit=SHOWN_REASON)}"


def reopen_removed_task(removed: RemovedTask, text: str) -> AcceptedEdit:
    """The plan with the task as an open one."""
    return reopen_from_excerpt(text, removed.text, removed.task.id)


EDIT_CONFLICT_CODE = "plan-changed-on-disk"

MERGE_TITLE = "Merge the changes on disk into this plan"
"""Title of the quick fix."""


def edit_conflict(context: DocumentContext) -> Diagnostic:
    """The plan changed on disk while the document has unsaved changes."""
    top = document_positions(context).top
    return Diagnostic(
        line=top.line,
        start=top.start,
        end=top.end,
        severity=Severity.WARNING,
        code=EDIT_CONFLICT_CODE,
        message=(
            "the plan changed on disk, and it has unsaved changes here; merge both before you "
            "save to keep both"
        ),
        link=None,
    )
