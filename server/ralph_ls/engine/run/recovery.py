"""Recovery from an earlier run: its agent's processes, its logs, and files of older loops.

A start calls this before anything else, while holding the work tree's lock; what belongs to a run
whose engine lives is left alone (docs/rules.md#recovery). Files of an older loop are only reported,
with what to do (docs/rules.md#files).

Old entries of the progress log are moved to a file beside it when a run starts, if
``progress.keep_days`` is set and git shows no change of these files: what the user works on is not
moved (docs/rules.md#specifications). The archive is written first, so that no entry is lost; one
that is in both files then is not added again.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path

import psutil

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.lanes import branch_of_run
from ralph_ls.core.loop.parallel.schedule import OPEN_STATES
from ralph_ls.core.loop.profiles import is_parallel, profile_of
from ralph_ls.core.loop.rules.health import bytes_words
from ralph_ls.core.loop.rules.retention import announcement_words, choose_runs, settings_words
from ralph_ls.core.plan.edit.progress_log import add_to_archive, archive_path, split_old_entries
from ralph_ls.core.plan.formats.registry import format_of
from ralph_ls.core.plan.formats.stories.tasks import mode_word
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.engine.agent.environment import end_in_sandbox
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.git.history import is_ancestor
from ralph_ls.engine.iteration.inherited_changes import last_sign_of_life
from ralph_ls.engine.plan.source import PlanSource
from ralph_ls.engine.process.process_tree import end_orphan, end_tree
from ralph_ls.engine.process.reaper import living_reaper
from ralph_ls.engine.worktree.git_locks import move_earlier_locks
from ralph_ls.engine.worktree.keeper import read_final_snapshot
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config, GateRule
from ralph_ls.protocol.config.tables import StateConfig
from ralph_ls.protocol.errors import StateUnusable, UsageError, WorkspaceBusy
from ralph_ls.protocol.run.events import IterationEnded, RunResumed, RunStarted
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import EndReason, LaneState, Phase
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import ChangedMeanwhile, read_regular, resolve_inside, write_atomic
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project.project_state import find_project
from ralph_ls.store.run.journal import each_event
from ralph_ls.store.run.lock import is_engine, is_same_process, is_state_held
from ralph_ls.store.run.logs import find_old_logs, move_earlier_logs, remove_logs
from ralph_ls.store.run.pruning import prune_runs, read_announced, save_announced, stored_runs
from ralph_ls.store.run.runs import FoundRun
from ralph_ls.store.run.state_index import live_lanes
from ralph_ls.store.run.summary_file import NAME, has_row, summary_folder, write_summary
from ralph_ls.store.setup.documents import LARGEST_FILE

ORPHAN_GRACE = 2.0
"""Seconds that what a dead engine left gets between TERM and KILL."""


LARGEST_SUMMARY = 16 << 20
"""Bytes; a larger file is none of ours."""

SHOWN_TASKS = 3
"""Tasks that a refusal names."""


def require_no_engine(found: FoundRun | None, state: StateFolder, *, resume: bool) -> None:
    """Raise ``WorkspaceBusy`` where the engine of the earlier run still lives.

    Its lock in the git directory may have been deleted while it ran, so that this engine could take
    it: the agent of a living engine is no orphan. The caller holds the lock of ``state``.

    So it is where lanes of a parallel run are still working, unless that run is resumed.
    """
    if not resume:
        _require_no_lanes(state)
    if found is None or found.state.phase is Phase.ENDED:
        return
    folder = found.files.folder.parent.parent
    lives = folder != state.folder and is_state_held(folder)
    owner, pid = found.owner, found.state.pid
    if owner is not None and owner.run == found.state.run and owner.pid == pid != os.getpid():
        lives = lives or is_same_process(owner.pid, owner.process_start_time)
    elif not lives and psutil.pid_exists(pid):
        lives = is_engine(pid, _taken_up_at(found))
    if lives:
        raise WorkspaceBusy(
            f"another engine (pid {pid}) owns this work tree with run {found.state.run}, although "
            "its lock was deleted; follow it with ralph watch, or end it with: ralph stop"
        )


def _require_no_lanes(state: StateFolder) -> None:
    lanes = live_lanes(state)
    if lanes:
        are = "is" if len(lanes) == 1 else "are"
        raise WorkspaceBusy(
            f"{count_of(len(lanes), 'lane')} of a parallel run {are} still working on the plan; "
            "continue it with: ralph run --resume, or end the lanes with: ralph stop"
        )


def require_merged_lanes(found: FoundRun | None, source: PlanSource, text: str) -> None:
    """Raise ``UsageError`` where tasks would be done again that the last parallel run has done.

    They are open here until its branch is merged, and only the user may decide about that.
    """
    if found is None or not found.state.lanes or found.state.config.lane.direct:
        return
    merged = [one for one in found.state.lanes if one.state is LaneState.MERGED]
    here = source.parse(text).plan.some(ids={one.task.id for one in merged})
    again = [one.title for one in here if one.state in OPEN_STATES]
    branch, ref = branch_of_run(found.state), f"refs/heads/{branch_of_run(found.state)}"
    head = run_git(source.root, "for-each-ref", "--format=%(objectname)", ref).decode().strip()
    if not again or not head or is_ancestor(source.root, head, "HEAD"):
        return
    end = found.state.end
    is_complete = end is not None and end.reason is EndReason.COMPLETE
    resume = "" if is_complete else "continue that run: ralph run --resume, "
    raise UsageError(
        f"{count_of(len(again), 'task')} of this plan ({some_of(again, SHOWN_TASKS)}) are done on "
        f"{branch}, which is not merged, so they would be done again; {resume}merge it: "
        f"git merge {branch}, or give that work up: git branch -D {branch}"
    )


def _taken_up_at(found: FoundRun) -> datetime | None:
    """When the last engine of the run wrote its pid into the journal."""
    taken_up = (RunStarted, RunResumed)
    kinds = {"runStarted", "runResumed"}
    events = each_event(found.files.journal, kinds=kinds)
    newest = deque((one.at for one in events if isinstance(one, taken_up)), maxlen=1)
    return newest[0] if newest else None


def end_orphans(run: RunState, folder: Path) -> int:
    """End what the agent of a killed engine left running; says how many processes that were.

    ``folder`` is the run's, which says who has inherited the agent's own orphans.
    """
    if run.phase is Phase.ENDED or run.current is None:
        return 0
    marker = f"{run.run}/{run.current.started.start}"
    agent, keep = run.current.agent, run.config.keep_running
    reaper = living_reaper(folder)
    if agent is None:
        ended = end_tree(
            group=None, marker=marker, grace_seconds=ORPHAN_GRACE, reaper=reaper, keep=keep
        )
    else:
        ended = end_orphan(
            pid=agent.pid,
            start_time=agent.process_start_time,
            group=agent.group,
            marker=marker,
            grace_seconds=ORPHAN_GRACE,
            reaper=reaper,
            keep=keep,
        )
    if reaper is not None:
        # It has nothing to wait for but a daemon that is kept.
        with contextlib.suppress(OSError):
            os.kill(reaper, signal.SIGKILL)
    return ended.terminated


def end_earlier_processes(
    found: FoundRun | None, worktree: Worktree, environment: Mapping[str, str], clock: Clock
) -> tuple[int, list[Notice]]:
    """End what the agent of a killed engine left running, also in its sandbox."""
    if found is None:
        return 0, []
    current = found.state.current
    problem = None
    if current is not None and current.agent is not None and current.exit is None:
        problem = end_in_sandbox(found.state.config, worktree.root, environment)
    code = "sandbox-not-ended"
    notices = [] if problem is None else [Notice(code=code, message=problem)]
    ended = end_orphans(found.state, found.files.folder)
    if current is not None:
        start = current.started.start
        notices += move_earlier_locks(
            found.files,
            worktree,
            start=start,
            marker=f"{found.state.run}/{start}",
            until=clock.now().timestamp() + 0.001 if ended else _gone_at(found, current),
        )
    return ended, notices


def _gone_at(found: FoundRun, current: CurrentIteration) -> float | None:
    """When the agent and the engine of an open iteration were gone; None: nobody knows."""
    look = read_final_snapshot(found.files.folder)
    if look is not None and look.start == current.started.start:
        return look.died_at if look.ended_at is None else look.ended_at
    if current.exit is not None:
        # The journal is cut to milliseconds.
        return current.exit.at.timestamp() + 0.001
    return last_sign_of_life(found.files, current.started.start)


def emit_orphans(n_orphans: int) -> list[Notice]:
    """What a new run says of them; a resumed one has its own field for their number."""
    if n_orphans == 0:
        return []
    noun = "process" if n_orphans == 1 else "processes"
    message = f"ended {n_orphans} {noun} that the agent of a killed engine had left running"
    return [Notice(code="orphans-ended", message=message)]


def move_logs_aside(root: Path, logs: str, found: FoundRun | None) -> None:
    """Move an earlier run's logs out of a new one's way, whole."""
    folder = root / logs
    if found is not None:
        _complete_summary(summary_folder(root, found.state.config, found.files), found)
    move_earlier_logs(folder, None if found is None else found.state.run)


def remove_old_logs(
    root: Path,
    config: Config,
    now: datetime,
    *,
    kept_since: datetime | None,
    outside: Path | None = None,
) -> list[Notice]:
    """Remove the logs that the settings do not keep, and report it (docs/rules.md#logs).

    Logs since ``kept_since`` belong to the run that is resumed. Committed logs are kept.
    ``outside``: the folder of the logs, where it is outside the tree.
    """
    logs = config.paths.logs if outside is None else str(outside)
    old = find_old_logs(root / logs, config.logs, now, kept_since=kept_since)
    if not old:
        return []
    is_inside = outside is None
    tracked = (
        {root / path for path in worktree_state.find_tracked(root, [logs])} if is_inside else set()
    )
    removed = remove_logs(path for path in old if path not in tracked)
    if removed == 0:
        return []
    message = f"removed {count_of(removed, 'old log')} from {logs}"
    return [Notice(code="logs-removed", message=message)]


def _complete_summary(folder: Path, found: FoundRun) -> None:
    """Add the row of the last iteration, which an engine killed at its end has not written."""
    last, path = found.state.last, folder / NAME
    if last is None or path.is_symlink():
        return
    with contextlib.suppress(StateUnusable):
        summary = read_regular(path, LARGEST_SUMMARY)
        # The first row comes with the head.
        n_rows = 0 if summary is None else summary.count(b"\n") - 1
        if n_rows >= found.state.counted:
            return
        events = each_event(found.files.journal, kinds={"iterationEnded"})
        told = [event for event in events if isinstance(event, IterationEnded) and has_row(event)]
        if n_rows == len(told) - 1:
            kind = profile_of(found.state.config.profile).plan_kind
            word = mode_word if format_of(kind).has_reviews else str
            write_summary(folder, told, mode_word=word)


PRUNING_SECONDS = 1.0
"""Seconds of a start in which earlier runs are measured, and again in which output of them is
removed; the rest is left to the next."""


def prune_old_runs(state: StateFolder, limits: StateConfig, run: str, clock: Clock) -> list[Notice]:
    """Remove the output of runs that the settings do not keep, and report it.

    Limits that have removed nothing here so far are announced at one start and applied at the next
    (docs/rules.md#pruning). Never raises: a start does not depend on it. ``run``: the one that
    starts.
    """
    runs = stored_runs(state, kept={run}, is_late=_time_limit(clock))
    chosen = choose_runs(runs, limits, clock.now())
    if not chosen:
        return []
    if read_announced(state) != limits:
        with contextlib.suppress(StateUnusable):
            save_announced(state, limits, clock.now())
        return [Notice(code="pruning-announced", message=announcement_words(chosen))]
    done = prune_runs(state, chosen, clock.now(), is_late=_time_limit(clock))
    if done.runs == 0:
        return []
    by = settings_words(chosen)
    left = f"; {count_of(done.left, 'run')} more at a later start" if done.left else ""
    message = (
        f"removed the output of {count_of(done.runs, 'run')} ({bytes_words(done.bytes)}), by {by}"
        f"{left}; its figures stay: ralph runs"
    )
    return [Notice(code="pruned", message=message)]


def _time_limit(clock: Clock) -> Callable[[], bool]:
    """Whether the time for one part of the pruning is up."""
    end = clock.monotonic() + PRUNING_SECONDS
    return lambda: clock.monotonic() > end


OLD_ATTEMPTS = ".ralph-attempts"


def attempts_remark(root: Path, state: StateFolder) -> str | None:
    """What is to be said of an old file of attempts; None where there is none."""
    if not (root / OLD_ATTEMPTS).is_file():
        return None
    project = find_project(root, state)
    return (
        f"{root} contains {OLD_ATTEMPTS}, a file of an older loop (attempts are now stored in "
        f"{project.attempts}); you can safely delete {OLD_ATTEMPTS}"
    )


def emit_legacy_files(workspace: Workspace) -> list[Notice]:
    """Report files and marks that mean nothing any more, or not yet."""
    notices = []
    remark = attempts_remark(workspace.root, workspace.state)
    if remark is not None:
        notices.append(Notice(code="legacy-attempts", message=remark))
    source, gate = workspace.source, workspace.config.gate
    if gate.rule is not GateRule.MARKER or source.file is None:
        return notices
    counts = source.counts(source.read())
    n_open = counts.required - counts.required_done
    if counts.marker and n_open > 0:
        message = (
            f"{source.path} contained {gate.marker} before the run began, with "
            f"{count_of(n_open, 'required task')} open; remove that line: it only counts once it "
            "was removed and added again"
        )
        notices.append(Notice(code="marker-at-start", message=message))
    return notices


def archive_progress(
    root: Path, config: Config, today: date
) -> tuple[list[Notice], tuple[str, ...]]:
    """Move the old entries; returns the notices and the files that were written.

    Never raises: a log that cannot be tidied up ends no run.
    """
    keep_days, log = config.progress.keep_days, config.paths.progress
    if keep_days is None or is_parallel(config):
        # A parallel run leaves the files of its work tree alone.
        return [], ()
    archive = archive_path(log)
    try:
        before = _read(root, log)
        parted = split_old_entries(before or "", today=today, keep_days=keep_days)
        if before is None or not parted.old:
            return [], ()
        if changed := _changed(root, (log, archive)):
            why = f"{' and '.join(changed)} {'has' if len(changed) == 1 else 'have'} changes"
            return [_report(f"{why} that are not committed; commit them")], ()
        older = _read(root, archive)
        _write(root, archive, older, add_to_archive(older or "", parted.old))
        _write(root, log, before, parted.kept)
    except StateUnusable as error:
        return [_report(error.message)], ()
    except ChangedMeanwhile as error:
        return [_report(f"{error} changed in the meantime")], ()
    number = len(parted.old)
    entries = "1 entry" if number == 1 else f"{number} entries"
    old = count_of(keep_days, "day")
    message = f"moved {entries} of {log}, older than {old}, to {archive}"
    return [Notice(code="progress-archived", message=message)], (log, archive)


def _report(why: str) -> Notice:
    message = f"old entries of the progress log were not moved: {why}"
    return Notice(code="progress-not-archived", message=message)


def _changed(root: Path, paths: tuple[str, ...]) -> list[str]:
    """Those that git shows a change of, or does not know yet."""
    literally = [f":(literal){path}" for path in paths]
    look = ("status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty")
    return [
        path
        for path, literal in zip(paths, literally, strict=True)
        if run_git(root, *look, "--", literal)
    ]


def _read(root: Path, path: str) -> str | None:
    data = read_regular(resolve_inside(root, path), LARGEST_FILE)
    return None if data is None else data.decode("utf-8", errors="surrogateescape")


def _write(root: Path, path: str, before: str | None, after: str) -> None:
    if before == after:
        return
    expected = None if before is None else before.encode("utf-8", errors="surrogateescape")
    data = after.encode("utf-8", errors="surrogateescape")
    write_atomic(root / path, data, expected=expected)
