"""What is offered at a place, and what it takes the place of; ``|`` is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.core.views.document.completions import (
    MAX_COMPLETIONS,
    Completion,
    Completions,
    completions_at,
)
from ralph_ls.core.views.document.page import PageKind
from tests.unit.core.views.sample_pages import page_of, page_texts

SPECS = ("api/users.md", "login.md", "pay.md")
LAW = title_id("Read the law")
PLAN = """\
- [x] Read the law
- [ ] **US-001** Pay by card 💳
- [!] US-002: Print
  - Blocked by: no key
"""
BOXES = ["[ ]", "[x]", "[~]", "[!]", "[-]"]
TAGS = [
    "[BLOCKED]",
    "[HIGH PRIORITY]",
    "[MEDIUM PRIORITY]",
    "[LOW PRIORITY]",
    "[BUG]",
    "[IN PROGRESS]",
    "[DONE]",
]


def offered(text: str, kind: PageKind = PageKind.PLAN, *, name: str = "") -> Completions:
    before, _, after = text.partition("|")
    page = page_of(before + after, kind, name=name)
    line = before.count("\n")
    column = len(before) - before.rfind("\n") - 1
    plan = page.plan if kind is PageKind.PLAN else page_of(PLAN).plan
    return completions_at(page, line, column, plan=plan, specs=SPECS)


def labels(text: str, kind: PageKind = PageKind.PLAN) -> list[str]:
    return [one.label for one in offered(text, kind).items]


def taken(text: str, label: str, kind: PageKind = PageKind.PLAN, *, name: str = "") -> str:
    """The line after one of them was taken."""
    one = next(one for one in offered(text, kind, name=name).items if one.label == label)
    line = text.replace("|", "").split("\n")[text.partition("|")[0].count("\n")]
    return f"{line[: one.start]}{one.text}{line[one.end :]}"


# ----------------------------------------------------------------------------------- tags, boxes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- [ ] |", TAGS),
        ("- [ ] [|", TAGS),
        ("- [ ] [|] Fix", TAGS),
        ("- [ ] [HIGH PR|", ["[HIGH PRIORITY]"]),
        ("- [ ] [prio|", [tag for tag in TAGS if "PRIO" in tag]),
        ("- [ ] B|", ["[BLOCKED]", "[BUG]"]),
        ("- [ ] **[BUG]** [|", TAGS),
        ("- [ ] [BUG] hi|", ["[HIGH PRIORITY]"]),
        ("- |", BOXES + TAGS),
        ("- [|", BOXES + TAGS),
        ("- [|] Fix", BOXES),
        ("- [x|] Fix", BOXES),
        ("1. |", TAGS),
        ("1. [|", BOXES + TAGS),
        ("- [ ] Fix |", []),
        ("- [ ] Fix [|", []),
        ("- [ ] [BUG] Fix b|", []),
        ("-| [ ] Fix", []),
        ("text [|", []),
        ("```\n- [|\n```", []),
        ("<!--\n- [|\n-->", []),
    ],
)
def test_tags_and_boxes_where_a_title_begins(text: str, found: list[str]) -> None:
    assert labels(text) == found


@pytest.mark.parametrize(
    ("text", "label", "line"),
    [
        ("- [ ] [|", "[BUG]", "- [ ] [BUG] "),
        ("- [ ] [b|] Fix", "[BUG]", "- [ ] [BUG] Fix"),
        ("- [ ] b| Fix", "[BUG]", "- [ ] [BUG] Fix"),
        ("- [ ] [BUG] h|", "[HIGH PRIORITY]", "- [ ] [BUG] [HIGH PRIORITY] "),
        ("- |Fix", "[x]", "- [x] Fix"),
        ("- [|] Fix", "[x]", "- [x] Fix"),
        ("- [ |] 日本 🚀", "[!]", "- [!] 日本 🚀"),
    ],
)
def test_a_tag_takes_the_place_of_what_was_begun(text: str, label: str, line: str) -> None:
    assert taken(text, label) == line


def test_a_tag_is_found_by_what_is_there_already() -> None:
    [blocked, _] = offered("- [ ] b|").items
    assert (blocked.label, blocked.filter) == ("[BLOCKED]", "BLOCKED")
    assert offered("- [ ] [b|").items[0].filter == "[BLOCKED]"


# ---------------------------------------------------------------------------------------- tasks


@pytest.mark.parametrize(
    "begun",
    [
        "  - Needs: |",
        "  - **Blocked by:** |",
        "  Depends on: US-001, |",
        "  After: a and |",
        "  Needs:|",
    ],
)
def test_tasks_where_a_line_names_what_is_waited_for(begun: str) -> None:
    found = offered(f"{PLAN}- [ ] Last\n{begun}").items
    assert [(one.label, one.settled) for one in found] == [
        ("US-001", False),
        ("US-002", False),
        (LAW, True),
    ]
    assert [one.detail for one in found] == [
        "Pay by card 💳 (open)",
        "Print (blocked: no key)",
        "Read the law (done)",
    ]
    assert found[0].filter == "US-001 Pay by card 💳"


@pytest.mark.parametrize(
    ("begun", "line"),
    [
        ("  - Needs: pay by| 💳", "  - Needs: US-001 💳"),
        ("  - Needs:|", "  - Needs: US-001"),
        ("  - Needs: 🚀,|", "  - Needs: 🚀, US-001"),
        ("  - Needs: 🚀 and us|", "  - Needs: 🚀 and US-001"),
        ("- [ ] Last (after: |)", "- [ ] Last (after: US-001)"),
        ("- [ ] [BLOCKED: |] Last", "- [ ] [BLOCKED: US-001] Last"),
        ("- [ ] [BLOCKED: |", "- [ ] [BLOCKED: US-001"),
    ],
)
def test_a_task_takes_the_place_of_what_was_begun(begun: str, line: str) -> None:
    assert taken(f"{PLAN}- [ ] Last\n{begun}", "US-001") == line


def test_a_task_waits_for_no_other_part_of_the_line_and_never_for_itself() -> None:
    assert labels("- [ ] a\n- [ ] US-001: b\n  - Needs: |") == [title_id("a")]
    assert labels("- [ ] a\n  - Nee|ds: ") == []
    assert labels("- [ ] a\n\nNeeds: |") == [title_id("a")]
    assert labels("- [ ] a\n  - Notes: |") == []


def test_of_many_tasks_those_are_offered_that_fit() -> None:
    text = "".join(f"- [ ] US-{number}: Do {number}\n" for number in range(1, MAX_COMPLETIONS + 51))
    found = offered(f"{text}- [ ] Last\n  - Needs: |")
    assert (len(found.items), found.is_complete) == (MAX_COMPLETIONS, False)
    found = offered(f"{text}- [ ] Last\n  - Needs: us-24|")
    assert [one.label for one in found.items] == ["US-24", *(f"US-24{n}" for n in range(10))]


# ------------------------------------------------------------------------------- specifications


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("---\n|\n---", ["status", "created", "updated", "tags", "dependencies", "supersedes"]),
        ("---\nsta|\nTags: [a]\n---", [
            "status", "created", "updated", "dependencies", "supersedes",
        ]),
        ("---\nstatus:|\n---", ["active", "implemented", "obsolete", "superseded-by"]),
        ("---\nstatus: a|\n---", ["active", "implemented", "obsolete", "superseded-by"]),
        ("---\nstatus: superseded-by l|\n---", ["api/users.md", "pay.md"]),
        ("---\ndependencies: [|\n---", ["api/users.md", "pay.md"]),
        ("---\nsupersedes:\n  - a.md\n  - |\n---", ["api/users.md", "pay.md"]),
        ("---\ncreated: |\n---", []),
        ("---\ntags:\n# no list\n- |\n---", []),
        ("---\n- |\n---", []),
        ("---\n? |\n---", []),
        ("---\nstatus: |", ["active", "implemented", "obsolete", "superseded-by"]),
        ("---\nstatus: |\n# Login", ["active", "implemented", "obsolete", "superseded-by"]),
        ("---\na: b\n# Login\nstatus: |", []),
        ("|---\n---", []),
        ("---\n---|", []),
        ("---\n---\nstatus: |", []),
        ("# Login\n- [ ] |", []),
    ],
)  # fmt: skip
def test_front_matter(text: str, found: list[str]) -> None:
    assert labels(text, PageKind.SPEC) == found


@pytest.mark.parametrize(
    ("text", "label", "line"),
    [
        ("---\nst|\n---", "status", "status: "),
        ("---\nst|: x\n---", "status", "status: x"),
        ("---\nstatus:|\n---", "active", "status: active"),
        ("---\nstatus: superseded-by |\n---", "pay.md", "status: superseded-by pay.md"),
        ("---\ndependencies: [日本.md, p|]\n---", "pay.md", "dependencies: [日本.md, pay.md]"),
        ('---\ndependencies: ["p|"]\n---', "pay.md", 'dependencies: ["pay.md"]'),
        ("---\nsupersedes:\n- p|\n---", "pay.md", "- pay.md"),
    ],
)
def test_front_matter_takes_the_place_of_what_was_begun(text: str, label: str, line: str) -> None:
    assert taken(text, label, PageKind.SPEC) == line


def test_a_specification_in_a_folder_names_the_others_from_the_root() -> None:
    text, name = "---\ndependencies: l|\n---", "specs/api/users.md"
    found = offered(text, PageKind.SPEC, name=name).items
    assert [one.label for one in found] == ["specs/login.md", "specs/pay.md"]
    assert taken(text, "specs/login.md", PageKind.SPEC, name=name) == "dependencies: specs/login.md"


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("- [ ] see specs/|", PageKind.PLAN, "- [ ] see specs/pay.md"),
        ("- [ ] 🚀 [a](|)", PageKind.PLAN, "- [ ] 🚀 [a](specs/pay.md)"),
        ("specs/lo|", PageKind.PROGRESS, "specs/pay.md"),
        ("[a](p|", PageKind.SPEC, "[a](../specs/pay.md"),
        ("see specs/p|", PageKind.INDEX, "see specs/pay.md"),
    ],
)
def test_names_of_specifications(text: str, kind: PageKind, found: str) -> None:
    label = found.partition("specs")[2]
    items = offered(text, kind).items
    one = next(one for one in items if one.label.endswith(f"specs{label.rstrip(')')}"))
    assert taken(text, one.label, kind) == found
    assert ("specs/login.md" in [each.label for each in items]) == (kind is not PageKind.SPEC)


def test_where_nothing_is_begun_nothing_is_offered() -> None:
    for kind in (PageKind.PROGRESS, PageKind.INDEX):
        assert labels("- [ ] see |", kind) == []
    page = page_of("- [ ] a")
    for line in (-1, 1, 99):
        assert completions_at(page, line, 0, plan=page.plan, specs=SPECS) == Completions()


@given(page_texts, st.sampled_from(PageKind), st.integers(-1, 20), st.integers(-1, 40))
def test_at_any_place_what_is_offered_takes_a_part_of_the_line(
    text: str, kind: PageKind, line: int, column: int
) -> None:
    page = page_of(text, kind)
    found = completions_at(page, line, column, plan=page.plan, specs=SPECS)
    one: Completion
    for one in found.items:
        assert 0 <= one.start <= one.end <= len(page.outline.lines[line])
        assert one.start <= max(column, 0)
        assert one.label
        assert one.filter
