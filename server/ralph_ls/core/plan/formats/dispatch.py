"""Dispatch by plan kind: the one place that selects how a plan is parsed, checked and edited.

See docs/rules.md#plans. The text of a beads plan is its snapshot. A request is no list of tasks, so
its plan is empty. The issues of ``bd`` and a request have no text that the user edits here: such an
edit raises RalphError with what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

from ralph_ls.core.plan.diff.guard import PlanPowers, guard_plan
from ralph_ls.core.plan.diff.merge import merge_markdown
from ralph_ls.core.plan.diff.merge_lines import MergedPlan
from ralph_ls.core.plan.edit import user_edits
from ralph_ls.core.plan.formats.beads import evidence
from ralph_ls.core.plan.formats.beads import snapshot as beads
from ralph_ls.core.plan.formats.beads.snapshot import snapshot_from_text
from ralph_ls.core.plan.formats.stories import edits
from ralph_ls.core.plan.formats.stories import merge as merging
from ralph_ls.core.plan.formats.stories import tasks as stories
from ralph_ls.core.plan.formats.stories.evidence import check_stories
from ralph_ls.core.plan.formats.stories.story_file import ParsedStories, read_stories
from ralph_ls.core.plan.lint.checks import COMPLETION_MARKER, check_markdown
from ralph_ls.core.plan.lint.remarks import LintRemark
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind
from ralph_ls.core.plan.parse import markdown
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.queries import newly_done
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit


def parse_plan(
    text: str,
    kind: PlanKind,
    *,
    optional_sections: Sequence[str] = (),
    skip_review: bool = False,
) -> ParsedPlan:
    """Parse a plan with its problems; never raises.

    ``optional_sections`` apply to Markdown only, ``skip_review`` to stories only.
    """
    match kind:
        case PlanKind.MARKDOWN:
            return markdown.parse_markdown(text, optional_sections=optional_sections)
        case PlanKind.STORIES:
            return stories.parse_stories(text, skip_review=skip_review)
        case PlanKind.BEADS:
            return beads.parse_beads(text)
        case PlanKind.REQUEST:
            return ParsedPlan(plan=Plan())
        case _:  # pragma: no cover
            assert_never(kind)


def check_plan(
    parsed: ParsedPlan, text: str, kind: PlanKind, *, marker: str = COMPLETION_MARKER
) -> tuple[LintRemark, ...]:
    """The remarks of the checks of a parsed plan, by line.

    Violated invariants of stories are problems that ``parse_plan`` returns.
    """
    match kind:
        case PlanKind.MARKDOWN:
            return check_markdown(parsed, text, marker=marker)
        case PlanKind.BEADS:
            return evidence.check_issues(snapshot_from_text(text))
        case PlanKind.STORIES:
            known = parsed.source
            return check_stories(
                (known if isinstance(known, ParsedStories) else read_stories(text)).stories
            )
        case PlanKind.REQUEST:
            return ()
        case _:  # pragma: no cover
            assert_never(kind)


PlanEdit = Callable[[str], str]

NOT_EDITABLE = {
    PlanKind.BEADS: "the issues are stored in bd; change them there, for example with: bd update",
    PlanKind.REQUEST: "a request has no tasks; edit its text instead",
}


def plan_edit(
    kind: PlanKind, edit: TaskEdit, task_id: str, *, reason: str = "", before: str | None = None
) -> PlanEdit:
    """The change that an edit means; raises ``RalphError`` where a plan has no such edits."""
    _require_text(kind)
    if kind is PlanKind.STORIES:
        return edits.story_edit(edit, task_id, before=before)
    return user_edits.user_edit(edit, task_id, reason=reason, before=before)


def retry_edit(kind: PlanKind, task_id: str) -> PlanEdit:
    """The edit that opens a task again, with a note; raises as ``plan_edit``."""
    _require_text(kind)
    if kind is PlanKind.STORIES:
        return partial(edits.retry_story, story_id=task_id)
    return partial(user_edits.retry_task, task_id=task_id)


def byte_exact_edit(kind: PlanKind, change: Callable[[str], PlanEdit], task_id: str) -> PlanEdit:
    """An edit of a text that may have lone surrogates for bytes that are not UTF-8.

    In Markdown a task may have another id there, because ids are derived from words.
    """
    return user_edits.byte_exact(change, task_id) if kind is PlanKind.MARKDOWN else change(task_id)


def edit_effects(
    kind: PlanKind, before: str, after: str
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The effects of the user's edit: ids that became done, and changes forbidden to agents.

    The latter by kind and task; in stories by field.
    """
    if kind is PlanKind.STORIES:
        plans = stories.parse_stories(before).plan, stories.parse_stories(after).plan
        return newly_done(*plans), edits.user_decisions(before, after)
    old, new = parse_markdown(before).plan, parse_markdown(after).plan
    guarded = guard_plan(old, before, new, after, powers=PlanPowers())
    return newly_done(old, new), tuple((one.what.value, one.task.id) for one in guarded.violations)


def merge_plans(kind: PlanKind, base: str, mine: str, theirs: str) -> MergedPlan:
    """Merge concurrent changes of two writers into one text; see ``diff.merge``."""
    if kind is PlanKind.STORIES:
        return merging.merge_stories(base, mine, theirs)
    return merge_markdown(base, mine, theirs)


def _require_text(kind: PlanKind) -> None:
    instead = NOT_EDITABLE.get(kind)
    if instead is not None:
        raise RalphError(instead)
