"""What the checks say of a plan, at which words, and what they leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.lint.checks import check_markdown, plan_problems
from ralph_ls.core.plan.lint.criteria import is_vague
from ralph_ls.core.plan.lint.dependencies import read_dependencies, unfinished_dependencies
from ralph_ls.core.plan.lint.remarks import CheckCode, LineSpan, LintRemark
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.task_body import TaskBodies
from ralph_ls.protocol.plan import PlanProblem
from tests.unit.core.plan.plan_assertions import PLANS, item_lines

LONG = "Implement the whole parser"


def remarks(*lines: str, marker: str = "PROJECT_COMPLETE") -> tuple[LintRemark, ...]:
    text = "\n".join(lines)
    return check_markdown(parse_markdown(text), text, marker=marker)


def marked(place: LineSpan, lines: tuple[str, ...]) -> str:
    return "\n".join(lines).split("\n")[place.line][place.start : place.end]


def found(*lines: str) -> list[tuple[int, str, str]]:
    """Line, code, and the words that are marked."""
    return [(one.place.line, one.code.value, marked(one.place, lines)) for one in remarks(*lines)]


def messages(*lines: str) -> list[str]:
    return [one.message for one in remarks(*lines)]


class TestDuplicates:
    def test_the_later_of_two_is_reported_beside_the_first(self) -> None:
        lines = (
            "# Tasks",
            f"- [ ] {LONG}",
            "- [ ] Other",
            "- [ ] implement  the **whole** `parser`",
        )
        (one,) = remarks(*lines)
        assert (one.code, one.place.line, one.task is not None) == ("duplicate-task", 3, True)
        assert marked(one.place, lines) == "implement  the **whole** `parser`"
        (other,) = one.related
        assert (other.place.line, marked(other.place, lines)) == (1, LONG)
        assert one.message == (
            "“implement the whole `parser`” is already in the plan, on line 2; remove one of "
            "them, or say in the title what still has to be done"
        )

    def test_an_open_one_is_reported_beside_a_finished_one_wherever_they_are(self) -> None:
        lines = (f"- [ ] {LONG}", "## Elsewhere", f"- [x] {LONG}")
        (one,) = remarks(*lines)
        assert (one.place.line, one.related[0].place.line) == (0, 2)
        assert "is already done, on line 3" in one.message

    def test_one_with_the_number_and_the_words_of_a_finished_one_is_reported(self) -> None:
        lines = ("## P0", "- [ ] 1. Parse the plan whole", "- [ ] 2. Lex", "## Completed")
        (one,) = remarks(*lines, "- [x] #1 Parse the plan - in May", "- [x] #3 Lex", "- [x] Oil")
        assert (one.place.line, one.related[0].place.line) == (1, 4)
        assert one.message.startswith("“1. Parse the plan whole” is already done, on line 5")

    def test_each_of_several_is_reported(self) -> None:
        assert [line for line, _, _ in found(*[f"- [ ] {LONG}"] * 4)] == [1, 2, 3]

    @pytest.mark.parametrize(
        "lines",
        [
            pytest.param([f"- [x] {LONG}", f"- [-] {LONG}"], id="nothing-left-to-do"),
            pytest.param(["## A", "- [ ] Tests", "## B", "- [ ] Tests"], id="short-elsewhere"),
            pytest.param(
                ["- [ ] A", f"  - [ ] {LONG}", "- [ ] B", f"  - [ ] {LONG}"], id="of-other-tasks"
            ),
            pytest.param([f"- [ ] {LONG}", f"- [ ] {LONG} twice"], id="other-words"),
            pytest.param([f"- [ ] {LONG}", "```", f"- [ ] {LONG}", "```"], id="fence"),
            pytest.param([f"- [x] T001 {LONG}", f"- [ ] T003 {LONG}"], id="two-ids"),
            pytest.param([f"- [x] T2-1 {LONG}", f"- [ ] T2-2 {LONG}"], id="two-ids-of-a-phase"),
            pytest.param([f"- [ ] **US-1** {LONG}", f"- [ ] **US-2** {LONG}"], id="two-stories"),
        ],
    )
    def test_no_duplicates(self, lines: list[str]) -> None:
        assert found(*lines) == []

    def test_those_with_one_id_are_also_without_it_at_one_of_them(self) -> None:
        for first in ("T001 ", ""):
            lines = (f"- [x] {first}{LONG}", f"- [ ] T001 {LONG}")
            assert "duplicate-task" in [code for _, code, _ in found(*lines)]

    def test_short_ones_below_one_heading_and_in_one_task_are(self) -> None:
        assert found("- [ ] a", "  - [ ] b", "  - [ ] b", "- [ ] a") == [
            (2, "duplicate-task", "b"),
            (3, "duplicate-task", "a"),
        ]

    def test_tasks_without_a_box_are_compared_too(self) -> None:
        assert found("## Tasks", "1. One", "2. One") == [(2, "duplicate-task", "One")]


class TestCriteria:
    @pytest.mark.parametrize(
        "text",
        [
            "works correctly",
            "Login works correctly.",
            "is good",
            "The code is really clean!",
            "Handles errors gracefully",
            "everything works as expected",
            "It works",
            "works",
            "Done",
            "**done**",
            "high quality",
            "no bugs",
            "user-friendly",
            "???",
            "TBD",
            "…",
            "The export feature works",
            "pages look nice, and feel great",
        ],
    )
    def test_vague(self, text: str) -> None:
        assert is_vague(text)

    @pytest.mark.parametrize(
        "text",
        [
            "All tests pass",
            "`make test` works correctly",
            "answers within 200 ms, as expected",
            'says "saved" when done',
            "a wrong password shows an error",
            "src/login.py is clean",
            "./run.sh works",
            "login.py is good",
            "exit code = 0 as expected",
            "every total is right",
            "the networks",
            "完成",
            "",
            "wellness",
        ],
    )
    def test_not_vague(self, text: str) -> None:
        assert not is_vague(text)

    def test_a_vague_one_is_reported_at_its_line(self) -> None:
        lines = (
            "- [ ] a",
            "  - Acceptance criteria:",
            "    - [ ]  works   correctly ",
            "    - `make test` passes",
            "    - [x] is good",
            "- [ ] b",
            "  **Done when:** it works",
            "- [x] c",
            "  - Done when: it works",
        )
        assert found(*lines) == [
            (2, "criteria-vague", "works   correctly"),
            (6, "criteria-vague", "it works"),
        ]
        assert messages(*lines)[1] == (
            "the criterion “it works” cannot be checked; name something that can be seen or run, "
            "such as a command and its output"
        )

    def test_one_behind_another_task_is_reported_at_the_task(self) -> None:
        lines = ("- [ ] a", "  - [ ] b", "  - Done when: it works")
        assert found(*lines) == [(0, "criteria-vague", "a")]

    def test_a_label_with_nothing_below_it_is_reported(self) -> None:
        lines = (
            "- [ ] a",
            "  - **Acceptance criteria:**",
            "- [x] b",
            "  - Criteria:",
            "Done when:",
        )
        assert found(*lines) == [(1, "criteria-missing", "**Acceptance criteria:**")]
        (message,) = messages(*lines)
        assert message == (
            "“a” does not say when it is done; add a criterion that can be seen or run, such as: "
            "- Done when: `make test` passes"
        )

    def test_a_plan_in_which_most_have_some_asks_for_them(self) -> None:
        good = ["- [ ] {}", "  - Done when: `make` passes"]
        three = [line.format(name) for name in "abc" for line in good]
        rest = ["- [x] done", "- [ ] bare", "  - [ ] nested", "- [ ] label", "  - Done when:"]
        assert found(*three, *rest) == [
            (7, "criteria-missing", "bare"),
            (10, "criteria-missing", "Done when:"),
        ]
        assert found(*three, *(f"- [ ] bare {number}" for number in range(4))) == []
        assert found(*three[:4], "- [ ] bare") == []

    def test_optional_ones_need_none(self) -> None:
        three = [f"- [ ] {name}\n  - Done when: `make` passes" for name in "abc"]
        text = "\n".join([*three, "## Optional", "- [ ] bare"])
        assert check_markdown(parse_markdown(text, optional_sections=("Optional",)), text) == ()


class TestMarker:
    def test_it_is_reported_with_the_first_open_task(self) -> None:
        lines = ("- [x] a", "- [~] b", "- [ ] c", "", "  **PROJECT_COMPLETE** ")
        (one,) = remarks(*lines)
        assert (one.code, marked(one.place, lines)) == (
            "marker-with-open-tasks",
            "**PROJECT_COMPLETE**",
        )
        assert marked(one.related[0].place, lines) == "b"
        assert one.message == (
            "the plan contains PROJECT_COMPLETE, but 2 tasks are open (first on line 2); remove "
            "this line until they are done"
        )

    def test_a_single_open_task_is_reported_as_one(self) -> None:
        (message,) = messages("- [ ] a", "", "PROJECT_COMPLETE")
        assert message == (
            "the plan contains PROJECT_COMPLETE, but a task is open (first on line 1); remove "
            "this line until they are done"
        )

    def test_the_word_is_that_of_the_settings(self) -> None:
        assert [
            one.place.line for one in remarks("- [ ] a", "", "ALL_OVER", marker="ALL_OVER")
        ] == [2]
        assert remarks("- [ ] a", "", "PROJECT_COMPLETE", marker="ALL_OVER") == ()

    @pytest.mark.parametrize(
        "lines",
        [
            pytest.param(["- [x] a", "- [-] b", "", "PROJECT_COMPLETE"], id="all-done"),
            pytest.param(["- [!] a: b", "  - Needs: c", "", "PROJECT_COMPLETE"], id="blocked"),
            pytest.param(["- [ ] a", "", "```", "PROJECT_COMPLETE", "```"], id="fence"),
            pytest.param(["- [ ] a", "", "Write PROJECT_COMPLETE last"], id="sentence"),
        ],
    )
    def test_nothing_to_report(self, lines: list[str]) -> None:
        assert found(*lines) == []

    def test_optional_tasks_hold_nothing_open(self) -> None:
        text = "## Later\n- [ ] a\n\nPROJECT_COMPLETE\n"
        assert check_markdown(parse_markdown(text, optional_sections=("Later",)), text) == ()


class TestStates:
    def test_a_blocked_task_needs_a_reason(self) -> None:
        lines = (
            "- [!] a",
            "- [ ] [BLOCKED] b",
            "- [ ] [BLOCKED: no key] c",
            "- [!] d",
            "  - Needs: e",
        )
        assert found(*lines) == [
            (0, "blocked-without-reason", "a"),
            (1, "blocked-without-reason", "[BLOCKED] b"),
        ]
        assert messages(*lines)[0] == (
            "“a” is blocked, but the plan does not say by what; add a line below it: - "
            "Blocked by: …"
        )

    @pytest.mark.parametrize("heading", ["Completed", "✅ Done", "Recently completed tasks"])
    def test_an_open_task_below_completed_is_reported(self, heading: str) -> None:
        lines = ("- [ ] a", f"## {heading}", "- [ ] b", "- [x] c", "- d", "- [!] e: f")
        assert found(*lines) == [
            (2, "open-under-completed", "b"),
            (5, "blocked-without-reason", "e: f"),
        ]
        assert messages(*lines)[0].endswith("; tick it, or move it back to the tasks")

    def test_a_heading_that_only_begins_so_says_nothing(self) -> None:
        assert found("## Completed by the agent only", "- [ ] b") == []


def reads(*lines: str) -> list[tuple[str, str, str | None, str]]:
    """Each dependency: the task, the name as written, the task it means, the words marked."""
    text = "\n".join(lines)
    tasks = parse_markdown(text).plan.tasks
    return [
        (
            one.task.title,
            one.name,
            None if one.target is None else one.target.title,
            marked(one.place, (text,)),
        )
        for one in read_dependencies(tasks, TaskBodies(tasks, text))
    ]


class TestDependencies:
    def test_a_reference_may_begin_with_a_word_for_tasks(self) -> None:
        lines = ("- [ ] 1.1 a", "- [ ] 1.2 b", "  - Depends on: Tasks 1.1, 1.3", "- [ ] 1.3 c")
        assert found(*lines, "  - Dependencies: all previous", "  - After: Phase 2") == []
        text = "\n".join(lines)
        tasks = parse_markdown(text).plan.tasks
        assert unfinished_dependencies(tasks, text) == {tasks[1].id: (tasks[0], tasks[2])}

    @pytest.mark.parametrize(
        "line",
        [
            "Depends on: US-001",
            "- Depends on: US-001",
            "* **Depends on:** US-001",
            "**Depends on**: `US-001`",
            "depends: US-001",
            "DEPENDS ON: US-001",
            "dependsOn: [US-001]",
            'dependsOn: ["US-001"]',
            "depends_on: us-001",
            "Dependencies: US-001 (the login)",
            "dependency: US-001.",
            "after: US-001",
            "AFTER: US-001 and the review",
            "depends on US-001",
            "- Depends on: US-001 and",
        ],
    )
    def test_forms_that_are_read(self, line: str) -> None:
        ((_, name, target, words),) = reads("- [ ] **US-001** Login", "- [ ] Logout", f"  {line}")
        assert (name.upper(), target, words) == ("US-001", "Login", name)

    @pytest.mark.parametrize("word", ["none", "_None_", "n/a", "无"])
    def test_a_word_for_none_is_no_reference(self, word: str) -> None:
        assert reads("- [ ] **US-001** Login", f"  - _Dependencies: {word}_") == []

    @pytest.mark.parametrize(
        ("title", "line", "expected"),
        [
            ("T1: Log in", "Depends on: T1", ("T1", "T1: Log in")),
            ("T1: Log in", "Depends on: t1 (the login)", ("t1", "T1: Log in")),
            ("M2.1 - Log in", "After: M2.1", ("M2.1", "M2.1 - Log in")),
            ("**Task 1:** Log in", "Depends on: Task 1", ("Task 1", "Task 1: Log in")),
            ("1.2 Log in", "Depends on: 1.2", ("1.2", "1.2 Log in")),
            ("T1: Log in", "Depends on: T9", ("T9", None)),
        ],
    )
    def test_the_label_that_a_title_begins_with_is_its_name(
        self, title: str, line: str, expected: tuple[str, str | None]
    ) -> None:
        found = reads(f"- [ ] {title}", "- [ ] Log out", f"  {line}")
        assert [(name, target) for _, name, target, _ in found] == [expected]

    def test_a_label_of_two_tasks_names_neither(self) -> None:
        lines = ("- [ ] T1: Log in", "- [ ] T1: Again", "- [ ] Out", "  Depends on: T1")
        assert [(name, target) for _, name, target, _ in reads(*lines)] == []

    @pytest.mark.parametrize("title", ["Out (depends on US-001)", "Out [after: US-001]"])
    def test_brackets_in_a_title_are_read(self, title: str) -> None:
        assert reads("- [ ] **US-001** Login", f"- [ ] {title}") == [
            (title, "US-001", "Login", "US-001")
        ]

    def test_lists_and_titles_are_read(self) -> None:
        lines = (
            "- [ ] **US-001** Login",
            "- [ ] Write the **page**",
            "- [ ] Out",
            "  Depends on: US-001, write the page; US-007 & the API + auth.md and UTF-8, none",
        )
        assert [(name, target) for _, name, target, _ in reads(*lines)] == [
            ("US-001", "Login"),
            ("write the page", "Write the **page**".replace("*", "")),
            ("US-007", None),
        ]

    @pytest.mark.parametrize(
        "line",
        [
            "Depends on the weather",
            "After that: US-001",
            "It depends on: US-001",
            "Blocked by: US-001",
            "Depends on:",
            "after: 20260101",
            "after: lunch",
            "> Depends on: US-001",
            "`Depends on: US-001`",
        ],
    )
    def test_prose_and_others_are_not(self, line: str) -> None:
        assert reads("- [ ] **US-001** Login", "- [ ] Logout", f"  {line}") == []

    def test_only_tasks_depend(self) -> None:
        assert reads("Depends on: US-001", "", "- [x] a", "", "# Notes", "after: US-001") == []
        assert reads("after: US-001", "no task") == []

    def test_a_line_behind_a_nested_task_is_the_outer_ones(self) -> None:
        lines = ("- [ ] a", "  - [ ] b", "    - [ ] c", "  - after: US-007", "- [ ] d")
        assert reads(*lines) == [("a", "US-007", None, "US-007")]

    @pytest.mark.parametrize(
        "lines",
        [
            pytest.param(["  ```", "  after: US-1", "  ```"], id="fence"),
            pytest.param(["  - ~~~ text", "    after: US-1", "    ~~~"], id="fence-in-a-note"),
            pytest.param(["  ````", "  ```", "  after: US-1", "  ````"], id="longer-fence"),
            pytest.param(["  <!--", "  after: US-1", "  -->"], id="comment"),
            pytest.param(["  <!-- after: US-1 -->"], id="comment-of-one-line"),
            pytest.param(["  ```", "  x", "after: US-1"], id="no-end"),
            pytest.param(
                ["  ```", "          ```", "  ```", "  after: US-1"], id="an-end-in-doubt"
            ),
        ],
    )
    def test_examples_are_not_read(self, lines: list[str]) -> None:
        assert reads("- [ ] a", *lines, "- [ ] b") == []

    def test_what_comes_after_an_example_is(self) -> None:
        lines = ("- [ ] a", "  ```sh", "", "  x", "  ```", "  ```a``` b", "  after: US-1")
        assert [name for _, name, _, _ in reads(*lines)] == ["US-1"]

    def test_an_unknown_one_is_reported_at_its_words(self) -> None:
        lines = ("- [ ] a", "  - Depends on: US-001, 1a2b3c4d", "- [x] b", "  - after: US-9")
        assert found(*lines) == [
            (1, "unknown-dependency", "US-001"),
            (1, "unknown-dependency", "1a2b3c4d"),
        ]
        assert messages(*lines)[0] == (
            "“a” depends on US-001, but no task of this plan has that id; write a task's id or "
            "title, or describe what it waits for"
        )

    def test_two_that_wait_for_each_other_are_reported_once(self) -> None:
        lines = ("- [ ] **A-1** one", "  after: A-2", "- [ ] **A-2** two", "  after: A-1")
        (one,) = remarks(*lines)
        assert (one.code, one.place.line, marked(one.place, lines)) == (
            "dependency-cycle",
            1,
            "A-2",
        )
        assert [(other.place.line, other.message) for other in one.related] == [
            (3, "“two” waits here")
        ]
        assert one.message == (
            "these wait for each other, so none of them can start: “one” → “two” → “one”; remove "
            "a dependency"
        )

    def test_one_that_waits_for_itself_is_reported(self) -> None:
        assert messages("- [ ] **A-1** one", "  after: A-1") == [
            "“one” depends on itself; remove the dependency"
        ]

    def test_a_long_ring_is_reported_in_short(self) -> None:
        lines = [f"- [ ] **A-{n}** t{n}\n  after: A-{n % 9 + 1}" for n in range(1, 10)]
        (one,) = remarks(*lines)
        assert len(one.related) == 6
        assert one.message.count("→") == 6
        assert "…" in one.message

    def test_rings_are_reported_separately_and_what_leads_to_them_is_not(self) -> None:
        lines = (
            "- [ ] **A-1** leads\n  after: A-2, A-9",
            "- [ ] **A-2** x\n  after: A-3",
            "- [ ] **A-3** y\n  after: A-2, A-8",
            "- [ ] **A-4** z\n  after: A-5",
            "- [ ] **A-5** w\n  after: A-8, A-4",
            "- [ ] **A-8** free",
            "- [ ] **A-9** leads nowhere\n  after: A-8",
            "- [ ] **A-10** leads too\n  after: A-2",
        )
        assert [one.place.line for one in remarks(*lines)] == [3, 7]

    @pytest.mark.parametrize("box", ["x", "-"])
    def test_what_is_finished_breaks_a_ring(self, box: str) -> None:
        lines = ("- [ ] **A-1** one", "  after: A-2", f"- [{box}] **A-2** two", "  after: A-1")
        assert found(*lines) == []


def test_remarks_come_in_the_order_of_the_text() -> None:
    lines = (
        "PROJECT_COMPLETE",
        "",
        "- [!] a",
        "  - Done when: it works",
        "- [ ] b",
        "  after: US-1",
    )
    assert [line for line, _, _ in found(*lines)] == [0, 2, 3, 5]


def test_problems_count_lines_from_one() -> None:
    (one,) = remarks("- [!] a")
    assert plan_problems([one]) == (
        PlanProblem(code="blocked-without-reason", message=one.message, line=1),
    )


def test_long_titles_are_named_in_short_and_half_characters_are_shown() -> None:
    (message,) = messages(f"- [!] \ud800{'x' * 100}")
    assert message.startswith(f"“?{'x' * 58}…” is blocked")


def test_line_endings_and_a_mark_at_the_beginning_change_nothing() -> None:
    lines = [
        "- [!] a",
        "  - Depends on: US-1",
        "- [ ] b",
        "  - Done when: works",
        "PROJECT_COMPLETE",
    ]
    plain = found(*lines)
    assert len(plain) == 4
    for ending in ("\r\n", "\r"):
        text = "\ufeff" + ending.join(lines)
        cut = [line for _, line in lines_of(text)]
        assert [
            (one.place.line, one.code, cut[one.place.line][one.place.start : one.place.end])
            for one in check_markdown(parse_markdown(text), text)
        ] == plain


@pytest.mark.parametrize("path", sorted(PLANS.glob("**/*.md")), ids=lambda path: path.name)
def test_real_plans_are_mostly_left_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert {one.code for one in check_markdown(parse_markdown(text), text)} <= {
        CheckCode.BLOCKED_WITHOUT_REASON,
        CheckCode.OPEN_UNDER_COMPLETED,
        CheckCode.BOX_NOT_READ,
        CheckCode.LINES_READ_AS_PROSE,
        CheckCode.STATUS_AGAINST_BOX,
    }


_WORDS = (
    "- [ ] {}",
    "- [ ] {}",
    "- [x] {}",
    "- [!] {}",
    "  - [ ] {}",
    "1. [ ] {}",
    "## Completed",
    "## Tasks",
    "PROJECT_COMPLETE",
    "  Depends on: {}, {}",
    "  - after: {}",
    "    - **Dependencies:** {} and {}",
    "  - Acceptance criteria:",
    "    - works correctly",
    "    - [x] is good",
    "  Done when: it works",
    "  - Done when:",
    "  ```",
    "```",
    "  <!--",
    "  -->",
    "",
    "plain",
)
_NAMES = st.sampled_from(("A-1", "A-2", "**A-1** x", "A-2: y", "A-3: z", "A-03", "x (after A-3)"))
_lines = st.one_of(
    item_lines,
    st.builds(
        lambda shape, one, other: shape.format(one, other), st.sampled_from(_WORDS), _NAMES, _NAMES
    ),
)
check_texts = st.builds(
    lambda bom, lines, ending: bom + ending.join(lines),
    st.sampled_from(("", "", "\ufeff")),
    st.lists(_lines, max_size=16),
    st.sampled_from(("\n", "\n", "\r\n", "\r")),
)
"""Plans in which much is wrong."""


@given(
    st.one_of(check_texts, st.text(st.characters()), st.text(alphabet="-*[] x`#<!>\n\r\t1.:fter"))
)
def test_any_text_is_checked_and_remarks_are_inside_it(text: str) -> None:
    lines = [line for _, line in lines_of(text)]
    parsed = parse_markdown(text)
    told = check_markdown(parsed, text)
    for one in told:
        for place in (one.place, *(other.place for other in one.related)):
            assert 0 <= place.line < len(lines)
            assert 0 <= place.start <= place.end <= len(lines[place.line])
        assert one.message
        assert one.task is None or parsed.plan.find(one.task) is not None
    assert [one.place.line for one in told] == sorted(one.place.line for one in told)
    assert len(set(told)) == len(told)


@given(
    before=st.lists(
        _lines.filter(lambda line: not {"```", "<!--", "~~~"} & set(line.split())), max_size=6
    ),
    inside=st.lists(_lines.filter(lambda line: "~~~" not in line), max_size=6),
    after=st.lists(_lines, max_size=4),
    indent=st.sampled_from(("  ", "  - ", "    ")),
)
def test_nothing_in_a_fence_is_reported(
    before: list[str], inside: list[str], after: list[str], indent: str
) -> None:
    column = " " * len(indent)
    fence = [f"{indent}~~~", *(f"{column}{line}" for line in inside), f"{column}~~~"]
    lines = [*before, "", "# Own", "- [ ] **Z-1** own", *fence, *after]
    text = "\n".join(lines)
    first = len(before) + 3
    told = {one.place.line for one in check_markdown(parse_markdown(text), text)}
    assert not told & set(range(first, first + len(fence)))
