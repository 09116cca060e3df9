"""What verbs say of earlier runs: statistics, exports, a report, and the pruning of output."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.engine.project_builder import copy_to_2024, newest_run, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import WORKER

OLD = "20240202T120000Z-0a1b"


@pytest.fixture
def old_run(ralph: Ralph, repository: Path, tmp_path: Path) -> Path:
    """A run, and a copy of it that ended in 2024."""
    command = write_agent(tmp_path, WORKER)
    assert ralph(repository, "run", "2", "--agent-command", command).code == 0
    found = newest_run(repository)
    assert found is not None
    return copy_to_2024(found.files.folder, OLD)


def test_output_is_pruned_and_the_numbers_stay(
    ralph: Ralph, repository: Path, old_run: Path
) -> None:
    shown = ralph(repository, "prune", "--dry-run")
    assert shown.code == 0
    assert OLD in shown.out
    assert list(old_run.glob("iteration-*"))

    asked = ralph(repository, "prune")
    assert asked.code == 64
    assert "--yes" in asked.err

    done = ralph(repository, "prune", "--all", "--yes", "--json")
    assert done.code == 0
    assert OLD in done.out
    assert not list(old_run.glob("iteration-*"))

    again = ralph(repository, "prune", "--keep-days", "30", "--max-bytes", "5 GB", "--yes")
    assert again.code == 0
    assert OLD not in again.out

    numbers = ralph(repository, "stats", "--run", OLD)
    assert numbers.code == 0
    assert f"the output of run {OLD} was removed on " in numbers.out


def test_statistics_exports_and_reports_have_the_same_tasks(
    ralph: Ralph, repository: Path, old_run: Path
) -> None:
    assert "First task" in ralph(repository, "stats").out
    assert json.loads(ralph(repository, "stats", "--json").out)
    exported = json.loads(ralph(repository, "export", "--format", "json").out)
    assert exported["runs"][0]["run"] == OLD
    assert ralph(repository, "export", "--format", "csv").out.count("\n") > 2
    page = ralph(repository, "report")
    assert page.code == 0
    assert "First task" in page.out
    target = repository.parent / "page.html"
    assert ralph(repository, "report", OLD, "--output", str(target)).code == 0
    assert "<script" not in target.read_text(encoding="utf-8")
    unknown = ralph(repository, "report", "20200101T000000Z-0000")
    assert unknown.code != 0
    assert "20200101T000000Z-0000" in unknown.err


def test_why_each_iteration_was_decided_as_it_was(
    ralph: Ralph, repository: Path, old_run: Path
) -> None:
    shown = ralph(repository, "status", "--why")
    assert shown.code == 0
    assert re.search(r"^Iteration 1: progress: ", shown.out, re.MULTILINE)
    assert json.loads(ralph(repository, "status", "--why", "--json").out)
