"""Guard of a Markdown plan: reverts what an agent may not change (docs/rules.md#guard).

An agent may add, tick, block, reorder, split, reprioritise and move finished tasks. It may not
drop an open task, mark it as skipped, or change its criteria. Only that is reverted, with minimal
edits; all other bytes of the agent's version stay. Where minimal edits fail, larger ones are tried,
and finally the earlier plan is restored, so the result never contains a forbidden change.

Compares two parsed plans; that the later one was written by an agent is known by the caller.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

from ralph_ls.core.plan.diff.pairing import TaskPairing, is_unfinished, pair_tasks
from ralph_ls.core.plan.diff.revert_edits import (
    PlanSide,
    append_criteria,
    restore_criteria,
    restore_state,
    restore_tasks,
    restore_tasks_at_top,
)
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPowers:
    """What an iteration may do to a plan beyond what every agent may."""

    may_drop: bool = False
    """Drop open tasks, and mark them as skipped."""
    may_change_criteria: bool = False
    decided: frozenset[tuple[str, str]] = frozenset()
    """The user's changes meanwhile, by kind (``Forbidden``) and task id; these are allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanViolation:
    """One forbidden change that was reverted."""

    what: Forbidden
    task: Task
    """As it was before."""
    line: int
    """Its line after it was reverted, from 0."""
    end_line: int
    """The last line that belongs to it, from 0."""
    text: str
    """The agent's version; empty where it left nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGuardResult:
    """A plan without forbidden changes."""

    text: str
    violations: tuple[PlanViolation, ...] = ()
    reworded_entry: str = ""
    """The reworded log entry of the iteration's own finished task; else empty."""
    lost_boxes: bool = False
    """Whether boxes were taken out of a plan that has none."""


def guard_plan(
    before: Plan,
    before_text: str,
    after: Plan,
    after_text: str,
    *,
    powers: PlanPowers,
    finished: str = "",
    own: str | None = None,
) -> PlanGuardResult:
    """Revert forbidden changes between two parsed plans. Total, and idempotent.

    Both plans are parsed from their whole texts. ``finished`` is the text added to the log of
    finished tasks (PROGRESS.md); ``own`` the iteration's task, if there is evidence.
    """
    if before_text == after_text or (powers.may_drop and powers.may_change_criteria):
        return PlanGuardResult(text=after_text)
    unboxed = _without_boxes(before, before_text, after, after_text)
    lost_boxes = unboxed != after_text
    if lost_boxes:
        after, after_text = parse_markdown(unboxed).plan, unboxed
    context = _GuardContext(before=before, powers=powers, finished=finished, own=own)
    reading = context.read(after_text, after)
    reworded_entry = reading.pairing.reworded_entry
    if not reading.found:
        return PlanGuardResult(
            text=after_text, reworded_entry=reworded_entry, lost_boxes=lost_boxes
        )
    outcome = _revert(context, PlanSide.of(before, before_text), reading)
    return PlanGuardResult(
        text=outcome.text,
        violations=_describe(before, reading, outcome),
        reworded_entry=reworded_entry,
        lost_boxes=lost_boxes,
    )


def is_without_boxes(plan: Plan, text: str) -> bool:
    """Whether a plan has tasks, and none of them has a box."""
    return bool(plan.tasks) and not any(_has_box(task, text) for task in plan.tasks)


def _has_box(task: Task, text: str) -> bool:
    return task.mark is not None and text[task.mark[0] - 1 : task.mark[0]] == "["


def _without_boxes(before: Plan, before_text: str, after: Plan, after_text: str) -> str:
    """The later text with ``[DONE]`` for the boxes that tasks without one have got.

    Beside a first box, the other tasks may be read as prose. Nothing changes where all tasks are
    there, since each has got one.
    """
    known = {task.id for task in after.tasks}
    boxless = [task for task in before.tasks if not _has_box(task, before_text)]
    if all(task.id in known for task in boxless):
        return after_text
    begins = tuple(before_text[task.start : task.end].strip() for task in boxless)
    if len(boxless) == len(before.tasks):
        # A new task with a box would hide the others, too.
        begins = ("",)
    known_lines = frozenset(before_text.splitlines())
    lines = after_text.splitlines(keepends=True)
    return "".join(
        line if line.rstrip("\r\n") in known_lines else _unboxed(line, begins) for line in lines
    )


def _unboxed(line: str, begins: tuple[str, ...]) -> str:
    """A line that ``begins`` so without its box: ``[DONE]`` for a ticked one, nothing for another.

    Any other line is given back as it is.
    """
    is_short = len(line) <= _LONGEST_LINE
    found = (_BOXED.match(line) or _BOXED_BEHIND.match(line)) if is_short else None
    if found is None:
        return line
    head, mark, text = found["head"], found["mark"], found["text"]
    if not f"{head}{text}".strip().startswith(begins):
        return line
    ending = line[len(line.rstrip()) :]
    tag = "[DONE]" if mark in "xX" else ""
    parts = (text, tag) if head.startswith("#") else (tag, text)
    return f"{head}{' '.join(filter(None, parts))}{ending}"


_LONGEST_LINE = 1000
_BOXED = re.compile(
    r"(?P<head>[ \t]*(?:[-*+]|[0-9]{1,9}[.)]|#{1,6})[ \t]+)\[(?P<mark>[ xX])\][ \t]+(?P<text>.*\S)"
)
_BOXED_BEHIND = re.compile(r"(?P<head>#{1,6}[ \t]+)(?P<text>.*\S)[ \t]+\[(?P<mark>[ xX])\][ \t]*$")


class _Found(NamedTuple):
    what: Forbidden
    nth: int
    """The task's position before."""
    now: int | None
    """Its position after; None if it was removed."""
    criteria: tuple[str, ...] = ()
    """Those that were removed."""


_MARKS = str.maketrans("", "", "*`~")
_CHECKED = " \u2705\u2713\u2714\u2611\ufe0f"
_EXIT_CODE = re.compile(r" ?- ?exit -?[0-9]{1,5}\)\Z")
_SHARE_LEFT = 10
_BRACKETS = 20
"""So many openings of brackets are tried in one criterion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A candidate for the outcome, compared with the earlier plan."""

    text: str
    plan: Plan
    pairing: TaskPairing
    found: Sequence[_Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class _GuardContext:
    """The inputs that stay the same while one plan is guarded."""

    before: Plan
    powers: PlanPowers
    finished: str
    own: str | None = None

    def read(self, text: str, plan: Plan | None = None) -> _Reading:
        plan = parse_markdown(text).plan if plan is None else plan
        pairing = pair_tasks(self.before, plan, finished=self.finished, own=self.own)
        found = _judged(self.before, plan, pairing, self.powers)
        return _Reading(text=text, plan=plan, pairing=pairing, found=found)


def _judged(before: Plan, after: Plan, pairing: TaskPairing, powers: PlanPowers) -> list[_Found]:
    """The forbidden changes, in the order of the earlier plan."""
    new_criteria = cache(partial(_criteria_of_new, after, pairing))
    found: list[_Found] = []
    for nth, task in enumerate(before.tasks):
        if not is_unfinished(task):
            continue
        now = pairing.kept.get(nth)
        if now is not None:
            found += _judged_task(before, after, (nth, now), powers, new_criteria)
        elif not powers.may_drop and nth not in pairing.resolved:
            found.append(_Found(Forbidden.DROPPED, nth, None))
    return [one for one in found if (one.what, before.tasks[one.nth].id) not in powers.decided]


def _judged_task(
    before: Plan,
    after: Plan,
    pair: tuple[int, int],
    powers: PlanPowers,
    new_criteria: Callable[[], frozenset[str]],
) -> Iterator[_Found]:
    """The forbidden changes of a task that is in both plans."""
    nth, now = pair
    task, became = before.tasks[nth], after.tasks[now]
    if not powers.may_drop and became.state is TaskState.SKIPPED:
        yield _Found(Forbidden.SKIPPED, nth, now)
    if powers.may_change_criteria or became.criteria == task.criteria:
        return
    gone = _lost_criteria(task, became, new_criteria())
    if gone:
        yield _Found(Forbidden.CRITERIA, nth, now, gone)


def _criteria_of_new(after: Plan, pairing: TaskPairing) -> frozenset[str]:
    """A task that is split hands its criteria on to its parts."""
    return frozenset(
        _criterion_key(text) for nth in pairing.fresh for text in after.tasks[nth].criteria
    )


def _lost_criteria(task: Task, became: Task, moved: frozenset[str]) -> tuple[str, ...]:
    """The criteria that a task lost; additional ones are allowed.

    A finished task that moved away may leave them behind.
    """
    if became.state is TaskState.DONE and became.section != task.section:
        return ()
    there = set(moved)
    for text in became.criteria:
        key = _criterion_key(text)
        there.add(key)
        there.update(_without_remarks(key))
    return tuple(text for text in task.criteria if _criterion_key(text) not in there)


def _criterion_key(text: str) -> str:
    """A criterion as it is compared: the result of its command may be appended to it."""
    return _EXIT_CODE.sub(")", fold_whitespace(text.translate(_MARKS)).casefold().strip(_CHECKED))


def _without_remarks(key: str) -> Iterator[str]:
    """A criterion without what follows it in brackets: ``(pytest - exit 0)``."""
    opening = {")": "(", "]": "["}.get(key[-1:])
    if opening is None:
        return
    at = key.find(opening)
    for _ in range(_BRACKETS):
        if at < 0:
            return
        yield key[:at].rstrip()
        at = key.find(opening, at + 1)


def _revert(context: _GuardContext, was: PlanSide, now: _Reading) -> _Reading:
    """Try the smallest edits first; what they leave or break is fixed by the next ones."""
    if _is_overwritten(was, now):
        return context.read(was.text, was.plan)
    side = PlanSide.of(now.plan, now.text)
    fine = context.read(_finely(was, side, now.found, now.pairing))
    if not fine.found and _is_intact(now.plan, fine.plan):
        return fine
    # Failed small edits are taken out again before larger ones are tried.
    left = {(one.what, one.nth) for one in fine.found}
    done = [one for one in now.found if (one.what, one.nth) not in left]
    fine = context.read(_finely(was, side, done, now.pairing))
    base = fine if _is_intact(now.plan, fine.plan) else now
    blunt = context.read(_bluntly(was, PlanSide.of(base.plan, base.text), base.found))
    if blunt.found or not _is_intact(now.plan, blunt.plan):
        return context.read(was.text, was.plan)
    return blunt


def _is_overwritten(was: PlanSide, now: _Reading) -> bool:
    """Whether next to nothing is left of a plan: no task, and less than a tenth of its lines.

    Its tasks alone would be restored without their phases, notes and order.
    """
    if now.plan.tasks:
        return False
    before, after = map(_words_by_line, (was.text, now.text))
    return (before & after).total() * _SHARE_LEFT < before.total()


def _words_by_line(text: str) -> Counter[str]:
    return Counter(filter(None, map(str.strip, text.splitlines())))


def _is_intact(agents: Plan, plan: Plan) -> bool:
    """Whether everything the agent left is unchanged; skipped tasks may be anything.

    Edits insert and never move, so the order is the same.
    """
    tasks = iter(plan.tasks)
    return all(
        any(other.title == task.title and other.state is task.state for other in tasks)
        for task in agents.tasks
        if task.state is not TaskState.SKIPPED
    )


def _finely(was: PlanSide, now: PlanSide, found: Sequence[_Found], pairing: TaskPairing) -> str:
    edits = []
    for one in found:
        task = was.plan.tasks[one.nth]
        if one.now is None:
            continue
        became = now.plan.tasks[one.now]
        if one.what is Forbidden.SKIPPED:
            edits += restore_state(was, task, now, became)
        else:
            edits += restore_criteria(was, task, now, became, one.criteria)
    dropped = [one.nth for one in found if one.what is Forbidden.DROPPED]
    edits += restore_tasks(was, now, dropped, pairing.kept)
    return now.edited(edits)


def _bluntly(was: PlanSide, now: PlanSide, found: Sequence[_Found]) -> str:
    edits = []
    for one in found:
        if one.now is not None:
            edits += append_criteria(now, now.plan.tasks[one.now], one.criteria)
    dropped = [was.plan.tasks[one.nth] for one in found if one.what is Forbidden.DROPPED]
    return now.edited([*edits, *restore_tasks_at_top(was, now, dropped)])


def _describe(before: Plan, agents: _Reading, outcome: _Reading) -> tuple[PlanViolation, ...]:
    lines = [line for _, line in lines_of(agents.text)]
    violations = []
    for one in agents.found:
        task = before.tasks[one.nth]
        # A split task is in its parts; its place is that of the first of them.
        there = outcome.pairing.kept.get(one.nth)
        place = task if there is None else outcome.plan.tasks[there]
        text = ""
        if one.now is not None:
            became = agents.plan.tasks[one.now]
            last = became.line if one.what is Forbidden.SKIPPED else became.end_line
            text = "\n".join(lines[became.line : last + 1])
        violations.append(
            PlanViolation(
                what=one.what,
                task=task,
                line=place.line,
                end_line=place.end_line,
                text=text,
            )
        )
    return tuple(violations)
