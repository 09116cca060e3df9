"""An answer in the words of the Chat Completions API, which many models and agents speak."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.fakes.model_stub.api import Api, Json, all_input, pieces, usage_of
from tests.fakes.model_stub.responses_api import error_of
from tests.fakes.model_stub.script import Answer


def _tools_of(request: Json) -> dict[str, Json]:
    functions = [tool.get("function", {}) for tool in request.get("tools") or ()]
    return {str(found.get("name")): found.get("parameters") or {} for found in functions}


def _completion(answer: Answer, number: int, model: str) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.tools:
        message["tool_calls"] = _calls(answer, number)
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(answer)}
    base = _base(number, model, "chat.completion")
    return {**base, "choices": [choice], "usage": _usage(answer)}


def _base(number: int, model: str, kind: str) -> Json:
    name = f"chatcmpl-{number:04d}"
    return {"id": name, "object": kind, "created": 1769860800, "model": model}


def _usage(answer: Answer) -> Json:
    usage = usage_of(answer)
    return {
        "prompt_tokens": all_input(answer),
        "completion_tokens": usage["output_tokens"],
        "total_tokens": all_input(answer) + usage["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": usage["cache_read_input_tokens"]},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _finish_reason(answer: Answer) -> str:
    return "tool_calls" if answer.tools else "stop"


def _calls(answer: Answer, number: int) -> list[Json]:
    return [
        {
            "id": f"call_{number:04d}_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.input))},
        }
        for place, call in enumerate(answer.tools, start=1)
    ]


def _events(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Json]]:
    base = _base(number, model, "chat.completion.chunk")
    for delta in _deltas(answer, number):
        yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if answer.hangs:
        return
    last = {"index": 0, "delta": {}, "finish_reason": _finish_reason(answer)}
    yield "", {**base, "choices": [last]}
    yield "", {**base, "choices": [], "usage": _usage(answer)}


def _deltas(answer: Answer, number: int) -> Iterator[Json]:
    yield {"role": "assistant", "content": "" if answer.text else None}
    for piece in pieces(answer.text, cut=answer.hangs):
        yield {"content": piece}
    if answer.hangs:
        return
    for index, call in enumerate(_calls(answer, number)):
        arguments = call["function"]["arguments"]
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield {"tool_calls": [begun]}
        for piece in pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


CHAT = Api(
    tools_of=_tools_of,
    whole=_completion,
    stream=_events,
    error_of=error_of,
    end_of_stream="data: [DONE]\n\n",
)
