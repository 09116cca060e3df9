"""``ralph skip`` and ``ralph reset-task``, with an engine and without one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.project_builder import wait_for
from tests.engine.ralph_runner import Scene, told
from tests.engine.steered_run import WAITS, at_work, said

pytestmark = pytest.mark.slow

VAIN = "report 'STATUS: IN_PROGRESS'"


def ids(scene: Scene) -> list[str]:
    tasks = json.loads(scene.tell("plan", "--json").stdout)["tasks"]
    return [task["id"] for task in tasks]


def plan(scene: Scene) -> str:
    return (scene.repository / "@fix_plan.md").read_text(encoding="utf-8")


class TestSkip:
    def test_the_next_iteration_takes_another_task_and_the_plan_is_as_it_was(
        self, scene: Scene
    ) -> None:
        scene.plan("First task", "Second task")
        before = plan(scene)
        running = at_work(scene, "2")
        first, second = ids(scene)
        words = "the task is not taken any more after this iteration, for as long as the run lasts"
        assert said(scene.tell("skip", first)) == (0, words)
        assert said(scene.tell("skip", first)) == (1, "Rejected: the task is skipped already")
        started: Any = running.wait_for("iterationStarted")
        scene.open_gate()
        wait_for(scene.repository, "iterationStarted", after_seq=started.seq)
        scene.open_gate()
        done = running.wait()
        assert [event.task.id for event in told(done, "iterationStarted")] == [first, second]
        assert plan(scene) == before

    def test_a_task_that_is_done_or_not_there_is_refused(self, scene: Scene) -> None:
        scene.plan("First task", "Second task")
        (scene.repository / "@fix_plan.md").write_text(plan(scene).replace("[ ] Sec", "[x] Sec"))
        running = at_work(scene, "1")
        code, words = said(scene.tell("skip", ids(scene)[1]))
        assert (code, words) == (
            1,
            "Rejected: the task 'Second task' is done in the plan; nobody would take it",
        )
        missing = scene.tell("skip", "nobody")
        assert missing.exit_code == 64
        assert "@fix_plan.md has no task 'nobody'" in missing.stderr
        scene.open_gate()
        running.wait()

    def test_without_an_engine_it_is_said_at_once_and_nothing_is_written(
        self, scene: Scene
    ) -> None:
        scene.plan("First task", "Second task").agent(VAIN)
        assert scene.run("1").exit_code == 1
        before = sorted(scene.run_folder().parent.parent.rglob("*"))
        told_so = scene.tell("skip", ids(scene)[0])
        assert told_so.exit_code == 5
        assert "no engine runs here, and a task is skipped only for as long" in told_so.stderr
        assert sorted(scene.run_folder().parent.parent.rglob("*")) == before


class TestResetTask:
    def test_the_plan_says_open_again_and_no_attempts_are_counted(self, scene: Scene) -> None:
        scene.plan("First task", "Second task")
        running = at_work(scene, "1")
        first = ids(scene)[0]
        (scene.repository / "@fix_plan.md").write_text(
            plan(scene).replace("[ ] First", "[x] First")
        )
        code, words = said(scene.tell("reset-task", first))
        assert code == 0
        assert words.startswith("the task 'First task' is open in @fix_plan.md; no attempts are")
        assert "- [ ] First task\n  - Reset for retry\n" in plan(scene)
        scene.open_gate()
        (accepted,) = told(running.wait(), "commandAccepted")
        assert (accepted.command_kind, accepted.task) == ("resetTask", first)

    def test_a_skipped_task_is_taken_again(self, scene: Scene) -> None:
        scene.plan("First task", "Second task")
        running = at_work(scene, "2")
        first = ids(scene)[0]
        scene.tell("skip", first)
        scene.tell("reset-task", first)
        started: Any = running.wait_for("iterationStarted")
        scene.open_gate()
        wait_for(scene.repository, "iterationStarted", after_seq=started.seq)
        scene.open_gate()
        done = running.wait()
        assert [event.task.id for event in told(done, "iterationStarted")] == [first, first]

    def test_without_an_engine_it_counts_for_the_run_that_goes_on(self, scene: Scene) -> None:
        (scene.plan("First task", "Second task").agent(VAIN))
        (scene.repository / ".ralph").mkdir(exist_ok=True)
        settings = "[attempts]\nlimit = 5\n[breaker]\nenabled = false\n"
        (scene.repository / ".ralph" / "config.toml").write_text(settings)
        assert scene.run("2").exit_code == 1
        first = ids(scene)[0]
        code, words = said(scene.tell("reset-task", first))
        assert code == 0
        assert words == (
            "the task 'First task' is open in @fix_plan.md; "
            "no attempts at it are counted when the run goes on"
        )
        done = scene.tell("run", "3", "--resume", "--agent-command", scene.command)
        (accepted,) = told(done, "commandAccepted")[-1:]
        assert (accepted.command_kind, accepted.task, accepted.by) == (
            "resetTask",
            first,
            "ralph reset-task",
        )
        assert told(done, "attemptCounted")[-1].attempt == 1
        again = scene.tell("run", "4", "--resume", "--agent-command", scene.command)
        assert len(told(again, "commandAccepted")) == 1

    def test_a_new_run_counts_from_nothing_anyway(self, scene: Scene) -> None:
        scene.plan("First task").agent(VAIN)
        scene.run("1")
        scene.tell("reset-task", ids(scene)[0])
        assert told(scene.run("1"), "commandAccepted") == []

    def test_it_needs_no_run(self, scene: Scene) -> None:
        scene.plan("First task")
        code, words = said(scene.tell("reset-task", ids(scene)[0]))
        assert (code, words) == (0, "the task 'First task' is open in @fix_plan.md")
        missing = scene.tell("reset-task", "nobody")
        assert missing.exit_code == 64
        assert "has no task 'nobody'" in missing.stderr

    def test_without_a_plan_it_is_said(self, scene: Scene) -> None:
        scene.plan("First task")
        (scene.repository / "@fix_plan.md").unlink()
        missing = scene.tell("reset-task", "a")
        assert missing.exit_code == 5
        assert "there is no plan in" in missing.stderr


def test_a_run_that_waits_because_all_is_skipped_goes_on_with_a_reset_task(scene: Scene) -> None:
    scene.plan("First task").agent(WAITS)
    scene.make_gate()
    running = scene.start("2", "--on-halt", "wait")
    running.wait_for("agentStarted")
    (first,) = ids(scene)
    scene.tell("skip", first)
    scene.open_gate()
    parked: Any = running.wait_for("phaseChanged", phase="parked")
    assert parked.reason == "blocked"
    assert said(scene.tell("reset-task", first))[0] == 0
    wait_for(scene.repository, "iterationStarted", after_seq=parked.seq)
    scene.open_gate()
    done = running.wait()
    assert len(told(done, "iterationStarted")) == 2
