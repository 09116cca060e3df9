"""What git does to the loop's commits that nobody ordered: signing, hooks that rewrite, people."""

from __future__ import annotations

import pytest

from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told, wait_until, warnings

pytestmark = pytest.mark.slow

LOOP = {".ralph/config.toml": 'commits = "loop"\n'}
WORKS = "work; report 'STATUS: IN_PROGRESS'"


def subjects(project: Project) -> list[str]:
    return git(project.repository, "log", "--reverse", "--format=%s").splitlines()[1:]


def hook(project: Project, name: str, body: str) -> None:
    path = project.file(".git/hooks") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nset -eu\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def test_signing_that_fails_is_reported_and_the_work_stays(project: Project) -> None:
    project.plan(files=LOOP).agent(WORKS)
    git(project.repository, "config", "commit.gpgSign", "true")
    git(project.repository, "config", "gpg.program", "false")
    done = project.run("2")
    assert (done.exit_code, subjects(project)) == (1, [])
    (warned, *_) = [one for one in told(done, "warned") if one.code == "commit-failed"]
    assert (
        "the work of iteration 1 is not committed; it is still in the work tree" in warned.message
    )
    assert "gpg failed to sign the data" in warned.message
    assert project.file("work.txt").read_text(encoding="utf-8") == "1\n2\n"
    git(project.repository, "config", "commit.gpgSign", "false")
    project.run("3", "--resume")
    assert subjects(project) == ["ralph: First task"]
    assert git(project.repository, "status", "--porcelain") == ""


def test_a_message_that_a_hook_rewrites_is_a_commit_all_the_same(project: Project) -> None:
    project.plan(files=LOOP).agent(WORKS)
    hook(project, "commit-msg", 'echo "PROJ-1: rewritten" >"$1"')
    done = project.run("2")
    assert subjects(project) == ["PROJ-1: rewritten"] * 2
    commits = git(project.repository, "log", "--reverse", "--format=%H").splitlines()[1:]
    assert [one.commit for one in told(done, "committed")] == commits
    assert [one.commit for one in told(done, "iterationEnded")] == commits
    assert {one.subject for one in told(done, "committed")} == {"PROJ-1: rewritten"}
    assert "commit-failed" not in warnings(done)


def test_a_users_commit_during_an_iteration_stays_theirs(project: Project) -> None:
    project.make_gate()
    project.plan("First task", "Second task", files={**LOOP, "theirs.txt": "0\n"})
    project.agent(f'[ "$RALPH_START" != 1 ] || wait_here\n{WORKS}')
    running = project.start("2")
    wait_until(project.kept, (project.kept / "here").exists)
    project.file("theirs.txt").write_text("1\n", encoding="utf-8")
    git(project.repository, "commit", "-qam", "A person's")
    project.open_gate()
    done = running.wait()
    assert subjects(project) == ["A person's", "ralph: First task", "ralph: First task"]
    listed = git(project.repository, "log", "--format=", "--name-only", "HEAD~2..")
    assert listed.split() == ["work.txt", "work.txt"]
    assert len(told(done, "committed")) == 2
    assert git(project.repository, "status", "--porcelain") == ""
