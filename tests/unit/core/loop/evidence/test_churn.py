"""What looks like output, by name and by what became of the content."""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.evidence.churn import (
    ChangedFile,
    are_repeated,
    is_binary,
    is_cosmetic,
    is_only_space,
    is_output_change,
    kind_of_repetition,
    looks_like_output,
    shape_of,
)
from ralph_ls.protocol.run.values import Again

OUTPUT = """
    app.log logs/app.txt server.log.1 nohup.out build/run.OUT errors.err test.tmp notes.bak
    ralph.pid data/app.db app.db-wal state.sqlite state.sqlite3 cache.sqlite3-journal .coverage
    .coverage.host.1 coverage/index.html htmlcov/status.json .nyc_output/1.json coverage.xml
    lcov.info junit.xml
    tmp/anything.py pkg/__pycache__/a.pyc .pytest_cache/v/lastfailed .mypy_cache/x.json
    node_modules/.cache/babel.json .eslintcache test-results/last.json Logs/Today.txt
"""
SOURCE = """
    parser.py README.md CHANGELOG.md package-lock.json Cargo.lock poetry.lock tests/snapshots/a.snap
    data/rows.csv data/rows.jsonl analysis.ipynb tests/fixtures/access.txt src/logger.py src/log.ts
    tests/fixtures/access.log testdata/shop.db login/form.html catalog.json src/tmpfile.c
    database.py output.md src/cache.go
"""


@pytest.mark.parametrize("path", OUTPUT.split())
def test_output_by_its_name(path: str) -> None:
    assert looks_like_output(path)


@pytest.mark.parametrize("path", SOURCE.split())
def test_no_output_by_its_name(path: str) -> None:
    assert not looks_like_output(path)


LOG = b"2026-01-31 12:00:01 started\n2026-01-31 12:00:02 tests: 3 passed in 0.31s\n"
OUTPUT_CHANGES = {
    "a log of another name": (
        "journal.txt",
        LOG,
        LOG + b"2026-02-01 09:41:07 tests: 4 passed in 0.29s\n",
    ),
    "a numbered note": ("NOTES.md", b"- attempt 1\n", b"- attempt 1\n- attempt 2\n"),
    "a note with CRLF": ("NOTES.md", b"- attempt 1\r\n", b"- attempt 1\n- attempt 2\r\n"),
    "a hash each time": (
        "seen.txt",
        b"saw 29aae49f\n",
        b"saw 29aae49f\nsaw 1c0ffee9\nsaw 239db9c0\n",
    ),
    "seconds since the epoch": ("beat", b"1769860800\n", b"1769860800\n1769860860\n"),
    "a time of day": ("beat", b"12:00:01\n", b"12:00:01\n12:05:59\n"),
    "a stamp that is renewed": (
        "stamp.txt",
        b"built at 2026-01-31T12:00:00.123Z\n",
        b"built at 2026-02-01T07:13:44.002+02:00\n",
    ),
    "a stamp of date(1)": (
        "stamp",
        b"Sat Jan 31 12:00:00 UTC 2026",
        b"Mon Feb 2 08:01:12 UTC 2026",
    ),
    "a binary": ("state", b"a\0b", b"a\0bc"),
    "a text that became binary": ("state", b"text", b"a\0bc"),
}
SOURCE_CHANGES = {
    "code of a shape that was there": ("a.py", b"f1 = 1\n", b"f1 = 1\nf2 = 2\n"),
    "a date in code": ("a.py", b'DAY = "2026-01-31"\n', b'DAY = "2026-02-01"\n'),
    "rows of numbers": ("data.csv", b"1,2.5\n", b"1,2.5\n2,3.5\n"),
    "rows of an object each": ("rows.jsonl", b'{"id": 1}\n', b'{"id": 1}\n{"id": 2}\n'),
    "a fixture": ("tests/fixtures/a.txt", b"try 1\n", b"try 1\ntry 2\n"),
    "an image of the tests": ("tests/__snapshots__/a.png", b"\0a", b"\0b"),
    "rows with words": ("data.csv", b"1,ada\n", b"1,ada\n2,grace\n"),
    "lines of another kind": ("NOTES.md", b"- attempt 1\n", b"- attempt 1\n- found the cause\n"),
    "one of two is another kind": ("n.md", b"try 1\n", b"try 1\ntry 2\nit works\n"),
    "a changelog": ("CHANGELOG.md", b"- Fix #1: parse\n", b"- Fix #1: parse\n- Fix #2: print\n"),
    "a number in place": ("conf.toml", b"port = 80\n", b"port = 443\n"),
    "a line in front": ("NOTES.md", b"b 1\n", b"a 1\nb 1\n"),
    "a line that is continued": ("NOTES.md", b"step 1", b"step 12\nstep 1\n"),
    "blank lines": ("NOTES.md", b"step 1\n", b"step 1\n\n\n"),
    "nothing": ("NOTES.md", b"step 1\n", b"step 1\r\n"),
    "a first line": ("NOTES.md", b"", b"step 1\n"),
}


@pytest.mark.parametrize("name", OUTPUT_CHANGES)
def test_a_change_of_output(name: str) -> None:
    assert is_output_change(*OUTPUT_CHANGES[name])


@pytest.mark.parametrize("name", SOURCE_CHANGES)
def test_a_change_of_something_else(name: str) -> None:
    assert not is_output_change(*SOURCE_CHANGES[name])


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (b"a = 1\n", b"a=1\n\n", True),
        (b"a\nb\n", b"a\r\nb\r\n", True),
        (b"if a:\n  b\n", b"if a:\n\tb\n", True),
        (b"a\n", b"a\n", True),
        (b"a b\n", b"a\nb\n", False),
        (b"a\n", b"a # b\n", False),
        (b"\0 a", b"\0a", False),
        (b"a", b"\0a", False),
        (b"\0a", b"\0a", True),
    ],
)
def test_white_space_alone(old: bytes, new: bytes, *, same: bool) -> None:
    assert is_only_space(old, new) is same


@pytest.mark.parametrize(
    ("path", "earlier", "committed", "repeated"),
    [
        ("a.py", [{"a.py"}], True, True),
        ("a.py", [{"a.py"}, {"b.py"}], False, False),
        ("a1.py", [{"a2.py"}], False, False),
        ("a.log", [{"a.log"}, {"b.log"}], True, True),
        ("logs/run-12.txt", [{"logs/run-3.txt"}], False, True),
        ("logs/run-12.txt", [{"logs/run-3.txt"}], True, False),
        ("logs/other.txt", [{"logs/run-3.txt"}], False, False),
    ],
)
def test_what_had_changed_before(
    path: str, earlier: list[set[str]], *, committed: bool, repeated: bool
) -> None:
    assert are_repeated([path], earlier, is_committed=committed) is repeated
    assert not are_repeated([path, "new.py"], earlier, is_committed=committed)


def test_the_kind_of_a_repetition() -> None:
    log = ChangedFile(path="app.log")
    code = ChangedFile(path="a.py", was=b"a = 1\n", now=b"a = 2\n")
    grown = ChangedFile(path="b.py", now=b"a = 1\n", is_edited=True)
    gone = ChangedFile(path="c.py", was=b"a")
    assert kind_of_repetition([log, ChangedFile(path="x", now=b"\0")]) is Again.OUTPUT
    assert kind_of_repetition([log, code, gone]) is Again.SAME
    assert kind_of_repetition([log, code, grown]) is Again.EDITED


def test_a_cosmetic_change_needs_both_versions() -> None:
    spaced = ChangedFile(path="a.py", was=b"a=1", now=b"a = 1")
    assert is_cosmetic([spaced])
    for other in (ChangedFile(path="b", now=b""), ChangedFile(path="b", was=b"")):
        assert not is_cosmetic([spaced, other])
    assert not is_cosmetic([spaced, ChangedFile(path="b", was=b"a", now=b"b")])


def test_a_shape_has_no_numbers_times_and_hashes() -> None:
    assert (
        shape_of("at 12:00:01 run 17 of 1c0ffee took 0.25 s")
        == "at \x01 run \x02 of \x02 took \x02 s"
    )
    assert shape_of("Sat, 31 Jan 2026 x") != shape_of("x")
    assert shape_of("decade of facade") == "decade of facade"


def test_a_binary_has_a_zero_near_its_beginning() -> None:
    assert is_binary(b"a\0")
    assert not is_binary(b"a" * 9000 + b"\0")
