"""Plans as people and agents really write them, one sample of each dialect."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.model import ParsedPlan, TaskKind
from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.plan_assertions import PLANS, only_task, plan_of, shown


def read(name: str) -> tuple[str, ParsedPlan]:
    text = (PLANS / name).read_bytes().decode("utf-8")
    return text, parse_markdown(text, optional_sections=("Optional", "Future"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "emoji_headings.md",
            [
                "14-16 done 1.1 Lexer",
                "18-21 done 1.2 Parser",
                "25-27 inProgress 2.1 Type checker",
                "29-29 todo 2.2 Code generation",
                "31-32 blocked 2.4 Linker",
                "34-37 inProgress 2.5 Optimiser",
                "39-42 todo 2.7 Debugger",
                "44-44 done 2.8 Formatter",
                "46-46 done 2.9 Linter",
            ],
            id="headings",
        ),
        pytest.param(
            "table.md",
            [
                "7-7 done Read the config",
                "8-8 todo Write the | report",
                "9-9 inProgress Send the mail",
                "10-10 blocked Ask for a key",
                "16-16 todo Log in",
                "17-17 done Log out",
                "18-18 skipped Log around",
            ],
            id="tables",
        ),
        pytest.param(
            "numbered.md",
            [
                "7-7 todo Keep the session alive",
                "8-8 done Rename the module",
                "9-9 done Move the tests",
                "10-12 inProgress Split the store",
                "13-14 blocked Sign the release",
                "18-18 done 2026-01-28: Set up the project",
                "19-19 done Choose a name",
                "23-23 todo Offer a dark mode",
            ],
            id="numbers-with-gaps",
        ),
        pytest.param(
            "statuses.md",
            [
                "10-13 inProgress Log in",
                "14-16 blocked Log out",
                "17-18 todo Log around",
                "19-19 skipped Log nothing",
                "20-20 inProgress Log less",
                "21-21 blocked Log more",
                "22-22 done Log it all",
                "26-29 todo Login fails with special characters in password",
                "30-31 done A typo",
            ],
            id="status-lines",
        ),
        pytest.param(
            "crlf_tabs.md",
            ["5-7 todo 修复登录", "6-6 done 写测试", "8-8 done 🚀 发布"],
            id="bom-crlf-tabs-cjk",
        ),
    ],
)
def test_a_dialect_is_read_whole(name: str, expected: list[str]) -> None:
    text, parsed = read(name)
    assert parsed.problems == ()
    assert [
        f"{task.line + 1}-{task.end_line + 1} {task.state} {task.title}"
        for task in parsed.plan.tasks
    ] == expected
    lines = text.replace("\r\n", "\n").split("\n")
    for task in parsed.plan.tasks:
        assert text[task.start : task.end] == lines[task.line]


def test_sections_say_what_is_optional_and_what_never_counts() -> None:
    _, numbered = read("numbered.md")
    assert [task.optional for task in numbered.plan.tasks] == [False] * 7 + [True]
    _, remaining = read("implementation_plan.md")
    assert [task.title for task in remaining.plan.tasks if task.optional] == [
        "Optimize database queries in user service"
    ]
    assert {task.section for task in (*numbered.plan.tasks, *remaining.plan.tasks)} == {
        "Remaining Work", "Completed", "Future Work",
        "Remaining Tasks", "Issues Discovered", "Optional",
    }  # fmt: skip


def test_the_place_of_the_state_is_reported() -> None:
    marks = {
        "emoji_headings.md": ["🟢", "🟢", "🟡", "🔴", "⛔", None, None, "x", None],
        "table.md": ["x", " ", "~", "!", " ", "x", "-"],
        "crlf_tabs.md": [" ", "x", "x"],
    }
    for name, expected in marks.items():
        text, parsed = read(name)
        found = [task.mark and text[slice(*task.mark)] for task in parsed.plan.tasks]
        assert found == expected


def test_rows_and_headings_have_ids_priorities_and_reasons() -> None:
    _, table = read("table.md")
    assert [(task.id, task.priority) for task in table.plan.tasks[4:]] == [
        ("US-001", "P0"),
        ("US-002", "P2"),
        ("US-003", None),
    ]
    _, headings = read("emoji_headings.md")
    assert headings.plan.tasks[4].blocked_by == "no target machine"
    _, statuses = read("statuses.md")
    assert [task.priority for task in statuses.plan.tasks[-2:]] == ["P0", "P2"]
    assert statuses.plan.tasks[0].criteria == ("a wrong password is refused",)


def test_a_heading_with_tasks_below_it_is_none() -> None:
    assert shown("## 1. Phase ✅", "- [ ] a") == ["todo a"]
    assert shown("## 1. Phase ✅", "### 1.1 Part 🟡", "### 1.2 Part") == ["inProgress 1.1 Part"]
    assert shown("## 1. Phase ✅", "### Part", "text", "- [x] a", "# End") == ["done a"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("# Plan ✅",), id="the-title"),
        pytest.param(("## ✅ Completed",), id="it-says-something-else"),
        pytest.param(("## Notes", "### ✅ 1"), id="below-notes"),
        pytest.param(("## Overview", "### ✅ 1"), id="below-prose"),
        pytest.param(("## Part", "Status: unknown"), id="no-state"),
        pytest.param(("## Part", "Owner: done"), id="another-field"),
        pytest.param(("Part ✅", "-------"), id="underlined"),
        pytest.param(("## Part", "- [ ] a", "Status: done"), id="the-line-is-a-tasks"),
    ],
)
def test_other_headings_are_none(lines: tuple[str, ...]) -> None:
    assert TaskKind.HEADING not in {task.kind for task in plan_of(*lines).tasks}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(("## 1 Part [WIP]",), "inProgress 1 Part", id="tag"),
        pytest.param(("## [ ] US-1: Part",), "todo Part", id="box-and-id"),
        pytest.param(("## Part", "Status: done", "Status: todo"), "done Part", id="first-counts"),
        pytest.param(("## Part ✅", "Status: todo"), "done Part", id="sign-counts"),
        pytest.param(("## [x] Part", "Status: todo"), "done Part", id="box-counts"),
        pytest.param(("## Part [DONE]", "**Status**: todo"), "done Part", id="tag-counts"),
        pytest.param(("## Completed", "### Part 🔴"), "done Part", id="completed"),
        pytest.param(("## Part 🔴", "", "A", "==="), "todo Part", id="ends-before-an-underlined"),
    ],
)
def test_headings_with_a_state_are_tasks(lines: tuple[str, ...], expected: str) -> None:
    assert shown(*lines) == [expected]
    assert only_task(*lines).kind is TaskKind.HEADING


def test_a_heading_has_criteria() -> None:
    lines = (
        "## 1 Part",
        "Status: open",
        "",
        "**Criteria:**",
        "1. c1",
        "- c2",
        "",
        "text",
        "- note",
    )
    assert only_task(*lines, "- Done when: c3", "- note").criteria == ("c1", "c2", "c3")
    assert shown("# Part", "Criteria:", "1. a") == ["todo a"]


def test_a_state_in_brackets_is_no_part_of_the_title() -> None:
    assert shown("## 1 Part (✅ Ready) for all") == ["todo 1 Part for all"]


def test_notes_below_a_heading_leave_it_a_task() -> None:
    assert shown("## 1 Part ✅", "### Notes", "- [ ] a", "- [ ] b") == ["done 1 Part"]


def test_a_heading_ends_before_an_underlined_one() -> None:
    assert only_task("## Part 🔴", "text", "", "A", "===", "text").end_line == 1


TABLE = ("| Task | Status |", "|---|---|")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param((*TABLE, "| a | done |"), ["done a"], id="words-in-a-plan-without-boxes"),
        pytest.param((*TABLE, "| a | done |", "", "- [ ] b"), ["todo b"], id="words-beside-boxes"),
        pytest.param((*TABLE, "| a | done |", "## 1 b ✅"), ["done 1 b"], id="words-and-headings"),
        pytest.param((*TABLE, "| a | [ ] |", "", "- [ ] b"), ["todo a", "todo b"], id="boxes"),
        pytest.param((*TABLE, "| a | so so |"), [], id="no-state"),
        pytest.param((*TABLE, "| a |"), [], id="short-row"),
        pytest.param((*TABLE, "|  | [ ] |"), [], id="nothing-to-do"),
        pytest.param((*TABLE, "| a | [ ] |", "text"), ["todo a"], id="text-after-it"),
        pytest.param(("| A |", "| a | [ ] |"), [], id="no-rule"),
        pytest.param(("A", "---|---", "a | [ ]"), [], id="no-head"),
        pytest.param(
            ("No | a | Done", "---|---|---", "1 | b | [x]"), ["done b"], id="no-outer-edges"
        ),
        pytest.param(("## Notes", *TABLE, "| a | [ ] |"), [], id="notes"),
        pytest.param(("## Notes", *TABLE, "| a | done |"), [], id="words-in-notes"),
        pytest.param(("## Issues Discovered", *TABLE, "| a | [ ] |"), ["todo a"], id="issues"),
        pytest.param(("```", *TABLE, "| a | [ ] |", "```"), [], id="fence"),
        pytest.param(("| Priority | X |", "|-|-|", "| | [ ] a |", "| [ ] |"), [], id="not-alone"),
    ],
)
def test_rows_of_tables_are_tasks_by_their_boxes(
    lines: tuple[str, ...], expected: list[str]
) -> None:
    assert shown(*lines) == expected


def test_an_id_alone_names_a_row() -> None:
    (task,) = plan_of("| Story | Priority |", "|-|-|", "| `US-7` | odd | [ ] |").tasks
    assert (task.id, task.title, task.priority) == ("US-7", "US-7", None)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("- ✅ a", "- 🟡 b", "- c"), ["done a", "inProgress b", "todo c"], id="bullets"
        ),
        pytest.param(("- ✅ a", "- [ ] b"), ["todo b"], id="not-beside-boxes"),
        pytest.param(("- [ ] ✅ a",), ["todo ✅ a"], id="box-counts"),
        pytest.param(("1. a", "   - Status: done"), ["done a"], id="line-below"),
        pytest.param(("1. a", "2. Status: done"), ["todo a"], id="a-field-is-no-task"),
    ],
)
def test_signs_and_lines_say_the_state(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected
