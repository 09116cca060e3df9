"""Evidence for closing with ``bd``: what a criterion names is run, and the issue says what came."""

from __future__ import annotations

import json

import pytest

from tests.engine.beads.conftest import Issues
from tests.engine.ralph_runner import told

pytestmark = pytest.mark.slow

CRITERIA = "- [ ] it is there (`sh check.sh`)"
CLAIMS = """\
bd close "$issue" --reason "Acceptance criteria verified:
- [x] it is there (sh check.sh - exit 0)" >/dev/null
work; commit
"""


def made(work: Issues, agent: str) -> Issues:
    issue = {"id": "bd-1", "title": "Be there", "acceptance_criteria": CRITERIA}
    files = {"check.sh": "test -f done.txt\n"}
    work.issues(issue, config="verify = true\n", **files).agent(agent)
    assert work.say("allow", "--yes").exit_code == 0
    return work


def test_allow_shows_what_issues_name(work: Issues) -> None:
    made(work, CLAIMS)
    shown = json.loads(work.say("allow", "--json").stdout)
    assert "verify: sh check.sh" in {claim["key"] for claim in shown["claims"]}


def test_a_verified_issue_has_its_evidence(work: Issues) -> None:
    made(work, f"touch done.txt; {CLAIMS}")
    done = work.work_on("3")
    assert done.exit_code == 0, done.stdout
    assert [event.ok for event in told(done, "criteriaVerified")] == [True]
    issue = work.issue("bd-1")
    assert issue["status"] == "closed"
    assert issue["close_reason"].splitlines()[-1] == "- [x] it is there (sh check.sh - exit 0)"


def test_an_issue_that_is_refuted_is_in_progress_again(work: Issues) -> None:
    made(work, CLAIMS)
    done = work.work_on("1")
    (event,) = told(done, "criteriaVerified")
    assert (event.ok, event.reopened, event.checks[0].exit_code) == (False, True, 1)
    assert told(done, "evidenceGathered")[0].evidence.tasks_done == ()
    assert told(done, "iterationEnded")[0].attempts == {"bd-1": 1}
    issue = work.issue("bd-1")
    assert issue["status"] == "in_progress"
    assert "Verification failed: it is there (sh check.sh - exit 1)" in issue["notes"]
