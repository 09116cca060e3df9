"""Guarded files: settings, prompts, scripts and whatever else ``ralph allow`` covers.

They are remembered when an iteration begins and restored in the work tree after it, as they were,
or as the user has saved or committed them meanwhile. An engine that takes over from a killed one
has not seen the beginning; trust (``store.trust``) stands in for it then.
This module must never know the plan.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from ralph_ls.core.loop.inputs import RevertedChange
from ralph_ls.engine.commit_owners import IterationCommits
from ralph_ls.engine.guard_keeper import Keeper, sayable
from ralph_ls.engine.guarding_history import HistoryGuard, UserVersion
from ralph_ls.engine.persons import saves_of
from ralph_ls.engine.restoration_commits import same_lines
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config.config import CONFIG_FILE
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.store.files import names_in, read_regular, write_atomic
from ralph_ls.store.project.plan_file import text_hash
from ralph_ls.store.project.scripts import validation_files, validation_folder
from ralph_ls.store.project.trust import LARGEST_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A file as it was when the iteration began."""

    data: bytes
    mode: int
    link: str | None
    """Where it leads, where it is a symbolic link."""
    signature: tuple[int, ...]
    """Changes whenever the file is written, so that most files need not be read again."""


class GuardedFiles:
    """The guarded files of one run's work tree."""

    def __init__(self, workspace: Workspace, history: HistoryGuard) -> None:
        self._workspace = workspace
        self._history = history
        self._files: dict[str, _Known | None] | None = None
        """By path; None for one that is not there; None: this engine saw no beginning."""
        self._strange: frozenset[str] = frozenset()
        """Paths where something is that is no file, which nobody could restore."""

    @property
    def saw_beginning(self) -> bool:
        """Whether this engine has seen an iteration begin."""
        return self._files is not None

    def remember(self) -> None:
        """Take all of them as they are."""
        known = self._files or {}
        self._files = {path: self._look(path, known.get(path)) for path in self._watched()}
        root = self._workspace.root
        missing = [path for path, was in self._files.items() if was is None]
        self._strange = frozenset(path for path in missing if os.path.lexists(root / path))

    def paths(self, committed: Iterable[str] = ()) -> list[str]:
        """Every one that is guarded, relative to the root, also where it is not there.

        With those among ``committed`` that would be one of them if they were there.
        """
        made = filter(self._would_be_guarded, map(PurePosixPath, committed))
        paths = {*(self._files or ()), *self._watched(), *map(str, made)}
        return sorted(paths - self._strange)

    def _would_be_guarded(self, path: PurePosixPath) -> bool:
        config = self._workspace.config
        if path.parent == PurePosixPath(config.paths.prompts):
            return path.match("PROMPT_*.md")
        is_script = not path.name.startswith(".") and not path.name.endswith("~")
        return is_script and path.parent == PurePosixPath(validation_folder(config))

    def restore(
        self, keeper: Keeper, commits: IterationCommits, *, since: datetime | None
    ) -> Iterator[RevertedChange]:
        """Restore them in the work tree; ``since`` is from when on a save of the user's is new.

        Raises ``StateUnusable`` where one cannot be written.
        """
        if self._files is None:
            return
        for path in self.paths():
            target = self._workspace.root / path
            now = self._look(path, self._files.get(path))
            was = self._as_user_left((path, since), self._files.get(path), now, commits)
            if was is not None and now is not None and _same(was, now):
                continue
            if was is None and not os.path.lexists(target):
                continue
            what = Forbidden.CHANGED if os.path.lexists(target) else Forbidden.DELETED
            agents = b"" if now is None else now.data
            kept = keeper.keep(path, agents) if now is not None else None
            try:
                if was is None:
                    what = Forbidden.CREATED
                    keeper.move_away(target, is_copied=now is not None)
                else:
                    self._restore(target, was, now, keeper)
            except OSError as error:
                raise StateUnusable(
                    f"{target} was changed by the agent and cannot be put back: "
                    f"{error.strerror or error}; put it back, or set guard.enabled = false"
                ) from error
            yield RevertedChange(
                path=sayable(path), what=what, text=keeper.shown(agents), kept=kept
            )

    def _as_user_left(
        self,
        place: tuple[str, datetime | None],
        was: _Known | None,
        now: _Known | None,
        commits: IterationCommits,
    ) -> _Known | None:
        """The file as it has to be: as the user saved or committed it last, else as it was."""
        path, since = place
        committed = self._history.version_of_user(path, commits)
        if committed is not None:
            was = self._committed(committed, was, now)
            if was is None or (now is not None and was.data == now.data):
                return was
        saves = saves_of(self._workspace, path, since=since)
        if not saves:
            return was
        last = saves[-1]
        if (
            now is not None
            and text_hash(now.data.decode("utf-8", "surrogateescape")) == last.sha256
        ):
            return now if was is None else replace(now, mode=was.mode, link=was.link)
        if last.text is None:
            return was
        mode, link = (0o644, None) if was is None else (was.mode, was.link)
        data = last.text.encode("utf-8", "replace")
        return _Known(data=data, mode=mode, link=link, signature=())

    def _committed(
        self, version: UserVersion, was: _Known | None, now: _Known | None
    ) -> _Known | None:
        """The file as the user has committed it; None where they removed it."""
        if version.data is None:
            return None
        mode, link = (0o644, None) if was is None else (was.mode, was.link)
        mode = mode | 0o111 if version.is_executable else mode & ~0o111
        if now is not None and same_lines(now.data, version.data):
            return replace(now, mode=now.mode if was is None else mode, link=link)
        return _Known(data=version.data, mode=mode, link=link, signature=())

    def _restore(self, target: Path, was: _Known, now: _Known | None, keeper: Keeper) -> None:
        keeper.clear_way(target)
        if os.path.lexists(target) and (now is None or now.link != was.link):
            keeper.move_away(target, is_copied=now is not None and now.link is None)
        if was.link is not None and not os.path.lexists(target):
            target.symlink_to(was.link)
        real = Path(os.path.realpath(target))
        real.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(real, was.data, mode=was.mode)
        real.chmod(was.mode)

    def _watched(self) -> list[str]:
        """What must not change, also where it is not there."""
        workspace = self._workspace
        folder = workspace.root / workspace.config.paths.prompts
        prompts = [folder / name for name in names_in(folder) if fnmatch(name, "PROMPT_*.md")]
        here = {os.path.relpath(path, workspace.root).replace(os.sep, "/") for path in prompts}
        scripts = validation_files(workspace.root, workspace.config)
        return sorted({CONFIG_FILE, *workspace.guarded_files, *scripts, *here})

    def _look(self, path: str, known: _Known | None) -> _Known | None:
        """The file as it is, read only where it is not as it was known to be."""
        target = self._workspace.root / path
        try:
            status = target.stat()
            link = str(target.readlink()) if target.is_symlink() else None
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        mode = stat.S_IMODE(status.st_mode)
        times = (status.st_mtime_ns, status.st_ctime_ns)
        signature = (status.st_dev, status.st_ino, status.st_size, *times)
        if known is not None and known.signature == signature and known.link == link:
            return known
        try:
            data = read_regular(target, LARGEST_FILE) or b""
        except StateUnusable:
            # Larger than any that is allowed, or replaced meanwhile: nothing that could be kept.
            return None
        return _Known(data=data, mode=mode, link=link, signature=signature)


def _same(was: _Known, now: _Known) -> bool:
    return (was.data, was.mode, was.link) == (now.data, now.mode, now.link)
