"""Iteration details: all that is known of one iteration, from its journal, its files and git.

And the agents' sessions of all iterations of a run, which ``ralph attach`` opens.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ralph_ls.core.views.model.decisions import decisions
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.json_output import FileDiffStat, IterationDetails, RunMetrics
from ralph_ls.protocol.run.events import (
    AgentStarted,
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    PromiseRead,
    RalphStatusUpdate,
    Validated,
)
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.external.git_objects import count_lines
from ralph_ls.store.files import read_regular
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree
from ralph_ls.store.run.iterations import changes_of
from ralph_ls.store.run.journal import each_event

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
