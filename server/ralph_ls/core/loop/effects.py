"""Effects: the orders that the loop gives, one closed union of small values that the engine
performs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.protocol.run.commands import Approval
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.report import RequestedChange, Usage
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
    """Ids of tasks that the user wants skipped in this run."""


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
    """The session to continue; None: a fresh one."""
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
    """End every process that runs for this iteration, with all its children, at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIteration(IterationEffect):
    """Read the agent's result and the changes; answered by ``IterationRead``."""

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
class JudgeWork(IterationEffect):
    """Have a judge look at the iteration's work; answered by ``WorkJudged``.

    Tasks for which it requests changes are opened again in the plan.
    """

    tasks: tuple[TaskRef, ...]
    """Those that are judged; none: the whole run."""
    base: Baseline
    """The tree that the work was begun on."""
    round: int
    requested: tuple[RequestedChange, ...] = ()
    """What was requested the last time."""
    validation: str | None = None
    """The end of what validation printed; None: nothing validated the work."""
    skip: tuple[str, ...] = ()
    """As for ``PrepareIteration``."""
    skipped: tuple[str, ...] = ()
    """As for ``PrepareIteration``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoWork(IterationEffect):
    """Roll the iteration's work back; answered by ``WorkUndone``.

    Performed twice, it does no more than once: the name of its backup identifies the iteration.
    """

    base: Baseline
    """The tree to restore, except for changes that are not the iteration's."""
    began: datetime
    """When it began; files that users saved since are theirs."""
    user_commits: tuple[str, ...] = ()
    """Commits that the user made meanwhile."""
    skip: tuple[str, ...] = ()
    """As for ``PrepareIteration``."""
    skipped: tuple[str, ...] = ()
    """As for ``PrepareIteration``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitWork(IterationEffect):
    """Commit the iteration's changes; answered by ``WorkCommitted``.

    Performed twice, it makes one commit: the reflog has the start of each commit.
    """

    base: Baseline
    """What differs from this is committed."""
    since: str | None
    """What HEAD was when the iteration began."""
    message: str
    is_last: bool = False
    """No further iteration is foreseen, so the log of finished tasks gets its hashes at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushWork(IterationEffect):
    """Push the branch; answered by ``WorkPushed``."""

    held: tuple[str, ...] = ()
    """Commits that are the user's to push: nothing is pushed before the remote has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTaskAside:
    """Mark a task as blocked in the plan, in the plan's format."""

    task: TaskRef
    reason: str
    needs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetAttempts:
    """Remove a task's attempts from the store that is kept beyond the run."""

    task: str
    """Its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSetAside:
    """Note in the plan that a task was set aside, without a mark that keeps it from being selected.

    Its count of attempts keeps it out, so nothing is lost where an engine dies before this is
    written.
    """

    task: TaskRef
    attempts: int
    at: datetime
    agent_reason: str = ""
    """Why its agent gave it up; empty where its attempts merely failed."""
    quote: str = ""
    """What its agent said last, or the last error, in words."""


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
class ReplyToAgent:
    """Answer a tool call of the agent: what it reported is in the journal."""

    call: int
    text: str
    refused: bool = False
    halts: bool = False
    """The agent should end its turn now: the run halts for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitAnswer:
    """Stop the clocks of the agent that waits for the user, and report changes of the halt files.

    Answered by ``AnswerOverdue`` after ``ask_wait``, unless the agent continues before.
    """

    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueAgent:
    """The agent waits no more, so its clocks run again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseIteration:
    """Close the iteration's logs, write its summary row and save the snapshot."""

    ended: IterationEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitUntil:
    """Answer with ``WaitElapsed`` at that time."""

    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchHaltFiles:
    """Report changes of the halt files until the next iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce(IterationEffect):
    """Run ``on_pr_ready``, concurrently: the run is complete, and the agent reports that a pull
    request is ready (docs/rules.md#requests). Answered by ``AnnouncementDone``.

    Performed at most once: where the engine dies meanwhile it is not repeated.
    """

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The run is over: release everything."""

    exit_code: int


Effect = (
    PrepareIteration
    | ClaimTask
    | LaunchAgent
    | StopAgent
    | ReadIteration
    | Validate
    | JudgeWork
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
    | ReplyToAgent
    | AwaitAnswer
    | ContinueAgent
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
