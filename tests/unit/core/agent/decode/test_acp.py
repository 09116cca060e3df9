"""What our client of the Agent Client Protocol prints, decoded: written by hand, line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.core.agent.decode.acp.decoder import LONGEST_REST, AcpDecoder
from ralph_ls.core.agent.decode.common.line_decoder import MAX_FINAL_TEXT, MAX_OPEN_CALLS
from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.messages import (
    AgentMessage,
    FileMessage,
    TextMessage,
    TodoMessage,
    ToolMessage,
    UsageCounts,
    UsageMessage,
)
from ralph_ls.protocol.run.report import AgentFailure, Usage

HELLO = {"authMethods": [{"id": "key", "name": "A key"}, {"id": "web"}, {}]}


def update(what: str, /, **more: Any) -> dict[str, Any]:
    params = {"sessionId": "s1", "update": {"sessionUpdate": what, **more}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def chunk(text: Any, **more: Any) -> dict[str, Any]:
    return update("agent_message_chunk", content={"type": "text", "text": text}, **more)


def call(what: str = "tool_call", /, **more: Any) -> dict[str, Any]:
    return update(what, **{"toolCallId": "c1", **more})


def request(number: int, method: str, **more: Any) -> dict[str, Any]:
    return {"client": "request", "id": number, "method": method, **more}


def answer(number: int, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def refusal(number: int, **error: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": error}


BEGIN = [
    request(0, "initialize"),
    answer(0, **HELLO),
    request(1, "session/new"),
    answer(1, sessionId="s1", models={"currentModelId": "large"}),
    request(2, "session/prompt", session="s1"),
]
END = answer(2, stopReason="end_turn")


def play(*records: Any, whole: bool = True, **more: Any) -> tuple[list[AgentMessage], AgentResult]:
    """The messages of the decoder, and its result; ``whole``: with a session before, and an end."""
    decoder = AcpDecoder(1, folder="/repo", **more)
    lines = [*BEGIN, *records, END] if whole else list(records)
    told: list[AgentMessage] = []
    for record in lines:
        line = record if isinstance(record, bytes) else json.dumps(record).encode()
        told += decoder.feed(line + b"\n")
    told += decoder.finish()
    return told, decoder.final()


def texts(told: list[AgentMessage]) -> list[str]:
    return [one.text for one in told if isinstance(one, TextMessage)]


def tools(told: list[AgentMessage]) -> list[tuple[str, str, str]]:
    return [(one.name, one.summary, str(one.state)) for one in told if isinstance(one, ToolMessage)]


def files(told: list[AgentMessage]) -> list[tuple[str, str]]:
    return [(one.path, str(one.action)) for one in told if isinstance(one, FileMessage)]


class TestWords:
    def test_pieces_make_a_message_which_is_reported_line_by_line(self) -> None:
        told, final = play(chunk("Two "), chunk("words.\n\nAnd a"), chunk(" third.\n"), chunk("\n"))
        assert texts(told) == ["Two words.\n", "And a third."]
        assert final.text == "Two words.\n\nAnd a third.\n\n"
        assert (final.failed, final.failure, final.why) == (False, None, "")

    def test_what_was_written_before_the_last_call_is_not_its_last_word(self) -> None:
        block = "---RALPH_STATUS---\nSTATUS: COMPLETE\n---END_RALPH_STATUS---"
        _, final = play(chunk(block), call(status="completed"), chunk("Bye."))
        assert (final.text, final.earlier_block) == ("Bye.", block)

    def test_messages_are_kept_apart_by_their_ids_and_by_what_the_user_written(self) -> None:
        told, final = play(
            chunk("One", messageId="a"),
            chunk("Two", messageId="b"),
            update("user_message_chunk", content={"type": "text", "text": "echo"}),
            chunk("Three", messageId="b"),
            update("agent_thought_chunk", content={"type": "text", "text": "hm"}),
        )
        assert texts(told) == ["One", "Two", "Three"]
        assert final.text == "One\nTwo\nThree"

    def test_a_sub_agent_and_another_session_are_not_noticed(self) -> None:
        other = chunk("From below.")
        other["params"]["sessionId"] = "s2"
        below = chunk("Below.", _meta={"claudeCode": {"parentToolUseId": "t"}})
        told, final = play(other, below, chunk(7), chunk(""))
        assert (texts(told), final.text) == ([], "")

    def test_a_line_without_an_end_is_reported_in_parts_and_the_end_of_a_flood_is_kept(
        self,
    ) -> None:
        long = "x" * (LONGEST_REST + 1)
        told, _ = play(chunk(long), chunk("y"))
        assert texts(told) == [long, "y"]
        many = MAX_FINAL_TEXT // LONGEST_REST * 2 + 2
        _, final = play(*([chunk(long)] * many), chunk("the end"))
        assert final.text.endswith("the end")
        assert len(final.text) <= 2 * MAX_FINAL_TEXT

    def test_utf_8_may_be_split_anywhere(self) -> None:
        stream = b"".join(
            json.dumps(one, ensure_ascii=False).encode() + b"\n"
            for one in [*BEGIN, chunk("漢字 🎈\n"), END]
        )
        whole, bytewise = AcpDecoder(1), AcpDecoder(1)
        told = whole.feed(stream) + whole.finish()
        split = [one for at in range(len(stream)) for one in bytewise.feed(stream[at : at + 1])]
        assert split + bytewise.finish() == told
        assert bytewise.final() == whole.final()
        assert texts(told) == ["漢字 🎈"]

    @pytest.mark.parametrize(
        "noise",
        [
            b"",
            b"no json",
            b'{"jsonrpc":',
            b"[1]",
            {"client": "what?"},
            {"client": 7},
            {"jsonrpc": "2.0", "method": "_own/thing", "params": [1]},
            {"jsonrpc": "2.0", "method": 7},
            {"jsonrpc": "2.0", "id": 77, "result": {"stopReason": "refusal"}},
            {"jsonrpc": "2.0", "id": [1], "result": None},
            {"jsonrpc": "2.0", "method": "session/update", "params": []},
            update("of_tomorrow", x=1),
            update("tool_call", toolCallId=7),
            update("config_option_update"),
            update("session_info_update", title="A title"),
            update("usage_update", used="many", cost=3),
            refusal(1, code=1, message="not asked for"),
        ],
        ids=str,
    )
    def test_what_is_not_known_is_noise(self, noise: Any) -> None:
        told, final = play(noise, chunk("Fine."))
        assert texts(told) == ["Fine."]
        assert not final.failed


class TestTools:
    def test_a_call_is_reported_when_it_is_known_what_it_is_about(self) -> None:
        told, _ = play(
            call(name="Write", kind="edit", title="Preparing…", status="pending", rawInput={}),
            call("tool_call_update", rawInput={"file_path": "/repo/a.txt", "content": "x"}),
            call(
                "tool_call_update",
                content=[{"type": "diff", "path": "/repo/a.txt", "oldText": None, "newText": "x"}],
            ),
            call("tool_call_update", status="completed"),
            call("tool_call_update", status="completed", title="Told again"),
        )
        assert tools(told) == [("Write", "a.txt", "started"), ("Write", "a.txt", "done")]
        assert files(told) == [("a.txt", "created")]

    @pytest.mark.parametrize(
        ("given", "name", "summary"),
        [
            ({"kind": "execute", "rawInput": {"command": "ls"}}, "execute", "ls"),
            ({"kind": "execute", "title": "ls", "status": "in_progress"}, "execute", "ls"),
            (
                {
                    "kind": "execute",
                    "locations": [{"path": "/repo"}],
                    "rawInput": {"cwd": "/repo"},
                    "title": "make",
                    "status": "in_progress",
                },
                "execute",
                "make",
            ),
            ({"_meta": {"claudeCode": {"toolName": "Bash"}}, "rawInput": {"x": "y"}}, "Bash", "y"),
            ({"_meta": {"toolName": "grep"}, "rawInput": {"pattern": "y"}}, "grep", "y"),
            ({"locations": [{"path": "/repo/a"}, {}, {"path": "/b"}]}, "tool", "a, /b"),
            (
                {"content": [{"type": "diff", "path": "/repo/a"}, {"type": "diff"}]},
                "tool",
                "a",
            ),
        ],
    )
    def test_it_has_the_name_and_the_summary_that_report_most(
        self, given: dict[str, Any], name: str, summary: str
    ) -> None:
        told, _ = play(call(**given))
        assert tools(told) == [(name, summary, "started")]

    def test_a_call_that_is_reported_only_when_permission_is_asked_begins_there(self) -> None:
        asked = {"toolCallId": "c1", "kind": "edit", "title": "Writing to a"}
        told, _ = play(
            {"jsonrpc": "2.0", "id": 0, "method": "session/request_permission"}
            | {"params": {"sessionId": "s1", "toolCall": asked}},
            call("tool_call_update", status="completed", locations=[{"path": "a"}]),
        )
        assert tools(told) == [("edit", "Writing to a", "started"), ("edit", "a", "done")]
        assert files(told) == [("a", "changed")]

    @pytest.mark.parametrize(
        ("given", "found"),
        [
            ({"kind": "read", "locations": [{"path": "/repo/a"}]}, [("a", "read")]),
            ({"kind": "delete", "locations": [{"path": "a"}]}, [("a", "deleted")]),
            ({"kind": "search", "locations": [{"path": "a"}]}, []),
            (
                {
                    "kind": "edit",
                    "content": [
                        {"type": "diff", "path": "a", "oldText": "x", "newText": "y"},
                        {"type": "diff", "path": "b", "oldText": "", "newText": "y"},
                        {"type": "diff", "path": "c", "oldText": "x"},
                        {"type": "diff", "path": "d", "_meta": {"kind": "update"}},
                        {"type": "diff", "path": "a", "oldText": "x", "newText": "y"},
                    ],
                },
                [("a", "changed"), ("b", "created"), ("c", "deleted"), ("d", "changed")],
            ),
            (
                {"kind": "read", "content": [{"type": "diff", "path": "b"}], "locations": []},
                [],
            ),
        ],
    )
    def test_the_files_of_a_call_that_went_well_are_reported(
        self, given: dict[str, Any], found: list[tuple[str, str]]
    ) -> None:
        told, _ = play(call(status="completed", **given))
        assert files(told) == found

    @pytest.mark.parametrize(
        ("given", "errors"),
        [
            (
                {"content": [{"type": "content", "content": {"text": "a\nerror: no\n"}}, {}]},
                ("error: no",),
            ),
            ({"rawOutput": "it is not there\nat all"}, ("it is not there",)),
            ({"rawOutput": {"message": "Path exists"}}, ("Path exists",)),
            ({"rawOutput": {"error": "E"}}, ("E",)),
            ({"rawOutput": "```\nrefused\n```"}, ("refused",)),
            ({}, ()),
        ],
    )
    def test_what_a_failed_call_says_is_an_error(
        self, given: dict[str, Any], errors: tuple[str, ...]
    ) -> None:
        told, final = play(call(status="failed", kind="edit", locations=[{"path": "a"}], **given))
        assert [state for _, _, state in tools(told)] == ["started", "failed"]
        assert (files(told), final.errors) == ([], errors)

    @pytest.mark.parametrize(
        ("given", "state"),
        [
            ({"_meta": {"terminal_exit": {"exit_code": 2}}}, "failed"),
            ({"_meta": {"terminal_exit": {"exit_code": 0}}}, "done"),
            ({"rawOutput": {"exitCode": 1}}, "failed"),
            ({"rawOutput": {"exit_code": 1}}, "failed"),
            ({"rawOutput": {"metadata": {"exit": 1}, "output": "x"}}, "failed"),
            ({"rawOutput": {"metadata": {"exit": None}}}, "done"),
        ],
    )
    def test_a_command_that_ends_with_a_code_has_failed(
        self, given: dict[str, Any], state: str
    ) -> None:
        output = {"_meta": {"terminal_output_delta": {"data": "one\n"}}}
        told, final = play(
            call(status="in_progress", kind="execute", **output),
            call("tool_call_update", status="completed", **given),
        )
        assert tools(told)[-1][2] == state
        assert bool(final.errors) == (state == "failed")

    def test_calls_are_forgotten_in_a_flood_that_ends_none(self) -> None:
        told, _ = play(
            *(call(toolCallId=str(number)) for number in range(MAX_OPEN_CALLS + 1)),
            call("tool_call_update", toolCallId="0", status="completed"),
        )
        assert tools(told) == [("tool", "", "started"), ("tool", "", "done")]

    def test_the_agents_own_list_is_reported_when_it_changes(self) -> None:
        entries = [
            {"content": "a", "status": "completed"},
            {"content": "b", "status": "in_progress"},
            {"content": "c", "priority": "low"},
            {"content": ""},
        ]
        told, _ = play(update("plan", entries=entries), update("plan", entries=entries))
        (todo,) = (one for one in told if isinstance(one, TodoMessage))
        assert [(one.text, one.state) for one in todo.items] == [
            ("a", "done"),
            ("b", "inProgress"),
            ("c", "pending"),
        ]


class TestOwnRecords:
    def test_what_was_not_permitted_is_counted(self) -> None:
        _, final = play({"client": "denied", "tool": "execute"}, {"client": "denied"})
        assert final.denied_tools == ("execute", "tool")
        _, final = play(*([{"client": "denied", "tool": "x"}] * (MAX_OPEN_CALLS + 1)))
        assert len(final.denied_tools or ()) == MAX_OPEN_CALLS

    def test_what_a_form_asks_remains_until_the_agent_continues(self) -> None:
        question = {"client": "question", "text": "Red or blue?"}
        assert play(question)[1].question == "Red or blue?"
        assert play(question, call(status="completed"))[1].question == ""

    def test_a_tool_that_asks_is_a_question(self) -> None:
        _, final = play(call(name="AskUserQuestion", rawInput={"question": "Red?"}))
        assert final.question == "Red?"

    def test_what_was_written_for_it_and_what_else_it_printed_is_reported(self) -> None:
        told, _ = play({"client": "wrote", "path": "/repo/a"}, {"client": "noise", "text": "hm"})
        assert files(told) == [("a", "changed")]
        assert texts(told) == ["hm"]

    @pytest.mark.parametrize(
        ("named", "failure"), [("wrongCall", AgentFailure.WRONG_CALL), ("of-tomorrow", None)]
    )
    def test_where_it_gave_up_it_says_why(self, named: str, failure: AgentFailure | None) -> None:
        told, final = play(
            *BEGIN[:2], {"client": "failed", "why": "No.\nNo.", "failure": named}, whole=False
        )
        assert (final.failed, final.why, final.failure) == (True, "No.\nNo.", failure)
        assert (texts(told), final.errors) == (["No."], ("No.",))


class TestSessions:
    def test_a_session_that_is_gone_on_in_is_known_by_the_request(self) -> None:
        _, final = play(
            request(1, "session/load", session="s0"),
            answer(1, configOptions=[{"id": "x"}, {"id": "model", "currentValue": "m"}]),
            whole=False,
        )
        assert (final.session_id, final.model) == ("s0", "m")

    def test_one_that_cannot_be_gone_on_in_is_left_for_a_fresh_one(self) -> None:
        told, final = play(
            request(0, "session/load", session="s0"),
            refusal(0, code=-32002, message="No such session"),
            {"client": "fresh", "why": "it is gone"},
            *BEGIN[2:],
            END,
            whole=False,
        )
        assert (final.session_id, final.failed) == ("s1", False)
        assert texts(told)[-1] == "A fresh session: it is gone"

    @pytest.mark.parametrize(
        ("records", "model"),
        [
            ([], "large"),
            ([request(7, "session/set_config_option"), answer(7)], "large"),
            (
                [
                    request(7, "session/set_config_option"),
                    answer(7, configOptions=[{"category": "model", "currentValue": "small"}]),
                ],
                "small",
            ),
            (
                [update("config_option_update", configOptions=[{"id": "model"} | {"x": 1}])],
                "large",
            ),
            ([update("usage_update", used=1, _meta={"_claude/model": "opus"})], "opus"),
            ([request(7, "session/set_mode"), refusal(7, message="not for root")], "large"),
        ],
    )
    def test_the_model_is_the_one_that_was_reported_last(
        self, records: list[dict[str, Any]], model: str
    ) -> None:
        _, final = play(*records)
        assert (final.model, final.failed) == (model, False)

    def test_the_model_that_was_used_is_in_the_answer(self) -> None:
        end = answer(2, stopReason="end_turn", _meta={"quota": {"model_usage": [{"model": "m"}]}})
        assert play(*BEGIN, end, whole=False)[1].model == "m"


class TestUsage:
    @pytest.mark.parametrize(
        ("usage", "counts"),
        [
            # What a cache gave is not among the input, and thoughts are among the output.
            ((3600, 102, 6402, 2400, 300, None), (3600, 102, 2400)),
            ((1200, 102, 3702, 2400, 0, 15), (1200, 102, 2400)),
            # Thoughts come on top.
            ((400, 29, 1234, 800, None, 5), (400, 34, 800)),
            # What a cache gave is among the input.
            ((19200, 544, 19744, 12800, 0, 80), (6400, 544, 12800)),
            ((1200, 29, 1234, 800, None, 5), (400, 34, 800)),
            ((1, 2, None, None, None, None), (1, 2, None)),
            # More from a cache than there is cannot be among it.
            ((10, 5, 15, 20, None, None), (10, 5, 20)),
        ],
    )
    def test_counts_come_to_one_meaning_by_their_total(
        self, usage: tuple[int | None, ...], counts: tuple[int | None, ...]
    ) -> None:
        keys = ("inputTokens", "outputTokens", "totalTokens")
        more = ("cachedReadTokens", "cachedWriteTokens", "thoughtTokens")
        given = dict(zip((*keys, *more), usage, strict=True))
        told, final = play(*BEGIN, answer(2, stopReason="end_turn", usage=given), whole=False)
        wanted = Usage(input_tokens=counts[0], output_tokens=counts[1], cached_tokens=counts[2])
        assert final.usage == wanted
        assert isinstance(told[-1], UsageMessage)

    @pytest.mark.parametrize(
        "quota",
        [{"input_tokens": 3, "output_tokens": 4}, {"inputTokens": 3, "outputTokens": 4}],
    )
    def test_counts_of_another_place_are_taken_where_there_are_no_others(
        self, quota: dict[str, int]
    ) -> None:
        end = answer(2, stopReason="end_turn", _meta={"quota": {"token_count": quota}})
        assert play(*BEGIN, end, whole=False)[1].usage == Usage(input_tokens=3, output_tokens=4)

    def test_counts_of_each_call_are_added_up(self) -> None:
        usage = {"inputTokens": 12, "outputTokens": 3, "totalTokens": 15, "cachedReadTokens": 8}
        told, final = play(chunk("", _meta={"usage": usage}), chunk("a", _meta={"usage": usage}))
        assert final.usage == Usage(input_tokens=8, output_tokens=6, cached_tokens=16, turns=2)
        spent = [one.usage for one in told if isinstance(one, UsageMessage)]
        assert spent[0] == UsageCounts(input_tokens=4, output_tokens=3, cached_tokens=8, turns=1)

    @pytest.mark.parametrize(
        ("cost", "earlier", "own", "whole"),
        [
            ({"amount": 0.75, "currency": "USD"}, 0.25, 0.5, 0.75),
            ({"amount": 0.25, "currency": "USD"}, 0.75, 0.25, 0.25),
            ({"amount": 1, "currency": "EUR"}, 0.0, None, None),
            (None, 0.0, None, None),
        ],
    )
    def test_the_cost_is_that_of_the_session_without_what_it_had_cost_before(
        self, cost: Any, earlier: float, own: float | None, whole: float | None
    ) -> None:
        _, final = play(
            update("usage_update", used=5, size=10, cost=cost), earlier_cost_usd=earlier
        )
        assert final.usage == Usage(context_tokens=5, context_window=10, cost_usd=own)
        assert final.session_cost_usd == whole

    def test_where_nothing_is_counted_nothing_is_known(self) -> None:
        assert play(update("usage_update"), update("usage_update", used=True))[1].usage is None


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "why", "failure"),
        [
            ({"code": -32603, "message": "Internal error"}, "Internal error", None),
            (
                {"message": "Internal error", "data": {"details": "It broke"}},
                "Internal error: It broke",
                None,
            ),
            ({"message": "It broke", "data": {"details": "broke"}}, "It broke", None),
            ({"data": {"message": "It broke"}}, "It broke", None),
            ({"code": 1}, "it answered with an error", None),
            (
                {"message": "x", "data": {"errorKind": "overloaded"}},
                "x",
                AgentFailure.OVERLOADED,
            ),
            (
                {"message": "x", "data": {"codexErrorInfo": "contextWindowExceeded"}},
                "x",
                AgentFailure.CONTEXT_FULL,
            ),
            (
                {"message": "x", "data": {"codexErrorInfo": {"other": {"httpStatusCode": 503}}}},
                "x",
                AgentFailure.OVERLOADED,
            ),
            (
                {"message": "x", "data": {"error": {"code": 408}}},
                "x",
                AgentFailure.OVERLOADED,
            ),
            (
                {"message": "x", "data": {"status": 404, "code": 413}},
                "x",
                AgentFailure.CONTEXT_FULL,
            ),
            ({"message": "x", "data": {"status": 200, "codexErrorInfo": {"a": 1}}}, "x", None),
        ],
    )
    def test_an_error_says_what_it_is_by_its_fields(
        self, error: dict[str, Any], why: str, failure: AgentFailure | None
    ) -> None:
        told, final = play(*BEGIN, chunk("Oh."), refusal(2, **error), whole=False)
        assert (final.failed, final.why, final.failure) == (True, why, failure)
        assert texts(told) == ["Oh.", why]
        assert final.limit is None

    @pytest.mark.parametrize("data", [{"errorKind": "rate_limit"}, {"statusCode": 429}])
    def test_a_limit_is_one(self, data: dict[str, Any]) -> None:
        _, final = play(*BEGIN, refusal(2, message="Wait", data=data), whole=False)
        assert (final.failure, final.limit) == (AgentFailure.LIMIT, AccountLimit())

    def test_where_nobody_is_logged_in_it_says_how_one_could(self) -> None:
        error = {"code": -32000, "message": "Authentication required"}
        _, final = play(*BEGIN[:3], refusal(1, **error), whole=False)
        assert final.failure is AgentFailure.NOT_LOGGED_IN
        assert final.why == "Authentication required (it offers: A key, web)"
        _, final = play(request(1, "authenticate"), refusal(1, message="Wrong key"), whole=False)
        assert (final.failure, final.why) == (AgentFailure.NOT_LOGGED_IN, "Wrong key")

    @pytest.mark.parametrize(
        ("reason", "why", "failure"),
        [
            ("max_tokens", "reached the token limit", AgentFailure.CONTEXT_FULL),
            ("max_turn_requests", "reached the turn limit", AgentFailure.MAX_TURNS),
            ("refusal", "the model refused to continue", None),
            ("cancelled", "the turn was cancelled", None),
            ("of_tomorrow", "the turn ended with: of_tomorrow", None),
            (None, "the turn ended with: no reason", None),
        ],
    )
    def test_a_turn_that_did_not_end_by_itself_has_failed(
        self, reason: str | None, why: str, failure: AgentFailure | None
    ) -> None:
        _, final = play(*BEGIN, answer(2, stopReason=reason), whole=False)
        assert (final.failed, final.why, final.failure) == (True, why, failure)

    def test_a_turn_that_ends_with_a_refusal_says_of_what(self) -> None:
        denied = {"client": "denied", "tool": "edit"}
        _, final = play(*BEGIN, denied, answer(2, stopReason="cancelled"), whole=False)
        assert final.why == "the turn ended because edit was not permitted"

    def test_a_stream_without_an_end_has_crashed(self) -> None:
        _, final = play(*BEGIN, chunk("I am"), whole=False)
        assert (final.failed, final.failure) == (True, AgentFailure.CRASHED)
        assert final.why == "the output ended in the middle of a turn"
        assert final.text == "I am"

    @pytest.mark.parametrize(
        ("words", "why", "failure", "limit"),
        [
            (["stream ", "broke\n\n"], "stream broke", None, None),
            ([], "its thread came to an error", None, None),
            (
                ["exceeded retry limit, last status: 429 Too Many Requests"],
                "exceeded retry limit, last status: 429 Too Many Requests",
                AgentFailure.LIMIT,
                AccountLimit(),
            ),
        ],
    )
    def test_a_thread_of_codex_that_is_in_error_has_failed_though_its_turn_ended_well(
        self,
        words: list[str],
        why: str,
        failure: AgentFailure | None,
        limit: AccountLimit | None,
    ) -> None:
        state = {"codex": {"threadStatus": {"type": "systemError"}}}
        told, final = play(
            chunk("I begin."),
            update("session_info_update", _meta=state),
            *(chunk(word) for word in words),
        )
        assert (final.failed, final.why, final.failure, final.limit) == (True, why, failure, limit)
        assert texts(told) == ["I begin.", why]

    def test_a_thread_of_codex_that_works_again_has_not(self) -> None:
        states = [{"codex": {"threadStatus": {"type": kind}}} for kind in ("systemError", "idle")]
        updates = [update("session_info_update", _meta=state) for state in states]
        assert not play(*updates, chunk("Fine."))[1].failed


def test_it_is_chosen_for_its_dialect() -> None:
    assert isinstance(decoder_for(Dialect.ACP), AcpDecoder)
