from __future__ import annotations

import pytest

from ralph_ls.core.plan.parse.headings import (
    HeadingSection,
    SectionKind,
    open_document,
    open_section,
)
from ralph_ls.protocol.task_words import Priority


def section_of(
    title: str, *, parent: HeadingSection | None = None, optional: tuple[str, ...] = ()
) -> HeadingSection:
    around = parent or open_document()
    return open_section(title, around.level + 1, parent=around, optional_sections=optional)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Tasks", SectionKind.TASKS),
        ("Remaining Tasks", SectionKind.TASKS),
        ("To-Do", SectionKind.TASKS),
        ("📋 Tasks (12)", SectionKind.TASKS),
        ("2. Next Steps:", SectionKind.TASKS),
        ("High Priority", SectionKind.TASKS),
        ("Completed", SectionKind.DONE),
        ("✅ Done", SectionKind.DONE),
        ("Completed Tasks - January", SectionKind.DONE),
        ("Recently Completed (P0)", SectionKind.DONE),
        ("Notes", SectionKind.NOTES),
        ("Note:", SectionKind.NOTES),
        ("Implementation Notes", SectionKind.NOTES),
        ("Notes for the agent", SectionKind.NOTES),
        ("Issues Discovered", SectionKind.ISSUES),
        ("Guidelines", SectionKind.PROSE),
        ("Coding Conventions", SectionKind.PROSE),
        ("Definition of Done", SectionKind.PROSE),
        ("Acceptance Criteria", SectionKind.PROSE),
        ("Notes App", SectionKind.PLAIN),
        ("Release Notes", SectionKind.PLAIN),
        ("Todo App", SectionKind.PLAIN),
        ("Implementation Plan", SectionKind.PLAIN),
        ("課題", SectionKind.PLAIN),
        ("", SectionKind.PLAIN),
        ("!!!", SectionKind.PLAIN),
        ("(Tasks)", SectionKind.PLAIN),
        ("Tasks " * 100, SectionKind.PLAIN),
    ],
)
def test_a_heading_is_judged_as_a_whole(title: str, kind: SectionKind) -> None:
    assert section_of(title).kind is kind


@pytest.mark.parametrize(
    ("title", "priority"),
    [
        ("High Priority (P0)", Priority.P0),
        ("High", Priority.P0),
        ("P0", Priority.P0),
        ("P0: Must have", Priority.P0),
        ("🔴 Critical", Priority.P0),
        ("Critical Bugs", Priority.P0),
        ("High-Priority Tasks", Priority.P0),
        ("Priority: High", Priority.P0),
        ("Standard (P1)", Priority.P1),
        ("Standard", Priority.P1),
        ("Medium Priority", Priority.P1),
        ("Normal", Priority.P1),
        ("Nice to Have (P2)", Priority.P2),
        ("Nice-to-have", Priority.P2),
        ("Low Priority", Priority.P2),
        ("Low", Priority.P2),
        ("P3", Priority.P2),
        ("Standard operating procedure", None),
        ("High availability", None),
        ("HTTP2", None),
        ("Completed", None),
        ("High " * 100, None),
    ],
)
def test_a_heading_may_name_a_priority(title: str, priority: Priority | None) -> None:
    assert section_of(title).priority is priority


@pytest.mark.parametrize(
    ("around", "title", "kind"),
    [
        ("Tasks", "Phase 1", SectionKind.TASKS),
        ("Tasks", "Guidelines", SectionKind.PROSE),
        ("Notes", "Tasks", SectionKind.NOTES),
        ("Completed", "High Priority", SectionKind.DONE),
        ("Completed", "2026-02-04", SectionKind.DONE),
        ("Completed", "Notes", SectionKind.NOTES),
        ("Overview", "Low Priority", SectionKind.TASKS),
    ],
)
def test_sub_headings_continue_their_heading(around: str, title: str, kind: SectionKind) -> None:
    assert section_of(title, parent=section_of(around)).kind is kind


def test_a_sub_heading_may_have_a_separate_priority() -> None:
    high = section_of("High Priority")
    assert section_of("Sub", parent=high).priority is Priority.P0
    assert section_of("Low", parent=high).priority is Priority.P2


@pytest.mark.parametrize(
    ("title", "is_optional"),
    [
        ("Optional", True),
        ("**Future**", True),
        ("Future Work", True),
        ("Future: later", True),
        ("Ideas (future)", True),
        ("3. Optional", True),
        ("Later On", True),
        ("Future-proof the API", False),
        ("The Future", False),
        ("Optionally", False),
    ],
)
def test_optional_sections_are_known_by_name(title: str, is_optional: bool) -> None:
    section = section_of(title, optional=("", "Optional", "Future", "later on"))
    assert section.optional is is_optional
    assert section_of("Sub", parent=section).optional is is_optional
    assert section_of(title).optional is False


STANDARD = ("Optional", "Future", "Later", "Backlog")


@pytest.mark.parametrize(
    ("title", "is_optional"),
    [
        ("Optional", True),
        ("**Future**", True),
        ("Future Work", True),
        ("Future: x", True),
        ("Ideas (future)", True),
        ("3. Optional", True),
        ("Later", True),
        ("Backlog", True),
        ("🔮 Future enhancements", True),
        ("P1 (optional \u2013 defer)", True),
        ("P2 (Optional - defer)", True),
        ("P2: Optional", True),
        ("P2 \u2013 Future work", True),
        ("Optional / Future", True),
        ("Optional/Nice to have", True),
        ("Future Work & Ideas", True),
        ("Backlog (P2)", True),
        ("[Optional] Dark mode", True),
        ("Optional improvements:", True),
        ("Phase 4: Optional", True),
        ("Optional tasks (post-MVP)", True),
        ("Backlog items", True),
        ("later ideas", True),
        ("Optional Task", True),
        ("Nice to have (later)", True),
        ("Future features ✨", True),
        ("P3 (nice to have, optional)", True),
        ("## x (backlog)", True),
        ("Ideas [future]", True),
        ("Priority 3 (later): x", True),
        ("Optional -- see below", True),
        ("Future Extensions", True),
        ("Future integrations", True),
        ("Future mobile work", True),
        ("Future Scope", True),
        ("Post-MVP", True),
        ("Phase 5 (post-MVP)", True),
        ("Post-MVP: features", True),
        ("Beyond the MVP", True),
        ("未来扩展", True),
        ("Mejoras futuras", True),
        ("Future status", False),
        ("Future-proof endpoints", False),
        ("Post-processing tasks", False),
        ("MVP", False),
        ("Later \u2013 after launch", True),
        ("P1 (optional\u2014defer)", True),
        ("P1 (optional -- defer)", True),
        ("Optional parameters support", False),
        ("Future-proof the API", False),
        ("The Future", False),
        ("Optionally", False),
        ("Nice to have", False),
        ("Optional and required fields", False),
        ("Optional, required and default parameters", False),
        ("Later stages", False),
        ("Backlog grooming tool", False),
        ("Support (optional) parameters", False),
        ("Future (tense) parser", False),
        ("Non-optional", False),
        ("P1", False),
        ("Optional parameters", False),
        ("Optional chaining feature", False),
        ("Configure later", False),
        ("Add optional fields", False),
        ("Backlog view (kanban)", False),
        ("Future value calculator", False),
        ("Tasks (optional parameters)", False),
        ("Optional / required arguments", False),
        ("Laterality", False),
    ],
)
def test_a_heading_is_optional_by_its_words_and_not_by_its_first_one(
    title: str, is_optional: bool
) -> None:
    assert section_of(title, optional=STANDARD).optional is is_optional


def test_a_heading_too_long_to_be_one_is_not_optional() -> None:
    assert not section_of(f"Optional: {'x' * 200}", optional=STANDARD).optional
