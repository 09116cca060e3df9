"""Projects: for each profile a repository with a remote, hooks, a validation script and an agent.

Hooks, validation and remote call *points*: places where a process can be made to wait, so that a
kill finds the run exactly there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralph_ls.protocol.config.config import ProfileName
from tests.engine.project_builder import RALPH, git, write_agent, write_python_agent
from tests.fakes import bd
from tests.sweep.runner import Case

AGENT_CODE = Path(__file__).with_name("worker.py")
"""The agent of all profiles: it looks at the repository to see what comes next, and does it."""

POINTS = ("prepare-commit", "pre-commit", "ref-update", "post-commit", "pre-push", "pre-receive")
POINTS_BESIDE_GIT = ("validate", "agent-start", "agent-half", "agent-end")

POINT = """\
point() {{ if mv "{folder}/armed-$1" "{folder}/fired-$1" 2>/dev/null; then sleep 3; fi; }}
"""
HOOKS: Mapping[str, str] = {
    "prepare-commit-msg": "point prepare-commit",
    "pre-commit": "point pre-commit",
    "post-commit": "point post-commit",
    "pre-push": "cat >/dev/null; point pre-push",
    "reference-transaction": 'cat >/dev/null; [ "$1" != prepared ] || point ref-update',
}
SETTINGS = """\
profile = "{profile}"
commits = "{commits}"
push = true
max_iterations = 200
{more}
[breaker]
enabled = false
[attempts]
limit = 0
unfinished = 0
"""


@dataclass(kw_only=True)
class Project:
    """A repository with everything around it that a run meets."""

    case: Case
    profile: ProfileName
    commits: str
    tasks: list[str]
    """Titles of everything that has to be done in the end, in order."""
    command: str = ""
    plan_lock: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.case.folder
        self.repository = self.folder / "repository"
        self.remote = self.folder / "remote.git"
        self.kept = self.folder / "kept"
        self.points = self.folder / "points"
        self.plan_lock = self.kept / "plan.lock"
        """Held by the process that edits the plan, as two editors of one document would agree."""

    @property
    def plan(self) -> Path | None:
        """The plan, where it is a file."""
        name = _PLANS.get(self.profile)
        return None if name is None else self.repository / name

    @property
    def environment(self) -> dict[str, str]:
        path = [str(self.folder / "bd-bin")] if self.profile is ProfileName.BEADS else []
        return {
            "PATH": os.pathsep.join([*path, os.environ["PATH"]]),
            "SWEEP_API_TOKEN": self.secret,
        }

    @property
    def secret(self) -> str:
        """What no file of the loop may hold."""
        return f"sweep-secret-{self.case.seed}-{self.case.number}-b7Qx2"

    @property
    def start_words(self) -> list[str]:
        return ["run", "--agent-command", self.command]

    def arm(self, point: str) -> None:
        (self.points / f"armed-{point}").touch()

    def disarm(self) -> None:
        for path in self.points.glob("armed-*"):
            path.unlink(missing_ok=True)

    def has_fired(self, point: str) -> bool:
        return (self.points / f"fired-{point}").exists()

    def slug(self, title: str) -> str:
        return title.lower().replace(" ", "-")


def make_project(
    case: Case, profile: ProfileName, *, commits: str = "agent", n_tasks: int = 3, pace: float = 0.0
) -> Project:
    """Make everything; ``pace`` is how long each step of the agent takes, in seconds."""
    titles = [f"Task {letter}" for letter in "ABCDEFGH"[:n_tasks]]
    project = Project(case=case, profile=profile, commits=commits, tasks=titles)
    for folder in (project.repository, project.kept, project.points):
        folder.mkdir()
    point = POINT.format(folder=project.points)
    files = {
        "README.md": "A project\n",
        "docs/guide.md": "# Guide\n",
        **{f"docs/page-{number}.md": f"# Page {number}\n" for number in range(1, 100)},
        "work/.keep": "",
        ".ralph/config.toml": _settings(profile, commits),
        **_FILES[profile](titles),
    }
    for name, text in files.items():
        path = project.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    script = project.repository / _validation(profile)
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\n{point}point validate\nexit 0\n", encoding="utf-8")
    script.chmod(0o755)
    git(project.repository, "init", "-q")
    if profile is ProfileName.BEADS:
        _add_issues(project)
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-q", "-m", "The beginning")
    git(project.folder, "init", "-q", "--bare", str(project.remote))
    git(project.repository, "remote", "add", "origin", str(project.remote))
    git(project.repository, "push", "-q", "-u", "origin", "HEAD")
    for name, body in HOOKS.items():
        _write_hook(project.repository / ".git" / "hooks" / name, point + body)
    _write_hook(
        project.remote / "hooks" / "pre-receive", f"cat >/dev/null\n{point}point pre-receive"
    )
    project.command = _write_worker(project, pace)
    return project


def _settings(profile: ProfileName, commits: str) -> str:
    more = '[issue]\nfile = "issue.md"\n' if profile is ProfileName.ISSUE else ""
    if profile is ProfileName.STORIES:
        more = "max_stuck = 50\n"
    return SETTINGS.format(profile=profile.value, commits=commits, more=more)


def _validation(profile: ProfileName) -> str:
    return "ralph/validate.sh" if profile is ProfileName.STORIES else ".ralph/validate.sh"


def _markdown(titles: Sequence[str]) -> str:
    return "# Plan\n\n## Tasks\n\n" + "".join(f"- [ ] {title}\n" for title in titles)


def _stories(titles: Sequence[str]) -> str:
    stories = [
        {
            "id": f"US-{number:03d}",
            "title": title,
            "description": "As a user I want it.",
            "acceptanceCriteria": ["it works"],
            "priority": number,
            "passes": False,
            "reviewStatus": None,
            "reviewCount": 0,
            "reviewFeedback": None,
            "notes": "",
        }
        for number, title in enumerate(titles, start=1)
    ]
    return (
        json.dumps({"project": "shop", "branchName": "", "userStories": stories}, indent=2) + "\n"
    )


def _request(titles: Sequence[str]) -> str:
    return "# Letters get lost\n\nDo these:\n\n" + "".join(f"* {title}\n" for title in titles)


_PLANS: Mapping[ProfileName, str] = {
    ProfileName.SPEC: "IMPLEMENTATION_PLAN.md",
    ProfileName.FIXPLAN: "@fix_plan.md",
    ProfileName.STORIES: "ralph/tasks.json",
}

_FILES: Mapping[ProfileName, Callable[[Sequence[str]], Mapping[str, str]]] = {
    ProfileName.SPEC: lambda titles: {
        "specs/a.md": "---\nstatus: active\n---\n\n# A\n",
        "IMPLEMENTATION_PLAN.md": _markdown(titles),
    },
    ProfileName.FIXPLAN: lambda titles: {"@fix_plan.md": _markdown(titles)},
    ProfileName.STORIES: lambda titles: {"ralph/tasks.json": _stories(titles)},
    ProfileName.BEADS: lambda titles: {},
    ProfileName.ISSUE: lambda titles: {"issue.md": _request(titles)},
}


def _add_issues(project: Project) -> None:
    bd.install_whole(project.folder / "bd-bin")
    issues: list[dict[str, Any]] = [
        {
            "id": f"shop-{number}",
            "title": title,
            "priority": 1,
            "acceptance_criteria": "- [ ] it runs (make test - exit 0)",
        }
        for number, title in enumerate(project.tasks, start=1)
    ]
    bd.seed(project.repository, *issues)
    exclude = project.repository / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("/.beads/\n", encoding="utf-8")


def _write_hook(path: Path, body: str) -> None:
    path.parent.mkdir(exist_ok=True)
    write_agent(path.parent, f"#!/bin/sh\n{body}\n", name=path.name)


def _write_worker(project: Project, pace: float) -> str:
    given = {
        "profile": project.profile.value,
        "commits": project.commits == "agent",
        "kept": str(project.kept),
        "points": str(project.points),
        "tasks": project.tasks,
        "pace": pace,
        "ralph": RALPH[0],
    }
    code = AGENT_CODE.read_text(encoding="utf-8")
    head = f"import json\nGIVEN = json.loads({json.dumps(json.dumps(given))})\n"
    return write_python_agent(project.kept / "bin", head + code)
