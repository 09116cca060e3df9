"""Figures of a work tree's runs, as ``ralph runs``, ``show`` and ``export`` print them.

Everything here follows from journals. What an agent says of its own work is in ``claims`` and
``completion_words`` alone, and nothing is counted by it; its usage is what it reports.

What ``ralph doctor --json`` prints. Stable: programs read it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.run.events import Validated
from ralph_ls.protocol.run.report import AgentFailure, Claims, Promise, Report
from ralph_ls.protocol.run.state import TaskReceipt
from ralph_ls.protocol.run.values import (
    BreakerState,
    CommitView,
    Evidence,
    FileChange,
    LaneState,
    MergeProblem,
    Mode,
    Outcome,
    Phase,
    ReviewSeen,
    TaskRef,
)


class IterationMetrics(WireModel):
    """One settled iteration."""

    run: str
    iteration: int
    start: int
    counted: bool = True
    """Whether it counts for the limit of iterations."""
    mode: str
    """What it was for, as the files of its profile name it: ``implement`` for ``build`` in
    ``stories``."""
    task: TaskRef | None = None
    outcome: Outcome
    confirmed: bool = False
    """It ran to its end to confirm that nothing is left to do, whatever ``outcome`` has."""
    clean: bool
    """It made progress, confirmed or completed the run, no limit of an iteration ended its agent,
    and no validation failed."""
    started_at: Timestamp | None = None
    ended_at: Timestamp
    seconds: float
    commit: str | None = None
    """Its last commit, whole."""
    commits: int = 0
    """Of the agent and of the loop, not the user's."""
    files: int = 0
    own_files: int = 0
    """Changed files of the loop itself, such as its plan, which are not in ``files``."""
    undone: bool = False
    """The loop itself rolled its work back."""
    tasks_done: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    estimated: bool = False
    """The cost was worked out from the table ``prices``."""
    failure: AgentFailure | None = None
    """Why its agent failed; None where it did not."""
    turns: int | None = None
    context_tokens: int | None = None
    context_window: int | None = None
    has_progress: bool = False
    """By its evidence."""
    is_stuck: bool = False
    """The breaker is open after it, or the same error has come back too often."""
    errors: tuple[str, ...] = ()
    """Its first error lines."""
    completion_words: tuple[str, ...] = ()
    """Names of the completion phrases in its agent's final text."""
    claims: Claims | None = None
    """What its agent claims: no evidence. None: nothing, or an engine that did not record it."""
    review: ReviewSeen | None = None
    """The review that it gave; None: none, or one that its engine did not record."""
    agent: str | None = None
    """None: no agent was started."""
    model: str | None = None
    """None: the agent's own choice."""
    validated: bool | None = None
    """Whether its validation passed; None: none ran."""
    breaker: BreakerState = BreakerState.CLOSED
    """The state of the breaker after it."""
    lessons: tuple[str, ...] = ()
    """Ids of the lessons in its prompt."""


class ModeMetrics(WireModel):
    """The iterations of one mode together."""

    mode: str
    iterations: int = 0
    """Those that count; the rest is of all."""
    seconds: float = 0.0
    tokens: int | None = None
    cost_usd: float | None = None
    estimated: bool = False


class ReviewMetrics(WireModel):
    """What the review cycle of stories cost, and what it found."""

    reviews: int = 0
    """Stories that were reviewed, as far as engines recorded it."""
    findings: int = 0
    """What the reviewers asked to be changed, in points."""
    with_findings: int = 0
    approved: int = 0
    approved_at_cap: int = 0
    """Of those: approved because they had as many reviews as they may have."""
    seconds: float = 0.0
    """Of all iterations that reviewed or fixed what a review found."""
    cost_usd: float | None = None
    estimated: bool = False
    share_of_time: float | None = None
    """Of the time of all iterations, 0 to 1."""
    share_of_cost: float | None = None
    findings_per_review: float | None = None


class PrunedOutput(WireModel):
    """What a run lost when it was pruned: its output and messages; its journal is kept."""

    at: Timestamp
    setting: str
    """What it was removed by, such as ``[state] keep_days = 90``."""
    files: int
    bytes: int


class LaneSpan(WireModel):
    """When a lane of a parallel run worked on one task."""

    lane: int
    task: TaskRef
    state: LaneState
    started_at: Timestamp
    ended_at: Timestamp | None = None
    """None: it has not come to its end."""
    seconds: float = 0.0
    """How long its runs were active."""
    conflicts: int = 0


class ParallelMetrics(WireModel):
    """What working side by side came to in one run."""

    lanes: int
    """How many tasks may be worked on at once."""
    merged: int = 0
    parked: int = 0
    conflicts: int = 0
    work_seconds: float = 0.0
    """How long the runs of all lanes were active together."""
    speed_up: float | None = None
    """That, by the engine time of the run; None where there is none yet."""
    spans: tuple[LaneSpan, ...] = ()
    """One for each task, in the order in which they were started."""


class RunMetrics(WireModel):
    """One run."""

    run: str
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    end: str
    """The reason of its end; else ``running``, ``parked`` or ``crashed``."""
    exit_code: int | None = None
    seconds: float = 0.0
    """Engine time without parking where the run is over, else that of its iterations."""
    answers: int = 0
    """Questions that the user answered, and blockers that the user resolved."""
    resets: int = 0
    """Breakers and tasks that the user reset, and stuck runs that the user resumed."""
    edits: int = 0
    """Iterations in which the user ticked a task in the plan, or committed."""
    files: int = 0
    """Different files that its iterations changed; a file that several changed counts once."""
    more_files: bool = False
    """There may be more: not all that changed are known by path."""
    pruned: PrunedOutput | None = None
    """What was removed of its files; None where they are whole."""
    iterations: tuple[IterationMetrics, ...] = ()
    receipts: tuple[TaskReceipt, ...] = ()
    """What each task took that became done, in the order in which they did."""
    parallel: ParallelMetrics | None = None
    """Of a parallel run; its iterations are those of the runs in its lanes."""


class TotalMetrics(WireModel):
    """All of it together; a rate is None where there is nothing that it could be a share of."""

    runs: int = 0
    iterations: int = 0
    """Those that count: at a usage limit of the agent's account nothing was tried."""
    clean: int = 0
    seconds: float = 0.0
    """Of the runs, as each reports it."""
    iteration_seconds: float = 0.0
    commits: int = 0
    files: int = 0
    """Different files, each counted once a run."""
    more_files: bool = False
    tasks_done: int = 0
    tokens: int | None = None
    """In and out, as the budget counts them."""
    cost_usd: float | None = None
    estimated: bool = False
    """Some of the cost was worked out from the table ``prices``."""
    without_tokens: int = 0
    """Iterations that count and whose tokens are unknown."""
    without_cost: int = 0
    """Iterations that count and whose cost is unknown; where there is one, ``costUsd`` is less than
    was spent."""
    answers: int = 0
    resets: int = 0
    edits: int = 0
    iteration_success_rate: float | None = None
    """Clean iterations of those that count, 0 to 1."""
    run_success_rate: float | None = None
    """Complete runs of those that are over, 0 to 1."""
    human_intervention_rate: float | None = None
    """Answers, resets and edits for each iteration that counts."""
    average_iteration_seconds: float | None = None
    average_task_seconds: float | None = None
    """Time of iterations for each task that became done."""
    average_task_cost_usd: float | None = None
    """Cost of iterations for each task that became done."""
    average_context: float | None = None
    """Share of the context window that an iteration used, 0 to 1, where agents report it."""
    largest_context: float | None = None
    ends: dict[str, int] = Field(default_factory=dict)
    """How the runs ended, and how often each."""
    failures: dict[str, int] = Field(default_factory=dict)
    """How the agents failed, and how often each, in the words of ``AgentFailure``."""
    modes: tuple[ModeMetrics, ...] = ()
    """In the order in which they came first."""
    reviews: ReviewMetrics | None = None
    """None where no iteration was a review."""


class Statistics(WireModel):
    """What ``ralph runs --json`` prints."""

    workspace: str
    runs: tuple[RunMetrics, ...] = ()
    """Oldest first."""
    totals: TotalMetrics = TotalMetrics.model_construct()


class FileDiffStat(FileChange):
    """One file that an iteration changed, with the lines that git counts."""

    added: int | None = None
    """None: a binary file, or a new one that git does not track yet."""
    removed: int | None = None


class IterationDetails(WireModel):
    """What ``ralph show N --json`` prints: one iteration whole."""

    run: str
    iteration: int
    start: int
    """Its newest start; the files of the run are named by it."""
    tries: int = 1
    """How many starts it has had."""
    mode: Mode
    task: TaskRef | None = None
    started_at: Timestamp
    agent: str | None = None
    """None: no agent was started."""
    model: str | None = None
    """None: the agent's own choice."""
    session: str | None = None
    """The agent's session, which ``ralph attach`` opens; None: it named none, or none yet."""
    figures: IterationMetrics | None = None
    """None while it is not settled."""
    decision: str | None = None
    """What followed from it, and why; None while it is not settled."""
    evidence: Evidence | None = None
    """What the engine saw."""
    report: Report | None = None
    """What the agent claims."""
    promises: tuple[Promise, ...] = ()
    validated: Validated | None = None
    commits: tuple[CommitView, ...] = ()
    """Oldest first, as far as git still has them."""
    files: tuple[FileDiffStat, ...] = ()
    """Its changes by path, as far as git still has them."""
    more_files: int = 0
    prompt: str | None = None
    """None: its file was removed."""


class LaneRow(WireModel):
    """A lane of a parallel run as viewers list it."""

    lane: int
    task: TaskRef
    state: LaneState
    words: str
    """What it does, in a few words, such as ``works`` or ``parked: …``."""
    branch: str
    worktree: str
    """Absolute path; the folder is removed once the lane is merged."""
    run: str | None = None
    """Id of its newest run."""
    question: str | None = None
    """What it asks the user."""
    options: tuple[str, ...] = ()
    """Choices that the question itself lists."""
    problem: MergeProblem | None = None
    """Why its work was not merged."""
    conflicts: tuple[str, ...] = ()
    """Files with conflicts, relative to its work tree, at most 50."""
    commits: int = 0
    """Of its task on the branch."""
    iterations: int = 0
    """Of its runs that are over."""
    cost_usd: float | None = None
    """Of its runs that are over."""
    estimated: bool = False
    kept: str | None = None
    """Why its work tree stays after the merge."""
    journal: str | None = None
    """Path of the events of ``run``; only where lanes were asked for, as by ``ralph/lanes``."""
    start: int | None = None
    """The newest iteration of ``run``; as ``journal``."""


class LaneTable(WireModel):
    """The lanes of a parallel run."""

    run: str
    branch: str
    """Where their work is merged."""
    most: int
    """How many tasks are worked on at once."""
    merged: int = 0
    """Tasks that are merged."""
    of: int = 0
    """The same, and those that are still to be done."""
    words: str
    """All of them in a line, such as ``2 lanes: 1 working, 1 asking you · 1 parked``."""
    rows: tuple[LaneRow, ...] = ()
    """Those at work first, then what is parked, then what is set aside or merged."""


class RunAnywhere(WireModel):
    """One run of the user that is live, or that waits for the user."""

    workspace: str
    lane: int | None = None
    """Number of the lane, where it is the run of one."""
    lane_of: str | None = None
    """Work tree of the parallel run that the lane belongs to."""
    fleet_task: str | None = None
    """Task of a fleet that it works on, as `repository#id`; then `workspace` is its lane."""
    fleet_state: Literal["asking", "parked"] | None = None
    """The task gave up its lane and waits for the user, so no run works on it; `workspace` is its
    repository, and `activity` its question or what is wrong."""
    run: str
    plan: str
    branch: str | None = None
    live: bool
    """Whether an engine has it now."""
    phase: Phase
    activity: str
    """What it does, or how far its plan is."""
    iteration: int
    max_iterations: int | None = None
    task: TaskRef | None = None
    """That of the current iteration."""
    done: int = 0
    """Required tasks that are done."""
    required: int = 0
    cost_usd: float | None = None
    estimated: bool = False
    started_at: Timestamp | None = None
    needs: str | None = None
    """What it needs from the user; None: nothing."""
    next: str
    """The command to continue with, in its work tree."""


class RunsEverywhere(WireModel):
    """What ``ralph ps --json`` prints: live runs first, then those that wait, the newest first."""

    runs: tuple[RunAnywhere, ...] = ()


class OrderReply(WireModel):
    """What ``ralph stop --json`` prints: what became of an order.

    It is the same after ``pause``, ``resume``, ``reset``, ``answer``, ``note``, ``skip``,
    ``reset-task`` and ``ralph inbox answer``.
    """

    accepted: bool
    code: str
    """``accepted``, ``written`` where no engine runs, or the kebab-case reason of the refusal."""
    text: str


class NotifyResult(WireModel):
    """What became of a sample at one destination."""

    to: str
    """The name of an address, ``command`` or ``bell``."""
    sent: bool
    problem: str | None = None


class NotifyTest(WireModel):
    """What ``ralph notify test --json`` prints."""

    event: NotifyEvent
    destinations: tuple[NotifyResult, ...] = ()


class OpenKind(StrEnum):
    """What waits for the user."""

    QUESTION = "question"
    BLOCKER = "blocker"
    REVIEW = "review"
    APPROVAL = "approval"
    """Commands that a repository brings, and that nobody approved in their present form."""
    PARKED = "parked"
    """A lane of a parallel run that is kept for the user."""


class OpenItem(WireModel):
    """One thing that waits for the user, in any repository."""

    number: int
    """For ``ralph inbox answer``, as listed last."""
    key: str
    """Stays the same for as long as it is open."""
    kind: OpenKind
    workspace: str
    lane: int | None = None
    """Number of the lane, where it is about one."""
    lane_of: str | None = None
    """Work tree of the parallel run that the lane belongs to."""
    fleet_task: str | None = None
    """Task of a fleet that it is about; then `workspace` is the repository's remote."""
    run: str | None = None
    iteration: int | None = None
    since: Timestamp | None = None
    text: str
    options: tuple[str, ...] = ()
    """The choices that a question lists."""
    command: str
    """What to type."""


class OpenItems(WireModel):
    """What ``ralph inbox --json`` prints, newest first."""

    items: tuple[OpenItem, ...] = ()


class CheckStatus(StrEnum):
    """How something is."""

    OK = "ok"
    WARNING = "warning"
    """A run can continue, but something should be fixed."""
    PROBLEM = "problem"
    """A run cannot start or continue until this is fixed."""


class CheckResult(WireModel):
    """One check."""

    code: str
    """Name of the check, kebab-case; the same code may occur more than once."""
    status: CheckStatus
    message: str
    """What was found."""
    remedy: str | None = None
    """What to do about it; absent if all is well."""


class AgentSeen(WireModel):
    """One of the agents that are known by name, and what of it is here."""

    name: str
    program: str | None = None
    """Its path; absent if it is not installed."""
    version: str | None = None
    """What it says of itself; absent where it gave no answer in time."""
    account: str | None = None
    """What shows that the agent is logged in, such as a variable; absent if nothing does."""
    install: str
    """The command that installs it."""
    login: str
    """How one logs in with it."""


class DoctorReport(WireModel):
    """All that was looked at, in the order of a start; the last run comes last."""

    ok: bool
    """Nothing is a problem."""
    workspace: str | None = None
    """The root of the work tree; absent where there is none."""
    run: str | None = None
    """The newest run here; absent if there is none."""
    checks: tuple[CheckResult, ...] = ()
    agents: tuple[AgentSeen, ...] = ()
    """Those that are known by name, installed or not."""


class MissingFeature(WireModel):
    """What an editor cannot do, and what its user sees instead."""

    feature: str
    instead: str


class ConnectedEditor(WireModel):
    """An editor that a language server of the user serves now."""

    name: str
    """As it calls itself."""
    version: str | None = None
    pid: int
    """The server's."""
    started: float
    """When the server's process started, in seconds since 1970."""
    folders: tuple[str, ...] = ()
    """Roots of the work trees that it has open."""
    missing: tuple[MissingFeature, ...] = ()


class ConnectedEditors(WireModel):
    """What ``ralph doctor --editor --json`` prints."""

    editors: tuple[ConnectedEditor, ...] = ()
