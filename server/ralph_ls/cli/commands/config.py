"""``ralph config``: show the settings with their origin, change them in place, explain a key."""

from __future__ import annotations

import contextlib
import os
from typing import Annotated

import typer

from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import (
    emit_document,
    print_error,
    print_text,
    table,
    terminal_width,
)
from ralph_ls.cli.parameters import argument, flag
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of, secrets_of_addresses
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.engine.git.worktree_state import exclude
from ralph_ls.protocol.config.config import CONFIG_FILE
from ralph_ls.protocol.config.renamed import DROPPED_IN, RENAMED
from ralph_ls.protocol.errors import ConfigError, UsageError, WorkspaceMissing
from ralph_ls.protocol.run.values import Origin
from ralph_ls.protocol.verb_output import SettingExplained, SettingsOutput, SettingValue
from ralph_ls.store.project.config_edit import (
    SCHEMA_PATH,
    ConfigFile,
    open_in_editor,
    with_value,
    without_value,
    write_schema_beside,
)
from ralph_ls.store.project.config_file import LoadedSettings, load_settings, shown_path
from ralph_ls.store.project.config_file import user_config_file as user_path
from ralph_ls.store.project.config_remarks import find_old_keys, with_renamed_keys
from ralph_ls.store.project.settings_listing import (
    EffectiveSetting,
    differing,
    effective_settings,
    origin_of,
    origin_text,
    source_text,
)
from ralph_ls.store.project.settings_reference import SettingFacts, require_setting
from ralph_ls.store.run.ancestry import require_no_iteration
from ralph_ls.store.run.launch import reporting_refusals

ACTIONS = ("show", "get", "set", "unset", "explain", "edit", "migrate")


def config_verb(
    action: Annotated[
        str, argument("[ACTION]", "show, get, set, unset, explain, edit or migrate")
    ] = "show",
    key: Annotated[
        str | None, argument("[KEY]", "A setting, such as max_iterations (default: all)")
    ] = None,
    value: Annotated[
        list[str] | None, argument("[VALUE]...", "For set (no default); several for a list")
    ] = None,
    user: Annotated[
        bool, flag("--user", text="Change your own settings, for all repositories")
    ] = False,
    project: Annotated[
        bool, flag("--project", text="Change this repository's settings (the default)")
    ] = False,
    show_all: Annotated[
        bool, flag("--all", text="With show: also settings at their default")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show, change or explain settings.

    A value comes from the first of: a flag, a RALPH_* variable, .ralph/config.toml, your own
    config.toml, the profile, the default.
    """
    if action not in ACTIONS:
        raise UsageError(
            f"unknown action {action}{did_you_mean(action, ACTIONS)}; there is {', '.join(ACTIONS)}"
        )
    if user and project:
        raise UsageError("--user and --project do not go together; leave one of them out")
    if action in {"show", "edit", "migrate"} and key is not None:
        raise UsageError(
            f"ralph config {action} takes no key; did you mean: ralph config get {key}?"
        )
    if action in {"get", "set", "unset", "explain"} and key is None:
        raise UsageError(f"ralph config {action} needs a key, such as max_iterations")
    if action != "set" and value:
        raise UsageError(f"ralph config {action} takes no value; did you mean: ralph config set?")
    match action:
        case "show":
            _show(show_all=show_all, as_json=as_json)
        case "get":
            _get(str(key), as_json=as_json)
        case "explain":
            _explain(str(key), as_json=as_json)
        case "edit":
            _edit(_file(user=user))
        case "migrate":
            _migrate(_files(user=user, project=project))
        case _:
            # A program that asked reads the kind of the error from its first line.
            with reporting_refusals() if as_json else contextlib.nullcontext():
                _change(_file(user=user), str(key), (value or []) if action == "set" else None)


def _show(*, show_all: bool, as_json: bool) -> None:
    settings = _loaded()
    found = effective_settings(settings)
    shown = list(found) if show_all else differing(found)
    hide = _redactor(settings)
    if as_json:
        emit_document(SettingsOutput(settings=tuple(_shown_value(one, hide) for one in shown)))
        return
    if show_all:
        shown.sort(key=lambda one: one.origin in {Origin.DEFAULT, Origin.PROFILE})
    if not shown:
        print_text("All settings are at their defaults; list them with: ralph config show --all")
        return
    rows = [
        (one.key, hide.redact(one.text) or "not set", origin_text(one, settings, os.environ))
        for one in shown
    ]
    for line in table(("SETTING", "VALUE", "FROM"), rows, terminal_width()):
        print_text(line)
    if not show_all:
        print_text("")
        print_text("All settings: ralph config show --all   About one: ralph config explain KEY")


def _get(key: str, *, as_json: bool) -> None:
    settings = _loaded()
    facts = require_setting(key)
    found = _effective(settings, RENAMED.get(key, key))
    hide = _redactor(settings)
    if as_json:
        emit_document(SettingValue(key=key) if found is None else _shown_value(found, hide))
    elif found is None or found.value is None:
        print_error(f"{key} is not set; see: ralph config explain {facts.key}")
        raise typer.Exit(1)
    else:
        # A text alone, without quotes, is what scripts want.
        value = found.value if isinstance(found.value, str) else found.text
        print_text(hide.redact(value))


def _explain(key: str, *, as_json: bool) -> None:
    facts = require_setting(key)
    if as_json:
        emit_document(
            SettingExplained(
                key=facts.key,
                type=facts.type,
                about=facts.about,
                values=dict(facts.values),
                default=facts.default or None,
                example=facts.example,
                variable=facts.variable or None,
                group=facts.group,
            )
        )
        return
    if key in RENAMED:
        print_text(f"{key} is now {RENAMED[key]}; the old key works until ralph {DROPPED_IN}.")
        print_text("")
    for line in _explanation(facts, RENAMED.get(key, key)):
        print_text(line)


def _explanation(facts: SettingFacts, key: str) -> list[str]:
    lines = [key, "", f"  {facts.about.replace('`', '')}", ""]
    if facts.values:
        widest = max(map(len, facts.values))
        lines += [f"    {word:{widest}}  {about}".rstrip() for word, about in facts.values.items()]
        lines.append("")
    rows = [("Type", _UNITS.get(facts.type, facts.type)), ("Default", facts.default or "not set")]
    rows += _current(key)
    rows += [("Variable", facts.variable)] if facts.variable else []
    rows.append(("Docs", f"docs/configuration.md#{facts.anchor}"))
    lines += [f"  {name + ':':9} {text}" for name, text in rows]
    return [*lines, "", "  Example:", *(f"    {line}" for line in facts.example.splitlines())]


_UNITS = {
    "duration": 'duration: "30m", "1h30m", or a number of seconds',
    "size": 'size: "5 GB", "500 MB", or a number of bytes',
}


def _current(key: str) -> list[tuple[str, str]]:
    """The effective value and its origin, where the settings can be read."""
    try:
        settings = _loaded()
    except (ConfigError, WorkspaceMissing):
        return []
    found = _effective(settings, key)
    if found is None:
        return []
    text = _redactor(settings).redact(found.text) or "not set"
    return [("Now", f"{text} ({origin_text(found, settings, os.environ)})")]


def _change(file: ConfigFile, key: str, value: list[str] | None) -> None:
    """Set a key, or remove it without a value."""
    if value == []:
        raise UsageError(f"{key} needs a value, such as: ralph config set {key} VALUE")
    before = file.read()
    text = before if before is not None else file.start()
    after = without_value(text, key) if value is None else with_value(text, key, value)
    if after == text and before is not None:
        what = "not set" if value is None else "set to that already"
        print_text(f"{key} is {what} in {file.shown}")
        return
    if value is None and before is None:
        print_text(f"{key} is not set in {file.shown}")
        return
    _write(file, before, after)
    new = RENAMED.get(key, key)
    print_text(f"{'Removed' if value is None else 'Set'} {new} in {file.shown}")
    _say_what_wins(file, new)
    if not file.is_private:
        _say_what_to_allow(new)


def _write(file: ConfigFile, before: str | None, after: str) -> None:
    file.write(before, after)
    if file.is_private:
        return
    place = current_worktree()
    exclude(place.worktree.root, place.worktree.common_dir, [f"/{SCHEMA_PATH}"])
    _tell_engine(before or "", after)


def _tell_engine(before: str, after: str) -> None:
    """Record the change as the user's, so that a live run does not restore the file."""
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.store.project.plan_file import UserSave, record_save, text_hash

    place = current_worktree()
    record_save(
        place.state,
        UserSave(
            at=SystemClock().now(),
            path=CONFIG_FILE,
            before=text_hash(before),
            sha256=text_hash(after),
            text=after,
        ),
    )


def _say_what_wins(file: ConfigFile, key: str) -> None:
    """Where another source has the last word, say which."""
    try:
        settings = _loaded()
    except (ConfigError, WorkspaceMissing):
        return
    wanted = Origin.USER if file.is_private else Origin.FILE
    origin = origin_of(settings, tuple(key.split(".")))
    stronger = (Origin.ENVIRONMENT, Origin.FILE) if file.is_private else (Origin.ENVIRONMENT,)
    if origin is not wanted and origin in stronger:
        print_text(f"Note: here {source_text(origin, os.environ)} wins, which sets it too")


def _say_what_to_allow(key: str | None = None) -> None:
    """Name ``ralph allow`` where a run would start something unapproved, by this key or at all."""
    from ralph_ls.store.project import trust

    place = current_worktree()
    settings = load_settings(place.worktree.root, os.environ, {})
    approved = trust.read_record(place.state).allowed
    claims = trust.claims_of(place.worktree.root, settings.config, settings.from_file, approved)
    missing = [claim.key for claim in trust.unapproved_claims(place.state, claims)]
    if any(key is None or f"{key}.".startswith(f"{one}.") for one in missing):
        print_text("Next: approve what a run would start: ralph allow")


def _edit(file: ConfigFile) -> None:
    """Open the file in the user's editor, and check it afterwards."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise UsageError(f"set VISUAL or EDITOR to your editor, or open {file.path}")
    if not file.path.exists():
        _write(file, None, file.start())
    write_schema_beside(file.path)
    before = file.read_raw()
    open_in_editor(editor, file.path)
    try:
        text = file.read() or ""
    except ConfigError as error:
        raise ConfigError(
            f"{error.message}\nThe file is kept as you saved it; fix it with: ralph config edit"
        ) from error
    if text.encode() == before:
        print_text(f"No changes in {file.shown}")
        return
    if not file.is_private:
        _tell_engine((before or b"").decode("utf-8", "replace"), text)
    print_text(f"The settings in {file.shown} are valid")
    if not file.is_private:
        _say_what_to_allow()


def _migrate(files: list[ConfigFile]) -> None:
    """Rename the old keys where they are."""
    for file in files:
        before = file.read()
        found = [] if before is None else find_old_keys(before)
        if before is None or not found:
            print_text(f"No old keys in {file.shown}")
            continue
        _write(file, before, with_renamed_keys(before))
        for one in found:
            print_text(f"Renamed {one.old} to {one.new} in {file.shown}")


def _files(*, user: bool, project: bool) -> list[ConfigFile]:
    """The repository's file and the user's own, unless one is chosen."""
    if user or project:
        return [_file(user=user)]
    try:
        place = [_file(user=False)]
    except WorkspaceMissing:
        place = []
    return [*place, _file(user=True)]


def _file(*, user: bool) -> ConfigFile:
    """The file to change; raises ``FromInside`` for the user's in an iteration."""
    if not user:
        try:
            place = current_worktree()
        except WorkspaceMissing as error:
            raise WorkspaceMissing(f"{error.message}; or change your own with --user") from error
        return ConfigFile(path=place.worktree.root / CONFIG_FILE, shown=CONFIG_FILE)
    require_no_iteration("ralph config")
    path = user_path(os.environ)
    if path is None:
        raise UsageError("there is no home folder for your own settings; set HOME")
    return ConfigFile(path=path, shown=shown_path(path, os.environ), is_private=True)


def _loaded() -> LoadedSettings:
    """The effective settings here, with the agent that a run would take."""
    return load_settings(_place().worktree.root, os.environ, {})


def _place() -> CommandWorktree:
    return current_worktree()


def _effective(settings: LoadedSettings, key: str) -> EffectiveSetting | None:
    return next((one for one in effective_settings(settings) if one.key == key), None)


def _redactor(settings: LoadedSettings) -> Redactor:
    """What hides secrets: those of the environment, and those that an agent is given."""
    known = secrets_of(os.environ) | secrets_of_addresses(settings.config.notify.urls)
    for agent in settings.config.agents.values():
        known |= secrets_of(agent.env)
    return Redactor(known)


def _shown_value(one: EffectiveSetting, hide: Redactor) -> SettingValue:
    value = hide.redact(one.value) if isinstance(one.value, str) else one.value
    if isinstance(value, list | dict):
        value = (
            [hide.redact(str(part)) for part in value]
            if isinstance(value, list)
            else {name: hide.redact(str(part)) for name, part in value.items()}
        )
    return SettingValue(
        key=one.key, value=value, origin=one.origin.value, default=one.facts.default or None
    )
