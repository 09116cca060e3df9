"""What the user sees of a command, and what is shown before an approval or a rollback."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.editor.conftest import StartEditor
from tests.editor.editor_client import Editor
from tests.editor.scripted_run import RUN, made_run
from tests.editor.server.test_rows import COMMITS
from tests.engine.project_builder import git, make_repository
from tests.engine.ralph_runner import Project

pytestmark = pytest.mark.slow

ERROR, WARNING, INFO = 1, 2, 3


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", ["First task"])


def shown(editor: Editor) -> list[tuple[int, str]]:
    """The messages that the user has seen since."""
    found = [(one["type"], one["message"]) for one in editor.all_told("window/showMessage")]
    editor.told[:] = [one for one in editor.told if one[0] != "window/showMessage"]
    return found


def private_text(uri: str) -> str:
    """The text of a file that its owner alone can read."""
    file = Path(uri.removeprefix("file://"))
    assert file.stat().st_mode & 0o077 == 0
    return file.read_text(encoding="utf-8")


async def actions(editor: Editor, uri: str, **where: Any) -> dict[str, dict[str, Any]]:
    """The commands that are offered on the first line, by their names without the prefix."""
    at = {"line": where.get("line", 0), "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": [], "triggerKind": 1},
    }
    found = await editor.request("textDocument/codeAction", params)
    return {
        one["command"]["command"].removeprefix("ralph."): one["command"]["arguments"][0]
        for one in found
        if "command" in one
    }


async def test_refusals_are_shown_and_so_is_what_was_accepted(
    edit: StartEditor, repository: Path
) -> None:
    with made_run(repository):
        editor = await edit(repository)
        await editor.command("stop", {"run": "20250131T120000Z-0a1b"})
        other = f"this is run {RUN}, not 20250131T120000Z-0a1b"
        assert shown(editor) == [(WARNING, other)]
        await editor.refusal("workspace/executeCommand", {"command": "ralph.note"})
        assert shown(editor) == [(ERROR, "ralph/note: text: is missing")]
        await editor.command("state")
        await editor.command("showFile", {"path": "@fix_plan.md"})
        assert shown(editor) == []
        assert editor.all_told("window/logMessage")[-1]["message"].startswith("opened ")


async def test_an_acceptance_is_shown(edit: StartEditor, repository: Path) -> None:
    editor = await edit(repository)
    left = await editor.command("note", "mind the tax")
    assert shown(editor) == [(INFO, left["text"])]
    gone = await editor.refusal("workspace/executeCommand", {"command": "ralph.pause"})
    assert shown(editor) == [(ERROR, gone.message)]


async def test_a_client_with_its_own_commands_shows_answers_itself(
    edit: StartEditor, repository: Path
) -> None:
    editor = await edit(repository, options={"commandPrefix": "ralphLoop.lens"})
    await editor.request("ralph/note", {"text": "mind the tax"})
    await editor.refusal("ralph/pause")
    assert shown(editor) == []


@pytest.mark.parametrize("opens", [True, False])
async def test_what_waits_for_approval_is_shown_then_allowed(
    edit: StartEditor, repository: Path, opens: bool
) -> None:
    settings = repository / ".ralph" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('on_pr_ready = ["./ask.sh", "--now"]\n', encoding="utf-8")
    editor = await edit(repository, changes={} if opens else {"window": {}})
    uri = editor.open(repository / "@fix_plan.md")
    before = await actions(editor, uri)
    assert "showApproval" in before
    assert "allow" not in before
    review = await editor.command("showApproval", before["showApproval"])
    assert "./ask.sh" in review["shown"]
    assert review["code"] == ("opened" if opens else "not-opened")
    assert shown(editor) == ([] if opens else [(INFO, review["shown"])])
    if opens:
        [(_, document)] = [one for one in editor.asked if one[0] == "window/showDocument"]
        assert private_text(document["uri"]) == review["shown"]
    allow = (await actions(editor, uri))["allow"]
    assert allow["sha256"] == review["sha256"]
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("--now", "--later"), encoding="utf-8")
    refused = await editor.refusal(
        "workspace/executeCommand", {"command": "ralph.allow", "arguments": [allow]}
    )
    assert refused.data == {"code": "not-allowed"}
    assert "allow" not in await actions(editor, uri)
    settings.write_text(text, encoding="utf-8")
    assert (await editor.command("allow", allow))["accepted"]
    assert "showApproval" not in await actions(editor, uri)


async def test_nothing_is_allowed_unseen(edit: StartEditor, repository: Path) -> None:
    editor = await edit(repository)
    refused = await editor.refusal("workspace/executeCommand", {"command": "ralph.allow"})
    assert refused.data["problems"][0]["field"] == "sha256"


async def test_changes_and_a_rollback_are_shown_then_it_is_rolled_back(
    edit: StartEditor, loops: Project
) -> None:
    loops.agent(COMMITS)
    base = git(loops.repository, "rev-parse", "HEAD")
    loops.run("2")
    editor = await edit(loops.repository)
    uri = editor.open(loops.repository / "@fix_plan.md")
    offered = await actions(editor, uri)
    changes = await editor.command("showChanges", offered["showChanges"])
    assert "+2" in changes["shown"]
    assert changes["text"].endswith("iteration-002.diff")
    assert "rollback" not in offered
    review = await editor.command("showRollback", {**offered["showRollback"], "start": 1})
    assert "undoes 2 commits on" in review["shown"]
    rollback = (await actions(editor, uri))["rollback"]
    stale = {**rollback, "sha256": "0" * 64}
    refused = await editor.refusal(
        "workspace/executeCommand", {"command": "ralph.rollback", "arguments": [stale]}
    )
    assert refused.data == {"code": "not-allowed"}
    assert (await editor.command("rollback", rollback))["done"]
    kind, message = shown(editor)[-1]
    assert (kind, message.split(";")[0]) == (
        INFO,
        "rolled back to before iteration 1: 2 commits undone",
    )
    assert await asyncio.to_thread(git, loops.repository, "rev-parse", "HEAD") == base
