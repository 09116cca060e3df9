"""Whose a commit is: the agent's own git says when it ran (docs/rules.md#evidence)."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_ls.engine.git.history import (
    LARGEST_TRACE,
    CommitAncestry,
    forget_trace,
    read_ancestry,
    with_git_trace,
)
from ralph_ls.protocol.run.events import Warned
from ralph_ls.protocol.run.values import Evidence
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told, wait_until, warnings

STAGES = "echo x >x; git add x; git rm -qf x"
"""Work of an agent that makes no commit and leaves nothing."""

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class TestReading:
    def in_git(self, folder: Path, environment: Mapping[str, str], *commands: str) -> None:
        for command in commands:
            subprocess.run(
                ["/bin/sh", "-c", command], cwd=folder, env=environment, check=True, timeout=60
            )

    def read(
        self, folder: Path, *commands: str, began: datetime | None = None
    ) -> CommitAncestry | None:
        """What is known after these commands ran, traced, in a new repository."""
        tree = folder / "tree"
        tree.mkdir()
        self.in_git(tree, os.environ, "git init -q; echo a >a; git add a; git commit -qm a")
        environment = with_git_trace(os.environ, folder / "trace")
        self.in_git(tree, environment, *commands)
        now = datetime.now(UTC)
        return read_ancestry(folder / "trace", began=began or now, read_at=now)

    def test_a_commit_made_in_a_traced_process_is_the_agents(self, tmp_path: Path) -> None:
        began = datetime.now(UTC)
        found = self.read(tmp_path, "git commit -q --allow-empty -m b", began=began)
        made_at = int(git(tmp_path / "tree", "log", "-1", "--format=%ct"))
        assert found is not None
        assert found.writes
        assert not found.is_persons(made_at)
        assert found.began == int(began.timestamp())
        windows = found.windows
        assert all(start <= made_at <= (end or 0) for start, end in windows)
        assert len(windows) == 1

    def test_a_look_at_the_tree_proves_nothing_and_makes_no_commit(self, tmp_path: Path) -> None:
        found = self.read(
            tmp_path, "git status -s; git log --oneline; git diff; git rev-parse HEAD"
        )
        assert found is not None
        assert (found.writes, found.windows) == (False, ())

    def test_work_on_the_index_proves_and_makes_no_commit(self, tmp_path: Path) -> None:
        found = self.read(tmp_path, "echo b >b; git add b")
        assert found is not None
        assert (found.writes, found.windows) == (True, ())

    def test_what_is_behind_an_alias_is_seen(self, tmp_path: Path) -> None:
        found = self.read(tmp_path, "git -c alias.x='!git commit -q --allow-empty -m x' x")
        assert found is not None
        assert found.writes
        made_at = int(git(tmp_path / "tree", "log", "-1", "--format=%ct"))
        assert not found.is_persons(made_at)

    def test_without_git_nothing_can_be_known(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, "true") is None

    def test_a_trace_of_the_callers_own_is_left_alone(self, tmp_path: Path) -> None:
        environment = {"GIT_TRACE2_EVENT": "2", "HOME": "h"}
        assert with_git_trace(environment, tmp_path / "trace") == environment
        assert not (tmp_path / "trace").exists()

    def test_a_trace_is_private_and_is_removed(self, tmp_path: Path) -> None:
        self.read(tmp_path, "git status -s")
        folder = tmp_path / "trace"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]
        forget_trace(folder)
        forget_trace(folder)
        assert not folder.exists()

    def test_too_much_of_it_is_not_read(self, tmp_path: Path) -> None:
        self.read(tmp_path, "git commit -q --allow-empty -m b")
        with (tmp_path / "trace" / "events.jsonl").open("ab") as file:
            file.truncate(LARGEST_TRACE + 1)
        assert read_ancestry(tmp_path / "trace", began=LONG_AGO, read_at=LONG_AGO) is None

    @pytest.mark.parametrize(
        "lines",
        [
            b"",
            b"\xff\0\n{}",
            b'{"event":"version","sid":"a"',
            b'{"event":"version","sid":1,"time":2}',
            b'{"event":"cmd_name","sid":"a","name":"commit"}',
            b'{"event":"atexit","sid":"a","time":"2026-11-22T04:02:43.357074Z"}\n{"event":"version',
        ],
    )
    def test_what_cannot_be_read_is_nothing(self, tmp_path: Path, lines: bytes) -> None:
        (tmp_path / "events.jsonl").write_bytes(lines)
        assert read_ancestry(tmp_path, began=LONG_AGO, read_at=LONG_AGO) is None

    def test_a_process_that_reports_no_end_or_time_may_have_run_all_the_time(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "events.jsonl").write_text(
            '{"event":"version","sid":"a","time":"yesterday"}\n', encoding="utf-8"
        )
        found = read_ancestry(tmp_path, began=LONG_AGO, read_at=LONG_AGO + timedelta(days=1))
        assert found is not None
        assert found.windows == ((0, None),)
        assert not found.is_persons(int(LONG_AGO.timestamp()) + 5)


@pytest.mark.parametrize(
    ("made_at", "windows", "is_persons"),
    [
        pytest.param(15, [(14, 15)], False, id="last-second-of-a-window"),
        pytest.param(14, [(14, 15)], False, id="first-second-of-a-window"),
        pytest.param(16, [(14, 15)], True, id="after"),
        pytest.param(13, [(14, 15)], True, id="before"),
        pytest.param(16, [(14, 15), (16, 16)], False, id="another-window"),
        pytest.param(19, [(14, None)], False, id="a-window-without-an-end"),
        pytest.param(13, [(14, None)], True, id="before-it"),
        pytest.param(15, [], True, id="nothing-that-makes-commits"),
        pytest.param(9, [], True, id="an-old-one-that-a-person-brought"),
        pytest.param(9, [(14, 15)], False, id="an-old-one-that-the-agent-may-have-brought"),
        pytest.param(99, [], True, id="of-the-future-by-a-person"),
        pytest.param(99, [(14, 15)], False, id="of-the-future-perhaps-by-the-agent"),
    ],
)
def test_a_commit_is_the_users_where_no_git_of_the_agent_ran(
    made_at: int, windows: list[tuple[int, int | None]], is_persons: bool
) -> None:
    descent = CommitAncestry(began=10, read_at=20, windows=tuple(windows), writes=True)
    assert descent.is_persons(made_at) is is_persons


def clean_git(repository: Path, *arguments: str) -> None:
    """Git in the hands of the user, whose environment is not the agent's."""
    environment = {name: value for name, value in os.environ.items() if "RALPH" not in name}
    subprocess.run(["git", *arguments], cwd=repository, env=environment, check=True, timeout=60)


def person_commits(project: Project, name: str) -> None:
    project.file(name).write_text("mine\n", encoding="utf-8")
    clean_git(project.repository, "add", name)
    clean_git(project.repository, "commit", "-q", "-m", f"Mine: {name}")


def is_of_person(event: object) -> bool:
    return isinstance(event, Warned) and event.code == "person-committed"


def next_second() -> None:
    """Let the clock advance well into another second: git dates commits by whole ones.

    A clock may lag behind another by a tick, so the turn of a second belongs to both.
    """
    wanted = int(time.time()) + 1.1
    while (left := wanted - time.time()) > 0:
        time.sleep(left)


@pytest.mark.slow
class TestRun:
    def evidence(
        self, project: Project, body: str, *, persons: str = "", apart: bool = False
    ) -> tuple[Evidence, list[str]]:
        """One iteration of an agent that is held while the user commits; its evidence.

        ``apart``: in a separate second.
        """
        project.agent(body)
        if not persons:
            done = project.run("1")
        else:
            project.make_gate()
            running = project.start("1")
            wait_until(project.kept, (project.kept / "here").exists)
            if apart:
                next_second()
            person_commits(project, persons)
            if apart:
                next_second()
            project.open_gate()
            done = running.wait()
        assert not [path for path in project.run_folder().iterdir() if "trace" in path.name]
        (gathered,) = told(done, "evidenceGathered")
        notices = [event.message for event in told(done, "warned") if is_of_person(event)]
        found = gathered.evidence
        owners = ["person" if commit.by_person else "agent" for commit in found.commits]
        assert len(notices) == min(1, owners.count("person"))
        assert all(
            f" progress: {found.commits[owners.index('person')].hash[:7]} Mine: {persons}" in notice
            for notice in notices
        )
        return found, owners

    def test_the_agents_commit_is_the_agents(self, project: Project) -> None:
        found, owners = self.evidence(project, "work; commit")
        assert owners == ["agent"]
        assert (found.files, found.progress) == (1, True)

    def test_a_users_commit_is_reported_and_is_no_progress(self, project: Project) -> None:
        found, owners = self.evidence(
            project, f"{STAGES}; wait_here; report 'STATUS: IN_PROGRESS'", persons="mine.txt"
        )
        assert owners == ["person"]
        assert (found.files, found.progress) == (0, False)

    def test_of_both_the_agents_alone_is_progress(self, project: Project) -> None:
        found, owners = self.evidence(
            project, "work; commit; wait_here; work; commit", persons="mine.txt", apart=True
        )
        assert owners == ["agent", "person", "agent"]
        assert (found.paths, found.progress) == (("work.txt",), True)

    def test_of_neither_there_is_none(self, project: Project) -> None:
        found, owners = self.evidence(project, "git status -s >&2; report 'STATUS: IN_PROGRESS'")
        assert (owners, found.files, found.progress) == ([], 0, False)

    def test_where_it_cannot_be_known_a_commit_is_the_agents(self, project: Project) -> None:
        # An agent that only looks may have its tools in a sandbox that nothing is traced from.
        found, owners = self.evidence(project, "git status -s >&2; wait_here", persons="mine.txt")
        assert (owners, found.files, found.progress) == (["agent"], 1, True)

    def test_an_agent_that_drops_its_environment_keeps_its_commits(self, project: Project) -> None:
        found, owners = self.evidence(
            project, 'work; env -u GIT_TRACE2_EVENT sh -c "git add -A; git commit -qm x"'
        )
        assert (owners, found.progress) == (["agent"], True)

    def test_what_the_agent_left_and_the_user_committed_counts_where_the_agent_continues(
        self, project: Project
    ) -> None:
        found, owners = self.evidence(
            project,
            f"{STAGES}; wait_here; echo more >>mine.txt",
            persons="mine.txt",
        )
        assert (owners, found.paths) == (["person"], ("mine.txt",))

    def test_a_trace_of_the_caller_is_kept_and_nothing_can_be_known(
        self, project: Project, tmp_path: Path
    ) -> None:
        own = tmp_path / "own"
        project.agent("work; commit")
        done = project.run("1", env={"GIT_TRACE2_EVENT": str(own)})
        assert "person-committed" not in warnings(done)
        assert b'"name":"commit"' in own.read_bytes()

    def test_a_trace_by_the_machines_settings_is_kept_too(
        self, project: Project, tmp_path: Path
    ) -> None:
        own, settings = tmp_path / "own", tmp_path / "gitconfig"
        settings.write_text(
            f"[trace2]\n  eventTarget = {own}\n[user]\n  name = A\n  email = a@example.org\n",
            encoding="utf-8",
        )
        project.agent('work; commit; echo "${GIT_TRACE2_EVENT-unset}" >"$kept/target"')
        project.run("1", env={"GIT_CONFIG_GLOBAL": str(settings)})
        assert (project.kept / "target").read_text(encoding="utf-8") == "unset\n"
        assert b'"name":"commit"' in own.read_bytes()
