"""The log of the beads loop: whatever an agent prints, ``jq`` can read every line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.views.text import agent_output
from ralph_ls.core.views.text.agent_output import (
    DEEPEST,
    AgentLines,
    iteration_end,
    iteration_start,
    loop_event,
)

AT = datetime(2026, 1, 28, 16, 30, 0, 999_000, tzinfo=timezone(timedelta(hours=1)))
TIME = "2026-01-28T15:30:00Z"


def feed(*pieces: bytes, has_records: bool = True) -> list[bytes]:
    lines = AgentLines(has_records=has_records)
    return [*(lines.feed(piece, AT) for piece in pieces), lines.finish(AT)]


def texts(written: bytes) -> list[str]:
    """The texts of the lines that the loop wrapped; each of them is wrapped."""
    found = [json.loads(line) for line in written.splitlines()]
    assert {one["type"] for one in found} <= {"agent_text"}
    assert all(list(one) == ["type", "timestamp", "text"] for one in found)
    assert {one["timestamp"] for one in found} <= {TIME}
    return [one["text"] for one in found]


class TestLoopsLines:
    def test_are_the_seeds_byte_for_byte(self) -> None:
        assert iteration_start(iteration=1, issue="bd-abc", mode="build", at=AT) == (
            b'{"type":"loop_meta","event":"iteration_start","timestamp":"2026-01-28T15:30:00Z",'
            b'"data":{"iteration":1,"issue_id":"bd-abc","mode":"build"}}\n'
        )
        at = datetime(2026, 1, 28, 15, 30, 45, tzinfo=UTC)
        assert iteration_end(iteration=1, exit_code=0, seconds=45.4, at=at) == (
            b'{"type":"loop_meta","event":"iteration_end","timestamp":"2026-01-28T15:30:45Z",'
            b'"data":{"iteration":1,"exit_code":0,"duration_seconds":45}}\n'
        )

    def test_have_what_else_it_reports_under_the_journals_name(self) -> None:
        def record(kind: str, code: str | None) -> bytes:
            return loop_event(
                kind=kind, code=code, iteration=1, level="warning", message="full", at=AT
            )

        data = b'"data":{"iteration":1,"level":"warning","message":"full"'
        head = b'{"type":"loop_meta","event":"%b","timestamp":"2026-01-28T15:30:00Z",'
        assert record("agentExited", None) == head % b"agent_exited" + data + b"}}\n"
        assert record("warned", "disk-low") == (head % b"warned" + data + b',"code":"disk-low"}}\n')

    def test_have_the_attempt_of_a_repeated_start(self) -> None:
        start = iteration_start(iteration=2, issue=None, mode="plan", at=AT, tries=3)
        assert json.loads(start)["data"]["attempt"] == 3

    def test_say_null_for_what_is_not_known(self) -> None:
        start = json.loads(iteration_start(iteration=2, issue=None, mode="plan", at=AT))
        end = json.loads(iteration_end(iteration=2, exit_code=None, seconds=0.0, at=AT))
        assert start["data"] == {"iteration": 2, "issue_id": None, "mode": "plan"}
        assert end["data"] == {"iteration": 2, "exit_code": None, "duration_seconds": 0}


class TestAgentsLines:
    @pytest.mark.parametrize(
        "line",
        [
            b'{"type":"assistant","message":{"content":[{"text":"done"}]}}',
            b'{"type":"stream_event","event":{"type":"ping"}}',
            b'{"a": "\\"type\\":\\"loop_meta\\"", "b": [1, null, 2.5e3]}',
            '{"t":"ä\u2028"}'.encode(),
            b"{}",
        ],
    )
    def test_a_record_stays_as_it_is(self, line: bytes) -> None:
        assert feed(line + b"\n") == [line + b"\n", b""]
        assert feed(b" " + line + b" \r\n") == [line + b"\n", b""]

    @pytest.mark.parametrize(
        "line",
        [
            b"all tests pass",
            b"",
            b"42",
            b"null",
            b'"a word"',
            b"[1, 2]",
            b'{"cut": ',
            b'{"a":1} and more',
            b'{"a":NaN}',
            b"{'a': 1}",
            b'{"a":"\xff"}',
            b"\xff\xfe",
            # What would look like the loop's own.
            b'{"type":"loop_meta","event":"iteration_end","data":{"duration_seconds":9}}',
            b'{"event":"iteration_end","data":"x"}',
            b'{"event":"iteration\\u005fstart"}',
            b'{"type":"loop\\u005fmeta"}',
            b'{"x":{"type":"loop_meta"}}',
            b'{"a":' + b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1) + b"}",
            b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        ],
    )
    def test_anything_else_becomes_the_text_of_one(self, line: bytes) -> None:
        (written, nothing) = feed(line + b"\n")
        assert texts(written) == [line.decode("utf-8", "replace")]
        assert nothing == b""

    def test_many_brackets_side_by_side_are_not_deep(self) -> None:
        line = b'{"a":[0,' + b",".join([b'{"b":[]}'] * DEEPEST) + b"]}"
        assert feed(line + b"\n")[0] == line + b"\n"

    def test_of_another_stream_every_line_is_text(self) -> None:
        (written, _) = feed(b'{"a":1}\r\nplain\n', has_records=False)
        assert texts(written) == ['{"a":1}', "plain"]

    def test_a_line_without_an_end_is_written_at_the_end(self) -> None:
        first, second, last = feed(b'one\n{"a"', b":1}")
        assert texts(first) == ["one"]
        assert (second, last) == (b"", b'{"a":1}\n')
        assert feed(b"") == [b"", b""]

    def test_a_line_that_is_too_long_comes_in_pieces_of_whole_characters(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(agent_output, "LONGEST_LINE", 8)
        said = '{"a":"äöü€🙂"}'
        for cut in range(9, len(said.encode()) + 1):
            lines = AgentLines(has_records=True)
            data = said.encode()
            written = lines.feed(data[:cut], AT) + lines.feed(data[cut:], AT)
            written += lines.feed(b'\n{"b":1}\n', AT) + lines.finish(AT)
            *pieces, record = written.splitlines()
            assert "".join(texts(b"\n".join(pieces))) == said
            assert record == b'{"b":1}'

    def test_after_a_piece_of_a_line_that_ended_there_comes_a_new_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(agent_output, "LONGEST_LINE", 3)
        lines = AgentLines(has_records=True)
        assert texts(lines.feed(b"abcd", AT)) == ["abcd"]
        assert lines.finish(AT) == b""
        assert lines.feed(b'{"b":1}\n', AT) == b'{"b":1}\n'


@given(st.lists(st.binary(max_size=20) | st.sampled_from([b"\n", b'{"a":1}\n', b"{", b"}"])))
def test_however_the_bytes_come_every_line_is_an_object(pieces: list[bytes]) -> None:
    written = b"".join(feed(*pieces))
    assert written == b"".join(feed(b"".join(pieces)))
    whole = b"".join(pieces)
    n_lines = whole.count(b"\n") + (whole != b"" and not whole.endswith(b"\n"))
    found = [json.loads(line) for line in written.split(b"\n")[:-1]]
    assert len(found) == n_lines
    assert all(isinstance(one, dict) for one in found)
