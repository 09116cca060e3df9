"""Find the list items of a markdown text: by hand, line by line, each character looked at once.

This is the part of markdown that plans are made of: headings, list items and how they nest, boxes,
and the fences and comments in which boxes do not count. The blocks are those of CommonMark, with
three liberties, because a task overlooked ends a run too early:

- an item is nested when it stands two columns deeper than its parent's marker, also below ``1.``;
- an item far too deep is nested all the same, unless a blank line makes it indented code;
- a line such as ``Blocked by:`` begins a paragraph of its own.

A fence or a comment ends with the item that it stands in, so that one forgotten end cannot hide
the rest of the plan. Whether an item is a task is for ``markdown`` to say, not for this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ralph_ls.core.plan.headings import open_document, open_section
from ralph_ls.core.plan.items import Item, note_field, read_field, settle
from ralph_ls.core.plan.lines import (
    Marks,
    advance_column,
    find_marks,
    is_thematic_break,
    lines_of,
)
from ralph_ls.core.plan.titles import fold, strip_comments
from ralph_ls.protocol.plan import PlanProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """Every list item outside fences and comments, in text order, and what was left open."""

    items: tuple[Item, ...]
    problems: tuple[PlanProblem, ...]


def scan(text: str, *, optional_sections: Sequence[str] = ()) -> Scanned:
    """Find every list item; total, and linear in the length of the text."""
    state = _Scan(optional_sections)
    for number, (start, line) in enumerate(lines_of(text)):
        state.take(number, start, line)
    return state.finish()


_CODE_INDENT = 4
_LAST_HEADING_LEVEL = 6
_LONGEST_FENCE_SHOWN = 20
_ITEM_FIRST = frozenset("-*+0123456789")
_MARKS = str.maketrans("", "", "*`~")


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenBlock:
    """A fence or a comment whose end has not come yet."""

    line: int
    fence: str
    """The run of marks that opened it; empty for a comment."""
    column: int
    threshold: int
    """A line left of this column ends the item around the block, and so the block."""


class _Line(NamedTuple):
    """A line that is not blank."""

    number: int
    start: int
    text: str
    column: int
    """Where its text begins, tabs counted."""
    stripped: str
    """Without the white space before it."""


class _Scan:
    """Where the scan stands: open items, open headings, and what kind of line came last."""

    __slots__ = (
        "block",
        "code_column",
        "frames",
        "items",
        "last_line",
        "lone_line",
        "optional_sections",
        "paragraph_line",
        "problems",
        "sections",
    )

    def __init__(self, optional_sections: Sequence[str]) -> None:
        self.optional_sections = optional_sections
        self.items: list[Item] = []
        self.problems: list[PlanProblem] = []
        self.frames: list[Item] = []
        """The items that are still open, outermost first."""
        self.sections = [open_document()]
        """The open headings, outermost first, each of a deeper level."""
        self.block: _OpenBlock | None = None
        self.code_column: int | None = None
        """The column from which lines are indented code, while they are."""
        self.last_line = -1
        """The last line that was not blank."""
        self.paragraph_line = -2
        """The last line that the line after it could go on from."""
        self.lone_line: _Line | None = None
        """The last paragraph of one line outside lists: a rule below it makes it a heading."""

    def take(self, number: int, start: int, text: str) -> None:
        """Take the next line."""
        bom = 1 if number == 0 and text.startswith("\ufeff") else 0
        stripped = text[bom:].lstrip(" \t")
        if not stripped:
            return
        column = advance_column(0, text[bom : len(text) - len(stripped)])
        line = _Line(number, start, text, column, stripped)
        if not self._goes_on_in_block(line) and not self._is_code(line):
            self._take_text(line)
        self.last_line = number

    def finish(self) -> Scanned:
        """Close what is still open."""
        if self.block is not None:
            self._report_unclosed(self.block)
        self._close_items(-2)
        return Scanned(items=tuple(self.items), problems=tuple(self.problems))

    def _goes_on_in_block(self, line: _Line) -> bool:
        """Say whether the line belongs to the open fence or comment, and close that if it ends.

        An end may stand further left than the item it was opened in; any other line there ends
        the item, and the block with it.
        """
        block = self.block
        if block is None:
            return False
        if _ends_block(block, line):
            self.block = None
        elif line.column < block.threshold:
            self._report_unclosed(block)
            self.block = None
            return False
        return True

    def _is_code(self, line: _Line) -> bool:
        """Say whether the line is indented code, in which boxes do not count."""
        if self.code_column is not None:
            if line.column >= self.code_column:
                return True
            self.code_column = None
        if self.frames:
            if self.last_line == line.number - 1:
                return False
            self._close_items(line.column)
            content = self.frames[-1].content if self.frames else line.column
        else:
            content = line.column if self.paragraph_line == line.number - 1 else 0
        if line.column < content + _CODE_INDENT:
            return False
        self.code_column = content + _CODE_INDENT
        return True

    def _take_text(self, line: _Line) -> None:
        """Take a line outside blocks by the kind that its first character tells."""
        first = line.stripped[0]
        goes_on = self.paragraph_line == line.number - 1
        if goes_on and not self.frames and line.column >= _CODE_INDENT:
            self._take_paragraph(line, goes_on=True)
        elif first in _ITEM_FIRST and (marks := self._find_item(line, goes_on=goes_on)):
            self._take_item(line, marks)
        elif first == "#" and (level := _heading_level(line.stripped)):
            self._take_heading(line, level)
        elif first in "`~<" and _opens_block(line.stripped):
            self._close_items(line.column)
            self._open_block(line, line.stripped, line.column)
        elif first == ">":
            self._close_items(line.column)
        elif first in "=-" and goes_on and self._turns_heading(line):
            pass
        elif is_thematic_break(line.stripped):
            self._close_items(line.column)
        else:
            self._take_paragraph(line, goes_on=goes_on)

    def _find_item(self, line: _Line, *, goes_on: bool) -> Marks | None:
        """Find an item; as in CommonMark, only ``1.`` or a box interrupts a paragraph of prose."""
        marks = find_marks(line.text)
        if marks is None or self.frames or not goes_on or marks.box is not None:
            return marks
        is_prose = line.stripped[0].isdigit() and not line.stripped.startswith(("1.", "1)"))
        return None if is_prose else marks

    def _take_item(self, line: _Line, marks: Marks) -> None:
        """Take the item of a line; there are several where items begin inside items."""
        sibling = self.frames[-1] if self.frames else None
        self._close_items(line.column)
        if sibling is not None and sibling.is_bare_label and sibling.column == line.column:
            self.frames[-1].takes_criteria = True
        content = line.column
        for begin, after in zip(marks.starts[:-1], marks.contents[:-1], strict=True):
            column, content = content, advance_column(content, line.text[begin:after])
            self._open_item(line, begin, column=column, content=content, box=None, text="")
        column, begin = content, marks.starts[-1]
        content = advance_column(content, line.text[begin : marks.contents[-1]])
        box = None if marks.box is None else line.text[slice(*marks.box)].strip()
        text = line.text[marks.text :]
        self._open_item(line, begin, column=column, content=content, box=box, text=text)
        if box is None and _opens_block(text):
            self._open_block(line, text, content)
        elif text or box is not None:
            self.paragraph_line = line.number

    def _open_item(
        self, line: _Line, begin: int, *, column: int, content: int, box: str | None, text: str
    ) -> None:
        item = Item(
            line=line.number,
            start=line.start,
            end=line.start + len(line.text),
            column=column,
            content=content,
            is_numbered=line.text[begin].isdigit(),
            box=box,
            text=text,
            section=self.sections[-1],
            parent=self.frames[-1] if self.frames else None,
        )
        settle(item)
        self.items.append(item)
        self.frames.append(item)

    def _take_heading(self, line: _Line, level: int) -> None:
        """Take a heading; one that is indented into an item is part of that item."""
        self._close_items(line.column)
        if not self.frames:
            title = line.stripped[level:].strip(" \t")
            bare = title.rstrip("#")
            has_closing = not bare or bare.endswith((" ", "\t"))
            self._enter_section(level=level, title=bare.rstrip(" \t") if has_closing else title)

    def _turns_heading(self, line: _Line) -> bool:
        """Take a line of ``=`` or ``-`` below a paragraph of one line: that was a heading."""
        bare = line.stripped.rstrip(" \t")
        if bare.strip(bare[0]) or self.frames or self.lone_line is None:
            return False
        self._enter_section(level=1 if bare[0] == "=" else 2, title=self.lone_line.stripped)
        return True

    def _take_paragraph(self, line: _Line, *, goes_on: bool) -> None:
        """Take a line of prose; fields and labels begin anew, other lines may go on."""
        found = read_field(line.stripped)
        begins = not goes_on or found is not None or line.stripped.rstrip().endswith(":")
        if begins:
            self._close_items(line.column)
        self.paragraph_line = line.number
        if not self.frames:
            self.lone_line = None if goes_on else line
            return
        owner = self.frames[-1]
        owner.is_bare_label = False
        if begins:
            owner.takes_criteria = False
        if found is not None:
            note_field(owner, found)

    def _enter_section(self, *, level: int, title: str) -> None:
        while self.sections[-1].level >= level:
            self.sections.pop()
        section = open_section(
            fold(strip_comments(title).translate(_MARKS)),
            level,
            parent=self.sections[-1],
            optional_sections=self.optional_sections,
        )
        self.sections.append(section)

    def _open_block(self, line: _Line, stripped: str, column: int) -> None:
        is_comment = stripped[0] == "<"
        if is_comment and "-->" in stripped:
            return
        self.block = _OpenBlock(
            line=line.number,
            fence=""
            if is_comment
            else stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))],
            column=max(column, self.frames[-1].content if self.frames else 0),
            threshold=self.frames[-1].threshold if self.frames else 0,
        )

    def _close_items(self, column: int) -> None:
        """Close the items that a line at this column does not belong to."""
        while self.frames and self.frames[-1].threshold > column:
            self.frames.pop().end_line = self.last_line

    def _report_unclosed(self, block: _OpenBlock) -> None:
        if block.fence:
            code, name, end = "unclosed-fence", "code fence", block.fence
        else:
            code, name, end = "unclosed-comment", "comment", "-->"
        message = (
            f"the {name} opened on line {block.line + 1} has no end of its own, and nothing in it "
            f"is read as a task; close it with {end[:_LONGEST_FENCE_SHOWN]}"
        )
        self.problems.append(PlanProblem(code=code, message=message, line=block.line + 1))


def _heading_level(stripped: str) -> int:
    """Count the ``#`` of a heading; 0 for what is none."""
    level = len(stripped) - len(stripped.lstrip("#"))
    is_heading = level <= _LAST_HEADING_LEVEL and stripped[level : level + 1] in {"", " ", "\t"}
    return level if is_heading else 0


def _opens_block(stripped: str) -> bool:
    """Say whether a fence or a comment begins; backticks after backticks are inline code."""
    if stripped.startswith("```"):
        return "`" not in stripped.lstrip("`")
    return stripped.startswith(("~~~", "<!--"))


def _ends_block(block: _OpenBlock, line: _Line) -> bool:
    if not block.fence:
        is_outside = line.column < block.threshold
        return line.stripped.startswith("-->") if is_outside else "-->" in line.stripped
    bare = line.stripped.rstrip(" \t")
    is_fence = bare.startswith(block.fence) and not bare.strip(block.fence[0])
    return is_fence and line.column < block.column + _CODE_INDENT
