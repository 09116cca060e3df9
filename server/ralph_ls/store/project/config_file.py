"""Configuration: settings of a run from flags, environment, file, profile and defaults, in order.

An error has the file, its line and the key. The file's own settings are kept separately, since they
came with the repository and need approval before they may run anything (docs/rules.md#trust).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ralph_ls.core.loop.profiles import PROFILES, profile_of, to_tables
from ralph_ls.protocol.config.agent import with_table
from ralph_ls.protocol.config.config import CONFIG_FILE, Config, LogForm, ProfileName
from ralph_ls.protocol.errors import ConfigError, StateUnusable, UsageError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import INFERRED, Origin
from ralph_ls.store.files import read_regular
from ralph_ls.store.project.detection import DetectedProfile, detect_profiles
from ralph_ls.store.toml_text import parse_toml

DEFAULT = Config().profile

LARGEST_FILE = 1 << 20
"""Most bytes of a config file."""

_KEY_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)\s*""")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Effective settings, and those that the repository brought."""

    config: Config
    from_file: dict[str, Any]
    """Validated tables of the file; empty without one."""
    overrides: dict[str, Any]
    """Dotted key to value, for this run only."""
    names_profile: bool = False
    """Whether the profile was chosen; otherwise it was detected or is the default."""
    profile_by: Origin = Origin.DEFAULT
    sign: str | None = None
    """The path by which the profile was detected, now or by an earlier run."""
    agent_by: Origin | None = None
    """None where no source names an agent."""
    detected: tuple[DetectedProfile, ...] = ()
    """The profiles that fit the repository, where none was chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousChoice:
    """Profile and agent of the run that is resumed."""

    profile: ProfileName
    profile_by: Origin
    sign: str | None
    agent: str


def load_settings(
    root: Path,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any],
    *,
    earlier: PreviousChoice | None = None,
) -> LoadedSettings:
    """Read and merge every source for the work tree at ``root``.

    Without a chosen profile it is that of the ``earlier`` run that is resumed, else the one that
    fits the repository; where several fit, the first of them, which ``require_one_profile``
    refuses. A profile that was not chosen has cautious settings. Raises ``ConfigError`` for the
    file and the environment, ``UsageError`` for ``overrides``.
    """
    from_file = read_config_file(root / CONFIG_FILE)
    from_environment = read_environment(environment)
    given = {key: value for key, value in overrides.items() if value is not None}
    if any(_chooses_sandbox(layer) for layer in (from_environment, to_tables(given))):
        # The repository cannot disable a sandbox that the user chose.
        from_file.pop("sandbox", None)
    # An agent given with the run replaces the file's whole table: no unapproved part of it, such
    # as its environment, may reach a command that the user typed.
    file_layer = dict(from_file)
    if "agents" in from_file:
        file_layer["agents"] = {
            name: table
            for name, table in from_file["agents"].items()
            if f"agents.{name}" not in given
        }
    names = _merge(_merge(file_layer, from_environment), with_table(to_tables(given)))
    layers = {
        Origin.GIVEN: to_tables(given),
        Origin.ENVIRONMENT: from_environment,
        Origin.FILE: from_file,
    }
    profile_by, sign = _origin_of("profile", layers), None
    detected: tuple[DetectedProfile, ...] = ()
    instead = None if earlier is None else earlier.profile
    if profile_by is None and earlier is not None:
        profile_by, sign = earlier.profile_by, earlier.sign
    elif profile_by is None:
        detected = _fitting(root, names)
        instead = detected[0].profile if detected else DEFAULT
        profile_by = Origin.FOUND if detected else Origin.DEFAULT
        sign = detected[0].sign if detected else None
    try:
        profile = profile_of(_validated({"profile": names.get("profile", instead)}).profile)
        chosen = {"profile": profile.name, **names}
        preset = to_tables(profile.settings)
        if profile_by in INFERRED:
            preset = cautious_settings(preset)
        config = _validated(_merge(preset, chosen))
        if config.log_form is LogForm.JSONL and "log_retention.newest" not in given:
            retention = _retention_of(environment)
            config = _validated(_merge(_merge(preset, chosen), retention))
    except ValidationError as error:
        raise UsageError(f"these settings do not fit: {_describe(error)}") from error
    return LoadedSettings(
        config=config,
        from_file=from_file,
        overrides=given,
        names_profile="profile" in names,
        profile_by=profile_by,
        sign=sign,
        agent_by=_origin_of("agent", layers),
        detected=detected,
    )


CAREFUL_ITERATIONS = 20
"""Iterations of a run with an inferred profile, unless the user sets a limit."""


def cautious_settings(preset: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an inferred profile: it does not push, and its run is limited."""
    most = preset.get("max_iterations") or CAREFUL_ITERATIONS
    return {**preset, "push": False, "max_iterations": min(most, CAREFUL_ITERATIONS)}


def _chooses_sandbox(layer: Mapping[str, Any]) -> bool:
    return not {"kind", "name", "prefix"}.isdisjoint(with_table(layer).get("sandbox", {}))


def previous_choice(run: RunState) -> PreviousChoice:
    """The choices of a resumed run; a profile counts as detected where its origin is unknown."""
    known = run.choices
    return PreviousChoice(
        profile=run.config.profile,
        profile_by=Origin.FOUND if known is None else known.profile,
        sign=None if known is None else known.sign,
        agent=run.config.agent,
    )


def _origin_of(key: str, layers: Mapping[Origin, Mapping[str, Any]]) -> Origin | None:
    return next((origin for origin, names in layers.items() if key in names), None)


RETENTION = "RALPH_LOG_RETENTION"
"""Variable with the number of JSON-lines logs that are kept (docs/rules.md#logs)."""


def _retention_of(environment: Mapping[str, str]) -> dict[str, Any]:
    value = environment.get(RETENTION, "")
    if not value:
        return {}
    tables = to_tables({"log_retention.newest": value})
    try:
        _validated(tables)
    except ValidationError as error:
        raise ConfigError(
            f"the environment variable {RETENTION}={value!r}: "
            f"{_advice(error.errors(include_url=False)[0])}"
        ) from error
    return tables


def require_one_profile(settings: LoadedSettings) -> None:
    """Raise ``UsageError`` where several profiles fit and none was chosen."""
    if len(settings.detected) > 1:
        listed = ", ".join(f"{one.sign} ({one.profile.value})" for one in settings.detected)
        raise UsageError(
            f"several plans lie here: {listed}; say which one is meant, such as --profile "
            f'{settings.detected[0].profile.value}, or profile = "…" in {CONFIG_FILE}'
        )


def _fitting(root: Path, names: Mapping[str, Any]) -> tuple[DetectedProfile, ...]:
    """The fitting profiles; only one where the named plan belongs to it."""
    issue = names.get("issue")
    paths = names.get("paths")
    plan = paths.get("plan") if isinstance(paths, dict) else None
    if plan is None:
        found = detect_profiles(root)
        names_request = isinstance(issue, dict) and bool(issue.get("file") or issue.get("github"))
        is_request = names_request and not found
        return (DetectedProfile(profile=ProfileName.ISSUE, sign="issue"),) if is_request else found
    return tuple(
        DetectedProfile(profile=profile.name, sign=plan)
        for profile in PROFILES.values()
        if plan in profile.plan_files
    )


def read_config_file(path: Path) -> dict[str, Any]:
    """Validated tables of the file; empty without one. Raises ``ConfigError``."""
    try:
        data = read_regular(path, LARGEST_FILE)
    except StateUnusable as error:
        raise ConfigError(error.message) from error
    if data is None:
        return {}
    text, tables = _parsed(path, data)
    try:
        _validated(tables)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        keys = [str(part) for part in first["loc"] if not isinstance(part, int)]
        line = _line_of(text, keys)
        where = f"{path}, line {line}" if line else str(path)
        raise ConfigError(f"{where}: {'.'.join(keys)}: {_advice(first)}") from error
    return with_table(tables)


def _parsed(path: Path, data: bytes) -> tuple[str, dict[str, Any]]:
    try:
        # An editor may have added a byte order mark.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad_line = data.count(b"\n", 0, error.start) + 1
        message = f"{path}, line {bad_line}: this is not UTF-8; save the file as UTF-8"
        raise ConfigError(message) from error
    try:
        return text, parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        problem, _, place = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", place)
        bad_line = int(found[1]) if found else text.count("\n") + 1
        message = f"{path}, line {bad_line}: this is not TOML: {problem}; mend that line"
        raise ConfigError(message) from error
    except ValueError as error:
        raise ConfigError(f"{path}: this is no sensible TOML: {error}; mend that") from error


def read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings in ``RALPH_*`` variables, such as ``RALPH_BREAKER_NO_PROGRESS_OPEN``."""
    found: dict[str, Any] = {}
    for key, is_list in (("sandbox", False), *_leaves(Config)):
        name = "RALPH_" + key.replace(".", "_").upper()
        value = environment.get(name, "")
        if not value:
            continue
        given: Any = [part.strip() for part in value.split(",")] if is_list else value
        try:
            validated({key: given})
        except ValidationError as error:
            raise ConfigError(
                f"the environment variable {name}={value!r}: "
                f"{_advice(error.errors(include_url=False)[0])}"
            ) from error
        found = _merge(found, with_table(to_tables({key: given})))
    return found


def validated(dotted: Mapping[str, Any]) -> Config:
    """The settings with only these given, by dotted key; raises pydantic's ValidationError."""
    return _validated(to_tables(dotted))


def _validated(tables: Mapping[str, Any]) -> Config:
    return Config.model_validate(tables, by_alias=False, by_name=True)


def _merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(lower)
    for key, value in upper.items():
        known = merged.get(key)
        merged[key] = (
            _merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
        )
    return merged


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, bool]]:
    """Every setting that a variable can have: its dotted key, and whether it is a list."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{prefix}{name}.")
            continue
        origins = {get_origin(kind), *(get_origin(part) for part in get_args(kind))}
        if dict not in origins:
            yield f"{prefix}{name}", tuple in origins


def _line_of(text: str, wanted: list[str]) -> int | None:
    """Line of the key, or of the nearest enclosing table; None if neither is found."""
    table: list[str] = []
    best, best_depth = None, 0
    quotes = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        stripped = line.strip()
        header = stripped.startswith("[")
        keys = _keys_of(stripped.lstrip("[")) if stripped else []
        if header:
            table = keys
        path = table if header else [*table, *keys]
        if keys and path[: len(wanted)] == wanted:
            return number
        if keys and wanted[: len(path)] == path and len(path) > best_depth:
            best, best_depth = number, len(path)
        quotes = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
    return best


def _keys_of(line: str) -> list[str]:
    """Parts of the dotted key at the beginning of a line; empty without one."""
    keys: list[str] = []
    position = 0
    while match := _KEY_PART.match(line, position):
        part = match[1]
        keys.append(str(tomllib.loads(f"k = {part}")["k"]) if part[0] in "\"'" else part)
        position = match.end()
        if line[position : position + 1] != ".":
            return keys if line[position : position + 1] in {"=", "]"} else []
        position += 1
    return []


def _describe(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {_advice(first)}"


def _advice(error: Mapping[str, Any]) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        return "there is no such setting; see ralph run --help or the schema of the file"
    given = error.get("input")
    shown = f" (it is {given!r:.80})" if isinstance(given, str | int | float | bool) else ""
    return f"{message}{shown}"


def settings_of(profile: ProfileName, overrides: Mapping[str, Any]) -> Config:
    """Settings of a profile with ``overrides``, without file and environment.

    ``overrides`` maps dotted keys to values. Raises ``UsageError``, which names the key and what is
    allowed there.
    """
    preset = {**to_tables(profile_of(profile).settings), "profile": profile}
    return _overridden(preset, overrides)


def changed_settings(config: Config, overrides: Mapping[str, Any]) -> Config:
    """``config`` with ``overrides``; see ``settings_of``."""
    return _overridden(config.model_dump(), overrides)


def _overridden(tables: Mapping[str, Any], overrides: Mapping[str, Any]) -> Config:
    are_lists = dict(_leaves(Config))
    for key, given in overrides.items():
        as_list = are_lists.get(key, False) and isinstance(given, str)
        value = [part.strip() for part in given.split(",")] if as_list else given
        try:
            _validated(to_tables({key: value}))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise UsageError(f"{key}: {_advice_for(key, first, are_lists)}") from error
        tables = _merge(tables, to_tables({key: value}))
    try:
        return _validated(tables)
    except ValidationError as error:
        raise UsageError(f"these settings do not fit: {_describe(error)}") from error


def _advice_for(key: str, error: Mapping[str, Any], known: Collection[str]) -> str:
    """The allowed values, or the allowed keys where the key is wrong."""
    inside = [name for name in known if name.startswith(f"{key}.")]
    if inside:
        return f"this is a table, set one of its keys: {', '.join(inside)}"
    if error["type"] != "extra_forbidden":
        return _advice(error)
    table = key.rpartition(".")[0]
    siblings = [name for name in known if table and name.startswith(f"{table}.")]
    near = siblings or get_close_matches(key, known, n=3) or sorted(known)
    return f"there is no such setting; there is {', '.join(near)}"
