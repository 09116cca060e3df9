"""File of a fleet, ``fleet.toml``: reading it, and the changes that ``ralph fleet`` makes in it.

It is the user's own file beside the settings, never one of a repository: it says what may be pushed
to, and what may be executed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import ValidationError

from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import ConfigError, StateUnusable, UsageError
from ralph_ls.protocol.fleet import FLEET_FILE, FleetFile, FleetRepository
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_regular, write_atomic
from ralph_ls.store.project.config_file import user_config_file
from ralph_ls.store.project.setting_problems import SettingProblem, file_message, toml_message
from ralph_ls.store.toml_text import parse_toml

FILE_VARIABLE = "RALPH_FLEET_FILE"

LARGEST_FILE = 1 << 20


def fleet_path(environment: Mapping[str, str], given: str | None = None) -> Path:
    """The file: the one that was given, that of the environment, else the user's."""
    chosen = given or environment.get(FILE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    settings = user_config_file(environment)
    if settings is None:
        raise UsageError(f"there is no home folder for {FLEET_FILE}; name a file with --file")
    return settings.with_name(FLEET_FILE)


def load_fleet(path: Path) -> FleetFile:
    """The fleet of a file; raises ``ConfigError`` with its lines where something is wrong."""
    text = _read(path)
    if text is None:
        raise ConfigError(f"there is no fleet yet ({path}); add a repository: ralph fleet add PATH")
    return _parse(text, str(path))


def add_repository(path: Path, name: str, values: Mapping[str, Any]) -> FleetFile:
    """Add a repository to the file, which is made where there is none.

    Raises ``UsageError`` for a name that it has, and ``ConfigError`` for wrong values.
    """
    text = _read(path) or ""
    if text and name in _parse(text, str(path)).repositories:
        raise UsageError(
            f"{path} has a repository {name} already; choose another name with --name NAME"
        )
    document = tomlkit.parse(text)
    tables = document.setdefault("repositories", tomlkit.table(is_super_table=True))
    table = tomlkit.table()
    for key, value in values.items():
        table[key] = value
    tables[name] = table
    return _write(path, tomlkit.dumps(document))


def approve(path: Path, name: str, approved: Mapping[str, str]) -> FleetFile:
    """Store what a repository may execute: keys and digests."""
    document = tomlkit.parse(_read(path) or "")
    repository: Any = document["repositories"]
    table = tomlkit.table()
    for key, digest in sorted(approved.items()):
        table[key] = digest
    repository[name]["approved"] = table
    return _write(path, tomlkit.dumps(document))


def _read(path: Path) -> str | None:
    try:
        data = read_regular(path, LARGEST_FILE)
        return None if data is None else data.decode("utf-8")
    except StateUnusable as error:
        raise ConfigError(error.message) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8; save it as UTF-8") from error


def _write(path: Path, text: str) -> FleetFile:
    fleet = _parse(text, str(path))
    make_private_folder(path.parent)
    write_atomic(path, text.encode(), mode=PRIVATE_FILE)
    return fleet


def _parse(text: str, shown: str) -> FleetFile:
    try:
        tables = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(toml_message(shown, text, error)) from error
    except ValueError as error:
        raise ConfigError(f"{shown}: {error}; change it") from error
    try:
        return FleetFile.model_validate(tables)
    except ValidationError as error:
        problems = [_problem(one) for one in error.errors(include_url=False)]
        raise ConfigError(file_message(shown, text, problems)) from error


def _problem(error: Any) -> SettingProblem:
    parts = [str(part) for part in error["loc"] if part != "[key]" and not isinstance(part, int)]
    key = ".".join(parts)
    if error["type"] == "extra_forbidden":
        model = FleetRepository if len(parts) > 2 else FleetFile
        words = f"unknown setting {key}{did_you_mean(parts[-1], list(model.model_fields))}"
    elif error["type"] == "string_pattern_mismatch":
        words = f"{key}: write lower-case letters, digits, dots, - and _, beginning with a letter"
    else:
        message = str(error["msg"]).removeprefix("Value error, ")
        words = f"{key}: {message[:1].lower()}{message[1:]}" if key else message
    return SettingProblem(key=key, text=words)
