"""Error lines, and when two of them are the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.failures import MAX_PATTERN_CHARACTERS, find_error_lines, normalise_error


@pytest.mark.parametrize(
    "line",
    [
        "Error: cannot find module",
        "ERROR: x",
        "error: x",
        "   error: indented",
        "Exception in thread main",
        "exception",
        "Fatal: x",
        "FATAL could not start",
        "fatal: not a git repository",
        "failed: 3 of 5",
        "FAILED tests/test_a.py::test_b - assert 1 == 2",
        "failed to push",
        "FAILED",
        "[build]: error TS2304 somewhere",
        "2026-01-01 [main]: Error",
    ],
)
def test_an_error_line_is_found_and_trimmed(line: str) -> None:
    assert find_error_lines(f"before\n{line}  \nafter\n") == (line.strip(),)


@pytest.mark.parametrize(
    "line",
    [
        '"is_error": false',
        '{"type": "result", "is_error": true, "x": "]: error"}',
        'error: {"lastError" : null}',
        "no error: here in the middle",
        "exceptional weather",
        "fatality",
        "failedness: none",
        "errors: 0",
        "an error",
        "ValueErrors",
        "",
    ],
)
def test_other_lines_are_no_errors(line: str) -> None:
    assert find_error_lines(f"before\n{line}\nafter") == ()


def test_a_quoted_word_error_without_a_colon_is_no_json_field() -> None:
    assert find_error_lines('error: got "some error" here') == ('error: got "some error" here',)


def test_every_error_line_is_given_in_order_and_once_for_each_time() -> None:
    text = "error: a\nok\nerror: b ]: error\nerror: a"
    assert find_error_lines(text) == ("error: a", "error: b ]: error", "error: a")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("error: line 12", "error: line 9", id="numbers"),
        pytest.param("error: took 1.25s", "error: took 13,5s", id="fractions"),
        pytest.param("error: /tmp/a/x.py:3", "error: /home/me/y.py:40", id="paths"),
        pytest.param("error: C:\\a\\b", "error: D:\\c", id="windows-paths"),
        pytest.param("error: src/a.py", "error: ./lib/b.py", id="relative-paths"),
        pytest.param(
            "error: 2026-01-02T03:04:05.678Z x", "error: 2027-11-12 13:14:15 x", id="times"
        ),
        pytest.param("error: at 1:02:03", "error: at 11:12:13.5 PM", id="clock"),
        pytest.param("error: commit deadbe1", "error: commit 0123abcdef", id="hashes"),
        pytest.param("error: at 0x7ffe", "error: at 0xdeadbeef", id="addresses"),
        pytest.param(
            "error: 123e4567-e89b-12d3-a456-426614174000",
            "error: 00000000-e89b-12d3-a456-426614174abc",
            id="uuids",
        ),
        pytest.param("error:  a\tb", "error: a b", id="white-space"),
        pytest.param("error: x.py:12:34", "error: x.py:1:5", id="columns"),
        pytest.param(
            "error: Sun Nov 22 04:14:22 UTC 2026", "error: Mon Dec  7 14:00:01 UTC 2026", id="date"
        ),
        pytest.param("error: Jan  2 03:04:05 host", "error: Nov 22 13:14:15 host", id="syslog"),
        pytest.param(
            "error: 22/Nov/2026:04:14:22 +0000",
            "error: 01/Dec/2026:14:14:02 +0100",
            id="access-log",
        ),
        pytest.param("error: 20261122T041422Z", "error: 20270101T000000Z", id="basic-format"),
        pytest.param("error: at 12:34 PM", "error: at 1:05 am", id="clock-without-seconds"),
        pytest.param("error: took 3m 12s", "error: took 45s", id="durations"),
        pytest.param("error: took (850ms)", "error: took (1.2s)", id="durations-in-brackets"),
        pytest.param(
            r"error: \\host\share\a.txt", r"error: C:\Users\me\b.txt", id="windows-shares"
        ),
        pytest.param("error: [main:45] x", "error: [main:9] x", id="process-numbers"),
        pytest.param("FAILED t/a.py::b - 1 == 2", "FAILED t/c.py::b - 3 == 4", id="tests"),
    ],
)
def test_the_same_error_normalises_alike(first: str, second: str) -> None:
    assert normalise_error(first) == normalise_error(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("error: cannot import a", "error: cannot import b"),
        ("Error: x", "Fatal: x"),
        ("error: feedback", "error: defaced"),
        ("error: it may fail", "error: it will fail"),
        ("error: Sunday", "error: Monday"),
        ("error: x12s", "error: y12s"),
    ],
)
def test_different_errors_stay_different(first: str, second: str) -> None:
    assert normalise_error(first) != normalise_error(second)


def test_each_changing_part_has_its_name() -> None:
    line = "error: 2026-01-02 at /a/b.py:7 commit abc1234"
    assert normalise_error(line) == "error: <time> at <path>:<n> commit <hash>"


@pytest.mark.parametrize(
    ("line", "is_error"),
    [
        # A, Pattern 4, and Component 2: what its two stages say of a line.
        ("Error: x", True),
        ("ERROR: x", True),
        ("error: x", True),
        ("]: error", True),
        ("Exception", True),
        ("Fatal", True),
        ("FATAL", True),
        ("failed: x", True),
        ("FAILED", True),
        ('  "is_error": false,', False),
        ('{"error_count": 0, "x": "]: error"}', False),
    ],
)
def test_the_two_stages_of_the_seed(line: str, is_error: bool) -> None:
    assert find_error_lines(line) == ((line,) if is_error else ())


def line_by_line(text: str) -> tuple[str, ...]:
    """The rule as it is written, with no way around looking at every line."""
    starts = re.compile(r"(?:error:|(?:exception|fatal)\b|failed(?::|\s|$))", re.IGNORECASE)
    field = re.compile(r'"[^"]*error[^"]*"\s*:', re.IGNORECASE)
    return tuple(
        line.strip()
        for line in text.split("\n")
        if (starts.match(line.strip()) or "]: error" in line.lower()) and not field.search(line)
    )


@given(
    st.lists(
        st.sampled_from(
            [
                *("error: ", "Error", "FAILED", "failed:", "fatal", "exception", "]: ", '"'),
                *("x", " ", "\n", "\n", "_", "al"),
            ]
        )
    ).map("".join)
)
def test_no_error_line_is_missed(text: str) -> None:
    assert find_error_lines(text) == line_by_line(text)


@given(st.text())
def test_a_pattern_holds_no_number_and_is_bounded(line: str) -> None:
    pattern = normalise_error(line * 50)
    assert not any(map(str.isdecimal, pattern))
    assert len(pattern) <= len("<path>") * MAX_PATTERN_CHARACTERS
