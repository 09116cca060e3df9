"""Operations on a todo.txt: one line a task, ``x`` in front of what is done.

A line has a priority in round brackets, dates, projects (``+shop``), contexts (``@phone``) and
values (``key:value``). The form knows only open and done; other states are values:
``status:doing``, ``status:cancelled``, ``blocked:no_licence``. The first date behind
``x`` is that of completion, the second one that of creation.

None of these is required: ``Buy milk`` is a task. So a text in which no line begins with ``x``, a
priority or a date is one of tasks if its lines are those of a list, and prose otherwise: where more
than a quarter of them have several sentences, end like the beginning of a list, are longer than a
task, or, in a text of paragraphs, are whole sentences.

Many files of that name are Markdown: they have headings, bullets, numbers or boxes. Such a text is
read as Markdown, unless it also has lines that begin like those of a todo.txt: each of the two
forms would lose the tasks of the other, so that a text in both is refused. Beside a box a date
alone is no such beginning, as notes have dates, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ralph_ls.core.plan.formats.task_lines import copy_task_lines, find_task, unique_id
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace, title_id
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import Priority, TaskState

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_LINE = re.compile(
    rf"\ufeff?(?:(?P<done>x)[ \t]+(?:{_DATE}[ \t]+){{0,2}}"
    rf"|(?:\((?P<priority>[A-Z])\)[ \t]+)?(?:{_DATE}[ \t]+)?)(?P<words>\S.*)"
)
_VALUE = re.compile(r"(?:(?<=[ \t])|^)(?P<key>[A-Za-z][\w-]*):(?P<value>[^\s/][^\s]*)")
_SIGN = re.compile(rf"\ufeff?(?:x[ \t]|\([A-Z]\)[ \t]|{_DATE}[ \t])")
_MARK = re.compile(r"\ufeff?(?:x[ \t]|\([A-Z]\)[ \t])")
_BOX = re.compile(r"\ufeff?[ \t]*(?:[-*]|[0-9]+[.)])[ \t]+\[[^\]]?\][ \t]")
_WORD = re.compile(r"(?:^|[ \t])(?:[+@]\w|[a-z]+:[^\s/])")
_PROSE = re.compile(
    r".{121,}|.*[.!?\u2026][\"'\u201d\u2019)]*[ \t]+[A-Z\u201c\"].*|.*[:;,\uff1a\uff0c]"
    r"|(?:->|=>|[\u2190-\u21ff\u2500-\u257f]).*"
)
_SENTENCE = re.compile(r"(?:\S+[ \t]+){4,}\S*[.!?\u2026]|.*[\u3002\uff01\uff1f]")
_MARKDOWN = re.compile(
    r"\ufeff?(?:#{1,6}[ \t]|[ \t]*[-*][ \t]|[ \t]*[0-9]+[.)][ \t]|```|[ \t]*\[[^\]]?\][ \t])"
)
_OWN = frozenset({"id", "dep", "depends", "after", "pri", "status", "blocked"})
"""The keys that are no part of a title."""
_PROJECT = re.compile(r"(?:(?<=[ \t])|^)\+(?P<name>\S*\w)")
_WAITING = re.compile(r"(?:(?<=[ \t])|^)@(?:waiting|blocked)(?=[ \t]|$)", re.IGNORECASE)
_STATES = {
    "doing": TaskState.IN_PROGRESS,
    "started": TaskState.IN_PROGRESS,
    "in-progress": TaskState.IN_PROGRESS,
    "cancelled": TaskState.SKIPPED,
    "canceled": TaskState.SKIPPED,
    "blocked": TaskState.BLOCKED,
    "waiting": TaskState.BLOCKED,
}
_STATUS = {TaskState.IN_PROGRESS: " status:doing", TaskState.SKIPPED: " status:cancelled"}


def parse_text(text: str) -> ParsedPlan:
    """Read the tasks, one a line; never raises. A text that is no todo.txt has none."""
    tasks, message, code = _tasks_in(text), why_broken(text), "not-todo-txt"
    if message:
        tasks = ()
    elif tasks and not any(_is_marked(line) for _, line in lines_of(text)):
        are = (
            "1 line is read as a task"
            if len(tasks) == 1
            else f"{len(tasks)} lines are read as tasks"
        )
        message, code = f"{are}, and none has a mark {_SUCH_AS}", "lines-read-as-tasks"
    if not message:
        return ParsedPlan(plan=Plan(tasks=tasks))
    lines = [line for _, line in lines_of(text)]
    firsts = (_MARKDOWN.match, _reads_as_prose, str.strip)
    places = (nth for found in firsts for nth, line in enumerate(lines) if found(line))
    number = next(places, 0)
    from ralph_ls.protocol.plan import PlanProblem

    problem = PlanProblem(code=code, message=message, line=number + 1)
    return ParsedPlan(plan=Plan(tasks=tasks), problems=(problem,), spans=((0, len(lines[number])),))


def is_markdown(text: str) -> bool:
    """Whether a text in a file of that name is Markdown, and no line of it is of a todo.txt."""
    lines = [line for _, line in lines_of(text)]
    sign = _MARK if any(map(_BOX.match, lines)) else _SIGN
    return any(map(_MARKDOWN.match, lines)) and not any(map(sign.match, lines))


def why_broken(text: str) -> str:
    """Why a text is no todo.txt, in words that follow its path: it has Markdown, or is prose."""
    lines = [line for _, line in lines_of(text)]
    if any(map(_MARKDOWN.match, lines)):
        return (
            "it has lines in Markdown, and a todo.txt has one task a line; "
            "write all of its tasks in one of the two forms"
        )
    if _are_prose(lines):
        return f"it is prose, and a todo.txt has one task a line; mark tasks, {_SUCH_AS}"
    return ""


def why_foreign(text: str) -> str:
    """Why a text in a file of that name is no plan at all: none of its lines is a task."""
    if is_markdown(text):
        has_tasks = parse_markdown(text).plan.tasks
        return "" if has_tasks else "it is Markdown without a task, such as: - [ ] Call the bank"
    return why_broken(text)


_SUCH_AS = "such as: (A) Call the bank +shop @phone"


def _are_prose(lines: Sequence[str]) -> bool:
    words = "\n".join(lines).strip().split("\n")
    filled = [line for line in words if line.strip()]
    if any(_SIGN.match(line) for line in filled):
        return False
    has_paragraphs = len(filled) < len(words)
    n_prose = sum(
        _reads_as_prose(line) or (has_paragraphs and _SENTENCE.fullmatch(line.strip()) is not None)
        for line in filled
        if not _is_marked(line)
    )
    return n_prose * 4 > len(filled)


def _reads_as_prose(line: str) -> bool:
    return _PROSE.fullmatch(line.strip()) is not None


def _is_marked(line: str) -> bool:
    return _SIGN.match(line) is not None or _WORD.search(line) is not None


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The ids of the tasks that each depends on: ``dep:``, ``depends:`` or ``after:``."""
    found = {}
    for task in _tasks_in(text):
        values = _read(text[task.start : task.end]).values
        names = [values.get(key, "") for key in ("dep", "depends", "after")]
        found[task.id] = tuple(name for part in names for name in part.split(",") if name)
    return {task_id: names for task_id, names in found.items() if names}


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    """What an agent may not change of each task: its words are its id where it has none."""
    return {
        task.id: {
            Forbidden.CRITERIA: task.title,
            Forbidden.PRIORITY: task.priority or "",
            Forbidden.DEPENDENCY: ",".join(needs),
        }
        for needed in [needs_of(text)]
        for task in _tasks_in(text)
        for needs in [needed.get(task.id, ())]
    }


def with_state(text: str, task_id: str, state: TaskState, reason: str = "", day: str = "") -> str:
    """The text with one task in a state; ``day`` is the date on which it was done, if known."""
    task = find_task(_tasks_in(text), task_id)
    if task.state is state and not reason:
        return text
    line = _opened(text[task.start : task.end])
    match state:
        case TaskState.DONE:
            line = _done(line, day)
        case TaskState.BLOCKED:
            line += " blocked:" + ("_".join(reason.split()) or "yes")
        case _:
            line += _STATUS.get(state, "")
    return text[: task.start] + line + text[task.end :]


def with_note(text: str, task_id: str, note: str) -> str:
    """The same text: a line has no place for notes."""
    del task_id, note
    return text


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task's line is as in ``other``."""
    return copy_task_lines(_tasks_in, text, other, task_id)


class _Line(NamedTuple):
    title: str
    state: TaskState
    reason: str | None
    priority: Priority | None
    section: str
    values: Mapping[str, str]


def _tasks_in(text: str) -> tuple[Task, ...]:
    found: list[Task] = []
    ids: set[str] = set()
    for number, (start, line) in enumerate(lines_of(text)):
        if _LINE.fullmatch(line) is None:
            continue
        read = _read(line)
        wanted = escape_surrogates(read.values.get("id", "")) or title_id(read.title)
        place = line.find(read.title)
        found.append(
            Task(
                id=unique_id(wanted, ids),
                title=read.title,
                state=read.state,
                priority=read.priority,
                section=read.section,
                optional=False,
                line=number,
                start=start,
                end=start + len(line),
                end_line=number,
                depth=0,
                parent=None,
                blocked_by=read.reason,
                criteria=(),
                words=None if place < 0 else (number, place, place + len(read.title)),
            )
        )
    return tuple(found)


def _read(line: str) -> _Line:
    found = _LINE.fullmatch(line)
    words = line if found is None else found["words"]
    values = {one["key"].casefold(): one["value"] for one in _VALUE.finditer(words)}
    bare = _VALUE.sub(lambda one: "" if one["key"].casefold() in _OWN else one[0], words)
    bare = _WAITING.sub("", bare)
    is_done = found is not None and found["done"] is not None
    letter = values.get("pri", "") if is_done else ("" if found is None else found["priority"])
    project = _PROJECT.search(words)
    state = _STATES.get(values.get("status", "").casefold(), TaskState.TODO)
    if "blocked" in values or _WAITING.search(words):
        state = TaskState.BLOCKED
    reason = values.get("blocked", "").replace("_", " ") if state is TaskState.BLOCKED else ""
    return _Line(
        title=escape_surrogates(fold_whitespace(bare) or fold_whitespace(words)),
        state=TaskState.DONE if is_done else state,
        reason=None if is_done or reason in {"", "yes"} else reason,
        priority=_priority_of(letter or ""),
        section="" if project is None else escape_surrogates(project["name"]),
        values=values,
    )


def _priority_of(letter: str) -> Priority | None:
    if not letter:
        return None
    return {"A": Priority.P0, "B": Priority.P1}.get(letter.upper(), Priority.P2)


def _done(line: str, day: str) -> str:
    """The line ticked; its priority becomes a value, as other tools do it."""
    mark, bare = _split_mark(line)
    letter = re.match(r"\(([A-Z])\)[ \t]+", bare)
    if letter is not None:
        bare = f"{bare[letter.end() :]} pri:{letter[1]}"
    return f"{mark}x {day} {bare}" if day else f"{mark}x {bare}"


def _opened(line: str) -> str:
    """The line without the mark and the values of any state."""
    mark, bare = _split_mark(line)
    ticked = re.match(rf"x[ \t]+(?:{_DATE}[ \t]+)?", bare)
    if ticked is not None:
        bare = bare[ticked.end() :]
        letter = re.search(r"[ \t]+pri:([A-Z])(?=[ \t]|$)", bare)
        if letter is not None:
            bare = f"({letter[1]}) {bare[: letter.start()]}{bare[letter.end() :]}"
    bare = re.sub(r"[ \t]+(?:status|blocked):\S+", "", bare, flags=re.IGNORECASE)
    return mark + re.sub(r"(?i)[ \t]+@(?:waiting|blocked)(?=[ \t]|$)", "", bare)


def _split_mark(line: str) -> tuple[str, str]:
    """The mark of the byte order, if the line has it, and the rest."""
    bare = line.removeprefix("\ufeff")
    return line[: len(line) - len(bare)], bare
