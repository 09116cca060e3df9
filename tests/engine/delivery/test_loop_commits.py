"""The loop commits: what goes into its commits and what does not, and what their messages say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Scene, told, wait_until, warnings

pytestmark = pytest.mark.slow

LOOP = 'commits = "loop"\n'
SAYS = "report 'STATUS: IN_PROGRESS' 'TESTS_STATUS: PASSING' 'RECOMMENDATION: Post it'"
WORKS = f"work; mark x First; {SAYS}"


def loop(scene: Scene, *tasks: str, config: str = LOOP, **files: str) -> Scene:
    """A repository whose loop commits."""
    named = {name.replace("__", "."): text for name, text in files.items()}
    return scene.plan(*tasks, files={".ralph/config.toml": config, **named})


def subjects(scene: Scene) -> list[str]:
    """Of all commits after the first one, the oldest first."""
    return git(scene.repository, "log", "--reverse", "--format=%s").splitlines()[1:]


def files_of(scene: Scene, commit: str = "HEAD") -> list[str]:
    printed = git(scene.repository, "show", "--format=", "--name-only", "-z", commit)
    return sorted(printed.strip("\0").split("\0")) if printed else []


def status(scene: Scene) -> str:
    return git(scene.repository, "status", "--porcelain")


def message_of(done: Completed, code: str) -> str:
    return next(str(event.message) for event in told(done, "warned") if event.code == code)


class TestWhat:
    def test_work_and_plan_go_into_one_commit_of_the_iteration(self, scene: Scene) -> None:
        loop(scene, "First task", "Second task").agent(WORKS)
        done = scene.run("1")
        assert (done.exit_code, status(scene)) == (1, "")
        (committed,) = told(done, "committed")
        head = git(scene.repository, "rev-parse", "HEAD").strip()
        assert (committed.commit, committed.subject) == (head, "ralph: First task")
        assert files_of(scene) == ["@fix_plan.md", "work.txt"]
        assert git(scene.repository, "log", "-1", "--format=%B").strip() == (
            "ralph: First task\n\n"
            "- Next: Post it\n"
            "- Changed 1 file: work.txt\n"
            "- Tests: passing\n"
            "- Plan: 1 of 2 required tasks done\n\n"
            f"Ralph-Run: {committed.run}\nRalph-Iteration: 1\nRalph-Start: 1"
        )
        (ended,) = told(done, "iterationEnded")
        assert (ended.commit, ended.uncommitted, ended.outcome.value) == (head, False, "progress")
        assert f"Committed {head[:7]}: ralph: First task" in done.stdout
        rows = scene.file(".ralph/logs/summary.csv").read_text(encoding="utf-8").splitlines()
        assert rows[1].split(",")[3] == head[:7]

    def test_the_loops_commit_is_no_evidence_of_the_next_iteration(self, scene: Scene) -> None:
        loop(scene, "First task", "Second task")
        scene.agent(f'[ "$RALPH_START" != 1 ] || work; {SAYS}')
        done = scene.run("2")
        first, second = (event.evidence for event in told(done, "evidenceGathered"))
        assert (first.progress, first.commits, first.paths) == (True, (), ("work.txt",))
        assert (second.progress, second.commits, second.files) == (False, (), 0)
        assert len(told(done, "committed")) == 1
        assert [event.commit is None for event in told(done, "iterationEnded")] == [False, True]
        assert "person-committed" not in warnings(done)

    def test_going_back_and_forth_is_no_progress_though_each_step_is_committed(
        self, scene: Scene
    ) -> None:
        loop(scene, "First task", work__txt="0\n")
        scene.agent(f"echo $((RALPH_START % 2)) >work.txt; {SAYS}")
        done = scene.run("3")
        seen = [event.evidence.progress for event in told(done, "evidenceGathered")]
        assert seen == [True, False, False]
        assert len(told(done, "committed")) == 3

    def test_an_agent_may_commit_some_itself(self, scene: Scene) -> None:
        loop(scene, "First task").agent(f"work; commit mine; echo rest >rest.txt; {SAYS}")
        done = scene.run("1")
        assert subjects(scene) == ["mine", "ralph: First task"]
        assert files_of(scene) == ["rest.txt"]
        commits = told(done, "evidenceGathered")[0].evidence.commits
        assert [commit.subject for commit in commits] == ["mine"]

    def test_nothing_is_committed_where_nothing_changed(self, scene: Scene) -> None:
        done = loop(scene).agent(SAYS).run("2")
        assert (subjects(scene), told(done, "committed")) == ([], [])
        assert [event.uncommitted for event in told(done, "iterationEnded")] == [False, False]

    def test_files_that_were_dirty_at_the_start_are_left_out_until_they_are_touched(
        self, scene: Scene
    ) -> None:
        loop(scene, "First task", mine__txt="0\n", other__txt="0\n", gone__txt="0\n")
        scene.file("mine.txt").write_text("a person's\n", encoding="utf-8")
        scene.file("other.txt").write_text("a person's\n", encoding="utf-8")
        scene.file("new.txt").write_text("a person's\n", encoding="utf-8")
        git(scene.repository, "add", "mine.txt", "new.txt")
        scene.agent(
            f'work; [ "$RALPH_START" = 1 ] || echo more >>other.txt; rm -f gone.txt; {SAYS}'
        )
        done = scene.run("2")
        assert files_of(scene, "HEAD~1") == ["gone.txt", "work.txt"]
        assert files_of(scene) == ["other.txt", "work.txt"]
        assert status(scene) == "M  mine.txt\nA  new.txt\n"
        assert warnings(done).count("left-as-before") == 1
        assert message_of(done, "left-as-before") == (
            "left out of the commit, as changed before the iteration and not since: "
            "mine.txt, new.txt, other.txt"
        )

    @pytest.mark.parametrize("name", [".env", ".env.local", "deep/prod.env", "id_ed25519"])
    def test_new_files_that_look_like_secrets_are_never_committed(
        self, scene: Scene, name: str
    ) -> None:
        loop(scene).agent(f"mkdir -p deep; echo A=b >{name}; git add -A; work; {SAYS}")
        done = scene.run("2")
        assert files_of(scene, "HEAD~1") == ["work.txt"]
        assert files_of(scene) == ["work.txt"]
        assert warnings(done).count("secrets-left-out") == 1
        assert message_of(done, "secrets-left-out").endswith(f"hold secrets: {name}")
        assert scene.file(name).exists()

    def test_an_example_of_such_a_file_and_one_that_is_tracked_are_committed(
        self, scene: Scene
    ) -> None:
        loop(scene, "First task", __env="A=\n")
        scene.agent(f"echo A=b >>.env; echo A= >.env.example; {SAYS}")
        scene.run("1")
        assert files_of(scene) == [".env", ".env.example"]

    def test_names_of_all_kinds_are_committed(self, scene: Scene) -> None:
        names = ["-dash", "sp ace", "ümlaut", "*star", ":(top)colon", 'quo"te']
        body = "\n".join(f"echo x >./'{name}'" for name in names)
        loop(scene).agent(f"{body}\nprintf x >\"$(printf 'not\\377utf8')\"\n{SAYS}")
        done = scene.run("1")
        assert (status(scene), len(told(done, "committed"))) == ("", 1)
        assert told(done, "committed")[0].files == 7

    def test_a_file_that_becomes_a_folder_and_back(self, scene: Scene) -> None:
        loop(scene, "First task", thing="a file\n")
        scene.agent(
            "if [ -f thing ]; then rm thing; mkdir thing; echo x >thing/x; "
            f"else rm -r thing; echo y >thing; fi; {SAYS}"
        )
        done = scene.run("2")
        assert (len(told(done, "committed")), status(scene)) == (2, "")

    def test_a_repository_inside_is_left_alone_and_told(self, scene: Scene) -> None:
        scene.agent(
            "[ -d inner ] || { git init -q inner; cd inner; echo x >x; git add x; "
            f"git commit -qm inner; cd ..; }}; work; {SAYS}"
        )
        loop_config(scene)
        done = scene.run("2")
        assert files_of(scene) == ["work.txt"]
        assert warnings(done).count("repository-left-out") == 1
        assert status(scene) == "?? inner/\n"

    def test_the_new_commit_of_a_submodule_is_committed(self, scene: Scene, tmp_path: Path) -> None:
        library = tmp_path / "library"
        library.mkdir()
        git(library, "init", "-q")
        git(library, "commit", "-q", "--allow-empty", "-m", "The library")
        loop(scene)
        allow = ("-c", "protocol.file.allow=always")
        git(scene.repository, *allow, "submodule", "--quiet", "add", str(library), "lib")
        git(scene.repository, "commit", "-qm", "Add the library")
        scene.agent(f"cd lib; echo x >x; git add x; git commit -qm 'in it'; cd ..; {SAYS}")
        done = scene.run("1")
        assert (files_of(scene), status(scene)) == (["lib"], "")
        assert told(done, "evidenceGathered")[0].evidence.progress

    def test_in_an_empty_repository_the_first_commit_is_the_loops(self, scene: Scene) -> None:
        scene.repository.mkdir()
        git(scene.repository, "init", "-q")
        scene.file("@fix_plan.md").write_text("- [ ] First task\n", encoding="utf-8")
        loop_config(scene, commit=False)
        done = scene.agent(WORKS).run("1")
        assert git(scene.repository, "log", "--format=%s") == "ralph: First task\n"
        assert files_of(scene) == ["@fix_plan.md", "work.txt"]
        assert told(done, "iterationEnded")[0].commit == told(done, "committed")[0].commit

    def test_on_a_detached_head_too(self, scene: Scene) -> None:
        loop(scene).agent(WORKS)
        git(scene.repository, "checkout", "-q", "--detach")
        assert len(told(scene.run("1"), "committed")) == 1
        assert subjects(scene) == ["ralph: First task"]

    def test_in_a_linked_work_tree(self, scene: Scene, tmp_path: Path) -> None:
        loop(scene)
        other = tmp_path / "other"
        git(scene.repository, "worktree", "add", "-q", "-b", "side", str(other))
        main = git(scene.repository, "rev-parse", "HEAD")
        scene.repository = other
        done = scene.agent(WORKS).run("1")
        assert (subjects(scene), status(scene)) == (["ralph: First task"], "")
        assert git(other, "rev-parse", "main" if "main" in git(other, "branch") else "master")
        assert git(other, "rev-parse", "HEAD~1") == main
        assert len(told(done, "committed")) == 1


class TestWhen:
    def test_an_iteration_that_asks_is_committed_first(self, scene: Scene) -> None:
        loop(scene).agent(f"work; {SAYS}; say '<promise>DECIDE:a or b?</promise>'")
        done = scene.run("5")
        assert (done.exit_code, subjects(scene)) == (3, ["ralph: First task"])
        kinds = [kind for kind in done.kinds() if kind in {"committed", "questionAsked"}]
        assert kinds == ["committed", "questionAsked"]
        assert status(scene) == ""

    def test_a_finishing_iteration_is_committed(self, scene: Scene) -> None:
        loop(scene).agent(
            "work; mark x First; say 'All tasks are complete. The work is done.'\n"
            "report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'"
        )
        done = scene.run("5")
        assert (done.exit_code, subjects(scene), status(scene)) == (0, ["ralph: First task"], "")

    def test_a_timeout_that_stops_the_run_commits_what_there_is_first(self, scene: Scene) -> None:
        config = f'{LOOP}timeout = "5s"\non_timeout = "stop"\n'
        loop(scene, config=config).agent("work; sleep 600")
        done = scene.run("5")
        assert (done.exit_code, subjects(scene)) == (5, ["ralph: First task"])
        kinds = [kind for kind in done.kinds() if kind in {"committed", "runEnded"}]
        assert kinds == ["committed", "runEnded"]

    def test_what_does_not_hold_is_not_committed_and_goes_into_the_next_commit(
        self, scene: Scene
    ) -> None:
        loop(scene)
        script = scene.file(".ralph/validate.sh")
        script.write_text("#!/bin/sh\ntest -e good.txt\n", encoding="utf-8")
        script.chmod(0o755)
        git(scene.repository, "add", "-A")
        git(scene.repository, "commit", "-qm", "Validate")
        assert scene.tell("allow", "--yes").exit_code == 0
        scene.agent(f'work; [ "$RALPH_START" = 1 ] || echo >good.txt; {SAYS}')
        done = scene.run("1")
        assert (done.exit_code, subjects(scene)) == (5, ["Validate"])
        assert told(done, "iterationEnded")[0].uncommitted
        done = scene.run("2", "--resume")
        assert subjects(scene) == ["Validate", "ralph: First task"]
        assert (files_of(scene), status(scene)) == (["good.txt", "work.txt"], "")

    def test_what_a_stop_at_once_leaves_goes_into_the_next_commit(self, scene: Scene) -> None:
        loop(scene).agent(
            f'if [ "$RALPH_START" = 1 ]; then echo half >half.txt; wait_here; fi; work; {SAYS}'
        )
        scene.make_gate()
        running = scene.start("2")
        running.wait_for("agentStarted")
        _wait_for(scene, "here")
        assert scene.tell("stop", "--now").exit_code == 0
        assert running.wait().exit_code == 130
        assert (subjects(scene), status(scene)) == ([], "?? half.txt\n")
        scene.run("--resume")
        assert files_of(scene, "HEAD~1" if len(subjects(scene)) > 1 else "HEAD")[0] == "half.txt"


class TestHooks:
    def test_a_hook_that_refuses_is_told_with_its_words_and_nothing_is_lost(
        self, scene: Scene
    ) -> None:
        loop(scene).agent(f"work; {SAYS}")
        hook(scene, "pre-commit", 'echo "line 7 is ugly"; test -e "$OK"')
        ok = scene.kept / "ok"
        done = scene.run("1", env={"OK": str(ok)})
        assert (done.exit_code, subjects(scene)) == (1, [])
        message = message_of(done, "commit-failed")
        assert message.startswith("the work of iteration 1 is not committed")
        assert "line 7 is ugly" in message
        assert scene.file("work.txt").read_text(encoding="utf-8") == "1\n"
        assert told(done, "evidenceGathered")[0].evidence.progress
        ok.touch()
        scene.run("3", "--resume", env={"OK": str(ok)})
        assert subjects(scene) == ["ralph: First task"] * 2
        assert (files_of(scene), status(scene)) == (["work.txt"], "")

    def test_a_commit_that_the_user_makes_meanwhile_only_delays_the_loops(
        self, scene: Scene
    ) -> None:
        loop(scene).agent(f"work; {SAYS}")
        users = "$(git commit-tree -p HEAD -m mine 'HEAD^{tree}')"
        hook(scene, "pre-commit", f'if mkdir "$ONCE"; then git update-ref HEAD {users}; fi')
        done = scene.run("1", env={"ONCE": str(scene.kept / "once")})
        assert "commit-failed" not in warnings(done)
        assert subjects(scene) == ["mine", "ralph: First task"]
        assert (files_of(scene), status(scene)) == (["work.txt"], "")

    def test_hooks_run_and_may_change_the_commit(self, scene: Scene) -> None:
        loop(scene).agent(f"work; {SAYS}")
        hook(scene, "pre-commit", "echo formatted >>work.txt; git add work.txt")
        hook(scene, "commit-msg", "echo 'Signed-off-by: Ada <ada@example.com>' >>\"$1\"")
        done = scene.run("2")
        assert len(told(done, "committed")) == 2
        assert git(scene.repository, "show", "HEAD:work.txt") == "1\nformatted\n2\nformatted\n"
        assert "Signed-off-by: Ada" in git(scene.repository, "log", "-1", "--format=%B")
        assert status(scene) == ""
        second = told(done, "evidenceGathered")[1].evidence
        assert second.paths == ("work.txt",)

    def test_a_hook_that_hangs_is_ended_by_the_timeout(self, scene: Scene) -> None:
        loop(scene, config=f'{LOOP}commit_timeout = "2s"\n').agent(f"work; {SAYS}")
        hook(scene, "pre-commit", "sleep 600")
        done = scene.run("1")
        assert "it took longer than 2 s and was ended" in message_of(done, "commit-failed")

    def test_a_commit_that_hangs_is_ended_by_a_stop_at_once(self, scene: Scene) -> None:
        loop(scene).agent(f"work; {SAYS}")
        hook(scene, "pre-commit", ': >"$KEPT/here"; sleep 600')
        running = scene.start("1", env={"KEPT": str(scene.kept)})
        running.wait_for("evidenceGathered")
        _wait_for(scene, "here")
        assert scene.tell("stop", "--now").exit_code == 0
        done = running.wait()
        assert (done.exit_code, subjects(scene)) == (130, [])
        assert "commit-failed" not in warnings(done)

    def test_a_merge_that_was_left_under_way_is_not_committed(self, scene: Scene) -> None:
        loop(scene)
        git(scene.repository, "checkout", "-q", "-b", "side")
        scene.file("@fix_plan.md").write_text("- [ ] First task, or so\n", encoding="utf-8")
        git(scene.repository, "commit", "-qam", "side")
        git(scene.repository, "checkout", "-q", "-")
        scene.agent(
            "echo '- [ ] First task again' >@fix_plan.md; git commit -qam mine\n"
            f"git merge -q side >/dev/null || :; work; {SAYS}"
        )
        done = scene.run("1")
        assert "a merge is under way" in message_of(done, "commit-failed")
        assert "work.txt" in status(scene)


class TestSettings:
    def test_without_a_name_to_commit_with_no_run_begins(self, scene: Scene) -> None:
        loop(scene).agent(WORKS)
        git(scene.repository, "config", "user.useConfigOnly", "true")
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        blank = dict.fromkeys([*names, "EMAIL"], "")
        done = scene.run("1", env={**blank, "GIT_CONFIG_GLOBAL": os.devnull})
        assert (done.exit_code, done.events) == (5, ())
        assert "git config user.name 'Your Name'" in done.stderr

    def test_where_the_agent_commits_its_leftovers_are_told(self, scene: Scene) -> None:
        scene.agent(f"work; commit; echo rest >rest.txt; {SAYS}")
        done = scene.run("2")
        assert message_of(done, "left-uncommitted") == (
            "the agent is to commit what it does, and left 1 file uncommitted: rest.txt; "
            'have the loop commit with: commits = "loop"'
        )
        assert warnings(done).count("left-uncommitted") == 1
        assert told(done, "committed") == []

    def test_a_rollback_takes_the_loops_commits_back(self, scene: Scene) -> None:
        loop(scene).agent(f"work; {SAYS}")
        scene.run("2")
        back = scene.tell("rollback", "1", "--yes")
        assert back.exit_code == 0, back.stderr
        assert subjects(scene) == ["ralph: First task"]


def loop_config(scene: Scene, *, commit: bool = True) -> None:
    path = scene.file(".ralph/config.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(LOOP, encoding="utf-8")
    if commit:
        git(scene.repository, "add", ".ralph")
        git(scene.repository, "commit", "-qm", "Settings")


def hook(scene: Scene, name: str, body: str) -> None:
    path = scene.file(".git/hooks") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nset -eu\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def _wait_for(scene: Scene, name: str) -> None:
    wait_until(scene.kept, (scene.kept / name).exists)
