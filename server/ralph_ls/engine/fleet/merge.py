"""Merge of a task: its commits after the end of its repository's branch, which then moves.

The branch moves inside the transaction that marks the task merged: the task's row is locked, and it
names the epoch whose ref the branch gets. A remote takes part in no transaction, so before that the
commit is recorded that the branch will have, and a worker that continues after a crash reads from
the remote whether it moved: a task is merged once, or not at all (docs/rules.md#fleets). The push
moves the branch forward only, and deletes the ref of the epoch with it; where that ref is gone, as
the task was returned to its agent, it does neither.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.fleet.attempt import SecretInCommit, require_no_secrets
from ralph_ls.engine.fleet.mirror import RefMoved, ref_word, task_refs, work_ref
from ralph_ls.engine.fleet.place import PushNotAllowed, Repository, WorkerPlace
from ralph_ls.engine.fleet.workspaces import open_workspace
from ralph_ls.engine.parallel.lane_merge import MergeProcesses, validate_merged
from ralph_ls.engine.parallel.lane_worktree import LaneTree, make_lane
from ralph_ls.engine.parallel.merge_branch import MergeBranch
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FleetTaskState
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.layout import new_run_id

MOST_RACES = 20
"""How often a merge begins again because somebody else moved the branch."""


class RepairNeeded(RalphError):
    """The task has to be repaired before it can be merged."""


def merge_task(place: WorkerPlace, run: str, task: str, turn: int) -> None:
    """Merge a task whose turn it is, and note what came of it; raises nothing of ours.

    After an outage of the database it begins again: what it had done is read from the remote.
    """
    place.ledger.patience.ask(lambda: _merge_turn(place, run, task, turn))


def _merge_turn(place: WorkerPlace, run: str, task: str, turn: int) -> None:
    row = place.ledger.task(run, task)
    if row is None or not _is_due(row, turn) or place.is_stopping.is_set():
        return
    try:
        repository = place.repository(run, row["repository"])
    except PushNotAllowed:
        # The worker ends for it; the turn is found again.
        return
    # Of this machine's workers one at a time has the work tree in which merges are validated.
    with _merge_lock(place, repository):
        try:
            place.ledger.patience.reach(lambda: _merge(place, repository, row))
        except (RepairNeeded, SecretInCommit) as error:
            if not _may_give_up(place, repository, row):
                return
            if isinstance(error, SecretInCommit):
                place.ledger.park(run, task, row["epoch"], error.message)
            else:
                place.ledger.refuse_merge(run, task, row["epoch"], error.message)
        except RalphError as error:
            if _may_give_up(place, repository, row):
                place.ledger.park(run, task, row["epoch"], f"its merge failed: {error.message}")


def _is_due(row: Any, turn: int) -> bool:
    states = {FleetTaskState.QUEUED.value, FleetTaskState.MERGING.value}
    return row["state"] in states and row["turn"] == turn


def _merge(place: WorkerPlace, repository: Repository, row: Any) -> None:
    for _ in range(MOST_RACES):
        if place.is_stopping.is_set() or _is_settled(place, repository, row):
            return
        try:
            _try_once(place, repository, row)
        except RefMoved:
            continue
        return
    raise RalphError(
        f"{repository.settings.onto} was moved by others {MOST_RACES} times during the merge"
    )


def _is_settled(place: WorkerPlace, repository: Repository, row: Any) -> bool:
    """Whether the task's turn is over, or an earlier merge of it moved the branch, though its
    worker never noted it; then it is noted here.
    """
    fresh = place.ledger.task(row["run"], row["task"])
    if fresh is None or fresh["epoch"] != row["epoch"] or not _is_due(fresh, row["turn"]):
        return True
    repository.mirror.fetch()
    end = repository.mirror.branch(repository.settings.onto)
    for head in fresh["merge_heads"]:
        if end is not None and repository.mirror.is_ancestor(head, end):
            place.ledger.merged(row["run"], row["task"], row["epoch"], head)
            _forget_refs(repository, row)
            return True
    return False


def _may_give_up(place: WorkerPlace, repository: Repository, row: Any) -> bool:
    """Whether the task may be returned or parked: nobody has merged it, and nobody can any more.

    A worker that was cut off in the middle of a merge may push as soon as it is back. What it
    would push needs the ref of this epoch, which is renamed first.
    """
    fresh = place.ledger.task(row["run"], row["task"])
    if fresh is not None and fresh["merge_heads"] and row["head"] is not None:
        repository.mirror.retire(_ref_of(row), row["head"])
    return not _is_settled(place, repository, row)


def _ref_of(row: Any) -> str:
    return work_ref(row["run"], row["repository"], row["id"], row["head_epoch"] or 0)


def _try_once(place: WorkerPlace, repository: Repository, row: Any) -> None:
    mirror, onto = repository.mirror, repository.target()
    ref, tip = _ref_of(row), row["head"]
    if tip is None:
        # Nothing had to be changed for it.
        raise RepairNeeded(
            "the task was reported as done without a commit; commit the plan with its tick"
        )
    if mirror.remote_commit(ref) != tip:
        raise RalphError(f"{ref} of {mirror.address} no longer is at {tip[:8]}")
    mirror.fetch_task(task_refs(row["run"], row["repository"], row["id"]))
    tree = _merge_tree(place, repository, onto)
    workspace = open_workspace(
        tree,
        place.environment,
        repository.overrides,
        run=new_run_id(SystemClock().now()),
        approved=repository.approved,
    )
    branch = MergeBranch(workspace, repository.settings.onto)
    rebased = branch.rebase().rebase(onto, tip)
    if rebased.conflicts:
        named = ", ".join(rebased.conflicts[:3])
        raise RepairNeeded(f"{named} was changed by another task, too")
    if any(one.task.id == row["id"] for one in branch.plan_at(rebased.head).tasks):
        raise RepairNeeded(
            "the task is still open in the plan that was pushed; commit all of its work, and the "
            "plan with its tick"
        )
    marked = branch.rebase().has_markers(onto, rebased.head, _changed(tree, onto, rebased.head))
    if marked:
        raise RepairNeeded(f"conflict markers are left in {', '.join(marked[:3])}")
    run_git(tree.root, "reset", "--quiet", "--hard", rebased.head)
    run_git(tree.root, "clean", "-ffdq")
    refused = asyncio.run(validate_merged(workspace, onto, rebased.head, MergeProcesses()))
    if place.is_stopping.is_set():
        return
    if refused is not None:
        raise RepairNeeded(refused)
    if repository.settings.check_secrets:
        require_no_secrets(workspace, onto, rebased.head)
    if not place.ledger.begin_merge(row["run"], row["task"], row["epoch"], rebased.head):
        return
    with place.ledger.merging(row["run"], row["task"], row["epoch"], rebased.head) as may_move:
        if not may_move:
            return
        mirror.move_branch(rebased.head, repository.settings.onto, ref=ref, tip=tip)
    _forget_refs(repository, row)


def _forget_refs(repository: Repository, row: Any) -> None:
    """Delete what other attempts at a merged task pushed; what fails is done later."""
    with contextlib.suppress(RalphError):
        repository.mirror.forget_refs(task_refs(row["run"], row["repository"], row["id"]))


def _merge_lock(place: WorkerPlace, repository: Repository) -> Any:
    import filelock

    return filelock.FileLock(f"{_merge_path(place, repository)}.lock")


def _merge_path(place: WorkerPlace, repository: Repository) -> Path:
    folder = place.folder / "merges" / repository.run
    folder.mkdir(parents=True, exist_ok=True)
    return folder / ref_word(repository.name)


def _merge_tree(place: WorkerPlace, repository: Repository, commit: str) -> LaneTree:
    """The work tree in which merges of this repository are validated, at a commit."""
    path = _merge_path(place, repository)
    branch = f"ralph/merge/{repository.run}/{ref_word(repository.name)}"
    with repository.mirror.lock():
        make_lane(repository.mirror.root, path, branch, commit)
    tree = place.tree(path, branch)
    run_git(tree.root, "reset", "--quiet", "--hard", commit)
    run_git(tree.root, "clean", "-ffdq")
    return tree


def _changed(tree: LaneTree, one: str, other: str) -> tuple[str, ...]:
    printed = run_git(tree.root, "diff", "--name-only", "-z", one, other)
    return tuple(filter(None, printed.decode("utf-8", "surrogateescape").split("\0")))
