"""The dashboard's page in a real browser: every width and theme, keyboard, figures, paper."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import need
from tests.e2e.vscode import install
from tests.engine.project_builder import ROOT, run_ralph
from tests.sample_runs import write_runs

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

WITH_NODE = ROOT / "client-vscode" / "scripts" / "with_node.py"
LOOK = Path(__file__).with_name("dashboard.mjs")

TOTALS = {
    "tasks completed": "tasksDone",
    "commits": "commits",
    "files changed": "files",
    "iterations": "iterations",
    "runs": "runs",
    "known cost": "costUsd",
    "a completed task": "averageTaskCostUsd",
    "iterations of unknown cost": "withoutCost",
    "tokens": "tokens",
    "time": "seconds",
    "an iteration": "averageIterationSeconds",
    "clean iterations": "iterationSuccessRate",
    "complete runs": "runSuccessRate",
    "interventions an iteration": "humanInterventionRate",
    "context used, at most": "largestContext",
    "answers to questions": "answers",
}
"""Figures of the page, and the fields of ``ralph stats --json`` that they show."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three weeks of runs, up to now; their state is beside it."""
    folder = tmp_path_factory.mktemp("dashboard")
    write_runs(folder / "state", folder / "shop", runs=20, iterations=30, until=datetime.now(UTC))
    return folder / "shop"


@pytest.fixture(scope="module")
def seen(repository: Path, output_folder: Path) -> dict[str, Any]:
    """What a browser saw of the file that ``ralph dashboard`` wrote."""
    need(install.missing())
    page = output_folder / "dashboard.html"
    ralph(repository, "dashboard", "--no-open", "--output", str(page))
    asked = {
        "driverModules": install.driver_modules(),
        "chromium": install.chromium(),
        "page": page,
        "output": output_folder,
    }
    done = subprocess.run(
        [sys.executable, str(WITH_NODE), "node", str(LOOK)],
        input=json.dumps(asked, default=str),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ralph(repository: Path, *arguments: str) -> str:
    state = {"RALPH_STATE_DIR": str(repository.parent / "state")}
    done = run_ralph(repository, *arguments, env={**os.environ, **state})
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_it_asks_nobody_for_anything_and_fails_nowhere(seen: dict[str, Any]) -> None:
    assert [url for url in seen["requests"] if not url.startswith(("file:", "data:"))] == []
    assert seen["errors"] == []


def test_it_holds_at_every_width_in_every_theme(seen: dict[str, Any]) -> None:
    assert len(seen["looks"]) == 16
    wide = [(look["name"], look["width"]) for look in seen["looks"] if look["overflow"] > 0]
    assert wide == []


def test_it_is_accessible_by_the_rules_of_wcag(seen: dict[str, Any]) -> None:
    found = {
        violation: (look["name"], look["width"])
        for look in seen["looks"]
        for violation in look["violations"]
    }
    assert found == {}


def test_its_figures_are_those_of_the_terminal(seen: dict[str, Any], repository: Path) -> None:
    totals = json.loads(ralph(repository, "stats", "--json"))["totals"]
    expected = {name: totals[field] for name, field in TOTALS.items()}
    shown = {name: float(seen["figures"][name]) for name in TOTALS}
    assert shown == expected


def test_it_is_used_by_keyboard_alone(seen: dict[str, Any], repository: Path) -> None:
    for name in ("Folder", "All time", "Run", "CSV", "Day", "Tasks completed", "All values"):
        assert name in seen["focused"]
    assert "days=7" in seen["chosen"]["hash"]
    document = json.loads(ralph(repository, "dashboard", "--json"))
    week = next(one for one in document["ranges"] if one.get("days") == 7)
    for name in ("iterations", "commits", "tokens"):
        assert float(seen["chosen"]["figures"][name]) == week["totals"][TOTALS[name]]
    assert seen["values"]["first"] != seen["values"]["last"]


def test_on_paper_it_has_its_figures_and_no_controls(seen: dict[str, Any]) -> None:
    assert not seen["printed"]["controls"]
    assert {"What it cost", "Over time", "All values"} <= set(seen["printed"]["headings"])
