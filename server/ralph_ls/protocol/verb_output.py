"""What the verbs print with ``--json`` that report no figures. Stable: programs read it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.json_output import LaneTable
from ralph_ls.protocol.lsp.setup import SetupFile
from ralph_ls.protocol.plan import PlanProblem, TaskView
from ralph_ls.protocol.run.report import Claims, Promise, Report, Usage
from ralph_ls.protocol.run.values import BreakerState, Phase, RunChoices


class ShownDecision(WireModel):
    """What followed from one iteration, and why."""

    iteration: int
    start: int
    text: str


class TroubleLine(WireModel):
    """One line about a run that is stuck or has failed."""

    heading: str
    text: str


class StatusOutput(WireModel):
    """What ``ralph status --json`` prints: the newest run of the repository."""

    run: str | None = None
    """None: there is no run yet."""
    workspace: str
    phase: Phase | None = None
    live: bool = False
    """Whether an engine has it now."""
    pid: int | None = None
    """Of the engine."""
    needs_person: bool = False
    """It waits for the user."""
    journal: str | None = None
    """Path of its events."""
    answers: dict[str, str] = Field(default_factory=dict)
    """The lines of ``ralph status``, by heading."""
    branch: str | None = None
    """The branch it works on, where it is not the one that was checked out."""
    trouble: tuple[TroubleLine, ...] = ()
    lanes: LaneTable | None = None
    """Of a parallel run."""
    state: dict[str, Any] | None = None
    """All that is known of it, as ``schemas/state.schema.json`` describes it."""
    why: tuple[ShownDecision, ...] | None = None
    """With ``--why``: oldest first."""


class PlanTasks(WireModel):
    """What ``ralph plan --json`` prints."""

    tasks: tuple[TaskView, ...] = ()
    problems: tuple[PlanProblem, ...] = ()


class SettingValue(WireModel):
    """What ``ralph config get KEY --json`` prints: one setting, without secrets."""

    key: str
    value: Any = None
    """None: not set."""
    origin: str | None = None
    """Where the value comes from, such as ``default`` or ``file``."""
    default: str | None = None


class SettingsOutput(WireModel):
    """What ``ralph config show --json`` prints."""

    settings: tuple[SettingValue, ...] = ()
    """Those that differ from the defaults; with ``--all`` all."""


class SettingExplained(WireModel):
    """What ``ralph config explain KEY --json`` prints."""

    key: str
    type: str
    about: str
    values: dict[str, str] = Field(default_factory=dict)
    """The words that it may be, and what each means."""
    default: str | None = None
    example: str
    variable: str | None = None
    """The environment variable that sets it."""
    group: str


class DetachedRun(WireModel):
    """What ``ralph run --detach --json`` prints."""

    run: str
    pid: int


class RunPreview(WireModel):
    """What ``ralph run --dry-run --json`` prints: what would start."""

    agent: str
    model: str | None = None
    """None: the agent's own choice."""
    argv: tuple[str, ...]
    """The agent's command line."""
    mode: str
    task: str | None = None
    plan: str
    branch: str | None = None
    choices: RunChoices | None = None
    prompt: str
    template: str | None = None
    """None: the built-in one."""
    instead: str | None = None
    """Why no agent would start; None: one would."""
    not_allowed: tuple[str, ...] = ()
    """What ``ralph allow`` has not approved yet."""
    settings: dict[str, Any]
    """All settings, as ``schemas/config.schema.json`` describes them, with camelCase keys."""


class PromptOutput(WireModel):
    """What ``ralph prompt --json`` prints."""

    prompt: str
    instead: str | None = None
    """Why no agent would start; None: one would."""
    iteration: int | None = None
    mode: str | None = None
    task: str | None = None
    task_id: str | None = None
    source: str | None = None
    """Where the task comes from."""
    template: str | None = None
    not_allowed: tuple[str, ...] = ()


class ReadWords(WireModel):
    """Phrases in prose, which are weaker signals than a block."""

    completion: tuple[str, ...] = ()
    clarification: tuple[str, ...] = ()


class ReadLimit(WireModel):
    """When a usage limit ends, in the form in which the agent gives it."""

    resets_at: Timestamp | None = None
    resets_in: float | None = None
    """Seconds."""
    resets_locally: str | None = None
    """A time on the user's clock."""


class OverlookedSignal(WireModel):
    """A signal that did not count."""

    what: str
    text: str
    line: int | None = None
    """From 1, in the final text; None outside of it."""
    why: str


class ReadOutput(WireModel):
    """What ``ralph read --json`` prints: what the loop reads in an agent's output."""

    text: str
    report: Report | None = None
    promise: Promise | None = None
    """The one with the highest priority."""
    errors: tuple[str, ...] = ()
    words: ReadWords
    confidence: int
    claims: Claims | None = None
    question: str | None = None
    limit: ReadLimit | None = None
    usage: Usage | None = None
    session_id: str | None = None
    failed: bool
    failure: str | None = None
    why: str | None = None
    denied_tools: tuple[str, ...] | None = None
    overlooked: tuple[OverlookedSignal, ...] = ()
    hint: str | None = None


class SimulatedLine(WireModel):
    """What ``ralph simulate --json`` prints: one line for each iteration."""

    iteration: int
    breaker: BreakerState
    reason: str
    verdict: str
    """``continue``, or why the run ends."""
    exit_code: int | None = None
    """None while the run continues."""


class ArchivedFile(WireModel):
    """One file that moves."""

    path: str
    name: str
    """In the archive."""


class Archived(WireModel):
    """What ``ralph archive --json`` prints."""

    done: bool
    """False: it was a dry run."""
    folder: str
    moved: tuple[ArchivedFile, ...] = ()
    written: tuple[str, ...] = ()
    """Files that start empty again."""
    notes: tuple[str, ...] = ()


class OpenedPullRequest(WireModel):
    """One pull request of ``ralph pr``."""

    branch: str
    commit: str
    """What was pushed to the branch."""
    url: str | None = None
    """None: it was a dry run."""


class PullRequests(WireModel):
    """What ``ralph pr --json`` prints."""

    done: bool
    """False: it was a dry run."""
    requests: tuple[OpenedPullRequest, ...]
    """In the order in which they were opened."""


class PrunedRun(WireModel):
    """One run whose output is removed."""

    workspace: str
    run: str
    ended_at: Timestamp
    files: int
    bytes: int
    setting: str
    """The limit that it is over."""


class Pruned(WireModel):
    """What ``ralph prune --json`` prints."""

    done: bool
    """False: it was a dry run."""
    bytes: int
    """That all runs have stored."""
    freed: int
    problems: tuple[str, ...] = ()
    runs: tuple[PrunedRun, ...] = ()


class ApprovedClaim(WireModel):
    """One command or file that the repository brings."""

    key: str
    sha256: str
    allowed: bool
    text: str
    """Empty where it may hold a secret."""
    path: str | None = None
    not_covered: tuple[str, ...] = ()
    """Programs that it starts and that may change without a new approval."""


class Approvals(WireModel):
    """What ``ralph allow --json`` prints."""

    allowed: bool
    """Everything is approved in its present form."""
    sha256: str
    claims: tuple[ApprovedClaim, ...] = ()


class HookSetup(WireModel):
    """What ``ralph init --hooks --json`` prints."""

    agent: str
    path: str
    diff: tuple[str, ...]
    """Lines."""
    written: tuple[str, ...] = ()
    already_there: bool
    notes: tuple[str, ...] = ()


class SetupDone(WireModel):
    """What ``ralph init --json`` prints."""

    written: tuple[str, ...] = ()
    """Empty after a dry run."""
    workspace: str
    files: tuple[SetupFile, ...] = ()
    notes: tuple[str, ...] = ()
    next: str
    """The command to continue with."""
    hooks: HookSetup | None = None
    """With ``--hooks``."""


class ImportedSetup(WireModel):
    """What ``ralph init --from-existing --json`` prints."""

    profile: str
    plan: str
    settings: dict[str, Any] = Field(default_factory=dict)
    would_write: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    not_taken: tuple[str, ...] = ()
    """What is not imported, in a sentence each."""
    kept: tuple[str, ...] = ()


class DemoProject(WireModel):
    """What ``ralph demo --no-run --json`` prints."""

    folder: str
