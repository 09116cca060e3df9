"""Dispatch by plan format: parsing, checks, edits and merges of a plan of any format.

See docs/rules.md#plans. Everything here is a look-up in the registry, by the kind that the path of
a plan says and by its text. Where a plan has no text that the user edits here, an edit raises
RalphError with what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from ralph_ls.core.plan.diff.merge_lines import MergedPlan
from ralph_ls.core.plan.diff.text_diff import find_text_change
from ralph_ls.core.plan.edit.task_edits import tick_task
from ralph_ls.core.plan.formats.plan_format import (
    EditEffects,
    PlanEdit,
    PlanOperations,
    ReadOptions,
)
from ralph_ls.core.plan.formats.registry import format_of, format_of_text
from ralph_ls.core.plan.formats.text_operations import unfinished_needs
from ralph_ls.core.plan.lint.checks import COMPLETION_MARKER
from ralph_ls.core.plan.lint.dependencies import unfinished_dependencies
from ralph_ls.core.plan.lint.remarks import LintRemark, group_problems
from ralph_ls.core.plan.model import ParsedPlan, PlanKind, Task
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from ralph_ls.protocol.task_words import TaskState


@cache
def operations_of(kind: PlanKind) -> PlanOperations:
    """The operations of a format; loaded once."""
    return format_of(kind).load()


def operations_for(kind: PlanKind, *texts: str) -> PlanOperations:
    """The operations on texts of one plan: those of the format that all of them are written in.

    Where they differ, those of ``kind``, to which some of them are broken.
    """
    kinds = {format_of_text(kind, text).name for text in texts if text.strip()}
    return operations_of(kinds.pop() if len(kinds) == 1 else kind)


def _edit_by_text(kind: PlanKind, edit_by: Callable[[PlanOperations], PlanEdit]) -> PlanEdit:
    """The edit by the operations of a format, or by those for the text that it is applied to."""
    if format_of(kind).written_as is None:
        return edit_by(operations_of(kind))
    return lambda text: edit_by(operations_for(kind, text))(text)


def parse_plan(
    text: str,
    kind: PlanKind,
    *,
    optional_sections: Sequence[str] = (),
    skip_review: bool = False,
    tag: str | None = None,
) -> ParsedPlan:
    """Parse a plan with its problems; never raises. The options are those of ``ReadOptions``.

    A problem that a structured plan has more than three times is one, with a count. Those of
    Markdown stay apart, for each is fixed at its own line.
    """
    options = ReadOptions(optional_sections=optional_sections, skip_review=skip_review, tag=tag)
    parsed = operations_for(kind, text).parse(text, options)
    if not parsed.problems or format_of_text(kind, text).is_markdown:
        return parsed
    found = group_problems(parsed.problems)
    spans = tuple(parsed.spans[index] for index, _ in found) if parsed.spans else ()
    return replace(parsed, problems=tuple(one for _, one in found), spans=spans)


def reparse_plan(
    parsed: ParsedPlan,
    before: str,
    text: str,
    kind: PlanKind,
    *,
    optional_sections: Sequence[str] = (),
    skip_review: bool = False,
    tag: str | None = None,
) -> ParsedPlan:
    """Parse a changed text by the plan before, where the format can be read in parts."""
    reparse = operations_for(kind, before, text).reparse
    if reparse is None:
        return parse_plan(
            text, kind, optional_sections=optional_sections, skip_review=skip_review, tag=tag
        )
    return reparse(parsed, find_text_change(before, text))


def check_plan(
    parsed: ParsedPlan, text: str, kind: PlanKind, *, marker: str = COMPLETION_MARKER
) -> tuple[LintRemark, ...]:
    """The remarks of the checks of a parsed plan, by line."""
    return operations_for(kind, text).check(parsed, text, marker)


def waiting_tasks(
    parsed: ParsedPlan, text: str, kind: PlanKind
) -> dict[str, tuple[Task, ...]] | None:
    """The tasks that each unfinished task waits for, by its id; None where only others know."""
    structured = operations_for(kind, text).text
    if structured is not None:
        return unfinished_needs(structured, parsed.plan, text)
    if format_of_text(kind, text).is_markdown:
        return unfinished_dependencies(tuple(parsed.plan.tasks), text)
    return None


def plan_edit(
    kind: PlanKind, edit: TaskEdit, task_id: str, *, reason: str = "", before: str | None = None
) -> PlanEdit:
    """The change that an edit means; raises ``RalphError`` where a plan has no such edits."""
    return _edit_by_text(kind, lambda known: known.edit(edit, task_id, reason, before))


def retry_edit(kind: PlanKind, task_id: str) -> PlanEdit:
    """The edit that opens a task again, with a note; raises as ``plan_edit``."""
    return _edit_by_text(kind, lambda known: known.retry(task_id))


def accept_edit(kind: PlanKind, task_id: str) -> PlanEdit:
    """The edit by which the user closes a task; raises ``RalphError`` where a plan has none."""

    def closed_by(known: PlanOperations) -> PlanEdit:
        structured = known.text
        if structured is None:
            return partial(tick_task, task_id=task_id)
        return lambda text: structured.with_state(text, task_id, TaskState.DONE, "")

    if operations_of(kind).text is None and not format_of(kind).is_markdown:
        raise RalphError(
            f"the task {task_id} cannot be closed in this plan; close it where it is kept"
        )
    return _edit_by_text(kind, closed_by)


def byte_exact_edit(kind: PlanKind, change: Callable[[str], PlanEdit], task_id: str) -> PlanEdit:
    """An edit of a text that may have lone surrogates for bytes that are not UTF-8.

    In Markdown a task may have another id there, because ids are derived from words.
    """
    return _edit_by_text(kind, lambda known: known.byte_exact(change, task_id))


def edit_effects(kind: PlanKind, before: str, after: str) -> EditEffects:
    """The effects of the user's edit: ids that became done, and changes forbidden to agents.

    The latter by kind and task; in stories by field.
    """
    return operations_for(kind, before, after).effects(before, after)


def merge_plans(kind: PlanKind, base: str, mine: str, theirs: str) -> MergedPlan:
    """Merge concurrent changes of two writers into one text; see ``diff.merge``."""
    return operations_for(kind, base, mine, theirs).merge(base, mine, theirs)
