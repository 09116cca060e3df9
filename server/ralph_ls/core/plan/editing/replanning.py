"""Opening again what a plan says is in progress, before the plan is made anew (SPEC §9, replan).

A plan iteration must not take half-done work for somebody's present work: no agent of an earlier
iteration is left that could be at it. Each change is a minimal edit, and is kept only where the
text reads afterwards as before but for that one task; what cannot be changed so is left alone and
told. This module must never know a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ralph_ls.core.plan.lines import find_marks, lines_of
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.protocol.plan import TaskState

RESET_NOTE = "Reset for replanning"
"""What a task says that was opened again (SPEC §9)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """A plan in which nothing is in progress, as far as that could be brought about."""

    text: str
    opened: tuple[str, ...]
    """Titles of the tasks that were in progress and are open now."""
    left: tuple[str, ...]
    """Titles of those whose state is written in a way that no small edit changes."""


def reset_in_progress(text: str) -> Reset:
    """Open each task that is in progress, and note that below it; every other byte stays."""
    opened: list[str] = []
    left: list[str] = []
    plan = parse(text).plan
    for task_id in [task.id for task in plan.tasks if task.state is TaskState.IN_PROGRESS]:
        task = plan.by_id()[task_id]
        changed = next(_fitting(text, plan, task), None)
        if changed is None:
            left.append(task.title)
            continue
        opened.append(task.title)
        text = changed
        plan = parse(text).plan
    return Reset(text=text, opened=tuple(opened), left=tuple(left))


_FORMS = (
    (re.compile(r"(?<=\[)~(?=\])"), " "),
    (re.compile(r"(?:\*\*)?\[(?:IN[ -]PROGRESS|WIP)\](?:\*\*)?:?[ \t]*", re.IGNORECASE), ""),
    (re.compile("(?:\U0001f7e1|\U0001f7e0|\U0001f504|\U0001f6a7|\u23f3)\ufe0f?"), "\u26aa"),
    (re.compile(r"(?<=status:)(\W*)(?:in[ -]progress|wip)\b", re.IGNORECASE), r"\1todo"),
    (re.compile(r"(?<=status:\*\*)(\W*)(?:in[ -]progress|wip)\b", re.IGNORECASE), r"\1todo"),
)
"""How a state in progress is written, and what an open one has there."""


def ways_to_open(text: str, task: Task) -> Iterator[str]:
    """Texts in which the task may be open instead of in progress; each is to be read again."""
    for begin, until, item in _open_forms(text, task, list(lines_of(text))):
        yield text[:begin] + item + text[until:]


def _fitting(text: str, plan: Plan, task: Task) -> Iterator[str]:
    """The edits that open this task and change nothing else, the ones with the note first."""
    lines = list(lines_of(text))
    end = lines[task.end_line][0] + len(lines[task.end_line][1])
    for begin, until, item in _open_forms(text, task, lines):
        changed = text[:begin] + item + text[until:]
        shift = len(changed) - len(text)
        noted = _with_note(changed, task, lines, end + shift)
        yield from (one for one in (noted, changed) if _opens_only(plan, task, one))


def _open_forms(
    text: str, task: Task, lines: list[tuple[int, str]]
) -> Iterator[tuple[int, int, str]]:
    """Where the task's line, or all of it, says that it is in progress, and what opens it."""
    end = lines[task.end_line][0] + len(lines[task.end_line][1])
    for begin, until in ((task.start, task.end), (task.start, end)):
        for pattern, open_form in _FORMS:
            item, n_changed = pattern.subn(open_form, text[begin:until], count=1)
            if n_changed:
                yield begin, until, item


def _with_note(text: str, task: Task, lines: list[tuple[int, str]], at: int) -> str:
    """The text with the note as the item's last line; below a heading it stands by itself."""
    first = lines[task.line][1]
    marks = find_marks(first)
    begin, after = (0, 0) if marks is None else (marks.starts[-1], marks.contents[-1])
    before = "".join("\t" if mark == "\t" else " " for mark in first[:begin].lstrip("\ufeff"))
    indent = before + " " * (after - begin)
    ending = next((sign for sign in ("\r\n", "\n", "\r") if text.startswith(sign, at)), "\n")
    return f"{text[:at]}{ending}{indent}- {RESET_NOTE}{text[at:]}"


def _opens_only(before: Plan, task: Task, text: str) -> bool:
    after = parse(text).plan
    wanted = [
        (one.id, one.title, TaskState.TODO if one.id == task.id else one.state)
        for one in before.tasks
    ]
    return [(one.id, one.title, one.state) for one in after.tasks] == wanted
