"""The recorded sessions are those of today's server.

``UPDATE_SNAPSHOTS=1`` records them again; look at the difference before you commit it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.client.sessions import FOLDER, read_session, session_names
from tests.editor.client.recording import ROOT, as_text, outline, recording
from tests.editor.conftest import StartEditor
from tests.editor.editor_client import NEOVIM, Editor, capabilities_of
from tests.engine.project_builder import make_repository
from tests.engine.ralph_runner import Project

pytestmark = pytest.mark.slow

ASKS = "work; commit; say '<promise>DECIDE:PostgreSQL or SQLite?</promise>'; exit"
FINISHES = "work; mark x First; commit; say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'"
QUESTION = f'if [ "$RALPH_START" = 1 ]; then {ASKS}; fi\n{FINISHES}\n'
WHOLE = f"""\
case "$RALPH_START" in
  1) {ASKS} ;;
  2) say '<promise>BLOCKED:the database has no password</promise>'; exit ;;
  3) report 'STATUS: BLOCKED' 'RECOMMENDATION: look at the failing test'; exit ;;
esac
{FINISHES}
"""

Script = Callable[[Editor, Path], Awaitable[None]]


async def question(editor: Editor, plan: Path) -> None:
    await editor.subscribe(messages=True, view=True)
    await editor.request("ralph/start", {"maxIterations": 5})
    await editor.event("phaseChanged", phase="parked", reason="decide")
    await editor.request("ralph/answer", {"text": "SQLite"})
    await editor.event("runEnded")
    await editor.leave()


async def whole_loop(editor: Editor, plan: Path) -> None:
    await editor.subscribe(messages=True, view=True)
    await editor.request("ralph/start", {"maxIterations": 9})
    await editor.event("phaseChanged", phase="parked", reason="decide")
    await editor.request("ralph/answer", {"text": "SQLite"})
    await editor.event("phaseChanged", phase="parked", reason="blocked")
    await editor.request("ralph/resume")
    await editor.event("phaseChanged", phase="parked", reason="stuck")
    await editor.request("ralph/reset")
    await editor.event("runEnded")
    await editor.leave()


async def plain_lsp(editor: Editor, plan: Path) -> None:
    uri = editor.open(plan)
    await look(editor, uri)
    for verb, argument, code in (
        ("start", {"maxIterations": 9}, "question-waiting"),
        ("answer", {"text": "SQLite"}, "run-blocked"),
        ("resume", {}, "breaker-open"),
    ):
        since = len(editor.told)
        await editor.command(verb, argument)
        await editor.until("textDocument/publishDiagnostics", has(code), since=since)
        await look(editor, uri)
    since = len(editor.told)
    await editor.command("reset")
    ends = lambda params: params["value"]["kind"] == "end"  # noqa: E731
    await editor.until("$/progress", ends, since=since)
    await look(editor, uri)
    await editor.leave()


async def look(editor: Editor, uri: str) -> None:
    """What an editor asks while the plan is shown."""
    document = {"textDocument": {"uri": uri}}
    for method in ("codeLens", "documentSymbol", "foldingRange"):
        await editor.request(f"textDocument/{method}", document)
    await editor.request("textDocument/hover", {**document, "position": at(0)})
    for line in (0, 2):
        asked = {"range": {"start": at(line), "end": at(line)}, "context": {"diagnostics": []}}
        await editor.request("textDocument/codeAction", {**document, **asked})


def at(line: int) -> dict[str, int]:
    return {"line": line, "character": 0}


def has(code: str) -> Callable[[dict[str, Any]], bool]:
    return lambda params: any(each.get("code") == code for each in params["diagnostics"])


SESSIONS: dict[str, tuple[str, str, Script]] = {
    "question": (
        "start, a question, its answer, completion; by methods of ours",
        QUESTION,
        question,
    ),
    "whole-loop": (
        "start, a question, a blocker, an open breaker, completion; by methods of ours",
        WHOLE,
        whole_loop,
    ),
    "plain-lsp": (
        "start, a question, a blocker, an open breaker, completion; by plain LSP",
        WHOLE,
        plain_lsp,
    ),
}


def test_each_that_is_shipped_is_recorded_here() -> None:
    assert session_names() == sorted(SESSIONS)


@pytest.mark.parametrize("name", SESSIONS)
async def test_a_session_is_what_the_server_sends_today(
    edit: StartEditor, loops: Project, tmp_path: Path, name: str
) -> None:
    about, agent, script = SESSIONS[name]
    make_repository(
        loops.repository, ["First task"], files={".ralph/config.toml": loops.settings()}
    )
    loops.agent(agent)
    assert loops.tell("allow", "--yes").exit_code == 0
    with recording() as lines:
        # Neovim with the file of our page.
        able = {**capabilities_of(NEOVIM)["workspace"], "codeLens": {"refreshSupport": True}}
        editor = await edit(loops.repository, capabilities=NEOVIM, changes={"workspace": able})
        await script(editor, loops.file("@fix_plan.md"))
    folders = {loops.repository: ROOT, loops.kept: "/home/ada/agent"}
    made = tmp_path / f"{name}.jsonl"
    made.write_text(as_text(about, lines, folders), encoding="utf-8")
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / made.name).write_bytes(made.read_bytes())
    assert outline(read_session(str(made))) == outline(read_session(name))
