"""The guard at work: what the agent may not change is remembered, and put back (SPEC §8).

Settings, prompts, the validation script and whatever else ``ralph allow`` covers stay as they were
when the iteration began; so does what ``core.plan.comparing.guard`` protects in the plan. The whole
file as the agent left it is kept in the run's folder, so nothing that somebody wrote is lost.

What changed while the agent ran is the agent's, unless an editor told of a person's save: that
stays (``store.saves``). An engine that takes over from a killed one has not seen the beginning: it
knows the plan alone, and trust (``store.trust``) stands in for the files.

Slow, for files are read: call it in threads. It must never judge progress; it runs before evidence
is looked for, so what it put back is none.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice, Reverted
from ralph_ls.core.plan.comparing.pairing import is_unfinished
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.titles import make_sayable
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.persons import saves_of
from ralph_ls.engine.sources.source import Guarded, Watched
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config import CONFIG_FILE
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.iteration_events import Forbidden
from ralph_ls.protocol.run_words import TaskRef
from ralph_ls.store.files import (
    PRIVATE_FILE,
    ChangedMeanwhile,
    make_folders_below,
    make_private_folder,
    read_if_there,
    read_regular,
    write_atomic,
)
from ralph_ls.store.saves import text_hash
from ralph_ls.store.trust import LARGEST_FILE
from ralph_ls.store.validation_files import validation_files

SHOWN_CHARACTERS = 4000
SHOWN_TASKS = 50

MERGES = 20
"""How often the plan is guarded anew because somebody else was quicker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A file as it was when the iteration began."""

    data: bytes
    mode: int
    link: str | None
    """Where it leads, where it is a symbolic link."""
    signature: tuple[int, ...]
    """Changes whenever the file is written, so that most files need not be read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    """What was put back after one iteration."""

    reverted: tuple[Reverted, ...] = ()
    notices: tuple[Notice, ...] = ()
    """Why, where the kind alone does not say it."""


class Guarding:
    """What one run's engine protects."""

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._since: datetime | None = None
        """What people save later is new."""
        self._files: dict[str, _Known | None] | None = None
        """By path; None for one that is not there; None: this engine saw no beginning."""
        self._strange: frozenset[str] = frozenset()
        """Paths where something stands that is no file, which nobody could put back."""
        self._plan: bytes | None = None
        """The plan's file."""
        self._text: str | None = None
        """The plan's text; None: this engine saw no beginning."""
        self._progress = ""

    def remember(self, text: str) -> None:
        """Take everything as it is: an iteration begins, with this text of the plan."""
        if not self._workspace.config.guard.enabled:
            return
        self._since = self._clock.now()
        known = self._files or {}
        self._files = {path: self._look(path, known.get(path)) for path in self._watched()}
        root = self._workspace.root
        missing = [path for path, was in self._files.items() if was is None]
        self._strange = frozenset(path for path in missing if os.path.lexists(root / path))
        self._text = text
        # A plan that a person has linked from elsewhere is not ours to write.
        self._plan = None if self._leads_out() else self._read_plan()
        self._progress = self._read_progress()

    def became(self, text: str) -> None:
        """The plan's text became this by our own hand, before the agent began."""
        if self._text is not None:
            self._text = text

    def put_back(self, iteration: int, seen: Watched, *, began: datetime | None) -> PutBack:
        """Put back what the agent may not have changed, and say what that was.

        ``began``: when the iteration did, where this engine has not seen that. Raises
        ``StateUnusable`` where it cannot be written.
        """
        if not self._workspace.config.guard.enabled:
            return PutBack()
        keeper = _Keeper(self._workspace, iteration)
        self._since = self._since or began
        files = tuple(self._files_back(keeper))
        is_file = self._workspace.source.file is not None
        plan = self._plan_back(keeper, seen) if is_file else self._issues_back(keeper, seen)
        return replace(plan, reverted=(*files, *plan.reverted))

    def _watched(self) -> list[str]:
        """What must not change, also where it is not there."""
        workspace = self._workspace
        folder = workspace.root / workspace.config.paths.prompts
        prompts = folder.glob("PROMPT_*.md") if folder.is_dir() else ()
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
        data = read_regular(target, LARGEST_FILE) or b""
        return _Known(data=data, mode=mode, link=link, signature=signature)

    def _files_back(self, keeper: _Keeper) -> Iterator[Reverted]:
        if self._files is None:
            return
        for path in sorted({*self._files, *self._watched()} - self._strange):
            target = self._workspace.root / path
            now = self._look(path, self._files.get(path))
            was = self._as_people_left(path, self._files.get(path), now)
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
            yield Reverted(path=_sayable(path), what=what, text=keeper.shown(agents), kept=kept)

    def _as_people_left(self, path: str, was: _Known | None, now: _Known | None) -> _Known | None:
        """The file as it has to be: as a person saved it last, else as it was."""
        saves = saves_of(self._workspace, path, since=self._since)
        if not saves:
            return was
        last = saves[-1]
        if now is not None and text_hash(_decode(now.data)) == last.sha256:
            return now if was is None else replace(now, mode=was.mode, link=was.link)
        if last.text is None:
            return was
        mode, link = (0o644, None) if was is None else (was.mode, was.link)
        data = last.text.encode("utf-8", "replace")
        return _Known(data=data, mode=mode, link=link, signature=())

    def _restore(self, target: Path, was: _Known, now: _Known | None, keeper: _Keeper) -> None:
        keeper.clear_way(target)
        if os.path.lexists(target) and (now is None or now.link != was.link):
            keeper.move_away(target, is_copied=now is not None and now.link is None)
        if was.link is not None and not os.path.lexists(target):
            target.symlink_to(was.link)
        real = Path(os.path.realpath(target))
        real.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(real, was.data, mode=was.mode)
        real.chmod(was.mode)

    def _plan_back(self, keeper: _Keeper, seen: Watched) -> PutBack:
        before = self._plan_before()
        if before is None:
            return PutBack()
        path = self._workspace.plan_path
        target = self._workspace.root / path
        for _ in range(MERGES):
            data = None if self._leads_out() else self._read_plan()
            if data == before:
                return PutBack()
            if data is None:
                return PutBack(reverted=(self._whole_plan_back(keeper, target, before),))
            decided, is_persons = self._decided(before, data)
            if is_persons:
                return PutBack()
            watched = replace(seen, decided=decided, finished=self.newly_told())
            guarded = self._workspace.source.guarded(_decode(before), _decode(data), watched)
            if not guarded.offences:
                return PutBack(notices=guarded.notices)
            try:
                write_atomic(target, _encode(guarded.text), expected=data)
            except ChangedMeanwhile:
                continue
            return self._told(guarded, keeper, keeper.keep(path, data))
        raise StateUnusable(
            f"the plan {target} is being written again and again by somebody else; "
            "stop that, then run on: ralph run --resume"
        )

    def _issues_back(self, keeper: _Keeper, seen: Watched) -> PutBack:
        """As ``_plan_back``, where the plan is no file."""
        source = self._workspace.source
        before = self._text_before()
        if before is None:
            return PutBack()
        return self._told(source.guarded(before, source.read(), seen), keeper, None)

    def _decided(self, before: bytes, after: bytes) -> tuple[frozenset[tuple[str, str]], bool]:
        """What people did to the plan that an agent may not, and whether all of it is theirs."""
        saves = saves_of(self._workspace, self._workspace.plan_path, since=self._since)
        reached, now = (text_hash(_decode(data)) for data in (before, after))
        for save in saves:
            reached = save.sha256 if save.before == reached else reached
        decided = frozenset(one for save in saves for one in save.decided)
        return decided, bool(saves) and reached == now

    def _plan_before(self) -> bytes | None:
        """The plan as the iteration began; None where it is not known as it was, sign by sign."""
        if self._files is not None:
            return self._plan
        data = read_if_there(self._workspace.files.plan_before)
        return None if data is None or b"[redacted " in data else data

    def _text_before(self) -> str | None:
        """The plan's text as the iteration began; as ``_plan_before``."""
        if self._text is not None:
            return self._text
        data = read_if_there(self._workspace.files.plan_before)
        is_whole = data is not None and b"[redacted " not in data
        return data.decode("utf-8", errors="replace") if data is not None and is_whole else None

    def _whole_plan_back(self, keeper: _Keeper, target: Path, before: bytes) -> Reverted:
        try:
            keeper.clear_way(target)
            if os.path.lexists(target):
                keeper.move_away(target, is_copied=False)
        except OSError as error:
            raise StateUnusable(
                f"the plan {target} is gone and cannot be put back: {error.strerror or error}; "
                f"put it back, for example with: git checkout -- {self._workspace.plan_path}"
            ) from error
        write_atomic(target, before)
        plan = self._workspace.source.plan(before.decode("utf-8", errors="replace"))
        tasks = [task for task in plan.tasks if is_unfinished(task)]
        return Reverted(
            path=_sayable(self._workspace.plan_path),
            what=Forbidden.DELETED,
            tasks=_references(tasks),
            n_tasks=len(tasks),
        )

    def _told(self, guarded: Guarded, keeper: _Keeper, kept: str | None) -> PutBack:
        """One for each kind, with all the tasks that it is about."""
        reverted: list[Reverted] = []
        for what in Forbidden:
            same = [offence for offence in guarded.offences if offence.what is what]
            if same:
                agents = "\n\n".join(offence.text for offence in same if offence.text)
                tasks = [offence.task for offence in same if offence.task is not None]
                reverted.append(
                    Reverted(
                        path=_sayable(self._workspace.plan_path),
                        what=what,
                        tasks=tuple(tasks[:SHOWN_TASKS]),
                        n_tasks=len(tasks),
                        text=keeper.shown(_encode(agents)),
                        kept=kept,
                    )
                )
        return PutBack(reverted=tuple(reverted), notices=guarded.notices)

    def _leads_out(self) -> bool:
        root = self._workspace.root
        real = Path(os.path.realpath(root / self._workspace.plan_path))
        return not real.is_relative_to(os.path.realpath(root))

    def _read_plan(self) -> bytes | None:
        try:
            return (self._workspace.root / self._workspace.plan_path).read_bytes()
        except OSError:
            return None

    def _read_progress(self) -> str:
        try:
            target = self._workspace.root / self._workspace.config.paths.progress
            return (read_regular(target, LARGEST_FILE) or b"").decode("utf-8", errors="replace")
        except RalphError:
            return ""

    def newly_told(self) -> str:
        """The lines that PROGRESS.md got since the iteration began."""
        new = Counter(self._read_progress().splitlines())
        return "\n".join((new - Counter(self._progress.splitlines())).elements())


class _Keeper:
    """Keeps what the agent left, in the folder of the run."""

    def __init__(self, workspace: Workspace, iteration: int) -> None:
        self._root = workspace.root
        self._redactor = workspace.redactor
        self._folder = workspace.files.folder / "reverted"
        self._iteration = iteration

    def keep(self, path: str, data: bytes) -> str:
        """Write a copy; its path, relative to the folder of the run."""
        place = self._place(Path(path).name)
        write_atomic(place, self._redactor.redact_bytes(data), mode=PRIVATE_FILE)
        return f"{self._folder.name}/{_sayable(place.name)}"

    def move_away(self, target: Path, *, is_copied: bool) -> None:
        """Take something out of the tree; what was copied, or is a link, is only removed."""
        if is_copied or target.is_symlink():
            target.unlink()
        else:
            shutil.move(target, self._place(target.name))

    def clear_way(self, target: Path) -> None:
        """Move away what stands where folders were, or leads elsewhere than into the tree."""
        way = [parent for parent in target.parents if parent.is_relative_to(self._root)]
        for parent in reversed(way):
            real_root = os.path.realpath(self._root)
            leads_out = not Path(os.path.realpath(parent)).is_relative_to(real_root)
            if os.path.lexists(parent) and (leads_out or not parent.is_dir()):
                self.move_away(parent, is_copied=False)
        make_folders_below(self._root, target.parent)

    def shown(self, data: bytes) -> str:
        """What of the agent's version is told."""
        text = self._redactor.redact_bytes(data).decode("utf-8", errors="replace")
        return text[:SHOWN_CHARACTERS]

    def _place(self, name: str) -> Path:
        make_private_folder(self._folder)
        number = 1
        while True:
            place = self._folder / f"{self._iteration:03d}-{number}-{name}"
            if not os.path.lexists(place):
                return place
            number += 1


def _same(was: _Known, now: _Known) -> bool:
    return (was.data, was.mode, was.link) == (now.data, now.mode, now.link)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogateescape")


def _references(tasks: list[Task]) -> tuple[TaskRef, ...]:
    return tuple(TaskRef(id=task.id, title=make_sayable(task.title)) for task in tasks)[
        :SHOWN_TASKS
    ]


def _sayable(path: str) -> str:
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")
