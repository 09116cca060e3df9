"""Simulated run: performs effects in a ``SimulatedProject``, feeds back answers, checks each step.

The one helper that tests of the loop use; nothing in them calls the reducer otherwise.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ralph_ls.core.loop import effects as order
from ralph_ls.core.loop.fold import apply, fold
from ralph_ls.core.loop.inputs import (
    AgentFinished,
    AgentLaunched,
    AnnouncementDone,
    CommandArrived,
    EngineFacts,
    HaltFilesChanged,
    Input,
    Prepared,
    Resumed,
    Started,
    TaskClaimed,
    ValidationFinished,
    WaitElapsed,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
)
from ralph_ls.core.loop.lanes import LaneEffect
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.machine.transitions import allows
from ralph_ls.core.loop.state import Awaits, LoopState, Step
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.protocol.config.config import Config, OnHalt
from ralph_ls.protocol.run.commands import COMMAND_TYPES, CommandBase
from ralph_ls.protocol.run.events import Event, dump_event, parse_event
from ralph_ls.protocol.run.report import JudgeVerdict
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState
from tests.unit.core.loop.simulated_project import SimulatedProject, Turn

RUN = "20260131T120000Z-abcd"
BEGIN = datetime(2026, 1, 31, 12, tzinfo=UTC)
_COMMANDS = {str(cls.model_fields["kind"].default): cls for cls in COMMAND_TYPES}
_ids = itertools.count(1)

LAUNCHED = AgentLaunched(
    agent="command",
    argv=("./agent.sh",),
    pid=4711,
    process_start_time=1769860800.5,
    group=4711,
    prompt_bytes=100,
)

Person = Callable[["SimulatedRun"], None]
"""The user's behaviour; called whenever the run waits for the user, and while an agent runs."""


def command(kind: str, *, run: str = RUN, id: str | None = None, **fields: Any) -> CommandArrived:  # noqa: A002
    """A command out of the inbox."""
    cls: type[CommandBase] = _COMMANDS[kind]
    made: Any = cls(
        id=id or f"command-{next(_ids):08d}",
        run=run,
        at=BEGIN,
        by=fields.pop("by", "Ada"),
        **fields,
    )
    return CommandArrived(command=made)


def check_step(before: LoopState, given: Input, taken: Step) -> None:
    """What holds for every step, whatever the input."""
    folded = before.run
    for number, event in enumerate(taken.events, start=before.run.seq + 1):
        assert event.seq == number, "seq counts up by one"
        assert event.run == RUN
        folded = apply(folded, parse_event(dump_event(event)))
    assert folded == taken.state.run, "the fold over the journal is the state"
    if taken.ignored is not None:
        assert not taken.events
        assert not taken.effects
        assert taken.state == before
        return
    phase = None if before.awaits is Awaits.START else before.run.phase
    after = taken.state.run.phase
    assert allows(phase, type(given), after), f"{phase} {type(given).__name__} {after}"
    is_open = taken.state.run.breaker.state is BreakerState.OPEN
    launches = any(isinstance(effect, order.LaunchAgent) for effect in taken.effects)
    assert not (is_open and launches), "no agent is started while the breaker is OPEN"


def settings(*, wait: bool = False, **fields: Any) -> Config:
    """Settings of a run; ``breaker_…``, ``gate_…`` and the like go into their tables."""
    names = ("breaker", "gate", "progress", "attempts", "session", "promise")
    tables: dict[str, dict[str, Any]] = {name: {} for name in names}
    plain: dict[str, Any] = {"on_halt": OnHalt.WAIT if wait else OnHalt.EXIT}
    for name, value in fields.items():
        table, _, key = name.partition("_")
        if table in tables:
            tables[table][key] = value
        else:
            plain[name] = value
    return Config.model_validate({**plain, **tables})


def facts(simulated: SimulatedProject, config: Config, **fields: Any) -> EngineFacts:
    return EngineFacts(
        config=config,
        version="0.1.0",
        pid=100,
        workspace="/project",
        state_dir="/state",
        plan_path="@fix_plan.md",
        branch="main",
        head=None,
        halt=simulated.halt,
        counts=simulated.plan().counts,
        request=simulated.request,
        **fields,
    )


@dataclass
class Moment:
    """The run and the world right after a step's events: where a kill may hit."""

    n_events: int
    """Events that the journal held before the step."""
    simulated: SimulatedProject


@dataclass
class _Folded:
    """The fold over a journal; of one that begins as the last one did, only the rest is folded.

    A run that is killed after each of its events is taken up from every beginning of one journal.
    """

    events: list[Event] = field(default_factory=list)
    states: list[RunState] = field(default_factory=lambda: [fold(())])
    """After so many of the events."""

    def fold(self, events: Sequence[Event]) -> RunState:
        n_same = 0
        for known, event in zip(self.events, events, strict=False):
            if known is not event:
                break
            n_same += 1
        del self.events[n_same:], self.states[n_same + 1 :]
        for event in events[n_same:]:
            self.events.append(event)
            self.states.append(apply(self.states[-1], event))
        return self.states[-1]


fold_journal = _Folded().fold


@dataclass
class SimulatedRun:
    """One engine at work in a world."""

    simulated: SimulatedProject
    config: Config
    person: Person | None = None
    state: LoopState = field(default_factory=LoopState)
    events: list[Event] = field(default_factory=list)
    now: datetime = BEGIN
    prompts: list[PromptContext] = field(default_factory=list)
    effects: list[order.Effect] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    record: bool = False
    queue: deque[Input | Callable[[], Input]] = field(default_factory=deque)
    exit_code: int | None = None
    stopping: bool = False
    """The running process was ordered to end."""

    @property
    def run(self) -> RunState:
        return self.state.run

    def start(self) -> SimulatedRun:
        """A new run, played until it ends or waits for somebody who does not come."""
        self.queue.append(Started(run=RUN, facts=facts(self.simulated, self.config)))
        return self.go_on()

    def until(self, awaits: Awaits) -> SimulatedRun:
        """A new run, played until it is that one's turn, who then keeps everybody waiting."""
        self.queue.append(Started(run=RUN, facts=facts(self.simulated, self.config)))
        while self.state.awaits is not awaits:
            given = self.queue.popleft()
            self.feed(given() if callable(given) else given)
        return self

    def resume(self, *, by: str = "Ada", config: Config | None = None) -> SimulatedRun:
        """A new engine resumes the journal of one that is gone."""
        self.config = config or self.config
        self.take_up(by=by)
        return self.go_on()

    def take_up(self, *, by: str = "Ada") -> None:
        """The first step of a new engine alone."""
        self.state = LoopState(run=fold_journal(self.events))
        self.queue.clear()
        self.exit_code = None
        self.feed(Resumed(by=by, facts=facts(self.simulated, self.config)))

    def go_on(self, *inputs: Input) -> SimulatedRun:
        """Feed inputs and every answer to what they lead to."""
        self.queue.extend(inputs)
        while True:
            while self.queue:
                assert len(self.events) < 2000, "this run comes to no end"
                given = self.queue.popleft()
                self.feed(given() if callable(given) else given)
            before = len(self.events)
            if self.person is not None and self.state.awaits is Awaits.PERSON:
                self.person(self)
            if not self.queue and len(self.events) == before:
                return self

    def feed(self, given: Input) -> Step:
        """One step; whatever follows from it, the promises of ``step`` hold."""
        self.now += timedelta(seconds=1)
        taken = step(self.state, given, self.now)
        check_step(self.state, given, taken)
        if taken.ignored is not None:
            self.ignored.append(taken.ignored)
        for effect in taken.first:
            self._perform(effect)
        if self.record:
            self.moments.append(Moment(len(self.events), self.simulated.copy()))
        self.events.extend(taken.events)
        self.state = taken.state
        for effect in taken.then:
            self._perform(effect)
        if isinstance(given, AgentLaunched) and self.person is not None:
            self.person(self)
        return taken

    def send(self, kind: str, **fields: Any) -> Step:
        """Give the run a command."""
        return self.feed(command(kind, **fields))

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def events_of(self, kind: str) -> list[Any]:
        """Every event of one kind."""
        return [event for event in self.events if event.kind == kind]

    def warnings(self) -> list[str]:
        return [event.code for event in self.events_of("warned")]

    def _left_out(
        self, effect: order.PrepareIteration | order.ReadIteration | order.UndoWork
    ) -> dict[str, int]:
        return {task: self.run.attempts.get(task, 0) for task in (*effect.skip, *effect.skipped)}

    def _perform(self, effect: order.Effect | LaneEffect) -> None:
        assert not isinstance(effect, LaneEffect), effect
        self.effects.append(effect)
        answer = self._answer(effect)
        if answer is not None:
            self.queue.append(answer)

    def _answer(self, effect: order.Effect) -> Input | None:
        simulated = self.simulated
        match effect:
            case order.PrepareIteration():
                simulated.plan_before = dict(simulated.tasks)
                return Prepared(
                    baseline=simulated.baseline(),
                    plan=simulated.plan(self._left_out(effect)),
                    left_out=(*effect.skip, *effect.skipped),
                    mode=simulated.mode,
                    must_claim=simulated.is_shared,
                    locked=simulated.locked,
                )
            case order.ClaimTask(task=task):
                return TaskClaimed(task=task, refused=simulated.claim(task.id))
            case order.LaunchAgent(start=start, attempt=attempt):
                self.prompts.append(effect.context)
                self.stopping = False
                name = effect.agent or LAUNCHED.agent
                self.queue.append(replace(LAUNCHED, agent=name))
                self.queue.append(lambda: self._agent_ends(start, attempt))
            case order.StopAgent():
                self.stopping = True
            case order.ReadIteration():
                return simulated.read(
                    effect.start,
                    effect.attempt,
                    effect.baseline,
                    lost=effect.lost,
                    skip=self._left_out(effect),
                )
            case order.UndoWork():
                return simulated.undo_work(effect, self._left_out(effect))
            case order.Validate() | order.JudgeWork() | order.CommitWork() | order.PushWork():
                self.queue.append(lambda: self._checked(effect))
            case order.WaitUntil():
                return WaitElapsed()
            case order.WatchHaltFiles():
                return HaltFilesChanged(halt=simulated.halt)
            case order.Finish(exit_code=exit_code):
                self.exit_code = exit_code
            case order.Announce():
                return AnnouncementDone(code="on-pr-ready", message="it is done")
            case _:
                self._write(effect)
        return None

    def _write(self, effect: order.Effect) -> None:
        """What nobody answers: a halt file, or a mark in the plan."""
        simulated = self.simulated
        match effect:
            case order.NoteSetAside():
                simulated.noted.append(effect)
            case order.ForgetAttempts():
                pass
            case order.SetTaskAside(task=task, reason=reason):
                simulated.tasks[task.id] = "blocked"
                simulated.reasons[task.id] = reason
            case order.WriteDecide(question=question, answer=answer):
                simulated.question, simulated.answer = question, answer
            case order.RemoveDecide():
                simulated.question = simulated.answer = None
            case order.WriteBlocked(reason=reason):
                simulated.blocked = reason
            case order.TakeApprovals():
                pass
            case order.ReplyToAgent() | order.AwaitAnswer() | order.ContinueAgent():
                pass
            case order.RemoveBlocked():
                simulated.blocked = None
            case _:
                assert isinstance(effect, order.CloseIteration), effect

    def _agent_ends(self, start: int, attempt: int) -> AgentFinished:
        if self.stopping:
            self.simulated.said.setdefault((start, attempt), Turn(fields=None, silent=True))
            return AgentFinished(signal=15, stopped=True, seconds=0.5)
        return self.simulated.work(start, attempt)

    def _checked(
        self, effect: order.Validate | order.JudgeWork | order.CommitWork | order.PushWork
    ) -> Input:
        """What comes of what is done for an iteration after its agent."""
        match effect:
            case order.JudgeWork():
                return self._judge_ends(effect)
            case order.Validate(start=start):
                return self._validation_ends(start)
            case order.CommitWork():
                return self._is_committed(effect)
            case order.PushWork():
                return self._is_pushed()

    def _judge_ends(self, effect: order.JudgeWork) -> WorkJudged:
        agent = None if self.run.current is None else self.run.current.agent
        if self.stopping:
            return WorkJudged(verdict=JudgeVerdict.CANNOT_TELL, reason="it was stopped")
        return self.simulated.judge(effect, 1 if agent is None else agent.attempt)

    def _is_committed(self, effect: order.CommitWork) -> WorkCommitted:
        if self.stopping:
            return WorkCommitted(problem="it was stopped")
        return self.simulated.commit_work(effect)

    def _is_pushed(self) -> WorkPushed:
        if self.stopping:
            return WorkPushed(ok=False, tries=1, problem="it was stopped")
        return self.simulated.push_work()

    def _validation_ends(self, start: int) -> ValidationFinished:
        current = self.run.current
        assert current is not None
        assert current.agent is not None
        ok = not self.stopping and self.simulated.validate(start, current.agent.attempt)
        return ValidationFinished(
            ok=ok, exit_code=0 if ok else 1, timed_out=False, seconds=2.0, tail="tested"
        )


def play(
    *script: Turn,
    person: Person | None = None,
    simulated: SimulatedProject | None = None,
    record: bool = False,
    wait: bool = False,
    **fields: Any,
) -> SimulatedRun:
    """A new run with that script, played to its end or until nobody moves it any more."""
    if simulated is None:
        simulated = SimulatedProject(script=list(script))
    config = settings(wait=wait, **fields)
    return SimulatedRun(simulated=simulated, config=config, person=person, record=record).start()


def check_loop(
    script: list[Turn],
    *,
    ends: tuple[str, int] | None = None,
    message: str | None = None,
    iterations: int | None = None,
    outcomes: list[str] | None = None,
    breaker: list[str] | None = None,
    warned: list[str] | None = None,
    **fields: Any,
) -> SimulatedRun:
    """Play a script; return how it ends, and the events on the way."""
    played = play(*script, **fields)
    end = played.run.end
    if ends is not None:
        assert end is not None, f"the run did not end, it is {played.run.phase}"
        assert (end.reason.value, end.exit_code) == ends, end.message
        assert played.exit_code == ends[1]
    if message is not None:
        assert end is not None
        assert message in end.message
    if iterations is not None:
        assert played.run.start == iterations
    if outcomes is not None:
        told = [event.outcome.value for event in played.events_of("iterationEnded")]
        assert told == outcomes
    if breaker is not None:
        moves = [event.to_state.value for event in played.events_of("circuitBreakerStateChange")]
        assert moves == breaker
    if warned is not None:
        assert played.warnings() == warned
    return played
