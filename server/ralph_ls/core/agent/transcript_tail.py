"""The final text of an agent, for a stop hook that runs before the agent's program has ended.

Newer programs pass the last message to the hook; older ones name a transcript of JSON lines, whose
last lines are the agent's. Reads no file and decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ralph_ls.core.agent.signals.promises import find_promise_tags, find_promises
from ralph_ls.core.agent.text import clean_text
from ralph_ls.core.markdown_fences import fence_spans
from ralph_ls.protocol.run.report import PromiseKind


def has_halting_promise(output: str) -> bool:
    """Whether the agent waits for the user: a BLOCKED or DECIDE promise.

    See docs/rules.md#promises.
    """
    text = clean_text(output)
    tags = find_promise_tags(text)
    # Only the other two promises matter here, so no word may be COMPLETE.
    found = find_promises(text, tags, fence_spans(text), complete_word="")
    return any(promise.kind is not PromiseKind.COMPLETE for promise in found)


def final_text_of_transcript(transcript: Iterable[str]) -> str:
    """The main agent's text after its last tool call; ``transcript`` has the last line first.

    Lines that are not records, and text of sub-agents, are skipped.
    """
    return "\n".join(reversed(list(_texts_backwards(transcript))))


def _texts_backwards(transcript: Iterable[str]) -> Iterator[str]:
    for line in transcript:
        record = _record_of(line)
        if record.get("isSidechain") or record.get("type") not in {"assistant", "user"}:
            continue
        if record["type"] == "user":
            return
        for block in reversed(_blocks_of(record)):
            match block:
                case {"type": "tool_use"}:
                    return
                case {"type": "text", "text": str(text)}:
                    yield text


def _blocks_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a message; its content may also be one text."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [block for block in blocks if isinstance(block, dict)]


def _record_of(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
