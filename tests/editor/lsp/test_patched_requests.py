"""Corners of pygls 2.1.1 around requests and answers: stock behaviour beside patched.

A test of ``stock`` asserts what is wrong there and says why it is. When one fails after an update
of pygls, that corner was closed upstream, and its fix here may go.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tests.editor.conftest import Start
from tests.editor.wire_client import Wire

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

INVALID_PARAMS, INTERNAL, CANCELLED, INVALID_REQUEST = -32602, -32603, -32800, -32600
BAD_HOVER = {"textDocument": {}, "position": {"line": 0, "character": 0}}


def didChange(version: int) -> dict[str, Any]:  # noqa: N802 -- the method's own name
    return {
        "textDocument": {"uri": "file:///a.md", "version": version},
        "contentChanges": [{"text": f"text {version}"}],
    }


OPENED = {
    "textDocument": {"uri": "file:///a.md", "languageId": "markdown", "version": 0, "text": ""}
}


class TestInvalidParams:
    """Defect 1: a client that asks wrongly must get an error, or it waits for ever."""

    async def test_stock_never_answers_a_standard_request(self, stock: Wire) -> None:
        asked = stock.ask("textDocument/hover", BAD_HOVER)
        await stock.request("tests/echo")
        # It shows something to the user instead, who asked nothing.
        assert [message.get("method") for message in stock.aside] == ["window/showMessage"]
        assert all(message.get("id") != asked for message in stock.aside)

    async def test_stock_takes_anything_for_a_custom_request(self, stock: Wire) -> None:
        answer = await stock.result("ralph/start", {"maxIteratoins": "many", "class": 1})
        # A misspelt limit is no limit; and a key that is a word of Python has lost its name.
        assert answer["fields"] == ["maxIteratoins", "_1"]

    async def test_stock_never_answers_a_custom_request_without_params(self, stock: Wire) -> None:
        stock.send({"id": "bare", "method": "tests/echo"})
        await stock.request("tests/echo")
        assert all(message.get("id") != "bare" for message in stock.aside)

    async def test_a_standard_request_is_answered_with_the_field(self, patched: Wire) -> None:
        error = await patched.error("textDocument/hover", BAD_HOVER)
        assert error["code"] == INVALID_PARAMS
        assert error["message"] == "textDocument/hover: textDocument.uri: is missing"
        assert error["data"] == {
            "code": "invalid-params",
            "problems": [{"field": "textDocument.uri", "message": "is missing"}],
        }

    @pytest.mark.parametrize(
        ("params", "field"),
        [
            pytest.param({"maxIteratoins": 3}, "maxIteratoins", id="unknown"),
            pytest.param({"max_iterations": 3}, "max_iterations", id="in-another-case"),
            pytest.param({"maxIterations": 0}, "maxIterations", id="out-of-bounds"),
            pytest.param({"agentCommand": ["a", 5]}, "agentCommand[1]", id="deep-inside"),
            pytest.param({"plan": "../plan.md"}, "plan", id="outside-the-tree"),
            pytest.param({"timeout": "soon"}, "timeout", id="no-duration"),
            pytest.param({"maxIterations": "3"}, "maxIterations", id="a-text-for-a-number"),
            pytest.param([3], "params", id="not-an-object"),
        ],
    )
    async def test_a_request_of_the_patched_one_is_answered_with_the_field(
        self, patched: Wire, params: object, field: str
    ) -> None:
        error = await patched.error("ralph/start", params)
        assert error["code"] == INVALID_PARAMS
        # A duration may be a number or a text, and the field says which was tried.
        assert {each["field"].split(".")[0] for each in error["data"]["problems"]} == {field}
        assert error["message"].startswith(f"ralph/start: {field}")

    async def test_a_request_of_the_patched_one_gets_typed_params(self, patched: Wire) -> None:
        answer = await patched.result(
            "ralph/start", {"maxIterations": 3, "agentCommand": ["a", "b"]}
        )
        assert answer["text"] == '{"max_iterations":3,"agent_command":["a","b"]}'
        patched.send({"id": "bare", "method": "ralph/start"})
        assert (await patched.answer_to("bare"))["result"]["text"] == "{}"

    async def test_a_notification_that_is_no_use_is_only_logged(self, patched: Wire) -> None:
        patched.notify("textDocument/didSave", {"textDocument": 5})
        told = await patched.receive()
        assert told["method"] == "window/logMessage"
        assert told["params"]["message"].startswith("textDocument/didSave: textDocument")

    async def test_params_of_no_table_stay_as_they_are(self, patched: Wire) -> None:
        params = {"class": 1, "type_name": "x", "a-b": [{"id": 7, "jsonrpc": "2.0"}]}
        assert await patched.result("tests/plain", params) == params


class TestNestedEnvelope:
    """Defect 2: what is inside the params is the sender's own business."""

    PARAMS: ClassVar = {"arguments": [{"jsonrpc": "2.0", "method": "x"}], "command": "tests.typed"}

    async def test_stock_never_answers(self, stock: Wire) -> None:
        asked = stock.ask("workspace/executeCommand", self.PARAMS)
        await stock.request("tests/echo")
        assert all(message.get("id") != asked for message in stock.aside)

    async def test_the_patched_one_answers(self, patched: Wire) -> None:
        error = await patched.error("workspace/executeCommand", self.PARAMS)
        assert [each["field"] for each in error["data"]["problems"]] == [
            "params.jsonrpc",
            "params.method",
        ]


class TestBookkeeping:
    """Defects 3 and 5: what is done is forgotten; an editor runs for weeks."""

    async def test_stock_remembers_every_change_and_command(self, stock: Wire) -> None:
        assert await self.left_after_work(stock) >= 70

    async def test_the_patched_one_remembers_nothing(self, patched: Wire) -> None:
        assert await self.left_after_work(patched) == 0

    @staticmethod
    async def left_after_work(wire: Wire) -> int:
        wire.notify("textDocument/didOpen", OPENED)
        for version in range(1, 51):
            wire.notify("textDocument/didChange", didChange(version))
        for _ in range(20):
            command = {"command": "tests.quick", "arguments": []}
            assert await wire.result("workspace/executeCommand", command) == "done"
        left: int = await wire.result("tests/pending")
        return left

    async def test_an_answered_question_of_the_patched_one_leaves_nothing(
        self, patched: Wire
    ) -> None:
        for reply, wanted in (
            ({"result": {"a": 1}}, "{'a': 1}"),
            ({"result": None}, "None"),
            ({"error": {"code": 5, "message": "no"}}, "JsonRpcException: no"),
            ({"error": "nonsense"}, "InvalidParams: the client's answer to"),
        ):
            asked = patched.ask("tests/ask", {"seconds": 30})
            question = await patched.notified("tests/question")
            patched.send({"id": question["id"], **reply})
            assert (await patched.answer_to(asked))["result"].startswith(wanted)
        assert await patched.result("tests/pending") == 0

    async def test_a_question_that_nobody_answered_in_time_leaves_nothing(
        self, patched: Wire
    ) -> None:
        assert await patched.result("tests/ask", {"seconds": 0}) == "nobody answered"
        question = patched.aside[-1]
        patched.send({"id": question["id"], "result": "too late"})
        assert await patched.result("tests/pending") == 0

    async def test_a_progress_that_ended_leaves_no_token(self, patched: Wire) -> None:
        assert await patched.result("tests/progress") == 0


class TestCancelling:
    """Defects 4 and 6: what is cancelled ends, and says so once."""

    WAIT: ClassVar = {"command": "tests.wait", "arguments": []}

    async def test_stock_fails_to_shut_down_while_a_command_runs(self, start: Start) -> None:
        wire = await start("stock")
        await wire.initialize()
        wire.ask("workspace/executeCommand", self.WAIT)
        await wire.notified("tests/waiting")
        error = await wire.error("shutdown", None)
        # The client did everything right, and now cannot know whether it may send exit.
        assert (error["code"], error["message"]) == (
            INTERNAL,
            "RuntimeError: dictionary changed size during iteration",
        )

    async def test_the_patched_one_shuts_down_and_answers_the_command(self, start: Start) -> None:
        wire = await start("patched")
        await wire.initialize()
        command = wire.ask("workspace/executeCommand", self.WAIT)
        await wire.notified("tests/waiting")
        assert await wire.result("shutdown", None) is None
        await wire.notified("tests/cleanedUp")
        assert (await wire.answer_to(command))["error"]["code"] == CANCELLED
        wire.notify("exit")
        assert await wire.ended() == 0

    async def test_stock_lets_a_cancelled_command_run_on(self, start: Start) -> None:
        wire = await start("stock")
        await wire.initialize()
        command = wire.ask("workspace/executeCommand", self.WAIT)
        await wire.notified("tests/waiting")
        wire.notify("$/cancelRequest", {"id": command})
        assert (await wire.answer_to(command))["error"]["code"] == CANCELLED
        wire.notify("tests/release")
        # The client was informed that nothing happens any more, and then something did.
        await wire.notified("tests/ranOn")

    async def test_the_patched_one_ends_a_cancelled_command_and_then_answers(
        self, patched: Wire
    ) -> None:
        command = patched.ask("workspace/executeCommand", self.WAIT)
        await patched.notified("tests/waiting")
        patched.notify("$/cancelRequest", {"id": command})
        error = (await patched.answer_to(command))["error"]
        assert (error["code"], error["message"]) == (CANCELLED, "tests.wait was cancelled")
        assert [message["method"] for message in patched.aside] == ["tests/cleanedUp"]
        assert await patched.result("tests/pending") == 0

    async def test_cancelling_what_nobody_runs_is_no_error(self, patched: Wire) -> None:
        patched.notify("$/cancelRequest", {"id": 4711})
        assert await patched.result("tests/echo") == "here"
        assert patched.aside == []


class TestErrors:
    """Defect 12, second half: a client gets a sentence and a code; the log gets the traceback."""

    async def test_stock_sends_its_traceback(self, stock: Wire) -> None:
        error = await stock.error("tests/boom")
        # Paths and values of the machine end in whatever the client shows or reports.
        assert error["message"] == "ValueError: the disk at /secret/place"
        assert any("shared_handlers.py" in line for line in error["data"]["traceback"])

    async def test_the_patched_one_sends_a_sentence(self, start: Start) -> None:
        wire = await start("patched")
        await wire.initialize()
        assert await wire.error("tests/boom") == {
            "code": INTERNAL,
            "message": "tests/boom failed (ValueError); the server's log says where",
            "data": {"code": "internal"},
        }
        wire.notify("textDocument/didSave", {"textDocument": {"uri": "file:///a"}})
        told = await wire.receive()
        assert told["method"] == "window/logMessage"
        assert "secret" not in told["params"]["message"]
        wire.process.kill()
        log = (await wire.stderr.read()).decode()
        assert log.count("ValueError: the disk at /secret/place") == 2

    async def test_an_error_of_the_patched_one_keeps_its_message_and_has_a_code(
        self, patched: Wire
    ) -> None:
        assert await patched.error("tests/busy") == {
            "code": -32803,
            "message": "another engine (pid 7) owns this work tree; follow it with: ralph watch",
            "data": {"code": "workspace-busy"},
        }

    @pytest.mark.parametrize("method", ["tests/unsendable", "ralph/state"])
    async def test_an_answer_that_cannot_be_sent_is_an_error(
        self, patched: Wire, method: str
    ) -> None:
        error = await patched.error(method)
        assert error["message"] == f"{method} failed (TypeError); the server's log says where"

    async def test_what_is_no_message_is_answered_too(self, patched: Wire) -> None:
        for body, known, code in (
            (b"{no json", None, -32700),
            (b"\xff", None, -32700),
            (b"[1, 2]", None, INVALID_REQUEST),
            (b'{"id": 5, "method": "tests/echo"}', 5, INVALID_REQUEST),
            (b'{"jsonrpc": "2.0", "id": {}, "method": "tests/echo"}', None, INVALID_REQUEST),
            (b'{"jsonrpc": "2.0", "id": "a", "method": 5}', "a", INVALID_REQUEST),
        ):
            patched.send_body(body)
            answer = await patched.receive()
            assert (answer["id"], answer["error"]["code"]) == (known, code)
        patched.send({"id": None, "error": {"code": 1, "message": "what?"}})
        assert await patched.result("tests/echo") == "here"
        assert (await patched.error("tests/nowhere"))["code"] == -32601
        assert patched.aside == []


class TestCommandArguments:
    async def test_they_are_typed_and_may_be_left_out(self, patched: Wire) -> None:
        for arguments, result in (([{"task": "t1"}], "t1 3"), ([{"task": "t1"}, 5], "t1 5")):
            params = {"command": "tests.typed", "arguments": arguments}
            assert await patched.result("workspace/executeCommand", params) == result

    @pytest.mark.parametrize(
        ("command", "arguments", "field"),
        [
            ("tests.typed", [], "arguments"),
            ("tests.typed", [{}, 1, 2], "arguments"),
            ("tests.typed", [{"tusk": 1}], "params.tusk"),
            ("tests.typed", [{}, "many"], "times"),
            ("tests.typed", [{}, "5"], "times"),
            ("tests.unknown", [], "command"),
        ],
    )
    async def test_wrong_ones_are_named(
        self, patched: Wire, command: str, arguments: list[object], field: str
    ) -> None:
        params = {"command": command, "arguments": arguments}
        error = await patched.error("workspace/executeCommand", params)
        assert error["code"] == INVALID_PARAMS
        assert error["data"]["problems"][0]["field"] == field
        assert error["message"].startswith(f"{command}: {field}: ")
