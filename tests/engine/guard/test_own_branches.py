"""An agent that brings in its own earlier commits: they are its own, however its git does that."""

from __future__ import annotations

import pytest

from tests.engine.project_builder import git
from tests.engine.ralph_runner import Scene, told, warnings

BRANCH = "git switch -q -c feature; work; commit; git switch -q main"

CLONE = "git clone -q --bare . ../remote.git; git remote add origin ../remote.git"

UNTRACED = "env -u GIT_TRACE2_EVENT git"
"""As a library in place of git, or a tool that cleans its environment."""

FLOWS = {
    "fast-forward": (BRANCH, f"{UNTRACED} merge -q feature"),
    "merge": (BRANCH, f"{UNTRACED} merge -q --no-ff --no-edit feature"),
    "cherry-pick": (BRANCH, f"{UNTRACED} cherry-pick feature >/dev/null"),
    "rebase": (
        f"{BRANCH}; echo x >x; commit",
        "unset GIT_TRACE2_EVENT; git rebase -q main feature; git switch -q main; git merge -q -",
    ),
    "pull": (
        f"{CLONE}; work; commit; git push -q -u origin main; git reset -q --hard HEAD~1",
        f"{UNTRACED} pull -q --ff-only",
    ),
    "linked work tree": (
        "git worktree add -q ../linked -b feature; (cd ../linked; work; commit)",
        f"{UNTRACED} merge -q feature",
    ),
    "traced": (BRANCH, "git merge -q --no-ff --no-edit feature"),
}


def agent(scene: Scene, first: str, second: str) -> Scene:
    if not scene.repository.exists():
        scene.plan("First task", "Second task")
    return scene.agent(
        f"""
        if [ "$RALPH_START" = 1 ]; then {first}; else {second}; git status >/dev/null; fi
        report "STATUS: IN_PROGRESS"
        """
    )


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
def test_what_it_made_in_an_earlier_iteration_is_its_own(scene: Scene, flow: str) -> None:
    done = agent(scene, *FLOWS[flow]).run("2")
    assert "person-committed" not in warnings(done)
    evidence = told(done, "evidenceGathered")[-1].evidence
    assert evidence.commits
    assert not any(commit.by_person for commit in evidence.commits)


@pytest.mark.slow
def test_what_it_made_in_an_earlier_run_is_its_own(scene: Scene) -> None:
    agent(scene, BRANCH, ":").run("1")
    done = agent(scene, f"git tag v1; {UNTRACED} merge -q feature; work; commit", ":").run("1")
    assert "person-committed" not in warnings(done)


@pytest.mark.slow
def test_what_the_user_merges_meanwhile_is_still_the_users(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(scene, "work; commit", "wait_here")
    scene.make_gate()
    long_ago = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "@1700000000 +0000")
    (scene.repository / "users.txt").write_text("mine\n", encoding="utf-8")
    git(scene.repository, "switch", "-q", "-c", "mine")
    git(scene.repository, "add", "users.txt")
    for name, value in long_ago.items():
        monkeypatch.setenv(name, value)
    git(scene.repository, "commit", "-q", "-m", "Mine")
    git(scene.repository, "switch", "-q", "main")
    for name in long_ago:
        monkeypatch.delenv(name)
    running = scene.start("2")
    running.wait_for("agentStarted", start=2)
    # Made in the same second as the agent's last commit it could be that one's.
    for name, value in long_ago.items():
        monkeypatch.setenv(name, value)
    git(scene.repository, "merge", "-q", "--no-ff", "--no-edit", "mine")
    scene.open_gate()
    done = running.wait()
    assert "person-committed" in warnings(done)
    evidence = told(done, "evidenceGathered")[-1].evidence
    assert {commit.by_person for commit in evidence.commits} == {True}
