"""Fuzz of the language server's wire: thousands of mutated messages to a real process.

Every request with a proper id is answered exactly once, whatever came around it; the server stays
alive and small, and writes no traceback.
"""

from __future__ import annotations

import json
import random
from typing import Any

from ralph_ls.editor.lsp.framing import frame
from tests.engine.project_builder import ROOT, make_repository
from tests.sweep.editors import Editor
from tests.sweep.mutations import URIS, encoded, mutate_bytes, mutate_json
from tests.sweep.runner import Case, Scenario
from tests.sweep.violations import Kind, require

GOLDEN = ROOT / "tests" / "golden" / "methods"
NOT_SENT = {"ralph/start", "ralph/proposePlan"}
"""Requests that start programs by design; they are swept by ``kills`` and ``agents``."""
SLOW = {
    *("ralph/setupChoices", "ralph/rollback", "ralph/answer"),
    *("ralph/claims", "ralph/allow", "ralph/demo"),
}
"""Requests that take a second each, for they look for programs or ask git; sent less often."""
ENDS = {"shutdown", "exit", "initialize"}
BATCH = 100
MESSAGES = 4000
QUICK_MESSAGES = 1500
MOST_GROWTH = 200_000_000
"""Bytes by which a server may grow; the documents that are opened are small."""

PLAN = (ROOT / "tests" / "data" / "plans" / "fix_plan.md").read_text(encoding="utf-8")


def run(case: Case) -> None:
    repository = make_repository(case.folder / "repository", files={"@fix_plan.md": PLAN})
    editor = Editor(case, repository)
    editor.initialize(repository)
    uri = (repository / "@fix_plan.md").as_uri()
    document = {"uri": uri, "languageId": "markdown", "version": 1, "text": PLAN}
    editor.notify("textDocument/didOpen", {"textDocument": document})
    templates = _templates(uri, repository.as_uri())
    editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    before = editor.resident
    wanted: list[int | str] = []
    n_messages = QUICK_MESSAGES if case.number in SCENARIO.quick else MESSAGES
    for _ in range(n_messages // BATCH):
        batch, numbers = _batch(case, templates)
        wanted += numbers
        (case.folder / "last-batch").write_bytes(batch)
        editor.send_bytes(batch)
        editor.request("ralph/state", {})
        case.count("messages", BATCH)
    # The last answers may come out of order: some are made in threads.
    for number in wanted:
        editor.wait_for(number)
    twice = [number for number in wanted if editor.answers[number] != 1]
    require(not twice, Kind.WRONG, f"answered several times: {twice[:10]}")
    grown = editor.resident - before
    require(grown < MOST_GROWTH, Kind.WRONG, f"the server grew by {grown} bytes")
    editor.close()


def _batch(case: Case, templates: list[dict[str, Any]]) -> tuple[bytes, list[int | str]]:
    """Framed messages, and the ids of those requests among them that have to be answered."""
    rng = case.rng
    frames: list[bytes] = []
    numbers: list[int | str] = []
    for _ in range(BATCH):
        message = rng.choice(templates)
        if message.get("method") in SLOW and rng.random() < 0.95:
            message = templates[0]
        way = rng.randrange(10)
        if way == 0:
            # Good messages between the bad ones: none may be lost.
            number = f"good-{rng.getrandbits(64):x}"
            numbers.append(number)
            good = {"jsonrpc": "2.0", "method": "ralph/state", "params": {}, "id": number}
            frames.append(frame(encoded(good)))
        elif way == 1:
            frames.append(frame(mutate_bytes(encoded(message), rng)))
        else:
            mutated = _with_uri(mutate_json(message, rng), rng)
            if not _ends_it(mutated):
                frames.append(frame(encoded(mutated)))
    return b"".join(part for part in frames if not _may_end(part)), numbers


def _with_uri(message: Any, rng: random.Random) -> Any:
    if rng.random() > 0.1 or not isinstance(message, dict):
        return message
    return {**message, "params": {"textDocument": {"uri": rng.choice(URIS)}}}


def _ends_it(message: Any) -> bool:
    method = message.get("method") if isinstance(message, dict) else None
    return isinstance(method, str) and (method in ENDS or method in NOT_SENT)


def _may_end(part: bytes) -> bool:
    """Mutated bytes that happen to ask for the end, or for a program."""
    return any(f'"{name}"'.encode() in part for name in (*ENDS, *NOT_SENT))


def _templates(uri: str, root: str) -> list[dict[str, Any]]:
    """Proper messages: what the client's examples hold, and what every editor sends."""
    found: list[dict[str, Any]] = []
    for path in sorted(GOLDEN.glob("*.params.json")):
        name = path.name.partition(".")[0]
        params = json.loads(path.read_text(encoding="utf-8"))
        if "workspace" in params:
            params["workspace"] = root
        found.append(_request(f"ralph/{name}", params))
    document = {"textDocument": {"uri": uri}}
    place = {**document, "position": {"line": 3, "character": 4}}
    area = {"start": {"line": 0, "character": 0}, "end": {"line": 5, "character": 1}}
    found += [
        _request(f"textDocument/{name}", document)
        for name in ("codeLens", "documentSymbol", "documentLink", "diagnostic", "foldingRange")
    ]
    found += [
        _request(f"textDocument/{name}", place)
        for name in ("hover", "completion", "definition", "prepareRename", "documentHighlight")
    ]
    found += [
        _request("textDocument/rename", {**place, "newName": "Another title"}),
        _request("textDocument/inlayHint", {**document, "range": area}),
        _request(
            "textDocument/codeAction", {**document, "range": area, "context": {"diagnostics": []}}
        ),
        _request("workspace/symbol", {"query": "task"}),
        _request("workspace/executeCommand", {"command": "ralph.answer", "arguments": [{}]}),
        _notice("textDocument/didChange", _change(uri)),
        _notice("textDocument/didSave", document),
        _notice(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "markdown", "version": 1, "text": PLAN}},
        ),
        _notice("textDocument/didClose", document),
        _notice("$/cancelRequest", {"id": "good-1"}),
        _notice("$/cancelRequest", {"id": []}),
        _notice("$/setTrace", {"value": "verbose"}),
        _notice("workspace/didChangeConfiguration", {"settings": {"ralph": {}}}),
        _notice("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]}),
        _notice("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}}),
        {"jsonrpc": "2.0", "id": "sweep-1", "result": None},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "no"}},
    ]
    return found


def _change(uri: str) -> dict[str, Any]:
    area = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 1}}
    return {
        "textDocument": {"uri": uri, "version": 2},
        "contentChanges": [{"range": area, "text": "- [ ] More\n"}],
    }


def _request(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": f"fuzz-{method}", "method": method, "params": params}


def _notice(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


SCENARIO = Scenario(name="wire", run=run, quick=range(1), share=1.0)
