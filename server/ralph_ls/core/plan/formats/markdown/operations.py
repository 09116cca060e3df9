"""Markdown operations: parsing, checks, edits and merges of a plan in Markdown."""

from __future__ import annotations

from dataclasses import replace
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
from ralph_ls.core.plan.parse.dialect import find_dialect
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


def spec_kit_operations() -> PlanOperations:
    """Those of spec-kit, whose features may be anywhere below ``specs`` if their text shows it."""
    return replace(markdown_operations(), why_foreign=_why_no_spec_kit)


def _why_no_spec_kit(text: str) -> str:
    has_title = text.lstrip("\ufeff \r\n").startswith("# Tasks:")
    is_own = has_title or find_dialect(text).has_checks_apart
    return "" if is_own else "has no task such as - [ ] T001, so it is not spec-kit's"


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
