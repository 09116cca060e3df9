"""Commit of an iteration's changes, where the loop commits (docs/rules.md#commits).

Git itself commits, with its hooks and its signing, and only what is the iteration's: files that
were changed before are left out, whether they are staged or not, and so are new files that look
like secrets and repositories inside this one. What is left out is reported once.

Git itself writes into the reflog of HEAD for which start it made a commit, so an engine that takes
over an iteration finds it there and never makes a second one. Later the journal knows its hash. The
trailers of the message are information: anybody may copy them.

The log of finished tasks gets ``Commit: hash`` below each entry. No commit can hold its own hash,
so the next one brings it along; after the last iteration a further commit does, and the tree is
clean in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath

from ralph_ls.core.loop.effects import CommitWork
from ralph_ls.core.loop.inputs import Notice, WorkCommitted
from ralph_ls.core.loop.rules.commits import progress_message
from ralph_ls.core.plan.edit.progress_log import entries_without_commit, name_commits
from ralph_ls.core.plurals import some_of
from ralph_ls.engine.delivery.git_commands import ProcessLauncher, run_own_git
from ralph_ls.engine.delivery.restoration_commits import (
    CannotCommit,
    HeadMoved,
    RestorationCommits,
    TreeEntry,
    entries_of,
)
from ralph_ls.engine.git.history import is_ancestor
from ralph_ls.engine.git.status import DELETED, GITLINK, dirty_paths
from ralph_ls.engine.git.worktree_state import read_head, under_way
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import PRIVATE_FILE, write_atomic
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.plan_file import edit_plan
from ralph_ls.store.run.iterations import commits_of_runs

SHOWN_PATHS = 5

RACES = 4
"""How often a commit is tried again that failed since somebody committed at the same moment."""

NAMED_ENTRIES = 20
"""Entries of the log of finished tasks whose commit is looked for, from its beginning."""

RUNS_WITH_ENTRIES = 3
"""Newest runs whose commits are looked for below entries without one."""

REFLOG_ENTRIES = 200
"""Newest entries of HEAD's reflog among which an iteration's commit is looked for."""

SHORT_HASH = 7

_BLAMED = re.compile(r"^([0-9a-f]{40,64}) \d+ (\d+)", re.MULTILINE)

_SECRET_FILES = re.compile(
    r"(\.env(\..+)?|.+\.env|\.envrc|\.netrc|\.pypirc|\.pgpass|\.git-credentials"
    r"|id_(rsa|dsa|ecdsa|ed25519)|.+\.(pem|p12|pfx|keystore))",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(r".*\.(example|sample|template|dist|defaults?)(\..+)?", re.IGNORECASE)


def looks_secret(path: str) -> bool:
    """Whether a file is one that people keep secrets in, by its name: ``.env`` and its like."""
    name = PurePosixPath(path).name
    return bool(_SECRET_FILES.fullmatch(name)) and not _EXAMPLES.fullmatch(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """What is committed and what is left out; paths as git prints them, relative to the root."""

    paths: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """Changed before the iteration, and not since."""
    secret: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    """Other repositories, whose own history nobody commits from outside."""


@dataclass(slots=True)
class IterationCommitter:
    """Commits for one engine."""

    launcher: ProcessLauncher
    ours: set[str] = field(default_factory=set)
    """The loop's own files that the engine itself has written; they go into the next commit."""
    _told: set[tuple[str, str]] = field(default_factory=set)
    _unnamed: CommitWork | None = None
    """The last order whose commit the log of finished tasks may not name yet."""

    async def commit(
        self,
        order: CommitWork,
        after: Baseline,
        *,
        restored: Collection[str] = (),
        users: Collection[str] = (),
    ) -> WorkCommitted:
        """Commit what differs from the order's base, of what ``after`` has.

        ``restored`` are guarded files that were restored in this iteration, ``users`` what was
        changed by others since its agent ended. Raises a
        ``RalphError`` where git cannot be asked.
        """
        made = await asyncio.to_thread(self._find, order)
        if made is None:
            made = await self._commit_work(order, after, restored, users)
        if order.is_last and not made.problem and not self.launcher.is_stopping():
            await asyncio.to_thread(self._name_last, order)
        elif made.commit is not None:
            self._unnamed = order
        return made

    def name_last(self) -> None:
        """Name the last commit at the end of a run that came before another one, as by a stop."""
        if self._unnamed is None:
            return
        order, self._unnamed = self._unnamed, None
        with contextlib.suppress(RalphError):
            self._name_last(order)

    async def _commit_work(
        self,
        order: CommitWork,
        after: Baseline,
        restored: Collection[str],
        users: Collection[str],
    ) -> WorkCommitted:
        workspace = self.launcher.workspace
        chosen = await asyncio.to_thread(self._choose, order, after, restored, users)
        notices = self._tell(chosen)
        if not chosen.paths or self.launcher.is_stopping():
            return WorkCommitted(notices=notices)
        if what := under_way(workspace.worktree.git_dir):
            problem = f"a {what} is in progress in {workspace.root}; finish or abort it"
            return WorkCommitted(problem=problem, notices=notices)
        if conflicts := await asyncio.to_thread(self._conflicts):
            paths = first_paths_named(conflicts)
            problem = f"these files have unresolved conflicts: {paths}; resolve them"
            return WorkCommitted(problem=problem, notices=notices)
        if workspace.config.paths.progress in chosen.paths:
            await asyncio.to_thread(self._name_commits, order)
        for _ in range(RACES):
            before = await asyncio.to_thread(self._head)
            done = await self._commit(order, chosen.paths, notices)
            is_race = bool(done.problem) and await asyncio.to_thread(self._head) != before
            if not is_race or self.launcher.is_stopping():
                return done
        return await self._commit(order, chosen.paths, notices)

    def _name_last(self, order: CommitWork) -> None:
        """Name the commits of the last entries in a commit with nothing else in it."""
        workspace = self.launcher.workspace
        path, root = workspace.config.paths.progress, workspace.root
        head = self._head()
        if head is None or run_git(root, "status", "--porcelain", "--", f":(literal){path}"):
            return
        if not self._name_commits(order):
            return
        try:
            was = entries_of(root, head, [path])
            data = run_git(root, "hash-object", "-w", "--", path).decode().strip()
            entry = was[path]
            mode = "100644" if entry is None else entry.mode
            message = progress_message(workspace.run, order.start, path)
            RestorationCommits(workspace).commit(
                order.start, head, was, {path: TreeEntry(mode, data)}, (), message=message
            )
        except (CannotCommit, HeadMoved, RalphError):
            # The next commit of the loop takes it along.
            self.ours.add(path)

    def _name_commits(self, order: CommitWork) -> bool:
        """Write the commit below each entry of the log that the loop or the agent committed."""
        root, path = self.launcher.workspace.root, self.launcher.workspace.config.paths.progress

        def named(text: str) -> str:
            lines = [*entries_without_commit(text, NAMED_ENTRIES)]
            return name_commits(text, self._commits_of(order, path, lines))

        try:
            before, edited = edit_plan(root, path, named, "commit again")
        except RalphError:
            # A log that cannot be read or is no file stays as it is.
            return False
        return before != edited

    def _commits_of(self, order: CommitWork, path: str, lines: Sequence[int]) -> dict[int, str]:
        """The commit that brought each of these lines, where it is the loop's or new."""
        if not lines:
            return {}
        root = self.launcher.workspace.root
        ranges = [f"-L{line + 1},{line + 1}" for line in lines]
        options = ("--porcelain", "--ignore-revs-file=", *ranges)
        printed = run_git(root, "blame", *options, "--", path).decode("utf-8", "replace")
        found = {int(one[2]) - 1: one[1] for one in _BLAMED.finditer(printed)}
        commits = sorted({one for one in found.values() if one.strip("0")})
        if not commits:
            return {}
        since = [] if order.since is None else [f"^{order.since}"]
        new = run_git(root, "rev-list", "HEAD", *since, "--").decode().split()
        loops = {*new}
        state = StateFolder(folder=self.launcher.workspace.files.folder.parent.parent)
        for known in islice(commits_of_runs(state), RUNS_WITH_ENTRIES):
            if loops.issuperset(commits):
                break
            loops |= known
        return {line: commit[:SHORT_HASH] for line, commit in found.items() if commit in loops}

    def _conflicts(self) -> list[str]:
        """The paths with several versions in the index, as a conflict of ``git stash pop`` leaves
        them without any operation under way; to stage them would make them look resolved.
        """
        printed = run_git(self.launcher.workspace.root, "ls-files", "--unmerged", "-z")
        paths = {entry.partition(b"\t")[2] for entry in printed.split(b"\0") if entry}
        return sorted(_text_of(path) for path in paths)

    async def _commit(
        self, order: CommitWork, paths: Sequence[str], notices: tuple[Notice, ...]
    ) -> WorkCommitted:
        limit = self.launcher.workspace.config.timeouts.commit
        listed = b"".join(_bytes_of(path) + b"\0" for path in paths)
        staged = await run_own_git(
            self.launcher,
            order,
            *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
            name="stage",
            timeout=limit,
            stdin=listed,
        )
        if not staged.ok:
            return WorkCommitted(problem=staged.how(limit), notices=notices)
        only = await asyncio.to_thread(self._only, order, paths, listed)
        if only is None:
            return WorkCommitted(notices=notices)
        before = await asyncio.to_thread(self._head)
        ran = await run_own_git(
            self.launcher,
            order,
            *("-c", "core.logAllRefUpdates=true"),
            *("commit", "--quiet", "--cleanup=whitespace", "--file=-", *only),
            name="commit",
            timeout=limit,
            stdin=order.message.encode("utf-8", errors="replace"),
            settings={
                "GIT_LITERAL_PATHSPECS": "1",
                "GIT_REFLOG_ACTION": _reflog_action(self.launcher.workspace, order.start),
            },
        )
        made = await asyncio.to_thread(self._find, order)
        if made is None and ran.ok:
            made = await asyncio.to_thread(self._made_since, before)
        if made is None:
            return WorkCommitted(problem=ran.how(limit), notices=notices)
        return WorkCommitted(
            commit=made.commit, subject=made.subject, files=len(paths), notices=notices
        )

    def _head(self) -> str | None:
        place = self.launcher.workspace.worktree
        return read_head(place.git_dir, place.common_dir).commit

    def _made_since(self, before: str | None) -> WorkCommitted | None:
        """The commit that was just made, where git keeps no reflog."""
        head = self._head()
        if head is None or head == before:
            return None
        subject = run_git(self.launcher.workspace.root, "log", "-1", "--format=%s", head)
        return WorkCommitted(commit=head, subject=subject.decode("utf-8", "replace").strip())

    def _find(self, order: CommitWork) -> WorkCommitted | None:
        return find_commit(self.launcher.workspace, since=order.since, start=order.start)

    def _only(self, order: CommitWork, paths: Sequence[str], listed: bytes) -> list[str] | None:
        """What keeps other staged files out of the commit; None where nothing is to be committed.

        Where nothing else is staged it is empty: hooks that change the index then find the real
        one.
        """
        workspace = self.launcher.workspace
        options = ("--name-only", "-z", "--no-renames", "--ignore-submodules=none")
        printed = run_git(workspace.root, "diff", "--cached", *options)
        staged = {_text_of(path) for path in printed.split(b"\0") if path}
        if not staged & set(paths):
            return None
        if staged <= set(paths):
            return []
        file = workspace.files.folder / f"commit-{order.start:03d}.paths"
        write_atomic(file, listed, mode=PRIVATE_FILE)
        return ["--only", f"--pathspec-from-file={file}", "--pathspec-file-nul"]

    def _choose(
        self,
        order: CommitWork,
        after: Baseline,
        restored: Collection[str],
        users: Collection[str],
    ) -> _Choice:
        workspace, base = self.launcher.workspace, order.base
        own = {*workspace.source.own_files, *workspace.progress_files}
        paths: list[str] = []
        before: list[str] = []
        secret: list[str] = []
        repositories: list[str] = []
        for entry in dirty_paths(workspace.root):
            name = entry.name
            value = after.dirty.get(name) or after.own.get(name)
            is_loops = name in after.own and name not in own and name not in restored
            if value is None or is_loops or name in users:
                continue
            was = base.dirty.get(name) or base.own.get(name)
            path = str(entry.path.relative_to(workspace.root).as_posix())
            if entry.is_repository and not entry.committed.startswith(GITLINK):
                repositories.append(path)
            elif entry.committed == DELETED and looks_secret(name):
                secret.append(path)
            elif was == value and name not in self.ours:
                before.append(path)
            else:
                paths.append(path)
        return _Choice(
            paths=tuple(paths),
            before=tuple(before),
            secret=tuple(secret),
            repositories=tuple(repositories),
        )

    def _tell(self, chosen: _Choice) -> tuple[Notice, ...]:
        """What is left out, each path once for as long as the engine lives."""
        told = (
            ("left-as-before", chosen.before, "already changed before the iteration"),
            ("secrets-left-out", chosen.secret, "new and named like files with secrets"),
            ("repository-left-out", chosen.repositories, "a separate repository"),
        )
        notices = []
        for code, paths, why in told:
            fresh = [path for path in paths if (code, path) not in self._told]
            self._told.update((code, path) for path in fresh)
            if fresh:
                message = f"left out of the commit ({why}): {first_paths_named(fresh)}"
                notices.append(Notice(code=code, message=message))
        return tuple(notices)


def find_commit(workspace: Workspace, *, since: str | None, start: int) -> WorkCommitted | None:
    """The commit that the loop made of an iteration; None where HEAD does not have it.

    ``since`` is what HEAD was when the iteration began. Of several, as hooks make them, the first.
    """
    place = workspace.worktree
    head = read_head(place.git_dir, place.common_dir).commit
    if head is None or head == since:
        return None
    options = ("-z", "--format=%H%x00%gs%x00%s", f"--max-count={REFLOG_ENTRIES}")
    try:
        printed = run_git(place.root, "log", "--walk-reflogs", *options, "HEAD", "--")
    except RalphError:
        return None
    tokens = printed.decode("utf-8", "replace").split("\0")
    action = f"{_reflog_action(workspace, start)}:"
    entries = [*zip(*(tokens[at::3] for at in range(3)), strict=False)]
    for commit, reason, subject in reversed(entries):
        if reason.startswith(action) and is_ancestor(place.root, commit, head):
            return WorkCommitted(commit=commit, subject=subject)
    return None


def _reflog_action(workspace: Workspace, start: int) -> str:
    """What git writes into the reflog about a commit of the loop, before its subject."""
    return f"ralph run {workspace.run} start {start}"


def first_paths_named(paths: Sequence[str]) -> str:
    """The first of the paths, in words."""
    return some_of([_shown(path) for path in paths], SHOWN_PATHS)


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _bytes_of(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _text_of(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
