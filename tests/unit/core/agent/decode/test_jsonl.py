"""JSON lines of any program: the defaults, the mapping, and what is never fatal."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.dialects import apply_usage_file, decoder_for
from ralph_ls.core.agent.decode.jsonl import NO_END
from ralph_ls.core.agent.output_parser import parse_output
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.config.agent import JsonLinesConfig
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.report import AgentFailure, Usage
from tests.unit.core.agent.decode.claude_streams import as_json, message_of, stream

BLOCK = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS\n---END_RALPH_STATUS---"
OWN = {
    "kind": "event.name",
    "kinds": {
        "text": ["say", "shout"],
        "text_part": ["piece"],
        "tool_call": ["act"],
        "tool_result": ["acted"],
        "usage": ["meter"],
        "error": ["oops"],
        "result": ["end"],
        "session": ["hello"],
    },
    "fields": {
        "text": ["body.words", "body.parts.0.words"],
        "call": ["no"],
        "tool": ["what"],
        "summary": ["given"],
        "file": ["given.path"],
        "ok": ["went.well"],
        "failed": ["code"],
        "message": ["why"],
        "input_tokens": ["n.in"],
        "output_tokens": ["n.out"],
        "cached_tokens": ["n.cache"],
        "cost_usd": ["n.usd"],
        "turns": ["n.turns"],
        "session_id": ["who"],
        "model": ["model"],
    },
    "counting": "total",
    "input_has_cached": True,
}


def decode(*pieces: bytes, mapping: Any = None) -> tuple[list[Any], AgentResult]:
    config = None if mapping is None else JsonLinesConfig.model_validate(mapping)
    decoder = decoder_for(Dialect.JSONL, 7, folder="/repo", mapping=config)
    told = [*chain.from_iterable(map(decoder.feed, pieces)), *decoder.finish()]
    return [message_of(one) for one in told], decoder.final()


def told_by(*records: Any, mapping: Any = None) -> list[dict[str, Any]]:
    dumped = [as_json(message) for message in decode(stream(*records), mapping=mapping)[0]]
    return [
        {key: value for key, value in one.items() if key not in {"start", "offset"}}
        for one in dumped
    ]


def final_of(*records: Any, mapping: Any = None) -> AgentResult:
    return decode(stream(*records), mapping=mapping)[1]


def record(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def own(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event": {"name": kind}, **fields}


def text(words: str) -> dict[str, Any]:
    return {"kind": "text", "text": words}


def tool(name: str, summary: str, state: str, call: str = "1") -> dict[str, Any]:
    return {"kind": "tool", "call": call, "name": name, "summary": summary, "state": state}


WHOLE = stream(
    record("session", session_id="s-1", model="m"),
    "I am no record. 漢字".encode(),
    record("tool_call", id=1, tool="edit", summary={"path": "/repo/a.py"}, file="/repo/a.py"),
    record("tool_result", id=1, ok=True),
    record("usage", input_tokens=10, output_tokens=2, cached_tokens=5, cost_usd=0.5, turns=1),
    record("usage", usage={"input_tokens": 10, "output_tokens": 2}),
    record("text_part", text="It is "),
    record("text_part", text="written.\n\n"),
    record("text_part", text=BLOCK),
    record("result", text=f"It is written.\n\n{BLOCK}"),
)


class TestStream:
    def test_a_whole_run_needs_no_mapping(self) -> None:
        messages, found = decode(WHOLE)
        kinds = ["text", "tool", "tool", "file", "usage", "usage", "text", "usage"]
        assert [message.kind for message in messages] == kinds
        assert found == AgentResult(
            text=f"It is written.\n\n{BLOCK}",
            usage=Usage(input_tokens=20, output_tokens=4, cached_tokens=5, cost_usd=0.5, turns=1),
            session_id="s-1",
            model="m",
        )

    def test_the_same_run_in_words_of_the_programs_own(self) -> None:
        found = final_of(
            own("hello", who="s-1", model="m"),
            own("shout", body={"words": "I begin."}),
            own("act", no="x", what="edit", given={"path": "/repo/a.py"}),
            own("acted", no="x", went={"well": True}, code=0),
            own("meter", n={"in": 10, "cache": 4, "out": 1}),
            own("meter", n={"in": 30, "cache": 4, "out": 2, "usd": 1}),
            own("piece", body={"parts": [{"words": "Do"}, {}]}),
            own("piece", body={"parts": [{"words": "ne."}]}),
            own("end", n={"turns": 3}),
            mapping=OWN,
        )
        assert found == AgentResult(
            text="Done.",
            usage=Usage(input_tokens=26, output_tokens=2, cached_tokens=4, cost_usd=1.0, turns=3),
            session_id="s-1",
            model="m",
        )

    @given(st.lists(st.integers(min_value=0, max_value=len(WHOLE)), max_size=12))
    def test_the_cuts_of_the_stream_make_no_difference(self, cuts: list[int]) -> None:
        edges = [0, *sorted(cuts), len(WHOLE)]
        pieces = [WHOLE[start:end] for start, end in pairwise(edges)]
        assert decode(*pieces) == decode(WHOLE)

    @pytest.mark.parametrize(
        "line",
        [
            b'{"type":"text","text":"cu',
            b'{"type":"text"}',
            b'{"type":"text","text":7}',
            b'{"type":"tea","text":"x"}',
            b'{"type":7,"text":"x"}',
            b'{"text":"x"}',
            b"",
            b"   ",
            stream(record("tool_result", id="never")).strip(),
            stream(record("tool_result")).strip(),
            stream(record("usage", input_tokens="many", cost_usd=True)).strip(),
            stream(record("usage", input_tokens=True, output_tokens=-1, cost_usd=-1)).strip(),
            stream(record("text_part")).strip(),
        ],
    )
    def test_what_says_nothing_or_is_broken_is_passed_over(self, line: bytes) -> None:
        assert told_by(line) == []

    @pytest.mark.parametrize("line", [b"Plain words.", b"7", b"[1]", b"{odd}", b"\xff"])
    def test_a_line_that_is_no_record_is_the_agents_words(self, line: bytes) -> None:
        words = line.decode("utf-8", errors="replace")
        assert told_by(line) == [text(words)]
        assert final_of(line, record("result")).text == words


class TestTools:
    @pytest.mark.parametrize(
        ("given", "summary"),
        [
            ("ls\n-la", "ls -la"),
            ({"command": "ls"}, "ls"),
            (["a", 7, "b"], "a, b"),
            (7, "7"),
            (None, ""),
        ],
    )
    def test_a_call_is_reported_in_a_line(self, given: Any, summary: str) -> None:
        found = told_by(
            record("tool_call", id="1", name="t", summary=given), record("tool_result", id="1")
        )
        assert found == [tool("t", summary, "started"), tool("t", summary, "done")]

    def test_calls_without_an_id_come_back_in_their_order(self) -> None:
        calls = [record("tool_call", tool="a"), record("tool_call", tool="b")]
        back = [record("tool_result"), record("tool_result")]
        states = [(one["name"], one["state"]) for one in told_by(*calls, *back)]
        assert states == [("a", "started"), ("b", "started"), ("a", "done"), ("b", "done")]

    @pytest.mark.parametrize(
        "end",
        [{"ok": False}, {"success": 0}, {"failed": True}, {"is_error": 1}, {"failed": "why"}],
    )
    def test_a_call_that_failed_is_reported_as_such(self, end: dict[str, Any]) -> None:
        call = record("tool_call", id="1", tool="t", file="/repo/a")
        back = record("tool_result", id="1", message="it\nfell", **end)
        found = told_by(call, back)
        assert found == [tool("t", "", "started"), tool("t", "", "failed")]
        assert final_of(call, back, record("result")).errors == ("it",)
        assert final_of(call, {**back, "message": None}, record("result")).errors == ()

    def test_a_file_may_be_reported_with_the_call_or_with_its_end(self) -> None:
        call, back = record("tool_call", tool="t"), record("tool_result", file="/repo/a")
        assert told_by(call, back)[-1] == {"kind": "file", "path": "a", "action": "changed"}

    @pytest.mark.parametrize(
        ("given", "asked"),
        [("Which?", "Which?"), ({"question": "Which?", "options": ["a"]}, "Which?\n- a")],
    )
    def test_a_question_by_a_tool_is_kept_till_it_continues(self, given: Any, asked: str) -> None:
        ask = record("tool_call", tool="ask_user", summary=given)
        assert final_of(ask, record("tool_result"), record("result")).question == asked
        assert final_of(ask, record("tool_call", tool="t"), record("result")).question == ""


WITHOUT: dict[str, Any] = {"kinds": {"result": []}}


class TestEnd:
    def test_without_its_result_it_has_failed(self) -> None:
        found = final_of(record("text", text="x"))
        assert (found.failed, found.why, found.failure) == (True, NO_END, AgentFailure.CRASHED)

    def test_a_program_that_prints_no_result_needs_none(self) -> None:
        found = final_of(record("text", text="x"), mapping=WITHOUT)
        assert (found.failed, found.text) == (False, "x")
        gone = final_of(record("error", message="gone"), mapping=WITHOUT)
        assert (gone.failed, gone.why, gone.failure) == (True, "gone", None)

    @pytest.mark.parametrize(
        "later",
        [record("text", text="x"), record("tool_call"), b"Words.", record("text_part", text="x")],
    )
    def test_there_it_got_over_an_error_where_it_went_on(self, later: Any) -> None:
        found = final_of(record("error", message="slow"), later, mapping=WITHOUT)
        assert (found.failed, found.errors) == (False, ("slow",))

    @pytest.mark.parametrize(
        ("records", "why"),
        [
            ([record("result", ok=False, message="no\nway")], "no"),
            ([record("error", message="why"), record("result", ok=False)], "why"),
            ([record("result", is_error=True, text="words\nmore")], "words"),
            ([record("result", failed=2)], "it reports a failure"),
            ([record("error")], "it reports an error"),
            ([record("error", error={"message": "deep"})], "deep"),
        ],
    )
    def test_how_it_failed(self, records: list[Any], why: str) -> None:
        found = final_of(record("text", text="x"), *records)
        assert (found.failed, found.why, found.text) == (True, why, "x")
        assert why in found.errors

    def test_an_error_before_a_good_end_is_no_failure(self) -> None:
        found = final_of(record("error", error="slow"), record("result", ok=True, text="Done."))
        assert (found.failed, found.text, found.errors) == (False, "Done.", ("slow",))

    def test_the_programs_own_error_may_report_a_limit(self) -> None:
        words = "Rate limit reached; try again in 11s"
        found = final_of(record("error", message=words))
        assert (found.failure, found.limit) == (AgentFailure.LIMIT, AccountLimit(resets_in=11.0))

    def test_a_block_written_before_the_last_call_is_kept(self) -> None:
        found = final_of(record("text", text=BLOCK), record("tool_call"), record("result"))
        assert (found.text, found.earlier_block) == ("", BLOCK)


class TestUsageFile:
    def add(
        self, data: bytes, final: AgentResult | None = None, mapping: Any = None
    ) -> AgentResult:
        config = None if mapping is None else JsonLinesConfig.model_validate(mapping)
        return apply_usage_file(final or AgentResult(), data, Dialect.JSONL, mapping=config)

    def test_it_is_read_like_a_record(self) -> None:
        assert self.add(b'{"input_tokens":3}').usage == Usage(input_tokens=3)
        own_words = self.add(b'{"n":{"in":9,"cache":4}}', mapping=OWN)
        assert own_words.usage == Usage(input_tokens=5, cached_tokens=4)

    def test_what_it_does_not_know_the_stream_may(self) -> None:
        streamed = final_of(record("result", turns=4, input_tokens=1))
        assert self.add(b'{"input_tokens":3}', streamed).usage == Usage(input_tokens=3, turns=4)

    @pytest.mark.parametrize("data", [b"", b"[", b"{}", b'{"input_tokens":"x"}'])
    def test_one_that_says_nothing_changes_nothing(self, data: bytes) -> None:
        assert self.add(data) == AgentResult()


def test_a_reading_takes_the_mapping() -> None:
    mapping = JsonLinesConfig.model_validate(OWN)
    data = stream(own("say", body={"words": BLOCK}), own("end"))
    found = parse_output(data, dialect=Dialect.JSONL, mapping=mapping)
    assert found.report is not None
    assert found.report.status == "IN_PROGRESS"


def test_an_odd_place_in_a_list_is_nowhere() -> None:
    mapping = {"fields": {"text": ["parts.3", "parts.x", "parts.99999999999", "parts.0.0"]}}
    assert told_by(record("text", parts=[["found"]]), mapping=mapping) == [text("found")]
