"""What every event of a run carries, and the two numbers of those about an iteration.

Apart from the events themselves, so that each group of them has a separate file.

The events of an iteration, in the order in which they happen.

Everything is imported from ``protocol.events``, which knows them all; nothing here may know of
users' events, which are in ``person_events``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.report import AgentFailure, Claims, Promise, Report, SessionSeen, Usage
from ralph_ls.protocol.run.values import (
    Baseline,
    Breaker,
    BreakerState,
    Evidence,
    LessonRef,
    Mode,
    Outcome,
    PlanCountsView,
    TaskRef,
    Verdict,
)
from ralph_ls.protocol.version import SCHEMA_VERSION


class EventBase(WireModel):
    """What every event carries."""

    v: int = SCHEMA_VERSION
    seq: int = Field(ge=1)
    at: Timestamp
    run: str


def same_number(validated: dict[str, Any]) -> Any:
    """The start of an event that names none: journals were once written with one number alone."""
    return validated["iteration"]


class IterationEvent(EventBase):
    """An event of one iteration, with its two numbers.

    ``start`` is the identity: 1, 2, 3 …, one for each time an agent was started, never used again
    in a run. Files, trailers and requests go by it. ``iteration`` is what people read and limits
    count: it stays the same while starts do not count, as at a usage limit.
    """

    iteration: int = Field(ge=1)
    start: int = Field(ge=1, default_factory=same_number)


class MaybeIterationEvent(EventBase):
    """An event that may belong to an iteration; both numbers are None where it belongs to none."""

    iteration: int | None = None
    start: int | None = Field(default_factory=same_number)


class IterationStarted(IterationEvent):
    """One iteration begins; the baseline is what its evidence will be held against."""

    kind: Literal["iterationStarted"] = "iterationStarted"
    tries: int = Field(default=1, ge=1)
    """How many starts this iteration has had, with this one: more than one where earlier ones did
    not count."""
    max_iterations: int | None = None
    mode: Mode = Mode.BUILD
    task: TaskRef | None = None
    confirming: bool = False
    """No required task is open: this one only confirms that."""
    counts: PlanCountsView = PlanCountsView.model_construct()
    baseline: Baseline
    attempts: dict[str, int] | None = None
    """Failed attempts so far, by task id, where others than this run have changed them."""
    lessons: tuple[LessonRef, ...] = Field(default=(), exclude_if=lambda lessons: not lessons)
    """The lessons in its prompt."""


class AgentStarted(IterationEvent):
    """The agent runs; enough to end it should the engine die."""

    kind: Literal["agentStarted"] = "agentStarted"
    attempt: int = 1
    """2 when the first one failed and is tried again."""
    agent: str
    argv: tuple[str, ...]
    pid: int
    process_start_time: float
    """Seconds since the epoch as the system reports it, to recognise a pid that was used again."""
    group: int | None = None
    prompt_bytes: int = 0
    dialect: Dialect | None = None
    """How its output is written; None: plain text."""
    model: str | None = None
    """The model it was given; None: its own choice."""


class AgentExited(IterationEvent):
    """The agent and all it started are gone."""

    kind: Literal["agentExited"] = "agentExited"
    attempt: int = 1
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    idle: bool = False
    overspent: bool = False
    """It was ended because it had passed a limit of the iteration."""
    stopped: bool = False
    killed: bool = False
    """It came to a KILL."""
    leftovers: int = 0
    """Processes that outlived the agent and were ended."""
    seconds: float = 0.0
    stdout_bytes: int = 0
    stderr_bytes: int = 0


class RalphStatusUpdate(IterationEvent):
    """The agent's report of this iteration."""

    kind: Literal["ralphStatusUpdate"] = "ralphStatusUpdate"
    report: Report


class PromiseRead(IterationEvent):
    """A promise was found in the final text."""

    kind: Literal["promiseRead"] = "promiseRead"
    promise: Promise


class EvidenceGathered(IterationEvent):
    """What the engine itself saw of this iteration."""

    kind: Literal["evidenceGathered"] = "evidenceGathered"
    evidence: Evidence


class PlanChanged(MaybeIterationEvent):
    """The plan differs from what it was."""

    kind: Literal["planChanged"] = "planChanged"
    counts: PlanCountsView
    done: tuple[str, ...] = ()
    """Ids of the tasks that became done."""


class CircuitBreakerStateChange(MaybeIterationEvent):
    """The breaker moved."""

    kind: Literal["circuitBreakerStateChange"] = "circuitBreakerStateChange"
    from_state: BreakerState
    to_state: BreakerState
    reason: str
    breaker: Breaker


class CompletionRefused(IterationEvent):
    """The gate was satisfied, the plan disagrees."""

    kind: Literal["completionRefused"] = "completionRefused"
    why: str
    open_tasks: tuple[TaskRef, ...] = ()
    """The first of them, at most ten."""


class AttemptCounted(IterationEvent):
    """An iteration begins on a task that is counted."""

    kind: Literal["attemptCounted"] = "attemptCounted"
    task: TaskRef
    attempt: int
    """1 for the first one; it is given back where the iteration turns out not to count."""
    limit: int


class TaskSetAside(IterationEvent):
    """A task that keeps failing makes room for the next one."""

    kind: Literal["taskSetAside"] = "taskSetAside"
    task: TaskRef
    attempts: int = 0
    reason: str
    marked: bool = True
    """It is marked as blocked in the plan; false: it is only not taken any more."""


class Forbidden(StrEnum):
    """What an agent did that it may not do."""

    DROPPED = "dropped"
    """An open task is gone from the plan, and was neither split nor finished."""
    SKIPPED = "skipped"
    """An open task was marked as skipped; that is for people to say."""
    CRITERIA = "criteria"
    """What must hold when a task is done was changed or taken away."""
    REVIEW = "review"
    """A story moved in a way that its review cycle does not have."""
    PRIORITY = "priority"
    """A task's priority was changed."""
    DEPENDENCY = "dependency"
    """A task waits no more for one that it waited for."""
    TYPE = "type"
    """The type of an issue was changed."""
    VERIFY = "verify"
    """The commands that verify the work were changed."""
    CHANGED = "changed"
    """A file that no iteration may change: settings, a prompt, the validation script."""
    DELETED = "deleted"
    """Such a file, or the plan, was removed."""
    CREATED = "created"
    """Such a file was made where none was."""


class GuardReverted(IterationEvent):
    """A forbidden change was restored; it does not count as progress."""

    kind: Literal["guardReverted"] = "guardReverted"
    path: str
    """The file, relative to the work tree."""
    what: Forbidden
    tasks: tuple[TaskRef, ...] = ()
    """The tasks of the plan that it is about, at most fifty."""
    n_tasks: int = 0
    """How many those are in all."""
    text: str = ""
    """The agent's version, at most 4000 characters; empty where it left nothing."""
    kept: str | None = None
    """Where the agent's version of the file is kept in the run's folder; None: nowhere."""
    why: str | None = None
    """Which rule it broke, in words, where ``what`` alone does not say it."""
    commit: str | None = None
    """The engine's commit that restores it in the branch; None: in the work tree alone."""


class Validated(IterationEvent):
    """The validation scripts ran, up to the first that failed."""

    kind: Literal["validated"] = "validated"
    ok: bool
    exit_code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    tail: str = ""
    """The end of what the last one printed, at most 2000 characters."""
    script: str = ""
    """The one that failed, relative to the work tree; empty where none did."""
    scripts: tuple[str, ...] = ()
    """Those that ran, in their order."""


class RolledBack(IterationEvent):
    """Changes that failed validation were rolled back, or could not be."""

    kind: Literal["rolledBack"] = "rolledBack"
    ok: bool
    backup: str | None = None
    """The branch that keeps all of it, uncommitted work included; None: there was nothing."""
    commits: int = 0
    files: int = 0
    """How many files are again as they were."""
    kept: tuple[str, ...] = ()
    """The first files that were left as they are, because the user saved them in the meantime."""
    refused: str = ""
    """Why it was not rolled back, in words; empty where it was."""


class CriterionChecked(WireModel):
    """One criterion of a closed task, and what came of the command that it names."""

    criterion: str
    command: str
    """As the plan has it; it was run without a shell."""
    exit_code: int | None = None
    """None where it was not run, or did not come to its end."""
    timed_out: bool = False
    seconds: float = 0.0
    tail: str = ""
    """The end of what it printed, at most 2000 characters."""
    not_run: str = ""
    """Why nothing was run, in words; empty where something was."""
    wanted: int | None = None
    """The exit code that the criterion asks for, -1 for any but 0; None: it is 0."""


class CriteriaVerified(IterationEvent):
    """The commands that a closed task's criteria name were run."""

    kind: Literal["criteriaVerified"] = "criteriaVerified"
    task: TaskRef
    ok: bool
    """All of them were run and ended as they should, and the plan says so."""
    reopened: bool = False
    """Some failed, and the plan has the task open again."""
    checks: tuple[CriterionChecked, ...] = ()


class Committed(IterationEvent):
    """The loop committed what the iteration changed."""

    kind: Literal["committed"] = "committed"
    commit: str
    """Whole."""
    subject: str
    files: int = 0
    """How many files it was made of."""


class Pushed(IterationEvent):
    """The branch was pushed, or could not be."""

    kind: Literal["pushed"] = "pushed"
    ok: bool
    remote: str
    """Its name, never its URL."""
    branch: str
    commit: str | None = None
    """What HEAD was."""
    tries: int = 1
    created: bool = False
    """The remote had no such branch before."""
    rejected: bool = False
    """The remote's branch has commits that are not here."""
    tail: str = ""
    """The end of git's output where it failed, at most 2000 characters, without credentials."""


class AgentOut(WireModel):
    """An agent that is no longer started because it is unavailable (``fallback``)."""

    agent: str
    until: Timestamp | None = None
    """When it is asked again; None: not in this run."""
    successor: str | None = None
    """The agent that continues in its place; None: no other is left."""


def _is_counted(validated: dict[str, Any]) -> bool:
    """Whether an end that does not say so counts: once, no lost start did."""
    return validated["outcome"] not in {Outcome.LOST, Outcome.LIMITED}


class IterationEnded(IterationEvent):
    """One iteration is settled: from here on its counters hold."""

    kind: Literal["iterationEnded"] = "iterationEnded"
    mode: Mode = Mode.BUILD
    outcome: Outcome
    counted: bool = Field(default_factory=_is_counted)
    """Whether it counts for the limit; where not, the next start has the same ``iteration``."""
    seconds: float
    commit: str | None = None
    """The iteration's last commit in the workspace, whole: the loop's own, else the agent's."""
    uncommitted: bool = False
    """The loop was to commit and did not, so the next commit takes this iteration's work along."""
    left: dict[str, str] | None = None
    """That work: each path with a hash of its content, by which it is known again; None where all
    is committed."""
    fingerprint: str = ""
    breaker: Breaker
    stuck_count: int = 0
    indicators: int = 0
    missing_reports: int = 0
    crashes: int = 0
    """Iterations in a row in which the agent failed without a result."""
    recommendation: str = ""
    counts: PlanCountsView = PlanCountsView.model_construct()
    usage: Usage | None = None
    """The usage of all agents of this iteration, as far as they report it."""
    failure: AgentFailure | None = None
    """Why the agent failed; None where it did not."""
    agent_out: AgentOut | None = None
    """The agent that is left out from here on; None: none is."""
    permission_denials: int | None = None
    """Tool calls that were not permitted; None if the agent does not report them."""
    denied_tools: tuple[str, ...] = ()
    """Which tools those were, each once."""
    completion_words: tuple[str, ...] = ()
    """Names of the completion phrases in the final text."""
    claims: Claims | None = None
    """What the agent claims beside that; None: nothing, or an engine that did not record it."""
    gate: str | None = None
    """What the exit gate found, in words; None: it was not asked."""
    confirmed: bool | None = None
    """True: a confirming iteration that came to its own end, asked nothing and reported no failing
    tests, so the run needs no other one."""
    attempts: dict[str, int] = Field(default_factory=dict)
    """Failed attempts so far, by task id; a task that has none is not in it."""
    skipped: tuple[str, ...] = ()
    """Ids of the tasks that the user wants skipped, as they are called now."""
    session: SessionSeen | None = None
    """The agent's session, if it named one."""
    errors: tuple[str, ...] = ()
    """The first error lines, at most five."""
    verdict: Verdict | None = None
    """Why the run ends or parks here; None: it continues. An engine that is killed right after this
    event leaves enough to end the run as it would have ended."""
