"""Plan checks: what is wrong with a plan that parses.

The checks, by code:

- ``duplicate-task``: two tasks with the same words, and the later one is open. Nested tasks are
  compared inside the task around them, because "Write tests" may well appear below each of several
  tasks. Below different headings only longer titles are compared, for the same reason. If one of
  them is finished, the unfinished ones are reported.
- ``criteria-vague``, ``criteria-missing``, ``close-without-evidence``: see ``criteria``.
- ``marker-with-open-tasks``: the plan has the completion marker, and tasks that are not optional
  are open. A run ignores such a marker (docs/rules.md#exit-gate), so it never ends by it.
- ``unknown-dependency``, ``dependency-cycle``: see ``dependencies``.
- ``blocked-without-reason``: a task is marked as blocked, and neither ``Blocked by:`` nor
  ``Needs:`` nor its tag gives a reason.
- ``done-without-tick``: open boxes whose titles end with ``DONE`` or a tick; one remark.
- ``open-under-completed``: a heading such as "Completed" says that a task is done, and its box says
  that it is not; the box counts. For all below headings such as ``Phase 1 (DONE)``, one remark.
- ``ticked-under-open``: a heading says that it is in progress, and everything below it is done.
- ``status-against-box``: a line ``Status: Done`` is below an open box, or the other way round.
- ``lines-read-as-tasks``, ``lines-read-as-done``, ``lines-read-as-prose``,
  ``headings-read-as-tasks``, ``headings-not-read``, ``lines-not-read``, ``rows-not-read``,
  ``box-not-read``, ``table-read-by-column``: the plan leaves open what is meant, and this is how
  it was read; one remark for each, with a count.

``tick-without-change`` and other checks of an agent's work need a run and are not made here.
Checks change nothing; ``quick_fixes`` has the edits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ralph_ls.core.plan.completion import find_completion_marker
from ralph_ls.core.plan.lint.criteria import check_close_reasons, check_criteria
from ralph_ls.core.plan.lint.dependencies import (
    check_dependencies,
    normalise_title,
    read_dependencies,
)
from ralph_ls.core.plan.lint.guess_remarks import check_guesses
from ralph_ls.core.plan.lint.remarks import (
    UNFINISHED,
    CheckCode,
    LineSpan,
    LintRemark,
    QuickFix,
    RelatedSpan,
    display_title,
    first_names,
    title_span,
)
from ralph_ls.core.plan.model import ParsedPlan, Task
from ralph_ls.core.plan.parse.lines import find_marks, lines_of
from ralph_ls.core.plan.parse.task_body import TaskBodies
from ralph_ls.core.plan.parse.titles import escape_surrogates, is_title_id
from ralph_ls.core.plan.parse.words.title_states import closing_remark
from ralph_ls.core.plan.parts import done_by_parts, parts_in, wholes_of_done_parts
from ralph_ls.core.plan.queries import without_repeat
from ralph_ls.protocol.plan import PlanProblem
from ralph_ls.protocol.task_words import TaskState

COMPLETION_MARKER = "PROJECT_COMPLETE"
"""The default of the setting."""

SHORTEST_OWN_TITLE = 20
"""The minimum length of a title below two headings that counts as the same task."""


def check_markdown(
    parsed: ParsedPlan, text: str, *, marker: str = COMPLETION_MARKER
) -> tuple[LintRemark, ...]:
    """Check a plan that was read from ``text``; by line. Total, and linear in the text."""
    tasks = tuple(parsed.plan.tasks)
    below = TaskBodies(tasks, text)
    found = [
        *_duplicates(tasks, text),
        *_states(tasks, text),
        *_marker(tasks, text, marker),
        *_unticked(tasks, text),
        *_parts(tasks, text),
        *check_criteria(tasks, text, below),
        *check_close_reasons(tasks, below),
        *check_dependencies(read_dependencies(tasks, below), tasks),
        *check_guesses(parsed.guesses, text),
    ]
    return tuple(sorted(found, key=lambda one: (one.place.line, one.place.start)))


def plan_problems(remarks: Sequence[LintRemark]) -> tuple[PlanProblem, ...]:
    """The remarks together with the parser's problems, for viewers that show both alike."""
    return tuple(
        PlanProblem(code=one.code, message=one.message, line=one.place.line + 1) for one in remarks
    )


_OPEN = frozenset({TaskState.TODO, TaskState.IN_PROGRESS})
_COMPLETED = re.compile(
    r"\W*(?:recently |already )?(?:completed?|done|finished)(?: (?:tasks?|items?|work))?\W*",
    re.IGNORECASE,
)


_NUMBERED = re.compile(r"\W*([0-9]+(?:\.[0-9]+)*)[.):\s]+(\w+\W+\w+)")


def _duplicates(tasks: Sequence[Task], text: str) -> Iterator[LintRemark]:
    found: dict[str, tuple[Task, Task]] = {}
    for group in _with_same_title(tasks):
        first = next((task for task in group if task.state not in UNFINISHED), group[0])
        for task in group:
            is_open = task is not first and task.state in UNFINISHED
            if is_open and not _differ_by_id(task, first):
                found[task.id] = task, first
    for task, first in _done_by_number(tasks):
        found.setdefault(task.id, (task, first))
    for task, first in found.values():
        yield _duplicate(task, first, text)


def _with_same_title(tasks: Sequence[Task]) -> Iterable[list[Task]]:
    """The tasks whose title is not the only one of its kind, by where they are."""
    titles = [normalise_title(task.title) for task in tasks]
    n_tasks = Counter(titles)
    groups: dict[tuple[str, str], list[Task]] = {}
    for task, title in zip(tasks, titles, strict=True):
        if n_tasks[title] > 1:
            groups.setdefault((_around(task), title), []).append(task)
    return groups.values()


def _differ_by_id(task: Task, other: Task) -> bool:
    """Whether both have explicit ids, which say that they are two tasks."""
    is_same = without_repeat(task.id) == without_repeat(other.id)
    return not (is_same or is_title_id(task.id, task.title) or is_title_id(other.id, other.title))


def _done_by_number(tasks: Sequence[Task]) -> Iterator[tuple[Task, Task]]:
    """Open tasks whose number and first words one below ``Completed`` has, with that."""
    done = {
        name: task
        for task in tasks
        if task.state is TaskState.DONE and _COMPLETED.fullmatch(task.section)
        if (name := _number_and_words(task)) is not None
    }
    for task in tasks if done else ():
        first = done.get(_number_and_words(task) or ("",))
        if first is not None and task.state in UNFINISHED:
            yield task, first


def _number_and_words(task: Task) -> tuple[str, ...] | None:
    """``("1", "fix the")`` of ``#1 Fix the parser``."""
    found = _NUMBERED.match(normalise_title(task.title))
    return None if found is None else found.groups()


def _around(task: Task) -> str:
    """Where a task with the same title would be the same: below a task, in a section, anywhere."""
    if task.parent is not None:
        return task.parent
    return "" if len(task.title) >= SHORTEST_OWN_TITLE else f"#{task.section}"


def _duplicate(task: Task, first: Task, text: str) -> LintRemark:
    is_finished = first.state not in UNFINISHED
    finding = f"is already {first.state}" if is_finished else "is already in the plan"
    message = (
        f"{display_title(task.title)} {finding}, on line {first.line + 1}; remove one of them, or "
        "say in the title what still has to be done"
    )
    # More than one line has more than the title, and only the user can drop it.
    is_alone = task.end_line == task.line and find_marks(text[task.start : task.end]) is not None
    return LintRemark(
        code=CheckCode.DUPLICATE_TASK,
        message=message,
        place=title_span(task, text),
        related=(RelatedSpan(place=title_span(first, text), message="the other one"),),
        task=task.id,
        repair=QuickFix.REMOVE_LINE if is_alone else None,
    )


def _states(tasks: Sequence[Task], text: str) -> Iterator[LintRemark]:
    completed = {
        section for section in {task.section for task in tasks} if _COMPLETED.fullmatch(section)
    }
    for task in tasks:
        if task.state is TaskState.BLOCKED and task.blocked_by is None:
            message = (
                f"{display_title(task.title)} is blocked, but the plan does not say by what; add "
                "a line below it: - Blocked by: …"
            )
            yield LintRemark(
                code=CheckCode.BLOCKED_WITHOUT_REASON,
                message=message,
                place=title_span(task, text),
                task=task.id,
                repair=QuickFix.ADD_REASON,
            )
        elif task.state in _OPEN and task.section in completed:
            message = (
                f"{display_title(task.title)} is open but below {display_title(task.section)}; "
                "tick it, or move it back to the tasks"
            )
            yield LintRemark(
                code=CheckCode.OPEN_UNDER_COMPLETED,
                message=message,
                place=title_span(task, text),
                task=task.id,
                repair=QuickFix.TICK,
            )


_SAYS_DONE = re.compile(
    r"(?:\A|(?<!NOT)[\s(\u2013\u2014-])(?:DONE|COMPLETED?|FINISHED|IMPLEMENTED|FIXED)[).!]*\Z"
    r"|[✅✔☑✓]\ufe0f?\Z"
)
_TAG_OF_DONE = re.compile(r"\[(?:DONE|COMPLETED?|FINISHED)\][*_ \t]*\Z", re.IGNORECASE)
_LONGEST_END = 16
_LAST_OF_DONE = tuple("EDed✅✔☑✓0123456789")
"""How a title that says DONE ends, marks apart; most titles do not."""


def _unticked(tasks: Sequence[Task], text: str) -> Iterator[LintRemark]:
    found = [
        task
        for task in tasks
        if task.state in _OPEN and task.mark is not None
        if _says_done(task.title) or _TAG_OF_DONE.search(text, task.start, task.end) is not None
    ]
    if found:
        are = "box says" if len(found) == 1 else "boxes say"
        message = f"{len(found)} open {are} DONE in the title; tick what is done"
        yield _about_all(CheckCode.DONE_WITHOUT_TICK, found, text, message)


def _says_done(title: str) -> bool:
    if not title.rstrip(").!\ufe0f").endswith(_LAST_OF_DONE):
        return False
    if _SAYS_DONE.search(title[-_LONGEST_END:]) is not None:
        return True
    remark = closing_remark(title)
    return remark is not None and remark.start > 0 and remark.state is TaskState.DONE


def _parts(tasks: Sequence[Task], text: str) -> Iterator[LintRemark]:
    """Wholes and parts that say something else; one remark for each of both ways."""
    held = done_by_parts(tasks)
    if held:
        are, tick = _counted(held, "has", "have")
        names, so = _titles(held), "counts" if len(held) == 1 else "count"
        message = f"{are} nothing but parts that are done ({names}), and {so} as done; {tick}"
        yield _about_all(CheckCode.TICKED_UNDER_OPEN, held, text, message)
    finished = wholes_of_done_parts(tasks).difference(task.id for task in held)
    wholes = [task for task in tasks if task.id in finished]
    if wholes:
        are, tick = _counted(wholes, "has", "have")
        message = (
            f"{are} only parts that are done ({_titles(wholes)}); {tick}, or add what is missing"
        )
        yield _about_all(CheckCode.TICKED_UNDER_OPEN, wholes, text, message)
    opened = [
        (whole, part)
        for whole, part in parts_in(tasks)
        if whole.state is TaskState.DONE and part.state in _OPEN and not part.optional
    ]
    if opened:
        parts = [part for _, part in opened]
        are, tick = _counted(parts, "is", "are")
        names = _titles([whole for whole, _ in opened])
        message = f"{are} part of what is done ({names}); {tick}, or open that again"
        yield _about_all(CheckCode.OPEN_UNDER_COMPLETED, parts, text, message)


def _counted(tasks: Sequence[Task], one: str, several: str) -> tuple[str, str]:
    """``1 open task has``, and what to do with it."""
    if len(tasks) == 1:
        return f"1 open task {one}", "tick it"
    return f"{len(tasks)} open tasks {several}", "tick them"


def _titles(tasks: Sequence[Task]) -> str:
    return first_names([*dict.fromkeys(task.title for task in tasks)])


def _about_all(code: CheckCode, tasks: Sequence[Task], text: str, message: str) -> LintRemark:
    """One remark about several tasks, at the first; its quick fix ticks that."""
    return LintRemark(
        code=code,
        message=message,
        place=title_span(tasks[0], text),
        related=tuple(
            RelatedSpan(place=title_span(task, text), message="another one") for task in tasks[1:]
        ),
        task=tasks[0].id,
        repair=QuickFix.TICK,
    )


def _marker(tasks: Sequence[Task], text: str, marker: str) -> Iterator[LintRemark]:
    still_open = [task for task in tasks if task.state in _OPEN and not task.optional]
    number = find_completion_marker(text, marker) if still_open else None
    if number is None:
        return
    line = next(line for nth, (_, line) in enumerate(lines_of(text)) if nth == number)
    n_open, first = len(still_open), still_open[0]
    are_open = "a task is open" if n_open == 1 else f"{n_open} tasks are open"
    message = (
        f"the plan contains {escape_surrogates(marker)}, but {are_open} (first on line "
        f"{first.line + 1}); remove this line until they are done"
    )
    start = len(line) - len(line.lstrip("\ufeff \t"))
    yield LintRemark(
        code=CheckCode.MARKER_WITH_OPEN_TASKS,
        message=message,
        place=LineSpan(line=number, start=start, end=max(start, len(line.rstrip()))),
        related=(RelatedSpan(place=title_span(first, text), message="the first open task"),),
        repair=QuickFix.REMOVE_LINE,
    )
