"""The commands of shell scripts, word by word."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.scripts.shell import DEEPEST_NESTING, ShellWord, literal_text, shell_commands


def shown(word: ShellWord) -> str:
    """A word in which what is unknown is a question mark."""
    return "".join(
        f"<{part.variable}>" if part.variable else part.text if part.is_known else "?"
        for part in word
    )


def read(text: str) -> list[list[str]]:
    return [[shown(word) for word in command.words] for command in shell_commands(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("# only . this\n\n", [], id="comment"),
        pytest.param("a b\tc\r\nd", [["a", "b", "c"], ["d"]], id="words"),
        pytest.param("a; b & c && d || e | f", [[x] for x in "abcdef"], id="separators"),
        pytest.param("(a; b)", [["a"], ["b"]], id="subshell"),
        pytest.param("a#b # c", [["a#b"]], id="comment-behind"),
        pytest.param("a \\\n b\\\nc", [["a", "bc"]], id="continued"),
        pytest.param("'a b'\"c d\" e\\ f", [["a bc d", "e f"]], id="quotes"),
        pytest.param('""', [[""]], id="empty-word"),
        pytest.param('"a\\"b\\$c\\d\\\ne"', [['a"b$c\\de']], id="escapes-in-quotes"),
        pytest.param("$'a b' $\"c\" $", [["a b", "c", "$"]], id="dollar-quotes"),
        pytest.param('$A ${B} "$C"d $1 $@', [["<A>", "<B>", "<C>d", "<1>", "<@>"]], id="names"),
        pytest.param("${A%/*}/x ${A:-}", [["?/x", "?"]], id="computed"),
        pytest.param(
            "x $(a 'b)' \"$(c ')' d)\") e",
            [["c", ")", "d"], ["a", "b)", "?"], ["x", "?", "e"]],
            id="nested",
        ),
        pytest.param("x `a \\`b\\``", [["b"], ["a", "?"], ["x", "?"]], id="back-ticks"),
        pytest.param(
            'x $(a \\) b) "$(c)"', [["a", ")", "b"], ["c"], ["x", "?", "?"]], id="escaped"
        ),
        pytest.param("x >a 2>&1 <b >>c &>d >|e", [["x"]], id="redirections"),
        pytest.param("x <(a b) >(c)", [["a", "b"], ["c"], ["x", "?", "?"]], id="process"),
        pytest.param("x a<(b)", [["b"], ["x", "a", "?"]], id="process-within"),
        pytest.param("f() { a; }", [["f"], ["{", "a"], ["}"]], id="function"),
        pytest.param(
            "case $x in a|b) c;; esac",
            [["case", "<x>", "in", "a"], ["b"], ["c"], ["esac"]],
            id="case",
        ),
        pytest.param("x 'never closed", [["x", "never closed"]], id="open-quote"),
        pytest.param('x "never closed', [["x", "never closed"]], id="open-quotes"),
        pytest.param("x $(never closed", [["never", "closed"], ["x", "?"]], id="open-substitution"),
        pytest.param('x $(a "b', [["a", "b"], ["x", "?"]], id="open-quotes-within"),
        pytest.param("x \\", [["x", ""]], id="last-backslash"),
        pytest.param("a\vb\fc", [["a"], ["b"], ["c"]], id="odd-blanks"),
        pytest.param("a >", [["a"]], id="redirection-to-nothing"),
        pytest.param("\u00a0a", [["\u00a0a"]], id="no-break-space"),
    ],
)
def test_words(text: str, expected: list[list[str]]) -> None:
    assert read(text) == expected


def test_lines_are_counted() -> None:
    text = "a\n\nb c\nd $(\n e\n)\n"
    found = [(shown(command.words[0]), command.line) for command in shell_commands(text)]
    # One within a substitution is named by the substitution's end.
    assert found == [("a", 1), ("b", 3), ("e", 7), ("d", 4)]


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("bash <<EOF\na\nb\nEOF\nc", "a\nb"),
        ("bash <<'EOF'\na\nEOF", "a"),
        ("bash <<-EOF\n\ta\n\tEOF\nc", "a"),
        ("bash <<EOF\nnever closed", "never closed"),
        ("bash <<EOF\r\na\r\nEOF\r\n", "a\r"),
        ('bash <<<"a b"', "a b"),
        ("bash", None),
    ],
)
def test_what_a_command_is_given_is_known(text: str, document: str | None) -> None:
    first, *rest = shell_commands(text)
    assert first.document == document
    assert [shown(word) for one in rest for word in one.words] in ([], ["c"])


def test_files_that_are_read_are_inputs() -> None:
    (command,) = shell_commands('x <a <>"$B" >c')
    assert [shown(word) for word in command.inputs] == ["a", "<B>"]


def test_what_is_nested_too_deep_is_left_alone() -> None:
    text = "$(a " * (DEEPEST_NESTING + 3) + ")" * (DEEPEST_NESTING + 3)
    assert len(read(text)) == DEEPEST_NESTING + 1


def test_a_word_is_literal_or_not() -> None:
    *_, command = shell_commands("a'b' $C $(d)")
    assert [literal_text(word) for word in command.words] == ["ab", None, None]


@given(st.text(alphabet="ab '\"\\$`(){}<>|&;#\n-=/.", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for command in shell_commands(text):
        assert command.words
        assert command.line >= 1


@pytest.mark.slow
def test_a_long_script_is_read_fast() -> None:
    text = '. ./lib.sh && echo "$(dirname "$0")" # c\n' * 5000
    begun = time.perf_counter()
    assert len(read(text)) == 15_000
    assert time.perf_counter() - begun < 10
