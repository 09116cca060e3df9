"""Lessons of one run, in this process: what its prompts have, and what it removes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.agent.selection import choose_agent
from ralph_ls.engine.iteration.lessons import RunLessons, preview_lessons
from ralph_ls.engine.plan.markdown import MarkdownSource
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.layout import StateFolder, find_worktree
from ralph_ls.store.lessons.lesson_files import digest_of, lesson_folders, write_accepted
from ralph_ls.store.project.trust import RunTrust
from tests.engine.project_builder import make_repository

RUN = "20260131T120000Z-0a1b"
TASK = TaskRef(id="a", title="Press something")
CONTEXT = PromptContext(
    iteration=1, max_iterations=None, plan_path="p", decide_path="d", blocked_path="b"
)


def text(title: str = "Red", scope: str = "everywhere") -> str:
    return f"---\nscope: {scope}\n---\n\n# {title}\n\nText.\n"


class Place:
    """A repository, the user's folder, and a run."""

    def __init__(self, folder: Path) -> None:
        self.worktree = find_worktree(make_repository(folder / "tree"))
        self.state = StateFolder(folder=folder / "state" / "worktrees" / "a")
        self.own = folder / "own"
        self.own.mkdir()
        self.state.folder.mkdir(parents=True)
        self.environment = {
            "RALPH_STATE_DIR": str(folder / "state"),
            "RALPH_LESSONS_DIR": str(self.own),
        }
        self.folders = lesson_folders(self.environment, self.worktree, self.state)
        self.trust = RunTrust({})

    def of_user(self, name: str, content: str, *, accepted: bool = True) -> str:
        """Write a lesson of the user; its hash."""
        (self.own / f"{name}.md").write_text(content, encoding="utf-8")
        digest = digest_of(content.encode())
        if accepted:
            write_accepted(self.folders.record, {**self.accepted(), name: digest})
        return digest

    def accepted(self) -> dict[str, str]:
        if not self.folders.record.exists():
            return {}
        found: dict[str, str] = json.loads(self.folders.record.read_text())["accepted"]
        return found

    def lessons(self, **settings: Any) -> RunLessons:
        config = Config.model_validate({"lessons": settings})
        workspace = Workspace(
            worktree=self.worktree,
            state=self.state,
            run=RUN,
            files=self.state.run(RUN),
            config=config,
            agent=choose_agent(config),
            source=MarkdownSource(self.worktree.root, config, "plan.md", {}),
            environment=self.environment,
            redactor=Redactor(secrets={}),
            trust=self.trust,
        )
        return RunLessons(workspace)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def names(lessons: RunLessons, task: TaskRef | None = TASK) -> list[str]:
    return [one.id for one in lessons.choose(task)]


class TestChoice:
    def test_accepted_ones_are_chosen_and_the_rest_is_named(self, place: Place) -> None:
        digest = place.of_user("red", text())
        place.of_user("new", text(), accepted=False)
        place.of_user("bad", "no scope")
        place.of_user("go", text(scope="language\nmatch: [go]"))
        (place.own / "large.md").write_text("x" * 70_000)
        lessons = place.lessons()
        assert names(lessons) == []
        codes = [notice.code for notice in lessons.begin()]
        assert codes == ["lessons-unapproved", "lessons-invalid", "lessons-unreadable"]
        assert lessons.begin() == ()
        (chosen,) = lessons.choose(TASK)
        assert (chosen.id, chosen.sha256) == ("red", digest)
        (shown,) = lessons.with_lessons(CONTEXT).lessons
        assert (shown.title, shown.text) == ("Red", "Text.")

    def test_without_a_budget_there_are_none(self, place: Place) -> None:
        place.of_user("red", text())
        lessons = place.lessons(max_tokens=0)
        assert lessons.begin() == ()
        assert names(lessons) == []
        assert lessons.with_lessons(CONTEXT) is CONTEXT

    def test_what_is_accepted_by_a_command_is_taken_up(self, place: Place) -> None:
        lessons = place.lessons()
        lessons.begin()
        digest = place.of_user("red", text(), accepted=False)
        assert names(lessons) == []
        place.trust.accept({"lesson: red": digest})
        assert names(lessons) == ["red"]
        assert names(lessons) == ["red"]

    def test_a_change_during_the_run_is_not_used(self, place: Place) -> None:
        place.of_user("red", text())
        lessons = place.lessons()
        lessons.begin()
        (place.own / "red.md").write_text(text("Blue"))
        assert names(lessons) == ["red"]
        assert lessons.with_lessons(CONTEXT).lessons[0].title == "Red"

    def test_a_preview_has_what_a_run_would_choose(self, place: Place) -> None:
        def shown(**given: Any) -> list[str]:
            found = preview_lessons(place.folders, CONTEXT, **{"max_tokens": 800, **given})
            return [one.id for one in found.lessons]

        assert shown() == []
        place.of_user("red", text())
        assert shown() == ["red"]
        assert shown(max_tokens=0) == []


class TestRemoval:
    def test_acceptances_without_a_command_are_removed(self, place: Place) -> None:
        first = place.of_user("red", text())
        lessons = place.lessons()
        assert lessons.remove_added() == ()
        lessons.begin()
        assert lessons.remove_added() == ()
        place.of_user("mine", text("Mine"))
        taken = place.of_user("taken", text("Taken"))
        place.trust.accept({"lesson: taken": taken})
        (place.own / "red.md").write_text(text("Blue"))
        write_accepted(place.folders.record, {**place.accepted(), "red": "0" * 64})
        (warning,) = lessons.remove_added()
        assert warning.code == "lessons-removed"
        assert "mine, red" in warning.message
        assert place.accepted() == {"red": first, "taken": taken}
        assert lessons.remove_added() == ()

    def test_a_file_that_cannot_be_written_is_reported(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lessons = place.lessons()
        lessons.begin()
        place.of_user("mine", text())
        record = place.folders.record
        content = record.read_bytes()
        monkeypatch.setattr(
            "ralph_ls.engine.iteration.lessons.read_accepted",
            lambda _: json.loads(content)["accepted"],
        )
        record.unlink()
        record.mkdir()
        (warning,) = lessons.remove_added()
        assert warning.code == "lessons-not-checked"
