"""GSD: phases and plans of the roadmap are read; an edit changes one box."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.dispatch import merge_plans
from ralph_ls.core.plan.formats.gsd import operations
from ralph_ls.core.plan.formats.gsd.operations import (
    check_text,
    needs_of,
    open_but_executed,
    parse_text,
    protected_fields,
    why_broken,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.core.plan.formats.text_operations import unfinished_needs
from ralph_ls.core.plan.model import PlanKind
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
                     {"1": "done", "01-01": "done", "01-02": "done"}, id="ticked-in-part"),
        pytest.param("- [x] Phase 1: a\n- [ ] 01-01: b\n- [x] 01-02: c",
                     {"1": "done", "01-01": "done", "01-02": "done"}, id="ticked-without-a-table"),
        pytest.param("- [ ] Phase 1: a\n- [ ] 01-01-PLAN.md: b\n| 1. a | 1/1 | Complete | - |",
                     {"1": "todo", "01-01": "done"}, id="not-ticked"),
        pytest.param("- [ ] Phase 1: a\n- [ ] 01-01-PLAN.md: b\n| **Phase 1: a** | Complete |",
                     {"1": "todo", "01-01": "done"}, id="complete-without-a-count"),
        pytest.param("- [x] Phase 1: a\n- [ ] 01-01-PLAN.md: b\n| 1. a | 0/1 | Not started | - |",
                     {"1": "done", "01-01": "done"}, id="not-complete"),
        pytest.param("- [ ] 01-01: b\n- [ ] 01-02: c\n- [ ] 01-03: d\n| 1. a | v1 | 2/3 | Begun |",
                     {"01-01": "done", "01-02": "done", "01-03": "todo"}, id="counted"),
        pytest.param("- [ ] 01-01: b\n- [ ] 01-02: c\n- [x] 01-03: d\n| 1. a | 1/3 | Begun |",
                     {"01-01": "done", "01-02": "todo", "01-03": "done"}, id="counted-and-ticked"),
        pytest.param("- [x] 01-01: b\n- [ ] 01-02: c\n- [x] 01-03: d\n| 1. a | 2/3 | Begun |",
                     {"01-01": "done", "01-02": "todo", "01-03": "done"}, id="counted-by-boxes"),
        pytest.param("- [x] 01-01: b\n- [ ] 01-02: c\n- [ ] 01-03: d\n| 1. a | 2/3 | Begun |",
                     {"01-01": "done", "01-02": "done", "01-03": "todo"}, id="ticked-too-rarely"),
        pytest.param("- [ ] 01-01: b\n  - Blocked by: d\n- [ ] 01-02: c\n| 1. a | 2/2 | Begun |",
                     {"01-01": "blocked", "01-02": "done"}, id="counted-and-blocked"),
        pytest.param("- [ ] 01-01: b\n- [ ] 01-02: c\n| 1. a | 1/3 | Begun |\n| 1. a | 1/2 | x |",
                     {"01-01": "todo", "01-02": "todo"}, id="counts-other-plans"),
        pytest.param("- [ ] 01-01: b\n- [ ] 01-02: c\n| 1. a | 1/1 | Complete |",
                     {"01-01": "todo", "01-02": "todo"}, id="plans-were-added"),
        pytest.param("- [ ] 01-01: b\n| 1 | 3 | 2026/01 |\n| A | 1/1 |\n| 1. a | 1/TBD | - |",
                     {"01-01": "todo"}, id="other-tables"),
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


TOGETHER = {"2": {"02-02"}, "01-01": {"1"}}
"""A phase is done with all its plans: the other tasks that change with one."""


@pytest.mark.parametrize("task_id", ["1", "2", "3", "01-01", "02-02"])
@pytest.mark.parametrize("state", [TaskState.TODO, TaskState.DONE, TaskState.BLOCKED])
def test_an_edit_gives_one_task_its_state(task_id: str, state: TaskState) -> None:
    check_state_edit(parse_text, with_state, SHOP, task_id, state, together=TOGETHER.get(task_id))


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
             "**Success Criteria**", "  1. b", "```", "- [ ] 01-02",
             "| 1. a | 1/2 | Complete |", "\r\n", "  - Blocked by: d"]
        )
    ).map("".join)
)  # fmt: skip
def test_reading_never_raises(text: str) -> None:
    for task in parse_text(text).plan.tasks:
        assert with_state(text, task.id, task.state) == text
    protected_fields(text)
    needs_of(text)
    check_text(text)


SHIPPED = (
    "- [x] **Phase 1: Basket** (completed 2026-01-31)\n- [x] **Phase 2: Pay**\n\n"
    "### Phase 1: Basket\n- [ ] 01-01-PLAN.md — Total\n- [ ] 01-02-PLAN.md — Tax\n\n"
    "### Phase 2: Pay\n- [ ] 02-01-PLAN.md — Card\n- [x] 02-02-PLAN.md — Page\n"
)
COUNTED = (
    "- [x] Phase 1: a\n- [ ] 01-01: b\n- [ ] 01-02: c\n- [ ] 01-03: d\n"
    "- [ ] Phase 2: e\n- [ ] 02-01: f\n- [ ] 02-02: g\n- [ ] 02-03: h\n- [ ] 02-04: i\n"
    "- [ ] Phase 3: j\n- [ ] 03-01: k\n- [ ] 03-02: l\n"
    "| 1. a | 3/3 | ✅ Complete | - |\n| 2. e | 3/4 | In Progress | - |\n| 3. j | Complete |\n"
)


def test_the_plans_of_a_ticked_phase_are_done() -> None:
    assert states(parse_text(SHIPPED).plan) == {
        "1": "done", "2": "done", "01-01": "done", "01-02": "done", "02-01": "done",
        "02-02": "done",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("task_id", "together", "rows"),
    [
        ("01-01", {"1"}, "| 1. a | 2/3 | In Progress | - |\n| 2. e | 3/4 |"),
        ("01-03", {"1"}, "| 1. a | 2/3 | In Progress | - |\n| 2. e | 3/4 |"),
        ("1", set(), "| 1. a | 3/3 | ✅ Complete | - |\n| 2. e | 3/4 |"),
        ("02-01", set(), "| 1. a | 3/3 | ✅ Complete | - |\n| 2. e | 2/4 |"),
        ("02-03", set(), "| 1. a | 3/3 | ✅ Complete | - |\n| 2. e | 2/4 |"),
        ("02-04", set(), "| 1. a | 3/3 | ✅ Complete | - |\n| 2. e | 3/4 |"),
        ("03-02", set(), "| 2. e | 3/4 | In Progress | - |\n| 3. j | In Progress |"),
    ],
)
def test_a_plan_that_the_table_counts_is_opened_and_ticked(
    task_id: str, together: set[str], rows: str
) -> None:
    for state in (TaskState.TODO, TaskState.BLOCKED):
        opened = check_state_edit(
            parse_text, with_state, COUNTED, task_id, state, together=together
        )
        assert rows in opened
        assert check_text(with_state(opened, task_id, TaskState.DONE)) is not None
        check_state_edit(parse_text, with_state, opened, task_id, TaskState.DONE)


def test_the_first_plan_of_which_one_is_counted_opens() -> None:
    text = "- [ ] 01-01: b\n- [ ] 01-02: c\n- [x] 01-03: d\n| 1. a | 1/3 | - |\n"
    opened = check_state_edit(parse_text, with_state, text, "01-01", TaskState.TODO)
    assert "| 0/3 |" in opened


def test_a_plan_of_a_ticked_phase_opens_with_its_phase() -> None:
    opened = with_state(SHIPPED, "01-01", TaskState.TODO, "")
    assert states(parse_text(opened).plan) == {
        "1": "todo", "2": "done", "01-01": "todo", "01-02": "done", "02-01": "done",
        "02-02": "done",
    }  # fmt: skip
    assert len(changed_lines(SHIPPED, opened)) == 2
    phase = with_state(SHIPPED, "1", TaskState.TODO, "")
    assert [states(parse_text(phase).plan)[one] for one in ("1", "01-01")] == ["todo", "done"]


OPEN_BOX = "with an open box"
COUNTS = "the phase is ticked, or the table of progress counts"
ONE = (
    f"1 plan {OPEN_BOX} is read as done (01-01): {COUNTS} it; tick the box, or open the phase and "
    "correct its row"
)
EIGHT = (
    f"8 plans {OPEN_BOX} are read as done (01-01, 01-02, 01-03 and 5 more): {COUNTS} them; tick "
    "the boxes, or open the phase and correct its row"
)
PHASE = (
    f"1 phase {OPEN_BOX} is complete in the table of progress (Phase 3), and read as open; tick "
    "the box, or correct the table"
)
PHASES = (
    f"2 phases {OPEN_BOX} are complete in the table of progress (Phase 1, Phase 2), and read as "
    "open; tick the boxes, or correct the table"
)
HEADED = (
    "1 open box is in a phase whose heading says that it is done (01-01), and read as open; tick "
    "it, or correct the heading"
)
HEADED_TWICE = (
    "2 open boxes are in a phase whose heading says that it is done (Phase 1, 01-01), and read as "
    "open; tick them, or correct the heading"
)
OTHER = (
    "in 1 phase (Phase 1) the table of progress counts more plans as done than are ticked, and "
    "not as many as are listed, so the boxes count; tick those that are done, or correct the table"
)


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        pytest.param(SHOP, [], id="agreed"),
        pytest.param("- [x] Phase 1: a\n- [ ] 01-01: b\n- [x] 01-02: c\n", [(1, ONE)], id="one"),
        pytest.param(COUNTED, [(1, EIGHT), (9, PHASE)], id="several"),
        pytest.param("- [ ] Phase 1: a\n- [ ] Phase 2: b\n| 1. a | Complete |\n| 2. b | Complete |"
                     "\n| 3. c | Complete |", [(0, PHASES)], id="phases"),
        pytest.param("- [ ] 01-01: a\n- [x] 01-02: b\n| 1. a | 3/4 | - |\n| 2. b | 1/2 | - |",
                     [(0, OTHER)], id="other-plans"),
        pytest.param("- [x] 01-01: a\n- [ ] 01-02: b\n| 1. a | 0/2 | - |", [], id="table-is-old"),
        pytest.param("### Phase 1: a ✅\n- [ ] 01-01: b\n- [x] 01-02: c\n", [(1, HEADED)],
                     id="heading"),
        pytest.param("- [ ] Phase 1: a\n### Phase 1: a (completed 2026-01-31)\n- [ ] 01-01: b\n",
                     [(0, HEADED_TWICE)], id="heading-and-phase"),
        pytest.param("### Phase 1: a - Complete the loop\n- [ ] 01-01: b\n### Phase 2: c — done\n"
                     "- [ ] 02-01: d\n  - Blocked by: e\n", [], id="no-heading-that-is-done"),
    ],
)  # fmt: skip
def test_what_disagrees_is_reported_with_a_count(text: str, remarks: list[tuple[int, str]]) -> None:
    found = check_text(text)
    assert [(one.place.line, one.message) for one in found] == remarks
    assert {one.code.value for one in found} <= {"open-under-completed"}
    for one in found:
        line = text.split("\n")[one.place.line]
        assert line.endswith(line[one.place.start : one.place.end])


@pytest.mark.parametrize(
    ("executed", "message"),
    [
        ({"01-01", "02-04", "9-9"}, (
            "1 open plan has a SUMMARY beside it (02-04), and neither a tick nor the table of "
            "progress says that it is done; tick the box of what is, or the next run works on it "
            "again"
        )),
        ({"02-04", "03-01"}, (
            "1 open plan has a SUMMARY beside it (02-04), and neither a tick nor the table of "
            "progress says that it is done; tick the box of what is, or the next run works on it "
            "again"
        )),
        ({"01-01"}, None),
    ],
)  # fmt: skip
def test_an_open_plan_that_was_executed_is_reported(
    executed: set[str], message: str | None
) -> None:
    problem = open_but_executed(parse_text(COUNTED).plan, executed)
    assert (None if problem is None else problem.message) == message
    text = COUNTED.replace("3/4", "2/4")
    problem = open_but_executed(parse_text(text).plan, {"02-03", "02-04"})
    assert problem is not None
    assert (problem.line, problem.message[:58]) == (
        8, "2 open plans have a SUMMARY beside them (02-03, 02-04), an"
    )  # fmt: skip


def test_a_change_of_the_table_alone_is_merged() -> None:
    base = COUNTED.replace("3/4", "0/4")
    mine = base.replace("Phase 3: j", "Phase 3: J")
    merged = merge_plans(PlanKind.GSD, base, mine, COUNTED)
    assert merged.conflicts == ()
    assert states(parse_text(merged.text).plan) == states(parse_text(COUNTED).plan)
    assert "Phase 3: J" in merged.text
