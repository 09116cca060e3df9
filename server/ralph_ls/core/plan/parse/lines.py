"""Lines of a plan: endings, columns, list marks, and what opens or closes fences and comments.

Parser and edits share these functions, so an edit never touches a mark that the parser did not
find. Each line is considered alone; the scanner knows the context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ralph_ls.core.markdown_fences import (
    CODE_INDENT,
    COMMENT,
    is_closing,
    opening_mark,
    opening_run,
)


class ListMarks(NamedTuple):
    """The parts of a line that holds a list item, as positions in the line.

    A named tuple, like other values of the parser that are made for every line.
    """

    starts: tuple[int, ...]
    """Where each marker begins; there are several when items begin inside items (``- 1. a``)."""
    contents: tuple[int, ...]
    """Where the content of each marker begins, after its spaces."""
    box: tuple[int, int] | None
    """The span between the brackets of the innermost item's box."""
    text: int
    """Where the innermost item's text begins, after the spaces that follow marker or box."""


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Each line without its ending (LF, CRLF or CR), with the offset where it begins.

    A text that ends with a line ending has an empty last line, as editors count them.
    """
    start = 0
    if "\r" in text:
        for ending in _LINE_ENDING.finditer(text):
            yield start, text[start : ending.start()]
            start = ending.end()
        yield start, text[start:]
        return
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def advance_column(column: int, passed: str) -> int:
    """Advance a column by a text; a tab advances to the next multiple of four."""
    if "\t" not in passed:
        return column + len(passed)
    into_stop = column % _TAB
    return column - into_stop + len((" " * into_stop + passed).expandtabs(_TAB))


def find_marks(line: str) -> ListMarks | None:
    """Find marker, box and text of a line that holds a list item; None for any other line.

    A line that begins with a box and has no marker, ``[ ] Parse``, is an item, too.
    """
    found = _MARKER.match(line)
    if found is None:
        return _find_bare_box(line)
    if line[found.end() : found.end() + 1] == found[1] and is_thematic_break(line):
        return None
    starts = [found.start(1)]
    contents = [found.end()]
    heading = _HEADING_BEFORE_BOX.match(line, found.end())
    box = _find_box(line, found.end() if heading is None else heading.end())
    while box is None and (inner := _MARKER.match(line, contents[-1])) is not None:
        if len(starts) == _MOST_MARKERS:
            # Deeper markers are text: they are never meant, and each item costs time and memory.
            break
        starts.append(inner.start(1))
        contents.append(inner.end())
        box = _find_box(line, inner.end())
    text = contents[-1]
    if box is not None:
        text = _end_of_box(line, box) + star_length(line, box)
        while line[text : text + 1].isspace():
            text += 1
    return ListMarks(starts=tuple(starts), contents=tuple(contents), box=box, text=text)


def text_begin(line: str) -> int:
    """Where the text of a list item begins, behind marker and box; 0 in any other line."""
    marks = find_marks(line)
    return 0 if marks is None else marks.text


def begins_like_box(text: str) -> bool:
    """Whether a text begins like an open box, which is one only in an item: ``☐ a``, ``• [ ] a``.

    In a quote, too.
    """
    return after_loose_box(text) is not None


def quotes_ticked_box(text: str) -> bool:
    """Whether a line is a ticked box in a quote: ``> - [x] Saw``."""
    return text.startswith(">") and _QUOTED_TICK.match(text) is not None


def after_loose_box(text: str) -> int | None:
    """Where the words behind such a box begin; None where there is none."""
    found = _LOOSE_BOX.match(text) if text[:1] in _LOOSE_FIRST else None
    return None if found is None else found.end()


def star_length(line: str, box: tuple[int, int]) -> int:
    """The length of the star of an optional task: ``- [ ]* Write more tests``; 0 without one.

    Formatters put a backslash before it.
    """
    at = box[1] + 1
    length = 2 if line.startswith("\\*", at) else int(line.startswith("*", at))
    return length if line[at + length : at + length + 1].isspace() else 0


def is_thematic_break(line: str) -> bool:
    """Whether the line is a rule such as ``---`` or ``* * *``."""
    bare = line.strip(" \t")
    mark = bare[:1]
    if mark not in {"-", "*", "_"} or bare[-1] != mark:
        return False
    return bare.count(mark) >= _RULE_LENGTH and not bare.strip(f"{mark} \t")


TICKS = frozenset("xXvV✓✔√")
"""What ticks a box."""
_LINE_ENDING = re.compile(r"\r\n|\r|\n")
_TAB = 4
_MOST_MARKERS = 20
_RULE_LENGTH = 3
_MARKER = re.compile(
    r"\ufeff?[ \t]*([-*+](?=[ \t]|\Z)"
    r"|[0-9]{1,9}[.)](?=[ \t]|\Z|[^\x00-\xff]))[ \t]*"
)
"""In Chinese and the like a number needs no blank behind it: ``1.写解析器``."""
_HEADING_BEFORE_BOX = re.compile(r"#{1,6}[ \t]+(?=\[)")
"""Marks of a heading in an item: ``- ### [ ] Parser``."""
_BARE_BOX = re.compile(r"\ufeff? ?\[([ xX~!/-]?)\][ \t]+(?=\S)")
_LOOSE_FIRST = frozenset(">-*+•‣·\u2013\u20140123456789[(☐⬜◻🔲")
_LOOSE_BOX = re.compile(
    r"(?:>[ \t]*)*(?:(?:[-*+•‣·\u2013\u2014]{1,3}|[0-9]{1,9}[.)])[ \t]*)?"
    r"(?:\[[ ~]?\]|\( \)|[☐⬜◻🔲]\ufe0f?)[ \t]*(?=[^\s(\[])"
)
_QUOTED_TICK = re.compile(r"(?:>[ \t]*)+(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[[xX]\][ \t]+\S")
_BOX = re.compile(r"\[([^\[\]]{0,3})\]")


def _find_bare_box(line: str) -> ListMarks | None:
    found = _BARE_BOX.match(line)
    if found is None:
        return None
    begin = found.start(1) - 1
    return ListMarks(starts=(begin,), contents=(begin,), box=found.span(1), text=found.end())


def _end_of_box(line: str, box: tuple[int, int]) -> int:
    """The end of a box with the bold marks around it alone: ``**[x]** Parse``."""
    end = box[1] + 1
    is_bold = line.startswith("**", end) and line.endswith("**", 0, box[0] - 1)
    return end + 2 if is_bold else end


def _find_box(line: str, at: int) -> tuple[int, int] | None:
    """Find a box at a position: ``[ ]``, ``[x]``, ``[-]``, ``[]``; never ``[1]`` or ``[x](url)``.

    It may be the first thing of bold words: ``**[x] Parse** it``. In code it explains boxes.

    A missing space after ``[ ]`` and ``[x]`` is accepted, because nothing else has this form, and a
    task that is missed ends a run too early.
    """
    found = _BOX.match(line, at + 2 if line.startswith("**[", at) else at)
    if found is None:
        return None
    mark = found[1].strip("\ufe0f \t")
    follows = line[found.end() : found.end() + 1]
    if follows and not follows.isspace():
        is_box = found[1] != "" and mark in {"", "x", "X"} and follows not in "([:"
    else:
        is_box = mark in {"", *TICKS} or (len(mark) == 1 and not mark.isalnum())
    return found.span(1) if is_box else None


class BlockFinding(NamedTuple):
    """A problem in a block, by a line counted from the beginning of the block."""

    code: str
    line: int
    message: str
    """In an ``unclosed-…`` one ``{line}`` is the placeholder for the line, counted from 1."""
    span: tuple[int, int] | None = None
    """Its place in the line; None for the words of that line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBlock:
    """An open fence or comment."""

    line: int
    mark: str
    """The run of marks that opened it, or ``COMMENT``."""
    column: int
    threshold: int
    """A line left of this column ends the item around the block, and so the block."""
    language: str | None = None
    """The word behind the marks of a fence, empty where there is none; None for a comment."""
    n_inner: int = 0
    """The fences that are open in a fence that quotes a document."""
    is_document: bool = False
    """Whether it has a heading as if it were a part of the plan."""


class MarkdownLine(NamedTuple):
    """A line that is not blank."""

    number: int
    start: int
    text: str
    column: int
    """Where its text begins, tabs counted."""
    stripped: str
    """Without the white space before it."""


def open_block(stripped: str, *, line: int, column: int, threshold: int) -> OpenBlock | None:
    """Open the fence or comment that a text begins; None for a comment that ends on its line."""
    mark = opening_mark(stripped)
    if not mark:
        return None
    language = None if mark == COMMENT else stripped[len(mark) :].strip(" \t").lower()
    return OpenBlock(line=line, mark=mark, column=column, threshold=threshold, language=language)


def unclosed_finding(block: OpenBlock) -> BlockFinding:
    """The finding that a block is not closed."""
    if block.mark == COMMENT:
        code, name, end = "unclosed-comment", "comment", "-->"
    else:
        code, name, end = "unclosed-fence", "code fence", block.mark
    message = (
        f"the {name} opened on line {{line}} is never closed, so nothing in it is read as a task; "
        f"close it with {end[:_LONGEST_FENCE_SHOWN]}"
    )
    return BlockFinding(code, block.line, message)


def heading_level(stripped: str) -> int:
    """The number of ``#`` of a heading; 0 for any other line."""
    level = len(stripped) - len(stripped.lstrip("#"))
    is_heading = level <= _LAST_HEADING_LEVEL and stripped[level : level + 1] in {"", " ", "\t"}
    return level if is_heading else 0


def opens_block(stripped: str) -> bool:
    """Whether a fence or a comment begins, also a comment that ends on the line."""
    return stripped.startswith(COMMENT) or opening_run(stripped) != ""


def ends_block(block: OpenBlock, line: MarkdownLine) -> bool:
    """Whether the line ends the block."""
    if block.mark == COMMENT:
        is_outside = line.column < block.threshold
        return line.stripped.startswith("-->") if is_outside else "-->" in line.stripped
    is_too_deep = line.column >= block.column + CODE_INDENT
    return not is_too_deep and is_closing(block.mark, line.stripped.rstrip(" \t"))


_LAST_HEADING_LEVEL = 6
_LONGEST_FENCE_SHOWN = 20


def without_wrapping(text: str) -> str:
    """A text that is one fenced block of Markdown as a whole, with blanks for its fences.

    Models like to answer so. Every place is as before; any other text is returned itself.
    """
    opening = _WRAPPING.match(text)
    if opening is None:
        return text
    fences = [found for found in _FENCE_LINE.finditer(text) if found[1][0] == opening[1][0]]
    closing = fences[-1]
    is_closed = not closing[2] and len(closing[1]) >= len(opening[1])
    if not is_closed or len(fences) % 2 or text[closing.end() :].strip():
        return text
    within = text[opening.end() : closing.start()]
    return f"{_blank(opening[0])}{within}{_blank(closing[0])}{text[closing.end() :]}"


def _blank(line: str) -> str:
    return re.sub(r"[^\r\n]", " ", line)


_WRAPPING = re.compile(
    r"\s*?^(`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*(?=[\r\n])", re.IGNORECASE | re.MULTILINE
)
_FENCE_LINE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\r\n]*?)[ \t]*(?=[\r\n]|\Z)", re.MULTILINE)
