"""Headings that are read as tasks stay tasks when some of them get a state, down to the last."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.edit.task_edits import tick_task
from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.task_words import TaskState

_FAMILIES = st.sampled_from(
    [
        *("## Task {}: saw{}", "## Phase {}: saw{}", "## WS{} — saw{}", "## Week {}: saw{}"),
        *("## Feature {}. saw{}", "### T00{}: saw{}", "## Issue #{}: saw{}", "### Story {}: saw{}"),
        *("## Milestone {} - saw{}", "## Part {}: saw{}", "## BUG-00{}: saw{}", "### {}. saw{}"),
        *("## {}. saw{}", "## PR000{} – saw{}"),  # noqa: RUF001
    ]
)
_ABOVE = st.sampled_from(["", "## To do\n\n", "## Phase 9: Base\n\n", "## Steps\n\n"])
_BODIES = st.sampled_from(["text", "- b\n- c", "1. b\n2. c"])
_BELOW = st.sampled_from(
    ["", "## 5. Coverage\n\ntext", "## Overview\n\n- a\n- b", "## Rules\n\n1. a\n2. b"]
)


def _in_front(mark: str) -> Callable[[str], str]:
    return lambda line: line.replace(" ", f" {mark} ", 1)


_BY_HAND = st.sampled_from(
    [
        *(lambda line: f"{line} [DONE]", lambda line: f"{line} ✅", lambda line: f"{line} (done)"),
        *(lambda line: f"{line} — Done", _in_front("[x]"), _in_front("✅")),
        lambda line: line.replace(" ", " ~~", 1) + "~~",
    ]
)


def _plan(family: str, above: str, body: str, below: str) -> str:
    parts = (f"{family.format(n, n)}\n\n{body}\n" for n in range(1, 4))
    return f"# Roof plan\n\n{above}" + "\n".join(parts) + f"\n{below}\n"


def _states(text: str) -> list[tuple[bool, TaskState]]:
    """Of each task whether it is one of the family, and its state."""
    return [("saw" in task.title, task.state) for task in parse_markdown(text).plan.tasks]


def _is_family(text: str) -> bool:
    kinds = [task.kind for task in parse_markdown(text).plan.tasks if "saw" in task.title]
    return kinds == [TaskKind.HEADING] * 3


@given(_FAMILIES, _ABOVE, _BODIES, _BELOW, _BY_HAND)
def test_a_state_by_hand_changes_no_other_heading(
    family: str, above: str, body: str, below: str, write: Callable[[str], str]
) -> None:
    text = _plan(family, above, body, below)
    if not _is_family(text):
        return
    others = [one for one in _states(text) if not one[0]]
    for number in range(1, 4):
        line = family.format(number, number)
        text = text.replace(line, write(line), 1)
        found = _states(text)
        assert [one for one in found if not one[0]] == others
        assert [state for is_own, state in found if is_own] == [
            *[TaskState.DONE] * number,
            *[TaskState.TODO] * (3 - number),
        ]


@given(_FAMILIES, _ABOVE, _BODIES, _BELOW)
def test_headings_are_ticked_to_the_last(family: str, above: str, body: str, below: str) -> None:
    text = _plan(family, above, body, below)
    if not _is_family(text):
        return
    tasks = parse_markdown(text).plan.tasks
    for task in tasks:
        text = tick_task(text, task.id)
    assert [one.title for one in parse_markdown(text).plan.tasks] == [one.title for one in tasks]
