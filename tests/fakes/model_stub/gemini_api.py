"""An answer in the words of the Gemini API: ``generateContent``, whole or as a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.fakes.model_stub.api import Api, Json, all_input, pieces, usage_of
from tests.fakes.model_stub.script import Answer

ERROR_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}

PATH = re.compile(r"/models/(?P<model>[^:/]+):(?P<stream>streamG|g)enerateContent$")


def fields_of(path: str) -> Json | None:
    """What other APIs have in the body: the model, and whether it is to be a stream."""
    found = PATH.search(path)
    return found and {"model": found["model"], "stream": found["stream"] == "streamG"}


def error_of(answer: Answer) -> Json:
    status = ERROR_STATUSES.get(answer.status, "INTERNAL")
    return {"error": {"code": answer.status, "message": answer.text, "status": status}}


def _tools_of(request: Json) -> dict[str, Json]:
    return {
        str(function.get("name")): function.get("parametersJsonSchema")
        or function.get("parameters")
        or {}
        for tool in request.get("tools") or ()
        for function in tool.get("functionDeclarations") or ()
    }


def _answer(answer: Answer, number: int, model: str) -> Json:
    parts = [{"text": answer.text}] if answer.text else []
    return _chunk([*parts, *_calls(answer)], number, model, ends=answer)


def _events(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Json]]:
    texts = [[{"text": piece}] for piece in pieces(answer.text, cut=answer.hangs)]
    for parts in texts:
        yield "", _chunk(parts, number, model)
    if not answer.hangs:
        yield "", _chunk(_calls(answer) or [{"text": ""}], number, model, ends=answer)


def _calls(answer: Answer) -> list[Json]:
    return [
        {"functionCall": {"name": call.name, "args": dict(call.input)}} for call in answer.tools
    ]


def _chunk(parts: list[Json], number: int, model: str, ends: Answer | None = None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    chunk = {"modelVersion": model, "responseId": f"response-{number:04d}"}
    if ends is None:
        return {"candidates": [candidate], **chunk}
    done = {**candidate, "finishReason": "STOP"}
    return {"candidates": [done], **chunk, "usageMetadata": _usage(ends)}


def _usage(answer: Answer) -> Json:
    usage = usage_of(answer)
    return {
        "promptTokenCount": all_input(answer),
        "candidatesTokenCount": usage["output_tokens"],
        "totalTokenCount": all_input(answer) + usage["output_tokens"],
        "cachedContentTokenCount": usage["cache_read_input_tokens"],
    }


def _aside(request: Json) -> Json | None:
    """Questions of the agent to itself, such as who is next: answered by their own schema."""
    settings = request.get("generationConfig") or {}
    schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
    if schema is None and settings.get("responseMimeType") != "application/json":
        return None
    text = json.dumps(_filled(schema or {"type": "object"}))
    return _answer(Answer(text=text), 0, str(request.get("model")))


def _filled(schema: Json) -> object:
    match str(schema.get("type")).lower():
        case "object":
            return {name: _filled(part) for name, part in schema.get("properties", {}).items()}
        case "array":
            return []
        case "string":
            return (schema.get("enum") or ["none"])[-1]
        case "boolean":
            return False
        case _:
            return 1


GEMINI = Api(tools_of=_tools_of, whole=_answer, stream=_events, error_of=error_of, aside=_aside)
