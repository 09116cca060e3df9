"""Real runs for benchmarks: a repository in a scratch home, an agent, and what the journal says."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.figures import environment

GIT_CONFIG = """\
[user]
    name = Ada Example
    email = ada@example.com
[commit]
    gpgSign = false
"""

COMMAND = (sys.executable, "-P", "-m", "ralph_ls")


@dataclass(frozen=True, slots=True)
class Place:
    """A scratch home and a repository in it, with an open plan."""

    home: Path
    project: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            **environment(),
            "HOME": str(self.home),
            "RALPH_STATE_DIR": str(self.home / "state"),
            "GIT_CONFIG_GLOBAL": str(self.home / ".gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def git(self, *arguments: str) -> None:
        self.call("git", *arguments)

    def call(self, *words: str) -> None:
        """Run a program in the project; fails where it does."""
        subprocess.run(
            words, cwd=self.project, check=True, env=self.environment, stdout=subprocess.DEVNULL
        )

    def agent(self, body: str) -> Path:
        """A bash script beside the project."""
        path = self.home / "agent.sh"
        path.write_text(f"#!/usr/bin/env bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def start(self, iterations: int, agent: Path) -> subprocess.Popen[str]:
        """A run of so many iterations, whose events come on its standard output."""
        words = ["run", str(iterations), "--json", "--agent-command", str(agent)]
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.project,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, iterations: int, agent: Path) -> list[dict[str, Any]]:
        """The events of a run to its end."""
        with self.start(iterations, agent) as process:
            assert process.stdout is not None
            events = [json.loads(line) for line in process.stdout]
        # 1: all iterations were used up, as they should be.
        if process.returncode != 1:
            raise RuntimeError(f"ralph run ended with {process.returncode}: {events[-1:]}")
        return events


@contextmanager
def place(files: Mapping[str, str], *, n_files: int = 0) -> Iterator[Place]:
    """A repository with a plan, these files, and ``n_files`` small ones in 100 folders."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        made = Place(home=home, project=home / "project")
        made.project.mkdir()
        (home / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
        tasks = "".join(f"- [ ] Task number {number}\n" for number in range(20))
        contents = {"@fix_plan.md": f"# Fix plan\n\n## High Priority\n\n{tasks}", **files}
        contents |= {
            f"src/part{number % 100:02d}/file{number}.txt": f"{number}\n" * 20
            for number in range(n_files)
        }
        for name, text in contents.items():
            path = made.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if text.startswith("#!"):
                path.chmod(0o755)
        for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
            made.git(*arguments)
        yield made


def moments(events: list[dict[str, Any]], kind: str) -> list[datetime]:
    """When each event of the kind was reported."""
    return [datetime.fromisoformat(event["at"]) for event in events if event["kind"] == kind]


def between(events: list[dict[str, Any]], first: str, second: str) -> list[float]:
    """Milliseconds from each event of one kind to the one of the other in its iteration."""
    pairs = zip(moments(events, first), moments(events, second), strict=True)
    return [(later - earlier).total_seconds() * 1000 for earlier, later in pairs]
