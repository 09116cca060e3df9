from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.diff.guard import (
    PlanGuardResult,
    PlanPowers,
    guard_plan,
    is_without_boxes,
)
from ralph_ls.core.plan.diff.revert_edits import (
    PlanSide,
    restore_criteria,
    restore_state,
    restore_tasks_at_top,
)
from ralph_ls.core.plan.edit.task_edits import block_task, tick_task
from ralph_ls.core.plan.model import Plan
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.run.iteration_events import Forbidden
from tests.unit.core.plan.parse.test_properties import any_texts
from tests.unit.core.plan.plan_assertions import plan_texts

PLAN = """\
# Plan

## High
- [ ] Parse the invoice
  - a note
  - Acceptance criteria:
    - totals agree
    - no rounding error is left
- [ ] Send the letter
- [x] Read the law
- [ ] Print everything
  - [ ] On paper
  - [x] On screen

## Low
1. [ ] Count the pages
2. [~] Number them
"""


def guard(
    before: str, after: str, *, finished: str = "", powers: PlanPowers | None = None
) -> PlanGuardResult:
    plans = parse_markdown(before).plan, parse_markdown(after).plan
    return guard_plan(
        plans[0], before, plans[1], after, powers=powers or PlanPowers(), finished=finished
    )


def told(guarded: PlanGuardResult) -> list[tuple[str, str]]:
    return [(one.what.value, one.task.title) for one in guarded.violations]


def check_put_back(before: str, after: str, expected: str, *violations: tuple[str, str]) -> None:
    guarded = guard(before, after)
    assert guarded.text == expected
    assert told(guarded) == list(violations)
    assert guard(before, guarded.text) == PlanGuardResult(text=guarded.text)
    lines = expected.split("\n")
    for one in guarded.violations:
        assert one.task.title.split()[0] in lines[one.line]
        assert one.line <= one.end_line < len(lines)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("- [ ] Send", "- [x] Send", id="ticked"),
        pytest.param("- [ ] Send", "- [~] Send", id="begun"),
        pytest.param("- [ ] Send", "- [ ] [BLOCKED] Send", id="blocked"),
        pytest.param("- [ ] Send the letter\n- [x] Read the law\n", "- [ ] Send the letter\n",
                     id="finished-one-cleared-away"),
        pytest.param("- [ ] Send the letter", "- [ ] Send the long letter", id="reworded"),
        pytest.param("- [ ] Send the letter", "- [ ] Sned the leter", id="misspelt"),
        pytest.param("- [ ] Send the letter\n", "- [ ] Find an address\n- [ ] Send the letter\n",
                     id="added"),
        pytest.param("- [ ] Send the letter\n", "- [ ] Write the letter\n- [ ] Send it off\n",
                     id="split-in-its-place"),
        pytest.param("- [ ] Send the letter\n",
                     "- [ ] Letter: stamp\n- [ ] Letter: walk, then send\n", id="split-in-words"),
        pytest.param("- [ ] Send the letter\n", "", id="moved-to-progress"),
        pytest.param("totals agree", "**totals agree** ✅", id="criterion-marked"),
        pytest.param("totals agree", "totals agree (pytest - exit 0)", id="criterion-remarked"),
        pytest.param("totals agree", f"totals agree {'(x)' * 30}", id="criterion-with-brackets"),
        pytest.param("    - totals agree\n", "    - totals agree\n    - and more\n",
                     id="criterion-added"),
        pytest.param("## High", "## Medium", id="another-priority"),
    ],
)  # fmt: skip
def test_what_is_allowed_stays_as_it_is(old: str, new: str) -> None:
    after = PLAN.replace(old, new)
    assert after != PLAN
    assert guard(PLAN, after, finished="- 2026: send  the LETTER done") == PlanGuardResult(
        text=after
    )


def test_tasks_may_be_reordered_and_moved_when_they_are_finished() -> None:
    reordered = PLAN.replace("- [ ] Send the letter\n", "") + "3. [ ] Send the letter\n"
    assert guard(PLAN, reordered) == PlanGuardResult(text=reordered)
    parsing = PLAN[PLAN.index("- [ ] Parse") : PLAN.index("- [ ] Send")]
    finished = PLAN.replace(parsing, "") + "\n## Completed\n- [x] Parse the invoice\n"
    assert guard(PLAN, finished) == PlanGuardResult(text=finished)


def test_a_task_may_become_a_heading_over_its_parts() -> None:
    before = "- [ ] Parse the invoice\n- [ ] Z\n"
    after = "- [ ] Z\n\n## Parse the invoice\n- [ ] Scan\n- [ ] Lex\n"
    assert guard(before, after) == PlanGuardResult(text=after)
    bare = "- [ ] Z\n\n## Parse the invoice\n"
    assert told(guard(before, bare)) == [("dropped", "Parse the invoice")]


def test_tasks_may_be_merged_and_hand_their_criteria_on() -> None:
    before = "- [ ] Alpha beta\n  - Done when: green\n- [ ] X\n- [ ] Gamma delta\n- [ ] Y\n"
    merged = "- [ ] X\n- [ ] Y\n- [ ] Alpha beta with gamma delta\n  - Done when: green\n"
    assert guard(before, merged) == PlanGuardResult(text=merged)


def test_a_repeated_title_is_counted() -> None:
    before = "- [x] Test\n- [ ] Test\n"
    assert guard(before, "- [ ] Test\n") == PlanGuardResult(text="- [ ] Test\n")
    check_put_back(before, "- [x] Test\n", before, ("dropped", "Test"))


@pytest.mark.parametrize("powers", [PlanPowers(may_drop=True, may_change_criteria=True)])
def test_who_may_do_everything_does(powers: PlanPowers) -> None:
    assert guard(PLAN, "", powers=powers) == PlanGuardResult(text="")


def test_one_power_is_not_the_other() -> None:
    dropped = PLAN.replace("- [ ] Send the letter\n", "").replace("totals agree", "it runs")
    free = guard(PLAN, dropped, powers=PlanPowers(may_drop=True))
    assert told(free) == [("criteria", "Parse the invoice")]
    free = guard(PLAN, dropped, powers=PlanPowers(may_change_criteria=True))
    assert told(free) == [("dropped", "Send the letter")]
    assert "it runs" in free.text


@pytest.mark.parametrize(
    ("gone", "titles"),
    [
        pytest.param("- [ ] Send the letter\n", ["Send the letter"], id="one"),
        pytest.param("  - [ ] On paper\n", ["On paper"], id="nested-first"),
        pytest.param(
            PLAN[PLAN.index("- [ ] Parse") : PLAN.index("- [ ] Send")],
            ["Parse the invoice"],
            id="first-with-its-notes",
        ),
        pytest.param("1. [ ] Count the pages\n", ["Count the pages"], id="first-numbered"),
        pytest.param("2. [~] Number them\n", ["Number them"], id="last-of-all"),
    ],
)
def test_a_dropped_task_comes_back_where_it_was(gone: str, titles: list[str]) -> None:
    after = PLAN.replace(gone, "")
    check_put_back(PLAN, after, PLAN, *(("dropped", title) for title in titles))


def test_what_the_agent_did_beside_it_stays() -> None:
    after = (
        PLAN.replace("- [ ] Send the letter\n", "")
        .replace("- [ ] Parse", "- [x] Parse")
        .replace("# Plan\n", "# Our plan\n\nWith words.\n")
        .replace("2. [~] Number them\n", "2. [x] Number them\n3. [ ] Bind them\n")
    )
    expected = after.replace("- [x] Read", "- [ ] Send the letter\n- [x] Read")
    check_put_back(PLAN, after, expected, ("dropped", "Send the letter"))


def test_finished_parts_of_a_dropped_task_stay_away() -> None:
    after = PLAN.replace("- [ ] Print everything\n  - [ ] On paper\n  - [x] On screen\n", "")
    expected = PLAN.replace("  - [x] On screen\n", "")
    check_put_back(PLAN, after, expected, ("dropped", "Print everything"), ("dropped", "On paper"))


def test_a_part_whose_task_was_finished_comes_back_at_the_depth_that_is_left() -> None:
    before = "- [ ] A1\n- [x] B1\n  - [ ] Left over\n"
    guarded = guard(before, "- [ ] A1\n")
    assert told(guarded) == [("dropped", "Left over")]
    assert (
        parse_markdown(guarded.text).plan.find(parse_markdown("- [ ] Left over").plan.tasks[0].id)
        is not None
    )


def test_a_part_is_restored_into_its_task_wherever_that_is_now() -> None:
    before = "- [ ] Alpha\n  - [ ] Part\n- [ ] Beta\n"
    after = "- [ ] Beta\n  - [ ] Alpha\n"
    expected = "- [ ] Beta\n  - [ ] Alpha\n    - [ ] Part\n"
    check_put_back(before, after, expected, ("dropped", "Part"))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(
            "# Plan\n\n## Low\n- [ ] Z\n",
            "# Plan\n\n## Low\n- [ ] Z\n\n## High\n\n- [ ] A1\n",
            id="heading-gone-too",
        ),
        pytest.param(
            "# Plan\n\n## High\n",
            "# Plan\n\n## High\n\n- [ ] A1\n\n## Low\n\n- [ ] Z",
            id="nothing-else-there",
        ),
        pytest.param(
            "## High\n\nWords.\n\n## Low\n- [ ] Z",
            "## High\n\n- [ ] A1\n\nWords.\n\n## Low\n- [ ] Z",
            id="words-below-the-heading",
        ),
        pytest.param(
            "## High\nWords.\n## Low\n- [ ] Z",
            "## High\n- [ ] A1\n\nWords.\n## Low\n- [ ] Z",
            id="words-right-below",
        ),
        pytest.param(
            "## High\n- words\n## Low\n- [ ] Z",
            "## High\n- [ ] A1\n- words\n## Low\n- [ ] Z",
            id="a-list-right-below",
        ),
        pytest.param(
            "## Low\n- [ ] Z\n\n## High",
            "## Low\n- [ ] Z\n\n## High\n- [ ] A1",
            id="heading-last",
        ),
    ],
)
def test_without_a_neighbour_the_heading_says_where(after: str, expected: str) -> None:
    guarded = guard("# Plan\n\n## High\n- [ ] A1\n\n## Low\n- [ ] Z\n", after)
    assert guarded.text == expected


@pytest.mark.parametrize("after", ["", "\n\n", "\ufeff"])
def test_an_empty_plan_is_restored_whole(after: str) -> None:
    guarded = guard(PLAN, after)
    if not after.strip():
        assert guarded.text == PLAN
    assert len(guarded.violations) == 6
    assert guard(PLAN, guarded.text) == PlanGuardResult(text=guarded.text)


@pytest.mark.parametrize("after", ["All done!\n", "# Tasks: Pay\n\nAll done!\n", "```\n\u2028\n"])
def test_a_plan_that_something_else_was_written_over_is_restored_whole(after: str) -> None:
    words = "".join(f"Words {nth}.\n\n" for nth in range(9))
    before = f"# Tasks: Pay\n\n{words}## Phase 1\n\n- [x] T001 A\n- [ ] T002 B\n\n**Checkpoint**\n"
    guarded = guard(before, after)
    assert guarded.text == before
    assert told(guarded) == [("dropped", "B")]


def test_the_plan_s_own_line_endings_are_kept() -> None:
    before = "- [ ] Alpha\n- [ ] Beta\n  - note\n- [ ] Gamma"
    after = "\ufeff- [ ] Alpha\r\n- [ ] Gamma"
    expected = "\ufeff- [ ] Alpha\r\n- [ ] Beta\r\n  - note\r\n- [ ] Gamma"
    check_put_back(before, after, expected, ("dropped", "Beta"))
    check_put_back(
        "\ufeff- [ ] Alpha\n- [ ] Beta\n", "\ufeff- [ ] Beta\n", "\ufeff- [ ] Alpha\n- [ ] Beta\n",
        ("dropped", "Alpha"),
    )  # fmt: skip


def test_a_task_that_was_hidden_comes_back_beside_it() -> None:
    after = PLAN.replace("- [ ] Send the letter", "<!-- - [ ] Send the letter -->")
    guarded = guard(PLAN, after)
    assert told(guarded) == [("dropped", "Send the letter")]
    assert "<!-- - [ ] Send the letter -->" in guarded.text
    assert guard(PLAN, guarded.text) == PlanGuardResult(text=guarded.text)


def test_where_its_place_does_not_count_it_comes_to_the_top() -> None:
    before = "## Work\n- [ ] Alpha\n1. Plain words\n"
    after = "Words.\n\n```\n- [ ] Alpha\n"
    guarded = guard(before, after)
    assert guarded.text == "- [ ] Alpha\n\n" + after
    bare = guard("Words.\n\n## Tasks\n1. Alpha\n", "Words.\n```\n")
    assert bare.text == "- [ ] Alpha\n\nWords.\n```\n"


def test_where_nothing_else_does_the_plan_is_as_it_was() -> None:
    before = "- [ ] Alpha\n  - Done when: green\n"
    after = "- [ ] Alpha <!--\n- words -->\n"
    guarded = guard(before, after)
    assert guard(before, guarded.text) == PlanGuardResult(text=guarded.text)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("- [ ] A-1: a\n", "- [-] A-1: a\n", "- [ ] A-1: a\n"),
        ("- [!] A-1: a\n", "x\n\n- [-] A-1: a b\n", "x\n\n- [!] A-1: a b\n"),
        ("# Tasks\n1. A-1: a\n", "# Tasks\n1. [-] A-1: a\n", "# Tasks\n1. [ ] A-1: a\n"),
    ],
)
def test_only_the_user_skips_a_task(before: str, after: str, expected: str) -> None:
    check_put_back(before, after, expected, ("skipped", "a"))
    assert guard(before, after).violations[0].text == after.strip().split("\n")[-1]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("- totals agree", "- totals nearly agree", None, id="reworded"),
        pytest.param("- totals agree", "- [x] totals do agree", "- [x] totals agree", id="ticked"),
        pytest.param("    - totals agree\n", "", None, id="first-gone"),
        pytest.param("    - no rounding error is left\n", "", None, id="last-gone"),
        pytest.param("    - totals agree\n    - no rounding error is left\n", "", None, id="all"),
        pytest.param(
            "  - Acceptance criteria:\n    - totals agree\n    - no rounding error is left\n",
            "", None, id="with-their-label",
        ),
        pytest.param(
            "  - a note\n  - Acceptance criteria:\n    - totals agree\n"
            "    - no rounding error is left\n",
            "", PLAN[PLAN.index("  - Acc") : PLAN.index("- [ ] Send")], id="with-the-notes",
        ),
    ],
)  # fmt: skip
def test_criteria_come_back(old: str, new: str, expected: str | None) -> None:
    after = PLAN.replace(old, new)
    wanted = PLAN.replace(old, old if expected is None else expected)
    check_put_back(PLAN, after, wanted, ("criteria", "Parse the invoice"))
    (violation,) = guard(PLAN, after).violations
    assert violation.text.startswith("- [ ] Parse the invoice")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("- [ ] A-1: a\n  Done when: green\n", "- [ ] A-1: a\n  Done when: greenish green\n",
         "- [ ] A-1: a\n  Done when: green\n"),
        ("- [ ] A-1: a\n  - Done when: green\n", "- [ ] A-1: a\n  Done when: green or red\n",
         "- [ ] A-1: a\n  - Done when: green\n"),
        ("- [ ] A-1: a\n  - Done when: green\n", "- [ ] A-1: a\n  - Done when: tea\n",
         "- [ ] A-1: a\n  - Done when: green\n  - Done when: tea\n"),
    ],
)  # fmt: skip
def test_criteria_behind_a_label_come_back(before: str, after: str, expected: str) -> None:
    check_put_back(before, after, expected, ("criteria", "a"))


def test_criteria_that_cannot_come_back_in_their_form_get_a_label() -> None:
    before = "- [ ] A-1: a\n  - Done when: green\n"
    after = "- [ ] A-1: a\n  - Acceptance criteria:\n    - x\n      - Done when: red\n"
    guarded = guard(before, after)
    assert "green" in parse_markdown(guarded.text).plan.tasks[0].criteria
    assert guard(before, guarded.text) == PlanGuardResult(text=guarded.text)


def test_many_tasks_are_guarded_at_once() -> None:
    before = "".join(f"- [ ] Task number {number}\n" for number in range(1000))
    after = "".join(f"- [ ] Task number {number}\n" for number in range(0, 1000, 2))
    guarded = guard(before, after)
    assert guarded.text == before
    assert len(guarded.violations) == 500


def _titles(plan: Plan) -> Counter[str]:
    """How often each title is there: two tasks may have the same one."""
    return Counter(task.title for task in plan.tasks)


@given(plan_texts, st.data())
def test_allowed_changes_alone_change_nothing(text: str, data: st.DataObject) -> None:
    after = text
    for _ in range(data.draw(st.integers(1, 4))):
        tasks = parse_markdown(after).plan.tasks
        if not tasks:
            break
        task = data.draw(st.sampled_from(tasks))
        edit = data.draw(st.sampled_from(["tick", "block", "add"]))
        if edit == "tick":
            after = tick_task(after, task.id)
        elif edit == "block":
            after = block_task(after, task.id, "no key")
        else:
            new = f"- [ ] Something quite new {data.draw(st.integers(0, 9))}\n\n"
            # A byte order mark is one only where the file begins.
            after = f"\ufeff{new}{after[1:]}" if after.startswith("\ufeff") else f"{new}{after}"
    before, now = parse_markdown(text).plan, parse_markdown(after).plan
    # Where an edit makes other items be read as something else, that is for the edit's own tests.
    criteria = {text for task in now.tasks for text in task.criteria}
    if not _titles(before) <= _titles(now) or not all(
        set(task.criteria) <= criteria for task in before.tasks
    ):
        return
    guarded = guard(text, after)
    if not guarded.violations:
        # Boxes that would hide the other tasks of a plan without any are no violation.
        assert guarded.text == after or guarded.lost_boxes
    assert all(one.what is not Forbidden.DROPPED for one in guarded.violations)


@given(any_texts, any_texts)
def test_nothing_forbidden_is_left_whatever_the_texts(before: str, after: str) -> None:
    guarded = guard(before, after)
    assert guard(before, guarded.text) == PlanGuardResult(text=guarded.text)
    if not guarded.violations:
        # Boxes that would hide the other tasks of a plan without any are no violation.
        assert guarded.text == after or guarded.lost_boxes
    else:
        assert guarded.text != after


_WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]


@given(
    st.lists(st.sampled_from(_WORDS), min_size=2, max_size=8, unique=True),
    st.data(),
)
def test_every_byte_of_what_is_allowed_is_kept(words: list[str], data: st.DataObject) -> None:
    """A plan of plain tasks, of which some are ticked, some noted, some new, and some dropped."""
    before = "# Plan\n" + "".join(f"- [ ] {word}\n" for word in words)
    dropped = data.draw(st.sets(st.sampled_from(words), min_size=1, max_size=len(words) - 1))
    lines = ["# Plan", "", "Words."]
    for word in words:
        mark = data.draw(st.sampled_from(" x~"))
        note = data.draw(st.sampled_from([[], ["  - noted"]]))
        lines += [] if word in dropped else [f"- [{mark}] {word}", *note]
    after = "\r\n".join([*lines, ""])
    guarded = guard(before, after)
    assert {one.task.title for one in guarded.violations} == dropped
    put_back = {f"- [ ] {word}" for word in dropped}
    kept = [line for line in guarded.text.split("\r\n") if line not in put_back]
    assert kept == [*lines, ""]
    assert [task.title for task in parse_markdown(guarded.text).plan.tasks] == words


def test_a_criterion_whose_place_does_not_count_gets_a_separate_label() -> None:
    before = "- [ ] A-1: a\n  - note\n  - Done when: green\n- [ ] B-1: b\n"
    after = "- [ ] A-1: a\n  ```\n  - note\n  ```\n- [ ] B-1: b\n"
    expected = after.replace("- [ ] B-1", "  - Acceptance criteria:\n    - green\n- [ ] B-1")
    assert guard(before, after).text == expected


def test_a_plan_that_cannot_be_repaired_is_restored_as_a_whole() -> None:
    before = "- [ ] A-1: a\n  - note\n  - Done when: green\n"
    check_put_back(before, "- [ ] A-1: a\n  ```\n  - note\n", before, ("criteria", "a"))


def test_a_heading_that_was_reworded_is_still_the_place() -> None:
    before = "## High\n- [ ] Alpha\n- [ ] Beta\n"
    check_put_back(
        before, "## Now\n- [ ] Alpha\n", "## Now\n- [ ] Alpha\n- [ ] Beta\n", ("dropped", "Beta")
    )


def test_a_task_without_marks_gets_its_whole_line_back() -> None:
    """Where a table or a heading is read as a task there is no box to repair."""
    row, skipped = "| Alpha | open |", "  | Alpha | skipped |"
    (task,) = parse_markdown("- [ ] Alpha").plan.tasks
    sides = [PlanSide.of(Plan(tasks=(task,)), text) for text in (row, skipped)]
    edits = restore_state(sides[0], task, sides[1], task)
    assert sides[1].edited(edits) == "  | Alpha | open |"
    assert restore_tasks_at_top(sides[0], sides[1], [task])[0].text == "- [ ] Alpha\n\n"


def test_a_criterion_behind_an_empty_line_comes_back() -> None:
    before = "- [ ] A-1: a\n  - note\n\n  - Done when: green\n"
    expected = "- [ ] A-1: a\n  - note\n  - Done when: green\n"
    check_put_back(before, "- [ ] A-1: a\n  - note\n", expected, ("criteria", "a"))


def test_a_removed_place_cannot_be_restored() -> None:
    plan = parse_markdown("- [ ] Alpha\n  - Done when: green\n").plan
    side = PlanSide.of(plan, "- [ ] Alpha\n  - Done when: green\n")
    assert restore_criteria(side, plan.tasks[0], side, plan.tasks[0], ["blue"]) == []


def test_what_shares_neither_words_nor_letters_is_no_rewording() -> None:
    before, after = "- [ ] Invoice\n- [ ] Letter\n", "- [ ] Quick\n"
    check_put_back(
        before,
        after,
        "- [ ] Quick\n\n- [ ] Invoice\n- [ ] Letter\n",
        ("dropped", "Invoice"),
        ("dropped", "Letter"),
    )


@pytest.mark.parametrize(
    ("told", "dropped"),
    [
        ("- [x] Write the letter to the bank", False),
        ("- Letter to the bank: written, abc1234", False),
        ("- [x] Something of a letter", True),
        ("", True),
    ],
)
def test_a_task_that_is_logged_as_finished_in_other_words_is_no_drop(
    told: str, dropped: bool
) -> None:
    before = "- [ ] A\n- [ ] Write the letter to the bank (specs/letter.md)\n"
    assert bool(guard(before, "- [ ] A\n", finished=told).violations) is dropped


def test_changes_of_the_user_stay_and_the_rest_is_restored() -> None:
    before = "- [ ] A-1: a\n- [ ] A-2: b\n- [ ] A-3: c\n  - Done when: green\n"
    after = "- [ ] A-3: c\n"
    decided = frozenset({("dropped", "A-1"), ("criteria", "A-3")})
    guarded = guard(before, after, powers=PlanPowers(decided=decided))
    assert guarded.text == "- [ ] A-2: b\n- [ ] A-3: c\n"
    assert told(guarded) == [("dropped", "b")]


def test_a_word_that_all_new_tasks_share_identifies_none() -> None:
    before = "- [ ] Invoice\n- [ ] X\n- [ ] Y\n"
    after = "- [ ] X\n" + "".join(f"- [x] Invoice {n} {n} part\n" for n in range(40))
    assert told(guard(before, after + "- [ ] Y\n")) == [("dropped", "Invoice")]


@pytest.mark.parametrize(
    "before",
    [
        "# P\n\n## High\n\n1. [BLOCKED] A\n   - Blocked by: x\n   - Needs: y\n2. B\n",
        "# P\n\n- [ ] B\n- [ ] [BLOCKED] A\n  - Blocked by: x\n  - Needs: y\n- [ ] C\n",
        "# P\n- [ ] B\n- [ ] [BLOCKED] A\n  - Blocked by: x\n",
    ],
)
def test_what_a_dropped_task_left_is_not_doubled(before: str) -> None:
    after = "".join(line for line in before.splitlines(True) if "BLOCKED" not in line)
    assert guard(before, after).text == before
    part = "".join(line for line in after.splitlines(True) if "Blocked by" not in line)
    assert guard(before, part).text == before


def test_notes_that_another_task_has_too_are_not_taken_for_what_was_left() -> None:
    before = "- [ ] B\n  - Needs: y\n- [ ] A\n  - Needs: y\n- [ ] C\n"
    after = "- [ ] B\n  - Needs: y\n- [ ] C\n"
    assert guard(before, after).text == before


def test_only_the_iterations_own_task_may_be_logged_in_other_words() -> None:
    before = "- [ ] A-1: Fix the bug\n- [ ] A-2: Write docs\n- [ ] A-3: Ship\n"
    plans = parse_markdown(before).plan, parse_markdown("- [ ] A-3: Ship\n").plan
    entry = "- [x] Refactored everything to use JWT"
    done = guard_plan(
        plans[0],
        before,
        plans[1],
        "- [ ] A-3: Ship\n",
        powers=PlanPowers(),
        finished=entry,
        own="A-1",
    )
    assert done.reworded_entry == "Refactored everything to use JWT"
    assert done.text == "- [ ] A-2: Write docs\n- [ ] A-3: Ship\n"
    assert told(done) == [("dropped", "Write docs")]
    alone = "- [ ] A-2: Write docs\n- [ ] A-3: Ship\n"
    done = guard_plan(
        plans[0],
        before,
        parse_markdown(alone).plan,
        alone,
        powers=PlanPowers(),
        finished=entry,
        own="A-1",
    )
    assert (done.text, done.violations) == (alone, ())
    assert done.reworded_entry == "Refactored everything to use JWT"


LINES = "# TODO\n\n## Next\n- Parse\n- Lex\n- Print\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "expected"),
    [
        pytest.param(LINES, "- Parse\n", "- [x] Parse\n", "- [DONE] Parse\n", id="a-line"),
        pytest.param(
            LINES, "- Parse\n", "- [X] Parse (in a1b2c3)\n", "- [DONE] Parse (in a1b2c3)\n",
            id="with-a-remark",
        ),
        pytest.param(LINES, "- Parse\n", "- [ ] Parse\n", "- Parse\n", id="an-open-box"),
    ],
)  # fmt: skip
def test_boxes_in_a_plan_without_any_are_written_as_tags(
    before: str, old: str, new: str, expected: str
) -> None:
    guarded = guard(before, before.replace(old, new))
    assert guarded.text == before.replace(old, expected)
    assert told(guarded) == []
    assert guarded.lost_boxes
    titles = [task.title for task in parse_markdown(guarded.text).plan.tasks]
    assert len(titles) == len(parse_markdown(before).plan.tasks)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            LINES,
            LINES.replace("- ", "- [ ] ").replace("[ ] Parse", "[x] Parse"),
            id="boxes-for-all",
        ),
        pytest.param(LINES, LINES.replace("- Parse", "- [DONE] Parse"), id="a-tag"),
        pytest.param(LINES, LINES.replace("- Parse", "- ✅ Parse"), id="a-sign"),
        pytest.param(PLAN, PLAN.replace("- [ ] Send", "- [x] Send"), id="a-plan-with-boxes"),
    ],
)  # fmt: skip
def test_other_forms_of_a_tick_stay(before: str, after: str) -> None:
    guarded = guard(before, after)
    assert (guarded.text, guarded.lost_boxes, told(guarded)) == (after, False, [])


def test_a_new_task_above_a_list_without_boxes_gets_none() -> None:
    guarded = guard("- Bind\n", "- [ ] Cut\n- Bind\n")
    assert (guarded.text, guarded.lost_boxes, told(guarded)) == ("- Cut\n- Bind\n", True, [])


def test_a_new_task_with_a_box_hides_no_task_of_a_plan_without_any() -> None:
    new = "- [ ] Bind\n- [x] Cut\n"
    guarded = guard(LINES, LINES.replace("- Lex", "- [x] Lex") + new)
    assert guarded.text == LINES.replace("- Lex", "- [DONE] Lex") + "- Bind\n- [DONE] Cut\n"
    assert (guarded.lost_boxes, told(guarded)) == (True, [])


def test_boxes_that_were_there_before_stay_where_they_are() -> None:
    before = LINES + "\n## Notes\n- [ ] an example\n"
    guarded = guard(before, before.replace("- Lex", "- [x] Lex"))
    assert guarded.text == before.replace("- Lex", "- [DONE] Lex")


def test_a_line_too_long_to_be_one_keeps_its_box() -> None:
    guarded = guard(LINES, LINES + f"- [ ] {'x' * 2000}\n")
    assert {"Parse", "Lex", "Print"} <= {
        task.title for task in parse_markdown(guarded.text).plan.tasks
    }


def test_a_box_at_a_step_beside_criteria_with_boxes_hides_no_other_step() -> None:
    steps = "## Phase 1\n1. Parse\n2. Lex\n\n## Phase 2\n1. Print\n\n"
    before = steps + "## Success criteria\n- [ ] Fast\n"
    guarded = guard(before, before.replace("1. Parse", "1. [x] Parse") + "- [ ] Small\n")
    assert guarded.text == before.replace("1. Parse", "1. [DONE] Parse") + "- [ ] Small\n"
    assert (guarded.lost_boxes, told(guarded)) == (True, [])


def test_the_tick_of_the_last_criterion_hides_no_step_that_is_done() -> None:
    before = "## Phase 1\n1. Parse [DONE]\n2. Lex [DONE]\n\n## Success criteria\n- [ ] Fast\n"
    after = before.replace("[ ]", "[x]")
    guarded = guard(before, after)
    assert (guarded.text, told(guarded)) == (after, [])
    assert len(parse_markdown(after).plan.tasks) == 3


@pytest.mark.parametrize(
    ("text", "is_without"),
    [(LINES, True), (PLAN, False), ("# Nothing\n", False), ("## A ✅\n## B 🚧\n", True)],
)
def test_a_plan_without_boxes_is_known(text: str, is_without: bool) -> None:
    assert is_without_boxes(parse_markdown(text).plan, text) is is_without
