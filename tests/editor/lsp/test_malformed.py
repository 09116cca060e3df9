"""Malformed messages and hostile URIs on the real server: each is answered, none costs the next."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from ralph_ls.editor.lsp.framing import FrameReader, frame
from ralph_ls.editor.lsp.language_server import MessageFeeder, RalphLanguageServer
from ralph_ls.editor.server import make_server
from ralph_ls.protocol.lsp.methods import METHODS
from ralph_ls.store.run import launch, one_shot_process
from tests.editor.wire_client import bodies
from tests.engine.forked_ralph import Launches, fork_server

Message = dict[str, Any]

PARSE, INVALID_REQUEST, UNKNOWN, INVALID_PARAMS, INTERNAL, FAILED, NOT_INITIALIZED = (
    *(-32700, -32600, -32601, -32602, -32603, -32803),
    -32002,
)
PATIENCE = 30.0


class Client:
    """The real server in this process, fed with bytes; everything it sends is kept."""

    def __init__(self, root: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.server: RalphLanguageServer = make_server(
            now=lambda: datetime(2026, 1, 31, tzinfo=UTC)
        )
        self.sent: list[Message] = []
        self.ended: asyncio.Future[int] = self.loop.create_future()
        self._frames = FrameReader()
        self._ids = count(1)
        self._deliver = MessageFeeder(self.server.protocol, self.ended, lambda: None)
        self.server.protocol.attach(self, end=self.ended.set_result, watch=lambda _: None)
        self.root = root

    # What the protocol takes for its connection.
    def write(self, message: bytes) -> None:
        self.sent += map(json.loads, bodies(self._frames, message))

    def write_output(self, params: object) -> None:
        raise AssertionError("no run goes on")

    def write_messages(self, workspace: str, run: str, messages: Sequence[bytes]) -> None:
        raise AssertionError("no run goes on")

    def feed(self, data: bytes, *, step: int = 1 << 20) -> None:
        async def feed() -> None:
            for start in range(0, len(data), step):
                self._deliver(data[start : start + step])

        self.loop.run_until_complete(feed())

    def id(self) -> int:
        return next(self._ids)

    def answer(self, known: object) -> Message:
        async def wait() -> Message:
            async with asyncio.timeout(PATIENCE):
                while True:
                    for message in self.sent:
                        if "method" not in message and message["id"] == known:
                            return message
                    await asyncio.sleep(0.001)

        return self.loop.run_until_complete(wait())

    def request(self, method: str, params: object) -> Message:
        known = self.id()
        self.feed(frame(request(known, method, params)))
        return self.answer(known)

    def is_alive(self) -> bool:
        return bool(self.request("ralph/nowhere", {})["error"]["code"] == UNKNOWN)

    def close(self) -> None:
        self.request("shutdown", None)
        self.server.shutdown()

        async def cancel(left: set[asyncio.Task[Any]]) -> None:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

        self.loop.run_until_complete(cancel(asyncio.all_tasks(self.loop)))
        self.loop.close()


def request(known: object, method: str, params: object) -> bytes:
    message = {"jsonrpc": "2.0", "id": known, "method": method, "params": params}
    return json.dumps(message).encode()


def notification(method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("place")
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / "@fix_plan.md").write_text("# Plan\n\n## High Priority\n- [ ] one\n- [ ] two\n")
    return root


@pytest.fixture(scope="module")
def client(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RALPH_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        client = Client(place)
    params: Message = {"processId": None, "rootUri": place.as_uri(), "capabilities": {}}
    assert "result" in client.request("initialize", params)
    client.feed(frame(notification("initialized", {})))
    client.request("ralph/state", {})
    # Many of the requests start a `ralph`, whose imports would take longer than all else.
    with pytest.MonkeyPatch.context() as patch:
        for launcher in (launch, one_shot_process):
            patch.setattr(launcher, "subprocess", Launches(fork_server()))
        yield client
    client.close()


@pytest.fixture
def quiet(client: Client, caplog: pytest.LogCaptureFixture) -> Iterator[Client]:
    """Fails where a message made a handler fail in a way that nobody expected."""
    client.sent.clear()
    with caplog.at_level(logging.ERROR):
        yield client
    assert [record.getMessage() for record in caplog.records] == []
    assert client.is_alive()


DEEP = "[" * 100_000 + "]" * 100_000
DEEP_BELOW_THE_LIMIT = json.dumps(None).join(("[" * 900, "]" * 900))

MALFORMED: dict[str, tuple[bytes, object, int | None]] = {
    # body, id of the answer, its code: None where nothing is answered
    "no-json": (b"{no json}", None, PARSE),
    "cut-off": (b'{"jsonrpc":"2.0","id":1,', None, PARSE),
    "empty": (b"", None, PARSE),
    "not-utf-8": (b'{"jsonrpc":"2.0","id":"\xff"}', None, PARSE),
    "utf-16": ('{"jsonrpc":"2.0"}'.encode("utf-16"), None, PARSE),
    "byte-order-mark": (b"\xef\xbb\xbf{}", None, PARSE),
    "deep": (b'{"jsonrpc":"2.0","id":1,"params":%b}' % DEEP.encode(), None, PARSE),
    "nan": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', None, PARSE),
    "infinity": (b'{"jsonrpc":"2.0","id":-Infinity,"method":"x"}', None, PARSE),
    "too-large-a-number": (b'{"jsonrpc":"2.0","id":1e999,"method":"x"}', None, PARSE),
    "too-many-digits": (b'{"jsonrpc":"2.0","id":%b,"method":"x"}' % (b"1" * 5000), None, PARSE),
    "two-values": (b"{}{}", None, PARSE),
    "null": (b"null", None, INVALID_REQUEST),
    "number": (b"5", None, INVALID_REQUEST),
    "string": (b'"text"', None, INVALID_REQUEST),
    "batch": (b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', None, INVALID_REQUEST),
    "empty-batch": (b"[]", None, INVALID_REQUEST),
    "nothing": (b"{}", None, INVALID_REQUEST),
    "no-version": (b'{"id":"a","method":"x"}', "a", INVALID_REQUEST),
    "old-version": (b'{"jsonrpc":"1.0","id":"a","method":"x"}', "a", INVALID_REQUEST),
    "version-number": (b'{"jsonrpc":2.0,"id":"a","method":"x"}', "a", INVALID_REQUEST),
    "no-method": (b'{"jsonrpc":"2.0","id":"nobody waits"}', None, None),
    "unknown-result": (b'{"jsonrpc":"2.0","id":"x","result":5}', None, None),
    "unknown-error": (b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}', None, None),
    "wrong-error": (b'{"jsonrpc":"2.0","id":"x","error":[]}', None, None),
    "answer-to-a-list": (b'{"jsonrpc":"2.0","id":[1],"result":5}', None, None),
    **{
        f"method-{name}": (
            b'{"jsonrpc":"2.0","id":"a","method":%b}' % value.encode(),
            "a",
            INVALID_REQUEST,
        )
        for name, value in {"null": "null", "number": "5", "list": "[]", "object": "{}"}.items()
    },
    **{
        f"id-{name}": (
            b'{"jsonrpc":"2.0","id":%b,"method":"x"}' % value.encode(),
            None,
            INVALID_REQUEST,
        )
        for name, value in {
            "null": "null",
            "list": "[]",
            "object": "{}",
            "true": "true",
            "float": "1.5",
            "deep": DEEP_BELOW_THE_LIMIT,
        }.items()
    },
    "unknown": (b'{"jsonrpc":"2.0","id":"a","method":"no/such"}', "a", UNKNOWN),
    "unknown-optional": (b'{"jsonrpc":"2.0","id":"a","method":"$/no/such"}', "a", UNKNOWN),
    "surrogate-method": (b'{"jsonrpc":"2.0","id":"a","method":"\\ud800"}', "a", UNKNOWN),
    "unknown-notification": (notification("no/such", {}), None, None),
    "unknown-optional-notification": (notification("$/no/such", [1]), None, None),
    "second-initialize": (
        request("a", "initialize", {"processId": 1, "rootUri": None, "capabilities": {}}),
        "a",
        INVALID_REQUEST,
    ),
    **{
        f"cancel-{name}": (notification("$/cancelRequest", params), None, None)
        for name, params in {
            "list": {"id": []},
            "object": {"id": {}},
            "null": {"id": None},
            "nothing": {},
            "no-object": [5],
            "no-params": None,
            "unknown": {"id": 4711},
            "true": {"id": True},
            "deep": {"id": json.loads(DEEP_BELOW_THE_LIMIT)},
        }.items()
    },
    **{
        f"params-{name}": (request("a", method, params), "a", INVALID_PARAMS)
        for method in ("textDocument/hover", "ralph/note", "workspace/executeCommand")
        for name, params in {
            f"{method}-number": 5,
            f"{method}-string": "x",
            f"{method}-list": [1],
            f"{method}-true": True,
            f"{method}-deep": {"textDocument": json.loads(DEEP_BELOW_THE_LIMIT)},
            f"{method}-surrogate": {"\ud800": "\udfff"},
        }.items()
    },
}


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_a_malformed_message_is_answered_and_costs_no_other(quiet: Client, name: str) -> None:
    body, known, code = MALFORMED[name]
    first, last = quiet.id(), quiet.id()
    # In one read, as an editor sends what was typed while the server was busy.
    quiet.feed(
        frame(request(first, "ralph/state", {}))
        + frame(body)
        + frame(request(last, "ralph/state", {}))
    )
    assert "result" in quiet.answer(first)
    assert "result" in quiet.answer(last)
    others = [m for m in quiet.sent if "method" not in m and m["id"] not in {first, last}]
    assert [(m["id"], m["error"]["code"]) for m in others] == ([(known, code)] if code else [])


def test_a_change_after_a_malformed_cancel_is_not_lost(quiet: Client) -> None:
    uri = "file:///nowhere/a.md"
    document = {"uri": uri, "languageId": "markdown", "version": 1, "text": "before"}
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "after"}]}
    quiet.feed(
        frame(notification("textDocument/didOpen", {"textDocument": document}))
        + frame(notification("$/cancelRequest", {"id": []}))
        + frame(notification("textDocument/didChange", change))
    )
    assert quiet.server.workspace.get_text_document(uri).source == "after"
    quiet.feed(frame(notification("textDocument/didClose", {"textDocument": {"uri": uri}})))


def test_a_change_of_what_is_not_open_is_passed_over(quiet: Client) -> None:
    document = {"uri": (quiet.root / "closed.md").as_uri(), "version": 2}
    change = {"textDocument": document, "contentChanges": [{"text": "- [ ] more\n"}]}
    quiet.feed(frame(notification("textDocument/didChange", change)))
    assert quiet.is_alive()


def test_an_id_that_waits_for_its_answer_is_not_given_twice(quiet: Client) -> None:
    twice = frame(request("same", "ralph/state", {}))
    quiet.feed(twice * 2)
    assert quiet.answer("same")["error"]["code"] == INVALID_REQUEST
    quiet.sent.clear()
    assert "result" in quiet.answer("same")


@pytest.mark.parametrize("method", ["textDocument/hover", "ralph/state", "shutdown"])
def test_what_comes_before_initialize_is_refused(place: Path, method: str) -> None:
    fresh = Client(place)
    assert fresh.request(method, {})["error"]["code"] == NOT_INITIALIZED
    fresh.request("initialize", {"processId": None, "rootUri": "http://[::1", "capabilities": {}})
    fresh.close()
    known = fresh.id()
    fresh.loop = asyncio.new_event_loop()
    fresh.feed(frame(request(known, "textDocument/hover", {})))
    assert fresh.sent[-1]["error"]["code"] == INVALID_REQUEST
    fresh.loop.close()


# ------------------------------------------------------------------------------------------ URIs

URIS = {
    "empty": "",
    "word": "plan.md",
    "path": "/etc/passwd",
    "half-an-address": "http://[::1",
    "half-an-address-of-a-file": "file://[::1/plan.md",
    "http": "http://example.org/@fix_plan.md",
    "untitled": "untitled:Untitled-1",
    "notebook-cell": "vscode-notebook-cell:/a.ipynb#W0sZmlsZQ%3D%3D",
    "remote": "vscode-remote://wsl%2Bubuntu/srv/a/@fix_plan.md",
    "git": "git:/a.md?%7B%22path%22%3A%22%2Fa.md%22%7D",
    "unc": "file://server/share/@fix_plan.md",
    "unc-in-the-path": "file:////server/share/@fix_plan.md",
    "nul": "file:///tmp/%00/@fix_plan.md",
    "line-feed": "file:///tmp/%0A/@fix_plan.md",
    "slash": "file:///tmp%2F..%2F@fix_plan.md",
    "not-utf-8": "file:///tmp/%FF%FE/@fix_plan.md",
    "half-a-percent": "file:///tmp/%/%4/%zz",
    "drive": "file:///C:/a/@fix_plan.md",
    "quoted-drive": "file:///c%3A/a/@fix_plan.md",
    "backslashes": "file:///C:\\a\\@fix_plan.md",
    "no-slashes": "file:plan.md",
    "surrogate": "file:///tmp/\ud800.md",
    "parameters": "file:///tmp/a;b/@fix_plan.md?q#f",
    "upwards": "file:///../../../../etc/passwd",
    "device": "file:///dev/zero",
    "long": "file:///" + "a/" * 500_000,
    "long-name": "file:///" + "a" * 1_000_000,
    "long-scheme": "a" * 1_000_000,
    "control": "file:///\x1b[31m\x07",
}
POSITION = {"line": 0, "character": 0}
RANGE = {"start": POSITION, "end": POSITION}


def params_with(uri: str) -> dict[str, dict[str, Any]]:
    """Every request that names a document or a folder."""
    document = {"textDocument": {"uri": uri}}
    at = {**document, "position": POSITION}
    item = {"name": "a", "kind": 1, "uri": uri, "range": RANGE, "selectionRange": RANGE}
    methods: dict[str, dict[str, Any]] = {
        "textDocument/hover": at,
        "textDocument/completion": at,
        "textDocument/definition": at,
        "textDocument/references": {**at, "context": {"includeDeclaration": True}},
        "textDocument/prepareRename": at,
        "textDocument/rename": {**at, "newName": "x"},
        "textDocument/codeLens": document,
        "textDocument/codeAction": {**document, "range": RANGE, "context": {"diagnostics": []}},
        "textDocument/inlayHint": {**document, "range": RANGE},
        "textDocument/documentSymbol": document,
        "textDocument/documentLink": document,
        "textDocument/foldingRange": document,
        "textDocument/diagnostic": document,
        "textDocument/willSaveWaitUntil": {**document, "reason": 1},
        "callHierarchy/incomingCalls": {"item": item},
    }
    needed: dict[str, dict[str, Any]] = {
        "ralph/answer": {"text": "x"},
        "ralph/note": {"text": "x"},
        "ralph/skip": {"task": "x"},
        "ralph/resetTask": {"task": "x"},
        "ralph/editTask": {"task": "x", "edit": "block"},
        "ralph/changes": {"start": 1},
        "ralph/rollback": {"start": 1},
        "ralph/fileAt": {"commit": "0" * 40, "path": "a"},
        "ralph/validateSetup": {"document": {}},
    }
    for name, method in METHODS.items():
        if method.is_request:
            methods[name] = {"workspace": uri, **needed.get(name, {})}
    return methods


@pytest.mark.parametrize("name", sorted(URIS))
def test_a_hostile_uri_is_answered_by_every_method(quiet: Client, name: str) -> None:
    uri = URIS[name]
    for method, params in params_with(uri).items():
        answer = quiet.request(method, params)
        if "error" in answer:
            assert answer["error"]["code"] in {INVALID_PARAMS, UNKNOWN, FAILED}, (method, answer)
            assert len(answer["error"]["message"]) < 2000, method
            assert "\x1b" not in answer["error"]["message"]
    assert "result" in quiet.request("ralph/state", {})


@pytest.mark.parametrize("name", sorted(URIS))
def test_a_document_of_any_uri_is_kept_like_others(quiet: Client, name: str) -> None:
    uri = URIS[name]
    document = {"uri": uri, "languageId": "markdown", "version": 1, "text": "# one\n"}
    change = {
        "textDocument": {"uri": uri, "version": 2},
        "contentChanges": [{"range": RANGE, "text": "x"}],
    }
    folder = {"uri": uri, "name": "n"}
    for method, params in (
        ("textDocument/didOpen", {"textDocument": document}),
        ("textDocument/didChange", change),
        ("textDocument/didSave", {"textDocument": {"uri": uri}}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}}),
    ):
        quiet.feed(frame(notification(method, params)))
    read_as = uri.replace("\ud800", "\ufffd")
    assert quiet.server.workspace.get_text_document(read_as).source == "x# one\n"
    for method, params in (
        ("textDocument/didClose", {"textDocument": {"uri": uri}}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}}),
    ):
        quiet.feed(frame(notification(method, params)))


@pytest.mark.parametrize("name", sorted(URIS))
def test_initialize_takes_any_root(place: Path, name: str) -> None:
    uri = URIS[name]
    for params in (
        {"rootUri": uri},
        {"rootUri": None, "rootPath": uri},
        {"rootUri": None, "workspaceFolders": [{"uri": uri, "name": "n"}]},
    ):
        fresh = Client(place)
        answer = fresh.request("initialize", {"processId": None, "capabilities": {}, **params})
        assert "result" in answer, answer
        fresh.feed(frame(notification("initialized", {})))
        assert fresh.is_alive()
        fresh.close()


# ------------------------------------------------------------------------------------------ types

VALUES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**15, 10**30, 1e300, "", "1", "\ud800", "\x00", "x" * 5000),
    *([], [1], [[]], {}, {"a": 1}, {"uri": 5}, json.loads(DEEP_BELOW_THE_LIMIT)),
)


@pytest.mark.parametrize("method", sorted(params_with("file:///a.md")))
def test_a_field_of_the_wrong_type_is_named_in_the_words_of_json(
    quiet: Client, method: str
) -> None:
    right = params_with(quiet.root.joinpath("@fix_plan.md").as_uri())[method]
    if "workspace" in right:
        right = {**right, "workspace": "file:///not/open"}
    for field in right:
        for value in VALUES:
            answer = quiet.request(method, {**right, field: value})
            code = answer.get("error", {}).get("code", FAILED)
            assert code in {INVALID_PARAMS, UNKNOWN, FAILED}, (method, field, value, answer)
            if code == INVALID_PARAMS:
                told = answer["error"]["message"]
                assert len(told) < 3000
                for word in ("int'", "str'", "dict", "None", "object is not", "Python", "NoneType"):
                    assert word not in told, told


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"start": "1"}, "start: expected an integer, got a string"),
        ({"start": True}, "start: expected an integer, got true"),
        ({"start": None}, "start: expected an integer, got null"),
        ({}, "start: is missing"),
        ({"start": 1, "run": 5}, "run: expected a string, got an integer"),
        ({"start": 1, "workspace": []}, "workspace: expected a string, got an array"),
        ({"start": 1, "iteration": 1}, "iteration: is unknown here"),
        ([], "params: expected an object, got an array"),
    ],
)
def test_what_is_wrong_is_reported_for_the_field(
    quiet: Client, params: object, message: str
) -> None:
    error = quiet.request("ralph/changes", params)["error"]
    assert (error["code"], error["message"]) == (INVALID_PARAMS, f"ralph/changes: {message}")


# ------------------------------------------------------------------------------------------- fuzz

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=12,
)
METHOD_NAMES = st.sampled_from(
    sorted({*METHODS, *types.METHOD_TO_TYPES, "$/x", "", "x"} - {"exit", "shutdown", "initialize"})
)
PARAMS = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {},
        optional={
            "textDocument": JSON
            | st.fixed_dictionaries({"uri": st.sampled_from(sorted(URIS.values())[:20])}),
            "position": JSON | st.just(POSITION),
            "range": JSON | st.just(RANGE),
            "workspace": JSON,
            "id": JSON,
            "value": JSON,
            "contentChanges": JSON,
            "text": JSON,
            "token": JSON,
        },
    ),
)
MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0"), "method": METHOD_NAMES, "params": PARAMS},
        optional={"id": JSON},
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": JSON,
            "id": JSON,
            "method": JSON,
            "params": JSON,
            "result": JSON,
            "error": JSON,
        },
    ),
).map(lambda message: frame(json.dumps(message).encode()))
STREAMS = st.lists(
    MESSAGES
    | st.binary(max_size=40).map(frame)
    | st.sampled_from(sorted(body for body, _, _ in MALFORMED.values())).map(frame),
    max_size=12,
).map(b"".join)


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(STREAMS, st.sampled_from([1, 13, 1 << 20]))
def test_nothing_that_is_sent_stops_the_server(
    client: Client, caplog: pytest.LogCaptureFixture, stream: bytes, step: int
) -> None:
    caplog.clear()
    client.sent.clear()
    with caplog.at_level(logging.ERROR):
        client.feed(stream, step=step if len(stream) < 20_000 else 1 << 20)
        assert client.is_alive()
    assert [record.getMessage() for record in caplog.records] == []
    assert all(m.get("error", {}).get("code") != INTERNAL for m in client.sent)
