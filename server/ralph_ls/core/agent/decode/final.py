"""What is left of an agent's stream when it has ended: the facts that the loop goes on with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ralph_ls.protocol.messages import Message
from ralph_ls.protocol.report import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The agent's account is at its limit, says its own structured output (SPEC §5 "Limits")."""

    resets_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """A decoded stream as a whole; for plain text only ``text`` is known."""

    text: str = ""
    """The final text of the main agent, as it came: signals are read from it and nothing else."""
    earlier: str = ""
    """The last text before it that holds a status block, else empty."""
    errors: tuple[str, ...] = ()
    """Lines of error events and of tool results that the stream marks as failed."""
    usage: Usage | None = None
    session_cost_usd: float | None = None
    """The cost of the whole session, with what it had before it was resumed."""
    session_id: str | None = None
    model: str | None = None
    failed: bool = False
    """The agent says that it failed, or its stream has no end."""
    why: str = ""
    """How it failed, in words; empty where it did not."""
    denied_tools: tuple[str, ...] | None = None
    """A tool's name for each call that was not permitted; None where the stream cannot tell."""
    limit: Limit | None = None


class Decoder(Protocol):
    """Reads the standard output of one agent process."""

    def feed(self, data: bytes) -> list[Message]:
        """Take the next bytes; give the messages that they complete."""
        ...

    def finish(self) -> list[Message]:
        """Give what a last line without an end holds; idempotent."""
        ...

    def final(self) -> Final:
        """What the stream comes to, as far as it was read."""
        ...
