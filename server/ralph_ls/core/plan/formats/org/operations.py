"""Operations on an Org file: the plan in it, and edits of one heading or box each.

A task waits for the tasks below it, and for those that its property BLOCKER names. Where the file
has dates of closing, a heading that is done gets one (``CLOSED:``); one that is opened loses it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping

from ralph_ls.core.plan.formats.org.outline import (
    DEFAULT,
    OrgOutline,
    OrgTask,
    read_outline,
)
from ralph_ls.core.plan.formats.task_lines import (
    BLOCKED_BY,
    copy_task_lines,
    ending_of,
    find_task,
    next_line,
    with_last_line,
    without_reason,
)
from ralph_ls.core.plan.lint.remarks import (
    CheckCode,
    LineSpan,
    LintRemark,
    QuickFix,
    RelatedSpan,
    first_names,
)
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task, TaskKind
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import SETTLED_STATES, TaskState

_OPEN = frozenset({TaskState.TODO, TaskState.IN_PROGRESS})
_CLOSED = re.compile(r"CLOSED:[ \t]*\[[^\]\r\n]*\][ \t]*")
_LOGS_DONE = re.compile(
    r"^[ \t]*CLOSED:[ \t]*\[|^\#\+STARTUP:.*\blog(?:note)?done\b", re.IGNORECASE | re.MULTILINE
)
_PLANNING = re.compile(r"(?P<indent>[ \t]*)(?:CLOSED|DEADLINE|SCHEDULED):[^\r\n]*(?:\r?\n|\r|\Z)")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MARKS = {TaskState.TODO: " ", TaskState.IN_PROGRESS: "-", TaskState.DONE: "X"}


def parse_text(text: str) -> ParsedPlan:
    """Read the tasks of an outline; never raises."""
    return ParsedPlan(plan=Plan(tasks=_tasks_in(text)))


def why_broken(text: str) -> str:
    """Any text is an outline."""
    del text
    return ""


def why_foreign(text: str) -> str:
    """Why an outline is one of notes alone."""
    has_tasks = bool(read_outline(text).tasks)
    return "" if has_tasks else "it has no task, such as: * TODO Call the bank"


def check_text(text: str) -> tuple[LintRemark, ...]:
    """One remark on the headings without a keyword that may be tasks, or else on such lists."""
    outline = read_outline(text)
    if outline.items:
        return (_lists_not_read(outline),)
    if not outline.unread:
        return ()
    places = [
        LineSpan(line=one.line, start=one.words[0], end=one.words[1]) for one in outline.unread
    ]
    keyword = _keyword_for(outline, TaskState.TODO) or DEFAULT[0]
    names = first_names([one.title for one in outline.unread])
    is_one = len(places) == 1
    is_read = "has no keyword and is" if is_one else "have no keyword and are"
    message = (
        f"{count_of(len(places), 'heading')} {is_read} not read ({names}); add one to each that "
        f"is a task, as in: * {keyword} …"
    )
    related = tuple(RelatedSpan(place=one, message="another one") for one in places[1:])
    return (
        LintRemark(
            code=CheckCode.HEADINGS_NOT_READ,
            message=message,
            place=places[0],
            related=related,
            repair=QuickFix.INSERT,
            replacement=f"{keyword} ",
        ),
    )


def _lists_not_read(outline: OrgOutline) -> LintRemark:
    places = [LineSpan(line=one.line, start=one.start, end=one.end) for one in outline.items]
    is_one, has_comments = len(places) == 1, any(one.is_comment for one in outline.items)
    message = (
        f"{count_of(len(places), 'line')} without a box {'is' if is_one else 'are'} not read; "
        "write each that is a task as: - [ ] …"
    )
    return LintRemark(
        code=CheckCode.LINES_NOT_READ,
        message=message,
        place=places[0],
        related=tuple(RelatedSpan(place=one, message="another one") for one in places[1:]),
        repair=None if has_comments else QuickFix.INSERT,
        replacement="[ ] ",
    )


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The ids of the tasks that each depends on."""
    tasks = read_outline(text).tasks
    found = {task.id: dict.fromkeys(task.needs) for task in tasks}
    for task in tasks:
        if task.parent is not None and task.parent.id in found:
            found[task.parent.id][task.id] = None
    return {task_id: tuple(needs) for task_id, needs in found.items() if needs}


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    """What an agent may not change of each task, as comparable text."""
    return {
        task.id: {
            Forbidden.CRITERIA: "\n".join([task.title, *task.criteria]),
            Forbidden.PRIORITY: task.priority or "",
            Forbidden.DEPENDENCY: ", ".join(task.needs),
        }
        for task in read_outline(text).tasks
    }


def with_state(text: str, task_id: str, state: TaskState, reason: str = "", day: str = "") -> str:
    """The text with one task in a state, by a keyword of this file or by its box.

    Where no keyword means that a task is blocked, its last line has the reason.
    """
    outline = read_outline(text)
    task = find_task(_tasks_in(text), task_id)
    if task.state is state and not reason:
        return text
    if task.kind is TaskKind.ITEM:
        return _with_mark(text, task, _MARKS.get(state), state)
    text = without_reason(_tasks_in, _dated(text, task, state, day), task_id)
    task = find_task(_tasks_in(text), task_id)
    keyword = _keyword_for(outline, state)
    if state is TaskState.BLOCKED:
        is_noted = bool(reason) or keyword is None
        if keyword is None and task.state not in _OPEN:
            keyword = _keyword_for(outline, TaskState.TODO)
        if keyword is not None and task.state is not state:
            text = _with_mark(text, task, keyword, state)
        return with_note(text, task_id, BLOCKED_BY + (reason or "?")) if is_noted else text
    return text if task.state is state else _with_mark(text, task, keyword, state)


def with_note(text: str, task_id: str, note: str) -> str:
    """The text with one more line below a heading, unless it ends with it; a box has no notes."""
    if find_task(_tasks_in(text), task_id).kind is TaskKind.ITEM:
        return text
    return with_last_line(_tasks_in, text, task_id, note)


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task is as in ``other``; those below it stay as they are."""
    return copy_task_lines(_tasks_in, text, other, task_id)


def _dated(text: str, task: Task, state: TaskState, day: str) -> str:
    """The text with the day on which a heading is closed, or without that of one that is opened.

    A file without such dates gets none.
    """
    is_closed = state in SETTLED_STATES
    if is_closed is (task.state in SETTLED_STATES) or _LOGS_DONE.search(text) is None:
        return text
    return _with_closing(text, task, day if is_closed else "")


def _with_closing(text: str, task: Task, day: str) -> str:
    """The text with a date in the line below a heading, in front of others; empty for none."""
    at = next_line(text, task.end)
    planning = _PLANNING.match(text, at)
    line, indent = ("", "") if planning is None else (planning[0], planning["indent"])
    dates = _CLOSED.sub("", line, count=1)[len(indent) :]
    if day:
        name = _DAYS[dt.date.fromisoformat(day).weekday()]
        ending = ending_of(text)
        closed = f"CLOSED: [{day} {name}]"
        dates = f"{closed} {dates}" if dates.strip() else f"{closed}{dates or ending}"
        if at == task.end:
            return f"{text}{ending}{indent}{dates.rstrip()}"
    elif not dates.strip():
        return text[:at] + text[at + len(line) :]
    return text[:at] + indent + dates + text[at + len(line) :]


def _tasks_in(text: str) -> tuple[Task, ...]:
    return tuple(map(_to_task, read_outline(text).tasks))


def _to_task(task: OrgTask) -> Task:
    state = task.state
    if task.reason is not None and state in _OPEN:
        state = TaskState.BLOCKED
    return Task(
        id=task.id,
        title=task.title,
        state=state,
        priority=task.priority,
        section=task.section,
        optional=False,
        line=task.line,
        start=task.start,
        end=task.end,
        end_line=task.end_line,
        depth=sum(1 for _ in _above(task)),
        parent=None if task.parent is None else task.parent.id,
        blocked_by=task.reason if state is TaskState.BLOCKED else None,
        criteria=tuple(task.criteria),
        kind=TaskKind.ITEM if task.has_box else TaskKind.HEADING,
        mark=task.mark,
        words=(task.line, *task.words),
    )


def _above(task: OrgTask) -> Iterator[OrgTask]:
    above = task.parent
    while above is not None:
        yield above
        above = above.parent


def _keyword_for(outline: OrgOutline, state: TaskState) -> str | None:
    """The file's first keyword for a state; where it has none, one of the usual for open, done."""
    words = {meant: word for word, meant in reversed(list(outline.keywords.items()))}
    open_word = words.get(TaskState.TODO, DEFAULT[0])
    usual = {
        TaskState.TODO: open_word,
        TaskState.IN_PROGRESS: open_word,
        TaskState.DONE: DEFAULT[1],
    }
    return words.get(state, usual.get(state))


def _with_mark(text: str, task: Task, mark: str | None, state: TaskState) -> str:
    if mark is None or task.mark is None:
        raise RalphError(
            f"this Org file has no keyword for a task that is {state.value}; declare one in it, "
            "such as: #+TODO: TODO WAITING | DONE CANCELLED"
        )
    return text[: task.mark[0]] + mark + text[task.mark[1] :]
