"""What an earlier run left behind: its agent's processes, and its logs (SPEC §2, §4).

A start looks here before anything else. This module must never touch what belongs to a run whose
engine lives: the caller holds the work tree's lock.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import psutil

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.stories.tasks import mode_word
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plurals import count_of
from ralph_ls.engine import git
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.git_locks import settle_earlier
from ralph_ls.engine.keeper import read_last_look
from ralph_ls.engine.ownership import last_sign_of_life
from ralph_ls.engine.process_tree import end_orphan, end_tree
from ralph_ls.engine.reaper import living_reaper
from ralph_ls.engine.sandbox.commands import end_in_sandbox
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import StateUnusable, WorkspaceBusy
from ralph_ls.protocol.run.events import IterationEnded, RunResumed, RunStarted
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.files import read_regular
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.run.journal import each_event
from ralph_ls.store.run.lock import is_engine, is_same_process, is_state_held
from ralph_ls.store.run.logs import find_old_logs, move_earlier_logs, remove_logs
from ralph_ls.store.run.runs import FoundRun
from ralph_ls.store.run.summary_file import NAME, has_row, summary_folder, write_summary

ORPHAN_GRACE = 2.0
"""Seconds that what a dead engine left gets between TERM and KILL."""


LARGEST_SUMMARY = 16 << 20
"""Bytes; a larger file is none of ours."""


def require_no_engine(found: FoundRun | None, state: StateFolder) -> None:
    """Raise ``WorkspaceBusy`` where the engine of the earlier run still lives.

    Its lock in the git directory may have been deleted while it ran, so that this engine could take
    it: the agent of a living engine is no orphan. The caller holds the lock of ``state``.
    """
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
            f"another engine (pid {pid}) owns this work tree with run {found.state.run}, though "
            "its lock was deleted; see it with: ralph watch, or end it with: ralph stop"
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


def end_earlier(
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
        notices += settle_earlier(
            found.files,
            worktree,
            start=start,
            marker=f"{found.state.run}/{start}",
            until=clock.now().timestamp() + 0.001 if ended else _gone_at(found, current),
        )
    return ended, notices


def _gone_at(found: FoundRun, current: CurrentIteration) -> float | None:
    """When the agent and the engine of an open iteration were gone; None: nobody knows."""
    look = read_last_look(found.files.folder)
    if look is not None and look.start == current.started.start:
        return look.died_at if look.ended_at is None else look.ended_at
    if current.exit is not None:
        # The journal is cut to milliseconds.
        return current.exit.at.timestamp() + 0.001
    return last_sign_of_life(found.files, current.started.start)


def tell_orphans(n_orphans: int) -> list[Notice]:
    """What a new run says of them; a resumed one has its own field for their number."""
    if n_orphans == 0:
        return []
    noun = "process" if n_orphans == 1 else "processes"
    message = f"ended {n_orphans} {noun} that the agent of a killed engine had left running"
    return [Notice(code="orphans-ended", message=message)]


def put_logs_aside(root: Path, logs: str, found: FoundRun | None) -> list[Notice]:
    """Move an earlier run's logs out of a new one's way, whole."""
    folder = root / logs
    if found is not None:
        _complete_summary(summary_folder(root, found.state.config, found.files), found)
    moved = move_earlier_logs(folder, None if found is None else found.state.run)
    if moved is None:
        return []
    where = moved.relative_to(root).as_posix()
    return [Notice(code="logs-moved", message=f"earlier logs are in {where}")]


def remove_old_logs(
    root: Path,
    config: Config,
    now: datetime,
    *,
    kept_since: datetime | None,
    outside: Path | None = None,
) -> list[Notice]:
    """Remove the logs that the settings do not keep (SPEC §4); what is gone is told.

    What was written since ``kept_since`` belongs to the run that goes on. Logs that somebody has
    committed are no business of ours. ``outside``: the folder of the logs, where it lies outside
    the tree.
    """
    logs = config.paths.logs if outside is None else str(outside)
    old = find_old_logs(root / logs, config.log_retention, now, kept_since=kept_since)
    if not old:
        return []
    is_inside = outside is None
    tracked = {root / path for path in git.find_tracked(root, [logs])} if is_inside else set()
    removed = remove_logs(path for path in old if path not in tracked)
    if removed == 0:
        return []
    message = f"removed {count_of(removed, 'old log')} from {logs}"
    return [Notice(code="logs-removed", message=message)]


def _complete_summary(folder: Path, found: FoundRun) -> None:
    """An engine killed right at its end has told its last iteration, but not written its row."""
    last, path = found.state.last, folder / NAME
    if last is None or path.is_symlink():
        return
    with contextlib.suppress(StateUnusable):
        summary = read_regular(path, LARGEST_SUMMARY)
        # The head stands there with the first row.
        n_rows = 0 if summary is None else summary.count(b"\n") - 1
        if n_rows >= found.state.counted:
            return
        events = each_event(found.files.journal, kinds={"iterationEnded"})
        told = [event for event in events if isinstance(event, IterationEnded) and has_row(event)]
        if n_rows == len(told) - 1:
            kind = profile_of(found.state.config.profile).plan_kind
            word = mode_word if kind is PlanKind.STORIES else str
            write_summary(folder, told, mode_word=word)
