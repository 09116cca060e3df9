"""The settings of a run: the one source of the config schema and of the editor's settings block.

Keys are snake_case in ``.ralph/config.toml`` and camelCase in JSON. An unknown key is an error.
Values that a profile fills in stand in ``core.loop.profiles``; here are only names, types, bounds.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ralph_ls.protocol.base import StrictWireModel

CONFIG_FILE = ".ralph/config.toml"
"""Where the settings of a work tree lie, relative to its root (SPEC §4)."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def to_seconds(value: object) -> object:
    """Read ``"30m"``, ``"1h30m"``, ``"90"`` or a number as seconds; anything else stays as it is.

    Raises ValueError for a text that is no duration, and for true and false.
    """
    if isinstance(value, bool):
        raise ValueError("a duration is a number of seconds, or a text such as 30m")
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    total, position = 0.0, 0
    while match := _DURATION.match(text, position):
        if match[2] is None and match[0].strip() != text:
            break  # Only a number alone needs no unit: nobody can tell what 1h30 means.
        total += float(match[1]) * _UNIT_SECONDS[match[2] or "s"]
        position = match.end()
    if not text or position != len(text):
        raise ValueError(f"{value!r} is no duration; write 30m, 90s or 1h30m")
    return total


def _inside_the_tree(path: str) -> str:
    """The path with single slashes and no dots; raises ValueError where it leaves the tree."""
    names = re.split(r"[/\\]", path)
    kept = [name for name in names if name not in {"", "."}]
    leaves = not kept or path[0] in "/\\~" or ".." in kept or ":" in names[0]
    if leaves or _CONTROL.search(path):
        raise ValueError(f"{path!r} must be a path inside the work tree")
    # Windows drops dots and spaces at the end of a name, and knows .git by a short name as well.
    if any(name.rstrip(". ").lower() in {".git", "git~1"} for name in kept):
        raise ValueError(f"{path!r} lies in git's own folder; name another path")
    return "/".join(kept)


_DurationInput = (
    Annotated[float, Field(ge=0)]
    # What ``to_seconds`` takes, in the words of a schema.
    | Annotated[str, Field(pattern=r"^\s*(\d+(\.\d+)?|(\d+(\.\d+)?\s*([Mm]?[Ss]|[MmHhDd]))+)\s*$")]
)

Duration = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False),
    BeforeValidator(to_seconds, json_schema_input_type=_DurationInput),
]
"""Seconds; ``30m``, ``90s``, ``1h30m`` are understood."""

TreePath = Annotated[str, AfterValidator(_inside_the_tree)]
"""A path relative to the work tree's root that does not leave it."""


class ProfileName(StrEnum):
    """SPEC §3: the presets."""

    SPEC = "spec"
    FIXPLAN = "fixplan"
    STORIES = "stories"
    BEADS = "beads"
    ISSUE = "issue"


class OnHalt(StrEnum):
    """SPEC §7, exit or park."""

    EXIT = "exit"
    WAIT = "wait"


class OnTimeout(StrEnum):
    """What an iteration that ran out of time means for the run (SPEC §3)."""

    CONTINUE = "continue"
    STOP = "stop"


class PromptBy(StrEnum):
    """How the prompt reaches a ``command`` agent (SPEC §4)."""

    STDIN = "stdin"
    ARGUMENT = "argument"
    FILE = "file"


class Dialect(StrEnum):
    """How an agent writes what it prints."""

    TEXT = "text"
    """Plain text: all of it is the agent's words."""
    CLAUDE = "claude"
    """JSON lines, as ``claude -p --output-format stream-json --verbose`` writes them."""


class EvidenceKind(StrEnum):
    """What counts as progress (SPEC §6)."""

    COMMITS = "commits"
    WORKTREE = "worktree"
    TASKS = "tasks"
    DECLARED = "declared"


class LogForm(StrEnum):
    """How the agent's log for people is cut (SPEC §3)."""

    RUN = "run"
    """One file a run, in S's frames."""
    ITERATION = "iteration"
    """One ``iteration-NNN.log`` an iteration (R §4)."""


class AgentConfig(StrictWireModel):
    """How one agent is started."""

    argv: tuple[str, ...] = ()
    """Program and arguments; ``{prompt}`` and ``{prompt_file}`` are replaced where they stand."""
    prompt: PromptBy = PromptBy.STDIN
    env: dict[str, str] = Field(default_factory=dict)
    """Added to the agent's environment."""
    model: str | None = None
    """The model, for an agent that takes one; None: the agent's own choice."""
    dialect: Dialect | None = None
    """How its output is to be read; None: as that agent writes it, plain text for any other."""


class ToolsConfig(StrictWireModel):
    """What the agent may use, in the agent's own names of tools; they become its flags."""

    allow: tuple[str, ...] | None = None
    """When given, these and no others; None: everything, without asking."""
    deny: tuple[str, ...] | None = None
    """Never these."""


class BreakerConfig(StrictWireModel):
    """The breaker's thresholds, in consecutive iterations; 0 switches a row off (SPEC §6)."""

    enabled: bool = True
    no_progress_half_open: int = Field(default=2, ge=0)
    no_progress_open: int = Field(default=3, ge=0)
    same_error_open: int = Field(default=5, ge=0)
    same_error_warn: int = Field(default=3, ge=0)
    failing_tests_open: int = Field(default=5, ge=0)
    refused_completions_open: int = Field(default=3, ge=0)
    blocked_opens: bool = True
    """STATUS BLOCKED opens the breaker at once (``fixplan``, ``issue``)."""


class ProgressConfig(StrictWireModel):
    """What is progress."""

    evidence: tuple[EvidenceKind, ...] = (
        EvidenceKind.COMMITS,
        EvidenceKind.WORKTREE,
        EvidenceKind.TASKS,
    )


class GateConfig(StrictWireModel):
    """When the run is complete."""

    indicators: int = Field(default=2, ge=1)
    """Completion indicators wanted beside EXIT_SIGNAL (I, Dual-Condition Exit Gate)."""
    complete_word: Annotated[str, Field(pattern=r"^[A-Z0-9_]+$")] = "COMPLETE"
    """The word inside ``<promise>…</promise>`` that says complete (SPEC §5)."""


class PathsConfig(StrictWireModel):
    """Where the loop's own files lie in the work tree."""

    plan: TreePath | None = None
    """The plan; looked for by the profile where it is not given."""
    decide: TreePath = ".ralph/decide.txt"
    blocked: TreePath = ".ralph/blocked.txt"
    logs: TreePath = ".ralph/logs"
    validate_script: TreePath = ".ralph/validate.sh"
    prompts: TreePath = ".ralph/prompts"
    progress: TreePath = "PROGRESS.md"

    @model_validator(mode="after")
    def _keep_apart(self) -> PathsConfig:
        """What the loop writes must not stand where something else does, and be lost for it."""
        keys: dict[str, str] = {CONFIG_FILE: "the settings"}
        for key in ("plan", "decide", "blocked", "logs", "validate_script", "prompts"):
            path: str | None = getattr(self, key)
            if path is not None and keys.setdefault(path, key) != key:
                raise ValueError(f"{key} and {keys[path]} are both {path!r}; keep them apart")
        return self


class EnvConfig(StrictWireModel):
    """The agent's environment."""

    only: tuple[str, ...] | None = None
    """When given, an allow list of the variables that are passed on (SPEC §10)."""


class Config(StrictWireModel):
    """Every setting of a run."""

    profile: ProfileName = ProfileName.FIXPLAN
    agent: str = "claude"
    """``claude``, ``demo``, ``command``, or the name of a table under ``agents``."""
    agents: dict[str, AgentConfig] = Field(default_factory=dict)
    tools: ToolsConfig | None = None
    max_iterations: int | None = Field(default=None, ge=1)
    """None is unlimited."""
    max_duration: Duration | None = None
    """Seconds of engine time without parking; None is unlimited."""
    min_iterations: int = Field(default=0, ge=0)
    max_stuck: int | None = Field(default=None, ge=1)
    """Iterations in a row without a commit that end the run with 4 (R §2); None is off."""
    timeout: Duration = 1800.0
    """Seconds an iteration may take; 0 is none."""
    idle_timeout: Duration = 0.0
    """Seconds an agent may print nothing; 0 is none."""
    cooldown: Duration = 0.0
    """Seconds between two iterations."""
    on_timeout: OnTimeout = OnTimeout.CONTINUE
    on_halt: OnHalt | None = None
    """None: exit in the foreground, wait when detached."""
    task: str | None = None
    """Only this task."""
    optional_sections: tuple[str, ...] = ()
    validate_timeout: Duration = 600.0
    log_form: LogForm = LogForm.RUN
    breaker: BreakerConfig = BreakerConfig()
    progress: ProgressConfig = ProgressConfig()
    gate: GateConfig = GateConfig()
    paths: PathsConfig = PathsConfig()
    env: EnvConfig = EnvConfig()
