"""``ralph hook`` and ``ralph mcp``: called by an agent's program."""

from __future__ import annotations

from typing import Annotated

from ralph_ls.cli.mcp_server import serve
from ralph_ls.cli.parameters import argument
from ralph_ls.cli.stop_hook import answer_stop
from ralph_ls.protocol.errors import UsageError


def hook_verb(
    event: Annotated[str, argument("stop", "The event: stop.")],
) -> None:
    """Answer an agent's program that asks before its agent stops (a stop hook)."""
    if event != "stop":
        raise UsageError(f"there is no hook {event!r}; there is: ralph hook stop")
    answer_stop()


def mcp_verb() -> int:
    """Serve the tools of the open iteration to an agent (Model Context Protocol, stdio)."""
    return serve()
