"""Engines die between agent, validation, commit and push: each iteration is committed once.

Not twice where the commit was made and nobody had reported it, and not never where nobody had come
to make it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.values import Outcome
from tests.engine.crash_driver import KILLED, Driver
from tests.engine.project_builder import (
    events_of,
    git,
    make_repository,
    marked_processes,
    write_agent,
)

pytestmark = pytest.mark.slow

CONFIG = 'commits = "loop"\npush = true\n'
TASKS = ("one", "two")
AGENT = r"""
cat >/dev/null
task=$(sed -n 's/^- \[ \] //p' @fix_plan.md | head -n 1)
if [ -n "$task" ]; then
    echo "$task" >>work
    sed -i "s/^- \[ \] $task/- [x] $task/" @fix_plan.md
fi
left=$(grep -c '^- \[ \]' @fix_plan.md || :)
echo 'All tasks are complete. The work is done.'
printf '%s\n' RALPH_STATUS: 'STATUS: IN_PROGRESS' END_RALPH_STATUS | \
    sed "s/^END/EXIT_SIGNAL: $([ "$left" = 0 ] && echo true || echo false)\nEND/"
"""


class Stage:
    """A repository whose loop commits and pushes, and engines that die in it."""

    def __init__(self, folder: Path, engines: Driver) -> None:
        self.folder = folder
        self.engines = engines
        self.repository = folder / "repository"
        self.remote = folder / "remote.git"
        self.command = write_agent(folder / "bin", AGENT)
        files = {".ralph/config.toml": CONFIG, "work": ""}
        self.template = make_repository(folder / "template", TASKS, files=files)

    def set_up(self) -> None:
        """Start over."""
        for path in (self.repository, self.remote):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.template, self.repository)
        git(self.folder, "init", "-q", "--bare", str(self.remote))
        git(self.repository, "remote", "add", "origin", str(self.remote))

    def ralph(self, *arguments: str, **kill: Any) -> int:
        return self.engines.ralph(self.repository, "run", *arguments, **kill)

    def play(self, **kill: Any) -> list[Any]:
        """A run whose first engine may die, and which then continues; its events."""
        assert self.ralph("--agent-command", self.command, **kill) == (KILLED if kill else 0)
        return self.go_on() if kill else list(events_of(self.repository))

    def go_on(self) -> list[Any]:
        assert self.ralph("--resume") in {0, 64}, self.engines.output.read_text(encoding="utf-8")
        return list(events_of(self.repository))

    def hook(self, name: str, body: str) -> None:
        path = self.repository / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\nset -eu\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def check(self, events: list[Any], where: str) -> None:
        """Each iteration has at most one commit, and all of the work is in one."""
        form = "--format=%(trailers:key=Ralph-Iteration,valueonly,separator=%x20)"
        numbers = git(self.repository, "log", "--reverse", form).split()
        assert len(numbers) == len(set(numbers)), f"{where}: {numbers}"
        assert git(self.repository, "status", "--porcelain") == "", where
        assert git(self.repository, "show", "HEAD:work") == "one\ntwo\n", where
        head = git(self.repository, "rev-parse", "HEAD")
        branch = git(self.repository, "symbolic-ref", "HEAD").strip()
        assert git(self.remote, "rev-parse", branch) == head, where
        told = [str(one.iteration) for one in events if one.kind == "committed"]
        assert told == numbers, where
        pushed = [one.iteration for one in events if one.kind == "pushed"]
        assert len(pushed) == len(set(pushed)), where
        codes = [getattr(one, "code", "") for one in events]
        assert "person-committed" not in codes, where
        assert "commit-failed" not in codes, where
        for one in events:
            if isinstance(one, IterationEnded) and one.outcome is Outcome.PROGRESS:
                assert one.commit is not None, where
        assert marked_processes(events[0].run) == [], where


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, Driver(tmp_path / "output"))


def test_a_run_killed_after_any_event_has_each_commit_once(stage: Stage) -> None:
    """From the first agent's end to the second one's start; ``test_kill_and_resume`` has more."""
    stage.set_up()
    recorded = stage.play()
    stage.check(recorded, "recorded")
    kinds = [one.kind for one in recorded]
    assert (kinds.count("committed"), kinds.count("pushed")) == (2, 2)
    for seq in range(
        kinds.index("agentExited") + 1,
        kinds.index("phaseChanged", kinds.index("iterationEnded")) + 2,
    ):
        stage.set_up()
        stage.check(stage.play(kill_at=seq), f"killed at {seq} {kinds[seq - 1]}")


@pytest.mark.parametrize("kind", ["committed", "pushed", "iterationEnded"])
def test_what_was_done_and_not_yet_reported_is_not_done_again(stage: Stage, kind: str) -> None:
    stage.set_up()
    recorded = stage.play()
    seqs = [one.seq for one in recorded if one.kind == kind]
    for seq in seqs:
        stage.set_up()
        stage.check(stage.play(kill_at=seq, n_bytes=0), f"killed before {seq} {kind}")


@pytest.mark.parametrize("name", ["pre-commit", "post-commit", "pre-push"])
def test_an_engine_that_dies_while_git_works(stage: Stage, name: str) -> None:
    """The hook kills the engine, once, and would stay for ever."""
    stage.set_up()
    engine = r"""$(sed 's/.*"pid": *\([0-9]*\).*/\1/' .git/ralph.json)"""
    stage.hook(name, f'[ -e .git/died ] || {{ : >.git/died; kill -9 "{engine}"; sleep 600; }}')
    assert stage.ralph("--agent-command", stage.command) == KILLED
    assert (stage.repository / ".git" / "died").exists()
    stage.check(stage.go_on(), f"killed in {name}")
