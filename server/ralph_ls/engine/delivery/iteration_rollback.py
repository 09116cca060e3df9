"""Iteration rollback: undoes one that did not validate (docs/rules.md#rollback).

Nothing is lost: all that it undoes, uncommitted work included, stays on a separate branch. Nothing
else is touched: files that were changed before the iteration are as they were then, and a plan that
the user saved meanwhile, what git ignores, and new files that look like secrets stay as they are.
Where that cannot be guaranteed nothing is done at all, and the refusal says why.

Git does the work with a temporary index: it writes no file that has changed since it was read. Each
step finds out by itself whether an engine that died has done it already. Slow: call it in threads.
What a failure means for the loop is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC

from ralph_ls.core.loop.effects import UndoWork
from ralph_ls.core.loop.inputs import Notice, WorkUndone
from ralph_ls.core.loop.rules.commits import RUN_TRAILER, START_TRAILER
from ralph_ls.core.plurals import count_of
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.commit import first_paths_named
from ralph_ls.engine.delivery.restoration_commits import BY_RALPH, index_info
from ralph_ls.engine.delivery.tree_snapshots import TreeDifference, TreeSnapshots
from ralph_ls.engine.git.history import differing_paths, is_ancestor
from ralph_ls.engine.git.status import GITLINK, journal_path
from ralph_ls.engine.git.worktree_state import read_head, under_way
from ralph_ls.engine.worktree.workspace import Workspace, saves_of
from ralph_ls.protocol.config.config import OnValidateFail
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git

BASE = "refs/worktree/ralph-base"
"""What keeps the files that were changed before the iteration; each work tree has its own."""

BACKUPS = "refs/heads/ralph/backup-"
SHOWN_KEPT = 20


class _Refused(Exception):
    """Nothing was taken back; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What is to be undone."""

    base: str
    """The commit that HEAD was on."""
    head: str
    now: str
    """The tree as it is."""
    entries: Mapping[bytes, TreeDifference]
    """The paths that get what they had."""
    committed: frozenset[str]
    """The paths in which the commits differ."""
    kept: tuple[str, ...]
    commits: int


class IterationRollback:
    """Takes iterations back for one engine."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._root = workspace.root
        self._snapshots = TreeSnapshots(workspace.root, workspace.files.folder)

    def remember(self, start: int, base: Baseline) -> None:
        """Keep what is in no commit, right before the agent begins.

        Where it cannot be kept the iteration begins all the same, but cannot be rolled back.
        """
        is_wanted = self._workspace.config.on_validate_fail is OnValidateFail.ROLLBACK
        if not is_wanted or base.head is None or not {**base.dirty, **base.own}:
            return
        try:
            made = self._commit(
                self._snapshots.take(base.head), base.head, start, "The work tree before"
            )
            run_git(self._root, "update-ref", BASE, made)
        except RalphError:
            # An older one must not be taken for it; with none there git merely complains.
            run_git(self._root, "update-ref", "-d", BASE, accept=(0, 1, 128))

    def undo(self, order: UndoWork, after: Baseline) -> WorkUndone:
        """Take back what ``after`` has and the order's base had not.

        Raises a ``RalphError`` where git cannot be asked.
        """
        try:
            change = self._look(order, after)
            backup = self._find_backup(order.start)
            if not change.entries and not change.commits:
                return WorkUndone(backup=backup, kept=change.kept)
            is_new = backup is None
            backup = backup or self._back_up(change, order.start)
            try:
                self._restore(change)
            except RalphError as error:
                if is_new:
                    run_git(self._root, "update-ref", "-d", f"refs/heads/{backup}")
                raise _Refused(
                    "a file changed in the meantime, or an ignored file is in the way: "
                    f"{error.message}"
                ) from error
        except _Refused as refused:
            return WorkUndone(refused=str(refused))
        return WorkUndone(
            backup=backup,
            commits=change.commits,
            files=len(change.entries),
            kept=change.kept,
            notices=_emit_kept(change.kept),
        )

    def _look(self, order: UndoWork, after: Baseline) -> _Change:
        place, base = self._workspace.worktree, order.base
        head = read_head(place.git_dir, place.common_dir)
        if base.head is None or head.commit is None:
            raise _Refused("the iteration began before the first commit")
        if what := under_way(place.git_dir):
            raise _Refused(f"a {what} is in progress in {self._root}; finish or abort it first")
        if order.user_commits:
            raise _Refused(f"you committed in the meantime: {order.user_commits[0][:7]}")
        if head.branch != base.branch or head.commit not in (after.head, base.head):
            raise _Refused("HEAD has moved since the agent ended")
        if not is_ancestor(self._root, base.head, head.commit):
            raise _Refused(f"HEAD does not contain {base.head[:7]}, where the iteration began")
        self._require_unpushed(base.head, head.commit)
        self._require_no_repositories(base, after)
        committed = differing_paths(self._root, base.head, head.commit)
        now = self._snapshots.take(head.commit)
        entries, kept = self._choose(order, after, now, committed)
        n_commits = int(run_git(self._root, "rev-list", "--count", head.commit, f"^{base.head}"))
        return _Change(
            base=base.head,
            head=head.commit,
            now=now,
            entries=entries,
            committed=frozenset(committed),
            kept=kept,
            commits=n_commits,
        )

    def _require_unpushed(self, base: str, head: str) -> None:
        counted = ("rev-list", "--count", head, f"^{base}")
        if run_git(self._root, *counted) != run_git(self._root, *counted, "--not", "--remotes"):
            raise _Refused("its commits were pushed, and ralph never forces a push")

    def _require_no_repositories(self, base: Baseline, after: Baseline) -> None:
        """Whose history is not ours to take back."""
        differing = differing_paths(self._root, base.head, after.head).items()
        links = {path for path, values in differing if any(map(_is_link, values))}
        for was, now in ((base.dirty, after.dirty), (base.nested_heads, after.nested_heads)):
            names = {path for path in was.keys() | now.keys() if was.get(path) != now.get(path)}
            is_heads = was is base.nested_heads
            links |= {
                path
                for path in names
                if is_heads or _is_link(was.get(path, "")) or _is_link(now.get(path, ""))
            }
        if links:
            raise _Refused(
                f"repositories inside this one were changed: {first_paths_named(sorted(links))}"
            )

    def _choose(
        self, order: UndoWork, after: Baseline, now: str, committed: Mapping[str, object]
    ) -> tuple[dict[bytes, TreeDifference], tuple[str, ...]]:
        """The paths that are the iteration's, and those that the user saved meanwhile."""
        workspace, base = self._workspace, order.base
        ours = {*workspace.source.own_files, workspace.config.paths.progress}
        covers = workspace.own_files.covers
        entries: dict[bytes, TreeDifference] = {}
        kept: list[str] = []
        for path, entry in self._snapshots.differing(self._before(order), now):
            name = journal_path(path)
            values = [(one.dirty.get(name), one.own.get(name)) for one in (base, after)]
            is_iterations = name in committed or values[0] != values[1]
            if not is_iterations or (covers(name) and name not in ours):
                continue
            # Editors report saves of the plan and the settings alone.
            if name in ours and saves_of(workspace, name, since=order.began):
                kept.append(name)
            else:
                entries[path] = entry
        return entries, tuple(kept[:SHOWN_KEPT])

    def _before(self, order: UndoWork) -> str:
        """The tree as the iteration found it."""
        base = order.base
        if not {**base.dirty, **base.own}:
            return str(base.head)
        found = self._marked(BASE, order.start)
        if not found:
            raise _Refused("the changes from before the iteration were not saved")
        return BASE

    def _commit(self, tree: str, parent: str, start: int, what: str) -> str:
        message = f"{what} start {start}\n\n{self._trailers(start)}"
        made = run_git(
            self._root,
            *("commit-tree", tree, "-p", parent, "-F", "-"),
            stdin=message.encode(),
            settings=BY_RALPH,
        )
        return made.decode().strip()

    def _back_up(self, change: _Change, start: int) -> str:
        made = self._commit(change.now, change.head, start, "Failed validation:")
        name = f"{BACKUPS}{self._clock.now().astimezone(UTC):%Y%m%dT%H%M%SZ}"
        known = run_git(self._root, "for-each-ref", "--format=%(refname)", f"{BACKUPS}*")
        taken, chosen, number = set(known.decode("utf-8", "replace").split("\n")), name, 2
        while chosen in taken:
            chosen, number = f"{name}-{number}", number + 1
        run_git(self._root, "update-ref", chosen, made, "")
        return chosen.removeprefix("refs/heads/")

    def _find_backup(self, start: int) -> str | None:
        """The branch that an engine which died has made of this very iteration."""
        found = self._marked(f"{BACKUPS}*", start)
        return found[0].removeprefix("refs/heads/") if found else None

    def _marked(self, pattern: str, start: int) -> list[str]:
        """The refs whose commit was made for this iteration of this run."""
        printed = run_git(
            self._root, "for-each-ref", "--format=%(refname)%00%(contents)%00", pattern
        )
        fields = printed.decode("utf-8", "replace").split("\0")
        return [
            name.strip()
            for name, message in zip(fields[::2], fields[1::2], strict=False)
            if message.endswith(self._trailers(start))
        ]

    def _trailers(self, start: int) -> str:
        return f"{RUN_TRAILER}: {self._workspace.run}\n{START_TRAILER}: {start}\n"

    def _restore(self, change: _Change) -> None:
        """The files first, then HEAD and what is staged; git refuses to write over what changed."""
        self._snapshots.write_back(change.now, change.entries)
        why = "ralph: roll back changes that did not validate"
        if change.head != change.base:
            run_git(self._root, "update-ref", "-m", why, "HEAD", change.base, change.head)
        self._unstage(change)

    def _unstage(self, change: _Change) -> None:
        """Stage of what was undone what HEAD has, so that nothing of it is staged."""
        printed = run_git(self._root, "ls-tree", "-r", "-z", "--full-tree", change.base)
        names = {os.fsencode(path) for path in change.committed} | set(change.entries)
        staged = {path: (b"0", b"0" * len(change.base)) for path in names}
        for record in printed.split(b"\0"):
            fields, _, path = record.partition(b"\t")
            if path in staged:
                mode, _, value = fields.split(b" ")
                staged[path] = (mode, value)
        lines = ((path, *entry) for path, entry in staged.items())
        run_git(self._root, "update-index", "-z", "--index-info", stdin=index_info(lines))
        run_git(self._root, "update-index", "-q", "--refresh", accept=(0, 1))


def _is_link(value: str) -> bool:
    return value.startswith(GITLINK)


def _emit_kept(kept: tuple[str, ...]) -> tuple[Notice, ...]:
    if not kept:
        return ()
    message = (
        f"{count_of(len(kept), 'file')} that you saved while the agent worked "
        f"{'is' if len(kept) == 1 else 'are'} kept, with the agent's changes: "
        f"{first_paths_named(kept)}"
    )
    return (Notice(code="rollback-kept", message=message),)
