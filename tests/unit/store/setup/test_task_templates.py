"""Templates: the built-in ones are good, the user's are found, bad ones are reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.core.setup.draft import check_draft
from ralph_ls.core.setup.plans import add_items, new_plan
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.lsp.setup import DraftItem, TemplateSource
from ralph_ls.protocol.task_words import Priority
from ralph_ls.store.setup.task_templates import (
    BUILT_IN,
    LARGEST_TEMPLATE,
    MOST_OWN,
    TaskTemplates,
    find_template,
    load_templates,
    template_folder,
)


def load(folder: Path) -> TaskTemplates:
    return load_templates({"RALPH_TEMPLATES_DIR": str(folder)})


def test_every_built_in_one_is_there_whole_and_follows_the_rules(tmp_path: Path) -> None:
    choices = load(tmp_path / "none").choices
    assert [one.id for one in choices] == list(BUILT_IN)
    assert len({one.title for one in choices}) == len(choices)
    for one in choices:
        assert (one.source, one.path) == (TemplateSource.BUILT_IN, None)
        assert one.detail
        assert {item.priority for item in one.items} == set(Priority)
        drafts = [DraftItem(title=item.title, priority=item.priority) for item in one.items]
        assert check_draft(description=one.description, items=drafts) == ()
        for profile in (ProfileName.FIXPLAN, ProfileName.SPEC):
            assert add_items(new_plan(profile, drafts).text, drafts).notes


def test_all_files_of_the_package_are_offered() -> None:
    from ralph_ls.store.setup import task_templates

    folder = Path(task_templates.__file__).with_name("templates")
    assert sorted(path.stem for path in folder.iterdir()) == sorted(BUILT_IN)


def test_ones_own_come_after_them_by_name(tmp_path: Path) -> None:
    (tmp_path / "zebra.md").write_text("Look at it", encoding="utf-8")
    (tmp_path / "feature.md").write_text("---\ntitle: Ours\n---\nBuild it", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no template", encoding="utf-8")
    (tmp_path / ".hidden.md").write_text("no template", encoding="utf-8")
    found = load(tmp_path)
    own = found.choices[len(BUILT_IN) :]
    assert [(one.id, one.title, one.source) for one in own] == [
        ("own:feature", "Ours", TemplateSource.OWN),
        ("own:zebra", "Zebra", TemplateSource.OWN),
    ]
    assert own[0].path == str(tmp_path / "feature.md")
    assert found.problems == ()
    assert find_template(found, "feature").source is TemplateSource.BUILT_IN
    assert find_template(found, "own:feature").title == "Ours"
    assert find_template(found, "zebra").id == "own:zebra"
    with pytest.raises(UsageError, match="there is no template 'lion'\nTemplates: bug-fix, "):
        find_template(found, "lion")


def test_bad_ones_are_reported_and_the_others_are_there(tmp_path: Path) -> None:
    (tmp_path / "a-folder.md").mkdir()
    (tmp_path / "b-bytes.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "c-empty.md").write_bytes(b"")
    (tmp_path / "d-long.md").write_bytes(b"x" * (LARGEST_TEMPLATE + 1))
    (tmp_path / "e-good.md").write_text("\ufeffGood", encoding="utf-8")
    os.mkfifo(tmp_path / "f-pipe.md")
    (tmp_path / "g-profile.md").write_text("---\nprofile: x\n---\nGood", encoding="utf-8")
    found = load(tmp_path)
    assert [one.id for one in found.choices[len(BUILT_IN) :]] == ["own:e-good", "own:g-profile"]
    words = ["not a regular file", "is not UTF-8", "it is empty", "is larger than"]
    words += ["not a regular file", "there is no profile 'x'"]
    assert len(found.problems) == len(words)
    for said, wanted in zip(found.problems, words, strict=True):
        assert said.startswith(f"the template {tmp_path}")
        assert wanted in said


def test_a_flood_of_them_is_cut_and_reported(tmp_path: Path) -> None:
    for number in range(MOST_OWN + 1):
        (tmp_path / f"{number:03}.md").write_text("x", encoding="utf-8")
    found = load(tmp_path)
    assert len(found.choices) == len(BUILT_IN) + MOST_OWN
    assert found.problems == (f"only the first 200 of the 201 templates in {tmp_path} are read",)


def test_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert template_folder({"RALPH_TEMPLATES_DIR": str(tmp_path)}) == tmp_path
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert template_folder({}) == tmp_path / "config" / "ralph" / "templates"
    (tmp_path / "file").touch()
    assert load(tmp_path / "file").problems == ()
