"""Guard overrides: apply an agent's change that the guard reverted, because the user accepts it.

The plan may have changed since. A restored text is removed only where it is unchanged, and later
changes stay; otherwise the result is the reason why the change cannot be applied. The same holds
for a task that left the plan as finished and is to be written into it again: it is kept as a small
plan, and every other byte of the current plan stays.

Does not decide what is forbidden or finished, and writes no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralph_ls.core.plan.diff.pairing import is_unfinished, pair_tasks
from ralph_ls.core.plan.diff.revert_edits import PlanSide, RevertEdit, restore_tasks
from ralph_ls.core.plan.diff.text_diff import lines_with_endings
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.protocol.run.iteration_events import Forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedEdit:
    """The plan with the accepted change, or the reason why it cannot be applied."""

    text: str = ""
    refusal: str = ""
    """Empty where there is a text."""


def accept_agent_edit(
    text: str, agents: str, what: Forbidden, task_id: str, *, dropped: Sequence[str]
) -> AcceptedEdit:
    """Give one task the content that it has in the agent's version of the plan. Total.

    ``agents`` is the whole plan as the agent left it; ``dropped`` are the ids of all tasks that it
    dropped, which may go with the one that they are nested in.
    """
    plan = parse_markdown(text).plan
    task = plan.find(task_id)
    if task is None:
        return AcceptedEdit(refusal="the task is no longer in the plan")
    if not is_unfinished(task):
        return AcceptedEdit(refusal="the task is already finished or skipped")
    if what is Forbidden.DROPPED:
        return _without(text, plan, task, frozenset(dropped))
    if what not in {Forbidden.SKIPPED, Forbidden.CRITERIA}:
        return AcceptedEdit(refusal="this concerns the whole file")
    theirs = parse_markdown(agents).plan
    place = pair_tasks(plan, theirs).kept.get(plan.tasks.index(task))
    if place is None:
        return AcceptedEdit(refusal="the agent's version of the plan has no such task")
    if what is Forbidden.SKIPPED:
        return _skipped(text, task)
    return _criteria(text, task, agents, theirs.tasks[place])


def _without(text: str, plan: Plan, task: Task, dropped: frozenset[str]) -> AcceptedEdit:
    nested = [one for one in plan.tasks if task.line < one.line <= task.end_line]
    if any(one.id not in dropped for one in nested):
        return AcceptedEdit(refusal="it now has nested tasks that the agent had not dropped")
    lines = lines_with_endings(text)
    mark = "\ufeff" if task.line == 0 and text.startswith("\ufeff") else ""
    kept = mark + "".join(lines[: task.line] + lines[task.end_line + 1 :])
    gone = {task.id, *(one.id for one in nested)}
    left = [(one.title, one.state) for one in plan.tasks if one.id not in gone]
    if left != [(one.title, one.state) for one in parse_markdown(kept).plan.tasks]:
        return AcceptedEdit(refusal="removing it would change how other tasks are read")
    return AcceptedEdit(text=kept)


def _skipped(text: str, task: Task) -> AcceptedEdit:
    marks = find_marks(text[task.start : task.end])
    if marks is None or marks.box is None:
        return AcceptedEdit(refusal="its line has no box to mark")
    begin, end = (task.start + place for place in marks.box)
    return AcceptedEdit(text=f"{text[:begin]}-{text[end:]}")


def _criteria(text: str, task: Task, agents: str, theirs: Task) -> AcceptedEdit:
    """The task's lines with the agent's criteria, if its lines differ in nothing else.

    The task's own line stays: it may have been begun or blocked meanwhile.
    """
    lines, others = lines_with_endings(text), lines_with_endings(agents)
    block = lines[task.line + 1 : task.end_line + 1]
    new = others[theirs.line + 1 : theirs.end_line + 1]
    if _other_content(block, task) != _other_content(new, theirs):
        return AcceptedEdit(refusal="the task's notes have changed since")
    ending = "\r\n" if lines[task.line].endswith("\r\n") else "\n"
    whole = [line if line.endswith(("\n", "\r")) else line + ending for line in new]
    head = lines[: task.line + 1]
    if whole and not head[-1].endswith(("\n", "\r")):
        head[-1] += ending
    kept = "".join([*head, *whole, *lines[task.end_line + 1 :]])
    found = parse_markdown(kept).plan.find(task.id)
    if found is None or found.criteria != theirs.criteria:
        return AcceptedEdit(refusal="the criteria would be read as something else")
    return AcceptedEdit(text=kept)


def _other_content(lines: Sequence[str], task: Task) -> list[str]:
    """The content of lines below a task except criteria and their labels."""
    criteria = frozenset(task.criteria)
    contents = (_content(line) for line in lines)
    return [one for one in contents if one and not _is_criterion(one, criteria)]


def _content(line: str) -> str:
    marks = find_marks(line.rstrip("\r\n"))
    return fold_whitespace(line if marks is None else line[marks.text :])


def _is_criterion(content: str, criteria: frozenset[str]) -> bool:
    label, colon, behind = content.partition(":")
    is_label = label.strip("*_ ").casefold() in {"acceptance criteria", "criteria", "done when"}
    return content in criteria or (
        bool(colon) and is_label and behind.strip("*_ ") in {"", *criteria}
    )


LONGEST_EXCERPT = 16000
"""Characters of a task with its notes; of a longer one the first line is kept."""


def task_excerpt(plan: Plan, text: str, task_id: str) -> str:
    """One task of a plan, below its heading and as open; empty where the plan has no such task."""
    task = plan.find(task_id)
    if task is None:
        return ""
    was, nothing = PlanSide.of(plan, text), PlanSide.of(Plan(), "")
    alone = nothing.edited(restore_tasks(was, nothing, [plan.tasks.index(task)], {})).lstrip("\n")
    found = [one for one in parse_markdown(alone).plan.tasks if one.title == task.title]
    if not found or len(alone) > LONGEST_EXCERPT:
        return f"- [ ] {task.title}\n"[:LONGEST_EXCERPT]
    marks = find_marks(alone[found[0].start : found[0].end])
    if marks is None or marks.box is None:
        return alone
    begin, end = (found[0].start + place for place in marks.box)
    return f"{alone[:begin]} {alone[end:]}"


def reopen_from_excerpt(text: str, removed: str, task_id: str) -> AcceptedEdit:
    """The plan with the task of an excerpt in it, as the first below its heading. Total."""
    now = PlanSide.of(parse_markdown(text).plan, text)
    was = PlanSide.of(parse_markdown(removed).plan, removed)
    if not was.plan.tasks:
        return AcceptedEdit(refusal="the task's lines are no longer known")
    if "[redacted " in removed:
        return AcceptedEdit(refusal="the task contained a secret, so it was stored without it")
    task = was.plan.tasks[0]
    known = (now.plan.find(task_id), *(one for one in now.plan.tasks if one.title == task.title))
    if any(known):
        return AcceptedEdit(refusal="the plan already has the task")
    written = now.edited(_ending_as(restore_tasks(was, now, [0], {}), now))
    if not _is_added(now.plan.tasks, parse_markdown(written).plan.tasks, task):
        return AcceptedEdit(refusal="adding it would change how other tasks are read")
    return AcceptedEdit(text=written)


def _ending_as(edits: Sequence[RevertEdit], now: PlanSide) -> list[RevertEdit]:
    """An empty plan gets the task as its first lines, and a line ending."""
    if now.text:
        return list(edits)
    return [edit._replace(text=edit.text.lstrip("\n") + now.ending) for edit in edits]


def _is_added(before: Sequence[Task], after: Sequence[Task], task: Task) -> bool:
    """Whether the task is there, open, and each other one is as it was."""
    new = [one for one in after if one.title == task.title]
    others = [(one.title, one.state) for one in after if one.title != task.title]
    return (
        len(new) == 1
        and is_unfinished(new[0])
        and others == [(one.title, one.state) for one in before]
    )
