"""Every gate on a markdown plan, by the setting ``gate.rule`` (docs/rules.md#exit-gate)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

FINISHES = "work; mark x First; commit; report 'STATUS: IN_PROGRESS'"
MARKS_COMPLETE = "echo '## PROJECT_COMPLETE' >>@fix_plan.md"
DONE_ALREADY = "# Plan\n\n- [x] First task\n"
BLOCKED = "# Plan\n\n- [ ] [BLOCKED] First task\n  - Blocked by: no key\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One way through a gate, or not."""

    rule: str
    agent: str = "exit 9"
    plan: str = ""
    """Empty: one open task."""
    code: int = 0
    message: str
    iterations: int
    warns: str = ""
    refused: int = 0
    n: str = "4"


GATES: Mapping[str, Gate] = {
    "marker": Gate(
        rule="marker",
        agent=f"work; mark x First; {MARKS_COMPLETE}; commit; report 'STATUS: IN_PROGRESS'",
        message="PROJECT_COMPLETE",
        iterations=1,
    ),
    "marker-with-open-tasks-is-refused": Gate(
        rule="marker",
        agent=f"work; [ $RALPH_START != 1 ] || {MARKS_COMPLETE}; commit; report 'STATUS: x'",
        code=1,
        message="reached the 2-iteration limit",
        iterations=2,
        refused=2,
        n="2",
    ),
    "marker-of-an-earlier-run-with-no-open-task": Gate(
        rule="marker",
        plan=f"{DONE_ALREADY}\n**PROJECT_COMPLETE**\n",
        message="the plan contains PROJECT_COMPLETE, and no required task is open",
        iterations=0,
    ),
    "marker-of-an-earlier-run-says-nothing-of-this-one": Gate(
        rule="marker",
        plan="# Plan\n\n- [ ] First task\n- [ ] Second task\n\nPROJECT_COMPLETE\n",
        agent="""\
case $RALPH_START in
1) work; mark x First; commit;;
2) work; sed -i '/PROJECT_COMPLETE/d; s/\\[ \\]/[x]/' @fix_plan.md; commit;;
3) work; echo PROJECT_COMPLETE >>@fix_plan.md; commit;;
esac
report 'STATUS: IN_PROGRESS'
""",
        message="PROJECT_COMPLETE",
        iterations=3,
    ),
    "marker-without-it-one-confirming-iteration": Gate(
        rule="marker",
        agent="""\
if [ $RALPH_START = 1 ]; then work; mark x First; commit; fi
report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'
""",
        message="no required task is open, and a confirming iteration found nothing left to do",
        iterations=2,
        warns="completion-not-gate",
    ),
    "marker-one-confirming-iteration-whatever-it-commits": Gate(
        rule="marker",
        agent=FINISHES,
        message="a confirming iteration found nothing left to do",
        iterations=2,
    ),
    "marker-what-a-confirming-iteration-adds-is-done-and-not-confirmed-again": Gate(
        rule="marker",
        agent="""\
[ $RALPH_ITERATION != 2 ] || echo '- [ ] Third task' >>@fix_plan.md
[ $RALPH_ITERATION = 2 ] || sed -i 's/\\[ \\]/[x]/' @fix_plan.md
work; commit; report 'STATUS: IN_PROGRESS'
""",
        message="a confirming iteration has already run",
        iterations=3,
    ),
    "marker-with-failing-tests-is-refused": Gate(
        rule="marker",
        agent=f"""\
if [ $RALPH_ITERATION = 1 ]; then
  work; mark x First; {MARKS_COMPLETE}; commit; report 'STATUS: COMPLETE' 'TESTS_STATUS: FAILING'
else
  work; commit; report 'STATUS: COMPLETE' 'TESTS_STATUS: PASSING'
fi
""",
        message="PROJECT_COMPLETE",
        iterations=2,
        refused=1,
    ),
    "verified": Gate(
        rule="verified",
        agent="work; mark x First; commit; say '<promise>COMPLETE</promise>'",
        message="COMPLETE",
        iterations=1,
    ),
    "verified-without-the-promise": Gate(
        rule="verified",
        agent=FINISHES,
        message="every required task is done",
        iterations=1,
    ),
    "verified-with-open-tasks-is-refused": Gate(
        rule="verified",
        agent="work; commit; say '<promise>COMPLETE</promise>'",
        code=1,
        message="reached the 1-iteration limit",
        iterations=1,
        refused=1,
        n="1",
    ),
    "verified-and-nothing-was-open": Gate(
        rule="verified",
        plan=DONE_ALREADY,
        message="every required task is done",
        iterations=0,
    ),
    "queue": Gate(
        rule="queue",
        agent=FINISHES,
        message="✓ All work complete or blocked: nothing in the plan is open",
        iterations=1,
    ),
    "queue-is-empty-at-the-start": Gate(
        rule="queue",
        plan=DONE_ALREADY,
        message="✓ All work complete or blocked: nothing in the plan is open",
        iterations=0,
    ),
    "queue-with-blocked-ones-alone": Gate(
        rule="queue",
        plan=BLOCKED,
        code=2,
        message="blocked by no key",
        iterations=0,
    ),
    "queue-asks-the-plan-and-not-the-agent": Gate(
        rule="queue",
        agent="work; commit; report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'",
        code=1,
        message="reached the 2-iteration limit",
        iterations=2,
        warns="completion-not-gate",
        n="2",
    ),
    "status": Gate(
        rule="status",
        agent="work; mark x First; commit; report 'STATUS: COMPLETE'",
        message="",
        iterations=1,
    ),
    "status-by-a-pull-request": Gate(
        rule="status",
        agent="""\
work; mark x First; commit
say '---CLARITY_STATUS---' 'STATUS: IN_PROGRESS' 'PR_READY: true' '---END_CLARITY_STATUS---'
""",
        message="",
        iterations=1,
    ),
    "status-with-open-tasks-is-refused": Gate(
        rule="status",
        agent="work; commit; report 'STATUS: COMPLETE'",
        code=1,
        message="reached the 1-iteration limit",
        iterations=1,
        refused=1,
        n="1",
    ),
}


@pytest.mark.parametrize("gate", [pytest.param(one, id=name) for name, one in GATES.items()])
def test_a_gate_lets_a_run_end_when_its_signal_and_the_plan_agree(
    project: Project, gate: Gate
) -> None:
    files = {".ralph/config.toml": f'[gate]\nrule = "{gate.rule}"\n'}
    if gate.plan:
        files["@fix_plan.md"] = gate.plan
    done = project.plan(files=files).agent(gate.agent).run(gate.n, "--json")
    (end,) = told(done, "runEnded")
    assert (done.exit_code, gate.message in end.message) == (gate.code, True), end.message
    assert len(told(done, "iterationEnded")) == gate.iterations
    assert len(told(done, "completionRefused")) == gate.refused
    assert gate.warns in {"", *warnings(done)}
    assert gate.warns or "completion-not-gate" not in warnings(done)


def test_another_word_can_be_promised(project: Project) -> None:
    settings = '[gate]\nrule = "verified"\n[promise]\ncomplete = "ALL_SHIPPED"\n'
    project.plan(files={".ralph/config.toml": settings}).agent(
        "work; mark x First; commit; say '<promise>ALL_SHIPPED</promise>'"
    )
    done = project.run("4")
    assert (done.exit_code, len(told(done, "iterationEnded"))) == (0, 1)
