"""Protected files: settings, prompts, scripts and whatever else ``ralph allow`` covers.

They are remembered when an iteration begins and restored in the work tree after it, as they were,
or as the user has saved or committed them meanwhile. An engine that takes over from a killed one
has no record of the beginning and uses the approvals (``store.project.trust``) instead. What an
agent left in their place is copied to the run's folder first, so that nothing is lost.

Files that git reads are kept readable: an agent that leaves a named pipe in the place of
``.gitignore`` or of git's configuration would block every later git command, the loop's and the
user's. Such a file is replaced by what was there when the iteration began, before git is asked
anything. Whatever else an agent does to these files is its work, and stays.

The approvals file is checked whenever a process that the engine started has ended: an agent of the
same user can write it by hand, or bring a ``ralph`` of another version that does not refuse it.
What appears in it without the user's command is removed.

The plan is guarded elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from ralph_ls.core.loop.inputs import AnnouncementDone, RevertedChange
from ralph_ls.engine.delivery.restoration_commits import same_lines
from ralph_ls.engine.git.history import IterationCommits
from ralph_ls.engine.guard.branch_guard import BranchGuard, UserVersion
from ralph_ls.engine.worktree.workspace import Workspace, saves_of
from ralph_ls.protocol.config.config import CONFIG_FILE
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.store.external.git_safety import SMALL_FILES, TREE_FILES, why_git_cannot_read
from ralph_ls.store.files import (
    PRIVATE_FILE,
    kind_of_irregular,
    make_folders_below,
    make_private_folder,
    names_in,
    printable_path,
    read_regular,
    write_atomic,
)
from ralph_ls.store.project.plan_file import text_hash
from ralph_ls.store.project.scripts import validation_files, validation_folder
from ralph_ls.store.project.trust import LARGEST_FILE, LESSONS_FOLDER, is_lesson

SHOWN_CHARACTERS = 4000


class DisplacedFiles:
    """Keeps what the agent left, in the folder of the run."""

    def __init__(self, workspace: Workspace, start: int) -> None:
        self._root = workspace.root
        self._redactor = workspace.redactor
        self._folder = workspace.files.folder / "reverted"
        self._start = start

    def keep(self, path: str, data: bytes) -> str:
        """Write a copy; its path, relative to the folder of the run."""
        place = self._place(Path(path).name)
        write_atomic(place, self._redactor.redact_bytes(data), mode=PRIVATE_FILE)
        return f"{self._folder.name}/{printable_path(place.name)}"

    def move_away(self, target: Path, *, is_copied: bool) -> None:
        """Take something out of the tree; what was copied, or is a link, is only removed."""
        if is_copied or target.is_symlink():
            target.unlink()
        else:
            _move(target, self._place(target.name))

    def clear_way(self, target: Path) -> None:
        """Move away what is in the place of folders, or leads out of the tree."""
        way = [parent for parent in target.parents if parent.is_relative_to(self._root)]
        for parent in reversed(way):
            real_root = os.path.realpath(self._root)
            leads_out = not Path(os.path.realpath(parent)).is_relative_to(real_root)
            if os.path.lexists(parent) and (leads_out or not parent.is_dir()):
                self.move_away(parent, is_copied=False)
        make_folders_below(self._root, target.parent)

    def shown(self, data: bytes) -> str:
        """The part of the agent's version that is reported."""
        text = self._redactor.redact_bytes(data).decode("utf-8", errors="replace")
        return text[:SHOWN_CHARACTERS]

    def _place(self, name: str) -> Path:
        make_private_folder(self._folder)
        number = 1
        while True:
            place = self._folder / f"{self._start:03d}-{number}-{name}"
            if not os.path.lexists(place):
                return place
            number += 1


def _make_private(place: Path) -> None:
    """Take from everybody else what the agent's permissions gave them."""
    folders = [Path(parent) for parent, _, _ in os.walk(place)]
    files = [Path(parent, name) for parent, _, names in os.walk(place) for name in names]
    for path in folders or [place]:
        path.chmod(0o700 if folders else PRIVATE_FILE)
    for path in files:
        if not path.is_symlink():
            path.chmod(PRIVATE_FILE)


def _move(target: Path, place: Path) -> None:
    """Move a file or a folder; a pipe, a socket or a device holds nothing, and is only removed."""
    mode = target.lstat().st_mode
    if kind_of_irregular(mode) is not None and not stat.S_ISDIR(mode):
        target.unlink()
    else:
        shutil.move(target, place, copy_function=_copy_regular)
        _make_private(place)


def _copy_regular(source: str, target: str) -> None:
    """Copy what a folder that moves to another file system holds, where it has content."""
    if kind_of_irregular(os.lstat(source).st_mode) is None:
        shutil.copy2(source, target)


class GitFiles:
    """The small files of a work tree that git reads, as an iteration found them."""

    def __init__(self, root: Path) -> None:
        names = (*TREE_FILES, *(f".git/{name}" for name in SMALL_FILES))
        self._paths = {name: root / name for name in names}
        self._known: dict[str, bytes | None] = {}

    def remember(self) -> None:
        """Take them as they are; one that git cannot read was refused before."""
        self._known = {}
        for name, path in self._paths.items():
            with contextlib.suppress(StateUnusable):
                self._known[name] = read_regular(path)

    def restore(self, keeper: DisplacedFiles) -> tuple[RevertedChange, ...]:
        """Replace those that git cannot read any more, and say so.

        Raises ``StateUnusable`` where one cannot be written.
        """
        return tuple(
            self._restore(name, why, keeper)
            for name in self._known
            if (why := why_git_cannot_read(self._paths[name])) is not None
        )

    def _restore(self, name: str, why: str, keeper: DisplacedFiles) -> RevertedChange:
        path, data = self._paths[name], self._known[name]
        try:
            keeper.move_away(path, is_copied=False)
        except OSError as error:
            raise StateUnusable(
                f"{path} {why} and cannot be removed: {error.strerror or error}; remove it"
            ) from error
        if data is not None:
            write_atomic(path, data)
        return RevertedChange(
            path=name,
            what=Forbidden.CREATED if data is None else Forbidden.CHANGED,
            why=f"{name} {why}, so git would wait for it; it must stay a regular file",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A file as it was when the iteration began."""

    data: bytes
    mode: int
    link: str | None
    """Where it leads, where it is a symbolic link."""
    signature: tuple[int, ...]
    """Changes whenever the file is written, so that most files need not be read again."""


class ProtectedFiles:
    """The guarded files of one run's work tree."""

    def __init__(self, workspace: Workspace, history: BranchGuard) -> None:
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
        if is_lesson(str(path)):
            return True
        is_script = not path.name.startswith(".") and not path.name.endswith("~")
        return is_script and path.parent == PurePosixPath(validation_folder(config))

    def restore(
        self, keeper: DisplacedFiles, commits: IterationCommits, *, since: datetime | None
    ) -> Iterator[RevertedChange]:
        """Restore them in the work tree; ``since`` is from when on a save of the user's is new.

        Raises ``StateUnusable`` where one cannot be written.
        """
        if self._files is None:
            return
        for path in self.paths():
            known, target = self._files.get(path), self._workspace.root / path
            now = self._look(path, known)
            was = self._as_user_left((path, since), known, now, commits)
            is_there = os.path.lexists(target)
            is_unchanged = not is_there if was is None else now is not None and _same(was, now)
            if is_unchanged:
                continue
            agents = b"" if now is None else now.data
            kept = keeper.keep(path, agents) if now is not None else None
            what = Forbidden.CHANGED if is_there else Forbidden.DELETED
            if was is None:
                what = Forbidden.CREATED
            self._put_back(target, was, now, keeper)
            yield RevertedChange(
                path=printable_path(path), what=what, text=keeper.shown(agents), kept=kept
            )

    def _put_back(
        self, target: Path, was: _Known | None, now: _Known | None, keeper: DisplacedFiles
    ) -> None:
        """One file as it was; away with it where there was none."""
        try:
            if was is None:
                keeper.move_away(target, is_copied=now is not None)
            else:
                self._restore(target, was, now, keeper)
        except OSError as error:
            raise StateUnusable(
                f"the agent changed {target}, and it cannot be restored: "
                f"{error.strerror or error}; restore it, or set guard.enabled = false"
            ) from error

    def _as_user_left(
        self,
        place: tuple[str, datetime | None],
        was: _Known | None,
        now: _Known | None,
        commits: IterationCommits,
    ) -> _Known | None:
        """The file as it has to be: as the user saved or committed it last, else as it was."""
        path, since = place
        if now is not None and self._is_accepted_lesson(path, now.data):
            return now
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

    def _is_accepted_lesson(self, path: str, data: bytes) -> bool:
        """Whether the user accepted a lesson in this form, before the run or during it."""
        digest = hashlib.sha256(data).hexdigest()
        return is_lesson(path) and self._workspace.trust.is_approved(path, digest)

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

    def _restore(
        self, target: Path, was: _Known, now: _Known | None, keeper: DisplacedFiles
    ) -> None:
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
        lessons = [f"{LESSONS_FOLDER}/{name}" for name in names_in(workspace.root / LESSONS_FOLDER)]
        here.update(filter(is_lesson, lessons))
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


SHOWN = 10
"""Keys that are named in one warning."""


def remove_added_approvals(workspace: Workspace) -> tuple[AnnouncementDone, ...]:
    """Remove approvals that appeared during the run, and return the warnings; may block."""
    try:
        added = workspace.trust.remove_unapproved(workspace.state)
    except StateUnusable as error:
        message = f"approvals cannot be checked: {error.message}"
        return (AnnouncementDone(code="approvals-not-checked", message=message),)
    if not added:
        return ()
    names = ", ".join(added[:SHOWN]) + (", …" if len(added) > SHOWN else "")
    message = (
        f"approvals that appeared during the run were removed: {names}; the agent may have "
        "written them, because ralph allow asks the run from another terminal; check what "
        "changed, then approve it with: ralph allow"
    )
    return (AnnouncementDone(code="approvals-removed", message=message),)
