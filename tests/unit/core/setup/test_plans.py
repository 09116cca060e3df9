"""The plan of a set-up: a new one of each profile, and items in somebody's own."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.setup.plans import add_items, new_plan
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.setup import DraftItem
from ralph_ls.protocol.task_words import Priority, TaskState

ITEMS = (
    DraftItem(title="Mend  the\nlogin", priority=Priority.P0, detail="It fails\n\n- Done: now"),
    DraftItem(title="Write it down"),
    DraftItem(title="Make it fast", priority=Priority.P2),
)


def read(text: str) -> list[tuple[str, Priority | None, TaskState]]:
    return [(task.title, task.priority, task.state) for task in parse_markdown(text).plan.tasks]


def test_a_fix_plan_has_the_items_below_its_headings() -> None:
    written = new_plan(ProfileName.FIXPLAN, ITEMS, spec="specs/login.md")
    assert written.notes == ()
    assert (
        written.text
        == """\
# Fix Plan

What is asked for: `specs/login.md`.

## High Priority (P0)

- [ ] Mend the login
  - It fails
  - Done: now

## Standard (P1)

- [ ] Write it down

## Nice to Have (P2)

- [ ] Make it fast

## Completed
"""
    )


def test_a_plan_of_specifications_is_one_list_by_priority() -> None:
    written = new_plan(ProfileName.SPEC, ITEMS[::-1], spec="specs/login.md")
    assert (
        written.text
        == """\
# Implementation Plan

## Remaining Tasks

1. [HIGH PRIORITY] Mend the login (specs/login.md)
   - It fails
   - Done: now
2. Write it down (specs/login.md)
3. [LOW PRIORITY] Make it fast (specs/login.md)
"""
    )
    assert [title for title, _, _ in read(written.text)] == [
        "Mend the login (specs/login.md)",
        "Write it down (specs/login.md)",
        "Make it fast (specs/login.md)",
    ]


def test_without_a_specification_nothing_names_one() -> None:
    assert "asked for" not in new_plan(ProfileName.FIXPLAN, ITEMS).text
    assert "specs/" not in new_plan(ProfileName.SPEC, ITEMS).text


def test_somebodys_plan_keeps_its_own_form_and_every_other_byte() -> None:
    text = "# Mine\r\n\r\n## P0\r\n\r\n* [ ] old\r\n\r\n## Standard\r\n\r\n* [x] was\r\n"
    written = add_items(text, ITEMS)
    assert written.text == (
        "# Mine\r\n\r\n## P0\r\n\r\n* [ ] old\r\n* [ ] Mend the login\r\n  - It fails\r\n"
        "  - Done: now\r\n\r\n## Standard\r\n\r\n* [x] was\r\n* [ ] Write it down\r\n"
        "* [ ] [P2] Make it fast\r\n"
    )


def test_a_plan_without_priorities_gets_no_tag_for_what_is_standard() -> None:
    assert add_items("1. [ ] old\n", ITEMS[1:2], origin=" (specs/a.md)").text == (
        "1. [ ] old\n2. [ ] Write it down (specs/a.md)\n"
    )


def test_what_the_plan_has_already_is_not_added_again_and_reported() -> None:
    twice = [DraftItem(title="OLD"), DraftItem(title="new"), DraftItem(title="New")]
    written = add_items("- [x] old\n", twice)
    assert [title for title, _, _ in read(written.text)] == ["old", "new"]
    assert written.notes == (
        "the plan already has the item 'OLD', so it was not added again",
        "the plan already has the item 'New', so it was not added again",
    )


@pytest.mark.parametrize("title", ["[x] done already", "~~gone~~", "[BLOCKED] keys", "[P0]"])
@pytest.mark.parametrize("profile", [ProfileName.FIXPLAN, ProfileName.SPEC])
def test_what_would_be_no_open_task_is_refused(title: str, profile: ProfileName) -> None:
    with pytest.raises(RalphError, match="would not be read as an open task"):
        new_plan(profile, [DraftItem(title=title)])


def test_a_detail_that_cannot_be_written_is_reported() -> None:
    item = DraftItem(title="new", detail="a row has no lines")
    text = "| Task | Status |\n|---|---|\n| old | Todo |\n"
    written = add_items(text, [item])
    assert "| new | " in written.text
    assert written.notes == ("the detail 'a row has no lines' of 'new' cannot be written below it",)


def test_marks_in_a_title_are_kept() -> None:
    item = DraftItem(title="**Bold**: a `b`", detail="more")
    for profile in (ProfileName.FIXPLAN, ProfileName.SPEC):
        text = new_plan(profile, [item]).text
        assert "**Bold**: a `b`\n" in text
        assert "- more\n" in text
