"""An answer in the words of the Messages API: one JSON object, or the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.fakes.model_stub.api import Api, Json, pieces, usage_of
from tests.fakes.model_stub.script import Answer

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def error_of(answer: Answer) -> Json:
    kind = ERROR_TYPES.get(answer.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": answer.text}}


def _tools_of(request: Json) -> dict[str, Json]:
    tools = request.get("tools") or ()
    return {str(tool.get("name")): tool.get("input_schema", {}) for tool in tools}


def _message(answer: Answer, number: int, model: str) -> Json:
    return {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": _blocks(answer, number),
        "stop_reason": _stop_reason(answer),
        "stop_sequence": None,
        "usage": dict(usage_of(answer)),
    }


def _events(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Json]]:
    for event in _stream(answer, number, model):
        yield event["type"], event


def _stream(answer: Answer, number: int, model: str) -> Iterator[Json]:
    message = _message(answer, number, model)
    blocks, message["content"], message["stop_reason"] = message["content"], [], None
    # As the real one: what is written is not known when it begins.
    usage = message["usage"]
    message["usage"] = {**usage, "output_tokens": 1}
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(blocks):
        yield from _block_events(block, index, cut=answer.hangs)
        if answer.hangs:
            return
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": _stop_reason(answer), "stop_sequence": None},
        "usage": {"output_tokens": usage["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _stop_reason(answer: Answer) -> str:
    return "tool_use" if answer.tools else "end_turn"


def _blocks(answer: Answer, number: int) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    for place, call in enumerate(answer.tools, start=1):
        name = f"toolu_{number:04d}_{place}"
        blocks.append(
            {"type": "tool_use", "id": name, "name": call.name, "input": dict(call.input)}
        )
    return blocks


def _block_events(block: Json, index: int, *, cut: bool) -> Iterator[Json]:
    if block["type"] == "text":
        empty: Json = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": text} for text in pieces(block["text"], cut=cut)]
    else:
        empty = {**block, "input": {}}
        given = pieces(json.dumps(block["input"]), cut=cut)
        deltas = [{"type": "input_json_delta", "partial_json": text} for text in given]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    if not cut:
        yield {"type": "content_block_stop", "index": index}


MESSAGES = Api(tools_of=_tools_of, whole=_message, stream=_events, error_of=error_of)
