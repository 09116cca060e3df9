"""``ralph rollback``: what it undoes, what it keeps, and when it refuses.

See docs/rules.md#rollback.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.engine.project_builder import Completed
from tests.engine.ralph_runner import Project
from tests.engine.steered_run import WAITS

pytestmark = pytest.mark.slow

TWO_COMMITS = "work; commit; report 'STATUS: IN_PROGRESS'"


def git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=repository, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def head(project: Project) -> str:
    return git(project.repository, "rev-parse", "HEAD")


def worked(project: Project, n_iterations: int = 2) -> list[str]:
    """A run whose iterations committed something each; HEAD before, and after each."""
    project.agent(TWO_COMMITS)
    heads = [head(project)]
    assert project.run(str(n_iterations)).exit_code == 1
    log = git(project.repository, "log", "--format=%H", "--reverse", f"{heads[0]}..HEAD")
    return heads + log.split()


def rolled(project: Project, *arguments: str, code: int = 0) -> Any:
    done = project.tell("rollback", *arguments, "--json")
    assert done.exit_code == code, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def refused(project: Project, *arguments: str) -> Any:
    """What was refused; nothing may have changed for it."""
    before = head(project), git(project.repository, "branch", "--list")
    told = rolled(project, *arguments, "--yes", code=1)
    assert not told["done"]
    assert (head(project), git(project.repository, "branch", "--list")) == before
    return told


def lines(done: Completed) -> list[str]:
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines()


class TestWhatItDoes:
    def test_the_branch_goes_back_and_what_was_undone_is_kept(self, project: Project) -> None:
        start, first, second = worked(project)
        told = rolled(project, "1", "--yes")
        assert told["done"]
        assert (told["iteration"], told["branch"], told["target"]) == (2, "main", first)
        assert [(one["hash"], one["foreign"]) for one in told["commits"]] == [(second, False)]
        assert told["files"] == ["work.txt"]
        assert head(project) == first
        assert git(project.repository, "rev-parse", told["backup"]) == second
        assert told["backup"].startswith("ralph/backup-20")
        assert (project.repository / "work.txt").read_text() == "1\n"
        assert git(project.repository, "status", "--porcelain") == ""
        again = rolled(project, "--before", "1", "--yes")
        assert (again["target"], head(project)) == (start, start)

    def test_the_plan_is_as_it_was(self, project: Project) -> None:
        project.agent("work; mark x First; commit; report 'STATUS: IN_PROGRESS'")
        before = (project.repository, (project.repository / "@fix_plan.md").read_text())
        project.run("1")
        assert (project.repository / "@fix_plan.md").read_text() != before[1]
        rolled(project, "1", "--yes")
        assert (project.repository / "@fix_plan.md").read_text() == before[1]

    def test_a_dry_run_only_reports(self, project: Project) -> None:
        _, first, second = worked(project)
        told = rolled(project, "1", "--dry-run")
        assert (told["done"], told["target"]) == (False, first)
        assert "refused" not in told
        assert head(project) == second
        assert git(project.repository, "branch", "--list", "ralph/*") == ""

    def test_the_plain_output_is_in_words(self, project: Project) -> None:
        _, first, second = worked(project)
        shown = lines(project.tell("rollback", "1", "--dry-run"))
        assert shown[0].startswith(f"main goes back to {first[:7]}, before iteration 2 of run ")
        assert shown[1] == f"  {second[:7]} Work 2"
        assert shown[2:4] == ["1 file differs:", "  work.txt"]
        assert shown[4].startswith("It stays on the branch ralph/backup-")
        told = lines(project.tell("rollback", "1", "--yes"))
        assert told[0] == f"main is back at {first[:7]}; 1 commit undone"
        assert told[2].startswith("  git reset --keep ralph/backup-")
        git(project.repository, *told[2].split()[1:])
        assert head(project) == second

    def test_an_earlier_run_can_be_undone_with_the_later_one(self, project: Project) -> None:
        start, *_ = worked(project, 1)
        run = project.run_folder().name
        project.run("1")
        told = rolled(project, "--before", "1", "--run", run, "--yes")
        assert [one["foreign"] for one in told["commits"]] == [False, False]
        assert head(project) == start

    def test_the_force_push_is_shown_and_never_run(self, project: Project, tmp_path: Path) -> None:
        project.agent(TWO_COMMITS)
        remote = tmp_path / "remote.git"
        git(tmp_path, "init", "--quiet", "--bare", str(remote))
        git(project.repository, "remote", "add", "origin", str(remote))
        git(project.repository, "push", "--quiet", "--set-upstream", "origin", "main")
        project.run("1")
        assert "forcePush" not in rolled(project, "1", "--dry-run")
        git(project.repository, "push", "--quiet")
        pushed = git(remote, "rev-parse", "main")
        told = rolled(project, "1", "--yes")
        assert told["forcePush"] == "git push --force-with-lease origin main"
        assert git(remote, "rev-parse", "main") == pushed != head(project)

    def test_a_commit_with_copied_trailers_is_the_users(self, project: Project) -> None:
        worked(project, 1)
        run = project.run_folder().name
        message = f"ralph: First task\n\nRalph-Run: {run}\nRalph-Iteration: 1"
        git(project.repository, "commit", "--quiet", "--allow-empty", "-m", message)
        told = refused(project, "1", "--dry-run")
        assert told["refused"]["code"] == "foreign-commits"
        assert [one["foreign"] for one in told["commits"]] == [True, False]


class TestWhatItRefuses:
    def test_during_a_run(self, project: Project) -> None:
        worked(project, 1)
        project.agent(WAITS)
        project.make_gate()
        running = project.start("1")
        running.wait_for("agentStarted")
        told = refused(project, "--before", "1")
        assert told["refused"]["code"] == "run-goes-on"
        assert "end it with: ralph stop" in told["refused"]["message"]
        project.open_gate()
        running.wait()

    @pytest.mark.parametrize("path", ["work.txt", "new.txt"])
    def test_on_a_dirty_tree(self, project: Project, path: str) -> None:
        worked(project)
        (project.repository / path).write_text("mine\n")
        told = refused(project, "1")
        assert told["refused"]["code"] == "dirty-tree"
        assert path in told["refused"]["message"]
        assert (project.repository / path).read_text() == "mine\n"

    def test_over_foreign_commits_unless_forced(self, project: Project) -> None:
        start, first, second = worked(project)
        git(project.repository, "commit", "--quiet", "--allow-empty", "-m", "Mine")
        mine = head(project)
        told = refused(project, "2")
        assert told["refused"]["code"] == "foreign-commits"
        assert (
            f"1 of 3 commits was not made by an iteration: {mine[:7]} Mine"
            in (told["refused"]["message"])
        )
        assert [(one["hash"], one["foreign"]) for one in told["commits"]] == [
            (mine, True),
            (second, False),
            (first, False),
        ]
        done = rolled(project, "2", "--force", "--yes")
        assert head(project) == start
        assert git(project.repository, "rev-parse", done["backup"]) == mine

    def test_where_the_branch_does_not_lead(self, project: Project) -> None:
        start, first, _ = worked(project)
        rolled(project, "1", "--yes")
        assert refused(project, "--before", "2")["refused"]["code"] == "nothing-to-undo"
        git(project.repository, "reset", "--quiet", "--hard", start)
        assert refused(project, "--before", "2")["refused"]["code"] == "not-on-branch"
        git(project.repository, "checkout", "--quiet", "--detach", first)
        assert refused(project, "--before", "1")["refused"]["code"] == "detached-head"

    def test_in_the_middle_of_a_merge(self, project: Project) -> None:
        worked(project)
        (project.repository / ".git" / "MERGE_HEAD").write_text(head(project) + "\n")
        told = refused(project, "1")
        assert told["refused"]["code"] == "git-busy"
        assert "a merge is in progress" in told["refused"]["message"]

    def test_what_never_was(self, project: Project) -> None:
        worked(project)
        assert refused(project, "--before", "7")["refused"]["code"] == "no-iteration"

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "how far back?"),
            (["1", "--before", "1"], "how far back?"),
            (["9", "--yes"], "the last run has only 2 iterations"),
            (["1"], "this is not a terminal, so it cannot ask"),
            (["1", "--run", "20260131T120000Z-0a1b"], "--run needs --before START"),
        ],
    )
    def test_what_cannot_be_meant(self, project: Project, arguments: list[str], words: str) -> None:
        worked(project)
        done = project.tell("rollback", *arguments)
        assert (done.exit_code, done.stdout) == (64, "")
        assert words in done.stderr

    @pytest.mark.parametrize("place", ["kept.txt", "folder/kept.txt"])
    def test_over_what_git_ignores(self, project: Project, place: str) -> None:
        project.agent(f"git rm -q --cached {place}; git commit -q -m out; report 'STATUS: OPEN'")
        kept = project.repository / place
        kept.parent.mkdir(exist_ok=True)
        kept.write_text("theirs\n")
        git(project.repository, "add", place)
        git(project.repository, "commit", "--quiet", "-m", "Keep")
        with (project.repository / ".git" / "info" / "exclude").open("a") as file:
            file.write("kept.txt\n")
        project.run("1")
        kept.write_text("mine now\n")
        told = refused(project, "1")
        assert told["refused"]["code"] == "in-the-way"
        assert place in told["refused"]["message"]
        assert kept.read_text() == "mine now\n"
        kept.unlink()
        rolled(project, "1", "--yes")
        assert kept.read_text() == "theirs\n"

    def test_over_an_ignored_file_that_became_what_was_a_folder(self, project: Project) -> None:
        project.agent("git rm -q -r folder; git commit -q -m out; report 'STATUS: OPEN'")
        folder = project.repository / "folder"
        folder.mkdir()
        (folder / "a.txt").write_text("theirs\n")
        git(project.repository, "add", "folder")
        git(project.repository, "commit", "--quiet", "-m", "Keep")
        with (project.repository / ".git" / "info" / "exclude").open("a") as file:
            file.write("/folder\n")
        project.run("1")
        folder.write_text("mine now\n")
        assert refused(project, "1")["refused"]["code"] == "in-the-way"
        assert folder.read_text() == "mine now\n"

    def test_over_a_folder_with_ignored_files_that_was_a_file(self, project: Project) -> None:
        project.agent(
            "git rm -q thing; mkdir thing; echo x >thing/x; echo y >thing/secret; git add thing/x;"
            " git commit -q -m folder; report 'STATUS: OPEN'"
        )
        (project.repository / "thing").write_text("a file\n")
        git(project.repository, "add", "thing")
        git(project.repository, "commit", "--quiet", "-m", "Keep")
        with (project.repository / ".git" / "info" / "exclude").open("a") as file:
            file.write("secret\n")
        project.run("1")
        assert refused(project, "1")["refused"]["code"] == "in-the-way"
        (project.repository / "thing" / "secret").unlink()
        rolled(project, "1", "--yes")
        assert (project.repository / "thing").read_text() == "a file\n"
