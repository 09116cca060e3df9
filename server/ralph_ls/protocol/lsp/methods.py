"""Messages between an editor and the language server beyond LSP: one table of ``ralph/…``.

Requests are strict, so that a misspelt order is never half obeyed; notifications ignore what they
do not know. It must never know LSP itself, nor how a message is framed or sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from ralph_ls.protocol.base import StrictWireModel, WireModel, WorkspaceParams
from ralph_ls.protocol.config.agent import PromptBy
from ralph_ls.protocol.config.config import OnHalt, ProfileName
from ralph_ls.protocol.config.tables import Duration, TreePath
from ralph_ls.protocol.dashboard import Dashboard, DashboardParams
from ralph_ls.protocol.json_output import RunsEverywhere
from ralph_ls.protocol.lessons import (
    DecideLessonParams,
    Learned,
    LearnParams,
    LessonDecided,
    LessonList,
    LessonsParams,
)
from ralph_ls.protocol.lsp.panel import AnswerView, Panel, PlanRows
from ralph_ls.protocol.lsp.row_methods import (
    AnywhereParams,
    ChangesParams,
    ChangesResult,
    EditTaskParams,
    FileAtParams,
    FileAtResult,
    InspectParams,
    IterationsParams,
    IterationsResult,
    LanesParams,
    LanesResult,
    MaintainParams,
    MaintainResult,
    ResetTaskParams,
    ResumeFleetTaskParams,
    RollbackParams,
    RollbackResult,
    RunsParams,
    RunsResult,
    SkipParams,
    TextResult,
)
from ralph_ls.protocol.lsp.setup import (
    AllowParams,
    ClaimsParams,
    ClaimsResult,
    ConfigureParams,
    ConfigureResult,
    DemoParams,
    DemoResult,
    PlansParams,
    PlansResult,
    ProposePlanParams,
    ProposePlanResult,
    SetupChoicesParams,
    SetupChoicesResult,
    SetupParams,
    SetupResult,
    ValidateSetupParams,
    ValidateSetupResult,
)
from ralph_ls.protocol.run.commands import MAX_TEXT, TaskId
from ralph_ls.protocol.run.events import Event, UnknownEvent
from ralph_ls.protocol.run.messages import AgentMessage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase

START = "ralph/start"
STOP = "ralph/stop"
PAUSE = "ralph/pause"
RESUME = "ralph/resume"
RESET = "ralph/reset"
OVERRULE = "ralph/overrule"
ANSWER = "ralph/answer"
RESUME_FLEET_TASK = "ralph/resumeFleetTask"
NOTE = "ralph/note"
SKIP = "ralph/skip"
RESET_TASK = "ralph/resetTask"
EDIT_TASK = "ralph/editTask"
CHANGES = "ralph/changes"
FILE_AT = "ralph/fileAt"
ROLLBACK = "ralph/rollback"
STATE = "ralph/state"
SUBSCRIBE = "ralph/subscribe"
UNSUBSCRIBE = "ralph/unsubscribe"
SETUP_CHOICES = "ralph/setupChoices"
DASHBOARD = "ralph/dashboard"
RUNS = "ralph/runs"
ANYWHERE = "ralph/anywhere"
ITERATIONS = "ralph/iterations"
LANES = "ralph/lanes"
INSPECT = "ralph/inspect"
MAINTAIN = "ralph/maintain"
VALIDATE_SETUP = "ralph/validateSetup"
LESSONS = "ralph/lessons"
LEARN = "ralph/learn"
DECIDE_LESSON = "ralph/decideLesson"
PROPOSE_PLAN = "ralph/proposePlan"
SETUP = "ralph/setup"
CLAIMS = "ralph/claims"
ALLOW = "ralph/allow"
DEMO = "ralph/demo"
CONFIGURE = "ralph/configure"
PLANS = "ralph/plans"
EVENT = "ralph/event"
OUTPUT = "ralph/output"
MESSAGES = "ralph/messages"
VIEW = "ralph/view"


class Direction(StrEnum):
    """Who sends the message."""

    TO_SERVER = "clientToServer"
    TO_CLIENT = "serverToClient"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One row of the table."""

    name: str
    direction: Direction
    params: type[WireModel]
    result: type[WireModel] | None
    """None: the message is a notification, and nobody answers it."""
    changes: bool
    """It changes a run, its work tree or trust, so it is refused inside an iteration."""

    @property
    def is_request(self) -> bool:
        return self.result is not None


# ------------------------------------------------------------------------------------- requests


class StartParams(WorkspaceParams):
    """Start a run as a separate process; what is left out comes from the work tree's settings."""

    max_iterations: int | None = Field(default=None, ge=1)
    profile: ProfileName | None = None
    agent: Annotated[str, Field(min_length=1)] | None = None
    """Name of the agent, such as ``claude`` or ``command``."""
    agent_command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Program and arguments of a ``command`` agent, for this run alone."""
    agent_prompt: PromptBy | None = None
    plan: TreePath | None = None
    task: Annotated[str, Field(min_length=1)] | None = None
    """Id of the one task to run."""
    timeout: Duration | None = None
    """Of one iteration."""
    on_halt: OnHalt | None = None
    parallel: int | None = Field(default=None, ge=1)
    """How many tasks are worked on at once, each in a lane."""
    replan: bool = False
    """Rewrite the plan first; what is in progress is reopened."""
    resume: bool = False
    """Continue the last run that did not end with 0, instead of starting a new one."""


class StopParams(WorkspaceParams):
    """End the run: after this iteration, or at once together with the agent."""

    now: bool = False


class PauseParams(WorkspaceParams):
    """Hold the run after settling."""


class ResumeParams(WorkspaceParams):
    """Continue after a pause; resolves a blocker that the run is parked on."""

    go_on: bool = Field(default=True, alias="continue")
    """Whether a run whose engine is gone is taken up by a new one."""


class ResetParams(WorkspaceParams):
    """Close the breaker and zero its counters."""

    go_on: bool = Field(default=False, alias="continue")
    """Whether a run whose engine is gone is taken up by a new one, which resets it."""


class OverruleParams(WorkspaceParams):
    """Accept work for which a judge requests changes; its tasks are done in the plan."""

    task: TaskId | None = None
    """None: all that it requests."""
    go_on: bool = Field(default=False, alias="continue")
    """Whether a run whose engine is gone is taken up by a new one."""


class AnswerParams(WorkspaceParams):
    """Answer the open question."""

    text: str = Field(min_length=1, max_length=MAX_TEXT, pattern=r"\S")
    task: TaskId | None = None
    """Of a parallel run: the task whose lane asks; None: the only lane that asks."""
    go_on: bool = Field(default=False, alias="continue")
    """Whether a run whose engine is gone is taken up by a new one, which has the answer."""


class NoteParams(WorkspaceParams):
    """Send a note to the loop; it goes into the next prompt."""

    text: str = Field(min_length=1, max_length=MAX_TEXT, pattern=r"\S")


class StateParams(WorkspaceParams):
    """Get the state of the workspace's newest run."""


class SubscribeParams(WorkspaceParams):
    """Receive a run's events from now on, and those that were missed."""

    after_seq: int = Field(default=0, ge=0)
    """The last event that the client has seen; 0 where it has seen none."""
    run: str | None = None
    """The run that ``after_seq`` belongs to; without it, the newest one. If another run is the
    newest by now, its events are sent from the first one on."""
    events: bool = True
    """Whether each event is wanted, as ``ralph/event``."""
    output: bool = False
    """Whether what the agent prints is wanted too, as ``ralph/output``. Of an agent that runs
    already the end of what it has printed comes first."""
    messages: bool = False
    """Whether what it says is wanted decoded, as ``ralph/messages``. Of an iteration that is
    already running the last messages come first."""
    view: bool = False
    """Whether the whole picture is wanted whenever it changes, as ``ralph/view``."""


class UnsubscribeParams(WorkspaceParams):
    """Stop receiving a run's events."""


# -------------------------------------------------------------------------------------- results


class ReplyResult(WireModel):
    """What became of an order."""

    accepted: bool
    code: str
    """``accepted``, or the kebab-case reason why not. Where no engine runs: ``written`` into its
    file, ``left`` for the next run, or ``continued`` by a new engine; ``signalled`` where an
    engine did not listen and was ended."""
    text: str
    """The same as a sentence for the user."""
    run: str | None = None
    """The run that it was about; for a start, the one that began."""


class ShownResult(ReplyResult):
    """What the user was shown, as ``ralph.showChanges`` and its like answer."""

    shown: str = ""
    """The whole text, at most a million characters of it."""
    sha256: str | None = None
    """Identifies what was shown, for the command that may follow: ``ralph.allow`` or
    ``ralph.rollback``. None: nothing is left to be done, or it was not shown in full."""


class StateResult(WireModel):
    """The state of a workspace's newest run."""

    run: RunState | None = None
    """Without ``seen``, which is long in a long run; None where no run was ever made here."""
    phase: Phase | None = None
    """The one to show: as in ``run``, or ``crashed``."""
    live: bool = False
    """Whether an engine owns the work tree now."""
    pid: int | None = None
    """The engine's, while it lives."""
    needs_person: bool = False
    """Whether nothing happens until the user does something."""
    answers: tuple[AnswerView, ...] = ()
    """In the order in which they are shown; one without an answer is left out."""
    panel: Panel | None = None
    """All of it in words, ready to be drawn."""
    plan: PlanRows = PlanRows.model_construct()
    journal: str | None = None
    """Path of the run's journal."""


class SubscribeResult(WireModel):
    """Where the subscription begins."""

    run: str | None = None
    """The run whose events follow; None where there is none yet."""
    seq: int = 0
    """Events after this one follow as ``ralph/event``, each once."""
    workspace: str = ""
    """The URI that all messages about this work tree name. Two folders of one work tree have one
    loop and are reported as one: then it is the first folder's."""
    state: StateResult


class UnsubscribeResult(WireModel):
    """Nothing more follows."""

    subscribed: bool = False
    """Whether there was a subscription to end."""


# -------------------------------------------------------------------------------- notifications

AnyEvent = Annotated[
    Annotated[Event, Field(discriminator="kind")] | UnknownEvent,
    Field(union_mode="left_to_right"),
]
"""An event; one of a newer engine comes through as ``UnknownEvent``."""


class EventParams(WireModel):
    """One event of a run that the client subscribed to, as its journal has it."""

    workspace: str
    run: str
    event: AnyEvent


class OutputParams(WireModel):
    """A piece of what the agent printed, redacted; pieces of one stream follow each other.

    They are put together into frames: a client that reads slowly gets fewer, larger ones, and at
    last the newest only. Nothing is lost by that, for all of it is in the iteration's log.
    """

    workspace: str
    run: str
    start: int
    stream: Literal["out", "err"]
    text: str
    skipped: int = 0
    """Characters of this stream left out right before ``text``: the client reads too slowly."""


class MessagesParams(WireModel):
    """Some messages of the agent, in their order; frames as for ``ralph/output``."""

    workspace: str
    run: str
    messages: tuple[AgentMessage, ...]
    skipped: int = 0
    """Messages left out right before these: the client reads too slowly."""


class ViewParams(WireModel):
    """The whole state of a work tree now: it replaces the one before.

    At most four a second; a change that needs the user comes at once.
    """

    workspace: str
    state: StateResult


# ------------------------------------------------------------------------------------ the table


def _request(
    name: str, params: type[StrictWireModel], result: type[WireModel], *, changes: bool
) -> Method:
    direction = Direction.TO_SERVER
    return Method(name=name, direction=direction, params=params, result=result, changes=changes)


def _notification(name: str, params: type[WireModel]) -> Method:
    direction = Direction.TO_CLIENT
    return Method(name=name, direction=direction, params=params, result=None, changes=False)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            _request(START, StartParams, ReplyResult, changes=True),
            _request(STOP, StopParams, ReplyResult, changes=True),
            _request(PAUSE, PauseParams, ReplyResult, changes=True),
            _request(RESUME, ResumeParams, ReplyResult, changes=True),
            _request(RESET, ResetParams, ReplyResult, changes=True),
            _request(OVERRULE, OverruleParams, ReplyResult, changes=True),
            _request(ANSWER, AnswerParams, ReplyResult, changes=True),
            _request(RESUME_FLEET_TASK, ResumeFleetTaskParams, TextResult, changes=True),
            _request(NOTE, NoteParams, ReplyResult, changes=True),
            _request(SKIP, SkipParams, ReplyResult, changes=True),
            _request(RESET_TASK, ResetTaskParams, ReplyResult, changes=True),
            _request(EDIT_TASK, EditTaskParams, ReplyResult, changes=True),
            _request(CHANGES, ChangesParams, ChangesResult, changes=False),
            _request(FILE_AT, FileAtParams, FileAtResult, changes=False),
            _request(ROLLBACK, RollbackParams, RollbackResult, changes=True),
            _request(STATE, StateParams, StateResult, changes=False),
            _request(SUBSCRIBE, SubscribeParams, SubscribeResult, changes=False),
            _request(UNSUBSCRIBE, UnsubscribeParams, UnsubscribeResult, changes=False),
            _request(DASHBOARD, DashboardParams, Dashboard, changes=False),
            _request(RUNS, RunsParams, RunsResult, changes=False),
            _request(ANYWHERE, AnywhereParams, RunsEverywhere, changes=False),
            _request(ITERATIONS, IterationsParams, IterationsResult, changes=False),
            _request(LANES, LanesParams, LanesResult, changes=False),
            _request(INSPECT, InspectParams, TextResult, changes=False),
            _request(MAINTAIN, MaintainParams, MaintainResult, changes=True),
            _request(LESSONS, LessonsParams, LessonList, changes=False),
            _request(LEARN, LearnParams, Learned, changes=True),
            _request(DECIDE_LESSON, DecideLessonParams, LessonDecided, changes=True),
            _request(SETUP_CHOICES, SetupChoicesParams, SetupChoicesResult, changes=False),
            _request(VALIDATE_SETUP, ValidateSetupParams, ValidateSetupResult, changes=False),
            _request(PROPOSE_PLAN, ProposePlanParams, ProposePlanResult, changes=True),
            _request(SETUP, SetupParams, SetupResult, changes=True),
            _request(CLAIMS, ClaimsParams, ClaimsResult, changes=False),
            _request(ALLOW, AllowParams, ClaimsResult, changes=True),
            _request(DEMO, DemoParams, DemoResult, changes=False),
            _request(CONFIGURE, ConfigureParams, ConfigureResult, changes=True),
            _request(PLANS, PlansParams, PlansResult, changes=False),
            _notification(EVENT, EventParams),
            _notification(OUTPUT, OutputParams),
            _notification(MESSAGES, MessagesParams),
            _notification(VIEW, ViewParams),
        )
    }
)
"""Every message of ours, by its name."""
