"""The features in the real server, over real runs: what an editor without any plugin sees and does.

One run a test, played through the whole: shown, answered or stopped from the editor, ended.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import client_capabilities

from ralph_ls.editor.codec import make_converter
from tests.editor.wire import Message, Wire
from tests.engine.cases import PRELUDE
from tests.engine.loop import end_marked, events_of, make_repository, newest_run, write_agent

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

VS_CODE, NEOVIM = "visual-studio-code@v1.65.2", "neovim@v0.11.0"

ASKS = """\
if [ $RALPH_ITERATION = 1 ]; then
    say '<promise>DECIDE:red or blue?</promise>'
else
    work; mark x 'First task'; commit
    report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' 'FILES_MODIFIED: 2'
    say 'All tasks are complete. The project is done.'
fi
"""


class Editor:
    """An editor with one work tree, and what it was told of each file."""

    def __init__(self, wire: Wire, folder: Path, name: str) -> None:
        self.wire = wire
        self.folder = folder
        self.uri = folder.as_uri()
        self._name = name
        self.told: dict[str, list[Message]] = {}
        """Diagnostics by file name."""
        self.progress: list[Message] = []
        self.token = ""
        """Of the progress that was told of last."""
        self.refreshes = 0

    async def initialize(self, capabilities: str, **options: Any) -> None:
        able = make_converter().unstructure(
            client_capabilities(capabilities), types.ClientCapabilities
        )
        await self.ask(
            "initialize",
            {
                "processId": None,
                "clientInfo": {"name": self._name},
                "rootUri": self.uri,
                "workspaceFolders": [{"uri": self.uri, "name": "w"}],
                "capabilities": able,
                "initializationOptions": options,
            },
        )
        self.wire.notify("initialized", {})

    async def ask(self, method: str, params: object) -> Any:
        number = self.wire.ask(method, params)
        answer = await self.until(lambda m: "method" not in m and m.get("id") == number)
        assert answer is not None
        assert "error" not in answer, answer
        return answer["result"]

    async def until(self, wanted: Callable[[Message], bool]) -> Message:
        """Take what comes, as an editor does, until it is this message."""
        while True:
            message = await self.wire.receive()
            self._take(message)
            if wanted(message):
                return message

    async def shown(self, file: str, wanted: Callable[[list[Message]], bool]) -> list[Message]:
        """Take what comes until the diagnostics of the file are as wanted."""
        while not wanted(self.told.get(file, [])):
            await self.until(lambda m: "method" in m)
        return self.told.get(file, [])

    async def progressed(self, words: str) -> Message:
        """Take what comes until the run's progress begins with these words."""
        while not self.progress or not self.progress[-1]["message"].startswith(words):
            await self.until(lambda m: m.get("method") == "$/progress")
        return self.progress[-1]

    def open(self, file: str) -> str:
        path = self.folder / file
        uri, text = path.as_uri(), path.read_text(encoding="utf-8")
        item = {"uri": uri, "languageId": "markdown", "version": 1, "text": text}
        self.wire.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    async def lenses(self, uri: str) -> dict[str, Message]:
        """By their titles."""
        found = await self.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return {lens["command"]["title"]: lens["command"] for lens in found}

    def _take(self, message: Message) -> None:
        match message.get("method"):
            case "textDocument/publishDiagnostics":
                name = message["params"]["uri"].rpartition("/")[2].replace("%40", "@")
                self.told[name] = message["params"]["diagnostics"]
            case "$/progress":
                self.progress.append(message["params"]["value"])
                self.token = message["params"]["token"]
            case "window/workDoneProgress/create" | "workspace/codeLens/refresh":
                self.refreshes += message["method"] == "workspace/codeLens/refresh"
                self.wire.send({"id": message["id"], "result": None})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", ("First task",))


@pytest_asyncio.fixture(loop_scope="module")
async def editors(folder: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts editors over the one work tree; whatever still lives when the test ends is ended."""
    started: list[Wire] = []

    async def start(capabilities: str, name: str, **options: Any) -> Editor:
        wire = await Wire.start("ralph_ls", shell='exec "$@" serve --stdio')
        started.append(wire)
        editor = Editor(wire, folder, name)
        await editor.initialize(capabilities, **options)
        return editor

    yield start
    for wire in started:
        await wire.close()
    found = newest_run(folder)
    if found is not None and found.live and found.owner is not None:
        psutil.Process(found.owner.pid).kill()
    end_marked(folder)


async def start_run(editor: Editor, tmp_path: Path, body: str, **more: Any) -> str:
    kept = tmp_path / "kept"
    kept.mkdir(exist_ok=True)
    command = write_agent(kept / "bin", PRELUDE.format(kept=shlex.quote(str(kept))) + body)
    params = {"workspace": editor.uri, "agentCommand": shlex.split(command), **more}
    reply = await editor.ask("ralph/start", {"maxIterations": 5, **params})
    assert reply["accepted"], reply
    run: str = reply["run"]
    return run


def codes(remarks: list[Message]) -> set[str]:
    return {remark["code"] for remark in remarks}


async def rename(editor: Editor, uri: str, line: int, text: str) -> Any:
    place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 0}}
    prepared = await editor.ask("textDocument/prepareRename", place)
    assert prepared["placeholder"] == ""
    return await editor.ask("textDocument/rename", {**place, "newName": text})


async def test_a_question_is_answered_by_renaming_and_another_editor_sees_by_whom(
    editors: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    neovim, code = await asyncio.gather(
        editors(NEOVIM, "Neovim"),
        editors(VS_CODE, "Visual Studio Code", commandPrefix="ralphLoop.lens"),
    )
    plan = neovim.open("@fix_plan.md")
    code.open("@fix_plan.md")
    assert "Start loop" in await neovim.lenses(plan)
    await code.lenses(plan)
    await start_run(neovim, tmp_path, ASKS)
    for editor in (neovim, code):
        remarks = await editor.shown(
            "@fix_plan.md", lambda found: "question-waiting" in codes(found)
        )
        [question] = [one for one in remarks if one["code"] == "question-waiting"]
        assert question["message"] == "iteration 1 asks: red or blue?"
        assert question["range"]["start"]["line"] == 2
        await editor.progressed("iteration 1 of 5 · waits for an answer to: red or blue?")
    assert (await neovim.lenses(plan))["Ralph asks: answer…"]["command"] == "ralph.answer"
    found = await code.lenses(plan)
    assert found["Ralph asks: answer…"]["command"] == "ralphLoop.lens.answer"
    assert await rename(neovim, plan, 2, "blue, like the sea 🌊") == {"changes": {}}
    for editor in (neovim, code):
        await editor.shown("@fix_plan.md", lambda found: "question-waiting" not in codes(found))
        await editor.progressed("complete: ")
        kinds = [value["kind"] for value in editor.progress]
        assert (kinds[0], kinds[-1], set(kinds[1:-1])) == ("begin", "end", {"report"})
    answered = next(e for e in events_of(folder) if e.kind == "questionAnswered")
    assert (answered.answer, answered.by) == ("blue, like the sea 🌊", "Neovim")  # type: ignore[union-attr]
    assert code.refreshes > 0
    assert neovim.refreshes == 0


async def test_an_answer_that_is_written_below_the_line_and_saved_is_taken(
    editors: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    editor = await editors(NEOVIM, "Neovim")
    await start_run(editor, tmp_path, ASKS.replace("else", "else wait_here"))
    await editor.shown("decide.txt", lambda found: "question-waiting" in codes(found))
    uri = editor.open(".ralph/decide.txt")
    path = folder / ".ralph/decide.txt"
    text = path.read_text(encoding="utf-8")
    at = {"line": text.count("\n"), "character": 0}
    change = {"range": {"start": at, "end": at}, "text": "blue\n"}
    document = {"uri": uri, "version": 2}
    editor.wire.notify(
        "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
    )
    remarks = await editor.shown("decide.txt", lambda found: "answer-pending" in codes(found))
    assert remarks[0]["message"] == "the answer counts once this file is saved"
    assert "save to answer" in await editor.lenses(uri)
    path.write_text(text + "blue\n", encoding="utf-8")
    editor.wire.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    remarks = await editor.shown("decide.txt", lambda found: "question-answered" in codes(found))
    told = "answered in .ralph/decide.txt: blue; the next iteration is told"
    assert remarks[0]["message"] == told
    assert "answered in .ralph/decide.txt" in await editor.lenses(uri)


async def test_cancelling_the_progress_stops_the_run_after_its_iteration(
    editors: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    editor = await editors(VS_CODE, "Visual Studio Code")
    body = "work; commit; report 'STATUS: IN_PROGRESS'; wait_here"
    (tmp_path / "kept").mkdir()
    os.mkfifo(tmp_path / "kept" / "go")
    run = await start_run(editor, tmp_path, body)
    await editor.progressed("iteration 1 of 5 · First task")
    assert editor.progress[0]["title"] == f"Ralph: run {run}"
    editor.wire.notify("window/workDoneProgress/cancel", {"token": editor.token})
    await editor.progressed("iteration 1 of 5 · stops after this iteration")
    (tmp_path / "kept" / "go").write_text("go\n", encoding="utf-8")
    ended = await editor.progressed("stopped: ")
    assert ended == {"kind": "end", "message": "stopped: stopped by Visual Studio Code"}
    end = events_of(folder)[-1]
    assert (end.kind, end.by) == ("runEnded", "Visual Studio Code")  # type: ignore[union-attr]
