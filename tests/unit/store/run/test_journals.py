"""The runs of a work tree in numbers: in the order in which they began."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.events import dump_event
from ralph_ls.store.figures import read_statistics
from ralph_ls.store.layout import find_worktree, state_folder
from tests.engine.project_builder import make_repository
from tests.unit.core.views.run_states import run_started

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_runs_of_the_same_second_are_reported_in_their_order(tmp_path: Path) -> None:
    worktree = find_worktree(make_repository(tmp_path / "tree", ["One"]))
    state = state_folder(tmp_path / "state", worktree)
    runs = ["20260131T120000Z-ffff", "20260131T120000Z-0000", "20260131T120001Z-8888"]
    for number, run in enumerate(runs):
        at = NOON + timedelta(milliseconds=number * 300)
        begun = run_started().model_copy(update={"run": run, "at": at})
        files = state.run(run)
        files.folder.mkdir(parents=True)
        files.journal.write_bytes(dump_event(begun) + b"\n{torn")
    # One that was killed before its first event never was.
    state.run("20260131T120002Z-1111").folder.mkdir()
    found = read_statistics(worktree, state)
    assert [one.run for one in found.runs] == runs
    assert found.totals.ends == {"crashed": 3}
    alone = read_statistics(worktree, state, run=runs[1])
    assert [one.run for one in alone.runs] == runs[1:2]
    with pytest.raises(UsageError, match="there is no run nope in "):
        read_statistics(worktree, state, run="nope")
