"""Iterations of a run: their commits from its journal, the differences from git, and all details.

`IterationBounds` comes from the journal alone; whether a commit still exists is not known there.
Details are all that is known of one iteration, from its journal, its files and git; and the agents'
sessions of all iterations of a run, which ``ralph attach`` opens.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from ralph_ls.core.views.model.decisions import decisions
from ralph_ls.protocol.errors import RalphError, StateUnusable, UsageError
from ralph_ls.protocol.json_output import FileDiffStat, IterationDetails, RunMetrics
from ralph_ls.protocol.lsp.row_methods import ChangesResult
from ralph_ls.protocol.run.events import (
    AgentStarted,
    Committed,
    Event,
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    PromiseRead,
    RalphStatusUpdate,
    Validated,
)
from ralph_ls.protocol.run.values import RollbackRecord, TaskRef
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.git_objects import (
    SHOWN_FILES,
    commits_between,
    count_lines,
    empty_tree,
    files_between,
)
from ralph_ls.store.files import (
    PRIVATE_FILE,
    open_to_append,
    read_if_there,
    read_regular,
    write_all,
)
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


# ------------------------------------------------------------------------------------------ details


LARGEST_PROMPT = 8 << 20
"""Bytes of a prompt that are read."""


def read_details(
    worktree: Worktree, files: RunFiles, measured: RunMetrics, iteration: int
) -> IterationDetails:
    """The newest start of this iteration of a run; raises ``UsageError`` where there is none."""
    found = _read_journal(files, iteration)
    figures = [one for one in measured.iterations if one.start == found.start]
    words = {one.start: one.text for one in decisions(each_event(files.journal))}
    prompt = read_regular(files.prompt(found.start), LARGEST_PROMPT)
    return found.model_copy(
        update={
            "figures": figures[0] if figures else None,
            "decision": words.get(found.start),
            "prompt": None if prompt is None else prompt.decode("utf-8", "replace"),
            **_changes(worktree, files, found.start),
        }
    )


def _read_journal(files: RunFiles, iteration: int) -> IterationDetails:
    found: IterationDetails | None = None
    newest = 0
    for event in each_event(files.journal):
        if isinstance(event, IterationStarted):
            newest = max(newest, event.iteration)
            if event.iteration == iteration:
                found = _begin(files, event)
        elif found is not None and getattr(event, "start", None) == found.start:
            found = found.model_copy(update=dict(_fields(event, found)))
    if found is None:
        have = f"its last one is {newest}" if newest else "it has none"
        raise UsageError(
            f"run {files.folder.name} has no iteration {iteration}; {have}; see: ralph show"
        )
    return found


def _begin(files: RunFiles, event: IterationStarted) -> IterationDetails:
    return IterationDetails(
        run=files.folder.name,
        iteration=event.iteration,
        start=event.start,
        tries=event.tries,
        mode=event.mode,
        task=event.task,
        started_at=event.at,
    )


def _fields(event: object, found: IterationDetails) -> Iterator[tuple[str, object]]:
    match event:
        case AgentStarted():
            yield "agent", event.agent
            yield "model", event.model
        case EvidenceGathered():
            yield "evidence", event.evidence
        case RalphStatusUpdate():
            yield "report", event.report
        case PromiseRead():
            yield "promises", (*found.promises, event.promise)
        case Validated():
            yield "validated", event
        case IterationEnded():
            yield "session", None if event.session is None else event.session.id
        case EventBase() | _:
            pass


def _changes(worktree: Worktree, files: RunFiles, start: int) -> dict[str, object]:
    """What git knows; nothing where it no longer has the commits."""
    state = StateFolder(folder=files.folder.parent.parent)
    with contextlib.suppress(RalphError):
        found = changes_of(worktree, state, run=files.folder.name, start=start)
        lines = count_lines(worktree.root, found.base, found.head)
        changed = [
            FileDiffStat(
                **one.model_dump(),
                added=lines.get(one.path, (None, None))[0],
                removed=lines.get(one.path, (None, None))[1],
            )
            for one in found.files
        ]
        return {
            "commits": found.commits,
            "files": tuple(changed),
            "more_files": found.more_files,
        }
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationSession:
    """The agent of an iteration's newest start, and its session."""

    iteration: int
    task: TaskRef | None = None
    agent: str | None = None
    """None: no agent was started."""
    program: str = ""
    """The first word of its command line."""
    model: str | None = None
    """None: the agent's own choice."""
    session: str | None = None
    """None: it named none, or none yet."""
    has_ended: bool = False


def read_sessions(files: RunFiles) -> tuple[IterationSession, ...]:
    """The session of each iteration of a run, oldest first."""
    found: dict[int, IterationSession] = {}
    starts: dict[int, int] = {}
    for event in each_event(files.journal):
        if isinstance(event, IterationStarted):
            starts[event.start] = event.iteration
            found[event.iteration] = IterationSession(iteration=event.iteration, task=event.task)
        elif isinstance(event, AgentStarted) and (number := starts.get(event.start)) is not None:
            found[number] = replace(
                found[number],
                agent=event.agent,
                program=event.argv[0] if event.argv else "",
                model=event.model,
            )
        elif isinstance(event, IterationEnded) and (number := starts.get(event.start)) is not None:
            session = None if event.session is None else event.session.id
            found[number] = replace(found[number], session=session, has_ended=True)
    return tuple(found.values())
