"""Announcements of pull requests that are ready (docs/rules.md#requests)."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.effects import Announce, Finish
from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    turn,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, play

STATUS: dict[str, Any] = {"gate_rule": "status", "on_blocked": "nothing"}

fulfils = turn(files=1, commit=True, ticks=ONE_TASK, STATUS="COMPLETE", PR_READY="true")
fulfils_unready = turn(files=1, commit=True, ticks=ONE_TASK, STATUS="COMPLETE")
clarify = turn(
    files=1, STATUS="IN_PROGRESS", CLARIFICATION_NEEDED="true", CLARIFICATION_QUESTIONS="Which?"
)


def announced(played: SimulatedRun) -> list[Announce]:
    return [effect for effect in played.effects if isinstance(effect, Announce)]


def test_a_pull_request_that_is_ready_is_reported_before_the_engine_lets_go() -> None:
    played = play(turn(STATUS="IN_PROGRESS"), fulfils, on_pr_ready=("make-pr",), **STATUS)
    order, finish = played.effects[-2:]
    assert isinstance(finish, Finish)
    assert order == Announce(
        start=2,
        iteration=2,
        text="",
    )
    assert played.kinds()[-2:] == ["runEnded", "warned"]
    assert played.exit_code == 0


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"WORK_SUMMARY": "found it", "RECOMMENDATION": "look"}, "found it"),
        ({"RECOMMENDATION": "look"}, "look"),
    ],
)
def test_it_is_reported_with_what_was_done(fields: dict[str, str], text: str) -> None:
    done = turn(files=1, commit=True, ticks=ONE_TASK, STATUS="COMPLETE", PR_READY="true", **fields)
    (order,) = announced(play(done, on_pr_ready=("make-pr",), **STATUS))
    assert order.text == text


def test_nothing_is_reported_where_nobody_wants_it() -> None:
    assert announced(play(fulfils, **STATUS)) == []


def test_nothing_is_reported_of_a_run_that_is_complete_and_has_no_pull_request() -> None:
    assert announced(play(fulfils_unready, on_pr_ready=("make-pr",), **STATUS)) == []


def test_nothing_is_reported_of_a_run_that_is_not_complete() -> None:
    ready = turn(files=1, STATUS="IN_PROGRESS", PR_READY="true")
    played = play(ready, on_pr_ready=("make-pr",), max_iterations=1, **STATUS)
    assert played.exit_code == 1
    assert announced(played) == []


def test_an_earlier_report_makes_nothing_ready() -> None:
    ready = turn(files=1, commit=True, STATUS="IN_PROGRESS", PR_READY="true")
    silent = turn(fields=None, files=2, commit=True, ticks=ONE_TASK)
    played = play(ready, silent, on_pr_ready=("make-pr",), gate_rule="verified")
    assert played.exit_code == 0
    assert announced(played) == []


def test_a_run_without_any_report_hands_nothing_on() -> None:
    played = play(
        turn(fields=None, files=1, commit=True, ticks=ONE_TASK),
        on_pr_ready=("make-pr",),
        gate_rule="verified",
    )
    assert (played.exit_code, announced(played)) == (0, [])
