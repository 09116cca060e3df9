"""The model stub by itself: the words of the API. That agents believe it: ``tests/e2e``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fakes.model_stub import Answer, ModelStub, ToolCall

TOOLS = [{"name": "Write", "input_schema": {"properties": {"path": {}}, "required": ["path"]}}]
WRITE = ToolCall(name="Write", input={"path": '漢字 "x"'})


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with ModelStub() as made:
        yield made


def ask(url: str, path: str = "/v1/messages", **fields: Any) -> tuple[int, str]:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("POST", path, json.dumps({"model": "m", "tools": TOOLS, **fields}))
    answer = connection.getresponse()
    try:
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def put_together(stream: str) -> list[str]:
    """The texts of a stream's blocks, from their deltas."""
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]
    texts: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_delta":
            delta = event["delta"]
            text = delta.get("text") or delta.get("partial_json")
            texts[event["index"]] = texts.get(event["index"], "") + text
    return list(texts.values())


def test_a_stream_holds_what_the_whole_message_holds(stub: ModelStub) -> None:
    answer = Answer(text="Grüße, " * 20, tools=(WRITE,), usage={"input_tokens": 3})
    stub.say(answer, answer)
    status, whole = ask(stub.url)
    message = json.loads(whole)
    assert (status, message["stop_reason"]) == (200, "tool_use")
    assert message["usage"]["input_tokens"] == 3
    text, call = message["content"]
    texts = put_together(ask(stub.url, stream=True)[1])
    assert texts == [text["text"], json.dumps(call["input"])]
    assert (stub.n_left, stub.problems) == (0, [])


def test_what_is_asked_beside_the_work_takes_nothing_from_the_script(stub: ModelStub) -> None:
    stub.say(Answer(text="The work"))
    assert "A title" in ask(stub.url, tools=[])[1]
    assert ask(stub.url, "/v1/messages/count_tokens?beta=true")[0] == 200
    assert ask(stub.url, "/v1/elsewhere")[0] == 404
    assert "The work" in ask(stub.url)[1]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (ToolCall(name="Fly", input={}), "the agent has no tool Fly; it has: ['Write']"),
        (ToolCall(name="Write", input={"a": 1}), "Write: unknown ['a'], missing ['path']"),
    ],
)
def test_a_call_that_the_agent_cannot_make_is_a_problem(
    stub: ModelStub, call: ToolCall, problem: str
) -> None:
    stub.say(Answer(tools=(call,)))
    assert ask(stub.url)[0] == 402
    assert ask(stub.url)[0] == 402
    assert stub.problems == [problem, "the script is at its end, and the agent asks on"]


def test_an_error_has_its_status_its_kind_and_its_headers(stub: ModelStub) -> None:
    stub.say(Answer(status=429, text="Slow down", headers={"retry-after": "1"}))
    status, body = ask(stub.url, stream=True)
    error = {"type": "rate_limit_error", "message": "Slow down"}
    assert (status, json.loads(body)) == (429, {"type": "error", "error": error})


@pytest.mark.slow
def test_a_script_can_lie_in_a_file_and_be_served_by_itself(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    tools = [{"name": "Write", "input": {"path": "a"}}]
    script.write_text(json.dumps([{"text": "Hello", "tools": tools}]), encoding="utf-8")
    served = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.model_stub", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert served.stdout is not None
    content = json.loads(ask(served.stdout.readline().strip())[1])["content"]
    served.communicate(timeout=60)
    assert [block["type"] for block in content] == ["text", "tool_use"]
    assert served.returncode == 0
