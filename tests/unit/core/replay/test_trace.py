"""Lines of a trace: any content gives a line or none, and problems."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.replay.trace import (
    ParsedTraceLine,
    TraceLine,
    parse_trace_line,
    read_trace_value,
)
from ralph_ls.core.replay.trace_fields import FIELD_NAMES, MAX_LISTED, MAX_NUMBER
from ralph_ls.protocol.run.report import Promise, PromiseKind, ReportKind
from ralph_ls.protocol.run.values import PlanCountsView, TaskRef

FIELDS = st.sampled_from(
    [*FIELD_NAMES, "STATUS", "commits", "files", "tasks", "open", "kind", "text"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("COMPLETE"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS | st.text(), inner),
    max_leaves=12,
)
LINES = st.dictionaries(FIELDS, JSON)


def line_of(**fields: Any) -> TraceLine:
    """A line without problems."""
    line, problems = read_trace_value(fields)
    assert problems == ()
    assert line is not None
    return line


def problem_of(parsed: ParsedTraceLine) -> tuple[str, str]:
    """The only problem of a line: its code and its field."""
    (problem,) = parsed[1]
    assert not problem.message.endswith(".")
    return problem.code, problem.field


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("", "not-json", id="nothing"),
        pytest.param("{", "not-json", id="cut off"),
        pytest.param("\x00\x00", "not-json", id="NUL bytes"),
        pytest.param("[" * 100_000, "not-json", id="nested too deeply"),
        pytest.param('{"exitCode": ' + "9" * 5_000 + "}", "not-json", id="a number without end"),
        pytest.param("null", "no-object", id="null"),
        pytest.param("true", "no-object", id="a boolean"),
        pytest.param("12.5", "no-object", id="a number"),
        pytest.param('"STATUS: COMPLETE"', "no-object", id="a text"),
        pytest.param("[]", "no-object", id="a list"),
    ],
)
def test_what_describes_no_iteration_is_left_out(text: str, code: str) -> None:
    parsed = parse_trace_line(text)
    assert parsed[0] is None
    assert problem_of(parsed) == (code, "")


def test_an_object_without_fields_is_an_iteration_with_a_problem() -> None:
    assert parse_trace_line("{}")[0] == TraceLine()
    assert problem_of(parse_trace_line("{}")) == ("nothing-told", "")
    assert problem_of(parse_trace_line('{"report": null}')) == ("nothing-told", "")


def test_an_unknown_field_is_reported_and_the_others_are_used() -> None:
    parsed = read_trace_value({"exitCode": 3, "nonsense": [1]})
    assert parsed[0] == TraceLine(exit_code=3)
    assert problem_of(parsed) == ("unknown-field", "nonsense")


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("report", 5, "report"),
        ("report", {"STATUS": ["COMPLETE"]}, "report.STATUS"),
        ("evidence", True, "evidence"),
        ("evidence", {"commits": "two"}, "evidence.commits"),
        ("evidence", {"files": -1}, "evidence.files"),
        ("evidence", {"tasks": True}, "evidence.tasks"),
        ("errors", [3], "errors"),
        ("errors", {}, "errors"),
        ("finalText", [], "finalText"),
        ("promise", 7, "promise"),
        ("plan", [], "plan"),
        ("plan", {"open": "all"}, "plan.open"),
        ("plan", {"open": float("nan")}, "plan.open"),
        ("plan", {"marker": "yes"}, "plan.marker"),
        ("task", True, "task"),
        ("task", " ", "task"),
        ("task", {"title": "no id"}, "task"),
        ("limit", "soon", "limit"),
        ("deniedTools", {}, "deniedTools"),
        ("exitCode", "3", "exitCode"),
        ("exitCode", True, "exitCode"),
        ("timedOut", 1, "timedOut"),
        ("validated", "ok", "validated"),
    ],
)
def test_a_value_of_the_wrong_type_is_left_out_and_reported(
    field: str, value: object, named: str
) -> None:
    parsed = read_trace_value({field: value})
    assert parsed[0] is not None
    assert problem_of(parsed) == ("wrong-type", named)


@pytest.mark.parametrize("inner", ["evidence", "plan"])
def test_unknown_fields_are_reported_inside_as_well(inner: str) -> None:
    parsed = read_trace_value({inner: {"nonsense": 1}})
    assert problem_of(parsed) == ("unknown-field", f"{inner}.nonsense")


class TestReport:
    def test_its_values_are_texts_numbers_and_booleans(self) -> None:
        fields = {
            "status": "COMPLETE",
            "EXIT_SIGNAL": True,
            "FILES_MODIFIED": 3,
            "TASKS_COMPLETED_THIS_LOOP": 2.0,
            "SHARE": 0.5,
            "ODD": float("nan"),
            "RECOMMENDATION": None,
        }
        report = line_of(report=fields).report
        assert report is not None
        assert report.kind is ReportKind.RALPH_STATUS
        assert report.fields == {
            "STATUS": "COMPLETE",
            "EXIT_SIGNAL": "true",
            "FILES_MODIFIED": "3",
            "TASKS_COMPLETED_THIS_LOOP": "2",
            "SHARE": "0.5",
            "ODD": "nan",
            "RECOMMENDATION": "",
        }

    def test_a_number_without_end_is_a_large_one(self) -> None:
        report = line_of(report={"FILES_MODIFIED": 10**5_000}).report
        assert report is not None
        assert report.fields == {"FILES_MODIFIED": str(MAX_NUMBER)}

    @pytest.mark.parametrize("key", ["PR_READY", "CLARIFICATION_NEEDED", "work_summary"])
    def test_fields_that_only_clarity_has_make_it_one(self, key: str) -> None:
        report = line_of(report={key: "true"}).report
        assert report is not None
        assert report.kind is ReportKind.CLARITY_STATUS

    def test_it_may_be_what_read_gives(self) -> None:
        given = {"kind": "ralphStatus", "fields": {"STATUS": "BLOCKED"}, "problems": []}
        report = line_of(report=given).report
        assert report is not None
        assert report.fields == {"STATUS": "BLOCKED"}

    @pytest.mark.parametrize(
        "text",
        [
            "STATUS: BLOCKED\nEXIT_SIGNAL: false",
            "so:\n---RALPH_STATUS---\nSTATUS: BLOCKED\n---END_RALPH_STATUS---\n",
        ],
    )
    def test_it_may_be_the_text_of_the_block(self, text: str) -> None:
        report = line_of(report=text).report
        assert report is not None
        assert report.status == "BLOCKED"

    def test_a_text_without_a_block_is_none(self) -> None:
        for text in ("", "I am done"):
            parsed = read_trace_value({"report": text})
            assert parsed[0] == TraceLine()
            assert problem_of(parsed) == ("no-report", "report")

    def test_half_characters_are_no_crash(self) -> None:
        line, _ = parse_trace_line(
            '{"report": {"A\\ud800": "\\udfff"}, "finalText": "\\ud800", "task": "\\ud800"}'
        )
        assert line is not None
        assert line.report is not None
        assert line.report.fields == {"A?": "?"}


class TestFinalText:
    TEXT = (
        "error: no such file\n<promise>DECIDE:red or blue?</promise>\n"
        "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n"
        "All tasks are complete.\n"
    )

    def test_it_is_read_as_in_a_run(self) -> None:
        line = line_of(finalText=self.TEXT)
        assert line.report is not None
        assert line.report.exit_signal
        assert line.promises == (Promise(kind=PromiseKind.DECIDE, text="red or blue?"),)
        assert line.errors == ("error: no such file",)
        assert line.completion_words
        assert not line.without_output

    def test_a_report_beside_it_wins_and_what_is_reported_twice_counts_once(self) -> None:
        line = line_of(
            finalText=self.TEXT,
            report={"STATUS": "BLOCKED"},
            errors=["error: no such file", "error: another"],
            promise="DECIDE:red or blue?",
        )
        assert line.report is not None
        assert line.report.status == "BLOCKED"
        assert line.errors == ("error: no such file", "error: another")
        assert len(line.error_patterns) == 2
        assert len(line.promises) == 1

    def test_an_empty_one_is_an_agent_that_wrote_nothing(self) -> None:
        assert line_of(finalText=" \n").without_output
        assert not line_of(finalText="", report={}).without_output
        assert not line_of(finalText="", promise="COMPLETE").without_output
        assert not line_of(exitCode=0).without_output


class TestEvidence:
    def test_numbers_count(self) -> None:
        line = line_of(evidence={"commits": 2, "files": 3, "tasks": 2}, task="a1")
        assert len({commit.hash for commit in line.changes.commits}) == 2
        assert line.changes.files == 3
        assert line.tasks_done == ("a1", "task-2")

    def test_lists_name_what_they_count(self) -> None:
        line = line_of(
            evidence={"commits": ["abc", {}, ""], "files": ["a.py", "b.py"], "tasks": ["t"]},
            task="a1",
        )
        assert line.changes.commits[0].hash == "abc"
        assert len(line.changes.commits) == 3
        assert all(commit.hash and commit.files == 2 for commit in line.changes.commits)
        assert line.changes.paths == ("a.py", "b.py")
        assert line.tasks_done == ("t",)

    def test_a_commit_without_a_number_of_files_is_one_of_the_project(self) -> None:
        (commit,) = line_of(evidence={"commits": 1}).changes.commits
        assert commit.files == 1

    def test_no_more_are_kept_than_matter(self) -> None:
        line = line_of(evidence={"commits": 10**12, "files": ["a"] * 1000, "tasks": 1e300})
        assert len(line.changes.commits) == MAX_LISTED
        assert line.changes.files == 1000
        assert len(line.changes.paths) == MAX_LISTED
        assert len(line.tasks_done) == MAX_LISTED

    @pytest.mark.parametrize(
        ("fields", "files"),
        [({"FILES_MODIFIED": 4}, 4), ({"TASKS_COMPLETED_THIS_LOOP": "2 (both)"}, 1)],
    )
    def test_without_it_the_reports_numbers_are_files_and_a_commit(
        self, fields: dict[str, Any], files: int
    ) -> None:
        line = line_of(report=fields)
        assert len(line.changes.commits) == 1
        assert line.changes.files == files

    def test_with_it_the_reports_numbers_are_a_claim(self) -> None:
        line = line_of(report={"FILES_MODIFIED": 4}, evidence={"commits": None})
        assert line.changes.commits == ()
        assert line.changes.files == 0
        assert line.tasks_done == ()

    def test_no_numbers_are_no_change(self) -> None:
        assert line_of(report={"STATUS": "IN_PROGRESS"}).changes.files == 0


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("COMPLETE", ("complete", "")),
        ("BLOCKED: no key", ("blocked", "no key")),
        ("<promise>DECIDE:which?</promise>", ("decide", "which?")),
        ({"kind": "Complete"}, ("complete", "")),
        ({"kind": "blocked", "text": " no key "}, ("blocked", "no key")),
    ],
)
def test_a_promise_is_a_text_or_a_kind_with_its_text(
    given: object, wanted: tuple[str, str]
) -> None:
    promise = Promise(kind=PromiseKind(wanted[0]), text=wanted[1])
    assert line_of(promise=given).promises == (promise,)
    assert line_of(promise=[given, given]).promises == (promise,)


@pytest.mark.parametrize(
    "value",
    ["DONE", "BLOCKED:", {}, {"kind": "blocked"}, {"kind": 3}, {"kind": "decide", "text": " "}],
)
def test_what_promises_nothing_is_reported(value: object) -> None:
    assert problem_of(read_trace_value({"promise": value})) == ("no-promise", "promise")


def test_the_word_of_completion_is_the_policys() -> None:
    parsed = read_trace_value({"promise": "SHIPPED"}, complete_word="SHIPPED")
    assert parsed == (TraceLine(promises=(Promise(kind=PromiseKind.COMPLETE),)), ())


class TestPlan:
    def test_it_is_reported_in_numbers(self) -> None:
        counts = line_of(plan={"total": 5, "open": 2, "blocked": 1, "marker": False}).counts
        assert counts == PlanCountsView(
            total=5, done=3, open_required=2, blocked_required=1, required=5, required_done=3
        )

    def test_numbers_that_do_not_fit_are_made_to(self) -> None:
        counts = line_of(plan={"total": 1, "open": 2, "blocked": 3}).counts
        assert counts is not None
        assert (counts.total, counts.open_required, counts.blocked_required) == (3, 3, 3)
        counts = line_of(plan={"open": 0, "total": None}).counts
        assert counts is not None
        assert (counts.total, counts.done) == (1, 1)

    def test_without_what_is_open_only_the_marker_is_known(self) -> None:
        assert line_of(plan={"total": 3, "marker": True}).counts == PlanCountsView(marker=True)

    def test_without_it_nothing_is_known(self) -> None:
        assert line_of(exitCode=1).counts is None


def test_the_other_fields() -> None:
    line = line_of(
        task={"id": "a1", "title": "Write"},
        limit={"resetsAt": "2026-01-31T12:00:00Z"},
        deniedTools=["Bash", "Bash"],
        exitCode=-(10**12),
        timedOut=True,
        validated=False,
        errors="error: one\n\n  error: 2 \n",
    )
    assert line.task == TaskRef(id="a1", title="Write")
    assert line.limited
    assert line.denied_tools == ("Bash", "Bash")
    assert line.exit_code == -MAX_NUMBER
    assert line.timed_out
    assert line.validated is False
    assert line.errors == ("error: one", "error: 2")


def test_short_forms_of_the_other_fields() -> None:
    assert line_of(task=17).task == TaskRef(id="17", title="17")
    assert line_of(limit=True).limited
    assert not line_of(limit=False).limited
    assert line_of(deniedTools="Bash").denied_tools == ("Bash",)
    assert line_of(deniedTools=2).denied_tools == ("a tool", "a tool")
    assert line_of(deniedTools=[]).denied_tools == ()
    assert line_of(exitCode=0).denied_tools is None


@given(JSON | LINES)
def test_any_json_value_gives_a_line_or_problems(value: object) -> None:
    line, problems = read_trace_value(value)
    assert line is not None or problems
    if line is not None:
        assert line.changes.files >= 0
        assert line.counts is None or line.counts.total >= line.counts.open_required >= 0


@given(st.text() | LINES.map(json.dumps))
def test_any_text_gives_a_line_or_problems(text: str) -> None:
    line, problems = parse_trace_line(text)
    assert line is not None or problems
