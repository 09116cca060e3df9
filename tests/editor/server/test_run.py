"""A run as an editor has it: started, watched, asked, answered, to its end."""

from __future__ import annotations

import pytest

from tests.editor.conftest import StartEditor
from tests.editor.editor_client import NEOVIM, VS_CODE
from tests.engine.ralph_runner import Project
from tests.engine.steered_run import ASKS_FIRST

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("capabilities", [VS_CODE, NEOVIM])
async def test_a_run_is_started_watched_answered_and_complete(
    edit: StartEditor, loops: Project, capabilities: str
) -> None:
    loops.agent(ASKS_FIRST)
    editor = await edit(loops.repository, capabilities=capabilities)
    nothing = await editor.subscribe(view=True)
    assert "run" not in nothing
    begun = await editor.request("ralph/start", {"agentCommand": [loops.command]})
    await editor.event("questionAsked", question="red or blue?")
    answered = await editor.request("ralph/answer", {"text": "blue"})
    assert (answered["accepted"], answered["run"]) == (True, begun["run"])
    told = await editor.event("questionAnswered")
    assert told["by"] == ("Neovim" if capabilities == NEOVIM else "Visual Studio Code")
    ended = await editor.event("runEnded")
    assert ended["reason"] == "complete"
    assert [event["seq"] for event in editor.events()] == list(range(1, ended["seq"] + 1))
    last = await editor.view(lambda state: not state["live"] and state["phase"] == "ended")
    assert last["panel"]["state"] == "complete"
    # What the loop compares is nothing for viewers, and grows with each iteration.
    assert last["run"]["seen"] == []
