"""What tests with Neovim are given."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ralph_ls.store.lock import is_held, read_owner
from tests.engine.cases import Ralph, Scene
from tests.engine.conftest import nursery, ralph
from tests.engine.loop import PATIENCE, end_marked, worktree_of

__all__ = ["nursery", "ralph", "scene"]


@pytest.fixture
def scene(ralph: Ralph, tmp_path: Path) -> Iterator[Scene]:
    """A place for a repository and an agent; an engine that an editor started ends with it."""
    made = Scene(ralph, tmp_path)
    yield made
    if (made.repository / ".git").exists():
        _end_engine(made.repository)


def _end_engine(repository: Path) -> None:
    git_dir = worktree_of(repository).git_dir
    owner = read_owner(git_dir)
    if owner is None or not is_held(git_dir):
        return
    process = psutil.Process(owner.pid)
    os.kill(owner.pid, signal.SIGKILL)
    process.wait(PATIENCE)
    end_marked(repository)
