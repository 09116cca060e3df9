"""Git for the demo: queries, commits of exactly some files, recovery from a killed git.

Does not know what the files mean.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.engine.demo.script import print_paced, wait
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.external.programs import ProgramOutput, run_program

BUSY_ROUNDS = 30
"""Number of retries for a lock that another git holds."""
BUSY_WAIT_SECONDS = 0.1

PATIENCE = 600.0
"""Seconds for one call of git, with the hooks that it runs."""
LARGEST_ANSWER = 64 << 20


class GitFailed(RalphError):
    """git is missing or refused; the message holds the command and git's own words."""


class GitBusy(RalphError):
    """Another git holds a lock; nothing was committed, and trying again later may work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRepository:
    """One work tree, and the locks that were in it at the start."""

    root: Path
    old_locks: frozenset[tuple[Path, int, int]]
    """Path, inode and time of change in ns: a lock that was there at our start is not ours."""
    locks: tuple[Path, ...]
    """The lock files that a commit has to take."""


def run_git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder`` and return what it printed; raises ``GitFailed``."""
    finished = _call(folder, arguments)
    if finished.code != 0:
        message = " / ".join(finished.stderr.split("\n")).strip(" /") or "no message"
        raise GitFailed(
            f"git {arguments[0]} failed in {folder} ({message}); check git status there"
        )
    return finished.stdout


def open_repository(root: Path) -> DemoRepository:
    """The repository of ``root``, with the locks that are in it now."""
    head = _call(root, ("symbolic-ref", "--quiet", "HEAD")).stdout.strip() or "HEAD"
    names = [f"{name}.lock" for name in dict.fromkeys(("index", "HEAD", head))]
    asked = [part for name in names for part in ("--git-path", name)]
    locks = tuple(root / line for line in run_git(root, "rev-parse", *asked).splitlines())
    noted = ((path, _identity(path)) for path in locks)
    return DemoRepository(
        root=root,
        locks=locks,
        old_locks=frozenset((path, *identity) for path, identity in noted if identity),
    )


def remove_left_locks(repository: DemoRepository) -> tuple[Path, ...]:
    """Remove the locks that a killed git left behind, and return those that are still held.

    Removed only if every lock was there at the start and no git runs in this repository.
    """
    held = tuple(path for path in repository.locks if path.exists())
    if not held or not all(_is_old(repository, path) for path in held):
        return held
    if _git_lives_in(repository.root):
        return held
    for path in held:
        print_paced(
            f"A killed git left {path.name} behind, and no git is running here: removing it."
        )
        path.unlink(missing_ok=True)
    return ()


def changed_files(repository: DemoRepository, files: Sequence[str]) -> tuple[str, ...]:
    """Those of ``files`` whose content differs from the last commit's."""
    arguments = ("--no-optional-locks", "diff", "--name-only", "-z", "--no-ext-diff", "HEAD", "--")
    names = run_git(repository.root, *arguments, *files)
    return tuple(name for name in names.split("\0") if name)


def committed_text(repository: DemoRepository, file: str) -> str | None:
    """The file's text in the last commit; ``None`` where it is not in there."""
    finished = _call(repository.root, ("show", "--no-textconv", f"HEAD:./{file}"))
    return finished.stdout if finished.code == 0 else None


def commit(repository: DemoRepository, files: Sequence[str], message: str) -> str | None:
    """Commit exactly ``files``; return the short hash, or ``None`` if they held no change.

    What else is staged stays staged. Raises ``GitBusy`` while another git holds a lock, and
    ``GitFailed`` where git refuses.
    """
    if not changed_files(repository, files):
        return None
    _wait_for_locks(repository)
    run_git(repository.root, "add", "--", *files)
    run_git(repository.root, "commit", "--quiet", "--message", message, "--only", "--", *files)
    return run_git(repository.root, "rev-parse", "--short=7", "HEAD").strip()


def _call(folder: Path, arguments: Sequence[str]) -> ProgramOutput:
    command = ["git", "-c", "core.quotepath=false", "-c", "gc.auto=0", *arguments]
    try:
        return run_program(
            command,
            cwd=folder,
            environment=_git_environment(os.environ),
            timeout_seconds=PATIENCE,
            largest_answer=LARGEST_ANSWER,
        )
    except OSError as error:
        raise GitFailed(
            f"git could not be started in {folder} ({error.strerror}); install it or fix PATH, "
            f"which is {os.environ.get('PATH', 'not set')}"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed(
            f"git {arguments[0]} did not finish within {PATIENCE:g} s in {folder}; check what "
            "blocks it"
        ) from error


def _git_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without variables that redirect git or change the identity.

    Tracing variables stay: the engine may attribute commits by them.
    """
    kept = {
        name: value
        for name, value in caller.items()
        if not name.startswith("GIT_") or name.startswith("GIT_TRACE2")
    }
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}


def _wait_for_locks(repository: DemoRepository) -> None:
    """Wait a little for a git that lives; raises ``GitBusy`` if it keeps its lock."""
    held = remove_left_locks(repository)
    for _ in range(BUSY_ROUNDS):
        if not held:
            return
        wait(BUSY_WAIT_SECONDS)
        held = remove_left_locks(repository)
    if not held:
        return
    names = ", ".join(path.name for path in held)
    raise GitBusy(f"Another git is running here ({names}); the next iteration commits this")


def _is_old(repository: DemoRepository, path: Path) -> bool:
    identity = _identity(path)
    return identity is None or (path, *identity) in repository.old_locks


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _git_lives_in(root: Path) -> bool:
    """Whether a git process works in ``root``; one that cannot be looked into counts as such."""
    # Needed only when a lock was found, and every iteration starts this program again.
    import psutil

    real_root = root.resolve()
    for process in psutil.process_iter():
        try:
            if process.name().removesuffix(".exe") != "git":
                continue
            if Path(process.cwd()).resolve().is_relative_to(real_root):
                return True
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            return True
    return False
