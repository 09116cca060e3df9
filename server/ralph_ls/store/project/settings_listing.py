"""Listing of the effective settings: each key with its value, and which source set it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ralph_ls.core.setup.settings import duration_text, settings_text, value_text
from ralph_ls.protocol.config.config import CONFIG_FILE, Config
from ralph_ls.protocol.run.values import Origin
from ralph_ls.store.project.config_file import (
    LoadedSettings,
    shown_path,
    user_config_file,
)
from ralph_ls.store.project.settings_reference import SettingFacts, all_settings, find_setting

ORDER = (Origin.GIVEN, Origin.ENVIRONMENT, Origin.FILE, Origin.USER, Origin.FOUND, Origin.PROFILE)
"""The sources of settings; the first one that sets a key wins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSetting:
    """One setting as a run would have it."""

    keys: tuple[str, ...]
    facts: SettingFacts
    value: Any
    """As TOML has it; None where it is not set."""
    origin: Origin

    @property
    def key(self) -> str:
        """With dots."""
        return ".".join(self.keys)

    @property
    def text(self) -> str:
        """The value as TOML has it."""
        return "" if self.value is None else value_text(self.value)


def effective_settings(settings: LoadedSettings) -> tuple[EffectiveSetting, ...]:
    """Every setting, in the order of docs/configuration.md."""
    tables = settings.config.model_dump(mode="json", by_alias=False)
    order = {facts.key: number for number, facts in enumerate(all_settings())}
    found = [_effective(keys, value, settings) for keys, value in _leaves(tables)]
    known = [one for one in found if one is not None]
    return tuple(sorted(known, key=lambda one: (order[one.facts.key], one.keys)))


def differing(settings: Sequence[EffectiveSetting]) -> list[EffectiveSetting]:
    """Those that a source sets to another value than the default, the user's own first."""
    defaults = Config().model_dump(mode="json", by_alias=False)
    changed = [
        one
        for one in settings
        if one.origin is not Origin.DEFAULT and _value_at(defaults, one.keys) != _plain(one)
    ]
    return sorted(changed, key=lambda one: one.origin is Origin.PROFILE)


def origin_of(settings: LoadedSettings, keys: tuple[str, ...]) -> Origin:
    """The source that set a key."""
    found = (one for one in ORDER if _value_at(settings.layers.get(one, {}), keys) is not _UNSET)
    first = next(found, Origin.DEFAULT)
    if keys == ("profile",) and first is Origin.DEFAULT:
        return settings.profile_by
    if keys == ("agent",) and settings.agent_by is not None:
        return settings.agent_by
    return first


def origin_text(one: EffectiveSetting, settings: LoadedSettings, home: Mapping[str, str]) -> str:
    """The source of a setting in words; ``home`` is the environment with the home folder."""
    match one.origin:
        case Origin.PROFILE:
            return f"profile {settings.config.profile.value}"
        case Origin.ENVIRONMENT if one.facts.variable:
            return one.facts.variable
        case Origin.FOUND if settings.sign is not None and one.key == "profile":
            return f"found by {settings.sign}"
        case _:
            return source_text(one.origin, home)


def source_text(origin: Origin, home: Mapping[str, str]) -> str:
    """A source of settings in words."""
    path = user_config_file(home)
    known = {
        Origin.GIVEN: "flag",
        Origin.ENVIRONMENT: "the environment",
        Origin.FILE: CONFIG_FILE,
        Origin.USER: "" if path is None else shown_path(path, home),
        Origin.FOUND: "found here",
        Origin.RUN: "as before",
    }
    return known.get(origin, origin.value)


def as_toml(settings: LoadedSettings, home: Mapping[str, str]) -> str:
    """What differs from the defaults as TOML, each line with its origin."""
    shown = differing(effective_settings(settings))
    return settings_text((one.keys, one.value, origin_text(one, settings, home)) for one in shown)


_UNSET = object()


def _effective(
    keys: tuple[str, ...], value: Any, settings: LoadedSettings
) -> EffectiveSetting | None:
    facts = find_setting(".".join(keys))
    if facts is None:
        return None
    shown = value
    if facts.type == "duration" and value is not None:
        shown = duration_text(value) if value else 0
    return EffectiveSetting(keys=keys, facts=facts, value=shown, origin=origin_of(settings, keys))


def _plain(one: EffectiveSetting) -> Any:
    """The value as the defaults have it."""
    from ralph_ls.protocol.config.tables import to_seconds

    return to_seconds(one.value) if one.facts.type == "duration" else one.value


def _leaves(tables: Mapping[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    for name, value in tables.items():
        keys = (*at, name)
        if isinstance(value, Mapping) and find_setting(".".join(keys)) is None:
            yield from _leaves(value, keys)
        elif keys == ("models", "tag"):
            yield from (((*keys, tag), choice) for tag, choice in value.items())
        elif value not in ({}, []) or len(keys) == 1 or keys[0] not in {"agents", "prices"}:
            yield keys, value


def _value_at(tables: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(tables, Mapping) or key not in tables:
            return _UNSET
        tables = tables[key]
    return tables
