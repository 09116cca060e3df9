"""The stream of ``qwen``: where it is like that of ``claude``, and where it is not."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.messages import AgentMessage
from ralph_ls.protocol.run.report import AgentFailure, Usage
from tests.unit.core.agent.decode.claude_streams import init, stream
from tests.unit.core.agent.decode.other_streams import (
    BLOCK,
    decode_as,
    dumped,
    file,
    recorded,
    text,
    tool,
)

NOUGHT = {"input_tokens": 0, "output_tokens": 0}


def counts(given: int, said: int, cached: int | None = None) -> dict[str, Any]:
    more = {} if cached is None else {"cache_read_input_tokens": cached}
    return {"input_tokens": given, "output_tokens": said, **more}


def record(role: str, block: Any, *, parent: str | None = None, **message: Any) -> dict[str, Any]:
    """A record with its fields in the program's order."""
    said = {**message, "role": role, "content": [block]}
    ids = {"uuid": "u", "session_id": "s", "parent_tool_use_id": parent}
    return {"type": role, **ids, "message": said}


def answer(words: str, usage: Any = None, parent: str | None = None) -> dict[str, Any]:
    block = {"type": "text", "text": words}
    return record("assistant", block, parent=parent, id="m", model="m", usage=usage)


def use(name: str, call: str = "c1", usage: Any = None, **given: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": name, "input": given}
    return record("assistant", block, id="m", model="m", usage=usage)


def back(
    content: Any = "ok", call: str = "c1", *, failed: bool = False, parent: str | None = None
) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "is_error": failed, "content": content}
    return record("user", block, parent=parent)


def end(words: str | None = "Done.", **fields: Any) -> dict[str, Any]:
    found = {"type": "result", "subtype": "success", "session_id": "s", "is_error": False}
    return {**found, **({} if words is None else {"result": words}), **fields}


def failed_end(message: str, **fields: Any) -> dict[str, Any]:
    error = {"message": message}
    return end(None, subtype="error_during_execution", is_error=True, error=error, **fields)


WHOLE = stream(
    init(),
    answer("I look around. 漢字", NOUGHT),
    use("run_shell_command", command="ls", usage=counts(1200, 34, 800)),
    back("total 8\nerror: of nobody\n"),
    use("write_file", file_path="/repo/a.py", usage=counts(1300, 30, 1000)),
    back("Successfully created and wrote to new file: /repo/a.py."),
    answer(f"It is written.\n\n{BLOCK}", counts(1500, 10)),
    end(f"It is written.\n\n{BLOCK}", num_turns=3, usage=counts(5000, 90, 2000)),
)


def decode(*pieces: bytes, **given: Any) -> tuple[list[AgentMessage], AgentResult]:
    return decode_as(Dialect.QWEN, *pieces, **given)


def told(*records: Any) -> list[dict[str, Any]]:
    return [
        message
        for message in dumped(decode(stream(init(), *records))[0])
        if message["kind"] != "usage"
    ]


def final(*records: Any, **given: Any) -> AgentResult:
    return decode(stream(init(), *records), **given)[1]


def test_a_whole_session() -> None:
    messages, found = decode(WHOLE)
    usage = Usage(input_tokens=3000, output_tokens=90, cached_tokens=2000)
    assert found == AgentResult(
        text=f"It is written.\n\n{BLOCK}",
        usage=usage.model_copy(update={"turns": 3, "context_tokens": 1500}),
        session_usage=usage,
        session_id="s",
        model="m",
        denied_tools=(),
    )
    assert [message.kind for message in messages] == [
        *("text", "tool", "usage", "tool"),
        *("tool", "usage", "tool", "file"),
        *("text", "usage", "usage"),
    ]
    assert dumped(messages)[-2]["usage"] == {
        "inputTokens": 2200,
        "cachedTokens": 1800,
        "outputTokens": 74,
        "turns": 3,
        "contextTokens": 1500,
        **dict.fromkeys(("costUsd", "contextWindow", "estimated")),
    }


@given(st.lists(st.integers(min_value=0, max_value=len(WHOLE)), max_size=12))
def test_the_cuts_of_the_stream_make_no_difference(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(WHOLE)]
    assert decode(*(WHOLE[a:b] for a, b in pairwise(edges))) == decode(WHOLE)


class TestCounts:
    EARLIER = Usage(input_tokens=1000, output_tokens=40, cached_tokens=500, turns=9)

    def test_what_a_session_used_before_it_was_resumed_is_taken_off(self) -> None:
        found = final(end(num_turns=1, usage=counts(5000, 90, 2000)), earlier_usage=self.EARLIER)
        assert found.usage == Usage(
            input_tokens=2000, output_tokens=50, cached_tokens=1500, turns=1
        )
        assert found.session_usage == Usage(input_tokens=3000, output_tokens=90, cached_tokens=2000)

    def test_counts_that_are_as_they_were_are_reported_once(self) -> None:
        messages, _ = decode(stream(answer("x", counts(9, 3, 0)), end(usage=counts(9, 3, 0))))
        assert [message.kind for message in messages] == ["text", "usage"]

    def test_without_a_result_the_answers_are_added_to_what_was_before(self) -> None:
        found = final(answer("x", counts(300, 7, 100)), earlier_usage=self.EARLIER)
        assert found.usage == Usage(
            input_tokens=200, output_tokens=7, cached_tokens=100, turns=1, context_tokens=300
        )
        assert found.session_usage == Usage(
            input_tokens=1200, output_tokens=47, cached_tokens=600, turns=10, context_tokens=300
        )

    def test_where_nothing_is_known_the_session_is_as_it_was(self) -> None:
        found = final(failed_end("x", usage=NOUGHT), earlier_usage=self.EARLIER)
        assert (found.usage, found.session_usage) == (None, self.EARLIER)
        assert final(end()).usage is None

    def test_a_sub_agent_that_fails_takes_no_counts_away(self) -> None:
        below = failed_end("It broke", num_turns=0, usage=NOUGHT)
        found = final(
            end(num_turns=2, usage=counts(500, 9)), below, answer("On."), end(usage=counts(600, 9))
        )
        assert not found.failed
        assert found.usage == Usage(input_tokens=600, output_tokens=9, turns=2)


class TestCalls:
    @pytest.mark.parametrize(
        ("name", "key", "content", "action"),
        [
            ("read_file", "file_path", "x", "read"),
            ("edit", "file_path", "x", "changed"),
            ("notebook_edit", "notebook_path", "x", "changed"),
            ("write_file", "file_path", "Successfully overwrote file: a.py.", "changed"),
            ("write_file", "file_path", "Successfully created and wrote to new file", "created"),
        ],
    )
    def test_the_file_of_a_call(self, name: str, key: str, content: str, action: str) -> None:
        assert told(use(name, **{key: "/repo/a.py"}), back(content)) == [
            tool(name, "a.py", "started"),
            tool(name, "a.py", "done"),
            file("a.py", action),
        ]

    def test_the_list_of_things_to_do(self) -> None:
        todos = [{"id": "1", "content": "one", "status": "in_progress"}]
        items = [{"text": "one", "state": "inProgress"}]
        assert told(use("todo_write", todos=todos), back()) == [{"kind": "todo", "items": items}]
        assert told(use("todo_write", todos=todos), back(failed=True)) == []

    def test_a_command_that_fails(self) -> None:
        output = "Command: x\nError: (none)\nError: no such thing\nExit Code: 3"
        assert final(use("run_shell_command"), back(output, failed=True)).errors[:1] == (
            "Error: no such thing",
        )

    def test_a_question_that_was_not_answered_is_asked_and_not_denied(self) -> None:
        asked = use("ask_user_question", questions=[{"question": "Which?"}])
        denials = [
            {"tool_name": name, "tool_use_id": name} for name in ("edit", "ask_user_question")
        ]
        found = final(asked, back(failed=True), end(permission_denials=denials))
        assert (found.question, found.denied_tools) == ("Which?", ("edit",))
        assert final(asked, back("User answered: A"), end()).question == ""

    def test_a_sub_agent_is_reported_but_for_its_words(self) -> None:
        records = (
            use("agent", "c0", description="look"),
            answer(BLOCK, counts(9, 9), parent="c0"),
            back(call="c9", parent="c0"),
            back(BLOCK, "c0"),
            answer("Mine.", counts(3, 1)),
            end("Mine."),
        )
        assert told(*records) == [
            tool("agent", "look", "started", "c0"),
            tool("agent", "look", "done", "c0"),
            text("Mine."),
        ]
        assert (final(*records).text, final(*records).earlier_block) == ("Mine.", "")

    def test_several_calls_that_come_back_in_one_record_all_end(self) -> None:
        both = back()
        both["message"]["content"] += back(call="c2")["message"]["content"]
        assert told(use("glob"), use("glob", "c2"), both)[2:] == [
            tool("glob", "", "done"),
            tool("glob", "", "done", "c2"),
        ]
        assert told(use("glob"), use("glob", "c2"), back(call="c2"))[2:] == [
            tool("glob", "", "done", "c2")
        ]


class TestEnds:
    @pytest.mark.parametrize(
        ("message", "failure"),
        [
            ("[API Error: 401 No such key]", "notLoggedIn"),
            ("[API Error: 429 Slow down]\nPossible quota limitations …", "limit"),
            ("[API Error: 503 Overloaded]", "overloaded"),
            ("[API Error: 400 prompt is too long]", "contextFull"),
            ("[API Error: 400 Odd]", None),
        ],
    )
    def test_failures(self, message: str, failure: str | None) -> None:
        found = final(answer(message), failed_end(message, usage=NOUGHT))
        assert (found.failed, found.failure) == (True, failure)
        assert found.why == message.split("\n", 1)[0]
        assert found.limit == (AccountLimit() if failure == "limit" else None)

    def test_an_error_without_words(self) -> None:
        assert final(failed_end("")).why == "interrupted, or failed internally"
        assert (
            final(end(None, is_error=True, subtype="error_during_execution", error="odd")).why
            == "interrupted, or failed internally"
        )

    def test_a_stream_without_a_result_has_failed(self) -> None:
        found = final(use("run_shell_command"), back())
        assert (found.failed, found.failure) == (True, AgentFailure.CRASHED)

    def test_it_reports_that_it_tries_again(self) -> None:
        data = {"attempt": 1, "maxRetries": 10, "delayMs": 60000}
        again = {"type": "system", "subtype": "retry", "data": data}
        assert told(again) == [text("API error: no answer; retry 1 of 10 in 60.0 s")]
        assert told({**again, "data": {}}, {**again, "data": None}) == []


@given(
    st.lists(
        st.sampled_from([answer("x"), use("edit"), back(), end(), failed_end("x"), {"type": "x"}])
        | st.binary(max_size=60),
        max_size=8,
    )
)
def test_no_stream_breaks_it(records: list[Any]) -> None:
    assert isinstance(final(*records), AgentResult)


@pytest.mark.parametrize(
    ("name", "failure", "final_text"),
    [
        ("work", None, "The first is done."),
        ("resume", None, "The second."),
        ("not-logged-in", AgentFailure.NOT_LOGGED_IN, ""),
        ("limit", AgentFailure.LIMIT, ""),
        ("overloaded", AgentFailure.OVERLOADED, ""),
        ("error", AgentFailure.OVERLOADED, ""),
    ],
)
def test_recordings(name: str, failure: AgentFailure | None, final_text: str) -> None:
    messages, found = decode(recorded(Dialect.QWEN, name))
    assert found.text.startswith(final_text)
    assert (found.failed, found.failure) == (failure is not None, failure)
    assert (found.session_id, found.model) == ("id-1", "stub-model")
    assert (name == "work") == any(message.kind == "file" for message in messages)


def test_a_resumed_session_is_counted_without_what_it_had_used() -> None:
    first = decode(recorded(Dialect.QWEN, "resume"))[1].session_usage
    assert first is not None
    again = decode(recorded(Dialect.QWEN, "resume"), earlier_usage=first)[1].usage
    assert again is not None
    assert (again.input_tokens, again.output_tokens, again.cached_tokens) == (0, 0, 0)
