"""The file in which some agents tell what they used: asked for at the start, read at the end.

It lies beside the iteration's output, and is looked at by a later engine as by the one which
started the agent. This module must never know what is decided by it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ralph_ls.core.agent.decode.dialects import (
    MAX_USAGE_FILE_BYTES,
    USAGE_FILE_PLACEHOLDER,
    apply_usage_file,
)
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.engine.agent_description import Agent
from ralph_ls.protocol.config.agent import Dialect, JsonLinesConfig
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.report import Usage
from ralph_ls.store.files import PRIVATE_FILE, read_regular, write_atomic


def asking_for_usage(agent: Agent, path: Path) -> Agent:
    """The agent with the path in its command line, where that has a place for it.

    The file is made empty, so that nobody else may read what the agent puts there.
    """
    if not any(USAGE_FILE_PLACEHOLDER in part for part in agent.argv):
        return agent
    write_atomic(path, b"", mode=PRIVATE_FILE)
    argv = tuple(part.replace(USAGE_FILE_PLACEHOLDER, str(path)) for part in agent.argv)
    return replace(agent, argv=argv)


def with_usage_file(
    final: AgentResult,
    path: Path,
    dialect: Dialect,
    mapping: JsonLinesConfig | None,
    earlier: Usage | None,
) -> AgentResult:
    """What a process came to, with what its file says; ``earlier`` its session had used before.

    A file that is missing, or is none, says nothing: its agent may have been killed before.
    """
    try:
        data = read_regular(path, MAX_USAGE_FILE_BYTES)
    except StateUnusable:
        return final
    if not data:
        return final
    return apply_usage_file(final, data, dialect, mapping=mapping, earlier=earlier)


def mapping_of(config: Config, agent: str) -> JsonLinesConfig | None:
    """What the records of an agent mean, by its name in the settings."""
    table = config.agents.get(agent)
    return None if table is None else table.output
