"""Profiles are data (SPEC §3)."""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.profiles import FIXPLAN, PROFILES, profile_of
from ralph_ls.protocol.config import Config, ProfileName
from ralph_ls.protocol.errors import ConfigError


def test_fixplan_is_as_the_table_says() -> None:
    assert profile_of(ProfileName.FIXPLAN) is FIXPLAN
    assert FIXPLAN.plan_files[0] == "@fix_plan.md"
    assert FIXPLAN.settings["max_iterations"] == 20
    assert FIXPLAN.settings["agent"] == "claude"
    assert FIXPLAN.settings["on_timeout"] == "continue"
    assert "max_stuck" not in FIXPLAN.settings


@pytest.mark.parametrize("name", PROFILES)
def test_every_setting_of_a_profile_is_one(name: ProfileName) -> None:
    nested: dict[str, object] = {}
    for key, value in PROFILES[name].settings.items():
        table, _, last = key.rpartition(".")
        place = nested.setdefault(table, {}) if table else nested
        assert isinstance(place, dict)
        place[last] = value
    Config.model_validate(nested, by_alias=False, by_name=True)


def test_a_profile_that_cannot_be_run_yet_is_refused_by_name() -> None:
    with pytest.raises(
        ConfigError, match="the profile beads cannot be run by this version; it runs: fixplan"
    ):
        profile_of(ProfileName.BEADS)
