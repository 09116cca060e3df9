"""Every control of a loop by code actions alone, in each client that LSP is spoken by.

Capabilities are recorded from the editors, or taken from their public sources
(``tests/data/clients``); how each asks for the actions of a line is part of it. No client passes a
diagnostic, and none has a lens.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pytest_lsp import client_capabilities

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.editor.lsp.codec import make_converter
from ralph_ls.editor.worktree.snapshot import WorkspaceSnapshot
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.run.events import BlockedRaised, CircuitBreakerStateChange, QuestionAsked
from ralph_ls.protocol.run.values import Breaker, BreakerState, Phase
from tests.editor.in_process_editor import (
    NEOVIM,
    VS_CODE,
    InProcessEditor,
    Message,
    View,
    Views,
    picture_of,
)
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    PLAN,
    ROUND,
    begins,
    event,
    phase,
    started,
)

pytestmark = pytest.mark.asyncio

CLIENTS = Path(__file__).parents[2] / "data" / "clients"

KINDS = [
    "quickfix",
    "refactor.rewrite",
    "source.ralph.run",
    "source.ralph.task",
    "source.ralph.lesson",
]


def on_line(line: int) -> Message:
    """The cursor alone."""
    at = {"line": line, "character": 2}
    return {"start": at, "end": at}


def to_next_line(line: int) -> Message:
    """The whole line with its end, as Kate asks."""
    return {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}


@dataclass(frozen=True)
class Client:
    """How a client asks for code actions."""

    capabilities: Callable[[], Message]
    where: Callable[[int], Message] = on_line
    only: tuple[str, ...] | None = None
    trigger: int | None = 1
    prefix: str | None = None


@functools.cache
def known(name: str) -> Message:
    shown: Message = make_converter().unstructure(
        client_capabilities(name), types.ClientCapabilities
    )
    return shown


def recorded(name: str) -> Message:
    text = (CLIENTS / f"{name}.json").read_text(encoding="utf-8")
    found: Message = json.loads(text)["capabilities"]
    return found


def with_refresh() -> Message:
    """Neovim with the file of our page."""
    able = known(NEOVIM)
    lens = {"codeLens": {"refreshSupport": True}}
    return {**able, "workspace": {**able["workspace"], **lens}}


CLIENTS_BY_NAME = {
    "neovim": Client(functools.partial(known, NEOVIM)),
    "neovim with our file": Client(with_refresh),
    "eglot": Client(functools.partial(recorded, "eglot"), trigger=None),
    "lsp-mode": Client(functools.partial(recorded, "lsp-mode"), trigger=None),
    "kate": Client(functools.partial(recorded, "kate"), where=to_next_line, trigger=None),
    "newest kate": Client(
        functools.partial(recorded, "kate-newest"), where=to_next_line, trigger=None
    ),
    "helix": Client(functools.partial(recorded, "helix")),
    "zed": Client(functools.partial(recorded, "zed"), only=tuple(KINDS), trigger=None),
    "sublime": Client(functools.partial(recorded, "sublime")),
    "vs code": Client(functools.partial(known, VS_CODE), prefix="ralphLoop.lens"),
}

BEGUN = (started(), begins(1, CHOOSE))
QUESTION = "SQLite or Postgres?"


def parked(reason: str, *raised: Any, **halt: str) -> WorkspaceSnapshot:
    return picture_of([*BEGUN, *raised, phase(Phase.PARKED, reason)], halt=HaltFiles(**halt))


def states() -> dict[str, WorkspaceSnapshot]:
    """The states of a loop in which its controls are looked for."""
    asked = event(QuestionAsked, iteration=1, question=QUESTION, path="d", asked_at=NOON)
    raised = event(BlockedRaised, iteration=1, reason="no keys", path="b")
    stuck = event(
        CircuitBreakerStateChange,
        iteration=None,
        from_state=BreakerState.CLOSED,
        to_state=BreakerState.OPEN,
        reason="no progress",
        breaker=Breaker(state=BreakerState.OPEN, reason="no progress"),
    )
    return {
        "none": WorkspaceSnapshot(),
        "running": picture_of([*BEGUN, phase(Phase.RUNNING)]),
        "paused": picture_of([*BEGUN, phase(Phase.PAUSED)]),
        "asks": parked("decide", asked, question=QUESTION),
        "blocked": parked("blocked", raised, blocked="no keys"),
        "stuck": picture_of([*BEGUN, stuck, phase(Phase.PARKED, "breaker")]),
        "gone": picture_of(BEGUN, live=False, phase=Phase.CRASHED),
    }


WANTED = {
    ("none", 0): {"start", "replan", "showApproval", "allow"},
    ("running", 0): {"stop", "pause", "showLog", "showChanges"},
    ("running", ROUND): {"runTask", "skip", "[x]"},
    ("running", CHOOSE): {"showLog", "showChanges", "resetTask", "skip"},
    ("paused", 0): {"resume", "stop"},
    ("asks", CHOOSE): {"answer SQLite", "answer Postgres", "answer"},
    ("asks", 0): {"answer SQLite", "answer Postgres", "answer"},
    ("blocked", CHOOSE): {"resume"},
    ("stuck", 0): {"reset"},
    ("gone", 0): {"resume", "start", "showRollback"},
}

OWN_PLACES = {"replan", "showApproval", "allow", "skip", "resetTask", "showChanges", "showRollback"}
"""What a client with its own commands shows in other places: VS Code in its views."""


@pytest.mark.parametrize("name", CLIENTS_BY_NAME)
async def test_every_control_is_a_code_action(view: View, name: str) -> None:
    client = CLIENTS_BY_NAME[name]
    editor = InProcessEditor(Views([view]), EditorOptions(command_prefix=client.prefix))
    params = {"processId": None, "rootUri": None, "capabilities": client.capabilities()}
    options = (await editor.request("initialize", params))["capabilities"]["codeActionProvider"]
    assert options["codeActionKinds"] == KINDS
    editor.notify("initialized", {})
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    view.unapproved = 1
    editor.views.reviews.approvals[view.root] = "0" * 64
    drawn, missing = states(), {}
    for (state, line), wanted in WANTED.items():
        view.now = drawn[state]
        context: Message = {"diagnostics": []}
        context |= {} if client.only is None else {"only": list(client.only)}
        context |= {} if client.trigger is None else {"triggerKind": client.trigger}
        asked = {"textDocument": {"uri": uri}, "range": client.where(line), "context": context}
        found = await editor.request("textDocument/codeAction", asked)
        prefix = client.prefix or "ralph"
        offered = {given(one, prefix) for one in found}
        expected = wanted - OWN_PLACES if client.prefix else wanted
        if not expected <= offered:
            missing[state, line] = expected - offered
        assert not [one["title"] for one in found if one.get("isPreferred") and "command" in one]
    assert missing == {}


def given(action: Message, prefix: str) -> str:
    """What taking an action does: the command with its answer, or what is written."""
    if "command" in action:
        command = action["command"]
        verb, brought = command["command"].removeprefix(f"{prefix}."), command["arguments"][0]
        return f"{verb} {brought['text']}" if "text" in brought else str(verb)
    edit = action.get("edit", {})
    texts = [
        one["newText"]
        for change in edit.get("documentChanges", [])
        for one in change.get("edits", [])
    ]
    texts += [one["newText"] for edits in edit.get("changes", {}).values() for one in edits]
    return "[x]" if texts in (["x"], ["[x]"]) else action["title"]


async def test_a_title_below_other_lines_has_the_controls_of_the_run(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, "---\nowner: me # not a title\n---\n\n# Plan\n\n- [ ] One\n")
    on = {}
    for line in (0, 1, 4, 5, 6):
        asked = {
            "textDocument": {"uri": uri},
            "range": on_line(line),
            "context": {"diagnostics": [], "only": ["source.ralph.run"]},
        }
        on[line] = len(await editor.request("textDocument/codeAction", asked)) > 0
    assert on == {0: True, 1: False, 4: True, 5: False, 6: False}
