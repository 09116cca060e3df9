"""The blocks that a plan is cut into, and what each says without its tasks being made.

Most of a long plan is ``plain``: such lines are taken by the dozen, and their tasks are counted
and not read. Anything else is scanned line by line. Both give the same tasks, which the tests hold
against each other.

A block keeps no place in the text, so it stays as it is when the text before it grows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ralph_ls.core.plan.model import Tally, Task, TaskKind
from ralph_ls.core.plan.reading.headings import Section, SectionKind
from ralph_ls.core.plan.reading.items import Item
from ralph_ls.core.plan.reading.line_kinds import Finding
from ralph_ls.core.plan.reading.plain import PLAIN_LINES, plain_rows
from ralph_ls.core.plan.reading.rules import Context, Row, counts_with_box, judge, numbered_sections
from ralph_ls.core.plan.reading.scanner import begins_block, scan_block
from ralph_ls.core.plan.titles import folded_title_id
from ralph_ls.protocol.plan import TaskState

Sections = tuple[Section, ...]


class Reading:
    """What a block says when it is judged as part of one whole plan."""

    __slots__ = ("_explicit", "_ids", "_rows", "block", "findings", "made", "tally")

    def __init__(
        self,
        block: Block,
        rows: list[Row] | None,
        *,
        tally: Tally,
        findings: tuple[Finding, ...] = (),
    ) -> None:
        self.block = block
        self._rows = rows
        self._ids: list[str] | None = None
        self._explicit: tuple[str, ...] | None = None
        self.tally = tally
        self.findings = findings
        self.made: tuple[tuple[int, int], tuple[Task, ...]] = ((-1, -1), ())
        """The line and the offset that its tasks were last made for, and those tasks."""

    def rows(self) -> list[Row]:
        """Its tasks; those of plain lines are read when they are asked for."""
        if self._rows is None:
            has_tasks = self.block.leave[-1].kind is not SectionKind.NOTES
            self._rows = plain_rows(self.block.text, self.block.enter) if has_tasks else []
        return self._rows

    def ids(self) -> list[str]:
        """The ids of its tasks, one for each row; alone, since a plan numbers those that repeat."""
        if self._ids is None:
            self._ids = [row.explicit_id or folded_title_id(row.title) for row in self.rows()]
        return self._ids

    def explicit(self) -> tuple[str, ...]:
        """What may be explicit ids of its tasks; more than there are, never fewer."""
        if self._explicit is None:
            rows = self._rows
            self._explicit = (
                tuple(_ID_LIKE.findall(self.block.text) if self.tally else ())
                if rows is None
                else tuple(row.explicit_id for row in rows if row.explicit_id is not None)
            )
        return self._explicit

    def occupied(self) -> Iterator[Section]:
        """The sections that its tasks stand in, but for those of tasks that are headings."""
        if self._rows is not None:
            yield from (row.section for row in self._rows if row.kind is not TaskKind.HEADING)
        elif self.tally:
            yield self.block.leave[-1]


class Block:
    """A part of a plan that is read by itself, between two lines that begin blocks."""

    __slots__ = (
        "_items",
        "_odd",
        "_own",
        "_read_as",
        "_reading",
        "enter",
        "leave",
        "level",
        "n_boxes",
        "numbered",
        "states",
        "text",
    )

    def __init__(self, text: str, enter: Sections, leave: Sections) -> None:
        self.text = text
        self.enter, self.leave = enter, leave
        """The headings that are open where it begins, and where it ends."""
        self.level = len(text) - len(text.lstrip("#"))
        """Of the heading that it begins with, else 0."""
        self.n_boxes = 0
        """How many items are tasks for their box."""
        self.numbered: frozenset[Section] = frozenset()
        """The sections in which a numbered item has a box."""
        self.states: tuple[Section, ...] = ()
        """The sections whose headings have a state, in the order of the text."""
        self._items: tuple[Item, ...] = ()
        self._odd: tuple[Finding, ...] = ()
        self._own: frozenset[Section] = frozenset()
        self._reading: Reading | None = None
        self._read_as: Context | None = None

    def read_in(self, context: Context) -> Reading:
        """Judge it as part of a plan; the same again where nothing has changed for it."""
        reading = self._reading
        if reading is not None and self._read_as is None:
            return reading
        mine = self._narrow(context)
        if reading is not None and self._read_as == mine:
            return reading
        rows, odd = judge(self._items, mine)
        self._read_as = mine
        self._reading = Reading(
            self,
            rows,
            tally=Counter((row.state, row.section.optional) for row in rows),
            findings=(*self._odd, *odd),
        )
        return self._reading

    def _narrow(self, context: Context) -> Context:
        """What of the context its own items are judged by."""
        return context._replace(
            numbered=context.numbered & self._own, headings=context.headings & self._own
        )

    def keep_items(self, items: tuple[Item, ...], odd: tuple[Finding, ...]) -> None:
        """Keep what was scanned, and note what the whole plan is judged by."""
        self._items, self._odd = items, odd
        self._own = frozenset(item.section for item in items)
        self.n_boxes = sum(map(counts_with_box, items))
        self.numbered = frozenset(numbered_sections(items))
        self.states = tuple(
            item.section
            for item in items
            if item.kind is TaskKind.HEADING
            and item.section.kind not in {SectionKind.NOTES, SectionKind.PROSE}
        )

    def keep_counts(self, n_open: int, n_done: int, *, is_numbered: bool) -> None:
        """Keep what plain lines were counted to; nothing else in a plan changes that."""
        section = self.leave[-1]
        tally = {}
        if section.kind is not SectionKind.NOTES:
            states = ((TaskState.TODO, n_open), (TaskState.DONE, n_done))
            tally = {(state, section.optional): n for state, n in states if n}
            self.n_boxes = n_open + n_done
            self.numbered = frozenset({section} if is_numbered else ())
        self._reading = Reading(self, None, tally=tally)


def read_block(
    text: str, start: int, end: int, sections: Sections, optional_sections: Sequence[str]
) -> Block:
    """Read the block that begins at ``start``; plain lines are taken up to ``end`` at most."""
    plain = _read_plain(text, start, end, sections)
    if plain is not None:
        return plain
    scanned = scan_block(text, start, sections=sections, optional_sections=optional_sections)
    part = text[start : start + scanned.length]
    block = Block(part, sections, scanned.sections)
    block.keep_items(scanned.items, scanned.findings)
    return block


def move_block(
    block: Block, sections: Sections, optional_sections: Sequence[str]
) -> Iterator[Block]:
    """Give the same text below other headings."""
    position, text = 0, block.text
    while position < len(text):
        moved = read_block(text, position, len(text), sections, optional_sections)
        yield moved
        position += len(moved.text)
        sections = moved.leave


_ID_LIKE = re.compile(r"\](?:\*\*)?:?\s*(?:\*\*)?([A-Z][A-Z0-9]*-\d+)")


def _read_plain(text: str, start: int, end: int, sections: Sections) -> Block | None:
    """Take plain lines, up to where a block begins; None where there are none."""
    found = PLAIN_LINES.match(text, start, end)
    if found is None:
        return None
    stop = found.end()
    if stop < len(text) and not begins_block(text, stop):
        stop = found.start("last")
        if stop == start:
            return None
    part = text[start:stop]
    block = Block(part, sections, sections)
    n_open, n_done = part.count("[ ]"), part.count("[x]")
    if n_open + n_done != part.count("["):
        n_done += part.count("[X]")
    block.keep_counts(n_open, n_done, is_numbered=found["number"] is not None)
    return block
