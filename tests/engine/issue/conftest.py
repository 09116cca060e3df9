"""What tests of runs on a request are given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fakes import gh


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A GitHub with the issue 12, and a ``gh`` that is logged in there."""
    path = tmp_path / "github.json"
    comment = {"author": "grace", "body": "Only on Mondays", "association": "MEMBER"}
    gh.seed(path, i12={"title": "Letters get lost", "body": "Find out why.", "comments": [comment]})
    program = gh.install(tmp_path / "github")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_GITHUB", str(path))
    monkeypatch.setenv("GH_TOKEN", "gho_0123456789")
    return path
