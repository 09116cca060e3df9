"""Old entries of the progress log move beside it when a run starts.

See docs/rules.md#specifications.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from ralph_ls.engine.run.recovery import archive_progress
from ralph_ls.protocol.config.config import Config, PathsConfig, ProgressConfig
from ralph_ls.store.files import ChangedMeanwhile
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told, warnings

TODAY = date(2026, 2, 10)
HEAD = "# Progress Log\n\n## Completed Tasks\n\n"
NEW = "### 2026-02-09\n- [x] New\n\n"
OLD = "### 2026-01-04\n- [x] Old\n"
CONFIG = Config(progress=ProgressConfig(keep_days=30))
TITLE = "# Progress Log Archive\n\n"


def moved(root: Path, config: Config = CONFIG) -> tuple[list[str], tuple[str, ...]]:
    """What is reported, and what was written."""
    notices, written = archive_progress(root, config, TODAY)
    return [f"{notice.code}: {notice.message}" for notice in notices], written


@pytest.fixture
def tree(project: Project) -> Path:
    """A repository with a progress log that is committed."""
    return project.plan(files={"PROGRESS.md": HEAD + NEW + OLD}).repository


@pytest.mark.slow
def test_a_run_moves_them_and_its_first_commit_takes_them_along(project: Project) -> None:
    today = date.today()  # noqa: DTZ011 - the engine's days are local, too.
    new = f"### {today - timedelta(days=1)}\n- [x] New\n\n"
    settings = 'commits = "loop"\n[progress]\nkeep_days = 30\n'
    project.plan(files={".ralph/config.toml": settings, "PROGRESS.md": HEAD + new + OLD})
    project.agent("work; report 'STATUS: IN_PROGRESS'")
    done = project.run("2")
    assert done.exit_code == 1
    assert project.file("PROGRESS.md").read_text(encoding="utf-8") == HEAD + new
    assert project.file("PROGRESS-archive.md").read_text(encoding="utf-8") == TITLE + OLD
    said = [one.message for one in told(done, "warned") if one.code == "progress-archived"]
    assert said == ["moved 1 entry of PROGRESS.md, older than 30 days, to PROGRESS-archive.md"]
    assert "left-as-before" not in warnings(done)
    first, second = told(done, "evidenceGathered")
    assert first.evidence.paths == second.evidence.paths == ("work.txt",)
    assert git(project.repository, "status", "--porcelain") == ""
    changed = git(project.repository, "show", "--name-only", "--format=", "HEAD~1").split()
    assert changed == ["PROGRESS-archive.md", "PROGRESS.md", "work.txt"]
    assert warnings(project.run("1")).count("progress-archived") == 0


def test_without_the_setting_nothing_moves(tree: Path) -> None:
    assert moved(tree, Config()) == ([], ())
    assert moved(tree, Config(progress=ProgressConfig(keep_days=60))) == ([], ())
    nowhere = PathsConfig(progress="notes/NONE.md")
    assert moved(tree, CONFIG.model_copy(update={"paths": nowhere})) == ([], ())


@pytest.mark.parametrize("name", ["PROGRESS.md", "PROGRESS-archive.md"])
def test_what_somebody_is_at_work_on_stays(tree: Path, name: str) -> None:
    with (tree / name).open("a", encoding="utf-8") as file:
        file.write("- mine\n")
    before = {path.name: path.read_bytes() for path in tree.iterdir() if path.is_file()}
    said, written = moved(tree)
    assert written == ()
    stay = "progress-not-archived: old entries of the progress log were not moved"
    assert said == [f"{stay}: {name} has changes that are not committed; commit them"]
    assert {path.name: path.read_bytes() for path in tree.iterdir() if path.is_file()} == before


def test_a_start_that_was_cut_off_is_done_again(tree: Path) -> None:
    # The archive was written, and then the machine was switched off; somebody committed that.
    (tree / "PROGRESS-archive.md").write_text(TITLE + OLD, encoding="utf-8")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "As it was left")
    assert moved(tree)[1] == ("PROGRESS.md", "PROGRESS-archive.md")
    assert (tree / "PROGRESS-archive.md").read_text(encoding="utf-8") == TITLE + OLD
    assert (tree / "PROGRESS.md").read_text(encoding="utf-8") == HEAD + NEW


def test_bytes_that_are_no_text_move_as_they_are(tree: Path) -> None:
    (tree / "PROGRESS.md").write_bytes(HEAD.encode() + OLD.encode() + b"\xff\xfe\n")
    git(tree, "commit", "-qam", "Bytes")
    moved(tree)
    assert (tree / "PROGRESS-archive.md").read_bytes() == (TITLE + OLD).encode() + b"\xff\xfe\n"


def test_what_cannot_be_written_ends_no_run(tree: Path) -> None:
    (tree / "PROGRESS-archive.md").mkdir()
    (said,), written = moved(tree)
    assert written == ()
    assert "PROGRESS-archive.md is a folder, not a regular file" in said


def test_what_somebody_writes_meanwhile_is_kept(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_between(path: Path, data: bytes, *, expected: bytes | None = None) -> None:
        del data, expected
        raise ChangedMeanwhile(str(path))

    monkeypatch.setattr("ralph_ls.engine.run.recovery.write_atomic", in_between)
    (said,), written = moved(tree)
    assert written == ()
    assert said.endswith("PROGRESS-archive.md changed in the meantime")
    assert (tree / "PROGRESS.md").read_text(encoding="utf-8") == HEAD + NEW + OLD
