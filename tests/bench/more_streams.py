"""The same work as in ``tests.bench.streams``, as other agents report it.

The kinds of records, their order and their fields are those of ``tests/data``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.bench.streams import REPORT, Mix, line_of, output_of, up_to

_AT = "2026-01-31T12:00:00.000Z"


def gemini_stream(mix: Mix, n_bytes: int) -> Iterator[bytes]:
    """What ``gemini`` says comes in pieces."""
    yield line_of({"type": "init", "timestamp": _AT, "session_id": "s", "model": "m"})
    yield from _turns(_gemini_turn, mix, n_bytes)
    yield from map(line_of, _gemini_said(REPORT))
    counts = {"total_tokens": 3702, "input_tokens": 3600, "output_tokens": 102, "cached": 2400}
    stats = {**counts, "input": 1200, "duration_ms": 1, "tool_calls": 2, "models": {"m": counts}}
    yield line_of({"type": "result", "timestamp": _AT, "status": "success", "stats": stats})


def qwen_stream(mix: Mix, n_bytes: int) -> Iterator[bytes]:
    """Nearly that of ``claude``, in which an output is reported once."""
    init = {"uuid": "u", "session_id": "s", "cwd": "/repo", "model": "m"}
    yield line_of({"type": "system", "subtype": "init", **init})
    yield from _turns(_qwen_turn, mix, n_bytes)
    yield line_of(_qwen("assistant", {"type": "text", "text": REPORT}))
    counts = {"input_tokens": 3600, "output_tokens": 102, "cache_read_input_tokens": 2400}
    end = {"is_error": False, "num_turns": 3, "result": REPORT, "usage": counts}
    yield line_of({"type": "result", "subtype": "success", "uuid": "u", "session_id": "s", **end})


def opencode_stream(mix: Mix, n_bytes: int) -> Iterator[bytes]:
    """An output is reported twice, as in the stream of ``claude``."""
    yield from _turns(_opencode_turn, mix, n_bytes)
    yield line_of(_opencode("step_start", {}))
    yield line_of(_opencode("text", {"type": "text", "text": REPORT}))
    yield line_of(_opencode("step_finish", {"reason": "stop", **_USED}))


def _turns(
    turn: Callable[[int, int], Iterator[dict[str, Any]]], mix: Mix, n_bytes: int
) -> Iterator[bytes]:
    told = [b"".join(map(line_of, turn(at, size))) for at, size in enumerate(mix.outputs)]
    return up_to(told, n_bytes)


def _words(number: int) -> str:
    return f"I look at part {number} of the parser, then I mend what is wrong in it."


def _command(number: int) -> dict[str, str]:
    return {"command": f"sed -n 1,80p src/part_{number}.py", "description": "Show a file"}


def _gemini_turn(number: int, size: int) -> Iterator[dict[str, Any]]:
    yield from _gemini_said(_words(number))
    call = f"run_shell_command__{number}"
    used = {"tool_name": "run_shell_command", "tool_id": call, "parameters": _command(number)}
    yield {"type": "tool_use", "timestamp": _AT, **used}
    back = {"tool_id": call, "status": "success", "output": output_of(size)}
    yield {"type": "tool_result", "timestamp": _AT, **back}


def _gemini_said(text: str) -> Iterator[dict[str, Any]]:
    for start in range(0, len(text), 80):
        said = {"role": "assistant", "content": text[start : start + 80], "delta": True}
        yield {"type": "message", "timestamp": _AT, **said}


def _qwen_turn(number: int, size: int) -> Iterator[dict[str, Any]]:
    call = f"call_{number}"
    yield _qwen("assistant", {"type": "text", "text": _words(number)})
    used = {"type": "tool_use", "id": call, "name": "run_shell_command"}
    yield _qwen("assistant", {**used, "input": _command(number)})
    back = {"type": "tool_result", "tool_use_id": call, "is_error": False}
    yield _qwen("user", {**back, "content": output_of(size)})


def _qwen(role: str, block: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {"role": role, "content": [block]}
    if role == "assistant":
        # An answer that also calls tools comes in two parts, and only the second has counts.
        counts = {"input_tokens": 0, "output_tokens": 0}
        if block["type"] == "tool_use":
            counts = {"input_tokens": 1200, "output_tokens": 34, "cache_read_input_tokens": 800}
        said = {"id": "m", "type": "message", "role": role, "model": "m", **said, "usage": counts}
    parts = {"uuid": "u", "session_id": "s", "parent_tool_use_id": None, "message": said}
    return {"type": role, **parts}


def _opencode_turn(number: int, size: int) -> Iterator[dict[str, Any]]:
    yield _opencode("step_start", {})
    yield _opencode("text", {"type": "text", "text": _words(number)})
    output = output_of(size)
    state = {
        "status": "completed",
        "input": _command(number),
        "output": output,
        "metadata": {"output": output, "exit": 0, "truncated": False},
        "title": "Show a file",
        "time": {"start": 1, "end": 2},
    }
    call = {"type": "tool", "tool": "bash", "callID": f"call_{number}", "state": state}
    yield _opencode("tool_use", call)
    yield _opencode("step_finish", {"reason": "tool-calls", **_USED})


def _opencode(kind: str, part: dict[str, Any]) -> dict[str, Any]:
    shared = {"id": "prt_1", "sessionID": "s", "messageID": "msg_1"}
    return {"type": kind, "timestamp": 1, "sessionID": "s", "part": {**part, **shared}}


_USED = {
    "tokens": {"total": 1234, "input": 400, "output": 29, "reasoning": 5, "cache": {"read": 800}},
    "cost": 0.00195,
}
