"""Random parallel runs: whatever lanes, users and kills do, the invariants hold."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph_ls.core.loop.inputs import (
    AgentFinished,
    AnnouncementDone,
    CommandUnreadable,
    EffectFailed,
    Interrupted,
    Started,
    TaskClaimed,
    WaitElapsed,
)
from ralph_ls.core.loop.lanes import (
    LaneAdvanced,
    LaneDeferred,
    LaneEngineGone,
    LaneFailed,
    LaneObserved,
    LaneOpened,
    LaneRebased,
    LaneRefused,
    LaneRunFinished,
)
from ralph_ls.core.loop.machine.run_flow import BY_CTRL_C, BY_TERM
from ralph_ls.core.loop.state import LoopState
from ralph_ls.protocol.run.commands import Approval
from ralph_ls.protocol.run.values import EndReason, MergeProblem, Phase, PlanCountsView, TaskRef
from tests.unit.core.loop.parallel.simulated_lanes import SimulatedSession, session

NAMES = tuple("abcdef")
TURNS = (
    "complete", "complete", "complete", "asks", "blocked", "stuck", "account", "crash", "fail",
    "no-agent", "all", "stopped", "give-up",
)  # fmt: skip
PROBLEMS = (None, MergeProblem.CONFLICT, MergeProblem.VALIDATION, MergeProblem.BRANCH)

COMMANDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pause", {}),
    ("resume", {}),
    ("reset", {}),
    ("answer", {"text": "polling"}),
    ("note", {"text": "use tabs"}),
    ("skip", {"task": "a"}),
    ("overrule", {}),
    ("resetTask", {"task": "a"}),
    ("allow", {"approvals": (Approval(key="x", sha256="0" * 64),)}),
)


def random_session(rng: random.Random) -> SimulatedSession:
    names = NAMES[: rng.randint(1, 6)]
    return session(
        *names,
        needs={
            name: rng.sample(names[:number], min(number, rng.randint(0, 1)))
            for number, name in enumerate(names)
        },
        settings={
            "parallel": rng.randint(1, 4),
            "max_iterations": rng.choice([None, 3, 7, 40]),
            **({"on_halt": rng.choice(["wait", "exit"])} if rng.random() < 0.7 else {}),
            **({"max_cost_usd": 0.05} if rng.random() < 0.2 else {}),
        },
        turns={
            name: rng.choices(TURNS, k=rng.randint(0, 3)) for name in names if rng.random() < 0.6
        },
        refusals={
            name: rng.choices(PROBLEMS, k=rng.randint(0, 2)) for name in names if rng.random() < 0.5
        },
        same_files=frozenset(name for name in names if rng.random() < 0.3),
    )


def drive(run: SimulatedSession, rng: random.Random, *, kills: bool, users: bool) -> None:
    """Play the run to its end, as a user who settles what it waits for would have it."""
    run.choose = rng.randrange
    run.start()
    for _ in range(600):
        if users and rng.random() < 0.1:
            kind, fields = rng.choice(COMMANDS)
            run.send(kind, **fields)
        if users and rng.random() < 0.01:
            run.feed(Interrupted(by=rng.choice([BY_CTRL_C, BY_TERM])))
        if kills and rng.random() < 0.03 and run.run.phase is not Phase.ENDED:
            for runs in run.world.runs.values():
                runs[-1].is_live = runs[-1].is_live and rng.random() < 0.5
            run.resume()
        if run.queue:
            run.take(rng.randrange(len(run.queue)))
        elif run.run.phase is Phase.ENDED:
            return
        elif run.run.phase is Phase.PAUSED:
            run.send("resume")
        elif run.run.phase is Phase.PARKED:
            asking = [one for one in run.run.lanes if one.question and one.end is None]
            # Of several questions each is answered in its lane.
            if len(asking) == 1:
                run.send("answer", text="polling")
            elif asking:
                task = asking[0].task.id
                lane = run.world.run_of(task)
                assert lane is not None
                lane.work()
                run.feed(run.world.observed(task))
            else:
                run.send("resume")
        else:
            # A pause of the user may have met a lane that was just being continued.
            is_paused = users and any(one.phase is Phase.PAUSED for one in run.run.lanes)
            assert is_paused, f"nothing happens: {run.run.phase} {run.states()}"
            run.send("resume")
    raise AssertionError(f"it comes to no end: {run.run.phase} {run.states()}")


def check_end(run: SimulatedSession) -> None:
    end = run.run.end
    assert end is not None
    assert end.message
    assert all(count == 1 for count in run.world.merges().values())
    merged = [event.task.id for event in run.of_kind("laneMerged")]
    assert len(merged) == len(set(merged))
    if end.reason is EndReason.COMPLETE:
        assert set(run.world.merges()) == {one.task.id for one in run.world.tasks}
    limit = run.config.max_iterations
    if limit is not None and "runResumed" not in run.kinds():
        assert run.world.used <= limit


@pytest.mark.parametrize(
    ("seed", "kills"), [(36492, False), (1455, False), (2834, True), (16831, False)]
)
def test_these_runs_end(seed: int, *, kills: bool) -> None:
    """A pause that came late left a lane paused; a dead lane's share kept a run from its end."""
    rng = random.Random(seed)
    run = random_session(rng)
    drive(run, rng, kills=kills, users=False)
    check_end(run)


@pytest.mark.parametrize("users", [False, True])
@pytest.mark.parametrize("kills", [False, True])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_a_random_run_ends_and_merges_each_task_at_most_once(
    seed: int, kills: bool, users: bool
) -> None:
    rng = random.Random(seed)
    run = random_session(rng)
    drive(run, rng, kills=kills, users=users)
    check_end(run)


def anything(rng: random.Random, run: SimulatedSession) -> Any:
    """Any input, at any time."""
    task = rng.choice([*NAMES, "unknown"])
    lanes = {one.task.id: one for one in run.run.lanes}
    known = lanes[task].run if task in lanes and rng.random() < 0.7 else "run-x"
    return rng.choice(
        [
            run.world.plan(),
            LaneOpened(task=task, run=known or "run-y", base="base"),
            LaneOpened(task=task, run=known or "run-y", base="base", is_new=False),
            LaneFailed(task=task, message="no"),
            LaneObserved(task=task, phase=rng.choice([Phase.PARKED, Phase.RUNNING]), reason="x"),
            LaneRunFinished(
                task=task, run=known or "run-y", reason=rng.choice(list(EndReason)), message="m"
            ),
            LaneEngineGone(task=task),
            LaneRebased(task=task, onto="base", head="h", commits=1),
            LaneRefused(task=task, problem=MergeProblem.CONFLICT, message="m"),
            LaneDeferred(task=task),
            LaneAdvanced(task=task, head="h", commits=1, counts=PlanCountsView()),
            Started(run="r", facts=run.facts()),
            TaskClaimed(task=TaskRef(id=task, title=task)),
            AgentFinished(exit_code=0, seconds=1.0),
            WaitElapsed(),
            AnnouncementDone(code="x", message="m"),
            CommandUnreadable(id="c" * 12, code="syntax", reason="no JSON"),
            EffectFailed(message="disk full") if rng.random() < 0.1 else WaitElapsed(),
            Interrupted(by=BY_CTRL_C) if rng.random() < 0.2 else WaitElapsed(),
        ]
    )


@given(seed=st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_any_input_is_taken_at_any_time(seed: int) -> None:
    rng = random.Random(seed)
    run = random_session(rng)
    run.is_fuzzed = True
    run.feed(anything(rng, run))
    assert run.state == LoopState() or run.run.run
    if not run.run.run:
        run.start()
    for _ in range(60):
        if run.queue and rng.random() < 0.5:
            run.take(rng.randrange(len(run.queue)))
        else:
            run.feed(anything(rng, run))
    merged = [event.task.id for event in run.of_kind("laneMerged")]
    assert len(merged) == len(set(merged))
