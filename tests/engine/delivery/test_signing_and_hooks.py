"""What git does to the loop's commits that nobody ordered: signing, hooks that rewrite, people."""

from __future__ import annotations

import pytest

from tests.engine.project_builder import git
from tests.engine.ralph_runner import Scene, told, wait_until, warnings

pytestmark = pytest.mark.slow

LOOP = {".ralph/config.toml": 'commits = "loop"\n'}
WORKS = "work; report 'STATUS: IN_PROGRESS'"


def subjects(scene: Scene) -> list[str]:
    return git(scene.repository, "log", "--reverse", "--format=%s").splitlines()[1:]


def hook(scene: Scene, name: str, body: str) -> None:
    path = scene.file(".git/hooks") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nset -eu\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def test_signing_that_fails_is_told_and_the_work_stays(scene: Scene) -> None:
    scene.plan(files=LOOP).agent(WORKS)
    git(scene.repository, "config", "commit.gpgSign", "true")
    git(scene.repository, "config", "gpg.program", "false")
    done = scene.run("2")
    assert (done.exit_code, subjects(scene)) == (1, [])
    (warned, *_) = [one for one in told(done, "warned") if one.code == "commit-failed"]
    assert (
        "the work of iteration 1 is not committed, it is still in the work tree" in warned.message
    )
    assert "gpg failed to sign the data" in warned.message
    assert scene.file("work.txt").read_text(encoding="utf-8") == "1\n2\n"
    git(scene.repository, "config", "commit.gpgSign", "false")
    scene.run("3", "--resume")
    assert subjects(scene) == ["ralph: First task"]
    assert git(scene.repository, "status", "--porcelain") == ""


def test_a_message_that_a_hook_writes_anew_is_a_commit_all_the_same(scene: Scene) -> None:
    scene.plan(files=LOOP).agent(WORKS)
    hook(scene, "commit-msg", 'echo "PROJ-1: rewritten" >"$1"')
    done = scene.run("2")
    assert subjects(scene) == ["PROJ-1: rewritten"] * 2
    commits = git(scene.repository, "log", "--reverse", "--format=%H").splitlines()[1:]
    assert [one.commit for one in told(done, "committed")] == commits
    assert [one.commit for one in told(done, "iterationEnded")] == commits
    assert {one.subject for one in told(done, "committed")} == {"PROJ-1: rewritten"}
    assert "commit-failed" not in warnings(done)
    (warned,) = [one for one in told(done, "warned") if one.code == "trailers-lost"]
    assert f"out of the message of commit {commits[0][:7]}" in warned.message


def test_a_persons_commit_during_an_iteration_stays_theirs(scene: Scene) -> None:
    scene.make_gate()
    scene.plan("First task", "Second task", files={**LOOP, "theirs.txt": "0\n"})
    scene.agent(f'[ "$RALPH_START" != 1 ] || wait_here\n{WORKS}')
    running = scene.start("2")
    wait_until(scene.kept, (scene.kept / "here").exists)
    scene.file("theirs.txt").write_text("1\n", encoding="utf-8")
    git(scene.repository, "commit", "-qam", "A person's")
    scene.open_gate()
    done = running.wait()
    assert subjects(scene) == ["A person's", "ralph: First task", "ralph: First task"]
    listed = git(scene.repository, "log", "--format=", "--name-only", "HEAD~2..")
    assert listed.split() == ["work.txt", "work.txt"]
    assert len(told(done, "committed")) == 2
    assert git(scene.repository, "status", "--porcelain") == ""
