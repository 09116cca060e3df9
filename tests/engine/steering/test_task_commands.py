"""``ralph skip`` and ``ralph reset-task``, with an engine and without one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.project_builder import wait_for
from tests.engine.ralph_runner import Project, told
from tests.engine.steered_run import WAITS, at_work, said

pytestmark = pytest.mark.slow

VAIN = "report 'STATUS: IN_PROGRESS'"


def ids(project: Project) -> list[str]:
    tasks = json.loads(project.tell("plan", "--json").stdout)["tasks"]
    return [task["id"] for task in tasks]


def plan(project: Project) -> str:
    return (project.repository / "@fix_plan.md").read_text(encoding="utf-8")


class TestSkip:
    def test_the_next_iteration_takes_another_task_and_the_plan_is_as_it_was(
        self, project: Project
    ) -> None:
        project.plan("First task", "Second task")
        before = plan(project)
        running = at_work(project, "2")
        first, second = ids(project)
        words = "the task is skipped after this iteration for the rest of the run"
        assert said(project.tell("skip", first)) == (0, words)
        assert said(project.tell("skip", first)) == (1, "Rejected: the task is already skipped")
        started: Any = running.wait_for("iterationStarted")
        project.open_gate()
        wait_for(project.repository, "iterationStarted", after_seq=started.seq)
        project.open_gate()
        done = running.wait()
        assert [event.task.id for event in told(done, "iterationStarted")] == [first, second]
        assert plan(project) == before

    def test_a_task_that_is_done_or_not_there_is_refused(self, project: Project) -> None:
        project.plan("First task", "Second task")
        (project.repository / "@fix_plan.md").write_text(
            plan(project).replace("[ ] Sec", "[x] Sec")
        )
        running = at_work(project, "1")
        code, words = said(project.tell("skip", ids(project)[1]))
        assert (code, words) == (
            1,
            "Rejected: the task 'Second task' is done in the plan, so the loop ignores it",
        )
        missing = project.tell("skip", "nobody")
        assert missing.exit_code == 64
        assert "@fix_plan.md has no task 'nobody'" in missing.stderr
        project.open_gate()
        running.wait()

    def test_without_an_engine_it_is_reported_at_once_and_nothing_is_written(
        self, project: Project
    ) -> None:
        project.plan("First task", "Second task").agent(VAIN)
        assert project.run("1").exit_code == 1
        before = sorted(project.run_folder().parent.parent.rglob("*"))
        told_so = project.tell("skip", ids(project)[0])
        assert told_so.exit_code == 5
        assert "no engine is running, and a task can only be skipped" in told_so.stderr
        assert sorted(project.run_folder().parent.parent.rglob("*")) == before


class TestResetTask:
    def test_the_plan_says_open_again_and_no_attempts_are_counted(self, project: Project) -> None:
        project.plan("First task", "Second task")
        running = at_work(project, "1")
        first = ids(project)[0]
        (project.repository / "@fix_plan.md").write_text(
            plan(project).replace("[ ] First", "[x] First")
        )
        code, words = said(project.tell("reset-task", first))
        assert code == 0
        assert words.startswith("the task 'First task' is open in @fix_plan.md; its attempts are")
        assert "- [ ] First task\n  - Reset for retry\n" in plan(project)
        project.open_gate()
        (accepted,) = told(running.wait(), "commandAccepted")
        assert (accepted.command_kind, accepted.task) == ("resetTask", first)

    def test_a_skipped_task_is_taken_again(self, project: Project) -> None:
        project.plan("First task", "Second task")
        running = at_work(project, "2")
        first = ids(project)[0]
        project.tell("skip", first)
        project.tell("reset-task", first)
        started: Any = running.wait_for("iterationStarted")
        project.open_gate()
        wait_for(project.repository, "iterationStarted", after_seq=started.seq)
        project.open_gate()
        done = running.wait()
        assert [event.task.id for event in told(done, "iterationStarted")] == [first, first]

    def test_without_an_engine_it_counts_for_the_run_that_continues(self, project: Project) -> None:
        (project.plan("First task", "Second task").agent(VAIN))
        (project.repository / ".ralph").mkdir(exist_ok=True)
        settings = "[attempts]\nlimit = 5\n[breaker]\nenabled = false\n"
        (project.repository / ".ralph" / "config.toml").write_text(settings)
        assert project.run("2").exit_code == 1
        first = ids(project)[0]
        code, words = said(project.tell("reset-task", first))
        assert code == 0
        assert words == (
            "the task 'First task' is open in @fix_plan.md; its attempts are reset when "
            "the run continues"
        )
        done = project.tell("run", "3", "--resume", "--agent-command", project.command)
        (accepted,) = told(done, "commandAccepted")[-1:]
        assert (accepted.command_kind, accepted.task, accepted.by) == (
            "resetTask",
            first,
            "ralph reset-task",
        )
        assert told(done, "attemptCounted")[-1].attempt == 1
        again = project.tell("run", "4", "--resume", "--agent-command", project.command)
        assert len(told(again, "commandAccepted")) == 1

    def test_a_new_run_counts_from_nothing_anyway(self, project: Project) -> None:
        project.plan("First task").agent(VAIN)
        project.run("1")
        project.tell("reset-task", ids(project)[0])
        assert told(project.run("1"), "commandAccepted") == []

    def test_it_needs_no_run(self, project: Project) -> None:
        project.plan("First task")
        code, words = said(project.tell("reset-task", ids(project)[0]))
        assert (code, words) == (0, "the task 'First task' is open in @fix_plan.md")
        missing = project.tell("reset-task", "nobody")
        assert missing.exit_code == 64
        assert "has no task 'nobody'" in missing.stderr

    def test_without_a_plan_it_is_reported(self, project: Project) -> None:
        project.plan("First task")
        (project.repository / "@fix_plan.md").unlink()
        missing = project.tell("reset-task", "a")
        assert missing.exit_code == 5
        assert "no plan in" in missing.stderr


def test_a_run_that_waits_because_all_is_skipped_continues_with_a_reset_task(
    project: Project,
) -> None:
    project.plan("First task").agent(WAITS)
    project.make_gate()
    running = project.start("2", "--on-halt", "wait")
    running.wait_for("agentStarted")
    (first,) = ids(project)
    project.tell("skip", first)
    project.open_gate()
    parked: Any = running.wait_for("phaseChanged", phase="parked")
    assert parked.reason == "blocked"
    assert said(project.tell("reset-task", first))[0] == 0
    wait_for(project.repository, "iterationStarted", after_seq=parked.seq)
    project.open_gate()
    done = running.wait()
    assert len(told(done, "iterationStarted")) == 2
