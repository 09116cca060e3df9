"""Streams for tests: records as the program writes them, and what is read out of them."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from ralph_ls.core.agent.decode.claude.decoder import ClaudeDecoder
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.run.messages import MESSAGE_ADAPTER, AgentMessage

RECORDINGS = Path(__file__).resolve().parents[4] / "data" / "claude"


def recording(name: str) -> bytes:
    """What the real program printed; see ``tests.e2e.recordings.py``."""
    return (RECORDINGS / f"{name}.jsonl").read_bytes()


def message_of(told: AgentMessage) -> AgentMessage:
    """The message that readers make of a decoded one."""
    return MESSAGE_ADAPTER.validate_python(msgspec.to_builtins(told))


def as_json(message: AgentMessage) -> dict[str, Any]:
    """The message as a client gets it, with all of its fields."""
    found: dict[str, Any] = MESSAGE_ADAPTER.dump_python(message, by_alias=True, mode="json")
    return found


def stream(*records: Any) -> bytes:
    """Records as lines; text and bytes are taken as they are."""
    lines = [
        record if isinstance(record, bytes) else json.dumps(record, separators=(",", ":")).encode()
        for record in records
    ]
    return b"".join(line + b"\n" for line in lines)


def init(**fields: Any) -> dict[str, Any]:
    found = {"session_id": "s", "model": "m", "cwd": "/repo", **fields}
    return {"type": "system", "subtype": "init", **found}


def answer(
    *blocks: dict[str, Any] | str, message: str = "msg_1", parent: str | None = None, **more: Any
) -> dict[str, Any]:
    """What the model says; a plain text is a block of it."""
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    fields = {"id": message, "model": "m", "content": content, **more.pop("message_fields", {})}
    return {"type": "assistant", "message": fields, "parent_tool_use_id": parent, **more}


def use(name: str, call: str = "call_1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def came_back(call: str = "call_1", content: Any = "ok", **more: Any) -> dict[str, Any]:
    """The result of a tool; ``is_error`` and ``told``, the tool's own account, as asked for."""
    told = more.pop("told", None)
    block = {"type": "tool_result", "tool_use_id": call, "content": content, **more}
    return {"type": "user", "message": {"content": [block]}, "tool_use_result": told}


def result(text: str | None = "Done.", **fields: Any) -> dict[str, Any]:
    """The end; ``type`` is last, as the program has it behind other fields."""
    return {"subtype": "success", "is_error": False, "result": text, **fields, "type": "result"}


def decode(*pieces: bytes, **given: Any) -> tuple[list[AgentMessage], AgentResult]:
    decoder = ClaudeDecoder(7, **given)
    told = [*chain.from_iterable(map(decoder.feed, pieces)), *decoder.finish()]
    return [message_of(one) for one in told], decoder.final()


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def told(*records: Any) -> list[dict[str, Any]]:
    """The messages of a stream but for where they were read."""
    dumped = [as_json(message) for message in read(*records)]
    return [
        {key: value for key, value in found.items() if key not in {"start", "offset"}}
        for found in dumped
    ]


def read(*records: Any) -> list[AgentMessage]:
    return decode(stream(*records))[0]


def final(*records: Any) -> AgentResult:
    return decode(stream(*records))[1]
