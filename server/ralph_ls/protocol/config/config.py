"""The settings of a run: the one source of the config schema and of the editor's settings block.

Keys are snake_case in ``.ralph/config.toml`` and camelCase in JSON. An unknown key is an error.
A profile's own values are in ``core.loop.profiles``; here are only names, types and bounds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.config.agent import AgentConfig, SandboxConfig, ToolsConfig
from ralph_ls.protocol.config.notify import NotifyConfig
from ralph_ls.protocol.config.renamed import with_new_keys
from ralph_ls.protocol.config.tables import (
    BeadsConfig,
    Duration,
    JudgeConfig,
    LaneConfig,
    LessonsConfig,
    ModelsConfig,
    PlanConfig,
    PriceConfig,
    RetryConfig,
    ReviewPointsConfig,
    RunConfig,
    SignalWord,
    StateConfig,
    TreePath,
    names_a_branch,
)
from ralph_ls.protocol.plan import FORMS, read_reference

LONGEST_WAIT = 86400.0
"""A day, in seconds."""

MAX_REQUEST = 1 << 18
"""Longest text of a request: an agent reads all of it in every iteration."""

CONFIG_FILE = ".ralph/config.toml"
"""The settings of a work tree, relative to its root."""


def _names_an_issue(text: str) -> str:
    """The text as it is; raises ValueError where it names no issue on GitHub and is not empty."""
    if text and read_reference(text) is None:
        raise ValueError(f"{text!r} is not an issue on GitHub; write {FORMS}")
    return text.strip()


AUTO_BRANCH = "auto"
"""The branch ``ralph/<date>-<task>``."""


class ProfileName(StrEnum):
    """Presets of settings."""

    SPEC = "spec"
    FIXPLAN = "fixplan"
    STORIES = "stories"
    BEADS = "beads"
    ISSUE = "issue"


class FirstMode(StrEnum):
    """What a run starts with."""

    BUILD = "build"
    """The next task of the plan, or the plan itself if the agent has to write it."""
    PLAN = "plan"
    """The plan: tasks in progress are reset, and the first iteration rewrites the plan."""


class OptionalTasks(StrEnum):
    """What happens to the tasks in optional sections of the plan."""

    SKIP = "skip"
    """Leave them alone, and list them at the end."""
    DO = "do"
    """Work on them when no required task is left."""


class OnHalt(StrEnum):
    """What a run does when it needs you."""

    EXIT = "exit"
    """End."""
    WAIT = "wait"
    """Wait for your answer."""


class ToolOffer(StrEnum):
    """Whether agents are offered tools to report with."""

    ON = "on"
    """To every agent that takes a server for one call."""
    OFF = "off"
    """To none: agents report in words."""


class OnTimeout(StrEnum):
    """What the run does after an iteration that ran out of time."""

    CONTINUE = "continue"
    """Start the next iteration."""
    STOP = "stop"
    """End."""


class OnValidateFail(StrEnum):
    """What the run does after a failed validation."""

    STOP = "stop"
    """End the run."""
    ROLLBACK = "rollback"
    """Roll the iteration back, keep its work on a branch, and continue."""
    REPAIR = "repair"
    """Keep the work, and have the next iteration fix it."""


class EvidenceKind(StrEnum):
    """What counts as progress."""

    COMMITS = "commits"
    WORKTREE = "worktree"
    TASKS = "tasks"
    DECLARED = "declared"
    """What the agent reports."""
    HEAD = "head"
    """A new HEAD by the agent, whatever it changes."""


class OnBlocked(StrEnum):
    """What STATUS BLOCKED in a report does."""

    OPEN = "open"
    """Open the breaker at once."""
    SET_ASIDE = "set-aside"
    """Set the task aside, and take the next one."""
    NOTHING = "nothing"
    """Nothing: only the promise counts."""


class GateRule(StrEnum):
    """Which signal completes a run, if the plan agrees."""

    MARKER = "marker"
    """``PROJECT_COMPLETE`` on a separate line of the plan."""
    DUAL = "dual"
    """EXIT_SIGNAL true and enough completion indicators."""
    VERIFIED = "verified"
    """COMPLETE, verified against the plan; or every task is done."""
    QUEUE = "queue"
    """No task of the plan is open."""
    STATUS = "status"
    """STATUS COMPLETE or PR_READY."""


class AttemptCounts(StrEnum):
    """Which iterations are failed attempts at their task."""

    NO_PROGRESS = "no-progress"
    """Iterations without progress."""
    NOT_DONE = "not-done"
    """Iterations that did not finish the task."""


class Committer(StrEnum):
    """Who commits the changes of an iteration."""

    AGENT = "agent"
    """The agent."""
    LOOP = "loop"
    """The loop, after validation."""


class LogForm(StrEnum):
    """What the agent's logs look like."""

    RUN = "run"
    """One text file per run, with a header for each iteration."""
    ITERATION = "iteration"
    """One text file ``iteration-NNN.log`` per iteration."""
    JSONL = "jsonl"
    """One file of JSON lines per run, outside the work tree."""


class BreakerConfig(StrictWireModel):
    """When the breaker opens, in consecutive iterations; 0 switches a rule off."""

    enabled: bool = True
    """Whether the breaker can end a run; ``false`` only counts."""
    no_progress_half_open: int = Field(default=2, ge=0)
    """Iterations without progress that warn: the breaker is half-open."""
    no_progress_open: int = Field(default=3, ge=0)
    """Iterations without progress that open the breaker."""
    same_error_open: int = Field(default=5, ge=0)
    """Iterations with the same error that open the breaker."""
    same_error_warn: int = Field(default=3, ge=0)
    """Iterations with the same error that warn."""
    failing_tests_open: int = Field(default=5, ge=0)
    """Iterations with failing tests that open the breaker."""
    refused_completions_open: int = Field(default=3, ge=0)
    """Refused completions without progress between them that open the breaker."""
    denials_open: int = Field(default=2, ge=0)
    """Iterations with a denied tool and no progress that open the breaker."""
    set_aside_open: int = Field(default=2, ge=0)
    """Tasks set aside without progress between them that open the breaker: then the environment is
    broken, not the task."""


class AttemptsConfig(StrictWireModel):
    """When a task that keeps failing is set aside."""

    limit: int = Field(default=0, ge=0)
    """Failed attempts after which a task is set aside; 0 for no limit."""
    counts: AttemptCounts = AttemptCounts.NO_PROGRESS
    mark: bool = True
    """Whether a task that is set aside is marked as blocked in the plan; with ``false`` only this
    run skips it."""
    unfinished: int | None = Field(default=None, ge=0)
    """Iterations in a row that change something but finish and add no task, sub-task or criterion,
    after which the task is set aside; without a task the breaker opens. Unset: 10; 0 for no limit.
    With ``counts = "not-done"`` it has no effect."""


class SessionConfig(StrictWireModel):
    """Whether an iteration continues the agent's session of the one before."""

    resume: bool = False
    """Continue the session, for the same task in the same mode."""
    max_age: Duration = 86400.0
    """Age after which a session is dropped."""


class LogsConfig(StrictWireModel):
    """The agent's logs. A log is kept if either ``days`` or ``newest`` keeps it."""

    form: LogForm = LogForm.RUN
    agent: bool = True
    """Whether the form ``jsonl`` writes a log at all; the other forms always do."""
    days: int | None = Field(default=None, ge=0)
    """Keep logs that are newer than this many days; with neither rule all logs are kept."""
    newest: int | None = Field(default=None, ge=0)
    """Keep this many of the newest logs."""


class TimeoutsConfig(StrictWireModel):
    """How long each step may take."""

    iteration: Duration = 1800.0
    """How long an iteration may take; 0 for no limit."""
    idle: Duration = 0.0
    """How long an agent may print nothing before it is stopped; 0 for no limit."""
    validation: Duration = 600.0
    """How long each validation script or verification command may take; 0 for no limit."""
    commit: Duration = 600.0
    """How long a commit by the loop may take, with its hooks; 0 for no limit."""
    push: Duration = 300.0
    """How long each attempt to push may take; 0 for no limit."""
    git: Duration = Field(default=60.0, gt=0)
    """How long git may take to read the work tree. When it takes longer, it hangs in a filter such
    as git-lfs or on a network disk, and the run ends."""
    git_lock: Duration = 30.0
    """How long to wait for a lock file of git that is not the agent's before the run is blocked."""


class ProgressConfig(StrictWireModel):
    """What counts as progress, and how long the progress log keeps it."""

    evidence: tuple[EvidenceKind, ...] = (
        EvidenceKind.COMMITS,
        EvidenceKind.WORKTREE,
        EvidenceKind.TASKS,
    )
    churn: bool | None = None
    """Whether changing the same files again and again stops counting as progress: files that look
    like output, and files that are never committed. Unset: yes; ``false``: every change counts."""
    keep_days: int | None = Field(default=None, ge=1)
    """Days that an entry stays in the progress log; older entries move to a file beside it when a
    run starts. Unset: all stay."""


class GateConfig(StrictWireModel):
    """When the run is complete."""

    rule: GateRule = GateRule.DUAL
    indicators: int = Field(default=2, ge=1)
    """Completion indicators that the rule ``dual`` needs beside EXIT_SIGNAL."""
    marker: SignalWord = "PROJECT_COMPLETE"
    """The line in the plan that the rule ``marker`` looks for."""


class PromiseConfig(StrictWireModel):
    """The agent's promises."""

    complete: SignalWord = "COMPLETE"
    """The word in ``<promise>…</promise>`` that means complete."""


class PathsConfig(StrictWireModel):
    """The loop's own files in the work tree."""

    plan: TreePath | None = None
    """The plan. Unset: where the profile looks for it."""
    decide: TreePath = ".ralph/decide.txt"
    """The open question and your answer."""
    blocked: TreePath = ".ralph/blocked.txt"
    """What blocks the run; remove the file to resolve it."""
    logs: TreePath = ".ralph/logs"
    """The folder of the text logs."""
    validate_script: TreePath = ".ralph/validate.sh"
    """Script that validates each iteration, if it is executable. Scripts in the folder beside it
    with ``.d`` at its end run too, each if a file changed that matches its globs, given in one of
    its first lines as ``# ralph: globs = client/**, *.ts`` (without such a line: always)."""
    prompts: TreePath = ".ralph/prompts"
    """The folder with your prompts."""
    progress: TreePath = "PROGRESS.md"
    """The progress log, which the agent keeps."""

    @model_validator(mode="after")
    def _keep_apart(self) -> PathsConfig:
        """Two files of the loop with the same path would overwrite each other."""
        keys: dict[str, str] = {CONFIG_FILE: "the settings"}
        for key in ("plan", "decide", "blocked", "logs", "validate_script", "prompts"):
            path: str | None = getattr(self, key)
            if path is not None and keys.setdefault(path, key) != key:
                raise ValueError(
                    f"{key} and {keys[path]} are both {path!r}; give them different paths"
                )
        return self


class IssueConfig(StrictWireModel):
    """The request that the profile ``issue`` works on: a file, an issue or a text."""

    file: str | None = None
    """A file with the request, or ``-`` for standard input."""
    github: Annotated[str, AfterValidator(_names_an_issue)] | None = None
    """An issue on GitHub, read with ``gh``: a number, ``owner/name#123`` or its URL."""
    text: Annotated[str, Field(max_length=MAX_REQUEST)] | None = None
    """The request itself, as ``ralph run -p`` sets it."""


class GuardConfig(StrictWireModel):
    """Which of an agent's changes are restored."""

    enabled: bool = True
    """Whether dropped tasks, changed criteria, and changes of settings, prompts and scripts are
    restored."""
    planning_is_free: bool = False
    """Whether a plan iteration may change anything in the plan."""


class EnvConfig(StrictWireModel):
    """The agent's environment."""

    only: tuple[str, ...] | None = None
    """The only variables that are passed on. Unset: all."""


DAEMONS = (
    *("gpg-agent", "scdaemon", "dirmngr", "keyboxd", "ssh-agent"),
    *("GradleDaemon", "KotlinCompileDaemon", "bazel", "buck2d", "pantsd"),
    *("watchman", "adb", "mspdbsrv", "VBCSCompiler", "MSBuild", "sccache", "ccache", "distccd"),
    *("dockerd", "containerd", "docker", "buildkitd", "podman", "conmon"),
    *("tmux", "screen", "zellij"),
)
"""Daemons that a tool starts by itself for all later work, whoever happens to use it first."""


ASK_WAIT = 600.0
"""Seconds that an agent waits for an answer, unless a setting says otherwise."""


class Config(StrictWireModel):
    """Every setting of a run."""

    profile: ProfileName = ProfileName.FIXPLAN
    """The preset for what is not set elsewhere. Unset: the one that fits the repository."""
    agent: str = "claude"
    """The agent: a known one such as ``claude``, or the name of a table under ``agents``."""
    agents: dict[str, AgentConfig] = Field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    """Agents that take over, in this order, if the run's agent is unavailable: not logged in, at
    its usage limit, its model unreachable for all of ``retry``, or failed three iterations in a
    row."""
    tools: ToolsConfig | None = None
    max_iterations: int | None = Field(default=None, ge=1)
    """Iterations per run. Unset: no limit."""
    max_duration: Duration | None = None
    """Time per run, without the time it waits for you. Unset: no limit."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Tokens per run, in and out, as the agent reports them. Unset: no limit."""
    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars per run, as the agent reports them. Unset: no limit."""
    allow_unmetered: bool | None = None
    """Whether a run with a limit in tokens or US dollars starts though the agent does not report
    its use; otherwise it is refused."""
    max_tokens_per_iteration: int | None = Field(default=None, ge=1)
    """Tokens per iteration, in and out, after which its agent is stopped. Unset: no limit."""
    max_cost_per_iteration_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars per iteration, as the agent reports them. Unset: no limit."""
    max_calls_per_minute: int | None = Field(default=None, ge=1)
    """Agent turns per minute before the next iteration starts. Unset: no limit."""
    min_iterations: int = Field(default=0, ge=0)
    """Iterations before a completion is accepted."""
    max_confirmations: int = Field(default=1, ge=0, exclude_if=lambda number: number == 1)
    """Iterations that only confirm that no required task is open, if the gate's signal is missing;
    0 completes without one. A confirmation that fails, asks or reports failing tests is repeated
    and does not count."""
    max_stuck: int | None = Field(default=None, ge=1)
    """Iterations in a row without a commit after which the run ends. Unset: no limit."""
    keep_running: tuple[str, ...] = Field(
        default=DAEMONS, exclude_if=lambda names: names == DAEMONS
    )
    """Programs that keep running after the agent that started them has ended: daemons that other
    work uses too. The log names them; everything else is ended."""
    cooldown: Duration = 0.0
    """Pause between two iterations."""
    limit_wait: Duration = 300.0
    """How long to wait at the agent's usage limit, if it does not report when that resets."""
    max_wait: Duration = Field(default=LONGEST_WAIT, exclude_if=lambda wait: wait == LONGEST_WAIT)
    """How long to wait in a row for a usage limit, or an overloaded or unreachable model. A wait
    that would be longer ends the run, which can be resumed later; 0 for no limit."""
    retry: RetryConfig = RetryConfig.model_construct()
    run: RunConfig = Field(
        default=RunConfig.model_construct(), exclude_if=lambda run: run == RunConfig()
    )
    context_window: int | None = Field(default=None, ge=1)
    """Context window of the agent's model in tokens, for the notices at 50, 70 and 90 %, if the
    agent does not report it. Unset: what is known of the model, else 200000."""
    prices: dict[str, PriceConfig] = Field(default_factory=dict)
    """Prices of models whose agents report no cost, by model. A name matches every model that
    begins with it; ``*`` matches any text and ``?`` any character."""
    timeouts: TimeoutsConfig = TimeoutsConfig.model_construct()
    on_timeout: OnTimeout = OnTimeout.CONTINUE
    on_blocked: OnBlocked = OnBlocked.OPEN
    on_halt: OnHalt | None = None
    """What a run does when it needs you. Unset: ``exit`` in a terminal, ``wait`` when detached."""
    mcp: ToolOffer = Field(default=ToolOffer.ON, exclude_if=lambda offer: offer is ToolOffer.ON)
    """Whether agents are offered tools (``ralph mcp``), by which they report and ask instead of in
    words."""
    ask_wait: Duration = Field(default=ASK_WAIT, exclude_if=lambda seconds: seconds == ASK_WAIT)
    """How long an agent that asks by tool waits for your answer, if the run waits for you; its time
    limits are held meanwhile. Then it ends its turn, and the run waits as usual."""
    mode: FirstMode | None = None
    """What a run starts with. Unset: ``build``."""
    task: str | None = None
    """Work on this task alone, by its id or title."""
    plan_when_stuck: bool = False
    """Whether to plan once more when only tasks that were set aside are left."""
    optional_sections: tuple[str, ...] = ()
    """Headings of the plan whose tasks are optional: the heading itself, with a word such as "work"
    or "ideas" after it, or in brackets after another heading."""
    optional: OptionalTasks | None = None
    """What happens to the tasks in optional sections. Unset: ``skip``."""
    skip_review: bool = False
    """Whether stories pass without a review."""
    review_cap: int = Field(default=5, ge=1)
    """The review in which a story is approved, whatever it finds."""
    on_validate_fail: OnValidateFail = OnValidateFail.STOP
    max_repairs: int = Field(default=3, ge=1)
    """Repairs in a row after which a run with ``on_validate_fail = "repair"`` ends."""
    judge: JudgeConfig = Field(
        default=JudgeConfig.model_construct(), exclude_if=lambda judge: judge == JudgeConfig()
    )
    verify: bool = False
    """Whether the commands in the criteria of a finished task are run, if they are approved."""
    logs: LogsConfig = LogsConfig.model_construct()
    state: StateConfig = Field(
        default=StateConfig.model_construct(), exclude_if=lambda limits: limits == StateConfig()
    )
    commits: Committer = Committer.AGENT
    push: bool = False
    """Whether the loop pushes the branch after each iteration."""
    parallel: int | None = Field(
        default=None, ge=1, le=64, exclude_if=lambda number: number is None
    )
    """Number of tasks worked on side by side, each in a separate work tree. Unset: one at a time,
    in yours."""
    lane: LaneConfig = Field(
        default=LaneConfig.model_construct(), exclude_if=lambda lane: lane == LaneConfig()
    )
    work_branch: Annotated[str, AfterValidator(names_a_branch)] | None = None
    """The branch that a run works on; ``auto`` makes ``ralph/<date>-<task>``, and the run switches
    back at its end. Unset: the current branch."""
    commit_receipt: bool = False
    """Whether the loop's commit of a finished task has a trailer ``Ralph-Receipt`` with the
    iterations, time, tokens and cost of the task."""
    breaker: BreakerConfig = BreakerConfig.model_construct()
    progress: ProgressConfig = ProgressConfig.model_construct()
    gate: GateConfig = GateConfig.model_construct()
    promise: PromiseConfig = PromiseConfig.model_construct()
    attempts: AttemptsConfig = AttemptsConfig.model_construct()
    session: SessionConfig = SessionConfig.model_construct()
    review_points: ReviewPointsConfig = ReviewPointsConfig.model_construct()
    guard: GuardConfig = GuardConfig.model_construct()
    paths: PathsConfig = PathsConfig.model_construct()
    issue: IssueConfig = IssueConfig.model_construct()
    lessons: LessonsConfig = Field(
        default=LessonsConfig.model_construct(),
        exclude_if=lambda lessons: lessons == LessonsConfig(),
    )
    notify: NotifyConfig = Field(
        default=NotifyConfig.model_construct(), exclude_if=lambda notify: notify == NotifyConfig()
    )
    on_pr_ready: tuple[str, ...] = ()
    """Program and arguments to run when a run is complete and the agent reports PR_READY."""
    env: EnvConfig = EnvConfig.model_construct()
    models: ModelsConfig = ModelsConfig.model_construct()
    sandbox: SandboxConfig = SandboxConfig.model_construct()
    beads: BeadsConfig = BeadsConfig.model_construct()
    plan: PlanConfig = Field(
        default=PlanConfig.model_construct(), exclude_if=lambda plan: plan == PlanConfig()
    )

    @model_validator(mode="before")
    @classmethod
    def _from_old_keys(cls, given: Any) -> Any:
        return with_new_keys(given) if isinstance(given, dict) else given
