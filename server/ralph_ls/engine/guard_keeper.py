"""Copies of what an agent left where it may not write, in the folder of the run.

Nothing that somebody wrote is lost by restoring a file. This module must never know which files
are guarded.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from ralph_ls.engine.workspace import Workspace
from ralph_ls.store.files import (
    PRIVATE_FILE,
    kind_of_irregular,
    make_folders_below,
    make_private_folder,
    write_atomic,
)

SHOWN_CHARACTERS = 4000


class Keeper:
    """Keeps what the agent left, in the folder of the run."""

    def __init__(self, workspace: Workspace, start: int) -> None:
        self._root = workspace.root
        self._redactor = workspace.redactor
        self._folder = workspace.files.folder / "reverted"
        self._start = start

    def keep(self, path: str, data: bytes) -> str:
        """Write a copy; its path, relative to the folder of the run."""
        place = self._place(Path(path).name)
        write_atomic(place, self._redactor.redact_bytes(data), mode=PRIVATE_FILE)
        return f"{self._folder.name}/{sayable(place.name)}"

    def move_away(self, target: Path, *, is_copied: bool) -> None:
        """Take something out of the tree; what was copied, or is a link, is only removed."""
        if is_copied or target.is_symlink():
            target.unlink()
        else:
            _move(target, self._place(target.name))

    def clear_way(self, target: Path) -> None:
        """Move away what stands where folders were, or leads elsewhere than into the tree."""
        way = [parent for parent in target.parents if parent.is_relative_to(self._root)]
        for parent in reversed(way):
            real_root = os.path.realpath(self._root)
            leads_out = not Path(os.path.realpath(parent)).is_relative_to(real_root)
            if os.path.lexists(parent) and (leads_out or not parent.is_dir()):
                self.move_away(parent, is_copied=False)
        make_folders_below(self._root, target.parent)

    def shown(self, data: bytes) -> str:
        """What of the agent's version is told."""
        text = self._redactor.redact_bytes(data).decode("utf-8", errors="replace")
        return text[:SHOWN_CHARACTERS]

    def _place(self, name: str) -> Path:
        make_private_folder(self._folder)
        number = 1
        while True:
            place = self._folder / f"{self._start:03d}-{number}-{name}"
            if not os.path.lexists(place):
                return place
            number += 1


def _make_private(place: Path) -> None:
    """Take from everybody else what the agent's permissions gave them."""
    folders = [Path(parent) for parent, _, _ in os.walk(place)]
    files = [Path(parent, name) for parent, _, names in os.walk(place) for name in names]
    for path in folders or [place]:
        path.chmod(0o700 if folders else PRIVATE_FILE)
    for path in files:
        if not path.is_symlink():
            path.chmod(PRIVATE_FILE)


def _move(target: Path, place: Path) -> None:
    """Move a file or a folder; a pipe, a socket or a device holds nothing, and is only removed."""
    mode = target.lstat().st_mode
    if kind_of_irregular(mode) is not None and not stat.S_ISDIR(mode):
        target.unlink()
    else:
        shutil.move(target, place, copy_function=_copy_regular)
        _make_private(place)


def _copy_regular(source: str, target: str) -> None:
    """Copy what a folder that moves to another file system holds, where it has content."""
    if kind_of_irregular(os.lstat(source).st_mode) is None:
        shutil.copy2(source, target)


def sayable(path: str) -> str:
    """A path as it is reported, which is UTF-8."""
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")
