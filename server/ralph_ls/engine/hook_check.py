"""Whether the stop hook of an agent answers, as the agent's program would start it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.engine.environment import base_agent_environment
from ralph_ls.protocol.config.config import Config
from ralph_ls.store.setup.hook_launcher import check_hook


def ask_hook(root: Path, config: Config, environment: Mapping[str, str]) -> str | None:
    """What is wrong with it, and what to do; empty where it answers, None where there is none."""
    agent = config.agents.get(config.agent)
    own = base_agent_environment(
        environment,
        extra=None if agent is None else agent.env,
        only=config.env.only,
    )
    return check_hook(root, config.agent, own)


def tell_silent_hook(root: Path, config: Config, environment: Mapping[str, str]) -> list[Notice]:
    """A warning where the hook does not answer; nothing is lost, the loop looks by itself."""
    problem = ask_hook(root, config, environment)
    return [Notice(code="hook-silent", message=problem)] if problem else []
