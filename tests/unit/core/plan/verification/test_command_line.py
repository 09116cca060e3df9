"""Commands that a plan names, as words for no shell."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.verification.commands import words_of_command


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param("npm test auth.test.ts", ["npm", "test", "auth.test.ts"], id="words"),
        pytest.param(" tsc --noEmit ", ["tsc", "--noEmit"], id="flags"),
        pytest.param("./run.sh -k 'a or b*'", ["./run.sh", "-k", "a or b*"], id="single quotes"),
        pytest.param('pytest -k "a b"', ["pytest", "-k", "a b"], id="double quotes"),
        pytest.param("make X=1 a#b a~", ["make", "X=1", "a#b", "a~"], id="plain signs"),
        pytest.param("npm run test:e2e -- --ci", ["npm", "run", "test:e2e", "--", "--ci"]),
    ],
)
def test_a_command_is_its_words(command: str, words: list[str]) -> None:
    assert words_of_command(command) == tuple(words)


@pytest.mark.parametrize(
    "command",
    [
        *("", "  ", "a | b", "a && b", "a; b", "a > b", "$HOME/x", "a $(b)", "a `b`", "ls *.py"),
        *("cd ~/x", "~/x", "a # b", "A=1 b", "(a)", "a {b,c}", "a\nb", "a\x00b", "a \\b", "a?"),
        *('a "$B"', 'a "`b`"', "a 'b", 'a "b', "x" * 401, "'' a", "! a"),
    ],
)
def test_what_only_a_shell_understands_has_no_words(command: str) -> None:
    assert words_of_command(command) is None


@given(st.text("ab '\"$|\\=~#*-", max_size=20))
def test_words_are_what_a_shell_would_make_of_it(command: str) -> None:
    words = words_of_command(command)
    assert words is None or (list(words) == shlex.split(command) and words[0])
