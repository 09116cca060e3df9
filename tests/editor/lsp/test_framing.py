"""The base protocol: a frame that makes no sense costs itself alone, wherever the bytes are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.editor.lsp.framing import FrameReader, MalformedFrame, frame

GOOD = [
    json.dumps({"jsonrpc": "2.0", "method": f"m/{n}", "params": {"n": n}}).encode() for n in (1, 2)
]
BAD = b'{"jsonrpc":"2.0","id":5,"method":"textDocument/hover"}'


def framed(length: object, body: bytes = BAD, *, name: str = "Content-Length") -> bytes:
    return f"{name}: {length}\r\n\r\n".encode("utf-8", "surrogateescape") + body


MALFORMED = {
    "too-short": framed(len(BAD) - 7),
    "far-too-short": framed(1),
    "nothing": framed(0),
    "too-long-by-one": framed(len(BAD) + 1),
    "too-long-within-the-next-header": framed(len(BAD) + 9),
    "too-long-up-to-the-next-body": framed(len(BAD) + 25),
    "too-long-into-the-next-body": framed(len(BAD) + 50),
    "a-gigabyte": framed(1 << 30),
    "negative": framed(-5),
    "plus": framed("+54"),
    "a-word": framed("many"),
    "empty": framed(""),
    "hexadecimal": framed("0x36"),
    "huge": framed("9" * 5000),
    "other-digits": framed("٥٤"),
    "twice": b"Content-Length: 3\r\nContent-Length: 5\r\n\r\n" + BAD,
    "a-list": framed("54, 54"),
    "no-length": b"Content-Type: application/json\r\n\r\n" + BAD,
    "no-header": BAD,
    "latin-1": b"Content-Type: x; charset=latin-1\r\n" + framed(len(BAD)),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "long-junk": b"x" * 20_000,
    "lines": b"\r\n".join([b"junk"] * 3000),
    "blank-junk": b"\r\n\r\njunk\r\n\r\n",
    "no-colon": b"Content-Length 54\r\n\r\n" + BAD,
    "not-utf-8": b"\xff\xfe: \x80\r\n\r\n",
    "scalar-with-long-length": framed(9, b"5"),
}


def read(
    stream: bytes, *, step: int, reader: FrameReader | None = None
) -> list[bytes | MalformedFrame]:
    reader = reader or FrameReader()
    found: list[bytes | MalformedFrame] = []
    for start in range(0, len(stream), step):
        found += reader.feed(stream[start : start + step])
    return found


@given(st.lists(st.dictionaries(st.text(), st.text()) | st.lists(st.text())), st.data())
def test_any_chunking_gives_the_same_bodies(values: list[object], data: st.DataObject) -> None:
    bodies = [json.dumps(value, ensure_ascii=False).encode() for value in values]
    stream = b"".join(frame(body) for body in bodies)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    reader = FrameReader()
    found: list[bytes | MalformedFrame] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == bodies


@pytest.mark.parametrize(
    "headers",
    [
        b"content-length:2\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc\r\nContent-Length: 2\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b'Content-Length: 2\r\nContent-Type: x; charset="UTF8"\r\n\r\n',
        b"CONTENT-LENGTH :  2 \r\nX-Other: y\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\n\n",
        b"\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 0000002\r\n\r\n",
    ],
)
def test_headers_may_be_written_in_any_way(headers: bytes) -> None:
    for step in (1, 7, 1000):
        assert read((headers + b"{}") * 2, step=step) == [b"{}", b"{}"]


@pytest.mark.parametrize("name", sorted(MALFORMED))
@pytest.mark.parametrize("step", [1, 3, 64, 1_000_000])
def test_a_malformed_frame_costs_no_other(name: str, step: int) -> None:
    before, after = GOOD
    found = read(frame(before) + MALFORMED[name] + frame(after), step=step)
    assert [each for each in found if each in GOOD] == GOOD
    wrong = [each for each in found if each not in GOOD]
    assert len(wrong) == 1  # A problem, or the body that a length cut off.


@given(
    st.lists(
        st.sampled_from([*MALFORMED.values(), b"\r\n", b"}", b"{", b"Content-Le"]), max_size=4
    ),
    st.integers(1, 400),
)
def test_whatever_was_malformed_the_reader_recovers(junk: list[bytes], step: int) -> None:
    reader = FrameReader()
    read(b"".join(junk), step=step, reader=reader)
    # The first may be swallowed where the junk ends within a body; never the one after it.
    found = read(frame(GOOD[0]) + frame(GOOD[1]), step=step, reader=reader)
    assert GOOD[1] in found


@given(st.binary(max_size=2000), st.integers(1, 400))
def test_any_bytes_can_be_read(data: bytes, step: int) -> None:
    reader = FrameReader()
    read(data, step=step, reader=reader)
    assert GOOD[1] in read(frame(GOOD[0]) + frame(GOOD[1]), step=step, reader=reader)


def test_a_message_that_is_too_long_is_skipped_without_being_kept() -> None:
    reader = FrameReader(max_body=1000)
    assert reader.feed(framed(100_000, b"")) == []
    for _ in range(100):
        assert reader.feed(b"[" * 999 + b"]") in (
            [],
            [MalformedFrame("100000 bytes are too many; the limit is 1000")],
        )
        assert len(reader._buffer) < 100
    assert reader.feed(frame(GOOD[0])) == [GOOD[0]]


def test_a_pretty_printed_body_is_no_header() -> None:
    body = json.dumps({"text": "Content-Length: 5\r\n\r\n{}", "a": [1, {"b": 2}]}, indent=2)
    for ending in ("\n", "\r\n", "\n\n"):
        data = body.replace("\n", ending).encode()
        assert read(frame(data) * 2, step=5) == [data, data]
