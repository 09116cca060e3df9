"""Which agent works where nobody named one: the profile's own, else the only known one on PATH.

Programs are only looked for, never started. It must never choose between two that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ralph_ls.engine.agents import acp
from ralph_ls.engine.environment import base_agent_environment
from ralph_ls.engine.known_agents import DESCRIPTIONS
from ralph_ls.protocol.config.config import CONFIG_FILE, Config
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.values import Origin
from ralph_ls.store.external.programs import find_trusted_program
from ralph_ls.store.project.config_file import LoadedSettings, PreviousChoice


def with_agent(
    settings: LoadedSettings,
    environment: Mapping[str, str],
    root: Path,
    *,
    earlier: PreviousChoice | None = None,
) -> LoadedSettings:
    """The settings with the agent that works; as they are where somebody named one.

    ``earlier`` is of the run that goes on, which keeps its agent. Where none is found, the
    profile's own stays, for the start to say that it is missing. Raises ``UsageError`` with the
    list where several could be meant.
    """
    config = settings.config
    if settings.agent_by is not None:
        return settings
    if earlier is not None and earlier.agent in {*DESCRIPTIONS, *acp.COMMANDS, *config.agents}:
        return _choosing(settings, earlier.agent, Origin.RUN)
    # What is in a sandbox cannot be looked for from outside.
    if config.sandbox.is_elsewhere or _is_here(config.agent, config, environment, root):
        return _choosing(settings, config.agent, Origin.PROFILE)
    found = [name for name in DESCRIPTIONS if _is_here(name, config, environment, root)]
    if not found:
        found = [name for name in acp.COMMANDS if _is_here(name, config, environment, root)]
    if len(found) > 1:
        raise UsageError(
            f"which agent is to work? {config.agent!r}, which the profile "
            f"{config.profile.value} would take, is not on PATH, and several others are: "
            f"{', '.join(found)}; name one: --agent {found[0]}, or "
            f'agent = "{found[0]}" in {CONFIG_FILE}'
        )
    if not found:
        return _choosing(settings, config.agent, Origin.PROFILE)
    return _choosing(settings, found[0], Origin.FOUND)


def _choosing(settings: LoadedSettings, name: str, by: Origin) -> LoadedSettings:
    config = settings.config.model_copy(update={"agent": name})
    return replace(settings, config=config, agent_by=by)


def _is_here(name: str, config: Config, environment: Mapping[str, str], root: Path) -> bool:
    """Whether the program of an agent is on the PATH that the agent would get."""
    table = config.agents.get(name)
    around = base_agent_environment(
        environment,
        extra={} if table is None else table.env,
        only=config.env.only,
    )
    known = DESCRIPTIONS.get(name)
    standing = acp.COMMANDS.get(name, ("",))[0] if known is None else known.program
    program = table.argv[0] if table is not None and table.argv else standing
    if Path(program).name != program:
        return (root / program).exists()
    return find_trusted_program(program, root, around.get("PATH", "")) is not None
