"""``ralph archive``: what it puts away, what starts over, and when it refuses.

See docs/rules.md#archive.
"""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.engine.plan.document_archive import ArchiveOrder, archive
from ralph_ls.store.layout import find_worktree, state_folder
from ralph_ls.store.project.config_file import load_settings
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project
from tests.engine.steered_run import at_work

pytestmark = pytest.mark.slow

WORKS = "mark x First; work; commit; report 'STATUS: IN_PROGRESS'"
TODAY = date(2026, 2, 4)
STORY = {"id": "US-001", "title": "Say hello", "passes": True, "priority": 1}


def archived(project: Project, *arguments: str) -> Any:
    done = project.tell("archive", *arguments, "--json")
    assert done.exit_code == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


class TestWhatItDoes:
    def test_the_plan_goes_with_a_summary_and_begins_again(self, project: Project) -> None:
        prompt = ".ralph/prompts/PROMPT_build.md"
        project.plan("First task", "Second task", files={prompt: "Mine {TASK}\n"})
        project.file(prompt).unlink()
        project.agent(WORKS)
        project.run("1")
        run = json.loads(project.tell("status", "--json").stdout)["run"]
        project.file(prompt).write_text("Mine\n", encoding="utf-8")
        project.file("PROGRESS.md").write_text("# Progress Log\n", encoding="utf-8")
        before = files(project.repository)
        shown = archived(project, "--label", "My first/../go", "--dry-run")
        assert files(project.repository) == before
        assert shown["done"] is False
        told = archived(project, "--label", "My first/../go")
        assert told == {**shown, "done": True}
        assert re.fullmatch(r"archive/\d{4}-\d\d-\d\d-My-first-go", told["folder"])
        assert [one["path"] for one in told["moved"]] == ["@fix_plan.md", "PROGRESS.md"]
        folder = project.file(told["folder"])
        assert (folder / "@fix_plan.md").read_bytes() == before["@fix_plan.md"]
        assert (folder / "PROGRESS.md").read_bytes() == before["PROGRESS.md"]
        summary = (folder / "summary.md").read_text(encoding="utf-8")
        assert "1 of 2 done." in summary
        assert "- [x] First task\n- [ ] Second task\n" in summary
        assert f"### {run}: limit\n" in summary
        assert f"| {git(project.repository, 'rev-parse', 'HEAD')[:7]} |" in summary
        after = files(project.repository)
        assert after["@fix_plan.md"].startswith(b"# Fix Plan\n")
        assert b"task" not in after["@fix_plan.md"]
        assert "PROGRESS.md" not in after
        kept = {path for path in before if path.startswith(".ralph/")}
        assert {path: after[path] for path in kept} == {path: before[path] for path in kept}

        project.file(".gitignore").write_text("*.log\nlogs/\n", encoding="utf-8")
        again = archived(project, "--label", "My first/../go", "--include-logs")
        assert again["folder"] == told["folder"] + "-2"
        assert [one["name"] for one in again["moved"]] == ["@fix_plan.md", "logs"]
        assert (folder / "@fix_plan.md").read_bytes() == before["@fix_plan.md"]
        logs = {path.removeprefix(".ralph/logs/") for path in kept if "/logs/" in path}
        assert set(files(project.file(again["folder"]) / "logs")) == logs
        assert not project.file(".ralph/logs").exists()
        shown = git(project.repository, "status", "--porcelain", "-uall", again["folder"])
        assert logs == {path.partition("/logs/")[2] for path in shown.split() if "/logs/" in path}
        second = project.file(again["folder"]) / "summary.md"
        assert "No runs." in second.read_text(encoding="utf-8")
        # The next run begins as if nothing had been here.
        project.file("@fix_plan.md").write_text("- [ ] Third task\n", encoding="utf-8")
        assert "Third task" in project.run("1", "--dry-run").stdout

    def test_of_stories_the_requirements_and_the_notes_go_too(self, project: Project) -> None:
        project.plan(
            files={
                ".ralph/config.toml": 'profile = "stories"\n',
                "ralph/tasks.json": json.dumps({"userStories": [STORY]}),
                "ralph/prd.md": "What is to be built\n",
                "ralph/progress.txt": "Notes\n",
                "ralph/PROMPT_implement.md": "Mine\n",
                "ralph/logs/iteration-001.log": "old\n",
            }
        )
        told = archived(project)
        day = datetime.now().astimezone().date()
        assert told["folder"].endswith("-main")
        assert told["folder"][8:18] <= day.isoformat()
        moved = ["ralph/tasks.json", "ralph/prd.md", "ralph/progress.txt"]
        assert [one["path"] for one in told["moved"]] == moved == told["written"]
        folder = project.file(told["folder"])
        assert sorted(files(folder)) == ["prd.md", "progress.txt", "summary.md", "tasks.json"]
        assert json.loads((folder / "tasks.json").read_text())["userStories"] == [STORY]
        assert "Say hello" in (folder / "summary.md").read_text(encoding="utf-8")
        anew = {path: project.file(path).read_text(encoding="utf-8") for path in moved}
        assert "Say hello" not in anew["ralph/tasks.json"]
        assert anew["ralph/prd.md"].startswith("# Requirements\n")
        assert anew["ralph/progress.txt"].startswith("# Progress\n")
        assert project.file("ralph/PROMPT_implement.md").read_text() == "Mine\n"
        assert project.file("ralph/logs/iteration-001.log").exists()
        assert json.loads(project.tell("plan", "--json").stdout)["tasks"] == []

    def test_of_specifications_the_plan_alone_goes(self, project: Project) -> None:
        project.plan(
            files={
                ".ralph/config.toml": 'profile = "spec"\n',
                "IMPLEMENTATION_PLAN.md": "- [x] Done\n\nPROJECT_COMPLETE\n",
                "specs/login.md": "# Login\n",
            }
        )
        shown = project.tell("archive", "--label", "x").stdout
        assert "  IMPLEMENTATION_PLAN.md\n" in shown
        assert "Note: the first iteration of the next run writes IMPLEMENTATION_PLAN.md" in shown
        assert "Begins anew" not in shown
        assert not project.file("IMPLEMENTATION_PLAN.md").exists()
        assert project.file("specs/login.md").exists()

    def test_a_request_is_archived_and_what_waits_is_reported(self, project: Project) -> None:
        settings = 'profile = "issue"\n[issue]\nfile = "issue.md"\n'
        project.plan(files={".ralph/config.toml": settings, "issue.md": "# Do it\n"})
        project.file(".ralph/decide.txt").write_text("## Question\nWhich?\n", encoding="utf-8")
        told = archived(project, "--label", "v1.2")
        assert told["folder"].endswith("-v1.2")
        assert [one["path"] for one in told["moved"]] == ["issue.md"]
        assert told["notes"] == [".ralph/decide.txt still exists, and the next run starts with it"]


class Killed(BaseException):
    """What no handler of ours catches: the process is gone."""


@pytest.mark.parametrize("n_moved", range(4))
def test_a_kill_at_any_step_loses_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch, n_moved: int
) -> None:
    documents = {
        "ralph/tasks.json": json.dumps({"userStories": [STORY]}),
        "ralph/prd.md": "What is to be built\n",
        "ralph/progress.txt": "Notes\n",
    }
    project.plan(files={".ralph/config.toml": 'profile = "stories"\n', **documents})
    worktree = find_worktree(project.repository)
    state = state_folder(project.kept / "state", worktree)
    config = load_settings(worktree.root, {}, {}).config
    moves = 0
    rename = Path.rename

    def dying(path: Path, target: Path) -> Path:
        nonlocal moves
        if moves == n_moved:
            raise Killed
        moves += 1
        return rename(path, target)

    def dies_writing(root: Path, files: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", dying)
        patch.setattr("ralph_ls.engine.plan.document_archive.write_files", dies_writing)
        with pytest.raises(Killed):
            archive(worktree, state, config, ArchiveOrder(today=TODAY, label="x"), {})
    assert moves == n_moved
    folder = project.file("archive/2026-02-04-x")
    whole = [(folder / Path(path).name, project.file(path)) for path in documents]
    # The plan goes last.
    assert [one.exists() for one, _ in whole] == [n >= 3 - n_moved for n in range(3)]
    assert [one.exists() for _, one in whole] == [n < 3 - n_moved for n in range(3)]
    if n_moved < 3:
        # Done again, the rest goes beside what was put away already.
        found = archive(worktree, state, config, ArchiveOrder(today=TODAY, label="x"), {})
        assert found.folder == "archive/2026-02-04-x-2"
    kept = [path for path in project.file("archive").rglob("*") if path.name != "summary.md"]
    texts = {path.name: path.read_text(encoding="utf-8") for path in kept if path.is_file()}
    assert texts == {Path(path).name: text for path, text in documents.items()}


class TestWhenItRefuses:
    def test_while_a_run_lives(self, project: Project) -> None:
        running = at_work(project)
        before = files(project.repository)
        refused = project.tell("archive")
        assert refused.exit_code == 5
        assert "owns this work tree" in refused.stderr
        assert files(project.repository) == before
        assert project.tell("stop", "--now").exit_code == 0
        running.wait()

    @pytest.mark.parametrize(
        ("arguments", "code", "why"),
        [
            pytest.param(["--label", "../.."], 64, "no letter or digit", id="label"),
            pytest.param([], 5, "there is nothing to archive", id="nothing"),
        ],
    )
    def test_what_cannot_be(
        self, project: Project, arguments: list[str], code: int, why: str
    ) -> None:
        project.plan()
        project.file("@fix_plan.md").unlink()
        refused = project.tell("archive", *arguments)
        assert (refused.exit_code, refused.stdout) == (code, "")
        assert why in refused.stderr

    def test_what_is_a_link_and_an_archive_that_leads_out(self, project: Project) -> None:
        project.plan()
        project.file("archive").symlink_to(project.kept)
        refused = project.tell("archive")
        assert "archive leads out of the work tree" in refused.stderr
        project.file("archive").unlink()
        project.file("PROGRESS.md").symlink_to("@fix_plan.md")
        refused = project.tell("archive")
        assert "is a symbolic link" in refused.stderr
        assert not project.file("archive").exists()
        assert list(project.kept.iterdir()) == []

    def test_a_file_that_cannot_be_moved_puts_the_others_back(self, project: Project) -> None:
        # Named by its whole path, since there is one of its name already: too long for a name.
        progress = f"{'a' * 150}/{'b' * 150}/@fix_plan.md"
        settings = f'[paths]\nprogress = "{progress}"\n'
        project.plan(files={".ralph/config.toml": settings, progress: "x\n"})
        before = files(project.repository)
        refused = project.tell("archive")
        assert refused.exit_code == 5
        assert "nothing was archived to " in refused.stderr
        assert files(project.repository) == before
        assert list(project.file("archive").iterdir()) == []
