"""Task order: add a task to a plan, or move one to another place.

Lines keep their endings; numbers change only where the order of a numbered list requires it. As in
``task_edits``, each result is parsed again, and refused with RalphError if another task would be
parsed differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from ralph_ls.core.plan.diff.text_diff import TextChange
from ralph_ls.core.plan.edit.layout import (
    InsertionPoint,
    LineSheet,
    TaskSection,
    find_section,
    item_like,
    last_task_in,
    number_of,
    sections_of,
)
from ralph_ls.core.plan.edit.proposals import (
    apply_changes,
    as_single_line,
    edit_refusal,
    find_task,
    first_valid_proposal,
    lines_in,
    other_tasks,
    read_cached,
    task_essence,
    task_family,
)
from ralph_ls.core.plan.edit.state_markup import (
    find_tags,
    row_edit,
    row_proposals,
    set_word,
    tag_title,
    text_start,
)
from ralph_ls.core.plan.model import Plan, Task, TaskKind
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.words.title_states import opening_remark
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import Priority, TaskState


def add_task(
    text: str,
    title: str,
    *,
    after: str | None = None,
    section: str | None = None,
    priority: Priority | None = None,
) -> str:
    """Add an open task: after another one, else at the end of a section or of the plan.

    ``after`` is the id of the task; ``section`` the title of a heading. With ``priority`` alone it
    is inserted below the first heading of that priority, and gets a tag where there is none. It is
    written like its neighbours (bullet or number, box or none), later numbers continue from it, and
    white space in the title is folded. Raises RalphError if there is no such task or heading, if
    the title is empty, or if the new line would not be parsed as an open task.
    """
    words = as_single_line(title)
    if not words:
        raise RalphError("the task has no title; say what should be done")
    sheet = LineSheet.of(text)
    plan = read_cached(text)
    place = _place_to_add(sheet, plan, after=after, section=section, priority=priority)
    row = next((one for one in plan.tasks if one.line == place.beside), None)
    for way in (words, f"{_tag_for(text, priority)} {words}") if priority else (words,):
        if row is not None and row.kind is TaskKind.ROW:
            lines = row_proposals(row_edit(lines_in(text), row), way)
        else:
            lines = item_like(place.model, way) if place.model else [f"- [ ] {way}"]
        for line in lines:
            added = sheet.insert(line, place)
            if _is_added(plan, added, place.line, priority):
                return added
    raise RalphError(
        f"the task {words!r} cannot be added on line {place.line + 1} of the plan without "
        "changing how other lines are read; add it by hand, or name another task or section"
    )


def move_task(
    text: str, task_id: str, *, before: str | None = None, after: str | None = None
) -> str:
    """Move a task with its nested lines before or after another one.

    Exactly one of the two is given. It is indented and marked like its new neighbour. Inside one
    numbered list the numbers stay in place; in another list the task gets the next number there.
    Raises RalphError if there is no such task, if it would be moved into itself, or if it would not
    be parsed as the same task.
    """
    plan, task = find_task(text, task_id)
    _, target = find_task(text, _one_of(before, after))
    if target.id == task.id:
        return text
    if target in task_family(plan, task):
        raise RalphError(
            f"the task {task.id} cannot be moved next to {target.id}, which is nested in it; "
            "choose a task outside it"
        )
    sheet = LineSheet.of(text)
    is_before = before is not None
    line = target.line if is_before else target.end_line + 1
    place = InsertionPoint(line, sheet.lines[target.line], beside=target.line, is_before=is_before)
    return _relocate(text, sheet, plan, task, place)


def move_task_into(text: str, task_id: str, section: str) -> str:
    """Move a task with its nested lines to the end of a section of tasks.

    Raises RalphError if there is no such task or section, or if it would not be parsed as the same
    task there.
    """
    plan, task = find_task(text, task_id)
    sheet = LineSheet.of(text)
    found = find_section(sections_of(sheet.lines), section)
    if found is None:
        raise RalphError(f"the plan has no section {section!r} with tasks")
    return _relocate(text, sheet, plan, task, _end_of(sheet, plan, found, "- [ ] task"))


def set_priority(text: str, task_id: str, priority: Priority) -> str:
    """Set a task's priority as the plan writes it: by its tag, its section, or a new tag.

    An existing tag is replaced, and so is the priority column in a row of a table. Otherwise a task
    in the section of another priority is moved to the end of the section of this one. Otherwise it
    gets a tag, in words that the plan uses already; a heading, whose priority no tag can set, is
    refused. If the task has that priority already, the text is unchanged.
    """
    plan, task = find_task(text, task_id)
    if task.priority is priority:
        return text
    line = text[task.start : task.end]
    at = text_start(line)
    spans = [
        (begin, end)
        for begin, end in find_tags(line, at, _PRIORITY_TAGS)
        if begin == at or line[:begin].rstrip().endswith("]") or not line[end:].strip()
    ]
    sheet = LineSheet.of(text)
    if not spans and task.depth == 0:
        sections = sections_of(sheet.lines)
        here = max((one for one in sections if one.line < task.line), default=None)
        there = next((s for s in sections if s.priority is priority and not s.is_done), None)
        if here is not None and here.priority is not None and there is not None:
            place = _end_of(sheet, plan, there, "")
            with suppress(RalphError):
                return _relocate(text, sheet, plan, task, place, priority=priority)
    proposals = (
        apply_changes(text, changes) for changes in _prioritised(text, task, at, spans, priority)
    )
    return first_valid_proposal(
        text,
        plan,
        task,
        proposals,
        lambda now: now.state is task.state and now.priority is priority,
        doing=f"given the priority {priority.value}",
        instead=(
            "move it below a heading with that priority"
            if task.kind is TaskKind.HEADING
            else "edit the plan by hand"
        ),
    )


_PRIORITY_TAGS = re.compile(
    r"(?:high|medium|low) priority|high|critical|urgent|medium|standard|low|nice to have|p[012]",
    re.IGNORECASE,
)
_BOXES = {
    TaskState.TODO: " ",
    TaskState.IN_PROGRESS: "~",
    TaskState.DONE: "x",
    TaskState.BLOCKED: "!",
    TaskState.SKIPPED: "-",
}
_WORDS = {
    Priority.P0: ("HIGH PRIORITY", "HIGH", "P0"),
    Priority.P1: ("MEDIUM PRIORITY", "MEDIUM", "P1"),
    Priority.P2: ("LOW PRIORITY", "LOW", "P2"),
}


def _place_to_add(
    sheet: LineSheet,
    plan: Plan,
    *,
    after: str | None,
    section: str | None,
    priority: Priority | None,
) -> InsertionPoint:
    if after is not None:
        task = plan.find(after)
        if task is None:
            raise RalphError(
                f"the plan has no task {after!r}; list the tasks and their ids with: ralph plan"
            )
        return InsertionPoint(task.end_line + 1, sheet.lines[task.line], beside=task.line)
    sections = sections_of(sheet.lines)
    usual = sheet.lines[plan.tasks[0].line] if plan.tasks else ""
    if section is not None:
        found = find_section(sections, section)
        if found is None:
            titles = ", ".join(repr(one.title) for one in sections) or "none"
            raise RalphError(f"the plan has no section {section!r} with tasks; it has: {titles}")
        return _end_of(sheet, plan, found, usual)
    fitting = [one for one in sections if one.priority is priority and not one.is_done]
    if priority is not None and fitting:
        return _end_of(sheet, plan, fitting[0], usual)
    done = [range(one.line, one.last + 1) for one in sections if one.is_done]
    top = [t for t in plan.tasks if t.depth == 0 and not any(t.line in part for part in done)]
    if top:
        return InsertionPoint(top[-1].end_line + 1, sheet.lines[top[-1].line], beside=top[-1].line)
    n_lines = len(sheet.lines)
    return InsertionPoint(n_lines - (not sheet.lines[-1]), "", is_apart=True)


def _end_of(sheet: LineSheet, plan: Plan, section: TaskSection, usual: str) -> InsertionPoint:
    last = last_task_in(plan, section)
    if last is None:
        model = "" if find_marks(usual) is None else usual.lstrip(" \t")
        model = "" if number_of(model) is not None else model
        return InsertionPoint(section.last + 1, model, is_apart=True)
    return InsertionPoint(last.end_line + 1, sheet.lines[last.line], beside=last.line)


def _is_added(before: Plan, text: str, line: int, priority: Priority | None) -> bool:
    """Whether exactly one task was added, open, and with the intended priority."""
    after = parse_markdown(text).plan
    old = {number: task_essence(task) for number, task in enumerate(before.tasks)}
    if len(after.tasks) != len(old) + 1:
        return False
    new = next((task for task in after.tasks if task.line >= line), None)
    if new is None or new.state in {TaskState.DONE, TaskState.SKIPPED}:
        return False
    if priority is not None and new.priority is not priority:
        return False
    return other_tasks(after, [new]) == other_tasks(before, [])


def _one_of(before: str | None, after: str | None) -> str:
    if before is not None and after is None:
        return before
    if after is not None and before is None:
        return after
    raise RalphError("give either before or after, not both")


def _tag_for(text: str, priority: Priority) -> str:
    """The tag that the plan uses for this priority, or one in the style of its others."""
    for index in range(2):
        if any(f"[{words[index]}]" in text for words in _WORDS.values()):
            return f"[{_WORDS[priority][index]}]"
    return f"[{priority.value}]"


def _prioritised(
    text: str, task: Task, at: int, spans: list[tuple[int, int]], priority: Priority
) -> Iterator[list[TextChange]]:
    tag = _tag_for(text, priority)
    for begin, end in spans:
        old = text[task.start + begin : task.start + end]
        new = old.replace(old.strip(), tag)
        yield [TextChange(task.start + begin, task.start + end, new)]
    if task.kind is TaskKind.ITEM:
        gap = "" if text[task.start + at - 1].isspace() else " "
        yield [TextChange(task.start + at, task.start + at, f"{gap}{tag} ")]
        if (remark := opening_remark(text[task.start + at : task.end])) is not None:
            behind = task.start + at + remark.end
            yield [TextChange(behind, behind, f"{tag} ")]
    if task.kind is TaskKind.ROW:
        row = row_edit(lines_in(text), task)
        yield from (*set_word(row, priority), *tag_title(row, tag))


def _relocate(
    text: str,
    sheet: LineSheet,
    plan: Plan,
    task: Task,
    place: InsertionPoint,
    *,
    priority: Priority | None = None,
) -> str:
    """Move a task, and verify that it and all others are still the same."""
    moved = task_family(plan, task)
    essences = [task_essence(one) for one in moved]
    marks = find_marks(text[task.start : task.end])
    has_box = marks is None or marks.box is not None
    for box in ("",) if has_box else ("", f"[{_BOXES[task.state]}] "):
        proposal = sheet.relocate(task.line, task.end_line + 1, place, box=box)
        after = parse_markdown(proposal).plan
        for at in range(len(after.tasks) - len(moved) + 1):
            there = after.tasks[at : at + len(moved)]
            if there[0].title == task.title and [task_essence(one) for one in there] == essences:
                is_wanted = priority is None or there[0].priority is priority
                if is_wanted and other_tasks(after, there) == other_tasks(plan, moved):
                    return proposal
    raise edit_refusal(text, task, "moved there")
