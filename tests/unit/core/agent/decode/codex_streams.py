"""Streams of ``codex`` for tests: events as the program writes them, and what is read of them."""

from __future__ import annotations

from itertools import chain
from typing import Any

from ralph_ls.core.agent.decode.codex.decoder import CodexDecoder
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.run.messages import AgentMessage
from tests.unit.core.agent.decode.claude_streams import as_json, message_of, stream

STARTED: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "a-thread"},
    {"type": "turn.started"},
]


def begun(kind: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    item = {"id": f"item_{number}", "type": kind, **fields, "status": "in_progress"}
    return {"type": "item.started", "item": item}


def ended(kind: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, **fields}}


def said(text: str, number: int = 1) -> dict[str, Any]:
    return ended("agent_message", number, text=text)


def ran(output: str = "", code: int | None = 0, number: int = 1, **more: Any) -> dict[str, Any]:
    """The end of a command, with its fields in the program's order."""
    status = "completed" if code == 0 else "failed"
    fields = {"command": "ls", "aggregated_output": output, "exit_code": code, "status": status}
    return ended("command_execution", number, **{**fields, **more})


def done(**usage: int) -> dict[str, Any]:
    return {"type": "turn.completed", **({"usage": usage} if usage else {})}


def failed(message: str | None) -> dict[str, Any]:
    return {"type": "turn.failed", "error": None if message is None else {"message": message}}


def error(message: str) -> dict[str, Any]:
    return {"type": "error", "message": message}


def decode_codex(*pieces: bytes, **given: Any) -> tuple[list[AgentMessage], AgentResult]:
    decoder = CodexDecoder(7, **given)
    told = [*chain.from_iterable(map(decoder.feed, pieces)), *decoder.finish()]
    return [message_of(one) for one in told], decoder.final()


def told_by_codex(*records: Any, **given: Any) -> list[dict[str, Any]]:
    """The messages of a stream but for where they were read."""
    messages, _ = decode_codex(stream(*records), **given)
    return [
        {key: value for key, value in as_json(message).items() if key not in {"start", "offset"}}
        for message in messages
    ]


def final_of_codex(*records: Any, **given: Any) -> AgentResult:
    return decode_codex(stream(*STARTED, *records), **given)[1]
