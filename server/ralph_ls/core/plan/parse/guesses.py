"""Guesses: which lines were read by a rule that may be wrong, one guess for each cause.

What a box, a state or the name of a section says is no guess.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from ralph_ls.core.plan.model import GuessCause, PlanGuess, TaskKind
from ralph_ls.core.plan.parse.blocks import BlockReading, PlacedBlock, words_in
from ralph_ls.core.plan.parse.contradictions import find_contradictions
from ralph_ls.core.plan.parse.heading_items import has_tag, opens_with_tag
from ralph_ls.core.plan.parse.headings import (
    NO_TASKS,
    HeadingClass,
    HeadingSection,
    SectionKind,
    is_by_priority,
    is_legend,
    is_prose_label,
    names_change,
    with_parents,
)
from ralph_ls.core.plan.parse.items import ItemRole, PlanItemDraft, describes_task
from ralph_ls.core.plan.parse.lines import begins_like_box, find_marks, lines_of
from ralph_ls.core.plan.parse.scanner import LineKind
from ralph_ls.core.plan.parse.table_rows import EMPTY_CELLS, TableColumns, cells_of, read_columns
from ralph_ls.core.plan.parse.task_rules import (
    ParsedRow,
    PlanContext,
    field_sections,
    is_field,
    item_has_state,
)
from ralph_ls.core.plan.parse.titles import is_no_task
from ralph_ls.core.plan.parse.words.section_words import (
    NO_WORK,
    NUMBERED,
    RULES,
    STEP_NAME,
    TASK_NAME,
    WORK,
)
from ralph_ls.core.plan.parse.words.state_words import find_sign, read_state
from ralph_ls.core.plan.parse.words.title_states import closing_remark, opening_sign
from ralph_ls.protocol.task_words import SETTLED_STATES, TaskState

PlacedSection: TypeAlias = tuple[int, HeadingSection]
"""A line, and the section that it is in."""


def find_guesses(placed: Sequence[PlacedBlock], context: PlanContext) -> tuple[PlanGuess, ...]:
    """All guesses of a plan; ``placed`` are its blocks with their lines and offsets.

    They account for every line that looks like a task: it is one, or a part of one, or in a
    section that by its name holds none, or in a guess.
    """
    found = _read_by_guess(placed, context)
    contradictions = (*find_contradictions(placed, context), *_criteria_as_tasks(placed))
    work = _find_work(placed, context)
    unread = [
        _Unread(one.cause, first + one.line, one.section)
        for reading, first, _ in placed
        for one in _unread_in(reading, work)
    ]
    listed = {one.section for one in unread if one.cause not in _SIDE}
    if not (unread or work.occupied):
        unread = list(_bare_lines(placed))
    headings = list(_unread_headings(placed, listed, work))
    found[GuessCause.UNREAD_HEADINGS] = [(line, section.title) for line, section in headings]
    reported = {section for _, section in headings}
    of_work = {(one.cause, one.section.title) for one in unread if _is_of_work(one.section)}
    for cause, line, name in (*_found_unread(unread, reported), *contradictions):
        found.setdefault(cause, []).append((line, name))
    return tuple(
        PlanGuess(
            cause=cause,
            lines=tuple(line for line, _ in places),
            names=tuple(sorted(_names_in(places), key=lambda name: (cause, name) not in of_work)),
        )
        for cause, places in found.items()
        if places
    )


def _found_unread(
    unread: Iterable[_Unread], reported: set[HeadingSection]
) -> Iterator[tuple[GuessCause, int, str]]:
    """What is not read, except prose below headings that are reported."""
    for one in unread:
        if one.cause is not GuessCause.PROSE or reported.isdisjoint(with_parents(one.section)):
            yield one.cause, one.line, one.section.title


def _names_in(places: Iterable[tuple[int, str]]) -> Iterable[str]:
    return dict.fromkeys(name for _, name in places if name)


def _is_of_work(section: HeadingSection) -> bool:
    """Whether a section is named first, because its name is one for tasks or steps."""
    return section.name is not None or section.is_for_tasks or section.holds_steps


_SIDE = frozenset({GuessCause.PROSE, GuessCause.UNREAD_BOXES, GuessCause.CODE, GuessCause.QUOTED})


def _read_by_guess(
    placed: Sequence[PlacedBlock], context: PlanContext
) -> dict[GuessCause, list[tuple[int, str]]]:
    """The lines of the tasks that were read by a rule that may be wrong."""
    found: dict[GuessCause, list[tuple[int, str]]] = {}
    signed = _signed_sections(placed)
    for reading, first, _ in placed:
        text = reading.block.text
        named_only = {item.section for item in reading.block.guessed_headings()}
        for row in reading.guessable():
            is_heading = row.kind is TaskKind.HEADING
            cause = _heading_cause(row, named_only) if is_heading else _cause_of(row, text, context)
            if cause is GuessCause.LINES and row.section in signed:
                cause = GuessCause.SIGNED
            if cause is not None:
                named = _name_of(row, text, cause)
                found.setdefault(cause, []).append((first + row.line, named))
    return found


def _criteria_as_tasks(
    placed: Sequence[PlacedBlock],
) -> Iterator[tuple[GuessCause, int, str]]:
    """The open boxes in sections for criteria and prose that are tasks, where others are, too."""
    sections = {section for reading, _, _ in placed for section in reading.sections()}
    n_headed = sum(reading.block.level > 0 for reading, _, _ in placed)
    if all(section.comes_last for section in sections) and n_headed <= _FEW_HEADINGS:
        return
    for reading, first, _ in placed:
        if any(section.comes_last for section in reading.open_sections()):
            rows = (row for row in reading.rows() if row.section.comes_last)
            yield from (
                (GuessCause.CRITERIA, first + row.line, row.section.title)
                for row in rows
                if row.state not in SETTLED_STATES
            )


_FEW_HEADINGS = 2
"""The title of a check list and its own heading; with more there is something else to do."""


def _signed_sections(placed: Sequence[PlacedBlock]) -> Collection[HeadingSection]:
    """The sections whose lines without a box all begin with an emoji for done.

    It may be decoration.
    """
    signs: dict[HeadingSection, list[bool]] = defaultdict(list)
    for reading, _, _ in placed:
        for row in reading.guessable():
            if row.kind is TaskKind.ITEM and row.mark is None:
                line = reading.block.text[row.start : row.end]
                marks = find_marks(line)
                words = line if marks is None else line[marks.text :]
                is_done = row.state is TaskState.DONE
                signs[row.section].append(is_done and opening_sign(words) is not None)
    return {section for section, signed in signs.items() if len(signed) > 1 and all(signed)}


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
    is_bullet = text[row.start : row.end].lstrip()[:1] in _BULLETS
    is_guess = is_guess or (is_bullet and is_by_priority(section))
    return GuessCause.LINES if is_guess else None


_BULLETS = frozenset("-*+")


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


class _Titles:
    """Titles by their words, so that others about the same can be found."""

    def __init__(self, titles: Iterable[str]) -> None:
        self._titles = titles

    def fit(self, text: str) -> bool:
        """Whether one of them begins with the words of the text, or the text with its words."""
        begins = _beginnings(text)
        return bool(begins) and (begins[-1] in self._all or not self._whole.isdisjoint(begins))

    @cached_property
    def _whole(self) -> frozenset[str]:
        return frozenset(words for title in self._titles if (words := words_in(title)))

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(begin for words in self._whole for begin in _beginnings(words))


def _beginnings(text: str) -> list[str]:
    return list(accumulate(words_in(text).split()[:_MOST_WORDS], "{} {}".format))


_MOST_WORDS = 12


class _Work(NamedTuple):
    """The facts about a plan that show where work may be that was not read."""

    context: PlanContext
    direct: frozenset[HeadingSection]
    """The sections that have tasks."""
    occupied: frozenset[HeadingSection]
    """Those and the ones that are tasks, with the sections around them."""
    tasks: _Titles
    headings: _Titles
    """Those that are or have tasks."""
    shapes: frozenset[tuple[int, str]]
    """Level and shape of those whose headings begin with a word and a number: ``v0.4 …``."""
    is_idle: bool
    """The plan has no box and no open task, so whatever is in a list may be what was missed.

    Nor has one of bullets alone, in which all boxes are ticked: the first box makes the others
    prose.
    """
    is_finished: bool
    """All boxes are ticked."""
    has_open: bool
    """A task is open."""
    has_changes: bool
    """Headings such as ``[NEW] lexer.py`` are tasks, so that lists beside them are none."""
    has_headings: bool
    """Headings are tasks, or have some and are named like parts of the work."""

    def may_be_in(self, section: HeadingSection) -> bool:
        """Whether what is in a section may be work, although none of it was read.

        By the words or the state of its heading, or of one around it without a task, or because
        headings like it have tasks.
        """
        for one in with_parents(section):
            is_top = one.level == 0 or one.is_title
            if self._is_beside_changes(one):
                return True
            if one in self.occupied and not (is_top and one is section):
                return False
            if one.kind in NO_TASKS or one.is_done or one.optional or one.has_criteria:
                return False
            if self.is_idle or (not is_top and self._shows_work(one)):
                return True
        return False

    def _is_beside_changes(self, section: HeadingSection) -> bool:
        return self.has_changes and section.lists_steps and not section.is_title

    def is_read_elsewhere(self, item: PlanItemDraft) -> bool:
        """Whether a line is about a task or a heading that is read, or in what describes one."""
        if self.tasks.fit(item.text) or self.headings.fit(item.text):
            return True
        around = with_parents(item.section)
        is_part = any(one.level and self.tasks.fit(one.title) for one in around)
        return is_part or self.is_described(item.section)

    def is_described(self, section: HeadingSection) -> bool:
        """Whether what is in a section describes a heading that is a task."""
        return not self.context.headings.isdisjoint(with_parents(section))

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
    direct = {section for reading, _, _ in placed for section in reading.occupied()}
    occupied = {one for section in context.headings | direct for one in with_parents(section)}
    shapes = {(section.level, _shape_of(section.title)) for section in occupied}
    is_open = any(
        state not in SETTLED_STATES for reading, _, _ in placed for state, _ in reading.tally
    )
    has_boxes = context.has_box and not context.has_only_bullets
    return _Work(
        context,
        frozenset(direct),
        frozenset(occupied),
        _Titles(row.title for reading, _, _ in placed for row in reading.rows()),
        _Titles(section.title for section in occupied),
        frozenset((level, shape) for level, shape in shapes if shape),
        is_idle=not (has_boxes or context.has_criteria or context.has_stated_steps or is_open),
        is_finished=context.has_box and not is_open,
        has_open=is_open,
        has_changes=any(names_change(one.title) for one in context.headings),
        has_headings=bool(context.headings) or any(one.name is not None for one in occupied),
    )


_SHAPE = re.compile(r"[\W_]*([^\W\d_]+)[ -]?[0-9]+((?:\.[0-9]+)*)")


def _shape_of(title: str) -> str:
    """A heading that begins with a word and a number, without the number; empty for others."""
    found = _SHAPE.match(title.lower())
    return "" if found is None else found[1] + "." * found[2].count(".")


def _unread_headings(
    placed: Sequence[PlacedBlock],
    listed: Collection[HeadingSection],
    work: _Work,
) -> Iterator[PlacedSection]:
    """The headings that are named like tasks or steps, are none, and have none below them.

    What is ``listed`` has lines that are reported instead.
    """
    context, occupied = work.context, set(work.occupied)
    if context.dialect.only_boxes:
        return
    for section in listed:
        occupied.update(with_parents(section))
    unread: list[PlacedSection] = []
    for reading, first, _ in reversed(placed):
        for item in reversed(tuple(reading.block.named_headings(with_signs=context.has_signs))):
            section = item.section
            is_list = section.kind not in NO_TASKS
            is_in_table = context.has_stated_steps and section.name is HeadingClass.STEP
            if is_list and section not in occupied and not (section.is_done or is_in_table):
                unread.append((first + item.line, section))
                occupied.update(with_parents(section))
    unread += _unread_chapters(placed, occupied, work)
    unread += _prose_between_tasks(placed, work)
    unread += _parts_before_tasks(placed, work)
    if not (unread or work.occupied):
        unread += _numbered_chapters(placed)
    yield from sorted(
        {section: (line, section) for line, section in unread}.values(), key=itemgetter(0)
    )


def _bare_lines(placed: Sequence[PlacedBlock]) -> Iterator[_Unread]:
    """The lines of a file that is nothing but short paragraphs of one line, without a heading."""
    if any(reading.block.level or reading.block.items for reading, _, _ in placed):
        return
    for reading, first, _ in placed:
        lines = [line for _, line in lines_of(reading.block.text)]
        paragraphs = [(n, line) for n, line in enumerate(lines) if line.strip()]
        are_apart = all(after[0] > before[0] + 1 for before, after in pairwise(paragraphs))
        if are_apart and len(paragraphs) > 1 and max(len(one) for _, one in paragraphs) < _SHORT:
            section = reading.block.leave[-1]
            yield from (_Unread(GuessCause.UNREAD_LINES, first + n, section) for n, _ in paragraphs)


_SHORT = 100


class _Unread(NamedTuple):
    """A line of a block that looks like a task, and is none."""

    cause: GuessCause
    line: int
    section: HeadingSection


def _unread_in(reading: BlockReading, work: _Work) -> Iterator[_Unread]:
    """The lines of a block that look like tasks, and are none nor a part of one."""
    yield from _unread_outside_lists(reading, work)
    items = _items_outside_tasks(reading)
    begun = _begun_lists(items)
    reported: set[PlanItemDraft | None] = set()
    in_fields = field_sections(items)
    for item in items:
        if item.parent in reported:
            reported.add(item)
            continue
        cause = _cause_of_field(item, in_fields, work) or _cause_unread(item, begun, work)
        if cause is not None:
            reported.add(item)
            yield _Unread(cause, item.line, item.section)
    section, read = reading.block.leave[-1], {row.line for row in reading.guessable()}
    lines = {*_rows_not_read(reading.block.text, section, work, has_rows=bool(read))}
    yield from (_Unread(GuessCause.UNREAD_ROWS, n, section) for n in sorted(lines - read))


def _rows_not_read(
    text: str, section: HeadingSection, work: _Work, *, has_rows: bool
) -> Iterator[int]:
    """The lines of the rows that may be tasks, read or not; ``has_rows`` if tasks are near."""
    is_step = section.name is not None and section.kind is SectionKind.PLAIN
    is_step = is_step and section not in work.occupied
    is_step = is_step or section.lists_steps
    if section.kind is SectionKind.TASKS or is_step or work.may_be_in(section):
        yield from _rows_without_state(text)
    elif not (work.has_headings or _is_prose(section) or section.optional):
        yield from _rows_of_parts(text, named=not work.context.has_planned_rows)
    if not _is_prose(section) and (work.is_idle or has_rows):
        yield from _rows_with_unknown_states(text)


def _unread_outside_lists(reading: BlockReading, work: _Work) -> Iterator[_Unread]:
    """Boxes in no list, and paragraphs that are named like tasks, where none are."""
    for kind, line, section in reading.block.noted:
        if kind is LineKind.LOOSE:
            yield _Unread(GuessCause.UNREAD_BOXES, line, section)
        elif kind is LineKind.QUOTED and work.has_open:
            yield _Unread(GuessCause.QUOTED, line, section)
        elif kind is LineKind.CODE and section.kind not in NO_TASKS:
            yield _Unread(GuessCause.CODE, line, section)
        elif kind is LineKind.NAMED:
            is_read = section in work.direct or work.is_described(section)
            if not (is_read or _is_prose(section) or work.context.dialect.only_boxes):
                yield _Unread(GuessCause.PROSE, line, section)


def _items_outside_tasks(reading: BlockReading) -> list[PlanItemDraft]:
    """The items and rows that are no tasks nor in one; not those beside a list named for tasks."""
    read = {row.line for row in reading.guessable()}
    tasks: set[PlanItemDraft | None] = set()
    items: list[PlanItemDraft] = []
    for item in reading.block.items:
        if item.kind is TaskKind.HEADING:
            continue
        if item.line in read or item.parent in tasks:
            tasks.add(item)
        else:
            items.append(item)
    labelled = {item.section for item in items if item.is_for_tasks}
    return [item for item in items if not _is_beside_tasks(item, labelled)]


def _is_beside_tasks(item: PlanItemDraft, labelled: Collection[HeadingSection]) -> bool:
    """Whether a label says that it is none, where another one names the tasks, or none at all."""
    if item.is_for_tasks is False and item.section in labelled:
        return True
    return item.box is None and bool(item.label) and is_prose_label(item.label)


def _cause_of_field(
    item: PlanItemDraft, in_fields: Collection[HeadingSection], work: _Work
) -> GuessCause | None:
    """Why a field is reported: it is of something that is no heading, a paragraph in bold."""
    is_lost = is_field(item, in_fields) and item.section.kind is SectionKind.TASKS
    return GuessCause.UNREAD_LINES if is_lost and not work.is_described(item.section) else None


def _cause_unread(
    item: PlanItemDraft, begun: Collection[tuple[HeadingSection, str]], work: _Work
) -> GuessCause | None:
    """Why a line that is no task is reported; None for prose."""
    if item.box is not None:
        return None if _explains(item, work) else GuessCause.PROSE
    section = item.section
    if work.context.dialect.only_boxes and (section.is_title or not section.is_for_tasks):
        return None
    if item.role is not ItemRole.ITEM or is_no_task(item.text) or describes_task(item.text):
        return None
    is_row = item.kind is TaskKind.ROW
    if not is_row and item.parent is None and _is_likely(item, begun, work):
        return GuessCause.UNREAD_LINES
    if (
        not _is_like_task(item, work)
        or _is_prose(item.section)
        or RULES.search(item.section.title)
        or work.is_read_elsewhere(item)
    ):
        return None
    return GuessCause.UNREAD_ROWS if is_row and work.may_be_in(item.section) else GuessCause.PROSE


def _is_like_task(item: PlanItemDraft, work: _Work) -> bool:
    """Whether a line has the form of a task, or opens a task file whose tasks are headings."""
    if item.is_numbered or item_has_state(item) or begins_like_box(item.text):
        return True
    is_above = item.section.in_task_file and item.section in work.context.introduction
    return is_above and item.kind is TaskKind.ITEM and item.parent is None


def _explains(item: PlanItemDraft, work: _Work) -> bool:
    """Whether a box is a criterion of a heading that is a task, or part of a legend."""
    is_criterion = item.role is not ItemRole.ITEM or item.section in work.context.described
    return (is_criterion and work.is_described(item.section)) or is_legend(item.section)


def _is_likely(
    item: PlanItemDraft, begun: Collection[tuple[HeadingSection, str]], work: _Work
) -> bool:
    """Whether a line is probably a task, and not only looks like one."""
    if item.section.is_finding:
        return True
    if work.is_finished and item.section in work.direct and not item_has_state(item):
        return not _is_prose(item.section)
    if _may_be_missed(item, work) or work.may_be_in(item.section) or _may_be_listed(item, begun):
        return True
    return _is_named(item) and not work.context.has_stated_steps


def _may_be_missed(item: PlanItemDraft, work: _Work) -> bool:
    """Whether a line is not read only because there are boxes elsewhere.

    A numbered one of a phase and the like; of a section that is named for tasks and has none, any.
    """
    context, section = work.context, item.section
    if not (context.has_box or context.has_criteria):
        return False
    is_empty = section not in work.direct
    if is_empty and section.optional and section.kind is SectionKind.PLAIN:
        # ``## Later``: what is wished for has no box yet.
        return not describes_task(item.text) and not is_prose_label(item.label)
    is_list = section.is_for_tasks or (section.lists_steps and section.kind is SectionKind.PLAIN)
    is_asked = item.is_numbered or (is_list and is_empty)
    return is_asked and _may_hold_tasks(section, context)


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
    listed = (item for item in items if item.role is ItemRole.ITEM)
    return frozenset((item.section, item.label) for item in listed if _is_settled(item.text))


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
        one.kind in NO_TASKS or one.is_done or one.has_criteria for one in with_parents(section)
    )


def _rows_without_state(text: str) -> Iterator[int]:
    """The lines of the rows in tables of tasks without a column for their states."""
    for number, _, columns in _rows_in_tables(text):
        is_of_tasks = columns.title is not None or columns.priority is not None
        if is_of_tasks and columns.state is None:
            yield number


def _rows_with_unknown_states(text: str) -> Iterator[int]:
    """The rows whose word for a state is not known, in tables with a column for states."""
    for number, line, columns in _rows_in_tables(text):
        cells = [line[slice(*cell)].strip() for cell in cells_of(line)]
        at = columns.state
        state = cells[at] if at is not None and at < len(cells) else ""
        if state not in EMPTY_CELLS and read_state(state) is None:
            yield number


def _rows_of_parts(text: str, *, named: bool) -> Iterator[int]:
    """The same of tables that number the parts of the work: ``| Phase | What |``, ``| # | Task |``.

    Not only ``named`` ones: also those with a title.
    """
    for number, line, columns in _rows_in_tables(text):
        if columns.state is None and _may_be_of_work(line, columns, named=named):
            yield number


def _may_be_of_work(line: str, columns: TableColumns, *, named: bool) -> bool:
    is_work = (columns.is_of_work and columns.number is not None) or not named
    return (is_work and columns.title is not None) or _names_part(line, columns)


def _names_part(line: str, columns: TableColumns) -> bool:
    """Whether a row names or numbers a part of the work in the column for them."""
    if not columns.has_parts or columns.part is None:
        return False
    cells = [line[slice(*cell)].strip(" *_`").lower() for cell in cells_of(line)]
    name = cells[columns.part] if columns.part < len(cells) else ""
    return name.isdecimal() or STEP_NAME.match(name) is not None


def _rows_in_tables(text: str) -> Iterator[tuple[int, str, TableColumns]]:
    """The rows of all tables below their heads, with their lines."""
    if "|" not in text:
        return
    columns, head = None, ""
    for number, (_, line) in enumerate(lines_of(text)):
        found = read_columns(head, line)
        if found is not None:
            columns = found
        elif columns is not None and "|" in line:
            yield number, line, columns
        columns, head = columns if "|" in line else None, line


def _may_hold_tasks(section: HeadingSection, context: PlanContext) -> bool:
    """Whether numbered lines there may be tasks: in phases and the like, not below ``Task 3``.

    In any section where all boxes are of criteria.
    """
    is_chapter = section.level > 0 and not section.is_title and not section.is_done
    if not is_chapter or section.kind not in {SectionKind.PLAIN, SectionKind.TASKS}:
        return False
    is_named = section.name is not None or section.is_for_tasks or section.holds_steps
    around = set(with_parents(section))
    is_how = any(one.name is HeadingClass.TASK for one in around) or bool(around & context.headings)
    return (is_named or context.has_criteria) and not is_how


def _unread_chapters(
    placed: Sequence[PlacedBlock],
    occupied: Collection[HeadingSection],
    work: _Work,
) -> Iterator[PlacedSection]:
    """The headings without a name that may be tasks, are none, and have none below them.

    Numbered ones beside numbered ones that say that they are done, or that hold tasks, except
    chapters of the document; those beside several that are tasks, with the same exception while
    one is open; several
    that begin with an id such as ``A1``, or are in a task file without boxes; in a plan without
    open tasks those of the first level; and those directly in a section for tasks, or in one that
    may have work, which holds no other task.
    """
    read = Counter(section.parent for section in work.context.headings)
    free = list(_free_chapters(placed, occupied))
    finished, beside = _numbered_beside(placed, work)
    alike = _several_alike([section for _, section in free], work)
    for line, section in free:
        is_next = section.level in finished or section.parent in beside
        is_next = is_next and _is_numbered(section)
        may_be_beside = _is_part(section) or (work.is_idle and section.may_be_task)
        is_next = is_next or (may_be_beside and read[section.parent] >= _SEVERAL)
        is_top = section.level == 1 and work.is_idle
        if is_next or section in alike or is_top or work.has_chapters(section.parent):
            yield line, section


def _several_alike(sections: Sequence[HeadingSection], work: _Work) -> frozenset[HeadingSection]:
    """The headings with an id, and those of a task file without boxes, where there are several."""
    with_id = [one for one in sections if _ID.match(one.title) is not None]
    of_file = [one for one in sections if one.in_task_file and not work.context.has_box]
    return frozenset(one for some in (with_id, of_file) if len(some) > 1 for one in some)


_SEVERAL = 2


def _is_numbered(section: HeadingSection) -> bool:
    return NUMBERED.match(section.title) is not None


def _numbered_chapters(placed: Sequence[PlacedBlock]) -> Iterator[PlacedSection]:
    """The numbered headings of a document in which nothing is read or reported, if several."""
    numbered = [(line, one) for line, one in _free_chapters(placed, ()) if _is_numbered(one)]
    yield from numbered if len(numbered) > 1 else ()


def _prose_between_tasks(placed: Sequence[PlacedBlock], work: _Work) -> Iterator[PlacedSection]:
    """The numbered headings with a name of prose that are between numbered ones that are tasks."""
    waiting: dict[HeadingSection | None, list[PlacedSection]] = {}
    for reading, first, _ in placed:
        section = reading.block.leave[-1]
        if not (reading.block.level and _is_numbered(section)):
            continue
        if section in work.context.headings:
            yield from waiting.get(section.parent, ())
            waiting[section.parent] = []
        elif section.kind is SectionKind.PROSE and section.parent in waiting:
            waiting[section.parent].append((first, section))


def _parts_before_tasks(placed: Sequence[PlacedBlock], work: _Work) -> Iterator[PlacedSection]:
    """The numbered parts of the chapter right before one whose numbered parts are tasks."""
    waiting: list[PlacedSection] = []
    for reading, first, _ in placed:
        section = reading.block.leave[-1]
        if not (reading.block.level and _is_part(section) and _is_numbered(section)):
            continue
        if waiting and waiting[0][1].parent is not section.parent:
            before, waiting = waiting, []
            if section in work.context.headings and before[0][1].level == section.level:
                yield from before
        if section not in work.occupied and not (_is_prose(section) or section.optional):
            waiting.append((first, section))


def _is_part(section: HeadingSection) -> bool:
    """Whether a heading that could be a task is below another one than the title."""
    around = section.parent
    is_below = around is not None and around.level > 0 and not around.is_title
    return is_below and section.may_be_task


def _free_chapters(
    placed: Sequence[PlacedBlock], occupied: Collection[HeadingSection]
) -> Iterator[PlacedSection]:
    """The headings without tasks, except the title, what is done, and prose."""
    for reading, first, _ in placed:
        section = reading.block.leave[-1]
        is_free = section not in occupied and not (section.is_done or section.is_title)
        if reading.block.level and is_free and section.kind not in NO_TASKS:
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
