"""Finding the agent's status block and choosing the one that counts (SPEC §5 "Blocks").

It exists because agents decorate, indent, quote, cut and repeat the block in many ways. It must
never know what a report leads to. What a block holds is read in ``block_fields.py``.

A block begins at ``---RALPH_STATUS---`` (or CLARITY) and ends at its end marker; any case, any
number of dashes from two, blanks and bold marks around the name. Its YAML shape begins at a line
``RALPH_STATUS:`` and ends where the indented keys end. A marker in a block quote or right behind a
backtick is a quote. A beginning with more than a field behind it on its line is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ralph_ls.core.agent.block_fields import is_known_field_line, parse_fields
from ralph_ls.core.agent.text import Span, line_around
from ralph_ls.protocol.report import Report, ReportKind, ReportProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of text that looks like a status block; it may prove to be a template."""

    kind: ReportKind
    span: Span
    """From the first character of its beginning to behind its end."""
    body: str
    is_closed: bool
    """False where the text, another block or prose cut it off."""


def find_blocks(text: str) -> tuple[Block, ...]:
    """Find every block in text order; they never overlap."""
    lowered = text.lower()
    if not any(name in lowered for name in _NAMES):
        return ()
    blocks: list[Block] = []
    opening: _Opening | None = None
    for marker in _markers(text):
        if opening is not None:
            blocks.append(_block_up_to(text, opening, marker))
            opening = None
        if isinstance(marker, _Opening):
            if marker.is_yaml:
                blocks.extend(_yaml_block(text, marker))
            else:
                opening = marker
    if opening is not None:
        blocks.append(_block_up_to(text, opening, None))
    return tuple(blocks)


def choose_report(blocks: Sequence[Block], *, preferred: ReportKind) -> Report | None:
    """Parse the block that counts: the last of the preferred kind, else the last of the other.

    A template is no report. A cut block counts only if it has STATUS and no complete report
    follows it; it then carries the problem ``block-unclosed``.
    """
    fallback: Report | None = None
    is_followed_by_complete = False
    for block in reversed(blocks):
        if not block.is_closed and is_followed_by_complete:
            continue
        report = _parse_block(block)
        if report is None:
            continue
        if block.kind is preferred:
            return report
        fallback = fallback or report
        is_followed_by_complete = is_followed_by_complete or block.is_closed
    return fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    kind: ReportKind
    span: Span
    is_yaml: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """An end marker; which kind of block it names does not matter."""

    span: Span


_NAMES = ("ralph_status", "ralph status", "clarity_status", "clarity status")

_MARKER = re.compile(
    r"(?<![-\u2013\u2014])(?:[-\u2013\u2014]{2,}+|[\u2013\u2014])[^\S\n]{0,4}[*_`]{0,3}"
    r"(?:(?P<kind>RALPH|CLARITY)[_ ]STATUS"
    r"|END(?:[_ ](?:RALPH[_ ]|CLARITY[_ ])?STATUS)?)"
    r"[*_`]{0,3}[^\S\n]{0,4}(?:[-\u2013\u2014]{2,}+|[\u2013\u2014])"
    r"|^[^\S\n]*+(?:[-*+][ \t]|\#{1,6}[ \t])?[*_`]{0,3}"
    r"(?P<yaml>RALPH|CLARITY)_STATUS[*_`]{0,3}[^\S\n]{0,4}:[*_`]{0,3}[^\S\n]*+$",
    re.IGNORECASE | re.MULTILINE,
)

_KINDS = {"RALPH": ReportKind.RALPH_STATUS, "CLARITY": ReportKind.CLARITY_STATUS}


def _markers(text: str) -> Iterator[_Opening | _Ending]:
    for match in _MARKER.finditer(text):
        name = match["kind"] or match["yaml"]
        if name is None:
            yield _Ending(span=match.span())
        elif match["yaml"] is not None or _is_beginning(text, match.span()):
            is_yaml = match["yaml"] is not None
            yield _Opening(kind=_KINDS[name.upper()], span=match.span(), is_yaml=is_yaml)


_QUOTED_LINE = re.compile(r"[^\S\n]*+>")
_REST_OF_LINE = re.compile(r"(?:[^\S\n]|[*_`])*+(?:\n|\Z)")
_LONGEST_BEGINNING_OF_LINE = 200
_LONGEST_FIELD_START = 200


def _is_beginning(text: str, span: Span) -> bool:
    start, end = span
    before = text[max(0, start - _LONGEST_BEGINNING_OF_LINE) : start].rpartition("\n")[2]
    is_quoted = before.endswith(("`", '"', "'")) and not before.endswith("```")
    if is_quoted or _QUOTED_LINE.match(before) is not None:
        return False
    if _REST_OF_LINE.match(text, end) is not None:
        return True
    rest, _, _ = text[end : end + _LONGEST_FIELD_START].partition("\n")
    return is_known_field_line(rest)


def _block_up_to(text: str, opening: _Opening, following: _Opening | _Ending | None) -> Block:
    """Make a block that ends at the following marker, or is cut before it."""
    start, body_start = opening.span
    if isinstance(following, _Ending):
        body_end, end = following.span
        is_closed = True
    else:
        limit = following.span[0] if following is not None else len(text)
        body_end = end = _end_of_cut_body(text, body_start, limit)
        is_closed = False
    return Block(
        kind=opening.kind, span=(start, end), body=text[body_start:body_end], is_closed=is_closed
    )


_FENCE = re.compile(r"[^\S\n]*+(?:```|~~~)")


def _end_of_cut_body(text: str, start: int, limit: int) -> int:
    """Say where a block without an end stops being one: at a fence, or at prose after a gap."""
    has_field = is_after_gap = False
    position = start
    while position < limit:
        _, line_end = line_around(text, position)
        line = text[position : min(line_end, limit)]
        if has_field and _FENCE.match(line) is not None:
            return position
        if not line.strip():
            is_after_gap = has_field
        elif is_known_field_line(line):
            has_field, is_after_gap = True, False
        elif is_after_gap:
            return position
        position = line_end + 1
    return limit


def _yaml_block(text: str, marker: _Opening) -> tuple[Block, ...]:
    """Take the lines up to the next marker that are indented deeper, or are known fields.

    A header with nothing under it is a word in a text, not a block.
    """
    start, body_start = marker.span
    header = text[start:body_start]
    header_indent = len(header) - len(header.lstrip())
    position = end = body_start
    while position < len(text):
        _, line_end = line_around(text, position + 1)
        line = text[position + 1 : line_end]
        content = line.lstrip()
        if content:
            is_deeper = len(line) - len(content) > header_indent
            if not is_deeper and not is_known_field_line(line):
                break
            if _MARKER.search(line) is not None:
                break
            end = line_end
        position = line_end
    if end == body_start:
        return ()
    body = text[body_start:end]
    return (Block(kind=marker.kind, span=(start, end), body=body, is_closed=True),)


def _parse_block(block: Block) -> Report | None:
    parsed = parse_fields(block.body, block.kind)
    if parsed is None:
        return None
    fields, problems = parsed
    if not block.is_closed:
        if not fields.get("STATUS"):
            return None
        problems += (
            ReportProblem(
                code="block-unclosed",
                message="the status block has no end marker; what could be read of it is used",
            ),
        )
    return Report(kind=block.kind, fields=fields, problems=problems)
