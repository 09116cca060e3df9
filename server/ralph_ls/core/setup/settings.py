"""Edits of ``.ralph/config.toml`` that keep comments and order.

Knows no settings; the result is parsed again and compared, so a file of an unsupported form is
refused rather than damaged.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, Item

from ralph_ls.protocol.errors import ConfigError


def with_settings(text: str, values: Mapping[tuple[str, ...], Any]) -> str:
    """The file's text with these values, by their keys from the outermost table.

    A mapping replaces a whole table. Raises ``ConfigError`` where the text is not TOML, or has a
    form that cannot be changed without losing something.
    """
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(bom)
    try:
        document = tomlkit.parse(body)
        wanted = tomllib.loads(body)
        for keys, value in values.items():
            _put(document, keys, value)
            _merge(wanted, keys, value)
        changed = tomlkit.dumps(document)
        is_meant = tomllib.loads(changed) == wanted
    except (TOMLKitError, tomllib.TOMLDecodeError) as error:
        raise _refusal("they are not valid TOML") from error
    except (TypeError, AttributeError) as error:
        raise _refusal("a table is in the place of a value or a list") from error
    if not is_meant:
        raise _refusal("its tables are written in a form that ralph cannot extend")
    return bom + changed


def without_setting(text: str, keys: tuple[str, ...]) -> str:
    """The file's text without this key, and without a table that it was alone in.

    A text that does not have it stays as it is. Raises ``ConfigError`` like ``with_settings``.
    """
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    try:
        document = tomlkit.parse(text.removeprefix(bom))
        wanted = tomllib.loads(text.removeprefix(bom))
        if not _drop(wanted, keys):
            return text
        _drop(document, keys)
        changed = tomlkit.dumps(document)
        is_meant = tomllib.loads(changed) == wanted
    except (TOMLKitError, tomllib.TOMLDecodeError) as error:
        raise _refusal("they are not valid TOML") from error
    if not is_meant:
        raise _refusal("its tables are written in a form that ralph cannot change")
    return bom + changed


def _drop(table: Any, keys: tuple[str, ...]) -> bool:
    """Whether the key was there."""
    first, *others = keys
    if not isinstance(table, Mapping) or first not in table:
        return False
    if others and not _drop(table[first], tuple(others)):
        return False
    if not others or not table[first]:
        del table[first]  # type: ignore[attr-defined]
    return True


def settings_text(rows: Iterable[tuple[tuple[str, ...], Any, str]]) -> str:
    """Settings as TOML, each with its keys, its value and a comment; empty without any.

    Settings of no table come first, the others below their tables.
    """
    by_table: dict[tuple[str, ...], list[str]] = {}
    for keys, value, comment in sorted(rows, key=lambda row: len(row[0]) > 1):
        line = f"{key_text(keys[-1:])} = {value_text(value)}"
        by_table.setdefault(keys[:-1], []).append(f"{line}  # {comment}" if comment else line)
    parts = [
        "\n".join([f"[{key_text(table)}]", *lines] if table else lines)
        for table, lines in by_table.items()
    ]
    return "\n\n".join(parts)


def value_text(value: Any) -> str:
    """A value as TOML has it, on one line."""
    if not isinstance(value, Mapping):
        return str(tomlkit.item(value).as_string())
    inner = ", ".join(f"{key_text([key])} = {value_text(one)}" for key, one in value.items())
    return f"{{ {inner} }}" if inner else "{}"


def key_text(keys: Sequence[str]) -> str:
    """A dotted key, quoted where it has to be."""
    return ".".join(key if _BARE.fullmatch(key) else json.dumps(key) for key in keys)


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def duration_text(seconds: float) -> str:
    """A duration as users write it: ``30m``, else in seconds."""
    minutes = seconds / 60
    return f"{int(minutes)}m" if minutes == int(minutes) else f"{seconds:g}s"


def _put(table: Any, keys: tuple[str, ...], value: Any) -> None:
    *outer, last = keys
    for key in outer:
        if key not in table:
            table[key] = tomlkit.table(is_super_table=key == "agents" or key != outer[-1])
        table = table[key]
    table[last] = _item(value)


def _item(value: Any) -> Item:
    if not isinstance(value, Mapping):
        made_of_value: Item = tomlkit.item(value)
        return made_of_value
    made: AbstractTable = tomlkit.table()
    for key, inner in value.items():
        made[key] = _item(inner)
    return made


def _merge(tables: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    *outer, last = keys
    for key in outer:
        tables = tables.setdefault(key, {})
    tables[last] = value


def _refusal(why: str) -> ConfigError:
    return ConfigError(
        f"the settings cannot be changed: {why}; change them by hand with: ralph config edit"
    )
