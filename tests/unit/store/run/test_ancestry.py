"""Which run a process belongs to: by markers, and by agent and engine among its ancestors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import FromInside
from ralph_ls.store.layout import Worktree, find_worktree, state_folder
from ralph_ls.store.run.ancestry import (
    MARKER,
    Ancestry,
    Process,
    RunMembership,
    WorktreeRuns,
    ancestry_of,
    find_membership,
    known_runs,
    require_outside,
    require_own_trust,
)
from ralph_ls.store.run.lock import EngineLock, LockOwner, own_start_time
from tests.unit.store.store_builders import repository

RUN = "20260131T120000Z-0a1b"
OTHER = "20260201T120000Z-0a1b"
ENGINE, AGENT, SHELL, SELF = (10, 1.0), (20, 2.0), (30, 3.0), (40, 4.0)
LIVE = WorktreeRuns(ids=frozenset({RUN}), live=RUN, engine=ENGINE, agent=AGENT)
ENDED = WorktreeRuns(ids=frozenset({RUN}))

ITERATION = RunMembership(run=RUN, part="3")
COMMAND = RunMembership(run=RUN, part="notify.command")
SOMEWHERE = RunMembership(run=RUN)


def check(
    known: WorktreeRuns, *markers: str, processes: tuple[Process, ...] = (SELF, SHELL)
) -> RunMembership | None:
    return find_membership(Ancestry(processes=processes, markers=markers), known)


ANSWER = """\
import os
from ralph_ls.store.run.ancestry import ancestry_of
found = ancestry_of(os.getpid())
print(*found.markers, sep=",", end=";")
print(*[pid for pid, _ in found.processes], end="")
"""


class TestFindInside:
    @pytest.mark.parametrize(
        ("markers", "found"),
        [
            pytest.param((), None, id="no-marker"),
            pytest.param((f"{RUN}/3",), ITERATION, id="iteration"),
            pytest.param((f"{RUN}/notify.command",), COMMAND, id="command"),
            pytest.param((f"{RUN}/notify.command", f"{RUN}/3"), ITERATION, id="posing-as-command"),
            pytest.param((f"{RUN}/3", f"{RUN}/notify.command"), ITERATION, id="under-a-command"),
            pytest.param((f"{OTHER}/3",), None, id="of-another-run"),
            pytest.param((f"{OTHER}/1", f"{RUN}/3"), ITERATION, id="a-run-within-the-run"),
            pytest.param(("propose-1",), None, id="no-run"),
            pytest.param((RUN,), None, id="no-part"),
            pytest.param(("../../x/3",), None, id="nonsense"),
        ],
    )
    @pytest.mark.parametrize("known", [LIVE, ENDED], ids=["live", "ended"])
    def test_a_marker_names_the_run(
        self, known: WorktreeRuns, markers: tuple[str, ...], found: RunMembership | None
    ) -> None:
        assert check(known, *markers) == found

    @pytest.mark.parametrize(
        ("processes", "found"),
        [
            pytest.param((SELF, SHELL), None, id="a-terminal"),
            pytest.param((SELF, AGENT, ENGINE), SOMEWHERE, id="the-agents-child"),
            pytest.param((AGENT, ENGINE), SOMEWHERE, id="the-agent"),
            pytest.param((SELF, ENGINE, SHELL), SOMEWHERE, id="adopted-by-the-engine"),
            pytest.param((ENGINE, SHELL), None, id="the-engine"),
            pytest.param((SELF, (AGENT[0], 99.0)), None, id="a-pid-that-was-used-again"),
            pytest.param((SELF, (AGENT[0], AGENT[1] + 0.5)), SOMEWHERE, id="a-coarse-clock"),
        ],
    )
    def test_without_a_marker_the_ancestors_do(
        self, processes: tuple[Process, ...], found: RunMembership | None
    ) -> None:
        assert check(LIVE, processes=processes) == found
        assert check(ENDED, processes=processes) is None

    def test_the_agent_cannot_pose_as_a_command(self) -> None:
        marker = f"{RUN}/notify.command"
        assert check(LIVE, marker, processes=(SELF, AGENT)) == SOMEWHERE
        assert check(LIVE, marker, processes=(SELF, ENGINE)) == COMMAND

    def test_it_says_which_part_it_is(self) -> None:
        assert str(ITERATION) == f"an iteration of run {RUN}"
        assert str(COMMAND) == f"the command notify.command of run {RUN}"
        assert str(SOMEWHERE) == f"run {RUN}"


class TestAncestry:
    def test_it_goes_up_and_reads_what_an_ancestor_carries(self) -> None:
        code = (
            "import os, subprocess, sys; env = {'PATH': os.environ['PATH']}; "
            f"subprocess.run([sys.executable, '-c', {ANSWER!r}], env=env)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, MARKER: f"{RUN}/7"},
            capture_output=True,
            text=True,
            check=True,
        )
        markers, pids = done.stdout.split(";")
        assert markers == f"{RUN}/7"
        assert str(os.getpid()) in pids.split()

    def test_of_a_process_that_is_gone_nothing_is_known(self) -> None:
        done = subprocess.Popen([sys.executable, "-c", ""])
        done.wait()
        assert ancestry_of(done.pid) == Ancestry()


class TestRequireOutside:
    @pytest.fixture
    def worktree(self, tmp_path: Path) -> Worktree:
        return find_worktree(repository(tmp_path / "repository"))

    @pytest.fixture
    def inside(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(MARKER, f"{RUN}/3")

    @pytest.mark.usefixtures("inside")
    def test_a_run_in_the_state_of_the_work_tree_counts(
        self, worktree: Worktree, tmp_path: Path
    ) -> None:
        state = state_folder(tmp_path / "state", worktree)
        require_outside(worktree, state, "ralph reset")
        state.run(RUN).folder.mkdir(parents=True)
        with pytest.raises(
            FromInside, match=f"ralph reset was refused: .*an iteration of run {RUN}"
        ):
            require_outside(worktree, state, "ralph reset")
        with pytest.raises(FromInside):
            require_outside(worktree, state, "ralph reset", by_command=True)

    @pytest.mark.usefixtures("inside")
    def test_so_does_one_whose_state_is_elsewhere(self, worktree: Worktree, tmp_path: Path) -> None:
        elsewhere = state_folder(tmp_path / "elsewhere", worktree)
        with EngineLock(worktree.git_dir) as lock:
            lock.claim(owner(RUN, elsewhere.folder))
        with pytest.raises(FromInside):
            require_outside(worktree, state_folder(tmp_path / "state", worktree), "ralph reset")

    def test_a_command_passes_where_it_may(
        self, worktree: Worktree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(MARKER, f"{RUN}/notify.command")
        state = state_folder(tmp_path / "state", worktree)
        state.run(RUN).folder.mkdir(parents=True)
        require_outside(worktree, state, "ralph answer", by_command=True)
        with pytest.raises(FromInside, match=r"the command notify\.command"):
            require_outside(worktree, state, "ralph reset")

    def test_of_a_living_engine_the_process_is_known(
        self, worktree: Worktree, tmp_path: Path
    ) -> None:
        state = state_folder(tmp_path / "state", worktree)
        with EngineLock(worktree.git_dir) as lock:
            lock.claim(owner(RUN, state.folder))
            known = known_runs(worktree, state)
        assert known.live == RUN
        assert known.engine == (os.getpid(), own_start_time())
        assert known_runs(worktree, state).live is None

    @pytest.mark.usefixtures("inside")
    def test_approvals_of_other_work_trees_beside_it_are_refused_too(self, tmp_path: Path) -> None:
        own = find_worktree(repository(tmp_path / "own"))
        scratch = find_worktree(repository(tmp_path / "scratch"))
        state_folder(tmp_path / "state", own).run(RUN).folder.mkdir(parents=True)
        beside = state_folder(tmp_path / "state", scratch)
        require_outside(scratch, beside, "ralph allow")
        with pytest.raises(FromInside, match="RALPH_STATE_DIR"):
            require_own_trust(beside, "ralph allow")
        require_own_trust(state_folder(tmp_path / "tests", scratch), "ralph allow")


def owner(run: str, folder: Path) -> LockOwner:
    return LockOwner(
        pid=os.getpid(), process_start_time=own_start_time(), run=run, state_dir=str(folder)
    )
