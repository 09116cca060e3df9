"""Takes out of a recording what differs from call to call and from machine to machine.

It must keep what belongs together: the same id is the same name everywhere in one recording.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

SHOWN_NAMES = 3
"""How many of a list of words are kept, such as tools and skills; there are hundreds."""

LONGEST = 600
"""Characters of a text; what is longer is not the model's, and is cut."""

TIME = "2026-01-31T12:00:00.000Z"

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_IDS = re.compile(
    rf"{_UUID}|\b(?:ses|prt|msg|agent|conv|run|call|sess|evt)_(?=\w*\d)\w{{14,}}\b|\b[0-9a-f]{{40}}\b|\b\w+_\d{{13}}_\w+\b"
)
_TIMES = re.compile(
    r"_ms$|Ms$|^(ts|timestamp|time|start|end|startTime|request_id|duration.*|.*_time)$"
)
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
_FOREIGN_PATH = re.compile(r"/(tmp|root|home|var|dev/shm)/[^\s\"'`,;)]*")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:\d\d)")
_PATIENCE = re.compile(r"(?<=retry in )[\d.]+")


class Names:
    """What replaces paths and ids in one recording."""

    def __init__(self, repository: Path, *, one_for_all: bool = False) -> None:
        self._repository = repository
        self._one_for_all = one_for_all
        self._ids: dict[str, str] = {}

    def in_text(self, text: str) -> str:
        text = text.replace(str(self._repository), "/repo")
        text = text.replace(str(self._repository.parent), "/elsewhere")
        text = _IDS.sub(lambda found: self._name(found[0]), text)
        text = _FOREIGN_PATH.sub("/elsewhere/file", text)
        text = _PATIENCE.sub("1", _MOMENT.sub(TIME, text))
        text = _ADDRESS.sub("127.0.0.1:1", text)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"

    def _name(self, found: str) -> str:
        if self._one_for_all:
            return "an-id"
        return self._ids.setdefault(found, f"id-{len(self._ids) + 1}")


def without_chance(value: Any, names: Names, key: str = "") -> Any:
    """A record as it would be anywhere, at any time."""
    match value:
        case dict():
            return {name: _of_field(name, item, names) for name, item in value.items()}
        case list() if _is_words(value) and key != "errors":
            return [names.in_text(item) for item in value[:SHOWN_NAMES]]
        case list():
            return [without_chance(item, names) for item in value]
        case str():
            return names.in_text(value)
        case _:
            return value


def _of_field(key: str, value: Any, names: Names) -> Any:
    if key == "retry_delay_ms":
        return 500
    if _TIMES.search(key) and isinstance(value, str | int | float):
        return TIME if isinstance(value, str) else 1
    if key == "memory_paths":
        return {}
    return without_chance(value, names, key)


def _is_words(value: list[Any]) -> bool:
    return all(isinstance(item, str) for item in value)
