"""The log of the beads loop and attempts: outside the tree, for all clones of a project.

See docs/rules.md#files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.store.layout import find_worktree, state_folder, state_root
from ralph_ls.store.project.project_state import ProjectState, find_project, without_credentials
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

REMOTE = "https://bob:hunter2@example.org/team/shop.git"
SETTINGS = """\
log_form = "jsonl"
[log_retention]
newest = 10
[attempts]
limit = 2
counts = "not-done"
mark = false
[breaker]
enabled = false
[gate]
rule = "queue"
"""
IDLES = "echo 'still at it'; report 'STATUS: IN_PROGRESS'"


@pytest.fixture
def beads(project: Project) -> Project:
    """A repository whose loop keeps everything as B does, on a plan that is plain to see."""
    project.plan("First task", "Second task", files={".ralph/config.toml": SETTINGS})
    git(project.repository, "remote", "add", "origin", REMOTE)
    return project


def project_of(project: Project) -> ProjectState:
    worktree = find_worktree(project.repository)
    return find_project(worktree.root, state_folder(state_root(os.environ), worktree))


def logs(project: Project) -> list[Path]:
    return sorted(project_of(project).logs.glob("*.log"))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tasks(done: object) -> list[str]:
    return [event.task.title for event in told(done, "iterationStarted") if event.task]  # type: ignore[arg-type]


def jq(recipe: str, path: Path) -> str:
    """What a recipe of the seed prints, by ``jq`` where there is one, and by our own words."""
    expected = RECIPES[recipe](records(path))
    if (program := shutil.which("jq")) is not None:
        flags = ["-c", *(["-s"] if recipe.startswith("[") else []), recipe]
        ran = subprocess.run(
            [program, *flags],
            input=path.read_text(encoding="utf-8"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert [json.loads(line) for line in ran.stdout.splitlines()] == expected
    return json.dumps(expected)


def ends(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if one.get("event") == "iteration_end"]


TOTAL = '[.[] | select(.event=="iteration_end") | .data.duration_seconds] | add'
FAILED = 'select(.event=="iteration_end" and .data.exit_code != 0)'
RECIPES: dict[str, Callable[[list[dict[str, Any]]], list[Any]]] = {
    TOTAL: lambda found: [sum(one["data"]["duration_seconds"] for one in ends(found))],
    FAILED: lambda found: [one for one in ends(found) if one["data"]["exit_code"] != 0],
    ".": lambda found: found,
}


class TestLog:
    def test_every_recipe_of_the_seed_works_whatever_an_agent_prints(self, beads: Project) -> None:
        beads.agent(
            "say '{\"type\":\"assistant\"}' 'plain words' 42 '[1]'\n"
            'say \'{"event":"iteration_end"}\'\n'
            "printf 'no newline'; printf 'oops\\377' >&2; work\n"
            "[ $RALPH_START != 2 ] || exit 3\n"
            "report 'STATUS: IN_PROGRESS'"
        )
        done = beads.run("3")
        assert done.exit_code == 1
        (log,) = logs(beads)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.log", log.name)
        assert log.stat().st_mode & 0o777 == 0o600
        found = records(log)
        started = told(done, "iterationStarted")
        all_metas = [one for one in found if one["type"] == "loop_meta"]
        metas = [one for one in all_metas if one["event"].startswith("iteration_")]
        warned = next(one for one in all_metas if one["event"] == "warned")
        assert list(warned["data"]) == ["iteration", "level", "message", "code"]
        assert all_metas[-1]["event"] == "run_ended"
        assert [(one["event"], list(one["data"])) for one in metas] == [
            ("iteration_start", ["iteration", "issue_id", "mode"]),
            ("iteration_end", ["iteration", "exit_code", "duration_seconds"]),
        ] * 3
        assert [one["data"]["issue_id"] for one in metas[::2]] == [one.task.id for one in started]
        assert {"type": "assistant"} in found
        said = [one["text"] for one in found if one["type"] == "agent_text"]
        assert {"plain words", "42", "[1]", "oops\ufffd"} <= set(said)
        grepped = [line for line in log.read_text().splitlines() if '"type":"loop_meta"' in line]
        assert [json.loads(line) for line in grepped] == all_metas
        jq(".", log)
        assert json.loads(jq(TOTAL, log)) == [
            sum(round(event.seconds) for event in told(done, "iterationEnded"))
        ]
        # One try of an agent that fails is one more within its iteration
        # (docs/rules.md#agent-process).
        failed = json.loads(jq(FAILED, log))
        assert [(one["data"]["iteration"], one["data"]["exit_code"]) for one in failed] == [(2, 3)]

    def test_nothing_of_it_is_in_the_tree(self, beads: Project) -> None:
        done = beads.agent(IDLES).run("2")
        assert git(beads.repository, "status", "--porcelain") == ""
        assert not beads.file(".ralph/logs").exists()
        excluded = beads.file(".git/info/exclude").read_text(encoding="utf-8")
        assert "/.ralph/decide.txt" in excluded
        assert "logs" not in excluded
        summary = beads.run_folder() / "summary.csv"
        assert len(summary.read_text(encoding="utf-8").splitlines()) == 3
        assert summary.stat().st_mode & 0o777 == 0o600
        assert f"Log:         {summary}\n" in done.stdout
        watched = beads.tell("watch").stdout
        assert f"Log:         {summary}\n" in watched
        # The header names the folder to look into (docs/rules.md#beads).
        header = f"▸ Project state: {project_of(beads).folder}\n"
        assert header in done.stdout
        assert header in watched

    def test_what_an_agent_prints_of_secrets_is_not_in_it(self, beads: Project) -> None:
        beads.agent('echo "key $DEPLOY_KEY"; echo "$DEPLOY_KEY" >&2; report \'STATUS: X\'')
        beads.run("1", env={"DEPLOY_KEY": "hunter2hunter2"})
        state = project_of(beads)
        for path in state.folder.rglob("*"):
            assert path.is_dir() or b"hunter2" not in path.read_bytes(), path
        assert b"[redacted DEPLOY_KEY]" in logs(beads)[0].read_bytes()

    def test_it_can_be_left_out(self, beads: Project) -> None:
        done = beads.agent(IDLES).run("1", env={"RALPH_LOG": "0"})
        assert done.exit_code == 1
        assert logs(beads) == []
        assert (beads.run_folder() / "summary.csv").exists()

    def test_the_newest_are_kept_and_the_rest_is_reported(self, beads: Project) -> None:
        beads.agent(IDLES)
        beads.run("1")
        (own,) = logs(beads)
        for number in range(12):
            path = own.parent / f"2026-01-{number + 1:02d}T00-00-00.log"
            path.touch()
            os.utime(path, (number, number))
        second = beads.run("1")
        assert "logs-removed" in warnings(second)
        # Ten were kept when it began, and it has its own.
        assert len(logs(beads)) == 11
        assert own in logs(beads)
        beads.run("1", env={"RALPH_LOG_RETENTION": "2"})
        assert len(logs(beads)) == 3

    def test_a_run_that_is_killed_and_resumed_reports_how_its_iteration_ended(
        self, beads: Project
    ) -> None:
        beads.make_gate()
        beads.agent("echo hello; [ $RALPH_START != 1 ] || wait_here; report 'STATUS: X'")
        running = beads.start("2")
        running.wait_for("agentStarted")
        running.kill()
        done = beads.run("2", "--resume")
        assert done.exit_code == 1
        _, second = logs(beads)
        found = [one for one in records(second) if one["type"] == "loop_meta"]
        assert found[0]["event"] == "run_resumed"
        found = [one for one in found if one["event"] in {"iteration_start", "iteration_end"}]
        assert [(one["event"], one["data"]["iteration"]) for one in found][:2] == [
            ("iteration_end", 1),
            ("iteration_start", 1),
        ]
        assert found[0]["data"]["exit_code"] is None

    def test_an_agent_that_a_signal_ends_has_a_shells_code(self, beads: Project) -> None:
        beads.agent("report 'STATUS: IN_PROGRESS'; work; kill -KILL $$")
        beads.run("1")
        (end,) = ends(records(logs(beads)[0]))
        assert end["data"]["exit_code"] == 128 + signal.SIGKILL


class TestMetadata:
    def test_says_whose_the_folder_is_without_credentials(self, beads: Project) -> None:
        beads.agent(IDLES).run("1")
        state = project_of(beads)
        known = without_credentials(REMOTE)
        assert known != REMOTE
        assert state.folder.name == hashlib.sha256(known.encode()).hexdigest()[:12]
        assert json.loads(state.metadata.read_text(encoding="utf-8")) == {
            "remoteUrl": "https://example.org/team/shop.git",
            "paths": [str(beads.repository)],
        }
        assert state.metadata.stat().st_mode & 0o777 == 0o600

    def test_other_runs_keep_nothing_there(self, project: Project) -> None:
        project.agent(IDLES).run("1")
        assert not project_of(project).folder.exists()


class TestAttempts:
    def kept(self, project: Project) -> dict[str, int]:
        text = project_of(project).attempts.read_text(encoding="utf-8")
        return {line.rpartition(":")[0]: int(line.rpartition(":")[2]) for line in text.splitlines()}

    def test_are_kept_beyond_a_run_and_the_loop_moves_on(self, beads: Project) -> None:
        beads.agent(IDLES)
        first = beads.run("1")
        (task,) = {event.task.id for event in told(first, "iterationStarted")}
        assert self.kept(beads) == {task: 1}
        second = beads.run("2")
        assert tasks(second) == ["First task", "Second task"]
        assert told(second, "iterationStarted")[0].attempts == {task: 1}
        assert told(second, "attemptCounted")[0].attempt == 2
        assert self.kept(beads)[task] == 2
        assert project_of(beads).attempts.stat().st_mode & 0o777 == 0o600

    def test_can_be_deleted_by_the_user(self, beads: Project) -> None:
        beads.agent(IDLES).run("2")
        third = beads.run("1")
        assert tasks(third) == ["Second task"]
        project_of(beads).attempts.unlink()
        assert tasks(beads.run("1")) == ["First task"]

    def test_a_line_can_be_deleted_while_the_loop_runs(self, beads: Project) -> None:
        beads.agent(IDLES).run("2")
        beads.make_gate()
        beads.agent(f"[ $RALPH_START != 1 ] || wait_here; {IDLES}")
        running = beads.start("2")
        running.wait_for("agentStarted")
        project_of(beads).attempts.write_text("", encoding="utf-8")
        beads.open_gate()
        assert tasks(running.wait()) == ["Second task", "First task"]
        assert sorted(self.kept(beads).values()) == [1]

    def test_one_is_written_before_its_agent_starts_and_outlives_the_engine(
        self, beads: Project
    ) -> None:
        beads.make_gate()
        beads.agent(f"[ ! -e {beads.repository}/wait ] || wait_here; {IDLES}")
        beads.file("wait").touch()
        for count in (1, 2):
            running = beads.start("--resume") if count > 1 else beads.start("9")
            running.wait_for("agentStarted")
            running.kill()
            assert list(self.kept(beads).values()) == [count]
        beads.file("wait").unlink()
        beads.open_gate()
        done = beads.run("--resume")
        assert tasks(done) == ["First task"] * 2 + ["Second task"] * 2
        (first, _) = told(done, "taskSetAside")
        assert (first.task.title, first.attempts) == ("First task", 2)

    def test_one_that_the_user_stops_is_given_back(self, beads: Project) -> None:
        beads.make_gate()
        beads.agent(f"wait_here; {IDLES}")
        running = beads.start("1")
        running.wait_for("agentStarted")
        assert len(self.kept(beads)) == 1
        beads.tell("stop", "--now")
        running.wait()
        assert self.kept(beads) == {}

    def test_a_task_that_is_done_has_none(self, beads: Project) -> None:
        beads.agent(IDLES).run("1")
        beads.agent("mark x First; work; commit; report 'STATUS: IN_PROGRESS'").run("1")
        assert self.kept(beads) == {}

    def test_a_clone_knows_of_them(self, beads: Project) -> None:
        beads.agent(IDLES).run("2")
        clone = beads.repository.parent / "clone"
        git(beads.repository.parent, "clone", "-q", str(beads.repository), str(clone))
        git(clone, "remote", "set-url", "origin", REMOTE)
        done = beads.ralph(clone, "run", "1", "--agent-command", beads.command)
        assert tasks(done) == ["Second task"]
        metadata = json.loads(project_of(beads).metadata.read_text(encoding="utf-8"))
        assert metadata["paths"] == [str(beads.repository), str(clone)]

    def test_what_would_be_next_is_known_from_them(self, beads: Project) -> None:
        beads.agent(IDLES).run("2")
        assert "Second task" in beads.tell("prompt").stdout

    def test_resetting_a_task_clears_them(self, beads: Project) -> None:
        beads.agent(IDLES).run("2")
        (task,) = self.kept(beads)
        assert beads.tell("reset-task", task).exit_code == 0
        assert self.kept(beads) == {}
        assert tasks(beads.run("1")) == ["First task"]

    def test_so_does_it_while_the_loop_runs(self, beads: Project) -> None:
        beads.agent(IDLES).run("2")
        (task,) = self.kept(beads)
        beads.make_gate()
        beads.agent(f"wait_here; {IDLES}")
        running = beads.start("1")
        running.wait_for("agentStarted")
        assert beads.tell("reset-task", task).exit_code == 0
        assert task not in self.kept(beads)
        beads.open_gate()
        running.wait()
        assert task not in self.kept(beads)

    def test_a_file_that_cannot_be_used_ends_no_run(self, beads: Project) -> None:
        beads.agent(IDLES).run("1")
        attempts = project_of(beads).attempts
        attempts.unlink()
        attempts.mkdir()
        done = beads.run("2")
        assert done.exit_code == 1
        assert "attempts-not-kept" in warnings(done)
        assert tasks(done) == ["First task", "First task"]
