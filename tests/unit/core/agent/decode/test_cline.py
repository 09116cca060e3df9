"""The stream of ``cline``: what the agent says and does, what it comes to, and how it fails."""

from __future__ import annotations

from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.cline.decoder import NO_END, ClineDecoder
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.run.report import AgentFailure, Usage
from tests.unit.core.agent.decode.claude_streams import as_json, message_of, stream

BLOCK = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS\n---END_RALPH_STATUS---"
SPENT = {"inputTokens": 1200, "outputTokens": 34, "cacheReadTokens": 800, "totalCost": 0.25}
USAGE = Usage(
    input_tokens=400, output_tokens=34, cached_tokens=800, cost_usd=0.25, context_tokens=1200
)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"ts": "2026-11-22T20:00:00Z", "type": "agent_event", "event": {"type": kind, **fields}}


def hook(name: str, agent: str = "main", parent: str | None = None) -> dict[str, Any]:
    return {"type": "hook_event", "hookEventName": name, "agentId": agent, "parentAgentId": parent}


def piece(text: str | None, so_far: str | None) -> dict[str, Any]:
    return event("content_start", contentType="text", text=text, accumulated=so_far)


def said(text: str) -> dict[str, Any]:
    return event("content_end", contentType="text", text=text)


def begun(tool: str, call: str = "c1", **given: Any) -> dict[str, Any]:
    fields = {"toolName": tool, "toolCallId": call, "input": given}
    return event("content_start", contentType="tool", **fields)


def ended(tool: str = "", call: str = "c1", **more: Any) -> dict[str, Any]:
    return event("content_end", contentType="tool", toolName=tool, toolCallId=call, **more)


def spent(number: int = 1) -> dict[str, Any]:
    totals = {f"total{key[0].upper()}{key[1:]}": value * number for key, value in SPENT.items()}
    totals["totalCost"] = totals.pop("totalTotalCost")
    return event("usage", inputTokens=1200, outputTokens=34, cacheReadTokens=800, **totals)


def done(reason: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": "run_result", "finishReason": reason, **more}


def failed(message: Any, kind: str = "unknown", **more: Any) -> dict[str, Any]:
    error = {"name": "Error", "message": message, "stack": "…"}
    return event("error", error=error, errorClass=kind, **{"recoverable": False, **more})


def decode_cline(*pieces: bytes, **given: Any) -> tuple[list[Any], AgentResult]:
    decoder = ClineDecoder(7, **given)
    told = [*chain.from_iterable(map(decoder.feed, pieces)), *decoder.finish()]
    return [message_of(one) for one in told], decoder.final()


def told_by_cline(*records: Any) -> list[dict[str, Any]]:
    messages, _ = decode_cline(stream(*records), folder="/repo")
    dumped = [as_json(message) for message in messages]
    return [
        {key: value for key, value in one.items() if key not in {"start", "offset"}}
        for one in dumped
    ]


def final_of(*records: Any) -> AgentResult:
    return decode_cline(stream(*records))[1]


def text(words: str) -> dict[str, Any]:
    return {"kind": "text", "text": words}


def tool(name: str, summary: str, state: str) -> dict[str, Any]:
    return {"kind": "tool", "call": "c1", "name": name, "summary": summary, "state": state}


WHOLE = stream(
    hook("agent_start"),
    event("iteration_start", iteration=1),
    said("I look around. 漢字"),
    spent(),
    begun("editor", path="/repo/a.py", new_text="x"),
    ended("editor", output={"query": "q", "result": "File created successfully at: x"}),
    event("iteration_end", iteration=1),
    event("iteration_start", iteration=2),
    piece("It is ", "It is "),
    piece("written.", "It is written."),
    said(f"It is written.\n\n{BLOCK}"),
    event("done", reason="completed", text="…"),
    done(
        iterations=2,
        usage=SPENT,
        text=f"It is written.\n\n{BLOCK}",
        model={"id": "m", "provider": "p"},
    ),
)


class TestStream:
    def test_a_whole_run(self) -> None:
        messages, found = decode_cline(WHOLE, folder="/repo")
        kinds = ["text", "usage", "tool", "tool", "file", "text", "usage"]
        assert [message.kind for message in messages] == kinds
        assert (messages[4].path, messages[4].action) == ("a.py", "created")
        assert found == AgentResult(
            text=f"It is written.\n\n{BLOCK}",
            usage=USAGE.model_copy(update={"turns": 2}),
            model="m",
            denied_tools=(),
        )

    @given(st.lists(st.integers(min_value=0, max_value=len(WHOLE)), max_size=12))
    def test_the_cuts_of_the_stream_make_no_difference(self, cuts: list[int]) -> None:
        edges = [0, *sorted(cuts), len(WHOLE)]
        pieces = [WHOLE[start:end] for start, end in pairwise(edges)]
        assert decode_cline(*pieces) == decode_cline(WHOLE)

    def test_cut_anywhere_it_has_failed_until_its_result_has_come(self) -> None:
        last = WHOLE.rstrip(b"\n").rfind(b"\n") + 1
        for end in range(0, last, 61):
            found = decode_cline(WHOLE[:end])[1]
            assert (found.failed, found.why) == (True, NO_END)
            assert found.failure is AgentFailure.CRASHED

    @pytest.mark.parametrize(
        "line",
        [
            b'{"type":"agent_event","event":{"type":"content_en',
            b'{"type":"agent_event","event":7}',
            b'{"type":"agent_event"}',
            b'{"type":"team_event","event":{"type":"tea"}}',
            b'{"pot":1}',
            stream(event("tea", text="x")).strip(),
            stream(event("content_end", contentType="reasoning", text="x")).strip(),
            stream(event("notice", noticeType="status")).strip(),
            stream(said("")).strip(),
            stream(ended(call="never begun")).strip(),
            stream(hook("tool_call")).strip(),
            stream(event("error", error={"message": "a tool failed"}, recoverable=True)).strip(),
        ],
    )
    def test_a_record_that_says_nothing_or_is_broken_is_passed_over(self, line: bytes) -> None:
        assert told_by_cline(line) == []
        assert final_of(line, done()).errors == ()


class TestMessages:
    @pytest.mark.parametrize(
        ("name", "given", "summary"),
        [
            ("run_commands", {"commands": ["ls -la", {"command": "wc\n-l"}, 7]}, "ls -la; wc -l"),
            ("read_files", {"files": [{"path": "/repo/a"}, {"path": "/b"}, {}]}, "a; /b"),
            ("search_codebase", {"queries": ["x y"]}, "x y"),
            ("fetch_web_content", {"requests": [{"url": "http://x", "prompt": "p"}]}, "http://x"),
            ("editor", {"path": "/repo/a.py", "new_text": "x"}, "a.py"),
            ("spawn_agent", {"systemPrompt": "You help.", "task": "look"}, "look"),
            ("ask_question", {"question": "Which?"}, "Which?"),
            ("odd", {"commands": 7}, ""),
        ],
    )
    def test_a_call_is_reported_in_a_line(
        self, name: str, given: dict[str, Any], summary: str
    ) -> None:
        found = told_by_cline(begun(name, **given), ended(name, output="ok"))
        assert found[:2] == [tool(name, summary, "started"), tool(name, summary, "done")]

    @pytest.mark.parametrize(
        ("name", "given", "output", "files"),
        [
            ("editor", {"path": "/repo/a"}, {"result": "File created here"}, [("a", "created")]),
            ("editor", {"path": "/repo/a"}, {"result": "Edited"}, [("a", "changed")]),
            ("editor", {"path": "/repo/a"}, None, [("a", "changed")]),
            ("editor", {"path": 7}, None, []),
            (
                "read_files",
                {"files": [{"path": "/repo/a"}, "b", 7]},
                [{"result": "x", "success": True}],
                [("a", "read"), ("b", "read")],
            ),
            ("read_files", {"files": 7}, 7, []),
            ("run_commands", {"commands": ["ls"]}, [], []),
        ],
    )
    def test_the_files_of_a_call_are_reported_once_it_went_well(
        self, name: str, given: dict[str, Any], output: Any, files: list[tuple[str, str]]
    ) -> None:
        found = told_by_cline(begun(name, **given), ended(name, output=output))
        assert [(one["path"], one["action"]) for one in found if one["kind"] == "file"] == files

    @pytest.mark.parametrize(
        ("end", "errors"),
        [
            ({"error": "it\nfell over"}, ("it",)),
            (
                {"output": [{"result": "one\nerror: odd", "error": "code 3", "success": False}]},
                ("error: odd", "code 3"),
            ),
            ({"output": [{"success": True}, {"success": False}]}, ()),
            ({"error": '{"error":"no"}', "output": {"error": "no"}}, ("no",)),
        ],
    )
    def test_a_call_that_failed_is_reported_as_such(
        self, end: dict[str, Any], errors: tuple[str, ...]
    ) -> None:
        call = [begun("editor", path="a"), ended("editor", **end)]
        states = [one.get("state") for one in told_by_cline(*call)]
        assert states == ["started", "failed"]
        assert final_of(*call, done()).errors == errors

    def test_a_text_whose_end_never_came_is_reported_as_far_as_it_came(self) -> None:
        assert told_by_cline(piece("a ", "a "), piece("b", "a b")) == [text("a b")]
        assert told_by_cline(piece("a ", None), piece("b", None)) == [text("a b")]
        assert told_by_cline(piece("a", "a"), begun("x"))[0] == text("a")
        assert told_by_cline(piece("a", "a"), done("error"))[0] == text("a")

    def test_notices_and_lines_that_are_no_records_are_shown(self) -> None:
        notice = event("notice", message="tries again", noticeType="recovery")
        assert told_by_cline(notice, b"Warning: slow ", b"") == [
            text("tries again"),
            text("Warning: slow"),
        ]


class TestSubAgents:
    BELOW = (
        begun("spawn_agent", task="look"),
        hook("agent_start", "sub", "main"),
        event("iteration_start", iteration=1),
        spent(9),
        piece("x", "x"),
        begun("run_commands", "c2", commands=["ls"]),
        ended("run_commands", "c2", output=[]),
        said(BLOCK),
    )

    def test_their_words_and_counts_are_none_of_the_agents(self) -> None:
        below = [*self.BELOW, hook("agent_end", "sub", "main"), ended("spawn_agent")]
        messages, found = decode_cline(stream(*below, said("All done."), done(usage=SPENT)))
        assert [m.text for m in messages if m.kind == "text"] == ["All done."]
        assert (found.text, found.earlier_block) == ("All done.", "")
        assert found.usage == USAGE.model_copy(update={"context_tokens": None})

    def test_one_whose_end_is_not_reported_ends_with_the_call_that_began_it(self) -> None:
        found = told_by_cline(*self.BELOW, ended("spawn_agent"), said("All done."))
        assert found[-1] == text("All done.")
        assert told_by_cline(*self.BELOW, said("All done."))[-1]["kind"] == "tool"
        other = begun("editor", "c3", path="a")
        still = told_by_cline(
            begun("editor", "c0"), *self.BELOW, ended(call="c0"), other, said("No.")
        )
        assert still[-1]["kind"] == "tool"


class TestAsked:
    ASK = begun("ask_question", question="Which one?", options=["a", "b"])

    def test_the_program_answers_by_itself_so_the_question_remains(self) -> None:
        found = final_of(self.ASK, ended(output="a"), said("So."), done(text="So."))
        assert found.question == "Which one?\n- a\n- b"

    def test_one_after_which_it_went_on_is_none(self) -> None:
        assert final_of(self.ASK, ended(output="a"), begun("editor", "c2"), done()).question == ""


class TestUsage:
    def test_while_it_works_its_own_totals_are_reported(self) -> None:
        found = told_by_cline(event("iteration_start"), spent(), spent(2))
        assert [one["usage"]["inputTokens"] for one in found] == [400, 800]
        assert found[-1]["usage"]["costUsd"] == 0.5

    def test_the_result_counts_with_what_is_below_it_where_it_says(self) -> None:
        whole = {"inputTokens": 9, "outputTokens": 1}
        found = final_of(spent(), done(usage=SPENT, aggregateUsage=whole)).usage
        assert found == Usage(input_tokens=9, output_tokens=1, context_tokens=1200)

    @pytest.mark.parametrize(
        ("usage", "known"),
        [
            (None, None),
            ({"inputTokens": 0, "outputTokens": 0, "totalCost": 0}, None),
            ({"outputTokens": 3, "totalCost": 0}, Usage(output_tokens=3)),
            ({"inputTokens": 3, "cacheReadTokens": 5}, Usage(input_tokens=0, cached_tokens=5)),
        ],
    )
    def test_what_is_not_counted_is_not_known(self, usage: Any, known: Usage | None) -> None:
        assert final_of(done(usage=usage)).usage == known


class TestFailure:
    @pytest.mark.parametrize(
        ("records", "why", "failure"),
        [
            ([failed("no key", "auth"), done("error")], "no key", AgentFailure.NOT_LOGGED_IN),
            (
                [failed("too long", "context_window_exceeded"), done("error", text="too long")],
                "too long",
                AgentFailure.CONTEXT_FULL,
            ),
            ([failed("odd\nthing"), done("error", text="odd\nthing")], "odd", None),
            ([done("error", text="odd")], "odd", None),
            ([done("error")], "it ended with 'error'", None),
            ([done("error", text="x"), said("y")], "x", None),
            (
                [done("max_iterations", text="…")],
                "reached the turn limit: …",
                AgentFailure.MAX_TURNS,
            ),
            ([done("mistake_limit")], "made too many mistakes in a row", None),
            ([done("aborted")], "was aborted", None),
            ([done(), {"type": "run_aborted", "message": "aborted"}], "was aborted", None),
            ([{"type": "run_aborted"}], "was aborted", None),
            ([{"type": "error", "message": "no provider"}], "no provider", None),
            ([failed("gone")], "gone", None),
            ([event("error", error="gone", recoverable=False)], "gone", None),
        ],
    )
    def test_how_it_failed(
        self, records: list[Any], why: str, failure: AgentFailure | None
    ) -> None:
        found = final_of(said("x"), *records)
        assert (found.failed, found.why, found.failure) == (True, why, failure)
        assert found.text.startswith("x")
        assert found.limit is None

    def test_a_failure_that_it_got_over_is_none(self) -> None:
        found = final_of(failed("slow"), said("Done."), done(text="Done."))
        assert (found.failed, found.why, found.text) == (False, "", "Done.")
        assert found.errors == ("slow",)

    def test_the_programs_own_words_report_a_limit(self) -> None:
        words = "Rate limit reached for m. Please try again in 11s."
        found = final_of(failed(words), done("error", text=words))
        assert (found.failure, found.limit) == (AgentFailure.LIMIT, AccountLimit(resets_in=11.0))
        assert final_of(failed(words), done()).limit is None

    def test_a_call_that_was_not_permitted_is_counted(self) -> None:
        denial = 'Tool "editor" requires approval in a TTY session -- NOT a tool failure.'
        end = ended("editor", error=f'{{"error":"{denial}"}}'.replace('"editor"', '\\"editor\\"'))
        found = final_of(begun("editor"), end, done())
        assert (found.failed, found.denied_tools) == (False, ("editor",))


def test_the_beginning_names_session_and_model_where_it_is_reported() -> None:
    start = {"type": "run_start", "sessionId": "123_abc", "modelId": "m"}
    found = final_of(start, done(model={"id": None}))
    assert (found.session_id, found.model) == ("123_abc", "m")
    assert final_of(start, {"type": "run_start"}, done()).session_id == "123_abc"


RECORDINGS = Path(__file__).resolve().parents[4] / "data" / "cline"


class TestRecordings:
    def read(self, name: str) -> tuple[list[Any], AgentResult]:
        return decode_cline((RECORDINGS / f"{name}.jsonl").read_bytes())

    def test_work(self) -> None:
        messages, found = self.read("work")
        assert found.text.startswith("The first is done.")
        assert "---RALPH_STATUS---" in found.earlier_block
        assert (found.failed, found.model, found.denied_tools) == (False, "stub-model", ())
        assert found.usage == Usage(
            input_tokens=7800, output_tokens=204, cached_tokens=4800, turns=6, context_tokens=2100
        )
        assert {"text", "tool", "file", "usage"} <= {message.kind for message in messages}

    @pytest.mark.parametrize(
        ("name", "why", "failure"),
        [
            ("error", "Out of order", None),
            ("limit", "Slow down", None),
            ("overloaded", "Overloaded", None),
            ("not-logged-in", "No such key", AgentFailure.NOT_LOGGED_IN),
        ],
    )
    def test_failures(self, name: str, why: str, failure: AgentFailure | None) -> None:
        found = self.read(name)[1]
        assert (found.failed, found.why, found.failure) == (True, why, failure)

    def test_a_call_that_was_not_permitted(self) -> None:
        found = self.read("denied")[1]
        assert (found.failed, found.denied_tools) == (False, ("run_commands",))

    def test_a_question(self) -> None:
        assert self.read("asks")[1].question == "Tabs or spaces?\n- Tabs\n- Spaces"
