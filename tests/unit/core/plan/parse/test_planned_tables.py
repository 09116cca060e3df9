"""Tables of work without states: tasks where nothing else is one, and edited in place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.edit import task_edits, user_edits
from ralph_ls.core.plan.lint.checks import check_markdown
from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from tests.unit.core.plan.plan_assertions import shown


def table(head: str, *rows: str) -> str:
    n_cells = head.count("|") - 1
    return "\n".join((head, "|" + "---|" * n_cells, *rows, ""))


NUMBERED = table("| # | Task | Estimate |", "| 1 | Parse | 2d |", "| 2 | Link | 1d |")
PHASES = table("| Phase | Goal |", "| Phase 1: Parse | It reads |", "| Phase 2: Link | It links |")
STEPS = table("| Step | File |", "| 1 | `parse.py` |", "| 2 | `link.py` |")
UNNUMBERED = table("| Feature | Days |", "| Parse | 2 |", "| Link | 1 |")


def titles(text: str) -> list[str]:
    return [task.title for task in parse_markdown(text).plan.tasks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"# Plan\n\n{NUMBERED}", ["Parse", "Link"], id="numbers"),
        pytest.param(f"# Plan\n\n## Order\n\n{PHASES}",
                     ["Phase 1: Parse: It reads", "Phase 2: Link: It links"], id="phases"),
        pytest.param(table("| Phase | Time | Work |", "| 1 | 2 h | Parse |", "| 2 | 1 h | Link |"),
                     ["Parse", "Link"], id="phases-with-work"),
        pytest.param(f"# Plan\n\n{STEPS}", ["`parse.py`", "`link.py`"], id="steps"),
        pytest.param(f"# Plan\n\n## Tasks\n\n{UNNUMBERED}", ["Parse", "Link"], id="named-section"),
        pytest.param(f"# Plan\n\n## Details\n\n{UNNUMBERED}", [], id="other-section"),
        pytest.param(f"# Plan\n\n## Notes\n\n{NUMBERED}", [], id="notes"),
        pytest.param(table("| # | Name | Port |", "| 1 | web | 80 |", "| 2 | db | 1 |"), [],
                     id="no-work"),
        pytest.param(table("| # | Task |", "| 1 | Parse |"), [], id="one-row"),
        pytest.param(table("| # | Task |", "| 1 | Parse |", "| 2 | Link |", "| a | Note |"),
                     ["Parse", "Link"], id="a-row-without-a-number"),
        pytest.param(table("| # | Task |", "| a | Parse |", "| b | Link |"), [], id="no-numbers"),
        pytest.param(f"{NUMBERED}\n- [ ] Boxed\n", ["Boxed"], id="beside-a-box"),
        pytest.param(f"{NUMBERED}\n## Definition of done\n\n- [ ] Boxed\n- [x] Looked at\n",
                     ["Parse", "Link", "Boxed", "Looked at"], id="beside-criteria"),
        pytest.param(f"{NUMBERED}\n## Definition of done\n\n- [x] Boxed\n", ["Boxed"],
                     id="beside-criteria-that-are-met"),
        pytest.param(f"{NUMBERED}\n### Task 1: Named\n\nx\n", ["Task 1: Named"],
                     id="beside-a-heading"),
        pytest.param(NUMBERED.replace("| 1 |", "| 1 ✅ |"), ["Parse", "Link"], id="begun"),
        pytest.param(NUMBERED.replace("| 2 | Link | 1d |", "|"), [], id="short-row"),
    ],
)  # fmt: skip
def test_rows_are_tasks_where_nothing_else_is(text: str, expected: list[str]) -> None:
    assert titles(text) == expected


def test_it_is_reported_as_a_guess_by_the_column() -> None:
    (remark,) = [
        one for one in check_markdown(parse_markdown(NUMBERED), NUMBERED) if "-read" in one.code
    ]
    assert (remark.code, remark.message) == (
        "table-read-by-column",
        "2 rows are read from a table by the column #; write boxes there to be sure",
    )


@pytest.mark.parametrize(
    ("text", "ticked"),
    [
        (NUMBERED, NUMBERED.replace("| 1 |", "| 1 ✅ |")),
        (PHASES, PHASES.replace("1: Parse |", "1: Parse ✅ |")),
        (STEPS, STEPS.replace("| 1 |", "| 1 ✅ |")),
        (f"## Tasks\n\n{UNNUMBERED}", f"## Tasks\n\n{UNNUMBERED}".replace("Parse |", "Parse ✅ |")),
    ],
)
def test_a_row_is_ticked_blocked_and_opened(text: str, ticked: str) -> None:
    tasks = parse_markdown(text).plan.tasks
    first, last = tasks
    assert task_edits.tick_task(text, first.id) == ticked
    assert {task.id: task.state.value for task in parse_markdown(ticked).plan.tasks} == {
        first.id: "done", last.id: "todo"
    }  # fmt: skip
    opened = parse_markdown(task_edits.untick_task(ticked, first.id)).plan.tasks
    assert [task.state.value for task in opened] == ["todo", "todo"]
    both = parse_markdown(task_edits.tick_task(ticked, last.id)).plan.tasks
    assert [task.state.value for task in both] == ["done", "done"]
    blocked = task_edits.block_task(text, first.id, "no key")
    assert parse_markdown(blocked).plan.tasks[0].blocked_by == "no key"
    assert user_edits.retry_task(blocked, first.id) == text


@given(st.integers(0, 70), st.integers(0, 20), st.sampled_from(["", "- [ ] a\n", "✅", "|", "\n"]))
def test_a_keystroke_is_read_as_the_whole(start: int, size: int, new: str) -> None:
    before = f"# Plan\n\nWords.\n\n{NUMBERED}"
    parsed = reparse_markdown(parse_markdown(before), (start, start + size, new))
    text = before[:start] + new + before[start + size :]
    assert tuple(parsed.plan.tasks) == tuple(parse_markdown(text).plan.tasks)


@pytest.mark.parametrize(
    ("name", "n_lines"),
    [("Later", 2), ("Future improvements", 2), ("Post-MVP", 2), ("Out of scope", 0)],
)
def test_bullets_for_later_beside_boxes_are_reported(name: str, n_lines: int) -> None:
    text = f"## Tasks\n\n- [ ] Parse\n\n## {name}\n\n- Print\n  - in colour\n- Send\n"
    parsed = parse_markdown(text, optional_sections=("Later", "Future"))
    assert len(parsed.plan.tasks) == 1
    found = [one for one in check_markdown(parsed, text) if one.code == "lines-not-read"]
    assert [one.message.partition(" without")[0] for one in found] == (
        [f"{n_lines} lines"] if n_lines else []
    )


STATES_OF_CELLS = {
    "done": (
        *("✅", "✅ Done", "Done", "[x]", "x", "X", "Yes", "✓", "100%", "`done`", "**Done**", "☑"),
        *("DONE ✅", "🟢 Done", "Completed 2025-10-01", "✅ (PR #3)", "Done (2025-10-01)"),
    ),
    "inProgress": ("🔄", "In progress", "WIP", "50%", "🚧", "Partial", "In Progress (60%)"),
    "todo": ("", "-", "❌", "No", "[ ]", "TODO", "0%", "⬜", "Not started", "⏳ Pending"),
}


@pytest.mark.parametrize(
    "column",
    [
        *("Status", "State", "Done", "Done?", "Complete?", "Completed", "Progress", "✓", "✅"),
        *("Current status", "Implementation Status", "Task status", "Finished", "% done", "Stat."),
    ],
)
@pytest.mark.parametrize(
    "table",
    [
        "| # | Task | {0} |\n|---|---|---|\n| 1 | Saw | {1} |\n| 2 | Oil | {2} |\n",
        "| {0} | Task |\n|---|---|\n| {1} | Saw |\n| {2} | Oil |\n",
        "| Phase | Work | {0} |\n|---|---|---|\n| 1 | Saw | {1} |\n| 2 | Oil | {2} |\n",
    ],
)
def test_states_in_a_column_of_any_usual_name(table: str, column: str) -> None:
    for state, cells in STATES_OF_CELLS.items():
        for cell in cells:
            other = "[ ]" if cell.startswith("[") else "" if len(cell) < 2 else "TODO"
            lines = table.format(column, cell, other)
            assert shown("# Plan", "## Tasks", lines) == [f"{state} Saw", "todo Oil"], cell


@pytest.mark.parametrize("column", ["HTTP status", "Test status", "Response state"])
def test_the_status_of_something_else_is_no_column_of_states(column: str) -> None:
    table = f"| Endpoint | {column} |\n|---|---|\n| /saw | done |\n| /oil | open |\n"
    assert shown("# Plan", "## API", table) == []
