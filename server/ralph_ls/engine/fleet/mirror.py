"""Mirror: the clone of one repository that all lanes of this machine share, and its remote.

The remote carries a fleet's work. Each attempt at a task pushes to a ref that no other attempt
uses, ``refs/ralph/RUN/TASK/EPOCH``, and never by force; such refs start no continuous integration.
Branches are moved by merges alone, forward only. No files are checked out in the mirror itself.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import filelock

from ralph_ls.engine.delivery.git_commands import NO_QUESTIONS, ssh_without_questions
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.git_safety import NO_TRANSPORT, trust_git_settings
from ralph_ls.store.files import make_private_folder

REFS = "refs/ralph"
"""Where the work of unmerged tasks is on a remote."""

_FETCHED = "refs/fleet"
"""Where fetched refs are in a mirror."""

_FETCHED_TASKS = f"{_FETCHED}/tasks"

RETIRED = "-returned"
"""What follows the name of an attempt's ref whose work is to be repaired instead of merged."""

_MOVED = (
    "non-fast-forward",
    "fetch first",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
)
"""What git says where a ref is not where a push expects it."""

_REFUSED = ("does not support --atomic", *_MOVED)
"""What git says where a remote was reached and refused a push, beside ``rejected``."""

_NO_ATOMIC = ("does not support --atomic", "deletion prohibited", "denyDeletes")

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def lock_of(root: Path) -> filelock.BaseFileLock:
    """The lock of a mirror in this folder."""
    return filelock.FileLock(f"{root}.lock")


class RemoteUnreachable(RalphError):
    """The remote did not answer, or refused the connection; another try may succeed."""


class RefMoved(RalphError):
    """The remote's branch is not where it was expected, so a push was refused."""


def ref_word(task: str) -> str:
    """A task's id as a part of a ref; different for different ids."""
    plain = _UNSAFE.sub("-", task).strip("-")[:40]
    return plain if plain == task else f"{plain}-{sha256(task.encode()).hexdigest()[:8]}"


def lane_name(repository: str, task: str) -> str:
    """Name of the lanes and refs of a task, which the epoch of each attempt follows."""
    return f"{ref_word(repository)}--{ref_word(task)}"


def task_refs(run: str, repository: str, task: str) -> str:
    """What the refs of all attempts at a task are below."""
    return f"{REFS}/{run}/{lane_name(repository, task)}"


def work_ref(run: str, repository: str, task: str, epoch: int) -> str:
    """The ref of one attempt at a task."""
    return f"{task_refs(run, repository, task)}/{epoch}"


def _fetched_ref(ref: str) -> str:
    """Where a ref of a task on the remote is in the mirror."""
    return f"{_FETCHED_TASKS}/{ref.removeprefix(f'{REFS}/')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """The mirror of one remote below the fleet's folder on this machine."""

    root: Path
    address: str
    """The remote: a URL, or the folder of a repository on this machine."""
    environment: Mapping[str, str]

    @staticmethod
    def at(folder: Path, address: str, environment: Mapping[str, str]) -> Mirror:
        """The mirror of a remote; ``folder`` has all mirrors."""
        name = sha256(address.encode()).hexdigest()[:12]
        return Mirror(root=folder / name, address=address, environment=environment)

    def lock(self) -> filelock.BaseFileLock:
        """Held while work trees of the mirror are made, moved or removed."""
        return lock_of(self.root)

    def prepare(self) -> None:
        """Make the mirror, unless it is there."""
        with self.lock():
            make_private_folder(self.root)
            if not (self.root / ".git" / "refs").is_dir():
                run_git(self.root, "init", "--quiet", settings=NO_TRANSPORT)
            trust_git_settings(self.root)
            run_git(self.root, "config", "gc.auto", "0")
            run_git(self.root, "config", "remote.origin.url", self.address)

    def fetch(self) -> None:
        """Fetch all branches of the remote."""
        self._remote(
            "fetch", "--quiet", "--prune", "--no-tags", "origin",
            f"+refs/heads/*:{_FETCHED}/heads/*",
        )  # fmt: skip

    def fetch_task(self, refs: str) -> None:
        """Fetch what attempts at a task have pushed below ``refs``."""
        spec = f"+{refs}/*:{_fetched_ref(refs)}/*"
        self._remote("fetch", "--quiet", "--no-tags", "origin", spec)

    def remote_commit(self, ref: str) -> str | None:
        """Commit of a ref on the remote at this moment; None where it has none."""
        return self._listed(ref).get(ref)

    def branch(self, name: str) -> str | None:
        """Commit of a fetched branch; None where the remote has none."""
        return self.commit(f"{_FETCHED}/heads/{name}")

    def fetch_tags(self) -> list[str]:
        """Fetch all tags of the remote; their names, the newest first."""
        self._remote(
            "fetch", "--quiet", "--prune", "--no-tags", "origin", f"+refs/tags/*:{_FETCHED}/tags/*"
        )  # fmt: skip
        printed = run_git(
            self.root, "for-each-ref", "--sort=-creatordate", "--format=%(refname)",
            f"{_FETCHED}/tags",
        )  # fmt: skip
        names = printed.decode("utf-8", "surrogateescape").splitlines()
        return [name.removeprefix(f"{_FETCHED}/tags/") for name in names]

    def tag(self, name: str) -> str | None:
        """Commit of a fetched tag; None where it is none of a commit."""
        return self.commit(f"{_FETCHED}/tags/{name}")

    def has_changes_of(self, end: str, commit: str, base: str) -> bool:
        """Whether ``end`` has what each commit from ``base`` to ``commit`` changes."""
        if self.commit(commit) is None or self.commit(base) is None:
            return False
        printed = run_git(self.root, "cherry", end, commit, base).decode().splitlines()
        return bool(printed) and all(line.startswith("- ") for line in printed)

    def default_branch(self) -> str:
        """The branch that HEAD of the remote names; raises ``RalphError`` where it names none."""
        printed = self._remote("ls-remote", "--symref", "origin", "HEAD").decode()
        found = re.match(r"ref: refs/heads/(\S+)\tHEAD", printed)
        if found is None:
            raise RalphError(
                f"{self.address} has no current branch to start from; name one with branch = "
                '"NAME" in fleet.toml'
            )
        return found[1]

    def commit(self, name: str) -> str | None:
        """Commit that a name means in the mirror; None where it means none."""
        found = run_git(
            self.root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", accept=(0, 1, 128)
        )
        return found.decode().strip() or None

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether ``other`` has ``one`` in its history."""
        if self.commit(one) is None:
            return False
        base = run_git(self.root, "merge-base", one, other, accept=(0, 1)).decode().strip()
        return base == one

    def push(self, commit: str, ref: str) -> None:
        """Move a ref of the remote forward to a commit, or create it.

        Raises ``RefMoved`` where that is no step forward any more, else a ``RalphError``.
        """
        self._push(f"{commit}:{ref}")

    def move_branch(self, commit: str, branch: str, *, ref: str, tip: str) -> None:
        """Move a branch of the remote forward, and delete the ref whose work it gets: both or none.

        So the branch gets the work of ``ref`` only as long as that is there, at ``tip``. A remote
        that cannot push atomically, or lets nobody delete, moves the branch alone. Raises as
        ``push`` does.
        """
        lease = f"--force-with-lease={ref}:{tip}"
        try:
            self._push("--atomic", lease, f"{commit}:refs/heads/{branch}", f":{ref}")
        except RefMoved:
            raise
        except RalphError as error:
            if not any(words in error.message for words in _NO_ATOMIC):
                raise
            self.push(commit, f"refs/heads/{branch}")

    def retire(self, ref: str, tip: str) -> None:
        """Rename a ref, so that no branch can get its work by ``move_branch`` any more.

        Does nothing where it is not at ``tip``, as somebody else did it.
        """
        lease = f"--force-with-lease={ref}:{tip}"
        with contextlib.suppress(RefMoved):
            self._push("--atomic", lease, f":{ref}", f"{tip}:{ref}{RETIRED}")

    def _push(self, *arguments: str) -> None:
        specs = [one for one in arguments if not one.startswith("--")]
        options = [one for one in arguments if one.startswith("--")]
        try:
            self._remote("push", "--quiet", "--no-verify", *options, "origin", *specs)
        except RalphError as error:
            if any(words in error.message for words in _MOVED):
                raise RefMoved(error.message) from error
            raise

    def delete_branch(self, name: str, commit: str) -> None:
        """Delete a branch of the remote if it is still at a commit."""
        ref = f"refs/heads/{name}"
        lease = f"--force-with-lease={ref}:{commit}"
        self._remote("push", "--quiet", "--no-verify", lease, "origin", f":{ref}")

    def forget_refs(self, prefix: str, tasks: Collection[str] = ("",)) -> None:
        """Delete refs below a prefix, on the remote and here; ``tasks`` are the next words."""
        starts = tuple(f"{prefix}/{task}/" if task else f"{prefix}/" for task in tasks)
        names = [ref for ref in self._listed(f"{prefix}/*") if ref.startswith(starts)]
        if names:
            self._remote("push", "--quiet", "--no-verify", "origin", *(f":{ref}" for ref in names))
        for start in starts:
            local = _fetched_ref(start.rstrip("/"))
            for ref in run_git(self.root, "for-each-ref", "--format=%(refname)", local).split():
                run_git(self.root, "update-ref", "-d", ref.decode())

    def _listed(self, *patterns: str) -> dict[str, str]:
        """Refs of the remote, with their commits."""
        lines = self._remote("ls-remote", "origin", *patterns).decode().splitlines()
        found = (line.split("\t") for line in lines if "\t" in line)
        return {ref: commit for commit, ref in found}

    def _remote(self, *arguments: str) -> bytes:
        configured = run_git(self.root, "config", "--get", "core.sshCommand", accept=(0, 1))
        settings = {
            **NO_QUESTIONS,
            **ssh_without_questions(self.environment, configured.decode().strip()),
        }
        try:
            return run_git(self.root, *arguments, settings=settings)
        except RalphError as error:
            is_refusal = "rejected]" in error.message or any(
                words in error.message for words in _REFUSED
            )
            if arguments[0] == "push" and is_refusal:
                raise
            raise RemoteUnreachable(error.message) from error


def address_of(path: str | None, url: str | None) -> str:
    """The remote of a repository in ``fleet.toml``."""
    if url is not None:
        return url
    return os.fspath(Path(path or ".").expanduser().absolute())
