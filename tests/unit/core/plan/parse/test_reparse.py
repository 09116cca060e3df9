"""Reading after a change gives what reading the whole new text gives."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph_ls.core.plan.model import LazyTuple, ParsedPlan, Plan
from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from ralph_ls.core.plan.queries import count_tasks
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import item_lines, plan_texts

OPTIONAL = ("Low",)

# Lines that the pattern for plain ones takes, and such as it must not take.
plain_lines = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(("- ", "- ", "* ", "1. ", "  - ", "\t- ", "  ", "    1. ")),
        st.sampled_from(("[ ] ", "[x] ", "[X] ", "[ ] ", "", "[~] ")),
        st.sampled_from((
            "Fix it", "Fix the `code` ~ <b>", "[P1] Fix it.", "[WIP] Fix it.", "Fix [it]", "[P0]",
            "US-1: Fix", "**US-1** Fix", "Criteria:", "Criteria: one", "Status: blocked", "Files:",
            "Fix it [ ] twice", "[x] [x] x", "Fix it [blocked]", "~~Fix~~", "<!-- Fix", "```",
            "Needs: a key", "see it", "so: it goes",
            "Fix \N{ROCKET}", "[in progress] x", "[LOW]: x", "**[P0]** US-1: x",
        )),
    ),
)  # fmt: skip
other_lines = st.sampled_from(
    ("", "", "  ", "# Plan", "## Tasks", "## Low", "## Notes", "### 1.1 🟡 Part", "```", "~~~",
     "<!--", "-->", "text", "Status: done", "Criteria:", "#### Criteria", "| Task | Done |",
     "|---|---|", "| a | [ ] |", "===")
)  # fmt: skip
long_plans = st.builds(
    lambda lines, ending, last: ending.join(lines) + last,
    st.lists(
        st.one_of(plain_lines, plain_lines, plain_lines, item_lines, other_lines), max_size=30
    ),
    st.sampled_from(("\n", "\n", "\n", "\r\n")),
    st.sampled_from(("", "\n")),
)
any_plans = st.one_of(long_plans, plan_texts)
pieces = st.one_of(
    st.sampled_from(("", "\n", "\r", "\r\n", "x", " ", "- [ ] new\n", "\n- [x] new", "#", "# New\n",
                     "```\n", "\n```\n", "<!--\n", "-->", "~~~\n", "  ", "[", "]", "\ufeff",
                     "#### Criteria\n", "ria")),
    long_plans,
)  # fmt: skip


def same(one: ParsedPlan, other: ParsedPlan) -> bool:
    return (
        one.plan == other.plan
        and one.problems == other.problems
        and one.spans == other.spans
        and count_tasks(one.plan) == count_tasks(other.plan)
        and len(one.plan.tasks) == len(other.plan.tasks)
    )


@given(any_plans)
def test_what_is_counted_is_what_is_read(text: str) -> None:
    plan = parse_markdown(text, optional_sections=OPTIONAL).plan
    n_tasks = len(plan.tasks)
    made = Plan(tasks=tuple(plan.tasks))
    assert len(made.tasks) == n_tasks
    assert count_tasks(plan) == count_tasks(made)


@given(any_plans, st.lists(st.tuples(st.integers(0), st.integers(0, 40), pieces), max_size=4))
@example("- [ ] a\n- [ ] b\n", [(8, 0, "```\n")])
@example("```\n- [ ] a\n```\n- [ ] b\n", [(0, 4, "")])
@example("# A\n1. [ ] a\n2. b\n# A\n3. c\n", [(19, 4, "")])
@example("- [ ] a\r- [ ] b", [(8, 0, "\n")])
@example("- [ ] a\n- [ ] b\n", [(7, 1, "")])
@example("## A\nStatus: open\n### Crite\n- [ ] b\n", [(27, 0, "ria")])
@example("## A\nStatus: open\n### Criteria\n- [ ] b\n", [(27, 3, "")])
@example("## A\nStatus: open\n### Criteria\n- [ ] b\n", [(13, 4, "odd")])
def test_after_any_change_the_whole_text_is_read(
    text: str, changes: list[tuple[int, int, str]]
) -> None:
    parsed = parse_markdown(text, optional_sections=OPTIONAL)
    for at, length, piece in changes:
        start = at % (len(text) + 1)
        before = parse_markdown(text, optional_sections=OPTIONAL)
        new_text = text[:start] + piece + text[start + length :]
        after = reparse_markdown(parsed, (start, start + length, piece))
        assert same(after, parse_markdown(new_text, optional_sections=OPTIONAL))
        assert same(parsed, before), "what was read before stays as it was"
        text, parsed = new_text, after


@pytest.mark.slow
@given(st.data())
def test_a_long_plan_is_followed_over_many_keys(data: st.DataObject) -> None:
    text = "".join(
        f"## Part {number // 90}\n\n" if number % 90 == 0 else f"- [ ] Mend part {number} of it\n"
        for number in range(400)
    )
    parsed = parse_markdown(text)
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 5)))
        piece = data.draw(pieces)
        parsed = reparse_markdown(parsed, (start, end, piece))
        text = text[:start] + piece + text[end:]
        assert same(parsed, parse_markdown(text))


def test_a_key_leaves_most_tasks_unread() -> None:
    text = "# Plan\n" + "".join(f"- [ ] Mend part {number}\n" for number in range(1000))
    before = parse_markdown(text)
    first = before.plan.tasks[0]
    after = reparse_markdown(before, (len(text) // 2, len(text) // 2, "x"))
    assert after.plan.tasks[0] == first
    assert len(after.plan.tasks) == 1000
    assert count_tasks(after.plan).open_required == 1000


LATE = "".join(
    f"## Part {number}\n- [ ] Mend part {number}\n- [ ] Look at it\n- [!] Wait\n"
    for number in range(3)
)


@given(any_plans, st.sets(st.sampled_from(TaskState), max_size=2), st.data())
@example(LATE, {TaskState.BLOCKED}, None)
def test_some_tasks_are_those_of_all(
    text: str, states: set[TaskState], data: st.DataObject | None
) -> None:
    made = Plan(tasks=tuple(parse_markdown(text).plan.tasks))
    ids = set() if data is None else data.draw(st.sets(st.sampled_from(["", *made.by_id()])))
    after_a_key = reparse_markdown(parse_markdown(f"x{text}"), (0, 1, "")).plan
    after_a_key.some(states=states, ids=ids)
    for plan in (made, parse_markdown(text).plan, after_a_key):
        expected = tuple(task for task in made.tasks if task.state in states or task.id in ids)
        assert plan.some(states=states, ids=ids) == expected
        assert tuple(plan.tasks) == made.tasks


def test_what_is_not_asked_for_is_not_made() -> None:
    plan = parse_markdown(LATE).plan
    assert isinstance(plan.tasks, LazyTuple)
    assert [task.line for task in plan.some(states={TaskState.BLOCKED})] == [3, 7, 11]
    assert plan.some() == plan.some(states={TaskState.SKIPPED}) == ()
    second = plan.some(ids={"f00ba400", plan.some(states={TaskState.BLOCKED})[1].id})
    assert [task.line for task in second] == [7]
    assert plan.find("f00ba400") is None
    assert not plan.tasks.is_made
    assert plan.find(plan.tasks[4].id) == plan.tasks[4]
    assert plan.tasks.is_made


def test_tasks_above_a_key_are_not_made_again() -> None:
    before = parse_markdown(LATE)
    first, *_, last = before.plan.tasks
    after = reparse_markdown(before, (len(LATE), len(LATE), "- [ ] More\n")).plan.tasks
    assert after[0] is first
    assert after[-2] == last
    moved = reparse_markdown(before, (0, 0, "\n")).plan.tasks[0]
    assert (moved.line, moved.start) == (2, first.start + 1)


def test_places_beyond_the_text_are_its_end() -> None:
    after = reparse_markdown(parse_markdown("- [ ] a\n"), (-5, -5, "# P\n"))
    assert same(after, parse_markdown("# P\n- [ ] a\n"))
    assert same(
        reparse_markdown(after, (900, 950, "- [ ] b")), parse_markdown("# P\n- [ ] a\n- [ ] b")
    )
    assert same(
        reparse_markdown(after, (9, 2, "x")),
        parse_markdown("# P\n- [ ] xa\n".replace(" xa", "x a")),
    )


def test_a_plan_that_was_not_read_counts_as_empty() -> None:
    assert same(
        reparse_markdown(ParsedPlan(plan=Plan()), (0, 0, "- [ ] a")), parse_markdown("- [ ] a")
    )


def test_late_tuples_are_the_tuples_that_they_become() -> None:
    tasks = parse_markdown("- [ ] a\n- [ ] b\n").plan.tasks
    whole = tuple(tasks)
    assert tasks == whole
    assert whole == tasks
    assert tasks == parse_markdown("- [ ] a\n- [ ] b\n").plan.tasks
    a_list: object = list(whole)
    assert tasks != a_list
    assert hash(tasks) == hash(whole)
    assert repr(tasks) == repr(whole)
    assert (tasks[-1], tasks[:1]) == (whole[1], whole[:1])
    assert (len(tasks), whole[0] in tasks) == (2, True)
    assert len(parse_markdown("").problems) == 1


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("- [ ] a\n\n# H\n\n- [ ] b\n\n# I\n\n- [ ] c\n", (0, 0, "```\n")),
        ("- [ ] a\n\n# H\n\n- [ ] b\n\n# I\n\n- [ ] c\n", (7, 8, "\n<!--")),
        ("- [ ] A-1: x\n- [ ] y\n- [ ] A-1: z\n", (19, 20, "w")),
        ("- [ ] a\n- [ ] None\n", (6, 7, "None")),
    ],
)
def test_known_changes_are_read_as_the_whole_is(text: str, change: tuple[int, int, str]) -> None:
    start, end, piece = change
    after = reparse_markdown(parse_markdown(text), change)
    assert (after.plan, after.problems) == (
        (whole := parse_markdown(text[:start] + piece + text[end:])).plan,
        whole.problems,
    )


def test_the_tasks_of_an_unread_plan_are_counted() -> None:
    tasks = tuple(parse_markdown("- [ ] a\n- [x] b\n- [x] c\n").plan.tasks)
    assert Plan(tasks=tasks).tally() == {(TaskState.TODO, False): 1, (TaskState.DONE, False): 2}
