"""The stream of ``codex``: what the agent says, what it comes to, and how it fails."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.codex.decoder import NO_END, CodexDecoder
from ralph_ls.core.agent.decode.common.line_decoder import MAX_OPEN_CALLS
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.run.report import Usage
from tests.unit.core.agent.decode.claude_streams import stream
from tests.unit.core.agent.decode.codex_streams import (
    STARTED,
    begun,
    decode_codex,
    done,
    ended,
    error,
    failed,
    final_of_codex,
    ran,
    said,
    told_by_codex,
)

BLOCK = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS\n---END_RALPH_STATUS---"
COUNTS = {"input_tokens": 3600, "cached_input_tokens": 2400, "output_tokens": 102}

WHOLE = stream(
    *STARTED,
    said("I look around. 漢字", 0),
    begun("command_execution", command="/bin/bash -lc 'ls -la'", aggregated_output=""),
    ran("total 8\nerror: of nobody\n"),
    ended("file_change", 2, changes=[{"path": "/repo/a.py", "kind": "add"}], status="completed"),
    said(f"It is written.\n\n{BLOCK}", 3),
    done(**COUNTS, cache_write_input_tokens=0, reasoning_output_tokens=15),
)


def text(words: str) -> dict[str, Any]:
    return {"kind": "text", "text": words}


def tool(name: str, summary: str, state: str, number: int = 1) -> dict[str, Any]:
    call = f"item_{number}"
    return {"kind": "tool", "call": call, "name": name, "summary": summary, "state": state}


class TestStream:
    def test_a_whole_session(self) -> None:
        messages, found = decode_codex(WHOLE, folder="/repo")
        assert [message.kind for message in messages] == [
            *("text", "tool", "tool"),
            *("tool", "tool", "file"),
            *("text", "usage"),
        ]
        usage = Usage(input_tokens=1200, output_tokens=102, cached_tokens=2400)
        assert found == AgentResult(
            text=f"It is written.\n\n{BLOCK}",
            usage=usage,
            session_usage=usage,
            session_id="a-thread",
            denied_tools=(),
        )

    @given(st.lists(st.integers(min_value=0, max_value=len(WHOLE)), max_size=12))
    def test_the_cuts_of_the_stream_make_no_difference(self, cuts: list[int]) -> None:
        edges = [0, *sorted(cuts), len(WHOLE)]
        pieces = [WHOLE[start:end] for start, end in pairwise(edges)]
        assert decode_codex(*pieces) == decode_codex(WHOLE)

    def test_each_message_says_where_its_event_begins(self) -> None:
        starts = {0, *(at + 1 for at, byte in enumerate(WHOLE) if byte == ord("\n"))}
        assert {message.offset for message in decode_codex(WHOLE)[0]} <= starts

    def test_cut_anywhere_it_has_failed_until_its_turn_has_ended(self) -> None:
        last = WHOLE.rstrip(b"\n").rfind(b"\n") + 1
        for end in range(0, last, 53):
            found = decode_codex(WHOLE[:end])[1]
            assert (found.failed, found.why) == (True, NO_END)


class TestMessages:
    @pytest.mark.parametrize(
        ("command", "summary"),
        [
            ("/bin/bash -lc 'ls -la && echo x'", "ls -la && echo x"),
            ("bash -lc ls", "ls"),
            ("""zsh -c 'echo '"'"'a'"'"''""", "echo 'a'"),
            ("sh run.sh", "sh run.sh"),
            ("grep -r x\n  src", "grep -r x src"),
            ("y" * 300, "y" * 199 + "…"),
        ],
    )
    def test_a_command_is_reported_without_its_shell(self, command: str, summary: str) -> None:
        found = told_by_codex(begun("command_execution", command=command), ran())
        assert found == [tool("shell", summary, "started"), tool("shell", summary, "done")]

    @pytest.mark.parametrize(
        ("fields", "state"),
        [
            ({"exit_code": 0, "status": "completed"}, "done"),
            ({"exit_code": 2, "status": "failed"}, "failed"),
            ({"exit_code": 2, "status": "completed"}, "failed"),
            ({"exit_code": None, "status": "declined"}, "failed"),
            ({}, "done"),
        ],
    )
    def test_an_end_without_a_beginning_reports_both(self, fields: Any, state: str) -> None:
        found = told_by_codex(ended("command_execution", command="ls", **fields))
        assert found == [tool("shell", "ls", "started"), tool("shell", "ls", state)]

    def test_the_files_of_a_change_are_reported_once_it_is_made(self) -> None:
        changes = [
            {"path": "/repo/a.py", "kind": "add"},
            {"path": "/repo/b.py", "kind": "update"},
            {"path": "/else/c.py", "kind": "delete"},
            {"path": "d.py", "kind": "odd"},
            {"kind": "add"},
        ]
        summary = "a.py, b.py, /else/c.py, d.py, "
        found = told_by_codex(
            begun("file_change", changes=changes),
            ended("file_change", changes=changes, status="completed"),
            folder="/repo",
        )
        assert found == [
            tool("apply_patch", summary.strip(), "started"),
            tool("apply_patch", summary.strip(), "done"),
            {"kind": "file", "path": "a.py", "action": "created"},
            {"kind": "file", "path": "b.py", "action": "changed"},
            {"kind": "file", "path": "/else/c.py", "action": "deleted"},
            {"kind": "file", "path": "d.py", "action": "changed"},
        ]
        bad = told_by_codex(ended("file_change", changes=changes, status="failed"))
        assert [message["kind"] for message in bad] == ["tool", "tool"]

    @pytest.mark.parametrize(
        ("kind", "fields", "name", "summary"),
        [
            (
                "mcp_tool_call",
                {"server": "db", "tool": "ask", "arguments": {"sql": "SELECT 1"}},
                "mcp__db__ask",
                "SELECT 1",
            ),
            ("mcp_tool_call", {"tool": "ask"}, "ask", ""),
            ("web_search", {"query": "how to\nmend"}, "web_search", "how to mend"),
            ("collab_tool_call", {"tool": "wait", "prompt": None}, "wait", ""),
            ("collab_tool_call", {"tool": "spawn_agent", "prompt": "go"}, "spawn_agent", "go"),
        ],
    )
    def test_other_tools_are_reported_in_a_line(
        self, kind: str, fields: dict[str, Any], name: str, summary: str
    ) -> None:
        found = told_by_codex(begun(kind, **fields), ended(kind, **fields, status="completed"))
        assert found == [tool(name, summary, "started"), tool(name, summary, "done")]

    def test_the_list_of_what_is_to_do_is_reported_whenever_it_has_changed(self) -> None:
        first: dict[str, Any] = {"items": [{"text": "a", "completed": False}, {"text": "b"}]}
        later: dict[str, Any] = {"items": [{"text": "a", "completed": True}, {"text": "b"}]}
        found = told_by_codex(
            begun("todo_list", **first),
            {"type": "item.updated", "item": {"id": "item_1", "type": "todo_list", **later}},
            ended("todo_list", **later),
        )
        states = [[item["state"] for item in message["items"]] for message in found]
        assert states == [["pending", "pending"], ["done", "pending"]]

    def test_what_the_program_tries_again_is_reported_and_is_no_error(self) -> None:
        again = error("Reconnecting... 1/5 (unexpected status 503)")
        messages, found = decode_codex(stream(*STARTED, again, said("Fine."), done()))
        assert [message.kind for message in messages] == ["text", "text"]
        assert (found.errors, found.failed) == ((), False)

    def test_what_is_no_event_is_shown_as_it_is(self) -> None:
        assert told_by_codex(b"Warning: slow ", b"", b"\xff", b"[1]") == [
            text("Warning: slow"),
            text("\ufffd"),
            text("[1]"),
        ]

    @pytest.mark.parametrize(
        "line",
        [
            b'{"type":"item.completed","item":{"type":"agent_mess',
            b'{"type":"item.completed","item":7}',
            b'{"type":"item.completed"}',
            b'{"type":"item.completed","item":{"type":"reasoning","text":"I think"}}',
            b'{"type":"item.started","item":{"type":"agent_message","text":""}}',
            b'{"type":"item.updated","item":{"type":"command_execution"}}',
            b'{"type":"item.completed","item":{"id":"x","type":"tea"}}',
            b'{"type":"item.plan.delta","delta":"x"}',
            b'{"pot":1}',
            b'{"type":{"deep":1}}',
            b'{"type":"item.completed","item":{"items":' + b"[" * 5000,
        ],
    )
    def test_an_event_that_says_nothing_or_is_broken_is_passed_over(self, line: bytes) -> None:
        assert told_by_codex(line) == []

    def test_white_space_around_an_event_does_no_harm(self) -> None:
        assert told_by_codex(b"  " + json.dumps(said("Hello.")).encode() + b" \r") == [
            text("Hello.")
        ]


class TestFinalText:
    def test_it_is_the_last_message_after_the_last_call(self) -> None:
        assert final_of_codex(said("a"), ran(), said("b"), said("c"), done()).text == "c"
        assert final_of_codex(said("a"), ran(), done()).text == ""

    def test_neither_a_list_nor_a_warning_nor_thoughts_end_what_was_written(self) -> None:
        after = [
            ended("todo_list", items=[{"text": "a", "completed": True}]),
            ended("error", message="a warning"),
            ended("reasoning", text=BLOCK),
        ]
        assert final_of_codex(said("Done."), *after, done()).text == "Done."

    def test_a_call_that_ends_late_does_not_take_the_last_word(self) -> None:
        began = begun("command_execution", command="sleep 9")
        assert final_of_codex(began, said("Done."), ran(), done()).text == "Done."

    def test_a_block_written_before_is_kept_and_the_last_of_them(self) -> None:
        assert final_of_codex(said(BLOCK), ran(), said("Bye."), done()).earlier_block == BLOCK
        late = f"Late: {BLOCK}"
        assert final_of_codex(said(BLOCK), ran(), said(late), said("Bye.")).earlier_block == late
        assert final_of_codex(said(BLOCK), ran(), said(late)).earlier_block == BLOCK
        assert final_of_codex(said("none"), ran(), said("Bye.")).earlier_block == ""

    def test_words_of_tools_and_sub_agents_never_count(self) -> None:
        states = {"other": {"status": "completed", "message": BLOCK}}
        below = ended("collab_tool_call", tool="wait", agents_states=states, status="completed")
        found = final_of_codex(below, ran(BLOCK, number=2), done())
        assert (found.text, found.earlier_block) == ("", "")


class TestAsked:
    def test_a_question_put_by_a_tool_is_kept(self) -> None:
        arguments = {"questions": [{"question": "Which one?", "options": ["a", {"label": "b"}]}]}
        call = begun("mcp_tool_call", server="people", tool="ask_user", arguments=arguments)
        assert final_of_codex(call, done()).question == "Which one?\n- a\n- b"
        assert final_of_codex(call, ran(number=2), done()).question == ""

    def test_a_question_of_the_program_itself_is_kept(self) -> None:
        asked = {"type": "request_user_input", "questions": [{"id": "q", "question": "Go on?"}]}
        assert final_of_codex(asked).question == "Go on?"
        assert final_of_codex({**asked, "questions": 4}).question == ""


class TestFailure:
    @pytest.mark.parametrize(
        ("events", "why"),
        [
            ([failed("No such model\nmore")], "No such model"),
            ([failed(None)], "the turn failed"),
            ([error("Out of memory"), failed(None)], "Out of memory"),
            ([failed("x"), STARTED[1]], NO_END),
        ],
    )
    def test_it_is_reported_in_words(self, events: Any, why: str) -> None:
        found = final_of_codex(*events)
        assert (found.failed, found.why) == (True, why)

    def test_a_failure_is_reported_once(self) -> None:
        messages, found = decode_codex(stream(*STARTED, error("Bad."), failed("Bad.")))
        assert [message.kind for message in messages] == ["text"]
        assert found.errors == ("Bad.",)
        assert len(decode_codex(stream(failed("Bad.")))[0]) == 1

    def test_a_turn_that_ends_well_after_one_that_did_not_holds(self) -> None:
        found = final_of_codex(failed("x"), STARTED[1], said("Done."), done())
        assert (found.failed, found.why, found.limit) == (False, "", None)

    def test_error_lines_of_failed_calls_are_kept_and_of_others_not(self) -> None:
        refused = {"status": "failed", "error": {"message": "no such table\nat 1"}}
        found = final_of_codex(
            ran("error: fine"),
            ran("error: bad\nok", 1, 2),
            ran("error: worse", None, 3),
            ended("mcp_tool_call", 4, server="db", tool="ask", **refused),
            ran("x", 1, 5, aggregated_output=7),
            done(),
        )
        assert found.errors == ("error: bad", "error: worse", "no such table")

    def test_a_warning_at_the_start_is_no_error_and_one_in_the_turn_is(self) -> None:
        warning = ended("error", message="A setting is new\nmore")
        before = decode_codex(stream(STARTED[0], warning, STARTED[1], done()))[1]
        assert before.errors == ()
        assert final_of_codex(warning, done()).errors == ("A setting is new",)

    def test_calls_that_were_declined_are_reported(self) -> None:
        found = final_of_codex(ran("", None, status="declined"), done())
        assert found.denied_tools == ("shell",)

    def test_calls_that_never_end_are_forgotten_in_the_end(self) -> None:
        began = [begun("web_search", number, query="x") for number in range(MAX_OPEN_CALLS + 1)]
        messages, _ = decode_codex(stream(*began, ended("web_search", 0, status="completed")))
        assert [message.kind for message in messages[-2:]] == ["tool", "tool"]
        assert len(messages) == MAX_OPEN_CALLS + 3


class TestLimit:
    def test_it_comes_from_the_failure_of_the_turn(self) -> None:
        message = "exceeded retry limit, last status: 429 Too Many Requests"
        assert final_of_codex(error(message), failed(message)).limit == AccountLimit()
        assert final_of_codex(error(message)).limit == AccountLimit()

    def test_the_error_before_it_may_say_more(self) -> None:
        told = error("You've hit your usage limit. Try again in 5 minutes.")
        found = final_of_codex(told, failed("The turn failed"))
        assert found.limit == AccountLimit(resets_in=300)

    def test_words_of_the_agent_and_its_tools_are_none(self) -> None:
        words = "You've hit your usage limit. Try again in 5 minutes."
        found = final_of_codex(said(words), ran(words, 1), failed("The turn failed"))
        assert found.limit is None

    def test_one_that_was_got_over_is_none(self) -> None:
        words = "exceeded retry limit, last status: 429 Too Many Requests"
        found = final_of_codex(error(f"Reconnecting... 1/5 ({words})"), error(words), done())
        assert found.limit is None


class TestUsage:
    def test_what_the_thread_had_used_before_is_not_counted_again(self) -> None:
        earlier = Usage(input_tokens=1000, output_tokens=100, cached_tokens=2000)
        found = final_of_codex(done(**COUNTS), earlier_usage=earlier)
        assert found.usage == Usage(input_tokens=200, output_tokens=2, cached_tokens=400)
        assert found.session_usage == Usage(
            input_tokens=1200, output_tokens=102, cached_tokens=2400
        )

    def test_what_is_not_reported_stays_unknown(self) -> None:
        assert final_of_codex(done()).usage is None
        assert final_of_codex(done(odd=1)).usage is None
        assert final_of_codex(done(input_tokens=5)).usage == Usage(input_tokens=5)

    def test_the_last_counts_hold(self) -> None:
        found = final_of_codex(done(input_tokens=5), STARTED[1], done(input_tokens=9), done())
        assert found.usage == Usage(input_tokens=9)


FAST = 'a\\b"c"}}, exit_code'


@given(
    output=st.text(max_size=40) | st.just(FAST),
    code=st.sampled_from([0, 1, None]),
    starts=st.booleans(),
)
def test_the_quick_way_past_a_command_reports_what_the_whole_event_does(
    output: str, code: int | None, *, starts: bool
) -> None:
    began = [begun("command_execution", command="ls", aggregated_output="")] if starts else []
    event = ran(output, code)
    slow = {**event, "item": dict(reversed(event["item"].items()))}
    assert decode_codex(stream(*began, event))[1] == decode_codex(stream(*began, slow))[1]
    quick, whole = (told_by_codex(*began, found) for found in (event, slow))
    assert quick == whole


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, -1, 1.5, 1e30, 10**30, "", "x", "429", "rejected", "rate_limit"),
        *([], [1], ["x"], [[]], [{}], [{"type": "text", "text": "x"}], [None]),
        *({}, {"a": 1}, {"text": "x"}, {"message": 4}, {"input_tokens": "x"}, {"content": [4]}),
        {"status": "rejected", "resetsAt": [1]},
    ]
)
ITEM_KINDS = ["agent_message", "command_execution", "file_change", "mcp_tool_call", "todo_list"]
ITEM_FIELDS = ["text", "command", "exit_code", "status", "changes", "items", "error", "arguments"]
ITEMS = st.builds(
    lambda kind, fields: {"id": "i", "type": kind, **fields},
    st.sampled_from([*ITEM_KINDS, "web_search", "error", "odd"]),
    st.dictionaries(st.sampled_from(ITEM_FIELDS), VALUES, max_size=4),
)
EVENTS = st.builds(
    lambda kind, item, fields: {"type": kind, "item": item, **fields},
    st.sampled_from(["item.started", "item.updated", "item.completed", "turn.completed", "error"])
    | st.sampled_from(["turn.failed", "thread.started", "request_user_input"]),
    ITEMS | VALUES,
    st.dictionaries(
        st.sampled_from(["usage", "error", "message", "questions", "thread_id"]), VALUES
    ),
)


@given(st.lists(EVENTS, max_size=6), st.lists(st.binary(max_size=60), max_size=3))
def test_no_stream_breaks_it(events: list[Any], noise: list[bytes]) -> None:
    decoder = CodexDecoder(1)
    for data in [*(stream(event) for event in events), *noise]:
        decoder.feed(data)
    decoder.finish()
    assert decoder.finish() == []
    assert isinstance(decoder.final(), AgentResult)
