"""The invariants of the sweep notice what they are there for: each is broken once, by hand."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import pytest

from ralph_ls.protocol.config.config import ProfileName
from tests.conftest import GIT_CONFIG
from tests.engine.project_builder import git
from tests.sweep import invariants
from tests.sweep.engines import ralph
from tests.sweep.processes import Watcher
from tests.sweep.projects import Project, make_project
from tests.sweep.runner import Case, environment_of
from tests.sweep.users import User
from tests.sweep.violations import Kind, Violation

pytestmark = pytest.mark.slow

Break = Callable[[Project, User], object]


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    made = Watcher()
    yield made
    made.close()


@dataclass
class Played:
    """A run that was played once, and a copy of all that it left."""

    project: Project
    user: User
    folder: Path


@pytest.fixture(scope="module")
def plays() -> dict[Path, Played]:
    """By its folder, once it was made."""
    return {}


@pytest.fixture
def played(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    isolated_home: Path,
    watcher: Watcher,
    plays: dict[Path, Played],
) -> tuple[Project, User]:
    """A run that is complete, beside a user who has done something of each kind."""
    folder = next(iter(plays), None) or tmp_path_factory.mktemp("played")
    for name, value in environment_of(folder).items():
        monkeypatch.setenv(name, value)
    if folder in plays:
        shutil.rmtree(folder)
    else:
        plays[folder] = _play(folder, watcher)
    shutil.copytree(plays[folder].folder, folder, symlinks=True)
    user = copy(plays[folder].user)
    user.commits, user.apart = [*user.commits], [*user.apart]
    return plays[folder].project, user


def _play(folder: Path, watcher: Watcher) -> Played:
    """Play it; the folder is moved away."""
    (folder / "home").mkdir()
    (folder / "home" / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
    case = Case(scenario="test", number=1, seed=1, folder=folder, watcher=watcher)
    project = make_project(case, ProfileName.FIXPLAN, commits="loop", n_tasks=2)
    user = User(case, project)
    for _ in range(12):
        user.act()
    assert all((user.files, user.staged, user.commits))
    env = project.environment
    ralph(case, project.repository, "allow", "--yes", env=env)
    ended = ralph(case, project.repository, *project.start_words, env=env)
    assert ended.code == 0, ended.text
    return Played(project, user, folder.rename(folder.with_name("played-once")))


def journal_of(project: Project) -> Path:
    return invariants.journals()[-1]


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def drop_a_line(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:5], *lines[6:]])


def commit_again(project: Project, user: User) -> None:
    git(project.repository, "commit", "-q", "--allow-empty", "-C", "HEAD")
    git(project.repository, "log", "-1")


def end_otherwise(data: bytes) -> bytes:
    return data.replace(b'"exitCode":0', b'"exitCode":1')


def leave_out_of_head(project: Project, user: User) -> None:
    git(project.repository, "rm", "-q", "--cached", "work/task-a.txt")
    git(project.repository, "commit", "-q", "-m", "gone")


def rewrite_plan(before: str, after: str) -> Break:
    def change(project: Project, user: User) -> None:
        assert project.plan is not None
        text = project.plan.read_text(encoding="utf-8")
        assert before in text
        project.plan.write_text(text.replace(before, after), encoding="utf-8")

    return change


BREAKS: dict[str, tuple[Break, Kind]] = {
    "an event is lost": (
        lambda project, user: rewrite(journal_of(project), drop_a_line),
        Kind.LOSS,
    ),
    "the journal is torn": (
        lambda project, user: rewrite(journal_of(project), lambda data: data + b'{"v":1'),
        Kind.LOSS,
    ),
    "an end that is none": (
        lambda project, user: rewrite(journal_of(project), end_otherwise),
        Kind.WRONG,
    ),
    "an agent was started twice": (
        lambda project, user: rewrite(project.kept / "ran", lambda data: data * 2),
        Kind.WRONG,
    ),
    "an object is gone": (
        lambda project, user: next(
            (project.repository / ".git" / "objects").glob("[0-9a-f][0-9a-f]/*")
        ).unlink(),
        Kind.LOSS,
    ),
    "a lock is left": (
        lambda project, user: (project.repository / ".git" / "index.lock").touch(),
        Kind.LEFT_OVER,
    ),
    "a commit is there twice": (commit_again, Kind.WRONG),
    "work is in no commit": (leave_out_of_head, Kind.LOSS),
    "a task is gone": (rewrite_plan("- [x] Task A\n", ""), Kind.LOSS),
    "a task is open": (rewrite_plan("- [x] Task A", "- [ ] Task A"), Kind.WRONG),
    "a file of the user is changed": (
        lambda project, user: (project.repository / next(iter(user.files))).write_bytes(b"x"),
        Kind.LOSS,
    ),
    "what was staged is not": (
        lambda project, user: git(
            project.repository, "rm", "-q", "--cached", next(iter(user.staged))
        ),
        Kind.LOSS,
    ),
    "a commit of the user is gone": (
        lambda project, user: user.commits.append("1" * 40),
        Kind.LOSS,
    ),
    "what was the user's is committed": (
        lambda project, user: user.apart.append("work/task-a.txt"),
        Kind.WRONG,
    ),
    "others may read the state": (
        lambda project, user: journal_of(project).chmod(0o644),
        Kind.WRONG,
    ),
    "a secret is in a log": (
        lambda project, user: (project.repository / ".ralph" / "x").write_text(project.secret),
        Kind.LOSS,
    ),
}


def test_a_good_run_violates_none(played: tuple[Project, User]) -> None:
    project, user = played
    invariants.at_end(project, user, 0)


@pytest.mark.parametrize("name", BREAKS)
def test_what_is_broken_is_noticed(played: tuple[Project, User], name: str) -> None:
    project, user = played
    do, kind = BREAKS[name]
    do(project, user)
    with pytest.raises(Violation) as caught:
        invariants.at_end(project, user, 0)
    assert caught.value.kind is kind, caught.value


def test_a_process_without_any_sign_of_its_origin_is_found(watcher: Watcher) -> None:
    before = subprocess.Popen(["sleep", "600"])
    watcher.begin()
    script = (
        "import os\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "os.closerange(0, 64)\n"
        "os.execve('/bin/sleep', ['innocent', '600'], {})\n"
    )
    subprocess.run([sys.executable, "-IS", "-c", script], check=True)
    with pytest.raises(Violation, match="left running"):
        watcher.expect_nothing_left(seconds=0.2)
    watcher.end_all()
    watcher.expect_nothing_left()
    # What ran before the case is nobody's left-over, and other tests may need it.
    assert before.poll() is None
    before.kill()
    before.wait()
