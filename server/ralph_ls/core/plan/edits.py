"""Change one task in the text of a plan, and nothing else: every other byte stays as it was.

Line endings, tabs, trailing spaces, a BOM and a missing last line ending are the writer's own.
An edit works on text, so it knows neither the file nor who else is writing it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralph_ls.core.plan.items import read_field
from ralph_ls.core.plan.lines import Marks, find_marks, lines_of
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.titles import fold
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import TaskState


def tick(text: str, task_id: str) -> str:
    """Mark a task as done.

    With a box, what stands in it becomes ``x``: one character. Without one, ``[DONE] `` is put
    before the text, as in the plan's other tags; a box there would change how the other items
    without one are read. A task that is done already leaves the text as it is; a skipped or
    blocked one is ticked like any other. Raises RalphError when the plan has no such task.
    """
    task, marks = _find(text, task_id)
    if task.state is TaskState.DONE:
        return text
    if marks.box is None:
        return _insert(text, task.start + marks.text, "[DONE] ")
    begin, end = (task.start + position for position in marks.box)
    return text[:begin] + "x" + text[end:]


def block(text: str, task_id: str, reason: str) -> str:
    """Set a task aside in S's form: the tag ``[BLOCKED]``, and the reason in a line below it.

    The tag is put before the text unless the task is blocked already. The line ``- Blocked by:``
    becomes the first one nested in the task, unless the plan already gives that reason; an older
    reason stays below it. White space in the reason is folded, and an empty one gives no line. A
    task that is done or skipped leaves the text as it is. Raises RalphError when the plan has no
    such task.
    """
    task, marks = _find(text, task_id)
    if task.state in {TaskState.DONE, TaskState.SKIPPED}:
        return text
    folded = fold(reason)
    if folded and folded != task.blocked_by:
        text = _insert_reason(text, task, marks, folded)
    if task.state is not TaskState.BLOCKED:
        at = task.start + marks.text
        has_gap = text[at - 1].isspace()
        text = _insert(text, at, "[BLOCKED] " if has_gap else " [BLOCKED] ")
    return text


def _find(text: str, task_id: str) -> tuple[Task, Marks]:
    task = parse(text).plan.find(task_id)
    marks = None if task is None else find_marks(text[task.start : task.end])
    if task is None or marks is None:
        raise RalphError(
            f"the plan has no task {task_id!r}; its tasks and their ids are shown by: ralph plan"
        )
    return task, marks


def _insert(text: str, position: int, addition: str) -> str:
    return text[:position] + addition + text[position:]


def _insert_reason(text: str, task: Task, marks: Marks, reason: str) -> str:
    """Put the reason below the title, which may run over several lines.

    The new line is indented as the line that follows it in the task, so that everything after it
    still belongs where it did.
    """
    lines = list(lines_of(text))
    title_end = task.line
    while title_end < task.end_line and _goes_on(lines[title_end + 1][1]):
        title_end += 1
    nested = [line for _, line in lines[title_end + 1 : task.end_line + 1] if line.strip(" \t")]
    first_line = text[task.start : task.end]
    indent = _indent_of(nested[0]) if nested else _indent_below(first_line, marks)
    start, line = lines[title_end]
    ending = _ending_near(text, lines, title_end)
    return _insert(text, start + len(line), f"{ending}{indent}- Blocked by: {reason}")


def _goes_on(line: str) -> bool:
    """Say whether a line inside an item goes on with the paragraph of the line before it."""
    stripped = line.strip(" \t")
    if not stripped or stripped.startswith(("#", ">", "<!--", "```", "~~~")):
        return False
    return not (stripped.endswith(":") or read_field(stripped) or find_marks(line))


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_below(first_line: str, marks: Marks) -> str:
    """Give the white space that stands below the item's text, keeping the tabs of its line."""
    begin, after = marks.starts[-1], marks.contents[-1]
    before = "".join(mark if mark == "\t" else " " for mark in first_line[:begin].lstrip("\ufeff"))
    return before + " " * (after - begin)


def _ending_near(text: str, lines: Sequence[tuple[int, str]], number: int) -> str:
    """Give the ending of a line; of the one before it when it is the last line; else LF."""
    for nth in (number, number - 1):
        if 0 <= nth < len(lines) - 1:
            start, line = lines[nth]
            return text[start + len(line) : lines[nth + 1][0]]
    return "\n"
