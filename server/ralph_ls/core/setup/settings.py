"""Edits of ``.ralph/config.toml`` that keep comments and order.

Knows no settings; the result is parsed again and compared, so a file of an unsupported form is
refused rather than damaged.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
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
    except (TOMLKitError, tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
        raise _refusal(str(error)) from error
    if not is_meant:
        raise _refusal("its tables are written in a way that cannot be added to")
    return bom + changed


def duration_text(seconds: float) -> str:
    """A duration as users write it: ``30m``, else in seconds."""
    minutes = seconds / 60
    return f"{int(minutes)}m" if minutes == int(minutes) else f"{seconds:g}s"


def _put(table: Any, keys: tuple[str, ...], value: Any) -> None:
    *outer, last = keys
    for key in outer:
        if key not in table:
            table[key] = tomlkit.table(is_super_table=key == "agents")
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
        f".ralph/config.toml cannot be changed: {why}; change it by hand, "
        "or move it away and set up again"
    )
