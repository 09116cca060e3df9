"""Iteration changes: an iteration's commits from its journal, and their differences from git.

`IterationBounds` comes from the journal alone; whether a commit still exists is not known there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ralph_ls.protocol.errors import RalphError, StateUnusable, UsageError
from ralph_ls.protocol.lsp.row_methods import ChangesResult
from ralph_ls.protocol.run.events import (
    Committed,
    Event,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
)
from ralph_ls.protocol.run.values import RollbackRecord
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.git_objects import (
    SHOWN_FILES,
    commits_between,
    empty_tree,
    files_between,
)
from ralph_ls.store.files import PRIVATE_FILE, open_to_append, read_if_there, write_all
from ralph_ls.store.layout import RUN_ID, RunFiles, StateFolder, Worktree
from ralph_ls.store.run.journal import each_event
from ralph_ls.store.run.runs import find_run


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationBounds:
    """Commits at the two ends of an iteration."""

    run: str
    start: int
    iteration: int
    base: str | None
    """HEAD at its start; None before the first commit."""
    head: str | None
    """Last commit of its agent; None without one, or while it runs."""
    next_base: str | None
    """HEAD at the start of the run's next iteration; None without one."""
    is_newest: bool
    is_settled: bool


def find_bounds(
    worktree: Worktree, state: StateFolder, *, run: str | None, start: int
) -> IterationBounds:
    """Ends of an iteration of a run; of the newest run where ``run`` is None.

    Raises ``UsageError`` where there is no such run or no such start.
    """
    found = find_run(worktree, state)
    if found is not None:
        state = StateFolder(folder=found.files.folder.parent.parent)
    wanted = run if run is not None or found is None else found.state.run
    if wanted is None or not RUN_ID.fullmatch(wanted) or not state.run(wanted).journal.exists():
        which = "there is no run yet" if wanted is None else f"there is no run {wanted}"
        raise UsageError(f"{which} in {worktree.root}; list the runs with: ralph status")
    return _bounds_of(wanted, start, _known(state, wanted, {"iterationStarted", "iterationEnded"}))


def first_starts(worktree: Worktree, state: StateFolder) -> tuple[int, ...]:
    """The first start of each iteration of the newest run, in order."""
    found = find_run(worktree, state)
    if found is None:
        return ()
    first: dict[int, int] = {}
    for event in each_event(found.files.journal, kinds={"iterationStarted"}):
        if isinstance(event, IterationStarted):
            first.setdefault(event.iteration, event.start)
    return tuple(sorted(first.values()))


def commits_of_runs(state: StateFolder) -> Iterator[frozenset[str]]:
    """Commits of each run in the work tree itself, the newest run first: of agents and of the loop.

    The user's commits are not included, whatever their messages have.
    """
    for run in reversed(state.run_ids()):
        found = {*restored_commits(state.run(run))}
        for event in each_event(state.run(run).journal, kinds=_COMMITTING):
            match event:
                case EvidenceGathered(evidence=evidence):
                    found.update(
                        one.hash
                        for one in evidence.commits
                        if not one.repository and not one.by_person
                    )
                case IterationEnded(commit=str(commit)) | Committed(commit=commit):
                    found.add(commit)
                case _:
                    pass
        yield frozenset(found)


_COMMITTING = frozenset({"evidenceGathered", "committed", "iterationEnded"})


def restored_commits(files: RunFiles) -> Iterator[str]:
    """Commits of the engine itself: restorations, and hashes in the log of finished tasks."""
    for line in (read_if_there(files.restorations) or b"").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            yield str(json.loads(line)["commit"])


def _known(state: StateFolder, run: str, kinds: Collection[str]) -> Iterator[Event]:
    for event in each_event(state.run(run).journal, kinds=kinds):
        if isinstance(event, IterationStarted | IterationEnded | EvidenceGathered):
            yield event


def _bounds_of(run: str, start: int, events: Iterable[Event]) -> IterationBounds:
    begun: IterationStarted | None = None
    later: IterationStarted | None = None
    settled: IterationEnded | None = None
    newest = 0
    for event in events:
        if isinstance(event, IterationStarted):
            newest = max(newest, event.start)
            begun = event if event.start == start else begun
            later = event if event.start == start + 1 else later
        elif isinstance(event, IterationEnded) and event.start == start:
            settled = event
    if begun is None:
        have = f"its last one is {newest}" if newest else "it has none"
        raise UsageError(f"run {run} has no start {start}; {have}")
    return IterationBounds(
        run=run,
        start=start,
        iteration=begun.iteration,
        base=begun.baseline.head,
        head=None if settled is None else settled.commit,
        next_base=None if later is None else later.baseline.head,
        is_newest=later is None,
        is_settled=settled is not None,
    )


def record_rollback(state: StateFolder, record: RollbackRecord) -> None:
    """Write down what was rolled back, for viewers; the branch itself is as git has it."""
    line = record.model_dump_json(by_alias=True, exclude_defaults=True).encode() + b"\n"
    descriptor = open_to_append(state.rollbacks, mode=PRIVATE_FILE)
    try:
        write_all(descriptor, line)
    finally:
        os.close(descriptor)


def read_rollbacks(state: StateFolder) -> tuple[RollbackRecord, ...]:
    """What was rolled back, oldest first; a line that cannot be read is skipped."""
    found: list[RollbackRecord] = []
    for line in (read_if_there(state.rollbacks) or b"").splitlines():
        with contextlib.suppress(ValueError):
            found.append(RollbackRecord.model_validate_json(line))
    return tuple(found)


def changes_of(
    worktree: Worktree, state: StateFolder, *, run: str | None, start: int
) -> ChangesResult:
    """Changes of an iteration, from git; blocks.

    A running one, or the newest without a commit, is compared with the work tree. An earlier one
    ends where the next one starts. Raises ``UsageError`` where there is no such iteration, and
    ``StateUnusable`` where git no longer has its commits.
    """
    ends = find_bounds(worktree, state, run=run, start=start)
    base = ends.base or empty_tree(_any_head(worktree))
    head = _head_of(ends)
    try:
        files = files_between(worktree.root, base, head)
        commits = commits_between(worktree.root, base, head or "HEAD") if _has_head(ends) else ()
    except RalphError as error:
        raise StateUnusable(
            f"the changes of iteration {ends.iteration} cannot be shown: {error.message}"
        ) from error
    return ChangesResult(
        iteration=ends.iteration,
        start=start,
        base=base,
        head=head,
        commits=commits[::-1],
        files=files[:SHOWN_FILES],
        more_files=max(0, len(files) - SHOWN_FILES),
    )


def _head_of(ends: IterationBounds) -> str | None:
    if ends.head is not None:
        return ends.head
    return None if ends.is_newest else ends.next_base


def _has_head(ends: IterationBounds) -> bool:
    """Whether there can be commits between the ends; not before the first commit."""
    return ends.base is not None or _head_of(ends) is not None


def _any_head(worktree: Worktree) -> str | None:
    printed = run_git(worktree.root, "rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1))
    return printed.decode().strip() or None
