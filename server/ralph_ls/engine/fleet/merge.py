"""Merge of a task: its commits after the end of its repository's branch, which then moves.

The database names the epoch whose commits count; a ref of any other epoch is never read. Before
the branch moves, the commit that it is to move to is in the database, so a worker that continues
after a crash knows whether it moved: a task is merged once, or not at all (docs/rules.md#fleets).
The remote refuses every move that is no step forward, so two merges at once cannot both succeed.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.fleet.attempt import SecretInCommit, require_no_secrets
from ralph_ls.engine.fleet.mirror import RefMoved, ref_word, task_refs, work_ref
from ralph_ls.engine.fleet.place import Repository, WorkerPlace
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
    """Merge a task whose turn it is, and note what came of it; raises nothing of ours."""
    row = place.ledger.task(run, task)
    is_due = row is not None and row["state"] in {
        FleetTaskState.QUEUED.value,
        FleetTaskState.MERGING.value,
    }
    if row is None or not is_due or row["turn"] != turn or place.is_stopping.is_set():
        return
    repository = place.repository(run, row["repository"])
    # Of this machine's workers one at a time has the work tree in which merges are validated.
    with _merge_lock(place, repository):
        try:
            _merge(place, repository, row)
        except (RepairNeeded, SecretInCommit) as error:
            if isinstance(error, SecretInCommit):
                place.ledger.park(run, task, row["epoch"], error.message)
            else:
                place.ledger.refuse_merge(run, task, row["epoch"], error.message)
        except RalphError as error:
            if _merged_already(place, repository, row):
                return
            place.ledger.park(run, task, row["epoch"], f"its merge failed: {error.message}")


def _merge(place: WorkerPlace, repository: Repository, row: Any) -> None:
    for _ in range(MOST_RACES):
        if place.is_stopping.is_set() or _merged_already(place, repository, row):
            return
        try:
            _try_once(place, repository, row)
        except RefMoved:
            continue
        return
    raise RalphError(
        f"{repository.settings.onto} was moved by others {MOST_RACES} times during the merge"
    )


def _merged_already(place: WorkerPlace, repository: Repository, row: Any) -> bool:
    """Whether an earlier merge of the task moved the branch, though its worker never said so."""
    fresh = place.ledger.task(row["run"], row["task"])
    if fresh is None or fresh["epoch"] != row["epoch"]:
        return True
    repository.mirror.fetch()
    end = repository.mirror.branch(repository.settings.onto)
    for head in fresh["merge_heads"]:
        if end is not None and repository.mirror.is_ancestor(head, end):
            _finish(place, repository, row, head)
            return True
    return False


def _try_once(place: WorkerPlace, repository: Repository, row: Any) -> None:
    mirror, onto = repository.mirror, repository.target()
    ref = work_ref(row["run"], row["repository"], row["id"], row["head_epoch"] or 0)
    tip = row["head"]
    if tip is None:
        # Nothing had to be changed for it.
        raise RepairNeeded(
            "the task was reported as done without a commit; commit the plan with its tick"
        )
    if mirror.commit(tip) is None and mirror.fetch_ref(ref) is None:
        raise RalphError(f"{ref} is gone from {mirror.address}")
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
    mirror.push(rebased.head, f"refs/heads/{repository.settings.onto}")
    _finish(place, repository, row, rebased.head)


def _finish(place: WorkerPlace, repository: Repository, row: Any, head: str) -> None:
    place.ledger.merged(row["run"], row["task"], row["epoch"], head)
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
