"""``RALPH_LOG`` and ``RALPH_LOG_RETENTION``, as B has them (docs/rules.md#logs)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.project.config_file import load_settings


def settings(root: Path, profile: str = "beads", **environment: str) -> Config:
    return load_settings(root, environment, {"profile": profile}).config


@pytest.mark.parametrize(
    ("value", "logs"), [("", True), ("1", True), ("0", False), ("false", False), ("off", False)]
)
def test_the_log_can_be_left_out(tmp_path: Path, value: str, logs: bool) -> None:
    assert settings(tmp_path, RALPH_LOG=value).logs.agent is logs


def test_ten_logs_are_kept_or_as_many_as_somebody_wants(tmp_path: Path) -> None:
    assert settings(tmp_path).logs.newest == 10
    assert settings(tmp_path, RALPH_LOG_RETENTION="20").logs.newest == 20
    assert settings(tmp_path, RALPH_LOG_RETENTION="0").logs.newest == 0


def test_it_comes_before_the_file_and_behind_a_flag(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "config.toml").write_text(
        'profile = "beads"\n[log_retention]\nnewest = 5\n', encoding="utf-8"
    )
    environment = {"RALPH_LOG_RETENTION": "20"}
    assert load_settings(tmp_path, {}, {}).config.logs.newest == 5
    assert load_settings(tmp_path, environment, {}).config.logs.newest == 20
    given = {"log_retention.newest": 7}
    assert load_settings(tmp_path, environment, given).config.logs.newest == 7


def test_other_logs_have_their_own_retention(tmp_path: Path) -> None:
    config = settings(tmp_path, "spec", RALPH_LOG_RETENTION="2")
    assert (config.logs.newest, config.logs.days) == (30, 30)


@pytest.mark.parametrize(("name", "value"), [("RALPH_LOG_RETENTION", "many"), ("RALPH_LOG", "?")])
def test_a_value_that_is_none_is_refused_by_its_name(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"the environment variable {name} must be"):
        settings(tmp_path, **{name: value})
