"""End of a box: ends its processes, removes links that leave the tree, copies renewed tokens back.

Git and the loop later write in the git directory and in the loop's folders, outside of the box and
with the user's rights, and git follows links there. So links that appeared while the box was open
are removed before anything is written.

An agent's program renews a login by rewriting a file, often by rename, so it works on a copy. The
copy is taken back only if nothing else in it has changed: other tokens and times in the same
places, and no new account, address or setting.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralph_ls.engine.sandbox.home import CopiedFile
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, write_atomic

PATIENCE = 2.0
"""Seconds that killed processes get to be gone."""

POLL_INTERVAL = 0.005

Links = Mapping[Path, str]
"""The target of each link."""


def end_processes(private: Path) -> None:
    """End what still runs in a box that has ``private`` for its own folder, and wait for it.

    The system kills a process namespace when its first process ends, which takes a moment; no
    program of the box may write once the loop continues.
    """
    mark = f"{private.parent.name}/{private.name}/".encode()
    pause = threading.Event()
    for _ in range(int(PATIENCE / POLL_INTERVAL)):
        found = list(_processes_in(mark))
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        pause.wait(POLL_INTERVAL)


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
class WritePlaces:
    """Places that are written later."""

    paths: tuple[Path, ...]
    """Each by itself."""
    trees: tuple[Path, ...]
    """Each with all that is below it."""


def links_in(places: WritePlaces) -> dict[Path, str]:
    """All links there; links are not followed."""
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


def remove_new_links(places: WritePlaces, before: Links) -> list[Path]:
    """Remove links that are new or have another target; returns them."""
    removed = []
    for path, target in links_in(places).items():
        if before.get(path) != target:
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path)
    return removed


LARGEST = 1 << 20
"""Bytes of such a file."""

SHORTEST_TOKEN = 16
"""Characters; what is shorter is a word such as the kind of a login."""


@dataclass(frozen=True, slots=True)
class TokenCopy:
    """A copy as it was made."""

    of: CopiedFile
    data: bytes


def copy_in(files: Iterable[CopiedFile]) -> tuple[TokenCopy, ...]:
    """Make the copies; one that cannot be made is left out."""
    taken: list[TokenCopy] = []
    for file in files:
        data = _read(file.source, follow=True)
        if data is None:
            continue
        with contextlib.suppress(OSError):
            if file.copy.is_dir() and not file.copy.is_symlink():
                continue
            make_private_folder(file.copy.parent)
            write_atomic(file.copy, data, mode=PRIVATE_FILE)
            taken.append(TokenCopy(file, data))
    return tuple(taken)


def take_back(taken: Iterable[TokenCopy]) -> None:
    """Write renewed tokens to their files, unless these have changed since."""
    for one in taken:
        if not one.of.is_token:
            continue
        data = _read(one.of.copy, follow=False)
        if data is None or data == one.data or not is_renewed(one.data, data):
            continue
        if _read(one.of.source, follow=True) == one.data:
            with contextlib.suppress(OSError):
                target = Path(os.path.realpath(one.of.source))
                write_atomic(target, data, mode=PRIVATE_FILE)


def is_renewed(old: bytes, new: bytes) -> bool:
    """Whether ``new`` is the same login with other tokens and times."""
    try:
        before, after = json.loads(old), json.loads(new)
    except (ValueError, RecursionError):
        return False
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    return before.keys() == after.keys() and _is_alike(before, after)


def _is_alike(before: Any, after: Any) -> bool:
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() <= after.keys() and all(
            _is_alike(value, after[key]) for key, value in before.items()
        )
    if isinstance(before, str) and isinstance(after, str):
        return before == after or (_is_token(before) and _is_token(after))
    if _is_number(before) and _is_number(after):
        return True
    if isinstance(before, Sequence) and isinstance(after, Sequence):
        return before == after
    return bool(before == after)


def _is_token(text: str) -> bool:
    return len(text) >= SHORTEST_TOKEN and not any(
        mark in text for mark in (" ", "\n", "\t", "://", "/")
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read(path: Path, *, follow: bool) -> bytes | None:
    """The bytes of a regular file of that size; None for anything else."""
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return None
        return file.read(LARGEST + 1)
