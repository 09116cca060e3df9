"""Figures: metrics of runs without an engine, kept beside their journals.

A journal of ten thousand iterations takes seconds to read, its figures a fraction of one, and the
digest of these, which lists and dashboards show, a fraction of that. Such a file is only used with
exactly the journal and the version that it was made of; deleting it loses nothing. A live run is
always measured from its journal.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from datetime import datetime, tzinfo
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from ralph_ls import __version__
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.dashboard import FigureSums, IterationColumns, ReviewSums, RunDigest
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.json_output import (
    IterationMetrics,
    LaneSpan,
    ParallelMetrics,
    RunMetrics,
    Statistics,
)
from ralph_ls.protocol.run.state import TaskReceipt
from ralph_ls.store.files import PRIVATE_FILE, open_regular_unbuffered, read_if_there, write_atomic
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree
from ralph_ls.store.run.journal import each_event
from ralph_ls.store.run.runs import FoundRun, find_run, full_run_id, load_state

if TYPE_CHECKING:
    from ralph_ls.core.views.report.dashboard import FolderRuns
    from ralph_ls.protocol.dashboard import Dashboard

FIGURES_VERSION = 1
"""Increase it when the same journal has other figures than before."""

END = 4096
"""Bytes at the end of a journal, by which it is known: its last lines, with times and numbers."""


def read_statistics(
    worktree: Worktree, state: StateFolder, *, run: str | None = None
) -> Statistics:
    """Metrics of all runs here, or of one; raises ``UsageError`` for an unknown run."""
    from ralph_ls.core.views.report.sums import total_of

    runs = read_runs(worktree, state, run=run)
    return Statistics(workspace=str(worktree.root), runs=tuple(runs), totals=total_of(runs))


def read_dashboard(
    places: Iterable[tuple[Worktree, StateFolder]],
    *,
    now: datetime,
    zone: tzinfo | None,
    run: str | None = None,
) -> Dashboard:
    """The dashboard of these work trees, or of one run; raises ``UsageError`` without it."""
    from ralph_ls.core.views.report.dashboard import dashboard

    folders = [_folder_runs(worktree, state, zone, run) for worktree, state in places]
    return dashboard(folders, now=now, version=__version__)


def _folder_runs(
    worktree: Worktree, state: StateFolder, zone: tzinfo | None, run: str | None
) -> FolderRuns:
    from ralph_ls.core.views.report.dashboard import FolderRuns
    from ralph_ls.core.views.text.status import run_anywhere, status_answers

    found = find_run(worktree, state)
    digests = read_digests(worktree, state, zone, run=run, newest=found)
    name, workspace = worktree.root.name or str(worktree.root), str(worktree.root)
    if found is None or (run is not None and found.state.run != digests[0].run.run):
        return FolderRuns(name=name, workspace=workspace, runs=digests, now=None, stopped=None)
    pid = found.owner.pid if found.owner is not None and found.live else None
    answers = dict(status_answers(found.state, found.phase, pid=pid, zone=zone))
    now = run_anywhere(found.state, found.phase, workspace=workspace, pid=pid, zone=zone)
    stopped = answers.get("Stopped")
    return FolderRuns(name=name, workspace=workspace, runs=digests, now=now, stopped=stopped)


def read_runs(
    worktree: Worktree, state: StateFolder, *, run: str | None = None
) -> list[RunMetrics]:
    """Metrics of the runs, oldest first; raises like ``read_statistics``."""
    wanted, live = _wanted_runs(worktree, state, run, find_run(worktree, state))
    measured = (_measure(files, is_live=files.folder.name == live) for files in wanted)
    # Ids of runs that started in the same second are not in order.
    return sorted((one for one in measured if one is not None), key=_start_of)


def read_digests(
    worktree: Worktree,
    state: StateFolder,
    zone: tzinfo | None,
    *,
    run: str | None = None,
    newest: FoundRun | None = None,
) -> list[RunDigest]:
    """What lists and dashboards show of the runs, oldest first; raises like ``read_statistics``.

    ``newest`` is the newest run, where the caller has found it.
    """
    found = newest or find_run(worktree, state)
    wanted, live = _wanted_runs(worktree, state, run, found)
    digests = (_digest_of(files, zone, is_live=files.folder.name == live) for files in wanted)
    return sorted((one for one in digests if one is not None), key=lambda one: _start_of(one.run))


def _wanted_runs(
    worktree: Worktree, state: StateFolder, run: str | None, newest: FoundRun | None
) -> tuple[list[RunFiles], str | None]:
    """The files of all runs or of one, and the id of the live one."""
    if newest is not None:
        # The newest run has the actual location of the state.
        state = StateFolder(folder=newest.files.folder.parent.parent)
    ids = state.run_ids() if run is None else [full_run_id(worktree, state, run)]
    live = newest.state.run if newest is not None and newest.live else None
    return [state.run(one) for one in ids], live


def _digest_of(files: RunFiles, zone: tzinfo | None, *, is_live: bool) -> RunDigest | None:
    from ralph_ls.core.views.report.dashboard import digest_of
    from ralph_ls.store.run.pruning import read_pruned

    digest = None if is_live else read_digest(files, zone)
    if digest is None:
        measured = _measure(files, is_live=is_live)
        if measured is None:
            return None
        digest = digest_of(measured, zone)
        if not is_live:
            save_digest(files, zone, digest)
    run = digest.run.model_copy(update={"pruned": read_pruned(files)})
    return digest.model_copy(update={"run": run})


def _measure(files: RunFiles, *, is_live: bool) -> RunMetrics | None:
    from ralph_ls.store.run.pruning import read_pruned

    run = None if is_live else read_figures(files)
    if run is None:
        run = _measure_journal(files, is_live=is_live)
        if run is not None and not is_live:
            save_figures(files, run)
    return None if run is None else run.model_copy(update={"pruned": read_pruned(files)})


def _measure_journal(files: RunFiles, *, is_live: bool) -> RunMetrics | None:
    from ralph_ls.core.loop.rules.receipts import finished_receipts
    from ralph_ls.core.views.report.metrics import measure_lanes, measure_run

    state = load_state(files)
    return measure_run(
        each_event(files.journal),
        is_live=is_live,
        receipts=finished_receipts(state),
        totals=state.totals,
        parallel=measure_lanes(state),
    )


def _start_of(run: RunMetrics) -> str:
    return run.run if run.started_at is None else f"{run.started_at:%Y%m%dT%H%M%S.%f}"


class _Kept(WireModel):
    made_by: str
    mark: str
    """Length of the journal, and a digest of its end."""


class KeptFigures(_Kept):
    """Content of ``figures.json``."""

    run: RunMetrics


class KeptDigest(_Kept):
    """Content of ``digest.json``."""

    zone: str
    """The time zone of its days."""
    digest: RunDigest


KeptFile = TypeVar("KeptFile", bound=_Kept)


@cache
def _version() -> str:
    """This package's version and the names of all fields, as a field may be added without one."""
    models: tuple[type[BaseModel], ...] = (
        *(RunMetrics, IterationMetrics, TaskReceipt, ParallelMetrics, LaneSpan),
        *(RunDigest, FigureSums, ReviewSums, IterationColumns),
    )
    names = " ".join(name for model in models for name in model.model_fields)
    digest = hashlib.blake2b(names.encode(), digest_size=6).hexdigest()
    return f"{__version__} {FIGURES_VERSION} {digest}"


def _mark(files: RunFiles) -> str:
    """Which journal the figures are of; raises OSError where it cannot be read."""
    with open_regular_unbuffered(files.journal) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - END))
        end = file.read(END)
    return f"{size} {hashlib.blake2b(end, digest_size=16).hexdigest()}"


def read_figures(files: RunFiles) -> RunMetrics | None:
    """The figures that are kept, if this version made them from this journal; else None."""
    found = _read(files, files.figures, KeptFigures)
    return None if found is None else found.run


def save_figures(files: RunFiles, run: RunMetrics) -> None:
    """Keep the figures of a run without an engine; what cannot be written is measured again."""
    with contextlib.suppress(OSError, StateUnusable):
        _save(files.figures, KeptFigures(made_by=_version(), mark=_mark(files), run=run))


def read_digest(files: RunFiles, zone: tzinfo | None) -> RunDigest | None:
    """The digest that is kept, if it is of this journal, this version and this time zone."""
    found = _read(files, files.digest, KeptDigest)
    return found.digest if found is not None and found.zone == str(zone) else None


def save_digest(files: RunFiles, zone: tzinfo | None, digest: RunDigest) -> None:
    """Keep the digest of a run without an engine, as `save_figures` does."""
    with contextlib.suppress(OSError, StateUnusable):
        mark = _mark(files)
        _save(
            files.digest,
            KeptDigest(made_by=_version(), mark=mark, zone=str(zone), digest=digest),
        )


def _read(files: RunFiles, path: Path, kind: type[KeptFile]) -> KeptFile | None:
    with contextlib.suppress(OSError, StateUnusable, ValidationError):
        data = read_if_there(path)
        if data is not None:
            found = kind.model_validate_json(data)
            if found.made_by == _version() and found.mark == _mark(files):
                return found
    return None


def _save(path: Path, kept: _Kept) -> None:
    data = kept.model_dump_json(by_alias=True, exclude_defaults=True)
    write_atomic(path, data.encode(), mode=PRIVATE_FILE)
