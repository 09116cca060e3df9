"""Runs of the release before in an editor: listed, opened and drawn like those of this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.editor.conftest import StartEditor
from tests.engine.ralph_runner import Ralph
from tests.previous_release.layout import NAMES, Before, lay_out

pytestmark = pytest.mark.slow

ENDS = {"limit": "limit", "decide": "decide", "killed": "crashed"}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def before(name: str, tmp_path: Path, ralph: Ralph, state_dir: Path) -> Before:
    return lay_out(name, tmp_path, ralph, state=state_dir)


async def test_they_are_listed_and_their_iterations_opened(
    edit: StartEditor, before: Before, name: str
) -> None:
    editor = await edit(before.root)
    found = await editor.request("ralph/runs")
    (run,) = found["runs"]
    assert (run["key"], run["end"], run["pruned"]) == (before.run.name, ENDS[name], False)
    page = await editor.request("ralph/iterations", {"run": run["key"]})
    ended = [line["iteration"] for line in before.lines() if line["kind"] == "iterationEnded"]
    assert [row["iteration"] for row in reversed(page["rows"])] == ended
    assert page["older"] == 0
    for row in page["rows"]:
        asked = {"run": run["key"], "start": row["start"]}
        changes = await editor.request("ralph/changes", asked)
        assert len(changes["files"]) == row["files"]


async def test_texts_about_them_are_what_verbs_print(
    edit: StartEditor, before: Before, name: str
) -> None:
    editor = await edit(before.root)
    key = before.run.name
    wanted: dict[str, tuple[dict[str, Any], str]] = {
        "stats": ({}, f"Runs in {before.root}"),
        "why": ({}, "Iteration 1" if name != "killed" else "No iteration has ended yet"),
        "report": ({"run": key}, "# "),
        "show": ({"run": key, "iteration": 1}, "Prompt:"),
        "csv": ({"run": key}, "run,iteration,mode"),
        "json": ({"run": key}, key),
    }
    for what, (params, words) in wanted.items():
        printed = await editor.request("ralph/inspect", {"what": what, **params})
        assert words in printed["text"], (what, printed["text"])


async def test_the_dashboard_has_the_figures_of_stats(edit: StartEditor, before: Before) -> None:
    editor = await edit(before.root)
    drawn = await editor.request("ralph/dashboard")
    stats = json.loads(before("stats", "--json").stdout)
    (folder,), (measured,) = drawn["folders"], stats["runs"]
    (run,) = folder["runs"]
    assert (run["key"], run["iterations"]) == (before.run.name, len(measured["iterations"]))
    whole = next(one for one in drawn["ranges"] if "days" not in one)
    assert whole["totals"] == stats["totals"]
