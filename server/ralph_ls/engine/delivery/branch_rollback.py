"""Branch rollback: takes a branch back to before an iteration, on the user's order.

Nothing is lost: the tree must be clean, and what is undone stays on a separate branch. It is
refused while an engine works, and over commits that no iteration made. Nothing is pushed. Journals
stay as they are, as a record of what happened (docs/rules.md#rollback); what was undone is listed
beside them, so that viewers show it as undone.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from ralph_ls.core.plurals import count_of
from ralph_ls.engine.git.worktree_state import under_way
from ralph_ls.protocol.errors import RalphError, UsageError, WorkspaceBusy
from ralph_ls.protocol.lsp.row_methods import Refusal, RollbackResult, UndoneCommit
from ralph_ls.protocol.run.values import ChangeStatus, FileChange, RollbackRecord
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.git_objects import SHOWN_FILES, commits_between, files_between
from ralph_ls.store.external.git_safety import trust_git_settings
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.run.iterations import (
    IterationBounds,
    commits_of_runs,
    find_bounds,
    record_rollback,
)
from ralph_ls.store.run.lock import EngineLock
from ralph_ls.store.run.runs import find_run

logger = logging.getLogger(__name__)

SHOWN = 3
"""How many paths or commits a refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackOrder:
    """What is to be undone: an iteration, by its start, and all that came after it."""

    start: int
    run: str | None = None
    """None: the newest one."""
    force: bool = False
    """Also over commits that no iteration made."""


class _Refused(Exception):
    def __init__(self, code: str, message: str, **known: object) -> None:
        super().__init__(message)
        self.refusal = Refusal(code=code, message=message)
        self.known = known


def preview_rollback(
    worktree: Worktree, state: StateFolder, wanted: RollbackOrder, now: datetime
) -> RollbackResult:
    """What would be undone, or why nothing would; changes nothing.

    Raises ``RalphError`` where git cannot be asked.
    """
    return _outcome(worktree, state, wanted, now, act=False, expected=None)


def roll_back(
    worktree: Worktree,
    state: StateFolder,
    wanted: RollbackOrder,
    now: datetime,
    *,
    expected: RollbackResult | None = None,
) -> RollbackResult:
    """Roll back, or say why not. With ``expected``, only what the user was shown is undone."""
    return _outcome(worktree, state, wanted, now, act=True, expected=expected)


def _outcome(
    worktree: Worktree,
    state: StateFolder,
    wanted: RollbackOrder,
    now: datetime,
    *,
    act: bool,
    expected: RollbackResult | None,
) -> RollbackResult:
    nothing = RollbackResult(done=False, run=wanted.run or "", start=wanted.start)
    if act:
        # What git writes into the tree goes through the repository's filters, as in any checkout.
        trust_git_settings(worktree.root)
    try:
        with _no_engine(worktree):
            found = _look(worktree, state, wanted, now)
            if not act:
                return found
            if expected is not None and _essence(expected) != _essence(found):
                raise _Refused(
                    "nothing-to-undo",
                    "the branch has changed since you looked; check again what would be undone",
                    found=found,
                )
            _undo(worktree, found)
            _record(worktree, state, found, now)
            return found.model_copy(update={"done": True})
    except _Refused as refused:
        known = refused.known.get("found")
        shown = known if isinstance(known, RollbackResult) else nothing
        return shown.model_copy(update={"refused": refused.refusal})


@contextmanager
def _no_engine(worktree: Worktree) -> Iterator[None]:
    """No run can begin meanwhile: an engine that is started finds the work tree taken."""
    lock = EngineLock(worktree.git_dir)
    try:
        lock.acquire()
    except WorkspaceBusy as busy:
        raise _Refused(
            "run-goes-on", f"{busy.message}; a branch can only be rolled back when no run is active"
        ) from busy
    try:
        yield
    finally:
        lock.release()


def _look(
    worktree: Worktree, state: StateFolder, wanted: RollbackOrder, now: datetime
) -> RollbackResult:
    try:
        ends = find_bounds(worktree, state, run=wanted.run, start=wanted.start)
    except UsageError as error:
        raise _Refused("no-iteration", error.message) from error
    head, branch = _head(worktree), _branch(worktree)
    target = _target(worktree, ends, head, branch)
    journals = _state_of(worktree, state)
    commits = _undone(worktree, journals, target, head)
    differing = files_between(worktree.root, target, head)
    files = [one.path for one in differing]
    found = RollbackResult(
        done=False,
        run=ends.run,
        start=wanted.start,
        iteration=ends.iteration,
        branch=branch,
        target=target,
        commits=commits,
        files=tuple(files[:SHOWN_FILES]),
        more_files=max(0, len(files) - SHOWN_FILES),
        backup=_backup_name(worktree, now),
        force_push=_force_push(worktree, branch, target, head),
    )
    _require_clean(worktree, found)
    _require_room(worktree, differing, found)
    foreign = [one for one in commits if one.foreign]
    if foreign and not wanted.force:
        named = ", ".join(f"{one.hash[:7]} {one.subject}" for one in foreign[:SHOWN])
        more = f" and {len(foreign) - SHOWN} more" if len(foreign) > SHOWN else ""
        raise _Refused(
            "foreign-commits",
            f"{len(foreign)} of {count_of(len(commits), 'commit')} "
            f"{'was' if len(foreign) == 1 else 'were'} not made by an iteration: {named}{more}; "
            "undo them as well with --force, or save them elsewhere first",
            found=found,
        )
    return found


def _target(worktree: Worktree, ends: IterationBounds, head: str, branch: str) -> str:
    if ends.base is None:
        raise _Refused(
            "no-base",
            f"iteration {ends.iteration} began before the first commit, so there is nothing to "
            "return to; remove what you do not want by hand",
        )
    if ends.base == head:
        raise _Refused(
            "nothing-to-undo",
            f"{branch} is already where iteration {ends.iteration} began ({head[:7]})",
        )
    try:
        run_git(worktree.root, "merge-base", "--is-ancestor", ends.base, head)
    except RalphError as error:
        raise _Refused(
            "not-on-branch",
            f"{branch} does not contain {ends.base[:7]}, where iteration {ends.iteration} began: "
            "it was rolled back, rebased or is another branch; check out the run's branch",
        ) from error
    return ends.base


def _head(worktree: Worktree) -> str:
    printed = run_git(worktree.root, "rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1))
    head = printed.decode().strip()
    if not head:
        raise _Refused("nothing-to-undo", f"there is no commit yet in {worktree.root}")
    return head


def _branch(worktree: Worktree) -> str:
    printed = run_git(worktree.root, "symbolic-ref", "--quiet", "--short", "HEAD", accept=(0, 1))
    branch = printed.decode("utf-8", "replace").strip()
    if not branch:
        raise _Refused(
            "detached-head",
            "HEAD is detached, so there is no branch to roll back; check out the run's branch",
        )
    if what := under_way(worktree.git_dir):
        raise _Refused(
            "git-busy", f"a {what} is in progress in {worktree.root}; finish or abort it first"
        )
    return branch


def _state_of(worktree: Worktree, state: StateFolder) -> StateFolder:
    found = find_run(worktree, state)
    return state if found is None else StateFolder(folder=found.files.folder.parent.parent)


def _undone(
    worktree: Worktree, state: StateFolder, target: str, head: str
) -> tuple[UndoneCommit, ...]:
    """The commits on the way back, newest first, and which of them no iteration made."""
    commits = commits_between(worktree.root, target, head)
    unknown = {commit.hash for commit in commits}
    for known in commits_of_runs(state):
        if not unknown:
            break
        unknown -= known
    return tuple(
        UndoneCommit(hash=one.hash, subject=one.subject, foreign=one.hash in unknown)
        for one in commits
    )


def _require_clean(worktree: Worktree, found: RollbackResult) -> None:
    printed = run_git(
        worktree.root,
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
        "--no-renames",
    )
    paths = [entry[3:].decode("utf-8", "replace") for entry in printed.split(b"\0") if entry]
    if paths:
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        raise _Refused(
            "dirty-tree",
            f"the work tree has uncommitted changes: {', '.join(paths[:SHOWN])}{more}; commit or "
            "stash them first: git stash --include-untracked",
            found=found,
        )


def _require_room(
    worktree: Worktree, differing: Sequence[FileChange], found: RollbackResult
) -> None:
    """Nothing may be written over that git ignores: it would do so without a word."""
    removed = {one.old_path or one.path for one in differing if one.status in _GONE}
    present = {one.path for one in differing if one.status is not ChangeStatus.DELETED}
    in_the_way = {
        place
        for path in removed
        for place in (path, *_folders_of(path))
        if place not in present and _is_taken(worktree, place, is_folder=place != path)
    }
    if in_the_way:
        named = sorted(in_the_way)
        more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        raise _Refused(
            "in-the-way",
            f"ignored files are in the way: {', '.join(named[:SHOWN])}{more}; move them away first",
            found=found,
        )


_GONE = frozenset({ChangeStatus.DELETED, ChangeStatus.RENAMED})
"""What becomes of a file that comes back when the branch does."""


def _folders_of(path: str) -> list[str]:
    return [str(folder) for folder in PurePosixPath(path).parents[:-1]]


def _is_taken(worktree: Worktree, place: str, *, is_folder: bool) -> bool:
    """Whether there is a file that git does not know and the user would miss."""
    path = worktree.root / place
    if not path.is_symlink() and path.is_dir():
        if is_folder:
            return False
        literally = f":(top,literal){place}"
        return bool(run_git(worktree.root, "ls-files", "-z", "--others", "--", literally))
    return os.path.lexists(path)


def _backup_name(worktree: Worktree, now: datetime) -> str:
    name = f"ralph/backup-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    taken = run_git(worktree.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/ralph/")
    names, number = set(taken.decode("utf-8", "replace").split("\n")), 2
    chosen = name
    while chosen in names:
        chosen, number = f"{name}-{number}", number + 1
    return chosen


def _force_push(worktree: Worktree, branch: str, target: str, head: str) -> str | None:
    """What brings the remote's branch back too, where it has what is undone."""
    root = worktree.root
    remote, merge = (_config(worktree, f"branch.{branch}.{key}") for key in ("remote", "merge"))
    upstream = run_git(root, "rev-parse", "--verify", "--quiet", "@{upstream}", accept=(0, 1, 128))
    if not remote or not merge or not upstream.strip():
        return None
    undone = run_git(root, "rev-list", "--count", f"{target}..{head}")
    unpushed = run_git(
        root, "rev-list", "--count", head, f"^{target}", f"^{upstream.decode().strip()}"
    )
    if int(undone) == int(unpushed):
        return None
    there = merge.removeprefix("refs/heads/")
    spec = branch if there == branch else f"{branch}:{there}"
    return shlex.join(["git", "push", "--force-with-lease", remote, spec])


def _config(worktree: Worktree, key: str) -> str:
    printed = run_git(worktree.root, "config", "--get", key, accept=(0, 1))
    return printed.decode("utf-8", "replace").strip()


def _undo(worktree: Worktree, found: RollbackResult) -> None:
    root, backup = worktree.root, found.backup or ""
    run_git(root, "branch", "--no-track", backup, "HEAD")
    try:
        run_git(root, "reset", "--quiet", "--keep", found.target)
    except RalphError:
        run_git(root, "branch", "--quiet", "-D", backup)
        raise


def _record(worktree: Worktree, state: StateFolder, found: RollbackResult, now: datetime) -> None:
    record = RollbackRecord(
        run=found.run,
        start=found.start,
        at=now,
        branch=found.branch or "",
        backup=found.backup or "",
        commits=tuple(one.hash for one in found.commits),
    )
    try:
        record_rollback(_state_of(worktree, state), record)
    except OSError as error:
        # The branch is where the user wanted it; only views do not know.
        logger.warning("the rollback could not be written down: %s", error)


def _essence(result: RollbackResult) -> tuple[object, ...]:
    return result.run, result.branch, result.target, result.commits
