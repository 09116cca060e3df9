"""What an engine remembers of the steps of a plan."""

from __future__ import annotations

from ralph_ls.engine.iteration.plan_memory import PlanSteps

PLAN = "- [ ] a\n  - [ ] first part\n"


def test_a_plan_continues_once_with_each_step() -> None:
    steps = PlanSteps()
    steps.begin(PLAN, 1)
    ticked = PLAN.replace("[ ] first", "[x] first")
    assert steps.advance(PLAN, (), 1) is None
    assert steps.advance(ticked, (), 1) is True
    assert steps.advance(PLAN, (), 1) is None
    assert steps.advance(ticked, (), 1) is None


def test_a_task_is_finished_once() -> None:
    steps = PlanSteps()
    steps.begin(PLAN, 1)
    assert steps.advance(PLAN, ("a",), 1) is None
    assert steps.advance(PLAN, ("a",), 1) is False
    assert steps.advance(PLAN, ("a", "b"), 1) is None


def test_a_task_without_a_box_is_a_step_where_there_were_never_so_many() -> None:
    steps = PlanSteps()
    assert steps.advance("## one\n", (), 1) is None
    assert steps.advance("## one\n## two\n", (), 2) is True
    assert steps.advance("## two\n", (), 1) is None
    assert steps.advance("## two\n## three\n", (), 2) is None
