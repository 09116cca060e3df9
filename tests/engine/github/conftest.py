"""What tests of runs on a queue are given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.github.queue_project import QueueProject
from tests.engine.ralph_runner import Project
from tests.fakes import gh


@pytest.fixture
def queue(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QueueProject:
    """A repository whose remote is on a GitHub with a queue, and a ``gh`` that is logged in."""
    made = QueueProject(project, tmp_path / "github.json", tmp_path / "calls.jsonl")
    program = gh.install(tmp_path / "github")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_GITHUB", str(made.database))
    monkeypatch.setenv("FAKE_CALLS", str(made.calls))
    monkeypatch.setenv("GH_TOKEN", "gho_0123456789")
    return made
