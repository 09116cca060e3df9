"""An agent that brings in its own earlier commits: they are its own, however its git does that."""

from __future__ import annotations

import pytest

from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told, warnings

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


def agent(project: Project, first: str, second: str) -> Project:
    if not project.repository.exists():
        project.plan("First task", "Second task")
    return project.agent(
        f"""
        if [ "$RALPH_START" = 1 ]; then {first}; else {second}; git status >/dev/null; fi
        report "STATUS: IN_PROGRESS"
        """
    )


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
def test_what_it_made_in_an_earlier_iteration_is_its_own(project: Project, flow: str) -> None:
    done = agent(project, *FLOWS[flow]).run("2")
    assert "person-committed" not in warnings(done)
    evidence = told(done, "evidenceGathered")[-1].evidence
    assert evidence.commits
    assert not any(commit.by_person for commit in evidence.commits)


@pytest.mark.slow
def test_what_it_made_in_an_earlier_run_is_its_own(project: Project) -> None:
    agent(project, BRANCH, ":").run("1")
    done = agent(project, f"git tag v1; {UNTRACED} merge -q feature; work; commit", ":").run("1")
    assert "person-committed" not in warnings(done)


@pytest.mark.slow
def test_what_the_user_merges_meanwhile_is_still_the_users(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(project, "work; commit", "wait_here")
    project.make_gate()
    long_ago = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "@1700000000 +0000")
    (project.repository / "users.txt").write_text("mine\n", encoding="utf-8")
    git(project.repository, "switch", "-q", "-c", "mine")
    git(project.repository, "add", "users.txt")
    for name, value in long_ago.items():
        monkeypatch.setenv(name, value)
    git(project.repository, "commit", "-q", "-m", "Mine")
    git(project.repository, "switch", "-q", "main")
    for name in long_ago:
        monkeypatch.delenv(name)
    running = project.start("2")
    running.wait_for("agentStarted", start=2)
    # Made in the same second as the agent's last commit it could be that one's.
    for name, value in long_ago.items():
        monkeypatch.setenv(name, value)
    git(project.repository, "merge", "-q", "--no-ff", "--no-edit", "mine")
    project.open_gate()
    done = running.wait()
    assert "person-committed" in warnings(done)
    evidence = told(done, "evidenceGathered")[-1].evidence
    assert {commit.by_person for commit in evidence.commits} == {True}
