"""What tests with Neovim are given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editor.nvim import neovim
from tests.engine.conftest import ralph
from tests.engine.project_builder import end_run
from tests.engine.ralph_runner import Project, Ralph

__all__ = ["ralph", "project"]


@pytest.fixture(autouse=True)
def _forked_servers(server_program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neovim starts a server that is forked, unless a test has ``REAL_PROGRAMS`` on its PATH."""
    monkeypatch.setattr(neovim, "programs", server_program)


@pytest.fixture
def project(ralph: Ralph, tmp_path: Path) -> Iterator[Project]:
    """A place for a repository and an agent; an engine that an editor started ends with it."""
    made = Project(ralph, tmp_path)
    yield made
    end_run(made.repository)
