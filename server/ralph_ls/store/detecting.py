"""Which profile fits what lies in a repository (SPEC §3).

Only names are looked at, never what a file says, so a look costs a few calls to the system. It
knows no rule of a profile: what tells of one is the profile's own data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.protocol.config import ProfileName


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """A profile that fits, and what tells of it."""

    profile: ProfileName
    sign: str
    """Path relative to the root."""


def detect_profiles(root: Path) -> tuple[Detected, ...]:
    """The profiles that fit what lies at ``root``, each once, in the order of SPEC §3.

    Specifications alone tell of ``spec`` only where nothing else does: other tools keep theirs in
    the same folder. A folder that cannot be read tells of nothing.
    """
    found = [
        Detected(profile=profile.name, sign=sign)
        for profile in PROFILES.values()
        if (sign := _first(root, profile.signs)) is not None
    ]
    if not found:
        found = [
            Detected(profile=profile.name, sign=sign)
            for profile in PROFILES.values()
            if (sign := _first(root, profile.faint_signs)) is not None
        ]
    return tuple(found)


def _first(root: Path, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if _is_there(root / name)), None)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
