"""The stream of ``gemini``: what the agent says, what it comes to, and how it fails."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.common.line_decoder import (
    MAX_FINAL_TEXT,
    MAX_HELD_LINE,
    MAX_OPEN_CALLS,
    LineAssembler,
)
from ralph_ls.core.agent.decode.gemini.decoder import NO_END
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.messages import AgentMessage
from ralph_ls.protocol.run.report import AgentFailure, Usage
from tests.unit.core.agent.decode.claude_streams import stream
from tests.unit.core.agent.decode.other_streams import (
    BLOCK,
    as_line,
    decode_as,
    dumped,
    file,
    gemini,
    gemini_back,
    gemini_call,
    gemini_end,
    piece,
    recorded,
    stats,
    text,
    tool,
)

INIT = gemini("init", session_id="s", model="m")

WHOLE = stream(
    INIT,
    gemini("message", role="user", content=f"Do it.\n{BLOCK}"),
    piece("I look "),
    piece("around. 漢字"),
    gemini_call("run_shell_command", command="ls -la"),
    gemini_back(output="total 8\nerror: of nobody\n"),
    piece("It is written.\n\n"),
    piece(BLOCK),
    gemini_end(stats=stats(3800, 3600, 102, 2400)),
)


def decode(*pieces: bytes) -> tuple[list[AgentMessage], AgentResult]:
    return decode_as(Dialect.GEMINI, *pieces, folder="/repo")


def told(*records: Any) -> list[dict[str, Any]]:
    return dumped(decode(stream(*records))[0])


def final(*records: Any) -> AgentResult:
    return decode(stream(*records))[1]


def test_a_whole_session() -> None:
    messages, found = decode(WHOLE)
    assert dumped(messages)[:-1] == [
        text("I look around. 漢字"),
        tool("run_shell_command", "ls -la", "started"),
        tool("run_shell_command", "ls -la", "done"),
        text("It is written.\n\n"),
        text("---RALPH_STATUS---\nSTATUS: IN_PROGRESS\n"),
        text("---END_RALPH_STATUS---"),
    ]
    usage = Usage(input_tokens=1200, output_tokens=200, cached_tokens=2400, turns=2)
    assert found == AgentResult(
        text=f"It is written.\n\n{BLOCK}",
        usage=usage,
        session_id="s",
        model="m",
        denied_tools=(),
    )


@given(st.lists(st.integers(min_value=0, max_value=len(WHOLE)), max_size=12))
def test_the_cuts_of_the_stream_make_no_difference(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(WHOLE)]
    assert decode(*(WHOLE[a:b] for a, b in pairwise(edges))) == decode(WHOLE)


class TestWords:
    def test_pieces_are_reported_in_whole_lines(self) -> None:
        said = [piece(part) for part in ("One li", "ne.\nTwo", " words", ".\n", "Three.")]
        assert told(*said) == [text("One line.\n"), text("Two words.\n"), text("Three.")]
        assert final(*said).text == "One line.\nTwo words.\nThree."

    def test_a_line_that_grows_too_long_is_reported_up_to_its_last_blank(self) -> None:
        words = "word " * (MAX_HELD_LINE // 5)
        assert told(piece(words), piece("tail of it")) == [text(f"{words}tail of "), text("it")]
        endless = "x" * (MAX_HELD_LINE + 1)
        assert told(piece(endless)) == [text(endless)]

    def test_of_an_endless_text_the_end_is_kept(self) -> None:
        joined = LineAssembler()
        for _ in range(3):
            joined.add("y" * (MAX_FINAL_TEXT // 2))
        joined.add("the end")
        assert len(joined.text) <= MAX_FINAL_TEXT
        assert joined.text.endswith("the end")

    def test_a_message_that_is_whole_is_alone(self) -> None:
        whole = gemini("message", role="assistant", content="Whole.")
        assert told(piece("Begun"), whole, piece("More")) == [
            text("Begun"),
            text("Whole."),
            text("More"),
        ]
        assert final(piece("Begun"), whole, piece("More")).text == "Begun\nWhole.\nMore"

    def test_a_block_before_a_tool_is_the_earlier_text(self) -> None:
        found = final(piece(BLOCK), gemini_call("glob", pattern="*"), gemini_back(), piece("Done."))
        assert (found.earlier_block, found.text) == (BLOCK, "Done.")

    def test_what_is_written_when_the_stream_breaks_off_is_kept(self) -> None:
        decoder_told, found = decode(as_line(piece("Half a li")), b'{"type":"mess')
        assert dumped(decoder_told) == [text("Half a li")]
        assert (found.text, found.why, found.failure) == ("Half a li", NO_END, AgentFailure.CRASHED)

    def test_words_of_the_program_are_reported(self) -> None:
        assert told(piece("Hm"), b"(node) warning", b"") == [text("Hm"), text("(node) warning")]


class TestCalls:
    @pytest.mark.parametrize(
        ("name", "action"),
        [("read_file", "read"), ("write_file", "changed"), ("replace", "changed")],
    )
    def test_the_file_of_a_call(self, name: str, action: str) -> None:
        call = gemini_call(name, file_path="/repo/a.py", content="…")
        expected = [tool(name, "a.py", "started"), tool(name, "a.py", "done"), file("a.py", action)]
        assert told(call, gemini_back()) == expected
        # A record that the quick way does not know is read in full.
        slow = {"status": "success", **gemini_back()}
        assert told(call, slow) == expected

    def test_a_call_that_fails(self) -> None:
        call = gemini_call("read_file", file_path="b.py")
        back = gemini_back(error="file_not_found", output="Error: none of it\n")
        assert told(call, back) == [
            tool("read_file", "b.py", "started"),
            tool("read_file", "b.py", "failed"),
        ]
        assert final(call, back).errors == ("Error: none of it", "It is not so.")
        bare = gemini("tool_result", tool_id="c1", status="error", output={"deep": 1})
        assert final(call, bare).errors == ()
        assert told(call, bare)[-1] == tool("read_file", "b.py", "failed")

    def test_the_list_of_things_to_do(self) -> None:
        todos = [
            {"description": "one", "status": "completed"},
            {"description": "two", "status": "in_progress"},
            {"description": "three", "status": "blocked"},
            {"description": "four", "status": "cancelled"},
            {"description": 5},
            "six",
        ]
        call = gemini_call("write_todos", todos=todos)
        items = [
            {"text": "one", "state": "done"},
            {"text": "two", "state": "inProgress"},
            {"text": "three", "state": "pending"},
        ]
        assert told(call, gemini_back()) == [{"kind": "todo", "items": items}]
        assert told(call, gemini_back(error="invalid_tool_params")) == []
        assert told(gemini_call("write_todos", todos=3), gemini_back()) == [
            {"kind": "todo", "items": []}
        ]

    @pytest.mark.parametrize(
        ("name", "error", "denied"),
        [
            ("run_shell_command", "tool_not_registered", ("run_shell_command",)),
            ("run_shell_command", "policy_violation", ("run_shell_command",)),
            ("mcp__x__y", "policy_violation", ("mcp__x__y",)),
            ("nosuch", "tool_not_registered", ()),
            ("ask_user", "tool_not_registered", ()),
            ("write_file", "invalid_tool_params", ()),
        ],
    )
    def test_tools_that_are_not_permitted(
        self, name: str, error: str, denied: tuple[str, ...]
    ) -> None:
        assert final(gemini_call(name), gemini_back(error=error)).denied_tools == denied

    def test_a_question_that_was_not_answered_is_asked(self) -> None:
        asked = gemini_call("ask_user", questions=[{"question": "Which?"}])
        refused = gemini_back(error="tool_not_registered")
        assert final(asked, refused, piece("I wait.")).question == "Which?"
        assert final(asked, gemini_back()).question == ""
        assert final(asked, refused, gemini_call("glob"), gemini_back()).question == ""

    def test_a_result_of_no_call_is_nothing(self) -> None:
        assert told(gemini_back("other"), gemini_back("other", error="x")) == []

    def test_calls_that_never_come_back_take_bounded_room(self) -> None:
        calls = [gemini_call("glob", f"c{number}") for number in range(MAX_OPEN_CALLS + 1)]
        assert len(told(*calls, gemini_back("c0"))) == MAX_OPEN_CALLS + 1


class TestEnds:
    def test_a_lone_answer_reports_how_full_its_context_was(self) -> None:
        found = final(piece("Yes."), gemini_end(stats=stats(1300, 1200, 34, 800)))
        assert found.usage == Usage(
            input_tokens=400, output_tokens=100, cached_tokens=800, turns=1, context_tokens=1200
        )

    def test_counts_that_are_not_known(self) -> None:
        assert final(piece("Yes."), gemini_end(stats=stats())).usage is None
        assert final(gemini_end(stats={"input_tokens": 3})).usage == Usage(input_tokens=3)
        assert final(gemini_end()).usage is None

    @pytest.mark.parametrize(
        ("kind", "message", "failure", "why"),
        [
            ("FatalTurnLimitedError", "Reached max session turns", "maxTurns", None),
            ("FatalAuthenticationError", "Nobody", "notLoggedIn", None),
            ("TerminalQuotaError", "[API Error: All used up]", "limit", "All used up"),
            (
                "unknown",
                '[API Error: {"error":{"code":401,"message":"No key","status":"X"}}]',
                *("notLoggedIn", "No key (status 401)"),
            ),
            (
                "unknown",
                '[API Error: {"error":{"code":400,"message":"API key not valid"}}]',
                *("notLoggedIn", "API key not valid (status 400)"),
            ),
            (
                "unknown",
                '[API Error: {"error":{"code":"overloaded_error","message":"Later"}}]',
                *("overloaded", "Later"),
            ),
            ("unknown", '[API Error: {"error":{}}]', None, '{"error":{}}'),
            ("unknown", "[API Error: {broken]", None, "{broken"),
            ("unknown", "[API Error: No (Status: UNAVAILABLE)]", "overloaded", None),
            (
                "unknown",
                "[API Error: Slow down]\nPlease wait and try again later. To increase …",
                *("limit", "Slow down"),
            ),
            ("unknown", "[API Error: You have exhausted your daily quota]", "limit", None),
            ("unknown", "The input token count (3) exceeds the maximum", "contextFull", None),
            ("unknown", "[API Error: Odd]", None, "Odd"),
            ("Odd", "", None, "Odd"),
            ("", "", None, "it failed"),
        ],
    )
    def test_failures(self, kind: str, message: str, failure: str | None, why: str | None) -> None:
        found = final(INIT, gemini_end("error", error={"type": kind, "message": message}))
        assert found.failed
        assert found.failure == failure
        assert why is None or found.why == why
        assert found.errors == (found.why,)
        assert (found.limit is not None) == (failure == "limit")

    def test_a_limit_with_the_wait_that_the_service_asks_for(self) -> None:
        message = "[API Error: You exceeded your current quota. Please retry in 39.5s.]"
        found = final(gemini_end("error", error={"type": "unknown", "message": message}))
        assert found.limit == AccountLimit(resets_in=39.5)

    @pytest.mark.parametrize("ends", [[gemini_end()], [gemini_end("error")], []])
    def test_an_error_in_front_of_the_end_is_how_it_ended(self, ends: list[Any]) -> None:
        error = gemini("error", severity="error", message="Maximum session turns exceeded")
        found = final(piece("x"), error, *ends)
        assert (found.failed, found.failure) == (True, AgentFailure.MAX_TURNS)
        assert found.errors == ("Maximum session turns exceeded",)

    def test_an_error_that_it_got_over_and_a_warning_are_none(self) -> None:
        error = gemini("error", severity="error", message="Invalid stream")
        warning = gemini("error", severity="warning", message="Loop detected")
        found = final(error, piece("x"), warning, gemini_end())
        assert (found.failed, found.why, found.errors) == (False, "", ("Invalid stream",))
        assert told(warning) == [text("Loop detected")]

    def test_a_stream_that_breaks_off_at_an_unknown_error_has_crashed(self) -> None:
        found = final(gemini("error", severity="error", message="Invalid stream"))
        assert (found.why, found.failure) == ("Invalid stream", AgentFailure.CRASHED)

    @pytest.mark.parametrize(("status", "why"), [("error", "error"), ("", "unknown")])
    def test_an_end_that_says_nothing(self, status: str, why: str) -> None:
        assert final(gemini_end(status)).why == f"it ended with the status {why}"


RECORDS = st.sampled_from(
    [
        INIT,
        piece("words\n"),
        gemini_call("glob"),
        gemini_back(),
        gemini_back(error="x"),
        gemini_end(),
        gemini_end("error"),
        {"type": "new_kind", "x": 1},
        {"type": "tool_use", "parameters": [1]},
        {"type": "result", "stats": 3},
    ]
)


@given(st.lists(RECORDS | st.binary(max_size=60), max_size=8))
def test_no_stream_breaks_it(records: list[Any]) -> None:
    assert isinstance(final(*records), AgentResult)


@pytest.mark.parametrize(
    ("name", "failure", "final_text"),
    [
        ("work", None, "The first is done."),
        ("resume", None, "The second."),
        ("todo", None, "On it."),
        ("not-logged-in", AgentFailure.NOT_LOGGED_IN, ""),
        ("limit", AgentFailure.LIMIT, ""),
        ("overloaded", AgentFailure.OVERLOADED, ""),
        ("error", AgentFailure.OVERLOADED, ""),
    ],
)
def test_recordings(name: str, failure: AgentFailure | None, final_text: str) -> None:
    messages, found = decode(recorded(Dialect.GEMINI, name))
    assert found.text.startswith(final_text)
    assert (found.failed, found.failure) == (failure is not None, failure)
    assert (found.session_id, found.model) == ("id-1", "gemini-2.5-pro")
    assert (found.usage is None) == found.failed
    assert (name == "todo") == any(message.kind == "todo" for message in messages)
