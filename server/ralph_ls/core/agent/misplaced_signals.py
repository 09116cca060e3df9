"""The texts of a record that may hold a signal which does not count, each with where it stands.

It must never know what a signal is.

Signals that stand only where nothing counts, for who asks why theirs was not seen.

Status blocks and promise tags count in the main agent's final text alone (docs/rules.md#signals).
Agents read files and prompts that hold them, quote them to themselves and to sub-agents, and say
them too early. This tells where each of those stands. It must never become a way for one of them to
count: no decision is taken on what is found here.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ralph_ls.core.agent.decode.codex.records import TOOL_ITEMS
from ralph_ls.core.agent.decode.common.json_lines import LONGEST_LINE
from ralph_ls.core.agent.decode.common.tool_calls import to_one_line
from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.signals.promises import find_promise_tags
from ralph_ls.core.agent.signals.status_block import find_blocks
from ralph_ls.core.agent.text import clean_text
from ralph_ls.protocol.config.agent import Dialect, JsonLinesConfig

_BELOW = "a sub-agent's words"


def _places_of_claude(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record, each with where it stands."""
    kind = record.get("type")
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    is_main = record.get("parent_tool_use_id") is None
    if kind in {"assistant", "user"}:
        for block in blocks:
            shape = block.get("type") if isinstance(block, dict) else None
            where = _WHERE_IN_CLAUDE.get((kind, shape)) if isinstance(shape, str) else None
            if where is not None:
                is_sub_agent = kind == "assistant" and not is_main and shape != "tool_use"
                yield from _texts_in(_BELOW if is_sub_agent else where, block)


def _places_of_codex(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    item = event.get("item")
    if event.get("type") != "item.completed" or not isinstance(item, dict):
        return
    kind = item.get("type")
    if kind == "collab_tool_call":
        yield from _texts_in(_BELOW, item)
        return
    if kind in TOOL_ITEMS:
        given = {key: item.get(key) for key in ("command", "arguments", "query")}
        back = {key: item.get(key) for key in ("aggregated_output", "result", "error")}
        yield from _texts_in("a tool's call", given)
        yield from _texts_in("a tool's result", back)
    elif kind in _WHERE_IN_CODEX:
        yield from _texts_in(_WHERE_IN_CODEX[kind], item)


def _places_of_gemini(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record, but for the model's own words, of which it has only a piece."""
    match record.get("type"):
        case "message" if record.get("role") == "user":
            yield from _texts_in("the prompt", record.get("content"))
        case "message" if not record.get("delta"):
            yield from _texts_in("an earlier text", record.get("content"))
        case "tool_use":
            yield from _texts_in("a tool's call", record.get("parameters"))
        case "tool_result":
            yield from _texts_in("a tool's result", [record.get("output"), record.get("error")])
        case "error":
            yield from _texts_in("a warning", record.get("message"))
        case _:
            pass


def _places_of_opencode(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    part = event.get("part")
    if not isinstance(part, dict):
        return
    kind, state = event.get("type"), part.get("state")
    if kind == "tool_use" and isinstance(state, dict):
        yield from _texts_in("a tool's call", state.get("input"))
        where = _BELOW if part.get("tool") == "task" else "a tool's result"
        yield from _texts_in(where, [state.get("output"), state.get("error")])
    elif kind in _WHERE_IN_OPENCODE:
        yield from _texts_in(_WHERE_IN_OPENCODE[kind], part.get("text"))


def _places_of_acp(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Of a text that comes in pieces, what stands in one of them."""
    params = record.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    if not isinstance(update, dict):
        return
    match update.get("sessionUpdate"):
        case "tool_call" | "tool_call_update":
            yield from _texts_in("a tool's call", update.get("rawInput"))
            yield from _texts_in(
                "a tool's result", [update.get("rawOutput"), update.get("content")]
            )
        case "agent_message_chunk":
            yield from _texts_in("an earlier text", update.get("content"))
        case "agent_thought_chunk":
            yield from _texts_in("the reasoning", update.get("content"))
        case _:
            pass


def _places_of_cline(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record of ``cline``; those of its agents below it bear no mark."""
    event = record.get("event")
    if not isinstance(event, dict):
        return
    match event.get("type"), event.get("contentType"):
        case "content_end", "text":
            yield from _texts_in("an earlier text", event.get("text"))
        case "content_end", "reasoning":
            yield from _texts_in("the reasoning", event.get("reasoning"))
        case "content_start", "tool":
            yield from _texts_in("a tool's call", event.get("input"))
        case "content_end", "tool":
            is_below = event.get("toolName") == "spawn_agent"
            yield from _texts_in(_BELOW if is_below else "a tool's result", event.get("output"))
        case _:
            pass


def _places_of_copilot(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of an event of ``copilot``."""
    data = record.get("data")
    if not isinstance(data, dict):
        return
    is_below = record.get("agentId") is not None
    match record.get("type"):
        case "assistant.message":
            yield from _texts_in(_BELOW if is_below else "an earlier text", data.get("content"))
            yield from _texts_in("the reasoning", data.get("reasoningText"))
        case "tool.execution_start":
            yield from _texts_in("a tool's call", data.get("arguments"))
        case "tool.execution_complete":
            yield from _texts_in("a tool's result", data.get("result"))
        case "user.message":
            yield from _texts_in("the prompt", data.get("content"))
        case _:
            pass


def _places_of_any(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record that nothing is known of but that it is one."""
    yield from _texts_in("a record", record)


def _texts_in(where: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text in a value, however deep, in order."""
    waiting = [value]
    while waiting:
        given = waiting.pop()
        match given:
            case str():
                yield where, given
            case dict():
                waiting.extend(reversed(given.values()))
            case list():
                waiting.extend(reversed(given))
            case _:
                pass


_WHERE_IN_CLAUDE = {
    ("assistant", "text"): "an earlier text",
    ("assistant", "thinking"): "the reasoning",
    ("assistant", "tool_use"): "a tool's call",
    ("user", "tool_result"): "a tool's result",
    ("user", "text"): "the prompt",
}

_WHERE_IN_CODEX = {
    "agent_message": "an earlier text",
    "reasoning": "the reasoning",
    "todo_list": "the to-do list",
    "error": "a warning",
}
"""Of the kinds of items that are no calls of tools."""

_WHERE_IN_OPENCODE = {"text": "an earlier text", "reasoning": "the reasoning"}

IGNORED_TEXTS_BY_DIALECT: Mapping[
    Dialect, Callable[[dict[str, Any]], Iterator[tuple[str, str]]]
] = {
    Dialect.CLAUDE: _places_of_claude,
    Dialect.QWEN: _places_of_claude,
    Dialect.CODEX: _places_of_codex,
    Dialect.CLINE: _places_of_cline,
    Dialect.COPILOT: _places_of_copilot,
    Dialect.JSONL: _places_of_any,
    Dialect.GEMINI: _places_of_gemini,
    Dialect.OPENCODE: _places_of_opencode,
    Dialect.ACP: _places_of_acp,
}
"""The texts of a record of each dialect, each with where it stands; none of a dialect not here."""


MAX_MISPLACED_SIGNALS = 100
"""Findings; the last ones of a stream tell most."""

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MisplacedSignal:
    """One signal that does not count where it stands."""

    line: int
    """Of the stream, from 1."""
    where: str
    """In words, to be put behind "in": ``a tool's result``."""
    what: Literal["report", "promise"]
    text: str
    """Its beginning, in one line."""


def find_misplaced_signals(
    stream: bytes, dialect: Dialect, mapping: JsonLinesConfig | None = None
) -> tuple[MisplacedSignal, ...]:
    """Give the signals that do not count where they stand and stand nowhere else, in their order.

    Plain text has no such place: all of it is the agent's own words. A signal which the final text
    has as well is left out, for that is the one that was seen.
    """
    places = IGNORED_TEXTS_BY_DIALECT.get(dialect)
    if places is None:
        return ()
    decoder = decoder_for(dialect, mapping=mapping)
    for start in range(0, len(stream), CHUNK_BYTES):
        decoder.feed(stream[start : start + CHUNK_BYTES])
    decoder.finish()
    counted = set(_signals(decoder.final().text))
    found: deque[MisplacedSignal] = deque(maxlen=MAX_MISPLACED_SIGNALS)
    for number, record in _records(stream):
        reported = set(counted)
        for where, text in places(record):
            for what, words in _signals(text):
                if (what, words) not in reported:
                    reported.add((what, words))
                    shown = to_one_line(words)
                    found.append(MisplacedSignal(line=number, where=where, what=what, text=shown))
    return tuple(found)


def _signals(text: str) -> Iterator[tuple[Literal["report", "promise"], str]]:
    """The signals of a text, whole, in whatever shape they are."""
    if _NAMES_IN_TEXT.search(text) is None:
        return
    shown = clean_text(text)
    for block in find_blocks(shown):
        yield "report", shown[slice(*block.span)].strip()
    for tag in find_promise_tags(shown):
        yield "promise", f"<promise>{tag.body}</promise>"


def _records(stream: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records that have a signal's name in them, with the numbers of their lines."""
    number, counted_to = 1, 0
    start = 0
    while (hit := _NAMES.search(stream, start)) is not None:
        begin = stream.rfind(b"\n", 0, hit.start()) + 1
        end = stream.find(b"\n", hit.end())
        end = len(stream) if end < 0 else end
        number += stream.count(b"\n", counted_to, begin)
        counted_to, start = begin, end
        if end - begin <= LONGEST_LINE:
            record = _json(stream[begin:end])
            if isinstance(record, dict):
                yield number, record


def _json(line: bytes) -> object:
    try:
        return json.loads(line.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None


_NAMES = re.compile(rb"promise|(?:RALPH|CLARITY)_STATUS", re.IGNORECASE)
"""The mark before ``promise`` may be written as an escape."""

_NAMES_IN_TEXT = re.compile(r"promise>|(?:RALPH|CLARITY)_STATUS", re.IGNORECASE)
