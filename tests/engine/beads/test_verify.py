"""Criteria that name commands, run by the engine itself before a close holds.

See docs/rules.md#verification.
"""

from __future__ import annotations

import pytest

from tests.engine.beads.conftest import Issues, end_of, said, tasks_of
from tests.engine.ralph_runner import told

pytestmark = pytest.mark.slow

CHECKED = "- [ ] the wall stands (test -f wall - exit 0)"
VERIFY = "verify = true\nplan_when_stuck = false\n"
DONE = "report 'STATUS: IN_PROGRESS'"


def wall(work: Issues, criteria: str = CHECKED) -> Issues:
    work.issues({"id": "bd-1", "title": "Wall", "acceptance_criteria": criteria}, config=VERIFY)
    assert work.say("allow", "--yes").exit_code == 0
    return work


def test_what_holds_is_written_as_b_writes_it_whatever_the_agent_claims(work: Issues) -> None:
    wall(work).agent(f"work; : >wall; commit; bd close bd-1 --reason Done >/dev/null; {DONE}")
    done = work.work_on()
    assert end_of(done)[0] == 0
    assert tasks_of(done) == ["bd-1"]
    assert said(done, "close-without-evidence") == []
    reason = work.issue("bd-1")["close_reason"]
    assert "- [x] the wall stands (test -f wall - exit 0)" in reason


def test_what_does_not_hold_is_open_again_whatever_the_agent_claims(work: Issues) -> None:
    """The agent can only meet the criteria, not claim them."""
    claim = "- [x] the wall stands (test -f wall - exit 0)"
    wall(work).agent(
        f"""\
work
case $RALPH_START in 2) : >wall;; esac
commit; bd close bd-1 --reason '{claim}' >/dev/null; {DONE}
"""
    )
    done = work.work_on()
    assert end_of(done)[0] == 0
    assert tasks_of(done) == ["bd-1", "bd-1"]
    assert [one.attempt for one in told(done, "attemptCounted")] == [1, 2]
    assert "Verification failed: the wall stands" in work.issue("bd-1")["notes"]
    assert [one.evidence.tasks_done for one in told(done, "evidenceGathered")] == [(), ("bd-1",)]


def test_a_criterion_without_a_command_still_needs_its_line(work: Issues) -> None:
    wall(work, f"{CHECKED}\n- [ ] it looks good to Ada").agent(
        f"""\
work; : >wall; commit
case $RALPH_START in
1) bd close bd-1 --reason Done >/dev/null;;
*) bd close bd-1 --reason '- [x] it looks good to Ada' >/dev/null;;
esac; {DONE}
"""
    )
    done = work.work_on()
    assert end_of(done)[0] == 0
    assert tasks_of(done) == ["bd-1", "bd-1"]
    (message,) = said(done, "close-without-evidence")
    assert "1 criterion not verified" in message


def test_a_command_that_an_agent_brings_is_not_run(work: Issues) -> None:
    wall(work).agent(
        f"""\
case $issue in
bd-1) bd create Evil --id bd-2 --acceptance "- [ ] it works (touch ran - exit 0)" >/dev/null
: >wall;;
esac
work; commit; bd close "$issue" --reason "- [x] it works (touch ran - exit 0)" >/dev/null; {DONE}
"""
    )
    done = work.work_on()
    assert end_of(done)[0] == 0
    assert not work.file("ran").exists()
    assert "touch ran" in said(done, "verify-not-allowed")[0]
