"""Pushing the branch after an iteration: three tries, never forced, never a question.

See docs/rules.md#push.

The branch goes to the remote's branch of the same name, which is made where there is none. A remote
that has other commits is told at once, for trying again does not help. What is told of a remote is
its name, never its URL, which may hold credentials.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ralph_ls.core.loop.effects import PushWork
from ralph_ls.core.loop.inputs import Notice, WorkPushed
from ralph_ls.core.plurals import some_of
from ralph_ls.core.redaction.redactor import MINIMAL_LENGTH, Redactor
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.git_commands import (
    GitRun,
    ProcessLauncher,
    run_own_git,
    ssh_without_questions,
)
from ralph_ls.engine.git.history import is_ancestor
from ralph_ls.engine.git.worktree_state import read_head, under_way
from ralph_ls.store.external.git_command import run_git

TRIES = 3
"""S, Git Push with Retry Logic."""

SHOWN_COMMITS = 3

DELAY_SECONDS = 5.0
"""Between two tries (S)."""

_USER_OF_URL = re.compile(r"(?<=://)[^/@\s'\"]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where a branch is pushed to."""

    name: str
    has_upstream: bool
    """The branch follows one already."""
    ssh_command: str = ""
    """Git's ``core.sshCommand``."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Credentials that stand in its URLs."""


@dataclass(slots=True)
class Pusher:
    """Pushes for one engine."""

    hands: ProcessLauncher
    clock: Clock
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        """Wait for no further try."""
        self._stop.set()

    async def push(self, order: PushWork) -> WorkPushed:
        """Push what the remote does not have; raises a ``RalphError`` where git cannot be asked.

        Nothing is pushed while one of the commits ``held`` of the order would go with it.
        """
        self._stop.clear()
        place = self.hands.workspace.worktree
        head = read_head(place.git_dir, place.common_dir)
        if head.commit is None or under_way(place.git_dir) is not None:
            # In the middle of a rebase HEAD is on no branch, and the branch is not what it will be.
            return WorkPushed()
        if head.branch is None:
            problem = "HEAD is on no branch any more, so there is none to push; check one out"
            return WorkPushed(
                ok=False, branch="a detached HEAD", commit=head.commit, tries=1, problem=problem
            )
        remote = await asyncio.to_thread(find_remote, self.hands.workspace.root, head.branch)
        if remote is None:
            return WorkPushed()
        known = await asyncio.to_thread(self._known, remote.name, head.branch)
        if known == head.commit:
            return WorkPushed()
        users = await asyncio.to_thread(self._unpushed, order.held, head.commit, known)
        if users:
            shown = some_of([one[:7] for one in users], SHOWN_COMMITS)
            message = (
                f"nothing is pushed, since you committed on {head.branch} while no engine ran "
                f"({shown}), and what is yours is yours to push: git push {remote.name} "
                f"{head.branch}"
            )
            return WorkPushed(notices=(Notice(code="push-held", message=message),))
        return await self._push(order, remote, head.branch, head.commit)

    async def _push(self, order: PushWork, remote: Remote, branch: str, commit: str) -> WorkPushed:
        tries = 0
        while True:
            tries += 1
            ran = await self._try(order, remote, branch)
            flag, summary = _ref_report(ran.stdout)
            rejected = flag == "!" and summary.startswith("[rejected]")
            if ran.ok or rejected or tries == TRIES or self.hands.is_stopping():
                break
            left = TRIES - tries
            said = f"Push failed (attempt {tries}/{TRIES}), {left} left, retrying in 5 s …\n"
            self.hands.on_output(said.encode())
            await self._wait(DELAY_SECONDS)
            if self.hands.is_stopping():
                break
        limit = self.hands.workspace.config.push_timeout
        return WorkPushed(
            ok=ran.ok,
            remote=remote.name,
            branch=branch,
            commit=commit,
            tries=tries,
            created=ran.ok and flag == "*",
            rejected=rejected,
            problem="" if ran.ok else without_users(ran.how(limit)),
        )

    async def _try(self, order: PushWork, remote: Remote, branch: str) -> GitRun:
        workspace = self.hands.workspace
        upstream = () if remote.has_upstream else ("--set-upstream",)
        known = {**workspace.redactor.secrets, **remote.secrets}
        return await run_own_git(
            self.hands,
            order,
            *("push", "--porcelain", "--no-progress", *upstream),
            *("--", remote.name, f"refs/heads/{branch}:refs/heads/{branch}"),
            name="push",
            timeout=workspace.config.push_timeout,
            settings=ssh_without_questions(workspace.environment, remote.ssh_command),
            redactor=Redactor(secrets=known),
        )

    async def _wait(self, seconds: float) -> None:
        """Wait by the engine's clock, or until nobody wants to go on."""
        until = self.clock.monotonic() + seconds
        while not self._stop.is_set() and (left := until - self.clock.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), left)

    def _unpushed(self, held: Collection[str], head: str, known: str) -> list[str]:
        """Those of the commits that a push of ``head`` would take along."""
        root = self.hands.workspace.root
        return [
            one
            for one in held
            if is_ancestor(root, one, head) and not (known and is_ancestor(root, one, known))
        ]

    def _known(self, remote: str, branch: str) -> str:
        """What the remote's branch was when it was last heard of; empty where it never was."""
        ref = f"refs/remotes/{remote}/{branch}"
        root = self.hands.workspace.root
        return run_git(root, "rev-parse", "--verify", "-q", ref, accept=(0, 1)).decode().strip()


def find_remote(root: Path, branch: str) -> Remote | None:
    """Where git would push the branch; None where there is no remote.

    As git chooses: what is set for pushing, else what the branch follows, else ``origin``, else the
    only one there is.
    """
    settings = _settings(root)
    prefix = f"branch.{branch}"
    names = [key[7:-4] for key in settings if key.startswith("remote.") and key.endswith(".url")]
    follows = settings.get(f"{prefix}.remote", "")
    wanted = settings.get(f"{prefix}.pushremote") or settings.get("remote.pushdefault") or follows
    if wanted not in names:
        wanted = "origin" if "origin" in names or not names else names[0]
    if wanted not in names:
        return None
    urls = [settings.get(f"remote.{wanted}.{key}", "") for key in ("url", "pushurl")]
    return Remote(
        name=wanted,
        has_upstream=bool(follows and settings.get(f"{prefix}.merge")),
        ssh_command=settings.get("core.sshcommand", ""),
        secrets=_credentials(urls),
    )


def without_users(text: str) -> str:
    """A text without the user and the password that stand in its URLs."""
    return _USER_OF_URL.sub("", text)


def _settings(root: Path) -> dict[str, str]:
    """Git's settings that say where to push; section and key in lower case, the last one holds."""
    wanted = r"^(branch\..*\.(remote|pushremote|merge)|remote\..*|core\.sshcommand)$"
    printed = run_git(root, "config", "-z", "--get-regexp", wanted, accept=(0, 1))
    entries = (entry.partition("\n") for entry in printed.decode("utf-8", "replace").split("\0"))
    return {key: value for key, _, value in entries if key}


def _credentials(urls: Iterable[str]) -> dict[str, str]:
    """What must not be shown of the URLs, by a name for it."""
    parts = [part for url in urls if (part := _user_of(url))]
    return {
        f"{name} {number}": value
        for number, (user, password) in enumerate(parts, start=1)
        for name, value in (("remote user", user), ("remote password", password))
        if len(value) >= MINIMAL_LENGTH
    }


def _user_of(url: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(url)
        return parts.username or "", parts.password or ""
    except ValueError:
        return None


def _ref_report(printed: str) -> tuple[str, str]:
    """Flag and summary of the one branch in what ``git push --porcelain`` prints."""
    for line in printed.splitlines():
        flag, tab, rest = line.partition("\t")
        if tab and len(flag) == 1:
            return flag, rest.partition("\t")[2]
    return "", ""
