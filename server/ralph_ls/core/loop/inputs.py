"""Everything that can move a run: one closed union, read from one queue by one owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.evidence.ownership import Ownership, OwnershipOrder
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.plan.queries import TaskTraits
from ralph_ls.core.plan.verification.criterion_checks import TaskVerification
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.commands import Command
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.report import AgentFailure, Promise, Report, SessionSeen, Usage
from ralph_ls.protocol.run.values import (
    Baseline,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """A plan as the loop decides by it."""

    counts: PlanCountsView = PlanCountsView()
    next_task: TaskRef | None = None
    next_traits: TaskTraits | None = None
    """Of that task, where the plan says some."""
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
    """Why no completion is accepted: what the plan in HEAD holds that no agent may do, and what
    the user can do about it; empty where it holds nothing of the kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HaltFiles:
    """What ``decide.txt`` and ``blocked.txt`` say at one moment."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertedChange:
    """Something of the agent's that was put back."""

    path: str
    what: Forbidden
    tasks: tuple[TaskRef, ...] = ()
    n_tasks: int = 0
    text: str = ""
    """The agent's version, cut and redacted."""
    kept: str | None = None
    """Where the whole of it lies, in the folder of the run."""
    why: str | None = None
    """Which rule it broke, in words, where ``what`` alone does not say it."""
    commit: str | None = None
    """The engine's commit that restores it in the branch; None: in the work tree alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingNote:
    """What a person told the loop while no engine ran."""

    text: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingReset:
    """A task that a person reset while no engine ran."""

    task: str
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
    counts: PlanCountsView = PlanCountsView()
    branch: str | None
    head: str | None
    halt: HaltFiles = HaltFiles()
    notices: tuple[Notice, ...] = ()
    notes: tuple[PendingNote, ...] = ()
    resets: tuple[PendingReset, ...] = ()
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
    """An earlier run goes on; what its agent left running is already gone."""

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
    """Ids of the tasks that were not to be chosen, as it was ordered."""
    attempts: Mapping[str, int] | None = None
    """Failed attempts by task id, where they are kept beyond the run; the plan is by these."""
    attempts_before: Mapping[str, int] = field(default_factory=dict)
    """As the run had counted them when that was looked at."""
    mode: Mode = Mode.BUILD
    locked: str = ""
    """Which lock files keep git from working, in words; empty where none does."""
    must_claim: bool = False
    """Others may take the next task too, so it is claimed before anybody works at it."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskClaimed:
    """The task is this run's, or somebody else was quicker."""

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
    """What the agent said, and what was seen to have changed."""

    report: Report | None = None
    promises: tuple[Promise, ...] = ()
    completion_words: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    error_patterns: tuple[str, ...] = ()
    said_nothing: bool = False
    """No character of text came from the agent."""
    failed: bool = False
    """The agent's structured output says that it failed, or has no end."""
    failure: str = ""
    """How, in words."""
    failure_kind: AgentFailure | None = None
    """Which failure it is, also where only the agent's exit tells of it; None: it did not fail."""
    remedy: str = ""
    """What a person does about it, in words; empty where nobody has to."""
    usage: Usage | None = None
    """Of all the agents of the iteration."""
    denied_tools: tuple[str, ...] | None = None
    """A tool's name for each call that was not permitted; None where the agent cannot tell."""
    limit: AccountLimit | None = None
    """The agent's account is at its usage limit, says its structured output."""
    session: SessionSeen | None = None
    question: str = ""
    """What the agent asked at its end without a signal; empty where it did not."""
    plan_changed: bool = False
    """The plan's text differs from what it was at the iteration's start."""
    changes: Changes = Changes()
    tasks_done: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()
    """Ids of tasks that were set aside and that planning has changed: they are tried anew."""
    moved: tuple[str, ...] = ()
    """Ids of the tasks whose review the agent carried on as it may."""
    renamed: Mapping[str, TaskRef] = field(default_factory=dict)
    """What tasks are called now whose id has changed since the last one was read, by that id."""
    plan: PlanFacts = PlanFacts()
    halt: HaltFiles = HaltFiles()
    verified: tuple[TaskVerification, ...] = ()
    """What came of the commands that the criteria of closed tasks name; a refuted one is open."""
    must_validate: bool = False
    """There is a validation script that may run."""
    ownership: Ownership = Ownership()
    """Whose the changed files are, where another engine began the iteration."""
    left: Mapping[str, str] | None = None
    """The iteration's work that is in no commit: each path with a hash of what it holds."""
    reverted: tuple[RevertedChange, ...] = ()
    """What was put back before anything else was looked at."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationFinished:
    """The validation is through."""

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
class WorkUndone:
    """What came of taking an iteration back."""

    refused: str = ""
    """Why nothing was taken back; empty where it was."""
    backup: str | None = None
    """The branch that keeps it; None where there was nothing."""
    commits: int = 0
    files: int = 0
    kept: tuple[str, ...] = ()
    """The first files that a person saved meanwhile, which are as they were saved."""
    plan: PlanFacts | None = None
    """The plan after that; None: as it was read."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkCommitted:
    """What came of a commit of the loop's own."""

    commit: str | None = None
    """Whole; None where there was nothing to commit, or no commit came about."""
    subject: str = ""
    files: int = 0
    problem: str = ""
    """Why none came about, with what git and its hooks said; empty where nothing went wrong."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPushed:
    """What came of a push."""

    ok: bool = True
    remote: str = ""
    branch: str = ""
    commit: str | None = None
    tries: int = 0
    """0: there was nothing to push, or nowhere to push it to."""
    created: bool = False
    rejected: bool = False
    problem: str = ""
    """What git said at last; empty where it was pushed."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandArrived:
    """A command lay in the inbox."""

    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandUnreadable:
    """Something lay in the inbox that is no command, or came when none was taken."""

    id: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HaltFilesChanged:
    """A person edited or removed ``decide.txt`` or ``blocked.txt``."""

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
    """What was seen beside the loop, such as how those outside were told; it moves no run."""

    code: str
    message: str
    start: int | None = None
    """The start that it is about, whose agent works; reported once then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectFailed:
    """Something the loop ordered could not be done; the message says what and why."""

    message: str
    blocked: bool = False
    """The user can put it right, and the run then goes on."""


Input = (
    Started
    | Resumed
    | Prepared
    | TaskClaimed
    | AgentLaunched
    | AgentFinished
    | IterationRead
    | ValidationFinished
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
