"""Revert edits: restore parts of an earlier plan in a later text of it.

Each function returns edits of the later text and changes nothing itself. The caller parses the
outcome to find out whether they worked, and decides what is forbidden.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from ralph_ls.core.plan.diff.finished_entries import significant_words, word_similarity
from ralph_ls.core.plan.diff.pairing import is_unfinished
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import find_marks, lines_of
from ralph_ls.core.plan.parse.titles import fold_whitespace


class RevertEdit(NamedTuple):
    """A replacement of the text between two places."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSide:
    """One parsed plan with its lines."""

    plan: Plan
    text: str
    starts: tuple[int, ...]
    lines: tuple[str, ...]
    ending: str
    """Its first line ending; LF where it has none."""
    headings: Mapping[str, tuple[int, ...]]
    """The lines of each heading, by its title."""
    last: int
    """The last line that is not empty."""

    @classmethod
    def of(cls, plan: Plan, text: str) -> PlanSide:
        """Split a text into lines; ``plan`` was parsed from it."""
        found = list(lines_of(text))
        ending = "\n"
        if len(found) > 1:
            ending = text[found[0][0] + len(found[0][1]) : found[1][0]]
        headings: defaultdict[str, tuple[int, ...]] = defaultdict(tuple)
        for number, (_, line) in enumerate(found):
            if "#" in line and (bare := line.strip("\ufeff \t")).startswith("#"):
                headings[bare.strip("# \t")] += (number,)
        filled = (
            number for number in range(len(found))[::-1] if found[number][1].strip("\ufeff \t")
        )
        return cls(
            plan=plan,
            text=text,
            starts=tuple(start for start, _ in found),
            lines=tuple(line for _, line in found),
            ending=ending,
            headings=dict(headings),
            last=next(filled, 0),
        )

    def heading(self, section: str, *, above: int | None = None) -> int | None:
        """The last heading with this title, perhaps above a line; None where there is none."""
        places = self.headings.get(section, ()) if section else ()
        count = len(places) if above is None else bisect_left(places, above)
        return places[count - 1] if count else None

    def edited(self, edits: Sequence[RevertEdit]) -> str:
        """The text with the edits made; no two of them may touch the same text."""
        parts: list[str] = []
        at = 0
        for edit in sorted(edits, key=lambda one: (one.start, one.end)):
            parts += (self.text[at : edit.start], edit.text)
            at = edit.end
        return "".join([*parts, self.text[at:]])

    def insert_behind(self, line: int, added: Sequence[str]) -> RevertEdit:
        """Insert whole lines behind one."""
        at = self.starts[line] + len(self.lines[line])
        return RevertEdit(at, at, "".join(self.ending + new for new in added))

    def insert_before(self, line: int, added: Sequence[str]) -> RevertEdit:
        """Insert lines before one."""
        # A mark of the byte order stays the first sign of the file.
        at = self.starts[line] + self.lines[line].startswith("\ufeff")
        return RevertEdit(at, at, "".join(new + self.ending for new in added))

    def replace_line(self, line: int, new: str) -> RevertEdit:
        """Replace a line."""
        begin = self.starts[line] + self.lines[line].startswith("\ufeff")
        return RevertEdit(begin, self.starts[line] + len(self.lines[line]), new)


def restore_state(was: PlanSide, task: Task, now: PlanSide, became: Task) -> list[RevertEdit]:
    """Restore the state in a task's box; without a box its whole line, indented as it is."""
    old, new = (find_marks(side.lines[one.line]) for side, one in ((was, task), (now, became)))
    if old is None or new is None or new.box is None:
        (line,) = _moved_in([was.lines[task.line]], now.lines[became.line])
        return [now.replace_line(became.line, line)]
    inside = " " if old.box is None else was.lines[task.line][slice(*old.box)]
    begin, end = (became.start + place for place in new.box)
    return [RevertEdit(begin, end, inside)]


def restore_criteria(
    was: PlanSide, task: Task, now: PlanSide, became: Task, gone: Sequence[str]
) -> list[RevertEdit]:
    """Restore criteria: reworded ones in their line, others at their former place."""
    mine = _Lines(was.lines[task.line : task.end_line + 1])
    theirs = _Lines(now.lines[became.line : became.end_line + 1])
    known = frozenset(task.criteria)
    new = [at for text in became.criteria if text not in known and (at := theirs.line_of(text))]
    reworded = _Reworded(theirs.lines, new)
    homes = mine.homes_in(theirs)
    edits: list[RevertEdit] = []
    behind: dict[int, list[str]] = {}
    restored: set[int] = set()
    for text in gone:
        at = mine.line_of(text)
        if at is None:
            continue
        other = reworded.take(text)
        if other is not None:
            line = _reworded(mine.lines[at], theirs.lines[other])
            edits.append(now.replace_line(became.line + other, line))
            continue
        place, label = homes[at]
        wanted = [one for one in (label, at) if one is not None and one not in restored]
        restored.update(wanted)
        lines = [mine.lines[one] for one in wanted]
        depth = _indent(mine.lines[0]), _indent(theirs.lines[0])
        behind.setdefault(place, []).extend(_shifted(lines, *depth))
    return edits + [now.insert_behind(became.line + at, lines) for at, lines in behind.items()]


def append_criteria(now: PlanSide, became: Task, gone: Sequence[str]) -> list[RevertEdit]:
    """Add criteria at the end of a task, under a separate label."""
    indent = _indent(now.lines[became.line]).lstrip("\ufeff") + "  "
    lines = [f"{indent}- Acceptance criteria:", *(f"{indent}  - {text}" for text in gone)]
    return [now.insert_behind(became.end_line, lines)]


def restore_tasks(
    was: PlanSide, now: PlanSide, dropped: Sequence[int], kept: Mapping[int, int]
) -> list[RevertEdit]:
    """Restore dropped tasks with their notes, behind or before their former neighbours."""
    restoring = _Restoring(was, now, frozenset(dropped), kept)
    family: dict[tuple[str | None, str], list[int]] = {}
    for nth, task in enumerate(was.plan.tasks):
        family.setdefault((task.parent, task.section), []).append(nth)
    for siblings in family.values():
        if not restoring.missing.isdisjoint(siblings):
            restoring.take_siblings(siblings)
    return restoring.edits()


class _Restoring:
    """The lines of dropped tasks, by the place in the plan of today that they go to."""

    def __init__(
        self, was: PlanSide, now: PlanSide, missing: frozenset[int], kept: Mapping[int, int]
    ) -> None:
        self.missing = missing
        self._was = was
        self._now = now
        self._kept = kept
        self._positions = {task.id: nth for nth, task in enumerate(was.plan.tasks)}
        self._replaced: list[RevertEdit] = []
        self._behind: dict[int, list[str]] = {}
        self._ahead: dict[int, list[str]] = {}

    def take_siblings(self, siblings: Sequence[int]) -> None:
        """Place the missing ones of a parent, or of a section; a missing parent takes its own."""
        anchors = _anchors(self._was, self._now, siblings, self._kept)
        homeless: list[str] = []
        for nth in siblings:
            if nth in self.missing and self._parent_of(nth) not in self.missing:
                homeless += self._take(nth, *anchors[nth])
        if homeless:
            first = self._was.plan.tasks[siblings[0]]
            line, lines = _in_section(self._was, self._now, first, homeless)
            self._behind.setdefault(line, []).extend(lines)

    def edits(self) -> list[RevertEdit]:
        behind, ahead = sorted(self._behind.items()), sorted(self._ahead.items())
        return [
            *self._replaced,
            *(self._now.insert_behind(line, lines) for line, lines in behind),
            *(self._now.insert_before(line, lines) for line, lines in ahead),
        ]

    def _parent_of(self, nth: int) -> int | None:
        parent = self._was.plan.tasks[nth].parent
        return None if parent is None else self._positions[parent]

    def _take(self, nth: int, previous: Task | None, following: Task | None) -> list[str]:
        """Place one task; returns its lines where nothing that was around it is there."""
        now = self._now
        block = _block(self._was, nth, self.missing)
        left = _left_over(self._was, now, nth)
        parent = self._parent_of(nth)
        if left is not None:
            begin, end = now.starts[left.start], now.starts[left.stop - 1]
            end += len(now.lines[left.stop - 1])
            self._replaced.append(RevertEdit(begin, end, now.ending.join(block)))
        elif previous is not None:
            lines = _moved_in(block, now.lines[previous.line])
            self._behind.setdefault(previous.end_line, []).extend(lines)
        elif following is not None:
            lines = _moved_in(block, now.lines[following.line])
            self._ahead.setdefault(following.line, []).extend(lines)
        elif parent is not None and parent in self._kept:
            holder = now.plan.tasks[self._kept[parent]]
            old = self._was.lines[self._was.plan.tasks[parent].line]
            depths = _indent(old), _indent(now.lines[holder.line])
            self._behind.setdefault(holder.end_line, []).extend(_shifted(block, *depths))
        else:
            return _moved_in(block, "")
        return []


def restore_tasks_at_top(was: PlanSide, now: PlanSide, dropped: Sequence[Task]) -> list[RevertEdit]:
    """Restore tasks at the top of the plan, each as a line with a box, which always counts."""
    if not dropped:
        return []
    lines = []
    for task in dropped:
        line = was.lines[task.line]
        marks = find_marks(line)
        text = task.title if marks is None else line[marks.text :]
        box = " " if marks is None or marks.box is None else line[slice(*marks.box)]
        lines.append(f"- [{box}] {text}")
    return [now.insert_before(0, [*lines, ""])]


def _anchors(
    was: PlanSide, now: PlanSide, siblings: Sequence[int], kept: Mapping[int, int]
) -> dict[int, tuple[Task | None, Task | None]]:
    """For each sibling the nearest ones before and behind it that are where they were."""
    found: dict[int, tuple[Task | None, Task | None]] = {}
    nearest: Task | None = None
    for nth in siblings:
        found[nth] = (nearest, None)
        nearest = _stayed(was, now, nth, kept) or nearest
    nearest = None
    for nth in reversed(siblings):
        found[nth] = (found[nth][0], nearest)
        nearest = _stayed(was, now, nth, kept) or nearest
    return found


def _stayed(was: PlanSide, now: PlanSide, nth: int, kept: Mapping[int, int]) -> Task | None:
    if nth not in kept:
        return None
    task, became = was.plan.tasks[nth], now.plan.tasks[kept[nth]]
    is_there = became.section == task.section
    if not is_there and is_unfinished(became):
        # Its heading may have been reworded over it.
        is_there = now.heading(task.section) is None
    return became if is_there and became.depth == task.depth else None


def _left_over(was: PlanSide, now: PlanSide, nth: int) -> range | None:
    """The lines that a dropped task left in place: its notes without the task itself."""
    task, tasks = was.plan.tasks[nth], was.plan.tasks
    notes = [line for line in was.lines[task.line + 1 : task.end_line + 1] if line.strip()]
    nests = nth + 1 < len(tasks) and tasks[nth + 1].line <= task.end_line
    if not notes or nests or not task.line:
        return None
    for first, line in enumerate(now.lines[1:], start=1):
        if line not in notes or now.lines[first - 1] != was.lines[task.line - 1]:
            continue
        end = first
        while end < len(now.lines) and now.lines[end] in notes:
            end += 1
        return range(first, end)
    return None


def _block(was: PlanSide, nth: int, missing: Collection[int]) -> list[str]:
    """A task's lines, without those of nested tasks that were not dropped with it."""
    task = was.plan.tasks[nth]
    tasks = was.plan.tasks
    left_out: set[int] = set()
    inside = nth + 1
    while inside < len(tasks) and tasks[inside].line <= task.end_line:
        if inside not in missing:
            left_out.update(range(tasks[inside].line, tasks[inside].end_line + 1))
        inside += 1
    numbers = range(task.line, task.end_line + 1)
    return [was.lines[number] for number in numbers if number not in left_out]


def _moved_in(lines: Sequence[str], beside: str) -> list[str]:
    """Lines as far in as another one."""
    return _shifted(lines, _indent(lines[0]), _indent(beside))


def _shifted(lines: Sequence[str], old: str, new: str) -> list[str]:
    old, new = old.lstrip("\ufeff"), new.lstrip("\ufeff")
    bare = [line.removeprefix("\ufeff") for line in lines]
    return [new + line[len(old) :] if line.startswith(old) and line else line for line in bare]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip("\ufeff \t"))]


def _content(line: str) -> str:
    marks = find_marks(line)
    return fold_whitespace(line if marks is None else line[marks.text :])


class _Lines:
    """The lines of one task and their contents."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.contents = [_content(line) for line in lines]
        self._first: dict[str, int] = {}
        """The first line with each content, below the task's own line."""
        self._criteria: dict[str, int] = {}
        """The same by criterion: a line's text, or what follows a label in it."""
        for at, content in enumerate(self.contents[1:], start=1):
            self._first.setdefault(content, at)
            self._criteria.setdefault(content, at)
            _, colon, behind = content.partition(":")
            if colon:
                self._criteria.setdefault(behind.lstrip("*_ "), at)

    def line_of(self, criterion: str) -> int | None:
        """The line that a criterion was read from."""
        return self._criteria.get(criterion)

    def homes_in(self, others: _Lines) -> list[tuple[int, int | None]]:
        """For each line, the other line that it belongs behind, and a removed label over it."""
        homes: list[tuple[int, int | None]] = []
        home: tuple[int, int | None] = (0, None)
        for at, content in enumerate(self.contents):
            homes.append(home)
            if not at or not content:
                continue
            there = others._first.get(content)
            if there is not None:
                home = (there, None)
            elif content.rstrip("*_ ").endswith(":"):
                home = (home[0], at)
        return homes


_ALIKE = 0.3
_LOOKED_THROUGH = 20
"""The number of new criteria that are compared with a missing one."""


class _Reworded:
    """The criteria of a task that are new, and may each be an old one in other words."""

    def __init__(self, lines: Sequence[str], places: Sequence[int]) -> None:
        self._left = {at: significant_words(_content(lines[at])) for at in places}

    def take(self, criterion: str) -> int | None:
        """The most similar line, which is then taken; None where none is similar."""
        words = significant_words(criterion)
        scored = [
            (word_similarity(theirs, words), -at)
            for at, theirs in islice(self._left.items(), _LOOKED_THROUGH)
        ]
        score, place = max(scored, default=(0.0, 0))
        if score < _ALIKE:
            return None
        del self._left[-place]
        return -place


def _reworded(old: str, new: str) -> str:
    """The old text behind the new line's marks: a tick of the agent's stays."""
    before, after = find_marks(old), find_marks(new)
    if before is None or after is None:
        (line,) = _moved_in([old], new)
        return line
    return new[: after.text] + old[before.text :]


def _in_section(
    was: PlanSide, now: PlanSide, first: Task, block: Sequence[str]
) -> tuple[int, list[str]]:
    """The place for a section's tasks without neighbours: its heading, which may be missing.

    Returns the line to insert them behind, and the lines.
    """
    heading = now.heading(first.section)
    if heading is None:
        # Lines below a heading without tasks, behind its empty line, come first.
        is_bare = now.lines[now.last].lstrip().startswith("#") and now.last + 1 < len(now.lines)
        old = was.heading(first.section, above=first.line)
        titled = [] if old is None else [was.lines[old].removeprefix("\ufeff"), ""]
        return now.last + is_bare, ["", *titled, *block]
    if not "".join(now.lines[heading + 1 : heading + 2]).strip():
        heading = min(heading + 1, len(now.lines) - 1)
    follows = "".join(now.lines[heading + 1 : heading + 2])
    return heading, [*block, ""] if follows.strip() and not find_marks(follows) else [*block]
