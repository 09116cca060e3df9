"""Status blocks: finding them and choosing the one that counts (docs/rules.md#status-block).

Agents decorate, indent, quote, cut and repeat the block in many ways. A block begins at
``---RALPH_STATUS---`` (or CLARITY) and ends at its end marker; any case, any number of dashes from
two, blanks and bold marks around the name. Its YAML shape begins at a line ``RALPH_STATUS:``, or at
a heading of that name, and ends where the indented or known keys end. Its JSON shape is a flat
object under the key ``"RALPH_STATUS"``. A marker in a block quote or directly after a backtick is a
quote. A beginning that is followed by more than a field on its line is prose. ``block_fields``
parses the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ralph_ls.core.agent.signals.block_fields import (
    check_fields,
    find_template,
    is_known_field_line,
    parse_fields,
    read_json_fields,
    template_field,
)
from ralph_ls.core.agent.text import LiteralHits, Span, line_around, lower
from ralph_ls.core.markdown_fences import fence_run
from ralph_ls.protocol.run.report import Report, ReportKind, ReportProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusBlock:
    """A stretch of text that has the form of a status block; it may prove to be a template."""

    kind: ReportKind
    span: Span
    """From its first character to the one after its last."""
    body: str
    is_closed: bool
    """False where it is cut off by the end of the text, another block or prose."""
    is_yaml: bool = False
    json_fields: Mapping[str, str] | None = None
    """The fields of a JSON object; None for every other shape."""


def find_blocks(text: str, lowered: str | None = None) -> tuple[StatusBlock, ...]:
    """Find every block in text order; blocks never overlap.

    ``lowered`` is ``lower(text)``, where the caller has it.
    """
    blocks: list[StatusBlock] = []
    opening: _Opening | None = None
    position = 0
    names = LiteralHits(lower(text) if lowered is None else lowered, _NAMES)
    while True:
        if opening is None:
            # An end without a beginning is ignored, so the next marker begins at a name.
            hit = names.next_from(position)
            if hit is None:
                break
            position = max(position, line_around(text, hit)[0])
        marker = _next_marker(text, position)
        if opening is not None:
            blocks.append(_block_up_to(text, opening, marker))
            opening = None
        if marker is None:
            break
        position = marker.span[1]
        match marker:
            case _Opening(shape=shape) if shape == _MARKED:
                opening = marker
            case _Opening():
                shaped = _shaped_block(text, marker)
                blocks.extend(shaped)
                position = max([position, *(block.span[1] for block in shaped)])
    return tuple(blocks)


def choose_report(blocks: Sequence[StatusBlock], *, preferred: ReportKind) -> Report | None:
    """Parse the block that counts: the last of the preferred kind, else the last of the other.

    A template is not a report. A block that is cut counts only if it has STATUS and no complete
    report follows; it then has the problem ``block-unclosed``.
    """
    chosen = choose_block(blocks, preferred=preferred)
    return None if chosen is None else chosen[1]


def choose_block(
    blocks: Sequence[StatusBlock], *, preferred: ReportKind
) -> tuple[StatusBlock, Report] | None:
    """The block that counts, with its report."""
    fallback: tuple[StatusBlock, Report] | None = None
    is_followed_by_complete = False
    for block in reversed(blocks):
        if not block.is_closed and is_followed_by_complete:
            continue
        report = parse_block(block)
        if report is None:
            continue
        if block.kind is preferred:
            return block, report
        fallback = fallback or (block, report)
        is_followed_by_complete = is_followed_by_complete or block.is_closed
    return fallback


def parse_block(block: StatusBlock) -> Report | None:
    """Parse a single block; None for a template, and for a cut block without STATUS."""
    parsed = _parse_fields(block)
    if parsed is None:
        return None
    fields, problems = parsed
    if not block.is_closed:
        if not any(map(str.isalnum, fields.get("STATUS", ""))):
            return None
        problems += (
            ReportProblem(
                code="block-unclosed",
                message="the status block has no end marker; using what could be read",
            ),
        )
    return Report(kind=block.kind, fields=fields, problems=problems)


def reason_unparsed(block: StatusBlock) -> str:
    """The reason why ``parse_block`` rejects a block."""
    fields = _json_fields(block)
    template = find_template(block.body) if fields is None else template_field(fields.items())
    if template:
        return f"it is a template: {template}"
    return "no field was found in it" if block.is_closed else "it is cut off before its STATUS"


def quoted_block_starts(text: str, lowered: str) -> Iterator[tuple[Span, str]]:
    """The beginnings that open no block, each with the reason in words."""
    names = LiteralHits(lowered, _NAMES)
    position = 0
    while (hit := names.next_from(position)) is not None:
        start, end = line_around(text, hit)
        for match in _MARKER.finditer(text, start, end):
            why = "" if match["kind"] is None else _why_no_beginning(text, match.span())
            if why:
                yield match.span(), why
        if _QUOTED_LINE.match(text, start) is not None and _QUOTED_YAML.match(text, start):
            yield (start, end), _IN_A_QUOTE
        position = end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    kind: ReportKind
    span: Span
    shape: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """An end marker; the kind of block in its name is ignored."""

    span: Span


_MARKED, _YAML, _JSON = "kind", "yaml", "json"
"""The shapes of a block, named like the group of ``_MARKER`` that matches each."""

_NAMES = ("ralph_status", "ralph status", "clarity_status", "clarity status")

_MARKER = re.compile(
    r"(?<![-\u2013\u2014])(?:[-\u2013\u2014]{2,}+|[\u2013\u2014])[^\S\n]{0,4}[*_`]{0,3}"
    r"(?:(?P<kind>RALPH|CLARITY)[_ ]STATUS"
    r"|END(?:[_ ](?:RALPH[_ ]|CLARITY[_ ])?STATUS)?)"
    r"[*_`]{0,3}[^\S\n]{0,4}(?:[-\u2013\u2014]{2,}+|[\u2013\u2014])"
    r"|^[^\S\n]*+(?:[-*+][ \t]|(?P<heading>\#{1,6}[ \t]++))?(?P<bold>[*_`]{0,3})[\"']?"
    r"(?P<yaml>RALPH|CLARITY)[_ ]STATUS[\"']?[*_`]{0,3}[^\S\n]{0,4}"
    r"(?:[:\uff1a][*_`]{0,3}|(?(heading)|(?<=[*_`])))[^\S\n]*+(?:\#[^\n]*+)?$"
    r"|\"(?P<json>RALPH|CLARITY)[_ ]STATUS\"\s{0,100}+:\s{0,100}+(?=\{)",
    re.IGNORECASE | re.MULTILINE,
)

_KINDS = {"RALPH": ReportKind.RALPH_STATUS, "CLARITY": ReportKind.CLARITY_STATUS}


def _next_marker(text: str, position: int) -> _Opening | _Ending | None:
    for match in _MARKER.finditer(text, position):
        shape = next((shape for shape in (_MARKED, _YAML, _JSON) if match[shape]), None)
        if shape is None:
            return _Ending(span=match.span())
        if shape != _MARKED or not _why_no_beginning(text, match.span()):
            kind = _KINDS[match[shape].upper()]
            return _Opening(kind=kind, span=match.span(), shape=shape)
    return None


_QUOTED_LINE = re.compile(r"[^\S\n]*+>")
_REST_OF_LINE = re.compile(r"(?:[^\S\n]|[*_`])*+(?:\n|\Z)")
_LONGEST_BEGINNING_OF_LINE = 200
_LONGEST_FIELD_START = 200


_IN_A_QUOTE = "it is in a quote"
_QUOTED_YAML = re.compile(
    r"[\s>]*+[*_`#\" ]{0,9}(?:RALPH|CLARITY)[_ ]STATUS[*_`\" ]{0,9}:?[*_`]{0,3}[^\S\n]*+$",
    re.IGNORECASE | re.MULTILINE,
)


def _why_no_beginning(text: str, span: Span) -> str:
    """The reason why a marker begins no block; empty where it does."""
    start, end = span
    before = text[max(0, start - _LONGEST_BEGINNING_OF_LINE) : start].rpartition("\n")[2]
    is_quoted = before.endswith(("`", '"', "'")) and not before.endswith("```")
    if is_quoted or _QUOTED_LINE.match(before) is not None:
        return _IN_A_QUOTE
    if _REST_OF_LINE.match(text, end) is not None:
        return ""
    rest, _, _ = text[end : end + _LONGEST_FIELD_START].partition("\n")
    return "" if is_known_field_line(rest) else "other text follows it on its line"


def _block_up_to(text: str, opening: _Opening, following: _Opening | _Ending | None) -> StatusBlock:
    """The block that ends at the following marker, or is cut before it."""
    start, body_start = opening.span
    if isinstance(following, _Ending):
        body_end, end = following.span
    else:
        limit = following.span[0] if following is not None else len(text)
        body_end = end = _end_of_cut_body(text, body_start, limit)
    return StatusBlock(
        kind=opening.kind,
        span=(start, end),
        body=text[body_start:body_end],
        is_closed=isinstance(following, _Ending),
    )


def _end_of_cut_body(text: str, start: int, limit: int) -> int:
    """Where a block without an end stops: at a fence, or at prose after a gap."""
    has_field = is_after_gap = False
    position = start
    while position < limit:
        _, line_end = line_around(text, position)
        line = text[position : min(line_end, limit)]
        if has_field and fence_run(line.lstrip()):
            return position
        if not line.strip():
            is_after_gap = has_field
        elif is_known_field_line(line):
            has_field, is_after_gap = True, False
        elif is_after_gap:
            return position
        position = line_end + 1
    return limit


def _shaped_block(text: str, marker: _Opening) -> tuple[StatusBlock, ...]:
    if marker.shape == _YAML:
        return _yaml_block(text, marker)
    found = read_json_fields(text, marker.span[1])
    if found is None:
        return ()
    fields, end = found
    start, body_start = marker.span
    body = text[body_start:end]
    span = (start, end)
    return (
        StatusBlock(kind=marker.kind, span=span, body=body, is_closed=True, json_fields=fields),
    )


def _yaml_block(text: str, marker: _Opening) -> tuple[StatusBlock, ...]:
    """The lines up to the next marker that are indented deeper or are known fields.

    A header without any is a word in a text, not a block. The fields alone may be in a fence.
    """
    start, body_start = marker.span
    header = text[start:body_start]
    header_indent = len(header) - len(header.lstrip())
    position = end = first = body_start
    while position < len(text):
        _, line_end = line_around(text, position + 1)
        line = text[position + 1 : line_end]
        content = line.lstrip()
        if content and end == body_start and fence_run(line.lstrip()) and first == end:
            first = line_end
        elif content:
            is_deeper = len(line) - len(content) > header_indent
            if not is_deeper and not is_known_field_line(line):
                break
            if _MARKER.search(line) is not None:
                break
            end = line_end
        position = line_end
    if end == body_start:
        return ()
    return (
        StatusBlock(
            kind=marker.kind,
            span=(start, end),
            body=text[first:end],
            is_closed=True,
            is_yaml=True,
        ),
    )


def _parse_fields(block: StatusBlock) -> tuple[dict[str, str], tuple[ReportProblem, ...]] | None:
    fields = _json_fields(block)
    if fields is None:
        return parse_fields(block.body, block.kind, is_yaml=block.is_yaml)
    if template_field(fields.items()):
        return None
    return dict(fields), tuple(check_fields(fields, block.kind))


def _json_fields(block: StatusBlock) -> Mapping[str, str] | None:
    if block.json_fields is not None:
        return block.json_fields
    found = read_json_fields(block.body, 0)
    return None if found is None else found[0]
