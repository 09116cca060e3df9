"""The verdict of a judge: one typed block with its token, wherever else something like it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.prompt.judge import (
    BEGIN,
    END,
    MAX_CHANGES,
    MAX_REASON,
    read_verdict,
    settle_report,
)
from ralph_ls.protocol.run.report import JudgeReport, JudgeVerdict, RequestedChange

TOKEN = "7f3a7f3a7f3a7f3a"


def block(token: str = TOKEN, **fields: object) -> str:
    return f"{BEGIN}\n{json.dumps({'token': token, **fields})}\n{END}"


PASS = block(verdict="pass", reason="all there")
WANTS = [{"file": "src/a.py", "reason": "the sum is wrong"}]


@pytest.mark.parametrize(
    "text",
    [
        PASS,
        f"I looked.\n\n{PASS}\n",
        f"```json\n{PASS}\n```",
        f"{BEGIN}\n```json\n" + json.dumps({"token": TOKEN, "verdict": "PASS"}) + f"\n```\n{END}",
        "\n".join(f"> {line}" for line in PASS.splitlines()),
        PASS.replace("\n", "\r\n"),
        f"{block(verdict='changesRequested', changes=WANTS)}\n{PASS}",
        f"{PASS}\n{block('0123', verdict='changesRequested', changes=WANTS)}",
        f"{PASS}\n{BEGIN}\nno JSON\n{END}",
    ],
    ids=["bare", "at-the-end", "fenced", "fence-inside", "quoted", "crlf", "last", "other", "text"],
)
def test_a_pass_is_read(text: str) -> None:
    found = read_verdict(text, TOKEN)
    assert found.report is not None, found.problem
    assert found.report.verdict is JudgeVerdict.PASSED


@pytest.mark.parametrize("word", ["changesRequested", "changes_requested", "CHANGES REQUESTED"])
def test_requested_changes_are_typed(word: str) -> None:
    found = read_verdict(block(verdict=word, changes=WANTS, reason=" no "), TOKEN)
    assert found.report is not None
    assert found.report.verdict is JudgeVerdict.CHANGES_REQUESTED
    assert found.report.changes == (RequestedChange(file="src/a.py", reason="the sum is wrong"),)
    assert found.report.reason == "no"


def test_a_reason_alone_is_what_it_wants_changed() -> None:
    found = read_verdict(block(verdict="changesRequested", reason="no tests"), TOKEN)
    assert found.report is not None
    assert found.report.changes == (RequestedChange(reason="no tests"),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it gave no verdict"),
        ("verdict: pass", "it gave no verdict"),
        (f"{BEGIN}\n{{}}\n", "it gave no verdict"),
        (block("0123", verdict="pass"), "its verdict has not the token of this judge"),
        (f"{BEGIN}\n[]\n{END}", "its verdict has not the token of this judge"),
        (f'{BEGIN}\n{{"token": "{TOKEN}",\n{END}', "its verdict is not valid JSON"),
        (block(verdict="maybe"), "its verdict has a wrong field verdict: "),
        (block(verdict=True), "its verdict has a wrong field verdict: "),
        (block(), "its verdict has a wrong field verdict: Field required"),
        (block(verdict="pass", score=9), "its verdict has a wrong field score: "),
        (
            block(verdict="changesRequested", changes=[{"file": "a"}]),
            "its verdict has a wrong field changes.0.reason: Field required",
        ),
        (block(verdict="changesRequested"), "it requests changes and names none"),
        (
            block(verdict="changesRequested", changes=[{"file": "a", "reason": " "}]),
            "it requests changes and names none",
        ),
    ],
)
def test_anything_else_is_no_verdict(text: str, problem: str) -> None:
    found = read_verdict(text, TOKEN)
    assert found.report is None
    assert found.problem.startswith(problem)


def test_a_flood_is_cut() -> None:
    changes = tuple(RequestedChange(file="a\n" * 900, reason="x" * 9000) for _ in range(99))
    found = settle_report(
        JudgeReport(token=TOKEN, verdict=JudgeVerdict.CHANGES_REQUESTED, changes=changes), TOKEN
    )
    assert found.report is not None
    assert len(found.report.changes) == MAX_CHANGES
    assert len(found.report.changes[0].reason) == MAX_REASON
    assert "\n" not in found.report.changes[0].file


def test_a_report_by_a_tool_needs_the_token_too() -> None:
    report = JudgeReport(token="0123", verdict=JudgeVerdict.PASSED)
    assert settle_report(report, TOKEN).problem == "its verdict has not the token of this judge"


def test_a_pass_requests_nothing() -> None:
    found = read_verdict(block(verdict="pass", changes=WANTS), TOKEN)
    assert found.report is not None
    assert found.report.changes == ()


PIECES = [*'{}[]":,\n \\', BEGIN, END, TOKEN, "token", "pass", "verdict"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_text_raises(text: str) -> None:
    assert (read_verdict(text, TOKEN).report is None) or TOKEN in text
