"""A reverted change is applied because the user accepts it, or refused with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given

from ralph_ls.core.plan.diff.guard import PlanPowers, guard_plan
from ralph_ls.core.plan.diff.guard_overrides import AcceptedEdit, accept_agent_edit
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.run.iteration_events import Forbidden
from tests.unit.core.plan.parse.test_properties import any_texts

PLAN = """\
# Plan
- [ ] A-1: parse
  - a note
  - Acceptance criteria:
    - totals agree
    - it is quick
- [ ] A-2: send
  - [ ] A-3: stamp
- [ ] A-4: print
"""
CRITERIA = PLAN.replace("totals agree", "it runs").replace("    - it is quick\n", "")
DROPPED = PLAN[: PLAN.index("- [ ] A-2")] + "- [ ] A-4: print\n"
SKIPPED = PLAN.replace("[ ] A-4", "[-] A-4")


def guarded(before: str, after: str) -> str:
    plans = parse_markdown(before).plan, parse_markdown(after).plan
    return guard_plan(plans[0], before, plans[1], after, powers=PlanPowers()).text


@pytest.mark.parametrize(
    ("agents", "what", "task", "dropped"),
    [
        (CRITERIA, Forbidden.CRITERIA, "A-1", []),
        (DROPPED, Forbidden.DROPPED, "A-2", ["A-2", "A-3"]),
        (SKIPPED, Forbidden.SKIPPED, "A-4", []),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_agents_version_comes_back_whole(
    agents: str, what: Forbidden, task: str, dropped: list[str], ending: str
) -> None:
    before, after = (text.replace("\n", ending) for text in (PLAN, agents))
    now = guarded(before, after)
    assert now != after
    assert accept_agent_edit(now, after, what, task, dropped=dropped) == AcceptedEdit(text=after)


def test_what_came_later_stays() -> None:
    now = PLAN.replace("[ ] A-1", "[~] A-1").replace("# Plan\n", "# Plan\n\nNew.\n")
    wanted = CRITERIA.replace("[ ] A-1", "[~] A-1").replace("# Plan\n", "# Plan\n\nNew.\n")
    assert accept_agent_edit(now, CRITERIA, Forbidden.CRITERIA, "A-1", dropped=[]) == AcceptedEdit(
        text=wanted
    )


def test_a_plan_without_a_last_line_ending_gets_what_it_needs() -> None:
    now = "- [ ] A-1: a"
    agents = "- [ ] A-1: a\n  - Done when: red"
    kept = accept_agent_edit(now, agents, Forbidden.CRITERIA, "A-1", dropped=[])
    assert kept == AcceptedEdit(text="- [ ] A-1: a\n  - Done when: red\n")


def test_a_mark_of_the_byte_order_stays_the_first_sign() -> None:
    kept = accept_agent_edit(
        "\ufeff- [ ] a\n- [ ] b\n", "", Forbidden.DROPPED, "ca978112", dropped=[]
    )
    assert kept == AcceptedEdit(text="\ufeff- [ ] b\n")


@pytest.mark.parametrize(
    ("now", "agents", "what", "task", "refusal"),
    [
        pytest.param(DROPPED, PLAN, Forbidden.SKIPPED, "A-2", "no longer in the plan",
                     id="gone"),
        pytest.param(PLAN.replace("[ ] A-4", "[x] A-4"), SKIPPED, Forbidden.SKIPPED, "A-4",
                     "finished or skipped", id="finished"),
        pytest.param(PLAN, DROPPED, Forbidden.DROPPED, "A-2", "nested tasks", id="nested"),
        pytest.param(PLAN, PLAN, Forbidden.CHANGED, "A-2", "the whole file", id="file"),
        pytest.param(PLAN, DROPPED, Forbidden.CRITERIA, "A-2", "has no such task",
                     id="agent-dropped-it-too"),
        pytest.param(PLAN.replace("a note", "another"), CRITERIA, Forbidden.CRITERIA, "A-1",
                     "have changed since", id="noted"),
        pytest.param("## Tasks\n1. A-4: print\n", "## Tasks\n1. A-4: print\n", Forbidden.SKIPPED,
                     "A-4", "no box", id="no-box"),
        pytest.param("- [ ] A-1: a\n```\n- [ ] A-2: b\n", "", Forbidden.DROPPED, "A-1",
                     "", id="fence-stays-one"),
        pytest.param("- [ ] A-1: a\n  ```\n- [ ] A-2: b\n", "", Forbidden.DROPPED, "A-1",
                     "", id="its-own-fence-goes-with-it"),
    ],
)  # fmt: skip
def test_a_plan_that_moved_on_is_left_alone(
    now: str, agents: str, what: Forbidden, task: str, refusal: str
) -> None:
    kept = accept_agent_edit(now, agents, what, task, dropped=[])
    assert refusal in kept.refusal
    assert bool(kept.text) == (not refusal)


def test_other_tasks_must_stay_what_they_are() -> None:
    now = "- [ ] A-1: a\n\n1. b\n2. c\n"
    agents = "1. b\n2. c\n"
    kept = accept_agent_edit(now, agents, Forbidden.DROPPED, "A-1", dropped=[])
    assert "would change how other" in kept.refusal


def test_criteria_must_be_read_as_the_agents() -> None:
    now = "- [ ] A-1: a\n"
    agents = "- [ ] A-1: a\n  - Done when: x\n  - Done when: y\n"
    text = accept_agent_edit(now, agents, Forbidden.CRITERIA, "A-1", dropped=[]).text
    assert parse_markdown(text).plan.tasks[0].criteria == ("x", "y")


def test_criteria_that_would_be_read_as_others_are_left() -> None:
    now = "- [ ] A-0: z\n  - [ ] A-1: a\n"
    agents = "- [ ] A-1: a\n  - Done when: x\n"
    kept = accept_agent_edit(now, agents, Forbidden.CRITERIA, "A-1", dropped=[])
    assert "the criteria would be read" in kept.refusal


@given(any_texts, any_texts)
def test_whatever_the_texts_nothing_fails(before: str, after: str) -> None:
    plans = parse_markdown(before).plan, parse_markdown(after).plan
    guarded = guard_plan(plans[0], before, plans[1], after, powers=PlanPowers())
    for one in guarded.violations:
        dropped = [other.task.id for other in guarded.violations]
        kept = accept_agent_edit(guarded.text, after, one.what, one.task.id, dropped=dropped)
        assert bool(kept.refusal) or kept.text != guarded.text
