"""The stream of ``claude``: what the agent says, what it comes to, and how it fails."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from ralph_ls.core.agent.decode.claude.decoder import ClaudeDecoder
from ralph_ls.core.agent.decode.common.line_decoder import (
    MAX_ERROR_LINES,
    MAX_FINAL_TEXT,
    MAX_OPEN_CALLS,
)
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.run.messages import AgentMessage
from tests.unit.core.agent.decode.claude_streams import (
    RECORDINGS,
    answer,
    came_back,
    decode,
    final,
    in_pieces,
    init,
    recording,
    result,
    stream,
    told,
    use,
)

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NAMES = sorted(path.stem for path in RECORDINGS.iterdir())
BLOCK = "---RALPH_STATUS---\nSTATUS: IN_PROGRESS\n---END_RALPH_STATUS---"


def kinds(messages: list[AgentMessage]) -> list[str]:
    return [message.kind for message in messages]


def text(words: str) -> dict[str, Any]:
    return {"kind": "text", "text": words}


def tool(name: str, summary: str, state: str, call: str = "call_1") -> dict[str, Any]:
    return {"kind": "tool", "call": call, "name": name, "summary": summary, "state": state}


class TestRecording:
    @pytest.mark.parametrize("name", NAMES)
    def test_the_cuts_of_the_stream_make_no_difference(self, name: str) -> None:
        data = recording(name)
        whole = decode(data)
        for size in (1, 7, 1000):
            assert decode(*in_pieces(data, size)) == whole

    @pytest.mark.parametrize("name", NAMES)
    def test_each_message_says_where_its_record_begins(self, name: str) -> None:
        data = recording(name)
        starts = {0, *(at + 1 for at, byte in enumerate(data) if byte == ord("\n"))}
        messages, _ = decode(data)
        assert {message.offset for message in messages} <= starts
        assert {message.start for message in messages} == {7}

    @pytest.mark.parametrize("name", NAMES)
    def test_cut_anywhere_it_has_failed_until_its_result_is_whole(self, name: str) -> None:
        data = recording(name)
        last = data.rstrip(b"\n").rfind(b"\n") + 1
        for end in range(0, last, 97):
            messages, found = decode(data[:end])
            assert (found.failed, found.why) == (True, "the output ended without a result")
            assert all("{" not in getattr(message, "text", "") for message in messages)

    def test_work(self) -> None:
        messages, found = decode(recording("work"))
        assert [kind for kind in kinds(messages) if kind != "usage"] == [
            *("text", "tool", "tool", "file"),
            *("text", "tool", "tool", "file"),
            *("tool", "tool"),
            *("tool", "tool", "file"),
            *("tool", "tool"),
            "text",
        ]
        assert found.text.startswith("The first is done.\n\n---RALPH_STATUS---")
        assert found.earlier_block.startswith("I begin.\n\n---RALPH_STATUS---")
        usage = found.usage
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (7200, 204, 4800)
        assert usage.cost_usd is not None
        assert usage.cost_usd > 0
        assert (usage.context_tokens, usage.context_window) == (2100, 1_000_000)
        assert (found.session_id, found.model) == ("an-id", "claude-opus-5-5")
        assert (found.failed, found.why, found.limit) == (False, "", None)
        assert found.denied_tools == found.errors == ()

    def test_sub_agent(self) -> None:
        messages, found = decode(recording("sub-agent"))
        assert found.usage is not None
        assert found.usage.output_tokens == 34 * (found.usage.turns or 0)
        told_usage = [message for message in messages if message.kind == "usage"]
        assert told_usage[-1].usage.to_usage() == found.usage

    def test_denied(self) -> None:
        assert decode(recording("denied"))[1].denied_tools == ("Bash",)

    def test_limit(self) -> None:
        found = decode(recording("limit"))[1]
        why = "API Error: Request rejected (429) · Slow down"
        assert (found.failed, found.why, found.errors, found.text) == (True, why, (why,), "")
        assert found.limit == AccountLimit(resets_at=None)

    def test_overloaded_once(self) -> None:
        messages, found = decode(recording("overloaded-once"))
        assert told_text(messages)[0].startswith("API error: overloaded (529); retry 1 of 1 in ")
        assert not found.failed

    def test_max_turns(self) -> None:
        found = decode(recording("max-turns"))[1]
        assert found.why == ("reached the turn limit: Reached maximum number of turns (1)")

    def test_todo(self) -> None:
        messages, _ = decode(recording("todo"))
        lists = [message for message in messages if message.kind == "todo"]
        assert [[(item.text, item.state) for item in found.items] for found in lists] == [
            [("Look", "pending")],
            [("Look", "pending"), ("Mend", "pending")],
            [("Look", "done"), ("Mend", "pending")],
            [("Look", "done"), ("Mend", "inProgress")],
        ]
        assert "tool" not in kinds(messages)


def told_text(messages: list[AgentMessage]) -> list[str]:
    return [message.text for message in messages if message.kind == "text"]


class TestMessages:
    def test_a_call_is_reported_when_it_begins_and_when_it_ends(self) -> None:
        assert told(
            init(),
            answer("I look.", use("Bash", command="ls\n  -la", description="List")),
            came_back(),
        ) == [text("I look."), tool("Bash", "ls -la", "started"), tool("Bash", "ls -la", "done")]

    def test_a_call_that_fails_touches_no_file(self) -> None:
        assert told(
            init(),
            answer(use("Write", file_path="/repo/a.txt", content="x")),
            came_back(is_error=True),
        ) == [tool("Write", "a.txt", "started"), tool("Write", "a.txt", "failed")]

    @pytest.mark.parametrize(
        ("called", "account", "path", "action"),
        [
            (use("Write", file_path="/repo/a/b.txt"), {"type": "create"}, "a/b.txt", "created"),
            (use("Write", file_path="/repo/a/b.txt"), {"type": "update"}, "a/b.txt", "changed"),
            (use("Write", file_path="/repo/a/b.txt"), "a text", "a/b.txt", "changed"),
            (use("Edit", file_path="/else/b.txt"), None, "/else/b.txt", "changed"),
            (use("Edit", file_path="/repository/b"), None, "/repository/b", "changed"),
            (use("Read", file_path="b.txt"), None, "b.txt", "read"),
            (use("NotebookEdit", notebook_path="/repo/n.ipynb"), None, "n.ipynb", "changed"),
        ],
    )
    def test_a_call_that_went_well_reports_its_file(
        self, called: Any, account: Any, path: str, action: str
    ) -> None:
        found = told(init(), answer(called), came_back(told=account))
        assert found[2:] == [{"kind": "file", "path": path, "action": action}]

    @pytest.mark.parametrize(
        ("called", "summary"),
        [
            (use("Grep", pattern="x+", path="/repo/src"), "src"),
            (use("mcp__db__ask", sql="SELECT 1", limit=3), "SELECT 1"),
            (use("Odd", number=1), ""),
            ({"type": "tool_use", "id": "call_1", "name": "Odd", "input": [1]}, ""),
            (use("Bash", command="y" * 300), "y" * 199 + "…"),
            (use("Write", file_path=3), ""),
        ],
    )
    def test_a_call_is_summed_up_in_a_line(self, called: Any, summary: str) -> None:
        found = told(init(), answer(called), came_back())
        assert found == [
            tool(called["name"], summary, "started"),
            tool(called["name"], summary, "done"),
        ]

    def test_a_result_of_a_call_that_nobody_saw_is_passed_over(self) -> None:
        assert told(came_back("never")) == []

    def test_without_a_beginning_paths_stay_whole(self) -> None:
        found = told(answer(use("Read", file_path="/repo/a")), came_back())
        assert found[-1]["path"] == "/repo/a"

    def test_calls_of_sub_agents_are_reported_and_their_words_are_not(self) -> None:
        called = answer("I am below.", use("Bash", command="ls"), parent="call_0")
        assert told(called) == [tool("Bash", "ls", "started")]

    def test_what_is_no_record_is_shown_as_it_is(self) -> None:
        assert told(b"Warning: slow  ", b"", b"   ", b"\xff", b"[1]") == [
            text("Warning: slow"),
            text("\ufffd"),
            text("[1]"),
        ]

    @pytest.mark.parametrize(
        "line",
        [
            b'{"type":"assistant","message":{"content":[{"type":"te',
            b'{"type":"assistant","message":7}',
            b'{"type":"tea","pot":1}',
            b'{"pot":1}',
            b'{"type":{"deep":1}}',
            b'{"type":"assistant"}',
            b'{"type":"stream_event","event":{"type":"message_start"}}',
            b'{"type":"user","message":{"role":"user","content":"the prompt"}}',
            b'{"type":"system","subtype":"status","status":"requesting"}',
            b'{"type":"assistant","message":{"content":' + b"[" * 5000,
            b'{"type":"user","message":{"content":[{"type":"text","text":"Go on"}]}}',
        ],
    )
    def test_a_record_that_says_nothing_or_is_broken_is_passed_over(self, line: bytes) -> None:
        assert told(line) == []

    def test_white_space_around_a_record_does_no_harm(self) -> None:
        line = b"  " + json.dumps(answer("Hello.")).encode() + b" \r"
        assert told(line) == [text("Hello.")]

    def test_halves_of_characters_and_broken_bytes_are_replaced(self) -> None:
        record = b'{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}'
        assert told(record % b"a\\ud83d b") == [text("a? b")]
        assert told(record % b"a\xff b") == [text("a\ufffd b")]

    def test_nul_bytes_in_a_text_are_part_of_it(self) -> None:
        record = b'{"type":"assistant","message":{"content":[{"type":"text","text":"a\x00b"}]}}'
        assert told(record) == [text("a\x00b")]

    def test_calls_that_never_end_are_forgotten_in_the_end(self) -> None:
        calls = [answer(use("Bash", f"call_{number}")) for number in range(MAX_OPEN_CALLS + 1)]
        assert told(*calls, came_back("call_1"))[-1] == tool("Bash", "", "done", "call_1")
        assert told(*calls, came_back("call_0"))[-1]["state"] == "started"

    def test_waiting_for_the_api_is_reported(self) -> None:
        retry = {"type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10}
        more = {"retry_delay_ms": 4032.4, "error_status": 529, "error": "server_overloaded"}
        assert told(retry, {**retry, **more}) == [
            text("API error: no answer; retry 2 of 10"),
            text("API error: server overloaded (529); retry 2 of 10 in 4.0 s"),
        ]


class TestTodo:
    def test_an_older_program_writes_the_whole_list(self) -> None:
        todos = [
            {"content": "a", "status": "completed", "activeForm": "A"},
            {"content": "b", "status": "in_progress"},
            {"content": "c", "status": "odd"},
            {"content": 4},
            "d",
        ]
        rows = [("a", "done"), ("b", "inProgress"), ("c", "pending")]
        items = [{"text": words, "state": state} for words, state in rows]
        found = told(answer(use("TodoWrite", todos=todos)), came_back())
        assert found == [{"kind": "todo", "items": items}]
        assert told(answer(use("TodoWrite", todos="x")), came_back())[0]["items"] == []

    def test_a_change_that_failed_is_none(self) -> None:
        assert told(answer(use("TaskCreate", subject="a")), came_back(is_error=True)) == []

    def test_single_tasks_are_added_renamed_and_removed(self) -> None:
        def change(name: str, *, account: Any = None, **given: Any) -> list[Any]:
            return [answer(use(name, **given)), came_back(told=account)]

        found = told(
            *change("TaskCreate", subject="a", account={"task": {"id": "7"}}),
            *change("TaskCreate", subject="b", account={"task": "odd"}),
            *change("TaskUpdate", taskId="7", subject="A"),
            *change("TaskUpdate", taskId="nobody", status="completed"),
            *change("TaskUpdate", taskId="2", status="completed"),
            *change("TaskUpdate", taskId="7", status="deleted"),
        )
        shown = [[(item["text"], item["state"]) for item in one["items"]] for one in found]
        assert shown == [
            [("a", "pending")],
            [("a", "pending"), ("b", "pending")],
            [("A", "pending"), ("b", "pending")],
            [("A", "pending"), ("b", "pending")],
            [("A", "pending"), ("b", "done")],
            [("b", "done")],
        ]


class TestFinalText:
    def test_it_is_the_results(self) -> None:
        assert final(answer("Said."), result("Meant.")).text == "Meant."

    def test_without_a_result_it_is_what_came_after_the_last_call(self) -> None:
        found = final(
            answer("Before.", use("Bash", command="ls")),
            came_back(content=f"{BLOCK} <promise>COMPLETE</promise>"),
            answer("One."),
            answer("Two.", message="msg_2"),
            answer("<promise>COMPLETE</promise>", parent="call_0"),
        )
        assert (found.text, found.failed) == ("One.\nTwo.", True)

    def test_a_failed_result_is_not_the_agents_word(self) -> None:
        assert final(answer("Said."), result("API Error: 500", is_error=True)).text == "Said."

    def test_a_result_without_a_text_leaves_what_was_written(self) -> None:
        assert final(answer("Said."), result(None)).text == "Said."

    def test_an_api_error_is_shown_and_is_not_the_agents_word(self) -> None:
        failed = answer("API Error: 500\nmore", error="server_error", isApiErrorMessage=True)
        messages, found = decode(stream(answer("Said."), failed))
        assert told_text(messages) == ["Said.", "API Error: 500\nmore"]
        assert (found.text, found.errors) == ("Said.", ("API Error: 500",))

    def test_an_api_error_without_words_adds_none(self) -> None:
        messages, found = decode(stream(answer("Said."), answer("", error="server_error")))
        assert (told_text(messages), found.text, found.errors) == (["Said."], "Said.", ())

    def test_work_after_a_result_takes_its_place(self) -> None:
        assert final(result("First."), answer("Second.")).failed
        assert final(result("First."), answer("x"), result("Second.")).text == "Second."

    def test_a_block_before_the_last_call_is_kept_and_the_last_of_them(self) -> None:
        found = final(
            answer(BLOCK, use("Bash")),
            answer(f"Later: {BLOCK}", use("Bash")),
            answer("No block.", use("Bash")),
            result("Done."),
        )
        assert found.earlier_block == f"Later: {BLOCK}"

    def test_a_call_of_a_sub_agent_does_not_end_what_was_written(self) -> None:
        found = final(answer("Said."), answer(use("Bash"), parent="call_0"))
        assert found.text == "Said."

    def test_of_a_flood_of_words_the_end_is_kept(self) -> None:
        long = "x" * (MAX_FINAL_TEXT // 2)
        found = final(*[answer(f"{number}{long}") for number in range(5)])
        assert found.text == f"4{long}"
        assert len(final(answer(long * 3)).text) == len(long) * 3


class TestArray:
    """``--output-format json --verbose`` prints all records on one line."""

    @pytest.mark.parametrize("name", ["work", "sub-agent", "limit", "max-turns"])
    def test_it_is_read_like_the_stream(self, name: str) -> None:
        lines = recording(name).splitlines()
        array = b"[" + b",".join(lines) + b"]"
        messages, found = decode(array)
        assert found == decode(recording(name))[1]
        expected = decode(recording(name))[0]
        assert messages == [structs.replace(one, offset=0) for one in expected]

    @pytest.mark.parametrize("line", [b"[warn] no config\n", b'[{"type":\n', b"[1, 2]\n"])
    def test_a_line_that_only_begins_like_one_is_text(self, line: bytes) -> None:
        assert told_text(decode(line)[0]) == [line.decode().strip()]


class TestFailure:
    @pytest.mark.parametrize(
        ("record", "why"),
        [
            (result("API Error: 429\nmore", is_error=True), "API Error: 429"),
            (result(None, is_error=True, subtype="odd"), "it ended with odd"),
            (result(None, is_error=True, subtype=""), "it ended with an error"),
            (
                result(None, subtype="error_during_execution", errors=["a", "b"]),
                "interrupted, or failed internally: a; b",
            ),
            (result(None, subtype="error_max_budget_usd"), "reached the cost limit"),
        ],
    )
    def test_it_is_reported_in_words(self, record: Any, why: str) -> None:
        found = final(record)
        assert (found.failed, found.why, found.errors) == (True, why, (why,))

    def test_error_lines_of_failed_tools_are_kept_and_of_others_not(self) -> None:
        blocks = [{"type": "text", "text": "error: in a block"}, {"type": "image"}]
        found = final(
            came_back(content="error: fine"),
            came_back(content="Exit code 1\nerror: bad\nok", is_error=True),
            came_back(content=blocks, is_error=True),
            came_back(content=None, is_error=True),
            came_back(content={"odd": 1}, is_error=True),
            result(),
        )
        assert found.errors == ("error: bad", "error: in a block")

    def test_of_a_flood_of_errors_the_first_are_kept(self) -> None:
        lines = "\n".join(f"error: {number}" for number in range(MAX_ERROR_LINES * 2))
        errors = final(came_back(content=lines, is_error=True)).errors
        assert (len(errors), errors[-1]) == (MAX_ERROR_LINES, f"error: {MAX_ERROR_LINES - 1}")

    def test_denials_are_reported_by_the_tool_and_once_each(self) -> None:
        early = {"type": "system", "subtype": "permission_denied", "tool_name": "Bash"}
        denials = [{"tool_name": name, "tool_use_id": name} for name in ("Edit", "Bash")]
        found = final({**early, "tool_use_id": "Bash"}, result(permission_denials=denials))
        assert found.denied_tools == ("Bash", "Edit")


class TestLimit:
    @pytest.mark.parametrize(
        ("event", "limit"),
        [
            ({"status": "allowed_warning", "resetsAt": 1}, None),
            ({"status": "rejected"}, AccountLimit()),
            ({"rate_limit_info": {"status": "allowed"}, "status": "rejected"}, None),
            (
                {"rate_limit_info": {"status": "rejected", "resetsAt": 1769860800}},
                AccountLimit(resets_at=NOON),
            ),
            ({"status": "rejected", "resetsAt": 1e30}, AccountLimit()),
            ({"status": "rejected", "resetsAt": 1769860800000}, AccountLimit(resets_at=NOON)),
            ({"status": "rejected", "resetsAt": "1769860800"}, AccountLimit(resets_at=NOON)),
            (
                {"status": "rejected", "resetsAt": "2026-01-31T12:00:00Z"},
                AccountLimit(resets_at=NOON),
            ),
            (
                {"status": "rejected", "resetsAt": "2026-01-31T14:00+02:00"},
                AccountLimit(resets_at=NOON),
            ),
            (
                {"status": "rejected", "resetsAt": "2026-01-31T12:00:00"},
                AccountLimit(resets_at=NOON),
            ),
            ({"status": "rejected", "resetsAt": "soon"}, AccountLimit()),
            ({"status": "rejected", "resetsAt": None}, AccountLimit()),
            ({"rate_limit_info": {"status": "rejected", "isUsingOverage": True}}, None),
        ],
    )
    def test_it_comes_from_the_agents_own_event(
        self, event: Any, limit: AccountLimit | None
    ) -> None:
        assert final({"type": "rate_limit_event", **event}, result()).limit == limit

    REJECTED: ClassVar = {"type": "rate_limit_event", "status": "rejected", "resetsAt": 1769860800}

    def test_one_after_which_the_agent_went_on_to_its_end_is_none(self) -> None:
        assert final(self.REJECTED, answer("On."), result()).limit is None
        assert final(self.REJECTED, answer("On."), result(subtype="error_max_turns")).limit is None
        assert final(self.REJECTED, answer("On.")).limit is None
        assert final(self.REJECTED).limit == AccountLimit(resets_at=NOON)

    def test_one_at_which_the_agent_ended_is(self) -> None:
        refused = answer("You are at your limit", error="rate_limit")
        ends = result("You are at your limit", is_error=True)
        assert final(self.REJECTED, answer("On."), ends).limit == AccountLimit(resets_at=NOON)
        assert final(self.REJECTED, refused, ends).limit == AccountLimit(resets_at=NOON)
        assert final(refused, ends).limit == AccountLimit()
        assert (
            final(answer("x"), result("no", is_error=True, api_error_status=429)).limit
            == AccountLimit()
        )

    def test_words_and_other_failures_are_none(self) -> None:
        words = "5-hour limit reached, resets 3pm"
        overloaded = result("Overloaded", is_error=True, api_error_status=529)
        below = answer("at the limit", error="rate_limit", parent="call_0")
        assert (
            final(answer(words), came_back(content=words, is_error=True), below, overloaded).limit
            is None
        )


class TestAsked:
    ASK: ClassVar = use(
        "AskUserQuestion",
        questions=[
            {
                "question": "Which store?",
                "header": "Store",
                "options": [{"label": "SQLite", "description": "one file"}, {"label": 4}, 5],
            },
            {"question": "And where?"},
        ],
    )

    def test_a_question_put_by_a_tool_at_the_end_is_kept(self) -> None:
        asked = "Which store?\n- SQLite\n\nAnd where?"
        assert final(answer(self.ASK)).question == asked
        refused = came_back(content="not permitted", is_error=True)
        assert final(answer(self.ASK), refused, answer("I wait."), result()).question == asked
        unanswered = came_back(told={"questions": [], "answers": {}})
        assert final(answer(self.ASK), unanswered, result()).question == asked

    def test_one_that_was_answered_or_left_behind_is_none(self) -> None:
        answered = came_back(told={"answers": {"Which store?": "SQLite"}})
        assert final(answer(self.ASK), answered, result()).question == ""
        assert final(answer(self.ASK), came_back(), result()).question == ""
        assert final(answer(self.ASK), answer(use("Bash")), result()).question == ""

    def test_one_of_a_sub_agent_is_none(self) -> None:
        assert final(answer(self.ASK, parent="call_0"), result()).question == ""

    @pytest.mark.parametrize(
        ("name", "given", "asked"),
        [
            ("mcp__people__ask_user", {"question": " Go on? "}, "Go on?"),
            ("request_user_input", {"questions": ["a?", "b?", 4]}, "a?\n\nb?"),
            ("ask-human", {"prompt": "", "message": "Well?"}, "Well?"),
            ("ask_followup_question", {"question": 4, "options": ["a"]}, ""),
            ("AskUser", {"question": "y" * 5000}, "y" * 3999 + "…"),
            ("Task", {"prompt": "Which one?"}, ""),
        ],
    )
    def test_tools_of_other_names_ask_too(self, name: str, given: Any, asked: str) -> None:
        assert final(answer(use(name, **given)), result()).question == asked

    def test_asking_is_no_permission_that_was_missed(self) -> None:
        denials = [{"tool_name": name, "tool_use_id": name} for name in ("AskUserQuestion", "Bash")]
        assert final(result(permission_denials=denials)).denied_tools == ("Bash",)


class TestQuickWay:
    """Past what tools brought back: nothing of it is read, and nothing is reported differently."""

    CONTENT = st.one_of(
        st.text(max_size=30),
        st.sampled_from(['"is_error":true', '{"tool_use_id":"call_2"}', "a\\", '"}]},"x":"']),
        st.sampled_from(['"is_error":false}]},"parent_tool_use_id":', '","is_error":false}]},']),
        st.sampled_from([[{"type": "text", "text": "x", "is_error": False}], [{"is_error": True}]]),
        st.lists(st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=9))),
        st.none(),
    )

    @given(
        names=st.lists(
            st.sampled_from(["Bash", "Read", "Write", "TaskCreate", "AskUserQuestion"]), max_size=3
        ),
        content=CONTENT,
        is_error=st.sampled_from([None, True, False]),
        told=st.sampled_from([None, {"type": "create"}, {"is_error": True}, {"is_error": False}]),
        other=st.sampled_from([None, True, False]),
        order=st.booleans(),
        ends=st.booleans(),
    )
    def test_it_reports_what_reading_does(
        self,
        names: list[str],
        content: Any,
        is_error: Any,
        told: Any,
        other: Any,
        *,
        order: bool,
        ends: bool,
    ) -> None:
        """``other`` is how another call went that came back with it; ``ends`` is whether the key
        follows that shows the end of the message.
        """
        calls = [
            use(name, f"call_{number}", file_path="/repo/a", subject="s", question="q?")
            for number, name in enumerate(names, start=1)
        ]
        back = came_back("call_1", content, told=told)
        [block] = back["message"]["content"]
        if is_error is not None:
            block["is_error"] = is_error
        if order:
            block = {"tool_use_id": block.pop("tool_use_id"), **block}
        more = came_back("call_2", "error: x", is_error=other)["message"]["content"]
        content_of = {"role": "user", "content": [block, *(more if other is not None else [])]}
        account = back.pop("tool_use_result")
        behind = {**({"parent_tool_use_id": None} if ends else {}), "tool_use_result": account}
        quick = {**back, "message": content_of, **behind}
        slow = {**back, "message": {"extra": 1, **content_of}, **behind}
        before = [init(), answer("Words.", *calls)]
        found, expected = (decode(stream(*before, each, result())) for each in (quick, slow))
        assert [structs.replace(message, offset=0) for message in found[0]] == [
            structs.replace(message, offset=0) for message in expected[0]
        ]
        assert found[1] == expected[1]

    @pytest.mark.parametrize("states", [["done"], ["failed"], ["done", "done"], ["done", "failed"]])
    def test_calls_come_back_as_they_went(self, states: list[str]) -> None:
        calls = {f"call_{number}": state for number, state in enumerate(states)}
        content = [
            {
                "tool_use_id": call,
                "type": "tool_result",
                "content": "ok",
                "is_error": state != "done",
            }
            for call, state in calls.items()
        ]
        quick = {"type": "user", "message": {"role": "user", "content": content}}
        slow = {"message": quick["message"], "type": "user"}
        begun = answer(*(use("Bash", call, command="ls") for call in calls))
        found = told(begun, quick)
        assert found == told(begun, slow)
        assert [(one["call"], one["state"]) for one in found[len(calls) :]] == [*calls.items()]

    def test_a_call_that_nobody_made_does_not_come_back(self) -> None:
        back = {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"tool_use_id": "other", "type": "tool_result", "content": "ok"}],
            },
        }
        assert len(told(answer(use("Bash", command="ls")), back)) == 1

    def test_a_record_that_was_cut_off_brings_nothing_back(self) -> None:
        whole = stream(
            {
                "type": "user",
                "message": {
                    "role": "user",
                    "content": [{"tool_use_id": "call_1", "type": "tool_result", "content": "ok"}],
                },
            }
        ).rstrip()
        before = stream(answer(use("Bash")))
        assert kinds(decode(before + whole)[0]) == ["tool", "tool"]
        assert kinds(decode(before + whole + b"\r\n")[0]) == ["tool", "tool"]
        assert kinds(decode(before + whole[:-1])[0]) == ["tool"]
        assert kinds(decode(before + whole.replace(b"call_1", b"other"))[0]) == ["tool"]

    def test_pieces_of_messages_are_passed_over(self) -> None:
        delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": BLOCK}}
        assert decode(stream({"type": "stream_event", "event": delta}))[0] == []


class TestUsage:
    def counts(self, **given: int) -> dict[str, Any]:
        return {"message_fields": {"usage": given}}

    def test_while_it_works_it_is_counted_by_answers(self) -> None:
        counts = self.counts(
            input_tokens=10,
            output_tokens=1,
            cache_read_input_tokens=5,
            cache_creation_input_tokens=2,
        )
        messages, found = decode(
            stream(
                answer("a", **counts),
                answer("b", **counts),
                answer("c", message="msg_2", **counts),
                answer("d", message="msg_3", parent="call_0", **counts),
                answer("e", message="msg_4"),
            )
        )
        assert kinds(messages) == ["text", "usage", "text", "text", "usage", "text"]
        usage = found.usage
        assert usage is not None
        assert (usage.input_tokens, usage.cached_tokens, usage.turns) == (20, 10, 2)
        assert (usage.output_tokens, usage.cost_usd, usage.context_tokens) == (None, None, 17)

    def test_results_count_their_turns_and_the_session_its_cost(self) -> None:
        usage = {"input_tokens": 10, "output_tokens": 3}
        turn: dict[str, Any] = {"usage": usage, "num_turns": 2}
        data = stream(result(**turn, total_cost_usd=0.5), result(**turn, total_cost_usd=0.75))
        found = decode(data, earlier_cost_usd=0.25)[1]
        assert found.session_cost_usd == 0.75
        assert found.usage is not None
        assert found.usage.cost_usd == 0.5
        assert (found.usage.input_tokens, found.usage.output_tokens) == (20, 6)
        assert (found.usage.cached_tokens, found.usage.turns) == (None, 4)

    def test_the_window_is_that_of_the_main_agents_model(self) -> None:
        both = {"m": {"contextWindow": 200}, "small": {"contextWindow": 100}}
        window = {
            name: found.usage.context_window if found.usage else None
            for name, found in {
                "own": final(init(), result(modelUsage=both, num_turns=1)),
                "only": final(result(modelUsage={"x": {"contextWindow": 300}}, num_turns=1)),
                "unknown": final(result(modelUsage=both, num_turns=1)),
            }.items()
        }
        assert window == {"own": 200, "only": 300, "unknown": None}

    def test_answers_without_an_id_are_counted_by_their_counts(self) -> None:
        one, other = self.counts(input_tokens=10), self.counts(input_tokens=15)
        records = [answer("a", **one), answer("b", **one), answer("c", **other), answer("d")]
        for record in records:
            del record["message"]["id"]
        usage = final(*records).usage
        assert usage is not None
        assert (usage.input_tokens, usage.turns, usage.context_tokens) == (25, 2, 15)

    def test_a_result_that_knows_nothing_says_nothing(self) -> None:
        messages, found = decode(stream(result()))
        assert (messages, found.usage) == ([], None)


@given(st.lists(st.binary(max_size=60) | st.sampled_from(recording("work").splitlines(True))))
def test_no_stream_breaks_it(pieces: list[bytes]) -> None:
    decoder = ClaudeDecoder(1)
    for piece in pieces:
        decoder.feed(piece)
    decoder.finish()
    assert decoder.finish() == []
    assert isinstance(decoder.final(), AgentResult)


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, -1, 1.5, 1e30, 10**30, "", "x", "429", "rejected", "rate_limit"),
        *([], [1], ["x"], [[]], [{}], [{"type": "text", "text": "x"}], [None]),
        *({}, {"a": 1}, {"text": "x"}, {"message": 4}, {"input_tokens": "x"}, {"content": [4]}),
        {"status": "rejected", "resetsAt": [1]},
    ]
)
FIELDS = ["message", "error", "subtype", "is_error", "result", "usage", "modelUsage", "status"]
BLOCK_FIELDS = ["text", "id", "name", "input", "tool_use_id", "is_error", "content"]
BLOCKS = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from(["text", "tool_use", "tool_result", "odd"]),
    st.dictionaries(st.sampled_from(BLOCK_FIELDS), VALUES, max_size=4),
)
ODD_RECORDS = st.builds(
    lambda kind, blocks, fields: {"type": kind, "message": {"content": blocks}, **fields},
    st.sampled_from(["assistant", "user", "system", "result", "rate_limit_event", "odd"]),
    st.lists(BLOCKS, max_size=3) | VALUES,
    st.dictionaries(st.sampled_from([*FIELDS, "resetsAt", "rate_limit_info"]), VALUES, max_size=4),
)


@given(st.lists(ODD_RECORDS, max_size=6))
def test_no_value_of_any_field_breaks_it(records: list[Any]) -> None:
    assert isinstance(final(init(), *records), AgentResult)
