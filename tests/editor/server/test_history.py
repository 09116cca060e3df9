"""Requests about all runs of a work tree, and verbs whose text an editor shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.editor.conftest import StartEditor
from tests.engine.project_builder import copy_to_2024, make_repository
from tests.engine.ralph_runner import Project
from tests.engine.steered_run import at_work

pytestmark = pytest.mark.slow

OLD = "20240131T120000Z-0a1b"
COMMITS = "work; commit; report 'STATUS: IN_PROGRESS'"


class TestRuns:
    async def test_every_run_is_listed_and_opened_and_an_earlier_one_can_be_undone(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.plan("First task", "Second task")
        loops.agent(COMMITS)
        loops.run("2")
        loops.run("1")
        editor = await edit(loops.repository)
        told = await editor.request("ralph/runs")
        newest, first = told["runs"]
        assert [newest["iterations"], first["iterations"]] == [1, 2]
        assert first["tasks"] == ["First task"]
        assert (first["end"], first["pruned"]) == ("limit", False)
        page = await editor.request("ralph/iterations", {"run": first["key"]})
        assert [row["start"] for row in page["rows"]] == [2, 1]
        assert page["rows"][0]["task"] == "First task"
        assert all(row["canRollBack"] and row["changes"] for row in page["rows"])
        older = await editor.request("ralph/iterations", {"run": first["key"], "before": 2})
        assert ([row["start"] for row in older["rows"]], older["older"]) == ([1], 0)
        changes = await editor.request("ralph/changes", {"run": first["key"], "start": 1})
        assert len(changes["files"]) > 0
        undone = await editor.request("ralph/rollback", {"run": first["key"], "start": 2})
        assert undone["done"], undone
        after = await editor.request("ralph/iterations", {"run": first["key"]})
        assert [row.get("undone", False) for row in after["rows"]] == [True, False]
        gone = await editor.request("ralph/iterations", {"run": newest["key"]})
        assert [row["undone"] for row in gone["rows"]] == [True]
        assert not any(row["canRollBack"] for row in gone["rows"])

    async def test_live_and_waiting_runs_of_every_work_tree_are_named(
        self, edit: StartEditor, loops: Project, tmp_path: Path
    ) -> None:
        loops.plan("First task", "Second task")
        at_work(loops)
        here = make_repository(tmp_path / "here", ["A task"])
        editor = await edit(here)
        told = await editor.request("ralph/runs")
        assert told["runs"] == []
        (live,) = told["anywhere"]
        assert (await editor.request("ralph/anywhere")) == {"runs": [live]}
        assert (live["workspace"], live["live"]) == (str(loops.repository), True)
        assert live["task"]["title"] == "First task"

    async def test_a_run_that_is_not_there_is_refused(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.plan("First task")
        editor = await edit(loops.repository)
        unknown = {"run": "20260131T120000Z-abcd"}
        refused = await editor.refusal("ralph/iterations", unknown)
        assert "there is no run 20260131T120000Z-abcd" in refused.message


class TestTexts:
    async def test_a_text_is_what_the_verb_prints(self, edit: StartEditor, loops: Project) -> None:
        loops.plan("First task")
        loops.agent(COMMITS)
        loops.run("1")
        editor = await edit(loops.repository)
        (run,) = (await editor.request("ralph/runs"))["runs"]
        key = run["key"]
        wanted = {
            "stats": f"Runs in {loops.repository}",
            "why": "Iteration 1: progress",
            "report": "# ",
            "csv": "run,iteration,mode",
            "doctor": "git",
            "dryRun": "First task",
        }
        for what, words in wanted.items():
            text = (await editor.request("ralph/inspect", {"what": what}))["text"]
            assert words in text, (what, text)
        shown = await editor.request("ralph/inspect", {"what": "show", "run": key, "iteration": 1})
        assert "Decision" in shown["text"]
        assert "Prompt:" in shown["text"]
        exported = await editor.request("ralph/inspect", {"what": "json", "run": key})
        assert json.loads(exported["text"])["runs"][0]["run"] == key
        wrong = await editor.refusal("ralph/inspect", {"what": "show", "run": key, "iteration": 9})
        assert "has no iteration 9" in wrong.message
        assert wrong.data == {"code": "used-wrongly"}

    async def test_archiving_is_previewed_and_then_done(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.plan("First task")
        loops.agent("tick 'First task'; work; commit; report 'STATUS: COMPLETE'")
        loops.run("1")
        editor = await edit(loops.repository)
        planned = await editor.request("ralph/maintain", {"what": "archive", "dryRun": True})
        assert "Would be archived in archive/" in planned["text"]
        # That is for a terminal: an editor asks whether to do it.
        assert "dry run" not in planned["text"]
        assert not (loops.repository / "archive").exists()
        done = await editor.request("ralph/maintain", {"what": "archive"})
        assert "Archived in archive/" in done["text"]
        assert (loops.repository / "archive").is_dir()
        pruned = await editor.request("ralph/maintain", {"what": "prune", "dryRun": True})
        assert (pruned["nothing"], "Nothing to delete" in pruned["text"]) == (True, True)

    async def test_output_is_listed_for_a_dialog_and_then_deleted(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.plan("First task", "Second task")
        loops.agent(COMMITS)
        loops.run("1")
        copy_to_2024(loops.run_folder(), OLD)
        editor = await edit(loops.repository)
        _, first = (await editor.request("ralph/runs"))["runs"]
        prune = {"what": "prune"}
        planned = await editor.request("ralph/maintain", {**prune, "dryRun": True})
        assert not planned["nothing"]
        heading, run, total = planned["text"].splitlines()
        assert heading == "Runs by the time of their end:"
        assert re.fullmatch(
            r"\d{4}-\d\d-\d\d \d\d:\d\d: \d+ files, .* \(\[state\] keep_days = 90\)", run
        )
        assert "can be freed" in total
        assert not (await editor.request("ralph/runs"))["runs"][1]["pruned"]
        done = await editor.request("ralph/maintain", prune)
        assert "Deleted the output of 1 run" in done["text"]
        after = (await editor.request("ralph/runs"))["runs"]
        assert [run["pruned"] for run in after] == [False, True]
        assert {**after[1], "pruned": False} == first
        page = await editor.request("ralph/iterations", {"run": first["key"]})
        assert [row["task"] for row in page["rows"]] == ["First task"]

    async def test_what_a_verb_refuses_is_an_error_with_its_words(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.plan("First task")
        at_work(loops)
        editor = await edit(loops.repository)
        refused = await editor.refusal("ralph/maintain", {"what": "archive"})
        assert "run" in refused.message
        assert refused.data == {"code": "workspace-busy"}
        assert not (loops.repository / "archive").exists()

    async def test_nothing_is_asked_of_programs_in_a_folder_that_is_not_trusted(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.plan("First task")
        editor = await edit(loops.repository, options={"readOnly": True})
        for method, params in (
            ("ralph/inspect", {"what": "doctor"}),
            ("ralph/inspect", {"what": "dryRun"}),
            ("ralph/maintain", {"what": "prune"}),
        ):
            assert (await editor.refusal(method, params)).data == {"code": "read-only"}
        assert (await editor.request("ralph/runs"))["runs"] == []
