"""GSD: phases and plans of the roadmap are read; an edit changes one box."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.gsd import operations
from ralph_ls.core.plan.formats.gsd.operations import (
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.core.plan.formats.text_operations import unfinished_needs
from ralph_ls.core.plan.queries import next_task
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
        pytest.param("- [x] Phase 1: a\n- [ ] 01-01-PLAN.md: b\n| 1. a | 1/1 | ✅ Complete | - |",
                     {"1": "done", "01-01": "done"}, id="complete-by-the-table"),
        pytest.param("- [x] Phase 1: a\n- [ ] 01-01: b\n- [x] 01-02: c\n| 1. a | 1/2 | Complete |",
                     {"1": "done", "01-01": "todo", "01-02": "done"}, id="ticked-in-part"),
        pytest.param("- [ ] Phase 1: a\n- [ ] 01-01-PLAN.md: b\n| 1. a | 1/1 | Complete | - |",
                     {"1": "todo", "01-01": "todo"}, id="not-ticked"),
        pytest.param("- [x] Phase 1: a\n- [ ] 01-01-PLAN.md: b\n| 1. a | 0/1 | Not started | - |",
                     {"1": "done", "01-01": "todo"}, id="not-complete"),
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


def next_of(text: str) -> str | None:
    plan = parse_text(text).plan
    waiting = {
        one: tuple(task.id for task in tasks)
        for one, tasks in unfinished_needs(operations, plan, text).items()
    }
    task = next_task(plan, waits_for=waiting)
    return None if task is None else task.id


RESET, RUNTIME, LAYER = (
    "- [ ] **Phase 7: Reset** - Audit\n",
    "- [ ] **Phase 8: Runtime** - Deliver\n",
    "- [ ] **Phase 9: Layer** - Approve\n",
)


@pytest.mark.parametrize(
    ("text", "ids", "chosen"),
    [
        pytest.param(
            f"{RESET}{RUNTIME}### Phase 7: Reset\n- [ ] 07-01-PLAN.md\n### Phase 8: Runtime\n",
            ["7", "07-01", "8"], "07-01", id="plans-before-a-later-phase",
        ),
        pytest.param(
            f"{RESET}{RUNTIME}{LAYER}- [ ] 09-01-PLAN.md\n- [x] 07-01-PLAN.md\n",
            ["8", "9", "09-01", "7", "07-01"], "8", id="phase-without-plans",
        ),
        pytest.param(
            f"{RESET}{LAYER}- [x] 07-01-PLAN.md\n- [ ] 09-01-PLAN.md\n- [x] 09-02-PLAN.md\n",
            ["9", "09-01", "09-02", "7", "07-01"], "09-01", id="only-the-tick-is-missing",
        ),
        pytest.param(
            f"{RESET}{LAYER}- [x] 07-01-PLAN.md\n### Phase 9\n**Depends on**: Phase 7\n"
            "- [ ] 09-01-PLAN.md\n",
            ["9", "09-01", "7", "07-01"], "09-01", id="nobody-waits-for-a-tick",
        ),
        pytest.param(
            f"{RESET}{LAYER}- [x] 07-01-PLAN.md\n- [x] **Phase 8: Runtime**\n"
            "- [ ] 09-01-PLAN.md\n  - Blocked by: a key\n",
            ["9", "09-01", "8", "7", "07-01"], "7", id="at-last-the-tick",
        ),
        pytest.param(
            f"{RESET}{LAYER}- [ ] 08.1-01-PLAN.md\n- [ ] 08-01-PLAN.md\n- [ ] 10-01-PLAN.md\n"
            "- [ ] 8a-01-PLAN.md\n- [ ] 07-01-PLAN.md\n",
            ["7", "07-01", "08-01", "08.1-01", "8a-01", "9", "10-01"], "07-01", id="without-a-box",
        ),
    ],
)  # fmt: skip
def test_plans_come_in_the_place_of_their_phase(text: str, ids: list[str], chosen: str) -> None:
    assert [task.id for task in parse_text(text).plan.tasks] == ids
    assert next_of(text) == chosen


def test_a_plan_is_a_part_of_its_phase() -> None:
    tasks = parse_text(f"{RESET}- [x] 07-01-PLAN.md\n- [ ] 08-01-PLAN.md\n").plan.by_id()
    assert [(one.depth, one.parent, one.section) for one in tasks.values()] == [
        (0, None, "Phase 8: "),
        (0, None, "Phases whose plans are done"),
        (1, "7", "Phase 7: Reset - Audit"),
    ]


INSERTED = "### Phase 08.1: Complete the loop (INSERTED)\n**Plans**: 0 plans\n- [ ] TBD\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{RESET}\n{INSERTED}",
            (
                "1 phase has a heading and no box, so it is not read; "
                "add to the list of phases: - [ ] **Phase 08.1: Complete the loop (INSERTED)**"
            ),
        ),
        (
            f"{RESET}\n{INSERTED}## Phase 9 — b\n",
            (
                "2 phases have a heading and no box, so they are not read (Phase 08.1: Complete "
                "the loop (INSERTED), Phase 9 — b); add to the list of phases: "
                "- [ ] **Phase 08.1: Complete the loop (INSERTED)**"
            ),
        ),
        (f"{RESET}### Phase 7: Reset\n### Phase 8: b\n- [ ] 08-01-PLAN.md\n", ""),
        (f"{RESET}### Phase 6: a ✅\n### Phase 5: b (completed 2026-01-31)\n", ""),
        (f"<details>\n### Phase 1: a\n</details>\n{RESET}### Phase details\n", ""),
        (f"{INSERTED}- [ ] 09-01-PLAN.md\n", ""),
        (INSERTED, ""),
    ],
)
def test_a_phase_without_a_box_is_reported(text: str, message: str) -> None:
    problems = parse_text(text).problems
    assert [(one.code, one.message) for one in problems] == (
        [("phase-not-read", message)] if message else []
    )
    if problems:
        (span,) = parse_text(text).spans
        line = text.split("\n")[problems[0].line - 1]
        assert line[slice(*span)] == "### Phase 08.1: Complete the loop (INSERTED)"


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
