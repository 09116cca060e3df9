"""Delivery to git: what has to be true for it at a start, each iteration's turn, and the push.

What would fail after every iteration of a night is found before the first one
(docs/rules.md#health). A push takes three tries, is never forced and never prompts. The branch goes
to the remote's branch of the same name, which is created where there is none. A remote that has
other commits is reported at once, since another try would not help. Reports name a remote and never
its URL, which may hold credentials (docs/rules.md#push).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ralph_ls.core.loop.effects import CommitWork, PushWork, ReadIteration
from ralph_ls.core.loop.inputs import Notice, WorkCommitted, WorkPushed
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.redaction.redactor import MINIMAL_LENGTH, Redactor
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.commit import IterationCommitter, first_paths_named
from ralph_ls.engine.delivery.git_commands import (
    GitRun,
    ProcessLauncher,
    run_own_git,
    ssh_without_questions,
)
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.git.history import is_ancestor
from ralph_ls.engine.git.worktree_state import read_head, under_way
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Committer, Config, OnValidateFail
from ralph_ls.protocol.errors import ConfigError, RalphError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.layout import Worktree

TRIES = 3
"""Of one push (docs/rules.md#push)."""

SHOWN_COMMITS = 3

DELAY_SECONDS = 5.0
"""Between two tries (docs/rules.md#push)."""

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
    """Credentials in its URLs."""


@dataclass(slots=True)
class Pusher:
    """Pushes for one engine."""

    launcher: ProcessLauncher
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
        place = self.launcher.workspace.worktree
        head = read_head(place.git_dir, place.common_dir)
        if head.commit is None or under_way(place.git_dir) is not None:
            # In the middle of a rebase HEAD is on no branch, and the branch is not what it will be.
            return WorkPushed()
        if head.branch is None:
            problem = "HEAD is detached, so there is no branch to push; check one out"
            return WorkPushed(
                ok=False, branch="a detached HEAD", commit=head.commit, tries=1, problem=problem
            )
        remote = await asyncio.to_thread(find_remote, self.launcher.workspace.root, head.branch)
        if remote is None:
            return WorkPushed()
        known = await asyncio.to_thread(self._known, remote.name, head.branch)
        if known == head.commit:
            return WorkPushed()
        users = await asyncio.to_thread(self._unpushed, order.held, head.commit, known)
        if users:
            shown = some_of([one[:7] for one in users], SHOWN_COMMITS)
            message = (
                f"nothing is pushed, because you committed on {head.branch} while no engine was "
                f"running ({shown}); push your commits yourself: git push {remote.name} "
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
            if ran.ok or rejected or tries == TRIES or self.launcher.is_stopping():
                break
            left = TRIES - tries
            said = f"Push failed (attempt {tries}/{TRIES}), {left} left, retrying in 5 s …\n"
            self.launcher.on_output(said.encode())
            await self._wait(DELAY_SECONDS)
            if self.launcher.is_stopping():
                break
        limit = self.launcher.workspace.config.timeouts.push
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
        workspace = self.launcher.workspace
        upstream = () if remote.has_upstream else ("--set-upstream",)
        known = {**workspace.redactor.secrets, **remote.secrets}
        return await run_own_git(
            self.launcher,
            order,
            *("push", "--porcelain", "--no-progress", *upstream),
            *("--", remote.name, f"refs/heads/{branch}:refs/heads/{branch}"),
            name="push",
            timeout=workspace.config.timeouts.push,
            settings=ssh_without_questions(workspace.environment, remote.ssh_command),
            redactor=Redactor(secrets=known),
        )

    async def _wait(self, seconds: float) -> None:
        """Wait by the engine's clock, or until the push is stopped."""
        until = self.clock.monotonic() + seconds
        while not self._stop.is_set() and (left := until - self.clock.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), left)

    def _unpushed(self, held: Collection[str], head: str, known: str) -> list[str]:
        """Those of the commits that a push of ``head`` would take along."""
        root = self.launcher.workspace.root
        return [
            one
            for one in held
            if is_ancestor(root, one, head) and not (known and is_ancestor(root, one, known))
        ]

    def _known(self, remote: str, branch: str) -> str:
        """The remote's branch as of the last fetch or push; empty where there was none."""
        ref = f"refs/remotes/{remote}/{branch}"
        root = self.launcher.workspace.root
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
    """A text without the user and the password in URLs."""
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


class GitDelivery:
    """Commits and pushes for one engine."""

    def __init__(self, launcher: ProcessLauncher, clock: Clock) -> None:
        self._committing = IterationCommitter(launcher, set(launcher.workspace.written_at_start))
        self._pushing = Pusher(launcher, clock)

    async def commit(
        self,
        order: CommitWork,
        after: Baseline,
        *,
        restored: Collection[str],
        users: Collection[str] = (),
    ) -> WorkCommitted:
        """Commit; see ``IterationCommitter.commit``."""
        return await self._committing.commit(order, after, restored=restored, users=users)

    async def push(self, order: PushWork) -> WorkPushed:
        """Push; see ``Pusher.push``."""
        return await self._pushing.push(order)

    def name_last(self) -> None:
        """See ``IterationCommitter.name_last``."""
        self._committing.name_last()

    def stop(self) -> None:
        """Wait for no further try to push."""
        self._pushing.stop()

    def wrote(self, paths: Iterable[str]) -> None:
        """The engine itself has written these files of the loop's; the next commit takes them."""
        self._committing.ours.update(paths)


def undelivered_work(
    workspace: Workspace, run: RunState, effect: ReadIteration, after: Baseline
) -> dict[str, str] | None:
    """What differs from the base of the loop's next commit, by path; None where it commits none."""
    if workspace.config.commits is not Committer.LOOP:
        return None
    base = run.commit_base or effect.baseline
    was = {**base.dirty, **base.own}
    own = {*workspace.source.own_files, *workspace.progress_files}
    of_loop = {path: value for path, value in after.own.items() if path in own}
    return {
        path: value for path, value in {**after.dirty, **of_loop}.items() if was.get(path) != value
    }


def emit_leftovers(
    workspace: Workspace, before: Baseline, after: Baseline, *, but: Collection[str] = ()
) -> tuple[Notice, ...]:
    """What an iteration changed and left in no commit, where its agent is to commit.

    ``but`` are guarded files that the engine itself has restored.
    """
    if workspace.config.commits is Committer.LOOP:
        return ()
    own = {*workspace.source.own_files, *workspace.progress_files}
    of_loop = {path: value for path, value in after.own.items() if path in own}
    paths = [path for path, value in after.dirty.items() if before.dirty.get(path) != value]
    paths += [path for path, value in of_loop.items() if before.own.get(path) != value]
    paths = [path for path in paths if path not in but]
    if not paths:
        return ()
    message = (
        f"the agent should commit its work, but left {count_of(len(paths), 'file')} uncommitted: "
        f'{first_paths_named(sorted(paths))}; to let the loop commit, set commits = "loop"'
    )
    return (Notice(code="left-uncommitted", message=message),)


def require_deliverable(worktree: Worktree, config: Config) -> None:
    """Raise a ``RalphError`` where nothing could be committed or pushed, and say what to do."""
    if config.commits is Committer.LOOP:
        require_identity(worktree.root)
    _require_able_to_undo(config)
    head = worktree_state.read_head(worktree.git_dir, worktree.common_dir)
    require_branch_to_push(worktree.root, config, head)


def require_branch_to_push(root: Path, config: Config, head: worktree_state.Head) -> None:
    """Raise a ``RalphError`` where a run that pushes is on no branch."""
    if config.push and head.branch is None:
        raise RalphError(
            f"HEAD of {root} is detached, so there is no branch to push; check out a branch, for "
            "example with git switch -c my-branch, or start with --no-push"
        )


def emit_no_remote(workspace: Workspace) -> list[Notice]:
    """Report once that a run which pushes has no remote."""
    place = workspace.worktree
    branch = worktree_state.read_head(place.git_dir, place.common_dir).branch
    if (
        not workspace.config.push
        or branch is None
        or find_remote(workspace.root, branch) is not None
    ):
        return []
    message = (
        "nothing is pushed, because the repository has no remote; add one with git remote add "
        "origin URL, or set push = false"
    )
    return [Notice(code="push-skipped", message=message)]


def _require_able_to_undo(config: Config) -> None:
    is_wanted = config.on_validate_fail is OnValidateFail.ROLLBACK
    if is_wanted and profile_of(config.profile).plan_kind is PlanKind.BEADS:
        raise ConfigError(
            'on_validate_fail = "rollback" cannot undo changes to bd issues, which are not in '
            'files; choose "repair" or "stop"'
        )


def require_identity(root: Path) -> None:
    """Raise a ``RalphError`` where git does not know in whose name to commit."""
    try:
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            run_git(root, "var", name)
    except RalphError as error:
        raise RalphError(
            f"the loop should commit in {root}, but git has no name to commit with; set one: git "
            "config user.name 'Your Name'; git config user.email you@example.com"
        ) from error
