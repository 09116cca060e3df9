"""Lesson files: what is accepted, what is decided, and what is exchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from ralph_ls.core.lessons.lesson import Lesson, read_lesson
from ralph_ls.protocol.errors import NotAllowed, StateUnusable, UsageError, WorkspaceBusy
from ralph_ls.protocol.lessons import LessonPlace, LessonScope, LessonStatus
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree
from ralph_ls.store.lessons import decisions
from ralph_ls.store.lessons.lesson_files import (
    LessonFile,
    LessonFolders,
    digest_of,
    lesson_folders,
    proposal_folder,
    read_accepted,
    read_lessons,
    read_proposals,
    user_folder,
    write_proposal,
)
from ralph_ls.store.lessons.listing import (
    hits_of,
    iterations_everywhere,
    iterations_here,
    list_lessons,
    read_project_facts,
    read_records,
)
from ralph_ls.store.project.trust import LESSONS_FOLDER, read_record
from ralph_ls.store.run.lock import EngineLock, LockOwner
from tests.sample_runs import write_runs

EVERYWHERE = "---\nscope: everywhere\n---\n\n# Press red\n\nGreen fails.\n"
REPOSITORY = EVERYWHERE.replace("everywhere", "repository")
TODAY = date(2026, 1, 31)
UNTIL = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def place(tmp_path: Path) -> tuple[Worktree, StateFolder]:
    """A repository with two runs."""
    state = write_runs(tmp_path / "state", tmp_path / "tree", runs=2, iterations=4, until=UNTIL)
    return find_worktree(tmp_path / "tree"), state


@pytest.fixture
def folders(place: tuple[Worktree, StateFolder], tmp_path: Path) -> LessonFolders:
    environment = {
        "RALPH_STATE_DIR": str(tmp_path / "state"),
        "RALPH_LESSONS_DIR": str(tmp_path / "own"),
    }
    return lesson_folders(environment, *place)


@pytest.fixture
def outside(folders: LessonFolders) -> LessonFolders:
    """As it is outside of any repository."""
    return replace(folders, worktree=None, state=None)


def put(folders: LessonFolders, where: LessonPlace, text: str, name: str = "red") -> Path:
    folder = folders.folder(where)
    assert folder is not None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder / f"{name}.md"


def nobody(_: Mapping[str, str]) -> tuple[str, ...]:
    return ()


def accept(
    folders: LessonFolders, name: str = "red", scope: LessonScope | None = None
) -> decisions.LessonDecision:
    file = decisions.find_lesson(folders, name)
    return decisions.accept_lesson(folders, file, today="2026-01-31", ask_runs=nobody, scope=scope)


def statuses(folders: LessonFolders) -> dict[tuple[str, str], str]:
    """Place and id to status."""
    files, problems = read_lessons(folders)
    assert problems == []
    return {(one.place.value, one.lesson.id): one.status.value for one in files}


class TestPlaces:
    def test_the_folder_of_the_user_can_be_named(self) -> None:
        assert user_folder({"RALPH_LESSONS_DIR": "~/x"}) == Path.home() / "x"
        assert user_folder({}).parts[-2:] == ("ralph", "lessons")

    def test_outside_of_a_repository_only_the_users_are_seen(
        self, folders: LessonFolders, outside: LessonFolders
    ) -> None:
        put(folders, LessonPlace.USER, EVERYWHERE)
        put(folders, LessonPlace.REPOSITORY, REPOSITORY)
        assert statuses(outside) == {("user", "red"): "unapproved"}

    def test_what_cannot_be_read_is_named_and_the_rest_is_read(
        self, folders: LessonFolders, tmp_path: Path
    ) -> None:
        put(folders, LessonPlace.USER, EVERYWHERE)
        put(folders, LessonPlace.USER, "x" * 70_000, "large")
        put(folders, LessonPlace.REPOSITORY, REPOSITORY)
        assert folders.repository is not None
        (folders.repository / "out.md").symlink_to(tmp_path / "state" / "x.md")
        put(folders, LessonPlace.PROPOSED, "---\n", "open")
        (folders.user / "notes.txt").write_text("no lesson")
        files, problems = read_lessons(folders)
        assert [one.lesson.id for one in files] == ["red", "red", "open"]
        assert files[-1].status is LessonStatus.INVALID
        assert len(problems) == 2
        assert "leads out of the work tree" in problems[0]

    def test_a_folder_that_is_too_full_is_named(self, folders: LessonFolders) -> None:
        folders.user.mkdir()
        for number in range(501):
            (folders.user / f"{number}.md").touch()
        files, problems = read_lessons(folders)
        assert (files, len(problems)) == ([], 1)

    @pytest.mark.parametrize("text", ["{", "[]", '{"accepted": 3}'])
    def test_an_unreadable_record_accepts_nothing(self, folders: LessonFolders, text: str) -> None:
        folders.record.write_text(text)
        assert read_accepted(folders.record) == {}
        assert folders.state is not None
        (folders.state.folder / "lessons-proposals.json").write_text(text)
        assert read_proposals(folders.state).rejected == ()


class TestAcceptance:
    def test_a_proposal_moves_to_where_its_scope_belongs(self, folders: LessonFolders) -> None:
        put(folders, LessonPlace.PROPOSED, REPOSITORY)
        put(folders, LessonPlace.PROPOSED, EVERYWHERE, "all")
        accept(folders)
        accept(folders, "all")
        assert statuses(folders) == {
            ("repository", "red"): "accepted",
            ("user", "all"): "accepted",
        }
        assert folders.state is not None
        assert f"{LESSONS_FOLDER}/red.md" in read_record(folders.state).allowed
        text = (folders.user / "all.md").read_text(encoding="utf-8")
        assert read_lesson("all", text).date == "2026-01-31"

    def test_the_content_stays_as_it_was_where_nothing_moves(self, folders: LessonFolders) -> None:
        path = put(folders, LessonPlace.USER, EVERYWHERE)
        accept(folders)
        assert path.read_text(encoding="utf-8") == EVERYWHERE
        path.write_text(f"{EVERYWHERE}More.\n", encoding="utf-8")
        assert statuses(folders) == {("user", "red"): "unapproved"}

    def test_one_of_the_repository_stays_there(self, folders: LessonFolders) -> None:
        put(folders, LessonPlace.REPOSITORY, REPOSITORY)
        accept(folders)
        assert statuses(folders) == {("repository", "red"): "accepted"}

    def test_another_lesson_of_that_name_is_kept(self, folders: LessonFolders) -> None:
        put(folders, LessonPlace.USER, EVERYWHERE.replace("red", "blue"))
        put(folders, LessonPlace.USER, EVERYWHERE.replace("red", "pink"), "red-2")
        put(folders, LessonPlace.PROPOSED, EVERYWHERE)
        assert accept(folders).lesson.id == "red-3"

    def test_runs_are_asked_before_anything_is_written(self, folders: LessonFolders) -> None:
        put(folders, LessonPlace.PROPOSED, EVERYWHERE)

        def refuse(approvals: Mapping[str, str]) -> tuple[str, ...]:
            assert list(approvals) == ["lesson: red"]
            assert not folders.record.exists()
            raise StateUnusable("no")

        file = decisions.find_lesson(folders, "red")
        with pytest.raises(StateUnusable):
            decisions.accept_lesson(folders, file, today="2026-01-31", ask_runs=refuse)
        assert statuses(folders) == {("proposed", "red"): "proposed"}

    def test_what_changed_since_it_was_read_is_refused(self, folders: LessonFolders) -> None:
        path = put(folders, LessonPlace.USER, EVERYWHERE)
        file = decisions.find_lesson(folders, str(path))
        path.write_text("other", encoding="utf-8")
        with pytest.raises(NotAllowed, match="changed just now"):
            decisions.accept_lesson(folders, file, today="2026-01-31", ask_runs=nobody)
        with pytest.raises(NotAllowed, match="changed since it was shown"):
            decisions.accept_lesson(
                folders, file, today="2026-01-31", ask_runs=nobody, shown="0" * 64
            )

    def test_what_cannot_be_used_is_refused_with_what_to_do(
        self, folders: LessonFolders, outside: LessonFolders
    ) -> None:
        put(folders, LessonPlace.PROPOSED, "no front matter", "bad")
        with pytest.raises(UsageError, match=r"it has no title.*edit /"):
            accept(folders, "bad")
        put(folders, LessonPlace.USER, REPOSITORY)
        with pytest.raises(UsageError, match="give it another: --scope everywhere"):
            accept(outside)
        with pytest.raises(UsageError, match="give another --scope or --match"):
            accept(outside, scope=LessonScope.LANGUAGE)
        accept(outside, scope=LessonScope.EVERYWHERE)
        assert statuses(outside) == {("user", "red"): "accepted"}

    def test_a_repositorys_is_accepted_inside_it(
        self, folders: LessonFolders, outside: LessonFolders
    ) -> None:
        put(folders, LessonPlace.REPOSITORY, REPOSITORY)
        file = decisions.find_lesson(folders, "red")
        with pytest.raises(UsageError, match="inside that repository"):
            decisions.accept_lesson(outside, file, today="2026-01-31", ask_runs=nobody)
        assert folders.repository is not None
        other = folders.repository.parent.with_name("elsewhere")
        folders.repository.rename(other)
        folders.repository.parent.rmdir()
        folders.repository.parent.write_text("in the way", encoding="utf-8")
        with pytest.raises(StateUnusable, match="cannot be"):
            decisions.accept_lesson(
                folders, replace(file, path=other / "red.md"), today="", ask_runs=nobody
            )


class TestDecisions:
    def test_a_rejected_proposal_is_remembered(self, folders: LessonFolders) -> None:
        put(folders, LessonPlace.PROPOSED, EVERYWHERE)
        decisions.reject_lesson(folders, decisions.find_lesson(folders, "red"))
        assert statuses(folders) == {}
        assert folders.state is not None
        assert read_proposals(folders.state).rejected == ("red",)

    def test_only_proposals_are_rejected(self, folders: LessonFolders) -> None:
        put(folders, LessonPlace.USER, EVERYWHERE)
        with pytest.raises(UsageError, match="ralph lessons remove red"):
            decisions.reject_lesson(folders, decisions.find_lesson(folders, "red"))

    @pytest.mark.parametrize("where", [LessonPlace.USER, LessonPlace.REPOSITORY])
    def test_removal_takes_the_acceptance_along(
        self, folders: LessonFolders, where: LessonPlace
    ) -> None:
        put(folders, where, EVERYWHERE)
        accept(folders)
        decisions.remove_lesson(folders, decisions.find_lesson(folders, "red"))
        assert statuses(folders) == {}
        assert read_accepted(folders.record) == {}
        assert folders.state is not None
        assert read_record(folders.state).allowed == {}

    def test_a_run_would_restore_a_repositorys(self, folders: LessonFolders) -> None:
        put(folders, LessonPlace.REPOSITORY, REPOSITORY)
        assert folders.worktree is not None
        owner = LockOwner(pid=1, process_start_time=1.0, run="r", state_dir="/nowhere")
        with EngineLock(folders.worktree.git_dir) as lock:
            lock.claim(owner)
            file = decisions.find_lesson(folders, "red")
            with pytest.raises(WorkspaceBusy, match="it would restore"):
                decisions.remove_lesson(folders, file)


class TestProposals:
    def test_an_edited_one_stays(self, folders: LessonFolders) -> None:
        state = folders.state
        assert state is not None
        lesson = Lesson(id="red", title="Red", text="One.")
        assert write_proposal(state, lesson)
        assert write_proposal(state, replace(lesson, text="Two."))
        path = proposal_folder(state) / "red.md"
        path.write_text(path.read_text() + "Mine.\n", encoding="utf-8")
        assert not write_proposal(state, lesson)
        assert "Mine." in path.read_text(encoding="utf-8")


class TestExchange:
    def test_an_export_is_imported_as_proposals(
        self, folders: LessonFolders, tmp_path: Path
    ) -> None:
        put(folders, LessonPlace.USER, EVERYWHERE)
        put(folders, LessonPlace.USER, EVERYWHERE, "waiting")
        accept(folders)
        files, _ = read_lessons(folders)
        exported = decisions.export_lessons(files, {"red": 7})
        (one,) = json.loads(exported)["lessons"]
        assert "hits: 7" in one["text"]
        path = tmp_path / "lessons.json"
        path.write_text(exported, encoding="utf-8")
        assert decisions.import_lessons(folders, path) == ([], ["red: it is here already"])
        decisions.remove_lesson(folders, decisions.find_lesson(folders, "red"))
        made, left_out = decisions.import_lessons(folders, path)
        assert ([one.lesson.id for one in made], left_out) == (["red"], [])
        assert statuses(folders)["proposed", "red"] == "proposed"

    def test_a_lesson_file_alone_is_imported(self, folders: LessonFolders, tmp_path: Path) -> None:
        path = tmp_path / "Press Red.md"
        path.write_text(EVERYWHERE, encoding="utf-8")
        made, _ = decisions.import_lessons(folders, path)
        assert [one.lesson.id for one in made] == ["press-red"]

    def test_what_is_wrong_in_it_is_left_out(self, folders: LessonFolders, tmp_path: Path) -> None:
        lessons = [{"id": "../../x", "text": EVERYWHERE}, {"id": "b", "text": "no"}]
        path = tmp_path / "lessons.json"
        path.write_text(json.dumps({"version": 1, "lessons": lessons}), encoding="utf-8")
        made, left_out = decisions.import_lessons(folders, path)
        assert (made, len(left_out)) == ([], 2)

    @pytest.mark.parametrize("text", ["{", "[]", '{"version": 2}', '{"x": 1}', "\x00"])
    def test_another_file_is_refused(
        self, folders: LessonFolders, tmp_path: Path, text: str
    ) -> None:
        path = tmp_path / "lessons.json"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match="is not an export"):
            decisions.import_lessons(folders, path)

    def test_it_needs_a_file_and_a_repository(
        self, folders: LessonFolders, outside: LessonFolders, tmp_path: Path
    ) -> None:
        with pytest.raises(UsageError, match="there is no file"):
            decisions.import_lessons(folders, tmp_path / "none.json")
        with pytest.raises(UsageError, match="regular file"):
            decisions.import_lessons(folders, tmp_path)
        with pytest.raises(UsageError, match="change into one of yours"):
            decisions.import_lessons(outside, tmp_path)


class TestListing:
    def test_places_come_in_order_with_what_fits(
        self, folders: LessonFolders, outside: LessonFolders
    ) -> None:
        python = "---\nscope: language\nmatch: [python]\ndate: 2025-01-01\n---\n\n# P\n\nx\n"
        put(folders, LessonPlace.USER, python, "old")
        put(folders, LessonPlace.REPOSITORY, REPOSITORY)
        put(folders, LessonPlace.PROPOSED, EVERYWHERE, "new")
        accept(folders, "old")
        views, problems = list_lessons(folders, today=TODAY, stale_days=90)
        assert problems == []
        assert [(one.place.value, one.id, one.fits) for one in views] == [
            ("proposed", "new", True),
            ("repository", "red", True),
            ("user", "old", False),
        ]
        assert views[-1].stale == "no prompt has had it since 2025-01-01"
        (alone,), _ = list_lessons(outside, today=TODAY, stale_days=90)
        assert alone.fits


class TestHistory:
    def test_records_and_figures_are_those_of_the_runs(
        self, place: tuple[Worktree, StateFolder], tmp_path: Path
    ) -> None:
        records = read_records(*place)
        assert len(records) == 2
        assert len(read_records(*place, most=1)) == 1
        here = list(iterations_here(*place))
        assert len(here) >= sum(len(one.iterations) for one in records) > 0
        assert iterations_everywhere(tmp_path / "state") == [here]
        assert hits_of([here]) == {}

    def test_facts_are_those_of_the_tree(self, place: tuple[Worktree, StateFolder]) -> None:
        root = place[0].root
        (root / "app.py").touch()
        (root / "requirements.txt").write_text("Django\n", encoding="utf-8")
        facts = read_project_facts(root)
        assert "app.py" in facts.files
        assert facts.languages == {"python"}
        assert facts.frameworks == {"django"}
        (root / "requirements.txt").unlink()
        (root / "requirements.txt").symlink_to("/etc/hostname")
        assert read_project_facts(root).frameworks == set()


def test_the_hash_is_that_of_approvals() -> None:
    assert digest_of(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_unknown_names_are_refused(folders: LessonFolders) -> None:
    put(folders, LessonPlace.USER, EVERYWHERE)
    with pytest.raises(UsageError, match="did you mean red"):
        decisions.find_lesson(folders, "rde")
    found: LessonFile = decisions.find_lesson(folders, "red.md")
    assert found.lesson.id == "red"
