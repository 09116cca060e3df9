"""What tests of git's evidence are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.git.repository_builder import Repository, make_repository


@pytest.fixture
def empty(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "work")


@pytest.fixture
def repository(empty: Repository) -> Repository:
    empty.commit("a.txt", "b.txt", "dir/c.txt", subject="begin")
    return empty
