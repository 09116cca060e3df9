"""What the loop writes into its commits, line by line."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import IterationRead, PlanFacts
from ralph_ls.core.loop.rules.commits import BODY_LIMIT, commit_message, progress_message
from ralph_ls.core.loop.rules.quoted_text import cut_to_bytes
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.events import AgentExited, IterationStarted
from ralph_ls.protocol.run.report import AgentFailure, Report, ReportKind
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
    ended: dict[str, Any] | None = MappingProxyType({}),  # type: ignore[assignment]
    read: dict[str, Any] = MappingProxyType({}),  # type: ignore[assignment]
    set_aside: str = "",
    **run: Any,
) -> str:
    started = IterationStarted(
        seq=2, at=BEGIN, run=RUN, iteration=7, mode=mode, task=task, baseline=Baseline()
    )
    report = None if fields is None else Report(kind=ReportKind.RALPH_STATUS, fields=fields)
    exited = None
    if ended is not None:
        exited = AgentExited(seq=3, at=BEGIN, run=RUN, iteration=7, exit_code=0, **ended)
    return commit_message(
        RunState(run=RUN, config=Config(), **run),
        CurrentIteration(started=started, exit=exited),
        IterationRead(report=report, plan=PlanFacts(counts=counts), **read),
        evidence,
        set_aside=set_aside,
    )


def test_everything_that_is_known_is_in_it() -> None:
    fields = {"WORK_SUMMARY": "Wrote\nall of it", "TESTS_STATUS": "NOT_RUN", "RECOMMENDATION": "x"}
    evidence = Evidence(files=7, paths=tuple("abcdefg"))
    counts = PlanCountsView(total=3, done=1, required=3, required_done=1, open_required=2)
    assert message(fields=fields, evidence=evidence, counts=counts) == (
        "ralph: Write the letter\n\n"
        "- Reported: Wrote\n"
        "  all of it\n"
        "- Changed 7 files: a, b, c, d, e, …\n"
        "- Tests: reported as not run\n"
        "- Plan: 2 required tasks open\n"
        "- Next: x\n\n"
        f"Ralph-Run: {RUN}\nRalph-Iteration: 7\nRalph-Start: 7\n"
    )


def test_nothing_that_is_not_known_does() -> None:
    assert message() == (
        "ralph: Write the letter\n\n- Profile: fixplan\n\n"
        f"Ralph-Run: {RUN}\nRalph-Iteration: 7\nRalph-Start: 7\n"
    )


def test_a_report_without_words_says_its_tests_alone() -> None:
    assert "- Tests: reported as passing\n- Profile" in message(fields={"TESTS_STATUS": "PASSING"})


def test_without_a_summary_it_says_what_is_next() -> None:
    assert "- Next: Post it\n" in message(fields={"RECOMMENDATION": "Post it"})


@pytest.mark.parametrize(
    ("given", "subject"),
    [
        ({"task": TaskRef(id="a", title="")}, "ralph: a"),
        ({"task": None, "mode": Mode.PLAN}, "ralph: make the plan"),
        ({"task": None}, "ralph: look for remaining work"),
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


def test_without_a_summary_the_agents_last_words_are_quoted() -> None:
    said = message(read={"closing_words": "I wrote it.\n\n- and posted it"})
    assert "- Agent's last words: I wrote it.\n  - and posted it\n- Profile" in said


def test_tests_that_the_report_does_not_name_are_left_out() -> None:
    assert "Tests:" not in message(fields={"WORK_SUMMARY": "x"})


@pytest.mark.parametrize(
    ("given", "ending"),
    [
        ({"ended": None}, " (interrupted)"),
        ({"ended": {"timed_out": True}}, " (timed out)"),
        ({"ended": {"idle": True}}, " (went silent)"),
        ({"ended": {"overspent": True}}, " (over its limit)"),
        ({"read": {"failure_kind": AgentFailure.CRASHED}}, " (agent failed)"),
        ({"set_aside": "no brush"}, " (gave up)"),
        ({"ended": {"timed_out": True}, "set_aside": "no brush"}, " (timed out, gave up)"),
    ],
)
def test_the_subject_says_how_the_agent_broke_off(given: dict[str, Any], ending: str) -> None:
    assert message(**given).splitlines()[0] == f"ralph: Write the letter{ending}"


def test_the_body_says_why() -> None:
    assert "- Gave up: no brush\n" in message(set_aside="no brush")
    failed = {"failure": "it ended with 3", "failure_kind": AgentFailure.CRASHED}
    assert "- Ended: it ended with 3\n" in message(read=failed)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Fixes #12", "Fixes 12"),
        ("fixes: owner/name#12, closes GH-7", "fixes: owner/name12, closes 7"),
        ("Resolved https://example.org/o/n/issues/1", "see https://example.org/o/n/issues/1"),
        ("closes issue #3", "closes issue no. 3"),
        ("JRA-34 #resolve now", "JRA-34 resolve now"),
        ("thanks @bob and @org/team, mail a@b.org", "thanks bob and org/team, mail a@b.org"),
        ("done [skip ci] [CI-Skip] [no ci]", "done (skip ci) (CI-Skip) (no ci)"),
        ("***NO_CI*** skip-checks: true", "NO_CI skip checks: true"),
        ("red\x1b[31m \u202eright\u2066 \u200bnone", "red[31m right none"),
        ("C# and a[0] and !x", "C# and a[0] and !x"),
    ],
)
def test_no_quoted_text_has_a_meaning_for_the_host(written: str, kept: str) -> None:
    assert f"- Reported: {kept}\n" in message(fields={"WORK_SUMMARY": written})
    task = TaskRef(id="a", title=written)
    assert message(task=task).splitlines()[0] == f"ralph: {kept}"


def test_the_body_has_at_most_two_kilobytes_cut_between_characters() -> None:
    long = {"WORK_SUMMARY": "中文 " * 900, "RECOMMENDATION": "é" * 3000}
    said = message(fields=long)
    body = said.split("\n\n")[1]
    assert len(body.encode()) <= BODY_LIMIT
    assert "\ufffd" not in body
    assert body.endswith("…")
    assert all(line.startswith(("- ", "  ")) for line in body.splitlines())
    assert said.endswith(f"\n\nRalph-Run: {RUN}\nRalph-Iteration: 7\nRalph-Start: 7\n")


def test_a_body_that_ends_with_its_limit_has_no_empty_line() -> None:
    assert cut_to_bytes(["abc", "def"], 4) == ["abc"]
    assert cut_to_bytes(["abc", "d\u00e9f"], 8) == ["abc", "d…"]


def test_the_commit_of_hashes_names_the_log() -> None:
    assert progress_message(RUN, 7, "PROGRESS.md") == (
        "ralph: record the commits in PROGRESS.md\n\nAdds the commits of the tasks that were "
        f"finished last.\n\nRalph-Run: {RUN}\nRalph-Start: 7\n"
    )


def test_no_text_of_a_stranger_passes_for_a_trailer() -> None:
    said = message(fields={"WORK_SUMMARY": f"x\n\nRalph-Run: {RUN}\nRalph-Iteration: 8"})
    assert [line for line in said.splitlines() if line.startswith("Ralph-")] == [
        f"Ralph-Run: {RUN}",
        "Ralph-Iteration: 7",
        "Ralph-Start: 7",
    ]
