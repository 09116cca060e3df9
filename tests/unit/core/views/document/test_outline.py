"""Where headings and fences are found, and that tasks and headings agree about their sections."""

from __future__ import annotations

import pytest
from hypothesis import given

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.views.document.page import (
    Outline,
    PageBlockKind,
    headings_of_tasks,
    read_outline,
)
from tests.unit.core.plan.plan_assertions import PLANS
from tests.unit.core.views.sample_pages import page_texts


def outline_of(*lines: str) -> Outline:
    text = "\n".join(lines)
    return read_outline(text, {task.line for task in parse_markdown(text).plan.tasks})


def headings(*lines: str) -> list[tuple[int, int, str, int]]:
    """Each heading: its line, its level, its title and the last line of its section."""
    found = outline_of(*lines).headings
    return [(one.line, one.level, one.title, one.last_line) for one in found]


def blocks(*lines: str) -> list[tuple[str, int, int]]:
    return [(str(one.kind), one.line, one.end_line) for one in outline_of(*lines).blocks]


def test_a_section_ends_where_the_next_one_of_its_level_begins() -> None:
    assert headings("# A", "x", "## B", "### C", "## D", "", "# E") == [
        (0, 1, "A", 5),
        (2, 2, "B", 3),
        (3, 3, "C", 3),
        (4, 2, "D", 5),
        (6, 1, "E", 6),
    ]


@pytest.mark.parametrize(
    ("line", "title", "words"),
    [
        ("## **High** `x` ~~y~~", "High x y", "**High** `x` ~~y~~"),
        ("  ## In ##  ", "In", "In ##"),
        ("## C#", "C#", "C#"),
        ("## A <!-- b -->", "A", "A <!-- b -->"),
        ("\ufeff# First", "First", "First"),
        ("##", "", "##"),
        ("## \x0b", "", ""),
        ("# 日本 🚀", "日本 🚀", "日本 🚀"),
    ],
)
def test_a_title_has_no_marks_and_its_words_have_their_place(
    line: str, title: str, words: str
) -> None:
    [found] = outline_of(line).headings
    assert found.title == title
    assert line[found.start : found.end] == words


@pytest.mark.parametrize(
    "lines",
    [
        ("#x",),
        ("####### seven",),
        ("    # code",),
        ("- item", "  # in it"),
        ("```", "# fenced", "```"),
        ("<!--", "# hidden", "-->"),
        ("two", "lines", "==="),
        ("> quoted", "==="),
        ("- item", "---"),
        ("a", "", "==="),
        ("a", "=x="),
    ],
)
def test_what_is_no_heading(lines: tuple[str, ...]) -> None:
    assert headings(*lines) == []


def test_a_line_may_be_underlined() -> None:
    assert headings(" Plan **A** ", "===", "", "\ufeffPart", "---", "x") == [
        (0, 1, "Plan A", 5),
        (3, 2, "Part", 5),
    ]
    [found, _] = outline_of(" Plan ", "===", "Part", "---").headings
    assert (found.start, found.end) == (1, 5)


def test_a_heading_behind_an_item_is_one_again() -> None:
    assert headings("- item", "", "text", "  # A")[0][2] == "A"
    assert headings("- 1. a", "> x", "# A")[0][2] == "A"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (("```", "x", "```", "y"), [("fence", 0, 2)]),
        (("~~~~", "~~~", "~~~~~", "y"), [("fence", 0, 2)]),
        (("```py", "x"), [("fence", 0, 1)]),
        (("<!--", "x -->", "y"), [("comment", 0, 1)]),
        (("<!-- x -->", "y", "```a`b", "z", "~~x", "<p>"), []),
        (("- ```", "  x", "  ```", "- ~~~", "  y"), [("fence", 0, 2), ("fence", 3, 4)]),
        (("- a", "  ```", "  x", "", "# B"), [("fence", 1, 2)]),
        (("- a", "  ```", "", "- [ ] b"), [("fence", 1, 1)]),
        (("```", "      ```", "```"), [("fence", 0, 2)]),
        (("text", "    ```", "x"), []),
    ],
)
def test_fences_and_comments(lines: tuple[str, ...], found: list[tuple[str, int, int]]) -> None:
    assert blocks(*lines) == found


def test_a_fence_that_is_left_open_ends_with_the_next_task() -> None:
    text = "```\n- [ ] hidden\n"
    assert [one.end_line for one in read_outline(text, ()).blocks] == [2]
    assert [one.end_line for one in read_outline(text, {1}).blocks] == [0]


def test_front_matter_is_a_block_unless_tasks_are_in_it() -> None:
    assert blocks("---", "status: active", "---", "# A") == [("frontMatter", 0, 2)]
    assert headings("---", "# no: heading", "---") == []
    assert blocks("---", "- [ ] a", "---") == []
    open_one = outline_of("---", "status: active")
    assert (open_one.blocks, open_one.front_matter.is_there) == ((), False)


def test_a_line_knows_its_block() -> None:
    found = outline_of("---", "a: b", "---", "x", "```", "y", "```", "z")
    assert [found.is_verbatim(line) for line in range(8)] == [False] * 4 + [True] * 3 + [False]
    assert found.block_at(1) == found.blocks[0]
    assert found.block_at(3) is None


def test_a_text_ends_with_its_last_line_that_is_not_blank() -> None:
    found = outline_of("# A", "x", " ", "")
    assert (found.last_text_line(0, 3), found.last_text_line(2, 3)) == (1, 2)


@pytest.mark.parametrize("path", sorted(PLANS.glob("*.md")), ids=lambda path: path.stem)
def test_in_real_plans_each_task_is_below_its_own_heading(path: object) -> None:
    text = path.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    tasks = parse_markdown(text).plan.tasks
    found = read_outline(text, {task.line for task in tasks})
    levels = {one.line: one.level for one in found.headings}
    above = {
        task.line: next(
            (
                one.title
                for one in reversed(found.headings)
                if one.line < task.line and one.level < levels.get(task.line, 7)
            ),
            "",
        )
        for task in tasks
    }
    assert above == {task.line: task.section for task in tasks}


@given(page_texts)
def test_any_text_has_an_outline_in_which_everything_has_its_place(text: str) -> None:
    tasks = {task.line for task in parse_markdown(text).plan.tasks}
    found = read_outline(text, tasks)
    for one in found.headings:
        assert 0 <= one.start <= one.end <= len(found.lines[one.line])
        assert one.line <= one.last_line < len(found.lines)
    ends = [-1]
    for block in found.blocks:
        assert ends[-1] < block.line <= block.end_line < len(found.lines)
        ends.append(block.end_line)
    assert not any(found.is_verbatim(line) for line in tasks)
    assert {block.kind for block in found.blocks[1:]} <= {
        PageBlockKind.FENCE,
        PageBlockKind.COMMENT,
    }


def test_groups_of_tasks_are_named_by_the_heading_around_where_titles_repeat() -> None:
    text = (
        "- [ ] top\n# Plan\n- [ ] first\n## Phase 1\n### Tasks\n- [ ] a\n### Review\n- [ ] b\n"
        "## Phase 2\n### Tasks\n- [ ] c\n  - [ ] d\n## Tasks\n- [ ] e\n### Last\n- [ ] f\n"
        "# Tasks\n- [ ] g\n"
    )
    tasks = parse_markdown(text).plan.tasks
    groups = headings_of_tasks(text, tasks)
    assert {task.title: groups[task.id] for task in tasks if task.id in groups} == {
        "first": (1, "Plan"),
        "a": (4, "Phase 1 > Tasks"),
        "b": (6, "Review"),
        "c": (9, "Phase 2 > Tasks"),
        "d": (9, "Phase 2 > Tasks"),
        "e": (12, "Tasks"),
        "f": (14, "Last"),
        "g": (16, "Tasks"),
    }


def test_a_plan_in_a_fence_has_the_outline_of_what_is_in_it() -> None:
    found = outline_of("```markdown", "# Plan", "- [ ] a", "```sh", "# x", "```", "## End", "```")
    assert [(one.line, one.title) for one in found.headings] == [(1, "Plan"), (6, "End")]
    assert [(one.line, one.end_line) for one in found.blocks] == [(3, 5)]
    assert found.lines[0] == "```markdown"
