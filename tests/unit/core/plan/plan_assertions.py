"""How the tests of this folder look at a plan, and the texts that they make up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.markdown import parse_markdown

PLANS = Path(__file__).parents[3] / "data" / "plans"


def plan_of(*lines: str, optional_sections: Sequence[str] = ()) -> Plan:
    return parse_markdown("\n".join(lines), optional_sections=optional_sections).plan


def only_task(*lines: str) -> Task:
    (task,) = plan_of(*lines).tasks
    return task


def shown(*lines: str) -> list[str]:
    """Each task as ``state title``, nested ones further in."""
    return ["  " * task.depth + f"{task.state} {task.title}" for task in plan_of(*lines).tasks]


def problems_of(text: str) -> list[tuple[str, int]]:
    return [(problem.code, problem.line) for problem in parse_markdown(text).problems]


_INDENTS = ("", "", "", "  ", "   ", "    ", "\t", "      ")
_MARKERS = ("- ", "- ", "* ", "+ ", "1. ", "2) ", "12. ", "")
_BOXES = (
    "[ ] ",
    "[ ] ",
    "[x] ",
    "[X] ",
    "[~] ",
    "[!] ",
    "[-] ",
    "[&] ",
    "[/] ",
    "[ ]* ",
    "[] ",
    "[ ]",
    "",
)
_TEXTS = (
    "Fix login",
    "Add 日本語 page",
    "[BLOCKED] Wait",
    "[HIGH PRIORITY] Hurry",
    "**US-001** Story",
    "US-002: Other",
    "~~Struck~~",
    "~~Half~~ struck",
    "Blocked by: nobody",
    "Acceptance criteria:",
    "Done when: green",
    "[BUG] Crash",
    "[2026-01-29] log",
    "`code` <!-- gone -->",
    "Trailing ",
    "End [BLOCKED]",
    "",
)
_BLOCKS = (
    "",
    "",
    "# Plan",
    "## High Priority (P0)",
    "## Tasks",
    "### Low",
    "## Notes",
    "## Completed",
    "## Issues Discovered",
    "## Elsewhere",
    "```",
    "  ```",
    "~~~",
    "<!--",
    "-->",
    "---",
    "===",
    "> - [ ] quoted",
    "  more text",
    "plain text",
    "Criteria:",
    "  Criteria:",
    "  Needs: help",
    "  _Requirements: 1.2_",
)

item_lines = st.builds(
    "".join,
    st.tuples(*(st.sampled_from(parts) for parts in (_INDENTS, _MARKERS, _BOXES, _TEXTS))),
)
"""Lines that mostly are list items."""

plan_texts = st.builds(
    lambda bom, lines, ending, last: bom + ending.join(lines) + last,
    st.sampled_from(("", "", "\ufeff")),
    st.lists(st.one_of(item_lines, item_lines, st.sampled_from(_BLOCKS)), max_size=14),
    st.sampled_from(("\n", "\n", "\r\n", "\r")),
    st.sampled_from(("", "\n", "\r\n")),
)
"""Texts that look like plans, with what plans go wrong by."""
