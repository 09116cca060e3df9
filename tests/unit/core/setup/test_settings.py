"""Changing a config file in place: comments and order stay."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from ralph_ls.core.setup.settings import (
    duration_text,
    settings_text,
    with_settings,
    without_setting,
)
from ralph_ls.protocol.errors import ConfigError

FILE = """\
# Ours.
profile = "spec"   # kept for now
max_iterations = 5

# The breaker.
[breaker]
enabled = true  # never off

[agents.command]
argv = ["old"]
prompt = "file"
env = { A = "b" }

[agents.house]
argv = ["house"]
"""


def test_values_come_in_and_everything_else_stays() -> None:
    text = with_settings(
        FILE,
        {
            ("profile",): "fixplan",
            ("timeout",): "30m",
            ("promise", "complete"): "DONE",
            ("agents", "command"): {"argv": ["new", "a b"]},
        },
    )
    assert 'profile = "fixplan"   # kept for now\n' in text
    assert text.index('timeout = "30m"') < text.index("[breaker]")
    assert "enabled = true  # never off\n" in text
    assert "# The breaker.\n" in text
    tables = tomllib.loads(text)
    assert tables["agents"] == {"command": {"argv": ["new", "a b"]}, "house": {"argv": ["house"]}}
    assert tables["promise"] == {"complete": "DONE"}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", ("a",)),
        ("# only a comment", ("a",)),
        ("\ufeff# marked\nb = 1\n", ("a",)),
        ('t = { x = "y" }\n', ("t", "a")),
        ('t.x = "y"\r\n', ("t", "a")),
        ("[t]\nx = 1\n[t.deep]\ny = 2\n", ("t", "a")),
        ("a = '''\nlong'''\n", ("a",)),
        ("[[list]]\nb = 1\n", ("a",)),
    ],
)
@pytest.mark.parametrize("value", ["x\"y'\\\n", 7, 0.5, True, ["a", "b"]])
def test_files_of_every_form(text: str, keys: tuple[str, ...], value: Any) -> None:
    before = tomllib.loads(text.removeprefix("\ufeff"))
    after = with_settings(text, {keys: value})
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    table = tomllib.loads(after.removeprefix("\ufeff"))
    for key in keys[:-1]:
        before, table = before[key], table[key]
    assert table == {**before, keys[-1]: value}


@pytest.mark.parametrize(
    ("text", "keys"), [("a = [", ("b",)), ("t = 1\n", ("t", "a")), ("[[t]]\nx = 1\n", ("t", "a"))]
)
def test_what_cannot_be_changed_is_refused(text: str, keys: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"settings cannot be changed: .*by hand"):
        with_settings(text, {keys: "x"})


def test_a_form_that_the_two_readers_see_differently_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tomlkit.dumps", lambda _document: "lost = true\n")
    with pytest.raises(ConfigError, match="written in a form that ralph cannot extend"):
        with_settings("a = 1\n", {("a",): 2})


@pytest.mark.parametrize(("seconds", "text"), [(1800.0, "30m"), (300, "5m"), (330.5, "330.5s")])
def test_durations_are_written_as_users_write_them(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        ("a = 1 # one\nb = 2\n", ("a",), "b = 2\n"),
        ("a = 1\n[t]\nx = 1\ny = 2 # two\n", ("t", "x"), "a = 1\n[t]\ny = 2 # two\n"),
        ("a = 1\n[t]\nx = 1\n", ("t", "x"), "a = 1\n"),
        ("\ufeffa = 1\r\nb = 2\r\n", ("a",), "\ufeffb = 2\r\n"),
        ("a = 1\n", ("b",), "a = 1\n"),
        ("a = 1\n[t]\nx = 1\n", ("t", "y"), "a = 1\n[t]\nx = 1\n"),
        ("a = 1\n", ("a", "b"), "a = 1\n"),
    ],
)
def test_a_setting_is_removed_and_nothing_else(
    text: str, keys: tuple[str, ...], after: str
) -> None:
    assert without_setting(text, keys) == after


def test_what_is_no_toml_loses_nothing() -> None:
    with pytest.raises(ConfigError, match="cannot be changed: "):
        without_setting("a = [", ("a",))


def test_a_removal_that_the_two_readers_see_differently_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tomlkit.dumps", lambda _document: "lost = true\n")
    with pytest.raises(ConfigError, match="written in a form that ralph cannot change"):
        without_setting("a = 1\nb = 2\n", ("a",))


def test_settings_are_listed_as_toml_with_comments() -> None:
    text = settings_text(
        [
            (("t", "x"), [1, "a"], "why"),
            (("a",), "b", ""),
            (("t", "with space"), {}, ""),
            (("t", "y"), {"k": True, "gpt-5.1": 2}, ""),
        ]
    )
    assert text == (
        'a = "b"\n\n[t]\nx = [1, "a"]  # why\n"with space" = {}\ny = { k = true, "gpt-5.1" = 2 }'
    )
    assert tomllib.loads(text)["t"]["y"] == {"k": True, "gpt-5.1": 2}
    assert settings_text([]) == ""


def test_tables_within_tables_get_one_header() -> None:
    assert with_settings("", {("a", "b", "c"): 1}) == "[a.b]\nc = 1\n"
