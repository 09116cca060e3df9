"""The features in the real server, over real runs: what an editor without any plugin sees and does.

One run a test, played through the whole: shown, answered or stopped from the editor, ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.editor.conftest import StartEditor
from tests.editor.editor_client import NEOVIM, VS_CODE, Editor, Message
from tests.engine.project_builder import events_of
from tests.engine.ralph_runner import Project
from tests.engine.steered_run import ASKS_FIRST, at_work, parked

pytestmark = pytest.mark.slow

PUBLISH, PROGRESS = "textDocument/publishDiagnostics", "$/progress"
PLAN, DECIDE = "@fix_plan.md", ".ralph/decide.txt"
ASKS_AND_WAITS = ASKS_FIRST.replace("exit; fi", "exit; fi\nwait_here")
"""As that one, but what follows waits at the gate."""
FIRST_TASK = 2
"""The task's line in the plan."""


def codes(remarks: list[Message]) -> list[str]:
    return [remark["code"] for remark in remarks]


async def shown(
    editor: Editor,
    project: Project,
    name: str,
    wanted: Callable[[list[str]], bool],
    *,
    since: int = 0,
) -> list[Message]:
    """The diagnostics of a file as soon as their codes are as wanted."""
    uri = project.file(name).as_uri()
    params = await editor.until(
        PUBLISH,
        lambda told: told["uri"] == uri and wanted(codes(told["diagnostics"])),
        since=since,
    )
    found: list[Message] = params["diagnostics"]
    return found


async def remarked(editor: Editor, project: Project, message: str) -> Message:
    """The diagnostic of the plan with this message."""
    uri = project.file(PLAN).as_uri()

    def has(told: Message) -> bool:
        return told["uri"] == uri and any(one["message"] == message for one in told["diagnostics"])

    told = await editor.until(PUBLISH, has)
    found: Message = next(one for one in told["diagnostics"] if one["message"] == message)
    return found


async def progressed(editor: Editor, words: str, *, since: int = 0) -> Message:
    """The first progress that begins with these words: its token and its value."""
    return await editor.until(
        PROGRESS,
        lambda told: (told["value"].get("message") or "").startswith(words),
        since=since,
    )


async def lenses(editor: Editor, uri: str) -> dict[str, Message]:
    """Commands by their titles."""
    found = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return {lens["command"]["title"]: lens["command"] for lens in found}


async def rename(editor: Editor, uri: str, line: int, text: str) -> Any:
    place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 0}}
    prepared = await editor.request("textDocument/prepareRename", place)
    assert prepared["placeholder"] == ""
    return await editor.request("textDocument/rename", {**place, "newName": text})


async def test_a_question_is_answered_by_renaming_and_another_editor_sees_it(
    edit: StartEditor, loops: Project
) -> None:
    loops.agent(ASKS_FIRST)
    neovim = await edit(loops.repository, capabilities=NEOVIM)
    prefix = {"commandPrefix": "ralphLoop.lens"}
    code = await edit(loops.repository, capabilities=VS_CODE, options=prefix)
    both = (neovim, code)
    plan, _ = (editor.open(loops.file(PLAN)) for editor in both)
    assert (await lenses(neovim, plan))["Start loop"]["command"] == "ralph.start"
    assert (await lenses(code, plan))["Start loop"]["command"] == "ralphLoop.lens.start"
    await neovim.request("ralph/start", {"agentCommand": [loops.command]})
    for editor in both:
        question = await remarked(editor, loops, "iteration 1 asks: red or blue?")
        assert question["code"] == "question-waiting"
        assert question["range"]["start"]["line"] == FIRST_TASK
        await progressed(editor, "iteration 1 of 20 · waits for an answer to: red or blue?")
    assert "Ralph asks: answer…" in await lenses(neovim, plan)
    assert "Ralph asks: answer…" in await lenses(code, plan)
    since = [len(editor.told) for editor in both]
    answer = "blue, like the sea 🌊"
    assert await rename(neovim, plan, FIRST_TASK, answer) == {"changes": {}}
    for editor, before in zip(both, since, strict=True):
        await shown(
            editor, loops, PLAN, lambda found: "question-waiting" not in found, since=before
        )
        ended = await progressed(editor, "complete: ")
        kinds = [told["value"]["kind"] for told in editor.all_told(PROGRESS)]
        assert (kinds[0], ended["value"]["kind"], kinds.count("end")) == ("begin", "end", 1)
    [answered] = [
        event for event in events_of(loops.repository) if event.kind == "questionAnswered"
    ]
    assert (answered.answer, answered.by) == (answer, "Neovim")  # type: ignore[union-attr]
    assert ("workspace/codeLens/refresh", {}) in code.asked
    assert ("workspace/codeLens/refresh", {}) not in neovim.asked


async def test_an_answer_that_is_written_below_the_line_and_saved_is_taken(
    edit: StartEditor, loops: Project
) -> None:
    loops.make_gate()
    running = parked(loops, ASKS_AND_WAITS, "decide")
    editor = await edit(loops.repository, capabilities=NEOVIM)
    await shown(editor, loops, DECIDE, lambda found: found == ["question-waiting"])
    text = loops.file(DECIDE).read_text(encoding="utf-8")
    uri = editor.open(loops.file(DECIDE))
    at = {"line": text.count("\n"), "character": 0}
    change = {"range": {"start": at, "end": at}, "text": "blue\n"}
    document = {"uri": uri, "version": 2}
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    [remark] = await shown(editor, loops, DECIDE, lambda found: found == ["answer-pending"])
    assert remark["message"] == "save this file to send the answer"
    assert "save to answer" in await lenses(editor, uri)
    loops.file(DECIDE).write_text(f"{text}blue\n", encoding="utf-8")
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    [remark] = await shown(editor, loops, DECIDE, lambda found: found == ["question-answered"])
    told = "answered in .ralph/decide.txt: blue; the agent gets it in the next iteration"
    assert remark["message"] == told
    assert "answered in .ralph/decide.txt" in await lenses(editor, uri)
    loops.open_gate()
    await asyncio.to_thread(running.wait)


async def test_an_answer_of_another_editor_is_shown_in_the_decide_file(
    edit: StartEditor, loops: Project
) -> None:
    loops.make_gate()
    running = parked(loops, ASKS_AND_WAITS, "decide")
    ada = await edit(loops.repository, name="Ada's editor")
    bob = await edit(loops.repository, name="Bob's editor")
    ada.open(loops.file(DECIDE))
    await shown(ada, loops, DECIDE, lambda found: found == ["question-waiting"])
    await bob.request("ralph/answer", {"text": "blue"})
    [remark] = await shown(ada, loops, DECIDE, lambda found: found == ["question-answered"])
    assert (
        remark["message"]
        == "answered by Bob's editor: blue; the agent gets it in the next iteration"
    )
    loops.open_gate()
    await asyncio.to_thread(running.wait)


async def test_without_an_engine_renaming_continues_the_run(
    edit: StartEditor, loops: Project
) -> None:
    parked(loops, ASKS_FIRST, "decide").kill()
    editor = await edit(loops.repository)
    plan = editor.open(loops.file(PLAN))
    await shown(editor, loops, PLAN, lambda found: "question-waiting" in found)
    assert "Ralph asks: answer and continue…" in await lenses(editor, plan)
    await rename(editor, plan, 0, "blue")
    await progressed(editor, "complete: ")
    [answered] = [
        event for event in events_of(loops.repository) if event.kind == "questionAnswered"
    ]
    assert answered.answer == "blue"  # type: ignore[union-attr]


async def test_cancelling_the_progress_stops_the_run_after_its_iteration(
    edit: StartEditor, loops: Project
) -> None:
    running = at_work(loops)
    editor = await edit(loops.repository)
    begun = await progressed(editor, "iteration 1 of ")
    assert begun["value"]["title"].startswith("Ralph: run 20")
    editor.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
    # Each iteration waits at the gate, so this one is not over until it is let through.
    await editor.until(
        PROGRESS,
        lambda told: "stops after this iteration" in (told["value"].get("message") or ""),
    )
    loops.open_gate()
    ended = await progressed(editor, "stopped: ")
    assert ended == {
        "token": begun["token"],
        "value": {"kind": "end", "message": "stopped: stopped by Visual Studio Code"},
    }
    done = await asyncio.to_thread(running.wait)
    assert done.kinds().count("iterationStarted") == 1


async def test_a_plan_that_changes_on_the_disk_is_checked_again(
    edit: StartEditor, loops: Project
) -> None:
    loops.plan()
    editor = await edit(loops.repository)
    plan = loops.file(PLAN)
    plan.write_text("- [!] 見積もり 🚀\n  - Blocked by: 鍵\n", encoding="utf-8")
    [remark] = await shown(editor, loops, PLAN, lambda found: found == ["task-blocked"])
    assert remark["range"]["end"] == {"line": 0, "character": 6 + 4 + 1 + 2}
    since = len(editor.told)
    plan.unlink()
    await shown(editor, loops, PLAN, lambda found: found == [], since=since)


async def test_after_shutdown_nothing_more_is_sent(edit: StartEditor, loops: Project) -> None:
    parked(loops, ASKS_FIRST, "decide")
    editor = await edit(loops.repository)
    editor.open(loops.file(PLAN))
    await progressed(editor, "iteration 1 of ")
    await shown(editor, loops, PLAN, lambda found: "question-waiting" in found)
    await editor.request("shutdown")
    n_told = len(editor.told)
    editor.notify("exit")
    assert await asyncio.to_thread(editor.process.wait, 10) == 0
    assert editor.told[n_told:] == []
