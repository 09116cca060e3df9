"""Fleets on one machine: dependencies between repositories, repairs, questions and refusals."""

from __future__ import annotations

from ralph_ls.protocol.fleet import FleetRunState, FleetTaskState
from tests.engine.project_builder import git
from tests.fleet.fleet_project import WORK, FleetProject

CONFLICT = """\
case "$prompt" in *"conflict markers"*)
  sed -i -e '/^<<<<<<< /d' -e '/^=======$/d' -e '/^>>>>>>> /d' shared.txt;;
*) sed -i "s/^base$/base $task/" shared.txt;
  # Both have begun before either is done.
  while [ "$(wc -l <{kept}/started)" -lt 2 ]; do sleep 0.05; done;;
esac
"""


def test_a_task_starts_when_its_dependency_in_another_repository_is_merged(
    fleet: FleetProject,
) -> None:
    api = fleet.repository("api", ["Task A", "Task B"], remote=False)
    web = fleet.repository("web", ["Task C\n  - Depends on: api#Task B", "Task D"], remote=False)
    before = git(api, "rev-parse", "HEAD")

    done = fleet.ralph("run", "--until-done")

    assert done.returncode == 0, done.stdout + done.stderr
    assert fleet.merged(api) == {"A": 1, "B": 1}
    assert fleet.merged(web) == {"C": 1, "D": 1}
    order = [line.split()[0] for line in (fleet.kept / "started").read_text().splitlines()]
    assert order.index("B") < order.index("C")
    # The user's own branch and files are as they were, and no ref of the work is left.
    assert git(api, "rev-parse", "HEAD") == before
    assert git(api, "status", "--porcelain") == ""
    assert git(api, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main",
        "refs/heads/ralph/fleet",
    ]
    assert list((fleet.folder / "machines" / "desk" / "fleet" / "lanes").glob("*/*")) == []
    assert "Task B" in fleet.ralph("logs", "api#Task B").stdout
    database = fleet.folder / "machines" / "desk" / "fleet" / "fleet.sqlite"
    assert database.stat().st_mode & 0o077 == 0
    status = fleet.status()
    assert status.state is FleetRunState.ENDED
    assert {one.state for one in status.tasks} == {FleetTaskState.MERGED}


def test_conflicts_questions_and_secrets(fleet: FleetProject) -> None:
    fleet.agent(
        'case "$task" in\n'
        f"A|B) {CONFLICT.format(kept=fleet.kept)};;\n"
        'C) case "$prompt" in *"Use SQLite"*) ;; *)\n'
        "  printf '%s\\n' '<promise>DECIDE: Which database?</promise>'; exit;; esac;;\n"
        "D) echo ghp_0123456789abcdefghijABCDEFGHIJ012345 >token.txt;;\n"
        f"esac\n{WORK}"
    )
    api = fleet.repository(
        "api",
        ["Task A", "Task B", "Task C", "Task D"],
        files={"shared.txt": "base\n"},
        settings="lanes = 4",
        remote=False,
    )

    done = fleet.ralph("run", "--until-done")

    assert done.returncode == 2, done.stdout + done.stderr
    # Two tasks changed one line: the second one was repaired on top of the first.
    assert fleet.merged(api) == {"A": 1, "B": 1}
    shared = git(api, "show", "ralph/fleet:shared.txt")
    assert sorted(shared.split()) == ["A", "B", "base", "base"]
    tasks = {one.title: one for one in fleet.status().tasks}
    assert tasks["Task C"].state is FleetTaskState.ASKING
    assert "Which database?" in (tasks["Task C"].message or "")
    # What looks like a secret was never pushed.
    assert tasks["Task D"].state is FleetTaskState.PARKED
    assert "token.txt" in (tasks["Task D"].message or "")
    assert not [
        ref
        for ref in git(api, "for-each-ref", "--format=%(refname)", "refs/ralph").split()
        if tasks["Task D"].task.partition("#")[2] in ref
    ]

    answered = fleet.ralph("answer", "api#Task C", "Use", "SQLite")
    again = fleet.ralph("answer", "api#Task C", "Use", "Postgres")
    fleet.ralph("run", "--until-done")

    assert answered.returncode == 0, answered.stderr
    assert "asks nothing" in again.stderr
    assert fleet.merged(api) == {"A": 1, "B": 1, "C": 1}
