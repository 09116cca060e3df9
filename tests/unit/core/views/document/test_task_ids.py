"""Where ids of tasks are found, what they can be renamed to, and what leads somewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.core.views.document.page import Page, PageKind
from ralph_ls.core.views.document.structure import (
    MAX_LINKS,
    FileLink,
    TaskLink,
    file_links,
    task_links,
)
from ralph_ls.core.views.document.task_ids import (
    known_task_ids,
    rename_refusal,
    task_id_at,
    task_id_uses,
)
from tests.unit.core.views.sample_pages import page_of, page_texts, pages

PAY = title_id("Pay by card (after: US-002)")

PLAN = f"""\
# Plan for US-001
- [x] **US-001** Read 📜 like US-002
- [ ] [BLOCKED: us-001] US-002: Print US-002
  - Needs: US-001, `us-003`; {PAY.upper()}
  - Blocked by: us-001-x, tests/US-001, US-001.md, US-0011, UTF-8
- [ ] Pay by card (after: US-002)
  Depends on: read 📜 LIKE us-002
- [ ] US-003:
```
US-001
```
"""


def found_in(page: Page, *others: Page) -> list[tuple[int, str, str, bool]]:
    """Line, text, meant id and whether it is the task's own, of each place."""
    known = known_task_ids(page.plan, *(other.plan for other in others))
    lines = page.outline.lines
    return [
        (use.line, lines[use.line][use.start : use.end], use.id, use.is_own)
        for use in task_id_uses(page, known)
    ]


def test_ids_are_found_at_their_task_and_where_they_are_meant() -> None:
    assert found_in(page_of(PLAN)) == [
        (0, "US-001", "US-001", False),
        (1, "US-001", "US-001", True),
        (1, "US-002", "US-002", False),
        (2, "us-001", "US-001", False),
        (2, "US-002", "US-002", True),
        (2, "US-002", "US-002", False),
        (3, "US-001", "US-001", False),
        (3, "us-003", "US-003", False),
        (3, PAY.upper(), PAY, False),
        (5, "US-002", "US-002", False),
        (6, "us-002", "US-002", False),
        (7, "US-003", "US-003", True),
    ]


def test_a_second_task_with_an_id_is_separate() -> None:
    plan = page_of("- [ ] US-001: a\n- [ ] US-001: b\nUS-001 and US-001-2")
    assert found_in(plan) == [
        (0, "US-001", "US-001", True),
        (1, "US-001", "US-001-2", True),
        (2, "US-001", "US-001", False),
        (2, "US-001-2", "US-001-2", False),
    ]


def test_what_was_done_may_be_reported_twice() -> None:
    done = page_of("- [x] US-001: a\n- [x] US-001: again\n- [x] A-9: b", PageKind.PROGRESS)
    plan = page_of("- [ ] US-001: a")
    known = known_task_ids(plan.plan, done.plan)
    assert [(use.line, use.id, use.is_own) for use in task_id_uses(done, known)] == [
        (0, "US-001", True),
        (1, "US-001", False),
        (2, "A-9", True),
    ]


def test_of_a_specification_only_the_front_matter_counts() -> None:
    text = "---\ntags: [US-001, us-001]\n---\nUS-001\n"
    known = known_task_ids(page_of("- [ ] US-001: a").plan)
    assert [use.start for use in task_id_uses(page_of(text, PageKind.SPEC), known)] == [7]
    assert task_id_uses(page_of("US-001", PageKind.SPEC), known) == ()
    assert task_id_uses(page_of("US-001", PageKind.INDEX), known) == ()


@pytest.mark.parametrize(
    ("line", "column", "meant"),
    [
        (1, 7, None),
        (1, 8, "US-001"),
        (1, 14, "US-001"),
        (1, 15, None),
        (9, 2, None),
        (99, 0, None),
        (-1, 0, None),
    ],
)
def test_the_id_at_a_cursor(line: int, column: int, meant: str | None) -> None:
    page = page_of(PLAN)
    use = task_id_at(page, known_task_ids(page.plan), line, column)
    assert (use and use.id) == meant


def test_an_id_becomes_another_that_is_one_and_is_free() -> None:
    known = known_task_ids(page_of(PLAN).plan)
    assert rename_refusal("US-001", "PAY-7", known) is None
    assert rename_refusal("US-001", "US-001", known) is None
    assert rename_refusal("US-001", "US-003", known) == (
        "US-003 is already the id of another task (US-003); choose a different one"
    )
    for bad in ("us-9", "US9", "", "US-1 x", "UTF-8", "US-1:", "US-1-2", "A\n-1"):
        refusal = rename_refusal("US-001", bad, known)
        assert refusal is not None
        assert "cannot be a task id; use capital letters, a hyphen and a number" in refusal
    assert (rename_refusal(PAY, "US-9", known) or "").startswith("this id comes from the task's")


def test_tasks_that_are_named_are_linked_by_id_and_by_title() -> None:
    page = page_of(PLAN)
    lines = page.outline.lines
    found = [
        (link.line, lines[link.line][link.start : link.end], link.task_line)
        for link in task_links(page, known_task_ids(page.plan))
    ]
    assert found == [
        (0, "US-001", 1),
        (1, "US-002", 2),
        (2, "us-001", 1),
        (2, "US-002", 2),
        (3, "US-001", 1),
        (3, "us-003", 7),
        (3, PAY.upper(), 5),
        (5, "US-002", 2),
        (6, "read 📜 LIKE us-002", 1),
    ]


def test_a_title_that_no_task_has_leads_nowhere() -> None:
    page = page_of("- [ ] a\n  - After: US-009\n  - After: c\n```\n- After: a\n```\n- [ ] b")
    assert task_links(page, known_task_ids(page.plan)) == ()
    assert task_links(page_of("- [ ] x\n- [ ] b\n  - After: x"), known_task_ids()) == ()
    spec = page_of("- [ ] x\n- [ ] b\n  - After: x", PageKind.SPEC)
    assert task_links(spec, known_task_ids(spec.plan)) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see specs/pay.md.", [("specs/pay.md", "specs/pay.md")]),
        ("see pay.md#tax", [("pay.md#tax", "pay.md")]),
        ("[a](docs/a%20b.txt#L3)", [("docs/a%20b.txt#L3", "docs/a b.txt")]),
        ('[a](<x.png> "title") [b]( y.md )', [("x.png", "x.png"), ("y.md", "y.md")]),
        ("[a]: specs/pay.md", [("specs/pay.md", "specs/pay.md")]),
        ("[日本](日本.md) 🚀 x.md", [("日本.md", "日本.md"), ("x.md", "x.md")]),
        ("- [ ] specs/pay.md: a\n```\nspecs/b.md\n```", [("specs/pay.md", "specs/pay.md")]),
        ("[a](../../etc/passwd) [b](/etc/passwd) [c](~/x) [d](a\\b)", []),
        ("[a](http://x.y/z) [b](mailto:a@b.c) [c](#here) [d](?q) [e]()", []),
        ("http://x.y/z.md //host/z.md C:z.md ~z.md .md.txt ../z.md", []),
        ("[a](specs/../..) [b](.) [c](a%00b)", []),
        ("no link at all", []),
    ],
)
def test_files_that_are_named(text: str, found: list[tuple[str, str]]) -> None:
    page = page_of(text)
    lines = page.outline.lines
    assert [
        (lines[link.line][link.start : link.end], link.names[0]) for link in file_links(page)
    ] == found


def test_a_name_is_searched_for_beside_the_page_below_the_root_and_among_specifications() -> None:
    [link] = file_links(page_of("b.md", PageKind.SPEC, name="specs/api/a.md"))
    assert link.names == ("specs/api/b.md", "b.md", "specs/b.md")
    [link] = file_links(page_of("[b](../b.png#x)", PageKind.SPEC, name="specs/a.md"))
    assert (link.names, link.fragment) == (("b.png",), "x")


def test_there_is_an_end_to_links() -> None:
    assert len(file_links(page_of("a.md b.md\n" * MAX_LINKS))) == MAX_LINKS


@given(pages, page_texts)
def test_any_page_has_uses_and_links_in_their_places(page: Page, other: str) -> None:
    plan = page_of(other).plan
    known = known_task_ids(page.plan, plan)
    lines = page.outline.lines
    found = task_id_uses(page, known)
    assert list(found) == sorted(found, key=lambda use: (use.line, use.start))
    for use in found:
        written = lines[use.line][use.start : use.end]
        assert use.id.casefold().startswith(written.casefold())
        assert task_id_at(page, known, use.line, use.end) == use
    led: list[TaskLink | FileLink] = [*task_links(page, known), *file_links(page)]
    for place in led:
        assert 0 <= place.start < place.end <= len(lines[place.line])
    for link in file_links(page):
        assert all(not name.startswith(("/", "../")) and name != ".." for name in link.names)


@given(page_texts, st.sampled_from(["US-001", "US-002"]))
def test_a_renamed_task_keeps_all_that_names_it(text: str, old: str) -> None:
    page = page_of(text)
    known = known_task_ids(page.plan)
    places = [use for use in task_id_uses(page, known) if use.id == old]
    lines = list(page.outline.lines)
    for use in reversed(places):
        lines[use.line] = f"{lines[use.line][: use.start]}NEW-77{lines[use.line][use.end :]}"
    after = page_of("\n".join(lines))
    renamed = [use for use in task_id_uses(after, known_task_ids(after.plan)) if use.id == "NEW-77"]
    is_there = old in known.tasks and any(use.is_own for use in places)
    assert not is_there or len(renamed) == len(places)


def test_a_line_with_such_a_word_need_not_name_a_task() -> None:
    page = page_of("- [ ] US-001: One\n  look after US-001\n")
    assert [(use[0], use[3]) for use in found_in(page)] == [(0, True), (1, False)]
