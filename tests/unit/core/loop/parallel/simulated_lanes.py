"""Simulated engine of a parallel run: lanes, their runs, a branch and a merge queue, in memory.

``SimulatedLanes`` is what survives a kill: the branch, and the runs in the lanes, which live on.
``SimulatedSession`` is one engine: it performs effects in that world, feeds back what comes of
them, and checks every step.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ralph_ls.core.loop import effects as order
from ralph_ls.core.loop import lanes as lane_order
from ralph_ls.core.loop.fold import apply
from ralph_ls.core.loop.inputs import AnnouncementDone, EngineFacts, Input, Resumed, Started
from ralph_ls.core.loop.lanes import (
    ACTIVE,
    BranchPlanRead,
    LaneAdvanced,
    LaneDeferred,
    LaneEngineGone,
    LaneFailed,
    LaneInput,
    LaneObserved,
    LaneOpened,
    LaneRebased,
    LaneRefused,
    LaneRunFinished,
    OpenTask,
    lane_of,
)
from ralph_ls.core.loop.parallel.reducer import step_parallel
from ralph_ls.core.loop.state import LoopState, Step
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import Event, dump_event, parse_event
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import (
    EndReason,
    LaneState,
    MergeProblem,
    Phase,
    PlanCountsView,
    TaskRef,
)
from tests.unit.core.loop.simulated_run import BEGIN, RUN, command, fold_journal

PHASES = {
    Phase.STARTING,
    Phase.PREPARING,
    Phase.RUNNING,
    Phase.PAUSED,
    Phase.PARKED,
    Phase.STOPPING,
    Phase.ENDED,
}
"""Those that a parallel run may have."""

LIMIT_WAIT = timedelta(hours=1)


@dataclass
class LaneRun:
    """A run in a lane, with its engine."""

    run: str
    is_live: bool = True
    phase: Phase = Phase.RUNNING
    reason: str | None = None
    question: str | None = None
    end: EndReason | None = None
    by: str = ""
    counted: int = 0
    limit: int | None = None
    """Of all its iterations."""

    def park(self, phase: Phase, reason: str | None, question: str | None = None) -> None:
        self.phase, self.reason, self.question = phase, reason, question

    def work(self) -> None:
        self.park(Phase.RUNNING, None)


@dataclass
class SimulatedLanes:
    """The world of a parallel run."""

    tasks: tuple[OpenTask, ...]
    turns: dict[str, list[str]] = field(default_factory=dict)
    """What the runs for a task do, one after the other; then they complete it.

    ``complete``, ``asks``, ``blocked``, ``stuck``, ``account``, ``crash``, ``fail``, ``no-agent``,
    ``all``, ``stopped`` or ``give-up``.
    """
    refusals: dict[str, list[MergeProblem | None]] = field(default_factory=dict)
    """Why the merges of a task are refused, one after the other; None: it is not."""
    same_files: frozenset[str] = frozenset()
    """Tasks that change the files which another lane repairs."""
    runs: dict[str, list[LaneRun]] = field(default_factory=dict)
    branch: list[tuple[str, str]] = field(default_factory=list)
    """The merged commits with their tasks."""
    closed: list[str] = field(default_factory=list)
    used: int = 0
    """Iterations of all agents."""
    n_runs: int = 0

    @property
    def head(self) -> str:
        return self.branch[-1][0] if self.branch else "base"

    def merges(self) -> Counter[str]:
        return Counter(task for _, task in self.branch)

    def run_of(self, task: str) -> LaneRun | None:
        runs = self.runs.get(task)
        return runs[-1] if runs else None

    def plan(self) -> BranchPlanRead:
        done = set(self.merges())
        left = [one for one in self.tasks if one.task.id not in done]
        tasks = tuple(replace(one, waits_for=one.waits_for - done) for one in left)
        return BranchPlanRead(tasks=tasks, counts=self.counts())

    def counts(self) -> PlanCountsView:
        n_done = len(set(self.merges()) & {one.task.id for one in self.tasks})
        total = len(self.tasks)
        return PlanCountsView(
            total=total,
            done=n_done,
            required=total,
            required_done=n_done,
            open_required=total - n_done,
        )

    def open(self, effect: lane_order.OpenLane, view: LaneView) -> LaneOpened | LaneFailed:
        """As the engine opens a lane: a run that lives, or an end nobody saw, or a start."""
        task, found = effect.task, self.run_of(effect.task)
        if found is not None and found.is_live:
            counted = view.iterations - view.earlier_iterations if found.run == view.run else 0
            left = None if found.limit is None else found.limit - counted
            limits = lane_order.LaneLimits(iterations=left)
            return LaneOpened(task=task, run=found.run, base="base", limits=limits, is_new=False)
        if found is not None and found.end is not None:
            is_done_since = found.end is EndReason.COMPLETE and view.end is not EndReason.COMPLETE
            if found.run != view.run or view.end is None or is_done_since:
                return LaneOpened(task=task, run=found.run, base="base")
        turn = self.turns.get(task, [""])[:1]
        if turn in (["fail"], ["no-agent"]):
            self.turns[task].pop(0)
            return LaneFailed(task=task, message="no such agent", is_empty=turn == ["no-agent"])
        resumes = found is not None and (effect.resume or found.end is None)
        if found is None or not resumes:
            self.n_runs += 1
            found = LaneRun(run=f"run-{self.n_runs}")
            self.runs.setdefault(task, []).append(found)
        counted = view.iterations - view.earlier_iterations if found.run == view.run else 0
        more = effect.limits.iterations
        found.limit = None if more is None else more + counted
        found.is_live, found.end = True, None
        found.work()
        return LaneOpened(task=task, run=found.run, base="base", limits=effect.limits)

    def act(self, task: str) -> LaneInput | None:
        """One turn of the run for a task; None where it waits or is over."""
        run = self.run_of(task)
        if run is None or not run.is_live or run.phase is not Phase.RUNNING:
            return None
        turns = self.turns.get(task, [])
        turn = turns.pop(0) if turns else "complete"
        if turn == "crash":
            run.is_live = False
            return LaneEngineGone(task=task)
        if turn == "asks":
            run.park(Phase.PARKED, "decide", f"{task}: which?")
        elif turn in {"stuck", "blocked"}:
            run.park(Phase.PARKED, turn)
        elif turn == "account":
            run.park(Phase.WAITING, "limit")
        if turn in {"asks", "stuck", "blocked", "account"}:
            return self.observed(task)
        wanted = 10_000 if turn == "all" else 1
        left = wanted if run.limit is None else min(wanted, run.limit - run.counted)
        run.counted += left
        self.used += left
        ends = {
            "complete": EndReason.COMPLETE,
            "stopped": EndReason.STOPPED,
            "give-up": EndReason.STUCK,
            "all": EndReason.LIMIT,
        }
        is_used_up = left < 1
        self.finish(
            run, EndReason.LIMIT if is_used_up else ends.get(turn, EndReason.COMPLETE), by="Ada"
        )
        return self.finished(task)

    def finish(self, run: LaneRun, reason: EndReason, *, by: str = "") -> None:
        run.is_live, run.end = False, reason
        run.by = by if reason is EndReason.STOPPED else ""
        run.park(Phase.ENDED, None)

    def observed(self, task: str) -> LaneObserved:
        run = self.run_of(task)
        assert run is not None
        return LaneObserved(task=task, phase=run.phase, reason=run.reason, question=run.question)

    def finished(self, task: str) -> LaneRunFinished:
        run = self.run_of(task)
        assert run is not None
        assert run.end is not None
        return LaneRunFinished(
            task=task,
            run=run.run,
            reason=run.end,
            message=f"ended: {run.end}",
            by=run.by,
            iterations=run.counted,
            usage=Usage(input_tokens=10 * run.counted, output_tokens=0, cost_usd=run.counted / 100),
            seconds=1.0,
            is_empty=run.counted == 0,
        )

    def steer(self, effect: lane_order.SteerLane) -> LaneInput | None:
        """What becomes of an order; None where the run does not take it."""
        run, task = self.run_of(effect.task), effect.task
        if run is None or not run.is_live:
            return None
        match effect.verb:
            case "stop" | "stopNow":
                self.finish(run, EndReason.STOPPED, by=effect.by)
                return self.finished(task)
            case "pause" if run.phase is Phase.RUNNING:
                run.park(Phase.PAUSED, None)
            case "resume" if run.phase is Phase.PAUSED or run.reason in {"blocked", "stuck"}:
                run.work()
            case "answer" if run.question is not None:
                run.work()
            case _:
                return None
        return self.observed(task)

    def rebase(self, effect: lane_order.RebaseLane) -> LaneInput:
        task = effect.task
        merged = next((head for head, one in self.branch if one == task), None)
        if merged is not None:
            # The branch was moved before the engine died.
            return LaneRebased(task=task, onto=merged, head=merged, commits=0)
        if effect.in_repair and task in self.same_files:
            return LaneDeferred(task=task)
        refusals = self.refusals.get(task, [])
        problem = refusals.pop(0) if refusals else None
        if problem is not None:
            return LaneRefused(
                task=task, problem=problem, message=f"{task}: {problem}", paths=("src/a.py",)
            )
        return LaneRebased(task=task, onto=self.head, head=f"{task} on {self.head}", commits=2)

    def advance(self, effect: lane_order.AdvanceBranch) -> LaneInput:
        if self.head not in {effect.onto, effect.head}:
            return self.rebase(lane_order.RebaseLane(task=effect.task))
        if self.head != effect.head:
            self.branch.append((effect.head, effect.task))
        return LaneAdvanced(
            task=effect.task, head=effect.head, commits=effect.commits, counts=self.counts()
        )


@dataclass
class Moment:
    """The journal and the world right after a step's events: where a kill may hit."""

    events: list[Event]
    """All that were recorded before the step."""
    recorded: tuple[Event, ...]
    """Those of the step."""
    world: SimulatedLanes


Pending = tuple[str, Callable[[], "LaneInput | Input | None"]]


@dataclass
class SimulatedSession:
    """One engine of a parallel run."""

    world: SimulatedLanes
    config: Config
    state: LoopState = field(default_factory=LoopState)
    events: list[Event] = field(default_factory=list)
    now: datetime = BEGIN
    queue: list[Pending] = field(default_factory=list)
    """What the world is about to answer, with a name for each."""
    effects: list[Any] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    exit_code: int | None = None
    is_fuzzed: bool = False
    """Inputs come that the world knows nothing of."""
    record: bool = False
    moments: list[Moment] = field(default_factory=list)
    choose: Callable[[int], int] = lambda _count: 0
    """Which of the answers comes next."""

    @property
    def run(self) -> RunState:
        return self.state.run

    def facts(self, **fields: Any) -> EngineFacts:
        return EngineFacts(
            config=self.config,
            version="0.1.0",
            pid=100,
            workspace="/project",
            state_dir="/state",
            plan_path="@fix_plan.md",
            branch="main",
            head="base",
            counts=self.world.counts(),
            **fields,
        )

    def start(self) -> SimulatedSession:
        self.feed(Started(run=RUN, facts=self.facts()))
        return self

    def resume(self, *, by: str = "Ada", config: Config | None = None) -> SimulatedSession:
        """A new engine resumes the journal of one that is gone."""
        self.config = config or self.config
        self.state = LoopState(run=fold_journal(self.events))
        self.queue.clear()
        self.exit_code = None
        self.feed(Resumed(by=by, facts=self.facts()))
        return self

    def go_on(self, until: Callable[[], bool] = lambda: False) -> SimulatedSession:
        """Take what the world answers until it answers no more."""
        steps = 0
        while self.queue and not until():
            steps += 1
            assert steps < 2000, "this run comes to no end"
            self.take(self.choose(len(self.queue)))
        return self

    def take(self, number: int) -> None:
        """Take one of the answers; orders reach a lane one after the other."""
        name, _ = self.queue[number]
        if name.startswith("steer"):
            number = next(n for n, (known, _) in enumerate(self.queue) if known == name)
        _, answer = self.queue.pop(number)
        given = answer()
        if given is not None:
            self.feed(given)

    def send(self, kind: str, **fields: Any) -> Step:
        """Give the run a command."""
        return self.feed(command(kind, **fields))

    def feed(self, given: Input | LaneInput) -> Step:
        self.now += timedelta(seconds=1)
        before = self.state
        taken = step_parallel(before, given, self.now)
        self._check(before, given, taken)
        if taken.ignored is not None:
            self.ignored.append(taken.ignored)
        if self.record:
            self.moments.append(Moment(list(self.events), taken.events, copy.deepcopy(self.world)))
        self.events.extend(taken.events)
        self.state = taken.state
        if isinstance(given, LaneOpened):
            self._follow(given.task, self.world.run_of(given.task))
        if isinstance(given, LaneObserved) and given.phase in {Phase.RUNNING, Phase.WAITING}:
            self._goes_on(given.task)
        for effect in taken.effects:
            self._perform(effect)
        return taken

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def of_kind(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.kind == kind]

    def ordered(self, kind: type) -> list[Any]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def steered(self) -> list[tuple[str, str]]:
        return [(one.task, one.verb) for one in self.ordered(lane_order.SteerLane)]

    def lane(self, task: str) -> LaneView:
        found = lane_of(self.run, task)
        assert found is not None
        return found

    def states(self) -> dict[str, str]:
        return {one.task.id: one.state.value for one in self.run.lanes}

    def _add(self, name: str, answer: Callable[[], LaneInput | Input | None]) -> None:
        self.queue.append((name, answer))

    def _follow(self, task: str, run: LaneRun | None) -> None:
        """As the engine follows a run: it reports what differs from what was last known of it."""
        if run is None:
            return
        if run.end is not None:
            self._add(f"end {task}", lambda: self._end(task))
            return
        view = self.lane(task)
        now = (run.phase, run.reason, run.question)
        if now != (view.phase, view.phase_reason, view.question):
            self._add(f"observe {task}", lambda: self._observe(task))
        self._goes_on(task)

    def _observe(self, task: str) -> LaneInput | None:
        run = self.world.run_of(task)
        return self.world.observed(task) if run is not None and run.is_live else None

    def _end(self, task: str) -> LaneInput | None:
        run = self.world.run_of(task)
        return self.world.finished(task) if run is not None and run.end is not None else None

    def _goes_on(self, task: str) -> None:
        run = self.world.run_of(task)
        if run is None or not run.is_live:
            return
        if run.phase is Phase.WAITING:
            self._add(f"wait {task}", lambda: self._wait_ends(run, task))
        elif run.phase is Phase.RUNNING:
            self._add(f"work {task}", lambda: self.world.act(task))

    def _wait_ends(self, run: LaneRun, task: str) -> LaneInput | None:
        if not run.is_live or run.phase is not Phase.WAITING:
            return None
        run.work()
        return self.world.observed(task)

    def _perform(self, effect: Any) -> None:
        self.effects.append(effect)
        world = self.world
        match effect:
            case lane_order.ReadBranchPlan():
                self._add("plan", world.plan)
            case lane_order.OpenLane():
                run = self.run
                view = lane_of(run, effect.task)
                assert view is not None
                self._add(f"open {effect.task}", lambda: world.open(effect, view))
            case lane_order.RebaseLane():
                self._add(f"rebase {effect.task}", lambda: world.rebase(effect))
            case lane_order.AdvanceBranch():
                self._add(f"advance {effect.task}", lambda: world.advance(effect))
            case lane_order.CloseLane(task=task):
                world.closed.append(task)
            case lane_order.SteerLane():
                self._add(f"steer {effect.task}", lambda: world.steer(effect))
            case order.Announce():
                self._add("announce", lambda: AnnouncementDone(code="x", message="done"))
            case order.Finish(exit_code=code):
                self.exit_code = code
                # An engine that has finished follows nothing.
                self.queue = [one for one in self.queue if one[0] == "announce"]
            case _:
                assert isinstance(effect, order.TakeApprovals), effect

    def _check(self, before: LoopState, given: Input | LaneInput, taken: Step) -> None:
        """What holds for every step, whatever the input."""
        folded = before.run
        for number, event in enumerate(taken.events, start=before.run.seq + 1):
            assert event.seq == number, "seq counts up by one"
            folded = apply(folded, parse_event(dump_event(event)))
        after = taken.state.run
        assert folded == after, "the fold over the journal is the state"
        if taken.ignored is not None:
            assert not taken.events, (given, taken.events)
            assert not taken.effects, (given, taken.effects)
            assert taken.state == before
            return
        assert after.phase in PHASES
        is_resumed = any(event.kind == "runResumed" for event in self.events)
        check_lanes(after, taken.state)
        if not self.is_fuzzed:
            # A lane that nobody opened has a limit that nobody gave.
            check_shares(after, taken.state, self.config, is_resumed=is_resumed)
            self._check_orders(taken)

    def _check_orders(self, taken: Step) -> None:
        """Nothing is ordered again while it is under way."""
        pending = [name for name, _ in self.queue]
        merging = [name for name in pending if name.startswith(("rebase", "advance"))]
        for effect in taken.effects:
            match effect:
                case lane_order.OpenLane(task=task):
                    assert f"open {task}" not in pending, "a lane is opened twice"
                    pending.append(f"open {task}")
                case lane_order.RebaseLane(task=task) | lane_order.AdvanceBranch(task=task):
                    assert not merging, "two merges at once"
                    merging.append(task)
                case lane_order.ReadBranchPlan():
                    assert "plan" not in pending
                case _:
                    pass


def check_lanes(run: RunState, state: LoopState) -> None:
    """What holds for the lanes of a run at any time."""
    active = [one for one in run.lanes if one.state in ACTIVE]
    numbers = [one.lane for one in active]
    assert len(numbers) == len(set(numbers)), "two lanes have one number"
    tasks = [one.task.id for one in run.lanes]
    assert len(tasks) == len(set(tasks)), "two lanes for one task"
    places = [one.worktree for one in run.lanes]
    assert len(places) == len(set(places)), "two lanes in one work tree"
    repairs = [
        one
        for one in active
        if one.state is LaneState.WORKING
        and one.problem is MergeProblem.CONFLICT
        and (one.task.id in state.branch.opening or one.end is None)
    ]
    assert len(repairs) <= 1, "one repair at a time"


def check_shares(
    run: RunState, state: LoopState, config: Config, *, is_resumed: bool = False
) -> None:
    """No more is given to lanes than the run may use."""
    opening = state.branch.opening
    lent = [limits.iterations or 0 for limits in opening.values()]
    lent += [
        one.limit or 0
        for one in run.lanes
        if one.run is not None and one.end is None and one.task.id not in opening
    ]
    if config.max_iterations is not None and run.phase is not Phase.ENDED:
        total = run.counted + sum(lent)
        # A share that was given right before a kill is known when its run is found.
        unknown = (config.parallel or 1) * is_resumed
        limit = max(config.max_iterations, run.counted) + unknown
        assert total <= limit, "more is given than there is"


def tasks(*names: str, needs: dict[str, Iterable[str]] | None = None) -> tuple[OpenTask, ...]:
    """Open tasks, independent of each other except for ``needs``."""
    return tuple(
        OpenTask(
            task=TaskRef(id=name, title=f"Task {name}"),
            waits_for=frozenset((needs or {}).get(name, ())),
        )
        for name in names
    )


def session(
    *names: str,
    needs: dict[str, Iterable[str]] | None = None,
    settings: dict[str, Any] | None = None,
    record: bool = False,
    **world: Any,
) -> SimulatedSession:
    """A parallel run over tasks, two at a time unless ``settings`` says otherwise."""
    made = Config.model_validate({"parallel": 2, "max_iterations": 100, **(settings or {})})
    return SimulatedSession(
        world=SimulatedLanes(tasks=tasks(*names, needs=needs), **world), config=made, record=record
    )
