"""Reference of the settings: what the documentation says of each key, without loading the models.

The file beside the models is generated from them, in the order of docs/configuration.md.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ralph_ls.protocol.config as folder
from ralph_ls.core.suggestions import closest, did_you_mean
from ralph_ls.protocol.config.renamed import RENAMED
from ralph_ls.protocol.errors import UsageError

SCHEMA_FILE = "config.schema.json"
"""The JSON schema of a config file: in this package, and beside each file that names it."""

ADVANCED = "Advanced"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingFacts:
    """One setting, in words."""

    key: str
    """With dots; ``NAME`` stands for any name, as in ``agents.NAME.model``."""
    group: str
    type: str
    default: str
    """As TOML has it; empty where there is none."""
    about: str
    values: Mapping[str, str]
    """Each allowed word and its meaning; empty where others are allowed."""
    example: str
    variable: str
    """Its environment variable; empty where it has none."""
    anchor: str
    """Its heading in docs/configuration.md."""

    @property
    def kind(self) -> str:
        """The type as the end of "must be …", with an example."""
        if self.values:
            words = ", ".join(self.values)
            return f"{'a list of' if self.type.startswith('list') else 'one of'} {words}"
        given = self.example.rpartition(" = ")[2]
        if self.type == "true or false":
            return self.type
        names = {"text": "text in quotes", "text or table": "text in quotes or a table"}
        return f"a {names.get(self.type, self.type)}, such as {given}"


@functools.cache
def all_settings() -> tuple[SettingFacts, ...]:
    """Every setting, those that are needed most first."""
    path = Path(str(folder.__file__)).with_name("settings.json")
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return tuple(SettingFacts(**row) for row in rows)


def setting_keys(*, advanced: bool = True) -> list[str]:
    """The keys, for completion."""
    return [one.key for one in all_settings() if advanced or one.group != ADVANCED]


def find_setting(key: str) -> SettingFacts | None:
    """What is known of a key, such as ``agents.claude.model``; None where there is no such key."""
    by_key = {one.key: one for one in all_settings()}
    if key in by_key:
        return by_key[key]
    if key.startswith("models.tag."):
        return by_key["models.tag"]
    if key.startswith("agents.") and ".env." in key:
        return by_key["agents.NAME.env"]
    table, _, rest = key.partition(".")
    inside = f"{table}.NAME."
    # A name may have dots, as models have: the longest end that is a key counts.
    parts = rest.split(".")
    ends = (".".join(parts[at:]) for at in range(1, len(parts)))
    return next((by_key[inside + end] for end in ends if inside + end in by_key), None)


def require_setting(key: str) -> SettingFacts:
    """What is known of a key, also of an old one; raises ``UsageError`` for an unknown key."""
    found = find_setting(RENAMED.get(key, key))
    if found is None:
        inside = [one.key for one in all_settings() if one.key.startswith(f"{key}.")]
        if inside:
            raise UsageError(f"{key} is a table; name one of its keys: {', '.join(inside)}")
        raise UsageError(f"unknown setting {key}{suggestion(key)}")
    return found


OTHER_NAMES = {
    "agents.NAME.command": "argv",
    "agents.NAME.cmd": "argv",
    "agents.NAME.flags": "args",
}
"""What other programs call a setting."""


def suggestion(key: str) -> str:
    """``; did you mean X?`` for an unknown key or table, else where to look."""
    keys = setting_keys()
    table, _, last = key.rpartition(".")
    named = re.sub(r"^(agents|prices)\.[^.]+", r"\1.NAME", table)
    siblings = {one.rpartition(".")[2]: one for one in keys if one.rpartition(".")[0] == named}
    tables = {one.rpartition(".")[0].partition(".NAME")[0] for one in keys} - {""}
    if not table:
        siblings |= {one: one for one in tables}
    near = OTHER_NAMES.get(f"{named}.{last}") or closest(last, siblings)
    if near is not None:
        return f"; did you mean {table}.{near}?" if table else f"; did you mean {near}?"
    if named != table:
        # A setting of another table is not meant where users name the tables.
        return f"; [{table}] takes {', '.join(siblings)}"
    same = [one for one in keys if one.rpartition(".")[2] == last]
    if len(same) == 1:
        return f"; did you mean {same[0]}?"
    return did_you_mean(key, [*keys, *tables]) or "; list them with: ralph config show --all"
