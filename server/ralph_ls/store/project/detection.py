"""Which profile fits what lies in a repository (docs/rules.md#profiles).

Only names are looked at, never what a file says, so a look costs a few calls to the system. It
knows no rule of a profile: what tells of one is the profile's own data.

Which specifications lie in a work tree.

Both the loop and an editor look for them, and must find the same ones. It must never read what they
say.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.core.plan.specs import ARCHIVE, FOLDER, is_spec
from ralph_ls.protocol.config.config import ProfileName


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedProfile:
    """A profile that fits, and what tells of it."""

    profile: ProfileName
    sign: str
    """Path relative to the root."""


def detect_profiles(root: Path) -> tuple[DetectedProfile, ...]:
    """The profiles that fit what lies at ``root``, each once, in the order of SPEC §3.

    Specifications alone tell of ``spec`` only where nothing else does: other tools keep theirs in
    the same folder. A folder that cannot be read tells of nothing.
    """
    found = [
        DetectedProfile(profile=profile.name, sign=sign)
        for profile in PROFILES.values()
        if (sign := _first_present(root, profile.signs)) is not None
    ]
    if not found:
        found = [
            DetectedProfile(profile=profile.name, sign=sign)
            for profile in PROFILES.values()
            if (sign := _first_present(root, profile.faint_signs)) is not None
        ]
    return tuple(found)


def _first_present(root: Path, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if _is_there(root / name)), None)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


MOST_SPECS = 1000
"""Specifications that are read; more of them are no work of a person's."""

MOST_ENTRIES = 100_000
"""Files and folders below ``specs/`` that are looked at."""


def find_specs(root: Path) -> tuple[str, ...]:
    """Names within ``specs/`` of what is a specification, sorted; links to folders are left out."""
    found: list[str] = []
    top, n_entries = root / FOLDER, 0
    for folder, folders, files in os.walk(top):
        n_entries += len(folders) + len(files)
        below = Path(folder).relative_to(top)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and (below / name).as_posix() != ARCHIVE
        ]
        found += (name for file in files if is_spec(name := (below / file).as_posix()))
        if len(found) > MOST_SPECS or n_entries > MOST_ENTRIES:
            break
    return tuple(sorted(found)[:MOST_SPECS])
