"""What an agent reported by tool, beside its final text."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.agent.output_parser import ParsedOutput, parse_result, parse_text
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.core.agent.tools import call_key
from ralph_ls.core.loop.rules.agent_claims import main_calls, with_claims
from ralph_ls.protocol.run.agent_tools import ReportTool
from ralph_ls.protocol.run.events import AgentReported, IterationStarted
from ralph_ls.protocol.run.report import Promise, PromiseKind, ReportKind
from ralph_ls.protocol.run.state import CurrentIteration
from ralph_ls.protocol.run.values import Baseline
from tests.unit.core.loop.simulated_run import BEGIN, RUN

BLOCK = "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n"
STATUS = {"status": "IN_PROGRESS", "testsStatus": "FAILING"}
COMPLETE = {"status": "COMPLETE", "exitSignal": True}


def reported(tool: str, arguments: dict[str, Any], seq: int = 5, **fields: Any) -> AgentReported:
    return AgentReported(
        seq=seq,
        at=BEGIN,
        run=RUN,
        start=1,
        iteration=1,
        tool=ReportTool(tool),
        arguments=arguments,
        **fields,
    )


def read(
    text: str | ParsedOutput,
    *calls: AgentReported,
    is_plain: bool = False,
    promises_complete: bool = False,
) -> ParsedOutput:
    return with_claims(
        parse_text(text) if isinstance(text, str) else text,
        calls,
        kind=ReportKind.RALPH_STATUS,
        complete_word="COMPLETE",
        is_plain=is_plain,
        promises_complete=promises_complete,
    )


class TestReport:
    def test_is_that_of_the_call(self) -> None:
        found = read("Done.", reported("report_status", STATUS)).report
        assert found is not None
        assert (found.status, found.tests_status, found.exit_signal) == (
            "IN_PROGRESS",
            "FAILING",
            False,
        )
        assert list(found.fields) == ["STATUS", "EXIT_SIGNAL", "TESTS_STATUS"]

    def test_is_a_claim_as_a_block_is(self) -> None:
        found = read("Done.", reported("report_status", {**STATUS, "workSummary": "a"})).claims
        assert found is not None
        assert (found.has_status_block, found.summary) == (True, "a")
        assert found.confidence >= 50

    def test_has_every_field(self) -> None:
        more = {
            "workType": "TESTING",
            "workSummary": "a\nb",
            "prReady": True,
            "recommendation": "next",
            "filesModified": 2,
            "tasksCompleted": 1,
        }
        found = read("", reported("report_status", {**COMPLETE, **more})).report
        assert found is not None
        assert found.exit_signal
        assert found.pr_ready
        assert (found.work_summary, found.work_type) == ("a b", "TESTING")
        assert (found.files_modified, found.tasks_completed) == (2, 1)

    def test_the_last_call_counts(self) -> None:
        found = read(
            "", reported("report_status", COMPLETE), reported("report_status", STATUS, 6)
        ).report
        assert found is not None
        assert found.status == "IN_PROGRESS"

    def test_a_later_block_wins(self) -> None:
        found = read(BLOCK, reported("report_status", STATUS)).report
        assert found is not None
        assert found.status == "COMPLETE"

    def test_a_block_before_the_last_call_does_not(self) -> None:
        text = parse_result(AgentResult(text="Done.", earlier_block=BLOCK))
        found = read(text, reported("report_status", STATUS)).report
        assert found is not None
        assert found.status == "IN_PROGRESS"

    @pytest.mark.parametrize(("printed", "status"), [(0, "COMPLETE"), (500, "IN_PROGRESS")])
    def test_in_plain_text_the_place_decides(self, printed: int, status: str) -> None:
        call = reported("report_status", STATUS, output_bytes=printed)
        found = read(BLOCK, call, is_plain=True).report
        assert found is not None
        assert found.status == status

    @pytest.mark.parametrize("tool", ["report_status", "report_blocked", "ask_decision"])
    def test_what_another_version_recorded_is_left_out(self, tool: str) -> None:
        found = read("Done.", reported(tool, {"color": "blue"}))
        assert (found.report, found.promises) == (None, ())


class TestPromises:
    def test_blocked_and_questions_halt(self) -> None:
        asked = {"question": "A or B?", "options": ["A", "B"], "recommendation": "A"}
        found = read(
            "Shall I?",
            reported("report_blocked", {"reason": "no key", "needs": "a key"}),
            reported("ask_decision", asked),
        )
        assert [(one.kind.value, one.text) for one in found.promises] == [
            ("blocked", "no key\nNeeded: a key"),
            ("decide", "A or B?\n\n- A\n- B\n\nRecommended: A"),
        ]
        assert found.question == ""

    def test_a_later_complete_does_not_undo_it(self) -> None:
        found = read(
            "All done.\n\n<promise>COMPLETE</promise>",
            reported("report_blocked", {"reason": "no key"}),
            reported("report_status", COMPLETE, 6),
            promises_complete=True,
        )
        assert found.promises == (Promise(kind=PromiseKind.BLOCKED, text="no key"),)

    @pytest.mark.parametrize("promises_complete", [True, False])
    def test_a_typed_complete_is_the_promise_where_that_is_the_gate(
        self, promises_complete: bool
    ) -> None:
        found = read("", reported("report_status", COMPLETE), promises_complete=promises_complete)
        kinds = [one.kind for one in found.promises]
        assert kinds == ([PromiseKind.COMPLETE] if promises_complete else [])


class TestCallsThatCount:
    def current(self, *calls: AgentReported, answered_seq: int = 0) -> CurrentIteration:
        started = IterationStarted(
            seq=1, at=BEGIN, run=RUN, start=1, iteration=1, baseline=Baseline()
        )
        return CurrentIteration(started=started, reported=calls, answered_seq=answered_seq)

    def test_not_those_of_sub_agents(self) -> None:
        main = reported("report_status", STATUS)
        marked = reported("report_blocked", {"reason": "a"}, 6, sub_agent=True)
        shown = reported("report_blocked", {"reason": "no  key"}, 7)
        by_sub_agents = (call_key("report_blocked", {"reason": "no key"}),)
        assert main_calls(self.current(main, marked, shown), by_sub_agents) == (main,)

    def test_not_an_answered_question(self) -> None:
        first = reported("ask_decision", {"question": "A?"})
        later = reported("ask_decision", {"question": "B?"}, 9)
        assert main_calls(self.current(first, later, answered_seq=7), ()) == (later,)
