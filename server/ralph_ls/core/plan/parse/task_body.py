"""Task bodies: the lines below each task, and whether they are outside fences.

Parsing keeps only what it needs of these lines. Checks that search for words use this module, which
cuts only the tasks that contain such a word. Where the end of a fence or of a comment is in doubt,
a line counts as inside: a missed remark is better than one about an example.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import NamedTuple

from ralph_ls.core.markdown_fences import CODE_INDENT, COMMENT, is_closing, opening_mark
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.lines import find_marks, lines_of


class BodyLine(NamedTuple):
    """One line of a task; the task's own first line, too."""

    task: Task
    """The innermost one that the line belongs to."""
    number: int
    """From 0."""
    text: str
    start: int
    """Where its text begins, in characters of the line, after the marks of an item."""
    is_ticked: bool


class TaskBodies:
    """The lines of one text by the task that they belong to, split lazily."""

    def __init__(self, tasks: Collection[Task], text: str) -> None:
        self._tasks = list(tasks)
        self._text = text

    def lines_with(self, words: Collection[str], shape: re.Pattern[str]) -> Iterator[BodyLine]:
        """The lines of tasks, outside fences, with one of the words and the pattern.

        The words are searched literally, which is quick; the pattern only in lines with one of
        them, and everything else only in the tasks of those lines.
        """
        numbers = [
            number for number in self._numbers_with(words) if shape.search(self._lines[number][1])
        ]
        first_lines = [task.line for task in self._tasks] if numbers else []
        at = 0
        while at < len(numbers):
            index = bisect_right(first_lines, numbers[at]) - 1
            is_last = index + 1 == len(self._tasks)
            upto = len(numbers) if is_last else bisect_left(numbers, first_lines[index + 1], at)
            wanted = set(numbers[at:upto])
            at = upto
            if index >= 0:
                yield from (line for line in self.lines_from(index) if line.number in wanted)

    def lines_from(self, index: int) -> Iterator[BodyLine]:
        """The lines outside fences from a task to the next one, as far as tasks reach."""
        around = [self._tasks[index]]
        by_id = self._by_id
        while (parent := around[-1].parent) is not None and parent in by_id:
            around.append(by_id[parent])
        first = self._tasks[index].line
        following = self._tasks[index + 1].line if index + 1 < len(self._tasks) else None
        last = max(task.end_line for task in around)
        end = last + 1 if following is None else min(last + 1, following)
        block, column = "", 0
        for number in range(first, end):
            _, line = self._lines[number]
            marks = find_marks(line)
            text = len(line) - len(line.lstrip()) if marks is None else marks.text
            if block:
                if _is_in_doubt(block, column, line):
                    return
                block = "" if is_closing(block, line.strip()) else block
                continue
            block = "" if marks is not None and marks.box is not None else opening_mark(line[text:])
            if block:
                column = _width(line[:text])
                continue
            while len(around) > 1 and around[0].end_line < number:
                around.pop(0)
            mark = "" if marks is None or marks.box is None else line[slice(*marks.box)].strip()
            yield BodyLine(around[0], number, line, text, mark in {"x", "X"})

    @cached_property
    def _by_id(self) -> dict[str, Task]:
        return {task.id: task for task in self._tasks}

    @cached_property
    def _lines(self) -> list[tuple[int, str]]:
        return list(lines_of(self._text))

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self._lines]

    def _numbers_with(self, words: Collection[str]) -> list[int]:
        found: set[int] = set()
        if self._tasks:
            for word in words:
                found.update(
                    bisect_right(self._starts, at) - 1 for at in _find_all(self._text, word)
                )
        return sorted(found)


_TAB = 4


def _find_all(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _is_in_doubt(block: str, column: int, line: str) -> bool:
    """Whether the line may end the block or not: one too deep for its end, or left of it."""
    bare = line.lstrip()
    indent = _width(line[: len(line) - len(bare)])
    if is_closing(block, line.strip()):
        return block != COMMENT and indent >= column + CODE_INDENT
    return bool(bare) and indent < column


def _width(text: str) -> int:
    return len(text.expandtabs(_TAB))
