"""``attempts.txt``: how often each task was tried in vain, for every clone and run (B, SPEC §4).

One line a task, ``id:count``. It is a person's to edit: who deletes it, or a line of it, has those
tasks tried anew. Several engines may write it, so a run brings only what it has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_private_folder,
    read_regular,
    write_atomic,
)
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project_state import ATTEMPTS, ProjectState, find_project

LARGEST_FILE = 1 << 20
"""Bytes; a larger file is none of ours."""

LOCK_PATIENCE = 5.0
"""Seconds; whoever writes holds it for an instant."""


def read_attempts(project: ProjectState) -> dict[str, int]:
    """Failed attempts by task id; lines that say nothing of the kind are passed over.

    Raises ``StateUnusable`` where the file cannot be read.
    """
    data = read_regular(project.attempts, LARGEST_FILE) or b""
    lines = (_LINE.fullmatch(line.strip()) for line in data.decode("utf-8", "replace").split("\n"))
    found = {line["task"]: int(line["count"]) for line in lines if line is not None}
    return {task: count for task, count in found.items() if count > 0}


def settle_attempts(
    project: ProjectState,
    before: Mapping[str, int],
    after: Mapping[str, int],
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Bring the change from ``before`` to ``after`` into the file; raises ``StateUnusable``.

    What others wrote meanwhile stays: a task that was reset is counted from nothing.
    ``renamed`` are ids of tasks by those that they had when the file was written; ``before`` and
    ``after`` have the new ones.
    """
    changed = {task for task in (*before, *after) if before.get(task, 0) != after.get(task, 0)}
    if not changed and not renamed:
        return

    def settle(attempts: dict[str, int]) -> None:
        for was, now in renamed.items():
            if was in attempts:
                attempts[now] = max(attempts.pop(was), attempts.get(now, 0))
        for task in changed:
            more = after.get(task, 0) - before.get(task, 0)
            count = attempts.get(task, 0) + more if task in after else 0
            if count > 0:
                attempts[task] = count
            else:
                attempts.pop(task, None)

    _change(project, settle)


def forget_attempts(project: ProjectState, task: str) -> bool:
    """Take a task's line away; whether there was one. Raises ``StateUnusable``."""
    if task not in read_attempts(project):
        return False
    _change(project, lambda attempts: attempts.pop(task, None))
    return True


def forget_in_project(root: Path, state: StateFolder, task: str) -> bool:
    """The same for whoever has no engine at hand, for the project of the work tree at ``root``."""
    if not any((state.folder.parent.parent / "projects").glob(f"*/{ATTEMPTS}")):
        # Most people have no such file anywhere, and git need not be asked whose it were.
        return False
    return forget_attempts(find_project(root, state), task)


_LINE = re.compile(r"(?P<task>[^\x00-\x1f\x7f]*[^\x00-\x20\x7f]) *: *(?P<count>\d{1,6})")


def _change(project: ProjectState, change: Callable[[dict[str, int]], object]) -> None:
    from filelock import FileLock, Timeout

    make_private_folder(project.folder)
    lock = FileLock(project.folder / ".attempts.lock", timeout=LOCK_PATIENCE, mode=PRIVATE_FILE)
    try:
        with lock:
            attempts = read_attempts(project)
            change(attempts)
            lines = (f"{task}:{count}\n" for task, count in attempts.items())
            written = "".join(line for line in lines if _LINE.fullmatch(line.rstrip("\n")))
            write_atomic(project.attempts, written.encode("utf-8", "replace"), mode=PRIVATE_FILE)
    except Timeout as error:
        raise StateUnusable(
            f"{project.attempts} is being written by another process for too long; "
            f"end that one, or remove {lock.lock_file}"
        ) from error
    except OSError as error:
        raise StateUnusable(
            f"{project.attempts} cannot be written: {error.strerror or error}; "
            "free some space or mend the permissions, then try again"
        ) from error
