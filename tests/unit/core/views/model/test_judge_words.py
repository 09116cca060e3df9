"""Words of a judge: in lines of the terminal, in the panel, and its part of the cost."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ralph_ls.core.views.model.words import (
    change_lines,
    judge_tokens,
    judging_words,
    totals_words,
    verdict_words,
)
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.protocol.run.events import Judged, JudgeOverruled, JudgeStarted
from ralph_ls.protocol.run.report import JudgeVerdict, RequestedChange, Usage
from ralph_ls.protocol.run.state import JudgeTotals
from ralph_ls.protocol.run.values import TaskRef

STAMP: dict[str, Any] = {"seq": 1, "at": datetime(2026, 1, 31, tzinfo=UTC), "run": "r"}
OF: dict[str, Any] = {**STAMP, "iteration": 1, "start": 1}
TASK = TaskRef(id="a", title="Round half cents")
CHANGES = tuple(RequestedChange(file=f"{n}.py", reason="wrong\x1b[31m") for n in range(4))


def judged(verdict: str, **fields: Any) -> Judged:
    return Judged(**OF, verdict=JudgeVerdict(verdict), agent="codex", seconds=38.0, **fields)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (judged("pass"), "pass"),
        (judged("pass", reason="all\nthere"), "pass: all there"),
        (judged("cannotTell", reason="it failed"), "undecided: it failed"),
        (
            judged("changesRequested", changes=(RequestedChange(file="a.py", reason="no"),)),
            "changes requested: a.py: no",
        ),
    ],
)
def test_a_verdict_is_on_one_line(event: Judged, words: str) -> None:
    assert verdict_words(event) == words


def test_many_changes_are_cut_and_harmless() -> None:
    words = verdict_words(judged("changesRequested", changes=CHANGES))
    assert words.endswith("; …")
    assert "\x1b" not in words
    assert len(list(change_lines(judged("changesRequested", changes=CHANGES)))) == 4


def test_a_judge_at_work_names_what_it_judges() -> None:
    first = JudgeStarted(**OF, agent="codex", tasks=(TASK,))
    again = JudgeStarted(**OF, agent="claude", model="opus", round=2, max_rounds=3)
    assert judging_words(first) == "judging Round half cents (codex)"
    assert judging_words(again) == "judging the work of the run (claude, model opus, round 2 of 3)"


def test_a_terminal_shows_it_beside_claim_and_evidence() -> None:
    usage = Usage(cost_usd=0.0312)
    lines = [
        event_line(event)
        for event in (
            JudgeStarted(**OF, agent="codex", tasks=(TASK,)),
            judged("pass", usage=usage),
            judged("changesRequested", changes=CHANGES[:1]),
            judged("cannotTell", reason="it failed"),
            JudgeOverruled(**STAMP, by="ralph overrule", tasks=(TASK,), start=2, iteration=1),
        )
    ]
    assert lines == [
        EventLine(text="Judge: judging Round half cents (codex)", weight=Weight.QUIET),
        EventLine(text="Judge: pass (38s, $0.03)", weight=Weight.GOOD),
        EventLine(
            text="Judge: changes requested (38s)\n  0.py: wrong\\x1b[31m", weight=Weight.WARNING
        ),
        EventLine(text="Judge: undecided: it failed (38s)", weight=Weight.WARNING),
        EventLine(
            text="The judge of iteration 1 is overruled by ralph overrule", weight=Weight.WARNING
        ),
    ]


def test_totals_leave_out_what_did_not_happen() -> None:
    assert totals_words(JudgeTotals()) == ""
    all_of_them = JudgeTotals(passed=2, changes=1, unclear=1, overruled=1)
    assert totals_words(all_of_them) == (
        "2 passed, 1 changes requested, 1 not judged, 1 overruled by you"
    )
    assert judge_tokens(JudgeTotals()) is None
    assert judge_tokens(JudgeTotals(usage=Usage(input_tokens=3, output_tokens=4))) == 7
