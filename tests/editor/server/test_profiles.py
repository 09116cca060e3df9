"""Whole servers on work trees whose plan is no markdown: stories, issues of ``bd``, a request."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.store.layout import find_worktree, state_folder, state_root
from ralph_ls.store.project.plan_file import read_saves
from tests.editor.conftest import StartEditor
from tests.editor.editor_client import Editor, Message
from tests.editor.scripted_run import NOON, made_run
from tests.engine.project_builder import git
from tests.fakes import bd
from tests.unit.core.plan.stories.story_builder import RETURNED, WAITING, story, text_of

pytestmark = pytest.mark.slow

STORIES = text_of(story("US-1"), story("US-2", **RETURNED))


def repository_of(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    git(folder, "init", "-q")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "The beginning")
    return folder


async def plan_of(editor: Editor) -> dict[str, Any]:
    state = await editor.request("ralph/state")
    plan: dict[str, Any] = state["plan"]
    return plan


class TestStories:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        return repository_of(tmp_path / "shop", {"ralph/tasks.json": STORIES})

    async def test_the_tree_has_stories_with_their_reviews(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        plan = await plan_of(editor)
        assert plan["path"] == "ralph/tasks.json"
        assert [(one["id"], one["state"], one["words"]) for one in plan["tasks"]] == [
            ("US-1", "todo", ""),
            ("US-2", "inProgress", "changes requested in review 1: Name the key"),
        ]
        assert not any(one["canBlock"] for one in plan["tasks"])

    async def test_a_story_is_reset_in_its_file_and_cannot_be_blocked(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        await editor.request("ralph/resetTask", {"task": "US-2"})
        written = (repository / "ralph/tasks.json").read_text(encoding="utf-8")
        assert written == text_of(story("US-1"), story("US-2", notes="Reset for retry"))
        refused = await editor.refusal("ralph/editTask", {"task": "US-1", "edit": "block"})
        assert "add what it waits for to its dependsOn" in refused.message
        await editor.request("ralph/editTask", {"task": "US-2", "edit": "move", "before": "US-1"})
        assert [one["id"] for one in (await plan_of(editor))["tasks"]] == ["US-2", "US-1"]

    async def test_a_save_is_known_as_the_users(self, edit: StartEditor, repository: Path) -> None:
        editor = await edit(repository)
        path = repository / "ralph/tasks.json"
        uri = editor.open(path, STORIES)
        passed = text_of(story("US-1", **WAITING), story("US-2", **RETURNED))
        editor.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": passed}]},
        )
        path.write_text(passed, encoding="utf-8")
        editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        worktree = find_worktree(repository)
        state = state_folder(state_root(os.environ), worktree)
        await editor.request("ralph/state")
        # Saves are kept by a separate thread, and all of them before the server ends.
        assert await editor.leave() == 0
        (saved,) = read_saves(state, "ralph/tasks.json", since=NOON)
        assert saved.decided == (("reviewStatus", "US-1"),)

    async def test_other_json_is_none_of_ours(self, edit: StartEditor, repository: Path) -> None:
        other = repository / ".vscode/tasks.json"
        other.parent.mkdir()
        other.write_text("{", encoding="utf-8")
        editor = await edit(repository)
        uri = editor.open(other)
        about = {"textDocument": {"uri": uri}}
        assert await editor.request("textDocument/codeLens", about) is None
        assert not [
            told
            for told in editor.all_told("textDocument/publishDiagnostics")
            if told["uri"] == uri
        ]


class TestIssues:
    @pytest.fixture
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        bd.install(tmp_path / "bin")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
        folder = repository_of(tmp_path / "shop", {})
        bd.seed(
            folder,
            {"id": "bd-1", "title": "Log in", "acceptance_criteria": "- make test passes"},
            {"id": "bd-2", "title": "Log out", "needs": ["bd-1"]},
        )
        return folder

    async def issues(self, editor: Editor, n_tasks: int = 2) -> Message:
        """The state of the tree once ``bd`` was asked."""
        return await editor.view(lambda state: len(state["plan"]["tasks"]) == n_tasks)

    async def test_the_tree_has_issues_without_any_document(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        await editor.subscribe(view=True, events=False)
        state = await self.issues(editor)
        plan = state["plan"]
        assert (plan.get("uri"), plan["path"]) == (None, "bd")
        assert [(one["id"], one["words"]) for one in plan["tasks"]] == [
            ("bd-1", ""),
            ("bd-2", "waits for bd-1 (Log in)"),
        ]
        panel = state["panel"]
        assert panel["tasks"] == {"value": 0, "of": 2}
        assert [action["verb"] for action in panel["actions"]] == ["start"]
        (fact,) = [fact for fact in panel["facts"] if fact["key"] == "plan"]
        assert fact["text"] == "1 remark"
        assert "bd update bd-2 --acceptance" in fact["more"]

    async def test_what_bd_changes_is_seen(self, edit: StartEditor, repository: Path) -> None:
        editor = await edit(repository)
        await editor.subscribe(view=True, events=False)
        await self.issues(editor)
        bd.seed(repository, {"id": "bd-3", "title": "One more"})
        state = await self.issues(editor, 1)
        assert [one["title"] for one in state["plan"]["tasks"]] == ["One more"]

    async def test_an_issue_is_reset_through_bd_and_edited_there_alone(
        self, edit: StartEditor, repository: Path
    ) -> None:
        bd.seed(repository, {"id": "bd-1", "title": "Log in", "status": "in_progress"})
        editor = await edit(repository)
        reply = await editor.request("ralph/resetTask", {"task": "bd-1"})
        assert reply["text"] == "the issue bd-1 is open in bd"
        issue = bd.issues_of(repository)["bd-1"]
        assert (issue["status"], issue["notes"]) == ("open", "Reset for retry")
        refused = await editor.refusal("ralph/editTask", {"task": "bd-1", "edit": "block"})
        assert "change them there, for example with: bd update" in refused.message

    async def test_an_engines_reading_is_believed_while_it_works(
        self, edit: StartEditor, repository: Path
    ) -> None:
        from ralph_ls.core.plan.formats.beads.snapshot import snapshot_to_text
        from ralph_ls.protocol.config.config import Config, ProfileName
        from tests.unit.core.plan.beads.test_queue import snapshot_of

        with made_run(repository, begun=False) as made:
            made.begin(plan="bd", config=Config(profile=ProfileName.BEADS))
            text = snapshot_to_text(snapshot_of({"id": "bd-7", "title": "From the engine"}))
            made.files.plan_before.write_text(text, encoding="utf-8")
            editor = await edit(repository)
            await editor.subscribe(view=True, events=False)
            state = await self.issues(editor, 1)
            assert state["plan"]["tasks"][0]["title"] == "From the engine"

    async def test_bd_is_never_asked_in_a_folder_that_nobody_trusts(
        self, edit: StartEditor, repository: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "bin/bd").write_text("#!/bin/sh\ntouch asked\n", encoding="utf-8")
        editor = await edit(repository, options={"readOnly": True})
        plan = await plan_of(editor)
        assert plan["tasks"] == []
        assert not (repository / "asked").exists()

    async def test_without_bd_the_plan_says_what_to_install(
        self, edit: StartEditor, repository: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "bin/bd").unlink()
        editor = await edit(repository)
        await editor.subscribe(view=True, events=False)
        state = await editor.view(lambda state: state["plan"]["problems"] != [])
        (problem,) = state["plan"]["problems"]
        assert problem["code"] == "issues-missing"
        assert "was not found on PATH; install it" in problem["message"]


class TestRequests:
    async def test_its_file_has_lenses_and_the_panel_its_title(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        config = 'profile = "issue"\n[issue]\nfile = "issue.md"\n'
        repository = repository_of(
            tmp_path / "shop",
            {".ralph/config.toml": config, "issue.md": "# Log in\n\n- [ ] with a key\n"},
        )
        editor = await edit(repository)
        uri = editor.open(repository / "issue.md")
        lenses = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        assert [lens["command"]["title"] for lens in lenses] == ["Start loop"]
        state = await editor.request("ralph/state")
        assert state["plan"]["path"] == "issue.md"
        assert state["plan"]["tasks"] == []
        assert json.dumps(state["panel"]).count("0 of 0") == 0
