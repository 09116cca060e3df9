"""Retention of logs at a start, in the spec loop and in the resilience loop, which rotates none.

See docs/rules.md#logs.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_ls.core.loop.profiles import preset_of, profile_of
from ralph_ls.protocol.config.config import LogsConfig, ProfileName
from ralph_ls.store.run.logs import find_old_logs, remove_logs

NOW = datetime(2026, 2, 4, 12, tzinfo=UTC)
S_RULE = LogsConfig(days=30, newest=30)


def write_logs(folder: Path, ages: list[float]) -> list[str]:
    """A log for each age in days; their names say nothing of their age."""
    names = [f"2026-01-01_{number:03d}.log" for number in range(1, len(ages) + 1)]
    for name, age in zip(names, ages, strict=True):
        (folder / name).write_text("log\n", encoding="utf-8")
        changed = (NOW - timedelta(days=age)).timestamp()
        os.utime(folder / name, (changed, changed))
    return names


@pytest.mark.parametrize(
    ("ages", "removed"),
    [
        pytest.param([29.0 - n / 50 for n in range(50)], 0, id="fifty-of-29-days"),
        pytest.param([31.0 + n for n in range(20)], 0, id="twenty-of-31-days"),
        pytest.param([40.0, 39.0, 38.0, 37.0, 36.0, *[1.0] * 35], 5, id="forty-five-of-them-old"),
        pytest.param([40.0 + n for n in range(35)], 5, id="only-the-newest-protect"),
    ],
)
def test_either_rule_of_s_protects_a_log(tmp_path: Path, ages: list[float], removed: int) -> None:
    names = write_logs(tmp_path, ages)
    for foreign in ("mine.log", "2026-01-01_001.txt", "summary.csv"):
        (tmp_path / foreign).touch()
        os.utime(tmp_path / foreign, (1, 1))
    old = find_old_logs(tmp_path, S_RULE, NOW)
    oldest_first = [name for _, name in sorted(zip(ages, names, strict=True), reverse=True)]
    assert [path.name for path in old] == oldest_first[:removed]
    assert remove_logs(old) == removed
    assert len(list(tmp_path.iterdir())) == len(ages) - removed + 3


def test_in_the_layout_of_stories_none_is_ever_removed(tmp_path: Path) -> None:
    write_logs(tmp_path, [1000.0 + n for n in range(100)])
    rule = preset_of(profile_of(ProfileName.STORIES)).logs
    assert find_old_logs(tmp_path, rule, NOW) == []
