"""Which commands that were run answer the one that a criterion asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.verification.commands import commands_in, program_in, satisfies_command

AUTH = "npm test auth.test.ts"


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        (AUTH, AUTH),
        (AUTH, "npm  test 'auth.test.ts'"),
        (AUTH, "cd web && npm test auth.test.ts"),
        (AUTH, "cd web; npm test auth.test.ts"),
        (AUTH, "env -u X CI=1 npm test auth.test.ts"),
        (AUTH, "CI=1 npm test auth.test.ts"),
        (AUTH, "time npm test auth.test.ts --silent"),
        (AUTH, "npm test ./auth.test.ts -- --coverage"),
        (AUTH, "npm ci && npm test auth.test.ts"),
        (AUTH, "npm test auth.test.ts > out.log 2>&1"),
        ("./gradlew test", "gradlew test --info"),
        ("gradlew test", "./gradlew test"),
        ("pytest -q", "uv run --extra dev -- pytest -q"),
        ("pytest -q", "python3.12 -W error -m pytest -q -n 2"),
        ("pytest -q", ".venv/bin/python -m pytest -q"),
        ("pytest -q", ".venv/bin/pytest -q"),
        ("uv run pytest", "pytest -x"),
        ("python -m pytest", "poetry run pytest"),
        ("rspec", "bundle exec rspec"),
        ("tsc --noEmit", "pnpm exec tsc --noEmit --pretty false"),
        ("vitest", "npx --yes vitest run"),
        ("jest", "node_modules/.bin/jest"),
        ("ruff check", "ruff check ."),
        ("ruff", "ruff check"),
        ("go test", "go test ./..."),
        ("make lint", "make lint test"),
        ("make lint && make test", "make lint && make fmt && make test"),
        ("pytest", "timeout -k 5 60 pytest --junitxml out.xml"),
        ("cypress run", "cypress run --base-url http://localhost:1"),
        ("cat x | wc -l", "cat x | wc -l"),
        ("npx", "npx"),
        ("python run.py", "python run.py"),
        ("it's x", "it's x"),
    ],
)
def test_the_same_command_however_it_is_started(asked: str, ran: str) -> None:
    assert satisfies_command(asked, ran)


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        (AUTH, ""),
        (AUTH, "true"),
        (AUTH, "npm test"),
        (AUTH, "npm test other.test.ts"),
        (AUTH, "echo npm test auth.test.ts"),
        (AUTH, "npm test auth.test.ts -t login"),
        (AUTH, "npm test auth.test.ts --grep=x"),
        (AUTH, "npm test auth.test.ts --filter x"),
        (AUTH, "npm test auth.test.ts --only x"),
        (AUTH, "npm test auth.test.ts other.test.ts"),
        (AUTH, "npm test auth.test.ts || true"),
        (AUTH, "npm test auth.test.ts; true"),
        (AUTH, "npm test auth.test.ts | tail -3"),
        (AUTH, "npm test auth.test.ts --if-present"),
        ("npm test", AUTH),
        ("npm test", "npm test auth"),
        ("npm run e2e", "npm run e2e login"),
        ("pytest", "pytest -k one"),
        ("pytest", "pytest -kone"),
        ("pytest", "pytest tests"),
        ("pytest", "pytest -q tests/unit"),
        ("pytest", "pytest tests/a.py::test_b"),
        ("pytest", "pytest --collect-only"),
        ("pytest", "PYTEST_ADDOPTS=-kx pytest"),
        ("pytest", "npm test"),
        ("cargo test", "cargo test parser"),
        ("ruff check", "ruff check --exit-zero"),
        ("make lint && make test", "make lint"),
        ("make lint && make test", "make test && make lint"),
        ("", ""),
        ("cd x", "cd x"),
    ],
)
def test_another_command_or_less_of_it(asked: str, ran: str) -> None:
    assert not satisfies_command(asked, ran)


def test_the_program_of_a_command() -> None:
    assert program_in("cd x && time tools/run y") == "run"
    assert program_in(" ") == ""
    assert commands_in("a; b && c 'd e'") == (("b",), ("c", "d e"))


@given(st.text("ab '\"$|\\=~#*-&;>/.", max_size=30), st.text("ab '|&;-/.", max_size=30))
def test_it_is_total(asked: str, ran: str) -> None:
    satisfies_command(asked, ran)
    if commands_in(asked) and not set(asked) & set("|;>'\"\\"):
        assert satisfies_command(asked, asked)
