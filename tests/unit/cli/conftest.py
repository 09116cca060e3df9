"""A repository with a plan, and ``ralph`` as a function."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ralph_ls.store.layout import find_worktree
from ralph_ls.store.run import launch
from ralph_ls.store.run.lock import is_same_process, read_owner
from tests.engine.forked_ralph import Launches, fork_server
from tests.engine.project_builder import end_marked, make_repository
from tests.unit.cli.cli_runner import Ralph, caller


@pytest.fixture
def ralph(capsys: pytest.CaptureFixture[str]) -> Ralph:
    return caller(capsys)


@pytest.fixture
def forked_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """What starts in the background is forked; how it really starts is tested in store/run."""
    monkeypatch.setattr(launch, "subprocess", Launches(fork_server()))


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    """Two tasks to do; an engine that a failed test left behind is killed with its agent."""
    folder = make_repository(tmp_path / "tree", ["First task", "Second task"])
    yield folder
    owner = read_owner(find_worktree(folder).git_dir)
    if owner is None:
        return
    if is_same_process(owner.pid, owner.process_start_time) and owner.pid != os.getpid():
        psutil.Process(owner.pid).kill()
    # One that a test killed has left an agent as well.
    if owner.pid != os.getpid():
        end_marked(folder)
