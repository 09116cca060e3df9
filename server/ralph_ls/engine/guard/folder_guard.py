"""Guard of a plan in several files: each file is restored by itself, in the work tree.

What the user saved or committed of a file while the agent worked is where the agent's changes to it
begin, as for a plan in one file. The file as the agent left it is kept in the run's folder.

Slow, for files are read: call it in threads.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.inputs import RevertedChange
from ralph_ls.engine.delivery.restoration_commits import entries_of
from ralph_ls.engine.git.history import IterationCommits
from ralph_ls.engine.guard.branch_guard import BranchGuard, KnownPlan
from ralph_ls.engine.guard.protected_files import DisplacedFiles
from ralph_ls.engine.plan.source import GuardedPlan, WatchedIteration
from ralph_ls.engine.plan.structured import FolderSource
from ralph_ls.engine.worktree.workspace import Workspace, saves_of
from ralph_ls.protocol.errors import PlanMissing, PlanUnusable, StateUnusable
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.store.files import ChangedMeanwhile, printable_path, resolve_inside, write_atomic
from ralph_ls.store.project.plan_file import UserSave, text_hash
from ralph_ls.store.project.plan_folder import read_folder, read_plan_file, write_folder

MERGES = 20
"""Attempts to guard the plan again because another process was quicker."""

Files = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFolder:
    """A plan in several files after one iteration."""

    known: KnownPlan
    """What its version in HEAD is judged by."""
    reverted: tuple[RevertedChange, ...] = ()
    """Files that could not be read as part of a plan."""
    guarded: GuardedPlan
    kept: Mapping[str, str] = field(default_factory=dict)
    """Where the agent's version of each file is kept, by path."""


class FolderGuard:
    """Restores the files of one iteration."""

    def __init__(
        self,
        workspace: Workspace,
        source: FolderSource,
        history: BranchGuard,
        keeper: DisplacedFiles,
        commits: IterationCommits,
        *,
        since: datetime | None,
    ) -> None:
        self._workspace = workspace
        self._source = source
        self._root = workspace.root
        self._history = history
        self._keeper = keeper
        self._commits = commits
        self._since = since

    def restore(
        self, before: str, watched: WatchedIteration, users: Collection[str]
    ) -> GuardedFolder:
        """Restore what the agent may not have changed since this was the plan.

        ``users`` are the paths of which all changes are the user's. Raises ``StateUnusable`` where
        a file cannot be written.
        """
        was = self._source.files_of(before)
        broken = tuple(self._unreadable_back(was))
        moved = self._moved_back(was, users)
        broken += tuple(
            RevertedChange(
                path=printable_path(other),
                what=Forbidden.CREATED,
                why=f"a task must stay where it is, so it was moved back to {printable_path(path)}",
            )
            for path, other in moved.items()
        )
        for _ in range(MERGES):
            after = self._read()
            now = self._source.files_of(after)
            start, decided = self._as_user_left(was, now, users)
            text, seen = self._source.text_of(start), replace(watched, decided=decided)
            known = KnownPlan(
                path=self._source.path,
                before=text.encode("utf-8"),
                seen=seen,
                files=tuple({**was, **now}),
                moved=moved,
            )
            guarded = self._source.guarded(text, after, seen)
            done = GuardedFolder(known=known, reverted=broken, guarded=guarded)
            if not guarded.offences:
                return done
            try:
                kept = self._write(after, guarded.text)
            except ChangedMeanwhile:
                continue
            return replace(done, kept=kept)
        raise StateUnusable(
            f"another program keeps writing the plan {self._root / self._source.path}; "
            "stop it, then continue with: ralph run --resume"
        )

    def _read(self) -> str:
        try:
            return read_folder(self._root, self._source.path, self._source.format.members)
        except PlanMissing:
            self._keeper.clear_way(self._root / self._source.path / "task")
            return ""

    def _as_user_left(
        self, was: Files, now: Files, users: Collection[str]
    ) -> tuple[dict[str, str], frozenset[tuple[str, str]]]:
        """The files where the agent's changes begin, and what the user did to their tasks."""
        start = dict(was)
        decided: set[tuple[str, str]] = set()
        for path in {**was, **now}:
            version = self._history.version_of_user(path, self._commits)
            if version is not None:
                _set(start, path, None if version.data is None else _decoded(version.data))
            elif path in users:
                _set(start, path, now.get(path))
            saves = saves_of(self._workspace, path, since=self._since)
            decided.update(one for save in saves for one in save.decided)
            if path in now and _is_saved(saves, start.get(path, ""), now[path]):
                start[path] = now[path]
        return start, frozenset(decided)

    def _write(self, after: str, restored: str) -> dict[str, str]:
        """Write what differs; returns where the agent's version of each file is kept."""
        here, wanted = self._source.files_of(after), self._source.files_of(restored)
        differing = [path for path, text in here.items() if wanted.get(path) != text]
        kept = {path: self._keeper.keep(path, here[path].encode("utf-8")) for path in differing}
        write_folder(self._root, after, restored)
        for path in here.keys() - wanted.keys():
            self._keeper.move_away(self._root / path, is_copied=True)
        return kept

    def _moved_back(self, was: Files, users: Collection[str]) -> dict[str, str]:
        """Move back what the agent moved to where the tool puts tasks away; its places by path.

        Restored beside that, a task would be there twice, which its tool does not accept.
        """
        parent = Path(self._source.path).parent
        found: dict[str, str] = {}
        for path in was:
            target = self._root / path
            if os.path.lexists(target) or path in users or not target.parent.is_dir():
                continue
            if self._history.version_of_user(path, self._commits) is not None:
                continue
            places = (
                (parent / one / target.name).as_posix() for one in self._source.format.put_away
            )
            other = next((one for one in places if self._is_new(one)), None)
            if other is not None:
                (self._root / other).rename(target)
                found[path] = other
        return found

    def _is_new(self, path: str) -> bool:
        """Whether a readable file is there that was not committed when the iteration began."""
        target = self._root / path
        is_there = target.is_file() and not target.is_symlink() and _is_readable(self._root, path)
        return is_there and entries_of(self._root, self._commits.base, [path])[path] is None

    def _unreadable_back(self, was: Files) -> list[RevertedChange]:
        """Move away what cannot be read as a file of the plan, and restore those that were one."""
        found: list[RevertedChange] = []
        for path in dict.fromkeys([*was, *self._source.own_files]):
            target = self._root / path
            if not os.path.lexists(target) or _is_readable(self._root, path):
                continue
            try:
                self._keeper.move_away(target, is_copied=False)
            except OSError as error:
                raise StateUnusable(
                    f"the agent changed {target}, and it cannot be moved away: "
                    f"{error.strerror or error}; remove it, then run again"
                ) from error
            if path in was:
                write_atomic(target, was[path].encode("utf-8"))
            found.append(
                RevertedChange(
                    path=printable_path(path),
                    what=Forbidden.DELETED if path in was else Forbidden.CREATED,
                    why="a task must stay a regular file of UTF-8 text",
                )
            )
        return found


def _is_readable(root: Path, path: str) -> bool:
    try:
        data = read_plan_file(resolve_inside(root, path))
        return data is not None and data.decode("utf-8") is not None
    except (PlanUnusable, StateUnusable, UnicodeDecodeError):
        return False


def _is_saved(saves: Sequence[UserSave], before: str, now: str) -> bool:
    """Whether all that differs is what the user saved."""
    reached = text_hash(before)
    for save in saves:
        reached = save.sha256 if save.before == reached else reached
    return bool(saves) and reached == text_hash(now)


def _set(files: dict[str, str], path: str, text: str | None) -> None:
    if text is None:
        files.pop(path, None)
    else:
        files[path] = text


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
