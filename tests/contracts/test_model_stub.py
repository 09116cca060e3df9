"""The model stub by itself: the words of the APIs. That agents believe it: ``tests/e2e``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fakes.model_stub import Answer, ModelStub, ToolCall

Json = dict[str, Any]

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


SCHEMA = {"properties": {"path": {}}, "required": ["path"]}
FUNCTION = {"name": "Write", "parameters": SCHEMA}
MODEL = "/v1beta/models/gem:"


class Other:
    """How one of the other APIs is asked, and where in its answers is what."""

    def __init__(
        self,
        path: str,
        stream_path: str,
        tools: list[Json],
        whole: Callable[[Json], tuple[str, Json, int, int]],
        pieces: Callable[[Json], tuple[str, str]],
        error: Callable[[Json], str],
    ) -> None:
        self.path = path
        self.stream_path = stream_path
        self.tools = tools
        self.whole = whole
        self.pieces = pieces
        self.error = error


def whole_response(answer: Json) -> tuple[str, Json, int, int]:
    message, call = answer["output"]
    usage = answer["usage"]
    cached = usage["input_tokens_details"]["cached_tokens"]
    arguments = json.loads(call["arguments"])
    return message["content"][0]["text"], arguments, usage["input_tokens"], cached


def response_pieces(event: Json) -> tuple[str, str]:
    delta = event.get("delta", "")
    is_text = event["type"] == "response.output_text.delta"
    return (delta, "") if is_text else ("", delta)


def whole_completion(answer: Json) -> tuple[str, Json, int, int]:
    message = answer["choices"][0]["message"]
    usage = answer["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    arguments = json.loads(message["tool_calls"][0]["function"]["arguments"])
    return message["content"], arguments, usage["prompt_tokens"], cached


def completion_pieces(event: Json) -> tuple[str, str]:
    deltas = [choice["delta"] for choice in event["choices"]]
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    text = "".join(delta.get("content") or "" for delta in deltas)
    return text, "".join(call["arguments"] for call in calls)


def whole_gemini(answer: Json) -> tuple[str, Json, int, int]:
    text, call = answer["candidates"][0]["content"]["parts"]
    usage = answer["usageMetadata"]
    cached = usage["cachedContentTokenCount"]
    return text["text"], call["functionCall"]["args"], usage["promptTokenCount"], cached


def gemini_pieces(event: Json) -> tuple[str, str]:
    parts = event["candidates"][0]["content"]["parts"]
    calls = [json.dumps(part["functionCall"]["args"]) for part in parts if "functionCall" in part]
    return "".join(part.get("text", "") for part in parts), "".join(calls)


OTHERS = {
    "responses": Other(
        "/v1/responses",
        "/v1/responses",
        [{"type": "namespace", "tools": [{"type": "function", **FUNCTION}]}],
        whole_response,
        response_pieces,
        lambda body: str(body["error"]["code"]),
    ),
    "chat": Other(
        "/v1/chat/completions",
        "/v1/chat/completions",
        [{"type": "function", "function": FUNCTION}],
        whole_completion,
        completion_pieces,
        lambda body: str(body["error"]["code"]),
    ),
    "gemini": Other(
        f"{MODEL}generateContent",
        f"{MODEL}streamGenerateContent?alt=sse",
        [{"functionDeclarations": [FUNCTION]}],
        whole_gemini,
        gemini_pieces,
        lambda body: str(body["error"]["status"]),
    ),
}


@pytest.mark.parametrize("api", OTHERS.values(), ids=OTHERS)
def test_the_other_apis_say_the_same_whole_and_in_pieces(stub: ModelStub, api: Other) -> None:
    answer = Answer(text="Grüße, " * 20, tools=(WRITE,), usage={"input_tokens": 3})
    stub.say(answer, answer, Answer(status=429, text="Slow down"))
    whole = json.loads(ask(stub.url, api.path, tools=api.tools)[1])
    # What came from a cache and what went into it are input, too.
    assert api.whole(whole) == (answer.text, WRITE.input, 903, 800)
    streamed = ask(stub.url, api.stream_path, tools=api.tools, stream=True)[1]
    lines = [line[6:] for line in streamed.splitlines() if line.startswith("data: {")]
    texts, arguments = zip(*[api.pieces(json.loads(line)) for line in lines], strict=True)
    assert "".join(texts) == answer.text
    assert json.loads("".join(arguments)) == WRITE.input
    status, body = ask(stub.url, api.path, tools=api.tools)
    assert status == 429
    assert api.error(json.loads(body)) in {"rate_limit_exceeded", "RESOURCE_EXHAUSTED"}
    assert (stub.n_left, stub.problems) == (0, [])


@pytest.mark.parametrize("api", OTHERS.values(), ids=OTHERS)
def test_the_other_apis_mind_the_agents_tools(stub: ModelStub, api: Other) -> None:
    stub.say(Answer(tools=(ToolCall(name="Fly", input={}),)))
    assert "A title" in ask(stub.url, api.path, tools=[])[1]
    assert ask(stub.url, api.path, tools=api.tools)[0] == 402
    assert stub.problems == ["the agent has no tool Fly; it has: ['Write']"]


def test_a_tool_that_takes_a_text_gets_a_text(stub: ModelStub) -> None:
    call = ToolCall(name="apply_patch", input={"input": "*** Begin Patch"}, custom=True)
    stub.say(Answer(tools=(call,)))
    tools = [{"type": "custom", "name": "apply_patch"}]
    (item,) = json.loads(ask(stub.url, "/v1/responses", tools=tools)[1])["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin Patch")


def test_a_question_of_an_agent_to_itself_is_answered_by_its_schema(stub: ModelStub) -> None:
    stub.say(Answer(text="The work"))
    schema = {"type": "object", "properties": {"who": {"type": "string", "enum": ["user"]}}}
    settings = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    said = ask(stub.url, f"{MODEL}generateContent", generationConfig=settings)[1]
    parts = json.loads(said)["candidates"][0]["content"]["parts"]
    assert json.loads(parts[0]["text"]) == {"who": "user"}
    assert stub.n_left == 1


@pytest.mark.slow
def test_a_script_can_be_in_a_file_and_be_served_by_itself(tmp_path: Path) -> None:
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
