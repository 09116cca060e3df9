"""Repositories that try to run something, as a clone of them is on the user's disk.

Whatever of a clone runs writes its own name into a marker file outside the clone.
"""

from __future__ import annotations

from pathlib import Path

from tests.engine.project_builder import git, make_repository


def leaving(marker: Path, name: str) -> str:
    return f"#!/bin/sh\necho {name} | tee -a '{marker}'\n"


def clone_of(tmp_path: Path, files: dict[str, str]) -> Path:
    origin = make_repository(tmp_path / "origin", ["First task"], files=files)
    for path in files:
        if path.endswith((".sh", "/git", "git")):
            (origin / path).chmod(0o755)
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "--allow-empty", "-m", "Executable")
    git(tmp_path, "clone", "-q", "--template=", str(origin), "clone")
    return tmp_path / "clone"
