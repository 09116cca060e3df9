"""Every real agent works in a box of bubblewrap: it does its tasks, and reaches nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_ls.engine.sandbox.selection import find_bubblewrap
from tests.e2e import agents
from tests.e2e.conftest import CALLERS_ENVIRONMENT, need
from tests.e2e.recipe import DONE, GOES_ON
from tests.e2e.recipes import RECIPES
from tests.e2e.scene import Project, scene_of
from tests.e2e.test_agents import NAMES, RESUMING, said
from tests.engine.project_builder import git
from tests.engine.ralph_runner import told
from tests.fakes.model_stub import Answer

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

SETTINGS = {
    "claude": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "cline": ".cline/data/settings/providers.json",
    "copilot": ".copilot/config.json",
}
"""A file with which each agent could be made to run something outside."""


@pytest.fixture
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """A repository with two tasks, and the real program beside it."""
    need(agents.what_is_missing())
    found = find_bubblewrap(CALLERS_ENVIRONMENT.get("PATH", ""))
    need(None if found.works else f"{found.problem}; {found.remedy}")
    with scene_of(RECIPES[request.param], tmp_path, monkeypatch) as made:
        yield made


@pytest.mark.parametrize("project", NAMES, indirect=True)
def test_an_agent_works_in_a_box_and_reaches_nothing_else(project: Project) -> None:
    home = Path.home()
    secret = home / ".ssh" / "id_ed25519"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("a private key")
    settings = home / SETTINGS[project.recipe.name]
    before = settings.read_bytes() if settings.exists() else None
    attack = "; ".join(
        (
            f"cat {secret} > stolen.txt",
            f"echo '[\"evil\"]' > {settings}",
            f"echo evil >> {home}/.bashrc",
            "git config core.fsmonitor ./evil",
            "echo evil > .git/hooks/pre-commit",
            "true",
        )
    )
    project.stub.say(
        Answer(text="I look around.", tools=(project.recipe.shell(attack),)),
        *project.does_task("First", "one.txt"),
        Answer(text=f"The first is done.\n\n{GOES_ON}"),
        *project.does_task("Second", "two.txt"),
        Answer(text=f"All tasks are complete. Everything is finished.\n\n{DONE}"),
    )
    done = project.run("--sandbox")
    assert done.exit_code == 0, said(done)
    assert project.stub.n_left == 0
    assert git(project.repository, "log", "--format=%s").split("\n")[:2] == [
        "Add two.txt",
        "Add one.txt",
    ]
    started = told(done, "runStarted")[0]
    assert started.choices.sandbox == "bwrap"
    stolen = project.repository / "stolen.txt"
    assert not stolen.exists() or stolen.read_text() == ""
    assert (settings.read_bytes() if settings.exists() else None) == before
    assert not (home / ".bashrc").exists()
    assert "fsmonitor" not in git(project.repository, "config", "--list")
    assert not (project.repository / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.parametrize("project", RESUMING, indirect=True)
def test_an_agent_continues_its_session_in_a_box(project: Project) -> None:
    project.settle("[session]\nresume = true\n")
    project.stub.say(*[Answer(text=f"I look {n}.\n\n{GOES_ON}") for n in (1, 2)])
    done = project.run("2", "--sandbox")
    first, second = told(done, "agentStarted")
    assert [word for word in second.argv if word not in first.argv], said(done)
    assert "I look 1." in str(project.stub.requests[1])
