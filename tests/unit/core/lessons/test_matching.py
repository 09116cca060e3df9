"""Which lessons fit a project and a task, and which a prompt has room for."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.lessons.lesson import Lesson
from ralph_ls.core.lessons.matching import (
    ProjectFacts,
    choose_lessons,
    dependencies,
    fits_project,
    fits_task,
    languages_of,
    project_facts,
    tokens_of,
)
from ralph_ls.protocol.lessons import LessonScope


def lesson(name: str = "a", **more: Any) -> Lesson:
    return Lesson(**{"id": name, "title": "T", "text": "x", **more})


class TestLanguages:
    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            (["a.py", "README.md"], {"python"}),
            (["a.PY", "web/b.tsx", "web/c.ts"], {"python", "typescript"}),
            ([f"{n}.go" for n in range(40)] + ["tool.py"], {"go"}),
            (["README.md"], set()),
            ([], set()),
        ],
    )
    def test_they_are_those_of_the_files(self, files: list[str], expected: set[str]) -> None:
        assert languages_of(files) == expected


PACKAGE = '{"dependencies": {"React": "1"}, "devDependencies": {"vite": "2"}}'
PYPROJECT = """
[project]
dependencies = ["Django>=4", "  "]
[project.optional-dependencies]
x = ["flask"]
[dependency-groups]
dev = ["pytest>=9", {include-group = "x"}]
[tool.poetry.dependencies]
fastapi = "*"
[tool.poetry.group.d.dependencies]
b = "1"
"""
CARGO = '[dependencies]\nserde = "1"\n[dev-dependencies]\ntokio = {version = "1"}'
GO = "require (\n\tgithub.com/gin-gonic/gin v1.9\n\tgolang.org/x/mod/v2 v2.0\n)"


class TestDependencies:
    @pytest.mark.parametrize(
        ("name", "text", "expected"),
        [
            ("package.json", PACKAGE, "react vite"),
            ("package.json", '{"dependencies":["x"]}', ""),
            ("package.json", "[1]", ""),
            ("package.json", "{", ""),
            ("composer.json", '{"require":{"laravel/framework":"*"}}', "laravel/framework"),
            ("pyproject.toml", PYPROJECT, "django flask pytest fastapi b"),
            ("pyproject.toml", "dependencies = 3\nx = 1", ""),
            ("pyproject.toml", "[", ""),
            ("pyproject.toml", "[a.b.c.d.e.f.g]\ndependencies = ['x']", ""),
            ("Cargo.toml", CARGO, "serde tokio"),
            ("go.mod", GO, "github.com/gin-gonic/gin gin golang.org/x/mod/v2 mod"),
            ("Gemfile", "gem 'rails'\n  gem \"pg\"", "rails pg"),
            ("requirements.txt", "Flask==2\n# no\n-r other\n\nnumpy", "flask numpy"),
        ],
    )
    def test_they_are_read_from_manifests(self, name: str, text: str, expected: str) -> None:
        assert dependencies({name: text}) == set(expected.split())


class TestProject:
    FACTS = project_facts(["src/app.py", "db/migrations/1.sql"], {"requirements.txt": "django"})

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"scope": LessonScope.EVERYWHERE}, True),
            ({"scope": LessonScope.REPOSITORY}, True),
            ({"scope": LessonScope.LANGUAGE, "match": ("go", "python")}, True),
            ({"scope": LessonScope.LANGUAGE, "match": ("go",)}, False),
            ({"scope": LessonScope.FRAMEWORK, "match": ("django",)}, True),
            ({"scope": LessonScope.FRAMEWORK, "match": ("rails",)}, False),
            ({"files": ("migrations/**",)}, False),
            ({"files": ("**/migrations/*",)}, True),
            ({"problems": ("broken",)}, False),
        ],
    )
    def test_scope_and_files_decide(self, given: dict[str, Any], expected: bool) -> None:
        assert fits_project(lesson(**given), self.FACTS) is expected

    def test_without_files_only_general_ones_fit(self) -> None:
        assert fits_project(lesson(scope=LessonScope.EVERYWHERE), ProjectFacts())
        assert not fits_project(lesson(files=("*",)), ProjectFacts())


class TestTask:
    @pytest.mark.parametrize(
        ("words", "title", "expected"),
        [
            ((), None, True),
            ((), "Anything", True),
            (("migrat",), "Migrate the database", True),
            (("grate",), "Migrate the database", False),
            (("c++",), "Port the C++ parser", True),
            (("x", ""), "No such word", False),
            (("x",), None, False),
        ],
    )
    def test_a_word_begins_as_the_lesson_says(
        self, words: tuple[str, ...], title: str | None, expected: bool
    ) -> None:
        assert fits_task(lesson(tasks=words), title) is expected


class TestChoice:
    def test_the_most_specific_come_first(self) -> None:
        every = [
            lesson("d", scope=LessonScope.EVERYWHERE),
            lesson("c", scope=LessonScope.LANGUAGE),
            lesson("b", scope=LessonScope.FRAMEWORK),
            lesson("a2"),
            lesson("a1", hits=3),
            lesson("t", scope=LessonScope.EVERYWHERE, tasks=("parser",)),
            lesson("u", tasks=("other",)),
        ]
        found = choose_lessons(every, "Add a parser", max_tokens=1000)
        assert [one.id for one in found.taken] == ["t", "a1", "a2", "b", "c", "d"]
        assert not found.left_out

    def test_a_large_one_leaves_its_room_to_the_next(self) -> None:
        small, large = lesson("b", text="y" * 40), lesson("a", text="x" * 400)
        found = choose_lessons([large, small], None, max_tokens=tokens_of(small))
        assert ([one.id for one in found.taken], [one.id for one in found.left_out]) == (
            ["b"],
            ["a"],
        )

    def test_no_room_is_no_lesson(self) -> None:
        assert not choose_lessons([lesson()], None, max_tokens=0).taken

    def test_tokens_follow_the_bytes(self) -> None:
        assert tokens_of(lesson(text="ä" * 200)) > tokens_of(lesson(text="a" * 200))
