"""Events: everything a run may report; past facts, one JSON line each in the journal.

Here are those of the run as a whole, of its users and of what its agent reports by tool
(docs/rules.md#tools), and the union of all. ``iteration_events`` has what happens within an
iteration, ``judge_events`` and ``lane_events`` what concerns a judge and lanes; all of them are
imported from here.

Readers ignore fields and kinds that they do not know; ``parse_event`` gives such a line back as
``UnknownEvent``. A new kind needs a golden file under ``tests/golden``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ralph_ls.protocol.base import DEFERRED, Timestamp
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.agent_tools import ReportTool
from ralph_ls.protocol.run.iteration_events import (
    AgentExited,
    AgentStarted,
    AttemptCounted,
    CircuitBreakerStateChange,
    Committed,
    CompletionRefused,
    CriteriaVerified,
    EventBase,
    EvidenceGathered,
    GuardReverted,
    IterationEnded,
    IterationEvent,
    IterationStarted,
    MaybeIterationEvent,
    PlanChanged,
    PromiseRead,
    Pushed,
    RalphStatusUpdate,
    RolledBack,
    TaskSetAside,
    Validated,
)
from ralph_ls.protocol.run.judge_events import Judged, JudgeOverruled, JudgeStarted
from ralph_ls.protocol.run.lane_events import (
    LaneDropped,
    LaneMerged,
    LaneParked,
    LaneRunEnded,
    LaneRunStarted,
    LaneStarted,
    LaneWaiting,
    MergeRefused,
    MergeStarted,
)
from ralph_ls.protocol.run.values import EndReason, Phase, PlanCountsView, RemovedTask, RunChoices


class AgentReported(IterationEvent):
    """The agent called one of the iteration's tools: a claim, as its words are."""

    kind: Literal["agentReported"] = "agentReported"
    tool: ReportTool
    arguments: dict[str, Any] = Field(default_factory=dict)
    """What it was called with, in the shape of the tool's schema."""
    output_bytes: int = 0
    """How much the agent had printed by then: what it prints later is a later statement."""
    sub_agent: bool = Field(default=False, exclude_if=lambda is_one: not is_one)
    """A sub-agent called it, so it never ends the run."""


class LessonRemembered(IterationEvent):
    """The agent proposes a lesson for later runs; nothing uses it before the user accepted it."""

    kind: Literal["lessonRemembered"] = "lessonRemembered"
    text: str


class QuestionAsked(MaybeIterationEvent):
    """A DECIDE: the run needs the user's decision."""

    kind: Literal["questionAsked"] = "questionAsked"
    question: str
    path: str
    asked_at: Timestamp


class QuestionAnswered(EventBase):
    """The open question has its answer; both go into the next prompt."""

    kind: Literal["questionAnswered"] = "questionAnswered"
    question: str
    answer: str
    by: str
    untrusted: bool = Field(default=False, exclude_if=lambda untrusted: not untrusted)
    """It came from elsewhere, such as GitHub: the agent gets it as quoted text of its author."""
    delivered: bool = Field(default=False, exclude_if=lambda delivered: not delivered)
    """The agent that asked was waiting, and got it at once: no prompt repeats it."""


class BlockedRaised(MaybeIterationEvent):
    """A BLOCKED: something outside the loop must change first."""

    kind: Literal["blockedRaised"] = "blockedRaised"
    reason: str
    path: str


class BlockedResolved(EventBase):
    """The user resolved the blocker."""

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
    """The reply to the asker."""
    task: str | None = None
    """Id of the task that it was about: one that is skipped, or reset."""


class CommandRejected(EventBase):
    """A command was refused, with the reason."""

    kind: Literal["commandRejected"] = "commandRejected"
    command: str
    command_kind: str = ""
    by: str = ""
    code: str
    reason: str


class NoteAdded(EventBase):
    """The user sent the loop a note."""

    kind: Literal["noteAdded"] = "noteAdded"
    text: str
    by: str


__all__ = [
    "EventBase",
    "RunStarted",
    "RunResumed",
    "PhaseChanged",
    "WaitStarted",
    "WaitEnded",
    "Warned",
    "RunEnded",
    "UnknownEvent",
    "IterationStarted",
    "AgentStarted",
    "AgentExited",
    "RalphStatusUpdate",
    "PromiseRead",
    "AgentReported",
    "LessonRemembered",
    "EvidenceGathered",
    "PlanChanged",
    "CircuitBreakerStateChange",
    "CompletionRefused",
    "AttemptCounted",
    "TaskSetAside",
    "GuardReverted",
    "CriteriaVerified",
    "Validated",
    "RolledBack",
    "JudgeStarted",
    "Judged",
    "JudgeOverruled",
    "Committed",
    "Pushed",
    "IterationEnded",
    "QuestionAsked",
    "QuestionAnswered",
    "BlockedRaised",
    "BlockedResolved",
    "CommandAccepted",
    "CommandRejected",
    "NoteAdded",
    "LaneStarted",
    "LaneRunStarted",
    "LaneWaiting",
    "LaneRunEnded",
    "MergeStarted",
    "MergeRefused",
    "LaneMerged",
    "LaneParked",
    "LaneDropped",
    "Event",
    "EVENT_TYPES",
    "EVENT_KINDS",
    "EVENT_ADAPTER",
    "parse_event",
    "dump_event",
]


class RunStarted(EventBase):
    """A new run; its settings as they hold, and those given for this run alone."""

    kind: Literal["runStarted"] = "runStarted"
    version: str
    pid: int
    workspace: str
    state_dir: str
    branch: str | None = None
    head: str | None = None
    plan: str
    request: RequestView | None = None
    """What the run works on, where that is a request; then ``plan`` is its source."""
    config: Config
    overrides: dict[str, Any] = Field(default_factory=dict)
    """Dotted snake_case key to value: what flags set; a resumed run keeps them."""
    counts: PlanCountsView = PlanCountsView.model_construct()
    """The plan at the start."""
    ends_at: Timestamp | None = None
    """When the allowed hours are over (``run.until``); None: never."""
    choices: RunChoices | None = None
    """Who chose what; None: written by an engine that did not record it."""
    settings_digest: str | None = None
    """BLAKE2b of ``settings.json`` beside the journal, which has these settings in full; None:
    the engine kept no such file."""


class RunResumed(EventBase):
    """The run continues under a new engine."""

    kind: Literal["runResumed"] = "runResumed"
    version: str
    pid: int
    by: str
    branch: str | None = None
    head: str | None = None
    config: Config
    overrides: dict[str, Any] = Field(default_factory=dict)
    counts: PlanCountsView = PlanCountsView.model_construct()
    orphans_ended: int = 0
    """Processes of a killed engine's agent that this start ended."""
    users: tuple[str, ...] | None = None
    """Changed paths that were written after the open iteration's agent had ended and its engine
    was gone: they are the user's, and stay out of the loop's commits."""
    held: tuple[str, ...] | None = None
    """Commits that were made when no engine ran: they are the user's to push, and the loop pushes
    nothing before the remote has them."""
    ends_at: Timestamp | None = None
    """When the allowed hours are over (``run.until``); None: never."""
    choices: RunChoices | None = None
    settings_digest: str | None = None
    """BLAKE2b of ``settings.json`` beside the journal, which has these settings in full; None:
    the engine kept no such file."""


class PhaseChanged(EventBase):
    """The run is in another phase."""

    kind: Literal["phaseChanged"] = "phaseChanged"
    phase: Phase
    reason: str | None = None
    """``decide``, ``blocked``, ``stuck`` when parked; ``limit``, ``retry``, ``calls``
    or ``cooldown`` when waiting."""
    until: Timestamp | None = None


class WaitStarted(EventBase):
    """The run waits by itself."""

    kind: Literal["waitStarted"] = "waitStarted"
    reason: str
    until: Timestamp


class WaitEnded(EventBase):
    """The wait is over."""

    kind: Literal["waitEnded"] = "waitEnded"
    reason: str


class Warned(MaybeIterationEvent):
    """Something the user should know that ends nothing."""

    kind: Literal["warned"] = "warned"
    code: str
    message: str
    removed: RemovedTask | None = None
    """The task that is taken as finished under other words."""
    outside: bool = Field(default=False, exclude_if=lambda outside: not outside)
    """It failed outside any iteration (a command of ``on_…``, a comment on an issue): the run is
    not affected, and the user has to do it."""


class RunEnded(EventBase):
    """The run is over, for one named reason."""

    kind: Literal["runEnded"] = "runEnded"
    reason: EndReason
    exit_code: int
    message: str
    """Why, in words for the user."""
    by: str = ""
    """Who ended it, if a user did."""
    iterations: int = 0
    seconds: float = 0.0
    survivors: tuple[int, ...] = Field(default=(), exclude_if=lambda pids: not pids)
    """Processes of the run that not even KILL has ended, by pid: they hang in the kernel, or are
    another user's."""


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
    | AgentReported
    | LessonRemembered
    | EvidenceGathered
    | PlanChanged
    | CircuitBreakerStateChange
    | CompletionRefused
    | AttemptCounted
    | TaskSetAside
    | GuardReverted
    | CriteriaVerified
    | Validated
    | RolledBack
    | JudgeStarted
    | Judged
    | JudgeOverruled
    | Committed
    | Pushed
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
    | LaneStarted
    | LaneRunStarted
    | LaneWaiting
    | LaneRunEnded
    | MergeStarted
    | MergeRefused
    | LaneMerged
    | LaneParked
    | LaneDropped
    | IterationEnded
    | RunEnded
)
"""The closed union of this version's events."""

EVENT_TYPES: tuple[type[EventBase], ...] = Event.__args__
EVENT_KINDS = frozenset(str(cls.model_fields["kind"].default) for cls in EVENT_TYPES)
EVENT_ADAPTER: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="kind")], config=DEFERRED
)


def parse_event(line: bytes | str) -> Event | UnknownEvent:
    """Read one journal line; raises ValueError if it is not an event at all.

    An event of an unknown kind, or of a known kind in a shape this version cannot read, comes
    back as ``UnknownEvent``: viewers of another version must continue.
    """
    try:
        # Unknown settings are refused in a config file, but ignored in events of a newer engine.
        return EVENT_ADAPTER.validate_json(line, extra="ignore")
    except ValidationError:
        return UnknownEvent.model_validate_json(line)


def dump_event(event: EventBase) -> bytes:
    """Write one event as its journal line, without the line end."""
    return event.model_dump_json(by_alias=True, exclude_none=True).encode()
