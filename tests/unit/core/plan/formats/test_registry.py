"""The place of a plan decides its format, then its ending, then the profile."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.dispatch import (
    accept_edit,
    byte_exact_edit,
    check_plan,
    edit_effects,
    merge_plans,
    operations_for,
    operations_of,
    parse_plan,
    plan_edit,
    reparse_plan,
    retry_edit,
    waiting_tasks,
)
from ralph_ls.core.plan.formats.plan_format import PlanStorage, ReadOptions
from ralph_ls.core.plan.formats.registry import (
    FORMATS,
    format_of,
    format_of_file,
    format_of_plan,
    format_of_text,
    is_at,
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
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("specs/001-login/tasks.md", PlanKind.SPEC_KIT, "001-login"),
        ("specs/20260101-120000-login/tasks.md", PlanKind.SPEC_KIT, "20260101-120000-login"),
        ("specs/login/tasks.md", PlanKind.SPEC_KIT, "login"),
        ("specs/shop/pay/tasks.md", PlanKind.SPEC_KIT, "pay"),
        ("apps/web/specs/login/tasks.md", PlanKind.MARKDOWN, None),
        (".kiro/specs/login/tasks.md", PlanKind.KIRO, "login"),
        ("openspec/changes/add-form/tasks.md", PlanKind.OPENSPEC, "add-form"),
        ("openspec/changes/archive/tasks.md", PlanKind.MARKDOWN, None),
        (".ralph/github.md", PlanKind.GITHUB, "github"),
        ("apps/web/.kiro/specs/login/tasks.md", PlanKind.KIRO, "login"),
        ("apps/web/specs/001-login/tasks.md", PlanKind.SPEC_KIT, "001-login"),
        ("web/openspec/changes/add-form/tasks.md", PlanKind.OPENSPEC, "add-form"),
        ("web/openspec/changes/archive/tasks.md", PlanKind.MARKDOWN, None),
        ("web/todo.txt", PlanKind.TODO_TXT, None),
        ("TODO.txt", PlanKind.TODO_TXT, None),
        ("TODO.org", PlanKind.ORG, None),
        ("Makefile.txt", PlanKind.MARKDOWN, None),
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
    assert again.plan == operations_for(kind, "- [ ] a\n").parse("- [ ] a\n", ReadOptions()).plan
    assert operations.effects("", "") == ((), ())
    assert operations.merge("a", "a", "b").text == "b"
    assert operations.byte_exact(lambda _: str, "a")("") == ""
    is_structured = known.storage in {PlanStorage.FILE, PlanStorage.FOLDER}
    assert (operations.text is not None) == is_structured
    assert known.is_text == (known.storage not in {PlanStorage.TRACKER, PlanStorage.REQUEST})
    assert known.is_file or not known.has_reviews
    assert known.can_block or not known.is_markdown


LIST = "- [ ] Pay by card\n- [ ] Log in\n"
LINES = "Pay by card id:1\nLog in\n"


class TestTodoTxtInMarkdown:
    """Every operation on a ``todo.txt`` follows its text, whatever format its path says."""

    kind = PlanKind.TODO_TXT

    @pytest.mark.parametrize("text", [LIST, LINES])
    def test_a_task_is_edited_in_the_form_of_its_text(self, text: str) -> None:
        is_list = text == LIST
        parsed = parse_plan(text, self.kind)
        pay, login = parsed.plan.tasks
        assert (pay.title, login.title) == ("Pay by card", "Log in")
        assert waiting_tasks(parsed, text, self.kind) == {}
        assert [one.code for one in check_plan(parsed, text, self.kind)] == []
        closed = accept_edit(self.kind, pay.id)(text)
        assert closed.startswith("- [x] Pay" if is_list else "x Pay")
        assert edit_effects(self.kind, text, closed) == ((pay.id,), ())
        assert (
            reparse_plan(parsed, text, closed, self.kind).plan == parse_plan(closed, self.kind).plan
        )
        blocked = plan_edit(self.kind, TaskEdit.BLOCK, pay.id, reason="no key")
        assert ("Blocked by: no key" if is_list else "blocked:no_key") in blocked(text)
        opened = retry_edit(self.kind, pay.id)(closed)
        assert parse_plan(opened, self.kind).plan.tasks[0].state == "todo"
        exact = byte_exact_edit(self.kind, lambda one: accept_edit(self.kind, one), pay.id)
        assert exact(f"{text}\udcff") == f"{closed}\udcff"
        other = text.replace("Log in", "Log out")
        assert "Log out" in merge_plans(self.kind, text, closed, other).text

    def test_an_order_is_changed_in_markdown_alone(self) -> None:
        pay, login = parse_plan(LIST, self.kind).plan.tasks
        move = plan_edit(self.kind, TaskEdit.MOVE, login.id, before=pay.id)
        assert move(LIST) == "- [ ] Log in\n- [ ] Pay by card\n"
        with pytest.raises(RalphError, match="have no order"):
            move(LINES)

    def test_a_task_that_a_program_keeps_is_closed_there(self) -> None:
        with pytest.raises(RalphError, match="the task bd-1 cannot be closed in this plan"):
            accept_edit(PlanKind.BEADS, "bd-1")

    def test_two_forms_are_not_merged(self) -> None:
        merged = merge_plans(self.kind, LINES, LIST, LINES + "Log out\n")
        assert (merged.text, len(merged.conflicts)) == (LIST, 1)

    def test_a_text_that_changes_its_form_is_read_again(self) -> None:
        parsed = parse_plan(LINES, self.kind)
        listed = reparse_plan(parsed, LINES, LIST, self.kind)
        assert listed.plan == parse_plan(LIST, PlanKind.MARKDOWN).plan
        assert reparse_plan(listed, LIST, LINES, self.kind).plan == parsed.plan

    def test_no_other_format_depends_on_its_text(self) -> None:
        for kind in PlanKind:
            if kind is not self.kind:
                assert format_of_text(kind, LIST) is format_of(kind)


@pytest.mark.parametrize(
    ("path", "kind", "is_there"),
    [
        ("Todo.org", PlanKind.ORG, True),
        ("TODO.TXT", PlanKind.TODO_TXT, True),
        ("docs/TODO.org", PlanKind.ORG, False),
        ("PRD.json", PlanKind.STORIES, False),
    ],
)
def test_capitals_count_as_small_letters(path: str, kind: PlanKind, *, is_there: bool) -> None:
    assert is_at(path, format_of(kind)) is is_there


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


@pytest.mark.parametrize(
    ("text", "is_own"),
    [
        ("# Tasks: Pay\n- [ ] Ask the bank\n", True),
        ("\ufeff\n# Tasks: Pay\n", True),
        ("- [ ] T001 Ask the bank\n", True),
        ("- [x] Ask the bank [US1]\n", True),
        ("- [ ] Ask the bank\n", False),
        ("", False),
    ],
)
def test_the_text_of_a_feature_shows_that_it_is_spec_kit_s(text: str, is_own: bool) -> None:
    assert (FORMATS[PlanKind.SPEC_KIT].load().why_foreign(text) == "") is is_own
