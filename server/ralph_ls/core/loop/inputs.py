"""Inputs: the values that can move a run, one closed union, read from one queue by one owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.evidence.ownership import Ownership, OwnershipOrder
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.plan.queries import TaskTraits
from ralph_ls.core.plan.verification.criterion_checks import TaskVerification
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.agent_tools import ReportTool
from ralph_ls.protocol.run.commands import Command
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.report import (
    AgentFailure,
    Claims,
    JudgeVerdict,
    Promise,
    Report,
    RequestedChange,
    SessionSeen,
    Usage,
)
from ralph_ls.protocol.run.values import (
    Baseline,
    LessonRef,
    Mode,
    PlanCountsView,
    RemovedTask,
    RunChoices,
    TaskRef,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTask:
    """A required task that is not done and cannot be taken now."""

    task: TaskRef
    why: str
    """In words that follow its name: "blocked by …", "set aside after 3 attempts"."""
    is_waiting: bool = False
    """It waits for other tasks, and nothing else holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """The parts of a plan by which the loop decides."""

    counts: PlanCountsView = PlanCountsView.model_construct()
    next_task: TaskRef | None = None
    next_traits: TaskTraits | None = None
    """Those of that task, where the plan has some."""
    open_tasks: tuple[TaskRef, ...] = ()
    """The first required ones that are open, at most ten."""
    held: tuple[HeldTask, ...] = ()
    """The first required ones that are not done and cannot be taken, at most ten."""
    is_stuck: bool = False
    """None can be taken, and some were set aside, which planning may help.

    See docs/rules.md#attempts.
    """
    without_tasks: str = ""
    """How to write a task, where the plan holds none at all and none was ever finished."""
    left: str = ""
    """What is left and why, where the plan has better words for it than ``held``."""
    committed_offence: str = ""
    """Why no completion is accepted: a change in HEAD's plan that agents may not make, and what the
    user can do about it; empty where there is none.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class HaltFiles:
    """The contents of ``decide.txt`` and ``blocked.txt`` at one moment."""

    question: str | None = None
    """None: there is no decide file."""
    answer: str | None = None
    """None: not answered yet."""
    blocked: str | None = None
    """The reason; None: there is no blocked file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A warning that was found outside the core."""

    code: str
    message: str
    removed: RemovedTask | None = None
    """The task that it is about, where it left the plan."""
    outside: bool = False
    """It failed outside any iteration, and the user has to look at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertedChange:
    """A change of the agent's that was restored."""

    path: str
    what: Forbidden
    tasks: tuple[TaskRef, ...] = ()
    n_tasks: int = 0
    text: str = ""
    """The agent's version, cut and redacted."""
    kept: str | None = None
    """The path of the whole version, in the folder of the run."""
    why: str | None = None
    """Which rule it broke, in words, where ``what`` alone does not say it."""
    commit: str | None = None
    """The engine's commit that restores it in the branch; None: in the work tree alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingNote:
    """A note that the user added while no engine ran."""

    text: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingReset:
    """A task that the user reset while no engine ran."""

    task: str
    by: str
    command: str
    """An id, as a command has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOverrule:
    """The judge was overruled by the user while no engine ran."""

    by: str
    command: str
    """An id, as a command has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """Where and with what settings an engine starts."""

    config: Config
    overrides: dict[str, Any] = field(default_factory=dict)
    version: str
    pid: int
    workspace: str
    state_dir: str
    plan_path: str
    request: RequestView | None = None
    """The request, where the plan is one."""
    counts: PlanCountsView = PlanCountsView.model_construct()
    branch: str | None
    head: str | None
    halt: HaltFiles = HaltFiles()
    notices: tuple[Notice, ...] = ()
    notes: tuple[PendingNote, ...] = ()
    resets: tuple[PendingReset, ...] = ()
    overrules: tuple[PendingOverrule, ...] = ()
    ends_at: datetime | None = None
    """When the allowed hours are over; None: never."""
    choices: RunChoices | None = None
    settings_digest: str | None = None
    """Of the file that has ``config`` in full; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A new run begins."""

    run: str
    facts: EngineFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """An earlier run continues; processes that its agent left are already gone."""

    by: str
    facts: EngineFacts
    orphans_ended: int = 0
    order: OwnershipOrder | None = None
    """What the user ordered for all that an open iteration left."""
    users: tuple[str, ...] = ()
    """Changed paths that are the user's: they were written after agent and engine were gone."""
    held: tuple[str, ...] = ()
    """Commits that were made when no engine ran, which are the user's to push."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The next iteration could begin: the tree as it is, and the plan."""

    baseline: Baseline
    plan: PlanFacts
    left_out: tuple[str, ...] = ()
    """Ids of the tasks that were excluded, as ordered."""
    attempts: Mapping[str, int] | None = None
    """Failed attempts by task id, where they are kept beyond the run; the plan is by these."""
    attempts_before: Mapping[str, int] = field(default_factory=dict)
    """As the run had counted them when the attempts were read."""
    mode: Mode = Mode.BUILD
    locked: str = ""
    """Which lock files keep git from working, in words; empty where none does."""
    must_claim: bool = False
    """Others may take the next task too, so it is claimed before an agent works on it."""
    notices: tuple[Notice, ...] = ()
    lessons: tuple[LessonRef, ...] = ()
    """Those that its prompt will have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskClaimed:
    """The task is this run's, or another run was quicker."""

    task: TaskRef
    refused: str = ""
    """Why it cannot be had; empty where it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLaunched:
    """The agent's process lives."""

    agent: str
    argv: tuple[str, ...]
    pid: int
    process_start_time: float
    group: int | None
    prompt_bytes: int
    dialect: Dialect | None = None
    """None: plain text."""
    model: str | None = None
    """The model it was given; None: its own choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCalled:
    """The agent called a tool of its iteration; the input was checked (docs/rules.md#tools)."""

    start: int
    call: int
    """By which the reply is matched to it."""
    tool: ReportTool
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    output_bytes: int = 0
    """How much the agent had printed."""
    sub_agent: bool = False
    text: str = ""
    """The question that it asks, in full."""
    waits: bool = False
    """It waits for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOverdue:
    """Nobody has answered the waiting agent in time."""

    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFinished:
    """The agent's process, and all that it started, are gone."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    idle: bool = False
    overspent: bool = False
    stopped: bool = False
    killed: bool = False
    leftovers: int = 0
    seconds: float = 0.0
    stdout_bytes: int = 0
    stderr_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRead:
    """The agent's result, and the changes that were found."""

    report: Report | None = None
    promises: tuple[Promise, ...] = ()
    halted: bool = False
    """The agent reported by tool that it is blocked, or asked: nothing that it says later completes
    the run."""
    completion_words: tuple[str, ...] = ()
    claims: Claims | None = None
    """Those of which the loop decides nothing; None: there are none."""
    errors: tuple[str, ...] = ()
    error_patterns: tuple[str, ...] = ()
    without_output: bool = False
    """The agent wrote no character of text."""
    failed: bool = False
    """The agent's structured output says that it failed, or has no end."""
    failure: str = ""
    """How, in words."""
    failure_kind: AgentFailure | None = None
    """The kind of failure, also where only the agent's exit shows it; None: it did not fail."""
    remedy: str = ""
    """What the user does about it, in words; empty where nothing is to be done."""
    usage: Usage | None = None
    """Of all the agents of the iteration."""
    denied_tools: tuple[str, ...] | None = None
    """A tool's name for each call that was not permitted; None where the agent cannot report them.
    """
    limit: AccountLimit | None = None
    """The usage limit of the agent's account, from its structured output."""
    session: SessionSeen | None = None
    question: str = ""
    """What the agent asked at its end without a signal; empty where it did not."""
    closing_words: str = ""
    """The last paragraph of the agent's final text, outside signals."""
    plan_changed: bool = False
    """The plan's text differs from what it was at the iteration's start."""
    changes: Changes = Changes()
    tasks_done: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()
    """Ids of tasks that were set aside and that planning has changed: they are tried again."""
    moved: tuple[str, ...] = ()
    """Ids of the tasks whose review the agent continued by a legal move."""
    renamed: Mapping[str, TaskRef] = field(default_factory=dict)
    """Tasks whose id has changed since the plan was last read, by the earlier id."""
    plan: PlanFacts = PlanFacts()
    halt: HaltFiles = HaltFiles()
    verified: tuple[TaskVerification, ...] = ()
    """Results of the commands that the criteria of closed tasks name; a refuted task is open."""
    must_validate: bool = False
    """There is a validation script that may run."""
    ownership: Ownership = Ownership()
    """The owners of the changed files, where another engine began the iteration."""
    left: Mapping[str, str] | None = None
    """The iteration's work that is in no commit: each path with a hash of its content."""
    reverted: tuple[RevertedChange, ...] = ()
    """Changes that were restored before anything else was read."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationFinished:
    """The validation has ended."""

    ok: bool
    exit_code: int | None
    timed_out: bool
    seconds: float
    """Of all scripts that ran."""
    tail: str
    """Of the last one that ran."""
    script: str = ""
    """The one that failed."""
    scripts: tuple[str, ...] = ()
    """Those that ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkJudged:
    """The judge's verdict."""

    verdict: JudgeVerdict
    reason: str = ""
    failed: bool = False
    """It gave no verdict that counts."""
    changes: tuple[RequestedChange, ...] = ()
    reopened: tuple[str, ...] = ()
    """Ids of the tasks that the plan has open again."""
    agent: str = ""
    model: str | None = None
    seconds: float = 0.0
    usage: Usage | None = None
    restored: tuple[str, ...] = ()
    """Files that it changed and that were restored."""
    plan: PlanFacts | None = None
    """The plan afterwards; None: as it was read."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkUndone:
    """The result of rolling an iteration back."""

    refused: str = ""
    """Why nothing was rolled back; empty where it was."""
    backup: str | None = None
    """The branch that keeps it; None where there was nothing."""
    commits: int = 0
    files: int = 0
    kept: tuple[str, ...] = ()
    """The first files that the user saved meanwhile, which keep what was saved."""
    plan: PlanFacts | None = None
    """The plan afterwards; None: as it was read."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkCommitted:
    """The result of a commit by the loop."""

    commit: str | None = None
    """The full id; None where there was nothing to commit, or the commit failed."""
    subject: str = ""
    files: int = 0
    problem: str = ""
    """Why it failed, with the output of git and its hooks; empty where nothing went wrong."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPushed:
    """The result of a push."""

    ok: bool = True
    remote: str = ""
    branch: str = ""
    commit: str | None = None
    tries: int = 0
    """0: there was nothing to push, or nowhere to push it to."""
    created: bool = False
    rejected: bool = False
    problem: str = ""
    """The last output of git; empty where it was pushed."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandArrived:
    """A command was in the inbox."""

    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandUnreadable:
    """A file in the inbox is no command, or came when none was accepted."""

    id: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HaltFilesChanged:
    """The user edited or removed ``decide.txt`` or ``blocked.txt``."""

    halt: HaltFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitElapsed:
    """A wait that the loop asked for is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A signal asks the engine to stop: Ctrl-C, TERM or a closed terminal."""

    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementDone:
    """Something happened beside the loop, such as an announcement; it moves no run."""

    code: str
    message: str
    start: int | None = None
    """The start that it is about, whose agent works; reported once then."""
    outside: bool = False
    """It failed outside any iteration, and the user has to do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectFailed:
    """An effect failed; the message has what and why."""

    message: str
    blocked: bool = False
    """The user can fix it, and the run then continues."""


Input = (
    Started
    | Resumed
    | Prepared
    | TaskClaimed
    | AgentLaunched
    | AgentCalled
    | AnswerOverdue
    | AgentFinished
    | IterationRead
    | ValidationFinished
    | WorkJudged
    | WorkUndone
    | WorkCommitted
    | WorkPushed
    | CommandArrived
    | CommandUnreadable
    | HaltFilesChanged
    | WaitElapsed
    | Interrupted
    | AnnouncementDone
    | EffectFailed
)
