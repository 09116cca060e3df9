"""A section Backlog is optional, unless it holds all the work of the plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import plan_of

STANDARD = ("Optional", "Future", "Later", "Backlog")


@pytest.mark.parametrize(
    ("lines", "required"),
    [
        pytest.param(("## Backlog", "- [ ] a", "- [x] b"), ["a", "b"], id="alone"),
        pytest.param(("## 📋 Backlog", "### API", "- [ ] a"), ["a"], id="with-parts"),
        pytest.param(("## Backlog", "- [ ] a", "## Done", "- [x] b"), ["a", "b"], id="and-done"),
        pytest.param(
            ("## Backlog", "- [ ] a", "## In Progress", "- [~] b", "## Done", "1. c"),
            ["a", "b", "c"],
            id="a-board",
        ),
        pytest.param(
            ("## Backlog", "- [ ] a", "## Issues Discovered", "- [BUG] b"), ["a", "b"], id="bugs"
        ),
        pytest.param(("## Backlog", "- [ ] a", "## Notes", "- [ ] b"), ["a"], id="and-notes"),
        pytest.param(("## Backlog", "- [ ] a", "## Future", "- [ ] b"), ["a"], id="and-future"),
        pytest.param(("## Tasks", "- [x] a", "## Backlog", "- [ ] b"), ["a"], id="beside-tasks"),
        pytest.param(("- [ ] a", "## Backlog", "- [ ] b"), ["a"], id="below-others"),
        pytest.param(("## Phase 1", "- [x] a", "## Backlog", "- [ ] b"), ["a"], id="and-a-phase"),
        pytest.param(("## Backlog (optional)", "- [ ] a"), [], id="and-optional"),
        pytest.param(("## Optional", "- [ ] a"), [], id="optional"),
        pytest.param(("## Optional", "### Backlog", "- [ ] a"), ["a"], id="the-nearest-name"),
        pytest.param(("- [ ]* a",), [], id="a-star"),
    ],
)
def test_a_backlog_with_all_the_work_is_required(
    lines: tuple[str, ...], required: list[str]
) -> None:
    plan = plan_of("# P", *lines, optional_sections=STANDARD)
    assert [task.title for task in plan.tasks if not task.optional] == required
    counts = plan.tally()
    assert sum(n for (_, optional), n in counts.items() if not optional) == len(required)
    found = plan.some(states=frozenset(TaskState))
    assert [task.title for task in found if not task.optional] == required


PARTS = st.sampled_from(
    ("# P\n", "## Backlog\n", "## Done\n", "## Tasks\n", "- [ ] a\n", "- [x] b\n", "1. c\n")
)


@given(st.lists(PARTS), st.lists(PARTS), st.lists(PARTS))
def test_it_is_known_after_a_keystroke(
    before: list[str], added: list[str], after: list[str]
) -> None:
    start, new, end = "".join(before), "".join(added), "".join(after)
    first = parse_markdown(start + end, optional_sections=STANDARD)
    again = reparse_markdown(first, (len(start), len(start), new))
    fresh = parse_markdown(start + new + end, optional_sections=STANDARD)
    assert again == fresh
    assert dict(again.plan.tally()) == dict(fresh.plan.tally())
