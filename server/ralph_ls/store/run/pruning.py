"""Pruning: removes output and messages of earlier runs; journals, numbers and receipts stay.

A run's mark, ``pruned.json``, is written before its first file is removed. So a process that is
killed half-way leaves a run of which every reader knows that its output is gone, and the next
pruning removes the rest. Removing needs no lock: the last run of a work tree is never touched, and
no engine takes up another one (docs/rules.md#pruning).

Size and age come from the files themselves; there is no index of runs.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from ralph_ls.core.loop.rules.retention import RunToPrune, StoredRun
from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.config.tables import StateConfig
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.json_output import PrunedOutput
from ralph_ls.protocol.run.events import RunEnded, RunResumed, RunStarted
from ralph_ls.store.files import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    open_regular,
    read_regular,
    write_atomic,
)
from ralph_ls.store.layout import RunFiles, StateFolder
from ralph_ls.store.run.journal import JournalReader, each_event
from ralph_ls.store.run.lock import is_engine, read_owner

MARK = "pruned.json"
"""File in the folder of a run whose output was removed, or is being removed."""

ANNOUNCEMENT = "pruning.json"
"""File in the state folder with the limits whose first pruning was announced."""

KEPT = frozenset(
    {
        "journal.jsonl",
        "settings.json",
        "restorations.jsonl",
        "git-spans.jsonl",
        "summary.csv",
        "figures.json",
        "digest.json",
        MARK,
    }
)
"""Files of a run that stay: state, numbers, receipts, rollback and ownership are read from them."""

_TAIL = 64 << 10
"""Bytes at the end of a journal that hold the end of its run."""

_LARGEST_MARK = 1 << 16


class AnnouncedLimits(WireModel):
    """Content of ``pruning.json``."""

    at: Timestamp
    limits: StateConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningResult:
    """What a pruning did."""

    runs: int = 0
    """Runs of which something was removed."""
    files: int = 0
    bytes: int = 0
    left: int = 0
    """Chosen runs that still have output, since time ran out or the system refused."""
    problem: str | None = None
    """First refusal of the system, with its path."""


def _never() -> bool:
    return False


def stored_runs(
    state: StateFolder,
    *,
    kept: Collection[str] = (),
    keeps_last: bool = True,
    is_late: Callable[[], bool] = _never,
) -> list[StoredRun]:
    """The runs of a work tree with their sizes, oldest first.

    ``kept``: runs to keep whole besides the last one; that is not needed any more where the work
    tree itself is gone. When ``is_late``, the newer runs are left
    out: nothing is removed of them.
    """
    whole = {*kept, *(_last_runs(state) if keeps_last else ())}
    found: list[StoredRun] = []
    for run in state.run_ids():
        if is_late():
            break
        with contextlib.suppress(OSError, StateUnusable):
            found.append(_stored(state.run(run), run, is_last=run in whole, is_late=is_late))
    return found


def _last_runs(state: StateFolder) -> set[str]:
    """Runs that ``ralph run --resume`` and the viewers take, or are about to take.

    A run whose engine has written nothing yet is newer than the last one.
    """
    owner = read_owner(state.folder)
    last = set() if owner is None else {owner.run}
    for run in reversed(state.run_ids()):
        last.add(run)
        with contextlib.suppress(StateUnusable):
            if any(isinstance(one, RunStarted) for one in each_event(state.run(run).journal)):
                break
    return last


def _stored(files: RunFiles, run: str, *, is_last: bool, is_late: Callable[[], bool]) -> StoredRun:
    ended_at, is_over = _end_of(files.journal)
    mark = read_pruned(files)
    size, removable, n_files = 0, 0, 0
    for name, n_bytes in _files_of(files.folder, is_late):
        size += n_bytes
        if name not in KEPT:
            removable += n_bytes
            n_files += 1
    return StoredRun(
        run=run,
        ended_at=ended_at,
        size=size,
        removable=removable,
        n_files=n_files,
        is_kept=is_last or (not is_over and _has_engine(files.journal)),
        # A run that was taken up again since has new output.
        pruned_by=None if mark is None or mark.at < ended_at else mark.setting,
    )


def _end_of(journal: Path) -> tuple[datetime, bool]:
    """Time of the run's end, and whether it has one; else when its files were written last."""
    data = b""
    with contextlib.suppress(FileNotFoundError), open_regular(journal) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        data = file.read()
    turns = JournalReader(kinds={"runEnded", "runResumed"}).feed(data)
    turns = [event for event in turns if isinstance(event, RunEnded | RunResumed)]
    if turns and isinstance(turns[-1], RunEnded):
        return turns[-1].at, True
    written = journal if journal.exists() else journal.parent
    return datetime.fromtimestamp(written.stat().st_mtime, UTC), False


def _has_engine(journal: Path) -> bool:
    """Whether the engine that wrote last into a journal without an end is alive."""
    events = each_event(journal, kinds={"runStarted", "runResumed"})
    newest = deque((one for one in events if isinstance(one, RunStarted | RunResumed)), maxlen=1)
    return any(is_engine(one.pid, one.at) for one in newest)


def _files_of(folder: Path, is_late: Callable[[], bool] = _never) -> Iterator[tuple[str, int]]:
    """Each file below the folder of a run: the name at its top, and its bytes."""
    to_list = [(folder, "")]
    while to_list and not is_late():
        place, top = to_list.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                name = top or entry.name
                if entry.is_dir(follow_symlinks=False):
                    to_list.append((Path(entry.path), name))
                else:
                    yield name, entry.stat(follow_symlinks=False).st_size


def read_pruned(files: RunFiles) -> PrunedOutput | None:
    """What was removed of a run; None where its files are whole."""
    try:
        data = read_regular(files.folder / MARK, _LARGEST_MARK)
        return None if data is None else PrunedOutput.model_validate_json(data)
    except (StateUnusable, ValidationError):
        return None


def prune_runs(
    state: StateFolder,
    chosen: Collection[RunToPrune],
    now: datetime,
    *,
    is_late: Callable[[], bool] = _never,
) -> PruningResult:
    """Remove the output of these runs, oldest first, until ``is_late``.

    Never raises: what cannot be removed is counted, and removed by a later pruning.
    """
    runs = files = n_bytes = left = 0
    problem: str | None = None
    for one in chosen:
        if is_late():
            left += 1
            continue
        removal = _Removal(is_late)
        removal.prune(state.run(one.stored.run), one, now)
        runs, files = runs + (removal.files > 0), files + removal.files
        n_bytes += removal.bytes
        left += not removal.is_complete
        problem = problem or removal.problem
    return PruningResult(runs=runs, files=files, bytes=n_bytes, left=left, problem=problem)


class _Removal:
    """Removes the output of one run, and counts what was removed."""

    def __init__(self, is_late: Callable[[], bool]) -> None:
        self._is_late = is_late
        self.files = 0
        self.bytes = 0
        self.is_complete = True
        self.problem: str | None = None
        """First refusal of the system, with its path."""

    def prune(self, place: RunFiles, one: RunToPrune, now: datetime) -> None:
        """Mark the run, and remove its output until it is late."""
        stored = one.stored
        try:
            if stored.pruned_by is None:
                # Nothing is removed of which no reader would know.
                _write_mark(place, one, now)
            paths = [place.folder / name for name in sorted(os.listdir(place.folder))]
        except (OSError, StateUnusable) as error:
            self._note(place.folder, error)
            return
        for path in paths:
            if path.name in KEPT:
                continue
            if path.is_dir() and not path.is_symlink():
                self._remove_folder(path)
            else:
                self._remove_file(path)

    def _remove_folder(self, folder: Path) -> None:
        """Remove a folder of any size and depth."""
        folders = [folder]
        for place in folders:
            try:
                # Package caches of agents are read-only.
                place.chmod(PRIVATE_FOLDER)
                with os.scandir(place) as listed:
                    entries = list(listed)
            except OSError as error:
                self._note(place, error)
                continue
            for entry in entries:
                if self._is_late():
                    self.is_complete = False
                    return
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                else:
                    self._remove_file(Path(entry.path))
        for place in reversed(folders):
            with contextlib.suppress(OSError):
                place.rmdir()

    def _remove_file(self, path: Path) -> None:
        """Remove a file or a link; what is gone already is not counted."""
        try:
            size = path.lstat().st_size
            path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            self._note(path, error)
            return
        self.files += 1
        self.bytes += size

    def _note(self, path: Path, error: OSError | StateUnusable) -> None:
        self.is_complete = False
        why = error.message if isinstance(error, StateUnusable) else error.strerror or str(error)
        self.problem = self.problem or f"{path} cannot be removed: {why}"


def _write_mark(place: RunFiles, one: RunToPrune, now: datetime) -> None:
    stored = one.stored
    mark = PrunedOutput(at=now, setting=one.setting, files=stored.n_files, bytes=stored.removable)
    data = mark.model_dump_json(by_alias=True).encode() + b"\n"
    write_atomic(place.folder / MARK, data, mode=PRIVATE_FILE, sync=True)


def read_announced(state: StateFolder) -> StateConfig | None:
    """The limits whose first pruning was announced here; None: none was."""
    try:
        data = read_regular(state.folder / ANNOUNCEMENT, _LARGEST_MARK)
        return None if data is None else AnnouncedLimits.model_validate_json(data).limits
    except (StateUnusable, ValidationError):
        return None


def save_announced(state: StateFolder, limits: StateConfig, now: datetime) -> None:
    """Record the announcement; raises ``StateUnusable``."""
    data = AnnouncedLimits(at=now, limits=limits).model_dump_json(by_alias=True).encode() + b"\n"
    write_atomic(state.folder / ANNOUNCEMENT, data, mode=PRIVATE_FILE)
