"""The built-in ``demo`` agent: scripted, offline, and for the sample project only (SPEC §10)."""

from __future__ import annotations

import sys

from ralph_ls.engine.agent_description import Agent


def describe() -> Agent:
    """The demo agent as a process of its own; ``-P`` keeps the work tree off its import path."""
    return Agent(name="demo", argv=(sys.executable, "-P", "-m", "ralph_ls.engine.demo.agent"))
