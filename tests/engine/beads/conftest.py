"""A repository whose plan is kept by ``bd``, and agents that use it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.project_builder import Completed, git, make_repository
from tests.engine.ralph_runner import Project, Ralph, Started, told, wait_until
from tests.fakes.bd import install, issues_of, seed

CLOSES = """\
closes() { bd close "$1" --reason "Acceptance criteria verified:
- [x] it runs (make test - exit 0)" >/dev/null; }
issue=$(sed -n 's/^Task: \\(bd-[^:]*\\):.*/\\1/p' "$kept/prompt-$RALPH_START")
"""
"""What every agent here begins with: ``$issue`` is the one that it was given."""

IT_RUNS = "- [ ] it runs (make test - exit 0)"


class Issues(Project):
    """A repository with issues."""

    def __init__(self, ralph: Ralph, folder: Path) -> None:
        super().__init__(ralph, folder)
        self.bin = folder / "bd-bin"
        install(self.bin)
        self.around: dict[str, str] = {}

    def issues(self, *issues: dict[str, Any], config: str = "", **files: str) -> Issues:
        """Make the repository with these issues."""
        found = {".ralph/config.toml": f'profile = "beads"\n{config}', **files}
        make_repository(self.repository, files=found)
        git(self.repository, "rm", "-q", "@fix_plan.md")
        git(self.repository, "commit", "-q", "-m", "The plan is kept by bd")
        seed(self.repository, *issues)
        (self.repository / ".git" / "info" / "exclude").write_text("/.beads/\n", encoding="utf-8")
        return self

    def agent(self, body: str) -> Issues:
        super().agent(CLOSES + body)
        return self

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.pathsep.join([str(self.bin), os.environ["PATH"]]), **self.around}

    def work_on(self, *arguments: str) -> Completed:
        """A run to its end."""
        return self.start_on(*arguments).wait()

    def start_on(self, *arguments: str) -> Started:
        return self.start(*arguments, env=self.environment)

    def say(self, *arguments: str) -> Completed:
        """Any other command of ``ralph``."""
        return self.ralph(self.repository, *arguments, env=self.environment)

    def wait_until_here(self) -> None:
        """Wait for the agent that calls ``wait_here``."""
        wait_until(self.kept, (self.kept / "here").exists)

    def issue(self, issue_id: str) -> dict[str, Any]:
        """An issue as ``bd`` has it now."""
        return issues_of(self.repository)[issue_id]

    def status(self) -> dict[str, str]:
        return {name: issue["status"] for name, issue in issues_of(self.repository).items()}


def tasks_of(done: Completed) -> list[str]:
    """What each iteration was given; the mode, where that was no issue."""
    started: list[Any] = told(done, "iterationStarted")
    return [one.mode.value if one.task is None else one.task.id for one in started]


def end_of(done: Completed) -> tuple[int, str]:
    end = told(done, "runEnded")[-1]
    return done.exit_code, end.message


def said(done: Completed, code: str) -> list[str]:
    """The messages of one warning."""
    return [event.message for event in told(done, "warned") if event.code == code]


@pytest.fixture
def work(ralph: Ralph, tmp_path: Path) -> Issues:
    """A place for a repository, its issues and an agent."""
    return Issues(ralph, tmp_path)
