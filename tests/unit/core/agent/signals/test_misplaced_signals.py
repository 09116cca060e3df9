"""Why a signal did not count."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.ignored_signals import (
    EARLIER_TEXT,
    MAX_IGNORED_SIGNALS,
    MisplacedSignal,
    find_ignored_signals,
)
from ralph_ls.core.agent.output_parser import parse_result, parse_text
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.run.report import ReportKind
from tests.unit.core.agent.signals.status_blocks import BEGIN, clarity, ralph

COMPLETE = "<promise>COMPLETE</promise>"


def why(text: str, *, preferred: ReportKind = ReportKind.RALPH_STATUS) -> list[str]:
    found = find_ignored_signals(parse_text(text, preferred=preferred), preferred=preferred)
    return [f"{entry.what} {entry.line}: {entry.why}" for entry in found]


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param(f"All done.\n{ralph('STATUS: COMPLETE')}{COMPLETE}", [], id="all-counts"),
        pytest.param(
            ralph("STATUS: COMPLETE | BLOCKED"),
            ["report 1: it is a template: STATUS: COMPLETE | BLOCKED"],
            id="template",
        ),
        pytest.param(
            'x\n{"RALPH_STATUS": {"STATUS": "COMPLETE", "FILES_MODIFIED": "<number>"}}',
            ["report 2: it is a template: FILES_MODIFIED: <number>"],
            id="template-in-json",
        ),
        pytest.param(ralph("nothing"), ["report 1: no field was found in it"], id="no-fields"),
        pytest.param(
            f"{BEGIN}\nEXIT_SIGNAL: true", ["report 1: it is cut off before its STATUS"], id="cut"
        ),
        pytest.param(
            f"{BEGIN}\nSTATUS: BLOCKED\n{ralph('STATUS: COMPLETE')}",
            ["report 1: it is cut off, and a complete one follows"],
            id="cut-before-a-whole-one",
        ),
        pytest.param(
            ralph("STATUS: BLOCKED") + ralph("STATUS: COMPLETE"),
            ["report 1: a later one counts"],
            id="superseded",
        ),
        pytest.param(
            ralph("STATUS: BLOCKED") + clarity("STATUS: COMPLETE"),
            ["report 4: only the block RALPH_STATUS is read here"],
            id="other-kind",
        ),
        pytest.param(f"> {BEGIN}\n> STATUS: COMPLETE", ["report 1: it is in a quote"], id="quoted"),
        pytest.param(
            "> **RALPH_STATUS:**\n>   STATUS: COMPLETE",
            ["report 1: it is in a quote"],
            id="quoted-yaml",
        ),
        pytest.param("> **CLARITY_STATUS**", ["report 1: it is in a quote"], id="quoted-clarity"),
        pytest.param(
            f"I will put {BEGIN} here.",
            ["report 1: other text follows it on its line"],
            id="mentioned",
        ),
        pytest.param(
            "STATUS: x\nEXIT_SIGNAL: true\nand an exit_signal in words",
            ["report 2: no line ---RALPH_STATUS--- opens it"],
            id="fields-without-a-beginning",
        ),
    ],
)
def test_reports(text: str, reasons: list[str]) -> None:
    assert why(text) == reasons


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        pytest.param(f"```\n{COMPLETE}\n```", ["it is in a code fence"], id="fence"),
        pytest.param(f"I will not output {COMPLETE}", ["it is not on its own line"], id="prose"),
        pytest.param("<promise>COMPLETE", ["its tag is not closed nearby"], id="unclosed"),
        pytest.param("COMPLETE</promise>", ["its tag is not opened"], id="unopened"),
        pytest.param(
            "<Promise>COMPLETE</Promise>",
            ["the tag is not in lower case"] * 2,
            id="capitals",
        ),
        pytest.param(
            "**COMPLETE**", ["only <promise>COMPLETE</promise> counts"], id="without-a-tag"
        ),
        pytest.param("COMPLETE it, please", [], id="only-the-word-in-a-sentence"),
        pytest.param("```\nCOMPLETE\n```", [], id="the-word-in-a-fence"),
    ],
)
def test_promises(text: str, reasons: list[str]) -> None:
    assert [reason for reason in why(text) if reason.startswith("promise")] == [
        f"promise {2 if text.startswith('```') else 1}: {reason}" for reason in reasons
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It is not done.", "done: it is negated"),
        ("It is done: no", "done: it is negated"),
        ("Once done, I stop.", "done: it is hypothetical"),
        ("It will be done.", "done: it is hypothetical"),
        ("It is done when the tests pass.", "done: it is hypothetical"),
        ("Is it done?", "done: it is a question"),
        ("Done: the parser", "done: it is a label or a heading"),
        ("TODO: all work done", "done: it is still to be done"),
        ("Status: done", "done: it is the value of a label"),
        ("It is a finished product", "finished: it only describes a thing"),
        ("3 of 7 done", "done: it covers only a part"),
        ("This task is done.", "done: it covers only a part"),
        ("Done, except for the docs", "done: it covers only a part"),
        ("All done => stop", "done: it is part of a rule"),
        ('"done"', "done: it is in a quote"),
        ("> All done.", "done: it is in a quote"),
        ("It says `done`", "done: it is in code"),
        ("~~All done.~~", "done: it is in struck-out text"),
        ("- [x] All done", "done: it is in a check list"),
        ("| it is done |", "done: it is in a table"),
        ("```\nAll done.\n```", "done: it is in a code fence"),
        ("Nothing is unclear.", "unclear: it is negated"),
        ("If anything is unclear, ask.", "unclear: it is hypothetical"),
        ("I decided which option to take.", "which-option: it was decided"),
    ],
)
def test_words(text: str, reason: str) -> None:
    assert reason in [entry.partition(": ")[2] for entry in why(text)]


def test_a_word_that_counts_elsewhere_is_not_reported() -> None:
    assert why('It is not done.\n\n```\nAll done.\n```\n"done"\n\nAll done.') == []


def test_words_in_blocks_and_their_fences_are_not_reported() -> None:
    assert why(f"```\n{ralph('STATUS: COMPLETE' + chr(10) + 'RECOMMENDATION: all done')}```") == []


def test_every_word_has_its_own_line() -> None:
    text = 'It is not done.\nx\n"finished"\n\nIt is not done, and not com**plete**.\nNo "done".'
    assert why(text) == [
        "word 1: done: it is negated",
        "word 3: finished: it is in a quote",
        "word 5: done: it is negated",
        "word 5: complete: it is negated",
        "word 6: done: it is in a quote",
    ]


def test_the_text_is_the_beginning_of_what_is_there() -> None:
    (entry,) = find_ignored_signals(parse_text(ralph("STATUS: COMPLETE | BLOCKED\n" + "x " * 500)))
    assert entry.text.startswith("---RALPH_STATUS--- STATUS: COMPLETE | BLOCKED x x")
    assert entry.text.endswith("x\u2026")
    assert len(entry.text) <= 100


def test_of_each_kind_only_so_many_are_given() -> None:
    text = "<promise>X</promise>\n" * 200 + "It is not done.\n\n" * 200 + ralph("x") * 200
    found = find_ignored_signals(parse_text(text))
    for what in ("report", "promise", "word"):
        assert len([entry for entry in found if entry.what == what]) == MAX_IGNORED_SIGNALS


class TestElsewhere:
    TOOL = MisplacedSignal(line=3, where="a tool's result", what="promise", text=COMPLETE)
    OWN = MisplacedSignal(line=5, where=EARLIER_TEXT, what="report", text="---RALPH_STATUS---")

    def test_what_is_where_nothing_counts_is_reported_by_its_place(self) -> None:
        report, promise = find_ignored_signals(parse_text("x"), elsewhere=(self.TOOL, self.OWN))
        assert (promise.what, promise.line, promise.text) == ("promise", None, COMPLETE)
        assert promise.why == "it is in a tool's result (line 3 of the stream)"
        assert report.why == "it is in an earlier text (line 5 of the stream)"

    def test_an_earlier_report_that_is_used_is_not_reported(self) -> None:
        before = replace(self.OWN, line=1)
        final = AgentResult(text="x", earlier_block=ralph("STATUS: COMPLETE"))
        found = find_ignored_signals(parse_result(final), elsewhere=(before, self.TOOL, self.OWN))
        assert [entry.why for entry in found] == [
            "it is in an earlier text (line 1 of the stream)",
            "it is in a tool's result (line 3 of the stream)",
        ]


@given(
    st.lists(
        st.sampled_from(
            [
                *("<promise>", "</promise>", "COMPLETE", "BLOCKED:x", "```\n", "> ", "\n", "`"),
                *(f"{BEGIN}\n", "---END---\n", "STATUS: COMPLETE\n", "EXIT_SIGNAL: true\n"),
                *("RALPH_STATUS:\n", "  ", "done ", "not ", "all done. ", "fin*ish*ed ", '"', "é"),
            ]
        ),
        max_size=25,
    ).map("".join)
)
def test_nothing_both_counts_and_is_overlooked(text: str) -> None:
    reading = parse_text(text)
    found = find_ignored_signals(reading)
    lines = reading.text.count("\n") + 1
    assert all(entry.line is not None and 1 <= entry.line <= lines for entry in found)
    names = {entry.why.partition(":")[0] for entry in found if entry.what == "word"}
    assert not names & {*reading.completion, *reading.clarification}
