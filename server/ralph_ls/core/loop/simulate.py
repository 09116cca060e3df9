"""What a policy would have made of a trace, iteration by iteration (SPEC §12).

The rules are those of a run, since ``rehearsal`` feeds its reducer. Here a trace is turned into
what that reducer looks at and reads. What a trace does not tell is taken as follows:

- *Time* is made up: every iteration takes a minute.
- *The plan*, where a line says nothing of it, has no tasks in numbers and one to do that nobody
  can name: so it refuses nothing, needs no confirming, and counts no attempts.
- *A task* that the policy has set aside is not taken again. Where the trace takes it all the same,
  its iteration is one on a task that nobody can name.
- *People* are not there, so a run that needs one ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from ralph_ls.core.agent.decode.final import Limit
from ralph_ls.core.loop.inputs import (
    AgentFinished,
    IterationRead,
    PlanFacts,
    Prepared,
    ValidationFinished,
)
from ralph_ls.core.loop.rehearsal import UNKNOWN_TASK, Rehearsal, Simulated, Turn
from ralph_ls.core.loop.trace import TraceLine
from ralph_ls.protocol.config.config import Config, OnHalt
from ralph_ls.protocol.run.values import Baseline, PlanCountsView, TaskRef

ITERATION = timedelta(minutes=1)
"""How long each iteration of a trace takes."""

NOTHING_TOLD = TraceLine()
"""What is known before the first line, and of an iteration that never was."""


def simulate(lines: Iterable[TraceLine], config: Config) -> Iterator[Simulated]:
    """Tell of each line what it would have come to under ``config``, up to the run's end.

    No more of ``lines`` is read than is needed, and nothing of them is kept. An end that is found
    before the next iteration, in the plan or in a budget, is told of the iteration before it.
    """
    alone = config.model_copy(update={"on_halt": OnHalt.EXIT, "task": None})
    rehearsal, before = Rehearsal(), NOTHING_TOLD
    rehearsal.start(alone)
    for number, line in enumerate(lines, start=1):
        told = rehearsal.told()
        if not rehearsal.begin(_prepared(rehearsal, before, line)):
            break
        if told is not None:
            yield told
        rehearsal.advance(ITERATION * number)
        rehearsal.play(_turn(rehearsal, line))
        if rehearsal.is_over:
            break
        before = line
    else:
        if before is not NOTHING_TOLD:
            rehearsal.begin(_prepared(rehearsal, before, NOTHING_TOLD))
    if (last := rehearsal.told()) is not None:
        yield last


def _prepared(rehearsal: Rehearsal, before: TraceLine, line: TraceLine) -> Prepared:
    """The plan as the last iteration left it, and the task that this one was given."""
    plan = _plan(rehearsal, before.counts, line.task)
    return Prepared(baseline=Baseline(), plan=plan)


def _plan(rehearsal: Rehearsal, counts: PlanCountsView | None, task: TaskRef | None) -> PlanFacts:
    set_aside = rehearsal.set_aside
    if task is not None:
        next_task = UNKNOWN_TASK if task.id in set_aside else task
        return PlanFacts(counts=counts or PlanCountsView(), next_task=next_task)
    if counts is None or not counts.total:
        return PlanFacts(counts=counts or PlanCountsView(), next_task=UNKNOWN_TASK)
    # Whether the trace's plan has what this policy set aside among the blocked, nobody can tell.
    n_held = max(counts.blocked_required, len(set_aside))
    is_work = counts.open_required > n_held
    return PlanFacts(counts=counts, next_task=UNKNOWN_TASK if is_work else None)


def _turn(rehearsal: Rehearsal, line: TraceLine) -> Turn:
    validation = None
    if line.validated is not None:
        validation = ValidationFinished(
            ok=line.validated,
            exit_code=0 if line.validated else 1,
            timed_out=False,
            seconds=0.0,
            tail="",
        )
    return Turn(
        finished=AgentFinished(exit_code=line.exit_code, timed_out=line.timed_out),
        read=IterationRead(
            report=line.report,
            promises=line.promises,
            completion_words=line.completion_words,
            errors=line.errors,
            error_patterns=line.error_patterns,
            said_nothing=line.said_nothing,
            # Who says so knows that the agent did not get over it.
            failed=line.limited,
            denied_tools=line.denied_tools,
            limit=Limit() if line.limited else None,
            changes=line.changes,
            tasks_done=line.tasks_done,
            plan=_plan(rehearsal, line.counts, None),
            must_validate=validation is not None,
        ),
        validation=validation,
    )
