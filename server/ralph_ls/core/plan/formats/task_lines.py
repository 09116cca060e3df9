"""Task lines: a task of a text as whole lines, replaced, inserted or removed.

For formats in which a task begins on a separate line, and ends before the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ralph_ls.core.markdown_fences import is_closing, opening_run, opens_inside
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.protocol.errors import RalphError

BLOCKED_BY = "Blocked by: "
"""How the last line of a task begins in which a reason is noted."""

Tasks = Callable[[str], Sequence[Task]]


def find_task(tasks: Sequence[Task], task_id: str) -> Task:
    """The task with this id; raises RalphError where there is none."""
    task = next((one for one in tasks if one.id == task_id), None)
    if task is None:
        raise RalphError(f"the plan has no task {task_id}; see the ids in: ralph plan")
    return task


def copy_task_lines(tasks_of: Tasks, text: str, other: str, task_id: str) -> str:
    """The text with a task's own lines as in ``other``, without what is nested in it.

    A task that the text has not is inserted behind its nearest earlier neighbour; one that
    ``other`` has not is removed.
    """
    here, there = list(tasks_of(text)), list(tasks_of(other))
    mine = next((one for one in here if one.id == task_id), None)
    theirs = next((one for one in there if one.id == task_id), None)
    written = "" if theirs is None else _own_lines(other, there, theirs)
    if mine is not None:
        start, at = own_span(text, here, mine)
    elif theirs is None:
        return text
    else:
        start = at = _place_for(text, here, other, there, theirs)
    before, after = text[:start], text[at:]
    if before and written and not before.endswith(("\n", "\r")):
        before += ending_of(text)
    is_open = written and after and not written.endswith(("\n", "\r"))
    return before + written + (ending_of(text) if is_open else "") + after


def own_span(text: str, tasks: Sequence[Task], task: Task) -> tuple[int, int]:
    """Where a task's own lines begin and end, with their last line ending."""
    inside = (one.line for one in tasks if task.line < one.line <= task.end_line)
    n_lines = min(inside, default=task.end_line + 1) - task.line
    end = task.start
    for _ in range(n_lines):
        end = next_line(text, end)
    return task.start, end


def with_last_line(tasks_of: Tasks, text: str, task_id: str, line: str, *, indent: str = "") -> str:
    """The text with one more line at the end of a task's own lines, unless they end with it."""
    tasks = tasks_of(text)
    start, end = own_span(text, tasks, find_task(tasks, task_id))
    written = text[start:end].rstrip()
    if written.splitlines()[-1].strip() == line:
        return text
    at = start + len(written)
    return f"{text[:at]}{ending_of(text)}{indent}{line}{text[at:]}"


def without_reason(tasks_of: Tasks, text: str, task_id: str, *, begins: str = BLOCKED_BY) -> str:
    """The text without the last of a task's own lines, where that has the reason."""
    tasks = tasks_of(text)
    start, end = own_span(text, tasks, find_task(tasks, task_id))
    written = text[start:end].rstrip()
    line = max(written.rfind("\n"), written.rfind("\r"))
    if line < 0 or not written[line + 1 :].strip().startswith(begins):
        return text
    kept = written[:line].removesuffix("\r")
    return text[:start] + kept + text[start + len(written) :]


def lines_outside_fences(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Number, beginning and text of each line; None as the text of one in a fence of Markdown."""
    fence, language, inner = "", "", 0
    for number, (start, line) in enumerate(lines_of(text)):
        bare = line.strip()
        if not fence:
            fence, inner = opening_run(bare), 0
            language = bare[len(fence) :].strip().lower()
            yield number, start, None if fence else line
            continue
        if opens_inside(fence, language, bare):
            inner += 1
        elif is_closing(fence, bare):
            fence, inner = ("", 0) if not inner else (fence, inner - 1)
        yield number, start, None


def ending_of(text: str) -> str:
    """The line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def unique_id(wanted: str, ids: set[str]) -> str:
    """The id, with a number behind it where an earlier task has it; ``ids`` has it from now on."""
    task_id, nth = wanted, 2
    while task_id in ids:
        task_id, nth = f"{wanted}-{nth}", nth + 1
    ids.add(task_id)
    return task_id


def next_line(text: str, start: int) -> int:
    """Where the next line begins."""
    ends = [at for at in (text.find("\n", start), text.find("\r", start)) if at >= 0]
    if not ends:
        return len(text)
    at = min(ends)
    return at + (2 if text.startswith("\r\n", at) else 1)


def _own_lines(text: str, tasks: Sequence[Task], task: Task) -> str:
    start, end = own_span(text, tasks, task)
    return text[start:end]


def _place_for(
    text: str, here: Sequence[Task], other: str, there: Sequence[Task], theirs: Task
) -> int:
    """Where a task goes: behind the line that it follows there, else behind the task before it."""
    known = {one.id: one for one in here}
    earlier = [known[one.id] for one in there if one.line < theirs.line and one.id in known]
    later = [known[one.id] for one in there if one.line > theirs.line and one.id in known]
    begin = own_span(text, here, earlier[-1])[1] if earlier else 0
    end = later[0].start if later else len(text)
    if not later and not earlier:
        return len(text)
    line = other[: theirs.start].splitlines(keepends=True)[-1:]
    found = text.find(line[0], begin, end) if line and line[0].strip() else -1
    if found >= 0:
        return found + len(line[0])
    return begin if earlier else end
