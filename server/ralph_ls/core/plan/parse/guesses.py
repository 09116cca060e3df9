"""Guesses: which lines were read by a rule that may be wrong, one guess for each cause.

What a box, a state or the name of a section says is no guess.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ralph_ls.core.plan.model import GuessCause, PlanGuess, TaskKind
from ralph_ls.core.plan.parse.blocks import BlockReading
from ralph_ls.core.plan.parse.headings import (
    HeadingClass,
    HeadingSection,
    SectionKind,
    is_prose_label,
)
from ralph_ls.core.plan.parse.items import PlanItemDraft, describes_task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.non_list_items import cells_of, has_tag, opens_with_tag, read_columns
from ralph_ls.core.plan.parse.section_words import (
    NO_WORK,
    NUMBERED,
    STEP_NAME,
    TASK_NAME,
    WORK,
)
from ralph_ls.core.plan.parse.state_words import closing_remark, find_sign, opening_sign, read_state
from ralph_ls.core.plan.parse.task_rules import ParsedRow, PlanContext, item_has_state
from ralph_ls.core.plan.parse.titles import is_no_task
from ralph_ls.protocol.task_words import SETTLED_STATES, TaskState

_NO_TASKS = frozenset({SectionKind.NOTES, SectionKind.PROSE})


PlacedBlock: TypeAlias = tuple[BlockReading, int, int]
"""A block with the line and the offset where it begins."""
PlacedSection: TypeAlias = tuple[int, HeadingSection]
"""A line, and the section that it is in."""


def find_guesses(placed: Sequence[PlacedBlock], context: PlanContext) -> tuple[PlanGuess, ...]:
    """All guesses of a plan; ``placed`` are its blocks with their lines and offsets."""
    found = _read_by_guess(placed, context)
    work = _find_work(placed, context)
    lines, rows = list(_unread_lines(placed, context, work)), list(_unread_rows(placed, work))
    listed = {section for _, section in (*lines, *rows)}
    found[GuessCause.UNREAD_HEADINGS] = list(_unread(placed, context, listed, work))
    found[GuessCause.UNREAD_LINES] = [(line, section.title) for line, section in lines]
    found[GuessCause.UNREAD_ROWS] = [(line, section.title) for line, section in rows]
    return tuple(
        PlanGuess(
            cause=cause,
            lines=tuple(line for line, _ in places),
            names=tuple(dict.fromkeys(name for _, name in places if name)),
        )
        for cause, places in found.items()
        if places
    )


def _read_by_guess(
    placed: Sequence[PlacedBlock], context: PlanContext
) -> dict[GuessCause, list[tuple[int, str]]]:
    """The lines of the tasks that were read by a rule that may be wrong."""
    found: dict[GuessCause, list[tuple[int, str]]] = {}
    for reading, first, _ in placed:
        text = reading.block.text
        named_only = {item.section for item in reading.block.guessed_headings()}
        for row in reading.guessable():
            is_heading = row.kind is TaskKind.HEADING
            cause = _heading_cause(row, named_only) if is_heading else _cause_of(row, text, context)
            if cause is not None:
                named = _name_of(row, text, cause)
                found.setdefault(cause, []).append((first + row.line, named))
    return found


def _cause_of(row: ParsedRow, text: str, context: PlanContext) -> GuessCause | None:
    section = row.section
    if row.kind is TaskKind.ROW:
        has_box = row.mark is not None and text[row.mark[0] - 1] == "["
        return None if has_box else GuessCause.TABLE
    if row.mark is not None or section.kind in {SectionKind.DONE, SectionKind.ISSUES}:
        return None
    if (
        section.is_done
        and row.state is TaskState.DONE
        and not _is_stated(text[row.start : row.end])
    ):
        return GuessCause.FINISHED
    if opens_with_tag(text[row.start : row.end].lstrip(" \t-*+")):
        return None
    is_guess = context.has_box or section.kind is SectionKind.PLAIN
    return GuessCause.LINES if is_guess else None


def _heading_cause(row: ParsedRow, named_only: Collection[HeadingSection]) -> GuessCause | None:
    return GuessCause.HEADINGS if row.section in named_only else None


def _is_stated(line: str) -> bool:
    """Whether the task's own line gives a state."""
    return has_tag(line) or find_sign(line) is not None


def _name_of(row: ParsedRow, text: str, cause: GuessCause) -> str:
    if cause is GuessCause.HEADINGS:
        return row.title
    if cause is not GuessCause.TABLE or row.mark is None:
        return row.section.title
    lines = [line for _, line in lines_of(text)][: row.line]
    heads = [head for head, rule in pairwise(lines) if read_columns(head, rule) is not None]
    line = text[row.start : row.end]
    at = row.mark[0] - row.start
    nth = next((n for n, (begin, end) in enumerate(cells_of(line)) if begin <= at <= end), 0)
    names = [heads[-1][begin:end].strip(" \t*_`") for begin, end in cells_of(heads[-1])]
    return names[nth]


class _Work(NamedTuple):
    """The facts about a plan that show where work may be that was not read."""

    occupied: frozenset[HeadingSection]
    """The sections that are or have tasks, with those around them."""
    shapes: frozenset[tuple[int, str]]
    """Level and shape of those whose headings begin with a word and a number: ``v0.4 …``."""
    is_idle: bool
    """The plan has no box and no open task, so whatever is in a list may be what was missed."""

    def may_be_in(self, section: HeadingSection) -> bool:
        """Whether what is in a section may be work, although none of it was read.

        By the words or the state of its heading, or of one around it without a task, or because
        headings like it have tasks.
        """
        for one in _with_parents(section):
            is_top = one.level == 0 or one.is_title
            if one in self.occupied and not (is_top and one is section):
                return False
            if one.kind in _NO_TASKS or one.is_done or one.optional or one.has_criteria:
                return False
            if self.is_idle or (not is_top and self._shows_work(one)):
                return True
        return False

    def has_chapters(self, section: HeadingSection | None) -> bool:
        """Whether the headings directly below this one, which has no task, may be tasks."""
        if section is None or section in self.occupied:
            return False
        if section.is_title:
            return self.is_idle and WORK.search(section.title) is not None
        return section.is_for_tasks or (not self.is_idle and self.may_be_in(section))

    def _shows_work(self, section: HeadingSection) -> bool:
        title = section.title
        if WORK.search(title) is not None and NO_WORK.search(title) is None:
            return True
        remark = closing_remark(title.replace("*", ""))
        is_open = remark is not None and remark.state not in SETTLED_STATES
        return is_open or (section.level, _shape_of(title)) in self.shapes


def _find_work(placed: Sequence[PlacedBlock], context: PlanContext) -> _Work:
    occupied = {one for section in context.headings for one in _with_parents(section)}
    for reading, _, _ in placed:
        for section in reading.occupied():
            occupied.update(_with_parents(section))
    shapes = {(section.level, _shape_of(section.title)) for section in occupied}
    is_open = any(
        state not in SETTLED_STATES for reading, _, _ in placed for state, _ in reading.tally
    )
    return _Work(
        frozenset(occupied),
        frozenset((level, shape) for level, shape in shapes if shape),
        is_idle=not (
            context.has_box or context.has_criteria or context.has_stated_steps or is_open
        ),
    )


_SHAPE = re.compile(r"[\W_]*([^\W\d_]+)[ -]?[0-9]+((?:\.[0-9]+)*)")


def _shape_of(title: str) -> str:
    """A heading that begins with a word and a number, without the number; empty for others."""
    found = _SHAPE.match(title.lower())
    return "" if found is None else found[1] + "." * found[2].count(".")


def _unread(
    placed: Sequence[PlacedBlock],
    context: PlanContext,
    listed: Collection[HeadingSection],
    work: _Work,
) -> Iterator[tuple[int, str]]:
    """The headings that are named like tasks or steps, are none, and have none below them.

    What is ``listed`` has lines that are reported instead.
    """
    occupied = set(work.occupied)
    for section in listed:
        occupied.update(_with_parents(section))
    unread: list[tuple[int, str]] = []
    for reading, first, _ in reversed(placed):
        for item in reversed(tuple(reading.block.named_headings(with_signs=context.has_signs))):
            section = item.section
            is_list = section.kind not in _NO_TASKS
            is_in_table = context.has_stated_steps and section.name is HeadingClass.STEP
            if is_list and section not in occupied and not (section.is_done or is_in_table):
                unread.append((first + item.line, section.title))
                occupied.update(_with_parents(section))
    unread += _unread_chapters(placed, occupied, work)
    return iter(sorted(unread))


def _unread_lines(
    placed: Sequence[PlacedBlock], context: PlanContext, work: _Work
) -> Iterator[PlacedSection]:
    """The lines that may be tasks and are none, by the facts of their section or of their list."""
    direct = {section for reading, _, _ in placed for section in reading.occupied()}
    for reading, first, _ in placed:
        lines = _lines_beside_tasks(reading)
        begun = _begun_lists(lines)
        for item in lines:
            if describes_task(item.text) or is_no_task(item.text):
                continue
            if (
                _may_be_missed(item, context, direct)
                or work.may_be_in(item.section)
                or _may_be_listed(item, begun)
                or (_is_named(item) and not context.has_stated_steps)
            ):
                yield first + item.line, item.section


def _lines_beside_tasks(reading: BlockReading) -> list[PlanItemDraft]:
    """The lines of lists that are no tasks; not those beside a list that is named for tasks."""
    read = {row.line for row in reading.guessable()}
    lines = [item for item in reading.block.lines_without_box() if item.line not in read]
    labelled = {item.section for item in lines if item.is_for_tasks}
    return [
        item
        for item in lines
        if item.is_for_tasks is not False or item.section not in labelled
        if not (item.label and is_prose_label(item.label))
    ]


def _may_be_missed(
    item: PlanItemDraft, context: PlanContext, direct: Collection[HeadingSection]
) -> bool:
    """Whether a line is not read only because there are boxes elsewhere.

    A numbered one of a phase and the like; of a section that is named for tasks and has none, any.
    """
    if not (context.has_box or context.has_criteria):
        return False
    is_asked = item.is_numbered or (item.section.is_for_tasks and item.section not in direct)
    return is_asked and _may_hold_tasks(item.section, context)


def _may_be_listed(item: PlanItemDraft, begun: Collection[tuple[HeadingSection, str]]) -> bool:
    """Whether its list is work: by the line above it (``Still to do:``), or by what is done."""
    if _is_prose(item.section):
        return False
    if WORK.search(item.label) is not None and NO_WORK.search(item.label) is None:
        return True
    return (item.section, item.label) in begun and not item_has_state(item)


def _is_named(item: PlanItemDraft) -> bool:
    """Whether a line is named like a task or a part of the work: ``1. **Phase 1: …**``."""
    words = item.text.lower()
    is_named = STEP_NAME.match(words) is not None or TASK_NAME.match(words) is not None
    return is_named and item.section.level > 0 and not _is_prose(item.section)


def _begun_lists(items: Sequence[PlanItemDraft]) -> frozenset[tuple[HeadingSection, str]]:
    """The lists without boxes in which something is done, so that the rest may be open."""
    return frozenset((item.section, item.label) for item in items if _is_settled(item.text))


def _is_settled(text: str) -> bool:
    if has_tag(text):
        return text.startswith("~~")
    remark, sign = closing_remark(text), opening_sign(text)
    state = remark.state if remark is not None else None
    if state is None and sign is not None:
        state = read_state(text[: sign[1]])
    return state in SETTLED_STATES


def _is_prose(section: HeadingSection) -> bool:
    return any(
        one.kind in _NO_TASKS or one.is_done or one.has_criteria for one in _with_parents(section)
    )


def _unread_rows(placed: Sequence[PlacedBlock], work: _Work) -> Iterator[PlacedSection]:
    """The rows of tables of tasks, where tasks may be, that have no column for their states."""
    for reading, first, _ in placed:
        section = reading.block.leave[-1]
        is_step = section.name is not None and section.kind is SectionKind.PLAIN
        is_step = is_step and section not in work.occupied
        if section.kind is SectionKind.TASKS or is_step or work.may_be_in(section):
            read = {row.line for row in reading.guessable()}
            lines = _rows_without_state(reading.block.text)
            yield from ((first + line, section) for line in lines if line not in read)


def _rows_without_state(text: str) -> Iterator[int]:
    """The lines of the rows in tables of tasks without a column for their states."""
    if "|" not in text:
        return
    is_in_table, head = False, ""
    for number, (_, line) in enumerate(lines_of(text)):
        columns = read_columns(head, line)
        if columns is not None:
            is_in_table = columns.title is not None and columns.state is None
        elif is_in_table and "|" in line:
            yield number
        is_in_table, head = is_in_table and "|" in line, line


def _may_hold_tasks(section: HeadingSection, context: PlanContext) -> bool:
    """Whether numbered lines there may be tasks: in phases and the like, not below ``Task 3``.

    In any section where all boxes are of criteria.
    """
    is_chapter = section.level > 0 and not section.is_title and not section.is_done
    if not is_chapter or section.kind not in {SectionKind.PLAIN, SectionKind.TASKS}:
        return False
    is_named = section.name is not None or section.is_for_tasks or section.holds_steps
    around = set(_with_parents(section))
    is_how = any(one.name is HeadingClass.TASK for one in around) or bool(around & context.headings)
    return (is_named or context.has_criteria) and not is_how


def _unread_chapters(
    placed: Sequence[PlacedBlock],
    occupied: Collection[HeadingSection],
    work: _Work,
) -> Iterator[tuple[int, str]]:
    """The headings without a name that may be tasks, are none, and have none below them.

    Numbered ones beside numbered ones that say that they are done, or that hold tasks, except
    chapters of the document; several that begin with an id such as ``A1``; in a plan without open
    tasks those of the first level; and those directly in a section for tasks, or in one that may
    have work, which holds no other task.
    """
    free = list(_free_chapters(placed, occupied))
    finished, beside = _numbered_beside(placed, work)
    with_id = [section for _, section in free if _ID.match(section.title) is not None]
    for line, section in free:
        is_next = section.level in finished or section.parent in beside
        is_next = is_next and NUMBERED.match(section.title) is not None
        has_id = section in with_id and len(with_id) > 1
        is_top = section.level == 1 and work.is_idle
        if is_next or has_id or is_top or work.has_chapters(section.parent):
            yield line, section.title


def _free_chapters(
    placed: Sequence[PlacedBlock], occupied: Collection[HeadingSection]
) -> Iterator[PlacedSection]:
    """The headings without tasks, except the title, what is done, and prose."""
    for reading, first, _ in placed:
        section = reading.block.leave[-1]
        is_free = section not in occupied and not (section.is_done or section.is_title)
        if reading.block.level and is_free and section.kind not in _NO_TASKS:
            yield first, section


_ID = re.compile(r"\W*[A-PS-Z]{1,2}-?[0-9]+(?:\.[0-9]+)*[.:)]?\s+\w")
"""A heading that begins with an id; R and Q number risks and quarters."""


def _numbered_beside(
    placed: Sequence[PlacedBlock], work: _Work
) -> tuple[frozenset[int], frozenset[HeadingSection]]:
    """Levels of the numbered headings that are done, and headings with numbered ones with tasks."""
    finished = {
        row.section.level
        for reading, _, _ in placed
        for row in reading.guessable()
        if row.kind is TaskKind.HEADING and row.state is TaskState.DONE
        if NUMBERED.match(row.section.title)
    }
    beside = {
        section.parent
        for section in work.occupied
        if section.kind is SectionKind.PLAIN and NUMBERED.match(section.title)
        if section.parent is not None and section.parent.level and not section.parent.is_title
    }
    return frozenset(finished), frozenset(beside)


def _with_parents(section: HeadingSection | None) -> Iterator[HeadingSection]:
    while section is not None:
        yield section
        section = section.parent
