"""Progress log: moves finished tasks from the plan to PROGRESS.md, and archives old entries.

See docs/rules.md#specifications. The log is ``# Progress Log``, a heading for each day, newest
first, and below it one ticked item per task with its notes and ``Commit: hash``. A log with another
layout is continued in that layout: the level of its day headings, its list marks, its line endings.
The log only grows; existing entries are not changed.

For archiving, an entry is a heading that begins with a day (``### 2026-02-04``,
``## 2026-02-04 14:00 - US-001``) and everything below it, up to the next such heading or one of the
same or a higher level. Entries move byte for byte; everything else stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import NamedTuple

from ralph_ls.core.markdown_fences import is_closing, leading_run
from ralph_ls.core.plan.edit.proposals import (
    Lines,
    ending_near,
    indent_of,
    lines_in,
    other_tasks,
    read_cached,
    task_essence,
    task_family,
)
from ralph_ls.core.plan.edit.state_markup import (
    facts_in,
    find_strike,
    find_tags,
    row_edit,
    text_start,
)
from ralph_ls.core.plan.edit.task_edits import names_commit, require_hash
from ralph_ls.core.plan.model import Plan, Task, TaskKind
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import TaskState


class ProgressMove(NamedTuple):
    """Both texts after finished tasks were moved."""

    plan: str
    log: str
    ids: tuple[str, ...]
    """The tasks that were moved, without those nested in them."""


def move_finished(
    plan_text: str, log_text: str, *, day: str, commits: Mapping[str, str] | None = None
) -> ProgressMove:
    """Move every finished task to the log, with its lines, below ``day``.

    A task is moved when it is done, and all tasks nested in it are done or skipped. A heading moves
    with the lines below it, unless there are further headings; for a row of a table the log gets
    the cells by name. ``day`` is ``YYYY-MM-DD``; ``commits`` has the hash for a task's id, which is
    written unless the task names a commit already. Without such tasks both texts are unchanged. A
    task also stays if the rest of the plan would be parsed differently without it. Raises
    RalphError if that holds for all of them, and for an invalid day or hash.
    """
    if _DAY.fullmatch(day) is None:
        raise RalphError(f"{day!r} is not a date; write it as 2026-01-31")
    known = commits or {}
    for commit in known.values():
        require_hash(commit)
    plan = read_cached(plan_text)
    found = lines_in(plan_text)
    finished = _finished(plan, [line for _, line in found])
    if not finished:
        return ProgressMove(plan_text, log_text, ())
    finished = _can_go(plan_text, plan, finished)
    if not finished:
        raise RalphError(
            "the finished tasks cannot be moved out of the plan without changing how the rest is "
            "read; move them to the log by hand"
        )
    left = _take_out(plan_text, finished)
    items = [_entry(found, task, known.get(task.id)) for task in finished]
    ending = _ending_of(log_text) or _ending_of(plan_text) or "\n"
    return ProgressMove(
        left, _add_to_log(log_text, day, items, ending), tuple(task.id for task in finished)
    )


_DAY = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_DAY_HEADING = re.compile(r"(#{1,6})[ \t]+\[?(\d{4}-\d{2}-\d{2})\b.*")
_COMPLETED = re.compile(r"(#{1,5})[ \t]+completed(?: tasks)?[ \t]*#*[ \t]*", re.IGNORECASE)
_HEADING = re.compile(r"\ufeff?#{1,6}(?=[ \t]|\Z)")
_TITLE = re.compile(r"\ufeff?#[ \t].*")
_DONE_TAGS = re.compile(r"done|completed?", re.IGNORECASE)


def _finished(plan: Plan, lines: list[str]) -> list[Task]:
    settled = {TaskState.DONE, TaskState.SKIPPED}
    return [
        task
        for task in plan.tasks
        if task.depth == 0
        and task.state is TaskState.DONE
        and _is_separable(lines, task)
        and all(one.state in settled for one in task_family(plan, task))
    ]


def _can_go(text: str, plan: Plan, tasks: list[Task]) -> list[Task]:
    """All of them, or as many as can be moved without changing how the rest is parsed."""
    if _goes_quietly(text, plan, tasks):
        return tasks
    going: list[Task] = []
    for task in tasks:
        if _goes_quietly(text, plan, [*going, task]):
            going.append(task)
    return going


def _goes_quietly(text: str, plan: Plan, tasks: list[Task]) -> bool:
    gone = [one for task in tasks for one in task_family(plan, task)]
    left = parse_markdown(_take_out(text, tasks)).plan
    return sorted(map(repr, other_tasks(left, []))) == sorted(map(repr, other_tasks(plan, gone)))


def _is_separable(lines: list[str], task: Task) -> bool:
    """Whether no line below depends on the task's lines."""
    match task.kind:
        case TaskKind.ITEM:
            marks = find_marks(lines[task.line])
            return marks is not None and len(marks.starts) == 1
        case TaskKind.HEADING:
            below = next((line for line in lines[task.end_line + 1 :] if line.strip()), "#")
            return 0 < _level(below) <= _level(lines[task.line])
        case TaskKind.ROW:
            return True
        case TaskKind.STORY:  # pragma: no cover
            raise AssertionError(f"a markdown plan has no task of the kind {task.kind}")


def _level(line: str) -> int:
    """Count the ``#`` of a heading; 0 for any other line."""
    found = _HEADING.match(line)
    return 0 if found is None else found[0].count("#")


def _take_out(text: str, tasks: list[Task]) -> str:
    """Cut whole lines; of two blank lines that become adjacent, one is cut, too."""
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    found = lines_in(text)
    begins = [*(start for start, _ in found), len(text)]
    gone = {nth for task in tasks for nth in range(task.line, task.end_line + 1)}
    kept: list[int] = []
    is_after_gap = False
    for number, (_, line) in enumerate(found):
        if number in gone:
            is_after_gap = True
            continue
        is_blank = not line.strip()
        if is_blank and is_after_gap and number < len(found) - 1 and _ends_blank(found, kept):
            continue
        is_after_gap = is_after_gap and is_blank
        kept.append(number)
    left = "".join(text[begins[nth] : begins[nth + 1]] for nth in kept)
    if kept and kept[-1] < len(found) - 1 and not text.endswith(("\n", "\r")):
        last = kept[-1]
        left = left[: len(left) - (begins[last + 1] - begins[last]) + len(found[last][1])]
    return left if left.startswith(bom) else bom + left


def _ends_blank(found: Lines, kept: list[int]) -> bool:
    return not kept or not found[kept[-1]][1].strip("\ufeff \t")


def _entry(found: Lines, task: Task, commit: str | None) -> list[str]:
    """The lines of a task as written to the log, indented from the margin."""
    lines = [line for _, line in found[task.line : task.end_line + 1]]
    title = _named(task)
    match task.kind:
        case TaskKind.ITEM:
            title = _text_of(lines[0])
            indent = indent_of(lines[0].removeprefix("\ufeff"))
            entry = [line.removeprefix(indent) for line in lines[1:]]
        case TaskKind.HEADING:
            while len(lines) > 1 and not lines[1].strip():
                del lines[1]
            entry = [f"  {line}" if line.strip() else line for line in lines[1:]]
        case TaskKind.ROW:
            facts = facts_in(row_edit(found, task), task)
            entry = [f"  - {head}: {value}" for head, value in facts.items()]
        case TaskKind.STORY:  # pragma: no cover
            raise AssertionError(f"a markdown plan has no task of the kind {task.kind}")
    if commit is not None and not names_commit(entry):
        nested = next((indent_of(line) for line in entry if line.strip()), "") or "  "
        entry.insert(0, f"{nested}- Commit: {commit}")
    return [f"- [x] {title}", *entry]


def _named(task: Task) -> str:
    """The title with the task's id from the plan, without an appended number."""
    explicit = task_essence(task)[0]
    return f"{explicit}: {task.title}" if explicit and explicit != task.title else task.title


def _text_of(line: str) -> str:
    """The text of an item, without the marks of a done one."""
    text = line[text_start(line) :]
    for begin, end in reversed(list(find_tags(text, 0, _DONE_TAGS))):
        text = text[:begin] + text[end:]
    strike = find_strike(text, 0)
    if strike is not None:
        text = text[: strike[0]] + text[strike[0] + 2 : strike[1]] + text[strike[1] + 2 :]
    return text


def _add_to_log(text: str, day: str, items: list[list[str]], ending: str) -> str:
    """Insert the items first in their day, and the day before the older ones."""
    if not text.strip("\ufeff \t\r\n"):
        text = f"{text.rstrip()}# Progress Log{ending}"
    found = lines_in(text)
    lines = [line for _, line in found]
    days = [
        (number, heading)
        for number, line in enumerate(lines)
        if (heading := _DAY_HEADING.fullmatch(line)) is not None
    ]
    new = [line for item in items for line in item]
    same = next((number for number, heading in days if heading[2] == day), None)
    if same is not None:
        at = same + 1
        while at < len(lines) - 1 and not lines[at].strip():
            at += 1
        if _HEADING.match(lines[at]) or not lines[at].strip():
            return _insert(text, found, same + 1, new, ending)
        return _insert(text, found, at, new, ending)
    older = next(((number, heading) for number, heading in days if heading[2] < day), None)
    if older is not None:
        return _insert(text, found, older[0], [f"{older[1][1]} {day}", *new, ""], ending)
    if days:
        level = days[-1][1][1]
        return _insert(text, found, len(lines), ["", f"{level} {day}", *new], ending)
    at, level = _first_place(lines)
    return _insert(text, found, at, ["", f"{level} {day}", *new], ending)


def _first_place(lines: list[str]) -> tuple[int, str]:
    """The place of the first day of a log: below ``Completed Tasks``, else below the title."""
    for number, line in enumerate(lines):
        completed = _COMPLETED.fullmatch(line)
        if completed is not None:
            return number + 1, f"{completed[1]}#"
    title = next((number for number, line in enumerate(lines) if _TITLE.fullmatch(line)), -1)
    return title + 1, "##"


def _insert(text: str, found: Lines, at: int, new: list[str], ending: str) -> str:
    """Insert lines before a line; behind the last one, the end of the text is kept."""
    if at < len(found):
        start = found[at][0]
        return text[:start] + "".join(line + ending for line in new) + text[start:]
    is_ended = found[-1][1] == "" and len(found) > 1
    added = ending.join(new)
    return text + added + ending if is_ended else text + ending + added


def _ending_of(text: str) -> str:
    found = lines_in(text)
    return ending_near(text, found, 0) if len(found) > 1 else ""


def entries_without_commit(log: str, limit: int) -> dict[int, int]:
    """The first ticked items of a log that name no commit, at most so many.

    By the line of each, from 0: the line after its last one. What is in fences is no entry.
    """
    entries: dict[int, int] = {}
    for start, entry in _ticked(log):
        if len(entries) < limit and not names_commit(entry):
            entries[start] = start + len(entry)
    return entries


def name_commits(log: str, commits: Mapping[int, str]) -> str:
    """The log with ``Commit: hash`` as the first line below these items, by their lines."""
    found = lines_in(log)
    ending = _ending_of(log) or "\n"
    for start, entry in reversed([*_ticked(log)]):
        if start in commits:
            inner = " " * entry[0].index("[")
            nested = next((indent_of(line) for line in entry[1:] if line.strip()), "") or inner
            new = [f"{nested}- Commit: {commits[start]}"]
            log = _insert(log, found, start + 1, new, ending)
    return log


def _ticked(log: str) -> Iterator[tuple[int, list[str]]]:
    """The ticked items at the margin: the line of each, and its text."""
    fence, start = "", -1
    lines = [line for _, line in lines_in(log)]
    for number, line in enumerate([*lines, "end"]):
        is_inside, fence = bool(fence), _fence_after(line, fence)
        is_margin = bool(line.strip()) and not is_inside and line == line.lstrip()
        if is_margin and start >= 0:
            yield start, lines[start:number]
        if is_margin:
            start = number if _TICKED.match(line) else -1


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after a line."""
    if not fence:
        return leading_run(line)
    return "" if is_closing(fence, line.strip()) else fence


_TICKED = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+\[[xX]\][ \t]")


ARCHIVE_TITLE = "# Progress Log Archive"


class ArchivedLog(NamedTuple):
    """A log without its old entries, and those."""

    kept: str
    old: tuple[str, ...]
    """In the order of the log; each ends as it does there."""


def archive_path(log: str) -> str:
    """The file beside a log that receives its old entries: ``PROGRESS-archive.md``."""
    folder, slash, name = log.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    return f"{folder}{slash}{stem}-archive{dot}{suffix}"


def split_old_entries(log: str, *, today: date, keep_days: int) -> ArchivedLog:
    """Split off the entries that are older than so many days; never raises.

    A heading with a day that does not exist is no entry, and a future one is not old.
    """
    first_kept = (today - timedelta(days=min(keep_days, today.toordinal() - 1))).isoformat()
    kept: list[str] = []
    old: list[str] = []
    for day, text in _parts(log):
        if day and day < first_kept:
            old.append(text)
        else:
            kept.append(text)
    return ArchivedLog("".join(kept), tuple(old))


def add_to_archive(archive: str, old: tuple[str, ...]) -> str:
    """The archive with these entries before the older ones that it has.

    An entry that it has already is not added again, so that an interrupted move can be repeated.
    """
    there = {text.rstrip() for day, text in _parts(archive) if day}
    new = [entry for entry in old if entry.rstrip() not in there]
    if not new:
        return archive
    ending = "\r\n" if "\r\n" in (archive or new[0]) else "\n"
    if not archive.strip("\ufeff \t\r\n"):
        archive = f"{ARCHIVE_TITLE}{ending}{ending}"
    if not new[-1].endswith("\n"):
        new[-1] += ending
    parts = list(_parts(archive))
    first = next((at for at, (day, _) in enumerate(parts) if day), len(parts))
    before = "".join(text for _, text in parts[:first])
    if before and not before.endswith("\n"):
        before += ending
    return before + "".join(new) + "".join(text for _, text in parts[first:])


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with the day of its entry; empty outside entries."""
    day, level, fence = "", 0, ""
    piece: list[str] = []
    for line in _LINE.findall(text):
        run = leading_run(line)
        if run and not fence:
            fence = run
        elif run and is_closing(fence, line.strip()):
            fence = ""
        heading = None if fence else _ENTRY_HEADING.match(line)
        if heading is not None:
            began = _day_of(line[heading.end() :])
            if began or len(heading[1]) <= level:
                yield day, "".join(piece)
                piece, day, level = [], began, len(heading[1]) if began else 0
        piece.append(line)
    yield day, "".join(piece)


def _day_of(text: str) -> str:
    found = _ENTRY_DAY.match(text)
    if found is None:
        return ""
    try:
        return date.fromisoformat(found[1]).isoformat()
    except ValueError:
        return ""


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ENTRY_HEADING = re.compile(r"\ufeff?(#{1,6})[ \t]+")
_ENTRY_DAY = re.compile(r"\[?([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
