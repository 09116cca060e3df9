"""A description as a specification: its title, name, text, and its entry in the index."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.specs import SpecStatus, check_specs, is_spec, read_index, read_spec
from ralph_ls.core.setup.documents import (
    is_text_of,
    spec_file_name,
    spec_text,
    spec_title,
    with_index_entry,
)

TODAY = date(2026, 1, 31)


@pytest.mark.parametrize(
    ("description", "title", "name"),
    [
        ("Mend the login", "Mend the login", "mend-the-login.md"),
        ("\n# Mend the *login*!\n\nSoon.", "Mend the *login*!", "mend-the-login.md"),
        ("What goes wrong:\n- the login", "the login", "the-login.md"),
        ("Only a label:", "Only a label:", "only-a-label.md"),
        ("1. [ ] First   this", "First this", "first-this.md"),
        ("修复登录问题", "修复登录问题", "修复登录问题.md"),
        ("Größe ändern", "Größe ändern", "größe-ändern.md"),
        ("README", "README", "task-readme.md"),
        ("com1", "com1", "task-com1.md"),
        ("!!!", "!!!", "task.md"),
        ("../../etc/passwd", "../../etc/passwd", "etc-passwd.md"),
        ("x" * 90, "x" * 80 + "…", "x" * 40 + ".md"),
    ],
)
def test_title_and_name(description: str, title: str, name: str) -> None:
    assert spec_title(description) == title
    assert spec_file_name(description, ()) == name


def test_a_long_title_is_cut_between_words() -> None:
    title = spec_title("a word, " * 20)
    assert title.endswith("a word…")
    assert len(title) <= 80
    assert spec_file_name("one two three " * 9, ()) == "one-two-three-one-two-three-one-two.md"


def test_a_name_that_is_taken_gets_a_number_whatever_its_case() -> None:
    assert spec_file_name("Login", ["LOGIN.md", "login-2.md"]) == "login-3.md"


def test_the_text_has_front_matter_and_the_description_as_it_was_given() -> None:
    text = spec_text("Mend it.\r\n\r\nDone when:\r\n- [ ] a\r\n", created=TODAY)
    assert text == (
        "---\nstatus: active\ncreated: 2026-01-31\n---\n\n# Mend it.\n\nMend it.\n\n"
        "Done when:\n- [ ] a\n"
    )
    spec = read_spec("a.md", text)
    assert (spec.status, spec.created, spec.remarks) == (SpecStatus.ACTIVE, TODAY, ())
    assert spec_text("# Own title\nText", created=TODAY).endswith("---\n\n# Own title\nText\n")


def test_a_specification_is_known_again() -> None:
    text = spec_text("Mend it", created=TODAY)
    assert is_text_of(text.replace("\n", "\r\n"), " Mend it\r\n")
    assert not is_text_of(text, "Mend")
    assert not is_text_of(text, " ")


def test_an_index_is_made_and_fits() -> None:
    text = with_index_entry(None, "login.md", "Mend [the] login (now)", today=TODAY)
    (entry,) = read_index(text)
    assert (entry.title, entry.name, entry.part) == (
        "Mend the login now",
        "login.md",
        SpecStatus.ACTIVE,
    )
    spec = read_spec("login.md", spec_text("Mend it", created=TODAY))
    assert check_specs([spec], [entry], parse_markdown("").plan, "") == {}
    assert with_index_entry(text, "login.md", "Other words", today=TODAY) == text


@pytest.mark.parametrize(
    ("description", "heading"),
    [
        (
            "A command line tool that greets people in three languages, and says goodbye.",
            "A command line tool",
        ),
        ("Build a REST API for todo items with authentication", "Build a REST API for todo items"),
        ("Login: users sign in by mail", "Login: users sign in by mail"),
        ("User login: by mail", "User login"),
        ("A command that adds numbers. It has tests.", "A command that adds numbers"),
        ("Refactor the settings of the very old program for the new storage engine", ""),
    ],
)
def test_an_entry_has_a_short_heading_and_the_whole_first_sentence(
    description: str, heading: str
) -> None:
    (entry,) = read_index(with_index_entry(None, "a.md", description, today=TODAY))
    assert entry.title == (heading or "Refactor the settings of the very old program")
    assert entry.fields == {
        "status": "Active",
        "priority": "Medium",
        "dependencies": "None",
        "last updated": "2026-01-31",
        "summary": description,
    }


@pytest.mark.parametrize(
    ("index", "wanted"),
    [
        (
            "# Index\r\n\r\n## Active\r\n\r\n### A (a.md)\r\n\r\n## Archived\r\n",
            (
                "# Index\r\n\r\n## Active\r\n\r\n### A (a.md)\r\n\r\n### B (b.md)\r\n\r\n"
                "- **Status:** Active\r\n- **Priority:** Medium\r\n- **Dependencies:** None\r\n"
                "- **Last Updated:** 2026-01-31\r\n- **Summary:** B\r\n\r\n## Archived\r\n"
            ),
        ),
        (
            "# Index\n",
            (
                "# Index\n\n## Active Specifications\n\n### B (b.md)\n\n- **Status:** Active\n"
                "- **Priority:** Medium\n- **Dependencies:** None\n"
                "- **Last Updated:** 2026-01-31\n- **Summary:** B\n"
            ),
        ),
    ],
)
def test_an_index_of_somebodys_keeps_what_it_has(index: str, wanted: str) -> None:
    assert with_index_entry(index, "b.md", "B", today=TODAY) == wanted


@given(st.text(min_size=1))
def test_any_description_has_a_name_that_is_read(description: str) -> None:
    name = spec_file_name(description, ())
    assert is_spec(name)
    assert "/" not in name
    assert "\\" not in name
    assert not name.startswith(".")
