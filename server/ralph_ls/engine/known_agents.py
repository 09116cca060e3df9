"""Every agent whose command line is known, by its name, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ralph_ls.engine.agent_description import Description
from ralph_ls.engine.agents.claude import CLAUDE
from ralph_ls.engine.agents.cline import CLINE
from ralph_ls.engine.agents.codex import CODEX
from ralph_ls.engine.agents.copilot import COPILOT
from ralph_ls.engine.agents.gemini import GEMINI
from ralph_ls.engine.agents.opencode import OPENCODE
from ralph_ls.engine.agents.qwen import QWEN

DESCRIPTIONS: Mapping[str, Description] = MappingProxyType(
    {one.name: one for one in (CLAUDE, CODEX, CLINE, GEMINI, OPENCODE, QWEN, COPILOT)}
)


def install_of(program: str) -> str | None:
    """The command that installs a program of that name; None where none is known."""
    found = (one.install for one in DESCRIPTIONS.values() if one.program == program)
    return next(found, None)
