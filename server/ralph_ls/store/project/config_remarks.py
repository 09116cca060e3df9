"""Remarks on a config file for an editor: what is wrong in it, and keys that have a new name.

The text with the new keys in their places is here too: a key is renamed where it is, with its
comment and its spaces, unless TOML wants it elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ralph_ls.core.setup.settings import key_text, with_settings, without_setting
from ralph_ls.core.views.model.diagnostic import Diagnostic, DiagnosticCode, Severity
from ralph_ls.protocol.config.renamed import DROPPED_IN, RENAMED, old_keys_in, with_new_keys
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.project.environment_settings import validated_tables
from ralph_ls.store.project.setting_problems import find_problems, toml_problem
from ralph_ls.store.toml_text import line_of_key, parse_toml, paths_in


def config_remarks(text: str) -> list[Diagnostic]:
    """The remarks on this text, those of a line in order. Total."""
    body = text.removeprefix(BOM)
    try:
        tables = parse_toml(body)
    except tomllib.TOMLDecodeError as error:
        return [_wrong(text, *toml_problem(body, error))]
    except ValueError as error:
        return [_wrong(text, 1, str(error))]
    found = [
        Diagnostic(
            line=one.line,
            start=one.start,
            end=one.end,
            severity=Severity.WARNING,
            code=DiagnosticCode.SETTING_RENAMED,
            message=f"{one.old} is now {one.new}; ralph {DROPPED_IN} no longer reads the old key",
        )
        for one in find_old_keys(text)
    ]
    try:
        validated_tables(tables)
    except ValidationError as error:
        for problem in find_problems(error, tables):
            line = line_of_key(body, problem.key.split(".")) or 1
            found.append(_wrong(text, line, problem.text))
    return sorted(found, key=lambda one: one.line)


def _wrong(text: str, number: int, message: str) -> Diagnostic:
    lines = text.split("\n")
    line = lines[min(number, len(lines)) - 1].rstrip()
    return Diagnostic(
        line=number - 1,
        start=len(line) - len(line.lstrip()),
        end=len(line),
        severity=Severity.ERROR,
        code=DiagnosticCode.SETTING_WRONG,
        message=message,
    )


# ----------------------------------------------------------------------------------------- old keys


BOM = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class OldKey:
    """An old key in a text."""

    old: str
    new: str
    line: int
    """From 0."""
    start: int
    """First character of the key, in characters of the line."""
    end: int


def find_old_keys(text: str) -> list[OldKey]:
    """The old keys of a text that is TOML, by line; those inside an inline table at its line."""
    found = []
    for old in old_keys_in(_tables(text)):
        line, start, end = _place(text, old)
        found.append(OldKey(old=old, new=RENAMED[old], line=line, start=start, end=end))
    return sorted(found, key=lambda one: (one.line, one.start))


def with_renamed_keys(text: str) -> str:
    """The text with the new keys; where both are set, the old one is removed.

    Raises ``ConfigError`` where it is not TOML, or has a form that cannot be changed.
    """
    bom = BOM if text.startswith(BOM) else ""
    body = text.removeprefix(bom)
    try:
        wanted = with_new_keys(tomllib.loads(body))
        body = _with_renamed_table(body, wanted)
        # Of two old keys that became one the later counts, so it gets the place first.
        for old in reversed(list(old_keys_in(tomllib.loads(body)))):
            body = _renamed(body, old, wanted)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("the old keys cannot be renamed: the file is not valid TOML") from error
    return bom + body


def _tables(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix(BOM))


def _place(text: str, old: str) -> tuple[int, int, int]:
    """Line, start and end of a key, or of the table that it is in."""
    lines = text.split("\n")
    number = _line_of(text, old.split(".")) or _line_of(text, old.split(".")[:1])
    line = lines[(number or 1) - 1].rstrip("\r")
    begins = len(line) - len(line.lstrip())
    key, sign, _ = line.partition("=")
    return (number or 1) - 1, begins, len(key.rstrip()) if sign else len(line.rstrip())


def _line_of(text: str, path: Sequence[str]) -> int | None:
    """The number of the line with this key or table header, in snake_case or camelCase."""
    wanted = [_plain(part) for part in path]
    found = paths_in(text.removeprefix(BOM))
    return next((number for number, one in found if [_plain(part) for part in one] == wanted), None)


def _plain(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)


def _with_renamed_table(text: str, wanted: dict[str, Any]) -> str:
    """The text with the header of an old table renamed, if all its keys moved together."""
    tables = {old.split(".")[0]: new.split(".")[0] for old, new in RENAMED.items() if "." in old}
    for old, new in tables.items():
        at = _line_of(text, [old])
        if at is None or any(path[0] == new for _, path in paths_in(text)):
            continue
        lines = text.split("\n")
        if not lines[at - 1].lstrip().startswith("["):
            continue
        head, bracket, rest = lines[at - 1].partition("]")
        lines[at - 1] = re.sub(r"[\w\"'-]+", new, head, count=1) + bracket + rest
        changed = "\n".join(lines)
        if _means(changed, wanted):
            text = changed
    return text


def _renamed(text: str, old: str, wanted: dict[str, Any]) -> str:
    """The text with one key renamed, in the first way that means the same."""
    for way in (_in_place, _below_header, _removed, _rewritten):
        changed = way(text, old)
        if changed is not None and _means(changed, wanted) and old not in _old_keys(changed):
            return changed
    raise ConfigError(
        f"{old} cannot be renamed: its table is written in a way that cannot be changed; "
        "change it by hand with: ralph config edit"
    )


def _means(text: str, wanted: dict[str, Any]) -> bool:
    """Whether the settings of a text are these."""
    try:
        return with_new_keys(tomllib.loads(text)) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _old_keys(text: str) -> list[str]:
    return list(old_keys_in(tomllib.loads(text)))


def _in_place(text: str, old: str) -> str | None:
    return _with_line(text, old, lambda line: [_with_key(line, RENAMED[old])])


def _below_header(text: str, old: str) -> str | None:
    """Moved below the header of its new table."""
    table, leaf = RENAMED[old].split(".")
    at, header = _line_of(text, old.split(".")), _line_of(text, [table])
    lines = text.split("\n")
    if at is None or header is None or not lines[header - 1].lstrip().startswith("["):
        return None
    moved = _with_key(lines[at - 1], leaf)
    lines[at - 1 : at] = []
    header -= at < header
    if header == len(lines):
        lines.append("")
    lines.insert(header, moved)
    return _without_empty_table("\n".join(lines), old)


def _removed(text: str, old: str) -> str | None:
    removed = _with_line(text, old, lambda _: [])
    return None if removed is None else _without_empty_table(removed, old)


def _without_empty_table(text: str, old: str) -> str:
    """The text without the header of the old table, if that is empty now."""
    table = old.split(".", maxsplit=1)[0]
    at = _line_of(text, [table]) if "." in old else None
    lines = text.split("\n")
    if at is None or not lines[at - 1].lstrip().startswith("["):
        return text
    is_empty = not any(len(path) > 1 and path[0] == table for _, path in paths_in(text))
    return "\n".join([*lines[: at - 1], *lines[at:]]) if is_empty else text


def _rewritten(text: str, old: str) -> str:
    """By the keys alone, for inline tables and other rare forms."""
    value = _walk(tomllib.loads(text), old.split("."))
    new = tuple(RENAMED[old].split("."))
    changed = without_setting(text, tuple(old.split(".")))
    is_set = _walk(tomllib.loads(changed), new) is not None
    return changed if is_set else with_settings(changed, {new: value})


def _walk(tables: Any, path: Sequence[str]) -> Any:
    for part in path:
        tables = tables.get(part) if isinstance(tables, dict) else None
    return tables


def _with_line(text: str, old: str, change: Callable[[str], list[str]]) -> str | None:
    at = _line_of(text, old.split("."))
    if at is None:
        return None
    lines = text.split("\n")
    lines[at - 1 : at] = change(lines[at - 1])
    return "\n".join(lines)


def _with_key(line: str, key: str) -> str:
    """The line with another key; its indent, its spaces and its comment stay."""
    before, sign, rest = line.partition("=")
    indent = before[: len(before) - len(before.lstrip())]
    gap = before[len(before.rstrip()) :]
    return f"{indent}{key_text(key.split('.'))}{gap}{sign}{rest}"
