"""Upkeep of a fleet between tasks: removes what is left over, and notes what was released.

Leftovers are lanes of attempts that were killed, and refs that came after a merge. A lane stays as
long as its task is not merged, as it may have what was never committed; then nothing in it counts
any more. What an engine still uses is never touched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ralph_ls.engine.fleet.mirror import REFS, Mirror, lane_name, lock_of
from ralph_ls.engine.fleet.place import Repository, WorkerPlace
from ralph_ls.engine.parallel.lane_worktree import remove_lane
from ralph_ls.engine.run.lease import is_lease_held
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FLEET_PROTOCOL, FleetRelease, FleetRunState, FleetTaskState
from ralph_ls.store.files import names_in
from ralph_ls.store.layout import find_worktree
from ralph_ls.store.run.lock import is_held

_OVER = frozenset({FleetTaskState.MERGED.value, FleetTaskState.DROPPED.value})


def remove_leftovers(place: WorkerPlace) -> None:
    """Remove what attempts on this machine left of tasks that are merged or dropped."""
    lanes = place.folder / "lanes"
    for run in names_in(lanes):
        over = {
            lane_name(row["repository"], row["id"])
            for row in place.ledger.tasks(run)
            if row["state"] in _OVER
        }
        for name in names_in(lanes / run):
            if name.rpartition("-")[0] in over:
                with contextlib.suppress(RalphError, OSError):
                    _remove(lanes / run / name, f"ralph/{run}/{name}")
    for name in names_in(place.folder / "leases"):
        if not is_lease_held(place.folder / "leases" / name):
            (place.folder / "leases" / name).unlink(missing_ok=True)


def forget_run(place: WorkerPlace, run: str) -> None:
    """Delete the refs of tasks that are over, and all of a run that has ended.

    They are left by a worker that was killed right after a merge, and by a false alarm.
    """
    row = place.ledger.run_row(run)
    if row["protocol"] > FLEET_PROTOCOL:
        return
    has_ended = row["state"] == FleetRunState.ENDED.value
    for name in place.ledger.repositories(run):
        over = [
            lane_name(row["repository"], row["id"])
            for row in place.ledger.tasks(run)
            if row["repository"] == name and row["state"] in _OVER
        ]
        with contextlib.suppress(RalphError):
            mirror = place.repository(run, name).mirror
            mirror.forget_refs(f"{REFS}/{run}", [""] if has_ended else over)


def _remove(path: Path, branch: str) -> None:
    worktree = find_worktree(path)
    if worktree.root != path.resolve() or is_held(worktree.git_dir):
        return
    root = worktree.common_dir.parent
    with lock_of(root):
        remove_lane(root, path, branch)


# Releases: whether what a repository releases with has the commits of a merged task.
#
# It is read from the repository's remote, so what an agent has only on its machine does not count:
# a tag, or the branch that work starts from. A commit is there when it is in the history, or when
# each of the commits that lead to it is there with the same changes, as after a rebase.


MOST_TAGS = 20
"""How many of the newest tags are compared by what commits change."""


def check_releases(place: WorkerPlace, run: str) -> list[str]:
    """Note merged tasks that were released, as far as others wait for them.

    Returns what could not be read, for the worker's user.
    """
    problems = []
    for row in place.ledger.awaited(run):
        try:
            repository = place.repository(run, row["repository"])
            name = releasing_ref(repository, row["merged"])
        except RalphError as error:
            problems.append(f"whether {row['task']} is released is unknown: {error.message}")
            continue
        if name is not None:
            place.ledger.released(run, row["task"], name)
            place.changed.set()
    return problems


def releasing_ref(repository: Repository, commit: str) -> str | None:
    """The tag or branch of the remote that releases a merged commit; None where there is none."""
    mirror, settings = repository.mirror, repository.settings
    mirror.fetch()
    if settings.release is FleetRelease.TAG:
        matching = [tag for tag in mirror.fetch_tags() if fnmatchcase(tag, settings.release_tags)]
        refs = ((tag, mirror.tag(tag)) for tag in matching[:MOST_TAGS])
        return _first_with(mirror, refs, commit, repository.base)
    branch = settings.branch or mirror.default_branch()
    return _first_with(mirror, [(branch, mirror.branch(branch))], commit, repository.base)


def _first_with(
    mirror: Mirror, refs: Iterable[tuple[str, str | None]], commit: str, base: str
) -> str | None:
    for name, end in refs:
        if end is not None and (
            mirror.is_ancestor(commit, end) or mirror.has_changes_of(end, commit, base)
        ):
            return name
    return None
