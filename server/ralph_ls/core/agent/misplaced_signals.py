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
