"""What kind of change an iteration made: the same files again, output, white space alone.

Facts for ``core.loop.evidence``, found with as little as possible: names first, then what is
remembered of the files, and only then the bytes, for which git is asked at most once. What cannot
be found out is no repetition. Whether a change is progress is the core's to say.
"""

from __future__ import annotations

import stat
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph_ls.core.loop.evidence import churn
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.engine.git_history import hash_algorithm
from ralph_ls.engine.git_status import blob_value
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import read_regular

FILES_LIMIT = 50
"""Changed files whose content is compared; more are no repetition."""

FILE_BYTES = 4 << 20
"""Size of a file that is compared."""

REMEMBERED = 5
"""Iterations whose changed files are remembered."""


@dataclass(slots=True)
class ChangeMemory:
    """What is remembered of the files that earlier iterations changed."""

    changed: deque[tuple[int, frozenset[str]]] = field(
        default_factory=lambda: deque(maxlen=REMEMBERED)
    )
    """The paths that each iteration changed, oldest first."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of the files that were changed last."""

    def before(self, iteration: int, run: RunState) -> list[frozenset[str]]:
        """What the iterations before changed, the last one at the end."""
        known = [paths for number, paths in self.changed if number != iteration]
        told = run.evidence
        if not known and told is not None and told.files == len(told.paths):
            # Another engine has seen it.
            known = [frozenset(told.paths)] if run.evidence_start != iteration else []
        return known

    def remember(self, iteration: int, root: Path, paths: Collection[str]) -> None:
        """Remember what this iteration changed; one that changed nothing leaves what was."""
        if not paths:
            return
        if self.changed and self.changed[-1][0] == iteration:
            self.changed.pop()
        self.changed.append((iteration, frozenset(paths)))
        found = {path: _size(root / path) for path in list(paths)[:FILES_LIMIT]}
        self.sizes = {path: size for path, size in found.items() if size is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of the iteration beside its changes."""

    iteration: int
    before: Baseline
    edited: Collection[str]
    """Files that the agent says it wrote."""
    finished: bool
    """A task became done, so nothing else is asked for."""
    is_committed: bool
    """The agent committed something, or the loop is going to."""


def with_kinds(
    root: Path, found: Changes, run: RunState, memory: ChangeMemory, known: Circumstances
) -> Changes:
    """The same changes, and of what kind they are; remembers them for the next iteration."""
    earlier, sizes = memory.before(known.iteration, run), dict(memory.sizes)
    memory.remember(known.iteration, root, found.paths)
    if known.finished or not found.paths:
        return found
    is_again = bool(earlier) and churn.are_repeated(
        found.paths, earlier, is_committed=known.is_committed
    )
    may_be_cosmetic = known.is_committed and not known.before.dirty.keys() & set(found.paths)
    is_needed = may_be_cosmetic or not all(map(churn.looks_like_output, found.paths))
    is_read = is_needed and (is_again or may_be_cosmetic) and len(found.paths) <= FILES_LIMIT
    files = (
        _read_files(root, found.paths, sizes, known)
        if is_read
        else [churn.ChangedFile(path=path) for path in found.paths]
    )
    return replace(
        found,
        again=churn.kind_of_repetition(files) if is_again else None,
        cosmetic=True if may_be_cosmetic and churn.is_cosmetic(files) else None,
    )


def _read_files(
    root: Path, paths: Sequence[str], sizes: Mapping[str, int], known: Circumstances
) -> list[churn.ChangedFile]:
    """Both versions of the changed files, as far as they can be had."""
    before, told = known.before, set(known.edited)
    now = {path: _read(root / path) for path in paths}
    asked = [path for path, data in now.items() if data is not None and path not in before.dirty]
    was = _committed(root, before.head, asked)
    files: list[churn.ChangedFile] = []
    for path, data in now.items():
        size = sizes.get(path)
        has_grown = size is not None and data is not None and len(data) > size
        if path in before.dirty and size is not None and data is not None:
            # What was there before is in no commit; that it still is there can be told.
            value = blob_value(data[:size], algorithm=hash_algorithm(before.head))
            if before.dirty[path].endswith(value):
                was[path] = data[:size]
        file = churn.ChangedFile(
            path=path, was=was.get(path), now=data, is_edited=has_grown or path in told
        )
        files.append(file)
    return files


def _committed(root: Path, head: str | None, paths: Collection[str]) -> dict[str, bytes]:
    """What the files hold in a commit; those that are not in it are missing."""
    names = [path for path in paths if "\n" not in path]
    if head is None or not names:
        return {}
    asked = "".join(f"{head}:{path}\n" for path in names).encode("utf-8", "surrogateescape")
    try:
        printed = run_git(root, "cat-file", "--batch", stdin=asked)
    except RalphError:
        return {}
    found: dict[str, bytes] = {}
    position = 0
    for path in names:
        end = printed.find(b"\n", position)
        described = printed[position:end].rsplit(b" ", 2)
        position = end + 1
        if end < 0 or len(described) != 3 or not described[2].isdigit():
            continue
        size = int(described[2])
        if described[1] == b"blob":
            found[path] = printed[position : position + size]
        position += size + 1
    return found


def _read(path: Path) -> bytes | None:
    try:
        return None if path.is_symlink() else read_regular(path, FILE_BYTES)
    except StateUnusable:
        return None


def _size(path: Path) -> int | None:
    """Bytes of a regular file; None where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
