"""Guesses: which lines were read by a rule that may be wrong, one guess for each cause.

What a box, a state or the name of a section says is no guess.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from ralph_ls.core.plan.model import GuessCause, PlanGuess, TaskKind
from ralph_ls.core.plan.parse.blocks import BlockReading
from ralph_ls.core.plan.parse.headings import HeadingClass, HeadingSection, SectionKind
from ralph_ls.core.plan.parse.items import describes_task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.non_list_items import cells_of, has_tag, opens_with_tag, read_columns
from ralph_ls.core.plan.parse.section_words import NUMBERED
from ralph_ls.core.plan.parse.state_words import find_sign
from ralph_ls.core.plan.parse.task_rules import ParsedRow, PlanContext
from ralph_ls.core.plan.parse.titles import is_no_task
from ralph_ls.protocol.task_words import TaskState

_NO_TASKS = frozenset({SectionKind.NOTES, SectionKind.PROSE})


def find_guesses(
    placed: Sequence[tuple[BlockReading, int, int]], context: PlanContext
) -> tuple[PlanGuess, ...]:
    """All guesses of a plan; ``placed`` are its blocks with their lines and offsets."""
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
    unread = list(_unread_lines(placed, context))
    found[GuessCause.UNREAD_HEADINGS] = list(_unread(placed, context, {one for _, one in unread}))
    found[GuessCause.UNREAD_LINES] = [(line, section.title) for line, section in unread]
    found[GuessCause.UNREAD_ROWS] = list(_unread_rows(placed))
    return tuple(
        PlanGuess(
            cause=cause,
            lines=tuple(line for line, _ in lines),
            names=tuple(dict.fromkeys(name for _, name in lines if name)),
        )
        for cause, lines in found.items()
        if lines
    )


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


def _unread(
    placed: Sequence[tuple[BlockReading, int, int]],
    context: PlanContext,
    listed: Collection[HeadingSection],
) -> Iterator[tuple[int, str]]:
    """The headings that are named like tasks or steps, are none, and have none below them.

    What is ``listed`` has lines that are reported instead.
    """
    occupied: set[HeadingSection] = set()
    for section in (*context.headings, *listed):
        occupied.update(_with_parents(section))
    for reading, _, _ in placed:
        for section in reading.occupied():
            occupied.update(_with_parents(section))
    unread: list[tuple[int, str]] = []
    for reading, first, _ in reversed(placed):
        for item in reversed(tuple(reading.block.named_headings(with_signs=context.has_signs))):
            section = item.section
            is_list = section.kind not in _NO_TASKS
            is_in_table = context.has_step_rows and section.name is HeadingClass.STEP
            if is_list and section not in occupied and not (section.is_done or is_in_table):
                unread.append((first + item.line, section.title))
                occupied.update(_with_parents(section))
    unread += _unread_chapters(placed, occupied)
    return iter(sorted(unread))


def _unread_lines(
    placed: Sequence[tuple[BlockReading, int, int]], context: PlanContext
) -> Iterator[tuple[int, HeadingSection]]:
    """The lines that may be tasks and are none, because there are boxes elsewhere.

    Numbered ones; of a section that is named for tasks and has none, all.
    """
    occupied = {section for reading, _, _ in placed for section in reading.occupied()}
    for reading, first, _ in placed if context.has_box or context.has_criteria else ():
        read = {row.line for row in reading.guessable()}
        lines = [item for item in reading.block.lines_without_box() if item.line not in read]
        labelled = {item.section for item in lines if item.is_for_tasks}
        yield from (
            (first + item.line, item.section)
            for item in lines
            if item.is_numbered or (item.section.is_for_tasks and item.section not in occupied)
            if _may_hold_tasks(item.section, context)
            and not (item.is_for_tasks is False and item.section in labelled)
            and not (describes_task(item.text) or is_no_task(item.text))
        )


def _unread_rows(
    placed: Sequence[tuple[BlockReading, int, int]],
) -> Iterator[tuple[int, str]]:
    """The rows of tables of tasks in sections for tasks that have no column for their states."""
    for reading, first, _ in placed:
        section = reading.block.leave[-1]
        if section.kind is not SectionKind.TASKS or "|" not in reading.block.text:
            continue
        read = {row.line for row in reading.guessable()}
        is_in_table, head = False, ""
        for number, (_, line) in enumerate(lines_of(reading.block.text)):
            columns = read_columns(head, line)
            if columns is not None:
                is_in_table = columns.title is not None and columns.state is None
            elif is_in_table and "|" in line and number not in read:
                yield first + number, section.title
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
    placed: Sequence[tuple[BlockReading, int, int]], occupied: Collection[HeadingSection]
) -> Iterator[tuple[int, str]]:
    """The headings without a name that may be tasks, are none, and have none below them.

    Numbered ones beside numbered ones that say that they are done; and those directly in a section
    for tasks which holds no other task.
    """
    finished = {
        row.section.level
        for reading, _, _ in placed
        for row in reading.guessable()
        if row.kind is TaskKind.HEADING and row.state is TaskState.DONE
        if NUMBERED.match(row.section.title)
    }
    for reading, first, _ in placed:
        section = reading.block.leave[-1]
        around = section.parent
        is_task = section in occupied or section.is_done or not reading.block.level
        if is_task or section.kind in _NO_TASKS or around is None:
            continue
        is_among_tasks = around.is_for_tasks and around not in occupied
        if is_among_tasks or (section.level in finished and NUMBERED.match(section.title)):
            yield first, section.title


def _with_parents(section: HeadingSection | None) -> Iterator[HeadingSection]:
    while section is not None:
        yield section
        section = section.parent
