"""A person's edit of the plan's file: in place, atomically, and known as a person's (SPEC §8).

What somebody else writes meanwhile is kept: the edit is made anew on what lies there then. It must
never know which edits there are.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ralph_ls.core.plan.kinds import PlanKind, kind_of_file
from ralph_ls.core.plan.limits import LARGEST_PLAN, why_text_too_large, why_too_large
from ralph_ls.protocol.errors import PlanMissing, PlanUnusable, StateUnusable
from ralph_ls.store.files import ChangedMeanwhile, read_regular, resolve_inside, write_atomic
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.saves import Saved, record_save, text_hash

MERGES = 20
"""How often an edit is made anew because somebody else was quicker."""


def read_plan(root: Path, path: str) -> bytes:
    """The plan's bytes; raises ``PlanMissing`` where it is gone, else as ``read_plan_file``."""
    data = read_plan_file(root / path)
    if data is None:
        raise PlanMissing(
            f"the plan {root / path} cannot be read: {os.strerror(errno.ENOENT)}; put it back, "
            "for example with: git checkout -- " + path
        )
    return data


def read_plan_file(path: Path) -> bytes | None:
    """The bytes of a plan, None where there is no such file.

    Raises ``PlanUnusable`` with what to do where it is no regular file, cannot be read, or is
    larger than a plan may be.
    """
    try:
        data = read_regular(path, LARGEST_PLAN)
    except StateUnusable as error:
        raise PlanUnusable(f"the plan {error.message}") from error
    why = None if data is None else why_too_large(len(data), data.count(b"\n"))
    if why is not None:
        raise PlanUnusable(f"the plan {path} is {why}; make it smaller, or remove it")
    return data


def edit_plan(
    root: Path, path: str, change: Callable[[bytes], bytes], instead: str
) -> tuple[bytes, bytes]:
    """Change the plan; gives it as it was and as it is then.

    ``instead`` says what is to be done where somebody writes it again and again. Raises
    ``PlanMissing``, ``StateUnusable``, and whatever ``change`` does.
    """
    target = resolve_inside(root, path)
    for _ in range(MERGES):
        data = read_plan(root, path)
        edited = change(data)
        if edited == data:
            return data, data
        try:
            write_atomic(target, edited, expected=data)
        except ChangedMeanwhile:
            continue
        return data, edited
    raise StateUnusable(
        f"the plan {target} is being written again and again by somebody else; "
        f"stop that, then {instead}, or run on: ralph run --resume"
    )


def edit_as_person(
    root: Path,
    state: StateFolder,
    path: str,
    change: Callable[[str], str],
    *,
    at: datetime,
    kind: PlanKind = PlanKind.MARKDOWN,
) -> bool:
    """Change the plan on a person's order, and keep that it was one; whether it had to change.

    ``change`` gets the text with what is no UTF-8 in it as half characters, which come out as the
    same bytes. Raises as ``edit_plan``.
    """

    def in_bytes(data: bytes) -> bytes:
        text = data.decode("utf-8", errors="surrogateescape")
        return change(text).encode("utf-8", errors="surrogateescape")

    before, after = edit_plan(root, path, in_bytes, "try again")
    if before == after:
        return False
    # Under the name that the engine looks for, which has no symbolic links in it.
    real = os.path.relpath(os.path.realpath(root / path), os.path.realpath(root))
    record_edit(
        state,
        real.replace(os.sep, "/"),
        before.decode("utf-8", errors="replace"),
        after.decode("utf-8", errors="replace"),
        at=at,
        kind=kind,
    )
    return True


def record_edit(
    state: StateFolder,
    path: str,
    before: str,
    after: str,
    *,
    at: datetime,
    kind: PlanKind = PlanKind.MARKDOWN,
) -> None:
    """Keep what a person's edit of the plan did; raises ``StateUnusable`` where that cannot be.

    ``kind`` is what it is written in where its name does not say so.
    """
    from ralph_ls.core.plan.orders import effects_of

    ticked: tuple[str, ...] = ()
    decided: tuple[tuple[str, str], ...] = ()
    if why_text_too_large(before) is None and why_text_too_large(after) is None:
        ticked, decided = effects_of(kind_of_file(path, kind), before, after)
    saved = Saved(
        at=at,
        path=path,
        before=text_hash(before),
        sha256=text_hash(after),
        ticked=ticked,
        decided=decided,
    )
    record_save(state, saved)
