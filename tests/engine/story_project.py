"""Whole runs of stories: a file of stories, and agents in Python that move them.

An agent gets its mode as a real one does, from ``.ralph-active`` and its prompt. What it begins
with gives it the moves of the cycle by name; a test says which of them it makes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.engine.project_builder import ROOT, Completed, git, newest_run, write_python_agent
from tests.engine.ralph_runner import Ralph, Started

PLAN = "ralph/tasks.json"

PRELUDE = """\
import json, os, subprocess, sys
KEPT, PLAN, ROOT = {kept!r}, {plan!r}, {root!r}
N = int(os.environ["RALPH_START"])
open(f"{{KEPT}}/prompt-{{N}}", "w").write(sys.stdin.read())
ACTIVE = json.load(open(".ralph-active"))
json.dump(ACTIVE, open(f"{{KEPT}}/active-{{N}}", "w"))
MODE = ACTIVE["iterationMode"]


def load():
    return json.load(open(PLAN))


def save(plan):
    open(PLAN, "w").write(json.dumps(plan, indent=2) + "\\n")


def story_in(plan, name):
    return next(one for one in plan["userStories"] if one["id"] == name)


def move(name, **fields):
    plan = load()
    story_in(plan, name).update(fields)
    save(plan)


def first(status):
    stories = load()["userStories"]
    left = [one for one in stories if not one["passes"]]
    return next(one["id"] for one in left if one.get("reviewStatus") == status)


def git(*words):
    subprocess.run(["git", *words], check=True)


def work():
    open("work.txt", "a").write(f"{{N}}\\n")


def commit():
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", f"Work {{N}}")


def implement():
    work()
    move(first(None), reviewStatus="needs_review")


def review(fine, feedback=None):
    name = first("needs_review")
    count = story_in(load(), name).get("reviewCount", 0) + 1
    status = "approved" if fine else "changes_requested"
    move(name, reviewStatus=status, passes=fine, reviewCount=count, reviewFeedback=feedback)


def fix():
    work()
    move(first("changes_requested"), reviewStatus="needs_review", reviewFeedback=None)


def hook(folder=".", **given):
    ran = subprocess.run(
        [{python!r}, "-P", "-m", "ralph_ls", "hook", "stop"], cwd=folder,
        env={{**os.environ, "PYTHONPATH": ROOT}}, input=json.dumps(given), capture_output=True,
        text=True)
    assert ran.returncode == 0, ran
    return json.loads(ran.stdout)["reason"] if ran.stdout else ran.stderr


def keep(name, text):
    open(f"{{KEPT}}/{{name}}", "w").write(text)


def wait_here():
    open(f"{{KEPT}}/here", "w").close()
    open(f"{{KEPT}}/go").read()


"""

CYCLE = """\
if MODE == "implement":
    implement()
elif MODE == "review":
    fine = story_in(load(), first("needs_review")).get("reviewCount", 0) > 0
    review(fine, None if fine else "Say why a password is wrong")
else:
    fix()
commit()
"""
"""An agent that does what its mode asks for; each story is sent back once."""


def story(number: int, **fields: object) -> dict[str, Any]:
    """A story as the resilience loop's file has it, that nobody has worked on."""
    known = {
        "id": f"US-{number}",
        "title": f"Story {number}",
        "description": "As a user I want it.",
        "acceptanceCriteria": ["it works"],
        "priority": number,
        "passes": False,
        "reviewStatus": None,
        "reviewCount": 0,
        "reviewFeedback": None,
        "notes": "",
    }
    return {**known, **fields}


class StoryProject:
    """A repository whose plan is stories, an agent beside it, and what was kept of them."""

    def __init__(self, ralph: Ralph, folder: Path) -> None:
        self.ralph = ralph
        self.repository = folder / "repository"
        self.kept = folder / "kept"
        self.kept.mkdir()
        self.command = ""
        self.plan_path = PLAN

    def stories(
        self,
        *stories: Mapping[str, object],
        path: str = PLAN,
        files: Mapping[str, str] | None = None,
        **fields: object,
    ) -> StoryProject:
        """Make the repository with this plan."""
        self.plan_path = path
        plan = {"project": "Shop", "branchName": "shop", "description": "A shop", **fields}
        return self.text(json.dumps({**plan, "userStories": stories}, indent=2) + "\n", files)

    def text(self, plan: str | None, files: Mapping[str, str] | None = None) -> StoryProject:
        """Make the repository with a plan of these characters."""
        self.repository.mkdir()
        given = {} if plan is None else {self.plan_path: plan}
        for name, text in {"README.md": "A shop\n", **given, **(files or {})}.items():
            path = self.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        git(self.repository, "init", "-q")
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "-m", "The beginning")
        return self

    def agent(self, body: str) -> StoryProject:
        """Write the agent, in Python."""
        prelude = PRELUDE.format(
            kept=str(self.kept),
            plan=self.plan_path,
            root=str(ROOT / "server"),
            python=sys.executable,
        )
        self.command = write_python_agent(self.kept / "bin", prelude + body)
        return self

    def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> Completed:
        """A run with the agent, to its end."""
        return self.start(*arguments, env=env).wait()

    def start(
        self, *arguments: str, verb: str = "run", env: Mapping[str, str] | None = None
    ) -> Started:
        given = (verb, *arguments, "--profile", "stories", "--agent-command", self.command)
        return self.ralph.start(self.repository, *given, env=env)

    def interrupt(self, running: Started) -> Completed:
        """Ctrl-C twice, once the agent waits."""
        running.wait_for("agentStarted")
        running.press_ctrl_c_twice()
        return running.wait()

    @property
    def plan(self) -> dict[str, Any]:
        """The plan as it is."""
        plan: dict[str, Any] = json.loads(self.file(self.plan_path).read_bytes())
        return plan

    def story(self, name: str = "US-1") -> dict[str, Any]:
        """A story as it is."""
        return next(one for one in self.plan["userStories"] if one["id"] == name)

    def file(self, name: str) -> Path:
        return self.repository / name

    def kept_text(self, name: str) -> str:
        return (self.kept / name).read_text(encoding="utf-8")

    def active(self, iteration: int) -> dict[str, Any]:
        """``.ralph-active`` as the agent of an iteration found it."""
        active: dict[str, Any] = json.loads(self.kept_text(f"active-{iteration}"))
        return active

    def git_dir_file(self, name: str) -> Path:
        return self.repository / ".git" / name

    def run_folder(self) -> Path:
        """The newest run's folder in the state."""
        found = newest_run(self.repository)
        assert found is not None
        return found.files.folder

    def make_gate(self) -> None:
        """What an agent that calls ``wait_here`` waits for."""
        os.mkfifo(self.kept / "go")
