"""A repository with a plan, and ``ralph`` as a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.loop import make_repository
from tests.unit.cli.calling import Ralph, caller


@pytest.fixture
def ralph(capsys: pytest.CaptureFixture[str]) -> Ralph:
    return caller(capsys)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "tree", ["First task", "Second task"])
