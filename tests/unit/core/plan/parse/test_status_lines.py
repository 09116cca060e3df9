"""Words behind ``Status:``: work that was checked is done, and an unknown word is named."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import untick_task
from ralph_ls.core.plan.model import GuessCause
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.words.status_values import read_status
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import problems_of, shown


@pytest.mark.parametrize(
    "words",
    [
        "verified", "checked, in May", "**Accepted**", "geprüft", "vérifiée", "verificado",
        "aceita", "проверен. Отчёт: a.md", "принят", "zweryfikowane", "geverifieerd",
        "verificato", "test edildi", "đã kiểm tra", "terverifikasi",
        "已验证", "検証済み", "검증됨",
    ],
)  # fmt: skip
def test_work_that_was_checked_is_done(words: str) -> None:
    assert shown("## Phase 1 — Parse", f"Status: {words}") == ["done Phase 1 — Parse"]


@pytest.mark.parametrize("words", ["not verified", "[ ] some day", "nicht geprüft", "⏳ 待處理"])
def test_what_is_to_be_checked_is_open(words: str) -> None:
    assert shown("## Phase 1 — Parse", f"Status: {words}") == ["todo Phase 1 — Parse"]
    assert problems_of(f"## Phase 1 — Parse\nStatus: {words}") == []


def test_rows_of_a_table_say_so_too() -> None:
    rows = ("| Task | Status |", "|---|---|", "| a | Verified |", "| b | open |")
    assert shown(*rows) == ["done a", "todo b"]


def test_an_unknown_word_is_named() -> None:
    lines = ("# P", "## Phase 1: a", "Status: verified", "## Phase 2: b", "Status: simmering")
    (problem,) = parse_markdown("\n".join(lines)).problems
    assert (problem.code, problem.line) == ("unknown-status", 4)
    assert problem.message == (
        "the status 'simmering' of 'Phase 2: b' is unknown and read as open; write todo, "
        "in progress, done, blocked or skipped"
    )


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("# P", "Status: simmering", "- [ ] a"), id="of-the-document"),
        pytest.param(("## Phase 1 [DONE]", "Status: simmering"), id="beside-a-state"),
        pytest.param(("## Parser", "Status: simmering", "- [ ] a"), id="of-no-task"),
        pytest.param(("- [x] a", "  Status: simmering"), id="below-a-ticked-box"),
        pytest.param(("- [ ] a", "  Status: 200 OK"), id="a-number"),
        pytest.param(("- [ ] a", "  Status: see `a.md`"), id="code"),
        pytest.param(("- [ ] a", f"  Status: {'long ' * 9}"), id="prose"),
        pytest.param(("- [ ] a", "  Status: simmering", "  Status: open"), id="and-a-known-one"),
    ],
)
def test_elsewhere_it_is_not(lines: tuple[str, ...]) -> None:
    assert problems_of("\n".join(lines)) == []
    assert read_status("simmering") is None


@pytest.mark.parametrize("name", ["Konwencje", "Quy ước", "規約", "Afspraken", "Convenzioni"])
def test_conventions_are_prose(name: str) -> None:
    assert shown("# Tasks", f"## {name}", "- be kind", "## Tasks", "- a") == ["todo a"]


def test_lists_above_the_first_heading_that_is_a_task_are_prose() -> None:
    lines = ("# Tasks: Roof", "## Customs", "- Each task has output", "1. Then a check",
             "## Work", "### T1 — Saw — DONE", "### T2 — Nail", "## Bugs",
             "- It leaks")  # fmt: skip
    assert shown(*lines) == ["done T1 — Saw", "todo T2 — Nail", "todo It leaks"]
    found = {one.cause: one.lines for one in parse_markdown("\n".join(lines)).guesses}
    assert found[GuessCause.PROSE] == (2, 3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "## Phase 1: a\nStatus: verified\n", "## Phase 1: a\nStatus: todo\n", id="line"
        ),
        pytest.param(
            "| Task | Status |\n|---|---|\n| a | verified |\n",
            "| Task | Status |\n|---|---|\n| a | todo |\n",
            id="column",
        ),
    ],
)
def test_it_is_opened_again_in_its_place(before: str, after: str) -> None:
    (task,) = parse_markdown(before).plan.tasks
    assert untick_task(before, task.id) == after


@pytest.mark.parametrize("label", ["Status", "Статус", "Стан", "状态"])
def test_an_unknown_word_below_an_open_box_is_named(label: str) -> None:
    (problem,) = parse_markdown(f"# P\n- [ ] a\n  - {label}: simmering\n- [x] b").problems
    assert (problem.code, problem.line) == ("unknown-status", 2)
    assert problem.message == (
        "the status 'simmering' of 'a' is unknown, so its box counts; write todo, in progress, "
        "done, blocked or skipped"
    )


def test_ukrainian_states_below_boxes_are_read() -> None:
    lines = ("- [ ] a", "  - Статус: Не розпочато", "- [ ] b", "  - Статус: В процесі")  # noqa: RUF001
    assert shown("# Tasks", *lines) == ["todo a", "inProgress b"]


def test_a_status_against_the_box_is_counted_once() -> None:
    lines = ("# P", "- [ ] a", "  - Status: Done", "- [x] b", "  - Status: open",
             "- [x] c", "  - Status: Done", "- [ ] d", "  - Status: in progress",
             "- [x] e", "  - Status: skipped", "- [~] f", "  Status: done", "- [x]",
             "  - Status: open")  # fmt: skip
    assert shown(*lines) == ["todo a", "done b", "done c", "inProgress d", "done e", "inProgress f"]
    (found,) = [
        one
        for one in parse_markdown("\n".join(lines)).guesses
        if one.cause is GuessCause.STATUS_AGAINST_BOX
    ]
    assert found.lines == (1, 3)


@pytest.mark.parametrize(
    "words",
    [
        *(
            "✅ Approved",
            "✅ Ready for implementation",
            "✅ Planning complete",
            "🟢 On track",
            "Accepted",
        ),
        *(
            "✅ Freigegeben",
            "✅ 承認済み",
            "✔️ Agreed",
            "✅ Reviewed",
            "✅ MVP complete",
            "🟢 0/24 tasks",
        ),
        *(
            "✅ 3/7 tasks complete",
            "Approved, not started",
            "✅ Signed off",
            "✅ Validated",
            "🟢 Green",
        ),
    ],
)
def test_a_plan_that_was_agreed_to_is_yet_to_be_worked_on(words: str) -> None:
    lines = ("# Roof", f"**Status**: {words}", "## Phase 1: Saw", "a", "## Phase 2: Oil", "b")
    assert shown(*lines) == ["todo Phase 1: Saw", "todo Phase 2: Oil"]


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("✅ Approved", "todo"),
        ("✅ Approved, not started", "todo"),
        ("🟢 0/24 tasks complete (0%)", "todo"),
        ("✅ 3/7 tasks", "inProgress"),
        ("✅ 3 of 7", "inProgress"),
        ("✅ 7/7 tasks", "done"),
        ("🟢 On track", "todo"),
        ("✅ In v2, with tests", "done"),
        ("✅ Approved and implemented", "todo"),
        ("✅ Approved - done", "todo"),
        ("✅ Done, approved", "done"),
    ],
)
def test_who_agreed_to_a_task_did_not_do_it(words: str, state: str) -> None:
    lines = ("### Milestone 1: Saw", f"**Status**: {words}", "### Milestone 2: Oil", "x")
    assert shown("# Roof", *lines)[0] == f"{state} Milestone 1: Saw"


def test_an_item_whose_lines_are_all_done_is() -> None:
    lines = ("1. Saw", "   - ✅ beams", "   - ✅ tiles", "2. Oil", "   - ✅ doors", "   - the lid")
    assert shown("# Roof", "## Next steps", *lines) == ["done Saw", "todo Oil"]


@pytest.mark.parametrize(
    "label", ["**Gate G0**", "**Exit gate**", "**Quality gates**", "**Done when**", "**Puerta G1**"]
)
def test_boxes_below_a_gate_come_last(label: str) -> None:
    lines = ("# Roof", "### F0 · Base", label, "- [ ] it holds", "### F1 · Saw", "- [ ] Saw it")
    tasks = parse_markdown("\n".join(lines)).plan.tasks
    assert [(task.title, task.is_criterion) for task in tasks] == [
        ("it holds", True),
        ("Saw it", False),
    ]


STATES_BELOW = {
    TaskState.DONE: (
        *("**Status:** ✅ Complete", "Status: done", "> Status: done", "*Status: done*"),
        *("**Status: COMPLETE**", "- Status: `done`", "**Status**: 100%", "**State:** done"),
        *("**Current status:** Complete", "**Implementation status:** Done", "**Progress:** 100%"),
        *("**Completed:** 2025-10-01", "**Result:** done", "✅ **COMPLETED**", "**✅ Completed**"),
        *("✅ Done", "**DONE**", "*(completed)*", "Done.", "#### Status: ✅ Complete"),
    ),
    TaskState.IN_PROGRESS: (
        *("**Status:** 🔄 In progress", "**Progress:** 60%", "🚧 In progress", "**State:** WIP"),
        *("> **Status:** WIP", "#### Status: in progress"),
    ),
    TaskState.TODO: (
        *("**Status:** Not started", "**Progress:** 0%", "**Completed:**", "**Done:**", "✅ Done:"),
        *("**State:** kept in a file", "**Progress:** see the log", "#### Status of the art"),
        "**Result:** a parser",
    ),
}


@pytest.mark.parametrize(
    ("line", "state"), [(line, state) for state, lines in STATES_BELOW.items() for line in lines]
)
@pytest.mark.parametrize("heading", ["## Phase {}: Saw", "### Task {}: Oil", "## Step {} - Wax"])
def test_a_line_below_a_heading_gives_its_state(heading: str, line: str, state: TaskState) -> None:
    others = "".join(f"\n{heading.format(number)}\n\nMore.\n" for number in (2, 3))
    text = f"# Implementation plan\n\n{heading.format(1)}\n\n{line}\n\nWords.\n{others}"
    tasks = parse_markdown(text).plan.tasks
    assert [task.state for task in tasks] == [state, TaskState.TODO, TaskState.TODO]
    assert [task.title for task in tasks] == [heading[3:].strip().format(n) for n in (1, 2, 3)]
    beside = parse_markdown(f"{text}\n## Phase 4\n\n- [ ] Sell\n").plan.tasks
    assert [task.title for task in beside if task.state is TaskState.TODO][-1] == "Sell"


@pytest.mark.parametrize("line", ["✅ **COMPLETED**", "**Progress:** 100%", "#### Status: done"])
def test_open_boxes_below_such_a_line_stay_open_and_are_reported(line: str) -> None:
    parsed = parse_markdown(f"# Plan\n\n## Phase 1\n\n{line}\n\n- [x] a\n- [ ] b\n")
    assert [task.state for task in parsed.plan.tasks] == [TaskState.DONE, TaskState.TODO]
    assert [guess.cause for guess in parsed.guesses] == [GuessCause.OPEN_BELOW_DONE]
