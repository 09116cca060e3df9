"""Changes of a config file: one key in place, the schema beside it, and what a key's words mean."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import ralph_ls.protocol.config as package
from ralph_ls.core.setup.settings import with_settings, without_setting
from ralph_ls.protocol.config.config import CONFIG_FILE
from ralph_ls.protocol.config.renamed import RENAMED
from ralph_ls.protocol.errors import ConfigError, StateUnusable, UsageError
from ralph_ls.store.files import (
    PRIVATE_FILE,
    ChangedMeanwhile,
    make_private_folder,
    read_regular,
    resolve_inside,
    write_atomic,
)
from ralph_ls.store.project.config_file import LARGEST_FILE, check_settings_text
from ralph_ls.store.project.environment_settings import validated_tables
from ralph_ls.store.project.setting_problems import find_problems, listed
from ralph_ls.store.project.settings_reference import SCHEMA_FILE, SettingFacts, require_setting

SCHEMA_LINE = f"#:schema ./{SCHEMA_FILE}"
"""The first line of a config file: with it, editors that know TOML schemas complete the keys."""

SCHEMA_PATH = f".ralph/{SCHEMA_FILE}"
"""The schema in a work tree; git ignores it, since each version of ralph has its own."""

_WORDS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """One of the two files of settings."""

    path: Path
    shown: str
    """Its path in messages."""
    is_private: bool = False
    """Whether it is the user's own, which nobody else may read."""

    def read_raw(self) -> bytes | None:
        """Its content, whatever it is; None where there is none. Raises ``ConfigError``."""
        try:
            return read_regular(self.path, LARGEST_FILE)
        except StateUnusable as error:
            raise ConfigError(error.message) from error

    def read(self) -> str | None:
        """Its text; None where there is none. Raises ``ConfigError`` for wrong settings."""
        data = self.read_raw()
        if data is None:
            return None
        check_settings_text(data, self.shown)
        return data.decode("utf-8")

    def write(self, before: str | None, after: str) -> None:
        """Write the text in one step, if the file still is what it was; refresh the schema.

        Raises ``ConfigError`` where the settings do not fit together, and ``StateUnusable`` where
        the file cannot be written.
        """
        check_settings_text(after.encode(), self.shown)
        expected = None if before is None else before.encode()
        try:
            self._write(after.encode(), expected)
        except OSError as error:
            raise StateUnusable(
                f"{self.path} cannot be written: {error.strerror or error}; "
                "fix that, then try again"
            ) from error

    def _write(self, data: bytes, expected: bytes | None) -> None:
        if self.is_private:
            make_private_folder(self.path.parent)
        else:
            self.path.parent.mkdir(exist_ok=True)
        mode = PRIVATE_FILE if self.is_private else None
        write_atomic(self.path, data, mode=mode, expected=expected)
        write_schema_beside(self.path)

    def start(self) -> str:
        """The text of a new file."""
        return f"{SCHEMA_LINE}\n"


def write_schema_beside(path: Path) -> None:
    """Write the schema of this version into the folder of a config file, if it differs."""
    data = schema_bytes()
    schema = path.with_name(SCHEMA_FILE)
    if read_regular(schema, LARGEST_FILE) != data:
        write_atomic(schema, data)


def refresh_schema(root: Path) -> None:
    """Write the schema where the config file of a work tree names it; editors alone need it."""
    with contextlib.suppress(OSError, StateUnusable, ChangedMeanwhile):
        path = resolve_inside(root, CONFIG_FILE)
        lines = (read_regular(path, LARGEST_FILE) or b"").splitlines()
        if SCHEMA_LINE.encode() in lines:
            write_schema_beside(path)


def open_in_editor(editor: str, path: Path) -> None:
    """Let the user edit a file, and wait; raises ``UsageError`` where the editor fails."""
    try:
        done = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"the editor {editor!r} does not start: {error}; set EDITOR") from error
    if done.returncode != 0:
        raise UsageError(f"the editor {editor!r} ended with code {done.returncode}")


def schema_bytes() -> bytes:
    """The JSON schema of a config file."""
    return Path(str(package.__file__)).with_name(SCHEMA_FILE).read_bytes()


def with_value(text: str, key: str, words: Sequence[str]) -> str:
    """The text with a key set as the words on a command line say.

    An old key of the same setting is removed. Raises ``UsageError`` for a wrong key or value.
    """
    key = RENAMED.get(key, key)
    facts = require_setting(key)
    if "NAME" in key.split("."):
        table = key.partition(".")[0]
        raise UsageError(f"{key}: write a name for NAME, such as {table}.{_EXAMPLES[table]}")
    keys = key_parts(key, facts)
    value = _value_of(words, facts, is_inside=len(keys) > facts.key.count(".") + 1)
    layer = _nested(keys, value)
    try:
        validated_tables(layer)
    except ValidationError as error:
        raise UsageError(
            listed("these settings are wrong", [one.text for one in find_problems(error, layer)])
        ) from error
    for old, new in RENAMED.items():
        if new == key:
            text = without_setting(text, tuple(old.split(".")))
    return with_settings(text, {keys: value})


def without_value(text: str, key: str) -> str:
    """The text without a key, under its new or its old name; raises ``UsageError``."""
    key = RENAMED.get(key, key)
    facts = require_setting(key)
    for old, new in RENAMED.items():
        if new == key:
            text = without_setting(text, tuple(old.split(".")))
    return without_setting(text, key_parts(key, facts))


_EXAMPLES = {"agents": "claude.model", "prices": "claude-opus.input"}


def key_parts(key: str, facts: SettingFacts) -> tuple[str, ...]:
    """A key in its parts; the name of an agent, a model, a tag or a variable may have dots."""
    if facts.key != key and facts.key in {"models.tag", "agents.NAME.env"}:
        head = facts.key.rpartition(".")[2]
        before, _, name = key.partition(f".{head}.")
        return (*before.split(".", 1), head, _unquoted(name))
    if ".NAME." not in facts.key or facts.key == key:
        return tuple(key.split("."))
    table, _, end = facts.key.partition(".NAME.")
    name = key.removeprefix(f"{table}.").removesuffix(f".{end}")
    return (table, _unquoted(name), *end.split("."))


def _unquoted(name: str) -> str:
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'" else name


def _nested(keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return dict(value)


def _value_of(words: Sequence[str], facts: SettingFacts, *, is_inside: bool) -> Any:
    """The value of these words, by the type of the setting; what does not fit stays a text."""
    first = words[0]
    if facts.type.startswith("list") and not is_inside:
        if first.startswith("["):
            return _parsed(" ".join(words), facts)
        return [part.strip() for part in first.split(",")] if len(words) == 1 else list(words)
    if len(words) > 1:
        raise UsageError(
            f"{facts.key} takes one value, and here are {len(words)}; quote a value with spaces"
        )
    if first.startswith("{") and "table" in facts.type:
        return _parsed(first, facts)
    if facts.type == "true or false":
        return _WORDS.get(first.lower(), first)
    if facts.type in {"whole number", "number", "duration", "size"}:
        return _number(first)
    return first


def _parsed(text: str, facts: SettingFacts) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{facts.key} must be {facts.kind}; it is {text}") from error


def _number(text: str) -> Any:
    if re.fullmatch(r"[+-]?\d[\d_]*", text, re.ASCII):
        return int(text.replace("_", ""))
    return float(text) if re.fullmatch(r"[+-]?\d+\.\d+", text, re.ASCII) else text
