"""Publishing of a fleet's work: one change that spans repositories goes onto their own branches.

In every repository the branch that tasks were merged into has one name, unless the file says
otherwise. All of them are rebased on the branch that work started from and validated first; only
when all are valid, each is pushed, in the order of the file. A push may still be refused then, as
somebody else was first: what is done so far is reported with the commands that finish or revert it.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.plurals import count_of
from ralph_ls.engine.fleet.attempt import require_no_secrets
from ralph_ls.engine.fleet.mirror import Mirror
from ralph_ls.engine.fleet.place import Repository
from ralph_ls.engine.fleet.planning import open_repository, plan_tree, workspace_for_plan
from ralph_ls.engine.parallel.lane_merge import MergeProcesses, validate_merged
from ralph_ls.engine.parallel.merge_branch import MergeBranch
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.fleet import FleetFile
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.layout import find_worktree


class HalfPublished(RalphError):
    """Some repositories have the change and others have not; says how to finish or revert it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedChange:
    """The part of a change in one repository, rebased and valid."""

    name: str
    mirror: Mirror
    branch: str
    """The branch that gets it."""
    onto: str
    """The branch that has it, at ``source``."""
    source: str
    before: str
    after: str
    commits: int
    checkout: Path | None = None
    """The user's work tree that has ``branch`` checked out; its files move, too."""

    def apply(self) -> None:
        """Move the branch forward; raises a ``RalphError`` where that is refused."""
        if self.checkout is None:
            self.mirror.push(self.after, f"refs/heads/{self.branch}")
        else:
            kept = f"refs/ralph/publish/{self.after}"
            self.mirror.push(self.after, kept)
            try:
                run_git(self.checkout, "merge", "--ff-only", "--quiet", self.after)
            finally:
                run_git(self.checkout, "update-ref", "-d", kept)
        if self.after != self.source:
            # The branch of the fleet has the same work on top of an older state.
            self.mirror.delete_branch(self.onto, self.source)

    def revert_command(self) -> str:
        """What takes the change back."""
        span = f"{self.before[:12]}..{self.after[:12]}"
        if self.checkout is not None:
            return f"git -C {shlex.quote(str(self.checkout))} revert --no-edit {span}"
        folder = f"revert-{self.name}"
        return (
            f"git clone -b {shlex.quote(self.branch)} {shlex.quote(self.mirror.address)} {folder} "
            f"&& git -C {folder} revert --no-edit {span} && git -C {folder} push"
        )


def prepare_changes(
    fleet: FleetFile, names: Sequence[str], run: str, environment: Mapping[str, str]
) -> list[PreparedChange]:
    """The change in each repository that has something to publish, in the order of the file.

    Raises a ``RalphError`` for one that conflicts or is not valid; nothing is pushed then.
    """
    chosen = [name for name in fleet.repositories if not names or name in names]
    found = []
    for name in chosen:
        repository = open_repository(
            name, fleet.repositories[name], run, environment, for_publishing=True
        )
        try:
            change = _prepare(repository, environment)
        except RalphError as error:
            raise type(error)(f"{name}: {error.message}; nothing was pushed anywhere") from error
        if change is not None:
            found.append(change)
    return found


def apply_changes(changes: Sequence[PreparedChange]) -> None:
    """Move every branch; raises ``HalfPublished`` where a later one is refused."""
    for number, change in enumerate(changes):
        try:
            change.apply()
        except RalphError as error:
            done, left = changes[:number], changes[number:]
            if not done:
                raise RalphError(
                    f"{change.name}: {error.message}; nothing was pushed anywhere"
                ) from error
            raise HalfPublished(_half_words(done, left, error)) from error


def _half_words(
    done: Sequence[PreparedChange], left: Sequence[PreparedChange], error: RalphError
) -> str:
    names = " ".join(one.name for one in left)
    have = ", ".join(one.name for one in done)
    have_not = ", ".join(one.name for one in left)
    lines = [
        f"the change is half published: it is in {have}, and not in {have_not}",
        error.message,
        f"To finish it: ralph fleet publish {names}",
        "To revert it:",
        *(f"  {one.revert_command()}" for one in reversed(done)),
    ]
    return "\n".join(lines)


def _prepare(repository: Repository, environment: Mapping[str, str]) -> PreparedChange | None:
    mirror, settings = repository.mirror, repository.settings
    branch = settings.branch or mirror.default_branch()
    source, before = mirror.branch(settings.onto), repository.base
    if source is None or branch == settings.onto or mirror.is_ancestor(source, before):
        return None
    tree = plan_tree(repository, environment)
    workspace = workspace_for_plan(repository, tree, environment)
    rebased = MergeBranch(workspace, settings.onto).rebase().rebase(before, source)
    if rebased.conflicts:
        raise UsageError(
            f"{', '.join(rebased.conflicts[:3])} of {settings.onto} conflicts with {branch}; "
            f"rebase it in a clone: git rebase {branch} {settings.onto}"
        )
    if rebased.head == before:
        return None
    run_git(tree.root, "reset", "--quiet", "--hard", rebased.head)
    run_git(tree.root, "clean", "-ffdq")
    refused = asyncio.run(validate_merged(workspace, before, rebased.head, MergeProcesses()))
    if refused is not None:
        raise RalphError(refused)
    if settings.check_secrets:
        require_no_secrets(workspace, before, rebased.head)
    return PreparedChange(
        name=repository.name,
        mirror=mirror,
        branch=branch,
        onto=settings.onto,
        source=source,
        before=before,
        after=rebased.head,
        commits=rebased.commits,
        checkout=_checkout_of(repository, branch),
    )


def _checkout_of(repository: Repository, branch: str) -> Path | None:
    """The user's work tree with this branch, where the remote is a folder of this machine."""
    if repository.settings.path is None:
        return None
    root = find_worktree(Path(repository.mirror.address)).root
    printed = run_git(root, "worktree", "list", "--porcelain").decode("utf-8", "surrogateescape")
    place = ""
    for line in printed.splitlines():
        key, _, value = line.partition(" ")
        place = value if key == "worktree" else place
        if key == "branch" and value == f"refs/heads/{branch}":
            return Path(place)
    return None


def change_words(changes: Sequence[PreparedChange]) -> list[str]:
    """A line for each part of a change."""
    return [
        f"{one.name}: {count_of(one.commits, 'commit')} from {one.onto} onto {one.branch}"
        for one in changes
    ]
