"""The file that says of a work tree that a run of stories is active in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.stop_hook import RalphActive
from ralph_ls.store.run.active_run import (
    ACTIVE_FILE,
    STOPS_FILE,
    StopHookState,
    count_stop,
    is_owner_alive,
    read_active_file,
    read_stops,
    remove_active,
    write_active,
)
from ralph_ls.store.run.lock import LockOwner, own_start_time
from tests.unit.store.store_builders import RUN

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
MINE = RalphActive(timestamp=AT, pid=os.getpid(), max_iterations=20, stuck_count=1)
STOPS = StopHookState(pid=os.getpid(), timestamp=AT, plan="prd.json", task="US-1", dirty={"a": "b"})


def written(tree: Path, active: RalphActive = MINE) -> Path:
    git_dir = tree / ".git"
    git_dir.mkdir(exist_ok=True)
    write_active(tree, git_dir, active, STOPS)
    return git_dir


def test_it_has_the_nine_keys_of_the_loop_that_it_comes_from(tmp_path: Path) -> None:
    written(tmp_path)
    assert json.loads((tmp_path / ACTIVE_FILE).read_bytes()) == {
        "timestamp": "2026-01-31T12:00:00.000Z",
        "pid": os.getpid(),
        "max_iterations": 20,
        "mode": "direct",
        "skipReview": False,
        "reviewCap": 5,
        "iterationMode": "implement",
        "preIterationSnapshot": None,
        "stuckCount": 1,
    }
    assert read_active_file(tmp_path) == MINE
    assert (tmp_path / ACTIVE_FILE).stat().st_mode & 0o777 == 0o600


def test_only_its_owner_takes_it_away(tmp_path: Path) -> None:
    written(tmp_path)
    remove_active(tmp_path, os.getpid() + 1)
    assert read_active_file(tmp_path) == MINE
    remove_active(tmp_path, os.getpid())
    assert not (tmp_path / ACTIVE_FILE).exists()
    remove_active(tmp_path, os.getpid())


def test_one_that_nobody_can_read_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / ACTIVE_FILE).write_text("{", encoding="utf-8")
    remove_active(tmp_path, os.getpid())
    assert read_active_file(tmp_path) is None
    assert (tmp_path / ACTIVE_FILE).exists()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ACTIVE_FILE).unlink()
    (tmp_path / ACTIVE_FILE).symlink_to("pipe")
    assert read_active_file(tmp_path) is None


def test_it_is_not_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs", encoding="utf-8")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ACTIVE_FILE).symlink_to(outside)
    written(tree)
    assert outside.read_text(encoding="utf-8") == "theirs"
    assert read_active_file(tree) == MINE


def test_a_tree_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateUnusable, match="cannot be written"):
        write_active(tmp_path, tmp_path / "nowhere", MINE, STOPS)


class TestLives:
    def test_a_run_without_a_pid_is_believed(self, tmp_path: Path) -> None:
        assert is_owner_alive(RalphActive(), tmp_path)

    def test_a_living_process_is_enough_where_nobody_wrote_who_owns_the_tree(
        self, tmp_path: Path
    ) -> None:
        assert is_owner_alive(MINE, tmp_path)

    @pytest.mark.parametrize("pid", [0, -1, 2**70])
    def test_what_is_no_pid_lives_nowhere(self, tmp_path: Path, pid: int) -> None:
        assert not is_owner_alive(RalphActive(pid=pid), tmp_path)

    def test_a_dead_one_does_not(self, tmp_path: Path) -> None:
        process = subprocess.Popen([sys.executable, "-S", "-c", ""])
        process.wait()
        assert not is_owner_alive(RalphActive(pid=process.pid), tmp_path)

    @pytest.mark.parametrize(("seconds", "same"), [(0.0, True), (1000.0, False)])
    def test_another_process_that_got_the_number_is_not_the_owner(
        self, tmp_path: Path, seconds: float, same: bool
    ) -> None:
        started = own_start_time() - seconds
        owner = LockOwner(pid=os.getpid(), process_start_time=started, run=RUN, state_dir="x")
        (tmp_path / "ralph.json").write_text(owner.model_dump_json(by_alias=True))
        assert is_owner_alive(MINE, tmp_path) is same


class TestStops:
    def test_they_are_counted_for_each_iteration(self, tmp_path: Path) -> None:
        git_dir = written(tmp_path)
        stops = read_stops(git_dir, MINE)
        assert stops == STOPS
        assert count_stop(git_dir, stops).n_active == 1
        assert count_stop(git_dir, read_stops(git_dir, MINE)).n_active == 2
        written(tmp_path)
        assert read_stops(git_dir, MINE).n_active == 0

    def test_those_of_another_iteration_do_not_count(self, tmp_path: Path) -> None:
        git_dir = written(tmp_path)
        other = MINE.model_copy(update={"pid": 1})
        assert read_stops(git_dir, other) == StopHookState(pid=1, timestamp=AT)

    @pytest.mark.parametrize("text", ["", "{", '{"nActive": "many"}'])
    def test_what_cannot_be_read_is_none(self, tmp_path: Path, text: str) -> None:
        (tmp_path / STOPS_FILE).write_text(text, encoding="utf-8")
        assert read_stops(tmp_path, RalphActive()) == StopHookState()
        (tmp_path / STOPS_FILE).unlink()
        (tmp_path / STOPS_FILE).mkdir()
        assert read_stops(tmp_path, RalphActive()) == StopHookState()
