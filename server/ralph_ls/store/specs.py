"""Which specifications lie in a work tree.

Both the loop and an editor look for them, and must find the same ones. It must never read what they
say.
"""

from __future__ import annotations

import os
from pathlib import Path

from ralph_ls.core.plan.specs import ARCHIVE, FOLDER, is_spec

MOST = 1000
"""Specifications that are read; more of them are no work of a person's."""

MOST_SEEN = 100_000
"""Files and folders below ``specs/`` that are looked at."""


def find_specs(root: Path) -> tuple[str, ...]:
    """Names within ``specs/`` of what is a specification, sorted; links to folders are left out."""
    found: list[str] = []
    top, n_seen = root / FOLDER, 0
    for folder, folders, files in os.walk(top):
        n_seen += len(folders) + len(files)
        below = Path(folder).relative_to(top)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and (below / name).as_posix() != ARCHIVE
        ]
        found += (name for file in files if is_spec(name := (below / file).as_posix()))
        if len(found) > MOST or n_seen > MOST_SEEN:
            break
    return tuple(sorted(found)[:MOST])
