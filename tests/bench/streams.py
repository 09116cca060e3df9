"""Streams as agents print them, made up: as many bytes as are asked for, never all of them at once.

The kinds of records, their order, their proportions and their fields are those that the real
programs print (``tests/data/claude``): for each call of a tool one record of words, one of the
call, and one of what came back, in which ``claude`` gives the output twice. How long outputs are
is a choice, which each mix names, for what was recorded are calls that print next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

REPORT = (
    "The parser is mended.\n\n---RALPH_STATUS---\nSTATUS: IN_PROGRESS\n"
    "TASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 2\n"
    "TESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: false\n"
    "RECOMMENDATION: go on with the next task\n---END_RALPH_STATUS---\n"
)

SOURCE = (
    "def settle(entries: list[Entry]) -> Balance:\n"
    '    """Add the entries up; a debit counts against them."""\n'
    "    total = sum(entry.amount for entry in entries)  # naïve, but exact\n"
    '    return Balance(total=total, label="settled")\n\n'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How long the outputs of tools are, in turn."""

    name: str
    outputs: tuple[int, ...]
    """Characters."""


SESSION = Mix(name="a session", outputs=(200, 4_000, 200, 4_000, 20_000))
"""Edits and short commands, pieces of files and test runs, and now and then a whole file."""

SMALL = Mix(name="many small", outputs=(200, 150, 250, 200))
"""Every record below or about 1 KB, as in the recordings, whose tools say next to nothing."""

LARGE = Mix(name="few large", outputs=(60_000, 60_000))
"""Every output a whole file."""

MIXES = (SESSION, SMALL, LARGE)


def claude_stream(mix: Mix, n_bytes: int) -> Iterator[bytes]:
    """The turns of ``claude``, and at the end its report and result."""
    yield line_of(_CLAUDE_INIT)
    turns = [
        b"".join(map(line_of, _claude_turn(number, size)))
        for number, size in enumerate(mix.outputs)
    ]
    yield from up_to(turns, n_bytes)
    yield line_of(_assistant("msg_last", {"type": "text", "text": REPORT}))
    yield line_of({**_RESULT, "result": REPORT, "type": "result"})


def codex_stream(mix: Mix, n_bytes: int) -> Iterator[bytes]:
    """The same work, as ``codex`` reports it."""
    yield line_of({"type": "thread.started", "thread_id": "0199-a-thread"})
    yield line_of({"type": "turn.started"})
    turns = [
        b"".join(map(line_of, _codex_turn(number, size))) for number, size in enumerate(mix.outputs)
    ]
    yield from up_to(turns, n_bytes)
    yield line_of(_completed(id="item_last", type="agent_message", text=REPORT))
    counts = {"input_tokens": 3600, "cached_input_tokens": 2400, "output_tokens": 102}
    yield line_of({"type": "turn.completed", "usage": counts})


def plain_stream(n_bytes: int) -> Iterator[bytes]:
    """Words and code, line by line, and at the end a report."""
    yield from up_to([SOURCE.encode()], n_bytes)
    yield REPORT.encode()


def in_pieces(stream: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The stream as a pipe gives it: in pieces of one size, whatever its lines are."""
    held = bytearray()
    for data in stream:
        held += data
        while len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
    yield bytes(held)


def up_to(turns: list[bytes], n_bytes: int) -> Iterator[bytes]:
    """So many turns, one after the other, that they are about as many bytes."""
    n_turns = n_bytes * len(turns) // sum(map(len, turns))
    return islice(cycle(turns), n_turns)


def line_of(record: Any) -> bytes:
    """A record as a line."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _claude_turn(number: int, size: int) -> Iterator[dict[str, Any]]:
    message, call = f"msg_5e66503350334dd6{number:04}", f"toolu_869fafd31f74428b{number:04}"
    words = f"I look at part {number} of the parser, then I mend what is wrong in it."
    given = {"command": f"sed -n 1,80p src/part_{number}.py", "description": "Show a file"}
    output = output_of(size)
    yield _assistant(message, {"type": "text", "text": words})
    yield _assistant(message, {"type": "tool_use", "id": call, "name": "Bash", "input": given})
    back = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": False}
    yield {
        "type": "user",
        "message": {"role": "user", "content": [back]},
        **_COMMON,
        "timestamp": "2026-01-31T12:00:00.000Z",
        "tool_use_result": {
            "stdout": output,
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        },
    }


def _assistant(message: str, block: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {
            "id": message,
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 1200,
                "output_tokens": 1,
                "cache_read_input_tokens": 800,
                "cache_creation_input_tokens": 100,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 100,
                    "ephemeral_1h_input_tokens": 0,
                },
                "service_tier": "standard",
            },
            "context_management": None,
        },
        **_COMMON,
        "timestamp": "2026-01-31T12:00:00.000Z",
        "request_id": "req_941671fb772245a1ab07",
    }


def _codex_turn(number: int, size: int) -> Iterator[dict[str, Any]]:
    words = f"I look at part {number} of the parser, then I mend what is wrong in it."
    yield _completed(id=f"item_{number}a", type="agent_message", text=words)
    shared = {"id": f"item_{number}b", "type": "command_execution"}
    command = f"/bin/bash -lc 'sed -n 1,80p src/part_{number}.py'"
    going = {"aggregated_output": "", "exit_code": None, "status": "in_progress"}
    yield {"type": "item.started", "item": {**shared, "command": command, **going}}
    done = {"aggregated_output": output_of(size), "exit_code": 0, "status": "completed"}
    yield _completed(**shared, command=command, **done)


def _completed(**item: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": item}


def output_of(size: int) -> str:
    """What a tool prints, in so many characters."""
    return (SOURCE * (size // len(SOURCE) + 1))[:size]


_COMMON = {
    "parent_tool_use_id": None,
    "session_id": "d8c37f0b-477b-4ea3-81e0-93b539a4931b",
    "uuid": "b7e3ff76-934d-4194-84b9-25fb0596fb3c",
}

_CLAUDE_INIT = {
    "type": "system",
    "subtype": "init",
    "cwd": "/repo",
    "session_id": _COMMON["session_id"],
    "tools": ["Bash", "Edit", "Read", "Write"],
    "model": "claude-opus-5-5",
}

_RESULT: dict[str, Any] = {
    "stop_reason": "end_turn",
    "session_id": _COMMON["session_id"],
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 3600, "cache_read_input_tokens": 2400, "output_tokens": 102},
    "modelUsage": {"claude-opus-5-5": {"contextWindow": 1_000_000}},
    "permission_denials": [],
    "is_error": False,
    "num_turns": 3,
    "subtype": "success",
}
