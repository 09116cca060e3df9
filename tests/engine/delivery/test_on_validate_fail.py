"""What becomes of work that did not validate, in real repositories: rollback and repair."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.editor.documents.loop_documents import DocumentSave
from ralph_ls.editor.features.saves import record_document_save
from ralph_ls.engine.delivery.git_delivery import require_deliverable
from ralph_ls.protocol.config.config import Config, OnValidateFail, ProfileName
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.layout import StateFolder, find_worktree
from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Project, told, wait_until

pytestmark = pytest.mark.slow

ROLLBACK = 'on_validate_fail = "rollback"\n'
REPAIR = 'on_validate_fail = "repair"\n'
LOOP = 'commits = "loop"\n'
GOOD_ONLY = "if [ -e bad.txt ]; then echo 'bad.txt is there'; exit 4; fi"
SAYS = "report 'STATUS: IN_PROGRESS'"


def checked(project: Project, config: str, check: str = GOOD_ONLY, **files: str) -> Project:
    """A repository with these settings and a validation script, both allowed."""
    script = ".ralph/validate.sh"
    named = {name.replace("__", "."): text for name, text in files.items()}
    project.plan(
        "First task",
        "Second task",
        files={
            ".ralph/config.toml": config,
            script: f"#!/bin/sh\n{check}\n",
            **named,
        },
    )
    project.file(script).chmod(0o755)
    git(project.repository, "commit", "-qam", "Make it executable")
    assert project.tell("allow", "--yes").exit_code == 0
    return project


def subjects(project: Project, revision: str = "HEAD") -> list[str]:
    return git(project.repository, "log", "--format=%s", revision).splitlines()[:-2]


def status(project: Project) -> str:
    return git(project.repository, "status", "--porcelain", "--untracked-files=all")


def backups(project: Project) -> list[str]:
    form = "--format=%(refname:short)"
    return git(project.repository, "for-each-ref", form, "refs/heads/ralph/").splitlines()


def shown(project: Project, branch: str, path: str) -> str:
    return git(project.repository, "show", f"{branch}:{path}")


def read(project: Project, path: str) -> str:
    text: str = project.file(path).read_text(encoding="utf-8")
    return text


class TestRollback:
    def test_commits_and_uncommitted_work_go_and_are_kept_on_a_branch(
        self, project: Project
    ) -> None:
        checked(project, ROLLBACK, old__txt="old\n", gone__txt="here\n", run__sh="#!/bin/sh\n")
        project.agent(
            'if [ "$RALPH_START" = 1 ]; then\n'
            "echo bad >bad.txt; echo new >old.txt; git add -A; git commit -qm 'one'; "
            "mark x First; git commit -qam 'two'; rm gone.txt; chmod +x run.sh; mkdir d; "
            "echo 'in d' >d/e; echo staged >staged.txt; git add staged.txt\n"
            f"else work; commit; fi\n{SAYS}"
        )
        done = project.run("2")
        assert done.exit_code == 1, done.stderr
        (rolled,) = told(done, "rolledBack")
        assert (rolled.ok, rolled.commits, rolled.kept, rolled.refused) == (True, 2, (), "")
        (branch,) = backups(project)
        assert rolled.backup == branch
        first, second = told(done, "iterationEnded")
        assert (first.outcome.value, first.commit, first.counts.done) == ("noProgress", None, 0)
        assert second.outcome.value == "progress"
        assert [event.task.title for event in told(done, "iterationStarted")] == ["First task"] * 2
        # The tree is as it was, and what the next agent did is on top of it.
        assert len(subjects(project)) == 1
        assert status(project) == ""
        assert read(project, "old.txt") == "old\n"
        assert read(project, "@fix_plan.md").count("- [ ]") == 2
        assert not project.file("bad.txt").exists()
        assert not project.file("d").exists()
        # All of it is on the branch.
        assert subjects(project, branch)[1:] == ["two", "one"]
        assert shown(project, branch, "d/e") == "in d\n"
        assert shown(project, branch, "staged.txt") == "staged\n"
        assert "gone.txt" not in git(project.repository, "ls-tree", "--name-only", branch)
        assert "100755" in git(project.repository, "ls-tree", branch, "run.sh")
        # And it was reported to everybody.
        assert f"a copy is on {branch}" in done.stdout
        assert f"it is kept on the branch `{branch}`" in project.prompt(2)
        assert "> bad.txt is there" in project.prompt(2)

    def test_what_was_dirty_before_is_as_it_was_then(self, project: Project) -> None:
        checked(project, ROLLBACK + LOOP, mine__txt="0\n", both__txt="0\n")
        project.file("mine.txt").write_text("a person's\n", encoding="utf-8")
        project.file("both.txt").write_text("a person's\n", encoding="utf-8")
        project.file("new.txt").write_text("a person's\n", encoding="utf-8")
        git(project.repository, "add", "mine.txt")
        before = status(project)
        project.agent(
            "echo the agent >both.txt; echo the agent >>new.txt; echo >bad.txt; "
            f"echo S=1 >.env; {SAYS}"
        )
        done = project.run("1")
        (rolled,) = told(done, "rolledBack")
        assert rolled.ok, rolled.refused
        assert read(project, "both.txt") == read(project, "new.txt") == "a person's\n"
        assert read(project, "mine.txt") == "a person's\n"
        assert sorted(status(project).splitlines()) == sorted([*before.splitlines(), "?? .env"])
        (branch,) = backups(project)
        assert shown(project, branch, "both.txt") == "the agent\n"
        assert shown(project, branch, "new.txt") == "a person's\nthe agent\n"
        assert ".env" not in git(project.repository, "ls-tree", "--name-only", branch)
        assert (subjects(project), told(done, "committed")) == ([], [])
        assert not told(done, "iterationEnded")[0].uncommitted

    def test_after_three_in_a_row_the_breaker_opens(self, project: Project) -> None:
        checked(project, ROLLBACK).agent(f"echo $RALPH_START >bad.txt; commit; {SAYS}")
        done = project.run("9")
        assert (done.exit_code, subjects(project), status(project)) == (4, [], "")
        assert [shown(project, branch, "bad.txt") for branch in backups(project)] == [
            "1\n",
            "2\n",
            "3\n",
        ]

    def test_an_iteration_that_changed_nothing_leaves_no_branch(self, project: Project) -> None:
        checked(project, ROLLBACK, "exit 1").agent(SAYS)
        done = project.run("1")
        assert (done.exit_code, backups(project)) == (1, [])
        assert "Nothing to roll back" in done.stdout

    @pytest.mark.parametrize(
        ("act", "why"),
        [
            pytest.param(
                'git push -q "$REMOTE" HEAD:refs/heads/main; git fetch -q "$REMOTE" '
                "'+refs/heads/*:refs/remotes/origin/*'",
                "its commits were pushed, and ralph never forces a push",
                id="pushed",
            ),
            pytest.param("git checkout -q -b other", "HEAD has moved", id="another-branch"),
            pytest.param(
                "git init -q in; cd in; git commit -q --allow-empty -m in; cd ..",
                "repositories inside this one were changed: in",
                id="a-repository-inside",
            ),
            pytest.param(
                "git reset -q --hard HEAD~2; echo bad >bad.txt",
                "HEAD does not contain",
                id="another-history",
            ),
        ],
    )
    def test_what_cannot_be_taken_back_ends_the_run_and_nothing_is_touched(
        self, project: Project, tmp_path: Path, act: str, why: str
    ) -> None:
        checked(project, ROLLBACK)
        remote = tmp_path / "remote.git"
        git(project.repository, "init", "-q", "--bare", str(remote))
        project.agent(f"echo bad >bad.txt; git add -A; git commit -qm mine; {act}\n{SAYS}")
        done = project.run("5", env={"REMOTE": str(remote)})
        assert done.exit_code == 5
        (rolled,) = told(done, "rolledBack")
        assert not rolled.ok
        assert why in rolled.refused
        assert why in told(done, "runEnded")[0].message
        assert (backups(project), read(project, "bad.txt")) == ([], "bad\n")

    def test_a_commit_of_somebody_else_meanwhile_is_not_taken_back(self, project: Project) -> None:
        check = "if [ -e bad.txt ]; then git commit -q --allow-empty -m theirs; exit 1; fi"
        checked(project, ROLLBACK, check).agent(f"echo bad >bad.txt; commit; {SAYS}")
        done = project.run("5")
        assert (done.exit_code, backups(project)) == (5, [])
        assert "HEAD has moved since the agent ended" in told(done, "rolledBack")[0].refused
        assert subjects(project)[0] == "theirs"

    def test_what_the_validation_wrote_stays(self, project: Project) -> None:
        checked(project, ROLLBACK, f"echo report >report.txt; {GOOD_ONLY}")
        project.agent(f"echo bad >bad.txt; {SAYS}")
        done = project.run("1")
        assert told(done, "rolledBack")[0].ok
        assert status(project) == "?? report.txt\n"

    def test_a_plan_that_the_user_saved_meanwhile_stays_and_is_reported(
        self, project: Project
    ) -> None:
        checked(project, ROLLBACK).agent(f"wait_here; mark x First; echo >bad.txt; {SAYS}")
        project.make_gate()
        running = project.start("1")
        wait_until(project.kept, (project.kept / "here").exists)
        plan = project.file("@fix_plan.md")
        before = read(project, "@fix_plan.md")
        text = f"{before}- [ ] Third task\n"
        plan.write_text(text, encoding="utf-8")
        state = StateFolder(folder=project.run_folder().parents[1])
        record_document_save(
            state,
            "@fix_plan.md",
            DocumentSave("file:///f", before, text),
            kind=PlanKind.MARKDOWN,
            at=datetime.now(UTC),
        )
        project.open_gate()
        done = running.wait()
        (rolled,) = told(done, "rolledBack")
        assert (rolled.ok, rolled.kept) == (True, ("@fix_plan.md",))
        assert read(project, "@fix_plan.md").endswith("- [ ] Third task\n")
        assert not project.file("bad.txt").exists()
        assert "kept as you saved it: @fix_plan.md" in done.stdout
        assert any(event.code == "rollback-kept" for event in told(done, "warned"))

    def test_with_issues_of_bd_no_run_begins(self, project: Project) -> None:
        project.plan()
        config = Config(profile=ProfileName.BEADS, on_validate_fail=OnValidateFail.ROLLBACK)
        with pytest.raises(ConfigError, match="cannot undo changes to bd issues"):
            require_deliverable(find_worktree(project.repository), config)

    def test_a_run_that_continues_with_an_iteration_takes_it_back_once(
        self, project: Project
    ) -> None:
        """An engine that dies after git is through and before the journal says so."""
        checked(project, ROLLBACK).agent(f"echo bad >bad.txt; commit; {SAYS}")
        done = project.run("1")
        journal = _journal(project, done)
        lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
        at = next(n for n, line in enumerate(lines) if '"rolledBack"' in line)
        journal.write_text("".join(lines[:at]), encoding="utf-8")
        (journal.parent / "state.json").unlink(missing_ok=True)
        again = project.run("--resume", "1")
        (rolled,) = told(again, "rolledBack")
        (branch,) = backups(project)
        assert (rolled.ok, rolled.backup, status(project)) == (True, branch, "")
        assert subjects(project) == []


class TestRepair:
    def test_the_next_agent_gets_the_task_and_the_words_and_fixes_it(
        self, project: Project
    ) -> None:
        checked(project, REPAIR + LOOP)
        project.agent(
            'case "$RALPH_START" in\n'
            "1) echo bad >bad.txt; mark x First;;\n"
            "2) echo worse >>bad.txt;;\n"
            f"3) rm bad.txt; work;;\nesac\n{SAYS}"
        )
        done = project.run("3")
        assert done.exit_code == 1, done.stderr
        assert [event.task.title for event in told(done, "iterationStarted")] == ["First task"] * 3
        assert [event.ok for event in told(done, "validated")] == [False, False, True]
        assert subjects(project) == ["ralph: First task"]
        assert status(project) == ""
        second = project.prompt(2)
        assert "Task: First task\n\n## The validation failed\n\nAfter iteration 1" in second
        assert "the validation script `.ralph/validate.sh` ended with 4." in second
        assert "> bad.txt is there" in second
        assert "Its changes are still there" in second
        assert "validation failed" not in project.prompt(1)

    def test_it_ends_after_so_many(self, project: Project) -> None:
        checked(project, REPAIR + "max_repairs = 1\n").agent(f"echo bad >bad.txt; commit; {SAYS}")
        done = project.run("9")
        assert (done.exit_code, len(told(done, "iterationEnded"))) == (5, 2)
        assert told(done, "runEnded")[0].message.endswith("1 repair did not fix it")


def _journal(project: Project, done: Completed) -> Path:
    answer = json.loads(project.tell("status", "--json").stdout)
    found = [value for value in answer.values() if isinstance(value, str) and "journal" in value]
    if found:
        return Path(found[0])
    raise AssertionError(sorted(answer))
