"""What clones of one project share, and that its description holds nobody's secrets."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ralph_ls.protocol.config.config import AttemptsConfig, Config, LogForm, LogsConfig
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.project_state import (
    KEPT_PATHS,
    ProjectState,
    find_project,
    forget_project_attempts,
    keeps_project_state,
    open_project,
    read_attempts,
    remote_of,
    shares_attempts,
    without_credentials,
)
from tests.engine.project_builder import git

REMOTE = "git@example.org:team/shop.git"


def repository(folder: Path, remote: str | None = REMOTE) -> Path:
    folder.mkdir()
    git(folder, "init", "-q")
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


def state(folder: Path, name: str = "0123456789ab") -> StateFolder:
    return StateFolder(folder=folder / "state" / "worktrees" / name)


def old_project(folder: Path, url: str, attempts: str, log: str) -> ProjectState:
    """The folder that an earlier version named by the whole address."""
    name = hashlib.sha256(url.encode()).hexdigest()[:12]
    project = ProjectState(folder=folder / "state" / "projects" / name)
    project.logs.mkdir(parents=True)
    project.attempts.write_text(attempts, encoding="utf-8")
    (project.logs / log).touch()
    return project


def told(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return found


class TestFolder:
    def test_is_named_by_the_remote(self, tmp_path: Path) -> None:
        project = find_project(repository(tmp_path / "a"), state(tmp_path))
        name = hashlib.sha256(REMOTE.encode()).hexdigest()[:12]
        assert project.folder == tmp_path / "state" / "projects" / name
        assert not project.folder.exists()

    def test_is_the_same_for_every_clone(self, tmp_path: Path) -> None:
        first = find_project(repository(tmp_path / "a"), state(tmp_path, "a" * 12))
        second = find_project(repository(tmp_path / "b"), state(tmp_path, "b" * 12))
        assert first == second

    def test_is_the_same_whatever_the_credentials(self, tmp_path: Path) -> None:
        address = "example.org/team/shop.git"
        urls = [f"https://{who}{address}" for who in ("", "ada@", "ada:one@", "x-token:two@")]
        folders = {
            find_project(repository(tmp_path / str(n), url), state(tmp_path)).folder.name
            for n, url in enumerate(urls)
        }
        assert folders == {hashlib.sha256(f"https://{address}".encode()).hexdigest()[:12]}

    def test_of_an_earlier_version_is_used_and_then_moved(self, tmp_path: Path) -> None:
        url, other = (f"https://ada:{key}@example.org/shop.git" for key in ("one", "two"))
        root, clone = repository(tmp_path / "a", url), repository(tmp_path / "b", other)
        earlier = old_project(tmp_path, url, "t1:2\nt2:1\n", "2026-01-28T16-30-00.log")
        assert find_project(root, state(tmp_path)) == earlier
        assert read_attempts(find_project(root, state(tmp_path))) == {"t1": 2, "t2": 1}
        project = open_project(root, state(tmp_path), str)
        assert not earlier.folder.exists()
        assert read_attempts(project) == {"t1": 2, "t2": 1}
        # A second clone has a folder by another token, which is added.
        second = old_project(tmp_path, other, "t1:1\nt3:1\n", "2026-01-29T16-30-00.log")
        assert forget_project_attempts(clone, state(tmp_path), "t3")
        assert open_project(clone, state(tmp_path), str) == project
        assert not second.folder.exists()
        assert read_attempts(project) == {"t1": 2, "t2": 1}
        assert sorted(path.name for path in project.logs.iterdir()) == [
            "2026-01-28T16-30-00.log",
            "2026-01-29T16-30-00.log",
        ]

    def test_of_an_earlier_version_that_cannot_be_moved_is_reported(self, tmp_path: Path) -> None:
        url = "https://ada:one@example.org/shop.git"
        root = repository(tmp_path / "a", url)
        earlier = old_project(tmp_path, url, "t1:2\n", "2026-01-28T16-30-00.log")
        new = hashlib.sha256(b"https://example.org/shop.git").hexdigest()[:12]
        (earlier.folder.parent / new).write_text("in the way", encoding="utf-8")
        with pytest.raises(StateUnusable):
            open_project(root, state(tmp_path), str)

    def test_is_named_by_the_path_where_there_is_no_remote(self, tmp_path: Path) -> None:
        root = repository(tmp_path / "a", None)
        assert remote_of(root) is None
        name = hashlib.sha256(str(root).encode()).hexdigest()[:12]
        assert find_project(root, state(tmp_path)).folder.name == name

    def test_holds_what_only_its_owner_may_read(self, tmp_path: Path) -> None:
        project = open_project(repository(tmp_path / "a"), state(tmp_path), str)
        assert project.folder.stat().st_mode & 0o777 == 0o700
        assert project.metadata.stat().st_mode & 0o777 == 0o600
        assert (project.logs.name, project.attempts.name) == ("logs", "attempts.txt")

    def test_cannot_be_made_where_a_file_is(self, tmp_path: Path) -> None:
        (tmp_path / "state").touch()
        with pytest.raises(StateUnusable, match="set RALPH_STATE_DIR"):
            open_project(repository(tmp_path / "a"), state(tmp_path), str)


class TestMetadata:
    def test_shows_the_project_and_its_clones(self, tmp_path: Path) -> None:
        for name in ("a", "b", "a"):
            root = tmp_path / name
            root = root if root.exists() else repository(root)
            project = open_project(root, state(tmp_path), str)
        paths = [str(tmp_path / "b"), str(tmp_path / "a")]
        assert told(project.metadata) == {"remoteUrl": REMOTE, "paths": paths}

    def test_is_not_written_again_where_nothing_changed(self, tmp_path: Path) -> None:
        root = repository(tmp_path / "a", None)
        first = open_project(root, state(tmp_path), str).metadata.stat()
        project = open_project(root, state(tmp_path), str)
        assert project.metadata.stat().st_ino == first.st_ino
        assert told(project.metadata) == {"remoteUrl": None, "paths": [str(root)]}

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"paths": 1}', '{"paths": [1, null]}'])
    def test_is_repaired_where_it_is_no_description(self, tmp_path: Path, text: str) -> None:
        root = repository(tmp_path / "a")
        project = open_project(root, state(tmp_path), str)
        project.metadata.write_text(text, encoding="utf-8")
        open_project(root, state(tmp_path), str)
        assert told(project.metadata)["paths"] == [str(root)]

    def test_remembers_only_so_many_clones(self, tmp_path: Path) -> None:
        root = repository(tmp_path / "a")
        project = open_project(root, state(tmp_path), str)
        known = [f"/clone/{number}" for number in range(50)]
        project.metadata.write_text(json.dumps({"paths": known}), encoding="utf-8")
        open_project(root, state(tmp_path), str)
        assert told(project.metadata)["paths"] == [*known[-KEPT_PATHS + 1 :], str(root)]

    def test_holds_no_secret(self, tmp_path: Path) -> None:
        root = repository(tmp_path / "hunter2-folder", "https://bob:hunter2@example.org/a.git")
        project = open_project(root, state(tmp_path), lambda text: text.replace("hunter2", "[r]"))
        assert told(project.metadata)["remoteUrl"] == "https://example.org/a.git"
        assert b"hunter2" not in project.metadata.read_bytes()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (REMOTE, REMOTE),
        ("/srv/git/shop.git", "/srv/git/shop.git"),
        ("https://example.org/a.git", "https://example.org/a.git"),
        ("https://token@example.org:8443/a.git", "https://example.org:8443/a.git"),
        ("https://bob:p@ss@example.org/a.git", "https://example.org/a.git"),
        ("https://example.org/a.git?access_token=x#y", "https://example.org/a.git"),
        ("ssh://git@example.org:22/a.git", "ssh://git@example.org:22/a.git"),
        ("ssh://git:secret@example.org/a.git", "ssh://git@example.org/a.git"),
        ("git+ssh://git:secret@example.org/a.git", "git+ssh://git@example.org/a.git"),
        ("ssh://example.org/a.git", "ssh://example.org/a.git"),
        ("file:///srv/git/shop.git", "file:///srv/git/shop.git"),
        ("https://bob:secret@[::1/a.git", "https://[::1/a.git"),
    ],
)
def test_an_address_is_reported_without_credentials(url: str, shown: str) -> None:
    assert without_credentials(url) == shown


@pytest.mark.parametrize(
    ("config", "shares", "keeps"),
    [
        (Config(), False, False),
        (Config(logs=LogsConfig(form=LogForm.JSONL)), False, True),
        (Config(attempts=AttemptsConfig(limit=3, mark=False)), True, True),
        (Config(attempts=AttemptsConfig(limit=3, mark=True)), False, False),
        (Config(attempts=AttemptsConfig(limit=0, mark=False)), False, False),
    ],
)
def test_only_some_settings_keep_anything(config: Config, shares: bool, keeps: bool) -> None:
    assert (shares_attempts(config), keeps_project_state(config)) == (shares, keeps)
