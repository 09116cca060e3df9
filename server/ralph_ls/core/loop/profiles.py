"""Profiles: presets of settings, as data (SPEC §3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ralph_ls.protocol.config import ProfileName
from ralph_ls.protocol.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One preset."""

    name: ProfileName
    plan_files: tuple[str, ...]
    """Where its plan is looked for, first match wins."""
    settings: Mapping[str, object]
    """Dotted snake_case key to value; what is missing has the default of ``Config``."""


FIXPLAN = Profile(
    name=ProfileName.FIXPLAN,
    plan_files=("@fix_plan.md", ".ralph/fix_plan.md", "fix_plan.md"),
    settings=MappingProxyType(
        {
            "max_iterations": 20,
            "agent": "claude",
            "on_timeout": "continue",
            "log_form": "run",
            "gate.indicators": 2,
            "breaker.enabled": True,
            "breaker.blocked_opens": True,
        }
    ),
)

PROFILES: Mapping[ProfileName, Profile] = MappingProxyType({FIXPLAN.name: FIXPLAN})


def profile_of(name: ProfileName) -> Profile:
    """The profile of that name; raises ``ConfigError`` where this version does not run it."""
    if name not in PROFILES:
        known = ", ".join(profile.value for profile in PROFILES)
        raise ConfigError(
            f"the profile {name.value} cannot be run by this version; it runs: {known}"
        )
    return PROFILES[name]
