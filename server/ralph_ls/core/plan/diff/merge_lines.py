"""Merge of one line that two sides changed, and the notes that record a conflict in the text.

A task's state and its words are merged separately, so one side may tick what the other rewords.
Where both changed the same words, one version stays as the line and the other becomes a note below
it: never a second item with a box, which would duplicate the task.

Does not know how the texts were compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from ralph_ls.core.plan.parse.lines import ListMarks, find_marks

ALIKE = 0.6
"""From here on a line is taken for another wording of the other, not for a new one."""

LONGEST_COMPARED = 200
"""The number of characters of a line that are compared."""

REMOVED = "the other version no longer has this task"


class MergedLine(NamedTuple):
    """A line that both have changed, perhaps differently."""

    content: str
    agrees: bool
    """Whether both changes are in it."""


def split_ending(line: str) -> tuple[str, str]:
    """A line and its ending apart."""
    content = line.rstrip("\r\n")
    return content, line[len(content) :]


def choose_change(base: str, mine: str, theirs: str) -> tuple[str, bool]:
    """The changed version, and whether there is no conflict; in a conflict it is ``mine``."""
    if mine in {base, theirs}:
        return theirs, True
    return mine, theirs == base


def merge_line(base: str, mine: str, theirs: str) -> MergedLine:
    """Merge the changes of both into one line, part by part for a list item."""
    content, agrees = choose_change(base, mine, theirs)
    if agrees:
        return MergedLine(content, agrees)
    parts = [_parts(line) for line in (base, mine, theirs)]
    if len({len(part) for part in parts}) > 1:
        return MergedLine(content, agrees)
    chosen = [choose_change(*versions) for versions in zip(*parts, strict=True)]
    return MergedLine("".join(part for part, _ in chosen), all(fine for _, fine in chosen))


def common_base(mine: str, theirs: str) -> str:
    """The assumed common base of two added lines: the one that is still open."""
    for line in (mine, theirs):
        parts = _parts(line)
        if len(parts) == _PARTS_WITH_BOX and not parts[1].strip():
            return line
    return ""


def are_alike(one: str, other: str) -> bool:
    """Whether one line is similar enough to be the other, reworded."""
    compared = SequenceMatcher(
        None, _words(one)[:LONGEST_COMPARED], _words(other)[:LONGEST_COMPARED], autojunk=False
    )
    return (
        compared.real_quick_ratio() >= ALIKE
        and compared.quick_ratio() >= ALIKE
        and compared.ratio() >= ALIKE
    )


def conflict_note(line: str, other: str | None) -> str | None:
    """What is written below a line of which there is another version; None: that one as it is.

    ``other`` is None where the other version has removed the line.
    """
    marks = find_marks(line)
    if marks is not None:
        note = REMOVED if other is None else f"the other version says: {_item_text(other)}"
        return f"{_indent_below(line, marks)}- Conflict: {note}"
    if other is not None and line.lstrip().startswith(("#", "|")):
        # A second heading would take the section, and a table may not be interrupted.
        harmless = other.strip().replace("-->", "-- >")
        return f"<!-- Conflict: the other version says: {harmless} -->"
    return None


def must_stay_attached(line: str, next_content: str) -> bool:
    """Whether a note below ``line`` must wait until the next line is written, too."""
    if line.lstrip().startswith("|"):
        return next_content.lstrip().startswith("|")
    following = next_content.strip()
    if not following or find_marks(line) is None or find_marks(next_content) is not None:
        return False
    return _STARTS_BLOCK.match(following) is None


_PARTS_WITH_BOX = 7
_STARTS_BLOCK = re.compile(r"#|>|\||<!--|```|~~~|[^:]{1,40}:(?:\s|\Z)")
_TAGS = re.compile(r"(?:(?:\*\*)?\[[^\[\]]+\](?:\*\*)?(?!\():?\s*)*")
_SHORTEST_STRUCK = 5


def _parts(line: str) -> list[str]:
    """An item's line in the parts that are merged separately; any other line is one part."""
    marks = find_marks(line)
    if marks is None:
        return [line]
    text = line[marks.text :]
    tags = _TAGS.match(text)
    tagged = 0 if tags is None else tags.end()
    words = text[tagged:]
    struck = len(words) >= _SHORTEST_STRUCK and words.startswith("~~") and words.endswith("~~")
    strike = "~~" if struck else ""
    after = [text[:tagged], strike, words[2:-2] if struck else words, strike]
    if marks.box is None:
        return [line[: marks.text], *after]
    begin, end = marks.box
    return [line[:begin], line[begin:end], line[end : marks.text], *after]


def _words(line: str) -> str:
    marks = find_marks(line)
    return line.strip() if marks is None else line[marks.text :].strip()


def _item_text(other: str) -> str:
    """The text of an item, with its box; for any other line, the line."""
    marks = find_marks(other)
    text = other if marks is None else other[marks.contents[-1] :]
    return text.strip()


def _indent_below(line: str, marks: ListMarks) -> str:
    """White space up to where the item's text begins, keeping the tabs of its line.

    The text of a box without a list marker begins at the box; what is nested is deeper.
    """
    begin, after = marks.starts[-1], marks.contents[-1]
    before = "".join(mark if mark == "\t" else " " for mark in line[:begin].lstrip("\ufeff"))
    return before + " " * min(max(after - begin, 2), 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """One line that both changed differently."""

    line: int
    """From 0, in the merged text."""
    mine: str | None
    """Without its ending; None where it was removed."""
    theirs: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPlan:
    """The plan with the changes of both."""

    text: str
    conflicts: tuple[MergeConflict, ...] = ()


class MergeOutput:
    """The merged text as it grows."""

    def __init__(self, ending: str) -> None:
        self._ending = ending
        self._lines: list[str] = []
        self._conflicts: list[MergeConflict] = []
        self._note: tuple[str, str] | None = None
        """A note that waits for the end of the block above it, and the line that it is about."""

    def line(self, line: str) -> None:
        """Write a line of one of the versions."""
        content = split_ending(line)[0]
        if self._note is not None and not must_stay_attached(self._note[0], content):
            self._write_note()
        self._append(line)

    def conflict(self, mine: str | None, theirs: str | None) -> None:
        """Both sides of the line that was written last."""
        self._conflicts.append(MergeConflict(line=len(self._lines) - 1, mine=mine, theirs=theirs))
        shown = split_ending(self._lines[-1])[0]
        other = theirs if mine is not None else None
        note = conflict_note(shown, other) or other
        if note is None:
            return
        if self._note is not None:
            shown, first = self._note
            note = f"{first}{self._ending}{note}"
        self._note = (shown, note)

    def finish(self) -> MergedPlan:
        is_open = bool(self._lines) and not split_ending(self._lines[-1])[1]
        self._write_note()
        if is_open:
            self._lines[-1] = split_ending(self._lines[-1])[0]
        return MergedPlan(text="".join(self._lines), conflicts=tuple(self._conflicts))

    def _write_note(self) -> None:
        """Write the note that waits, if one does."""
        waiting, self._note = self._note, None
        for line in () if waiting is None else waiting[1].split(self._ending):
            self._append(line + self._ending)

    def _append(self, line: str) -> None:
        if self._lines and not split_ending(self._lines[-1])[1]:
            self._lines[-1] += self._ending
        self._lines.append(line)
