"""The settings of a run that goes on: those it began with, which its journal keeps in full.

A file that was edited meanwhile, another environment or another version of this program must not
change the rules of a run under way. What is given together with ``--resume`` counts, by a flag or
by a ``RALPH_*`` variable. What the repository would run is not kept: it counts as it is now, and
has to be allowed as it is now.

Who chose a run's profile and agent, where it pushes, and what of its limits can be measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.profiles import to_tables
from ralph_ls.core.plurals import some_of
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.agent.run_agents import metering_of
from ralph_ls.engine.delivery.push import find_remote
from ralph_ls.engine.sandbox.selection import ChosenSandbox
from ralph_ls.protocol.config.agent_facts import Metering
from ralph_ls.protocol.config.config import CONFIG_FILE, Config
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import INFERRED, Origin, RunChoices
from ralph_ls.store.project.config_file import (
    LoadedSettings,
    cautious_settings,
    previous_choice,
    read_environment,
    validated,
)
from ralph_ls.store.project.trust import COMMANDS, SANDBOX

NOT_KEPT = frozenset({"agents", "agent", SANDBOX, *COMMANDS})
"""What decides which programs are run."""

SHOWN = 5

_REDACTED = "[redacted "


def settings_on_resume(
    settings: LoadedSettings,
    earlier: RunState,
    given: Mapping[str, Any],
    environment: Mapping[str, str],
) -> tuple[LoadedSettings, list[Notice]]:
    """The settings of the resumed run, and what to tell of those that have changed since.

    ``settings`` are what a new run would have, ``given`` what came as flags with the resume.
    """
    now = settings.config.model_dump()
    wanted = _leaves(_joined(read_environment(environment), to_tables(given)))
    if now["profile"] != earlier.config.profile:
        return settings, []
    if "profile" in wanted and previous_choice(earlier).profile_by in INFERRED:
        # Now that somebody has chosen the profile, its own pushes and bounds count.
        wanted |= cautious_settings({})
    tables = _kept(earlier.config.model_dump(), now, set(wanted))
    try:
        config = validated(tables)
    except ValidationError:
        # Rules that this version does not know any more; as it is now is the best there is.
        return settings, []
    changed = [
        key
        for key, value in _leaves(config.model_dump()).items()
        if key.split(".")[0] not in NOT_KEPT and _leaves(now).get(key) != value
    ]
    return replace(settings, config=config), _notice(changed)


def _kept(kept: Mapping[str, Any], now: Mapping[str, Any], given: set[str], at: str = "") -> Any:
    """The kept tables, with what is given or was redacted taken from those of now."""
    tables = {}
    for name, value in kept.items():
        key = f"{at}{name}"
        if key in NOT_KEPT or key in given or name not in now or _REDACTED in str(value):
            is_table = isinstance(value, Mapping) and isinstance(now.get(name), Mapping)
            if is_table and key not in NOT_KEPT and key not in given:
                tables[name] = _kept(value, now[name], given, f"{key}.")
            elif name in now:
                tables[name] = now[name]
        elif isinstance(value, Mapping) and isinstance(now[name], Mapping):
            tables[name] = _kept(value, now[name], given, f"{key}.")
        else:
            tables[name] = value
    return tables


def _notice(changed: list[str]) -> list[Notice]:
    if not changed:
        return []
    message = (
        f"a run that goes on keeps the settings that it began with; those that differ now, in "
        f"{CONFIG_FILE} or in this version of ralph, count for a new run: "
        f"{some_of(changed, SHOWN)}; to change one of this run, give its flag with --resume"
    )
    return [Notice(code="settings-kept", message=message)]


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(first)
    for name, value in second.items():
        both = isinstance(value, Mapping) and isinstance(joined.get(name), Mapping)
        joined[name] = _joined(joined[name], value) if both else value
    return joined


def _leaves(tables: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_walk(tables, ""))


def _walk(tables: Mapping[str, Any], at: str) -> Iterator[tuple[str, Any]]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _walk(value, f"{at}{name}.")
        else:
            yield f"{at}{name}", value


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
