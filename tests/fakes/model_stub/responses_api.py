"""An answer in the words of the Responses API of OpenAI."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.fakes.model_stub.api import Api, Json, all_input, pieces, usage_of
from tests.fakes.model_stub.script import Answer, ToolCall

ERROR_CODES = {
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}

CUSTOM = {"properties": {"input": {}}, "required": ["input"]}
"""What a tool takes that has no schema: one text, here by the name of ``input``."""


def error_of(answer: Answer) -> Json:
    is_callers = 400 <= answer.status < 500
    other = "invalid_request_error" if is_callers else "server_error"
    kind, code = ERROR_CODES.get(answer.status, (other, other))
    return {"error": {"message": answer.text, "type": kind, "param": None, "code": code}}


def _tools_of(request: Json) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for tool in request.get("tools") or ():
        if tool.get("type") == "namespace":
            found |= _tools_of(tool)
        elif tool.get("type") == "custom":
            found[str(tool.get("name"))] = CUSTOM
        elif tool.get("type") == "function":
            found[str(tool.get("name"))] = tool.get("parameters") or {}
    return found


def _response(answer: Answer, number: int, model: str) -> Json:
    output: list[Json] = [_message(answer.text, number)] if answer.text else []
    output += [_call(call, f"{number:04d}_{n}") for n, call in enumerate(answer.tools, start=1)]
    return {
        **_base(number, model),
        "status": "completed",
        "output": output,
        "usage": _usage(answer),
    }


def _base(number: int, model: str) -> Json:
    return {
        "id": f"resp_{number:04d}",
        "object": "response",
        "created_at": 1769860800,
        "model": model,
        "error": None,
        "incomplete_details": None,
        "metadata": {},
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }


def _usage(answer: Answer) -> Json:
    usage = usage_of(answer)
    return {
        "input_tokens": all_input(answer),
        "input_tokens_details": {"cached_tokens": usage["cache_read_input_tokens"]},
        "output_tokens": usage["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": all_input(answer) + usage["output_tokens"],
    }


def _message(text: str, number: int) -> Json:
    return {
        "type": "message",
        "id": f"msg_{number:04d}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def _call(call: ToolCall, name: str) -> Json:
    common = {"id": f"fc_{name}", "call_id": f"call_{name}", "name": call.name}
    if call.custom:
        text = call.input["input"]
        return {"type": "custom_tool_call", **common, "input": text, "status": "completed"}
    arguments = json.dumps(dict(call.input))
    if call.namespace:
        common["namespace"] = call.namespace
    return {"type": "function_call", **common, "arguments": arguments, "status": "completed"}


def _events(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Json]]:
    for place, (name, fields) in enumerate(_stream(answer, number, model)):
        yield name, {"type": name, "sequence_number": place, **fields}


def _stream(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Json]]:
    begun = {**_base(number, model), "status": "in_progress", "output": [], "usage": None}
    done = _response(answer, number, model)
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(done["output"]):
        yield from _item_events(item, index, cut=answer.hangs)
        if answer.hangs:
            return
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": done}


def _item_events(item: Json, index: int, *, cut: bool) -> Iterator[tuple[str, Json]]:
    at = {"item_id": item["id"], "output_index": index}
    match item["type"]:
        case "message":
            kind, field, text = "output_text", "text", item["content"][0]["text"]
            part: Json = {"type": "output_text", "text": "", "annotations": []}
            at = {**at, "content_index": 0}
            yield _added(item, index, "content", [])
            yield "response.content_part.added", {**at, "part": part}
        case "custom_tool_call":
            kind, field, text = "custom_tool_call_input", "input", item["input"]
            yield _added(item, index, field, "")
        case _:
            kind, field, text = "function_call_arguments", "arguments", item["arguments"]
            yield _added(item, index, field, "")
    for piece in pieces(text, cut=cut):
        yield f"response.{kind}.delta", {**at, "delta": piece}
    if cut:
        return
    yield f"response.{kind}.done", {**at, field: text}
    if item["type"] == "message":
        yield "response.content_part.done", {**at, "part": item["content"][0]}


def _added(item: Json, index: int, field: str, empty: object) -> tuple[str, Json]:
    begun = {**item, field: empty, "status": "in_progress"}
    return "response.output_item.added", {"output_index": index, "item": begun}


RESPONSES = Api(tools_of=_tools_of, whole=_response, stream=_events, error_of=error_of)
