"""Lines come out as they went in, however the stream is cut; too long ones are let go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.lines import LineSplitter

PIECES = st.lists(st.binary(max_size=6) | st.sampled_from([b"\n", b"a\n", b"\n\nb", b"c" * 9]))


def split(pieces: list[bytes], limit: int = 1000) -> list[tuple[int, bytes]]:
    splitter = LineSplitter(limit)
    return [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish()


@given(PIECES)
def test_the_cuts_make_no_difference(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    lines = split(pieces)
    assert lines == split([whole])
    expected = whole.split(b"\n")
    assert [line for _, line in lines] == (expected if expected[-1] else expected[:-1])
    for offset, line in lines:
        assert whole[offset : offset + len(line)] == line


@pytest.mark.parametrize(
    "pieces",
    [
        [b"one\n", b"0123", b"4567", b"8\n", b"two\n"],
        [b"one\n0123", b"45678", b"\ntwo", b"\n"],
        [b"one\n0123", b"456", b"78\n", b"two"],
    ],
)
def test_a_line_over_the_limit_is_dropped_and_the_next_is_whole(pieces: list[bytes]) -> None:
    assert split(pieces, limit=8) == [(0, b"one"), (14, b"two")]


def test_a_line_over_the_limit_at_the_end_is_dropped() -> None:
    splitter = LineSplitter(8)
    assert splitter.feed(b"0123456") == splitter.feed(b"789") == []
    assert splitter.finish() == []
    assert splitter.finish() == []
