"""The place of a plan decides its format, then its ending, then the profile."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.dispatch import operations_of, reparse_plan
from ralph_ls.core.plan.formats.plan_format import PlanStorage, ReadOptions
from ralph_ls.core.plan.formats.registry import (
    FORMATS,
    format_of,
    format_of_file,
    format_of_plan,
    plan_name,
    project_of,
)
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.prompt.documents import (
    LARGEST_DOCUMENT,
    LARGEST_DOCUMENTS,
    PlanDocument,
    plan_notes,
)


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("specs/001-login/tasks.md", PlanKind.SPEC_KIT, "001-login"),
        ("specs/20260101-120000-login/tasks.md", PlanKind.SPEC_KIT, "20260101-120000-login"),
        ("specs/login/tasks.md", PlanKind.MARKDOWN, None),
        ("specs/001-login/notes/tasks.md", PlanKind.MARKDOWN, None),
        (".kiro/specs/login/tasks.md", PlanKind.KIRO, "login"),
        ("openspec/changes/add-form/tasks.md", PlanKind.OPENSPEC, "add-form"),
        ("openspec/changes/archive/tasks.md", PlanKind.MARKDOWN, None),
        (".ralph/github.md", PlanKind.GITHUB, "github"),
        ("apps/web/.kiro/specs/login/tasks.md", PlanKind.KIRO, "login"),
        ("apps/web/specs/001-login/tasks.md", PlanKind.SPEC_KIT, "001-login"),
        ("web/openspec/changes/add-form/tasks.md", PlanKind.OPENSPEC, "add-form"),
        ("web/openspec/changes/archive/tasks.md", PlanKind.MARKDOWN, None),
        ("web/todo.txt", PlanKind.MARKDOWN, None),
        ("apps/web/.taskmaster/tasks/tasks.json", PlanKind.TASK_MASTER, None),
        ("apps/web/.backlog/tasks/1.md", PlanKind.MARKDOWN, None),
        ("@fix_plan.md", PlanKind.MARKDOWN, None),
        ("prd.json", PlanKind.STORIES, None),
    ],
)
def test_the_format_and_the_name_of_a_plan(path: str, kind: PlanKind, name: str | None) -> None:
    known = format_of_file(path, PlanKind.BEADS)
    assert (known.name, plan_name(path, known)) == (kind, name or path)


@pytest.mark.parametrize(
    ("path", "project"),
    [
        ("specs/001-login/tasks.md", ""),
        ("apps/web/specs/001-login/tasks.md", "apps/web"),
        ("apps/.planning/ROADMAP.md", "apps"),
        ("docs/todo.md", ""),
    ],
)
def test_the_project_of_a_plan(path: str, project: str) -> None:
    assert project_of(path, format_of_file(path, PlanKind.MARKDOWN)) == project


@pytest.mark.parametrize(
    ("path", "profile", "kind"),
    [
        ("specs/001-a/tasks.md", PlanKind.MARKDOWN, PlanKind.SPEC_KIT),
        ("specs/001-a/tasks.md", PlanKind.BEADS, PlanKind.BEADS),
        ("todo.md", PlanKind.STORIES, PlanKind.STORIES),
        ("todo.json", PlanKind.MARKDOWN, PlanKind.MARKDOWN),
        (None, PlanKind.MARKDOWN, PlanKind.MARKDOWN),
    ],
)
def test_another_tools_plan_has_its_format_in_any_profile(
    path: str | None, profile: PlanKind, kind: PlanKind
) -> None:
    assert format_of_plan(path, profile).name is kind


@pytest.mark.parametrize("kind", PlanKind)
def test_each_format_has_its_operations(kind: PlanKind) -> None:
    known, operations = format_of(kind), operations_of(kind)
    assert known.name is kind
    parsed = operations.parse("", ReadOptions())
    assert len(parsed.plan.tasks) == 0
    again = reparse_plan(parsed, "", "- [ ] a\n", kind)
    assert again.plan == operations.parse("- [ ] a\n", ReadOptions()).plan
    assert operations.effects("", "") == ((), ())
    assert operations.merge("a", "a", "b").text == "b"
    assert operations.byte_exact(lambda _: str, "a")("") == ""
    is_structured = known.storage in {PlanStorage.FILE, PlanStorage.FOLDER}
    assert (operations.text is not None) == is_structured
    assert known.is_text == (known.storage not in {PlanStorage.TRACKER, PlanStorage.REQUEST})
    assert known.is_file or not known.has_reviews
    assert known.can_block or not known.is_markdown


def test_names_of_formats_are_unique() -> None:
    titles = [one.title for one in FORMATS.values()]
    assert len(set(titles)) == len(titles)


class TestPromptOfAFormat:
    def test_nothing_is_said_without_instructions_and_documents(self) -> None:
        assert plan_notes("", {}, ()) == ""

    def test_values_are_filled_in_and_documents_are_quoted(self) -> None:
        document = PlanDocument(path="a/spec.md", text="# A\n\n{{PLAN}}\n")
        text = plan_notes("Tick `{{PLAN}}`.\n", {"PLAN": "a/tasks.md"}, [document])
        assert text.startswith("Tick `a/tasks.md`.\n\n## Its documents\n\nThese documents say")
        assert text.endswith("### `a/spec.md`\n\n> # A\n>\n> {{PLAN}}")

    def test_their_size_is_limited(self) -> None:
        long = PlanDocument(path="a.md", text="x" * (LARGEST_DOCUMENT + 1))
        empty = PlanDocument(path="b.md", text=" ")
        text = plan_notes("", {}, [long, empty, long, long, long])
        assert len(text) < LARGEST_DOCUMENTS + 1000
        assert text.count("This is its beginning") == 3
        assert text.endswith("Read it in the file.")
        assert "b.md" not in text
