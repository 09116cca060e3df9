"""Task document of Backlog.md: the front matter, the boxes of the criteria and the notes.

A project may name its statuses itself, in a file beside the tasks. They are recognised by their
words; any other is nobody's to take. Where no status means that a task is blocked, its notes end
with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ralph_ls.core.plan.parse.front_matter import FrontMatter, read_front_matter
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.protocol.task_words import Priority, TaskState

NOTES_BEGIN = "<!-- SECTION:NOTES:BEGIN -->"
NOTES_END = "<!-- SECTION:NOTES:END -->"
BLOCKED_BY = "Blocked by: "
"""How the last line of the notes begins in which a reason is noted."""

STATUS_WORDS: Mapping[TaskState, tuple[str, ...]] = MappingProxyType(
    {
        TaskState.TODO: (
            "to do", "todo", "backlog", "open", "new", "ready", "planned", "pending", "not started"
        ),
        TaskState.IN_PROGRESS: (
            "in progress", "doing", "active", "wip", "started", "in development", "implementing"
        ),
        TaskState.DONE: (
            "done", "completed", "complete", "closed", "finished", "shipped", "released", "merged"
        ),
        TaskState.SKIPPED: (
            "cancelled", "canceled", "won't do", "wont do", "archived", "deferred", "icebox"
        ),
        TaskState.BLOCKED: ("blocked", "on hold", "waiting"),
    }
)  # fmt: skip
DEFAULT_STATUS = {
    TaskState.TODO: "To Do",
    TaskState.IN_PROGRESS: "In Progress",
    TaskState.DONE: "Done",
}
PRIORITIES = {
    "critical": Priority.P0,
    "high": Priority.P0,
    "medium": Priority.P1,
    "low": Priority.P2,
}
_STATES = {word: state for state, words in STATUS_WORDS.items() for word in words}
_OPEN = frozenset({TaskState.TODO, TaskState.IN_PROGRESS})


class CriterionBox(NamedTuple):
    """One box of the criteria."""

    text: str
    """Without its number."""
    is_done: bool
    mark: int
    """Where its mark is, in characters of the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDocument:
    """One task, as its document has it."""

    id: str
    title: str
    status: str
    state: TaskState
    reason: str | None
    priority: Priority | None
    written_priority: str
    milestone: str
    ordinal: float | None
    needs: tuple[str, ...]
    """As they are written."""
    parent: str
    """As it is written; empty where there is none."""
    boxes: tuple[CriterionBox, ...]
    words: tuple[int, int, int] | None
    """Line of the title, and its beginning and end there; None without one."""
    mark: tuple[int, int] | None
    """The place of the status, without quotes; None where it has none."""


def is_named_like_task(path: str) -> bool:
    """Whether a file has the name that the tool gives to those of tasks."""
    return bool(_id_in(path))


def read_task_document(text: str, path: str = "") -> TaskDocument | None:
    """The task in a document; None where its front matter names none."""
    matter = read_front_matter(text)
    task_id = _first(matter, "id") or _id_in(path)
    if not matter.is_there or not task_id:
        return None
    status = _first(matter, "status") or DEFAULT_STATUS[TaskState.TODO]
    state = state_of_status(status)
    reason = blocked_reason(text)
    if reason is not None and state in _OPEN:
        state = TaskState.BLOCKED
    priority = _first(matter, "priority")
    return TaskDocument(
        id=task_id,
        title=_first(matter, "title") or task_id,
        status=status,
        state=state,
        reason=_reason(status, state, reason),
        priority=PRIORITIES.get(priority.casefold()),
        written_priority=priority,
        milestone=_first(matter, "milestone"),
        ordinal=_number(_first(matter, "ordinal")),
        needs=tuple(map(_cleaned, matter.values("dependencies"))),
        parent=_first(matter, "parent_task_id"),
        boxes=tuple(boxes_of(text)),
        words=_title_place(text, matter),
        mark=status_place(text, matter),
    )


def state_of_status(status: str) -> TaskState:
    """The state that a status means; one that no word is known for is blocked."""
    return _STATES.get(_normal(status), TaskState.BLOCKED)


def is_status_of(status: str, state: TaskState) -> bool:
    """Whether a status is known for a state."""
    return _STATES.get(_normal(status)) is state


def status_place(text: str, matter: FrontMatter) -> tuple[int, int] | None:
    """The place of the status in the text, without quotes; None where it has none."""
    field = matter.find("status")
    if field is None or len(field.values) != 1:
        return None
    found = _VALUE.match(text, field.start)
    is_here = found is not None and found["block"] is None
    return found.span(found.lastgroup or 0) if found is not None and is_here else None


def boxes_of(text: str) -> Iterator[CriterionBox]:
    """The boxes in the sections of criteria."""
    in_criteria = False
    for start, line in lines_of(text):
        if section := _SECTION.fullmatch(line):
            in_criteria = section["criteria"] is not None
        elif in_criteria and (box := _BOX.fullmatch(line)):
            words = fold_whitespace(box["text"])
            yield CriterionBox(words, box["mark"] != " ", start + box.start("mark"))


def blocked_reason(text: str) -> str | None:
    """The reason in the last line of the notes; None where they do not end with one."""
    place = notes_end(text)
    if place is None:
        return None
    found = last_note(text, place)
    return fold_whitespace(found.removeprefix(BLOCKED_BY)) if found.startswith(BLOCKED_BY) else None


def last_note(text: str, end: int) -> str:
    """The last line with words before the end of the notes; their heading where they are empty."""
    written = text[:end].rstrip()
    return written[max(written.rfind("\n"), written.rfind("\r")) + 1 :].strip()


def notes_end(text: str) -> int | None:
    """Where the next line of the notes is written; None where the document has none.

    With marks around them it is before the second one, else at the end of their section.
    """
    marked = text.find(NOTES_END)
    if marked >= 0:
        return marked
    in_notes, end = False, None
    for start, line in lines_of(text):
        if in_notes and _HEADING.match(line):
            return start
        in_notes = in_notes or _NOTES.fullmatch(line) is not None
        end = len(text) if in_notes else None
    return end


_VALUE = re.compile(
    r"""[A-Za-z_]+[ \t]*:[ \t]+(?:"(?P<double>(?:[^"\\\r\n]|\\.)*)\""""
    r"""|'(?P<single>(?:[^'\r\n]|'')*)'"""
    r"""|(?P<block>[>|])|(?P<plain>[^\s"'#>|][^\r\n]*?))(?:[ \t]*(?=[\r\n])|[ \t]+\#|(?<=[>|]))"""
)
"""A key and its value; the value without its quotes is a group."""
_NOTES = re.compile(r"##[ \t]+Implementation Notes[ \t]*", re.IGNORECASE)
_HEADING = re.compile(r"#{1,2}[ \t]")
_SECTION = re.compile(
    r"##[ \t]+(?P<criteria>Acceptance Criteria|Definition of Done)\b.*|#{1,2}[ \t].*"
)
_BOX = re.compile(r"[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+(?:\#[0-9]+[ \t]+)?(?P<text>.*)")
_IN_NAME = re.compile(r"(?P<id>[A-Za-z][A-Za-z0-9]*-[0-9]+(?:\.[0-9]+)*)\b[^/]*\.md")


def _reason(status: str, state: TaskState, reason: str | None) -> str | None:
    if state is not TaskState.BLOCKED:
        return None
    is_known = is_status_of(status, state)
    return reason or (None if is_known else f"its status is {status[:40]}")


def _title_place(text: str, matter: FrontMatter) -> tuple[int, int, int] | None:
    field = matter.find("title")
    if field is None or not field.values:
        return None
    found = _VALUE.match(text, field.start)
    if found is not None and found["block"] is None:
        start, end = found.span(found.lastgroup or 0)
        return field.line, start - field.start, end - field.start
    lines = [line for _, line in lines_of(text[field.start : field.end])]
    below = next((nth for nth, line in enumerate(lines[1:], 1) if line.strip()), 0)
    line = lines[below]
    return field.line + below, len(line) - len(line.lstrip()), len(line.rstrip())


def _normal(status: str) -> str:
    return " ".join(re.split(r"[\s_-]+", status.strip().casefold()))


def _first(matter: FrontMatter, key: str) -> str:
    return _cleaned(next(iter(matter.values(key)), ""))


def _cleaned(text: str) -> str:
    return escape_surrogates(fold_whitespace(text))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", text) else None


def _id_in(path: str) -> str:
    """The id in the name of a file: of ``task-12 - Pay by card.md`` it is ``task-12``."""
    found = _IN_NAME.fullmatch(path.rpartition("/")[2])
    return "" if found is None else found["id"]
