"""Project kind: languages and checks of a repository, read from the names and texts of its files.

The checks are commands of a fixed table, so that no text of a repository becomes part of a script.
See docs/setting-up.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

READ_FILES = (
    *("pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"),
    *("package.json", "Makefile", "makefile", "GNUmakefile"),
)
"""Files of the root whose text matters; of all others the name is enough."""

TEST_FOLDERS = ("tests", "test")
"""Folders whose names matter too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCheck:
    """A command that passes when the work is right."""

    command: str
    only_with: str = ""
    """The file that the command needs; empty where it is known to be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectKind:
    """What a repository holds."""

    languages: tuple[str, ...] = ()
    checks: tuple[ProjectCheck, ...] = ()


def project_kind(names: Collection[str], texts: Mapping[str, str]) -> ProjectKind:
    """The kind of the project with these paths and texts, by path.

    The targets ``check`` and ``test`` of a makefile come before everything else, since they are
    what the project itself calls its checks.
    """
    languages: list[str] = []
    checks: list[str] = []
    for language, commands in (
        _python(names, texts),
        _node(names, texts),
        ("Go" if "go.mod" in names else "", ("go vet ./...", "go test ./...")),
        ("Rust" if "Cargo.toml" in names else "", ("cargo test",)),
    ):
        if language:
            languages.append(language)
            checks += commands
    checks = list(_make(texts)) or checks
    return ProjectKind(
        languages=tuple(languages),
        checks=tuple(ProjectCheck(command=command) for command in checks),
    )


def _python(names: Collection[str], texts: Mapping[str, str]) -> tuple[str, Sequence[str]]:
    signs = {"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"}
    if not (signs & set(names) or any(_is_in_root(name, ".py") for name in names)):
        return "", ()
    run = next((words for file, words in _RUNNERS.items() if file in names), "python3 -m")
    said = "\n".join(text for name, text in texts.items() if name in _PYTHON_TEXTS)
    checks = [f"{run} {suite}" for suite in _suite(names, said)]
    if "[tool.ruff" in said or "ruff.toml" in names:
        checks.append(f"{run} ruff check .")
    return "Python", checks


def _suite(names: Collection[str], said: str) -> Iterator[str]:
    """The module that runs the tests, with its arguments."""
    if "pytest" in said or {"pytest.ini", "conftest.py", "tests/conftest.py"} & set(names):
        yield "pytest -q"
    elif any(_TEST_MODULE.search(name) for name in names):
        folder = "tests" if any(name.startswith("tests/test") for name in names) else "."
        yield f"unittest discover -s {folder}"


_RUNNERS = {
    "uv.lock": "uv run python -m",
    "poetry.lock": "poetry run python -m",
    ".venv": ".venv/bin/python -m",
}
"""Interpreters of a project by the file that shows them."""
_PYTHON_TEXTS = frozenset(READ_FILES[:5])
_TEST_MODULE = re.compile(r"^(?:tests/)?test[^/]*\.py$")


def _node(names: Collection[str], texts: Mapping[str, str]) -> tuple[str, Sequence[str]]:
    if "package.json" not in names:
        return "", ()
    text = texts.get("package.json", "")
    language = "TypeScript" if "tsconfig.json" in names or '"typescript"' in text else "JavaScript"
    scripts = _scripts_of(text)
    run = next((word for file, word in _MANAGERS.items() if file in names), "npm")
    checks = []
    if scripts.get("test", "") and "no test specified" not in scripts["test"]:
        checks.append(f"CI=true {run} run test")
    checks += [f"{run} run {name}" for name in ("lint", "typecheck", "build") if name in scripts]
    return language, checks


def _scripts_of(text: str) -> dict[str, str]:
    try:
        package: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    scripts = package.get("scripts") if isinstance(package, dict) else None
    found = scripts.items() if isinstance(scripts, dict) else ()
    return {str(name): value for name, value in found if isinstance(value, str)}


_MANAGERS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}
"""Package managers by their lock file."""


def _make(texts: Mapping[str, str]) -> Iterator[str]:
    """``make check``, else ``make test``, where the first makefile has such a target."""
    files = (texts[name] for name in READ_FILES[6:] if name in texts)
    targets = {found[1] for found in _TARGET.finditer(next(files, ""))}
    target = next((name for name in ("check", "test") if name in targets), None)
    if target is not None:
        yield f"make {target}"


_TARGET = re.compile(r"^(check|test)[ \t]*:(?![:=])", re.MULTILINE)


def _is_in_root(name: str, ending: str) -> bool:
    return "/" not in name and name.endswith(ending)


def checks_from(lines: Sequence[str]) -> tuple[ProjectCheck, ...]:
    """Checks as a template writes them: ``go.mod: go test ./...``, or the command alone."""
    checks = []
    for line in lines:
        file, gap, command = line.partition(": ")
        is_guarded = bool(gap) and bool(_FILE.fullmatch(file)) and bool(command.strip())
        found = command if is_guarded else line
        checks.append(
            ProjectCheck(command=" ".join(found.split()), only_with=file if is_guarded else "")
        )
    return tuple(check for check in checks if check.command)


_FILE = re.compile(r"[\w./-]+")


def validation_script(path: str, checks: Sequence[ProjectCheck]) -> str:
    """A validation script with these checks, for this path in the work tree."""
    up = "/".join([".."] * path.count("/")) or "."
    lines = [_SCRIPT_HEAD.format(up=up)]
    for check in checks:
        shown = check.command.replace("'", "'\\''")
        # In a project without a test yet, pytest ends with 5.
        passes = " || [ $? -eq 5 ]" if check.command.endswith("pytest -q") else ""
        body = f"echo '$ {shown}'\n{check.command}{passes}\n"
        if check.only_with:
            inside = "".join(f"    {line}\n" for line in body.splitlines())
            body = f"if [ -e {check.only_with} ]; then\n{inside}fi\n"
        lines.append(body)
    return "\n".join(lines)


_SCRIPT_HEAD = """\
#!/bin/sh
# Runs after each iteration. If a command fails, the run ends with code 5; to let the next
# iteration fix it instead, set on_validate_fail = "repair" in .ralph/config.toml.
# After a change by hand, approve it: ralph allow
set -eu
cd "$(dirname "$0")/{up}"
"""


def agent_notes(body: str, checks: Sequence[ProjectCheck]) -> str:
    """``AGENTS.md``: the notes of a template, and the commands that have to pass."""
    commands = "\n".join(f"- `{check.command}`" for check in checks)
    parts = ["# Notes for agents", body.strip()]
    parts += [f"## Checks\n\nThese have to pass before a task is done:\n\n{commands}"] * bool(
        checks
    )
    return "\n\n".join(part for part in parts if part) + "\n"
