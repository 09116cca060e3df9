"""Which words in a plan are a command, though nothing marks them as one.

``(npm test)`` behind a criterion is a command, and ``(see the notes)`` is none. What begins with a
path, or with the name of a program that builds or tests and is no word of English, is taken for
one. Names that are words as well are looked at closer. The user sees each before it is run.
"""

from __future__ import annotations

import re
from collections.abc import Container


def is_command(text: str) -> bool:
    """Whether a text without marks is surely meant to be run. Total."""
    words = text.split()
    if not words:
        return False
    name, arguments = words[0], words[1:]
    if _PATH.match(name) is not None or name in _PROGRAMS:
        return True
    known = _WITH.get(name)
    if known is not None:
        return bool(arguments) and arguments[0] in known
    is_short = len(arguments) == 1 and arguments[0].casefold() not in _ENGLISH
    return name in _AMBIGUOUS and (is_short or any(map(_is_technical, arguments)))


def names_program(name: str, on_path: Container[str] = ()) -> bool:
    """Whether a word is a program: one of the tables, a path, or a name that is on PATH."""
    is_known = name in _PROGRAMS or name in _WITH or name in _AMBIGUOUS
    return is_known or name in on_path or _PATH.match(name) is not None


class AnyProgram(Container[str]):
    """Stands for what is on PATH where that cannot be known: every name is a program."""

    def __contains__(self, name: object) -> bool:
        return True


def has_plain_words(text: str) -> bool:
    """Whether a command without marks goes over into a sentence: "pytest suite", "make and so"."""
    return any(word.casefold() in _ENGLISH or word in _NOUNS for word in text.split()[1:])


def is_surely_whole(text: str) -> bool:
    """Whether every word of a command without marks belongs to it, as far as can be known."""
    name, *arguments = text.split()
    has_verb = bool(arguments) and arguments[0] in _WITH.get(name, _VERBS.get(name, ()))
    rest = arguments[1:] if has_verb else arguments
    return is_command(text) and all(one == "./..." or _is_technical(one) for one in rest)


_PATH = re.compile(r"\.{0,2}/?(?:[\w.-]+/)+[\w.-]+\Z")
_NAMES = """
bats bazel bundle bunx cargo clippy cmake composer coverage cppcheck ctest cypress dotnet eslint
flake8 golangci-lint gradle gradlew grep helm hatch isort jasmine jest kubectl ktlint meson mocha
mvn mvnw mypy npm npx nox nosetests nx phpstan phpunit pip pipenv pnpm pre-commit prettier psql
pyright pytest python python3 rspec rubocop rubyfmt ruff rustc rustfmt sbt shellcheck stylelint
swiftlint terraform tflint tox tsc turbo uv vitest xcodebuild yarn zig
"""
_PROGRAMS = frozenset(_NAMES.split())
_WITH = {
    "go": frozenset({"build", "fmt", "generate", "run", "test", "tool", "vet"}),
    "git": frozenset({"diff", "fsck", "grep", "log", "ls-files", "rev-parse", "show", "status"}),
    "bun": frozenset({"run", "test", "x"}),
    "deno": frozenset({"check", "fmt", "lint", "run", "task", "test"}),
    "docker": frozenset({"build", "compose", "run"}),
    "poetry": frozenset({"check", "run"}),
    "swift": frozenset({"build", "run", "test"}),
    "mix": frozenset({"compile", "format", "test"}),
    "flutter": frozenset({"analyze", "build", "test"}),
    "dart": frozenset({"analyze", "format", "run", "test"}),
}
"""By what follows them: these are words of English, too."""
_VERBS = {
    "cargo": frozenset({"build", "check", "clippy", "test"}),
    "dotnet": frozenset({"build", "test"}),
    "npm": frozenset({"test"}),
    "pnpm": frozenset({"test"}),
    "ruff": frozenset({"check"}),
    "yarn": frozenset({"test"}),
}
_NOUNS = frozenset({"command", "job", "process", "program", "script", "step", "suite"})
_AMBIGUOUS = frozenset({"bash", "diff", "just", "make", "node", "php", "rake", "ruby", "sh"})
_WORDS = """
a an and any be better certain clear do good is it not of or ready sense sure that the them these
this those up use work works
"""
_ENGLISH = frozenset(_WORDS.split())


def _is_technical(argument: str) -> bool:
    """Whether an argument is none of English: an option, a file, an assignment."""
    return re.search(r"\A--?\w|\w[./=]\w", argument) is not None
