"""``ralph lessons`` and ``ralph learn``: what they show, and what they refuse."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.store.layout import state_root
from ralph_ls.store.lessons.lesson_files import user_folder
from tests.engine.project_builder import make_repository
from tests.sample_runs import write_runs
from tests.unit.cli.cli_runner import Ralph

LESSON = "---\nscope: everywhere\n---\n\n# Use the red button\n\nThe green one does nothing.\n"
UNTIL = datetime(2026, 1, 31, 12, tzinfo=UTC)


def folder_of_user() -> Path:
    folder = user_folder(os.environ)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def record() -> Path:
    return state_root(os.environ) / "lessons.json"


def lessons(ralph: Ralph, folder: Path, *arguments: str) -> dict[str, Any]:
    done = ralph(folder, "lessons", *arguments, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json
    return found


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository with four runs."""
    write_runs(state_root(os.environ), tmp_path / "tree", runs=4, iterations=20, until=UNTIL)
    return tmp_path / "tree"


class TestLearn:
    def test_findings_name_their_iterations_and_are_proposed(
        self, ralph: Ralph, history: Path
    ) -> None:
        dry = ralph(history, "learn", "--dry-run").out
        assert "which a run without --dry-run would write" in dry
        assert lessons(ralph, history)["lessons"] == []
        done = ralph(history, "learn")
        assert done.out.startswith("Read 4 runs, ")
        assert "\nValidations that fail:\n- the validation failed in " in done.out
        shown = ralph(history, "lessons").out
        assert "Proposed, and in no prompt until you accept them:" in shown
        found = ralph(history, "learn", "--json", "--runs", "2").json
        assert (found["runs"], found["done"]) == (2, True)
        assert all(one["iterations"] for one in found["findings"])
        assert {one["status"] for one in found["proposals"]} == {"proposed"}

    def test_decided_and_edited_ones_are_left_alone(self, ralph: Ralph, history: Path) -> None:
        first, *_ = ralph(history, "learn", "--json").json["proposals"]
        Path(first["path"]).write_text(LESSON, encoding="utf-8")
        edited = ralph(history, "learn").out
        assert f"you edited these proposals, so they stay: {first['id']}" in edited
        lessons(ralph, history, "reject", first["id"])
        assert f"decided on these before: {first['id']}" in ralph(history, "learn").out

    def test_stale_ones_are_named(self, ralph: Ralph, history: Path) -> None:
        old = LESSON.replace("everywhere\n", "everywhere\ndate: 2020-01-01\n")
        (folder_of_user() / "old.md").write_text(old, encoding="utf-8")
        lessons(ralph, history, "accept", "old", "--yes")
        assert "Proposed for removal: old: no prompt has had it" in ralph(history, "learn").out
        shown = ralph(history, "lessons").out
        assert "stale: no prompt has had it since 2020-01-01; remove it with" in shown

    def test_without_a_run_there_is_nothing(self, ralph: Ralph, repository: Path) -> None:
        assert "Nothing happened often enough" in ralph(repository, "learn").out
        asked = ralph(repository, "learn", "--agent", "claude")
        assert "to learn from yet; start one: ralph run" in asked.err


class TestShown:
    def test_all_of_a_lesson_is_shown_with_its_state(self, ralph: Ralph, repository: Path) -> None:
        text = (
            "---\nscope: language\nmatch: [go]\nfiles: ['*.x']\ntasks: [api]\nsource: me\n---\n"
            "\n# G\u00a0o\n\nText\u202e\n"
        )
        (folder_of_user() / "go.md").write_text(text, encoding="utf-8")
        shown = ralph(repository, "lessons", "show", "go").out
        assert "language: go, with files *.x, tasks about api · from me" in shown
        assert "Text\\u202e" in shown
        assert "Next: ralph lessons accept go" in shown
        lessons(ralph, repository, "accept", "go", "--yes")
        assert "does not fit here" in ralph(repository, "lessons").out
        (one,) = lessons(ralph, repository, "show", "go")["lessons"]
        assert (one["status"], one["fits"]) == ("accepted", False)
        assert "Next: ralph lessons remove go" in ralph(repository, "lessons", "show", "go").out

    def test_what_is_wrong_and_what_is_off_is_said(self, ralph: Ralph, repository: Path) -> None:
        (folder_of_user() / "bad.md").write_text("---\nscope: all\n---\n", encoding="utf-8")
        (folder_of_user() / "large.md").write_text("x" * 70_000, encoding="utf-8")
        config = repository / ".ralph" / "config.toml"
        config.parent.mkdir()
        config.write_text("[lessons]\nmax_tokens = 0\n", encoding="utf-8")
        shown = ralph(repository, "lessons").out
        assert "(no title)" in shown
        assert "cannot be used: unknown scope 'all'" in shown
        assert "Note: " in shown
        assert "lessons.max_tokens is 0" in shown

    def test_outside_of_a_repository_the_users_are_shown(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        assert "There are no lessons yet" in ralph(tmp_path, "lessons").out
        (folder_of_user() / "button.md").write_text(LESSON, encoding="utf-8")
        done = ralph(tmp_path, "lessons", "accept", "button", "--yes")
        assert "Accepted: button" in done.out
        assert lessons(ralph, tmp_path)["lessons"][0]["status"] == "accepted"


class TestDecisions:
    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        folder = tmp_path / "place"
        make_repository(folder)
        return folder

    def test_a_changed_file_is_not_accepted(self, ralph: Ralph, place: Path) -> None:
        (folder_of_user() / "button.md").write_text(LESSON)
        (shown,) = lessons(ralph, place)["lessons"]
        (folder_of_user() / "button.md").write_text(LESSON + "More.\n")
        done = ralph(place, "lessons", "accept", "button", "--shown", shown["sha256"])
        assert done.code != 0
        assert "the lesson button changed since it was shown" in done.err

    def test_nobody_to_ask_is_no_consent(self, ralph: Ralph, place: Path) -> None:
        (folder_of_user() / "button.md").write_text(LESSON)
        done = ralph(place, "lessons", "accept", "button")
        assert "needs a terminal to ask in, or --yes" in done.err
        assert "   The green one does nothing." in done.out

    def test_an_acceptance_ends_with_a_change_and_with_removal(
        self, ralph: Ralph, place: Path
    ) -> None:
        (folder_of_user() / "button.md").write_text(LESSON)
        lessons(ralph, place, "accept", "button", "--yes")
        (folder_of_user() / "button.md").write_text(LESSON + "More.\n")
        (shown,) = lessons(ralph, place)["lessons"]
        assert shown["status"] == "unapproved"
        lessons(ralph, place, "remove", "button")
        assert lessons(ralph, place)["lessons"] == []
        assert json.loads(record().read_text())["accepted"] == {}

    def test_a_team_exchanges_them_as_proposals(
        self, ralph: Ralph, place: Path, tmp_path: Path
    ) -> None:
        (folder_of_user() / "button.md").write_text(LESSON)
        lessons(ralph, place, "accept", "button", "--yes")
        exported = tmp_path / "lessons.json"
        assert ralph(place, "lessons", "export", "--output", str(exported)).code == 0
        lessons(ralph, place, "remove", "button")
        assert lessons(ralph, place, "import", str(exported))["lessons"] == ["button"]
        assert lessons(ralph, place)["lessons"][0]["status"] == "proposed"
        assert (
            "left out: button: it is here already"
            in lessons(ralph, place, "import", str(exported))["notes"]
        )

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["acept"], "unknown action 'acept'; did you mean accept?"),
            (["show", "nothing"], "there is no lesson 'nothing' here; list them: ralph lessons"),
            (["show"], "name what to show: ralph lessons show ID"),
            (["accept", "x", "--scope", "all"], "unknown scope 'all'"),
            (["export"], "there is no accepted lesson to export"),
            (["import", "nowhere.json"], "there is no file nowhere.json"),
            (["import", "README.txt"], "README.txt is not an export of lessons"),
        ],
    )
    def test_a_wrong_order_says_what_to_do(
        self, ralph: Ralph, place: Path, arguments: list[str], message: str
    ) -> None:
        (place / "README.txt").write_text("[]")
        done = ralph(place, "lessons", *arguments)
        assert done.code == 64
        assert message in done.err
