"""Decisions about iterations, in one sentence each."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.evidence.progress import OUTPUT_AGAIN
from ralph_ls.core.views.model.decisions import decisions
from ralph_ls.protocol.run.events import (
    CircuitBreakerStateChange,
    Event,
    GuardReverted,
    NoteAdded,
    RolledBack,
    TaskSetAside,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import (
    Breaker,
    BreakerState,
    CommitSeen,
    EndReason,
    Outcome,
    Verdict,
)
from tests.unit.core.views.run_states import (
    TASK,
    event,
    evidence,
    iteration_ended,
    iteration_started,
    run_started,
)

STALLED = Breaker(consecutive_no_progress=2)


def decided(*between: Event, config: dict[str, Any] | None = None, **fields: Any) -> str:
    events = [run_started(**(config or {})), iteration_started(), *between]
    (one,) = decisions([*events, iteration_ended(**fields)])
    assert (one.iteration, one.start) == (1, 1)
    return one.text


def no_progress(*between: Event, **fields: Any) -> str:
    values: dict[str, Any] = {"outcome": Outcome.NO_PROGRESS, "breaker": STALLED, **fields}
    return decided(*between, **values)


def gathered(**fields: Any) -> Event:
    return evidence(**{"commits": (), "files": 0, "paths": (), "tasks_done": (), **fields})


def test_churn_names_the_files_that_changed_before() -> None:
    churn = gathered(files=1, paths=("app.log",), progress=False, why=f"{OUTPUT_AGAIN}: app.log")
    assert no_progress(churn) == (
        "no progress (2 of 3): 1 file changed, app.log, which had changed before"
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"why": "nothing changed"}, "nothing changed"),
        ({"files": 9, "why": "it was known"}, "9 files changed, but it was known"),
        ({"tasks_done": ("a",), "why": "only ticked"}, "1 task done, but only ticked"),
    ],
)
def test_other_evidence_is_followed_by_why_it_does_not_count(
    fields: dict[str, Any], text: str
) -> None:
    assert no_progress(gathered(progress=False, **fields)) == f"no progress (2 of 3): {text}"


def test_progress_shows_what_was_observed() -> None:
    commits = (
        CommitSeen(hash="1" * 40, subject="One"),
        CommitSeen(hash="2" * 40, subject="Mine", by_person=True),
    )
    seen = gathered(commits=commits, files=2, paths=("a.py", "b.py"), tasks_done=("a",))
    assert decided(seen) == "progress: 1 commit, 2 files changed, a.py, b.py, 1 task done"
    assert decided(gathered(why="the plan changed")) == "progress: the plan changed"


def test_a_count_without_a_limit_is_a_count() -> None:
    text = no_progress(config={"breaker": {"no_progress_open": 0}})
    assert text == "no progress (2 in a row): no evidence was gathered"
    assert no_progress(breaker=Breaker()) == "no progress: no evidence was gathered"


def test_what_followed_is_named_in_order() -> None:
    text = no_progress(
        gathered(progress=False, why="nothing changed"),
        event(Warned, iteration=1, code="other", message="no reason"),
        event(Warned, iteration=1, code="claim-without-evidence", message="the report claims it"),
        event(GuardReverted, iteration=1, path="plan.md", what=Forbidden.CHANGED),
        event(Validated, iteration=1, ok=False),
        event(RolledBack, iteration=1, ok=True),
        event(NoteAdded, text="go on", by="me"),
        event(TaskSetAside, iteration=1, task=TASK, reason="too hard"),
        event(
            CircuitBreakerStateChange,
            iteration=1,
            from_state=BreakerState.CLOSED,
            to_state=BreakerState.HALF_OPEN,
            reason="2 iterations without progress",
            breaker=STALLED,
        ),
        gate="EXIT_SIGNAL is not true",
        verdict=Verdict(reason=EndReason.STUCK, message="no more"),
    )
    assert text == (
        "no progress (2 of 3): nothing changed; the report claims it; the forbidden change of "
        "plan.md was restored; validation failed; its work was rolled back; Round half a cent up "
        "was set aside: too hard; the breaker moved from CLOSED to HALF_OPEN: 2 iterations "
        "without progress; not complete: EXIT_SIGNAL is not true; the run ends or waits (stuck): "
        "no more"
    )


def test_counters_are_shown_with_their_limits() -> None:
    breaker = Breaker(consecutive_same_error=2, consecutive_failing_tests=1)
    text = decided(
        gathered(why="it"),
        config={"max_stuck": 3, "attempts": {"limit": 3}},
        breaker=breaker,
        stuck_count=1,
        attempts={TASK.id: 2},
        verdict=Verdict(reason=EndReason.COMPLETE, message="all is done"),
    )
    assert text == (
        "progress: it; attempt 2 of 3; without a commit 1 of 3; the same error 2 of 5; "
        "failing tests 1 of 5; complete: all is done"
    )


def test_a_journal_without_its_beginning_is_explained_too() -> None:
    assert [one.text for one in decisions([iteration_ended()])] == [
        "progress: no evidence was gathered"
    ]
