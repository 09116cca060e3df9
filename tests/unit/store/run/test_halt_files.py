from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.protocol.config.config import PathsConfig
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import ChangedMeanwhile, read_regular
from ralph_ls.store.run import halt_files
from ralph_ls.store.run.halt_files import (
    load_halt_files,
    make_halt_folders,
    remove_blocked,
    remove_decide,
    write_answer,
    write_blocked,
    write_decide,
)

PATHS = PathsConfig(decide="ralph/decide.txt", blocked="ralph/blocked.txt")
ASKED = datetime(2026, 1, 31, 12, 0, 30, 999_000, tzinfo=UTC)
FORM = """\
## Question (from iteration 3, 2026-01-31T12:00:30Z)
Which one?

---
## Answer
"""
"""R, decide.txt format."""


def ask(root: Path, question: str = "Which one?", iteration: int | None = 3, **more: Any) -> Path:
    return write_decide(root, PATHS, question=question, iteration=iteration, asked_at=ASKED, **more)


def decide(root: Path) -> Path:
    (root / "ralph").mkdir(exist_ok=True)
    return root / "ralph/decide.txt"


def answer_in(root: Path) -> str | None:
    return load_halt_files(root, PATHS).answer


class TestFolders:
    def test_those_of_both_files_are_made(self, tmp_path: Path) -> None:
        assert make_halt_folders(tmp_path, PATHS) == [tmp_path / "ralph"]
        assert (tmp_path / "ralph").is_dir()

    def test_a_work_tree_that_was_removed_is_not_made_again(self, tmp_path: Path) -> None:
        gone = tmp_path / "gone"
        for write in (
            lambda: make_halt_folders(gone, PATHS),
            lambda: write_blocked(gone, PATHS, "no key"),
            lambda: ask(gone),
        ):
            with pytest.raises(StateUnusable, match="cannot be written"):
                write()
        assert not gone.exists()


class TestLooking:
    def test_without_files_there_is_nothing(self, tmp_path: Path) -> None:
        assert load_halt_files(tmp_path, PATHS) == HaltFiles()

    def test_both_files_are_read(self, tmp_path: Path) -> None:
        ask(tmp_path)
        write_blocked(tmp_path, PATHS, "  no key for the mail service\n\n")
        assert load_halt_files(tmp_path, PATHS) == HaltFiles(
            question="Which one?", blocked="no key for the mail service"
        )

    def test_bytes_that_are_no_utf8_are_replaced(self, tmp_path: Path) -> None:
        decide(tmp_path).write_bytes(b"## Question\nWhi\xffch?\n---\n## Answer\nTh\xffis\n")
        found = load_halt_files(tmp_path, PATHS)
        assert (found.question, found.answer) == ("Whi\ufffdch?", "Th\ufffdis")

    @pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
    @pytest.mark.parametrize("name", ["decide.txt", "blocked.txt"])
    def test_what_is_no_file_is_reported_and_not_waited_for(
        self, tmp_path: Path, make: Any, name: str
    ) -> None:
        make(decide(tmp_path).with_name(name))
        with pytest.raises(StateUnusable, match="not a regular file"):
            load_halt_files(tmp_path, PATHS)


class TestQuestion:
    def test_it_is_the_seeds_form(self, tmp_path: Path) -> None:
        path = ask(tmp_path)
        assert path == tmp_path / "ralph/decide.txt"
        assert path.read_text(encoding="utf-8") == FORM

    def test_the_users_half_written_answer_is_kept(self, tmp_path: Path) -> None:
        ask(tmp_path)
        with decide(tmp_path).open("a", encoding="utf-8") as file:
            file.write("The fir")
        ask(tmp_path, "Which  one?")
        assert answer_in(tmp_path) == "The fir"

    def test_another_question_replaces_it(self, tmp_path: Path) -> None:
        ask(tmp_path)
        write_answer(tmp_path, PATHS, "The first")
        ask(tmp_path, "And now?")
        assert load_halt_files(tmp_path, PATHS) == HaltFiles(question="And now?")

    @pytest.mark.parametrize(
        ("iteration", "answer"),
        [
            pytest.param(3, "The first", id="written again"),
            pytest.param(4, None, id="asked again by another iteration"),
            pytest.param(None, "The first", id="from an earlier run"),
        ],
    )
    def test_an_answer_holds_for_the_iteration_that_asked(
        self, tmp_path: Path, iteration: int | None, answer: str | None
    ) -> None:
        ask(tmp_path)
        write_answer(tmp_path, PATHS, "The first")
        ask(tmp_path, iteration=iteration)
        assert answer_in(tmp_path) == answer

    def test_it_is_written_with_its_answer(self, tmp_path: Path) -> None:
        ask(tmp_path)
        ask(tmp_path, answer="The first\nof both")
        assert decide(tmp_path).read_text(encoding="utf-8") == f"{FORM}The first\nof both\n"


class TestAnswer:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param(FORM, f"{FORM}The first\n", id="as-written"),
            pytest.param(FORM.rstrip(), f"{FORM}The first\n", id="last-line-end-gone"),
            pytest.param(
                "## Question\nWhich one?\n",
                "## Question\nWhich one?\n\n---\n## Answer\nThe first\n",
                id="no-place-for-it",
            ),
            pytest.param(
                "Which?\n--- this?\n----\n",
                "Which?\n--- this?\n----\n\n---\n## Answer\nThe first\n",
                id="lines-that-separate-nothing",
            ),
            pytest.param(
                "Which?\r\n\r\n---\r\n## Answer\r\n",
                "Which?\r\n\r\n---\r\n## Answer\r\nThe first\r\n",
                id="crlf",
            ),
            pytest.param(
                "Which?\n    ---\nof these\n\n---\n## Answer\n",
                "Which?\n    ---\nof these\n\n---\n## Answer\nThe first\n",
                id="line-in-the-question",
            ),
        ],
    )
    def test_it_comes_below_the_question(self, tmp_path: Path, before: str, after: str) -> None:
        decide(tmp_path).write_bytes(before.encode())
        write_answer(tmp_path, PATHS, " The first \n")
        assert decide(tmp_path).read_bytes() == after.encode()
        assert answer_in(tmp_path) == "The first"

    @pytest.mark.parametrize(
        "words", ["漢字\nand more", "a\n---\nb", "## Answer", "## Question\nx", "---", "- [x] a"]
    )
    def test_what_the_user_says_is_what_is_read(self, tmp_path: Path, words: str) -> None:
        ask(tmp_path)
        write_answer(tmp_path, PATHS, words)
        assert answer_in(tmp_path) == words

    def test_other_bytes_of_the_file_are_kept(self, tmp_path: Path) -> None:
        decide(tmp_path).write_bytes(b"Whi\xffch?\n---\n## Answer\n")
        write_answer(tmp_path, PATHS, "This")
        assert decide(tmp_path).read_bytes() == b"Whi\xffch?\n---\n## Answer\nThis\n"

    def test_without_a_question_there_is_nothing_to_answer(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            write_answer(tmp_path, PATHS, "This")

    def test_what_somebody_saves_meanwhile_is_not_lost(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = ask(tmp_path)

        def read_and_save(file: Path) -> bytes | None:
            data = read_regular(file)
            path.write_text("theirs\n", encoding="utf-8")
            return data

        monkeypatch.setattr(halt_files, "read_regular", read_and_save)
        with pytest.raises(ChangedMeanwhile):
            write_answer(tmp_path, PATHS, "This")
        monkeypatch.undo()
        assert path.read_text(encoding="utf-8") == "theirs\n"


class TestRemoving:
    def test_an_answered_question_goes(self, tmp_path: Path) -> None:
        ask(tmp_path, answer="The first")
        remove_decide(tmp_path, PATHS)
        assert not decide(tmp_path).exists()

    def test_an_open_one_stays(self, tmp_path: Path) -> None:
        ask(tmp_path)
        remove_decide(tmp_path, PATHS)
        assert decide(tmp_path).exists()

    def test_a_resolved_blocker_goes(self, tmp_path: Path) -> None:
        write_blocked(tmp_path, PATHS, "no key")
        remove_blocked(tmp_path, PATHS)
        assert not (tmp_path / "ralph/blocked.txt").exists()

    def test_what_is_gone_already_is_no_trouble(self, tmp_path: Path) -> None:
        remove_decide(tmp_path, PATHS)
        remove_blocked(tmp_path, PATHS)


@pytest.mark.parametrize("name", ["ralph", "ralph/decide.txt", "ralph/blocked.txt"])
@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_read_written_or_removed_through_a_link_out_of_the_tree(
    tmp_path: Path, name: str, exists: bool
) -> None:
    root, outside = tmp_path / "tree", tmp_path / "outside"
    root.mkdir()
    target = outside
    if name == "ralph" and exists:
        outside.mkdir()
        target = outside / "decide.txt"
    if exists:
        target.write_text("mine", encoding="utf-8")
    if name != "ralph":
        (root / "ralph").mkdir()
    (root / name).symlink_to(outside)

    def outcomes() -> list[bool]:
        refused = []
        for attempt in (
            lambda: load_halt_files(root, PATHS),
            lambda: ask(root),
            lambda: write_blocked(root, PATHS, "x"),
            lambda: remove_decide(root, PATHS),
            lambda: remove_blocked(root, PATHS),
            lambda: write_answer(root, PATHS, "x"),
        ):
            try:
                attempt()
            except StateUnusable as error:
                refused.append("leads out of the work tree" in error.message)
            except FileNotFoundError:
                pass
        return refused

    refused = outcomes()
    assert len(refused) >= 3
    assert all(refused)
    assert outside.exists() == exists
    if exists:
        assert target.read_text(encoding="utf-8") == "mine"
