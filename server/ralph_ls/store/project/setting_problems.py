"""Messages about settings: what is wrong, where it is set, and what is allowed there.

Several problems are reported together. Nothing of the words of the validating library is shown.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.config.renamed import RENAMED, old_keys_in
from ralph_ls.store.project.settings_reference import SettingFacts, find_setting, suggestion
from ralph_ls.store.toml_text import line_of_key

MOST_SHOWN = 20
"""Problems of one file that are listed."""

LONGEST_VALUE = 60

FLAGS: Mapping[str, str] = {
    "profile": "--profile",
    "agent": "--agent",
    "paths.plan": "--plan",
    "mode": "--mode",
    "task": "--task",
    "max_stuck": "--max-stuck",
    "timeouts.iteration": "--timeout",
    "max_duration": "--max-time",
    "max_wait": "--max-wait",
    "run.until": "--until",
    "max_cost_usd": "--max-cost",
    "max_tokens": "--max-tokens",
    "on_halt": "--on-halt",
    "issue.file": "--issue",
    "issue.github": "--issue",
    "issue.text": "-p",
    "work_branch": "--branch",
    "parallel": "--parallel",
    "lane.onto": "--onto",
    "models.every": "--model",
}
"""Flags of ``ralph run`` by the setting that they set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingProblem:
    """One wrong setting."""

    key: str
    """With dots; empty where several settings do not fit together."""
    text: str
    """The whole problem, with the name of the setting in it."""


def find_problems(
    error: ValidationError, tables: Mapping[str, Any], name: Callable[[str], str] = str
) -> list[SettingProblem]:
    """The problems in these tables, one for each setting; ``name`` is how a key is called there."""
    by_key: dict[str, list[Mapping[str, Any]]] = {}
    old = {RENAMED[key]: key for key in old_keys_in(tables)}
    for one in error.errors(include_url=False):
        key = ".".join(_walked(one["loc"], tables, is_unknown=one["type"] == "extra_forbidden"))
        by_key.setdefault(key, []).append(dict(one))
    return [
        SettingProblem(key=old.get(key, key), text=_words(key, errors, name(old.get(key, key))))
        for key, errors in by_key.items()
    ]


def file_message(shown: str, text: str, problems: Sequence[SettingProblem]) -> str:
    """The problems of a config file, each with its line."""
    lines = [(line_of_key(text, problem.key.split(".")), problem.text) for problem in problems]
    lines.sort(key=lambda line: line[0] or 0)
    places = [f"{shown}:{line}: {words}" if line else f"{shown}: {words}" for line, words in lines]
    return listed(f"{shown} has {len(places)} problems", places)


def listed(heading: str, problems: Sequence[str]) -> str:
    """One problem alone, or all below a heading."""
    if len(problems) == 1:
        return problems[0]
    more = len(problems) - MOST_SHOWN
    rest = [f"  … and {more} more"] if more > 0 else []
    return "\n".join([f"{heading}:", *(f"  {one}" for one in problems[:MOST_SHOWN]), *rest])


def toml_message(shown: str, text: str, error: tomllib.TOMLDecodeError) -> str:
    """What is not TOML, by file and line."""
    line, words = toml_problem(text, error)
    return f"{shown}:{line}: {words}"


def toml_problem(text: str, error: tomllib.TOMLDecodeError) -> tuple[int, str]:
    """The line of what is not TOML, and what is wrong there."""
    problem, _, place = str(error).partition(" (at ")
    found = re.match(r"line (\d+)", place)
    line = int(found[1]) if found else text.count("\n") + 1
    written = text.split("\n")[line - 1].strip() if line <= text.count("\n") + 1 else ""
    return line, _toml_words(problem, written)


_TOML_WORDS: Sequence[tuple[str, str]] = (
    ("Expected '=' after a key", "a key needs a value: write key = value"),
    ("Invalid initial character for a key", "a key is missing before the ="),
    ("Invalid statement", "write key = value or a [table]"),
    ("Invalid value", 'the value is missing or not in quotes: write texts as "text"'),
    ("Expected ']' at the end of a table", "the [table] is not closed with ]"),
    ("Expected ']]'", "the [[table]] is not closed with ]]"),
    ("Unclosed array", "the list is not closed with ]"),
    ("Unclosed inline table", "the table is not closed with }"),
    ("Unterminated string", "the text is not closed with a quote"),
    ("Expected newline or end of document", "there is something after the value; quote texts"),
    ("Cannot overwrite a value", "this key is set twice; remove one"),
    ("Duplicate inline table key", "this key is set twice; remove one"),
    ("Cannot declare", "this table appears twice; merge them"),
    (
        "Cannot mutate immutable namespace",
        "this table is already complete above; add its keys there",
    ),
    ("Unescaped '\\' in a string", "a \\ in a text is written as \\\\, or use single quotes"),
    ("Illegal character '\\n'", "the text is not closed with a quote"),
    ("Illegal character", "this character is not allowed in a text; write it as \\uXXXX"),
    ("Found invalid character", "this character is not allowed here"),
    ("Expected ','", "a comma is missing"),
    ("Invalid date", "this is not a valid date"),
)


def _toml_words(problem: str, written: str) -> str:
    words = next((ours for theirs, ours in _TOML_WORDS if problem.startswith(theirs)), None)
    if not written:
        words = "the file ends before its last value is complete"
    shown = f": {_cut(written)}" if written.isprintable() and written else ""
    return f"{words or 'this is not TOML'}{shown}"


def _walked(loc: Sequence[Any], tables: Any, *, is_unknown: bool) -> Iterator[str]:
    """The parts of the location that are keys of the settings."""
    # An old key is found in its new place.
    for at, part in enumerate(loc):
        if not isinstance(part, str):
            return
        is_last = at == len(loc) - 1
        inside = tables.get(part) if isinstance(tables, Mapping) else None
        if inside is None and not is_last and not _is_renamed(loc):
            return
        if inside is None and is_last and not is_unknown and at and not _is_key(loc):
            return
        yield part
        tables = inside


def _is_renamed(loc: Sequence[Any]) -> bool:
    return ".".join(str(part) for part in loc[:2]) in RENAMED.values()


def _is_key(loc: Sequence[Any]) -> bool:
    return find_setting(".".join(str(part) for part in loc)) is not None


def _words(key: str, errors: Sequence[Mapping[str, Any]], name: str) -> str:
    error = errors[0]
    kind, given = error["type"], error.get("input")
    if kind == "extra_forbidden":
        what = "table" if isinstance(given, Mapping) else "setting"
        return f"unknown {what} {name}{suggestion(key)}"
    if kind == "value_error" and len(errors) == 1:
        message = str(error["msg"]).removeprefix("Value error, ")
        return f"{name}: {message}" if name else message
    known = find_setting(key)
    item = next((part for part in reversed(error["loc"]) if isinstance(part, int)), None)
    it = "it" if item is None else f"item {item + 1}"
    near = did_you_mean(given, known.values) if known and isinstance(given, str) else ""
    return f"{name} must be {_wanted(key, known, errors)}; {it} is {_shown(given)}{near}"


def _wanted(key: str, known: SettingFacts | None, errors: Sequence[Mapping[str, Any]]) -> str:
    """What the setting takes, as the end of "must be …"."""
    if known is None:
        return f"a table, such as [{key}]"
    if len(errors) > 1 and known.type == "text or table":
        return 'a model in quotes, or a table such as { agent = "codex", model = "…" }'
    if known.type == "table of texts" and key != known.key.replace("NAME", key.split(".")[1]):
        return "a text in quotes"
    return _bound(errors[0]) or _PATTERNS.get(key.rpartition(".")[2]) or known.kind


def _bound(error: Mapping[str, Any]) -> str | None:
    context = error.get("ctx", {})
    match error["type"]:
        case "greater_than_equal":
            return f"at least {context['ge']:g}"
        case "greater_than":
            return f"more than {context['gt']:g}"
        case "less_than_equal" if context["le"] > 1e7:
            return "less than a year" if context["le"] < 1e9 else "smaller"
        case "less_than_equal":
            return f"at most {context['le']:g}"
        case "finite_number":
            return "a finite number"
        case _:
            return None


_MODEL = "a model's name without spaces, such as sonnet"
_PATTERNS: Mapping[str, str] = {
    "marker": "a word of A to Z, 0 to 9 and _, such as ALL_DONE",
    "complete": "a word of A to Z, 0 to 9 and _, such as DONE",
    "every": _MODEL,
    "parent": "the id of an issue, such as bd-42",
    "name": "a name of letters, digits, dots, dashes and _",
}
"""What a setting with a pattern takes, by the last part of its key."""


def _shown(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _cut(json.dumps(value, ensure_ascii=False))
        case int() | float():
            return f"{value!r:.{LONGEST_VALUE}}"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
        case _:
            return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
