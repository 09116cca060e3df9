from __future__ import annotations

import pytest

from ralph_ls.core.plan.parse.titles import (
    TitleParts,
    is_no_task,
    read_title,
    strip_bold,
    strip_comments,
    title_id,
)
from ralph_ls.protocol.task_words import Priority
from tests.unit.core.plan.plan_assertions import problems_of, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fix  it ", TitleParts(title="Fix it")),
        ("", TitleParts(title="")),
        ("**US-001** Fix", TitleParts(title="Fix", explicit_id="US-001")),
        ("**US-001**: Fix", TitleParts(title="Fix", explicit_id="US-001")),
        ("**US-001:** Fix", TitleParts(title="Fix", explicit_id="US-001")),
        ("**US-001** - Fix", TitleParts(title="Fix", explicit_id="US-001")),
        ("**US-001: Fix** it", TitleParts(title="Fix it", explicit_id="US-001")),
        ("**US-001: Fix**", TitleParts(title="Fix", explicit_id="US-001")),
        ("US-001: Fix", TitleParts(title="Fix", explicit_id="US-001")),
        ("US-001", TitleParts(title="US-001", explicit_id="US-001")),
        ("T001 [P] [US1] Fix", TitleParts(title="[P] [US1] Fix", explicit_id="T001")),
        ("T001: Fix", TitleParts(title="Fix", explicit_id="T001")),
        ("[T001] [US1] Fix", TitleParts(title="[US1] Fix", explicit_id="T001")),
        ("**T001** Fix", TitleParts(title="Fix", explicit_id="T001")),
        ("T001 - Fix", TitleParts(title="Fix", explicit_id="T001")),
        ("T001", TitleParts(title="T001", explicit_id="T001")),
        ("T-800 T001", TitleParts(title="T-800 T001")),
        ("T1 Fix", TitleParts(title="T1 Fix")),
        ("T001-b Fix", TitleParts(title="T001-b Fix")),
        ("**US-001**", TitleParts(title="US-001", explicit_id="US-001")),
        ("US-001 Fix", TitleParts(title="US-001 Fix")),
        ("UTF-8: read it", TitleParts(title="UTF-8: read it")),
        ("us-1: Fix", TitleParts(title="us-1: Fix")),
        ("[P0] US-1: Fix", TitleParts(title="Fix", explicit_id="US-1", priority=Priority.P0)),
        ("**US-1** [wip] Fix", TitleParts(title="Fix", explicit_id="US-1", is_in_progress=True)),
        ("[HIGH PRIORITY] Fix", TitleParts(title="Fix", priority=Priority.P0)),
        ("**[Low]** Fix", TitleParts(title="Fix", priority=Priority.P2)),
        ("[BUG][P1]: Fix", TitleParts(title="Fix", is_bug=True, priority=Priority.P1)),
        ("Fix [medium] [BUG]", TitleParts(title="Fix", is_bug=True, priority=Priority.P1)),
        ("[BLOCKED]", TitleParts(title="", is_blocked=True)),
        (
            "[BLOCKED - no key] Fix",
            TitleParts(title="Fix", is_blocked=True, blocked_reason="no key"),
        ),
        ("[BLOCKED] [P0](url)", TitleParts(title="[P0](url)", is_blocked=True)),
        ("[BLOCKEDLY] Fix", TitleParts(title="[BLOCKEDLY] Fix")),
        ("Fix [1]", TitleParts(title="Fix [1]")),
        ("Fix 1]", TitleParts(title="Fix 1]")),
        ("~~Fix~~", TitleParts(title="Fix", is_struck=True)),
        ("~~[BUG] Fix~~ ✅", TitleParts(title="Fix", is_bug=True, is_struck=True)),
        ("[BUG] ~~Fix~~", TitleParts(title="Fix", is_bug=True, is_struck=True)),
        ("~~Fix~~ (#12)", TitleParts(title="Fix", is_struck=True)),
        ("2.5 ~~Fix~~", TitleParts(title="2.5 Fix", is_struck=True)),
        ("**3.** ~~Fix~~ - done in #4", TitleParts(title="3. Fix", is_struck=True)),
        ("2.5 ~~Fix~~ the lexer", TitleParts(title="2.5 ~~Fix~~ the lexer")),
        ("~~Fix~~ too", TitleParts(title="~~Fix~~ too")),
        ("~~Fix", TitleParts(title="~~Fix")),
        ("~~ ~~", TitleParts(title="~~ ~~")),
        ("**Setup**: x **y** 2**3", TitleParts(title="Setup: x y 2**3")),
        ("Keep `__init__` <!-- no -->", TitleParts(title="Keep `__init__`")),
    ],
)
def test_a_title_is_taken_apart(text: str, expected: TitleParts) -> None:
    assert read_title(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "a"),
        ("a <!-- b --> c <!-- d -->e", "a  c e"),
        ("a <!-- b", "a <!-- b"),
        ("a `<!-- b -->` c <!-- d -->", "a `<!-- b -->` c "),
        ("a <!-- ` --> b <!-- c --> d", "a  b  d"),
    ],
)
def test_comments_are_cut_but_not_from_code(text: str, expected: str) -> None:
    assert strip_comments(text) == expected


def test_only_closed_bold_marks_go() -> None:
    assert strip_bold("**a b** c** d") == "a b c** d"
    assert strip_bold("keep `a/**` and `b/**`, **all**") == "keep `a/**` and `b/**`, all"


def test_the_id_is_that_of_the_words() -> None:
    assert title_id("Fix  `it` **now**") == title_id("fix it NOW") == title_id("~~Fix it now~~")
    assert title_id("Fix it now") != title_id("Fix it")
    assert len(title_id("\ud800")) == 8


@pytest.mark.parametrize(
    "text",
    ["", "None yet", "(none)", "_nothing_", "N/A", "...", "[note] a", "[v2] a", "[a](b)", "[a]: b"],
)
def test_placeholders_and_references_are_no_tasks(text: str) -> None:
    assert is_no_task(text)


@pytest.mark.parametrize("text", ["a", "[FEATURE] a", "[notebook] a", "[] a", "none of it works"])
def test_other_texts_may_be_tasks(text: str) -> None:
    assert not is_no_task(text)


@pytest.mark.parametrize(
    "text",
    [
        "(empty — no open fixes; see progress.json for the phase)", "No open fixes",
        "Nothing to do",
        "(none at the moment)", "None currently", "Keine", "暂无", "(empty: nothing here)",
        "_(none)_", "None remaining.", "Nothing left to do!",
        "No pending tasks yet",
        "(none yet - add some)", "There are no open tasks", "No further work planned",
        "(nichts; alles erledigt)", "Nada por hacer", "Поки немає", "Niente da fare", "Belum ada",
    ],
)  # fmt: skip
def test_whole_items_that_say_that_there_is_no_task(text: str) -> None:
    assert is_no_task(text)
    assert shown("# Plan", "- [ ] a", f"- [ ] {text}") == ["todo a"]
    found = [code for code, _ in problems_of(f"- [ ] a\n- [ ] {text}")]
    assert found == ["empty-task"]


@pytest.mark.parametrize(
    "text",
    [
        "No open ports in the firewall", "Nothing to do page: add a picture", "No open issues",
        "Leer el fichero", "Leer", "None — return it from parse()", "(empty) state of the list",
        "(none) and (some)", "Empty the cache", "No tasks without a title", "Nothing left behind",
        "Keine doppelten Zeilen", "(optional: nothing)", "Nada te turbe", "Noteworthy",
    ],
)  # fmt: skip
def test_tasks_that_begin_like_it(text: str) -> None:
    assert shown("# Plan", "- [ ] a", f"- [ ] {text}")[1:] == [f"todo {text}"]


def test_no_bugs_is_a_criterion_only_with_a_box() -> None:
    assert is_no_task("No open issues.")
    assert shown("# Plan", "## Tasks", "- a", "- No known bugs") == ["todo a"]
