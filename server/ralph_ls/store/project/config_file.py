"""Configuration: settings of a run from flags, environment, file, profile and defaults, in order.

An error has the file, its line and the key. The file's own settings are kept separately, since they
came with the repository and need approval before they may run anything (docs/rules.md#trust).
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ralph_ls.core.loop.profiles import PROFILES, profile_of, to_tables
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.config.agent import AgentConfig, with_table
from ralph_ls.protocol.config.config import CONFIG_FILE, Config, LogForm, ProfileName
from ralph_ls.protocol.errors import ConfigError, StateUnusable, UsageError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import INFERRED, Origin
from ralph_ls.store.files import read_regular
from ralph_ls.store.project.detection import DetectedProfile, detect_profiles
from ralph_ls.store.toml_text import line_of_key, parse_toml

DEFAULT = Config().profile

LARGEST_FILE = 1 << 20
"""Most bytes of a config file."""


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
        line = line_of_key(text, keys)
        where = f"{path}, line {line}" if line else str(path)
        raise ConfigError(f"{where}: {'.'.join(keys)}: {_advice(first, keys)}") from error
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
    """The settings in ``RALPH_*`` variables, such as ``RALPH_BREAKER_NO_PROGRESS_OPEN``.

    One that resembles a variable of ours is refused as misspelt; any other is ignored, since other
    loops export such names too (docs/rules.md#command-line).
    """
    found: dict[str, Any] = {}
    for name in unknown_variables(environment):
        meant = nearest(name, (*_variables(), *OTHER_VARIABLES))
        if meant is not None:
            raise ConfigError(
                f"the environment variable {escape_control_chars(name)}: there is no such "
                f"variable; did you mean {meant}? Remove the other: unset {shlex.quote(name)}"
            )
    for name, (key, is_list) in _variables().items():
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


OWN_PREFIX, DEMO_PREFIX = "RALPH_", "RALPH_DEMO_"
OTHER_VARIABLES = frozenset(
    OWN_PREFIX + name
    for name in (
        *("STATE_DIR", "PROMPTS_DIR", "TEMPLATES_DIR", "LOG_RETENTION"),
        *("ITERATION", "ITERATION_ID", "START", "MAX_ITERATIONS", "SCRATCH"),
        *("HOOK_SOCKET", "OUTPUT_FILES"),
        *("EVENT", "RUN", "TASK", "TEXT", "TITLE", "SOURCE", "URL", "BRANCH", "HEAD", "WORKSPACE"),
    )
)
"""Variables that are no setting: read by ``ralph``, or set for agents, hooks and commands."""


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the ``RALPH_*`` variables that are set and not ours, sorted."""
    named = {name for name, value in environment.items() if name.startswith(OWN_PREFIX) and value}
    ours = {name for name in named if name.startswith(DEMO_PREFIX)} | OTHER_VARIABLES
    return tuple(sorted(named - ours - _variables().keys()))


@cache
def _variables() -> dict[str, tuple[str, bool]]:
    """By the name of a variable: the key of its setting, and whether that is a list."""
    leaves = (("sandbox", False), *_leaves(Config))
    return {OWN_PREFIX + key.replace(".", "_").upper(): (key, is_list) for key, is_list in leaves}


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is at most two edits away; None where there is none.

    An edit inserts, deletes or replaces a letter, or swaps two. In a short word, after what
    both begin with, two edits leave too little, so one has to do.
    """
    found = min(((_edits(word, one), one) for one in sorted(known)), default=(_MANY, ""))
    return found[1] if found[0] < _MANY else None


def _edits(word: str, other: str) -> int:
    """The number of edits between two words; ``_MANY`` where there are more than two."""
    pairs = zip(word, other, strict=False)
    ends = min(len(word), len(other))
    common = next((i for i, (a, b) in enumerate(pairs) if a != b), ends)
    start = max(word.rfind(mark, 0, common) for mark in "_.") + 1
    word, other = word[start:], other[start:]
    most = 2 if len(other) >= _SHORT else 1
    if abs(len(word) - len(other)) > most:
        return _MANY
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, start=1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if earlier and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1] if row[-1] <= most else _MANY


_MANY, _SHORT = 3, 6


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


def _describe(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {_advice(first)}"


def _advice(error: Mapping[str, Any], keys: Sequence[str] = ()) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        meant = nearest(".".join(keys), _keys_near(keys))
        more = "see ralph run --help or the schema of the file"
        return f"there is no such setting; {more if meant is None else f'did you mean {meant}?'}"
    given = error.get("input")
    shown = f" (it is {given!r:.80})" if isinstance(given, str | int | float | bool) else ""
    return f"{message}{shown}"


def _keys_near(keys: Sequence[str]) -> Iterator[str]:
    """The keys that may be meant, those of a described agent under its name."""
    yield from Config.model_fields
    yield from (key for key, _ in _leaves(Config))
    if len(keys) > 2 and keys[0] == "agents":
        yield from (f"agents.{keys[1]}.{name}" for name in AgentConfig.model_fields)


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
    meant = nearest(key, known)
    if meant is not None:
        return f"there is no such setting; did you mean {meant}?"
    near = siblings or get_close_matches(key, known, n=3) or sorted(known)
    return f"there is no such setting; there is {', '.join(near)}"
