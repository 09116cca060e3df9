"""The loop pushes: what, where to, how often, and that nothing is ever forced or asked."""

from __future__ import annotations

import os
import shlex
from datetime import timedelta
from pathlib import Path

import pytest

from ralph_ls.engine.run.preparation import RunRequest
from ralph_ls.engine.run.runner import run_engine
from tests.contracts.fake_clock import FakeClock
from tests.engine.project_builder import Completed, events_of, git
from tests.engine.ralph_runner import Project, told, wait_until, warnings

pytestmark = pytest.mark.slow

BOTH = 'commits = "loop"\npush = true\n'
WORKS = "work; report 'STATUS: IN_PROGRESS'"


def pushing(project: Project, tmp_path: Path, *, config: str = BOTH, agent: str = WORKS) -> Path:
    """A repository whose loop pushes to a bare one, which is given back."""
    project.plan("First task", "Second task", files={".ralph/config.toml": config}).agent(agent)
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(project.repository, "remote", "add", "origin", str(remote))
    return remote


def heads(repository: Path) -> dict[str, str]:
    printed = git(repository, "for-each-ref", "--format=%(refname:short) %(objectname)")
    return dict(line.split() for line in printed.splitlines())


def head(project: Project) -> str:
    return git(project.repository, "rev-parse", "HEAD").strip()


def branch(project: Project) -> str:
    return git(project.repository, "symbolic-ref", "--short", "HEAD").strip()


def remote_hook(remote: Path, body: str) -> None:
    path = remote / "hooks" / "pre-receive"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def run_here(project: Project) -> Completed:
    """The engine in this process, with a clock on which nobody waits."""
    overrides = {
        "agent": "command",
        "agents.command": {"argv": shlex.split(project.command)},
        "max_iterations": 3,
    }
    request = RunRequest(
        folder=Path(project.repository), environment=dict(os.environ), overrides=overrides
    )
    code = run_engine(request, clock=FakeClock(step=timedelta(minutes=1)))
    return Completed(exit_code=code, stdout="", stderr="", events=events_of(project.repository))


class TestWhat:
    def test_each_iteration_is_pushed_and_the_branch_is_made_and_followed(
        self, project: Project, tmp_path: Path
    ) -> None:
        remote = pushing(project, tmp_path)
        done = project.run("2")
        assert heads(remote) == {branch(project): head(project)}
        pushed = told(done, "pushed")
        assert [(one.ok, one.remote, one.branch, one.tries) for one in pushed] == [
            (True, "origin", branch(project), 1)
        ] * 2
        assert [one.created for one in pushed] == [True, False]
        assert [one.commit for one in pushed] == [one.commit for one in told(done, "committed")]
        kinds = [kind for kind in done.kinds() if kind in {"committed", "pushed", "iterationEnded"}]
        assert kinds == ["committed", "pushed", "iterationEnded"] * 2
        upstream = git(project.repository, "rev-parse", "--abbrev-ref", "@{upstream}").strip()
        assert upstream == f"origin/{branch(project)}"
        assert f"Pushed {branch(project)} to origin, which had no such branch" in done.stdout

    def test_what_the_agent_commits_is_pushed_too(self, project: Project, tmp_path: Path) -> None:
        remote = pushing(
            project,
            tmp_path,
            config="push = true\n",
            agent="work; commit; report 'STATUS: IN_PROGRESS'",
        )
        done = project.run("1")
        assert (heads(remote), told(done, "committed")) == ({branch(project): head(project)}, [])

    def test_the_finishing_iteration_is_pushed(self, project: Project, tmp_path: Path) -> None:
        finishes = (
            "work; mark x First; mark x Second; say 'All tasks are complete. The work is done.'\n"
            "report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'"
        )
        remote = pushing(project, tmp_path, agent=finishes)
        done = project.run("5")
        assert (done.exit_code, heads(remote)) == (0, {branch(project): head(project)})

    def test_what_the_remote_has_is_not_pushed_again(
        self, project: Project, tmp_path: Path
    ) -> None:
        pushing(project, tmp_path, agent="report 'STATUS: IN_PROGRESS'")
        git(project.repository, "push", "-q", "-u", "origin", "HEAD")
        assert told(project.run("2"), "pushed") == []

    def test_the_branch_of_the_same_name_is_pushed_whatever_it_follows(
        self, project: Project, tmp_path: Path
    ) -> None:
        remote = pushing(project, tmp_path)
        git(project.repository, "push", "-q", "-u", "origin", "HEAD")
        main, before = branch(project), head(project)
        git(project.repository, "checkout", "-q", "-b", "feature", f"origin/{main}")
        project.run("1")
        assert heads(remote) == {main: before, "feature": head(project)}
        upstream = git(project.repository, "rev-parse", "--abbrev-ref", "@{upstream}").strip()
        assert upstream == f"origin/{main}"

    def test_it_goes_where_git_would_push(self, project: Project, tmp_path: Path) -> None:
        pushing(project, tmp_path)
        fork = tmp_path / "fork.git"
        git(tmp_path, "init", "-q", "--bare", str(fork))
        git(project.repository, "remote", "add", "fork", str(fork))
        git(project.repository, "config", "remote.pushDefault", "fork")
        done = project.run("1")
        assert (told(done, "pushed")[0].remote, heads(fork)) == (
            "fork",
            {branch(project): head(project)},
        )

    def test_without_a_remote_it_is_skipped_and_reported_once(self, project: Project) -> None:
        project.plan(files={".ralph/config.toml": BOTH}).agent(WORKS)
        done = project.run("3")
        assert (done.exit_code, warnings(done).count("push-skipped")) == (1, 1)
        assert told(done, "pushed") == []

    def test_no_push_is_a_flag(self, project: Project, tmp_path: Path) -> None:
        remote = pushing(project, tmp_path)
        project.run("1", "--no-push")
        assert heads(remote) == {}
        project.run("1", "--push")
        assert heads(remote) == {branch(project): head(project)}

    def test_on_a_detached_head_no_run_begins(self, project: Project, tmp_path: Path) -> None:
        pushing(project, tmp_path)
        git(project.repository, "checkout", "-q", "--detach")
        done = project.run("1")
        assert (done.exit_code, done.events) == (5, ())
        assert "is detached, so there is no branch to push" in done.stderr
        assert project.run("1", "--no-push").exit_code == 1

    def test_a_head_that_the_agent_detached_ends_the_run(
        self, project: Project, tmp_path: Path
    ) -> None:
        pushing(project, tmp_path, agent=f"git checkout -q --detach; {WORKS}")
        done = project.run("3")
        assert done.exit_code == 5
        assert "HEAD is detached" in told(done, "runEnded")[0].message


class TestFailures:
    def test_after_three_tries_the_run_ends_with_what_to_look_at(
        self, project: Project, tmp_path: Path
    ) -> None:
        remote = pushing(project, tmp_path)
        remote_hook(remote, "echo x >>tries; echo 'not on a Sunday' >&2; exit 1")
        done = run_here(project)
        (pushed,) = told(done, "pushed")
        assert (pushed.ok, pushed.tries, pushed.rejected) == (False, 3, False)
        assert (remote / "tries").read_text(encoding="utf-8") == "x\n" * 3
        message = told(done, "runEnded")[0].message
        assert done.exit_code == 5
        assert message.startswith(f"pushing {branch(project)} to origin failed 3 times: ")
        for hint in (
            "not on a Sunday",
            "network",
            "permission to push",
            "conflicting",
            "git remote -v",
        ):
            assert hint in message
        assert len(told(done, "committed")) == 1
        remote_hook(remote, "exit 0")
        assert project.run("2", "--resume").exit_code == 1
        assert heads(remote) == {branch(project): head(project)}

    def test_a_try_that_comes_off_late_is_no_failure(
        self, project: Project, tmp_path: Path
    ) -> None:
        remote = pushing(project, tmp_path)
        remote_hook(remote, "echo x >>tries; test $(wc -l <tries) -ge 3")
        done = run_here(project)
        assert [(one.ok, one.tries) for one in told(done, "pushed")] == [
            (True, 3),
            (True, 1),
            (True, 1),
        ]

    def test_a_remote_that_has_more_ends_the_run_at_once_and_nothing_is_forced(
        self, project: Project, tmp_path: Path
    ) -> None:
        remote = pushing(project, tmp_path)
        git(project.repository, "push", "-q", "-u", "origin", "HEAD")
        other = tmp_path / "other"
        git(tmp_path, "clone", "-q", str(remote), str(other))
        git(other, "commit", "-q", "--allow-empty", "-m", "Somebody else's")
        git(other, "push", "-q")
        git(project.repository, "config", "remote.origin.push", "+refs/heads/*:refs/heads/*")
        theirs = heads(remote)
        done = project.run("3")
        assert (done.exit_code, heads(remote)) == (5, theirs)
        (pushed,) = told(done, "pushed")
        assert (pushed.ok, pushed.rejected, pushed.tries) == (False, True, 1)
        message = told(done, "runEnded")[0].message
        assert "has newer commits" in message
        assert f"git pull --rebase origin {branch(project)}" in message

    def test_credentials_are_never_shown(self, project: Project, tmp_path: Path) -> None:
        pushing(project, tmp_path)
        url = "http://ada:s3cr3t-passw0rd@127.0.0.1:9/repository.git"
        git(project.repository, "remote", "set-url", "origin", url)
        done = run_here(project)
        assert done.exit_code == 5
        assert "127.0.0.1" in told(done, "runEnded")[0].message
        folder = project.run_folder()
        written = [path for path in folder.rglob("*") if path.is_file()]
        written += list(project.file(".ralph/logs").iterdir())
        assert not [path for path in written if b"s3cr3t-passw0rd" in path.read_bytes()]

    def test_a_remote_that_hangs_is_ended_by_the_timeout(
        self, project: Project, tmp_path: Path
    ) -> None:
        remote = pushing(project, tmp_path, config=f'{BOTH}push_timeout = "1s"\n')
        remote_hook(remote, "sleep 600")
        done = run_here(project)
        assert done.exit_code == 5
        assert "it took longer than 1 s and was ended" in told(done, "runEnded")[0].message

    def test_a_remote_that_hangs_is_ended_by_a_stop_at_once(
        self, project: Project, tmp_path: Path
    ) -> None:
        remote = pushing(project, tmp_path)
        remote_hook(remote, f': >"{project.kept}/here"; sleep 600')
        running = project.start("1")
        running.wait_for("committed")
        wait_until(project.kept, (project.kept / "here").exists)
        assert project.tell("stop", "--now").exit_code == 0
        done = running.wait()
        assert (done.exit_code, told(done, "pushed")) == (130, [])
        assert told(done, "iterationEnded")[0].uncommitted is False

    def test_a_stop_at_once_waits_for_no_further_try(
        self, project: Project, tmp_path: Path
    ) -> None:
        remote = pushing(project, tmp_path)
        remote_hook(remote, f': >"{project.kept}/here"; exit 1')
        running = project.start("1")
        running.wait_for("committed")
        wait_until(project.kept, (project.kept / "here").exists)
        assert project.tell("stop", "--now").exit_code == 0
        assert running.wait().exit_code == 130

    def test_nobody_is_asked_for_anything(self, project: Project, tmp_path: Path) -> None:
        pushing(project, tmp_path)
        git(project.repository, "remote", "set-url", "origin", "ssh://nowhere.invalid/repository")
        fake = project.kept / "ssh"
        fake.write_text('#!/bin/sh\necho "$* $GIT_TERMINAL_PROMPT" >>"$KEPT/asked"\nexit 255\n')
        fake.chmod(0o755)
        git(project.repository, "config", "core.sshCommand", shlex.quote(str(fake)))
        os.environ["KEPT"] = str(project.kept)
        try:
            done = run_here(project)
        finally:
            del os.environ["KEPT"]
        assert done.exit_code == 5
        asked = (project.kept / "asked").read_text(encoding="utf-8").splitlines()
        assert len(asked) >= 3
        assert all("BatchMode=yes" in line and line.endswith(" 0") for line in asked)
