"""Mirror: the clone of one repository that all lanes of this machine share, and its remote.

The remote carries a fleet's work. Each attempt at a task pushes to a ref that no other attempt
uses, ``refs/ralph/RUN/TASK/EPOCH``, and never by force; such refs start no continuous integration.
Branches are moved by merges alone, forward only. No files are checked out in the mirror itself.
"""

from __future__ import annotations

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

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def lock_of(root: Path) -> filelock.BaseFileLock:
    """The lock of a mirror in this folder."""
    return filelock.FileLock(f"{root}.lock")


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

    def fetch_ref(self, ref: str) -> str | None:
        """Fetch one ref; its commit, None where the remote has none."""
        local = _fetched_ref(ref)
        if not self._listed(ref):
            return None
        self._remote("fetch", "--quiet", "--no-tags", "origin", f"+{ref}:{local}")
        return self.commit(local)

    def branch(self, name: str) -> str | None:
        """Commit of a fetched branch; None where the remote has none."""
        return self.commit(f"{_FETCHED}/heads/{name}")

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
        try:
            self._remote("push", "--quiet", "--no-verify", "origin", f"{commit}:{ref}")
        except RalphError as error:
            if "rejected" in error.message and "non-fast-forward" in error.message:
                raise RefMoved(error.message) from error
            if "fetch first" in error.message or "cannot lock ref" in error.message:
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

    def _listed(self, pattern: str) -> list[str]:
        printed = self._remote("ls-remote", "origin", pattern).decode()
        return [line.split("\t")[1] for line in printed.splitlines() if "\t" in line]

    def _remote(self, *arguments: str) -> bytes:
        configured = run_git(self.root, "config", "--get", "core.sshCommand", accept=(0, 1))
        settings = {
            **NO_QUESTIONS,
            **ssh_without_questions(self.environment, configured.decode().strip()),
        }
        return run_git(self.root, *arguments, settings=settings)


def address_of(path: str | None, url: str | None) -> str:
    """The remote of a repository in ``fleet.toml``."""
    if url is not None:
        return url
    return os.fspath(Path(path or ".").expanduser().absolute())
