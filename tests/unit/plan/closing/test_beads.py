"""What is run for closed issues, and what ``bd`` is told of them."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.beads.closing import check_closing
from ralph_ls.core.plan.beads.issues import Issue
from ralph_ls.core.plan.closing.beads import closings, commands, commands_for
from ralph_ls.core.plan.closing.checks import NOT_ALLOWED
from tests.unit.plan.closing.made import checked, verification

CRITERIA = "- [ ] Unit tests pass (`npm test`)\n- [ ] It is fast\n- [ ] It is round"


def issue(reason: str = "Done", criteria: str = CRITERIA) -> Issue:
    return Issue(id="bd-1", title="Log in", status="closed", criteria=criteria, close_reason=reason)


PASSED = verification("bd-1", checked("Unit tests pass (`npm test`)", "npm test"))
FAILED = verification("bd-1", checked("Unit tests pass (`npm test`)", "npm test", 1))


def test_what_is_run_for_closed_issues() -> None:
    (one,) = closings([issue(), issue(criteria="- It is fast")])
    assert (one.task.id, one.task.title) == ("bd-1", "Log in")
    assert [check.command for check in one.checks] == ["npm test"]


def test_what_allow_shows_is_of_all_issues() -> None:
    other = issue(criteria="- Lint passes (ruff check - exit 0)\n- `npm test`\n- `a b | c`")
    assert commands([issue(), other]) == ("npm test", "ruff check")


def test_the_close_reason_says_what_was_seen_and_keeps_what_was_claimed() -> None:
    claimed = (
        "Wrote the form\n\nAcceptance criteria verified:\n"
        "- [x] Unit tests pass (true - exit 0)\n- [x] It is fast (time x - exit 0)"
    )
    (command,) = commands_for(issue(claimed), PASSED)
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
    assert commands_for(issue(command[3]), PASSED) == ()
    assert check_closing(issue(command[3])).missing == ("It is round",)


def test_one_that_was_refuted_is_in_progress_again() -> None:
    (command,) = commands_for(issue(), FAILED)
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
    assert commands_for(issue(reason), seen) == ()
