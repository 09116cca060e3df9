"""Which earlier runs lose their output (docs/rules.md#pruning)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ralph_ls.core.loop.rules.retention import (
    StoredRun,
    announcement_words,
    choose_runs,
    pruned_words,
    size_setting,
)
from ralph_ls.protocol.config.tables import StateConfig
from ralph_ls.protocol.json_output import PrunedOutput

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
UNLIMITED = StateConfig(keep_days=0, max_bytes=0)


def stored(
    run: str, days: float, *, size: int = 100, is_kept: bool = False, pruned_by: str | None = None
) -> StoredRun:
    return StoredRun(
        run=run,
        ended_at=NOW - timedelta(days=days),
        size=size + 10,
        removable=size,
        n_files=4 if size else 0,
        is_kept=is_kept,
        pruned_by=pruned_by,
    )


def chosen(limits: StateConfig, *runs: StoredRun) -> list[tuple[str, str]]:
    return [(one.stored.run, one.setting) for one in choose_runs(runs, limits, NOW)]


def test_what_ended_longer_ago_than_the_days_goes_oldest_first() -> None:
    limits = StateConfig(keep_days=90, max_bytes=0)
    runs = (stored("b", 91), stored("a", 200), stored("c", 90), stored("d", -1))
    by = "[state] keep_days = 90"
    assert chosen(limits, *runs) == [("a", by), ("b", by)]


def test_above_the_size_the_oldest_go_until_the_rest_fits() -> None:
    limits = StateConfig(keep_days=0, max_bytes=250)
    runs = (stored("c", 1), stored("b", 2), stored("a", 3))
    assert chosen(limits, *runs) == [("a", '[state] max_bytes = "250 B"')]
    assert chosen(StateConfig(keep_days=0, max_bytes=330), *runs) == []


def test_what_age_removes_counts_for_the_size() -> None:
    limits = StateConfig(keep_days=10, max_bytes=250)
    runs = (stored("a", 11), stored("b", 2), stored("c", 1))
    assert chosen(limits, *runs) == [("a", "[state] keep_days = 10")]


def test_without_limits_nothing_goes() -> None:
    assert chosen(UNLIMITED, stored("a", 10_000, size=10**12)) == []


def test_what_is_kept_stays_and_the_next_one_goes_for_it() -> None:
    limits = StateConfig(keep_days=0, max_bytes=150)
    runs = (stored("a", 3, is_kept=True), stored("b", 2))
    assert [run for run, _ in chosen(limits, *runs)] == ["b"]


def test_a_run_without_output_is_not_chosen() -> None:
    assert chosen(StateConfig(keep_days=1), stored("a", 5, size=0)) == []


def test_an_interrupted_removal_is_finished_whatever_the_limits_are_now() -> None:
    assert chosen(UNLIMITED, stored("a", 5, pruned_by="[state] keep_days = 3")) == [
        ("a", "[state] keep_days = 3")
    ]


@pytest.mark.parametrize(
    ("size", "words"),
    [(5 * 10**9, "5 GB"), (10**12, "1 TB"), (1_500_000, "1500 kB"), (1, "1 B"), (0, "0 B")],
)
def test_a_size_is_written_as_the_settings_read_it(size: int, words: str) -> None:
    assert size_setting(size) == words
    assert StateConfig.model_validate({"max_bytes": words}).max_bytes == size


def test_an_announcement_has_what_goes_why_and_how_to_keep_it() -> None:
    limits = StateConfig(keep_days=10, max_bytes=1000)
    runs = (stored("a", 11, size=700), stored("b", 2, size=2000), stored("c", 1, is_kept=True))
    words = announcement_words(choose_runs(runs, limits, NOW))
    assert words.startswith(
        "the next start removes the output of 2 runs (2 kB), by [state] keep_days = 10 and "
        '[state] max_bytes = "1 kB"; '
    )
    assert "ralph prune --dry-run" in words
    assert ".ralph/config.toml" in words


def test_a_reader_of_a_pruned_run_is_given_when_and_why() -> None:
    pruned = PrunedOutput(at=NOW, setting="[state] keep_days = 90", files=1, bytes=2_000_000)
    assert pruned_words("R", pruned) == (
        "the output of run R was removed on 2026-06-01 (1 file, 2 MB), by [state] keep_days = 90"
    )
