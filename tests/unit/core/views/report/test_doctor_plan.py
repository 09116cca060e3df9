"""Checks of ``ralph doctor`` about a plan, and their wording."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.inputs import HeldTask, PlanFacts
from ralph_ls.core.loop.profiles import profile_of, to_tables
from ralph_ls.core.plan.formats.dispatch import check_plan, parse_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.report.doctor_checks import (
    check_attempts,
    check_from_message,
    check_plan_read,
    has_no_problem,
    passed_check,
    problem_check,
    warning_check,
)
from ralph_ls.protocol.config.config import Config, ProfileName
from ralph_ls.protocol.json_output import CheckResult, CheckStatus
from ralph_ls.protocol.run.values import PlanCountsView, TaskRef

TASK = TaskRef(id="aaaa0001", title="Send mail")


def config(profile: ProfileName, **more: Any) -> Config:
    tables = to_tables({**profile_of(profile).settings, **more})
    return Config.model_validate({"profile": profile, **tables})


def counts(required: int, done: int, *, marker: bool = False) -> PlanCountsView:
    return PlanCountsView(
        total=required,
        done=done,
        required=required,
        required_done=done,
        open_required=required - done,
        marker=marker,
    )


def said(
    text: str, facts: PlanFacts, *, profile: ProfileName = ProfileName.FIXPLAN
) -> list[CheckResult]:
    parsed = parse_plan(text, PlanKind.MARKDOWN)
    remarks = check_plan(parsed, text, PlanKind.MARKDOWN)
    return check_plan_read("plan.md", parsed, remarks, facts, config(profile))


def test_a_plan_that_can_be_worked_off() -> None:
    facts = PlanFacts(counts=counts(2, 1), next_task=TASK)
    assert said("- [x] a\n- [ ] b\n", facts) == [
        passed_check("plan", "plan.md: 1 of 2 required tasks done")
    ]


def test_remarks_of_one_kind_are_reported_together() -> None:
    text = "- [ ] a [BLOCKED]\n- [ ] b [BLOCKED]\n- [ ] c [BLOCKED]\n"
    [_, found, blocked] = said(text, PlanFacts(counts=counts(3, 0)))
    assert found.code == "blocked-without-reason"
    assert "2 others like it" in found.message
    assert blocked.code == "everything-blocked"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            PlanFacts(counts=counts(2, 1), held=(HeldTask(task=TASK, why="no key"),)),
            "no task is ready: Send mail (aaaa0001): no key",
        ),
        (
            PlanFacts(counts=counts(2, 1), left="bd-1 waits for bd-2"),
            "no task is ready: bd-1 waits for bd-2",
        ),
    ],
)
def test_nothing_that_can_be_taken_is_a_problem(facts: PlanFacts, words: str) -> None:
    found = said("- [ ] a\n", facts)[-1]
    assert (found.code, found.status, found.message) == (
        "everything-blocked",
        CheckStatus.PROBLEM,
        words,
    )


def test_a_plan_that_is_done_is_well() -> None:
    assert len(said("- [x] a\n", PlanFacts(counts=counts(1, 1)))) == 1


@pytest.mark.parametrize(
    ("done", "words"),
    [(1, "PROJECT_COMPLETE with 1 required task open"), (2, "a run ends at once with 0")],
)
def test_a_marker_of_an_earlier_run(done: int, words: str) -> None:
    facts = PlanFacts(counts=counts(2, done, marker=True), next_task=TASK)
    text = "- [x] a\n- [ ] b\n\nPROJECT_COMPLETE\n"
    found = [one for one in said(text, facts, profile=ProfileName.SPEC) if one.code != "plan"]
    assert [one.code for one in found] == ["marker-at-start"]
    assert words in found[0].message
    # Another gate does not look for it.
    assert [one.code for one in said(text, facts)] == ["plan"]


def test_places_that_could_not_be_read() -> None:
    text = "- [ ]\n" * 5 + "- [ ] a\n"
    found = said(text, PlanFacts(counts=counts(1, 0), next_task=TASK))
    assert [one.code for one in found][1] == "plan-problems"
    assert "; line 2: " in found[1].message
    assert found[1].message.endswith(" and 2 more")


def test_criteria_of_issues_are_reported_by_their_ids() -> None:
    # These remarks come from issues alone, which are no markdown.
    from ralph_ls.core.plan.formats.beads.evidence import check_issues
    from ralph_ls.core.plan.formats.beads.issues import read_issue
    from ralph_ls.core.plan.formats.beads.snapshot import BeadsSnapshot, plan_of_snapshot

    issues = []
    for number in range(1, 5):
        raw = {"id": f"bd-{number}", "title": "t", "status": "open"}
        issue, _ = read_issue({**raw, "acceptance_criteria": "- [ ] it works correctly"})
        assert issue is not None
        issues.append(issue)
    snapshot = BeadsSnapshot(issues=tuple(issues))
    remarks = check_issues(snapshot)
    found = check_plan_read(
        "bd",
        plan_of_snapshot(snapshot),
        remarks,
        PlanFacts(counts=counts(4, 0), next_task=TASK),
        config(ProfileName.BEADS),
    )
    [vague] = [one for one in found if one.code == "criteria-vague"]
    assert vague.message == ("criteria that cannot be verified: bd-1; bd-2; bd-3 and 1 more")


def test_attempts_that_are_used_up() -> None:
    settings = config(ProfileName.BEADS)
    found = check_attempts({"bd-1": 3, "bd-2": 2, "bd-3": 4}, settings, "/state/attempts.txt")
    assert [one.message for one in found] == [
        "set aside after 3 attempts or more: bd-1 (3); bd-3 (4)"
    ]
    assert check_attempts({"bd-2": 2}, settings, "") == []
    assert check_attempts({"bd-2": 2}, config(ProfileName.FIXPLAN), "") == []


@pytest.mark.parametrize(
    ("message", "what", "remedy"),
    [
        ("a is gone; restore it; or not", "a is gone", "restore it; or not"),
        ("a is gone", "a is gone", None),
        ("not on PATH:\n  /bin\ninstall it; or not", "not on PATH:\n  /bin", "install it; or not"),
    ],
)
def test_an_error_is_reported_in_its_two_parts(message: str, what: str, remedy: str | None) -> None:
    found = check_from_message("x", message)
    assert (found.message, found.remedy, found.status) == (what, remedy, CheckStatus.PROBLEM)


def test_only_a_problem_is_not_well() -> None:
    assert has_no_problem([])
    assert has_no_problem([passed_check("a", "b"), warning_check("a", "b", "c")])
    assert not has_no_problem([passed_check("a", "b"), problem_check("a", "b", "c")])
