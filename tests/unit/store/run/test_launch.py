from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from ralph_ls.store.layout import RunFiles, find_worktree, state_folder, state_root
from ralph_ls.store.own_python import own_command
from ralph_ls.store.run.launch import ERROR_TAIL, command_line, launch_detached
from tests.engine.project_builder import make_repository, wait_for, write_agent
from tests.unit.core.views.run_states import run_started
from tests.unit.store.store_builders import RUN, to_lines


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "tree")


def files_of(repository: Path) -> RunFiles:
    return state_folder(state_root(os.environ), find_worktree(repository)).run(RUN)


def test_our_own_program_is_started_with_nothing_of_the_folder_on_its_import_path() -> None:
    assert command_line(["status"]) == own_command("-m", "ralph_ls", "status")


@pytest.mark.slow
def test_an_engine_is_started_in_a_separate_session(repository: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    agent = write_agent(tmp_path / "agents", f"cat '{go}'; echo said >&2")
    launched = launch_detached(
        ["run", "1", "--run-id", RUN, "--agent-command", agent],
        cwd=repository,
        environment=os.environ,
        files=files_of(repository),
    )
    assert launched.started
    assert (launched.exit_code, launched.error) == (None, "")
    engine = psutil.Process(launched.pid)
    assert os.getsid(engine.pid) == engine.pid
    assert os.getsid(engine.pid) != os.getsid(0)
    assert engine.cmdline()[1:4] == own_command("-m", "ralph_ls")[1:]
    errors = files_of(repository).engine_errors
    assert errors.stat().st_mode & 0o777 == 0o600
    assert errors.parent.stat().st_mode & 0o777 == 0o700
    wait_for(repository, "agentStarted")
    go.write_text("go\n", encoding="utf-8")
    wait_for(repository, "runEnded", exit_code=1)
    engine.wait(30)
    assert errors.read_text(encoding="utf-8") == ""


@pytest.mark.slow
def test_an_engine_that_cannot_start_says_why(tmp_path: Path) -> None:
    files = RunFiles(folder=tmp_path / "run")
    for _ in range(2):
        launched = launch_detached(["run", "1"], cwd=tmp_path, environment=os.environ, files=files)
        assert not launched.started
        assert launched.exit_code == 5
        # What an earlier one said is not said again.
        assert launched.error == (
            f"ralph: {tmp_path} is not in a git work tree; change into your repository, or create "
            "one with git init"
        )
    assert len(files.engine_errors.read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.slow
def test_what_a_run_reported_before_is_no_start(tmp_path: Path) -> None:
    files = RunFiles(folder=tmp_path / "run")
    files.folder.mkdir()
    files.journal.write_bytes(to_lines([run_started()]))
    launched = launch_detached(
        ["run", "--resume"], cwd=tmp_path, environment=os.environ, files=files
    )
    assert (launched.started, launched.exit_code) == (False, 5)


@pytest.mark.slow
def test_of_a_long_complaint_the_end_is_reported(tmp_path: Path) -> None:
    files = RunFiles(folder=tmp_path / "run")
    launched = launch_detached(
        ["no-such-verb-" + "x" * 2 * ERROR_TAIL],
        cwd=tmp_path,
        environment=os.environ,
        files=files,
    )
    assert launched.exit_code == 64
    assert len(launched.error) == ERROR_TAIL
    assert launched.error.endswith("\nTry: ralph --help")
