"""External programs: finds ``bd``, ``gh`` and git on PATH, and runs them with a time limit.

A program of the work tree is never run. Each command is a list of words, never a shell line;
everything below it ends with it (`store.external.supervisor`).
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ralph_ls.store.external.supervisor import Supervisor, run


class ProgramOutput(NamedTuple):
    """Exit code and output of a program."""

    code: int
    stdout: str
    stderr: str


def find_trusted_program(name: str, root: Path, path: str) -> str | None:
    """Path of a program on this PATH outside of the work tree ``root``.

    Relative entries of PATH are skipped, since a repository could provide the program there.
    """
    real_root = os.path.realpath(root)
    searched = [
        entry
        for entry in path.split(os.pathsep)
        if Path(entry).is_absolute() and not _lies_in(entry, real_root)
    ]
    found = shutil.which(name, path=os.pathsep.join(searched)) if searched else None
    return None if found is None or _lies_in(found, real_root) else found


@functools.lru_cache(maxsize=4)
def programs_on_path(path: str) -> frozenset[str]:
    """Names of the programs on this PATH; relative entries are skipped."""
    found: set[str] = set()
    for folder in filter(os.path.isabs, path.split(os.pathsep)):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            found.update(one.name for one in entries if os.access(one.path, os.X_OK))
    return frozenset(found)


def run_program(
    words: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    largest_answer: int,
    supervisor: Supervisor | None = None,
    typed: str = "",
) -> ProgramOutput:
    """Run a program to its end; ``typed`` is its whole input, and its output is truncated.

    Raises ``OSError`` where it cannot be run, and ``subprocess.TimeoutExpired``.
    """
    done = run(
        words,
        cwd=cwd,
        environment=environment,
        seconds=timeout_seconds,
        stdin=typed.encode(),
        supervisor=supervisor,
    )
    stdout, stderr = (
        part[:largest_answer].decode("utf-8", errors="replace")
        for part in (done.stdout, done.stderr)
    )
    return ProgramOutput(done.code, stdout, stderr)


def _lies_in(path: str, real_root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(real_root)
