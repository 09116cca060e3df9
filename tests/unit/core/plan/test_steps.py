"""The steps of a plan, and their progress."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.completion import has_progress, merge_steps, steps_of

PLAN = """# Plan

- [ ] Parse 12 dates
  - [x] Write tests
  1. [X] Read RFC
| [ ] | Print |
no box [x]
"""


def test_every_box_is_a_step() -> None:
    assert steps_of(PLAN) == {
        "parse dates": False,
        "write tests": True,
        "read rfc": True,
        "print": False,
    }
    assert steps_of("- [x] a 1\n- [ ] a 2\n") == {"a": True}


@pytest.mark.parametrize(
    ("after", "on"),
    [
        (PLAN, False),
        (PLAN.replace("[ ] Parse", "[x] Parse"), True),
        (PLAN.replace("[x] Write", "[ ] Write"), False),
        (PLAN.replace("12", "13"), False),
        (PLAN + "- [ ] Another one\n", True),
        (PLAN.replace("- [ ] Parse 12 dates\n", ""), False),
    ],
)
def test_a_plan_has_progress_with_a_first_tick_and_a_new_step(after: str, *, on: bool) -> None:
    assert has_progress(steps_of(PLAN), steps_of(after)) is on


def test_what_was_done_once_is_done() -> None:
    known = merge_steps({"a": True, "b": False}, {"a": False, "b": False, "c": True})
    assert known == {"a": True, "b": False, "c": True}
    assert not has_progress(known, {"a": True, "c": True})
