"""Texts of any length, told in one line."""

from __future__ import annotations

LONGEST_SUMMARY = 200
"""Characters."""


def in_one_line(text: str) -> str:
    """The beginning of a text, without its line ends; a longer text is cut, and shows it."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SUMMARY else f"{line[: LONGEST_SUMMARY - 1]}…"


def first_line(text: str) -> str:
    """The first line of a text that says something."""
    return text.strip().split("\n", 1)[0].strip()
