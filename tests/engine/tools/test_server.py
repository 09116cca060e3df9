"""``ralph mcp`` as a server: what it answers by itself, and bad input of a client or an agent."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.cli import mcp_server
from ralph_ls.cli.mcp_server import McpServer
from ralph_ls.core.loop.effects import LaunchAgent, ReplyToAgent
from ralph_ls.core.loop.inputs import AgentCalled
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.engine.iteration.agent_tools import AgentTools
from ralph_ls.engine.sandbox.hook_socket import HookSocket
from ralph_ls.protocol.run import agent_tools

ORDER = LaunchAgent(
    start=1,
    iteration=1,
    attempt=1,
    context=PromptContext(
        iteration=1, max_iterations=None, plan_path="p", decide_path="d", blocked_path="b"
    ),
)


class Output:
    """An agent's output of which nothing was read."""

    n_bytes = 7

    def is_sub_agent_call(self, tool: str, arguments: dict[str, Any]) -> bool:
        return arguments.get("reason") == "sub"


def tools(deliver: Callable[[AgentTools, AgentCalled], None]) -> AgentTools:
    made: AgentTools = AgentTools(None, Output(), lambda call: deliver(made, call))  # type: ignore[arg-type]
    made.begin(ORDER)
    return made


def replies(made: AgentTools, call: AgentCalled) -> None:
    made.reply(ReplyToAgent(call=call.call, text=f"{call.tool.value} {call.output_bytes}"))


def answer(line: bytes) -> Any:
    """What a server without an engine answers at once."""
    out = io.BytesIO()
    McpServer(Path("/nowhere/hook.sock"), "t", out).take(line)
    return json.loads(out.getvalue()) if out.getvalue() else None


def said(method: str, number: object = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def test_its_names_are_those_of_the_protocol() -> None:
    """It has them a second time, since it imports no models."""
    assert (mcp_server.SOCKET, mcp_server.TICKET) == (agent_tools.SOCKET, agent_tools.TICKET)
    assert (agent_tools.LIST_TOOLS, agent_tools.CALL_TOOL) == ("listTools", "callTool")


class TestByItself:
    @pytest.mark.parametrize(
        ("wanted", "found"),
        [("2024-11-05", "2024-11-05"), ("1999", "2025-06-18"), (3, "2025-06-18")],
    )
    def test_it_speaks_the_clients_version_or_its_newest(self, wanted: object, found: str) -> None:
        hello = answer(said("initialize", protocolVersion=wanted))["result"]
        assert (hello["protocolVersion"], hello["serverInfo"]["name"]) == (found, "ralph")

    def test_it_answers_a_ping_and_no_notification(self) -> None:
        assert answer(said("ping", "a")) == {"jsonrpc": "2.0", "id": "a", "result": {}}
        assert answer(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}') is None

    @pytest.mark.parametrize("line", [b"no", b"[" * 100_000])
    def test_what_is_no_json_is_an_error(self, line: bytes) -> None:
        assert answer(line)["error"]["code"] == -32700

    @pytest.mark.parametrize("line", [b"[]", b"3", b'{"id": 1, "result": {}}'])
    def test_what_asks_nothing_gets_nothing(self, line: bytes) -> None:
        assert answer(line) is None

    def test_an_unknown_method_is_an_error(self) -> None:
        assert "prompts/list" in answer(said("prompts/list"))["error"]["message"]


class Spoken(io.BytesIO):
    """An output that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def flush(self) -> None:
        self.written.set()


def through(made: AgentTools, folder: Path, line: bytes, ticket: str | None = None) -> Any:
    """What a server answers whose engine is this one."""
    out = Spoken()

    async def talk() -> None:
        hook = HookSocket(folder, {"listTools": made.list_tools, "callTool": made.call})
        await hook.open()
        token = made.token if ticket is None else ticket
        McpServer(folder / "hook.sock", token, out).take(line)
        assert await asyncio.to_thread(out.written.wait, 60)
        await hook.close()

    asyncio.run(talk())
    return json.loads(out.getvalue())


class TestThroughTheEngine:
    def test_it_lists_the_tools_with_their_schemas(self, tmp_path: Path) -> None:
        listed = through(tools(replies), tmp_path, said("tools/list"))["result"]["tools"]
        by_name = {one["name"]: one for one in listed}
        assert len(by_name) == 9
        for one in listed:
            assert one["inputSchema"]["type"] == "object"
            assert one["inputSchema"]["additionalProperties"] is False
            assert one["description"]
        assert by_name["report_status"]["inputSchema"]["required"] == ["status"]

    def test_a_call_is_answered_when_the_loop_has_it(self, tmp_path: Path) -> None:
        line = said("tools/call", name="note_discovery", arguments={"text": "a"})
        found = through(tools(replies), tmp_path, line)["result"]
        assert found == {
            "content": [{"type": "text", "text": "note_discovery 7"}],
            "isError": False,
        }

    @pytest.mark.parametrize(
        ("name", "arguments", "problem"),
        [
            ("report_status", None, "status: Field required"),
            ("report_status", {"status": "COMPLETE", "color": "x"}, "color: Extra inputs"),
            ("report_status", {"status": "COMPLETE", "tasksCompleted": -1}, "tasksCompleted"),
            ("report_blocked", {"reason": "  "}, "reason: String should have at least 1"),
            ("note_discovery", {"text": "a" * 4001}, "at most 4000"),
            ("complete_task", {"evidence": [{"criterion": 0, "evidence": "a"}]}, "evidence.0."),
            ("remember", [], "remember: "),
            ("remember", {"text": "\udcff"}, "text: "),
            ("remember", {"text": "a", "\udcff": 1}, "remember: "),
            ("rm -rf", {}, "there is no tool 'rm -rf'"),
            (None, {}, "there is no tool None"),
        ],
    )
    def test_bad_input_says_what_to_correct(
        self, tmp_path: Path, name: object, arguments: object, problem: str
    ) -> None:
        line = said("tools/call", name=name, arguments=arguments)
        found = through(tools(replies), tmp_path, line)["result"]
        assert found["isError"]
        assert problem in found["content"][0]["text"]

    @pytest.mark.parametrize("ticket", ["", "other", "\udcff"])
    def test_another_start_reports_nothing(self, tmp_path: Path, ticket: str) -> None:
        line = said("tools/call", name="remember", arguments={"text": "a"})
        found = through(tools(replies), tmp_path, line, ticket)["result"]
        assert "this iteration is over" in found["content"][0]["text"]

    @pytest.mark.parametrize("halts", [True, False])
    def test_a_hook_learns_whether_the_agent_halted(self, halts: bool) -> None:
        made = tools(replies)
        made.reply(ReplyToAgent(call=1, text="", halts=halts))
        found = asyncio.run(made.halted({"token": made.token}))
        assert found == {"halted": halts}
        made.begin(ORDER)
        assert asyncio.run(made.halted({"token": made.token})) == {"halted": False}

    def test_the_end_of_the_agent_ends_a_wait(self, tmp_path: Path) -> None:
        line = said("tools/call", name="ask_decision", arguments={"question": "a or b?"})
        found = through(tools(lambda made, _: made.close()), tmp_path, line)["result"]
        assert "this iteration is over" in found["content"][0]["text"]

    def test_a_call_that_is_too_long_says_so(self, tmp_path: Path) -> None:
        evidence = [{"criterion": n, "evidence": "a" * 4000} for n in range(1, 40)]
        line = said("tools/call", name="complete_task", arguments={"evidence": evidence})
        message = through(tools(replies), tmp_path, line)["error"]["message"]
        assert "at most 65536 are read; shorten it" in message

    def test_where_nobody_answers_it_can_be_tried_again(self, tmp_path: Path) -> None:
        (tmp_path / "hook.sock").touch()
        out = Spoken()
        McpServer(tmp_path / "hook.sock", "t", out).take(said("tools/list"))
        assert out.written.wait(60)
        assert "call again" in json.loads(out.getvalue())["error"]["message"]

    def test_without_its_iteration_a_call_is_an_error(self) -> None:
        out = Spoken()
        McpServer(Path("/nowhere/hook.sock"), "t", out).take(said("tools/list"))
        assert out.written.wait(60)
        assert "this iteration is over" in json.loads(out.getvalue())["error"]["message"]
