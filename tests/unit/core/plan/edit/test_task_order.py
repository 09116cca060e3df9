"""The user's orders about one task are edits of the kind of plan that it is in."""

from __future__ import annotations

from functools import partial

import pytest

from ralph_ls.core.plan.formats.dispatch import byte_exact_edit, edit_effects, plan_edit, retry_edit
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from tests.unit.core.plan.stories.story_builder import DONE, RETURNED, story, text_of


def test_markdown_and_stories_are_edited_each_in_their_own_form() -> None:
    markdown = plan_edit(PlanKind.MARKDOWN, TaskEdit.BLOCK, "AB-1", reason="no key")
    assert "Blocked by: no key" in markdown("- [ ] AB-1: Log in\n")
    moved = plan_edit(PlanKind.STORIES, TaskEdit.MOVE, "US-2", before="US-1")
    assert moved(text_of(story("US-1"), story("US-2"))) == text_of(story("US-2"), story("US-1"))
    opened = retry_edit(PlanKind.MARKDOWN, "AB-1")("- [~] AB-1: Log in\n")
    assert opened == "- [ ] AB-1: Log in\n  - Reset for retry\n"
    again = retry_edit(PlanKind.STORIES, "US-1")(text_of(story("US-1", **RETURNED)))
    assert again == text_of(story("US-1", notes="Reset for retry"))


@pytest.mark.parametrize(
    ("kind", "words"), [(PlanKind.BEADS, "bd update"), (PlanKind.REQUEST, "has no tasks")]
)
def test_what_has_no_text_to_edit_says_what_to_do_instead(kind: PlanKind, words: str) -> None:
    with pytest.raises(RalphError, match=words):
        plan_edit(kind, TaskEdit.BLOCK, "a")
    with pytest.raises(RalphError, match=words):
        retry_edit(kind, "a")


def test_an_id_that_is_made_of_words_is_looked_up_in_the_text_as_it_is() -> None:
    text = "- [~] caf\udce9\n"
    shown = "- [~] caf\N{REPLACEMENT CHARACTER}\n"
    from ralph_ls.core.plan.parse.markdown import parse_markdown

    task = parse_markdown(shown).plan.tasks[0]
    change = byte_exact_edit(PlanKind.MARKDOWN, partial(retry_edit, PlanKind.MARKDOWN), task.id)
    assert change(text).startswith("- [ ] caf\udce9\n")
    stories = byte_exact_edit(PlanKind.STORIES, partial(retry_edit, PlanKind.STORIES), "US-1")
    assert "Reset for retry" in stories(text_of(story("US-1")))


def test_what_a_save_did_is_reported_for_each_kind() -> None:
    done, decided = edit_effects(
        PlanKind.MARKDOWN, "- [ ] A-1: a\n- [ ] A-2: b\n", "- [x] A-1: a\n"
    )
    assert (done, decided) == (("A-1",), (("dropped", "A-2"),))
    before, after = text_of(story("US-1")), text_of(story("US-1", **DONE))
    done, decided = edit_effects(PlanKind.STORIES, before, after)
    assert done == ("US-1",)
    assert {name for name, _ in decided} == {"passes", "reviewStatus", "reviewCount"}
