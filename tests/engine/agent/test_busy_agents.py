"""Agents that are busy and get nowhere, in whole runs: what is no progress, and why in words."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.engine.project_builder import Completed
from tests.engine.ralph_runner import Project

SAYS = "report 'STATUS: IN_PROGRESS'"


def reasons(done: Completed) -> list[str]:
    """Why each iteration was progress, or was none."""
    return [event.evidence.why for event in told(done, "evidenceGathered")]


def told(done: Completed, kind: str) -> list[Any]:
    return [event for event in done.events if getattr(event, "kind", "") == kind]


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "plain"])
def test_what_ralph_writes_into_the_repository_is_no_progress(
    project: Project, *, as_json: bool
) -> None:
    project.agent(f"commit; {SAYS}")
    with project.file("out.txt").open("wb") as out:
        flags = ("--json",) if as_json else ()
        done = project.start("9", *flags, stdout=out.fileno()).wait()
    assert done.exit_code == 4
    assert len(told(done, "iterationEnded")) == 3
    assert all("out.txt" not in event.evidence.paths for event in told(done, "evidenceGathered"))
    assert project.file("out.txt").stat().st_size > 1000


def test_what_goes_there_through_a_pipe_is_no_progress(project: Project) -> None:
    project.agent(SAYS)
    tee = ["tee", str(project.file("out.log"))]
    with subprocess.Popen(tee, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as writer:
        assert writer.stdin is not None
        done = project.start("9", "--json", stdout=writer.stdin.fileno()).wait()
        writer.stdin.close()
    assert done.exit_code == 4
    # The file comes about whenever its program likes, so the first look may be too early.
    assert "only ralph's own output changed: out.log" in reasons(done)
    assert len(told(done, "iterationEnded")) <= 4


def test_a_log_that_is_committed_each_time_is_progress_once(project: Project) -> None:
    project.agent(f'echo "run $RALPH_ITERATION" >>app.log; commit; {SAYS}')
    done = project.run("9")
    again = "only output files changed again: app.log"
    assert reasons(done) == ["1 commit, 1 file", again, again, again]
    assert (done.exit_code, f"Evidence: {again}" in done.stdout) == (4, True)


def test_a_resumed_run_knows_what_changed_before(project: Project) -> None:
    project.agent(f'echo "run $RALPH_ITERATION" >>notes.txt; commit; {SAYS}')
    project.run("1")
    done = project.tell("run", "3", "--resume")
    assert reasons(done)[1:] == ["only output files changed again: notes.txt"] * 2


def test_a_task_that_is_never_finished_is_set_aside_with_the_agents_words(
    project: Project,
) -> None:
    project.agent(
        'echo "# idea $RALPH_ITERATION" >>parser.py; commit\n'
        "report 'STATUS: IN_PROGRESS' 'RECOMMENDATION: ask for the grammar'"
    )
    files = {".ralph/config.toml": "[attempts]\nunfinished = 3\n"}
    project.plan("First task", "Second task", files=files)
    done = project.run("4")
    (aside,) = told(done, "taskSetAside")
    assert (aside.iteration, aside.task.title) == (3, "First task")
    assert aside.reason.endswith("the agent's last words: ask for the grammar")
    assert "- [ ] [BLOCKED] First task" in project.file("@fix_plan.md").read_text(encoding="utf-8")
    warned = [event.iteration for event in told(done, "warned") if event.code == "task-without-end"]
    assert warned == [2]
    assert told(done, "iterationStarted")[3].task.title == "Second task"
