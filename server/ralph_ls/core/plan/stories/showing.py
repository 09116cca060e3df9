"""A file of stories as the plan that everything else knows (SPEC §8: one model, five sources).

A story that passes is done. One in review or with changes requested is in progress. None is
blocked or skipped: the file has no words for that, and what waits for another story is for
``choosing`` to say.
"""

from __future__ import annotations

from bisect import bisect_right

from ralph_ls.core.plan.checking.remarks import Place
from ralph_ls.core.plan.lines import lines_of
from ralph_ls.core.plan.model import Parsed, Plan, Task, TaskKind
from ralph_ls.core.plan.stories.invariants import check_invariants, check_missing
from ralph_ls.core.plan.stories.json_text import Node
from ralph_ls.core.plan.stories.model import PASSES, Stories, Story
from ralph_ls.core.plan.stories.reading import read
from ralph_ls.core.plan.titles import fold, make_sayable
from ralph_ls.protocol.plan import PlanProblem, TaskState


def parse(text: str, *, skip_review: bool = False) -> Parsed:
    """Read a plan and its problems from a file of stories; never raises."""
    known = read(text)
    found = [
        *known.findings,
        *check_invariants(known.stories, skip_review=skip_review),
        *check_missing(known.stories, skip_review=skip_review),
    ]
    lines = TextLines(text)
    problems: list[PlanProblem] = []
    spans: list[tuple[int, int]] = []
    for one in sorted(found, key=lambda finding: finding.start):
        number, span = lines.place(one.start, one.end)
        message = make_sayable(one.message)
        problems.append(PlanProblem(code=one.code, message=message, line=number + 1))
        spans.append(span)
    return Parsed(
        plan=to_plan(known.stories), problems=tuple(problems), spans=tuple(spans), source=known
    )


def to_plan(stories: Stories) -> Plan:
    """The stories as tasks, in the order of the file; a task stands where its object begins."""
    lines = TextLines(stories.text)
    return Plan(tasks=tuple(_to_task(story, stories, lines) for story in stories.stories))


def place_of(stories: Stories, story_id: str, key: str | None = None) -> Place | None:
    """Where a field of a story stands, or what its object begins with; None where it is not there.

    Of a value of several lines it is what stands in the first one.
    """
    story = stories.by_id().get(story_id)
    if story is None or (key is not None and key not in story.fields):
        return None
    start, end = story.node.start, story.node.start + 1
    if key is not None:
        start, end = story.fields[key].node.start, story.fields[key].node.end
    number, (first, last) = TextLines(stories.text).place(start, end)
    return Place(line=number, start=first, end=last)


def state_of(story: Story) -> TaskState:
    """How a story stands, in the words of SPEC §1."""
    if story.passes:
        return TaskState.DONE
    return TaskState.TODO if story.status is None else TaskState.IN_PROGRESS


class TextLines:
    """The lines of one text, to look places up in."""

    def __init__(self, text: str) -> None:
        found = list(lines_of(text))
        self._starts = [start for start, _ in found]
        self._lengths = [len(line) for _, line in found]

    def number(self, place: int) -> int:
        """The line, from 0, that a place is in."""
        return bisect_right(self._starts, place) - 1

    def bounds(self, number: int) -> tuple[int, int]:
        """Where a line begins and ends, without its ending."""
        start = self._starts[number]
        return start, start + self._lengths[number]

    def place(self, start: int, end: int) -> tuple[int, tuple[int, int]]:
        """The line that a part begins in, and from where to where in it that part goes."""
        number = self.number(start)
        begin, line_end = self.bounds(number)
        first = min(start, line_end) - begin
        return number, (first, max(first, min(end, line_end) - begin))

    def words(self, node: Node) -> tuple[int, int, int]:
        """The same of a value, flat and without the quotes of a text."""
        inset = 1 if isinstance(node.scalar, str) and node.end > node.start + 2 else 0
        number, (first, last) = self.place(node.start + inset, node.end - inset)
        return number, first, last


def _to_task(story: Story, stories: Stories, lines: TextLines) -> Task:
    line = lines.number(story.node.start)
    start, end = lines.bounds(line)
    passes, title = story.fields.get(PASSES), story.fields.get("title")
    return Task(
        id=story.id,
        title=story.title,
        state=state_of(story),
        priority=story.priority,
        section=fold(stories.project),
        optional=False,
        line=line,
        start=start,
        end=end,
        end_line=lines.number(story.node.end),
        depth=0,
        parent=None,
        blocked_by=None,
        criteria=story.criteria,
        kind=TaskKind.STORY,
        mark=None if passes is None else (passes.node.start, passes.node.end),
        words=None if title is None else lines.words(title.node),
    )
