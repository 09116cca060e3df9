"""Operations of a format for tests: ``id|state|title|criterion|needs``, notes with ``+``."""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.core.plan.formats.plan_folder import join_files, split_files
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState


def _rows(text: str) -> list[tuple[int, int, list[str]]]:
    """Line, start and fields of each task."""
    rows, at = [], 0
    for line, content in enumerate(text.splitlines(keepends=True)):
        if content.count("|") == 4:
            rows.append((line, at, content.rstrip("\r\n").split("|")))
        at += len(content)
    return rows


def parse_text(text: str) -> ParsedPlan:
    tasks = []
    for file in split_files(text):
        rows = _rows(file.text)
        n_lines = len(file.text.splitlines())
        for nth, (line, start, fields) in enumerate(rows):
            following = rows[nth + 1][0] if nth + 1 < len(rows) else n_lines
            tasks.append(
                Task(
                    id=fields[0],
                    title=fields[2],
                    state=TaskState(fields[1]),
                    priority=None,
                    section="",
                    optional=False,
                    line=file.line + line,
                    start=file.start + start,
                    end=file.start + start + len("|".join(fields)),
                    end_line=file.line + following - 1,
                    depth=0,
                    parent=None,
                    blocked_by=None,
                    criteria=(fields[3],) if fields[3] else (),
                )
            )
    return ParsedPlan(plan=Plan(tasks=tuple(tasks)))


def why_broken(text: str) -> str:
    return "line 1: it is broken" if "BROKEN" in text else ""


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    return {
        fields[0]: tuple(fields[4].split(","))
        for file in split_files(text)
        for _, _, fields in _rows(file.text)
        if fields[4]
    }


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    return {
        fields[0]: {Forbidden.CRITERIA: f"{fields[2]}\n{fields[3]}"}
        for file in split_files(text)
        for _, _, fields in _rows(file.text)
    }


def _blocks(text: str) -> dict[str, str]:
    tasks = parse_text(text).plan.tasks
    lines = text.splitlines(keepends=True)
    return {task.id: "".join(lines[task.line : task.end_line + 1]) for task in tasks}


def _with(text: str, task_id: str, block: str) -> str:
    files = {}
    for file in split_files(text):
        old = _blocks(file.text).get(task_id)
        files[file.path] = file.text if old is None else file.text.replace(old, block)
    return files[""] if "" in files else join_files(files)


def with_state(text: str, task_id: str, state: TaskState, reason: str, day: str = "") -> str:
    del day
    if state is TaskState.SKIPPED:
        raise RalphError("lines cannot be skipped")
    block = _blocks(text)[task_id]
    fields = block.split("|")
    fields[1] = state.value
    return _with(text, task_id, "|".join(fields) + (f"+{reason}\n" if reason else ""))


def with_note(text: str, task_id: str, note: str) -> str:
    block = _blocks(text)[task_id]
    return _with(text, task_id, block.rstrip("\n") + f"\n+{note}\n")


def with_task_of(text: str, other: str, task_id: str) -> str:
    theirs, here = _blocks(other).get(task_id, ""), _blocks(text)
    if task_id in here:
        return _with(text, task_id, theirs)
    if any(file.path for file in split_files(other)):
        files = {file.path: file.text for file in split_files(text)}
        for file in split_files(other):
            if task_id in _blocks(file.text):
                files[file.path] = files.get(file.path, "") + theirs
        return join_files(files)
    return text + theirs
