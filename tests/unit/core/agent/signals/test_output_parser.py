"""All readers together: what comes from where, and that nothing breaks or stalls."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.ignored_signals import (
    MAX_IGNORED_SIGNALS,
    find_ignored_signals,
    find_misplaced_signals,
)
from ralph_ls.core.agent.output_parser import (
    MAX_SUMMARY_CHARACTERS,
    parse_output,
    parse_result,
    parse_text,
    to_json,
)
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.report import Claims, ReportKind, Usage
from tests.unit.core.agent.decode.claude_streams import answer, recording, result, stream, use

BLOCK = (
    "---RALPH_STATUS---\nSTATUS: COMPLETE\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 2\n"
    "EXIT_SIGNAL: true\n---END_RALPH_STATUS---\n"
)
OUTPUT = (
    "\x1b[32mI fixed the parser.\x1b[0m\r\nerror: line 3\r\nerror: line 4\r\n"
    "All tasks are complete. Ready for review.\r\n\r\n"
    f"```\r\n{BLOCK}```\r\n<promise>DECIDE:Merge?</promise>\r\n<promise>COMPLETE</promise>\r\n"
)


def test_a_whole_output_is_read() -> None:
    reading = parse_text(OUTPUT, "\x1b[31mfatal: disk\x1b[0m\r\n")
    assert reading.text.startswith("I fixed the parser.\nerror: line 3\n")
    assert reading.report is not None
    assert reading.report.status == "COMPLETE"
    assert [promise.kind.value for promise in reading.promises] == ["decide", "complete"]
    assert reading.errors == ("error: line 3", "error: line 4", "fatal: disk")
    assert reading.error_patterns == ("error: line <n>", "fatal: disk")
    assert reading.completion == ("complete", "ready-for-review")
    assert reading.clarification == ()
    assert reading.confidence == 70


def test_stderr_gives_errors_and_nothing_else() -> None:
    reading = parse_text("", f"{OUTPUT}Please clarify.")
    assert reading.text == ""
    assert (reading.report, reading.promises, reading.completion) == (None, (), ())
    assert reading.clarification == ()
    assert reading.errors == ("error: line 3", "error: line 4")


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("", 0),
        ("All done.", 10),
        ("All done. Everything is finished.", 20),
        (BLOCK, 50),
        (f"All done.\n{BLOCK}", 60),
        ("---RALPH_STATUS---\nSTATUS: COMPLETE | BLOCKED\n---END_RALPH_STATUS---", 0),
    ],
)
def test_confidence_is_fifty_for_a_report_and_ten_for_a_word(text: str, confidence: int) -> None:
    assert parse_text(text).confidence == confidence


def test_claims_are_what_no_rule_decides_by() -> None:
    block = "---CLARITY_STATUS---\nSTATUS: COMPLETE\nPR_READY: {}\nWORK_SUMMARY: {}\n"
    text = f"The goal is unclear.\n{block}---END_CLARITY_STATUS---\n"
    claims = parse_text(text.format("true", "Fixed \x1b[31mit")).claims
    assert claims == Claims(
        has_status_block=True,
        summary="Fixed it",
        pr_ready=True,
        clarification_words=("unclear",),
        confidence=50,
    )
    vague = parse_text(text.format("nearly", "long " * 100)).claims
    assert vague is not None
    assert (vague.pr_ready, len(vague.summary) <= MAX_SUMMARY_CHARACTERS) == (None, True)


def test_an_output_without_words_or_block_claims_nothing() -> None:
    assert parse_text("I changed a file.").claims is None
    assert parse_text("All done.").claims == Claims(confidence=10)


def test_profile_settings_choose_block_and_word() -> None:
    text = (
        "---CLARITY_STATUS---\nSTATUS: BLOCKED\n---END_CLARITY_STATUS---\n"
        f"{BLOCK}<promise>SHIPPED</promise>\n"
    )
    reading = parse_text(text, preferred=ReportKind.CLARITY_STATUS, complete_word="SHIPPED")
    assert reading.report is not None
    assert reading.report.kind is ReportKind.CLARITY_STATUS
    assert len(reading.promises) == 1


def test_json_has_the_shape_of_the_read_command() -> None:
    assert to_json(parse_text(OUTPUT)) == {
        "text": parse_text(OUTPUT).text,
        "report": {
            "kind": "ralphStatus",
            "fields": {
                "STATUS": "COMPLETE",
                "TASKS_COMPLETED_THIS_LOOP": "1",
                "FILES_MODIFIED": "2",
                "EXIT_SIGNAL": "true",
            },
            "problems": [],
        },
        "promise": {"kind": "complete", "text": ""},
        "errors": ["error: line 3", "error: line 4"],
        "words": {"completion": ["complete", "ready-for-review"], "clarification": []},
        "confidence": 70,
        "claims": {
            "hasStatusBlock": True,
            "summary": "",
            "prReady": None,
            "clarificationWords": [],
            "confidence": 70,
        },
        "question": None,
        "limit": None,
        "usage": None,
        "sessionId": None,
        "failed": False,
        "failure": None,
        "why": None,
        "deniedTools": None,
    }


def test_json_shows_a_question_in_prose_and_a_limit_in_words() -> None:
    assert to_json(parse_text("Which one?"))["question"] == "Which one?"
    words = "You've hit your limit \u00b7 resets 5pm (Europe/Vilnius)"
    data = to_json(parse_output(words.encode()))
    local = "17:00 (Europe/Vilnius)"
    assert data["limit"] == {"resetsAt": None, "resetsIn": None, "resetsLocally": local}
    assert (data["failed"], data["failure"], data["why"]) == (True, "limit", words)


def test_json_of_nothing_has_every_key() -> None:
    data = to_json(parse_text(""))
    assert data["report"] is None
    assert data["promise"] is None
    assert json.loads(json.dumps(data)) == data


pieces = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            [
                "---RALPH_STATUS---",
                "---END_RALPH_STATUS---",
                "---CLARITY_STATUS---",
                "RALPH_STATUS:",
                "STATUS: COMPLETE",
                "RECOMMENDATION:",
                "EXIT_SIGNAL: <true>",
                "<promise>",
                "</promise>",
                "BLOCKED:x",
                "COMPLETE",
                "```",
                "~~~",
                "> ",
                "\n",
                "\n  ",
                "\r",
                "\x00",
                "\x1b[",
                "\x1b]",
                "\ufffd",
                "error: ",
                '"error":',
                "not done ",
                "done. ",
                "all tasks complete",
                "`",
                '"',
                "_",
                "**",
                "3/0",
                "1.5%",
            ]
        ),
    ),
    max_size=30,
).map("".join)


@given(pieces, pieces)
def test_any_text_gives_a_reading(stdout: str, stderr: str) -> None:
    reading = parse_text(stdout, stderr)
    assert reading.confidence >= 10 * len(reading.completion)
    json.dumps(to_json(reading))
    find_ignored_signals(reading)


@given(st.binary(), st.sampled_from(Dialect))
def test_any_bytes_give_a_reading(stdout: bytes, dialect: Dialect) -> None:
    reading = parse_output(stdout, dialect=dialect)
    json.dumps(to_json(reading))
    find_ignored_signals(reading, elsewhere=find_misplaced_signals(stdout, dialect))


lines = pieces.map(lambda text: text.replace("\r", ""))
no_fences = str.maketrans("", "", "`~\r\x1b\x9b")


@given(lines)
def test_either_kind_of_line_end_gives_the_same_reading(text: str) -> None:
    assert parse_text(text.replace("\n", "\r\n")) == parse_text(text)


@given(pieces)
def test_a_fence_adds_no_signal_but_a_block(inside: str) -> None:
    reading = parse_text(f"Some text.\n```\n{inside.translate(no_fences)}\n```\n")
    assert (reading.promises, reading.completion, reading.clarification) == ((), (), ())
    assert reading.question == ""


@given(pieces, st.text(alphabet="abc done?.\n"))
def test_prose_behind_it_takes_no_promise_away(before: str, prose: str) -> None:
    text = f"{before.translate(no_fences)}\n<promise>BLOCKED:no key</promise>"
    promises = parse_text(text).promises
    assert parse_text(f"{text}\n{prose}").promises[: len(promises)] == promises


SIZE = 50_000


@pytest.mark.timeout(30)
@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        *"a\n-\u2014`\"'\u201c\x00\x1b *_~#>|[<:.1/",
        *("```\n", "```x\n", " '", "\x1b]", "\x1b[", "\t\n", "~~a", "` `` ```", "a-", "1/"),
        *("<promise>", "</promise>", "<promise>COMPLETE</promise>\n", "RALPH_STATUS:\n"),
        *("---RALPH_STATUS---", "---RALPH_STATUS---STATUS: X ", "---RALPH_STATUS---\nSTATUS: X\n"),
        *("not done ", "done. ", "error: x\n", "errorerror", '"error', "]: error", "# Done\n"),
        *("all of the ", "no more ", "nothing is ", "please ", "pr ", "need more ", "3 of 7 "),
        *("*a", "d*one ", "~~a~~", "\n* ", "# RALPH_STATUS\n", "**RALPH_STATUS**\n```\n", "?\n"),
        *('{"RALPH_STATUS": {', '"RALPH_STATUS": {"STATUS": 1}', "| STATUS | X |\n", "what is "),
        *("EXIT_SIGNAL: true\n", "> RALPH_STATUS:\n", "COMPLETE\n", "<promise>X</promise>\n"),
        *('"done" ', "12s ", "Sun Nov 1 ", "is done? ", "e.g. ", "which? "),
    ],
)
def test_hostile_repetition_takes_time_in_proportion(unit: str) -> None:
    # A reader that is quadratic in any of these runs into the time limit.
    run = unit * (SIZE // len(unit))
    text = f"{run}\n---RALPH_STATUS---\nSTATUS: COMPLETE\nRECOMMENDATION: {run}"
    reading = parse_text(text, run)
    assert len(reading.text) <= len(text)
    find_ignored_signals(reading)


@pytest.mark.slow
def test_a_block_of_ten_megabytes_is_kept_whole() -> None:
    value = "x" * 99 + "\n" + "y" * (10 * 1024 * 1024)
    reading = parse_text(f"---RALPH_STATUS---\nSTATUS: COMPLETE\nRECOMMENDATION: {value}")
    assert reading.report is not None
    assert reading.report.fields["RECOMMENDATION"] == value
    assert reading.report.problems[-1].code == "block-unclosed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["<promise>", "`", "-", "x", "\x00", "\ufffd", "> ", "---RALPH_STATUS---"],
)
def test_a_megabyte_of_anything_comes_through(unit: str) -> None:
    text = unit * ((1 << 20) // len(unit))
    reading = parse_text(text, text)
    assert reading.text == text
    assert (reading.report, reading.promises) == (None, ())
    assert len(find_ignored_signals(reading)) <= 3 * MAX_IGNORED_SIGNALS


@pytest.mark.slow
def test_a_long_log_is_read_with_what_is_at_its_end() -> None:
    log = "2026-01-02 03:04:05 INFO server handled request 12 in 3 ms\n" * 200_000
    reading = parse_text(f"{log}All tasks are complete. Ready for review.\n\n{BLOCK}Which one?")
    assert reading.report is not None
    assert reading.completion == ("complete", "ready-for-review")
    assert reading.question == "Which one?"


def test_nul_bytes_and_halves_of_characters_stay_text() -> None:
    reading = parse_output(b"\xff\x00\xe2\x82\n" + BLOCK.encode() + b"\xf0\x9f")
    assert reading.report is not None
    assert reading.report.problems == ()
    assert reading.text.startswith("\ufffd\x00\ufffd\n")


@pytest.mark.slow
def test_a_line_without_an_end_is_read() -> None:
    reading = parse_text("x" * 5_000_000 + f"<promise>COMPLETE</promise>{BLOCK.strip()}")
    assert reading.promises == ()
    assert reading.report is not None


class TestDecoded:
    def test_plain_text_is_read_as_it_always_was(self) -> None:
        data = OUTPUT.encode()
        assert parse_output(data, "fatal: disk") == parse_text(OUTPUT, "fatal: disk")

    def test_signals_come_from_the_final_text_alone(self) -> None:
        quoted = "<promise>COMPLETE</promise>\nAll tasks are complete.\nerror: quoted\n"
        data = stream(
            answer(quoted, use("Bash", command=quoted)),
            result(f"Ready for review.\n{BLOCK}"),
        )
        reading = parse_output(data, "error: told", dialect=Dialect.CLAUDE)
        assert reading.report is not None
        assert reading.report.problems == ()
        assert (reading.promises, reading.completion) == ((), ("ready-for-review",))
        assert reading.errors == ("error: told",)
        assert (reading.confidence, reading.failed) == (60, False)

    def test_a_report_that_is_earlier_is_used_and_a_promise_is_not(self) -> None:
        earlier = f"All done.\n{BLOCK}\n<promise>COMPLETE</promise>"
        reading = parse_result(AgentResult(text="I looked once more.", earlier_block=earlier))
        assert reading.report is not None
        assert reading.report.status == "COMPLETE"
        assert [problem.code for problem in reading.report.problems] == ["report-not-final"]
        assert (reading.promises, reading.completion, reading.confidence) == ((), (), 50)

    def test_a_report_on_the_way_to_a_failure_is_none(self) -> None:
        assert parse_result(AgentResult(text="", earlier_block=BLOCK, failed=True)).report is None

    def test_the_last_report_goes_before_an_earlier_one(self) -> None:
        later = BLOCK.replace("COMPLETE", "IN_PROGRESS", 1)
        reading = parse_result(AgentResult(text=later, earlier_block=BLOCK))
        assert reading.report is not None
        assert (reading.report.status, reading.report.problems) == ("IN_PROGRESS", ())

    def test_what_only_looks_like_a_report_is_none(self) -> None:
        assert (
            parse_result(AgentResult(text="x", earlier_block="RALPH_STATUS is due")).report is None
        )

    def test_errors_of_the_stream_come_first_and_each_once(self) -> None:
        reading = parse_result(
            AgentResult(
                text="error: a\nfatal: b", errors=("API Error: 429", "error: a"), failed=True
            )
        )
        assert reading.errors == ("API Error: 429", "error: a", "fatal: b")
        assert reading.error_patterns == ("API Error: <n>", "error: a", "fatal: b")

    def test_it_is_reported_as_json(self) -> None:
        found = to_json(parse_output(recording("limit"), dialect=Dialect.CLAUDE))
        assert found["limit"] == {"resetsAt": None, "resetsIn": None, "resetsLocally": None}
        assert (found["failure"], found["deniedTools"]) == ("limit", [])
        assert (found["failed"], found["sessionId"]) == (True, "an-id")
        limit = AccountLimit(resets_at=datetime(2026, 1, 31, 12, tzinfo=UTC))
        usage = Usage(input_tokens=3, cost_usd=0.5)
        found = to_json(parse_result(AgentResult(limit=limit, usage=usage)))
        at = "2026-01-31T12:00:00.000Z"
        assert found["limit"] == {"resetsAt": at, "resetsIn": None, "resetsLocally": None}
        assert found["usage"] == {
            "inputTokens": 3,
            "outputTokens": None,
            "cachedTokens": None,
            "costUsd": 0.5,
            "turns": None,
            "contextTokens": None,
            "contextWindow": None,
        }
