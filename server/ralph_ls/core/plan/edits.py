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


def block(text: str, task_id: str, reason: str, needs: str = "") -> str:
    """Set a task aside in S's form: the tag ``[BLOCKED]``, and below it what blocks it.

    The tag is put before the text unless the task is blocked already. The lines ``- Blocked by:``
    and ``- Needs:`` become the first ones nested in the task, unless the plan already says so;
    older ones stay below them. White space is folded, and an empty value gives no line. A task
    that is done or skipped leaves the text as it is. Raises RalphError when the plan has no such
    task.
    """
    task, marks = _find(text, task_id)
    if task.state in {TaskState.DONE, TaskState.SKIPPED}:
        return text
    blocked_by, needed = _in_line(reason), _in_line(needs)
    fields = []
    if blocked_by and blocked_by != task.blocked_by:
        fields.append(f"Blocked by: {blocked_by}")
    if needed and not _needs_already(text, task, needed):
        fields.append(f"Needs: {needed}")
    if fields:
        text = _insert_fields(text, task, marks, fields)
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


def _in_line(value: str) -> str:
    """What others said, as one line that cannot open a comment over the rest of the plan."""
    return fold(value).replace("<!--", "<! --")


def _needs_already(text: str, task: Task, needs: str) -> bool:
    """Whether a line in the task says that it needs just this."""
    lines = [line for _, line in lines_of(text)][task.line + 1 : task.end_line + 1]
    found = (read_field(line[_text_of(line) :]) for line in lines)
    return any(field == ("needs", needs) for field in found)


def _text_of(line: str) -> int:
    """Where the text of a line begins, after the marks of an item."""
    marks = find_marks(line)
    return len(line) - len(line.lstrip(" \t")) if marks is None else marks.text


def _insert_fields(text: str, task: Task, marks: Marks, fields: Sequence[str]) -> str:
    """Put the fields below the title, which may run over several lines.

    The new lines are indented as the line that follows them in the task, so that everything after
    them still belongs where it did.
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
    added = "".join(f"{ending}{indent}- {field}" for field in fields)
    return _insert(text, start + len(line), added)


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
