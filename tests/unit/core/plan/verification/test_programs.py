"""Which words in a plan are a command, though nothing marks them as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.verification.commands import AnyProgram, is_command
from ralph_ls.core.plan.verification.criteria import command_of, criterion_key


@pytest.mark.parametrize(
    "text",
    [
        "npm test auth.test.ts",
        "pytest",
        "./run.sh",
        "scripts/check.sh --all",
        "/usr/bin/true",
        "../x/y z",
        "go test ./...",
        "git diff --exit-code",
        "make test",
        "make -j2 it fast",
        "sh check.sh",
        "node build.js",
        "make all V=1",
        "tsc --noEmit",
    ],
)
def test_what_is_surely_a_command(text: str) -> None:
    assert is_command(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "see the notes",
        "make it fast",
        "make sure",
        "make",
        "go to the page",
        "go",
        "git history is clean",
        "just look at it",
        "1.5 s",
        "e.g. this",
        "and / or",
    ],
)
def test_what_is_none(text: str) -> None:
    assert not is_command(text)


@pytest.mark.parametrize(
    ("criterion", "command"),
    [
        ("Unit tests pass (npm test auth.test.ts)", "npm test auth.test.ts"),
        ("The mailer's test passes (`make test`).", "make test"),
        ("The mailer's test passes (`go on` with it)", "go on"),
        ("It is fast (see the notes)", None),
        ("It is fast (`a` or `b`)", None),
        ("`pytest` passes", "pytest"),
    ],
)
def test_a_criterion_may_name_it_in_brackets(criterion: str, command: str | None) -> None:
    run = command_of(criterion)
    assert (run and run.command) == command


def test_a_criterion_is_the_same_with_the_exit_code_of_its_command() -> None:
    key = criterion_key("The test passes (make test - exit 0)")
    assert key == criterion_key("The test passes (make test)") == criterion_key("The test passes")


@given(st.text())
def test_it_is_total(text: str) -> None:
    is_command(text)


def test_where_path_is_unknown_every_name_may_be_a_program() -> None:
    assert "frobnicate" in AnyProgram()
