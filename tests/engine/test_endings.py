"""Every way in which a run ends: its code, its reason, what a person and a program are told."""

from __future__ import annotations

import csv
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralph_ls.protocol.events import dump_event
from tests.engine.cases import Ralph, Scene, events_in, told, warnings
from tests.engine.loop import events_of, git, make_repository, write_agent

FINISHES = """\
work; mark x First; commit
say 'All tasks are complete.'
report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'
"""
IDLES = "report 'STATUS: IN_PROGRESS'"
WORKS = "work; commit; report 'STATUS: IN_PROGRESS' 'FILES_MODIFIED: 1'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """One way to end, and all that should be told of it."""

    agent: str
    code: int
    reason: str
    message: str
    iterations: int
    next_step: str | None
    arguments: tuple[str, ...] = ("9",)
    tasks: tuple[str, ...] = ("First task",)
    config: str = ""
    warns: tuple[str, ...] = field(default=())


GO_ON = "ralph run --resume"
ENDINGS: Mapping[str, Ending] = {
    "complete-by-the-gate": Ending(
        agent=FINISHES,
        code=0,
        reason="complete",
        message="the agent signals completion and every required task is done",
        iterations=1,
        next_step=None,
    ),
    "complete-by-a-confirming-iteration": Ending(
        agent="""\
if [ "$RALPH_ITERATION" = 1 ]; then work; mark x First; commit; fi
report 'STATUS: IN_PROGRESS'
""",
        code=0,
        reason="complete",
        message="no required task is open, and the confirming iteration found nothing more",
        iterations=2,
        next_step=None,
    ),
    "limit": Ending(
        agent=WORKS,
        code=1,
        reason="limit",
        message="2 of 2 iterations are used up",
        iterations=2,
        next_step="ralph run --resume with a higher limit, such as: ralph run 40 --resume",
        arguments=("2",),
    ),
    "limit-of-time": Ending(
        agent=WORKS,
        code=1,
        reason="limit",
        message="the duration of 0.001 s is used up",
        iterations=1,
        next_step="ralph run --resume with a higher limit, such as: ralph run 40 --resume",
        arguments=(),
        config='max_duration = "1ms"\n',
    ),
    "blocked-by-a-promise": Ending(
        agent="say '<promise>BLOCKED:missing API key</promise>'",
        code=2,
        reason="blocked",
        message="missing API key",
        iterations=1,
        next_step=(
            "solve what blocks it, then: ralph resume, or remove .ralph/blocked.txt and: ralph run"
        ),
    ),
    "blocked-as-all-tasks-are": Ending(
        agent=IDLES,
        code=2,
        reason="blocked",
        message="all 2 open tasks in the plan are blocked",
        iterations=0,
        next_step="",
        tasks=("[BLOCKED] First task", "[BLOCKED] Second task"),
    ),
    "blocked-as-the-last-task-becomes": Ending(
        agent="mark '!' First; work; commit; report 'STATUS: IN_PROGRESS'",
        code=2,
        reason="blocked",
        message="all 1 open tasks in the plan are blocked",
        iterations=1,
        next_step="",
    ),
    "decide": Ending(
        agent="say '<promise>DECIDE:WebSockets or polling?</promise>'",
        code=3,
        reason="decide",
        message="WebSockets or polling?",
        iterations=1,
        next_step='ralph answer "…", or write below ## Answer in .ralph/decide.txt, '
        "then: ralph run",
    ),
    "stuck-without-progress": Ending(
        agent=IDLES,
        code=4,
        reason="stuck",
        message="3 iterations without progress",
        iterations=3,
        next_step="see what went wrong: ralph status; then: ralph run --resume",
        warns=("breaker-half-open",),
    ),
    "stuck-as-status-is-blocked": Ending(
        agent="work; commit; report 'STATUS: BLOCKED' 'RECOMMENDATION: set up the database'",
        code=4,
        reason="stuck",
        message="the agent reports BLOCKED: set up the database",
        iterations=1,
        next_step="see what went wrong: ralph status; then: ralph run --resume",
    ),
    "stuck-with-the-same-error": Ending(
        agent="""\
work; commit
echo "Error: cannot open /tmp/file-$RALPH_ITERATION at line $RALPH_ITERATION" >&2
report 'STATUS: IN_PROGRESS'
""",
        code=4,
        reason="stuck",
        message="the same error in 5 iterations: Error: cannot open <path> at line <n>",
        iterations=5,
        next_step="see what went wrong: ralph status; then: ralph run --resume",
        warns=("error-repeating",),
    ),
    "stuck-with-failing-tests": Ending(
        agent="work; commit; report 'STATUS: IN_PROGRESS' 'TESTS_STATUS: FAILING'",
        code=4,
        reason="stuck",
        message="tests failing in 5 iterations",
        iterations=5,
        next_step="see what went wrong: ralph status; then: ralph run --resume",
    ),
    "stuck-after-one-iteration-without-a-commit": Ending(
        agent="work; report 'STATUS: IN_PROGRESS'",
        code=4,
        reason="stuck",
        message="1 iterations in a row without a commit",
        iterations=1,
        next_step="see what went wrong: ralph status; then: ralph run --resume",
        arguments=("9", "--max-stuck", "1"),
    ),
    "stuck-with-refused-completions": Ending(
        agent="say 'All tasks are complete.' 'Nothing is left to do.'; report 'EXIT_SIGNAL: true'",
        code=4,
        reason="stuck",
        message="3 refused completions without progress",
        iterations=3,
        next_step="see what went wrong: ralph status; then: ralph run --resume",
        config="[breaker]\nno_progress_open = 9\nno_progress_half_open = 9\n",
    ),
    "fatal-as-the-agent-fails": Ending(
        agent="exit 3",
        code=5,
        reason="fatal",
        message="the agent failed in 3 iterations in a row; the last one ended with 3",
        iterations=3,
        next_step="mend what the message says, then: ralph run --resume",
        warns=("agent-failed", "agent-failed", "breaker-half-open", "agent-failed"),
    ),
    "fatal-as-the-agent-says-nothing": Ending(
        agent="exit 0",
        code=5,
        reason="fatal",
        message="the agent failed in 3 iterations in a row; the last one ended with 0",
        iterations=3,
        next_step="mend what the message says, then: ralph run --resume",
        warns=("agent-failed", "agent-failed", "breaker-half-open", "agent-failed"),
    ),
    "fatal-as-the-plan-vanishes": Ending(
        agent="work; rm @fix_plan.md; report 'STATUS: IN_PROGRESS'",
        code=5,
        reason="fatal",
        message="@fix_plan.md cannot be read: No such file or directory; put it back, "
        "for example with: git checkout -- @fix_plan.md",
        iterations=1,
        next_step="mend what the message says, then: ralph run --resume",
    ),
    "fatal-as-the-agent-takes-too-long": Ending(
        agent="work; exec sleep 60",
        code=5,
        reason="fatal",
        message="the agent ran longer than 0.2 s",
        iterations=1,
        next_step="mend what the message says, then: ralph run --resume",
        arguments=("9", "--timeout", "200ms"),
        config='on_timeout = "stop"\n',
    ),
}


@pytest.mark.parametrize("ending", [pytest.param(one, id=name) for name, one in ENDINGS.items()])
@pytest.mark.parametrize("as_json", [False, True], ids=["human", "json"])
def test_a_run_ends_with_its_code_and_says_why(scene: Scene, ending: Ending, as_json: bool) -> None:
    files = {".ralph/config.toml": ending.config} if ending.config else {}
    scene.plan(*ending.tasks, files=files).agent(ending.agent)
    done = scene.run(*ending.arguments, *(["--json"] if as_json else []))
    assert done.exit_code == ending.code, done.stdout + done.stderr
    (end,) = told(done, "runEnded")
    assert (end.reason, end.exit_code) == (ending.reason, ending.code)
    assert ending.message in end.message
    assert [event.iteration for event in told(done, "iterationEnded")] == [
        number + 1 for number in range(ending.iterations)
    ]
    assert set(warnings(done)) - {"excluded", "claim-without-evidence"} >= set(ending.warns)
    lines = (done.stderr if as_json else done.stdout).splitlines()
    assert f"Exit:        {ending.reason.upper()} (code {ending.code})" in lines
    if ending.next_step is None:
        assert not [line for line in lines if line.startswith("Next:")]
    elif ending.next_step:
        assert lines[-1] == f"Next:        {ending.next_step}"
    if as_json:
        assert events_in(done.stdout) == done.events
    else:
        assert f"▸ Ended: {ending.reason}: {end.message}" in lines
        assert done.stderr == ""
    status = git(scene.repository, "status", "--porcelain", "--", ".", ":!work.txt")
    assert status.split() in ([], ["D", "@fix_plan.md"])
