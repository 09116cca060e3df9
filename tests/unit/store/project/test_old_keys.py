"""Old keys of a config file: renamed where they are, everything else stays to the byte."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.protocol.config.renamed import RENAMED, old_keys_in, with_new_keys
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.project.config_remarks import find_old_keys, with_renamed_keys


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('# a\ntimeout = "20m"  # slow\nx = 1', '# a\ntimeouts.iteration = "20m"  # slow\nx = 1'),
        ("\ufeff timeout\t=3\r\n", "\ufeff timeouts.iteration\t=3\r\n"),
        ('"timeout" = 3\n[breaker]\n', "timeouts.iteration = 3\n[breaker]\n"),
        ("idleTimeout = 4\n", "timeouts.idle = 4\n"),
        ("timeout = 5\n[timeouts]\nidle = 3\n", "[timeouts]\niteration = 5\nidle = 3\n"),
        ("timeout = 5\n[timeouts]", "[timeouts]\niteration = 5\n"),
        ("timeout=3\ntimeouts.iteration=4\n", "timeouts.iteration=4\n"),
        ("verify_timeout=1\nvalidate_timeout=2\n", "timeouts.validation=2\n"),
        ("timeouts={idle=3}\ntimeout=4\n", "timeouts={idle=3,iteration = 4}\n"),
        ("[log_retention] # k\ndays = 3\nnewest = 4", "[logs] # k\ndays = 3\nnewest = 4"),
        ('log="a"\n[log_retention]\ndays=3\n', '[logs]\nagent="a"\ndays=3\n'),
        ("[log_retention]\ndays=3\n\n[logs]\nform='jsonl'\n", "\n[logs]\ndays=3\nform='jsonl'\n"),
        ("log_retention = {days = 3}\n", "[logs]\ndays = 3\n"),
        ("profile = 'spec'\n", "profile = 'spec'\n"),
    ],
)
def test_the_new_key_is_in_the_place_of_the_old_one(before: str, after: str) -> None:
    assert with_renamed_keys(before) == after
    body = before.removeprefix("\ufeff")
    assert tomllib.loads(after.removeprefix("\ufeff")) == with_new_keys(tomllib.loads(body))


@given(
    keys=st.permutations(sorted(RENAMED)),
    n=st.integers(1, len(RENAMED)),
    eol=st.sampled_from(("\n", "\r\n")),
)
def test_any_old_keys_mean_the_same_afterwards(keys: list[str], n: int, eol: str) -> None:
    text = eol.join([*(f"{key} = {at}" for at, key in enumerate(keys[:n])), "[breaker]", "a = 1"])
    renamed = tomllib.loads(with_renamed_keys(text))
    assert renamed == with_new_keys(tomllib.loads(text))
    assert not list(old_keys_in(renamed))


def test_old_keys_are_found_with_their_places() -> None:
    found = find_old_keys("x = 1\n timeout = 2\nlog_retention = { days = 3 }\n")
    assert [(one.old, one.new, one.line, one.start, one.end) for one in found] == [
        ("timeout", "timeouts.iteration", 1, 1, 8),
        ("log_retention.days", "logs.days", 2, 0, 13),
    ]


def test_what_is_not_toml_is_refused() -> None:
    with pytest.raises(ConfigError, match="not valid TOML"):
        with_renamed_keys("timeout = \n")
