"""Whose the changes are that an engine finds when it takes up the run of a dead one.

The facts come from the keeper's last look, from the times of files, from the agent's recorded
output and from git; ``core.loop.ownership`` decides by them. Slow, for git is asked: call it in
threads. This module must never change a file of the work tree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ralph_ls.core.loop.effects import ReadIteration
from ralph_ls.core.loop.evidence.ownership import (
    SHOWN_PATHS,
    AgentEndFacts,
    ChangedPath,
    Ownership,
    OwnershipOrder,
    ownership_of,
)
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plurals import some_of
from ralph_ls.engine.delivery.commit import find_commit
from ralph_ls.engine.git.history import hash_algorithm
from ralph_ls.engine.git.status import disk_value
from ralph_ls.engine.worktree.workspace import FinalSnapshot, Workspace, save_final_snapshot
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.bd import FOLDER
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import names_in
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.iterations import restored_commits
from ralph_ls.store.run.runs import FoundRun

MOST_COMMITS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedIteration:
    """An open iteration as its own engine left it."""

    ownership: Ownership
    tree: Baseline
    """The work tree without what is not the agent's."""
    left: dict[str, str]
    """The iteration's work that is in no commit, by path."""
    until: float | None
    """What was committed later is the user's; None: the tree's HEAD says that."""


class InheritedChanges:
    """What one engine has taken over from the one before it."""

    def __init__(self, workspace: Workspace, look: FinalSnapshot | None) -> None:
        self._workspace = workspace
        self._look = look
        self._wrote: set[str] = set()
        """The loop's files that this engine has written while it settled."""

    def inspect(
        self,
        run: RunState,
        now: Baseline,
        *,
        named: Collection[str] = (),
        order: OwnershipOrder | None = None,
    ) -> InheritedIteration:
        """Whose the changes of the open iteration are; ``now`` is the tree as it is.

        ``named`` are the files that the agent says it wrote.
        """
        current = run.current
        started = None if current is None else current.started.baseline
        base = run.commit_base or started or now
        signs = self._signs(run)
        known = frozenset(() if current is None else current.users or ())
        facts = list(self._facts(base, now, known=known, named=named))
        found = ownership_of(facts, signs, order)
        tree = now if self._look is None or order is not None else self._look.tree
        tree = _without(tree, started or base, found.not_agents)
        if order is OwnershipOrder.LEAVE:
            return InheritedIteration(ownership=found, tree=tree, left={}, until=None)
        agents = {one.path: one.now for one in facts if one.path not in found.not_agents}
        left = {path: value for path, value in agents.items() if _value(base, path) != value}
        is_by_time = self._look is None and order is None
        until = (signs.ended_at or signs.alive_at) if is_by_time else None
        return InheritedIteration(ownership=found, tree=tree, left=left, until=until)

    def held(self, run: RunState, head: str | None) -> tuple[str, ...]:
        """The commits on HEAD that were made when no engine ran, and not by this run."""
        if self._look is None:
            return self._held_by_time(run, head)
        before = self._look.tree.head
        if head is None or head == before:
            return ()
        return tuple(one for one, _ in self._commits(run, before, head))

    def wrote(self, paths: Iterable[str]) -> None:
        """The engine itself has written these files of the loop's while it settled."""
        paths = tuple(paths)
        self._wrote.update(paths)
        if self._look is None:
            return
        root, own = self._workspace.root, dict(self._look.tree.own)
        algorithm = hash_algorithm(self._look.tree.head)
        for path in paths:
            own[path] = disk_value(root / path, algorithm=algorithm)
        if own != self._look.tree.own:
            tree = self._look.tree.model_copy(update={"own": own})
            self._look = replace(self._look, tree=tree)
            save_final_snapshot(self._workspace.files.folder, self._look)

    def _signs(self, run: RunState) -> AgentEndFacts:
        current = run.current
        if current is None:
            return AgentEndFacts()
        ended_at = None if self._look is None else self._look.ended_at
        if current.exit is not None:
            # The journal is cut to milliseconds.
            ended_at = current.exit.at.timestamp() + 0.001
        alive_at = self._alive_at(run)
        if alive_at is None:
            # No agent was started yet, so whatever was written since is the user's.
            ended_at = current.started.at.timestamp() + 0.001
        if self._look is not None and current.taken_up_at is not None:
            # Its agent had ended by then, and no later engine has started one.
            taken_up_at = current.taken_up_at.timestamp() + 0.001
            ended_at = taken_up_at if ended_at is None else min(ended_at, taken_up_at)
        return AgentEndFacts(
            inspected_at=None if self._look is None else self._look.looked_at,
            ended_at=ended_at,
            alive_at=alive_at,
            died_at=None if self._look is None else self._look.died_at,
            is_launched=alive_at is not None,
        )

    def _alive_at(self, run: RunState) -> float | None:
        """The last byte that the agent printed, or the last thing that its git did."""
        if run.current is None:
            return None
        return last_sign_of_life(self._workspace.files, run.current.started.start)

    def _facts(
        self, base: Baseline, now: Baseline, *, known: frozenset[str], named: Collection[str]
    ) -> Iterator[ChangedPath]:
        workspace = self._workspace
        loops = {*workspace.source.own_files, *workspace.progress_files}
        dirty = {**now.dirty, **{path: now.own[path] for path in loops if path in now.own}}
        look = None if self._look is None else self._look.tree
        for path, value in dirty.items():
            yield ChangedPath(
                path=path,
                before=_value(base, path),
                now=value,
                left=None if look is None else _value(look, path),
                written_at=0.0
                if path in self._wrote
                else _changed_at(workspace.root / path, workspace.root),
                is_loops=path in loops,
                is_named=path in named,
                is_users=path in known,
            )

    def _held_by_time(self, run: RunState, head: str | None) -> tuple[str, ...]:
        current, signs = run.current, self._signs(run)
        until = signs.ended_at or signs.alive_at
        if current is None or until is None or head in (None, current.started.baseline.head):
            return ()
        found = self._commits(run, current.started.baseline.head, str(head))
        return tuple(one for one, made_at in found if made_at > until)

    def _commits(self, run: RunState, before: str | None, head: str) -> list[tuple[str, int]]:
        """The commits between, newest first, without this run's own."""
        form = "%H%x00%ct%x00"
        known = [] if before is None else [f"^{before}"]
        options = ("-z", f"--format={form}", f"--max-count={MOST_COMMITS}")
        try:
            printed = run_git(self._workspace.root, "log", *options, head, *known, "--")
        except RalphError:
            # What HEAD was then was collected since: nobody can say what is new.
            return []
        tokens = printed.decode("utf-8", "replace").split("\0")
        own = self._own_commits(run, before)
        rows = zip(tokens[0::3], tokens[1::3], strict=False)
        return [(one.strip(), int(at)) for one, at in rows if one.strip() not in own]

    def _own_commits(self, run: RunState, before: str | None) -> frozenset[str]:
        """What the engine committed for the open iteration: restorations, and its work."""
        own = frozenset(restored_commits(self._workspace.files))
        if run.current is None:
            return own
        start = run.current.started.start
        made = find_commit(self._workspace, since=before, start=start)
        return own if made is None else own | {str(made.commit)}


def last_sign_of_life(files: RunFiles, start: int) -> float | None:
    """When the agent of this start last printed something, or its git was last traced."""
    attempts = (1, 2)
    places = [
        *(files.output(start, attempt, end) for attempt in attempts for end in ("out", "err")),
        *(files.folder / f"trace-{start:03d}").glob("*"),
    ]
    times = [time for place in places if (time := _written_at(place)) is not None]
    return max(times, default=None)


def are_issues_touched(workspace: Workspace) -> bool:
    """Whether somebody may have changed the issues of ``bd`` since the last look.

    Call it before ``bd`` is asked: it may write although it is only to read.
    """
    folder = workspace.root / FOLDER
    if profile_of(workspace.config.profile).plan_kind is not PlanKind.BEADS or not folder.is_dir():
        return False
    look = workspace.last_look
    paths = [folder / name for name in names_in(folder)]
    times = [_written_at(path) or 0.0 for path in paths if path.suffix in _DATABASES]
    return look is None or any(time > look.looked_at for time in times)


_DATABASES = frozenset({".db", ".db-wal", ".json", ".jsonl"})


def emit_issues_left(workspace: Workspace, effect: ReadIteration) -> tuple[Notice, ...]:
    """Report that issues which were changed after the agent's end count for nothing."""
    if not effect.taken_up or not workspace.issues_touched:
        return ()
    message = (
        "issues changed in bd after the agent ended; they are left as they are and do not count "
        "for this iteration"
    )
    return (Notice(code="issues-left-to-user", message=message),)


def emit_unsettled(
    workspace: Workspace, found: FoundRun | None, now: Callable[[], Baseline]
) -> list[Notice]:
    """What an earlier run left open, at the start of a new one, which settles nothing of it."""
    if found is None or found.state.current is None:
        return []
    earlier, current = found.state, found.state.current
    tree, base = now(), earlier.commit_base or current.started.baseline
    loops = {*workspace.source.own_files, *workspace.progress_files}
    dirty = {**tree.dirty, **{path: tree.own[path] for path in loops if path in tree.own}}
    paths = [path for path, value in dirty.items() if _value(base, path) != value]
    if not paths:
        return []
    message = (
        f"the engine died in iteration {current.started.iteration} of run {earlier.run}, and only "
        "ralph run --resume can settle it; changes since it began stay out of this run's commits: "
        f"{some_of(sorted(paths), SHOWN_PATHS)}"
    )
    return [Notice(code="lost-not-settled", message=message)]


def _value(tree: Baseline, path: str) -> str | None:
    return tree.dirty.get(path) or tree.own.get(path)


def _without(tree: Baseline, base: Baseline, paths: Collection[str]) -> Baseline:
    """The tree in which these paths are as they were."""
    return tree.model_copy(
        update={
            name: {
                **{path: value for path, value in now.items() if path not in paths},
                **{path: was[path] for path in paths if path in was},
            }
            for name, now, was in (
                ("dirty", tree.dirty, base.dirty),
                ("own", tree.own, base.own),
            )
        }
    )


def _written_at(path: Path) -> float | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mtime


def _changed_at(path: Path, root: Path) -> float:
    """The later of the times at which what is there was modified, renamed or linked.

    Of a path that is gone, that of the folder it was in.
    """
    while True:
        try:
            status = path.lstat()
        except OSError:
            if path in (root, path.parent):
                return 0.0
            path = path.parent
            continue
        return max(status.st_mtime, status.st_ctime)
