"""Verbs about runs that really happened, with their figures (docs/rules.md#metrics)."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.engine.ralph_runner import Project

pytestmark = pytest.mark.slow

WORKS_ONCE = """\
[ "$RALPH_START" = 1 ] && { mark x First; work; commit; }
says one 0.25 'Done for now.'
"""


def test_what_the_runs_here_came_to_is_shown_in_numbers(project: Project) -> None:
    project.plan("First task", "Second task")
    project.run_claude(WORKS_ONCE, "2", "--agent", "claude")
    project.run_claude("exit 1", "1", "--agent", "claude", "--max-stuck", "1")
    told = json.loads(project.tell("runs", "--json").stdout)
    first, second = told["runs"]
    assert [(one["end"], one["exitCode"], len(one["iterations"])) for one in (first, second)] == [
        ("limit", 1, 2),
        ("stuck", 4, 1),
    ]
    done, idle = first["iterations"]
    seen = [done[key] for key in ("clean", "commits", "files", "tasksDone", "costUsd")]
    assert seen == [True, 1, 1, 1, 0.25]
    assert done["task"]["title"] == "First task"
    assert [idle[key] for key in ("clean", "commits", "tasksDone")] == [False, 0, 0]
    (receipt,) = first["receipts"]
    took = ("done", "attempts", "iterations", "tokens", "costUsd", "commit")
    assert [receipt[key] for key in took] == [True, 1, 1, 1100, 0.25, done["commit"]]
    assert second["receipts"] == []
    totals = told["totals"]
    assert totals["runs"] == 2
    assert totals["ends"] == {"limit": 1, "stuck": 1}
    assert totals["iterationSuccessRate"] == pytest.approx(1 / 3, abs=1e-6)
    assert (totals["costUsd"], totals["tokens"], totals["tasksDone"]) == (0.5, 2200, 1)

    shown = project.tell("runs").stdout
    assert f"{first['run']} " in shown
    assert "Iterations:    3, 33 % clean\n" in shown
    assert "Cost:          $0.50\n" in shown
    assert f"ralph show {second['run'][-4:]}\n" in shown
    alone = project.tell("show", first["run"][-4:]).stdout
    assert f"Iterations of run {first['run']}\n" in alone
    assert second["run"] not in alone
    assert f"Finished tasks of run {first['run']}\n" in alone
    assert "Finished tasks" not in shown

    rows = list(csv.DictReader(io.StringIO(project.tell("export").stdout)))
    assert [(row["run"], row["iteration"], row["cost_usd"]) for row in rows] == [
        (first["run"], "1", "0.25"),
        (first["run"], "2", "0.25"),
        (second["run"], "1", ""),
    ]
    only = project.tell("export", "--format", "json", "--run", second["run"])
    assert json.loads(only.stdout)["runs"] == [second]
    assert project.tell("export", "--json", "--run", second["run"]).stdout == only.stdout
    assert project.tell("export", "--json", "--format", "csv").exit_code == 64
    refused = project.tell("export", "--format", "xml")
    assert (refused.exit_code, refused.stderr) == (
        64,
        "ralph: unknown format 'xml'; use csv or json\nTry: ralph export --help\n",
    )
    _check_report(project, first["run"], second["run"])
    unknown = project.tell("show", "20200101T000000Z-0000")
    assert unknown.exit_code == 64
    assert "there is no run 20200101T000000Z-0000 in " in unknown.stderr


def _check_report(project: Project, earlier: str, newest: str) -> None:
    page = project.tell("report").stdout
    assert page.startswith(f"# Ralph run {newest}: stuck\n")
    written = project.tell("report", earlier, "--output", "run.html")
    assert (written.stdout, written.exit_code) == ("Wrote run.html\n", 0)
    html = (project.repository / "run.html").read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "<dt>Cost</dt><dd>$0.50</dd>" in html
    assert project.tell("report", "--format", "html").stdout.startswith("<!doctype html>")
    assert project.tell("report", "--format", "pdf").exit_code == 64
    assert project.tell("report", "20200101T000000Z-0000").exit_code == 64
    missing = project.tell("report", "--output", "no/run.md")
    assert missing.exit_code == 5
    assert "no/run.md" in missing.stderr


def test_where_there_was_never_a_run_that_is_shown(project: Project) -> None:
    project.plan()
    assert project.tell("runs").stdout.startswith("No run in ")
    assert json.loads(project.tell("stats", "--json").stdout)["totals"]["iterations"] == 0
    assert "no run in " in project.tell("report").stderr
