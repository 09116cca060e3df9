"""What is left of an agent's stream when it has ended: the facts that the loop goes on with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Protocol

from ralph_ls.protocol.run.report import AgentFailure, Usage

if TYPE_CHECKING:
    # The loop and its viewers deal with what is left alone, and need not wait for the decoders.
    from ralph_ls.core.agent.decode.told import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The agent's account is at its limit, says its own structured output (SPEC §5 "Limits").

    At most one of the three is known. What is none of a moment on its own becomes one by the time
    at which it was told: see ``reset_of``.
    """

    resets_at: datetime | None = None
    """With its time zone."""
    resets_in: float | None = None
    """Seconds from when the agent said so."""
    resets_locally: datetime | time | None = None
    """By the clock on the wall where the agent ran: without a zone, perhaps without a day."""


def reset_of(limit: Limit, told_at: datetime) -> datetime | None:
    """When the limit is lifted; None where the agent did not say.

    ``told_at`` is when it said so, in the time zone in which it ran. A time without a day is the
    next such time.
    """
    told = limit.resets_locally
    if isinstance(told, datetime):
        return told.replace(tzinfo=told_at.tzinfo)
    if told is not None:
        moment = datetime.combine(told_at.date(), told, told_at.tzinfo)
        return moment if moment > told_at else moment + timedelta(days=1)
    if limit.resets_in is not None:
        return told_at + timedelta(seconds=limit.resets_in)
    return limit.resets_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """A decoded stream as a whole; for plain text only ``text`` is known."""

    text: str = ""
    """The final text of the main agent, as it came: signals are read from it and nothing else."""
    earlier: str = ""
    """The last text before it that holds a status block, else empty."""
    asked: str = ""
    """What the agent asked through a tool of its own, where it did nothing more after that."""
    errors: tuple[str, ...] = ()
    """Lines of error events and of tool results that the stream marks as failed."""
    usage: Usage | None = None
    """Of this process alone; input tokens are those that no cache gave."""
    session_cost_usd: float | None = None
    """The cost of the whole session, with what it had before it was resumed."""
    session_usage: Usage | None = None
    """The counts of the whole session, where that is how the agent counts."""
    session_id: str | None = None
    model: str | None = None
    failed: bool = False
    """The agent says that it failed, or its stream has no end."""
    why: str = ""
    """How it failed, in words; empty where it did not."""
    failure: AgentFailure | None = None
    """Which failure that is, by the agent's own structured output; None where it does not say."""
    denied_tools: tuple[str, ...] | None = None
    """A tool's name for each call that was not permitted; None where the stream cannot tell."""
    limit: Limit | None = None


class Decoder(Protocol):
    """Reads the standard output of one agent process."""

    def feed(self, data: bytes) -> list[Told]:
        """Take the next bytes; give the messages that they complete."""
        ...

    def finish(self) -> list[Told]:
        """Give what a last line without an end holds; idempotent."""
        ...

    def final(self) -> Final:
        """What the stream comes to, as far as it was read."""
        ...
