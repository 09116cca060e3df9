"""Releases: whether what a repository releases with has the commits of a merged task.

It is read from the repository's remote, so what an agent has only on its machine does not count:
a tag, or the branch that work starts from. A commit is there when it is in the history, or when
each of the commits that lead to it is there with the same changes, as after a rebase.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from ralph_ls.engine.fleet.mirror import Mirror
from ralph_ls.engine.fleet.place import Repository, WorkerPlace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FleetRelease

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
