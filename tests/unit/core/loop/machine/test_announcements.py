"""Announcements of questions and of pull requests that are ready.

See docs/rules.md#questions.
"""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.effects import Announce, AnnouncementChannel, AnnouncementOccasion, Finish
from ralph_ls.protocol.plan import RequestKind, RequestView
from tests.unit.core.loop.simulated_project import (
    ONE_TASK,
    SimulatedProject,
    asks,
    is_blocked,
    progress,
    turn,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, play

GITHUB = RequestView(kind=RequestKind.GITHUB, title="Lost", source="ada/invoice#12")
FILE = RequestView(kind=RequestKind.FILE, title="Lost", source="issue.md")
STATUS: dict[str, Any] = {"gate_rule": "status", "on_blocked": "nothing"}

fulfils = turn(files=1, commit=True, ticks=ONE_TASK, STATUS="COMPLETE", PR_READY="true")
fulfils_unready = turn(files=1, commit=True, ticks=ONE_TASK, STATUS="COMPLETE")
clarify = turn(
    files=1, STATUS="IN_PROGRESS", CLARIFICATION_NEEDED="true", CLARIFICATION_QUESTIONS="Which?"
)


def announced(played: SimulatedRun) -> list[Announce]:
    return [effect for effect in played.effects if isinstance(effect, Announce)]


def test_a_question_goes_to_the_command_once() -> None:
    played = play(asks("tea or coffee?"), on_question=("tell",))
    assert announced(played) == [
        Announce(
            occasion=AnnouncementOccasion.QUESTION,
            channel=AnnouncementChannel.COMMAND,
            start=1,
            iteration=1,
            text="tea or coffee?",
        )
    ]
    assert played.exit_code == 3
    assert "question-told" in played.warnings()


def test_a_parked_run_reports_its_question_too() -> None:
    played = play(clarify, on_question=("tell",), wait=True, **STATUS)
    assert [order.text for order in announced(played)] == ["Which?"]
    assert played.exit_code is None


def test_a_question_that_was_reported_is_not_reported_by_the_next_engine() -> None:
    played = play(asks("tea or coffee?"), on_question=("tell",))
    played.resume()
    assert len(announced(played)) == 1


@pytest.mark.parametrize(
    ("request_view", "comment", "channels"),
    [
        (GITHUB, True, [AnnouncementChannel.COMMENT]),
        (GITHUB, False, []),
        (FILE, True, []),
        (None, True, []),
    ],
)
def test_a_question_goes_to_the_issue_where_the_settings_ask_for_it(
    request_view: RequestView | None, comment: bool, channels: list[AnnouncementChannel]
) -> None:
    simulated = SimulatedProject(script=[asks("tea or coffee?")], request=request_view)
    played = play(simulated=simulated, issue={"comment": comment})
    assert [order.channel for order in announced(played)] == channels


def test_both_ways_at_once() -> None:
    simulated = SimulatedProject(script=[asks("tea or coffee?")], request=GITHUB)
    played = play(simulated=simulated, issue={"comment": True}, on_question=("tell",))
    assert [order.channel for order in announced(played)] == [
        AnnouncementChannel.COMMAND,
        AnnouncementChannel.COMMENT,
    ]


def test_what_blocks_a_run_is_no_question() -> None:
    assert announced(play(is_blocked("no key"), on_question=("tell",))) == []


def test_a_pull_request_that_is_ready_is_reported_before_the_engine_lets_go() -> None:
    played = play(turn(STATUS="IN_PROGRESS"), fulfils, on_pr_ready=("make-pr",), **STATUS)
    order, finish = played.effects[-2:]
    assert isinstance(finish, Finish)
    assert order == Announce(
        occasion=AnnouncementOccasion.PR_READY,
        channel=AnnouncementChannel.COMMAND,
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


def test_what_became_of_it_moves_no_run() -> None:
    played = play(progress, asks("a or b?"), on_question=("tell",), wait=True)
    before = played.run
    (told,) = [event for event in played.events_of("warned") if event.code == "question-told"]
    assert told.message == "it is done"
    assert before.phase.value == "parked"
