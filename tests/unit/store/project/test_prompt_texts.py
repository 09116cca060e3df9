"""Prompts on disk: whose template is taken, and what is passed over for it."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from ralph_ls.core.loop.profiles import preset_of, profile_of
from ralph_ls.core.plan.formats.registry import format_of_file
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.config.config import Config, ProfileName
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.values import Mode
from ralph_ls.store.project.prompt_texts import (
    FoundTemplate,
    PromptSource,
    built_in_texts,
    find_template,
    notes_of_plan,
    prompt_folder,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


def put(folder: Path, name: str, text: str = "Do {{TASK}}\n") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def found_in(
    root: Path, own: Path, config: Config | None = None, mode: Mode = Mode.BUILD
) -> FoundTemplate:
    return find_template(root, config or Config(), mode, {"RALPH_PROMPTS_DIR": str(own)})


def test_without_any_it_is_the_built_in_one(root: Path, own: Path) -> None:
    put(root, ".ralph/prompts/PROMPT_plan.md")
    put(own, "PROMPT_review.md")
    assert found_in(root, own) == FoundTemplate(source=PromptSource.BUILT_IN)


def test_the_users_own_comes_before_it(root: Path, own: Path) -> None:
    path = put(own, "PROMPT_build.md", "mine \u00e9")
    seen = found_in(root, own)
    assert (seen.source, seen.path, seen.text) == (PromptSource.USER, path, "mine \u00e9")
    assert seen.shadowed == ()


def test_the_repositorys_comes_before_the_users(root: Path, own: Path) -> None:
    path = put(own, "PROMPT_plan.md", "mine")
    put(root, ".ralph/prompts/PROMPT_plan.md", "ours")
    seen = found_in(root, own, mode=Mode.PLAN)
    assert seen == FoundTemplate(
        source=PromptSource.REPOSITORY,
        path=".ralph/prompts/PROMPT_plan.md",
        data=b"ours",
        shadowed=(path,),
    )


def test_an_empty_one_is_one(root: Path, own: Path) -> None:
    put(own, "PROMPT_build.md", "")
    assert found_in(root, own).text == ""


def test_stories_have_theirs_in_their_own_folder_and_word(root: Path, own: Path) -> None:
    config = preset_of(profile_of(ProfileName.STORIES))
    put(root, ".ralph/prompts/PROMPT_build.md", "elsewhere")
    assert found_in(root, own, config).source is PromptSource.BUILT_IN
    put(root, "ralph/PROMPT_build.md", "build")
    assert found_in(root, own, config).path == "ralph/PROMPT_build.md"
    put(root, "ralph/PROMPT_implement.md", "implement")
    seen = found_in(root, own, config)
    assert seen.path == "ralph/PROMPT_implement.md"
    assert seen.shadowed == ("ralph/PROMPT_build.md",)
    put(root, "ralph/PROMPT_review-fix.md", "fix")
    assert found_in(root, own, config, Mode.REVIEW_FIX).text == "fix"


def test_implement_is_a_word_of_stories_alone(root: Path, own: Path) -> None:
    put(root, ".ralph/prompts/PROMPT_implement.md")
    assert found_in(root, own).source is PromptSource.BUILT_IN


def test_what_is_no_file_is_reported(root: Path, own: Path) -> None:
    (root / ".ralph/prompts/PROMPT_build.md").mkdir(parents=True)
    with pytest.raises(StateUnusable, match=r"PROMPT_build\.md is a folder, not a regular file"):
        found_in(root, own)


def test_bytes_that_are_no_utf_8_are_replaced(root: Path, own: Path) -> None:
    (own / "PROMPT_build.md").write_bytes(b"a \xff b")
    assert found_in(root, own).text == "a \ufffd b"


def test_the_users_are_in_the_config_folder_unless_set_otherwise(tmp_path: Path) -> None:
    usual = Path(platformdirs.user_config_dir("ralph", appauthor=False)) / "prompts"
    assert prompt_folder({}) == usual
    assert prompt_folder({"RALPH_PROMPTS_DIR": ""}) == usual
    assert prompt_folder({"RALPH_PROMPTS_DIR": str(tmp_path)}) == tmp_path
    assert prompt_folder({"RALPH_PROMPTS_DIR": "~/p"}) == Path.home() / "p"


def test_the_built_in_texts_are_read_once_and_none_is_empty() -> None:
    texts = built_in_texts()
    assert built_in_texts() is texts
    # An empty piece leaves that of the other agents out.
    pieces = [text for name, text in texts.pieces.items() if text or not name.endswith(".tools")]
    assert all(text.strip() for text in [*texts.templates.values(), *pieces])
    assert all(text.endswith("\n") for text in pieces)


DOCUMENTS = {
    "specs/001-pay/tasks.md": (
        "specs/001-pay/spec.md",
        "specs/001-pay/plan.md",
        ".specify/memory/constitution.md",
    ),
    ".kiro/specs/pay/tasks.md": (
        ".kiro/specs/pay/requirements.md",
        ".kiro/specs/pay/bugfix.md",
        ".kiro/specs/pay/design.md",
        ".kiro/steering/product.md",
    ),
    "openspec/changes/add-pay/tasks.md": (
        "openspec/changes/add-pay/proposal.md",
        "openspec/changes/add-pay/design.md",
        "openspec/changes/add-pay/specs/pay/spec.md",
        "openspec/project.md",
    ),
    ".planning/ROADMAP.md": (".planning/PROJECT.md", ".planning/STATE.md"),
}
"""By a plan, the documents that its tool has for it."""


@pytest.mark.parametrize("project", ["", "packages/shop/"])
@pytest.mark.parametrize("plan", DOCUMENTS)
def test_the_documents_of_a_plan_are_in_its_prompt(tmp_path: Path, plan: str, project: str) -> None:
    for one in (*DOCUMENTS[plan], "specs/002-mail/spec.md", ".kiro/specs/mail/design.md"):
        (tmp_path / project / one).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / project / one).write_text(f"Words of {one}.\n", encoding="utf-8")
    path = f"{project}{plan}"
    notes = notes_of_plan(tmp_path, path, format_of_file(path, PlanKind.MARKDOWN))
    quoted = [line.strip("#` ") for line in notes.splitlines() if line.startswith("### `")]
    assert quoted == [f"{project}{one}" for one in DOCUMENTS[plan]]
    assert all(f"> Words of {one}." in notes for one in DOCUMENTS[plan])
    assert path in notes
