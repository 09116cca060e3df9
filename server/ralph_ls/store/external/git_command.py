"""Git command: runs git to read a repository; every read of git goes through `run_git`.

A repository may have settings that name programs, and the caller's environment may redirect git to
another repository; a read must neither run the former nor follow the latter. Hooks, file system
monitors, pagers and prompts are off, no locks are taken, and git reads the given tree. Once a run
trusts the repository its filters do run (git-lfs is one) and may hang: git has a time limit, and is
ended with all that it started.
"""

from __future__ import annotations

import functools
import os
import subprocess
import threading
from collections.abc import Collection, Mapping
from pathlib import Path

from ralph_ls.protocol.errors import GitMissing, RalphError, WorkspaceMissing
from ralph_ls.store.external.git_safety import (
    NO_TRANSPORT,
    disabling_settings,
    find_blocking_input,
    require_git_can_read,
)
from ralph_ls.store.external.programs import find_trusted_program
from ralph_ls.store.external.supervisor import current, run
from ralph_ls.store.layout import find_worktree

READ_SECONDS = 60.0
"""Default time limit of a read, in seconds."""

CHANGE_SECONDS = 600.0
"""Time limit of using a remote, and of writing a work tree, whose filters may fetch files."""

_WRITES_TREE = frozenset({"checkout", "commit", "read-tree", "reset", "restore", "switch"})
_USES_REMOTE = frozenset({"fetch", "ls-remote", "push"})

GIT_REDIRECTIONS = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
"""Variables that redirect git to another repository, as set in a git hook that started us.

``GIT_CONFIG_COUNT`` and the like are kept: they have settings such as ``safe.directory`` in CI.
"""

_SAFELY = (
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotepath=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "safe.bareRepository=explicit",
)


def run_git(
    root: Path,
    *arguments: str,
    accept: Collection[int] = (0,),
    git_dir: Path | None = None,
    stdin: bytes = b"",
    settings: Mapping[str, str] | None = None,
) -> bytes:
    """Standard output of git in the work tree ``root``; blocks until it has ended.

    With ``git_dir`` git does not search for it from ``root``; ``settings`` are additional
    variables, such as ``GIT_INDEX_FILE``. Raises ``WorkspaceMissing`` where ``root`` is not a work
    tree, and ``RalphError`` with git's message where its exit code is not in ``accept``, it takes
    too long, or is ended with the run.
    """
    program = git_program(root)
    require_git_can_read(root)
    place = [] if git_dir is None else [f"--git-dir={git_dir}"]
    waits_for: str | None = None

    def waits_forever() -> bool:
        nonlocal waits_for
        waits_for = find_blocking_input(root)
        return waits_for is not None

    try:
        done = run(
            [program, *_SAFELY, *place, *arguments],
            cwd=root,
            environment={**os.environ, **_environment(root), **_quieting(root, git_dir, settings)},
            seconds=_seconds_for(arguments[0]),
            stdin=stdin,
            waits_forever=waits_forever,
        )
    except subprocess.TimeoutExpired as error:
        waits_for = waits_for or find_blocking_input(root)
        raise _too_slow(root, arguments, error.timeout, waits_for) from error
    except FileNotFoundError as error:
        if root.is_dir():
            raise _no_git() from error
        raise WorkspaceMissing(f"{root} no longer exists") from error
    if done.code in accept:
        return done.stdout
    if done.code < 0 and current().is_over:
        raise RalphError(f"git {arguments[0]} in {root} was stopped, because the run is ending")
    complaint = done.stderr.decode("utf-8", errors="replace")
    if "not a git repository" in complaint:
        raise WorkspaceMissing(
            f"{root} is not in a git work tree; change into your repository, or create one with "
            "git init"
        )
    words = " ".join(complaint.split()) or f"it ended with code {done.code}"
    raise RalphError(f"git {arguments[0]} failed in {root}: {words}; fix that, then try again")


def read_objects(root: Path, *arguments: str) -> bytes:
    """Like `run_git`, for a question whose answer never changes: about objects, by full hashes.

    An iteration asks the same several times, and its successor asks again about its base. So the
    newest answers are kept in this process; errors and large answers are not.
    """
    key = (os.fspath(root), *arguments)
    with _answers_lock:
        known = _answers.pop(key, None)
        if known is not None:
            _answers[key] = known
            return known
    answer = run_git(root, *arguments)
    if len(answer) <= _LARGEST_ANSWER:
        with _answers_lock:
            _answers[key] = answer
            while len(_answers) > _MOST_ANSWERS:
                del _answers[next(iter(_answers))]
    return answer


_MOST_ANSWERS = 64
_LARGEST_ANSWER = 1 << 16
"""Bytes."""

_answers: dict[tuple[str, ...], bytes] = {}
"""The most recently used last."""
_answers_lock = threading.Lock()


def _quieting(
    root: Path, git_dir: Path | None, settings: Mapping[str, str] | None
) -> dict[str, str]:
    """``settings``, and variables that keep git from running the repository's programs."""
    if git_dir is not None or settings is NO_TRANSPORT:
        return {**(settings or {})}

    def ask(*arguments: str) -> bytes:
        return run_git(root, *arguments, accept=(0, 1), settings=NO_TRANSPORT)

    return {**disabling_settings(root, ask), **(settings or {})}


def _seconds_for(command: str) -> float:
    if command in _WRITES_TREE | _USES_REMOTE:
        return CHANGE_SECONDS
    return current().read_seconds or READ_SECONDS


def _too_slow(
    root: Path, arguments: tuple[str, ...], seconds: float, waits_for: str | None
) -> RalphError:
    """Error of a git that hung, with its likely cause: something that it runs or reads."""
    shown = " ".join(["git", *arguments])
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    ended = f"{shown} did not finish within {seconds:g} s in {root}, so it was ended"
    if waits_for is not None:
        return RalphError(f"{ended}: {waits_for}")
    return RalphError(
        f"{ended} with everything it had started; check whether it hangs for you too: a filter in "
        ".gitattributes (such as git-lfs), or a network file system; if git is only slow, raise "
        "timeouts.git in the settings"
    )


_SHOWN = 80


def git_program(root: Path) -> str:
    """Path of git; raises ``GitMissing`` if it is not on PATH outside of the work tree."""
    return _find_git(os.environ.get("PATH", ""), Path(os.path.realpath(root)))


def without_git_redirections(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` without redirections of git to another repository."""
    return {name: value for name, value in environment.items() if name not in GIT_REDIRECTIONS}


@functools.cache
def _find_git(path: str, real_root: Path) -> str:
    found = find_trusted_program("git", real_root, path)
    if found is None:
        raise _no_git()
    return found


def _no_git() -> RalphError:
    return GitMissing(
        "git was not found on PATH; install git 2.31 or newer: https://git-scm.com/downloads, or "
        "your system's package git, then restart the editor or the terminal"
    )


def _environment(root: Path) -> dict[str, str]:
    """Additional variables for git; redirections point to the work tree's repository."""
    environment = {
        "GIT_TERMINAL_PROMPT": "0",
        # Its error messages are parsed.
        "LANGUAGE": "C",
        "LC_ALL": "C",
        # Of a broken nested repository git must not read the one around it instead.
        "GIT_CEILING_DIRECTORIES": str(Path(os.path.realpath(root)).parent),
    }
    redirections = GIT_REDIRECTIONS.intersection(os.environ)
    if redirections:
        place = find_worktree(root)
        home = {
            "GIT_DIR": str(place.git_dir),
            "GIT_WORK_TREE": str(place.root),
            "GIT_COMMON_DIR": str(place.common_dir),
            "GIT_INDEX_FILE": str(place.git_dir / "index"),
            "GIT_OBJECT_DIRECTORY": str(place.common_dir / "objects"),
            "GIT_SHALLOW_FILE": str(place.common_dir / "shallow"),
            "GIT_GRAFT_FILE": str(place.common_dir / "info" / "grafts"),
            "GIT_REPLACE_REF_BASE": "refs/replace/",
        }
        environment |= {name: home.get(name, "") for name in redirections}
        environment |= {name: home[name] for name in ("GIT_DIR", "GIT_WORK_TREE")}
    return environment
