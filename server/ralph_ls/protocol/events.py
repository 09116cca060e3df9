"""Everything a run may tell: past facts, one JSON line each in the journal (SPEC §2).

Readers ignore fields and kinds that they do not know; ``parse_event`` gives such a line back as
``UnknownEvent``. A new kind needs a golden file under ``tests/golden``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ralph_ls.protocol.base import DEFERRED, Timestamp, WireModel
from ralph_ls.protocol.breaker import Breaker, BreakerState
from ralph_ls.protocol.config import Config, Dialect
from ralph_ls.protocol.evidence import Baseline, Evidence
from ralph_ls.protocol.report import Promise, Report, Usage
from ralph_ls.protocol.run_words import (
    EndReason,
    Mode,
    Outcome,
    Phase,
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


class RunStarted(EventBase):
    """A new run; its settings as they hold, and the ones a person gave for this run alone."""

    kind: Literal["runStarted"] = "runStarted"
    version: str
    pid: int
    workspace: str
    state_dir: str
    branch: str | None = None
    head: str | None = None
    plan: str
    config: Config
    overrides: dict[str, Any] = Field(default_factory=dict)
    """Dotted snake_case key to value: what flags set; a resumed run keeps them."""
    counts: PlanCountsView = PlanCountsView()
    """The plan as it stands at the start."""


class RunResumed(EventBase):
    """The run goes on under a new engine."""

    kind: Literal["runResumed"] = "runResumed"
    version: str
    pid: int
    by: str
    branch: str | None = None
    head: str | None = None
    config: Config
    overrides: dict[str, Any] = Field(default_factory=dict)
    counts: PlanCountsView = PlanCountsView()
    orphans_ended: int = 0
    """Processes of a killed engine's agent that this start ended."""


class PhaseChanged(EventBase):
    """The run is in another phase."""

    kind: Literal["phaseChanged"] = "phaseChanged"
    phase: Phase
    reason: str | None = None
    """``decide``, ``blocked``, ``stuck`` when parked; ``cooldown`` or ``retry`` when waiting."""
    until: Timestamp | None = None


class IterationStarted(EventBase):
    """One iteration begins; the baseline is what its evidence will be held against."""

    kind: Literal["iterationStarted"] = "iterationStarted"
    iteration: int = Field(ge=1)
    max_iterations: int | None = None
    mode: Mode = Mode.BUILD
    task: TaskRef | None = None
    confirming: bool = False
    """No required task is open: this one only confirms that (SPEC §7)."""
    counts: PlanCountsView = PlanCountsView()
    baseline: Baseline


class AgentStarted(EventBase):
    """The agent runs; enough to end it should the engine die."""

    kind: Literal["agentStarted"] = "agentStarted"
    iteration: int
    attempt: int = 1
    """2 when the first one failed and is tried again."""
    agent: str
    argv: tuple[str, ...]
    pid: int
    process_start_time: float
    """Seconds since the epoch as the system tells it, to know a pid that was used again."""
    group: int | None = None
    prompt_bytes: int = 0
    dialect: Dialect | None = None
    """How its output is written; None: plain text."""


class AgentExited(EventBase):
    """The agent and all it started are gone."""

    kind: Literal["agentExited"] = "agentExited"
    iteration: int
    attempt: int = 1
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    idle: bool = False
    stopped: bool = False
    killed: bool = False
    """It came to a KILL."""
    leftovers: int = 0
    """Processes that outlived the agent and were ended."""
    seconds: float = 0.0
    stdout_bytes: int = 0
    stderr_bytes: int = 0


class RalphStatusUpdate(EventBase):
    """The agent's report of this iteration (I, 1.1)."""

    kind: Literal["ralphStatusUpdate"] = "ralphStatusUpdate"
    iteration: int
    report: Report


class PromiseRead(EventBase):
    """A promise stood in the final text."""

    kind: Literal["promiseRead"] = "promiseRead"
    iteration: int
    promise: Promise


class EvidenceGathered(EventBase):
    """What the engine itself saw of this iteration."""

    kind: Literal["evidenceGathered"] = "evidenceGathered"
    iteration: int
    evidence: Evidence


class PlanChanged(EventBase):
    """The plan differs from what it was."""

    kind: Literal["planChanged"] = "planChanged"
    iteration: int | None = None
    counts: PlanCountsView
    done: tuple[str, ...] = ()
    """Ids of the tasks that became done."""


class CircuitBreakerStateChange(EventBase):
    """The breaker moved (I, 2.1)."""

    kind: Literal["circuitBreakerStateChange"] = "circuitBreakerStateChange"
    iteration: int | None = None
    """None when a person moved it."""
    from_state: BreakerState
    to_state: BreakerState
    reason: str
    breaker: Breaker


class CompletionRefused(EventBase):
    """The gate was satisfied, the plan disagrees (SPEC §7)."""

    kind: Literal["completionRefused"] = "completionRefused"
    iteration: int
    why: str
    open_tasks: tuple[TaskRef, ...] = ()
    """The first of them, at most ten."""


class Validated(EventBase):
    """The validation script ran."""

    kind: Literal["validated"] = "validated"
    iteration: int
    ok: bool
    exit_code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    tail: str = ""
    """The end of what it printed, at most 2000 characters."""


class WaitStarted(EventBase):
    """The run waits by itself."""

    kind: Literal["waitStarted"] = "waitStarted"
    reason: str
    until: Timestamp


class WaitEnded(EventBase):
    """The wait is over."""

    kind: Literal["waitEnded"] = "waitEnded"
    reason: str


class QuestionAsked(EventBase):
    """A DECIDE: the run needs a person's decision (R §1)."""

    kind: Literal["questionAsked"] = "questionAsked"
    iteration: int | None = None
    """None when an earlier run left it."""
    question: str
    path: str
    asked_at: Timestamp


class QuestionAnswered(EventBase):
    """The open question has its answer; both go into the next prompt."""

    kind: Literal["questionAnswered"] = "questionAnswered"
    question: str
    answer: str
    by: str


class BlockedRaised(EventBase):
    """A BLOCKED: something outside the loop must change first (R §1)."""

    kind: Literal["blockedRaised"] = "blockedRaised"
    iteration: int | None = None
    reason: str
    path: str


class BlockedResolved(EventBase):
    """The blocker is gone, says a person."""

    kind: Literal["blockedResolved"] = "blockedResolved"
    by: str


class CommandAccepted(EventBase):
    """A command was taken."""

    kind: Literal["commandAccepted"] = "commandAccepted"
    command: str
    """The command's id."""
    command_kind: str
    by: str
    text: str = ""
    """What the asker is told."""


class CommandRejected(EventBase):
    """A command was refused, with the reason."""

    kind: Literal["commandRejected"] = "commandRejected"
    command: str
    command_kind: str = ""
    by: str = ""
    code: str
    reason: str


class NoteAdded(EventBase):
    """A person told the loop something."""

    kind: Literal["noteAdded"] = "noteAdded"
    text: str
    by: str


class Warned(EventBase):
    """Something a person should know that ends nothing."""

    kind: Literal["warned"] = "warned"
    iteration: int | None = None
    code: str
    message: str


class IterationEnded(EventBase):
    """One iteration is settled: from here on its counters hold."""

    kind: Literal["iterationEnded"] = "iterationEnded"
    iteration: int
    mode: Mode = Mode.BUILD
    outcome: Outcome
    seconds: float
    commit: str | None = None
    """The last commit of the agent in the workspace, whole."""
    fingerprint: str = ""
    breaker: Breaker
    stuck_count: int = 0
    indicators: int = 0
    missing_reports: int = 0
    crashes: int = 0
    """Iterations in a row in which the agent failed without a result."""
    recommendation: str = ""
    counts: PlanCountsView = PlanCountsView()
    usage: Usage | None = None
    """What all agents of this iteration used up, as far as they tell."""
    permission_denials: int | None = None
    """Tool calls that were not permitted; None where the agent cannot tell."""
    errors: tuple[str, ...] = ()
    """The first error lines, at most five."""
    verdict: Verdict | None = None
    """Why the run ends or parks here; None: it goes on. An engine that is killed right after this
    event leaves enough to end the run as it would have ended."""


class RunEnded(EventBase):
    """The run is over, for one named reason."""

    kind: Literal["runEnded"] = "runEnded"
    reason: EndReason
    exit_code: int
    message: str
    """Why, in words for a person."""
    by: str = ""
    """Who ended it, where a person did."""
    iterations: int = 0
    seconds: float = 0.0


class UnknownEvent(EventBase):
    """An event of a newer engine: kept in its place, otherwise ignored."""

    kind: str


Event = (
    RunStarted
    | RunResumed
    | PhaseChanged
    | IterationStarted
    | AgentStarted
    | AgentExited
    | RalphStatusUpdate
    | PromiseRead
    | EvidenceGathered
    | PlanChanged
    | CircuitBreakerStateChange
    | CompletionRefused
    | Validated
    | WaitStarted
    | WaitEnded
    | QuestionAsked
    | QuestionAnswered
    | BlockedRaised
    | BlockedResolved
    | CommandAccepted
    | CommandRejected
    | NoteAdded
    | Warned
    | IterationEnded
    | RunEnded
)
"""The closed union of what this version tells."""

EVENT_TYPES: tuple[type[EventBase], ...] = Event.__args__
EVENT_KINDS = frozenset(str(cls.model_fields["kind"].default) for cls in EVENT_TYPES)
EVENT_ADAPTER: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="kind")], config=DEFERRED
)


def parse_event(line: bytes | str) -> Event | UnknownEvent:
    """Read one journal line; raises ValueError where it is no event at all.

    An event of an unknown kind, or of a known kind in a shape this version cannot read, comes
    back as ``UnknownEvent``: viewers of another version must go on.
    """
    try:
        # Unknown settings are refused in a config file, but ignored in what a newer engine tells.
        return EVENT_ADAPTER.validate_json(line, extra="ignore")
    except ValidationError:
        return UnknownEvent.model_validate_json(line)


def dump_event(event: EventBase) -> bytes:
    """Write one event as its journal line, without the line end."""
    return event.model_dump_json(by_alias=True, exclude_none=True).encode()
