"""Releases of ``bd``, and what an old one cannot do. It must never start ``bd``."""

from __future__ import annotations

import re

from ralph_ls.core.plan.beads.answers import read_object

Version = tuple[int, int, int]

FIRST_WITH_REASONS: Version = (0, 30, 0)
"""The first release that says why an issue was closed; earlier ones forget it."""


def read_version(printed: str) -> Version | None:
    """What ``bd version`` printed, as JSON or in words; None where it is no release. Total."""
    said = read_object(printed).get("version")
    found = _VERSION.search(said if isinstance(said, str) else printed)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))


def keeps_close_reasons(version: Version | None) -> bool:
    """Whether a release keeps the reason of ``bd close``; one that is unknown is a new one."""
    return version is None or version >= FIRST_WITH_REASONS


def say_version(version: Version) -> str:
    """A version as it is written."""
    return ".".join(map(str, version))


_VERSION = re.compile(r"(?<![\w.])v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?")
