"""Lesson files: reading, writing and what is wrong with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.lessons.lesson import (
    LANGUAGES,
    MAX_TEXT,
    MAX_TITLE,
    Lesson,
    lesson_id_of,
    read_lesson,
    write_lesson,
)
from ralph_ls.protocol.lessons import LessonScope

WHOLE = """---
scope: framework
match: [Django, flask]
files: ["**/migrations/*.py"]
tasks: [database, "two words"]
source: "run 0a1b iterations 3, 5"
date: 2026-01-31
hits: 12
---

# Make migrations in one commit

First sentence.

Second.
"""


class TestRead:
    def test_all_keys_are_read(self) -> None:
        assert read_lesson("migrations", WHOLE) == Lesson(
            id="migrations",
            title="Make migrations in one commit",
            text="First sentence.\n\nSecond.",
            scope=LessonScope.FRAMEWORK,
            match=("django", "flask"),
            files=("**/migrations/*.py",),
            tasks=("database", "two words"),
            source="run 0a1b iterations 3, 5",
            date="2026-01-31",
            hits=12,
        )

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("# T\n\nx", "it has no scope; write one of: repository, language, framework"),
            ("---\nscope: everywere\n---\n# T", "unknown scope 'everywere'; did you mean"),
            ("---\nscope: galaxy\n---\n# T", "unknown scope 'galaxy'; write one of"),
            ("---\nscope: everywhere\n---\nno title", "it has no title"),
            ("---\nscope: everywhere\nmatch: [go]\n---\n# T", "match has no meaning"),
            ("---\nscope: language\n---\n# T", "match names no language"),
            ("---\nscope: language\nmatch: [pyton]\n---\n# T", "did you mean python?"),
            ("---\nscope: framework\n---\n# T", "match names no framework"),
            (
                "---\nscope: everywhere\nscoop: 1\n---\n# T",
                "unknown key scoop; did you mean scope?",
            ),
            ("---\nscope: everywhere\n{}\n---\n# T", "line 3: this line is not a key"),
            ("---\nscope: everywhere\ndate: 2026-02-31\n---\n# T", "is not a date"),
            ("---\nscope: everywhere\ndate: 20260131\n---\n# T", "is not a date"),
            ("---\nscope: everywhere\nhits: many\n---\n# T", "is not a whole number"),
            (f"---\nscope: everywhere\n---\n# {'T' * (MAX_TITLE + 1)}", "its title is longer"),
            (f"---\nscope: everywhere\n---\n# T\n{'x' * (MAX_TEXT + 1)}", "its text is longer"),
        ],
    )
    def test_what_is_wrong_is_reported(self, text: str, problem: str) -> None:
        (found,) = read_lesson("a", text).problems
        assert problem in found

    def test_an_id_must_be_a_plain_file_name(self) -> None:
        text = "---\nscope: everywhere\n---\n# T"
        assert "file name" in read_lesson("../Up", text).problems[0]
        assert not read_lesson("up.2_b-c", text).problems

    @given(st.text())
    def test_reading_never_fails(self, text: str) -> None:
        read_lesson("a", text)

    @given(st.text())
    def test_reading_front_matter_never_fails(self, text: str) -> None:
        read_lesson("a", f"---\n{text}\n---\n")


WORDS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=20
).map(lambda text: " ".join(text.split()))
LINES = WORDS.filter(lambda text: bool(text) and not text.startswith(("#", "---")))


class TestWrite:
    @given(
        title=LINES.map(lambda text: f"t {text} t"),
        text=st.lists(LINES, max_size=3).map("\n\n".join),
        scope=st.sampled_from(
            [
                (LessonScope.EVERYWHERE, ()),
                (LessonScope.REPOSITORY, ()),
                (LessonScope.LANGUAGE, ("python", "c++")),
                (LessonScope.FRAMEWORK, ("@scope/name", "ruby on rails")),
            ]
        ),
        lists=st.lists(st.lists(LINES, max_size=3).map(tuple), min_size=2, max_size=2),
        hits=st.integers(0, 10**6),
    )
    def test_what_was_written_is_read_back(
        self,
        title: str,
        text: str,
        scope: tuple[LessonScope, tuple[str, ...]],
        lists: list[tuple[str, ...]],
        hits: int,
    ) -> None:
        files, tasks = lists
        lesson = Lesson(
            id="a",
            title=title,
            text=text,
            scope=scope[0],
            match=scope[1],
            files=files,
            tasks=tasks,
            source=title,
            date="2026-01-31",
            hits=hits,
        )
        assert read_lesson("a", write_lesson(lesson)) == lesson

    def test_words_with_commas_are_listed_line_by_line(self) -> None:
        lesson = Lesson(id="a", title="T", text="x", files=("*.{a,b}", "src/[a]*", "plain"))
        text = write_lesson(lesson)
        assert 'files:\n  - "*.{a,b}"\n  - "src/[a]*"\n  - plain\n' in text
        assert read_lesson("a", text) == lesson


class TestId:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("Run the formatter first", "run-the-formatter-first"),
            ("validation .ralph/validate.sh", "validation-ralph-validate-sh"),
            ("日本", "lesson"),
            ("word " * 30, "-".join(["word"] * 12)),
        ],
    )
    def test_it_is_made_of_words(self, words: str, expected: str) -> None:
        assert lesson_id_of(words) == expected


def test_no_language_has_the_endings_of_another() -> None:
    endings = [ending for of in LANGUAGES.values() for ending in of]
    assert len(endings) == len(set(endings))
