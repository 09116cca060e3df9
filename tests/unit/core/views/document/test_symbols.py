"""The tree of sections and tasks, and what can be folded."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from ralph_ls.core.views.document.page import Page, PageKind, page_kind
from ralph_ls.core.views.document.structure import (
    MAX_DEPTH,
    Selection,
    Symbol,
    folds,
    selections,
    symbols,
)
from tests.unit.core.views.sample_pages import page_of, pages

PLAN = """\
# Invoice

## High Priority
- [x] **US-001** Read the law 📜
- [ ] Round half a cent up
  - [~] Find the law
  - Done when: every total is right

- [!] Print
  - Blocked by: no key
## Nice to have
- [-] US-002:

```
- [ ] no task
```
"""


def tree(found: tuple[Symbol, ...]) -> list[object]:
    return [(one.name, one.detail, *tree(one.children)) for one in found]


def everything(found: tuple[Symbol, ...]) -> list[Symbol]:
    return [each for one in found for each in (one, *everything(one.children))]


def test_sections_and_tasks_are_nested_with_what_they_are() -> None:
    assert tree(symbols(page_of(PLAN))) == [
        (
            "Invoice",
            "2 of 5 done",
            (
                "High Priority",
                "1 of 4 done",
                ("US-001 Read the law 📜", "done · P0"),
                (
                    "Round half a cent up",
                    "open · P0",
                    ("Find the law", "in progress · P0"),
                ),
                ("Print", "blocked: no key · P0"),
            ),
            ("Nice to have", "1 of 1 done", ("US-002", "skipped · P2")),
        )
    ]


def test_each_has_its_lines_and_its_words() -> None:
    page = page_of(PLAN)
    found = {one.name: one for one in everything(symbols(page))}
    law = found["US-001 Read the law 📜"]
    assert page.outline.lines[law.line][law.start : law.end] == "**US-001** Read the law 📜"
    half = found["Round half a cent up"]
    assert (half.line, half.end_line, half.settled) == (4, 6, False)
    assert (found["High Priority"].line, found["High Priority"].end_line) == (2, 9)
    assert (law.settled, found["US-002"].settled) == (True, True)


def test_without_headings_tasks_are_alone_and_a_deep_one_is_no_ladder() -> None:
    assert tree(symbols(page_of("- [ ] a\n- [x] b"))) == [("a", "open"), ("b", "done")]
    deep = "".join(f"{'  ' * depth}- [ ] t{depth}\n" for depth in range(MAX_DEPTH + 3))
    found = symbols(page_of(deep))
    for _ in range(MAX_DEPTH - 1):
        [one] = found
        found = one.children
    assert [inner.name for inner in found[0].children] == ["t32", "t33", "t34"]


def test_what_has_no_words_has_a_name_all_the_same() -> None:
    assert tree(symbols(page_of("#\n## B\x1b[2J\n- [ ] \u200b"))) == [
        ("(no title)", "0 of 1 done", ("B\\x1b[2J", "0 of 1 done", ("\u200b", "open")))
    ]


def test_of_a_specification_only_boxes_are_tasks() -> None:
    text = "---\nstatus: active\n---\n# Login\n1. Open the page\n2. Type\n- [x] It works\r\n"
    assert tree(symbols(page_of(text, PageKind.SPEC))) == [
        ("Login", "1 of 1 done", ("It works", "done"))
    ]
    assert tree(symbols(page_of("# L\n1. Open", PageKind.INDEX))) == [("L", "")]
    assert [one.name for one in everything(symbols(page_of("# L\n1. Open")))] == ["L", "Open"]


def test_what_a_file_is_by_its_name() -> None:
    kinds = {
        name: page_kind(name, "docs/DONE.md")
        for name in (
            "docs/DONE.md",
            "PROGRESS.md",
            "specs/login.md",
            "specs/api/users.MD",
            "specs/README.md",
            "specs/api/README.md",
            "specs/archive/old.md",
            "specs/.hidden/x.md",
            "specs/notes.txt",
            "other/specs/login.md",
        )
    }
    assert kinds == {
        "docs/DONE.md": PageKind.PROGRESS,
        "PROGRESS.md": None,
        "specs/login.md": PageKind.SPEC,
        "specs/api/users.MD": PageKind.SPEC,
        "specs/README.md": PageKind.INDEX,
        "specs/api/README.md": PageKind.SPEC,
        "specs/archive/old.md": None,
        "specs/.hidden/x.md": None,
        "specs/notes.txt": None,
        "other/specs/login.md": None,
    }


def test_sections_tasks_fences_comments_and_front_matter_can_be_folded() -> None:
    text = f"---\nstatus: active\n---\n{PLAN}<!--\nx\n-->\n\n\n"
    found = [(str(one.kind), one.line, one.end_line) for one in folds(page_of(text))]
    assert found == [
        ("frontMatter", 0, 2),
        ("section", 3, 21),
        ("section", 5, 12),
        ("task", 7, 9),
        ("task", 11, 12),
        ("section", 13, 21),
        ("fence", 16, 18),
        ("comment", 19, 21),
    ]


@given(pages)
def test_any_page_has_symbols_that_are_nested(page: Page) -> None:
    lines = page.outline.lines
    found = everything(symbols(page))
    assert len(found) == len(page.plan.tasks) + len(page.outline.headings)
    for one in found:
        assert one.name.strip()
        assert one.line <= one.end_line < len(lines)
        assert 0 <= one.start <= one.end <= len(lines[one.line])
        for inner in one.children:
            assert one.line <= inner.line
            assert inner.end_line <= one.end_line


@given(pages)
def test_any_page_has_folds_of_several_lines(page: Page) -> None:
    for one in folds(page):
        assert 0 <= one.line < one.end_line < len(page.outline.lines)


def spans(page: Page, line: int, column: int) -> list[tuple[int, int, int, int]]:
    found = selections(page, line, column)
    return [(one.line, one.start, one.end_line, one.end) for one in found]


def test_a_selection_grows_from_the_title_to_the_page() -> None:
    page = page_of(PLAN)
    last = len(page.outline.lines) - 1
    outer = [(2, 0, 9, 22), (0, 0, last, 0)]
    title, line = (4, 6, 4, 26), (4, 0, 4, 26)
    assert spans(page, 4, 10) == [title, line, (4, 0, 6, 35), *outer]
    assert spans(page, 4, 0) == [line, (4, 0, 6, 35), *outer]
    inner = [(5, 0, 5, 20), (4, 0, 6, 35), *outer]
    assert spans(page, 5, 12) == [(5, 8, 5, 20), *inner]
    assert spans(page, 6, 3) == [(6, 0, 6, 35), (4, 0, 6, 35), *outer]


def test_outside_of_the_text_nothing_is_selected() -> None:
    assert selections(page_of("a"), 1, 0) == ()
    assert spans(page_of("a"), 0, 0) == [(0, 0, 0, 1)]


@given(pages)
def test_each_selection_holds_its_place_and_is_within_the_next(page: Page) -> None:
    for line, text in enumerate(page.outline.lines):
        for column in {0, len(text) // 2, len(text)}:
            found = selections(page, line, column)
            for one, wider in pairwise(
                [Selection(line=line, start=column, end_line=line, end=column), *found]
            ):
                assert (wider.line, wider.start) <= (one.line, one.start)
                assert (one.end_line, one.end) <= (wider.end_line, wider.end)
                assert one != wider or one.start == one.end
