"""The loop commits: what goes into its commits and what does not, and what their messages say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Project, told, wait_until, warnings

pytestmark = pytest.mark.slow

LOOP = 'commits = "loop"\n'
SAYS = "report 'STATUS: IN_PROGRESS' 'TESTS_STATUS: PASSING' 'RECOMMENDATION: Post it'"
WORKS = f"work; mark x First; {SAYS}"


def loop(project: Project, *tasks: str, config: str = LOOP, **files: str) -> Project:
    """A repository whose loop commits."""
    named = {name.replace("__", "."): text for name, text in files.items()}
    return project.plan(*tasks, files={".ralph/config.toml": config, **named})


def subjects(project: Project) -> list[str]:
    """Of all commits after the first one, the oldest first."""
    return git(project.repository, "log", "--reverse", "--format=%s").splitlines()[1:]


def files_of(project: Project, commit: str = "HEAD") -> list[str]:
    printed = git(project.repository, "show", "--format=", "--name-only", "-z", commit)
    return sorted(printed.strip("\0").split("\0")) if printed else []


def status(project: Project) -> str:
    return git(project.repository, "status", "--porcelain")


def message_of(done: Completed, code: str) -> str:
    return next(str(event.message) for event in told(done, "warned") if event.code == code)


class TestWhat:
    def test_work_and_plan_go_into_one_commit_of_the_iteration(self, project: Project) -> None:
        loop(project, "First task", "Second task").agent(WORKS)
        done = project.run("1")
        assert (done.exit_code, status(project)) == (1, "")
        (committed,) = told(done, "committed")
        head = git(project.repository, "rev-parse", "HEAD").strip()
        assert (committed.commit, committed.subject) == (head, "ralph: First task")
        assert files_of(project) == ["@fix_plan.md", "work.txt"]
        assert git(project.repository, "log", "-1", "--format=%B").strip() == (
            "ralph: First task\n\n"
            "- Changed 1 file: work.txt\n"
            "- Tests: reported as passing\n"
            "- Plan: 1 required task open\n"
            "- Next: Post it\n\n"
            f"Ralph-Run: {committed.run}\nRalph-Iteration: 1\nRalph-Start: 1"
        )
        (ended,) = told(done, "iterationEnded")
        assert (ended.commit, ended.uncommitted, ended.outcome.value) == (head, False, "progress")
        assert f"Committed {head[:7]}: ralph: First task" in done.stdout
        rows = project.file(".ralph/logs/summary.csv").read_text(encoding="utf-8").splitlines()
        assert rows[1].split(",")[3] == head[:7]

    def test_the_loops_commit_is_no_evidence_of_the_next_iteration(self, project: Project) -> None:
        loop(project, "First task", "Second task")
        project.agent(f'[ "$RALPH_START" != 1 ] || work; {SAYS}')
        done = project.run("2")
        first, second = (event.evidence for event in told(done, "evidenceGathered"))
        assert (first.progress, first.commits, first.paths) == (True, (), ("work.txt",))
        assert (second.progress, second.commits, second.files) == (False, (), 0)
        assert len(told(done, "committed")) == 1
        assert [event.commit is None for event in told(done, "iterationEnded")] == [False, True]
        assert "person-committed" not in warnings(done)

    def test_going_back_and_forth_is_no_progress_though_each_step_is_committed(
        self, project: Project
    ) -> None:
        loop(project, "First task", work__txt="0\n")
        project.agent(f"echo $((RALPH_START % 2)) >work.txt; {SAYS}")
        done = project.run("3")
        seen = [event.evidence.progress for event in told(done, "evidenceGathered")]
        assert seen == [True, False, False]
        assert len(told(done, "committed")) == 3

    def test_an_agent_may_commit_some_itself(self, project: Project) -> None:
        loop(project, "First task").agent(f"work; commit mine; echo rest >rest.txt; {SAYS}")
        done = project.run("1")
        assert subjects(project) == ["mine", "ralph: First task"]
        assert files_of(project) == ["rest.txt"]
        commits = told(done, "evidenceGathered")[0].evidence.commits
        assert [commit.subject for commit in commits] == ["mine"]

    def test_nothing_is_committed_where_nothing_changed(self, project: Project) -> None:
        done = loop(project).agent(SAYS).run("2")
        assert (subjects(project), told(done, "committed")) == ([], [])
        assert [event.uncommitted for event in told(done, "iterationEnded")] == [False, False]

    def test_files_that_were_dirty_at_the_start_are_left_out_until_they_are_touched(
        self, project: Project
    ) -> None:
        loop(project, "First task", mine__txt="0\n", other__txt="0\n", gone__txt="0\n")
        project.file("mine.txt").write_text("a person's\n", encoding="utf-8")
        project.file("other.txt").write_text("a person's\n", encoding="utf-8")
        project.file("new.txt").write_text("a person's\n", encoding="utf-8")
        git(project.repository, "add", "mine.txt", "new.txt")
        project.agent(
            f'work; [ "$RALPH_START" = 1 ] || echo more >>other.txt; rm -f gone.txt; {SAYS}'
        )
        done = project.run("2")
        assert files_of(project, "HEAD~1") == ["gone.txt", "work.txt"]
        assert files_of(project) == ["other.txt", "work.txt"]
        assert status(project) == "M  mine.txt\nA  new.txt\n"
        assert warnings(done).count("left-as-before") == 1
        assert message_of(done, "left-as-before") == (
            "left out of the commit (already changed before the iteration): mine.txt, new.txt, "
            "other.txt"
        )

    @pytest.mark.parametrize("name", [".env", ".env.local", "deep/prod.env", "id_ed25519"])
    def test_new_files_that_look_like_secrets_are_never_committed(
        self, project: Project, name: str
    ) -> None:
        loop(project).agent(f"mkdir -p deep; echo A=b >{name}; git add -A; work; {SAYS}")
        done = project.run("2")
        assert files_of(project, "HEAD~1") == ["work.txt"]
        assert files_of(project) == ["work.txt"]
        assert warnings(done).count("secrets-left-out") == 1
        assert message_of(done, "secrets-left-out").endswith(f"with secrets): {name}")
        assert project.file(name).exists()

    def test_an_example_of_such_a_file_and_one_that_is_tracked_are_committed(
        self, project: Project
    ) -> None:
        loop(project, "First task", __env="A=\n")
        project.agent(f"echo A=b >>.env; echo A= >.env.example; {SAYS}")
        project.run("1")
        assert files_of(project) == [".env", ".env.example"]

    def test_names_of_all_kinds_are_committed(self, project: Project) -> None:
        names = ["-dash", "sp ace", "ümlaut", "*star", ":(top)colon", 'quo"te']
        body = "\n".join(f"echo x >./'{name}'" for name in names)
        loop(project).agent(f"{body}\nprintf x >\"$(printf 'not\\377utf8')\"\n{SAYS}")
        done = project.run("1")
        assert (status(project), len(told(done, "committed"))) == ("", 1)
        assert told(done, "committed")[0].files == 7

    def test_a_file_that_becomes_a_folder_and_back(self, project: Project) -> None:
        loop(project, "First task", thing="a file\n")
        project.agent(
            "if [ -f thing ]; then rm thing; mkdir thing; echo x >thing/x; "
            f"else rm -r thing; echo y >thing; fi; {SAYS}"
        )
        done = project.run("2")
        assert (len(told(done, "committed")), status(project)) == (2, "")

    def test_a_repository_inside_is_left_alone_and_reported(self, project: Project) -> None:
        project.agent(
            "[ -d inner ] || { git init -q inner; cd inner; echo x >x; git add x; "
            f"git commit -qm inner; cd ..; }}; work; {SAYS}"
        )
        loop_config(project)
        done = project.run("2")
        assert files_of(project) == ["work.txt"]
        assert warnings(done).count("repository-left-out") == 1
        assert status(project) == "?? inner/\n"

    def test_the_new_commit_of_a_submodule_is_committed(
        self, project: Project, tmp_path: Path
    ) -> None:
        library = tmp_path / "library"
        library.mkdir()
        git(library, "init", "-q")
        git(library, "commit", "-q", "--allow-empty", "-m", "The library")
        loop(project)
        allow = ("-c", "protocol.file.allow=always")
        git(project.repository, *allow, "submodule", "--quiet", "add", str(library), "lib")
        git(project.repository, "commit", "-qm", "Add the library")
        project.agent(f"cd lib; echo x >x; git add x; git commit -qm 'in it'; cd ..; {SAYS}")
        done = project.run("1")
        assert (files_of(project), status(project)) == (["lib"], "")
        assert told(done, "evidenceGathered")[0].evidence.progress

    def test_in_an_empty_repository_the_first_commit_is_the_loops(self, project: Project) -> None:
        project.repository.mkdir()
        git(project.repository, "init", "-q")
        project.file("@fix_plan.md").write_text("- [ ] First task\n", encoding="utf-8")
        loop_config(project, commit=False)
        done = project.agent(WORKS).run("1")
        assert git(project.repository, "log", "--format=%s") == "ralph: First task\n"
        assert files_of(project) == ["@fix_plan.md", "work.txt"]
        assert told(done, "iterationEnded")[0].commit == told(done, "committed")[0].commit

    def test_on_a_detached_head_too(self, project: Project) -> None:
        loop(project).agent(WORKS)
        git(project.repository, "checkout", "-q", "--detach")
        assert len(told(project.run("1"), "committed")) == 1
        assert subjects(project) == ["ralph: First task"]

    def test_in_a_linked_work_tree(self, project: Project, tmp_path: Path) -> None:
        loop(project)
        other = tmp_path / "other"
        git(project.repository, "worktree", "add", "-q", "-b", "side", str(other))
        main = git(project.repository, "rev-parse", "HEAD")
        project.repository = other
        done = project.agent(WORKS).run("1")
        assert (subjects(project), status(project)) == (["ralph: First task"], "")
        assert git(other, "rev-parse", "main" if "main" in git(other, "branch") else "master")
        assert git(other, "rev-parse", "HEAD~1") == main
        assert len(told(done, "committed")) == 1


class TestWhen:
    def test_an_iteration_that_asks_is_committed_first(self, project: Project) -> None:
        loop(project).agent(f"work; {SAYS}; say '<promise>DECIDE:a or b?</promise>'")
        done = project.run("5")
        assert (done.exit_code, subjects(project)) == (3, ["ralph: First task"])
        kinds = [kind for kind in done.kinds() if kind in {"committed", "questionAsked"}]
        assert kinds == ["committed", "questionAsked"]
        assert status(project) == ""

    def test_a_finishing_iteration_is_committed(self, project: Project) -> None:
        loop(project).agent(
            "work; mark x First; say 'All tasks are complete. The work is done.'\n"
            "report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'"
        )
        done = project.run("5")
        assert (done.exit_code, subjects(project), status(project)) == (
            0,
            ["ralph: First task"],
            "",
        )

    def test_a_timeout_that_stops_the_run_commits_what_there_is_first(
        self, project: Project
    ) -> None:
        config = f'{LOOP}timeout = "5s"\non_timeout = "stop"\n'
        loop(project, config=config).agent("work; sleep 600")
        done = project.run("5")
        assert (done.exit_code, subjects(project)) == (5, ["ralph: First task (timed out)"])
        kinds = [kind for kind in done.kinds() if kind in {"committed", "runEnded"}]
        assert kinds == ["committed", "runEnded"]

    def test_what_does_not_hold_is_not_committed_and_goes_into_the_next_commit(
        self, project: Project
    ) -> None:
        loop(project)
        script = project.file(".ralph/validate.sh")
        script.write_text("#!/bin/sh\ntest -e good.txt\n", encoding="utf-8")
        script.chmod(0o755)
        git(project.repository, "add", "-A")
        git(project.repository, "commit", "-qm", "Validate")
        assert project.tell("allow", "--yes").exit_code == 0
        project.agent(f'work; [ "$RALPH_START" = 1 ] || echo >good.txt; {SAYS}')
        done = project.run("1")
        assert (done.exit_code, subjects(project)) == (5, ["Validate"])
        assert told(done, "iterationEnded")[0].uncommitted
        done = project.run("2", "--resume")
        assert subjects(project) == ["Validate", "ralph: First task"]
        assert (files_of(project), status(project)) == (["good.txt", "work.txt"], "")

    def test_what_a_stop_at_once_leaves_goes_into_the_next_commit(self, project: Project) -> None:
        loop(project).agent(
            f'if [ "$RALPH_START" = 1 ]; then echo half >half.txt; wait_here; fi; work; {SAYS}'
        )
        project.make_gate()
        running = project.start("2")
        running.wait_for("agentStarted")
        _wait_for(project, "here")
        assert project.tell("stop", "--now").exit_code == 0
        assert running.wait().exit_code == 130
        assert (subjects(project), status(project)) == ([], "?? half.txt\n")
        project.run("--resume")
        assert (
            files_of(project, "HEAD~1" if len(subjects(project)) > 1 else "HEAD")[0] == "half.txt"
        )


class TestHooks:
    def test_a_hook_that_refuses_is_reported_with_its_words_and_nothing_is_lost(
        self, project: Project
    ) -> None:
        loop(project).agent(f"work; {SAYS}")
        hook(project, "pre-commit", 'echo "line 7 is ugly"; test -e "$OK"')
        ok = project.kept / "ok"
        done = project.run("1", env={"OK": str(ok)})
        assert (done.exit_code, subjects(project)) == (1, [])
        message = message_of(done, "commit-failed")
        assert message.startswith("the work of iteration 1 is not committed")
        assert "line 7 is ugly" in message
        assert project.file("work.txt").read_text(encoding="utf-8") == "1\n"
        assert told(done, "evidenceGathered")[0].evidence.progress
        ok.touch()
        project.run("3", "--resume", env={"OK": str(ok)})
        assert subjects(project) == ["ralph: First task"] * 2
        assert (files_of(project), status(project)) == (["work.txt"], "")

    def test_a_commit_that_the_user_makes_meanwhile_only_delays_the_loops(
        self, project: Project
    ) -> None:
        loop(project).agent(f"work; {SAYS}")
        users = "$(git commit-tree -p HEAD -m mine 'HEAD^{tree}')"
        hook(project, "pre-commit", f'if mkdir "$ONCE"; then git update-ref HEAD {users}; fi')
        done = project.run("1", env={"ONCE": str(project.kept / "once")})
        assert "commit-failed" not in warnings(done)
        assert subjects(project) == ["mine", "ralph: First task"]
        assert (files_of(project), status(project)) == (["work.txt"], "")

    def test_hooks_run_and_may_change_the_commit(self, project: Project) -> None:
        loop(project).agent(f"work; {SAYS}")
        hook(project, "pre-commit", "echo formatted >>work.txt; git add work.txt")
        hook(project, "commit-msg", "echo 'Signed-off-by: Ada <ada@example.com>' >>\"$1\"")
        done = project.run("2")
        assert len(told(done, "committed")) == 2
        assert git(project.repository, "show", "HEAD:work.txt") == "1\nformatted\n2\nformatted\n"
        assert "Signed-off-by: Ada" in git(project.repository, "log", "-1", "--format=%B")
        assert status(project) == ""
        second = told(done, "evidenceGathered")[1].evidence
        assert second.paths == ("work.txt",)

    def test_a_hook_that_hangs_is_ended_by_the_timeout(self, project: Project) -> None:
        loop(project, config=f'{LOOP}commit_timeout = "2s"\n').agent(f"work; {SAYS}")
        hook(project, "pre-commit", "sleep 600")
        done = project.run("1")
        assert "it took longer than 2 s and was ended" in message_of(done, "commit-failed")

    def test_a_commit_that_hangs_is_ended_by_a_stop_at_once(self, project: Project) -> None:
        loop(project).agent(f"work; {SAYS}")
        hook(project, "pre-commit", ': >"$KEPT/here"; sleep 600')
        running = project.start("1", env={"KEPT": str(project.kept)})
        running.wait_for("evidenceGathered")
        _wait_for(project, "here")
        assert project.tell("stop", "--now").exit_code == 0
        done = running.wait()
        assert (done.exit_code, subjects(project)) == (130, [])
        assert "commit-failed" not in warnings(done)

    def test_a_merge_that_was_left_under_way_is_not_committed(self, project: Project) -> None:
        loop(project)
        git(project.repository, "checkout", "-q", "-b", "side")
        project.file("@fix_plan.md").write_text("- [ ] First task, or so\n", encoding="utf-8")
        git(project.repository, "commit", "-qam", "side")
        git(project.repository, "checkout", "-q", "-")
        project.agent(
            "echo '- [ ] First task again' >@fix_plan.md; git commit -qam mine\n"
            f"git merge -q side >/dev/null || :; work; {SAYS}"
        )
        done = project.run("1")
        assert "a merge is in progress" in message_of(done, "commit-failed")
        assert "work.txt" in status(project)


class TestSettings:
    def test_without_a_name_to_commit_with_no_run_begins(self, project: Project) -> None:
        loop(project).agent(WORKS)
        git(project.repository, "config", "user.useConfigOnly", "true")
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        blank = dict.fromkeys([*names, "EMAIL"], "")
        done = project.run("1", env={**blank, "GIT_CONFIG_GLOBAL": os.devnull})
        assert (done.exit_code, done.events) == (5, ())
        assert "git config user.name 'Your Name'" in done.stderr

    def test_where_the_agent_commits_its_leftovers_are_reported(self, project: Project) -> None:
        project.agent(f"work; commit; echo rest >rest.txt; {SAYS}")
        done = project.run("2")
        assert message_of(done, "left-uncommitted") == (
            "the agent should commit its work, but left 1 file uncommitted: rest.txt; to let the "
            'loop commit, set commits = "loop"'
        )
        assert warnings(done).count("left-uncommitted") == 1
        assert told(done, "committed") == []

    def test_a_rollback_takes_the_loops_commits_back(self, project: Project) -> None:
        loop(project).agent(f"work; {SAYS}")
        project.run("2")
        back = project.tell("rollback", "1", "--yes")
        assert back.exit_code == 0, back.stderr
        assert subjects(project) == ["ralph: First task"]


def loop_config(project: Project, *, commit: bool = True) -> None:
    path = project.file(".ralph/config.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(LOOP, encoding="utf-8")
    if commit:
        git(project.repository, "add", ".ralph")
        git(project.repository, "commit", "-qm", "Settings")


def hook(project: Project, name: str, body: str) -> None:
    path = project.file(".git/hooks") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nset -eu\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def _wait_for(project: Project, name: str) -> None:
    wait_until(project.kept, (project.kept / name).exists)


LOG = """\
log() {
  printf '# Progress Log\\n\\n## 2026-02-04\\n- [x] %s\\n' "$1" >"$kept/log"
  tail -n +4 PROGRESS.md >>"$kept/log"
  cat "$kept/log" >PROGRESS.md
}
"""


class TestHashes:
    """The log of finished tasks names the commit of each."""

    def test_each_entry_names_its_commit_and_the_tree_is_clean_in_between(
        self, project: Project
    ) -> None:
        loop(
            project, "First task", "Second task", PROGRESS__md="# Progress Log\n\n## old\n- [x] z\n"
        )
        project.agent(
            f'{LOG}git status --porcelain >>"$kept/dirty"; work; '
            f'if [ "$RALPH_START" = 1 ]; then log First; else log Second; fi; {SAYS}'
        )
        done = project.run("2")
        assert (status(project), (project.kept / "dirty").read_text()) == ("", "")
        commits = [one.commit[:7] for one in told(done, "committed")]
        log = project.file("PROGRESS.md").read_text(encoding="utf-8")
        assert log == (
            "# Progress Log\n\n## 2026-02-04\n"
            f"- [x] Second\n  - Commit: {commits[1]}\n"
            f"- [x] First\n  - Commit: {commits[0]}\n"
            "- [x] z\n"
        )
        assert subjects(project)[-1] == "ralph: record the commits in PROGRESS.md"
        assert files_of(project) == ["PROGRESS.md"]
        assert len(subjects(project)) == 3

    def test_a_run_that_is_stopped_while_it_waits_names_its_last_commit(
        self, project: Project
    ) -> None:
        loop(project, "First task", "Second task", PROGRESS__md="# Progress Log\n\n## old\n")
        settings = project.file(".ralph/config.toml")
        settings.write_text(f'{LOOP}cooldown = "1h"\n', encoding="utf-8")
        git(project.repository, "commit", "-qam", "Settings")
        project.agent(f"{LOG}work; log First; {SAYS}")
        running = project.start("2")
        running.wait_for("phaseChanged", phase="waiting", reason="cooldown")
        assert project.tell("stop").exit_code == 0
        (made,) = told(running.wait(), "committed")
        log = project.file("PROGRESS.md").read_text(encoding="utf-8")
        assert f"- [x] First\n  - Commit: {made.commit[:7]}\n" in log
        assert status(project) == ""

    def test_a_log_that_a_user_has_changed_is_left_to_the_next_commit(
        self, project: Project
    ) -> None:
        loop(project, "First task", PROGRESS__md="# Progress Log\n\n## old\n- [x] z\n")
        project.file("PROGRESS.md").write_text("a user's\n- [x] y\n", encoding="utf-8")
        project.agent(WORKS)
        project.run("1")
        assert project.file("PROGRESS.md").read_text(encoding="utf-8") == "a user's\n- [x] y\n"
        assert subjects(project) == ["ralph: First task"]
