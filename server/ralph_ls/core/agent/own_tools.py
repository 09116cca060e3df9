"""Calls of the iteration's own tools, as agents' streams show them (docs/rules.md#tools).

Each agent puts the server's name in front of a tool in its own way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ralph_ls.protocol.run.agent_tools import SERVER, ReportTool

MOST_KEPT = 500
"""Calls of sub-agents that are remembered."""

_NAME = re.compile(
    rf"(?:mcp__?)?{SERVER}(?:__|[_.:/-])(?P<tool>{'|'.join(tool.value for tool in ReportTool)})"
)


def own_tool(name: str) -> str | None:
    """The tool of the iteration that an agent calls by this name; None for any other."""
    match = _NAME.fullmatch(name)
    return None if match is None else match["tool"]


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call by which it is known again: the tool, and what it was called with."""
    given = {key.replace("_", "").casefold(): value for key, value in arguments.items()}
    return f"{tool} {' '.join(json.dumps(given, sort_keys=True).split())}"
