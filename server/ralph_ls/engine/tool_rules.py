"""What a start reports of the lists of tools that an agent is given."""

from __future__ import annotations

from ralph_ls.core.agent.allowed_tools import writing_commands
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.protocol.config.config import Config

SHOWN = 3


def tell_writing_tools(config: Config) -> tuple[Notice, ...]:
    """That a list which seems to read only lets the agent write."""
    ways = writing_commands(() if config.tools is None else config.tools.allow or ())
    if not ways:
        return ()
    named = ", ".join(f"{word} ({way})" for word, way in ways[:SHOWN])
    message = (
        f"tools.allow has no tool that writes, but lets the agent write by a command: {named}; "
        "leave commands out for an agent that must only read, or put it into a sandbox"
    )
    return (Notice(code="tools-may-write", message=message),)
