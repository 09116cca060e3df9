"""Plan model: a parsed plan, its tasks in order with their positions, and the limits of its size.

The model is the same for every kind of plan and does not know formats or files
(docs/rules.md#plans).

Parsing takes time and memory in proportion to the lines of a plan, a few microseconds and half a
kilobyte each. A plan beyond the limits is refused as a whole and never parsed in part, because half
a plan would be complete too early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, overload

from ralph_ls.protocol.task_words import Priority, ShownPriority, TaskState

if TYPE_CHECKING:
    from ralph_ls.protocol.plan import PlanProblem


class TaskKind(Enum):
    """How a task is written down."""

    ITEM = auto()
    """A list item."""
    HEADING = auto()
    """A heading with a state, and no task below it."""
    ROW = auto()
    """A row of a table."""
    STORY = auto()
    """An object in a file of stories."""


class Task(NamedTuple):
    """One item of the plan (docs/rules.md#names), with the place in the text that it was read from.

    A named tuple, like other values of the parser: long plans have ten thousand of them.
    """

    id: str
    """Explicit (``US-001``), else 8 hex digits of the normalised title; ``-2``, ``-3`` repeat."""
    title: str
    """Without marks, tags and explicit id; white space is folded."""
    state: TaskState
    priority: Priority | None
    """From a tag, a severity or a heading; None where there is none."""
    section: str
    """The nearest heading, without marks; empty before the first one."""
    optional: bool
    """True under an optional section: such a task is taken last and never holds a run open."""
    line: int
    """From 0."""
    start: int
    """Where the item's first line begins, in characters of the text."""
    end: int
    """Where that line ends, before its line ending: ``text[start:end]`` is the line."""
    end_line: int
    """The last line, from 0, that belongs to the item: notes and nested items count."""
    depth: int
    """How many tasks this one is nested in."""
    parent: str | None
    """The id of the task that this one is nested in."""
    blocked_by: str | None
    """The reason as the plan gives it, whatever the state."""
    criteria: tuple[str, ...]
    """The acceptance criteria, one text each."""
    kind: TaskKind = TaskKind.ITEM
    mark: tuple[int, int] | None = None
    """The place of its state in the text: inside the box, the emoji or the cell; else None."""
    words: tuple[int, int, int] | None = None
    """Line (from 0), beginning and end in characters of that line, of its title; None where its
    first line holds it, behind marker and box."""
    is_criterion: bool = False
    """True in a section for criteria or prose: it says when the work is done, and comes last."""
    tracker_priority: ShownPriority | None = None
    """The tracker's name of the priority, where that is finer than a plan's."""

    @property
    def shown_priority(self) -> ShownPriority | None:
        """The priority as it is shown; the loop decides by ``priority``."""
        if self.tracker_priority is not None or self.priority is None:
            return self.tracker_priority
        return ShownPriority(self.priority.value)


T_co = TypeVar("T_co", covariant=True)


class LazyTuple(Sequence[T_co], Generic[T_co]):
    """A tuple whose members are made on first access; equal to the tuple of its members.

    Parsing a plan is cheap, and most callers need only its counts.
    """

    __slots__ = ("_length", "_made", "_make")

    def __init__(self, make: Callable[[], tuple[T_co, ...]], length: int | None = None) -> None:
        self._make = make
        self._made: tuple[T_co, ...] | None = None
        self._length = length

    @property
    def is_made(self) -> bool:
        """Whether they have been made."""
        return self._made is not None

    def whole(self) -> tuple[T_co, ...]:
        """All of them; made once."""
        if self._made is None:
            self._made = self._make()
            self._length = len(self._made)
        return self._made

    def __len__(self) -> int:
        return len(self.whole()) if self._length is None else self._length

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        return self.whole()[index]

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.whole())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyTuple):
            return self.whole() == other.whole()
        return self.whole() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.whole())

    def __repr__(self) -> str:
        return repr(self.whole())


Tally = Mapping[tuple[TaskState, bool], int]
"""The number of tasks of a state, separately for required and optional ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The tasks in the order of the text."""

    tasks: Sequence[Task] = ()
    """A tuple, or what is equal to one and made late."""
    has_parts: bool = field(default=True, repr=False, compare=False)
    """Whether tasks may have numbered parts: ``2.`` and ``2.1`` (``parts.finished_wholes``)."""
    known_tally: Tally | None = field(default=None, repr=False, compare=False)
    pick: Callable[[Collection[TaskState], Collection[str]], tuple[Task, ...]] | None = field(
        default=None, repr=False, compare=False
    )
    """Makes ``some`` of the tasks, where not all of them have been made."""

    def tally(self) -> Tally:
        """Count the tasks by state; free where the parser has counted them."""
        if self.known_tally is not None:
            return self.known_tally
        return Counter((task.state, task.optional) for task in self.tasks)

    def some(
        self, *, states: Collection[TaskState] = (), ids: Collection[str] = ()
    ) -> tuple[Task, ...]:
        """The tasks with one of these states or ids, in order; of a long plan no others are made.

        Searches the whole plan, so call it once for all.
        """
        if self.pick is not None and isinstance(self.tasks, LazyTuple) and not self.tasks.is_made:
            return self.pick(states, ids)
        return tuple(task for task in self.tasks if task.state in states or task.id in ids)

    def find(self, task_id: str) -> Task | None:
        """The task with this id, if there is one; linear."""
        return next(iter(self.some(ids={task_id})), None)

    def by_id(self) -> Mapping[str, Task]:
        """Every task under its id; ids are unique in a plan. Build it once for many look-ups."""
        return {task.id: task for task in self.tasks}

    def at_line(self, line: int) -> Task | None:
        """The innermost task that the line (from 0) belongs to."""
        holding = (task for task in reversed(self.tasks) if task.line <= line <= task.end_line)
        return next(holding, None)


class GuessCause(Enum):
    """Why lines were read as they were, where the plan leaves it open."""

    LINES = auto()
    """Lines without a box are read as tasks."""
    FINISHED = auto()
    """Lines without a state are read as done, because a heading is done."""
    SIGNED = auto()
    """Lines are read as done for an emoji in front that all lines of their list have."""
    HEADINGS = auto()
    """Headings are read as tasks by their names alone."""
    UNREAD_HEADINGS = auto()
    """Headings that are named like tasks are not read."""
    UNREAD_LINES = auto()
    """Lines without a box are not read."""
    UNREAD_ROWS = auto()
    """Rows of a table without a column for states are not read."""
    UNREAD_BOXES = auto()
    """Lines begin with a box, and are no items of a list."""
    QUOTED = auto()
    """Ticked boxes are in a quote, and tasks are open."""
    CODE = auto()
    """Open boxes are below a heading in a code block, which may be a part of the plan."""
    PROSE = auto()
    """Numbered lines, lines with a state and boxes are read as prose."""
    TABLE = auto()
    """Rows are read as tasks by a column for states."""
    OPEN_BELOW_DONE = auto()
    """Tasks are open below headings that say that they are done."""
    UNREAD_STATUS = auto()
    """The status of a document names what is done of it, and no task is."""
    CRITERIA = auto()
    """Boxes are read as tasks in a section for criteria, beside other tasks."""
    CLAIMS = auto()
    """Lines say that all tasks are done, and some are open."""
    STATUS_AGAINST_BOX = auto()
    """Lines ``Status: …`` say something else than the boxes of their tasks, which count."""
    DONE_BELOW_OPEN = auto()
    """Headings say that they are not done, and everything below them is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGuess:
    """All lines of a plan that were read by one rule that may be wrong."""

    cause: GuessCause
    lines: tuple[int, ...]
    """From 0."""
    names: tuple[str, ...]
    """The sections that they are in; of headings their titles, of a table the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPlan:
    """A plan and the problems in its text, by line."""

    plan: Plan
    problems: Sequence[PlanProblem] = ()
    """A tuple, or what is equal to one and made late."""
    spans: Sequence[tuple[int, int]] = ()
    """The span of each problem in its line, in characters."""
    guesses: Sequence[PlanGuess] = field(default=(), compare=False)
    """One for each cause; made late."""
    source: object = field(default=None, repr=False, compare=False)
    """The internal state for ``reparse_markdown``."""


class PlanKind(StrEnum):
    """The name of a plan format (docs/rules.md#plans)."""

    MARKDOWN = "markdown"
    STORIES = "stories"
    """``tasks.json`` or ``prd.json``."""
    BEADS = "beads"
    """``bd``."""
    REQUEST = "request"
    """The text of a request."""
    SPEC_KIT = "spec-kit"
    KIRO = "kiro"
    OPENSPEC = "openspec"
    TASK_MASTER = "task-master"
    BACKLOG = "backlog.md"
    SUPERPOWERS = "superpowers"
    GSD = "gsd"
    BMAD = "bmad"
    BMAD_STORY = "bmad-story"
    """A story of BMAD before it had a sprint status."""
    TODO_TXT = "todo.txt"
    ORG = "org"
    GITHUB = "github"
    """Issues of a label or milestone."""


LARGEST_PLAN = 16 << 20
"""Bytes, or characters of an open document."""

MOST_LINES = 100_000
"""Five times the lines of a plan of ten thousand tasks with notes."""


def text_limit_error(text: str) -> str | None:
    """As ``size_limit_error``, of a text that is there already."""
    # The lines of a text that is too large anyway need not be counted.
    return size_limit_error(len(text), 0) or size_limit_error(len(text), text.count("\n"))


def size_limit_error(size: int, n_lines: int) -> str | None:
    """Why a plan is not read, in words that follow its name; None where it is read.

    ``n_lines`` counts its line breaks.
    """
    if size > LARGEST_PLAN:
        return f"larger than {LARGEST_PLAN >> 20} MB"
    if n_lines > MOST_LINES:
        return f"longer than {MOST_LINES:,} lines"
    return None
