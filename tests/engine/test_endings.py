"""Every way in which a run ends: its code, its reason, what a person and a program are told."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.engine.cases import Ralph, Scene, events_in, told, warnings
from tests.engine.loop import Completed, git, make_repository, marked_processes

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
        message="an iteration without a commit",
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
        iterations=0,  # The one that was open is settled by a run that goes on.
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


ALSO_FOR_PEOPLE = (
    "complete-by-the-gate",
    "limit",
    "blocked-by-a-promise",
    "decide",
    "stuck-without-progress",
    "fatal-as-the-agent-fails",
)


@pytest.mark.parametrize("ending", [pytest.param(one, id=name) for name, one in ENDINGS.items()])
def test_a_run_ends_with_its_code_and_tells_a_program_why(scene: Scene, ending: Ending) -> None:
    done = run_to(ending, scene, "--json")
    check_told(ending, done, done.stderr)
    assert events_in(done.stdout) == done.events


@pytest.mark.parametrize("name", ALSO_FOR_PEOPLE)
def test_a_run_ends_with_its_code_and_tells_a_person_why(scene: Scene, name: str) -> None:
    ending = ENDINGS[name]
    done = run_to(ending, scene)
    check_told(ending, done, done.stdout)
    assert f"▸ Ended: {ending.reason}: {told(done, 'runEnded')[0].message}\n" in done.stdout
    assert done.stderr == ""


def run_to(ending: Ending, scene: Scene, *more: str) -> Completed:
    files = {".ralph/config.toml": ending.config} if ending.config else {}
    return scene.plan(*ending.tasks, files=files).agent(ending.agent).run(*ending.arguments, *more)


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
    assert following == ([] if ending.next_step is None else [f"Next:        {ending.next_step}"])


@pytest.mark.parametrize(
    ("number", "code", "by"),
    [
        pytest.param(signal.SIGINT, 130, "Ctrl-C", id="ctrl-c"),
        pytest.param(signal.SIGTERM, 143, "a TERM signal", id="term"),
        pytest.param(signal.SIGHUP, 130, "a closed terminal", id="hang-up"),
    ],
)
def test_a_signal_ends_the_run_and_the_agent_and_says_by_whom(
    scene: Scene, number: signal.Signals, code: int, by: str
) -> None:
    scene.agent("exec sleep 60")
    running = scene.start("9")
    run = running.wait_for("agentStarted").run
    running.signal(number)
    done = running.wait()
    assert done.exit_code == code
    assert marked_processes(run) == []
    (end,) = told(done, "runEnded")
    assert (end.reason, end.exit_code, end.by) == ("stopped", code, by)
    assert [event.outcome for event in told(done, "iterationEnded")] == ["stopped"]
    assert f"Exit:        STOPPED (code {code})\n" in done.stdout
    assert done.stdout.endswith("Next:        ralph run --resume\n")


BAD_SETTINGS = {
    "unknown-key": (
        'profile = "fixplan"\nmax_iteration = 5\n',
        "line 2: max_iteration: there is no such setting",
    ),
    "unknown-key-in-a-table": (
        "[breaker]\nno_progress_open = 3\nno_progres = 2\n",
        "line 3: breaker.no_progres: there is no such setting",
    ),
    "value-off-the-list": (
        'agent = "command"\non_halt = "sometimes"\n',
        "line 2: on_halt: Input should be 'exit' or 'wait' (it is 'sometimes')",
    ),
    "value-out-of-bounds": (
        "max_iterations = 0\n",
        "line 1: max_iterations: Input should be greater than or equal to 1",
    ),
    "path-out-of-the-tree": (
        '[paths]\nlogs = "../logs"\n',
        "line 2: paths.logs: '../logs' must be a path inside the work tree",
    ),
    "no-toml": ("max_iterations = \n", "this is not TOML"),
}


@pytest.mark.parametrize(
    ("text", "message"), [pytest.param(*value, id=name) for name, value in BAD_SETTINGS.items()]
)
def test_bad_settings_end_with_78_and_name_file_line_and_key(
    scene: Scene, text: str, message: str
) -> None:
    scene.plan(files={".ralph/config.toml": text}).agent(IDLES)
    done = scene.run("9")
    assert done.exit_code == 78
    assert done.stderr.startswith(f"ralph: {scene.file('.ralph/config.toml')}")
    assert message in done.stderr
    assert (done.stdout, done.events) == ("", ())


BAD_FLAGS = {
    "unknown-flag": (("run", "--frobnicate"), "No such option: --frobnicate"),
    "no-number": (("run", "many"), "Invalid value for '[N]'"),
    "number-too-small": (("run", "0"), "Invalid value for '[N]'"),
    "value-off-the-list": (("run", "--on-halt", "sometimes"), "on_halt: Input should be 'exit' or"),
    "no-duration": (("run", "--timeout", "soon"), "--timeout: 'soon' is no duration"),
    "unknown-profile": (("run", "--profile", "waterfall"), "profile: Input should be 'spec'"),
    "two-agents": (
        ("run", "--agent", "demo", "--agent-command", "true"),
        "give --agent or --agent-command, not both",
    ),
    "bad-quoting": (("run", "--agent-command", "it's"), "is not well quoted"),
    "unknown-task": (("run", "--agent", "demo", "--task", "nope"), "the plan has no task 'nope'"),
    "unknown-command": (("fly",), "No such command 'fly'"),
}


@pytest.mark.parametrize(
    ("arguments", "message"), [pytest.param(*value, id=name) for name, value in BAD_FLAGS.items()]
)
def test_bad_flags_end_with_64_and_say_what_is_wrong(
    scene: Scene, arguments: tuple[str, ...], message: str
) -> None:
    done = scene.plan().tell(*arguments)
    assert done.exit_code == 64
    assert message in done.stderr
    assert done.stderr.startswith("ralph: ")
    assert (done.stdout, done.events) == ("", ())


def test_what_is_missing_ends_with_5_before_any_event(ralph: Ralph, tmp_path: Path) -> None:
    outside = tmp_path / "no-repository"
    outside.mkdir()
    done = ralph(outside, "run", "--agent", "demo")
    assert done.exit_code == 5
    assert f"{outside} is not in a git work tree" in done.stderr
    repository = make_repository(tmp_path / "no-plan")
    (repository / "@fix_plan.md").unlink()
    done = ralph(repository, "run", "--agent", "demo")
    assert (done.exit_code, done.events) == (5, ())
    assert f"there is no plan in {repository}: looked for @fix_plan.md" in done.stderr


SOMETIMES_COMMITS = """\
work
[ "$RALPH_ITERATION" = 3 ] && commit
echo "out $RALPH_ITERATION"
echo "err $RALPH_ITERATION" >&2
report 'STATUS: IN_PROGRESS'
"""
HEADER = (
    "iteration,mode,duration_seconds,commit_hash,stories_complete,stories_total,stuck_count,"
    "timestamp"
)


def test_a_commit_zeroes_the_stuck_count_and_the_summary_has_a_row_an_iteration(
    scene: Scene,
) -> None:
    scene.plan("First task", "Second task").agent(SOMETIMES_COMMITS)
    done = scene.run("5", "--max-stuck", "3")
    assert done.exit_code == 1
    text = scene.file(".ralph/logs/summary.csv").read_bytes().decode()
    assert text.count("\r") == 0
    lines = text.split("\n")
    assert (lines[0], lines[-1]) == (HEADER, "")
    rows = [line.split(",") for line in lines[1:-1]]
    commit = git(scene.repository, "rev-parse", "HEAD")[:7]
    assert [(row[0], row[1], row[3], row[4], row[5], row[6]) for row in rows] == [
        ("1", "build", "", "0", "2", "1"),
        ("2", "build", "", "0", "2", "2"),
        ("3", "build", commit, "0", "2", "0"),
        ("4", "build", "", "0", "2", "1"),
        ("5", "build", "", "0", "2", "2"),
    ]
    ended = told(done, "iterationEnded")
    assert [row[7] for row in rows] == [f"{event.at:%Y-%m-%dT%H:%M:%SZ}" for event in ended]
    assert all(row[2].isdigit() for row in rows)
    assert "Stories:     0/2 complete\n" in done.stdout
    assert "Stuck iters: 4\n" in done.stdout


def test_the_summary_counts_what_is_done_and_stands_below_its_rule(scene: Scene) -> None:
    scene.plan("First task", "Second task").agent(
        "if [ $RALPH_ITERATION = 1 ]; then mark x First; else mark x Second; fi; work; commit\n"
        "say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'"
    )
    done = scene.run("7")
    assert done.exit_code == 0
    at = done.stdout.index("\nRalph Loop Summary\n")
    seconds = told(done, "runEnded")[0].seconds
    assert done.stdout[at + 1 :] == (
        "Ralph Loop Summary\n"
        "──────────────────\n"
        "Exit:        COMPLETE (code 0)\n"
        "Iterations:  2 / 7\n"
        f"Duration:    {round(seconds)}s\n"
        "Stories:     2/2 complete\n"
        f"Avg/iter:    {round(seconds / 2)}s\n"
        "Stuck iters: 0\n"
        "Log:         .ralph/logs/summary.csv\n"
    )
    summary = scene.file(".ralph/logs/summary.csv").read_text(encoding="utf-8")
    assert [line.split(",")[4:6] for line in summary.splitlines()[1:]] == [["1", "2"], ["2", "2"]]


def test_the_log_of_a_run_has_a_frame_an_iteration_in_local_time(scene: Scene) -> None:
    scene.agent(SOMETIMES_COMMITS)
    done = scene.run("3", "--max-stuck", "9", env={"TZ": "Asia/Tokyo"})
    (log,) = scene.file(".ralph/logs").glob("*.log")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_001\.log", log.name)
    started = told(done, "iterationStarted")[2].at.astimezone(ZoneInfo("Asia/Tokyo"))
    commit = git(scene.repository, "rev-parse", "HEAD")[:7]
    rule = "━" * 40
    frames = log.read_text(encoding="utf-8").split(f"{rule}\nIteration: ")
    assert len(frames) == 4
    assert re.fullmatch(
        rf"3\nBranch: main\nStarted: {started:%Y-%m-%d %H:%M:}\d\d\n{rule}\n\n"
        rf"[^━]*out 3\n[^━]*\n{rule}\nCompleted: [-\d]{{10}} [:\d]{{8}}\nDuration: \d+s\n"
        rf"Commit: {commit}\n{rule}\n\n",
        frames[3],
    )
    assert "err 3\n" in frames[3]
    assert "Commit:" not in frames[2]


def test_an_iteration_can_have_a_log_of_its_own_and_earlier_ones_are_moved(scene: Scene) -> None:
    settings = 'log_form = "iteration"\n[paths]\nlogs = "ralph/logs"\n'
    scene.plan(files={".ralph/config.toml": settings}).agent(SOMETIMES_COMMITS)
    first = scene.run("2")
    logs = scene.file("ralph/logs")
    assert sorted(path.name for path in logs.iterdir()) == [
        "iteration-001.log",
        "iteration-002.log",
        "summary.csv",
    ]
    for number in (1, 2):
        text = (logs / f"iteration-{number:03d}.log").read_text(encoding="utf-8")
        assert f"out {number}\n" in text
        assert f"err {number}\n" in text
        assert "STATUS: IN_PROGRESS\n" in text
    assert git(scene.repository, "status", "--porcelain") == "?? work.txt\n"
    kept = {path.name: path.read_bytes() for path in logs.iterdir()}
    second = scene.run("1")
    moved = logs / f"run-{first.events[0].run}"
    assert {path.name: path.read_bytes() for path in moved.iterdir()} == kept
    assert "out 1\n" in (logs / "iteration-001.log").read_text(encoding="utf-8")
    assert len((logs / "summary.csv").read_text(encoding="utf-8").splitlines()) == 2
    assert "Log:         ralph/logs/summary.csv\n" in second.stdout
    assert git(scene.repository, "status", "--porcelain") == "?? work.txt\n"


def test_what_the_agent_prints_is_seen_while_it_works(scene: Scene) -> None:
    scene.agent("echo 'a first word'; echo 'a warning' >&2; wait_here; report 'EXIT_SIGNAL: false'")
    scene.make_gate()
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, encoding="utf-8") as terminal:
        running = scene.start("1", stdout=write_end)
        os.close(write_end)
        awaited = {"a first word\n", "a warning\n"}
        while awaited:
            line = terminal.readline()
            assert line, "it ended and nobody saw what the agent said"
            awaited.discard(line)
        scene.open_gate()
        assert "STATUS" not in line
        assert "Ralph Loop Summary\n" in terminal.read()
    assert running.wait().exit_code == 1


def test_the_recommendation_and_notes_reach_the_next_agent_alone(scene: Scene) -> None:
    scene.agent(
        "[ $RALPH_ITERATION = 1 ] && report 'RECOMMENDATION: look at the cache first' && exit\n"
        "report 'STATUS: IN_PROGRESS'"
    )
    assert scene.tell("note", "prefer", "`sqlite`").exit_code == 0
    done = scene.run("3", "--max-stuck", "9")
    assert [event.text for event in told(done, "noteAdded")] == ["prefer `sqlite`"]
    prompts = [scene.prompt(number) for number in (1, 2, 3)]
    said = "> look at the cache first\n"
    assert [said in prompt for prompt in prompts] == [False, True, False]
    assert ["> prefer `sqlite`\n" in prompt for prompt in prompts] == [True, False, False]
    assert [f"iteration {number} of 3" in prompts[number - 1] for number in (1, 2, 3)] == [True] * 3
