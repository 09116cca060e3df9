"""Detection: the profile that fits a repository, and the specifications in it.

Only names are checked, never contents, so detection takes a few system calls
(docs/rules.md#profiles). The signs of a profile are the profile's own data. The loop and the editor
both find specifications here, so that they agree.
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
    """A profile that fits, and the path that shows it."""

    profile: ProfileName
    sign: str
    """Path relative to the root."""


def detect_profiles(root: Path) -> tuple[DetectedProfile, ...]:
    """The profiles that fit ``root``, each once, in the order of docs/rules.md#profiles.

    Specifications alone are a sign of ``spec`` only without any other sign, as other tools use
    the same folder. An unreadable folder is no sign.
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
"""Most specifications that are read."""

MOST_ENTRIES = 100_000
"""Most files and folders below ``specs/`` that are visited."""


def find_specs(root: Path) -> tuple[str, ...]:
    """Names of specifications within ``specs/``, sorted; links to folders are not followed."""
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
