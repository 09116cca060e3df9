"""What a panel shows of a work tree, in words that need nothing but drawing.

``core.views`` makes it from the newest run, its history and the plan. A viewer that draws it
decides nothing: every button names a verb and brings its arguments.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.json_output import LaneTable
from ralph_ls.protocol.plan import PlanProblem, TaskView
from ralph_ls.protocol.run.values import BreakerState, Outcome


class Verb(StrEnum):
    """What a lens or a button does when it is clicked."""

    START = "start"
    PAUSE = "pause"
    STOP = "stop"
    RESUME = "resume"
    """Continues after a pause, approves a review, resolves a blocker, or takes over a run whose
    engine died."""
    RESET = "reset"
    OVERRULE = "overrule"
    """Accepts work for which a judge requests changes."""
    ANSWER = "answer"
    RUN_TASK = "runTask"
    SHOW_LOG = "showLog"
    SHOW_FILE = "showFile"
    """Opens the file that its argument ``path`` names, relative to the work tree."""
    NONE = "none"
    """It only informs."""


class Tone(StrEnum):
    """What a value means to the user; a viewer adds a shape and a colour to the word."""

    PLAIN = "plain"
    ACTIVE = "active"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


class PanelState(StrEnum):
    """The state of a loop at a glance."""

    NONE = "none"
    """No run was ever made here."""
    RUNNING = "running"
    STOPPING = "stopping"
    PAUSED = "paused"
    """It continues when the user says so."""
    WAITING = "waiting"
    """It waits by itself: a limit, a retry, a cooldown."""
    ASKS = "asks"
    """A question waits for an answer."""
    BLOCKED = "blocked"
    STUCK = "stuck"
    """The breaker is open, or too many iterations made no commit."""
    COMPLETE = "complete"
    ENDED = "ended"
    """Ended, and nothing waits for the user."""
    FATAL = "fatal"
    CRASHED = "crashed"


class Action(WireModel):
    """A button: what it says, and what it does."""

    title: str
    verb: Verb
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Plain JSON values: ``run``, ``task``, ``iteration``, ``path``, ``now``, ``continue``, and
    ``text``, an option of the question that is the answer."""


class Card(WireModel):
    """What needs a look before everything else."""

    kind: str
    """A stable kebab-case name: ``question-waiting``, ``run-blocked``, ``plan-blocked``,
    ``breaker-open``, ``run-stuck``, ``engine-gone``, ``run-fatal``, ``run-paused``,
    ``run-review``, ``run-ready``, ``run-stops``, ``breaker-half-open``, ``run-waits``,
    ``run-complete``, ``run-ended`` or ``lanes-parked``."""
    tone: Tone
    title: str
    text: str = ""
    """For the user; it may have several lines."""
    since: Timestamp | None = None
    """Since when it is so, where that matters: when the breaker opened, or the last event of an
    engine that died. A viewer shows it in its own time zone, and how long ago that was."""
    actions: tuple[Action, ...] = ()


class Fact(WireModel):
    """One line of the panel: a heading and its words."""

    key: str
    """Stable, and in this order: ``request`` (what is worked on if there is no plan), ``report``,
    ``breaker``, ``aside`` (tasks that were set aside), ``plan`` (remarks on one that is not a
    document that could show them), ``tests``, ``work``, ``evidence``, ``next``, ``time``,
    ``cost``, ``tokens``; what is not known is left out."""
    heading: str
    text: str
    tone: Tone = Tone.PLAIN
    more: str = ""
    """The rest of a text that was cut, for users who open the line."""


class AnswerView(WireModel):
    """A question of the user about a loop, answered in words."""

    heading: str
    text: str
    redundant: bool | None = None
    """True: headline, card or buttons of the same panel say it, so a viewer that shows those
    leaves the row out."""


class TaskRow(TaskView):
    """A task as the plan's tree shows it."""

    attempts: int = 0
    """Iterations of this run that were assigned it."""
    iteration: int | None = None
    """The one that did it, or else the last that tried."""
    start: int | None = None
    """Of that iteration."""
    commit: str | None = None
    """Whole hash of the commit that did it."""
    in_work: bool = False
    asks: bool = False
    """The open question is about it."""
    blocks: bool = False
    """The open blocker is about it."""
    lane: int | None = None
    """Of a parallel run: number of the lane that has it."""
    merged: bool = False
    """Of a parallel run: it is done on the run's branch, and still open in this file."""
    skipped: bool = False
    """The user wants it skipped for as long as the run lasts."""
    can_block: bool = True
    """Whether the plan can say that it is blocked, by an edit of its text."""
    words: str = ""
    """What there is to say beside the title, such as ``done in iteration 2 · a1b2c3d``."""


class IterationRow(WireModel):
    """One iteration as the tree of iterations shows it."""

    iteration: int
    start: int
    """Its identity: the log, the changes and a rollback are asked for by it."""
    tries: int = 1
    """How many starts the iteration has had, with this one."""
    task: str | None = None
    """Title of the task that it was assigned."""
    planning: bool | None = None
    """True: it makes or rewrites the plan, so it has no task."""
    outcome: Outcome | None = None
    """None while it is running."""
    confirmed: bool | None = None
    """True: it ran to its end to confirm that nothing is left to do."""
    started_at: Timestamp | None = None
    seconds: float | None = None
    commit: str | None = None
    """Whole hash of its last commit in the work tree."""
    files: int | None = None
    """Changed, as the engine saw it."""
    claimed_files: int | None = None
    """Changed, as the report says."""
    tasks_done: int = 0
    status: str | None = None
    """STATUS of its report."""
    work_type: str | None = None
    tests: str | None = None
    cost_usd: float | None = None
    estimated: bool | None = None
    """True: the cost was worked out from the table ``prices``."""
    failure: str | None = None
    """How its agent failed, in words; None where it did not, or was at its usage limit."""
    why: str = ""
    """What was decided about it and why, then what its agent claims; its evidence until it ends."""
    changes: bool = False
    """Whether it is known what it began with, so that its changes can be shown."""
    undone: bool | None = None
    """True: its work was rolled back, by the loop itself or by the user."""
    can_roll_back: bool = False
    """Whether the branch may be taken back to before it: it is settled, it or a later one made
    a commit, and no engine runs. Git has the last word when that is asked for."""


class QuestionView(WireModel):
    """The question of a run that the user should answer, or that was answered last."""

    key: str
    """Identifies the question for every viewer: the run and when it was asked."""
    text: str
    options: tuple[str, ...] = ()
    """Choices that the question itself lists."""
    iteration: int | None = None
    start: int | None = None
    asked_at: Timestamp | None = None
    task: str | None = None
    """Id of the task that it is about."""
    lane: int | None = None
    """Of a parallel run: number of the lane that asks, so that the answer names its task."""
    line: int = 0
    """Where it is shown in the plan, from 0."""
    answer: str | None = None
    answered_by: str | None = None
    """Who gave the answer; None while it is only in the file and no engine has read it."""


class Meter(WireModel):
    """How far something is, of how much."""

    value: int
    of: int | None = None
    """None: without a limit."""


class Panel(WireModel):
    """Everything that a panel shows of one work tree."""

    state: PanelState = PanelState.NONE
    headline: str
    """Its state in a few words."""
    doing: str = ""
    """The task in work, or the one that waits for the user, as among ``answers``; empty where
    there is none."""
    short: str = ""
    """The same for a status bar, such as ``3/20`` or ``asks``."""
    tone: Tone = Tone.PLAIN
    needs_person: bool = False
    waiting: int = 0
    """How many questions and blockers wait for the user."""
    badge: int = 0
    """The number beside an icon: as ``waiting``, and at least 1 where a breaker or an engine that
    is gone waits for the user."""
    live: bool = False
    breaker: BreakerState = BreakerState.CLOSED
    iterations: Meter = Meter.model_construct(value=0)
    tasks: Meter = Meter.model_construct(value=0)
    """Required tasks that are done, of all that are required."""
    seconds: float = 0.0
    """Running time when this was made; it advances by itself while ``ticking``."""
    ticking: bool = False
    until: Timestamp | None = None
    """When a run that waits by itself continues; a viewer shows it in its own time zone."""
    answers: tuple[AnswerView, ...] = ()
    """In the order in which they are shown; one without an answer is left out."""
    card: Card | None = None
    facts: tuple[Fact, ...] = ()
    actions: tuple[Action, ...] = ()
    """What can be done now, the most likely first."""
    question: QuestionView | None = None
    rows: tuple[IterationRow, ...] = ()
    """Newest first, at most 200."""
    lanes: LaneTable | None = None
    """Of a parallel run."""


class PlanRows(WireModel):
    """The plan of a work tree as its tree shows it."""

    uri: str | None = None
    """None where no file is the plan, so that no row has a line to go to."""
    path: str = ""
    """Relative to the work tree, or the name of a plan that is not a file, such as ``bd``; empty
    where there is none."""
    tasks: tuple[TaskRow, ...] = ()
    problems: tuple[PlanProblem, ...] = ()
