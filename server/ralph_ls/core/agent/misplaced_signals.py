"""Misplaced signals: status blocks and promise tags outside of the final text.

Only the main agent's final text counts (docs/rules.md#signals). Agents read files and prompts that
contain such signals, quote them in their thoughts and to sub-agents, and write them too early. This
module finds each of them with its place in the stream, for users who ask why a signal was not
recognised. No decision of the loop depends on it.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ralph_ls.core.agent.decode.common.json_lines import LONGEST_LINE
from ralph_ls.core.agent.decode.common.tool_calls import to_one_line
from ralph_ls.core.agent.decode.dialects import decoder_for, record_texts_of
from ralph_ls.core.agent.signals.promises import find_promise_tags
from ralph_ls.core.agent.signals.status_block import find_blocks
from ralph_ls.core.agent.text import clean_text
from ralph_ls.protocol.config.agent import JsonLinesConfig
from ralph_ls.protocol.config.agent_catalog import Dialect

MAX_MISPLACED_SIGNALS = 100
"""Limit of findings; the last ones of a stream are kept, as they explain most."""

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MisplacedSignal:
    """One signal in a place where it does not count."""

    line: int
    """In the stream, from 1."""
    where: str
    """The place, as a phrase that follows "in": ``a tool's result``."""
    what: Literal["report", "promise"]
    text: str
    """Its beginning, on one line."""


def find_misplaced_signals(
    stream: bytes, dialect: Dialect, mapping: JsonLinesConfig | None = None
) -> tuple[MisplacedSignal, ...]:
    """Find the signals that occur only in places where they do not count, in order.

    Plain text has no such place, since all of it is the agent's text. A signal that the final text
    contains too is left out, since that one was recognised.
    """
    texts_in_record = record_texts_of(dialect)
    if texts_in_record is None:
        return ()
    decoder = decoder_for(dialect, mapping=mapping)
    for start in range(0, len(stream), CHUNK_BYTES):
        decoder.feed(stream[start : start + CHUNK_BYTES])
    decoder.finish()
    counted = set(_signals(decoder.final().text))
    found: deque[MisplacedSignal] = deque(maxlen=MAX_MISPLACED_SIGNALS)
    for number, record in _records(stream):
        reported = set(counted)
        for where, text in texts_in_record(record):
            for what, words in _signals(text):
                if (what, words) not in reported:
                    reported.add((what, words))
                    shown = to_one_line(words)
                    found.append(MisplacedSignal(line=number, where=where, what=what, text=shown))
    return tuple(found)


def _signals(text: str) -> Iterator[tuple[Literal["report", "promise"], str]]:
    """The complete signals of a text, in any of their shapes."""
    if _NAMES_IN_TEXT.search(text) is None:
        return
    shown = clean_text(text)
    for block in find_blocks(shown):
        yield "report", shown[slice(*block.span)].strip()
    for tag in find_promise_tags(shown):
        yield "promise", f"<promise>{tag.body}</promise>"


def _records(stream: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records that contain the name of a signal, with their line numbers."""
    number, counted_to = 1, 0
    start = 0
    while (hit := _NAMES.search(stream, start)) is not None:
        begin = stream.rfind(b"\n", 0, hit.start()) + 1
        end = stream.find(b"\n", hit.end())
        end = len(stream) if end < 0 else end
        number += stream.count(b"\n", counted_to, begin)
        counted_to, start = begin, end
        if end - begin <= LONGEST_LINE:
            found = _json(stream[begin:end])
            for record in found if isinstance(found, list) else [found]:
                if isinstance(record, dict):
                    yield number, record


def _json(line: bytes) -> object:
    try:
        return json.loads(line.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None


_NAMES = re.compile(rb"promise|(?:RALPH|CLARITY)_STATUS", re.IGNORECASE)
"""The bracket before ``promise`` may be written as an escape."""

_NAMES_IN_TEXT = re.compile(r"promise>|(?:RALPH|CLARITY)_STATUS", re.IGNORECASE)
