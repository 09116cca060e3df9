"""Checks of criteria and close reasons: vague, missing, or without evidence.

An agent cannot verify "works correctly" (docs/rules.md#verification). The rules:

- A criterion is vague when it ends in a judgement (``works correctly``, ``is good``, ``handles
  errors gracefully``), or is nothing else (``done``, ``high quality``), and names nothing that can
  be checked: no command or code in backticks, no number, nothing quoted, no path, file or URL.
  Only English is judged. "All tests pass" can be observed and is accepted.
- Criteria are missing where a label such as ``Acceptance criteria:`` has nothing below it.
- A task without criteria is reported only if its plan uses them. No profile with a Markdown plan
  requires them (docs/rules.md#profiles); a plan uses them when at least three of its unfinished
  top-level tasks have criteria, and these are at least half of such tasks.
- Finished tasks and ticked criteria are not checked for vagueness.
- An open box at a criterion of a finished task is evidence that is missing.
- So is a close reason (``Closed: …``, ``Close reason: …``, ``Verified: …``, ``Evidence: …``) that
  is empty or names nothing that can be checked, such as "done" or "works correctly". A finished
  task without criteria and without such a line is accepted: Markdown plans require none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralph_ls.core.plan.lint.remarks import (
    UNFINISHED,
    CheckCode,
    LineSpan,
    LintRemark,
    display_title,
    title_span,
)
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.task_body import BodyLine, TaskBodies
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.protocol.task_words import TaskState

FEWEST_WITH_CRITERIA = 3
"""The minimum number of tasks with criteria in a plan that uses them."""


def check_criteria(tasks: Sequence[Task], text: str, bodies: TaskBodies) -> Iterator[LintRemark]:
    """Vague and missing criteria; linear."""
    announced: set[str] = set()
    for line in bodies.lines_with(_LABEL_WORDS, _EMPTY_LABEL):
        label = _EMPTY_LABEL.match(line.text, line.start)
        if label is not None and line.task.state in UNFINISHED and not line.task.criteria:
            announced.add(line.task.id)
            place = LineSpan(line=line.number, start=line.start, end=label.end(1))
            yield _missing(line.task, place)
    asks = _asks_for_criteria(tasks)
    for index, task in enumerate(tasks):
        if task.state not in UNFINISHED:
            continue
        if asks and not (task.criteria or task.optional or task.depth or task.id in announced):
            yield _missing(task, title_span(task, text))
        vague = [criterion for criterion in task.criteria if is_vague(criterion)]
        if vague:
            yield from _vague(task, vague, bodies.lines_from(index), title_span(task, text))


def is_vague(criterion: str) -> bool:
    """Whether it cannot be decided when the criterion is met."""
    if _CONCRETE.search(criterion) is not None:
        return False
    bare = criterion.strip(" \t.!*_()-")
    return _WHOLE.fullmatch(bare) is not None or _ENDING.search(bare) is not None


_LABEL_WORDS = ("riteria", "RITERIA", "one when", "one When", "ONE WHEN")
_EMPTY_LABEL = re.compile(
    r"([*_]{0,3}(?:acceptance criteria|criteria|done when)[*_]{0,3}[ \t]*:[*_]{0,3})\s*\Z",
    re.IGNORECASE,
)
_CONCRETE = re.compile(r"[`0-9\"“=<>$]|\w[/\\]\w|\w\.[a-z]|(?:^|\s)[./~-]+\w")
_HOW = (
    r"(?:correctly|properly|appropriately|gracefully|nicely|smoothly|reliably|perfectly|flawlessly|"
    r"adequately|sufficiently|well|fine|as (?:expected|intended|designed|desired|required|wanted|"
    r"planned|it should))"
)
_WHAT = (
    r"(?:good|great|fine|ok|okay|nice|perfect|correct|clean|robust|solid|fast|stable|usable|"
    r"user[- ]friendly|intuitive|reasonable|appropriate|acceptable|sufficient|adequate|working|"
    r"functional|complete|completed|done|finished|ready|implemented)"
)
_WHOLE = re.compile(
    r"(?:it )?works?|done|finished|completed?|ready|implemented|tbd|todo|n/a|ok|okay|good|"
    r"(?:good|high|better|best) quality|no (?:bugs|issues|problems|errors)|bug[- ]free|"
    r"(?:clean|good) code|good performance|best practices|user[- ]friendly|\?+|…",
    re.IGNORECASE,
)
_ENDING = re.compile(
    rf"(?:\b{_HOW}"
    rf"|\b(?:is|are|be|looks?|feels?|seems?|remains?|stays?) (?:very |really |all |fully )?{_WHAT}"
    r"|\b(?:it|everything|all|feature|functionality|code|app|application) works)\Z",
    re.IGNORECASE,
)


def _asks_for_criteria(tasks: Sequence[Task]) -> bool:
    asked = [task for task in tasks if task.depth == 0 and task.state in UNFINISHED]
    n_with = sum(1 for task in asked if task.criteria)
    return n_with >= FEWEST_WITH_CRITERIA and 2 * n_with >= len(asked)


def _missing(task: Task, place: LineSpan) -> LintRemark:
    message = (
        f"{display_title(task.title)} does not say when it is done; add a criterion that can be "
        "seen or run, such as: - Done when: `make test` passes"
    )
    return LintRemark(code=CheckCode.CRITERIA_MISSING, message=message, place=place, task=task.id)


def _vague(
    task: Task, vague: Sequence[str], lines: Iterator[BodyLine], otherwise: LineSpan
) -> Iterator[LintRemark]:
    """A remark for each at its line; at the task if its line is not certain."""
    left = dict.fromkeys(vague)
    for line in lines:
        if line.task.id != task.id or line.number == task.line:
            continue
        whole = fold_whitespace(line.text[line.start :])
        found = whole if whole in left else whole.partition(":")[2].lstrip("*_ ")
        if found not in left:
            continue
        del left[found]
        if not line.is_ticked:
            end = len(line.text.rstrip())
            start = max(line.start, line.text.rfind(found))
            yield _vague_at(task, found, LineSpan(line=line.number, start=start, end=end))
    for criterion in left:
        yield _vague_at(task, criterion, otherwise)


def _vague_at(task: Task, criterion: str, place: LineSpan) -> LintRemark:
    message = (
        f"the criterion {display_title(criterion)} cannot be checked; name something that can be "
        "seen or run, such as a command and its output"
    )
    return LintRemark(code=CheckCode.CRITERIA_VAGUE, message=message, place=place, task=task.id)


def check_close_reasons(tasks: Sequence[Task], bodies: TaskBodies) -> Iterator[LintRemark]:
    """Finished tasks whose close reasons are no evidence; linear."""
    for index, task in enumerate(tasks):
        if task.state is TaskState.DONE and task.criteria:
            criteria = frozenset(task.criteria)
            for line in bodies.lines_from(index):
                if line.task == task and line.number > task.line and _is_open(line, criteria):
                    yield _unseen(task, line)
    for line in bodies.lines_with(_REASON_LABEL_WORDS, _LABEL):
        label = _LABEL.match(line.text, line.start)
        if label is None or line.task.state is not TaskState.DONE:
            continue
        reason = label[2].strip()
        if is_empty_reason(reason):
            yield _vague_reason(line, label.start(1), len(line.text.rstrip()), reason)


def is_empty_reason(reason: str) -> bool:
    """Whether a close reason is missing, or names nothing that can be checked."""
    return not reason or _BARE.fullmatch(reason) is not None or is_vague(reason)


def close_reason_in(line: str) -> str | None:
    """The close reason that a line such as ``Verified: …`` gives; None for any other line."""
    label = _LABEL.match(line.strip())
    return None if label is None else label[2].strip()


_REASON_LABEL_WORDS = ("lose", "LOSE", "erified", "ERIFIED", "vidence", "VIDENCE")
_LABEL = re.compile(
    r"([*_]{0,3}(?:closed?(?: reason| because)?|verified|evidence)[*_]{0,3}[ \t]*:[*_]{0,3})(.*)\Z",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:yes|y|true|fixed|verified|checked|tested|closed|all (?:good|done)|as (?:asked|requested))"
    r"[.!]*",
    re.IGNORECASE,
)


def _is_open(line: BodyLine, criteria: frozenset[str]) -> bool:
    marks = find_marks(line.text)
    if marks is None or marks.box is None or line.text[slice(*marks.box)].strip():
        return False
    whole = fold_whitespace(line.text[line.start :])
    return whole in criteria or whole.partition(":")[2].lstrip("*_ ") in criteria


def _unseen(task: Task, line: BodyLine) -> LintRemark:
    criterion = fold_whitespace(line.text[line.start :])
    message = (
        f"{display_title(task.title)} is done, but its criterion {display_title(criterion)} is "
        "not ticked; check it and tick it, or reopen the task"
    )
    place = LineSpan(line=line.number, start=line.start, end=len(line.text.rstrip()))
    return LintRemark(
        code=CheckCode.CLOSE_WITHOUT_EVIDENCE, message=message, place=place, task=task.id
    )


def _vague_reason(line: BodyLine, start: int, end: int, reason: str) -> LintRemark:
    named = f"only {display_title(reason)}" if reason else "nothing"
    message = (
        f"{display_title(line.task.title)} was closed, but {named} says how it was verified; name "
        "what was run or seen, such as: make test (exit 0)"
    )
    place = LineSpan(line=line.number, start=start, end=end)
    return LintRemark(
        code=CheckCode.CLOSE_WITHOUT_EVIDENCE, message=message, place=place, task=line.task.id
    )
