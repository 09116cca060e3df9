"""Every way in which a run ends: its code, its reason, its messages to a user and to a program."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.engine.project_builder import Completed, git, marked_processes
from tests.engine.ralph_runner import Project, events_in, told, wait_until, warnings

pytestmark = pytest.mark.slow

FINISHES = """\
work; mark x First; commit
say 'All tasks are complete.'
report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'
"""
IDLES = "report 'STATUS: IN_PROGRESS'"
WORKS = "work; commit; report 'STATUS: IN_PROGRESS' 'FILES_MODIFIED: 1'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """One way to end, and all that should be reported about it."""

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
if [ "$RALPH_START" = 1 ]; then work; mark x First; commit; fi
report 'STATUS: IN_PROGRESS'
""",
        code=0,
        reason="complete",
        message="no required task is open, and a confirming iteration found nothing left to do",
        iterations=2,
        next_step=None,
    ),
    "limit": Ending(
        agent=WORKS,
        code=1,
        reason="limit",
        message="reached the 2-iteration limit",
        iterations=2,
        next_step="raise the limit (2 of 2 iterations): ralph run --resume --max-iterations 4",
        arguments=("2",),
    ),
    "limit-of-time": Ending(
        agent=WORKS,
        code=1,
        reason="limit",
        message="reached the 1ms time limit",
        iterations=1,
        next_step="raise the limit (* of 1ms): ralph run --resume --max-time *",
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
            "resolve the blocker, then: ralph resume, or remove .ralph/blocked.txt and: ralph run"
        ),
    ),
    "blocked-as-all-tasks-are": Ending(
        agent=IDLES,
        code=2,
        reason="blocked",
        message="all 2 open tasks in the plan are blocked",
        iterations=0,
        next_step="unblock a task in @fix_plan.md, then: ralph run --resume",
        tasks=("[BLOCKED] First task", "[BLOCKED] Second task"),
    ),
    "blocked-as-the-last-task-becomes": Ending(
        agent="mark '!' First; work; commit; report 'STATUS: IN_PROGRESS'",
        code=2,
        reason="blocked",
        message="the only open task in the plan is blocked",
        iterations=1,
        next_step="unblock a task in @fix_plan.md, then: ralph run --resume",
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
        next_step="fix the cause, then: ralph run --resume",
        warns=("breaker-half-open",),
    ),
    "stuck-as-status-is-blocked": Ending(
        agent="work; commit; report 'STATUS: BLOCKED' 'RECOMMENDATION: set up the database'",
        code=4,
        reason="stuck",
        message="the agent reports BLOCKED: set up the database",
        iterations=1,
        next_step="fix the cause, then: ralph run --resume",
    ),
    "stuck-with-the-same-error": Ending(
        agent="""\
work; commit
echo "Error: cannot open /tmp/file-$RALPH_START at line $RALPH_START" >&2
report 'STATUS: IN_PROGRESS'
""",
        code=4,
        reason="stuck",
        message="the same error in 5 iterations: Error: cannot open <path> at line <n>",
        iterations=5,
        next_step="fix the cause, then: ralph run --resume",
        warns=("error-repeating",),
    ),
    "stuck-with-failing-tests": Ending(
        agent="work; commit; report 'STATUS: IN_PROGRESS' 'TESTS_STATUS: FAILING'",
        code=4,
        reason="stuck",
        message="tests failing in 5 iterations",
        iterations=5,
        next_step="fix the cause, then: ralph run --resume",
    ),
    "stuck-after-one-iteration-without-a-commit": Ending(
        agent="work; report 'STATUS: IN_PROGRESS'",
        code=4,
        reason="stuck",
        message="an iteration without a commit",
        iterations=1,
        next_step="fix the cause, then: ralph run --resume",
        arguments=("9", "--max-stuck", "1"),
    ),
    "stuck-with-refused-completions": Ending(
        agent="say 'All tasks are complete.' 'Nothing is left to do.'; report 'EXIT_SIGNAL: true'",
        code=4,
        reason="stuck",
        message="3 refused completions without progress",
        iterations=3,
        next_step="fix the cause, then: ralph run --resume",
        config="[breaker]\nno_progress_open = 9\nno_progress_half_open = 9\n",
    ),
    "fatal-as-the-agent-fails": Ending(
        agent="exit 3",
        code=5,
        reason="fatal",
        message="the agent failed in 3 iterations in a row; the last one ended with 3",
        iterations=3,
        next_step="fix what the message says, then: ralph run --resume",
        warns=("agent-failed", "agent-failed", "breaker-half-open", "agent-failed"),
    ),
    "fatal-as-the-agent-says-nothing": Ending(
        agent="exit 0",
        code=5,
        reason="fatal",
        message="the agent failed in 3 iterations in a row; the last one ended with 0",
        iterations=3,
        next_step="fix what the message says, then: ralph run --resume",
        warns=("agent-failed", "agent-failed", "breaker-half-open", "agent-failed"),
    ),
    "fatal-as-the-plan-vanishes": Ending(
        agent="work; rm @fix_plan.md; report 'STATUS: IN_PROGRESS'",
        config="[guard]\nenabled = false\n",
        code=5,
        reason="fatal",
        message="@fix_plan.md cannot be read: No such file or directory; restore it, for example "
        "with: git checkout -- @fix_plan.md",
        iterations=0,  # The one that was open is settled by a run that continues.
        next_step="fix what the message says, then: ralph run --resume",
    ),
    "fatal-as-the-agent-takes-too-long": Ending(
        agent="work; exec sleep 600",
        code=5,
        reason="fatal",
        message="the agent ran longer than 0.2 s",
        iterations=1,
        next_step="set a longer timeout in .ralph/config.toml, then: ralph run --resume",
        arguments=("9", "--timeout", "200ms"),
        config='on_timeout = "stop"\n',
    ),
}


ALSO_FOR_PEOPLE = (
    "complete-by-the-gate",
    "limit",
    "blocked-by-a-promise",
    "decide",
    "stuck-without-progress",
    "fatal-as-the-agent-fails",
)


@pytest.mark.parametrize("ending", [pytest.param(one, id=name) for name, one in ENDINGS.items()])
def test_a_run_ends_with_its_code_and_shows_a_program_why(project: Project, ending: Ending) -> None:
    done = run_to(ending, project, "--json")
    check_told(ending, done, done.stderr)
    assert events_in(done.stdout) == done.events


@pytest.mark.parametrize("name", ALSO_FOR_PEOPLE)
def test_a_run_ends_with_its_code_and_shows_a_user_why(project: Project, name: str) -> None:
    ending = ENDINGS[name]
    done = run_to(ending, project)
    check_told(ending, done, done.stdout)
    assert f"▸ Ended: {ending.reason}: {told(done, 'runEnded')[0].message}\n" in done.stdout
    assert done.stderr == ""


def run_to(ending: Ending, project: Project, *more: str) -> Completed:
    files = {".ralph/config.toml": ending.config} if ending.config else {}
    project.plan(*ending.tasks, files=files).agent(ending.agent)
    # On a separate branch, about which there is no warning: a warning takes a run's time along.
    git(project.repository, "switch", "-q", "-c", "letters")
    return project.run(*ending.arguments, *more)


def check_told(ending: Ending, done: Completed, summary: str) -> None:
    (end,) = told(done, "runEnded")
    assert (done.exit_code, end.exit_code, end.reason) == (ending.code, ending.code, ending.reason)
    assert ending.message in end.message
    ended = [event.iteration for event in told(done, "iterationEnded")]
    assert ended == list(range(1, ending.iterations + 1))
    assert [code for code in warnings(done) if code in ending.warns] == list(ending.warns)
    lines = summary.splitlines()
    assert f"Exit:        {ending.reason.upper()} (code {ending.code})" in lines
    following = [line for line in lines if line.startswith("Next:")]
    assert len(following) == (ending.next_step is not None)
    for line in following:
        wanted = re.escape(f"Next:        {ending.next_step}").replace(r"\*", "[0-9hms]+")
        assert re.fullmatch(wanted, line)


@pytest.mark.parametrize(
    ("number", "code", "by"),
    [
        pytest.param(signal.SIGINT, 130, "Ctrl-C", id="ctrl-c"),
        pytest.param(signal.SIGTERM, 143, "SIGTERM", id="term"),
        pytest.param(signal.SIGHUP, 130, "a closed terminal", id="hang-up"),
    ],
)
def test_a_signal_ends_the_run_and_the_agent_and_says_by_whom(
    project: Project, number: signal.Signals, code: int, by: str
) -> None:
    project.agent("exec sleep 600")
    running = project.start("9")
    run = running.wait_for("agentStarted").run
    if number is signal.SIGINT:
        running.press_ctrl_c_twice()
    else:
        running.signal(number)
    done = running.wait()
    assert done.exit_code == code
    assert marked_processes(run) == []
    (end,) = told(done, "runEnded")
    assert (end.reason, end.exit_code, end.by) == ("stopped", code, by)
    assert [event.outcome for event in told(done, "iterationEnded")] == ["stopped"]
    assert f"Exit:        STOPPED (code {code})\n" in done.stdout
    assert done.stdout.endswith("Next:        ralph run --resume\n")


def test_a_signal_ends_a_run_that_waits_for_the_user_with_the_code_of_that(
    project: Project,
) -> None:
    project.agent("say '<promise>DECIDE:red or blue?</promise>'")
    running = project.start("9", "--on-halt", "wait")
    running.wait_for("phaseChanged", phase="parked")
    running.signal(signal.SIGINT)
    done = running.wait()
    (end,) = told(done, "runEnded")
    assert (done.exit_code, end.reason, end.by) == (3, "decide", "Ctrl-C")
    assert end.message == "stopped while waiting for an answer to: red or blue?"


def test_a_third_ctrl_c_is_one_too_many_and_does_no_harm(project: Project) -> None:
    project.agent("trap '' TERM INT; : >\"$kept/deaf\"; while :; do sleep 600 & wait; done")
    running = project.start("9")
    run = running.wait_for("agentStarted").run
    wait_until(project.kept, (project.kept / "deaf").exists)
    running.press_ctrl_c_twice()
    running.signal(signal.SIGINT)
    done = running.wait()
    assert done.exit_code == 130
    assert told(done, "agentExited")[0].killed
    assert marked_processes(run) == []
    assert len(told(done, "runEnded")) == 1


def test_a_run_at_its_limit_continues_with_a_higher_one(project: Project) -> None:
    project.agent(WORKS)
    first = project.run("1")
    same = project.tell("run", "--resume")
    assert (same.exit_code, len(told(same, "iterationStarted"))) == (1, 1)
    done = project.tell("run", "3", "--resume")
    assert done.exit_code == 1
    assert {event.run for event in done.events} == {first.events[0].run}
    assert [event.iteration for event in told(done, "iterationEnded")] == [1, 2, 3]
    assert "Iterations:  3 / 3\n" in done.stdout
    summary = project.file(".ralph/logs/summary.csv").read_text(encoding="utf-8")
    assert [row.partition(",")[0] for row in summary.splitlines()[1:]] == ["1", "2", "3"]


def test_a_run_that_continues_does_not_repeat_what_was_shown(project: Project) -> None:
    project.agent(f"echo out $RALPH_START; [ $RALPH_START != 2 ] || wait_here; {WORKS}")
    project.make_gate()
    running = project.start("3")
    running.wait_for("agentStarted", start=2)
    wait_until(project.kept, (project.kept / "here").exists)
    running.kill()
    done = project.tell("run", "--resume")
    assert done.exit_code == 1
    said = re.findall(r"^out \d$|^▸ Iteration \d of|^▸ Run .* continues", done.stdout, re.MULTILINE)
    assert said[1:] == ["▸ Iteration 2 of", "out 3", "▸ Iteration 3 of", "out 4"]
    assert said[0].endswith(" continues")


def test_there_is_nothing_to_resume_without_a_run_or_after_a_complete_one(project: Project) -> None:
    never = project.plan().tell("run", "--resume")
    assert (never.exit_code, never.events) == (64, ())
    assert "there is no run to resume here; start one with: ralph run" in never.stderr
    project.agent(FINISHES)
    first = project.run("5")
    again = project.tell("run", "--resume")
    assert (again.exit_code, again.events) == (64, first.events)
    assert "is complete; start a new one with: ralph run" in again.stderr


def test_one_task_alone_can_be_run_to_its_end(project: Project) -> None:
    project.plan("First task", "Second task", "Third task").agent(
        "work; mark x Second; commit; report 'STATUS: IN_PROGRESS'"
    )
    tasks = json.loads(project.tell("plan", "--json").stdout)["tasks"]
    done = project.run("5", "--task", tasks[1]["id"])
    assert done.exit_code == 0
    assert told(done, "runEnded")[0].message == f"the task {tasks[1]['id']} is done"
    assert [event.task.title for event in told(done, "iterationStarted")] == ["Second task"]
    again = project.run("5", "--task", tasks[1]["id"])
    assert (again.exit_code, told(again, "iterationStarted")) == (0, [])
    plan = project.file("@fix_plan.md")
    plan.write_text(plan.read_text(encoding="utf-8").replace("[ ] F", "[!] F"), encoding="utf-8")
    blocked = project.run("5", "--task", tasks[0]["id"])
    assert blocked.exit_code == 2
    end = told(blocked, "runEnded")[0]
    assert end.message == f"the task {tasks[0]['id']} is blocked in the plan"
