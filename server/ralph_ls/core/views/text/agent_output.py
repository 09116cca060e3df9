"""Agent output as lines: messages for terminals and logs, and records for the JSON-lines log.

`message_line` shows an agent's words, and of all other messages only the noteworthy ones.

The JSON-lines log has one object a line, the loop's own records between those of the agent
(docs/rules.md#logs), so that ``jq`` can read a whole log whatever an agent prints: a line that is
not a record of the agent's is wrapped in one. An agent cannot write a line that looks like the
loop's. Where a log is written is not known here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import ByteChunks
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.run.messages import AgentMessage, FileAction, ToolState, UsageCounts

TOOL_MARKS = {ToolState.STARTED: "⚒", ToolState.FAILED: "✗"}

TODO_MARKS = {"pending": "☐", "inProgress": "◐", "done": "☑"}

NOTEWORTHY = {
    FileAction.CREATED: "created",
    FileAction.CHANGED: "changed",
    FileAction.DELETED: "deleted",
}


def message_line(message: AgentMessage) -> str:
    """A message as escaped text without a final line end.

    Empty for uninteresting ones: a successful call, a file that was read, counts in the middle of
    a turn.
    """
    if message.kind == "text":
        return "\n".join(
            escape_control_chars(line.rstrip()) for line in message.text.strip("\n").split("\n")
        )
    if message.kind == "tool":
        if message.state is ToolState.DONE:
            return ""
        mark, colon = TOOL_MARKS[message.state], ": " if message.summary else ""
        return escape_control_chars(f"{mark} {message.name}{colon}{message.summary}")
    if message.kind == "file":
        action = NOTEWORTHY.get(message.action)
        return "" if action is None else escape_control_chars(f"✎ {message.path} {action}")
    if message.kind == "todo":
        return "\n".join(
            escape_control_chars(f"{TODO_MARKS[item.state]} {item.text}") for item in message.items
        )
    if message.kind == "usage":
        return _usage(message.usage)
    assert_never(message)


def _usage(usage: UsageCounts) -> str:
    """The counts at the end of a turn; earlier ones lack the output."""
    if usage.output_tokens is None:
        return ""
    parts = []
    if usage.input_tokens is not None:
        parts.append(f"{usage.input_tokens:,} tokens in")
    parts.append(f"{usage.output_tokens:,} out")
    if usage.cached_tokens:
        parts.append(f"{usage.cached_tokens:,} cached")
    if usage.turns is not None:
        parts.append(count_of(usage.turns, "turn"))
    if usage.cost_usd is not None:
        parts.append(f"{'≈' if usage.estimated else ''}${usage.cost_usd:.4f}")
    return f"∑ {', '.join(parts)}"


LONGEST_LINE = 16 << 20
"""Bytes of a buffered line; a longer one is written in pieces, each wrapped as text."""

DEEPEST = 200
"""Nesting depth of a record; older releases of ``jq`` read 256."""


def iteration_start(
    *, iteration: int, issue: str | None, mode: str, at: datetime, tries: int = 1
) -> bytes:
    """The loop's record before an iteration; ``issue`` is the id of its task."""
    data: dict[str, object] = {"iteration": iteration, "issue_id": issue, "mode": mode}
    if tries > 1:
        data["attempt"] = tries
    return _meta("iteration_start", data, at)


def iteration_end(*, iteration: int, exit_code: int | None, seconds: float, at: datetime) -> bytes:
    """The loop's record after an iteration; ``exit_code`` is None where it is unknown."""
    data = {
        "iteration": iteration,
        "exit_code": exit_code,
        "duration_seconds": round(seconds),
    }
    return _meta("iteration_end", data, at)


def loop_event(
    *, kind: str, code: str | None, iteration: int | None, level: str, message: str, at: datetime
) -> bytes:
    """The loop's record of anything else that it reports; ``kind`` is that of the journal."""
    data: dict[str, object] = {"iteration": iteration, "level": level, "message": message}
    if code is not None:
        data["code"] = code
    return _meta(_CAPITALS.sub(lambda found: f"_{found[0].lower()}", kind), data, at)


_CAPITALS = re.compile("[A-Z]")


class AgentLines:
    """Turns a stream of bytes, in chunks of any size, into lines of JSON."""

    def __init__(self, *, has_records: bool) -> None:
        """``has_records``: lines that are JSON objects already are kept as they are."""
        self._has_records = has_records
        self._held = ByteChunks()
        self._is_rest = False
        """The buffered line is the rest of one whose beginning has been written."""

    def feed(self, data: bytes, at: datetime) -> bytes:
        """The lines completed by ``data``, each with its newline."""
        whole, newline, last = data.rpartition(b"\n")
        written: list[bytes] = []
        if newline:
            self._held.add(whole)
            written.extend(self._lines(self._held.take(), at))
        self._held.add(last)
        if self._held.n_bytes > LONGEST_LINE:
            written.append(self._piece(at))
        return b"".join(written)

    def finish(self, at: datetime) -> bytes:
        """The last line, where the stream ended without a newline."""
        if not self._held.n_bytes:
            self._is_rest = False
            return b""
        return b"".join(self._lines(self._held.take(), at))

    def _lines(self, whole: bytes, at: datetime) -> Iterator[bytes]:
        for line in whole.split(b"\n"):
            if self._has_records and not self._is_rest and _is_record(line):
                yield line.strip() + b"\n"
            else:
                yield _text(line, at)
            self._is_rest = False

    def _piece(self, at: datetime) -> bytes:
        held = self._held.take()
        cut = len(held)
        while cut > len(held) - _LONGEST_CHARACTER and held[cut - 1] & _CONTINUES == _CONTINUATION:
            cut -= 1
        if held[cut - 1] & _CONTINUES == _CONTINUES:
            cut -= 1
        self._held.add(held[cut:])
        self._is_rest = True
        return _text(held[:cut], at)


_LONGEST_CHARACTER = 4
_CONTINUES, _CONTINUATION = 0xC0, 0x80
"""UTF-8: the mask of a byte's kind, and the kind of continuation bytes."""

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LOOP_RECORD_TYPES = {"loop_meta", "iteration_start", "iteration_end"}


def _meta(event: str, data: Mapping[str, object], at: datetime) -> bytes:
    return _line({"type": "loop_meta", "event": event, "timestamp": _time(at), "data": data})


def _text(line: bytes, at: datetime) -> bytes:
    text = line.decode("utf-8", errors="replace").rstrip("\r")
    return _line({"type": "agent_text", "timestamp": _time(at), "text": text})


def _line(value: dict[str, object]) -> bytes:
    # Without blanks, since users grep for '"type":"loop_meta"'.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _is_record(line: bytes) -> bool:
    """Whether a line is an object that any reader can parse, and not one of the loop's."""
    stripped = line.strip()
    if not stripped.startswith(b"{") or b'"loop_meta"' in stripped:
        return False
    try:
        stripped.decode()
        fields = _FIELDS.decode(stripped)
        if stripped.count(b"{") + stripped.count(b"[") > DEEPEST and _is_deep(stripped):
            return False
        return not any(_is_own(fields[name]) for name in ("type", "event") if name in fields)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False


def _is_own(value: msgspec.Raw) -> bool:
    word = msgspec.json.decode(value) if bytes(value).lstrip().startswith(b'"') else None
    return word in _LOOP_RECORD_TYPES


def _is_deep(line: bytes) -> bool:
    left: list[tuple[Any, int]] = [(msgspec.json.decode(line), 1)]
    while left:
        value, depth = left.pop()
        if depth > DEEPEST:
            return True
        if isinstance(value, dict | list):
            inner = value.values() if isinstance(value, dict) else value
            left.extend((one, depth + 1) for one in inner)
    return False
