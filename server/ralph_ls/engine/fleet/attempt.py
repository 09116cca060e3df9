"""Attempt at a task: a run of the ordinary engine in a lane, whose commits are pushed as they come.

An attempt begins where the last one that pushed anything ended. Each iteration's commits are looked
through for secrets and pushed to the attempt's ref; what the run ended with decides what becomes of
the task.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.fold import fold
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.fleet.attempt_logs import AttemptRecord, write_record
from ralph_ls.engine.fleet.mirror import (
    RefMoved,
    RemoteUnreachable,
    lane_name,
    task_refs,
    work_ref,
)
from ralph_ls.engine.fleet.notices import LANE_EVENTS
from ralph_ls.engine.fleet.place import Lease, PushNotAllowed, Repository, WorkerPlace
from ralph_ls.engine.fleet.workspaces import open_workspace
from ralph_ls.engine.parallel import lane_setup
from ralph_ls.engine.parallel.lane_merge import repair_words
from ralph_ls.engine.parallel.lane_starter import LaneOrder
from ralph_ls.engine.parallel.lane_worktree import (
    LaneTree,
    changed_files,
    copy_files,
    make_lane,
    move_lane,
    remove_lane,
)
from ralph_ls.engine.parallel.merge_branch import MergeBranch
from ralph_ls.engine.run.lease import LEASE_VARIABLE, is_lease_held
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import OnHalt
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FleetTaskState
from ralph_ls.protocol.run.iteration_events import IterationEnded
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.layout import RunFiles, new_run_id
from ralph_ls.store.run import steering
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch, JournalTail
from ralph_ls.store.run.inbox import queue_note
from ralph_ls.store.run.lock import is_held

BY = "ralph fleet"

LARGEST_CHECKED = 32 << 20
"""Bytes of a diff that are looked through for secrets at once."""


class LeaseLost(RalphError):
    """Another worker may have the task: nothing that this one does counts any more."""


class SecretInCommit(RalphError):
    """Commits have what looks like a secret, so they are not pushed."""


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One attempt at a task, from its lease to its end."""

    place: WorkerPlace
    repository: Repository
    row: Any
    lease: Lease
    pushed: str
    """The last commit that the remote has of the task."""
    has_ref: bool = False
    """Whether it pushed anything to its own ref."""
    branch: str = ""
    state: RunState = field(default_factory=RunState)
    counted: tuple[int, float] = (0, 0.0)
    """Iterations and dollars that the database has of it."""

    @property
    def run(self) -> str:
        return self.lease.run

    @property
    def ref(self) -> str:
        row = self.row
        return work_ref(self.run, row["repository"], row["id"], self.lease.epoch)

    @property
    def path(self) -> Path:
        name = lane_name(self.row["repository"], self.row["id"])
        return self.place.folder / "lanes" / self.run / f"{name}-{self.lease.epoch}"


def attempt_task(place: WorkerPlace, run: str, task: str, turn: int) -> None:
    """Work on a task whose turn it is, and note what came of it; raises nothing of ours."""
    row = place.ledger.take(run, task, turn, place.worker)
    if row is None:
        return
    if place.is_stopping.is_set():
        place.ledger.give_back(run, task, row["epoch"])
        return
    lease = place.hold(run, task, row["epoch"])
    try:
        _work(place, row, lease)
    except (LeaseLost, PushNotAllowed):
        # Where nobody else has taken it: the database did not answer for longer than the lease.
        place.ledger.give_back(run, task, lease.epoch)
    except SecretInCommit as error:
        place.ledger.park(run, task, lease.epoch, error.message)
    except RalphError as error:
        place.ledger.try_again(run, task, lease.epoch, error.message)
    finally:
        place.let_go(lease)


def _work(place: WorkerPlace, row: Any, lease: Lease) -> None:
    repository = place.repository(lease.run, row["repository"])
    mirror = repository.mirror
    place.ledger.patience.reach(mirror.fetch)
    start = repository.target()
    if row["head"] is not None:
        refs = task_refs(lease.run, row["repository"], row["id"])
        if mirror.commit(row["head"]) is None:
            place.ledger.patience.reach(lambda: mirror.fetch_task(refs))
        if mirror.commit(row["head"]) is None:
            raise RalphError(f"{refs} of {mirror.address} no longer has {row['head'][:8]}")
        start = row["head"]
    attempt = Attempt(place=place, repository=repository, row=row, lease=lease, pushed=start)
    attempt.branch = f"ralph/{lease.run}/{attempt.path.name}"
    with mirror.lock():
        make_lane(mirror.root, attempt.path, attempt.branch, start)
        lane = place.tree(attempt.path, attempt.branch)
    try:
        _run_in(attempt, lane)
    finally:
        _close(attempt, lane)


def _run_in(attempt: Attempt, lane: LaneTree) -> None:
    place, row, repository = attempt.place, attempt.row, attempt.repository
    run = new_run_id(SystemClock().now())
    overrides = {**repository.overrides, "task": row["id"]}
    workspace = open_workspace(
        lane, place.environment, overrides, run=run, approved=repository.approved
    )
    if repository.settings.path is not None:
        source = Path(repository.settings.path).expanduser()
        copy_files(source, lane.root, workspace.config.lane.files)
    if row["note"]:
        _prepare_repair(attempt, lane, workspace)
    environment = {**place.environment, LEASE_VARIABLE: str(attempt.lease.file)}
    if workspace.config.lane.setup:
        asyncio.run(lane_setup.set_up(workspace, lane, environment=environment, keep=[]))
    files = lane.state.run(run)
    order = LaneOrder(
        folder=lane.root,
        files=files,
        run=run,
        overrides={
            **overrides,
            "profile": workspace.config.profile.value,
            "paths.plan": workspace.plan_path,
            "parallel": 1,
            "work_branch": "",
            "push": False,
            "on_halt": OnHalt.EXIT.value,
            "on_pr_ready": (),
            # The fleet notifies of what becomes of a task.
            **{
                f"notify.events.{event.value}": ()
                for event in NotifyEvent
                if event not in LANE_EVENTS
            },
        },
        environment=environment,
        resume=False,
        by=BY,
    )
    write_record(place.folder, attempt.run, row["task"], AttemptRecord(lane=lane, run=run))
    place.starter().start(order)
    _follow(attempt, lane, files, workspace)
    _settle(attempt, lane, workspace)


def _follow(attempt: Attempt, lane: LaneTree, files: RunFiles, workspace: Workspace) -> None:
    """Push what the run commits until it is over; stop it where it has to stop."""
    place, tail = attempt.place, JournalTail(files.journal)
    changed = threading.Event()
    is_told = False
    with FolderWatch([files.folder], changed.set):
        while True:
            changed.clear()
            is_alive = is_held(lane.worktree.git_dir)
            events = tail.read()
            attempt.state = fold(events, attempt.state)
            if any(isinstance(event, IterationEnded) for event in events) or not is_alive:
                _count(attempt)
                _push(attempt, lane, workspace, is_last=not is_alive)
            if not is_alive and not events:
                return
            must_stop = place.is_stopping.is_set() or attempt.run in place.stopped_runs
            if (must_stop or attempt.lease.is_lost) and not is_told and is_alive:
                is_told = True
                _stop(lane)
            changed.wait(timeout=LIVE_INTERVAL)


def _count(attempt: Attempt) -> None:
    """Add to the task what was used since, so that limits hold also where this worker dies."""
    iterations, cost = attempt.counted
    used = (attempt.state.counted, _cost_of(attempt.state))
    if used != attempt.counted:
        attempt.place.ledger.count(
            attempt.run,
            attempt.row["task"],
            iterations=used[0] - iterations,
            cost_usd=used[1] - cost,
        )
        attempt.counted = used


def _push(attempt: Attempt, lane: LaneTree, workspace: Workspace, *, is_last: bool) -> None:
    """Push new commits to the attempt's ref; the database names them before they count.

    What does not reach the remote is pushed after the next iteration; the last one has to.
    """
    head = lane.head()
    if head == attempt.pushed:
        return
    if is_last:
        attempt.place.ledger.patience.reach(lambda: _push_head(attempt, lane, workspace, head))
        return
    with contextlib.suppress(RemoteUnreachable):
        _push_head(attempt, lane, workspace, head)


def _push_head(attempt: Attempt, lane: LaneTree, workspace: Workspace, head: str) -> None:
    if attempt.lease.is_lost or not is_lease_held(attempt.lease.file):
        attempt.lease.is_lost = True
        return
    repository, mirror = attempt.repository, attempt.repository.mirror
    if repository.settings.check_secrets:
        try:
            require_no_secrets(workspace, repository.target(), head)
        except SecretInCommit:
            _stop(lane)
            raise
    try:
        mirror.push(head, attempt.ref)
    except RefMoved:
        # An agent that rewrites its commits; the merge will have the last form of them.
        raise RalphError(
            f"commits of {attempt.row['task']} that were pushed already were rewritten; "
            "let the agent add commits instead"
        ) from None
    attempt.pushed, attempt.has_ref = head, True
    if not attempt.place.ledger.pushed(attempt.run, attempt.row["task"], attempt.lease.epoch, head):
        attempt.lease.is_lost = True


def require_no_secrets(workspace: Workspace, base: str, head: str) -> None:
    """Raise ``SecretInCommit`` where what differs between two commits looks like a secret."""
    base = run_git(workspace.root, "merge-base", base, head, accept=(0, 1)).decode().strip()
    if not base:
        return
    names = run_git(workspace.root, "diff", "--name-only", "-z", base, head)
    for name in filter(None, names.decode("utf-8", "surrogateescape").split("\0")):
        diff = run_git(workspace.root, "log", "-p", "--format=%B", f"{base}..{head}", "--", name)
        added = "\n".join(
            line
            for line in diff[:LARGEST_CHECKED].decode("utf-8", "replace").splitlines()
            if not line.startswith(("-", "@@"))
        )
        if workspace.redactor.redact(added) != added:
            raise SecretInCommit(
                f"a commit of this task has what looks like a secret in {name}, so it was not "
                "pushed; remove it from the plan's task and retry, or, if it is none, set "
                "check_secrets = false for the repository in fleet.toml"
            )


def _settle(attempt: Attempt, lane: LaneTree, workspace: Workspace) -> None:
    """Note what the run's end means for the task."""
    place, ledger = attempt.place, attempt.place.ledger
    key = (attempt.run, attempt.row["task"], attempt.lease.epoch)
    if attempt.lease.is_lost or not is_lease_held(attempt.lease.file):
        raise LeaseLost("the lease of this task has ended")
    end = attempt.state.end
    if end is None:
        raise RalphError("the engine of this task ended without a result")
    match end.reason:
        case EndReason.COMPLETE:
            changed = changed_files(lane.root, workspace.own_files)
            if changed:
                named = ", ".join(changed[:3])
                ledger.park(*key, f"uncommitted changes in {lane.root}: {named}")
                return
            if attempt.row["head"] is not None and not attempt.has_ref:
                # What an earlier attempt pushed is complete; a merge takes this epoch's ref.
                again = functools.partial(_push_head, attempt, lane, workspace, lane.head())
                ledger.patience.reach(again)
            ledger.finished(*key)
        case EndReason.STOPPED if place.is_stopping.is_set() or attempt.run in place.stopped_runs:
            ledger.give_back(*key)
        case EndReason.DECIDE | EndReason.BLOCKED:
            asked = attempt.state.question
            words = asked.question if asked is not None else end.message
            ledger.park(*key, words, state=FleetTaskState.ASKING)
        case _:
            ledger.park(*key, end.message)


def _prepare_repair(attempt: Attempt, lane: LaneTree, workspace: Workspace) -> None:
    """Put the task's work on the end of the branch, with a note for the agent."""
    onto, tip = attempt.repository.target(), lane.head()
    name = attempt.repository.settings.onto
    branch = MergeBranch(workspace, name)
    rebase = branch.rebase()
    conflicts: tuple[str, ...] = ()
    if attempt.row["refusals"] and rebase.merge_base(onto, tip) != onto:
        commit, applied = rebase.repair_commit(onto, tip, branch.plan_files(onto))
        conflicts = applied.conflicts
        move_lane(lane, commit)
    words = attempt.row["note"]
    if attempt.row["refusals"]:
        words = repair_words(attempt.row["title"], words, conflicts, name)
    queue_note(lane.state, words, by=BY)


def _stop(lane: LaneTree) -> None:
    context = steering.CommandContext(
        worktree=lane.worktree, state=lane.state, by=BY, now=SystemClock().now()
    )
    # It may have ended meanwhile.
    with contextlib.suppress(RalphError):
        steering.stop(context, now=True)


def _close(attempt: Attempt, lane: LaneTree) -> None:
    """Keep the run's files with the mirror's, and remove the lane unless it has the only copy."""
    mirror = attempt.repository.mirror
    with contextlib.suppress(RalphError, OSError):
        if is_held(lane.worktree.git_dir):
            # Its lease ends it.
            return
        home = attempt.place.tree(mirror.root, "")
        lane_setup.keep_runs(lane, home.state)
        is_pushed = lane.head() == attempt.pushed
        if is_pushed and not _has_changes(lane):
            with mirror.lock():
                remove_lane(mirror.root, lane.root, attempt.branch)


def _has_changes(lane: LaneTree) -> bool:
    return bool(run_git(lane.root, "status", "--porcelain", "--untracked-files=normal"))


def _cost_of(state: RunState) -> float:
    return (state.usage.cost_usd or 0.0) if state.usage is not None else 0.0
