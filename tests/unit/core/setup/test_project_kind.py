"""What a repository holds, and the checks that fit it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ralph_ls.core.setup.documents import branch_slug
from ralph_ls.core.setup.draft import read_template
from ralph_ls.core.setup.project_kind import (
    ProjectCheck,
    agent_notes,
    checks_from,
    project_kind,
    validation_script,
)
from ralph_ls.protocol.lsp.setup import TemplateSource

NODE = '{"scripts": {"test": "vitest run", "lint": "eslint .", "start": "x", "build": 1}}'

PROJECTS: Mapping[str, tuple[Mapping[str, str], str, list[str]]] = {
    "nothing": ({"README.md": ""}, "", []),
    "pytest": (
        {"pyproject.toml": "[project.optional-dependencies]\ntest = ['pytest']\n[tool.ruff]\n"},
        "Python",
        ["python3 -m pytest -q", "python3 -m ruff check ."],
    ),
    "pytest by its file": (
        {"requirements.txt": "flask", "tests/conftest.py": "", ".venv": ""},
        "Python",
        [".venv/bin/python -m pytest -q"],
    ),
    "uv": (
        {"setup.py": "", "pytest.ini": "", "uv.lock": ""},
        "Python",
        ["uv run python -m pytest -q"],
    ),
    "poetry": (
        {"pyproject.toml": "pytest", "poetry.lock": ""},
        "Python",
        ["poetry run python -m pytest -q"],
    ),
    "unittest": (
        {"main.py": "", "tests/test_main.py": ""},
        "Python",
        ["python3 -m unittest discover -s tests"],
    ),
    "unittest in the root": (
        {"main.py": "", "test_main.py": "", "ruff.toml": ""},
        "Python",
        ["python3 -m unittest discover -s .", "python3 -m ruff check ."],
    ),
    "python without tests": ({"main.py": ""}, "Python", []),
    "npm": ({"package.json": NODE}, "JavaScript", ["CI=true npm run test", "npm run lint"]),
    "pnpm": (
        {"package.json": NODE, "tsconfig.json": "", "pnpm-lock.yaml": ""},
        "TypeScript",
        ["CI=true pnpm run test", "pnpm run lint"],
    ),
    "npm's own script": (
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\""}}'},
        "JavaScript",
        [],
    ),
    "no package": ({"package.json": "["}, "JavaScript", []),
    "an odd package": ({"package.json": "[]"}, "JavaScript", []),
    "odd scripts": ({"package.json": '{"scripts": []}'}, "JavaScript", []),
    "go": ({"go.mod": ""}, "Go", ["go vet ./...", "go test ./..."]),
    "rust": ({"Cargo.toml": ""}, "Rust", ["cargo test"]),
    "make": ({"go.mod": "", "Makefile": "test: x\n\ngo test\n"}, "Go", ["make test"]),
    "make check": ({"Makefile": "test:\n\ncheck:\n"}, "", ["make check"]),
    "make without either": ({"Makefile": "test := 1\nbuild:\n"}, "", []),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_the_checks_are_those_of_the_project(name: str) -> None:
    texts, language, commands = PROJECTS[name]
    found = project_kind(set(texts), texts)
    assert ", ".join(found.languages) == language
    assert [check.command for check in found.checks] == commands


def test_checks_of_a_template() -> None:
    assert checks_from(["go.mod: go test ./...", "make  check", "a b: c", "x: ", " "]) == (
        ProjectCheck(command="go test ./...", only_with="go.mod"),
        ProjectCheck(command="make check"),
        ProjectCheck(command="a b: c"),
        ProjectCheck(command="x:"),
    )


@pytest.mark.parametrize(
    ("path", "up"), [(".ralph/validate.sh", ".."), ("validate.sh", "."), ("a/b/v.sh", "../..")]
)
def test_the_script_runs_in_the_root_and_quotes_what_it_shows(path: str, up: str) -> None:
    text = validation_script(
        path,
        [ProjectCheck(command="echo 'a'"), ProjectCheck(command="go test", only_with="go.mod")],
    )
    assert f'cd "$(dirname "$0")/{up}"\n' in text
    assert "echo '$ echo '\\''a'\\'''\necho 'a'\n" in text
    assert text.endswith("if [ -e go.mod ]; then\n    echo '$ go test'\n    go test\nfi\n")


def test_a_project_without_a_test_yet_passes_pytest() -> None:
    text = validation_script("v.sh", [ProjectCheck(command="python3 -m pytest -q")])
    assert text.endswith("\npython3 -m pytest -q || [ $? -eq 5 ]\n")


def test_notes_name_the_checks() -> None:
    notes = agent_notes("Be brief.\n", [ProjectCheck(command="make check")])
    assert notes.startswith("# Notes for agents\n\nBe brief.\n\n## Checks\n")
    assert notes.endswith("\n\n- `make check`\n")
    assert agent_notes("Be brief.", []) == "# Notes for agents\n\nBe brief.\n"


def test_a_template_for_a_kind_of_project() -> None:
    text = (
        "---\nchecks:\n  - go.mod: go test\n  - make\n---\nA tool.\n"
        "# AGENTS.md\nBe brief.\n\n# Plan\n- [ ] one\n"
    )
    read = read_template("a", text, source=TemplateSource.OWN)
    assert read.template is not None
    assert (read.template.description, read.notes) == ("A tool.\n", "Be brief.\n")
    assert [item.title for item in read.template.items] == ["one"]
    assert len(read.checks) == 2


def test_a_branch_is_named_by_the_beginning_of_a_task() -> None:
    assert branch_slug("Fix the login: it fails\nalways") == "fix-the-login-it-fails"
