"""Streams of ``gemini``, ``qwen`` and ``opencode`` for tests, as the programs write them."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.messages import AgentMessage
from tests.unit.core.agent.decode.claude_streams import as_json, message_of

DATA = Path(__file__).resolve().parents[4] / "data"

AT = "2026-01-31T12:00:00.000Z"

BLOCK = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS\n---END_RALPH_STATUS---"


def recorded(dialect: Dialect, name: str) -> bytes:
    """What the real program printed."""
    return (DATA / dialect.value / f"{name}.jsonl").read_bytes()


def decode_as(
    dialect: Dialect, *pieces: bytes, **given: Any
) -> tuple[list[AgentMessage], AgentResult]:
    decoder = decoder_for(dialect, 7, **given)
    told = [*chain.from_iterable(map(decoder.feed, pieces)), *decoder.finish()]
    return [message_of(one) for one in told], decoder.final()


def dumped(messages: list[AgentMessage]) -> list[dict[str, Any]]:
    """The messages but for where they were read."""
    found = [as_json(message) for message in messages]
    return [
        {key: value for key, value in one.items() if key not in {"start", "offset"}}
        for one in found
    ]


def text(words: str) -> dict[str, Any]:
    return {"kind": "text", "text": words}


def tool(name: str, summary: str, state: str, call: str = "c1") -> dict[str, Any]:
    return {"kind": "tool", "call": call, "name": name, "summary": summary, "state": state}


def file(path: str, action: str) -> dict[str, Any]:
    return {"kind": "file", "path": path, "action": action}


def gemini(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": AT, **fields}


def piece(content: str) -> dict[str, Any]:
    return gemini("message", role="assistant", content=content, delta=True)


def gemini_call(name: str, call: str = "c1", **given: Any) -> dict[str, Any]:
    return gemini("tool_use", tool_name=name, tool_id=call, parameters=given)


def gemini_back(call: str = "c1", error: str | None = None, **more: Any) -> dict[str, Any]:
    fields = {"tool_id": call, "status": "success" if error is None else "error", **more}
    failed = {} if error is None else {"error": {"type": error, "message": "It is not so."}}
    return gemini("tool_result", **fields, **failed)


def gemini_end(status: str = "success", **fields: Any) -> dict[str, Any]:
    return gemini("result", status=status, **fields)


def stats(total: int = 0, given: int = 0, said: int = 0, cached: int = 0) -> dict[str, Any]:
    counts = {"total_tokens": total, "input_tokens": given, "output_tokens": said, "cached": cached}
    return {**counts, "input": given - cached, "models": {"m": counts}}


def opencode(kind: str, session: str = "s", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": 1, "sessionID": session, **fields}


def opencode_said(words: str, session: str = "s") -> dict[str, Any]:
    return opencode("text", session, part={"type": "text", "text": words})


def opencode_call(
    name: str,
    given: dict[str, Any],
    *,
    error: str | None = None,
    output: Any = "ok",
    metadata: Any = None,
    session: str = "s",
) -> dict[str, Any]:
    ended = {"output": output} if error is None else {"error": error}
    status = "completed" if error is None else "error"
    state = {"status": status, "input": given, **ended, "metadata": metadata}
    part = {"type": "tool", "tool": name, "callID": "c1", "state": state}
    return opencode("tool_use", session, part=part)


def opencode_step(
    reason: str = "stop", session: str = "s", cost: float = 0.5, **tokens: Any
) -> dict[str, Any]:
    part = {"reason": reason, "cost": cost, **({"tokens": tokens} if tokens else {})}
    return opencode("step_finish", session, part=part)


def opencode_error(name: str, **data: Any) -> dict[str, Any]:
    return opencode("error", error={"name": name, "data": data})


def as_line(record: dict[str, Any]) -> bytes:
    """A record as a program writes it that escapes what is not ASCII."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
