"""Markdown plan parser: a plan from a text, as a whole or after a keystroke (docs/rules.md#plans).

The text is cut into ``blocks``, which are parsed independently. What depends on the whole plan (is
there any box, which headings have tasks) is combined here, and so are positions, ids and problems,
on demand. Most callers need only the counts of a long plan, or the few tasks that are blocked or in
progress, so tasks are created lazily; a block keeps its tasks, so those above a keystroke are
reused.

Total and linear; never raises, whatever the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, takewhile
from operator import add, sub
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ralph_ls.core.plan.model import LazyTuple, ParsedPlan, Plan, Tally, Task, TaskKind
from ralph_ls.core.plan.parse.blocks import (
    STATED,
    BlockReading,
    BlockTotals,
    OpenSections,
    PlanBlock,
    RowClass,
    move_block,
    read_block,
)
from ralph_ls.core.plan.parse.dialect import MarkdownDialect, find_dialect
from ralph_ls.core.plan.parse.guesses import find_guesses
from ralph_ls.core.plan.parse.headings import (
    UNITS,
    HeadingClass,
    HeadingSection,
    goes_with_backlog,
    heading_label,
    is_backlog,
    is_named_step,
    is_to_execute,
    open_document,
    with_parents,
)
from ralph_ls.core.plan.parse.legend import find_legend
from ralph_ls.core.plan.parse.lines import BlockFinding, find_marks, lines_of, without_wrapping
from ralph_ls.core.plan.parse.scanner import begins_block
from ralph_ls.core.plan.parse.task_rules import ParsedRow, PlanContext, is_in_step
from ralph_ls.core.plan.parse.words.section_words import COUNTED, NUMBERED
from ralph_ls.protocol.task_words import TaskState

if TYPE_CHECKING:
    from ralph_ls.protocol.plan import PlanProblem


def make_tasks(readings: Iterable[BlockReading]) -> tuple[Task, ...]:
    """Make all tasks with their positions and ids."""
    tasks: list[Task] = []
    used_ids: Counter[str] = Counter()
    for reading, line, start in block_positions(readings):
        tasks += _tasks_of(reading, line, start, used_ids)
    return tuple(tasks)


def pick_tasks(
    readings: Iterable[BlockReading], states: Collection[TaskState], ids: Collection[str]
) -> tuple[Task, ...]:
    """Make the tasks with one of these states or ids; those of other blocks are not made."""
    # A number behind an id only identifies one of its tasks.
    names = {*ids, *(_NUMBER.sub("", task_id) for task_id in ids)}
    picked: list[Task] = []
    used_ids: Counter[str] = Counter()
    for reading, line, start in block_positions(readings):
        is_wanted = any(
            n_tasks and state in states for (state, _), n_tasks in reading.tally.items()
        )
        if is_wanted or not names.isdisjoint(reading.ids()):
            tasks = _tasks_of(reading, line, start, used_ids)
            picked += (task for task in tasks if task.state in states or task.id in ids)
        else:
            used_ids.update(reading.ids())
    return tuple(picked)


def block_positions(readings: Iterable[BlockReading]) -> Iterator[tuple[BlockReading, int, int]]:
    """Each block with the line and the offset where it begins."""
    line = start = 0
    for reading in readings:
        yield reading, line, start
        text = reading.block.text
        n_endings = text.count("\n")
        if "\r" in text:
            n_endings += text.count("\r") - text.count("\r\n")
        line += n_endings
        start += len(text)


_NUMBER = re.compile(r"-[0-9]+\Z")


def _tasks_of(
    reading: BlockReading, line: int, start: int, used_ids: Counter[str]
) -> tuple[Task, ...]:
    """Make the tasks of one block, and count their ids; ``seen_ids`` are those before it."""
    ids = reading.ids()
    is_first = used_ids.keys().isdisjoint(ids)
    place, made = reading.made
    if not is_first or place != (line, start):
        names = ids if is_first and len(set(ids)) == len(ids) else _number(ids, used_ids)
        tasks: list[Task] = []
        for row, name in zip(reading.rows(), names, strict=True):
            parent = None if row.parent is None else tasks[row.parent].id
            tasks.append(_to_task(row, name, parent, line, start))
        made = tuple(tasks)
        if is_first:
            reading.made = ((line, start), made)
    used_ids.update(ids)
    return made


def _number(ids: Iterable[str], used_ids: Counter[str]) -> list[str]:
    """Append ``-2``, ``-3`` to repeated ids."""
    names: list[str] = []
    counted: Counter[str] = Counter()
    for task_id in ids:
        counted[task_id] += 1
        number = used_ids[task_id] + counted[task_id]
        names.append(task_id if number == 1 else f"{task_id}-{number}")
    return names


def _to_task(row: ParsedRow, task_id: str, parent: str | None, line: int, start: int) -> Task:
    """By position, since it is done for each task of a long plan."""
    (
        _, title, state, priority, section, row_line, row_start, row_end, end_line,
        depth, _, blocked_by, criteria, kind, mark, optional,
    ) = row  # fmt: skip
    # A heading that is a task is below the heading around it.
    around = section.parent if kind is TaskKind.HEADING and section.parent is not None else section
    return Task(
        task_id, title, state, priority, around.title, optional,
        line + row_line, start + row_start, start + row_end, line + end_line,
        depth, parent, blocked_by, criteria, kind,
        None if mark is None else (start + mark[0], start + mark[1]), None, section.comes_last,
    )  # fmt: skip


def parse_markdown(
    text: str, *, optional_sections: Sequence[str] = (), dialect: MarkdownDialect | None = None
) -> ParsedPlan:
    """Parse a plan with its problems.

    Boxes: ``[ ]`` todo, ``[x]`` done, ``[~]`` and ``[/]`` inProgress, ``[!]`` blocked, ``[-]``
    skipped or what the dialect says, ``[>]``, ``[<]`` and ``[?]`` todo; any other mark is reported
    and counts as todo. A title struck through is done. ``optional_sections`` names the headings
    whose tasks are optional (docs/rules.md#exit-gate), with their sub-headings; ``- [ ]*`` makes
    one task optional. Without a ``dialect`` the text shows it.
    """
    names = tuple(optional_sections)
    blocks: list[PlanBlock] = []
    sections: OpenSections = (open_document(find_legend(text)),)
    position, shown = 0, without_wrapping(text)
    while position < len(text):
        block = read_block(shown, position, len(text), sections, names)
        blocks.append(block)
        position += len(block.text)
        sections = block.leave
    known = _Known(BlockTotals(), *(Counter() for _ in range(4))).step(blocks, ())
    return _show_all(text, names, dialect, blocks, known)


def reparse_markdown(previous: ParsedPlan, change: tuple[int, int, str]) -> ParsedPlan:
    """Parse the plan again after a change of its text; equal to parsing the new text.

    Only the changed blocks are parsed, and those below a changed heading. ``previous`` is a result
    of ``parse_markdown`` or ``reparse_markdown``, else it counts as the empty plan; places beyond
    the text are those of its end.
    """
    source = previous.source
    if not isinstance(source, _Source):
        return reparse_markdown(parse_markdown(""), change)
    start = min(max(change[0], 0), len(source.text))
    end = min(max(change[1], start), len(source.text))
    text = source.text[:start] + change[2] + source.text[end:]
    readings, names = source.readings, source.optional_sections
    if not readings or not _is_read_by_blocks(text, source):
        return parse_markdown(text, optional_sections=names, dialect=source.dialect)
    begins = [0, *accumulate(source.lengths)]
    first = max(bisect_right(begins, max(start - 1, 0), hi=len(readings)) - 1, 0)
    first -= first > 0 and _may_continue(text, begins[first])
    sections: OpenSections = readings[first].block.enter
    fresh: list[PlanBlock] = []
    position, shift = begins[first], len(text) - len(source.text)
    # Where an old block begins beyond the change a new one may: from there on the text is known.
    last = bisect_right(begins, end, hi=len(readings))
    while position < len(text) and (last == len(readings) or position != begins[last] + shift):
        block = read_block(text, position, begins[last] + shift, sections, names)
        fresh.append(block)
        position += len(block.text)
        sections = block.leave
        while last < len(readings) and begins[last] + shift < position:
            last += 1
    while last < len(readings) and not _is_below(readings[last].block, sections):
        for block in move_block(readings[last].block, sections, names):
            fresh.append(block)
            sections = block.leave
        last += 1
    return _replace(source, text, fresh, first, last)


def _is_read_by_blocks(text: str, source: _Source) -> bool:
    """Whether a change of a plan, which has blocks, changes no more than these."""
    if any(without_wrapping(one) is not one for one in (source.text, text)):
        return False
    return find_legend(text) == source.readings[0].block.enter[0].signs


def _may_continue(text: str, position: int) -> bool:
    """Whether the beginning of a block may be part of the one before it, after a change."""
    return text.startswith("#", position) or not begins_block(text, position)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Source:
    """The blocks of a plan, with the facts about the whole plan."""

    text: str
    optional_sections: tuple[str, ...]
    dialect: MarkdownDialect | None
    """As the caller gave it."""
    readings: list[BlockReading]
    """The list is not changed afterwards."""
    lengths: list[int]
    context: PlanContext
    tally: Counter[tuple[TaskState, bool]]
    known: _Known


class _Known(NamedTuple):
    """The facts of all blocks that matter for the whole plan, added up."""

    totals: BlockTotals
    others: Counter[HeadingClass | RowClass]
    """Headings that may be tasks and rows of tables with a state but no box, by class."""
    numbered: Counter[HeadingSection]
    inner: Counter[HeadingSection]
    """Sections that are named like tasks, with boxes in their bullets."""
    labelled: Counter[HeadingSection]
    """Those with boxes below a label for criteria."""

    def step(self, fresh: Sequence[PlanBlock], gone: Sequence[PlanBlock]) -> _Known:
        """Add the new blocks, and subtract the removed ones."""
        numbered, others = self.numbered.copy(), self.others.copy()
        inner, labelled = self.inner.copy(), self.labelled.copy()
        totals = self.totals
        for block in fresh:
            totals = BlockTotals(*map(add, totals, block.totals))
            if block.numbered:
                numbered.update(block.numbered)
            if block.inner:
                inner.update(block.inner)
            if block.labelled:
                labelled.update(block.labelled)
            if block.others:
                others.update(block.others)
        for block in gone:
            totals = BlockTotals(*map(sub, totals, block.totals))
            numbered.subtract(block.numbered)
            inner.subtract(block.inner)
            labelled.subtract(block.labelled)
            others.subtract(block.others)
        return _Known(totals, +others, +numbered, +inner, +labelled)

    @property
    def has_box(self) -> bool:
        """Whether boxes are where the tasks are.

        Not if all of them are criteria, and some are open or other lines give their states.
        """
        if self.described():
            return False
        only_aside = self.totals.boxes == self.totals.aside
        has_others = self.totals.open_aside > 0 or self.totals.stated > 0
        return self.totals.boxes > 0 and not (only_aside and has_others)

    def described(self) -> Collection[HeadingSection]:
        """The tasks or steps that have all the boxes, below labels for criteria or in bullets.

        Those in bullets only where most steps have none. They say when the tasks are done, also
        when all are ticked.
        """
        if not self.totals.boxes or self.totals.boxes != self.totals.inner + self.totals.labelled:
            return ()
        n_family = sum(self.others[one] for one in _FAMILIES)
        if self.inner and 2 * len(self.inner) >= n_family:
            return ()
        return self.inner.keys() | self.labelled.keys() if self._have_criteria() else ()

    def _have_criteria(self) -> bool:
        """Whether the sections with labels for criteria are what is read as tasks without boxes."""
        is_of_tasks = not self.others.keys().isdisjoint(_TASKS)
        name = HeadingClass.TASK if is_of_tasks else HeadingClass.STEP
        is_listed = bool(self.totals.stepped) and name is HeadingClass.STEP
        for section in self.labelled:
            if section.name is not HeadingClass.LISTED and (section.name is not name or is_listed):
                return False
            if any(one in self.labelled for one in with_parents(section.parent)):
                return False
        return True

    def headings(self) -> frozenset[HeadingClass]:
        """Which headings may be tasks: with a state, or by their place or name.

        A name counts where there are no boxes, and beside headings of the same kind with a state.
        Those named like steps are tasks only where none is named like a task. An emoji in front is
        a state only where no other emoji decorates headings and there are no boxes. None of that
        depends on whether a box is ticked: a tick would make others appear or vanish.
        """
        stated = self._stated_headings()
        wanted = {HeadingClass.LISTED}
        if self.has_box:
            wanted |= {name for name, beside in _BESIDE.items() if beside in stated}
        elif stated or self.others.keys().isdisjoint(RowClass):
            wanted |= self._named_headings(stated)
        return frozenset(stated | (wanted & self.others.keys()))

    def _stated_headings(self) -> set[HeadingClass]:
        """Those whose states count; with boxes, and where they are no pattern, not every one."""
        stated = set(STATED & self.others.keys())
        if self.has_box or self.totals.ornaments >= _ORNATE:
            stated -= {HeadingClass.SIGNED, HeadingClass.REMARKED_COUNTED}
        n_alike = sum(self.others[one] for one in (HeadingClass.REMARKED, *_STATED_STEPS))
        if self.has_box or n_alike < _PATTERN:
            stated -= {HeadingClass.REMARKED}
        if sum(self.others[one] for one in _ALONE) == 1 and self.totals.stated > _PATTERN:
            # One part of many lines, whose states say more.
            stated -= _ALONE
        return stated - {HeadingClass.REMARKED_STEP} if self.has_box else stated

    def _named_headings(self, stated: set[HeadingClass]) -> set[HeadingClass]:
        """Those that may be tasks without a state, in a plan without boxes."""
        is_of_tasks = not self.others.keys().isdisjoint(_TASKS)
        wanted = {HeadingClass.TASK if is_of_tasks else HeadingClass.STEP}
        is_alone = stated <= _COUNTED and self.others.keys().isdisjoint(UNITS)
        if is_alone and not self.totals.listed:
            wanted |= {HeadingClass.CHANGE, *_COUNTED}
        elif HeadingClass.REMARKED in stated and self.others[HeadingClass.REMARKED] >= _PATTERN:
            wanted |= {HeadingClass.PLAIN, *_COUNTED}
        return wanted


_ALONE = frozenset({HeadingClass.STATED, HeadingClass.SIGNED})
_ORNATE = 2
"""So many headings with other emoji make those in front decoration."""
_STATED_STEPS = frozenset(
    {HeadingClass.STATED_TASK, HeadingClass.STATED_STEP, HeadingClass.REMARKED_STEP}
)
_NAMED = _STATED_STEPS | {HeadingClass.TASK, HeadingClass.STEP}
_PATTERN = 2
"""So many headings with a state in words make those beside them tasks."""
_TASKS = frozenset({HeadingClass.TASK, HeadingClass.STATED_TASK})
_COUNTED = frozenset(
    {HeadingClass.COUNTED, HeadingClass.STATED_COUNTED, HeadingClass.REMARKED_COUNTED}
)
"""A state makes no other of them a task, or none: they are one family."""
_FAMILIES = _NAMED | {HeadingClass.LISTED}
_BY_PATTERN = frozenset({HeadingClass.REMARKED, HeadingClass.PLAIN, HeadingClass.COUNTED})
_BESIDE = {
    HeadingClass.TASK: HeadingClass.STATED_TASK,
    HeadingClass.STEP: HeadingClass.STATED_STEP,
    HeadingClass.REMARKED_STEP: HeadingClass.STATED_STEP,
}


def _is_below(block: PlanBlock, sections: OpenSections) -> bool:
    """Whether a block is below these headings; one that it begins with closes some."""
    if block.level == 0:
        return block.enter == sections
    if block.level == 1 and (len(sections) == 1) != (len(block.enter) == 1):
        return False
    around = [section for section in sections if section.level < block.level]
    return around == [section for section in block.enter if section.level < block.level]


def _show_all(
    text: str,
    names: tuple[str, ...],
    dialect: MarkdownDialect | None,
    blocks: Sequence[PlanBlock],
    known: _Known,
) -> ParsedPlan:
    context, readings, tally = _read_all(known, blocks, dialect or find_dialect(text))
    lengths = [len(block.text) for block in blocks]
    source = _Source(
        text=text,
        optional_sections=names,
        dialect=dialect,
        readings=readings,
        lengths=lengths,
        context=context,
        tally=tally,
        known=known,
    )
    return _show(source)


def _read_all(
    known: _Known, blocks: Sequence[PlanBlock], dialect: MarkdownDialect
) -> tuple[PlanContext, list[BlockReading], Counter[tuple[TaskState, bool]]]:
    """Read the blocks; again if only rows of tables or numbered chapters can be the tasks."""
    context = _context_of(known, blocks, dialect)
    readings = [block.read_in(context) for block in blocks]
    tally = _tally_of(readings)
    n_aside = 0 if known.has_box else known.totals.aside
    if any(block.planned for block in blocks) and (
        tally.total() == n_aside or _are_beside_rows(readings)
    ):
        is_divided = any(is_in_step(row.section) for block in blocks for row in block.planned)
        context = context._replace(has_planned_rows=True, has_rows_in_steps=is_divided)
    elif not known.has_box and (chapters := _chapters(readings)):
        context = context._replace(headings=context.headings | chapters, has_headings=True)
    else:
        return context, readings, tally
    readings = [block.read_in(context) for block in blocks]
    return context, readings, _tally_of(readings)


def _chapters(readings: Sequence[BlockReading]) -> frozenset[HeadingSection]:
    """The numbered headings directly below the title of a plan, where nothing else is a task.

    None if one of them is prose by its name, as in a design; whether they have states is the same.
    """
    found = [reading.block.leave[-1] for reading in readings if reading.block.level]
    chapters = [
        one
        for one in found
        if one.parent is not None and one.parent.is_title and NUMBERED.match(one.title)
    ]
    is_plan = len(chapters) >= _FEWEST_CHAPTERS and _PLAN.search(found[0].title) is not None
    if not is_plan or not all(map(_may_be_work, chapters)):
        return frozenset()
    tasks = [row for reading in readings for row in reading.rows()]
    is_all = all(row.kind is TaskKind.HEADING and row.section in chapters for row in tasks)
    return frozenset(chapters) if is_all else frozenset()


def _may_be_work(section: HeadingSection) -> bool:
    """Whether a heading names work: not what is optional or prose, nor in letters of the East.

    The names of prose are too many there.
    """
    is_work = section.may_be_task and not (section.optional or section.has_criteria)
    return is_work and _NO_WORK.search(section.title) is None


_FEWEST_CHAPTERS = 3
_PLAN = re.compile(r"\b(?:plan|todos?|to-dos?|roadmap|tasks)\b", re.IGNORECASE)
_NO_WORK = re.compile(
    r"[^\W_\x00-\u024f]"
    r"|\b(?:choices|directions?|workflows?|governance|polic(?:y|ies)|philosophy|rules)\W*\Z",
    re.IGNORECASE,
)


def _are_beside_rows(readings: Sequence[BlockReading]) -> bool:
    """Whether all tasks are headings beside more that have tables of work: a state of a group."""
    rows = {row.section for reading in readings for row in reading.block.planned}
    tasks = [row for reading in readings for row in reading.rows()]
    headings = {row.section for row in tasks if row.kind is TaskKind.HEADING}
    if len(headings) < len(tasks) or len(headings) >= len(rows) or headings & rows:
        return False
    return {(one.parent, one.level) for one in headings} <= {
        (one.parent, one.level) for one in rows
    }


def _tally_of(readings: Iterable[BlockReading]) -> Counter[tuple[TaskState, bool]]:
    tally: Counter[tuple[TaskState, bool]] = Counter()
    # Not by ``update``, which takes longer than to read so small a block again.
    for reading in readings:
        for counted, n in reading.tally.items():
            tally[counted] += n
    return tally


def _replace(
    before: _Source, text: str, fresh: Sequence[PlanBlock], first: int, last: int
) -> ParsedPlan:
    """Replace some blocks with new ones, and parse again only what depends on them."""
    gone = before.readings[first:last]
    known = before.known.step(fresh, [reading.block for reading in gone])
    names, context = before.optional_sections, before.context
    dialect = before.dialect or find_dialect(text)
    if known.headings() or context != _context_of(known, (), dialect):
        kept = [reading.block for reading in before.readings]
        blocks = [*kept[:first], *fresh, *kept[last:]]
        return _show_all(text, names, before.dialect, blocks, known)
    came = [block.read_in(context) for block in fresh]
    tally = before.tally.copy()
    for reading in gone:
        tally.subtract(reading.tally)
    for reading in came:
        tally.update(reading.tally)
    readings = [*before.readings[:first], *came, *before.readings[last:]]
    if not +tally:
        blocks = [reading.block for reading in readings]
        return _show_all(text, names, before.dialect, blocks, known)
    lengths = before.lengths.copy()
    lengths[first:last] = [len(block.text) for block in fresh]
    source = replace(
        before,
        text=text,
        readings=readings,
        lengths=lengths,
        tally=+tally,
        known=known,
    )
    return _show(source)


def _context_of(
    known: _Known, blocks: Sequence[PlanBlock], dialect: MarkdownDialect
) -> PlanContext:
    """Which headings are tasks: those that may be, and have no other task below them."""
    classes = known.headings()
    if dialect.only_boxes and known.has_box:
        classes = frozenset()
    is_in_table = classes == {HeadingClass.LISTED} and _has_plan_in_table(blocks)
    if is_in_table:
        classes = frozenset()
    has_only_bullets = _has_only_bullets(known, classes)
    context = PlanContext(
        has_box=known.has_box,
        has_headings=bool(classes - {HeadingClass.LISTED}),
        described=frozenset(known.described()),
        numbered=frozenset(known.numbered),
        headings=frozenset(),
        dialect=dialect,
        has_lists=known.totals.listed > 0,
        has_signs=known.has_box and known.totals.ornaments < _ORNATE,
        has_criteria=0 < known.totals.boxes == known.totals.aside,
        has_stated_steps=RowClass.STEP in known.others
        or bool(classes & _STATED_STEPS and not known.has_box),
        has_steps=known.totals.stepped > 0,
        has_units=bool(classes & _NAMED),
        has_rows=not known.others.keys().isdisjoint(RowClass),
        has_only_bullets=has_only_bullets,
        has_own_boxes=known.totals.boxes > known.totals.filed,
        introduction=_introduction(blocks) if classes & _TASKS else frozenset(),
        outlined=_outlined(blocks) if known.totals.stepped and not known.has_box else frozenset(),
        is_flat=not known.totals.headed or (has_only_bullets and not known.totals.boxes),
    )
    if not classes:
        return context
    occupied: set[HeadingSection | None] = set()
    for block in blocks:
        for section in block.read_in(context).occupied():
            _occupy(section, occupied)
    headings: set[HeadingSection] = set()
    for section in _named_sections(known, classes, blocks):
        if section not in occupied:
            headings.add(section)
            _occupy(section.parent, occupied)
    labels = frozenset(filter(None, (heading_label(section.title) for section in headings)))
    return context._replace(headings=frozenset(headings), labels=labels)


def _outlined(blocks: Iterable[PlanBlock]) -> frozenset[HeadingSection]:
    """The parts of the work in whose families fewer than half have a numbered list."""
    divided = {block.leave[-1].parent for block in blocks}
    families: dict[tuple[HeadingSection | None, int], list[HeadingSection]] = {}
    for block in blocks:
        for section, its_class in block.headings:
            if its_class is HeadingClass.STEP and section not in divided:
                families.setdefault((section.parent, section.level), []).append(section)
    stepped = {section for block in blocks for section in block.stepped}
    few = (
        family
        for family in families.values()
        if 2 * len(stepped.intersection(family)) < len(family)
    )
    return frozenset(section for family in few for section in family)


def _introduction(blocks: Iterable[PlanBlock]) -> frozenset[HeadingSection]:
    """The sections above the first heading that is named like a task."""
    above = takewhile(
        lambda block: all(one not in _TASKS for _, one in block.headings),
        blocks,
    )
    return frozenset(block.leave[-1] for block in above)


def _has_only_bullets(known: _Known, classes: Collection[HeadingClass]) -> bool:
    """Whether the plan is nothing but bullets, which show nothing but boxes."""
    shows_tasks = known.totals.listed or known.totals.stepped or known.totals.other or classes
    return not shows_tasks and known.others.keys() <= {HeadingClass.PLAIN}


def _named_sections(
    known: _Known, classes: Collection[HeadingClass], blocks: Sequence[PlanBlock]
) -> list[HeadingSection]:
    """The sections of the headings of these classes, the last one first."""
    found = [one for block in reversed(blocks) for one in reversed(block.headings)]
    around = {section.parent for section, its_class in found if its_class in _BESIDE.values()}
    of_a_pattern = _sections_of_a_pattern(found, classes, blocks)
    counted_on = _counted_on(found)
    is_ordered = any(is_to_execute(section) for section, _ in found)
    beside = () if known.has_box else _steps_beside_tasks(found)
    return [
        section
        for section, its_class in found
        if (its_class in classes or section in beside or section in counted_on)
        and not (is_ordered and _is_part_of_phase(section))
        and (its_class not in _BY_PATTERN or section in of_a_pattern or section in counted_on)
        and (not known.has_box or its_class not in _BESIDE or _is_beside(section, around))
    ]


def _counted_on(
    found: Sequence[tuple[HeadingSection, HeadingClass]],
) -> Collection[HeadingSection]:
    """The numbered headings that continue the count of those with a state."""
    numbers = [(section, one, _COUNT.match(section.title)) for section, one in reversed(found)]
    ends: dict[int, int] = {}
    continued: set[HeadingSection] = set()
    for section, its_class, count in numbers:
        if count is None:
            continue
        number = int(count[1])
        if its_class is HeadingClass.STATED:
            ends[section.level] = number
        elif its_class is HeadingClass.PLAIN and ends.get(section.level) == number - 1 > 1:
            ends[section.level] = number
            continued.add(section)
    return continued


_COUNT = re.compile(r"\W*(?:[xX~]\]\W*)?([0-9]{1,3})[.)]\s")


def _steps_beside_tasks(
    found: Sequence[tuple[HeadingSection, HeadingClass]],
) -> Collection[HeadingSection]:
    """The steps beside those that are divided into headings named like tasks."""
    around = {
        (one.parent, one.level)
        for section, its_class in found
        if its_class in _TASKS
        for one in with_parents(section.parent)
        if one.name is HeadingClass.STEP
    }
    return {
        section
        for section, its_class in found
        if its_class is HeadingClass.STEP and (section.parent, section.level) in around
    }


def _is_part_of_phase(section: HeadingSection) -> bool:
    """Whether it is numbered in a phase: where there are steps to execute, it describes that."""
    around = section.parent
    is_part = section.name is HeadingClass.STEP and not is_named_step(section)
    if not is_part or around is None:
        return False
    return is_named_step(around) and not is_to_execute(around)


def _sections_of_a_pattern(
    found: Sequence[tuple[HeadingSection, HeadingClass]],
    classes: Collection[HeadingClass],
    blocks: Sequence[PlanBlock],
) -> Collection[HeadingSection]:
    """The headings that are tasks for others like them: counted, or beside states in words."""
    named = {section.parent for section, one in found if one in _NAMED}
    if HeadingClass.PLAIN in classes and not named:
        return _sections_beside_remarks(found, blocks)
    remarked = {section for section, one in found if one is HeadingClass.REMARKED}
    beside = {section for section in remarked if not named or section.parent in named}
    return {*beside, *_counted_sections([section for section, _ in found])}


def _sections_beside_remarks(
    found: Sequence[tuple[HeadingSection, HeadingClass]], blocks: Sequence[PlanBlock]
) -> Collection[HeadingSection]:
    divided = {block.leave[-1].parent for block in blocks}
    leaves = [(section, its_class) for section, its_class in found if section not in divided]
    remarked = [section for section, one in leaves if one is HeadingClass.REMARKED]
    around = {section.parent for section in remarked}
    # Beside numbered ones only numbered ones.
    with_any = {section.parent for section in remarked if NUMBERED.match(section.title) is None}
    return {
        section
        for section, _ in leaves
        if section.parent in with_any
        or (section.parent in around and NUMBERED.match(section.title) is not None)
    }


def _counted_sections(sections: Sequence[HeadingSection]) -> Collection[HeadingSection]:
    """The headings that begin with the same word and a number as others of their level."""
    words = [(section, word) for section in sections if (word := _counted_word(section))]
    counts = Counter((section.level, word) for section, word in words)
    return {section for section, word in words if counts[section.level, word] >= _PATTERN}


def _counted_word(section: HeadingSection) -> str | None:
    """The word of ``Commit 01: …``."""
    found = COUNTED.match(_BOX_BEFORE.sub("", section.title))
    return None if found is None else found[1].lower()


_BOX_BEFORE = re.compile(r"\s*\[[^\[\]]?\]\s*")


def _is_beside(section: HeadingSection, around: Collection[HeadingSection | None]) -> bool:
    """Whether it is one of the parts of the work of which others have a state, or within one."""
    while section.parent is not None:
        if section.name is not None and section.parent in around:
            return True
        section = section.parent
    return False


def _has_plan_in_table(blocks: Sequence[PlanBlock]) -> bool:
    """Whether tables hold the tasks: a row is open, or is about one of the listed headings."""
    rows = [row for block in blocks for row in block.named_items(TaskKind.ROW)]
    headings = {row.words for block in blocks for row in block.named_items(TaskKind.HEADING)}
    return any(row.is_open or row.words in headings for row in rows)


def _occupy(section: HeadingSection | None, occupied: set[HeadingSection | None]) -> None:
    while section is not None and section not in occupied:
        occupied.add(section)
        section = section.parent


def _show(source: _Source) -> ParsedPlan:
    readings, tally = source.readings, source.tally
    tasks = LazyTuple(lambda: make_tasks(readings), tally.total())
    plan = Plan(
        tasks=tasks,
        has_parts=source.known.totals.parts > 0,
        known_tally=tally,
        pick=partial(pick_tasks, readings),
    )
    if _is_all_backlog(readings, tally):
        plan = _require_backlog(readings)
    found = LazyTuple(lambda: _make_problems(readings, tally))
    problems = LazyTuple(lambda: tuple(problem for problem, _ in found))
    spans = LazyTuple(lambda: tuple(span for _, span in found))
    guesses = LazyTuple(lambda: find_guesses(tuple(block_positions(readings)), source.context))
    return ParsedPlan(plan=plan, problems=problems, spans=spans, guesses=guesses, source=source)


def _is_all_backlog(readings: Sequence[BlockReading], tally: Tally) -> bool:
    """Whether tasks are in a section Backlog, and none are planned anywhere else."""
    if not any(optional for _, optional in tally):
        return False
    has_backlog = False
    for reading in readings:
        for section in reading.sections():
            if not section.optional and not goes_with_backlog(section):
                return False
            has_backlog = has_backlog or is_backlog(section)
    return has_backlog


def _require_backlog(readings: Sequence[BlockReading]) -> Plan:
    """The plan whose backlog is what is to be worked on."""
    places = {section for reading in readings for section in reading.sections()}
    names = {section.title for section in places if is_backlog(section)}
    tasks = tuple(
        task._replace(optional=False) if task.section in names else task
        for task in make_tasks(readings)
    )
    return Plan(tasks=tasks, known_tally=Counter((task.state, task.optional) for task in tasks))


_Problem: TypeAlias = "tuple[PlanProblem, tuple[int, int]]"
"""With its place in its line."""


def _make_problems(readings: Sequence[BlockReading], tally: Tally) -> tuple[_Problem, ...]:
    """All problems with their places, in the order of the text."""
    ids = Counter(task_id for reading in readings for task_id in reading.explicit())
    repeated = {task_id for task_id, n_tasks in ids.items() if n_tasks > 1}
    used_ids: Counter[str] = Counter()
    problems: list[_Problem] = []
    is_odd = bool(repeated) or any(reading.findings for reading in readings)
    for reading, line, _ in block_positions(readings if is_odd else ()):
        found = list(reading.findings)
        if repeated and not repeated.isdisjoint(reading.explicit()):
            found += _repeats(reading, repeated, used_ids)
        if found:
            problems += _place(found, reading.block.text, line)
    if not any(tally.values()):
        problems.append(_no_tasks(readings))
        problems.sort(key=lambda found: found[0].line)
    return tuple(problems)


def _no_tasks(readings: Sequence[BlockReading]) -> _Problem:
    from ralph_ls.protocol.plan import PlanProblem

    has_items = any(reading.block.has_items for reading in readings)
    finding = "no line has a box; put one before each task" if has_items else "add one"
    message = f"the plan has no tasks; {finding}, such as: - [ ] Describe the first task"
    first = next(lines_of(readings[0].block.text))[1] if readings else ""
    return PlanProblem(code="no-tasks", message=message, line=1), _words_of(first)


def _place(found: Iterable[BlockFinding], text: str, first: int) -> Iterator[_Problem]:
    """The findings of a block with their places in the whole text, in order."""
    from ralph_ls.protocol.plan import PlanProblem

    lines = [line for _, line in lines_of(text)]
    for finding in sorted(found, key=lambda finding: finding.line):
        number = first + finding.line + 1
        message = finding.message
        if finding.code.startswith("unclosed-"):
            message = message.replace("{line}", str(number))
        problem = PlanProblem(code=finding.code, message=message, line=number)
        yield problem, finding.span or _words_of(lines[finding.line])


def _words_of(line: str) -> tuple[int, int]:
    """The span of the words of a line, without the marks of an item and its box."""
    marks = find_marks(line)
    begin = len(line) - len(line.lstrip("\ufeff \t")) if marks is None else marks.text
    end = len(line.rstrip())
    return min(begin, end), end


def _repeats(
    reading: BlockReading, repeated: set[str], used_ids: Counter[str]
) -> Iterator[BlockFinding]:
    for row in reading.rows():
        task_id = row.explicit_id
        if task_id is None or task_id not in repeated:
            continue
        used_ids[task_id] += 1
        if used_ids[task_id] > 1:
            message = (
                f"more than one task has the id {task_id}; this one is called "
                f"{task_id}-{used_ids[task_id]} until it gets its own"
            )
            at = reading.block.text.find(task_id, row.start, row.end) - row.start
            yield BlockFinding("duplicate-id", row.line, message, (at, at + len(task_id)))
