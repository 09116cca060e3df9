"""What kind of line a line is by itself, and what ends a fence or a comment.

The scan knows where it stands in the plan; nothing here does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Finding(NamedTuple):
    """What could not be read as meant, by a line counted from the beginning of the block."""

    code: str
    line: int
    message: str
    """In an ``unclosed-…`` one ``{line}`` stands for the line from 1, as people count it."""
    span: tuple[int, int] | None = None
    """Where in its line it stands; None for the words of that line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBlock:
    """A fence or a comment whose end has not come yet."""

    line: int
    fence: str
    """The run of marks that opened it; empty for a comment."""
    column: int
    threshold: int
    """A line left of this column ends the item around the block, and so the block."""


class Line(NamedTuple):
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
    is_comment = stripped[0] == "<"
    if is_comment and "-->" in stripped:
        return None
    fence = "" if is_comment else stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
    return OpenBlock(line=line, fence=fence, column=column, threshold=threshold)


def tell_unclosed(block: OpenBlock) -> Finding:
    """Say that nothing ended the block."""
    if block.fence:
        code, name, end = "unclosed-fence", "code fence", block.fence
    else:
        code, name, end = "unclosed-comment", "comment", "-->"
    message = (
        f"the {name} opened on line {{line}} has no end of its own, and nothing in it "
        f"is read as a task; close it with {end[:_LONGEST_FENCE_SHOWN]}"
    )
    return Finding(code, block.line, message)


def heading_level(stripped: str) -> int:
    """Count the ``#`` of a heading; 0 for what is none."""
    level = len(stripped) - len(stripped.lstrip("#"))
    is_heading = level <= _LAST_HEADING_LEVEL and stripped[level : level + 1] in {"", " ", "\t"}
    return level if is_heading else 0


def opens_block(stripped: str) -> bool:
    """Say whether a fence or a comment begins; backticks after backticks are inline code."""
    if stripped.startswith("```"):
        return "`" not in stripped.lstrip("`")
    return stripped.startswith(("~~~", "<!--"))


def ends_block(block: OpenBlock, line: Line) -> bool:
    """Say whether the line ends the block."""
    if not block.fence:
        is_outside = line.column < block.threshold
        return line.stripped.startswith("-->") if is_outside else "-->" in line.stripped
    bare = line.stripped.rstrip(" \t")
    is_fence = bare.startswith(block.fence) and not bare.strip(block.fence[0])
    return is_fence and line.column < block.column + CODE_INDENT


CODE_INDENT = 4
"""From how many columns further in a line is indented code, and no end of a fence."""
_LAST_HEADING_LEVEL = 6
_LONGEST_FENCE_SHOWN = 20
