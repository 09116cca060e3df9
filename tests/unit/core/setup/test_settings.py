"""Changing a config file in place: comments and order stay."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from ralph_ls.core.setup.settings import duration_text, with_settings
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
    with pytest.raises(ConfigError, match=r"config\.toml cannot be changed: .*by hand"):
        with_settings(text, {keys: "x"})


def test_a_form_that_the_two_readers_see_differently_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tomlkit.dumps", lambda _document: "lost = true\n")
    with pytest.raises(ConfigError, match="written in a way that cannot be added to"):
        with_settings("a = 1\n", {("a",): 2})


@pytest.mark.parametrize(("seconds", "text"), [(1800.0, "30m"), (300, "5m"), (330.5, "330.5s")])
def test_durations_are_written_as_users_write_them(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
