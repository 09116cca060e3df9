"""GSD: phases and plans of the roadmap are read; an edit changes one box."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.gsd.operations import (
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.formats.format_laws import changed_lines, check_state_edit, states

SHOP = Path("tests/data/plan_formats/gsd/.planning/ROADMAP.md").read_bytes().decode()


def test_reads_phases_and_their_plans() -> None:
    plan = parse_text(SHOP).plan
    assert states(plan) == {
        "1": "done", "2": "todo", "3": "todo",
        "01-01": "done", "01-02": "done", "02-01": "done", "02-02": "todo",
    }  # fmt: skip
    page, phase = plan.by_id()["02-02"], plan.by_id()["1"]
    assert (page.title, page.section) == ("Page", "Phase 2: Checkout - Pay by card")
    assert phase.title == "Phase 1: Basket - A basket with a total"
    assert phase.criteria == ("User sees the total", "The tax is that of the country")
    assert page.mark is not None
    assert SHOP[slice(*page.mark)] == " "
    assert why_broken(SHOP) == ""
    assert (
        why_broken("# Roadmap\n- [ ] a")
        == "it has no phase; write it in GSD with: /gsd:new-project"
    )


def test_a_phase_waits_for_its_plans_and_for_earlier_phases() -> None:
    assert needs_of(SHOP) == {
        "1": ("01-01", "01-02"), "2": ("1", "02-01", "02-02"), "3": ("2",),
        "02-01": ("1",), "02-02": ("1",),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param("- [ ] Phase 02.1: a (INSERTED)\n* [X] **Phase 3 \u2014 b**",
                     {"2.1": "todo", "3": "done"}, id="phases"),
        pytest.param("- [ ] `04-01-PLAN.md`: a\n- [ ] 04-02 -- b\n- [x] **04-03-PLAN.md** \u2014 c",
                     {"04-01": "todo", "04-02": "todo", "04-03": "done"}, id="plans"),
        pytest.param("- [ ] TBD\n- [ ] 2026-01 goals\n- Phase 1: a\n### Phase 1: a\n1. b\n- [ ] c",
                     {}, id="no-tasks"),
        pytest.param("- [ ] Phase 1: a\n- [x] Phase 1: b", {"1": "todo"}, id="first-counts"),
        pytest.param("- [ ] Phase 1: a\n  - Blocked by: no key\n\n- [ ] Phase 2: b\n  more",
                     {"1": "blocked", "2": "todo"}, id="blocked"),
        pytest.param("```\n- [ ] Phase 1: a\n```\n- [ ] 01-01-PLAN.md", {"01-01": "todo"},
                     id="fence"),
    ],
)  # fmt: skip
def test_reads_the_shapes_of_a_roadmap(text: str, read: dict[str, str]) -> None:
    assert states(parse_text(text).plan) == read


def test_reads_what_belongs_to_a_phase() -> None:
    text = (
        "- [ ] Phase 1: a\n- [ ] Phase 2: b\n"
        "### Phase 2: b\n- **Depends on:** Phase 1, Phase 2 (after 3)\n"
        "**Success Criteria**:\n\n  - x\n  2. y\nProse\n  3. z\n## Other\n**Depends on**: 9\n"
    )
    assert needs_of(text) == {"2": ("1",)}
    assert parse_text(text).plan.by_id()["2"].criteria == ("x", "y")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_state_changes_one_box(ending: str, mark: str) -> None:
    text = mark + SHOP.rstrip("\n").replace("\n", ending)
    after = with_state(text, "02-02", TaskState.DONE)
    line = f"- [ ] 02-02-PLAN.md \u2014 Page{ending}"
    assert changed_lines(text, after) == [(line, line.replace("[ ]", "[x]"))]
    assert with_state(after, "02-02", TaskState.TODO) == text


def test_a_blocked_task_has_its_reason_below_it() -> None:
    blocked = with_state(SHOP, "02-02", TaskState.BLOCKED, "no licence")
    task = parse_text(blocked).plan.by_id()["02-02"]
    assert (task.state, task.blocked_by) == (TaskState.BLOCKED, "no licence")
    assert "Page\n  - Blocked by: no licence\n" in blocked
    assert "Blocked by: x" in with_state(blocked, "02-02", TaskState.BLOCKED, "x")
    assert with_state(blocked, "02-02", TaskState.TODO) == SHOP
    assert with_note(blocked, "02-02", "Blocked by: no licence") == blocked


def test_refuses_what_it_cannot_write() -> None:
    with pytest.raises(RalphError, match="no form for a skipped task"):
        with_state(SHOP, "2", TaskState.SKIPPED)
    with pytest.raises(RalphError, match="see the ids in: ralph plan"):
        with_state(SHOP, "9", TaskState.DONE)


@pytest.mark.parametrize("task_id", ["1", "2", "3", "01-01", "02-02"])
@pytest.mark.parametrize("state", [TaskState.TODO, TaskState.DONE, TaskState.BLOCKED])
def test_an_edit_gives_one_task_its_state(task_id: str, state: TaskState) -> None:
    check_state_edit(parse_text, with_state, SHOP, task_id, state)


@pytest.mark.parametrize("task_id", ["1", "2", "3", "01-01", "01-02", "02-02"])
def test_a_removed_task_comes_back_where_it_was(task_id: str) -> None:
    without = with_task_of(SHOP, "", task_id)
    assert task_id not in states(parse_text(without).plan)
    assert states(parse_text(with_task_of(without, SHOP, task_id)).plan) == states(
        parse_text(SHOP).plan
    )


def test_protects_title_and_criteria() -> None:
    before = protected_fields(SHOP)["2"]
    assert protected_fields(with_state(SHOP, "2", TaskState.DONE))["2"] == before
    for old, new, kind in [
        ("Pay by card", "Pay", Forbidden.CRITERIA),
        ("An order is paid once", "x", Forbidden.CRITERIA),
        ("**Depends on**: Phase 1", "**Depends on**: Nothing", Forbidden.DEPENDENCY),
    ]:
        after = protected_fields(SHOP.replace(old, new))["2"]
        assert {one for one in before if before[one] != after[one]} == {kind}


@given(
    st.lists(
        st.sampled_from(
            ["- [ ] Phase 1: a", "- [x] 01-01-PLAN.md", "### Phase 1", "**Depends on**: 1", "\n",
             "**Success Criteria**", "  1. b", "```", "\r\n", "  - Blocked by: d"]
        )
    ).map("".join)
)  # fmt: skip
def test_reading_never_raises(text: str) -> None:
    for task in parse_text(text).plan.tasks:
        assert with_state(text, task.id, task.state) == text
    protected_fields(text)
    needs_of(text)


SHIPPED = (
    "- [x] **Phase 1: Basket** (completed 2026-01-31)\n- [x] **Phase 2: Pay**\n\n"
    "### Phase 1: Basket\n- [ ] 01-01-PLAN.md — Total\n\n"
    "### Phase 2: Pay\n- [ ] 02-01-PLAN.md — Card\n"
)


def test_the_plans_of_a_completed_phase_are_done() -> None:
    assert states(parse_text(SHIPPED).plan) == {
        "1": "done", "2": "done", "01-01": "done", "02-01": "todo",
    }  # fmt: skip


def test_a_plan_of_a_completed_phase_opens_with_its_phase() -> None:
    text = SHIPPED.replace("Total\n", "Total\n- [ ] 01-02-PLAN.md — Tax\n")
    opened = with_state(text, "01-01", TaskState.TODO, "")
    assert states(parse_text(opened).plan) == {
        "1": "todo", "2": "done", "01-01": "todo", "01-02": "done", "02-01": "todo",
    }  # fmt: skip
    assert len(changed_lines(text, opened)) == 2
    phase = with_state(text, "1", TaskState.TODO, "")
    assert [states(parse_text(phase).plan)[one] for one in ("1", "01-01")] == ["todo", "done"]
