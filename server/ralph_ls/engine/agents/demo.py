"""The built-in ``demo`` agent: scripted, offline, and for the sample project only (SPEC §10)."""

from __future__ import annotations

from ralph_ls.engine.agent_description import Agent
from ralph_ls.store.own_python import own_command


def describe() -> Agent:
    """The demo agent as a separate process."""
    return Agent(name="demo", argv=tuple(own_command("-m", "ralph_ls.engine.demo.agent")))
