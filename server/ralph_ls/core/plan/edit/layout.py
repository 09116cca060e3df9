"""Layout of a plan: the sections and list styles of new tasks, and lines that can be moved.

What a section means is determined by the parser itself: an item is inserted below each heading, and
the parsed result shows what a new task there would be. So a heading inside a fence is ignored, and
no parsing rule is duplicated. Moved lines keep their line endings, and list marks are continued.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ralph_ls.core.plan.edit.proposals import ending_near, indent_of, lines_in
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.protocol.task_words import Priority, TaskState


class TaskSection(NamedTuple):
    """A heading below which a box makes a task, and the lines up to the next heading."""

    line: int
    """Of the heading, from 0."""
    last: int
    """The last line before the next heading that is not blank; the heading's own if all are."""
    title: str
    priority: Priority | None
    is_done: bool
    """An item without a box is a finished task here."""


def sections_of(lines: Sequence[str]) -> tuple[TaskSection, ...]:
    """Find the sections of a plan that can hold tasks; the headings are those that begin with #."""
    at = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    probes = {number: f"- [ ] {_PROBE} {number}\n- {_PROBE} {number} done" for number in at}
    probed = "\n".join(
        f"{line}\n{probes[number]}" if number in probes else line
        for number, line in enumerate(lines)
    )
    found = {task.title: task for task in parse_markdown(probed).plan.tasks}
    sections: list[TaskSection] = []
    for number, end in zip(at, [*at[1:], len(lines)], strict=False):
        probe = found.get(f"{_PROBE} {number}")
        if probe is None:
            continue
        last = next(nth for nth in range(end - 1, number - 1, -1) if lines[nth].strip())
        done = found.get(f"{_PROBE} {number} done")
        is_done = done is not None and done.state is TaskState.DONE
        sections.append(TaskSection(number, last, probe.section, probe.priority, is_done))
    return tuple(sections)


def find_section(sections: Sequence[TaskSection], title: str) -> TaskSection | None:
    """The first section of this title, whatever its case and white space."""
    wanted = fold_whitespace(title.lstrip("#")).casefold()
    return next((one for one in sections if one.title.casefold() == wanted), None)


def last_task_in(plan: Plan, section: TaskSection) -> Task | None:
    """The last task of a section that is nested in no other."""
    inside = [
        task for task in plan.tasks if task.depth == 0 and section.line < task.line <= section.last
    ]
    return inside[-1] if inside else None


def item_like(model: str, title: str) -> list[str]:
    """Write an open item in the style of another one of its list; with a box if needed."""
    marks = find_marks(model)
    if marks is None:
        level = model.lstrip("\ufeff \t").partition(" ")[0]
        return [f"{level} {sign} {title}" for sign in ("\u2b1c", "[ ]")]
    begin, after = marks.starts[-1], marks.contents[-1]
    before = "".join(mark if mark == "\t" else " " for mark in model[:begin].lstrip("\ufeff"))
    marker = before + next_marker(model[begin:after])
    boxed = f"{marker}[ ] {title}"
    if marks.box is not None:
        return [boxed]
    bug = [f"{marker}[BUG] {title}"] if "[BUG]" in model.upper() else []
    return [marker + title, *bug, boxed]


def next_marker(marker: str) -> str:
    """The marker that follows: the same bullet, or the next number."""
    number = _NUMBER.match(marker)
    spaced = marker if marker[-1:].isspace() else f"{marker} "
    if number is None:
        return spaced
    return f"{int(number[0]) + 1:0{len(number[0])}}{spaced[number.end() :]}"


def renumber(lines: list[str], at: int) -> None:
    """Continue the numbers from the item in a line, as far as they were consecutive.

    Only those are changed that must be: a gap, another list or the end ends it, and where all
    items have the same number, they keep it.
    """
    number = number_of(lines[at])
    if number is None:
        return
    indent = indent_of(lines[at])
    following = [number_of(lines[nth]) for nth in siblings(lines, at, indent)]
    if len(following) > 1 and following[0] == following[1]:
        lines[at] = with_number(lines[at], following[0] or 0)
        return
    for nth in siblings(lines, at, indent):
        if number_of(lines[nth]) != number:
            return
        number += 1
        lines[nth] = with_number(lines[nth], number)


def siblings(lines: Sequence[str], at: int, indent: str) -> Iterator[int]:
    """The numbered items of the same list that follow a line."""
    for nth in range(at + 1, len(lines)):
        line = lines[nth]
        if not line.strip() or len(indent_of(line)) > len(indent):
            continue
        if number_of(line) is None or indent_of(line) != indent:
            return
        yield nth


def run_of(lines: Sequence[str], at: int) -> list[int]:
    """The items of the numbered list that an item is in, by line; itself alone with a bullet."""
    if number_of(lines[at]) is None:
        return [at]
    indent, first = indent_of(lines[at]), at
    for nth in range(at - 1, -1, -1):
        line = lines[nth]
        if not line.strip() or len(indent_of(line)) > len(indent):
            continue
        if number_of(line) is None or indent_of(line) != indent:
            break
        first = nth
    return [first, *siblings(lines, first, indent)]


def number_of(line: str) -> int | None:
    """The number of an item, if it has one."""
    found = _NUMBERED.match(line)
    return None if found is None else int(found[2])


def with_number(line: str, number: int) -> str:
    """The same line with another number; zeros before it are kept."""

    def put(found: re.Match[str]) -> str:
        width = len(found[2]) if found[2].startswith("0") else 0
        return f"{found[1]}{number:0{width}}"

    return _NUMBERED.sub(put, line, count=1)


_PROBE = "Whatever is below heading"
_HEADING = re.compile(r"\ufeff?#{1,6}(?:[ \t]|\Z)")
_NUMBER = re.compile(r"[0-9]+")
_NUMBERED = re.compile(r"(\ufeff?[ \t]*)([0-9]{1,9})(?=[.)](?:[ \t]|\Z))")


@dataclass(frozen=True, slots=True)
class InsertionPoint:
    """The place where lines are inserted."""

    line: int
    """They are inserted before this line."""
    model: str
    """The line whose list they join; empty where there is none."""
    beside: int | None = None
    """The number of that line."""
    is_before: bool = False
    """The model follows the inserted lines."""
    is_apart: bool = False
    """Blank lines separate it from the lines around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSheet:
    """A text as lines; the BOM stays in front, whatever comes first."""

    bom: str
    lines: tuple[str, ...]
    endings: tuple[str, ...]
    """One for each line; the last one has none."""
    usual: str
    """The ending of the first line, for inserted lines."""

    @classmethod
    def of(cls, text: str) -> LineSheet:
        """Split a text into lines and endings."""
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        body = text.removeprefix(bom)
        found = lines_in(body)
        begins = [*(start for start, _ in found[1:]), len(body)]
        endings = (
            body[start + len(line) : end] for (start, line), end in zip(found, begins, strict=True)
        )
        return cls(
            bom=bom,
            lines=tuple(line for _, line in found),
            endings=tuple(endings),
            usual=ending_near(body, found, 0),
        )

    def insert(self, line: str, place: InsertionPoint) -> str:
        """Insert a line; the numbers of its list continue from it."""
        near = self.endings[place.line - 1] if place.line else ""
        new = [(line, near or self.usual)]
        return self._put(self._pairs(), new, place.line, place)

    def relocate(self, first: int, end: int, place: InsertionPoint, *, box: str = "") -> str:
        """Move the lines from ``first`` up to ``end``, indented and marked as at the new place.

        A blank line that separates them on both sides moves along. ``box`` precedes the text.
        """
        pairs = self._pairs()
        if first <= place.line <= end and not place.is_apart:
            return self._join(pairs)
        run = run_of(self.lines, first)
        is_same_list = place.beside in run
        marked = _marked_like(self.lines[first:end], place, box)
        block = list(zip(marked, self.endings[first:end], strict=True))
        if is_same_list:
            block[0] = pairs[first]
        if self._is_blank(first - 1) and self._is_blank(end) and not place.is_apart:
            blank = pairs[first - 1]
            block = [*block, blank] if place.is_before else [blank, *block]
            first -= 1
        at = place.line if place.line <= first else place.line - (end - first)
        del pairs[first:end]
        numbers = [number_of(self.lines[nth]) for nth in run] if is_same_list else []
        return self._put(pairs, block, at, place, numbers=numbers)

    def _pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.lines, self.endings, strict=True))

    def _is_blank(self, line: int) -> bool:
        """Whether there is a blank line, before the end of the text."""
        return 0 <= line < len(self.lines) - 1 and not self.lines[line].strip()

    def _put(
        self,
        pairs: list[tuple[str, str]],
        new: list[tuple[str, str]],
        at: int,
        place: InsertionPoint,
        *,
        numbers: list[int | None] | None = None,
    ) -> str:
        blank = ("", self.usual)
        if place.is_apart and at > 0 and pairs[at - 1][0].strip():
            new = [blank, *new]
        if place.is_apart and at < len(pairs) and pairs[at][0].strip():
            new = [*new, blank]
        pairs[at:at] = new
        lines = [line for line, _ in pairs]
        begin = next(nth for nth in range(at, len(lines)) if lines[nth].strip())
        if numbers:
            for nth, number in zip(run_of(lines, begin), numbers, strict=False):
                lines[nth] = lines[nth] if number is None else with_number(lines[nth], number)
        else:
            renumber(lines, begin)
        return self._join([(line, ending) for line, (_, ending) in zip(lines, pairs, strict=True)])

    def _join(self, pairs: list[tuple[str, str]]) -> str:
        """Join the lines; only the last one has no ending."""
        whole = "".join(line + (ending or self.usual) for line, ending in pairs[:-1])
        return self.bom + whole + pairs[-1][0]


def _marked_like(block: tuple[str, ...], place: InsertionPoint, box: str) -> list[str]:
    """Indent and mark an item like its new neighbour."""
    own, model = find_marks(block[0]), find_marks(place.model)
    if own is None or model is None:
        return list(block)
    line = place.model
    marker = line[model.starts[-1] : model.contents[-1]]
    old = block[0][own.starts[-1] : own.contents[-1]]
    number = number_of(line)
    if number is not None:
        marker = with_number(marker, number + (not place.is_before))
    elif marker.strip() == old.strip():
        marker = old
    before, after = indent_of(block[0]), indent_of(line)
    text = box + block[0][own.contents[-1] :]
    first = after + block[0][len(before) : own.starts[-1]] + marker + text
    below = [
        after + one.removeprefix(before) if one.startswith(before) and one.strip() else one
        for one in block[1:]
    ]
    return [first, *below]
