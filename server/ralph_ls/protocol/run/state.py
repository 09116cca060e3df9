"""The snapshot a viewer starts from: the fold over a run's events.

``core.loop.fold`` makes it; nothing in it is known from anywhere but the journal.
"""

from __future__ import annotations

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentReported,
    AgentStarted,
    Committed,
    CriteriaVerified,
    GuardReverted,
    IterationStarted,
    Judged,
    JudgeStarted,
    Pushed,
    RolledBack,
    TaskSetAside,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.iteration_events import AgentOut
from ralph_ls.protocol.run.report import AgentFailure, Claims, Promise, Report, Usage
from ralph_ls.protocol.run.values import (
    Baseline,
    Breaker,
    EndReason,
    EndStates,
    Evidence,
    LaneState,
    MergeProblem,
    Mode,
    Outcome,
    Phase,
    PlanCountsView,
    RunChoices,
    TaskRef,
    Verdict,
)


class Question(WireModel):
    """The one question of a run that is not settled yet."""

    question: str
    iteration: int | None = None
    start: int | None = None
    asked_at: Timestamp
    answer: str | None = None
    answered_by: str | None = None
    untrusted: bool = Field(default=False, exclude_if=lambda untrusted: not untrusted)
    """The answer came from elsewhere, such as GitHub."""
    answered_seq: int = 0
    delivered: bool = Field(default=False, exclude_if=lambda delivered: not delivered)
    """The agent that asked was waiting for it, and has it."""


class Blocker(WireModel):
    """What a BLOCKED said."""

    reason: str
    iteration: int | None = None
    start: int | None = None


class DiscoveryView(WireModel):
    """A note that an agent left for the next iteration."""

    text: str
    seq: int


class NoteView(WireModel):
    """A user's note that no finished iteration has had yet."""

    text: str
    by: str
    seq: int


class End(WireModel):
    """How the run ended."""

    reason: EndReason
    exit_code: int
    message: str
    by: str = ""
    at: Timestamp


class CurrentIteration(WireModel):
    """The iteration that has begun and is not settled."""

    started: IterationStarted
    agent: AgentStarted | None = None
    exit: AgentExited | None = None
    agent_seconds: float = 0.0
    """How long its earlier agents worked, where one was started once more."""
    verified: tuple[CriteriaVerified, ...] = ()
    validated: Validated | None = None
    rolled_back: RolledBack | None = None
    judging: JudgeStarted | None = None
    judged: Judged | None = None
    committed: Committed | None = None
    pushed: Pushed | None = None
    reverted: tuple[GuardReverted, ...] = ()
    """What the guard restored after it, without the agent's versions."""
    users: tuple[str, ...] | None = None
    """Changed paths that were found to be the user's when another engine took the run up."""
    taken_up_at: Timestamp | None = None
    """When the first engine took it up that had not begun it: its agent had ended by then."""
    reported: tuple[AgentReported, ...] = Field(default=(), exclude_if=lambda calls: not calls)
    """What its agent reported by tool, in order."""
    answered_seq: int = Field(default=0, exclude_if=lambda seq: not seq)
    """The event of the last answer that its waiting agent got."""
    told: tuple[str, ...] = ()
    """Kinds that were already reported, so that settling it again reports nothing twice."""


class LastIteration(WireModel):
    """The newest settled iteration, as a viewer shows it."""

    iteration: int
    start: int
    outcome: Outcome
    counted: bool = True
    seconds: float
    commit: str | None = None
    claims: Claims | None = None
    """What its agent claims beside its report."""


class IterationFacts(WireModel):
    """One entry of the loop history."""

    iteration: int
    start: int
    outcome: Outcome
    failure: AgentFailure | None = None
    """Why its agent failed; None where it did not."""
    files: int = 0
    commits: int = 0
    tasks_done: int = 0
    confirmed: bool = False
    """It confirmed that nothing is left to do."""
    errors: tuple[str, ...] = ()
    report: Report | None = None


class AgentCalls(WireModel):
    """Calls of its model that one iteration's agents made."""

    until: Timestamp
    """When the last one was gone."""
    seconds: float
    """How long they worked until then."""
    count: int


class FailedValidation(WireModel):
    """What the next iteration has to know of a validation that failed, where the run continued."""

    validated: Validated
    task: TaskRef | None = None
    """The iteration's; None where it had none, or it was set aside since."""
    mode: Mode = Mode.BUILD
    in_a_row: int = 1
    """How many failed without one that did not between them."""
    undone: bool = False
    """The iteration's changes were rolled back."""
    backup: str | None = None
    """The branch that keeps it then."""


class Session(WireModel):
    """The agent's session that the next iteration may continue."""

    id: str
    cost_usd: float | None = None
    usage: Usage | None = None
    """What the whole session used, where that is how its agent counts."""
    created_at: Timestamp
    last_used_at: Timestamp
    task: str | None = None
    """Id of the task it was made for."""
    mode: Mode = Mode.BUILD
    agent: str | None = None
    """Whose it is."""
    model: str | None = None
    """The model that it was made with; None: the agent's own choice."""


class TaskReceipt(WireModel):
    """What one task has taken in this run so far.

    The use of an iteration belongs to one task: to the task that it was started for, or to the
    first that it finished where it finished others alone. So receipts can be added up.
    """

    task: TaskRef
    done: bool = False
    """It became done in this run, and has not been open since."""
    iteration: int | None = None
    """The iteration in which it became done."""
    start: int | None = None
    commit: str | None = None
    """That iteration's last commit, whole."""
    attempts: int = 0
    """How many times an iteration was started for it."""
    iterations: int = 0
    """Those that count for the limit."""
    retries: int = 0
    """Agents that were started once more in the same iteration."""
    seconds: float = 0.0
    """Duration of its iterations, with validation, commit and push."""
    agent_seconds: float = 0.0
    """How long agents worked in them."""
    tokens: int | None = None
    """Input and output, as the budget counts them; None where no agent has reported any."""
    cost_usd: float | None = None
    estimated: bool = False
    """Some of the cost is an estimate from the table ``prices``."""
    validations: int = 0
    failed_validations: int = 0
    within: TaskRef | None = None
    """The task whose receipt has the iteration in which this one became done, too."""


class RunTotals(WireModel):
    """What the iterations of a run came to so far."""

    commits: int = 0
    """Those of loop and agent, without the user's."""
    files: int = 0
    """How many different files were changed."""
    more_files: bool = False
    """There may be more: not all that changed are known by path."""
    paths: tuple[str, ...] = ()
    """The first of those files, at most 200."""
    seconds: dict[str, float] = Field(default_factory=dict)
    """Duration of all iterations by their mode, also of those that did not count."""
    restored: int = Field(default=0, exclude_if=lambda count: not count)
    """Number of forbidden changes that were restored."""
    failures: dict[str, int] = Field(default_factory=dict, exclude_if=lambda counts: not counts)
    """Number of iterations in which the agent failed, by the kind of failure."""


class JudgeTotals(WireModel):
    """The verdicts of a run's judge so far, and what they took."""

    passed: int = 0
    changes: int = 0
    """Verdicts that request changes."""
    unclear: int = 0
    """Work that it could not judge."""
    overruled: int = 0
    """Verdicts that the user overruled."""
    seconds: float = 0.0
    usage: Usage | None = None
    """A part of the run's usage."""


class LaneView(WireModel):
    """A lane of a parallel run: one task in a separate work tree."""

    lane: int
    task: TaskRef
    state: LaneState = LaneState.WORKING
    branch: str
    worktree: str
    run: str | None = None
    """Id of its newest run; None: it has not begun."""
    runs: int = 0
    """How many runs it has had."""
    base: str | None = None
    """Commit from which the branch was made."""
    limit: int | None = None
    """Number of iterations that its present run may use since it was last started or resumed."""
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    """The same for tokens and cost."""
    end: EndReason | None = None
    """Why its last run ended; None: it works."""
    message: str = ""
    """Why it is parked or dropped, or why its run ended."""
    phase: Phase = Phase.RUNNING
    phase_reason: str | None = None
    until: Timestamp | None = None
    question: str | None = None
    """What its run asks."""
    problem: MergeProblem | None = None
    """Why it was not merged."""
    refusals: int = 0
    """How many merges were refused since it was started."""
    paths: tuple[str, ...] = ()
    """Files with conflicts."""
    crashes: int = 0
    """How many of its engines died."""
    onto: str | None = None
    head: str | None = None
    """Commit on the branch that has its work."""
    commits: int = 0
    iterations: int = 0
    """Of all its runs, as far as they are over."""
    usage: Usage | None = None
    seconds: float = 0.0
    """How long its runs were active that are over."""
    conflicts: int = 0
    """How often the merge of its work met conflicts."""
    earlier_seconds: float = 0.0
    """As ``seconds``, of the runs before its present one."""
    earlier_iterations: int = 0
    """Of its runs before the present one, which counts on when it is resumed."""
    earlier_usage: Usage | None = None
    started_at: Timestamp
    ended_at: Timestamp | None = None
    kept: str | None = None
    """Why its work tree stays after the merge."""


class RunState(WireModel):
    """One run after the event ``seq``."""

    run: str = ""
    seq: int = 0
    at: Timestamp | None = None
    workspace: str = ""
    state_dir: str = ""
    plan: str = ""
    request: RequestView | None = None
    pid: int = 0
    branch: str | None = None
    config: Config = Config.model_construct()
    overrides: dict[str, object] = Field(default_factory=dict)
    choices: RunChoices | None = None
    phase: Phase = Phase.STARTING
    phase_reason: str | None = None
    phase_since: Timestamp | None = None
    until: Timestamp | None = None
    ends_at: Timestamp | None = Field(default=None, exclude_if=lambda at: at is None)
    """When its allowed hours are over; no iteration begins after that."""
    waited_seconds: float = Field(default=0.0, exclude_if=lambda seconds: not seconds)
    """How long it has waited in a row for its agent, without an iteration that had a result."""
    started_at: Timestamp | None = None
    active_seconds: float = 0.0
    """Engine time so far, without parking, pausing and time without an engine."""
    start: int = 0
    """The newest start: the identity of an iteration, in files, trailers and requests."""
    iteration: int = 0
    """The newest iteration, as people read it."""
    tries: int = 0
    """How many starts that iteration has had."""
    counted: int = 0
    """Iterations that count for the limit."""
    current: CurrentIteration | None = None
    commit_base: Baseline | None = None
    """What the loop's next commit is held against: the tree as the first iteration found it whose
    work is in no commit yet; None where there is none, or where the agent commits."""
    owed: dict[str, str] | None = None
    """The work that is in no commit, by path, as the last iteration left it; None: not known."""
    held: tuple[str, ...] | None = None
    """The user's commits without which nothing is pushed: they were made when no engine ran."""
    last: LastIteration | None = None
    verdict: Verdict | None = None
    """The last iteration's, until the run has ended or parked for it, or continued."""
    report: Report | None = None
    report_iteration: int = 0
    report_start: int = 0
    promise: Promise | None = None
    evidence: Evidence | None = None
    evidence_iteration: int = 0
    evidence_start: int = 0
    counts: PlanCountsView = PlanCountsView.model_construct()
    breaker: Breaker = Breaker.model_construct()
    stuck_count: int = 0
    stuck_iterations: int = 0
    """All iterations without a commit so far, for the summary; a confirmation needs none."""
    indicators: int = 0
    confirmations: int = 0
    """Confirming iterations of this run that count."""
    failing_tests: bool = False
    """The last report says that tests fail, and but for that the run might be complete."""
    specs_unplanned: bool = False
    """No required task was open when that was looked at last, and specifications had no task."""
    had_tasks: bool = False
    """The plan has had a task in this run."""
    missing_reports: int = 0
    attempts: dict[str, int] = Field(default_factory=dict)
    """Failed attempts so far, by task id."""
    skipped: tuple[str, ...] = ()
    """Ids of the tasks that the user wants skipped for as long as the run lasts."""
    has_planned: bool = False
    """A plan iteration came to its end since a build iteration last made progress."""
    session: Session | None = None
    failed_validation: FailedValidation | None = None
    """The last one, where the run continued with it; None where it was content since."""
    judgement: Judged | None = Field(default=None, exclude_if=lambda judged: judged is None)
    """The judge's newest verdict."""
    judge_requests: dict[str, Judged] = Field(
        default_factory=dict, exclude_if=lambda requests: not requests
    )
    """Requests for changes that are neither met nor overruled, by task id; by an empty one those
    about the whole run."""
    judge_owed: tuple[TaskRef, ...] = Field(default=(), exclude_if=lambda tasks: not tasks)
    """Tasks that became done in iterations that were not judged, such as invalid ones."""
    judge_bases: dict[str, Baseline] = Field(
        default_factory=dict, exclude_if=lambda bases: not bases
    )
    """The trees that work was begun on, by task id; by an empty one that of the whole run."""
    judge_totals: JudgeTotals = Field(
        default=JudgeTotals.model_construct(), exclude_if=lambda totals: totals == JudgeTotals()
    )
    history: tuple[IterationFacts, ...] = ()
    """The last five iterations."""
    totals: RunTotals = RunTotals.model_construct()
    set_aside: tuple[TaskSetAside, ...] = ()
    """The tasks that were set aside, and neither tried nor reset since."""
    receipts: dict[str, TaskReceipt] = Field(default_factory=dict)
    """What each task took, by its id, in the order in which they were first worked on."""
    usage: Usage | None = None
    """The usage of all iterations, as far as the agents report it."""
    calls: tuple[AgentCalls, ...] = ()
    """Of the last minute, where ``max_calls_per_minute`` limits them."""
    budgets_warned: tuple[str, ...] = ()
    """Budgets whose warning was given, since most of them is spent."""
    stale_marker: bool = False
    """The plan contained the completion marker at the start, and still does."""
    reverted: tuple[GuardReverted, ...] = ()
    """What the guard restored that no agent has been informed of yet."""
    crashes: int = 0
    overloads: int = 0
    """Iterations in a row that came to nothing since the agent's model gave no answer."""
    agents_out: tuple[AgentOut, ...] = ()
    """Unavailable agents, each once, in the order in which that was noticed."""
    recommendation: str = ""
    repeats: int = 0
    """Iterations in a row that committed nothing and changed only files that had just changed."""
    weak_commits: tuple[str, ...] = ()
    """Ids of the tasks for which white space alone was committed, or a commit taken back; an
    iteration without a task is the empty one."""
    unfinished: int = 0
    """Iterations in a row with changes in which nothing of the plan became done or was added."""
    seen: EndStates = EndStates()
    """Fingerprints of every end state of this run, and of its start."""
    question: Question | None = None
    settled_question: str | None = None
    """The last question whose answer an iteration has had; its file may still exist."""
    blocked: Blocker | None = None
    resolved_blocker: str | None = None
    """The last blocker that was resolved; its file may still exist."""
    notes: tuple[NoteView, ...] = ()
    discoveries: tuple[DiscoveryView, ...] = Field(default=(), exclude_if=lambda notes: not notes)
    """What agents noted for the next iteration, and no finished iteration has had yet."""
    pause_requested: bool = False
    stop_requested: str | None = None
    """Who asked for the stop that is pending."""
    commands: tuple[str, ...] = ()
    """Ids of the last commands that were answered, at most 100."""
    warnings: tuple[Warned, ...] = ()
    """The last ten."""
    outside_failures: tuple[Warned, ...] = Field(default=(), exclude_if=lambda failed: not failed)
    """The last five failures outside any iteration: of a command of ``on_…`` or a comment."""
    lanes: tuple[LaneView, ...] = Field(default=(), exclude_if=lambda lanes: not lanes)
    """Of a parallel run, one for each task that was started, in that order."""
    end: End | None = None

    @property
    def iterations(self) -> int:
        """Iterations that ran, with the open one: what a summary counts."""
        return self.counted if self.current is None else self.iteration
