"""What a run leaves for people: its logs, the summary, what they see while it works."""

from __future__ import annotations

import os
import re
import time
from zoneinfo import ZoneInfo

import pytest

from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

SOMETIMES_COMMITS = """\
work
[ "$RALPH_START" = 3 ] && commit
echo "out $RALPH_START"
echo "err $RALPH_START" >&2
report 'STATUS: IN_PROGRESS'
"""
HEADER = (
    "iteration,mode,duration_seconds,commit_hash,stories_complete,stories_total,stuck_count,"
    "timestamp"
)


def test_a_commit_zeroes_the_stuck_count_and_the_summary_has_a_row_an_iteration(
    project: Project,
) -> None:
    project.plan("First task", "Second task").agent(SOMETIMES_COMMITS)
    done = project.run("5", "--max-stuck", "3")
    assert done.exit_code == 1
    text = project.file(".ralph/logs/summary.csv").read_bytes().decode()
    assert text.count("\r") == 0
    lines = text.split("\n")
    assert (lines[0], lines[-1]) == (HEADER, "")
    rows = [line.split(",") for line in lines[1:-1]]
    commit = git(project.repository, "rev-parse", "HEAD")[:7]
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
    assert "Tasks:       0 done of 1 attempted, 2 open\n" in done.stdout
    assert "Stuck iters: 4\n" in done.stdout


def test_the_summary_counts_what_is_done_and_is_below_its_rule(project: Project) -> None:
    project.plan("First task", "Second task").agent(
        "if [ $RALPH_START = 1 ]; then mark x First; else mark x Second; fi; work; commit\n"
        "say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'"
    )
    done = project.run("7")
    assert done.exit_code == 0
    at = done.stdout.index("\nRalph Loop Summary\n")
    seconds = told(done, "runEnded")[0].seconds
    modes = round(sum(one.seconds for one in told(done, "iterationEnded")))
    assert done.stdout[at + 1 :].startswith(
        "Ralph Loop Summary\n"
        "──────────────────\n"
        "Exit:        COMPLETE (code 0)\n"
        "Reason:      the agent signals completion and every required task is done\n"
        "Iterations:  2 / 7\n"
        f"Duration:    {round(seconds)}s\n"
        "Tasks:       2 done of 2 attempted, none open\n"
        f"Modes:       build {modes}s\n"
        "Commits:     2\n"
        "Files:       1 changed\n"
        "Cost:        not reported by the agent\n"
        f"Avg/iter:    {round(seconds / 2)}s\n"
        "Stuck iters: 0\n"
        "Agent says:  IN_PROGRESS (iteration 2)\n"
        "Log:         .ralph/logs/summary.csv\n"
    )
    summary = project.file(".ralph/logs/summary.csv").read_text(encoding="utf-8")
    assert [line.split(",")[4:6] for line in summary.splitlines()[1:]] == [["1", "2"], ["2", "2"]]


def test_the_log_of_a_run_has_a_frame_an_iteration_in_local_time(project: Project) -> None:
    project.agent(SOMETIMES_COMMITS)
    done = project.run("3", "--max-stuck", "9", env={"TZ": "Asia/Tokyo"})
    (log,) = project.file(".ralph/logs").glob("*.log")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_001\.log", log.name)
    started = told(done, "iterationStarted")[2].at.astimezone(ZoneInfo("Asia/Tokyo"))
    commit = git(project.repository, "rev-parse", "HEAD")[:7]
    rule = "━" * 40
    frames = log.read_text(encoding="utf-8").split(f"{rule}\nIteration: ")
    assert len(frames) == 4
    assert re.fullmatch(
        rf"3\nBranch: main\nStarted: {started:%Y-%m-%d %H:%M:}\d\d\n{rule}\n\n"
        rf"[^━]*out 3\n[^━]*\n{rule}\nCompleted: [-\d]{{10}} [:\d]{{8}}\nDuration: \d+s\n"
        rf"Commit: {commit}\n{rule}\n\n▸ [:\d]{{8}} Ended: limit: reached the 3-iteration limit\n",
        frames[3],
    )
    assert f"▸ {started:%H:%M:}" in frames[3]
    assert "err 3\n" in frames[3]
    assert "Commit:" not in frames[2]


def test_an_iteration_can_have_a_separate_log_and_earlier_ones_are_moved(
    project: Project,
) -> None:
    settings = 'log_form = "iteration"\n[paths]\nlogs = "ralph/logs"\n'
    project.plan(files={".ralph/config.toml": settings}).agent(SOMETIMES_COMMITS)
    first = project.run("2")
    logs = project.file("ralph/logs")
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
    assert git(project.repository, "status", "--porcelain") == "?? work.txt\n"
    kept = {path.name: path.read_bytes() for path in logs.iterdir()}
    second = project.run("1")
    moved = logs / f"run-{first.events[0].run}"
    assert {path.name: path.read_bytes() for path in moved.iterdir()} == kept
    assert "out 1\n" in (logs / "iteration-001.log").read_text(encoding="utf-8")
    assert len((logs / "summary.csv").read_text(encoding="utf-8").splitlines()) == 2
    assert "Log:         ralph/logs/summary.csv\n" in second.stdout
    assert git(project.repository, "status", "--porcelain") == "?? work.txt\n"


@pytest.mark.parametrize("form", ["run", "iteration"])
def test_a_log_for_people_has_what_happened_around_the_words_of_an_agent(
    project: Project, form: str
) -> None:
    settings = f'log_form = "{form}"\ntimeout = 1\non_timeout = "continue"\n'
    project.plan("First", "Second", files={".ralph/config.toml": settings})
    project.agent(
        """printf 'plain \\033[31mred\\033[0m \\033]0;title\\007 '
        printf '\\342\\200\\256abc\\r\\n10%%\\r20%%'
        [ $RALPH_START != 2 ] || { cat go; }
        sed -i '/Second/d' IMPLEMENTATION_PLAN.md *fix_plan.md 2>/dev/null"""
    )
    os.mkfifo(project.file("go"))
    done = project.run("2")
    assert done.exit_code == 1
    logs = sorted(project.file(".ralph/logs").glob("*.log"))
    text = "".join(log.read_text(encoding="utf-8") for log in logs)
    assert text.count("plain red \\x1b]0;title\\x07 \\u202eabc\n10%\n20%\n▸ ") >= 2
    assert re.search(r"▸ [:\d]{8} The agent timed out after 1s and was ended\n", text)
    assert "Restored: 1 open task dropped" in text
    assert "Breaker: CLOSED → HALF_OPEN" in text
    if form == "iteration":
        assert "earlier logs" not in project.run("1").stdout


def test_logs_that_an_agent_cleans_away_are_made_again(project: Project) -> None:
    cleans = '[ "$RALPH_START" -gt 1 ] || git clean -qfdx'
    project.agent(f"echo out $RALPH_START; {cleans}; report 'STATUS: IN_PROGRESS'")
    done = project.run("3", "--max-stuck", "9")
    assert done.exit_code == 4
    logs = project.file(".ralph/logs")
    summary = (logs / "summary.csv").read_text(encoding="utf-8")
    assert [row.partition(",")[0] for row in summary.splitlines()[1:]] == ["1", "2", "3"]
    (log,) = logs.glob("*.log")
    said = re.findall(r"^out \d$", log.read_text(encoding="utf-8"), re.MULTILINE)
    assert said == ["out 2", "out 3"]
    assert "log-not-written" not in warnings(done)


def test_a_state_folder_in_the_tree_is_no_evidence_and_no_change(project: Project) -> None:
    project.agent("git add -A; git commit -qm all --allow-empty; report 'STATUS: IN_PROGRESS'")
    done = project.run("5", env={"RALPH_STATE_DIR": str(project.file("its/state"))})
    assert done.exit_code == 4
    assert "Evidence: 1 commit, " not in done.stdout
    assert git(project.repository, "status", "--porcelain") == ""
    assert git(project.repository, "ls-files") == "@fix_plan.md\n"


def test_what_the_agent_prints_is_seen_while_it_works(project: Project) -> None:
    project.agent(
        "echo 'a first word'; echo 'a warning' >&2; wait_here; report 'EXIT_SIGNAL: false'"
    )
    project.make_gate()
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, encoding="utf-8") as terminal:
        running = project.start("1", stdout=write_end)
        os.close(write_end)
        awaited = {"a first word\n", "a warning\n"}
        while awaited:
            line = terminal.readline()
            assert line, "it ended and nobody saw what the agent said"
            awaited.discard(line)
        project.open_gate()
        assert "STATUS" not in line
        assert "Ralph Loop Summary\n" in terminal.read()
    assert running.wait().exit_code == 1


def test_the_recommendation_and_notes_reach_the_next_agent_alone(project: Project) -> None:
    project.agent(
        "[ $RALPH_START = 1 ] && report 'RECOMMENDATION: look at the cache first' && exit\n"
        "report 'STATUS: IN_PROGRESS'"
    )
    assert project.tell("note", "prefer", "`sqlite`").exit_code == 0
    done = project.run("3", "--max-stuck", "9")
    assert [event.text for event in told(done, "noteAdded")] == ["prefer `sqlite`"]
    prompts = [project.prompt(number) for number in (1, 2, 3)]
    said = "> look at the cache first\n"
    assert [said in prompt for prompt in prompts] == [False, True, False]
    assert ["> prefer `sqlite`\n" in prompt for prompt in prompts] == [True, False, False]
    assert [f"iteration {number} of 3" in prompts[number - 1] for number in (1, 2, 3)] == [True] * 3


def old_logs(project: Project, names: list[str]) -> list[str]:
    """Write logs, each a day older than the one before it; those of them that are there still."""
    for age, name in enumerate(names, start=1):
        path = project.file(f".ralph/logs/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old\n", encoding="utf-8")
        changed = time.time() - age * 86400 - 60
        os.utime(path, (changed, changed))
    return names


def left(project: Project) -> set[str]:
    folder = project.file(".ralph/logs")
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


OLD = [
    "2020-01-01_001.log",
    "run-20200101T000000Z-aaaa/iteration-001.log",
    "run-earlier-2/iteration-1000.log",
    "2020-01-01_002.log",
    "2020-01-01T10-20-30.log",
]
FOREIGN = ["mine.log", "2020-01-01_003.txt", "notes/2020-01-01_001.log", "run-x/summary.csv"]


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        pytest.param("days = 2\nnewest = 0\n", OLD[:1], id="days"),
        pytest.param("newest = 3\ndays = 0\n", OLD[:3], id="newest"),
        pytest.param("newest = 1\ndays = 4\n", OLD[:3], id="either-keeps"),
        pytest.param("", OLD, id="as-the-profile-has-it"),
    ],
)
def test_old_logs_are_removed_at_a_start_and_that_is_reported(
    project: Project, settings: str, kept: list[str]
) -> None:
    files = {".ralph/config.toml": f"[log_retention]\n{settings}"} if settings else {}
    project.plan(files=files).agent(SOMETIMES_COMMITS)
    old_logs(project, OLD)
    old_logs(project, FOREIGN)
    done = project.run("1")
    (today,) = {name for name in left(project) if name not in {*OLD, *FOREIGN, "summary.csv"}}
    assert left(project) == {*kept, *FOREIGN, "summary.csv", today}
    removed = len(OLD) - len(kept)
    noun = "log" if removed == 1 else "logs"
    assert [event.message for event in told(done, "warned") if event.code == "logs-removed"] == (
        [f"removed {removed} old {noun} from .ralph/logs"] if removed else []
    )
    # A folder that held nothing else is gone with its logs.
    assert project.file(".ralph/logs/run-earlier-2").exists() == (OLD[2] in kept)


def test_logs_of_the_run_that_continues_and_those_in_git_are_never_removed(
    project: Project,
) -> None:
    settings = 'log_form = "iteration"\n[log_retention]\nnewest = 0\ndays = 0\n'
    tracked = ".ralph/logs/2020-01-01_001.log"
    project.plan(files={".ralph/config.toml": settings, tracked: "kept\n"})
    os.utime(project.file(tracked), (1, 1))
    project.agent(SOMETIMES_COMMITS).run("1")
    old_logs(project, OLD[3:])
    done = project.tell("run", "2", "--resume")
    assert warnings(done).count("logs-removed") == 1
    assert left(project) == {
        "2020-01-01_001.log",
        "iteration-001.log",
        "iteration-002.log",
        "summary.csv",
    }


def test_a_log_folder_that_is_a_link_is_not_followed(project: Project) -> None:
    project.plan(files={".ralph/config.toml": "[log_retention]\nnewest = 0\ndays = 0\n"})
    elsewhere = project.kept / "elsewhere"
    elsewhere.mkdir()
    log = elsewhere / "iteration-001.log"
    log.write_text("kept\n", encoding="utf-8")
    project.file(".ralph/logs").mkdir()
    project.file(".ralph/logs/run-x").symlink_to(elsewhere)
    project.file(".ralph/logs/2020-01-01_001.log").symlink_to(log)
    project.agent(SOMETIMES_COMMITS).run("1")
    assert log.exists()
    assert project.file(".ralph/logs/2020-01-01_001.log").is_symlink()
