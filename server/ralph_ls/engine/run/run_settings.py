"""Effective settings of a run: kept in full beside its journal, and used again on resume.

``settings.json`` is written whole before the first event of each engine, for its owner alone, with
secrets redacted. The event has its digest, so that a file that does not belong to the journal is
never used; then, and for runs of earlier versions, the settings in the journal's event count.

A resumed run keeps them, whatever was edited since. What is given with ``--resume`` counts, by a
flag or by a ``RALPH_*`` variable. What the repository would run is not kept: it counts as it is
now, and has to be allowed as it is now (docs/rules.md#recovery).

Also the other choices in a run's header: who chose profile and agent, the remote, the sandbox, and
which limits can be metered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.profiles import to_tables
from ralph_ls.core.plurals import some_of
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.agent.run_agents import metering_of
from ralph_ls.engine.delivery.git_delivery import find_remote
from ralph_ls.engine.sandbox.selection import ChosenSandbox
from ralph_ls.protocol.config.agent_facts import Metering
from ralph_ls.protocol.config.config import CONFIG_FILE, Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import RunResumed, RunStarted
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import INFERRED, Origin, RunChoices
from ralph_ls.store.files import PRIVATE_FILE, read_regular, write_atomic
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.project.config_file import (
    LoadedSettings,
    cautious_settings,
    previous_choice,
)
from ralph_ls.store.project.environment_settings import read_environment, validated
from ralph_ls.store.project.trust import COMMANDS, SANDBOX
from ralph_ls.store.run.journal import each_event

NOT_KEPT = frozenset({"agents", "agent", "notify", "plan.github.write", SANDBOX, *COMMANDS})
"""Settings that decide which programs are run, who is notified, and what may be written there."""

SHOWN = 5

LARGEST = 1 << 20
"""Bytes of a settings file that are read."""

_REDACTED = "[redacted "


def keep_settings(files: RunFiles, config: Config) -> str:
    """Write the settings beside the journal and return the digest of the file.

    ``config`` is redacted already. Raises ``StateUnusable``.
    """
    data = to_json(_in_full(config), indent=2) + b"\n"
    write_atomic(files.settings, data, mode=PRIVATE_FILE)
    return _digest(data)


def kept_settings(files: RunFiles) -> Config | None:
    """The settings with which the newest engine of the run began.

    None where their file is missing, is not the one that the journal names, or has settings that
    this version cannot read. Raises ``StateUnusable`` where the journal cannot be read.
    """
    expected = None
    for event in each_event(files.journal, kinds={"runStarted", "runResumed"}):
        if isinstance(event, RunStarted | RunResumed):
            expected = event.settings_digest
    try:
        data = read_regular(files.settings, LARGEST)
        if data is None or _digest(data) != expected:
            return None
        return Config.model_validate_json(data, extra="ignore")
    except (StateUnusable, ValidationError):
        return None


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _in_full(value: Any) -> Any:
    """The tables of a model with every field, also those that events leave out at their default."""
    if isinstance(value, BaseModel):
        return {name: _in_full(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {name: _in_full(item) for name, item in value.items()}
    return value


def settings_on_resume(
    settings: LoadedSettings,
    earlier: RunState,
    given: Mapping[str, Any],
    environment: Mapping[str, str],
) -> tuple[LoadedSettings, list[Notice]]:
    """The settings of the resumed run, and a notice of those that have changed since.

    ``settings`` are those of a new run, ``given`` the flags of the resume.
    """
    now = _in_full(settings.config)
    wanted = _leaves(_joined(read_environment(environment), to_tables(given)))
    if now["profile"] != earlier.config.profile:
        return settings, []
    if "profile" in wanted and previous_choice(earlier).profile_by in INFERRED:
        # The user has chosen the profile now, so its own pushes and bounds count.
        wanted |= cautious_settings({})
    tables = _kept(_in_full(earlier.config), now, set(wanted))
    try:
        config = validated(tables)
    except ValidationError:
        # Rules that this version does not know any more: the settings of a new run remain.
        return settings, []
    of_new_run = _leaves(now)
    changed = [
        key
        for key, value in _leaves(_in_full(config)).items()
        if key.split(".")[0] not in NOT_KEPT and of_new_run.get(key) != value
    ]
    return replace(settings, config=config), _notice(changed)


def _kept(kept: Mapping[str, Any], now: Mapping[str, Any], given: set[str], at: str = "") -> Any:
    """The kept tables, with values that are given or were redacted taken from ``now``."""
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
        f"a resumed run keeps its settings; changes in {CONFIG_FILE} or in this version of ralph "
        f"apply to new runs: {some_of(changed, SHOWN)}; to change one for this run, give its flag "
        "with --resume"
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
    """The choices in the header of a run, beside its settings."""
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
    """When each agent reports its use, for each limit of the run in tokens or dollars."""
    limits = ((config.max_tokens, False), (config.max_cost_usd, True))
    return [
        metering_of(config, name, agent, is_cost=is_cost)
        for limit, is_cost in limits
        if limit is not None
        for name, agent in agents.items()
    ]
