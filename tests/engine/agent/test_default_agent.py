"""Which agent works where nobody named one, and what a profile does that nobody chose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.engine.agent.selection import with_agent
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.values import Origin
from ralph_ls.store.project.config_file import PreviousChoice, load_settings
from tests.engine.project_builder import git, write_agent
from tests.engine.ralph_runner import Project, told


def choose(
    tmp_path: Path,
    *here: str,
    config: str = "",
    environment: dict[str, str] | None = None,
    **overrides: object,
) -> tuple[str, Origin | None]:
    """The agent of a run where these programs are on PATH, and who chose it."""
    root, programs = tmp_path / "repository", tmp_path / "bin"
    (root / ".ralph").mkdir(parents=True)
    (root / ".ralph" / "config.toml").write_text(config, encoding="utf-8")
    programs.mkdir()
    for name in here:
        write_agent(programs, "true", name=name)
    around = {"PATH": str(programs), **(environment or {})}
    settings = with_agent(load_settings(root, around, overrides), around, root)
    return settings.config.agent, settings.agent_by


@pytest.mark.parametrize(
    ("here", "agent"),
    [
        (("claude",), ("claude", Origin.PROFILE)),
        (("codex", "claude", "gemini"), ("claude", Origin.PROFILE)),
        (("codex",), ("codex", Origin.FOUND)),
        (("qwen", "git", "aider"), ("qwen", Origin.FOUND)),
        (("codex-acp",), ("codex-acp", Origin.FOUND)),
        (("codex", "claude-agent-acp"), ("codex", Origin.FOUND)),
        ((), ("claude", Origin.PROFILE)),
    ],
)
def test_it_is_the_profiles_own_else_the_only_known_one_on_path(
    tmp_path: Path, here: tuple[str, ...], agent: tuple[str, Origin]
) -> None:
    assert choose(tmp_path, *here) == agent


def test_the_profiles_own_is_another_in_another_profile(tmp_path: Path) -> None:
    assert choose(tmp_path, "cline", "claude", profile="spec") == ("cline", Origin.PROFILE)


@pytest.mark.parametrize(
    ("config", "environment", "overrides", "agent"),
    [
        ('agent = "gemini"\n', {}, {}, ("gemini", Origin.FILE)),
        ('agent = "gemini"\n', {"RALPH_AGENT": "qwen"}, {}, ("qwen", Origin.ENVIRONMENT)),
        ('agent = "gemini"\n', {}, {"agent": "cline"}, ("cline", Origin.GIVEN)),
        ('[sandbox]\nname = "box"\n', {}, {}, ("claude", Origin.PROFILE)),
        ('[agents.claude]\nargv = ["/opt/claude"]\n', {}, {}, ("codex", Origin.FOUND)),
        ('[agents.claude]\nargv = ["codex"]\n', {}, {}, ("claude", Origin.PROFILE)),
        ('[agents.claude]\nargv = ["./wrapped"]\n', {}, {}, ("codex", Origin.FOUND)),
    ],
)
def test_one_that_was_named_is_taken_whatever_is_there(
    tmp_path: Path,
    config: str,
    environment: dict[str, str],
    overrides: dict[str, object],
    agent: tuple[str, Origin],
) -> None:
    found = choose(tmp_path, "codex", config=config, environment=environment, **overrides)
    assert found == agent


def test_several_are_refused_with_the_list(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="codex, gemini; choose one: --agent codex"):
        choose(tmp_path, "gemini", "codex")


def test_what_the_work_tree_brings_is_not_there(tmp_path: Path) -> None:
    inside = tmp_path / "repository" / "bin"
    inside.mkdir(parents=True)
    write_agent(inside, "true", name="codex")
    around = {"PATH": f"{inside}{os.pathsep}bin"}
    root = tmp_path / "repository"
    settings = with_agent(load_settings(root, around, {}), around, root)
    assert settings.config.agent == "claude"


def test_a_run_that_continues_keeps_its_agent(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {}, {})
    for name, expected in (("codex", "codex"), ("gone", "claude")):
        earlier = PreviousChoice(
            profile=settings.config.profile, profile_by=Origin.FOUND, sign=None, agent=name
        )
        kept = with_agent(settings, {"PATH": ""}, tmp_path, earlier=earlier)
        assert kept.config.agent == expected


@pytest.mark.slow
def test_a_profile_that_was_only_found_commits_and_does_not_push(project: Project) -> None:
    project.plan(files={"specs/login.md": "# Login\n\nPeople log in.\n"})
    repository = project.repository
    git(repository, "rm", "-q", "@fix_plan.md")
    git(repository, "commit", "-q", "-m", "Specifications alone")
    git(repository.parent, "init", "-q", "--bare", "remote.git")
    git(repository, "remote", "add", "origin", "../remote.git")
    git(repository, "push", "-q", "-u", "origin", "HEAD")
    before = git(repository, "rev-parse", "HEAD")
    project.agent("work; printf '# Plan\\n\\n- [ ] More\\n' >IMPLEMENTATION_PLAN.md")
    done = project.run("1")
    (started,) = told(done, "runStarted")
    assert (started.config.profile, started.config.max_iterations) == ("spec", 1)
    assert len(told(done, "committed")) == 1
    assert told(done, "pushed") == []
    assert git(repository, "ls-remote", "origin").split()[0] == before.strip()
    lines = done.stdout.splitlines()
    assert lines[1].startswith("▸ Profile: spec (found by specs)   Agent: command   ")
    assert "▸ Pushes: no" in lines
    further = project.run("--dry-run")
    assert "Limits: at most 20 iterations, 30m an iteration" in further.stdout.splitlines()
    kept = project.run("2", "--resume")
    assert "▸ Profile: spec (found by specs)   Agent: command   " in kept.stdout
    assert told(kept, "pushed") == []
    chosen = project.run("3", "--resume", "--profile", "spec")
    branch = git(repository, "branch", "--show-current").strip()
    assert f"▸ Pushes: origin/{branch}" in chosen.stdout
    assert git(repository, "ls-remote", "origin").split()[0] != before.strip()
