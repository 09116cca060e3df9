"""One change that spans repositories: all valid first, then pushed in order, or half published."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ralph_ls.cli.commands.fleet.verb import fleet_verb
from ralph_ls.engine.fleet.publish import HalfPublished
from ralph_ls.protocol.errors import RalphError, UsageError
from tests.engine.project_builder import git
from tests.fleet.fleet_project import FleetProject


def merged(project: FleetProject, remote: Path, name: str, text: str = "new\n") -> None:
    """Put a commit on the branch that tasks of a repository are merged into."""
    tree = project.folder / f"work-{remote.name}"
    git(project.folder, "clone", "-q", str(remote), str(tree))
    (tree / name).write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", f"Add {name}")
    git(tree, "push", "-q", "origin", "HEAD:refs/heads/ralph/fleet")


def moved(project: FleetProject, remote: Path, name: str = "other.txt") -> None:
    """Let somebody else push to main."""
    tree = project.folder / f"work-{remote.name}"
    git(tree, "reset", "-q", "--hard", "origin/main")
    (tree / name).write_text("theirs\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "Theirs")
    git(tree, "push", "-q", "origin", "HEAD:main")


@pytest.fixture
def remotes(project: FleetProject) -> tuple[Path, Path]:
    api = project.repository("api", ["Task A"])
    web = project.repository("web", ["Task B"])
    merged(project, api, "api.txt")
    merged(project, web, "web.txt")
    return api, web


def subjects(remote: Path) -> list[str]:
    return git(remote, "log", "--reverse", "--format=%s", "main").splitlines()


def test_all_repositories_get_their_part(
    project: FleetProject, remotes: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    api, web = remotes
    moved(project, web)

    fleet_verb("publish", yes=True)
    fleet_verb("publish", yes=True)

    printed = capsys.readouterr().out
    assert "api: 1 commit from ralph/fleet onto main" in printed
    assert "Published: api, web" in printed
    assert "Nothing to publish" in printed
    assert subjects(api) == ["first", "Add api.txt"]
    assert subjects(web) == ["first", "Theirs", "Add web.txt"]
    # Its commits are on main after a rebase, so the old ones would be in the way.
    assert git(web, "branch", "--list", "ralph/fleet") == ""


def test_nothing_is_pushed_where_one_conflicts(
    project: FleetProject, remotes: tuple[Path, Path]
) -> None:
    api, web = remotes
    moved(project, web, "web.txt")

    with pytest.raises(UsageError, match=r"web: web\.txt .* nothing was pushed anywhere"):
        fleet_verb("publish", yes=True)

    assert subjects(api) == ["first"]


def test_a_later_refusal_names_the_commands_that_finish_and_revert(
    project: FleetProject, remotes: tuple[Path, Path]
) -> None:
    api, web = remotes
    hook = web / "hooks" / "update"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)

    with pytest.raises(HalfPublished) as raised:
        fleet_verb("publish", yes=True)

    message = raised.value.message
    assert "half published: it is in api, and not in web" in message
    assert "To finish it: ralph fleet publish web" in message
    assert subjects(api) == ["first", "Add api.txt"]
    command = re.search(r"^  (git clone .*)$", message, re.MULTILINE)
    assert command is not None
    subprocess.run(["sh", "-c", command[1]], cwd=project.folder, check=True)
    assert subjects(api)[-1] == 'Revert "Add api.txt"'
    hook.unlink()
    fleet_verb("publish", ["web"], yes=True)
    assert subjects(web) == ["first", "Add web.txt"]


def test_a_branch_that_is_checked_out_moves_with_its_files(
    project: FleetProject, capsys: pytest.CaptureFixture[str]
) -> None:
    root = project.repository("api", ["Task A"], remote=False)
    merged(project, root, "api.txt")
    (root / "api.txt").write_text("mine\n")

    with pytest.raises(RalphError, match="nothing was pushed anywhere"):
        fleet_verb("publish", yes=True)
    assert (root / "api.txt").read_text() == "mine\n"
    (root / "api.txt").unlink()
    fleet_verb("publish", yes=True)

    assert (root / "api.txt").read_text() == "new\n"
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "for-each-ref", "refs/ralph") == ""
    assert "Published: api" in capsys.readouterr().out
