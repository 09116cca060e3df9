"""A replayed session leads a client through a loop, and reports what the client does wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.client import RequestRefused, spawn
from ralph_ls.client.replay import ReplayServer
from ralph_ls.client.sessions import Message, SessionUnknown, read_session, session_names
from ralph_ls.editor.lsp.framing import FrameReader, frame
from ralph_ls.protocol.run.events import EventBase, RunEnded

RALPH_LS = str(Path(sys.executable).with_name("ralph-ls"))
PATIENCE = 60.0

FOLDERS = {"workspaceFolders": [{"uri": "file:///home/me/my%20loop", "name": "loop"}]}
HELLO: Message = {
    "id": 0,
    "method": "initialize",
    "params": {"processId": None, "capabilities": {}, **FOLDERS},
}
READY: Message = {"method": "initialized", "params": {}}
BYE: list[Message] = [{"id": 98, "method": "shutdown"}, {"method": "exit"}]
QUESTION: list[Message] = [
    {"id": 1, "method": "ralph/subscribe", "params": {"messages": True}},
    {"id": 2, "method": "ralph/start", "params": {"maxIterations": 5}},
    {"id": 3, "method": "ralph/answer", "params": {"text": "SQLite"}},
]
GOOD = [HELLO, READY, *QUESTION, *BYE]


class Replayed:
    """A session that was given some messages."""

    def __init__(self, *messages: Any, session: str = "question") -> None:
        self.sent: list[Message] = []
        self.server = ReplayServer(read_session(session), self.sent.append)
        for message in messages:
            self.give(message)

    def give(self, message: Any) -> None:
        given = {"jsonrpc": "2.0", **message} if isinstance(message, dict) else message
        self.server.take_body(json.dumps(given).encode())

    def problems(self) -> list[str]:
        return [
            f"{each.method}: {each.text}" if each.method else each.text
            for each in self.server.problems()
        ]

    def answer(self, known: object) -> Message:
        (found,) = [each for each in self.sent if each.get("id") == known and "method" not in each]
        return found


def test_a_good_client_gets_the_whole_session_with_its_own_folder() -> None:
    replayed = Replayed(*GOOD)
    assert replayed.problems() == []
    assert replayed.server.has_ended
    assert replayed.server.report()["orders"] == ["subscribe", "start", "answer"]
    events = [each["params"] for each in replayed.sent if each.get("method") == "ralph/event"]
    assert [each["event"]["seq"] for each in events] == [*range(1, len(events) + 1)]
    assert events[-1]["event"]["kind"] == "runEnded"
    assert {each["workspace"] for each in events} == {"file:///home/me/my%20loop"}
    assert events[0]["event"]["workspace"] == "/home/me/my loop"
    first = next(nth for nth, each in enumerate(replayed.sent) if each.get("id") == 2)
    assert any(each.get("method") == "ralph/event" for each in replayed.sent[:first])


def test_only_what_was_subscribed_to_and_declared_is_sent() -> None:
    replayed = Replayed(*GOOD)
    assert {each["method"] for each in replayed.sent if "method" in each} == {
        *("ralph/event", "ralph/messages", "textDocument/publishDiagnostics")
    }
    able = {"window": {"workDoneProgress": True}, "workspace": {"configuration": True}}
    hello = {**HELLO, "params": {**HELLO["params"], "capabilities": able}}
    replayed = Replayed(hello, READY, *QUESTION)
    asked = {
        each["method"]: each["id"] for each in replayed.sent if {"method", "id"} <= each.keys()
    }
    assert asked.keys() == {"workspace/configuration", "window/workDoneProgress/create"}
    for known in asked.values():
        replayed.give({"id": known, "result": None})
    for message in BYE:
        replayed.give(message)
    assert replayed.problems() == []


def changed(nth: int, **fields: Any) -> list[Any]:
    return [{**each, **fields} if at == nth else each for at, each in enumerate(GOOD)]


def without(*methods: str) -> list[Any]:
    return [each for each in GOOD if each["method"] not in methods]


WRONG: dict[str, tuple[list[Any], list[str]]] = {
    "a misspelt field": (
        changed(3, params={"maxIteration": 5}),
        [
            "ralph/start: maxIteration: Extra inputs are not permitted",
            "ralph/answer: answer came where the session has start",
            "start never came",
        ],
    ),
    "no initialize": (
        without("initialize"),
        [
            "initialized: came before initialize",
            *(f"ralph/{name}: came before initialize" for name in ("subscribe", "start", "answer")),
            "shutdown: came before initialize",
            "initialize never came",
            "subscribe never came",
        ],
    ),
    "no initialized": (
        without("initialized"),
        [
            *(
                f"ralph/{name}: came before initialized"
                for name in ("subscribe", "start", "answer")
            ),
            "initialized never came",
        ],
    ),
    "a second initialize": (
        [HELLO, READY, {**HELLO, "id": 50}, *GOOD[2:]],
        ["initialize: came a second time"],
    ),
    "an id twice": (changed(4, id=2), ["ralph/answer: the id 2 was used before"]),
    "an id that is none": (
        changed(4, id=True),
        ["ralph/answer: the id is neither a string nor an integer", "answer never came"],
    ),
    "no id": (
        [HELLO, READY, QUESTION[0], {**QUESTION[1], "id": None}],
        ["ralph/start: the id is neither a string nor an integer", "start never came"],
    ),
    "no method of ours": (
        [*GOOD[:-2], {"id": 60, "method": "ralph/sing"}, *BYE],
        ["ralph/sing: there is no such request"],
    ),
    "a request after shutdown": (
        [*GOOD[:-1], {"id": 99, "method": "ralph/state"}, BYE[1]],
        ["ralph/state: after shutdown only exit may come"],
    ),
    "no shutdown": ([*GOOD[:-2], BYE[1]], ["exit: came without shutdown"]),
    # The connection may be closed instead.
    "no exit": (GOOD[:-1], []),
    "neither of them": (GOOD[:-2], []),
    "an answer to nothing": (
        [*GOOD[:-2], {"id": "x", "result": None}, *BYE],
        ["an answer to nothing that was asked: id 'x'"],
    ),
    "no folder": (
        changed(0, params={"processId": None, "capabilities": {}}),
        ["initialize: no folder is open; open the one that has the plan"],
    ),
    "no capabilities": (
        changed(0, params=FOLDERS),
        [
            "initialize: capabilities are missing; an empty object is enough",
            "initialize: processId is missing; it may be null",
        ],
    ),
    "an order too early": (
        [HELLO, READY, QUESTION[1]],
        ["ralph/start: start came where the session has subscribe", "subscribe never came"],
    ),
    "nothing at all": ([], ["initialize never came", "subscribe never came"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_client_does_wrong_is_named(name: str) -> None:
    messages, problems = WRONG[name]
    assert Replayed(*messages).problems() == problems


def test_a_message_that_is_none_is_answered_and_named() -> None:
    replayed = Replayed([HELLO], {**HELLO, "jsonrpc": "1.0"}, {"method": 3})
    replayed.server.take_body(b"{")
    problems = replayed.problems()
    assert problems[:3] == [
        *['a message is an object with "jsonrpc": "2.0"'] * 2,
        "the method is not a string",
    ]
    assert problems[3].startswith("the body is not JSON")
    assert [each["error"]["code"] for each in replayed.sent] == [-32600, -32700]


def test_answers_to_the_server_are_checked() -> None:
    able = {"workspace": {"configuration": True}}
    hello = {**HELLO, "params": {**HELLO["params"], "capabilities": able}}
    replayed = Replayed(hello, READY, QUESTION[0])
    (asked,) = [each for each in replayed.sent if each.get("method") == "workspace/configuration"]
    assert "workspace/configuration: the server's request was never answered" in replayed.problems()
    replayed.give({"id": asked["id"], "result": {}})
    listed = "workspace/configuration: the result is a list with an entry for each item, or null"
    assert listed in replayed.problems()


def test_other_requests_are_answered_from_the_session_or_with_nothing() -> None:
    uri = "file:///home/me/my%20loop/%40fix_plan.md"
    document = {"textDocument": {"uri": uri, "languageId": "markdown", "version": 1, "text": "#"}}
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    actions = {**document, "range": place, "context": {"diagnostics": []}}
    replayed = Replayed(
        HELLO,
        READY,
        {"method": "textDocument/didOpen", "params": document},
        {"id": 5, "method": "textDocument/codeAction", "params": actions},
        {"id": 6, "method": "textDocument/definition", "params": {}},
        {"id": 7, "method": "ralph/state"},
        {"id": 8, "method": "workspace/executeCommand", "params": {"command": "other.thing"}},
        session="plain-lsp",
    )
    offered = {each["title"] for each in replayed.answer(5)["result"]}
    assert any(title.startswith("Start loop") for title in offered)
    assert replayed.answer(6)["result"] is None
    assert replayed.answer(7)["error"]["code"] == replayed.answer(8)["error"]["code"] == -32803
    assert "workspace/executeCommand: 'other.thing' is no command of this server" in (
        replayed.problems()
    )


def test_lenses_are_asked_for_again_at_the_end_of_each_step() -> None:
    able = {"workspace": {"codeLens": {"refreshSupport": True}}}
    hello = {**HELLO, "params": {**HELLO["params"], "capabilities": able}}
    uri = "file:///home/me/my%20loop/@fix_plan.md"
    document = {"textDocument": {"uri": uri, "languageId": "markdown", "version": 1, "text": "#"}}
    opened = {"method": "textDocument/didOpen", "params": document}
    replayed = Replayed(hello, READY, opened, session="plain-lsp")
    assert replayed.sent[-1]["method"] == "workspace/codeLens/refresh"


def test_a_session_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionUnknown, match=f"there are {', '.join(session_names())}"):
        read_session("opera")
    other = tmp_path / "other.jsonl"
    other.write_text("{}\n", encoding="utf-8")
    with pytest.raises(SessionUnknown, match="is no recorded session"):
        read_session(str(other))


# --------------------------------------------------------------------------------- real processes


@pytest.mark.slow
async def test_our_own_client_passes_the_whole_loop(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = (RALPH_LS, "--replay", "whole-loop", "--report", str(report))
    events: list[EventBase] = []
    async with spawn([tmp_path], command=command) as client:
        await client.subscribe()
        await client.start(max_iterations=9)
        async for event in client.events():
            assert isinstance(event, EventBase)
            events.append(event)
            match event.kind:
                case "questionAsked":
                    await client.answer(text="SQLite")
                case "blockedRaised":
                    await client.resume()
                case "phaseChanged" if getattr(event, "reason", "") == "stuck":
                    with pytest.raises(RequestRefused):
                        await client.note(text="not part of it")
                    await client.reset()
                case "runEnded":
                    break
    assert isinstance(events[-1], RunEnded)
    assert events[-1].reason.value == "complete"
    assert json.loads(report.read_text(encoding="utf-8")) == {
        "session": "whole-loop",
        "passed": True,
        "orders": ["subscribe", "start", "answer", "resume", "reset"],
        "problems": [],
    }


@pytest.mark.slow
def test_the_report_is_in_words_and_in_the_exit_code(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [RALPH_LS, "--replay", "question", "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    greeting = frame(json.dumps({"jsonrpc": "2.0", **HELLO}).encode())
    out, errors = server.communicate(b"Content-Length: x\r\n\r\n" + greeting, timeout=PATIENCE)
    bodies = [json.loads(body) for body in FrameReader().feed(out) if isinstance(body, bytes)]
    assert [each.get("id") for each in bodies] == [None, 0]
    assert server.returncode == 1
    first, *others = errors.decode().splitlines()
    assert first == "session question: 3 problems; orders: none"
    assert "  initialized never came" in others
    unknown = subprocess.run(
        [RALPH_LS, "--replay", "opera"], capture_output=True, text=True, check=False
    )
    assert unknown.returncode == 64
    assert unknown.stderr.startswith("ralph-ls: --replay: no session 'opera'")


def test_a_report_replaces_the_earlier_one_whole(tmp_path: Path) -> None:
    report, earlier = tmp_path / "report.json", tmp_path / "earlier.json"
    report.write_text("{}\n", encoding="utf-8")
    earlier.hardlink_to(report)
    command = (RALPH_LS, "--replay", "plain-lsp", "--report", str(report))
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert json.loads(report.read_text(encoding="utf-8"))["session"] == "plain-lsp"
    assert earlier.read_text(encoding="utf-8") == "{}\n"
