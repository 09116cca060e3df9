"""The reducer's state, the step it returns, and the draft in which a step is assembled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TypedDict, TypeVar, cast

from ralph_ls.core.loop.effects import (
    EFFECTS_BEFORE_EVENTS,
    ClaimTask,
    CommitWork,
    Effect,
    Finish,
    JudgeWork,
    LaunchAgent,
    PrepareIteration,
    PushWork,
    ReadIteration,
    UndoWork,
    Validate,
    WaitUntil,
    WatchHaltFiles,
)
from ralph_ls.core.loop.fold import apply
from ralph_ls.core.loop.inputs import IterationRead, Prepared
from ralph_ls.core.loop.lanes import LaneEffect, LaneLimits, OpenTask
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import Event
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import PlanCountsView

EventType = TypeVar("EventType", bound=Event)


class EventStamp(TypedDict):
    """The fields that every event carries; unpacked where an event is made."""

    seq: int
    at: datetime
    run: str


class IterationStamp(EventStamp):
    """The fields that every event of an iteration carries."""

    start: int
    iteration: int


class MaybeIterationStamp(EventStamp, total=False):
    """The fields of an event that may belong to an iteration."""

    start: int | None
    iteration: int | None


class Awaits(StrEnum):
    """The answer that the run waits for. An answer that is not awaited changes nothing, however
    late.
    """

    START = "the engine to start"
    PREPARED = "the tree and the plan to be read"
    CLAIM = "the task to be claimed"
    LAUNCH = "the agent to start"
    EXIT = "the agent to end"
    READ = "the agent's output and changes to be read"
    VALIDATION = "the validation to end"
    JUDGE = "the judge's verdict"
    UNDO = "the iteration to be rolled back"
    COMMIT = "the commit"
    PUSH = "the push"
    TIME = "a wait to end"
    PERSON = "the user"
    NOTHING = "nothing: the run has ended"


_ANSWERS: dict[type[Effect | LaneEffect], Awaits] = {
    PrepareIteration: Awaits.PREPARED,
    ClaimTask: Awaits.CLAIM,
    LaunchAgent: Awaits.LAUNCH,
    ReadIteration: Awaits.READ,
    Validate: Awaits.VALIDATION,
    JudgeWork: Awaits.JUDGE,
    UndoWork: Awaits.UNDO,
    CommitWork: Awaits.COMMIT,
    PushWork: Awaits.PUSH,
    WaitUntil: Awaits.TIME,
    WatchHaltFiles: Awaits.PERSON,
    Finish: Awaits.NOTHING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFacts:
    """What a parallel run knows between inputs, beside its lanes."""

    tasks: tuple[OpenTask, ...] | None = None
    """The open tasks at the end of the branch; None: they are being read."""
    has_moved: bool = False
    """The branch was moved while they are being read, so they are read again."""
    counts: PlanCountsView = PlanCountsView.model_construct()
    """The plan there, in numbers."""
    opening: Mapping[str, LaneLimits] = field(default_factory=dict)
    """What the lanes that are being opened may use, by the ids of their tasks."""
    gone: frozenset[str] = frozenset()
    """Ids of the tasks of runs whose engine died, to be continued."""
    merging: str | None = None
    """Id of the task whose lane is being rebased or merged."""
    deferred: frozenset[str] = frozenset()
    """Ids of the tasks whose merge waits for a repair of the same files."""
    paused: frozenset[str] = frozenset()
    """Ids of the tasks whose lanes were ordered to pause for another's usage limit."""
    resuming: str | None = None
    """Id of the one of them that continues before the others."""
    stopping: frozenset[str] = frozenset()
    """Ids of the tasks whose lanes were ordered to stop because nobody answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    """The whole state by which the loop decides: the fold over its events, and values between
    inputs.
    """

    run: RunState = field(default_factory=RunState)
    awaits: Awaits = Awaits.START
    prepared: Prepared | None = None
    """The facts with which the next iteration begins, while its task is claimed."""
    reading: IterationRead | None = None
    """The reading of the open iteration, while it is validated, committed and pushed."""
    stopping_agent: bool = False
    """The agent was ordered to end."""
    has_begun: bool = False
    """This engine has begun an iteration."""
    asking: int | None = None
    """The tool call in which the agent waits for the user's answer; None: it does not."""
    branch: BranchFacts = BranchFacts()
    """Of a parallel run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The result of one input: the new state, events to record, effects to perform.

    ``first`` is performed before the events are recorded, ``then`` after; the two make ``effects``.
    """

    state: LoopState
    events: tuple[Event, ...] = ()
    effects: tuple[Effect | LaneEffect, ...] = ()
    ignored: str | None = None
    """Why the input was ignored; None where it was not."""

    @property
    def first(self) -> tuple[Effect | LaneEffect, ...]:
        """Halt files and marks in the plan, which must exist before the journal names them."""
        return tuple(effect for effect in self.effects if isinstance(effect, EFFECTS_BEFORE_EVENTS))

    @property
    def then(self) -> tuple[Effect | LaneEffect, ...]:
        return tuple(
            effect for effect in self.effects if not isinstance(effect, EFFECTS_BEFORE_EVENTS)
        )


class StepDraft:
    """One step while it is assembled; every event emitted is folded in at once."""

    def __init__(self, state: LoopState, now: datetime) -> None:
        self._state = state
        # The journal keeps milliseconds, and a fold over it must yield exactly this state.
        self.now = now.replace(microsecond=now.microsecond // 1000 * 1000)
        self._events: list[Event] = []
        self._effects: list[Effect | LaneEffect] = []
        self._ignored: str | None = None
        self._run_id = state.run.run

    @property
    def run(self) -> RunState:
        return self._state.run

    @property
    def state(self) -> LoopState:
        return self._state

    @property
    def config(self) -> Config:
        return self._state.run.config

    def name_run(self, run_id: str) -> None:
        """Give the run its id, before its first event."""
        self._run_id = run_id

    @property
    def open_iteration(self) -> CurrentIteration:
        """The open iteration, for callers who know that there is one."""
        return cast(CurrentIteration, self.run.current)

    @property
    def stamp(self) -> EventStamp:
        """The fields that the next event shares with all others."""
        return {"seq": self.run.seq + 1, "at": self.now, "run": self._run_id}

    @property
    def iteration_stamp(self) -> IterationStamp:
        """The same for an event of the open iteration, with the iteration's two numbers."""
        started = self.open_iteration.started
        return {**self.stamp, "start": started.start, "iteration": started.iteration}

    def emit(self, event: EventType) -> EventType:
        """Append an event, fold it into the state and return it.

        Raises ValueError unless it has the stamp of the next event: an event is stamped, emitted
        and folded before the next one is made.
        """
        if event.seq != self.run.seq + 1:
            raise ValueError(f"event {event.seq} cannot follow event {self.run.seq}")
        self._events.append(event)
        self._state = replace(self._state, run=apply(self._state.run, event))
        return event

    def order(self, effect: Effect | LaneEffect) -> None:
        """Order an effect; for one that has an answer, await that."""
        self._effects.append(effect)
        self.expect(_ANSWERS.get(type(effect), self._state.awaits))

    def expect(self, awaits: Awaits) -> None:
        """Set the answer that the run waits for."""
        self._state = replace(self._state, awaits=awaits)

    def is_awaited(self, awaits: Awaits) -> bool:
        """Whether the run waits for this answer; where not, the step is marked as ignored."""
        if self._state.awaits is not awaits:
            self.ignore(f"the run is waiting for {self._state.awaits}")
        return self._state.awaits is awaits

    def hold_reading(self, reading: IterationRead | None) -> None:
        """Hold the reading of the open iteration until it is closed."""
        self._state = replace(self._state, reading=reading)

    def hold_prepared(self, prepared: Prepared | None) -> None:
        """Hold the facts with which the next iteration begins until its task is claimed."""
        self._state = replace(self._state, prepared=prepared)

    def hold_branch(self, facts: BranchFacts) -> None:
        """Hold what a parallel run knows of its branch."""
        self._state = replace(self._state, branch=facts)

    def hold_call(self, call: int | None) -> None:
        """Hold the tool call in which the agent waits for the user."""
        self._state = replace(self._state, asking=call)

    def mark_agent(self, *, stopping: bool) -> None:
        self._state = replace(self._state, stopping_agent=stopping)

    def mark_iteration_begun(self) -> None:
        """Note that this engine has begun an iteration."""
        self._state = replace(self._state, has_begun=True)

    @property
    def is_ignored(self) -> bool:
        """Whether the input was found to mean nothing now."""
        return self._ignored is not None

    def ignore(self, why: str) -> None:
        self._ignored = why

    def finish(self) -> Step:
        return Step(
            state=self._state,
            events=tuple(self._events),
            effects=tuple(self._effects),
            ignored=self._ignored,
        )
