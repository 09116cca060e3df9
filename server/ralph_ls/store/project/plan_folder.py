"""Plan folder: reading and editing a plan in several files of one folder.

The files are joined to one text, in which the plan is read and edited; only files whose part of it
changed are written, each in place and atomically. No edit removes a file; the guard removes those
that an agent has renamed. Everything here blocks.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from ralph_ls.core.plan.formats.plan_folder import join_files, split_files
from ralph_ls.core.plan.model import LARGEST_PLAN, size_limit_error
from ralph_ls.protocol.errors import PlanMissing, PlanUnusable, StateUnusable
from ralph_ls.store.files import (
    ChangedMeanwhile,
    names_in,
    read_regular,
    resolve_inside,
    write_atomic,
)

MOST_FILES = 10_000
"""Most files of one plan."""

MOST_TRIES = 20
"""How often an edit is retried after concurrent writes."""


def read_plan_file(path: Path) -> bytes | None:
    """The bytes of a plan, None where there is no such file.

    Raises ``PlanUnusable`` with the remedy where it is not a regular file, unreadable, or too
    large.
    """
    try:
        data = read_regular(path, LARGEST_PLAN)
    except StateUnusable as error:
        raise PlanUnusable(f"the plan {error.message}") from error
    why = None if data is None else size_limit_error(len(data), data.count(b"\n"))
    if why is not None:
        raise PlanUnusable(f"the plan {path} is {why}; make it smaller, or remove it")
    return data


def folder_files(root: Path, folder: str, members: str) -> tuple[str, ...]:
    """The paths of the plan's files, relative to the root, sorted; none where there is no folder.

    Raises ``PlanUnusable`` where the folder cannot be listed, or has too many files.
    """
    if not (root / folder).is_dir():
        return ()
    try:
        names = sorted(name for name in names_in(root / folder) if fnmatchcase(name, members))
    except StateUnusable as error:
        raise PlanUnusable(f"the plan {error.message}") from error
    if len(names) > MOST_FILES:
        raise PlanUnusable(
            f"the plan {root / folder} has more than {MOST_FILES:,} files; archive some of them"
        )
    return tuple(f"{folder}/{name}" for name in names)


def read_folder(root: Path, folder: str, members: str) -> str:
    """The joined text of the plan; raises ``PlanMissing`` where the folder is gone.

    Raises ``PlanUnusable`` for a file that cannot be read, is not UTF-8, or makes it too large.
    """
    if not (root / folder).is_dir():
        raise PlanMissing(
            f"the plan {root / folder} cannot be read: {os.strerror(errno.ENOENT)}; restore it, "
            f"for example with: git checkout -- {folder}"
        )
    texts: dict[str, str] = {}
    size = 0
    for path in folder_files(root, folder, members):
        data = read_plan_file(resolve_inside(root, path))
        if data is None:
            continue
        size += len(data)
        if size > LARGEST_PLAN:
            raise PlanUnusable(
                f"the plan {root / folder} is larger than {LARGEST_PLAN >> 20} MB; "
                "archive some of its files"
            )
        try:
            texts[path] = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PlanUnusable(
                f"the plan's file {root / path} is not UTF-8 text, so its task cannot be read; "
                "save it as UTF-8, then try again"
            ) from error
    return join_files(texts)


def edit_folder(
    root: Path, folder: str, members: str, change: Callable[[str], str], instead: str
) -> tuple[str, str]:
    """Change the plan; returns its joined text before and after.

    ``instead`` is the remedy where another process keeps writing it. Raises as ``read_folder``,
    ``StateUnusable``, and any error of ``change``.
    """
    for _ in range(MOST_TRIES):
        text = read_folder(root, folder, members)
        edited = change(text)
        try:
            write_folder(root, text, edited)
        except ChangedMeanwhile:
            continue
        return text, edited
    raise StateUnusable(
        f"the plan {root / folder} is being written again and again by another process; "
        f"stop that, then {instead}, or resume: ralph run --resume"
    )


def write_folder(root: Path, before: str, after: str) -> None:
    """Write the files that differ between two joined texts, the first of which is there.

    Raises ``ChangedMeanwhile``, and ``StateUnusable`` where one cannot be written.
    """
    known = {one.path: one.text for one in split_files(before)}
    for one in split_files(after):
        if one.text == known.get(one.path):
            continue
        target = resolve_inside(root, one.path)
        earlier = known.get(one.path)
        expected = None if earlier is None else earlier.encode("utf-8")
        if expected is None:
            write_atomic(target, one.text.encode("utf-8"))
        else:
            write_atomic(target, one.text.encode("utf-8"), expected=expected)
