"""A repository with a queue of issues on GitHub, and agents that work on it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from ralph_ls.store.project.config_file import user_config_file
from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Project, wait_until
from tests.fakes import github_queue

MIRROR = ".ralph/github.md"

TOOLS = f"""\
task=$(sed -n 's/^Task: \\(GH-[0-9]*\\): .*/\\1/p' "$kept/prompt-$RALPH_START")
tick() {{ sed -i "s/^- \\[.\\] \\*\\*${{1:-$task}}\\*\\*/- [x] **${{1:-$task}}**/" {MIRROR}; }}
ready() {{ report 'STATUS: IN_PROGRESS' 'EXIT_SIGNAL: false'; }}
"""

DOES_IT = 'work; commit "Do $task"; tick; ready'
"""An agent that does its task."""


class QueueProject:
    """The project, and the GitHub that its remote is on."""

    tests = Path(__file__).resolve().parents[3]
    """Where an agent that plays somebody on GitHub finds the fakes."""
    python = sys.executable

    def __init__(self, project: Project, database: Path, calls: Path) -> None:
        self.project = project
        self.database = database
        self.calls = calls

    def issues(self, people: dict[str, str] | None = None, **issues: Any) -> QueueProject:
        github_queue.queue(self.database, people, **issues)
        project = self.project.plan()
        git(project.repository, "rm", "-q", "@fix_plan.md")
        git(project.repository, "commit", "-qm", "without a plan")
        git(project.repository, "remote", "add", "origin", "https://github.com/ada/invoice.git")
        return self

    def agent(self, body: str = DOES_IT) -> QueueProject:
        self.project.agent(TOOLS + body)
        return self

    def may_write(self, more: str = "") -> QueueProject:
        """The user's own settings let it write."""
        self.own_settings(f"write = true\n{more}")
        return self

    def own_settings(self, text: str) -> None:
        path = user_config_file(os.environ)
        assert path is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[plan.github]\n{text}", encoding="utf-8")

    def run(self, *arguments: str, plan: str = "github") -> Completed:
        return self.project.run("--plan", plan, "--json", *arguments)

    @property
    def mirror(self) -> str:
        return self.project.file(MIRROR).read_text(encoding="utf-8")

    def issue(self, number: int) -> dict[str, Any]:
        return github_queue.issue_in(self.database, number)

    def change(self, number: int, event: dict[str, Any] | None = None, **fields: Any) -> None:
        github_queue.change(self.database, number, event, **fields)

    def change_repository(self, **fields: Any) -> None:
        github = github_queue.read(self.database)
        github["repositories"]["ada/invoice"].update(fields)
        github_queue.write(self.database, github)

    def comments(self, number: int) -> list[str]:
        return [one["body"] for one in self.issue(number).get("comments", ())]

    def written(self) -> list[list[str]]:
        """The commands that wrote to GitHub."""
        lines = self.calls.read_text(encoding="utf-8").splitlines() if self.calls.exists() else []
        calls = [json.loads(line) for line in lines]
        return [one for one in calls if one[0] == "issue" and one[1] != "view"]

    def n_asked(self) -> int:
        """How often GitHub was asked for anything."""
        return len(self.calls.read_text(encoding="utf-8").splitlines())

    def wait_for_agent(self) -> None:
        """Wait until the agent has called ``wait_here``."""
        kept = self.project.kept
        wait_until(kept, (kept / "here").exists)

    def head(self) -> str:
        return git(self.project.repository, "rev-parse", "HEAD").strip()
