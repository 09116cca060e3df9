"""What a new line behind a task begins with."""

from __future__ import annotations

import pytest
from hypothesis import given

from ralph_ls.core.views.document.completions import LineEdit, continued
from ralph_ls.core.views.document.page import Page
from tests.unit.core.views.sample_pages import page_of, pages

BEGUN = LineEdit(line=1, start=0, end=0, text="- [ ] ")


def edit(end: int, text: str) -> LineEdit:
    return LineEdit(line=1, start=0, end=end, text=text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("- [ ] One\n", edit(0, "- [ ] "), id="open"),
        pytest.param("- [x] One\n", edit(0, "- [ ] "), id="done"),
        pytest.param("* [!] One [BLOCKED]\n", edit(0, "* [ ] "), id="another-mark"),
        pytest.param("9. [ ] One\n", edit(0, "10. [ ] "), id="number"),
        pytest.param("-   [ ] One\n", edit(0, "-   [ ] "), id="gap"),
        pytest.param("- [ ] One\n  ", edit(2, "- [ ] "), id="indented-by-the-editor"),
        pytest.param("- [ ] One\n- ", edit(2, "- [ ] "), id="mark-by-the-editor"),
        pytest.param("- [ ] One \ntwo", edit(0, "- [ ] "), id="split"),
        pytest.param("- [ ] 計画 🚀\n", edit(0, "- [ ] "), id="wide"),
        pytest.param("- [ ] One\n- [ ] ", None, id="box-by-the-editor"),
        pytest.param("- [ ] \n", LineEdit(line=0, start=0, end=6, text=""), id="end-of-the-list"),
        pytest.param("- [ ] \nSome words", None, id="empty-above-words"),
        pytest.param("- One\n", None, id="no-box"),
        pytest.param("Some words\n", None, id="words"),
        pytest.param("```\n- [ ] One\n", None, id="first-line-of-a-fence"),
    ],
)
def test_a_list_continues_behind_a_task(text: str, expected: LineEdit | None) -> None:
    assert continued(page_of(text), 1) == expected


def test_nested_tasks_keep_their_indentation() -> None:
    page = page_of("- [ ] One\n  - [ ] Two\n")
    assert continued(page, 2) == LineEdit(line=2, start=0, end=0, text="  - [ ] ")


@pytest.mark.parametrize("line", [-1, 0, 2, 99])
def test_outside_of_the_text_nothing_continues(line: int) -> None:
    assert continued(page_of("- [ ] One\n"), line) is None


def test_a_fence_and_a_box_of_no_task_are_left_alone() -> None:
    assert continued(page_of("- [ ] One\n```\n- [ ] code\n\n```\n"), 3) is None
    assert continued(page_of("Words\n\n    - [ ] code\n"), 3) is None


@given(pages)
def test_an_edit_is_within_its_line(page: Page) -> None:
    lines = page.outline.lines
    for line in range(len(lines) + 1):
        found = continued(page, line)
        if found is not None:
            assert 0 <= found.start <= found.end <= len(lines[found.line])
