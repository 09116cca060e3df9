"""An answer in the words of the Messages API: one JSON object, or the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.fakes.model_stub.script import Answer

DEFAULT_USAGE = {
    "input_tokens": 1200,
    "output_tokens": 34,
    "cache_read_input_tokens": 800,
    "cache_creation_input_tokens": 100,
}

PIECE = 24
"""Characters of one delta."""

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}

Json = dict[str, Any]


def message_of(answer: Answer, *, number: int, model: str) -> Json:
    """The whole message, as a request without ``stream`` gets it."""
    return {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": _blocks(answer, number),
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "usage": {**DEFAULT_USAGE, **answer.usage},
    }


def error_of(answer: Answer) -> Json:
    """The body of an error."""
    kind = ERROR_TYPES.get(answer.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": answer.text}}


def events_of(answer: Answer, *, number: int, model: str) -> Iterator[Json]:
    """The events of the message's stream; of one that hangs only the first half."""
    message = message_of(answer, number=number, model=model)
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
        "delta": {"stop_reason": answer.stop_reason, "stop_sequence": None},
        "usage": {"output_tokens": usage["output_tokens"]},
    }
    yield {"type": "message_stop"}


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
        text = block["text"]
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(text)]
    else:
        empty = {**block, "input": {}}
        text = json.dumps(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(text)]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas[: len(deltas) // 2] if cut else deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    if not cut:
        yield {"type": "content_block_stop", "index": index}


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
