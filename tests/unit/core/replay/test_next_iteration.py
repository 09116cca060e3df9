"""Looking ahead: the prompt of the next agent, and why there would be none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph_ls.core.loop.effects import PrepareIteration
from ralph_ls.core.loop.inputs import HaltFiles, PendingNote, Prepared
from ralph_ls.core.loop.state import Awaits
from ralph_ls.core.replay.next_iteration import NextIteration, predict_next_iteration
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    no_progress,
    progress,
    promise,
    turn,
)
from tests.unit.core.loop.simulated_run import BEGIN, SimulatedRun, command, facts, play, settings


def ahead(
    simulated: SimulatedProject, run: RunState | None = None, *, config: Any = None, **more: Any
) -> NextIteration:
    """What comes next in that world."""

    def look(order: PrepareIteration, state: RunState) -> Prepared:
        left_out = (*order.skip, *order.skipped)
        plan = simulated.plan({task: state.attempts.get(task, 0) for task in left_out})
        return Prepared(
            baseline=simulated.baseline(), plan=plan, left_out=left_out, mode=simulated.mode
        )

    found = facts(simulated, config or settings())
    return predict_next_iteration(run, replace(found, **more), look, now=BEGIN)


def going_on(played: SimulatedRun, **more: Any) -> NextIteration:
    return ahead(played.simulated, played.run, config=played.config, **more)


def test_a_new_run_begins_with_the_first_task_and_what_users_left_for_it() -> None:
    halt = HaltFiles(question="a or b?", answer="b")
    seen = ahead(
        SimulatedProject(script=[]), halt=halt, notes=(PendingNote(text="use tabs", by="Ada"),)
    )
    assert seen.instead == ""
    assert seen.context is not None
    told = seen.context
    assert (told.iteration, told.task, told.notes) == (1, "write the letter", ("use tabs",))
    assert (told.question, told.answer, told.recommendation) == ("a or b?", "b", "")


def test_it_is_what_the_agent_is_given_then() -> None:
    played = play(turn(RECOMMENDATION="look at the stamps", STATUS="IN_PROGRESS"), max_iterations=1)
    played.config = settings(max_iterations=2)
    seen = going_on(played)
    assert seen.context is not None
    assert (seen.context.iteration, seen.context.recommendation) == (2, "look at the stamps")
    played.simulated.script.append(progress)
    played.resume()
    assert played.prompts[-1] == seen.context


def test_a_plan_iteration_is_foreseen_as_one() -> None:
    simulated = SimulatedProject(script=[])
    simulated.mode = Mode.PLAN
    seen = ahead(simulated)
    assert seen.context is not None
    assert (seen.context.mode, seen.context.task) == (Mode.PLAN, None)


def test_an_open_iteration_uses_up_what_its_agent_was_given() -> None:
    played = SimulatedRun(
        simulated=SimulatedProject(script=[no_progress]), config=settings()
    ).until(Awaits.EXIT)
    played.feed(command("note", text="for the next one"))
    seen = going_on(played)
    assert seen.context is not None
    assert (seen.context.iteration, seen.context.notes) == (2, ("for the next one",))
    assert played.state.awaits is Awaits.EXIT


@pytest.mark.parametrize("wait", [False, True], ids=["exit", "wait"])
@pytest.mark.parametrize(
    ("halt", "why"),
    [
        (HaltFiles(blocked="no key"), "still blocked: no key"),
        (HaltFiles(question="a or b?"), "still waiting for your answer: a or b?"),
    ],
    ids=["blocked", "unanswered"],
)
def test_where_the_user_is_needed_first_no_agent_is_reported(
    halt: HaltFiles, why: str, *, wait: bool
) -> None:
    seen = ahead(SimulatedProject(script=[]), config=settings(wait=wait), halt=halt)
    assert seen == NextIteration(context=None, instead=why)


def test_a_run_that_is_over_before_an_iteration_says_why() -> None:
    simulated = SimulatedProject(script=[], tasks={"write the letter": "blocked"})
    seen = ahead(simulated)
    assert seen.context is None
    assert seen.instead.startswith("the only open task in the plan is blocked")


def test_a_used_up_limit_is_reported() -> None:
    played = play(no_progress, max_iterations=1)
    message = f"this run already {told_end(played)}; raise it with: "
    assert going_on(played) == NextIteration(context=None, instead=f"{message}--max-iterations 2")


def told_end(played: SimulatedRun) -> str:
    assert played.run.end is not None
    return played.run.end.message


def test_a_complete_run_does_not_continue() -> None:
    played = play(
        turn(files=1, ticks=("write the letter",), promises=(promise("complete"),), STATUS="X"),
        gate_rule="verified",
    )
    assert played.exit_code == 0
    assert going_on(played) == NextIteration(context=None, instead="the run is complete")
