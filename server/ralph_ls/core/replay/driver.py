"""Replay driver: a run without an engine, whose inputs come from a trace or a journal.

Inputs are fed to ``reducer.step``, the only place with decisions, so that a simulation follows the
same rules as a run. Effects are not performed; their results come from what is known of the
iteration. Does not know where an iteration comes from, and decides nothing.
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
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.machine.run_flow import untaken_tasks
from ralph_ls.core.loop.state import Awaits, LoopState
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import ReviewPointsConfig
from ralph_ls.protocol.run.commands import MAX_TEXT, Answer, Command, Overrule, Reset, Resume, Stop
from ralph_ls.protocol.run.events import IterationEnded, TaskSetAside
from ralph_ls.protocol.run.report import JudgeVerdict
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState, EndReason, PlanCountsView, TaskRef

SIMULATED_START = datetime(2000, 1, 1, tzinfo=UTC)
"""Start of every simulated run; simulated time is independent of the clock."""

LONGEST_SIMULATION = timedelta(days=365_000)
"""Longest simulation; a journal with a wrong clock may claim more."""

SIMULATED_RUN = "20000101T000000Z-0000"

UNKNOWN_TASK = TaskRef(id="", title="")
"""Some task that is open, but not known by name."""

SIMULATED_USER = "the simulation"

SIMULATED_COMMIT = "0" * 40
"""Commit hash for a commit that the loop would have made."""

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
    """Result of one iteration under the simulated policy."""

    iteration: int
    """Number of the start, like a line of a trace; 0 where the run ends before its first one."""
    breaker: BreakerState
    """Breaker state after the iteration."""
    reason: str
    """The breaker's reason while the run continues, else why it ends."""
    verdict: EndReason | None
    """None while the run continues."""
    exit_code: int | None
    """None while the run continues."""


def to_json(iteration: SimulatedIteration) -> dict[str, object]:
    """The iteration as ``ralph simulate --json`` prints it (docs/rules.md#command-line)."""
    return {
        "iteration": iteration.iteration,
        "breaker": iteration.breaker.value,
        "reason": iteration.reason,
        "verdict": "continue" if iteration.verdict is None else iteration.verdict.value,
        "exitCode": iteration.exit_code,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTurn:
    """The results of all effects of one iteration."""

    finished: AgentFinished
    read: IterationRead
    validation: ValidationFinished | None = None
    judged: WorkJudged = WorkJudged(verdict=JudgeVerdict.CANNOT_TELL, reason="not simulated")
    undone: WorkUndone | None = None
    """None: everything was rolled back."""
    committed: WorkCommitted | None = None
    """None: a commit is made where something was changed."""
    pushed: WorkPushed = WorkPushed()


class ReplayDriver:
    """One run under simulated inputs."""

    def __init__(self) -> None:
        self._state = LoopState()
        self._now = SIMULATED_START
        self._waited = timedelta()
        self._ended: IterationEnded | None = None
        self._n_commands = 0
        self._set_aside: set[str] = set()
        self._plan = PlanFacts()
        """The plan when the current iteration began."""

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
        """Start the run, up to the order to prepare its first iteration."""
        self.feed(Started(run=SIMULATED_RUN, facts=simulated_engine(config, counts, halt)))

    def feed(self, given: Input) -> None:
        """Take one step at the current time."""
        taken = step(self._state, given, self._now)
        self._state = taken.state
        for event in taken.events:
            if isinstance(event, IterationEnded):
                self._ended = event
            elif isinstance(event, TaskSetAside):
                self._set_aside.add(event.task.id)

    def take_up(self, given: Input) -> None:
        """Take one step of a new engine, which knows nothing but the journal."""
        self._state = LoopState(run=self.run)
        self.feed(given)

    def advance(self, passed: timedelta) -> None:
        """Advance the clock to this time after the start, plus the time spent in waits."""
        self._now = max(self._now, SIMULATED_START + min(passed, LONGEST_SIMULATION) + self._waited)

    def begin(self, prepared: Prepared) -> bool:
        """Prepare the next iteration; return whether the run is not over."""
        if self.awaits is Awaits.TIME:
            self._wait()
        if self.awaits is Awaits.PERSON:
            # The user did nothing that the run waits for, so the run ends here.
            self._obey(Stop(**self._who()))
        if self.awaits is Awaits.PREPARED:
            run, self._plan = self.run, prepared.plan
            self.feed(replace(prepared, left_out=untaken_tasks(run), attempts_before=run.attempts))
        return not self.is_over

    def play(self, turn: SimulatedTurn) -> None:
        """Finish the open iteration; a second attempt is given the same results."""
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
                case Awaits.JUDGE:
                    self.feed(turn.judged)
                case Awaits.UNDO:
                    self.feed(turn.undone or WorkUndone(plan=self._plan))
                case Awaits.COMMIT:
                    self.feed(turn.committed or _committed(turn.read))
                case Awaits.PUSH:
                    self.feed(turn.pushed)
                case _:
                    return

    def answer(self, text: str) -> None:
        """Let the user answer the open question; an empty text is ignored."""
        shown = text.strip()[:MAX_TEXT]
        if shown:
            self._obey(Answer(**self._who(), text=shown))

    def resume(self) -> None:
        """Let the user report the blocker as resolved."""
        self._obey(Resume(**self._who()))

    def reset(self) -> None:
        """Let the user reset the breaker."""
        self._obey(Reset(**self._who()))

    def overrule(self) -> None:
        """Let the user overrule the judge."""
        self._obey(Overrule(**self._who()))

    def unblock(self) -> None:
        """Let the user remove the blocked file, if there is one."""
        question = self.run.question
        halt = HaltFiles(question=None if question is None else question.question)
        self.feed(HaltFilesChanged(halt=halt))

    def last_iteration(self) -> SimulatedIteration | None:
        """The result of the last iteration; None before the first one, unless the run ended."""
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
        """End the current wait; a wait that is not over yet advances the clock."""
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
    """The commit that the loop would have made."""
    is_changed = bool(read.changes.files or read.plan_changed or read.tasks_done)
    return WorkCommitted(commit=SIMULATED_COMMIT if is_changed else None, files=read.changes.files)


def simulated_engine(config: Config, counts: PlanCountsView, halt: HaltFiles) -> EngineFacts:
    """Facts of a simulated engine, without reviews or rate limits."""
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
"""Settings that only delay a run: its decisions are the same without them."""
