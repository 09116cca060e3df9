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
from tests.engine.ralph_runner import Scene, told, wait_until

pytestmark = pytest.mark.slow

ROLLBACK = 'on_validate_fail = "rollback"\n'
REPAIR = 'on_validate_fail = "repair"\n'
LOOP = 'commits = "loop"\n'
GOOD_ONLY = "if [ -e bad.txt ]; then echo 'bad.txt is there'; exit 4; fi"
SAYS = "report 'STATUS: IN_PROGRESS'"


def checked(scene: Scene, config: str, check: str = GOOD_ONLY, **files: str) -> Scene:
    """A repository with these settings and a validation script, both allowed."""
    script = ".ralph/validate.sh"
    named = {name.replace("__", "."): text for name, text in files.items()}
    scene.plan(
        "First task",
        "Second task",
        files={
            ".ralph/config.toml": config,
            script: f"#!/bin/sh\n{check}\n",
            **named,
        },
    )
    scene.file(script).chmod(0o755)
    git(scene.repository, "commit", "-qam", "Make it executable")
    assert scene.tell("allow", "--yes").exit_code == 0
    return scene


def subjects(scene: Scene, revision: str = "HEAD") -> list[str]:
    return git(scene.repository, "log", "--format=%s", revision).splitlines()[:-2]


def status(scene: Scene) -> str:
    return git(scene.repository, "status", "--porcelain", "--untracked-files=all")


def backups(scene: Scene) -> list[str]:
    form = "--format=%(refname:short)"
    return git(scene.repository, "for-each-ref", form, "refs/heads/ralph/").splitlines()


def shown(scene: Scene, branch: str, path: str) -> str:
    return git(scene.repository, "show", f"{branch}:{path}")


def read(scene: Scene, path: str) -> str:
    text: str = scene.file(path).read_text(encoding="utf-8")
    return text


class TestRollback:
    def test_commits_and_uncommitted_work_go_and_are_kept_on_a_branch(self, scene: Scene) -> None:
        checked(scene, ROLLBACK, old__txt="old\n", gone__txt="here\n", run__sh="#!/bin/sh\n")
        scene.agent(
            'if [ "$RALPH_START" = 1 ]; then\n'
            "echo bad >bad.txt; echo new >old.txt; git add -A; git commit -qm 'one'; "
            "mark x First; git commit -qam 'two'; rm gone.txt; chmod +x run.sh; mkdir d; "
            "echo 'in d' >d/e; echo staged >staged.txt; git add staged.txt\n"
            f"else work; commit; fi\n{SAYS}"
        )
        done = scene.run("2")
        assert done.exit_code == 1, done.stderr
        (rolled,) = told(done, "rolledBack")
        assert (rolled.ok, rolled.commits, rolled.kept, rolled.refused) == (True, 2, (), "")
        (branch,) = backups(scene)
        assert rolled.backup == branch
        first, second = told(done, "iterationEnded")
        assert (first.outcome.value, first.commit, first.counts.done) == ("noProgress", None, 0)
        assert second.outcome.value == "progress"
        assert [event.task.title for event in told(done, "iterationStarted")] == ["First task"] * 2
        # The tree is as it was, and what the next agent did lies upon it.
        assert len(subjects(scene)) == 1
        assert status(scene) == ""
        assert read(scene, "old.txt") == "old\n"
        assert read(scene, "@fix_plan.md").count("- [ ]") == 2
        assert not scene.file("bad.txt").exists()
        assert not scene.file("d").exists()
        # All of it is on the branch.
        assert subjects(scene, branch)[1:] == ["two", "one"]
        assert shown(scene, branch, "d/e") == "in d\n"
        assert shown(scene, branch, "staged.txt") == "staged\n"
        assert "gone.txt" not in git(scene.repository, "ls-tree", "--name-only", branch)
        assert "100755" in git(scene.repository, "ls-tree", branch, "run.sh")
        # And everybody was told.
        assert f"all of it is kept on {branch}" in done.stdout
        assert f"it is kept on the branch `{branch}`" in scene.prompt(2)
        assert "> bad.txt is there" in scene.prompt(2)

    def test_what_was_dirty_before_is_as_it_was_then(self, scene: Scene) -> None:
        checked(scene, ROLLBACK + LOOP, mine__txt="0\n", both__txt="0\n")
        scene.file("mine.txt").write_text("a person's\n", encoding="utf-8")
        scene.file("both.txt").write_text("a person's\n", encoding="utf-8")
        scene.file("new.txt").write_text("a person's\n", encoding="utf-8")
        git(scene.repository, "add", "mine.txt")
        before = status(scene)
        scene.agent(
            "echo the agent >both.txt; echo the agent >>new.txt; echo >bad.txt; "
            f"echo S=1 >.env; {SAYS}"
        )
        done = scene.run("1")
        (rolled,) = told(done, "rolledBack")
        assert rolled.ok, rolled.refused
        assert read(scene, "both.txt") == read(scene, "new.txt") == "a person's\n"
        assert read(scene, "mine.txt") == "a person's\n"
        assert sorted(status(scene).splitlines()) == sorted([*before.splitlines(), "?? .env"])
        (branch,) = backups(scene)
        assert shown(scene, branch, "both.txt") == "the agent\n"
        assert shown(scene, branch, "new.txt") == "a person's\nthe agent\n"
        assert ".env" not in git(scene.repository, "ls-tree", "--name-only", branch)
        assert (subjects(scene), told(done, "committed")) == ([], [])
        assert not told(done, "iterationEnded")[0].uncommitted

    def test_after_three_in_a_row_the_breaker_opens(self, scene: Scene) -> None:
        checked(scene, ROLLBACK).agent(f"echo $RALPH_START >bad.txt; commit; {SAYS}")
        done = scene.run("9")
        assert (done.exit_code, subjects(scene), status(scene)) == (4, [], "")
        assert [shown(scene, branch, "bad.txt") for branch in backups(scene)] == [
            "1\n",
            "2\n",
            "3\n",
        ]

    def test_an_iteration_that_changed_nothing_leaves_no_branch(self, scene: Scene) -> None:
        checked(scene, ROLLBACK, "exit 1").agent(SAYS)
        done = scene.run("1")
        assert (done.exit_code, backups(scene)) == (1, [])
        assert "Nothing to roll back" in done.stdout

    @pytest.mark.parametrize(
        ("act", "why"),
        [
            pytest.param(
                'git push -q "$REMOTE" HEAD:refs/heads/main; git fetch -q "$REMOTE" '
                "'+refs/heads/*:refs/remotes/origin/*'",
                "its commits were pushed, and nothing is ever forced",
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
                "HEAD does not go on from",
                id="another-history",
            ),
        ],
    )
    def test_what_cannot_be_taken_back_ends_the_run_and_nothing_is_touched(
        self, scene: Scene, tmp_path: Path, act: str, why: str
    ) -> None:
        checked(scene, ROLLBACK)
        remote = tmp_path / "remote.git"
        git(scene.repository, "init", "-q", "--bare", str(remote))
        scene.agent(f"echo bad >bad.txt; git add -A; git commit -qm mine; {act}\n{SAYS}")
        done = scene.run("5", env={"REMOTE": str(remote)})
        assert done.exit_code == 5
        (rolled,) = told(done, "rolledBack")
        assert not rolled.ok
        assert why in rolled.refused
        assert why in told(done, "runEnded")[0].message
        assert (backups(scene), read(scene, "bad.txt")) == ([], "bad\n")

    def test_a_commit_of_somebody_else_meanwhile_is_not_taken_back(self, scene: Scene) -> None:
        check = "if [ -e bad.txt ]; then git commit -q --allow-empty -m theirs; exit 1; fi"
        checked(scene, ROLLBACK, check).agent(f"echo bad >bad.txt; commit; {SAYS}")
        done = scene.run("5")
        assert (done.exit_code, backups(scene)) == (5, [])
        assert "HEAD has moved since the agent ended" in told(done, "rolledBack")[0].refused
        assert subjects(scene)[0] == "theirs"

    def test_what_the_validation_wrote_stays(self, scene: Scene) -> None:
        checked(scene, ROLLBACK, f"echo report >report.txt; {GOOD_ONLY}")
        scene.agent(f"echo bad >bad.txt; {SAYS}")
        done = scene.run("1")
        assert told(done, "rolledBack")[0].ok
        assert status(scene) == "?? report.txt\n"

    def test_a_plan_that_a_person_saved_meanwhile_stays_and_that_is_told(
        self, scene: Scene
    ) -> None:
        checked(scene, ROLLBACK).agent(f"wait_here; mark x First; echo >bad.txt; {SAYS}")
        scene.make_gate()
        running = scene.start("1")
        wait_until(scene.kept, (scene.kept / "here").exists)
        plan = scene.file("@fix_plan.md")
        before = read(scene, "@fix_plan.md")
        text = f"{before}- [ ] Third task\n"
        plan.write_text(text, encoding="utf-8")
        state = StateFolder(folder=scene.run_folder().parents[1])
        record_document_save(
            state,
            "@fix_plan.md",
            DocumentSave("file:///f", before, text),
            kind=PlanKind.MARKDOWN,
            at=datetime.now(UTC),
        )
        scene.open_gate()
        done = running.wait()
        (rolled,) = told(done, "rolledBack")
        assert (rolled.ok, rolled.kept) == (True, ("@fix_plan.md",))
        assert read(scene, "@fix_plan.md").endswith("- [ ] Third task\n")
        assert not scene.file("bad.txt").exists()
        assert "left as a person saved it: @fix_plan.md" in done.stdout
        assert any(event.code == "rollback-kept" for event in told(done, "warned"))

    def test_with_issues_of_bd_no_run_begins(self, scene: Scene) -> None:
        scene.plan()
        config = Config(profile=ProfileName.BEADS, on_validate_fail=OnValidateFail.ROLLBACK)
        with pytest.raises(ConfigError, match="cannot take back what an iteration did"):
            require_deliverable(find_worktree(scene.repository), config)

    def test_a_run_that_goes_on_with_an_iteration_takes_it_back_once(self, scene: Scene) -> None:
        """An engine that dies after git is through and before the journal says so."""
        checked(scene, ROLLBACK).agent(f"echo bad >bad.txt; commit; {SAYS}")
        done = scene.run("1")
        journal = _journal(scene, done)
        lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
        at = next(n for n, line in enumerate(lines) if '"rolledBack"' in line)
        journal.write_text("".join(lines[:at]), encoding="utf-8")
        (journal.parent / "state.json").unlink(missing_ok=True)
        again = scene.run("--resume", "1")
        (rolled,) = told(again, "rolledBack")
        (branch,) = backups(scene)
        assert (rolled.ok, rolled.backup, status(scene)) == (True, branch, "")
        assert subjects(scene) == []


class TestRepair:
    def test_the_next_agent_gets_the_task_and_the_words_and_mends_it(self, scene: Scene) -> None:
        checked(scene, REPAIR + LOOP)
        scene.agent(
            'case "$RALPH_START" in\n'
            "1) echo bad >bad.txt; mark x First;;\n"
            "2) echo worse >>bad.txt;;\n"
            f"3) rm bad.txt; work;;\nesac\n{SAYS}"
        )
        done = scene.run("3")
        assert done.exit_code == 1, done.stderr
        assert [event.task.title for event in told(done, "iterationStarted")] == ["First task"] * 3
        assert [event.ok for event in told(done, "validated")] == [False, False, True]
        assert subjects(scene) == ["ralph: First task"]
        assert status(scene) == ""
        second = scene.prompt(2)
        assert "Task: First task\n\n## The validation failed\n\nAfter iteration 1" in second
        assert "the validation script `.ralph/validate.sh` ended with 4." in second
        assert "> bad.txt is there" in second
        assert "What it did is still there" in second
        assert "validation failed" not in scene.prompt(1)

    def test_it_ends_after_so_many(self, scene: Scene) -> None:
        checked(scene, REPAIR + "max_repairs = 1\n").agent(f"echo bad >bad.txt; commit; {SAYS}")
        done = scene.run("9")
        assert (done.exit_code, len(told(done, "iterationEnded"))) == (5, 2)
        assert told(done, "runEnded")[0].message.endswith("the 1 repair before did not mend it")


def _journal(scene: Scene, done: Completed) -> Path:
    answer = json.loads(scene.tell("status", "--json").stdout)
    found = [value for value in answer.values() if isinstance(value, str) and "journal" in value]
    if found:
        return Path(found[0])
    raise AssertionError(sorted(answer))
