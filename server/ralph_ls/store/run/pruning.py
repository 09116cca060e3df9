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
import shutil
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
    state: StateFolder, *, kept: Collection[str] = (), is_late: Callable[[], bool] = _never
) -> list[StoredRun]:
    """The runs of a work tree with their sizes, oldest first.

    ``kept``: runs to keep whole besides the last one. When ``is_late``, the newer runs are left
    out: nothing is removed of them.
    """
    whole = {*kept, *_last_runs(state)}
    found: list[StoredRun] = []
    for run in state.run_ids():
        if is_late():
            break
        with contextlib.suppress(OSError, StateUnusable):
            found.append(_stored(state.run(run), run, is_last=run in whole))
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


def _stored(files: RunFiles, run: str, *, is_last: bool) -> StoredRun:
    ended_at, is_over = _end_of(files.journal)
    mark = read_pruned(files)
    size, removable, n_files = 0, 0, 0
    for name, n_bytes in _files_of(files.folder):
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


def _files_of(folder: Path) -> Iterator[tuple[str, int]]:
    """Each file below the folder of a run: the name at its top, and its bytes."""
    to_list = [(folder, "")]
    while to_list:
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
        place = state.run(one.stored.run)
        refusal = _prune_run(place, one, now)
        remaining = [size for name, size in _files_of(place.folder) if name not in KEPT]
        gone = max(0, one.stored.n_files - len(remaining))
        runs, files = runs + (gone > 0), files + gone
        n_bytes += max(0, one.stored.removable - sum(remaining))
        left += bool(remaining)
        problem = problem or refusal
    return PruningResult(runs=runs, files=files, bytes=n_bytes, left=left, problem=problem)


def _prune_run(place: RunFiles, one: RunToPrune, now: datetime) -> str | None:
    """Mark the run, and remove its output; what the system refused first, in words."""
    stored = one.stored
    if stored.pruned_by is None:
        mark = PrunedOutput(
            at=now, setting=one.setting, files=stored.n_files, bytes=stored.removable
        )
        data = mark.model_dump_json(by_alias=True).encode() + b"\n"
        try:
            # Nothing is removed of which no reader would know.
            write_atomic(place.folder / MARK, data, mode=PRIVATE_FILE, sync=True)
        except StateUnusable as error:
            return error.message
    try:
        return next(iter(_remove_output(place.folder)), None)
    except OSError as error:
        return str(error)


def _remove_output(folder: Path) -> list[str]:
    """Remove all that pruning removes of a run; what the system refused, in words."""
    problems: list[str] = []

    def note(_: object, path: str, error: tuple[object, BaseException, object]) -> None:
        if not isinstance(error[1], FileNotFoundError):
            problems.append(f"{path} cannot be removed: {error[1]}")

    for name in sorted(set(os.listdir(folder)) - KEPT):
        path = folder / name
        try:
            if path.is_dir() and not path.is_symlink():
                _open_folders(path)
                shutil.rmtree(path, onerror=note)
            else:
                path.unlink(missing_ok=True)
        except (OSError, RecursionError) as error:
            problems.append(f"{path} cannot be removed: {error}")
    return problems


def _open_folders(folder: Path) -> None:
    """Let the owner remove what is in read-only folders, as package caches of agents are."""
    to_open = [folder]
    while to_open:
        place = to_open.pop()
        with contextlib.suppress(OSError):
            place.chmod(PRIVATE_FOLDER)
            with os.scandir(place) as entries:
                to_open += [Path(one.path) for one in entries if one.is_dir(follow_symlinks=False)]


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
