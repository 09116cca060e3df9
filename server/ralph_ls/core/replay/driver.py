"""A run without an engine: made-up inputs go into the reducer, and what it decides is kept.

``simulate`` and ``recorded`` find the inputs, in a trace and in a journal. Here they are fed to
``reducer.step``, the only place where anything is decided, so that a simulation cannot know other
rules than a run. Nothing that the reducer orders is done: whoever it waits for is answered from
what is known of the iteration.

It must never know where an iteration comes from, nor decide anything by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ralph_ls.core.loop.inputs import (
    AgentFinished,
    AgentLaunched,
    CommandArrived,
    EngineFacts,
    HaltFiles,
    HaltFilesChanged,
    Input,
    IterationRead,
    PlanFacts,
    Prepared,
    Started,
    ValidationFinished,
    WaitElapsed,
    WorkCommitted,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.machine.run_flow import untaken_tasks
from ralph_ls.core.loop.state import Awaits, LoopState
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import ReviewPointsConfig
from ralph_ls.protocol.run.commands import MAX_TEXT, Answer, Command, Reset, Resume, Stop
from ralph_ls.protocol.run.events import IterationEnded, TaskSetAside
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState, EndReason, PlanCountsView, TaskRef

SIMULATED_START = datetime(2000, 1, 1, tzinfo=UTC)
"""When every simulation begins: its time is its own."""

LONGEST_SIMULATION = timedelta(days=365_000)
"""How long one can last; a journal whose clock ran wild says no more than this."""

SIMULATED_RUN = "20000101T000000Z-0000"

UNKNOWN_TASK = TaskRef(id="", title="")
"""There is a task to do, and nobody knows which."""

SIMULATED_USER = "the simulation"

SIMULATED_COMMIT = "0" * 40
"""A commit that the loop would have made."""

SIMULATED_LAUNCH = AgentLaunched(
    agent="simulated",
    argv=(),
    pid=1,
    process_start_time=0.0,
    group=None,
    prompt_bytes=0,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedIteration:
    """What one iteration would have come to."""

    iteration: int
    """Its start, so that each has a number of its own, as a trace has lines; 0 where the run would
    have ended before its first one."""
    breaker: BreakerState
    """After the iteration."""
    reason: str
    """The breaker's while the run goes on, else why it ends."""
    verdict: EndReason | None
    """None: it goes on."""
    exit_code: int | None
    """None while it goes on."""


def to_json(iteration: SimulatedIteration) -> dict[str, object]:
    """In the shape of ``ralph simulate --json`` (docs/rules.md#command-line)."""
    return {
        "iteration": iteration.iteration,
        "breaker": iteration.breaker.value,
        "reason": iteration.reason,
        "verdict": "continue" if iteration.verdict is None else iteration.verdict.value,
        "exitCode": iteration.exit_code,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTurn:
    """All that an iteration's agent, and what comes after it, answers with."""

    finished: AgentFinished
    read: IterationRead
    validation: ValidationFinished | None = None
    undone: WorkUndone | None = None
    """None: all of it was taken back."""
    committed: WorkCommitted | None = None
    """None: a commit is made where something was changed."""
    pushed: WorkPushed = WorkPushed()


class ReplayDriver:
    """One run under made-up inputs."""

    def __init__(self) -> None:
        self._state = LoopState()
        self._now = SIMULATED_START
        self._waited = timedelta()
        self._ended: IterationEnded | None = None
        self._n_commands = 0
        self._set_aside: set[str] = set()
        self._plan = PlanFacts()
        """As it was when the open iteration began."""

    @property
    def run(self) -> RunState:
        return self._state.run

    @property
    def awaits(self) -> Awaits:
        return self._state.awaits

    @property
    def now(self) -> datetime:
        return self._now

    @property
    def set_aside(self) -> frozenset[str]:
        """Ids of the tasks that this run has set aside."""
        return frozenset(self._set_aside)

    @property
    def is_over(self) -> bool:
        return self.run.end is not None

    def start(
        self,
        config: Config,
        counts: PlanCountsView = PlanCountsView(),  # noqa: B008  it is frozen
        halt: HaltFiles = HaltFiles(),  # noqa: B008  it is frozen
    ) -> None:
        """Begin the run, up to its first look at the plan."""
        self.feed(Started(run=SIMULATED_RUN, facts=simulated_engine(config, counts, halt)))

    def feed(self, given: Input) -> None:
        """One step, now."""
        taken = step(self._state, given, self._now)
        self._state = taken.state
        for event in taken.events:
            if isinstance(event, IterationEnded):
                self._ended = event
            elif isinstance(event, TaskSetAside):
                self._set_aside.add(event.task.id)

    def take_up(self, given: Input) -> None:
        """One step of a new engine, which knows no more than the journal."""
        self._state = LoopState(run=self.run)
        self.feed(given)

    def advance(self, passed: timedelta) -> None:
        """Let it be so long after the beginning, and what this run waited for by itself."""
        self._now = max(self._now, SIMULATED_START + min(passed, LONGEST_SIMULATION) + self._waited)

    def begin(self, prepared: Prepared) -> bool:
        """Look at the plan for the next iteration; whether the run began one."""
        if self.awaits is Awaits.TIME:
            self._wait()
        if self.awaits is Awaits.PERSON:
            # Nobody did what the run waits for, so this is where it stops.
            self._obey(Stop(**self._who()))
        if self.awaits is Awaits.PREPARED:
            run, self._plan = self.run, prepared.plan
            self.feed(replace(prepared, left_out=untaken_tasks(run), attempts_before=run.attempts))
        return not self.is_over

    def play(self, turn: SimulatedTurn) -> None:
        """Bring the open iteration to its end; a second attempt goes like the first."""
        while True:
            match self.awaits:
                case Awaits.LAUNCH:
                    self.feed(SIMULATED_LAUNCH)
                case Awaits.EXIT:
                    self.feed(turn.finished)
                case Awaits.READ:
                    self.feed(turn.read)
                case Awaits.VALIDATION if turn.validation is not None:
                    self.feed(turn.validation)
                case Awaits.UNDO:
                    self.feed(turn.undone or WorkUndone(plan=self._plan))
                case Awaits.COMMIT:
                    self.feed(turn.committed or _committed(turn.read))
                case Awaits.PUSH:
                    self.feed(turn.pushed)
                case _:
                    return

    def answer(self, text: str) -> None:
        """A person answers the open question; without one nothing comes of it."""
        shown = text.strip()[:MAX_TEXT]
        if shown:
            self._obey(Answer(**self._who(), text=shown))

    def resume(self) -> None:
        """A person says that the blocker is gone."""
        self._obey(Resume(**self._who()))

    def reset(self) -> None:
        """A person resets the breaker."""
        self._obey(Reset(**self._who()))

    def unblock(self) -> None:
        """A person takes the blocked file away, where one lies there."""
        question = self.run.question
        halt = HaltFiles(question=None if question is None else question.question)
        self.feed(HaltFilesChanged(halt=halt))

    def last_iteration(self) -> SimulatedIteration | None:
        """What is to be told of the last iteration; None where there was none and no end."""
        run, ended, end = self.run, self._ended, self.run.end
        if end is not None:
            is_open = run.current is not None or ended is None
            return SimulatedIteration(
                iteration=run.start if is_open or ended is None else ended.start,
                breaker=run.breaker.state if is_open or ended is None else ended.breaker.state,
                reason=end.message,
                verdict=end.reason,
                exit_code=end.exit_code,
            )
        if ended is None:
            return None
        return SimulatedIteration(
            iteration=ended.start,
            breaker=ended.breaker.state,
            reason=ended.breaker.reason,
            verdict=None,
            exit_code=None,
        )

    def _wait(self) -> None:
        """What the run waits for by itself comes; where it was not waited for, later."""
        until = self.run.until
        if until is not None and until > self._now:
            waited = min(until - self._now, LONGEST_SIMULATION - self._waited)
            self._waited += waited
            self._now += waited
        self.feed(WaitElapsed())

    def _obey(self, command: Command) -> None:
        self.feed(CommandArrived(command=command))

    def _who(self) -> dict[str, Any]:
        self._n_commands += 1
        return {
            "id": f"simulated-{self._n_commands:08d}",
            "run": SIMULATED_RUN,
            "at": self._now,
            "by": SIMULATED_USER,
        }


def _committed(read: IterationRead) -> WorkCommitted:
    """What the loop would have committed."""
    is_changed = bool(read.changes.files or read.plan_changed or read.tasks_done)
    return WorkCommitted(commit=SIMULATED_COMMIT if is_changed else None, files=read.changes.files)


def simulated_engine(config: Config, counts: PlanCountsView, halt: HaltFiles) -> EngineFacts:
    """Where an engine starts that nobody started; there is nobody to review, and no hurry."""
    return EngineFacts(
        config=config.model_copy(update=_WITHOUT_HOLDS),
        version="",
        pid=1,
        workspace="",
        state_dir="",
        plan_path="",
        counts=counts,
        branch=None,
        head=None,
        halt=halt,
    )


_WITHOUT_HOLDS = {"review_points": ReviewPointsConfig(), "max_calls_per_minute": None}
"""Settings that only hold a run up: what it decides is the same without them."""
