"""Ignored signals: text that resembles a signal but does not count, each with the reason.

Used by ``ralph read`` to explain why a signal was not recognised, never by the engine. It asks the
signal readers what counts and adds no rules.

Only the main agent's final text counts (docs/rules.md#signals). Agents read files and prompts that
contain signals, quote them in their thoughts and to sub-agents, and write them too early: those are
misplaced signals, each with its place in the stream.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from ralph_ls.core.agent.decode.common.json_lines import LONGEST_LINE
from ralph_ls.core.agent.decode.common.tool_calls import to_one_line
from ralph_ls.core.agent.decode.dialects import decoder_for, record_texts_of
from ralph_ls.core.agent.output_parser import ParsedOutput
from ralph_ls.core.agent.signals.block_fields import is_known_field_line
from ralph_ls.core.agent.signals.phrases import PHRASE_FILTER, find_phrase_matches
from ralph_ls.core.agent.signals.promises import check_tag, find_promise_tags
from ralph_ls.core.agent.signals.prose import (
    MaskedText,
    mask_non_prose,
    mask_quotes,
    matching_stretches,
    to_prose,
)
from ralph_ls.core.agent.signals.question import shorten
from ralph_ls.core.agent.signals.status_block import (
    StatusBlock,
    choose_block,
    find_blocks,
    parse_block,
    quoted_block_starts,
    reason_unparsed,
)
from ralph_ls.core.agent.text import (
    LiteralHits,
    Span,
    clean_text,
    is_inside,
    line_around,
    lower,
    merge_spans,
)
from ralph_ls.core.markdown_fences import fence_spans
from ralph_ls.protocol.config.agent import JsonLinesConfig
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.report import ReportKind

SignalKind = Literal["report", "promise", "word"]

MAX_IGNORED_SIGNALS = 100
"""Limit for each kind, since a log may contain any number of words."""

EARLIER_TEXT = "an earlier text"
"""The place, as ``find_misplaced_signals`` names it, of text that the main agent wrote too early.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredSignal:
    """One ignored signal."""

    what: SignalKind
    text: str
    """Its beginning, on one line."""
    line: int | None
    """From 1, in the final text; None outside of it."""
    why: str
    """The reason, as a clause that follows the text, such as ``it stands in a code fence``."""


def find_ignored_signals(
    reading: ParsedOutput,
    *,
    preferred: ReportKind = ReportKind.RALPH_STATUS,
    complete_word: str = "COMPLETE",
    elsewhere: Sequence[MisplacedSignal] = (),
) -> tuple[IgnoredSignal, ...]:
    """Find ignored signals: reports, then promises, then words, each in text order.

    ``elsewhere`` holds the signals that a structured stream has outside the final text. A word that
    counts in one place is not reported for another. At most ``MAX_IGNORED_SIGNALS`` of each kind
    are returned.
    """
    search = _search(reading.text)
    strays = tuple(_strays(reading, elsewhere))
    found = (
        _reports(search, preferred),
        (stray for stray in strays if stray.what == "report"),
        _promises(search, complete_word),
        (stray for stray in strays if stray.what == "promise"),
        _words(search, {*reading.completion, *reading.clarification}),
    )
    return tuple(entry for entries in found for entry in islice(entries, MAX_IGNORED_SIGNALS))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SignalSearch:
    text: str
    lowered: str
    fences: tuple[Span, ...]
    blocks: tuple[StatusBlock, ...]
    holes: tuple[Span, ...]
    """Fences, blocks and promise tags."""
    apart: MaskedText
    """The text masked as the prose readers mask it."""

    def entry(self, what: SignalKind, span: Span, why: str) -> IgnoredSignal:
        start, end = span
        line = self.text.count("\n", 0, start) + 1
        return IgnoredSignal(what=what, text=_short(self.text[start:end]), line=line, why=why)

    def line_entry(self, what: SignalKind, offset: int, why: str) -> IgnoredSignal:
        return self.entry(what, line_around(self.text, offset), why)


def _search(text: str) -> _SignalSearch:
    lowered = lower(text)
    fences = fence_spans(text)
    blocks = find_blocks(text, lowered)
    tags = find_promise_tags(text)
    parting = (*fences, *(block.span for block in blocks))
    return _SignalSearch(
        text=text,
        lowered=lowered,
        fences=fences,
        blocks=blocks,
        holes=merge_spans((*parting, *(tag.span for tag in tags))),
        apart=mask_non_prose(text, lowered, parting, tags),
    )


def _short(text: str) -> str:
    return shorten(text[: _SHOWN * 4], _SHOWN)


_SHOWN = 100

_NAMES = {ReportKind.RALPH_STATUS: "RALPH_STATUS", ReportKind.CLARITY_STATUS: "CLARITY_STATUS"}


def _reports(search: _SignalSearch, preferred: ReportKind) -> Iterator[IgnoredSignal]:
    chosen = choose_block(search.blocks, preferred=preferred)
    for block in search.blocks:
        if chosen is not None and block is chosen[0]:
            continue
        if parse_block(block) is None:
            why = reason_unparsed(block)
        elif not block.is_closed:
            why = "it is cut off, and a complete one follows"
        elif chosen is not None and block.kind is not chosen[0].kind:
            why = f"only the block {_NAMES[chosen[0].kind]} is read here"
        else:
            why = "a later one counts"
        yield search.entry("report", block.span, why)
    for span, why in quoted_block_starts(search.text, search.lowered):
        yield search.entry("report", span, why)
    yield from _bare_fields(search, preferred)


def _bare_fields(search: _SignalSearch, preferred: ReportKind) -> Iterator[IgnoredSignal]:
    """Fields of a report without a beginning before them."""
    blocks = [block.span for block in search.blocks]
    hits = LiteralHits(search.lowered, ("exit_signal", "exit signal"))
    position = 0
    while (hit := hits.next_from(position)) is not None:
        start, end = line_around(search.text, hit)
        is_field = is_known_field_line(search.text[start:end])
        if is_field and not is_inside(blocks, hit):
            why = f"no line ---{_NAMES[preferred]}--- opens it"
            yield search.entry("report", (start, end), why)
        position = end + 1


def _promises(search: _SignalSearch, complete_word: str) -> Iterator[IgnoredSignal]:
    text = search.text
    tags = find_promise_tags(text)
    for tag in tags:
        verdict = check_tag(text, tag, search.fences, complete_word=complete_word)
        if isinstance(verdict, str):
            yield search.entry("promise", tag.span, verdict)
    spans = [tag.span for tag in tags]
    for mark in _ANY_TAG.finditer(search.lowered):
        if is_inside(spans, mark.start()):
            continue
        written = text[mark.start() : mark.end()]
        if written != mark.group():
            why = "the tag is not in lower case"
        else:
            why = "its tag is not opened" if "/" in written else "its tag is not closed nearby"
        yield search.line_entry("promise", mark.start(), why)
    yield from _bare_words(search, complete_word)


_ANY_TAG = re.compile(r"</?promise>")


def _bare_words(search: _SignalSearch, complete_word: str) -> Iterator[IgnoredSignal]:
    """The completion word alone on a line, without its tag."""
    hits = LiteralHits(search.text, (complete_word,))
    position = 0
    while (hit := hits.next_from(position)) is not None:
        start, end = line_around(search.text, hit)
        is_alone = search.text[start:end].strip(" \t*_`#.!:") == complete_word
        if is_alone and not is_inside(search.holes, hit):
            why = f"only <promise>{complete_word}</promise> counts"
            yield search.entry("promise", (start, end), why)
        position = end + 1


def _words(search: _SignalSearch, counted: set[str]) -> Iterator[IgnoredSignal]:
    tags = [tag.span for tag in find_promise_tags(search.text)]
    apart = merge_spans((*tags, *(block.span for block in search.blocks)))
    ends = [end for _, end in apart]
    for fence in search.fences:
        following = bisect_right(ends, fence[0])
        if following == len(apart) or apart[following][0] >= fence[1]:
            yield from _quoted_words(search, fence, "a code fence", counted)
    prose = search.apart
    for start, end in matching_stretches(prose.text, prose.lowered, prose.holes, PHRASE_FILTER):
        yield from _stretch_words(search, (start, end), counted)


def _stretch_words(search: _SignalSearch, span: Span, counted: set[str]) -> Iterator[IgnoredSignal]:
    start, end = span
    stretch = search.apart.text[start:end]
    left, quotes = mask_quotes(stretch)
    searched = lower(left)
    prose = to_prose(stretch, ())
    position = 0
    gone: set[str] = set()
    for use in find_phrase_matches(prose):
        # The prose is shorter than the text, but its words are in the same order.
        word = prose[use.start : use.end].split()[0]
        hit = -1 if word in gone else searched.find(word, position)
        if hit >= 0:
            position = hit + 1
        else:
            gone.add(word)
        if use.why_not and use.name not in counted:
            why = f"{use.name}: {use.why_not}"
            yield search.line_entry("word", start + max(0, position - 1), why)
    for (quote_start, quote_end), what in quotes:
        quote = (start + quote_start, start + quote_end)
        yield from _quoted_words(search, quote, what, counted)


def _quoted_words(
    search: _SignalSearch, span: Span, what: str, counted: set[str]
) -> Iterator[IgnoredSignal]:
    """Phrases in text that is not prose, each once."""
    start, end = span
    lowered = search.apart.lowered
    if PHRASE_FILTER.shape.search(lowered, start, end) is None:
        return
    quoted = _BARE.sub(" ", lowered[start:end]).strip()
    names = dict.fromkeys(use.name for use in find_phrase_matches(quoted) if not use.why_not)
    for name in names:
        if name not in counted:
            yield search.entry("word", span, f"{name}: it is in {what}")


_BARE = re.compile(r"[*`\"'>|\u2018\u2019\u201c\u201d\u00ab\u00bb]+|~~")


def _strays(reading: ParsedOutput, elsewhere: Sequence[MisplacedSignal]) -> Iterator[IgnoredSignal]:
    """Signals outside the final text, except an earlier report that is used."""
    problems = () if reading.report is None else reading.report.problems
    used = None
    if any(problem.code == "report-not-final" for problem in problems):
        own = (
            one for one in reversed(elsewhere) if one.where == EARLIER_TEXT and one.what == "report"
        )
        used = next(own, None)
    for one in elsewhere:
        if one is not used:
            why = f"it is in {one.where} (line {one.line} of the stream)"
            yield IgnoredSignal(what=one.what, text=_short(one.text), line=None, why=why)


# ------------------------------------------------------------------------ outside of the final text


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
    while (hit := _MISPLACED_NAMES.search(stream, start)) is not None:
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


_MISPLACED_NAMES = re.compile(rb"promise|(?:RALPH|CLARITY)_STATUS", re.IGNORECASE)
"""The bracket before ``promise`` may be written as an escape."""

_NAMES_IN_TEXT = re.compile(r"promise>|(?:RALPH|CLARITY)_STATUS", re.IGNORECASE)
