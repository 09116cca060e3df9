"""Checks of closed tasks: what they mean for an iteration, and how the journal reports them."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.rules.validation import SHOWN_CHECKS, checks_of_event
from ralph_ls.core.plan.verification.criterion_checks import (
    CheckOutcome,
    CriterionCheck,
    TaskVerification,
    verification_of,
)
from ralph_ls.protocol.run.events import CriteriaVerified
from ralph_ls.protocol.run.values import TaskRef
from tests.unit.core.loop.simulated_project import ONE_TASK, Turn, finishes, progress, turn
from tests.unit.core.loop.simulated_run import play

(LETTER,) = ONE_TASK
LIMITED: dict[str, Any] = {"attempts_limit": 3, "max_iterations": 1}


def verification(exit_code: int = 1, *, task: str = LETTER, n_checks: int = 1) -> TaskVerification:
    checked = tuple(
        CheckOutcome(
            check=CriterionCheck(criterion=f"It holds {nth}", command=f"make {nth}"),
            exit_code=exit_code if nth == n_checks - 1 else 0,
            seconds=1.5,
            tail="said",
        )
        for nth in range(n_checks)
    )
    ref = TaskRef(id=task, title=task)
    return TaskVerification(task=ref, checked=checked, reopened=exit_code != 0)


def closes(seen: TaskVerification) -> Turn:
    return turn(files=1, commit=True, ticks=ONE_TASK, STATUS="IN_PROGRESS", verified=(seen,))


def test_it_is_reported_before_the_evidence_which_does_not_hold_the_task() -> None:
    played = play(closes(verification()), finishes)
    (told,) = played.events_of("criteriaVerified")
    assert (told.iteration, told.ok, told.reopened, told.task.title) == (1, False, True, LETTER)
    assert [(one.command, one.exit_code) for one in told.checks] == [("make 0", 1)]
    kinds = played.kinds()
    assert kinds.index("criteriaVerified") < kinds.index("evidenceGathered")
    assert played.events_of("evidenceGathered")[0].evidence.tasks_done == ()
    assert played.events_of("iterationEnded")[0].counts.done == 0


@pytest.mark.parametrize(
    ("seen", "n_attempts"),
    [
        pytest.param(verification(), 1, id="refuted"),
        pytest.param(verification(task="other"), 0, id="another task"),
    ],
)
def test_a_refuted_task_has_failed_whatever_else_was_done(
    seen: TaskVerification, n_attempts: int
) -> None:
    played = play(turn(files=1, commit=True, verified=(seen,)), **LIMITED)
    ended = played.events_of("iterationEnded")[0]
    assert ended.attempts.get(LETTER, 0) == n_attempts


def test_the_open_iteration_remembers_what_was_reported() -> None:
    played = play(closes(verification(0)), progress)
    events = played.events
    at = next(nth for nth, one in enumerate(events) if isinstance(one, CriteriaVerified))
    current = fold(events[: at + 1]).current
    assert current is not None
    assert current.verified == (events[at],)
    assert "criteriaVerified" in current.told


def test_an_event_reports_all_but_the_words_of_the_commands() -> None:
    seen = verification(n_checks=2)
    event = CriteriaVerified.model_validate(
        {
            "seq": 1,
            "at": "2026-01-31T12:00:00Z",
            "run": "r",
            "iteration": 1,
            "task": seen.task,
            "ok": seen.ok,
            "reopened": seen.reopened,
            "checks": checks_of_event(seen),
        }
    )
    again = verification_of(event)
    assert (again.task, again.reopened, again.ok) == (seen.task, True, False)
    assert again.checked == seen.checked


def test_an_event_reports_which_exit_code_is_wanted() -> None:
    check = CriterionCheck(criterion="`make x` exits 2", command="make x", wanted=2)
    ref = TaskRef(id=LETTER, title=LETTER)
    seen = TaskVerification(task=ref, checked=(CheckOutcome(check=check, exit_code=2),))
    (told,) = checks_of_event(seen)
    assert (told.wanted, seen.ok) == (2, True)
    event = CriteriaVerified.model_validate(
        {
            "seq": 1,
            "at": "2026-01-31T12:00:00Z",
            "run": "r",
            "iteration": 1,
            "task": ref,
            "ok": True,
            "checks": [told],
        }
    )
    assert verification_of(event) == seen


def test_of_many_checks_those_that_failed_are_reported_first() -> None:
    told = checks_of_event(verification(n_checks=SHOWN_CHECKS + 9))
    assert len(told) == SHOWN_CHECKS
    assert (told[0].exit_code, told[1].exit_code) == (1, 0)
