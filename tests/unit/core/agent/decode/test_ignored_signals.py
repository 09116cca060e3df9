"""Signals in places where nothing counts are found with their place, and only those."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.common.json_lines import LONGEST_LINE
from ralph_ls.core.agent.ignored_signals import (
    MAX_MISPLACED_SIGNALS,
    MisplacedSignal,
    find_misplaced_signals,
)
from ralph_ls.protocol.config.agent import JsonLinesConfig
from ralph_ls.protocol.config.agent_catalog import Dialect
from tests.unit.core.agent.decode.claude_streams import answer, came_back, init, result, stream, use
from tests.unit.core.agent.decode.codex_streams import STARTED, done, ended, ran, said
from tests.unit.core.agent.decode.other_streams import (
    gemini,
    gemini_back,
    gemini_call,
    gemini_end,
    opencode,
    opencode_call,
    opencode_said,
    opencode_step,
    piece,
)

BLOCK = "---RALPH_STATUS---\nSTATUS: COMPLETE\n---END_RALPH_STATUS---"
TAG = "<promise>COMPLETE</promise>"
SHOWN = " ".join(BLOCK.split())


def claude(*records: Any) -> list[tuple[int, str, str]]:
    found = find_misplaced_signals(stream(*records), Dialect.CLAUDE)
    return [(each.line, each.where, each.what) for each in found]


def test_records_in_an_array_are_searched_one_by_one() -> None:
    assert claude([came_back(content=f"x\n{BLOCK}"), 1]) == [(1, "a tool's result", "report")]


def codex(*records: Any) -> list[tuple[int, str, str]]:
    found = find_misplaced_signals(stream(*STARTED, *records, done()), Dialect.CODEX)
    return [(each.line - len(STARTED), each.where, each.what) for each in found]


def prompt(content: Any, parent: str | None = None) -> dict[str, Any]:
    return {"type": "user", "message": {"content": content}, "parent_tool_use_id": parent}


@pytest.mark.parametrize(
    ("record", "where"),
    [
        (came_back(content=f"x\n{BLOCK}"), "a tool's result"),
        (came_back(content=[{"type": "text", "text": BLOCK}]), "a tool's result"),
        (prompt(BLOCK), "the prompt"),
        (prompt([{"type": "text", "text": BLOCK}]), "the prompt"),
        (answer({"type": "thinking", "thinking": BLOCK}), "the reasoning"),
        (answer(use("Bash", command=f"cat <<X\n{BLOCK}\nX")), "a tool's call"),
        (answer(use("X", deep=[{"a": [1, None, BLOCK]}])), "a tool's call"),
        (answer(BLOCK, use("Bash")), "an earlier text"),
        (answer(BLOCK, parent="call_0"), "a sub-agent's words"),
        (answer({"type": "thinking", "t": BLOCK}, parent="call_0"), "a sub-agent's words"),
        (answer(use("Bash", command=BLOCK), parent="call_0"), "a tool's call"),
        (prompt(BLOCK, parent="call_0"), "the prompt"),
    ],
)
def test_places_in_the_stream_of_claude(record: Any, where: str) -> None:
    assert claude(init(), record, result("Done.")) == [(2, where, "report")]


def cline_event(kind: str, content: str, **fields: Any) -> dict[str, Any]:
    return {"type": "agent_event", "event": {"type": kind, "contentType": content, **fields}}


@pytest.mark.parametrize(
    ("record", "where"),
    [
        (cline_event("content_end", "text", text=BLOCK), "an earlier text"),
        (cline_event("content_end", "reasoning", reasoning=BLOCK), "the reasoning"),
        (cline_event("content_start", "tool", input={"commands": [BLOCK]}), "a tool's call"),
        (cline_event("content_end", "tool", output=[{"result": BLOCK}]), "a tool's result"),
        (
            cline_event("content_end", "tool", toolName="spawn_agent", output={"text": BLOCK}),
            "a sub-agent's words",
        ),
        (cline_event("content_start", "text", accumulated=BLOCK), None),
        ({"type": "run_result", "text": BLOCK, "event": 7}, None),
    ],
)
def test_places_in_the_stream_of_cline(record: Any, where: str | None) -> None:
    call = cline_event("content_start", "tool", toolName="x", toolCallId="1")
    end = {"type": "run_result", "finishReason": "completed", "text": "Done."}
    found = find_misplaced_signals(stream(record, call, end), Dialect.CLINE)
    assert [one.where for one in found] == ([] if where is None else [where])


@pytest.mark.parametrize(
    ("record", "where"),
    [
        ({"type": "assistant.message", "data": {"content": BLOCK}}, "an earlier text"),
        (
            {"type": "assistant.message", "agentId": "a", "data": {"content": BLOCK}},
            "a sub-agent's words",
        ),
        ({"type": "assistant.message", "data": {"reasoningText": BLOCK}}, "the reasoning"),
        ({"type": "tool.execution_start", "data": {"arguments": {"a": BLOCK}}}, "a tool's call"),
        (
            {"type": "tool.execution_complete", "data": {"result": {"content": BLOCK}}},
            "a tool's result",
        ),
        ({"type": "user.message", "data": {"content": BLOCK}}, "the prompt"),
        ({"type": "assistant.message_delta", "data": {"deltaContent": BLOCK}}, None),
        ({"type": "assistant.message", "data": BLOCK}, None),
    ],
)
def test_places_in_the_stream_of_copilot(record: Any, where: str | None) -> None:
    call = {"type": "tool.execution_start", "data": {"toolCallId": "1", "toolName": "x"}}
    end = {"type": "result", "exitCode": 0}
    found = find_misplaced_signals(stream(record, call, end), Dialect.COPILOT)
    assert [one.where for one in found] == ([] if where is None else [where])


def test_of_json_lines_all_that_does_not_count_is_in_a_record() -> None:
    mapping = JsonLinesConfig.model_validate({"kind": "k"})
    records = [{"k": "tool_result", "deep": [{"text": BLOCK}]}, {"k": "result", "text": TAG}]
    (found,) = find_misplaced_signals(stream(*records), Dialect.JSONL, mapping)
    assert (found.line, found.where, found.what) == (1, "a record", "report")


@pytest.mark.parametrize(
    ("item", "where"),
    [
        (ran(TAG), "a tool's result"),
        (ended("command_execution", command=f"echo {TAG}"), "a tool's call"),
        (
            ended("mcp_tool_call", result={"content": [{"text": TAG}]}, status="completed"),
            "a tool's result",
        ),
        (ended("collab_tool_call", agents_states={"a": {"message": TAG}}), "a sub-agent's words"),
        (ended("reasoning", text=TAG), "the reasoning"),
        (ended("todo_list", items=[{"text": TAG}]), "the to-do list"),
        (said(TAG), "an earlier text"),
    ],
)
def test_places_in_the_stream_of_codex(item: Any, where: str) -> None:
    assert codex(said("x"), item, said("Done.")) == [(2, where, "promise")]


def test_a_signal_is_shown_in_one_short_line() -> None:
    long = f"<promise>DECIDE: {'漢' * 500}</promise>"
    data = stream(came_back(content=f"{BLOCK}\n{long}"), result("Done."))
    first, second = find_misplaced_signals(data, Dialect.CLAUDE)
    assert first == MisplacedSignal(line=1, where="a tool's result", what="report", text=SHOWN)
    assert second.text.startswith("<promise>DECIDE: 漢漢")
    assert second.text.endswith("漢…")
    assert len(second.text) == 200


def test_what_is_in_the_final_text_too_was_recognised() -> None:
    assert claude(prompt(f"say {TAG}"), answer(TAG), result(TAG)) == []
    assert claude(prompt(f"say {TAG}"), result("Done.")) == [(1, "the prompt", "promise")]


def test_of_a_record_each_signal_is_reported_once() -> None:
    assert claude(came_back(content=f"{TAG} and {TAG}"), result()) == [
        (1, "a tool's result", "promise")
    ]


def test_of_a_flood_the_last_are_kept() -> None:
    found = claude(*[came_back(content=TAG)] * (MAX_MISPLACED_SIGNALS + 5), result())
    assert (len(found), found[0][0], found[-1][0]) == (
        MAX_MISPLACED_SIGNALS,
        6,
        MAX_MISPLACED_SIGNALS + 5,
    )


@pytest.mark.parametrize(
    "line",
    [
        b"<promise>COMPLETE</promise>",
        b'{"type":"user","message":"<promise>COMPLETE</promise>',
        b'["<promise>COMPLETE</promise>"]',
        b'{"type":"user","message":["<promise>COMPLETE</promise>"]}',
        b'{"type":"user","message":{"content":["<promise>COMPLETE</promise>"]}}',
        b'{"type":"user","message":{"content":[{"type":[],"text":"<promise>A</promise>"}]}}',
        b'{"type":"stream_event","message":{"content":"<promise>COMPLETE</promise>"}}',
        b'{"type":"user","message":{"content":"a promise, and no more"}}',
        b'{"promise":' + b"[" * 100_000,
        b'{"type":"user","message":{"content":"<promise>A</promise>"},"x":"%s"}'
        % (b"x" * LONGEST_LINE),
    ],
)
def test_what_cannot_be_read_has_none(line: bytes) -> None:
    assert claude(line, result()) == []


@pytest.mark.parametrize(
    "line",
    [
        {"type": "item.completed", "item": TAG},
        {"type": "item.started", "item": {"type": "reasoning", "text": TAG}},
        {"type": "item.completed", "item": {"type": "tea", "text": TAG}},
    ],
)
def test_other_events_of_codex_have_none(line: Any) -> None:
    assert codex(line, said("Done.")) == []


def test_all_of_plain_text_is_the_agents_own() -> None:
    assert find_misplaced_signals(TAG.encode(), Dialect.TEXT) == ()


def test_a_stream_without_an_end_is_read_to_where_it_ends() -> None:
    data = stream(init(), came_back(content=TAG)).rstrip(b"\n")
    assert [each.line for each in find_misplaced_signals(data, Dialect.CLAUDE)] == [2]


@given(st.lists(st.binary(max_size=40) | st.just(stream(came_back(content=TAG)))))
def test_no_stream_breaks_it(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    for dialect in Dialect:
        for found in find_misplaced_signals(data, dialect):
            assert 1 <= found.line <= data.count(b"\n") + 1


@pytest.mark.parametrize(
    ("record", "where"),
    [
        (gemini("message", role="user", content=TAG), "the prompt"),
        (gemini("message", role="assistant", content=TAG), "an earlier text"),
        (gemini_call("run_shell_command", command=f"echo {TAG}"), "a tool's call"),
        (gemini_back(output=TAG), "a tool's result"),
        (gemini("error", severity="warning", message=TAG), "a warning"),
        (gemini("new_kind", content=TAG), None),
        # Of what is said in pieces a record has only a part.
        (piece(TAG), None),
    ],
)
def test_places_in_the_stream_of_gemini(record: Any, where: str | None) -> None:
    records = (record, gemini_call("glob"), piece("Done."), gemini_end())
    found = find_misplaced_signals(stream(*records), Dialect.GEMINI)
    expected = [] if where is None else [(1, where, "promise")]
    assert [(each.line, each.where, each.what) for each in found] == expected


@pytest.mark.parametrize(
    ("event", "where"),
    [
        (opencode_call("bash", {"command": f"echo {TAG}"}), "a tool's call"),
        (opencode_call("bash", {}, output=TAG), "a tool's result"),
        (opencode_call("bash", {}, error=TAG), "a tool's result"),
        (opencode_call("task", {}, output=TAG), "a sub-agent's words"),
        (opencode_said(TAG), "an earlier text"),
        (opencode("reasoning", part={"text": TAG}), "the reasoning"),
        (opencode("step_start", part={"text": TAG}), None),
        (opencode("tool_use", part={"text": TAG}), None),
        (opencode("error", error=TAG), None),
    ],
)
def test_places_in_the_stream_of_opencode(event: Any, where: str | None) -> None:
    events = (event, opencode_call("glob", {}), opencode_said("Done."), opencode_step())
    found = find_misplaced_signals(stream(*events), Dialect.OPENCODE)
    expected = [] if where is None else [(1, where, "promise")]
    assert [(each.line, each.where, each.what) for each in found] == expected


@pytest.mark.parametrize(
    ("update", "where"),
    [
        ({"sessionUpdate": "tool_call", "rawInput": {"command": TAG}}, "a tool's call"),
        ({"sessionUpdate": "tool_call_update", "rawOutput": {"output": TAG}}, "a tool's result"),
        (
            {"sessionUpdate": "tool_call_update", "content": [{"content": {"text": TAG}}]},
            "a tool's result",
        ),
        ({"sessionUpdate": "agent_thought_chunk", "content": {"text": TAG}}, "the reasoning"),
        ({"sessionUpdate": "agent_message_chunk", "content": {"text": TAG}}, "an earlier text"),
        ({"sessionUpdate": "plan", "entries": [{"content": TAG}]}, None),
        (TAG, None),
    ],
)
def test_places_in_the_messages_of_the_agent_client_protocol(
    update: Any, where: str | None
) -> None:
    call = {"sessionUpdate": "tool_call", "toolCallId": "c"}
    records = [{"method": "session/update", "params": {"update": one}} for one in (update, call)]
    found = find_misplaced_signals(stream(*records, {"params": TAG}), Dialect.ACP)
    assert [(one.line, one.where) for one in found] == ([] if where is None else [(1, where)])
