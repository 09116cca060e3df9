"""Roadmap: the phases and plans of ``ROADMAP.md``, and what says that they are done."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate

from ralph_ls.core.plan.formats.task_lines import lines_outside_fences
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace

REASON = "- Blocked by: "
_NUMBER = r"[0-9]{1,3}(?:\.[0-9]+)*[a-z]?"
_BOX = r"\ufeff?[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+"
_PHASE = re.compile(
    rf"{_BOX}(?:\*\*)?Phase[ \t]+(?P<nth>{_NUMBER})[ \t]*[:.\u2014\u2013-][ \t]*(?P<title>.*\S.*)",
    re.IGNORECASE,
)
_PLAN = re.compile(
    rf"{_BOX}(?:\*\*)?`?(?P<id>{_NUMBER}-[0-9]+)(?:-PLAN)?(?:\.md)?`?(?:\*\*)?"
    r"(?=[ \t:]|$)[ \t]*(?:\u2014|\u2013|--?|:)?[ \t]*(?P<title>.*)",
    re.IGNORECASE,
)
_DETAIL = re.compile(rf"#{{2,5}}[ \t]+.*?\bPhase[ \t]+(?P<nth>{_NUMBER})\b.*", re.IGNORECASE)
_HEADED = re.compile(
    rf"#{{2,5}}[ \t]+(?:\*\*)?(?P<name>Phase[ \t]+(?P<nth>{_NUMBER})[ \t]*[:\u2014\u2013-].*\S.*)",
    re.IGNORECASE,
)
_IS_DONE = re.compile(
    r"[\u2705\u2713\u2714\u2611]|~~|[(\[\u2014\u2013-][ \t]*(?:completed?|done|shipped)\b",
    re.IGNORECASE,
)
_ENDS_DONE = re.compile(
    r"[\u2705\u2713\u2714\u2611]|~~|[(\[\u2014\u2013-][ \t]*(?:completed?|done|shipped)\b[^a-z]*$",
    re.IGNORECASE,
)
"""The same where a heading ends with the word, so that it is no part of a title."""
_FOLDED = re.compile(r"[ \t]*<(?P<end>/?)details\b.*", re.IGNORECASE)
_ROW = re.compile(
    r"\|[ \t]*(?:\*\*)?(?:Phase[ \t]+)?(?P<nth>[0-9]+(?:\.[0-9]+)*)[.:]?[ \t][^|\n]*\|"
    r"(?P<cells>.*)",
    re.IGNORECASE,
)
"""A row of the table of progress: ``| 2. Links | 3/3 | Complete | 2026-01-31 |``."""
_COUNT = re.compile(r"[ \t]*(?P<done>[0-9]{1,4})[ \t]*/[ \t]*(?P<all>[0-9]{1,4})[ \t]*")
_COMPLETE = re.compile(r"[ \t]*(?P<word>(?:\u2705[ \t]*)?Complete)\b.*", re.IGNORECASE)
_HEADING = re.compile(r"#{1,6}[ \t].*")
_DEPENDS = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*Depends on:?\*\*:?(?P<names>.*)", re.IGNORECASE)
_CRITERIA = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*Success Criteria.*", re.IGNORECASE)
_CRITERION = re.compile(r"[ \t]+(?:[0-9]+[.)]|[-*+])[ \t]+(?P<text>.*\S.*)")

_Rank = tuple[tuple[int, str], ...]


@dataclass(slots=True, kw_only=True)
class RoadmapTask:
    """A phase, whose id is its number, or a plan of one."""

    id: str
    title: str
    is_ticked: bool
    phase: str
    line: int
    start: int
    end: int
    mark: int
    words: tuple[int, int]
    end_line: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRow:
    """What the table of progress says of a phase."""

    count: tuple[int, int] | None = None
    """The finished plans, and all of them."""
    count_at: tuple[int, int] = (0, 0)
    """Where the number of the finished ones is, in characters of the text."""
    complete_at: tuple[int, int] | None = None
    """Where it calls the phase complete; None where it does not."""


@dataclass(slots=True, kw_only=True)
class Roadmap:
    """The phases and plans of a text; of an id that is there twice the first."""

    tasks: dict[str, RoadmapTask] = field(default_factory=dict)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By phase: the phases that it depends on."""
    criteria: dict[str, list[str]] = field(default_factory=dict)
    headings: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """By phase, of those that are not done: the number of the line, the line and the title."""

    headed_done: set[str] = field(default_factory=set)
    """The phases whose headings say that they are done."""
    plans: dict[str, list[RoadmapTask]] = field(default_factory=dict)
    """By phase."""
    rows: dict[str, ProgressRow] = field(default_factory=dict)
    """By phase."""
    done: set[str] = field(default_factory=set)
    """The ids of what is done, whatever its own box."""

    def add(self, task: RoadmapTask) -> RoadmapTask:
        """Take a task, and return the one with its id."""
        known = self.tasks.setdefault(task.id, task)
        if known is task and task.id != task.phase:
            self.plans.setdefault(task.phase, []).append(task)
        return known

    def settle(self) -> None:
        """Decide what is done; to be called when every line is taken."""
        self.done = {one.id for one in self.tasks.values() if one.is_ticked}
        for phase, plans in self.plans.items():
            first = len(plans) if self.has_finished(phase) else self._n_counted(phase)
            is_over = self.is_ticked(phase)
            self.done |= {one.id for one in plans[:first] if is_over or one.reason is None}

    def is_ticked(self, phase: str) -> bool:
        """Whether the box of a phase is ticked."""
        task = self.tasks.get(phase)
        return task is not None and task.is_ticked

    def has_finished(self, phase: str) -> bool:
        """Whether all plans of a phase are done: it is ticked, or complete in the table."""
        return self.is_ticked(phase) or self.is_complete(phase)

    def is_complete(self, phase: str) -> bool:
        """Whether the table of progress calls a phase complete, with as many plans as it has."""
        row = self.rows.get(phase)
        if row is None or row.complete_at is None:
            return False
        return row.count is None or row.count[1] == len(self.plans.get(phase, ()))

    def _n_counted(self, phase: str) -> int:
        """How many plans of a phase, the first ones, are done by the number in the table.

        None of them where as many boxes are ticked, and one of those first: boxes are kept there.
        """
        row, plans = self.rows.get(phase), self.plans[phase]
        if row is None or row.count is None or row.count[1] != len(plans):
            return 0
        n_done = row.count[0]
        is_kept = any(one.is_ticked for one in plans[:n_done])
        return 0 if is_kept and sum(one.is_ticked for one in plans) >= n_done else n_done

    def only_lacks_its_tick(self, phase: str) -> bool:
        """Whether a phase is open, and all its plans are done."""
        task, plans = self.tasks.get(phase), self.plans.get(phase)
        is_open = task is not None and not task.is_ticked and task.reason is None
        return is_open and bool(plans) and all(one.id in self.done for one in plans or ())


def phases_in_order(known: Roadmap) -> list[str]:
    """The phases in the order of the work: as they are listed, those that lack a tick last.

    One that is not in the list is before the first of a greater number.
    """
    listed = [one.id for one in known.tasks.values() if one.id == one.phase]
    order: dict[str, tuple[int, int, _Rank]] = {one: (nth, 1, ()) for nth, one in enumerate(listed)}
    greatest = list(accumulate(map(_rank, listed), max))
    for phase in known.plans:
        rank = _rank(phase)
        order.setdefault(phase, (bisect_right(greatest, rank), 0, rank))
    return sorted(order, key=lambda one: (known.only_lacks_its_tick(one), order[one]))


def _rank(phase: str) -> _Rank:
    """A number of a phase as it is ordered: 8, 8.1, 8a, 10."""
    parts = (re.fullmatch(r"([0-9]*)(.*)", part) for part in phase.split("."))
    return tuple((int(part[1] or 0), part[2]) for part in parts if part is not None)


def read_roadmap(text: str) -> Roadmap:
    """The phases and plans in the order of the text; of an id that is there twice the first."""
    reader = _Reader()
    for number, start, line in lines_outside_fences(text):
        if line is not None:
            reader.take(number, start, line)
    reader.known.settle()
    return reader.known


class _Reader:
    """What the lines so far are about."""

    def __init__(self) -> None:
        self.known = Roadmap()
        self._phase = ""
        """The phase that the heading above names."""
        self._lists_criteria = False
        self._last: RoadmapTask | None = None
        """The task that an indented line belongs to."""
        self._is_folded = False
        """In ``<details>``, where GSD keeps what was shipped."""

    def take(self, number: int, start: int, line: str) -> None:
        if (row := _ROW.fullmatch(line)) is not None and (found := _row_in(row, start)):
            self.known.rows.setdefault(_plain(row["nth"]), found)
        if _HEADING.fullmatch(line):
            self._take_heading(number, line)
        elif folded := _FOLDED.fullmatch(line):
            self._is_folded = not folded["end"]
        elif task := _task_in(number, start, line):
            self._last = self.known.add(task)
            self._lists_criteria = False
        elif self._last is not None and line[:1] in {" ", "\t"} and line.strip():
            self._last.end_line = number
            words = line.strip()
            is_reason = words.startswith(REASON)
            self._last.reason = words.removeprefix(REASON) if is_reason else None
        else:
            self._last = self._last if not line.strip() else None
            if self._phase:
                self._lists_criteria = _take_detail(
                    self.known, self._phase, line, lists_criteria=self._lists_criteria
                )

    def _take_heading(self, number: int, line: str) -> None:
        detail, headed = _DETAIL.fullmatch(line), _HEADED.fullmatch(line)
        self._phase = "" if detail is None else _plain(detail["nth"])
        self._last, self._lists_criteria = None, False
        if self._phase and _ENDS_DONE.search(line) is not None:
            self.known.headed_done.add(self._phase)
        if headed is not None and not self._is_folded and _IS_DONE.search(line) is None:
            place = (number, line, _words(headed["name"]))
            self.known.headings.setdefault(_plain(headed["nth"]), place)


def _row_in(row: re.Match[str], start: int) -> ProgressRow | None:
    """What a row says of its phase; None for one of any other table."""
    count, count_at, complete_at = None, (0, 0), None
    at = start + row.start("cells")
    for cell in row["cells"].split("|"):
        if count is None and (counted := _COUNT.fullmatch(cell)):
            n_done, n_all = int(counted["done"]), int(counted["all"])
            # Anything else is another number with a slash, such as a date.
            count = (n_done, n_all) if n_done <= n_all else None
            count_at = at + counted.start("done"), at + counted.end("done")
        elif complete_at is None and (complete := _COMPLETE.fullmatch(cell)):
            complete_at = at + complete.start("word"), at + complete.end("word")
        at += len(cell) + 1
    if count is None and complete_at is None:
        return None
    return ProgressRow(count=count, count_at=count_at, complete_at=complete_at)


def _take_detail(known: Roadmap, phase: str, line: str, *, lists_criteria: bool) -> bool:
    """Take one line about a phase; returns whether its criteria follow."""
    if depends := _DEPENDS.fullmatch(line):
        names = re.findall(_NUMBER, depends["names"].split("(")[0])
        known.needs[phase] = tuple(name for name in map(_plain, names) if name != phase)
    elif _CRITERIA.fullmatch(line):
        return True
    elif lists_criteria and (found := _CRITERION.fullmatch(line)):
        known.criteria.setdefault(phase, []).append(_words(found["text"]))
        return True
    return lists_criteria and not line.strip()


def _task_in(number: int, start: int, line: str) -> RoadmapTask | None:
    found = _PHASE.fullmatch(line)
    plan = None if found is not None else _PLAN.fullmatch(line)
    if found is not None:
        task_id = phase = _plain(found["nth"])
    elif plan is not None:
        found, task_id, phase = plan, plan["id"], _plain(plan["id"].partition("-")[0])
    else:
        return None
    return RoadmapTask(
        id=task_id,
        title=_words(found["title"]) or f"Plan {task_id}",
        is_ticked=found["mark"] != " ",
        phase=phase,
        line=number,
        start=start,
        end=start + len(line),
        mark=start + found.start("mark"),
        words=found.span("title"),
        end_line=number,
    )


def _plain(number: str) -> str:
    """A number of a phase without the zeros in front: ``02.1`` is ``2.1``."""
    return number.lstrip("0") or "0"


def _words(text: str) -> str:
    return escape_surrogates(fold_whitespace(text.replace("**", "")))
