"""The validation script: when it runs, what its failure means, and that it can always be ended."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.engine.project_builder import Completed, git, marked_processes
from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

SCRIPT = ".ralph/validate.sh"
WORKS = "work; commit; report 'STATUS: IN_PROGRESS'"
COUNTS = 'echo "validated $RALPH_START" >>"$SEEN"; '

UNGUARDED = "[guard]\nenabled = false\n"


def with_script(project: Project, body: str, agent: str = WORKS, *, config: str = "") -> Project:
    """A repository that brings the script, whose owner has allowed it."""
    files = {SCRIPT: f"#!/bin/sh\nset -eu\n{body}\n"}
    if config:
        files[".ralph/config.toml"] = config
    project.plan(files=files).agent(agent)
    make_executable(project)
    allowed = project.tell("allow", "--yes", "--json")
    assert json.loads(allowed.stdout)["allowed"] is True
    return project


def make_executable(project: Project) -> None:
    project.file(SCRIPT).chmod(0o755)
    git(project.repository, "commit", "-qam", "Make it executable")


def run(project: Project, *arguments: str) -> Completed:
    return project.run(*arguments, env={"SEEN": str(project.kept / "seen")})


def seen(project: Project) -> list[str]:
    path = project.kept / "seen"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_it_runs_after_each_iteration_and_before_the_next_agent(project: Project) -> None:
    with_script(project, COUNTS + "echo all is well")
    done = run(project, "2")
    assert done.exit_code == 1
    assert seen(project) == ["validated 1", "validated 2"]
    assert [(event.ok, event.exit_code, event.tail) for event in told(done, "validated")] == [
        (True, 0, "all is well\n")
    ] * 2
    kinds = [kind for kind in done.kinds() if kind in {"agentStarted", "validated"}]
    assert kinds == ["agentStarted", "validated"] * 2
    assert done.stdout.count("▸ Validation passed\n") == 2
    (log,) = project.file(".ralph/logs").glob("*.log")
    assert log.read_text(encoding="utf-8").count("all is well\n") == 2


def test_its_failure_ends_the_run_with_its_last_words(project: Project) -> None:
    with_script(
        project,
        'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo "line $i of 漢字 checks"; done\n'
        "echo 'one of them failed' >&2; exit 9",
    )
    done = run(project, "5")
    assert done.exit_code == 5
    (validated,) = told(done, "validated")
    assert (validated.ok, validated.exit_code, validated.timed_out) == (False, 9, False)
    assert "line 200 of 漢字 checks\n" in validated.tail
    assert "one of them failed\n" in validated.tail
    assert len(validated.tail) == 2000
    end = told(done, "runEnded")[0]
    assert end.message == (
        "the validation script failed with exit code 9 after iteration 1: one of them failed"
    )
    assert "▸ Validation failed" in done.stdout
    assert len(told(done, "iterationEnded")) == 1


def test_a_finishing_iteration_is_validated_too(project: Project) -> None:
    finishes = (
        "work; mark x First; commit; say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'"
    )
    with_script(project, "exit 1", finishes)
    assert run(project, "5").exit_code == 5
    git(project.repository, "rm", "-q", SCRIPT)
    assert run(project, "5").exit_code == 0


def test_it_may_take_only_so_long_and_nothing_of_it_stays(project: Project) -> None:
    with_script(project, "echo begun; sleep 600 & sleep 600", config='validate_timeout = "5s"\n')
    done = run(project, "5")
    assert done.exit_code == 5
    (validated,) = told(done, "validated")
    assert (validated.ok, validated.timed_out, validated.tail) == (False, True, "begun\n")
    end = told(done, "runEnded")[0]
    assert end.message == "the validation script timed out after iteration 1"
    assert "▸ Validation timed out" in done.stdout
    assert marked_processes(done.events[0].run) == []


def test_one_that_is_not_executable_is_skipped_and_reported(project: Project) -> None:
    project.plan(files={SCRIPT: "#!/bin/sh\nexit 1\n"}).agent(WORKS)
    assert project.tell("allow", "--yes").exit_code == 0
    done = run(project, "2")
    assert done.exit_code == 1
    assert told(done, "validated") == []
    assert warnings(done).count("validate-not-executable") == 1
    assert (
        "▸ Warning (validate-not-executable): .ralph/validate.sh is not executable and was "
        "skipped; make it executable with: chmod +x .ralph/validate.sh\n"
    ) in done.stdout


def test_one_that_was_never_allowed_keeps_the_run_from_starting(project: Project) -> None:
    project.plan(files={SCRIPT: f"#!/bin/sh\n{COUNTS}\n"}).agent(WORKS)
    make_executable(project)
    done = run(project, "1")
    assert (done.exit_code, done.events, seen(project)) == (78, (), [])
    assert f"you haven't approved: {SCRIPT}" in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        pytest.param('echo "touch owned" >>.ralph/validate.sh', id="changed"),
        pytest.param("rm .ralph/validate.sh; ln -s /bin/true .ralph/validate.sh", id="a-link"),
        pytest.param("rm .ralph/validate.sh", id="gone"),
        pytest.param("chmod -x .ralph/validate.sh", id="not-executable-any-more"),
    ],
)
def test_one_that_the_agent_changes_is_not_run_and_the_run_ends(
    project: Project, change: str
) -> None:
    """Where nothing is restored, trust is what holds."""
    with_script(project, COUNTS, f"{change}; {WORKS}", config=UNGUARDED)
    done = run(project, "5")
    assert (done.exit_code, seen(project)) == (5, [])
    assert told(done, "validated") == []
    assert SCRIPT in told(done, "runEnded")[0].message
    assert not project.file("owned").exists()


def test_one_that_the_agent_makes_is_not_run(project: Project) -> None:
    project.plan(files={".ralph/config.toml": UNGUARDED}).agent(
        "mkdir -p .ralph; printf '#!/bin/sh\\ntouch owned\\n' >.ralph/validate.sh\n"
        f"chmod +x .ralph/validate.sh; {WORKS}"
    )
    done = run(project, "5")
    assert done.exit_code == 5
    assert SCRIPT in told(done, "runEnded")[0].message
    assert not project.file("owned").exists()


@pytest.mark.parametrize(
    ("verb", "code"),
    [(("stop", "--now"), 130), (("stop",), 130)],
    ids=["at-once", "after-the-iteration"],
)
def test_stop_reaches_it(project: Project, verb: tuple[str, ...], code: int) -> None:
    body = ': >"$SEEN.begun"; read -r _ <"$SEEN.go"; echo over'
    with_script(project, body)
    os.mkfifo(project.kept / "seen.go")
    running = project.start("5", env={"SEEN": str(project.kept / "seen")})
    running.wait_for("evidenceGathered")
    assert project.tell(*verb).exit_code == 0
    if verb == ("stop",):
        (project.kept / "seen.go").write_text("go\n", encoding="utf-8")
    done = running.wait()
    assert done.exit_code == code
    assert [event.ok for event in told(done, "validated")] == ([True] if verb == ("stop",) else [])
    outcomes: list[Any] = [event.outcome for event in told(done, "iterationEnded")]
    assert outcomes == (["progress"] if verb == ("stop",) else ["stopped"])
    assert marked_processes(done.events[0].run) == []


def test_a_secret_that_it_prints_is_written_nowhere(project: Project) -> None:
    with_script(project, 'echo "with $MY_API_TOKEN"; exit 1')
    done = project.run("1", env={"MY_API_TOKEN": "hunter2-hunter2"})
    assert told(done, "validated")[0].tail == "with [redacted MY_API_TOKEN]\n"
    assert "hunter2" not in done.stdout + (project.run_folder() / "journal.jsonl").read_text(
        encoding="utf-8"
    )
