"""Markdown operations: parsing, checks, edits and merges of a plan in Markdown."""

from __future__ import annotations

from functools import partial

from ralph_ls.core.plan.diff.guard import PlanPowers, guard_plan
from ralph_ls.core.plan.diff.merge import merge_markdown
from ralph_ls.core.plan.diff.text_diff import TextChange
from ralph_ls.core.plan.edit import user_edits
from ralph_ls.core.plan.formats.plan_format import (
    EditEffects,
    PlanEdit,
    PlanOperations,
    ReadOptions,
)
from ralph_ls.core.plan.lint.checks import check_markdown
from ralph_ls.core.plan.lint.remarks import LintRemark
from ralph_ls.core.plan.model import ParsedPlan
from ralph_ls.core.plan.parse import markdown
from ralph_ls.core.plan.queries import newly_done
from ralph_ls.protocol.lsp.row_methods import TaskEdit


def markdown_operations() -> PlanOperations:
    """The operations on plain Markdown."""
    return PlanOperations(
        parse=_parse,
        check=_check,
        edit=_edit,
        retry=_retry,
        byte_exact=user_edits.byte_exact,
        effects=_effects,
        merge=merge_markdown,
        reparse=_reparse,
    )


def _parse(text: str, options: ReadOptions) -> ParsedPlan:
    return markdown.parse_markdown(text, optional_sections=options.optional_sections)


def _reparse(parsed: ParsedPlan, change: TextChange) -> ParsedPlan:
    return markdown.reparse_markdown(parsed, change)


def _check(parsed: ParsedPlan, text: str, marker: str) -> tuple[LintRemark, ...]:
    return check_markdown(parsed, text, marker=marker)


def _edit(edit: TaskEdit, task_id: str, reason: str, before: str | None) -> PlanEdit:
    return user_edits.user_edit(edit, task_id, reason=reason, before=before)


def _retry(task_id: str) -> PlanEdit:
    return partial(user_edits.retry_task, task_id=task_id)


def _effects(before: str, after: str) -> EditEffects:
    old, new = markdown.parse_markdown(before).plan, markdown.parse_markdown(after).plan
    guarded = guard_plan(old, before, new, after, powers=PlanPowers())
    return newly_done(old, new), tuple((one.what.value, one.task.id) for one in guarded.violations)
