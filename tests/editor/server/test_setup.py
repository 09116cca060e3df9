"""The set-up wizard's requests: choices, rules, a proposed plan and its end, the files."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.editor.conftest import StartEditor
from tests.engine.project_builder import PATIENCE, git, make_repository, write_agent

pytestmark = pytest.mark.slow

DESCRIPTION = "Let people reset a password. Done when a test shows it, and all others pass."
ITEMS = [{"title": "Send a mail", "priority": "P0", "detail": "soon"}, {"title": "Be quick"}]
HANGS = """\
cat >/dev/null
(trap '' TERM; exec 9>"{kept}/held"; : >"{kept}/here"; sleep 600) &
sleep 600
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "README.md").write_text("# A project\n", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "The beginning")
    return folder


def agent(tmp_path: Path, body: str) -> list[str]:
    command = write_agent(tmp_path / "agents", body.replace("{kept}", str(tmp_path)))
    return shlex.split(command)


def files_of(result: Any) -> dict[str, str]:
    return {file["path"]: file["action"] for file in result["files"]}


class TestChoices:
    async def test_what_can_be_chosen_where_nothing_is_set_up(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        found = await editor.request("ralph/setupChoices")
        assert [one["name"] for one in found["profiles"]] == [
            *("fixplan", "spec", "stories", "beads", "issue"),
        ]
        assert [one["title"] for one in found["templates"]][:5] == [
            *("Bug Fix", "Feature", "Refactoring", "Test Coverage", "Documentation"),
        ]
        agents = {one["name"]: one["found"] for one in found["agents"]}
        assert agents["demo"] is True
        assert [one["found"] for one in found["agents"]] == sorted(agents.values(), reverse=True)
        known = {"claude", "codex", "cline", "gemini", "opencode", "qwen", "copilot"}
        assert known <= set(agents)
        missing = [one for one in found["agents"] if not one["found"] and one["name"] in known]
        assert all(one["detail"].startswith("install it with npm install -g ") for one in missing)
        assert (found["alreadySetUp"], found.get("existingPlan")) == (False, None)
        assert found.get("profile") is None
        assert found["defaults"]["completionPhrase"] == "COMPLETE"
        assert found["defaults"]["maxIterations"] == 20
        assert await editor.command("setupChoices") == found

    async def test_what_is_there_and_what_the_repository_brings(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        repository = make_repository(tmp_path / "set-up")
        (repository / ".ralph").mkdir()
        (repository / ".ralph" / "config.toml").write_text(
            'agent = "house"\nmax_iterations = 3\n[agents.house]\nargv = ["/bin/sh"]\n'
            '[agents.gone]\nargv = ["no-such-program"]\n'
        )
        editor = await edit(repository)
        found = await editor.request("ralph/setupChoices")
        assert (found["alreadySetUp"], found["existingPlan"]) == (True, "@fix_plan.md")
        assert found["profile"] == "fixplan"
        by_name = {one["name"]: one for one in found["agents"]}
        assert by_name["house"] == {
            "name": "house",
            "found": True,
            "detail": "/bin/sh",
            "needsAllow": True,
        }
        assert by_name["gone"]["found"] is False
        assert "'no-such-program' was not found on PATH" in by_name["gone"]["detail"]
        assert (found["defaults"]["agent"], found["defaults"]["maxIterations"]) == ("house", 3)

    async def test_settings_that_cannot_be_read_are_reported(
        self, edit: StartEditor, repository: Path
    ) -> None:
        (repository / ".ralph").mkdir()
        (repository / ".ralph" / "config.toml").write_text("profile = ")
        editor = await edit(repository)
        refused = await editor.refusal("ralph/setupChoices")
        assert (refused.code, refused.data["code"]) == (-32803, "config-unusable")


class TestRules:
    async def test_a_draft_is_judged_and_the_most_severe_comes_first(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        draft = {"description": "Short", "completionPhrase": "no", "timeout": "1m", "items": []}
        found = await editor.request("ralph/validateSetup", draft)
        assert [(one["field"], one["severity"]) for one in found["problems"]] == [
            ("completionPhrase", "error"),
            ("timeout", "error"),
            ("items", "error"),
            ("description", "warning"),
            ("description", "warning"),
            ("description", "information"),
        ]
        assert found["problems"][-1]["fix"]["text"] == "All new code has tests and they pass."
        assert await editor.command("validateSetup", draft) == found
        assert await editor.request("ralph/validateSetup", {"timeout": 1800}) == {"problems": []}


class TestProposal:
    async def test_an_agent_proposes_items(
        self, edit: StartEditor, repository: Path, tmp_path: Path
    ) -> None:
        command = agent(tmp_path, "cat >/dev/null; printf '%s\\n' '## P0' '- [ ] Send a mail'")
        editor = await edit(repository)
        order = {"description": DESCRIPTION, "agentCommand": command, "template": "feature"}
        found = await editor.request("ralph/proposePlan", order)
        item = {"title": "Send a mail", "priority": "P0", "detail": ""}
        assert found == {"items": [item], "notes": []}
        assert await editor.command("proposePlan", order) == found
        assert git(repository, "status", "--porcelain") == ""

    async def test_giving_up_ends_the_agent_with_all_that_it_started(
        self, edit: StartEditor, repository: Path, tmp_path: Path
    ) -> None:
        for name in ("here", "held"):
            os.mkfifo(tmp_path / name)
        command = agent(tmp_path, HANGS)
        editor = await edit(repository)
        order = {"description": DESCRIPTION, "agentCommand": command}
        answer = editor.ask("ralph/proposePlan", order)
        # What holds its other end is the last of the agent's processes.
        held = asyncio.create_task(asyncio.to_thread((tmp_path / "held").read_bytes))
        await asyncio.to_thread((tmp_path / "here").read_bytes)
        editor.cancel_last()
        async with asyncio.timeout(PATIENCE):
            told = await answer
            await held
        assert told["error"]["code"] == -32800
        assert await editor.request("ralph/validateSetup") == {"problems": []}

    @pytest.mark.parametrize(
        ("order", "code", "words"),
        [
            ({"description": " "}, -32602, "A task description is needed."),
            (
                {"description": "x", "agent": "demo", "agentCommand": ["x"]},
                -32602,
                "give agent or agentCommand, not both",
            ),
            ({"description": "x", "agentPrompt": "file"}, -32602, "goes with agentCommand"),
            ({"description": "x", "agent": "nobody"}, -32803, "no agent 'nobody'"),
            ({"description": "x", "template": "nothing"}, -32803, "no template 'nothing'"),
        ],
    )
    async def test_what_was_asked_wrongly_is_refused(
        self, edit: StartEditor, repository: Path, order: Any, code: int, words: str
    ) -> None:
        editor = await edit(repository)
        refused = await editor.refusal("ralph/proposePlan", order)
        assert refused.code == code
        assert words in refused.message


class TestSetup:
    async def test_the_files_are_shown_then_written_and_the_loop_is_set_up(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        order = {"description": DESCRIPTION, "items": ITEMS, "timeout": "10m", "agent": "demo"}
        shown = await editor.request("ralph/setup", order)
        assert (shown["written"], set(files_of(shown).values())) == (False, {"create"})
        assert git(repository, "status", "--porcelain") == ""
        written = await editor.request("ralph/setup", {**order, "dryRun": False})
        assert written == {**shown, "written": True}
        for file in written["files"]:
            assert (repository / file["path"]).read_text(encoding="utf-8") == file["text"]
        state = await editor.request("ralph/state")
        assert [task["title"] for task in state["plan"]["tasks"]] == ["Send a mail", "Be quick"]
        again = await editor.command("setup", order)
        assert set(files_of(again).values()) == {"keep"}
        assert len(again["notes"]) == 2

    async def test_errors_are_reported_by_their_fields(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        refused = await editor.refusal("ralph/setup", {"timeout": 60, "dryRun": False})
        assert refused.code == -32602
        assert [one["field"] for one in refused.data["problems"]] == [
            "description",
            "timeout",
            "items",
        ]
        assert git(repository, "status", "--porcelain") == ""

    async def test_where_the_folder_is_not_trusted_nothing_is_started_or_written(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository, options={"readOnly": True})
        for method in ("ralph/setup", "ralph/proposePlan"):
            order = {"description": DESCRIPTION}
            refused = await editor.refusal(method, order)
            assert refused.data["code"] == "read-only"
        assert await editor.request("ralph/validateSetup") == {"problems": []}
