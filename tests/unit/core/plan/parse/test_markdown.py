from __future__ import annotations

import pytest

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.task_words import Priority, TaskState
from tests.unit.core.plan.plan_assertions import PLANS, only_task, plan_of, problems_of, shown


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("- [ ] a", "todo a", id="open"),
        pytest.param("- [x] a", "done a", id="done"),
        pytest.param("* [X] a", "done a", id="star-capital"),
        pytest.param("+ [-] a", "skipped a", id="plus-skipped"),
        pytest.param("- [~] a", "inProgress a", id="in-progress"),
        pytest.param("- [!] a", "blocked a", id="blocked"),
        pytest.param("1. [ ] a", "todo a", id="number-dot"),
        pytest.param("12) [x] a", "done a", id="number-bracket"),
        pytest.param("1. a", "todo a", id="number-without-any-box"),
        pytest.param("- [] a", "todo a", id="empty-box"),
        pytest.param("- [  ] a", "todo a", id="wide-box"),
        pytest.param("- [x ] a", "done a", id="box-with-a-space"),
        pytest.param("- [\u00a0] a", "todo a", id="box-with-a-hard-space"),
        pytest.param("- [ ]a", "todo a", id="no-space-after-an-open-box"),
        pytest.param("- [x]a", "done a", id="no-space-after-a-done-box"),
        pytest.param("-\t[ ]\ta", "todo a", id="tabs"),
        pytest.param("-   [ ]   a  b  ", "todo a b", id="spaces"),
        pytest.param("\ufeff- [ ] a", "todo a", id="bom"),
        pytest.param("- [ ]\u3000日本語の課題", "todo 日本語の課題", id="cjk-space"),
        pytest.param("- [ ] ~~a~~", "done a", id="struck-through"),
        pytest.param("1. ~~a~~ (in abc1234)", "done a", id="struck-through-with-a-remark"),
        pytest.param("1. ~~a~~ - done", "done a", id="struck-through-and-said"),
        pytest.param("- [ ] ~~a~~ b", "todo ~~a~~ b", id="corrected-is-not-done"),
        pytest.param("- [-] ~~a~~", "skipped a", id="skipped-and-struck"),
        pytest.param("- [ ] [BLOCKED] a", "blocked a", id="tag-before"),
        pytest.param("- [ ] a [BLOCKED]", "blocked a", id="tag-behind"),
        pytest.param("- [~] [BLOCKED] a", "blocked a", id="tag-over-box"),
        pytest.param("- [x] [BLOCKED] a", "done a", id="done-over-tag"),
        pytest.param("- [ ] [WIP] a", "inProgress a", id="work-in-progress-tag"),
        pytest.param("1. [DONE] a", "done a", id="done-tag-without-box"),
        pytest.param("- [ ] [DONE] a", "todo a", id="box-over-done-tag"),
        pytest.param("- [ ] **Bold**: a", "todo Bold: a", id="bold"),
        pytest.param("- [ ] [FEATURE] a", "todo [FEATURE] a", id="unknown-tag-stays"),
        pytest.param("- 1. [ ] a", "todo a", id="item-inside-an-item"),
        pytest.param("- [&] a", "todo a", id="unknown-box"),
    ],
)
def test_one_item_is_read(line: str, expected: str) -> None:
    assert shown(line) == [expected]


@pytest.mark.parametrize(
    "line",
    [
        "- [2026-01-29] a",
        "- [NOTE] a",
        "- [v1.0] a",
        "- [#123] a",
        "- [link](https://example.com/)",
        "- [x](https://example.com/)",
        "- [ ](https://example.com/)",
        "- [x]: https://example.com/",
        "- [1] a",
        "- [A] a",
        "- [^1] a",
        "- []a",
        "- [&]a",
        "- \\[ ] a",
        "-[ ] a",
        "  [ ] a",
        "[x](a) b",
        "[ ]",
        "[1] a",
        "- a [ ] b",
        "1. [2026-01-29] a",
        "1. [v1.0] a",
        "1. [#123] a",
        "1. [link](https://example.com/)",
        "1. [Note] a",
        "1. (none yet)",
        "1.a",
        "1234567890. a",
        "> - [ ] a",
        "    - [ ] a",
        "- - -",
        "* * *",
        "<!-- - [ ] a -->",
        "- <!-- [ ] a -->",
        "",
        "\ufeff",
        "\0",
    ],
)
def test_other_lines_are_no_tasks(line: str) -> None:
    text = f"# Plan\n\nProse.\n\n{line}"
    assert shown(text) == []
    assert problems_of(text) == [("no-tasks", 1)]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        pytest.param("## Remaining Tasks", ["1", "2"], id="tasks"),
        pytest.param("## High Priority (P0)", ["1", "2"], id="priority"),
        pytest.param("## Elsewhere", [], id="plain"),
        pytest.param("## Guidelines", [], id="guidelines"),
        pytest.param("## Notes", [], id="notes"),
        pytest.param("## Completed", ["1", "2", "bullet"], id="completed"),
        pytest.param("## Issues Discovered", [], id="issues"),
    ],
)
def test_items_without_a_box_count_by_their_heading(heading: str, expected: list[str]) -> None:
    plan = plan_of("- [ ] boxed", heading, "1. 1", "2. 2", "", "- bullet")
    assert [task.title for task in plan.tasks[1:]] == expected


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        pytest.param("# Title", ["1"], id="title"),
        pytest.param("## Phase 2", ["1"], id="phase"),
        pytest.param("## Elsewhere", [], id="plain"),
        pytest.param("## Tasks", ["1", "bullet"], id="tasks"),
        pytest.param("## Guidelines", [], id="guidelines"),
        pytest.param("## Notes", [], id="notes"),
    ],
)
def test_in_a_plan_without_any_box_more_of_them_count(heading: str, expected: list[str]) -> None:
    plan = plan_of(heading, "1. 1", "   1. nested", "", "- bullet", "  - nested")
    assert [task.title for task in plan.tasks] == expected


def test_numbered_items_count_as_their_numbered_neighbours_with_a_box() -> None:
    assert shown("## Phase", "1. [x] a", "2. b", "## Other", "1. c") == ["done a", "todo b"]


def test_boxes_that_are_no_tasks_do_not_make_the_plan_one_with_boxes() -> None:
    lines = ("1. a", "   - Criteria:", "     - [ ] c", "## Notes", "- [ ] n")
    assert shown(*lines) == ["todo a"]


def test_notes_below_a_task_are_no_tasks() -> None:
    lines = ("## Tasks", "1. a", "   1. step", "- [ ] b", "  1. step", "  - note")
    assert shown(*lines) == ["todo a", "todo b"]


def test_boxes_still_count_below_completed() -> None:
    lines = ("## Completed", "- [ ] a", "- [x] b", "- c", "- (none yet)", "- [2026-01-29] d")
    assert shown(*lines) == ["todo a", "done b", "done c"]


def test_boxes_count_below_guidelines_but_never_below_notes() -> None:
    lines = ("## Guidelines", "- [ ] a", "## Notes", "- [ ] b", "### Tasks", "- [ ] c")
    assert shown(*lines) == ["todo a"]


def test_bugs_are_tasks_below_issues_discovered_only() -> None:
    lines = (
        "## Issues Discovered",
        "- [BUG] a",
        "- note",
        "- [x] [BUG] b",
        "## Other",
        "- [BUG] c",
    )
    assert shown(*lines) == ["todo a", "done b"]


@pytest.mark.parametrize(
    ("severity", "priority"),
    [
        ("High", Priority.P0),
        ("**Critical**", Priority.P0),
        ("medium.", Priority.P1),
        ("Low (cosmetic)", Priority.P2),
        ("odd", None),
    ],
)
def test_severity_is_the_priority_of_a_bug(severity: str, priority: Priority | None) -> None:
    lines = ("## Issues Discovered", "- [BUG] a", f"  - Severity: {severity}")
    assert only_task(*lines).priority is priority


def test_a_separate_task_may_be_worded_as_a_field() -> None:
    plan = plan_of("- [ ] a", "  - [ ] Blocked by: b", "- [ ] Blocked by: c")
    assert [(task.title, task.blocked_by) for task in plan.tasks] == [
        ("a", None),
        ("Blocked by: b", None),
        ("Blocked by: c", None),
    ]


def test_severity_is_nothing_to_other_tasks() -> None:
    assert only_task("- [ ] a", "  - Severity: High").priority is None


def test_a_tag_goes_before_severity_and_heading() -> None:
    lines = ("## Issues Discovered (P2)", "- [BUG] [P1] a", "  - Severity: High")
    assert only_task(*lines).priority is Priority.P1


def test_headings_give_section_priority_and_option_to_their_sub_headings() -> None:
    plan = plan_of(
        "# Plan",
        "- [ ] a",
        "## **High** Priority (P0) ##",
        "- [ ] b",
        "### Sub",
        "- [ ] c",
        "## Future Work",
        "### Low",
        "- [ ] d",
        "## Plain",
        "- [ ] e",
        optional_sections=("Optional", "Future"),
    )
    assert [(task.section, task.priority, task.optional) for task in plan.tasks] == [
        ("Plan", None, False),
        ("High Priority (P0)", Priority.P0, False),
        ("Sub", Priority.P0, False),
        ("Low", Priority.P2, True),
        ("Plain", None, False),
    ]


def test_nested_boxes_are_tasks_with_depth_and_parent() -> None:
    plan = plan_of("- [x] a", "  - note", "    - [ ] b", "      - [ ] c", "- [ ] d")
    a, b, c, d = plan.tasks
    assert [task.depth for task in plan.tasks] == [0, 1, 2, 0]
    assert (a.parent, b.parent, c.parent, d.parent) == (None, a.id, b.id, None)
    assert (a.state, b.state) == (TaskState.DONE, TaskState.TODO)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("- Criteria:", "  - [ ] c1", "  - c2"), id="nested-in-a-label"),
        pytest.param(("- **Acceptance Criteria:**", "- c1", "- [x] c2"), id="beside-a-label"),
        pytest.param(("Done when:", "- c1", "- c2"), id="below-a-line"),
        pytest.param(("- [ ] Criteria:", "  - c1", "  - c2"), id="label-with-a-box"),
        pytest.param(("- Done when: c1", "- Done when: c2"), id="on-the-line"),
        pytest.param(("Done when: c1", "*Criteria*: c2"), id="lines"),
        pytest.param(("- Criteria: c1", "  - c2"), id="on-the-line-and-nested"),
        pytest.param(
            ("- Criteria:", "  - c1", "    - [ ] how", "      - x", "  - c2"), id="detail"
        ),
        pytest.param(("Criteria:", "- c1", "  goes on", "- c2", "- ", "Other:", "- o"), id="ended"),
        pytest.param(("- Criteria:", "- c1", "- c2", "- Files:", "- o"), id="ended-by-a-label"),
        pytest.param(("Criteria:", "- c1", "- c2", "- Needs: x", "- o"), id="ended-by-a-field"),
    ],
)
def test_criteria_are_what_follows_their_label(lines: tuple[str, ...]) -> None:
    task = only_task("- [ ] a", *(f"  {line}" for line in lines))
    assert task.criteria == ("c1", "c2")


def test_a_label_with_its_own_text_or_items_takes_no_neighbours() -> None:
    assert shown("- [ ] a", "  - Criteria:", "    - c", "  - [ ] b") == ["todo a", "  todo b"]
    assert shown("- [ ] a", "  - Criteria:", "    x", "  - [ ] b") == ["todo a", "  todo b"]


def test_criteria_without_a_task_are_no_tasks_either() -> None:
    assert shown("- Criteria:", "  - [ ] c", "- [ ] a") == ["todo a"]
    assert shown("1. Criteria: clear ones") == ["todo Criteria: clear ones"]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        pytest.param(("- [ ] [BLOCKED] a", "  - Blocked by:  no  key "), "no key", id="item"),
        pytest.param(("- [ ] [BLOCKED] a", "  **Blocked by:** no key"), "no key", id="line"),
        pytest.param(("- [ ] [BLOCKED: no key] a",), "no key", id="tag"),
        pytest.param(("- [ ] a [BLOCKED by no key]",), "no key", id="tag-by"),
        pytest.param(("- [ ] [BLOCKED: old] a", "  - Blocked by: new"), "new", id="line-over-tag"),
        pytest.param(("- [!] a", "  - Needs: a key"), "a key", id="needs"),
        pytest.param(("- [!] a", "  - **Waiting on**: Ada"), "Ada", id="waiting-on"),
        pytest.param(("- [!] a", "  Waiting for: Ada"), "Ada", id="waiting-for"),
        pytest.param(("- [!] a", "  - Blocked by:", "  - Needs:"), None, id="empty"),
        pytest.param(("- [ ] a", "  - Needs: a key"), None, id="needs-of-an-open-task"),
        pytest.param(("- [ ] a", "  - Blocked by: US-1"), "US-1", id="as-written"),
        pytest.param(("1. [BLOCKED] a", "  - Blocked by: two spaces"), "two spaces", id="shallow"),
    ],
)
def test_the_reason_is_read(lines: tuple[str, ...], reason: str | None) -> None:
    assert only_task(*lines).blocked_by == reason


def test_ids_are_explicit_or_of_the_title_and_numbered_when_they_repeat() -> None:
    plan = plan_of("- [ ] **US-1** a", "- [ ] US-1: b", "- [ ] c", "- [x] [P0] **C**", "- [ ]  c")
    assert [task.id for task in plan.tasks] == [
        "US-1",
        "US-1-2",
        "2e7d2c03",
        "2e7d2c03-2",
        "2e7d2c03-3",
    ]


def test_a_number_may_have_a_part() -> None:
    plan = plan_of("- [ ] T052 a", "- [ ] T052.1 [P] b", "- [ ] T052.2: c", "- [x] T007a d")
    assert [task.id for task in plan.tasks] == ["T052", "T052.1", "T052.2", "T007a"]
    assert [task.title for task in plan.tasks] == ["a", "[P] b", "c", "d"]
    for marked in ("- [ ] T052.", "- [ ] `T052`", "- [ ] [T052]", "### T052:"):
        (task,) = plan_of(f"{marked} Write").tasks
        assert (task.id, task.title) == ("T052", "Write"), marked
    assert [task.id for task in plan_of("- [ ] T2-1 [P] a", "- [ ] T2-1 b").tasks] == [
        "T2-1",
        "T2-1-2",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("- [ ] a\n- [&] b\n", [("unknown-box", 2)], id="unknown-box"),
        pytest.param(
            "- [ ] a\n- [ ]\n- [x] \n", [("empty-task", 2), ("empty-task", 3)], id="empty"
        ),
        pytest.param("- [ ] [P0]\n", [("empty-task", 1), ("no-tasks", 1)], id="only-a-tag"),
        pytest.param("- [ ] **A-1** a\n- [ ] A-1: b\n", [("duplicate-id", 2)], id="duplicate-id"),
        pytest.param("- [ ] a\n```\n- [ ] b\n", [("unclosed-fence", 2)], id="unclosed-fence"),
        pytest.param("- [ ] a\n<!--\n- [ ] b\n", [("unclosed-comment", 2)], id="unclosed-comment"),
        pytest.param("```\n# Plan\n", [("unclosed-fence", 1), ("no-tasks", 1)], id="no-tasks"),
        pytest.param("- [ ] a\n- [ ] a\n", [], id="repeated-titles-are-none"),
    ],
)
def test_problems_have_a_code_and_a_line(text: str, expected: list[tuple[str, int]]) -> None:
    assert problems_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("\ufeff  - [&] b\n", ["[&]"], id="box"),
        pytest.param("- [ ] a\r\n\t1. [ ]  \r\n", ["[ ]"], id="empty-task"),
        pytest.param("- [ ] A-1: a\n- [ ] [P0] **A-1** b\n", ["A-1"], id="id"),
        pytest.param("- [ ] a\n  ```sh \n", ["```sh"], id="fence"),
        pytest.param("- [ ] a\n- ~~~\n", ["~~~"], id="fence-in-an-item"),
        pytest.param("- [ ] a\n\n<!-- b\n", ["<!-- b"], id="comment"),
        pytest.param("\ufeff# Plan \nb\n", ["# Plan"], id="no-tasks"),
        pytest.param("", [""], id="empty"),
        pytest.param("\n\n- [ ] a\n- [&] b [&]\n- [ ]\n", ["[&]", "[ ]"], id="several"),
    ],
)
def test_problems_have_their_places(text: str, expected: list[str]) -> None:
    parsed = parse_markdown(text)
    lines = text.splitlines() or [""]
    found = [
        lines[problem.line - 1][start:end]
        for problem, (start, end) in zip(parsed.problems, parsed.spans, strict=True)
    ]
    assert found == expected


def test_problems_say_what_to_do_and_show_little_of_a_long_title() -> None:
    messages = [
        problem.message for problem in parse_markdown("- [&] " + "a" * 9999 + "\n```").problems
    ]
    assert "use [ ], [x], [~], [!] or [-]" in messages[0]
    assert "close it with ```" in messages[1]
    assert all(len(message) < 200 for message in messages)


def test_a_fix_plan_is_read_whole() -> None:
    parsed = parse_markdown((PLANS / "fix_plan.md").read_text(encoding="utf-8"))
    assert parsed.problems == ()
    assert [
        (task.line + 1, task.end_line + 1, task.state.value, task.priority, task.title)
        for task in parsed.plan.tasks
    ] == [
        (4, 4, "todo", "P0", "Critical: Fix authentication bug"),
        (5, 5, "done", "P0", "Blocker: Database connection timeout"),
        (8, 13, "inProgress", "P1", "Feature: Add user profile page"),
        (9, 9, "done", "P1", "Read the profile"),
        (10, 13, "todo", "P1", "Show the profile"),
        (14, 15, "blocked", "P1", "Feature: Send mail"),
        (18, 18, "todo", "P2", "Improvement: Add dark mode"),
        (19, 19, "skipped", "P2", "Improvement: Add a sound"),
        (22, 22, "done", None, "Setup: Initialize project structure"),
        (23, 23, "done", None, "Choose a licence"),
    ]
    assert parsed.plan.tasks[4].criteria == ("the page shows name and mail", "`make test` passes")
    assert parsed.plan.tasks[5].blocked_by == "no mail server yet"


def test_an_implementation_plan_is_read_whole() -> None:
    text = (PLANS / "implementation_plan.md").read_text(encoding="utf-8")
    parsed = parse_markdown(text, optional_sections=("Optional", "Future"))
    assert parsed.problems == ()
    assert [
        (task.line + 1, task.end_line + 1, task.state.value, task.priority, task.optional)
        for task in parsed.plan.tasks
    ] == [
        (5, 7, "blocked", None, False),
        (9, 10, "todo", "P0", False),
        (11, 11, "todo", None, False),
        (12, 12, "done", None, False),
        (16, 19, "todo", "P0", False),
        (24, 24, "todo", None, True),
    ]
    assert parsed.plan.tasks[0].blocked_by == (
        "Unclear requirements for password special char handling"
    )


def test_traps_are_not_stepped_into() -> None:
    parsed = parse_markdown((PLANS / "traps.md").read_text(encoding="utf-8"))
    assert parsed.problems == ()
    assert [(task.id, task.title, task.state, task.section) for task in parsed.plan.tasks] == [
        ("US-001", "Real task", "todo", "Traps"),
        (parsed.plan.tasks[1].id, "indented below the step", "todo", "Traps"),
        ("US-002", "the `[ ]` in a title stays", "done", "Traps"),
    ]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_places_are_the_same_for_every_line_ending(ending: str) -> None:
    text = ending.join(["\ufeff# Plan", "", "- [ ] 一", "\t- [x] 二", ""])
    first, second = parse_markdown(text).plan.tasks
    assert (first.line, first.end_line, second.line) == (2, 3, 3)
    assert text[first.start : first.end] == "- [ ] 一"
    assert text[second.start : second.end] == "\t- [x] 二"


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        pytest.param(
            "## High Priority\n\n  - Blocked by: x\n  - Needs: y\n1. B\n", ["B"], id="indented"
        ),
        pytest.param("## Tasks\n- **Blocked by:** x\n- Needs: y\n- B\n", ["B"], id="as tasks"),
        pytest.param("## Tasks\n1. Needs: y\n2. B\n", ["B"], id="numbered"),
        pytest.param("## Completed\n- A\n\n- Blocked by: x\n", ["A"], id="completed"),
        pytest.param("## Tasks\n- Needs: y\n  1. more of it\n- B\n", ["B"], id="with details"),
        pytest.param("## Tasks\n- [ ] Blocked by: x\n- [ ] B\n", ["Blocked by: x", "B"], id="box"),
        pytest.param("## Tasks\n- Needs: y\n  - [ ] B\n", ["B"], id="a box within one"),
        pytest.param("## Tasks\n- Needs:\n- B\n", ["Needs:", "B"], id="says nothing"),
        pytest.param(
            "- [ ] A\n  - Blocked by: x\n  - [ ] Needs: y\n", ["A", "Needs: y"], id="nested"
        ),
    ],
)
def test_what_a_removed_task_left_of_its_reasons_is_no_task(text: str, titles: list[str]) -> None:
    assert [task.title for task in parse_markdown(text).plan.tasks] == titles


def test_items_that_begin_inside_each_other_in_one_line_have_a_limit() -> None:
    (task,) = parse_markdown("- " * 19 + "- [ ] deep\n").plan.tasks
    assert task.title == "deep"
    deeper = parse_markdown("- " * 100_000 + "[ ] a\n- [ ] b\n").plan.tasks
    assert [one.title for one in deeper] == ["b"]
