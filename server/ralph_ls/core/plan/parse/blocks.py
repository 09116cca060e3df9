"""Blocks of a plan: the parts that are parsed independently.

Most of a long plan is plain lines (see ``plain_lines``), whose tasks are counted without being
parsed. Everything else is scanned line by line. Both ways give the same tasks, which the tests
verify.

A block has no absolute positions, so it stays valid when the text before it grows. Where a block
ends is decided by the caller.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from ralph_ls.core.plan.model import Tally, Task, TaskKind
from ralph_ls.core.plan.parse.heading_items import has_state, may_be_task
from ralph_ls.core.plan.parse.headings import (
    NO_TASKS,
    UNITS,
    HeadingClass,
    HeadingSection,
    SectionKind,
    names_change,
)
from ralph_ls.core.plan.parse.items import PlanItemDraft
from ralph_ls.core.plan.parse.lines import TICKS, BlockFinding
from ralph_ls.core.plan.parse.scanner import NotedLine, begins_block, scan_block
from ralph_ls.core.plan.parse.task_rules import (
    ParsedRow,
    PlanContext,
    counts_with_box,
    item_has_state,
    numbered_sections,
    select_tasks,
)
from ralph_ls.core.plan.parse.titles import WORDS_SET_ASIDE, folded_title_id
from ralph_ls.core.plan.parse.words.section_words import COUNTED, STEP_NAME
from ralph_ls.core.plan.parse.words.title_states import has_ornament
from ralph_ls.protocol.task_words import SETTLED_STATES, TaskState


class RowClass(Enum):
    """What a row of a table with a state but no box is."""

    ANY = auto()
    STEP = auto()
    """It gives the state of a part of the work: ``Phase 1``."""


class BlockTotals(NamedTuple):
    """The counts of a block that matter for the whole plan; they are added up."""

    boxes: int = 0
    """Items that are tasks for their box."""
    aside: int = 0
    """Those of them in sections for criteria, and in optional ones."""
    open_aside: int = 0
    listed: int = 0
    """Items directly in sections that are named for tasks, plain lines apart."""
    stepped: int = 0
    """Numbered items in parts of the work and in ``Implementation steps`` and the like."""
    ornaments: int = 0
    """Headings that begin with an emoji that is no state."""
    headed: int = 0
    """Blocks below a heading."""
    stated: int = 0
    """Lines of lists without a box that give a state."""
    inner: int = 0
    """Boxes in bullets directly below a heading that is named like a task or a step."""
    labelled: int = 0
    """Other boxes below a label for criteria of such a heading."""
    parts: int = 0
    """Blocks with boxes and something like a number of two levels: ``2.1``."""
    filed: int = 0
    """Boxes in sections for what is done."""
    other: int = 0
    """Paragraphs outside lists, numbered items, and sections with a name of no list."""


class NamedItem(NamedTuple):
    """A heading or a row by its words."""

    words: str
    is_open: bool


_NUMBER = re.compile(r"\W*[0-9]+(?:\.[0-9]+)*[.):]?\s+")


def words_in(text: str) -> str:
    """The words of a heading or a row without its number and marks, in lower case."""
    return re.sub(r"\W+", " ", _NUMBER.sub("", text, count=1)).strip().lower()


def _is_of_steps(item: PlanItemDraft) -> bool:
    section = item.section
    is_item = item.is_numbered and item.parent is None and section.kind is SectionKind.PLAIN
    return is_item and section.level > 0 and section.holds_steps and not section.is_title


def _is_aside(section: HeadingSection) -> bool:
    """Whether the boxes of a section are not where the required tasks are: open questions, say."""
    return section.comes_last or section.optional


def _is_in_bullet(item: PlanItemDraft) -> bool:
    """Whether a box is nested in a bullet without one below a heading such as ``Step 1``."""
    around = item.parent
    if item.is_labelled or around is None or around.parent is not None or around.box is not None:
        return False
    return not around.is_numbered and item.section.name in UNITS


def _is_stated_line(item: PlanItemDraft) -> bool:
    is_line = item.kind is TaskKind.ITEM and item.box is None and item.parent is None
    return is_line and item.section.kind not in NO_TASKS and item_has_state(item)


def _row_class(row: PlanItemDraft) -> RowClass | None:
    if row.box is not None:
        return None
    is_step = row.is_part or STEP_NAME.match(row.text.lower()) is not None
    return RowClass.STEP if is_step else RowClass.ANY


def _class_of(heading: PlanItemDraft) -> HeadingClass:
    name = heading.section.name
    if name is None:
        return _class_without_name(heading)
    if name is HeadingClass.STEP and heading.is_signed:
        return HeadingClass.REMARKED_STEP
    return _STATED_CLASS.get(name, HeadingClass.STATED) if has_state(heading) else name


def _class_without_name(heading: PlanItemDraft) -> HeadingClass:
    is_counted = COUNTED.match(heading.text) is not None
    if heading.is_signed and is_counted:
        return HeadingClass.REMARKED_COUNTED
    if heading.is_signed:
        return HeadingClass.REMARKED if heading.is_in_words else HeadingClass.SIGNED
    if has_state(heading):
        return HeadingClass.STATED_COUNTED if is_counted else HeadingClass.STATED
    if may_be_task(heading):
        return HeadingClass.LISTED
    if names_change(heading.text):
        return HeadingClass.CHANGE
    return HeadingClass.COUNTED if is_counted else HeadingClass.PLAIN


_STATED_CLASS = {
    HeadingClass.TASK: HeadingClass.STATED_TASK,
    HeadingClass.STEP: HeadingClass.STATED_STEP,
}
STATED = frozenset(
    {
        HeadingClass.STATED,
        HeadingClass.SIGNED,
        HeadingClass.STATED_TASK,
        HeadingClass.STATED_STEP,
        HeadingClass.STATED_COUNTED,
        HeadingClass.REMARKED_COUNTED,
        HeadingClass.REMARKED,
        HeadingClass.REMARKED_STEP,
    }
)
"""The classes of the headings that say their state."""


_SURE = frozenset({HeadingClass.STATED, HeadingClass.STATED_TASK, HeadingClass.STATED_STEP})
_UNNAMED = frozenset({HeadingClass.PLAIN, HeadingClass.COUNTED, HeadingClass.CHANGE})
_SETTLED = TICKS | {"-"}
_TASKS = SectionKind.TASKS
OpenSections = tuple[HeadingSection, ...]


class BlockReading:
    """A block parsed as part of one whole plan."""

    __slots__ = (
        "_explicit",
        "_ids",
        "_is_plain",
        "_rows",
        "block",
        "findings",
        "made",
        "tally",
    )

    def __init__(
        self,
        block: PlanBlock,
        rows: list[ParsedRow] | None,
        *,
        tally: Tally,
        findings: tuple[BlockFinding, ...] = (),
    ) -> None:
        self.block = block
        self._is_plain = rows is None
        self._rows = rows
        self._ids: list[str] | None = None
        self._explicit: tuple[str, ...] | None = None
        self.tally = tally
        self.findings = findings
        self.made: tuple[tuple[int, int], tuple[Task, ...]] = ((-1, -1), ())
        """The line and the offset for which its tasks were last made, and those tasks."""

    def rows(self) -> list[ParsedRow]:
        """Its tasks; those of plain lines are parsed on demand."""
        if self._rows is None:
            from ralph_ls.core.plan.parse.plain_lines import plain_rows

            self._rows = plain_rows(self.block.text, self.block.enter)
        return self._rows

    def ids(self) -> list[str]:
        """The ids of its tasks, one for each row; alone, since a plan numbers those that repeat."""
        if self._ids is None:
            self._ids = [row.explicit_id or folded_title_id(row.title) for row in self.rows()]
        return self._ids

    def explicit(self) -> tuple[str, ...]:
        """A superset of the explicit ids of its tasks."""
        if self._explicit is None:
            rows = self._rows
            self._explicit = (
                tuple(_ID_LIKE.findall(self.block.text) if self.tally else ())
                if rows is None
                else tuple(row.explicit_id for row in rows if row.explicit_id is not None)
            )
        return self._explicit

    def guessable(self) -> Sequence[ParsedRow]:
        """Its tasks except those of plain lines, which all have boxes."""
        return () if self._is_plain else self.rows()

    def sections(self) -> Iterator[HeadingSection]:
        """The sections of its tasks."""
        if not self._is_plain:
            yield from (row.section for row in self.rows())
        else:
            yield self.block.leave[-1]

    def open_sections(self) -> Iterator[HeadingSection]:
        """The sections of its tasks that are not settled."""
        if not self._is_plain:
            yield from (row.section for row in self.rows() if row.state not in SETTLED_STATES)
        elif any(state not in SETTLED_STATES for state, _ in self.tally):
            yield self.block.leave[-1]

    def occupied(self) -> Iterator[HeadingSection]:
        """The sections of its tasks, except of tasks that are headings."""
        if not self._is_plain:
            yield from (row.section for row in self.rows() if row.kind is not TaskKind.HEADING)
        else:
            yield self.block.leave[-1]


PlacedBlock: TypeAlias = tuple[BlockReading, int, int]
"""A block with the line and the offset where it begins."""


class PlanBlock:
    """A part of a plan that is read by itself, between two lines that begin blocks."""

    __slots__ = (
        "_items",
        "_odd",
        "_own",
        "_read_as",
        "_reading",
        "enter",
        "headings",
        "inner",
        "labelled",
        "leave",
        "level",
        "noted",
        "numbered",
        "others",
        "planned",
        "stepped",
        "text",
        "totals",
    )

    def __init__(self, text: str, enter: OpenSections, leave: OpenSections) -> None:
        self.text = text
        self.enter, self.leave = enter, leave
        """The headings that are open where it begins, and where it ends."""
        self.level = len(text) - len(text.lstrip("#"))
        """Of the heading that it begins with, else 0."""
        self.totals = BlockTotals(
            ornaments=has_ornament(text[self.level :]) if self.level else 0,
            headed=int(len(leave) > 1),
        )
        self.numbered: frozenset[HeadingSection] = frozenset()
        """The sections in which a numbered item has a box."""
        self.inner: frozenset[HeadingSection] = frozenset()
        """The sections that are named like tasks and have boxes in bullets without one."""
        self.labelled: frozenset[HeadingSection] = frozenset()
        """Those with boxes below a label for criteria."""
        self.stepped: frozenset[HeadingSection] = frozenset()
        """Those with numbered lists, in parts of the work."""
        self.headings: tuple[tuple[HeadingSection, HeadingClass], ...] = ()
        """The sections whose headings may be tasks, in the order of the text."""
        self.others: tuple[HeadingClass | RowClass, ...] = ()
        """Their classes, and one for each row of a table with a state but no box."""
        self.noted: tuple[NotedLine, ...] = ()
        self.planned: tuple[PlanItemDraft, ...] = ()
        """The rows of tables of work, which are tasks if nothing else in the plan is one."""
        self._items: tuple[PlanItemDraft, ...] = ()
        self._odd: tuple[BlockFinding, ...] = ()
        self._own: frozenset[HeadingSection] = frozenset()
        self._reading: BlockReading | None = None
        self._read_as: PlanContext | None = None

    @property
    def items(self) -> Sequence[PlanItemDraft]:
        """Its items, headings and rows; none of plain lines, which all are tasks or in one."""
        return self._items

    @property
    def has_items(self) -> bool:
        """Whether it has list items or headings that could be tasks, none of them plain."""
        return any(item.kind is not TaskKind.HEADING or may_be_task(item) for item in self._items)

    def read_in(self, context: PlanContext) -> BlockReading:
        """Parse it as part of a plan; the same object if nothing has changed for it."""
        reading = self._reading
        if reading is not None and self._read_as is None:
            return reading
        mine = self._narrow(context)
        if reading is not None and self._read_as == mine:
            return reading
        items: Sequence[PlanItemDraft] = self._items
        if context.has_planned_rows and self.planned:
            items = sorted((*items, *self.planned), key=attrgetter("line"))
        rows, odd = select_tasks(items, mine)
        self._read_as = mine
        self._reading = BlockReading(
            self,
            rows,
            tally=Counter((row.state, row.optional) for row in rows),
            findings=(*self._odd, *odd),
        )
        return self._reading

    def named_headings(self, *, with_signs: bool) -> Iterator[PlanItemDraft]:
        """The headings that are named like tasks or steps and have no state.

        ``with_signs``: also those whose only state is an emoji that says that they are open.
        """
        for item in self._items:
            if item.kind is not TaskKind.HEADING:
                continue
            its_class = _class_of(item)
            is_open = with_signs and item.written_state not in SETTLED_STATES
            if its_class in _UNNAMED:
                continue
            if its_class not in STATED or (its_class is HeadingClass.SIGNED and is_open):
                yield item

    def guessed_headings(self) -> Iterator[PlanItemDraft]:
        """Those, and the headings that are tasks only for an emoji or words for a state."""
        for item in self._items:
            if item.kind is not TaskKind.HEADING or item.box is not None:
                continue
            is_by_sign = item.section.name is None and item.written_state is not None
            if is_by_sign or item.is_coloured or _class_of(item) not in _SURE:
                yield item

    def named_items(self, kind: TaskKind) -> Iterator[NamedItem]:
        """Its headings or rows, to be compared by their words."""
        for item in self._items:
            is_named = kind is not TaskKind.HEADING or may_be_task(item)
            if item.kind is kind and is_named and (words := words_in(item.text)):
                yield NamedItem(words, is_open=item.written_state not in SETTLED_STATES)

    def _narrow(self, context: PlanContext) -> PlanContext:
        """The part of the context that matters for its items."""
        return context._replace(
            numbered=context.numbered & self._own,
            headings=context.headings & self._own,
            described=context.described & self._own,
            introduction=context.introduction & self._own,
            outlined=context.outlined & self._own,
        )

    def keep_items(self, items: tuple[PlanItemDraft, ...], odd: tuple[BlockFinding, ...]) -> None:
        """Keep the scanned items, and collect the facts that matter for the whole plan."""
        self._items, self._odd = items, odd
        if not items:
            return
        self._own = frozenset(item.section for item in items)
        stepped = [item.section for item in items if _is_of_steps(item)]
        self.stepped = frozenset(stepped)
        self._keep_boxes([item for item in items if counts_with_box(item)])
        self.numbered = frozenset(numbered_sections(items))
        self.totals = self.totals._replace(
            listed=sum(
                item.kind is TaskKind.ITEM and item.section.is_named and item.section.kind is _TASKS
                for item in items
            ),
            stepped=len(stepped),
            stated=sum(map(_is_stated_line, items)),
        )
        listed = [item for item in items if item.section.kind not in NO_TASKS]
        self.headings = tuple(
            (item.section, _class_of(item)) for item in listed if item.kind is TaskKind.HEADING
        )
        rows = (_row_class(item) for item in listed if item.kind is TaskKind.ROW)
        self.others = (*(its_class for _, its_class in self.headings), *filter(None, rows))

    def _keep_boxes(self, boxed: Sequence[PlanItemDraft]) -> None:
        n_open = [item for item in boxed if item.box not in _SETTLED]
        inner = [item.section for item in boxed if _is_in_bullet(item)]
        labelled = [item.section for item in boxed if item.is_labelled]
        self.inner, self.labelled = frozenset(inner), frozenset(labelled)
        self.totals = self.totals._replace(
            boxes=len(boxed),
            inner=len(inner),
            labelled=len(labelled),
            parts=int(bool(boxed) and _NUMBERED_PART.search(self.text) is not None),
            filed=sum(item.section.kind is SectionKind.DONE for item in boxed),
            aside=sum(_is_aside(item.section) for item in boxed),
            open_aside=sum(_is_aside(item.section) for item in n_open),
        )

    def keep_counts(self, n_open: int, n_done: int, *, is_numbered: bool) -> None:
        """Keep the counts of plain lines; nothing else in a plan changes them."""
        section = self.leave[-1]
        states = ((TaskState.TODO, n_open), (TaskState.DONE, n_done))
        tally = {(state, section.optional): n for state, n in states if n}
        n_boxes = n_open + n_done
        self.totals = self.totals._replace(
            boxes=n_boxes,
            filed=n_boxes if section.kind is SectionKind.DONE else 0,
            parts=int(_NUMBERED_PART.search(self.text) is not None),
            aside=n_boxes if _is_aside(section) else 0,
            open_aside=n_open if _is_aside(section) else 0,
        )
        self.numbered = frozenset({section} if is_numbered else ())
        self._reading = BlockReading(self, None, tally=tally)


def read_block(
    text: str, start: int, end: int, sections: OpenSections, optional_sections: Sequence[str]
) -> PlanBlock:
    """Read the block that begins at ``start``; plain lines are taken up to ``end`` at most."""
    plain = _read_plain(text, start, end, sections)
    if plain is not None:
        return plain
    scanned = scan_block(text, start, sections=sections, optional_sections=optional_sections)
    part = text[start : start + scanned.length]
    block = PlanBlock(part, sections, scanned.sections)
    items = scanned.items
    if any(item.is_planned for item in items):
        block.planned = tuple(item for item in items if item.is_planned)
        items = tuple(item for item in items if not item.is_planned)
    block.keep_items(items, scanned.findings)
    block.noted = scanned.noted
    n_other = sum(item.is_numbered and item.parent is None for item in scanned.items)
    n_other += _is_no_list(scanned.sections[-1])
    block.totals = block.totals._replace(other=scanned.n_prose + n_other)
    return block


def _is_no_list(section: HeadingSection) -> bool:
    """Whether the name of a section has a meaning, or dates or counts it: ``Option 1``."""
    has_meaning = section.kind in NO_TASKS or section.lists_steps
    return has_meaning or _COUNTED_OR_DATED.match(section.title) is not None


_COUNTED_OR_DATED = re.compile(r"\W*(?:[0-9]{4}-[0-9]|[^\W\d_]+ #?[0-9])")


def move_block(
    block: PlanBlock, sections: OpenSections, optional_sections: Sequence[str]
) -> Iterator[PlanBlock]:
    """The same block below other headings."""
    position, text = 0, block.text
    while position < len(text):
        moved = read_block(text, position, len(text), sections, optional_sections)
        yield moved
        position += len(moved.text)
        sections = moved.leave


_ID_LIKE = re.compile(r"\](?:\*\*)?:?\s*(?:\*\*)?([A-Z][A-Z0-9]*-\d+)")


LONG_PLAN = 4096
"""Characters from which a plan is read by the fast path; scanning a shorter one takes 2 ms."""
_ANY_BOX = re.compile(r"\[[ xX]\]")
_NUMBERED_PART = re.compile(r"[0-9]\.[0-9]")


def _read_plain(text: str, start: int, end: int, sections: OpenSections) -> PlanBlock | None:
    """Take plain lines, up to where a block begins; None where there are none."""
    if len(text) < LONG_PLAN:
        return None
    # Its patterns take long to compile.
    from ralph_ls.core.plan.parse.plain_lines import PLAIN_LINES

    found = PLAIN_LINES.match(text, start, end)
    is_read_elsewhere = sections[-1].kind is SectionKind.NOTES or sections[-1].has_criteria
    if found is None or is_read_elsewhere:
        return None
    stop = found.end()
    if stop < len(text) and not begins_block(text, stop):
        stop = found.start("last")
        if stop == start:
            return None
    part = text[start:stop]
    if any(word in part for word in WORDS_SET_ASIDE):
        return None
    block = PlanBlock(part, sections, sections)
    boxes = _ANY_BOX.findall(part)
    n_open = boxes.count("[ ]")
    block.keep_counts(n_open, len(boxes) - n_open, is_numbered=found["number"] is not None)
    return block
