"""Merge of a plan that the user and an agent changed at the same time (docs/rules.md#user-edits).

Lines are merged like ``diff3`` does it, but a task is identified wherever it is: one side may move
it while the other ticks it, and a task that both added appears once. Where both change the same
part of a task, the line keeps one version and a note below it has the other, so nothing is lost and
no task is duplicated. Lines that neither side changed stay byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from ralph_ls.core.plan.diff.merge_lines import (
    MergedPlan,
    MergeOutput,
    are_alike,
    choose_change,
    common_base,
    merge_line,
    split_ending,
)
from ralph_ls.core.plan.diff.text_diff import changed_stretches, lines_with_endings, same_lines
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.markdown import parse_markdown

_OF_TITLE = re.compile(r"[0-9a-f]{8}(?:-[0-9]+)?")
"""An id derived from a title; different explicit ids are different tasks."""

LOOKAHEAD = 12
"""The number of lines searched for another wording of a line."""


def merge_markdown(base: str, mine: str, theirs: str) -> MergedPlan:
    """Merge the changes of ``mine`` and ``theirs`` since ``base`` into one text. Total.

    Of what both added at one place, ``mine`` comes first; of a line on which they disagree,
    ``mine`` is the line and ``theirs`` the note, unless one of them removed it.
    """
    if theirs in {base, mine}:
        return MergedPlan(text=mine)
    if mine == base:
        return MergedPlan(text=theirs)
    return _Merge(*_versions((base, mine, theirs))).run()


class _Version:
    """One of the three texts, in lines."""

    __slots__ = ("ids", "keys", "lines", "tasks")

    def __init__(self, text: str, tasks: Sequence[Task], shared: set[str]) -> None:
        self.lines = lines_with_endings(text)
        self.tasks = {task.line: task for task in tasks}
        self.ids = {task.id: task for task in tasks if task.id in shared}
        """The tasks that are surely the same in every text that has them."""
        self.keys: list[Hashable] = [split_ending(line)[0] for line in self.lines]
        for task in self.ids.values():
            self.keys[task.line] = (task.id,)

    def content(self, line: int) -> str:
        return split_ending(self.lines[line])[0]

    def indent(self, lines: Sequence[int], old: str, new: str) -> None:
        """Replace the indentation ``old`` of these lines with ``new``."""
        for line in lines:
            if old != new and self.lines[line].startswith(old) and self.content(line).strip():
                is_text = self.keys[line] == self.content(line)
                self.lines[line] = new + self.lines[line][len(old) :]
                if is_text:
                    self.keys[line] = self.content(line)

    def block(self, task: Task) -> list[str]:
        """The lines of a task and of what is nested in it, without their endings."""
        return [self.content(line) for line in range(task.line, task.end_line + 1)]


def _versions(texts: Sequence[str]) -> Iterator[_Version]:
    plans = [parse_markdown(text).plan.tasks for text in texts]
    ids = [{task.id for task in tasks} for tasks in plans]
    repeated = {name for known in ids for name in known if _is_repeated(name, known)}
    shared = set().union(*ids) - repeated
    for text, tasks in zip(texts, plans, strict=True):
        yield _Version(text, tasks, shared)


def _is_repeated(name: str, known: set[str]) -> bool:
    """Whether several tasks have this title: their numbers shift, so they identify them badly."""
    title, _, number = name.rpartition("-")
    return f"{name}-2" in known or (number.isdigit() and title in known)


class _Unit(NamedTuple):
    """A task that is merged for itself, since the two do not have it at the same place."""

    base: Task | None
    mine: Task | None
    theirs: Task | None
    placed: Task
    """Its place will be that of this one, which is ``mine`` or ``theirs``."""

    @property
    def is_mine(self) -> bool:
        return self.placed is self.mine


Item = int
"""A line of a version; below zero, the unit with that number (counted from -1)."""


@dataclass(slots=True)
class _Region:
    """The lines of one unit, or of none, in each version."""

    base: list[Item] = field(default_factory=list)
    mine: list[Item] = field(default_factory=list)
    theirs: list[Item] = field(default_factory=list)


class _Merge:
    """One merge under way."""

    def __init__(self, base: _Version, mine: _Version, theirs: _Version) -> None:
        self._base, self._mine, self._theirs = base, mine, theirs
        self._units: list[_Unit] = []
        self._regions: list[_Region] = []
        """First the lines of no unit, then one region for each unit."""
        self._out = MergeOutput(_usual_ending(mine, theirs, base))

    def run(self) -> MergedPlan:
        every = [[*range(len(version.lines))] for version in self._all()]
        to_mine = _pair(self._base, every[0], self._mine, every[1])
        to_theirs = _pair(self._base, every[0], self._theirs, every[2])
        self._units = [*self._find_units(to_mine, to_theirs)]
        self._share_out()
        if not self._reaches_all():
            # Two tasks were nested in each other, the one way here and the other way there.
            self._units = []
            self._share_out()
        self._indent_alike()
        self._write(self._regions[0])
        return self._out.finish()

    def _all(self) -> tuple[_Version, _Version, _Version]:
        return self._base, self._mine, self._theirs

    # ------------------------------------------------------------------------------------- units

    def _find_units(self, to_mine: dict[int, int], to_theirs: dict[int, int]) -> Iterator[_Unit]:
        base, mine, theirs = self._all()
        gone_until = -1
        for line, task in sorted(base.tasks.items()):
            here, there = mine.ids.get(task.id), theirs.ids.get(task.id)
            if task.id in base.ids and here is not None and there is not None:
                is_moved_here = to_mine.get(line) != here.line
                is_moved_there = to_theirs.get(line) != there.line
                if is_moved_here or is_moved_there:
                    yield _Unit(task, here, there, here if is_moved_here else there)
            elif line > gone_until:
                unit = self._removed(task, here, there, to_mine.get(line), to_theirs.get(line))
                if unit is not None:
                    gone_until = task.end_line
                    yield unit
        for task in mine.ids.values():
            if task.id in theirs.ids and task.id not in base.ids:
                yield _Unit(None, task, theirs.ids[task.id], task)

    def _removed(
        self,
        task: Task,
        here: Task | None,
        there: Task | None,
        in_mine: int | None,
        in_theirs: int | None,
    ) -> _Unit | None:
        """A task that one has removed and the other changed."""
        base, mine, theirs = self._all()
        if here is None and in_mine is not None:
            here = mine.tasks.get(in_mine)
        if there is None and in_theirs is not None:
            there = theirs.tasks.get(in_theirs)
        if here is not None and there is None:
            is_as_it_was = in_mine == here.line and mine.block(here) == base.block(task)
            return None if is_as_it_was else _Unit(task, here, None, here)
        if there is not None and here is None:
            is_as_it_was = in_theirs == there.line and theirs.block(there) == base.block(task)
            return None if is_as_it_was else _Unit(task, None, there, there)
        return None

    def _share_out(self) -> None:
        """Assign each line to the innermost unit that it belongs to, and each unit to its place."""
        self._regions = [_Region() for _ in range(len(self._units) + 1)]
        for name, version in zip(("base", "mine", "theirs"), self._all(), strict=True):
            self._share_out_lines(name, len(version.lines))

    def _share_out_lines(self, name: str, n_lines: int) -> None:
        """The same for the lines of one version."""
        tasks = [getattr(unit, name) for unit in self._units]
        begins = {task.line: number for number, task in enumerate(tasks, 1) if task}
        open_units: list[int] = [0]
        for line in range(n_lines):
            while open_units[-1] and tasks[open_units[-1] - 1].end_line < line:
                open_units.pop()
            number = begins.get(line)
            if number is not None:
                if name == self._side_of(number):
                    getattr(self._regions[open_units[-1]], name).append(-number)
                open_units.append(number)
            getattr(self._regions[open_units[-1]], name).append(line)

    def _indent_alike(self) -> None:
        """Indent a task and its notes in every version as deep as at their new place."""
        for unit, region in zip(self._units, self._regions[1:], strict=True):
            placing = self._mine if unit.is_mine else self._theirs
            wanted = _indent_of(placing.lines[unit.placed.line])
            for name, version in zip(("base", "mine", "theirs"), self._all(), strict=True):
                task = getattr(unit, name)
                if task is not None:
                    lines = [item for item in getattr(region, name) if item >= 0]
                    version.indent(lines, _indent_of(version.lines[task.line]), wanted)

    def _side_of(self, number: int) -> str:
        return "mine" if self._units[number - 1].is_mine else "theirs"

    def _reaches_all(self) -> bool:
        reached, waiting = {0}, [0]
        while waiting:
            region = self._regions[waiting.pop()]
            inside = {-item for item in (*region.mine, *region.theirs) if item < 0}
            waiting.extend(inside - reached)
            reached |= inside
        return len(reached) == len(self._regions)

    # ----------------------------------------------------------------------------------- writing

    def _write_unit(self, number: int) -> None:
        unit, region = self._units[number - 1], self._regions[number]
        if unit.base is None:
            self._write_added(region)
        elif unit.mine is None or unit.theirs is None:
            self._write_kept(unit, region)
        else:
            self._write(region)

    def _write_added(self, region: _Region) -> None:
        """A task that both added: its line once, and what each has below it."""
        lines = self._mine.lines[region.mine[0]], self._theirs.lines[region.theirs[0]]
        contents = [split_ending(line)[0] for line in lines]
        self._write_line(common_base(contents[0], contents[1]), *lines)
        self._write_inserted(region.mine[1:], region.theirs[1:])

    def _write_kept(self, unit: _Unit, region: _Region) -> None:
        """A task that the other has removed: all of it, with a note that says so."""
        version = self._mine if unit.is_mine else self._theirs
        line, *rest = region.mine if unit.is_mine else region.theirs
        self._out.line(version.lines[line])
        content = version.content(line)
        self._out.conflict(*((content, None) if unit.is_mine else (None, content)))
        for item in rest:
            self._write_item(version, item)

    def _write(self, region: _Region) -> None:
        base, mine, theirs = self._all()
        to_mine = _pair(base, region.base, mine, region.mine)
        to_theirs = _pair(base, region.base, theirs, region.theirs)
        mine_at = theirs_at = 0
        for at, line in enumerate(region.base):
            here, there = to_mine.get(at), to_theirs.get(at)
            mine_to = mine_at if here is None else here
            theirs_to = theirs_at if there is None else there
            self._write_inserted(region.mine[mine_at:mine_to], region.theirs[theirs_at:theirs_to])
            if here is not None:
                mine_at = here + 1
            if there is not None:
                theirs_at = there + 1
            self._write_line(
                base.lines[line],
                None if here is None else mine.lines[region.mine[here]],
                None if there is None else theirs.lines[region.theirs[there]],
            )
        self._write_inserted(region.mine[mine_at:], region.theirs[theirs_at:])

    def _write_inserted(self, mine: Sequence[Item], theirs: Sequence[Item]) -> None:
        """What both inserted at the same place: a common beginning and end only once.

        Tasks with a place on one side alone don't divide a common beginning.
        """
        lines = [[item for item in items if item >= 0] for items in (mine, theirs)]
        common = [*takewhile(lambda pair: self._is_same(*pair), zip(*lines, strict=False))]
        n_mine = mine.index(common[-1][0]) + 1 if common else 0
        written = {item for _, item in common}
        rest = [item for item in theirs if item not in written]
        end = 0
        while end < min(len(mine) - n_mine, len(rest)) and self._is_blank(
            mine[len(mine) - end - 1], rest[len(rest) - end - 1]
        ):
            end += 1
        for item in mine[: len(mine) - end]:
            self._write_item(self._mine, item)
        for item in rest[: len(rest) - end]:
            self._write_item(self._theirs, item)
        for item in mine[len(mine) - end :]:
            self._write_item(self._mine, item)

    def _is_same(self, mine: Item, theirs: Item) -> bool:
        return self._mine.content(mine) == self._theirs.content(theirs)

    def _is_blank(self, mine: Item, theirs: Item) -> bool:
        if mine < 0 or theirs < 0:
            return False
        return not (self._mine.content(mine).strip() or self._theirs.content(theirs).strip())

    def _write_item(self, version: _Version, item: Item) -> None:
        if item < 0:
            self._write_unit(-item)
        else:
            self._out.line(version.lines[item])

    def _write_line(self, base: str, mine: str | None, theirs: str | None) -> None:
        """A line of the base with both versions of it."""
        known, base_ending = split_ending(base)
        if mine is None or theirs is None:
            kept = mine if theirs is None else theirs
            if kept is None or split_ending(kept)[0] == known:
                return
            self._out.line(kept)
            content = split_ending(kept)[0]
            self._out.conflict(*((content, None) if theirs is None else (None, content)))
            return
        (here, my_ending), (there, their_ending) = split_ending(mine), split_ending(theirs)
        merged = merge_line(known, here, there)
        self._out.line(merged.content + choose_change(base_ending, my_ending, their_ending)[0])
        if not merged.agrees:
            self._out.conflict(here, there)


def _pair(
    base: _Version, base_items: Sequence[Item], side: _Version, side_items: Sequence[Item]
) -> dict[int, int]:
    """Which item of the side is which one of the base, by their numbers in the lists."""
    mine = [base.keys[line] for line in base_items]
    its = [-1 if item < 0 else side.keys[item] for item in side_items]
    pairs = dict(same_lines(mine, its))
    known, new = set(its), set(mine)

    def is_partner(at: int, other: int) -> bool:
        if _is_elsewhere(mine[at], known) or _is_elsewhere(its[other], new):
            return False
        return _is_reworded(base, base_items[at], side, side_items[other])

    for begin, end, first, to in changed_stretches(mine, its):
        following = first
        for at in range(begin, end):
            others = range(following, min(to, following + LOOKAHEAD))
            partner = next((other for other in others if is_partner(at, other)), None)
            if partner is not None:
                pairs[at] = partner
                following = partner + 1
    return pairs


def _is_elsewhere(key: Hashable, keys: set[Hashable]) -> bool:
    """Whether a task has its own place in the other text, or the item is no line at all."""
    return key == -1 or (isinstance(key, tuple) and key in keys)


def _is_reworded(base: _Version, line: int, side: _Version, other: int) -> bool:
    task, its = base.tasks.get(line), side.tasks.get(other)
    if (task is None) != (its is None):
        return False
    if task is not None and its is not None and task.title != its.title:
        explicit = [_OF_TITLE.fullmatch(name) is None for name in (task.id, its.id)]
        if all(explicit) and task.id != its.id:
            return False
    return are_alike(base.content(line), side.content(other))


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _usual_ending(*versions: _Version) -> str:
    """The ending of the first line that has one."""
    endings = (split_ending(line)[1] for version in versions for line in version.lines[:2])
    return next(filter(None, endings), "\n")
