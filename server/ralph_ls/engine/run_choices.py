"""Who chose a run's profile and agent, where it pushes, and what of its limits can be measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph_ls.core.agent.usage import Metering
from ralph_ls.engine.agent_description import Agent
from ralph_ls.engine.agents_of_run import metering_of
from ralph_ls.engine.pushing import find_remote
from ralph_ls.engine.sandbox.choice import ChosenSandbox
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.values import Origin, RunChoices
from ralph_ls.store.project.config_file import LoadedSettings


def choices_of(
    settings: LoadedSettings,
    agents: Mapping[str, Agent],
    root: Path,
    branch: str | None,
    sandbox: ChosenSandbox,
) -> RunChoices:
    """What the header of a run says beside its settings."""
    config = settings.config
    metered = _metered(config, agents)
    return RunChoices(
        profile=settings.profile_by,
        sign=settings.sign,
        agent=settings.agent_by or Origin.PROFILE,
        remote=_remote(config, root, branch),
        overshoots=Metering.AT_END in metered or None,
        sandbox=sandbox.kind,
        sandbox_problem=sandbox.problem,
        unmetered=Metering.NEVER in metered or None,
    )


def _remote(config: Config, root: Path, branch: str | None) -> str | None:
    found = find_remote(root, branch) if config.push and branch is not None else None
    return None if found is None else found.name


def _metered(config: Config, agents: Mapping[str, Agent]) -> list[Metering]:
    """When it is known what each agent uses of each limit of the run in tokens or dollars."""
    limits = ((config.max_tokens, False), (config.max_cost_usd, True))
    return [
        metering_of(config, name, agent, is_cost=is_cost)
        for limit, is_cost in limits
        if limit is not None
        for name, agent in agents.items()
    ]
