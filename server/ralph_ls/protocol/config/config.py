"""The settings of a run: the one source of the config schema and of the editor's settings block.

Keys are snake_case in ``.ralph/config.toml`` and camelCase in JSON. An unknown key is an error.
Values that a profile fills in stand in ``core.loop.profiles``; here are only names, types, bounds.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.config.agent import AgentConfig, SandboxConfig, ToolsConfig
from ralph_ls.protocol.config.tables import (
    BeadsConfig,
    Duration,
    ModelsConfig,
    PriceConfig,
    RetryConfig,
    ReviewPointsConfig,
    SignalWord,
    StateConfig,
    TreePath,
)
from ralph_ls.protocol.plan import FORMS, read_reference

MAX_REQUEST = 1 << 18
"""Longest text of a request: an agent reads all of it in every iteration."""

CONFIG_FILE = ".ralph/config.toml"
"""Where the settings of a work tree lie, relative to its root."""


def _names_an_issue(text: str) -> str:
    """The text as it is; raises ValueError where it names no issue on GitHub and is not empty."""
    if text and read_reference(text) is None:
        raise ValueError(f"{text!r} names no issue on GitHub; write {FORMS}")
    return text.strip()


def names_a_branch(text: str) -> str:
    """The text as it is; raises ValueError where no branch can have that name."""
    if text and not _BRANCH.fullmatch(text):
        raise ValueError(f"{text!r} cannot be the name of a branch; write auto, or such as my-work")
    return text


AUTO_BRANCH = "auto"
"""The branch ``ralph/<date>-<task>``."""

_BRANCH = re.compile(
    r"(?!-)(?!.*(?:\.\.|//|/\.|@\{|\.lock(?:/|$)))(?!\.)"
    r"[^\x00-\x20\x7f~^:?*\[\\]{0,199}[^\x00-\x20\x7f~^:?*\[\\./]"
)
"""Names that ``git check-ref-format`` takes, up to a length that all file systems take."""


class ProfileName(StrEnum):
    """Presets of settings."""

    SPEC = "spec"
    FIXPLAN = "fixplan"
    STORIES = "stories"
    BEADS = "beads"
    ISSUE = "issue"


class FirstMode(StrEnum):
    """What a run begins with."""

    BUILD = "build"
    """A task of the plan; where its agent is to write a missing plan, that comes first."""
    PLAN = "plan"
    """The plan: tasks in progress are reset, and the first iteration writes the plan anew."""


class OptionalTasks(StrEnum):
    """What becomes of the tasks in optional sections of the plan."""

    SKIP = "skip"
    """They are left alone, and listed at the end."""
    DO = "do"
    """They are worked on when no required task is left."""


class OnHalt(StrEnum):
    """Whether a run that needs the user ends or parks."""

    EXIT = "exit"
    WAIT = "wait"


class OnTimeout(StrEnum):
    """What an iteration that ran out of time means for the run."""

    CONTINUE = "continue"
    STOP = "stop"


class OnValidateFail(StrEnum):
    """What a failed validation means for the run."""

    STOP = "stop"
    """The run ends as fatal."""
    ROLLBACK = "rollback"
    """The iteration is taken back, its work kept on a branch; the run goes on."""
    REPAIR = "repair"
    """The work stays, and the next iteration mends it."""


class EvidenceKind(StrEnum):
    """What counts as progress."""

    COMMITS = "commits"
    WORKTREE = "worktree"
    TASKS = "tasks"
    DECLARED = "declared"
    """What the report says."""
    HEAD = "head"
    """A new HEAD by the agent, whatever it touches."""


class OnBlocked(StrEnum):
    """What STATUS BLOCKED in a report leads to."""

    OPEN = "open"
    """The breaker opens at once."""
    SET_ASIDE = "set-aside"
    """The task is set aside, and the next one is taken."""
    NOTHING = "nothing"
    """Only the promise counts."""


class GateRule(StrEnum):
    """Which signal completes a run, where the plan agrees."""

    MARKER = "marker"
    """``PROJECT_COMPLETE`` on a line of its own in the plan."""
    DUAL = "dual"
    """EXIT_SIGNAL true and enough completion indicators."""
    VERIFIED = "verified"
    """COMPLETE, verified against the plan; or every task done without it."""
    QUEUE = "queue"
    """Nothing in the plan is open."""
    STATUS = "status"
    """STATUS COMPLETE or PR_READY."""


class AttemptCounts(StrEnum):
    """Which iterations are failed attempts at their task."""

    NO_PROGRESS = "no-progress"
    """Those without progress."""
    NOT_DONE = "not-done"
    """Those that did not finish the task."""


class Committer(StrEnum):
    """Who commits what an iteration changed."""

    AGENT = "agent"
    LOOP = "loop"


class LogForm(StrEnum):
    """How the agent's log for people is cut."""

    RUN = "run"
    """One file a run, with a frame around each iteration."""
    ITERATION = "iteration"
    """One ``iteration-NNN.log`` an iteration."""
    JSONL = "jsonl"
    """One file a run, every line JSON."""


class BreakerConfig(StrictWireModel):
    """The breaker's thresholds, in consecutive iterations; 0 switches a row off."""

    enabled: bool = True
    """False: count, and never move."""
    no_progress_half_open: int = Field(default=2, ge=0)
    """Iterations without progress that make it HALF_OPEN."""
    no_progress_open: int = Field(default=3, ge=0)
    """Iterations without progress that open it."""
    same_error_open: int = Field(default=5, ge=0)
    """Iterations with the same error that open it."""
    same_error_warn: int = Field(default=3, ge=0)
    """Iterations with the same error that are warned about."""
    failing_tests_open: int = Field(default=5, ge=0)
    """Iterations that report failing tests."""
    refused_completions_open: int = Field(default=3, ge=0)
    """Refused completions with no progress between."""
    denials_open: int = Field(default=2, ge=0)
    """Iterations in which a tool was not permitted."""
    set_aside_open: int = Field(default=2, ge=0)
    """Tasks set aside with no progress between: the environment is broken, not the task."""


class AttemptsConfig(StrictWireModel):
    """When a task that does not come off is set aside."""

    limit: int = Field(default=0, ge=0)
    """Failed attempts after which a task is set aside; 0 is off."""
    counts: AttemptCounts = AttemptCounts.NO_PROGRESS
    mark: bool = True
    """Mark it as blocked in the plan; false: leave the plan, and take it no more in this run."""
    unfinished: int | None = Field(default=None, ge=0)
    """Iterations in a row with changes, in which no task, sub-task or criterion became done and
    none was added, after which the task is set aside; without a task the breaker opens. None: 10,
    0 is off. It has no effect where ``counts`` is ``not-done``, which counts them already."""


class SessionConfig(StrictWireModel):
    """Whether an iteration goes on in the session of the one before it."""

    resume: bool = False
    """Whether it does; only for the same task, in the same mode."""
    max_age: Duration = 86400.0
    """Seconds after which a session is dropped."""


class LogRetention(StrictWireModel):
    """Which earlier logs are kept at a start: either rule keeps one; with neither all are kept."""

    days: int | None = Field(default=None, ge=0)
    """Those that are newer than so many days."""
    newest: int | None = Field(default=None, ge=0)
    """So many of the newest."""


class ProgressConfig(StrictWireModel):
    """What is progress, and how long it is kept where it is told."""

    evidence: tuple[EvidenceKind, ...] = (
        EvidenceKind.COMMITS,
        EvidenceKind.WORKTREE,
        EvidenceKind.TASKS,
    )
    churn: bool | None = None
    """Whether changing the same files over and over can be no progress: files that look like
    output, and files that nobody commits; None: it can, false: every change is progress."""
    keep_days: int | None = Field(default=None, ge=1)
    """Days that an entry of the progress log stays in it; older ones go to a file beside it at a
    run's start. None: all stay."""


class GateConfig(StrictWireModel):
    """When the run is complete."""

    rule: GateRule = GateRule.DUAL
    indicators: int = Field(default=2, ge=1)
    """Completion indicators wanted beside EXIT_SIGNAL by the rule ``dual``."""
    marker: SignalWord = "PROJECT_COMPLETE"
    """The line in the plan that the rule ``marker`` looks for."""


class PromiseConfig(StrictWireModel):
    """The agent's promises."""

    complete: SignalWord = "COMPLETE"
    """The word inside ``<promise>…</promise>`` that says complete."""


class PathsConfig(StrictWireModel):
    """Where the loop's own files lie in the work tree."""

    plan: TreePath | None = None
    """The plan; looked for by the profile where it is not given."""
    decide: TreePath = ".ralph/decide.txt"
    """The open question, and its answer."""
    blocked: TreePath = ".ralph/blocked.txt"
    """What the run is blocked by; removing it resolves that."""
    logs: TreePath = ".ralph/logs"
    """The folder of the logs for people."""
    validate_script: TreePath = ".ralph/validate.sh"
    """Run after each iteration, where it can be executed; so are those in the folder beside it
    that is called the same with ``.d`` at its end, each only where a file changed that it names in
    one of its first lines: ``# ralph: globs = client/**, *.ts`` (without such a line: always)."""
    prompts: TreePath = ".ralph/prompts"
    """The folder of a person's own prompts."""
    progress: TreePath = "PROGRESS.md"
    """What was done so far, as the agent keeps it."""

    @model_validator(mode="after")
    def _keep_apart(self) -> PathsConfig:
        """What the loop writes must not stand where something else does, and be lost for it."""
        keys: dict[str, str] = {CONFIG_FILE: "the settings"}
        for key in ("plan", "decide", "blocked", "logs", "validate_script", "prompts"):
            path: str | None = getattr(self, key)
            if path is not None and keys.setdefault(path, key) != key:
                raise ValueError(f"{key} and {keys[path]} are both {path!r}; keep them apart")
        return self


class IssueConfig(StrictWireModel):
    """The request that the profile ``issue`` works on: one of a file, an issue and a text."""

    file: str | None = None
    """A file with its text, or ``-`` for standard input; empty: none."""
    github: Annotated[str, AfterValidator(_names_an_issue)] | None = None
    """An issue on GitHub, read with ``gh``: a number, ``owner/name#123`` or its URL."""
    text: Annotated[str, Field(max_length=MAX_REQUEST)] | None = None
    """The request itself, as ``ralph run -p`` takes it; empty: none."""
    comment: bool = False
    """Whether what the agent wants clarified is also put to the issue as a comment."""


class GuardConfig(StrictWireModel):
    """What of an agent's changes is put back."""

    enabled: bool = True
    """Put back dropped tasks, changed criteria, and changes of settings, prompts and scripts."""
    planning_is_free: bool = False
    """A ``plan`` iteration may do anything to the plan, also one that nobody ordered."""


class EnvConfig(StrictWireModel):
    """The agent's environment."""

    only: tuple[str, ...] | None = None
    """When given, an allow list of the variables that are passed on."""


DAEMONS = (
    *("gpg-agent", "scdaemon", "dirmngr", "keyboxd", "ssh-agent"),
    *("GradleDaemon", "KotlinCompileDaemon", "bazel", "buck2d", "pantsd"),
    *("watchman", "adb", "mspdbsrv", "VBCSCompiler", "MSBuild", "sccache", "ccache", "distccd"),
    *("dockerd", "containerd", "docker", "buildkitd", "podman", "conmon"),
    *("tmux", "screen", "zellij"),
)
"""Daemons that a tool starts by itself for all later work, whoever happens to use it first."""


class Config(StrictWireModel):
    """Every setting of a run."""

    profile: ProfileName = ProfileName.FIXPLAN
    """The preset that fills in what is not said elsewhere."""
    agent: str = "claude"
    """An agent that is known by name, such as ``claude``, or a table under ``agents``."""
    agents: dict[str, AgentConfig] = Field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    """Agents that take over in this order where the run's own cannot be had: it is not logged in,
    at its usage limit, without an answer of its model for all of ``retry``, or failed in three
    iterations in a row."""
    tools: ToolsConfig | None = None
    max_iterations: int | None = Field(default=None, ge=1)
    """Iterations of a run; None is unlimited."""
    max_duration: Duration | None = None
    """Seconds of engine time without parking; None is unlimited."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Tokens in and out, as far as the agent tells; None is unlimited."""
    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars, as far as the agent tells; None is unlimited."""
    allow_unmetered: bool | None = None
    """True: start although it cannot be known what the agent uses of a limit in tokens or US
    dollars; else such a start is refused."""
    max_tokens_per_iteration: int | None = Field(default=None, ge=1)
    """Tokens in and out of one iteration, after which its agent is ended; None is unlimited."""
    max_cost_per_iteration_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars of one iteration, as far as the agent tells; None is unlimited."""
    max_calls_per_minute: int | None = Field(default=None, ge=1)
    """Turns of the agents in a minute, before the next one starts; None is unlimited."""
    min_iterations: int = Field(default=0, ge=0)
    """Iterations before which no completion is accepted."""
    max_confirmations: int = Field(default=1, ge=0, exclude_if=lambda number: number == 1)
    """Iterations of a run that only confirm that no required task is open, where the gate's own
    signal is missing; 0 completes without one. One that failed, asked or reported failing tests
    is repeated and does not count."""
    max_stuck: int | None = Field(default=None, ge=1)
    """Iterations in a row without a commit that end the run with 4; None is off."""
    timeout: Duration = 1800.0
    """Seconds an iteration may take; 0 is none."""
    idle_timeout: Duration = 0.0
    """Seconds an agent may print nothing; 0 is none."""
    git_timeout: Duration = Field(default=60.0, gt=0, exclude_if=lambda seconds: seconds == 60.0)
    """Seconds that git may take to look at the work tree; one that takes longer hangs, in a filter
    such as git-lfs or on a network disk, and ends the run."""
    keep_running: tuple[str, ...] = Field(
        default=DAEMONS, exclude_if=lambda names: names == DAEMONS
    )
    """Programs that are left running when the agent ends, though it has started them: daemons that
    other work uses, too. They are named in the log; everything else is ended."""
    cooldown: Duration = 0.0
    """Seconds between two iterations."""
    limit_wait: Duration = 300.0
    """Seconds to wait where the agent is at its usage limit and does not say until when."""
    retry: RetryConfig = RetryConfig()
    context_window: int | None = Field(default=None, ge=1)
    """Tokens that the agent's model can hold, for the notices at 50, 70 and 90 % where the agent
    does not tell it; None: what is known of the model, else 200000."""
    prices: dict[str, PriceConfig] = Field(default_factory=dict)
    """What models cost whose agents do not tell it, by the name of the model: a name is meant for
    all that begin with it, ``*`` and ``?`` stand for any text and any character."""
    on_timeout: OnTimeout = OnTimeout.CONTINUE
    on_blocked: OnBlocked = OnBlocked.OPEN
    on_halt: OnHalt | None = None
    """None: exit in the foreground, wait when detached."""
    mode: FirstMode | None = None
    """What a run begins with; None: ``build``."""
    task: str | None = None
    """Only this task."""
    plan_when_stuck: bool = False
    """Plan once more when nothing but tasks that were set aside is left."""
    optional_sections: tuple[str, ...] = ()
    """Headings of the plan whose tasks are not required: each as it is, with a word such as "work"
    or "ideas" behind it, or in brackets behind another heading."""
    optional: OptionalTasks | None = None
    """What becomes of the tasks in optional sections; None: ``skip``."""
    skip_review: bool = False
    """Stories are not reviewed: who implements one says that it passes."""
    review_cap: int = Field(default=5, ge=1)
    """The review of a story in which it is approved, whatever is found."""
    validate_timeout: Duration = 600.0
    """Seconds that each validation script may take; 0 is none."""
    on_validate_fail: OnValidateFail = OnValidateFail.STOP
    max_repairs: int = Field(default=3, ge=1)
    """Repairs in a row after which ``on_validate_fail = "repair"`` ends the run."""
    verify: bool = False
    """Run the commands that the criteria of a closed task name, as far as they were allowed."""
    verify_timeout: Duration = 600.0
    """Seconds that each of these commands may take; 0 is none."""
    log: bool = True
    """Whether ``log_form = "jsonl"`` is written at all; the other logs always are."""
    log_form: LogForm = LogForm.RUN
    log_retention: LogRetention = LogRetention()
    state: StateConfig = Field(
        default=StateConfig(), exclude_if=lambda limits: limits == StateConfig()
    )
    commits: Committer = Committer.AGENT
    push: bool = False
    """Whether the loop pushes after an iteration."""
    work_branch: Annotated[str, AfterValidator(names_a_branch)] | None = None
    """The branch that a run works on; ``auto`` makes ``ralph/<date>-<task>``. At its end the run
    switches back; empty: it stays on the current branch."""
    commit_receipt: bool = False
    """Whether a commit of the loop that finishes a task has a trailer ``Ralph-Receipt``: what the
    task took in iterations, time of agents, tokens and cost."""
    commit_timeout: Duration = 600.0
    """Seconds a commit of the loop may take, with the hooks that it runs; 0 is none."""
    git_lock_wait: Duration = 30.0
    """Seconds that the loop waits for a lock file of git that is not its agent's, before the run
    is blocked."""
    push_timeout: Duration = 300.0
    """Seconds that each try to push may take; 0 is none."""
    breaker: BreakerConfig = BreakerConfig()
    progress: ProgressConfig = ProgressConfig()
    gate: GateConfig = GateConfig()
    promise: PromiseConfig = PromiseConfig()
    attempts: AttemptsConfig = AttemptsConfig()
    session: SessionConfig = SessionConfig()
    review_points: ReviewPointsConfig = ReviewPointsConfig()
    guard: GuardConfig = GuardConfig()
    paths: PathsConfig = PathsConfig()
    issue: IssueConfig = IssueConfig()
    on_question: tuple[str, ...] = ()
    """Program and arguments, run once for each question that the agent asks."""
    on_pr_ready: tuple[str, ...] = ()
    """Program and arguments, run once when a run is complete and the agent reports PR_READY."""
    env: EnvConfig = EnvConfig()
    models: ModelsConfig = ModelsConfig()
    sandbox: SandboxConfig = SandboxConfig()
    beads: BeadsConfig = BeadsConfig()
