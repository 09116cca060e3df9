"""The stop hook of ``ralph init --hooks``, asked by the real programs (docs/rules.md#stop-hook)."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from ralph_ls.core.setup.hooks import HOOK_PLACES
from tests.e2e import agents
from tests.e2e.conftest import CALLERS_ENVIRONMENT, need
from tests.e2e.recipes import RECIPES
from tests.e2e.scene import scene_of
from tests.engine.project_builder import git, run_ralph, write_agent
from tests.fakes.model_stub import Answer

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NAMES = CALLERS_ENVIRONMENT.get("RALPH_E2E_AGENTS", " ".join(agents.CI_PROGRAMS)).split()

STORY = {"id": "US-1", "title": "First", "description": "", "acceptanceCriteria": ["It is there"]}
STATE = {"priority": 1, "passes": False, "reviewStatus": None, "reviewCount": 0}
LAST = {"reviewFeedback": "", "notes": "", "dependsOn": []}
PLAN = {
    "project": "Shop",
    "branchName": "main",
    "description": "",
    "verifyCommands": [],
    "userStories": [{**STORY, **STATE, **LAST}],
}


def trusting_codex(root: Path) -> tuple[str, ...]:
    """What a user does once who trusts the project, and the flag for its hooks."""
    settings = Path(os.environ["HOME"]) / ".codex" / "config.toml"
    trusted = f'\n[projects."{root}"]\ntrust_level = "trusted"\n'
    settings.write_text(settings.read_text() + trusted)
    return ("--dangerously-bypass-hook-trust",)


@pytest.mark.parametrize("name", [name for name in HOOK_PLACES if name in NAMES])
def test_an_agent_that_left_its_work_uncommitted_is_kept_at_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(agents.what_is_missing())
    with scene_of(RECIPES[name], tmp_path, monkeypatch) as project:
        root = project.repository
        (root / "ralph").mkdir()
        (root / "ralph" / "tasks.json").write_text(json.dumps(PLAN, indent=2))
        written = run_ralph(root, "init", "--hooks", "--agent", name, "--yes")
        assert written.exit_code == 0, written.stderr
        assert f"Written: {HOOK_PLACES[name].path}" in written.stdout
        (root / ".gitignore").write_text(".ralph-active\n")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "Stories and a hook")
        (root / ".ralph-active").write_text('{"iterationMode": "implement"}\n')
        python = shlex.join([sys.executable, "-P", "-m", "ralph_ls"])
        write_agent(tmp_path / "bin", f'exec {python} "$@"', name="ralph")
        path = os.pathsep.join([str(tmp_path / "bin"), project.environment["PATH"]])
        project.environment = {**project.environment, "PATH": path}
        commit = project.recipe.shell("git add -A && git commit -q -m Work")
        project.stub.say(
            Answer(tools=(project.recipe.write(root / "one.txt", "First\n"),)),
            Answer(text="I am done."),
            Answer(tools=(commit,)),
            Answer(text="Now I am."),
        )
        more = trusting_codex(root) if name == "codex" else ()
        done = project.call(*project.recipe.freely, *more)
        assert done.returncode == 0, (done.stdout, done.stderr)
        # What the hook said went to the model, which then did it.
        assert "one.txt" in json.dumps(project.stub.requests[2])
        assert "not committed" in json.dumps(project.stub.requests[2])
        assert project.stub.n_left == 0
        assert git(root, "status", "--porcelain") == ""
