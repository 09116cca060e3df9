"""Read a plan from markdown: which list items are tasks, and what state each is in (SPEC §8).

The rules, in the order in which they decide:

1. Nothing below a ``Notes`` heading is a task, nor is anything in a fence, a comment or a quote,
   nor a criterion (``scanner`` and ``items`` know those).
2. An item with a box is a task, nested ones too; a parent is done when its own box is ticked.
3. An item without a box is one only outside other tasks, and only where the heading says so:
   below ``Completed`` every item (done), below ``Issues Discovered`` each ``[BUG]``, below
   ``Tasks`` or a priority heading each numbered one. In a plan without any box, also each bullet
   there, and each numbered item below a heading that says nothing. A numbered item beside numbered
   ones with a box counts as they do.
4. Guidelines and the like, dates, notes, versions, issue numbers and links are no tasks without a
   box.

Reading is total and linear; it never raises, whatever the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ralph_ls.core.plan.headings import Section, SectionKind
from ralph_ls.core.plan.items import Item, Role
from ralph_ls.core.plan.model import Parsed, Plan, Task
from ralph_ls.core.plan.scanner import scan
from ralph_ls.core.plan.titles import TitleParts, is_no_task, make_sayable, read_title, title_id
from ralph_ls.protocol.plan import PlanProblem, Priority, TaskState


def parse(text: str, *, optional_sections: Sequence[str] = ()) -> Parsed:
    """Read a plan and what is wrong with it.

    Boxes: ``[ ]`` todo, ``[x]`` done, ``[~]`` inProgress, ``[!]`` blocked, ``[-]`` skipped; any
    other mark is told and read as todo. A title struck through is done. ``optional_sections``
    names the headings whose tasks are optional (SPEC §7), with their sub-headings.
    """
    scanned = scan(text, optional_sections=optional_sections)
    problems = list(scanned.problems)
    rules = _Rules(scanned.items)
    tasks: list[Task] = []
    task_of: dict[Item, Task] = {}
    seen_ids: Counter[str] = Counter()
    for item in scanned.items:
        around = task_of.get(item.parent) if item.parent is not None else None
        task = None
        if rules.may_be_task(item, is_in_task=around is not None):
            parts = read_title(item.text)
            problems.extend(_check(item, parts))
            if parts.title and rules.is_task(item, parts):
                problems.extend(_check_id(item, parts, seen_ids))
                task = _to_task(item, parts, around=around, seen_ids=seen_ids)
                tasks.append(task)
        holder = task or around
        if holder is not None:
            task_of[item] = holder
    if not tasks:
        message = "no task was found in the plan; add one such as: - [ ] Describe the first task"
        problems.append(PlanProblem(code="no-tasks", message=message, line=1))
    problems.sort(key=lambda problem: problem.line)
    return Parsed(plan=Plan(tasks=tuple(tasks)), problems=tuple(problems))


class _Rules:
    """The rules that need to know the whole plan before they can judge one item."""

    __slots__ = ("has_box", "numbered_with_box")

    def __init__(self, items: Sequence[Item]) -> None:
        boxed = [item for item in items if _counts_with_box(item)]
        self.has_box = bool(boxed)
        self.numbered_with_box: frozenset[Section] = frozenset(
            item.section for item in boxed if item.is_numbered and item.parent is None
        )

    def may_be_task(self, item: Item, *, is_in_task: bool) -> bool:
        """Judge an item by where it stands, before its text is looked at."""
        if item.box is not None:
            return _counts_with_box(item)
        if item.role is not Role.ITEM or is_in_task or not item.text:
            return False
        match item.section.kind:
            case SectionKind.DONE | SectionKind.ISSUES:
                return True
            case SectionKind.TASKS:
                return item.is_numbered or (item.parent is None and not self.has_box)
            case SectionKind.PLAIN:
                is_like_others = item.section in self.numbered_with_box
                return item.is_numbered and (is_like_others or not self.has_box)
            case _:
                return False

    def is_task(self, item: Item, parts: TitleParts) -> bool:
        """Judge an item by its text."""
        if item.box is not None:
            return True
        if item.section.kind is SectionKind.ISSUES:
            return parts.is_bug
        return not is_no_task(parts.title)


_TITLE_SHOWN = 60
_KNOWN_BOXES = frozenset({"", "x", "X", "-", "~", "!"})
_SEVERITIES = {
    "critical": Priority.P0,
    "high": Priority.P0,
    "medium": Priority.P1,
    "low": Priority.P2,
}


def _counts_with_box(item: Item) -> bool:
    is_item = item.box is not None and item.role is Role.ITEM
    return is_item and item.section.kind is not SectionKind.NOTES


def _check(item: Item, parts: TitleParts) -> list[PlanProblem]:
    problems: list[PlanProblem] = []
    if item.box is None:
        return problems
    if item.box not in _KNOWN_BOXES:
        message = (
            f"the box [{make_sayable(item.box)}] of {parts.title[:_TITLE_SHOWN]!r} is not known "
            "and is read as open; use [ ], [x], [~], [!] or [-]"
        )
        problems.append(PlanProblem(code="unknown-box", message=message, line=item.line + 1))
    if not parts.title:
        message = "the item has a box but no text, so it is no task; describe it or remove it"
        problems.append(PlanProblem(code="empty-task", message=message, line=item.line + 1))
    return problems


def _check_id(item: Item, parts: TitleParts, seen_ids: Counter[str]) -> list[PlanProblem]:
    task_id = parts.explicit_id
    if task_id is None or task_id not in seen_ids:
        return []
    message = (
        f"the id {task_id} stands at more than one task; this one is called "
        f"{task_id}-{seen_ids[task_id] + 1} until it gets an id of its own"
    )
    return [PlanProblem(code="duplicate-id", message=message, line=item.line + 1)]


def _to_task(item: Item, parts: TitleParts, *, around: Task | None, seen_ids: Counter[str]) -> Task:
    task_id = parts.explicit_id or title_id(parts.title)
    seen_ids[task_id] += 1
    if seen_ids[task_id] > 1:
        task_id = f"{task_id}-{seen_ids[task_id]}"
    state = _state_of(item, parts)
    reason = item.blocked_by or parts.blocked_reason
    if reason is None and state is TaskState.BLOCKED:
        reason = item.needs
    return Task(
        id=task_id,
        title=parts.title,
        state=state,
        priority=_priority_of(item, parts),
        section=item.section.title,
        optional=item.section.optional,
        line=item.line,
        start=item.start,
        end=item.end,
        end_line=item.end_line,
        depth=0 if around is None else around.depth + 1,
        parent=None if around is None else around.id,
        blocked_by=reason,
        criteria=tuple(item.criteria),
    )


def _state_of(item: Item, parts: TitleParts) -> TaskState:
    """Tell the state; what says that a task is settled goes before what says that it is not."""
    is_finished = item.section.kind is SectionKind.DONE or parts.is_done
    if item.box in {"x", "X"} or (item.box is None and is_finished):
        return TaskState.DONE
    if item.box == "-":
        return TaskState.SKIPPED
    if parts.is_struck:
        return TaskState.DONE
    if item.box == "!" or parts.is_blocked:
        return TaskState.BLOCKED
    if item.box == "~" or parts.is_in_progress:
        return TaskState.IN_PROGRESS
    return TaskState.TODO


def _priority_of(item: Item, parts: TitleParts) -> Priority | None:
    """A tag goes before a bug's severity, and both before the heading."""
    if parts.priority is not None:
        return parts.priority
    if parts.is_bug and item.severity is not None:
        word = item.severity.strip("*_ ").partition(" ")[0].rstrip(".,;:)")
        return _SEVERITIES.get(word, item.section.priority)
    return item.section.priority
