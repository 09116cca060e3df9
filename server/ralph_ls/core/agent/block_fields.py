"""What a status block holds: its fields, as the agent wrote them, and what is wrong with them.

It exists so that a value is read the same way in every dress: bold, bulleted, indented, in any
case, over several lines. It must never know where in the text the block stood.

A line is a field if its key is one of either format, or looks like one in the style of the block's
first field. Any other line continues a free-text value; one after a typed value is a stray. So an
empty field never swallows the next field, as A's own pattern lets it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import dedent

from ralph_ls.protocol.report import ReportKind, ReportProblem


def parse_fields(
    body: str, kind: ReportKind
) -> tuple[dict[str, str], tuple[ReportProblem, ...]] | None:
    """Read the fields of a block's body and the problems; None for a template or no block.

    Keys come in upper case with underscores. Free text is kept whole; a typed value (STATUS,
    enumerations, booleans, numbers) loses the marks and symbols around it. Problems are
    ``missing-status``, ``missing-field``, ``unknown-value``, ``bad-value``, ``unknown-field``,
    ``duplicate-field`` and ``stray-text``.
    """
    draft = _collect(_body_lines(body))
    if not draft.values and body.strip(_MARKS + " \t\n"):
        return None
    if any(_is_template(key, lines[0]) for key, lines in draft.values.items()):
        return None
    fields = {key: _to_value(key, lines) for key, lines in draft.values.items()}
    return fields, (*_check(fields, kind), *draft.problems)


def is_known_field_line(line: str) -> bool:
    """Say whether a line is a field of one of the two formats."""
    match = _FIELD.match(line)
    return match is not None and _to_key(match["key"]) in _KNOWN


_STATUSES = {
    ReportKind.RALPH_STATUS: ("IN_PROGRESS", "COMPLETE", "BLOCKED"),
    ReportKind.CLARITY_STATUS: ("IN_PROGRESS", "COMPLETE", "NEEDS_CLARIFICATION", "BLOCKED"),
}
_ENUMERATIONS = {
    "TESTS_STATUS": ("PASSING", "FAILING", "NOT_RUN"),
    "WORK_TYPE": ("IMPLEMENTATION", "TESTING", "DOCUMENTATION", "REFACTORING"),
}
_BOOLEANS = {
    ReportKind.RALPH_STATUS: ("EXIT_SIGNAL",),
    ReportKind.CLARITY_STATUS: ("EXIT_SIGNAL", "PR_READY", "CLARIFICATION_NEEDED"),
}
_NUMBERS = {
    ReportKind.RALPH_STATUS: ("TASKS_COMPLETED_THIS_LOOP", "FILES_MODIFIED"),
    ReportKind.CLARITY_STATUS: ("FILES_MODIFIED",),
}
_OTHERS = {
    ReportKind.RALPH_STATUS: ("TESTS_STATUS", "WORK_TYPE", "RECOMMENDATION"),
    ReportKind.CLARITY_STATUS: ("CLARIFICATION_QUESTIONS", "WORK_SUMMARY", "RECOMMENDATION"),
}
_FREE_TEXT = frozenset({"RECOMMENDATION", "CLARIFICATION_QUESTIONS", "WORK_SUMMARY"})
_FIELDS_OF = {
    kind: frozenset({"STATUS", *_BOOLEANS[kind], *_NUMBERS[kind], *_OTHERS[kind]})
    for kind in ReportKind
}
_KNOWN = frozenset[str]().union(*_FIELDS_OF.values())
_TYPED = _KNOWN - _FREE_TEXT
_BOOLEAN_FIELDS = frozenset[str]().union(*_BOOLEANS.values())
_NUMBER_FIELDS = frozenset[str]().union(*_NUMBERS.values())
_BOOLEAN_VALUES = ("true", "false", "yes", "no")

_MARKS = "*_`"
_RULE_MARKS = _MARKS + "~- \t\u2013\u2014"

_FIELD = re.compile(
    r"(?P<indent>[^\S\n]*+)(?P<bullet>(?:[-*+•]|\d{1,3}[.)])[^\S\n]++)?(?P<open>[*_`]{0,3})"
    r"(?P<key>[A-Za-z][A-Za-z0-9]{0,40}+(?:[_ -][A-Za-z0-9]{1,40}+){0,5}+)"
    r"(?P<close>[*_`]{0,3})[^\S\n]{0,8}[:\uff1a](?P<value>[^\n]*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """How the block's first field was written; an unknown key must be written alike."""

    indent: str
    is_bulleted: bool
    is_upper: bool


@dataclass(slots=True, kw_only=True)
class _Draft:
    values: dict[str, list[str]] = field(default_factory=dict)
    """The lines of each value, in the order of the block."""
    problems: list[ReportProblem] = field(default_factory=list)


def _body_lines(body: str) -> Sequence[str]:
    """Split the body, without the lines at both ends that hold only marks or a rule."""
    lines = body.split("\n")
    start, end = 0, len(lines)
    while start < end and not lines[start].strip(_RULE_MARKS):
        start += 1
    while end > start and not lines[end - 1].strip(_RULE_MARKS):
        end -= 1
    return lines[start:end]


def _collect(lines: Sequence[str]) -> _Draft:
    draft = _Draft()
    style: _Style | None = None
    current: list[str] | None = None
    has_stray = False
    for line in lines:
        match = _FIELD.match(line)
        key = _key_of(match, style, draft) if match is not None else None
        if match is not None and key is not None:
            style = style or _style_of(match)
            current = _start_value(draft, key, match)
        elif current is not None:
            current.append(line)
        elif line.strip() and not has_stray:
            has_stray = True
            message = f"a line of the status block belongs to no field: {line.strip()[:80]}"
            draft.problems.append(ReportProblem(code="stray-text", message=message))
    return draft


def _to_key(written: str) -> str:
    return written.upper().replace(" ", "_").replace("-", "_")


def _style_of(match: re.Match[str]) -> _Style:
    return _Style(
        indent=match["indent"],
        is_bulleted=match["bullet"] is not None,
        is_upper=match["key"].isupper(),
    )


def _key_of(match: re.Match[str], style: _Style | None, draft: _Draft) -> str | None:
    """Give the key if the line is a field and not a line of the value before it."""
    written = match["key"]
    key = _to_key(written)
    has_style = style is None or (
        match["indent"] == style.indent and (match["bullet"] is not None) == style.is_bulleted
    )
    if key in _KNOWN:
        return key if has_style or key not in draft.values else None
    looks_like_key = (
        len(written) >= _SHORTEST_UNKNOWN_KEY
        and " " not in written
        and not match["value"].startswith("//")
        and (written.isupper() or (style is not None and not style.is_upper))
    )
    return key if has_style and looks_like_key else None


_SHORTEST_UNKNOWN_KEY = 3
"""Options of a question are called ``A:`` and ``Q1:``."""


def _start_value(draft: _Draft, key: str, match: re.Match[str]) -> list[str] | None:
    """Start the value of a field; give the list that its next lines belong to, if they may."""
    value = match["value"].strip()
    if match["open"] and not match["close"]:
        value = value.removeprefix(match["open"]).removesuffix(match["open"]).strip()
    if key in draft.values:
        message = f"{key} is there twice; the first one is used, not {value[:80]!r}"
        draft.problems.append(ReportProblem(code="duplicate-field", message=message, field=key))
        return []
    lines = [value]
    draft.values[key] = lines
    return None if key in _TYPED else lines


def _is_template(key: str, value: str) -> bool:
    """Say whether a typed value is the prompt's placeholder: ``<number>``, ``A | B``."""
    if key not in _TYPED:
        return False
    bare = value.strip(_MARKS + " ")
    if _PLACEHOLDER.fullmatch(bare) is not None:
        return True
    choices = [part.strip(" <>[]{}()").upper() for part in re.split(r"[|/]|\bor\b", bare)]
    return sum(choice in _CHOICES for choice in choices) > 1


_PLACEHOLDER = re.compile(
    r"<[^<>]*>|\.\.\.|…|[\[{(](?:number|n|int|integer|count|bool|boolean|value)[\])}]",
    re.IGNORECASE,
)
_CHOICES = frozenset(
    {
        *(value.upper() for value in _BOOLEAN_VALUES),
        *(value for values in (*_STATUSES.values(), *_ENUMERATIONS.values()) for value in values),
    }
)


def _to_value(key: str, lines: Sequence[str]) -> str:
    first, *rest = lines
    if key in _TYPED:
        return _without_symbols(first)
    if rest and first in _YAML_SCALARS:
        first = ""
    return "\n".join((first, dedent("\n".join(rest)))).strip()


def _without_symbols(value: str) -> str:
    """Take off what decorates a typed value: marks, quotes, full stops, ticks and pictures."""
    start, end = 0, len(value)
    while start < end and not (value[start].isalnum() or value[start] in "-+([{<"):
        start += 1
    while end > start and not (value[end - 1].isalnum() or value[end - 1] in "%)]}>"):
        end -= 1
    return value[start:end]


_YAML_SCALARS = frozenset({"|", "|-", "|+", ">", ">-", ">+"})


def _check(fields: dict[str, str], kind: ReportKind) -> list[ReportProblem]:
    problems: list[ReportProblem] = []
    if not fields.get("STATUS"):
        message = "STATUS is missing; it is read as IN_PROGRESS"
        problems.append(ReportProblem(code="missing-status", message=message, field="STATUS"))
    for key in (*_BOOLEANS[kind], *_NUMBERS[kind]):
        if not fields.get(key):
            default = "false" if key in _BOOLEAN_FIELDS else "0"
            message = f"{key} is missing; it is read as {default}"
            problems.append(ReportProblem(code="missing-field", message=message, field=key))
    for key, value in fields.items():
        if key not in _FIELDS_OF[kind]:
            message = f"{key} is no field of this block; it is kept and not read"
            problems.append(ReportProblem(code="unknown-field", message=message, field=key))
        elif value:
            problems.extend(_check_value(key, value, kind))
    return problems


def _check_value(key: str, value: str, kind: ReportKind) -> list[ReportProblem]:
    known = _STATUSES[kind] if key == "STATUS" else _ENUMERATIONS.get(key, ())
    if known and value.upper() not in known:
        message = f"{key} is {value[:80]!r}, which is none of {', '.join(known)}"
        return [ReportProblem(code="unknown-value", message=message, field=key)]
    is_bad_boolean = key in _BOOLEAN_FIELDS and value.lower() not in _BOOLEAN_VALUES
    is_bad_number = key in _NUMBER_FIELDS and _NUMBER.match(value) is None
    if is_bad_boolean or is_bad_number:
        wanted = "true or false" if is_bad_boolean else "a whole number"
        message = f"{key} is {value[:80]!r}, which is not {wanted}"
        return [ReportProblem(code="bad-value", message=message, field=key)]
    return []


_NUMBER = re.compile(r"[0-9]{1,9}(?:\s|$)")
