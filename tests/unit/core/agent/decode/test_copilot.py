"""The stream of ``copilot``: what the agent says and does, what it comes to, and how it fails."""

from __future__ import annotations

import json
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.copilot.decoder import NO_END, CopilotDecoder
from ralph_ls.core.agent.decode.dialects import apply_usage_file
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.report import AgentFailure, Usage
from tests.unit.core.agent.decode.claude_streams import as_json, message_of, stream

BLOCK = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS\n---END_RALPH_STATUS---"


def event(kind: str, agent: str | None = None, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "i", **({"agentId": agent} if agent else {})}


def said(text: str, agent: str | None = None, **data: Any) -> dict[str, Any]:
    return event("assistant.message", agent, content=text, **data)


def piece(text: str) -> dict[str, Any]:
    return event("assistant.message_delta", messageId="m", deltaContent=text)


def begun(
    tool: str, call: str = "c1", agent: str | None = None, *, data: Any = None, **given: Any
) -> dict[str, Any]:
    fields = {"toolCallId": call, "toolName": tool, "arguments": given, **(data or {})}
    return event("tool.execution_start", agent, **fields)


def ended(call: str = "c1", agent: str | None = None, **data: Any) -> dict[str, Any]:
    return event("tool.execution_complete", agent, toolCallId=call, **{"success": True, **data})


def error(kind: str, message: str = "odd\nthing", status: int | None = None) -> dict[str, Any]:
    return event("session.error", errorType=kind, message=message, statusCode=status)


def done(code: int | None = 0, session: str = "s") -> dict[str, Any]:
    return {
        "type": "result",
        "sessionId": session,
        "exitCode": code,
        "usage": {"premiumRequests": 1},
    }


def decode_copilot(*pieces: bytes, **given: Any) -> tuple[list[Any], AgentResult]:
    decoder = CopilotDecoder(7, **given)
    told = [*chain.from_iterable(map(decoder.feed, pieces)), *decoder.finish()]
    return [message_of(one) for one in told], decoder.final()


def told_by_copilot(*records: Any) -> list[dict[str, Any]]:
    messages, _ = decode_copilot(stream(*records), folder="/repo")
    dumped = [as_json(message) for message in messages]
    return [
        {key: value for key, value in one.items() if key not in {"start", "offset"}}
        for one in dumped
    ]


def final_of(*records: Any) -> AgentResult:
    return decode_copilot(stream(*records))[1]


def text(words: str) -> dict[str, Any]:
    return {"kind": "text", "text": words}


def tool(name: str, summary: str, state: str) -> dict[str, Any]:
    return {"kind": "tool", "call": "c1", "name": name, "summary": summary, "state": state}


WHOLE = stream(
    event("session.tools_updated", model="m"),
    event("user.message", content=BLOCK),
    event("assistant.turn_start", turnId="0"),
    said("I look around. 漢字"),
    begun("create", path="/repo/a.py", file_text="x"),
    ended(
        fileEdits=[{"path": "/repo/a.py", "kind": "create"}],
        toolTelemetry={"metrics": {"context_token_limit": 64000, "context_current_tokens": 9000}},
    ),
    event("assistant.turn_start", turnId="1"),
    piece("It is "),
    piece("written."),
    said(f"It is written.\n\n{BLOCK}", model="m2"),
    done(),
)


class TestStream:
    def test_a_whole_session(self) -> None:
        messages, found = decode_copilot(WHOLE, folder="/repo")
        kinds = ["text", "tool", "tool", "file", "text", "usage"]
        assert [message.kind for message in messages] == kinds
        assert found == AgentResult(
            text=f"It is written.\n\n{BLOCK}",
            usage=Usage(turns=2, context_tokens=9000, context_window=64000),
            session_id="s",
            model="m2",
            denied_tools=(),
        )

    @given(st.lists(st.integers(min_value=0, max_value=len(WHOLE)), max_size=12))
    def test_the_cuts_of_the_stream_make_no_difference(self, cuts: list[int]) -> None:
        edges = [0, *sorted(cuts), len(WHOLE)]
        pieces = [WHOLE[start:end] for start, end in pairwise(edges)]
        assert decode_copilot(*pieces) == decode_copilot(WHOLE)

    def test_cut_anywhere_it_has_failed_until_its_result_has_come(self) -> None:
        last = WHOLE.rstrip(b"\n").rfind(b"\n") + 1
        for end in range(0, last, 61):
            found = decode_copilot(WHOLE[:end])[1]
            assert (found.failed, found.why) == (True, NO_END)
            assert found.failure is AgentFailure.CRASHED

    @pytest.mark.parametrize(
        "line",
        [
            b'{"type":"assistant.message","data":{"content":"cu',
            b'{"type":"assistant.message","data":7}',
            b'{"type":"assistant.message"}',
            b'{"type":"assistant.message","agentId":7,"data":{"content":"x"}}',
            b'{"type":"result","exitCode":"x"}',
            b'{"pot":1}',
            stream(event("tea.made", content="x")).strip(),
            stream(said("")).strip(),
            stream(ended("never begun")).strip(),
            stream(event("session.info", infoType="file_created", message="/a")).strip(),
            stream(event("session.warning")).strip(),
            stream(event("session.model_change", newModel="m")).strip(),
        ],
    )
    def test_an_event_that_says_nothing_or_is_broken_is_passed_over(self, line: bytes) -> None:
        assert told_by_copilot(line) == []

    def test_what_the_program_says_by_itself_is_shown(self) -> None:
        retry = event("session.info", infoType="model_retry", message="Retrying...")
        warning = event("session.warning", warningType="policy", message="careful")
        assert told_by_copilot(retry, warning, b"Warning: slow ", b"") == [
            text("Retrying..."),
            text("careful"),
            text("Warning: slow"),
        ]


class TestMessages:
    @pytest.mark.parametrize(
        ("start", "name", "summary"),
        [
            (begun("bash", command="ls\n-la", description="x"), "bash", "ls -la"),
            (begun("view", path="/repo/a"), "view", "a"),
            (begun("grep", pattern="x", paths="/y"), "grep", "x"),
            (begun("task", description="look", prompt="p"), "task", "look"),
            (
                begun("db-ask", data={"mcpServerName": "db", "mcpToolName": "ask"}, sql="SELECT"),
                "mcp__db__ask",
                "SELECT",
            ),
            (begun("db-ask", data={"mcpServerName": "db", "arguments": 7}), "db-ask", ""),
        ],
    )
    def test_a_call_is_reported_in_a_line(self, start: Any, name: str, summary: str) -> None:
        found = told_by_copilot(start, ended())
        assert found[:2] == [tool(name, summary, "started"), tool(name, summary, "done")]

    def test_the_files_of_a_call_are_reported_once_it_went_well(self) -> None:
        edits = [
            {"path": "/repo/a", "kind": "create"},
            {"path": "/repo/b", "kind": "edit"},
            {"path": "/c", "kind": "delete"},
        ]
        found = told_by_copilot(begun("edit", path="a"), ended(fileEdits=edits))
        assert [(one["path"], one["action"]) for one in found if one["kind"] == "file"] == [
            ("a", "created"),
            ("b", "changed"),
            ("/c", "deleted"),
        ]
        assert told_by_copilot(begun("view", path="/repo/d"), ended())[-1] == {
            "kind": "file",
            "path": "d",
            "action": "read",
        }
        bad = told_by_copilot(begun("view", path="/repo/d"), ended(success=False))
        assert [one["kind"] for one in bad] == ["tool", "tool"]

    @pytest.mark.parametrize(
        ("end", "errors"),
        [
            ({"success": False, "error": {"message": "none\nthere", "code": "failure"}}, ("none",)),
            (
                {"shellExecution": {"exitCode": 3}, "result": {"content": "x\nerror: y"}},
                ("error: y",),
            ),
            ({"success": False}, ()),
        ],
    )
    def test_a_call_that_failed_is_reported_as_such(
        self, end: dict[str, Any], errors: tuple[str, ...]
    ) -> None:
        call = [begun("bash", command="x"), ended(**end)]
        assert [one.get("state") for one in told_by_copilot(*call)] == ["started", "failed"]
        found = final_of(*call, done())
        assert (found.errors, found.failed, found.denied_tools) == (errors, False, ())

    def test_a_command_that_went_well_says_so_with_its_exit_code(self) -> None:
        end = ended(shellExecution={"exitCode": 0}, toolTelemetry={"metrics": None})
        assert told_by_copilot(begun("bash", command="x"), end)[-1]["state"] == "done"

    @pytest.mark.parametrize("code", ["denied", "rejected"])
    def test_a_call_that_was_not_permitted_is_counted(self, code: str) -> None:
        end = ended(success=False, error={"message": "no", "code": code})
        found = final_of(begun("create", path="a"), end, done())
        assert (found.failed, found.denied_tools) == (False, ("create",))

    def test_a_text_whose_whole_never_came_is_reported_as_far_as_it_came(self) -> None:
        assert told_by_copilot(piece("a "), piece("b")) == [text("a b")]
        assert told_by_copilot(piece("a"), begun("x"))[0] == text("a")
        assert told_by_copilot(piece("a"), done(1))[0] == text("a")


class TestSubAgents:
    def test_their_words_and_turns_are_none_of_the_agents(self) -> None:
        records = [
            event("assistant.turn_start"),
            begun("task", description="look"),
            event("assistant.turn_start", "sub"),
            event("assistant.message_delta", "sub", deltaContent="x"),
            said(BLOCK, "sub", model="other"),
            said(BLOCK, parentToolCallId="c1", model="m"),
            begun("ask_user", "c2", "sub", question="Well?"),
            ended(
                "c2",
                "sub",
                toolTelemetry={"metrics": {"context_token_limit": 1}},
            ),
            ended(result={"content": BLOCK}),
            said("All done."),
            done(),
        ]
        messages, found = decode_copilot(stream(*records))
        assert [m.text for m in messages if m.kind == "text"] == ["All done."]
        assert (found.text, found.earlier_block, found.question) == ("All done.", "", "")
        assert (found.model, found.usage) == ("m", Usage(turns=1))


class TestAsked:
    def test_a_question_put_by_a_tool_is_kept_till_it_continues(self) -> None:
        ask = begun("ask_user", question="Which?", choices=["a", "b"])
        assert (
            final_of(ask, ended(success=False), said("So."), done()).question == "Which?\n- a\n- b"
        )
        assert final_of(ask, ended(), begun("bash", "c2"), done()).question == ""
        plain = begun("ask_user", question="Which?", options=["a"])
        assert final_of(plain, done()).question == "Which?\n- a"

    def test_a_question_of_the_program_itself_is_kept(self) -> None:
        asked = event("user_input.requested", question="Go on?", choices=None)
        assert final_of(asked).question == "Go on?"


class TestUsage:
    def test_calls_of_the_model_that_it_reports_of_are_added_up(self) -> None:
        spent = event("assistant.usage", inputTokens=1200, outputTokens=34, cacheReadTokens=800)
        info = event("session.usage_info", tokenLimit=64000, currentTokens=5000)
        found = final_of(spent, spent, info, done()).usage
        assert found == Usage(
            input_tokens=800,
            output_tokens=68,
            cached_tokens=1600,
            context_tokens=5000,
            context_window=64000,
        )
        assert final_of(done()).usage is None


COUNTS = {"inputTokens": 3600, "outputTokens": 102, "cacheReadTokens": 2400}
FILE = {
    "modelMetrics": {"a": {"usage": COUNTS}, "b": {"usage": COUNTS}, "c": {}},
    "lastCallInputTokens": 1200,
}


class TestUsageFile:
    def add(
        self, file: Any, final: AgentResult | None = None, earlier: Usage | None = None
    ) -> AgentResult:
        data = file if isinstance(file, bytes) else json.dumps(file).encode()
        return apply_usage_file(final or AgentResult(), data, Dialect.COPILOT, earlier=earlier)

    def test_it_has_the_tokens_that_the_stream_has_not(self) -> None:
        streamed = final_of(event("assistant.turn_start"), done())
        found = self.add(FILE, streamed)
        whole = Usage(input_tokens=2400, output_tokens=204, cached_tokens=4800)
        assert found.session_usage == whole
        assert found.usage == whole.model_copy(update={"turns": 1, "context_tokens": 1200})

    def test_of_a_resumed_session_only_what_is_new_counts(self) -> None:
        before = Usage(input_tokens=2000, output_tokens=200, cached_tokens=5000)
        found = self.add(FILE, earlier=before)
        assert found.usage == Usage(
            input_tokens=400, output_tokens=4, cached_tokens=0, context_tokens=1200
        )

    @pytest.mark.parametrize(
        "file", [b"", b"{", b"[]", {}, {"modelMetrics": {}, "lastCallInputTokens": 3}]
    )
    def test_one_that_says_nothing_changes_nothing(self, file: Any) -> None:
        assert self.add(file) == AgentResult()

    def test_no_other_agent_has_such_a_file(self) -> None:
        assert apply_usage_file(AgentResult(), b"{}", Dialect.CLAUDE) == AgentResult()


class TestFailure:
    @pytest.mark.parametrize(
        ("records", "failure"),
        [
            ([error("authentication", status=401)], AgentFailure.NOT_LOGGED_IN),
            ([error("authorization")], AgentFailure.NOT_LOGGED_IN),
            ([error("rate_limit", status=429)], AgentFailure.LIMIT),
            ([error("quota")], AgentFailure.LIMIT),
            ([error("query", status=429)], AgentFailure.LIMIT),
            ([error("context_limit")], AgentFailure.CONTEXT_FULL),
            ([error("query", status=503)], AgentFailure.OVERLOADED),
            ([error("policy", status=400)], None),
        ],
    )
    def test_which_failure_it_was(self, records: list[Any], failure: AgentFailure | None) -> None:
        for end in ([], [done(1)]):
            found = final_of(said("x"), *records, *end)
            assert (found.failed, found.why, found.failure) == (True, "odd", failure)
            assert (found.limit is None) is (failure is not AgentFailure.LIMIT)
            assert found.errors == ("odd",)

    def test_its_own_exit_code_alone_is_a_failure(self) -> None:
        found = final_of(said("x"), done(2))
        assert (found.failed, found.why, found.failure) == (True, "it ended with code 2", None)

    def test_a_failure_that_it_got_over_is_none(self) -> None:
        assert not final_of(error("query"), said("x"), done()).failed
        after = final_of(error("query"), event("assistant.turn_start"), done(1))
        assert after.why == "it ended with code 1"

    def test_when_a_limit_is_lifted_is_read_from_the_programs_own_words(self) -> None:
        words = "You have hit your usage limit. Try again in 2 hours."
        found = final_of(error("rate_limit", words, 429), done(1))
        assert found.limit == AccountLimit(resets_in=7200.0)


def test_the_session_is_named_at_the_beginning_where_it_is_reported() -> None:
    assert final_of(event("session.start", sessionId="abc")).session_id == "abc"


RECORDINGS = Path(__file__).resolve().parents[4] / "data" / "copilot"


class TestRecordings:
    def read(self, name: str) -> tuple[list[Any], AgentResult]:
        return decode_copilot((RECORDINGS / f"{name}.jsonl").read_bytes())

    def test_work(self) -> None:
        messages, found = self.read("work")
        assert found.text.startswith("The first is done.")
        assert "---RALPH_STATUS---" in found.earlier_block
        assert (found.failed, found.model, found.denied_tools) == (False, "stub-model", ())
        assert found.usage is not None
        assert (found.usage.turns, found.usage.context_window) == (6, 128000)
        assert {"text", "tool", "file"} <= {message.kind for message in messages}

    @pytest.mark.parametrize(
        ("name", "failure"),
        [
            ("error", AgentFailure.OVERLOADED),
            ("overloaded", AgentFailure.OVERLOADED),
            ("limit", AgentFailure.LIMIT),
            ("not-logged-in", AgentFailure.NOT_LOGGED_IN),
        ],
    )
    def test_failures(self, name: str, failure: AgentFailure) -> None:
        found = self.read(name)[1]
        assert (found.failed, found.failure) == (True, failure)
        assert found.session_id is not None

    def test_a_call_that_was_not_permitted(self) -> None:
        found = self.read("denied")[1]
        assert (found.failed, found.denied_tools) == (False, ("bash",))

    def test_a_session_that_continues(self) -> None:
        found = self.read("resume")[1]
        assert (found.text, found.failed) == ("The second.", False)
