"""Whether a finished task says how that was seen (B, Close Reasons Must Cite Evidence; SPEC §8).

- A criterion of a finished task that is an open box: nobody says that it was looked at.
- A close reason (``Closed: …``, ``Close reason: …``, ``Verified: …``, ``Evidence: …``) that has
  nothing behind it, or nothing that could be looked at, such as "done" or "works correctly".

A finished task without criteria and without such a line is left alone: no markdown plan is asked
for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralph_ls.core.plan.below import Below, Line
from ralph_ls.core.plan.checking.criteria import is_vague
from ralph_ls.core.plan.checking.remarks import CheckCode, Place, Remark, name_of
from ralph_ls.core.plan.lines import find_marks
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.titles import fold
from ralph_ls.protocol.plan import TaskState


def check_closing(tasks: Sequence[Task], below: Below) -> Iterator[Remark]:
    """Tell of finished tasks whose end nobody can follow; linear."""
    for index, task in enumerate(tasks):
        if task.state is TaskState.DONE and task.criteria:
            criteria = frozenset(task.criteria)
            for line in below.lines_from(index):
                if line.task == task and line.number > task.line and _is_open(line, criteria):
                    yield _unseen(task, line)
    for line in below.lines_with(_LABEL_WORDS, _LABEL):
        label = _LABEL.match(line.text, line.start)
        if label is None or line.task.state is not TaskState.DONE:
            continue
        reason = label[2].strip()
        if says_nothing(reason):
            yield _vague(line, label.start(1), len(line.text.rstrip()), reason)


def says_nothing(reason: str) -> bool:
    """Whether a close reason is missing, or names nothing that could be looked at."""
    return not reason or _BARE.fullmatch(reason) is not None or is_vague(reason)


def reason_in(line: str) -> str | None:
    """The close reason that a line such as ``Verified: …`` gives; None for any other line."""
    label = _LABEL.match(line.strip())
    return None if label is None else label[2].strip()


_LABEL_WORDS = ("lose", "LOSE", "erified", "ERIFIED", "vidence", "VIDENCE")
_LABEL = re.compile(
    r"([*_]{0,3}(?:closed?(?: reason| because)?|verified|evidence)[*_]{0,3}[ \t]*:[*_]{0,3})(.*)\Z",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:yes|y|true|fixed|verified|checked|tested|closed|all (?:good|done)|as (?:asked|requested))"
    r"[.!]*",
    re.IGNORECASE,
)


def _is_open(line: Line, criteria: frozenset[str]) -> bool:
    marks = find_marks(line.text)
    if marks is None or marks.box is None or line.text[slice(*marks.box)].strip():
        return False
    whole = fold(line.text[line.start :])
    return whole in criteria or whole.partition(":")[2].lstrip("*_ ") in criteria


def _unseen(task: Task, line: Line) -> Remark:
    criterion = fold(line.text[line.start :])
    message = (
        f"{name_of(task.title)} is done, and its criterion {name_of(criterion)} is not ticked; "
        "look at it and tick it, or open the task again"
    )
    place = Place(line=line.number, start=line.start, end=len(line.text.rstrip()))
    return Remark(code=CheckCode.CLOSE_WITHOUT_EVIDENCE, message=message, place=place, task=task.id)


def _vague(line: Line, start: int, end: int, reason: str) -> Remark:
    told = f"only {name_of(reason)}" if reason else "nothing"
    message = (
        f"{name_of(line.task.title)} was closed, and {told} says how that was seen; name what was "
        "run or looked at, such as: make test (exit 0)"
    )
    place = Place(line=line.number, start=start, end=end)
    return Remark(
        code=CheckCode.CLOSE_WITHOUT_EVIDENCE, message=message, place=place, task=line.task.id
    )
