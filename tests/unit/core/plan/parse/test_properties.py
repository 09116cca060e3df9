"""What holds for every text, made up by Hypothesis."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from ralph_ls.core.plan.edit.task_edits import block_task, tick_task
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.queries import count_tasks, newly_done, next_task, parsed_plan_to_json
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import plan_texts

any_texts = st.one_of(
    plan_texts, st.text(st.characters()), st.text(alphabet="-*+[] x~`#<!>\n\r\t1.:ab")
)


def unplaced(plan: Plan, changed: str) -> list[Task]:
    """The tasks without their places; the changed one without what an edit changes."""
    tasks = [task._replace(line=0, start=0, end=0, end_line=0, mark=None) for task in plan.tasks]
    return [
        task._replace(state=TaskState.TODO, blocked_by=None) if task.id == changed else task
        for task in tasks
    ]


@given(any_texts)
def test_any_text_is_read_and_shown(text: str) -> None:
    parsed = parse_markdown(text)
    lines = list(lines_of(text))
    for task in parsed.plan.tasks:
        start, line = lines[task.line]
        assert (task.start, text[task.start : task.end]) == (start, line)
        assert task.line <= task.end_line < len(lines)
        assert lines[task.end_line][1].strip(" \t\ufeff")
        assert task.title
    assert all(1 <= problem.line <= len(lines) for problem in parsed.problems)
    assert [problem.line for problem in parsed.problems] == sorted(
        problem.line for problem in parsed.problems
    )
    assert parsed_plan_to_json(parsed)["tasks"] is not None


_LINES = st.sampled_from(
    [
        *("## Strategy", "## Implementation strategy", "### Phase 2: Lid"),
        *("### 1.2 Spout", "### Task 3: Steam", "## Success criteria", "## Implementation steps"),
        *("## Proposed changes", "### lid.py", "## Notes", "## ✅ What works", "### ❌ What leaks"),
        *("1. Boil it", "2) Sell it", "- a bullet", "- ✅ warm", "- ❌ cold", "10. **Test**: it"),
        *("**Tasks:**", "Prose.", "> A quote", "| Part | Status |", "|---|---|", "| Lid | open |"),
        *("", "  - nested", "   1. nested too", "- **Bold** - it", "Status: steam", "---"),
    ]
)
# A number beside numbers with a box is one of them, and reported as a guess.
_TICKED = st.sampled_from(["- [x] Cut", "- [X] T001 Bend", "* [x] Solder", "  - [x] Polish"])


@given(st.lists(_LINES), st.lists(_TICKED, min_size=1), st.lists(_LINES), st.lists(_LINES))
def test_no_task_is_invented_where_all_boxes_are_ticked(
    above: list[str], ticked: list[str], between: list[str], below: list[str]
) -> None:
    lines = ["# Tasks: Kettle", *above, "## Parts", *ticked, *between, "- [x] Paint", *below]
    text = "\n".join(lines)
    assume("**Tasks:**\n---" not in text)  # A heading that is named for tasks.
    tasks = parse_markdown(text).plan.tasks
    assert [task.title for task in tasks if task.state is not TaskState.DONE] == []


_PLACES = st.sampled_from(
    [
        *("# Kettle", "## Spout", "## Parts of it", "### Phase 2: Lid", "### 1.2 Knob", "## Fixes"),
        *("## Next steps", "## Remaining", "## Known bugs", "## Roadmap", "## Future", "## To do"),
        *("## Lid (in progress)", "## Implementation steps", "### Task 3: Steam", "## Status"),
        *("Still to do:", "**Tasks:**", "", "Prose.", "| Part | Status |", "|---|---|", "---"),
        *("- [ ] Boil", "- [x] Boil", "  - [x] Polish", "## ✅ What works", "## P1"),
    ]
)
_CANDIDATES = (
    *(
        "1. Cut {}",
        "1) Bend {}",
        "1. **Test**: {}",
        "- ✅ Solder {}",
        "- ❌ Paint {}",
        "- 🚧 Sell {}",
    ),
    *("- [wip] Pack {}", "☐ Dry {}", "> - [ ] Wax {}", "• [ ] Oil {}", "- ( ) Ship {}"),
    *("- ~~Heat {}~~", "- Buy {} (done)"),
)


_DEEPER = 7
"""A level below all headings."""


@given(st.lists(_PLACES | st.sampled_from(_CANDIDATES), max_size=14, unique=True))
def test_what_looks_like_a_task_is_one_or_in_one_or_reported(lines: list[str]) -> None:
    texts = [line.format(f"part {number}") for number, line in enumerate(lines)]
    parsed = parse_markdown("\n".join(texts), optional_sections=("future",))
    known = {number for guess in parsed.guesses for number in guess.lines}
    for task in parsed.plan.tasks:
        known.update(range(task.line, task.end_line + 1))
    inside = _DEEPER
    for number, line in enumerate(lines):
        level = len(line) - len(line.lstrip("#"))
        if 0 < level <= inside:
            # What is below a heading that is reported, done or a task needs no remark itself.
            inside = level if number in known or "✅" in line else _DEEPER
        is_known = number in known or inside < _DEEPER
        assert is_known or line not in _CANDIDATES, texts[number]


@given(any_texts)
def test_a_plan_without_tasks_says_so(text: str) -> None:
    parsed = parse_markdown(text)
    assert bool(parsed.plan.tasks) != any(one.code == "no-tasks" for one in parsed.problems)


@given(any_texts)
def test_lines_put_together_give_the_text(text: str) -> None:
    starts = [start for start, _ in lines_of(text)] + [len(text)]
    pieces = [text[begin:end] for begin, end in pairwise(starts)]
    assert "".join(pieces) == text
    assert all(
        piece.removesuffix("\n").removesuffix("\r") == line
        for piece, (_, line) in zip(pieces, lines_of(text), strict=True)
    )


@given(any_texts)
def test_ids_are_unique_and_parents_come_first(text: str) -> None:
    depths: dict[str, int] = {}
    for task in parse_markdown(text).plan.tasks:
        assert task.id not in depths
        assert task.depth == (0 if task.parent is None else depths[task.parent] + 1)
        depths[task.id] = task.depth


@given(any_texts)
def test_line_endings_do_not_matter(text: str) -> None:
    unix = text.replace("\r\n", "\n").replace("\r", "\n")
    dos = unix.replace("\n", "\r\n")
    assert (
        parsed_plan_to_json(parse_markdown(unix))
        == parsed_plan_to_json(parse_markdown(dos))
        == parsed_plan_to_json(parse_markdown(text))
    )


@given(plan_texts, st.data())
def test_a_tick_changes_one_task_and_one_place(text: str, data: st.DataObject) -> None:
    before = parse_markdown(text).plan
    if not before.tasks:
        return
    task = data.draw(st.sampled_from(before.tasks))
    edited = tick_task(text, task.id)
    after = parse_markdown(edited).plan
    assert unplaced(after, task.id) == unplaced(before, task.id)
    changed = after.find(task.id)
    assert changed is not None
    assert changed.state is TaskState.DONE
    was_done = task.state is TaskState.DONE
    assert newly_done(before, after) == (() if was_done else (task.id,))
    line = text[task.start : task.end]
    edited_line = edited[task.start : task.end + len(edited) - len(text)]
    assert edited == text[: task.start] + edited_line + text[task.end :]
    if was_done:
        assert edited == text
    elif len(edited) == len(text):
        pairs = zip(line, edited_line, strict=True)
        assert [new for old, new in pairs if old != new] == ["x"]
    else:
        assert line in (edited_line.replace("[x]", "[]", 1), edited_line.replace("[DONE] ", "", 1))
    assert tick_task(edited, task.id) == edited


@given(plan_texts, st.text(max_size=20) | st.sampled_from(["-", "[", "by"]), st.data())
def test_blocking_changes_one_task_and_only_adds(
    text: str, reason: str, data: st.DataObject
) -> None:
    before = parse_markdown(text).plan
    if not before.tasks:
        return
    task = data.draw(st.sampled_from(before.tasks))
    edited = block_task(text, task.id, reason)
    if task.state in {TaskState.DONE, TaskState.SKIPPED}:
        assert edited == text
        return
    after = parse_markdown(edited).plan
    folded = " ".join(reason.split())
    changed = after.find(task.id)
    assert changed is not None
    assert changed.state is TaskState.BLOCKED
    if folded:
        assert changed.blocked_by == folded
    assert unplaced(after, task.id) == unplaced(before, task.id)
    rest = iter(edited)
    assert all(character in rest for character in text), "the old text is still there, in order"
    assert block_task(edited, task.id, reason) == edited


@given(plan_texts)
def test_working_off_a_plan_comes_to_an_end(text: str) -> None:
    plan = parse_markdown(text).plan
    n_open = count_tasks(plan).open_required + count_tasks(plan).open_optional
    for _ in range(n_open):
        task = next_task(plan)
        assert task is not None
        text = tick_task(text, task.id)
        plan = parse_markdown(text).plan
    assert next_task(plan) is None
    assert count_tasks(plan).open_required == count_tasks(plan).open_optional == 0
