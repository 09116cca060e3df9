"""Renamed settings: each old key, the key that replaces it, and the version that drops the old one.

Old keys are read wherever settings are: in a config file, a variable, a flag and a recorded run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

DROPPED_IN = "0.4"
"""The release that no longer reads the old keys."""

RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "timeout": "timeouts.iteration",
        "idle_timeout": "timeouts.idle",
        "verify_timeout": "timeouts.validation",
        "validate_timeout": "timeouts.validation",
        "commit_timeout": "timeouts.commit",
        "push_timeout": "timeouts.push",
        "git_timeout": "timeouts.git",
        "git_lock_wait": "timeouts.git_lock",
        "log": "logs.agent",
        "log_form": "logs.form",
        "log_retention.days": "logs.days",
        "log_retention.newest": "logs.newest",
        "on_question": "notify.command",
        "issue.comment": "notify.github",
    }
)
"""Old key to new key, both with dots."""


def with_new_keys(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The settings under their new keys, from snake_case or camelCase; a new key wins over an old.

    Of two old keys that became one, the later in ``RENAMED`` wins.
    """
    new = dict(tables)
    for old, parts in _OLD_PARTS.items():
        value = _taken(new, parts)
        if value is not _ABSENT:
            table, key = RENAMED[old].split(".")
            _fill_in(new, table, key, value, known=tables.get(table))
    return new


def old_keys_in(tables: Mapping[str, Any]) -> Iterator[str]:
    """The old keys that are set in these tables of a file, in the order of ``RENAMED``."""
    for old in RENAMED:
        if _taken(dict(tables), old.split(".")) is not _ABSENT:
            yield old


_ABSENT = object()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


_OLD_PARTS = {old: old.split(".") for old in RENAMED}


def _taken(tables: dict[str, Any], parts: list[str]) -> Any:
    """Remove and return the value at these keys; ``_ABSENT`` without one."""
    first, *others = parts
    name = next((name for name in (first, _camel(first)) if name in tables), None)
    if name is None:
        return _ABSENT
    if not others:
        # A table is no value of an old key, but a slip such as [timeout].
        return _ABSENT if isinstance(tables[name], Mapping) else tables.pop(name)
    if not isinstance(tables[name], Mapping):
        return _ABSENT
    inner = dict(tables[name])
    value = _taken(inner, others)
    if inner:
        tables[name] = inner
    else:
        del tables[name]
    return value


def _fill_in(tables: dict[str, Any], table: str, key: str, value: Any, *, known: Any) -> None:
    """Set the new key, unless the settings had it themselves."""
    is_table = isinstance(known, Mapping)
    if known is not None and not (is_table and key not in known and _camel(key) not in known):
        return
    tables[table] = {**tables.get(table, {}), key: value}
