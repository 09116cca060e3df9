"""Story operations: parsing, checks, edits and merges of a file of stories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ralph_ls.core.plan.formats.plan_format import (
    EditEffects,
    PlanEdit,
    PlanOperations,
    ReadOptions,
)
from ralph_ls.core.plan.formats.stories import edits
from ralph_ls.core.plan.formats.stories.evidence import check_stories
from ralph_ls.core.plan.formats.stories.merge import merge_stories
from ralph_ls.core.plan.formats.stories.story_file import ParsedStories, read_stories
from ralph_ls.core.plan.formats.stories.tasks import parse_stories
from ralph_ls.core.plan.lint.remarks import LintRemark
from ralph_ls.core.plan.model import ParsedPlan
from ralph_ls.core.plan.queries import newly_done
from ralph_ls.protocol.lsp.row_methods import TaskEdit


def _parse(text: str, options: ReadOptions) -> ParsedPlan:
    return parse_stories(text, skip_review=options.skip_review)


def _check(parsed: ParsedPlan, text: str, marker: str) -> tuple[LintRemark, ...]:
    """Violated invariants of stories are problems of the parsed plan."""
    del marker
    known = parsed.source
    return check_stories(
        (known if isinstance(known, ParsedStories) else read_stories(text)).stories
    )


def _edit(edit: TaskEdit, task_id: str, reason: str, before: str | None) -> PlanEdit:
    del reason
    return edits.story_edit(edit, task_id, before=before)


def _retry(task_id: str) -> PlanEdit:
    return partial(edits.retry_story, story_id=task_id)


def _byte_exact(change: Callable[[str], PlanEdit], task_id: str) -> PlanEdit:
    return change(task_id)


def _effects(before: str, after: str) -> EditEffects:
    """The forbidden changes are by field and story."""
    plans = parse_stories(before).plan, parse_stories(after).plan
    return newly_done(*plans), edits.user_decisions(before, after)


STORY_OPERATIONS = PlanOperations(
    parse=_parse,
    check=_check,
    edit=_edit,
    retry=_retry,
    byte_exact=_byte_exact,
    effects=_effects,
    merge=merge_stories,
)
