"""Lesson matching: which lessons fit a project and a task, and which of them a prompt takes.

A prompt has room for few, so the most specific come first: those that name words of the task, then
those of the repository, of a framework, of a language, and those for every project.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ralph_ls.core.lessons.lesson import LANGUAGES, Lesson
from ralph_ls.core.scripts.globs import matches_globs
from ralph_ls.protocol.lessons import LessonScope

MANIFESTS = (
    "package.json",
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "Cargo.toml",
    "go.mod",
    "Gemfile",
    "composer.json",
)
"""Files of the root that name what a project depends on."""

SMALLEST_SHARE = 0.05
"""Share of the recognised source files that makes a language one of the project's."""

BYTES_PER_TOKEN = 4
"""Bytes of text that are estimated as one token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFacts:
    """What lessons are matched with."""

    files: tuple[str, ...] = ()
    """Paths of the project's files."""
    languages: frozenset[str] = frozenset()
    frameworks: frozenset[str] = frozenset()
    """Names of dependencies, in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenLessons:
    """The lessons of one prompt."""

    taken: tuple[Lesson, ...] = ()
    left_out: tuple[Lesson, ...] = ()
    """Those that fit the task, and had no room."""


def project_facts(files: Sequence[str], texts: Mapping[str, str]) -> ProjectFacts:
    """Facts of a project with these files; ``texts`` has the content of its manifests by name."""
    return ProjectFacts(
        files=tuple(files), languages=languages_of(files), frameworks=dependencies(texts)
    )


def languages_of(files: Iterable[str]) -> frozenset[str]:
    """The languages of these files; a stray script makes no language of a large project."""
    counted = Counter(
        language
        for language, endings in LANGUAGES.items()
        for path in files
        if path.lower().endswith(endings)
    )
    total = sum(counted.values())
    return frozenset(one for one, n in counted.items() if n >= total * SMALLEST_SHARE)


def dependencies(texts: Mapping[str, str]) -> frozenset[str]:
    """Names that these manifests depend on, in lower case; unreadable ones name none."""
    found: set[str] = set()
    for name, text in texts.items():
        match name:
            case "package.json" | "composer.json":
                found |= _of_json(text)
            case "pyproject.toml" | "Cargo.toml":
                found |= _of_toml(text)
            case "go.mod":
                found |= {word for path in _GO.findall(text) for word in (path, _last(path))}
            case "Gemfile":
                found |= set(_GEM.findall(text))
            case _:
                found |= {_requirement(line) for line in text.splitlines()}
    return frozenset(word.lower() for word in found if word)


_GO = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[a-z]+/[\w./-]+)\s+v\d", re.MULTILINE)
_GEM = re.compile(r"^\s*gem\s+[\"']([\w-]+)[\"']", re.MULTILINE)
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def _last(path: str) -> str:
    """``gin`` of ``github.com/gin-gonic/gin``, without a version at the end."""
    return re.sub(r"/v\d+$", "", path).rpartition("/")[2]


def _requirement(line: str) -> str:
    found = _NAME.match(line)
    return "" if found is None else found[1]


def _of_json(text: str) -> set[str]:
    try:
        package: Any = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    found: set[str] = set()
    for key in ("dependencies", "devDependencies", "peerDependencies", "require", "require-dev"):
        names = package.get(key) if isinstance(package, dict) else None
        found |= set(names) if isinstance(names, dict) else set()
    return found


def _of_toml(text: str) -> set[str]:
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return set()
    return {name for name in _dependencies_in(tables, depth=0) if name}


def _dependencies_in(table: Mapping[str, Any], *, depth: int) -> Iterable[str]:
    """Names below every key ``dependencies``, and in the groups of Python projects."""
    for key, value in table.items():
        if key.endswith("dependencies") or key == "dependency-groups":
            yield from _names_in(value)
        elif isinstance(value, dict) and depth < DEEPEST:
            yield from _dependencies_in(value, depth=depth + 1)


DEEPEST = 5
"""Tables inside tables in which dependencies are looked for."""


def _names_in(value: Any) -> Iterable[str]:
    if isinstance(value, list):
        yield from (_requirement(one) for one in value if isinstance(one, str))
    elif isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, list):
                yield from _names_in(inner)
            else:
                yield name


def fits_project(lesson: Lesson, facts: ProjectFacts) -> bool:
    """Whether a lesson without problems is meant for such a project."""
    if lesson.problems or (lesson.files and not matches_globs(lesson.files, facts.files)):
        return False
    match lesson.scope:
        case LessonScope.LANGUAGE:
            return not facts.languages.isdisjoint(lesson.match)
        case LessonScope.FRAMEWORK:
            return not facts.frameworks.isdisjoint(lesson.match)
        case _:
            return True


def fits_task(lesson: Lesson, title: str | None) -> bool:
    """Whether it is meant for a task with this title; None: for work without a task."""
    return not lesson.tasks or (title is not None and _named(lesson, title))


def _named(lesson: Lesson, title: str) -> bool:
    words = title.casefold()
    return any(
        re.search(rf"(?<!\w){re.escape(word.casefold())}", words) for word in lesson.tasks if word
    )


def tokens_of(lesson: Lesson) -> int:
    """Estimated tokens of a lesson in a prompt."""
    size = len(f"{lesson.title}{lesson.text}".encode("utf-8", errors="replace"))
    return -(-(size + FRAME_BYTES) // BYTES_PER_TOKEN)


FRAME_BYTES = 40
"""Bytes of the quotation marks and the id around a lesson."""

_NEARNESS = {
    LessonScope.REPOSITORY: 0,
    LessonScope.FRAMEWORK: 1,
    LessonScope.LANGUAGE: 2,
    LessonScope.EVERYWHERE: 3,
}


def choose_lessons(
    lessons: Iterable[Lesson], title: str | None, *, max_tokens: int
) -> ChosenLessons:
    """The lessons of a prompt for a task with this title, within so many estimated tokens.

    One that is too large leaves its room to the next. All fit the project already.
    """
    if not max_tokens:
        return ChosenLessons()
    fitting = sorted(
        (lesson for lesson in lessons if fits_task(lesson, title)),
        key=lambda one: (not one.tasks, _NEARNESS[one.scope], -one.hits, one.id),
    )
    taken, left_out, room = [], [], max_tokens
    for lesson in fitting:
        size = tokens_of(lesson)
        if size <= room:
            taken.append(lesson)
            room -= size
        else:
            left_out.append(lesson)
    return ChosenLessons(taken=tuple(taken), left_out=tuple(left_out))
