"""The place itself: programs, repository, state folder, disks, and how the branch stands."""

from __future__ import annotations

import os
import platform
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from ralph_ls.core.loop.rules.health import (
    MAIN_BRANCH,
    RunEnvironment,
    bytes_words,
    health_warnings,
    is_low,
)
from ralph_ls.core.views.report.doctor_checks import (
    check_from_message,
    passed_check,
    problem_check,
    warning_check,
)
from ralph_ls.engine import git
from ralph_ls.engine.handing_over import require_branch_to_push, require_identity
from ralph_ls.engine.health import disks_of
from ralph_ls.engine.pushing import find_remote
from ralph_ls.protocol.config.config import Committer, Config
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.json_output import CheckResult, CheckStatus
from ralph_ls.store.external.git_command import git_program, run_git
from ralph_ls.store.layout import StateFolder, Worktree

OLDEST_GIT = (2, 31)


def check_programs(folder: Path, environment: Mapping[str, str]) -> list[CheckResult]:
    """What runs all this: Python and git; and whether another ``ralph`` stands in the way."""
    found = [passed_check("python", f"Python {platform.python_version()} ({sys.executable})")]
    try:
        program = git_program(folder)
        printed = run_git(folder, "version").decode("utf-8", "replace").strip()
    except RalphError as error:
        return [*found, check_from_message("git", error.message)]
    message = f"{printed} ({program})"
    if _version_of(printed) < OLDEST_GIT:
        found.append(warning_check("git", message, "install git 2.31 or newer"))
    else:
        found.append(passed_check("git", message))
    return found + _other_ralphs(environment)


def check_place(worktree: Worktree, state: StateFolder, config: Config | None) -> list[CheckResult]:
    """Where a run would work, and where it would write."""
    found = [passed_check("repository", f"{worktree.root}")]
    found += _state(state)
    disks = disks_of(worktree.root, _existing(state.folder))
    found += [
        passed_check("disk", f"{bytes_words(disk.free)} are free at {disk.path}")
        for disk in disks
        if disk.free is not None and not is_low(disk)
    ]
    try:
        found += _branch(worktree, state, config)
    except RalphError as error:
        found.append(check_from_message("branch", error.message))
    return [*found, *_handing_over(worktree, config)]


def _handing_over(worktree: Worktree, config: Config | None) -> list[CheckResult]:
    """Whether somebody can commit here, and the loop push where it is to."""
    found = []
    try:
        require_identity(worktree.root)
    except RalphError:
        message = f"git knows no name to commit with in {worktree.root}"
        remedy = "git config user.name 'Your Name'; git config user.email you@example.com"
        is_loops = config is not None and config.commits is Committer.LOOP
        found.append(
            (problem_check if is_loops else warning_check)("git-identity", message, remedy)
        )
    if config is not None:
        try:
            head = git.read_head(worktree.git_dir, worktree.common_dir)
            require_branch_to_push(worktree.root, config, head)
        except RalphError as error:
            found.append(check_from_message("push", error.message))
    return found


def _branch(worktree: Worktree, state: StateFolder, config: Config | None) -> list[CheckResult]:
    """The same conditions as before an iteration, each with its remedy."""
    head = git.read_head(worktree.git_dir, worktree.common_dir)
    pushes = config is not None and config.push
    remote = find_remote(worktree.root, head.branch) if pushes and head.branch else None
    seen = RunEnvironment(
        disks=disks_of(worktree.root, _existing(state.folder)),
        branch=head.branch,
        remote=None if remote is None else remote.name,
        has_upstream=remote is not None and remote.has_upstream,
        dirty=_dirty(worktree),
    )
    found = []
    if pushes and head.branch is not None and remote is None:
        found.append(
            warning_check(
                "push-skipped",
                "nothing would be pushed, since the repository has no remote",
                "add one: git remote add origin URL, or say that you want none: push = false",
            )
        )
    told = health_warnings(seen)
    if head.branch is not None and MAIN_BRANCH not in {one.code for one in told}:
        found.insert(0, passed_check("branch", f"on {head.branch}"))
    return found + [
        check_from_message(one.code, one.message, status=CheckStatus.WARNING) for one in told
    ]


def _dirty(worktree: Worktree) -> tuple[str, ...]:
    """Tracked and untracked files that are in no commit."""
    printed = run_git(
        worktree.root, "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty"
    )
    entries = printed.decode("utf-8", "backslashreplace").split("\0")
    return tuple(entry[3:] for entry in entries if entry)


def _state(state: StateFolder) -> list[CheckResult]:
    """Whether the state can be written, and by nobody else read (SPEC §4)."""
    folder = state.folder
    there = _existing(folder)
    if not os.access(there, os.W_OK | os.X_OK):
        remedy = f"make it yours: chown -R $(id -un) {there}, or choose another: RALPH_STATE_DIR"
        return [problem_check("state-folder", f"{there} cannot be written", remedy)]
    if there != folder:
        return [passed_check("state-folder", f"{folder} is made by the first run")]
    try:
        seen = folder.stat()
    except OSError as error:
        return [
            check_from_message(
                "state-folder", f"{folder} cannot be read: {error.strerror or error}"
            )
        ]
    if sys.platform != "win32" and seen.st_uid != os.getuid():
        remedy = f"make it yours: chown -R $(id -un) {folder}"
        return [warning_check("state-folder", f"{folder} belongs to another user", remedy)]
    mode = stat.S_IMODE(seen.st_mode)
    if sys.platform != "win32" and mode & 0o077:
        message = f"{folder} can be looked into by others (mode {mode:o})"
        return [warning_check("state-folder", message, f"close it: chmod 700 {folder}")]
    return [passed_check("state-folder", str(folder))]


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next((one for one in (folder, *folder.parents) if one.exists()), folder)


def _other_ralphs(environment: Mapping[str, str]) -> list[CheckResult]:
    """Programs of the same name that a person may get instead of this one (SPEC §3)."""
    entries = environment.get("PATH", "").split(os.pathsep)
    places = [Path(entry) / "ralph" for entry in entries if Path(entry).is_absolute()]
    there = {os.path.realpath(one): one for one in places if os.access(one, os.X_OK)}
    own = {os.path.realpath(sys.argv[0]), os.path.realpath(Path(sys.executable).parent / "ralph")}
    others = [str(path) for real, path in there.items() if real not in own and path.is_file()]
    if not others:
        return []
    message = f"another program named ralph is on PATH: {', '.join(others)}"
    remedy = "see which one you get: type -a ralph; put this one's folder first on PATH"
    return [warning_check("other-ralph", message, remedy)]


def _version_of(printed: str) -> tuple[int, ...]:
    """``git version 2.39.5 (Apple Git-154)``: (2, 39)."""
    words = [word for word in printed.split() if word[:1].isdigit()]
    numbers = words[0].split(".")[:2] if words else []
    return tuple(int(number) for number in numbers if number.isdigit())
