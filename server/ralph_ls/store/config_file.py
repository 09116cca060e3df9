"""The settings of a run, from all their sources: flag > environment > file > profile > default.

SPEC §3. An error names the file, its line and the key. What the file says is kept apart, because
only that came with the repository and needs its owner's leave before it may run anything.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.protocol.config import Config
from ralph_ls.protocol.errors import ConfigError, UsageError
from ralph_ls.store.files import read_if_there

CONFIG_FILE = ".ralph/config.toml"

DEFAULT = Config().profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings as they hold, and what of them the repository brought."""

    config: Config
    from_file: dict[str, Any]
    """The file's own tables, validated; empty where there is no file."""
    overrides: dict[str, Any]
    """Dotted key to value: what was given for this run alone."""


def load_settings(
    root: Path, environment: Mapping[str, str], overrides: Mapping[str, Any]
) -> Settings:
    """Read and merge every source for the work tree at ``root``.

    Raises ``ConfigError`` for the file and the environment, ``UsageError`` for ``overrides``.
    """
    from_file = read_config_file(root / CONFIG_FILE)
    from_environment = read_environment(environment)
    given = {key: value for key, value in overrides.items() if value is not None}
    # An agent given with the run replaces the file's whole table: nothing of a table that was
    # never allowed, such as its environment, may reach a command that a person typed.
    file_layer = dict(from_file)
    if "agents" in from_file:
        file_layer["agents"] = {
            name: table
            for name, table in from_file["agents"].items()
            if f"agents.{name}" not in given
        }
    names = _merge(_merge(file_layer, from_environment), _nest(given))
    try:
        profile = profile_of(_validated({"profile": names.get("profile", DEFAULT)}).profile)
        config = _validated(_merge(_nest(dict(profile.settings)), names))
    except ValidationError as error:
        raise UsageError(f"these settings do not fit: {_describe(error)}") from error
    return Settings(config=config, from_file=from_file, overrides=given)


def read_config_file(path: Path) -> dict[str, Any]:
    """The file's tables, checked; empty where there is no file. Raises ``ConfigError``."""
    data = read_if_there(path)
    if data is None:
        return {}
    try:
        text = data.decode("utf-8-sig")
        tables = tomllib.loads(text)
    except UnicodeDecodeError as error:
        bad_line = data.count(b"\n", 0, error.start) + 1
        message = f"{path}, line {bad_line}: this is not UTF-8; save the file as UTF-8"
        raise ConfigError(message) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: this is not TOML: {error}") from error
    try:
        _validated(tables)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        keys = [str(part) for part in first["loc"] if not isinstance(part, int)]
        line = _line_of(text, keys)
        where = f"{path}, line {line}" if line else str(path)
        raise ConfigError(f"{where}: {'.'.join(keys)}: {_advice(first)}") from error
    return tables


def read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings in ``RALPH_*`` variables, such as ``RALPH_BREAKER_NO_PROGRESS_OPEN``."""
    found: dict[str, Any] = {}
    for key, is_list in _leaves(Config):
        name = "RALPH_" + key.replace(".", "_").upper()
        value = environment.get(name, "")
        if not value:
            continue
        given: Any = [part.strip() for part in value.split(",")] if is_list else value
        try:
            _validated(_nest({key: given}))
        except ValidationError as error:
            raise ConfigError(
                f"the environment variable {name}={value!r}: "
                f"{_advice(error.errors(include_url=False)[0])}"
            ) from error
        found = _merge(found, _nest({key: given}))
    return found


def _validated(tables: Mapping[str, Any]) -> Config:
    return Config.model_validate(tables, by_alias=False, by_name=True)


def _nest(dotted: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in dotted.items():
        *tables, last = key.split(".")
        table = nested
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = value
    return nested


def _merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(lower)
    for key, value in upper.items():
        known = merged.get(key)
        merged[key] = (
            _merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
        )
    return merged


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, bool]]:
    """Every setting that one variable can hold: its dotted key, and whether it is a list."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{prefix}{name}.")
            continue
        origins = {get_origin(kind), *(get_origin(part) for part in get_args(kind))}
        if dict not in origins:
            yield f"{prefix}{name}", tuple in origins


def _line_of(text: str, keys: list[str]) -> int | None:
    """The line in which the key stands, as far as plain TOML tells it; None where it does not."""
    table = ""
    wanted = ".".join(keys)
    best: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if header := re.match(r"\[\[?\s*([^\]]+?)\s*\]", stripped):
            table = header[1].replace('"', "").replace(" ", "") + "."
            if wanted + "." == table:
                best = number
        elif (key := re.match(r"([\w\".\- ]+?)\s*=", stripped)) and wanted.startswith(
            table + key[1].replace('"', "")
        ):
            return number
    return best


def _describe(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {_advice(first)}"


def _advice(error: Mapping[str, Any]) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        return "there is no such setting; see ralph run --help or the schema of the file"
    given = error.get("input")
    shown = f" (it is {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{message}{shown}"
