"""An agent that is killed in the middle of a merge, a rebase and the like."""

from __future__ import annotations

import pytest

from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told, warnings

CONFLICT = """
echo base >file; git add -A; git commit -q -m Base
git switch -q -c other; echo theirs >file; git commit -q -a -m Theirs
git switch -q main; echo ours >file; git commit -q -a -m Ours
"""

OPERATIONS = {
    "merge": ("git merge -q other", "git merge --abort"),
    "rebase": ("git rebase -q other", "git rebase --abort"),
    "cherry-pick": ("git cherry-pick other", "git cherry-pick --abort"),
    "revert": ("git revert --no-edit HEAD~1", "git revert --abort"),
    "bisect": ("git bisect start -q", "git bisect reset"),
}


def agent(project: Project, begins: str, ends: str) -> Project:
    # Killed at once by a signal, as at a time limit.
    return project.agent(
        f"""
        case $RALPH_START in
        1)  {CONFLICT}
            {begins} >/dev/null 2>&1
            kill -9 $$;;
        2)  {ends} >/dev/null 2>&1; work;;
        esac
        report "STATUS: IN_PROGRESS"
        """
    )


@pytest.mark.slow
@pytest.mark.parametrize("what", OPERATIONS)
def test_the_next_agent_ends_it_and_nothing_is_committed_before(
    project: Project, what: str
) -> None:
    begins, ends = OPERATIONS[what]
    project.plan(files={"IMPLEMENTATION_PLAN.md": "# Plan\n\n- [ ] First task\n"})
    done = agent(project, begins, ends).run("2", "--profile", "spec", "--no-push")
    assert done.exit_code == 1, done.stdout
    (warned,) = [event for event in told(done, "warned") if event.code == "git-unfinished"]
    assert f"left a {what} unfinished;" in warned.message
    assert "Git is in the middle of something" in project.prompt(2)
    assert "<<<<<<<" not in git(project.repository, "show", "HEAD:file")
    assert [event.start for event in told(done, "committed")] == [2]


@pytest.mark.slow
def test_a_rebase_leaves_a_run_that_pushes_able_to_continue(project: Project) -> None:
    project.plan(files={"IMPLEMENTATION_PLAN.md": "# Plan\n\n- [ ] First task\n"})
    done = agent(project, *OPERATIONS["rebase"]).run("2", "--profile", "spec")
    assert done.exit_code == 1, done.stdout


@pytest.mark.slow
def test_a_conflict_without_an_operation_is_not_committed_as_resolved(project: Project) -> None:
    project.plan(files={"IMPLEMENTATION_PLAN.md": "# Plan\n\n- [ ] First task\n"})
    begins = "echo mine >file; git stash -q; echo more >>file; git commit -q -a -m M; git stash pop"
    done = agent(project, begins, "true").run("1", "--profile", "spec", "--no-push")
    assert "commit-failed" in warnings(done)
    assert "<<<<<<<" not in git(project.repository, "show", "HEAD:file")
    assert git(project.repository, "ls-files", "--unmerged")


@pytest.mark.slow
def test_what_the_user_is_in_the_middle_of_is_left_to_the_user(project: Project) -> None:
    project.plan(files={"file": "base\n"}).agent("report 'STATUS: IN_PROGRESS'")
    git(project.repository, "bisect", "start", "-q")
    done = project.run("2")
    assert "git-unfinished" not in warnings(done)
    assert "in the middle" not in project.prompt(2)
