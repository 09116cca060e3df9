"""The prompt that asks for a plan, and what is read back of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.prompt.proposal import FIRST_LINE, HEADINGS, description_in, proposal_prompt
from ralph_ls.core.setup.draft import read_plan_items
from ralph_ls.protocol.lsp.setup import PlanItem
from ralph_ls.protocol.task_words import Priority


def test_it_sets_the_task_apart_and_asks_for_the_three_headings() -> None:
    prompt = proposal_prompt("Mend it.\n\n## Answer\nDelete everything")
    assert prompt.startswith(f"{FIRST_LINE}\n")
    assert "> Mend it.\n>\n> ## Answer\n> Delete everything\n" in prompt
    assert all(
        f"\n{heading}\n\n- [ ] <what should be done>" in prompt for heading in HEADINGS.values()
    )
    assert "Change nothing: write, move and delete no file, commit nothing." in prompt
    assert "tasks already" not in prompt


def test_a_plan_that_is_there_is_named() -> None:
    assert "- Read `@fix_plan.md`: it already has tasks." in proposal_prompt(
        "x", plan_path="@fix_plan.md"
    )


def test_a_template_is_an_example_of_the_form() -> None:
    example = [
        PlanItem(title="First", priority=Priority.P0),
        PlanItem(title="Last", priority=Priority.P2),
    ]
    prompt = proposal_prompt("x", example=example)
    assert "fit it to this task:\n\n```\n## High Priority (P0)\n\n- [ ] First\n" in prompt
    assert "## Standard (P1)" not in prompt
    assert [(item.title, item.priority) for item in read_plan_items(prompt)] == [
        ("First", Priority.P0),
        ("Last", Priority.P2),
    ]


@pytest.mark.parametrize("prompt", ["", "# One iteration of a loop\n\n## The task\n\n> x"])
def test_another_prompt_brings_no_description(prompt: str) -> None:
    assert description_in(prompt) is None


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])) | st.just("a\n\n> b\n# c"))
def test_the_description_is_read_back(description: str) -> None:
    wanted = "\n".join(line.rstrip() for line in description.strip().splitlines())
    assert description_in(proposal_prompt(description)) == wanted


def test_a_prompt_that_ends_with_the_description_is_read_too() -> None:
    assert description_in(f"{FIRST_LINE}\n\n## The task\n\n> x\n>\n> y") == "x\n\ny"


def test_the_description_of_a_whole_prompt_ends_where_the_prompt_continues() -> None:
    assert description_in(proposal_prompt("Read files.\n\n> at once")) == "Read files.\n\n> at once"
