"""``ralph pr``: branches of a parallel run are pushed, and pull requests opened for them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.protocol.verb_output import PullRequests
from tests.engine.parallel.lanes_project import WORK, LanesProject
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Ralph
from tests.fakes import gh as fake
from tests.unit.protocol.json_schema import problems

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas/output"


class PullRequestProject(LanesProject):
    """A repository whose remote is on GitHub, as far as ``gh`` knows."""

    def remote(self) -> Path:
        """Make the remote, a repository on this machine that git finds behind GitHub's address."""
        bare, url = self.home / "remote.git", "https://github.com/ada/invoice.git"
        git(self.home, "init", "-q", "--bare", str(bare))
        git(self.repository, "remote", "add", "origin", url)
        git(self.repository, "config", f"url.{bare}.pushInsteadOf", url)
        return bare

    def pulls(self) -> list[dict[str, Any]]:
        known = json.loads((self.home / "github.json").read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = known["repositories"]["ada/invoice"].get("pulls", [])
        return found


@pytest.fixture
def project(ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PullRequestProject:
    fake.install(tmp_path / "programs")
    fake.seed(tmp_path / "github.json")
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_GITHUB", str(tmp_path / "github.json"))
    monkeypatch.setenv("GH_TOKEN", "gho_0123456789")
    project = PullRequestProject(ralph, tmp_path)
    project.tasks("Task A", "Task B").agent(WORK)
    assert project.run("--parallel", "2").exit_code == 0
    return project


def heads(bare: Path) -> dict[str, str]:
    lines = git(bare, "for-each-ref", "--format=%(refname:short) %(objectname)").splitlines()
    return dict(line.split() for line in lines)


def test_one_for_the_branch_and_one_a_task(project: PullRequestProject) -> None:
    bare = project.remote()
    session = project.branch().removeprefix("refs/heads/")
    tip = git(project.repository, "rev-parse", session).strip()

    asked = project.tell("pr")
    assert asked.exit_code == 64
    assert "needs a terminal to ask on, or --yes" in asked.stderr
    shown = project.tell("pr", "--dry-run")
    assert f"{session} at {tip[:7]}, for main" in shown.stdout
    assert "Nothing was pushed: this was a dry run" in shown.stdout
    assert heads(bare) == {}

    for _ in range(2):  # The second time everything is there.
        done = project.tell("pr", "--yes")
        assert done.exit_code == 0, done.stderr
        assert "https://github.com/ada/invoice/pull/100" in done.stdout
    assert heads(bare) == {session: tip}
    (pull,) = project.pulls()
    assert (pull["head"], pull["base"]) == (session, "main")
    assert pull["title"].startswith("2 tasks: Task ")

    each = project.tell("pr", "--each", "--draft", "--yes", "--json")
    known = json.loads((SCHEMAS / "pr.schema.json").read_bytes())
    assert problems(json.loads(each.stdout), known, known) == []
    opened = PullRequests.model_validate_json(each.stdout)
    assert opened.done
    assert [one.url for one in opened.requests] == [
        "https://github.com/ada/invoice/pull/101",
        "https://github.com/ada/invoice/pull/102",
    ]
    first, second = opened.requests
    assert heads(bare) == {session: tip, first.branch: first.commit, second.branch: second.commit}
    assert second.commit == tip
    drafts = project.pulls()[1:]
    assert [one["base"] for one in drafts] == ["main", first.branch]
    assert all(one["draft"] for one in drafts)


def test_what_cannot_be_pushed_is_refused_with_what_to_do(project: PullRequestProject) -> None:
    missing = project.tell("pr", "--yes")
    assert missing.exit_code == 64
    assert "has no remote to push to; add one: git remote add origin URL" in missing.stderr

    bare = project.remote()
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'no branches here' >&2; exit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    refused = project.tell("pr", "--yes")
    assert refused.exit_code not in {0, 64}
    assert "was not pushed to origin" in refused.stderr
    assert "no branches here" in refused.stderr
    assert (heads(bare), project.pulls()) == ({}, [])

    project.plan("Task C").agent(WORK)
    assert project.run("1").exit_code in {0, 1}
    serial = project.tell("pr", "--yes")
    assert serial.exit_code == 64
    assert "worked on one task at a time" in serial.stderr


def test_a_fork_is_named_by_its_owner(project: PullRequestProject) -> None:
    bare = project.remote()
    url = "https://github.com/grace/invoice.git"
    git(project.repository, "config", f"url.{bare}.insteadOf", url)
    git(project.repository, "config", "remote.origin.pushurl", url)
    done = project.tell("pr", "--yes")
    assert done.exit_code == 0, done.stderr
    assert [one["owner"] for one in project.pulls()] == ["grace"]
