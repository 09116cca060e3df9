"""Requests about one row: a task is skipped, reset or edited; an iteration is looked at."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.editor.conftest import StartEditor
from tests.editor.editor_client import Editor
from tests.engine.project_builder import make_repository
from tests.engine.ralph_runner import Project
from tests.engine.steered_run import at_work

pytestmark = pytest.mark.slow

COMMITS = "work; commit; report 'STATUS: IN_PROGRESS'"


def git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=repository, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


async def rows(editor: Editor) -> list[dict[str, Any]]:
    state = await editor.request("ralph/state")
    tasks: list[dict[str, Any]] = state["plan"]["tasks"]
    return tasks


def edits_of(editor: Editor) -> list[dict[str, Any]]:
    """What the server wanted changed in documents."""
    asked = [params for method, params in editor.asked if method == "workspace/applyEdit"]
    return [edit for one in asked for edit in one["edit"]["documentChanges"]]


class TestTasks:
    async def test_a_task_is_skipped_during_a_run(self, edit: StartEditor, loops: Project) -> None:
        loops.plan("First task", "Second task")
        at_work(loops)
        editor = await edit(loops.repository)
        first, second = await rows(editor)
        reply = await editor.request("ralph/skip", {"task": second["id"]})
        assert (reply["accepted"], reply["code"]) == (True, "accepted")
        again = await editor.command("skip", {"task": second["id"], "run": reply["run"]})
        assert (again["accepted"], again["code"]) == (False, "skipped")
        told = await rows(editor)
        assert [task["skipped"] for task in told] == [False, True]
        assert told[1]["words"] == "skipped in this run"
        await editor.request("ralph/resetTask", {"task": second["id"]})
        assert [task["skipped"] for task in await rows(editor)] == [False, False]
        assert first["id"] != second["id"]

    async def test_without_an_engine_a_skip_is_refused_at_once(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.agent("report 'STATUS: IN_PROGRESS'")
        loops.run("1")
        editor = await edit(loops.repository)
        refused = await editor.refusal("ralph/skip", {"task": (await rows(editor))[0]["id"]})
        assert (refused.code, refused.data) == (-32803, {"code": "no-engine"})
        assert "a task can only be skipped during a run" in refused.message

    async def test_a_plan_that_is_not_open_is_edited_in_its_file(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        repository = make_repository(tmp_path / "repository", ["First task", "Second task"])
        plan = repository / "@fix_plan.md"
        before = plan.read_text(encoding="utf-8")
        editor = await edit(repository)
        first, second = (task["id"] for task in await rows(editor))
        blocked = await editor.request(
            "ralph/editTask", {"task": first, "edit": "block", "reason": "needs keys"}
        )
        assert blocked["text"] == "the task 'First task' is blocked in @fix_plan.md"
        assert "[BLOCKED] First task\n  - Blocked by: needs keys\n" in plan.read_text("utf-8")
        assert (await rows(editor))[0]["state"] == "blocked"
        await editor.command("editTask", {"task": first, "edit": "unblock"})
        assert plan.read_text(encoding="utf-8") == before
        await editor.request("ralph/editTask", {"task": second, "edit": "move", "before": first})
        assert [task["id"] for task in await rows(editor)] == [second, first]
        still = await editor.request("ralph/editTask", {"task": first, "edit": "move"})
        assert still["text"].endswith("is already that way in @fix_plan.md")
        refused = await editor.refusal("ralph/editTask", {"task": first, "edit": "unblock"})
        assert "is not blocked" in refused.message
        assert edits_of(editor) == []

    async def test_a_plan_that_is_open_is_edited_there_and_nothing_unsaved_is_lost(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        repository = make_repository(tmp_path / "repository", ["First task", "Second task"])
        plan = repository / "@fix_plan.md"
        on_disk = plan.read_text(encoding="utf-8")
        editor = await edit(repository)
        unsaved = on_disk.replace("[ ] First task", "[x] First task") + "\nunsaved words\n"
        editor.open(plan, unsaved)
        first = (await rows(editor))[0]["id"]
        reply = await editor.request("ralph/resetTask", {"task": first})
        assert reply["text"].startswith("the task 'First task' is open in @fix_plan.md; save it")
        (change,) = edits_of(editor)
        assert change["textDocument"]["version"] == 1
        assert "unsaved words" not in str(change["edits"])
        assert "Reset for retry" in str(change["edits"])
        assert plan.read_text(encoding="utf-8") == on_disk
        moved = await editor.request("ralph/editTask", {"task": first, "edit": "move"})
        assert moved["text"] == (
            "the task 'First task' was moved in @fix_plan.md; save it, because the loop reads "
            "the file"
        )
        missing = await editor.refusal("ralph/editTask", {"task": "nobody", "edit": "move"})
        assert "the plan in the editor has no task 'nobody'" in missing.message

    async def test_an_editor_that_does_not_make_the_edit_is_reported(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        repository = make_repository(tmp_path / "repository", ["First task"])
        editor = await edit(repository)
        editor.open(repository / "@fix_plan.md")
        editor.results["workspace/applyEdit"] = {"applied": False, "failureReason": "typing"}
        task = (await rows(editor))[0]["id"]
        refused = await editor.refusal("ralph/editTask", {"task": task, "edit": "block"})
        assert refused.message.startswith("the editor did not change the plan: typing;")

    async def test_without_a_plan_it_is_refused(self, edit: StartEditor, tmp_path: Path) -> None:
        repository = make_repository(tmp_path / "repository")
        (repository / "@fix_plan.md").unlink()
        editor = await edit(repository)
        refused = await editor.refusal("ralph/resetTask", {"task": "a"})
        assert refused.data == {"code": "plan-missing"}


class TestIterations:
    async def test_its_changes_are_shown_with_files_as_they_were(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.agent(COMMITS)
        base = git(loops.repository, "rev-parse", "HEAD")
        loops.run("2")
        editor = await edit(loops.repository)
        state = await editor.request("ralph/state")
        newest, oldest = state["panel"]["rows"]
        assert (newest["changes"], newest["canRollBack"]) == (True, True)
        first = await editor.request("ralph/changes", {"start": 1})
        assert (first["base"], first["head"]) == (base, oldest["commit"])
        assert [one["subject"] for one in first["commits"]] == ["Work 1"]
        assert first["files"] == [{"path": "work.txt", "status": "added", "binary": False}]
        second = await editor.command("changes", {"start": 2, "run": state["run"]["run"]})
        assert second["files"][0]["status"] == "modified"
        for commit, text in ((newest["commit"], "1\n2\n"), (oldest["commit"], "1\n")):
            shown = await editor.request("ralph/fileAt", {"commit": commit, "path": "work.txt"})
            assert shown == {"text": text, "binary": False, "size": len(text)}
        gone = await editor.request("ralph/fileAt", {"commit": base, "path": "work.txt"})
        assert gone == {"binary": False}
        outside = await editor.refusal("ralph/fileAt", {"commit": base, "path": "../secret"})
        assert outside.data == {"code": "used-wrongly"}
        never = await editor.refusal("ralph/changes", {"start": 9})
        assert never.message.endswith("has no start 9; its last one is 2")

    async def test_a_roll_back_is_shown_then_made_or_refused_with_a_reason(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.agent(COMMITS)
        base = git(loops.repository, "rev-parse", "HEAD")
        loops.run("2")
        editor = await edit(loops.repository)
        shown = await editor.request("ralph/rollback", {"start": 1, "dryRun": True})
        assert (shown["done"], shown["target"], len(shown["commits"])) == (False, base, 2)
        (loops.repository / "mine.txt").write_text("mine\n", encoding="utf-8")
        refused = await editor.request("ralph/rollback", {"start": 1})
        assert (refused["done"], refused["refused"]["code"]) == (False, "dirty-tree")
        (loops.repository / "mine.txt").unlink()
        done = await editor.command("rollback", {"start": 1, "run": shown["run"]})
        assert done["done"]
        assert await asyncio.to_thread(git, loops.repository, "rev-parse", "HEAD") == base
        state = await editor.request("ralph/state")
        rows = state["panel"]["rows"]
        assert [(row.get("undone"), row["canRollBack"]) for row in rows] == [(True, False)] * 2

    async def test_while_an_engine_works_nothing_is_offered(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.agent(COMMITS)
        loops.run("1")
        at_work(loops)
        editor = await edit(loops.repository)
        state = await editor.request("ralph/state")
        assert [row["canRollBack"] for row in state["panel"]["rows"]] == [False]
        refused = await editor.request("ralph/rollback", {"start": 1})
        assert refused["refused"]["code"] == "run-goes-on"
        going = await editor.request("ralph/changes", {"start": 1})
        assert "head" not in going
