"""The stream of ``opencode``: what the agent says, what it comes to, and how it fails."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.opencode import NO_END
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.messages import AgentMessage
from ralph_ls.protocol.run.report import AgentFailure, Usage
from tests.unit.core.agent.decode.claude_streams import stream
from tests.unit.core.agent.decode.other_streams import (
    BLOCK,
    decode_as,
    dumped,
    file,
    opencode,
    opencode_call,
    opencode_error,
    opencode_said,
    opencode_step,
    recorded,
    text,
    tool,
)

BEGIN = opencode("step_start", part={"type": "step-start"})
TOKENS: dict[str, Any] = {
    "input": 400,
    "output": 29,
    "reasoning": 5,
    "cache": {"read": 800, "write": 100},
}

WHOLE = stream(
    BEGIN,
    opencode_said("I look around. 漢字"),
    opencode_call("bash", {"command": "ls -la"}),
    opencode_step("tool-calls", **TOKENS),
    BEGIN,
    opencode_said(f"It is written.\n\n{BLOCK}"),
    opencode_step("stop", **TOKENS),
)


def decode(*pieces: bytes) -> tuple[list[AgentMessage], AgentResult]:
    return decode_as(Dialect.OPENCODE, *pieces, folder="/repo")


def told(*records: Any) -> list[dict[str, Any]]:
    return dumped(decode(stream(*records))[0])


def final(*records: Any) -> AgentResult:
    return decode(stream(*records))[1]


def test_a_whole_session_adds_its_steps_up() -> None:
    messages, found = decode(WHOLE)
    kinds = ["text", "tool", "tool", "usage", "text", "usage"]
    assert [message.kind for message in messages] == kinds
    assert found == AgentResult(
        text=f"It is written.\n\n{BLOCK}",
        usage=Usage(
            input_tokens=1000,
            output_tokens=68,
            cached_tokens=1600,
            cost_usd=1.0,
            turns=2,
            context_tokens=1300,
        ),
        session_id="s",
        denied_tools=(),
    )


@given(st.lists(st.integers(min_value=0, max_value=len(WHOLE)), max_size=12))
def test_the_cuts_of_the_stream_make_no_difference(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(WHOLE)]
    assert decode(*(WHOLE[a:b] for a, b in pairwise(edges))) == decode(WHOLE)


class TestCalls:
    @pytest.mark.parametrize(
        ("name", "given_", "metadata", "expected"),
        [
            ("read", {"filePath": "/repo/a.py"}, {}, file("a.py", "read")),
            ("edit", {"filePath": "/repo/a.py"}, {}, file("a.py", "changed")),
            ("write", {"filePath": "/repo/a.py"}, {"exists": True}, file("a.py", "changed")),
            ("write", {"filePath": "/repo/a.py"}, {"exists": False}, file("a.py", "created")),
            ("write", {"filePath": "/repo/a.py"}, None, file("a.py", "changed")),
        ],
    )
    def test_the_file_of_a_call(
        self, name: str, given_: Any, metadata: Any, expected: dict[str, Any]
    ) -> None:
        assert told(opencode_call(name, given_, metadata=metadata)) == [
            tool(name, "a.py", "started"),
            tool(name, "a.py", "done"),
            expected,
        ]

    def test_a_patch_reports_each_of_its_files(self) -> None:
        files = [
            {"filePath": "/repo/new", "type": "add"},
            {"filePath": "/repo/old", "type": "delete"},
            {"filePath": "/repo/a", "type": "update"},
        ]
        call = opencode_call("apply_patch", {"patchText": "…"}, metadata={"files": files})
        assert told(call)[2:] == [
            file("new", "created"),
            file("old", "deleted"),
            file("a", "changed"),
        ]

    def test_a_call_without_a_path_reports_no_file(self) -> None:
        assert told(opencode_call("read", {"filePath": 3})) == [
            tool("read", "", "started"),
            tool("read", "", "done"),
        ]

    def test_a_command_that_ends_badly_has_failed_though_its_call_went_well(self) -> None:
        output = "error: no such thing\n"
        call = opencode_call("bash", {"command": "x"}, output=output, metadata={"exit": 3})
        assert told(call)[-1] == tool("bash", "x", "failed")
        assert final(call).errors == ("error: no such thing",)

    def test_a_tool_that_there_is_not(self) -> None:
        call = opencode_call("invalid", {"tool": "nosuch", "error": "Model tried …"})
        assert told(call)[-1] == tool("invalid", "nosuch", "failed")

    def test_the_list_of_things_to_do(self) -> None:
        todos = [{"content": "one", "status": "completed"}, {"content": "two"}]
        items = [{"text": "one", "state": "done"}, {"text": "two", "state": "pending"}]
        call = opencode_call("todowrite", {"todos": todos})
        assert told(call) == [{"kind": "todo", "items": items}]
        assert told(opencode_call("todowrite", {"todos": todos}, error="no")) == []

    def test_a_question_that_was_not_answered_is_asked(self) -> None:
        asked = {"questions": [{"question": "Which?", "options": [{"label": "A"}]}]}
        refused = opencode_call("question", asked, error="The user rejected permission to …")
        found = final(refused, opencode_step("tool-calls"))
        assert (found.question, found.denied_tools, found.failed) == ("Which?\n- A", (), False)
        assert final(opencode_call("question", asked)).question == ""
        assert final(refused, opencode_call("bash", {"command": "ls"})).question == ""


class TestEnds:
    @pytest.mark.parametrize(
        "error",
        [
            "The user rejected permission to use this specific tool call.",
            "The user has specified a rule which prevents you from using this …",
        ],
    )
    def test_a_call_that_is_not_permitted_ends_it_well(self, error: str) -> None:
        found = final(
            BEGIN,
            opencode_call("bash", {"command": "rm"}, error=error),
            opencode_step("tool-calls"),
        )
        assert (found.failed, found.denied_tools) == (False, ("bash",))

    def test_a_refusal_that_it_got_over_is_no_end(self) -> None:
        error = "The user rejected permission to use this specific tool call."
        refused = opencode_call("bash", {"command": "rm"}, error=error)
        found = final(
            BEGIN, refused, opencode_step("tool-calls"), BEGIN, opencode_step("tool-calls")
        )
        assert (found.failed, found.why, found.failure) == (True, NO_END, AgentFailure.CRASHED)

    def test_a_stream_without_a_last_step_has_failed(self) -> None:
        for records in ([], [BEGIN], [BEGIN, opencode_step("tool-calls", **TOKENS)]):
            found = final(*records)
            assert (found.failed, found.why, found.failure) == (True, NO_END, AgentFailure.CRASHED)

    @pytest.mark.parametrize(
        ("name", "data", "failure", "why"),
        [
            (
                "APIError",
                {"message": "No\nmore", "statusCode": 401},
                "notLoggedIn",
                "No (status 401)",
            ),
            ("APIError", {"message": "Busy", "statusCode": 503}, "overloaded", "Busy (status 503)"),
            ("APIError", {"message": "Bad", "statusCode": 400}, None, "Bad (status 400)"),
            ("APIError", {"message": "prompt is too long"}, "contextFull", "prompt is too long"),
            ("ProviderAuthError", {"message": "No key"}, "notLoggedIn", "No key"),
            ("ContextOverflowError", {"message": "Full"}, "contextFull", "Full"),
            ("UnknownError", {"message": "Unexpected server error. See logs"}, None, None),
            ("SomethingNew", {}, None, "SomethingNew"),
            ("", {}, None, "it failed"),
        ],
    )
    def test_errors(
        self, name: str, data: dict[str, Any], failure: str | None, why: str | None
    ) -> None:
        found = final(opencode_error(name, **data))
        assert found.failed
        assert found.failure == failure
        assert found.why == why or why is None
        assert found.errors == (found.why,)
        assert found.limit is None
        assert told(opencode_error(name, **data)) == [text(found.why)]

    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            ({"retry-after": "90"}, AccountLimit(resets_in=90.0)),
            ({"retry-after": "Mon, 01 Dec"}, AccountLimit()),
            ({"retry-after": "1e99"}, AccountLimit()),
            ({}, AccountLimit()),
            (None, AccountLimit()),
        ],
    )
    def test_a_limit_with_the_wait_that_its_answer_names(
        self, headers: Any, expected: AccountLimit
    ) -> None:
        data = {"message": "Slow", "statusCode": 429, "responseHeaders": headers}
        found = final(opencode_error("APIError", **data))
        assert (found.failure, found.limit) == (AgentFailure.LIMIT, expected)

    def test_an_error_that_it_got_over_is_none(self) -> None:
        found = final(
            opencode_error("APIError", message="Slow", statusCode=429), BEGIN, opencode_step()
        )
        assert (found.failed, found.limit, found.why) == (False, None, "")


class TestNoise:
    def test_a_sub_agent_is_reported_but_for_its_words(self) -> None:
        below = (
            opencode_said(BLOCK, "below"),
            opencode_call("bash", {"command": "ls"}, session="below"),
            opencode_step("tool-calls", "below", **TOKENS),
            opencode("step_start", "below"),
            opencode("error", "below", error={"name": "X"}),
        )
        own = (BEGIN, opencode_said("Mine."), opencode_step("stop", **TOKENS))
        found = final(*own, *below)
        assert (found.text, found.earlier_block, found.failed) == ("Mine.", "", False)
        assert found.usage == Usage(
            input_tokens=1000,
            output_tokens=68,
            cached_tokens=1600,
            cost_usd=1.0,
            turns=1,
            context_tokens=1300,
        )
        assert [message["kind"] for message in told(*own, *below)] == [
            *("text", "usage"),
            *("tool", "tool", "usage"),
        ]

    def test_a_step_without_counts_is_a_turn_all_the_same(self) -> None:
        assert final(opencode_step("stop", cost=0)).usage == Usage(turns=1)
        assert final(opencode_step("stop", cost=0, input=3)).usage == Usage(
            input_tokens=3, turns=1, context_tokens=3
        )

    def test_words_of_the_program_are_reported(self) -> None:
        assert told(b"! permission requested", b"", opencode_said("Hm.")) == [
            text("! permission requested"),
            text("Hm."),
        ]

    @given(
        st.lists(
            st.one_of(
                st.sampled_from(
                    [
                        BEGIN,
                        opencode_said("x"),
                        opencode_step(),
                        opencode_error("X"),
                        {"type": "new"},
                    ]
                ),
                st.fixed_dictionaries(
                    {
                        "type": st.sampled_from(["tool_use", "text", "step_finish", "error", "x"]),
                        "part": st.none()
                        | st.dictionaries(st.sampled_from(["state", "text"]), st.none()),
                    }
                ),
                st.binary(max_size=60),
            ),
            max_size=8,
        )
    )
    def test_no_stream_breaks_it(self, records: list[Any]) -> None:
        assert isinstance(final(*records), AgentResult)


@pytest.mark.parametrize(
    ("name", "failure", "final_text"),
    [
        ("work", None, "The first is done."),
        ("resume", None, "The second."),
        ("todo", None, "On it."),
        ("denied", None, "I may not."),
        ("not-logged-in", AgentFailure.NOT_LOGGED_IN, ""),
    ],
)
def test_recordings(name: str, failure: AgentFailure | None, final_text: str) -> None:
    messages, found = decode(recorded(Dialect.OPENCODE, name))
    assert found.text.startswith(final_text)
    assert (found.failed, found.failure) == (failure is not None, failure)
    assert found.session_id
    assert failure is not None or any(message.kind == "usage" for message in messages)
    assert (name == "todo") == any(message.kind == "todo" for message in messages)
