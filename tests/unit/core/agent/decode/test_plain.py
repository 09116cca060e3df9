"""Plain text is passed on line by line, and its end is kept for the signals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.claude.decoder import ClaudeDecoder
from ralph_ls.core.agent.decode.codex.decoder import CodexDecoder
from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.decode.plain import LONGEST_MESSAGE, PlainDecoder
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.messages import TextMessage


@given(st.lists(st.sampled_from([b"a", b"\n", "漢".encode(), b"\xe6", b"\xbc\xa2\n", b"b\nc"])))
def test_nothing_is_lost_and_offsets_hold(pieces: list[bytes]) -> None:
    decoder = PlainDecoder(3)
    messages = [message for piece in pieces for message in decoder.feed(piece)]
    messages += decoder.finish()
    assert decoder.finish() == []
    whole = b"".join(pieces)
    assert decoder.final() == AgentResult(text=whole.decode("utf-8", errors="replace"))
    at = 0
    for message in messages:
        assert isinstance(message, TextMessage)
        assert (message.start, message.offset) == (3, at)
        at = whole.index(b"\n", at) + 1 if b"\n" in whole[at:] else len(whole)
        while message.text != whole[message.offset : at].decode("utf-8", errors="replace"):
            at = whole.index(b"\n", at) + 1
    assert at == len(whole)


def test_a_line_is_reported_once_it_is_whole() -> None:
    decoder = PlainDecoder(1)
    assert decoder.feed(b"one\ntw") == [TextMessage(start=1, offset=0, text="one\n")]
    assert decoder.feed(b"") == []
    assert decoder.feed(b"o") == []
    assert decoder.feed(b"\n") == [TextMessage(start=1, offset=4, text="two\n")]


def test_only_the_end_is_kept_and_no_character_is_cut() -> None:
    decoder = PlainDecoder(1, kept=10)
    for _ in range(50):
        decoder.feed("漢字".encode())
        decoder.feed(b"")
    assert decoder.final().text == "字漢字"
    decoder.feed(b"x" * 100)
    assert decoder.final().text == "x" * 10
    decoder.feed(b"\xbf" * 100)
    assert decoder.final().text == "\ufffd" * 7


def test_no_more_than_a_megabyte_is_left_to_be_read_after_the_end() -> None:
    decoder = PlainDecoder(1)
    for _ in range(48):
        decoder.feed(b"a line of a long log\n" * 10_000)
    decoder.feed(b"EXIT_SIGNAL: true\n")
    text = decoder.final().text
    assert len(text) == 1 << 20
    assert text.endswith("log\nEXIT_SIGNAL: true\n")


def test_each_dialect_has_its_decoder() -> None:
    assert isinstance(decoder_for(Dialect.TEXT), PlainDecoder)
    assert isinstance(decoder_for(Dialect.CLAUDE), ClaudeDecoder)
    assert isinstance(decoder_for(Dialect.CODEX), CodexDecoder)


def test_a_line_without_end_is_passed_on_in_parts_and_no_character_is_cut() -> None:
    decoder = PlainDecoder(1, kept=16 << 20)
    piece = "漢".encode() * 100_001 + b"\xe6"
    messages = [message for _ in range(12) for message in decoder.feed(piece)]
    assert len(messages) == 3
    messages += decoder.finish()
    texts = [message.text for message in messages if isinstance(message, TextMessage)]
    whole = (piece * 12).decode("utf-8", errors="replace")
    assert "".join(texts) == whole
    lengths = [len(text.encode("utf-8", errors="replace")) for text in texts]
    assert max(lengths) <= 2 * LONGEST_MESSAGE
    assert decoder.final().text == whole


def test_bytes_that_are_no_characters_are_passed_on_too() -> None:
    decoder = PlainDecoder(1)
    messages = decoder.feed(b"\xbf" * (LONGEST_MESSAGE + 1))
    assert len(messages) == 1
    rest = decoder.finish()
    assert [message.offset for message in (*messages, *rest)] == [0, LONGEST_MESSAGE - 3]
