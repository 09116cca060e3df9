"""The kinds of value that settings have: durations, signal words, paths inside the work tree.

Settings of plans that ``bd`` keeps; apart from ``protocol.config``, which holds them all.

Which model, or which agent, gets an iteration: the table ``[models]``.

Models are called as the agent calls them. It must never know which agents or models there are.

The table ``[prices."MODEL"]``: what a model costs whose agent does not tell it.

The settings of ``retry``: how long an overloaded model is waited for.

The settings of ``review_points``: where a run holds until a person has looked.

The settings of ``state``: how much of earlier runs is kept, with sizes such as ``5 GB``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.plan import names_a_repository

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def to_seconds(value: object) -> object:
    """Read ``"30m"``, ``"1h30m"``, ``"90"`` or a number as seconds; anything else stays as it is.

    Raises ValueError for a text that is not a duration, and for true and false.
    """
    if isinstance(value, bool):
        raise ValueError("write a duration such as 30m, 90s or 1h30m, or a number of seconds")
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    total, position = 0.0, 0
    while match := _DURATION.match(text, position):
        if match[2] is None and match[0].strip() != text:
            break  # Only a number alone needs no unit: 1h30 is ambiguous.
        total += float(match[1]) * _UNIT_SECONDS[match[2] or "s"]
        position = match.end()
    if not text or position != len(text):
        raise ValueError(f"{value!r} is not a duration; write 30m, 90s or 1h30m")
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
        raise ValueError(f"{path!r} is in git's own folder; choose another path")
    return "/".join(kept)


_DurationInput = (
    Annotated[float, Field(ge=0)]
    # What ``to_seconds`` takes, in the words of a schema.
    | Annotated[str, Field(pattern=r"^\s*(\d+(\.\d+)?|(\d+(\.\d+)?\s*([Mm]?[Ss]|[MmHhDd]))+)\s*$")]
)

LONGEST_DURATION = 366 * 86400.0
"""A year: what is longer is a slip, and soon later than any calendar goes."""

Duration = Annotated[
    float,
    Field(ge=0, le=LONGEST_DURATION, allow_inf_nan=False),
    BeforeValidator(to_seconds, json_schema_input_type=_DurationInput),
]
"""Seconds; ``30m``, ``90s``, ``1h30m`` are understood."""

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]?i?b)", re.ASCII)
_UNIT_BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}


def to_bytes(value: object) -> object:
    """Read ``"5 GB"``, ``"512MiB"`` or a number as bytes; anything else stays as it is.

    Raises ValueError for a text that is no size, and for true and false.
    """
    if isinstance(value, bool):
        raise ValueError("write a size such as 5 GB, or a number of bytes")
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    if re.fullmatch(r"\d+", text, re.ASCII):
        return int(text)
    found = _SIZE.fullmatch(text)
    if found is None or found[2] not in _UNIT_BYTES:
        raise ValueError(f"{value!r} is not a size; write 5 GB, 500 MB or a number of bytes")
    return int(float(found[1]) * _UNIT_BYTES[found[2]])


_SizeInput = (
    Annotated[int, Field(ge=0)]
    # What ``to_bytes`` takes, in the words of a schema.
    | Annotated[str, Field(pattern=r"^\s*(\d+|\d+(\.\d+)?\s*([KkMmGgTt][Ii]?)?[Bb])\s*$")]
)

Size = Annotated[
    int,
    Field(ge=0, le=1 << 60),
    BeforeValidator(to_bytes, json_schema_input_type=_SizeInput),
]
"""Bytes; ``5 GB``, ``500 MB``, ``2 GiB`` are understood."""

SignalWord = Annotated[str, Field(pattern=r"^[A-Z0-9_]+$")]
"""A word that agents give as a signal."""

TreePath = Annotated[str, AfterValidator(_inside_the_tree)]
"""A path relative to the work tree's root that does not leave it."""


IssueId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
"""The id of an issue, which never looks like a flag."""


def names_a_branch(text: str) -> str:
    """The text as it is; raises ValueError where no branch can have that name."""
    if text and not _BRANCH.fullmatch(text):
        raise ValueError(f"{text!r} cannot be the name of a branch; write auto, or such as my-work")
    return text


_BRANCH = re.compile(
    r"(?!-)(?!.*(?:\.\.|//|/\.|@\{|\.lock(?:/|$)))(?!\.)"
    r"[^\x00-\x20\x7f~^:?*\[\\]{0,199}[^\x00-\x20\x7f~^:?*\[\\./]"
)
"""Names that ``git check-ref-format`` takes, up to a length that all file systems take."""


class LaneConfig(StrictWireModel):
    """How tasks are worked on side by side: the work tree of each, and where it is merged."""

    setup: tuple[str, ...] = ()
    """Command that prepares each work tree, such as npm ci. It runs without a shell, and only after
    you have approved it."""
    files: tuple[TreePath, ...] = ()
    """Files that git ignores and each work tree gets a copy of, such as .env."""
    onto: Annotated[str, AfterValidator(names_a_branch)] | None = None
    """Branch to merge into. Unset: ralph/session-RUN."""
    direct: bool = False
    """Merge into the branch that is checked out, which moves forward with each task."""


class BeadsConfig(StrictWireModel):
    """Which issues of ``bd`` a run works on."""

    parent: IssueId | None = None
    """Only this issue's children and their children. Unset: all issues."""


def _names_a_repository(text: str) -> str:
    """The text as it is; raises ValueError where it names no repository on GitHub."""
    if not names_a_repository(text):
        raise ValueError(f"{text!r} is no repository; write owner/name")
    return text


def _or_none(value: object) -> object:
    """Nothing for an empty text, which is how a flag takes a setting back."""
    return None if value == "" else value


IssueLabel = Annotated[
    Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f,]+$")] | None,
    BeforeValidator(_or_none),
]
"""The name of a label or milestone; GitHub separates several by commas."""

Login = Annotated[
    Annotated[str, Field(pattern=r"^(@me|[A-Za-z0-9][A-Za-z0-9_-]{0,99})$")] | None,
    BeforeValidator(_or_none),
]
"""An account on GitHub, or ``@me``."""


class GithubQueueConfig(StrictWireModel):
    """Which issues on GitHub are the plan, and whether Ralph may write to them."""

    label: IssueLabel = None
    """Only issues with this label. Unset, and no milestone either: ``ralph``."""
    milestone: IssueLabel = None
    """Only issues in this milestone, by its title."""
    assignee: Login = None
    """Only issues assigned to this account; ``@me`` is yours. Unset: issues of nobody and yours."""
    write: bool = False
    """Whether Ralph writes to issues: it assigns them to you, comments, and closes them once their
    commit is on the default branch. Only in your own file or the environment."""
    claim_label: IssueLabel = None
    """The label that marks an issue as being worked on, instead of assigning it to you. Only with
    ``write``."""
    repository: Annotated[str, AfterValidator(_names_a_repository)] | None = None
    """The repository with the issues, ``owner/name``. Unset: that of the git remote. Only in your
    own file or the environment."""

    @property
    def is_chosen(self) -> bool:
        """Whether the settings name a queue."""
        return self.label is not None or self.milestone is not None


class PlanConfig(StrictWireModel):
    """Plans of which a repository has several in one place."""

    tag: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The tag of Task Master that is the plan. Unset: its current one."""
    github: GithubQueueConfig = GithubQueueConfig.model_construct()


ModelName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^-\s]\S*$")]
"""Nothing that an agent could take for a flag."""


class ModelChoice(StrictWireModel):
    """Who gets an iteration: another agent, another model, or both."""

    agent: str | None = Field(default=None, min_length=1)
    """The agent's name. Unset: the run's agent."""
    model: ModelName | None = None
    """The model. Unset: the one in the agent's settings, or the agent's choice."""

    @model_validator(mode="after")
    def _chooses(self) -> ModelChoice:
        if self.agent is None and self.model is None:
            raise ValueError("the table is empty; give it an agent, a model, or both")
        return self


Chosen = ModelName | ModelChoice
"""A model of the run's own agent by its name alone, or a table with ``agent`` and ``model``."""


class ModelsByMode(StrictWireModel):
    """By what an iteration is for."""

    plan: Chosen | None = None
    """For iterations that write the plan."""
    build: Chosen | None = None
    """For iterations that work on a task."""
    review: Chosen | None = None
    """For iterations that review a story."""
    review_fix: Chosen | None = None
    """For iterations that fix what a review found."""


class ModelsByPriority(StrictWireModel):
    """By the priority of the task; one that has none counts as standard."""

    high: Chosen | None = None
    """For tasks of priority P0."""
    standard: Chosen | None = None
    """For tasks of priority P1."""
    low: Chosen | None = None
    """For tasks of priority P2, and nice to have."""


class ModelsConfig(StrictWireModel):
    """Which model gets an iteration; the first of these that fits: every, tag, mode, priority."""

    every: ModelName | None = None
    """For every iteration, before all rules below; the same as ``--model``."""
    tag: dict[str, Chosen] = Field(default_factory=dict)
    """By a tag of the task: ``[simple]`` or ``#simple`` in the plan, a label or type in ``bd``."""
    mode: ModelsByMode = ModelsByMode.model_construct()
    priority: ModelsByPriority = ModelsByPriority.model_construct()

    def others(self) -> tuple[ModelChoice, ...]:
        """Every rule but ``every``, in the order of its table."""
        rules = [
            *self.tag.values(),
            *(getattr(self.mode, name) for name in ModelsByMode.model_fields),
            *(getattr(self.priority, name) for name in ModelsByPriority.model_fields),
        ]
        return tuple(as_choice(rule) for rule in rules if rule is not None)


def as_choice(rule: Chosen) -> ModelChoice:
    """A rule as a table."""
    return ModelChoice(model=rule) if isinstance(rule, str) else rule


class JudgeWhen(StrEnum):
    """When work is judged."""

    OFF = "off"
    """Never."""
    TASK = "task"
    """When a task is done, and a request when its agent says so."""
    COMPLETION = "completion"
    """When the run would be complete."""


class JudgeConfig(StrictWireModel):
    """An independent look at finished work by an agent with a fresh context, which can only read.

    It comes after the validation. Work for which it requests changes is open again.
    """

    when: JudgeWhen = JudgeWhen.OFF
    """When work is judged; ``off`` for never. The profile ``stories`` has its own reviews."""
    agent: str | None = Field(default=None, min_length=1)
    """The agent that judges, from its name in ``agents`` or a known one. Unset: the run's agent."""
    model: ModelName | None = None
    """Its model. Unset: the one in the agent's settings, or the agent's choice."""
    max_rounds: int = Field(default=3, ge=1)
    """Requests for changes in a row after which the run is stuck and waits for you."""
    timeout: Duration = 600.0
    """How long it may take; 0 for no limit."""
    max_diff: Size = 200_000
    """Size of the diff that it gets; files that do not fit are named, and it can read them."""

    @property
    def is_on(self) -> bool:
        """Whether work is judged at all."""
        return self.when is not JudgeWhen.OFF


class PriceConfig(StrictWireModel):
    """US dollars for a million tokens of one model."""

    input: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Dollars for input that came from no cache."""
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars for input that came from a cache. Unset: as ``input``."""
    output: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Dollars for output."""


_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def clock_minutes(text: str) -> int | None:
    """The minute of the day in ``07:00``; None for anything else."""
    found = _CLOCK.fullmatch(text.strip())
    return None if found is None else int(found[1]) * 60 + int(found[2])


def _names_a_clock_time(text: str) -> str:
    """The text as it is; raises ValueError where it is neither empty nor a time of day."""
    if text and clock_minutes(text) is None:
        raise ValueError(f'{text!r} is not a time of day; write such as "07:00"')
    return text


ClockTime = Annotated[str, AfterValidator(_names_a_clock_time)]
"""A time of day, such as ``07:00``, or an empty text."""


class RunConfig(StrictWireModel):
    """When a run may work."""

    until: ClockTime = ""
    """Local time after which no iteration begins, such as ``07:00``: the next one after the run
    starts or is resumed. A wait that would pass it ends the run. Empty: none."""


class RetryConfig(StrictWireModel):
    """Waits while the agent's model is overloaded or unreachable; each is twice the one before."""

    tries: int = Field(default=10, ge=0)
    """Waits in a row after which it counts as a crash; 0: at once."""
    first: Duration = 10.0
    """The first wait."""
    longest: Duration = 300.0
    """The longest wait."""


class ReviewPointsConfig(StrictWireModel):
    """When the run stops for your review."""

    every: int = Field(default=0, ge=0)
    """After this many iterations each; 0 for never."""
    after_tasks: tuple[str, ...] = ()
    """After each of these tasks, by id or title."""


class LessonsConfig(StrictWireModel):
    """Lessons of earlier runs in the prompt: those that you accepted and that fit the task."""

    max_tokens: int = Field(default=800, ge=0, le=20_000)
    """Estimated tokens of a prompt that lessons may take; 0 leaves all of them out."""
    stale_days: int = Field(default=90, ge=1)
    """Days without a use after which a lesson is proposed for removal."""


class StateConfig(StrictWireModel):
    """How much of earlier runs is kept: older output is removed when a run starts.

    The last run is kept whole, and the journal, numbers and summary of every run.
    """

    keep_days: int = Field(default=90, ge=0)
    """Days that the output of a run is kept; 0: forever."""
    max_bytes: Size = 5_000_000_000
    """Size of all runs above which the output of the oldest is removed; 0 for no limit."""
