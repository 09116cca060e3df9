"""Whole runs of the profile ``issue`` to each of their ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.engine.issue.request_project import ASKS, FULFILS, IDLES, WORKS, issue_project
from tests.engine.project_builder import newest_run
from tests.engine.ralph_runner import Project, told

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """One way in which a run on a request ends."""

    agent: str
    code: int
    reason: str
    message: str
    iterations: int
    next_step: str | None = None
    n: str = "9"
    config: str = ""


ENDINGS: Mapping[str, Ending] = {
    "complete": Ending(
        agent=FULFILS,
        code=0,
        reason="complete",
        message="the agent reports STATUS COMPLETE",
        iterations=1,
    ),
    "complete-after-some-work": Ending(
        agent=f'if [ "$RALPH_START" = 3 ]; then {FULFILS}; else {WORKS}; fi',
        code=0,
        reason="complete",
        message="the agent reports STATUS COMPLETE",
        iterations=3,
    ),
    "complete-by-a-pull-request": Ending(
        agent="work; commit; clarity 'STATUS: IN_PROGRESS' 'PR_READY: true'",
        code=0,
        reason="complete",
        message="the agent reports PR_READY true",
        iterations=1,
    ),
    "limit": Ending(
        agent=WORKS,
        code=1,
        reason="limit",
        message="reached the 2-iteration limit",
        iterations=2,
        next_step="raise the limit (2 of 2 iterations): ralph run --resume --max-iterations 4",
        n="2",
    ),
    "blocked": Ending(
        agent=f"{WORKS}; say '<promise>BLOCKED:no key</promise>'",
        code=2,
        reason="blocked",
        message="no key",
        iterations=1,
        next_step="resolve the blocker, then: ralph resume, or remove .ralph/blocked.txt and: "
        "ralph run --resume",
    ),
    "clarification": Ending(
        agent=ASKS,
        code=3,
        reason="decide",
        message="Which letters?",
        iterations=1,
        next_step='ralph answer "…", or write below ## Answer in .ralph/decide.txt, then: '
        "ralph run --resume",
    ),
    "clarification-without-a-question": Ending(
        agent="clarity 'STATUS: IN_PROGRESS' 'CLARIFICATION_NEEDED: true' 'WORK_SUMMARY: Looked'",
        code=3,
        reason="decide",
        message="The agent needs clarification but did not ask a question. Its summary: Looked",
        iterations=1,
    ),
    "decide": Ending(
        agent=f"{IDLES}; say '<promise>DECIDE:tea or coffee?</promise>'",
        code=3,
        reason="decide",
        message="tea or coffee?",
        iterations=1,
    ),
    "clarification-comes-before-complete": Ending(
        agent="work; commit; clarity 'STATUS: COMPLETE' 'PR_READY: true' "
        "'CLARIFICATION_NEEDED: true' 'CLARIFICATION_QUESTIONS: Is it well?'",
        code=3,
        reason="decide",
        message="Is it well?",
        iterations=1,
    ),
    "stuck-without-progress": Ending(
        agent=IDLES,
        code=4,
        reason="stuck",
        message="3 iterations without progress",
        iterations=3,
        next_step="fix the cause, then: ralph run --resume",
    ),
    "stuck-since-it-reports-blocked": Ending(
        agent="clarity 'STATUS: BLOCKED' 'EXIT_SIGNAL: true' 'RECOMMENDATION: get a key'",
        code=4,
        reason="stuck",
        message="get a key",
        iterations=1,
    ),
    "open-comes-before-clarification": Ending(
        agent="clarity 'STATUS: BLOCKED' 'CLARIFICATION_NEEDED: true' "
        "'CLARIFICATION_QUESTIONS: Which?' 'RECOMMENDATION: get a key'",
        code=4,
        reason="stuck",
        message="get a key",
        iterations=1,
    ),
    "fatal": Ending(
        agent="exit 9",
        code=5,
        reason="fatal",
        message="the agent failed in 3 iterations in a row",
        iterations=3,
        next_step="fix what the message says, then: ralph run --resume",
    ),
}


@pytest.mark.parametrize("ending", [pytest.param(one, id=name) for name, one in ENDINGS.items()])
def test_a_run_ends(project: Project, ending: Ending) -> None:
    issue_project(project, ending.agent, config=ending.config)
    done = project.run(ending.n, "--issue", "issue.md")
    (end,) = told(done, "runEnded")
    assert (done.exit_code, end.reason, end.exit_code) == (ending.code, ending.reason, ending.code)
    assert ending.message in end.message
    assert len(told(done, "iterationEnded")) == ending.iterations
    assert told(done, "completionRefused") == []
    assert (ending.next_step or "") in done.stdout
    assert "Request:     Letters get lost (issue.md)\n" in done.stdout
    decide = project.file(".ralph/decide.txt")
    assert decide.exists() == (ending.code == 3 or "CLARIFICATION_NEEDED" in ending.agent)


def test_ctrl_c_ends_it(project: Project) -> None:
    project.make_gate()
    issue_project(project, "wait_here")
    running = project.start("3", "--issue", "issue.md")
    running.wait_for("agentStarted")
    running.press_ctrl_c_twice()
    done = running.wait()
    (end,) = told(done, "runEnded")
    assert (done.exit_code, end.reason) == (130, "stopped")


def test_a_parked_run_continues_with_the_answer(project: Project) -> None:
    agent = f'if [ "$RALPH_START" = 1 ]; then {ASKS}; else {FULFILS}; fi'
    issue_project(project, agent)
    running = project.start("9", "--issue", "issue.md", "--on-halt", "wait")
    running.wait_for("phaseChanged", phase="parked")
    assert "Which letters?" in project.file(".ralph/decide.txt").read_text(encoding="utf-8")
    project.tell("answer", "those to Ada")
    done = running.wait()
    assert done.exit_code == 0
    prompt = project.prompt(2)
    assert "> Which letters?" in prompt
    assert "> those to Ada" in prompt
    assert "> # Letters get lost" in prompt


def test_an_answer_between_two_engines_reaches_the_agent(project: Project) -> None:
    agent = f'if [ "$RALPH_START" = 1 ]; then {ASKS}; else {FULFILS}; fi'
    issue_project(project, agent)
    assert project.run("9", "--issue", "issue.md").exit_code == 3
    project.tell("answer", "those to Ada")
    project.file("issue.md").unlink()
    done = project.run("--resume")
    assert done.exit_code == 0
    assert "> those to Ada" in project.prompt(2)
    assert "> # Letters get lost" in project.prompt(2)


def test_status_says_what_the_request_is(project: Project) -> None:
    issue_project(project, WORKS)
    project.run("1", "--issue", "issue.md")
    said = project.tell("status").stdout
    assert "nothing now; the request is Letters get lost (issue.md)" in said
    found = newest_run(project.repository)
    assert found is not None
    assert found.state.request is not None
    assert found.state.request.title == "Letters get lost"
