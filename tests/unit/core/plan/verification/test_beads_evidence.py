"""The commands that are run for closed issues, and the result recorded in ``bd``."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.beads.evidence import (
    check_close_reason,
    closings,
    verification_commands,
)
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue
from ralph_ls.core.plan.verification.criterion_checks import NOT_ALLOWED
from tests.unit.core.plan.verification.criterion_cases import checked, verification

CRITERIA = "- [ ] Unit tests pass (`npm test`)\n- [ ] It is fast\n- [ ] It is round"


def issue(reason: str = "Done", criteria: str = CRITERIA) -> BeadsIssue:
    return BeadsIssue(
        id="bd-1", title="Log in", status="closed", criteria=criteria, close_reason=reason
    )


PASSED = verification("bd-1", checked("Unit tests pass (`npm test`)", "npm test"))
FAILED = verification("bd-1", checked("Unit tests pass (`npm test`)", "npm test", 1))


def test_what_is_run_for_closed_issues() -> None:
    (one,) = closings([issue(), issue(criteria="- It is fast")])
    assert (one.task.id, one.task.title) == ("bd-1", "Log in")
    assert [check.command for check in one.checks] == ["npm test"]


def test_a_claim_in_other_words_is_kept_where_it_cites_the_command() -> None:
    criteria = "- npm test auth.test.ts exits 0\n- It is round (make round)"
    claimed = "- [x] Unit tests pass (npm test auth.test.ts - exit 0)"
    seen = verification("bd-1", checked("It is round (make round)", "make round"))
    (command,) = verification_commands(issue(claimed, criteria), seen)
    assert command[3].splitlines()[1:] == [claimed, "- [x] It is round (make round - exit 0)"]
    assert check_close_reason(issue(command[3], criteria)).is_verified


def test_the_close_reason_has_the_results_and_keeps_the_claims() -> None:
    claimed = (
        "Wrote the form\n\nAcceptance criteria verified:\n"
        "- [x] Unit tests pass (true - exit 0)\n- [x] It is fast (time x - exit 0)"
    )
    (command,) = verification_commands(issue(claimed), PASSED)
    assert command == (
        "close",
        "bd-1",
        "--reason",
        (
            "Wrote the form\nAcceptance criteria verified:\n"
            "- [x] Unit tests pass (npm test - exit 0)\n"
            "- [x] It is fast (time x - exit 0)"
        ),
    )
    assert verification_commands(issue(command[3]), PASSED) == ()
    assert check_close_reason(issue(command[3])).missing == ("It is round",)


def test_one_that_was_refuted_is_in_progress_again() -> None:
    (command,) = verification_commands(issue(), FAILED)
    assert command == (
        "update",
        "bd-1",
        "--status",
        "in_progress",
        "--notes",
        "Verification failed: Unit tests pass (npm test - exit 1)",
    )


@pytest.mark.parametrize("reason", ["", "Done"])
def test_one_that_was_not_run_is_left_alone(reason: str) -> None:
    seen = verification("bd-1", checked("It", "npm test", None, not_run=NOT_ALLOWED))
    assert verification_commands(issue(reason), seen) == ()
