"""Everything the loop may order: one closed union of small values, performed by the engine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.protocol.run.commands import Approval
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import Baseline, TaskRef


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationEffect:
    """An order for one iteration, by its two numbers."""

    start: int
    """Its identity, by which its files, processes and commits are found."""
    iteration: int
    """As people read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareIteration:
    """Look at the tree, the plan and the halt files; answered by ``Prepared``."""

    reuse: bool = False
    """Nothing can have changed since the last iteration was read, so its end is the baseline."""
    skip: tuple[str, ...] = ()
    """Ids of tasks that are set aside without being marked in the plan."""
    skipped: tuple[str, ...] = ()
    """Ids of tasks that a person wants skipped in this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTask:
    """Take a task where others may take it too; answered by ``TaskClaimed``."""

    task: TaskRef


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchAgent(IterationEffect):
    """Start the agent; answered by ``AgentLaunched``, later ``AgentFinished``."""

    attempt: int
    context: PromptContext
    session: str | None = None
    """The session to go on in; None: a fresh one."""
    session_cost_usd: float = 0.0
    """What that session had cost before."""
    session_usage: Usage | None = None
    """What it had used before, where that is how its agent counts."""
    run_usage: Usage | None = None
    """What the run has used up before this iteration."""
    agent: str | None = None
    """The agent to start, by its name in the settings; None: the run's own."""
    model: str | None = None
    """The model to give it; None: the one that its settings name, or its own choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAgent:
    """End whatever runs for this iteration, with all its children, at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIteration(IterationEffect):
    """Read what the agent said and what changed; answered by ``IterationRead``."""

    attempt: int
    baseline: Baseline
    lost: bool = False
    """The engine died under this iteration: only evidence is read."""
    taken_up: bool = False
    """Another engine began it, so that others may have written in the work tree since."""
    order: OwnershipOrder | None = None
    """What the user ordered for all that it left."""
    skip: tuple[str, ...] = ()
    """As for ``PrepareIteration``."""
    skipped: tuple[str, ...] = ()
    """As for ``PrepareIteration``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validate(IterationEffect):
    """Run the validation script; answered by ``ValidationFinished``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoWork(IterationEffect):
    """Take back what the iteration did; answered by ``WorkUndone``.

    Performed twice, it does no more than once: its backup says whose it is.
    """

    base: Baseline
    """As it is to be again, but for what is not the iteration's."""
    began: datetime
    """When it began; what people saved since is theirs."""
    persons: tuple[str, ...] = ()
    """Commits that a person made meanwhile."""
    skip: tuple[str, ...] = ()
    """As for ``PrepareIteration``."""
    skipped: tuple[str, ...] = ()
    """As for ``PrepareIteration``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitWork(IterationEffect):
    """Commit what the iteration changed; answered by ``WorkCommitted``.

    Performed twice, it makes one commit: the trailers of its message say whose it is.
    """

    base: Baseline
    """What differs from this is committed."""
    since: str | None
    """What HEAD was when the iteration began."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PushWork(IterationEffect):
    """Push the branch; answered by ``WorkPushed``."""

    held: tuple[str, ...] = ()
    """Commits that are the user's to push: nothing is pushed before the remote has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTaskAside:
    """Mark a task as blocked in the plan, in the plan's own form."""

    task: TaskRef
    reason: str
    needs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetAttempts:
    """Take a task's attempts out of where they are kept beyond the run."""

    task: str
    """Its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSetAside:
    """Say in the plan that a task was set aside, without a mark that keeps it from being taken.

    Nothing hangs on it: its count of attempts does that. So it is no loss where an engine dies
    before it is written.
    """

    task: TaskRef
    attempts: int
    at: datetime
    said: str = ""
    """Why its agent gave it up by itself; empty where it merely did not come off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteDecide:
    """Write ``decide.txt``, with the answer once there is one."""

    question: str
    iteration: int | None
    asked_at: datetime
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDecide:
    """Remove an answered ``decide.txt`` that the agent left behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBlocked:
    """Write ``blocked.txt``."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeApprovals:
    """Let the run use what the user has approved since it began."""

    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveBlocked:
    """Remove ``blocked.txt``: the blocker was resolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseIteration:
    """Close the iteration's logs, write its summary row, save the snapshot."""

    ended: IterationEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitUntil:
    """Answer with ``TimeCame`` at that time."""

    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchHaltFiles:
    """Tell of changes to the halt files until the next iteration."""


class AnnouncementOccasion(StrEnum):
    """What those outside are told of."""

    QUESTION = "question"
    """The agent asks something that only a person can say (docs/rules.md#questions)."""
    PR_READY = "prReady"
    """The run is complete, and the agent reports that a pull request is ready.

    See docs/rules.md#requests.
    """


class AnnouncementChannel(StrEnum):
    """How they are told."""

    COMMAND = "command"
    """The command of the settings: ``on_question``, ``on_pr_ready``."""
    COMMENT = "comment"
    """A comment on the issue on GitHub that the run works on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce(IterationEffect):
    """Tell those outside, beside the loop; answered by ``Announced``.

    It happens once at most: an engine that dies meanwhile leaves it to nobody.
    """

    occasion: AnnouncementOccasion
    channel: AnnouncementChannel
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The run is over: let everything go."""

    exit_code: int


Effect = (
    PrepareIteration
    | ClaimTask
    | LaunchAgent
    | StopAgent
    | ReadIteration
    | Validate
    | UndoWork
    | CommitWork
    | PushWork
    | SetTaskAside
    | ForgetAttempts
    | NoteSetAside
    | WriteDecide
    | RemoveDecide
    | WriteBlocked
    | RemoveBlocked
    | TakeApprovals
    | CloseIteration
    | WaitUntil
    | WatchHaltFiles
    | Announce
    | Finish
)

EFFECTS_BEFORE_EVENTS = (WriteDecide, WriteBlocked, SetTaskAside, TakeApprovals)
"""Performed before the step's events are written to the journal.

A missing ``blocked.txt`` means that the user resolved the blocker (docs/rules.md#blockers), so the
journal must never report one that was not written. A task reported as set aside has no attempts
left that would keep it from being selected. An approval is stored as soon as it is accepted, and
the engine has to know it by then.
"""
