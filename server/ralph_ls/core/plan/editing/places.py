"""Where in a plan something can be put: its sections, and the way in which its items are written.

What a heading means is asked of the reading itself: an item is put below each heading, and what
the plan then says of these is what it would say of a new task there. So a heading inside a fence
is none, and no rule of reading is written down twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ralph_ls.core.plan.editing.rewriting import indent_of
from ralph_ls.core.plan.lines import find_marks
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.titles import fold
from ralph_ls.protocol.plan import Priority, TaskState


class Section(NamedTuple):
    """A heading below which a box makes a task, and the lines up to the next heading."""

    line: int
    """Of the heading, from 0."""
    last: int
    """The last line before the next heading that is not blank; the heading's own if all are."""
    title: str
    priority: Priority | None
    is_done: bool
    """An item without a box is a finished task here."""


def sections_of(lines: Sequence[str]) -> tuple[Section, ...]:
    """Find the sections of a plan that can hold tasks; the headings are those that begin with #."""
    at = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    probes = {number: f"- [ ] {_PROBE} {number}\n- {_PROBE} {number} done" for number in at}
    probed = "\n".join(
        f"{line}\n{probes[number]}" if number in probes else line
        for number, line in enumerate(lines)
    )
    found = {task.title: task for task in parse(probed).plan.tasks}
    sections: list[Section] = []
    for number, end in zip(at, [*at[1:], len(lines)], strict=False):
        probe = found.get(f"{_PROBE} {number}")
        if probe is None:
            continue
        last = next(nth for nth in range(end - 1, number - 1, -1) if lines[nth].strip())
        done = found.get(f"{_PROBE} {number} done")
        is_done = done is not None and done.state is TaskState.DONE
        sections.append(Section(number, last, probe.section, probe.priority, is_done))
    return tuple(sections)


def named(sections: Sequence[Section], title: str) -> Section | None:
    """The first section of this title, whatever its case and white space."""
    wanted = fold(title.lstrip("#")).casefold()
    return next((one for one in sections if one.title.casefold() == wanted), None)


def last_task_in(plan: Plan, section: Section) -> Task | None:
    """The last task of a section that is nested in no other."""
    inside = [
        task for task in plan.tasks if task.depth == 0 and section.line < task.line <= section.last
    ]
    return inside[-1] if inside else None


def like(model: str, title: str) -> list[str]:
    """Write an open item as another one of its list is written; with a box where that needs one."""
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
    """Let the numbers go on from the item in a line, as far as they went on before.

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


_PROBE = "Whatever stands below heading"
_HEADING = re.compile(r"\ufeff?#{1,6}(?:[ \t]|\Z)")
_NUMBER = re.compile(r"[0-9]+")
_NUMBERED = re.compile(r"(\ufeff?[ \t]*)([0-9]{1,9})(?=[.)](?:[ \t]|\Z))")
