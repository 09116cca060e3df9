"""``ralph plan`` and ``ralph reset-task`` on plans that are no markdown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.project_builder import git
from tests.fakes import bd
from tests.unit.cli.cli_runner import Ralph
from tests.unit.core.plan.stories.story_builder import RETURNED, story, text_of


@pytest.fixture
def story_project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def test_a_named_file_says_by_its_name_what_it_is(ralph: Ralph, tmp_path: Path) -> None:
    text = text_of(story("US-1"), story("US-2", dependsOn=["US-9"]))
    (tmp_path / "prd.json").write_text(text, encoding="utf-8")
    said = ralph(tmp_path, "plan", "prd.json", "--json").json
    assert [one["id"] for one in said["tasks"]] == ["US-1", "US-2"]
    assert [one["code"] for one in said["problems"]] == ["story-dependency-unknown"]


def test_stories_are_found_and_reset(ralph: Ralph, story_project: Path) -> None:
    plan = story_project / "ralph/tasks.json"
    plan.parent.mkdir()
    plan.write_text(text_of(story("US-1", **RETURNED)), encoding="utf-8")
    assert "◐ Story US-1  [US-1]" in ralph(story_project, "plan").out
    done = ralph(story_project, "reset-task", "US-1")
    assert done.out == "the task 'Story US-1' is open in ralph/tasks.json\n"
    assert plan.read_text(encoding="utf-8") == text_of(story("US-1", notes="Reset for retry"))


def test_issues_are_asked_of_bd(
    ralph: Ralph, story_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bd.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    bd.seed(story_project, {"id": "bd-1", "title": "Log in", "status": "in_progress"})
    said = ralph(story_project, "plan").out
    assert "◐ Log in  [bd-1]" in said
    assert "criteria-missing" in said
    assert ralph(story_project, "reset-task", "bd-1").out == "the issue bd-1 is open in bd\n"
    assert bd.issues_of(story_project)["bd-1"]["status"] == "open"
    missing = ralph(story_project, "reset-task", "bd-9")
    assert "bd has no issue 'bd-9'" in missing.err
