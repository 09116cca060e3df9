"""Everything the user may ask of a run: imperative, strict, put into the inbox."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from ralph_ls.protocol.base import DEFERRED, StrictWireModel, Timestamp

MAX_TEXT = 100_000
"""Characters of an answer or a note; a longer one is refused, never cut."""

TaskId = Annotated[str, Field(min_length=1, max_length=200)]
"""The id of a task as the plan's rows have it."""


class Asker(StrictWireModel):
    """The process that asks: the engine checks whether one of its iterations has started it."""

    pid: int = Field(ge=1)
    start_time: float
    """Seconds since the epoch as the system reports it, to recognise a pid that was used again."""


class CommandBase(StrictWireModel):
    """What every command carries."""

    id: str = Field(pattern=r"^[A-Za-z0-9-]{8,64}$")
    """Chosen by the asker, unique; also the name of the inbox file."""
    run: str
    """The run that is meant; one for another run is rejected."""
    at: Timestamp
    by: str = Field(min_length=1, max_length=200)
    """Who asked, in words for the user: ``ralph stop``, ``Neovim``."""
    asker: Asker | None = None
    """The process that asks, which waits for the answer; without one the command is refused."""


class Stop(CommandBase):
    """End the run: after this iteration, or at once together with the agent."""

    kind: Literal["stop"] = "stop"
    now: bool = False


class Pause(CommandBase):
    """Hold the run after settling."""

    kind: Literal["pause"] = "pause"


class Resume(CommandBase):
    """Continue after a pause; resolves a blocker that the run is parked on."""

    kind: Literal["resume"] = "resume"


class Reset(CommandBase):
    """Close the breaker and zero its counters."""

    kind: Literal["reset"] = "reset"


class Answer(CommandBase):
    """Answer the open question."""

    kind: Literal["answer"] = "answer"
    text: str = Field(min_length=1, max_length=MAX_TEXT, pattern=r"\S")
    untrusted: bool = Field(default=False, exclude_if=lambda untrusted: not untrusted)
    """It came from elsewhere, such as GitHub: the agent gets it as quoted text of its author."""


class Note(CommandBase):
    """Send a note to the loop; it goes into the next prompt."""

    kind: Literal["note"] = "note"
    text: str = Field(min_length=1, max_length=MAX_TEXT, pattern=r"\S")


class Skip(CommandBase):
    """Take a task no more in this run; the plan is not edited."""

    kind: Literal["skip"] = "skip"
    task: TaskId


class ResetTask(CommandBase):
    """Forget a task's attempts and stop skipping it; the asker edits the plan."""

    kind: Literal["resetTask"] = "resetTask"
    task: TaskId


class Overrule(CommandBase):
    """Accept work for which a judge requested changes; the asker closes its tasks in the plan."""

    kind: Literal["overrule"] = "overrule"
    task: TaskId | None = None
    """Unset: all that a judge requests."""


class Approval(StrictWireModel):
    """One thing that may be executed as it is now."""

    key: str = Field(min_length=1, max_length=MAX_TEXT)
    """As in what ``ralph allow --json`` shows."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Allow(CommandBase):
    """Let the run use what the user has just approved; it reads approvals at its start alone."""

    kind: Literal["allow"] = "allow"
    approvals: Annotated[tuple[Approval, ...], Field(min_length=1, max_length=10_000)]


Command = Annotated[
    Stop | Pause | Resume | Reset | Answer | Note | Skip | ResetTask | Overrule | Allow,
    Field(discriminator="kind"),
]
"""The closed union of commands."""

COMMAND_ADAPTER: TypeAdapter[Command] = TypeAdapter(Command, config=DEFERRED)
COMMAND_TYPES: tuple[type[CommandBase], ...] = (
    Stop,
    Pause,
    Resume,
    Reset,
    Answer,
    Note,
    Skip,
    ResetTask,
    Overrule,
    Allow,
)
