"""Fields of a status block, their problems, and the JSON shape of a block.

A value is read alike in every layout: bold, bulleted, indented, quoted, in a table, in any case,
over several lines. A line is a field if its key belongs to one of the formats, or resembles one and
is written like the block's first field. Any other line continues a free-text value; after a typed
value it is stray text. So an empty field never takes the next field as its value.

Values are kept as written, without surrounding marks. ``protocol.run.report`` has the typed
readings; a problem is added wherever such a reading is not plainly what was written.

In JSON, a block is one object of plain values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent

from ralph_ls.protocol.run.report import (
    BAD_VALUE,
    FLAGS,
    STATUSES,
    TESTS_STATUSES,
    WORK_TYPES,
    ReportKind,
    ReportProblem,
    flag_of,
    number_of,
    word_of,
)


def parse_fields(
    body: str, kind: ReportKind, *, is_yaml: bool
) -> tuple[dict[str, str], tuple[ReportProblem, ...]] | None:
    """Parse the fields and problems of a block's body; None for a template or no block.

    Keys are in upper case with underscores. Free text is kept whole; a typed value (STATUS,
    enumerations, booleans, numbers) loses emphasis, quotes and a comment after ``#``, and so does a
    quoted text in YAML. Problems are ``missing-status``, ``missing-field``, ``unknown-value``,
    ``bad-value``, ``unknown-field``, ``duplicate-field`` and ``stray-text``.
    """
    draft = _collect(_body_lines(body))
    if not draft.values and body.strip(_MARKS_AND_BLANKS):
        return None
    if template_field((key, lines[0]) for key, lines in draft.values.items()):
        return None
    fields = {key: _to_value(key, lines, is_yaml=is_yaml) for key, lines in draft.values.items()}
    return fields, (*check_fields(fields, kind), *draft.problems)


def is_known_field_line(line: str) -> bool:
    """Whether a line is a field of one of the two formats."""
    match = _match_field(line)
    return match is not None and normalise_key(match["key"]) in KNOWN_FIELDS


def normalise_key(written: str) -> str:
    """Normalise a key to the spelling of the formats: ``Exit signal`` is ``EXIT_SIGNAL``."""
    return written.upper().replace(" ", "_").replace("-", "_")


_STATUSES = {
    ReportKind.RALPH_STATUS: STATUSES[:3],
    ReportKind.CLARITY_STATUS: STATUSES,
}
_ENUMERATIONS = {"TESTS_STATUS": TESTS_STATUSES, "WORK_TYPE": WORK_TYPES}
_BOOLEANS = {
    ReportKind.RALPH_STATUS: ("EXIT_SIGNAL",),
    ReportKind.CLARITY_STATUS: FLAGS,
}
_NUMBERS = {
    ReportKind.RALPH_STATUS: ("TASKS_COMPLETED_THIS_LOOP", "FILES_MODIFIED"),
    ReportKind.CLARITY_STATUS: ("FILES_MODIFIED",),
}
_OTHERS = {
    ReportKind.RALPH_STATUS: ("TESTS_STATUS", "WORK_TYPE", "WORK_SUMMARY", "RECOMMENDATION"),
    ReportKind.CLARITY_STATUS: ("CLARIFICATION_QUESTIONS", "WORK_SUMMARY", "RECOMMENDATION"),
}
_FREE_TEXT = frozenset({"RECOMMENDATION", "CLARIFICATION_QUESTIONS", "WORK_SUMMARY"})
_FIELDS_OF = {
    kind: frozenset({"STATUS", *_BOOLEANS[kind], *_NUMBERS[kind], *_OTHERS[kind]})
    for kind in ReportKind
}
KNOWN_FIELDS = frozenset[str]().union(*_FIELDS_OF.values())
_TYPED = KNOWN_FIELDS - _FREE_TEXT
_BOOLEAN_FIELDS = frozenset[str]().union(*_BOOLEANS.values())
_NUMBER_FIELDS = frozenset[str]().union(*_NUMBERS.values())
_BOOLEAN_VALUES = ("true", "false", "yes", "no")

_MARKS = "*_`"
_MARKS_AND_BLANKS = _MARKS + " \t\n"
_RULE_MARKS = _MARKS + "~- \t\u2013\u2014"

_FIELD = re.compile(
    r"(?P<indent>[^\S\n]*+)(?P<bullet>(?:[-*+•]|\d{1,3}[.)])[^\S\n]++)?(?P<open>[*_`]{0,3})"
    r"(?P<quote>[\"']?)(?P<key>[A-Za-z][A-Za-z0-9]{0,40}+(?:[_ -][A-Za-z0-9]{1,40}+){0,5}+)"
    r"(?P=quote)(?P<close>[*_`]{0,3})[^\S\n]{0,8}[:\uff1a](?P<value>[^\n]*)"
)
_ROW = re.compile(
    r"(?P<indent>[^\S\n]*+)(?P<bullet>\|)[^\S\n]*+(?P<open>[*_`]{0,3})(?P<quote>)"
    r"(?P<key>[A-Za-z]++(?:[_ -][A-Za-z]{1,40}+){0,5}+)(?P<close>[*_`]{0,3}):?[^\S\n]*+\|"
    r"(?P<value>[^|\n]*+)\|?[^\S\n]*+$"
)
"""A row of a table with two columns."""


@dataclass(slots=True, kw_only=True)
class _Draft:
    values: dict[str, list[str]] = field(default_factory=dict)
    """The lines of each value, in block order."""
    problems: list[ReportProblem] = field(default_factory=list)


def _body_lines(body: str) -> Sequence[str]:
    """Split the body, without the lines at both ends that hold only marks or a rule."""
    lines = body.split("\n")
    held = [index for index, line in enumerate(lines) if line.strip(_RULE_MARKS)]
    return lines[held[0] : held[-1] + 1] if held else []


def _collect(lines: Sequence[str]) -> _Draft:
    draft = _Draft()
    first: re.Match[str] | None = None
    current: list[str] | None = None
    has_stray = False
    for line in lines:
        match = _match_field(line)
        key = _key_of(match, first, draft) if match is not None else None
        if match is not None and key is not None:
            first = first or match
            current = _start_value(draft, key, match)
        elif current is not None:
            current.append(line)
        elif line.strip() and not has_stray and not line.lstrip().startswith("|"):
            has_stray = True
            message = f"a line of the status block has no field: {line.strip()[:80]}"
            draft.problems.append(ReportProblem(code="stray-text", message=message))
    return draft


def _match_field(line: str) -> re.Match[str] | None:
    return (_ROW if line.lstrip().startswith("|") else _FIELD).match(line)


def _key_of(match: re.Match[str], first: re.Match[str] | None, draft: _Draft) -> str | None:
    """The key, if the line is a field rather than part of the value before it.

    An unknown key must be written like the block's first field.
    """
    written = match["key"]
    key = normalise_key(written)
    has_style = first is None or _are_alike(match, first)
    if key in KNOWN_FIELDS:
        return key if has_style or key not in draft.values else None
    is_like_key = (
        len(written) >= _SHORTEST_UNKNOWN_KEY
        and match["bullet"] != "|"
        and " " not in written
        and not match["value"].startswith("//")
        and (written.isupper() or (first is not None and not first["key"].isupper()))
    )
    return key if has_style and is_like_key else None


def _are_alike(one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether both lines or neither are table rows, and both or neither list items."""
    return (
        one.re is other.re
        and one["indent"] == other["indent"]
        and bool(one["bullet"]) is bool(other["bullet"])
    )


_SHORTEST_UNKNOWN_KEY = 3
"""Options of a question have short labels such as ``A:`` and ``Q1:``."""


def _start_value(draft: _Draft, key: str, match: re.Match[str]) -> list[str] | None:
    """Start the value of a field; return the list for its following lines, if it may have any."""
    value = match["value"].strip()
    if match["quote"]:
        value = _unquoted(value.removesuffix(","))
    if match["open"] and not match["close"]:
        value = value.removeprefix(match["open"]).removesuffix(match["open"]).strip()
    if key in draft.values:
        message = f"{key} is repeated; only the first counts, not {value[:80]!r}"
        draft.problems.append(ReportProblem(code="duplicate-field", message=message, field=key))
        return []
    lines = [value]
    draft.values[key] = lines
    return None if key in _TYPED else lines


def find_template(body: str) -> str:
    """The field of a block's body that is still a placeholder of the prompt; empty for none."""
    return template_field(
        (key, lines[0]) for key, lines in _collect(_body_lines(body)).values.items()
    )


def template_field(fields: Iterable[tuple[str, str]]) -> str:
    """The first field that is a placeholder, as ``KEY: value``; empty for none."""
    return next((f"{key}: {value}" for key, value in fields if _is_template(key, value)), "")


def _is_template(key: str, value: str) -> bool:
    """Whether a typed value is a placeholder of the prompt: ``<number>``, ``A | B``."""
    if key not in _TYPED:
        return False
    bare = _without_comment(value.strip(_MARKS_AND_BLANKS))
    if _PLACEHOLDER.fullmatch(bare) is not None:
        return _FILLED_IN.fullmatch(bare) is None
    choices = [part.strip(_BRACKETS).upper() for part in re.split(r"[|/]|\bor\b", bare)]
    return sum(choice in _CHOICES for choice in choices) > 1


_PLACEHOLDER = re.compile(
    r"<[^<>]*>|\.\.\.|…|[\[{(](?:number|n|int|integer|count|bool|boolean|value)[\])}]",
    re.IGNORECASE,
)
_BRACKETS = " <>[]{}()"
_CHOICES = frozenset(
    {*(value.upper() for value in _BOOLEAN_VALUES), *STATUSES, *TESTS_STATUSES, *WORK_TYPES}
)
_FILLED_IN = re.compile(rf"<\s*(?:[0-9]+|{'|'.join(sorted(_CHOICES))})\s*>", re.IGNORECASE)
"""Some agents keep the brackets of the prompt around the values."""


def _to_value(key: str, lines: Sequence[str], *, is_yaml: bool) -> str:
    first, *rest = lines
    if key in _TYPED:
        return _without_comment(first).replace("*", "").replace("`", "").strip(" \t_\"'")
    if rest and first in _YAML_SCALARS:
        first = ""
    value = "\n".join((first, dedent("\n".join(rest)))).strip()
    quoted = _YAML_STRING.fullmatch(value) if is_yaml else None
    return value if quoted is None else _unquoted(quoted[1])


def _without_comment(value: str) -> str:
    """Remove a YAML comment."""
    return value.partition(" #")[0].rstrip()


def _unquoted(value: str) -> str:
    """Remove the quotes around the value of a quoted key; other quotes belong to the text."""
    mark = value[:1]
    is_quoted = mark in {'"', "'"} and len(value) > 1 and value.endswith(mark)
    return value[1:-1].replace(f"\\{mark}", mark) if is_quoted else value


_YAML_SCALARS = frozenset({"|", "|-", "|+", ">", ">-", ">+"})
_YAML_STRING = re.compile(r"""("(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')(?:[ ]+\#[^\n]*)?""")


def check_fields(fields: Mapping[str, str], kind: ReportKind) -> list[ReportProblem]:
    """Report values that are missing, unknown or not plainly of their type."""
    problems: list[ReportProblem] = []
    if not fields.get("STATUS"):
        message = "STATUS is missing; using IN_PROGRESS"
        problems.append(ReportProblem(code="missing-status", message=message, field="STATUS"))
    for key in (*_BOOLEANS[kind], *_NUMBERS[kind]):
        if not fields.get(key):
            default = "false" if key in _BOOLEAN_FIELDS else "0"
            message = f"{key} is missing; using {default}"
            problems.append(ReportProblem(code="missing-field", message=message, field=key))
    for key, value in fields.items():
        if key not in _FIELDS_OF[kind]:
            message = f"{key} is not a field of this block; kept, but not used"
            problems.append(ReportProblem(code="unknown-field", message=message, field=key))
        elif value:
            problems.extend(_check_value(key, value, kind))
    return problems


def _check_value(key: str, value: str, kind: ReportKind) -> list[ReportProblem]:
    shown = value[:80]
    known = _STATUSES[kind] if key == "STATUS" else _ENUMERATIONS.get(key)
    bare = re.sub(r"[\W_]+", " ", value[:_LONGEST_PLAIN]).strip()
    word = bare.upper().replace(" ", "_")
    if known and (word not in known or word_of(value, known) != word):
        read = word_of(value, STATUSES if key == "STATUS" else known) or _NEUTRAL.get(key)
        reading = f"using {read}" if read else "kept as it is"
        message = f"{key} is {shown!r}, not one of {', '.join(known)}; {reading}"
        return [ReportProblem(code="unknown-value", message=message, field=key)]
    if key in _BOOLEAN_FIELDS and flag_of(value) is None:
        reading = "true, so it asks" if key == _ASKS else "false"
        message = f"{key} is {shown!r}, not true or false; using {reading}"
        return [ReportProblem(code=BAD_VALUE, message=message, field=key)]
    if key in _NUMBER_FIELDS and _NUMBER.match(value) is None:
        reading = f"using {number_of(value)}"
        message = f"{key} is {shown!r}, not a whole number; {reading}"
        return [ReportProblem(code=BAD_VALUE, message=message, field=key)]
    return []


_ASKS = "CLARIFICATION_NEEDED"
"""The only flag for which an unreadable value means true."""
_NEUTRAL = {"STATUS": "IN_PROGRESS", "TESTS_STATUS": "NOT_RUN"}
_LONGEST_PLAIN = 200
"""Longest typed value that is checked for being a plain word, in characters."""
_NUMBER = re.compile(r"<?[0-9]{1,9}>?(?:\s|$)")


def read_json_fields(text: str, position: int) -> tuple[dict[str, str], int] | None:
    """Parse the object at a position and find its end; None where there is none with fields.

    Values are returned as text: ``true``, ``3``, the items of a list one per line. An object that
    contains another one, or a text with a brace, is rejected, which keeps the time linear.
    """
    match = _OBJECT.match(text, position)
    if match is None:
        return None
    try:
        values = json.loads(match[1], strict=False)
        fields = {normalise_key(key): _to_text(value) for key, value in values.items()}
    except (ValueError, RecursionError):
        return None
    return None if KNOWN_FIELDS.isdisjoint(fields) else (fields, match.end())


_OBJECT = re.compile(r"[\s*_`]{0,100}+(?:json\s{1,100}+)?(\{[^{}]*+\})", re.IGNORECASE)


def _to_text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case list():
            return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in value)
        case _:
            return json.dumps(value)
