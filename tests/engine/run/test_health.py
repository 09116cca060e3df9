"""What is checked before each iteration: reported once, or the end of the run with what to do."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from ralph_ls.engine.iteration.health import Notices
from ralph_ls.engine.run.preparation import RunRequest
from ralph_ls.engine.run.runner import run_engine
from ralph_ls.protocol.run.events import Warned
from tests.engine.project_builder import Completed, events_of, git
from tests.engine.ralph_runner import Project, told

pytestmark = pytest.mark.slow

HEALTH = {"disk-low", "detached-head", "main-branch", "no-upstream", "dirty-tree"}


def of_health(done: Completed) -> list[tuple[int | None, str]]:
    """What was reported about the surroundings, and before which iteration."""
    return [(one.iteration, one.code) for one in told(done, "warned") if one.code in HEALTH]


def end_of(done: Completed) -> tuple[int, int, str]:
    """The code, how many iterations began, and how the end was reported."""
    (end,) = told(done, "runEnded")
    return done.exit_code, len(told(done, "iterationStarted")), end.message


def test_a_notice_is_taken_once() -> None:
    notices = Notices()
    notices.add("log-not-written", "the disk is full")
    assert [notice.message for notice in notices.take()] == ["the disk is full"]
    assert notices.take() == ()
    notices.add("log-not-written", "the disk is full again")
    assert notices.take() == ()


class TestReported:
    def test_each_thing_is_reported_once_and_again_after_a_change(self, project: Project) -> None:
        project.plan("First task").agent(
            "work; commit\n"
            'case "$RALPH_START" in 1|3) git switch -q --detach ;; *) git switch -q - ;; esac\n'
            "report 'STATUS: IN_PROGRESS'"
        )
        git(project.repository, "branch", "-m", "main")
        project.file("mine.txt").write_text("half a thought\n", encoding="utf-8")
        done = project.run("5")
        assert [code for _, code in of_health(done)] == [
            "main-branch",
            "dirty-tree",
            "detached-head",
            "main-branch",
            "detached-head",
            "main-branch",
        ]
        dirty = next(one for one in told(done, "warned") if one.code == "dirty-tree")
        assert "1 file with uncommitted changes: " in dirty.message
        assert "mine.txt" in dirty.message
        assert "Warning (main-branch): the loop commits to main directly" in done.stdout

    def test_a_branch_without_upstream_where_the_loop_pushes(
        self, project: Project, tmp_path: Path
    ) -> None:
        config = 'commits = "loop"\npush = true\n'
        project.plan("First task", files={".ralph/config.toml": config})
        project.agent("work; report 'STATUS: IN_PROGRESS'")
        git(tmp_path, "init", "-q", "--bare", str(tmp_path / "remote.git"))
        git(project.repository, "remote", "add", "origin", str(tmp_path / "remote.git"))
        git(project.repository, "switch", "-q", "-c", "letters")
        done = project.run("2")
        assert [code for _, code in of_health(done)] == ["no-upstream"]
        again = project.run("1")
        assert of_health(again) == []

    def test_a_disk_that_is_nearly_full(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.plan("First task").agent("work; commit; report 'STATUS: IN_PROGRESS'")
        git(project.repository, "switch", "-q", "-c", "letters")
        left = iter([1, 1, 3, 1])

        def usage(path: Path) -> SimpleNamespace:
            del path
            return SimpleNamespace(free=next(left) * 600_000_000)

        monkeypatch.setattr(shutil, "disk_usage", usage)
        overrides = {
            "agent": "command",
            "agents.command": {"argv": shlex.split(project.command)},
            "max_iterations": 4,
        }
        request = RunRequest(
            folder=project.repository, environment=dict(os.environ), overrides=overrides
        )
        run_engine(request)
        events = events_of(project.repository)
        low = [one.message for one in events if isinstance(one, Warned) and one.code == "disk-low"]
        assert len(low) == 2
        assert low[0].startswith("only 600 MB free on the disk of the work tree (")


class TestFatal:
    def test_an_agent_that_is_gone_before_the_next_iteration(self, project: Project) -> None:
        project.agent('rm -- "$0"; work; commit; report "STATUS: IN_PROGRESS"')
        code, n_iterations, message = end_of(project.run("3"))
        assert (code, n_iterations) == (5, 1)
        assert "does not exist; fix the path" in message

    def test_specifications_that_are_gone(self, project: Project) -> None:
        files = {".ralph/config.toml": 'profile = "spec"\n', "specs/letter.md": "# Letter\n"}
        project.plan("Write the letter", files=files)
        git(project.repository, "mv", "@fix_plan.md", "IMPLEMENTATION_PLAN.md")
        git(project.repository, "commit", "-q", "-m", "Name the plan")
        project.agent("work; rm -r specs; report 'STATUS: IN_PROGRESS'")
        code, n_iterations, message = end_of(project.run("3", "--no-push"))
        assert (code, n_iterations) == (5, 1)
        assert "git checkout -- specs" in message
        # What should be the folder is a file.
        project.file("specs").write_text("no folder", encoding="utf-8")
        code, n_iterations, message = end_of(project.run("3", "--no-push"))
        assert (code, n_iterations) == (5, 0)
        assert "cannot be read: Not a directory" in message
