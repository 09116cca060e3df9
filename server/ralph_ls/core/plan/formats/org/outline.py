"""Outline of an Org file: its headings, boxes and keywords, line by line.

A heading is a task if it begins with a keyword: those that the file declares (``#+TODO: OPEN |
SHIPPED``), or the usual ones, or words for a state in capitals that several headings begin with
(``ERLEDIGT``), or with a box. A box in a list is a task where no heading above it is
one, else it is one of its criteria. What is in a block, archived or commented out is no task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ralph_ls.core.plan.formats.task_lines import BLOCKED_BY, unique_id
from ralph_ls.core.plan.parse.headings import holds_no_tasks
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace, title_id
from ralph_ls.core.plan.parse.words.state_words import read_state_word
from ralph_ls.protocol.task_words import SETTLED_STATES, Priority, TaskState

KEYWORDS: Mapping[str, TaskState] = MappingProxyType(
    {
        "TODO": TaskState.TODO,
        "TO-DO": TaskState.TODO,
        "NEXT": TaskState.TODO,
        "DOING": TaskState.IN_PROGRESS,
        "STARTED": TaskState.IN_PROGRESS,
        "INPROGRESS": TaskState.IN_PROGRESS,
        "IN-PROGRESS": TaskState.IN_PROGRESS,
        "STRT": TaskState.IN_PROGRESS,
        "WAIT": TaskState.BLOCKED,
        "WAITING": TaskState.BLOCKED,
        "HOLD": TaskState.BLOCKED,
        "BLOCKED": TaskState.BLOCKED,
        "DONE": TaskState.DONE,
        "COMPLETE": TaskState.DONE,
        "COMPLETED": TaskState.DONE,
        "CANCELLED": TaskState.SKIPPED,
        "CANCELED": TaskState.SKIPPED,
        "KILL": TaskState.SKIPPED,
        "MAYBE": TaskState.SKIPPED,
        "SOMEDAY": TaskState.SKIPPED,
        "DONT-DO": TaskState.SKIPPED,
    }
)
DEFAULT = ("TODO", "DONE")
BOXES = {" ": TaskState.TODO, "-": TaskState.IN_PROGRESS, "X": TaskState.DONE, "x": TaskState.DONE}
_PRIORITIES = {"A": Priority.P0, "B": Priority.P1}
_DECLARED = re.compile(r"\ufeff?#\+(?:SEQ_|TYP_)?TODO:(?P<words>.*)", re.IGNORECASE)
_HEADING = re.compile(
    r"\ufeff?(?P<stars>\*+)[ \t]+(?:(?P<keyword>\S+)(?=[ \t]|$)[ \t]*)?"
    r"(?:\[#(?P<priority>[A-Z0-9])\][ \t]*)?(?P<title>.*?)(?P<tags>[ \t]+:[\w@#%:]+:)?[ \t]*"
)
_BOX = re.compile(
    r"[ \t]*(?:[-+]|[0-9]+[.)]|[ \t]\*)[ \t]+\[(?P<mark>[ xX-])\][ \t]+(?P<title>.*\S.*)"
)
_ITEM = re.compile(r"[ \t]*(?:(?P<comment>[;#%/]+)[ \t]*)?(?:[-+]|[0-9]+[.)])[ \t]+(?=\w)")
"""An item of a list without a box; also in a comment of a program."""
_BOX_FIRST = re.compile(r"\[(?P<mark>[ xX-])\][ \t]+(?=\S)")
_BEGIN = re.compile(r"[ \t]*#\+BEGIN_(?P<name>\S+).*", re.IGNORECASE)
_PROPERTY = re.compile(r"[ \t]*:(?P<key>ID|CUSTOM_ID|BLOCKER):[ \t]+(?P<value>\S.*)", re.IGNORECASE)
_SHORTEST = 4
_COOKIE = re.compile(r"[ \t]*\[(?:[0-9]*/[0-9]*|[0-9]*%)\]")


@dataclass(slots=True, kw_only=True)
class OrgTask:
    """One heading or box."""

    title: str
    state: TaskState
    line: int
    start: int
    end: int
    mark: tuple[int, int]
    """The place of its keyword, or inside its box."""
    words: tuple[int, int]
    """The beginning and end of its title in its line."""
    level: int
    """Stars of a heading; 0 of a box in a list."""
    section: str
    has_box: bool = False
    """Whether its state is in a box, and not a keyword."""
    is_archived: bool = False
    priority: Priority | None = None
    parent: OrgTask | None = None
    id: str = ""
    needs: tuple[str, ...] = ()
    criteria: list[str] = field(default_factory=list)
    reason: str | None = None
    end_line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OrgOutline:
    """The tasks of a file in the order of the text."""

    tasks: tuple[OrgTask, ...]
    keywords: Mapping[str, TaskState]
    """The keywords of this file, with their states, in their order."""
    unread: tuple[OrgTask, ...]
    """The headings without a keyword that may be tasks: with nothing below them, beside headings
    that are tasks, or anywhere in a file without an open task."""
    items: tuple[OrgItem, ...]
    """The items without a box of a file in which nothing is a task, nor may a heading be one."""


class OrgItem(NamedTuple):
    """An item of a list without a box."""

    line: int
    start: int
    """Where its text begins in its line."""
    end: int
    is_comment: bool
    """Whether it is in a comment, so that a box would not make it a task."""


def read_outline(text: str) -> OrgOutline:
    """Read a file; never raises."""
    keywords = _keywords_in(text)
    reader = _Reader({**KEYWORDS, **keywords})
    for number, (start, line) in enumerate(lines_of(text)):
        reader.take(number, start, line)
    tasks = reader.finish()
    _name(tasks)
    unread = tuple(reader.unread())
    return OrgOutline(
        tasks=tasks,
        keywords=keywords or {word: KEYWORDS[word] for word in DEFAULT},
        unread=unread,
        items=() if tasks or unread else tuple(reader.items),
    )


def _keywords_in(text: str) -> dict[str, TaskState]:
    """The keywords that a file declares or uses, beyond the usual ones."""
    lines = [line for _, line in lines_of(text)]
    return {**_used(lines), **_declared(lines)}


def _declared(lines: list[str]) -> dict[str, TaskState]:
    found: dict[str, TaskState] = {}
    for declared in filter(None, map(_DECLARED.fullmatch, lines)):
        words = [re.sub(r"\(.*?\)", "", word) for word in declared["words"].split()]
        bar = words.index("|") if "|" in words else len(words) - 1
        for nth, word in enumerate(words):
            if word != "|":
                found.setdefault(word, _state_of(word, is_done=nth >= bar))
    return found


def _used(lines: list[str]) -> dict[str, TaskState]:
    """The words for states in capitals, where several headings begin with one."""
    headings = filter(None, map(_HEADING.fullmatch, lines))
    used = Counter(word for heading in headings if (word := heading["keyword"] or "").isupper())
    stated = {
        word: state
        for word in used
        if len(word) >= _SHORTEST and word not in KEYWORDS
        if (state := read_state_word(word)) is not None
    }
    return stated if sum(used[word] for word in stated) > 1 else {}


def _state_of(word: str, *, is_done: bool) -> TaskState:
    known = KEYWORDS.get(word.upper())
    if is_done:
        return TaskState.SKIPPED if known is TaskState.SKIPPED else TaskState.DONE
    is_open = known not in {None, TaskState.DONE, TaskState.SKIPPED}
    return known if known is not None and is_open else TaskState.TODO


class _Reader:
    """The tasks of the lines so far."""

    def __init__(self, keywords: Mapping[str, TaskState]) -> None:
        self._keywords = keywords
        self._tasks: list[OrgTask] = []
        self.items: list[OrgItem] = []
        """The items without a box below no heading that says that it has no tasks."""
        self._plain: list[OrgTask] = []
        """The headings without a keyword."""
        self._above: dict[int, OrgTask | None] = {}
        """The heading around each heading, a task or not, by its line."""
        self._parts: set[int] = set()
        """The lines of the headings with a heading or a box below them."""
        self._open: list[OrgTask] = []
        """The headings that the next line is below, tasks or not, from the outermost."""
        self._block = ""

    def take(self, number: int, start: int, line: str) -> None:
        if self._block:
            if line.strip().casefold() == self._block:
                self._block = ""
        elif begins := _BEGIN.fullmatch(line):
            self._block = f"#+end_{begins['name'].casefold()}"
        elif heading := _HEADING.fullmatch(line):
            self._take_heading(number, start, line, heading)
        elif box := _BOX.fullmatch(line):
            self._take_box(number, start, line, box)
        elif (item := _ITEM.match(line)) and not any(map(self._is_prose, self._open[-1:])):
            is_comment = item["comment"] is not None
            self.items.append(OrgItem(number, item.end(), len(line.rstrip()), is_comment))
            self._take_text(line)
        else:
            self._take_text(line)
        if line.strip():
            self._end_at(number)

    def finish(self) -> tuple[OrgTask, ...]:
        return tuple(task for task in self._tasks if not task.is_archived)

    def unread(self) -> Iterator[OrgTask]:
        """The headings that may be tasks and are none, in the order of the text."""
        tasks = self.finish()
        is_idle = not any(task.state not in SETTLED_STATES for task in tasks)
        beside = {self._line_above(task.line) for task in tasks if task.level}
        for heading in self._plain:
            is_part = heading.line in self._parts or heading.is_archived
            if is_part or heading.parent is not None or self._is_prose(heading):
                continue
            if is_idle or self._line_above(heading.line) in beside:
                yield heading

    def _line_above(self, line: int) -> int:
        above = self._above.get(line)
        return -1 if above is None else above.line

    def _is_prose(self, heading: OrgTask) -> bool:
        """Whether a heading, or one around it, is a date or says that no tasks are below it."""
        around: OrgTask | None = heading
        while around is not None:
            if around.title[:1] in {"<", "["} or holds_no_tasks(around.title):
                return True
            around = self._above.get(around.line)
        return False

    def _take_heading(self, number: int, start: int, line: str, found: re.Match[str]) -> None:
        level = len(found["stars"])
        while self._open and self._open[-1].level >= level:
            self._open.pop()
        above = self._open[-1] if self._open else None
        word, title = found["keyword"] or "", found["title"]
        place = found.span("title")
        if word not in self._keywords:
            # What is no keyword belongs to the title.
            place = (found.start("keyword") if word else place[0], place[1])
            title, word = line[place[0] : place[1]], ""
        mark = found.span("keyword") if word else (0, 0)
        state = self._keywords.get(word, TaskState.TODO)
        box = None if word else _BOX_FIRST.match(line, *place)
        if box is not None:
            mark, state, place = box.span("mark"), BOXES[box["mark"]], (box.end(), place[1])
            title = line[place[0] : place[1]]
        tags = found["tags"] or ""
        task = OrgTask(
            title=_title(title),
            state=state,
            line=number,
            start=start,
            end=start + len(line),
            mark=(start + mark[0], start + mark[1]) if mark[1] else mark,
            words=place,
            level=level,
            section="" if above is None else above.title,
            has_box=box is not None,
            is_archived=(above is not None and above.is_archived)
            or ":archive:" in tags.casefold()
            or title.startswith("COMMENT "),
            priority=_priority_of(found["priority"]),
            parent=None if above is None else _task_above(above),
            end_line=number,
        )
        self._above[number] = above
        if above is not None:
            self._parts.add(above.line)
        self._open.append(task)
        (self._tasks if mark[1] else self._plain).append(task)

    def _take_box(self, number: int, start: int, line: str, found: re.Match[str]) -> None:
        above = self._open[-1] if self._open else None
        owner = None if above is None else _task_above(above)
        if above is not None:
            self._parts.add(above.line)
        title = _title(found["title"])
        if not _COOKIE.sub(" ", found["title"]).strip():
            # It only counts the boxes below it.
            return
        if owner is not None:
            owner.criteria.append(title)
            return
        self._tasks.append(
            OrgTask(
                title=title,
                state=BOXES[found["mark"]],
                line=number,
                start=start,
                end=start + len(line),
                mark=(start + found.start("mark"), start + found.end("mark")),
                words=found.span("title"),
                level=0,
                section="" if above is None else above.title,
                has_box=True,
                is_archived=above is not None and above.is_archived,
                end_line=number,
            )
        )

    def _take_text(self, line: str) -> None:
        task = self._open[-1] if self._open else None
        if task is None or not task.mark[1]:
            return
        if found := _PROPERTY.fullmatch(line):
            value = escape_surrogates(found["value"].strip())
            if found["key"].upper() == "BLOCKER":
                task.needs = tuple(re.findall(r"[\w-]+", value.replace("ids(", " ")))
            else:
                task.id = value
        elif line.strip():
            words = line.strip()
            is_reason = words.startswith(BLOCKED_BY)
            task.reason = fold_whitespace(words.removeprefix(BLOCKED_BY)) if is_reason else None

    def _end_at(self, number: int) -> None:
        for task in self._open:
            task.end_line = number


def _task_above(heading: OrgTask) -> OrgTask | None:
    """The heading itself, or the nearest one above it, that is a task."""
    return heading if heading.mark[1] else heading.parent


def _name(tasks: tuple[OrgTask, ...]) -> None:
    """Give each task a unique id."""
    known: set[str] = set()
    for task in tasks:
        task.id = unique_id(task.id or title_id(task.title), known)


def _title(text: str) -> str:
    return escape_surrogates(fold_whitespace(_COOKIE.sub(" ", text))) or "Untitled"


def _priority_of(letter: str | None) -> Priority | None:
    return None if letter is None else _PRIORITIES.get(letter, Priority.P2)
