"""One place picks the reader of a plan, and the file's name says more than the profile."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.beads.snapshot import snapshot_to_text
from ralph_ls.core.plan.formats.dispatch import check_plan, parse_plan
from ralph_ls.core.plan.formats.registry import format_of_file
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.beads.test_queue import snapshot_of
from tests.unit.core.plan.stories.story_builder import story, text_of

MARKDOWN = "## Optional\n- [ ] Paint it\n- [ ] Paint it\n"
STORIES = text_of(story("US-1", passes=True, reviewStatus="needs_review"))
ISSUES = snapshot_to_text(snapshot_of({"id": "bd-1", "title": "Log in"}))


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("IMPLEMENTATION_PLAN.md", PlanKind.MARKDOWN, PlanKind.MARKDOWN),
        ("@fix_plan.MD", PlanKind.STORIES, PlanKind.MARKDOWN),
        ("plan.markdown", PlanKind.BEADS, PlanKind.MARKDOWN),
        ("ralph/tasks.json", PlanKind.STORIES, PlanKind.STORIES),
        ("ralph/tasks.JSON", PlanKind.MARKDOWN, PlanKind.STORIES),
        ("prd.json", PlanKind.BEADS, PlanKind.STORIES),
        ("PLAN", PlanKind.MARKDOWN, PlanKind.MARKDOWN),
        ("PLAN", PlanKind.STORIES, PlanKind.STORIES),
        ("PLAN", PlanKind.BEADS, PlanKind.MARKDOWN),
        ("PLAN", PlanKind.REQUEST, PlanKind.MARKDOWN),
    ],
)
def test_the_kind_of_a_file(path: str, kind: PlanKind, expected: PlanKind) -> None:
    assert format_of_file(path, kind).name is expected


@pytest.mark.parametrize(
    ("text", "kind", "ids"),
    [
        (MARKDOWN, PlanKind.MARKDOWN, 2),
        (STORIES, PlanKind.STORIES, 1),
        (ISSUES, PlanKind.BEADS, 1),
        (MARKDOWN, PlanKind.REQUEST, 0),
    ],
)
def test_each_kind_has_its_reader(text: str, kind: PlanKind, ids: int) -> None:
    assert len(parse_plan(text, kind).plan.tasks) == ids


def test_what_only_one_kind_knows_is_passed_on_to_it() -> None:
    optional = parse_plan(MARKDOWN, PlanKind.MARKDOWN, optional_sections=("Optional",)).plan
    assert [task.optional for task in optional.tasks] == [True, True]
    reviewed = parse_plan(STORIES, PlanKind.STORIES)
    assert reviewed.plan.tasks[0].state is TaskState.DONE
    assert [problem.code for problem in reviewed.problems] == ["story-passes-unreviewed"]
    assert parse_plan(STORIES, PlanKind.STORIES, skip_review=True).problems == ()


@pytest.mark.parametrize(
    ("text", "kind", "codes"),
    [
        (MARKDOWN, PlanKind.MARKDOWN, {"duplicate-task"}),
        ("- [ ] Paint it\n\nDONE_ALL\n", PlanKind.MARKDOWN, {"marker-with-open-tasks"}),
        (STORIES, PlanKind.STORIES, {"close-without-evidence"}),
        (ISSUES, PlanKind.BEADS, {"criteria-missing"}),
        (MARKDOWN, PlanKind.REQUEST, set()),
    ],
)
def test_each_kind_has_its_checks(text: str, kind: PlanKind, codes: set[str]) -> None:
    found = check_plan(parse_plan(text, kind), text, kind, marker="DONE_ALL")
    assert {remark.code.value for remark in found} == codes
