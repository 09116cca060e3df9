"""What the loop writes into its commits, line by line."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.inputs import IterationRead, PlanFacts
from ralph_ls.core.loop.rules.commits import commit_message
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.events import IterationStarted
from ralph_ls.protocol.run.report import Report, ReportKind
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import Baseline, Evidence, Mode, PlanCountsView, TaskRef
from tests.unit.core.loop.simulated_run import BEGIN, RUN


def message(
    *,
    task: TaskRef | None = TaskRef(id="a", title="Write the letter"),  # noqa: B008  it is frozen
    mode: Mode = Mode.BUILD,
    fields: dict[str, str] | None = None,
    evidence: Evidence = Evidence(),  # noqa: B008  it is frozen
    counts: PlanCountsView = PlanCountsView(),  # noqa: B008  it is frozen
    **run: Any,
) -> str:
    started = IterationStarted(
        seq=2, at=BEGIN, run=RUN, iteration=7, mode=mode, task=task, baseline=Baseline()
    )
    report = None if fields is None else Report(kind=ReportKind.RALPH_STATUS, fields=fields)
    return commit_message(
        RunState(run=RUN, config=Config(), **run),
        CurrentIteration(started=started),
        IterationRead(report=report, plan=PlanFacts(counts=counts)),
        evidence,
    )


def test_everything_that_is_known_is_in_it() -> None:
    fields = {"WORK_SUMMARY": "Wrote\nall of it", "TESTS_STATUS": "NOT_RUN", "RECOMMENDATION": "x"}
    evidence = Evidence(files=7, paths=tuple("abcdefg"))
    counts = PlanCountsView(total=3, done=1, required=3, required_done=1)
    assert message(fields=fields, evidence=evidence, counts=counts) == (
        "ralph: Write the letter\n\n"
        "- Summary: Wrote all of it\n"
        "- Changed 7 files: a, b, c, d, e, …\n"
        "- Tests: not run\n"
        "- Plan: 1 of 3 required tasks done\n\n"
        f"Ralph-Run: {RUN}\nRalph-Iteration: 7\nRalph-Start: 7\n"
    )


def test_nothing_that_is_not_known_does() -> None:
    assert message() == (
        "ralph: Write the letter\n\n- Profile: fixplan\n\n"
        f"Ralph-Run: {RUN}\nRalph-Iteration: 7\nRalph-Start: 7\n"
    )


def test_a_report_without_words_says_its_tests_alone() -> None:
    assert "- Tests: passing\n- Profile" in message(fields={"TESTS_STATUS": "PASSING"})


def test_without_a_summary_it_says_what_is_next() -> None:
    assert "- Next: Post it\n" in message(fields={"RECOMMENDATION": "Post it"})


@pytest.mark.parametrize(
    ("given", "subject"),
    [
        ({"task": TaskRef(id="a", title="")}, "ralph: a"),
        ({"task": None, "mode": Mode.PLAN}, "ralph: make the plan"),
        ({"task": None}, "ralph: look for what is left to do"),
        (
            {"task": None, "request": RequestView(title="Letters are late", source="issue.md")},
            "ralph: Letters are late",
        ),
        (
            {"task": TaskRef(id="a", title="one\n\nRalph-Run: x\x1b[31m")},
            "ralph: one Ralph-Run: x[31m",
        ),
        ({"task": TaskRef(id="a", title="x" * 101)}, f"ralph: {'x' * 99}…"),
    ],
    ids=["id", "plan", "confirming", "request", "hostile", "long"],
)
def test_the_subject_names_what_was_to_be_done(given: dict[str, Any], subject: str) -> None:
    assert message(**given).splitlines()[0] == subject


def test_no_text_of_a_stranger_passes_for_a_trailer() -> None:
    said = message(fields={"WORK_SUMMARY": f"x\n\nRalph-Run: {RUN}\nRalph-Iteration: 8"})
    assert [line for line in said.splitlines() if line.startswith("Ralph-")] == [
        f"Ralph-Run: {RUN}",
        "Ralph-Iteration: 7",
        "Ralph-Start: 7",
    ]
