"""Suggestions for a name that does not exist."""

from __future__ import annotations

import pytest

from ralph_ls.core.suggestions import closest, did_you_mean, unknown

OPTIONS = ["--max-iterations", "--max-time", "--profile", "--no-push"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--max-iteration", "--max-iterations"),
        ("--PROFIL", "--profile"),
        ("iterations", "--max-iterations"),
        # Two names contain it.
        ("max", None),
        ("p", None),
        ("nonsense", None),
    ],
)
def test_the_name_that_is_most_like_it_is_suggested(given: str, meant: str | None) -> None:
    assert closest(given, OPTIONS) == meant


def test_swapped_letters_are_recognised_first() -> None:
    assert closest("stauts", ["stats", "status"]) == "status"


def test_without_a_like_name_the_known_ones_are_listed() -> None:
    assert unknown("mode", "x", ["a", "b", "a"]) == "unknown mode 'x'; there is: a, b"
    assert unknown("mode", "bild", ["build"]) == "unknown mode 'bild'; did you mean build?"


def test_a_message_ends_with_it_or_with_nothing() -> None:
    assert did_you_mean("runn", ["run", "read"]) == "; did you mean run?"
    assert did_you_mean("zzz", ["run", "read"]) == ""
