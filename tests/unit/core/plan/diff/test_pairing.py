"""Which task is which in two versions of a plan, where one of them left for PROGRESS.md."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.diff.pairing import logged_as_finished, pair_tasks
from ralph_ls.core.plan.parse.markdown import parse_markdown

PLAN = "- [ ] A\n- [ ] Write the letter to the bank (specs/letter.md)\n- [x] Read the law\n"
LEFT = "- [ ] A\n"


@pytest.mark.parametrize(
    ("after", "told", "finished"),
    [
        pytest.param(LEFT, "- [x] Write the letter to the bank", ["letter"], id="its words"),
        pytest.param(LEFT, "- Letter to the bank: written, abc1234", ["letter"], id="others"),
        pytest.param(LEFT, "- [x] Something of a letter", [], id="too little of it"),
        pytest.param(LEFT, "- [x] Read the law", [], id="was finished before"),
        pytest.param(LEFT, " \n", [], id="nothing is told"),
        pytest.param(PLAN, "- [x] Write the letter to the bank", [], id="still there"),
        pytest.param("", "- A\n- Write the letter to the bank", ["A", "letter"], id="all"),
    ],
)
def test_a_task_that_left_the_plan_and_is_logged_was_finished(
    after: str, told: str, finished: list[str]
) -> None:
    before = parse_markdown(PLAN).plan
    ids = logged_as_finished(before, parse_markdown(after).plan, told)
    titles = {task.id: task.title for task in before.tasks}
    assert len(ids) == len(finished)
    assert all(word in titles[one] for one, word in zip(ids, finished, strict=True))


AUTH = "- [ ] Fix authentication bug in the login form\n- [ ] Write docs\n- [ ] Ship it\n"
JWT = "## 2026-11-20\n\n- [x] Refactored authentication module to use JWT\n  Commit: a1b2c3d"


@pytest.mark.parametrize(
    ("after", "told", "own", "finished"),
    [
        pytest.param("- [ ] Ship it\n- [ ] Write docs\n", JWT, 0, [0], id="other text"),
        pytest.param("- [ ] Ship it\n- [ ] Write docs\n", JWT, None, [], id="no evidence"),
        pytest.param("- [ ] Ship it\n- [ ] Write docs\n", JWT, 1, [], id="another one's"),
        pytest.param("- [ ] Ship it\n", JWT, 0, [0], id="it takes one entry, for itself alone"),
        pytest.param("- [ ] Ship it\n", "- [x] Write docs", 0, [1], id="not another one's entry"),
        pytest.param("- [ ] Ship it\n- [ ] Write docs\n", "", 0, [], id="nothing is new"),
        pytest.param(
            "- [ ] Ship it\n- [ ] Write docs\n", "Commit: a\n- Commit: b\n  - c", 0, [], id="fields"
        ),
        pytest.param(
            "- [ ] Ship it\n- [ ] Write docs\n\n## Completed\n\n- [x] Moved to JWT\n",
            "",
            0,
            [0],
            id="a completed section",
        ),
        pytest.param(
            "- [ ] Ship it\n- [ ] Write docs\n- [ ] Move to JWT\n", "", 0, [], id="not finished"
        ),
    ],
)
def test_the_task_of_the_iteration_may_be_logged_in_other_words(
    after: str, told: str, own: int | None, finished: list[int]
) -> None:
    before = parse_markdown(AUTH).plan
    ids = [task.id for task in before.tasks]
    mine = None if own is None else ids[own]
    found = logged_as_finished(before, parse_markdown(after).plan, told, own=mine)
    assert [ids.index(one) for one in found] == finished


ALIKE = "- [ ] A-1: Write tests for the parser\n- [ ] A-2: Fix tests for the parser\n- [ ] A-3: B\n"
PARSER = "A-1: Write tests for the parser"


@pytest.mark.parametrize(
    ("after", "told", "own", "finished"),
    [
        pytest.param("A-3: B", "- [x] Tests for the parser", None, [0], id="one line, one task"),
        pytest.param("A-3: B", "- [x] Tests for the parser", 1, [1], id="the iteration's first"),
        pytest.param("A-3: B", "- Parser tests\n- Tests of a parser", None, [0, 1], id="two lines"),
        pytest.param("A-3: B", "- Fixed: fix tests for the parser", None, [1], id="verbatim"),
        pytest.param("A-3: B", "- [x] A-2 is green, the parser has tests", 0, [1], id="its id"),
        pytest.param("A-3: B", "- [x] A-2.\n- [x] A-1.", None, [0, 1], id="ids alone"),
        pytest.param("A-3: B", "- [x] A-22\n- xA-1", None, [], id="another id"),
        pytest.param(PARSER, "- Subject", None, [], id="no word of it"),
        pytest.param(PARSER, "- b\n- b", None, [2], id="each title once"),
        pytest.param(PARSER, "- b\n" * 40, None, [2], id="in many lines"),
        pytest.param(
            "A-3: B", "- [x] Tests for the parser\n- Used JWT", 1, [1], id="no second one"
        ),
    ],
)
def test_a_line_is_one_tasks(after: str, told: str, own: int | None, finished: list[int]) -> None:
    before = parse_markdown(ALIKE).plan
    ids = [task.id for task in before.tasks]
    mine = None if own is None else ids[own]
    found = logged_as_finished(before, parse_markdown(f"- [ ] {after}\n").plan, told, own=mine)
    assert [ids.index(one) for one in found] == finished


@pytest.mark.parametrize(
    ("told", "finished"), [("- Parser: tests\n", 0), ("- Parser tests\n" * 2, 1)]
)
def test_the_line_of_a_ticked_task_is_no_proof_of_another(told: str, finished: int) -> None:
    before = parse_markdown(
        "- [ ] Write tests for the parser\n- [ ] Tests for a parser (again)\n"
    ).plan
    after = parse_markdown("- [x] Write tests for the parser\n").plan
    assert len(logged_as_finished(before, after, told)) == finished


@pytest.mark.parametrize(
    ("entries", "resolved"),
    [
        ("- [x] Letter bank and parser speed\n", 1),
        ("- [x] Letter bank and parser speed\n- [x] Parser speed, letter bank\n", 2),
        ("- [ ] Letter bank and parser speed\n", 2),
    ],
)
def test_an_entry_of_a_completed_section_is_one_tasks(entries: str, resolved: int) -> None:
    before = parse_markdown("## Now\n\n- [ ] Letter bank\n- [ ] Parser speed\n- [ ] Ship\n").plan
    after = parse_markdown(f"## Now\n\n- [ ] Ship\n\n## Completed\n\n{entries}").plan
    found = pair_tasks(before, after)
    assert len(found.resolved | (found.kept.keys() & {0, 1})) == resolved


def test_parts_together_have_the_words_of_their_task() -> None:
    before = parse_markdown("- [ ] Alpha beta gamma delta epsilon zeta\n").plan
    after = parse_markdown(
        "- [ ] Alpha one two\n- [x] Beta three five\n- [ ] Gamma six seven\n"
    ).plan
    assert pair_tasks(before, after).resolved == {0}
