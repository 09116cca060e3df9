"""Parallel runs: lanes, the merge queue, and what the user finds afterwards."""

from __future__ import annotations

import re
import shlex
import stat
import sys
from pathlib import Path

import pytest

from tests.engine.parallel.lanes_project import SAME_LINE, WORK, LanesProject
from tests.engine.project_builder import git, write_agent
from tests.engine.ralph_runner import Ralph, told
from tests.engine.sandbox.conditions import needs_bubblewrap


@pytest.fixture
def lanes(ralph: Ralph, tmp_path: Path) -> LanesProject:
    return LanesProject(ralph, tmp_path)


def test_tasks_are_worked_on_side_by_side_and_merged_in_one_line(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B", "Task C").agent(
        # Each waits until the other has begun, so one after the other would never end.
        'case $task in A|B) : >"$kept/$task.begun"; other=$(echo AB | tr -d "$task")\n'
        'while ! [ -e "$kept/$other.begun" ]; do sleep 0.01; done;; esac\n' + WORK
    )
    head, before = (
        git(lanes.repository, "rev-parse", "HEAD"),
        lanes.file("@fix_plan.md").read_text(),
    )

    done = lanes.run("--parallel", "2")

    assert done.exit_code == 0, done.stdout + done.stderr
    assert sorted(lanes.subjects()) == ["Task A", "Task B", "Task C"]
    assert git(lanes.repository, "rev-list", "--merges", lanes.branch()) == ""
    assert lanes.at("@fix_plan.md") == before.replace("[ ]", "[x]")
    assert {lanes.at(f"{task}.txt") for task in "ABC"} == {"A\n", "B\n", "C\n"}
    assert {*lanes.numbers("A"), *lanes.numbers("B")} == {"1", "2"}
    # The user's own branch, index and files are as they were.
    assert git(lanes.repository, "rev-parse", "HEAD") == head
    assert git(lanes.repository, "status", "--porcelain") == ""
    assert lanes.file("@fix_plan.md").read_text() == before
    # Nothing is left over.
    assert lanes.lanes_left() == []
    assert len(git(lanes.repository, "branch", "--format=%(refname)").split()) == 2
    assert f"git merge --ff-only {lanes.branch().removeprefix('refs/heads/')}" in done.stdout


def test_the_runs_of_lanes_are_kept_with_those_of_the_repository(lanes: LanesProject) -> None:
    done = lanes.tasks("Task A", "Task B").agent(WORK).run("--parallel", "2")

    runs = {event.lane_run for event in told(done, "laneRunStarted")}
    folders = {path.name for path in lanes.run_folder().parent.iterdir()}
    assert len(runs) == 2
    assert runs < folders
    status = lanes.tell("status")
    assert "2 tasks merged into ralph/session-" in status.stdout
    logs = lanes.tell("logs", min(runs))
    assert "EXIT_SIGNAL" in logs.stdout, logs.stderr


def test_a_task_waits_for_what_it_depends_on(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B\n  - Depends on: Task A").agent(
        'test "$task" = A || test -e A.txt\n' + WORK
    )

    done = lanes.run("--parallel", "4")

    assert done.exit_code == 0, done.stdout + done.stderr
    assert lanes.subjects() == ["Task A", "Task B"]
    assert lanes.numbers("B") == ["1"]


def test_a_conflict_is_resolved_by_its_lane_and_merged_once(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B", "Task C", files={"shared.txt": "base\n"}).agent(SAME_LINE)

    done = lanes.run("--parallel", "3")

    assert done.exit_code == 0, done.stdout + done.stderr
    assert sorted(lanes.subjects()) == ["Task A", "Task B", "Task C"]
    assert sorted(lanes.at("shared.txt").split()) == sorted(["base", "A", "base", "B", "base", "C"])
    assert "<<<<" not in lanes.at("shared.txt")
    refused = told(done, "mergeRefused")
    assert [event.problem.value for event in refused] == ["conflict", "conflict"]
    assert refused[0].paths == ("shared.txt",)
    prompt = lanes.prompt_of(refused[0].task.title[-1])
    assert "conflict markers" in prompt
    assert "shared.txt" in prompt
    assert lanes.lanes_left() == []


def test_work_that_its_agent_left_uncommitted_is_not_merged_and_the_user_commits_it(
    lanes: LanesProject,
) -> None:
    body = """
if [ "$task" = A ]; then commit() { :; }; fi
echo "$task" >"$task.txt"; done_now
"""
    lanes.tasks("Task A", "Task B").agent(body)

    done = lanes.run("--parallel", "2", "--on-halt", "exit")

    (refused,) = told(done, "mergeRefused")
    assert refused.problem.value == "uncommitted"
    (parked,) = told(done, "laneParked")
    assert "left work uncommitted: @fix_plan.md, A.txt; commit it in" in parked.message
    assert lanes.subjects() == ["Task B"]
    (tree,) = lanes.lanes_left()
    git(Path(tree), "add", "-A")
    git(Path(tree), "commit", "-q", "-m", "By hand")
    again = lanes.run("--resume")
    assert again.exit_code == 0, again.stderr
    assert lanes.subjects() == ["Task B", "By hand"]
    assert lanes.lanes_left() == []


def test_markers_that_are_left_park_the_lane_and_the_user_resolves_them(
    lanes: LanesProject,
) -> None:
    body = 'grep -q "^<<<<<<<" shared.txt || sed -i "s/^base$/base $task/" shared.txt; done_now'
    lanes.tasks("Task A", "Task B", files={"shared.txt": "base\n"}).agent(body)

    done = lanes.run("--parallel", "2", "--on-halt", "exit")

    assert done.exit_code == 2
    (parked,) = told(done, "laneParked")
    assert "conflict markers are left in shared.txt" in parked.message
    (tree,) = lanes.lanes_left()
    assert tree in done.stdout
    path = Path(tree) / "shared.txt"
    lines = [line for line in path.read_text().splitlines() if not re.match("[<=>]{7}", line)]
    path.write_text("\n".join(lines) + "\n")
    git(Path(tree), "commit", "-qam", "Resolved")
    again = lanes.tell("run", "--resume")
    assert again.exit_code == 0, again.stderr
    assert sorted(lanes.at("shared.txt").split()) == sorted(["base", "A", "base", "B"])
    assert lanes.lanes_left() == []
    assert len(lanes.subjects()) == 2


def test_a_merge_that_is_not_valid_is_not_merged_and_its_lane_repairs_it(
    lanes: LanesProject,
) -> None:
    # Each alone is valid; both together are not, until the second one knows of it.
    script = "#!/bin/sh\n! { [ -e A.txt ] && [ -e B.txt ] && ! [ -e both.txt ]; }\n"
    lanes.tasks("Task A", "Task B", files={".ralph/validate.sh": script})
    lanes.file(".ralph/validate.sh").chmod(0o755)
    git(lanes.repository, "commit", "-qam", "The script can run")
    lanes.agent('case "$prompt" in *"was not merged"*) : >both.txt;; esac\n' + WORK)
    assert lanes.tell("allow", "--yes").exit_code == 0

    done = lanes.run("--parallel", "2")

    assert done.exit_code == 0, done.stdout + done.stderr
    (refused,) = told(done, "mergeRefused")
    assert refused.problem.value == "validation"
    assert lanes.at("both.txt") == ""
    assert sorted(lanes.subjects()) == ["Task A", "Task B"]


def test_a_lane_asks_while_the_others_go_on(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B", "Task C").agent(
        'if [ "$task" = A ] && ! printf "%s" "$prompt" | grep -q "SQLite file"; then\n'
        "echo '<promise>DECIDE: Which store?</promise>'; exit; fi\n" + WORK
    )

    run = lanes.start("--parallel", "2", "--on-halt", "wait")
    run.wait_for("phaseChanged", phase="parked", reason="decide")

    assert sorted(lanes.subjects()) == ["Task B", "Task C"]
    status = lanes.tell("status").stdout
    assert "an answer to: Which store? (lane 1)" in status
    answered = lanes.tell("answer", "SQLite file")
    assert answered.exit_code == 0, answered.stderr
    done = run.wait()
    assert done.exit_code == 0, done.stdout + done.stderr
    assert sorted(lanes.subjects()) == ["Task A", "Task B", "Task C"]


def test_a_question_ends_a_run_that_does_not_wait_and_is_answered_when_it_is_resumed(
    lanes: LanesProject,
) -> None:
    lanes.tasks("Task A", "Task B").agent(
        'if [ "$task" = A ] && ! printf "%s" "$prompt" | grep -q "SQLite file"; then\n'
        "echo '<promise>DECIDE: Which store?</promise>'; exit; fi\n" + WORK
    )

    done = lanes.run("--parallel", "2", "--on-halt", "exit")

    assert done.exit_code == 3, done.stdout
    assert lanes.subjects() == ["Task B"]
    (tree,) = lanes.lanes_left()
    answered = lanes.ralph(Path(tree), "answer", "SQLite file")
    assert answered.exit_code == 0, answered.stderr
    again = lanes.tell("run", "--resume")
    assert again.exit_code == 0, again.stderr
    assert sorted(lanes.subjects()) == ["Task A", "Task B"]


def test_a_stopped_run_continues_where_its_lanes_were(lanes: LanesProject) -> None:
    lanes.make_gate()
    lanes.tasks("Task A", "Task B", "Task C").agent(
        'if [ "$task" = B ] && ! [ -e "$here/again" ]; then : >"$here/again"; '
        ': >"$kept/here"; read -r _ <"$kept/go"; echo half >half.txt; exit; fi\n' + WORK
    )
    run = lanes.start("--parallel", "2")
    run.wait_for("laneMerged")

    stopped = lanes.tell("stop")
    lanes.open_gate()
    done = run.wait()

    assert stopped.exit_code == 0, stopped.stderr
    assert done.exit_code == 130
    assert "half.txt" not in git(lanes.repository, "status", "--porcelain")
    again = lanes.tell("run", "--resume")
    assert again.exit_code == 0, again.stderr
    assert sorted(lanes.subjects()) == ["Task A", "Task B", "Task C"]
    assert lanes.at("half.txt") == "half\n"


def test_direct_moves_the_branch_that_is_checked_out(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B").agent(WORK)

    done = lanes.run("--parallel", "2", "--direct")

    assert done.exit_code == 0, done.stdout + done.stderr
    assert lanes.file("A.txt").read_text() == "A\n"
    assert "[ ]" not in lanes.file("@fix_plan.md").read_text()
    assert git(lanes.repository, "status", "--porcelain") == ""
    assert len(git(lanes.repository, "branch", "--format=%(refname)").split()) == 1


def test_direct_never_touches_a_file_that_the_user_has_changed(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B").agent(
        'if [ "$task" = A ]; then while ! [ -e "$kept/B/plan" ]; do sleep 0.01; done; fi\n' + WORK
    )
    lanes.file("A.txt").write_text("mine\n")

    done = lanes.run("--parallel", "2", "--direct", "--on-halt", "exit")

    assert done.exit_code == 2
    assert lanes.file("A.txt").read_text() == "mine\n"
    (parked,) = told(done, "laneParked")
    assert "A.txt" in parked.message
    lanes.file("A.txt").unlink()
    assert lanes.tell("run", "--resume").exit_code == 0
    assert lanes.file("A.txt").read_text() == "A\n"


def test_onto_merges_into_a_branch_that_nobody_has_checked_out(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B").agent(WORK)
    git(lanes.repository, "branch", "release")
    current = git(lanes.repository, "branch", "--show-current").strip()

    refused = lanes.run("--parallel", "2", "--onto", current)
    done = lanes.run("--parallel", "2", "--onto", "release")

    assert done.exit_code == 0, done.stdout + done.stderr
    assert sorted(lanes.subjects("release")) == ["Task A", "Task B"]
    assert refused.exit_code != 0
    assert f"the branch {current} is checked out in" in refused.stdout + refused.stderr


def test_files_that_git_ignores_are_copied_for_their_owner_alone(lanes: LanesProject) -> None:
    settings = '[lane]\nfiles = [".env", "missing.env"]\n'
    lanes.tasks("Task A", "Task B", files={".ralph/config.toml": settings, ".gitignore": ".env\n"})
    lanes.file(".env").write_text("TOKEN=1\n")
    lanes.agent('cat .env >"$here/env"; stat -c %a .env >"$here/mode"\n' + WORK)

    done = lanes.run("--parallel", "2")

    assert done.exit_code == 0, done.stdout + done.stderr
    assert (lanes.kept / "A" / "env").read_text() == "TOKEN=1\n"
    assert (lanes.kept / "A" / "mode").read_text() == "600\n"
    assert ".env" not in git(lanes.repository, "ls-tree", "--name-only", lanes.branch()).split()
    assert stat.S_IMODE(lanes.file(".env").stat().st_mode) != 0o600


def test_a_setup_command_runs_in_each_lane_once_it_is_approved(lanes: LanesProject) -> None:
    settings = '[lane]\nsetup = ["sh", "-c", "echo $RALPH_LANE > .set-up"]\n'
    files = {".ralph/config.toml": settings, ".gitignore": ".set-up\n"}
    lanes.tasks("Task A", "Task B", files=files).agent("test -s .set-up\n" + WORK)

    refused = lanes.run("--parallel", "2")
    assert refused.exit_code != 0
    assert "lane.setup" in refused.stderr
    assert lanes.tell("allow", "--yes").exit_code == 0
    done = lanes.run("--parallel", "2")

    assert done.exit_code == 0, done.stdout + done.stderr
    assert lanes.lanes_left() == []


def test_a_setup_that_fails_says_so_and_loses_nothing(lanes: LanesProject) -> None:
    settings = '[lane]\nsetup = ["sh", "-c", "echo no network >&2; exit 7"]\n'
    lanes.tasks("Task A", "Task B", files={".ralph/config.toml": settings}).agent(WORK)
    assert lanes.tell("allow", "--yes").exit_code == 0

    done = lanes.run("--parallel", "2", "--on-halt", "exit")

    assert done.exit_code == 4
    messages = {event.message for event in told(done, "laneDropped")}
    assert all("ended with 7" in message and "no network" in message for message in messages)
    assert lanes.lanes_left() == []


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        ("plan", "@fix_plan.md; commit them"),
        ("ignored", "git ignores @fix_plan.md"),
        ("both", "--direct and --onto do not go together"),
        ("task", "--task names one task"),
    ],
)
def test_a_start_that_would_lose_something_is_refused(
    lanes: LanesProject, prepare: str, said: str
) -> None:
    lanes.tasks("Task A", "Task B").agent(WORK)
    more: list[str] = []
    if prepare == "plan":
        lanes.file("@fix_plan.md").write_text("- [ ] Task A\n- [ ] Task X\n")
    elif prepare == "ignored":
        git(lanes.repository, "rm", "-q", "--cached", "@fix_plan.md")
        lanes.file(".gitignore").write_text("@fix_plan.md\n")
        git(lanes.repository, "add", ".gitignore")
        git(lanes.repository, "commit", "-qm", "Ignore the plan")
    elif prepare == "both":
        more = ["--direct", "--onto", "other"]
    else:
        more = ["--task", "2f1c6ae9"]

    done = lanes.run("--parallel", "2", *more)

    assert done.exit_code != 0
    assert said in done.stderr
    assert lanes.lanes_left() == []
    assert "ralph/session" not in git(lanes.repository, "branch", "--list")


def test_the_limit_of_iterations_is_for_all_lanes_together(lanes: LanesProject) -> None:
    lanes.tasks(*(f"Task {letter}" for letter in "ABCDE")).agent(WORK)

    done = lanes.run("3", "--parallel", "2")

    assert done.exit_code == 1
    assert len(lanes.subjects()) == 3
    assert "Iterations:  3 / 3" in done.stdout
    refused = lanes.run("--parallel", "2")
    assert "continue that run: ralph run --resume, merge it: git merge" in refused.stderr


def test_a_lane_that_is_stuck_makes_room_and_is_kept(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B", "Task C").agent(
        'if [ "$task" = A ]; then [ -e left.txt ] || echo left >left.txt; echo thinking; exit; fi\n'
        + WORK
    )

    done = lanes.run("--parallel", "2", "--on-halt", "exit")

    assert done.exit_code == 2
    assert sorted(lanes.subjects()) == ["Task B", "Task C"]
    (tree,) = lanes.lanes_left()
    assert (Path(tree) / "left.txt").read_text() == "left\n"
    (parked,) = told(done, "laneParked")
    assert "without progress" in parked.message


def test_work_that_an_agent_left_uncommitted_keeps_its_lane(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B").agent(WORK + '\n[ "$task" = B ] || echo more >left.txt')

    done = lanes.run("--parallel", "2")

    assert done.exit_code == 0, done.stdout + done.stderr
    (tree,) = lanes.lanes_left()
    assert (Path(tree) / "left.txt").read_text() == "more\n"
    assert "left.txt" in done.stdout


def test_an_agent_in_a_lane_steers_neither_its_own_run_nor_the_parallel_one(
    lanes: LanesProject,
) -> None:
    ralph = f"{sys.executable} -P -m ralph_ls"
    repository = shlex.quote(str(lanes.repository))
    lanes.tasks("Task A", "Task B").agent(
        f'if [ "$task" = A ]; then {ralph} stop >"$here/own" 2>&1 || :\n'
        f'(cd {repository} && {ralph} stop) >"$here/other" 2>&1 || :; fi\n' + WORK
    )

    done = lanes.run("--parallel", "2")

    assert done.exit_code == 0, done.stdout
    for name in ("own", "other"):
        assert "from inside an iteration of run" in (lanes.kept / "A" / name).read_text()


def test_lanes_that_outlive_their_run_keep_another_one_from_starting_until_they_are_stopped(
    lanes: LanesProject,
) -> None:
    lanes.make_gate()
    lanes.tasks("Task A", "Task B").agent(
        'if [ "$task" = A ] && ! [ -e "$here/again" ]; then : >"$here/again"; '
        ': >"$kept/here"; read -r _ <"$kept/go"; fi\n' + WORK
    )
    run = lanes.start("--parallel", "2")
    run.wait_for("laneMerged")
    run.kill()

    refused = lanes.run()
    stopped = lanes.tell("stop")
    lanes.open_gate()

    assert refused.exit_code != 0
    assert "1 lane of a parallel run is still working" in refused.stderr
    assert "1 lane ends after its iteration" in stopped.stdout, stopped.stderr
    again = lanes.tell("run", "--resume")
    assert again.exit_code == 0, again.stdout
    assert sorted(lanes.subjects()) == ["Task A", "Task B"]
    assert lanes.lanes_left() == []


@needs_bubblewrap
def test_an_agent_in_a_box_works_in_its_lane_and_sees_nothing_else_of_the_state(
    lanes: LanesProject,
) -> None:
    lanes.tasks("Task A", "Task B").agent(
        'ls "$PWD/.." >"lanes-of-$task.txt"; ls "$PWD/../../../" >"state-of-$task.txt"\n' + WORK
    )
    # The agent's own files have to be in the box.
    body = (lanes.home / "bin" / "agent").read_text().replace(str(lanes.kept), "/tmp/kept")
    lanes.command = write_agent(lanes.repository / "bin", body)
    git(lanes.repository, "add", "-A")
    git(lanes.repository, "commit", "-qm", "The agent")

    done = lanes.run("--parallel", "2", "--sandbox")

    assert done.exit_code == 0, done.stdout
    assert len(lanes.at("lanes-of-A.txt").split()) == 1
    assert lanes.at("state-of-A.txt").split() == ["lanes"]


def test_tasks_that_wait_on_a_branch_to_be_merged_are_not_done_again(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B").agent(WORK)
    assert lanes.run("--parallel", "2").exit_code == 0
    branch = lanes.branch().removeprefix("refs/heads/")

    refused = lanes.run()

    assert refused.exit_code == 64
    assert f"2 tasks of this plan (Task A, Task B) are done on {branch}" in refused.stderr
    git(lanes.repository, "merge", "-q", "--ff-only", branch)
    assert lanes.run().exit_code == 0
    assert len(lanes.numbers("A")) == 1
