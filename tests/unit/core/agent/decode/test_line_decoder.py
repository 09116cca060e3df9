"""Lines come out as they went in, however the stream is cut; too long ones are let go."""

from __future__ import annotations

import tracemalloc
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.common.json_lines import (
    LARGE_PIECE,
    SMALL_PIECE,
    ByteChunks,
    LineSplitter,
)

SCENARIOS = st.lists(st.binary(max_size=6) | st.sampled_from([b"\n", b"a\n", b"\n\nb", b"c" * 9]))


def split(pieces: list[bytes], limit: int = 1000) -> list[tuple[int, bytes]]:
    """Each line with where it begins."""
    splitter = LineSplitter(limit)
    found: list[tuple[int, bytes]] = []
    for begins, lines in [*map(splitter.feed, pieces), splitter.finish()]:
        ends = accumulate(map(len, lines), initial=begins)
        found.extend(zip(ends, lines, strict=False))
    return found


@given(SCENARIOS)
def test_the_cuts_make_no_difference(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    lines = split(pieces)
    assert lines == split([whole])
    assert b"".join(line for _, line in lines) == whole
    assert all(line.find(b"\n") in {-1, len(line) - 1} for _, line in lines)
    assert all(line.endswith(b"\n") for _, line in lines[:-1])
    for offset, line in lines:
        assert whole[offset : offset + len(line)] == line


@pytest.mark.parametrize(
    ("pieces", "last"),
    [
        ([b"one\n", b"0123", b"4567", b"8\n", b"two\n"], b"two\n"),
        ([b"one\n0123", b"45678", b"\ntwo", b"\n"], b"two\n"),
        ([b"one\n0123", b"456", b"78\n", b"two"], b"two"),
    ],
)
def test_a_line_over_the_limit_is_dropped_and_the_next_is_whole(
    pieces: list[bytes], last: bytes
) -> None:
    assert split(pieces, limit=8) == [(0, b"one\n"), (14, last)]


def test_a_line_over_the_limit_at_the_end_is_dropped() -> None:
    splitter = LineSplitter(8)
    assert splitter.feed(b"0123456") == splitter.feed(b"789") == (0, [])
    assert splitter.finish() == splitter.finish() == (10, [])


def test_a_line_without_end_takes_no_memory() -> None:
    splitter = LineSplitter(1 << 20)
    piece = b"x" * (1 << 16)
    tracemalloc.start()
    for _ in range(1 << 10):
        assert splitter.feed(piece) == (0, [])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert splitter.feed(b"\ntwo\n") == ((1 << 26) + 1, [b"two\n"])


SOME_PIECES = [b"", b"a", b"b" * (SMALL_PIECE - 1), b"c" * SMALL_PIECE, b"d" * LARGE_PIECE]


def test_small_and_large_pieces_come_out_as_they_went_in() -> None:
    check_pieces([*SOME_PIECES, *reversed(SOME_PIECES)])


@given(st.lists(st.sampled_from(SOME_PIECES), max_size=8))
def test_pieces_come_out_as_they_went_in(given_pieces: list[bytes]) -> None:
    check_pieces(given_pieces)


def check_pieces(given_pieces: list[bytes]) -> None:
    pieces = ByteChunks()
    for piece in given_pieces:
        pieces.add(piece)
    whole = b"".join(given_pieces)
    assert (pieces.n_bytes, pieces.whole()) == (len(whole), whole)
    pieces.keep_end(SMALL_PIECE)
    assert pieces.n_bytes >= min(len(whole), SMALL_PIECE)
    assert whole.endswith(pieces.whole())
    pieces.take()
    assert (pieces.n_bytes, pieces.take()) == (0, b"")


def test_a_byte_at_a_time_costs_what_all_of_them_do() -> None:
    pieces = ByteChunks()
    tracemalloc.start()
    for _ in range(1 << 14):
        pieces.add(b"x")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1 << 15
