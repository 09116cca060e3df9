"""Retention: which earlier runs lose their output, by age and by the size of all runs together.

The oldest runs come first. What is kept whole whatever the limits say (the last run of a work tree,
and one whose engine lives) is a fact that the caller brings. See docs/rules.md#pruning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ralph_ls.core.loop.rules.health import bytes_words
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.config.tables import StateConfig
from ralph_ls.protocol.json_output import PrunedOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run of one work tree as it is on disk."""

    run: str
    ended_at: datetime
    """Time of its end; without one, when it was written last."""
    size: int
    """Bytes of all its files."""
    removable: int
    """Bytes of the files that pruning removes."""
    n_files: int
    """Number of those files."""
    is_kept: bool
    """It is the last run, or its engine lives."""
    pruned_by: str | None = None
    """Setting by which its output was removed already; with files left, that was interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunToPrune:
    """A run that loses its output, and the setting that says so."""

    stored: StoredRun
    setting: str


def choose_runs(
    runs: Sequence[StoredRun], limits: StateConfig, now: datetime
) -> tuple[RunToPrune, ...]:
    """The runs that these limits do not keep whole, oldest first."""
    total = sum(one.size for one in runs)
    chosen: list[RunToPrune] = []
    for one in sorted(runs, key=lambda stored: (stored.ended_at, stored.run)):
        setting = one.pruned_by or _setting_against(one, limits, now, total)
        if setting is None or one.is_kept or one.n_files == 0:
            continue
        chosen.append(RunToPrune(stored=one, setting=setting))
        total -= one.removable
    return tuple(chosen)


def _setting_against(one: StoredRun, limits: StateConfig, now: datetime, total: int) -> str | None:
    if limits.keep_days and now - one.ended_at > timedelta(days=limits.keep_days):
        return f"[state] keep_days = {limits.keep_days}"
    if limits.max_bytes and total > limits.max_bytes:
        return f'[state] max_bytes = "{size_setting(limits.max_bytes)}"'
    return None


def size_setting(count: int) -> str:
    """A size as it can be written in the settings: ``5 GB``, else exact bytes."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} B"


def settings_words(chosen: Sequence[RunToPrune]) -> str:
    """The settings by which these runs are chosen."""
    return " and ".join(dict.fromkeys(one.setting for one in chosen))


def announcement_words(chosen: Sequence[RunToPrune]) -> str:
    """Announcement of the first automatic pruning, one start before it happens."""
    freed = bytes_words(sum(one.stored.removable for one in chosen))
    return (
        f"the next start removes the output of {count_of(len(chosen), 'run')} ({freed}), by "
        f"{settings_words(chosen)}; metrics and the last run are kept. List them: ralph prune "
        "--dry-run. To keep more, set keep_days and max_bytes under [state] in .ralph/config.toml "
        "(0 means no limit)"
    )


def pruned_words(run: str, pruned: PrunedOutput) -> str:
    """For a reader of the run: its output was removed, when, and by what."""
    return (
        f"the output of run {run} was removed on {pruned.at:%Y-%m-%d} "
        f"({count_of(pruned.files, 'file')}, {bytes_words(pruned.bytes)}), by {pruned.setting}"
    )
