"""Configuration: settings of a run from flags, environment, files, profile and defaults, in order.

There are two files, the user's own and the repository's. An error has the file, its line and the
key. The repository's settings are kept separately, since they need approval before they may run
anything (docs/rules.md#trust).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from ralph_ls.core.loop.profiles import PROFILES, Profile, profile_of, to_tables
from ralph_ls.core.plan.formats.github.format import MIRROR, QUEUE
from ralph_ls.core.plan.formats.registry import format_of, format_of_file
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.config.agent import with_table
from ralph_ls.protocol.config.config import CONFIG_FILE, Config, LogForm, ProfileName
from ralph_ls.protocol.config.notify import OWN_ONLY
from ralph_ls.protocol.config.renamed import DROPPED_IN, RENAMED, old_keys_in, with_new_keys
from ralph_ls.protocol.errors import ConfigError, StateUnusable, UsageError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import INFERRED, Origin
from ralph_ls.store.files import read_regular
from ralph_ls.store.project.detection import DetectedPlan, DetectedProfile, detect_profiles
from ralph_ls.store.project.environment_settings import (
    dotted_lists,
    merge_tables,
    old_variables_in,
    read_environment,
    retention_in,
    validated_tables,
)
from ralph_ls.store.project.plan_choice import (
    current_tag_of,
    plan_path,
    plans_of_tools,
    queue_settings,
    several_plans,
    split_address,
)
from ralph_ls.store.project.setting_problems import (
    FLAGS,
    SettingProblem,
    file_message,
    find_problems,
    listed,
    toml_message,
)
from ralph_ls.store.toml_text import parse_toml

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
    plans: tuple[DetectedPlan, ...] = ()
    """The plans of other tools that the run could work on; one is in ``config.paths.plan``."""
    layers: Mapping[Origin, Mapping[str, Any]] = field(default_factory=dict)
    """What each source sets; the first one that sets a key wins."""
    old_keys: tuple[str, ...] = ()
    """The renamed settings that are used, each with its place and its new key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousChoice:
    """Profile and agent of the run that is resumed."""

    profile: ProfileName
    profile_by: Origin
    sign: str | None
    agent: str
    plan: str = ""
    """The path of its plan."""
    tag: str | None = None
    """The tag of Task Master that it works on."""


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
    files and the environment, ``UsageError`` for ``overrides``.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    if isinstance(named := given.get("paths.plan"), str):
        path = plan_path(root, named)
        given |= queue_settings(path) or {"paths.plan": path}
    layers, old_keys = _read_layers(root, environment, given)
    names = _with_named_plan(root, _named_settings(layers, given))
    chosen = _choose_profile(root, names, layers, earlier)
    profile, profile_by, sign = chosen.profile, chosen.by, chosen.sign
    preset = to_tables(profile.settings)
    if profile_by in INFERRED:
        preset = cautious_settings(preset)
    before = None if earlier is None else earlier.plan
    plans = plans_of_tools(
        root,
        environment,
        profile,
        _plan_in(names),
        earlier=before,
        has_queue=_chooses_queue(names),
    )
    if len(plans) == 1:
        layers[Origin.FOUND] = {"paths": {"plan": plans[0].path}}
        names = merge_tables(names, layers[Origin.FOUND])
        if profile_by is Origin.DEFAULT:
            profile_by, sign = Origin.FOUND, plans[0].path
    names = _with_tag(root, names, earlier)
    preset = merge_tables(preset, _settings_of_format(profile, _plan_in(names)))
    preset = merge_tables(preset, _notes_of_stories(root, profile, _plan_in(names)))
    tables = merge_tables(preset, {"profile": profile.name, **names})
    config = _fitting_together(tables)
    if config.logs.form is LogForm.JSONL and "newest" not in layers[Origin.GIVEN].get("logs", {}):
        config = _fitting_together(merge_tables(tables, retention_in(environment)))
    return LoadedSettings(
        config=config,
        from_file=layers[Origin.FILE],
        overrides=given,
        names_profile="profile" in names,
        profile_by=profile_by,
        sign=sign,
        agent_by=_origin_of("agent", layers),
        detected=chosen.detected,
        plans=plans,
        layers={**layers, Origin.PROFILE: preset},
        old_keys=old_keys,
    )


class _ChosenProfile(NamedTuple):
    profile: Profile
    by: Origin
    sign: str | None = None
    detected: tuple[DetectedProfile, ...] = ()


def _choose_profile(
    root: Path,
    names: Mapping[str, Any],
    layers: Mapping[Origin, Mapping[str, Any]],
    earlier: PreviousChoice | None,
) -> _ChosenProfile:
    """The profile that a source names, else that of the earlier run, else the one that fits."""
    by = _origin_of("profile", layers)
    if by is not None:
        return _ChosenProfile(profile_of(ProfileName(str(names["profile"]))), by)
    if earlier is not None:
        return _ChosenProfile(profile_of(earlier.profile), earlier.profile_by, earlier.sign)
    detected = _fitting(root, names)
    if not detected:
        return _ChosenProfile(profile_of(DEFAULT), Origin.DEFAULT)
    first = detected[0]
    return _ChosenProfile(profile_of(first.profile), Origin.FOUND, first.sign, detected)


def _read_layers(
    root: Path, environment: Mapping[str, str], given: Mapping[str, Any]
) -> tuple[dict[Origin, dict[str, Any]], tuple[str, ...]]:
    """The validated settings of each source, the first of which wins; and the old keys in them."""
    project = _read_settings(root / CONFIG_FILE, CONFIG_FILE)
    path = user_config_file(environment)
    shown = "" if path is None else shown_path(path, environment)
    user = _SettingsFile() if path is None else _read_settings(path, shown)
    from_environment = read_environment(environment)
    tables = to_tables(given)
    try:
        validated_tables(tables)
    except ValidationError as error:
        texts = [one.text for one in find_problems(error, tables, lambda key: FLAGS.get(key, key))]
        raise UsageError(listed("these settings are wrong", texts)) from error
    from_flags = with_new_keys(tables)
    if any(_chooses_sandbox(layer) for layer in (from_environment, from_flags, user.tables)):
        # The repository cannot disable a sandbox that the user chose.
        project.tables.pop("sandbox", None)
    layers = {
        Origin.GIVEN: from_flags,
        Origin.ENVIRONMENT: from_environment,
        Origin.FILE: project.tables,
        Origin.USER: user.tables,
    }
    old = [f"{CONFIG_FILE}: {key} is now {RENAMED[key]}" for key in project.old_keys]
    old += [f"{shown}: {key} is now {RENAMED[key]}" for key in user.old_keys]
    return layers, (*old, *old_variables_in(environment))


def _named_settings(
    layers: Mapping[Origin, Mapping[str, Any]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """What all sources but profile and defaults set.

    An agent given with the run replaces the files' whole table: no unapproved part of it, such as
    its environment, may reach a command that the user typed.
    """
    names: dict[str, Any] = {}
    for origin in (Origin.USER, Origin.FILE):
        layer = dict(layers[origin])
        if "agents" in layer:
            layer["agents"] = {
                name: table
                for name, table in layer["agents"].items()
                if f"agents.{name}" not in given
            }
        names = merge_tables(names, layer)
    names = merge_tables(names, layers[Origin.ENVIRONMENT])
    return merge_tables(names, with_table(layers[Origin.GIVEN]))


def _settings_of_format(profile: Profile, plan: str | None) -> dict[str, Any]:
    """What the format of a plan sets besides the profile."""
    if plan is None or not format_of(profile.plan_kind).is_text:
        return {}
    return to_tables(dict(format_of_file(plan, profile.plan_kind).settings))


def _notes_of_stories(root: Path, profile: Profile, plan: str | None) -> dict[str, Any]:
    """The notes of earlier iterations beside the plan, where another loop has kept them there."""
    if profile.plan_kind is not PlanKind.STORIES:
        return {}
    places = profile.plan_files if plan is None else (plan,)
    found = next((name for name in places if (root / name).is_file()), None)
    usual = Path(str(profile.settings["paths.progress"]))
    if found is None or (root / usual).exists():
        return {}
    notes = Path(found).with_name(usual.name)
    return to_tables({"paths.progress": notes.as_posix()}) if (root / notes).is_file() else {}


def _chooses_queue(names: Mapping[str, Any]) -> bool:
    """Whether the settings say which issues on GitHub are a plan."""
    queue = names.get("plan", {}).get("github", {})
    return bool(queue.get("label") or queue.get("milestone"))


def _with_named_plan(root: Path, names: dict[str, Any]) -> dict[str, Any]:
    """The settings, whose plan may be a feature, the queue on GitHub, or a tag behind a path."""
    named = _plan_in(names)
    if named and not split_address(named)[1] and (address := plan_path(root, named)) != named:
        names, named = merge_tables(names, {"paths": {"plan": address}}), address
    path, tag = split_address(named or "")
    if tag:
        return merge_tables(names, {"paths": {"plan": path}, "plan": {"tag": tag}})
    return merge_tables(names, {"paths": {"plan": MIRROR}}) if named == QUEUE else names


def _with_tag(root: Path, names: dict[str, Any], earlier: PreviousChoice | None) -> dict[str, Any]:
    """The settings with the tag of the earlier run, else with Task Master's current one."""
    plan = _plan_in(names)
    if plan is None or names.get("plan", {}).get("tag"):
        return names
    is_same = earlier is not None and earlier.plan == plan
    tag = earlier.tag if earlier is not None and is_same else current_tag_of(root, plan)
    return merge_tables(names, {"plan": {"tag": tag}}) if tag else names


def old_keys_notice(settings: LoadedSettings) -> str:
    """One sentence about the renamed settings that are used; empty without any."""
    if not settings.old_keys:
        return ""
    return (
        f"these settings were renamed, and ralph {DROPPED_IN} will no longer read the old names: "
        f"{'; '.join(settings.old_keys)}"
    )


def old_keys_remedy(settings: LoadedSettings) -> str:
    """What to do about them: files are changed by a command, variables by the user."""
    are_variables = all(one.startswith("RALPH_") for one in settings.old_keys)
    return "set the new variables" if are_variables else "ralph config migrate"


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
        plan=run.plan,
        tag=run.config.plan.tag,
    )


def _origin_of(key: str, layers: Mapping[Origin, Mapping[str, Any]]) -> Origin | None:
    return next((origin for origin, names in layers.items() if key in names), None)


def require_one_profile(settings: LoadedSettings) -> None:
    """Raise ``UsageError`` where several profiles or plans fit and none was chosen."""
    if len(settings.plans) > 1:
        raise UsageError(several_plans(settings.plans))
    if len(settings.detected) > 1:
        listed = ", ".join(f"{one.sign} ({one.profile.value})" for one in settings.detected)
        raise UsageError(
            f"there are several plans: {listed}; choose one, such as --profile "
            f'{settings.detected[0].profile.value}, or profile = "…" in {CONFIG_FILE}'
        )


def _fitting(root: Path, names: Mapping[str, Any]) -> tuple[DetectedProfile, ...]:
    """The fitting profiles; only one where the named plan belongs to it."""
    issue = names.get("issue")
    plan = _plan_in(names)
    if plan is None:
        found = detect_profiles(root)
        names_request = isinstance(issue, dict) and bool(issue.get("file") or issue.get("github"))
        is_request = names_request and not found
        return (DetectedProfile(profile=ProfileName.ISSUE, sign="issue"),) if is_request else found
    is_stories = format_of_file(plan, PlanKind.MARKDOWN).name is PlanKind.STORIES
    return tuple(
        DetectedProfile(profile=profile.name, sign=plan)
        for profile in PROFILES.values()
        if plan in profile.plan_files or (is_stories and profile.plan_kind is PlanKind.STORIES)
    )


def _plan_in(names: Mapping[str, Any]) -> str | None:
    """The plan that the settings name."""
    paths = names.get("paths")
    plan = paths.get("plan") if isinstance(paths, dict) else None
    return plan if isinstance(plan, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SettingsFile:
    tables: dict[str, Any] = field(default_factory=dict)
    old_keys: tuple[str, ...] = ()


def _read_settings(path: Path, shown: str) -> _SettingsFile:
    try:
        data = read_regular(path, LARGEST_FILE)
    except StateUnusable as error:
        raise ConfigError(error.message) from error
    return _SettingsFile() if data is None else _checked(data, shown)


def check_settings_text(data: bytes, shown: str) -> dict[str, Any]:
    """Validated tables of a config file's content; raises ``ConfigError``."""
    return _checked(data, shown).tables


def _checked(data: bytes, shown: str) -> _SettingsFile:
    text, tables = _parsed(data, shown)
    try:
        validated_tables(tables)
    except ValidationError as error:
        raise ConfigError(file_message(shown, text, find_problems(error, tables))) from error
    if shown == CONFIG_FILE and (problems := _own_only(with_new_keys(tables))):
        raise ConfigError(file_message(shown, text, problems))
    return _SettingsFile(
        tables=with_table(with_new_keys(tables)), old_keys=tuple(old_keys_in(tables))
    )


def _own_only(tables: Mapping[str, Any]) -> list[SettingProblem]:
    """The settings that a repository must not have: where a run's texts go, and who answers it."""
    return [
        SettingProblem(
            key=key,
            text=(
                f"{key} counts in your own settings only; remove it here, then: "
                f"ralph config set --user {key} …"
            ),
        )
        for key in OWN_ONLY
        if _has(tables, key)
    ]


def _has(tables: Mapping[str, Any], key: str) -> bool:
    """Whether tables set a dotted key."""
    first, _, rest = key.partition(".")
    found = tables.get(first)
    return (
        _has(found, rest) if rest and isinstance(found, Mapping) else not rest and first in tables
    )


def _parsed(data: bytes, shown: str) -> tuple[str, dict[str, Any]]:
    try:
        # An editor may have added a byte order mark.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad_line = data.count(b"\n", 0, error.start) + 1
        message = f"{shown}:{bad_line}: this is not UTF-8; save the file as UTF-8"
        raise ConfigError(message) from error
    try:
        return text, parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(toml_message(shown, text, error)) from error
    except ValueError as error:
        raise ConfigError(f"{shown}: {error}; change it") from error


def user_config_file(environment: Mapping[str, str]) -> Path | None:
    """The user's own settings, for all repositories; None without a home folder."""
    if not (environment.get("HOME") or environment.get("USERPROFILE")):
        return None
    if chosen := environment.get("XDG_CONFIG_HOME"):
        return Path(chosen) / "ralph" / "config.toml"
    return Path(environment.get("HOME") or environment["USERPROFILE"]) / USER_CONFIG


USER_CONFIG = ".config/ralph/config.toml"
"""The user's settings, relative to the home folder."""


def shown_path(path: Path, environment: Mapping[str, str]) -> str:
    """The path with ``~`` for the home folder."""
    home = environment.get("HOME", "")
    inside = bool(home) and path.is_relative_to(home)
    return f"~/{path.relative_to(home).as_posix()}" if inside else os.fspath(path)


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
    lists = dotted_lists()
    for key, given in overrides.items():
        as_list = lists.get(key, False) and isinstance(given, str)
        value = [part.strip() for part in given.split(",")] if as_list else given
        layer = to_tables({key: value})
        try:
            validated_tables(layer)
        except ValidationError as error:
            texts = [problem.text for problem in find_problems(error, layer)]
            raise UsageError(listed("these settings are wrong", texts)) from error
        tables = merge_tables(tables, with_new_keys(layer))
    return _fitting_together(tables)


def _fitting_together(tables: Mapping[str, Any]) -> Config:
    try:
        return validated_tables(tables)
    except ValidationError as error:
        texts = [problem.text for problem in find_problems(error, tables)]
        raise UsageError(listed("these settings do not fit together", texts)) from error
