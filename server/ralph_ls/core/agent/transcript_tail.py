"""What the agent said last, for a hook that is asked before the agent's program has ended.

A newer program hands its last message over; an older one names its transcript, JSON lines of which
the last ones are the agent's. It must never know a file, nor what a promise leads to.
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
    """Whether the agent leaves the rest to a person: a BLOCKED or DECIDE promise.

    See docs/rules.md#promises.
    """
    text = clean_text(output)
    tags = find_promise_tags(text)
    # No word can be COMPLETE here: only the other promises are looked for.
    found = find_promises(text, tags, fence_spans(text), complete_word="")
    return any(promise.kind is not PromiseKind.COMPLETE for promise in found)


def final_text_of_transcript(transcript: Iterable[str]) -> str:
    """The main agent's text behind its last tool call; ``transcript`` are lines, the last first.

    What is no record, and what sub-agents said, is passed over.
    """
    return "\n".join(reversed(list(_texts_backwards(transcript))))


def _texts_backwards(transcript: Iterable[str]) -> Iterator[str]:
    for line in transcript:
        record = _record_of(line)
        if record.get("isSidechain") or record.get("type") not in {"assistant", "user"}:
            continue
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if record["type"] == "user":
            return
        for block in reversed([block for block in blocks if isinstance(block, dict)]):
            if block.get("type") == "tool_use":
                return
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                yield block["text"]


def _record_of(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
