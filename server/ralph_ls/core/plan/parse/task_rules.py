"""Task rules: which items of a block are tasks, and what state each has (docs/rules.md#plans).

The rules, in the order in which they decide:

1. Nothing below a ``Notes`` heading is a task, nor is anything in a fence, a comment or a quote,
   nor a criterion (``scanner`` and ``items`` recognise those).
2. An item with a box is a task, nested ones too; a parent is done when its own box is ticked. So
   is a row of a table with a box in any column, except legends and the like.
3. An item without a box is a task only outside other tasks, and only where the heading says so:
   below ``Completed`` every item (done), below ``Issues Discovered`` each ``[BUG]``, below
   ``Tasks`` or a priority heading each numbered one. In a plan without any box, also each bullet
   there, and below a heading without a meaning each numbered item and each that begins with an
   emoji for a state. A numbered item beside numbered ones with a box counts as they do.
4. Guidelines and the like, dates, notes, versions, issue numbers and links are no tasks without a
   box.
5. A sub-heading is a task when it has a state (an emoji, a box, a tag, a ``Status:`` line), its
   words have no other meaning, and there is no other task below it. An emoji in front of it is a
   state only in a plan without boxes. A row of a table with a state
   but no box is a task only in a plan with neither boxes nor such headings: elsewhere it is a
   summary.

An item is judged by its block and by what is known of the whole plan (``PlanContext``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.parse.dialect import PLAIN, MarkdownDialect
from ralph_ls.core.plan.parse.heading_items import has_state, has_tag, opens_with_tag
from ralph_ls.core.plan.parse.headings import (
    NO_TASKS,
    HeadingClass,
    HeadingSection,
    SectionKind,
    heading_label,
    is_prose_label,
    names_change,
    with_parents,
)
from ralph_ls.core.plan.parse.items import ItemRole, PlanItemDraft, describes_task, field_label
from ralph_ls.core.plan.parse.lines import TICKS, BlockFinding
from ralph_ls.core.plan.parse.titles import (
    TitleParts,
    escape_surrogates,
    fold_whitespace,
    is_no_task,
    is_optional_title,
    is_placeholder,
    read_title,
    without_half_bold,
)
from ralph_ls.core.plan.parse.words.section_words import WORK
from ralph_ls.core.plan.parse.words.state_tables import BOX_MARKS
from ralph_ls.core.plan.parse.words.state_words import read_state, read_state_word
from ralph_ls.core.plan.parse.words.title_states import (
    closing_remark,
    opening_remark,
    opening_sign,
    read_opening_sign,
)
from ralph_ls.protocol.task_words import Priority, TaskState


class PlanContext(NamedTuple):
    """The facts about the whole plan that matter for an item."""

    has_box: bool
    has_headings: bool
    """Some headings may be tasks."""
    numbered: frozenset[HeadingSection]
    """The sections in which a numbered item has a box."""
    headings: frozenset[HeadingSection]
    """The sections whose headings are tasks."""
    described: frozenset[HeadingSection] = frozenset()
    """The sections whose boxes are criteria of their headings."""
    dialect: MarkdownDialect = PLAIN
    has_lists: bool = False
    """Some section that is named for tasks has items, so that those below the title are prose."""
    has_signs: bool = False
    """An emoji in front of a heading may be a state, and is none, because there are boxes."""
    has_criteria: bool = False
    """All boxes are of criteria, which say when the work is done."""
    has_stated_steps: bool = False
    """Headings or a table give the states of the parts of the work, so that lists describe them."""
    has_steps: bool = False
    """Parts of the work have numbered items, so that other lists of a task file are prose."""
    has_rows: bool = False
    """Rows of a table have states."""
    has_only_bullets: bool = False
    """It is nothing but bullets below headings without a meaning, with boxes or without."""
    introduction: frozenset[HeadingSection] = frozenset()
    """The sections above the first heading that is named like a task, where such are the tasks."""
    labels: frozenset[str] = frozenset()
    """What the headings begin with that are tasks, so that lines with the same refer to them."""
    has_units: bool = False
    """Headings that are tasks are named like tasks or steps, so that findings are prose."""
    outlined: frozenset[HeadingSection] = frozenset()
    """Parts of the work of which few have numbered lists, so that these describe them."""
    has_planned_rows: bool = False
    """Nothing is a task but rows of tables of work, which have no states."""
    has_own_boxes: bool = False
    """Boxes are not only in sections for what is done."""
    has_rows_in_steps: bool = False
    """Some of these are in parts of the work, so that other tables are overviews of these."""
    is_flat: bool = False
    """It has no heading, or nothing but lists below them, so that it is one list."""


class ParsedRow(NamedTuple):
    """A task with its places counted from the beginning of its block; ids come later."""

    explicit_id: str | None
    title: str
    state: TaskState
    priority: Priority | None
    section: HeadingSection
    line: int
    start: int
    end: int
    end_line: int
    depth: int
    parent: int | None
    """Its index in the block."""
    blocked_by: str | None
    criteria: tuple[str, ...]
    kind: TaskKind
    mark: tuple[int, int] | None
    optional: bool


def select_tasks(
    items: Sequence[PlanItemDraft], context: PlanContext
) -> tuple[list[ParsedRow], list[BlockFinding]]:
    """The tasks among the items of a block, in the order of the text, and findings."""
    rows: list[ParsedRow] = []
    findings: list[BlockFinding] = []
    row_of: dict[PlanItemDraft, int] = {}
    described = {item.section for item in items if item.is_described}
    labelled = _labelled_sections(items)
    in_fields = field_sections(items)
    stated = _stated_sections(items, context)
    finished = _finished_by_lines(items, context)
    for item in items:
        around = None if item.parent is None else row_of.get(item.parent)
        holder = around
        is_in_task = around is not None or _is_aside(item, described, labelled, in_fields)
        if _may_be_task(item, context, stated, is_in_task=is_in_task):
            written_state, text = _read_sign(item, finished)
            parts = read_title(text)
            findings.extend(_check(item, parts))
            if parts.title and _is_task(item, parts):
                holder = len(rows)
                state = _state_of(item, parts, written_state, context.dialect)
                rows.append(_to_row(item, parts, state, rows, parent=around))
        if holder is not None:
            row_of[item] = holder
    return _with_criteria(rows, items, context.described), findings


def _finished_by_lines(
    items: Iterable[PlanItemDraft], context: PlanContext
) -> frozenset[PlanItemDraft]:
    """The items without a state whose lines all say that they are done: several ``- ✅ …``.

    None in a plan with boxes.
    """
    if context.has_box:
        return frozenset()
    lines: dict[PlanItemDraft, list[bool]] = {}
    for item in items:
        around = item.parent
        if around is not None and around.kind is TaskKind.ITEM and not item_has_state(around):
            sign = None if item.box is not None else opening_sign(item.text)
            is_done = sign is not None and read_state(item.text[: sign[1]]) is TaskState.DONE
            lines.setdefault(around, []).append(is_done)
    return frozenset(item for item, done in lines.items() if len(done) > 1 and all(done))


def _with_criteria(
    rows: list[ParsedRow], items: Sequence[PlanItemDraft], described: Collection[HeadingSection]
) -> list[ParsedRow]:
    """The rows of a block, of which headings have the boxes below them as their criteria.

    A heading that gives no state is done when all of them are ticked.
    """
    boxes = [item for item in items if item.kind is TaskKind.ITEM and item.box is not None]
    if not boxes or not any(row.kind is TaskKind.HEADING for row in rows):
        return rows
    texts = tuple(text for item in boxes if (text := fold_whitespace(item.text)))
    with_state = {
        item.section for item in items if item.kind is TaskKind.HEADING if has_state(item)
    }
    is_done = all(item.box in TICKS for item in boxes)
    return [
        row._replace(
            criteria=row.criteria + texts if row.section in described else row.criteria,
            state=TaskState.DONE if is_done and row.section not in with_state else row.state,
        )
        if row.kind is TaskKind.HEADING
        else row
        for row in rows
    ]


def field_sections(items: Sequence[PlanItemDraft]) -> frozenset[HeadingSection]:
    """The sections with several different fields in their lists: ``**File**: …``."""
    found: dict[HeadingSection, set[str]] = {}
    for item in items if len(items) > 1 else ():
        if item.kind is not TaskKind.ITEM or item.box is not None or item.parent is not None:
            continue
        if label := field_label(item.text):
            found.setdefault(item.section, set()).add(label)
    return frozenset(section for section, labels in found.items() if len(labels) > 1)


def is_field(item: PlanItemDraft, sections: Collection[HeadingSection]) -> bool:
    """Whether an item is one of the fields in such a section, and so describes a task."""
    is_item = item.kind is TaskKind.ITEM and item.box is None
    return is_item and item.section in sections and field_label(item.text) is not None


def _labelled_sections(items: Iterable[PlanItemDraft]) -> frozenset[HeadingSection]:
    """The sections that have a list below a label for tasks."""
    return frozenset(item.section for item in items if item.is_for_tasks)


def _is_aside(
    item: PlanItemDraft,
    described: Collection[HeadingSection],
    labelled: Collection[HeadingSection],
    in_fields: Collection[HeadingSection],
) -> bool:
    """Whether it describes the heading above it, which is the task, or has not its tasks' label."""
    if in_fields and is_field(item, in_fields):
        return True
    if item.is_for_tasks is False and item.section in labelled:
        return True
    if item.label and is_prose_label(item.label):
        return True
    return item.kind is not TaskKind.HEADING and item.section in described


def counts_with_box(item: PlanItemDraft) -> bool:
    """Whether the item is a task because of its box."""
    if item.box is None or item.role is not ItemRole.ITEM or item.kind is TaskKind.HEADING:
        return False
    if item.kind is TaskKind.ROW and item.section.kind is SectionKind.PROSE:
        return False
    return item.section.kind is not SectionKind.NOTES


def numbered_sections(items: Iterable[PlanItemDraft]) -> Iterator[HeadingSection]:
    """The sections in which a numbered item has a box, one for each such item."""
    for item in items:
        if item.is_numbered and item.parent is None and counts_with_box(item):
            yield item.section


_TASKS = SectionKind.TASKS
_TITLE_SHOWN = 60
_MORE_BOXES = re.compile(r"[·|;,\u2022]\s*(?:[-*]\s*)?\[[ xX~]\]\s*\w")
_OF_DOCUMENT = re.compile(
    r"\*\*(?:input|prerequisites?|organi[sz]ation|feature(?: branch)?|branch|detailed tasks"
    r"|path conventions?|total(?: tasks)?|created|author|version|last updated|spec(?:ification)?"
    r"|design documents?)(?::\*\*|\*\*:)",
    re.IGNORECASE,
)
"""A field of a whole document, as spec-kit begins with: ``**Input**: …``."""
_NUMBERED_TASK = re.compile(r"\W*T[0-9]{3}")
_LONGEST_STATE = 20
_STATUS_LIKE = re.compile(r"[^\w`<>]*[^\W\d_][^`<>]{1,38}")
_STARTED = frozenset({"~", "/"})
_KNOWN_BOXES = frozenset({"", *TICKS, "-", "~", "!", "/", ">", "<", "?"})
_SEVERITIES = {
    "critical": Priority.P0,
    "high": Priority.P0,
    "medium": Priority.P1,
    "low": Priority.P2,
}
_PRIORITIES = {**_SEVERITIES, "p0": Priority.P0, "p1": Priority.P1, "p2": Priority.P2}


def _is_task_by_box(item: PlanItemDraft, context: PlanContext) -> bool:
    """Whether an item with a box is a task; not a check in a plan whose tasks have numbers."""
    is_of_criteria = item.section.has_criteria or item.is_labelled
    is_check = context.dialect.has_checks_apart and is_of_criteria
    if is_check and _NUMBERED_TASK.match(item.text) is None:
        return False
    return counts_with_box(item) and item.section not in context.described


def _may_be_task(
    item: PlanItemDraft,
    context: PlanContext,
    stated: frozenset[HeadingSection],
    *,
    is_in_task: bool,
) -> bool:
    """Whether an item may be a task by its place, before its text is considered."""
    if item.kind is TaskKind.HEADING:
        return item.section in context.headings
    if item.box is not None:
        return _is_task_by_box(item, context)
    if is_in_task or _is_about_task(item, context):
        return False
    if item.kind is TaskKind.ROW:
        return _may_be_row(item, context)
    section = item.section
    if context.has_headings and _repeats_headings(section, context):
        return False
    match section.kind:
        case SectionKind.DONE | SectionKind.ISSUES:
            return True
        case SectionKind.TASKS if not context.has_box:
            return item.parent is None and not (section.is_finding and context.has_units)
        case SectionKind.TASKS | SectionKind.PLAIN if context.has_box:
            return item.parent is None and _is_beside_boxes(item, context)
        case SectionKind.PLAIN:
            return item.parent is None and (section in stated or _is_asked(item, context))
        case _:
            return False


def _repeats_headings(section: HeadingSection, context: PlanContext) -> bool:
    """Whether what is in a section names headings that are tasks again, as an order or as next."""
    is_order = section.is_order and section.name is None
    return is_order or (section.is_next and len(context.labels) > 1)


def _is_about_task(item: PlanItemDraft, context: PlanContext) -> bool:
    """Whether an item without a box says something of a task, or is a line without a text."""
    if item.role is not ItemRole.ITEM or not item.text or describes_task(item.text):
        return True
    if _OF_DOCUMENT.match(item.text) is not None:
        return True
    if not context.labels or item.kind is TaskKind.ROW:
        return False
    return heading_label(item.text) in context.labels


def is_in_step(section: HeadingSection) -> bool:
    """Whether a section is a part of the work, such as ``Phase 1``, or in one."""
    return any(one.name is HeadingClass.STEP for one in with_parents(section))


def _may_be_row(row: PlanItemDraft, context: PlanContext) -> bool:
    if row.section.kind in NO_TASKS:
        return False
    if row.is_planned:
        is_apart = context.has_rows_in_steps and not is_in_step(row.section)
        return context.has_planned_rows and not is_apart
    return not context.has_box and not context.has_headings


def _is_beside_boxes(item: PlanItemDraft, context: PlanContext) -> bool:
    """Whether a line without a box is a task in a plan with boxes: by its number, or a tag."""
    section = item.section
    is_asked = section in context.numbered or (
        section.is_for_tasks
        and not (context.dialect.only_boxes or section.is_order)
        and not (section.is_next and context.has_own_boxes)
    )
    return (item.is_numbered and is_asked) or opens_with_tag(item.text)


def _is_asked(item: PlanItemDraft, context: PlanContext) -> bool:
    """Whether a line is a task by its place, in a section without a meaning and without boxes."""
    if context.is_flat or item.is_for_tasks:
        return True
    if names_change(item.text):
        return not (context.has_headings or context.has_lists or context.has_steps)
    if item.section in context.introduction:
        return False
    if item.section.in_task_file and not context.has_steps:
        return True
    if item.section.optional and context.has_lists and not context.has_stated_steps:
        # ``## Later`` beside ``## Next``, whose bullets are tasks.
        return True
    return _is_step(item, context)


def _is_step(item: PlanItemDraft, context: PlanContext) -> bool:
    """Whether an item is a task by its section, in a plan without boxes.

    Numbered ones in parts of the work and directly below the title; any below ``Changes`` and the
    like, where nothing else in the plan is a task.
    """
    section = item.section
    if context.has_stated_steps or not section.holds_steps or section in context.outlined:
        return False
    is_alone = not (context.has_lists or context.has_headings)
    is_announced = bool(item.label) and WORK.search(item.label) is None
    if section.lists_steps and is_alone and not (context.has_rows or is_announced):
        return True
    is_chapter = section.level > 0 and not section.is_title
    return item.is_numbered and (is_chapter or is_alone)


def _stated_sections(
    items: Sequence[PlanItemDraft], context: PlanContext
) -> frozenset[HeadingSection]:
    """The sections without a meaning in which most items have a state.

    Numbered ones that are tasks anyway are not counted: their states would decide over the others.
    None in a plan with boxes.
    """
    if context.has_box:
        return frozenset()
    counts: Counter[HeadingSection] = Counter()
    for item in items:
        is_prose = bool(item.label) and is_prose_label(item.label)
        is_prose = is_prose or item.section in context.outlined
        if _is_plain_line(item) and not is_prose and not _is_step(item, context):
            counts[item.section] += 1 if _shows_state(item, context) else -1
    steps = {item.section for item in items if context.has_stated_steps and _is_stated_step(item)}
    return frozenset(steps | {section for section, surplus in counts.items() if surplus > 0})


def _is_plain_line(item: PlanItemDraft) -> bool:
    is_item = item.kind is TaskKind.ITEM and item.role is ItemRole.ITEM and bool(item.text)
    return is_item and item.parent is None and item.section.kind is SectionKind.PLAIN


def _shows_state(item: PlanItemDraft, context: PlanContext) -> bool:
    """Whether a line gives a state; beside tasks that are headings, more than yes or no."""
    is_judged = item.written_state is None and item.text.startswith(("✅", "❌", "✓", "✔"))
    return item_has_state(item) and not (context.has_headings and is_judged)


def _is_stated_step(item: PlanItemDraft) -> bool:
    """Whether an item gives its state in a part of the work, where lists have none otherwise."""
    is_item = item.kind is TaskKind.ITEM and item.role is ItemRole.ITEM and item.parent is None
    is_step = is_item and item.is_numbered and item.section.holds_steps
    return is_step and bool(item.text) and item_has_state(item)


def item_has_state(item: PlanItemDraft) -> bool:
    """Whether the line of a list item gives a state, in a box apart."""
    if item.written_state is not None or opening_sign(item.text) is not None:
        return True
    if opening_remark(item.text) is not None:
        return True
    return has_tag(item.text) or closing_remark(item.text) is not None


def _read_sign(
    item: PlanItemDraft, finished: Collection[PlanItemDraft]
) -> tuple[TaskState | None, str]:
    """Split the state off an item without a box: an emoji in front, or a remark at its end.

    A heading has none left.
    """
    if item.box is not None or item.kind is not TaskKind.ITEM:
        return item.written_state, item.text
    if item in finished:
        return TaskState.DONE, item.text
    sign, remark = opening_sign(item.text), closing_remark(item.text)
    if sign is not None:
        written_state, text = read_opening_sign(item.text, sign[1])
        return item.written_state or written_state, text
    if (begun := opening_remark(item.text)) is not None:
        bold = "**" if item.text.startswith("**") else ""
        return item.written_state or begun.state, bold + item.text[begun.end :]
    if remark is None or not _is_remark(item.text, remark.start):
        return item.written_state, item.text
    is_next = remark.state is TaskState.TODO and item.section.is_begun
    state = None if is_next else remark.state
    return item.written_state or state, without_half_bold(item.text[: remark.start])


def _is_remark(text: str, start: int) -> bool:
    """Whether what a title ends with is a remark, and no tag: in ``[DONE] !`` it is one."""
    return not (text.endswith("]") or text.startswith("~~") or (not start and opens_with_tag(text)))


def _is_task(item: PlanItemDraft, parts: TitleParts) -> bool:
    """Judge an item by its text."""
    if item.box is not None or item.kind is TaskKind.HEADING:
        is_named = parts.explicit_id is not None or not is_placeholder(parts.title)
        return is_named and not (item.kind is TaskKind.ITEM and _explains_box(item, parts.title))
    if item.section.kind is SectionKind.ISSUES and item.kind is TaskKind.ITEM:
        return parts.is_bug
    is_named = parts.explicit_id is not None and not is_placeholder(parts.title)
    return is_named or not is_no_task(parts.title)


def _explains_box(item: PlanItemDraft, title: str) -> bool:
    """Whether an item only says what its box means, in capitals: ``- [~] IN PROGRESS``."""
    letters = title.replace(" ", "").replace("-", "")
    if not (letters.isalpha() and title.isupper()) or len(title) > _LONGEST_STATE:
        return False
    state = read_state_word(title)
    return state is not None and BOX_MARKS.get(state) == (item.box or "").lower()


def _check(item: PlanItemDraft, parts: TitleParts) -> Iterator[BlockFinding]:
    is_without_state = item.kind is TaskKind.HEADING and not has_state(item)
    is_without_state = is_without_state or item.kind is TaskKind.ROW
    if is_without_state and item.odd_status and not item.section.is_done:
        message = (
            f"the status {escape_surrogates(item.odd_status[:_TITLE_SHOWN])!r} of "
            f"{parts.title[:_TITLE_SHOWN]!r} is unknown and read as open; write todo, "
            "in progress, done, blocked or skipped"
        )
        yield BlockFinding("unknown-status", item.line, message)
    if item.box is None or item.mark is None:
        return
    yield from _check_status_line(item, parts)
    box = (item.mark[0] - 1, item.mark[1] + 1)
    if item.box not in _KNOWN_BOXES:
        message = (
            f"the box [{escape_surrogates(item.box)}] of {parts.title[:_TITLE_SHOWN]!r} is "
            "unknown and read as open; use [ ], [x], [~], [!] or [-]"
        )
        yield BlockFinding("unknown-box", item.line, message, box)
    if item.kind is TaskKind.ITEM and _MORE_BOXES.search(item.text) is not None:
        message = (
            f"more than one box is in the line of {parts.title[:_TITLE_SHOWN]!r}, and only the "
            "first counts; give each task a line"
        )
        yield BlockFinding("several-boxes", item.line, message)
    if not (parts.title and _is_task(item, parts)):
        message = "the item has a box but names no task, so it is none; describe it or remove it"
        yield BlockFinding("empty-task", item.line, message, box)


def _check_status_line(item: PlanItemDraft, parts: TitleParts) -> Iterator[BlockFinding]:
    """An unknown word in a line below an open box; one that is more than a few words is prose."""
    status = item.odd_status
    if item.box or item.written_state or not status or _STATUS_LIKE.fullmatch(status) is None:
        return
    message = (
        f"the status {escape_surrogates(status)!r} of {parts.title[:_TITLE_SHOWN]!r} is unknown, "
        "so its box counts; write todo, in progress, done, blocked or skipped"
    )
    yield BlockFinding("unknown-status", item.line, message)


def _to_row(
    item: PlanItemDraft,
    parts: TitleParts,
    state: TaskState,
    rows: Sequence[ParsedRow],
    *,
    parent: int | None,
) -> ParsedRow:
    around = None if parent is None else rows[parent]
    is_optional = item.section.optional or item.is_optional or is_optional_title(item.text)
    reason = item.blocked_by or parts.blocked_reason
    if reason is None and state is TaskState.BLOCKED:
        reason = item.needs
    return ParsedRow(
        explicit_id=parts.explicit_id,
        title=parts.title,
        state=state,
        priority=_priority_of(item, parts),
        section=item.section,
        line=item.line,
        start=item.start,
        end=item.end,
        end_line=item.end_line,
        depth=0 if around is None else around.depth + 1,
        parent=parent,
        blocked_by=reason,
        criteria=tuple(item.criteria),
        kind=item.kind,
        mark=None if item.mark is None else (item.start + item.mark[0], item.start + item.mark[1]),
        optional=is_optional or (around is not None and around.optional),
    )


def _state_of(
    item: PlanItemDraft,
    parts: TitleParts,
    written_state: TaskState | None,
    dialect: MarkdownDialect,
) -> TaskState:
    """The state; marks of a settled task have precedence over those of an open one."""
    is_stated = item.kind is TaskKind.ROW and written_state is not None
    is_filed = item.section.kind is SectionKind.DONE and not is_stated
    is_finished = is_filed or parts.is_done
    box = dialect.usual_mark(item.box)
    if box in TICKS or (box is None and is_finished):
        return TaskState.DONE
    if box == "-":
        return TaskState.SKIPPED
    return _unsettled_state(item, parts, written_state, box)


def _unsettled_state(
    item: PlanItemDraft, parts: TitleParts, written_state: TaskState | None, box: str | None
) -> TaskState:
    if parts.is_struck:
        return TaskState.DONE
    if box == "!" or parts.is_blocked:
        return TaskState.BLOCKED
    if box in _STARTED or parts.is_in_progress:
        return TaskState.IN_PROGRESS
    if written_state is None and item.box is None:
        return _state_of_section(item.section)
    if written_state is None or (written_state is TaskState.DONE and item.box is not None):
        return TaskState.TODO
    return written_state


def _state_of_section(section: HeadingSection) -> TaskState:
    """The state of what gives none."""
    if section.is_done:
        return TaskState.DONE
    return TaskState.IN_PROGRESS if section.is_begun else TaskState.TODO


def _priority_of(item: PlanItemDraft, parts: TitleParts) -> Priority | None:
    """By tag, else a bug's severity or a table's column, else the heading."""
    if parts.priority is not None:
        return parts.priority
    if item.severity is not None and (parts.is_bug or item.kind is TaskKind.ROW):
        word = item.severity.strip("*_` ").partition(" ")[0].rstrip(".,;:)")
        return _PRIORITIES.get(word, item.section.priority)
    return item.section.priority
