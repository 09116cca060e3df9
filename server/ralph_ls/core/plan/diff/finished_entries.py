"""Log entries of finished work: which task each line of a progress log is about.

A line seldom has the exact words of the plan, so it is assigned to the task with the most similar
title, and to one task at most.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.titles import fold_whitespace

TITLE_COVERAGE = 0.75
"""The share of a title's words that a line needs to count as its entry."""

VERBATIM = 0.25
"""The bonus in similarity of a title that a line contains word by word."""

NAMED_BY_ID = 2.0
"""The same for an id: above all likeness."""


def word_similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of their words two texts share, from 0 to 1; words count more than letters."""
    return 2 * len(one & other) / (len(one) + len(other))


def significant_words(text: str) -> frozenset[str]:
    """The words that carry a text: without endings and little words; CJK sign by sign."""
    words = [word[:_STEM] for word in _WORD.findall(text.casefold())]
    return frozenset(word for word in words if word not in _LITTLE_WORDS) or frozenset(
        words or [text]
    )


def log_entries(finished: str) -> Iterator[str]:
    """The list items of a log that are not indented, nor fields such as ``Commit: a1b2c3d``."""
    for line in finished.splitlines():
        marks = find_marks(line)
        if marks is None or line[:1].isspace():
            continue
        text = line[marks.text :].strip()
        if text and not _LOG_FIELD.match(text):
            yield text


class FinishedEntries:
    """The entries of finished tasks, line by line; their words may differ from the plan's."""

    def __init__(self, finished: str) -> None:
        lines = [line for line in map(fold_whitespace, finished.splitlines()) if line]
        self._all = " ".join(lines).casefold()
        self._starts = [0, *accumulate(len(line.casefold()) + 1 for line in lines)]
        self._lines = [significant_words(line) for line in lines]
        self._with_word: defaultdict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self._lines):
            for word in words:
                self._with_word[word].append(number)
        self._with_id: defaultdict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(lines):
            for name in dict.fromkeys(_NAME.findall(line.casefold())):
                self._with_id[name].append(number)

    def names(self, task: Task) -> bool:
        """Whether a line names the task."""
        return bool(self._scored(task))

    def each_once(self, tasks: Sequence[Task], order: Sequence[int]) -> set[int]:
        """Which tasks have a line that is theirs alone; of equals the first in the order."""
        if not self._lines:
            return set()
        scored = sorted(
            (-score, place, line, nth)
            for place, nth in enumerate(order)
            for line, score in self._scored(tasks[nth]).items()
        )
        found: set[int] = set()
        taken: set[int] = set()
        for _, _, line, nth in scored:
            if nth not in found and line not in taken:
                found.add(nth)
                taken.add(line)
        return found

    def _scored(self, task: Task) -> dict[int, float]:
        """The lines that name a task: by its id, by its title, or by most of its words.

        The remark in brackets behind a title is no part of it.
        """
        scored: dict[int, float] = {}
        mine = significant_words(_REMARK.sub("", task.title))
        near = {line for word in mine for line in self._with_word.get(word, ())[:_COMMON]}
        for line in near:
            if len(mine & self._lines[line]) >= TITLE_COVERAGE * len(mine):
                scored[line] = word_similarity(mine, self._lines[line])
        for line in self._lines_with(fold_whitespace(task.title).casefold()):
            scored[line] = VERBATIM + word_similarity(mine, self._lines[line])
        for line in self._with_id.get(task.id.casefold(), ())[:_COMMON]:
            scored[line] = NAMED_BY_ID + scored.get(line, 0.0)
        return scored

    def _lines_with(self, title: str) -> Iterator[int]:
        """The lines in which a title begins as separate words."""
        at = self._all.find(title) if title else -1
        for _ in range(_COMMON):
            if at < 0:
                return
            end = at + len(title)
            is_inside = _INSIDE.match(self._all[max(0, at - 1) : at + 1]) or _INSIDE.match(
                self._all[end - 1 : end + 1]
            )
            if not is_inside:
                yield bisect_right(self._starts, at) - 1
            at = self._all.find(title, end)


_STEM = 6
_WORD = re.compile(r"[\u2e80-\U0003ffff]|[^\W_\u2e80-\U0003ffff]+")
_LITTLE_WORDS = frozenset(
    {
        *("a", "an", "and", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "of"),
        *("on", "or", "the", "to", "with"),
        *("add", "create", "do", "fix", "implem", "make", "update", "use", "write"),
    }
)
_LOG_FIELD = re.compile(
    r"[*_]*(?:commits?|date|duration|files?|iteration|learnings?|notes?|status|summary|tests?)"
    r"[^:\n]{0,20}:",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W_](?:[\w.\-]*\w)?")
"""What may be an id in a line."""
_REMARK = re.compile(r"(?<=\S)\s*\([^()]*\)\s*\Z")
_INSIDE = re.compile(r"[^\W_\u2e80-\U0003ffff]{2}\Z")
"""Two letters of one word; CJK characters are separate words."""
_COMMON = 30
"""The maximum number of lines compared that share a word or contain a title."""
