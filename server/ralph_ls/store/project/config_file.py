"""The settings of a run, from all their sources: flag > environment > file > profile > default.

SPEC §3. An error names the file, its line and the key. What the file says is kept apart, because
only that came with the repository and needs its owner's leave before it may run anything.
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
"""Bytes of a config file; a larger one is somebody else's, or meant to do harm."""

_KEY_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)\s*""")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """The settings as they hold, and what of them the repository brought."""

    config: Config
    from_file: dict[str, Any]
    """The file's own tables, validated; empty where there is no file."""
    overrides: dict[str, Any]
    """Dotted key to value: what was given for this run alone."""
    names_profile: bool = False
    """Somebody chose the profile; False: what lies there tells, or it is the default."""
    profile_by: Origin = Origin.DEFAULT
    sign: str | None = None
    """The path that the profile was found by, also where an earlier run found it."""
    agent_by: Origin | None = None
    """None: nobody named an agent."""
    detected: tuple[DetectedProfile, ...] = ()
    """The profiles that fit what lies there, where nobody chose one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousChoice:
    """The profile and the agent of the run that goes on."""

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

    Where nobody names a profile it is that of the ``earlier`` run which goes on, else the one that
    fits what lies there; where several fit, the first of them, which is for
    ``require_one_profile`` to refuse. One that nobody chose is ``careful``. Raises ``ConfigError``
    for the file and the environment, ``UsageError`` for ``overrides``.
    """
    from_file = read_config_file(root / CONFIG_FILE)
    from_environment = read_environment(environment)
    given = {key: value for key, value in overrides.items() if value is not None}
    if any(_chooses_sandbox(layer) for layer in (from_environment, to_tables(given))):
        # A sandbox that the user asked for is not the repository's to open.
        from_file.pop("sandbox", None)
    # An agent given with the run replaces the file's whole table: nothing of a table that was
    # never allowed, such as its environment, may reach a command that a person typed.
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
"""Iterations of a run whose profile nobody chose, unless the user says otherwise."""


def cautious_settings(preset: Mapping[str, Any]) -> dict[str, Any]:
    """What holds of a profile that was only found: it does not push, and its run is bounded."""
    most = preset.get("max_iterations") or CAREFUL_ITERATIONS
    return {**preset, "push": False, "max_iterations": min(most, CAREFUL_ITERATIONS)}


def _chooses_sandbox(layer: Mapping[str, Any]) -> bool:
    return not {"kind", "name", "prefix"}.isdisjoint(with_table(layer).get("sandbox", {}))


def previous_choice(run: RunState) -> PreviousChoice:
    """What a run that goes on began with; a profile counts as found where nobody is known to have
    chosen it.
    """
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
"""How many of B's logs are kept (docs/rules.md#logs)."""


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
    """Raise ``UsageError`` where several profiles fit and nobody chose: a start must not guess."""
    if len(settings.detected) > 1:
        listed = ", ".join(f"{one.sign} ({one.profile.value})" for one in settings.detected)
        raise UsageError(
            f"several plans lie here: {listed}; say which one is meant, such as --profile "
            f'{settings.detected[0].profile.value}, or profile = "…" in {CONFIG_FILE}'
        )


def _fitting(root: Path, names: Mapping[str, Any]) -> tuple[DetectedProfile, ...]:
    """What fits; where a plan is named that belongs to one profile, that one."""
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
    """The file's tables, checked; empty where there is no file. Raises ``ConfigError``."""
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
        # An editor may have put a mark of the byte order in front.
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
    """The settings where only these are said, by dotted key; raises pydantic's ValidationError."""
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
    """Every setting that one variable can hold: its dotted key, and whether it is a list."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{prefix}{name}.")
            continue
        origins = {get_origin(kind), *(get_origin(part) for part in get_args(kind))}
        if dict not in origins:
            yield f"{prefix}{name}", tuple in origins


def _line_of(text: str, wanted: list[str]) -> int | None:
    """The line of the key, or of the nearest table around it; None where neither is found."""
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
    """The parts of the dotted key that a line begins with; empty where it begins with none."""
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
    """A profile's own settings with ``overrides`` over them, and nothing of file or environment.

    ``overrides`` maps dotted keys to values. Raises ``UsageError``, which names the key and what is
    allowed there.
    """
    preset = {**to_tables(profile_of(profile).settings), "profile": profile}
    return _overridden(preset, overrides)


def changed_settings(config: Config, overrides: Mapping[str, Any]) -> Config:
    """Settings that hold already, with ``overrides`` over them; see ``settings_of``."""
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
    """What may stand there instead, also where it is the key that is wrong."""
    inside = [name for name in known if name.startswith(f"{key}.")]
    if inside:
        return f"this is a table, set one of its keys: {', '.join(inside)}"
    if error["type"] != "extra_forbidden":
        return _advice(error)
    table = key.rpartition(".")[0]
    siblings = [name for name in known if table and name.startswith(f"{table}.")]
    near = siblings or get_close_matches(key, known, n=3) or sorted(known)
    return f"there is no such setting; there is {', '.join(near)}"
