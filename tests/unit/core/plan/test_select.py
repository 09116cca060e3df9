from __future__ import annotations

import pytest

from ralph_ls.core.plan.lint.dependencies import unfinished_dependencies
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parts import done_by_parts, parts_in
from ralph_ls.core.plan.queries import PlanCounts, count_tasks, newly_done, next_task, task_called
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import plan_of

OPTIONAL = ("Optional",)
OPEN_STATES = {TaskState.TODO, TaskState.IN_PROGRESS}


def chosen(*lines: str, set_aside: tuple[str, ...] = (), only: str | None = None) -> str | None:
    plan = plan_of(*lines, optional_sections=OPTIONAL)
    task = next_task(plan, set_aside=set_aside, only=only)
    return None if task is None else task.title


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        pytest.param(("- [ ] a", "- [ ] b"), "a", id="position"),
        pytest.param(("- [ ] a", "- [ ] [P0] b"), "b", id="priority"),
        pytest.param(("- [ ] a", "- [ ] [P1] b"), "a", id="none-counts-as-standard"),
        pytest.param(("- [ ] [P2] a", "- [ ] b"), "b", id="none-goes-before-nice-to-have"),
        pytest.param(("- [ ] [P0] a", "- [~] [P2] b"), "b", id="in-progress-first"),
        pytest.param(
            ("# Optional", "- [~] [P0] a", "# B", "- [ ] [P2] b"), "b", id="optional-last"
        ),
        pytest.param(("# Optional", "- [ ] a"), "a", id="optional-when-nothing-else"),
        pytest.param(("- [x] a", "- [!] b", "- [-] c", "- [&] d"), "d", id="settled-ones-never"),
        pytest.param(("- [x] a", "- [!] b", "- [-] c"), None, id="nothing-left"),
        pytest.param((), None, id="empty"),
    ],
)
def test_the_next_task_is_chosen(lines: tuple[str, ...], title: str | None) -> None:
    assert chosen(*lines) == title


def test_tasks_set_aside_are_never_chosen() -> None:
    assert chosen("- [~] A-1: a", "- [ ] A-2: b", set_aside=("A-1",)) == "b"
    assert chosen("- [~] A-1: a", set_aside=("A-1",), only="A-1") is None


@pytest.mark.parametrize(
    ("lines", "set_aside", "title"),
    [
        pytest.param(
            ("- [ ] [P0] A-1: a", "  - Depends on: A-2", "- [ ] A-2: b"),
            (),
            "b",
            id="what-is-needed",
        ),
        pytest.param(
            ("- [ ] A-1: a", "  - Depends on: A-2", "- [x] A-2: b"), (), "a", id="what-is-done"
        ),
        pytest.param(("- [ ] A-1: a", "  - Depends on: A-9, a key"), (), "a", id="no-such-task"),
        pytest.param(("- [ ] A-1: a", "  - Depends on: A-1"), (), "a", id="itself"),
        pytest.param(
            ("- [ ] A-1: a", "  - Depends on: A-2", "- [!] A-2: b"), (), None, id="what-is-blocked"
        ),
        pytest.param(
            ("- [ ] A-1: a", "  - Depends on: A-2", "- [ ] A-2: b"), ("A-2",), None, id="set-aside"
        ),
        pytest.param(
            (
                *("- [ ] A-1: a", "  - Depends on: A-2"),
                *("- [ ] [P0] A-2: b", "  - Depends on: A-1"),
            ),
            (),
            "b",
            id="each-other",
        ),
        pytest.param(
            (
                *("- [ ] A-1: a", "  - Depends on: A-2"),
                *("- [ ] A-2: b", "  - Depends on: A-1, A-3"),
                *("- [!] A-3: c",),
            ),
            (),
            None,
            id="each-other-and-what-is-blocked",
        ),
        pytest.param(
            ("- [ ] 2. a", "  - [x] 2.1 b", "  - [ ] 2.2 c", "    - _Requirements: 1.2_"),
            (),
            "2.2 c",
            id="subtasks-first-in-kiro",
        ),
        pytest.param(
            (
                "- [ ] 2. a",
                "  - Detail",
                "  - [x] 2.1 b",
                "    - _Requirements: 1_",
                "  - [ ]* 2.2 c",
            ),
            (),
            "2. a",
            id="optional-subtasks-are-not-waited-for",
        ),
        pytest.param(("- [ ] 2. a", "  - [ ] b"), (), "2. a", id="elsewhere-from-above"),
        pytest.param(("- [ ] 2. a", "  - [ ] 2.1 b"), (), "2.1 b", id="numbered-parts-first"),
        pytest.param(
            ("## Scope and constraints", "- [ ] a", "## Steps", "- [ ] b"),
            (),
            "b",
            id="work-before-prose",
        ),
        pytest.param(
            ("- [ ] a", "- [~] 2. b", "  - [ ] 2.1 c", "- [~] d"),
            (),
            "2.1 c",
            id="parts-of-what-is-in-progress",
        ),
        pytest.param(
            ("- [ ] 2. a", "  - how", "- [ ] 2.1 b", "- [ ] 2.2 Test it"),
            (),
            "2.1 b",
            id="numbers-of-one-with-lines",
        ),
        pytest.param(
            ("- [ ] 2. a", "- [x] 2.1 b", "- [ ] 2.2 c", "- [ ] 3. d"),
            (),
            "2.2 c",
            id="numbers-say-what-is-a-part",
        ),
        pytest.param(
            ("- [ ] 2. a", "- [x] 2.1 b", "- [ ] 1. c", "- [ ] 2nd d"),
            (),
            "1. c",
            id="numbers-of-nothing-open",
        ),
        pytest.param(
            (
                "- [ ] 1. a",
                "- [x] 1.1 b",
                "- [ ] 2. c",
                "  - [x] 2.1 d",
                "  - [ ]* 2.2 e",
                "- [ ] f",
            ),
            (),
            "f",
            id="parts-are-done",
        ),
        pytest.param(
            ("- [ ] a", "  - [x] b", "- [ ] c"), (), "a", id="what-is-nested-may-be-a-detail"
        ),
        pytest.param(
            ("- [ ] 2. a", "  - how", "- [ ] 2.1 test of it", "- [ ] 3. b"),
            (),
            "2. a",
            id="a-test-is-no-part-of-one-with-lines",
        ),
        pytest.param(
            ("- [ ] 1. a", "  how", "- [x] 1.1 b", "- [ ] c", "  - Depends on: 1. a", "- [ ] d"),
            (),
            "1. a",
            id="parts-are-done-and-another-waits",
        ),
        pytest.param(
            ("- [ ] 1. a", "  how", "- [x] 1.1 b", "- [x] 2. c", "- [ ] 3. d", "  - [-] 3.1 e"),
            (),
            "1. a",
            id="only-wholes-are-left",
        ),
        pytest.param(
            ("## Success criteria", "- [ ] [P0] a", "## To do", "- [ ] b"),
            (),
            "b",
            id="criteria-come-last",
        ),
        pytest.param(
            ("## Beam", "- [ ] 1. a", "## Tiles", "- [ ] 1.1 b"),
            (),
            "1. a",
            id="numbers-begin-again-in-each-section",
        ),
    ],
)
def test_a_task_comes_after_those_that_it_needs(
    lines: tuple[str, ...], set_aside: tuple[str, ...], title: str | None
) -> None:
    text = "\n".join(lines)
    plan = parse_markdown(text).plan
    needs = unfinished_dependencies(plan.tasks, text)
    waits_for = {waiting: [one.id for one in needed] for waiting, needed in needs.items()}
    task = next_task(plan, set_aside=set_aside, waits_for=waits_for)
    assert (None if task is None else task.title) == title


def test_only_one_id_may_be_asked_for() -> None:
    assert chosen("- [ ] [P0] A-1: a", "- [ ] A-2: b", only="A-2") == "b"
    assert chosen("- [ ] A-1: a", "- [x] A-2: b", only="A-2") is None
    assert chosen("- [ ] A-1: a", only="A-3") is None


def test_tasks_are_counted_by_state_and_need() -> None:
    required = ("- [ ] a", "- [~] b", "- [x] c", "- [!] d", "- [-] e")
    plan = plan_of(*required, "# Optional", *required, "- [ ] f", optional_sections=OPTIONAL)
    assert count_tasks(plan) == PlanCounts(
        total=11,
        done=2,
        required=4,
        done_required=1,
        open_required=2,
        blocked_required=1,
        open_optional=3,
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(("- [ ] A-1: a",), ("- [x] A-1: a",), ("A-1",), id="ticked"),
        pytest.param(("- [!] A-1: a",), ("- [x] A-1: b",), ("A-1",), id="id-counts-not-title"),
        pytest.param(("- [x] A-1: a",), ("- [x] A-1: a",), (), id="done-before"),
        pytest.param(("- [x] A-1: a",), ("- [ ] A-1: a",), (), id="opened-again"),
        pytest.param(("- [ ] A-1: a",), (), (), id="gone"),
        pytest.param(("- [ ] A-1: a",), ("- [-] A-1: a",), (), id="skipped"),
        pytest.param((), ("- [x] A-1: a",), ("A-1",), id="new-and-done"),
        pytest.param(("- [x] Fix logn",), ("- [x] Fix login",), (), id="done-and-reworded"),
        pytest.param(("- [ ] Fix logn page",), ("- [x] Fix login page",), ("cbba638b",), id="both"),
        pytest.param(("- [ ] a",), ("- [x] A-1: b",), ("A-1",), id="reworded"),
        pytest.param(
            ("- [ ] A-1: a", "- [ ] A-2: b"),
            ("- [x] A-2: b", "- [x] A-1: a"),
            ("A-2", "A-1"),
            id="order-of-the-later-plan",
        ),
        pytest.param(("- [x] c",), ("- [ ] c", "- [x] c"), (), id="a-repeat-was-added-above"),
        pytest.param(("- [x] c", "- [ ] c"), ("- [x] c", "- [x] c"), ("2e7d2c03-2",), id="second"),
        pytest.param(("- [ ] c", "- [x] c"), ("- [x] c", "- [x] c"), ("2e7d2c03",), id="first"),
        pytest.param(("- [x] c", "- [ ] c"), ("- [x] c",), (), id="a-repeat-is-gone"),
        pytest.param(
            ("- [x] A-1: c",),
            ("- [ ] A-1: c", "- [x] A-1: c", "- [x] A-1: c"),
            ("A-1-3",),
            id="one-of-two-repeats-is-new",
        ),
    ],
)
def test_what_became_done_is_reported(
    before: tuple[str, ...], after: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert newly_done(plan_of(*before), plan_of(*after)) == expected


def test_tasks_are_found_by_id_and_line() -> None:
    plan = plan_of("- [ ] A-1: a", "  - [ ] A-2: b", "    note", "", "text")
    first, second = plan.tasks
    assert plan.find("A-2") is second
    assert plan.find("A-3") is None
    assert plan.by_id() == {"A-1": first, "A-2": second}
    assert [plan.at_line(line) for line in range(4)] == [first, second, second, None]


def test_optional_tasks_may_be_left_alone() -> None:
    plan = plan_of("# A", "- [x] a", "# Optional", "- [ ] b", optional_sections=OPTIONAL)
    assert next_task(plan, takes_optional=False) is None
    chosen = next_task(plan)
    assert chosen is not None
    assert chosen.title == "b"


class TestTaskCalled:
    PLAN = plan_of(
        "- [ ] 1. Basket", "  - [ ] 1.1 Total", "- [x] 2. Pay", "- [ ] US-7: Ship", "- [ ] 2. Post"
    )

    @pytest.mark.parametrize(
        ("name", "title"), [("1.1", "1.1 Total"), ("1", "1. Basket"), ("US-7", "Ship")]
    )
    def test_by_its_number_or_id(self, name: str, title: str) -> None:
        task = task_called(self.PLAN, name)
        assert task is not None
        assert task.title == title

    @pytest.mark.parametrize("name", ["2", "3", "", "Basket", "1.1.1"])
    def test_only_where_one_is_meant(self, name: str) -> None:
        assert task_called(self.PLAN, name) is None


HELD = ("- [ ] 1. a", "  - [x] 1.1 b", "  - [x] 1.2 c", "    - note", "- [ ] 2. d")


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        pytest.param(HELD, ["1. a"], id="nothing-but-parts"),
        pytest.param(("- [~] 1. a", "  - [x] 1.1 b", "  - [ ]* 1.2 c"), ["1. a"], id="optional"),
        pytest.param(
            ("- [ ] 1. a", "  - [ ] 1.1 b", "    - [x] 1.1.1 c"), ["1. a", "1.1 b"], id="deep"
        ),
        pytest.param(("- [ ] 1. a", "  - own", "  - [x] 1.1 b"), [], id="lines-of-its-own"),
        pytest.param(("- [ ] 1. a", "  - [x] 1.1 b", "  - [ ] 1.2 c"), [], id="a-part-is-open"),
        pytest.param(("- [ ] 1. a", "  - [x] 1.1 b", "  - [-] 1.2 c"), [], id="a-part-is-skipped"),
        pytest.param(("- [ ] 1. a", "  - [ ]* 1.1 b"), [], id="only-optional-parts"),
        pytest.param(("- [ ] 1. a", "  - [x] 2.1 b", "  - [x] c"), [], id="other-numbers"),
        pytest.param(("- [!] 1. a", "  - [x] 1.1 b"), [], id="blocked"),
        pytest.param(("- [ ] 1. a", "", "", "  - [x] 1.1 b"), ["1. a"], id="blank-lines"),
        pytest.param(("- [ ] 1. a\r", "\r", "  - [x] 1.1 b"), ["1. a"], id="blank-with-cr"),
        pytest.param(("- [ ] 1. a", "", "  I", "", "  - [x] 1.1 b"), [], id="a-line-among-blank"),
        pytest.param(("- [x] 1. a", "  - [x] 1.1 b"), [], id="ticked"),
        pytest.param(("- [ ] 1. a", "- [x] 1.1 b"), ["1. a"], id="on-one-level"),
        pytest.param(("- [ ] 1. a", "  how", "- [x] 1.1 b"), [], id="with-lines-on-one-level"),
    ],
)
def test_what_only_holds_parts_is_done_with_them(lines: tuple[str, ...], names: list[str]) -> None:
    plan = plan_of(*lines)
    assert [task.title for task in done_by_parts(plan.tasks)] == names
    open_states = [task for task in plan.tasks if not task.optional and task.state in OPEN_STATES]
    assert count_tasks(plan).open_required == len(open_states) - len(names)


def test_tests_behind_a_task_on_one_level_are_no_parts_of_it() -> None:
    tasks = plan_of("- [ ] 2. Set the bench up", "- [ ] 2.1 Test the saw", "- [ ] 2.2 Paint").tasks
    assert [(whole.title, part.title) for whole, part in parts_in(tasks)] == [
        ("2. Set the bench up", "2.2 Paint")
    ]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("- [ ] **1. a**", "  - [x] **1.1** b", "- [ ] **2. c**"), id="in-bold"),
        pytest.param(("## Backlog", "- [ ] 1. a", "  - [x] 1.1 b", "- [ ] 2. c"), id="a-backlog"),
    ],
)
def test_they_are_counted_and_chosen_alike_in_every_plan(lines: tuple[str, ...]) -> None:
    plan = plan_of(*lines, optional_sections=("Backlog",))
    assert [task.title for task in done_by_parts(plan.tasks)] == ["1. a"]
    assert (count_tasks(plan).done, count_tasks(plan).open_required) == (2, 1)
    task = next_task(plan)
    assert task is not None
    assert task.title == "2. c"


def test_what_is_done_by_its_parts_is_not_chosen_and_not_waited_for() -> None:
    text = "\n".join((*HELD, "  - Depends on: 1")) + "\n"
    plan = parse_markdown(text).plan
    chosen_task = next_task(plan, waits_for={})
    assert chosen_task is not None
    assert chosen_task.title == "2. d"
    assert unfinished_dependencies(plan.tasks, text) == {}
    assert count_tasks(plan).done == 3


def test_a_long_plan_counts_what_is_done_by_its_parts_the_same() -> None:
    text = "\n".join((*HELD, *(f"- [ ] more {n}" for n in range(900)))) + "\n"
    plan = parse_markdown(text).plan
    assert (count_tasks(plan).done, count_tasks(plan).open_required) == (3, 901)
