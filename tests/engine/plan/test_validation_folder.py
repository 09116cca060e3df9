"""The folder of validation scripts: who runs, in which order, and only as it was allowed."""

from __future__ import annotations

import pytest

from tests.engine.project_builder import Completed, git, marked_processes
from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

FOLDER = ".ralph/validate.d"
SAYS = "report 'STATUS: IN_PROGRESS'"
UNGUARDED = "[guard]\nenabled = false\n"


def with_scripts(project: Project, *, config: str = "", **bodies: str) -> Project:
    """A repository with these scripts, whose owner has allowed them; each prints its name."""
    files = {FOLDER + "/README": "Not a script.\n"}
    for name, body in bodies.items():
        shown = name.replace("_", "-", 1).lstrip("n")
        path = ".ralph/validate.sh" if name == "main" else f"{FOLDER}/{shown}"
        files[path] = f'#!/bin/sh\n{body}\necho "{shown} $RALPH_START" >>"$SEEN"\n'
    if config:
        files[".ralph/config.toml"] = config
    project.plan(files=files)
    for path in files:
        if not path.endswith(("README", ".toml")):
            project.file(path).chmod(0o755)
    git(project.repository, "commit", "-qam", "Make them executable")
    assert project.tell("allow", "--yes").exit_code == 0
    return project


def run(project: Project, *arguments: str) -> Completed:
    return project.run(*arguments, env={"SEEN": str(project.kept / "seen")})


def seen(project: Project) -> list[str]:
    path = project.kept / "seen"
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []


def test_they_run_by_name_where_what_they_name_was_changed(project: Project) -> None:
    with_scripts(
        project,
        main="",
        n20_client="# ralph: globs = client/**, *.ts",
        n10_docs="# ralph: globs = docs/",
        n30_all="",
    )
    project.agent(
        'case "$RALPH_START" in\n'
        "1) mkdir client; echo >client/a; commit;;\n"
        "2) mkdir docs; echo >docs/uncommitted;;\n"
        "esac\n" + SAYS
    )
    done = run(project, "3")
    names = ["main", "20-client", "30-all", "main", "10-docs", "30-all", "main", "30-all"]
    iterations = [1, 1, 1, 2, 2, 2, 3, 3]
    assert seen(project) == [f"{one} {n}" for one, n in zip(names, iterations, strict=True)]
    assert told(done, "validated")[0].scripts == (
        ".ralph/validate.sh",
        f"{FOLDER}/20-client",
        f"{FOLDER}/30-all",
    )
    assert warnings(done).count("validate-not-executable") == 1
    assert f"{FOLDER}/README is not executable and was skipped" in done.stdout


def test_the_first_that_fails_ends_it_and_is_named(project: Project) -> None:
    with_scripts(project, n10_good="echo fine", n20_bad="echo broken; exit 7", n30_never="")
    project.agent(f"work; {SAYS}")
    done = run(project, "5")
    assert (done.exit_code, seen(project)) == (5, ["10-good 1"])
    (validated,) = told(done, "validated")
    assert (validated.script, validated.exit_code, validated.tail) == (
        f"{FOLDER}/20-bad",
        7,
        "broken\n",
    )
    assert told(done, "runEnded")[0].message == (
        f"the validation script {FOLDER}/20-bad failed with exit code 7 after iteration 1: broken"
    )
    assert f"▸ Validation failed with code 7 in {FOLDER}/20-bad\n" in done.stdout


def test_each_may_take_so_long_and_nothing_of_it_stays(project: Project) -> None:
    with_scripts(
        project, config='validate_timeout = "3s"\n', n10_ends="", n20_hangs="sleep 600 & sleep 600"
    )
    project.agent(f"work; {SAYS}")
    done = run(project, "5")
    assert done.exit_code == 5
    assert "timed out" in told(done, "runEnded")[0].message
    assert (told(done, "validated")[0].timed_out, seen(project)) == (True, ["10-ends 1"])
    assert marked_processes(done.events[0].run) == []


def test_a_stop_at_once_ends_the_one_that_runs_and_none_comes_after_it(project: Project) -> None:
    with_scripts(project, n10_hangs='echo begun >>"$SEEN"; sleep 600 & sleep 600', n20_never="")
    project.agent(f"work; {SAYS}")
    running = project.start("5", env={"SEEN": str(project.kept / "seen")})
    running.wait_for("evidenceGathered")
    assert project.tell("stop", "--now").exit_code == 0
    done = running.wait()
    assert (done.exit_code, told(done, "validated")) == (130, [])
    assert set(seen(project)) <= {"begun"}
    assert marked_processes(done.events[0].run) == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("printf '#!/bin/sh\\n' >{0}/99-new; chmod +x {0}/99-new", id="made"),
        pytest.param("printf '#!/bin/sh\\n# ralph: globs = no\\n' >{0}/10-one", id="changed"),
        pytest.param("rm {0}/10-one", id="removed"),
    ],
)
def test_one_that_an_agent_makes_changes_or_removes_is_never_run(
    project: Project, change: str
) -> None:
    with_scripts(project, config=UNGUARDED, n10_one="")
    project.agent(f"{change.format(FOLDER)}; work; {SAYS}")
    done = run(project, "5")
    assert (done.exit_code, "99-new 1" in seen(project)) == (5, False)
    message = told(done, "runEnded")[0].message
    assert FOLDER in message
    assert "ralph allow" in message or "git checkout" in message


def test_the_guard_takes_one_that_was_made_away_and_the_run_continues(project: Project) -> None:
    with_scripts(project, n10_one="")
    project.agent(f"echo x >{FOLDER}/99-new; chmod +x {FOLDER}/99-new; work; {SAYS}")
    done = run(project, "1")
    assert (done.exit_code, seen(project)) == (1, ["10-one 1"])
    assert told(done, "guardReverted")[0].path == f"{FOLDER}/99-new"
    assert not project.file(f"{FOLDER}/99-new").exists()


def test_one_that_was_never_allowed_keeps_the_run_from_starting(project: Project) -> None:
    project.plan(files={f"{FOLDER}/10-one": "#!/bin/sh\n"}).agent(SAYS)
    done = project.run("1")
    assert (done.exit_code, done.events) == (78, ())
    assert f"you haven't approved: {FOLDER}/10-one" in done.stderr
