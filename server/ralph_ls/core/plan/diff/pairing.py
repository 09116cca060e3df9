"""Task pairing: which task of a later plan is which one of an earlier plan, also when it was split.

A task keeps its id while its title stays (docs/rules.md#plans). A reworded task is identified by
its position and by the words that it kept, a split one by the words of its parts together.
Compares two parsed plans and does not know who wrote the later one.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from ralph_ls.core.plan.diff.finished_entries import (
    FinishedEntries,
    log_entries,
    significant_words,
    word_similarity,
)
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.titles import fold_whitespace, title_id
from ralph_ls.protocol.task_words import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPairing:
    """Two plans side by side, by position in their tasks."""

    kept: Mapping[int, int]
    """Positions of tasks in the earlier plan, with their positions in the later one."""
    resolved: frozenset[int]
    """Open tasks of the earlier plan that were split, merged, or logged as finished."""
    fresh: frozenset[int]
    """Tasks of the later plan that no title or id of the earlier one leads to."""
    logged: frozenset[int] = frozenset()
    """Those of ``resolved`` that are logged as finished."""
    reworded_entry: str = ""
    """The reworded log entry of the iteration's own finished task; else empty."""


SAME_PLACE_LIKENESS = 0.34
"""The share of words that a reworded title keeps at the same place."""

ELSEWHERE_LIKENESS = 0.6
"""The share of words that a title keeps which was reworded and moved."""

SAME_LETTERS = 0.8
"""The share of letters that a title keeps in which only a word was corrected."""


def pair_tasks(
    before: Plan, after: Plan, *, finished: str = "", own: str | None = None
) -> TaskPairing:
    """Match the tasks of ``before`` with those of ``after``.

    ``finished`` is the text added to the log of finished tasks (PROGRESS.md). ``own`` is the task
    that was worked on, with evidence: if it was removed, it may take one new entry that belongs to
    no other task, whatever its words. Total; linear in the number of changed tasks.
    """
    kept = _unchanged(before.tasks, after.tasks)
    taken = set(kept.values())
    # Ids of repeated titles are numbers, which shift; so title and state go before them.
    for key in (_by_title_and_state, _by_id, _by_title):
        _match(kept, taken, before.tasks, after.tasks, key)
    fresh = [nth for nth in range(len(after.tasks)) if nth not in taken]
    missing = [
        nth for nth, task in enumerate(before.tasks) if nth not in kept and is_unfinished(task)
    ]
    if not missing:
        return TaskPairing(kept=kept, resolved=frozenset(), fresh=frozenset(fresh))
    search = _Search(before, after, missing, fresh, dict(kept))
    kept.update(search.reworded())
    gone = [nth for nth in missing if nth not in kept]
    mine = [nth for nth in gone if before.tasks[nth].id == own][:1]
    order = [*mine, *_ticked(before, after, kept), *gone]
    logged = FinishedEntries(finished).each_once(before.tasks, order) & set(gone)
    used = set(kept.values())
    resolved = logged | {nth for nth in gone if nth not in logged and search.is_in_parts(nth, used)}
    entry = ""
    if not resolved.issuperset(mine):
        unpaired = [after.tasks[nth] for nth in fresh if nth not in used]
        entry = _left_over(before, unpaired, finished)
    if entry:
        logged, resolved = logged.union(mine), resolved.union(mine)
    return TaskPairing(
        kept=kept,
        resolved=frozenset(resolved),
        fresh=frozenset(fresh),
        logged=frozenset(logged),
        reworded_entry=entry,
    )


def logged_as_finished(
    before: Plan, after: Plan, finished: str, *, own: str | None = None
) -> tuple[str, ...]:
    """Ids of the open tasks that were moved from the plan to the log of finished ones.

    ``finished`` is the text added to it; ``own`` as for ``pair_tasks``.
    """
    if not finished.strip() and own is None:
        return ()
    logged = pair_tasks(before, after, finished=finished, own=own).logged
    return tuple(task.id for nth, task in enumerate(before.tasks) if nth in logged)


def is_unfinished(task: Task) -> bool:
    """Whether there is something left to do about it, now or later."""
    return task.state not in {TaskState.DONE, TaskState.SKIPPED}


_Key = Callable[[Task], Hashable]

_COMMON = 30
"""A word in more new tasks than that distinguishes none of them."""
_TELLING = 4
"""So many of a title's words, the rarest, lead to new tasks elsewhere."""
_NEAR = 5
"""The number of tasks considered before and after a place with many tasks."""
_LONGEST_COMPARED = 120
_SAME_PAIRS = 0.5
"""The share of neighbouring letters below which two titles are not compared letter by letter."""


def _unchanged(before: Sequence[Task], after: Sequence[Task]) -> dict[int, int]:
    """The unchanged tasks, which are most, matched without further computation."""
    places = {task.id: nth for nth, task in enumerate(after)}
    kept: dict[int, int] = {}
    for nth, task in enumerate(before):
        there = places.get(task.id)
        if there is not None:
            other = after[there]
            if other.title == task.title and other.state is task.state:
                kept[nth] = there
    return kept


def _by_title_and_state(task: Task) -> Hashable:
    return (title_id(task.title), task.state)


def _by_id(task: Task) -> Hashable:
    return task.id


def _by_title(task: Task) -> Hashable:
    return title_id(task.title)


def _match(
    kept: dict[int, int],
    taken: set[int],
    before: Sequence[Task],
    after: Sequence[Task],
    key: _Key,
) -> None:
    """Pair what has no pair yet and the same key, in the order of both."""
    if len(kept) == len(before):
        return
    waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for nth, task in enumerate(after):
        if nth not in taken:
            waiting[key(task)].append(nth)
    for nth, task in enumerate(before):
        if nth not in kept and (there := waiting.get(key(task))):
            kept[nth] = there.popleft()
            taken.add(kept[nth])


def _ticked(before: Plan, after: Plan, kept: Mapping[int, int]) -> list[int]:
    """Tasks finished in place: a log entry of such a task is no evidence for another."""
    return [
        nth
        for nth, there in kept.items()
        if is_unfinished(before.tasks[nth]) and not is_unfinished(after.tasks[there])
    ]


def _left_over(before: Plan, fresh: Sequence[Task], finished: str) -> str:
    """The first new entry of finished work that names no task of the earlier plan; else empty."""
    in_plan = [task.title for task in fresh if task.state is TaskState.DONE and not task.depth]
    for entry in (*log_entries(finished), *in_plan):
        logged = FinishedEntries(entry)
        if not any(logged.names(task) for task in before.tasks):
            return fold_whitespace(entry)
    return ""


class _Search:
    """The search for tasks whose title was removed."""

    def __init__(
        self,
        before: Plan,
        after: Plan,
        missing: Sequence[int],
        fresh: Sequence[int],
        kept: Mapping[int, int],
    ) -> None:
        self._before, self._after = before.tasks, after.tasks
        self._missing = missing
        self._mine = {nth: significant_words(before.tasks[nth].title) for nth in missing}
        self._theirs = {nth: significant_words(after.tasks[nth].title) for nth in fresh}
        self._with_word: defaultdict[str, list[int]] = defaultdict(list)
        for nth, words in self._theirs.items():
            for word in words:
                self._with_word[word].append(nth)
        self._pairs: dict[str, frozenset[str]] = {}
        self._found: dict[int, Collection[int]] = {}
        self._near = _places(missing, fresh, kept, len(before.tasks), len(after.tasks))
        known = {task.section for task in before.tasks}
        self._new_sections = {
            title_id(after.tasks[nth].section)
            for nth in fresh
            if after.tasks[nth].section not in known
        }

    def reworded(self) -> dict[int, int]:
        """Pair similar tasks, the most similar first, each once."""
        scored: list[tuple[float, int, int]] = []
        for mine in self._missing:
            found = [(-self._score(mine, other), mine, other) for other in self._candidates(mine)]
            if not any(score for score, _, _ in found):
                # Only tasks that share no word are compared letter by letter.
                found = [(-self._misspelt(mine, other), mine, other) for other in self._near[mine]]
            scored += [one for one in found if one[0]]
        found_of: dict[int, int] = {}
        taken: set[int] = set()
        for _, mine, other in sorted(scored):
            if mine not in found_of and other not in taken:
                found_of[mine] = other
                taken.add(other)
        return found_of

    def is_in_parts(self, nth: int, used: set[int]) -> bool:
        """Whether new tasks, or a new heading over them, together have the words of this one.

        An entry of finished work is one task's: those in ``used`` are no part of another, and it
        grows by those that are a part of this one.
        """
        if title_id(self._before[nth].title) in self._new_sections:
            return True
        mine = self._mine[nth]
        free = [other for other in sorted(self._candidates(nth)) if self._is_free(other, used)]
        merged = [other for other in free if mine <= self._theirs[other]]
        if len(mine) > 1 and merged:
            # An open task may contain several others, so it comes first.
            used.add(min(merged, key=self._is_finished))
            return True
        near = [other for other in self._near[nth] if self._is_free(other, used)]
        parts = [other for other in near if mine & self._theirs[other]]
        together = frozenset[str]().union(*(self._theirs[other] for other in parts))
        if len(near) < 2 or 2 * len(mine & together) < len(mine):
            return False
        used.update(parts)
        return True

    def _is_free(self, other: int, used: set[int]) -> bool:
        return other not in used or not self._is_finished(other)

    def _is_finished(self, other: int) -> bool:
        return self._after[other].state is TaskState.DONE

    def _candidates(self, nth: int) -> Collection[int]:
        """The new tasks nearby, and those that share a rare word."""
        if nth not in self._found:
            found = set(self._near[nth])
            lists = [self._with_word[word] for word in self._mine[nth] if word in self._with_word]
            for others in sorted(lists, key=len)[:_TELLING]:
                if len(others) <= _COMMON:
                    found.update(others)
            self._found[nth] = found
        return self._found[nth]

    def _score(self, nth: int, other: int) -> float:
        """How surely one is the other reworded; 0 where it is not."""
        score = word_similarity(self._mine[nth], self._theirs[other])
        if other not in self._near[nth]:
            return score if score >= ELSEWHERE_LIKENESS else 0.0
        return 1.0 + score if score >= SAME_PLACE_LIKENESS else 0.0

    def _misspelt(self, nth: int, other: int) -> float:
        one, two = (
            task.title[:_LONGEST_COMPARED].casefold()
            for task in (self._before[nth], self._after[other])
        )
        if word_similarity(self._letters(one), self._letters(two)) < _SAME_PAIRS:
            return 0.0
        return 1.0 if SequenceMatcher(None, one, two).ratio() >= SAME_LETTERS else 0.0

    def _letters(self, text: str) -> frozenset[str]:
        """Each pair of adjacent letters, with the ends."""
        if text not in self._pairs:
            ends = f" {text} "
            self._pairs[text] = frozenset(one + two for one, two in pairwise(ends))
        return self._pairs[text]


def _places(
    missing: Sequence[int],
    fresh: Sequence[int],
    kept: Mapping[int, int],
    n_before: int,
    n_after: int,
) -> dict[int, tuple[int, ...]]:
    """For each missing task, the new ones behind or before the same neighbour."""
    near: dict[int, set[int]] = {nth: set() for nth in missing}
    taken = frozenset(kept.values())
    for step in (1, -1):
        behind = _neighbours(range(n_before)[::step], kept.keys())
        behind_after = _neighbours(range(n_after)[::step], taken)
        at_place: defaultdict[int | None, list[int]] = defaultdict(list)
        for nth in fresh:
            at_place[behind_after[nth]].append(nth)
        passed: Counter[int | None] = Counter()
        for nth in missing:
            neighbour = behind[nth]
            place = None if neighbour is None else kept[neighbour]
            at = passed[place]
            passed[place] += 1
            near[nth].update(at_place[place][max(0, at - _NEAR) : at + _NEAR])
    return {nth: tuple(sorted(others)) for nth, others in near.items()}


def _neighbours(order: Iterable[int], known: Collection[int]) -> dict[int, int | None]:
    """For each number, the last known one that came before it in the order."""
    found: dict[int, int | None] = {}
    last: int | None = None
    for nth in order:
        found[nth] = last
        if nth in known:
            last = nth
    return found
