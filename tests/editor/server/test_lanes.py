"""Lanes of a parallel run in an editor: their rows, and an answer to one of several."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.editor.conftest import StartEditor
from tests.engine.parallel.lanes_project import WORK, LanesProject
from tests.engine.parallel.test_lanes_listed import ASKS
from tests.engine.ralph_runner import Ralph

pytestmark = pytest.mark.slow


async def test_lanes_are_listed_and_each_of_several_is_answered(
    edit: StartEditor, ralph: Ralph, tmp_path: Path
) -> None:
    project = LanesProject(ralph, tmp_path)
    project.tasks("Task A", "Task B", "Task C").agent(ASKS + WORK)
    run = project.start("--parallel", "3", "--on-halt", "wait")
    await asyncio.to_thread(run.wait_for, "phaseChanged", phase="parked", reason="decide")
    editor = await edit(project.repository)
    await editor.subscribe(view=True)
    asked = await editor.view(lambda state: state["panel"]["waiting"] == 2)

    assert asked["panel"]["state"] == "asks"
    assert asked["panel"]["doing"].startswith("1 of 3 merged into ralph/session-")
    assert asked["needsPerson"]
    found = (await editor.request("ralph/lanes", {}))["lanes"]
    assert [row["state"] for row in found["rows"]] == ["working", "working", "merged"]
    assert all(row["start"] for row in found["rows"])
    both = await editor.request("ralph/answer", {"text": "blue"})
    assert (both["accepted"], both["code"]) == (False, "several-questions")

    for row in found["rows"][:2]:
        text = f"SQLite file {row['question'][-2]}"
        params = {"text": text, "task": row["task"]["id"]}
        reply = await editor.request("ralph/answer", params)
        assert reply["accepted"], reply
    done = await asyncio.to_thread(run.wait)
    assert done.exit_code == 0, done.stdout + done.stderr
    assert sorted(project.subjects()) == ["Task A", "Task B", "Task C"]
    refused = await editor.refusal("ralph/answer", {"text": "blue", "task": "none"})
    assert "has the task none" in refused.message


async def test_a_run_without_lanes_has_none(
    edit: StartEditor, ralph: Ralph, tmp_path: Path
) -> None:
    project = LanesProject(ralph, tmp_path)
    project.tasks("Task A").agent(WORK)
    editor = await edit(project.repository)
    assert await editor.request("ralph/lanes", {}) == {}
    ran = project.run(env={"RALPH_LANE": "none"})
    assert ran.exit_code == 0
    assert await editor.request("ralph/lanes", {}) == {}


async def test_an_editor_starts_a_parallel_run(
    edit: StartEditor, ralph: Ralph, tmp_path: Path
) -> None:
    project = LanesProject(ralph, tmp_path)
    project.tasks("Task A", "Task B").agent(WORK)
    editor = await edit(project.repository)
    await editor.subscribe(view=True)
    begun = await editor.request("ralph/start", {"parallel": 2, "agentCommand": [project.command]})
    assert begun["accepted"], begun
    ended = await editor.event("runEnded")
    assert ended["reason"] == "complete"
    assert sorted(project.subjects()) == ["Task A", "Task B"]
