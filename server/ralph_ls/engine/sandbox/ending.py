"""The end of a box: nothing of it lives on, and no link that it left leads out of the tree.

Git and the loop write in the git directory and in the loop's own folders later on, outside and with
the user's rights, and git follows links there. So links that appeared while the box was open are
removed before anything is written.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 2.0
"""Seconds that killed processes get to be gone."""

LOOK_AGAIN = 0.005

Links = Mapping[Path, str]
"""Where each link leads."""


def end_processes(private: Path) -> None:
    """End what still runs in a box that has ``private`` for its own folder, and wait for it.

    The system kills a process namespace when its first process ends, which takes a moment; no
    program of the box may write once the loop goes on.
    """
    mark = f"{private.parent.name}/{private.name}/".encode()
    pause = threading.Event()
    for _ in range(int(PATIENCE / LOOK_AGAIN)):
        found = list(_processes_in(mark))
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        pause.wait(LOOK_AGAIN)


def _processes_in(mark: bytes) -> Iterator[int]:
    """Processes of another process namespace, in whose file system the folder is mounted."""
    own = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        folder = Path("/proc", name)
        try:
            if str((folder / "ns" / "pid").readlink()) == own:
                continue
            if mark in (folder / "mountinfo").read_bytes():
                yield int(name)
        except OSError:
            # It has ended, or is another user's.
            continue


@dataclass(frozen=True, slots=True)
class Places:
    """Where something is written later on."""

    paths: tuple[Path, ...]
    """Each by itself."""
    trees: tuple[Path, ...]
    """Each with all that is below it."""


def links_in(places: Places) -> dict[Path, str]:
    """Every link there; what is behind a link is not looked at."""
    found = {path: os.fspath(path.readlink()) for path in places.paths if path.is_symlink()}
    for tree in places.trees:
        if tree.is_symlink():
            found[tree] = os.fspath(tree.readlink())
            continue
        for folder, names, files in os.walk(tree):
            for name in (*names, *files):
                path = Path(folder, name)
                if path.is_symlink():
                    found[path] = os.fspath(path.readlink())
    return found


def remove_new_links(places: Places, before: Links) -> list[Path]:
    """Remove links that were not there before, or lead elsewhere now; which those were."""
    removed = []
    for path, target in links_in(places).items():
        if before.get(path) != target:
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path)
    return removed
